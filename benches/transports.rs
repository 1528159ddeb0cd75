//! The cost of each transport: how soon a command is at the extension, and how much later than
//! the action itself its answer is at the caller.
//!
//! `cargo bench --bench transports` starts the release binary as a process of its own
//! (`tabwire serve`, guard on) and plays the MCP clients and the extensions, each pair with
//! a browser of its own. The simulated extension takes as long over a command as it is told
//! to, and says `pending` after 2 s as the shim does; what it really took is subtracted, so
//! the coarseness of timers does not count. All transports are measured in one run, one after
//! the other for each length, so compare figures of one run only.
//!
//! After `--`: `--quick` for fewer calls, `--check` to exit with 1 if a required bound is
//! missed. The table is Markdown, for `docs/performance.md`.

#[path = "transports/cost.rs"]
mod cost;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use testkit::load::{self, PairedDaemon, SampleSeries};

use cost::{MeasuredTransport, TRANSPORTS, TransportCost, TransportPairs};

/// Required: by how much the answer over the fallback or `/sync` is late, in µs at p99.
const LATE: f64 = 50_000.0;

/// How many calls a burst has: as many as a tab may have waiting, and the one that runs.
const BURST: usize = 6;

/// How long the actions take.
const LENGTHS: [Duration; 3] =
    [Duration::from_millis(5), Duration::from_millis(250), Duration::from_secs(5)];

/// Measures the cost of each transport.
#[derive(Parser)]
#[command(name = "transports")]
struct Options {
    /// A tenth of the calls, or one each
    #[arg(long)]
    quick: bool,
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
    load::run("transports", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let daemon = PairedDaemon::start(&options.daemon, &[])?;
    let mut costs = Vec::new();
    for transport in TRANSPORTS {
        let mut pairs = TransportPairs::connect(transport, &daemon).await?;
        let mut of_transport = Vec::new();
        for length in LENGTHS {
            let calls = transport.calls(length) / if options.quick { 10 } else { 1 };
            of_transport.push(pairs.measure(length, calls).await?);
        }
        if transport == MeasuredTransport::WebSocket {
            let took = pairs.burst(BURST).await?.as_secs_f64() * 1_000.0;
            writeln!(io::stdout(), "{BURST} calls at once of one client took {took:.1} ms.\n")?;
        }
        costs.push((transport, of_transport));
    }
    show(&costs)
}

/// Prints the table. Whether a required bound is missed.
fn show(costs: &[(MeasuredTransport, Vec<TransportCost>)]) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    if cfg!(debug_assertions) {
        writeln!(out, "NOT A RELEASE BUILD: these figures say nothing")?;
    }
    writeln!(out, "Times in ms, p50 / p99.\n")?;
    writeln!(out, "| Transport | submit → frame | late, 5 ms | late, 250 ms | late, 5,000 ms |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    let cell = |series: &SampleSeries| {
        format!("{:.2} / {:.2}", series.p50() / 1_000.0, series.p99() / 1_000.0)
    };
    for (transport, costs) in costs {
        let late: Vec<_> = costs.iter().map(|cost| cell(&cost.late)).collect();
        let frame = costs.first().map(|cost| cell(&cost.frame)).unwrap_or_default();
        writeln!(out, "| {} | {frame} | {} |", transport.name(), late.join(" | "))?;
    }
    let mut missed = false;
    for (transport, costs) in costs {
        let worst = costs.iter().map(|cost| cost.late.p99()).fold(0.0, f64::max);
        let is_bound = matches!(transport, MeasuredTransport::Fallback | MeasuredTransport::Sync);
        if is_bound && worst > LATE {
            missed = true;
            let (worst, latest) = (worst / 1_000.0, LATE / 1_000.0);
            writeln!(
                out,
                "\nMISSED: {}: {worst:.0} ms late, {latest:.0} at most",
                transport.name()
            )?;
        }
    }
    Ok(missed)
}
