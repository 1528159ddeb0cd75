//! Agents work behind the person's back: in a headed browser, whose person types at a keyboard of the
//! display meanwhile, nothing steals the focus, and a page that nobody sees behaves as one in front.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;

use super::actions::folder;
use super::popup::popup;
use testkit::{
    BrowserUser, DisplayUser, McpClient, TestDaemon, TestPages, VirtualDisplay, body, first_tab,
    scratch_folder, soon, until,
};

/// A browser in a window of a display, with the person in front of it.
struct HeadedStage {
    daemon: TestDaemon,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    hand: BrowserUser,
    person: DisplayUser,
    /// The tab of the person.
    tab: Value,
    _display: VirtualDisplay,
    _folder: tempfile::TempDir,
}

impl HeadedStage {
    async fn open() -> Self {
        let daemon = TestDaemon::start().await;
        let pages = TestPages::with_folders(&[&folder()]).await;
        let display = VirtualDisplay::start().await;
        let folder = scratch_folder("tabwire-it-headed-");
        let (profile, unpacked) = (folder.path().join("profile"), folder.path().join("extension"));
        let key = daemon.home().auth().extension_key(EXTENSION_ID);
        extension::unpack(&unpacked, daemon.port(), &key).unwrap();
        let flags = ["--remote-debugging-port=0"];
        let program = display.program(folder.path(), &find_browser().unwrap(), &flags);
        let page = pages.url("/background.html?person");
        let browser = Browser::launch(&program, &profile, &unpacked, &page).unwrap();
        let hand = BrowserUser::reach(&profile).await;
        let client = McpClient::legacy(&daemon);
        let tab = first_tab(&client, &browser).await;
        let person = display.user();
        let (_display, _folder) = (display, folder);
        Self { daemon, client, pages, browser, hand, person, tab, _display, _folder }
    }

    async fn does(&self, mut call: Value) -> Value {
        call["wait_ms"] = 20_000.into();
        let tool = if call["what"].is_string() { "analyze" } else { "interact" };
        let answer = body(&self.client.call_raw(tool, call).await);
        assert_eq!(answer["status"], "complete", "{answer}");
        answer["result"]["value"].clone()
    }

    async fn in_tab(&self, tab: &Value, mut call: Value) -> Value {
        call["tab_id"] = tab.clone();
        self.does(call).await
    }

    async fn opens(&self, page: &str) -> Value {
        let open = json!({"action": "tab_open", "url": self.pages.url(page)});
        self.does(open).await["tab_id"].clone()
    }

    async fn runs(&self, tab: &Value, script: &str) -> Value {
        self.in_tab(tab, json!({"action": "execute_js", "script": script})).await
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// Between two keys of a person: an agent gets its turn.
const KEY_PAUSE: Duration = Duration::from_millis(50);

/// What an agent does in tabs in the background.
async fn work(stage: &HeadedStage) {
    for round in 0..2 {
        let tab = stage.opens(&format!("/background.html?{round}")).await;
        let text = format!("of the agent {round}");
        for call in [
            json!({"action": "click", "target": "#press"}),
            json!({"action": "type", "target": "#field", "text": text}),
            json!({"action": "press_key", "key": "Tab"}),
            json!({"action": "hover", "target": "#press"}),
            json!({"action": "screenshot"}),
            json!({"action": "scroll", "to": "bottom"}),
            json!({"what": "snapshot"}),
            json!({"action": "clipboard", "operation": "write", "text": "pasted"}),
            json!({"action": "clipboard", "operation": "paste", "target": "#typed"}),
            json!({"action": "navigate", "url": stage.pages.url("/background.html?next")}),
            json!({"action": "execute_js", "script": "document.querySelector('#field').focus(); window.focus(); 1"}),
            json!({"action": "type", "target": "#field", "text": text}),
        ] {
            stage.in_tab(&tab, call).await;
        }
        assert_eq!(stage.runs(&tab, "document.querySelector('#field').value").await, text);
        stage.in_tab(&tab, json!({"action": "tab_close"})).await;
    }
}

#[tokio::test]
async fn no_key_of_the_person_is_lost_and_the_focus_never_moves_while_an_agent_works_in_the_background()
 {
    let mut stage = HeadedStage::open().await;
    let is_ready = "document.hasFocus() && document.activeElement?.id === 'typed'";
    soon("the person's field", until(async || stage.hand.read(is_ready).await == true)).await;
    let window = stage.person.focused();
    let mut person = stage._display.user();
    let mut in_other_program = stage._display.user();
    let profile = stage._folder.path().join("profile");
    let mut eyes = BrowserUser::reach(&profile).await;
    eyes.turn_to(&stage.pages.url("/background.html?person")).await;
    let (is_over, keys) = (Cell::new(false), Cell::new(0));
    let works = async {
        // Until the person has typed some keys meanwhile, however fast agent and page are.
        while keys.get() <= ENOUGH_KEYS {
            work(&stage).await;
        }
        is_over.set(true);
    };
    let types = async {
        let mut typed = String::new();
        for character in ('a'..='z').cycle() {
            person.type_key(character);
            typed.push(character);
            let here = format!("document.querySelector('#typed').value === '{typed}'");
            soon(
                &format!("the key {character} after {typed}"),
                until(async || eyes.read(&here).await == true),
            )
            .await;
            assert_eq!(person.focused(), window, "the window of the person after {typed}");
            keys.set(typed.len());
            if is_over.get() {
                return typed.len();
            }
        }
        unreachable!("the person types as long as the agent works")
    };
    let ((), keys) = tokio::join!(works, types);
    types_in_other_program(&stage, &mut in_other_program).await;
    assert_eq!(eyes.read("document.querySelector('#typed').value.length").await, keys);
    // The person comes back, and has left the page once.
    person.turn_to(window);
    soon("the focus", until(async || eyes.read("document.hasFocus()").await == true)).await;
    assert_eq!(
        eyes.read("[blurs, document.hasFocus(), document.visibilityState]").await,
        json!([1, true, "visible"])
    );
    stage.end().await;
}

/// The person has another program in front: it keeps the focus and gets each key.
async fn types_in_other_program(stage: &HeadedStage, person: &mut DisplayUser) {
    let window = person.open_other_program();
    let (is_over, keys) = (Cell::new(false), Cell::new(0));
    let works = async {
        while keys.get() <= ENOUGH_KEYS {
            work(stage).await;
        }
        is_over.set(true);
    };
    let types = async {
        let mut typed = String::new();
        for character in ('a'..='z').cycle() {
            person.type_key(character);
            typed.push(character);
            assert_eq!(person.focused(), window, "the program of the person after {typed}");
            soon("the key in the program", until(async || person.heard() == typed)).await;
            keys.set(typed.len());
            if is_over.get() {
                return;
            }
            tokio::time::sleep(KEY_PAUSE).await;
        }
    };
    tokio::join!(works, types);
}

/// The agent works until the person has typed more keys than these.
const ENOUGH_KEYS: usize = 10;

/// How often the frames of a second are counted before a page is taken for one that nobody sees.
const RATE_TRIES: usize = 5;

/// Whether a page behaves as one in front, in all that it can tell.
async fn is_as_in_front(stage: &HeadedStage, tab: &Value, place: &str) {
    // On a busy machine a page in front misses frames, too; one that is not seen never has them.
    let mut tries = 0;
    loop {
        let rates = stage.runs(tab, "return await rates()").await;
        let told = (&rates["focus"], &rates["seen"]);
        assert_eq!(told, (&json!(true), &json!("visible")), "{place}: {rates}");
        let of = |name: &str| rates[name].as_f64().unwrap();
        // A page that is not seen has one timer and no frame a second, and in front about 100 and 60.
        if of("timers") > 20.0 && of("frames") > 15.0 && of("moved") > 700.0 {
            break;
        }
        tries += 1;
        assert!(tries < RATE_TRIES, "{place}: {rates}");
    }
    let reached = stage.runs(tab, "return await reached()").await;
    assert!(reached.as_f64().unwrap() < 2_000.0, "{place}: {reached} ms");
    let picture = stage.in_tab(tab, json!({"action": "screenshot"})).await;
    assert!(picture["width"].as_u64().unwrap() > 300, "{place}: {picture}");
    let write = json!({"action": "clipboard", "operation": "write", "text": place});
    stage.in_tab(tab, write).await;
    let paste = json!({"action": "clipboard", "operation": "paste", "target": "#field"});
    stage.in_tab(tab, paste).await;
    let pasted = stage.runs(tab, "document.querySelector('#field').value").await;
    // Behind the words of the places before.
    assert!(pasted.as_str().unwrap().ends_with(place), "{pasted}");
}

/// A wait meets the work of a page that no agent has made take itself for seen. The hand is turned to
/// its tab.
async fn waits_as_in_front(stage: &mut HeadedStage, tab: &Value, over: Option<u32>) {
    stage.hand.go(&stage.pages.url("/unseen.html")).await;
    let is_unseen = async || {
        if let Some(window) = over {
            stage.person.raise(window);
        }
        stage.hand.read("document.visibilityState").await == "hidden"
    };
    soon("a page that is not seen", until(is_unseen)).await;
    stage.hand.read("begin()").await;
    // Of a page that is not seen a frame comes in a second, if any: it would take half a minute.
    let wait = json!({"action": "wait_for", "text": "all is done", "timeout_ms": 18_000});
    stage.in_tab(tab, wait).await;
}

#[tokio::test]
async fn a_tab_in_the_background_in_a_covered_and_in_a_minimised_window_behaves_as_one_in_front() {
    let mut stage = HeadedStage::open().await;
    let front = stage.tab.clone();
    is_as_in_front(&stage, &front, "in front").await;
    let behind = stage.opens("/background.html?behind").await;
    is_as_in_front(&stage, &behind, "in the background").await;
    stage.hand.open_beside(&popup()).await;
    let beside = stage.pages.url("/unseen.html?beside");
    let open =
        format!("chrome.tabs.create({{url: '{beside}', active: false}}).then(({{id}}) => id)");
    let persons_tab = stage.hand.read(&open).await;
    stage.hand.turn_to(&beside).await;
    waits_as_in_front(&mut stage, &persons_tab, None).await;
    stage.hand.turn_to(&popup()).await;

    let [persons] = stage.person.windows()[..] else { panic!("one window") };
    let url = stage.pages.url("/background.html?covered");
    let open = format!(
        "chrome.windows.create({{url: '{url}', focused: false, left: 10, top: 10, width: 1000, height: 700}}).then(({{tabs}}) => tabs[0].id)"
    );
    let tab = stage.hand.read(&open).await;
    let mut other = None;
    let has_come = async || {
        other = stage.person.windows().into_iter().find(|window| *window != persons);
        other.is_some()
    };
    soon("the other window", until(has_come)).await;
    let seen = "document.visibilityState";
    stage.hand.turn_to(&url).await;
    let is_covered = async || {
        // The browser puts a new window over the others, maybe after it has shown it.
        stage.person.raise(persons);
        stage.hand.read(seen).await == "hidden"
    };
    soon("a covered window", until(is_covered)).await;
    waits_as_in_front(&mut stage, &tab, Some(persons)).await;
    stage.in_tab(&tab, json!({"action": "navigate", "url": url})).await;
    is_as_in_front(&stage, &tab, "covered").await;

    stage.person.minimise(other.unwrap());
    stage.hand.turn_to(&popup()).await;
    let state = format!(
        "chrome.tabs.get({tab}).then(({{windowId}}) => chrome.windows.get(windowId)).then(({{state}}) => state)"
    );
    soon("a minimised window", until(async || stage.hand.read(&state).await == "minimized")).await;
    is_as_in_front(&stage, &tab, "minimised").await;
    assert_eq!(stage.hand.read(&state).await, "minimized", "it stays so");
    stage.end().await;
}
