//! Any order of events: what must hold whatever happens.

use std::collections::BTreeSet;

use super::holding::need;
use super::host_tasks::{job, said, wait};
use super::page::table;
use super::*;

/// Random numbers that are the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn pick<T, const N: usize>(&mut self, from: [T; N]) -> T {
        let n = self.roll(N as u64);
        from.into_iter().nth(usize::try_from(n).expect("small")).expect("in range")
    }

    /// Mostly the extension that has the command, sometimes anybody.
    fn sender(&mut self, command: &Command) -> (Peer, Attempt) {
        match command.delivery() {
            Some(delivery) if self.roll(4) > 0 => (delivery.peer.clone(), delivery.attempt),
            Some(_) | None => (
                self.pick([holder(), holder_reborn(), stranger()]),
                self.pick([0, 1, 2, 3, 4].map(Attempt)),
            ),
        }
    }

    fn event(&mut self, command: &Command) -> LifecycleEvent {
        use InFlightState::{Claimed, Done, Running};
        let (peer, attempt) = self.sender(command);
        match self.roll(20) {
            0 => LifecycleEvent::Reachable,
            1 | 2 => LifecycleEvent::Deliver(peer, Transport::WebSocket),
            3 | 4 => LifecycleEvent::Claim(peer, attempt),
            11 => LifecycleEvent::Go(attempt),
            5 => LifecycleEvent::Report(peer, attempt, pending()),
            6 => LifecycleEvent::Report(peer, attempt, self.pick(every_report())),
            7 | 12 => LifecycleEvent::LinkClosed,
            8 => LifecycleEvent::Reconnected(
                peer,
                self.pick([None, Some(Claimed), Some(Running), Some(Done)]),
            ),
            16 | 17 => LifecycleEvent::Hold(peer, attempt, need("https://shop.example")),
            18 => LifecycleEvent::Release { is_once: self.roll(2) == 0 },
            9 if self.roll(4) == 0 => LifecycleEvent::Cancel,
            10 => self.pick([LifecycleEvent::Read, LifecycleEvent::ReadOn]),
            13 => LifecycleEvent::Begin,
            14 => LifecycleEvent::Advance(said(0.5)),
            15 => LifecycleEvent::Finish(outcome_of(self.pick([complete("1"), error("no")]))),
            _ => LifecycleEvent::Tick,
        }
    }

    /// The next moment: the same, soon, late, or close to a deadline; in a hurry, soon.
    fn moment(&mut self, command: &Command, now: Timestamp, hurry: bool) -> Timestamp {
        let due = command.next_deadline();
        let next = match self.roll(12) {
            _ if hurry => now + Duration::from_millis(self.roll(50)),
            0 | 1 => now,
            2 => due,
            3 => just_before(due),
            4 => due + Duration::from_micros(1),
            5 => now + Duration::from_secs(self.roll(20)),
            _ => now + Duration::from_millis(self.roll(1_500)),
        };
        next.max(now)
    }
}

/// What must hold between two looks at one command, whatever happened.
fn check_step(before: &Command, now: Timestamp, step: &Transition, after: &Command, what: &str) {
    match step {
        Transition::Unchanged(_) => {
            assert_eq!(format!("{before:?}"), format!("{after:?}"), "{what}")
        }
        Transition::Changed { from, to, cancel, .. } => {
            assert_eq!((*from, *to), (before.phase(), after.phase()), "{what}");
            let ends = !from.is_terminal() && to.is_terminal();
            assert!(cancel.is_none() || ends && *from != CommandPhase::Queued, "{what}: {step:?}");
        }
    }
    if ending(before).is_none() && before.may_have_run() {
        // An extension that holds a command says that it has not begun it.
        let lost = matches!(after.state(), CommandState::Queued { .. } | CommandState::Held { .. });
        assert!(after.may_have_run() || lost, "{what}: it has not run after all");
    }
    if matches!(
        step,
        Transition::Unchanged(EventReply::Go) | Transition::Changed { reply: EventReply::Go, .. }
    ) {
        assert!(after.delivery().is_some_and(|delivery| after.may_go(delivery.attempt)), "{what}");
    }
    assert!(after.phase() == CommandPhase::Ended || after.next_deadline() > now, "{what}: overdue");
    assert!(after.phase().is_terminal() || now < after.total_by(), "{what}: alive past total");
    let begun = |command: &Command| count_marks(command, TracePhase::Started) > 0;
    if begun(before) {
        let goes_on = matches!(after.phase(), CommandPhase::Started | CommandPhase::Working);
        assert!(goes_on || after.phase().is_terminal(), "{what}: again");
    }
    if let Some((outcome, at)) = ending(before) {
        assert_eq!(ending(after), Some((outcome, at)), "{what}: two ends");
        assert_eq!(before.delivery(), after.delivery(), "{what}");
    }
}

/// What must hold at every look at one command.
fn check_state(command: &Command, what: &str) {
    let trace = trace(command);
    assert!(trace.is_sorted_by_key(|entry| entry.at), "{what}: {trace:?}");
    let deliveries = count_marks(command, TracePhase::Delivered);
    let most = limits::ATTEMPTS + command.holds().times;
    assert!(deliveries <= most as usize, "{what}: {deliveries} deliveries");
    assert!(command.holds().times <= limits::HOLDS, "{what}: held for ever");
    assert!(count_marks(command, TracePhase::LateResult) <= LATE_MARKS, "{what}");
    assert!(count_marks(command, TracePhase::Started) <= 1, "{what}: started twice");
    let begun = count_marks(command, TracePhase::Started) > 0;
    let dones = count_marks(command, TracePhase::Done);
    let Some((outcome, at)) = ending(command) else {
        assert_eq!(dones, 0, "{what}");
        return;
    };
    assert_eq!(dones, 1, "{what}");
    assert!(at <= command.total_by(), "{what}: ended after total");
    match outcome {
        CommandOutcome::Complete { .. }
        | CommandOutcome::Error { .. }
        | CommandOutcome::Timeout { .. } => {
            let work = &command.spec().work;
            // What the person denies has not run.
            let was_held = command.holds().times > 0;
            let needs_none = work.is_safe() || work.action().is_none() || was_held;
            assert!(begun || needs_none, "{what}: {outcome:?} without a start");
        }
        CommandOutcome::Expired { may_have_run, .. } => {
            let possibly = if command.spec().work.is_safe() { deliveries > 0 } else { begun };
            assert!(possibly || !may_have_run, "{what}: {outcome:?}");
        }
        // The extension may know better than we do.
        CommandOutcome::Cancelled { .. } => {}
    }
}

/// Walks one command through random events until its retention is over, and notes
/// where it came by.
fn walk(seed: u64, seen: &mut BTreeSet<&'static str>) {
    let mut dice = Dice(seed);
    let mut command = dice.pick([command(), safe_command(), wait(), job()]);
    let mut now = ACCEPTED_AT;
    let hurry = dice.roll(3) == 0;
    for n in 0..60 {
        now = dice.moment(&command, now, hurry);
        let event = dice.event(&command);
        let what = format!("seed {seed}, event {n}: {event:?} at {now} for {command:?}");
        let before = command.clone();
        let step = command.apply(event, now);
        check_step(&before, now, &step, &command, &what);
        check_state(&command, &what);
        seen.insert(word(&command));
        if let Some((CommandOutcome::Expired { reason, .. }, _)) = ending(&command) {
            seen.insert(reason.code());
        }
        if command.retain_until().is_some_and(|until| until <= now) {
            return;
        }
    }
    now = now.max(command.total_by());
    let before = command.clone();
    let step = command.apply(LifecycleEvent::Tick, now);
    check_step(&before, now, &step, &command, "total");
    check_state(&command, "total");
    assert!(command.phase().is_terminal());
}

#[test]
fn no_order_of_events_keeps_a_command_alive_past_total_or_ends_it_twice() {
    let mut seen = BTreeSet::new();
    for seed in 0..3_000 {
        walk(seed, &mut seen);
    }
    // A walk that never came by somewhere has shown nothing about it.
    let states = table("States").into_iter().map(|row| row[0]);
    let reasons = [
        ExpiryReason::NoExtension,
        ExpiryReason::NotDelivered,
        ExpiryReason::DeliveryFailed,
        ExpiryReason::ExtensionNoResponse,
        ExpiryReason::ExtensionDisconnected,
        ExpiryReason::CommandExpired,
        ExpiryReason::NobodyDrew,
        ExpiryReason::NobodyAnswered,
    ];
    let expected: BTreeSet<_> = states.chain(reasons.map(ExpiryReason::code)).collect();
    assert_eq!(seen, expected);
}
