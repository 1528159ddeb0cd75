//! What the way to a place costs: `make bench-places`. Calls of an agent by two servers of a cluster and calls of the
//! place's own machine, in blocks by turns; and how soon a call to a place without a home is answered.

use serde_json::json;
use testkit::{StdioClient, Stopwatch, soon, until};

use super::cluster::TeamCluster;
use super::trouble::answers_of_nobody;
use super::{PlaceStage, script};
use crate::cli::places::fleet;

const BLOCKS: usize = 15;
const CALLS: usize = 100;

/// Required: how much longer a whole command takes, at the median and at the 99th percentile, in ms.
const ADDED: f64 = 1.0;
const ADDED_AT_MOST: f64 = 5.0;

/// Required: within this time a call is answered whose place has no home any more, in µs at the median.
const GONE: u128 = 5_000;

/// How long each of some calls took, one after the other, in ms.
async fn one_by_one(agent: &mut StdioClient, tab: i64) -> Vec<f64> {
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let mut arguments = script("1");
        arguments["tab_id"] = tab.into();
        let watch = Stopwatch::start();
        agent.ask(&"a".into(), "interact", arguments).await;
        let told = agent.late_answer(&"a".into()).await;
        took.push(watch.micros() as f64 / 1e3);
        assert_eq!(told["result"]["isError"], false, "{told}");
    }
    took
}

/// The value below which this part of all values is.
fn at(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * part) as usize]
}

#[tokio::test]
#[ignore = "a measurement: make bench-places"]
async fn what_the_way_by_two_servers_costs() {
    let Some(mut team) = TeamCluster::start().await else { return };
    // The agent is at the first server, and its place at another one.
    while team.server_of_home(0).is_none_or(|own| own == 0) {
        team.places[0].kill().await;
        team.places[0].serve().await;
        soon("the home", until(async || team.server_of_home(0).is_some())).await;
    }
    let place = &team.places[0];
    let _browser = place.browser().await;
    let (address, creds) = team.way(0, 0);
    let words = ["mcp", "--connect", &address, "--creds", &creds];
    let mut far = StdioClient::spawn(fleet(&place.sandbox, &words)).without_checks();
    let mut near = StdioClient::spawn(fleet(&place.sandbox, &["mcp"])).without_checks();
    let (mut added, mut added_at_most) = (Vec::new(), Vec::new());
    for block in 0..=BLOCKS {
        // Each in a tab of its own: a tab has one client.
        let (mut own, mut local) = (one_by_one(&mut far, 7).await, one_by_one(&mut near, 8).await);
        // The first is a warm-up.
        if block > 0 {
            let [p50, p99] = [0.5, 0.99].map(|part| (at(&mut own, part), at(&mut local, part)));
            println!(
                "p50 {:.2} ms there, {:.2} ms here; p99 {:.2} ms there, {:.2} ms here",
                p50.0, p50.1, p99.0, p99.1
            );
            added.push(p50.0 - p50.1);
            added_at_most.push(p99.0 - p99.1);
        }
    }
    let (added, added_at_most) = (at(&mut added, 0.5), at(&mut added_at_most, 0.5));
    println!(
        "added, as the median of {BLOCKS} blocks of {CALLS} calls: {added:.2} ms of {ADDED} at p50, {added_at_most:.2} \
         ms of {ADDED_AT_MOST} at p99"
    );
    team.end().await;
    assert!(added <= ADDED && added_at_most <= ADDED_AT_MOST);
}

#[tokio::test]
#[ignore = "a measurement: make bench-places"]
async fn how_soon_a_call_to_a_place_without_a_home_is_answered() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, mut machine, browser, caller, .. } = stage;
    let _browser = browser.auto(|_| json!({"value": 1}));
    let mut far = caller.mcp();
    far.call("interact", script("1")).await;
    machine.kill_home().await;
    let took = answers_of_nobody(&mut far, 99).await;
    println!("p50 of a place without a home: {} µs of {GONE}", took[49]);
    assert!(took[49] <= GONE, "{took:?} µs");
}
