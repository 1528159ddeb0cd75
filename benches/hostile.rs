//! How long a well-behaved client waits for a whole command while somebody attacks.
//!
//! `cargo bench --bench hostile` starts the release binary as a process of its own, with all
//! its limits. This process plays eight well-behaved clients, each with a browser of its own,
//! of which each calls 16 times a second and waits for the result (submit, push, claim, `go`,
//! result, answer). Four times a second somebody new connects and is answered. The attacker is
//! a thread that goes on as hard as it can.
//!
//! # How to read the lines
//!
//! One for each attack; the rows are those of the table in `docs/security.md`. Blocks with the
//! attack and without it take turns, a second each, so that noise of the machine hits both alike:
//! figures under attack stand beside those of the same attack's blocks alone, and are compared
//! with no others. A call that was due while the one before it was not over counts from
//! when it was due: whoever is held up for a second has been held up sixteen times.
//!
//! The attacker takes a core for itself. Where there are no more than two, the daemon and the
//! clients share what is left: part of what an attack costs is that.
//!
//! Required: 99 of 100 commands take under 100 ms under every attack; and while a client
//! floods, under twice what they take alone. Whoever connects anew while others hold connections
//! open is answered within 100 ms, each time.
//!
//! # What is not attacked here
//!
//! Rows whose attack is one request or one file: nothing there goes on that could hold up
//! others.
//!
//! # Flags
//!
//! After `--`: `--quick` for a third, `--only NAME` for one attack, `--json` for one line of JSON
//! (ms) after the others, `--check` to exit with 1 if a required bound is missed.

#[path = "hostile/attacker.rs"]
mod attacker;
#[path = "hostile/attacks.rs"]
mod attacks;
#[path = "hostile/requests.rs"]
mod requests;
#[path = "hostile/sockets.rs"]
mod sockets;
#[path = "hostile/table.rs"]
mod table;
#[path = "hostile/victims.rs"]
mod victims;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, ValueEnum as _};
use tabwire::home::StateDirectory;
use testkit::load::{self, MeasuredServer, now};

use attacker::{Attacker, Target};
use attacks::Attack;
use table::Measured;
use victims::Victims;

/// How long each block is.
const TURN: Duration = Duration::from_secs(1);

/// How many blocks there are of each attack, and as many without it.
const TURNS: u32 = 6;

/// How long what a block has begun or ended may take to be so, before the next is measured.
const SETTLE: Duration = Duration::from_millis(150);

/// Measures what attacks do to commands.
#[derive(Parser)]
#[command(name = "hostile")]
struct Options {
    /// A third of the blocks
    #[arg(long)]
    quick: bool,
    /// This attack alone
    #[arg(long, value_name = "NAME")]
    only: Option<Attack>,
    /// Print one line of JSON after the others
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Measure this daemon instead, such as an earlier build's
    #[arg(long, value_name = "PATH", default_value = testkit::program())]
    daemon: PathBuf,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    load::run("hostile", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let turns = if options.quick { TURNS / 3 } else { TURNS };
    let state = tempfile::tempdir().context("no temporary directory")?;
    let home = state.path().join("state");
    let server = MeasuredServer::limited(&options.daemon, &home, &[])?;
    let mut victims = Victims::connect(server.port, &StateDirectory::open(&home)?).await?;
    let target = Target::of(server.port, &StateDirectory::open(&home)?);
    victims.work(TURN).await?;
    let wanted = |attack: &&Attack| options.only.is_none_or(|only| only == **attack);
    let (mut missed, mut all) = (false, Vec::new());
    for attack in Attack::value_variants().iter().filter(wanted) {
        let measured = measure(*attack, &target, turns, &mut victims).await?;
        missed |= measured.show()?;
        all.push(measured);
    }
    if options.json {
        table::show_json(&all)?;
    }
    Ok(missed)
}

/// Blocks without the attack and with it, by turns.
async fn measure(
    attack: Attack,
    target: &Target,
    turns: u32,
    victims: &mut Victims,
) -> anyhow::Result<Measured> {
    let mut measured = Measured::of(attack);
    for _ in 0..turns {
        tokio::time::sleep(SETTLE).await;
        measured.alone.extend(victims.work(TURN).await?);
        let attacker = Attacker::start(attack, target)?;
        tokio::time::sleep(SETTLE).await;
        let (began, tried) = (now(), attacker.tried());
        let came = victims.work(TURN).await.context(attack.name());
        measured.tries.push((attacker.tried() - tried, now() - began));
        attacker.end()?;
        measured.attacked.extend(came?);
    }
    Ok(measured)
}
