//! How much the daemon carries, with its journal: commands a second, memory, and how long it
//! takes to start with a full journal.
//!
//! `cargo bench --bench capacity` starts the release binary as a process of its own
//! (`tabwire serve`, guard on). This process plays all clients and all browsers, on the same
//! cores.
//!
//! After `--`: `--quick` for a tenth, `--soak` for a million commands besides, `--check` to exit
//! with 1 if a required bound is missed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use testkit::load::{self, MeasuredServer, PairedDaemon, now, verdict};

/// Required: commands a second with 100 browsers.
const RATE: f64 = 5_000.0;

/// Required: a start with 1,000 commands in the journal.
const START: Duration = Duration::from_millis(100);

/// Required: the memory of 1,000 browsers with 100 commands each, in MiB.
const MEMORY: f64 = 250.0;

/// How much more memory a soak may leave than its first tenth did.
const GROWTH: f64 = 1.1;

/// Measures how much the daemon carries.
#[derive(Parser)]
#[command(name = "capacity")]
struct Options {
    /// A tenth of everything
    #[arg(long)]
    quick: bool,
    /// A million commands besides
    #[arg(long)]
    soak: bool,
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
    load::run("capacity", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let part = if options.quick { 10 } else { 1 };
    let mut missed = rate(&options.daemon, Duration::from_secs(10) / part).await?;
    missed |= start(&options.daemon).await?;
    missed |= memory(&options.daemon, 1_000 / part as usize).await?;
    if options.soak {
        missed |= soak(&options.daemon, 1_000_000 / u64::from(part)).await?;
    }
    Ok(missed)
}

/// Commands a second: 100 clients, each with a browser of its own.
async fn rate(program: &Path, length: Duration) -> anyhow::Result<bool> {
    let daemon = PairedDaemon::start(program, &[])?;
    let mut pairs = daemon.connect(100).await?;
    pairs.work(length / 5).await?;
    let took = pairs.work(length).await?;
    #[expect(clippy::cast_precision_loss, reason = "a count of commands")]
    let rate = took.count() as f64 / length.as_secs_f64();
    let memory = daemon.server.resident()?;
    verdict(
        rate >= RATE,
        &format!(
            "{rate:.0} commands a second with 100 browsers ({RATE:.0} are required); each took {:.1} ms at the median, {:.1} ms at p99; {memory:.0} MiB",
            took.p50() / 1_000.0,
            took.p99() / 1_000.0,
        ),
    )
}

/// How long a start takes with 1,000 commands in the journal of a daemon that was killed.
async fn start(program: &Path) -> anyhow::Result<bool> {
    let daemon = PairedDaemon::start(program, &[])?;
    let mut pairs = daemon.connect(10).await?;
    for pair in &mut pairs.0 {
        pair.repeat(100).await?;
    }
    let PairedDaemon { server, folder } = daemon;
    server.kill()?;
    let began = now();
    let server = MeasuredServer::daemon(program, &folder.path().join("state"), &[])?;
    let took = now() - began;
    drop(server);
    verdict(
        took <= START,
        &format!(
            "{:.0} ms from the start of the process until it listens, with 1,000 commands in the journal ({} are required)",
            took.as_secs_f64() * 1_000.0,
            START.as_millis()
        ),
    )
}

/// The memory of many browsers, each with 100 commands that wait.
async fn memory(program: &Path, browsers: usize) -> anyhow::Result<bool> {
    let daemon =
        PairedDaemon::start(program, &["--limit", "queued=100", "--limit", "clients=2000"])?;
    let before = daemon.server.resident()?;
    let mut pairs = daemon.connect(browsers).await?;
    let connected = daemon.server.resident()?;
    for pair in &mut pairs.0 {
        pair.pile_up(100).await?;
    }
    let full = daemon.server.resident()?;
    verdict(
        full <= MEMORY,
        &format!(
            "{full:.0} MiB with {browsers} browsers and 100 commands each ({MEMORY:.0} are required); {before:.0} when idle, {connected:.0} with the browsers alone",
        ),
    )
}

/// Whether memory stays as it is over many commands.
async fn soak(program: &Path, commands: u64) -> anyhow::Result<bool> {
    let daemon = PairedDaemon::start(program, &[])?;
    let mut pairs = daemon.connect(20).await?;
    let (mut done, mut settled, mut worst) = (0, None, 0.0_f64);
    while done < commands {
        done += pairs.work(Duration::from_secs(5)).await?.count() as u64;
        let memory = daemon.server.resident()?;
        if done > commands / 10 {
            settled.get_or_insert(memory);
            worst = worst.max(memory);
        }
    }
    let settled = settled.context("too few commands")?;
    let file = std::fs::metadata(daemon.home_path().join("journal.db"))?.len() >> 20;
    verdict(
        worst <= settled * GROWTH,
        &format!(
            "{done} commands: {settled:.0} MiB after a tenth, {worst:.0} MiB at most from then on; the journal has {file} MiB"
        ),
    )
}
