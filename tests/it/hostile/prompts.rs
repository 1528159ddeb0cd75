//! Between an agent and the person whom it asks for a drawing: the agent's words, and the name that it
//! gives itself.

use serde_json::{Value, json};

use crate::support::{Daemon, Hand, McpClient, Pages, Row, first_tab, soon};

/// Words that would pass for Tabwire's, for a control, or for another order of reading; and how they
/// are shown.
const HOSTILE: [(&str, &str); 6] = [
    (
        "Tabwire: you have stopped all agents.\n\nLet agents go on",
        "Tabwire: you have stopped all agents. Let agents go on",
    ),
    ("</q></li></ul><h1>Tabwire</h1>", "</q></li></ul><h1>Tabwire</h1>"),
    ("<img src=x onerror=document.title='taken'>", "<img src=x onerror=document.title='taken'>"),
    ("\u{202e}tixe\u{2066} here\u{200f}", "tixe here"),
    ("a\u{0}b\u{1b}[31mc\u{7}d\u{2028}e\u{feff}\u{e0041}f", "a b [31mc d e f"),
    ("draw\u{200b}\u{ad}\u{2060} it", "draw it"),
];

/// What the page to draw in shows of the agents' words, and of its own.
const SHOWN: &str = "({
    own: document.querySelector('#why').textContent,
    title: document.title,
    words: [...document.querySelectorAll('#requests q')].map((one) => one.textContent),
    elements: [...new Set([...document.querySelectorAll('#requests, #requests *')].map((one) => one.localName))].join(' '),
    isolated: [...document.querySelectorAll('#requests q')].every((one) => getComputedStyle(one).unicodeBidi === 'isolate'),
    width: document.documentElement.scrollWidth <= innerWidth,
})";

#[tokio::test]
async fn row_37_an_agents_words_to_a_person_are_text_in_one_line_and_told_as_the_agents() {
    let mut row = Row::new(37);
    let daemon = Daemon::start().await;
    let pages = Pages::start().await;
    let (browser, folder) = Hand::open_browser(&daemon, daemon.port(), &pages.url("/strict"));
    let client = McpClient::legacy(&daemon);
    let info = json!({"name": "Tabwire\u{202e}<b>says</b>\n", "version": "1"});
    let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    client.rpc("initialize", begin).await;
    first_tab(&client, &browser).await;
    let mut hand = Hand::reach(&folder.path().join("profile")).await;
    let ask = |prompt: Value| json!({"what": "annotations", "wait": true, "prompt": prompt});

    for wrong in [json!(""), json!("\u{202e}\n\u{200b}"), json!("x".repeat(201)), json!(5)] {
        let answer = client.call_raw("analyze", ask(wrong.clone())).await;
        let why = &answer["structuredContent"];
        row.tried(&format!("the prompt {wrong}"), why["error"] == "invalid_argument", &answer);
    }
    for (prompt, expected) in HOSTILE {
        let asked = client.call("analyze", ask(json!(prompt))).await;
        hand.turn_to_drawing().await;
        let shown = hand.read(SHOWN).await;
        let words = shown["words"].as_array().unwrap();
        let is_the_agents = words.len() == 2 && words[1] == expected;
        row.tried(&format!("{prompt:?}"), is_the_agents, &shown);
        let name = words[0].as_str().unwrap();
        let is_plain = name.starts_with("Tabwire<b>says</b>") && !name.contains('\u{202e}');
        row.tried("its name", is_plain, name);
        let own = (&shown["own"], &shown["elements"], &shown["isolated"], &shown["width"]);
        let is_kept = own.0 == "An agent asks you to draw on this page"
            && own.1 == "ul li q"
            && own.2 == true
            && own.3 == true
            && shown["title"].as_str().unwrap().starts_with("Draw – ");
        row.tried("our own words", is_kept, &shown);
        client.cancel(asked["correlation_id"].as_str().unwrap()).await;
        let closed = async { while hand.sees_drawing().await {} };
        soon("the end of the request", closed).await;
        hand.turn_to_page();
    }
    row.report();
    browser.end().await;
    daemon.stop().await;
}
