//! Between an agent that asks for an approval and the person: the agent itself, and the page that it
//! acts in.

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use super::super::accepting_client::try_acceptance;
use crate::browser::ask_first::ConsentStage;
use testkit::{
    BrowserUser, McpClient, RowReport, TestDaemon, TestPages, answer_ask, body, cli_of, finish,
    first_tab, soon, until,
};

/// The parts of a page's attack that the browser should refuse; each tells whether it got through.
pub(super) const PAGE: &str = "
    const popup = `chrome-extension://ID/popup/popup.html`;
    const answer = { ask: 'answer_ask', correlation_id: 'ASK', answer: { kind: 'allow' } };
    const tried = async (attempt) => { try { return await attempt() } catch { return false } };
    const framed = () => new Promise((done) => {
      const frame = document.createElement('iframe');
      frame.src = popup;
      frame.onload = () => { try { done(frame.contentDocument.body.innerText !== '') } catch { done('blocked') } };
      document.body.append(frame);
      setTimeout(() => done(false), 1500);
    });
    return {
      fetch: await tried(async () => (await fetch(popup)).ok),
      message: await tried(() => chrome.runtime.sendMessage('ID', answer)) ?? false,
      import: await tried(async () => Boolean(await import(`chrome-extension://ID/src/asks/asks.js`))),
      frame: await tried(framed),
      daemon: await tried(async () => (await fetch('http://127.0.0.1:PORT/api/asks', { method: 'POST', mode: 'no-cors', body: JSON.stringify(answer) })).ok),
    }";

/// The button that allows.
const ALLOW: &str = "#ask-list .buttons button:nth-child(2)";

/// Acts by which an agent might press a button of the popup, which is at this address and in this tab.
pub(super) fn acts_on(popup: &str, there: &Value, own_tab: &Value, button: &str) -> Vec<Value> {
    let click = format!("document.querySelector('{button}').click()");
    let steps = json!([{"action": "click", "target": button}]);
    vec![
        json!({"action": "navigate", "url": popup, "tab_id": own_tab}),
        json!({"action": "tab_open", "url": popup}),
        json!({"action": "click", "target": button, "tab_id": there}),
        json!({"action": "click", "x": 300, "y": 300, "tab_id": there}),
        json!({"action": "press_key", "key": "Enter", "tab_id": there}),
        json!({"action": "execute_js", "script": click, "tab_id": there}),
        json!({"action": "draw", "points": [[300, 300]], "tab_id": there}),
        json!({"action": "batch", "tab_id": there, "steps": steps}),
    ]
}

/// Has a client act, and waits for the end.
pub(super) async fn answer(client: &McpClient, mut call: Value) -> Value {
    call["wait_ms"] = 20_000.into();
    body(&client.call_raw("interact", call).await)
}

/// What a program with the token and a page send to give these words on a held command. Returns the
/// tab of the page.
pub(super) async fn try_to_allow(
    row: &mut RowReport,
    stage: &ConsentStage,
    id: &str,
    words: &[&str],
) -> Value {
    let is_held = async || stage.client.status(id).await["status"] == "waiting_for_user";
    for word in words {
        let given =
            answer_ask(&stage.daemon, id, &json!({"kind": "consent", "consent": word})).await;
        let is_refused = given.status == 403 && is_held().await;
        row.tried(&format!("a program with the token: {word}"), is_refused, &given.body);
    }
    let page = PAGE
        .replace("ID", EXTENSION_ID)
        .replace("ASK", id)
        .replace("PORT", &stage.daemon.port().to_string());
    // In a tab of its own: a frame of an extension keeps the debugger out.
    let open = json!({"action": "tab_open", "url": stage.pages.url("/second")});
    let other = answer(&stage.client, open).await["result"]["value"]["tab_id"].clone();
    let attack = json!({"action": "execute_js", "script": page, "tab_id": other});
    let ways = answer(&stage.client, attack).await;
    for (way, result) in ways["result"]["value"].as_object().unwrap_or_else(|| panic!("{ways}")) {
        let got_through = *result == true || result.is_object();
        row.tried(&format!("a page: {way}"), !got_through && is_held().await, result);
    }
    other
}

/// What programs with the token send to answer it.
async fn try_programs(row: &mut RowReport, daemon: &TestDaemon, client: &McpClient, id: &str) {
    let is_open = async || client.status(id).await["status"] == "pending";
    for kind in ["allow", "deny", "decline"] {
        let answered = answer_ask(daemon, id, &json!({"kind": kind})).await;
        let refused = answered.status == 403 && is_open().await;
        row.tried(&format!("a program with the token: {kind}"), refused, &answered.body);
    }
    let ran = finish(cli_of(daemon, &["asks", "decline", id])).await;
    row.tried("a program at a terminal", ran.code == Some(1) && is_open().await, &ran.stderr);
    let frame = json!({"type": "ask_answer", "correlation_id": id, "answer": {"kind": "allow"}});
    let answer: Value = client.rpc("ask_answer", frame).await.json();
    row.tried("a method of MCP", answer["error"].is_object() && is_open().await, &answer);
    try_acceptance(row, daemon, id, &[json!({"kind": "allow"})], &is_open).await;
}

/// What programs with the token send, and a client that accepts every elicitation by itself.
async fn try_words(row: &mut RowReport, daemon: &TestDaemon, client: &McpClient, id: &str) {
    let is_held = async || client.status(id).await["status"] == "waiting_for_user";
    for consent in ["once", "session", "always", "never"] {
        let answer = json!({"kind": "consent", "consent": consent});
        let answered = answer_ask(daemon, id, &answer).await;
        let refused = answered.status == 403 && is_held().await;
        row.tried(&format!("a program with the token: {consent}"), refused, &answered.body);
    }
    let words = ["once", "always"].map(|consent| json!({"kind": "consent", "consent": consent}));
    try_acceptance(row, daemon, id, &words, &is_held).await;
    let ran = finish(cli_of(daemon, &["asks", "decline", id])).await;
    row.tried("a program at a terminal", ran.code == Some(1) && is_held().await, &ran.stderr);
}

#[tokio::test]
async fn row_40_nobody_but_the_person_lets_a_held_command_go_on() {
    let mut row = RowReport::new(40);
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let ran = finish(cli_of(&daemon, &["sites", "ask", "127.0.0.1"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (browser, folder) =
        BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/second"));
    let client = McpClient::legacy(&daemon);
    let tab = first_tab(&client, &browser).await;
    let script = json!({
        "action": "execute_js", "script": "globalThis.ran = 1", "tab_id": tab, "wait_ms": 20_000,
    });
    let id = client.call("interact", script).await["correlation_id"].as_str().unwrap().to_owned();
    try_words(&mut row, &daemon, &client, &id).await;
    // Other ways to the same page: each waits, too.
    for act in [
        json!({"action": "click", "x": 10, "y": 10, "tab_id": tab}),
        json!({"action": "wait_for", "function": "() => (globalThis.ran = 1)", "tab_id": tab}),
        json!({"action": "batch", "tab_id": tab, "steps": [{"action": "press_key", "key": "Enter"}]}),
    ] {
        let call = json!({"wait_ms": 20_000});
        let mut act_now = act.clone();
        act_now.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
        let answer = body(&client.call_raw("interact", act_now).await);
        row.tried(&format!("{act:.90}"), answer["status"] == "waiting_for_user", &answer);
    }
    let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
    let ran = hand.read("globalThis.ran ?? 0").await;
    row.tried("nothing has run", ran == 0, &ran);
    row.report();
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn row_40_nobody_but_the_person_allows_what_an_agent_asks_for() {
    let mut row = RowReport::new(40);
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let (browser, folder) =
        BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/second"));
    let client = McpClient::legacy(&daemon);
    let tab = first_tab(&client, &browser).await;
    let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
    let question = json!({
        "action": "ask_user", "kind": "approve", "question": "Send it?", "tab_id": tab,
    });
    let asked = client.call("interact", question).await;
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    let is_open = async || client.status(&id).await["status"] == "pending";

    // The person looks at the question in a tab, where an agent might reach it.
    let popup = format!("chrome-extension://{EXTENSION_ID}/popup/popup.html");
    hand.open_beside(&popup).await;
    let shown = "document.querySelector('#ask-list')?.dataset.settling";
    soon("the question", until(async || hand.read(shown).await == "false")).await;
    let listed = client.call("interact", json!({"action": "tab_list", "wait_ms": 20_000})).await;
    let tabs = listed["result"]["value"].as_array().unwrap();
    let is_popup = |known: &&Value| known["url"] == popup;
    // An agent that is told of no such tab guesses its number.
    let guess = json!(tab.as_i64().unwrap() + 1);
    let there = tabs.iter().find(is_popup).map_or(guess, |known| known["tab_id"].clone());
    for mut act in acts_on(&popup, &there, &tab, ALLOW) {
        act["wait_ms"] = 20_000.into();
        let answer = body(&client.call_raw("interact", act.clone()).await);
        let is_done =
            answer["status"] == "complete" && answer["result"]["value"]["failed"].is_null();
        row.tried(&format!("{act:.90}"), !is_done && is_open().await, &answer);
    }
    let read = json!({"what": "snapshot", "tab_id": there, "wait_ms": 20_000});
    let answer = body(&client.call_raw("analyze", read).await);
    row.tried("an agent reads the popup", answer["status"] != "complete", &answer);

    let port = daemon.port().to_string();
    let page = PAGE.replace("ID", EXTENSION_ID).replace("ASK", &id).replace("PORT", &port);
    let script = json!({"action": "execute_js", "script": page, "tab_id": tab, "wait_ms": 20_000});
    let answer = body(&client.call_raw("interact", script).await);
    let ways = answer["result"]["value"].as_object();
    for (way, result) in ways.unwrap_or_else(|| panic!("{answer}")) {
        let got_through = *result == true || result.is_object();
        row.tried(&format!("a page: {way}"), !got_through && is_open().await, result);
    }
    try_programs(&mut row, &daemon, &client, &id).await;
    hand.click(ALLOW).await;
    let outcome = client.outcome(&id).await;
    assert_eq!(outcome["result"], json!({"approved": true, "by": "browser"}), "{outcome}");
    row.report();
    browser.end().await;
    daemon.stop().await;
}
