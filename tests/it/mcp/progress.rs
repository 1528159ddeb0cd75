//! A call that waits tells how far its command is, on its own answer and nowhere else.

use hyper::StatusCode;
use serde_json::{Value, json};

use testkit::{
    DeliveredCommand, EventStream, ExtensionBuilder, FakeExtension, McpClient, ProgramSandbox,
    StdioClient, TestDaemon, active_tab, modern_meta, soon, tab, until,
};

const ACCEPT: &str = "application/json, text/event-stream";

/// A call that waits for its script.
fn script() -> (&'static str, Value) {
    script_in(7)
}

fn script_in(tab: i64) -> (&'static str, Value) {
    let wait = json!({"action": "execute_js", "script": "slow", "tab_id": tab, "wait_ms": 20_000});
    ("interact", wait)
}

/// A call that waits for a command.
fn wait_for(id: &str) -> (&'static str, Value) {
    ("observe", json!({"what": "command_result", "correlation_id": id, "wait_ms": 20_000}))
}

fn token(token: &Value) -> Value {
    json!({"progressToken": token})
}

async fn connected() -> (TestDaemon, FakeExtension) {
    let daemon = TestDaemon::start().await;
    let tabs = vec![active_tab(7), tab(8), tab(9)];
    let shim = ExtensionBuilder::of(&daemon).tabs(tabs).actions(&[
        "execute_js",
        "page_summary",
        "tab_list",
    ]);
    let extension = shim.connect().await;
    (daemon, extension)
}

/// Takes the next command, and lets it run on.
async fn started(extension: &mut FakeExtension) -> DeliveredCommand {
    let command = extension.command().await;
    extension.claim(&command).await;
    command
}

/// A call whose answer has begun, and its command.
async fn streaming(
    client: &McpClient,
    extension: &mut FakeExtension,
    call: (&str, Value),
    more: &[(&str, &str)],
) -> (EventStream, DeliveredCommand) {
    let stream = client.stream(call, token(&json!("t")), ACCEPT, more).await;
    assert_eq!(stream.status, StatusCode::OK);
    assert!(stream.is_events(), "{:?}", stream.headers);
    (stream, started(extension).await)
}

fn said(message: &str, progress: f64) -> Value {
    json!({"message": message, "progress": progress})
}

/// The parameters of a notification of progress.
fn params(message: &Value) -> &Value {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    assert_eq!(message["method"], "notifications/progress", "{message}");
    assert_eq!(message.get("id"), None, "{message}");
    &message["params"]
}

fn progress(message: &Value) -> f64 {
    params(message)["progress"].as_f64().unwrap()
}

/// The answer's result.
fn answered(message: &Value, status: &str) {
    assert_eq!(message["id"], "streamed", "{message}");
    assert_eq!(message["result"]["structuredContent"]["status"], status, "{message}");
}

#[tokio::test]
async fn progress_comes_on_the_calls_own_answer_which_is_the_last_event() {
    let (daemon, mut extension) = connected().await;
    for client in [McpClient::legacy(&daemon), McpClient::modern(&daemon)] {
        for named in [json!("a token"), json!(7)] {
            let mut stream = client.stream(script(), token(&named), ACCEPT, &[]).await;
            let command = started(&mut extension).await;
            for (message, part) in [("a third", 0.3), ("half", 0.5)] {
                extension.pending(&command, said(message, part)).await;
                let told = stream.message().await.unwrap();
                let params = params(&told);
                assert_eq!(params["progressToken"], named);
                assert_eq!(params["progress"], part);
                assert_eq!(params["total"], 1);
                assert_eq!(params["message"], message);
                assert_eq!(params["_meta"]["tabwire/jobId"], command.id);
                let timestamp = params["_meta"]["tabwire/timestamp"].as_str().unwrap();
                assert!(timestamp.ends_with('Z') && timestamp.len() == 24, "{timestamp}");
            }
            extension.complete(&command, &json!(1)).await;
            answered(&stream.message().await.unwrap(), "complete");
            assert_eq!(stream.message().await, None, "nothing after the answer");
        }
    }
}

#[tokio::test]
async fn what_the_extension_does_not_measure_is_counted_and_it_is_always_farther_than_before() {
    let (daemon, mut extension) = connected().await;
    let client = McpClient::modern(&daemon);
    let (mut stream, command) = streaming(&client, &mut extension, script(), &[]).await;
    for count in 1..=3 {
        extension.pending(&command, json!({"message": "still at it"})).await;
        let told = stream.message().await.unwrap();
        assert_eq!(params(&told)["progress"], count);
        assert_eq!(params(&told).get("total"), None, "{told}");
    }
    extension.complete(&command, &json!(1)).await;
    assert_eq!(stream.rest().await.len(), 1);

    let (mut stream, command) = streaming(&client, &mut extension, script(), &[]).await;
    let mut before = -1.0;
    for part in [0.0, 0.5, 0.5, 0.2, 0.9] {
        extension.pending(&command, said("on", part)).await;
        let told = stream.message().await.unwrap();
        assert!(progress(&told) > before, "{told}");
        assert!(progress(&told) >= part, "{told}");
        before = progress(&told);
    }
}

#[tokio::test]
async fn everyone_who_waits_is_told_on_their_own_token_and_the_late_how_it_is_now() {
    let (daemon, mut extension) = connected().await;
    let (legacy, modern) = (McpClient::legacy(&daemon), McpClient::modern(&daemon).named("other"));
    let (mut own, command) = streaming(&legacy, &mut extension, script(), &[]).await;
    extension.pending(&command, said("half", 0.5)).await;
    assert_eq!(progress(&own.message().await.unwrap()), 0.5);
    let mut late = modern.stream(wait_for(&command.id), token(&json!(1)), ACCEPT, &[]).await;
    let told = late.message().await.unwrap();
    assert_eq!((&params(&told)["progressToken"], progress(&told)), (&json!(1), 0.5));
    extension.pending(&command, said("more", 0.75)).await;
    for (stream, named) in [(&mut own, json!("t")), (&mut late, json!(1))] {
        let told = stream.message().await.unwrap();
        assert_eq!((&params(&told)["progressToken"], progress(&told)), (&named, 0.75));
    }
    extension.complete(&command, &json!(1)).await;
    for mut stream in [own, late] {
        answered(&stream.message().await.unwrap(), "complete");
    }
    let call = ("analyze", json!({"what": "page_summary", "wait_ms": 20_000}));
    let (mut stream, command) = streaming(&legacy, &mut extension, call, &[]).await;
    extension.pending(&command, said("reading", 0.1)).await;
    assert_eq!(progress(&stream.message().await.unwrap()), 0.1);
}

#[tokio::test]
async fn who_does_not_ask_or_cannot_read_events_or_need_not_wait_gets_plain_json() {
    let (daemon, mut extension) = connected().await;
    let client = McpClient::modern(&daemon);
    let asks = token(&json!("t"));
    for (meta, accept) in [
        (json!({}), ACCEPT),
        (token(&json!(null)), ACCEPT),
        (token(&json!([1])), ACCEPT),
        (asks.clone(), "application/json"),
        (asks.clone(), "*/*"),
    ] {
        let answer = client.stream(script(), meta.clone(), accept, &[]);
        let running = async {
            let command = started(&mut extension).await;
            extension.pending(&command, said("half", 0.5)).await;
            extension.complete(&command, &json!(1)).await;
        };
        let (answer, ()) = tokio::join!(answer, running);
        assert!(!answer.is_events(), "{meta} {accept}");
        answered(&answer.json().await, "complete");
    }
    let id = client.script("quick", 7).await;
    extension.run(&json!(1)).await;
    client.outcome(&id).await;
    let at_once = json!({"action": "execute_js", "script": "quick", "tab_id": 7});
    for call in [wait_for(&id), ("interact", at_once), ("configure", json!({"action": "health"}))] {
        let answer = client.stream(call.clone(), asks.clone(), ACCEPT, &[]).await;
        assert!(!answer.is_events(), "{call:?}");
        assert_eq!(answer.json().await["result"]["isError"], false);
    }
    let unknown = client.stream(wait_for("exec_1"), asks, ACCEPT, &[]).await;
    assert!(!unknown.is_events());
    answered(&unknown.json().await, "not_found");
}

#[tokio::test]
async fn a_slow_reader_holds_up_nobody_and_gets_the_newest() {
    let (daemon, mut extension) = connected().await;
    let client = McpClient::legacy(&daemon);
    let (mut stream, command) = streaming(&client, &mut extension, script(), &[]).await;
    let long = "x".repeat(4_000);
    for n in 1..=1_000 {
        extension.pending(&command, said(&long, f64::from(n) / 1_000.0)).await;
    }
    let id = client.script("quick", 8).await;
    extension.run(&json!(2)).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
    extension.complete(&command, &json!(1)).await;
    assert_eq!(client.outcome(&command.id).await["status"], "complete");
    let mut told = stream.rest().await;
    answered(&told.pop().unwrap(), "complete");
    let told: Vec<_> = told.iter().map(progress).collect();
    assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
    assert!(told.len() < 500, "most were merged: {}", told.len());
}

#[tokio::test]
async fn a_client_that_closes_in_mid_stream_leaves_no_waiter_behind() {
    let daemon = TestDaemon::with(|settings| settings.limits.waiters = 1).await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let id = client.script("slow", 7).await;
    let command = started(&mut extension).await;
    for round in 1..=3 {
        let wait = || client.stream(wait_for(&id), token(&json!("t")), ACCEPT, &[]);
        let has_begun = async || wait().await.is_events();
        soon("the seat to be free", until(has_begun)).await;
        soon("the seat to be free", until(has_begun)).await;
        extension.pending(&command, said("on", f64::from(round) / 10.0)).await;
    }
    extension.expect_nothing().await;
    extension.complete(&command, &json!(1)).await;
    assert_eq!(client.outcome(&id).await["status"], "complete", "a wait given up is no cancel");
}

#[tokio::test]
async fn closing_in_mid_stream_is_a_cancel_in_the_modern_era_alone_and_never_a_bridges() {
    let (daemon, mut extension) = connected().await;
    let (legacy, modern) = (McpClient::legacy(&daemon), McpClient::modern(&daemon));
    let early = ("x-tabwire-early", "1");
    let cases = [(&legacy, 7, [].as_slice()), (&modern, 8, &[early]), (&modern, 9, &[])];
    let mut commands = Vec::new();
    for (client, tab, headers) in cases {
        let (mut stream, command) =
            streaming(client, &mut extension, script_in(tab), headers).await;
        extension.pending(&command, said("half", 0.5)).await;
        assert_eq!(progress(&stream.message().await.unwrap()), 0.5);
        commands.push(command);
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
async fn a_cancel_in_mid_stream_reaches_the_page_and_the_stream_ends_with_the_answer() {
    let (daemon, mut extension) = connected().await;
    for client in [McpClient::legacy(&daemon), McpClient::modern(&daemon)] {
        let (mut stream, command) = streaming(&client, &mut extension, script(), &[]).await;
        extension.pending(&command, said("half", 0.5)).await;
        assert_eq!(progress(&stream.message().await.unwrap()), 0.5);
        let cancel = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": "streamed"},
        });
        client.post(&[], cancel.to_string().into_bytes()).await;
        extension.expect(&command.cancel("cancelled")).await;
        answered(&stream.message().await.unwrap(), "cancelled");
        assert_eq!(stream.message().await, None);
    }
}

/// The parameters of a call over stdio that wants to be told, in both eras.
fn in_both_eras((tool, arguments): (&str, Value), named: &Value) -> [Value; 2] {
    let mut modern_meta = modern_meta();
    modern_meta["progressToken"] = named.clone();
    [token(named), modern_meta]
        .map(|meta| json!({"name": tool, "arguments": arguments, "_meta": meta}))
}

#[tokio::test]
async fn over_stdio_progress_comes_in_order_before_the_answer() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    for named in [json!("a token"), json!(7)] {
        for params in in_both_eras(script(), &named) {
            client.ask_with(&json!("streamed"), params).await;
            let command = started(&mut extension).await;
            for part in [0.25, 0.5, 0.75] {
                extension.pending(&command, said("on", part)).await;
                let line = client.read().await.unwrap();
                assert_eq!(
                    (progress(&line), &self::params(&line)["progressToken"]),
                    (part, &named)
                );
            }
            for params in in_both_eras(wait_for(&command.id), &json!("late")) {
                client.ask_with(&json!("late"), params).await;
                let line = client.read().await.unwrap();
                assert_eq!(self::params(&line)["progressToken"], "late");
                assert_eq!(progress(&line), 0.75);
            }
            extension.complete(&command, &json!(1)).await;
            let answers = [client.read().await.unwrap(), client.read().await.unwrap()];
            let third = client.read().await.unwrap();
            assert!(answers.iter().chain([&third]).all(|line| line.get("result").is_some()));
        }
    }
    client.rpc(json!("next"), "ping", json!({})).await;
    assert_eq!(client.last_words().await, Vec::<Value>::new(), "nothing more is said of it");
}

#[tokio::test]
async fn over_stdio_a_call_that_is_cancelled_in_mid_stream_is_not_told_of_any_more() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    for params in in_both_eras(script(), &json!("t")) {
        client.ask_with(&json!("streamed"), params).await;
        let command = started(&mut extension).await;
        extension.pending(&command, said("half", 0.5)).await;
        assert_eq!(progress(&client.read().await.unwrap()), 0.5);
        client.cancel(&json!("streamed")).await;
        extension.expect(&command.cancel("cancelled")).await;
    }
    assert_eq!(client.last_words().await, Vec::<Value>::new());
}
