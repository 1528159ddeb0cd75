//! How clients begin: what they say of themselves, what they leave out, what they try first.

use std::fs;

use hyper::StatusCode;
use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, McpClient, ProgramSandbox, RawConnection, StdioClient, TestDaemon,
    authorized, modern_meta,
};

fn initialize(version: &str, name: &str) -> Value {
    json!({
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": name, "version": "1.2"},
    })
}

fn health() -> Value {
    json!({"name": "configure", "arguments": {"action": "health"}})
}

/// What this client has said that it is.
async fn program(client: &mut StdioClient) -> Value {
    let clients = client.call("configure", json!({"action": "clients"})).await;
    let own = clients["clients"].as_array().unwrap().iter();
    let own = own.into_iter().find(|one| one["client"] == clients["you"]);
    own.unwrap()["program"].clone()
}

#[tokio::test]
async fn initialize_after_discover_is_fine() {
    let daemon = TestDaemon::start().await;
    let (modern, legacy) = (McpClient::modern(&daemon), McpClient::legacy(&daemon));
    let discovered = modern.rpc("server/discover", json!({})).await;
    assert_eq!(discovered.status, StatusCode::OK);
    let begun = legacy.rpc("initialize", initialize("2025-06-18", "it")).await.json();
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18", "{begun}");
    assert_eq!(legacy.call("configure", json!({"action": "health"})).await["status"], "ok");
    assert_eq!(modern.call("configure", json!({"action": "health"})).await["status"], "ok");
}

#[tokio::test]
async fn over_stdio_initialize_after_discover_is_fine_too() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let meta = json!({"_meta": modern_meta()});
    let discovered = client.rpc(json!("probe"), "server/discover", meta).await;
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    let begun = client.rpc(json!(0), "initialize", initialize("2025-11-25", "it")).await;
    assert_eq!(begun["result"]["protocolVersion"], "2025-11-25", "{begun}");
    let answer = client.rpc(json!(1), "tools/call", health()).await;
    assert_eq!(answer["result"]["structuredContent"]["status"], "ok", "{answer}");
    assert_eq!(answer["result"].get("resultType"), None, "in the form of what was agreed on");
}

#[tokio::test]
async fn a_client_that_never_sends_the_version_header_is_served() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    let post = async |message: Value| {
        let message = message.to_string().into_bytes();
        client.post(&[], message).await
    };
    let ask = async |id: i64, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = post(message).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.json()["result"].clone()
    };
    let begun = ask(0, "initialize", initialize("2025-06-18", "it")).await;
    assert_eq!(begun["protocolVersion"], "2025-06-18");
    let told = post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(told.status, StatusCode::ACCEPTED);
    assert_eq!(ask(1, "tools/list", json!({})).await["tools"][0]["name"], "interact");
    let script = json!({"action": "execute_js", "script": "1", "wait_ms": 5_000});
    let (result, ()) = tokio::join!(
        ask(2, "tools/call", json!({"name": "interact", "arguments": script})),
        async {
            extension.run(&json!(7)).await;
        },
    );
    assert_eq!(result["structuredContent"]["result"], 7, "{result}");
}

#[tokio::test]
async fn a_throw_away_probe_leaves_nothing_and_the_client_goes_on_in_another_process() {
    let place = ProgramSandbox::new();
    let mut probe = StdioClient::start(&place);
    let mut client = StdioClient::start(&place);
    let meta = json!({"_meta": modern_meta()});
    let discovered = probe.rpc(json!("probe"), "server/discover", meta).await;
    assert_eq!(discovered["result"]["resultType"], "complete");
    probe.kill().await;
    client.rpc(json!(0), "initialize", initialize("2025-11-25", "it")).await;
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nobody needed a daemon yet");
    let clients = client.call("configure", json!({"action": "clients"})).await;
    assert_eq!(clients["count"], 1, "the probe was no client: {clients}");
}

#[tokio::test]
async fn the_daemon_knows_which_program_calls_also_after_a_restart() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    client.rpc(json!(0), "initialize", initialize("2025-11-25", "Claude\u{1b}[2J Code")).await;
    assert_eq!(program(&mut client).await, "Claude[2J Code 1.2", "and no escapes of its own");
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    assert_eq!(program(&mut client).await, "Claude[2J Code 1.2");
    client.rpc(json!(1), "initialize", initialize("2025-11-25", "Another")).await;
    assert_eq!(program(&mut client).await, "Another 1.2", "what it says last counts");
    let shown = place.run(&["status"]).await.stdout;
    assert!(shown.contains("Another 1.2"), "{shown}");
}

#[tokio::test]
async fn a_modern_client_says_with_each_request_which_program_it_is() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon).named("a");
    client.call("configure", json!({"action": "health"})).await;
    let clients = client.call("configure", json!({"action": "clients"})).await;
    assert_eq!(clients["clients"][0]["program"], "it 1", "{clients}");
    let legacy = McpClient::legacy(&daemon).named("b");
    let clients = legacy.call("configure", json!({"action": "clients"})).await;
    let silent = clients["clients"].as_array().unwrap().iter().find(|one| one["client"] == "b");
    assert_eq!(silent.unwrap().get("program"), None, "who says nothing has no name made up");
}

#[tokio::test]
async fn requests_sent_at_once_on_one_connection_are_all_answered_in_order() {
    let daemon = TestDaemon::start().await;
    let mut connection = RawConnection::open(&daemon).await;
    let head = authorized("POST /mcp", daemon.port(), &daemon.token());
    let mut bytes = String::new();
    for id in 1..=20 {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": health()});
        let body = body.to_string();
        bytes.push_str(&format!(
            "{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    }
    connection.send(bytes).await;
    for id in 1..=20 {
        let answer = connection.answer().await.unwrap();
        assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(id)));
    }
}

#[tokio::test]
async fn over_stdio_a_call_that_waits_holds_up_none_of_those_behind_it() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(served.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    client.rpc(json!(0), "initialize", initialize("2025-11-25", "it")).await;
    let script = json!({"action": "execute_js", "script": "1", "wait_ms": 20_000});
    client.ask(&json!("slow"), "interact", script).await;
    let command = extension.command().await;
    for id in 1..=20 {
        client.ask(&json!(id), "configure", json!({"action": "health"})).await;
    }
    for id in 1..=20 {
        let answer = client.answer(&json!(id)).await;
        assert_eq!(answer["result"]["structuredContent"]["status"], "ok", "{answer}");
    }
    extension.claim(&command).await;
    extension.complete(&command, &json!(7)).await;
    let slow = client.answer(&json!("slow")).await;
    assert_eq!(slow["result"]["structuredContent"]["result"], 7, "{slow}");
}
