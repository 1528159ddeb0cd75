//! The daemon's one request of clients, `roots/list`: its way through the bridge.

use serde_json::{Value, json};

use testkit::{FakeDaemon, HeldRequest, ProgramSandbox, StdioClient};

fn ask(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"})
}

fn answer(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"roots": [{"uri": "file:///home/ann"}]}})
}

fn call(id: u32, tool: &str) -> Value {
    let arguments = if tool == "configure" { json!({"action": "health"}) } else { json!({}) };
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A client that can be asked and wants to be told of jobs, with its first call and the bridge's stream.
async fn begun(place: &ProgramSandbox, daemon: &mut FakeDaemon) -> (StdioClient, HeldRequest) {
    let mut client = StdioClient::start(place).without_checks();
    let capabilities = json!({"roots": {}, "experimental": {"tabwire/jobs": {}}});
    let info = json!({"name": "it", "version": "1"});
    let params =
        json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info});
    client.rpc(json!(0), "initialize", params).await;
    client.send(&call(1, "configure")).await;
    let handshake = daemon.next().await;
    assert_eq!(handshake.json()["params"]["capabilities"]["roots"], json!({}));
    handshake.note().await;
    let mut stream = daemon.next().await;
    assert_eq!(stream.line, "GET /mcp HTTP/1.1");
    stream.accept_events().await;
    daemon.next().await.answer(false, &json!({})).await;
    client.answer(&json!(1)).await;
    (client, stream)
}

#[tokio::test]
async fn a_bridge_passes_the_daemons_question_on_and_the_one_answer_to_it_and_no_other() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let (mut client, mut stream) = begun(&place, &mut daemon).await;
    client.send(&answer(&json!("roots-1"))).await;
    stream.event(&ask("roots-1")).await;
    assert_eq!(client.read().await.unwrap(), ask("roots-1"));
    for foreign in [json!("roots-2"), json!(1), json!(null), json!(["roots-1"])] {
        client.send(&answer(&foreign)).await;
    }
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"result\":{}}\n").await;
    client.send(&answer(&json!("roots-1"))).await;
    client.send(&answer(&json!("roots-1"))).await;
    let passed_on = daemon.next().await;
    assert_eq!(passed_on.line, "POST /mcp HTTP/1.1");
    assert_eq!(passed_on.json(), answer(&json!("roots-1")));
    assert_eq!(passed_on.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(passed_on.header("x-tabwire-client"), stream.header("x-tabwire-client"));
    passed_on.note().await;
    // One that is taken back has no answer any more.
    stream.event(&ask("roots-3")).await;
    assert_eq!(client.read().await.unwrap(), ask("roots-3"));
    let taken_back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": "roots-3"}});
    stream.event(&taken_back).await;
    assert_eq!(client.read().await.unwrap(), taken_back);
    client.send(&answer(&json!("roots-3"))).await;
    client.send(&call(2, "configure")).await;
    let next = daemon.next().await;
    assert_eq!(next.json()["id"], 2, "nothing came between: {}", next.body);
    next.answer(false, &json!({})).await;
    client.answer(&json!(2)).await;
}

#[tokio::test]
async fn a_question_does_not_wait_for_a_call_that_begins_a_job() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let (mut client, mut stream) = begun(&place, &mut daemon).await;
    client.send(&call(2, "wksm_monitor_sync")).await;
    let open = daemon.next().await;
    stream.event(&ask("roots-1")).await;
    assert_eq!(client.read().await.unwrap(), ask("roots-1"));
    open.answer(false, &json!({})).await;
    client.answer(&json!(2)).await;
}
