//! What is to be sent to an extension, and when it may leave.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::Hub;
use crate::journal::Seq;
use crate::lifecycle::{Command, Event, Lane, Reply, State};
use crate::protocol::{BrowserId, CommandBody, ToExtension};

/// Why the hub ends a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// A new connection of the same browser took over.
    Replaced,
    /// The extension does not read what it is sent.
    Overflow,
    /// The daemon ends.
    Shutdown,
    /// The daemon ends, and its keys are worth nothing any more.
    Unpaired,
}

/// A frame on its way to an outbox.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) frame: ToExtension,
    /// Up to where the journal has to be before it may leave.
    pub(super) after: Seq,
}

/// What is to be sent to the extension.
#[derive(Debug)]
pub struct Outbox {
    hub: Hub,
    browser: BrowserId,
    frames: mpsc::Receiver<Outgoing>,
    /// Frames that wait for the journal. Others may pass them: a `go` that was overtaken by
    /// its `cancel` does not leave.
    held: VecDeque<Outgoing>,
    starved: Arc<AtomicBool>,
    farewell: oneshot::Receiver<Farewell>,
    /// Set once the farewell has come, which comes once.
    ending: Option<Farewell>,
}

impl Outbox {
    pub(super) const fn new(
        hub: Hub,
        browser: BrowserId,
        frames: mpsc::Receiver<Outgoing>,
        starved: Arc<AtomicBool>,
        farewell: oneshot::Receiver<Farewell>,
    ) -> Self {
        Self { hub, browser, frames, held: VecDeque::new(), starved, farewell, ending: None }
    }

    /// The next frame to send; `Err` says why the link is over.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The [`Farewell`] to close the connection with.
    pub async fn next(&mut self) -> Result<ToExtension, Farewell> {
        if let Some(farewell) = self.ending {
            return self.last_words().ok_or(farewell);
        }
        let journal = &self.hub.0.journal;
        loop {
            let first_held = self.held.front().map(|outgoing| outgoing.after);
            let recorded = async {
                match first_held {
                    Some(after) => journal.recorded_at_last(after).await,
                    None => std::future::pending().await,
                }
            };
            let outgoing = tokio::select! {
                // A link that was taken over must not send what is left.
                biased;
                farewell = &mut self.farewell => {
                    let farewell = farewell.unwrap_or(Farewell::Shutdown);
                    self.ending = Some(farewell);
                    return self.last_words().ok_or(farewell);
                }
                () = recorded => self.held.pop_front(),
                outgoing = self.frames.recv() => {
                    if self.starved.swap(false, Ordering::AcqRel) {
                        self.hub.with_desk(|desk| desk.may_deliver_to(&self.browser));
                    }
                    Some(outgoing.ok_or(Farewell::Shutdown)?)
                }
            };
            let Some(outgoing) = outgoing else { continue };
            if !journal.has_recorded(outgoing.after) {
                self.held.push_back(outgoing);
            } else if self.hub.may_leave(&outgoing.frame) {
                return Ok(outgoing.frame);
            }
        }
    }

    /// Before the daemon ends: what is recorded by then and can still be told.
    fn last_words(&mut self) -> Option<ToExtension> {
        // A link that was taken over, or that nobody reads, must not send what is left.
        if self.ending != Some(Farewell::Shutdown) {
            return None;
        }
        let next = || self.held.pop_front().or_else(|| self.frames.try_recv().ok());
        let can_be_told = |left: &Outgoing| {
            matches!(left.frame, ToExtension::ResultAck { .. })
                && self.hub.0.journal.has_recorded(left.after)
        };
        std::iter::from_fn(next).find(can_be_told).map(|left| left.frame)
    }

    /// Waits until the hub ends the link, whatever is left to send.
    ///
    /// Cancel safe.
    pub async fn ended(&mut self) -> Farewell {
        if self.ending.is_some() {
            // It has been told; what is being sent are the last words.
            return std::future::pending().await;
        }
        let farewell = (&mut self.farewell).await.unwrap_or(Farewell::Shutdown);
        self.ending = Some(farewell);
        farewell
    }
}

impl Hub {
    /// Whether a frame still says what is so: `go` must not leave for a command that has
    /// been cancelled since. If it leaves, the command may have run from here on (row 5a).
    fn may_leave(&self, frame: &ToExtension) -> bool {
        let ToExtension::Go { correlation_id, attempt } = frame else { return true };
        let reply = self.with_desk(|desk| desk.apply(correlation_id, Event::Go(*attempt)));
        reply == Some(Reply::Go)
    }
}

/// The frame that delivers a command, if it was just sent.
pub(super) fn command_frame(
    command: &Command,
    lane: &Lane,
    client: Arc<str>,
) -> Option<ToExtension> {
    let State::Sent { hold, .. } = command.state() else { return None };
    let facts = command.facts();
    let command = CommandBody {
        id: facts.query_id.clone(),
        correlation_id: facts.id.clone(),
        kind: facts.work.name(),
        params: facts.params.clone(),
        tab_id: lane.tab,
        timeout_ms: u64::try_from(facts.timeout.as_millis()).unwrap_or(u64::MAX),
        safe: facts.work.is_safe(),
        redelivered: hold.attempt.0 > 1,
        client,
    };
    Some(ToExtension::Command { attempt: hold.attempt, command })
}
