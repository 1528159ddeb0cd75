//! The journal of earlier runs of the daemon, as data.

use std::path::PathBuf;
use std::sync::Arc;

use super::consents::KeptConsent;
use super::entry::{ClockAnchor, CurrentTabRecord};
use super::leases::TabLease;
use super::opened_tabs::ClientTab;
use super::scopes::OwnerTab;
use crate::lifecycle::{
    CallDigest, CallKey, CommandSpec, Lane, SavedCommand, TargetSelector, Tombstone,
};
use crate::protocol::{
    BrowserId, BrowserSession, ClientId, CorrelationId, Owner, QueryId, Timestamp,
};

/// The contents of the journal.
#[derive(Debug, Default)]
pub struct RecordedHistory {
    /// Commands with a record, in the order of their acceptance.
    pub commands: Vec<RecordedCommand>,
    /// Commands whose record was dropped, oldest first.
    pub gone: Vec<(CorrelationId, ClientId, Tombstone)>,
    /// Keys that stand for a command, oldest first.
    pub keys: Vec<RecordedKey>,
    /// The current tab of each client.
    pub clients: Vec<CurrentTabRecord>,
    /// The leases of tabs.
    pub leases: Vec<TabLease>,
    /// The tabs that clients opened.
    pub opened_tabs: Vec<ClientTab>,
    /// The tabs that owners' clients opened.
    pub owner_tabs: Vec<OwnerTab>,
    /// The person's kept words.
    pub consents: Vec<KeptConsent>,
    /// The last session of each browser.
    pub sessions: Vec<(BrowserId, BrowserSession)>,
    /// The clocks at the start of the last run.
    pub anchor: Option<ClockAnchor>,
    /// Where the old journal file was moved, if it could not be used.
    pub moved_aside: Option<PathBuf>,
}

impl RecordedHistory {
    /// The owners of whom it tells, some more than once.
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        let commands = self.commands.iter().map(|kept| &kept.saved.spec.owner);
        commands
            .chain(self.gone.iter().map(|(_, _, gone)| &gone.owner))
            .chain(self.keys.iter().map(|key| &key.owner))
            .chain(self.clients.iter().map(|current| &current.owner))
            .chain(self.leases.iter().map(|lease| &lease.holder.owner))
            .chain(self.opened_tabs.iter().map(|opened| &opened.opener.owner))
            .chain(self.owner_tabs.iter().map(|owned| &owned.owner))
            .chain(self.consents.iter().map(|kept| &kept.subject.owner))
    }
}

/// A command with a record.
#[derive(Debug)]
pub struct RecordedCommand {
    /// The command.
    pub saved: SavedCommand,
    /// Its lane, if it had one.
    pub lane: Option<Lane>,
    /// The browser and tab that its call named.
    pub selector: TargetSelector,
}

/// A key, and the command that it stands for.
#[derive(Debug)]
pub struct RecordedKey {
    /// Whose key it is.
    pub owner: Owner,
    /// The key.
    pub key: Arc<str>,
    /// The client that used it.
    pub client: ClientId,
    /// The command.
    pub id: CorrelationId,
    /// The short id of the command.
    pub query_id: QueryId,
    /// When it was accepted.
    pub accepted: Timestamp,
    /// The digest of its call. `None`: a file from before digests were recorded.
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
    /// Whether there is nothing to continue.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.gone.is_empty() && self.keys.is_empty()
    }
}
