//! A command is pushed to the browser the moment its tab is free, and its result comes
//! back, to whoever asked for it and to nobody else.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, FakeExtension, FrozenClock, McpClient, Stopwatch, TestDaemon, active_tab,
    body, phases, png, soon, tab,
};

/// A daemon, a browser with the tabs 7 (active) and 8, a client.
async fn connected() -> (TestDaemon, FakeExtension, McpClient) {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    (daemon, extension, client)
}

fn value(value: impl Into<Value>) -> Value {
    json!({"success": true, "value": value.into(), "type": "string"})
}

#[tokio::test(start_paused = true)]
async fn a_command_reaches_the_extension_without_any_poll_or_timer() {
    // Time stands still: whatever waited for a timer would wait for ever.
    let _time = FrozenClock::time().await;
    let (_daemon, mut extension, client) = connected().await;
    extension.expect_nothing().await;
    let submitted = client.script("document.title", 7);
    let (id, command) = tokio::join!(submitted, extension.command());
    assert_eq!(command.id, id);
    let expected = json!({
        "id": command.command["id"], "correlation_id": id, "type": "execute_js",
        "params": {"script": "document.title"}, "tab_id": 7, "timeout_ms": 10_000,
        "safe": false, "redelivered": false, "client": "it 1", "client_id": "http",
    });
    assert_eq!((command.attempt, command.command), (1, expected));
}

#[tokio::test]
async fn a_command_is_claimed_run_and_read_and_says_at_each_step_where_it_stands() {
    let (_daemon, mut extension, client) = connected().await;
    let id = client.script("1 + 1", 7).await;
    assert!(id.starts_with("exec_") && id.len() == "exec_".len() + 13 + 1 + 32, "{id}");
    let command = extension.command().await;

    let sent = client.status(&id).await;
    assert_eq!(sent["status"], "pending");
    assert!(sent["delivered_at"].is_string() && sent["started_at"].is_null(), "{sent}");
    extension.expect_nothing().await;

    extension.claim(&command).await;
    extension.pending(&command, json!({"message": "half way", "progress": 0.5})).await;
    extension.expect_nothing().await;
    let started = client.status(&id).await;
    assert_eq!(started["status"], "pending");
    assert!(started["started_at"].is_string(), "{started}");
    assert_eq!(started["progress"]["message"], "half way");
    assert_eq!(started["progress"]["progress"], 0.5);

    extension
        .report(&command, "complete", json!({"result": value("2"), "origin": "http://a.test"}))
        .await;
    let outcome = client.outcome(&id).await;
    assert_eq!(outcome["status"], "complete");
    assert_eq!(outcome["result"], value("2"), "as the extension sent it");
    assert_eq!(outcome["page"], "http://a.test");
    assert!(outcome["duration_ms"].as_f64().is_some_and(|took| took > 0.0), "{outcome}");
    for time in ["created_at", "completed_at"] {
        let time = outcome[time].as_str().unwrap();
        assert!(time.len() == "2026-11-21T22:09:45.123Z".len() && time.ends_with('Z'), "{time}");
    }
}

#[tokio::test]
async fn a_submission_is_answered_at_once_whatever_the_browser_does() {
    let (_daemon, _silent, client) = connected().await;
    // The first answer's schema is compiled first.
    client.script("1", 8).await;
    for _ in 0..4 {
        let watch = Stopwatch::start();
        client.script("while (true) {}", 7).await;
        watch.assert_under(100, "submitting");
    }
}

#[tokio::test]
async fn with_wait_ms_the_result_comes_in_the_same_call() {
    let (_daemon, extension, client) = connected().await;
    let _auto = extension.auto(|command| value(command.script()));
    let call = json!({"action": "execute_js", "script": "title", "wait_ms": 8_000, "trace": true});
    let outcome = client.call("interact", call).await;
    assert_eq!(outcome["status"], "complete");
    assert_eq!(outcome["result"], value("title"));
    assert_eq!(phases(&outcome).last().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn when_wait_ms_is_over_the_answer_is_pending_with_the_id_and_the_command_goes_on() {
    let time = FrozenClock::time().await;
    let (_daemon, mut extension, client) = connected().await;
    let call = json!({"action": "execute_js", "script": "slow", "wait_ms": 2_000});
    let waiting = client.call("interact", call);
    let (answer, command) = tokio::join!(waiting, async {
        let command = extension.command().await;
        extension.claim(&command).await;
        time.pass_ms(2_000).await;
        command
    });
    assert_eq!(answer["status"], "pending");
    assert_eq!(answer["correlation_id"], command.id.as_str());
    extension.complete(&command, &value("done")).await;
    assert_eq!(client.outcome(&command.id).await["result"], value("done"));
}

#[tokio::test]
async fn waiting_in_observe_wakes_with_the_result() {
    let (_daemon, mut extension, client) = connected().await;
    let id = client.script("slow", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let result = value("done");
    let (outcome, ()) = tokio::join!(client.outcome(&id), extension.complete(&command, &result));
    assert_eq!(outcome["result"], result);
}

#[tokio::test]
async fn a_command_that_only_looks_skips_the_claim() {
    let (_daemon, mut extension, client) = connected().await;
    for action in ["page_info", "tab_list", "screenshot"] {
        let id = client.submit(json!({"action": action})).await;
        let command = extension.command().await;
        assert_eq!(command.command["safe"], true, "{action}");
        extension.complete(&command, &json!({"success": true})).await;
        let outcome = client.outcome(&id).await;
        assert_eq!(outcome["status"], "complete", "{action}");
        assert_eq!(phases(&outcome), ["queued", "delivered", "done"], "{action}");
    }
    for action in [
        json!({"action": "execute_js", "script": "1"}),
        json!({"action": "navigate", "url": "about:blank"}),
    ] {
        client.submit(action.clone()).await;
        let command = extension.command().await;
        assert_eq!(command.command["safe"], false, "{action}");
        extension.claim(&command).await;
        extension.complete(&command, &json!({"success": true})).await;
    }
}

#[tokio::test]
async fn a_tab_runs_one_command_at_a_time_in_the_order_of_submission() {
    let (_daemon, mut extension, client) = connected().await;
    let mut ids = Vec::new();
    for script in ["first", "second", "third"] {
        ids.push(client.script(script, 7).await);
    }
    for id in ids {
        let command = extension.command().await;
        assert_eq!(command.id, id);
        extension.expect_nothing().await;
        extension.claim(&command).await;
        extension.expect_nothing().await;
        extension.complete(&command, &value("done")).await;
    }
    extension.expect_nothing().await;
}

#[tokio::test]
async fn two_tabs_run_side_by_side() {
    let (_daemon, mut extension, client) = connected().await;
    let seven = client.script("in 7", 7).await;
    let eight = client.script("in 8", 8).await;
    let (a, b) = (extension.command().await, extension.command().await);
    assert_eq!((&a.id, &b.id), (&seven, &eight));
    assert_eq!((&a.command["tab_id"], &b.command["tab_id"]), (&json!(7), &json!(8)));
    extension.claim(&a).await;
    extension.claim(&b).await;
    extension.complete(&b, &value("8")).await;
    extension.complete(&a, &value("7")).await;
    assert_eq!(client.outcome(&seven).await["result"], value("7"));
    assert_eq!(client.outcome(&eight).await["result"], value("8"));
}

#[tokio::test]
async fn clients_take_turns_in_a_tab() {
    let (daemon, mut extension, ann) = connected().await;
    let (ann, bob) = (ann.named("ann"), McpClient::modern(&daemon).named("bob"));
    McpClient::modern(&daemon).named("eve").script("e1", 7).await;
    for script in ["a1", "a2", "a3"] {
        ann.script(script, 7).await;
    }
    bob.script("b1", 7).await;
    let mut order = Vec::new();
    for _ in 0..5 {
        order.push(extension.run(&value("done")).await.script().to_owned());
    }
    assert_eq!(order, ["e1", "a1", "b1", "a2", "a3"]);
}

#[tokio::test]
async fn the_sixth_queued_command_is_refused_listed_and_touches_nothing() {
    let (daemon, mut extension, client) = connected().await;
    let running = client.script("running", 7).await;
    let mut accepted = vec![running];
    for n in 1..=5 {
        accepted.push(client.script(&format!("queued {n}"), 7).await);
    }
    let call = json!({"action": "execute_js", "script": "one too many", "tab_id": 7});
    let refusal = client.call_fails("interact", call).await;
    assert_eq!(refusal["error"], "queue_full");
    assert_eq!(refusal["queued"], 5);
    assert!(refusal["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0), "{refusal}");

    let failures = client.call("observe", json!({"what": "failed_commands"})).await;
    assert_eq!((&failures["status"], &failures["count"]), (&json!("ok"), &json!(1)), "{failures}");
    assert_eq!(failures["commands"][0]["correlation_id"], refusal["correlation_id"]);
    assert_eq!(failures["commands"][0]["error"], "queue_full");
    assert!(failures["commands"][0]["failed_at"].is_string(), "{failures}");
    assert!(failures["commands"][0].get("expired_at").is_none(), "it has not expired: {failures}");
    // What it was to do, so that nobody has to remember its id.
    let failed = &failures["commands"][0];
    assert_eq!((&failed["command"], &failed["tab_id"]), (&json!("execute_js"), &json!(7)));
    assert_eq!(failed["target"], "one too many");
    let (message, hint) = (&refusal["message"], &refusal["hint"]);
    let both = format!("{}. {}", message.as_str().unwrap(), hint.as_str().unwrap());
    assert_eq!(failed["hint"], both);

    // Another client has its own five.
    McpClient::legacy(&daemon).named("other").script("fine", 7).await;
    for _ in 0..7 {
        extension.run(&value("done")).await;
    }
    for id in accepted {
        assert_eq!(client.outcome(&id).await["status"], "complete");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_clients_with_a_hundred_commands_each_all_get_their_own_results() {
    const CLIENTS: usize = 10;
    let daemon = TestDaemon::start().await;
    let tabs = (1..=12).map(active_tab).collect();
    let extension = ExtensionBuilder::of(&daemon).tabs(tabs).connect().await;
    let auto = extension.auto(|command| value(format!("{} {}", command.id, command.script())));
    let daemon = std::sync::Arc::new(daemon);
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..CLIENTS {
        let daemon = daemon.clone();
        clients.spawn(async move { hundred_commands(&daemon, n).await });
    }
    let mut all = HashSet::new();
    while let Some(ids) = clients.join_next().await {
        all.extend(ids.unwrap());
    }
    assert_eq!(all.len(), CLIENTS * 100, "every command has an id of its own");
    let runs = auto.runs();
    assert!(runs.values().all(|times| *times == 1), "each ran once");
    assert_eq!(runs.into_keys().collect::<HashSet<_>>(), all);
}

/// Five workers of one client, each with one command at a time; the ids.
async fn hundred_commands(daemon: &TestDaemon, n: usize) -> HashSet<String> {
    let client = McpClient::modern(daemon).named(&format!("client-{n}"));
    let worker = |worker: usize| {
        let client = &client;
        async move {
            let mut ids = Vec::new();
            for k in 0..20 {
                let script = format!("{n}/{worker}/{k}");
                let tab = (n + worker + k) % 12 + 1;
                let call = json!({
                    "action": "execute_js", "script": script, "tab_id": tab, "wait_ms": 20_000
                });
                let outcome = client.call("interact", call).await;
                let id = outcome["correlation_id"].as_str().unwrap().to_owned();
                assert_eq!(outcome["result"], value(format!("{id} {script}")));
                ids.push(id);
            }
            ids
        }
    };
    let (a, b, c, d, e) = tokio::join!(worker(0), worker(1), worker(2), worker(3), worker(4));
    let ids: HashSet<_> = [a, b, c, d, e].into_iter().flatten().collect();
    let lists = json!({"what": "pending_commands", "limit": 65_536});
    let lists = client.call("observe", lists).await;
    let listed = lists["completed"].as_array().unwrap().iter();
    let listed: HashSet<_> =
        listed.map(|done| done["correlation_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, ids, "its list shows a client its own commands and no others");
    assert_eq!((&lists["pending"], &lists["failed"]), (&json!([]), &json!([])));
    ids
}

#[tokio::test]
async fn lists_show_a_client_what_is_its_own_in_each_state() {
    let (daemon, mut extension, ann) = connected().await;
    let (ann, bob) = (ann.named("ann"), McpClient::legacy(&daemon).named("bob"));
    let completed = ann.script("completes", 7).await;
    extension.run(&value("done")).await;
    let failed = ann.script("throws", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let error = json!({"code": "script_error", "message": "no such thing", "stack": "at 1:1"});
    extension.report(&command, "error", json!({"error": error})).await;
    let pending = ann.script("waits", 7).await;

    let lists = ann.call("observe", json!({"what": "pending_commands"})).await;
    let ids = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one["correlation_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&lists["pending"]), [pending]);
    assert_eq!(lists["pending"][0]["command"], "execute_js");
    assert!(lists["pending"][0]["created_at"].is_string());
    assert_eq!(ids(&lists["completed"]), [completed]);
    assert!(lists["completed"][0]["completed_at"].is_string());
    assert!(lists["completed"][0]["duration_ms"].is_number());
    assert_eq!(ids(&lists["failed"]), [failed.as_str()]);
    assert_eq!(lists["failed"][0]["error"], "script_error");
    assert!(lists["failed"][0]["failed_at"].is_string());
    both_lists_say_the_same(&ann).await;

    let outcome = ann.outcome(&failed).await;
    assert_eq!((&outcome["status"], &outcome["error"]), (&json!("error"), &json!("no such thing")));
    assert!(outcome["failed_at"].is_string(), "{outcome}");
    assert_eq!(outcome["page"], "*", "the page decides what an error says");

    let others = bob.call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(others, json!({"pending": [], "completed": [], "failed": [], "page": "*"}));
    let others = bob.call("observe", json!({"what": "failed_commands"})).await;
    assert_eq!((&others["count"], &others["commands"]), (&json!(0), &json!([])), "{others}");
    // The same owner may read it by its id all the same.
    assert_eq!(bob.outcome(&failed).await["status"], "error");
}

#[tokio::test]
async fn a_command_waits_for_a_browser_that_connects_later() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let answer = client.call("interact", json!({"action": "execute_js", "script": "1"})).await;
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("No browser is connected"), "{message}");
    assert!(message.contains("tabwire install"), "the next step: {message}");
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let command = extension.run(&value("here")).await;
    assert_eq!(answer["correlation_id"], command.id.as_str());
    assert_eq!(command.command["tab_id"], 7, "the active tab");
    assert_eq!(client.outcome(&command.id).await["result"], value("here"));
}

#[tokio::test]
async fn a_trace_has_the_time_of_every_phase_in_order() {
    let (_daemon, mut extension, client) = connected().await;
    let id = client.script("slow", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    extension.pending(&command, json!({})).await;
    extension.complete(&command, &value("done")).await;
    client.outcome(&id).await;
    let status = client.status(&id).await;
    let expected =
        ["queued", "delivered", "claimed", "started", "first_pending", "done", "first_read"];
    assert_eq!(phases(&status), expected);
    let entries = status["trace"].as_array().unwrap();
    let after: Vec<_> = entries.iter().map(|entry| entry["after_ms"].as_f64().unwrap()).collect();
    assert!(after.is_sorted() && after[0] == 0.0, "{after:?}");
    assert!(entries.iter().all(|entry| entry["at"].is_string()), "{status}");
    let plain = json!({"what": "command_result", "correlation_id": id});
    assert!(client.call("observe", plain).await.get("trace").is_none(), "only if it is asked for");
}

#[tokio::test]
async fn a_long_result_is_cut_and_can_be_read_on_to_the_last_byte() {
    let (_daemon, mut extension, client) = connected().await;
    // Characters of two to four bytes, so that cuts fall into the middle of some.
    let whole = "aé漢🙂".repeat(20_000);
    let id = client.script("long", 7).await;
    extension.run(&value(&*whole)).await;
    let first = client.outcome(&id).await;
    assert_eq!(first["truncated"], true);
    assert_eq!(first["total_bytes"], whole.len());
    let told: Vec<_> = first.as_object().unwrap().keys().take(4).collect();
    assert_eq!(told, ["truncated", "next_offset", "total_bytes", "hint"], "before the result");
    let mut text = first["result"].as_str().unwrap().to_owned();
    assert!(text.len() <= 10_000 && text.len() > 10_000 - 4, "{}", text.len());
    assert!(whole.starts_with(&text));
    let mut next = first["next_offset"].as_u64();
    while let Some(offset) = next {
        assert_eq!(offset, text.len() as u64, "it goes on where it was cut");
        let call = json!({
            "what": "command_result", "correlation_id": id, "offset": offset, "limit": 50_000
        });
        let part = client.call("observe", call).await;
        text.push_str(part["result"].as_str().unwrap());
        next = part["next_offset"].as_u64();
    }
    assert!(text == whole, "the parts make the exact text");
}

#[tokio::test]
async fn a_result_of_ten_thousand_bytes_is_not_cut() {
    let (_daemon, mut extension, client) = connected().await;
    let exact = json!("x".repeat(10_000 - 2));
    let id = client.script("exact", 7).await;
    extension.run(&exact).await;
    let outcome = client.outcome(&id).await;
    assert_eq!(outcome["result"], exact);
    assert!(outcome.get("truncated").is_none(), "{}", outcome["truncated"]);
}

#[tokio::test]
async fn a_screenshot_comes_as_a_picture() {
    let (_daemon, mut extension, client) = connected().await;
    let id = client.submit(json!({"action": "screenshot", "format": "jpeg"})).await;
    let command = extension.command().await;
    assert_eq!(command.command["params"], json!({"format": "jpeg"}));
    let mut bytes = png(800, 600);
    bytes.resize(120_000, b'A');
    let picture = STANDARD.encode(bytes);
    let shot = json!({
        "success": true, "type": "image",
        "value": {"mime_type": "image/jpeg", "data": picture, "width": 800, "height": 600},
    });
    extension.complete(&command, &shot).await;
    let what = json!({"what": "command_result", "correlation_id": id});
    let result = client.call_raw("observe", what).await;
    let image = json!({"type": "image", "data": picture, "mimeType": "image/jpeg"});
    assert_eq!(result["content"][1], image);
    assert_eq!(result["content"].as_array().unwrap().len(), 2);
    let value = &body(&result)["result"]["value"];
    assert_eq!((&value["width"], &value["height"]), (&json!(800), &json!(600)));
    assert!(!body(&result).to_string().contains("QUFBQUFB"), "not a second time");
}

#[tokio::test(start_paused = true)]
async fn an_estimate_goes_by_the_last_runs() {
    let time = FrozenClock::time().await;
    let (_daemon, mut extension, client) = connected().await;
    let submit = || client.call("interact", json!({"action": "execute_js", "script": "1"}));
    let first = submit().await["estimated_runtime_seconds"].as_f64().unwrap();
    assert!(first > 0.0 && first < 1.0, "a fixed figure at first: {first}");
    for seconds in [2, 4, 3] {
        let command = extension.command().await;
        extension.claim(&command).await;
        time.pass_ms(seconds * 1_000).await;
        extension.complete(&command, &value("done")).await;
        submit().await;
    }
    // One is still out; the three before took 2, 4 and 3 s.
    assert_eq!(submit().await["estimated_runtime_seconds"], 3.0);
}

#[tokio::test]
async fn a_command_can_be_cancelled_in_each_state_and_the_page_is_told() {
    let (_daemon, mut extension, client) = connected().await;
    let started = client.script("started", 7).await;
    let queued = client.script("queued", 7).await;
    let sent = client.script("sent", 8).await;
    let (in_7, in_8) = (extension.command().await, extension.command().await);
    assert_eq!((&in_7.id, &in_8.id), (&started, &sent));
    extension.claim(&in_7).await;

    let is_cancelled = |report: &Value, may_have_run: bool| {
        assert_eq!(report["status"], "cancelled", "{report}");
        assert_eq!(report["may_have_run"], may_have_run, "{report}");
        assert!(report["cancelled_at"].is_string(), "{report}");
    };
    is_cancelled(&client.cancel(&queued).await, false);
    extension.expect_nothing().await;
    is_cancelled(&client.cancel(&sent).await, false);
    extension.expect(&in_8.cancel("cancelled")).await;
    is_cancelled(&client.cancel(&started).await, true);
    extension.expect(&in_7.cancel("cancelled")).await;

    // What has ended stays as it ended.
    let done = client.script("done", 8).await;
    extension.run(&value("done")).await;
    assert_eq!(client.cancel(&done).await["status"], "complete");
    // A claim that crossed the cancel is not let through.
    extension.send(&in_8.answer("claim")).await;
    extension.expect(&in_8.nack("already_terminal")).await;
}

#[tokio::test]
async fn with_several_browsers_one_has_to_be_named_by_id_or_by_label() {
    let daemon = TestDaemon::start().await;
    let mut one = ExtensionBuilder::of(&daemon).browser("one").connect().await;
    let shim = ExtensionBuilder::of(&daemon).browser("two").tabs(vec![active_tab(70)]);
    let mut two = shim.connect().await;
    one.expect_nothing().await;
    two.expect_nothing().await;
    let client = McpClient::modern(&daemon);
    let call = |browser: Option<&str>| {
        let mut call = json!({"action": "execute_js", "script": "1"});
        if let Some(browser) = browser {
            call["browser"] = browser.into();
        }
        call
    };
    let refusal = client.call_fails("interact", call(None)).await;
    assert_eq!(refusal["error"], "ambiguous_browser");
    let expected = json!([
        {"browser": "one", "label": "Browser one"}, {"browser": "two", "label": "Browser two"}
    ]);
    assert_eq!(refusal["browsers"], expected);
    one.expect_nothing().await;

    client.submit(call(Some("one"))).await;
    assert_eq!(one.run(&value("1")).await.command["tab_id"], 7);
    client.submit(call(Some("Browser two"))).await;
    assert_eq!(two.run(&value("2")).await.command["tab_id"], 70);
    // From here on it is the client's browser.
    client.submit(call(None)).await;
    assert_eq!(two.run(&value("2")).await.command["tab_id"], 70);
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["count"], 2);
    assert_eq!(browsers["browsers"][0]["connected"], true);
}

#[tokio::test]
async fn a_tab_that_is_gone_is_refused_with_what_is_there_instead() {
    let (_daemon, mut extension, client) = connected().await;
    client.script("mine", 8).await;
    extension.run(&value("done")).await;
    extension.set_tabs(&[active_tab(7)]).await;
    extension.expect_nothing().await;
    let call = json!({"action": "execute_js", "script": "1"});
    let refusal = client.call_fails("interact", call).await;
    assert_eq!(refusal["error"], "tab_gone", "its own tab is gone");
    assert_eq!(refusal["tabs"], json!([active_tab(7)]));
    let call = json!({"action": "execute_js", "script": "1", "tab_id": 99});
    assert_eq!(client.call_fails("interact", call).await["error"], "tab_gone");
    extension.expect_nothing().await;
    client.script("named", 7).await;
    extension.run(&value("done")).await;
}

#[tokio::test]
async fn a_browser_that_is_not_there_is_refused_and_one_that_is_away_is_waited_for() {
    let (daemon, mut extension, client) = connected().await;
    let call = json!({"action": "execute_js", "script": "1", "browser": "nowhere"});
    let refusal = client.call_fails("interact", call).await;
    assert_eq!(refusal["error"], "browser_gone");
    assert_eq!(refusal["browsers"][0]["browser"], "browser-1");
    client.script("first", 8).await;
    extension.run(&value("done")).await;

    extension.breaks();
    let observe = json!({"what": "browsers"});
    let away = async {
        while client.call("observe", observe.clone()).await["browsers"][0]["connected"] == true {}
    };
    soon("the end of the link", away).await;
    let waits = client.submit(json!({"action": "execute_js", "script": "2"})).await;
    let mut extension = ExtensionBuilder::of(&daemon).instance("instance-2").connect().await;
    let command = extension.run(&value("back")).await;
    assert_eq!((command.id, &command.command["tab_id"]), (waits, &json!(8)));
}

#[tokio::test]
async fn an_action_that_the_extension_does_not_know_is_refused() {
    let daemon = TestDaemon::start().await;
    let mut old = ExtensionBuilder::of(&daemon).actions(&["execute_js"]).connect().await;
    old.expect_nothing().await;
    let client = McpClient::modern(&daemon);
    let refusal = client.call_fails("interact", json!({"action": "screenshot"})).await;
    assert_eq!(refusal["error"], "unsupported_action");
    assert!(refusal["hint"].as_str().unwrap().contains("tabwire install"), "{refusal}");
    old.expect_nothing().await;
}

#[tokio::test]
async fn a_clients_tab_stays_its_tab_when_the_user_switches_tabs() {
    let (daemon, mut extension, client) = connected().await;
    let call = json!({"action": "execute_js", "script": "1"});
    client.submit(call.clone()).await;
    assert_eq!(extension.run(&value("1")).await.command["tab_id"], 7, "the active tab at first");
    extension.set_tabs(&[tab(7), active_tab(8)]).await;
    extension.expect_nothing().await;
    client.submit(call.clone()).await;
    assert_eq!(extension.run(&value("2")).await.command["tab_id"], 7);
    let other = McpClient::modern(&daemon).named("other");
    other.submit(call).await;
    assert_eq!(extension.run(&value("3")).await.command["tab_id"], 8, "another client starts here");
    let tabs = client.call("observe", json!({"what": "tabs"})).await;
    let current = |n: usize| tabs["tabs"][n]["current"].clone();
    assert_eq!((current(0), current(1), &tabs["page"]), (json!(true), json!(false), &json!("*")));
}

/// What a command that nobody brings to its end becomes, and when.
struct Overdue {
    status: &'static str,
    reason: &'static str,
    may_have_run: bool,
}

impl Overdue {
    fn assert_is(&self, report: &Value) {
        assert_eq!(report["status"], self.status, "{report}");
        assert_eq!(report["may_have_run"], self.may_have_run, "{report}");
        if self.status == "expired" {
            assert_eq!(report["reason"], self.reason, "{report}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_extension_is_given_three_seconds() {
    let time = FrozenClock::time().await;
    let (_daemon, mut extension, client) = connected().await;
    let id = client.script("unheard", 7).await;
    extension.command().await;
    time.pass_ms(2_999).await;
    assert_eq!(client.status(&id).await["status"], "pending");
    time.pass_ms(2).await;
    let expected =
        Overdue { status: "expired", reason: "extension_no_response", may_have_run: false };
    expected.assert_is(&client.status(&id).await);
    let failures = client.call("observe", json!({"what": "failed_commands"})).await;
    assert_eq!(failures["commands"][0]["correlation_id"], id.as_str());
}

#[tokio::test(start_paused = true)]
async fn a_command_that_overruns_is_timed_out_and_the_page_told_to_stop() {
    let time = FrozenClock::time().await;
    let (_daemon, mut extension, client) = connected().await;
    let call = json!({"action": "execute_js", "script": "slow", "timeout_ms": 5_000, "tab_id": 7});
    let id = client.submit(call).await;
    let command = extension.command().await;
    assert_eq!(command.command["timeout_ms"], 5_000);
    extension.claim(&command).await;
    // Two seconds more than it was given, so that the extension's own word comes first.
    time.pass_ms(6_999).await;
    assert_eq!(client.status(&id).await["status"], "pending");
    extension.expect_nothing().await;
    time.pass_ms(2).await;
    extension.expect(&command.cancel("execution_timeout")).await;
    let expected = Overdue { status: "timeout", reason: "", may_have_run: true };
    expected.assert_is(&client.status(&id).await);
}

#[tokio::test(start_paused = true)]
async fn without_a_browser_a_command_expires_after_thirty_seconds() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let id = client.submit(json!({"action": "page_info"})).await;
    time.pass_ms(29_999).await;
    assert_eq!(client.status(&id).await["status"], "pending");
    time.pass_ms(2).await;
    let expected = Overdue { status: "expired", reason: "no_extension", may_have_run: false };
    expected.assert_is(&client.status(&id).await);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_for_a_minute_and_its_loss_is_listed_if_nobody_read_it() {
    let time = FrozenClock::time().await;
    let (_daemon, mut extension, client) = connected().await;
    let read = client.script("read", 7).await;
    extension.run(&value("read")).await;
    let unread = client.script("unread", 7).await;
    extension.run(&value("unread")).await;
    time.pass_ms(59_000).await;
    assert_eq!(client.status(&read).await["status"], "complete");
    time.pass_ms(1_001).await;
    for id in [&read, &unread] {
        let status = client.status(id).await;
        assert_eq!(
            (&status["status"], &status["reason"]),
            (&json!("expired"), &json!("result_expired"))
        );
    }
    let failures = client.call("observe", json!({"what": "failed_commands"})).await;
    assert_eq!(failures["count"], 1, "{failures}");
    assert_eq!(failures["commands"][0]["correlation_id"], unread.as_str());
    assert_eq!(failures["commands"][0]["error"], "expired");
    let said = failures["commands"][0]["hint"].as_str().unwrap();
    assert!(said.starts_with("Result expired after 60s (never retrieved). Fetch"), "{said}");
    both_lists_say_the_same(&client).await;
}

/// Sees to it that no command is told otherwise in one list than in the other.
async fn both_lists_say_the_same(client: &McpClient) {
    let lists = client.call("observe", json!({"what": "pending_commands"})).await;
    let failures = client.call("observe", json!({"what": "failed_commands"})).await;
    assert_eq!(lists["failed"], failures["commands"]);
    for failure in failures["commands"].as_array().unwrap() {
        assert!(failure["failed_at"].is_string(), "{failure}");
        // The time of a refused call has not run out, nor that of a script that throws.
        let expired_at = failure.get("expired_at");
        assert!(expired_at.is_none_or(|at| *at == failure["failed_at"]), "{failure}");
        let has_time = ["queue_full", "script_error"].map(Value::from).contains(&failure["error"]);
        assert_eq!(expired_at.is_none(), has_time, "{failure}");
        assert!(failure["command"].is_string(), "{failure}");
        assert!(failure["hint"].is_string(), "{failure}");
    }
}

#[tokio::test]
async fn a_refused_call_and_an_unknown_id_answer_as_failures() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    for tool_call in [
        ("observe", json!({"what": "command_result", "correlation_id": "exec_0_0"})),
        ("configure", json!({"action": "cancel", "correlation_id": "exec_0_0"})),
        ("configure", json!({"action": "query_status", "correlation_id": "exec_0_0"})),
    ] {
        let body = client.call_fails(tool_call.0, tool_call.1).await;
        assert_eq!(body["status"], "not_found");
    }
}

#[tokio::test]
async fn query_status_and_command_result_say_the_same() {
    let (_daemon, mut extension, client) = connected().await;
    let id = client.script("1", 7).await;
    extension.run(&value("1")).await;
    let observed = client.outcome(&id).await;
    let status = json!({"action": "query_status", "correlation_id": id});
    let mut queried = client.call("configure", status).await;
    assert!(queried.get("trace").is_none());
    queried["trace"] = observed["trace"].clone();
    assert_eq!(queried, observed);
}
