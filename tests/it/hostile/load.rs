//! Owners who send large requests, one after another on several connections; and large frames on a
//! connection on which something else was proved before.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::FromExtension;
use tokio_tungstenite::tungstenite::Message;

use testkit::{
    ExtensionBuilder, McpClient, RawConnection, RowReport, Stopwatch, TestDaemon, authorized, soon,
};

const MIB: usize = 1024 * 1024;

/// How many connections send large requests at the same time.
const SENDERS: usize = 3;

/// How many large requests of one sender are more than can come while somebody else calls.
const ENOUGH: usize = 1_000;

/// How many calls somebody else makes meanwhile, and how far apart.
const CALLS: usize = 60;
const PACE: Duration = Duration::from_millis(20);

/// JSON of so many bytes that takes as long to parse as one of this size can.
fn dense(begin: &str, size: usize, end: &str) -> String {
    let mut json = begin.to_owned() + "[";
    while json.len() + end.len() + 16 < size {
        json.push_str(r#"{"":0},"#);
    }
    json + "0]" + end
}

/// A request for `/mcp` of this owner.
fn request(daemon: &TestDaemon, owner: &str, client: usize, body: &[u8]) -> Vec<u8> {
    let authorized = authorized("POST /mcp", daemon.port(), &daemon.token_of(owner));
    let head = format!(
        "{authorized}X-Tabwire-Client: {client}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// What the calls of somebody else take at the median while this goes on, in milliseconds.
async fn median_beside(daemon: &TestDaemon, flood: impl Future<Output = ()>) -> u128 {
    let client = McpClient::legacy(daemon).named("another");
    let mut took = Vec::new();
    let call = async {
        for _ in 0..CALLS {
            let watch = Stopwatch::start();
            client.call("configure", json!({"action": "health"})).await;
            took.push(watch.millis());
            tokio::time::sleep(PACE).await;
        }
    };
    tokio::select! {
        () = flood => panic!("it never stops"),
        () = call => {}
    }
    took.sort_unstable();
    took[CALLS / 2]
}

#[tokio::test]
async fn row_34_others_do_not_wait_while_large_requests_are_parsed() {
    // What holds back by the minute is tried by itself.
    let daemon = TestDaemon::with(|settings| settings.limits.mib_per_minute = 0).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"configure","arguments":{"action":"health","_":"#;
    let body = dense(call, MIB, "}}}");
    let parsing = Stopwatch::start();
    drop(serde_json::from_str::<Value>(&body).unwrap());
    let parsing = parsing.millis();
    let request = request(&daemon, DEFAULT_OWNER, 0, body.as_bytes());
    let send = async || {
        let mut connection = RawConnection::open(&daemon).await;
        for _ in 0..ENOUGH {
            connection.send(&request).await;
            let answer = connection.answer().await.expect("closed");
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    };
    let flood = async { drop(join_all((0..SENDERS).map(|_| send())).await) };
    let median = median_beside(&daemon, flood).await;
    let mut row = RowReport::new(34);
    let came = format!("{median} ms beside requests that take {parsing} ms to parse");
    println!("hostile row 34: {came}");
    row.tried("a call beside large requests", median < parsing / 2, came);
    row.report();
}

#[tokio::test]
async fn row_34_others_do_not_wait_while_large_frames_of_an_extension_are_parsed() {
    let daemon = TestDaemon::start().await;
    let text = dense(r#"{"type":"pong","t":1,"_":"#, MIB, "}");
    let parsing = Stopwatch::start();
    drop(FromExtension::parse(&text).unwrap());
    let parsing = parsing.millis();
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    // The last four bytes are the mask.
    let length = u64::try_from(text.len()).unwrap().to_be_bytes();
    let frame = [&[0x81, 0xff][..], &length, &[0; 4], text.as_bytes()].concat();
    let flood = async {
        for _ in 0..ENOUGH {
            extension.send_raw(&frame).await;
        }
    };
    let median = median_beside(&daemon, flood).await;
    let mut row = RowReport::new(34);
    let came = format!("{median} ms beside frames that take {parsing} ms to parse");
    println!("hostile row 34: {came}");
    row.tried("a call beside large frames", median < parsing / 2, came);
    row.report();
}

#[tokio::test]
async fn row_34_bytes_are_counted_by_owner_whatever_the_client_calls_itself() {
    let daemon = TestDaemon::with(|settings| settings.limits.mib_per_minute = 2).await;
    let padding = " ".repeat(MIB / 2 - 64);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"{padding}}}"#);
    let ask = async |owner: &str, client: usize| {
        let mut connection = RawConnection::open(&daemon).await;
        connection.send(request(&daemon, owner, client, body.as_bytes())).await;
        connection.answer().await.expect("closed")
    };
    for client in 0..4 {
        assert_eq!(ask("greedy", client).await.status, 200);
    }
    let mut row = RowReport::new(34);
    for client in 4..7 {
        let answer = ask("greedy", client).await;
        let refusal = answer.json();
        let is_refused = answer.status == 429
            && refusal["error"] == "rate_limited"
            && refusal["retry_after_ms"].as_f64().is_some_and(|ms| ms > 1.0 && ms < 60_000.0)
            && answer.header("retry-after").is_some();
        row.tried("half a MiB more", is_refused, format!("{answer:?}"));
    }
    row.report();
    assert_eq!(ask("another", 0).await.status, 200, "another owner");
    let small = request(&daemon, "greedy", 8, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let mut connection = RawConnection::open(&daemon).await;
    connection.send(small).await;
    assert_eq!(connection.answer().await.expect("closed").status, 200, "a small request");
}

#[tokio::test]
async fn row_34_bytes_are_counted_also_where_no_request_is_large() {
    let daemon = TestDaemon::with(|settings| settings.limits.mib_per_minute = 1).await;
    let body = dense(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_":"#, 16 * 1024, "}}");
    let mut connection = RawConnection::open(&daemon).await;
    let mut row = RowReport::new(34);
    let mut taken = 0;
    let refused = loop {
        connection.send(request(&daemon, "greedy", taken, body.as_bytes())).await;
        let answer = connection.answer().await.expect("closed");
        if answer.status != 200 || taken == ENOUGH {
            break answer;
        }
        taken += 1;
    };
    assert!(taken >= MIB / body.len(), "{taken}");
    row.tried("requests of 16 KiB", refused.status == 429, format!("{taken}, then {refused:?}"));
    row.report();
}

#[tokio::test]
async fn row_34_before_a_valid_hello_64_kib_are_read_also_where_something_else_was_proved() {
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(34);
    let proving = authorized("GET /api/status", daemon.port(), &daemon.token()) + "\r\n";
    let mut connection = RawConnection::open(&daemon).await;
    connection.send(proving).await;
    assert_eq!(connection.answer().await.expect("closed").status, 200);
    let mut extension = ExtensionBuilder::of(&daemon).open_on(connection.into_stream()).await;
    extension.challenge().await;
    extension.try_send_message(Message::text("x".repeat(64 * 1024))).await;
    let closed = soon("its end", extension.closed_without_a_frame()).await;
    row.tried("a large frame", closed.0 == 1009, format!("{closed:?}"));
    row.report();
}
