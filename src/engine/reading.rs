//! Reads of commands by their callers.

use super::{Caller, Engine, Transaction};
use crate::lifecycle::{Command, Lane, LifecycleEvent, Tombstone};
use crate::protocol::{CorrelationId, FailedCommand, FinishedCommand, Owner, PendingCommand};

/// A client's commands.
#[derive(Clone, Debug, Default)]
pub struct CommandLists {
    /// Those that are not over, oldest first.
    pub pending: Vec<PendingCommand>,
    /// Those with a result that is still kept, oldest first.
    pub completed: Vec<FinishedCommand>,
    /// The client's failures and refused calls, oldest first.
    pub failed: Vec<FailedCommand>,
}

impl Engine {
    /// A command whose record is kept.
    #[must_use]
    pub fn command(&self, id: &CorrelationId) -> Option<&Command> {
        self.commands.get(id)
    }

    /// All commands whose record is kept, in no order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.all()
    }

    /// How many commands' records are kept.
    #[must_use]
    pub fn kept_commands(&self) -> usize {
        self.commands.len()
    }

    /// Where a command runs or ran, if that is known.
    #[must_use]
    pub fn lane_of(&self, id: &CorrelationId) -> Option<&Lane> {
        self.scheduler.lane_of(id)
    }

    /// The memory of a command whose record is gone, if this owner may know of it.
    #[must_use]
    pub fn tombstone(&self, owner: &Owner, id: &CorrelationId) -> Option<&Tombstone> {
        // Another owner must not learn that there was such a command.
        self.retention.tombstone(id).filter(|gone| gone.owner == *owner)
    }

    /// The client's failures and refused calls, oldest first.
    #[must_use]
    pub fn failures(&self, caller: &Caller) -> Vec<FailedCommand> {
        self.retention.failures(&caller.client).cloned().collect()
    }

    fn own<'a>(
        &'a self,
        caller: &'a Caller,
        ids: impl Iterator<Item = &'a CorrelationId> + 'a,
    ) -> impl Iterator<Item = &'a Command> + 'a {
        let commands = ids.filter_map(|id| self.commands.get(id));
        commands.filter(|command| command.spec().owner == caller.owner)
    }
}

impl Transaction<'_> {
    /// The client's own commands.
    pub fn lists(&mut self, caller: &Caller) -> CommandLists {
        // That it asks counts as a sign of life.
        let _ = self.client(caller);
        let active = self.clients.active(&caller.client).iter();
        let kept = self.retention.kept(&caller.client);
        CommandLists {
            pending: self.own(caller, active).filter_map(Command::as_pending).collect(),
            completed: self.own(caller, kept).filter_map(Command::as_finished).collect(),
            failed: self.failures(caller),
        }
    }

    /// Cancels a command of this owner, if it is not over (rows 15, 16).
    pub fn cancel(&mut self, id: &CorrelationId) {
        self.apply(id, LifecycleEvent::Cancel);
    }

    /// Notes that the owner reads on in a command's outcome (row 19a).
    pub fn read_on(&mut self, id: &CorrelationId) {
        self.apply(id, LifecycleEvent::ReadOn);
    }

    /// Notes that a command's outcome was handed to its owner.
    pub fn mark_read(&mut self, id: &CorrelationId) {
        let Some(client) = self.commands.get(id).map(|known| known.spec().client.clone()) else {
            return;
        };
        self.apply(id, LifecycleEvent::Read);
        self.retention.mark_read(&client, id);
    }
}
