//! Everything that the hub changes, behind one lock.
//!
//! The lock is held for microseconds and never across an await; whoever needs it calls
//! [`Hub::with_desk`]. Commands live in the hub's map, each in a watch channel; they
//! change only here, in [`Desk::apply`], so that lanes, deadlines, lists and links
//! always agree with them. Before the lock is let go, whatever may be delivered is.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use super::clients::Client;
use super::kept::Kept;
use super::keys::Keys;
use super::knocks::Knocks;
use super::links::Browser;
use super::outbox::{Farewell, Outgoing, command_frame};
use super::owner_rates::OwnerRates;
use super::reaper::Deadlines;
use super::sessions::Sessions;
use super::sites::PersonDecisions;
use super::tracked::Tracked;
use super::{Hub, Inner};
use crate::journal::{Burial, Entry, Seq};
use crate::lifecycle::{
    Command, Event, Freed, Gone, Lane, Limits, Outcome, Peer, Phase, Queue, Reply, Retention,
    State, Step, Wish,
};
use crate::protocol::{
    Attempt, BrowserId, ClientId, CorrelationId, Moment, NackReason, Owner, Stream, Tab,
    ToExtension,
};

/// What is said of a result that nobody had read when it had to go for newer ones.
pub(super) const DROPPED: &str = "Result dropped: too many newer ones were kept (never retrieved)";

/// How many past runs an estimate goes by.
const RUNS: usize = 50;

/// What is behind the lock.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) queue: Queue,
    pub(super) retention: Retention,
    pub(super) keys: Keys,
    pub(super) deadlines: Deadlines,
    pub(super) browsers: HashMap<BrowserId, Browser>,
    pub(super) clients: HashMap<ClientId, Client>,
    pub(super) owners: HashMap<Owner, OwnerRates>,
    pub(super) sessions: Sessions,
    pub(super) knocks: Knocks,
    /// What the commands that are not over asked for.
    pub(super) wishes: HashMap<CorrelationId, Wish>,
    /// Where each command went that was given a lane: the queue forgets it with the
    /// command's end, and observers ask for longer.
    pub(super) targets: HashMap<CorrelationId, Lane>,
    /// How long the last runs of each action took.
    pub(super) runs: HashMap<&'static str, VecDeque<Duration>>,
    links: u64,
    /// How much of commands is kept.
    pub(super) kept: Kept,
    /// What every browser is to record on its own.
    pub(super) captured: BTreeSet<Stream>,
    /// What the person has decided for every browser.
    pub(super) decided: PersonDecisions,
    /// Whether nothing new is taken or delivered, since the daemon is about to end.
    pub(super) is_draining: bool,
    /// When clients and browsers that were idle for long were last looked for.
    pub(super) swept: Moment,
}

/// The books, while the lock is held.
pub(super) struct Desk<'a> {
    pub(super) inner: &'a Inner,
    pub(super) books: MutexGuard<'a, Books>,
    /// Where something may be delivered that could not be before.
    freed: HashSet<BrowserId>,
    /// Browsers whose extension does not read what it is sent.
    overflowing: Vec<BrowserId>,
}

impl Deref for Desk<'_> {
    type Target = Books;

    fn deref(&self) -> &Books {
        &self.books
    }
}

impl DerefMut for Desk<'_> {
    fn deref_mut(&mut self) -> &mut Books {
        &mut self.books
    }
}

impl Books {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            queue: Queue::default(),
            retention: Retention::default(),
            keys: Keys::default(),
            deadlines: Deadlines::default(),
            browsers: HashMap::new(),
            clients: HashMap::new(),
            owners: HashMap::new(),
            sessions: Sessions::default(),
            knocks: Knocks::default(),
            wishes: HashMap::new(),
            targets: HashMap::new(),
            runs: HashMap::new(),
            links: 0,
            kept: Kept::default(),
            captured: BTreeSet::new(),
            decided: PersonDecisions::default(),
            is_draining: false,
            swept: now,
        }
    }

    pub(super) fn next_link(&mut self) -> u64 {
        self.links += 1;
        self.links
    }
}

impl Hub {
    /// Takes the lock, lets `work` happen, and delivers whatever may be delivered then.
    pub(super) fn with_desk<R>(&self, work: impl FnOnce(&mut Desk<'_>) -> R) -> R {
        let inner = &*self.0;
        // Nothing in here panics; if it did, the books would still be worth more than
        // a daemon that refuses everything from there on.
        let books = inner.books.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut desk = Desk { inner, books, freed: HashSet::new(), overflowing: Vec::new() };
        let result = work(&mut desk);
        desk.settle();
        result
    }
}

impl<'a> Desk<'a> {
    pub(super) fn now(&self) -> Moment {
        self.inner.clock.now()
    }

    pub(super) fn limits(&self) -> &'a Limits {
        &self.inner.limits
    }

    /// Whether the daemon is about to end.
    pub(super) fn is_ending(&self) -> bool {
        self.is_draining || self.inner.closed.is_cancelled()
    }

    /// Appends to the journal what must outlive the process.
    pub(super) fn record(&self, entry: Entry) -> Seq {
        self.inner.journal.append(entry)
    }

    /// Records that a command has begun, or is over.
    pub(super) fn record_change(&self, tracked: &Tracked, command: &Command) {
        if !self.inner.journal.is_ephemeral() {
            tracked.note_recorded(self.record(Entry::Changed(command.clone())));
        }
    }

    /// Lets an event happen to a command, and everything that follows from it. `None`:
    /// there is no such command.
    pub(super) fn apply(&mut self, id: &CorrelationId, event: Event) -> Option<Reply> {
        let watched = self.inner.commands.get(id)?.clone();
        let now = self.now();
        let is_read = matches!(event, Event::Read);
        let mut step = Step::Unchanged(Reply::Nothing);
        let (holder, before) = {
            let command = watched.borrow();
            (command.hold().map(|hold| hold.by.browser.clone()), command.furthest())
        };
        watched.send_if_modified(|command| {
            step = command.apply(event, now);
            matches!(step, Step::Changed { .. })
        });
        let (from, to, reply, cancel) = match step {
            Step::Unchanged(reply) => return Some(reply),
            Step::Changed { from, to, reply, cancel } => (from, to, reply, cancel),
        };
        // Read in place: nothing below changes this command, and only the desk does.
        let command = watched.borrow();
        let has_ended = to.is_terminal() && !from.is_terminal();
        if command.is_to_be_recorded_since(from) {
            self.record_change(&watched, &command);
        } else if is_read {
            self.inner.journal.append_for_later(Entry::Read(id.clone(), now));
        }
        self.follow_deadline(&command);
        self.follow_holder(&command, holder);
        if let (Some(reason), Some(hold)) = (cancel, command.hold()) {
            let correlation_id = id.clone();
            self.send(&hold.by.browser.clone(), ToExtension::Cancel { correlation_id, reason });
        }
        self.follow_lane(id, to);
        if has_ended {
            self.kept.add_result(&command);
            self.ended(&command);
        }
        // What happens after the end, or shows in no list, is no news.
        if !from.is_terminal() && command.furthest() != before {
            self.tell(&command);
        }
        Some(reply)
    }

    /// Lets an event of an extension happen, and answers it.
    pub(super) fn answer(
        &mut self,
        peer: &Peer,
        id: &CorrelationId,
        attempt: Attempt,
        event: Event,
    ) {
        let reply = self.apply(id, event).unwrap_or(Reply::Nack(NackReason::UnknownCommand));
        let correlation_id = id.clone();
        match reply {
            Reply::Nothing => {}
            Reply::Ack => {
                self.send(&peer.browser, ToExtension::ResultAck { correlation_id, attempt });
            }
            Reply::Nack(reason) => {
                let correlation_id = Some(correlation_id);
                let attempt = Some(attempt);
                self.send(&peer.browser, ToExtension::Nack { correlation_id, attempt, reason });
            }
            // It leaves once the start is recorded, and only if it may then.
            Reply::Go => self.send(&peer.browser, ToExtension::Go { correlation_id, attempt }),
        }
    }

    /// Puts a frame into a browser's outbox. What tells of something that must be recorded
    /// first leaves once everything is that was appended until now.
    pub(super) fn send(&mut self, browser: &BrowserId, frame: ToExtension) {
        let after =
            if frame.tells_what_is_recorded() { self.inner.journal.last() } else { Seq::default() };
        if self.browsers.get(browser).is_some_and(|known| !known.send(Outgoing { frame, after })) {
            self.overflowing.push(browser.clone());
        }
    }

    /// Frees the lane that a command needs no longer, for those that wait for it.
    fn follow_lane(&mut self, id: &CorrelationId, to: Phase) {
        match self.books.queue.follow(id, to, &self.inner.limits) {
            Freed::Nothing => {}
            Freed::In(browser) => self.may_deliver_to(&browser),
            Freed::Everywhere => self.freed.extend(self.books.queue.browsers()),
        }
    }

    pub(super) fn may_deliver_to(&mut self, browser: &BrowserId) {
        self.freed.insert(browser.clone());
    }

    /// A command that is kept.
    pub(super) fn command(&self, id: &CorrelationId) -> Option<Arc<Tracked>> {
        self.inner.commands.get(id).map(|entry| entry.clone())
    }

    /// The attempt under which a command is held, if it is.
    pub(super) fn attempt_of(&self, id: &CorrelationId) -> Option<Attempt> {
        self.inner.commands.get(id)?.borrow().hold().map(|hold| hold.attempt)
    }

    pub(super) fn follow_deadline(&mut self, command: &Command) {
        if self.deadlines.set(&command.facts().id, command.next_deadline()) {
            self.inner.sooner.notify_one();
        }
    }

    /// Keeps each browser's list of what its extension has.
    pub(super) fn follow_holder(&mut self, command: &Command, before: Option<BrowserId>) {
        let id = &command.facts().id;
        let after = match command.phase() {
            Phase::Sent | Phase::Started => command.hold().map(|hold| hold.by.browser.clone()),
            Phase::Queued | Phase::Waiting | Phase::Working | Phase::Leaving | Phase::Ended => None,
        };
        if let Some(browser) = before.and_then(|browser| self.browsers.get_mut(&browser)) {
            browser.held.remove(id);
        }
        if let Some(browser) = after.and_then(|browser| self.browsers.get_mut(&browser)) {
            browser.held.insert(id.clone());
        }
    }

    /// What follows from a command's end: lists, failures, estimates (row 21), and the
    /// tab that it opened.
    pub(super) fn ended(&mut self, command: &Command) {
        let facts = command.facts();
        tracing::debug!(id = %facts.id, outcome = ?command.phase(), "command ended");
        self.wishes.remove(&facts.id);
        self.remember_opened(command);
        if let Some(client) = self.clients.get_mut(&facts.client) {
            client.active.retain(|id| *id != facts.id);
        }
        self.follow_wait(facts);
        let limits = self.inner.limits;
        if let Some(failure) = command.as_failed(self.targets.get(&facts.id)) {
            self.retention.list_failure(&facts.client, failure, &limits);
        }
        if let Some(took) = command.running_time() {
            let runs = self.runs.entry(facts.work.name()).or_default();
            runs.push_back(took);
            if runs.len() > RUNS {
                runs.pop_front();
            }
        }
        let one_too_many = self.retention.keep(&facts.client, facts.id.clone(), &limits);
        if let Some(id) = one_too_many {
            self.forget(&id, DROPPED);
        }
    }

    /// Drops an ended command's record and leaves a tombstone (rows 19 and 20).
    pub(super) fn forget(&mut self, id: &CorrelationId, if_unread: &str) {
        let Some((_, watched)) = self.inner.commands.remove(id) else { return };
        let command = watched.borrow();
        let facts = command.facts();
        self.deadlines.remove(id);
        let target = self.targets.remove(id);
        // A lane that was still held is not any more.
        self.follow_lane(id, Phase::Ended);
        self.kept.remove(&command);
        let unread_result = matches!(
            command.state(),
            State::Ended { read: false, outcome: Outcome::Complete { .. }, .. }
        );
        if unread_result {
            tracing::info!(correlation_id = %id, "a result expired that nobody had read");
        }
        let owner = facts.owner.clone();
        let at = self.now();
        let gone = Gone { owner, at, may_have_run: command.may_have_run() };
        let unread = unread_result.then(|| command.as_unread(target.as_ref(), if_unread, at));
        let limits = self.inner.limits;
        let forgotten = self.retention.bury(&facts.client, id, gone.clone(), unread, &limits);
        let (id, client) = (id.clone(), facts.client.clone());
        let burial = Burial { id, client, gone, forgotten };
        self.inner.journal.append_for_later(Entry::Gone(burial));
    }

    /// All tabs that are known, of connected browsers.
    pub(super) fn tabs(&self) -> impl Iterator<Item = (&BrowserId, &Tab)> {
        let connected = self.browsers.iter().filter(|(_, browser)| browser.is_connected());
        connected.flat_map(|(id, browser)| browser.tabs.iter().map(move |tab| (id, tab)))
    }

    /// Ends the links that overflow and delivers what may be delivered, until there is
    /// nothing left to do.
    fn settle(&mut self) {
        loop {
            if let Some(browser) = self.overflowing.pop() {
                tracing::warn!(browser = %browser, "the extension does not read: link closed");
                self.end_link(&browser, Farewell::Overflow);
            } else if let Some(browser) = self.freed.iter().next().cloned() {
                self.freed.remove(&browser);
                while self.deliver_next(&browser) {}
            } else {
                return;
            }
        }
    }

    /// Row 3. False: nothing may be delivered to this browser now.
    pub(super) fn deliver_next(&mut self, browser: &BrowserId) -> bool {
        if self.is_ending() {
            return false;
        }
        let Some((peer, carrier)) = self.browsers.get(browser).and_then(Browser::with_room) else {
            return false;
        };
        let Some((id, lane)) = self.books.queue.next(browser, &self.inner.limits) else {
            return false;
        };
        self.apply(&id, Event::Deliver(peer.clone(), carrier));
        let Some(watched) = self.inner.commands.get(&id).map(|entry| entry.clone()) else {
            return true;
        };
        let command = watched.borrow().clone();
        if self.is_withheld(&peer, &command) {
            return true;
        }
        if carrier.runs_at_once() {
            self.hand_to_poller(&peer, &command, &lane);
        } else if let Some(frame) =
            command_frame(&command, &lane, self.label_of(&command.facts().client))
        {
            tracing::debug!(id = %id, browser = %browser, "command delivered");
            self.note_opening(browser, &watched.borrow());
            self.send(browser, frame);
        }
        true
    }
}
