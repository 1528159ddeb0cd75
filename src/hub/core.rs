//! The engine behind its lock. The effects of a transaction are carried out under the same lock, so
//! they happen in the order of the transactions.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::events::CommandChange;
use super::link_channel::{FrameSender, OrderProgress};
use super::outbox::{OutgoingFrame, is_order};
use super::tracked::TrackedCommand;
use super::{Hub, HubState};
use crate::engine::{
    Assignment, CommandUpdate, Effects, Engine, JournalAppend, JournalSeq, LinkFrame, LinkId,
    PollAnswer, PollId, Transaction,
};
use crate::metrics::SpanFate;
use crate::protocol::BrowserId;

/// The engine, and the channels of its links and polls.
#[derive(Debug)]
pub(super) struct HubCore {
    engine: Engine,
    links: HashMap<LinkId, LinkEnd>,
    /// Links that got frames which may still wait: there the engine may count too little room.
    filled: Vec<LinkId>,
    polls: HashMap<PollId, oneshot::Sender<Assignment>>,
    /// The number of the newest link or poll.
    numbered: u64,
}

/// The hub's end of a link.
#[derive(Debug)]
pub(super) struct LinkEnd {
    pub(super) browser: BrowserId,
    pub(super) outbound: FrameSender,
    /// Whether it is among those that got frames.
    pub(super) is_filled: bool,
    /// How many orders were put into the outbox.
    pub(super) orders_sent: u64,
}

impl Hub {
    fn core(&self) -> MutexGuard<'_, HubCore> {
        // Nothing panics under the lock. If something did, the state would still be worth more than
        // a daemon that refuses every call from then on.
        self.0.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a transaction under the lock and carries out its effects.
    pub(super) fn transact<R>(&self, happen: impl FnOnce(&mut Transaction<'_>) -> R) -> R {
        self.core().transact(&self.0, happen)
    }

    /// Reads the engine under the lock.
    pub(super) fn view<R>(&self, look: impl FnOnce(&Engine) -> R) -> R {
        look(&self.core().engine)
    }

    /// Adds a link and runs a transaction with its number.
    pub(super) fn open_link(
        &self,
        end: LinkEnd,
        happen: impl FnOnce(&mut Transaction<'_>, LinkId),
    ) -> LinkId {
        let mut core = self.core();
        let id = LinkId(core.next_number());
        // Before the transaction, whose effects may already need the link.
        core.links.insert(id, end);
        core.transact(&self.0, |tx| happen(tx, id));
        id
    }

    /// Adds a poll and runs a transaction with its number. Returns the channel on which its command
    /// may come.
    pub(super) fn open_poll<R>(
        &self,
        happen: impl FnOnce(&mut Transaction<'_>, PollId) -> R,
    ) -> (PollId, oneshot::Receiver<Assignment>, R) {
        let mut core = self.core();
        let id = PollId(core.next_number());
        let (assign, assigned) = oneshot::channel();
        // Before the transaction, which may answer the poll.
        core.polls.insert(id, assign);
        let result = core.transact(&self.0, |tx| happen(tx, id));
        (id, assigned, result)
    }

    /// How many orders were put into the outbox of a browser's link, and how far its transport is
    /// with them.
    pub(super) fn orders_sent(&self, browser: &BrowserId) -> Option<(u64, OrderProgress)> {
        let core = self.core();
        let end = core.links.get(&core.engine.link_of(browser)?)?;
        Some((end.orders_sent, end.outbound.progress()))
    }

    /// Removes a poll, which gets no command.
    pub(super) fn close_poll(&self, browser: Option<&BrowserId>, poll: PollId) {
        let mut core = self.core();
        core.polls.remove(&poll);
        if let Some(browser) = browser {
            core.transact(&self.0, |tx| tx.close_poll(browser, poll));
        }
    }
}

impl HubCore {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            links: HashMap::new(),
            filled: Vec::new(),
            polls: HashMap::new(),
            numbered: 0,
        }
    }

    const fn next_number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    fn transact<R>(
        &mut self,
        inner: &HubState,
        happen: impl FnOnce(&mut Transaction<'_>) -> R,
    ) -> R {
        self.count_room();
        let is_observed = inner.changes.receiver_count() > 0;
        let keeps_history = inner.past_acts.get().is_some();
        let records_spans = inner.spans.get().is_some();
        let mut effects =
            Effects { is_observed, keeps_history, records_spans, ..Effects::default() };
        // Read under the lock, so that time never runs backwards between transactions.
        let asleep = inner.clock.asleep();
        let now = inner.clock.now();
        let result = self.engine.transact(now, &mut effects, |tx| {
            // First: whatever happens now happens after the sleep.
            tx.note_sleep(asleep);
            happen(tx)
        });
        self.carry_out(inner, effects, asleep);
        result
    }

    /// Outboxes drain without a transaction, so the engine may count too little room; this corrects it.
    /// Only those that got frames are looked at: most of many browsers have nothing to do.
    fn count_room(&mut self) {
        let Self { engine, links, filled, .. } = self;
        filled.retain(|id| {
            let Some(end) = links.get_mut(id) else { return false };
            let room = end.outbound.room();
            engine.note_room(&end.browser, *id, room);
            end.is_filled = room < end.outbound.most();
            end.is_filled
        });
    }

    fn carry_out(&mut self, inner: &HubState, effects: Effects, asleep: Duration) {
        let Effects {
            log,
            commands,
            events,
            frames,
            closed,
            is_sooner,
            polls,
            starved,
            past,
            spans,
            ..
        } = effects;
        // Entries first: the waiters that wake below wait for them.
        log.into_iter().for_each(|entry| append(inner, entry));
        commands.into_iter().for_each(|update| publish(inner, update));
        for event in events {
            // An error means that the last observer has just gone.
            let _ = inner.changes.send(CommandChange::of(event));
        }
        frames.into_iter().for_each(|frame| self.send(frame, asleep));
        if let Some(keeper) = inner.past_acts.get() {
            // A keeper that is slow or gone loses acts of the history; no command waits for it.
            past.into_iter().for_each(|act| drop(keeper.try_send(act)));
        }
        if let Some(exporter) = inner.spans.get() {
            let lost = spans.into_iter().filter_map(|span| exporter.try_send(span).err()).count();
            inner.metrics.count_spans(SpanFate::QueueFull, lost);
        }
        for (link, why) in closed {
            if let Some(end) = self.links.remove(&link) {
                end.outbound.close(why);
            }
        }
        if is_sooner {
            inner.sooner.notify_one();
        }
        for answer in polls {
            self.answer(inner, answer);
        }
        // Last, because it may run a transaction of its own.
        for link in starved {
            self.wait_for_room(inner, link);
        }
    }

    fn send(&mut self, LinkFrame { link, frame, after }: LinkFrame, asleep: Duration) {
        let Some(end) = self.links.get_mut(&link) else { return };
        if !end.is_filled {
            end.is_filled = true;
            self.filled.push(link);
        }
        let is_order = is_order(&frame);
        // There is room, because the engine counts it. If it is not sent, the transport has gone; it
        // is about to detach its link, which requeues the commands.
        let outgoing = Box::new(OutgoingFrame { frame, after, asleep });
        if end.outbound.send(outgoing) && is_order {
            end.orders_sent += 1;
        }
    }

    fn answer(&mut self, inner: &HubState, answer: PollAnswer) {
        match answer {
            // The dropped channel tells the request that nothing comes.
            PollAnswer::Nothing(poll) => drop(self.polls.remove(&poll)),
            PollAnswer::Command(poll, assignment) => {
                let unheard = match self.polls.remove(&poll) {
                    Some(assign) => assign.send(assignment).err(),
                    None => Some(assignment),
                };
                // The request was dropped before it could be answered.
                if let Some(Assignment { id, attempt, .. }) = unheard {
                    self.transact(inner, |tx| tx.take_back(&id, attempt));
                }
            }
        }
    }

    fn wait_for_room(&mut self, inner: &HubState, link: LinkId) {
        let Some(end) = self.links.get(&link) else { return };
        // The outbox may have drained before it is told; then it would never ask.
        if Engine::is_room_for_command(end.outbound.note_starved()) {
            let browser = end.browser.clone();
            self.transact(inner, |tx| tx.may_deliver_to(&browser));
        }
    }
}

fn append(inner: &HubState, entry: JournalAppend) {
    match entry {
        JournalAppend::Awaited(entry) => {
            let _: JournalSeq = inner.journal.append(entry);
        }
        JournalAppend::Later(entry) => inner.journal.append_deferred(entry),
    }
}

/// Publishes a change of a command to its waiters.
fn publish(inner: &HubState, update: CommandUpdate) {
    match update {
        CommandUpdate::New { command, accepted } => {
            let id = command.spec().id.clone();
            inner.commands.insert(id, Arc::new(TrackedCommand::new(command, accepted)));
        }
        CommandUpdate::Changed { command, recorded } => {
            let id = &command.spec().id;
            // Cloned, so that no guard of the map is held while waiters wake.
            let Some(tracked) = inner.commands.get(id).map(|entry| entry.clone()) else { return };
            if command.phase().is_terminal() && !tracked.borrow().phase().is_terminal() {
                inner.metrics.count_end(&command);
            }
            // Before the change: a waiter that wakes must know which entry to wait for.
            if let Some(seq) = recorded {
                tracked.note_recorded(seq);
            }
            tracked.send_replace(command);
        }
        CommandUpdate::Forgotten(id) => drop(inner.commands.remove(&id)),
    }
}
