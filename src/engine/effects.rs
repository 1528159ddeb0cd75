//! What has to happen outside the engine.

use super::entry::{JournalEntry, JournalSeq};
use super::links::LinkId;
use super::polling::{Assignment, PollId};
use crate::lifecycle::{Command, Lane};
use crate::protocol::{CorrelationId, ToExtension};

/// What one transaction leads to outside. The shell takes each list in its order, the lists in
/// the order of the fields, before the next transaction begins.
#[derive(Debug, Default)]
pub struct Effects {
    /// Entries for the journal.
    pub log: Vec<JournalAppend>,
    /// How commands are now, for those that wait for them.
    pub commands: Vec<CommandUpdate>,
    /// Commands that were accepted or changed in a way that observers are told of.
    pub events: Vec<CommandEvent>,
    /// Frames for extensions.
    pub frames: Vec<LinkFrame>,
    /// Links to close.
    pub closed: Vec<(LinkId, CloseReason)>,
    /// Whether a deadline has become the first of all: the timer has to be set anew.
    pub is_sooner: bool,
    /// Answers to polls.
    pub polls: Vec<PollAnswer>,
    /// Links whose room was not enough for the next command: the shell says when there is more.
    pub starved: Vec<LinkId>,
    /// Whether anybody observes. Set by the shell; without observers no events are made.
    pub is_observed: bool,
}

/// An entry for the journal.
#[derive(Debug)]
pub enum JournalAppend {
    /// Something waits for it. The engine numbers these from the one that it was told of when it
    /// was made, without a gap.
    Awaited(JournalEntry),
    /// Nobody waits for it.
    Later(JournalEntry),
}

/// How a command is now.
#[derive(Debug)]
pub enum CommandUpdate {
    /// It is new.
    New {
        /// The command.
        command: Command,
        /// The journal's place of its acceptance.
        accepted: JournalSeq,
    },
    /// It has changed.
    Changed {
        /// The command.
        command: Command,
        /// The journal's place of its change, if that is recorded.
        recorded: Option<JournalSeq>,
    },
    /// Its record is gone.
    Forgotten(CorrelationId),
}

/// A command that was accepted or changed, as observers are told of it.
#[derive(Debug)]
pub struct CommandEvent {
    /// The command.
    pub command: Command,
    /// Where it runs or ran.
    pub lane: Option<Lane>,
}

/// A frame for the extension at the other end of a link.
#[derive(Debug)]
pub struct LinkFrame {
    /// The link.
    pub link: LinkId,
    /// The frame.
    pub frame: ToExtension,
    /// Up to where the journal has to be before the frame may leave.
    pub after: JournalSeq,
}

/// Why a link is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A new connection of the same browser took over.
    Replaced,
    /// The extension does not read its frames.
    Overflow,
    /// The daemon ends.
    Shutdown,
    /// The daemon ends, and its keys are worth nothing any more.
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
