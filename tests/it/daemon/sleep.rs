//! What is old does not run: calls that come later than their client waits for them, and commands that the
//! machine slept through while no daemon ran.
//!
//! A stopped process cannot tell that it was stopped by its clocks, but what came meanwhile is late all the
//! same. That the machine sleeps under a running daemon is pretended, in the tests of the hub.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::protocol::{OwnerKind, RunClock, Timestamp};

use testkit::{
    ExtensionBuilder, McpClient, ProgramSandbox, RawAnswer, RawConnection, TestDaemon, authorized,
    passes, signal,
};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn script() -> String {
    let arguments = json!({"action": "execute_js", "script": "1", "wait_ms": 0});
    let params = json!({"name": "interact", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string()
}

/// A call of MCP, with further lines in its head.
fn post(port: u16, token: &str, lines: &str, body: &str) -> String {
    let head = authorized("POST /mcp", port, token);
    let length = body.len();
    format!("{head}Content-Type: application/json\r\n{lines}Content-Length: {length}\r\n\r\n{body}")
}

fn before(clock: &RunClock) -> String {
    format!("X-Tabwire-Before: {clock}\r\n")
}

fn clock_of(answer: &RawAnswer) -> RunClock {
    answer.header("x-tabwire-clock").expect("the clock is told").parse().expect("a clock")
}

/// The daemon's clock, so much later.
fn later(clock: &RunClock, by: Duration) -> RunClock {
    RunClock { elapsed: clock.elapsed + by, ..clock.clone() }
}

async fn ask(port: u16, request: String) -> RawAnswer {
    let mut connection = RawConnection::to(port).await;
    connection.send(request).await;
    connection.answer().await.expect("an answer")
}

#[track_caller]
fn assert_too_late(answer: &RawAnswer) {
    let told = answer.json();
    assert_eq!((answer.status, &told["error"]), (412, &json!("too_late")), "{told}");
    assert_eq!(told["may_have_run"], false, "{told}");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("Call again")), "{told}");
}

#[tokio::test]
async fn every_answer_at_mcp_to_who_has_a_token_tells_the_clock_refusals_too() {
    let daemon = TestDaemon::start().await;
    let (port, token) = (daemon.port(), daemon.token());
    let first = ask(port, post(port, &token, "", PING)).await;
    assert_eq!(first.status, 200);
    let clock = clock_of(&first);
    for (request, status) in [
        (post(port, &token, "", "{"), 400),
        (post(port, &token, "X-Tabwire-Before: soon\r\n", PING), 400),
        (post(port, &token, "X-Tabwire-Tools: none\r\n", PING), 400),
        (post(port, &token, "", &script()), 200),
        (authorized("GET /mcp", port, &token) + "\r\n", 406),
    ] {
        let answer = ask(port, request).await;
        assert_eq!(answer.status, status);
        let told = clock_of(&answer);
        assert!(told.run == clock.run && told.elapsed >= clock.elapsed, "{told} after {clock}");
    }
    for (other, status) in [
        (authorized("GET /health", port, &token) + "\r\n", 200),
        (post(port, "wrong", "", PING), 401),
        (post(port, &token, "Origin: http://evil.test\r\n", PING), 403),
    ] {
        let other = ask(port, other).await;
        assert_eq!((other.status, other.header("x-tabwire-clock")), (status, None));
    }
}

#[tokio::test]
async fn a_call_that_comes_in_time_runs_and_one_of_another_run_or_without_sense_does_not() {
    let daemon = TestDaemon::start().await;
    let (port, token) = (daemon.port(), daemon.token());
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let clock = clock_of(&ask(port, post(port, &token, "", PING)).await);
    let in_time = before(&later(&clock, Duration::from_secs(10)));
    assert_eq!(ask(port, post(port, &token, &in_time, &script())).await.status, 200);
    extension.command().await;
    let other_run = RunClock { run: "1795298985123-00000000".into(), ..clock.clone() };
    let other_run = before(&later(&other_run, Duration::from_secs(10)));
    assert_too_late(&ask(port, post(port, &token, &other_run, &script())).await);
    for wrong in ["X-Tabwire-Before: soon\r\n", &format!("{in_time}{in_time}")] {
        let answer = ask(port, post(port, &token, wrong, &script())).await;
        assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("bad_before")));
    }
    extension.expect_nothing().await;
}

#[tokio::test]
async fn a_call_of_an_owner_on_another_machine_has_to_say_by_when_it_must_have_come() {
    let daemon = TestDaemon::start().await;
    let port = daemon.port();
    let since = Timestamp::from_unix_micros(0);
    let entry = daemon.home().owners().add("box", None, OwnerKind::Far, since).unwrap();
    let token = daemon.home().auth().token(&entry.owner());
    let refused = ask(port, post(port, &token, "", &script())).await;
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("no_before")));
    // The refusal tells the clock that the next call needs.
    let by = before(&later(&clock_of(&refused), Duration::from_secs(10)));
    assert_eq!(ask(port, post(port, &token, &by, PING)).await.status, 200);
}

#[tokio::test]
async fn calls_that_lay_in_the_sockets_of_a_stopped_daemon_do_not_run_when_it_goes_on() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let (port, home) = (daemon.port, place.home());
    let token = home.auth().token(&tabwire::proof::DEFAULT_OWNER.into());
    let mut extension = ExtensionBuilder::at(port, &home).connect().await;
    let clock = clock_of(&ask(port, post(port, &token, "", PING)).await);
    let mut connections = Vec::new();
    for _ in 0..4 {
        connections.push(RawConnection::to(port).await);
    }
    let wait = Duration::from_millis(500);
    signal(daemon.pid(), Signal::STOP);
    for connection in &mut connections {
        let by = before(&later(&clock, wait));
        connection.send(post(port, &token, &by, &script())).await;
    }
    passes(wait).await;
    signal(daemon.pid(), Signal::CONT);
    for connection in &mut connections {
        assert_too_late(&connection.answer().await.expect("an answer"));
    }
    extension.expect_nothing().await;
    let told = client(port, &token).call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(told["pending"], json!([]), "{told}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_whose_end_comes_after_its_time_does_not_run() {
    let daemon = TestDaemon::start().await;
    let (port, token) = (daemon.port(), daemon.token());
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let clock = clock_of(&ask(port, post(port, &token, "", PING)).await);
    let wait = Duration::from_millis(500);
    let request = post(port, &token, &before(&later(&clock, wait)), &script());
    let (beginning, end) = request.split_at(request.len() - 5);
    let mut connection = RawConnection::to(port).await;
    connection.send(beginning).await;
    passes(wait).await;
    connection.send(end).await;
    assert_too_late(&connection.answer().await.expect("an answer"));
    extension.expect_nothing().await;
}

fn client(port: u16, token: &str) -> McpClient {
    McpClient::at(port, token.to_owned()).named("agent")
}

/// Whether the system lets a test give a process a clock of its own for the time that the machine slept.
#[expect(clippy::print_stderr, reason = "whoever runs the tests is to know what was not tried")]
fn can_pretend_sleep() -> bool {
    let tried = std::process::Command::new("unshare").args(["--time", "true"]).output();
    let can = tried.is_ok_and(|tried| tried.status.success());
    if !can {
        eprintln!("skipped: only root on Linux can give a daemon a clock that has slept");
    }
    can
}

#[tokio::test]
async fn a_command_that_the_machine_slept_through_while_no_daemon_ran_is_not_sent() {
    if !can_pretend_sleep() {
        return;
    }
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let token = place.home().auth().token(&tabwire::proof::DEFAULT_OWNER.into());
    let id = client(daemon.port, &token).script("document.title", 7).await;
    signal(daemon.pid(), Signal::KILL);
    daemon.end().await;
    place.until_no_daemon().await;
    // The clock that counts sleep is an hour ahead for this process, and the other one is not.
    let program = place.command(&[]).as_std().get_program().to_owned();
    let program = program.to_str().expect("a path").to_owned();
    let hour_later = ["--time", "--boottime", "3600", &program, "serve", "--json"];
    let daemon = place.serve_by(place.command_of("unshare", &hour_later)).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let call = json!({"what": "command_result", "correlation_id": id});
    let told: Value = client(daemon.port, &token).call("observe", call).await;
    assert_eq!((&told["status"], &told["reason"]), (&json!("expired"), &json!("daemon_restarted")));
    assert_eq!(told["may_have_run"], false, "{told}");
    extension.expect_nothing().await;
    daemon.stop().await;
}
