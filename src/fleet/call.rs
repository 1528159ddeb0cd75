//! A call between an agent and a place, pure: each end as a table, `apply(now, event)` gives effects. No NATS, no
//! clock, no randomness. `now` is a time of the end's own clock that never goes back.

mod at_home;

use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;

pub(super) use at_home::{HomeCall, HomeEffect, HomeEvent, ReplyNumber};

/// How much of an answer one reply carries at most, in bytes.
pub(super) const PART_MAX: usize = 256 * 1024;

/// How much of an answer the first `next` asks for, in bytes.
const PART_FIRST: usize = 64 * 1024;

/// How long home holds a request that has nothing to be told yet.
const HOLD: Duration = Duration::from_secs(3);

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

/// How long an agent that is told that a place is busy should wait.
pub(super) const BUSY_AFTER: Duration = Duration::from_secs(1);

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
    /// Home cannot reply to this request any more, or it may not have it.
    AskAgain(RequestNumber),
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
    /// Whether the place was asked for its life since nobody heard the call.
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
            (AgentWait::Reply { number, request, .. }, AgentEvent::AskAgain(to))
                if to == number =>
            {
                self.may_have_run = true;
                self.send(request, now)
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
                | AgentEvent::AskAgain(_)
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
            // The place is there, and takes no more of this owner at the moment.
            return self.rest(now, request);
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
            return self.end(match (self.has_head, self.may_have_run) {
                (true, _) => FleetCallEnd::BrokenOff,
                (false, true) => FleetCallEnd::Lost,
                (false, false) => FleetCallEnd::Refused(FleetRefusal::Busy(BUSY_AFTER)),
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
