//! Pages that would get files which the person or the rules keep from them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tabwire::home::FolderAccess;

use testkit::{
    BrowserUser, McpClient, OTHER_SITE, RowReport, TestDaemon, TestPages, body, first_tab,
};

/// A browser, and a file in a folder that is open to agents.
struct Shop {
    daemon: TestDaemon,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    tab: Value,
    _dirs: [tempfile::TempDir; 2],
    cat: PathBuf,
}

impl Shop {
    async fn open() -> Self {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let (browser, profile) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&client, &browser).await;
        let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
        let shop = dir.path().canonicalize().unwrap();
        let cat = shop.join("cat.png");
        fs::write(&cat, "cat").unwrap();
        daemon.home().open_agent_folder(&shop, &[FolderAccess::Read]).unwrap();
        Self { daemon, client, pages, browser, tab, _dirs: [profile, dir], cat }
    }

    async fn interact(&self, mut params: Value) -> Value {
        params["tab_id"] = self.tab.clone();
        params["wait_ms"] = 20_000.into();
        params["trace"] = true.into();
        body(&self.client.call_raw("interact", params).await)
    }

    /// The value that a script gives.
    async fn value(&self, script: &str) -> Value {
        let answer = self.interact(json!({"action": "execute_js", "script": script})).await;
        assert_eq!(answer["status"], "complete", "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }

    async fn upload(&self, mut params: Value) -> Value {
        params["action"] = "upload_file".into();
        params["paths"] = json!([self.cat]);
        params["timeout_ms"] = 4_000.into();
        self.interact(params).await
    }

    /// Shows this in place of the page.
    async fn show(&self, body: &str, script: &str) {
        let script = format!("document.body.innerHTML = {}; {script}; return 1", json!(body));
        self.value(&script).await;
    }

    fn copies(&self) -> usize {
        let uploads = self.daemon.home().dir().join("uploads");
        fs::read_dir(uploads).map_or(0, Iterator::count)
    }

    /// The page at a site that is denied from now on.
    async fn deny(&self) -> String {
        let deny = json!({"action": "site_rules", "pattern": OTHER_SITE});
        self.client.call("configure", deny).await;
        self.pages.url("/").replace("127.0.0.1", OTHER_SITE)
    }
}

#[tokio::test]
async fn row_39_a_field_that_changes_after_the_check_takes_no_file_for_another() {
    let shop = Shop::open().await;
    let mut row = RowReport::new(39);
    for (what, change) in [
        ("its kind", "field.type = field.type === 'file' ? 'text' : 'file'"),
        ("its place", "const next = field.cloneNode(); field.replaceWith(next); field = next"),
        ("its document", "frame.contentDocument.body.append(field)"),
    ] {
        let script = format!(
            "let field = document.getElementById('f'); \
             const frame = document.querySelector('iframe'); clearInterval(window.turning); \
             window.turning = setInterval(() => {{ {change} }}, 3)"
        );
        let body = "<iframe></iframe><input id=bait type=file><input id=f type=file>";
        shop.show(body, &script).await;
        for _ in 0..5 {
            let answer = shop.upload(json!({"target": "#f"})).await;
            let is_whole = match answer["status"].as_str() {
                Some("complete") => answer["result"]["value"]["files"][0]["name"] == "cat.png",
                Some("error") => !answer["hint"].as_str().unwrap_or_default().is_empty(),
                _ => false,
            };
            let bait = "return document.getElementById('bait').files.length";
            let is_safe = shop.value(bait).await == 0;
            row.tried(what, is_whole && is_safe, &answer);
        }
    }
    row.report();
    shop.end().await;
}

#[tokio::test]
async fn row_39_a_denied_site_gets_no_file_in_a_frame_nor_by_a_page_that_leaves_for_it() {
    let shop = Shop::open().await;
    let denied = shop.deny().await;
    let mut row = RowReport::new(39);
    let frame = format!("<iframe src=\"{denied}\" style=\"width: 300px; height: 200px\"></iframe>");
    let loaded = "await new Promise((done) => document.querySelector('iframe').onload = done)";
    shop.show(&frame, loaded).await;
    for params in [
        json!({"target": "iframe input"}),
        json!({"target": "iframe", "drop": true}),
        json!({"target": "iframe"}),
    ] {
        let answer = shop.upload(params.clone()).await;
        row.tried(&params.to_string(), answer["status"] == "error", &answer);
    }
    row.tried("copies for a denied frame", shop.copies() == 0, shop.copies());

    let body = "<div id=zone style=\"width: 300px; height: 300px\">here</div>";
    let leaves = format!(
        "document.getElementById('zone').ondragover = (event) => {{ \
         event.preventDefault(); location.href = '{denied}' }}"
    );
    shop.show(body, &leaves).await;
    let left = shop.upload(json!({"target": "#zone", "drop": true})).await;
    let is_blocked = left["reason"] == "blocked_by_policy";
    let is_silent = !left.to_string().contains(OTHER_SITE);
    row.tried("a page that leaves", is_blocked || is_silent, &left);
    let before = shop.copies();
    let there = shop.upload(json!({"target": "body", "drop": true})).await;
    let is_refused = there["status"] == "error" && there["reason"] == "blocked_by_policy";
    row.tried("the denied page", is_refused && shop.copies() == before, &there);
    row.report();
    shop.end().await;
}
