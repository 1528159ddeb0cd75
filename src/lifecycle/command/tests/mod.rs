//! One command, event by event. Time is virtual: every moment is an argument.
//!
//! `rows` holds the transitions table of `docs/lifecycle.md`, row by row, and `page` the
//! rest of that page; the others hold the awkward cases between the rows.

mod any_order;
mod deadlines;
mod fences;
mod holding;
mod host_tasks;
mod late;
mod links;
mod page;
mod polled;
mod restart;
mod rows;
mod shown;
mod sleep;

use super::transitions::LATE_MARKS;
use super::*;
use crate::protocol::actions::{ExecuteJsAction, PageInfoAction};
use crate::protocol::{
    Action, CancelReason, CommandStatus, ExtensionReport, InFlightState, NackReason, ReportedError,
    TabScope, TraceEntry,
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

fn command_of(work: impl Into<CommandWork>, timeout: Duration) -> Command {
    let work = work.into();
    Command::new(CommandSpec {
        is_private: false,
        id: "exec_1".into(),
        query_id: "q_1".into(),
        owner: "user".into(),
        client: "ann".into(),
        params: work.params(),
        work,
        timeout,
        holds_dialogs: false,
        scope: TabScope::All,
        trace_context: None,
        created: ACCEPTED_AT,
        asleep: Some(Duration::ZERO),
    })
}

/// A command that changes the page.
fn command() -> Command {
    command_of(
        Action::ExecuteJs(ExecuteJsAction { script: "document.title".into(), user_gesture: None }),
        limits::EXECUTE,
    )
}

/// A command that only looks.
fn safe_command() -> Command {
    command_of(Action::PageInfo(PageInfoAction {}), limits::EXECUTE)
}

fn after(
    mut command: Command,
    history: impl IntoIterator<Item = (LifecycleEvent, Timestamp)>,
) -> Command {
    for (event, now) in history {
        let what = format!("{event:?}");
        let step = command.apply(event, now);
        assert!(matches!(step, Transition::Changed { .. }), "{what} changed nothing: {step:?}");
    }
    command
}

fn sent() -> Command {
    after(command(), [(LifecycleEvent::Deliver(holder(), Transport::WebSocket), SENT_AT)])
}

fn safe_sent() -> Command {
    after(safe_command(), [(LifecycleEvent::Deliver(holder(), Transport::WebSocket), SENT_AT)])
}

/// Sent once, and back in the queue because the link was lost.
fn requeued() -> Command {
    after(sent(), [(LifecycleEvent::LinkClosed, ms(1_500))])
}

/// Its start is being recorded.
fn claimed() -> Command {
    after(sent(), [(LifecycleEvent::Claim(holder(), FIRST), STARTED_AT)])
}

/// `go` has left.
fn started() -> Command {
    after(claimed(), [(LifecycleEvent::Go(FIRST), STARTED_AT)])
}

/// Started, and its browser was lost at 2 s.
fn away() -> Command {
    after(started(), [(LifecycleEvent::LinkClosed, ms(2_000))])
}

fn ended_by(report: ExtensionReport) -> Command {
    after(started(), [(hears(report), ENDED_AT)])
}

fn cancelled_in_the_page() -> Command {
    after(started(), [(LifecycleEvent::Cancel, ENDED_AT)])
}

fn given_up_on() -> Command {
    after(started(), [(LifecycleEvent::Reconnected(holder_reborn(), None), ENDED_AT)])
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
fn saved(command: &Command) -> SavedCommand {
    let stage = match command.state().clone() {
        CommandState::Queued { .. } | CommandState::Sent { .. } if command.holds().times > 0 => {
            let at = command.reached(TracePhase::Requeued).expect("it is in the queue again");
            SavedStage::Released { at }
        }
        CommandState::Queued { .. } | CommandState::Sent { .. } | CommandState::Waiting => {
            SavedStage::Accepted
        }
        CommandState::Held { hold, .. } => SavedStage::Held(*hold),
        CommandState::Working { .. } => SavedStage::Working { at: command.started_at() },
        CommandState::Started { delivery, .. } => SavedStage::Started {
            delivery,
            at: command.reached(TracePhase::Started).expect("it has started"),
        },
        CommandState::Ended { at, outcome, delivery, read, .. } => {
            SavedStage::Ended { at, outcome, delivery, read }
        }
    };
    let (spec, holds) = (command.spec().clone(), command.holds().clone());
    SavedCommand { spec, stage, trace: command.marks().to_vec(), holds }
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
fn hears(report: ExtensionReport) -> LifecycleEvent {
    LifecycleEvent::Report(holder(), FIRST, report)
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
    ExtensionReport::Pending { message: Some("at it".into()), progress: Some(0.5), dialog: None }
}

fn every_report() -> [ExtensionReport; 5] {
    [pending(), complete("1"), error("no"), timed_out(), stopped(true)]
}

fn moved(from: CommandPhase, to: CommandPhase, reply: EventReply) -> Transition {
    Transition::Changed { from, to, reply, cancel: None }
}

/// A step after which the extension is told to stop.
fn stops(from: CommandPhase, to: CommandPhase, reply: EventReply, why: CancelReason) -> Transition {
    Transition::Changed { from, to, reply, cancel: Some(why) }
}

const STALE: Transition = Transition::Unchanged(EventReply::Nack(NackReason::StaleAttempt));
const OVER: EventReply = EventReply::Nack(NackReason::AlreadyTerminal);
const IGNORED: Transition = Transition::Unchanged(EventReply::Nothing);

fn ending(command: &Command) -> Option<(&CommandOutcome, Timestamp)> {
    match command.state() {
        CommandState::Ended { outcome, at, .. } => Some((outcome, *at)),
        CommandState::Queued { .. }
        | CommandState::Sent { .. }
        | CommandState::Held { .. }
        | CommandState::Started { .. }
        | CommandState::Waiting
        | CommandState::Working { .. } => None,
    }
}

#[track_caller]
fn assert_ended(command: &Command, outcome: &CommandOutcome, at: Timestamp) {
    assert_eq!(ending(command), Some((outcome, at)));
}

fn expired(reason: ExpiryReason, may_have_run: bool) -> CommandOutcome {
    CommandOutcome::Expired { reason, may_have_run }
}

fn overran() -> CommandOutcome {
    CommandOutcome::overran(limits::EXECUTE)
}

fn outcome_of(report: ExtensionReport) -> CommandOutcome {
    CommandOutcome::reported(report).ok().expect("a last word")
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
        CommandState::Queued { .. } => "Queued",
        CommandState::Sent { .. } => "Sent",
        CommandState::Held { .. } => "Held",
        CommandState::Started { .. } => "Started",
        CommandState::Waiting => "Waiting",
        CommandState::Working { .. } => "Working",
        CommandState::Ended { outcome, .. } => match outcome {
            CommandOutcome::Complete { .. } => "Complete",
            CommandOutcome::Error { .. } => "Error",
            CommandOutcome::Timeout { .. } => "Timeout",
            CommandOutcome::Expired { .. } => "Expired",
            CommandOutcome::Cancelled { .. } => "Cancelled",
        },
    }
}

fn progress_of(command: &Command) -> Option<(Timestamp, Option<f64>)> {
    let CommandState::Started { progress: Some(said), .. } = command.state() else { return None };
    Some((said.at, said.progress))
}

fn is_read(command: &Command) -> bool {
    matches!(command.state(), CommandState::Ended { read: true, .. })
}

/// The command as its owner sees it.
fn shown(command: &Command) -> serde_json::Value {
    serde_json::to_value(command.report(false)).expect("JSON")
}
