//! Acts recorded as steps, and run again: after a reload, with secrets as parameters, and on a page that has changed.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{finish, program};
use tokio::process::Command;

use super::ActionStage;
use super::eyes::ref_of;

const SECRET: &str = "hunter2hunter2";

/// The ref of the element of the page whose line has these words.
async fn find_ref(stage: &ActionStage, words: &str) -> String {
    ref_of(&stage.act("snapshot", json!({})).await, words)
}

/// Fills the form by refs, which mean nothing after a reload, and sends it.
async fn order(stage: &ActionStage) {
    let name = find_ref(stage, "\"Name\"").await;
    stage.act("type", json!({"target": name, "text": "Ann Lee"})).await;
    let fields = json!([
        {"target": find_ref(stage, "\"Password\"").await, "value": SECRET},
        {"target": find_ref(stage, "\"Country\"").await, "value": "Sweden"},
        {"target": find_ref(stage, "\"I agree\"").await, "value": true},
    ]);
    stage.act("fill_form", json!({"fields": fields})).await;
    let send = find_ref(stage, "\"Send order\"").await;
    stage.act("click", json!({"target": send})).await;
    stage.until("document.title === 'Thanks'").await;
}

async fn recorded(stage: &ActionStage, form: &str) -> Value {
    stage.act("record", json!({"phase": "start"})).await;
    order(stage).await;
    stage.act("record", json!({"phase": "stop", "as": form})).await
}

#[tokio::test]
async fn what_an_agent_did_by_refs_runs_again_after_a_reload_with_the_secret_as_an_argument() {
    let stage = ActionStage::open("order.html").await;
    let recording = recorded(&stage, "batch").await;
    let text = recording.to_string();
    assert!(!text.contains(SECRET) && !text.contains("[redacted]"), "{text}");
    assert_eq!(recording["params"], json!(["password"]), "{text}");
    let steps = recording["steps"].as_array().unwrap();
    assert_eq!(steps[1]["target"], "role=textbox[name=\"Name\"s]", "{text}");
    assert_eq!(steps[3], json!({"action": "click", "target": "role=button[name=\"Send order\"s]"}));
    assert_eq!(steps[4], json!({"action": "wait_for", "url": stage.url("order_done.html")}));

    let wanted = "[\"who=Ann Lee\",\"pass=hunter2hunter2\",\"where=se\",\"agree=on\"]";
    stage.read("localStorage.removeItem('sent')").await;
    let run = json!({"steps": steps, "params": {"password": SECRET}, "timeout_ms": 30_000});
    let ran = stage.act("run", run).await;
    assert!(ran["failed"].is_null(), "{ran}");
    assert_eq!(stage.read("localStorage.sent").await, wanted);

    let missing = stage.fails("run", json!({"steps": steps})).await;
    assert!(missing.to_string().contains("were not recorded: password"), "{missing}");

    // The same as a script, run by a shell.
    stage.act("navigate", json!({"url": stage.url("order.html")})).await;
    let recording = recorded(&stage, "call").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("order.sh");
    std::fs::write(&file, recording["script"].as_str().unwrap()).unwrap();
    stage.read("localStorage.removeItem('sent')").await;
    let without = finish(shell(&stage, &file)).await;
    assert!(without.code != Some(0) && without.stderr.contains("PASSWORD"), "{without:?}");
    assert_eq!(stage.read("localStorage.sent ?? null").await, Value::Null);
    let mut with_secret = shell(&stage, &file);
    with_secret.env("PASSWORD", SECRET);
    let ran = finish(with_secret).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(stage.read("localStorage.sent").await, wanted);
    stage.end().await;
}

/// A shell that runs this file and finds the program.
fn shell(stage: &ActionStage, file: &Path) -> Command {
    let mut shell = Command::new("sh");
    let programs = Path::new(program()).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    shell.arg(file).env("PATH", path).env("TABWIRE_HOME", stage.stage.daemon.home().dir());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    shell
}

#[tokio::test]
async fn on_a_changed_page_the_first_step_that_differs_is_named_with_what_is_there_instead() {
    let stage = ActionStage::open("order.html").await;
    let recording = recorded(&stage, "batch").await;
    let store = json!({"action": "store", "name": "order", "data": recording});
    stage.client().call("configure", store).await;
    stage.read("localStorage.changed = '1', localStorage.removeItem('sent')").await;
    let run = json!({"name": "order", "params": {"password": SECRET}, "timeout_ms": 20_000});
    let answer = stage.answer("run", run).await;
    let failed = &answer["result"]["value"]["failed"];
    assert_eq!((&failed["step"], &failed["action"]), (&json!(3), &json!("click")), "{answer}");
    assert!(failed["error"].as_str().unwrap().contains("Send order"), "{failed}");
    assert!(failed["hint"].as_str().unwrap().contains("Review order"), "{failed}");
    assert_eq!(answer["result"]["value"]["not_run"][0], "wait_for", "{answer}");
    assert_eq!(stage.read("localStorage.sent ?? null").await, Value::Null);

    let none = stage.fails("run", json!({"name": "nothing", "params": {}})).await;
    assert_eq!(none["error"], "not_found", "{none}");
    stage.end().await;
}

#[tokio::test]
async fn a_recording_is_its_clients_and_tells_what_no_step_can_repeat() {
    let stage = ActionStage::open("order.html").await;
    let early = stage.fails("record", json!({"phase": "stop"})).await;
    assert!(early["hint"].as_str().unwrap().contains("phase start"), "{early}");
    stage.act("record", json!({"phase": "start"})).await;
    stage.act("draw", json!({"points": [[10, 10], [20, 20]]})).await;
    stage.act("get_text", json!({})).await;
    stage.fails("click", json!({"target": "text=Nowhere", "timeout_ms": 300})).await;
    stage.stage.kill_worker();
    stage.act("press_key", json!({"key": "Tab"})).await;
    let recording = stage.act("record", json!({"phase": "stop", "as": "call"})).await;
    let script = recording["script"].as_str().unwrap();
    assert!(script.contains("action=run") && script.contains("press_key"), "{script}");
    assert!(!script.contains("Nowhere") && !script.contains("get_text"), "{script}");
    assert!(recording["left_out"][0].as_str().unwrap().starts_with("draw"), "{recording}");
    stage.end().await;
}

#[tokio::test]
async fn a_recording_as_a_playwright_test_names_elements_as_people_do() {
    let stage = ActionStage::open("order.html").await;
    let recording = recorded(&stage, "playwright").await;
    let script = recording["script"].as_str().unwrap();
    for line in [
        "await page.getByRole('textbox', { name: \"Name\", exact: true }).pressSequentially(\"Ann Lee\");",
        "await page.getByLabel(\"Password\", { exact: true }).fill(param('PASSWORD'));",
        "await page.getByRole('combobox', { name: \"Country\", exact: true }).selectOption(\"Sweden\");",
        "await page.getByRole('checkbox', { name: \"I agree\", exact: true }).setChecked(true);",
        "await page.getByRole('button', { name: \"Send order\", exact: true }).click();",
    ] {
        assert!(script.contains(line), "{line}\n{script}");
    }
    assert!(!script.contains(SECRET), "{script}");
    stage.end().await;
}
