//! Whether a page that floods its console holds up commands: 20,000 log entries a second on
//! one connection, beside commands on the same connection and on another, in one run.
//!
//! `cargo bench --bench ingest` starts the release binary as a process of its own. This
//! process plays both browsers and their clients, on the same cores.
//!
//! After `--`: `--quick` for a fifth, `--check` to exit with 1 if a required bound is missed.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use tabwire::home::StateDirectory;
use testkit::load::{self, LoadPair, MeasuredServer, SampleSeries, now, verdict};

/// Entries a second.
const RATE: u64 = 20_000;

/// Commands with and without the flood take turns, so many of each.
const TURNS: u32 = 10;

/// Required: how much later a command may be at p99, in ms.
const LATER: f64 = 5.0;

/// Required: how much the memory may grow, in MiB. The rings have 16 and what waits has 4;
/// the rest is what the allocator does not give back.
const GROWTH: f64 = 48.0;

/// Measures what a flood of log entries does to commands.
#[derive(Parser)]
#[command(name = "ingest")]
struct Options {
    /// A fifth of everything
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    load::run("ingest", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let length = Duration::from_secs(if options.quick { 2 } else { 10 });
    let state = tempfile::tempdir().context("no temporary directory")?;
    let home = state.path().join("state");
    let server = MeasuredServer::daemon(Path::new(testkit::program()), &home, &[])?;
    let home = StateDirectory::open(&home)?;
    let mut noisy = LoadPair::connect(server.port, &home, 0).await?;
    let mut other = LoadPair::connect(server.port, &home, 1).await?;
    work(&mut noisy, length / 5).await?;
    let before = server.resident()?;
    let mut missed = false;
    for bytes in [100, 1_000] {
        let [mut quiet, mut same, mut beside] = [(); 3].map(|()| SampleSeries::default());
        let mut sent = 0;
        // In turns, so that noise of the machine hits all three alike.
        for _ in 0..TURNS {
            let turn = length / TURNS;
            quiet.extend(work(&mut noisy, turn).await?);
            noisy.flood(RATE, bytes);
            same.extend(work(&mut noisy, turn).await?);
            let end = now() + turn;
            let (worked, waited) = tokio::join!(work(&mut other, turn), noisy.wait(end));
            waited?;
            beside.extend(worked?);
            sent += noisy.stop_flood();
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of entries")]
        let rate = sent as f64 / (2.0 * length.as_secs_f64());
        let what = format!("{rate:.0} entries a second with {bytes} bytes");
        missed |= compare(&format!("{what}, commands on the same connection"), &quiet, &same)?;
        missed |= compare(&format!("{what}, commands on another one"), &quiet, &beside)?;
    }
    let grown = server.resident()? - before;
    missed |= verdict(
        grown <= GROWTH,
        &format!("{grown:.0} MiB more than the {before:.0} before ({GROWTH:.0} are allowed)"),
    )?;
    Ok(missed)
}

fn compare(what: &str, quiet: &SampleSeries, flooded: &SampleSeries) -> anyhow::Result<bool> {
    let (before, after) = (quiet.p99() / 1_000.0, flooded.p99() / 1_000.0);
    verdict(
        after - before <= LATER,
        &format!(
            "{what}: p99 of {} commands {after:.2} ms, {before:.2} ms of {} without ({LATER:.0} ms more are allowed); p50 {:.2} and {:.2} ms",
            flooded.count(),
            quiet.count(),
            flooded.p50() / 1_000.0,
            quiet.p50() / 1_000.0,
        ),
    )
}

/// Calls that wait for their result, one after the other, for a while.
async fn work(pair: &mut LoadPair, length: Duration) -> anyhow::Result<SampleSeries> {
    let mut took = SampleSeries::default();
    pair.work(now() + length, &mut took).await?;
    Ok(took)
}
