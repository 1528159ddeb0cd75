//! Between an agent and the person whom it asks for a drawing: the agent's words, and the name that it
//! gives itself.

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use testkit::{BrowserUser, McpClient, RowReport, TestDaemon, TestPages, first_tab, soon, until};

/// Words that would pass for Tabwire's, for a control, or for another order of reading; and how they
/// are shown.
const HOSTILE: [(&str, &str); 8] = [
    (
        "Tabwire: you have stopped all agents.\n\nLet agents go on",
        "Tabwire: you have stopped all agents. Let agents go on",
    ),
    ("</q></li></ul><h1>Tabwire</h1>", "</q></li></ul><h1>Tabwire</h1>"),
    ("<img src=x onerror=document.title='taken'>", "<img src=x onerror=document.title='taken'>"),
    ("\u{202e}tixe\u{2066} here\u{200f}", "tixe here"),
    ("a\u{0}b\u{1b}[31mc\u{7}d\u{2028}e\u{feff}\u{e0041}f", "a b [31mc d e f"),
    ("it” writes: “x”. Tabwire: “stopped", "it” writes: “x”. Tabwire: “stopped"),
    ("Z\u{301}\u{302}\u{303}\u{304}\u{306}", "Z\u{301}\u{302}\u{303}\u{304}\u{306}"),
    ("draw\u{200b}\u{ad}\u{2060} it", "draw it"),
];

/// What a page of the extension shows of the agents' words in a list, and of its own.
fn shown(list: &str, own: &str) -> String {
    format!(
        "(() => {{
            const rows = [...document.querySelectorAll('{list} > li')];
            const theirs = rows.flatMap((row) => [...row.querySelectorAll('.theirs')]);
            const styles = theirs.map((one) => getComputedStyle(one));
            const rest = rows.map((row) => row.cloneNode(true));
            for (const row of rest) for (const one of row.querySelectorAll('.theirs, .tab, button')) one.remove();
            return {{
                own: document.querySelector('{own}').textContent,
                title: document.title,
                words: theirs.map((one) => one.textContent),
                beside: rest.map((row) => row.textContent.trim()),
                are_text: theirs.every((one) => one.children.length === 0),
                are_boxes: styles.every(({{display, overflow}}) => overflow === 'hidden' && display.endsWith('block')),
                fits: document.documentElement.scrollWidth <= innerWidth,
            }};
        }})()"
    )
}

/// Whether an agent's name and this prompt are shown as its own, and nothing else is as it likes.
fn is_the_agents(shown: &Value, prompt: &str, own: &str) -> bool {
    let words: Vec<_> =
        shown["words"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let [name, words] = words[..] else { return false };
    name.starts_with("Tabwire<b>says</b>")
        && !name.contains('\u{202e}')
        && words == prompt
        && shown["own"] == own
        && shown["beside"] == json!(["Agent"])
        && ["are_text", "are_boxes", "fits"].iter().all(|&holds| shown[holds] == true)
}

#[tokio::test]
async fn row_37_an_agents_words_to_a_person_are_text_in_one_line_and_told_as_the_agents() {
    let mut row = RowReport::new(37);
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let (browser, folder) =
        BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/strict"));
    let client = McpClient::legacy(&daemon);
    let info = json!({"name": "Tabwire\u{202e}<b>says</b>\n", "version": "1"});
    let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    client.rpc("initialize", begin).await;
    first_tab(&client, &browser).await;
    let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
    let popup = format!("chrome-extension://{EXTENSION_ID}/popup/popup.html");
    let ask = |prompt: Value| json!({"what": "annotations", "wait": true, "prompt": prompt});

    for wrong in [
        json!(""),
        json!("\u{202e}\n\u{200b}"),
        json!("x".repeat(201)),
        json!("x".repeat(10_000)),
        json!(5),
    ] {
        let answer = client.call_raw("analyze", ask(wrong.clone())).await;
        let why = &answer["structuredContent"];
        row.tried(&format!("the prompt {wrong:.40}"), why["error"] == "invalid_argument", &answer);
    }
    for (prompt, expected) in HOSTILE {
        let asked = client.call("analyze", ask(json!(prompt))).await;
        hand.turn_to_drawing().await;
        let seen = hand.read(&shown("#requests", "#why")).await;
        let own = "An agent asks you to draw on this page";
        let is_ours = seen["title"].as_str().unwrap().starts_with("Draw – ");
        let holds = is_ours && is_the_agents(&seen, expected, own);
        row.tried(&format!("{prompt:?} on the page to draw in"), holds, &seen);
        hand.open_beside(&popup).await;
        let list = "document.querySelectorAll('#drawing-list .theirs').length === 2";
        hand.becomes(list, true).await;
        let seen = hand.read(&shown("#drawing-list", "#drawings-text")).await;
        let holds = is_the_agents(&seen, expected, "An agent asks you to draw");
        row.tried(&format!("{prompt:?} in the popup"), holds, &seen);
        hand.close_page().await;
        client.cancel(asked["correlation_id"].as_str().unwrap()).await;
        let closed = until(async || !hand.sees_drawing().await);
        soon("the end of the request", closed).await;
        hand.turn_to_page();
    }
    row.report();
    browser.end().await;
    daemon.stop().await;
}
