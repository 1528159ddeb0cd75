//! What is told of one command while it runs, and that it is over.
//!
//! A follower never holds the hub up. It looks at the command's own watch channel, so that
//! what it was too slow for is lost to it, and what it gets is the newest.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Sleep;

use crate::hub::{Caller, CommandLookup, Hub};
use crate::lifecycle::Command;
use crate::protocol::{CommandProgress, CommandReport, CommandStatus, CorrelationId, Timestamp};

/// How long a follower that was told of progress is told of none.
const PACE: Duration = Duration::from_millis(100);

/// When a command was accepted, and by when it is over, whatever happens.
#[derive(Clone, Copy, Debug)]
pub struct CommandLifetime {
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The latest moment at which it is over.
    pub total_by: Timestamp,
}

/// What is told of one command, from its making on.
#[derive(Debug)]
pub struct CommandFollower {
    hub: Hub,
    caller: Caller,
    id: CorrelationId,
    lifetime: CommandLifetime,
    /// `None` once its end was told.
    command: Option<watch::Receiver<Command>>,
    /// The progress that was told last.
    told: Option<CommandProgress>,
    /// Runs while no progress is told.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Hub {
    /// Follows a command, if this owner may know of it. What was said of it before is the
    /// first that is told.
    #[must_use]
    pub fn follow(&self, caller: &Caller, id: &CorrelationId) -> Option<CommandFollower> {
        let command = self.tracked(caller, id)?.subscribe();
        let lifetime = CommandLifetime::of(&command.borrow());
        let (hub, caller, id) = (self.clone(), caller.clone(), id.clone());
        Some(CommandFollower {
            hub,
            caller,
            id,
            lifetime,
            command: Some(command),
            told: None,
            pause: None,
        })
    }

    /// Returns once the hub is shut down.
    pub async fn ended(&self) {
        self.0.closed.cancelled().await;
    }
}

impl CommandLifetime {
    fn of(command: &Command) -> Self {
        Self { created_at: command.spec().created, total_by: command.total_by() }
    }
}

impl CommandFollower {
    /// The command.
    #[must_use]
    pub const fn id(&self) -> &CorrelationId {
        &self.id
    }

    /// Its bounds in time, which never change.
    #[must_use]
    pub const fn lifetime(&self) -> CommandLifetime {
        self.lifetime
    }

    /// Its end, once that is recorded. `None` if it cannot be told, see [`next`](Self::next).
    pub async fn finished(mut self) -> Option<CommandReport> {
        loop {
            let report = self.next().await?;
            if !report.is_pending() {
                return Some(report);
            }
        }
    }

    /// What is to be told next: each progress once, though at most ten a second, of which
    /// the newest counts; then its end, once that is recorded. `None` after that, and also
    /// if its end cannot be told: its record is gone, or the hub is shut down.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<CommandReport> {
        loop {
            let command = self.command.as_mut()?;
            // Looked at after it was subscribed to: no change is missed between the two.
            let report = command.borrow_and_update().report(false);
            let CommandStatus::Pending { progress, .. } = &report.status else {
                return self.end().await;
            };
            let is_new = progress.is_some() && *progress != self.told;
            if is_new && self.pause.is_none() {
                self.told.clone_from(progress);
                self.pause = Some(Box::pin(tokio::time::sleep(PACE)));
                return Some(report);
            }
            tokio::select! {
                biased;
                () = self.hub.0.closed.cancelled() => return None,
                changed = command.changed() => changed.ok()?,
                () = over(&mut self.pause) => self.pause = None,
            }
        }
    }

    async fn end(&mut self) -> Option<CommandReport> {
        let seen = self.hub.get(&self.caller, &self.id, false).await;
        self.command = None;
        match seen {
            Ok(CommandLookup::Command(report)) => Some(*report),
            Ok(CommandLookup::Evicted(_) | CommandLookup::NotFound) | Err(_) => None,
        }
    }
}

/// Returns when the pause is over; without one never.
async fn over(pause: &mut Option<Pin<Box<Sleep>>>) {
    match pause {
        Some(pause) => pause.await,
        None => pending().await,
    }
}
