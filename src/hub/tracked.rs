//! A command in its watch channel, to which waiting callers subscribe.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::engine::JournalSeq;
use crate::lifecycle::Command;

/// A command in the hub's map, and how far the journal has recorded it.
#[derive(Debug)]
pub(super) struct TrackedCommand {
    command: watch::Sender<Command>,
    /// The journal entry of its last recorded change.
    recorded: Mutex<JournalSeq>,
}

impl TrackedCommand {
    pub(super) fn new(command: Command, accepted: JournalSeq) -> Self {
        Self { command: watch::Sender::new(command), recorded: Mutex::new(accepted) }
    }

    /// The journal entry that records its present state.
    pub(super) fn recorded(&self) -> JournalSeq {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_recorded(&self, seq: JournalSeq) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = seq;
    }
}

impl Deref for TrackedCommand {
    type Target = watch::Sender<Command>;

    fn deref(&self) -> &Self::Target {
        &self.command
    }
}
