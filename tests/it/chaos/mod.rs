//! Whatever is killed, every accepted command ends once, and nothing runs twice.
//!
//! Agents drive real bridges, which start real daemons; browsers are processes of their
//! own that keep what a browser keeps. For a while daemon, bridges and browsers are killed
//! at random. Then everything is let come to rest, and three witnesses are heard: what the
//! agents were told, what the browsers ran, and what the journal says.
//!
//! `TABWIRE_CHAOS_ROUNDS` sets the number of rounds, `TABWIRE_CHAOS_SEED` repeats one. With
//! `TABWIRE_PROGRAM` another build of the program is put to the test.

mod agent;
mod extension;
mod witness;

use std::time::Duration;

use rustix::process::Signal;

use agent::Agents;
use extension::Browsers;
use testkit::SeededRandom;
use testkit::{ProgramSandbox, signal};
use witness::{Ledger, Verdict};

/// How many rounds there are unless the environment says otherwise.
const ROUNDS: u64 = 30;

/// For how long a round kills.
const STORM: Duration = Duration::from_millis(2_000);

const AGENTS: usize = 3;
const BROWSERS: [&str; 2] = ["browser-1", "browser-2"];

#[derive(Debug, Default)]
struct Kills {
    daemons: u64,
    bridges: u64,
    browsers: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_killed_every_accepted_command_ends_once_and_none_runs_twice() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = number("TABWIRE_CHAOS_ROUNDS").unwrap_or(ROUNDS);
    let seed = number("TABWIRE_CHAOS_SEED").unwrap_or_else(testkit::any_seed);
    println!("seed {seed}: repeat with TABWIRE_CHAOS_SEED={seed}");
    let mut dice = SeededRandom::new(seed);
    let place = ProgramSandbox::new();
    let (mut kills, mut total) = (Kills::default(), Verdict::default());
    for round in 1..=rounds {
        let ledger = Ledger::default();
        let mut browsers = Browsers::start(&place, &BROWSERS);
        let agents = Agents::start(&place, AGENTS, round, &ledger, &mut dice);
        storm(&place, &agents, &mut browsers, &mut dice, &mut kills).await;
        agents.stop().await;
        browsers.revive();
        ledger.let_everything_end(&place).await;
        browsers.end();
        end_daemon(&place).await;
        let verdict = ledger.judge(&place);
        println!("round {round}: {verdict}");
        total += verdict;
    }
    println!("{rounds} of {rounds} rounds, {kills:?}, {total}");
    assert!(total.commands > rounds * 10, "there was something to lose");
    assert!(kills.daemons >= rounds / 3 && kills.browsers > 0 && kills.bridges > 0, "{kills:?}");
}

/// Kills one after the other.
async fn storm(
    place: &ProgramSandbox,
    agents: &Agents,
    browsers: &mut Browsers,
    dice: &mut SeededRandom,
    kills: &mut Kills,
) {
    let calm = tokio::time::sleep(STORM);
    tokio::pin!(calm);
    loop {
        let pause = Duration::from_millis(dice.below(250));
        tokio::select! {
            () = &mut calm => return,
            () = tokio::time::sleep(pause) => {}
        }
        match dice.below(3) {
            0 => {
                if let Some(daemon) = place.daemon() {
                    signal(daemon.pid, Signal::KILL);
                    kills.daemons += 1;
                }
            }
            1 => {
                agents.kill_a_bridge(dice);
                kills.bridges += 1;
            }
            _ => {
                browsers.kill_one(dice);
                kills.browsers += 1;
            }
        }
        browsers.revive();
    }
}

/// The daemon is killed as well, so that the journal is as a crash leaves it.
async fn end_daemon(place: &ProgramSandbox) {
    if let Some(daemon) = place.daemon() {
        signal(daemon.pid, Signal::KILL);
        place.until_no_daemon().await;
    }
}
