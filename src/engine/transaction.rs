//! A transaction applies one input to the engine, with everything that follows from it.
//!
//! Commands change only in [`Transaction::apply`], so that lanes, deadlines, lists and links always
//! agree with them. Before a transaction ends, it delivers every command that may be delivered.

use std::collections::HashSet;
use std::ops::{Deref, DerefMut};

use super::Engine;
use super::commands::has_not_begun;
use super::effects::{CloseReason, CommandEvent, CommandUpdate, Effects, JournalAppend, LinkFrame};
use super::entry::{Eviction, JournalEntry, JournalSeq};
use super::links::command_frame;
use crate::lifecycle::{
    Command, CommandOutcome, CommandPhase, CommandState, EventReply, FreedLanes, LifecycleEvent,
    Peer, Tombstone, Transition,
};
use crate::protocol::{
    Attempt, BrowserId, BrowserTab, CorrelationId, NackReason, Timestamp, ToExtension, WorkKind,
};

/// The hint of a result that was dropped unread to make room for newer ones.
pub(super) const DROPPED: &str = "Result dropped: too many newer ones were kept (never retrieved)";

/// The engine during one input.
#[derive(Debug)]
pub struct Transaction<'a> {
    engine: &'a mut Engine,
    effects: &'a mut Effects,
    now: Timestamp,
    /// Browsers to which a command may have become deliverable.
    freed: HashSet<BrowserId>,
    /// Browsers whose outbox is full because their extension does not read.
    overflowing: Vec<BrowserId>,
}

impl Deref for Transaction<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        self.engine
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Engine {
        self.engine
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn new(engine: &'a mut Engine, now: Timestamp, effects: &'a mut Effects) -> Self {
        Self { engine, effects, now, freed: HashSet::new(), overflowing: Vec::new() }
    }

    /// The time of the input.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn effects(&mut self) -> &mut Effects {
        self.effects
    }

    /// Appends an entry that an answer or a frame will wait for.
    pub(super) fn record(&mut self, entry: JournalEntry) -> JournalSeq {
        self.effects.log.push(JournalAppend::Awaited(entry));
        self.engine.next_seq()
    }

    /// Appends an entry that nothing waits for.
    pub(super) fn record_for_later(&mut self, entry: JournalEntry) {
        self.effects.log.push(JournalAppend::Later(entry));
    }

    /// Records that a command has begun or ended.
    pub(super) fn record_change(&mut self, command: &Command) -> JournalSeq {
        let seq = self.record(JournalEntry::Changed(command.clone()));
        self.commands.note_recorded(&command.spec().id, seq);
        seq
    }

    /// Applies an event to a command, with everything that follows from it. `None`: there is no such
    /// command.
    pub(super) fn apply(
        &mut self,
        id: &CorrelationId,
        event: LifecycleEvent,
    ) -> Option<EventReply> {
        let now = self.now;
        let is_read = matches!(event, LifecycleEvent::Read);
        let before = self.commands.get(id)?;
        // Read before the event: a command that returns to the queue has no delivery any more.
        let holder = before.delivery().map(|delivery| delivery.peer.browser.clone());
        let furthest = before.furthest();
        let (step, command) = self.engine.commands.apply(id, event, now)?;
        let (from, to, reply, cancel) = match step {
            Transition::Unchanged(reply) => return Some(reply),
            Transition::Changed { from, to, reply, cancel } => (from, to, reply, cancel),
        };
        // Large parts are shared, and the steps below need the whole engine.
        let command = command.clone();
        let has_ended = to.is_terminal() && !from.is_terminal();
        // Appended before the update, which tells waiters the entry that they have to wait for.
        let recorded = if command.is_to_be_recorded_since(from) {
            Some(self.record_change(&command))
        } else {
            if is_read {
                // A crash may lose this entry; the outcome then counts as unread.
                self.record_for_later(JournalEntry::Read(id.clone(), now));
            }
            None
        };
        let update = CommandUpdate::Changed { command: command.clone(), recorded };
        self.effects.commands.push(update);
        self.follow_deadline(&command);
        self.follow_holder(&command, holder);
        // The event need not come from the browser that has the command: its owner may cancel it.
        if let (Some(reason), Some(delivery)) = (cancel, command.delivery()) {
            let correlation_id = id.clone();
            self.send(&delivery.peer.browser, ToExtension::Cancel { correlation_id, reason });
        }
        // Only marks the browser. The next command goes out at the end of the transaction, behind
        // the `cancel` above.
        self.follow_lane(id, to);
        if from == CommandPhase::Held {
            self.follow_hold(&command);
        }
        if has_ended {
            // The parameters have counted since the acceptance.
            self.quotas.add_result(&command);
            self.ended(&command);
        }
        // Observers follow the phases of a command up to its end.
        if !from.is_terminal() && command.furthest() != furthest {
            self.notify_observers(&command);
        }
        Some(reply)
    }

    /// Applies an event that an extension sent, and sends the reply.
    pub(super) fn answer(
        &mut self,
        peer: &Peer,
        id: &CorrelationId,
        attempt: Attempt,
        event: LifecycleEvent,
    ) {
        // With a `nack` the extension stops repeating a report on a command that was dropped.
        let reply = self.apply(id, event).unwrap_or(EventReply::Nack(NackReason::UnknownCommand));
        let correlation_id = id.clone();
        match reply {
            EventReply::Nothing => {}
            EventReply::Ack => {
                self.send(&peer.browser, ToExtension::ResultAck { correlation_id, attempt });
            }
            EventReply::Nack(reason) => {
                let correlation_id = Some(correlation_id);
                let attempt = Some(attempt);
                self.send(&peer.browser, ToExtension::Nack { correlation_id, attempt, reason });
            }
            // The outbox sends it once the start is recorded, and only if `may_go` still allows it.
            EventReply::Go => self.send(&peer.browser, ToExtension::Go { correlation_id, attempt }),
        }
    }

    /// Sends a frame to a browser, if it has a link. A frame that confirms something recorded waits
    /// until the journal has recorded all entries so far.
    pub(super) fn send(&mut self, browser: &BrowserId, frame: ToExtension) {
        // Entries are written in order, so the last one stands for all before it.
        let after =
            if frame.tells_what_is_recorded() { self.last_seq() } else { JournalSeq::default() };
        let Some(known) = self.engine.browsers.get_mut(browser) else { return };
        match known.reserve_room() {
            Ok(Some(link)) => self.effects.frames.push(LinkFrame { link, frame, after }),
            Ok(None) => {}
            // Not closed here: the caller may be in the middle of the commands that the link holds.
            Err(_full) => self.overflowing.push(browser.clone()),
        }
    }

    /// Frees the lane of a command that no longer needs it.
    pub(super) fn follow_lane(&mut self, id: &CorrelationId, to: CommandPhase) {
        let Engine { scheduler, limits, .. } = &mut *self.engine;
        match scheduler.follow(id, to, limits) {
            FreedLanes::Nothing => {}
            FreedLanes::In(browser) => self.may_deliver_to(&browser),
            FreedLanes::Everywhere => self.freed.extend(self.engine.scheduler.browsers()),
        }
    }

    /// Looks for a command for this browser before the transaction ends.
    pub fn may_deliver_to(&mut self, browser: &BrowserId) {
        self.freed.insert(browser.clone());
    }

    pub(super) fn follow_deadline(&mut self, command: &Command) {
        let is_sooner = self.deadlines.set(&command.spec().id, command.next_deadline());
        let looks_anew = has_not_begun(command) && self.deadlines.look_for_sleep();
        if is_sooner || looks_anew {
            self.effects.is_sooner = true;
        }
    }

    /// Keeps each browser's list of the commands that its extension has.
    pub(super) fn follow_holder(&mut self, command: &Command, before: Option<BrowserId>) {
        let id = &command.spec().id;
        let after = match command.phase() {
            CommandPhase::Sent | CommandPhase::Started => {
                command.delivery().map(|delivery| delivery.peer.browser.clone())
            }
            CommandPhase::Queued
            | CommandPhase::Held
            | CommandPhase::Waiting
            | CommandPhase::Working
            | CommandPhase::Leaving
            | CommandPhase::Ended => None,
        };
        // Removed before it is added: both may be the same browser.
        if let Some(browser) = before.and_then(|browser| self.browsers.get_mut(&browser)) {
            browser.remove_held(id);
        }
        if let Some(browser) = after.and_then(|browser| self.browsers.get_mut(&browser)) {
            browser.add_held(id.clone());
        }
    }

    /// The consequences of a command's end: lists, failures, estimates (row 21), and the current tab
    /// if the command opened one.
    pub(super) fn ended(&mut self, command: &Command) {
        let spec = command.spec();
        tracing::debug!(id = %spec.id, outcome = ?command.phase(), "command ended");
        self.scheduler.forget_selector(&spec.id);
        self.note_past(command);
        self.note_span(command);
        // At the end and not when it is read: the next call may come without reading the result.
        self.remember_opened(command);
        self.follow_lease(command);
        self.clients.remove_command(&spec.client, &spec.id);
        self.follow_wait(spec);
        if spec.work.kind() == WorkKind::Ask {
            self.show_asks();
        }
        let limits = self.limits;
        if let Some(failure) = command.as_failed(self.scheduler.lane_of(&spec.id)) {
            self.retention.list_failure(&spec.client, failure, &limits);
        }
        if let Some(took) = command.running_time() {
            self.run_lengths.note(spec.work.name(), took);
        }
        // The limit is per client, so a command can only push out one of its own client.
        let one_too_many = self.retention.keep(&spec.client, spec.id.clone(), &limits);
        if let Some(id) = one_too_many {
            self.forget(&id, DROPPED);
        }
    }

    /// Drops an ended command's record and leaves a tombstone (rows 19 and 20).
    pub(super) fn forget(&mut self, id: &CorrelationId, if_unread: &str) {
        let Some(command) = self.commands.remove(id) else { return };
        let spec = command.spec();
        self.deadlines.remove(id);
        // Taken before the record goes: the failure of an unread result names its tab.
        let target = self.scheduler.forget_lane(id);
        // The lane may still be held for a page that did not report.
        self.follow_lane(id, CommandPhase::Ended);
        self.quotas.remove(&command);
        let unread_result = matches!(
            command.state(),
            CommandState::Ended { read: false, outcome: CommandOutcome::Complete { .. }, .. }
        );
        if unread_result {
            tracing::info!(correlation_id = %id, "a result expired that nobody had read");
        }
        let owner = spec.owner.clone();
        let at = self.now;
        let gone = Tombstone { owner, at, may_have_run: command.may_have_run() };
        let unread = unread_result.then(|| command.as_unread(target.as_ref(), if_unread, at));
        let limits = self.limits;
        let forgotten = self.retention.evict(&spec.client, id, gone.clone(), unread, &limits);
        // A crash may lose the entry below; the next run then drops the record again.
        let (id, client) = (id.clone(), spec.client.clone());
        self.effects.commands.push(CommandUpdate::Forgotten(id.clone()));
        self.record_for_later(JournalEntry::Evicted(Eviction { id, client, gone, forgotten }));
    }

    /// Shows observers the new state of a command.
    pub(super) fn notify_observers(&mut self, command: &Command) {
        if self.effects.is_observed {
            let spec = command.spec();
            let (owner, scope) = (spec.owner.clone(), spec.scope);
            let summary = self.command_summary(command);
            self.effects.events.push(CommandEvent { owner, scope, summary });
        }
    }

    /// The same, by the id of the command.
    pub(super) fn notify_observers_of(&mut self, id: &CorrelationId) {
        if let Some(command) = self.commands.get(id).cloned() {
            self.notify_observers(&command);
        }
    }

    /// Closes links that overflow and delivers commands, until nothing is left to do: a closed link
    /// may free a lane, and a delivery may overflow a link.
    pub(super) fn deliver_ready(&mut self) {
        loop {
            // Before any delivery: commands of a closed link return to the front of their lanes.
            if let Some(browser) = self.overflowing.pop() {
                tracing::warn!(browser = %browser, "the extension does not read: link closed");
                self.end_link(&browser, CloseReason::Overflow);
            } else if let Some(browser) = self.freed.iter().next().cloned() {
                self.freed.remove(&browser);
                self.deliver_all(&browser);
            } else {
                return;
            }
        }
    }

    /// Delivers every command that this browser may have now.
    pub(super) fn deliver_all(&mut self, browser: &BrowserId) {
        while self.deliver_next(browser) {}
    }

    /// Row 3. False: this browser may have no command now.
    fn deliver_next(&mut self, browser: &BrowserId) -> bool {
        // The next run finds these commands in the journal and delivers them (decision 98).
        if self.is_shutting_down {
            return false;
        }
        let Some(known) = self.engine.browsers.get(browser) else { return false };
        let (peer, transport) = match known.recipient() {
            Ok(recipient) => recipient,
            Err(starved) => {
                // Nothing else would look at the waiting command again once there is room.
                self.effects.starved.extend(starved);
                return false;
            }
        };
        let Engine { scheduler, limits, .. } = &mut *self.engine;
        let Some((id, lane)) = scheduler.next(browser, limits) else { return false };
        if transport.runs_at_once() && self.hold_for_poller(&id) {
            return true;
        }
        // Before the frame is made, which carries the attempt that this event counts.
        self.apply(&id, LifecycleEvent::Deliver(peer.clone(), transport));
        // A deadline may have ended the command instead: it then has no frame.
        let Some(command) = self.commands.get(&id).cloned() else { return true };
        if self.is_withheld(&peer, &command) || self.withhold_handed_over(&peer, &id) {
            return true;
        }
        let records_spans = self.effects.records_spans;
        if transport.runs_at_once() {
            self.hand_to_poller(&peer, &command, &lane);
        } else if let Some(frame) = command_frame(&command, &lane, self.engine, records_spans) {
            tracing::debug!(id = %id, browser = %browser, "command delivered");
            self.note_draw_mode(browser, &command);
            self.send(browser, frame);
        }
        true
    }
}

impl Engine {
    /// All known tabs of connected browsers.
    pub(super) fn tabs(&self) -> impl Iterator<Item = (&BrowserId, &BrowserTab)> {
        let connected = self.browsers.iter().filter(|(_, browser)| browser.is_connected());
        connected.flat_map(|(id, browser)| browser.tabs().iter().map(move |tab| (id, tab)))
    }
}
