//! One command, event by event. Time is virtual: every moment is an argument.
//!
//! `rows` holds the transitions table of `docs/lifecycle.md`, row by row, and `page` the
//! rest of that page; the others hold the awkward cases between the rows.

mod any_order;
mod deadlines;
mod fences;
mod late;
mod links;
mod page;
mod polled;
mod restart;
mod rows;
mod shown;
mod undertaken;

use super::transitions::LATE_MARKS;
use super::*;
use crate::protocol::{
    Action, CancelReason, CommandStatus, ExtensionReport, InFlightState, NackReason, ReportedError,
    TraceEntry,
};

const ACCEPTED_AT: Timestamp = ms(0);
const SENT_AT: Timestamp = ms(1_000);
const STARTED_AT: Timestamp = ms(1_100);
const ENDED_AT: Timestamp = ms(2_000);
const RESPOND_BY: Timestamp = ms(4_000);
const EXECUTE_BY: Timestamp = ms(13_100);
const TOTAL_BY: Timestamp = ms(30_000);
const LATER: Timestamp = ms(40_000);

const FIRST: Attempt = Attempt(1);
const SECOND: Attempt = Attempt(2);

/// A moment, in milliseconds after the command was accepted.
const fn ms(after: u64) -> Timestamp {
    Timestamp::from_unix_micros(1_795_298_985_000_000 + after * 1_000)
}

/// The last moment before this one.
fn just_before(moment: Timestamp) -> Timestamp {
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

fn command_of(work: impl Into<Work>, timeout: Duration) -> Command {
    let work = work.into();
    Command::new(Facts {
        id: "exec_1".into(),
        query_id: "q_1".into(),
        owner: "user".into(),
        client: "ann".into(),
        params: work.params(),
        work,
        timeout,
        created: ACCEPTED_AT,
    })
}

/// A command that changes the page.
fn command() -> Command {
    command_of(
        Action::ExecuteJs { script: "document.title".into(), user_gesture: None },
        limits::EXECUTE,
    )
}

/// A command that only looks.
fn safe_command() -> Command {
    command_of(Action::PageInfo {}, limits::EXECUTE)
}

fn after(mut command: Command, history: impl IntoIterator<Item = (Event, Timestamp)>) -> Command {
    for (event, now) in history {
        let what = format!("{event:?}");
        let step = command.apply(event, now);
        assert!(matches!(step, Step::Changed { .. }), "{what} changed nothing: {step:?}");
    }
    command
}

fn sent() -> Command {
    after(command(), [(Event::Deliver(holder(), Transport::WebSocket), SENT_AT)])
}

fn safe_sent() -> Command {
    after(safe_command(), [(Event::Deliver(holder(), Transport::WebSocket), SENT_AT)])
}

/// Sent once, and back in the queue because the link was lost.
fn requeued() -> Command {
    after(sent(), [(Event::LinkClosed, ms(1_500))])
}

/// Its start is being recorded.
fn claimed() -> Command {
    after(sent(), [(Event::Claim(holder(), FIRST), STARTED_AT)])
}

/// `go` has left.
fn started() -> Command {
    after(claimed(), [(Event::Go(FIRST), STARTED_AT)])
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

/// What is recorded of a command: not that it was sent, and not what it is at.
fn saved(command: &Command) -> Saved {
    let stage = match command.state().clone() {
        State::Queued { .. } | State::Sent { .. } | State::Waiting => Stage::Accepted,
        State::Working { .. } => Stage::Working { at: command.started_at() },
        State::Started { hold, .. } => Stage::Started {
            hold,
            at: command.reached(TracePhase::Started).expect("it has started"),
        },
        State::Ended { at, outcome, hold, read, .. } => Stage::Ended { at, outcome, hold, read },
    };
    Saved { facts: command.facts().clone(), stage, trace: command.marks().to_vec() }
}

/// The command in the next life of the daemon, on a machine that has gone on.
fn restored(command: &Command, now: Timestamp) -> Command {
    Command::restore(saved(command), true, now)
}

/// The command after a restart of the machine.
fn rebooted(command: &Command, now: Timestamp) -> Command {
    Command::restore(saved(command), false, now)
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
    ReportedError::new("script_threw", message)
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

fn ending(command: &Command) -> Option<(&Outcome, Timestamp)> {
    match command.state() {
        State::Ended { outcome, at, .. } => Some((outcome, *at)),
        State::Queued { .. }
        | State::Sent { .. }
        | State::Started { .. }
        | State::Waiting
        | State::Working { .. } => None,
    }
}

#[track_caller]
fn assert_ended(command: &Command, outcome: &Outcome, at: Timestamp) {
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
        State::Waiting => "Waiting",
        State::Working { .. } => "Working",
        State::Ended { outcome, .. } => match outcome {
            Outcome::Complete { .. } => "Complete",
            Outcome::Error { .. } => "Error",
            Outcome::Timeout { .. } => "Timeout",
            Outcome::Expired { .. } => "Expired",
            Outcome::Cancelled { .. } => "Cancelled",
        },
    }
}

fn progress_of(command: &Command) -> Option<(Timestamp, Option<f64>)> {
    let State::Started { progress: Some(said), .. } = command.state() else { return None };
    Some((said.at, said.progress))
}

fn is_read(command: &Command) -> bool {
    matches!(command.state(), State::Ended { read: true, .. })
}

/// The command as its owner sees it.
fn shown(command: &Command) -> serde_json::Value {
    serde_json::to_value(command.report(false)).expect("JSON")
}
