//! What breaks on the way: homes, servers and machines that stop, and users that change.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use testkit::{StdioClient, Stopwatch, body, signal, soon, until};

use super::{AGENT, PLACE, PlaceMachine, PlaceStage, failure, script};

/// Ten times what is required of optimized programs, which `cost.rs` measures: other tests run meanwhile.
const GONE: Duration = Duration::from_millis(50);

/// Long after the agent's machine knows that a command was accepted, in ms.
const TOLD: u64 = 300;

/// Required: within this time a call ends whose place is gone without a word, in ms.
const SILENT: u64 = 15_000;

/// Required: within this time a call in flight has its answer after a reload, in ms.
const RELOADED: u64 = 2_000;

#[tokio::test]
async fn a_call_to_a_place_whose_home_was_killed_is_answered_at_once() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, mut machine, browser, caller, .. } = stage;
    let browser = browser.auto(|_| json!({"value": 1}));
    let mut agent = caller.mcp();
    agent.call("interact", script("1")).await;
    machine.kill_home().await;
    let took = answers_of_nobody(&mut agent, 9).await;
    println!("a place without a home: {} µs", took[4]);
    assert!(took[4] <= GONE.as_micros(), "{took:?} µs");
    // The next home is found by itself.
    machine.join().await;
    agent.call("interact", script("3")).await;
    assert_eq!(browser.runs().len(), 2, "{:?}", browser.runs());
}

/// How long calls to a place without a home take until they are answered, in µs, the shortest first.
pub(super) async fn answers_of_nobody(agent: &mut StdioClient, calls: usize) -> Vec<u128> {
    let mut took = Vec::new();
    for n in 0..calls {
        let watch = Stopwatch::start();
        agent.ask(&json!(n), "interact", script("nobody()")).await;
        let told = agent.answer(&json!(n)).await;
        took.push(watch.micros());
        assert_eq!(failure(&told), ("place_offline".to_owned(), Some(false)), "{told}");
    }
    took.sort_unstable();
    took
}

#[tokio::test]
async fn of_a_call_whose_home_is_killed_the_agent_is_told_that_it_may_have_run_or_gets_its_result()
{
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, mut machine, mut browser, caller, .. } = stage;
    let mut agent = caller.mcp();
    agent.ask(&"a".into(), "interact", script("work()")).await;
    let command = browser.command().await;
    browser.claim(&command).await;
    machine.kill_home().await;
    machine.join().await;
    // The daemon has it under its key, so it is found again and does not run again.
    browser.complete(&command, &json!({"value": 7})).await;
    let told = body(&agent.answer(&"a".into()).await["result"]);
    assert_eq!(
        (&told["status"], &told["correlation_id"]),
        (&json!("complete"), &json!(command.id))
    );
    browser.expect_nothing().await;
    // Nobody comes back.
    agent.ask(&"b".into(), "interact", script("more()")).await;
    let command = browser.command().await;
    browser.claim(&command).await;
    told_of_acceptance(&mut agent).await;
    machine.kill_home().await;
    let watch = Stopwatch::start();
    let told = agent.late_answer(&"b".into()).await;
    assert_eq!(failure(&told), ("place_lost".to_owned(), Some(true)), "{told}");
    // It had been accepted: once the place is there again, its result is there under this id.
    let told = body(&told["result"]);
    assert_eq!(told["correlation_id"], json!(command.id), "{told}");
    assert!(told["hint"].as_str().unwrap().contains("command_result"), "{told}");
    assert!(watch.is_under(SILENT), "{} ms", watch.millis());
}

#[tokio::test]
async fn a_call_in_flight_whose_place_falls_silent_without_a_word_ends_within_fifteen_seconds() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, machine, mut browser, caller, .. } = stage;
    let mut agent = caller.mcp();
    agent.ask(&"a".into(), "interact", script("work()")).await;
    let command = browser.command().await;
    browser.claim(&command).await;
    told_of_acceptance(&mut agent).await;
    // The server holds its connection for as long as that of a machine without power.
    signal(machine.home().pid(), Signal::STOP);
    let watch = Stopwatch::start();
    let told = agent.late_answer(&"a".into()).await;
    println!("a place that fell silent: {} ms", watch.millis());
    signal(machine.home().pid(), Signal::CONT);
    assert_eq!(failure(&told), ("place_lost".to_owned(), Some(true)), "{told}");
    assert_eq!(body(&told["result"])["correlation_id"], json!(command.id), "{told}");
    assert!(watch.is_under(SILENT), "{} ms", watch.millis());
}

/// Waits until a command of the agent is accepted that has not ended, and its own machine knows.
async fn told_of_acceptance(agent: &mut StdioClient) {
    let accepted = until(async || {
        let told = agent.call_raw("observe", json!({"what": "pending_commands"})).await;
        body(&told)["pending"].as_array().is_some_and(|pending| pending.len() == 1)
    });
    soon("what was accepted", accepted).await;
    // Home waits for a moment whether the result comes with it.
    let watch = Stopwatch::start();
    let told = until(async || watch.millis() > TOLD.into());
    soon("the word of the acceptance", told).await;
}

#[tokio::test]
async fn a_call_without_an_answer_in_its_time_ends_with_place_timeout_and_may_have_run() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, machine, browser, caller, .. } = stage;
    let _browser = browser.auto(|_| json!({"value": 1}));
    let mut agent = caller.mcp();
    agent.call("interact", script("1")).await;
    // The home takes the call, and the daemon behind it says nothing any more.
    signal(machine.daemon.pid(), Signal::STOP);
    agent.ask(&"a".into(), "observe", json!({"what": "tabs"})).await;
    let told = agent.late_answer(&"a".into()).await;
    signal(machine.daemon.pid(), Signal::CONT);
    assert_eq!(failure(&told), ("place_timeout".to_owned(), Some(true)), "{told}");
    let told = body(&told["result"]);
    assert!(told["message"].as_str().unwrap().contains("within 10 s"), "{told}");
    assert!(told["hint"].as_str().unwrap().contains("look before you call again"), "{told}");
}

#[tokio::test]
async fn a_call_outlives_the_server_and_its_result_comes_by_the_next_one() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { mut server, machine: _machine, mut browser, caller, .. } = stage;
    let mut agent = caller.mcp();
    agent.ask(&"a".into(), "interact", script("work()")).await;
    let command = browser.command().await;
    browser.claim(&command).await;
    server.kill().await;
    server.run().await;
    browser.complete(&command, &json!({"value": 7})).await;
    let told = body(&agent.answer(&"a".into()).await["result"]);
    assert_eq!(
        (&told["status"], &told["correlation_id"]),
        (&json!("complete"), &json!(command.id))
    );
    browser.expect_nothing().await;
}

#[tokio::test]
async fn calls_that_lay_before_a_home_that_slept_do_not_run_when_it_wakes() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, machine, browser, caller, .. } = stage;
    let browser = browser.auto(|_| json!({"value": 1}));
    let mut agent = caller.mcp();
    agent.call("interact", script("1")).await;
    signal(machine.home().pid(), Signal::STOP);
    for n in 0..2 {
        agent.ask(&json!(n), "interact", script(&format!("late_{n}()"))).await;
    }
    // The second does not wait for the first to be accepted, so both may lie there.
    for n in 0..2 {
        let told = agent.late_answer(&json!(n)).await;
        assert_eq!(failure(&told), ("place_lost".to_owned(), Some(true)), "{told}");
    }
    signal(machine.home().pid(), Signal::CONT);
    // The next one comes after all that lay there.
    let next = until(async || {
        agent.ask(&"next".into(), "interact", script("next()")).await;
        agent.late_answer(&"next".into()).await["result"]["isError"] == false
    });
    soon("the next call", next).await;
    assert_eq!(browser.runs().len(), 2, "{:?}", browser.runs());
}

#[tokio::test]
async fn users_that_are_read_again_and_changed_meanwhile_disturb_no_call() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { mut server, machine: _machine, browser, caller, .. } = stage;
    let browser = browser.auto(|_| json!({"value": 1}));
    let mut agent = caller.mcp();
    agent.call("interact", script("first()")).await;
    for round in 0..4 {
        let watch = Stopwatch::start();
        agent.ask(&json!(round), "interact", script(&format!("call_{round}()"))).await;
        if round % 2 == 0 {
            server.reload().await;
        } else {
            server.agent(&format!("other-{round}"), &[PLACE]).await;
        }
        // A reload forgets that the home may reply: it asks the agent to ask again.
        let told = agent.late_answer(&json!(round)).await;
        assert_eq!(told["result"]["isError"], false, "{told}");
        assert!(watch.is_under(RELOADED), "{} ms", watch.millis());
    }
    let runs = browser.runs();
    assert_eq!((runs.len(), runs.values().max()), (5, Some(&1)), "{runs:?}");
}

#[tokio::test]
async fn a_call_in_flight_while_users_are_read_again_has_its_answer_at_once() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server, machine: _machine, mut browser, caller, .. } = stage;
    let mut agent = caller.mcp();
    for round in 0..3 {
        agent.ask(&json!(round), "interact", script(&format!("work_{round}()"))).await;
        let command = browser.command().await;
        browser.claim(&command).await;
        server.reload().await;
        let watch = Stopwatch::start();
        browser.complete(&command, &json!({"value": 7})).await;
        let told = body(&agent.answer(&json!(round)).await["result"]);
        println!("an answer after a reload: {} ms", watch.millis());
        assert_eq!(told["status"], "complete", "{told}");
        assert!(watch.is_under(RELOADED), "{} ms", watch.millis());
    }
    browser.expect_nothing().await;
}

#[tokio::test]
async fn of_two_homes_of_one_place_the_younger_takes_no_call_and_both_say_so() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, place, mut machine, browser, caller, .. } = stage;
    let browser = browser.auto(|_| json!({"value": 1}));
    let (other, mut other_browser) = PlaceMachine::without_home(&place, &[AGENT]).await;
    let mut younger = other.begin_to_join();
    let told = younger.until("TwoHomes").await;
    assert!(told.contains("answers: false"), "{told}");
    let told = machine.home.as_mut().unwrap().until("TwoHomes").await;
    assert!(told.contains("answers: true"), "{told}");
    let mut agent = caller.mcp();
    agent.call("interact", script("1")).await;
    assert_eq!(browser.runs().len(), 1);
    other_browser.expect_nothing().await;
}
