//! Acts that end in their middle: by a cancel, by a person's Stop, by a rule for sites, by a page that
//! goes where agents may not follow. Nothing further is done, and nothing stays behind.

use std::time::Duration;

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use super::ActionStage;
use testkit::{BrowserUser, OTHER_SITE, soon, until};

/// An act that goes on for long, and the request by which its page says that it is in the middle.
fn long_acts() -> Vec<(&'static str, Value)> {
    let begun = |mark: &str| json!({"action": "execute_js", "script": format!("void fetch('/middle?{mark}')")});
    let then = |mark: &str, step: Value| json!({"action": "batch", "steps": [begun(mark), step]});
    let letters = "a".repeat(400);
    vec![
        ("/middle?clicking", then("clicking", json!({"action": "click", "target": "#never"}))),
        ("/middle?waiting", then("waiting", json!({"action": "wait_for", "text": "nowhere"}))),
        (
            "/middle?idle",
            then(
                "idle",
                json!({"action": "wait_for", "function": "() => false", "state": "networkidle"}),
            ),
        ),
        (
            "/middle?typed",
            json!({"action": "type", "target": "#field", "text": letters, "slowly": true}),
        ),
        ("/middle?scrolled", json!({"action": "scroll", "until_text": "nowhere"})),
        (
            "/late?dragged",
            json!({"action": "drag", "startTarget": "#knob", "endX": 700, "endY": 500, "moves": 200}),
        ),
    ]
}

/// In which an act that goes on does something more.
const REST: Duration = Duration::from_millis(200);

/// The page is not taken for seen any more, and no button is held.
const RESTS: &str = "document.visibilityState === 'hidden' && !held";

impl ActionStage {
    async fn begin(&self, mut act: Value, mark: &str) -> String {
        let hits = self.pages().hits(mark);
        act["tab_id"] = self.tab.clone();
        act["timeout_ms"] = 60_000.into();
        let id = self.client().submit(act).await;
        soon(mark, until(async || self.pages().hits(mark) > hits)).await;
        id
    }

    /// Asks a panel of the extension, as its popup does.
    async fn panel(user: &mut BrowserUser, ask: &str) {
        let asked = format!("chrome.runtime.sendMessage({{ask: '{ask}'}}).then(() => 1)");
        user.read(&asked).await;
    }
}

fn popup() -> String {
    format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")
}

/// What has happened in the page, once nothing more does for a while: the extension hears a moment after
/// the daemon that an act is over.
async fn at_rest(page: &mut BrowserUser) -> Value {
    let look = "[scrollY, moves, keys, field.value, held].join()";
    let rest = async {
        loop {
            let before = page.read(look).await;
            tokio::time::sleep(REST).await;
            let after = page.read(look).await;
            if before == after {
                return after;
            }
        }
    };
    soon("rest", rest).await
}

#[tokio::test]
async fn an_act_that_is_cancelled_or_stopped_in_its_middle_leaves_nothing_behind() {
    let mut stage = ActionStage::open("plain.html").await;
    let mut user = stage.user().await;
    let mut left = Vec::new();
    for (mark, act) in long_acts() {
        // Each has an address of its own, by which its tab is found.
        let address = format!("aftermath.html#{mark}");
        stage.turn_to(&address).await;
        let mut page = stage.user().await;
        page.turn_to(&stage.url(&address)).await;
        let bare = page.listeners().await;
        let id = stage.begin(act.clone(), mark).await;
        stage.client().cancel(&id).await;
        let ended = stage.client().outcome(&id).await;
        assert_eq!(ended["status"], "cancelled", "{mark}: {ended}");
        // The daemon ends it at once; the extension, which has heard of it by the next act.
        stage.act("snapshot", json!({})).await;
        let seen = page.read("[scrollY, moves, keys, field.value].join()").await;
        // An act of the agent's own, so that anything that is still to come has come.
        stage.act("snapshot", json!({})).await;
        let later = page.read("[scrollY, moves, keys, field.value].join()").await;
        assert_eq!(later, seen, "{mark}: it went on");
        left.push((mark, page, bare, stage.tab.clone()));
    }
    // A page stays seen for some seconds after the last act: all of them rest at once.
    for (mark, mut page, bare, tab) in left {
        let rests = async || page.read(RESTS).await == true;
        soon(mark, until(rests)).await;
        assert_eq!(page.listeners().await, bare, "{mark}");
        stage.tab = tab;
        stage.act("tab_close", json!({})).await;
    }
    user.open_beside(&popup()).await;
    for (mark, act) in long_acts() {
        stage.turn_to("aftermath.html").await;
        let id = stage.begin(act.clone(), mark).await;
        ActionStage::panel(&mut user, "stop_all").await;
        let ended = stage.client().outcome(&id).await;
        assert_eq!(ended["reason"], "stopped_by_user", "{mark}: {ended}");
        let mut page = stage.user().await;
        page.turn_to(&stage.url("aftermath.html")).await;
        let is_let_go = async || page.read("held").await == false;
        soon(mark, until(is_let_go)).await;
        let seen = at_rest(&mut page).await;
        ActionStage::panel(&mut user, "release").await;
        let tries = async || stage.answer("snapshot", json!({})).await["status"] == "complete";
        soon("agents go on", until(tries)).await;
        let later = page.read("[scrollY, moves, keys, field.value, held].join()").await;
        assert_eq!(later, seen, "{mark}: it went on");
        stage.act("tab_close", json!({})).await;
    }
    stage.end().await;
}

#[tokio::test]
async fn a_site_that_is_denied_in_the_middle_of_an_act_gets_no_more_of_it() {
    let mut stage = ActionStage::open("plain.html").await;
    for (site, (mark, act)) in
        ["one", "two", "three", "four", "five", "six"].iter().zip(long_acts())
    {
        // An agent can add rules, and not take them back.
        let site = format!("{site}.{OTHER_SITE}");
        let away = stage.url("aftermath.html").replace("127.0.0.1", &site);
        let opened = stage.act("tab_open", json!({"url": away})).await;
        stage.tab = opened["tab_id"].clone();
        let id = stage.begin(act.clone(), mark).await;
        let rule = json!({"action": "site_rules", "pattern": site});
        stage.client().call("configure", rule).await;
        let ended = stage.client().outcome(&id).await;
        // Where only its last step had to be stopped, a batch says so itself.
        let why = [&ended["reason"], &ended["result"]["value"]["failed"]["reason"]];
        assert!(why.contains(&&json!("blocked_by_policy")), "{mark}: {ended}");
        let mut page = stage.user().await;
        page.turn_to(&away).await;
        let is_let_go = async || page.read("held").await == false;
        soon(mark, until(is_let_go)).await;
        let seen = at_rest(&mut page).await;
        let refused = stage.fails("click", json!({"target": "#field"})).await;
        assert_eq!(refused["reason"], "blocked_by_policy", "{mark}: {refused}");
        let later = page.read("[scrollY, moves, keys, field.value, held].join()").await;
        assert_eq!(later, seen, "{mark}: it went on");
        page.close_page().await;
    }
    stage.end().await;
}

#[tokio::test]
async fn what_is_left_of_an_act_never_reaches_a_denied_site_that_the_page_goes_to_meanwhile() {
    let mut stage = ActionStage::open("plain.html").await;
    let rule = json!({"action": "site_rules", "pattern": OTHER_SITE});
    stage.client().call("configure", rule).await;
    let away = stage.url("listening.html").replace("127.0.0.1", OTHER_SITE);
    let letters = "a".repeat(3_000);
    let click = json!({"action": "click", "target": "#field"});
    for act in [
        json!({"action": "type", "target": "#field", "text": "a".repeat(60), "slowly": true}),
        json!({"action": "type", "target": "#terminal", "text": letters}),
        json!({"action": "draw", "points": (0..2_000).map(|at| [100 + at % 400, 100]).collect::<Vec<_>>()}),
        json!({"action": "drag", "startTarget": "#knob", "endX": 700, "endY": 500, "moves": 200}),
        json!({"action": "batch", "steps": [
            {"action": "execute_js", "script": format!("void (location.href = {})", json!(away))}, click, click]}),
        json!({"action": "batch", "steps": [
            {"action": "type", "target": "#field", "text": "aaaa", "slowly": true}, click, click]}),
    ] {
        stage.turn_to("aftermath.html").await;
        stage.read(&format!("window.away = {}", json!(away))).await;
        let mut act = act;
        act["tab_id"] = stage.tab.clone();
        let id = stage.client().submit(act.clone()).await;
        let ended = stage.client().outcome(&id).await;
        let mut page = stage.user().await;
        page.turn_to(&away).await;
        let has_begun = async || page.read("typeof got").await == "object";
        soon("the page's own script", until(has_begun)).await;
        assert_eq!(page.read("got.join()").await, "", "{act} {ended}");
        assert!(!ended.to_string().contains("listening"), "{act} {ended}");
        page.close_page().await;
    }
    stage.end().await;
}
