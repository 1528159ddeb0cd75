//! What becomes of commands when links are slow, break, are taken over or lie.

use std::time::Duration;

use serde_json::{Value, json};

use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, FrozenClock, McpClient, RowReport,
    TestDaemon, active_tab, phases, soon,
};

async fn daemon_and_client() -> (TestDaemon, McpClient) {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    (daemon, client)
}

/// A command that the extension has claimed and got `go` for.
async fn started(client: &McpClient, extension: &mut FakeExtension) -> DeliveredCommand {
    client.script("started", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    command
}

/// Waits until the daemon knows that the browser is away.
async fn until_away(client: &McpClient) {
    let look = json!({"what": "browsers"});
    let away = async {
        while client.call("observe", look.clone()).await["browsers"][0]["connected"] == true {}
    };
    soon("the end of the link", away).await;
}

fn assert_expired(report: &Value, reason: &str, may_have_run: bool) {
    let is = [&report["status"], &report["reason"], &report["may_have_run"]];
    assert_eq!(is, [&json!("expired"), &json!(reason), &json!(may_have_run)], "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_everything_once_and_keeps_its_link() {
    let _time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let tabs = (1..=100).map(active_tab).collect();
    let shim = ExtensionBuilder::of(&daemon).tabs(tabs).with_little_room();
    let mut extension = shim.connect().await;
    // More than the outbox holds, and each more than the socket takes at once.
    let script = "x".repeat(150_000);
    let mut ids = Vec::new();
    for client in 0..20 {
        let client = McpClient::modern(&daemon).named(&format!("client-{client}"));
        for _ in 0..5 {
            let tab = i64::try_from(ids.len()).unwrap() + 1;
            ids.push(client.script(&script, tab).await);
        }
    }
    let mut delivered = Vec::new();
    for _ in 0..ids.len() {
        delivered.push(extension.command().await);
    }
    extension.expect_nothing().await;
    assert!(delivered.iter().all(|command| command.attempt == 1 && command.script() == script));
    let mut got: Vec<_> = delivered.into_iter().map(|command| command.id).collect();
    got.sort_unstable();
    ids.sort_unstable();
    assert_eq!(got, ids);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_loses_its_link_and_no_command_is_lost_with_it() {
    let time = FrozenClock::time().await;
    let (daemon, client) = daemon_and_client().await;
    let tabs = (7..=20).map(active_tab).collect();
    let shim = ExtensionBuilder::of(&daemon).tabs(tabs).with_little_room();
    let mut extension = shim.connect().await;
    let running = started(&client, &mut extension).await;
    // From here on it reads nothing. The next commands do not fit into the socket, so
    // what follows piles up behind them: the answers to claims of nobody's commands.
    let mut unclaimed = Vec::new();
    for tab in 8..=16 {
        let client = McpClient::modern(&daemon).named(&format!("client-{tab}"));
        unclaimed.push(client.script(&"x".repeat(900_000), tab).await);
    }
    for n in 0..80 {
        let id = format!("nobodys-{n}");
        extension.send(&json!({"type": "claim", "correlation_id": id, "attempt": 1})).await;
    }
    until_away(&client).await;
    for id in &unclaimed {
        let back = client.status(id).await;
        assert_eq!(back["status"], "pending");
        assert_eq!(phases(&back), ["queued", "delivered", "requeued"], "not begun: queued again");
    }
    assert_eq!(client.status(&running.id).await["status"], "pending", "begun: given 3 s");
    let (code, reason) = extension.closed().await;
    let mut row = RowReport::new(16);
    row.tried("a reader that never reads", code == 4429, format!("{code} {reason}"));
    row.report();

    let mut extension = shim.connect_with(&[(&running, "running")]).await;
    let mut again = Vec::new();
    for _ in &unclaimed {
        let command = extension.command().await;
        assert_eq!((command.attempt, &command.command["redelivered"]), (2, &json!(true)));
        again.push(command.id);
    }
    assert_eq!(again, unclaimed);
    extension.breaks();
    until_away(&client).await;
    time.pass_ms(3_001).await;
    assert_expired(&client.status(&running.id).await, "extension_disconnected", true);
}

#[tokio::test(start_paused = true)]
async fn a_late_result_changes_nothing_but_frees_the_tab_and_stands_in_the_trace() {
    let time = FrozenClock::time().await;
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let late = started(&client, &mut extension).await;
    let next = client.script("next", 7).await;
    time.pass_ms(12_001).await;
    extension.expect(&late.cancel("execution_timeout")).await;
    let before = client.status(&late.id).await;
    assert_eq!(before["status"], "timeout");
    extension.expect_nothing().await;

    extension.send(&late.frame("complete", json!({"result": "too late"}))).await;
    extension.expect(&late.nack("already_terminal")).await;
    assert_eq!(extension.command().await.id, next, "the page is done with it, so its tab is free");
    let mut after = client.status(&late.id).await;
    assert_eq!(phases(&after).last().unwrap(), "late_result");
    after["trace"] = before["trace"].clone();
    assert_eq!(after, before);
}

#[tokio::test(start_paused = true)]
async fn after_a_timeout_the_tab_is_free_two_seconds_later_if_nothing_is_heard() {
    let time = FrozenClock::time().await;
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let stuck = started(&client, &mut extension).await;
    let next = client.script("next", 7).await;
    time.pass_ms(12_001).await;
    extension.expect(&stuck.cancel("execution_timeout")).await;
    time.pass_ms(1_990).await;
    extension.expect_nothing().await;
    time.pass_ms(20).await;
    assert_eq!(extension.command().await.id, next);
}

#[tokio::test]
async fn a_forged_report_is_refused_and_changes_nothing() {
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let command = started(&client, &mut extension).await;
    let mut other = ExtensionBuilder::of(&daemon).browser("browser-2").connect().await;
    let before = client.status(&command.id).await;
    assert_eq!(before["status"], "pending");
    let error = json!({"error": {"code": "x", "message": "x"}});
    let reports = [
        ("claim", json!({})),
        ("complete", json!({"result": "forged"})),
        ("error", error.clone()),
        ("timeout", error),
        ("cancelled", json!({"may_have_run": false})),
        ("pending", json!({"message": "forged"})),
    ];
    for (kind, fields) in reports {
        other.send(&command.frame(kind, fields.clone())).await;
        other.expect(&command.nack("stale_attempt")).await;
        for attempt in [0, 2, 4_000_000_000_u64] {
            let forged = DeliveredCommand { attempt, ..command.clone() };
            extension.send(&forged.frame(kind, fields.clone())).await;
            extension.expect(&forged.nack("stale_attempt")).await;
        }
        let unknown = DeliveredCommand { id: format!("{}0", command.id), ..command.clone() };
        extension.send(&unknown.frame(kind, fields)).await;
        extension.expect(&unknown.nack("unknown_command")).await;
    }
    assert_eq!(client.status(&command.id).await, before);
    extension.complete(&command, &json!("real")).await;
    assert_eq!(client.outcome(&command.id).await["result"], "real");
}

#[tokio::test]
async fn a_result_without_a_claim_does_not_count() {
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let id = client.script("1", 7).await;
    let command = extension.command().await;
    extension.send(&command.frame("complete", json!({"result": "ran without go"}))).await;
    extension.expect(&command.nack("stale_attempt")).await;
    extension.claim(&command).await;
    extension.complete(&command, &json!("ran")).await;
    assert_eq!(client.outcome(&id).await["result"], "ran");
}

#[tokio::test]
async fn a_repeated_claim_gets_go_again_and_starts_nothing_anew() {
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let command = started(&client, &mut extension).await;
    let before = client.status(&command.id).await;
    extension.claim(&command).await;
    assert_eq!(client.status(&command.id).await, before);
    extension.complete(&command, &json!("once")).await;
    extension.send(&command.answer("claim")).await;
    extension.expect(&command.nack("already_terminal")).await;
    assert_eq!(client.outcome(&command.id).await["result"], "once");
}

#[tokio::test]
async fn a_second_connection_takes_over_and_the_late_end_of_the_first_disturbs_nothing() {
    let (daemon, client) = daemon_and_client().await;
    let mut old = ExtensionBuilder::of(&daemon).connect().await;
    let id = client.script("moves", 7).await;
    let first = old.command().await;
    let mut new = ExtensionBuilder::of(&daemon).connect().await;
    let second = new.command().await;
    assert_eq!((&second.id, second.attempt), (&id, 2));
    assert_eq!(second.command["redelivered"], true);
    assert_eq!(second.command["id"], first.command["id"], "both ids stay");
    assert_eq!(second.command["params"], first.command["params"]);

    // The old one says what it has to say before it hears that it was replaced.
    old.send(&first.answer("claim")).await;
    let (code, reason) = old.closed().await;
    assert_eq!((code, reason.contains("replaced")), (4001, true), "{reason}");
    old.breaks();

    new.expect_nothing().await;
    new.claim(&second).await;
    new.complete(&second, &json!("moved")).await;
    assert_eq!(client.outcome(&id).await["result"], "moved");
    client.script("goes on", 7).await;
    new.run(&json!(1)).await;
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(
        (&browsers["count"], &browsers["browsers"][0]["connected"]),
        (&json!(1), &json!(true))
    );
}

#[tokio::test]
async fn a_takeover_before_the_claim_delivers_again() {
    for instance in ["instance-1", "instance-2"] {
        let (daemon, client) = daemon_and_client().await;
        let mut old = ExtensionBuilder::of(&daemon).connect().await;
        let id = client.script("1", 7).await;
        old.command().await;
        let mut new = ExtensionBuilder::of(&daemon).instance(instance).connect().await;
        let command = new.run(&json!("ran")).await;
        assert_eq!((command.id.as_str(), command.attempt), (id.as_str(), 2));
        let outcome = client.outcome(&id).await;
        let expected =
            ["queued", "delivered", "requeued", "delivered", "claimed", "started", "done"];
        assert_eq!(phases(&outcome), expected, "{instance}");
    }
}

#[tokio::test]
async fn a_takeover_between_claim_and_go_gets_go_again() {
    let (daemon, client) = daemon_and_client().await;
    let mut old = ExtensionBuilder::of(&daemon).connect().await;
    let command = started(&client, &mut old).await;
    // As far as the worker knows, its claim was never answered.
    let mut new = ExtensionBuilder::of(&daemon).connect_with(&[(&command, "claimed")]).await;
    new.expect(&command.answer("go")).await;
    new.complete(&command, &json!("ran")).await;
    assert_eq!(client.outcome(&command.id).await["result"], "ran");
}

#[tokio::test(start_paused = true)]
async fn a_takeover_while_it_runs_lets_it_go_on() {
    let time = FrozenClock::time().await;
    let (daemon, client) = daemon_and_client().await;
    let mut old = ExtensionBuilder::of(&daemon).connect().await;
    let command = started(&client, &mut old).await;
    let mut new = ExtensionBuilder::of(&daemon).connect_with(&[(&command, "running")]).await;
    new.expect_nothing().await;
    time.pass(Duration::from_secs(4)).await;
    assert_eq!(client.status(&command.id).await["status"], "pending", "it is not away any more");
    new.complete(&command, &json!("ran")).await;
    assert_eq!(client.outcome(&command.id).await["result"], "ran");
}

#[tokio::test]
async fn a_takeover_after_it_ran_replays_the_result() {
    // The outbox outlives the worker that filled it.
    for instance in ["instance-1", "instance-2"] {
        let (daemon, client) = daemon_and_client().await;
        let mut old = ExtensionBuilder::of(&daemon).connect().await;
        let command = started(&client, &mut old).await;
        let shim = ExtensionBuilder::of(&daemon).instance(instance);
        let mut new = shim.connect_with(&[(&command, "done")]).await;
        new.complete(&command, &json!("ran")).await;
        assert_eq!(client.outcome(&command.id).await["result"], "ran", "{instance}");
    }
}

#[tokio::test]
async fn a_new_worker_that_knows_nothing_of_a_running_command_ends_it() {
    for in_flight in [None, Some("claimed"), Some("running")] {
        let (daemon, client) = daemon_and_client().await;
        let mut old = ExtensionBuilder::of(&daemon).connect().await;
        let command = started(&client, &mut old).await;
        let in_flight: Vec<_> = in_flight.into_iter().map(|state| (&command, state)).collect();
        let shim = ExtensionBuilder::of(&daemon).instance("instance-2");
        let mut new = shim.connect_with(&in_flight).await;
        assert_expired(&client.outcome(&command.id).await, "extension_disconnected", true);
        new.expect_nothing().await;
        client.script("next", 7).await;
        new.run(&json!("the tab is free")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_is_away_in_mid_command_is_given_three_seconds() {
    let time = FrozenClock::time().await;
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let command = started(&client, &mut extension).await;
    extension.breaks();
    until_away(&client).await;
    time.pass_ms(2_990).await;
    assert_eq!(client.status(&command.id).await["status"], "pending");
    time.pass_ms(20).await;
    assert_expired(&client.status(&command.id).await, "extension_disconnected", true);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_was_not_begun_waits_three_seconds_in_all_for_its_browser() {
    let time = FrozenClock::time().await;
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let id = client.script("1", 7).await;
    extension.command().await;
    time.pass_ms(2_000).await;
    extension.breaks();
    until_away(&client).await;
    time.pass_ms(990).await;
    assert_eq!(client.status(&id).await["status"], "pending");
    time.pass_ms(20).await;
    assert_expired(&client.status(&id).await, "extension_no_response", false);
}

#[tokio::test]
async fn a_command_whose_link_breaks_at_each_of_three_deliveries_is_given_up() {
    let (daemon, client) = daemon_and_client().await;
    let id = client.script("1", 7).await;
    for attempt in 1..=3 {
        let mut extension = ExtensionBuilder::of(&daemon).connect().await;
        let command = extension.command().await;
        assert_eq!((command.id.as_str(), command.attempt), (id.as_str(), attempt));
        assert_eq!(command.command["redelivered"], attempt > 1);
        extension.breaks();
    }
    assert_expired(&client.outcome(&id).await, "delivery_failed", false);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    extension.expect_nothing().await;
}

#[tokio::test]
async fn a_result_whose_ack_was_lost_is_acked_when_it_is_replayed() {
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let command = started(&client, &mut extension).await;
    let result = json!({"result": {"value": "once"}, "origin": "http://a.test"});
    extension.send(&command.frame("complete", result.clone())).await;
    let outcome = client.outcome(&command.id).await;
    // It breaks before the ack is read.
    extension.breaks();

    let shim = ExtensionBuilder::of(&daemon).instance("instance-2");
    let mut extension = shim.connect_with(&[(&command, "done")]).await;
    extension.report(&command, "complete", result).await;
    extension
        .report(
            &command,
            "complete",
            json!({"result": {"value": "once"}, "origin": "http://a.test"}),
        )
        .await;
    let mut again = client.outcome(&command.id).await;
    assert!(!phases(&again).contains(&"late_result".to_owned()));
    again["trace"] = outcome["trace"].clone();
    assert_eq!(again, outcome);
    // Another one is not the same, and leaves the outbox as well.
    extension.send(&command.frame("complete", json!({"result": "twice"}))).await;
    extension.expect(&command.nack("already_terminal")).await;
    assert_eq!(client.outcome(&command.id).await["result"], outcome["result"]);
}

#[tokio::test]
async fn a_person_who_stops_a_command_ends_it() {
    let (daemon, client) = daemon_and_client().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for may_have_run in [false, true] {
        let id = client.script("1", 7).await;
        let command = extension.command().await;
        if may_have_run {
            extension.claim(&command).await;
        }
        extension.report(&command, "cancelled", json!({"may_have_run": may_have_run})).await;
        let outcome = client.outcome(&id).await;
        assert_eq!(outcome["status"], "cancelled");
        assert_eq!(outcome["may_have_run"], may_have_run);
    }
}

#[tokio::test]
async fn what_an_extension_says_before_ready_delivers_nothing() {
    let (daemon, client) = daemon_and_client().await;
    let id = client.script("1", 7).await;
    let mut extension = ExtensionBuilder::of(&daemon).greet().await;
    extension.expect_nothing().await;
    assert_eq!(client.status(&id).await["status"], "pending");
    extension.ready(&[]).await;
    assert_eq!(extension.command().await.id, id);
}

#[tokio::test]
async fn after_a_restart_the_daemon_is_another_one_on_the_same_port() {
    let daemon = TestDaemon::start().await;
    let shim = ExtensionBuilder::of(&daemon);
    let mut extension = shim.open().await;
    let before = extension.hello().await["epoch"].clone();
    let daemon = daemon.restart().await;
    assert_eq!(extension.closed().await.0, 1001);
    let mut extension = shim.open().await;
    assert_ne!(extension.hello().await["epoch"], before, "so that it forgets what it had claimed");
    extension.ready(&[]).await;
    McpClient::legacy(&daemon).script("1", 7).await;
    extension.run(&json!(1)).await;
}
