//! The real thing: a real Chromium with the real extension, driven through the real
//! daemon. Each test has a browser of its own, with a throw-away profile.

pub(crate) mod actions;
mod analyze;
mod answer_sizes;
mod arrivals;
pub(crate) mod ask_first;
mod asked_files;
mod asks;
mod background;
mod call;
mod cancel;
mod capture;
mod capture_observed;
mod command_view;
mod crash;
mod dashboard;
mod dashboard_drawings;
mod dashboard_pictures;
mod dashboard_recordings;
pub(crate) mod draw;
mod draw_observed;
mod far_agent;
mod first_command;
pub(crate) mod form_stage;
mod hand_over;
mod history;
mod kills;
mod leftovers;
mod names;
mod own_reload;
mod own_words;
mod pairing;
#[cfg(feature = "fleet")]
mod places;
pub(crate) mod popup;
pub(crate) mod private_windows;
mod scopes;
pub(crate) mod shown_steps;
pub(crate) mod site_permissions;
mod sites;
pub(crate) mod steps_alone;
pub(crate) mod trouble;
mod two_agents;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;

use testkit::{
    BrowserUser, McpClient, Stopwatch, TestDaemon, TestPages, body, first_tab, kill_pages,
    kill_worker, phases, scratch_folder, soon, until,
};

/// A daemon, a browser that is connected to it, pages and a client.
pub(crate) struct Stage {
    pub(crate) daemon: TestDaemon,
    pub(crate) client: McpClient,
    pub(crate) pages: TestPages,
    browser: Browser,
    folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        Self::showing(None).await
    }

    /// With a page that is not one of ours.
    pub(crate) async fn showing(page: Option<&str>) -> Self {
        Self::in_browser(&chromium(), page).await
    }

    /// In a browser that goes on when its last window is closed, as it does on a Mac.
    async fn staying_without_windows() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("browser");
        let script =
            format!("#!/bin/sh\nexec '{}' --keep-alive-for-test \"$@\"\n", chromium().display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
        Self::in_browser(&program, None).await
    }

    async fn in_browser(program: &Path, page: Option<&str>) -> Self {
        let (daemon, pages) = (TestDaemon::start().await, TestPages::start().await);
        let home = pages.url("/");
        let opened = open_browser(program, &daemon, page.unwrap_or(&home), None);
        Self::connected(daemon, pages, opened).await
    }

    /// With these pages, in a browser whose person and whose own protocol a test can be.
    async fn with_user(pages: TestPages, flags: &[&str]) -> Self {
        let daemon = TestDaemon::start().await;
        let opened = BrowserUser::open_browser_with(&daemon, daemon.port(), &pages.url("/"), flags);
        Self::connected(daemon, pages, opened).await
    }

    /// With another extension in the browser.
    pub(crate) async fn beside(daemon: TestDaemon, pages: TestPages, other: &Path) -> Self {
        let opened = open_browser(&chromium(), &daemon, &pages.url("/"), Some(other));
        Self::connected(daemon, pages, opened).await
    }

    /// The same, whose person a test can be.
    async fn beside_with_user(pages: TestPages, other: &Path) -> Self {
        let daemon = TestDaemon::start().await;
        let opened = BrowserUser::open_browser_beside(&daemon, &pages.url("/"), other);
        Self::connected(daemon, pages, opened).await
    }

    /// The same where another extension polls and is let in: nothing is asked for before our own
    /// is connected.
    pub(crate) async fn beside_poller(daemon: TestDaemon, pages: TestPages, other: &Path) -> Self {
        let opened = open_browser(&chromium(), &daemon, &pages.url("/"), Some(other));
        let client = McpClient::legacy(&daemon);
        let is_here = async || {
            let browsers = client.call("observe", json!({"what": "browsers"})).await;
            let mut browsers = browsers["browsers"].as_array().unwrap().iter();
            browsers.any(|browser| browser["connected"] == true && browser["polls"] != true)
        };
        soon("our own extension", until(is_here)).await;
        Self::connected(daemon, pages, opened).await
    }

    async fn connected(
        daemon: TestDaemon,
        pages: TestPages,
        (browser, folder): (Browser, tempfile::TempDir),
    ) -> Self {
        let client = McpClient::legacy(&daemon);
        first_tab(&client, &browser).await;
        Self { daemon, client, pages, browser, folder }
    }

    pub(crate) async fn interact(&self, mut arguments: Value) -> Value {
        arguments["wait_ms"] = 20_000.into();
        arguments["trace"] = true.into();
        body(&self.client.call_raw("interact", arguments).await)
    }

    async fn run(&self, script: &str) -> Value {
        self.interact(json!({"action": "execute_js", "script": script})).await
    }

    /// The value that a script gives.
    pub(crate) async fn value(&self, script: &str) -> Value {
        let answer = self.run(script).await;
        assert_eq!(answer["status"], "complete", "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(crate) async fn act(&self, action: &str) -> Value {
        self.interact(json!({"action": action})).await
    }

    pub(crate) async fn go(&self, path: &str) -> Value {
        self.interact(json!({"action": "navigate", "url": self.pages.url(path)})).await
    }

    /// Waits until the tab shows a page with such a URL.
    async fn page(&self, is_it: impl Fn(&str) -> bool) {
        let shown = async {
            loop {
                let info = self.interact(json!({"action": "page_info"})).await;
                if info["result"]["value"]["url"].as_str().is_some_and(&is_it) {
                    return;
                }
            }
        };
        soon("the page", shown).await;
    }

    /// Has all pages crash.
    pub(crate) fn crash_pages(&self) {
        kill_pages(&self.browser);
    }

    /// Kills the process of the extension's worker.
    pub(crate) fn kill_worker(&self) {
        kill_worker(&self.browser);
    }

    /// The folder of the browser's profile.
    fn profile(&self) -> PathBuf {
        self.folder.path().join("profile")
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// A browser with the extension of this daemon, and with another one if that is named.
fn open_browser(
    program: &Path,
    daemon: &TestDaemon,
    page: &str,
    other: Option<&Path>,
) -> (Browser, tempfile::TempDir) {
    let folder = scratch_folder("tabwire-it-browser-");
    let unpacked = folder.path().join("extension");
    let key = daemon.home().auth().extension_key(EXTENSION_ID);
    extension::unpack(&unpacked, daemon.port(), &key).unwrap();
    let profile = folder.path().join("profile");
    let mut loaded = unpacked.into_os_string();
    if let Some(other) = other {
        loaded.push(",");
        loaded.push(other);
    }
    let browser = Browser::launch(program, &profile, Path::new(&loaded), page).unwrap();
    (browser, folder)
}

fn chromium() -> PathBuf {
    find_browser().expect("the tests need a Chromium: `make test` installs it on Debian")
}

#[tokio::test]
async fn a_command_goes_to_the_page_and_back_through_every_phase() {
    let stage = Stage::set().await;
    let answer = stage.run("document.title").await;
    assert_eq!(answer["status"], "complete", "{answer}");
    assert_eq!(answer["result"], json!({"success": true, "value": "Home Page", "type": "string"}));
    assert_eq!(answer["page"], stage.pages.url(""));
    assert_eq!(phases(&answer)[..5], ["queued", "delivered", "claimed", "started", "done"]);

    // Without waiting: an id at once, and the result by it.
    let id = stage.client.submit(json!({"action": "execute_js", "script": "1 + 1"})).await;
    assert_eq!(stage.client.outcome(&id).await["result"]["value"], 2);
    stage.end().await;
}

#[tokio::test]
async fn scripts_of_every_form_give_their_values_and_failures_say_what_is_wrong() {
    let stage = Stage::set().await;
    for (script, value) in [
        ("return 7", json!(7)),
        ("await Promise.resolve('later')", json!("later")),
        ("const a = 2; const b = 3; a * b", json!(6)),
        ("({ answer: [1, null, 'x'] })", json!({"answer": [1, null, "x"]})),
    ] {
        assert_eq!(stage.value(script).await, value, "{script}");
    }
    for (script, kind) in [("undefined", "undefined"), ("10n", "bigint"), ("0/0", "nan")] {
        let answer = stage.run(script).await;
        assert_eq!(answer["result"]["type"], kind, "{answer}");
    }
    let thrown = stage.run("throw new RangeError('too much')").await;
    assert_eq!(thrown["status"], "error", "{thrown}");
    assert_eq!(thrown["reason"], "script_threw");
    assert_eq!(thrown["error"], "RangeError: too much");
    assert_eq!(thrown["page"], "*");
    let syntax = stage.run("this is no script").await;
    assert_eq!(syntax["reason"], "syntax_error", "{syntax}");
    stage.end().await;
}

#[tokio::test]
async fn a_slow_script_says_pending_and_an_endless_one_times_out_and_leaves_the_tab_usable() {
    let stage = Stage::set().await;
    let slow = "await new Promise(done => setTimeout(done, 2300)); return 'done'";
    let answer = stage.run(slow).await;
    assert_eq!(answer["result"]["value"], "done", "{answer}");
    assert!(phases(&answer).contains(&"first_pending".to_owned()), "{answer}");

    let endless = json!({"action": "execute_js", "script": "while (true) {}", "timeout_ms": 500});
    let answer = stage.interact(endless).await;
    assert_eq!(answer["status"], "timeout", "{answer}");
    assert_eq!(answer["may_have_run"], true);
    assert_eq!(stage.value("document.title").await, "Home Page");
    stage.end().await;
}

#[tokio::test]
async fn strict_pages_can_be_scripted_and_a_navigation_ends_with_the_new_page() {
    let stage = Stage::set().await;
    let answer = stage.go("/strict").await;
    assert_eq!(answer["result"]["value"]["title"], "Strict Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Strict Page");

    // A page that leaves in the middle of a script.
    let leaves =
        format!("location.href = '{}'; await new Promise(() => {{}})", stage.pages.url("/second"));
    let answer = stage.run(&leaves).await;
    assert_eq!(answer["reason"], "navigation_interrupted", "{answer}");
    // It was left before the next one was there.
    stage.page(|url| url.ends_with("/second")).await;

    let refused = json!({"action": "navigate", "url": "javascript:alert(1)"});
    let answer = stage.interact(refused).await;
    assert_eq!(answer["reason"], "invalid_params", "{answer}");
    stage.end().await;
}

#[tokio::test]
async fn the_history_is_walked_one_page_at_a_time_and_says_where_it_ends() {
    let stage = Stage::set().await;
    stage.go("/second").await;
    stage.value("history.pushState({}, '', '/pushed'); 1").await;
    for (action, path) in [("back", "/second"), ("back", "/"), ("forward", "/second")] {
        let answer = stage.act(action).await;
        assert_eq!(answer["result"]["value"]["url"], stage.pages.url(path), "{action}: {answer}");
    }
    stage.value("window.kept = 1").await;
    let answer = stage.act("refresh").await;
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    assert_eq!(stage.value("typeof window.kept").await, "undefined");
    stage.act("forward").await;
    let answer = stage.act("forward").await;
    assert_eq!(answer["reason"], "navigation_failed", "{answer}");
    stage.end().await;
}

#[tokio::test]
async fn a_tab_opens_behind_the_persons_back_is_then_the_current_one_and_closes() {
    let stage = Stage::set().await;
    let url = stage.pages.url("/second");
    let answer = stage.interact(json!({"action": "tab_open", "url": url})).await;
    let opened = answer["result"]["value"]["tab_id"].clone();
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Second Page", "it is the current one");
    // A page in which a script runs takes itself for one in front: the browser says whether it is.
    let is_in_front = async || {
        let listed = stage.client.call("observe", json!({"what": "tabs"})).await;
        let tabs = listed["tabs"].as_array().unwrap().clone();
        let tab = tabs.into_iter().find(|tab| tab["tab_id"] == opened);
        tab.unwrap_or_else(|| panic!("{listed}"))["active"].clone()
    };
    assert_eq!(is_in_front().await, false);
    let answer = stage.interact(json!({"action": "tab_activate", "focus": true})).await;
    assert_eq!(answer["status"], "complete", "{answer}");
    soon("the tab in front", until(async || is_in_front().await == true)).await;
    let small = json!({"action": "screenshot", "max_side": 200});
    let shot = stage.interact(small).await["result"]["value"].clone();
    assert_eq!(shot["width"], 200, "{shot}");

    let answer = stage.act("tab_close").await;
    assert_eq!(answer["result"]["value"]["tab_id"], opened, "{answer}");
    // The daemon knows before the command is done: no call can go astray in between.
    let gone = stage.run("1").await;
    assert_eq!(gone["error"], "tab_gone", "{gone}");
    assert_eq!(gone["tabs"].as_array().unwrap().len(), 1, "{gone}");
    stage.end().await;
}

#[tokio::test]
async fn a_browser_that_has_lost_its_last_window_opens_a_new_one_for_a_tab() {
    let stage = Stage::staying_without_windows().await;
    stage.run("setTimeout(() => window.close()); 1").await;
    let is_closed =
        async || stage.client.call("observe", json!({"what": "tabs"})).await["count"] == 0;
    soon("a browser without tabs", until(is_closed)).await;
    let url = stage.pages.url("/second");
    let answer = stage.interact(json!({"action": "tab_open", "url": url})).await;
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Second Page");
    stage.end().await;
}

#[tokio::test]
async fn a_tab_that_is_closed_in_mid_command_ends_the_command_and_does_not_wait_for_it() {
    let stage = Stage::set().await;
    let url = stage.pages.url("/second");
    for (script, opening) in [
        ("await fetch('/asleep'); await new Promise(() => {})", "/asleep"),
        ("await fetch('/stuck'); while (true) {}", "/stuck"),
    ] {
        stage.interact(json!({"action": "tab_open", "url": url})).await;
        let script = json!({"action": "execute_js", "script": script});
        let id = stage.client.submit(script).await;
        stage.pages.asked_for(opening).await;
        let closed = stage.act("tab_close").await;
        assert_eq!(closed["status"], "complete", "{closed}");
        assert!(closed["duration_ms"].as_f64().unwrap() < 2_000.0, "{closed}");
        assert_eq!(stage.client.outcome(&id).await["reason"], "tab_closed");
        let home = stage.client.call("observe", json!({"what": "tabs"})).await;
        let home = home["tabs"][0]["tab_id"].clone();
        let title = json!({"action": "execute_js", "script": "document.title", "tab_id": home});
        assert_eq!(stage.interact(title).await["result"]["value"], "Home Page");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_loop_that_begins_after_a_timer_is_ended_and_the_page_is_kept_where_it_can_be() {
    let stage = Stage::set().await;
    let pause = "await new Promise(done => setTimeout(done, 50));";
    let run = |script: String| {
        stage.interact(json!({"action": "execute_js", "script": script, "timeout_ms": 500}))
    };
    // What nothing but an end of the page helps against depends on the browser: a loop inside its
    // own code as a rule, newer ones let an extension end no loop at all. The answer says what
    // became of the page, and the tab can be used.
    for endless in ["while (true) {}", "for (;;) JSON.stringify(Array(1e6).fill(1))"] {
        stage.value("window.kept = 1").await;
        let answer = run(format!("{pause} {endless}")).await;
        assert_eq!(answer["status"], "timeout", "{answer}");
        let reloaded = answer["error"].as_str().unwrap().contains("the tab was reloaded");
        let kept = if reloaded { "undefined" } else { "number" };
        let both = stage.value("document.title + ' ' + typeof window.kept").await;
        assert_eq!(both, format!("Home Page {kept}"), "{answer}");
    }
    stage.end().await;
}

#[tokio::test]
async fn a_page_of_the_browsers_own_is_out_of_reach_and_can_be_left() {
    let stage = Stage::showing(Some("chrome://version/")).await;
    let script = json!({"action": "execute_js", "script": "1"});
    assert_eq!(stage.interact(script).await["reason"], "restricted_page");
    for action in ["page_info", "screenshot", "refresh"] {
        let answer = stage.act(action).await;
        assert_eq!(answer["reason"], "restricted_page", "{action}: {answer}");
    }
    let answer = stage.go("/second").await;
    assert_eq!(answer["result"]["value"]["title"], "Second Page", "{answer}");
    assert_eq!(stage.value("document.title").await, "Second Page");
    stage.end().await;
}

#[tokio::test]
async fn a_worker_that_is_killed_is_back_within_seconds_and_nothing_has_run_twice() {
    let stage = Stage::set().await;
    let script = "await fetch('/touched'); await new Promise(done => setTimeout(done, 800));";
    let id = stage.client.submit(json!({"action": "execute_js", "script": script})).await;
    stage.pages.asked_for("/touched").await;
    kill_worker(&stage.browser);
    let answer = stage.client.outcome(&id).await;
    assert_eq!(answer["reason"], "extension_disconnected", "{answer}");
    assert_eq!(answer["may_have_run"], true);

    let answer = stage.run("document.title").await;
    assert_eq!(answer["result"]["value"], "Home Page", "{answer}");
    kill_worker(&stage.browser);
    let answer = stage.run("document.title").await;
    assert_eq!(answer["result"]["value"], "Home Page", "{answer}");
    assert!(answer["duration_ms"].as_f64().unwrap() < 10_000.0, "{answer}");
    assert_eq!(stage.pages.hits("/touched"), 1);
    stage.end().await;
}

#[tokio::test]
async fn a_screenshot_is_a_picture_for_the_model_and_no_text() {
    let stage = Stage::set().await;
    let shot = json!({"action": "screenshot", "wait_ms": 20_000});
    let result = stage.client.call_raw("interact", shot).await;
    let picture = &result["content"][1];
    assert_eq!((&picture["type"], &picture["mimeType"]), (&json!("image"), &json!("image/png")));
    // The first bytes of a PNG, in base64.
    assert!(picture["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    let value = &body(&result)["result"]["value"];
    assert!(value["width"].as_u64().unwrap() <= 1_568, "{value}");
    assert_eq!(value["data"], "(shown as image content)");

    // Or for a file, which must be a new one.
    let path = stage.daemon.home().dir().canonicalize().unwrap().join("files/page.png");
    let shot = json!({"action": "screenshot", "path": path, "wait_ms": 20_000});
    let result = stage.client.call_raw("interact", shot.clone()).await;
    assert_eq!(body(&result)["result"]["value"]["path"], json!(path), "{result}");
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "no picture for the model");
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    let refused = stage.client.call_fails("interact", shot).await;
    assert_eq!(
        (&refused["param"], &refused["error"]),
        (&json!("path"), &json!("invalid_argument"))
    );
    stage.end().await;
}

#[tokio::test]
async fn a_cancelled_script_has_run_once_at_most_and_the_next_one_runs() {
    let stage = Stage::set().await;
    let script = "await fetch('/touched'); await new Promise(() => {})";
    let id = stage.client.submit(json!({"action": "execute_js", "script": script})).await;
    stage.pages.asked_for("/touched").await;
    let answer = stage.client.cancel(&id).await;
    assert_eq!((&answer["status"], &answer["may_have_run"]), (&json!("cancelled"), &json!(true)));
    assert_eq!(stage.value("document.title").await, "Home Page");
    assert_eq!(stage.pages.hits("/touched"), 1);
    stage.end().await;
}

#[tokio::test]
async fn the_browser_comes_back_by_itself_after_the_daemon_was_restarted() {
    let stage = Stage::set().await;
    let Stage { daemon, pages, browser, folder: _folder, .. } = stage;
    let daemon = daemon.restart().await;
    let client = McpClient::legacy(&daemon);
    let script = json!({"action": "execute_js", "script": "document.title", "wait_ms": 20_000});
    let answer = client.call("interact", script).await;
    assert_eq!(answer["result"]["value"], "Home Page", "{answer}");
    assert_eq!(pages.hits("/"), 1, "the page was not touched by it");
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_web_page_gets_nothing_out_of_the_daemon() {
    let stage = Stage::set().await;
    let daemon = format!("127.0.0.1:{}", stage.daemon.port());
    let probe = |what: &str| {
        format!("try {{ {what} }} catch (error) {{ return 'refused: ' + error.name }}")
    };
    for what in [
        format!("return await (await fetch('http://{daemon}/health')).text()"),
        format!("return (await fetch('http://{daemon}/health', {{mode: 'no-cors'}})).type"),
        format!(
            "return await (await fetch('http://{daemon}/mcp', {{method: 'POST', body: '{{}}'}})).text()"
        ),
        format!(
            "return await (await fetch('http://{daemon}/mcp', {{method: 'POST', headers: \
             {{'content-type': 'application/json', authorization: 'Bearer x'}}, body: '{{}}'}})).text()"
        ),
    ] {
        let said = stage.value(&probe(&what)).await;
        let opaque = said == "opaque";
        assert!(opaque || said == "refused: TypeError", "{what}: {said}");
    }
    let socket = format!(
        "return await new Promise(done => {{ const socket = new WebSocket('ws://{daemon}/ws', \
         'tabwire.v1'); socket.onopen = () => done('open'); socket.onmessage = () => \
         done('message'); socket.onclose = ({{code}}) => done(code) }})"
    );
    assert_eq!(stage.value(&socket).await, 1006);
    let browsers = stage.client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["count"], 1);
    stage.end().await;
}

#[tokio::test]
async fn the_demonstration_works_and_leaves_no_process_and_no_file_behind() {
    let folder = tempfile::tempdir().unwrap();
    let ran = demonstrate(folder.path(), &find_browser().unwrap()).await;
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    for phase in ["queued 0.0", "delivered", "claimed", "started", "first_pending", "done"] {
        assert!(said.contains(phase), "{phase} is missing in:\n{said}");
    }
    assert_nothing_is_left(folder.path());
}

#[tokio::test]
async fn a_demonstration_whose_browser_always_crashes_says_so_at_once_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let browser = elsewhere.path().join("browser");
    std::fs::write(&browser, "#!/bin/sh\necho no luck >&2\nkill -SEGV $$\n").unwrap();
    std::fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let watch = Stopwatch::start();
    let ran = demonstrate(folder.path(), &browser).await;
    watch.assert_under(15_000, "a demonstration without a browser");
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let said = String::from_utf8(ran.stderr).unwrap();
    for words in ["browser ended by itself", "SIGSEGV", "TABWIRE_BROWSER", "\n  no luck"] {
        assert!(said.contains(words), "{words} is missing in:\n{said}");
    }
    assert_nothing_is_left(folder.path());
}

/// Runs the demonstration with this browser, and with this folder for all that it writes.
async fn demonstrate(folder: &Path, browser: &Path) -> Output {
    let mut demo = tokio::process::Command::new(testkit::program());
    demo.arg("demo").env("TMPDIR", folder).env("HOME", folder).env("TABWIRE_BROWSER", browser);
    demo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    demo.output().await.unwrap()
}

/// Neither a file in this folder nor a process that was started with it.
fn assert_nothing_is_left(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let path = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
    let of_ours = commands.filter(|c| String::from_utf8_lossy(c).contains(path));
    assert_eq!(of_ours.count(), 0, "processes are left");
}
