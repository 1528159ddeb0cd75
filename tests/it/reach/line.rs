//! The line itself: what a hostile far end sends, and a line that is silent.

use std::time::Duration;

use tabwire::protocol::Owner;
use tabwire::reach::{LineKind, serve};
use testkit::{RowReport, TestDaemon, soon};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::{far_owner, home_as, home_of};

/// The beginning of HTTP/2, with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(body);
    frame
}

/// A field of a head, as a literal that is not indexed.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0, u8::try_from(name.len()).unwrap()];
    field.extend(name.bytes());
    field.push(u8::try_from(value.len()).unwrap());
    field.extend(value.bytes());
    field
}

/// A request without a body.
fn request(stream: u32, method: &str, path: &str) -> Vec<u8> {
    head(stream, method, path, true)
}

/// The next frame that has come as a whole: its kind and its body.
fn next_frame(said: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let [a, b, c, kind, ..] = *said.as_slice() else { return None };
    let length = 9 + usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap();
    (said.len() >= length).then(|| (kind, said.drain(..length).skip(9).collect()))
}

/// The head of a request.
fn head(stream: u32, method: &str, path: &str, is_whole: bool) -> Vec<u8> {
    let fields = [(":method", method), (":scheme", "http"), (":authority", "x"), (":path", path)];
    let head: Vec<u8> = fields.into_iter().flat_map(|(name, value)| field(name, value)).collect();
    frame(1, if is_whole { 0x5 } else { 0x4 }, stream, &head)
}

/// Everything that home says until it closes the line, or is silent for a moment.
async fn said(line: &mut DuplexStream) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = tokio::time::timeout(Duration::from_millis(500), line.read(&mut buffer)).await;
        match read {
            Ok(Ok(0) | Err(_)) => return (all, true),
            Ok(Ok(length)) => all.extend(&buffer[..length]),
            Err(_silent) => return (all, false),
        }
    }
}

/// Home serves others while one far end does this.
async fn assert_others_are_served(daemon: &TestDaemon) {
    let client = testkit::McpClient::legacy(daemon);
    client.call("configure", serde_json::json!({"action": "health"})).await;
}

#[tokio::test]
async fn of_a_far_end_that_asks_for_more_than_mcp_nothing_is_passed_on() {
    let daemon = TestDaemon::start().await;
    let (mut line, _home) = home_as(&daemon, &far_owner(&daemon));
    line.write_all(PREFACE).await.unwrap();
    let asked = [
        ("GET", "/api/status"),
        ("GET", "/ws"),
        ("GET", "/metrics"),
        ("GET", "/health"),
        ("POST", "/mcp/../api/asks"),
        ("POST", "/mcp/"),
        ("POST", "/mcp?tools=split"),
        ("POST", "//mcp"),
        ("POST", "/%6dcp"),
        ("DELETE", "/mcp"),
        ("PUT", "/mcp"),
    ];
    let mut row = RowReport::new(56);
    for (number, (method, path)) in asked.into_iter().enumerate() {
        let stream = u32::try_from(2 * number + 1).unwrap();
        line.write_all(&request(stream, method, path)).await.unwrap();
        let (answer, _) = said(&mut line).await;
        let text = String::from_utf8_lossy(&answer);
        row.tried(&format!("{method} {path}"), text.contains("not_carried"), &text);
    }
    assert_others_are_served(&daemon).await;
    row.report();
}

/// Sends all this as a far end, and waits for the end of the line; whether home takes the line for a bad one.
async fn ends_the_line(daemon: &TestDaemon, owner: &Owner, flood: &[u8]) -> bool {
    let (mut line, home) = home_as(daemon, owner);
    // Home closes before all is sent.
    let sending = async {
        let _ = line.write_all(flood).await;
        said(&mut line).await
    };
    let (ended, _said) = soon("the end of the line", async { tokio::join!(home, sending) }).await;
    assert_others_are_served(daemon).await;
    ended.unwrap().is_err()
}

#[tokio::test]
async fn rubbish_and_headers_without_end_end_the_line_and_others_are_undisturbed() {
    let daemon = TestDaemon::start().await;
    let owner = far_owner(&daemon);
    let mut row = RowReport::new(56);
    let is_ended = ends_the_line(&daemon, &owner, &vec![0xaa; 256 * 1024]).await;
    row.tried("rubbish", is_ended, "");
    // As much as a gibibyte would be refused as soon: home reads no more than it takes.
    let mut endless = PREFACE.to_vec();
    endless.extend(frame(1, 0, 1, &field(":method", "POST")));
    for _ in 0..2_000 {
        endless.extend(frame(9, 0, 1, &vec![0; 16 * 1024]));
    }
    let is_ended = ends_the_line(&daemon, &owner, &endless).await;
    row.tried("headers without end", is_ended, "");
    row.report();
}

#[tokio::test]
async fn of_ten_thousand_calls_at_once_no_more_than_256_are_taken_and_others_are_undisturbed() {
    let daemon = TestDaemon::start().await;
    let (line, home) = home_as(&daemon, &far_owner(&daemon));
    let (mut from_home, mut to_home) = tokio::io::split(line);
    let flood = tokio::spawn(async move {
        let mut sent = PREFACE.to_vec();
        for number in 0..10_000 {
            // Their bodies never come.
            sent.extend(head(2 * number + 1, "POST", "/mcp", false));
        }
        // Home may close before all is sent.
        let _ = to_home.write_all(&sent).await;
        to_home
    });
    let counting = async {
        let mut refused = 0;
        let mut said = Vec::new();
        loop {
            let read = from_home.read_buf(&mut said).await;
            let is_over = !matches!(read, Ok(1..));
            while let Some((kind, frame)) = next_frame(&mut said) {
                // RST_STREAM with REFUSED_STREAM, or the end of the line.
                refused += usize::from(kind == 3 && frame.ends_with(&[0, 0, 0, 7]));
                // Or home ends the line.
                if kind == 7 || refused == 10_000 - 256 {
                    return true;
                }
            }
            if is_over {
                return refused > 0;
            }
        }
    };
    let is_refused = soon("the refusals", counting).await;
    assert_others_are_served(&daemon).await;
    let mut row = RowReport::new(56);
    row.tried("10,000 calls at once", is_refused, "");
    row.report();
    home.abort();
    drop(flood);
}

#[tokio::test(start_paused = true)]
async fn a_far_end_that_is_silent_is_given_up_within_seconds() {
    let daemon = TestDaemon::start().await;
    let (near, mut far) = tokio::io::duplex(64 * 1024);
    let home =
        tokio::spawn(serve(near, home_of(&daemon, &far_owner(&daemon)), LineKind::SameMachine));
    far.write_all(PREFACE).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), home).await;
    assert!(ended.expect("it is given up").unwrap().is_err(), "it did not break");
}
