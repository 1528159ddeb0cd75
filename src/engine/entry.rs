//! The journal as data: its entries, and their order.

use std::sync::Arc;
use std::time::Duration;

use crate::lifecycle::{CallKey, Command, Lane, TargetSelector, Tombstone};
use crate::protocol::{
    BrowserId, BrowserSession, ClientId, CorrelationId, Owner, TabId, Timestamp,
};

/// Parameters and results of more bytes than this take milliseconds to be written: a thread of
/// its own writes them, one after the other.
pub(crate) const LARGE: usize = 64 * 1024;

/// The place of an entry in the order of all entries of this life of the daemon; the first
/// has 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalSeq(pub(crate) u64);

impl JournalSeq {
    /// The place after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What is recorded.
#[derive(Clone, Debug)]
pub enum JournalEntry {
    /// A life of the daemon begins.
    RunStarted(ClockAnchor),
    /// A command was accepted.
    Accepted(Box<AcceptedCommand>),
    /// A command that was accepted before there was a browser for it got its lane.
    Placed(CorrelationId, Lane),
    /// A command may have begun, or is over: as it is now.
    Changed(Command),
    /// The owner has had the outcome.
    Read(CorrelationId, Timestamp),
    /// The record of a command goes.
    Evicted(Eviction),
    /// A command was not taken after all: nothing of it stays, nor of its key.
    Withdrawn(CorrelationId),
    /// A client's current tab.
    CurrentTab(CurrentTabRecord),
    /// In which session of its browser an extension is: tabs are known by their number in it
    /// only.
    Session(BrowserId, BrowserSession),
    /// A client was forgotten, with all that was kept of it.
    ClientForgotten(ClientId),
    /// Keys of commands that were accepted before this stand for nothing any more.
    DropKeys(Timestamp),
}

impl JournalEntry {
    /// How many bytes it has of what can be much: parameters or a result.
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
            | Self::Session(..)
            | Self::ClientForgotten(_)
            | Self::DropKeys(_) => 0,
        }
    }
}

/// What stays of a command whose record goes.
#[derive(Clone, Debug)]
pub struct Eviction {
    /// The command.
    pub id: CorrelationId,
    /// In whose lists it stood.
    pub client: ClientId,
    /// What is remembered of it.
    pub gone: Tombstone,
    /// An older one that is not remembered any more.
    pub forgotten: Option<CorrelationId>,
}

/// A moment, and what the machine's own clock said then. By it the next life of the daemon
/// knows how much time has passed, whatever became of the system clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockAnchor {
    /// Which start of the machine.
    pub boot: Arc<str>,
    /// The time on its monotonic clock.
    pub monotonic: Duration,
    /// The moment.
    pub at: Timestamp,
}

/// An accepted command, and what it asked for.
#[derive(Clone, Debug)]
pub struct AcceptedCommand {
    /// The command.
    pub command: Command,
    /// Where it is to run, if that is known.
    pub lane: Option<Lane>,
    /// What the call said of that.
    pub selector: TargetSelector,
    /// The key under which the same call is the same command.
    pub key: Option<CallKey>,
    /// Older keys of the same client that are not remembered any more.
    pub dropped_keys: Vec<Arc<str>>,
}

/// The tab that a client's commands go to when they name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentTabRecord {
    /// The client.
    pub client: ClientId,
    /// Whose client it is.
    pub owner: Owner,
    /// The browser.
    pub browser: BrowserId,
    /// The tab.
    pub tab: Option<TabId>,
    /// Since when.
    pub at: Timestamp,
}
