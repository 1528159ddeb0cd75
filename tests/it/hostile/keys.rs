//! Idempotency keys of others: guessed, repeated, and used to cancel.

use serde_json::{Value, json};

use crate::lifecycle::cancel::{ask, cancel};
use testkit::{ExtensionBuilder, McpClient, RowReport, TestDaemon};

const KEY: &str = "retry-1";
const HEADER: &str = "x-tabwire-idempotency-key";

/// A script for a tab.
fn script(text: &str, tab: i64) -> Value {
    json!({"action": "execute_js", "script": text, "tab_id": tab})
}

/// The answer to a call with the key in its arguments or in its header.
async fn call(client: &McpClient, arguments: &Value, in_header: bool) -> Value {
    let mut arguments = arguments.clone();
    if !in_header {
        arguments["idempotency_key"] = KEY.into();
    }
    let params = json!({"name": "interact", "arguments": arguments});
    let (headers, message) = client.message(&json!(1), "tools/call", params);
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    if in_header {
        headers.push((HEADER, KEY));
    }
    let answer = client.post(&headers, message.to_string().into_bytes()).await;
    answer.json()["result"]["structuredContent"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_30_the_key_of_another_client_tells_nothing_and_ends_nothing() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let victim = McpClient::legacy(&daemon).named("victim");
    let taken = call(&victim, &script("1", 7), false).await;
    let id = taken["correlation_id"].as_str().unwrap().to_owned();
    let command = extension.command().await;
    extension.claim(&command).await;
    // The same call again, which waits: that one could be cancelled.
    let mut waits = script("1", 7);
    waits["wait_ms"] = 50_000.into();
    let _waiting = ask(&daemon, &victim, &json!(1), ("interact", waits), &[(HEADER, KEY)]).await;
    let mut row = RowReport::new(30);
    let of_thief = |client: McpClient| client.with_token(daemon.token_of("thief"));
    for (who, client) in [
        ("another client of the owner", McpClient::legacy(&daemon).named("other")),
        ("one without a name", McpClient::legacy(&daemon)),
        ("one of the modern era", McpClient::modern(&daemon).named("modern")),
        ("the name with another owner", of_thief(McpClient::legacy(&daemon).named("victim"))),
    ] {
        for (what, arguments) in [
            ("the same call", script("1", 7)),
            ("other work", script("2", 7)),
            ("another tab", script("1", 8)),
            ("no tab", json!({"action": "execute_js", "script": "1"})),
        ] {
            for in_header in [false, true] {
                cancel(&client, &json!(1), &[(HEADER, KEY)]).await;
                let answer = call(&client, &arguments, in_header).await;
                let text = answer.to_string();
                // The first call of a client under the key is its own, the next ones are refused
                // for what it has itself: nobody hears of the victim's.
                let is_its_own = answer["status"] == "queued";
                let is_refused = is_its_own || answer["error"] == "idempotency_key_reused";
                row.tried(&format!("{who}, {what}"), is_refused && !text.contains(&id), &text);
                if is_its_own {
                    client.cancel(answer["correlation_id"].as_str().unwrap()).await;
                }
            }
        }
        let status = victim.status(&id).await;
        row.tried(&format!("{who}: what runs goes on"), status["status"] == "pending", status);
    }
    for (what, arguments) in [("other work", script("2", 7)), ("another tab", script("1", 8))] {
        let answer = call(&victim, &arguments, true).await;
        let is_refused = answer["error"] == "idempotency_key_reused";
        row.tried(&format!("its own client, {what}"), is_refused, &answer);
    }
    let again = call(&victim, &script("1", 7), true).await;
    let is_same = again["correlation_id"] == id.as_str();
    row.tried("its own client, the same call, is no other command", is_same, &again);
    extension.complete(&command, &json!("done")).await;
    let outcome = victim.outcome(&id).await;
    row.tried("what ran has its result", outcome["result"] == "done", &outcome);
    row.report();
}
