//! What agents leave behind: tabs that they opened are closed after their end, and those that the
//! person has made their own stay.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;

use super::popup::popup;
use testkit::{
    BrowserUser, McpClient, ProgramSandbox, StdioClient, TestDaemon, TestPages, VirtualDisplay,
    cli_of, first_tab, saved_groups, scratch_folder, signal, soon, until,
};

/// A daemon that closes left tabs soon.
async fn tidy_daemon() -> TestDaemon {
    TestDaemon::with(|settings| settings.limits.leftover_tabs_s = 1).await
}

/// An agent of its own program, which a test can kill.
async fn agent(daemon: &TestDaemon, name: &str) -> StdioClient {
    let mut agent = StdioClient::spawn(cli_of(daemon, &["mcp"]));
    agent.initialize(name).await;
    agent
}

async fn opens(agent: &mut StdioClient, url: &str, more: Value) -> Value {
    let mut call = json!({"action": "tab_open", "url": url, "wait_ms": 20_000});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let opened = agent.call("interact", call).await;
    let tab = opened["result"]["value"]["tab_id"].clone();
    assert!(tab.is_number(), "{opened}");
    tab
}

/// The ids of all tabs, in their order.
async fn tabs(client: &McpClient) -> Vec<Value> {
    let listed = client.call("observe", json!({"what": "tabs"})).await;
    let tabs = listed["tabs"].as_array().unwrap_or_else(|| panic!("{listed}"));
    let mut ids: Vec<_> = tabs.iter().map(|tab| tab["tab_id"].clone()).collect();
    ids.sort_by_key(Value::as_i64);
    ids
}

#[tokio::test]
async fn the_tabs_of_a_killed_agent_are_closed_but_those_that_somebody_keeps() {
    let daemon = tidy_daemon().await;
    let pages = TestPages::start().await;
    let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
    let client = McpClient::legacy(&daemon);
    let persons = first_tab(&client, &browser).await;
    let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
    let mut agent = agent(&daemon, "Otter").await;

    let plain = opens(&mut agent, &pages.url("/form"), json!({})).await;
    let link = "document.body.insertAdjacentHTML('beforeend', \
                `<a id=beside target=_blank href=${location.href}>beside</a>`)";
    let act = |tab: &Value, act: Value| {
        let mut call = json!({"tab_id": tab, "wait_ms": 20_000});
        call.as_object_mut().unwrap().extend(act.as_object().unwrap().clone());
        call
    };
    agent.call("interact", act(&plain, json!({"action": "execute_js", "script": link}))).await;
    let click = act(&plain, json!({"action": "click", "target": "#beside"}));
    let beside = agent.call("interact", click).await["result"]["value"]["new_tab"].clone();
    assert!(beside.is_number());

    let kept = opens(&mut agent, &pages.url("/form"), json!({"keep": true})).await;
    let asking = opens(&mut agent, &pages.url("/form"), json!({})).await;
    let asks = "onbeforeunload = (event) => event.preventDefault(); \
                document.body.insertAdjacentHTML('afterbegin', '<button id=use>Use</button>')";
    agent.call("interact", act(&asking, json!({"action": "execute_js", "script": asks}))).await;
    agent.call("interact", act(&asking, json!({"action": "click", "target": "#use"}))).await;
    // This page would ask as well, but nobody has used it: then no browser lets it ask.
    let unused = opens(&mut agent, &pages.url("/form"), json!({})).await;
    agent.call("interact", act(&unused, json!({"action": "execute_js", "script": asks}))).await;
    let endless = opens(&mut agent, &pages.url("/form"), json!({})).await;
    let loads = "setTimeout(() => { document.open(); document.write('<p>It loads without end'); })";
    agent.call("interact", act(&endless, json!({"action": "execute_js", "script": loads}))).await;
    let used = opens(&mut agent, &pages.url("/strict?used"), json!({})).await;
    hand.turn_to(&pages.url("/strict?used")).await;
    hand.show().await;

    agent.kill().await;
    let left = [&persons, &kept, &asking, &used].map(Clone::clone);
    soon("the end of the other tabs", until(async || tabs(&client).await == left)).await;
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn the_popup_says_which_tabs_close_and_keeps_them() {
    let daemon = tidy_daemon().await;
    let pages = TestPages::start().await;
    let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
    let client = McpClient::legacy(&daemon);
    let persons = first_tab(&client, &browser).await;
    let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
    let mut agent = agent(&daemon, "Otter").await;
    let (kept, left) = (
        opens(&mut agent, &pages.url("/form"), json!({})).await,
        opens(&mut agent, &pages.url("/form"), json!({})).await,
    );
    for tab in [&kept, &left] {
        let release = json!({"action": "tab_release", "tab_id": tab});
        assert_eq!(agent.call("configure", release).await["was_yours"], true);
    }

    hand.open_beside(&popup()).await;
    let rows = "document.querySelectorAll('#opened-list li').length";
    soon("both tabs", until(async || hand.read(rows).await == 2)).await;
    let line = "document.querySelector('#opened-list li').textContent";
    assert!(hand.read(line).await.as_str().unwrap().starts_with("Otter 1 opened it"));
    let face = format!(
        "Promise.all([chrome.action.getTitle({{tabId: {left}}}), \
                      chrome.action.getBadgeText({{tabId: {left}}})])"
    );
    let face = hand.read(&face).await;
    assert!(face[0].as_str().unwrap().contains("Otter 1 opened this tab"), "{face}");
    assert_eq!(face[1], "•");
    hand.click("#opened-list button").await;
    soon("one tab", until(async || hand.read(rows).await == 1)).await;

    hand.click("#keep-tabs").await;
    let stays = "chrome.storage.local.get('keep_agent_tabs').then((s) => s.keep_agent_tabs)";
    soon("the switch", until(async || hand.read(stays).await == true)).await;
    agent.kill().await;
    hand.click("#keep-tabs").await;
    soon("no switch", until(async || hand.read(stays).await == false)).await;
    soon("the end of the tab", until(async || !tabs(&client).await.contains(&left))).await;
    let open = tabs(&client).await;
    assert!(open.contains(&kept) && open.contains(&persons), "{open:?}");
    browser.end().await;
    daemon.stop().await;
}

/// A browser in a window, whose person lets agents' tabs be grouped, and which brings its tabs back.
struct Desk {
    display: VirtualDisplay,
    folder: tempfile::TempDir,
}

impl Desk {
    async fn set(place: &ProgramSandbox, port: u16) -> Self {
        let display = VirtualDisplay::start().await;
        let folder = scratch_folder("tabwire-it-desk-");
        let unpacked = folder.path().join("extension");
        let key = place.home().auth().extension_key(EXTENSION_ID);
        extension::unpack(&unpacked, port, &key).unwrap();
        // Nobody is there to answer the browser's question for it.
        let manifest = unpacked.join("manifest.json");
        let asked = std::fs::read_to_string(&manifest).unwrap();
        let granted = asked.replace(
            "\"permissions\": [\"debugger\"",
            "\"permissions\": [\"tabGroups\", \"debugger\"",
        );
        assert_ne!(asked, granted);
        std::fs::remove_file(&manifest).unwrap();
        std::fs::write(manifest, granted).unwrap();
        Self { display, folder }
    }

    async fn open(&self, page: &str) -> (Browser, BrowserUser) {
        let profile = self.folder.path().join("profile");
        let _ = std::fs::remove_file(profile.join("DevToolsActivePort"));
        self.answer_the_question_after_a_kill();
        let flags = ["--remote-debugging-port=0", "--restore-last-session"];
        let chromium = find_browser().unwrap();
        let program = self.display.program(self.folder.path(), &chromium, &flags);
        let unpacked = self.folder.path().join("extension");
        let browser = Browser::launch(&program, &profile, &unpacked, page).unwrap();
        let mut hand = BrowserUser::reach(&profile).await;
        hand.open_beside(&popup()).await;
        (browser, hand)
    }

    /// A browser that was killed asks at its next start whether to restore, and writes no
    /// session down until the person answers. Only one that had lived long enough to save its
    /// preferences asks, so the answer is given beforehand.
    fn answer_the_question_after_a_kill(&self) {
        let preferences = self.folder.path().join("profile/Default/Preferences");
        let Ok(written) = std::fs::read_to_string(&preferences) else { return };
        let mut written: Value = serde_json::from_str(&written).unwrap();
        written["profile"]["exit_type"] = json!("Normal");
        std::fs::write(preferences, written.to_string()).unwrap();
    }

    /// Waits until the browser has written down that it has this tab: it does so a moment later.
    async fn remembers(&self, url: &str) {
        let sessions = self.folder.path().join("profile/Default/Sessions");
        let has = |file: &Path| {
            let bytes = std::fs::read(file).unwrap_or_default();
            bytes.windows(url.len()).any(|part| part == url.as_bytes())
        };
        let is_there = async || {
            let files = std::fs::read_dir(&sessions).into_iter().flatten().flatten();
            files.map(|file| file.path()).any(|file| has(&file))
        };
        soon(&format!("the browser's own memory of {url}"), until(is_there)).await;
    }
}

#[tokio::test]
async fn ten_sessions_of_killed_agents_daemons_and_browsers_leave_no_tab_and_no_group() {
    let place = ProgramSandbox::new();
    let pages = TestPages::start().await;
    let limit = ["--limit", "leftover_tabs_s=1"];
    let mut daemon = place.serve(&limit).await;
    let port = daemon.port.to_string();
    let again = [&limit[..], &["--port", &port]].concat();
    let desk = Desk::set(&place, daemon.port).await;
    let profile = desk.folder.path().join("profile");
    let (mut browser, mut hand) = desk.open(&pages.url("/")).await;
    let groups = "chrome.tabGroups.query({}).then((all) => all.map(({ title }) => title))";
    let left = "chrome.tabs.query({}).then((all) => \
                all.map(({ url }) => url).filter((url) => url.includes('/form?')))";
    for session in 0..10 {
        let on = "chrome.runtime.sendMessage({ask: 'group_tabs', on: true}).then((it) => it.groups_tabs)";
        soon("the switch", until(async || hand.read(on).await == true)).await;
        let mut agent = StdioClient::start(&place);
        // Of its own, since a browser that is killed keeps a saved group that no API removes.
        let name = format!("Otter{session}");
        let title = format!("{name} 1");
        agent.initialize(&name).await;
        let urls = [0, 1].map(|tab| pages.url(&format!("/form?{session}-{tab}")));
        for url in &urls {
            opens(&mut agent, url, json!({})).await;
        }
        soon("a group", until(async || hand.read(groups).await == json!([title]))).await;
        let is_saved = until(async || saved_groups(&profile, &title) == 1);
        soon("the group as the browser saves it", is_saved).await;
        let kills_browser = session % 3 == 2 || session == 9;
        for url in urls.iter().filter(|_| kills_browser) {
            desk.remembers(url).await;
        }
        agent.kill().await;
        if session % 3 == 1 || session == 9 {
            signal(daemon.pid(), Signal::KILL);
            daemon.end().await;
            daemon = place.serve(&again).await;
        }
        if kills_browser {
            signal(browser.id(), Signal::KILL);
            browser.end().await;
            (browser, hand) = desk.open(&pages.url("/")).await;
        }
        let gone = until(async || hand.read(left).await == json!([]));
        if tokio::time::timeout(std::time::Duration::from_secs(20), gone).await.is_err() {
            panic!("session {session} leaves {}", hand.read(left).await);
        }
        assert_eq!(hand.read(groups).await, json!([]), "session {session}");
        if !kills_browser {
            let is_gone = until(async || saved_groups(&profile, &title) == 0);
            soon(&format!("the end of the saved group of session {session}"), is_gone).await;
        }
    }
    let home = "chrome.tabs.query({}).then((all) => all.some(({ url }) => url.endsWith('/')))";
    assert_eq!(hand.read(home).await, true, "the person's tab is still there");
    browser.end().await;
    let _ = daemon.stop().await;
}
