//! Pages that redefine all that a script and its answer are made with, and pages that want to be
//! taken for somebody who was clicked on.

use serde_json::{Value, json};

use crate::browser::Stage;
use crate::browser::trouble::Stage as Trouble;
use testkit::{ExtensionBuilder, McpClient, RowReport, TestDaemon, TestPages, body, soon, until};

/// Scripts of every form, each of which clicks once; and whether it can run without the debugger,
/// where statements have no value.
const SCRIPTS: [(&str, bool); 14] = [
    ("b.click(), 1", true),
    ("b.click(), (() => { throw window.thrown ?? {} })()", true),
    ("b.click(), new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})", true),
    ("b.click(), {then(resolve) { resolve(1); resolve(2); throw 3 }}", true),
    ("b.click(), Promise.reject(window.thrown ?? 1)", true),
    ("b.click(), [1, {get two() { throw 1 }}, new Date(0)]", true),
    ("b.click(); throw window.thrown ?? new Error('no')", false),
    ("b.click(); throw new SyntaxError('Illegal return statement')", true),
    ("b.click(); ({a: [1, {b: new Date(0)}]})", false),
    ("const once = b.click(); new Proxy({}, {get() { throw 1 }})", false),
    ("const once = b.click(); return window.thrown ?? [1, 2]", true),
    ("b.click(); return {get x() { throw 1 }}", true),
    ("b.click(), {toJSON() { throw 1 }}", true),
    ("b.click(), location.assign('/second'), new Promise(() => {})", true),
];

/// A browser that runs scripts, in whichever way.
trait Runs {
    fn pages(&self) -> &TestPages;
    fn client(&self) -> &McpClient;

    async fn call(&self, mut arguments: Value) -> Value {
        arguments["wait_ms"] = 20_000.into();
        body(&self.client().call_raw("interact", arguments).await)
    }

    async fn run(&self, script: &str) -> Value {
        self.call(json!({"action": "execute_js", "script": script})).await
    }

    async fn open(&self, path: &str) -> String {
        let url = self.pages().url(path);
        let answer = self.call(json!({"action": "navigate", "url": url})).await;
        assert_eq!(answer["status"], "complete", "{path}: {answer}");
        answer["result"]["value"]["title"].as_str().unwrap().to_owned()
    }
}

impl Runs for Stage {
    fn pages(&self) -> &TestPages {
        &self.pages
    }

    fn client(&self) -> &McpClient {
        &self.client
    }
}

impl Runs for Trouble {
    fn pages(&self) -> &TestPages {
        &self.pages
    }

    fn client(&self) -> &McpClient {
        &self.client
    }
}

/// Runs every script on every page that forges: each clicks once, or not at all where it cannot
/// run, and only the browser says where it was.
async fn each_runs_once(row: &mut RowReport, stage: &impl Runs, way: &str, has_debugger: bool) {
    let names = stage.open("/forging?names").await;
    assert_eq!(names.split(',').count(), 19, "{names}");
    let own = stage.pages().url("");
    for name in names.split(',') {
        let clicked = format!("/clicked?{name}");
        stage.open(&format!("/forging?{name}")).await;
        for (script, runs_without) in SCRIPTS {
            let before = stage.pages().hits(&clicked);
            let answer = stage.run(script).await;
            let clicks = stage.pages().hits(&clicked) - before;
            let leaves = script.contains("location.");
            if leaves {
                let tabs = async || stage.client().call("observe", json!({"what": "tabs"})).await;
                let has_left = async || tabs().await.to_string().contains("/second");
                soon("the other page", until(has_left)).await;
            }
            let is_told = answer["status"] == "complete"
                || answer["reason"] == "script_threw"
                || (answer["reason"] == "navigation_interrupted" && leaves);
            let is_from_here = answer["page"] == "*" || answer["page"] == own;
            let held = if has_debugger || runs_without {
                clicks == 1 && is_told && is_from_here
            } else {
                clicks == 0 && answer["reason"] == "debugger_unavailable"
            };
            let came = format!("{clicks} clicks, {answer}");
            row.tried(&format!("{way}, {name}: {script}"), held, came);
        }
    }
}

#[tokio::test]
async fn row_26_no_page_makes_a_script_run_twice_or_says_where_it_ran() {
    let mut row = RowReport::new(26);
    let stage = Stage::set().await;
    each_runs_once(&mut row, &stage, "by debugger", true).await;
    stage.end().await;
    row.report();
}

#[tokio::test]
async fn row_26_no_page_does_without_the_debugger_bar_either() {
    let mut row = RowReport::new(26);
    let stage = Trouble::without_bars().await;
    each_runs_once(&mut row, &stage, "by user scripts", false).await;
    stage.end().await;
    row.report();
}

/// Tries all that a browser allows only after somebody clicked.
const PROBE: &str = "await (async () => {
    const isActive = navigator.userActivation.isActive;
    const opened = window.open('/second', '_blank', 'popup');
    opened?.close();
    const fullscreen = await document.documentElement.requestFullscreen()
        .then(() => document.exitFullscreen()).then(() => true, () => false);
    const copied = await navigator.clipboard.writeText('mine').then(() => true, () => false);
    return {isActive, opened: opened !== null, fullscreen, copied};
})()";

#[tokio::test]
async fn row_36_a_page_is_not_taken_for_clicked_on_unless_the_agent_asks() {
    let mut row = RowReport::new(36);
    let is_nothing = |answer: &Value| {
        let got = answer["result"]["value"].as_object();
        got.is_some_and(|got| got.len() == 4 && got.values().all(|value| *value == false))
    };
    let stage = Stage::set().await;
    for script in [PROBE.to_owned(), format!("const all = {PROBE}; all"), format!("return {PROBE}")]
    {
        stage.open("/second").await;
        let answer = stage.run(&script).await;
        row.tried(&format!("by debugger: {script}"), is_nothing(&answer), &answer);
    }
    stage.open("/second").await;
    let asked = json!({"action": "execute_js", "script": PROBE, "user_gesture": true});
    let got = stage.call(asked.clone()).await["result"]["value"].clone();
    // Else the probe would prove nothing.
    assert_eq!((&got["isActive"], &got["opened"]), (&json!(true), &json!(true)), "{got}");
    stage.end().await;

    let stage = Trouble::without_bars().await;
    for script in [PROBE.to_owned(), format!("return {PROBE}")] {
        stage.open("/second").await;
        let answer = stage.run(&script).await;
        row.tried(&format!("by user scripts: {script}"), is_nothing(&answer), &answer);
    }
    let refused = stage.call(asked).await;
    let is_refused =
        refused["reason"] == "debugger_unavailable" && refused["may_have_run"] == false;
    row.tried("a gesture that cannot be given", is_refused, &refused);
    stage.end().await;
    row.report();
}

#[tokio::test]
async fn row_36_one_owner_clears_nothing_of_another() {
    let mut row = RowReport::new(36);
    let daemon = TestDaemon::start().await;
    let one = McpClient::legacy(&daemon);
    let other = McpClient::at(daemon.port(), daemon.token_of("other"));
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let streams = [
        ("logs", json!({"t": 1, "tab_id": 7, "level": "error", "source": "console", "text": "a"})),
        (
            "network",
            json!({"t": 1, "tab_id": 7, "request_id": "r", "url": "http://a/", "error": "x"}),
        ),
        ("actions", json!({"t": 1, "tab_id": 7, "kind": "click", "url": "http://a/"})),
        (
            "performance",
            json!({"t": 1, "tab_id": 7, "url": "http://a/", "metrics": {"load_ms": 1}}),
        ),
        ("websocket", json!({"t": 1, "tab_id": 7, "url": "ws://a/", "event": "open"})),
    ];
    let mut say = async || {
        for (stream, entry) in &streams {
            let frame = json!({"type": "events", "stream": stream, "entries": [entry]});
            extension.send(&frame).await;
        }
        extension.so_far().await;
    };
    let count = async |client: &McpClient, what: &str| {
        let page = client.call("observe", json!({"what": what})).await;
        page["entries"].as_array().unwrap().len()
    };
    say().await;
    for calls in [json!({"action": "clear"}), json!({"action": "clear", "streams": ["logs"]})] {
        one.call("configure", calls.clone()).await;
        for (stream, _) in &streams {
            let seen = (count(&one, stream).await, count(&other, stream).await);
            row.tried(&format!("{calls}: {stream}"), seen == (0, 1), format!("{seen:?}"));
        }
        let page = async |client: &McpClient| client.call("observe", json!({"what": "page"})).await;
        let seen = (page(&one).await, page(&other).await);
        let is_its =
            seen.0["errors"] == 0 && seen.1["errors"] == 1 && seen.1["failed_requests"] == 1;
        row.tried(&format!("{calls}: page"), is_its, format!("{seen:?}"));
    }
    say().await;
    let seen = (count(&one, "logs").await, count(&other, "logs").await);
    row.tried("what comes after", seen == (1, 2), format!("{seen:?}"));
    let cleared = other.call("configure", json!({"action": "clear", "streams": ["logs"]})).await;
    row.tried("what each has cleared", cleared["cleared"]["logs"] == 2, &cleared);
    row.report();
}
