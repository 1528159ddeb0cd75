//! Two agents in one browser: neither waits for the other's tab, and two on one connection get their own
//! results.

use serde_json::{Value, json};

use super::Stage;
use testkit::{McpClient, StdioClient, Stopwatch, body, cli_of};

/// How many calls a median is of.
const CALLS: usize = 41;

/// By how many milliseconds a median may be longer than by the promised fifth: a machine does other
/// work meanwhile.
const NOISE: u128 = 8;

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
        took.push(watch.millis());
    }
    took.sort_unstable();
    took[CALLS / 2]
}

#[tokio::test]
async fn a_script_of_10_seconds_in_one_agents_tab_delays_no_call_of_another_in_its_own() {
    let stage = Stage::set().await;
    let page = stage.pages.url("/form");
    let other = McpClient::legacy(&stage.daemon).named("Other");
    let (slow, quick) = (open(&stage.client, &page).await, open(&other, &page).await);
    median(&other, &quick).await;
    let alone = median(&other, &quick).await;
    let script = "await new Promise((done) => setTimeout(done, 10_000)); return 'over'";
    let long =
        json!({"action": "execute_js", "script": script, "tab_id": slow, "timeout_ms": 20_000});
    let id = stage.client.submit(long).await;
    let beside = median(&other, &quick).await;
    let is_running = stage.client.status(&id).await["status"] == "pending";
    assert!(is_running, "the script ended before the other agent was measured");
    assert!(
        beside <= alone * 6 / 5 + NOISE,
        "a call took {alone} ms alone and {beside} ms beside the script"
    );
    stage.client.cancel(&id).await;
    stage.end().await;
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
