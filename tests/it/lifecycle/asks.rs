//! Questions to a person, from the call that asks to the answer that an agent reads. The extension is a
//! simulated one; `browser/asks.rs` has the real popup.

use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, FakeExtension, McpClient, ProgramSandbox, StdioClient, TestDaemon,
    active_tab, body, cli_of, finish, signal, soon, tab, until,
};

async fn connect(daemon: &TestDaemon) -> FakeExtension {
    ExtensionBuilder::of(daemon).tabs(vec![active_tab(7), tab(8)]).connect().await
}

fn approve() -> Value {
    json!({"action": "ask_user", "kind": "approve", "question": "Send the order?", "tab_id": 8})
}

fn choose() -> Value {
    json!({"action": "ask_user", "kind": "choose", "question": "Which?", "options": ["red", "blue"]})
}

async fn asked(client: &McpClient, call: Value) -> String {
    let answer = client.call("interact", call).await;
    assert_eq!(answer["status"], "waiting_for_user", "{answer}");
    let id = answer["correlation_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("ask_"), "{id}");
    id
}

/// The next list of questions that the extension gets.
async fn shown(extension: &mut FakeExtension) -> Value {
    loop {
        let frame = soon("a frame", extension.next()).await;
        if frame["type"] == "asks" {
            return frame["asks"].clone();
        }
    }
}

async fn answer(extension: &mut FakeExtension, id: &str, answer: Value) {
    let frame = json!({"type": "ask_answer", "correlation_id": id, "answer": answer});
    extension.send(&frame).await;
}

#[tokio::test]
async fn a_question_is_shown_and_its_answer_read_by_id_and_by_a_call_that_waits() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::legacy(&daemon).named("Order bot");
    let id = asked(&client, approve()).await;
    let shown_ask = shown(&mut extension).await[0].clone();
    assert_eq!(shown_ask["correlation_id"], *id);
    assert_eq!((&shown_ask["kind"], &shown_ask["tab_id"]), (&json!("approve"), &json!(8)));
    assert_eq!(shown_ask["question"], "Send the order?");
    let pending = client.status(&id).await;
    assert_eq!(pending["status"], "pending", "{pending}");

    let waits = {
        let (client, id) = (McpClient::legacy(&daemon).named("Order bot"), id.clone());
        tokio::spawn(async move { client.outcome(&id).await })
    };
    answer(&mut extension, &id, json!({"kind": "allow", "note": "3 chairs, not 4"})).await;
    let outcome = soon("the answer", waits).await.unwrap();
    assert_eq!(outcome["status"], "complete", "{outcome}");
    let result = &outcome["result"];
    assert_eq!((&result["approved"], &result["by"]), (&json!(true), &json!("browser")));
    assert_eq!(result["text"], "3 chairs, not 4");
    assert!(outcome["page"].is_null(), "no page has a say in it: {outcome}");
    assert_eq!(shown(&mut extension).await, json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_answers_at_once_on_both_surfaces_unless_it_waits() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let split = McpClient::legacy(&daemon).of_any_tools();
    let mut call = choose();
    call.as_object_mut().unwrap().remove("action");
    let first = body(&split.call_raw("ask_user", call).await);
    assert_eq!(first["status"], "waiting_for_user", "{first}");
    let mut waiting = choose();
    waiting["wait_ms"] = 50_000.into();
    let client = McpClient::legacy(&daemon);
    let waits = tokio::spawn(async move { client.call("interact", waiting).await });
    let second = loop {
        let asks = shown(&mut extension).await;
        if let Some(second) = asks.as_array().unwrap().get(1) {
            break second["correlation_id"].as_str().unwrap().to_owned();
        }
    };
    answer(&mut extension, &second, json!({"kind": "option", "index": 1})).await;
    let outcome = soon("the answer", waits).await.unwrap();
    assert_eq!(
        (&outcome["status"], &outcome["result"]["choice"]),
        (&json!("complete"), &json!("blue"))
    );
    answer(&mut extension, first["correlation_id"].as_str().unwrap(), json!({"kind": "decline"}))
        .await;
    let declined = split.outcome(first["correlation_id"].as_str().unwrap()).await;
    assert_eq!(
        (&declined["status"], &declined["reason"]),
        (&json!("error"), &json!("declined_by_user"))
    );
    assert!(declined["hint"].as_str().unwrap().contains("in the conversation"), "{declined}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_that_nobody_could_answer_is_refused_with_what_to_correct() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    for (wrong, param, says) in [
        (json!({"question": ""}), "question", "no words"),
        (json!({"question": "x".repeat(501)}), "question", "501 characters"),
        (json!({"kind": "choose"}), "options", "missing"),
        (json!({"kind": "choose", "options": ["a"]}), "options", "1 options"),
        (json!({"kind": "choose", "options": ["a", "a\n"]}), "options", "alike"),
        (json!({"kind": "choose", "options": ["a", " "]}), "options", "no words"),
        (json!({"options": ["a", "b"]}), "options", "only kind choose"),
    ] {
        let mut call = json!({"action": "ask_user", "kind": "answer", "question": "Which?"});
        call.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let refused = client.call_fails("interact", call).await;
        assert_eq!(refused["param"], param, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(says), "{refused}");
        assert!(refused["hint"].as_str().is_some_and(|hint| hint.ends_with('.')), "{refused}");
    }
    let mut elsewhere = approve();
    elsewhere["tab_id"] = 99.into();
    let mut extension = connect(&daemon).await;
    let refused = client.call_fails("interact", elsewhere).await;
    assert_eq!(refused["error"], "tab_gone", "{refused}");
    let id = asked(&client, approve()).await;
    assert_eq!(shown(&mut extension).await.as_array().unwrap().len(), 1);
    extension.send(&json!({"type": "tabs", "tabs": [active_tab(7)]})).await;
    let ended = client.outcome(&id).await;
    assert_eq!(
        (&ended["status"], &ended["reason"]),
        (&json!("error"), &json!("tab_closed")),
        "{ended}"
    );
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_of_a_team_s_agent_is_listed_and_answered_under_its_name() {
    let daemon = TestDaemon::start().await;
    let agent = McpClient::agent(&daemon, "ci@acme").await;
    let ask = json!({"action": "ask_user", "kind": "answer", "question": "Which office?"});
    let id = asked(&agent, ask).await;
    let run = async |words: &[&str]| finish(cli_of(&daemon, &[&["asks"], words].concat())).await;
    assert!(!run(&[]).await.stdout.contains("Which office?"), "it is another owner's");
    let listed = run(&["--owner", "ci@acme"]).await;
    assert!(listed.code == Some(0) && listed.stdout.contains("Which office?"), "{listed:?}");
    let answered = run(&["answer", &id, "Leeds", "--owner", "ci@acme"]).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
    let told = agent.outcome(&id).await;
    assert_eq!(
        (&told["status"], &told["result"]["text"]),
        (&json!("complete"), &json!("Leeds")),
        "{told}"
    );
    for (owner, says) in [("ann@acme", "there is no owner ann@acme"), ("ann@", "invalid owner")] {
        let none = run(&["--owner", owner]).await;
        assert!(none.code == Some(1) && none.stderr.contains(says), "{none:?}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn only_the_tabwire_extension_answers_and_no_program_approves() {
    let daemon = TestDaemon::start().await;
    let other = "abcdefghijklmnopabcdefghijklmnop";
    daemon.home().allow_extension(other).unwrap();
    let foreign = ExtensionBuilder::of(&daemon).extension(other).browser("foreign");
    let foreign = foreign.key(daemon.home().auth().extension_key(other));
    let mut foreign = foreign.connect().await;
    let client = McpClient::legacy(&daemon);
    let id =
        asked(&client, json!({"action": "ask_user", "kind": "approve", "question": "Send?"})).await;
    shown(&mut foreign).await;
    answer(&mut foreign, &id, json!({"kind": "allow"})).await;
    let nack = soon("a refusal", foreign.next()).await;
    assert_eq!((&nack["type"], &nack["reason"]), (&json!("nack"), &json!("unknown_type")));
    // Nor does another one see or take back the person's words.
    foreign.send(&json!({"type": "kept_words"})).await;
    let nack = soon("a refusal", foreign.next()).await;
    assert_eq!((&nack["type"], &nack["reason"]), (&json!("nack"), &json!("unknown_type")));
    let decline = finish(cli_of(&daemon, &["asks", "decline", &id])).await;
    assert_eq!(decline.code, Some(1), "{decline:?}");
    assert!(decline.stderr.contains("only the popup"), "{decline:?}");
    assert_eq!(client.status(&id).await["status"], "pending");
    daemon.stop().await;
}

#[tokio::test]
async fn a_terminal_lists_questions_and_answers_those_that_allow_nothing() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon).named("Order bot");
    let listed = async |arguments: &[&str]| {
        let ran = finish(cli_of(&daemon, arguments)).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    assert_eq!(listed(&["asks"]).await, "no agent asks anything\n");
    let (approval, choice) = (
        asked(
            &client,
            json!({"action": "ask_user", "kind": "approve", "question": "Send \u{1b}[31mit?"}),
        )
        .await,
        asked(&client, choose()).await,
    );
    let text =
        asked(&client, json!({"action": "ask_user", "kind": "answer", "question": "Name?"})).await;
    let all = listed(&["asks"]).await;
    assert!(!all.contains('\u{1b}') && all.contains("Order bot"), "{all}");
    for part in ["2. blue", "Allow or deny it in the popup", "tabwire asks answer"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let json: Value = serde_json::from_str(&listed(&["asks", "--json"]).await).unwrap();
    assert_eq!(json["count"], 3, "{json}");
    listed(&["asks", "choose", &choice, "2"]).await;
    listed(&["asks", "answer", &text, "Ada Lovelace"]).await;
    assert_eq!(
        client.outcome(&choice).await["result"],
        json!({"choice": "blue", "by": "terminal"})
    );
    assert_eq!(client.outcome(&text).await["result"]["text"], "Ada Lovelace");
    let unfit = finish(cli_of(&daemon, &["asks", "answer", &approval, "yes"])).await;
    assert_eq!(unfit.code, Some(1), "{unfit:?}");
    let gone = finish(cli_of(&daemon, &["asks", "choose", &choice, "1"])).await;
    assert!(gone.stderr.contains("no open question"), "{gone:?}");
    listed(&["token", "--owner", "ci"]).await;
    let other = listed(&["asks", "--owner", "ci"]).await;
    assert_eq!(other, "no agent asks anything\n");
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_outlives_the_agent_and_a_daemon_that_is_killed() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let mut agent = StdioClient::spawn(place.command(&["mcp", "--client", "order-bot"]));
    let waiting = agent.call("interact", choose()).await;
    let id = waiting["correlation_id"].as_str().unwrap().to_owned();
    assert!(waiting["message"].as_str().unwrap().contains("`tabwire asks`"), "{waiting}");
    agent.kill().await;
    signal(served.pid(), rustix::process::Signal::KILL);
    served.end().await;
    let served = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(served.port, &place.home()).connect().await;
    assert_eq!(shown(&mut extension).await[0]["correlation_id"], *id);
    let ran = place.run(&["asks", "choose", &id, "red"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut later = StdioClient::spawn(place.command(&["mcp", "--client", "order-bot"]));
    let read = json!({"what": "command_result", "correlation_id": id});
    assert_eq!(later.call("observe", read).await["result"]["choice"], "red");
    served.stop().await;
}

#[tokio::test]
async fn a_step_for_the_person_is_asked_for_on_each_surface_and_read_by_id_by_waiting_and_as_a_task()
 {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let step = json!({"kind": "hand_over", "question": "Log in here.", "tab_id": 8});
    let mut compact = step.clone();
    compact["action"] = "ask_user".into();
    let client = McpClient::legacy(&daemon);
    let by_id = asked(&client, compact.clone()).await;
    let split = McpClient::legacy(&daemon).of_any_tools();
    let waiting = body(&split.call_raw("ask_user", step).await);
    assert_eq!(waiting["status"], "waiting_for_user", "{waiting}");
    let by_waiting = waiting["correlation_id"].as_str().unwrap().to_owned();
    let tasks = McpClient::modern(&daemon).with_tasks();
    let call = json!({"name": "interact", "arguments": compact});
    let task = tasks.rpc("tools/call", call).await.json()["result"].clone();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    let by_task = task["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    let get =
        async || tasks.rpc("tasks/get", json!({"taskId": by_task})).await.json()["result"].clone();
    let told = get().await;
    assert_eq!(told["status"], "working", "never a wish for input: {told}");

    let waits = {
        let (client, id) = (McpClient::legacy(&daemon), by_waiting.clone());
        tokio::spawn(async move { client.outcome(&id).await })
    };
    while shown(&mut extension).await.as_array().unwrap().len() < 3 {}
    answer(&mut extension, &by_id, json!({"kind": "done", "note": "logged in"})).await;
    answer(&mut extension, &by_waiting, json!({"kind": "cannot", "note": "no phone here"})).await;
    answer(&mut extension, &by_task, json!({"kind": "done"})).await;
    let outcome = client.outcome(&by_id).await;
    let done = json!({"done": true, "text": "logged in", "by": "browser"});
    assert_eq!(outcome["result"], done, "{outcome}");
    let outcome = soon("the answer", waits).await.unwrap();
    let cannot = json!({"done": false, "text": "no phone here", "by": "browser"});
    assert_eq!(outcome["result"], cannot, "{outcome}");
    let over = async || get().await["status"] == "completed";
    soon("the end of the task", until(over)).await;
    let told = get().await;
    let result: Value = body(&told["result"]);
    assert_eq!(result["result"], json!({"done": true, "by": "browser"}), "{told}");
    daemon.stop().await;
}
