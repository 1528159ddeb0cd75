//! Tabwire's own pages: an agent that opens, reads, records or names one, from inside a real Chromium.

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tabwire::protocol::EXTENSION_ID;

use testkit::{
    BrowserUser, McpClient, RowReport, TestDaemon, TestPages, body, first_tab, soon, until,
};

/// The person's browser, and an agent that may use every site.
struct Victim {
    daemon: TestDaemon,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    hand: BrowserUser,
    tab: Value,
    _folder: tempfile::TempDir,
}

impl Victim {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&client, &browser).await;
        let hand = BrowserUser::reach(&folder.path().join("profile")).await;
        Self { daemon, client, pages, browser, hand, tab, _folder: folder }
    }

    /// The page of the daemon that any person can open.
    fn own(&self) -> String {
        format!("http://127.0.0.1:{}/dashboard", self.daemon.port())
    }

    /// Every spelling of the daemon's and the extension's pages.
    fn every_name(&self) -> Vec<String> {
        let fixture = include_str!("../../../fixtures/own_pages.json");
        let fixture: Value = serde_json::from_str(fixture).unwrap();
        let port = self.daemon.port().to_string();
        let own = fixture["own"].as_array().unwrap().iter().map(|url| url.as_str().unwrap());
        let ours = own.filter(|url| url.contains("7890") || url.contains("EXTENSION"));
        ours.map(|url| url.replace("7890", &port).replace("EXTENSION", EXTENSION_ID)).collect()
    }

    async fn answer(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["wait_ms"] = 20_000.into();
        body(&self.client.call_raw(tool, arguments).await)
    }

    async fn tabs(&self) -> Value {
        let listed = self.answer("interact", json!({"action": "tab_list"})).await;
        listed["result"]["value"].clone()
    }

    /// Whether a text names a page of the daemon or of the extension.
    fn is_named_in(&self, text: &str) -> bool {
        let port = self.daemon.port();
        let hosts =
            [format!("127.0.0.1:{port}"), format!("localhost:{port}"), EXTENSION_ID.to_owned()];
        hosts.iter().any(|host| text.contains(host))
    }

    async fn go_home(&self) {
        let home = json!({"action": "navigate", "url": self.pages.url("/"), "tab_id": self.tab});
        let came = self.answer("interact", home).await;
        assert_eq!(came["status"], "complete", "{came}");
    }

    /// Everything that an agent can do in a tab.
    async fn touch_all(&self, row: &mut RowReport, what: &str, tab: &Value) {
        let acts = [
            json!({"action": "execute_js", "script": "document.body.innerText"}),
            json!({"action": "screenshot"}),
            json!({"action": "page_info"}),
            json!({"action": "refresh"}),
            json!({"action": "back"}),
            json!({"action": "click", "target": "body"}),
            json!({"action": "press_key", "key": "Tab"}),
            json!({"action": "navigate", "url": self.pages.url("/second")}),
            json!({"action": "tab_activate"}),
            json!({"action": "tab_close"}),
        ];
        for mut act in acts {
            act["tab_id"] = tab.clone();
            let name = format!("{} in {what}", act["action"]);
            refused(row, &name, &self.answer("interact", act).await);
        }
        for look in ["dom", "snapshot", "page_summary", "accessibility", "performance"] {
            let asked = json!({"what": look, "tab_id": tab, "selector": "body"});
            let asked = if look == "dom" { asked } else { json!({"what": look, "tab_id": tab}) };
            refused(row, &format!("{look} in {what}"), &self.answer("analyze", asked).await);
        }
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// The daemon refuses with the code, or knows no such tab; the extension refuses with the code.
fn refused(row: &mut RowReport, what: &str, answer: &Value) {
    let failed = &answer["result"]["value"]["failed"]["reason"];
    let words = [&answer["error"], &answer["reason"], failed];
    let is_refused = words.iter().any(|word| **word == "tabwire_page" || **word == "tab_gone");
    row.tried(what, is_refused, answer);
}

#[tokio::test]
async fn row_47_an_agent_opens_no_page_of_tabwire_by_any_name_or_way() {
    let victim = Victim::set().await;
    let mut row = RowReport::new(47);
    let before = victim.tabs().await;
    for url in victim.every_name() {
        let tab = &victim.tab;
        let ways = [
            json!({"action": "navigate", "url": url, "tab_id": tab}),
            json!({"action": "tab_open", "url": url}),
            json!({"action": "batch", "tab_id": tab, "steps": [{"action": "navigate", "url": url}]}),
        ];
        for way in ways {
            let name = format!("{} {url:?}", way["action"]);
            refused(&mut row, &name, &victim.answer("interact", way).await);
        }
    }
    // The daemon does not see an address that an earlier step has made.
    let port = victim.daemon.port();
    for host in ["127.0.0.1", "localhost", "127.1", "0x7f.1", "[::1]", "2130706433", "0.0.0.0"] {
        let script = format!("'http://{host}:' + {port} + '/dashboard'");
        let steps = json!([{"action": "execute_js", "script": script, "as": "made"},
                           {"action": "navigate", "url": "{{made}}"}]);
        let batch = json!({"action": "batch", "tab_id": victim.tab, "steps": steps});
        refused(&mut row, &format!("made {host}"), &victim.answer("interact", batch).await);
    }
    let after = victim.tabs().await;
    row.tried("no tab was opened, and none went there", after == before, &after);

    let redirect = victim.pages.url(&format!("/to?{}", victim.own()));
    let there = json!({"action": "navigate", "url": redirect, "tab_id": victim.tab});
    refused(&mut row, "a redirect", &victim.answer("interact", there).await);
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": victim.tab});
    refused(&mut row, "after the redirect", &victim.answer("interact", title).await);
    row.report();
    victim.end().await;
}

#[tokio::test]
async fn row_47_a_page_that_leads_there_shows_nothing_and_takes_the_agent_no_further() {
    let mut victim = Victim::set().await;
    let mut row = RowReport::new(47);
    let (own, tab) = (victim.own(), victim.tab.clone());
    let run = |script: &str, gesture: bool| json!({"action": "execute_js", "script": script, "user_gesture": gesture, "tab_id": tab});
    // A link, and a window.
    let link = format!(
        "document.body.innerHTML = '<a id=own style=\"font-size:40px\" href=\"{own}\">Own</a>'; return 1"
    );
    let click = json!({"action": "click", "target": "#own", "tab_id": tab});
    for way in ["here", "beside"] {
        victim.hand.go(&victim.pages.url("/")).await;
        let seen = async || victim.tabs().await.to_string().contains(&tab.to_string());
        soon("the tab is in the list", until(seen)).await;
        victim.answer("interact", run(&link, false)).await;
        if way == "beside" {
            victim
                .answer("interact", run("document.links[0].target = '_blank'; return 1", false))
                .await;
        }
        let clicked = victim.answer("interact", click.clone()).await;
        row.tried(&format!("a click {way}"), !victim.is_named_in(&clicked.to_string()), &clicked);
        if way == "here" {
            victim.touch_all(&mut row, "the page behind a link", &tab).await;
        }
        let listed = victim.tabs().await.to_string();
        row.tried(&format!("tab_list after a click {way}"), !victim.is_named_in(&listed), &listed);
    }
    victim.go_home().await;
    let opened = format!(
        "const w = window.open('{own}'); await new Promise((ok) => setTimeout(ok, 500)); \
                          try {{ return w.document.body.innerText }} catch (error) {{ return error.name }}"
    );
    let opened = victim.answer("interact", run(&opened, true)).await;
    let said = opened["result"]["value"].as_str().unwrap_or_default().to_owned();
    row.tried("window.open", said == "SecurityError" || said == "TypeError", &opened);
    let listed = victim.tabs().await.to_string();
    row.tried("tab_list after window.open", !victim.is_named_in(&listed), &listed);

    // A frame of the agent's own page.
    let framed = format!(
        "const frame = document.createElement('iframe'); frame.src = '{own}'; document.body.append(frame); \
         await new Promise((ok) => {{ frame.onload = ok; setTimeout(ok, 3000) }}); \
         try {{ return String(frame.contentDocument?.body?.innerText ?? 'closed') }} catch (error) {{ return error.name }}"
    );
    let framed = victim.answer("interact", run(&framed, false)).await;
    let said = framed["result"]["value"].as_str().unwrap_or_default().to_owned();
    row.tried("a frame", said == "closed" || said == "SecurityError", &framed);
    for look in ["snapshot", "accessibility", "page_summary"] {
        let seen = victim.answer("analyze", json!({"what": look, "tab_id": tab})).await.to_string();
        let is_clean = !victim.is_named_in(&seen) && !seen.contains("foreign_origin");
        row.tried(&format!("{look} of a page with such a frame"), is_clean, &seen);
    }
    // The browser shows its own page about a refusal in the frame, and not the answer.
    let shown = victim.hand.read("document.querySelector('iframe').contentDocument === null").await;
    row.tried("the frame is the browser's own", shown == true, &shown);

    // Scripts of a page.
    for options in ["{}", "{mode: 'no-cors'}", "{method: 'POST', body: '{}'}"] {
        let fetched = format!(
            "try {{ const answer = await fetch('{own}', {options}); return answer.type + (await answer.text()) }} \
             catch (error) {{ return error.name }}"
        );
        let fetched = victim.answer("interact", run(&fetched, false)).await;
        let said = fetched["result"]["value"].as_str().unwrap_or_default();
        row.tried(&format!("fetch {options}"), ["TypeError", "opaque"].contains(&said), &fetched);
    }
    row.report();
    victim.end().await;
}

#[tokio::test]
async fn row_47_a_page_of_tabwire_that_the_person_has_open_is_neither_seen_nor_touched() {
    let mut victim = Victim::set().await;
    let mut row = RowReport::new(47);
    let capture = json!({"action": "capture", "streams": ["logs", "network", "actions", "bodies"]});
    victim.client.call("configure", capture).await;
    let popup = format!("chrome-extension://{EXTENSION_ID}/popup/popup.html");
    let localhost = victim.own().replace("127.0.0.1", "localhost");
    for url in [victim.own(), localhost, popup] {
        victim.hand.go(&url).await;
        let hidden = async || !victim.tabs().await.to_string().contains(&victim.tab.to_string());
        soon("the tab is in no list", until(hidden)).await;
        for (tool, asked) in [
            ("observe", json!({"what": "tabs"})),
            ("observe", json!({"what": "browsers"})),
            ("interact", json!({"action": "tab_list"})),
        ] {
            let listed = victim.answer(tool, asked.clone()).await.to_string();
            row.tried(&format!("{asked} beside {url}"), !victim.is_named_in(&listed), &listed);
        }
        victim.touch_all(&mut row, &url, &victim.tab.clone()).await;
    }
    // History leads back to the page of the web, and from there forward to one of Tabwire.
    victim.hand.go(&victim.pages.url("/")).await;
    victim.hand.go(&victim.own()).await;
    victim.hand.read("history.back()").await;
    let is_back = async || victim.tabs().await.to_string().contains(&victim.pages.url("/"));
    soon("the page of the web", until(is_back)).await;
    let forward = json!({"action": "forward", "tab_id": victim.tab});
    refused(&mut row, "forward in the history", &victim.answer("interact", forward).await);

    // What an allowed page says afterwards comes after what the others have said.
    victim.hand.go(&victim.pages.url("/second")).await;
    let say = json!({"action": "execute_js", "script": "console.log('a line of the web')",
                     "tab_id": victim.tab});
    let logs = async || victim.client.call("observe", json!({"what": "logs"})).await.to_string();
    let is_recorded = async || {
        victim.answer("interact", say.clone()).await;
        logs().await.contains("a line of the web")
    };
    soon("what was recorded", until(is_recorded)).await;
    for what in
        ["logs", "network", "network_bodies", "actions", "timeline", "errors", "network_waterfall"]
    {
        let seen = victim.answer("observe", json!({"what": what})).await.to_string();
        row.tried(&format!("observe {what}"), !victim.is_named_in(&seen), &seen);
    }
    row.report();
    victim.end().await;
}
