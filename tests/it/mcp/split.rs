//! One tool an action: what clients with `--tools split` are shown, and how their calls go.

use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, FrozenClock, McpClient, ProgramSandbox, StdioClient, TestDaemon, active_tab,
    body, soon, split_tools,
};

const SPLIT: [(&str, &str); 1] = [("x-tabwire-tools", "split")];

/// Calls a tool with these headers besides; the result.
async fn call(client: &McpClient, headers: &[(&str, &str)], tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let (own, message) = client.message(&json!(1), "tools/call", params);
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = own.chain(headers.iter().copied()).collect();
    let answer = soon("an answer", client.post(&headers, message.to_string().into_bytes())).await;
    answer.json()["result"].clone()
}

fn result(value: &str) -> Value {
    json!({"success": true, "value": value, "type": "string"})
}

#[tokio::test]
async fn each_client_is_shown_the_surface_that_it_has_chosen() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (headers, message) = client.message(&json!(1), "tools/list", json!({}));
    let listed = async |more: &[(&str, &str)]| {
        let own = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<_> = own.chain(more.iter().copied()).collect();
        let answer = client.post(&headers, message.to_string().into_bytes()).await;
        let tools = answer.json()["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]).await, testkit::TOOLS);
    assert_eq!(listed(&SPLIT).await, split_tools());
    let more = listed(&[("x-tabwire-tools", "split,nav")]).await;
    assert!(more.contains(&"refresh".to_owned()) && more.len() > split_tools().len());
    for wrong in [("x-tabwire-tools", "all"), ("x-tabwire-wait", "soon")] {
        let own = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<_> = own.chain([wrong]).collect();
        let answer = client.post(&headers, message.to_string().into_bytes()).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!("bad_surface")));
    }
}

#[tokio::test]
async fn a_call_waits_for_its_result_and_is_told_the_next_step_in_names_of_its_own_surface() {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let client = McpClient::modern(&daemon);
    let _runs = extension.auto(|_| result("Home Page"));
    let script = json!({"script": "document.title"});
    let told = call(&client, &SPLIT, "execute_js", script.clone()).await;
    assert_eq!(body(&told)["result"], "Home Page", "{told}");

    let mut at_once = script;
    at_once["wait_ms"] = 0.into();
    let queued = body(&call(&client, &SPLIT, "execute_js", at_once).await);
    assert_eq!(queued["status"], "queued");
    let id = queued["correlation_id"].as_str().unwrap();
    let step = format!("result({{correlation_id:\"{id}\", wait_ms:10000}})");
    assert!(queued["message"].as_str().unwrap().contains(&step), "{queued}");
    let read = body(&call(&client, &SPLIT, "result", json!({"correlation_id": id})).await);
    assert_eq!(read["result"]["value"], "Home Page", "{read}");

    let empty = body(&call(&client, &SPLIT, "console", json!({})).await);
    let hint = empty["hint"].as_str().unwrap();
    assert!(hint.contains("capture({streams:[\"logs\"]})"), "{hint}");
}

#[tokio::test]
async fn calls_by_the_names_of_either_surface_always_work() {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let client = McpClient::legacy(&daemon);
    let _runs = extension.auto(|_| result("Home Page"));
    let by_action = call(&client, &[], "execute_js", json!({"script": "1"})).await;
    assert_eq!(body(&by_action)["result"], "Home Page");
    let by_tool = json!({"action": "execute_js", "script": "1", "wait_ms": 8_000});
    assert_eq!(body(&call(&client, &SPLIT, "interact", by_tool).await)["result"], "Home Page");
    // Of a compact surface, too, calls wait as long as the client has chosen.
    let wait = [("x-tabwire-wait", "8000")];
    let waits = call(&client, &wait, "interact", json!({"action": "page_info"})).await;
    assert!(body(&waits).get("result").is_some(), "{waits}");
    let health = body(&call(&client, &SPLIT, "health", json!({})).await);
    assert_eq!(health["status"], "ok");
}

#[tokio::test]
async fn a_tool_refuses_what_goes_beyond_its_hints_and_what_it_does_not_know() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    for (tool, arguments, error, param) in [
        ("screenshot", json!({"path": "a.png"}), "unknown_argument", "path"),
        ("execute_js", json!({"action": "navigate", "script": "1"}), "unknown_argument", "action"),
        ("execute_js", json!({}), "missing_argument", "script"),
        ("save_screenshot", json!({}), "missing_argument", "path"),
    ] {
        let told = call(&client, &SPLIT, tool, arguments).await;
        assert_eq!(told["isError"], true, "{told}");
        let told = body(&told);
        assert_eq!((&told["error"], &told["param"]), (&json!(error), &json!(param)), "{told}");
        assert!(told["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_gives_the_id_after_30_s_and_its_command_goes_on() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let client = McpClient::legacy(&daemon);
    let slow = json!({"script": "slow", "timeout_ms": 60_000});
    let params = json!({"name": "execute_js", "arguments": slow});
    let (own, message) = client.message(&json!(1), "tools/call", params);
    let headers: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let waiting = client.post(&headers, message.to_string().into_bytes());
    let running = async {
        let command = extension.command().await;
        extension.claim(&command).await;
        time.pass_ms(30_001).await;
        command
    };
    let (answer, command) = tokio::join!(waiting, running);
    let pending = body(&answer.json()["result"]);
    assert_eq!(pending["status"], "pending", "{pending}");
    extension.report(&command, "complete", json!({"result": result("late")})).await;
    let id = pending["correlation_id"].as_str().unwrap();
    assert_eq!(client.outcome(id).await["result"]["value"], "late");
}

#[tokio::test]
async fn the_bridge_passes_the_chosen_surface_on() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let extension = ExtensionBuilder::at(served.port, &place.home()).connect().await;
    let _runs = extension.auto(|_| result("Home Page"));
    let mut client = StdioClient::spawn(place.command(&["mcp", "--tools", "split"]));
    let list = soon("the list", client.rpc("list".into(), "tools/list", json!({}))).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, split_tools());
    let params = json!({"name": "execute_js", "arguments": {"script": "1"}});
    let told = soon("an answer", client.rpc("call".into(), "tools/call", params)).await;
    assert_eq!(body(&told["result"])["result"], "Home Page", "{told}");

    let waits = ["mcp", "--wait", "8000"];
    let mut client = StdioClient::spawn(place.command(&waits));
    let params = json!({"name": "interact", "arguments": {"action": "page_info"}});
    let told = soon("an answer", client.rpc("call".into(), "tools/call", params)).await;
    assert!(body(&told["result"]).get("result").is_some(), "{told}");
    for wrong in [&["mcp", "--tools", "split,all"][..], &["mcp", "--wait", "1s"]] {
        let ran = place.run(wrong).await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("core, nav") || ran.stderr.contains("55000"), "{ran:?}");
    }
}

/// A tab whose refs begin with these letters.
fn lettered(id: i64, letters: &str) -> Value {
    let mut tab = active_tab(id);
    tab["ref_prefix"] = letters.into();
    tab
}

#[tokio::test]
async fn of_two_hundred_calls_of_two_callers_on_one_connection_none_goes_to_the_others_tab() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let tabs = vec![lettered(7, "a"), lettered(8, "b"), lettered(9, "c")];
    let extension = ExtensionBuilder::at(served.port, &place.home()).tabs(tabs);
    let extension =
        extension.actions(&["execute_js", "click", "snapshot", "batch"]).connect().await;
    let _runs = extension.auto(|delivered| {
        let (tab, params) = (&delivered.command["tab_id"], &delivered.command["params"]);
        result(&format!(
            "{tab}: {}",
            params["script"].as_str().or(params["target"].as_str()).unwrap()
        ))
    });
    let mut client = StdioClient::spawn(place.command(&["mcp", "--tools", "split"]));
    // (tab, letters) of each caller. Every third call names its tab by a ref.
    let callers = [(7, "a"), (8, "b")];
    for round in 1..=100 {
        let asked = callers.map(|(tab, letters)| {
            let id = json!(format!("{letters}{round}"));
            if round % 3 == 0 {
                let target = format!("{letters}{round}");
                (id, tab, "click", json!({"target": target}), target)
            } else {
                let script = format!("caller {letters} {round}");
                (id, tab, "execute_js", json!({"tab_id": tab, "script": script}), script)
            }
        });
        for (id, _, tool, arguments, _) in &asked {
            client.ask(id, tool, arguments.clone()).await;
        }
        for (id, tab, _, _, said) in &asked {
            let told = client.answer(id).await;
            assert_eq!(body(&told["result"])["result"], format!("{tab}: {said}"), "{told}");
        }
    }
    // A caller that names neither is told so, and nothing is done.
    for (tool, arguments) in [
        ("execute_js", json!({"script": "1"})),
        ("snapshot", json!({})),
        ("click", json!({"target": "text=Save"})),
        ("page_state", json!({})),
        ("tab_release", json!({})),
        ("ask_user", json!({"question": "Send it?", "kind": "approve"})),
        ("annotations", json!({"wait": true})),
        ("batch", json!({"steps": [{"action": "click", "target": "#a"}]})),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        let told = client.rpc(json!(tool), "tools/call", params).await;
        let told = body(&told["result"]);
        assert_eq!(told["error"], "which_tab", "{tool}: {told}");
        let tabs: Vec<_> =
            told["tabs"].as_array().unwrap().iter().map(|tab| &tab["tab_id"]).collect();
        assert_eq!(tabs, [7, 8], "{told}");
        assert!(told["hint"].as_str().unwrap().contains("tab_id") && told["page"] == "*", "{told}");
    }
    // The list of tabs needs none.
    let listed =
        client.rpc(json!("list"), "tools/call", json!({"name": "known_tabs", "arguments": {}}));
    assert_eq!(body(&listed.await["result"])["count"], 3);
}
