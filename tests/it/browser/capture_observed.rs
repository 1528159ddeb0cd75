//! What pages say is read back by `observe`, once `configure capture` has switched it on. Real
//! Chromium with the real extension and the real daemon.

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tokio::net::TcpListener;

use testkit::{BrowserUser, LATE, McpClient, TestDaemon, TestPages, first_tab, soon, until};

/// A daemon, a browser that is connected to it, pages and a client.
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

    async fn capture(&self, streams: &[&str]) {
        let ask = json!({"action": "capture", "tab_id": self.tab, "streams": streams});
        self.client.call("configure", ask).await;
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
        let answer = self.client.call("observe", json!({"what": what})).await;
        answer["entries"].as_array().unwrap_or_else(|| panic!("{what}: {answer}")).clone()
    }

    /// Waits for an entry that has this in it.
    async fn entry(&self, what: &str, text: &str) -> Value {
        let find = async || {
            let entries = self.observe(what).await;
            entries.into_iter().find(|entry| entry.to_string().contains(text))
        };
        soon(text, until(async || find().await.is_some())).await;
        find().await.unwrap()
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

#[tokio::test]
async fn lines_an_exception_a_failing_and_a_slow_request_are_read_back() {
    let stage = Stage::set().await;
    stage.capture(&["logs", "network", "websocket"]).await;
    stage.interact(json!({"action": "navigate", "url": stage.pages.url("/form")})).await;
    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let late = stage.pages.url("/late");
    stage
        .run(&format!(
            "console.log('a plain line'); console.error('a bad line');
             setTimeout(() => {{ throw new TypeError('cart is undefined') }});
             await fetch('http://127.0.0.1:{closed}/', {{mode: 'no-cors'}}).catch(() => 0);
             await fetch('{late}')"
        ))
        .await;
    assert_eq!(stage.entry("logs", "a plain line").await["level"], "log");
    assert_eq!(stage.entry("errors", "a bad line").await["level"], "error");
    assert_eq!(stage.entry("errors", "cart is undefined").await["source"], "exception");
    let refused = stage.entry("network", &format!("127.0.0.1:{closed}")).await;
    assert_eq!(refused["error"], "net::ERR_CONNECTION_REFUSED");
    let slow = stage.entry("network", "/late").await;
    assert_eq!(slow["status"], 200);
    assert!(slow["duration_ms"].as_f64().unwrap() >= LATE.as_millis() as f64, "{slow}");
    stage.end().await;
}

#[tokio::test]
async fn what_a_person_does_and_how_the_page_came_are_read_back_without_a_password() {
    let stage = Stage::set().await;
    stage.capture(&["actions", "performance"]).await;
    stage.interact(json!({"action": "navigate", "url": stage.pages.url("/form")})).await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    hand.click("#password").await;
    hand.type_text("hunter2").await;
    hand.click("#send").await;
    stage.entry("actions", "\"submit\"").await;
    assert_eq!(stage.entry("actions", "\"masked\"").await["kind"], "change");
    let told = Value::from(stage.observe("actions").await).to_string();
    assert!(!told.contains("hunter"), "{told}");
    let came = stage.entry("performance", "/form").await;
    assert!(came["metrics"]["ttfb_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{came}");
    stage.end().await;
}
