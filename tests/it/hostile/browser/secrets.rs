//! Secrets on a real page and in what it sends: what an agent is told of them.

use serde_json::{Value, json};
use tabwire::demo::Browser;

use testkit::{BrowserUser, McpClient, RowReport, TestDaemon, TestPages, first_tab, soon, until};

const CARD: &str = "4111 1111 1111 1111";
const DASHED_CARD: &str = "5555-5555-5555-4444";
const OTP: &str = "482913";
const PIN: &str = "739146";
const PASSWORD: &str = "hunter2-was-here";
const SID: &str = "5f3a9c1e7b2d4f60";

/// How each of them would be told.
const SECRETS: [&str; 7] = [CARD, "4111111111111111", DASHED_CARD, OTP, PIN, PASSWORD, SID];

fn page() -> String {
    format!(
        r#"<main><h1>Pay</h1><p id="told">Your card {CARD} 12/27, or {DASHED_CARD}.</p>
        <a href="/next?sid={SID}&page=2">Next</a>
        <form name="pay" action="/pay?otp={OTP}">
        <label>Card <input name="cardnumber" value="{CARD}"></label>
        <label>Note <input name="note" id="note" value="{CARD}"></label>
        <label>Code <input name="c" autocomplete="one-time-code" value="{OTP}"></label>
        <label>PIN <input name="x" value="{PIN}"></label>
        <label>Word <input id="word" type="password" name="w"></label>
        <div id="rich" contenteditable aria-label="Passwort">{PASSWORD}</div>
        <textarea name="kennwort">{PASSWORD}</textarea>
        <button>Pay with {DASHED_CARD}</button></form></main>"#
    )
}

/// What the page sends: a multipart form, XML, JSON and a form.
fn requests(url: &str) -> String {
    format!(
        r#"console.log('otp: {OTP}'); console.log({{pass: '{PASSWORD}'}}); console.log('paid with {CARD}');
        const send = (n, body, type) => fetch('{url}?n=' + n + '&sid={SID}',
            {{method: 'POST', body, headers: type ? {{'content-type': type}} : {{}}}});
        const form = new FormData();
        form.append('user', 'ann'); form.append('password', '{PASSWORD}'); form.append('pin', '{PIN}');
        await send(1, form);
        await send(2, '<login><user>ann</user><Kennwort>{PASSWORD}</Kennwort><pin>{PIN}</pin></login>', 'application/xml');
        await send(3, JSON.stringify({{name: 'password', value: '{PASSWORD}', otp: ['{OTP}'], card: '{CARD}',
            session: {{id: '{SID}'}}}}), 'application/json');
        await send(4, new URLSearchParams({{user: 'ann', 'contraseña': '{PASSWORD}', 'user[pin]': '{PIN}', card: '{CARD}'}}));
        1"#
    )
}

struct Stage {
    daemon: TestDaemon,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    folder: tempfile::TempDir,
    tab: Value,
}

impl Stage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&client, &browser).await;
        Self { daemon, client, pages, browser, folder, tab }
    }

    async fn interact(&self, mut arguments: Value) {
        arguments["wait_ms"] = 20_000.into();
        arguments["tab_id"] = self.tab.clone();
        let answer = self.client.call("interact", arguments).await;
        assert_eq!(answer["status"], "complete", "{answer}");
    }

    async fn run(&self, script: &str) {
        self.interact(json!({"action": "execute_js", "script": script})).await;
    }

    async fn observe(&self, what: &str) -> Vec<Value> {
        let call = json!({"what": what, "limit": 200});
        self.client.call("observe", call).await["entries"].as_array().unwrap().clone()
    }
}

/// Tries whether something tells a secret.
fn try_on(row: &mut RowReport, what: &str, told: &Value) {
    let text = told.to_string();
    for secret in SECRETS {
        row.tried(&format!("{secret} in {what}"), !text.contains(secret), &text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_33_analyses_and_recordings_tell_no_secret_that_has_a_name_or_a_shape() {
    let stage = Stage::set().await;
    let capture = json!({"action": "capture", "tab_id": stage.tab,
        "streams": ["logs", "network", "bodies", "actions"]});
    stage.client.call("configure", capture).await;
    stage.interact(json!({"action": "navigate", "url": stage.pages.url("/form")})).await;
    stage.run(&format!("document.body.innerHTML = {}; 1", json!(page()))).await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    hand.click("#word").await;
    hand.type_text(PASSWORD).await;
    hand.click("#note").await;
    // The button that shows a password.
    stage.run("document.querySelector('#word').type = 'text'; 1").await;
    hand.click("#word").await;
    hand.type_text("!").await;
    hand.click("#told").await;

    let mut row = RowReport::new(33);
    for call in [
        json!({"what": "dom", "selector": "*", "limit": 100}),
        json!({"what": "dom", "selector": "input", "limit": 100}),
        json!({"what": "accessibility"}),
        json!({"what": "accessibility", "selector": "form"}),
        json!({"what": "page_summary"}),
    ] {
        let answer = stage.client.call("analyze", call.clone()).await;
        assert_eq!(answer["status"], "complete", "{answer}");
        try_on(&mut row, &call.to_string(), &answer["result"]);
        // What is no secret is told.
        let text = answer["result"].to_string();
        let is_of_page = call["selector"] == "*" || call["what"] == "page_summary";
        assert!(!is_of_page || text.contains("Your card [redacted] 12/27"), "{text}");
        assert!(call["selector"] != "input" || text.contains("\"filled\":true"), "{text}");
    }

    stage.run(&requests(&stage.pages.url("/late"))).await;
    let sent = async || {
        let entries = stage.observe("network").await;
        entries.iter().filter(|entry| entry["method"] == "POST").count() == 4
    };
    soon("four requests", until(sent)).await;
    for what in ["logs", "network", "actions", "errors"] {
        let entries = stage.observe(what).await;
        assert!(what == "errors" || !entries.is_empty(), "{what}");
        try_on(&mut row, what, &entries.into());
    }
    let posted = stage.observe("network").await;
    for request in posted.iter().filter(|entry| entry["method"] == "POST") {
        let ask = json!({"what": "network", "request_id": request["request_id"]});
        let read = async || stage.client.call("observe", ask.clone()).await["bodies"].clone();
        soon("its bodies", until(async || read().await[0].is_object())).await;
        let bodies = read().await;
        try_on(&mut row, "bodies", &bodies);
        let body = bodies[0]["request_body"].as_str().unwrap_or_default();
        assert!(body.contains("[redacted]"), "it was there: {bodies}");
    }
    stage.browser.end().await;
    stage.daemon.stop().await;
    row.report();
}
