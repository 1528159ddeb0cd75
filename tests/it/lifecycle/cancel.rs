//! A cancel ends what it is meant for, a call that waits or the command that it submitted,
//! and nothing else.

use hyper::StatusCode;
use serde_json::{Value, json};

use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeDaemon, FakeExtension, McpClient, ProgramSandbox,
    RawConnection, StdioClient, TestDaemon, active_tab, authorized, modern_meta, soon, tab,
};

/// Arguments of a call that waits for its script.
fn script_in(tab: i64) -> Value {
    json!({"action": "execute_js", "script": "slow", "tab_id": tab, "wait_ms": 8_000})
}

/// Arguments of a call that waits for a command.
fn wait_for(id: &str) -> Value {
    json!({"what": "command_result", "correlation_id": id, "wait_ms": 8_000})
}

/// Headers by which a caller names itself.
const ANN: (&str, &str) = ("x-tabwire-client", "ann");
const BOB: (&str, &str) = ("x-tabwire-client", "bob");
const EARLY: (&str, &str) = ("x-tabwire-early", "1");

/// Sends a call on a connection of its own, and does not wait for its answer.
pub(crate) async fn ask(
    daemon: &TestDaemon,
    client: &McpClient,
    id: &Value,
    (tool, arguments): (&str, Value),
    more: &[(&str, &str)],
) -> RawConnection {
    let params = json!({"name": tool, "arguments": arguments});
    let (headers, message) = client.message(id, "tools/call", params);
    let body = message.to_string();
    let mut head = authorized("POST /mcp", daemon.port(), &daemon.token());
    let length = body.len();
    head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"));
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in headers.chain(more.iter().copied()) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut connection = RawConnection::open(daemon).await;
    connection.send(format!("{head}\r\n{body}")).await;
    connection
}

/// Says that a request is cancelled.
pub(crate) async fn cancel(client: &McpClient, id: &Value, more: &[(&str, &str)]) {
    let params = json!({"requestId": id, "reason": "enough"});
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let answer = client.post(more, told.to_string().into_bytes()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    assert!(answer.body.is_empty());
}

/// Takes the next command, and lets it run on.
async fn started(extension: &mut FakeExtension) -> DeliveredCommand {
    let command = extension.command().await;
    extension.claim(&command).await;
    command
}

async fn three_tabs(daemon: &TestDaemon) -> FakeExtension {
    ExtensionBuilder::of(daemon).tabs(vec![active_tab(7), tab(8), tab(9)]).connect().await
}

#[tokio::test]
async fn a_cancelled_call_takes_the_command_that_it_submitted_with_it() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    for id in [json!(0), json!("a")] {
        let call = ("interact", script_in(7));
        let mut calling = ask(&daemon, &client, &id, call, &[]).await;
        let command = started(&mut extension).await;
        cancel(&client, &id, &[]).await;
        extension.expect(&command.cancel("cancelled")).await;
        let outcome = client.status(&command.id).await;
        assert_eq!(outcome["status"], "cancelled");
        assert_eq!(outcome["may_have_run"], true);
        let answer = calling.answer().await.unwrap().json();
        assert_eq!(answer["result"]["structuredContent"]["status"], "cancelled", "{answer}");
    }
}

#[tokio::test]
async fn a_cancelled_wait_leaves_the_command_alone() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    let id = client.script("slow", 7).await;
    let command = started(&mut extension).await;
    let call = ("observe", wait_for(&id));
    let mut waiting = ask(&daemon, &client, &json!(1), call, &[]).await;
    // One that comes before the wait has begun finds nothing.
    let cancelling = async {
        loop {
            cancel(&client, &json!(1), &[]).await;
        }
    };
    let answer = tokio::select! {
        answer = waiting.answer() => answer.unwrap().json(),
        () = cancelling => unreachable!("it goes on without end"),
    };
    let body = &answer["result"]["structuredContent"];
    assert_eq!(body["error"], "call_cancelled", "{answer}");
    extension.expect_nothing().await;
    extension.complete(&command, &json!(1)).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
}

#[tokio::test]
async fn a_cancel_by_another_client_or_owner_or_of_another_id_has_no_effect() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    let stranger = McpClient::legacy(&daemon).with_token(daemon.token_of("ci"));
    let call = ("interact", script_in(7));
    let _calling = ask(&daemon, &client, &json!(5), call, &[ANN]).await;
    let command = started(&mut extension).await;
    cancel(&client, &json!(5), &[BOB]).await;
    cancel(&client, &json!(5), &[]).await;
    cancel(&stranger, &json!(5), &[ANN]).await;
    cancel(&client, &json!(6), &[ANN]).await;
    cancel(&client, &json!("5"), &[ANN]).await;
    cancel(&client, &json!(null), &[ANN]).await;
    extension.expect_nothing().await;
    cancel(&client, &json!(5), &[ANN]).await;
    extension.expect(&command.cancel("cancelled")).await;
}

#[tokio::test]
async fn a_cancel_of_a_call_that_is_over_has_no_effect_on_it_or_on_the_next_one_of_its_id() {
    let daemon = TestDaemon::start().await;
    let mut extension = three_tabs(&daemon).await;
    let client = McpClient::legacy(&daemon);
    let id = json!(5);
    let at_once = json!({"action": "execute_js", "script": "slow", "tab_id": 8, "wait_ms": 0});
    for call in [("interact", script_in(7)), ("interact", at_once)] {
        let mut calling = ask(&daemon, &client, &id, call, &[]).await;
        let command = started(&mut extension).await;
        if command.command["tab_id"] == 7 {
            extension.complete(&command, &json!(1)).await;
        }
        calling.answer().await.unwrap();
        cancel(&client, &id, &[]).await;
        extension.expect_nothing().await;
    }
    let _calling = ask(&daemon, &client, &id, ("interact", script_in(9)), &[]).await;
    started(&mut extension).await;
    extension.expect_nothing().await;
}

#[tokio::test]
async fn of_two_calls_under_one_id_none_is_cancelled_unless_a_key_says_which() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    let key = |key| ("x-tabwire-idempotency-key", key);
    let id = json!(1);
    let call = |tab| ("interact", script_in(tab));
    let _one = ask(&daemon, &client, &id, call(7), &[key("a")]).await;
    started(&mut extension).await;
    let _other = ask(&daemon, &client, &id, call(8), &[key("b")]).await;
    let other = started(&mut extension).await;
    cancel(&client, &id, &[]).await;
    cancel(&client, &id, &[key("c")]).await;
    extension.expect_nothing().await;
    cancel(&client, &id, &[key("b")]).await;
    extension.expect(&other.cancel("cancelled")).await;
    extension.expect_nothing().await;
}

#[tokio::test]
async fn a_closed_connection_is_a_cancel_in_the_modern_era_alone_and_never_a_bridges() {
    let daemon = TestDaemon::start().await;
    let mut extension = three_tabs(&daemon).await;
    let (legacy, modern) = (McpClient::legacy(&daemon), McpClient::modern(&daemon));
    let cases = [(&legacy, 7, [].as_slice()), (&modern, 8, &[EARLY]), (&modern, 9, &[])];
    let mut commands = Vec::new();
    for (client, tab, headers) in cases {
        let call = ("interact", script_in(tab));
        let calling = ask(&daemon, client, &json!(1), call, headers).await;
        commands.push(started(&mut extension).await);
        drop(calling);
    }
    let [goes_on, goes_on_too, cancelled] = commands.try_into().unwrap();
    extension.expect(&cancelled.cancel("cancelled")).await;
    extension.expect_nothing().await;
    for command in [goes_on, goes_on_too] {
        extension.complete(&command, &json!(1)).await;
        assert_eq!(modern.outcome(&command.id).await["status"], "complete");
    }
}

#[tokio::test]
async fn a_closed_connection_of_a_call_that_only_waits_is_no_cancel() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let id = client.script("slow", 7).await;
    let command = started(&mut extension).await;
    let call = ("observe", wait_for(&id));
    let waiting = ask(&daemon, &client, &json!(1), call, &[]).await;
    // What was asked later is answered: the wait has begun.
    client.status(&id).await;
    drop(waiting);
    client.status(&id).await;
    extension.expect_nothing().await;
    extension.complete(&command, &json!(1)).await;
}

#[tokio::test]
async fn a_command_that_nobody_was_there_for_is_cancelled_before_it_is_delivered() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let call = ("interact", json!({"action": "page_info", "wait_ms": 8_000}));
    let calling = ask(&daemon, &client, &json!(1), call, &[]).await;
    let pending = json!({"what": "pending_commands"});
    let submitted = async {
        loop {
            let lists = client.call("observe", pending.clone()).await;
            if let Some(id) = lists["pending"][0]["correlation_id"].as_str() {
                return id.to_owned();
            }
        }
    };
    let id = soon("the submission", submitted).await;
    drop(calling);
    let outcome = client.outcome(&id).await;
    assert_eq!(outcome["status"], "cancelled");
    assert_eq!(outcome["may_have_run"], false);
}

/// The parameters of a call over stdio, in both eras.
fn in_both_eras(tool: &str, arguments: &Value) -> [Value; 2] {
    let legacy = json!({"name": tool, "arguments": arguments});
    let mut modern = legacy.clone();
    modern["_meta"] = modern_meta();
    [legacy, modern]
}

/// Reads on to the end of the bridge: these requests have got no answer.
async fn assert_unanswered(client: StdioClient, ids: &[Value]) {
    let said = client.last_words().await;
    assert!(!said.iter().any(|message| ids.contains(&message["id"])), "{said:?}");
}

#[tokio::test]
async fn over_stdio_a_cancelled_call_takes_its_command_with_it_and_gets_no_answer() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    let ids = [json!(0), json!("b")];
    for (id, params) in ids.iter().zip(in_both_eras("interact", &script_in(7))) {
        client.ask_with(id, params).await;
        let command = started(&mut extension).await;
        client.cancel(id).await;
        extension.expect(&command.cancel("cancelled")).await;
        let status = client.call("observe", wait_for(&command.id)).await;
        assert_eq!(status["status"], "cancelled");
    }
    assert_unanswered(client, &ids).await;
}

#[tokio::test]
async fn over_stdio_a_cancelled_wait_leaves_the_command_alone_and_gets_no_answer() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    let arguments = json!({"action": "execute_js", "script": "slow", "tab_id": 7});
    let id = client.call("interact", arguments).await["correlation_id"].clone();
    let command = started(&mut extension).await;
    let ids = [json!(1), json!(2)];
    for (request, params) in ids.iter().zip(in_both_eras("observe", &wait_for(&command.id))) {
        client.ask_with(request, params).await;
        // It is on its way by the time that a later one is answered.
        client.call("configure", json!({"action": "health"})).await;
        client.cancel(request).await;
    }
    // Of these there are none.
    client.cancel(&json!(99)).await;
    client.cancel(&json!("1")).await;
    client.cancel(&Value::Null).await;
    client.call("configure", json!({"action": "health"})).await;
    extension.expect_nothing().await;
    extension.complete(&command, &json!(1)).await;
    let what = json!({"what": "command_result", "correlation_id": id});
    assert_eq!(client.call("observe", what).await["status"], "complete");
    assert_unanswered(client, &ids).await;
}

#[tokio::test]
async fn a_killed_bridge_cancels_no_command() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut witness = StdioClient::start(&place);
    for params in in_both_eras("interact", &script_in(7)) {
        let mut client = StdioClient::start(&place);
        client.ask_with(&json!(1), params).await;
        let command = started(&mut extension).await;
        client.kill().await;
        witness.call("configure", json!({"action": "health"})).await;
        extension.expect_nothing().await;
        extension.complete(&command, &json!(1)).await;
        let outcome = witness.call("observe", wait_for(&command.id)).await;
        assert_eq!(outcome["status"], "complete", "and who knows its id can read its result");
    }
}

fn script(text: &str) -> Value {
    json!({"action": "execute_js", "script": text, "wait_ms": 8_000})
}

#[tokio::test]
async fn a_submission_that_is_cancelled_before_its_turn_is_never_sent() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    for (id, text) in [(1, "first"), (2, "second"), (3, "third")] {
        client.ask(&json!(id), "interact", script(text)).await;
    }
    client.cancel(&json!(2)).await;
    // What comes after the cancel is answered, so that was read.
    client.rpc(json!("ping"), "ping", json!({})).await;
    let first = daemon.next().await;
    assert_eq!(first.json()["id"], 1);
    first.answer(false, &json!({})).await;
    let third = daemon.next().await;
    assert_eq!(third.json()["id"], 3);
    third.answer(false, &json!({})).await;
    client.answer(&json!(3)).await;
    assert_unanswered(client, &[json!(2)]).await;
}

#[tokio::test]
async fn a_submission_before_its_turn_keeps_the_turns_of_the_others_when_it_is_cancelled() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    client.ask(&json!(1), "interact", script("first")).await;
    let mut first = daemon.next().await;
    for (id, text) in [(2, "second"), (3, "third")] {
        client.ask(&json!(id), "interact", script(text)).await;
    }
    client.cancel(&json!(2)).await;
    client.rpc(json!("ping"), "ping", json!({})).await;
    // A read is sent at once; had the third been sent, it would have come before.
    client.ask(&json!("read"), "observe", json!({"what": "tabs"})).await;
    let read = daemon.next().await;
    assert_eq!(read.json()["id"], "read", "the first is not accepted yet");
    first.accept().await;
    assert_eq!(daemon.next().await.json()["id"], 3);
}

#[tokio::test]
async fn a_cancel_goes_to_the_daemon_once_it_has_accepted_the_call() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    for (id, params) in [json!(7), json!("x")].iter().zip(in_both_eras("interact", &script("1"))) {
        client.ask_with(id, params).await;
        let mut call = daemon.next().await;
        client.cancel(id).await;
        client.rpc(json!("ping"), "ping", json!({})).await;
        call.accept().await;
        let told = daemon.next().await;
        assert_eq!(told.json()["method"], "notifications/cancelled");
        assert_eq!(told.json()["params"]["requestId"], *id);
        assert_eq!(told.key(), call.key(), "which call it is");
        for header in ["x-tabwire-client", "mcp-protocol-version"] {
            assert_eq!(told.header(header), call.header(header), "{header}");
        }
        told.note().await;
    }
    assert_unanswered(client, &[json!(7), json!("x")]).await;
}

#[tokio::test]
async fn a_submission_that_is_cancelled_while_it_waits_for_another_daemon_is_not_sent_again() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = StdioClient::start(&place);
    client.ask(&json!(1), "interact", script("first")).await;
    drop(daemon.next().await);
    client.cancel(&json!(1)).await;
    client.rpc(json!("ping"), "ping", json!({})).await;
    daemon.becomes_another().await;
    client.ask(&json!(2), "interact", script("second")).await;
    let next = daemon.next().await;
    assert_eq!(next.json()["id"], 2);
    next.answer(false, &json!({})).await;
    client.answer(&json!(2)).await;
    assert_unanswered(client, &[json!(1)]).await;
}

#[tokio::test]
async fn a_submission_that_is_cancelled_while_a_daemon_starts_is_never_sent() {
    let place = ProgramSandbox::new();
    let starting = place.home().lock_start().unwrap();
    let mut client = StdioClient::start(&place);
    client.ask(&json!(1), "interact", script("first")).await;
    client.rpc(json!("ping"), "ping", json!({})).await;
    client.cancel(&json!(1)).await;
    client.rpc(json!("ping"), "ping", json!({})).await;
    let mut daemon = FakeDaemon::start(&place).await;
    drop(starting);
    client.ask(&json!(2), "interact", script("second")).await;
    let next = daemon.next().await;
    assert_eq!(next.json()["id"], 2);
    next.answer(false, &json!({})).await;
    client.answer(&json!(2)).await;
    assert_unanswered(client, &[json!(1)]).await;
}
