//! Which browser a poll is for: extensions that poll name sessions, and have no other name
//! than the extension's id.

use std::time::Duration;

use super::polls::PollRequest;
use crate::engine::browsers::BrowserState;
use crate::engine::entry::JournalSeq;
use crate::engine::{Engine, PollAnswer, Transaction};
use crate::lifecycle::{LifecycleEvent, Peer, limits};
use crate::protocol::{
    Attempt, BrowserId, CorrelationId, InstanceId, LegacyQuery, Timestamp, Transport,
    is_extension_id,
};
use crate::seeded_bug;

/// How many sessions are remembered that extensions have named.
const SESSIONS: usize = 64;

/// The sessions that extensions have named, by which they are known when they poll.
#[derive(Debug, Default)]
pub(in crate::engine) struct PollerSessions {
    /// Oldest first: the session, and whose it is.
    named: Vec<(InstanceId, String)>,
    /// Those whose place another one took. If one polls again it is a browser of its own:
    /// the same extension in another profile.
    displaced: Vec<InstanceId>,
}

/// The hub's end of an extension that polls.
#[derive(Debug)]
pub(in crate::engine) struct Poller {
    pub(super) extension_id: String,
    pub(super) peer: Peer,
    /// Whether it has polled lately.
    pub(super) is_here: bool,
    /// Whether the person lets it be controlled.
    pub(super) is_pilot_on: bool,
    last_poll: Timestamp,
    /// The time between its last polls.
    interval: Duration,
    /// How it polls.
    pub(super) transport: Transport,
    /// Its requests that may be answered with a command, the newest last.
    open: Vec<PollId>,
    /// What its last `/sync` requests led to.
    pub(super) sync: SyncState,
}

/// Tells requests apart that may be answered with a command. The shell numbers them; no number
/// comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PollId(pub u64);

/// A command that a request is to be answered with.
#[derive(Debug)]
pub struct Assignment {
    /// The command.
    pub id: CorrelationId,
    /// Under which attempt it leaves.
    pub attempt: Attempt,
    /// As it goes over the wire.
    pub query: Box<LegacyQuery>,
    /// Up to where the journal has to be before the answer may leave.
    pub after: JournalSeq,
}

/// What `/sync` requests of one session have led to.
#[derive(Debug, Default)]
pub(super) struct SyncState {
    /// Whether the last one that brought log lines was answered at once for that.
    pub(super) was_hurried: bool,
    /// How many in a row did not name the command that was given, long enough after it was.
    pub(super) unmentioned: u8,
    /// Whether they say what runs. If not, the extension may be silent until it is done.
    pub(super) says_what_runs: bool,
}

impl PollerSessions {
    pub(super) fn name(&mut self, session: &InstanceId, extension_id: &str) {
        self.named.retain(|(known, _)| known != session);
        self.named.push((session.clone(), extension_id.to_owned()));
        drop_oldest(&mut self.named);
    }

    pub(super) fn extension_of(&self, session: &InstanceId) -> Option<String> {
        let named = self.named.iter().find(|(known, _)| known == session);
        named.map(|(_, extension_id)| extension_id.clone())
    }

    fn displace(&mut self, session: InstanceId) {
        self.displaced.push(session);
        drop_oldest(&mut self.displaced);
    }
}

fn drop_oldest<T>(sessions: &mut Vec<T>) {
    if sessions.len() > SESSIONS {
        sessions.remove(0);
    }
}

impl Poller {
    /// Whether it has polled lately.
    pub(in crate::engine) const fn is_here(&self) -> bool {
        self.is_here
    }

    /// Whether its person does not let it be controlled.
    pub(in crate::engine) const fn is_switched_off(&self) -> bool {
        !self.is_pilot_on
    }

    /// To whom a command may be delivered now, and how: only while a poll is being answered.
    pub(in crate::engine) fn recipient(&self) -> Option<(Peer, Transport)> {
        (!self.open.is_empty()).then(|| (self.peer.clone(), self.transport))
    }

    /// One more request may be answered with a command.
    pub(super) fn open(&mut self, poll: PollId) {
        self.open.push(poll);
    }

    /// This request is answered without a command.
    pub(super) fn close(&mut self, poll: PollId) {
        self.open.retain(|open| *open != poll);
    }

    /// All requests are answered without a command.
    pub(super) fn close_all(&mut self) -> impl Iterator<Item = PollAnswer> + use<> {
        std::mem::take(&mut self.open).into_iter().map(PollAnswer::Nothing)
    }

    /// Hands a command to the newest request: an older one may be one that nobody waits for any
    /// more. The others have nothing to wait for before its result is there.
    ///
    /// # Errors
    ///
    /// No request is open.
    pub(super) fn assign(&mut self, assignment: Assignment) -> Result<Vec<PollAnswer>, Assignment> {
        self.sync.unmentioned = 0;
        let Some(newest) = self.open.pop() else { return Err(assignment) };
        let mut answers: Vec<_> = self.close_all().collect();
        answers.push(PollAnswer::Command(newest, assignment));
        Ok(answers)
    }

    /// Notes that it polls. Whether it has come back, or come for the first time.
    pub(super) fn polled(&mut self, now: Timestamp) -> bool {
        let is_back = !std::mem::replace(&mut self.is_here, true);
        if !is_back {
            // The time that it was away is no interval.
            self.interval = now.since(self.last_poll).min(limits::POLL_INTERVAL_MAX);
        }
        self.last_poll = now;
        is_back
    }
}

impl BrowserState {
    /// Until when it counts as connected, if it polls and has lately. One that may be silent
    /// while it works is waited for as long as what it works at is.
    pub(in crate::engine) fn here_until(&self) -> Option<Timestamp> {
        let poller = self.poller().filter(|poller| poller.is_here)?;
        let may_be_silent = poller.transport == Transport::Sync && !poller.sync.says_what_runs;
        if may_be_silent && self.held().next().is_some() {
            return None;
        }
        Some(self.last_seen() + limits::POLLER_GRACE + poller.interval)
    }
}

impl Engine {
    /// The browser whose extension names this session: the one that it has, or the one of
    /// this extension that was heard of longest ago, which then has a new worker. A session
    /// whose place was taken is a browser of its own.
    pub(in crate::engine) fn browser_of(
        &self,
        extension_id: &str,
        session: &InstanceId,
    ) -> BrowserId {
        let of_extension = self.browsers.iter().filter_map(|(id, browser)| {
            let poller = browser.poller()?;
            (poller.extension_id == extension_id).then_some((id, browser.last_seen(), poller))
        });
        let pollers: Vec<_> = of_extension.collect();
        if let Some((id, ..)) = pollers.iter().find(|(.., p)| p.peer.instance == *session) {
            return (*id).clone();
        }
        let was_displaced = self.sessions.displaced.contains(session);
        let longest_ago = pollers.iter().min_by_key(|(_, last_seen, _)| *last_seen);
        match longest_ago {
            Some((id, ..)) if !was_displaced => (*id).clone(),
            Some(_) => self.further_browser_of(extension_id),
            None => first_browser_of(extension_id),
        }
    }

    /// A name that no known browser has.
    fn further_browser_of(&self, extension_id: &str) -> BrowserId {
        let first = first_browser_of(extension_id);
        let mut names = (2_u64..).map(|number| BrowserId::from(format!("{first}-{number}")));
        names.find(|id| !self.browsers.contains_key(id)).unwrap_or(first)
    }
}

impl Transaction<'_> {
    /// Makes this session the browser's. What a former one has taken and not yet reported
    /// goes back to the queue: its worker is gone (row 7).
    pub(in crate::engine) fn take_over(
        &mut self,
        browser: &BrowserId,
        extension_id: String,
        poll: &PollRequest,
    ) {
        let now = self.now();
        let new = || BrowserState::new(now);
        let Engine { browsers, sessions, .. } = &mut **self;
        let known = browsers.entry(browser.clone()).or_insert_with(new);
        let is_same = known.poller().is_some_and(|p| p.peer.instance == poll.session);
        if is_same && !seeded_bug::is_on("polled-again") {
            return;
        }
        let peer = Peer { browser: browser.clone(), instance: poll.session.clone() };
        let poller = Poller {
            extension_id,
            peer,
            is_here: false,
            is_pilot_on: poll.is_pilot_on,
            last_poll: now,
            interval: Duration::from_secs(1),
            transport: poll.transport,
            open: Vec::new(),
            sync: SyncState::default(),
        };
        let held: Vec<_> = known.held().cloned().collect();
        if let Some(former) = known.replace_poller(poller) {
            sessions.displace(former.peer.instance);
        }
        for id in held {
            self.apply(&id, LifecycleEvent::LinkClosed);
        }
    }
}

/// When those that poll are away.
impl Transaction<'_> {
    /// An extension is let in no longer: it is away, and its requests get no command.
    pub fn dismiss_poller(&mut self, extension_id: &str) {
        self.send_away("an extension may poll no more", |id, _| is_browser_of(id, extension_id));
    }

    /// Those that have not polled in time are away.
    pub(in crate::engine) fn lapse_pollers(&mut self) {
        let now = self.now();
        self.send_away("an extension polls no more", |_, browser| {
            browser.here_until().is_some_and(|until| until <= now)
        });
    }

    fn send_away(&mut self, why: &str, is_it: impl Fn(&BrowserId, &BrowserState) -> bool) {
        let mut answers = Vec::new();
        for (id, browser) in &mut self.browsers {
            if !is_it(id, browser) {
                continue;
            }
            if let Some(poller) = browser.poller_mut().filter(|poller| poller.is_here) {
                poller.is_here = false;
                answers.extend(poller.close_all());
                tracing::info!(browser = %id, "{why}");
            }
        }
        self.effects().polls.extend(answers);
        self.tell_older_extensions();
    }
}

impl Engine {
    /// When the next extension that polls will be away, unless it polls again.
    pub(in crate::engine) fn next_lapse(&self) -> Option<Timestamp> {
        self.browsers.values().filter_map(BrowserState::here_until).min()
    }
}

/// What the names of browsers begin with whose extension only polls.
const POLLER_PREFIX: &str = "legacy-";

/// The first browser with this polling extension.
pub(super) fn first_browser_of(extension_id: &str) -> BrowserId {
    BrowserId::from(format!("{POLLER_PREFIX}{extension_id}"))
}

/// Whether the extension of this browser only polls. Also known of a browser that has not come
/// back since the daemon started.
pub(in crate::engine) fn is_poller(browser: &BrowserId) -> bool {
    let id = browser.as_str().strip_prefix(POLLER_PREFIX).and_then(|rest| rest.get(..32));
    id.is_some_and(is_extension_id)
}

/// Whether this is a browser with this polling extension.
pub(in crate::engine) fn is_browser_of(browser: &BrowserId, extension_id: &str) -> bool {
    let rest = browser.as_str().strip_prefix(first_browser_of(extension_id).as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
