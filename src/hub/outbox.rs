//! The frames for an extension, and the moment at which each may leave.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::Hub;
use super::link_channel::{FrameReceiver, TakenFrame};
use super::tracked::TrackedCommand;
use crate::engine::{CloseReason, JournalSeq, SHORTEST_SLEEP};
use crate::protocol::{BrowserId, CorrelationId, Timestamp, ToExtension};
use crate::seeded_bug;

/// How long an acknowledgement waits at most for the callers that wait for the outcome: one of
/// them may be slow to read its answer, and the extension keeps the report for as long.
const ACK_WAIT: Duration = Duration::from_millis(10);

/// A frame on its way to an outbox.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    pub(super) frame: ToExtension,
    /// Up to where the journal has to be before it may leave.
    pub(super) after: JournalSeq,
    /// How long the machine had slept in all when it was put into the outbox.
    pub(super) asleep: Duration,
}

/// The frames for an extension.
#[derive(Debug)]
pub struct Outbox {
    hub: Hub,
    browser: BrowserId,
    frames: FrameReceiver,
    /// Frames that wait for the journal. Others may pass them: a `go` that was overtaken by
    /// its `cancel` does not leave.
    held: VecDeque<OutgoingFrame>,
    /// Acknowledgements of outcomes that callers are just being told of.
    acks: VecDeque<PendingAck>,
    /// Whether the frame that was given out last is an order. It is written once the transport
    /// asks for the next one.
    is_writing_order: bool,
    /// Why the link ends, once the transport knows it.
    ending: Option<CloseReason>,
}

/// Whether a frame begins or cancels a command: the page waits for those.
pub(super) const fn is_order(frame: &ToExtension) -> bool {
    matches!(frame, ToExtension::Command { .. } | ToExtension::Cancel { .. })
}

/// An acknowledgement that may leave. Nobody waits for it; the callers that wait for the outcome
/// are told first.
#[derive(Debug)]
struct PendingAck {
    frame: ToExtension,
    command: Arc<TrackedCommand>,
    leaves_by: Timestamp,
}

impl PendingAck {
    /// Returns once no caller waits for the command any more, or the wait was long enough.
    async fn is_due(&self, hub: &Hub) {
        let lasts_too_long = async {
            // Most callers are told within this turn. A timer costs a wake of the runtime's driver,
            // so only a wait that lasts longer gets one.
            tokio::task::yield_now().await;
            tokio::time::sleep_until(hub.0.clock.instant_of(self.leaves_by)).await;
        };
        tokio::select! {
            biased;
            () = self.command.closed() => {}
            () = lasts_too_long => {}
        }
    }
}

impl Outbox {
    pub(super) const fn new(hub: Hub, browser: BrowserId, frames: FrameReceiver) -> Self {
        Self {
            hub,
            browser,
            frames,
            held: VecDeque::new(),
            acks: VecDeque::new(),
            is_writing_order: false,
            ending: None,
        }
    }

    /// The next frame to send; `Err` says why the link is over.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The [`CloseReason`] to close the connection with.
    pub async fn next(&mut self) -> Result<ToExtension, CloseReason> {
        let has_written_order = std::mem::take(&mut self.is_writing_order);
        self.frames.note_written(u64::from(has_written_order));
        if let Some(close) = self.ending {
            return self.last_frame().ok_or(close);
        }
        loop {
            let journal = &self.hub.0.journal;
            let first_held = self.held.front().map(|outgoing| outgoing.after);
            let recorded = async {
                match first_held {
                    Some(after) => journal.recorded_eventually(after).await,
                    None => std::future::pending().await,
                }
            };
            let first_ack = async {
                match self.acks.front() {
                    Some(ack) => ack.is_due(&self.hub).await,
                    None => std::future::pending().await,
                }
            };
            let outgoing = tokio::select! {
                // A link that was taken over must not send its remaining frames. Acknowledgements
                // come last: nobody waits for them.
                biased;
                close = self.frames.closed() => {
                    self.ending = Some(close);
                    return self.last_frame().ok_or(close);
                }
                () = recorded => self.held.pop_front(),
                TakenFrame { outgoing, was_starved } = self.frames.receive() => {
                    if was_starved {
                        self.hub.transact(|tx| tx.may_deliver_to(&self.browser));
                    }
                    Some(outgoing)
                }
                () = first_ack => match self.acks.pop_front() {
                    Some(ack) => return Ok(ack.frame),
                    None => continue,
                }
            };
            let Some(outgoing) = outgoing else { continue };
            let is_go = matches!(outgoing.frame, ToExtension::Go { .. });
            let overtakes = is_go && seeded_bug::is_on("go-before-the-journal");
            if !overtakes && !journal.has_recorded(outgoing.after) {
                // Others pass it: a `cancel` must not wait for the disk (decision 94).
                self.held.push_back(outgoing);
            } else if let Some(command) = self.hub.awaited_outcome(&outgoing.frame) {
                let leaves_by = self.hub.now() + ACK_WAIT;
                self.acks.push_back(PendingAck { frame: outgoing.frame, command, leaves_by });
            } else if self.hub.may_leave(&outgoing) {
                self.is_writing_order = is_order(&outgoing.frame);
                return Ok(outgoing.frame);
            } else if is_order(&outgoing.frame) {
                // Nobody must wait for an order that does not leave.
                self.frames.note_written(1);
            }
        }
    }

    /// A last acknowledgement before the daemon ends, if the journal has recorded its end.
    fn last_frame(&mut self) -> Option<ToExtension> {
        // A link that was taken over, or that nobody reads, must not send its remaining frames.
        if self.ending != Some(CloseReason::Shutdown) {
            return None;
        }
        if let Some(ack) = self.acks.pop_front() {
            return Some(ack.frame);
        }
        let next = || self.held.pop_front().or_else(|| self.frames.try_receive());
        let can_be_told = |left: &OutgoingFrame| {
            matches!(left.frame, ToExtension::ResultAck { .. })
                && self.hub.0.journal.has_recorded(left.after)
        };
        std::iter::from_fn(next).find(can_be_told).map(|left| left.frame)
    }

    /// Waits until the hub ends the link, even if there are frames left.
    ///
    /// Cancel safe.
    pub async fn ended(&mut self) -> CloseReason {
        if self.ending.is_some() {
            // The transport knows it, and is sending the last acknowledgements.
            return std::future::pending().await;
        }
        // A transport asks only while it can write nothing.
        self.frames.note_stuck();
        let close = self.frames.closed().await;
        self.ending = Some(close);
        close
    }
}

impl Hub {
    /// Returns once the frames that begin and cancel commands are written to the extension that has
    /// this one, so that the page does not wait while its caller is answered. Returns at once if no
    /// extension has it, or if the extension does not read.
    pub async fn orders_written(&self, id: &CorrelationId) {
        let holder = |tracked: &Arc<TrackedCommand>| {
            tracked.borrow().delivery().map(|delivery| delivery.peer.browser.clone())
        };
        let Some(browser) = self.0.commands.get(id).and_then(|tracked| holder(&tracked)) else {
            return;
        };
        if let Some((sent, progress)) = self.orders_sent(&browser) {
            progress.written(sent).await;
        }
    }

    /// The command whose end a frame acknowledges, if callers wait for it.
    fn awaited_outcome(&self, frame: &ToExtension) -> Option<Arc<TrackedCommand>> {
        let ToExtension::ResultAck { correlation_id, .. } = frame else { return None };
        let tracked = self.0.commands.get(correlation_id)?.clone();
        (tracked.receiver_count() > 0).then_some(tracked)
    }

    /// Whether a frame is still true: `go` must not leave for a command that has been
    /// cancelled since. If it leaves, the command may have run from here on (row 5a). Nor must a command
    /// leave whose time the machine slept through.
    fn may_leave(&self, outgoing: &OutgoingFrame) -> bool {
        if let ToExtension::Go { correlation_id, attempt } = &outgoing.frame {
            return self.transact(|tx| tx.may_go(correlation_id, *attempt));
        }
        let ToExtension::Command { attempt, command } = &outgoing.frame else { return true };
        !self.has_slept_since(outgoing.asleep)
            || self.transact(|tx| tx.is_sent(&command.correlation_id, *attempt))
    }

    /// Whether the machine has slept since it had slept for this long.
    fn has_slept_since(&self, asleep: Duration) -> bool {
        self.0.clock.asleep().saturating_sub(asleep) >= SHORTEST_SLEEP
    }
}
