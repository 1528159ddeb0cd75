//! The clients: their calls, their commands, and how long the engine remembers them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::browsers::BrowserState;
use super::entry::{CurrentTabRecord, JournalEntry};
use super::refusal::{CallRefusal, RefusalReason};
use super::used_tabs::{UsedTab, UsedTabs};
use super::{Caller, DialogHandling, Engine, Transaction};
use crate::lifecycle::{Limits, TokenBucket, limits};
use crate::protocol::{BrowserId, ClientId, ClientProgram, CorrelationId, Owner, TabId, Timestamp};

/// The shortest time between two searches for idle clients and browsers.
const SWEEP: Duration = Duration::from_secs(5);

/// One client: its calls, its commands, its current tab.
#[derive(Debug)]
pub(super) struct ClientState {
    /// The owner of the client.
    owner: Owner,
    /// The tab for its commands that name none.
    current: Option<CurrentTab>,
    /// The tabs that it uses.
    used: UsedTabs,
    /// Its commands that are not over, oldest first.
    active: Vec<CorrelationId>,
    /// How many of its calls are waiting.
    waiters: usize,
    /// How many of its streams are open.
    streams: usize,
    /// Whether it had a stream, and closed the last one.
    has_left: bool,
    /// When it last called.
    last_seen: Timestamp,
    /// The program that it says it is.
    program: Option<ClientProgram>,
    /// Whether it asked for notifications of its jobs.
    wants_jobs: bool,
    /// Whether it says in which folders it works, if it is asked.
    has_roots: bool,
    /// Whether it shows views of commands.
    shows_views: bool,
    /// What becomes of the dialogs that its commands meet.
    dialogs: DialogHandling,
    calls: TokenBucket,
}

/// The tab for commands of a client that name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CurrentTab {
    pub(super) browser: BrowserId,
    pub(super) tab: Option<TabId>,
}

/// Whether a client is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientPresence {
    /// It has an open stream, a waiting call or a pending command.
    Here,
    /// It has closed its last stream.
    Left {
        /// When it was last heard of.
        since: Timestamp,
    },
    /// It has never had a stream: only its calls tell that it is there.
    Silent {
        /// When it was last heard of.
        since: Timestamp,
    },
}

/// One client as `configure clients` shows it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct ClientSummary {
    /// The client.
    pub client: ClientId,
    /// The program that it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ClientProgram>,
    /// When it last called.
    pub last_seen: Timestamp,
    /// How many of its commands are not over.
    pub pending: usize,
    /// The browser that it used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<BrowserId>,
    /// What a person calls that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_label: Option<String>,
    /// The tab that it used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
}

impl ClientState {
    fn new(owner: Owner, limits: &Limits, now: Timestamp) -> Self {
        let calls = TokenBucket::new(limits.calls_per_minute, now);
        Self {
            owner,
            current: None,
            used: UsedTabs::default(),
            active: Vec::new(),
            waiters: 0,
            streams: 0,
            has_left: false,
            last_seen: now,
            program: None,
            wants_jobs: false,
            has_roots: false,
            shows_views: false,
            dialogs: DialogHandling::default(),
            calls,
        }
    }

    fn is_idle(&self) -> bool {
        self.active.is_empty() && self.waiters == 0 && self.streams == 0
    }

    /// The tab for its commands that name none.
    pub(super) fn current(&self) -> Option<CurrentTab> {
        self.current.clone()
    }

    /// What becomes of the dialogs that its commands meet.
    pub(super) const fn dialogs(&self) -> DialogHandling {
        self.dialogs
    }

    /// Adds a command that has not ended.
    pub(super) fn add_command(&mut self, id: CorrelationId) {
        self.active.push(id);
    }

    /// Counts a call.
    ///
    /// # Errors
    ///
    /// The client has called too often. The time until its next call is accepted.
    pub(super) fn take_call(&mut self, now: Timestamp) -> Result<(), Duration> {
        self.calls.take(now)
    }

    /// Continues from the journal.
    pub(super) fn restore(
        &mut self,
        current: CurrentTab,
        used: Vec<UsedTab>,
        last_seen: Timestamp,
        now: Timestamp,
    ) {
        self.used.restore(used, now);
        // Only a change of the current tab is recorded, so the time of its last use is not known.
        self.used.note(&current, now);
        self.current = Some(current);
        // The recorded time lies in the future if the clock was set back.
        self.last_seen = last_seen.min(self.last_seen);
    }

    /// Whether lists show it. A client does not say when it exits, so only time tells.
    fn is_alive(&self, now: Timestamp) -> bool {
        !self.is_idle() || now.since(self.last_seen) < limits::CLIENT_LISTED
    }

    fn summary(&self, client: &ClientId) -> ClientSummary {
        ClientSummary {
            client: client.clone(),
            program: self.program.clone(),
            last_seen: self.last_seen,
            pending: self.active.len(),
            browser: self.current.as_ref().map(|current| current.browser.clone()),
            browser_label: None,
            tab_id: self.current.as_ref().and_then(|current| current.tab),
        }
    }
}

/// The clients that are known.
#[derive(Debug, Default)]
pub(super) struct ClientRegistry(HashMap<ClientId, ClientState>);

impl ClientRegistry {
    pub(super) fn of(&self, owner: &Owner) -> impl Iterator<Item = (&ClientId, &ClientState)> {
        self.0.iter().filter(move |(_, client)| client.owner == *owner)
    }

    /// The owners of all clients.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.0.values().map(|client| &client.owner)
    }

    /// The commands of an owner's clients that are not over.
    pub(super) fn active_of(&self, owner: &Owner) -> impl Iterator<Item = &CorrelationId> {
        self.of(owner).flat_map(|(_, client)| &client.active)
    }

    /// How many commands are not over, of all clients.
    pub(super) fn active_count(&self) -> usize {
        self.0.values().map(|client| client.active.len()).sum()
    }

    /// The commands that are not over, of all clients.
    pub(super) fn all_active(&self) -> impl Iterator<Item = &CorrelationId> {
        self.0.values().flat_map(|client| &client.active)
    }

    /// How many calls block, of all clients.
    pub(super) fn waiting_count(&self) -> usize {
        self.0.values().map(|client| client.waiters).sum()
    }

    /// Adds a command that an earlier run of the daemon has accepted and that has not ended.
    pub(super) fn add_command(&mut self, client: &ClientId, id: CorrelationId) {
        if let Some(client) = self.0.get_mut(client) {
            client.add_command(id);
        }
    }

    /// Removes a command that has ended.
    pub(super) fn remove_command(&mut self, client: &ClientId, id: &CorrelationId) {
        if let Some(client) = self.0.get_mut(client) {
            client.active.retain(|active| active != id);
        }
    }

    /// The clients whose current tab is one of these.
    pub(super) fn with_current(&self, is_it: impl Fn(&CurrentTab) -> bool) -> Vec<ClientId> {
        let with = self.0.iter().filter(|(_, client)| client.current.as_ref().is_some_and(&is_it));
        with.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A client's commands that are not over, oldest first.
    pub(super) fn active(&self, id: &ClientId) -> &[CorrelationId] {
        self.0.get(id).map_or(&[], |client| &client.active)
    }

    /// The tab that a client used last.
    pub(super) fn current(&self, id: &ClientId) -> Option<&CurrentTab> {
        self.0.get(id).and_then(|client| client.current.as_ref())
    }

    /// The tabs of a browser's former run are nobody's any more, but for these.
    pub(super) fn forget_used_but(&mut self, kept: &HashSet<TabId>, browser: &BrowserId) {
        self.0.values_mut().for_each(|client| client.used.forget_but(kept, browser));
    }

    /// A tab that clients used goes on under its new id: it is no second one.
    pub(super) fn rename_used(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        self.0.values_mut().for_each(|client| client.used.rename(browser, former, now));
    }

    /// The tabs that a client used of late.
    pub(super) fn used_tabs(&self, id: &ClientId) -> Option<&UsedTabs> {
        self.0.get(id).map(|client| &client.used)
    }

    /// Whether a client is there, as far as its calls and its streams tell.
    pub(super) fn presence(&self, id: &ClientId) -> ClientPresence {
        match self.0.get(id) {
            Some(client) if !client.is_idle() => ClientPresence::Here,
            Some(client) if client.has_left => ClientPresence::Left { since: client.last_seen },
            Some(client) => ClientPresence::Silent { since: client.last_seen },
            // It was away for long, or has not called since the daemon was started.
            None => ClientPresence::Silent { since: Timestamp::from_unix_micros(0) },
        }
    }

    /// The name that the person sees: the client's program, else its id.
    pub(super) fn label_of(&self, id: &ClientId) -> Arc<str> {
        let program = self.0.get(id).and_then(|client| client.program.clone());
        let label = program.or_else(|| ClientProgram::of(id.as_str(), ""));
        label.map_or_else(|| "".into(), ClientProgram::into_text)
    }

    /// Drops the client that has been idle for the longest time.
    fn drop_idlest(&mut self) -> Option<ClientId> {
        // Never a client at work: its commands would lose their lists.
        let idle = self.0.iter().filter(|(_, client)| client.is_idle());
        let idlest = idle.min_by_key(|(_, client)| client.last_seen).map(|(id, _)| id.clone())?;
        self.0.remove(&idlest);
        Some(idlest)
    }

    /// Drops clients that have been idle for long and have no stored commands.
    fn drop_forgotten(
        &mut self,
        now: Timestamp,
        has_kept: impl Fn(&ClientId) -> bool,
    ) -> Vec<ClientId> {
        let is_over = |(id, client): &(&ClientId, &mut ClientState)| {
            client.is_idle()
                && now.since(client.last_seen) >= limits::CLIENT_REMEMBERED
                && !has_kept(id)
        };
        self.0.extract_if(|id, client| is_over(&(id, client))).map(|(id, _)| id).collect()
    }
}

impl Engine {
    /// For how long no client has called and no command was pending, counted from
    /// `since` at the earliest.
    #[must_use]
    pub fn idle_for(&self, since: Timestamp, now: Timestamp) -> Duration {
        let busy = self.clients.0.values().any(|client| !client.is_idle());
        let heard = self.clients.0.values().map(|client| client.last_seen).max();
        let last = if busy { now } else { heard.unwrap_or(since).max(since) };
        now.since(last)
    }

    /// Whether a client asked for notifications of its jobs. False for a forgotten client.
    #[must_use]
    pub fn wants_jobs(&self, caller: &Caller) -> bool {
        self.clients.0.get(&caller.client).is_some_and(|known| known.wants_jobs)
    }

    /// Whether a client can be asked in which folders it works. False for a forgotten client.
    #[must_use]
    pub fn has_roots(&self, caller: &Caller) -> bool {
        self.clients.0.get(&caller.client).is_some_and(|known| known.has_roots)
    }

    /// Whether a client shows views of commands. False for a forgotten client.
    #[must_use]
    pub fn shows_views(&self, caller: &Caller) -> bool {
        self.clients.0.get(&caller.client).is_some_and(|known| known.shows_views)
    }

    /// The owner's clients that are at work or were heard of in the last 10 minutes, the one heard
    /// of last first. Others are remembered for longer, and are listed again with their next call.
    #[must_use]
    pub fn client_summaries(&self, owner: &Owner, now: Timestamp) -> Vec<ClientSummary> {
        let listed = self.clients.of(owner).filter(|(_, client)| client.is_alive(now));
        let mut clients: Vec<_> = listed.map(|(id, client)| client.summary(id)).collect();
        for client in &mut clients {
            let current = client.browser.as_ref().zip(client.tab_id);
            let is_inside = current
                .is_some_and(|(browser, tab)| self.inside_since(owner, browser, tab).is_some());
            client.tab_id = client.tab_id.filter(|_| is_inside);
            client.browser_label = client.browser.as_ref().and_then(|one| self.browser_label(one));
        }
        clients.sort_unstable_by(|a, b| (b.last_seen, &a.client).cmp(&(a.last_seen, &b.client)));
        clients
    }
}

impl Transaction<'_> {
    /// Notes the program that a client says it is.
    pub fn note_program(&mut self, caller: &Caller, program: ClientProgram) {
        self.client(caller).program = Some(program);
    }

    /// Notes whether a client wants notifications of its jobs.
    pub fn note_wants_jobs(&mut self, caller: &Caller, wants: bool) {
        // No client is created only to note that it wants nothing.
        if wants || self.clients.0.contains_key(&caller.client) {
            self.client(caller).wants_jobs = wants;
        }
    }

    /// Notes whether a client can be asked in which folders it works.
    pub fn note_has_roots(&mut self, caller: &Caller, has_roots: bool) {
        if has_roots || self.clients.0.contains_key(&caller.client) {
            self.client(caller).has_roots = has_roots;
        }
    }

    /// Notes whether a client shows views of commands.
    pub fn note_shows_views(&mut self, caller: &Caller, shows_views: bool) {
        if shows_views || self.clients.0.contains_key(&caller.client) {
            self.client(caller).shows_views = shows_views;
        }
    }

    /// Sets what becomes of the dialogs that a client's commands meet.
    pub fn handle_dialogs(&mut self, caller: &Caller, dialogs: DialogHandling) {
        self.client(caller).dialogs = dialogs;
    }

    /// Counts a call of a client that waits.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::TooManyWaiters`].
    pub fn begin_wait(&mut self, caller: &Caller) -> Result<(), CallRefusal> {
        let most = self.limits.waiters;
        let client = self.client(caller);
        let waiters = client.waiters;
        if waiters >= most {
            return Err(self.refuse(caller, RefusalReason::TooManyWaiters { waiters }));
        }
        client.waiters += 1;
        Ok(())
    }

    /// A waiting call of a client has returned.
    pub fn end_wait_call(&mut self, caller: &Caller) {
        // A client with a waiting call is not idle, so it cannot have been forgotten meanwhile.
        let client = self.client(caller);
        client.waiters = client.waiters.saturating_sub(1);
    }

    /// A client has opened a stream: it is there until it closes the last one.
    pub fn begin_stream(&mut self, caller: &Caller) {
        let client = self.client(caller);
        client.streams += 1;
        client.has_left = false;
        self.follow_presence(caller);
    }

    /// A stream of a client has ended.
    pub fn end_stream(&mut self, caller: &Caller) {
        let client = self.client(caller);
        client.streams = client.streams.saturating_sub(1);
        client.has_left = client.streams == 0;
        self.follow_presence(caller);
    }

    /// The state of a client, created on its first call.
    pub(super) fn client(&mut self, caller: &Caller) -> &mut ClientState {
        let Caller { owner, client: id } = caller;
        let now = self.now();
        // An owner that was removed and added again has clients of the same names.
        if self.clients.0.get(id).is_some_and(|known| !self.is_listed(&known.owner)) {
            self.drop_client(id);
        }
        // Anyone can make up client names, so their number is limited.
        if !self.clients.0.contains_key(id) && self.clients.len() >= self.limits.clients {
            let idlest = self.clients.drop_idlest();
            if let Some(idlest) = idlest {
                self.forget_client(&idlest);
            }
        }
        let Engine { clients, limits, .. } = &mut **self;
        let new = || ClientState::new(owner.clone(), limits, now);
        let client = clients.0.entry(id.clone()).or_insert_with(new);
        client.last_seen = now;
        // One that has left and calls again is back, with or without a stream.
        client.has_left = false;
        client
    }

    /// Forgets browsers and clients that have been gone for long.
    pub(super) fn sweep(&mut self) {
        let now = self.now();
        if now.since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        self.sweep_knocks();
        self.sweep_leases();
        self.sweep_consents();
        self.sweep_page_states();
        let is_over = |browser: &BrowserState| {
            !browser.has_link() && now.since(browser.last_seen()) >= limits::BROWSER_REMEMBERED
        };
        let over = self.browsers.extract_if(|_, browser| is_over(browser));
        for browser in over.map(|(id, _)| id).collect::<Vec<_>>() {
            self.capture.forget_browser(&browser);
            self.drawing_tools.forget_browser(&browser);
            self.page_states.forget_browser(&browser);
        }
        let Engine { clients, retention, .. } = &mut **self;
        let has_kept = |client: &ClientId| retention.kept(client).next().is_some();
        for client in clients.drop_forgotten(now, has_kept) {
            self.forget_client(&client);
        }
    }

    /// Drops a client whose owner was removed.
    pub(super) fn drop_client(&mut self, client: &ClientId) {
        self.clients.0.remove(client);
        self.forget_client(client);
    }

    /// Forgets the history of a client that was dropped.
    fn forget_client(&mut self, client: &ClientId) {
        self.retention.forget_client(client);
        self.keys.forget_client(client);
        self.record(JournalEntry::ClientForgotten(client.clone()));
    }

    /// Sets the current tab of a client.
    pub(super) fn set_current(&mut self, client: &ClientId, current: CurrentTab) {
        let at = self.now();
        let Some(known) = self.clients.0.get_mut(client) else { return };
        known.used.note(&current, at);
        // Most commands go to the current tab again, and every entry costs a write.
        if known.current.as_ref() == Some(&current) {
            return;
        }
        known.current = Some(current.clone());
        let (client, owner, used) = (client.clone(), known.owner.clone(), known.used.to_record());
        let CurrentTab { browser, tab } = current;
        let current = CurrentTabRecord { client, owner, browser, tab, at, used };
        self.record(JournalEntry::CurrentTab(current));
    }
}
