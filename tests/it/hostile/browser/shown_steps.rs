//! Between a person who shows a piece of work in a tab and the agent that records it: the page, other
//! agents, and the agent itself.

use serde_json::{Value, json};

use super::asks::{answer, try_to_allow};
use crate::browser::ask_first::ConsentStage;
use crate::browser::popup::popup;
use crate::browser::shown_steps::{ALLOW, PURPOSE, REST, record, show_me};
use testkit::{McpClient, RowReport, cli_of, files_with, finish, soon, until};

const SECRET: &str = "hunter2hunter2";

const NAME: &str = "Annabella Leemann";

fn is_asked(answer: &Value) -> bool {
    answer["status"] == "waiting_for_user"
}

#[tokio::test]
async fn row_53_a_page_neither_makes_nor_hides_steps_of_the_person_nor_tells_their_texts() {
    let mut row = RowReport::new(53);
    let mut stage = ConsentStage::at("/showing_attack.html").await;
    stage.shows().await;
    let here = stage.pages.url("/showing_attack.html");
    // From the next document on nothing of the page comes before the extension.
    stage.hand.go(&here).await;
    stage.until_watched().await;
    let hand = &mut stage.hand;
    hand.read("forge(), redefine(), 1").await;
    hand.click("#good").await;
    hand.read("(() => { try { forge() } catch {} return 1 })()").await;
    hand.click("#name").await;
    hand.type_text(NAME).await;
    hand.click("#pass").await;
    hand.type_text(SECRET).await;
    let stolen = format!("document.title === 'Showing {SECRET}'");
    soon("the page's copy", until(async || hand.read(&stolen).await == true)).await;
    hand.click("#good ~ button").await;
    hand.press("Escape", 1).await;
    hand.click("#good").await;
    hand.read(REST).await;
    let recording = stage.recorded("batch").await;
    let steps = recording["steps"].as_array().unwrap();
    let text = recording.to_string();
    for (what, words) in [
        ("a click by script", "Pay now"),
        ("a label's click by script", "Agree to all"),
        ("a choice by script", "1000"),
        ("a text by execCommand", "Victim"),
        ("a key by script", "ArrowDown"),
        ("the secret as the name of a button", SECRET),
        ("a text as a value", NAME),
    ] {
        row.tried(what, !text.contains(words), &text);
    }
    let clicks = steps.iter().filter(|step| step["action"] == "click").count();
    let typed = steps.iter().filter(|step| step["action"] == "type").count();
    // A button that the page has named by the secret has no words that may be told.
    let is_whole = clicks == 2 && left_out(&recording) == 2;
    row.tried("clicks and keys that the page swallows", is_whole, &text);
    row.tried("typing that the page swallows", typed == 2, &text);
    row.tried("the secret is a parameter", text.contains("{{param.password}}"), &text);

    for form in ["playwright", "call"] {
        stage.shows().await;
        stage.hand.click("#pass").await;
        stage.hand.type_text(SECRET).await;
        let told = stage.recorded(form).await.to_string();
        row.tried(&format!("the secret as {form}"), !told.contains(SECRET), &told);
    }
    let history = finish(cli_of(&stage.daemon, &["history", "--json"])).await;
    row.tried("the secret in the history", !history.stdout.contains(SECRET), &history.stdout);
    let home = stage.daemon.home().dir().to_owned();
    stage.browser.end().await;
    assert!(files_with(&home, "").len() > 3);
    for word in [SECRET, NAME] {
        let found = files_with(&home, word);
        row.tried("a text in a file", found.is_empty(), format!("{word}: {found:?}"));
    }
    row.report();
    stage.daemon.stop().await;
}

fn left_out(recording: &Value) -> usize {
    recording["left_out"].as_array().map_or(0, Vec::len)
}

/// Ways to record the person by another client, on another site, or without their word.
async fn try_agents(row: &mut RowReport, stage: &mut ConsentStage) {
    let there = stage.site().replace("127.0.0.1", "localhost");
    let stranger = McpClient::legacy(&stage.daemon).named("Other bot");
    for (what, call) in [
        ("another client stops it", record(&stage.tab, "stop", &json!({}))),
        ("another client records", show_me(&stage.tab)),
        ("another client replaces it", record(&stage.tab, "start", &json!({}))),
    ] {
        let came = answer(&stranger, call).await;
        let error = came.to_string();
        let is_refused = error.contains("another agent records") || came["error"] == "tab_in_use";
        row.tried(what, is_refused, &came);
    }
    let mine = json!({"action": "record", "phase": "start", "by": "person"});
    let to = format!("setTimeout(() => {{ location.href = '{there}/order.html' }}, 100); 1");
    let slow = json!({"action": "wait_for", "url": there, "timeout_ms": 5_000});
    let script = json!({"action": "execute_js", "script": to});
    let batch = json!({"action": "batch", "steps": [script, slow, mine], "tab_id": stage.tab, "wait_ms": 20_000});
    let id = stage.held(batch).await;
    stage.press_of(&id, PURPOSE, ALLOW).await;
    let came = stage.client.outcome(&id).await;
    let is_refused = came.to_string().contains("consent_needed");
    row.tried("a batch to another site", is_refused, &came);
}

#[tokio::test]
async fn row_53_nobody_records_the_person_without_their_word_on_this_client_and_site() {
    let mut row = RowReport::new(53);
    let mut stage = ConsentStage::at("/order.html").await;
    let id = stage.held(show_me(&stage.tab)).await;
    let is_held =
        async |client: &McpClient| client.status(&id).await["status"] == "waiting_for_user";
    try_to_allow(&mut row, &stage, &id, &["once", "session", "always"]).await;
    // No word on one is kept, whatever the popup's page sends.
    stage.hand.turn_to(&popup()).await;
    for word in ["session", "always"] {
        let give = format!(
            "chrome.runtime.sendMessage({{ask: 'answer_ask', correlation_id: '{id}', answer: {{kind: 'consent', consent: '{word}'}}}}).then(() => 1)"
        );
        stage.hand.read(&give).await;
        row.tried(&format!("a word to keep: {word}"), is_held(&stage.client).await, &id);
    }
    stage.press_of(&id, PURPOSE, ALLOW).await;
    let came = stage.client.outcome(&id).await;
    assert_eq!(came["result"]["value"]["recording"], true, "the person's click counts: {came}");

    try_agents(&mut row, &mut stage).await;
    // With the other site in the tab the word is over.
    let back =
        json!({"action": "navigate", "url": stage.pages.url("/order.html"), "tab_id": stage.tab});
    answer(&stage.client, back).await;
    stage.hand.turn_to_page();
    stage.hand.show().await;
    stage.hand.click("[name=who]").await;
    let told = stage.recorded("batch").await;
    let is_over = told["ended"].as_str().is_some_and(|why| why.contains("left"));
    row.tried("the word after another site", is_over && !told.to_string().contains("Name"), &told);
    let again = answer(&stage.client, show_me(&stage.tab)).await;
    row.tried("the same word again", is_asked(&again), &again);
    row.report();
    stage.end().await;
}
