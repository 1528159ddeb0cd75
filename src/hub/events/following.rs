//! Followers: the progress of one command, and its end.
//!
//! A follower never blocks the hub. It reads the command's watch channel, so a slow follower misses
//! older progress and gets the newest.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Sleep;

use crate::hub::{Caller, CommandLookup, Hub};
use crate::lifecycle::Command;
use crate::protocol::{CommandProgress, CommandReport, CommandStatus, CorrelationId, Timestamp};

/// The shortest time between two progress reports.
const PACE: Duration = Duration::from_millis(100);

/// The time from the acceptance of a command to its latest end.
#[derive(Clone, Copy, Debug)]
pub struct CommandLifetime {
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The latest time at which it ends.
    pub total_by: Timestamp,
}

/// Follows one command.
#[derive(Debug)]
pub struct CommandFollower {
    hub: Hub,
    caller: Caller,
    id: CorrelationId,
    lifetime: CommandLifetime,
    /// `None` after the end was returned.
    command: Option<watch::Receiver<Command>>,
    /// The progress that was last returned.
    told: Option<CommandProgress>,
    /// Set while progress is held back.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Hub {
    /// Follows a command of this owner. Progress from before the call is returned first.
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

    /// Returns once the hub has shut down.
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

    /// Its lifetime, which never changes.
    #[must_use]
    pub const fn lifetime(&self) -> CommandLifetime {
        self.lifetime
    }

    /// The final report, once it is recorded. `None`: see [`next`](Self::next).
    pub async fn finished(mut self) -> Option<CommandReport> {
        loop {
            let report = self.next().await?;
            if !report.is_pending() {
                return Some(report);
            }
        }
    }

    /// The next report: each progress once, at most ten a second with the newest winning; then the
    /// final report, once it is recorded. `None` after that, and if there is none: the record was
    /// dropped, or the hub has shut down.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<CommandReport> {
        loop {
            let command = self.command.as_mut()?;
            // The subscription is older than this read, so no change is missed between the two.
            let report = command.borrow_and_update().report(false);
            let progress = match &report.status {
                CommandStatus::Pending { progress, .. } => progress,
                CommandStatus::WaitingForUser { .. } => &None,
                CommandStatus::Complete { .. }
                | CommandStatus::Error { .. }
                | CommandStatus::Timeout { .. }
                | CommandStatus::Expired { .. }
                | CommandStatus::Cancelled { .. } => return self.end().await,
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

/// Returns at the end of the pause; without a pause, never.
async fn over(pause: &mut Option<Pin<Box<Sleep>>>) {
    match pause {
        Some(pause) => pause.await,
        None => pending().await,
    }
}
