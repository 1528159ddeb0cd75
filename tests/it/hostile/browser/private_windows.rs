//! Programs that want to see the person's private windows, where the person has let the extension in.

use serde_json::{Value, json};
use testkit::{McpClient, RowReport, cli_of, every_call, finish, without_numbers};

use crate::browser::private_windows::PrivateStage;

/// A word in the address and the title of the person's private page.
const WORD: &str = "persons-own-secret";

/// A tab that does not exist.
const NOWHERE: i64 = 987_654_321;

fn tells(text: &str, id: &Value, is_named: bool) -> bool {
    text.contains(WORD) || !is_named && text.contains(&id.to_string())
}

/// Each call, with no tab, with one that does not exist, and with the person's.
async fn try_every_call(row: &mut RowReport, stage: &PrivateStage, owner: &str, id: &Value) {
    for (number, call) in every_call(&stage.pages.url("/form")).into_iter().enumerate() {
        // It would leave the page that the other calls need, or waits for the person.
        if matches!(&*call.choice, "ask_user" | "draw_mode_start" | "annotations") {
            continue;
        }
        let client = stage.of_owner(owner).named(&format!("caller-{owner}-{number}"));
        let mut unknown = None;
        for tab in [None, Some(NOWHERE), id.as_i64()] {
            if tab.is_some() && !call.takes_tab {
                continue;
            }
            let raw = client.call_raw(&call.tool, call.of_tab(tab)).await;
            let answer = raw.to_string();
            let is_named = tab == id.as_i64();
            let what = format!("{owner}: {} {} of tab {tab:?}", call.tool, call.choice);
            row.tried(&what, !tells(&answer, id, is_named), format!("{answer:.600}"));
            let came =
                if raw["isError"] == true { without_numbers(&answer) } else { String::new() };
            if tab == Some(NOWHERE) {
                unknown = Some(came);
            } else if is_named {
                let is_same = unknown.as_ref() == Some(&came);
                row.tried(&format!("{what}, guessed"), is_same, format!("{answer:.600}"));
            }
        }
    }
}

#[tokio::test]
async fn row_51_the_persons_private_tab_is_in_no_scope() {
    let mut stage = PrivateStage::set(true).await;
    for (owner, scope) in [("narrow", "shared"), ("alone", "own")] {
        let ran = finish(cli_of(&stage.daemon, &["scope", owner, scope])).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    stage.client.call("configure", json!({"action": "capture"})).await;
    let url = stage.pages.url(&format!("/strict?{WORD}"));
    let id = stage.person_opens(&url).await;
    assert!(id.is_number(), "{id}");
    let mut row = RowReport::new(51);
    // The popup offers no sharing of it.
    let share = format!("chrome.runtime.sendMessage({{ask: 'share_tab', tab_id: {id}, on: true}})");
    stage.hand.read(&share).await;
    // Its window is in front, and so is no tab that an agent may notice.
    let focused =
        stage.client.call("interact", json!({"action": "tab_list", "wait_ms": 9_000})).await;
    row.tried("the list", !tells(&focused.to_string(), &id, false), &focused);
    let has_front = focused["result"]["value"].as_array().unwrap().iter();
    let has_front = has_front.filter(|tab| tab["focused"] == true).count() > 0;
    row.tried("the window in front", has_front, &focused);
    // A page of the person's own opens nothing that an agent hears of, and downloads are not told.
    try_every_call(&mut row, &stage, "user", &id).await;
    try_every_call(&mut row, &stage, "narrow", &id).await;
    try_every_call(&mut row, &stage, "alone", &id).await;
    let opened = stage.opens(&stage.client, &stage.pages.url("/form")).await;
    row.tried("a private tab beside it", opened["reason"] == "private_in_use", &opened);
    let untouched = format!("chrome.tabs.get({id}).then((tab) => tab.url)");
    let now = stage.hand.read(&untouched).await;
    row.tried("its page", now == url, now);
    row.report();
    stage.end().await;
}

#[tokio::test]
async fn row_51_another_owner_reaches_no_private_tab_of_an_agent() {
    let stage = PrivateStage::set(true).await;
    let url = stage.pages.url(&format!("/strict?{WORD}"));
    let opened = stage.opens(&stage.client, &url).await;
    let id = opened["result"]["value"]["tab_id"].clone();
    assert!(id.is_number(), "{opened}");
    let mut row = RowReport::new(51);
    try_every_call(&mut row, &stage, "boss", &id).await;
    let mine: McpClient = stage.of_owner("user");
    let look = json!({"action": "page_info", "tab_id": id, "wait_ms": 20_000});
    let looked = mine.call("interact", look).await;
    row.tried("its own owner", looked["status"] == "complete", &looked);
    row.report();
    stage.end().await;
}
