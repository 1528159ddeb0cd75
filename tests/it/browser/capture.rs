//! What the extension records of real pages in a real Chromium: only what it is told to, only
//! where, and nothing that nobody should read. The relay stands in for the daemon's settings.

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tabwire::demo::Browser;
use tokio::net::TcpListener;

use testkit::{
    BrowserUser, FrameRelay, LATE, McpClient, TestDaemon, TestPages, first_tab, kill_worker,
};

/// A daemon, a relay before it, a browser that is connected through it, pages and a client.
struct Stage {
    daemon: TestDaemon,
    relay: FrameRelay,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    folder: tempfile::TempDir,
    tab: Value,
}

const EVERYTHING: [&str; 6] = ["logs", "network", "bodies", "websocket", "actions", "performance"];

impl Stage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let relay = FrameRelay::start(daemon.port()).await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let (browser, folder) =
            BrowserUser::open_browser_behind(&daemon, relay.port(), &pages.url("/"));
        let tab = first_tab(&client, &browser).await;
        Self { daemon, relay, client, pages, browser, folder, tab }
    }

    /// What is to be recorded of the one tab from here on.
    fn capture(&self, streams: &[&str]) {
        self.relay.capture(json!({"tabs": [{"tab_id": self.tab, "streams": streams}]}));
    }

    async fn interact(&self, mut arguments: Value) -> Value {
        arguments["wait_ms"] = 20_000.into();
        let answer = self.client.call("interact", arguments).await;
        assert_eq!(answer["status"], "complete", "{answer}");
        answer["result"]["value"].clone()
    }

    async fn run(&self, script: &str) -> Value {
        self.interact(json!({"action": "execute_js", "script": script, "tab_id": self.tab})).await
    }

    async fn go(&self, path: &str) {
        let url = self.pages.url(path);
        self.interact(json!({"action": "navigate", "url": url, "tab_id": self.tab})).await;
    }

    /// Waits for a line of the log that has this in it.
    async fn line(&self, text: &str) -> Value {
        let has = |entry: &Value| entry["text"].as_str().is_some_and(|line| line.contains(text));
        self.relay.entry("logs", has).await
    }

    /// Waits for the request of this URL.
    async fn request(&self, url: &str) -> Value {
        self.relay.entry("network", |entry| entry["url"] == url).await
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// Answers every WebSocket with what it says.
pub(super) async fn echo() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let socket = tokio_tungstenite::accept_async(stream).await.ok()?;
                let (to, from) = socket.split();
                from.forward(to).await.ok()
            });
        }
    });
    port
}

/// A port where nobody listens.
async fn closed_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn lines_exceptions_and_requests_of_a_page_are_told_with_what_explains_them() {
    let stage = Stage::set().await;
    stage.run("console.log('before anybody asked')").await;
    stage.capture(&EVERYTHING);
    stage.go("/form").await;
    stage
        .run(
            "console.log('cart %s', 'full', {items: 2}); console.warn('careful');
             setTimeout(() => { throw new TypeError('cart is undefined') });",
        )
        .await;
    let line = stage.line("cart full").await;
    assert_eq!(line["text"], "cart full {items: 2}");
    assert_eq!(
        (&line["level"], &line["source"], &line["tab_id"], &line["url"]),
        (&json!("log"), &json!("console"), &stage.tab, &json!(stage.pages.url("/form")))
    );
    assert_eq!(stage.line("careful").await["level"], "warn");
    let thrown = stage.line("cart is undefined").await;
    assert_eq!(thrown["text"], "Uncaught TypeError: cart is undefined");
    assert_eq!((&thrown["level"], &thrown["source"]), (&json!("error"), &json!("exception")));

    // The page itself, from its first byte.
    let page = stage.request(&stage.pages.url("/form")).await;
    assert_eq!((&page["status"], &page["resource_type"]), (&json!(200), &json!("document")));
    let refused = format!("http://127.0.0.1:{}/", closed_port().await);
    let late = stage.pages.url("/late");
    stage
        .run(&format!(
            "await fetch('{refused}', {{mode: 'no-cors'}}).catch(() => 0);
             await fetch('{late}', {{method: 'POST', body: 'sum=9.5', headers: {{authorization: 'Bearer secret'}}}})"
        ))
        .await;
    assert_eq!(stage.request(&refused).await["error"], "net::ERR_CONNECTION_REFUSED");
    let slow = stage.request(&late).await;
    assert!(slow["ttfb_ms"].as_f64().unwrap() >= LATE.as_millis() as f64, "{slow}");
    assert!(slow["duration_ms"].as_f64() >= slow["ttfb_ms"].as_f64(), "{slow}");
    assert!(!slow.to_string().contains("secret"), "{slow}");
    let body = stage.relay.entry("bodies", |entry| entry["url"] == late.as_str()).await;
    assert_eq!(body["request_body"], "sum=9.5", "{body}");
    assert!(body["response_body"].as_str().unwrap().contains("Late Page"), "{body}");

    let told = |stream: &str| Value::from(stage.relay.entries(stream)).to_string();
    assert!(!told("logs").contains("before anybody asked"), "recording is off until told so");
    // What is in the network's own entry is not told twice.
    assert!(!told("logs").contains("ERR_CONNECTION_REFUSED"), "{}", told("logs"));
    stage.end().await;
}

#[tokio::test]
async fn messages_of_a_websocket_are_told_in_both_directions() {
    let stage = Stage::set().await;
    stage.capture(&["websocket"]);
    stage.go("/form").await;
    let port = echo().await;
    stage
        .run(&format!(
            "const socket = new WebSocket('ws://127.0.0.1:{port}/live');
             await new Promise(done => socket.onopen = done); socket.send('hello');
             await new Promise(done => socket.onmessage = done); socket.close()"
        ))
        .await;
    stage.relay.entry("websocket", |entry| entry["event"] == "close").await;
    let told = stage.relay.entries("websocket");
    let events: Vec<_> = told.iter().map(|entry| entry["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["open", "sent", "received", "close"]);
    assert_eq!((&told[1]["text"], &told[2]["text"]), (&json!("hello"), &json!("hello")));
    assert_eq!(told[2]["url"], format!("ws://127.0.0.1:{port}/live"));
    stage.end().await;
}

#[tokio::test]
async fn what_a_person_does_is_told_without_their_password_on_strict_pages_too() {
    let stage = Stage::set().await;
    stage.capture(&["actions", "performance"]);
    stage.go("/form").await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    stage.run("document.querySelector('#go').click()").await;
    hand.click("#name").await;
    hand.type_text("Ann").await;
    hand.click("#password").await;
    hand.type_text("hunter2").await;
    hand.click("#send").await;
    let submitted = stage.relay.entry("actions", |entry| entry["kind"] == "submit").await;
    assert_eq!(submitted["url"], stage.pages.url("/form"));
    let told = stage.relay.entries("actions");
    let of = |kind: &str, selector: &str| {
        let same = |e: &&Value| e["kind"] == kind && e["target"]["selector"] == selector;
        told.iter().find(same).cloned().unwrap_or_default()
    };
    assert_eq!(told[0]["kind"], "navigate");
    assert_eq!(of("change", "#name")["value"], "Ann");
    assert_eq!(of("change", "#password")["masked"], true);
    assert_eq!(of("click", "#send")["target"]["text"], "Send");
    assert!(!Value::from(told.clone()).to_string().contains("hunter"), "{told:?}");
    assert_eq!(of("click", "#go"), Value::Null, "what script makes up is nobody's action");

    let form = stage.pages.url("/form");
    let came = stage.relay.entry("performance", |entry| entry["url"] == form.as_str()).await;
    for metric in ["ttfb_ms", "dom_content_loaded_ms", "load_ms"] {
        assert!(came["metrics"][metric].as_f64().is_some_and(|ms| ms > 0.0), "{came}");
    }
    stage.go("/strict").await;
    hand.click("h1").await;
    let strict = stage.pages.url("/strict");
    let on_strict = |entry: &Value| entry["kind"] == "click" && entry["url"] == strict.as_str();
    stage.relay.entry("actions", on_strict).await;
    stage.end().await;
}

#[tokio::test]
async fn recording_outlives_the_worker_and_ends_when_it_is_told() {
    let stage = Stage::set().await;
    stage.capture(&["logs"]);
    stage.run("console.log('first life')").await;
    stage.line("first life").await;
    kill_worker(&stage.browser);
    stage.run("console.log('second life')").await;
    stage.line("second life").await;
    let lives = |entry: &&Value| entry["text"].as_str().unwrap().contains("life");
    assert_eq!(stage.relay.entries("logs").iter().filter(lives).count(), 2, "each line once");

    stage.capture(&[]);
    stage.run("console.log('after it ended')").await;
    stage.capture(&["logs"]);
    stage.run("console.log('and again')").await;
    stage.line("and again").await;
    let told = Value::from(stage.relay.entries("logs")).to_string();
    assert!(!told.contains("after it ended"), "{told}");
    stage.end().await;
}

#[tokio::test]
async fn a_tab_that_opens_is_recorded_from_its_first_request_if_all_are() {
    let stage = Stage::set().await;
    stage.relay.capture(json!({"all": ["network"]}));
    let url = stage.pages.url("/second");
    let opened = stage.interact(json!({"action": "tab_open", "url": url})).await;
    let page = stage.request(&url).await;
    assert_eq!(page["tab_id"], opened["tab_id"]);
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_logs_without_end_does_not_hold_up_the_commands_of_other_tabs() {
    let stage = Stage::set().await;
    let home = stage.pages.url("/second");
    let other = stage.interact(json!({"action": "tab_open", "url": home})).await["tab_id"].clone();
    stage.capture(&["logs"]);
    stage.go("/form").await;
    let flood = "window.n = 0; setInterval(() => { for (let i = 0; i < 500; i++) \
                 console.log('flood', n++) }, 1); 1";
    stage.run(flood).await;
    stage.line("more than can be recorded").await;
    let mut took = Vec::new();
    for _ in 0..12 {
        // The first waits for the lines that the browser has in its queue, on a busy machine for seconds.
        let script =
            json!({"action": "execute_js", "script": "1", "tab_id": other, "timeout_ms": 19_000});
        let answer = stage.client.call("interact", with_wait(script)).await;
        assert_eq!(answer["result"]["value"], 1, "{answer}");
        took.push(answer["duration_ms"].as_f64().unwrap());
    }
    took.sort_by(f64::total_cmp);
    assert!(took[took.len() / 2] < 3_000.0, "{took:?}");
    let frames = stage.relay.entries("logs");
    assert!(frames.len() < 20_000, "{}", frames.len());
    stage.end().await;
}

fn with_wait(mut arguments: Value) -> Value {
    arguments["wait_ms"] = 20_000.into();
    arguments
}
