//! Trouble around the page: it is busy, it never finishes loading, its window goes, its
//! browser quits, the daemon is restarted, a second browser is there. Real Chromium with
//! the real extension, as in `browser`.

use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;

use testkit::{
    LOOK, McpClient, Stopwatch, TestDaemon, TestPages, body, first_tab, scratch_folder, soon, until,
};

/// How long a browser may take to start and to connect on a busy machine.
const START: Duration = Duration::from_secs(30);

/// A person's profile, with the extension in it. It outlives its browser.
struct Profile(tempfile::TempDir);

impl Profile {
    fn new(daemon: &TestDaemon) -> Self {
        let folder = scratch_folder("tabwire-it-trouble-");
        let key = daemon.home().auth().extension_key(EXTENSION_ID);
        extension::unpack(&folder.path().join("extension"), daemon.port(), &key).unwrap();
        Self(folder)
    }

    /// Has the person close every debugger bar: the extension hears the browser say so
    /// whenever a tab changes. A browser without windows has no bar to close.
    fn closes_debugger_bars(&self) {
        let background = self.0.path().join("extension/src/worker/background.js");
        let wiring = std::fs::read_to_string(&background).unwrap();
        let closed = "handleDetach({ tabId }, 'canceled_by_user')";
        let more = format!("\nchrome.tabs.onUpdated.addListener((tabId) => {closed});\n");
        // It is read-only.
        std::fs::remove_file(&background).unwrap();
        std::fs::write(background, wiring + &more).unwrap();
    }

    /// Has the person switch on "Allow User Scripts" for the extension.
    fn allows_user_scripts(&self) {
        let folder = self.0.path().join("profile/Default");
        std::fs::create_dir_all(&folder).unwrap();
        let preferences = json!({"extensions": {
            "ui": {"developer_mode": true},
            "settings": {EXTENSION_ID: {"user_scripts_enabled": true}},
        }});
        std::fs::write(folder.join("Preferences"), preferences.to_string()).unwrap();
    }

    fn open(&self, page: &str) -> Browser {
        let chromium = find_browser().expect("the tests need a Chromium");
        let folder = self.0.path();
        let (profile, unpacked) = (folder.join("profile"), folder.join("extension"));
        Browser::launch(&chromium, &profile, &unpacked, page).unwrap()
    }
}

/// A daemon, a browser that is connected to it, pages and a client.
pub(crate) struct Stage {
    daemon: TestDaemon,
    pub(crate) client: McpClient,
    pub(crate) pages: TestPages,
    profile: Profile,
    browser: Browser,
}

impl Stage {
    async fn set() -> Self {
        Self::set_with(|_| ()).await
    }

    /// Where the person has closed the debugger bars, and allows user scripts.
    pub(crate) async fn without_bars() -> Self {
        Self::set_with(|profile| {
            profile.closes_debugger_bars();
            profile.allows_user_scripts();
        })
        .await
    }

    /// With a profile that is not as it is at first.
    async fn set_with(change: impl FnOnce(&Profile)) -> Self {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let profile = Profile::new(&daemon);
        change(&profile);
        let browser = profile.open(&pages.url("/"));
        first_tab(&client, &browser).await;
        Self { daemon, client, pages, profile, browser }
    }

    async fn interact(&self, arguments: Value) -> Value {
        interact(&self.client, arguments).await
    }

    async fn act(&self, action: &str) -> Value {
        self.interact(json!({"action": action})).await
    }

    async fn run(&self, script: &str) -> Value {
        self.interact(json!({"action": "execute_js", "script": script})).await
    }

    /// The value that a script gives.
    async fn value(&self, script: &str) -> Value {
        let answer = self.run(script).await;
        assert_eq!(answer["status"], "complete", "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Goes to a page, and waits at most this long for it.
    async fn go_for(&self, path: &str, timeout_ms: u64) -> Value {
        let url = self.pages.url(path);
        self.interact(json!({"action": "navigate", "url": url, "timeout_ms": timeout_ms})).await
    }

    async fn go(&self, path: &str) -> Value {
        let answer = self.go_for(path, 10_000).await;
        assert_eq!(answer["status"], "complete", "{path}: {answer}");
        answer
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

async fn interact(client: &McpClient, mut arguments: Value) -> Value {
    arguments["wait_ms"] = 20_000.into();
    body(&client.call_raw("interact", arguments).await)
}

/// The browsers that are connected.
async fn connected(client: &McpClient) -> Vec<String> {
    let answer = client.call("observe", json!({"what": "browsers"})).await;
    let browsers = answer["browsers"].as_array().unwrap().iter();
    let connected = browsers.filter(|browser| browser["connected"] == true);
    connected.map(|browser| browser["browser"].as_str().unwrap().to_owned()).collect()
}

/// Waits for what needs the start of a browser.
async fn started<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(START, future).await;
    done.unwrap_or_else(|_elapsed| panic!("{what}: did not happen"))
}

#[tokio::test]
async fn a_page_under_load_still_answers_every_command() {
    let stage = Stage::set().await;
    stage.go("/busy").await;
    // As scripts see it, so that it surely is at work.
    let busy = "await new Promise(done => { const look = () => bursts > 2 ? done() : \
                setTimeout(look, 50); look() }); document.title";
    assert_eq!(stage.value(busy).await, "Busy Page");
    for _ in 0..5 {
        let watch = Stopwatch::start();
        assert_eq!(stage.value("document.title + (bursts > 2)").await, "Busy Pagetrue");
        watch.assert_under(5_000, "a script");
    }
    for action in ["page_info", "screenshot", "refresh"] {
        let watch = Stopwatch::start();
        let answer = stage.act(action).await;
        assert_eq!(answer["status"], "complete", "{action}: {answer}");
        watch.assert_under(8_000, action);
    }
    assert_eq!(stage.value("document.title").await, "Busy Page");
    stage.go("/").await;
    assert_eq!(stage.value("document.title").await, "Home Page");
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_never_finishes_loading_ends_the_navigation_in_time_and_can_be_used() {
    let stage = Stage::set().await;
    for (path, title) in [("/image", "Page With An Image"), ("/half", "Half A Page")] {
        let watch = Stopwatch::start();
        let answer = stage.go_for(path, 1_500).await;
        watch.assert_under(5_500, path);
        assert_eq!(answer["status"], "timeout", "{path}: {answer}");
        assert_eq!(answer["error"], "execution exceeded 1.5 s", "{path}: {answer}");

        assert_eq!(stage.value("document.title + document.images.length").await, {
            format!("{title}{}", usize::from(path == "/image"))
        });
        let info = stage.act("page_info").await;
        assert_eq!(info["result"]["value"]["url"], stage.pages.url(path), "{info}");
        assert_eq!(info["result"]["value"]["status"], "loading", "{info}");
        let shot = stage.act("screenshot").await;
        assert_eq!(shot["status"], "complete", "{path}: {shot}");
        stage.go("/").await;
        assert_eq!(stage.value("document.title").await, "Home Page");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_server_that_never_answers_leaves_the_tab_where_it_was_and_can_be_tried_again() {
    let stage = Stage::set().await;
    let watch = Stopwatch::start();
    let answer = stage.go_for("/silent", 1_500).await;
    watch.assert_under(5_500, "the timeout");
    assert_eq!(answer["status"], "timeout", "{answer}");
    let said = answer["error"].as_str().unwrap();
    assert!(said.ends_with("the server has not answered and the tab stays where it was"), "{said}");
    assert_eq!(stage.value("document.title").await, "Home Page");
    assert_eq!(stage.act("page_info").await["status"], "complete");
    assert_eq!(stage.act("screenshot").await["status"], "complete");

    let answer = stage.go_for("/slow-at-first", 1_500).await;
    assert_eq!(answer["status"], "timeout", "{answer}");
    // The first try is pushed aside by the second one, which goes to the same URL.
    let answer = stage.go("/slow-at-first").await;
    assert_eq!(answer["result"]["value"]["title"], "Quick At Last", "{answer}");
    assert_eq!(stage.value("document.title").await, "Quick At Last");
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_left_by_itself_for_a_server_that_never_answers_gives_its_tab_back() {
    let stage = Stage::set().await;
    let short = |action: &str| match action {
        "execute_js" => json!({"action": action, "script": "document.title", "timeout_ms": 1_500}),
        _ => json!({"action": action, "timeout_ms": 1_500}),
    };
    // The first finds a tab without a debugger, the others one that has it.
    for (n, action) in ["execute_js", "execute_js", "screenshot"].into_iter().enumerate() {
        stage.go("/leaves").await;
        soon("it leaves", until(async || stage.pages.hits("/silent") > n)).await;
        let watch = Stopwatch::start();
        let answer = stage.interact(short(action)).await;
        watch.assert_under(4_000, "the timeout");
        assert_eq!(answer["status"], "timeout", "{answer}");
        let said = answer["error"].as_str().unwrap();
        assert!(said.ends_with("answered and the tab stays where it was"), "{said}");
        assert_eq!(stage.value("document.title").await, "Page That Leaves");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_tab_whose_debugger_bar_was_closed_is_out_of_reach_and_the_answer_says_what_to_do() {
    let stage = Stage::set_with(Profile::closes_debugger_bars).await;
    stage.go("/strict").await;
    for answer in [stage.run("1").await, stage.act("screenshot").await] {
        assert_eq!(answer["reason"], "debugger_unavailable", "{answer}");
        let said = answer["hint"].as_str().unwrap();
        assert!(
            said.contains("\"Give control back\"") && said.contains("Allow User Scripts"),
            "{said}"
        );
    }
    stage.end().await;
}

#[tokio::test]
async fn with_user_scripts_allowed_scripts_go_on_without_the_debugger_bar() {
    let stage = Stage::without_bars().await;
    // Where no content policy lets a script be evaluated.
    stage.go("/strict").await;
    for (script, kind, value) in [
        ("document.title", "string", json!("Strict Page")),
        ("const a = await 2; return a * 3", "number", json!(6)),
        ("undefined", "undefined", Value::Null),
        ("10n", "bigint", json!("10")),
        ("0/0", "nan", json!("NaN")),
        (
            "const o = {}; o.o = o; return o",
            "object",
            json!({"o": {"$type": "cycle", "value": "$"}}),
        ),
    ] {
        let answer = stage.run(script).await;
        assert_eq!(answer["result"]["type"], kind, "{script}: {answer}");
        assert_eq!(answer["result"]["value"], value, "{script}: {answer}");
        assert_eq!(answer["page"], stage.pages.url(""));
    }
    assert_eq!(stage.value("'x'.repeat(7e6).length").await, 7_000_000);
    for (script, reason) in [
        ("null.x", "script_threw"),
        ("this is no script", "syntax_error"),
        ("window.ran = 1; window.ran", "debugger_unavailable"),
        ("'x'.repeat(8e6)", "result_too_large"),
        ("location.href = '/second'; await new Promise(() => {})", "debugger_unavailable"),
        ("location.href = '/second'; return new Promise(() => {})", "navigation_interrupted"),
    ] {
        let answer = stage.run(script).await;
        assert_eq!(answer["reason"], reason, "{script}: {answer}");
    }
    // A page is there before its title is.
    let is_next = async || stage.value("document.title").await == "Second Page";
    soon("the next page", until(is_next)).await;
    assert_eq!(stage.value("typeof window.ran").await, "undefined");

    let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
    // Of another site, so that it has a process of its own.
    let url = stage.pages.url("/").replace("127.0.0.1", "localhost");
    let answer = stage.interact(json!({"action": "tab_open", "url": url})).await;
    assert_eq!(answer["result"]["value"]["title"], "Home Page", "{answer}");
    let endless =
        json!({"action": "execute_js", "script": "(() => { for (;;); })()", "timeout_ms": 500});
    let answer = stage.interact(endless).await;
    assert_eq!(answer["status"], "timeout", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("close the tab with tab_close"), "{answer}");
    assert_eq!(stage.act("tab_close").await["status"], "complete");
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": tabs["tabs"][0]["tab_id"]});
    assert_eq!(stage.interact(title).await["result"]["value"], "Second Page");
    stage.end().await;
}

#[tokio::test]
async fn a_browser_that_quits_in_mid_command_ends_it_and_comes_back_as_the_same_one() {
    let Stage { daemon, client, pages, profile, mut browser } = Stage::set().await;
    let before = connected(&client).await;
    let title = json!({"action": "execute_js", "script": "document.title"});
    for (path, is_asked) in [("/quit", true), ("/killed", false)] {
        let other = json!({"action": "navigate", "url": pages.url("/other")});
        assert_eq!(interact(&client, other).await["status"], "complete");
        let former = async || {
            let tabs = client.call("observe", json!({"what": "tabs"})).await["tabs"].take();
            Some(tabs[0].clone()).filter(|tab| tab["url"] == pages.url("/other"))
        };
        soon("the daemon hears", until(async || former().await.is_some())).await;
        let mut in_former = title.clone();
        in_former["tab_id"] = former().await.unwrap()["tab_id"].clone();
        let script = format!("await fetch('{path}'); await new Promise(() => {{}})");
        let id = client.submit(json!({"action": "execute_js", "script": script})).await;
        pages.asked_for(path).await;
        if is_asked {
            browser.end().await;
        } else {
            drop(browser);
        }
        let answer = client.outcome(&id).await;
        assert_eq!(answer["reason"], "extension_disconnected", "{answer}");
        assert_eq!(answer["may_have_run"], true);

        // Accepted before it is back. One that has named no tab takes what is there, and so
        // does whoever used a tab of before, which is gone for good: one that was killed may
        // give its number to another.
        let newcomer = McpClient::legacy(&daemon).named(path);
        let newcomers = newcomer.submit(title.clone()).await;
        let own = client.submit(title.clone()).await;
        let named = client.submit(in_former.clone()).await;
        browser = profile.open(&pages.url("/"));
        for (client, id) in [(&newcomer, newcomers), (&client, own)] {
            let answer = client.outcome(&id).await;
            assert_eq!(answer["result"]["value"], "Home Page", "{answer}");
        }
        let answer = client.outcome(&named).await;
        assert_eq!(answer["reason"], "no_such_tab", "{answer}");
        assert_eq!(interact(&client, title.clone()).await["result"]["value"], "Home Page");
        assert_eq!(connected(&client).await, before);
        assert_eq!(pages.hits(path), 1);
    }
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_window_that_is_closed_in_mid_command_ends_the_command_and_no_other() {
    let stage = Stage::set().await;
    let home = stage.client.call("observe", json!({"what": "tabs"})).await;
    let home = home["tabs"][0].clone();
    let in_home = |script: &str| {
        json!({"action": "execute_js", "script": script, "tab_id": home["tab_id"],
               "user_gesture": true})
    };
    for (script, path) in [
        ("await fetch('/asleep'); await new Promise(() => {})", "/asleep"),
        ("await fetch('/stuck'); while (true) {}", "/stuck"),
    ] {
        // Of another site, so that it has a process of its own.
        let url = stage.pages.url("/other").replace("127.0.0.1", "localhost") + path;
        if path == "/asleep" {
            let open = format!("window.other = open('{url}', '_blank', 'popup,width=400'); 1");
            assert_eq!(stage.interact(in_home(&open)).await["result"]["value"], 1);
        } else {
            let open = json!({"action": "tab_open", "url": url});
            assert_eq!(stage.interact(open).await["status"], "complete");
        }
        let other = async {
            loop {
                let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
                let mut tabs = tabs["tabs"].as_array().unwrap().iter();
                // It has its URL before its page is there, and its title after.
                let is_there = |tab: &Value| tab["url"] == url && tab["title"] == "Another Page";
                if let Some(tab) = tabs.find(|tab| is_there(tab)) {
                    return tab.clone();
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let other = soon("the other page", other).await;
        assert_eq!(other["window_id"] == home["window_id"], path == "/stuck", "{other}");
        let id = stage.client.script(script, other["tab_id"].as_i64().unwrap()).await;
        stage.pages.asked_for(path).await;
        let watch = Stopwatch::start();
        // The page that opened it closes it; the agent's own tab, which hangs, is not asked.
        let close = match path {
            "/asleep" => in_home("other.close(); 1"),
            _ => json!({"action": "tab_close", "tab_id": other["tab_id"]}),
        };
        let closed = stage.interact(close).await;
        assert_eq!(closed["status"], "complete", "{closed}");
        let answer = stage.client.outcome(&id).await;
        assert_eq!(answer["reason"], "tab_closed", "{answer}");
        watch.assert_under(5_000, "the end");
        assert_eq!(stage.interact(in_home("document.title")).await["status"], "complete");
    }
    stage.end().await;
}

#[tokio::test]
async fn two_browsers_are_told_apart_and_each_acts_in_its_own() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let profiles = [Profile::new(&daemon), Profile::new(&daemon)];
    let first = profiles[0].open(&pages.url("/"));
    let second = profiles[1].open(&pages.url("/second"));
    started("both browsers", until(async || connected(&client).await.len() == 2)).await;

    let title = |browser: &str| {
        let script = "(window.seen ??= []).push(document.title); window.seen";
        json!({"action": "execute_js", "script": script, "browser": browser})
    };
    let refused = client.call_fails("interact", json!({"action": "page_info"})).await;
    assert_eq!(refused["error"], "ambiguous_browser", "{refused}");
    let choices = refused["browsers"].as_array().unwrap();
    assert_eq!(choices.len(), 2, "{refused}");
    // Two of a kind call themselves the same: the second one to come has a number.
    let label = |n: usize| choices[n]["label"].as_str().unwrap();
    assert_eq!(format!("{} 2", label(0)), label(1), "{refused}");
    let by_label = interact(&client, title(label(1))).await["result"]["value"].clone();
    let by_id = interact(&client, title(choices[1]["browser"].as_str().unwrap())).await;
    assert_eq!(by_id["result"]["value"], json!([by_label[0], by_label[0]]));
    let undo = json!({"action": "execute_js", "script": "delete window.seen"});
    interact(&client, undo).await;

    let mut titles = Vec::new();
    for choice in choices {
        let id = choice["browser"].as_str().unwrap();
        let answer = interact(&client, title(id)).await;
        assert_eq!(answer["status"], "complete", "{answer}");
        let seen = answer["result"]["value"].as_array().unwrap().clone();
        assert_eq!(seen.len(), 1, "each has a page of its own: {answer}");
        // The one that was named is the current one from then on.
        let script = json!({"action": "execute_js", "script": "document.title"});
        assert_eq!(interact(&client, script).await["result"]["value"], seen[0]);
        titles.extend(seen);
    }
    titles.sort_by_key(ToString::to_string);
    assert_eq!(titles, ["Home Page", "Second Page"]);

    // One goes: the other is the only one that fits, and its label is enough.
    second.end().await;
    soon("its end", until(async || connected(&client).await.len() == 1)).await;
    let left = connected(&client).await;
    let answer = interact(&client, title(&left[0])).await;
    assert_eq!(answer["result"]["value"], json!(["Home Page", "Home Page"]), "{answer}");
    first.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn twenty_scripts_with_restarts_in_between_have_each_run_exactly_once() {
    let Stage { mut daemon, mut client, pages, browser, profile: _profile } = Stage::set().await;
    for step in 0..20 {
        let path = format!("/step/{step}");
        let script = format!("(window.steps ??= []).push({step}); await fetch('{path}'); {step}");
        let slow = format!("{script}; await new Promise(done => setTimeout(done, 300)); {step}");
        match step % 4 {
            // In mid-command: nobody gets its result, and it is not run again.
            1 => {
                client.submit(json!({"action": "execute_js", "script": slow})).await;
                pages.asked_for(&path).await;
            }
            _ => {
                let script = json!({"action": "execute_js", "script": script});
                let answer = interact(&client, script).await;
                assert_eq!(answer["status"], "complete", "{answer}");
                assert_eq!(answer["result"]["value"], step, "{answer}");
            }
        }
        if step % 2 == 1 {
            daemon = daemon.restart().await;
            client = McpClient::legacy(&daemon);
        }
    }
    let steps = json!({"action": "execute_js", "script": "window.steps"});
    let steps = interact(&client, steps).await;
    assert_eq!(steps["result"]["value"], json!((0..20).collect::<Vec<_>>()), "{steps}");
    let hits: Vec<_> = (0..20).map(|step| pages.hits(&format!("/step/{step}"))).collect();
    assert_eq!(hits, [1; 20]);
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
#[ignore = "takes 3 minutes; `make soak` runs it"]
async fn after_three_idle_minutes_a_command_is_answered_within_a_second() {
    let stage = Stage::set().await;
    assert_eq!(stage.value("document.title").await, "Home Page");
    // Nobody asks anything, and nobody is attached to the worker: that would keep it alive.
    tokio::time::sleep(Duration::from_secs(180)).await;
    let watch = Stopwatch::start();
    let answer = stage.run("document.title").await;
    watch.assert_under(1_000, "the answer");
    assert_eq!(answer["result"]["value"], "Home Page", "{answer}");
    println!("answered after 3 idle minutes in {} ms", answer["duration_ms"]);
    stage.end().await;
}
