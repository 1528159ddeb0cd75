//! What a person sees of the extension in a real browser: its entry at `chrome://extensions`, its
//! badge and its popup, and what their clicks do.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;

use testkit::{
    BrowserUser, McpClient, ProgramSandbox, TestDaemon, TestPages, VirtualDisplay, first_tab,
    scratch_folder, signal, soon, until,
};

/// An extension in a profile of its own, as it is before the browser starts.
pub(crate) struct Profile(tempfile::TempDir);

impl Profile {
    /// With the extension for the daemon at this port, with the key of its state directory.
    pub(super) fn new(home: &tabwire::home::StateDirectory, port: u16) -> Self {
        Self::within(Self::folder(), home, port)
    }

    /// A folder for one; the browser keeps its profiles in `profile` below it.
    pub(super) fn folder() -> tempfile::TempDir {
        scratch_folder("tabwire-it-popup-")
    }

    /// The same in this folder.
    pub(super) fn within(
        folder: tempfile::TempDir,
        home: &tabwire::home::StateDirectory,
        port: u16,
    ) -> Self {
        let key = home.auth().extension_key(EXTENSION_ID);
        extension::unpack(&folder.path().join("extension"), port, &key).unwrap();
        // Only then does the browser list errors.
        let preferences = json!({"extensions": {"ui": {"developer_mode": true}}});
        std::fs::create_dir_all(folder.path().join("profile/Default")).unwrap();
        let file = folder.path().join("profile/Default/Preferences");
        std::fs::write(file, preferences.to_string()).unwrap();
        Self(folder)
    }

    /// Gives it a name in the browser itself, before that has ever run.
    pub(super) fn is_called(&self, name: &str) {
        let listed = json!({"name": name, "is_using_default_name": false});
        let state = json!({"profile": {"info_cache": {"Default": listed}}});
        std::fs::write(self.0.path().join("profile/Local State"), state.to_string()).unwrap();
    }

    /// Has the person say yes when the browser itself asks for an optional permission of the
    /// extension. A browser without windows cannot be answered, so the person has said so before:
    /// then it gives the permission in answer to the click that asks for it, and not earlier.
    pub(crate) fn gives(&self, permission: &str) {
        let given = json!({"api": [permission], "explicit_host": [], "manifest_permissions": [], "scriptable_host": []});
        self.prefers(|all| {
            all["extensions"]["settings"][EXTENSION_ID]["runtime_granted_permissions"] = given;
        });
    }

    /// Has the person let no site use this.
    pub(crate) fn blocks(&self, permission: &str) {
        self.prefers(|all| all["profile"]["default_content_setting_values"][permission] = json!(2));
    }

    fn prefers(&self, change: impl FnOnce(&mut Value)) {
        let file = self.0.path().join("profile/Default/Preferences");
        let mut preferences: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        change(&mut preferences);
        std::fs::write(file, preferences.to_string()).unwrap();
    }

    /// Has the worker take any change of a tab for a person who closes its debugging bar. A browser
    /// without windows has no bar to close.
    fn closes_debugging_bars(&self) {
        let background = self.0.path().join(format!("extension/{WORKER}"));
        let wiring = std::fs::read_to_string(&background).unwrap();
        let closed = "handleDetach({ tabId }, 'canceled_by_user')";
        let more = format!("\nchrome.tabs.onUpdated.addListener((tabId) => {closed});\n");
        // It is read-only.
        std::fs::remove_file(&background).unwrap();
        std::fs::write(background, wiring + &more).unwrap();
    }

    /// Makes it one of a former version, whose files were at the root.
    fn has_the_former_layout(&self) {
        let folder = self.0.path().join("extension");
        let worker = folder.join("background.js");
        // It is read-only.
        std::fs::remove_file(&worker).unwrap();
        std::fs::write(&worker, "import './shim.js';\n").unwrap();
        let parts =
            "import './src/worker/background.js';\nchrome.storage.session.set({former: 1});\n";
        std::fs::write(folder.join("shim.js"), parts).unwrap();
    }

    /// Renews it, as `tabwire extension unpack` does.
    fn is_unpacked_again(&self, daemon: &TestDaemon) {
        let folder = self.0.path().join("extension");
        let key = daemon.home().auth().extension_key(EXTENSION_ID);
        extension::unpack(&folder, daemon.port(), &key).unwrap();
        assert!(!folder.join("shim.js").exists());
    }

    pub(crate) async fn open(&self, page: &str) -> (Browser, BrowserUser) {
        self.open_by(&BrowserUser::lets_in(self.0.path(), &find_browser().unwrap()), page).await
    }

    /// The same in a window on a display.
    pub(super) async fn open_on(
        &self,
        display: &VirtualDisplay,
        page: &str,
    ) -> (Browser, BrowserUser) {
        let flags = ["--remote-debugging-port=0"];
        let program = display.program(self.0.path(), &find_browser().unwrap(), &flags);
        self.open_by(&program, page).await
    }

    async fn open_by(&self, program: &Path, page: &str) -> (Browser, BrowserUser) {
        let (profile, unpacked) = (self.0.path().join("profile"), self.0.path().join("extension"));
        // An earlier browser of this profile had another port.
        let _ = std::fs::remove_file(profile.join("DevToolsActivePort"));
        let browser = Browser::launch(program, &profile, &unpacked, page).unwrap();
        let hand = BrowserUser::reach(&profile).await;
        (browser, hand)
    }
}

/// The extension's worker, below its folder.
const WORKER: &str = "src/worker/background.js";

pub(crate) fn popup() -> String {
    format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")
}

/// Waits until the popup says this.
pub(super) async fn shows(hand: &mut BrowserUser, words: &str) {
    let shown = "document.body.innerText";
    let comes = until(async || hand.read(shown).await.as_str().unwrap().contains(words));
    soon(words, comes).await;
}

#[tokio::test]
async fn the_browser_lists_no_error_of_the_extension_whatever_becomes_of_the_daemon() {
    // Somebody else may take the port before the daemon does; then the test fails, and says so.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let place = ProgramSandbox::with_port(port);
    let profile = Profile::new(&place.home(), port);
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.begin_list_of_errors().await;

    hand.go(&popup()).await;
    shows(&mut hand, "Not connected").await;
    let daemon = place.serve(&[]).await;
    shows(&mut hand, "Connected").await;
    signal(daemon.pid(), Signal::KILL);
    shows(&mut hand, "Not connected").await;
    let ran = place.run(&["unpair"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let daemon = place.serve(&[]).await;
    shows(&mut hand, "Key refused").await;
    assert_eq!(hand.listed_errors().await, Vec::<Value>::new());

    // The list is there to be read: what the extension would do without asking first is in it.
    let background = profile.0.path().join(format!("extension/{WORKER}"));
    let wiring = std::fs::read_to_string(&background).unwrap();
    // It is read-only.
    std::fs::remove_file(&background).unwrap();
    std::fs::write(background, wiring + "\nnew WebSocket('ws://127.0.0.1:1/ws');\n").unwrap();
    hand.read(&format!("chrome.developerPrivate.reload('{EXTENSION_ID}').then(() => 1)")).await;
    soon("an entry", until(async || !hand.listed_errors().await.is_empty())).await;
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_program_that_has_the_port_is_told_as_such_and_is_no_error_of_the_extension() {
    let other = TestPages::start().await;
    let place = ProgramSandbox::with_port(other.port());
    let profile = Profile::new(&place.home(), other.port());
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.begin_list_of_errors().await;
    hand.go(&popup()).await;
    shows(&mut hand, "Another program is there").await;
    assert_eq!(hand.read("chrome.action.getBadgeText({})").await, "!");
    assert_eq!(hand.listed_errors().await, Vec::<Value>::new());
    browser.end().await;
}

#[tokio::test]
async fn the_popup_is_as_wide_as_it_is_drawn_where_the_browser_opens_it() {
    let pages = TestPages::start().await;
    let place = ProgramSandbox::with_port(pages.port());
    let profile = Profile::new(&place.home(), pages.port());
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.go(&popup()).await;
    hand.read("chrome.action.openPopup().then(() => 1)").await;
    let opened = "chrome.extension.getViews({type: 'popup'}).map((popup) => \
                  [popup.innerWidth, popup.document.documentElement.scrollHeight - popup.innerHeight])";
    let fits = async || hand.read(opened).await == json!([[360, 0]]);
    soon("a popup of 360 px that shows all of itself", until(fits)).await;
    browser.end().await;
}

#[tokio::test]
async fn a_request_to_draw_behind_another_tab_shows_on_the_badge_and_the_popup_leads_there() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    let (browser, mut hand) = profile.open(&pages.url("/strict")).await;
    let client = McpClient::modern(&daemon);
    let tab = first_tab(&client, &browser).await;
    // The popup, in a tab of its own, is what the person sees.
    let front = json!({"action": "tab_open", "focus": true, "wait_ms": 20_000});
    client.call("interact", front).await;
    let ask = json!({"what": "annotations", "wait": true, "tab_id": tab,
                     "prompt": "Circle the heading"});
    let asked = client.call("analyze", ask).await;
    assert_eq!(asked["status"], "waiting_for_user", "{asked}");
    hand.open_beside(&popup()).await;
    shows(&mut hand, "An agent asks you to draw").await;
    let theirs = "[...document.querySelectorAll('.theirs')].map((one) => one.textContent)";
    assert_eq!(hand.read(theirs).await, json!(["it 1", "Circle the heading"]));
    let in_front = "chrome.tabs.query({active: true}).then((tabs) => tabs.map(({url}) => url))";
    assert_eq!(
        hand.read(in_front).await,
        json!([popup()]),
        "it does not come to the front by itself"
    );
    let badge = "chrome.action.getBadgeText({})";
    assert_eq!(hand.read(badge).await, "1");
    hand.click("#drawing-list button").await;
    hand.turn_to_drawing().await;
    let is_active = "chrome.tabs.getCurrent().then(({active}) => active)";
    hand.becomes(is_active, true).await;
    assert_eq!(hand.read(theirs).await, json!(["it 1", "Circle the heading"]));
    hand.becomes(badge, "").await;
    hand.press("Escape", 1).await;
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn looking_at_the_popup_gives_no_control_back_and_its_button_does() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    profile.closes_debugging_bars();
    let (browser, mut hand) = profile.open(&pages.url("/strict")).await;
    let client = McpClient::modern(&daemon);
    let tab = first_tab(&client, &browser).await;
    // Not a script, which would run as a user script where the person allows that.
    let picture = json!({"action": "screenshot", "tab_id": tab, "wait_ms": 20_000});
    let refused = async || {
        let answer = client.call_raw("interact", picture.clone()).await;
        answer["structuredContent"]["reason"] == "debugger_unavailable"
    };
    hand.read("document.title = 'Changed'").await;
    soon("the person to close the bar", until(&refused)).await;

    hand.open_beside(&popup()).await;
    shows(&mut hand, "You took control").await;
    assert!(refused().await, "the popup alone gives nothing back");
    hand.click("#give-back").await;
    let runs = async || client.call_raw("interact", picture.clone()).await["isError"] == false;
    soon("control again", until(runs)).await;
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_person_keeps_agents_out_of_the_site_that_they_see_and_ends_a_recording_by_a_click() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    let (browser, mut hand) = profile.open(&pages.url("/strict")).await;
    let client = McpClient::modern(&daemon);
    let tab = first_tab(&client, &browser).await;
    let record = json!({"action": "capture", "streams": ["logs"]});
    client.call("configure", record).await;

    hand.open_beside(&popup()).await;
    shows(&mut hand, "Recording for an agent").await;
    hand.click("#record").await;
    shows(&mut hand, "You stopped all recording").await;
    let recorded = "document.querySelectorAll('#recording li').length";
    hand.becomes(recorded, 0).await;
    hand.click("#record").await;
    shows(&mut hand, "Recording for an agent").await;

    // Here the popup is a tab itself; a person sees the page behind it.
    let page = pages.url("/strict");
    hand.read(&format!("chrome.tabs.query = async () => [{{id: {tab}, url: '{page}'}}]; 1")).await;
    let host = page.split('/').nth(2).unwrap();
    shows(&mut hand, host).await;
    hand.click("#keep-out").await;
    shows(&mut hand, &format!("Agents are kept out of {host}")).await;
    let look = json!({"action": "execute_js", "script": "1", "tab_id": tab, "wait_ms": 20_000});
    let answer = client.call_raw("interact", look).await;
    assert_eq!(answer["structuredContent"]["reason"], "blocked_by_policy", "{answer}");
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_tab_that_an_agent_opened_is_its_own_until_the_person_takes_it_back() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    let (browser, mut hand) = profile.open(&pages.url("/strict")).await;
    let (client, other) =
        (McpClient::modern(&daemon).named("ann"), McpClient::modern(&daemon).named("bob"));
    let persons = first_tab(&client, &browser).await;
    let open = json!({"action": "tab_open", "url": pages.url("/form"), "wait_ms": 20_000});
    let tab = client.call("interact", open).await["result"]["value"]["tab_id"].clone();
    let script = |tab: &Value| {
        json!({
            "action": "execute_js", "script": "document.title", "tab_id": tab, "wait_ms": 20_000,
        })
    };
    let refused = other.call_raw("interact", script(&tab)).await["structuredContent"].clone();
    assert_eq!(refused["error"], "tab_in_use", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("it 1 opened it"), "{refused}");
    let look = json!({"what": "snapshot", "tab_id": tab, "wait_ms": 20_000});
    for (tool, call) in [("analyze", look), ("interact", script(&persons))] {
        let answer = other.call(tool, call).await;
        assert_eq!(
            answer["status"], "complete",
            "looking is free, and so is another tab: {answer}"
        );
    }

    // A link that opens a tab: that belongs to the same client.
    let link = "document.body.insertAdjacentHTML('beforeend', \
                `<a id=beside target=_blank href=${location.href}>beside</a>`)";
    let adds = json!({"action": "execute_js", "script": link, "tab_id": tab, "wait_ms": 20_000});
    client.call("interact", adds).await;
    let click = json!({"action": "click", "target": "#beside", "tab_id": tab, "wait_ms": 20_000});
    let clicked = client.call("interact", click).await;
    let beside = clicked["result"]["value"]["new_tab"].clone();
    assert!(beside.is_number(), "{clicked}");
    let refused = other.call_raw("interact", script(&beside)).await["structuredContent"].clone();
    assert_eq!(refused["error"], "tab_in_use", "{refused}");
    let list = json!({"action": "tab_list", "wait_ms": 20_000});
    for (reader, whose) in [(&client, ("yours", json!(true))), (&other, ("held_by", json!("it 1")))]
    {
        let listed = reader.call("interact", list.clone()).await["result"]["value"].clone();
        let held = listed.as_array().unwrap().iter().filter(|one| one[whose.0] == whose.1);
        let held: std::collections::BTreeSet<_> = held.map(|one| one["tab_id"].as_i64()).collect();
        assert_eq!(held, [tab.as_i64(), beside.as_i64()].into(), "{listed}");
        let persons = listed.as_array().unwrap().iter().find(|one| one["tab_id"] == persons);
        let persons = persons.unwrap().as_object().unwrap();
        assert!(!persons.contains_key("yours") && !persons.contains_key("held_by"), "{listed}");
    }

    hand.open_beside(&popup()).await;
    shows(&mut hand, "it 1 opened it").await;
    hand.click("#held-list button").await;
    let held = "document.querySelectorAll('#held-list li').length";
    soon("one tab", until(async || hand.read(held).await == 1)).await;
    let first_free = other.call_raw("interact", script(&tab)).await;
    assert_ne!(first_free["isError"], true, "{first_free}");
    let release = json!({"action": "tab_release", "tab_id": beside});
    assert_eq!(client.call("configure", release).await["was_yours"], true);
    soon("no tab", until(async || hand.read(held).await == 0)).await;
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn an_extension_of_the_former_layout_is_renewed_by_a_reload() {
    let daemon = TestDaemon::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    profile.has_the_former_layout();
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.go(&popup()).await;
    shows(&mut hand, "Connected").await;
    let former = "chrome.storage.session.get('former')";
    assert_eq!(hand.read(former).await, json!({"former": 1}));
    profile.is_unpacked_again(&daemon);
    hand.go("chrome://extensions/").await;
    hand.read(&format!("chrome.developerPrivate.reload('{EXTENSION_ID}').then(() => 1)")).await;
    let state =
        format!("chrome.developerPrivate.getExtensionInfo('{EXTENSION_ID}').then((i) => i.state)");
    soon("the extension", until(async || hand.read(&state).await == "ENABLED")).await;
    hand.go(&popup()).await;
    shows(&mut hand, "Connected").await;
    assert_eq!(hand.read(former).await, json!({}), "no file of the former layout runs");
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_browser_that_starts_finds_the_worker_of_an_extension_that_was_renewed_meanwhile() {
    let daemon = TestDaemon::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    profile.has_the_former_layout();
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.go(&popup()).await;
    shows(&mut hand, "Connected").await;
    browser.end().await;
    profile.is_unpacked_again(&daemon);
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.go(&popup()).await;
    shows(&mut hand, "Connected").await;
    browser.end().await;
    daemon.stop().await;
}
