//! Steps that a person does alone, in a real browser: what the person sees and clicks, and what an
//! agent that has planted scripts before learns of it, which is nothing.

use serde_json::{Value, json};

use super::form_stage::{FormStage, settled};
use super::popup::{Profile, popup, shows};
use testkit::{
    BrowserUser, McpClient, ProgramSandbox, StdioClient, TestPages, body, kill_worker, signal,
    soon, until,
};

const PASSWORD: &str = "correct horse 7";

/// Listens to every key, in each page that it can reach: the agent's, that of a window that it opened
/// and, by that window, its opener; and leaves the address of the request, so that the person's tab is
/// told from it.
pub(crate) const SPY: &str = "globalThis.heard = [];
    const listen = (view) => view.addEventListener('keydown', ({ key }) => heard.push(key), true);
    listen(window);
    globalThis.other = window.open(location.href, 'step');
    setInterval(() => {
      for (const view of [other, window.opener, ...Array.from(frames)]) {
        try { if (view && !view.isHeard) { view.isHeard = true; listen(view); } } catch {}
      }
    }, 20);
    const frame = document.body.appendChild(document.createElement('iframe'));
    frame.src = location.href;
    setTimeout(() => history.replaceState(null, '', '#agent'), 1500);";

impl FormStage {
    pub(crate) async fn asked(&self) -> String {
        self.ask("hand_over", json!({"question": "Log in here.", "tab_id": self.tab})).await
    }

    pub(crate) async fn refused(&self, tool: &str, mut call: Value) {
        call["wait_ms"] = json!(20_000);
        let answer = body(&self.client.call_raw(tool, call.clone()).await);
        let told = (&answer["reason"], &answer["may_have_run"]);
        assert_eq!(told, (&json!("handed_over"), &json!(false)), "{call}: {answer}");
        assert!(answer["hint"].as_str().unwrap().contains("ask_user"), "{answer}");
    }

    /// The person presses this button of the only question.
    pub(crate) async fn press(&mut self, label: &str) {
        press(&mut self.hand, label).await;
    }

    /// The tab of the step, other than this one, as only the extension knows it.
    pub(crate) async fn step_tab(&mut self, former: &Value) -> Value {
        step_tab(&mut self.hand, former).await
    }
}

pub(super) async fn press(hand: &mut BrowserUser, label: &str) {
    hand.turn_to(&popup()).await;
    hand.show().await;
    let index = format!(
        "[...document.querySelectorAll('#ask-list .buttons button')].findIndex((one) => one.textContent === '{label}') + 1"
    );
    soon(label, until(async || hand.read(&index).await != 0)).await;
    settled(hand).await;
    let at = hand.read(&index).await;
    hand.click(&format!("#ask-list .buttons button:nth-child({at})")).await;
}

pub(super) async fn step_tab(hand: &mut BrowserUser, former: &Value) -> Value {
    hand.turn_to(&popup()).await;
    let tab = "chrome.storage.session.get('hand_overs').then(({ hand_overs }) => hand_overs.tabs[0] ?? null)";
    let mut step = Value::Null;
    let comes = async {
        while step.is_null() || step == *former {
            step = hand.read(tab).await;
        }
    };
    soon("the step's tab", comes).await;
    step
}

#[tokio::test]
async fn a_person_logs_in_alone_and_no_script_stream_picture_or_command_of_an_agent_sees_it() {
    let mut stage = FormStage::set().await;
    let form = stage.pages.url("/form");
    let spy = json!({"action": "execute_js", "script": SPY, "user_gesture": true, "tab_id": stage.tab, "wait_ms": 20_000});
    stage.client.call("interact", spy).await;
    let dark = json!({"action": "emulate", "color_scheme": "dark", "tab_id": stage.tab, "wait_ms": 20_000});
    stage.client.call("interact", dark).await;
    let long = json!({"action": "execute_js", "script": "await new Promise((done) => setTimeout(done, 60000))", "tab_id": stage.tab});
    let running = stage.client.call("interact", long).await["correlation_id"].clone();
    let id = stage.asked().await;
    let ended = stage.client.outcome(running.as_str().unwrap()).await;
    assert_eq!(ended["reason"], "handed_over", "mid-command: {ended}");
    stage.hand.open_beside(&popup()).await;
    shows(&mut stage.hand, "asks you to do a step alone").await;
    shows(&mut stage.hand, "127.0.0.1").await;
    stage.hand.turn_to(&format!("{form}#agent")).await;
    let dark = "matchMedia('(prefers-color-scheme: dark)').matches";
    soon("the end of emulation", until(async || stage.hand.read(dark).await == false)).await;

    stage.press("Begin").await;
    let step = stage.step_tab(&Value::Null).await;
    let title = format!("chrome.action.getTitle({{ tabId: {step} }})");
    let marked = async || stage.hand.read(&title).await.as_str().unwrap().contains("no agent sees");
    soon("the mark", until(marked)).await;
    for (tool, call) in [
        ("interact", json!({"action": "execute_js", "script": "document.body.innerHTML"})),
        ("interact", json!({"action": "screenshot"})),
        ("analyze", json!({"what": "snapshot"})),
        ("interact", json!({"action": "navigate", "url": "about:blank"})),
    ] {
        let mut here = call.clone();
        here["tab_id"] = stage.tab.clone();
        stage.refused(tool, here).await;
        let mut there = call;
        there["tab_id"] = step.clone();
        let answer = body(&stage.client.call_raw(tool, there).await);
        assert_eq!(answer["error"], "tab_gone", "the step's tab is in no list: {answer}");
    }
    stage.refused("interact", json!({"action": "tab_open", "url": form})).await;
    // The window that the agent's page opened has the same address.
    stage.hand.turn_to(&popup()).await;
    stage.hand.turn_to_tab(&step).await;
    assert_eq!(stage.hand.read("location.href").await, form);
    assert_eq!(stage.hand.read("window.opener").await, Value::Null);
    stage.hand.click("#password").await;
    stage.hand.type_text(PASSWORD).await;
    assert_eq!(stage.hand.read("document.querySelector('#password').value").await, PASSWORD);

    stage.press("Done").await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["result"], json!({"done": true, "by": "browser"}), "{done}");
    stage.hand.turn_to(&popup()).await;
    let gone = format!("chrome.tabs.get({step}).then(() => false, () => true)");
    soon("the end of its tab", until(async || stage.hand.read(&gone).await == true)).await;
    let heard = json!({"action": "execute_js", "script": "heard.join('')", "tab_id": stage.tab, "wait_ms": 20_000});
    let heard = stage.client.call("interact", heard).await;
    assert_eq!(heard["result"]["value"], "", "{heard}");
    stage.end().await;
}

#[tokio::test]
async fn a_step_outlives_worker_and_daemon_begins_again_when_its_tab_is_closed_and_ends_once() {
    let mut stage = FormStage::set().await;
    let id = stage.asked().await;
    stage.hand.open_beside(&popup()).await;
    stage.press("Begin").await;
    let step = stage.step_tab(&Value::Null).await;
    stage.hand.close_page().await;
    kill_worker(&stage.browser);
    let FormStage { daemon, pages, browser, mut hand, tab, _profile, .. } = stage;
    let daemon = daemon.restart().await;
    let client = McpClient::legacy(&daemon).named("Order bot");
    hand.open_beside(&popup()).await;
    shows(&mut hand, "Connected").await;
    let mut stage = FormStage { daemon, client, pages, browser, hand, tab, _profile };
    assert_eq!(stage.step_tab(&Value::Null).await, step);
    stage.refused("analyze", json!({"what": "snapshot", "tab_id": stage.tab})).await;
    stage.hand.read(&format!("chrome.tabs.remove({step})")).await;
    stage.press("Begin").await;
    stage.step_tab(&step).await;
    assert_eq!(stage.client.status(&id).await["status"], "pending");
    stage.press("Cannot").await;
    let ended = stage.client.outcome(&id).await;
    assert_eq!(ended["result"], json!({"done": false, "by": "browser"}), "{ended}");
    let look = json!({"what": "snapshot", "tab_id": stage.tab, "wait_ms": 20_000});
    let looked = stage.client.call("analyze", look).await;
    assert!(looked["result"]["value"].is_string(), "the site is open again: {looked}");
    stage.end().await;
}

#[tokio::test]
async fn a_step_whose_tab_of_the_agent_is_closed_ends_honestly_and_leaves_the_person_theirs() {
    let mut stage = FormStage::set().await;
    let open = json!({"action": "tab_open", "url": stage.pages.url("/second"), "wait_ms": 20_000});
    stage.tab = stage.client.call("interact", open).await["result"]["value"]["tab_id"].clone();
    let id = stage.asked().await;
    stage.hand.open_beside(&popup()).await;
    stage.press("Begin").await;
    let step = stage.step_tab(&Value::Null).await;
    stage.hand.read(&format!("chrome.tabs.remove({})", stage.tab)).await;
    let ended = stage.client.outcome(&id).await;
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("error"), &json!("tab_closed")));
    assert_eq!(stage.step_tab(&Value::Null).await, step, "the person may be in the middle of it");
    let listed = json!({"action": "tab_list", "wait_ms": 20_000});
    let listed = stage.client.call("interact", listed).await;
    let ids = listed["result"]["value"].as_array().unwrap().iter().map(|tab| &tab["tab_id"]);
    assert!(!ids.clone().any(|tab| *tab == step), "{listed}");
    stage.end().await;
}

#[tokio::test]
async fn a_step_outlives_agent_worker_and_a_daemon_that_is_killed_and_is_answered_once() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let again = ["--port", &served.port.to_string()].map(str::to_owned);
    let again: Vec<_> = again.iter().map(String::as_str).collect();
    let pages = TestPages::start().await;
    let profile = Profile::new(&place.home(), served.port);
    let (browser, mut hand) = profile.open(&pages.url("/form")).await;
    let mut agent = StdioClient::spawn(place.command(&["mcp", "--client", "order-bot"]));
    let call = json!({"action": "ask_user", "kind": "hand_over", "question": "Log in here."});
    let mut asked = Value::Null;
    let comes = async {
        while asked["status"] != "waiting_for_user" {
            asked = body(&agent.call_raw("interact", call.clone()).await);
        }
    };
    soon("a browser", comes).await;
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    hand.open_beside(&popup()).await;
    press(&mut hand, "Begin").await;
    let step = step_tab(&mut hand, &Value::Null).await;
    hand.close_page().await;
    agent.kill().await;
    signal(served.pid(), rustix::process::Signal::KILL);
    served.end().await;
    kill_worker(&browser);
    let served = place.serve(&again).await;
    hand.open_beside(&popup()).await;
    shows(&mut hand, "asks you to do a step alone").await;
    assert_eq!(step_tab(&mut hand, &Value::Null).await, step, "the same tab");
    press(&mut hand, "Done").await;
    let mut later = StdioClient::spawn(place.command(&["mcp", "--client", "order-bot"]));
    let read = json!({"what": "command_result", "correlation_id": id, "wait_ms": 20_000});
    let done = later.call("observe", read.clone()).await;
    assert_eq!(done["result"], json!({"done": true, "by": "browser"}), "{done}");
    hand.turn_to(&popup()).await;
    let rows = "document.querySelectorAll('#ask-list > li').length";
    soon("no question", until(async || hand.read(rows).await == 0)).await;
    // Once more killed: what is answered stays so, and nobody is asked again.
    signal(served.pid(), rustix::process::Signal::KILL);
    served.end().await;
    let served = place.serve(&again).await;
    shows(&mut hand, "Connected").await;
    assert_eq!(later.call("observe", read).await["result"], done["result"]);
    assert_eq!(hand.read(rows).await, 0);
    browser.end().await;
    let _ = served.stop().await;
}

#[tokio::test]
async fn what_any_client_records_blocks_and_emulates_on_the_site_ends_before_the_step() {
    let mut stage = FormStage::set().await;
    let other = McpClient::legacy(&stage.daemon).named("Watcher");
    let page = stage.pages.url("/form?watched");
    let open = json!({"action": "tab_open", "url": page, "wait_ms": 20_000});
    let tab = other.call("interact", open).await["result"]["value"]["tab_id"].clone();
    for call in [
        json!({"action": "emulate", "color_scheme": "dark"}),
        json!({"action": "network_rules", "rules": [{"url": "/second", "block": true}]}),
    ] {
        let mut here = call;
        here["tab_id"] = tab.clone();
        here["wait_ms"] = json!(20_000);
        let set = other.call("interact", here).await;
        assert_eq!(set["status"], "complete", "{set}");
    }
    let capture = json!({"action": "capture", "tab_id": tab, "streams": ["logs"]});
    other.call("configure", capture).await;
    stage.hand.turn_to(&page).await;
    let says = async |hand: &mut BrowserUser, word: &str| {
        let _ = hand.read(&format!("console.log('said {word}')")).await;
    };
    let logs = async || {
        let entries = json!({"what": "logs", "tab_id": tab, "limit": 200});
        other.call("observe", entries).await["entries"].to_string()
    };
    let recorded = async |hand: &mut BrowserUser, word: &str| {
        let comes = async {
            while !logs().await.contains(&format!("said {word}")) {
                says(hand, word).await;
            }
        };
        soon(word, comes).await;
    };
    recorded(&mut stage.hand, "before").await;
    let is_dark = "matchMedia('(prefers-color-scheme: dark)').matches";
    let reaches = "fetch('/second').then(({ ok }) => ok, () => false)";
    assert_eq!(
        (stage.hand.read(is_dark).await, stage.hand.read(reaches).await),
        (json!(true), json!(false))
    );

    let id = stage.asked().await;
    let has_ended =
        async || stage.hand.read(is_dark).await == false && stage.hand.read(reaches).await == true;
    soon("the end of emulation and rules", until(has_ended)).await;
    stage.hand.open_beside(&popup()).await;
    stage.press("Begin").await;
    stage.step_tab(&Value::Null).await;
    stage.hand.turn_to(&page).await;
    says(&mut stage.hand, "meanwhile").await;
    stage.press("Done").await;
    stage.client.outcome(&id).await;
    stage.hand.turn_to(&page).await;
    recorded(&mut stage.hand, "after").await;
    let all = logs().await;
    assert!(!all.contains("said meanwhile"), "{all}");
    assert_eq!(stage.hand.read(is_dark).await, false, "what has ended does not come back");
    stage.end().await;
}
