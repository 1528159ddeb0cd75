//! The next deadline of every command.

use std::collections::{BTreeSet, HashMap};

use super::Transaction;
use crate::lifecycle::{Command, LifecycleEvent};
use crate::protocol::{CorrelationId, Timestamp};

/// The next deadline of every command.
#[derive(Debug, Default)]
pub(super) struct DeadlineQueue {
    in_order: BTreeSet<(Timestamp, CorrelationId)>,
    of: HashMap<CorrelationId, Timestamp>,
    /// Until when the timer sleeps. It needs no word of a later deadline, because it looks again when it
    /// wakes. So a busy daemon does not wake it with every command.
    asleep_until: Option<Timestamp>,
    /// Whether the timer looks meanwhile whether the machine has slept.
    looks_for_sleep: bool,
}

impl DeadlineQueue {
    /// Sets a command's next deadline. True: the timer would sleep past it and must be woken.
    #[must_use]
    pub(super) fn set(&mut self, id: &CorrelationId, at: Timestamp) -> bool {
        if let Some(before) = self.of.insert(id.clone(), at) {
            if before == at {
                return false;
            }
            self.in_order.remove(&(before, id.clone()));
        }
        self.in_order.insert((at, id.clone()));
        let too_long = self.asleep_until.is_none_or(|until| at < until);
        if too_long {
            self.asleep_until = Some(at);
        }
        too_long
    }

    /// Forgets a command.
    pub(super) fn remove(&mut self, id: &CorrelationId) {
        if let Some(at) = self.of.remove(id) {
            self.in_order.remove(&(at, id.clone()));
        }
    }

    /// The timer has to look whether the machine has slept. True: it does not, and must be woken.
    #[must_use]
    pub(super) const fn look_for_sleep(&mut self) -> bool {
        !std::mem::replace(&mut self.looks_for_sleep, true)
    }

    /// The first deadline, until which the timer now sleeps.
    pub(super) fn sleep(&mut self, looks_for_sleep: bool) -> Option<Timestamp> {
        self.looks_for_sleep = looks_for_sleep;
        self.asleep_until = self.in_order.first().map(|(at, _)| *at);
        self.asleep_until
    }

    /// A command whose deadline has come.
    pub(super) fn due(&self, now: Timestamp) -> Option<CorrelationId> {
        self.in_order.first().filter(|(at, _)| *at <= now).map(|(_, id)| id.clone())
    }
}

impl Transaction<'_> {
    /// Applies every deadline that is over, and drops commands past their retention.
    pub fn tick(&mut self) {
        let now = self.now();
        while let Some(id) = self.deadlines.due(now) {
            self.apply(&id, LifecycleEvent::Tick);
            let is_retained =
                |command: &Command| command.retain_until().is_none_or(|until| now < until);
            if !self.commands.get(&id).is_some_and(is_retained) {
                let unread = self.commands.get(&id).map_or("", Command::unread_at_last);
                self.forget(&id, unread);
                // Also for a command that is gone already, or this loop would never end.
                self.deadlines.remove(&id);
            }
        }
        self.lapse_pollers();
        self.sweep();
        self.close_leftover_tabs();
    }

    /// When the timer must tick next. [`Effects::is_sooner`](super::Effects::is_sooner) says when that
    /// becomes earlier.
    pub fn next_tick(&mut self) -> Option<Timestamp> {
        let looks_for_sleep = self.loses_time_asleep();
        let deadline = self.deadlines.sleep(looks_for_sleep);
        deadline.into_iter().chain(self.next_lapse()).chain(self.next_closing()).min()
    }

    /// Stops accepting and delivering commands. Commands that still wait continue in the next run.
    pub fn begin_shutdown(&mut self) {
        self.is_shutting_down = true;
        self.end_waiting_polls();
    }
}
