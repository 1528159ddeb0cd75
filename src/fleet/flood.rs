//! How much comes from an owner by one subscription, pure. The server passes on no more messages than it has credit
//! for, so that a flood ends at the server: it fills neither the connection, which others share, nor the home.

use std::collections::VecDeque;
use std::time::Duration;

/// For how many messages a subscription has credit: one for each call that an owner may have open.
pub(super) const CREDIT: u64 = 64;

/// With less credit than this it gets more.
const CREDIT_LOW: u64 = CREDIT * 3 / 4;

/// How often it gets more at most.
const ROUND: Duration = Duration::from_millis(25);

/// How many messages may come in a second. No bridge sends as many: it has 64 calls at most, each with one request.
const SECOND: Duration = Duration::from_secs(1);
const SECOND_MESSAGES: u64 = 1_500;

/// How many bytes of calls may come in a second: half of those that the daemon takes of an owner in a minute.
pub(super) const CALL_BYTES: u64 = 32 * 1024 * 1024;

/// The same of `hello`, which has no body.
pub(super) const HELLO_BYTES: u64 = 1024 * 1024;

/// For how long an owner that sends more is shut out: at first, and at most once it has done so again and again.
const SHUT_FIRST: Duration = Duration::from_secs(5);
const SHUT_MAX: Duration = Duration::from_secs(300);

/// After this time without a flood the first one counts again.
const FORGIVEN: Duration = Duration::from_secs(600);

/// How often one message of an owner that is shut out is taken, so that its agents are told.
const TRICKLE: Duration = Duration::from_millis(250);

/// What is to be done with a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CreditStep {
    /// The server is told that it may pass on this many messages in all.
    Raise(u64),
    /// Another one, with this credit, comes in its place.
    Renew(u64),
    /// It ends.
    Shut,
}

/// The time in which an owner is shut out.
#[derive(Clone, Copy, Debug)]
struct ShutTime {
    until: Duration,
    length: Duration,
    /// When the next message is taken.
    next: Duration,
}

/// The count of one subscription.
#[derive(Debug)]
pub(super) struct FloodGate {
    /// How many messages have come by it.
    taken: u64,
    /// The limits that the server was told, the last one at the end. An earlier one may have ended the subscription
    /// before the server heard of the next, until a message has come beyond it.
    limits: VecDeque<u64>,
    /// When the credit is looked at.
    round: Option<Duration>,
    /// When a second began, and what has come since.
    second: Duration,
    messages: u64,
    bytes: u64,
    shut: Option<ShutTime>,
    /// How many bytes may come in a second.
    most_bytes: u64,
    /// Whether a message is taken now and then while it is shut.
    trickles: bool,
    /// How long an owner was shut out the last time, and when that ended.
    last: Option<(Duration, Duration)>,
}

impl FloodGate {
    /// That of a subscription with [`CREDIT`]. `trickles`: while it is shut, a message is taken now and then.
    pub(super) fn new(now: Duration, most_bytes: u64, trickles: bool) -> Self {
        Self {
            taken: 0,
            limits: VecDeque::from([CREDIT]),
            round: None,
            second: now,
            messages: 0,
            bytes: 0,
            shut: None,
            most_bytes,
            trickles,
            last: None,
        }
    }

    /// For how long its owner is shut out.
    pub(super) fn shut_for(&self, now: Duration) -> Option<Duration> {
        self.shut.map(|shut| shut.until.saturating_sub(now))
    }

    /// Counts a message.
    pub(super) fn take(&mut self, now: Duration, bytes: usize) {
        self.taken += 1;
        self.round.get_or_insert(now + ROUND);
        if now.saturating_sub(self.second) >= SECOND {
            (self.second, self.messages, self.bytes) = (now, 0, 0);
        }
        self.messages += 1;
        self.bytes += bytes as u64;
    }

    /// The subscription has ended by itself.
    pub(super) fn ended(&mut self, now: Duration) {
        self.limits = VecDeque::from([self.taken]);
        self.round.get_or_insert(now + ROUND);
    }

    /// Somebody was not heard, it seems: where the server may have ended the subscription, another one is due.
    pub(super) fn doubt(&mut self, now: Duration) {
        if self.limits.front().is_some_and(|limit| *limit == self.taken) {
            self.limits = VecDeque::from([self.taken]);
            self.round = Some(now);
        }
    }

    /// When it has to be looked at; `None`: after the next message.
    pub(super) fn wake_at(&self) -> Option<Duration> {
        match self.shut {
            Some(shut) if self.trickles && self.is_used_up() => Some(shut.next.min(shut.until)),
            Some(shut) => Some(shut.until),
            None => self.round,
        }
    }

    /// What is to be done now. It stays the same until it is [`Self::done`].
    pub(super) fn due(&mut self, now: Duration) -> Option<CreditStep> {
        while self.limits.len() > 1 && self.limits[0] < self.taken {
            self.limits.pop_front();
        }
        if let Some(shut) = self.shut {
            if now >= shut.until {
                return Some(CreditStep::Renew(CREDIT));
            }
            let is_next = self.trickles && now >= shut.next && self.is_used_up();
            return is_next.then_some(CreditStep::Renew(1));
        }
        if self.messages > SECOND_MESSAGES || self.bytes > self.most_bytes {
            return Some(CreditStep::Shut);
        }
        self.round.filter(|round| now >= *round)?;
        if self.is_used_up() {
            return Some(CreditStep::Renew(CREDIT));
        }
        if self.limit() - self.taken < CREDIT_LOW {
            return Some(CreditStep::Raise(self.taken + CREDIT));
        }
        self.round = None;
        None
    }

    /// A step is done.
    pub(super) fn done(&mut self, now: Duration, step: CreditStep) {
        self.round = None;
        match step {
            CreditStep::Raise(limit) => self.limits.push_back(limit),
            CreditStep::Renew(credit) => {
                (self.taken, self.limits) = (0, VecDeque::from([credit]));
                if let Some(shut) = &mut self.shut {
                    shut.next = now + TRICKLE;
                    if now >= shut.until {
                        self.last = Some((shut.length, now));
                        (self.shut, self.second, self.messages, self.bytes) = (None, now, 0, 0);
                    }
                }
            }
            CreditStep::Shut => {
                let again = self.last.filter(|(_, ended)| now.saturating_sub(*ended) < FORGIVEN);
                let length = again.map_or(SHUT_FIRST, |(length, _)| (length * 2).min(SHUT_MAX));
                self.limits = VecDeque::from([self.taken]);
                self.shut = Some(ShutTime { until: now + length, length, next: now + TRICKLE });
            }
        }
    }

    fn limit(&self) -> u64 {
        self.limits.back().copied().unwrap_or_default()
    }

    /// Whether the server has ended the subscription.
    fn is_used_up(&self) -> bool {
        self.limit() <= self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn take(gate: &mut FloodGate, now: u64, messages: u64, bytes: usize) {
        for _ in 0..messages {
            gate.take(millis(now), bytes);
        }
    }

    /// What is due, and is done then.
    fn step(gate: &mut FloodGate, now: u64) -> Option<CreditStep> {
        let step = gate.due(millis(now))?;
        gate.done(millis(now), step);
        Some(step)
    }

    #[test]
    fn a_bridge_keeps_its_subscription_and_gets_credit_before_it_has_none() {
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, true);
        assert_eq!(gate.wake_at(), None, "nothing has come");
        take(&mut gate, 0, 10, 1_000);
        assert_eq!(step(&mut gate, 24), None, "not each time");
        assert_eq!(gate.wake_at(), Some(millis(25)));
        assert_eq!(step(&mut gate, 25), None, "there is enough");
        assert_eq!(gate.wake_at(), None);
        let mut given = 0;
        for round in 1..1_000 {
            // 1,200 a second.
            take(&mut gate, round * 25, 30, 1_000);
            match step(&mut gate, round * 25 + 25) {
                Some(CreditStep::Raise(limit)) => given = limit,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(given, 10 + 999 * 30 + CREDIT);
    }

    #[test]
    fn a_subscription_whose_credit_is_used_up_is_renewed() {
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, true);
        take(&mut gate, 0, CREDIT, 10);
        assert_eq!(step(&mut gate, 25), Some(CreditStep::Renew(CREDIT)));
        take(&mut gate, 30, 1, 10);
        gate.ended(millis(30));
        assert_eq!(step(&mut gate, 55), Some(CreditStep::Renew(CREDIT)));
    }

    #[test]
    fn one_that_a_former_limit_may_have_ended_is_renewed_once_somebody_was_not_heard() {
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, true);
        take(&mut gate, 30, 20, 10);
        gate.doubt(millis(30));
        assert_eq!(step(&mut gate, 55), Some(CreditStep::Raise(84)), "it is not at a limit");
        // The server may have heard of it too late: the count stands at the former limit.
        take(&mut gate, 60, 44, 10);
        assert_eq!(step(&mut gate, 85), Some(CreditStep::Raise(128)));
        gate.doubt(millis(90));
        assert_eq!(step(&mut gate, 90), Some(CreditStep::Renew(CREDIT)));
        take(&mut gate, 90, 20, 10);
        assert_eq!(step(&mut gate, 115), Some(CreditStep::Raise(84)));
        take(&mut gate, 120, 45, 10);
        assert_eq!(step(&mut gate, 145), Some(CreditStep::Raise(129)));
        gate.doubt(millis(150));
        assert_eq!(step(&mut gate, 150), None, "one came beyond it");
    }

    /// Floods from this time on until the gate shuts, and returns when that is, and for how long.
    fn flood(gate: &mut FloodGate, from: u64, bytes: usize) -> (u64, Duration) {
        let mut now = from;
        loop {
            take(gate, now, CREDIT, bytes);
            now += 25;
            match step(gate, now) {
                Some(CreditStep::Renew(CREDIT)) => {}
                Some(CreditStep::Shut) => return (now, gate.shut_for(millis(now)).unwrap()),
                other => panic!("{other:?}"),
            }
            assert!(now < from + 2_000, "it never shuts");
        }
    }

    #[test]
    fn more_than_1500_messages_or_32_mib_in_a_second_shut_an_owner_out() {
        let (shut, time) = flood(&mut FloodGate::new(millis(0), CALL_BYTES, true), 0, 10);
        assert!((500..700).contains(&shut) && time == SHUT_FIRST, "{shut} {time:?}");
        let (shut, _) = flood(&mut FloodGate::new(millis(0), CALL_BYTES, true), 0, 256 * 1024);
        assert!((50..=75).contains(&shut), "{shut}");
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, true);
        take(&mut gate, 0, 1_500, 10);
        assert_ne!(gate.due(millis(0)), Some(CreditStep::Shut));
        take(&mut gate, 1_000, 1_500, 10);
        assert_ne!(gate.due(millis(1_000)), Some(CreditStep::Shut), "another second");
    }

    #[test]
    fn who_is_shut_out_is_heard_four_times_a_second_and_let_in_again() {
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, true);
        let (shut, _) = flood(&mut gate, 0, 10);
        assert_eq!(gate.wake_at(), Some(millis(shut + 250)));
        assert_eq!(step(&mut gate, shut + 249), None);
        assert_eq!(step(&mut gate, shut + 250), Some(CreditStep::Renew(1)));
        assert_eq!(gate.wake_at(), Some(millis(shut + 5_000)), "nothing has come");
        take(&mut gate, shut + 260, 1, 10);
        assert_eq!(gate.shut_for(millis(shut + 1_000)), Some(millis(4_000)));
        assert_eq!(gate.wake_at(), Some(millis(shut + 500)));
        assert_eq!(step(&mut gate, shut + 500), Some(CreditStep::Renew(1)));
        assert_eq!(step(&mut gate, shut + 5_000), Some(CreditStep::Renew(CREDIT)));
        assert_eq!(gate.shut_for(millis(shut + 5_000)), None);
        take(&mut gate, shut + 5_001, 1, 10);
        assert_eq!(step(&mut gate, shut + 5_026), None);
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, false);
        let (shut, _) = flood(&mut gate, 0, 10);
        assert_eq!(gate.wake_at(), Some(millis(shut + 5_000)), "this one hears nothing meanwhile");
        assert_eq!(step(&mut gate, shut + 250), None);
    }

    #[test]
    fn who_floods_again_is_shut_out_for_twice_as_long_up_to_five_minutes_and_ten_good_ones_are_enough()
     {
        let mut gate = FloodGate::new(millis(0), CALL_BYTES, true);
        let mut now = 0;
        let mut times = Vec::new();
        for _ in 0..8 {
            let (shut, time) = flood(&mut gate, now, 10);
            times.push(time.as_secs());
            now = shut + u64::try_from(time.as_millis()).unwrap();
            assert_eq!(step(&mut gate, now), Some(CreditStep::Renew(CREDIT)));
        }
        assert_eq!(times, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(flood(&mut gate, now + 600_000, 10).1, SHUT_FIRST);
    }
}
