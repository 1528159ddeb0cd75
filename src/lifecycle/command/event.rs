//! The events that change a command, and what they lead to.

use std::time::Duration;

use super::{CommandOutcome, CommandPhase, Peer};
use crate::protocol::{
    Attempt, CancelReason, CommandProgress, ConsentNeed, ExtensionReport, InFlightState,
    NackReason, Transport,
};

/// An event in the lifecycle of a command.
#[derive(Debug)]
pub enum LifecycleEvent {
    /// Its browser is connected.
    Reachable,
    /// It is sent to this extension, which has room for it; its lane is free (row 3).
    Deliver(Peer, Transport),
    /// An extension asks to run it (row 5).
    Claim(Peer, Attempt),
    /// An extension has not begun it: it needs the person's word (row 29).
    Hold(Peer, Attempt, ConsentNeed),
    /// The daemon finds that it needs the person's word before it is delivered to an extension that
    /// polls and asks nobody (row 29b).
    HoldUndelivered(ConsentNeed),
    /// The person lets it go on, or it is to be looked at anew (row 30).
    Release {
        /// Whether the word is on this command alone.
        is_once: bool,
    },
    /// The journal has recorded its start, and `go` is about to be sent (row 5a).
    Go(Attempt),
    /// An extension reports on it (rows 6, 6a, 9, 10, 18).
    Report(Peer, Attempt, ExtensionReport),
    /// The link of the extension that has it closed (rows 7, 7a, 11).
    LinkClosed,
    /// The browser that had it is connected again, and reports this state of the attempt, if it
    /// knows the attempt (rows 11a, 12).
    Reconnected(Peer, Option<InFlightState>),
    /// The daemon begins this job (row 22).
    Begin,
    /// The daemon reports progress of this job (row 23).
    Advance(CommandProgress),
    /// The daemon finished this job, a person finished the drawing (row 24), or a person does not
    /// allow it (row 31).
    Finish(CommandOutcome),
    /// Its owner cancels it (rows 15, 16).
    Cancel,
    /// The person at the browser stops it (rows 15, 16).
    Stop,
    /// Its owner read the outcome.
    Read,
    /// Its owner reads on in the outcome, after a part of it (row 19a).
    ReadOn,
    /// The machine has slept for this long, which no other deadline counts.
    Slept(Duration),
    /// Time has passed: every deadline that is over takes effect (rows 4, 8, 12–14).
    Tick,
}

/// The effect of an event.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Transition {
    /// Nothing changed. The sender of the event gets this reply.
    Unchanged(EventReply),
    /// The command changed: waiters wake up, and its lane follows the new phase.
    Changed {
        /// The phase before.
        from: CommandPhase,
        /// The phase after.
        to: CommandPhase,
        /// The reply to the sender of the event.
        reply: EventReply,
        /// The reason to send the extension with `cancel`, if it must stop.
        cancel: Option<CancelReason>,
    },
}

/// The reply to the sender of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventReply {
    /// No reply.
    Nothing,
    /// `go`, once the start is recorded.
    Go,
    /// `result_ack`.
    Ack,
    /// `nack`.
    Nack(NackReason),
}
