//! The entries of the journal, as data.

use std::sync::Arc;
use std::time::Duration;

use super::consents::{ConsentSubject, KeptConsent};
use super::leases::TabLease;
use super::opened_tabs::ClientTab;
use super::scopes::OwnerTab;
use super::used_tabs::UsedTab;
use crate::lifecycle::{CallKey, Command, Lane, TargetSelector, Tombstone};
use crate::protocol::{
    BrowserId, BrowserSession, ClientId, CorrelationId, Owner, TabId, Timestamp,
};

/// Parameters and results with more bytes than this take milliseconds to write, so a thread of their
/// own writes them.
pub(crate) const LARGE: usize = 64 * 1024;

/// The number of an entry among all entries of this run of the daemon. The first has 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalSeq(pub(crate) u64);

impl JournalSeq {
    /// The next number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// An entry of the journal.
#[derive(Clone, Debug)]
pub enum JournalEntry {
    /// The daemon started.
    RunStarted(ClockAnchor),
    /// A command was accepted.
    Accepted(Box<AcceptedCommand>),
    /// A command that was accepted without a browser got its lane.
    Placed(CorrelationId, Lane),
    /// A command may have begun, or has ended. The entry holds its new state.
    Changed(Command),
    /// The owner read the outcome.
    Read(CorrelationId, Timestamp),
    /// The record of a command was dropped.
    Evicted(Eviction),
    /// A command was withdrawn: neither the command nor its key stays.
    Withdrawn(CorrelationId),
    /// A client's current tab.
    CurrentTab(CurrentTabRecord),
    /// A client got the lease of a tab.
    Leased(TabLease),
    /// The lease of a tab has ended.
    LeaseEnded(BrowserId, TabId),
    /// A client has opened a tab.
    TabOpened(ClientTab),
    /// A tab that a client opened is closed, or the person's from now on.
    OpenedTabGone(BrowserId, TabId),
    /// A tab is an owner's own.
    TabOwned(OwnerTab),
    /// It is closed, or the person has taken it back.
    OwnedTabGone(BrowserId, TabId),
    /// The person's word is kept.
    ConsentKept(KeptConsent),
    /// A kept word is over.
    ConsentDropped(ConsentSubject),
    /// The session of a browser. Tab numbers mean something only within one session.
    Session(BrowserId, BrowserSession),
    /// A client was forgotten, with its whole history.
    ClientForgotten(ClientId),
    /// The keys of commands that were accepted before this time have expired.
    DropKeys(Timestamp),
}

impl JournalEntry {
    /// The size of its parameters or its result in bytes. All other parts are small.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Accepted(acceptance) => acceptance.command.spec().params.get().len(),
            Self::Changed(command) => command.result_size(),
            Self::RunStarted(_)
            | Self::Placed(..)
            | Self::Read(..)
            | Self::Evicted(_)
            | Self::Withdrawn(_)
            | Self::CurrentTab(_)
            | Self::Leased(_)
            | Self::LeaseEnded(..)
            | Self::TabOpened(_)
            | Self::OpenedTabGone(..)
            | Self::TabOwned(_)
            | Self::OwnedTabGone(..)
            | Self::ConsentKept(_)
            | Self::ConsentDropped(_)
            | Self::Session(..)
            | Self::ClientForgotten(_)
            | Self::DropKeys(_) => 0,
        }
    }
}

/// The remains of a command whose record was dropped.
#[derive(Clone, Debug)]
pub struct Eviction {
    /// The command.
    pub id: CorrelationId,
    /// The client in whose lists it was.
    pub client: ClientId,
    /// The memory of it.
    pub gone: Tombstone,
    /// An older tombstone that is forgotten for it.
    pub forgotten: Option<CorrelationId>,
}

/// A time, and the reading of the machine's monotonic clock at that time. From it the next run of the
/// daemon computes how much time has passed, even if the system clock was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockAnchor {
    /// The boot of the machine.
    pub boot: Arc<str>,
    /// The time on its monotonic clock.
    pub monotonic: Duration,
    /// The time.
    pub at: Timestamp,
}

/// An accepted command, with the details of its call.
#[derive(Clone, Debug)]
pub struct AcceptedCommand {
    /// The command.
    pub command: Command,
    /// Its lane, if it has one already.
    pub lane: Option<Lane>,
    /// The browser and tab that the call named.
    pub selector: TargetSelector,
    /// The key under which the same call is the same command.
    pub key: Option<CallKey>,
    /// Older keys of the client that are forgotten for it.
    pub dropped_keys: Vec<Arc<str>>,
}

/// The tab for commands of a client that name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentTabRecord {
    /// The client.
    pub client: ClientId,
    /// The owner of the client.
    pub owner: Owner,
    /// The browser.
    pub browser: BrowserId,
    /// The tab.
    pub tab: Option<TabId>,
    /// Since when.
    pub at: Timestamp,
    /// The tabs that the client uses.
    pub used: Vec<UsedTab>,
}
