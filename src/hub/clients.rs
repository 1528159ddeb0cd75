//! What the hub knows of each client.

use std::sync::Arc;
use std::time::Duration;

use super::Caller;
use super::desk::Desk;
use crate::journal::{Current, Entry};
use crate::lifecycle::{Limits, Rate, limits};
use crate::protocol::{BrowserId, ClientId, ClientProgram, CorrelationId, Moment, Owner, TabId};

/// How often, at most, clients and browsers that were idle for long are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// One client's own: its calls, its commands, its tab.
#[derive(Debug)]
pub(super) struct Client {
    /// Whose client it is.
    pub(super) owner: Owner,
    /// The tab that it used last.
    pub(super) current: Option<CurrentTab>,
    /// Its commands that are not over, oldest first.
    pub(super) active: Vec<CorrelationId>,
    /// How many of its calls block now.
    pub(super) waiters: usize,
    /// When it last made itself heard.
    pub(super) last_seen: Moment,
    /// What it says that it is.
    pub(super) program: Option<ClientProgram>,
    /// Whether it asked to be told of its jobs.
    pub(super) wants_jobs: bool,
    pub(super) calls: Rate,
}

/// The tab that a client's commands go to when they name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CurrentTab {
    pub(super) browser: BrowserId,
    pub(super) tab: Option<TabId>,
}

/// One client as `configure clients` shows it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct ClientSummary {
    /// The client.
    pub client: ClientId,
    /// What it says that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ClientProgram>,
    /// When it last made itself heard.
    pub last_seen: Moment,
    /// How many of its commands are not over.
    pub pending: usize,
    /// The browser that it used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<BrowserId>,
    /// The tab that it used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
}

impl Client {
    pub(super) fn new(owner: Owner, limits: &Limits, now: Moment) -> Self {
        let calls = Rate::new(limits.calls_per_minute, now);
        Self {
            owner,
            current: None,
            active: Vec::new(),
            waiters: 0,
            last_seen: now,
            program: None,
            wants_jobs: false,
            calls,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty() && self.waiters == 0
    }

    /// Whether it is taken to be there still.
    pub(super) fn is_alive(&self, now: Moment) -> bool {
        !self.is_idle() || now.since(self.last_seen) < limits::CLIENT_LISTED
    }

    pub(super) fn summary(&self, client: &ClientId) -> ClientSummary {
        ClientSummary {
            client: client.clone(),
            program: self.program.clone(),
            last_seen: self.last_seen,
            pending: self.active.len(),
            browser: self.current.as_ref().map(|current| current.browser.clone()),
            tab_id: self.current.as_ref().and_then(|current| current.tab),
        }
    }
}

/// Who is known at the desk, and for how long.
impl Desk<'_> {
    /// The client's record, made if it is new.
    pub(super) fn client(&mut self, caller: &Caller) -> &mut Client {
        let Caller { owner, client: id } = caller;
        let now = self.now();
        let limits = self.inner.limits;
        if !self.clients.contains_key(id) && self.clients.len() >= limits.clients {
            self.forget_idlest_client();
        }
        let client = self
            .books
            .clients
            .entry(id.clone())
            .or_insert_with(|| Client::new(owner.clone(), &limits, now));
        client.last_seen = now;
        client
    }

    /// What a client is shown as to the person: what it calls itself, else its name.
    pub(super) fn label_of(&self, id: &ClientId) -> Arc<str> {
        let program = self.clients.get(id).and_then(|client| client.program.clone());
        let label = program.or_else(|| ClientProgram::of(id.as_str(), ""));
        label.map_or_else(|| "".into(), ClientProgram::into_text)
    }

    fn forget_idlest_client(&mut self) {
        let idle = self.clients.iter().filter(|(_, client)| client.is_idle());
        let idlest = idle.min_by_key(|(_, client)| client.last_seen).map(|(id, _)| id.clone());
        if let Some(id) = idlest {
            self.clients.remove(&id);
            self.forget_client(&id);
        }
    }

    /// Forgets browsers and clients that nobody has heard of for long.
    pub(super) fn sweep(&mut self) {
        let now = self.now();
        if now.since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        self.sweep_knocks();
        self.browsers.retain(|_, browser| {
            browser.has_link() || now.since(browser.last_seen) < limits::BROWSER_REMEMBERED
        });
        let books = &mut *self.books;
        let retention = &books.retention;
        let mut forgotten = Vec::new();
        books.clients.retain(|id, client| {
            let stays = !client.is_idle()
                || retention.kept(id).next().is_some()
                || now.since(client.last_seen) < limits::CLIENT_REMEMBERED;
            if !stays {
                forgotten.push(id.clone());
            }
            stays
        });
        for client in forgotten {
            self.forget_client(&client);
        }
    }

    /// Forgets what is kept of a client that is not known any more.
    fn forget_client(&mut self, client: &ClientId) {
        self.retention.forget_client(client);
        self.keys.forget_client(client);
        self.record(Entry::Forgotten(client.clone()));
    }

    /// Makes a tab a client's current one.
    pub(super) fn set_current(&mut self, client: &ClientId, current: CurrentTab) {
        let at = self.now();
        let Some(known) = self.clients.get_mut(client) else { return };
        if known.current.as_ref() == Some(&current) {
            return;
        }
        known.current = Some(current.clone());
        let (client, owner) = (client.clone(), known.owner.clone());
        let CurrentTab { browser, tab } = current;
        self.record(Entry::Current(Current { client, owner, browser, tab, at }));
    }
}
