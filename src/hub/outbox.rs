//! What is to be sent to an extension, and when it may leave.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::Hub;
use crate::engine::{CloseReason, JournalSeq};
use crate::protocol::{BrowserId, ToExtension};
use crate::seeded_bug;

/// A frame on its way to an outbox.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    pub(super) frame: ToExtension,
    /// Up to where the journal has to be before it may leave.
    pub(super) after: JournalSeq,
}

/// What is to be sent to the extension.
#[derive(Debug)]
pub struct Outbox {
    hub: Hub,
    browser: BrowserId,
    frames: mpsc::Receiver<OutgoingFrame>,
    /// Frames that wait for the journal. Others may pass them: a `go` that was overtaken by
    /// its `cancel` does not leave.
    held: VecDeque<OutgoingFrame>,
    starved: Arc<AtomicBool>,
    close: oneshot::Receiver<CloseReason>,
    /// Set once the close has come, which comes once.
    ending: Option<CloseReason>,
}

impl Outbox {
    pub(super) const fn new(
        hub: Hub,
        browser: BrowserId,
        frames: mpsc::Receiver<OutgoingFrame>,
        starved: Arc<AtomicBool>,
        close: oneshot::Receiver<CloseReason>,
    ) -> Self {
        Self { hub, browser, frames, held: VecDeque::new(), starved, close, ending: None }
    }

    /// The next frame to send; `Err` says why the link is over.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The [`CloseReason`] to close the connection with.
    pub async fn next(&mut self) -> Result<ToExtension, CloseReason> {
        if let Some(close) = self.ending {
            return self.last_frame().ok_or(close);
        }
        let journal = &self.hub.0.journal;
        loop {
            let first_held = self.held.front().map(|outgoing| outgoing.after);
            let recorded = async {
                match first_held {
                    Some(after) => journal.recorded_eventually(after).await,
                    None => std::future::pending().await,
                }
            };
            let outgoing = tokio::select! {
                // A link that was taken over must not send what is left.
                biased;
                close = &mut self.close => {
                    let close = close.unwrap_or(CloseReason::Shutdown);
                    self.ending = Some(close);
                    return self.last_frame().ok_or(close);
                }
                () = recorded => self.held.pop_front(),
                outgoing = self.frames.recv() => {
                    if self.starved.swap(false, Ordering::AcqRel) {
                        self.hub.transact(|tx| tx.may_deliver_to(&self.browser));
                    }
                    Some(outgoing.ok_or(CloseReason::Shutdown)?)
                }
            };
            let Some(outgoing) = outgoing else { continue };
            let is_go = matches!(outgoing.frame, ToExtension::Go { .. });
            let overtakes = is_go && seeded_bug::is_on("go-before-the-journal");
            if !overtakes && !journal.has_recorded(outgoing.after) {
                self.held.push_back(outgoing);
            } else if self.hub.may_leave(&outgoing.frame) {
                return Ok(outgoing.frame);
            }
        }
    }

    /// Before the daemon ends: what is recorded by then and can still be told.
    fn last_frame(&mut self) -> Option<ToExtension> {
        // A link that was taken over, or that nobody reads, must not send what is left.
        if self.ending != Some(CloseReason::Shutdown) {
            return None;
        }
        let next = || self.held.pop_front().or_else(|| self.frames.try_recv().ok());
        let can_be_told = |left: &OutgoingFrame| {
            matches!(left.frame, ToExtension::ResultAck { .. })
                && self.hub.0.journal.has_recorded(left.after)
        };
        std::iter::from_fn(next).find(can_be_told).map(|left| left.frame)
    }

    /// Waits until the hub ends the link, whatever is left to send.
    ///
    /// Cancel safe.
    pub async fn ended(&mut self) -> CloseReason {
        if self.ending.is_some() {
            // It has been told; what is being sent are the last words.
            return std::future::pending().await;
        }
        let close = (&mut self.close).await.unwrap_or(CloseReason::Shutdown);
        self.ending = Some(close);
        close
    }
}

impl Hub {
    /// Whether a frame still says what is so: `go` must not leave for a command that has
    /// been cancelled since. If it leaves, the command may have run from here on (row 5a).
    fn may_leave(&self, frame: &ToExtension) -> bool {
        let ToExtension::Go { correlation_id, attempt } = frame else { return true };
        self.transact(|tx| tx.may_go(correlation_id, *attempt))
    }
}
