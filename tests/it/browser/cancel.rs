//! What a cancel does in the page, in every way in which an agent can cancel: real Chromium with
//! the real extension, as in `browser`.

use std::process::Stdio;

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::browser::Stage;
use crate::lifecycle::cancel::{ask, cancel};
use testkit::{McpClient, StdioClient, Stopwatch, soon, until};

/// Waits for ever, and notes what it is told.
const WAITS: &str = "window.told = null;
    tabwireSignal.onabort = () => { window.told = String(tabwireSignal.reason) };
    await fetch('/waits'); await new Promise(() => {})";

fn waiting(script: &str) -> Value {
    json!({"action": "execute_js", "script": script, "wait_ms": 20_000})
}

impl Stage {
    /// Waits until this was asked for once more than `hits` times.
    async fn asked_again(&self, path: &str, hits: usize) {
        soon(path, until(async || self.pages.hits(path) > hits)).await;
    }

    /// The page has been told, and the tab is free.
    async fn assert_told(&self, way: &str) {
        let watch = Stopwatch::start();
        let told = self.value("window.told").await;
        watch.assert_under(2_000, way);
        assert_eq!(told, "AbortError: the command was cancelled", "{way}");
    }

    async fn assert_nothing_pending(&self) {
        let lists = self.client.call("observe", json!({"what": "pending_commands"})).await;
        assert_eq!(lists["pending"], json!([]), "{lists}");
    }

    /// A bridge to the daemon of this stage.
    fn bridge(&self) -> StdioClient {
        let mut command = tokio::process::Command::new(testkit::program());
        command
            .args(["mcp", "--port", &self.daemon.port().to_string()])
            .env("TABWIRE_HOME", self.daemon.home().dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        StdioClient::spawn(command)
    }

    async fn status(&self) -> Value {
        self.act("page_info").await["result"]["value"]["status"].clone()
    }
}

#[tokio::test]
async fn whichever_way_a_waiting_script_is_cancelled_the_page_is_told_and_its_tab_is_free() {
    let stage = Stage::set().await;
    let (legacy, modern) = (&stage.client, McpClient::modern(&stage.daemon));

    let id = legacy.submit(json!({"action": "execute_js", "script": WAITS})).await;
    stage.asked_again("/waits", 0).await;
    let answer = legacy.cancel(&id).await;
    assert_eq!((&answer["status"], &answer["may_have_run"]), (&json!("cancelled"), &json!(true)));
    stage.assert_told("configure cancel").await;

    let call = ("interact", waiting(WAITS));
    let mut calling = ask(&stage.daemon, legacy, &json!(1), call.clone(), &[]).await;
    stage.asked_again("/waits", 1).await;
    cancel(legacy, &json!(1), &[]).await;
    stage.assert_told("notifications/cancelled over HTTP").await;
    let answer = calling.answer().await.unwrap().json();
    assert_eq!(answer["result"]["structuredContent"]["status"], "cancelled", "{answer}");

    let calling = ask(&stage.daemon, &modern, &json!(1), call, &[]).await;
    stage.asked_again("/waits", 2).await;
    drop(calling);
    stage.assert_told("a closed response stream").await;

    let tasks = legacy.as_one_with_tasks();
    let arguments = json!({"name": "interact", "arguments": waiting(WAITS)});
    let task = tasks.rpc("tools/call", arguments).await.json()["result"]["taskId"].clone();
    stage.asked_again("/waits", 3).await;
    let answer = tasks.rpc("tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    stage.assert_told("tasks/cancel").await;

    let mut bridge = stage.bridge();
    bridge.ask(&json!(7), "interact", waiting(WAITS)).await;
    stage.asked_again("/waits", 4).await;
    bridge.cancel(&json!(7)).await;
    stage.assert_told("notifications/cancelled over stdio").await;
    assert!(!bridge.last_words().await.iter().any(|message| message["id"] == 7));

    stage.assert_nothing_pending().await;
    assert_eq!(stage.pages.hits("/waits"), 5, "none has run twice");
    stage.end().await;
}

#[tokio::test]
async fn a_signal_is_there_in_every_form_of_script_and_leaves_nothing_behind() {
    let stage = Stage::set().await;
    for (script, value) in [
        ("tabwireSignal.aborted", json!(false)),
        ("const signal = tabwireSignal; signal.aborted", json!(false)),
        ("return tabwireSignal instanceof AbortSignal", json!(true)),
        ("{ const tabwireSignal = 5; tabwireSignal }", json!(5)),
        ("typeof tabwire", json!("undefined")),
    ] {
        assert_eq!(stage.value(script).await, value, "{script}");
    }
    let left = "Object.getOwnPropertyNames(globalThis).filter(name => /tabwire/i.test(name))";
    assert_eq!(stage.value(left).await, json!([]));
    let id = stage.client.submit(json!({
        "action": "execute_js", "script": WAITS, "timeout_ms": 500
    }));
    assert_eq!(stage.client.outcome(&id.await).await["status"], "timeout");
    assert_eq!(stage.value("window.told").await, "AbortError: the command is past its time");
    stage.end().await;
}

#[tokio::test]
async fn a_loop_that_is_cancelled_ends_and_its_tab_can_be_used_at_once() {
    let stage = Stage::set().await;
    let asks = "const request = new XMLHttpRequest(); request.open('GET', '/loops', false);
        request.send(); while (true) window.last = performance.now()";
    let later = "await new Promise(done => setTimeout(done, 50))";
    for (n, script) in [asks.to_owned(), format!("{later}; {asks}")].into_iter().enumerate() {
        let id = stage.client.submit(json!({"action": "execute_js", "script": script})).await;
        stage.asked_again("/loops", n).await;
        let answer = stage.client.cancel(&id).await;
        assert_eq!(answer["may_have_run"], true, "{answer}");
        let watch = Stopwatch::start();
        assert_eq!(stage.value("document.title").await, "Home Page");
        watch.assert_under(3_000, "the next command");
        let still = "const last = window.last; await new Promise(done => setTimeout(done, 100)); \
                     last === window.last";
        assert_eq!(stage.value(still).await, true);
    }
    stage.end().await;
}

#[tokio::test]
async fn a_navigation_that_is_cancelled_goes_no_further_and_the_tab_can_be_used() {
    let stage = Stage::set().await;
    stage.go("/slow-again").await;
    let to = |path| json!({"action": "navigate", "url": stage.pages.url(path)});
    let refresh = json!({"action": "refresh"});
    for (arguments, asked, hits, title) in [
        // Its server has not answered.
        (to("/silent"), "/silent", 0, "Quick At First"),
        (refresh, "/slow-again", 1, "Quick At First"),
        // It has begun to load.
        (to("/half"), "/half", 0, "Half A Page"),
        (to("/image"), "/silent", 1, "Page With An Image"),
    ] {
        let id = stage.client.submit(arguments.clone()).await;
        stage.asked_again(asked, hits).await;
        // What is asked for may be asked for before the page's beginning is read.
        if title != "Quick At First" {
            let tabs = json!({"what": "tabs"});
            let arrived = async || {
                stage.client.call("observe", tabs.clone()).await["tabs"][0]["title"] == title
            };
            soon("its title", until(arrived)).await;
        }
        let answer = stage.client.cancel(&id).await;
        assert_eq!(answer["status"], "cancelled", "{answer}");
        let watch = Stopwatch::start();
        assert_eq!(stage.value("document.title").await, title, "{arguments}");
        watch.assert_under(2_000, "the next command");
        assert_eq!(stage.status().await, "complete", "{arguments}: it does not load any more");
    }
    stage.go("/second").await;
    assert_eq!(stage.value("document.title").await, "Second Page");
    stage.end().await;
}

#[tokio::test]
async fn a_script_that_is_cancelled_before_it_has_begun_never_runs() {
    let stage = Stage::set().await;
    // A page that leaves for a server that never answers: until it is there or given up, no
    // script can be sent to the one before.
    stage.go("/leaves").await;
    stage.asked_again("/silent", 0).await;
    let script = json!({"action": "execute_js", "script": "window.ran = true"});
    let id = stage.client.submit(script).await;
    let is_running = async || stage.client.status(&id).await["started_at"].is_string();
    soon("its start", until(is_running)).await;
    assert_eq!(stage.client.cancel(&id).await["status"], "cancelled");
    assert_eq!(stage.value("document.title").await, "Page That Leaves");
    assert_eq!(stage.value("typeof window.ran").await, "undefined");
    stage.end().await;
}
