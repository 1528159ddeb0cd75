//! Calls on their way: what arrives, and as whose.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tabwire::protocol::RunClock;
use testkit::{RawConnection, RowReport, Stopwatch, authorized, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::{FarAnswer, PLACE, Reached, message};

fn tool(name: &str, arguments: &Value) -> String {
    message("tools/call", &json!({"name": name, "arguments": arguments}))
}

#[tokio::test]
async fn a_call_at_the_far_end_reaches_the_daemon_as_its_owner_and_the_answer_comes_back() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let forged = format!("{by}Authorization: Bearer user.0000\r\nX-Tabwire-Client: agent\r\n");
    let answer = reached.ask(&forged, &tool("configure", &json!({"action": "clients"}))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("x-tabwire-clock").is_some());
    assert!(answer.header("authorization").is_none());
    // The token is that of the place's owner, which home has added.
    let body = answer.json().to_string();
    let mut row = RowReport::new(56);
    row.tried("a token of its own", body.contains(&format!("{PLACE}·agent")), body);
    row.report();
}

#[tokio::test]
async fn a_long_answer_is_the_same_at_the_far_end_byte_for_byte() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let far = reached.ask(&by, &message("tools/list", &json!({}))).await;
    let head = authorized("POST /mcp", reached.daemon.port(), &reached.daemon.token());
    let body = message("tools/list", &json!({}));
    let length = body.len();
    let mut near = RawConnection::open(&reached.daemon).await;
    let kind = "Content-Type: application/json";
    near.send(format!("{head}{kind}\r\nContent-Length: {length}\r\n\r\n{body}")).await;
    let near = near.answer().await.expect("an answer");
    assert!(far.body.len() > 8_000, "{}", far.body.len());
    assert_eq!((far.status, far.body), (near.status, near.body));
}

#[tokio::test]
async fn a_call_that_lay_on_the_line_for_longer_than_its_agent_waits_does_not_run() {
    let reached = Reached::start().await;
    let refused = reached.ask("", &message("ping", &json!({}))).await;
    assert_eq!(refused.json()["error"], "no_before");
    let clock: RunClock = refused.header("x-tabwire-clock").unwrap().parse().unwrap();
    let past = RunClock { elapsed: Duration::ZERO, ..clock };
    let by = format!("X-Tabwire-Before: {past}\r\n");
    let answer = reached.ask(&by, &tool("configure", &json!({"action": "health"}))).await;
    assert_eq!((answer.status, &answer.json()["error"]), (412, &json!("too_late")));
}

/// A command under this key, with a header of its own.
async fn submit(reached: &Reached, by: &str, key: &str, header: &str) -> FarAnswer {
    let lines = format!("{by}X-Tabwire-Idempotency-Key: {key}\r\n{header}");
    let script = json!({"action": "execute_js", "script": key, "tab_id": 7, "wait_ms": 0});
    reached.ask(&lines, &tool("interact", &script)).await
}

#[tokio::test]
async fn a_call_whose_one_before_it_does_not_come_is_refused() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let refused = submit(&reached, &by, "e", "X-Tabwire-After: d\r\n").await;
    let told = refused.json();
    assert_eq!((refused.status, &told["error"]), (409, &json!("out_of_turn")), "{told}");
    assert_eq!(told["may_have_run"], false);
    for wrong in ["a b", &"k".repeat(129), "a\r\nX-Tabwire-After: b"] {
        let refused = submit(&reached, &by, "f", &format!("X-Tabwire-After: {wrong}\r\n")).await;
        assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("bad_after")));
    }
}

#[tokio::test]
async fn a_call_that_waits_for_its_turn_while_its_machine_is_disconnected_does_not_run() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let mut row = RowReport::new(56);
    let later = async {
        let answer = submit(&reached, &by, "b", "X-Tabwire-After: a\r\n").await;
        let told = answer.json();
        // Home loses its connection to the daemon by it.
        let has_error =
            ["not_allowed", "out_of_turn", "daemon_lost"].map(|code| told["error"] == code);
        row.tried("a call that waits for its turn", has_error.contains(&true), told);
    };
    let disconnecting = async {
        reached.ask(&by, &message("ping", &json!({}))).await;
        reached.daemon.home().owners().set_suspended(PLACE, true).unwrap();
        submit(&reached, &by, "a", "").await
    };
    let ((), first) = tokio::join!(later, disconnecting);
    assert_eq!(first.json()["error"], "not_allowed", "{first:?}");
    row.report();
}

#[tokio::test]
async fn calls_that_follow_calls_which_never_come_are_refused_and_hold_up_nobody_else() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let mut row = RowReport::new(56);
    // As many as two agents send at once.
    let waiting = (0..60).map(async |n| {
        let lines = format!("{by}X-Tabwire-After: never-{n}\r\n");
        reached.ask(&lines, &message("ping", &json!({}))).await
    });
    let near = testkit::McpClient::legacy(&reached.daemon);
    let others = async {
        let watch = Stopwatch::start();
        for _ in 0..20 {
            near.call("configure", json!({"action": "health"})).await;
        }
        watch.millis()
    };
    let (refused, took) = tokio::join!(join_all(waiting), others);
    for answer in refused {
        let told = answer.json();
        row.tried("a call that never comes", told["error"] == "out_of_turn", told);
    }
    row.report();
    assert!(took < 2_000, "{took} ms");
}

#[tokio::test]
async fn the_socket_goes_with_the_line_and_open_calls_end() {
    let reached = Reached::start().await;
    let mut waiting = UnixStream::connect(&reached.socket).await.unwrap();
    waiting
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        .await
        .unwrap();
    reached.home.abort();
    // With or without an error: the line is gone.
    let _ = soon("the far end", reached.far).await.unwrap();
    assert!(!reached.socket.exists());
    let mut rest = Vec::new();
    // Closed, with or without a word.
    let _ = soon("the end of the call", waiting.read_to_end(&mut rest)).await;
}

#[tokio::test]
async fn beyond_the_calls_that_wait_others_still_get_through_and_then_all_are_told_busy() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let mut open = Vec::new();
    let hold = async |lines: &str, body: &str| {
        let mut stream = UnixStream::connect(&reached.socket).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{lines}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    // Their bodies do not come: each is on its way.
    let early = format!("{by}X-Tabwire-Early: 1\r\n");
    for _ in 0..224 {
        open.push(hold(&early, "{}").await);
    }
    // All of them have been taken before this one is.
    let is_busy = async || {
        let answer = reached.ask(&early, &message("ping", &json!({}))).await;
        answer.status == 503 && answer.json()["error"] == "busy"
    };
    soon("busy", testkit::until(is_busy)).await;
    let plain = reached.ask(&by, &message("ping", &json!({}))).await;
    assert_eq!(plain.status, 200, "{plain:?}");
}

#[tokio::test]
async fn headers_of_more_than_16_kib_are_refused_where_they_come_in() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let long = |length: usize| format!("{by}X-Long: {}\r\n", "x".repeat(length));
    let mut stream = UnixStream::connect(&reached.socket).await.unwrap();
    let request = format!("GET /carrier HTTP/1.1\r\nHost: x\r\n{}\r\n", long(17 * 1024));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // It is closed with a part unread, which may take the answer along.
    let _ = soon("the end", stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let taken = reached.ask(&long(8 * 1024), &message("ping", &json!({}))).await;
    assert_eq!(taken.status, 200, "{taken:?}");
}

#[tokio::test]
async fn what_is_not_for_programs_on_another_machine_is_refused_at_the_daemon() {
    let reached = Reached::start().await;
    let by = reached.in_time().await;
    let mut row = RowReport::new(56);
    let mut refused = async |name: &str, arguments: Value| {
        let answer = reached.ask(&by, &tool(name, &arguments)).await;
        let told = answer.json()["result"]["structuredContent"].clone();
        row.tried(&arguments.to_string(), told["error"] == "not_for_far_owners", told);
    };
    refused("interact", json!({"action": "screenshot", "path": "a.png"})).await;
    refused("interact", json!({"action": "navigate", "url": "file:///etc/passwd"})).await;
    refused("wksm_monitor_sync", json!({"path": "/"})).await;
    refused("wksm_monitor_sync", json!({"path": "/tmp", "verify": true})).await;
    // Steps that are kept under a name are judged when they are run.
    let steps = json!([{"action": "upload_file", "target": "#a", "paths": ["/etc/passwd"]}]);
    let store = json!({"action": "store", "name": "steps", "data": steps});
    assert_eq!(reached.ask(&by, &tool("configure", &store)).await.status, 200);
    refused("interact", json!({"action": "run", "name": "steps"})).await;
    row.report();
    // A program of this machine is refused none of this for where it is.
    let client = testkit::McpClient::legacy(&reached.daemon);
    let told = client.call_fails("interact", json!({"action": "run", "name": "none"})).await;
    assert_ne!(told["error"], "not_for_far_owners");
}
