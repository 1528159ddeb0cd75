//! Processes on the way are stopped and killed at random: nothing runs twice, nothing is lost without a word.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use testkit::{SeededRandom, StdioClient, until};
use tokio_util::task::AbortOnDropHandle;

use super::place_run::{PlaceRun, TwoMachines};
use super::ssh::{SshServer, ssh_of};
use crate::storm::{
    CallFate, STILL, ScriptRuns, browser, check_runs, fate_of, hit, script_call, storm_dice,
};

/// How many calls there are.
const CALLS: usize = 200;

/// How many agents make them at the same time.
const AGENTS: usize = 4;

async fn call(agent: &mut StdioClient, script: &str) -> CallFate {
    fate_of(&agent.try_rpc(&script_call(script, 7)).await.expect("the bridge has ended"))
}

/// Another `tabwire reach` in the place of one that was killed. What that has left may take a moment to end.
async fn reach_again(server: &SshServer, machines: &TwoMachines) -> PlaceRun {
    loop {
        if let Some(run) = PlaceRun::try_start(server.reach_with_program(machines)).await {
            return run;
        }
    }
}

/// Stops and kills until it is over, and ends no blow half-way: what it has stopped goes on, and another `tabwire
/// reach` runs in the place of one that it has killed. The run that goes on, and how many blows there were.
async fn storm(
    (server, machines): (&SshServer, &TwoMachines),
    mut run: PlaceRun,
    mut dice: SeededRandom,
    is_over: &AtomicBool,
) -> (PlaceRun, usize) {
    let mut blows = 0;
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(100 + dice.below(500))).await;
        let victim = match dice.below(4) {
            0 => machines.carrier(),
            1 => machines.home.daemon().map(|daemon| daemon.pid),
            2 => Some(run.pid()),
            _ => ssh_of(&run),
        };
        let Some(victim) = victim else { continue };
        blows += 1;
        if dice.below(2) == 0 {
            hit(victim, Signal::KILL);
            if victim == run.pid() {
                run = reach_again(server, machines).await;
            }
        } else {
            hit(victim, Signal::STOP);
            tokio::time::sleep(STILL).await;
            hit(victim, Signal::CONT);
        }
    }
    (run, blows)
}

/// The calls of one agent, one after the other.
async fn calls_of(agent: usize, mut client: StdioClient) -> Vec<(String, CallFate)> {
    let mut fates = Vec::new();
    for n in 0..CALLS / AGENTS {
        let script = format!("call_{agent}_{n}()");
        let fate = call(&mut client, &script).await;
        let is_offline = matches!(&fate, CallFate::NotRun(code) if code == "place_offline");
        fates.push((script, fate));
        // As an agent that was told to ask its person; the others think for a moment.
        let pause = if is_offline { 500 } else { 250 };
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    fates
}

#[tokio::test]
async fn whatever_is_stopped_and_killed_on_the_way_no_call_runs_twice_and_none_is_lost_silently() {
    let dice = storm_dice();
    let machines = TwoMachines::new();
    machines.add_owner();
    let server = SshServer::start(&machines).await;
    let run = PlaceRun::start(server.reach_with_program(&machines)).await;
    let runs = ScriptRuns::default();
    let browser = AbortOnDropHandle::new(browser(&machines.home, &[7], &runs));
    let agent =
        || StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"])).without_checks();
    let agents = (0..AGENTS).map(|number| calls_of(number, agent()));
    let is_over = AtomicBool::new(false);
    let all_calls = async {
        let fates = futures_util::future::join_all(agents).await.concat();
        is_over.store(true, Ordering::Relaxed);
        fates
    };
    let blows = storm((&server, &machines), run, dice, &is_over);
    let (fates, (run, blows)) = tokio::join!(all_calls, blows);
    assert_eq!(fates.len(), CALLS);
    let mut words: HashMap<String, usize> = HashMap::new();
    for (script, fate) in &fates {
        check_runs(script, Some(fate), &runs);
        *words.entry(format!("{fate:?}")).or_default() += 1;
    }
    eprintln!("{blows} blows: {words:?}");
    let complete = words.get("Ended(\"complete\")").copied().unwrap_or_default();
    assert!(blows > 5 && complete > CALLS / 4, "{words:?}");
    let mut client = agent();
    let mut last = None;
    let goes_on = until(async || {
        let fate = call(&mut client, "afterwards()").await;
        last.insert(fate) == &CallFate::Ended("complete".to_owned())
    });
    let within = Duration::from_secs(45);
    let waited = tokio::time::timeout(within, goes_on).await;
    waited.unwrap_or_else(|_| panic!("it does not go on by itself: {last:?}"));
    drop((browser, run));
}
