//! Around a step that a person does alone: agents that have planted listeners before, that read, record
//! and come to the front meanwhile, and all who would begin or end it in the person's place.

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use super::super::accepting_client::try_acceptance;
use super::asks::{PAGE, acts_on};
use crate::browser::form_stage::FormStage;
use crate::browser::popup::popup;
use crate::browser::steps_alone::SPY;
use testkit::{
    ExtensionBuilder, McpClient, RowReport, answer_ask, body, cli_of, finish, soon, until,
};

const PASSWORD: &str = "correct horse 7";
/// What the person has put into the agent's own tab before, and is no text of the page.
const EARLIER: [&str; 3] = ["battery staple 9", "482913", "4111 1111 1111 1111"];

/// Fields like those of a log-in, which the person has filled.
const FIELDS: &str = "document.body.insertAdjacentHTML('beforeend', `<form>
    <label>Word <input id=w type=password></label>
    <label>Code <input id=c autocomplete=one-time-code></label>
    <label>Card <input id=n autocomplete=cc-number></label></form>`)";

const ALL_STREAMS: [&str; 5] = ["logs", "network", "bodies", "websocket", "actions"];

/// What agents read and do in a tab.
fn looks() -> Vec<(&'static str, Value)> {
    vec![
        (
            "interact",
            json!({"action": "execute_js", "script": "[...document.querySelectorAll('input')].map((one) => one.value)"}),
        ),
        ("interact", json!({"action": "screenshot"})),
        ("interact", json!({"action": "click", "target": "#send"})),
        ("interact", json!({"action": "press_key", "key": "Enter"})),
        ("interact", json!({"action": "navigate", "url": "about:blank"})),
        ("interact", json!({"action": "tab_close"})),
        ("interact", json!({"action": "emulate", "color_scheme": "dark"})),
        ("interact", json!({"action": "network_rules", "rules": [{"url": "*", "block": true}]})),
        ("interact", json!({"action": "wait_for", "text": PASSWORD})),
        (
            "interact",
            json!({"action": "batch", "steps": [{"action": "get_value", "target": "#password"}]}),
        ),
        ("analyze", json!({"what": "snapshot"})),
        ("analyze", json!({"what": "forms"})),
        ("analyze", json!({"what": "dom", "selector": "input"})),
        ("analyze", json!({"what": "get_value", "target": "#password"})),
        ("analyze", json!({"what": "cookies"})),
        ("analyze", json!({"what": "trace", "phase": "start"})),
    ]
}

/// Whether something was refused, and the answer holds nothing of what is typed.
fn is_refused(answer: &Value) -> bool {
    let reason = [&answer["reason"], &answer["error"]];
    let is_known = ["handed_over", "tab_gone"].iter().any(|code| reason.contains(&&json!(code)));
    is_known && !answer.to_string().contains(PASSWORD)
}

async fn tried(client: &McpClient, tool: &str, mut call: Value, tab: &Value) -> Value {
    call["tab_id"] = tab.clone();
    call["wait_ms"] = json!(20_000);
    body(&client.call_raw(tool, call).await)
}

/// What no agent may do anywhere while the person types, in a tab of another site.
async fn try_elsewhere(row: &mut RowReport, client: &McpClient, tab: &Value, form: &str) {
    let frame = format!(
        "const frame = document.body.appendChild(document.createElement('iframe')); frame.src = '{form}'; \
         await new Promise((done) => {{ frame.onload = done }}); 1"
    );
    for (tool, call) in [
        ("interact", json!({"action": "navigate", "url": form})),
        ("interact", json!({"action": "navigate", "url": "about:blank", "focus": true})),
        ("interact", json!({"action": "tab_open", "url": form})),
        ("interact", json!({"action": "tab_open", "focus": true})),
        ("interact", json!({"action": "tab_activate"})),
        ("interact", json!({"action": "tab_activate", "focus": true})),
        ("interact", json!({"action": "batch", "steps": [{"action": "navigate", "url": form}]})),
        ("analyze", json!({"what": "trace", "phase": "start"})),
    ] {
        let answer = tried(client, tool, call.clone(), tab).await;
        row.tried(&format!("elsewhere: {call:.90}"), is_refused(&answer), &answer);
    }
    // A frame of the site, in a page of another one.
    let framed = json!({"action": "execute_js", "script": frame});
    tried(client, "interact", framed, tab).await;
    let snapshot = tried(client, "analyze", json!({"what": "snapshot"}), tab).await;
    row.tried("a frame of the site", !snapshot.to_string().contains("Send"), &snapshot);
}

async fn plant(client: &McpClient, script: &str, tab: &Value) {
    let call = json!({"action": "execute_js", "script": script, "user_gesture": true});
    let planted = tried(client, "interact", call, tab).await;
    assert_eq!(planted["status"], "complete", "{planted}");
}

/// A page of an agent, in the tab `beside`, opens a tab over the step.
async fn try_front(
    row: &mut RowReport,
    stage: &mut FormStage,
    client: &McpClient,
    beside: &Value,
    step: &Value,
) {
    stage.hand.turn_to(&popup()).await;
    let opens = "window.open('/second?over'); 1";
    plant(client, opens, beside).await;
    let front = format!("chrome.tabs.get({step}).then(({{ active }}) => active)");
    let is_front = until(async || stage.hand.read(&front).await == true);
    let is_back = tokio::time::timeout(std::time::Duration::from_secs(10), is_front).await.is_ok();
    row.tried("a tab that a page opens over it", is_back, "it stays in front");
}

/// What a client reads after the step in the recordings, and in the page from which it was asked for.
async fn try_after(row: &mut RowReport, client: &McpClient, tab: &Value) {
    let heard = json!({"action": "execute_js", "script": "heard.join('')"});
    let heard = tried(client, "interact", heard, tab).await["result"]["value"].clone();
    row.tried(
        "keys in the agent's page, its window, its frame and its opener",
        heard == "",
        &heard,
    );
    for what in ["logs", "network", "websocket", "actions", "errors"] {
        let told = client.call("observe", json!({"what": what, "limit": 200})).await.to_string();
        row.tried(what, !told.contains("typed") && !told.contains(PASSWORD), &told);
    }
    for (tool, call) in looks().into_iter().filter(|(tool, _)| *tool == "analyze").take(3) {
        let answer = tried(client, tool, call.clone(), tab).await;
        let is_told = answer["status"] == "complete";
        let told = answer.to_string();
        let is_hidden = EARLIER.iter().all(|one| !told.contains(one));
        row.tried(&format!("fields: {call}"), is_told && is_hidden, &told);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_43_no_agent_learns_what_a_person_types_in_a_step() {
    let mut row = RowReport::new(43);
    let mut stage = FormStage::set().await;
    let form = stage.pages.url("/form");
    let own = McpClient::legacy(&stage.daemon).named("Order bot");
    let other = McpClient::legacy(&stage.daemon).named("Watcher");
    plant(&own, FIELDS, &stage.tab).await;
    for (field, text) in ["#w", "#c", "#n"].iter().zip(EARLIER) {
        stage.hand.click(field).await;
        stage.hand.type_text(text).await;
    }
    plant(&own, SPY, &stage.tab).await;
    let elsewhere = form.replace("127.0.0.1", "localhost").replace("form", "second");
    let open = json!({"action": "tab_open", "url": elsewhere, "wait_ms": 20_000});
    let beside = other.call("interact", open).await["result"]["value"]["tab_id"].clone();
    for client in [&own, &other] {
        client.call("configure", json!({"action": "capture", "streams": ALL_STREAMS})).await;
    }

    let id = stage.asked().await;
    stage.hand.open_beside(&popup()).await;
    stage.press("Begin").await;
    let step = stage.step_tab(&Value::Null).await;
    stage.hand.turn_to_tab(&step).await;
    stage.hand.click("#password").await;
    stage.hand.type_text(PASSWORD).await;
    let leaks =
        format!("console.log('typed {PASSWORD}'); fetch('/second?typed={PASSWORD}').then(() => 1)");
    stage.hand.read(&leaks).await;
    for client in [&own, &other] {
        for tab in [&stage.tab, &step] {
            for (tool, call) in looks() {
                let answer = tried(client, tool, call.clone(), tab).await;
                row.tried(&format!("{call:.90}"), is_refused(&answer), &answer);
            }
        }
    }
    try_elsewhere(&mut row, &other, &beside, &form).await;
    try_front(&mut row, &mut stage, &other, &beside, &step).await;
    let others = tried(&other, "analyze", json!({"what": "snapshot"}), &beside).await;
    assert_eq!(others["status"], "complete", "work on another site goes on: {others}");
    let drawing =
        json!({"what": "annotations", "wait": true, "wait_ms": 1_000, "tab_id": stage.tab});
    let drawing = body(&other.call_raw("analyze", drawing).await);
    let opened = stage.hand.drawing_pages().await;
    let is_told = drawing["status"] == "complete" || opened > 0;
    row.tried("a picture to draw on", !is_told, &drawing);

    stage.press("Done").await;
    assert_eq!(stage.client.outcome(&id).await["result"]["done"], true);
    for client in [&own, &other] {
        try_after(&mut row, client, &stage.tab).await;
    }
    row.report();
    stage.end().await;
}

/// What programs send to end a step in the person's place.
async fn try_programs(row: &mut RowReport, stage: &FormStage, id: &str) {
    let is_open = async || stage.client.status(id).await["status"] == "pending";
    for kind in ["done", "cannot", "allow", "decline"] {
        let answer = json!({"kind": kind});
        let answered = answer_ask(&stage.daemon, id, &answer).await;
        row.tried(
            &format!("a program with the token: {kind}"),
            answered.status == 403 && is_open().await,
            &answered.body,
        );
    }
    let words = ["done", "allow"].map(|kind| json!({"kind": kind}));
    try_acceptance(row, &stage.daemon, id, &words, &is_open).await;
    let ran = finish(cli_of(&stage.daemon, &["asks", "decline", id])).await;
    row.tried("a program at a terminal", ran.code == Some(1) && is_open().await, &ran.stderr);
    let mut elsewhere = ExtensionBuilder::of(&stage.daemon).browser("elsewhere").connect().await;
    let frame = json!({"type": "ask_answer", "correlation_id": id, "answer": {"kind": "done"}});
    elsewhere.send(&frame).await;
    elsewhere.so_far().await;
    row.tried("another browser", is_open().await, "it is over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_44_nobody_but_the_person_begins_or_ends_a_step() {
    let mut row = RowReport::new(44);
    let mut stage = FormStage::set().await;
    let (form, shown_at) = (stage.pages.url("/form"), popup());
    let elsewhere = form.replace("127.0.0.1", "localhost");
    let open = json!({"action": "tab_open", "url": &elsewhere, "wait_ms": 20_000});
    let beside = stage.client.call("interact", open).await["result"]["value"]["tab_id"].clone();
    let id = stage.asked().await;
    let client = McpClient::legacy(&stage.daemon).named("Order bot");
    let is_open = async || client.status(&id).await["status"] == "pending";
    stage.hand.open_beside(&shown_at).await;
    let buttons =
        "[...document.querySelectorAll('#ask-list .buttons button')].map((one) => one.textContent)";
    soon("the step", until(async || stage.hand.read(buttons).await == json!(["Cannot", "Begin"])))
        .await;
    let number = "chrome.tabs.getCurrent().then(({ id }) => id)";
    let there = stage.hand.read(number).await;
    let port = stage.daemon.port().to_string();
    let attack = async |row: &mut RowReport, kind: &str, button: &str| {
        for mut act in acts_on(&shown_at, &there, &beside, button) {
            act["wait_ms"] = json!(20_000);
            let answer = body(&client.call_raw("interact", act.clone()).await);
            let is_done =
                answer["status"] == "complete" && answer["result"]["value"]["failed"].is_null();
            row.tried(&format!("{kind}: {act:.90}"), !is_done && is_open().await, &answer);
        }
        let page = PAGE.replace("ID", EXTENSION_ID).replace("ASK", &id).replace("PORT", &port);
        let page = match kind {
            "begin" => page.replace("ask: 'answer_ask'", "ask: 'hand_over'"),
            _ => page.replace("kind: 'allow'", &format!("kind: '{kind}'")),
        };
        // A frame of the last attack would keep the debugger out.
        let anew = json!({"action": "navigate", "url": elsewhere});
        tried(&client, "interact", anew, &beside).await;
        let call = json!({"action": "execute_js", "script": page});
        let answer = tried(&client, "interact", call, &beside).await;
        let ways = answer["result"]["value"].as_object();
        for (way, result) in ways.unwrap_or_else(|| panic!("{answer}")) {
            let got_through = *result == true || result.is_object();
            row.tried(&format!("{kind}: a page: {way}"), !got_through && is_open().await, result);
        }
    };
    attack(&mut row, "begin", "#ask-list .buttons button:nth-child(2)").await;
    stage.hand.turn_to(&shown_at).await;
    let begun =
        "chrome.storage.session.get('hand_overs').then(({ hand_overs }) => hand_overs.tabs.length)";
    let tabs = stage.hand.read(begun).await;
    row.tried("it has not begun", tabs == 0, &tabs);

    stage.press("Begin").await;
    let step = stage.step_tab(&Value::Null).await;
    attack(&mut row, "done", "#ask-list .buttons button:nth-child(3)").await;
    attack(&mut row, "cannot", "#ask-list .buttons button:nth-child(1)").await;
    try_programs(&mut row, &stage, &id).await;
    // A page that puts the popup's words into itself gets the person's clicks, and nothing by them.
    let bar = "document.body.insertAdjacentHTML('afterbegin', `<div id=ask-list>Tabwire: Order bot asks you to do a step alone
        <button id=done>Done</button><button id=cannot>Cannot</button></div>`)";
    stage.hand.turn_to(&shown_at).await;
    stage.hand.turn_to_tab(&step).await;
    stage.hand.read(bar).await;
    for button in ["#done", "#cannot"] {
        stage.hand.click(button).await;
        row.tried(&format!("a page's own {button}"), is_open().await, "it is over");
    }
    let message = "(async () => { try { return await chrome.runtime.sendMessage({}) } catch { return null } })()";
    let told = stage.hand.read(message).await;
    row.tried("a page's message", told.is_null() && is_open().await, &told);
    stage.press("Done").await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["result"], json!({"done": true, "by": "browser"}), "{done}");
    assert!(step.is_number());
    row.report();
    stage.end().await;
}
