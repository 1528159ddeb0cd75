//! A client of MCP that declares elicitation and accepts each question by itself, as a program may that
//! has no person.

use serde_json::{Value, json};

use testkit::{LEGACY, RowReport, StdioClient, TestDaemon, cli_of};

/// The ids that the daemon may give to questions of its own. A client that guesses them answers before
/// it is asked.
const GUESSED: i64 = 8;

/// Has such a client read a command, or a question to the person, and accept all that it is asked
/// meanwhile and all that it might be asked, with each of these answers.
pub(super) async fn try_acceptance(
    row: &mut RowReport,
    daemon: &TestDaemon,
    id: &str,
    answers: &[Value],
    is_open: impl AsyncFn() -> bool,
) {
    let port = daemon.port().to_string();
    let bridge = cli_of(daemon, &["mcp", "--port", &port]);
    let mut client = StdioClient::spawn(bridge).without_checks();
    let hello = json!({
        "protocolVersion": LEGACY, "clientInfo": {"name": "it", "version": "1"},
        "capabilities": {"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}},
    });
    client.rpc(json!("hello"), "initialize", hello).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    for answer in answers {
        let accepted = json!({
            "action": "accept", "content": {"correlation_id": id, "answer": answer, "value": true},
        });
        let unasked = (0..GUESSED).map(Value::from).chain([json!(id)]);
        for guess in unasked {
            client.send(&json!({"jsonrpc": "2.0", "id": guess, "result": accepted})).await;
        }
        let read = json!({"what": "command_result", "correlation_id": id, "wait_ms": 200});
        client.ask(&json!("read"), "observe", read).await;
        let told = loop {
            let message = client.read().await.expect("the bridge runs");
            if message["id"] == "read" {
                break message;
            }
            if message["method"].is_string() && !message["id"].is_null() {
                let said = json!({"jsonrpc": "2.0", "id": message["id"], "result": accepted});
                client.send(&said).await;
            }
        };
        let has_read = told["result"]["structuredContent"].to_string().contains(id);
        let way = format!("a client that accepts each elicitation: {answer}");
        row.tried(&way, has_read && is_open().await, &told);
    }
}
