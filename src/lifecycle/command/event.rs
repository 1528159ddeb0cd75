//! What can happen to a command, and what it does.

use super::{CommandOutcome, CommandPhase, Peer};
use crate::protocol::{
    Attempt, CancelReason, CommandProgress, ExtensionReport, InFlightState, NackReason, Transport,
};

/// What can happen to a command.
#[derive(Debug)]
pub enum LifecycleEvent {
    /// The browser that it is for is connected.
    Reachable,
    /// It leaves for this extension, which has room for it; its tab is free (row 3).
    Deliver(Peer, Transport),
    /// An extension wants to run it (row 5).
    Claim(Peer, Attempt),
    /// Its start is recorded, and `go` is about to leave (row 5a).
    Go(Attempt),
    /// An extension says what became of it (rows 6, 6a, 9, 10, 18).
    Report(Peer, Attempt, ExtensionReport),
    /// The link of the extension that holds it is closed (rows 7, 7a, 11).
    LinkClosed,
    /// The browser that holds it is back; what it says of this attempt, if anything
    /// (rows 11a, 12).
    Reconnected(Peer, Option<InFlightState>),
    /// The daemon gets to this job (row 22).
    Begin,
    /// The daemon says how far this job is (row 23).
    Advance(CommandProgress),
    /// The daemon is done with this job, or a person with their drawing (row 24).
    Finish(CommandOutcome),
    /// Its owner cancels it (rows 15, 16).
    Cancel,
    /// The person at the browser ends it (rows 15, 16).
    Stop,
    /// Its owner has had the outcome.
    Read,
    /// Time has passed: whatever deadline is over takes effect (rows 4, 8, 12–14).
    Tick,
}

/// What an event did.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Transition {
    /// Nothing changed; the sender gets this answer.
    Unchanged(EventReply),
    /// Something changed: waiters wake, and lanes follow the phase.
    Changed {
        /// The phase before.
        from: CommandPhase,
        /// The phase after.
        to: CommandPhase,
        /// The answer to the sender.
        reply: EventReply,
        /// Why the extension that holds it is told to stop, if it is.
        cancel: Option<CancelReason>,
    },
}

/// What the sender of an event is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventReply {
    /// Nothing.
    Nothing,
    /// `go`, once the start is recorded.
    Go,
    /// `result_ack`.
    Ack,
    /// `nack`.
    Nack(NackReason),
}
