//! The place of a call in a trace of its client, as `_meta` names it: it goes to the extension with the
//! command, and back with every message about the command.

use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, McpClient, ProgramSandbox, StdioClient, TestDaemon, soon, tasks_meta,
};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const STATE: &str = "vendor=1,tenant@system=a b";

const ACCEPT: &str = "application/json, text/event-stream";

fn context() -> Value {
    json!({"traceparent": PARENT, "tracestate": STATE})
}

fn script(wait_ms: u64) -> Value {
    json!({"action": "execute_js", "script": "1", "tab_id": 7, "wait_ms": wait_ms})
}

/// Calls a tool with this `_meta`; the whole result.
async fn call(client: &McpClient, tool: &str, arguments: Value, meta: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let answer = soon("an answer", client.rpc("tools/call", params)).await;
    answer.json()["result"].clone()
}

/// The id of the command that a result tells of.
fn id_of(result: &Value) -> String {
    result["structuredContent"]["correlation_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_names(told: &Value, parent: Option<&str>, state: Option<&str>) {
    let text = |name: &str| told.get(name).and_then(Value::as_str);
    assert_eq!((text("traceparent"), text("tracestate")), (parent, state), "{told}");
}

#[track_caller]
fn assert_in_trace(told: &Value) {
    assert_names(told, Some(PARENT), Some(STATE));
}

#[tokio::test]
async fn a_calls_trace_goes_to_the_extension_and_back_with_progress_and_answer_in_both_eras() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for client in [McpClient::legacy(&daemon), McpClient::modern(&daemon)] {
        let mut meta = context();
        meta["progressToken"] = "t".into();
        let mut stream = client.stream(("interact", script(20_000)), meta, ACCEPT, &[]).await;
        let command = extension.command().await;
        assert_in_trace(&command.command);
        extension.claim(&command).await;
        extension.pending(&command, json!({"message": "half", "progress": 0.5})).await;
        let told = stream.message().await.unwrap();
        assert_in_trace(&told["params"]["_meta"]);
        assert_eq!(told["params"]["_meta"]["tabwire/jobId"], command.id, "{told}");
        extension.complete(&command, &json!(1)).await;
        assert_in_trace(&stream.message().await.unwrap()["result"]["_meta"]);
        // A later call, which is a part of no trace, reads the result of one that was.
        let read = json!({"what": "command_result", "correlation_id": command.id});
        assert_in_trace(&call(&client, "observe", read, json!({})).await["_meta"]);
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_without_a_trace_adds_nothing_to_the_frame_and_to_the_answer() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let queued = call(&client, "interact", script(0), json!({})).await;
    assert_names(&queued["_meta"], None, None);
    assert_names(&extension.command().await.command, None, None);
    let legacy = call(&McpClient::legacy(&daemon), "interact", script(0), json!({})).await;
    assert_eq!(legacy.get("_meta"), None, "{legacy}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_malformed_trace_is_ignored_and_never_fails_a_call() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let overlong = format!("k={}", "v".repeat(600));
    for (parent, state, left) in [
        (json!("00-zz"), json!(STATE), None),
        (json!(PARENT.to_uppercase()), json!(STATE), None),
        (json!(7), json!(STATE), None),
        (json!({}), json!(null), None),
        (json!(null), json!(STATE), None),
        (json!(PARENT), json!(overlong), Some(PARENT)),
        (json!(PARENT), json!(["a=1"]), Some(PARENT)),
        (json!(PARENT), json!("=,\u{7}"), Some(PARENT)),
    ] {
        let meta = json!({"traceparent": parent, "tracestate": state});
        let queued = call(&client, "interact", script(0), meta).await;
        assert_eq!(queued["isError"], false, "{queued}");
        assert_names(&queued["_meta"], left, None);
        assert_names(&extension.run(&json!(1)).await.command, left, None);
        client.outcome(&id_of(&queued)).await;
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_task_and_its_notices_are_in_the_trace_of_the_call_that_began_it() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon).with_tasks();
    let task = call(&client, "interact", script(0), context()).await;
    assert_eq!(task["resultType"], "task", "{task}");
    assert_in_trace(&task["_meta"]);
    let id = task["taskId"].as_str().unwrap();
    let mut stream = client.subscribe(&json!("s"), json!({"taskIds": [id]})).await;
    assert_names(&stream.message().await.unwrap()["params"]["_meta"], None, None);
    extension.run(&json!(1)).await;
    let told = soon("a notice", stream.message()).await.unwrap();
    assert_eq!(told["method"], "notifications/tasks", "{told}");
    assert_in_trace(&told["params"]["_meta"]);
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    let read = client.rpc("tasks/get", json!({"taskId": id, "_meta": tasks_meta()})).await.json();
    assert_in_trace(&read["result"]["_meta"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_to_the_person_is_in_the_trace_of_its_call() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let ask = json!({"action": "ask_user", "kind": "choose", "question": "Which?",
                     "options": ["A", "B"]});
    let asked = call(&client, "interact", ask, context()).await;
    assert_eq!(asked["isError"], false, "{asked}");
    assert_in_trace(&asked["_meta"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_restarted_daemon_still_knows_the_trace_of_a_command() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let queued = call(&client, "interact", script(0), context()).await;
    assert_in_trace(&queued["_meta"]);
    let daemon = daemon.restart().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let command = extension.run(&json!(1)).await;
    assert_eq!(command.id, id_of(&queued));
    assert_in_trace(&command.command);
    daemon.stop().await;
}

#[tokio::test]
async fn a_repeated_call_under_its_key_tells_the_trace_of_the_first() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let mut arguments = script(0);
    arguments["idempotency_key"] = "k".into();
    let first = call(&client, "interact", arguments.clone(), context()).await;
    let other = json!({"traceparent": PARENT.replace("4bf", "5bf")});
    let again = call(&client, "interact", arguments, other).await;
    assert_eq!(id_of(&first), id_of(&again));
    assert_in_trace(&again["_meta"]);
    daemon.stop().await;
}

#[tokio::test]
async fn the_bridge_hands_a_trace_on_in_both_directions() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    client.initialize("it").await;
    let call = json!({"name": "interact", "arguments": script(0), "_meta": context()});
    let answer = client.rpc(json!(1), "tools/call", call).await;
    assert_in_trace(&answer["result"]["_meta"]);
    let port = place.daemon().unwrap().port;
    let mut extension = ExtensionBuilder::at(port, &place.home()).connect().await;
    assert_in_trace(&extension.command().await.command);
    client.end_input();
    assert!(client.ended().await);
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
}
