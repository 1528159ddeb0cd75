//! Two agents in one browser: neither waits for the other's tab, nor for a page that hangs or has
//! crashed, and two on one connection get their own results.

use serde_json::{Value, json};

use super::Stage;
use testkit::{
    McpClient, OTHER_SITE, StdioClient, Stopwatch, TestPages, body, cli_of, kill_busy_page,
};

/// How many calls a median is of.
const CALLS: usize = 41;

/// How many times as long as alone a call may take. The two pages are of different sites, so each has a
/// process of its own, and the loop in one takes one of two cores at most: browser, daemon and test
/// share the rest, which may double the time of a call on a machine of two cores, and more while it
/// does other work. A call that had to wait for the loop in any queue would take seconds, hundreds of
/// times as long.
const SHARE: u128 = 10;

/// How long the loop of a script takes, in ms.
const BUSY_MS: u128 = 10_000;

/// An agent whose page is busy, and another one with a page of another site.
struct Pair {
    stage: Stage,
    other: McpClient,
    /// The tab of the agent of the stage.
    slow: Value,
    /// The tab of the other one.
    quick: Value,
    /// How long a call of the other takes alone, in ms.
    alone: u128,
}

async fn open(client: &McpClient, url: &str) -> Value {
    let call = json!({"action": "tab_open", "url": url, "wait_ms": 20_000});
    client.call("interact", call).await["result"]["value"]["tab_id"].clone()
}

async fn median(client: &McpClient, tab: &Value) -> u128 {
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let watch = Stopwatch::start();
        let call =
            json!({"action": "execute_js", "script": "1 + 1", "tab_id": tab, "wait_ms": 20_000});
        assert_eq!(client.call("interact", call).await["status"], "complete");
        took.push(watch.micros());
    }
    took.sort_unstable();
    took[CALLS / 2]
}

impl Pair {
    async fn open() -> Self {
        let stage = Stage::with_user(TestPages::start().await, &[]).await;
        let page = stage.pages.url("/form");
        let place = page.replace("127.0.0.1", OTHER_SITE);
        let other = McpClient::legacy(&stage.daemon).named("Other");
        let (slow, quick) = (open(&stage.client, &place).await, open(&other, &page).await);
        median(&other, &quick).await;
        let alone = median(&other, &quick).await;
        Self { stage, other, slow, quick, alone }
    }

    async fn begin(&self, mut call: Value) -> String {
        call["tab_id"] = self.slow.clone();
        call["timeout_ms"] = 30_000.into();
        self.stage.client.submit(call).await
    }

    async fn is_pending(&self, id: &str) -> bool {
        self.stage.client.status(id).await["status"] == "pending"
    }

    /// Waits for the end of a command, which may take as long as the script before it.
    async fn outcome(&self, id: &str) -> Value {
        let what = json!({"what": "command_result", "correlation_id": id, "wait_ms": 20_000});
        self.stage.client.call("observe", what).await
    }

    async fn assert_undelayed(&self, meanwhile: &str) {
        let beside = median(&self.other, &self.quick).await;
        let alone = self.alone;
        assert!(
            beside <= alone * SHARE,
            "a call took {alone} us alone and {beside} us while {meanwhile}"
        );
    }
}

#[tokio::test]
async fn a_script_of_10_seconds_in_one_agents_tab_delays_no_call_of_another_in_its_own() {
    let pair = Pair::open().await;
    let watch = Stopwatch::start();
    let script = format!(
        "const end = performance.now() + {BUSY_MS}; while (performance.now() < end); 'over'"
    );
    let id = pair.begin(json!({"action": "execute_js", "script": script})).await;
    // One that waits for the loop in its own lane must not hold up others.
    let behind = pair.begin(json!({"action": "execute_js", "script": "document.title"})).await;
    pair.assert_undelayed("a script of another agent was busy").await;
    assert!(pair.is_pending(&id).await, "the script ended before the other agent was measured");
    assert!(pair.is_pending(&behind).await, "it waits for its turn");
    assert_eq!(pair.outcome(&id).await["result"]["value"], "over");
    assert!(watch.millis() >= BUSY_MS, "it was busy for {} ms", watch.millis());
    assert_eq!(pair.outcome(&behind).await["result"]["value"], "A Form");
    pair.stage.end().await;
}

#[tokio::test]
async fn a_page_that_hangs_and_one_that_has_crashed_delay_no_call_in_another_tab() {
    let pair = Pair::open().await;
    let hangs =
        json!({"action": "execute_js", "script": "setTimeout(() => { for (;;); }, 300); 1"});
    let id = pair.begin(hangs).await;
    assert_eq!(pair.stage.client.outcome(&id).await["status"], "complete");
    let reads =
        pair.begin(json!({"action": "execute_js", "script": "await new Promise(() => {})"})).await;
    pair.assert_undelayed("the page of another hung").await;
    assert!(pair.is_pending(&reads).await, "the page hangs");

    kill_busy_page(&pair.stage.browser).await;
    let ended = pair.outcome(&reads).await;
    assert_eq!(ended["reason"], "tab_crashed", "{ended}");
    pair.assert_undelayed("the page of another had crashed").await;
    pair.stage.end().await;
}

/// Calls of each of two callers.
const ROUNDS: usize = 100;

/// The call of a caller in a round, by which its answer can be told from any other.
fn interleaved(caller: &str, round: usize, tab: &Value) -> Value {
    let script = format!(
        "await new Promise((done) => setTimeout(done, {})); return `${{location.search}} {caller} {round}`",
        (round * 7 + caller.len()) % 11
    );
    match round % 2 {
        0 => json!({"action": "execute_js", "script": script, "tab_id": tab, "wait_ms": 20_000}),
        _ => json!({"action": "page_info", "tab_id": tab, "wait_ms": 20_000}),
    }
}

#[tokio::test]
async fn of_200_interleaved_calls_of_two_callers_on_one_connection_none_gets_the_others_result() {
    let stage = Stage::set().await;
    let mut both = StdioClient::spawn(cli_of(&stage.daemon, &["mcp"]));
    both.initialize("Both").await;
    let mut callers = Vec::new();
    for caller in ["one", "other"] {
        let url = stage.pages.url(&format!("/form?{caller}"));
        let open = json!({"action": "tab_open", "url": url, "wait_ms": 20_000});
        let opened = both.call("interact", open).await;
        callers.push((caller, opened["result"]["value"]["tab_id"].clone()));
    }
    for round in 0..ROUNDS {
        for (caller, tab) in &callers {
            let id = json!(format!("{caller} {round}"));
            both.ask(&id, "interact", interleaved(caller, round, tab)).await;
        }
        for (caller, _) in &callers {
            let answer = both.answer(&json!(format!("{caller} {round}"))).await;
            let told = body(&answer["result"]);
            let value = &told["result"]["value"];
            match round % 2 {
                0 => assert_eq!(*value, format!("?{caller} {caller} {round}"), "{told}"),
                _ => assert!(
                    value["url"].as_str().unwrap().ends_with(&format!("/form?{caller}")),
                    "{told}"
                ),
            }
        }
    }
    both.kill().await;
    stage.end().await;
}
