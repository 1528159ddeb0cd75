//! Connections: how long each part of a request may take, how many may be open, whose they
//! may be, and what becomes of the daemon when there is no room for more.

use std::process::Stdio;

use serde_json::json;
use tabwire::proof::DEFAULT_OWNER;
use tokio::process::Command;

use testkit::{
    ExtensionBuilder, FrozenClock, McpClient, ProgramSandbox, RawConnection, RowReport,
    ServedDaemon, Stopwatch, TestDaemon, authorized, finish, soon, token_of,
};

/// A request that is answered without a token.
fn health(daemon: &TestDaemon) -> String {
    format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", daemon.port())
}

/// A request that proves who calls.
fn with_token(daemon: &TestDaemon, path: &str) -> String {
    authorized(&format!("GET {path}"), daemon.port(), &daemon.token()) + "\r\n"
}

/// A POST whose body is still to come.
fn begin_post(daemon: &TestDaemon, token: &str, length: &str) -> String {
    let head = authorized("POST /mcp", daemon.port(), token);
    format!("{head}Content-Type: application/json\r\n{length}\r\n\r\n")
}

async fn assert_answers(connection: &mut RawConnection, request: &str, status: u16) {
    connection.send(request).await;
    assert_eq!(connection.answer().await.expect("closed").status, status);
}

/// The daemon has read by now what was sent before: what comes later has been answered.
async fn until_read(daemon: &TestDaemon) {
    for _ in 0..3 {
        let mut other = RawConnection::open(daemon).await;
        assert_answers(&mut other, &health(daemon), 200).await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_head_has_five_seconds_from_its_first_byte_on() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let request = health(&daemon);
    let (beginning, rest) = request.split_at(9);
    let mut quick = RawConnection::open(&daemon).await;
    let mut slow = RawConnection::open(&daemon).await;
    for connection in [&mut quick, &mut slow] {
        assert_answers(connection, &request, 200).await;
    }
    time.pass_ms(60_000).await;
    for connection in [&mut quick, &mut slow] {
        connection.send(beginning).await;
    }
    until_read(&daemon).await;
    time.pass_ms(4_900).await;
    assert_answers(&mut quick, rest, 200).await;
    slow.send(&rest[..1]).await;
    until_read(&daemon).await;
    time.pass_ms(101).await;
    slow.assert_closed_in_silence().await;
    // The head before has no part in how long this one may take.
    time.pass_ms(60_000).await;
    quick.send(beginning).await;
    until_read(&daemon).await;
    time.pass_ms(4_900).await;
    assert_answers(&mut quick, rest, 200).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_be_idle_for_two_minutes_between_requests() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut connection = RawConnection::open(&daemon).await;
    for _ in 0..3 {
        assert_answers(&mut connection, &health(&daemon), 200).await;
        time.pass_ms(119_000).await;
    }
    assert_answers(&mut connection, &with_token(&daemon, "/api/status"), 200).await;
    time.pass_ms(120_001).await;
    connection.assert_closed_in_silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_has_fifteen_seconds_however_it_trickles() {
    for length in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let time = FrozenClock::time().await;
        let daemon = TestDaemon::start().await;
        let mut slow = RawConnection::open(&daemon).await;
        slow.send(begin_post(&daemon, &daemon.token(), length)).await;
        until_read(&daemon).await;
        for _ in 0..14 {
            time.pass_ms(1_000).await;
            slow.send(if length.contains("chunked") { "1\r\n \r\n" } else { " " }).await;
            until_read(&daemon).await;
        }
        time.pass_ms(1_001).await;
        let answer = slow.answer().await.expect("closed");
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (408, &json!("slow_body")),
            "{length}"
        );
        slow.assert_closed_in_silence().await;
    }
}

#[tokio::test]
async fn the_body_of_a_request_that_is_refused_is_not_waited_for() {
    let daemon = TestDaemon::start().await;
    let mut connection = RawConnection::open(&daemon).await;
    assert_answers(&mut connection, &begin_post(&daemon, "wrong", "Content-Length: 1000"), 401)
        .await;
    connection.assert_closed_in_silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_large_and_does_not_come_is_waited_for_a_second() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut connection = RawConnection::open(&daemon).await;
    let length = "Content-Length: 1048577";
    connection.send(begin_post(&daemon, &daemon.token(), length)).await;
    until_read(&daemon).await;
    time.pass_ms(1_001).await;
    assert_eq!(connection.answer().await.expect("closed").status, 413);
}

#[tokio::test(start_paused = true)]
async fn what_is_being_answered_lasts_as_long_as_it_likes() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut follower = RawConnection::open(&daemon).await;
    follower.send(with_token(&daemon, "/api/commands?follow=1")).await;
    follower.read_until("\"known\"").await;
    for _ in 0..10 {
        time.pass_ms(60_000).await;
    }
    let id = McpClient::legacy(&daemon).script("1", 7).await;
    follower.read_until(&id).await;
}

/// How many connections may be open that have proved nothing.
const UNPROVEN: usize = 64;

#[tokio::test]
async fn a_65th_connection_that_has_proved_nothing_costs_the_oldest_its_place() {
    let daemon = TestDaemon::start().await;
    let mut proven = RawConnection::open(&daemon).await;
    assert_answers(&mut proven, &with_token(&daemon, "/api/status"), 200).await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    // An extension that has not said `hello` has proved nothing either.
    let mut unpaired = ExtensionBuilder::of(&daemon).open().await;
    unpaired.challenge().await;
    let mut silent = Vec::new();
    for _ in 1..UNPROVEN {
        silent.push(RawConnection::open(&daemon).await);
    }
    // Proves itself, and so takes nobody's place for long.
    let client = McpClient::legacy(&daemon);
    let id = client.script("1", 7).await;
    assert!(unpaired.try_next().await.is_none(), "the oldest goes");
    let mut more = Vec::new();
    for _ in 0..2 {
        more.push(RawConnection::open(&daemon).await);
    }
    silent[0].assert_closed_in_silence().await;
    assert_answers(&mut silent[2], &health(&daemon), 200).await;
    assert_answers(&mut proven, &with_token(&daemon, "/api/status"), 200).await;
    extension.run(&json!(1)).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
}

#[tokio::test]
async fn two_hundred_half_open_connections_hold_up_no_good_client() {
    let daemon = TestDaemon::start().await;
    let mut half_open = Vec::new();
    for number in 0..200 {
        let mut connection = RawConnection::open(&daemon).await;
        if number % 2 == 0 {
            connection.send("GET /health HTTP/1.1\r\nX-Slow: ").await;
        }
        half_open.push(connection);
    }
    // What a busy machine does to one call it does not do to each.
    let mut in_time = 0;
    for _ in 0..10 {
        let client = McpClient::modern(&daemon);
        let watch = Stopwatch::start();
        client.call("configure", json!({"action": "health"})).await;
        in_time += u32::from(watch.is_under(100));
    }
    assert!(in_time > 0, "no call of a good client took less than 100 ms");
}

/// A daemon that may have so many files open, connections among them.
async fn serve_with_files(place: &ProgramSandbox, files: u32) -> ServedDaemon {
    let limited = format!("ulimit -n {files}; exec \"$@\"");
    let program = place.command(&[]);
    let mut command = place.command_of("sh", &["-c", &limited, "sh"]);
    command.arg(program.as_std().get_program()).args(["serve", "--json"]);
    place.serve_by(command).await
}

#[tokio::test]
async fn a_daemon_that_can_open_no_more_files_goes_on() {
    let place = ProgramSandbox::new();
    let daemon = serve_with_files(&place, 64).await;
    let mut half_open = Vec::new();
    for _ in 0..150 {
        half_open.push(RawConnection::to(daemon.port).await);
    }
    let token = place.home().auth().token(&DEFAULT_OWNER.into());
    let client = McpClient::at(daemon.port, token);
    client.call("configure", json!({"action": "health"})).await;
    drop(half_open);
    let (status, said) = daemon.stop().await;
    assert!(status.success(), "{said}");
    assert_eq!(said.matches("connections cannot be accepted").count(), 1, "{said}");
}

#[tokio::test]
async fn an_owner_who_takes_all_places_locks_nobody_out() {
    let place = ProgramSandbox::new();
    let daemon = serve_with_files(&place, 128).await;
    let home = place.home();
    let mut extension = ExtensionBuilder::at(daemon.port, &home).connect().await;
    let token = token_of(&home, "greedy");
    let status = authorized("GET /api/status", daemon.port, &token) + "\r\n";
    let mut kept = Vec::new();
    for _ in 0..200 {
        let mut connection = RawConnection::to(daemon.port).await;
        assert_answers(&mut connection, &status, 200).await;
        kept.push(connection);
    }
    let client = McpClient::at(daemon.port, home.auth().token(&DEFAULT_OWNER.into()));
    let id = client.script("1", 7).await;
    extension.run(&json!(1)).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
    kept[0].assert_closed_in_silence().await;
    drop(kept);
    assert!(daemon.stop().await.0.success());
}

/// A request of another user's program; `None` where there can be none.
#[expect(clippy::print_stderr, reason = "whoever runs the tests is to know what was not tried")]
async fn as_another_user(port: u16) -> Option<String> {
    if !rustix::process::geteuid().is_root() || !cfg!(target_os = "linux") {
        eprintln!("skipped: only root on Linux can start another user's program");
        return None;
    }
    const REQUEST: &str = r#"trap '' PIPE; exec 3<>"/dev/tcp/127.0.0.1/$1" && echo connected
        printf "GET /health HTTP/1.1\r\nHost: 127.0.0.1:$1\r\nConnection: close\r\n\r\n" >&3; cat <&3"#;
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", REQUEST]);
    command.args(["bash", &port.to_string()]).stdin(Stdio::null());
    Some(finish(command).await.stdout)
}

#[tokio::test]
async fn another_users_connection_is_closed_before_a_byte_is_read() {
    let daemon = TestDaemon::start().await;
    let Some(said) = soon("its end", as_another_user(daemon.port())).await else { return };
    let mut row = RowReport::new(6);
    row.tried("a request of another user's", said == "connected\n", &said);
    row.report();
    let mut own = RawConnection::open(&daemon).await;
    assert_answers(&mut own, &health(&daemon), 200).await;
}
