//! A call at home.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::{AnswerHead, CallReply, FleetRefusal, HOLD, PART_MAX};

/// How much of an answer waits at home until the agent confirms it, in bytes. The source pauses then.
const WINDOW: usize = 2 * 1024 * 1024;

/// How long home waits for data once it has the head alone: most answers come in one piece, and each round costs the
/// way there and back.
pub(super) const HEAD_GRACE: Duration = Duration::from_millis(20);

/// How long it waits for more, or for the end, once it has data: the end mostly comes with it.
pub(super) const DATA_GRACE: Duration = Duration::from_millis(2);

/// For how long home keeps a call that nobody asks for.
const KEPT: Duration = Duration::from_secs(15);

/// Which request a reply is for, at home.
pub(in crate::fleet) type ReplyNumber = u64;

/// An event of a call at home.
#[derive(Clone, Debug)]
pub(in crate::fleet) enum HomeEvent {
    /// The agent asks for bytes from here on, and has those before.
    Asked { number: ReplyNumber, from: u64, most: usize },
    /// The daemon's answer begins.
    Head(AnswerHead),
    /// Bytes of it.
    Data(Bytes),
    /// It is complete.
    End,
    /// It broke off.
    Broke,
    /// [`HomeCall::wake_at`] has come.
    Woken,
}

/// What home does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fleet) enum HomeEffect {
    /// Replies to this request.
    Reply(ReplyNumber, CallReply),
    /// Nobody asks any more: the call is over.
    GiveUp,
}

/// The daemon's answer, as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceState {
    Flowing,
    Ended,
    Broken,
}

/// A request that waits for bytes.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    number: ReplyNumber,
    from: u64,
    most: usize,
    until: Duration,
}

/// A call at home: it is running while a request waits, and held until the next one comes.
#[derive(Debug)]
pub(in crate::fleet) struct HomeCall {
    pub(super) head: Option<AnswerHead>,
    source: SourceState,
    /// The bytes that the agent has not confirmed, and where the first of them is.
    kept: BytesMut,
    start: u64,
    waiting: Option<WaitingRequest>,
    /// When the last request came.
    asked: Duration,
}

impl HomeCall {
    pub(in crate::fleet) fn new(now: Duration) -> Self {
        let kept = BytesMut::new();
        let source = SourceState::Flowing;
        Self { head: None, source, kept, start: 0, waiting: None, asked: now }
    }

    /// Whether more of the daemon's answer is to be read: the window is open.
    pub(in crate::fleet) fn wants_data(&self) -> bool {
        self.source == SourceState::Flowing && self.kept.len() < WINDOW
    }

    /// When it has to be woken.
    pub(in crate::fleet) fn wake_at(&self) -> Duration {
        self.waiting.map_or(self.asked + KEPT, |waiting| waiting.until)
    }

    pub(in crate::fleet) fn apply(&mut self, now: Duration, event: HomeEvent) -> Vec<HomeEffect> {
        let mut effects = Vec::new();
        match event {
            HomeEvent::Asked { number, from, most } => {
                self.asked = now;
                // The same agent asks again: its first request got lost, or the reply did.
                if let Some(before) = self.waiting.take() {
                    effects.push(HomeEffect::Reply(before.number, CallReply::More));
                }
                self.forget_before(from);
                let until = now + HOLD;
                let asked = WaitingRequest { number, from, most: most.min(PART_MAX), until };
                self.waiting = Some(asked);
                let end = self.start + self.kept.len() as u64;
                if from < self.start || from > end {
                    self.reply(CallReply::Refused(FleetRefusal::UnknownCall), &mut effects);
                } else if from < end {
                    // It has waited for its request.
                    self.tell_by(now);
                }
            }
            HomeEvent::Head(head) => {
                self.head = Some(head);
                self.tell_by(now + HEAD_GRACE);
            }
            HomeEvent::Data(data) => {
                self.kept.extend_from_slice(&data);
                self.tell_by(now + DATA_GRACE);
            }
            HomeEvent::End => self.source = SourceState::Ended,
            HomeEvent::Broke => self.source = SourceState::Broken,
            HomeEvent::Woken => {}
        }
        self.answer(now, &mut effects);
        if self.waiting.is_none() && now >= self.asked + KEPT {
            effects.push(HomeEffect::GiveUp);
        }
        effects
    }

    /// The request that waits is answered by then.
    fn tell_by(&mut self, time: Duration) {
        if let Some(waiting) = &mut self.waiting {
            waiting.until = waiting.until.min(time);
        }
    }

    fn forget_before(&mut self, have: u64) {
        let known = have.saturating_sub(self.start);
        if let Ok(known @ 1..) = usize::try_from(known)
            && known <= self.kept.len()
        {
            drop(self.kept.split_to(known));
            self.start = have;
        }
    }

    /// Answers the request that waits, if there is something to be told or its time is over.
    fn answer(&mut self, now: Duration, effects: &mut Vec<HomeEffect>) {
        let Some(asked) = self.waiting else { return };
        let skipped = usize::try_from(asked.from - self.start).unwrap_or(usize::MAX);
        let rest = self.kept.get(skipped..).unwrap_or_default();
        let part = &rest[..rest.len().min(asked.most)];
        let is_last = part.len() == rest.len();
        let is_over = self.source != SourceState::Flowing && is_last;
        let is_full = part.len() == asked.most || !self.wants_data();
        if !is_full && !is_over && now < asked.until {
            return;
        }
        let reply = match self.source {
            SourceState::Broken if part.is_empty() => CallReply::Broken,
            SourceState::Flowing | SourceState::Ended | SourceState::Broken => {
                // A body without a head cannot be: the source gives it first.
                let head = self.head.clone().filter(|_| asked.from == 0);
                if part.is_empty() && head.is_none() && !is_over {
                    CallReply::More
                } else {
                    let total = (is_over && self.source == SourceState::Ended)
                        .then(|| asked.from + part.len() as u64);
                    let data = Bytes::copy_from_slice(part);
                    CallReply::Part { head, from: asked.from, data, total }
                }
            }
        };
        self.reply(reply, effects);
        self.asked = now;
    }

    fn reply(&mut self, reply: CallReply, effects: &mut Vec<HomeEffect>) {
        if let Some(asked) = self.waiting.take() {
            effects.push(HomeEffect::Reply(asked.number, reply));
        }
    }
}
