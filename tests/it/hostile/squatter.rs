//! A program that took the port before the daemon, or after it: another user's, say. It has no
//! key.

use std::time::Duration;

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use testkit::{
    BrowserUser, ProgramSandbox, RowReport, StdioClient, TestDaemon, TestPages, past_health,
    signal, soon,
};

/// Twice what the extension gives whoever listens to prove itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// What it says instead of a `welcome`, to a `hello`.
fn lies(hello: &Value) -> Vec<(&'static str, Vec<Value>)> {
    let command = json!({
        "v": 1, "type": "command", "correlation_id": "exec_1", "attempt": 1, "action": "execute_js",
        "command": {"type": "execute_js"}, "params": {"script": "location.href = '/taken'"},
        "safe": true, "tab_id": null, "timeout_ms": 5_000,
    });
    let welcome = |mac: &Value| json!({"v": 1, "type": "welcome", "epoch": "e", "mac": mac, "protocol": 2, "server_version": "0.1.0"});
    let guess = json!("A".repeat(43));
    vec![
        ("a guessed proof, then a command", vec![welcome(&guess), command.clone()]),
        ("its own proof", vec![welcome(&hello["mac"]), command.clone()]),
        ("no proof", vec![welcome(&json!("")), command.clone()]),
        ("a command at once", vec![command.clone(), command]),
    ]
}

/// Takes a socket as the daemon does.
#[expect(clippy::result_large_err, reason = "tungstenite's own type")]
async fn accept(stream: TcpStream) -> Option<tokio_tungstenite::WebSocketStream<TcpStream>> {
    let stream = past_health(stream).await?;
    let speak = |_: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        response.headers_mut().insert("sec-websocket-protocol", "tabwire.v1".parse().unwrap());
        Ok(response)
    };
    tokio_tungstenite::accept_hdr_async(stream, speak).await.ok()
}

#[tokio::test]
async fn row_7_a_squatter_on_the_port_of_a_daemon_that_ended_gets_no_call_and_no_token() {
    let place = ProgramSandbox::new();
    let mut agent = StdioClient::start(&place);
    let health = || json!({"action": "health"});
    agent.call("configure", health()).await;
    let gone = place.daemon().unwrap();
    // What it leaves says that it is still there.
    signal(gone.pid, Signal::KILL);
    place.until_no_daemon().await;
    let squatter = TcpListener::bind(("127.0.0.1", gone.port)).await.unwrap();
    let mut row = RowReport::new(7);
    for words in [&["status"][..], &["commands"], &["sites", "deny", "example.com"]] {
        place.run(words).await;
        let called = squatter.accept().now_or_never();
        row.tried(words[0], called.is_none(), format!("{called:?}"));
    }
    tokio::select! {
        biased;
        taken = squatter.accept() => row.tried("a bridge", false, format!("{taken:?}")),
        answer = agent.call("configure", health()) => {
            assert_eq!(answer["status"], "ok");
            let is_left_alone = squatter.accept().now_or_never().is_none();
            row.tried("a bridge", is_left_alone, "it was called first");
        }
    }
    row.report();
}

mod browser {
    use super::*;

    #[tokio::test]
    async fn row_7_a_squatter_on_the_port_is_told_nothing_and_runs_nothing() {
        let daemon = TestDaemon::start().await;
        let pages = TestPages::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (browser, _folder) = BrowserUser::open_browser(&daemon, port, &pages.url("/"));
        let mut row = RowReport::new(7);
        let mut lie = 0;
        while lie < 4 {
            let (stream, _) = soon("the extension", listener.accept()).await.unwrap();
            // What comes over HTTP, beside sockets or instead, is not answered.
            let Some(mut socket) = accept(stream).await else { continue };
            let challenge =
                json!({"v": 1, "type": "challenge", "nonce": "A".repeat(43), "protocol": [2]});
            socket.send(Message::text(challenge.to_string())).await.unwrap();
            let Some(Ok(Message::Text(hello))) = soon("a hello", socket.next()).await else {
                continue;
            };
            let hello: Value = serde_json::from_str(&hello).unwrap();
            assert_eq!(hello["type"], "hello");
            let (what, frames) = lies(&hello).swap_remove(lie);
            lie += 1;
            row.tried("a hello", !hello.to_string().contains("tabs"), &hello);
            for frame in frames {
                let _ = socket.send(Message::text(frame.to_string())).await;
            }
            let mut said = Vec::new();
            let listening = async {
                while let Some(Ok(message)) = socket.next().await {
                    if let Message::Text(text) = message {
                        said.push(text.to_string());
                    }
                }
            };
            tokio::time::timeout(PATIENCE, listening).await.expect("it hangs up");
            row.tried(what, said.is_empty(), said.join(" "));
        }
        row.tried("the page", pages.hits("/taken") == 0, "it was touched");
        row.report();
        browser.end().await;
        daemon.stop().await;
    }
}
