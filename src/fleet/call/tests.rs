//! The rows one by one, and both ends over a way that loses, repeats and delays.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use super::at_home::{DATA_GRACE, HEAD_GRACE};
use super::*;
use crate::fleet::message::FleetCallId;
use crate::fleet::open_calls::{CallOpening, FleetCalls};

const LIFE: &str = "a";

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn head() -> AnswerHead {
    AnswerHead { status: 200, headers: HeaderMap::new() }
}

fn part(from: u64, data: &'static [u8], total: Option<u64>) -> CallReply {
    let head = (from == 0).then(head);
    CallReply::Part { head, from, data: Bytes::from_static(data), total }
}

fn send(number: RequestNumber, request: HomeRequest) -> AgentEffect {
    AgentEffect::Send(number, LIFE.into(), request)
}

fn next(from: u64) -> HomeRequest {
    HomeRequest::Next { from, most: PART_FIRST * 2 }
}

fn close() -> AgentEffect {
    AgentEffect::Close(LIFE.into())
}

fn end(end: FleetCallEnd) -> AgentEffect {
    AgentEffect::End(end)
}

fn life(life: &str) -> AgentEvent {
    AgentEvent::Hello(PlaceLives::One(life.into()))
}

fn begun() -> AgentCall {
    let (call, effects) = AgentCall::begin(LIFE.into(), secs(0));
    assert_eq!(effects, [send(1, HomeRequest::Open)]);
    call
}

/// A call whose caller has the head and three bytes.
fn reading() -> AgentCall {
    let mut call = begun();
    let handed = call.apply(secs(0), AgentEvent::Replied(1, part(0, b"abc", None)));
    let data = AgentEffect::Data(Bytes::from_static(b"abc"));
    assert_eq!(handed, [AgentEffect::Head(head()), data]);
    assert_eq!(call.apply(secs(0), AgentEvent::Taken), [send(2, next(3))]);
    call
}

#[test]
fn n1_a_place_that_is_not_there_has_not_run_the_call() {
    let mut call = begun();
    // The life may be one from before.
    assert_eq!(
        call.apply(secs(0), AgentEvent::NoResponders(1)),
        [AgentEffect::AskHello(HELLO_SILENCE)]
    );
    let absent = AgentEvent::Hello(PlaceLives::Absent);
    assert_eq!(call.apply(secs(0), absent), [end(FleetCallEnd::Offline)]);
    let mut call = begun();
    call.apply(secs(0), AgentEvent::NoResponders(1));
    let sent = call.apply(secs(0), life("b"));
    assert_eq!(sent, [AgentEffect::Send(2, "b".into(), HomeRequest::Open)]);
    // That one has gone, too.
    let rest = [AgentEffect::Rest(PAUSES[0])];
    assert_eq!(call.apply(secs(0), AgentEvent::NoResponders(2)), rest);
    call.apply(secs(1), AgentEvent::Rested);
    let absent = AgentEvent::Hello(PlaceLives::Absent);
    assert_eq!(call.apply(secs(1), absent), [end(FleetCallEnd::Offline)]);
}

#[test]
fn a_place_that_is_there_and_hears_no_call_of_the_agent_is_busy_after_ten_seconds_and_has_not_run_it()
 {
    let mut call = begun();
    call.apply(secs(0), AgentEvent::NoResponders(1));
    let mut number = 2;
    let mut now = 0;
    let told = loop {
        assert_eq!(call.apply(secs(now), life(LIFE)), [send(number, HomeRequest::Open)]);
        let effects = call.apply(secs(now), AgentEvent::NoResponders(number));
        let [AgentEffect::Rest(pause)] = effects[..] else { break effects };
        now += pause.as_secs().max(1);
        call.apply(secs(now), AgentEvent::Rested);
        number += 1;
    };
    let busy = FleetCallEnd::Refused(FleetRefusal::Busy(BUSY_AFTER));
    assert_eq!((told, now), (vec![end(busy)], 10));
}

#[test]
fn n2_a_silent_place_is_asked_again_for_ten_seconds_and_then_the_call_may_have_run() {
    let mut call = begun();
    let mut now = secs(5);
    let mut number = 1;
    let mut pauses = Vec::new();
    let ended = loop {
        match &*call.apply(now, AgentEvent::Silence(number)) {
            [AgentEffect::Rest(pause)] => {
                pauses.push(*pause);
                now += *pause;
            }
            other => break other.to_vec(),
        }
        assert_eq!(
            call.apply(now, AgentEvent::Rested),
            [AgentEffect::AskHello((secs(13) - now).min(HELLO_SILENCE))]
        );
        number += 1;
        assert_eq!(call.apply(now, life(LIFE)), [send(number, HomeRequest::Open)]);
        now += secs(1);
    };
    // Since three seconds after the first request was sent, for home would have said something by then.
    assert_eq!(pauses, [PAUSES[0], PAUSES[1], PAUSES[2], PAUSES[3], Duration::from_millis(300)]);
    assert_eq!((ended, now), (vec![close(), end(FleetCallEnd::Lost)], secs(14)));
    // Nobody there after it was sent is the same.
    let mut call = begun();
    call.apply(secs(5), AgentEvent::Silence(1));
    call.apply(secs(6), AgentEvent::Rested);
    let absent = AgentEvent::Hello(PlaceLives::Absent);
    assert_eq!(call.apply(secs(6), absent), [AgentEffect::Rest(PAUSES[1])]);
}

#[test]
fn a_request_that_home_cannot_reply_to_any_more_is_sent_again_and_the_call_may_have_run() {
    let mut call = begun();
    assert_eq!(call.apply(secs(1), AgentEvent::AskAgain(1)), [send(2, HomeRequest::Open)]);
    assert_eq!(call.apply(secs(1), AgentEvent::AskAgain(1)), [], "that was the former one");
    let rest = call.apply(secs(1), AgentEvent::NoResponders(2));
    assert_eq!(rest, [AgentEffect::Rest(PAUSES[0])], "it is not taken for one that never ran");
    let mut call = reading();
    assert_eq!(call.apply(secs(1), AgentEvent::AskAgain(2)), [send(3, next(3))]);
}

#[test]
fn n3_of_a_call_that_another_life_does_not_have_the_caller_decides_whether_it_is_sent_again() {
    let mut call = begun();
    call.apply(secs(5), AgentEvent::Silence(1));
    call.apply(secs(6), AgentEvent::Rested);
    assert_eq!(call.apply(secs(6), life("b")), [close(), end(FleetCallEnd::Elsewhere)]);
}

#[test]
fn n4_data_is_handed_on_and_the_next_is_asked_for_once_the_caller_has_taken_it() {
    let mut call = reading();
    let more = call.apply(secs(1), AgentEvent::Replied(2, part(3, b"de", None)));
    assert_eq!(more, [AgentEffect::Data(Bytes::from_static(b"de"))]);
    let most = PART_FIRST * 2;
    assert_eq!(
        call.apply(secs(1), AgentEvent::Taken),
        [send(3, HomeRequest::Next { from: 5, most })]
    );
    // It was held.
    assert_eq!(
        call.apply(secs(4), AgentEvent::Replied(3, CallReply::More)),
        [send(4, HomeRequest::Next { from: 5, most })]
    );
    // A part that was not asked for is not handed on.
    let other = call.apply(secs(4), AgentEvent::Replied(4, part(9, b"x", None)));
    assert_eq!(other, [AgentEffect::Rest(PAUSES[0])]);
}

#[test]
fn n5_the_same_bytes_are_asked_for_again_while_home_is_silent() {
    for lost in [AgentEvent::NoResponders(2), AgentEvent::Silence(2)] {
        let mut call = reading();
        assert_eq!(call.apply(secs(5), lost), [AgentEffect::Rest(PAUSES[0])]);
        assert_eq!(call.apply(secs(6), AgentEvent::Rested), [AgentEffect::AskHello(HELLO_SILENCE)]);
        assert_eq!(call.apply(secs(6), life(LIFE)), [send(3, next(3))]);
        let late = call.apply(secs(6), AgentEvent::Replied(2, part(3, b"de", None)));
        assert_eq!(late, [], "the reply to the first of both");
        let told = call.apply(secs(17), AgentEvent::Silence(3));
        assert_eq!(told, [close(), end(FleetCallEnd::BrokenOff)]);
    }
}

#[test]
fn n6_an_answer_whose_home_forgot_it_breaks_off_and_never_seems_whole() {
    for refusal in [FleetRefusal::UnknownCall, FleetRefusal::Closed] {
        let mut call = reading();
        let told = call.apply(secs(1), AgentEvent::Replied(2, CallReply::Refused(refusal)));
        assert_eq!(told, [close(), end(FleetCallEnd::BrokenOff)]);
        // Nothing was handed on yet.
        let mut call = begun();
        let told = call.apply(secs(1), AgentEvent::Replied(1, CallReply::Refused(refusal)));
        assert_eq!(told, [close(), end(FleetCallEnd::Elsewhere)]);
    }
    let mut call = reading();
    call.apply(secs(5), AgentEvent::Silence(2));
    call.apply(secs(6), AgentEvent::Rested);
    assert_eq!(call.apply(secs(6), life("b")), [close(), end(FleetCallEnd::BrokenOff)]);
    let mut call = reading();
    let told = call.apply(secs(1), AgentEvent::Replied(2, CallReply::Broken));
    assert_eq!(told, [close(), end(FleetCallEnd::BrokenOff)]);
    let mut call = reading();
    let short = AgentEvent::Replied(2, part(3, b"de", Some(9)));
    assert_eq!(call.apply(secs(1), short).last(), Some(&end(FleetCallEnd::BrokenOff)));
}

#[test]
fn n7_a_call_that_the_server_does_not_let_through_ends_at_once() {
    let mut call = begun();
    let told = call.apply(secs(0), AgentEvent::NotGranted);
    assert_eq!(told, [end(FleetCallEnd::NotGranted { may_have_run: false })]);
    let mut call = reading();
    let told = call.apply(secs(0), AgentEvent::NotGranted);
    assert_eq!(told, [close(), end(FleetCallEnd::NotGranted { may_have_run: true })]);
}

#[test]
fn n8_a_call_whose_caller_is_gone_is_closed_and_ends_without_a_word() {
    for mut call in [begun(), reading()] {
        assert_eq!(call.apply(secs(1), AgentEvent::CallerGone), [close()]);
        assert_eq!(call.apply(secs(1), AgentEvent::Replied(1, CallReply::More)), []);
    }
}

#[test]
fn n9_a_whole_answer_ends_the_call_at_both_ends() {
    let mut call = reading();
    let told = call.apply(secs(1), AgentEvent::Replied(2, part(3, b"de", Some(5))));
    let data = AgentEffect::Data(Bytes::from_static(b"de"));
    assert_eq!(told, [data, close(), end(FleetCallEnd::Whole)]);
    assert_eq!(call.apply(secs(1), AgentEvent::Taken), []);
}

#[test]
fn a_refusal_of_a_call_that_was_never_taken_is_told_and_a_later_one_is_asked_again() {
    for why in [FleetRefusal::Busy(secs(1)), FleetRefusal::Malformed, FleetRefusal::TooLarge] {
        let refused = |number| AgentEvent::Replied(number, CallReply::Refused(why));
        assert_eq!(begun().apply(secs(0), refused(1)), [end(FleetCallEnd::Refused(why))]);
        assert_eq!(reading().apply(secs(0), refused(2)), [AgentEffect::Rest(PAUSES[0])]);
    }
}

#[test]
fn with_two_homes_nothing_is_sent_and_a_call_that_was_sent_waits_for_one() {
    let two = || AgentEvent::Hello(PlaceLives::Several);
    let mut call = begun();
    call.apply(secs(0), AgentEvent::NoResponders(1));
    assert_eq!(call.apply(secs(0), two()), [end(FleetCallEnd::TwoHomes)]);
    let mut call = begun();
    call.apply(secs(5), AgentEvent::Silence(1));
    call.apply(secs(6), AgentEvent::Rested);
    assert_eq!(call.apply(secs(6), two()), [AgentEffect::Rest(PAUSES[1])]);
}

#[test]
fn parts_grow_while_they_come_quickly_and_not_on_a_slow_way() {
    let mut call = reading();
    assert_eq!(call.most, PART_FIRST * 2);
    call.apply(secs(2), AgentEvent::Replied(2, part(3, b"d", None)));
    assert_eq!(call.most, PART_FIRST * 2, "it took two seconds");
    for (number, from) in [(3, 4), (4, 5), (5, 6)] {
        call.apply(secs(2), AgentEvent::Taken);
        call.apply(secs(2), AgentEvent::Replied(number, part(from, b"d", None)));
    }
    assert_eq!(call.most, PART_MAX);
}

fn asked(number: ReplyNumber, from: u64) -> HomeEvent {
    HomeEvent::Asked { number, from, most: PART_MAX }
}

fn reply(number: ReplyNumber, reply: CallReply) -> HomeEffect {
    HomeEffect::Reply(number, reply)
}

#[test]
fn home_answers_once_there_is_something_or_says_after_three_seconds_that_there_is_not() {
    let mut call = HomeCall::new(secs(0));
    assert_eq!(call.apply(secs(0), asked(1, 0)), []);
    assert_eq!(call.wake_at(), secs(3));
    assert_eq!(call.apply(secs(3), HomeEvent::Woken), [reply(1, CallReply::More)]);
    assert_eq!(call.apply(secs(3), asked(2, 0)), []);
    assert_eq!(call.apply(secs(4), HomeEvent::Head(head())), []);
    assert_eq!(call.apply(secs(4), HomeEvent::Data(Bytes::from_static(b"abc"))), []);
    let told = call.apply(secs(4), HomeEvent::End);
    assert_eq!(told, [reply(2, part(0, b"abc", Some(3)))], "in one round");
}

#[test]
fn data_without_an_end_is_told_after_a_moment_and_a_full_part_at_once() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(0), asked(1, 0));
    call.apply(secs(1), HomeEvent::Head(head()));
    call.apply(secs(1), HomeEvent::Data(Bytes::from_static(b"ab")));
    let grace = secs(1) + DATA_GRACE;
    assert_eq!(call.wake_at(), grace);
    assert_eq!(call.apply(grace, HomeEvent::Woken), [reply(1, part(0, b"ab", None))]);
    call.apply(secs(2), HomeEvent::Asked { number: 2, from: 2, most: 3 });
    call.apply(secs(2), HomeEvent::Data(Bytes::from_static(b"c")));
    let told = call.apply(secs(2), HomeEvent::Data(Bytes::from_static(b"defg")));
    assert_eq!(told, [reply(2, part(2, b"cde", None))]);
    call.apply(secs(3), HomeEvent::End);
    assert_eq!(call.apply(secs(3), asked(3, 5)), [reply(3, part(5, b"fg", Some(7)))]);
}

#[test]
fn a_head_without_data_is_told_after_a_moment() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(0), asked(1, 0));
    assert_eq!(call.apply(secs(1), HomeEvent::Head(head())), []);
    let grace = secs(1) + HEAD_GRACE;
    assert_eq!(call.wake_at(), grace);
    assert_eq!(call.apply(grace, HomeEvent::Woken), [reply(1, part(0, b"", None))]);
}

#[test]
fn what_the_agent_has_not_confirmed_can_be_asked_for_again_and_what_it_has_is_gone() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(0), HomeEvent::Head(head()));
    call.apply(secs(0), HomeEvent::Data(Bytes::from_static(b"abc")));
    assert_eq!(call.apply(secs(0), asked(1, 0)), [reply(1, part(0, b"abc", None))]);
    assert_eq!(call.apply(secs(1), asked(2, 0)), [reply(2, part(0, b"abc", None))], "again");
    call.apply(secs(1), HomeEvent::Data(Bytes::from_static(b"de")));
    assert_eq!(call.apply(secs(1), asked(3, 3)), [reply(3, part(3, b"de", None))]);
    let unknown = CallReply::Refused(FleetRefusal::UnknownCall);
    assert_eq!(call.apply(secs(1), asked(4, 0)), [reply(4, unknown.clone())], "it is gone");
    assert_eq!(call.apply(secs(1), asked(5, 6)), [reply(5, unknown)], "it was never there");
}

#[test]
fn of_two_requests_that_wait_the_older_is_let_go() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(0), asked(1, 0));
    assert_eq!(call.apply(secs(1), asked(2, 0)), [reply(1, CallReply::More)]);
}

#[test]
fn two_mebibytes_that_are_not_confirmed_pause_the_source() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(0), HomeEvent::Head(head()));
    let mebibyte = Bytes::from(vec![0; 1024 * 1024]);
    call.apply(secs(0), HomeEvent::Data(mebibyte.clone()));
    assert!(call.wants_data());
    call.apply(secs(0), HomeEvent::Data(mebibyte));
    assert!(!call.wants_data());
    call.apply(secs(0), asked(1, 0));
    assert!(!call.wants_data(), "sent, and not confirmed");
    call.apply(secs(0), asked(2, 1));
    assert!(call.wants_data());
}

#[test]
fn a_call_that_nobody_asks_for_within_fifteen_seconds_is_given_up() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(1), asked(1, 0));
    call.apply(secs(1), HomeEvent::Head(head()));
    call.apply(secs(1) + HEAD_GRACE, HomeEvent::Woken);
    assert_eq!(call.wake_at(), secs(16) + HEAD_GRACE);
    assert_eq!(call.apply(secs(16), HomeEvent::Woken), []);
    assert_eq!(call.apply(secs(16) + HEAD_GRACE, HomeEvent::Woken), [HomeEffect::GiveUp]);
}

#[test]
fn an_answer_that_broke_off_at_home_is_told_as_far_as_it_came() {
    let mut call = HomeCall::new(secs(0));
    call.apply(secs(0), HomeEvent::Head(head()));
    call.apply(secs(0), HomeEvent::Data(Bytes::from_static(b"abc")));
    call.apply(secs(0), HomeEvent::Broke);
    assert_eq!(call.apply(secs(0), asked(1, 0)), [reply(1, part(0, b"abc", None))]);
    assert_eq!(call.apply(secs(0), asked(2, 3)), [reply(2, CallReply::Broken)]);
}

/// The fate of one message on its way.
#[derive(Clone, Copy, Debug)]
enum MessageFate {
    Arrives(Duration),
    Twice(Duration, Duration),
    Lost,
}

fn fate() -> impl Strategy<Value = MessageFate> {
    let delay = || prop_oneof![6 => 0_u64..50, 1 => 0_u64..9_000].prop_map(Duration::from_millis);
    prop_oneof![
        6 => delay().prop_map(MessageFate::Arrives),
        1 => (delay(), delay()).prop_map(|(first, second)| MessageFate::Twice(first, second)),
        2 => Just(MessageFate::Lost),
    ]
}

#[derive(Clone, Debug)]
enum WorldEvent {
    ToHome(RequestNumber, Box<str>, HomeRequest),
    CloseAtHome(Box<str>),
    ToAgent(AgentEvent),
    SourceReady,
    HomeWoken,
    HomeRestarts,
    /// The server reads its users again, and forgets that the home may reply.
    ServerReloads,
}

/// An agent, a home with one daemon, and all that is on its way between them.
struct CallWorld {
    now: Duration,
    queue: BTreeMap<(Duration, u64), WorldEvent>,
    n_queued: u64,
    fates: Vec<MessageFate>,
    n_fates: usize,
    life: u32,
    home: HashMap<u32, HomeCall>,
    known: FleetCalls<()>,
    asked: HashMap<ReplyNumber, RequestNumber>,
    /// The server lets home reply to requests from this one on.
    may_reply_from: ReplyNumber,
    /// The last request of the agent.
    last: RequestNumber,
    answer: Vec<u8>,
    given: usize,
    /// The lives in which the daemon got the call.
    runs: Vec<u32>,
    got: Vec<u8>,
    end: Option<FleetCallEnd>,
}

impl CallWorld {
    fn at(&mut self, when: Duration, event: WorldEvent) {
        self.n_queued += 1;
        self.queue.insert((when, self.n_queued), event);
    }

    fn post(&mut self, event: &WorldEvent) {
        // After all that were drawn the way is a good one.
        let fate = self.fates.get(self.n_fates).copied();
        self.n_fates += 1;
        let delays = match fate.unwrap_or(MessageFate::Arrives(Duration::from_millis(1))) {
            MessageFate::Arrives(delay) => vec![delay],
            MessageFate::Twice(first, second) => vec![first, second],
            MessageFate::Lost => Vec::new(),
        };
        for delay in delays {
            self.at(self.now + delay, event.clone());
        }
    }

    fn name(&self) -> Box<str> {
        self.life.to_string().into()
    }

    fn agent_does(&mut self, effects: Vec<AgentEffect>) {
        for effect in effects {
            match effect {
                AgentEffect::Send(number, life, request) => {
                    self.last = number;
                    self.at(self.now + secs(6), WorldEvent::ToAgent(AgentEvent::Silence(number)));
                    if life == self.name() {
                        self.post(&WorldEvent::ToHome(number, life, request));
                    } else {
                        self.post(&WorldEvent::ToAgent(AgentEvent::NoResponders(number)));
                    }
                }
                AgentEffect::Close(life) => self.post(&WorldEvent::CloseAtHome(life)),
                AgentEffect::Rest(pause) => {
                    self.at(self.now + pause, WorldEvent::ToAgent(AgentEvent::Rested));
                }
                AgentEffect::AskHello(_) => {
                    let lives = PlaceLives::One(self.name());
                    let told = WorldEvent::ToAgent(AgentEvent::Hello(lives));
                    self.at(self.now + Duration::from_millis(100), told);
                }
                AgentEffect::Head(_) => {
                    self.at(self.now, WorldEvent::ToAgent(AgentEvent::Taken));
                }
                AgentEffect::Data(data) => {
                    self.got.extend_from_slice(&data);
                    self.at(self.now, WorldEvent::ToAgent(AgentEvent::Taken));
                }
                AgentEffect::End(end) => self.end = Some(end),
            }
        }
    }

    fn home_gets(&mut self, number: RequestNumber, life: &str, request: &HomeRequest) {
        if life != &*self.name() {
            return;
        }
        let id: FleetCallId = "0".repeat(32).parse().unwrap();
        let (from, most) = match *request {
            HomeRequest::Open => (0, PART_MAX),
            HomeRequest::Next { from, most } => (from, most),
        };
        let refusal = match request {
            HomeRequest::Open => match self.known.open(self.now, "ci", id, false, || ()) {
                CallOpening::New => {
                    self.runs.push(self.life);
                    self.given = 0;
                    self.home.insert(self.life, HomeCall::new(self.now));
                    self.at(self.now, WorldEvent::SourceReady);
                    None
                }
                CallOpening::Known(()) => None,
                CallOpening::Closed => Some(FleetRefusal::Closed),
                CallOpening::Busy => unreachable!("there is one call"),
            },
            HomeRequest::Next { .. } if self.known.get("ci", id).is_none() => {
                Some(FleetRefusal::UnknownCall)
            }
            HomeRequest::Next { .. } => None,
        };
        if let Some(why) = refusal {
            let told = AgentEvent::Replied(number, CallReply::Refused(why));
            return self.post(&WorldEvent::ToAgent(told));
        }
        let own = u64::try_from(self.asked.len()).unwrap();
        self.asked.insert(own, number);
        self.home_does(HomeEvent::Asked { number: own, from, most });
    }

    fn home_does(&mut self, event: HomeEvent) {
        let Some(call) = self.home.get_mut(&self.life) else { return };
        let effects = call.apply(self.now, event);
        let (wakes, wants_data) = (call.wake_at(), call.wants_data());
        for effect in effects {
            match effect {
                HomeEffect::Reply(number, _) if number < self.may_reply_from => {
                    self.post(&WorldEvent::ToAgent(AgentEvent::AskAgain(self.last)));
                }
                HomeEffect::Reply(number, reply) => {
                    let told = AgentEvent::Replied(self.asked[&number], reply);
                    self.post(&WorldEvent::ToAgent(told));
                }
                HomeEffect::GiveUp => return self.close_at_home(),
            }
        }
        self.at(wakes.max(self.now), WorldEvent::HomeWoken);
        if wants_data {
            self.at(self.now + Duration::from_millis(5), WorldEvent::SourceReady);
        }
    }

    fn close_at_home(&mut self) {
        self.home.remove(&self.life);
        self.known.close(self.now, "ci", "0".repeat(32).parse().unwrap());
    }

    fn source_gives(&mut self) {
        let Some(call) = self.home.get(&self.life) else { return };
        if !call.wants_data() {
            return;
        }
        let event = match self.given {
            0 if call.head.is_none() => HomeEvent::Head(head()),
            given if given == self.answer.len() => HomeEvent::End,
            given => {
                let end = (given + 300_000).min(self.answer.len());
                self.given = end;
                HomeEvent::Data(Bytes::copy_from_slice(&self.answer[given..end]))
            }
        };
        self.home_does(event);
    }

    fn run(mut self, restarts: &BTreeSet<u64>, reloads: &BTreeSet<u64>) -> Self {
        for after in reloads {
            self.at(Duration::from_millis(*after), WorldEvent::ServerReloads);
        }
        for after in restarts {
            self.at(Duration::from_millis(*after), WorldEvent::HomeRestarts);
        }
        let (mut agent, effects) = AgentCall::begin(self.name(), self.now);
        self.agent_does(effects);
        let mut steps = 0;
        while self.end.is_none() {
            steps += 1;
            assert!(steps < 100_000, "it does not end");
            let ((when, _), event) = self.queue.pop_first().expect("something is on its way");
            self.now = when;
            match event {
                WorldEvent::ToAgent(event) => {
                    let effects = agent.apply(self.now, event);
                    self.agent_does(effects);
                }
                WorldEvent::ToHome(number, life, request) => {
                    self.home_gets(number, &life, &request);
                }
                WorldEvent::CloseAtHome(life) if life == self.name() => self.close_at_home(),
                WorldEvent::CloseAtHome(_) => {}
                WorldEvent::SourceReady => self.source_gives(),
                WorldEvent::HomeWoken => self.home_does(HomeEvent::Woken),
                WorldEvent::ServerReloads => {
                    self.may_reply_from = u64::try_from(self.asked.len()).unwrap();
                }
                WorldEvent::HomeRestarts => {
                    self.life += 1;
                    self.known = FleetCalls::default();
                }
            }
        }
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_is_whole_or_its_end_is_honest_and_the_call_runs_once_at_most(
        fates in proptest::collection::vec(fate(), 0..60),
        restarts in proptest::collection::btree_set(0_u64..20_000, 0..3),
        reloads in proptest::collection::btree_set(0_u64..5_000, 0..3),
        length in prop_oneof![Just(0_usize), 1..2_000_usize, 200_000..3_000_000_usize],
    ) {
        let answer: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let world = CallWorld {
            now: Duration::ZERO, queue: BTreeMap::new(), n_queued: 0, fates, n_fates: 0, life: 0,
            home: HashMap::new(), known: FleetCalls::default(), asked: HashMap::new(),
            may_reply_from: 0, last: 0, answer, given: 0, runs: Vec::new(), got: Vec::new(), end: None,
        }.run(&restarts, &reloads);
        prop_assert!(world.runs.len() <= 1, "it ran in the lives {:?}", world.runs);
        match world.end.unwrap() {
            FleetCallEnd::Whole => prop_assert!(world.got == world.answer),
            FleetCallEnd::BrokenOff => prop_assert!(world.answer.starts_with(&world.got)),
            FleetCallEnd::Offline => prop_assert!(world.runs.is_empty()),
            FleetCallEnd::Lost | FleetCallEnd::Elsewhere => prop_assert!(world.got.is_empty()),
            other @ (FleetCallEnd::TwoHomes | FleetCallEnd::NotGranted { .. } | FleetCallEnd::Refused(_)) => {
                prop_assert!(false, "{other:?}");
            }
        }
        if restarts.is_empty() && world.n_fates == 0 {
            prop_assert!(world.got == world.answer);
        }
    }
}
