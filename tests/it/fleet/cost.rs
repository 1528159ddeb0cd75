//! What the way over NATS costs: calls of an agent by one server beside calls of the place's own machine, by turns.

use serde_json::json;
use testkit::{StdioClient, Stopwatch};

use super::trouble::answers_of_nobody;
use super::{PlaceStage, script};

const CALLS: usize = 300;

/// Required: within this time a call is answered whose place has no home any more, in µs at the median.
const GONE: u128 = 5_000;

async fn call(agent: &mut StdioClient, tab: i64) -> u128 {
    let mut arguments = script("1");
    arguments["tab_id"] = tab.into();
    let watch = Stopwatch::start();
    agent.ask(&"a".into(), "interact", arguments).await;
    let told = agent.late_answer(&"a".into()).await;
    assert_eq!(told["result"]["isError"], false, "{told}");
    watch.micros()
}

#[tokio::test]
#[ignore = "a measurement: run it alone, with the program of a release in TABWIRE_PROGRAM"]
async fn what_the_way_over_nats_costs() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, mut machine, browser, caller, .. } = stage;
    let _browser = browser.auto(|_| json!({"value": 1}));
    let mut far = caller.mcp();
    let mut near = StdioClient::start(&machine.sandbox).without_checks();
    let (mut there, mut here) = (Vec::new(), Vec::new());
    for number in 0..CALLS + 20 {
        // Each in a tab of its own: a tab has one client.
        let (own, local) = (call(&mut far, 7).await, call(&mut near, 8).await);
        // The first are a warm-up.
        if number >= 20 {
            there.push(own);
            here.push(local);
        }
    }
    there.sort_unstable();
    here.sort_unstable();
    for (name, at) in [("p50", CALLS / 2), ("p99", CALLS - 4)] {
        println!("{name}: {} µs there, {} µs here", there[at], here[at]);
    }
    machine.kill_home().await;
    let took = answers_of_nobody(&mut far, 99).await;
    println!("p50 of a place without a home: {} µs", took[49]);
    assert!(took[49] <= GONE, "{took:?} µs");
}
