//! What a person shows to an agent in a tab, recorded as steps, in a real browser. The person's input
//! comes from the browser itself.

use serde_json::{Value, json};
use testkit::{McpClient, TestPages, body, cli_of, finish, kill_worker, soon, until};

use super::actions::folder;
use super::ask_first::{ConsentStage, DENY};
use super::popup::popup;
use super::private_windows::PrivateStage;

const SECRET: &str = "hunter2hunter2";

const NAME: &str = "Ann Lee";

/// The button that lets an agent record.
pub(crate) const ALLOW: usize = 2;

/// The beginning of the popup's question.
pub(crate) const PURPOSE: &str = "record what you do on";

/// Input soon after an agent's command counts as the agent's.
pub(crate) const REST: &str = "new Promise((done) => setTimeout(done, 700)).then(() => 1)";

pub(crate) fn record(tab: &Value, phase: &str, more: &Value) -> Value {
    let mut call = json!({"action": "record", "phase": phase, "tab_id": tab, "wait_ms": 20_000});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

pub(crate) fn show_me(tab: &Value) -> Value {
    record(tab, "start", &json!({"by": "person"}))
}

impl ConsentStage {
    pub(crate) async fn at(page: &str) -> Self {
        Self::open(TestPages::with_folders(&[&folder()]).await, page).await
    }

    /// The agent asks, the person allows it and turns to the page.
    pub(crate) async fn shows(&mut self) {
        self.hand.turn_to(&popup()).await;
        let id = self.held(show_me(&self.tab)).await;
        self.press_of(&id, PURPOSE, ALLOW).await;
        let outcome = self.client.outcome(&id).await;
        assert_eq!(outcome["result"]["value"]["recording"], true, "{outcome}");
        self.turn_back().await;
        self.hand.read(REST).await;
    }

    async fn turn_back(&mut self) {
        self.hand.turn_to_page();
        self.hand.show().await;
    }

    /// Waits until the popup counts this many steps.
    async fn counts(&mut self, steps: usize) {
        self.hand.turn_to(&popup()).await;
        let told = "document.querySelector('#shown-list .so-far')?.textContent ?? ''";
        let wanted = format!("{steps} step");
        let counts = async || {
            self.hand.read(told).await.as_str().is_some_and(|text| text.starts_with(&wanted))
        };
        soon(&wanted, until(counts)).await;
    }

    /// Presses a key in the page until that is a step: a new page is told to watch a moment after it
    /// has come.
    pub(crate) async fn until_watched(&mut self) {
        // The popup is drawn anew now and then.
        let told = "new Promise((done) => setTimeout(done, 300)).then(() => \
                    parseInt(document.querySelector('#shown-list .so-far')?.textContent ?? '0'))";
        let comes = async {
            let mut first = None;
            loop {
                self.hand.turn_to(&popup()).await;
                let now = self.hand.read(told).await.as_u64().unwrap();
                if first.is_some_and(|first| now > first) {
                    break;
                }
                first = first.or((now > 1).then_some(now));
                self.hand.turn_to_page();
                self.hand.press("Escape", 1).await;
            }
        };
        soon("a page that is watched", comes).await;
        self.hand.turn_to_page();
    }

    /// The person presses a button of the recording in the popup.
    async fn press_shown(&mut self, label: &str) {
        self.hand.turn_to(&popup()).await;
        let marked = format!(
            "[...document.querySelectorAll('#shown-list button')].filter((one) => one.textContent === '{label}')\
             .map((one) => {{ one.id = 'pressed'; one.scrollIntoView(); }}).length"
        );
        soon(label, until(async || self.hand.read(&marked).await == 1)).await;
        self.hand.click("#pressed").await;
    }

    async fn stopped(&self, more: &Value) -> Value {
        let call = record(&self.tab, "stop", more);
        body(&self.client.call_raw("interact", call).await)
    }

    /// What the agent gets at the end.
    pub(crate) async fn recorded(&self, form: &str) -> Value {
        let answer = self.stopped(&json!({"as": form})).await;
        assert_eq!(answer["status"], "complete", "{answer}");
        answer["result"]["value"].clone()
    }

    async fn reads(&self, script: &str) -> Value {
        let answer = body(&self.client.call_raw("interact", self.script(script)).await);
        assert_eq!(answer["status"], "complete", "{answer}");
        answer["result"]["value"].clone()
    }

    /// Runs steps on a page that is loaded anew.
    async fn runs(&self, steps: &Value, params: Value) {
        let run = json!({"action": "run", "steps": steps, "params": params, "tab_id": self.tab, "timeout_ms": 30_000, "wait_ms": 40_000});
        let ran = body(&self.client.call_raw("interact", run).await);
        assert_eq!(ran["status"], "complete", "{ran}");
        assert!(ran["result"]["value"]["failed"].is_null(), "{ran}");
    }
}

/// The person fills the form and sends it.
async fn order(stage: &mut ConsentStage) {
    let hand = &mut stage.hand;
    hand.click("[name=who]").await;
    hand.type_text(NAME).await;
    hand.click("[name=pass]").await;
    hand.type_text(SECRET).await;
    hand.press("Tab", 1).await;
    // In the list of countries a letter chooses.
    hand.type_text("S").await;
    hand.click("label:has([name=agree])").await;
    hand.click("button[type=submit]").await;
    let thanks = async || hand.read("document.title").await == "Thanks";
    soon("the sent order", until(thanks)).await;
}

#[tokio::test]
async fn what_the_person_shows_runs_again_on_a_page_that_is_loaded_anew_with_their_texts_as_arguments()
 {
    let mut stage = ConsentStage::at("/order.html").await;
    stage.shows().await;
    order(&mut stage).await;
    stage.counts(8).await;
    let recording = stage.recorded("batch").await;
    let text = recording.to_string();
    assert!(!text.contains(SECRET) && !text.contains(NAME) && !text.contains("[redacted]"));
    let name = "role=textbox[name=\"Name\"s]";
    let password = "label=\"Password\"";
    let wanted = json!([
        {"action": "navigate", "url": stage.pages.url("/order.html")},
        {"action": "type", "target": name, "text": "{{param.name}}", "clear": true},
        {"action": "type", "target": password, "text": "{{param.password}}", "clear": true},
        {"action": "press_key", "target": password, "key": "Tab"},
        {"action": "select_option", "target": "role=combobox[name=\"Country\"s]", "values": ["Sweden"]},
        {"action": "check", "target": "role=checkbox[name=\"I agree\"s]"},
        {"action": "click", "target": "role=button[name=\"Send order\"s]"},
        {"action": "wait_for", "url": stage.pages.url("/order_done.html")},
    ]);
    assert_eq!(recording["steps"], wanted, "{recording}");
    assert_eq!(recording["params"], json!(["name", "password"]), "{recording}");
    assert_eq!((&recording["left_out"], &recording["ended"]), (&Value::Null, &Value::Null));

    let sent = "[\"who=Ann Lee\",\"pass=hunter2hunter2\",\"where=se\",\"agree=on\"]";
    assert_eq!(stage.reads("localStorage.sent").await, sent);
    stage.reads("localStorage.removeItem('sent'); 1").await;
    stage.runs(&recording["steps"], json!({"name": NAME, "password": SECRET})).await;
    assert_eq!(stage.reads("localStorage.sent").await, sent);
    let again = stage.stopped(&json!({})).await;
    assert!(again.to_string().contains("nothing is recorded"), "{again}");
    stage.end().await;
}

#[tokio::test]
async fn keys_double_clicks_fields_of_all_kinds_frames_and_shadow_trees_are_steps_that_do_the_same_again()
 {
    let mut stage = ConsentStage::at("/shown.html").await;
    stage.shows().await;
    let hand = &mut stage.hand;
    hand.click("#search").await;
    hand.type_text("tea").await;
    hand.press("Enter", 1).await;
    hand.click("#message").await;
    hand.type_text("dear").await;
    hand.press("Enter", 1).await;
    hand.click("#note").await;
    hand.type_text("new ").await;
    hand.double_click("#twice").await;
    hand.click("label:has(#small)").await;
    hand.click("#menu").await;
    hand.press("ArrowDown", 1).await;
    hand.press("Escape", 1).await;
    hand.click("#host").await;
    hand.click("#near").await;
    hand.click("#far").await;
    hand.click("#plain").await;
    hand.click("#new").await;
    let far = "document.querySelector('#far').getBoundingClientRect()";
    assert!(hand.read(&format!("{far}.width")).await.as_f64().unwrap() > 0.0);
    stage.counts(16).await;
    let recording = stage.recorded("batch").await;
    let steps = recording["steps"].as_array().unwrap();
    let of = |action: &str| {
        steps.iter().filter(|step| step["action"] == action).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("type").len(), 3, "{recording}");
    let keys = of("press_key").iter().map(|step| step["key"].clone()).collect::<Vec<_>>();
    assert_eq!(keys, ["Enter", "Enter", "ArrowDown", "Escape"], "{recording}");
    assert!(of("click").contains(
        &json!({"action": "click", "target": "role=button[name=\"Twice\"s]", "doubleClick": true})
    ));
    for name in ["Deep", "Inside near", "Inside far", "Plain"] {
        let step = json!({"action": "click", "target": format!("role=button[name=\"{name}\"s]")});
        assert!(of("click").contains(&step), "{name}: {recording}");
    }
    let left_out = recording["left_out"].to_string();
    assert!(left_out.contains("new tab"), "{recording}");

    let did = "JSON.stringify([did.join(), note.textContent, small.checked])";
    let first = stage.reads(did).await;
    let before_new = json!(steps[..steps.len() - 1]);
    let params =
        json!({"search": "tea", "message": "dear", "note": stage.reads("note.textContent").await});
    stage.runs(&before_new, params).await;
    assert_eq!(stage.reads(did).await, first, "{recording}");
    stage.end().await;
}

#[tokio::test]
async fn nothing_is_recorded_before_the_person_allows_it_and_never_after_they_deny_it() {
    let mut stage = ConsentStage::at("/order.html").await;
    let id = stage.held(show_me(&stage.tab)).await;
    stage.turn_back().await;
    stage.hand.read(REST).await;
    stage.hand.click("[name=who]").await;
    stage.hand.turn_to(&popup()).await;
    stage.press_of(&id, PURPOSE, DENY).await;
    let denied = stage.client.outcome(&id).await;
    let told = (&denied["reason"], &denied["may_have_run"]);
    assert_eq!(told, (&json!("denied_by_user"), &json!(false)), "{denied}");
    let none = stage.stopped(&json!({})).await;
    assert!(none.to_string().contains("nothing is recorded"), "{none}");

    // Each recording is asked about: no word on one is kept.
    stage.shows().await;
    stage.recorded("batch").await;
    let id = stage.held(show_me(&stage.tab)).await;
    stage.client.cancel(&id).await;

    // The page that the person was asked about is another one now.
    let id = stage.held(show_me(&stage.tab)).await;
    let there = stage.pages.url("/shown.html");
    let go = json!({"action": "navigate", "url": there, "tab_id": stage.tab, "wait_ms": 20_000});
    stage.client.call("interact", go).await;
    stage.hand.turn_to(&popup()).await;
    stage.press_of(&id, PURPOSE, ALLOW).await;
    let stale = stage.client.outcome(&id).await;
    assert_eq!(stale["reason"], "consent_stale", "{stale}");

    for (call, says) in [
        (record(&stage.tab, "start", &json!({"by": "anybody"})), "person"),
        (
            json!({"action": "record", "phase": "start", "by": "person", "tab_id": 1_234_567, "wait_ms": 9_000}),
            "1234567",
        ),
    ] {
        let refused = body(&stage.client.call_raw("interact", call).await);
        assert!(refused["hint"].is_string() && refused.to_string().contains(says), "{refused}");
    }
    stage.end().await;
}

#[tokio::test]
async fn badge_and_popup_show_a_recording_and_there_the_person_stops_or_discards_it() {
    let mut stage = ConsentStage::at("/order.html").await;
    stage.shows().await;
    stage.hand.click("[name=who]").await;
    stage.hand.type_text(NAME).await;
    stage.counts(2).await;
    let said = stage.hand.read("document.querySelector('#shown').innerText").await;
    let said = said.as_str().unwrap();
    assert!(said.contains("Order bot records what you do on") && said.contains(&stage.site()));
    let face = format!(
        "Promise.all([chrome.action.getBadgeText({{tabId: {0}}}), chrome.action.getTitle({{tabId: {0}}})]).then(String)",
        stage.tab
    );
    let face = stage.hand.read(&face).await;
    assert!(face.as_str().unwrap().starts_with("●,Tabwire: Order bot records"), "{face}");
    stage.press_shown("Stop").await;
    let gone = async || stage.hand.read("document.querySelector('#shown').hidden").await == true;
    soon("the end in the popup", until(gone)).await;
    stage.turn_back().await;
    stage.hand.click("button[type=submit]").await;
    let told = stage.recorded("playwright").await;
    assert_eq!(told["ended"], "the user ended it", "{told}");
    let script = told["script"].as_str().unwrap();
    assert!(script.contains(".fill(param('NAME'));") && !script.contains("Send order"), "{script}");

    // The order leads to another page, which what the person allows on this one would not hold for.
    stage.hand.go(&stage.pages.url("/order.html")).await;
    stage.shows().await;
    stage.hand.click("h1").await;
    stage.press_shown("Discard").await;
    let gone = async || stage.hand.read("document.querySelector('#shown').hidden").await == true;
    soon("the end in the popup", until(gone)).await;
    let none = stage.stopped(&json!({})).await;
    assert!(none.to_string().contains("nothing is recorded"), "{none}");
    stage.end().await;
}

#[tokio::test]
async fn a_recording_ends_with_another_site_a_rule_a_step_alone_stop_and_50_steps() {
    let mut stage = ConsentStage::at("/order.html").await;
    stage.shows().await;
    stage.hand.click("h1").await;
    stage.counts(2).await;
    stage.turn_back().await;
    let elsewhere = stage.pages.url("/order.html").replace("127.0.0.1", "localhost");
    stage.hand.go(&elsewhere).await;
    stage.hand.click("[name=who]").await;
    stage.hand.go(&stage.pages.url("/order.html")).await;
    stage.hand.click("[name=pass]").await;
    let told = stage.recorded("batch").await;
    assert!(told["ended"].as_str().unwrap().contains("left http://127.0.0.1"), "{told}");
    assert_eq!(told["steps"].as_array().unwrap().len(), 2, "{told}");

    stage.shows().await;
    stage.hand.press("Escape", 60).await;
    let full = async || !stage.is_shown().await;
    soon("the end", until(full)).await;
    let told = stage.recorded("batch").await;
    assert_eq!(told["steps"].as_array().unwrap().len(), 50, "{told}");
    assert!(told["ended"].as_str().unwrap().contains("50 steps"), "{told}");

    stage.shows().await;
    let ask = json!({"action": "ask_user", "kind": "hand_over", "question": "Log in here.", "tab_id": stage.tab});
    let asked = stage.client.call("interact", ask).await;
    let over = async || !stage.is_shown().await;
    soon("the end by a step alone", until(over)).await;
    let refused = stage.stopped(&json!({})).await;
    assert_eq!(refused["reason"], "handed_over", "{refused}");
    let none = body(&stage.client.call_raw("interact", show_me(&stage.tab)).await);
    assert_eq!(none["reason"], "handed_over", "{none}");
    stage.client.cancel(asked["correlation_id"].as_str().unwrap()).await;
    let told = stage.until_recorded().await;
    assert!(told["ended"].as_str().unwrap().contains("step alone"), "{told}");

    stage.shows().await;
    stage.hand.turn_to(&popup()).await;
    let stop = "chrome.runtime.sendMessage({ask: 'stop_all'}).then(() => \
                chrome.runtime.sendMessage({ask: 'release'})).then(() => 1)";
    stage.hand.read(stop).await;
    let none = stage.stopped(&json!({})).await;
    assert!(none.to_string().contains("nothing is recorded"), "{none}");

    stage.shows().await;
    let denied =
        finish(cli_of(&stage.daemon, &["sites", "deny", "127.0.0.1", "--action", "record"]));
    assert_eq!(denied.await.code, Some(0));
    let over = async || !stage.is_shown().await;
    soon("the end by a rule", until(over)).await;
    let none = body(&stage.client.call_raw("interact", show_me(&stage.tab)).await);
    assert_eq!(none["reason"], "blocked_by_policy", "{none}");
    stage.end().await;
}

impl ConsentStage {
    /// Whether the popup shows a recording.
    async fn is_shown(&mut self) -> bool {
        self.hand.turn_to(&popup()).await;
        self.hand.read("!document.querySelector('#shown').hidden").await == true
    }

    /// The recording, as soon as its site may be used again.
    async fn until_recorded(&self) -> Value {
        let mut told = Value::Null;
        let comes = async {
            while told["status"] != "complete" {
                told = self.stopped(&json!({})).await;
            }
        };
        soon("the recording", comes).await;
        told["result"]["value"].clone()
    }
}

#[tokio::test]
async fn a_recording_does_not_outlive_the_extensions_worker_and_the_page_tells_no_more() {
    let mut stage = ConsentStage::at("/order.html").await;
    stage.shows().await;
    stage.hand.click("h1").await;
    stage.counts(2).await;
    kill_worker(&stage.browser);
    stage.turn_back().await;
    stage.hand.click("[name=who]").await;
    let told = stage.until_recorded().await;
    assert!(told["ended"].as_str().unwrap().contains("started anew"), "{told}");
    assert_eq!(told["steps"].as_array().unwrap().len(), 2, "{told}");
    stage.end().await;
}

#[tokio::test]
async fn another_agents_input_and_another_agent_have_no_part_in_a_recording() {
    let mut stage = ConsentStage::at("/shown.html").await;
    stage.shows().await;
    let press =
        json!({"action": "click", "target": "#plain", "tab_id": stage.tab, "wait_ms": 20_000});
    stage.client.call("interact", press).await;
    let other = McpClient::legacy(&stage.daemon).named("Other bot");
    for call in [
        record(&stage.tab, "stop", &json!({})),
        show_me(&stage.tab),
        record(&stage.tab, "start", &json!({})),
    ] {
        let refused = body(&other.call_raw("interact", call).await);
        let error = refused.to_string();
        assert!(
            error.contains("another agent records") || refused["error"] == "tab_in_use",
            "{error}"
        );
    }
    let told = stage.recorded("batch").await;
    assert_eq!(told["steps"].as_array().unwrap().len(), 1, "{told}");
    stage.end().await;
}

#[tokio::test]
async fn nothing_that_the_person_does_in_a_private_tab_is_recorded() {
    let stage = PrivateStage::set(true).await;
    let opened = stage.opens(&stage.client, &stage.private_url()).await;
    let tab = &opened["result"]["value"]["tab_id"];
    let refused = body(&stage.client.call_raw("interact", show_me(tab)).await);
    assert_eq!(refused["reason"], "not_in_private", "{refused}");
    assert!(refused["hint"].is_string(), "{refused}");
    stage.end().await;
}
