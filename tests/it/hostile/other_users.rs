//! Another user of the computer, who sends a request and closes the socket at once; and a system
//! that does not say which user a connection belongs to.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::edge::{EdgeServer, PeerUser};
use tabwire::hub::Hub;
use tabwire::install::BrowserFolders;
use tabwire::lifecycle::Limits;
use tabwire::proof::DEFAULT_OWNER;
use tabwire::tools::ToolSet;

use testkit::PollingExtension;
use testkit::{
    ExtensionBuilder, McpClient, RawAnswer, RawConnection, RowReport, StateDir, TestDaemon,
    authorized, become_user,
};

const TRIES: usize = 100;

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

const POLLER: &str = "Origin: chrome-extension://pknkjmecjogdphnahbagadepchhknbfe";

/// A request of a polling extension, as anybody can write it.
fn forged(port: u16, route: &str, body: &Value) -> String {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    format!(
        "{route} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{POLLER}\r\nX-Gasoline-Session: ext_1_a\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn drawing() -> Value {
    json!({"annotations": [{"text": "buy this"}], "page_url": "http://shop.example/"})
}

/// Sends a request over many connections as another user, and closes each at once: with a reset
/// if `linger` is zero. Whether it could be done.
fn send_and_close(port: u16, request: String, linger: Option<Duration>) -> bool {
    let sending = std::thread::spawn(move || {
        // The socket belongs to whom the thread is.
        if !become_user(NOBODY) {
            return false;
        }
        for _ in 0..TRIES {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            // The daemon may have closed it by then.
            let _ = stream.write_all(request.as_bytes());
            rustix::net::sockopt::set_socket_linger(&stream, linger).unwrap();
        }
        true
    });
    sending.join().unwrap()
}

/// How many requests the daemon has read, that of this question included.
async fn requests_read(client: &McpClient) -> u64 {
    let health = client.call("configure", json!({"action": "health"})).await;
    let requests = &health["requests"];
    requests["admitted"].as_u64().unwrap() + requests["refused"].as_u64().unwrap()
}

// On one thread with the daemon, which accepts the connections only when all of them are closed.
#[tokio::test]
async fn row_25_another_user_who_closes_at_once_is_not_read() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let daemon = TestDaemon::start().await;
    PollingExtension::connect(&daemon).await;
    let (port, client) = (daemon.port(), McpClient::legacy(&daemon));
    let mut row = RowReport::new(25);
    for (how, linger) in [("closed", None), ("reset", Some(Duration::ZERO))] {
        let before = requests_read(&client).await;
        // Two at once: an HTTP server that has more to parse does not notice the end first.
        let request = forged(port, "POST /draw-mode/complete", &drawing()).repeat(2);
        assert!(send_and_close(port, request, linger), "root can be another user");
        // What was accepted before this one has been looked up, also a second time.
        RawConnection::open(&daemon).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let read = requests_read(&client).await - before - 1;
        for number in 0..TRIES {
            let is_refused = u64::try_from(number).unwrap() >= read;
            row.tried(&format!("a drawing, then {how}"), is_refused, "it was read");
        }
    }
    let drawings = std::fs::read_dir(daemon.home().dir().join("drawings"));
    let kept = drawings.map_or(0, |folder| folder.count());
    row.tried("what is kept of them", kept == 0, kept);
    row.report();
}

/// A daemon's edge on a system that does not tell users apart.
async fn serve_unknown_users(dir: &StateDir) -> (u16, EdgeServer) {
    let tools = ToolSet::new(Hub::start(Limits::default()), Duration::ZERO);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = EdgeServer::new(port, dir.home(), tools, None, BrowserFolders::default());
    let accepting = server.clone();
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            accepting.handle_connection(stream, peer, PeerUser::Unknown);
        }
    });
    (port, server)
}

async fn answer_to(port: u16, request: String) -> RawAnswer {
    let mut connection = RawConnection::to(port).await;
    connection.send(request).await;
    connection.answer().await.expect("an answer")
}

#[tokio::test]
async fn row_25_where_users_are_not_told_apart_nobody_polls_without_a_proof() {
    let dir = StateDir::default();
    let (port, server) = serve_unknown_users(&dir).await;
    let mut row = RowReport::new(25);
    let session = json!({"session_id": "ext_1_a", "settings": {}});
    for (route, body) in [
        ("POST /settings", session),
        ("GET /pending-queries", Value::Null),
        ("POST /query-result", json!({"id": "q_1", "result": 1})),
        ("POST /execute-result", json!({"id": "q_1", "result": 1})),
        ("POST /logs", json!({"entries": []})),
        ("POST /draw-mode/complete", drawing()),
    ] {
        let answer = answer_to(port, forged(port, route, &body)).await;
        let code = answer.json()["error"].clone();
        // With an `Origin` this one is turned away before.
        let is_refused = answer.status == 403 && (code == "unknown_user" || body.is_null());
        row.tried(route, is_refused, format!("{answer:?}"));
    }
    let poll =
        forged(port, "GET /pending-queries", &Value::Null).replace(POLLER, "X-From: a program");
    let answer = answer_to(port, poll).await;
    let is_refused = answer.status == 403 && answer.json()["error"] == "unknown_user";
    row.tried("a poll of a program", is_refused, format!("{answer:?}"));
    let hint = answer.json()["hint"].clone();
    assert!(hint.as_str().unwrap().contains("`tabwire install`"), "{hint}");
    row.report();

    // Tokens and proofs go on as ever.
    let token = dir.home().auth().token(&DEFAULT_OWNER.into());
    let client = McpClient::at(port, token.clone());
    let mut extension = ExtensionBuilder::at(port, &dir.home()).connect().await;
    let id = client.script("1", 7).await;
    extension.run(&json!(1)).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
    let status = authorized("GET /api/status", port, &token) + "\r\n";
    assert_eq!(answer_to(port, status).await.json()["peer_users"], "unknown");
    drop(extension);
    server.end().await;
}
