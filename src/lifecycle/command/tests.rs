//! The transitions table of `docs/lifecycle.md`, row by row, and the awkward cases
//! between the rows. Time is virtual: every moment is an argument.
//!
//! A test `row_<id>_…` takes its row from the page itself: what it sees must stand in
//! the row's From and To cells, and each word in them must be seen. So the page and
//! the code cannot drift apart.

use std::collections::BTreeSet;

use super::transitions::LATE_MARKS;
use super::*;
use crate::lifecycle::Limits;
use crate::protocol::{ReportedError, TraceEntry};

const PAGE: &str = include_str!("../../../docs/lifecycle.md");
const SELF: &str = include_str!("tests.rs");

/// Rows that the core cannot show, since they are about whether there is a command:
/// the hub accepts and refuses, with `Queue::is_full_for` and `Retention`.
const ROWS_OF_THE_HUB: [&str; 2] = ["1", "2"];

const ACCEPTED_AT: Moment = ms(0);
const SENT_AT: Moment = ms(1_000);
const STARTED_AT: Moment = ms(1_100);
const ENDED_AT: Moment = ms(2_000);
const RESPOND_BY: Moment = ms(4_000);
const EXECUTE_BY: Moment = ms(13_100);
const TOTAL_BY: Moment = ms(30_000);
const LATER: Moment = ms(40_000);

const FIRST: Attempt = Attempt(1);
const SECOND: Attempt = Attempt(2);

/// A moment, in milliseconds after the command was accepted.
const fn ms(after: u64) -> Moment {
    Moment::from_unix_micros(1_795_298_985_000_000 + after * 1_000)
}

/// The last moment before this one.
fn just_before(moment: Moment) -> Moment {
    moment - Duration::from_micros(1)
}

// ── Who and what ────────────────────────────────────────────────────────────────────

fn peer(browser: &str, instance: &str) -> Peer {
    Peer { browser: browser.into(), instance: instance.into() }
}

/// The extension that gets the command.
fn holder() -> Peer {
    peer("b1", "i1")
}

/// The same browser after its worker was restarted.
fn holder_reborn() -> Peer {
    peer("b1", "i2")
}

fn stranger() -> Peer {
    peer("b2", "i1")
}

fn command_of(action: Action, timeout: Duration) -> Command {
    Command::new(Facts {
        id: "exec_1".into(),
        query_id: "q_1".into(),
        owner: "user".into(),
        client: "ann".into(),
        params: action.params().into(),
        action,
        timeout,
        created: ACCEPTED_AT,
    })
}

/// A command that changes the page.
fn command() -> Command {
    command_of(Action::ExecuteJs { script: "document.title".into() }, limits::EXECUTE)
}

/// A command that only looks.
fn safe_command() -> Command {
    command_of(Action::PageInfo {}, limits::EXECUTE)
}

fn after(mut command: Command, history: impl IntoIterator<Item = (Event, Moment)>) -> Command {
    for (event, now) in history {
        let what = format!("{event:?}");
        let step = command.apply(event, now);
        assert!(matches!(step, Step::Changed { .. }), "{what} changed nothing: {step:?}");
    }
    command
}

fn sent() -> Command {
    after(command(), [(Event::Deliver(holder()), SENT_AT)])
}

fn safe_sent() -> Command {
    after(safe_command(), [(Event::Deliver(holder()), SENT_AT)])
}

/// Sent once, and back in the queue because the link was lost.
fn requeued() -> Command {
    after(sent(), [(Event::LinkClosed, ms(1_500))])
}

fn started() -> Command {
    after(sent(), [(Event::Claim(holder(), FIRST), STARTED_AT)])
}

/// Started, and its browser was lost at 2 s.
fn away() -> Command {
    after(started(), [(Event::LinkClosed, ms(2_000))])
}

fn ended_by(report: ExtensionReport) -> Command {
    after(started(), [(hears(report), ENDED_AT)])
}

fn cancelled_in_the_page() -> Command {
    after(started(), [(Event::Cancel, ENDED_AT)])
}

fn given_up_on() -> Command {
    after(started(), [(Event::Back(holder_reborn(), None), ENDED_AT)])
}

/// One command for each terminal state, ended at [`ENDED_AT`].
fn one_of_each_end() -> [Command; 5] {
    [
        ended_by(complete("1")),
        ended_by(error("no")),
        ended_by(timed_out()),
        given_up_on(),
        ended_by(stopped(true)),
    ]
}

// ── What is said and answered ───────────────────────────────────────────────────────

/// The holder reports of the first attempt.
fn hears(report: ExtensionReport) -> Event {
    Event::Report(holder(), FIRST, report)
}

fn complete(result: &str) -> ExtensionReport {
    let result = RawValue::from_string(result.to_owned()).expect("a JSON text").into();
    ExtensionReport::Complete { result, origin: None }
}

fn failure(message: &str) -> ReportedError {
    ReportedError { code: "script_threw".into(), message: message.into(), stack: None }
}

fn error(message: &str) -> ExtensionReport {
    ExtensionReport::Error { error: failure(message) }
}

fn timed_out() -> ExtensionReport {
    ExtensionReport::Timeout { error: failure("execution exceeded 10 s") }
}

fn stopped(may_have_run: bool) -> ExtensionReport {
    ExtensionReport::Cancelled { may_have_run }
}

fn pending() -> ExtensionReport {
    ExtensionReport::Pending { message: Some("at it".into()), progress: Some(0.5) }
}

fn every_report() -> [ExtensionReport; 5] {
    [pending(), complete("1"), error("no"), timed_out(), stopped(true)]
}

fn moved(from: Phase, to: Phase, reply: Reply) -> Step {
    Step::Changed { from, to, reply, cancel: None }
}

/// A step after which the extension is told to stop.
fn stops(from: Phase, to: Phase, reply: Reply, why: CancelReason) -> Step {
    Step::Changed { from, to, reply, cancel: Some(why) }
}

const STALE: Step = Step::Unchanged(Reply::Nack(NackReason::StaleAttempt));
const OVER: Reply = Reply::Nack(NackReason::AlreadyTerminal);
const IGNORED: Step = Step::Unchanged(Reply::Nothing);

fn ending(command: &Command) -> Option<(&Outcome, Moment)> {
    match command.state() {
        State::Ended { outcome, at, .. } => Some((outcome, *at)),
        State::Queued { .. } | State::Sent { .. } | State::Started { .. } => None,
    }
}

#[track_caller]
fn assert_ended(command: &Command, outcome: &Outcome, at: Moment) {
    assert_eq!(ending(command), Some((outcome, at)));
}

fn expired(reason: Expiry, may_have_run: bool) -> Outcome {
    Outcome::Expired { reason, may_have_run }
}

fn overran() -> Outcome {
    Outcome::overran(limits::EXECUTE)
}

fn outcome_of(report: ExtensionReport) -> Outcome {
    Outcome::reported(report).ok().expect("a last word")
}

fn trace(command: &Command) -> Vec<TraceEntry> {
    command.report(true).trace.expect("asked for")
}

fn marks(command: &Command) -> Vec<TracePhase> {
    trace(command).iter().map(|entry| entry.phase).collect()
}

fn count_marks(command: &Command, phase: TracePhase) -> usize {
    marks(command).into_iter().filter(|mark| *mark == phase).count()
}

/// The state's name as the documentation has it.
fn word(command: &Command) -> &'static str {
    match command.state() {
        State::Queued { .. } => "Queued",
        State::Sent { .. } => "Sent",
        State::Started { .. } => "Started",
        State::Ended { outcome, .. } => match outcome {
            Outcome::Complete { .. } => "Complete",
            Outcome::Error { .. } => "Error",
            Outcome::Timeout { .. } => "Timeout",
            Outcome::Expired { .. } => "Expired",
            Outcome::Cancelled { .. } => "Cancelled",
        },
    }
}

// ── The page ────────────────────────────────────────────────────────────────────────

/// The cells of the first table below a heading, without its head.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let below = PAGE
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no heading {heading}"))
        .1;
    let rows = below.lines().skip_while(|line| !line.starts_with('|'));
    let cells = |line: &'static str| -> Vec<&'static str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    };
    rows.take_while(|line| line.starts_with('|')).skip(2).map(cells).collect()
}

fn words(cell: &'static str) -> BTreeSet<&'static str> {
    cell.split(", ").collect()
}

/// One row of the transitions table. When it is dropped, each of its From and To words
/// must have been seen.
struct Row {
    id: &'static str,
    from: BTreeSet<&'static str>,
    to: BTreeSet<&'static str>,
    guard: &'static str,
    effect: &'static str,
    seen_from: BTreeSet<&'static str>,
    seen_to: BTreeSet<&'static str>,
}

impl Row {
    fn of(id: &'static str) -> Self {
        let row = table("Transitions").into_iter().find(|cells| cells[0] == id);
        let row = row.unwrap_or_else(|| panic!("the page has no row {id}"));
        let [_, from, _event, guard, to, effect] = row[..] else { panic!("row {id}: {row:?}") };
        let (seen_from, seen_to) = (BTreeSet::new(), BTreeSet::new());
        Self { id, from: words(from), to: words(to), guard, effect, seen_from, seen_to }
    }

    /// Lets the row's event happen; the states around it must be the row's.
    #[track_caller]
    fn take(&mut self, command: &mut Command, event: Event, now: Moment) -> Step {
        let (before, was) = (word(command), format!("{:?}", ending(command)));
        let step = command.apply(event, now);
        let unchanged = self.to.contains("unchanged");
        let to = if unchanged { "unchanged" } else { word(command) };
        self.see(before, to);
        if unchanged {
            assert_eq!(format!("{:?}", ending(command)), was, "row {}", self.id);
        }
        step
    }

    #[track_caller]
    fn see(&mut self, from: &'static str, to: &'static str) {
        assert!(self.from.contains(from), "row {}: from {from}, not {:?}", self.id, self.from);
        assert!(self.to.contains(to), "row {}: to {to}, not {:?}", self.id, self.to);
        self.seen_from.insert(from);
        self.seen_to.insert(to);
    }

    /// The page names this word in the row's Effect cell.
    #[track_caller]
    fn names(&self, word: &str) {
        let named = self.effect.contains(&format!("`{word}`"));
        assert!(named, "row {}: `{word}` is not in {:?}", self.id, self.effect);
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.seen_from, self.from, "row {}: from", self.id);
            assert_eq!(self.seen_to, self.to, "row {}: to", self.id);
        }
    }
}

// ── The rows ────────────────────────────────────────────────────────────────────────

#[test]
fn row_3_a_delivery_sends_it_under_the_next_attempt() {
    let mut row = Row::of("3");
    let mut command = command();
    let step = row.take(&mut command, Event::Deliver(holder()), SENT_AT);
    assert_eq!(step, moved(Phase::Queued, Phase::Sent, Reply::Nothing));
    assert_eq!(command.hold(), Some(&Hold { attempt: FIRST, by: holder() }));
    assert_eq!(command.next_deadline(), SENT_AT + limits::RESPOND);
    assert_eq!(RESPOND_BY, SENT_AT + limits::RESPOND);
}

#[test]
fn row_4_a_command_that_nobody_takes_expires_at_total() {
    let mut row = Row::of("4");
    let mut unreachable = command();
    let mut waiting = after(command(), [(Event::Reachable, ms(5))]);
    for (command, reason) in
        [(&mut unreachable, Expiry::NoExtension), (&mut waiting, Expiry::NotDelivered)]
    {
        assert_eq!(command.apply(Event::Tick, just_before(TOTAL_BY)), IGNORED);
        let step = row.take(command, Event::Tick, TOTAL_BY);
        assert_eq!(step, moved(Phase::Queued, Phase::Ended, Reply::Nothing));
        assert_ended(command, &expired(reason, false), TOTAL_BY);
        row.names(reason.code());
    }
}

#[test]
fn row_5_a_claim_of_the_held_attempt_starts_it() {
    let mut row = Row::of("5");
    let mut command = sent();
    assert!(!command.may_go(FIRST));
    let step = row.take(&mut command, Event::Claim(holder(), FIRST), STARTED_AT);
    assert_eq!(step, moved(Phase::Sent, Phase::Started, Reply::Go));
    assert!(command.may_go(FIRST));
    assert!(!command.may_go(SECOND));
    assert_eq!(command.next_deadline(), STARTED_AT + limits::EXECUTE + limits::REPORT_GRACE);
    row.names("go");
}

#[test]
fn row_6_a_safe_command_may_report_without_a_claim() {
    let mut row = Row::of("6");
    assert!(row.guard.contains("`safe`"));
    for report in [complete("1"), error("no"), timed_out()] {
        let mut command = safe_sent();
        let step = row.take(&mut command, hears(report.clone()), ENDED_AT);
        assert_eq!(step, moved(Phase::Sent, Phase::Ended, Reply::Ack));
        assert_ended(&command, &outcome_of(report), ENDED_AT);
    }
}

#[test]
fn row_6a_a_safe_command_starts_when_it_is_first_heard_of() {
    let mut row = Row::of("6a");
    let mut command = safe_sent();
    let step = row.take(&mut command, hears(pending()), STARTED_AT);
    assert_eq!(step, moved(Phase::Sent, Phase::Started, Reply::Nothing));
    assert_eq!(command.next_deadline(), STARTED_AT + limits::EXECUTE + limits::REPORT_GRACE);
    assert_eq!(progress_of(&command), Some((STARTED_AT, Some(0.5))));
}

#[test]
fn row_7_a_lost_link_puts_it_back_and_respond_runs_on() {
    let mut row = Row::of("7");
    assert_eq!(row.guard, format!("attempt < {}", limits::ATTEMPTS));
    let mut command = sent();
    let step = row.take(&mut command, Event::LinkClosed, ms(1_500));
    assert_eq!(step, moved(Phase::Sent, Phase::Queued, Reply::Nothing));
    assert_eq!(command.hold(), None);
    assert_eq!(command.next_deadline(), RESPOND_BY);
}

#[test]
fn row_7a_the_third_lost_link_is_the_last() {
    let mut row = Row::of("7a");
    assert_eq!(row.guard, format!("attempt = {}", limits::ATTEMPTS));
    let mut command = command();
    for attempt in 1..limits::ATTEMPTS {
        let lost = [(Event::Deliver(holder()), SENT_AT), (Event::LinkClosed, SENT_AT)];
        command = after(command, lost);
        assert_eq!(count_marks(&command, TracePhase::Requeued), attempt as usize);
    }
    command = after(command, [(Event::Deliver(holder()), SENT_AT)]);
    let step = row.take(&mut command, Event::LinkClosed, ms(1_500));
    assert_eq!(step, moved(Phase::Sent, Phase::Ended, Reply::Nothing));
    assert_ended(&command, &expired(Expiry::DeliveryFailed, false), ms(1_500));
    row.names("delivery_failed");
    row.names("may_have_run: false");
}

#[test]
fn row_8_an_extension_that_says_nothing_loses_it_at_respond() {
    let mut row = Row::of("8");
    for (mut command, from) in [(sent(), Phase::Sent), (requeued(), Phase::Queued)] {
        assert_eq!(command.apply(Event::Tick, just_before(RESPOND_BY)), IGNORED);
        let step = row.take(&mut command, Event::Tick, RESPOND_BY);
        assert_eq!(step, moved(from, Phase::Ended, Reply::Nothing));
        assert_ended(&command, &expired(Expiry::ExtensionNoResponse, false), RESPOND_BY);
    }
    row.names(Expiry::ExtensionNoResponse.code());
}

#[test]
fn row_9_progress_is_recorded_with_its_time() {
    let mut row = Row::of("9");
    let mut command = started();
    for now in [ms(3_000), ms(3_500)] {
        let step = row.take(&mut command, hears(pending()), now);
        assert_eq!(step, moved(Phase::Started, Phase::Started, Reply::Nothing));
        assert_eq!(progress_of(&command), Some((now, Some(0.5))));
    }
    assert_eq!(command.next_deadline(), EXECUTE_BY);
    assert_eq!(count_marks(&command, TracePhase::FirstPending), 1);
}

#[test]
fn row_10_a_last_word_ends_it() {
    let mut row = Row::of("10");
    for report in [complete("1"), error("no"), timed_out()] {
        let mut command = started();
        let step = row.take(&mut command, hears(report.clone()), ENDED_AT);
        assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Ack));
        assert_ended(&command, &outcome_of(report), ENDED_AT);
    }
    row.names("result_ack");
}

#[test]
fn row_11_a_started_command_waits_for_its_browser() {
    let mut row = Row::of("11");
    let mut command = started();
    let step = row.take(&mut command, Event::LinkClosed, ms(2_000));
    assert_eq!(step, moved(Phase::Started, Phase::Started, Reply::Nothing));
    assert_eq!(command.next_deadline(), ms(2_000) + limits::AWAY);
    assert_eq!(command.apply(Event::Deliver(holder()), ms(2_100)), IGNORED, "sent again");
    assert_eq!(command.apply(Event::LinkClosed, ms(2_200)), IGNORED);
    assert_eq!(command.next_deadline(), ms(2_000) + limits::AWAY, "a second loss starts nothing");
}

#[test]
fn row_11a_the_same_life_that_only_claimed_it_gets_go_again() {
    let mut row = Row::of("11a");
    let mut command = away();
    let back = Event::Back(holder(), Some(InFlightState::Claimed));
    let step = row.take(&mut command, back, ms(3_000));
    assert_eq!(step, moved(Phase::Started, Phase::Started, Reply::Go));
    assert_eq!(command.next_deadline(), EXECUTE_BY, "execute is not started anew");
    row.names("go");
}

#[test]
fn row_12_a_browser_without_a_result_for_it_ends_it() {
    let mut row = Row::of("12");
    let gone = expired(Expiry::ExtensionDisconnected, true);

    let mut command = away();
    assert_eq!(command.apply(Event::Tick, ms(4_999)), IGNORED);
    let step = row.take(&mut command, Event::Tick, ms(9_000));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Nothing));
    assert_ended(&command, &gone, ms(5_000));

    let (claimed, running) = (Some(InFlightState::Claimed), Some(InFlightState::Running));
    let reborn = [None, claimed, running].map(|says| (holder_reborn(), says));
    for (peer, says) in reborn.into_iter().chain([(holder(), None)]) {
        let mut command = away();
        let step = row.take(&mut command, Event::Back(peer, says), ms(3_000));
        assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Nothing), "{says:?}");
        assert_ended(&command, &gone, ms(3_000));
    }
    row.names("extension_disconnected");
    row.names("may_have_run: true");
}

#[test]
fn row_13_a_command_that_runs_too_long_is_timed_out_and_stopped() {
    let mut row = Row::of("13");
    let mut command = started();
    assert_eq!(command.apply(Event::Tick, just_before(EXECUTE_BY)), IGNORED);
    let step = row.take(&mut command, Event::Tick, EXECUTE_BY);
    let why = CancelReason::ExecutionTimeout;
    assert_eq!(step, stops(Phase::Started, Phase::Leaving, Reply::Nothing, why));
    assert_ended(&command, &overran(), EXECUTE_BY);
    assert_eq!(command.next_deadline(), EXECUTE_BY + limits::LANE_HOLD);
    row.names(Outcome::EXECUTION_TIMEOUT);
    row.names("cancel");
}

#[test]
fn row_14_a_command_that_started_late_is_given_up_at_total() {
    let mut row = Row::of("14");
    let late =
        [(Event::Deliver(holder()), ms(24_000)), (Event::Claim(holder(), FIRST), ms(25_000))];
    let mut command = after(command(), late);
    assert_eq!(command.apply(Event::Tick, just_before(TOTAL_BY)), IGNORED);
    let step = row.take(&mut command, Event::Tick, TOTAL_BY);
    let why = CancelReason::CommandExpired;
    assert_eq!(step, stops(Phase::Started, Phase::Leaving, Reply::Nothing, why));
    assert_ended(&command, &expired(Expiry::CommandExpired, true), TOTAL_BY);
    assert_eq!(command.next_deadline(), TOTAL_BY + limits::LANE_HOLD);
    row.names("command_expired");
    row.names("may_have_run: true");
    row.names("cancel");
}

#[test]
fn row_15_a_command_cancelled_before_it_began_never_ran() {
    let mut row = Row::of("15");
    let never_ran = Outcome::Cancelled { may_have_run: false };
    for mut command in [command(), requeued()] {
        let step = row.take(&mut command, Event::Cancel, ENDED_AT);
        assert_eq!(step, moved(Phase::Queued, Phase::Ended, Reply::Nothing));
        assert_ended(&command, &never_ran, ENDED_AT);
    }
    let mut command = sent();
    let step = row.take(&mut command, Event::Cancel, ENDED_AT);
    let why = CancelReason::Cancelled;
    assert_eq!(step, stops(Phase::Sent, Phase::Ended, Reply::Nothing, why));
    assert_ended(&command, &never_ran, ENDED_AT);
    row.names("may_have_run: false");
}

#[test]
fn row_16_a_command_cancelled_in_the_page_is_stopped_and_may_have_run() {
    let mut row = Row::of("16");
    let mut command = started();
    let step = row.take(&mut command, Event::Cancel, ENDED_AT);
    let why = CancelReason::Cancelled;
    assert_eq!(step, stops(Phase::Started, Phase::Leaving, Reply::Nothing, why));
    assert_ended(&command, &Outcome::Cancelled { may_have_run: true }, ENDED_AT);
    assert_eq!(command.next_deadline(), ENDED_AT + limits::LANE_HOLD);
    row.names("may_have_run: true");
    row.names("cancel");
}

#[test]
fn row_16a_a_person_pressed_stop_and_the_extension_says_whether_it_ran() {
    let mut row = Row::of("16a");
    for (state, phase) in
        [(sent(), Phase::Sent), (safe_sent(), Phase::Sent), (started(), Phase::Started)]
    {
        for may_have_run in [false, true] {
            let mut command = state.clone();
            let step = row.take(&mut command, hears(stopped(may_have_run)), ENDED_AT);
            assert_eq!(step, moved(phase, Phase::Ended, Reply::Ack));
            assert_ended(&command, &Outcome::Cancelled { may_have_run }, ENDED_AT);
        }
    }
    row.names("may_have_run");
}

#[test]
fn row_18_the_end_stands_whatever_is_reported_later() {
    let mut row = Row::of("18");
    for mut command in one_of_each_end() {
        for report in every_report() {
            let _ = row.take(&mut command, hears(report), ms(2_500));
        }
        let other = complete("\"another\"");
        let step = row.take(&mut command, hears(other), ms(2_600));
        assert_eq!(step, moved(Phase::Ended, Phase::Ended, OVER));
        assert!(marks(&command).contains(&TracePhase::LateResult));
    }
    let mut command = ended_by(complete("1"));
    let step = row.take(&mut command, hears(complete("1")), ms(2_500));
    assert_eq!(step, moved(Phase::Ended, Phase::Ended, Reply::Ack));
    assert!(!marks(&command).contains(&TracePhase::LateResult));
    row.names("result_ack");
    row.names("nack: already_terminal");
    row.names("late_result");
}

#[test]
fn row_19_every_end_is_kept_for_the_same_time_from_that_end() {
    let mut row = Row::of("19");
    for mut command in [command(), sent(), started()] {
        assert_eq!(command.retain_until(), None);
        let _ = command.apply(Event::Cancel, ENDED_AT);
        assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN));
    }
    for mut command in one_of_each_end() {
        let retain_until = ENDED_AT + limits::RETAIN;
        assert_eq!(command.retain_until(), Some(retain_until));
        assert_eq!(command.next_deadline(), retain_until);
        assert_eq!(command.apply(Event::Tick, retain_until), IGNORED, "its keeper drops it");
        row.see(word(&command), "gone");
    }
}

#[test]
fn row_20_an_unread_result_is_told_from_a_read_one() {
    let mut row = Row::of("20");
    let mut command = ended_by(complete("1"));
    assert!(!is_read(&command));
    row.see(word(&command), "gone");
    let read = command.apply(Event::Read, ms(3_000));
    assert_eq!(read, moved(Phase::Ended, Phase::Ended, Reply::Nothing));
    assert!(is_read(&command));
    assert_eq!(command.apply(Event::Read, ms(4_000)), IGNORED);
    assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN), "reading keeps nothing");
    assert_eq!(count_marks(&command, TracePhase::FirstRead), 1);
    assert_eq!(trace(&command).last().map(|entry| entry.at), Some(ms(3_000)));
    for mut command in [command_of(Action::TabList {}, limits::EXECUTE), sent(), started()] {
        assert_eq!(command.apply(Event::Read, ms(1_200)), IGNORED, "there is nothing to read");
    }
}

#[test]
fn row_21_failures_are_listed_and_results_and_cancelled_ones_are_not() {
    let mut row = Row::of("21");
    let failures = [
        (command(), Event::Tick, LATER, "no_extension"),
        (sent(), Event::Tick, LATER, "extension_no_response"),
        (started(), Event::Tick, LATER, "execution_timeout"),
        (started(), hears(timed_out()), ENDED_AT, "execution_timeout"),
        (started(), hears(error("no")), ENDED_AT, "script_threw"),
        (started(), Event::Back(holder(), None), ENDED_AT, "extension_disconnected"),
    ];
    for (mut command, event, now, error) in failures {
        assert!(command.as_failed().is_none());
        let _ = row.take(&mut command, event, now);
        let failed = command.as_failed().expect("a failure");
        assert_eq!(&*failed.error, error);
        assert_eq!(Some(failed.at), ending(&command).map(|(_, at)| at));
    }
    for command in [ended_by(complete("1")), ended_by(stopped(true)), cancelled_in_the_page()] {
        assert!(command.as_failed().is_none(), "{}", word(&command));
    }
}

fn progress_of(command: &Command) -> Option<(Moment, Option<f64>)> {
    let State::Started { progress: Some(said), .. } = command.state() else { return None };
    Some((said.at, said.progress))
}

fn is_read(command: &Command) -> bool {
    matches!(command.state(), State::Ended { read: true, .. })
}

// ── The page against the code ───────────────────────────────────────────────────────

#[test]
fn every_row_of_the_page_has_its_test_and_every_row_test_its_row() {
    let documented: BTreeSet<_> = table("Transitions").iter().map(|row| row[0]).collect();
    let of_the_hub = BTreeSet::from(ROWS_OF_THE_HUB);
    assert!(of_the_hub.is_subset(&documented));
    let mut tested = BTreeSet::new();
    for test in SELF.split("\n#[test]\nfn row_").skip(1) {
        let id = test.split('_').next().expect("an id");
        let body = test.split("\n}\n").next().expect("a body");
        assert!(body.contains(&format!("Row::of(\"{id}\")")), "row_{id}_ is about its own row");
        tested.insert(id);
    }
    assert_eq!(SELF.matches("\nfn row_").count(), tested.len(), "one test a row");
    assert_eq!(tested, documented.difference(&of_the_hub).copied().collect());
}

#[test]
fn the_states_table_has_every_state_with_the_word_that_clients_see() {
    let nth = |state: usize| one_of_each_end()[state].clone();
    let states = [command(), sent(), started(), nth(0), nth(1), nth(2), nth(3), nth(4)];
    let rows = table("States");
    assert_eq!(rows.len(), states.len());
    for (row, command) in rows.iter().zip(&states) {
        let status = format!("`{}`", shown(command)["status"].as_str().expect("a word"));
        assert_eq!((row[0], row[2]), (word(command), &*status));
    }
}

#[test]
fn the_deadlines_table_has_the_lengths_that_count() {
    let total = command().total_by().since(ACCEPTED_AT);
    let expected = [
        ("respond", limits::RESPOND),
        ("execute", limits::EXECUTE),
        ("report grace", limits::REPORT_GRACE),
        ("total", total),
        ("away", limits::AWAY),
        ("lane hold", limits::LANE_HOLD),
        ("retain", limits::RETAIN),
        ("blocking wait", limits::WAIT_MAX),
    ];
    let rows = table("Deadlines");
    assert_eq!(rows.len(), expected.len());
    for (row, (name, length)) in rows.iter().zip(expected) {
        assert_eq!((row[0], row[1]), (name, &*format!("{} s", length.as_secs())));
    }
    assert!(rows[1][2].contains(&format!("at most {} s", limits::EXECUTE_MAX.as_secs())));
    assert!(rows[3][2].contains(&format!("+ {} s", limits::QUEUE_ALLOWANCE.as_secs())));
}

#[test]
fn the_caps_table_has_every_limit_with_its_default() {
    let Limits {
        queued,
        lanes,
        retained,
        failures,
        tombstones,
        waiters,
        calls_per_minute,
        outbound,
        clients,
        idempotency_keys,
        kept_mib,
    } = Limits::default();
    let defaults = [
        queued,
        lanes,
        retained,
        failures,
        tombstones,
        waiters,
        calls_per_minute,
        outbound,
        clients,
        idempotency_keys,
        kept_mib,
    ];
    let rows = table("Lanes, caps and fairness");
    let documented: Vec<_> =
        rows.iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect();
    let names = Limits::NAMES.map(|name| format!("`{name}`"));
    let expected: Vec<_> = names.into_iter().zip(defaults.map(|cap| cap.to_string())).collect();
    assert_eq!(documented, expected);
    assert!(PAGE.contains(&format!("the client has fewer than {queued} Queued")), "row 1");
    assert!(PAGE.contains(&format!("{queued} are Queued")), "row 2");
    assert!(PAGE.contains(&format!("failures, {failures} of them")), "row 21");
    assert!(PAGE.contains(&format!("at most {lanes}\nlanes side by side")));
}

#[test]
fn the_sentences_that_people_read_name_the_lengths_that_count() {
    let respond = format!("within {}s", limits::RESPOND.as_secs());
    assert!(Expiry::ExtensionNoResponse.message().contains(&respond));
    let attempts = format!("each of {} deliveries", limits::ATTEMPTS);
    assert!(Expiry::DeliveryFailed.message().contains(&attempts));
    let retain = format!("{}s", limits::RETAIN.as_secs());
    assert!(Expiry::ResultExpired.message().contains(&retain));
    assert!(Expiry::ResultExpired.hint().contains(&retain));
}

// ── Whose word counts ───────────────────────────────────────────────────────────────

#[test]
fn a_report_of_another_attempt_or_another_browser_is_stale() {
    for state in [sent(), safe_sent(), started(), requeued(), command()] {
        for (peer, attempt) in [(holder(), SECOND), (holder(), Attempt(0)), (stranger(), FIRST)] {
            for report in every_report() {
                let mut command = state.clone();
                let event = Event::Report(peer.clone(), attempt, report);
                assert_eq!(command.apply(event, ms(1_600)), STALE);
                assert_eq!(format!("{command:?}"), format!("{state:?}"));
            }
        }
    }
}

#[test]
fn an_outbox_replayed_by_a_restarted_worker_counts() {
    let mut command = away();
    let event = Event::Report(holder_reborn(), FIRST, complete("1"));
    let step = command.apply(event, ms(3_000));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Ack));
    assert_ended(&command, &outcome_of(complete("1")), ms(3_000));
}

#[test]
fn a_report_of_a_lost_delivery_is_stale_in_the_queue_and_at_the_next_one() {
    let mut command = requeued();
    assert_eq!(command.apply(hears(complete("1")), ms(1_600)), STALE);
    command = after(command, [(Event::Deliver(holder()), ms(1_700))]);
    assert_eq!(command.apply(hears(complete("1")), ms(1_800)), STALE);
    assert_eq!(command.phase(), Phase::Sent);
}

#[test]
fn a_claim_of_another_attempt_or_another_browser_is_stale() {
    for state in [sent(), started(), requeued(), command()] {
        for (peer, attempt) in [(holder(), SECOND), (stranger(), FIRST)] {
            let mut command = state.clone();
            assert_eq!(command.apply(Event::Claim(peer, attempt), ms(1_600)), STALE);
            assert_eq!(format!("{command:?}"), format!("{state:?}"));
        }
    }
}

#[test]
fn a_claim_after_the_end_is_already_terminal() {
    for mut command in one_of_each_end() {
        for peer in [holder(), stranger()] {
            let step = command.apply(Event::Claim(peer, FIRST), ms(2_500));
            assert_eq!(step, Step::Unchanged(OVER));
        }
    }
}

#[test]
fn a_repeated_claim_gets_go_again_and_does_not_restart_execute() {
    let mut command = started();
    let step = command.apply(Event::Claim(holder(), FIRST), ms(3_000));
    assert_eq!(step, Step::Unchanged(Reply::Go));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
    assert_eq!(count_marks(&command, TracePhase::Claimed), 1);
}

#[test]
fn a_claim_from_another_life_of_the_browser_that_started_it_gets_no_go() {
    let mut command = started();
    assert_eq!(command.apply(Event::Claim(holder_reborn(), FIRST), ms(1_200)), STALE);
    assert_eq!(command.phase(), Phase::Started);
}

#[test]
fn an_unsafe_result_without_a_start_does_not_count() {
    for report in [pending(), complete("1"), error("no"), timed_out()] {
        let mut command = sent();
        assert_eq!(command.apply(hears(report), ms(1_200)), STALE);
        assert_eq!(command.phase(), Phase::Sent);
        assert_eq!(command.next_deadline(), RESPOND_BY, "it must still be claimed");
        let step = command.apply(Event::Claim(holder(), FIRST), ms(1_300));
        assert_eq!(step, moved(Phase::Sent, Phase::Started, Reply::Go));
    }
}

#[test]
fn go_does_not_leave_when_a_cancel_came_in_between() {
    let mut command = started();
    assert!(command.may_go(FIRST));
    let _ = command.apply(Event::Cancel, STARTED_AT);
    assert!(!command.may_go(FIRST));
    for command in [command, sent(), requeued(), ended_by(complete("1"))] {
        assert!(!command.may_go(FIRST), "{}", word(&command));
    }
}

#[test]
fn go_does_not_leave_for_an_earlier_attempt() {
    let begun =
        [(Event::Deliver(holder()), ms(1_600)), (Event::Claim(holder(), SECOND), ms(1_700))];
    let command = after(requeued(), begun);
    assert!(command.may_go(SECOND));
    assert!(!command.may_go(FIRST));
}

#[test]
fn only_the_first_word_of_its_owner_cancels() {
    for mut command in one_of_each_end() {
        assert_eq!(command.apply(Event::Cancel, ms(2_500)), IGNORED);
    }
}

#[test]
fn a_safe_command_that_was_sent_may_have_run_and_one_that_was_not_has_not() {
    let lost = after(safe_sent(), [(Event::LinkClosed, ms(1_500))]);
    for (mut command, may_have_run) in [(safe_command(), false), (safe_sent(), true), (lost, true)]
    {
        let mut forgotten = command.clone();
        let _ = command.apply(Event::Cancel, ms(1_600));
        assert_ended(&command, &Outcome::Cancelled { may_have_run }, ms(1_600));
        let _ = forgotten.apply(Event::Tick, LATER);
        let (outcome, _) = ending(&forgotten).expect("an end");
        assert!(matches!(outcome, Outcome::Expired { may_have_run: m, .. } if *m == may_have_run));
    }
}

// ── Missed deadlines ────────────────────────────────────────────────────────────────

#[test]
fn what_comes_after_respond_loses_against_it_at_its_own_moment() {
    let lost = expired(Expiry::ExtensionNoResponse, false);
    for late_by in [0, 1, 500] {
        let now = RESPOND_BY + Duration::from_millis(late_by);
        for (event, reply) in [
            (Event::Claim(holder(), FIRST), OVER),
            (hears(complete("1")), OVER),
            (hears(pending()), Reply::Nothing),
            (Event::Cancel, Reply::Nothing),
            (Event::LinkClosed, Reply::Nothing),
            (Event::Tick, Reply::Nothing),
        ] {
            let mut command = sent();
            assert_eq!(command.apply(event, now), moved(Phase::Sent, Phase::Ended, reply));
            assert_ended(&command, &lost, RESPOND_BY);
        }
        let mut command = requeued();
        let step = command.apply(Event::Deliver(holder()), now);
        assert_eq!(step, moved(Phase::Queued, Phase::Ended, Reply::Nothing));
        assert_ended(&command, &lost, RESPOND_BY);
    }
}

#[test]
fn what_comes_after_execute_loses_against_it_at_its_own_moment() {
    let why = CancelReason::ExecutionTimeout;
    for (event, to, reply) in [
        (Event::Claim(holder(), FIRST), Phase::Leaving, OVER),
        (hears(complete("1")), Phase::Ended, OVER),
        (hears(pending()), Phase::Leaving, Reply::Nothing),
        (Event::Cancel, Phase::Leaving, Reply::Nothing),
        (Event::LinkClosed, Phase::Leaving, Reply::Nothing),
        (Event::Back(holder_reborn(), None), Phase::Leaving, Reply::Nothing),
        (Event::Read, Phase::Leaving, Reply::Nothing),
    ] {
        let mut command = started();
        let step = command.apply(event, EXECUTE_BY + Duration::from_millis(700));
        assert_eq!(step, stops(Phase::Started, to, reply, why));
        assert_ended(&command, &overran(), EXECUTE_BY);
    }
}

#[test]
fn what_comes_after_away_loses_against_it_at_its_own_moment() {
    let gone = expired(Expiry::ExtensionDisconnected, true);
    for (event, reply) in [
        (Event::Back(holder(), Some(InFlightState::Claimed)), Reply::Nothing),
        (hears(complete("1")), OVER),
        (hears(pending()), Reply::Nothing),
        (Event::Cancel, Reply::Nothing),
    ] {
        let mut command = away();
        assert_eq!(command.apply(event, ms(5_000)), moved(Phase::Started, Phase::Ended, reply));
        assert_ended(&command, &gone, ms(5_000));
    }
}

#[test]
fn what_comes_after_total_loses_against_it_at_its_own_moment() {
    for event in [Event::Deliver(holder()), Event::Reachable, Event::Cancel, Event::LinkClosed] {
        let mut command = command();
        let step = command.apply(event, LATER);
        assert_eq!(step, moved(Phase::Queued, Phase::Ended, Reply::Nothing));
        assert_ended(&command, &expired(Expiry::NoExtension, false), TOTAL_BY);
    }
}

#[test]
fn what_comes_just_before_a_deadline_wins() {
    let mut command = sent();
    let step = command.apply(Event::Claim(holder(), FIRST), just_before(RESPOND_BY));
    assert_eq!(step, moved(Phase::Sent, Phase::Started, Reply::Go));
    let mut command = started();
    let step = command.apply(hears(complete("1")), just_before(EXECUTE_BY));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Ack));
}

#[test]
fn a_very_late_timer_takes_every_deadline_in_turn_and_still_stops_the_page() {
    let mut command = started();
    let step = command.apply(Event::Tick, LATER);
    let why = CancelReason::ExecutionTimeout;
    assert_eq!(step, stops(Phase::Started, Phase::Ended, Reply::Nothing, why));
    assert_ended(&command, &overran(), EXECUTE_BY);
    assert_eq!(command.next_deadline(), EXECUTE_BY + limits::RETAIN);
    assert_eq!(command.apply(Event::Tick, LATER), IGNORED);
}

#[test]
fn of_two_missed_deadlines_the_earlier_one_counts() {
    let mut command = after(started(), [(Event::LinkClosed, ms(10_000))]);
    let step = command.apply(Event::Tick, LATER);
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Nothing));
    assert_ended(&command, &expired(Expiry::ExtensionDisconnected, true), ms(13_000));

    let mut command = after(started(), [(Event::LinkClosed, ms(11_000))]);
    let _ = command.apply(Event::Tick, LATER);
    assert_ended(&command, &overran(), EXECUTE_BY);
}

// ── Total caps everything ───────────────────────────────────────────────────────────

#[test]
fn a_delivery_near_total_gets_no_more_time_than_total() {
    let mut command = after(command(), [(Event::Deliver(holder()), ms(29_000))]);
    assert_eq!(command.next_deadline(), TOTAL_BY);
    let _ = command.apply(Event::Tick, LATER);
    assert_eq!(ending(&command).map(|(_, at)| at), Some(TOTAL_BY));
    assert_eq!(word(&command), "Expired");
}

#[test]
fn a_command_that_came_back_near_total_is_not_delivered_in_time() {
    let lost = [(Event::Deliver(holder()), ms(28_000)), (Event::LinkClosed, ms(29_000))];
    let mut command = after(command(), lost);
    assert_eq!(command.next_deadline(), TOTAL_BY);
    let _ = command.apply(Event::Tick, LATER);
    assert_ended(&command, &expired(Expiry::NotDelivered, false), TOTAL_BY);
}

#[test]
fn neither_away_nor_execute_reach_beyond_total() {
    let late = [
        (Event::Deliver(holder()), ms(27_000)),
        (Event::Claim(holder(), FIRST), ms(28_000)),
        (Event::LinkClosed, ms(29_000)),
    ];
    let mut command = after(command(), late);
    assert_eq!(command.next_deadline(), TOTAL_BY);
    let _ = command.apply(Event::Tick, LATER);
    assert_ended(&command, &expired(Expiry::CommandExpired, true), TOTAL_BY);
}

#[test]
fn a_longer_timeout_makes_execute_and_total_longer() {
    let script = Action::ExecuteJs { script: "1".into() };
    let long = command_of(script, limits::EXECUTE_MAX);
    assert_eq!(long.total_by(), ms(320_000));
    let begun = [(Event::Deliver(holder()), SENT_AT), (Event::Claim(holder(), FIRST), STARTED_AT)];
    let long = after(long, begun);
    assert_eq!(long.next_deadline(), ms(303_100));
}

// ── Late reports ────────────────────────────────────────────────────────────────────

#[test]
fn the_same_report_again_is_acknowledged_and_frees_the_lane() {
    let mut command = cancelled_in_the_page();
    assert_eq!(command.phase(), Phase::Leaving);
    let step = command.apply(hears(stopped(true)), ms(2_100));
    assert_eq!(step, moved(Phase::Leaving, Phase::Ended, Reply::Ack));
    assert_ended(&command, &outcome_of(stopped(true)), ENDED_AT);
    assert_eq!(count_marks(&command, TracePhase::LateResult), 0);
}

#[test]
fn another_report_is_refused_and_shown_as_late_and_frees_the_lane() {
    let mut command = cancelled_in_the_page();
    let step = command.apply(hears(complete("1")), ms(2_100));
    assert_eq!(step, moved(Phase::Leaving, Phase::Ended, OVER));
    assert_ended(&command, &outcome_of(stopped(true)), ENDED_AT);
    let late = trace(&command).pop().expect("an entry");
    assert_eq!(
        (late.phase, late.at, late.attempt),
        (TracePhase::LateResult, ms(2_100), Some(FIRST))
    );
}

#[test]
fn a_late_report_from_anybody_else_does_not_free_the_lane() {
    for (peer, attempt) in [(stranger(), FIRST), (holder(), SECOND)] {
        let mut command = cancelled_in_the_page();
        let same = Event::Report(peer, attempt, stopped(true));
        assert_eq!(command.apply(same, ms(2_100)), moved(Phase::Leaving, Phase::Leaving, OVER));
    }
}

#[test]
fn a_late_pending_neither_frees_the_lane_nor_is_it_kept() {
    let mut command = cancelled_in_the_page();
    assert_eq!(command.apply(hears(pending()), ms(2_100)), IGNORED);
    assert_eq!(command.phase(), Phase::Leaving);
    assert_eq!(count_marks(&command, TracePhase::LateResult), 0);
}

#[test]
fn the_lane_is_free_when_its_hold_is_over() {
    let mut command = cancelled_in_the_page();
    let free_at = ENDED_AT + limits::LANE_HOLD;
    assert_eq!(command.apply(Event::Tick, just_before(free_at)), IGNORED);
    assert!(command.phase().holds_lane() && command.phase().is_terminal());
    let step = command.apply(Event::Tick, free_at);
    assert_eq!(step, moved(Phase::Leaving, Phase::Ended, Reply::Nothing));
    assert!(!command.phase().holds_lane());
}

#[test]
fn late_reports_leave_the_result_as_it_is_byte_for_byte() {
    let odd = r#"{ "b":1,  "a" : 12345678901234567890.5, "a\u0301":"\u00e9" }"#;
    let mut command = ended_by(complete(odd));
    assert_eq!(command.apply(hears(complete(odd)), ms(2_100)), moved_on(Reply::Ack));
    let respaced = odd.replace(' ', "");
    assert_eq!(command.apply(hears(complete(&respaced)), ms(2_200)), moved_on(OVER));
    let elsewhere = match complete(odd) {
        ExtensionReport::Complete { result, .. } => {
            ExtensionReport::Complete { result, origin: Some("http://other".into()) }
        }
        other @ (ExtensionReport::Pending { .. }
        | ExtensionReport::Error { .. }
        | ExtensionReport::Timeout { .. }
        | ExtensionReport::Cancelled { .. }) => other,
    };
    assert_eq!(command.apply(hears(elsewhere), ms(2_300)), moved_on(OVER));
    let shown = serde_json::to_string(&command.report(false)).expect("JSON");
    assert!(shown.contains(odd), "{shown}");
}

fn moved_on(reply: Reply) -> Step {
    moved(Phase::Ended, Phase::Ended, reply)
}

#[test]
fn a_failure_is_the_same_only_if_all_of_it_is() {
    let mut failed = ended_by(error("no"));
    assert_eq!(failed.apply(hears(error("no")), ms(2_100)), moved_on(Reply::Ack));
    assert_eq!(failed.apply(hears(error("yes")), ms(2_100)), moved_on(OVER));
    let as_timeout = ExtensionReport::Timeout { error: failure("no") };
    assert_eq!(failed.apply(hears(as_timeout), ms(2_100)), moved_on(OVER));
    let mut stopped_early = ended_by(stopped(false));
    assert_eq!(stopped_early.apply(hears(stopped(true)), ms(2_100)), moved_on(OVER));
    assert_eq!(stopped_early.apply(hears(stopped(false)), ms(2_100)), moved_on(Reply::Ack));
}

#[test]
fn the_trace_keeps_only_so_many_late_reports() {
    let mut command = ended_by(complete("0"));
    for n in 1..=3 * LATE_MARKS {
        let step = command.apply(hears(complete(&n.to_string())), ms(2_500));
        assert_eq!(step, moved(Phase::Ended, Phase::Ended, OVER));
    }
    assert_eq!(count_marks(&command, TracePhase::LateResult), LATE_MARKS);
}

// ── Lost links ──────────────────────────────────────────────────────────────────────

#[test]
fn redelivery_keeps_the_ids_counts_attempts_and_starts_respond_anew() {
    let command = requeued();
    let ids = |command: &Command| (command.facts().id.clone(), command.facts().query_id.clone());
    let before = ids(&command);
    assert_eq!(command.next_deadline(), RESPOND_BY, "respond runs on in the queue");
    let again = after(command, [(Event::Deliver(stranger()), ms(3_500))]);
    assert_eq!(ids(&again), before);
    assert_eq!(again.hold(), Some(&Hold { attempt: SECOND, by: stranger() }));
    assert_eq!(again.next_deadline(), ms(3_500) + limits::RESPOND, "a delivery starts it anew");
    let mut again = again;
    assert_eq!(again.apply(Event::Claim(holder(), FIRST), ms(3_600)), STALE);
    let step = again.apply(Event::Claim(stranger(), SECOND), ms(3_600));
    assert_eq!(step, moved(Phase::Sent, Phase::Started, Reply::Go));
}

#[test]
fn back_with_a_result_in_its_outbox_waits_for_the_replay() {
    for peer in [holder(), holder_reborn()] {
        let mut command = away();
        let back = Event::Back(peer.clone(), Some(InFlightState::Done));
        let step = command.apply(back, ms(3_000));
        assert_eq!(step, moved(Phase::Started, Phase::Started, Reply::Nothing));
        assert_eq!(command.next_deadline(), EXECUTE_BY, "it is not away any more");
        let replay = Event::Report(peer, FIRST, complete("1"));
        assert_eq!(
            command.apply(replay, ms(6_000)),
            moved(Phase::Started, Phase::Ended, Reply::Ack)
        );
    }
}

#[test]
fn back_and_still_running_goes_on_without_a_second_go() {
    let mut command = away();
    let back = Event::Back(holder(), Some(InFlightState::Running));
    let step = command.apply(back, ms(3_000));
    assert_eq!(step, moved(Phase::Started, Phase::Started, Reply::Nothing));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
    command = after(command, [(Event::LinkClosed, ms(4_000))]);
    assert_eq!(command.next_deadline(), ms(4_000) + limits::AWAY, "away starts at each loss");
}

#[test]
fn back_with_a_new_life_and_nothing_to_say_ends_it_even_if_the_loss_was_not_seen() {
    let mut command = started();
    let step = command.apply(Event::Back(holder_reborn(), None), ms(2_000));
    assert_eq!(step, moved(Phase::Started, Phase::Ended, Reply::Nothing));
    assert_ended(&command, &expired(Expiry::ExtensionDisconnected, true), ms(2_000));
}

#[test]
fn back_means_nothing_to_a_command_that_has_not_started_or_is_over() {
    for mut command in [command(), sent(), requeued(), ended_by(complete("1"))] {
        assert_eq!(command.apply(Event::Back(holder_reborn(), None), ms(2_500)), IGNORED);
    }
}

#[test]
fn a_pending_from_a_browser_that_was_away_shows_that_it_is_back() {
    let mut command = away();
    let _ = command.apply(hears(pending()), ms(3_000));
    assert_eq!(command.next_deadline(), EXECUTE_BY);
}

#[test]
fn a_lost_link_means_nothing_to_a_command_that_nobody_has() {
    for mut command in [command(), requeued(), ended_by(complete("1"))] {
        assert_eq!(command.apply(Event::LinkClosed, ms(2_500)), IGNORED);
    }
}

#[test]
fn its_browser_is_reached_once() {
    let mut command = command();
    let step = command.apply(Event::Reachable, ms(5));
    assert_eq!(step, moved(Phase::Queued, Phase::Queued, Reply::Nothing));
    for mut command in [command, sent(), requeued(), started(), ended_by(complete("1"))] {
        assert_eq!(command.apply(Event::Reachable, ms(2_500)), IGNORED);
    }
}

// ── What is shown ───────────────────────────────────────────────────────────────────

#[test]
fn progress_out_of_range_is_clamped() {
    for (said, shown) in [(-0.5, 0.0), (0.25, 0.25), (1.5, 1.0), (1e300, 1.0)] {
        let report = ExtensionReport::Pending { message: None, progress: Some(said) };
        let command = after(started(), [(hears(report), ms(3_000))]);
        assert_eq!(progress_of(&command), Some((ms(3_000), Some(shown))));
    }
    let silent = ExtensionReport::Pending { message: None, progress: None };
    let command = after(started(), [(hears(silent), ms(3_000))]);
    assert_eq!(progress_of(&command), Some((ms(3_000), None)));
}

#[test]
fn a_command_is_listed_as_pending_until_it_ends_and_as_finished_if_it_has_a_result() {
    for command in [command(), sent(), requeued(), started(), away()] {
        let listed = command.as_pending().expect("pending");
        assert_eq!((listed.created_at, listed.command), (ACCEPTED_AT, "execute_js"));
        assert!(command.as_finished().is_none());
        assert!(command.running_time().is_none());
    }
    for command in one_of_each_end() {
        assert!(command.as_pending().is_none());
        let has_result = word(&command) == "Complete";
        assert_eq!(command.as_finished().is_some(), has_result);
        let took = has_result.then(|| ENDED_AT.since(STARTED_AT));
        assert_eq!(command.running_time(), took);
    }
}

fn shown(command: &Command) -> serde_json::Value {
    serde_json::to_value(command.report(false)).expect("JSON")
}

#[test]
fn a_result_is_shown_as_untrusted_and_with_its_times() {
    let shown = shown(&ended_by(complete("{\"value\":1}")));
    assert_eq!(shown["result"], serde_json::json!({ "value": 1 }));
    assert_eq!(shown["untrusted"], true);
    assert_eq!(shown["created_at"], ACCEPTED_AT.to_string());
    assert_eq!(shown["completed_at"], ENDED_AT.to_string());
    assert_eq!(shown["duration_ms"], 2_000.0);
    assert!(shown.get("trace").is_none(), "nobody asked for it");
}

#[test]
fn a_pending_command_is_shown_with_its_latest_delivery_and_progress() {
    let begun = [
        (Event::Deliver(holder()), ms(1_600)),
        (Event::Claim(holder(), SECOND), ms(1_700)),
        (Event::Report(holder(), SECOND, pending()), ms(3_700)),
    ];
    let shown = shown(&after(requeued(), begun));
    assert_eq!(shown["delivered_at"], ms(1_600).to_string());
    assert_eq!(shown["started_at"], ms(1_700).to_string());
    assert_eq!(shown["progress"]["message"], "at it");
    assert_eq!(shown["progress"]["at"], ms(3_700).to_string());
}

#[test]
fn a_failure_is_shown_with_its_reason_and_whether_it_may_have_run() {
    let failed = shown(&ended_by(error("no")));
    assert_eq!((&failed["error"], &failed["reason"]), (&"no".into(), &"script_threw".into()));
    assert_eq!(shown(&ended_by(timed_out()))["may_have_run"], true);
    let expired = shown(&given_up_on());
    assert_eq!(expired["reason"], Expiry::ExtensionDisconnected.code());
    assert_eq!(expired["hint"], Expiry::ExtensionDisconnected.hint());
    assert_eq!(expired["may_have_run"], true);
    assert_eq!(shown(&ended_by(stopped(false)))["may_have_run"], false);
    assert_eq!(shown(&cancelled_in_the_page())["may_have_run"], true);
}

#[test]
fn the_trace_tells_a_whole_life_in_the_order_in_which_it_happened() {
    let life = [
        (Event::Deliver(holder()), ms(10)),
        (Event::LinkClosed, ms(20)),
        (Event::Deliver(holder()), ms(30)),
        (Event::Claim(holder(), SECOND), ms(40)),
        (Event::Report(holder(), SECOND, pending()), ms(50)),
        (Event::Report(holder(), SECOND, pending()), ms(60)),
        (Event::Report(holder(), SECOND, complete("1")), ms(70)),
        (Event::Report(holder(), SECOND, complete("2")), ms(80)),
        (Event::Read, ms(90)),
    ];
    let shown: Vec<_> = trace(&after(command(), life))
        .iter()
        .map(|entry| (entry.phase, entry.after_ms.as_millis(), entry.attempt.map_or(0, |a| a.0)))
        .collect();
    use TracePhase::*;
    let expected = [
        (Queued, 0, 0),
        (Delivered, 10, 1),
        (Requeued, 20, 1),
        (Delivered, 30, 2),
        (Claimed, 40, 2),
        (Started, 40, 2),
        (FirstPending, 50, 2),
        (Done, 70, 2),
        (LateResult, 80, 2),
        (FirstRead, 90, 0),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_end_stands_in_the_trace_at_its_deadline_and_not_when_the_timer_came() {
    let mut command = started();
    let _ = command.apply(hears(complete("1")), LATER);
    let entries: Vec<_> = trace(&command).iter().rev().take(2).map(|e| (e.phase, e.at)).collect();
    assert_eq!(entries, [(TracePhase::LateResult, LATER), (TracePhase::Done, EXECUTE_BY)]);
}

// ── Any order of events ─────────────────────────────────────────────────────────────

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
        match command.hold() {
            Some(hold) if self.roll(4) > 0 => (hold.by.clone(), hold.attempt),
            Some(_) | None => (
                self.pick([holder(), holder_reborn(), stranger()]),
                self.pick([0, 1, 2, 3, 4].map(Attempt)),
            ),
        }
    }

    fn event(&mut self, command: &Command) -> Event {
        use InFlightState::{Claimed, Done, Running};
        let (peer, attempt) = self.sender(command);
        match self.roll(13) {
            0 => Event::Reachable,
            1 | 2 => Event::Deliver(peer),
            3 | 4 => Event::Claim(peer, attempt),
            5 => Event::Report(peer, attempt, pending()),
            6 => Event::Report(peer, attempt, self.pick(every_report())),
            7 | 12 => Event::LinkClosed,
            8 => Event::Back(peer, self.pick([None, Some(Claimed), Some(Running), Some(Done)])),
            9 if self.roll(4) == 0 => Event::Cancel,
            10 => Event::Read,
            _ => Event::Tick,
        }
    }

    /// The next moment: the same, soon, late, or close to a deadline; in a hurry, soon.
    fn moment(&mut self, command: &Command, now: Moment, hurry: bool) -> Moment {
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
fn check_step(before: &Command, now: Moment, step: &Step, after: &Command, what: &str) {
    match step {
        Step::Unchanged(_) => assert_eq!(format!("{before:?}"), format!("{after:?}"), "{what}"),
        Step::Changed { from, to, cancel, .. } => {
            assert_eq!((*from, *to), (before.phase(), after.phase()), "{what}");
            let ends = !from.is_terminal() && to.is_terminal();
            assert!(cancel.is_none() || ends && *from != Phase::Queued, "{what}: {step:?}");
        }
    }
    if matches!(step, Step::Unchanged(Reply::Go) | Step::Changed { reply: Reply::Go, .. }) {
        assert!(after.hold().is_some_and(|hold| after.may_go(hold.attempt)), "{what}");
    }
    assert!(after.phase() == Phase::Ended || after.next_deadline() > now, "{what}: overdue");
    assert!(after.phase().is_terminal() || now < after.total_by(), "{what}: alive past total");
    let begun = |command: &Command| count_marks(command, TracePhase::Started) > 0;
    if begun(before) {
        assert!(after.phase() == Phase::Started || after.phase().is_terminal(), "{what}: again");
    }
    if let Some((outcome, at)) = ending(before) {
        assert_eq!(ending(after), Some((outcome, at)), "{what}: two ends");
        assert_eq!(before.hold(), after.hold(), "{what}");
    }
}

/// What must hold at every look at one command.
fn check_state(command: &Command, what: &str) {
    let trace = trace(command);
    assert!(trace.is_sorted_by_key(|entry| entry.at), "{what}: {trace:?}");
    let deliveries = count_marks(command, TracePhase::Delivered);
    assert!(deliveries <= limits::ATTEMPTS as usize, "{what}: {deliveries} deliveries");
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
        Outcome::Complete { .. } | Outcome::Error { .. } | Outcome::Timeout { .. } => {
            assert!(
                begun || command.facts().action.is_safe(),
                "{what}: {outcome:?} without a start"
            );
        }
        Outcome::Expired { may_have_run, .. } => {
            let possibly = if command.facts().action.is_safe() { deliveries > 0 } else { begun };
            assert_eq!(*may_have_run, possibly, "{what}: {outcome:?}");
        }
        // The extension may know better than we do.
        Outcome::Cancelled { .. } => {}
    }
}

/// Walks one command through random events until its retention is over, and notes
/// where it came by.
fn walk(seed: u64, seen: &mut BTreeSet<&'static str>) {
    let mut dice = Dice(seed);
    let mut command = dice.pick([command(), safe_command()]);
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
        if let Some((Outcome::Expired { reason, .. }, _)) = ending(&command) {
            seen.insert(reason.code());
        }
        if command.retain_until().is_some_and(|until| until <= now) {
            return;
        }
    }
    now = now.max(command.total_by());
    let before = command.clone();
    let step = command.apply(Event::Tick, now);
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
        Expiry::NoExtension,
        Expiry::NotDelivered,
        Expiry::DeliveryFailed,
        Expiry::ExtensionNoResponse,
        Expiry::ExtensionDisconnected,
        Expiry::CommandExpired,
    ];
    let expected: BTreeSet<_> = states.chain(reasons.map(Expiry::code)).collect();
    assert_eq!(seen, expected);
}
