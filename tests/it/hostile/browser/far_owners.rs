//! Agents on another machine at sites without the person's word, in a real browser.

use serde_json::{Value, json};

use crate::browser::ask_first::{ALWAYS, ConsentStage, NEVER, ONCE};
use testkit::{McpClient, OTHER_SITE, RowReport, TestPages, body, soon, until};

/// In the address, the title and the text of the page without a word.
const WORD: &str = "hiddenplace";

async fn call(client: &McpClient, tool: &str, mut arguments: Value) -> Value {
    if arguments["wait_ms"].is_null() && tool != "observe" && tool != "configure" {
        arguments["wait_ms"] = 20_000.into();
    }
    body(&client.call_raw(tool, arguments).await)
}

fn id_of(answer: &Value) -> String {
    answer["correlation_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Whether a command waits for the person, without a word of the page.
fn is_held(answer: &Value) -> bool {
    answer["status"] == "waiting_for_user" && !says(answer)
}

fn says(answer: &Value) -> bool {
    let text = answer.to_string();
    text.contains(WORD) || text.contains(OTHER_SITE)
}

/// A tab of the far agent on the site of the test's pages, for which the person has given a word.
async fn opened(stage: &mut ConsentStage, far: &McpClient) -> i64 {
    let url = stage.pages.url("/second");
    let held = call(far, "interact", json!({"action": "tab_open", "url": url})).await;
    assert!(is_held(&held), "{held}");
    assert_eq!(stage.pages.hits("/second"), 0, "nothing is opened before the word");
    let id = id_of(&held);
    stage.press_of_far("box", &id, ALWAYS).await;
    let done = far.outcome(&id).await;
    done["result"]["value"]["tab_id"].as_i64().unwrap_or_else(|| panic!("{done}"))
}

/// Runs a script of this machine in a tab of the far agent.
async fn script(stage: &ConsentStage, far: &McpClient, tab: i64, script: &str) -> Value {
    let release = json!({"action": "tab_release", "tab_id": tab});
    call(far, "configure", release.clone()).await;
    let asked = json!({"action": "execute_js", "script": script, "tab_id": tab});
    let done = call(&stage.client, "interact", asked).await;
    assert_eq!(done["status"], "complete", "{done}");
    call(&stage.client, "configure", release).await;
    done
}

/// Has a program of this machine follow the link in a tab of the far agent.
async fn go(stage: &ConsentStage, far: &McpClient, tab: i64) {
    script(stage, far, tab, "document.querySelector('#go').click(); return 1").await;
    let hidden = format!("/{WORD}");
    soon("the page without a word", until(async || stage.pages.hits(&hidden) > 0)).await;
}

/// Has the page of a tab hold a link to the site without a word. The agent does not learn where to.
async fn plant(stage: &ConsentStage, far: &McpClient, tab: i64, more: &str) {
    let there = stage.pages.url(&format!("/{WORD}")).replace("127.0.0.1", OTHER_SITE);
    let link = format!(
        "document.body.innerHTML = '<a id=\"go\" {more} href=\"{there}\">go</a>'; return 1"
    );
    script(stage, far, tab, &link).await;
}

/// The agent follows the link that was planted; the browser asks the site without a word for nothing.
async fn try_to_go(stage: &ConsentStage, far: &McpClient, tab: i64, row: &mut RowReport) {
    let hidden = format!("/{WORD}");
    let clicked = call(far, "interact", json!({"action": "click", "target": "#go", "tab_id": tab}));
    let clicked = clicked.await;
    let is_told = clicked["reason"] == "consent_needed" && clicked["may_have_run"] == true;
    let is_asked = stage.pages.hits(&hidden) > 0;
    row.tried("a click that leads there", is_told && !says(&clicked) && !is_asked, &clicked);
    let goes =
        "document.querySelector('#go').click(); await new Promise((end) => setTimeout(end, 500))";
    let scripted = json!({"action": "execute_js", "script": goes, "tab_id": tab});
    let scripted = call(far, "interact", scripted).await;
    let is_told = scripted["reason"] == "consent_needed" && !says(&scripted);
    row.tried("a script that does", is_told && stage.pages.hits(&hidden) == 0, &scripted);
    // One that never ends leaves nothing behind.
    let endless = "document.querySelector('#go').click(); await new Promise(() => {})";
    let endless =
        json!({"action": "execute_js", "script": endless, "tab_id": tab, "timeout_ms": 1000});
    let endless = call(far, "interact", endless).await;
    let is_stopped = stage.pages.hits(&hidden) == 0 && !says(&endless);
    row.tried("a script without an end", is_stopped && endless["status"] == "timeout", &endless);
    // Given again it is held until the person has seen it.
    let again = json!({"action": "click", "target": "#go", "tab_id": tab});
    let again = call(far, "interact", again).await;
    row.tried("the same click again", is_held(&again), &again);
    far.cancel(&id_of(&again)).await;
}

/// The agent goes where the server redirects to a page without a word, in its tab and in a new one.
async fn try_redirects(
    stage: &mut ConsentStage,
    far: &McpClient,
    tab: i64,
    there: &str,
    row: &mut RowReport,
) {
    let through = stage.pages.url(&format!("/to?{there}"));
    let led = call(far, "interact", json!({"action": "navigate", "url": through, "tab_id": tab}));
    let led = led.await;
    let told = led["result"].is_null()
        && led["reason"] == "consent_needed"
        && stage.pages.asked_like("/to").len() == 1;
    let hidden = format!("/{WORD}");
    row.tried("a redirect of the server", told && stage.pages.asked_like(&hidden).is_empty(), &led);
    let again = json!({"action": "navigate", "url": through, "tab_id": tab});
    let again = call(far, "interact", again).await;
    let is_unasked = stage.pages.asked_like(&hidden).is_empty();
    row.tried("the same again", again["status"] == "waiting_for_user" && is_unasked, &again);
    // The person lets it go there once.
    let id = id_of(&again);
    stage.press_of_far("box", &id, ONCE).await;
    let done = far.outcome(&id).await;
    assert!(says(&done) && done["status"] == "complete", "{done}");
    let opened =
        call(far, "interact", json!({"action": "tab_open", "url": format!("{through}?2")})).await;
    let names_tab = opened["error"].as_str().unwrap_or_default().contains("stays open");
    row.tried("a new tab with one", opened["reason"] == "consent_needed" && names_tab, &opened);
}

#[tokio::test]
async fn row_57_where_an_agent_on_another_machine_lands_without_a_word_it_is_told_nothing() {
    let mut stage = ConsentStage::open(TestPages::start().await, "/form").await;
    let far = McpClient::far(&stage.daemon, "box").await.named("agent");
    let tab = opened(&mut stage, &far).await;
    let mut row = RowReport::new(57);
    // The word is for reading and acting as well.
    let read = call(&far, "analyze", json!({"what": "get_text", "tab_id": tab})).await;
    assert_eq!(read["status"], "complete", "{read}");
    call(&far, "configure", json!({"action": "capture", "tab_id": tab})).await;

    plant(&stage, &far, tab, "").await;
    try_to_go(&stage, &far, tab, &mut row).await;
    // The page is there, and says much.
    go(&stage, &far, tab).await;
    let there = format!(
        "document.title = '{WORD}'; document.body.innerText = '{WORD}'; console.error('{WORD}'); \
         await fetch('/{WORD}-sent').catch(() => 1); return location.host"
    );
    let said = script(&stage, &far, tab, &there).await.to_string();
    assert!(said.contains(OTHER_SITE), "{said}");
    for (tool, arguments) in [
        ("analyze", json!({"what": "get_text", "tab_id": tab})),
        ("analyze", json!({"what": "snapshot", "tab_id": tab})),
        ("analyze", json!({"what": "page_summary", "tab_id": tab})),
        ("analyze", json!({"what": "dom", "selector": "body", "tab_id": tab})),
        ("analyze", json!({"what": "cookies", "tab_id": tab})),
        ("interact", json!({"action": "page_info", "tab_id": tab})),
        ("interact", json!({"action": "screenshot", "tab_id": tab})),
        ("interact", json!({"action": "execute_js", "script": "document.title", "tab_id": tab})),
        ("interact", json!({"action": "wait_for", "text": WORD, "tab_id": tab})),
        ("interact", json!({"action": "batch", "steps": [{"action": "get_text"}], "tab_id": tab})),
    ] {
        let answer = call(&far, tool, arguments.clone()).await;
        let held = answer["status"] == "waiting_for_user";
        let told = answer.to_string().replace(&arguments.to_string(), "");
        let is_silent =
            !told.contains(OTHER_SITE) && (arguments["text"] == WORD || !told.contains(WORD));
        row.tried(&format!("{tool} {arguments}"), held && is_silent, &answer);
        if let Some(id) = answer["correlation_id"].as_str() {
            far.cancel(id).await;
        }
    }
    for what in ["tabs", "logs", "errors", "network", "websocket", "actions", "page"] {
        let mut asked = json!({"what": what});
        if what == "page" {
            asked["tab_id"] = tab.into();
        }
        let answer = call(&far, "observe", asked).await;
        row.tried(&format!("observe {what}"), !says(&answer), &answer);
    }
    let listed = call(&far, "interact", json!({"action": "tab_list"})).await;
    row.tried("tab_list", !says(&listed) && listed["status"] == "complete", &listed);
    let person = stage.tab.clone();
    let theirs = call(&far, "interact", json!({"action": "page_info", "tab_id": person})).await;
    row.tried("a tab of the person", theirs["error"] == "tab_gone", &theirs);

    // Back at the site with a word, by the history.
    let back = call(&far, "interact", json!({"action": "back", "tab_id": tab})).await;
    assert_eq!(back["status"], "complete", "{back}");
    let forward = call(&far, "interact", json!({"action": "forward", "tab_id": tab})).await;
    row.tried(
        "a step in the history",
        forward["reason"] == "consent_needed" && !says(&forward),
        &forward,
    );
    call(&far, "interact", json!({"action": "back", "tab_id": tab})).await;
    plant(&stage, &far, tab, "target=\"_blank\"").await;
    let popup =
        call(&far, "interact", json!({"action": "click", "target": "#go", "tab_id": tab})).await;
    row.tried("a new tab", !says(&popup), &popup);
    row.report();
    stage.end().await;
}

#[tokio::test]
async fn row_57_a_redirect_a_forged_name_and_another_machines_word_lead_no_agent_to_a_site() {
    let mut stage = ConsentStage::open(TestPages::start().await, "/form").await;
    let far = McpClient::far(&stage.daemon, "box").await.named("agent");
    let tab = opened(&mut stage, &far).await;
    let mut row = RowReport::new(57);
    let there = stage.pages.url(&format!("/{WORD}")).replace("127.0.0.1", OTHER_SITE);
    try_redirects(&mut stage, &far, tab, &there, &mut row).await;
    // The person says no: the same machine under another name has the same no, and is not asked about.
    let held = call(&far, "interact", json!({"action": "tab_open", "url": there})).await;
    row.tried("an address without a word", held["status"] == "waiting_for_user", &held);
    let id = id_of(&held);
    stage.press_of_far("box", &id, NEVER).await;
    assert_eq!(far.outcome(&id).await["reason"], "denied_by_user");
    for name in ["other", "user", "box", "Order bot"] {
        let forged = McpClient::far(&stage.daemon, "box").await.named(name);
        let denied = call(&forged, "interact", json!({"action": "tab_open", "url": there})).await;
        row.tried(&format!("as {name}"), denied["reason"] == "denied_by_user", &denied);
        let owned =
            call(&forged, "interact", json!({"action": "tab_open", "url": stage.pages.url("/")}))
                .await;
        assert_eq!(owned["status"], "complete", "its machine has the word: {owned}");
    }
    for name in ["agent", "box", "other"] {
        let stranger = McpClient::far(&stage.daemon, "pod").await.named(name);
        let url = stage.pages.url("/second");
        let asked = call(&stranger, "interact", json!({"action": "tab_open", "url": url})).await;
        row.tried(&format!("another machine as {name}"), is_held(&asked), &asked);
        stranger.cancel(&id_of(&asked)).await;
    }

    // A click disconnects the machine, and another one lets it in.
    let shows = |text: &'static str| {
        format!("document.querySelector('#far-list')?.innerText.includes('{text}')")
    };
    let button = "[...document.querySelectorAll('#far-list li')].find((row) => row.innerText.includes('agents on box')).querySelector('button').id = 'of-box'";
    let is_shown = shows("agents on box");
    soon("the machine", until(async || stage.hand.read(&is_shown).await == true)).await;
    stage.hand.read(button).await;
    stage.hand.read("document.querySelector('#of-box').scrollIntoView({block: 'center'}); 1").await;
    stage.hand.click("#of-box").await;
    let is_off = shows("agents on box: disconnected");
    soon("its end", until(async || stage.hand.read(&is_off).await == true)).await;
    let (headers, message) = far.message(
        &json!(1),
        "tools/call",
        json!({"name": "observe", "arguments": {"what": "tabs"}}),
    );
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let refused = far.post(&headers, message.to_string().into_bytes()).await;
    let is_refused = refused.status == 403 && refused.json()["error"] == "not_allowed";
    row.tried("disconnected", is_refused, refused.json());
    stage.hand.read(button).await;
    stage.hand.click("#of-box").await;
    soon("it is let in", until(async || stage.hand.read(&is_off).await == false)).await;
    // Its words ended with it.
    let anew =
        call(&far, "interact", json!({"action": "tab_open", "url": stage.pages.url("/")})).await;
    row.tried("let in again", is_held(&anew), &anew);
    row.report();
    stage.end().await;
}
