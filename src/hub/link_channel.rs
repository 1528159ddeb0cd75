//! The channel of a link: frames from the hub to the transport, the end of the link, and back how far
//! the transport is with the orders.
//!
//! One small piece of memory for all of it. A daemon may have thousands of links that have nothing to do, and
//! the runtime's channels for these would take 1.2 KB of each.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use super::outbox::OutgoingFrame;
use crate::engine::CloseReason;

/// The ends of a channel with room for so many frames.
pub(super) fn link_channel(room: usize) -> (FrameSender, FrameReceiver) {
    let channel = Arc::new(LinkChannel { room, state: Mutex::default(), progress: Notify::new() });
    (FrameSender(channel.clone()), FrameReceiver(channel))
}

#[derive(Debug)]
struct LinkChannel {
    room: usize,
    state: Mutex<ChannelState>,
    /// Wakes those that wait for orders.
    progress: Notify,
}

#[derive(Debug, Default)]
struct ChannelState {
    /// Boxed: a frame is large, and the queue keeps its memory.
    frames: VecDeque<Box<OutgoingFrame>>,
    /// Why the hub has ended the link.
    close: Option<CloseReason>,
    is_transport_gone: bool,
    /// The transport's task, while it waits.
    waiting: Option<Waker>,
    /// How many orders are written.
    orders_written: u64,
    /// Whether the extension does not read: the rest will take as long as it takes.
    is_stuck: bool,
    /// Whether a command waits for room.
    is_starved: bool,
}

impl LinkChannel {
    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room_in(&self, state: &ChannelState) -> usize {
        self.room.saturating_sub(state.frames.len())
    }

    /// Changes something that the transport's task waits for.
    fn change(&self, change: impl FnOnce(&mut ChannelState)) {
        let mut state = self.lock();
        change(&mut state);
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl ChannelState {
    /// Whether nobody need wait for so many orders in all.
    const fn is_done_with(&self, orders: u64) -> bool {
        self.orders_written >= orders || self.is_stuck || self.is_transport_gone
    }

    fn wait<T>(&mut self, context: &Context<'_>) -> Poll<T> {
        // One task has the receiver: of two wakers the newer counts.
        match &mut self.waiting {
            Some(waiting) => waiting.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

/// The hub's end. Dropping it ends the link.
#[derive(Debug)]
pub(super) struct FrameSender(Arc<LinkChannel>);

impl FrameSender {
    /// How many frames there is room for.
    pub(super) fn room(&self) -> usize {
        self.0.room_in(&self.0.lock())
    }

    /// How many frames there is room for while none waits.
    pub(super) fn most(&self) -> usize {
        self.0.room
    }

    /// Puts a frame behind those that wait. False: the transport has gone, or there is no room.
    pub(super) fn send(&self, frame: Box<OutgoingFrame>) -> bool {
        let mut is_sent = false;
        self.0.change(|state| {
            is_sent = !state.is_transport_gone && self.0.room_in(state) > 0;
            if is_sent {
                state.frames.push_back(frame);
            }
        });
        is_sent
    }

    /// Notes that a command waits for room: the transport is told so with the next frame that it takes.
    /// Returns the room that there is now.
    pub(super) fn note_starved(&self) -> usize {
        let mut state = self.0.lock();
        state.is_starved = true;
        self.0.room_in(&state)
    }

    /// Ends the link.
    pub(super) fn close(self, why: CloseReason) {
        self.0.change(|state| state.close = Some(why));
    }

    /// For those that wait until orders are written.
    pub(super) fn progress(&self) -> OrderProgress {
        OrderProgress(self.0.clone())
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.close.get_or_insert(CloseReason::Shutdown);
        });
    }
}

/// The transport's end, which one task has.
#[derive(Debug)]
pub(super) struct FrameReceiver(Arc<LinkChannel>);

/// A frame out of the channel.
#[derive(Debug)]
pub(super) struct TakenFrame {
    pub(super) outgoing: OutgoingFrame,
    /// A command has waited for the room that there is now.
    pub(super) was_starved: bool,
}

impl FrameReceiver {
    /// Waits for the next frame.
    ///
    /// Cancel safe.
    pub(super) async fn receive(&self) -> TakenFrame {
        poll_fn(|context| {
            let mut state = self.0.lock();
            match state.frames.pop_front() {
                Some(outgoing) => Poll::Ready(TakenFrame {
                    outgoing: *outgoing,
                    was_starved: std::mem::take(&mut state.is_starved),
                }),
                None => state.wait(context),
            }
        })
        .await
    }

    /// The next frame, if there is one.
    pub(super) fn try_receive(&self) -> Option<OutgoingFrame> {
        self.0.lock().frames.pop_front().map(|outgoing| *outgoing)
    }

    /// Waits until the hub ends the link, even if there are frames left.
    ///
    /// Cancel safe.
    pub(super) async fn closed(&self) -> CloseReason {
        poll_fn(|context| {
            let mut state = self.0.lock();
            state.close.map_or_else(|| state.wait(context), Poll::Ready)
        })
        .await
    }

    /// Notes how many more orders are written or will not be, and that the extension reads.
    pub(super) fn note_written(&self, orders: u64) {
        let mut state = self.0.lock();
        state.orders_written += orders;
        let was_stuck = std::mem::take(&mut state.is_stuck);
        drop(state);
        if orders > 0 || was_stuck {
            self.0.progress.notify_waiters();
        }
    }

    /// Notes that the extension does not read.
    pub(super) fn note_stuck(&self) {
        self.0.lock().is_stuck = true;
        self.0.progress.notify_waiters();
    }
}

impl Drop for FrameReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_transport_gone = true;
        let left = std::mem::take(&mut state.frames);
        drop(state);
        drop(left);
        self.0.progress.notify_waiters();
    }
}

/// How far the transport is with the orders.
#[derive(Debug)]
pub(super) struct OrderProgress(Arc<LinkChannel>);

impl OrderProgress {
    /// Returns once so many orders in all are written, or the extension does not read, or the transport
    /// has gone.
    pub(super) async fn written(&self, orders: u64) {
        loop {
            // Before the look: a change from here on ends the wait.
            let change = self.0.progress.notified();
            if self.0.lock().is_done_with(orders) {
                return;
            }
            change.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::engine::JournalSeq;
    use crate::protocol::ToExtension;

    fn frame(t: u64) -> Box<OutgoingFrame> {
        let after = JournalSeq::default();
        Box::new(OutgoingFrame { frame: ToExtension::Ping { t }, after, asleep: Duration::ZERO })
    }

    fn number(outgoing: &OutgoingFrame) -> u64 {
        let ToExtension::Ping { t } = outgoing.frame else { panic!("{outgoing:?}") };
        t
    }

    #[tokio::test]
    async fn frames_come_out_in_their_order_up_to_the_room_that_there_is() {
        let (sender, receiver) = link_channel(2);
        assert!(sender.room() == sender.most() && receiver.receive().now_or_never().is_none());
        assert!(sender.send(frame(1)) && sender.send(frame(2)) && !sender.send(frame(3)));
        assert_eq!(sender.room(), 0);
        assert_eq!(number(&receiver.receive().await.outgoing), 1);
        assert!(sender.send(frame(4)));
        assert_eq!(number(&receiver.receive().await.outgoing), 2);
        assert_eq!(receiver.try_receive().map(|outgoing| number(&outgoing)), Some(4));
        assert!(receiver.try_receive().is_none());
        assert_eq!(sender.room(), 2);
    }

    #[tokio::test]
    async fn a_transport_that_waits_is_woken_by_a_frame_and_by_the_end() {
        let (sender, receiver) = link_channel(2);
        let transport = tokio::spawn(async move {
            let first = number(&receiver.receive().await.outgoing);
            (first, receiver.closed().await)
        });
        tokio::task::yield_now().await;
        assert!(sender.send(frame(7)));
        tokio::task::yield_now().await;
        sender.close(CloseReason::Replaced);
        assert_eq!(transport.await.unwrap(), (7, CloseReason::Replaced));

        let (sender, receiver) = link_channel(2);
        let transport = tokio::spawn(async move { receiver.closed().await });
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(transport.await.unwrap(), CloseReason::Shutdown);
    }

    #[tokio::test]
    async fn the_room_that_a_command_waits_for_is_told_once_with_the_next_frame() {
        let (sender, receiver) = link_channel(1);
        sender.send(frame(1));
        assert_eq!(sender.note_starved(), 0);
        assert!(receiver.receive().await.was_starved);
        sender.send(frame(2));
        assert!(!receiver.receive().await.was_starved);
        assert_eq!(sender.note_starved(), 1);
    }

    #[tokio::test]
    async fn a_wait_for_orders_ends_when_they_are_written_or_cannot_be() {
        let waits = |sender: &FrameSender, orders| {
            let progress = sender.progress();
            tokio::spawn(async move { progress.written(orders).await })
        };
        let (sender, receiver) = link_channel(2);
        let (one, two) = (waits(&sender, 1), waits(&sender, 2));
        receiver.note_written(0);
        tokio::task::yield_now().await;
        assert!(!one.is_finished() && !two.is_finished());
        receiver.note_written(1);
        one.await.unwrap();
        assert!(!two.is_finished());
        receiver.note_stuck();
        two.await.unwrap();
        // It reads again.
        receiver.note_written(0);
        let two = waits(&sender, 2);
        tokio::task::yield_now().await;
        assert!(!two.is_finished());
        drop(receiver);
        two.await.unwrap();
        assert!(!sender.send(frame(1)), "the transport has gone");
    }
}
