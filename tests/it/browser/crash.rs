//! Pages whose process is gone. Real Chromium with the real extension, as in `browser`; the
//! processes are killed, as a lack of memory does.

use serde_json::{Value, json};

use crate::browser::Stage;
use testkit::{Stopwatch, body, soon, until};

/// What a command is told whose page has crashed: at once, with the way out.
fn assert_crashed(answer: &Value) {
    assert_eq!(answer["status"], "error", "{answer}");
    assert_eq!(answer["reason"], "tab_crashed", "{answer}");
    let hint = answer["hint"].as_str().unwrap();
    assert!(hint.contains("interact({action:\"refresh\"})"), "{answer}");
}

#[tokio::test]
async fn a_crash_ends_the_running_command_and_each_later_one_at_once_until_refresh_revives_the_tab()
{
    let stage = Stage::set().await;
    let endless = "await fetch('/began'); await new Promise(() => {})";
    let id = stage.client.submit(json!({"action": "execute_js", "script": endless})).await;
    stage.pages.asked_for("/began").await;
    let watch = Stopwatch::start();
    stage.crash_pages();
    let answer = stage.client.outcome(&id).await;
    assert_crashed(&answer);
    for action in ["screenshot", "page_info", "back"] {
        assert_crashed(&stage.act(action).await);
    }
    let summary = json!({"what": "page_summary", "wait_ms": 20_000});
    let answer = body(&stage.client.call_raw("analyze", summary).await);
    assert_crashed(&answer);
    watch.assert_under(8_000, "five commands in a tab that has crashed");

    let answer = stage.act("refresh").await;
    assert_eq!(answer["result"]["value"]["title"], "Home Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Home Page");
    // What the debugger is attached for works again: a dialog does not hold the page up.
    assert_eq!(stage.value("alert('again'); 'went on'").await, "went on");

    stage.crash_pages();
    // The browser notices the end of a process a moment later.
    let is_told = async || stage.act("page_info").await["reason"] == "tab_crashed";
    soon("page_info says that the page has crashed", until(is_told)).await;
    // Elsewhere is a way out, too.
    let answer = stage.go("/second").await;
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Second Page");
    stage.end().await;
}

#[tokio::test]
async fn a_tab_that_crashed_while_nothing_was_attached_to_it_is_found_out_and_can_be_revived() {
    let stage = Stage::set().await;
    // Opened and never looked into: the debugger is not attached.
    let url = stage.pages.url("/second");
    let opened = stage.interact(json!({"action": "tab_open", "url": url})).await;
    assert_eq!(opened["status"], "complete", "{opened}");
    stage.crash_pages();
    let watch = Stopwatch::start();
    // The browser notices the end of a process a moment later.
    let is_told = async || stage.act("page_info").await["reason"] == "tab_crashed";
    soon("page_info says that the page has crashed", until(is_told)).await;
    let script = json!({"action": "execute_js", "script": "document.title"});
    assert_crashed(&stage.interact(script.clone()).await);
    watch.assert_under(5_000, "two commands in a tab that has crashed");
    let answer = stage.act("refresh").await;
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    let answer = stage.interact(script).await;
    assert_eq!(answer["result"]["value"], "Second Page", "{answer}");
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_crashes_while_the_next_one_is_awaited_ends_a_navigation_that_the_browser_drops()
 {
    let stage = Stage::set().await;
    stage.value("1").await;
    let url = stage.pages.url("/silent");
    let id = stage.client.submit(json!({"action": "navigate", "url": url})).await;
    stage.pages.asked_for("/silent").await;
    stage.crash_pages();
    let watch = Stopwatch::start();
    assert_crashed(&stage.client.outcome(&id).await);
    watch.assert_under(8_000, "a navigation that the browser has dropped");
    let answer = stage.go("/second").await;
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    stage.end().await;
}

#[tokio::test]
async fn a_new_worker_of_the_extension_knows_that_a_tab_has_crashed() {
    let stage = Stage::set().await;
    stage.value("1").await;
    stage.crash_pages();
    stage.kill_worker();
    for action in ["screenshot", "page_info"] {
        assert_crashed(&stage.act(action).await);
    }
    let answer = stage.act("refresh").await;
    assert_eq!(answer["result"]["value"]["title"], "Home Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Home Page");
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_crashes_while_it_loads_ends_its_navigation_as_a_crash() {
    let stage = Stage::set().await;
    for is_attached in [false, true] {
        if is_attached {
            stage.value("1").await;
        }
        let url = stage.pages.url("/half");
        let hits = stage.pages.hits("/half");
        let id = stage.client.submit(json!({"action": "navigate", "url": url})).await;
        let is_asked_for = async || stage.pages.hits("/half") > hits;
        soon("it is asked for", until(is_asked_for)).await;
        // Until its first half is there, the page before it is.
        let is_there = async || {
            let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
            tabs["tabs"][0]["url"] == url
        };
        soon("it is shown", until(is_there)).await;
        stage.crash_pages();
        let watch = Stopwatch::start();
        assert_crashed(&stage.client.outcome(&id).await);
        watch.assert_under(5_000, "a navigation whose page has crashed");
        let answer = stage.go("/").await;
        assert_eq!(answer["result"]["value"]["title"], "Home Page", "{answer}");
    }
    stage.end().await;
}
