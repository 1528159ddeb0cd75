//! The consequences of a transaction outside the engine, as data.

use super::entry::{JournalEntry, JournalSeq};
use super::links::LinkId;
use super::polling::{Assignment, PollId};
use crate::lifecycle::Command;
use crate::protocol::{CommandSummary, CorrelationId, Owner, PastAct, TabScope, ToExtension};
use crate::spans::CommandSpan;

/// The effects of one transaction. The shell carries out each list in order, and the lists in the
/// order of the fields, before the next transaction begins.
#[derive(Debug, Default)]
pub struct Effects {
    /// Entries for the journal.
    pub log: Vec<JournalAppend>,
    /// The new state of commands, for callers that wait for them.
    pub commands: Vec<CommandUpdate>,
    /// Commands that were accepted, or that changed in a way that observers see.
    pub events: Vec<CommandEvent>,
    /// Frames for extensions.
    pub frames: Vec<LinkFrame>,
    /// Links to close.
    pub closed: Vec<(LinkId, CloseReason)>,
    /// Whether the next deadline is earlier than the timer was told.
    pub is_sooner: bool,
    /// Answers to polls.
    pub polls: Vec<PollAnswer>,
    /// Links with too little room for the next command. The shell reports when there is more.
    pub starved: Vec<LinkId>,
    /// Acts that are over, for the person's history.
    pub past: Vec<PastAct>,
    /// Whether the shell keeps a history. The shell sets it; without one `past` stays empty.
    pub keeps_history: bool,
    /// Commands that are over, for a collector of traces.
    pub spans: Vec<CommandSpan>,
    /// Whether the shell exports spans. The shell sets it; else `spans` stays empty.
    pub records_spans: bool,
    /// Whether there are observers. The shell sets it; without observers `events` stays empty, which
    /// saves a copy of every command.
    pub is_observed: bool,
}

/// An entry for the journal.
#[derive(Debug)]
pub enum JournalAppend {
    /// An answer or a frame waits for it. The engine numbers these entries without a gap, so the shell
    /// must append every one of them.
    Awaited(JournalEntry),
    /// Nothing waits for it.
    Later(JournalEntry),
}

/// A change to a command.
#[derive(Debug)]
pub enum CommandUpdate {
    /// It is new.
    New {
        /// The command.
        command: Command,
        /// The journal entry of its acceptance.
        accepted: JournalSeq,
    },
    /// It has changed.
    Changed {
        /// The command.
        command: Command,
        /// The journal entry of the change, if it is recorded.
        recorded: Option<JournalSeq>,
    },
    /// Its record was dropped.
    Forgotten(CorrelationId),
}

/// A command that was accepted or changed, for observers.
#[derive(Debug)]
pub struct CommandEvent {
    /// Its owner.
    pub owner: Owner,
    /// Which tabs the owner's clients saw when it was accepted.
    pub scope: TabScope,
    /// The command as it is now.
    pub summary: CommandSummary,
}

/// A frame to send over a link.
#[derive(Debug)]
pub struct LinkFrame {
    /// The link.
    pub link: LinkId,
    /// The frame.
    pub frame: ToExtension,
    /// The journal entry that must be recorded before the frame may be sent.
    pub after: JournalSeq,
}

/// Why a link is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A new connection of the same browser replaced it.
    Replaced,
    /// The extension does not read its frames.
    Overflow,
    /// The daemon is shutting down.
    Shutdown,
    /// The daemon is shutting down and has revoked its keys.
    Unpaired,
}

/// The answer to a request of an extension that only polls.
#[derive(Debug)]
pub enum PollAnswer {
    /// With a command.
    Command(PollId, Assignment),
    /// Without one.
    Nothing(PollId),
}
