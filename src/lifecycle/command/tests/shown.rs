//! What clients are shown.

use super::*;

#[test]
fn progress_out_of_range_is_clamped() {
    for (said, shown) in [(-0.5, 0.0), (0.25, 0.25), (1.5, 1.0), (1e300, 1.0)] {
        let report = ExtensionReport::Pending { message: None, progress: Some(said), dialog: None };
        let command = after(started(), [(hears(report), ms(3_000))]);
        assert_eq!(progress_of(&command), Some((ms(3_000), Some(shown))));
    }
    let silent = ExtensionReport::Pending { message: None, progress: None, dialog: None };
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

#[test]
fn a_result_is_shown_with_its_page_and_its_times() {
    let shown = shown(&ended_by(complete("{\"value\":1}")));
    assert_eq!(shown["result"], serde_json::json!({ "value": 1 }));
    assert!(shown["page"].is_string(), "{shown}");
    assert_eq!(shown["created_at"], ACCEPTED_AT.to_string());
    assert_eq!(shown["completed_at"], ENDED_AT.to_string());
    assert_eq!(shown["duration_ms"], 2_000.0);
    assert!(shown.get("trace").is_none(), "nobody asked for it");
}

#[test]
fn a_pending_command_is_shown_with_its_latest_delivery_and_progress() {
    let begun = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(1_600)),
        (LifecycleEvent::Claim(holder(), SECOND), ms(1_700)),
        (LifecycleEvent::Report(holder(), SECOND, pending()), ms(3_700)),
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
    assert_eq!(expired["reason"], ExpiryReason::ExtensionDisconnected.code());
    assert_eq!(expired["hint"], ExpiryReason::ExtensionDisconnected.hint());
    assert_eq!(expired["may_have_run"], true);
    assert_eq!(shown(&ended_by(stopped(false)))["may_have_run"], false);
    assert_eq!(shown(&cancelled_in_the_page())["may_have_run"], true);
}

#[test]
fn the_trace_tells_a_whole_life_in_the_order_in_which_it_happened() {
    let life = [
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(10)),
        (LifecycleEvent::LinkClosed, ms(20)),
        (LifecycleEvent::Deliver(holder(), Transport::WebSocket), ms(30)),
        (LifecycleEvent::Claim(holder(), SECOND), ms(40)),
        (LifecycleEvent::Report(holder(), SECOND, pending()), ms(50)),
        (LifecycleEvent::Report(holder(), SECOND, pending()), ms(60)),
        (LifecycleEvent::Report(holder(), SECOND, complete("1")), ms(70)),
        (LifecycleEvent::Report(holder(), SECOND, complete("2")), ms(80)),
        (LifecycleEvent::Read, ms(90)),
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

#[test]
fn a_command_that_waits_says_for_what() {
    let told = |command: &Command| shown(command)["message"].as_str().expect("text").to_owned();
    let nobody = told(&command());
    assert!(nobody.contains("for a browser"), "{nobody}");
    assert!(nobody.contains(&TOTAL_BY.to_string()), "until when: {nobody}");
    for waits in [after(command(), [(LifecycleEvent::Reachable, ms(5))]), requeued()] {
        assert!(told(&waits).contains("its turn in the tab"));
    }
}
