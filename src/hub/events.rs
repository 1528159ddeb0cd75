//! Observers: all commands of an owner, and each change as it happens.
//!
//! An observer never blocks the hub. Changes go into a ring. An observer that reads too slowly loses
//! the oldest changes and learns how many.

mod following;

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::{Caller, Hub};
use crate::engine::CommandEvent;
use crate::lifecycle::Tombstone;
use crate::protocol::{CommandStory, CommandSummary, CorrelationId, Owner, TabScope};
pub use following::{CommandFollower, CommandLifetime};

/// How many changes the ring keeps for a slow observer.
const RING: usize = 256;

/// A change, and the owner who may see it.
#[derive(Clone, Debug)]
pub(super) struct CommandChange {
    owner: Owner,
    /// Which tabs the owner's clients saw when it was accepted.
    scope: TabScope,
    command: Arc<CommandSummary>,
}

impl CommandChange {
    pub(super) fn of(CommandEvent { owner, scope, summary }: CommandEvent) -> Self {
        Self { owner, scope, command: Arc::new(summary) }
    }
}

pub(super) fn channel() -> broadcast::Sender<CommandChange> {
    broadcast::Sender::new(RING)
}

/// An event for an observer.
#[derive(Clone, Debug)]
pub enum ObserverEvent {
    /// A command was accepted or changed. This is its new state.
    Changed(Arc<CommandSummary>),
    /// The observer was too slow and lost this many changes.
    Skipped(u64),
}

/// Receives the changes of an owner's commands.
#[derive(Debug)]
pub struct CommandObserver {
    changes: broadcast::Receiver<CommandChange>,
    /// `None`: those of all owners, for the person.
    owner: Option<Owner>,
    hub: Hub,
    closed: CancellationToken,
}

/// The answer to a request for a command's story.
#[derive(Clone, Debug)]
pub enum StoryLookup {
    /// The story.
    Story(Box<CommandStory>),
    /// Its record was dropped.
    Evicted(Tombstone),
    /// There is no such command, or it belongs to another owner.
    NotFound,
}

impl CommandObserver {
    fn may_see(&self, change: &CommandChange) -> bool {
        let Some(owner) = &self.owner else { return true };
        // A slow observer reads changes from before its owner's scope was narrowed.
        change.owner == *owner && change.scope <= self.hub.scope_of(owner)
    }

    /// The next event; `None` once the hub has shut down.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<ObserverEvent> {
        loop {
            let change = tokio::select! {
                biased;
                () = self.closed.cancelled() => return None,
                change = self.changes.recv() => change,
            };
            match change {
                Ok(change) if self.may_see(&change) => {
                    return Some(ObserverEvent::Changed(change.command));
                }
                Ok(_of_another_owner) => {}
                Err(broadcast::error::RecvError::Lagged(lost)) => {
                    return Some(ObserverEvent::Skipped(lost));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl Hub {
    /// Observes this owner's commands. Call this before [`Hub::commands`], so that no change is missed
    /// between the two.
    #[must_use]
    pub fn events(&self, owner: &Owner) -> CommandObserver {
        self.observer(Some(owner.clone()))
    }

    /// Observes the commands of all owners, for the person.
    #[must_use]
    pub fn all_events(&self) -> CommandObserver {
        self.observer(None)
    }

    fn observer(&self, owner: Option<Owner>) -> CommandObserver {
        let changes = self.0.changes.subscribe();
        let (hub, closed) = (self.clone(), self.0.closed.clone());
        CommandObserver { changes, owner, hub, closed }
    }

    /// All commands of this owner with a record, oldest first.
    #[must_use]
    pub fn commands(&self, owner: &Owner) -> Vec<CommandSummary> {
        let mut commands: Vec<_> = self.view(|engine| {
            let own = engine.commands().filter(|command| command.spec().owner == *owner);
            own.map(|command| engine.command_summary(command)).collect()
        });
        commands.sort_unstable_by(|a, b| {
            (a.created_at, &a.correlation_id).cmp(&(b.created_at, &b.correlation_id))
        });
        commands
    }

    /// Every phase of a command, without its result.
    #[must_use]
    pub fn story(&self, caller: &Caller, id: &CorrelationId) -> StoryLookup {
        if let Some(tracked) = self.tracked(caller, id) {
            let (target, files) =
                self.view(|engine| (engine.lane_of(id).cloned(), engine.given_files(id).to_vec()));
            let mut story = tracked.borrow().story(target.as_ref());
            story.summary.browser_label = self.view(|engine| {
                story.summary.browser.as_ref().and_then(|browser| engine.browser_label(browser))
            });
            return StoryLookup::Story(Box::new(CommandStory { files, ..story }));
        }
        match self.lookup_evicted(caller, id) {
            super::CommandLookup::Evicted(gone) => StoryLookup::Evicted(gone),
            super::CommandLookup::Command(_) | super::CommandLookup::NotFound => {
                StoryLookup::NotFound
            }
        }
    }

    /// The phases of a command of this client itself, without the files that pages got of it. `None`:
    /// it is another client's, or its record is gone.
    #[must_use]
    pub fn timeline(&self, caller: &Caller, id: &CorrelationId) -> Option<Box<CommandStory>> {
        match self.story(caller, id) {
            StoryLookup::Story(mut story) if story.summary.client == caller.client => {
                story.files.clear();
                Some(story)
            }
            StoryLookup::Story(_) | StoryLookup::Evicted(_) | StoryLookup::NotFound => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Submission;
    use crate::lifecycle::Limits;
    use crate::protocol::Action;
    use crate::protocol::actions::PageInfoAction;

    fn caller(owner: &str) -> Caller {
        Caller { owner: owner.into(), client: owner.into() }
    }

    async fn submit(hub: &Hub, owner: &str) -> CorrelationId {
        let call = Submission::of(Action::PageInfo(PageInfoAction {}));
        hub.submit(&caller(owner), call).await.unwrap().id
    }

    #[tokio::test(start_paused = true)]
    async fn an_observer_sees_every_change_of_its_owners_commands_and_no_others() {
        let hub = Hub::start(Limits::default());
        let mut events = hub.events(&"ann".into());
        submit(&hub, "bob").await;
        let id = submit(&hub, "ann").await;
        let _ = hub.cancel(&caller("ann"), &id).await;
        for expected in ["Pending", "Cancelled"] {
            let Some(ObserverEvent::Changed(command)) = events.next().await else {
                panic!("{expected}")
            };
            assert_eq!(command.correlation_id, id);
            assert_eq!(format!("{:?}", command.status), expected);
        }
        hub.shut_down().await;
        assert!(events.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_observer_that_does_not_read_holds_up_nobody_and_is_told_what_it_lost() {
        let hub = Hub::start(Limits { queued: 1_000, ..Limits::default() });
        let mut events = hub.events(&"ann".into());
        for _ in 0..RING + 10 {
            submit(&hub, "ann").await;
        }
        let Some(ObserverEvent::Skipped(lost)) = events.next().await else {
            panic!("nothing was lost")
        };
        assert_eq!(lost, 10);
        let Some(ObserverEvent::Changed(_)) = events.next().await else {
            panic!("nothing came after")
        };
        assert_eq!(hub.commands(&"ann".into()).len(), RING + 10);
        hub.shut_down().await;
    }
}
