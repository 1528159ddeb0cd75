//! A call between an agent and a place, pure: each end as a table, `apply(now, event)` gives effects. No NATS, no
//! clock, no randomness. `now` is a time of the end's own clock that never goes back.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::HeaderMap;

/// How much of an answer one reply carries at most, in bytes.
pub(super) const PART_MAX: usize = 256 * 1024;

/// How much of an answer the first `next` asks for, in bytes.
const PART_FIRST: usize = 64 * 1024;

/// How much of an answer waits at home until the agent confirms it, in bytes. The source pauses then.
const WINDOW: usize = 2 * 1024 * 1024;

/// How long home holds a request that has nothing to be told yet.
const HOLD: Duration = Duration::from_secs(3);

/// How long home waits for data once it has the head alone: most answers come in one piece, and each round costs the
/// way there and back.
const HEAD_GRACE: Duration = Duration::from_millis(20);

/// For how long home keeps a call that nobody asks for.
const KEPT: Duration = Duration::from_secs(15);

/// For how long an agent goes on asking once home is silent.
const AGAIN: Duration = Duration::from_secs(10);

/// How long the first answer to `hello` may take.
pub(super) const HELLO_SILENCE: Duration = Duration::from_secs(5);

/// The pauses before it asks again; the last one repeats.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// An answer within this time lets the next one be twice as large.
const QUICK_PART: Duration = Duration::from_secs(1);

/// The status and headers of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
}

/// Why home does not do as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FleetRefusal {
    /// No call of this owner has this id, or the bytes are gone.
    UnknownCall,
    /// The call was closed: it does not run again.
    Closed,
    /// Too many calls are open; more after this time.
    Busy(Duration),
    /// The request cannot be read.
    Malformed,
    /// The request is larger than home takes.
    TooLarge,
}

/// What home replies to `open` and `next`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallReply {
    /// Nothing yet.
    More,
    /// Bytes of the answer from here on, with its head if they begin it, and its length once it is complete.
    Part { head: Option<AnswerHead>, from: u64, data: Bytes, total: Option<u64> },
    /// The answer broke off at home.
    Broken,
    /// It does not do as asked.
    Refused(FleetRefusal),
}

/// Which request a reply is for, at home.
pub(super) type ReplyNumber = u64;

/// An event of a call at home.
#[derive(Clone, Debug)]
pub(super) enum HomeEvent {
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
pub(super) enum HomeEffect {
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
pub(super) struct HomeCall {
    head: Option<AnswerHead>,
    source: SourceState,
    /// The bytes that the agent has not confirmed, and where the first of them is.
    kept: BytesMut,
    start: u64,
    waiting: Option<WaitingRequest>,
    /// When the last request came.
    asked: Duration,
}

impl HomeCall {
    pub(super) fn new(now: Duration) -> Self {
        let kept = BytesMut::new();
        let source = SourceState::Flowing;
        Self { head: None, source, kept, start: 0, waiting: None, asked: now }
    }

    /// Whether more of the daemon's answer is to be read: the window is open.
    pub(super) fn wants_data(&self) -> bool {
        self.source == SourceState::Flowing && self.kept.len() < WINDOW
    }

    /// When it has to be woken.
    pub(super) fn wake_at(&self) -> Duration {
        self.waiting.map_or(self.asked + KEPT, |waiting| waiting.until)
    }

    pub(super) fn apply(&mut self, now: Duration, event: HomeEvent) -> Vec<HomeEffect> {
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
                if from < self.start || from > self.start + self.kept.len() as u64 {
                    self.reply(CallReply::Refused(FleetRefusal::UnknownCall), &mut effects);
                }
            }
            HomeEvent::Head(head) => {
                self.head = Some(head);
                if let Some(waiting) = &mut self.waiting {
                    waiting.until = waiting.until.min(now + HEAD_GRACE);
                }
            }
            HomeEvent::Data(data) => self.kept.extend_from_slice(&data),
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
        if part.is_empty() && !is_over && now < asked.until {
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

/// Which of an agent's requests a reply is for.
pub(super) type RequestNumber = u64;

/// An event of a call at the agent.
#[derive(Clone, Debug)]
pub(super) enum AgentEvent {
    /// Home replied to this request.
    Replied(RequestNumber, CallReply),
    /// The server knows nobody who would hear this request.
    NoResponders(RequestNumber),
    /// Nothing came for this request in its time.
    Silence(RequestNumber),
    /// The server does not let this owner publish to the place.
    NotGranted,
    /// The pause is over.
    Rested,
    /// The answers to `hello`.
    Hello(PlaceLives),
    /// The caller has taken what it was handed.
    Taken,
    /// The caller is gone, or its time is over.
    CallerGone,
}

/// The homes that answered `hello`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaceLives {
    /// Nobody hears it: no home is connected.
    Absent,
    /// Nobody answered in time.
    Silent,
    /// This one.
    One(Box<str>),
    /// More than one.
    Several,
}

/// A request to home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HomeRequest {
    Open,
    Next { from: u64, most: usize },
}

/// What the agent does about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentEffect {
    /// Sends a request to this life of the place.
    Send(RequestNumber, Box<str>, HomeRequest),
    /// Tells this life that the call is over.
    Close(Box<str>),
    /// Pauses.
    Rest(Duration),
    /// Asks which homes the place has, and takes answers for this time at most.
    AskHello(Duration),
    /// Hands the head to the caller.
    Head(AnswerHead),
    /// Hands bytes to the caller.
    Data(Bytes),
    /// The call is over for the caller, too.
    End(FleetCallEnd),
}

/// How a call ends for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FleetCallEnd {
    /// The answer is complete.
    Whole,
    /// The place is not there, and the call was never sent.
    Offline,
    /// Two homes have the place's key; the call was never sent.
    TwoHomes,
    /// The way is broken for too long, and the call may have run.
    Lost,
    /// Another life of the place answers now, and the call may have run in the last one. The caller knows whether it
    /// may be sent again.
    Elsewhere,
    /// The owner may not call this place.
    NotGranted { may_have_run: bool },
    /// Home refused it, and it did not run.
    Refused(FleetRefusal),
    /// The answer broke off after its head.
    BrokenOff,
}

/// What a call at the agent waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AgentWait {
    /// The reply to this request, sent at this time.
    Reply { number: RequestNumber, request: HomeRequest, sent: Duration },
    /// The end of a pause before this request.
    Rest(HomeRequest),
    /// The answers to `hello` before this request.
    Hello(HomeRequest),
    /// The caller, who has not taken everything.
    Caller,
    /// Nothing any more.
    Over,
}

/// A call at the agent.
#[derive(Debug)]
pub(super) struct AgentCall {
    life: Box<str>,
    wait: AgentWait,
    /// How many requests were sent.
    requests: RequestNumber,
    /// Whether home may have the call.
    may_have_run: bool,
    has_head: bool,
    /// How much the caller was handed.
    handed: u64,
    most: usize,
    /// Since when home is silent, and how often it was asked since.
    silent_since: Option<Duration>,
    pauses: usize,
    /// Whether a life that was known from before had gone when the call came.
    has_looked: bool,
}

impl AgentCall {
    /// A call to this life of a place, and its first effect.
    pub(super) fn begin(life: Box<str>, now: Duration) -> (Self, Vec<AgentEffect>) {
        let mut call = Self {
            life,
            wait: AgentWait::Over,
            requests: 0,
            may_have_run: false,
            has_head: false,
            handed: 0,
            most: PART_FIRST,
            silent_since: None,
            pauses: 0,
            has_looked: false,
        };
        let effects = call.send(HomeRequest::Open, now);
        (call, effects)
    }

    pub(super) fn apply(&mut self, now: Duration, event: AgentEvent) -> Vec<AgentEffect> {
        let wait = self.wait.clone();
        match (wait, event) {
            (AgentWait::Over, _) => Vec::new(),
            // N8
            (_, AgentEvent::CallerGone) => {
                let close = self.close();
                self.wait = AgentWait::Over;
                close
            }
            // N7
            (_, AgentEvent::NotGranted) => {
                self.end(FleetCallEnd::NotGranted { may_have_run: self.may_have_run })
            }
            (AgentWait::Reply { number, request, sent }, AgentEvent::Replied(to, reply))
                if to == number =>
            {
                self.replied(now, &request, sent, reply)
            }
            (AgentWait::Reply { number, request, .. }, AgentEvent::NoResponders(to))
                if to == number =>
            {
                self.nobody_there(now, request)
            }
            (AgentWait::Reply { number, request, sent }, AgentEvent::Silence(to))
                if to == number =>
            {
                self.may_have_run = true;
                // Home would have said something by then.
                self.silent_since.get_or_insert(sent + HOLD);
                self.rest(now, request)
            }
            (AgentWait::Rest(request), AgentEvent::Rested) => {
                self.wait = AgentWait::Hello(request);
                vec![AgentEffect::AskHello(self.time_left(now).min(HELLO_SILENCE))]
            }
            (AgentWait::Hello(request), AgentEvent::Hello(lives)) => {
                self.found(now, request, lives)
            }
            (AgentWait::Caller, AgentEvent::Taken) => {
                let next = HomeRequest::Next { from: self.handed, most: self.most };
                self.send(next, now)
            }
            // Late: a reply to an earlier request, or to one that was answered twice.
            (
                AgentWait::Reply { .. }
                | AgentWait::Rest(_)
                | AgentWait::Hello(_)
                | AgentWait::Caller,
                AgentEvent::Replied(..)
                | AgentEvent::NoResponders(_)
                | AgentEvent::Silence(_)
                | AgentEvent::Rested
                | AgentEvent::Hello(_)
                | AgentEvent::Taken,
            ) => Vec::new(),
        }
    }

    fn send(&mut self, request: HomeRequest, now: Duration) -> Vec<AgentEffect> {
        self.requests += 1;
        let number = self.requests;
        self.wait = AgentWait::Reply { number, request: request.clone(), sent: now };
        vec![AgentEffect::Send(number, self.life.clone(), request)]
    }

    /// N1, N2, N5: the server says that nobody hears a request.
    fn nobody_there(&mut self, now: Duration, request: HomeRequest) -> Vec<AgentEffect> {
        if self.may_have_run {
            return self.rest(now, request);
        }
        if self.has_looked {
            return self.end(FleetCallEnd::Offline);
        }
        // The life was known from before, and the place may have another one now.
        self.has_looked = true;
        self.wait = AgentWait::Hello(request);
        vec![AgentEffect::AskHello(HELLO_SILENCE)]
    }

    fn rest(&mut self, now: Duration, request: HomeRequest) -> Vec<AgentEffect> {
        self.silent_since.get_or_insert(now);
        let left = self.time_left(now);
        if left.is_zero() {
            return self.end(if self.has_head {
                FleetCallEnd::BrokenOff
            } else {
                FleetCallEnd::Lost
            });
        }
        let pause = PAUSES[self.pauses.min(PAUSES.len() - 1)].min(left);
        self.pauses += 1;
        self.wait = AgentWait::Rest(request);
        vec![AgentEffect::Rest(pause)]
    }

    /// For how long a silent home is asked again.
    fn time_left(&self, now: Duration) -> Duration {
        (self.silent_since.unwrap_or(now) + AGAIN).saturating_sub(now)
    }

    fn found(
        &mut self,
        now: Duration,
        request: HomeRequest,
        lives: PlaceLives,
    ) -> Vec<AgentEffect> {
        match lives {
            PlaceLives::One(life) if life == self.life => self.send(request, now),
            PlaceLives::One(life) if !self.may_have_run => {
                self.life = life;
                self.send(request, now)
            }
            // N3, N6
            PlaceLives::One(_) => self.elsewhere(),
            PlaceLives::Several if !self.may_have_run => self.end(FleetCallEnd::TwoHomes),
            PlaceLives::Absent | PlaceLives::Silent if !self.may_have_run => {
                self.end(FleetCallEnd::Offline)
            }
            PlaceLives::Absent | PlaceLives::Silent | PlaceLives::Several => {
                self.rest(now, request)
            }
        }
    }

    /// The life that has the call is gone.
    fn elsewhere(&mut self) -> Vec<AgentEffect> {
        self.end(if self.has_head { FleetCallEnd::BrokenOff } else { FleetCallEnd::Elsewhere })
    }

    fn replied(
        &mut self,
        now: Duration,
        request: &HomeRequest,
        sent: Duration,
        reply: CallReply,
    ) -> Vec<AgentEffect> {
        match reply {
            CallReply::More => {
                self.heard(now, sent);
                let next = HomeRequest::Next { from: self.handed, most: self.most };
                self.send(next, now)
            }
            CallReply::Part { head, from, data, total }
                if from == self.handed && (self.has_head || head.is_some()) =>
            {
                self.heard(now, sent);
                self.take_part(head, data, total)
            }
            // Not what was asked for.
            CallReply::Part { .. } => self.rest(now, request.clone()),
            CallReply::Broken => self.elsewhere(),
            CallReply::Refused(FleetRefusal::UnknownCall | FleetRefusal::Closed) => {
                self.may_have_run = true;
                self.elsewhere()
            }
            CallReply::Refused(
                why @ (FleetRefusal::Busy(_) | FleetRefusal::Malformed | FleetRefusal::TooLarge),
            ) => match *request {
                // Home has it already when it is asked for more, or again.
                HomeRequest::Open if !self.may_have_run => self.end(FleetCallEnd::Refused(why)),
                HomeRequest::Open | HomeRequest::Next { .. } => self.rest(now, request.clone()),
            },
        }
    }

    fn heard(&mut self, now: Duration, sent: Duration) {
        self.may_have_run = true;
        (self.silent_since, self.pauses) = (None, 0);
        self.most = match now.saturating_sub(sent) {
            // A request that was held says nothing of the way.
            took if took < QUICK_PART => (self.most * 2).min(PART_MAX),
            _ => self.most,
        };
    }

    /// N4, N9
    fn take_part(
        &mut self,
        head: Option<AnswerHead>,
        data: Bytes,
        total: Option<u64>,
    ) -> Vec<AgentEffect> {
        let mut effects = Vec::new();
        if let Some(head) = head.filter(|_| !self.has_head) {
            self.has_head = true;
            effects.push(AgentEffect::Head(head));
        }
        self.handed += data.len() as u64;
        if !data.is_empty() {
            effects.push(AgentEffect::Data(data));
        }
        self.wait = AgentWait::Caller;
        if let Some(total) = total {
            effects.extend(self.end(if total == self.handed {
                FleetCallEnd::Whole
            } else {
                FleetCallEnd::BrokenOff
            }));
        }
        effects
    }

    fn end(&mut self, end: FleetCallEnd) -> Vec<AgentEffect> {
        self.wait = AgentWait::Over;
        let mut effects = self.close();
        effects.push(AgentEffect::End(end));
        effects
    }

    /// Home keeps what was not confirmed for a while: it need not.
    fn close(&self) -> Vec<AgentEffect> {
        let is_known = self.may_have_run || self.wait != AgentWait::Over;
        if is_known { vec![AgentEffect::Close(self.life.clone())] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
