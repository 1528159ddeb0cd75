//! How fast a command is pushed, measured from outside, beside a bare relay.
//!
//! `cargo bench --bench push` starts the release binary as a process of its own
//! (`tabwire serve`, guard on, default limits but for the rate) and, as another, a *bare
//! relay*: the same libraries on the same kind of runtime (an axum handler that hands the
//! body of a POST to a WebSocket and answers with what comes back), which tracks nothing,
//! checks nothing and parses nothing. It is the floor: what sockets and wake-ups cost on
//! this machine at this moment.
//!
//! This process plays both ends, in one thread: the MCP client, on one kept-alive
//! connection, and the extension, on one WebSocket, to the daemon with proof, claim and
//! `go`. Both servers get the same bytes with the same headers. Calls go one after
//! another, in blocks that alternate between the two servers, so that noise of the machine
//! hits both alike; compare figures of one run only.
//!
//! # How to read the table
//!
//! Times are in µs. A call that waits goes POST → `command` → claim → `go` → report →
//! answer: the daemon's `go` is a round trip that the relay does not have, so the floor of
//! that ratio is near 1.5, not 1. A `safe` command needs none. A submit that does not wait
//! is answered at once, and set beside a POST that the relay answers at once, too, after it
//! has handed the body on.
//!
//! A pause of 1 ms stands before each call, at both servers alike, as agents do not call
//! back to back; so calls begin with cores that sleep. Without it (`--pause 0`) the figures
//! have two modes: a virtual machine's idle core looks for work for some 50 µs before it
//! sleeps (`haltpoll`) and takes as long again to wake. If each turn is shorter, no core
//! ever sleeps: the relay's frame takes 30 µs, and the same daemon's 45 µs or, if its turns
//! are just too long, 150 µs. So look at the relay's column before the ratio, and say which
//! of the two was measured.
//!
//! What the journal costs is the difference to the same call at a daemon that keeps none, in
//! the same run.
//!
//! What the daemon itself does for a submit is shown twice. From outside: how much later
//! than an empty POST at the relay its answer comes. From inside, in this process: how long
//! the message takes from its bytes to the text of its answer, and `Hub::submit` within.
//!
//! # Flags
//!
//! After `--`: `--quick` for a tenth of the calls, `--json` for one line of JSON (µs) after
//! the table, `--check` to exit with 1 if a required bound is missed.

#[path = "push/inside.rs"]
mod inside;
#[path = "push/table.rs"]
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use testkit::load::{self, DaemonSide, MeasuredServer, RelaySide};

use table::Measured;

/// Measures how fast a command is pushed, beside a bare relay.
#[derive(Parser)]
#[command(name = "push")]
struct Options {
    /// A tenth of the calls
    #[arg(long)]
    quick: bool,
    /// Print one line of JSON after the table
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Measure this daemon instead, such as an earlier build's
    #[arg(long, value_name = "PATH", default_value = testkit::program())]
    daemon: PathBuf,
    /// How long to pause before each call, in µs; 0: one call right after the other
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 1_000)]
    pause: u64,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Be the bare relay, with so many ports
    #[arg(long, hide = true)]
    bare_relay: Option<usize>,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Extent {
    /// Calls of each kind that do not count, before the first block: as many as it takes
    /// for the daemon to keep all the results that it ever keeps.
    warm_up: usize,
    blocks: usize,
    /// Calls of each kind in a block.
    calls: usize,
}

const FULL: Extent = Extent { warm_up: 400, blocks: 20, calls: 200 };
const QUICK: Extent = Extent { warm_up: 150, blocks: 8, calls: 50 };

fn main() -> ExitCode {
    // `cargo test --benches` and its like run this too, without that flag: there is
    // nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench" || argument == "--bare-relay") {
        return ExitCode::SUCCESS;
    }
    let options = Options::parse();
    let done = options.bare_relay.map_or_else(|| bench(&options), load::run_bare_relay);
    done.unwrap_or_else(|error| {
        table::say_to_stderr(&format!("push: {error:#}"));
        ExitCode::FAILURE
    })
}

fn bench(options: &Options) -> anyhow::Result<ExitCode> {
    let extent = if options.quick { QUICK } else { FULL };
    let state = tempfile::tempdir().context("no temporary directory")?;
    let (home, bare_home) = (state.path().join("state"), state.path().join("ephemeral"));
    let daemon = MeasuredServer::daemon(&options.daemon, &home, &[])?;
    let ephemeral = MeasuredServer::daemon(&options.daemon, &bare_home, &["--ephemeral"])?;
    let relay = MeasuredServer::relay(1)?;
    let pause = Duration::from_micros(options.pause);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut measured = runtime.block_on(async {
        let mut sides = Sides {
            daemon: DaemonSide::connect(&daemon, &home, pause).await?,
            ephemeral: DaemonSide::connect(&ephemeral, &bare_home, pause).await?,
            relay: RelaySide::connect(relay.port, pause).await?,
        };
        sides.measure(extent).await
    })?;
    inside::measure(&mut measured, extent.warm_up, extent.blocks * extent.calls)?;
    drop((daemon, ephemeral, relay));
    let missed = table::show(&measured, extent, options.json)?;
    Ok(if options.check && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Connections to all servers.
struct Sides {
    daemon: DaemonSide,
    /// A daemon that keeps no journal.
    ephemeral: DaemonSide,
    relay: RelaySide,
}

impl Sides {
    /// Warms all servers up, then measures them in alternating blocks.
    async fn measure(&mut self, extent: Extent) -> anyhow::Result<Measured> {
        self.block(extent.warm_up, 0, &mut Measured::default()).await?;
        let mut measured = Measured::default();
        for number in 0..extent.blocks {
            self.block(extent.calls, number, &mut measured).await?;
        }
        Ok(measured)
    }

    /// One block: each kind of call at one server after the other, another one first each
    /// time.
    async fn block(
        &mut self,
        calls: usize,
        first: usize,
        measured: &mut Measured,
    ) -> anyhow::Result<()> {
        for turn in 0..3 {
            match (first + turn) % 3 {
                0 => {
                    self.relay.empty_posts(calls, &mut measured.relay_empty).await?;
                    self.relay.submits(calls, &mut measured.relay_submit).await?;
                    self.relay.waits(calls, &mut measured.relay_wait).await?;
                }
                1 => {
                    self.daemon.submits(calls, &mut measured.submit).await?;
                    self.daemon.waits(load::SCRIPT, calls, &mut measured.wait).await?;
                    self.daemon.waits(load::SAFE, calls, &mut measured.safe).await?;
                }
                _ => self.ephemeral.waits(load::SCRIPT, calls, &mut measured.ephemeral).await?,
            }
        }
        Ok(())
    }
}
