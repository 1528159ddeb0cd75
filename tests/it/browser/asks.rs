//! Questions of agents in a real browser: what the person sees of them, and what their clicks answer.

use serde_json::{Value, json};

use super::form_stage::{FormStage, settled};
use super::popup::{Profile, popup, shows};
use testkit::{
    LOOK, McpClient, TestDaemon, TestPages, VirtualDisplay, cli_of, finish, kill_worker, soon,
    until,
};

impl FormStage {
    async fn settled(&mut self) {
        settled(&mut self.hand).await;
    }

    async fn has_rows(&mut self, count: usize) {
        let rows = "document.querySelectorAll('#ask-list > li').length";
        soon("the rows", until(async || self.hand.read(rows).await == count)).await;
    }

    async fn badge(&mut self) -> Value {
        self.hand.read("chrome.action.getBadgeText({})").await
    }
}

#[tokio::test]
async fn a_person_allows_what_they_see_a_picture_of_and_denies_with_a_note() {
    let mut stage = FormStage::set().await;
    stage.hand.open_beside(&popup()).await;
    shows(&mut stage.hand, "Connected").await;
    let first = stage.ask("approve", json!({"tab_id": stage.tab})).await;
    shows(&mut stage.hand, "Send the order?").await;
    shows(&mut stage.hand, "Order bot").await;
    assert_eq!(stage.badge().await, "1");
    let picture = "document.querySelector('#ask-list img.picture')?.naturalWidth > 300";
    soon("the picture", until(async || stage.hand.read(picture).await == true)).await;
    stage.settled().await;
    stage.hand.click("#ask-list .buttons button:nth-child(2)").await;
    let allowed = stage.client.outcome(&first).await;
    assert_eq!(allowed["result"], json!({"approved": true, "by": "browser"}), "{allowed}");
    stage.has_rows(0).await;
    assert_eq!(stage.badge().await, "");
    let kept = "chrome.storage.session.get(null).then((all) => Object.keys(all).filter((key) => key.startsWith('ask:')))";
    soon("no picture", until(async || stage.hand.read(kept).await == json!([]))).await;

    let second = stage.ask("approve", json!({"tab_id": stage.tab})).await;
    stage.has_rows(1).await;
    soon("the picture", until(async || stage.hand.read(picture).await == true)).await;
    stage.settled().await;
    stage.hand.click("#ask-list input").await;
    stage.hand.type_text("Only 3 chairs").await;
    stage.hand.click("#ask-list .buttons button:nth-child(1)").await;
    let denied = stage.client.outcome(&second).await;
    let result = json!({"approved": false, "text": "Only 3 chairs", "by": "browser"});
    assert_eq!(denied["result"], result, "{denied}");
    stage.end().await;
}

#[tokio::test]
async fn a_person_chooses_and_writes_while_more_questions_come_and_a_worker_dies() {
    let mut stage = FormStage::set().await;
    stage.hand.open_beside(&popup()).await;
    let text = stage.ask("answer", json!({})).await;
    stage.has_rows(1).await;
    stage.hand.click("#ask-list input").await;
    stage.hand.type_text("Ada ").await;
    let choice = stage.ask("choose", json!({"options": ["red", "the blue one"]})).await;
    stage.has_rows(2).await;
    assert_eq!(stage.badge().await, "2");
    stage.hand.type_text("Love").await;
    let typed = "document.querySelector('#ask-list input').value";
    assert_eq!(stage.hand.read(typed).await, "Ada Love");
    // The popup goes with the worker: both are one process.
    kill_worker(&stage.browser);
    stage.hand.open_beside(&popup()).await;
    stage.has_rows(2).await;
    soon("the badge", until(async || stage.badge().await == "2")).await;
    stage.hand.click("#ask-list input").await;
    stage.hand.type_text("Ada Lovelace").await;
    stage.settled().await;
    stage.hand.press("Enter", 1).await;
    assert_eq!(stage.client.outcome(&text).await["result"]["text"], "Ada Lovelace");
    stage.has_rows(1).await;
    stage.settled().await;
    stage.hand.click("#ask-list .buttons button:nth-child(2)").await;
    assert_eq!(stage.client.outcome(&choice).await["result"]["choice"], "the blue one");
    stage.end().await;
}

#[tokio::test]
async fn a_click_that_was_meant_for_what_stood_there_before_answers_nothing() {
    let mut stage = FormStage::set().await;
    stage.hand.open_beside(&popup()).await;
    shows(&mut stage.hand, "Connected").await;
    // Clicks each button in the moment in which it appears, and notes that.
    let clicker = "globalThis.clicked = 0;
        new MutationObserver(() => {
          for (const button of document.querySelectorAll('#ask-list button')) { button.click(); globalThis.clicked += 1; }
        }).observe(document.querySelector('#ask-list'), { childList: true, subtree: true })";
    stage.hand.read(clicker).await;
    let id = stage.ask("approve", json!({"tab_id": stage.tab})).await;
    stage.has_rows(1).await;
    soon("clicks", until(async || stage.hand.read("clicked").await != 0)).await;
    stage.settled().await;
    assert_eq!(stage.client.status(&id).await["status"], "pending");
    stage.hand.click("#ask-list .buttons button:nth-child(2)").await;
    assert_eq!(stage.client.outcome(&id).await["result"]["approved"], true);
    stage.end().await;
}

#[tokio::test]
async fn a_question_about_a_tab_ends_with_the_tab_and_a_closed_site_has_no_picture() {
    let mut stage = FormStage::set().await;
    let open = json!({"action": "tab_open", "url": stage.pages.url("/second"), "wait_ms": 20_000});
    let tab = stage.client.call("interact", open).await["result"]["value"]["tab_id"].clone();
    let id = stage.ask("approve", json!({"tab_id": tab})).await;
    stage
        .client
        .call("interact", json!({"action": "tab_close", "tab_id": tab, "wait_ms": 20_000}))
        .await;
    let ended = stage.client.outcome(&id).await;
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("error"), &json!("tab_closed")));

    let deny = json!({"action": "site_rules", "pattern": "127.0.0.1"});
    stage.client.call_raw("configure", deny).await;
    stage.hand.open_beside(&popup()).await;
    stage.ask("approve", json!({"tab_id": stage.tab})).await;
    shows(&mut stage.hand, "There is no picture of the page").await;
    stage.end().await;
}

/// Where a button of a notification is, from the lower left of its window.
const BUTTON: (u16, u16) = (40, 20);

#[tokio::test]
async fn a_question_is_a_notification_of_the_system_with_the_permission_alone_and_its_button_answers()
 {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let display = VirtualDisplay::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    profile.gives("notifications");
    let (browser, mut hand) = profile.open_on(&display, &pages.url("/form")).await;
    let client = McpClient::legacy(&daemon).named("Order bot");
    let mut person = display.user();
    hand.open_beside(&popup()).await;
    shows(&mut hand, "Connected").await;
    let choose = json!({
        "action": "ask_user", "kind": "choose", "question": "Which colour?",
        "options": ["red", "blue"],
    });
    let ask = async || {
        let asked = client.call("interact", choose.clone()).await;
        asked["correlation_id"].as_str().unwrap().to_owned()
    };

    let first = ask().await;
    shows(&mut hand, "Which colour?").await;
    assert_eq!(hand.read("typeof chrome.notifications").await, "undefined");
    assert_eq!(person.windows().len(), 1, "nothing but the browser, until the person allows it");

    hand.read("document.querySelector('#notify').scrollIntoView({block: 'center'}); 1").await;
    hand.click("#notify").await;
    let shown = "globalThis.chrome.notifications?.getAll().then((all) => Object.keys(all))";
    let is_shown = json!([format!("ask:{first}")]);
    soon("the notification", until(async || hand.read(shown).await == is_shown)).await;
    // A click there is the person's alone: no page and no agent reaches a window of the system. The window comes in
    // from the side, so its place is asked for before each click.
    let (right, up) = BUTTON;
    let pressed = async {
        while client.status(&first).await["status"] == "pending" {
            if let [_, top] = person.windows()[..]
                && let Some([x, y, _, height]) = person.place_of(top)
            {
                person.click_at(x + right, y + height - up);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    soon("a click that counts", pressed).await;
    let chosen = client.outcome(&first).await;
    // Which of the two is there depends on how far the window has come in.
    let is_one = ["red", "blue"].iter().any(|option| chosen["result"]["choice"] == *option);
    assert!(is_one && chosen["result"]["by"] == "browser", "{chosen}");
    soon("no notification", until(async || hand.read(shown).await == json!([]))).await;

    // One that is answered elsewhere goes.
    let second = ask().await;
    let is_shown = json!([format!("ask:{second}")]);
    soon("the next one", until(async || hand.read(shown).await == is_shown)).await;
    soon("its window", until(async || person.windows().len() == 2)).await;
    let ran = finish(cli_of(&daemon, &["asks", "choose", &second, "red"])).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    soon("no notification", until(async || hand.read(shown).await == json!([]))).await;
    soon("no window", until(async || person.windows().len() == 1)).await;
    browser.end().await;
    daemon.stop().await;
}
