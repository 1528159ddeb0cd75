//! A call whose daemon goes away is made again of the next one, as the same call.

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::protocol::is_idempotency_key;

use testkit::{ExtensionBuilder, FakeDaemon, ProgramSandbox, StdioClient, signal};

fn script(text: &str) -> Value {
    json!({"action": "execute_js", "script": text, "wait_ms": 8_000})
}

fn complete() -> Value {
    json!({"status": "complete", "result": 1})
}

/// What a call was answered.
async fn body(client: &mut StdioClient, id: i64) -> Value {
    client.answer(&json!(id)).await["result"]["structuredContent"].clone()
}

#[tokio::test]
async fn a_submission_that_is_not_answered_goes_to_the_next_daemon_as_it_was() {
    for accepted in [false, true] {
        let place = ProgramSandbox::new();
        let mut daemon = FakeDaemon::start(&place).await;
        let mut client = StdioClient::start(&place);
        let line = r#"{ "id":1,"jsonrpc":"2.0", "params":{"unknown":1.0,"name":"interact","arguments":{"action":"page_info"}}, "method":"tools/call"}"#;
        client.send_bytes(format!("{line}\n").as_bytes()).await;
        let mut first = daemon.next().await;
        assert_eq!(first.body, line, "byte for byte");
        if accepted {
            first.accept().await;
        }
        let key = first.key().to_owned();
        assert!(is_idempotency_key(&key), "{key}");
        daemon.becomes_another().await;
        drop(first);
        let second = daemon.next().await;
        assert_eq!((second.body.as_str(), second.key()), (line, key.as_str()));
        second.answer(false, &complete()).await;
        assert_eq!(body(&mut client, 1).await, complete());
    }
}

#[tokio::test]
async fn a_daemon_that_ended_before_the_call_does_not_count_as_lost_with_it() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    client.ask(&json!(0), "interact", script("0")).await;
    daemon.next().await.answer(false, &complete()).await;
    body(&mut client, 0).await;
    daemon.becomes_another().await;
    client.ask(&json!(1), "interact", script("1")).await;
    let lost = daemon.next().await;
    daemon.becomes_another().await;
    drop(lost);
    daemon.next().await.answer(false, &complete()).await;
    assert_eq!(body(&mut client, 1).await, complete());
}

#[tokio::test]
async fn every_submission_has_a_key_of_its_own_and_a_read_has_none() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    let mut keys = Vec::new();
    for id in 0..3 {
        client.ask(&json!(id), "interact", script("the same")).await;
        let call = daemon.next().await;
        keys.push(call.key().to_owned());
        call.answer(false, &complete()).await;
    }
    client.ask(&json!(3), "observe", json!({"what": "tabs"})).await;
    assert_eq!(daemon.next().await.header("x-tabwire-idempotency-key"), None);
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 3, "{keys:?}");
}

#[tokio::test]
async fn what_is_answered_is_not_sent_again() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    let answers = [
        (false, json!({"status": "pending"})),
        (true, json!({"error": "queue_full", "retry_after_ms": 100})),
        (true, json!({"error": "storage_unavailable"})),
        (false, json!({"status": "complete", "result": {"error": "shutting_down"}})),
    ];
    for (id, (is_error, answer)) in (0..).zip(answers) {
        client.ask(&json!(id), "interact", script("1")).await;
        let call = daemon.next().await;
        assert_eq!(call.json()["id"], id, "no call comes twice");
        daemon.becomes_another().await;
        call.answer(is_error, &answer).await;
        assert_eq!(body(&mut client, id).await, answer);
    }
}

#[tokio::test]
async fn a_daemon_that_refuses_because_it_ends_is_followed_by_the_next_one() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    let refusal = json!({"error": "shutting_down"});
    client.ask(&json!(1), "interact", script("1")).await;
    let first = daemon.next().await;
    let (line, key) = (first.body.clone(), first.key().to_owned());
    daemon.becomes_another().await;
    first.answer(true, &refusal).await;
    let second = daemon.next().await;
    assert_eq!((&second.body, second.key()), (&line, key.as_str()));
    second.answer(false, &complete()).await;
    assert_eq!(body(&mut client, 1).await, complete());
    // One that does not end is believed.
    client.ask(&json!(2), "interact", script("2")).await;
    daemon.next().await.answer(true, &refusal).await;
    assert_eq!(body(&mut client, 2).await, refusal);
}

#[tokio::test]
async fn a_call_that_two_daemons_went_away_with_is_not_sent_to_a_third() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    client.ask(&json!(1), "interact", script("deadly")).await;
    for _ in 0..2 {
        let mut call = daemon.next().await;
        assert_eq!(call.json()["id"], 1);
        call.accept().await;
        daemon.becomes_another().await;
        drop(call);
    }
    let lost = body(&mut client, 1).await;
    assert_eq!(lost["error"], "daemon_lost", "{lost}");
    assert!(lost["hint"].as_str().unwrap().contains("may have accepted"), "{lost}");
    client.ask(&json!(2), "interact", script("2")).await;
    assert_eq!(daemon.next().await.json()["id"], 2);
}

#[tokio::test]
async fn a_daemon_that_lives_and_never_answers_is_asked_three_times() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    client.ask(&json!(1), "interact", script("1")).await;
    for _ in 0..3 {
        assert_eq!(daemon.next().await.json()["id"], 1);
    }
    assert_eq!(body(&mut client, 1).await["error"], "daemon_lost");
    client.ask(&json!(2), "interact", script("2")).await;
    assert_eq!(daemon.next().await.json()["id"], 2);
}

#[tokio::test]
async fn a_submission_that_was_sent_may_have_been_taken_even_if_no_other_daemon_starts() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let place = ProgramSandbox::with_port(port);
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    client.ask(&json!(1), "interact", script("1")).await;
    let call = daemon.next().await;
    drop(daemon);
    drop(call);
    let lost = body(&mut client, 1).await;
    assert_eq!(lost["error"], "daemon_lost", "{lost}");
    let message = lost["message"].as_str().unwrap();
    assert!(message.contains(&format!("port {port}")), "why none starts: {message}");
    assert!(lost["hint"].as_str().unwrap().contains("may have accepted"), "{lost}");
}

#[tokio::test]
async fn a_command_that_runs_while_its_daemon_is_killed_is_waited_for_at_the_next_one() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    client.call("configure", json!({"action": "health"})).await;
    let daemon = place.daemon().unwrap();
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let mut extension = shim.connect().await;
    client.ask(&json!(1), "interact", script("6 * 7")).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    signal(daemon.pid, Signal::KILL);
    let next = place.daemon_after(&daemon).await;
    let shim = ExtensionBuilder::at(next.port, &place.home());
    let mut extension = shim.connect_with(&[(&command, "running")]).await;
    extension.complete(&command, &json!(42)).await;
    let answer = body(&mut client, 1).await;
    assert_eq!(answer["correlation_id"], command.id, "the same command: {answer}");
    assert_eq!(
        (&answer["status"], &answer["result"]),
        (&json!("complete"), &json!(42)),
        "{answer}"
    );
    extension.expect_nothing().await;
}

#[tokio::test]
async fn a_bridge_that_replaces_another_of_the_same_client_keeps_its_keys() {
    let place = ProgramSandbox::new();
    let named = |name: &str| StdioClient::spawn(place.command(&["mcp", "--client", name]));
    let call = |script: &str| {
        let tab = json!(7);
        json!({"action": "execute_js", "script": script, "tab_id": tab, "idempotency_key": "k"})
    };
    let mut first = named("ann");
    let taken = first.call("interact", call("1")).await;
    first.kill().await;
    let mut second = named("ann");
    let again = second.call("interact", call("1")).await;
    assert_eq!(again["correlation_id"], taken["correlation_id"]);
    let refused = second.call_fails("interact", call("2")).await;
    assert_eq!(refused["error"], "idempotency_key_reused");
    let of_others = [named("bob"), StdioClient::start(&place)];
    for mut other in of_others {
        let own = other.call("interact", call("1")).await;
        assert_ne!(own["correlation_id"], taken["correlation_id"]);
    }
}

#[tokio::test]
async fn a_submission_whose_daemon_is_killed_gets_its_result_from_the_next_one() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    client.call("configure", json!({"action": "health"})).await;
    let daemon = place.daemon().unwrap();
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    client.ask(&json!(1), "interact", script("6 * 7")).await;
    // It is delivered and has not run; whether it is recorded nobody knows.
    extension.command().await;
    signal(daemon.pid, Signal::KILL);
    let next = place.daemon_after(&daemon).await;
    let mut extension = ExtensionBuilder::at(next.port, &place.home()).connect().await;
    let command = extension.run(&json!(42)).await;
    assert_eq!(command.script(), "6 * 7");
    let answer = body(&mut client, 1).await;
    assert_eq!(
        (&answer["status"], &answer["result"]),
        (&json!("complete"), &json!(42)),
        "{answer}"
    );
    extension.expect_nothing().await;
}
