//! Agents that keep a tab of the person for themselves while the person uses it.

use serde_json::{Value, json};

use crate::browser::popup::popup;
use testkit::{
    BrowserUser, McpClient, RowReport, StdioClient, Stopwatch, TestDaemon, TestPages, body, cli_of,
    first_tab, soon, until,
};

/// Time alone ends a hold after 30 s: the person's input has to be much quicker.
const QUICK_MS: u128 = 15_000;

/// A script that hears the person's keys and clicks before all others, and lets nobody else hear them.
const SWALLOW: &str = "for (const type of ['pointerdown', 'mousedown', 'click', 'keydown']) \
    addEventListener(type, (event) => event.stopImmediatePropagation(), true); 1";

/// Whether another agent may act in the tab.
async fn may_act(other: &McpClient, tab: &Value) -> bool {
    let act = json!({"action": "execute_js", "script": "1", "tab_id": tab, "wait_ms": 20_000});
    let answer = body(&other.call_raw("interact", act).await);
    assert!(answer["status"] == "complete" || answer["error"] == "tab_in_use", "{answer}");
    answer["status"] == "complete"
}

#[tokio::test]
async fn row_52_no_agent_holds_a_tab_of_the_person_against_the_persons_own_input() {
    let mut row = RowReport::new(52);
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/form"));
    let other = McpClient::legacy(&daemon).named("Other");
    let tab = first_tab(&other, &browser).await;
    let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
    let mut greedy = StdioClient::spawn(cli_of(&daemon, &["mcp", "--tools", "split,state"]));
    greedy.initialize("Greedy").await;

    let script = |script: &str| ("execute_js", json!({"script": script}));
    let ways = [
        ("an act", vec![script("1")]),
        (
            "looks and waits",
            vec![script("1"), ("snapshot", json!({})), ("wait_for", json!({"target": "body"}))],
        ),
        (
            "a command that is held for the person",
            vec![script("1"), ("storage", json!({"area": "cookies", "operation": "get"}))],
        ),
        ("a script that swallows clicks", vec![script(SWALLOW), script("1")]),
        (
            "a new page",
            vec![("navigate", json!({"url": pages.url("/form?again")})), script(SWALLOW)],
        ),
    ];
    for (way, calls) in ways {
        for (tool, mut arguments) in calls {
            arguments["tab_id"] = tab.clone();
            let came = greedy.call_raw(tool, arguments).await;
            assert!(!came.to_string().contains("unknown_tool"), "{tool}: {came}");
        }
        assert!(!may_act(&other, &tab).await, "{way}: it is held at first");
        let watch = Stopwatch::start();
        let given_way = until(async || {
            hand.click("body").await;
            may_act(&other, &tab).await
        });
        soon(way, given_way).await;
        row.tried(way, watch.millis() < QUICK_MS, watch.millis());
    }

    // Where a page hides the person's input, the popup takes the tab back.
    greedy.call("execute_js", json!({"script": SWALLOW, "tab_id": tab})).await;
    assert!(!may_act(&other, &tab).await);
    hand.open_beside(&popup()).await;
    let back =
        format!("chrome.runtime.sendMessage({{ask: 'take_tab', tab_id: {tab}}}).then(() => 1)");
    hand.read(&back).await;
    soon("the tab in the popup", until(async || may_act(&other, &tab).await)).await;
    row.tried("the popup", true, "taken back");
    row.report();
    greedy.kill().await;
    browser.end().await;
    daemon.stop().await;
}
