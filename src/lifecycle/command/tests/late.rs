//! What is reported after the end.

use super::*;

#[test]
fn the_same_report_again_is_acknowledged_and_frees_the_lane() {
    let mut command = cancelled_in_the_page();
    assert_eq!(command.phase(), CommandPhase::Leaving);
    let step = command.apply(hears(stopped(true)), ms(2_100));
    assert_eq!(step, moved(CommandPhase::Leaving, CommandPhase::Ended, EventReply::Ack));
    assert_ended(&command, &outcome_of(stopped(true)), ENDED_AT);
    assert_eq!(count_marks(&command, TracePhase::LateResult), 0);
}

#[test]
fn another_report_is_refused_and_shown_as_late_and_frees_the_lane() {
    let mut command = cancelled_in_the_page();
    let step = command.apply(hears(complete("1")), ms(2_100));
    assert_eq!(step, moved(CommandPhase::Leaving, CommandPhase::Ended, OVER));
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
        let same = LifecycleEvent::Report(peer, attempt, stopped(true));
        assert_eq!(
            command.apply(same, ms(2_100)),
            moved(CommandPhase::Leaving, CommandPhase::Leaving, OVER)
        );
    }
}

#[test]
fn a_late_pending_neither_frees_the_lane_nor_is_it_kept() {
    let mut command = cancelled_in_the_page();
    assert_eq!(command.apply(hears(pending()), ms(2_100)), IGNORED);
    assert_eq!(command.phase(), CommandPhase::Leaving);
    assert_eq!(count_marks(&command, TracePhase::LateResult), 0);
}

#[test]
fn the_lane_is_free_when_its_hold_is_over() {
    let mut command = cancelled_in_the_page();
    let free_at = ENDED_AT + limits::LANE_HOLD;
    assert_eq!(command.apply(LifecycleEvent::Tick, just_before(free_at)), IGNORED);
    assert!(command.phase().holds_lane() && command.phase().is_terminal());
    let step = command.apply(LifecycleEvent::Tick, free_at);
    assert_eq!(step, moved(CommandPhase::Leaving, CommandPhase::Ended, EventReply::Nothing));
    assert!(!command.phase().holds_lane());
}

#[test]
fn late_reports_leave_the_result_as_it_is_byte_for_byte() {
    let odd = r#"{ "b":1,  "a" : 12345678901234567890.5, "a\u0301":"\u00e9" }"#;
    let mut command = ended_by(complete(odd));
    assert_eq!(command.apply(hears(complete(odd)), ms(2_100)), moved_on(EventReply::Ack));
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

fn moved_on(reply: EventReply) -> Transition {
    moved(CommandPhase::Ended, CommandPhase::Ended, reply)
}

#[test]
fn a_failure_is_the_same_only_if_all_of_it_is() {
    let mut failed = ended_by(error("no"));
    assert_eq!(failed.apply(hears(error("no")), ms(2_100)), moved_on(EventReply::Ack));
    assert_eq!(failed.apply(hears(error("yes")), ms(2_100)), moved_on(OVER));
    let as_timeout = ExtensionReport::Timeout { error: failure("no") };
    assert_eq!(failed.apply(hears(as_timeout), ms(2_100)), moved_on(OVER));
    let mut stopped_early = ended_by(stopped(false));
    assert_eq!(stopped_early.apply(hears(stopped(true)), ms(2_100)), moved_on(OVER));
    assert_eq!(stopped_early.apply(hears(stopped(false)), ms(2_100)), moved_on(EventReply::Ack));
}

#[test]
fn the_trace_keeps_only_so_many_late_reports() {
    let mut command = ended_by(complete("0"));
    for n in 1..=3 * LATE_MARKS {
        let step = command.apply(hears(complete(&n.to_string())), ms(2_500));
        assert_eq!(step, moved(CommandPhase::Ended, CommandPhase::Ended, OVER));
    }
    assert_eq!(count_marks(&command, TracePhase::LateResult), LATE_MARKS);
}

#[test]
fn ends_are_the_same_only_if_all_of_each_is() {
    let ends = [
        expired(ExpiryReason::NotDelivered, false),
        expired(ExpiryReason::NotDelivered, true),
        expired(ExpiryReason::NoExtension, false),
        CommandOutcome::cancelled(false),
        CommandOutcome::cancelled(true),
        outcome_of(complete("1")),
        outcome_of(complete("1.0")),
        outcome_of(error("no")),
        outcome_of(error("yes")),
        outcome_of(ExtensionReport::Timeout { error: failure("no") }),
    ];
    for (n, one) in ends.iter().enumerate() {
        for (m, other) in ends.iter().enumerate() {
            assert_eq!(one == other, n == m, "{one:?} and {other:?}");
        }
    }
}
