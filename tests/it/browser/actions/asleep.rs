//! Tabs whose pages the browser has unloaded or stopped: listing them wakes none, and commands do.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{McpClient, TestDaemon, TestPages, soon, until};

use super::{ActionStage, Stage, folder};

/// A page in the background, with another extension in the browser that discards tabs.
pub(super) async fn beside_vault(page: &str) -> ActionStage {
    let vault = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vault");
    let pages = TestPages::with_folders(&[&folder()]).await;
    let stage = Stage::beside(TestDaemon::start().await, pages, &vault).await;
    let mut stage = ActionStage { stage, tab: Value::Null };
    stage.turn_to(page).await;
    stage
}

async fn tabs(stage: &ActionStage) -> Vec<Value> {
    let listed = stage.client().call("observe", json!({"what": "tabs", "trace": true})).await;
    listed["tabs"].as_array().unwrap().clone()
}

/// The tab that the stage works in, under whichever id.
async fn own_tab(stage: &ActionStage) -> Value {
    let is_own = |tab: &Value| {
        let former = tab["former_ids"].as_array();
        tab["tab_id"] == stage.tab || former.is_some_and(|ids| ids.contains(&stage.tab))
    };
    tabs(stage).await.into_iter().find(is_own).expect("the tab")
}

/// Has the tab's page unloaded; the tab as it is listed then.
async fn discard(stage: &ActionStage) -> Value {
    stage.read("setTimeout(() => postMessage({vault: 'discard'}, '*'), 50); 1").await;
    asleep(stage).await
}

async fn asleep(stage: &ActionStage) -> Value {
    let discarded = async {
        loop {
            let tab = own_tab(stage).await;
            if tab["discarded"] == true {
                return tab;
            }
        }
    };
    soon("a discarded tab", discarded).await
}

/// The tab that its window shows.
async fn front(stage: &ActionStage) -> Value {
    let shown = tabs(stage).await.into_iter().find(|tab| tab["active"] == true);
    shown.expect("an active tab")["tab_id"].clone()
}

#[tokio::test]
async fn a_discarded_tab_sleeps_until_a_command_needs_its_page_and_is_the_same_tab_under_its_new_id()
 {
    let stage = beside_vault("sleepy.html").await;
    let front_tab = front(&stage).await;
    stage.act("type", json!({"target": "label=Name", "text": "not saved"})).await;
    let streams =
        json!({"action": "capture", "on": true, "streams": ["logs"], "tab_id": stage.tab});
    stage.client().call("configure", streams).await;
    let listed = discard(&stage).await;
    assert_ne!(listed["tab_id"], stage.tab, "{listed}");
    assert_eq!(listed["current"], true, "{listed}");
    // Looking at it, at lists or at recordings wakes nothing.
    let info = stage.act("page_info", json!({})).await;
    assert_eq!((&info["discarded"], &info["status"]), (&json!(true), &json!("unloaded")), "{info}");
    let list = json!({"what": "tabs", "trace": false});
    let list = stage.client().call_raw("observe", list).await.to_string();
    assert!(list.contains(" discarded "), "{list}");
    stage.act("tab_list", json!({})).await;
    assert_eq!(own_tab(&stage).await["discarded"], true);

    // Another client has no more right to it than before.
    let other = McpClient::legacy(&stage.stage.daemon).named("other");
    let close = json!({"action": "click", "target": "#plain", "tab_id": listed["tab_id"], "wait_ms": 20_000});
    let refused = other.call_fails("interact", close).await;
    assert_eq!(refused["error"], "tab_in_use", "{refused}");

    // An act without a tab goes to it, and wakes it in the background.
    let click = json!({"action": "click", "target": "#plain", "wait_ms": 20_000, "trace": true});
    let clicked = stage.client().call("interact", click).await;
    assert_eq!(clicked["result"]["revived"], true, "{clicked}");
    assert!(clicked["result"]["note"].as_str().unwrap().contains("not saved is lost"), "{clicked}");
    assert_eq!(stage.read("document.title").await, "Pressed true");
    let awake = own_tab(&stage).await;
    assert_eq!(awake["discarded"], Value::Null, "{awake}");
    assert_eq!(front(&stage).await, front_tab);
    // The recording goes on in it.
    let pressed = async {
        loop {
            let logs = json!({"what": "logs", "tab_id": awake["tab_id"]});
            let logs = stage.client().call("observe", logs).await;
            if logs.to_string().contains("pressed") {
                return;
            }
        }
    };
    soon("the line of the new document", pressed).await;
    let again = stage.answer("get_text", json!({})).await;
    assert_eq!(again["result"]["revived"], Value::Null, "{again}");
    // A picture would wait for a frame that the browser does not draw.
    let picture = stage.fails("screenshot", json!({})).await;
    assert!(picture["hint"].as_str().unwrap().contains("tab_activate"), "{picture}");

    discard(&stage).await;
    stage.act("tab_close", json!({})).await;
    let left = tabs(&stage).await;
    assert!(left.iter().all(|tab| tab["tab_id"] == front_tab), "{left:?}");
    stage.end().await;
}

#[tokio::test]
async fn a_command_whose_tab_is_discarded_meanwhile_says_so_and_that_it_may_have_run() {
    let stage = beside_vault("sleepy.html").await;
    let script = "setTimeout(() => postMessage({vault: 'discard'}, '*'), 200); \
                  await new Promise(() => {})";
    let lost = stage.fails("execute_js", json!({"script": script})).await;
    assert_eq!(lost["reason"], "tab_discarded", "{lost}");
    assert_eq!(lost["may_have_run"], true, "{lost}");
    let awake = stage.answer("wait_for", json!({"text": "Sleepy Page"})).await;
    assert_eq!(awake["result"]["revived"], true, "{awake}");
    stage.read("setTimeout(() => postMessage({vault: 'discard'}, '*'), 200)").await;
    let lost = stage.fails("wait_for", json!({"text": "Never There"})).await;
    assert_eq!(lost["reason"], "tab_discarded", "{lost}");
    stage.end().await;
}

#[tokio::test]
async fn a_discarded_answer_to_a_form_is_not_asked_for_again_and_no_other_page_is_told_as_the_former()
 {
    let stage = beside_vault("sleepy.html").await;
    let front_tab = front(&stage).await;
    stage.act("click", json!({"target": "text=Send"})).await;
    stage.act("wait_for", json!({"text": "Thank you"})).await;
    discard(&stage).await;
    let asleep = stage.fails("get_text", json!({})).await;
    assert_eq!(asleep["reason"], "needs_resubmit", "{asleep}");
    assert_eq!(asleep["may_have_run"], false, "{asleep}");
    assert_eq!(stage.pages().hits("/answer.html"), 1);
    let is_back = until(async || front(&stage).await == front_tab);
    soon("the tab that was in front", is_back).await;
    let back = stage.act("back", json!({})).await;
    assert!(back["url"].as_str().unwrap().ends_with("/sleepy.html"), "{back}");
    assert_eq!(stage.pages().hits("/answer.html"), 1);

    // Addresses that lead elsewhere, or fail, by the time at which their pages are loaded anew.
    for (later, says, title) in
        [("/to?/second", "led to", "Second Page"), ("/status?500", "HTTP status 500", "Status 500")]
    {
        let url = stage.pages().url(&format!("/once?{later}"));
        stage.act("navigate", json!({"url": url})).await;
        assert_eq!(stage.read("document.title").await, "Another Page");
        discard(&stage).await;
        let other = stage.fails("press_key", json!({"key": "Tab"})).await;
        let told = (&other["reason"], &other["may_have_run"]);
        assert_eq!(told, (&json!("navigation_interrupted"), &json!(false)), "{other}");
        assert!(other["error"].as_str().unwrap().contains(says), "{other}");
        assert!(!other.to_string().contains("revived"), "{other}");
        let shown = stage.answer("execute_js", json!({"script": "document.title"})).await;
        assert_eq!(shown["result"]["value"], title, "{shown}");
        assert_eq!(shown["result"]["revived"], Value::Null, "{shown}");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_frozen_page_is_told_and_runs_while_a_command_needs_it() {
    let stage = ActionStage::open("sleepy.html").await;
    let front_tab = front(&stage).await;
    let mut user = stage.user().await;
    user.turn_to(&stage.url("sleepy.html")).await;
    user.freeze().await;
    let frozen = until(async || own_tab(&stage).await["frozen"] == true);
    soon("a frozen tab", frozen).await;
    let info = stage.act("page_info", json!({})).await;
    assert_eq!(info["frozen"], true, "{info}");
    let text = stage.act("get_text", json!({})).await;
    assert!(text.as_str().unwrap().contains("Sleepy Page"), "{text}");
    let waited = "await new Promise((done) => setTimeout(done, 10)); return 'ran'";
    assert_eq!(stage.read(waited).await, "ran");
    stage.act("click", json!({"target": "#plain"})).await;
    assert_eq!(stage.read("document.title").await, "Pressed true");
    assert_eq!(front(&stage).await, front_tab);
    stage.end().await;
}
