//! What earlier lives of the daemon have left, as data.

use std::path::PathBuf;
use std::sync::Arc;

use super::entry::{ClockAnchor, CurrentTabRecord};
use crate::lifecycle::{
    CallDigest, CallKey, CommandSpec, Lane, SavedCommand, TargetSelector, Tombstone,
};
use crate::protocol::{
    BrowserId, BrowserSession, ClientId, CorrelationId, Owner, QueryId, Timestamp,
};

/// What was recorded.
#[derive(Debug, Default)]
pub struct RecordedHistory {
    /// The commands whose record is kept, in the order of their acceptance.
    pub commands: Vec<RecordedCommand>,
    /// Those whose record is gone, oldest first.
    pub gone: Vec<(CorrelationId, ClientId, Tombstone)>,
    /// Keys that stand for a command, oldest first.
    pub keys: Vec<RecordedKey>,
    /// Which tab each client used last.
    pub clients: Vec<CurrentTabRecord>,
    /// In which session each browser was last.
    pub sessions: Vec<(BrowserId, BrowserSession)>,
    /// The last life of the daemon.
    pub anchor: Option<ClockAnchor>,
    /// Where the file of earlier lives is now, if it could not be used.
    pub moved_aside: Option<PathBuf>,
}

/// A command whose record is kept.
#[derive(Debug)]
pub struct RecordedCommand {
    /// The command.
    pub saved: SavedCommand,
    /// Where it is to run, if that was known.
    pub lane: Option<Lane>,
    /// What the call said of that.
    pub selector: TargetSelector,
}

/// A key, and the command that it stands for.
#[derive(Debug)]
pub struct RecordedKey {
    /// Whose key it is.
    pub owner: Owner,
    /// The key.
    pub key: Arc<str>,
    /// Which client used it.
    pub client: ClientId,
    /// The command.
    pub id: CorrelationId,
    /// The command's second name.
    pub query_id: QueryId,
    /// When it was accepted.
    pub accepted: Timestamp,
    /// What its call asked for. `None`: the file is from before that was written down.
    pub digest: Option<CallDigest>,
}

impl RecordedKey {
    /// A key that stands for this command from its acceptance on.
    #[must_use]
    pub fn of(spec: &CommandSpec, CallKey { key, digest }: &CallKey) -> Self {
        Self {
            owner: spec.owner.clone(),
            key: key.clone(),
            client: spec.client.clone(),
            id: spec.id.clone(),
            query_id: spec.query_id.clone(),
            accepted: spec.created,
            digest: Some(*digest),
        }
    }
}

impl RecordedHistory {
    /// Whether there is nothing to go on with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.gone.is_empty() && self.keys.is_empty()
    }
}
