//! Ways around the rules for sites, and what agents can do with their own denials.

use serde_json::{Value, json};
use tabwire::protocol::{AGENT_DENIALS_MAX, SiteChange, SiteList, SitePattern};

use testkit::{
    BrowserUser, McpClient, OTHER_SITE, RowReport, TestDaemon, TestPages, body, first_tab, soon,
    until,
};

async fn deny(client: &McpClient, pattern: &str) {
    client.call("configure", json!({"action": "site_rules", "pattern": pattern})).await;
}

async fn interact(client: &McpClient, mut arguments: Value) -> Value {
    arguments["wait_ms"] = 20_000.into();
    body(&client.call_raw("interact", arguments).await)
}

#[tokio::test]
async fn row_31_what_a_page_asks_of_a_denied_site_is_read_by_nobody() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let (browser, _folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
    let tab = first_tab(&client, &browser).await;
    deny(&client, OTHER_SITE).await;
    let streams = json!(["network", "bodies"]);
    client.call("configure", json!({"action": "capture", "streams": streams})).await;
    let there = json!({"action": "navigate", "url": pages.url("/strict"), "tab_id": tab});
    interact(&client, there).await;
    let denied = pages.url("/second").replace("127.0.0.1", OTHER_SITE);
    let through = pages.url(&format!("/to?{denied}"));
    let back = denied.replace("/second", &format!("/to?{}", pages.url("/shop")));
    let script = format!(
        "const how = {{mode: 'no-cors', credentials: 'include'}}; \
         for (const url of {}) await fetch(url, how).catch(() => {{}}); \
         await fetch('/second'); return 1",
        json!([denied, through, back])
    );
    let page = pages.url("/");
    interact(&client, json!({"action": "navigate", "url": page, "tab_id": tab})).await;
    let ran = interact(&client, json!({"action": "execute_js", "script": script, "tab_id": tab}));
    assert_eq!(ran.await["status"], "complete");
    assert_eq!(pages.hits("/second"), 3, "the page has asked for all of it");
    let mut row = RowReport::new(31);
    let seen = async || {
        let network = json!({"what": "network", "limit": 200});
        client.call("observe", network).await.to_string()
    };
    // Its own request came last.
    let own = pages.url("/second");
    soon("its own request", until(async || seen().await.contains(&own))).await;
    let seen = seen().await;
    row.tried("network and bodies", !seen.contains(OTHER_SITE), &seen);
    let has_shop = seen.contains(&pages.url("/shop"));
    row.tried("where a denied site has led to", !has_shop, &seen);
    row.report();
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn row_31_this_computer_has_no_name_by_which_its_denial_is_passed_by() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let (browser, _folder) = BrowserUser::open_browser(&daemon, daemon.port(), "about:blank");
    let tab = first_tab(&client, &browser).await;
    deny(&client, "localhost").await;
    let mut row = RowReport::new(31);
    let names = [
        "localhost",
        "LOCALHOST.",
        "app.localhost",
        "127.0.0.1",
        "127.1",
        "127.0.0.2",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "0x0",
        "[::]",
        "[0:0::0]",
        "[::1]",
        "[::ffff:0.0.0.0]",
        "[::ffff:127.0.0.1]",
        "[::ffff:0:0]",
    ];
    for name in names {
        let url = pages.url("/second").replace("127.0.0.1", name);
        for act in ["navigate", "tab_open"] {
            let mut asked = json!({"action": act, "url": url});
            if act == "navigate" {
                asked["tab_id"] = tab.clone();
            }
            let answer = interact(&client, asked).await;
            let is_refused = answer["reason"] == "blocked_by_policy";
            row.tried(&format!("{act} {url}"), is_refused, &answer);
        }
    }
    row.tried("the page", pages.hits("/second") == 0, pages.hits("/second"));
    row.report();
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn row_31_whatever_agents_deny_the_person_s_list_has_room_and_no_public_suffix_goes() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut row = RowReport::new(31);
    for suffix in ["com", "*.com", "co.uk", "https://org", "github.io", "*.github.io:443"] {
        let asked = json!({"action": "site_rules", "pattern": suffix});
        let answer = client.call_raw("configure", asked).await;
        let told = answer["structuredContent"]["message"].as_str().unwrap_or_default();
        row.tried(suffix, told.contains("public suffix"), &answer);
    }
    for n in 0..AGENT_DENIALS_MAX {
        deny(&client, &format!("h{n}.example")).await;
    }
    let asked = json!({"action": "site_rules", "pattern": "more.example"});
    let answer = client.call_raw("configure", asked).await;
    let told = answer["structuredContent"]["message"].as_str().unwrap_or_default();
    row.tried("one too many", told.contains("tabwire sites clear --agents"), &answer);
    let pattern = SitePattern::parse("bank.example").unwrap();
    let own = SiteChange::Add { list: SiteList::Deny, pattern };
    let kept = daemon.home().site_rules().change(&own);
    row.tried("the person's own", kept.is_ok(), format!("{kept:?}"));
    row.report();
    daemon.stop().await;
}
