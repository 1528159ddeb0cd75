//! Commands as tasks, for clients that declare the extension: what calls answer, what can be
//! asked of a task, and what is told of it.

use hyper::StatusCode;
use rustix::process::Signal;
use serde_json::{Value, json};

use testkit::{
    EventStream, ExtensionBuilder, FakeExtension, HttpAnswer, McpClient, ProgramSandbox,
    StdioClient, Stopwatch, TestDaemon, active_tab, phases, signal, soon, tab, tasks_meta, until,
};

/// Ten times what a change may take until it is told of.
const TOLD_WITHIN_MS: u64 = 500;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

async fn connected() -> (TestDaemon, FakeExtension) {
    connected_to(TestDaemon::start().await).await
}

async fn connected_to(daemon: TestDaemon) -> (TestDaemon, FakeExtension) {
    let tabs = vec![active_tab(7), tab(8)];
    let shim = ExtensionBuilder::of(&daemon).tabs(tabs).actions(&[
        "execute_js",
        "page_summary",
        "draw_mode",
    ]);
    let extension = shim.connect().await;
    (daemon, extension)
}

fn speaking_of_tasks(daemon: &TestDaemon) -> McpClient {
    McpClient::modern(daemon).with_tasks()
}

fn script(wait_ms: u64) -> Value {
    json!({"action": "execute_js", "script": "1", "tab_id": 7, "wait_ms": wait_ms})
}

/// Calls a tool; the whole result, whatever type it is of.
async fn call(client: &McpClient, tool: &str, arguments: Value) -> Value {
    let call = client.rpc("tools/call", json!({"name": tool, "arguments": arguments}));
    let answer = soon("an answer", call).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.json()["result"].clone()
}

/// Calls a tool and expects a task; the id of that.
async fn task(client: &McpClient, tool: &str, arguments: Value) -> String {
    let task = call(client, tool, arguments).await;
    assert_eq!(task["resultType"], "task", "{task}");
    assert_eq!(task["status"], "working", "{task}");
    id_of(&task)
}

fn id_of(task: &Value) -> String {
    task["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned()
}

async fn ask(client: &McpClient, method: &str, id: &str) -> HttpAnswer {
    let mut params = json!({"taskId": id});
    if method == "tasks/update" {
        params["inputResponses"] = json!({"name": {"action": "accept", "content": {}}});
    }
    client.rpc(method, params).await
}

/// How a task stands.
async fn get(client: &McpClient, id: &str) -> Value {
    let answer = ask(client, "tasks/get", id).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let task = answer.json()["result"].clone();
    assert_eq!(task["resultType"], "complete", "{task}");
    assert!(task["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(), "{task}");
    assert_eq!(task["taskId"], id);
    task
}

async fn until_over(client: &McpClient, id: &str) -> Value {
    let is_over = async || get(client, id).await["status"] != "working";
    soon("the end of a task", until(is_over)).await;
    get(client, id).await
}

async fn acknowledged_cancel(client: &McpClient, id: &str) {
    let answer = ask(client, "tasks/cancel", id).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let result = answer.json()["result"].clone();
    let fields: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["resultType", "_meta"], "nothing but that it was heard");
    assert_eq!(result["resultType"], "complete");
}

/// The next message of a subscription, which is tagged as that.
async fn told(stream: &mut EventStream, subscription: &Value) -> (String, Value) {
    let message = soon("a message", stream.message()).await.expect("the stream has ended");
    notice(&message, subscription)
}

fn notice(message: &Value, subscription: &Value) -> (String, Value) {
    let mut params = message["params"].clone();
    let meta = params.as_object_mut().unwrap().shift_remove("_meta").unwrap();
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], *subscription, "{message}");
    assert_eq!(message.get("id"), None, "{message}");
    (message["method"].as_str().unwrap().to_owned(), params)
}

/// A subscription to these tasks, and those that it was opened for.
async fn subscribed(client: &McpClient, ids: &[&str]) -> (EventStream, Value) {
    let mut stream = client.subscribe(&json!("s"), json!({"taskIds": ids})).await;
    assert_eq!(stream.status, StatusCode::OK);
    assert!(stream.is_events(), "{:?}", stream.headers);
    let (method, params) = told(&mut stream, &json!("s")).await;
    assert_eq!(method, "notifications/subscriptions/acknowledged");
    (stream, params["notifications"].clone())
}

/// What is told next of a task.
async fn changed(stream: &mut EventStream) -> Value {
    let (method, task) = told(stream, &json!("s")).await;
    assert_eq!(method, "notifications/tasks");
    task
}

/// The fields of a task, without what only an answer has.
fn bare(mut task: Value) -> Value {
    let fields = task.as_object_mut().unwrap();
    fields.shift_remove("resultType");
    fields.shift_remove("_meta");
    task
}

#[tokio::test]
async fn a_call_that_is_not_done_at_once_is_a_task_and_does_not_wait() {
    let (daemon, mut extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let summary = json!({"what": "page_summary", "tab_id": 8});
    for (tool, arguments) in
        [("interact", script(0)), ("interact", script(50_000)), ("analyze", summary)]
    {
        let task = call(&client, tool, arguments).await;
        let command = extension.command().await;
        assert_eq!(task["resultType"], "task", "{task}");
        assert_eq!(task["taskId"], command.id);
        assert_eq!(task["status"], "working");
        assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(90_000), &json!(1_000)));
        assert!(!task["statusMessage"].as_str().unwrap().is_empty());
        for at in ["createdAt", "lastUpdatedAt"] {
            assert!(task[at].as_str().unwrap().ends_with('Z'), "{task}");
        }
        assert!(task["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
        for absent in ["result", "content", "structuredContent", "isError"] {
            assert_eq!(task.get(absent), None, "{task}");
        }
        assert_eq!(get(&client, &command.id).await["status"], "working");
        if tool == "interact" {
            extension.claim(&command).await;
        }
        extension.complete(&command, &json!(1)).await;
        assert_eq!(until_over(&client, &command.id).await["status"], "completed");
    }
}

#[tokio::test]
async fn the_result_of_a_task_is_what_the_call_would_have_answered_and_to_get_it_is_to_read_it() {
    let (daemon, mut extension) = connected().await;
    let (client, other) = (speaking_of_tasks(&daemon), McpClient::modern(&daemon));
    let error = json!({"error": {"code": "script_threw", "message": "no"}});
    for (kind, fields, status, is_error) in [
        ("complete", json!({"result": {"success": true, "value": 1.50}}), "complete", false),
        ("error", error.clone(), "error", true),
        ("timeout", json!({"error": error["error"]}), "timeout", true),
    ] {
        let id = task(&client, "interact", script(0)).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        extension.report(&command, kind, fields.clone()).await;
        let is_over = async || daemon_says_over(&other, &id).await;
        soon("the end", until(is_over)).await;
        let task = get(&client, &id).await;
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!(task["lastUpdatedAt"].as_str().unwrap().len(), 24);
        let ttl = task["ttlMs"].as_u64().unwrap();
        assert!((60_000..70_000).contains(&ttl), "60 s after the end, from the creation: {ttl}");
        assert_eq!(task["result"]["isError"], is_error);
        let told = &task["result"]["structuredContent"]["status"];
        assert_eq!(told.as_str().unwrap_or("complete"), status);
        let trace = phases(&other.status(&id).await);
        assert!(trace.contains(&"first_read".to_owned()), "it was read: {trace:?}");

        let mut waiting = script(20_000);
        waiting["trace"] = false.into();
        let (answer, ()) = tokio::join!(other.call_raw("interact", waiting), async {
            let command = extension.command().await;
            extension.claim(&command).await;
            extension.report(&command, kind, fields.clone()).await;
        });
        let shape = |result: &Value| {
            let fields = result["structuredContent"].as_object().unwrap().keys().cloned();
            let own = result.as_object().unwrap().keys().cloned();
            (own.collect::<Vec<_>>(), fields.collect::<Vec<_>>(), result["isError"].clone())
        };
        assert_eq!(shape(&task["result"]), shape(&answer));
    }
}

/// Whether a command is over, without reading its result.
async fn daemon_says_over(client: &McpClient, id: &str) -> bool {
    let lists = client.call("observe", json!({"what": "pending_commands"})).await;
    ["completed", "failed"]
        .iter()
        .any(|list| lists[*list].as_array().unwrap().iter().any(|one| one["correlation_id"] == id))
}

#[tokio::test]
async fn what_is_done_at_once_or_fails_at_once_or_submits_nothing_is_no_task() {
    let (daemon, mut extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let mut keyed = script(0);
    keyed["idempotency_key"] = "k".into();
    let id = task(&client, "interact", keyed.clone()).await;
    extension.run(&json!(1)).await;
    until_over(&client, &id).await;
    let again = call(&client, "interact", keyed).await;
    assert_eq!(again["resultType"], "complete", "{again}");
    assert_eq!(again["structuredContent"], json!({"result": 1, "page": "*"}));
    let wait = json!({"what": "command_result", "correlation_id": id, "wait_ms": 1_000});
    for (tool, arguments, is_error) in [
        ("observe", wait, false),
        ("configure", json!({"action": "health"}), false),
        ("interact", json!({"action": "execute_js"}), true),
        ("interact", json!({"action": "execute_js", "script": "1", "wait_ms": -1}), true),
        ("interact", json!({"action": "execute_js", "script": "1", "tab_id": 99}), true),
    ] {
        let result = call(&client, tool, arguments).await;
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["isError"], is_error, "{result}");
    }
}

#[tokio::test]
async fn who_does_not_declare_tasks_gets_none_and_may_not_ask_for_them() {
    let (daemon, _extension) = connected().await;
    let (legacy, modern) = (McpClient::legacy(&daemon), McpClient::modern(&daemon));
    for client in [&legacy, &modern] {
        client.submit(json!({"action": "execute_js", "script": "1", "tab_id": 7})).await;
    }
    let id = legacy.script("1", 8).await;
    let asks_for_one = json!({
        "name": "interact", "arguments": script(0), "task": {"ttl": 60_000},
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}},
    });
    let answer = legacy.rpc("tools/call", asks_for_one).await.json();
    assert_eq!(answer["result"]["structuredContent"]["status"], "queued", "{answer}");
    assert_eq!(answer["result"].get("taskId"), None);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = ask(&legacy, method, &id).await;
        assert_eq!((answer.status, answer.error_code()), (StatusCode::OK, Some(-32601)));
        let answer = ask(&modern, method, &id).await;
        assert_eq!((answer.status, answer.error_code()), (StatusCode::BAD_REQUEST, Some(-32021)));
        let needs = json!({"extensions": {EXTENSION: {}}});
        assert_eq!(answer.json()["error"]["data"]["requiredCapabilities"], needs);
    }
    let refused = modern.subscribe(&json!(1), json!({"taskIds": []})).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.json().await["error"]["code"], -32021);
    let mut others = modern.subscribe(&json!(1), json!({"toolsListChanged": true})).await;
    let (_, params) = told(&mut others, &json!(1)).await;
    assert_eq!(params, json!({"notifications": {}}), "there is no such thing to be told of");
    for method in ["tasks/list", "tasks/result"] {
        let answer = ask(&speaking_of_tasks(&daemon), method, &id).await;
        assert_eq!(answer.error_code(), Some(-32601));
    }
    let discovered = modern.rpc("server/discover", json!({})).await.json();
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(capabilities["extensions"], json!({EXTENSION: {}}));
    assert_eq!(capabilities.get("tasks"), None);
}

#[tokio::test]
async fn an_unknown_task_and_another_owners_and_one_that_is_gone_are_the_same() {
    let daemon = TestDaemon::with(|settings| settings.limits.retained = 1).await;
    let (daemon, mut extension) = connected_to(daemon).await;
    let client = speaking_of_tasks(&daemon);
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(task(&client, "interact", script(0)).await);
        extension.run(&json!(1)).await;
        let id = ids.last().unwrap();
        assert_eq!(until_over(&client, id).await["status"], "completed");
    }
    let other = speaking_of_tasks(&daemon).with_token(daemon.token_of("bob"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let mut errors = Vec::new();
        for (client, id) in [(&client, "exec_1"), (&client, &*ids[0]), (&other, &*ids[1])] {
            let answer = ask(client, method, id).await;
            assert_eq!((answer.status, answer.error_code()), (StatusCode::OK, Some(-32602)));
            errors.push(answer.json()["error"].to_string());
        }
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
    let (_stream, agreed) = subscribed(&other, &["exec_1", &ids[0], &ids[1]]).await;
    assert_eq!(agreed, json!({"taskIds": []}), "none of them is agreed to");
    for params in [json!({}), json!({"taskId": 7})] {
        let answer = client.rpc("tasks/get", params).await;
        assert_eq!((answer.status, answer.error_code()), (StatusCode::OK, Some(-32602)));
    }
}

#[tokio::test]
async fn a_cancelled_task_is_stopped_in_the_page_and_to_cancel_one_that_is_over_changes_nothing() {
    let (daemon, mut extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let id = task(&client, "interact", script(0)).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let update = ask(&client, "tasks/update", &id).await;
    assert_eq!(update.error_code(), Some(-32602), "it asks for nothing");
    acknowledged_cancel(&client, &id).await;
    extension.expect(&command.cancel("cancelled")).await;
    let cancelled = get(&client, &id).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    assert_eq!(cancelled.get("result"), None);
    assert!(cancelled["statusMessage"].as_str().unwrap().contains("may have run"));
    assert_eq!(client.status(&id).await["status"], "cancelled", "the same by id");
    acknowledged_cancel(&client, &id).await;
    assert_eq!(bare(get(&client, &id).await), bare(cancelled));

    let elsewhere = json!({"action": "execute_js", "script": "1", "tab_id": 8});
    let id = task(&client, "interact", elsewhere).await;
    extension.run(&json!(1)).await;
    let over = until_over(&client, &id).await;
    acknowledged_cancel(&client, &id).await;
    assert_eq!(bare(get(&client, &id).await), bare(over));
}

#[tokio::test]
async fn a_task_whose_link_breaks_at_each_delivery_is_completed_with_an_error() {
    let daemon = TestDaemon::start().await;
    let client = speaking_of_tasks(&daemon);
    let extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let id = task(&client, "interact", script(0)).await;
    let (mut stream, _) = subscribed(&client, &[&id]).await;
    let mut extension = Some(extension);
    for _ in 0..3 {
        let mut now = match extension.take() {
            Some(first) => first,
            None => ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await,
        };
        now.command().await;
        now.breaks();
    }
    let over = changed(&mut stream).await;
    assert_eq!(over["status"], "completed", "`failed` is for JSON-RPC errors alone: {over}");
    assert_eq!(over["result"]["isError"], true);
    let expired = &over["result"]["structuredContent"];
    assert_eq!(
        (&expired["status"], &expired["reason"]),
        (&json!("expired"), &json!("delivery_failed"))
    );
    assert_eq!(over, bare(get(&client, &id).await), "as tasks/get has it");
}

#[tokio::test]
async fn a_header_that_names_another_task_than_the_body_is_refused() {
    let (daemon, _extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let id = task(&client, "interact", script(0)).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let (headers, message) = client.message(&json!(1), method, json!({"taskId": id}));
        for name in [None, Some("exec_1"), Some("")] {
            let mut headers: Vec<_> = headers
                .iter()
                .filter(|(header, _)| *header != "mcp-name")
                .map(|(header, value)| (*header, value.as_str()))
                .collect();
            headers.extend(name.map(|name| ("mcp-name", name)));
            let answer = client.post(&headers, message.to_string().into_bytes()).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{method} {name:?}");
            assert_eq!(answer.error_code(), Some(-32020), "{method} {name:?}");
        }
    }
    assert_eq!(get(&client, &id).await["status"], "working", "nothing was cancelled");
}

#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_told_of_each_change_as_it_happens() {
    let (daemon, mut extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let id = task(&client, "interact", script(0)).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let (mut stream, agreed) = subscribed(&client, &[&id, "exec_1", &id]).await;
    assert_eq!(agreed, json!({"taskIds": [id]}));
    let watch = Stopwatch::start();
    extension.pending(&command, json!({"message": "half", "progress": 0.5})).await;
    let working = changed(&mut stream).await;
    watch.assert_under(TOLD_WITHIN_MS, "progress");
    assert_eq!(
        (&working["status"], &working["statusMessage"]),
        (&json!("working"), &json!("half"))
    );
    assert_eq!(working, bare(get(&client, &id).await), "as tasks/get has it");
    let watch = Stopwatch::start();
    extension.complete(&command, &json!({"a": 1.50})).await;
    let completed = changed(&mut stream).await;
    watch.assert_under(TOLD_WITHIN_MS, "the end");
    assert_eq!(completed["status"], "completed");
    assert_eq!(completed["result"]["isError"], false);
    assert_eq!(completed, bare(get(&client, &id).await), "as tasks/get has it");
    let (mut late, _) = subscribed(&client, &[&id]).await;
    assert_eq!(changed(&mut late).await, completed, "who comes late is told how it ended");

    let id = task(&client, "interact", script(0)).await;
    let (mut stream, _) = subscribed(&client, &[&id]).await;
    let watch = Stopwatch::start();
    client.cancel(&id).await;
    assert_eq!(changed(&mut stream).await["status"], "cancelled");
    watch.assert_under(TOLD_WITHIN_MS, "a cancel");
}

#[tokio::test]
async fn subscriptions_are_counted_and_bounded_and_end_with_the_daemon() {
    let (daemon, _extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let id = task(&client, "interact", script(0)).await;
    let many = |n: usize| vec![id.as_str(); n];
    let (mut first, _) = subscribed(&client, &many(100)).await;
    for bad in [
        json!({"taskIds": many(101)}),
        json!({"taskIds": "exec_1"}),
        json!({"taskIds": [1]}),
        json!(null),
    ] {
        let refused = client.subscribe(&json!("s"), bad).await;
        assert_eq!(refused.status, StatusCode::OK);
        assert!(!refused.is_events());
        assert_eq!(refused.json().await["error"]["code"], -32602);
    }
    let mut open = Vec::new();
    for _ in 1..8 {
        open.push(subscribed(&client, &[]).await);
    }
    let ninth = client.subscribe(&json!("s"), json!({"taskIds": []})).await;
    assert!(!ninth.is_events());
    let error = ninth.json().await["error"].clone();
    assert_eq!(error["code"], -32000, "{error}");
    assert!(error["message"].as_str().unwrap().contains('8'), "{error}");
    open.pop();
    let has_room = async || client.subscribe(&json!("s"), json!({"taskIds": []})).await.is_events();
    soon("room", until(has_room)).await;

    daemon.begin_to_stop();
    let mut last = first.rest().await;
    let end = last.pop().unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!("s"), &json!("complete")));
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
}

#[tokio::test]
async fn a_wait_for_a_drawing_is_a_task_that_works_until_it_is_there() {
    let (daemon, mut extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let open = async {
        let command = extension.command().await;
        extension.report(&command, "complete", json!({"result": {"success": true}})).await;
    };
    let asked = json!({"what": "annotations", "wait": true, "wait_ms": 20_000});
    let (id, ()) = tokio::join!(task(&client, "analyze", asked), open);
    assert!(id.starts_with("ann_"), "{id}");
    let working = get(&client, &id).await;
    assert_eq!((&working["status"], &working["ttlMs"]), (&json!("working"), &json!(660_000)));
    let (mut stream, _) = subscribed(&client, &[&id]).await;
    let drawing = json!({
        "type": "annotations", "drawing_id": format!("{:032x}", 1), "page_url": "http://a/",
        "annotations": [], "correlation_id": id,
    });
    extension.send(&drawing).await;
    assert_eq!(extension.next().await["type"], "annotations_ack");
    let completed = changed(&mut stream).await;
    assert_eq!(completed["status"], "completed");
    assert_eq!(completed["result"]["structuredContent"]["annotations"], json!([]));
    assert_eq!(bare(get(&client, &id).await), completed);
}

#[tokio::test]
async fn a_job_is_a_task_that_works_until_it_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let roots = vec![folder.path().to_owned()];
    let daemon = TestDaemon::with(|settings| settings.monitor_roots = roots).await;
    let long = folder.path().join("long");
    std::fs::File::create(&long).unwrap().set_len(1 << 36).unwrap();
    let client = speaking_of_tasks(&daemon);
    let id = task(&client, "wksm_monitor_sync", json!({"path": long})).await;
    assert!(id.starts_with("job_"), "{id}");
    let (mut stream, _) = subscribed(&client, &[&id]).await;
    assert_eq!(changed(&mut stream).await["status"], "working");
    acknowledged_cancel(&client, &id).await;
    let last = async {
        loop {
            let task = changed(&mut stream).await;
            if task["status"] != "working" {
                break task;
            }
        }
    };
    assert_eq!(soon("its end", last).await["status"], "cancelled");
    std::fs::remove_file(&long).unwrap();
    std::fs::write(folder.path().join("a.txt"), "a").unwrap();
    let sync = json!({"path": folder.path()});
    let answer = call(&client, "wksm_monitor_sync", sync).await;
    let result = if answer["resultType"] == "task" {
        until_over(&client, &id_of(&answer)).await["result"].clone()
    } else {
        answer
    };
    assert_eq!(result["structuredContent"]["success"], true, "{result}");
    daemon.stop().await;
}

#[tokio::test]
async fn with_a_task_no_progress_is_told_on_the_token_of_its_call() {
    let (daemon, mut extension) = connected().await;
    let client = speaking_of_tasks(&daemon);
    let token = json!({"progressToken": "t"});
    let accept = "application/json, text/event-stream";
    let answer = client.stream(("interact", script(20_000)), token, accept, &[]).await;
    assert!(!answer.is_events());
    let task = answer.json().await["result"].clone();
    assert_eq!(task["resultType"], "task", "{task}");
    extension.run(&json!(1)).await;
    assert_eq!(until_over(&client, &id_of(&task)).await["status"], "completed");
}

/// A request over stdio of a client that declares tasks.
async fn rpc(client: &mut StdioClient, id: &str, method: &str, mut params: Value) -> Value {
    params["_meta"] = tasks_meta();
    client.rpc(json!(id), method, params).await
}

async fn listen(client: &mut StdioClient, id: &str, tasks: &[&str]) {
    let params = json!({"notifications": {"taskIds": tasks}, "_meta": tasks_meta()});
    let method = "subscriptions/listen";
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    let (method, params) = notice(&client.read().await.unwrap(), &json!(id));
    assert_eq!(method, "notifications/subscriptions/acknowledged");
    assert_eq!(params["notifications"]["taskIds"], json!(tasks));
}

#[tokio::test]
async fn over_stdio_a_task_is_made_asked_for_told_of_and_cancelled() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    let call = json!({"name": "interact", "arguments": script(20_000)});
    let mut ids = Vec::new();
    for n in ["one", "two"] {
        let task = rpc(&mut client, n, "tools/call", call.clone()).await["result"].clone();
        assert_eq!(task["resultType"], "task", "{task}");
        ids.push(id_of(&task));
    }
    listen(&mut client, "s", &[&ids[0]]).await;
    listen(&mut client, "both", &[&ids[0], &ids[1]]).await;
    client.cancel(&json!("both")).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let open_streams_end = rpc(&mut client, "a", "tasks/get", json!({"taskId": ids[0]})).await;
    assert_eq!(open_streams_end["result"]["status"], "working");
    let watch = Stopwatch::start();
    extension.complete(&command, &json!(1)).await;
    let (method, task) = notice(&client.read().await.unwrap(), &json!("s"));
    watch.assert_under(TOLD_WITHIN_MS, "the end");
    assert_eq!((method.as_str(), &task["status"]), ("notifications/tasks", &json!("completed")));
    let got = rpc(&mut client, "b", "tasks/get", json!({"taskId": ids[0]})).await;
    assert_eq!(bare(got["result"].clone()), task);
    let command = extension.command().await;
    extension.claim(&command).await;
    let ended = rpc(&mut client, "c", "tasks/cancel", json!({"taskId": ids[1]})).await;
    assert_eq!(ended["result"]["resultType"], "complete", "{ended}");
    extension.expect(&command.cancel("cancelled")).await;
    let unknown = rpc(&mut client, "d", "tasks/get", json!({"taskId": "exec_1"})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(client.last_words().await, Vec::<Value>::new(), "nothing to who has ended it");
}

#[tokio::test]
async fn over_stdio_a_subscription_is_answered_when_the_daemon_ends() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut client = StdioClient::start(&place);
    listen(&mut client, "s", &[]).await;
    signal(daemon.pid(), Signal::TERM);
    daemon.end().await;
    let end = client.answer(&json!("s")).await;
    assert_eq!(end["result"]["resultType"], "complete", "{end}");
}
