//! A team's places with a real Chromium in one of them: `make demo-places` shows it.

use serde_json::{Value, json};
use testkit::{TestPages, soon, until};

use super::ask_first::{ALWAYS, press_button};
use super::popup::{Profile, popup, shows};
use crate::fleet::cluster::TeamCluster;

/// The value that comes back.
fn value(told: &Value) -> &Value {
    assert_eq!(told["status"], "complete", "{told}");
    &told["result"]["value"]
}

#[tokio::test]
async fn an_agent_of_a_team_reads_a_page_of_a_place_whose_server_is_killed_on_the_way() {
    let Some(mut team) = TeamCluster::start().await else { return };
    let pages = TestPages::start().await;
    let place = &team.places[0];
    let profile = Profile::new(&place.sandbox.home(), place.port());
    let (browser, mut hand) = profile.open(&pages.url("/form")).await;
    hand.open_beside(&popup()).await;
    shows(&mut hand, "Connected").await;
    let (mut agent, mut other) = (team.agent(0, 0), team.agent(1, 0));
    agent.until_there().await;
    other.until_there().await;

    let page = json!({"action": "tab_open", "url": pages.url("/second")});
    let held = agent.call("a page that waits for the person's word", page).await;
    assert_eq!(held["status"], "waiting_for_user", "{held}");
    let id = held["correlation_id"].as_str().unwrap().to_owned();
    press_button(&mut hand, &id, "ci@acme", ALWAYS).await;
    let asked = json!({"what": "command_result", "correlation_id": id, "wait_ms": 20_000});
    let tab = value(&agent.observe(asked).await)["tab_id"].clone();
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": tab});
    assert_eq!(value(&agent.call("the title", title.clone()).await), "Second Page");

    // In the middle of a call.
    let begun = pages.hits("/form");
    let slow = "await fetch('/form'); return new Promise(done => setTimeout(() => done(document.title), 3000))";
    let slow = json!({"action": "execute_js", "script": slow, "tab_id": tab, "wait_ms": 20_000});
    agent.begin(slow).await;
    soon("the script", until(async || pages.hits("/form") > begun)).await;
    team.kill_server(0).await;
    assert_eq!(value(&agent.result().await), "Second Page", "by another server");

    team.places[1].kill().await;
    let none = json!({"action": "execute_js", "script": "1", "tab_id": 7});
    let gone =
        async || other.call("a place that is gone", none.clone()).await["error"] == "place_offline";
    soon("the end of the place", until(gone)).await;
    assert_eq!(value(&agent.call("the title again", title).await), "Second Page");
    browser.end().await;
    team.end().await;
}
