//! A command as the hub holds it: in a watch channel, so that whoever waits can subscribe.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::engine::JournalSeq;
use crate::lifecycle::Command;

/// A command in the hub's map, and how much of it is recorded.
#[derive(Debug)]
pub(super) struct TrackedCommand {
    command: watch::Sender<Command>,
    /// The journal's place of what was recorded of it last.
    recorded: Mutex<JournalSeq>,
}

impl TrackedCommand {
    pub(super) fn new(command: Command, accepted: JournalSeq) -> Self {
        Self { command: watch::Sender::new(command), recorded: Mutex::new(accepted) }
    }

    /// Up to where the journal has to be for what is known of it now to be recorded.
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
