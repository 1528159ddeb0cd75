//! Waits for a person, and jobs: their rows of `docs/lifecycle.md`, and what is between them.

use super::rows::Row;
use super::*;
use crate::protocol::{Job, MonitorSync, SessionName};

const DEADLINE: Duration = Duration::from_secs(3_600);
const DRAWN_AT: Timestamp = ms(540_000);

pub(super) fn wait() -> Command {
    let annotations =
        crate::lifecycle::AwaitedDrawings { session: SessionName::parse("checkout").ok() };
    command_of(CommandWork::Annotations { annotations }, limits::PERSON)
}

pub(super) fn job() -> Command {
    let sync = MonitorSync { path: "/srv".into(), recursive: None, verify: Some(true) };
    command_of(CommandWork::Job { job: Job::MonitorSync(sync) }, DEADLINE)
}

pub(super) fn working() -> Command {
    after(job(), [(LifecycleEvent::Begin, STARTED_AT)])
}

pub(super) fn said(part: f64) -> CommandProgress {
    CommandProgress {
        at: ms(1_500),
        message: Some("Processing 1 of 2 files".into()),
        progress: Some(part),
        dialog: None,
    }
}

fn done(result: &str) -> LifecycleEvent {
    LifecycleEvent::Finish(outcome_of(complete(result)))
}

fn failed() -> LifecycleEvent {
    LifecycleEvent::Finish(outcome_of(error("no such folder")))
}

#[test]
fn row_22_the_daemon_gets_to_a_job_once() {
    let mut row = Row::of("22");
    let mut command = job();
    let step = row.take(&mut command, LifecycleEvent::Begin, STARTED_AT);
    assert_eq!(step, moved(CommandPhase::Waiting, CommandPhase::Working, EventReply::Nothing));
    assert_eq!(command.started_at(), STARTED_AT);
    assert!(command.may_have_run());
    for mut other in [command, wait(), after(working(), [(done("1"), ENDED_AT)])] {
        assert_eq!(other.apply(LifecycleEvent::Begin, ms(1_200)), IGNORED);
    }
}

#[test]
fn row_23_a_job_says_how_far_it_is() {
    let mut row = Row::of("23");
    let mut command = working();
    for part in [0.25, 0.5] {
        let step = row.take(&mut command, LifecycleEvent::Advance(said(part)), ms(1_500));
        assert_eq!(step, moved(CommandPhase::Working, CommandPhase::Working, EventReply::Nothing));
        assert_eq!(shown(&command)["progress"]["progress"], part);
    }
    assert_eq!(count_marks(&command, TracePhase::FirstPending), 1);
    for mut other in [job(), wait(), after(working(), [(done("1"), ENDED_AT)])] {
        assert_eq!(other.apply(LifecycleEvent::Advance(said(0.5)), ENDED_AT), IGNORED);
    }
}

#[test]
fn row_24_a_drawing_ends_the_wait_and_its_work_the_job() {
    let mut row = Row::of("24");
    for (before, phase) in [(wait(), CommandPhase::Waiting), (working(), CommandPhase::Working)] {
        for (event, outcome) in [
            (done("1"), outcome_of(complete("1"))),
            (failed(), outcome_of(error("no such folder"))),
        ] {
            let mut command = before.clone();
            let step = row.take(&mut command, event, ENDED_AT);
            assert_eq!(step, moved(phase, CommandPhase::Ended, EventReply::Ack));
            assert_ended(&command, &outcome, ENDED_AT);
            assert_eq!(command.apply(done("2"), LATER), IGNORED, "the end stands");
        }
    }
}

#[test]
fn row_25_what_takes_too_long_is_over_at_its_time() {
    let mut row = Row::of("25");
    let ends = [
        (wait(), limits::PERSON, ExpiryReason::NobodyDrew, false),
        (job(), DEADLINE, ExpiryReason::CommandExpired, false),
        (working(), DEADLINE, ExpiryReason::CommandExpired, true),
    ];
    for (mut command, length, reason, may_have_run) in ends {
        let over = ACCEPTED_AT + length;
        assert_eq!(command.total_by(), over);
        assert_eq!(command.next_deadline(), over);
        assert_eq!(command.apply(LifecycleEvent::Tick, just_before(over)), IGNORED);
        let _ = row.take(&mut command, LifecycleEvent::Tick, over);
        assert_ended(&command, &expired(reason, may_have_run), over);
        row.names(reason.code());
    }
}

#[test]
fn row_26_its_owner_cancels_it_and_nobody_is_sent_a_word() {
    let mut row = Row::of("26");
    for (mut command, phase) in [
        (wait(), CommandPhase::Waiting),
        (job(), CommandPhase::Waiting),
        (working(), CommandPhase::Working),
    ] {
        let may_have_run = phase == CommandPhase::Working;
        let step = row.take(&mut command, LifecycleEvent::Cancel, ENDED_AT);
        assert_eq!(step, moved(phase, CommandPhase::Ended, EventReply::Nothing));
        assert_ended(&command, &CommandOutcome::cancelled(may_have_run), ENDED_AT);
    }
    row.names("may_have_run");
}

#[test]
fn row_27_what_had_not_begun_waits_on_also_after_a_restart_of_the_machine() {
    let mut row = Row::of("27");
    for before in [wait(), job()] {
        for is_same_boot in [true, false] {
            let command = row.restart(&before, is_same_boot, ms(5_000));
            assert_eq!(command.next_deadline(), before.next_deadline());
        }
    }
    let mut late = row.restart(&wait(), true, ACCEPTED_AT + limits::PERSON);
    let _ = late.apply(LifecycleEvent::Tick, ACCEPTED_AT + limits::PERSON);
    assert_ended(&late, &expired(ExpiryReason::NobodyDrew, false), ACCEPTED_AT + limits::PERSON);
}

#[test]
fn row_28_a_job_that_had_begun_is_over() {
    let mut row = Row::of("28");
    for (is_same_boot, reason) in
        [(true, ExpiryReason::DaemonRestarted), (false, ExpiryReason::MachineRebooted)]
    {
        let command = row.restart(&working(), is_same_boot, ms(5_000));
        assert_ended(&command, &expired(reason, true), ms(5_000));
        row.names(reason.code());
    }
}

#[test]
fn a_drawing_can_be_read_for_ten_minutes_from_the_wait_and_a_minute_at_least() {
    let early = after(wait(), [(done("1"), ENDED_AT)]);
    assert_eq!(early.retain_until(), Some(ACCEPTED_AT + limits::PERSON));
    assert_eq!(early.next_deadline(), ACCEPTED_AT + limits::PERSON);
    let late = after(wait(), [(done("1"), DRAWN_AT + limits::RETAIN)]);
    assert_eq!(late.retain_until(), Some(DRAWN_AT + limits::RETAIN + limits::RETAIN));
}

#[test]
fn the_result_of_a_job_is_kept_for_whoever_looks_seldom() {
    let command = after(working(), [(done("1"), ENDED_AT)]);
    assert_eq!(command.retain_until(), Some(ENDED_AT + limits::RETAIN_JOB));
}

#[test]
fn no_extension_has_a_word_in_it() {
    for before in [wait(), job(), working()] {
        let events = [
            LifecycleEvent::Reachable,
            LifecycleEvent::Deliver(holder(), Transport::WebSocket),
            LifecycleEvent::Claim(holder(), FIRST),
            hears(complete("1")),
            hears(pending()),
            LifecycleEvent::LinkClosed,
            LifecycleEvent::Reconnected(holder(), None),
        ];
        let mut command = before.clone();
        for event in events {
            let what = format!("{event:?}");
            let step = command.apply(event, STARTED_AT);
            assert!(matches!(step, Transition::Unchanged(_)), "{what}: {step:?}");
        }
        assert_eq!(word(&command), word(&before));
        assert!(command.delivery().is_none());
    }
}

#[test]
fn what_browsers_do_is_begun_advanced_and_finished_by_browsers_only() {
    for mut command in [command(), sent(), started(), ended_by(complete("1"))] {
        for event in
            [LifecycleEvent::Begin, LifecycleEvent::Advance(said(0.5)), done("2"), failed()]
        {
            assert_eq!(command.apply(event, ENDED_AT), IGNORED);
        }
    }
}

#[test]
fn what_a_person_draws_is_marked_as_a_pages_and_what_the_daemon_does_is_not() {
    let mark = |command: &Command, event| {
        shown(&after(command.clone(), [(event, ENDED_AT)]))["page"].clone()
    };
    for (event, again) in [(done("1"), done("1")), (failed(), failed())] {
        assert_eq!(mark(&wait(), event), "*");
        assert!(mark(&working(), again).is_null());
    }
}

#[test]
fn each_says_what_it_waits_for() {
    let message = |command: &Command| shown(command)["message"].as_str().expect("text").to_owned();
    assert!(message(&wait()).contains("finish drawing"));
    assert!(message(&job()).contains("turn"));
    assert!(message(&working()).contains("running"));
}
