//! The browser that a poll comes from. Extensions that poll name a session, and give no other name than
//! the extension's id, which is the same in every profile.

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

/// How many named sessions are remembered.
const SESSIONS: usize = 64;

/// The sessions that extensions have named. A poll names only its session.
#[derive(Debug, Default)]
pub(in crate::engine) struct PollerSessions {
    /// Oldest first: the session, and whose it is.
    named: Vec<(InstanceId, String)>,
    /// Sessions that another session replaced. A replaced session that polls again is a browser of
    /// its own: the same extension in another profile.
    displaced: Vec<InstanceId>,
}

/// An extension that polls.
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
    /// Its requests without an answer, the newest last.
    open: Vec<PollId>,
    /// The state of its `/sync` requests.
    pub(super) sync: SyncState,
}

/// The number of a request that may be answered with a command. The shell gives out the numbers and
/// never repeats one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PollId(pub u64);

/// A command as the answer to a request.
#[derive(Debug)]
pub struct Assignment {
    /// The command.
    pub id: CorrelationId,
    /// The attempt of its delivery.
    pub attempt: Attempt,
    /// Its form on the wire.
    pub query: Box<LegacyQuery>,
    /// The journal entry that must be recorded before the answer may be sent.
    pub after: JournalSeq,
}

/// The state of one session's `/sync` requests.
#[derive(Debug, Default)]
pub(super) struct SyncState {
    /// Whether the last request with log lines was answered at once.
    pub(super) was_hurried: bool,
    /// How many requests in a row did not name the assigned command, although it had time to arrive.
    pub(super) unmentioned: u8,
    /// Whether they name running commands. An extension that does not may be silent while it works.
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
    /// How it polls.
    pub(in crate::engine) const fn transport(&self) -> Transport {
        self.transport
    }

    /// Whether it has polled lately.
    pub(in crate::engine) const fn is_here(&self) -> bool {
        self.is_here
    }

    /// Whether its person does not let it be controlled.
    pub(in crate::engine) const fn is_switched_off(&self) -> bool {
        !self.is_pilot_on
    }

    /// The recipient of a command. `None` unless a request waits for an answer.
    pub(in crate::engine) fn recipient(&self) -> Option<(Peer, Transport)> {
        (!self.open.is_empty()).then(|| (self.peer.clone(), self.transport))
    }

    /// Adds a request that waits for a command.
    pub(super) fn open(&mut self, poll: PollId) {
        self.open.push(poll);
    }

    /// Removes a request, which gets no command.
    pub(super) fn close(&mut self, poll: PollId) {
        self.open.retain(|open| *open != poll);
    }

    /// Answers all requests without a command.
    pub(super) fn close_all(&mut self) -> impl Iterator<Item = PollAnswer> + use<> {
        std::mem::take(&mut self.open).into_iter().map(PollAnswer::Nothing)
    }

    /// Answers the newest request with a command, because the client of an older one may be gone. The
    /// others get no command: the extension runs one at a time.
    ///
    /// # Errors
    ///
    /// No request is open.
    pub(super) fn assign(&mut self, assignment: Assignment) -> Result<Vec<PollAnswer>, Assignment> {
        // No request so far could have named the new command.
        self.sync.unmentioned = 0;
        let Some(newest) = self.open.pop() else { return Err(assignment) };
        let mut answers: Vec<_> = self.close_all().collect();
        answers.push(PollAnswer::Command(newest, assignment));
        Ok(answers)
    }

    /// Notes a poll. True: the first one, or the first after an absence.
    pub(super) fn polled(&mut self, now: Timestamp) -> bool {
        let is_back = !std::mem::replace(&mut self.is_here, true);
        if !is_back {
            // The time of an absence is not the time between two polls.
            self.interval = now.since(self.last_poll).min(limits::POLL_INTERVAL_MAX);
        }
        self.last_poll = now;
        is_back
    }
}

impl BrowserState {
    /// Until when it counts as connected without a further poll. An extension that may be silent
    /// while it works counts as connected until its command ends.
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
    /// The browser of a session. A new session is taken for a new worker in the browser of this
    /// extension that has been silent the longest. A session that was replaced before is a browser
    /// of its own.
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
        // Two profiles with one extension poll by turns, and would otherwise take each other's
        // commands (decision 110).
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
    /// Makes this session the current one of the browser. The worker of the former session is gone,
    /// so its commands go back to the queue (row 7).
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
            // As such extensions usually poll; the second poll corrects it.
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

/// Pollers that go away.
impl Transaction<'_> {
    /// Disconnects an extension that is no longer admitted.
    pub fn dismiss_poller(&mut self, extension_id: &str) {
        self.send_away("an extension may poll no more", |id, _| is_browser_of(id, extension_id));
    }

    /// Disconnects pollers that have not polled in time.
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
    /// When the next poller counts as away, unless it polls again.
    pub(in crate::engine) fn next_lapse(&self) -> Option<Timestamp> {
        self.browsers.values().filter_map(BrowserState::here_until).min()
    }
}

/// The prefix of browser ids with an extension that only polls.
const POLLER_PREFIX: &str = "legacy-";

/// The first browser with this polling extension.
pub(super) fn first_browser_of(extension_id: &str) -> BrowserId {
    BrowserId::from(format!("{POLLER_PREFIX}{extension_id}"))
}

/// Whether the extension of this browser only polls. The id tells, so the answer is known even for a
/// browser that has not connected since the daemon started.
pub(in crate::engine) fn is_poller(browser: &BrowserId) -> bool {
    let id = browser.as_str().strip_prefix(POLLER_PREFIX).and_then(|rest| rest.get(..32));
    id.is_some_and(is_extension_id)
}

/// Whether this is a browser with this polling extension.
pub(in crate::engine) fn is_browser_of(browser: &BrowserId, extension_id: &str) -> bool {
    let rest = browser.as_str().strip_prefix(first_browser_of(extension_id).as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
