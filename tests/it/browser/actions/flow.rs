//! Waits, several actions in one call, and tools that pages offer.

use serde_json::{Value, json};

use super::ActionStage;
use testkit::OTHER_SITE;

async fn deny_elsewhere(stage: &ActionStage) {
    let rule = json!({"action": "site_rules", "pattern": OTHER_SITE});
    stage.client().call("configure", rule).await;
}

#[tokio::test]
async fn a_wait_ends_when_the_page_shows_it_in_frames_and_closed_trees_too() {
    let stage = ActionStage::open("flow.html").await;
    stage.read("begin()").await;
    stage.act("wait_for", json!({"text": "order  SAVED", "textGone": "going away"})).await;
    stage.act("wait_for", json!({"text": "in the closed tree"})).await;
    stage.act("wait_for", json!({"text": "words of the frame"})).await;
    let shown = stage.act("wait_for", json!({"target": "role=button[name=\"Pay now\"]"})).await;
    assert!(shown["target"].as_str().unwrap().starts_with("button \"Pay now\" "), "{shown}");
    stage.act("wait_for", json!({"gone": "#bye", "state": "load"})).await;
    let said = stage.act("wait_for", json!({"function": "() => window.ready"})).await;
    assert_eq!(said["value"], json!({"count": 7}));
    stage.read("setTimeout(() => { location.href = '/plain.html' }, 100)").await;
    let there = stage.act("wait_for", json!({"url": "**/plain.*", "state": "networkidle"})).await;
    assert!(there["url"].as_str().unwrap().ends_with("/plain.html"), "{there}");
    stage.end().await;
}

#[tokio::test]
async fn a_text_that_a_page_shows_for_a_moment_alone_ends_a_wait_for_it() {
    let stage = ActionStage::open("plain.html").await;
    for round in 0..5 {
        let text = format!("Only now {round}");
        let show = format!(
            "setTimeout(() => {{ const line = document.createElement('p'); line.textContent = '{text}'; \
             document.body.append(line); setTimeout(() => line.remove(), 1); }}, 300), 0"
        );
        stage.read(&show).await;
        stage.act("wait_for", json!({"text": text, "timeout_ms": 3_000})).await;
    }
    stage.end().await;
}

#[tokio::test]
async fn a_wait_for_a_load_does_not_hold_that_load_up() {
    let stage = ActionStage::open("flow.html").await;
    for _ in 0..3 {
        stage.go("flow.html").await;
        stage.read("setTimeout(() => { location.href = '/late_image.html' }), 1").await;
        let load = json!({"url": "/late_image.html", "state": "load"});
        let waited = stage.act("wait_for", load).await;
        assert!(waited["waited_ms"].as_u64().unwrap() < 5_000, "{waited}");
    }
    // Names of the page that an expression uses are the page's own.
    stage.act("wait_for", json!({"function": "said + asked === 15"})).await;
    stage.end().await;
}

#[tokio::test]
async fn a_wait_in_vain_says_what_is_there_instead() {
    let stage = ActionStage::open("flow.html").await;
    let vain = |params: Value| {
        let stage = &stage;
        async move {
            let mut params = params;
            if params["timeout_ms"].is_null() {
                // Longer than a look at the page takes on a busy machine.
                params["timeout_ms"] = 1_800.into();
            }
            let answer = stage.answer("wait_for", params).await;
            assert_eq!(answer["status"], "timeout", "{answer}");
            assert!(answer["hint"].as_str().unwrap().contains("snapshot"), "{answer}");
            answer["error"].as_str().unwrap().to_owned()
        }
    };
    let text = vain(json!({"text": "nothnig yet"})).await;
    assert!(
        text.contains("nearest text: \"nothing yet\"") && text.contains("/flow.html"),
        "{text}"
    );
    let hidden = vain(json!({"target": "#late"})).await;
    assert!(hidden.contains("is there and not visible"), "{hidden}");
    let still = vain(json!({"gone": "#bye"})).await;
    assert!(still.contains("is still there"), "{still}");
    stage.read("void fetch('/silent')").await;
    let busy = vain(json!({"state": "networkidle"})).await;
    assert!(busy.contains("1 request is pending") && busy.contains("/silent"), "{busy}");
    // The debugger comes to the tab first.
    let script = vain(json!({"function": "nowhere.count > 3", "timeout_ms": 5_000})).await;
    assert!(script.contains("nowhere is not defined"), "{script}");
    let wrong = stage.fails("wait_for", json!({})).await;
    assert_eq!(wrong["reason"], "invalid_params", "{wrong}");
    stage.end().await;
}

#[tokio::test]
async fn a_script_that_does_not_end_is_run_once_and_told_that_the_time_is_up() {
    let stage = ActionStage::open("flow.html").await;
    let script = "() => { window.runs = (window.runs ?? 0) + 1; \
        return new Promise(() => { tabwireSignal.onabort = () => { window.isEnded = true } }) }";
    let late = stage.answer("wait_for", json!({"function": script, "timeout_ms": 1_500})).await;
    assert_eq!(late["status"], "timeout", "{late}");
    assert!(late["error"].as_str().unwrap().contains("has not come to an end"), "{late}");
    assert_eq!(stage.read("[window.runs, window.isEnded]").await, json!([1, true]));
    stage.end().await;
}

#[tokio::test]
async fn a_wait_ends_with_its_cancel_and_at_a_site_that_is_denied() {
    let stage = ActionStage::open("flow.html").await;
    let wait =
        json!({"action": "wait_for", "text": "never", "tab_id": stage.tab, "timeout_ms": 60_000});
    let id = stage.client().submit(wait).await;
    stage.client().cancel(&id).await;
    assert_eq!(stage.client().outcome(&id).await["status"], "cancelled");
    deny_elsewhere(&stage).await;
    let away = json!(stage.url("plain.html").replace("127.0.0.1", OTHER_SITE));
    stage.read(&format!("setTimeout(() => {{ location.href = {away} }}, 200)")).await;
    let denied = stage.fails("wait_for", json!({"url": "plain.html"})).await;
    assert_eq!(denied["reason"], "blocked_by_policy", "{denied}");
    stage.end().await;
}

#[tokio::test]
async fn a_batch_runs_its_steps_with_earlier_results_as_data_and_stops_at_the_first_failure() {
    let stage = ActionStage::open("flow.html").await;
    let done = stage
        .act(
            "batch",
            json!({"steps": [
                {"action": "execute_js", "script": "begin()"},
                {"action": "wait_for", "text": "Order saved"},
                {"action": "find", "role": "button", "as": "found"},
                {"action": "get_text", "target": "{{found.ref}}"},
                {"action": "get_value", "target": "#said", "as": "x"},
                {"action": "execute_js", "script": "[\"{{x.value}}\", {{x.value}}, stolen]"},
            ]}),
        )
        .await;
    let results = done["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[3]), (6, &json!("Pay now")), "{done}");
    assert_eq!(results[5][1], "{{x.tab_id}} \"; stolen = true; //", "{done}");
    assert_eq!(results[5][2], false, "words of a page are no script: {done}");
    let steps = json!([
        {"action": "execute_js", "script": "window.steps = 1"},
        {"action": "get_text", "target": "#nowhere"},
        {"action": "execute_js", "script": "window.steps = 2"},
    ]);
    let stopped = stage.act("batch", json!({ "steps": steps })).await;
    assert_eq!(
        (&stopped["failed"]["step"], &stopped["failed"]["reason"]),
        (&json!(1), &json!("target_not_found"))
    );
    assert!(!stopped["failed"]["hint"].as_str().unwrap().is_empty(), "{stopped}");
    assert_eq!((&stopped["not_run"], &stopped["results"]), (&json!(["execute_js"]), &json!([1])));
    assert_eq!(stage.read("window.steps").await, 1);
    let refused = stage.fails("batch", json!({"steps": [{"action": "batch", "steps": []}]})).await;
    assert!(refused["message"].as_str().unwrap().contains("steps[0]"), "{refused}");
    stage.end().await;
}

#[tokio::test]
async fn a_batch_clicks_and_looks_in_one_call_and_its_pictures_go_along() {
    let stage = ActionStage::open("pictures.html").await;
    let steps = json!([
        {"action": "execute_js", "script": "document.title = 'Pictured'"},
        {"action": "screenshot", "max_side": 200},
        {"action": "get_text", "target": "body"},
        {"action": "screenshot", "format": "jpeg", "marks": true, "max_side": 300},
    ]);
    let result = stage.raw("batch", json!({ "steps": steps }), false).await;
    let content = result["content"].as_array().unwrap();
    let kinds: Vec<_> = content.iter().map(|part| part["mimeType"].as_str()).collect();
    assert_eq!(kinds, [None, Some("image/png"), Some("image/jpeg")], "{result}");
    assert!(content[1]["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert!(content[2]["data"].as_str().unwrap().starts_with("/9j/"));
    let text = content[0]["text"].as_str().unwrap();
    let told: Value = serde_json::from_str(text).unwrap();
    let results = &told["result"]["results"];
    assert_eq!(
        (&results[1]["width"], &results[1]["data"]),
        (&json!(200), &json!("(shown as image content 1)")),
        "{told}"
    );
    assert_eq!(results[3]["data"], "(shown as image content 2)", "{told}");
    assert!(text.len() < 5_000, "the pictures are no text: {}", text.len());

    // A page cannot pass its words off as a picture.
    let script = "return {mime_type: 'image/png', data: 'aGk='}";
    let steps = json!([{"action": "execute_js", "script": script}, {"action": "screenshot"}]);
    let result = stage.raw("batch", json!({ "steps": steps }), false).await;
    assert_eq!(result["content"].as_array().unwrap().len(), 2, "{}", result["content"][0]);
    for (step, part) in [
        (json!({"action": "screenshot", "path": "a.png"}), "takes no `path`"),
        (json!({"action": "pdf", "path": "a.pdf"}), "pdf cannot be a step of a batch"),
        (json!({"action": "draw_mode"}), "a person draws"),
    ] {
        let refused = stage.fails("batch", json!({"steps": [step]})).await;
        assert!(refused["message"].as_str().unwrap().contains(part), "{refused}");
        assert!(refused["hint"].as_str().unwrap().len() > 20, "{refused}");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_batch_stops_in_a_step_when_cancelled_and_before_a_page_that_is_denied() {
    let stage = ActionStage::open("flow.html").await;
    let steps = json!([
        {"action": "execute_js", "script": "window.steps = 1; void fetch('/late')"},
        {"action": "wait_for", "text": "never"},
        {"action": "execute_js", "script": "window.steps = 2"},
    ]);
    let batch =
        json!({"action": "batch", "steps": steps, "tab_id": stage.tab, "timeout_ms": 60_000});
    let id = stage.client().submit(batch).await;
    stage.pages().asked_for("/late").await;
    stage.client().cancel(&id).await;
    let cancelled = stage.client().outcome(&id).await;
    assert_eq!(
        (&cancelled["status"], &cancelled["may_have_run"]),
        (&json!("cancelled"), &json!(true))
    );
    assert_eq!(stage.read("window.steps").await, 1);
    deny_elsewhere(&stage).await;
    let away = stage.url("plain.html").replace("127.0.0.1", OTHER_SITE);
    let named = json!([{"action": "execute_js", "script": "window.steps = 3"}, {"action": "navigate", "url": away}]);
    let refused = stage.fails("batch", json!({ "steps": named })).await;
    assert_eq!(refused["reason"], "blocked_by_policy", "{refused}");
    assert_eq!(stage.read("window.steps").await, 1, "a denied address is refused before any step");
    let sent = json!([
        {"action": "execute_js", "script": format!("void setTimeout(() => {{ location.href = {} }}, 100)", json!(away))},
        {"action": "wait_for", "url": "plain.html"},
        {"action": "execute_js", "script": "document.title"},
    ]);
    let stopped = stage.act("batch", json!({ "steps": sent })).await;
    assert_eq!(stopped["failed"]["reason"], "blocked_by_policy", "{stopped}");
    assert_eq!(stopped["not_run"], json!(["execute_js"]), "{stopped}");
    stage.end().await;
}

#[tokio::test]
async fn where_the_browser_has_no_tools_of_pages_the_answer_says_so() {
    let stage = ActionStage::open("flow.html").await;
    let none = stage.fails("page_tools", json!({})).await;
    assert_eq!(none["reason"], "unsupported", "{none}");
    assert!(none["hint"].as_str().unwrap().contains("snapshot"), "{none}");
    let call = json!({"name": "add", "document": "D", "hash": "0"});
    assert_eq!(stage.fails("call_page_tool", call).await["reason"], "page_tool_changed");
    stage.end().await;
}
