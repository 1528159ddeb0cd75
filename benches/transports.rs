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

#[path = "transports/poller.rs"]
mod poller;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use clap::Parser;
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use testkit::ExtensionIdentity;
use testkit::load::{self, LoadClient, LoadExtension, MeasuredServer, SampleSeries};
use tokio::task::JoinSet;

use poller::Poller;

/// Required: by how much the answer over the fallback or `/sync` is late, in µs at p99.
const LATE: f64 = 50_000.0;

/// How long the actions take.
const LENGTHS: [Duration; 3] =
    [Duration::from_millis(5), Duration::from_millis(250), Duration::from_secs(5)];

/// How many pairs work side by side.
const PAIRS: usize = 10;

/// What brings commands to an extension and results back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeasuredTransport {
    /// The socket.
    WebSocket,
    /// The same frames over HTTP.
    Fallback,
    /// Answers to polls, once a second.
    Poll,
    /// Answers to polls that are held until there is a command.
    Sync,
}

const TRANSPORTS: [MeasuredTransport; 4] = [
    MeasuredTransport::WebSocket,
    MeasuredTransport::Fallback,
    MeasuredTransport::Sync,
    MeasuredTransport::Poll,
];

/// The extension's end.
enum End {
    Frames(Box<LoadExtension>),
    Poller(Poller),
}

impl End {
    /// When it had the next command, and how long it was at it.
    async fn run_for(&mut self, length: Duration) -> anyhow::Result<(Instant, Duration)> {
        match self {
            Self::Frames(extension) => extension.run_for(length).await,
            Self::Poller(poller) => poller.run_for(length).await,
        }
    }
}

impl MeasuredTransport {
    const fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "WebSocket",
            Self::Fallback => "HTTP fallback",
            Self::Poll => "poll every 1 s",
            Self::Sync => "`/sync`",
        }
    }

    /// How late an answer may be, in µs at p99.
    const fn latest(self) -> Option<f64> {
        match self {
            Self::WebSocket | Self::Poll => None,
            Self::Fallback | Self::Sync => Some(LATE),
        }
    }

    async fn connect(
        self,
        server: &MeasuredServer,
        home: &StateDirectory,
        number: usize,
    ) -> anyhow::Result<(End, String)> {
        let browser = format!("{}-{number}", self.name());
        let identity = ExtensionIdentity::new(server.port, home, &browser);
        let extension = match self {
            Self::WebSocket => LoadExtension::connect(server.port, &identity).await?,
            Self::Fallback => LoadExtension::connect_http(&identity).await?,
            Self::Poll | Self::Sync => {
                let is_sync = self == Self::Sync;
                let poller = Poller::connect(server.port, home, number, is_sync).await?;
                let browser = poller.browser();
                return Ok((End::Poller(poller), browser));
            }
        };
        Ok((End::Frames(Box::new(extension)), browser))
    }

    /// How many calls each pair makes.
    fn calls(self, length: Duration, quick: bool) -> usize {
        let calls = match (self, length.as_millis()) {
            (Self::Poll, 0..1_000) => 30,
            (_, 0..100) => 200,
            (_, 100..1_000) => 40,
            _ => 10,
        };
        if quick { calls / 10 } else { calls }
    }

    /// How long to wait before the call of this number: one that came right after the result
    /// before would always come right after a poll.
    fn pause(self, number: usize) -> Duration {
        match self {
            Self::WebSocket | Self::Fallback | Self::Sync => Duration::ZERO,
            Self::Poll => Duration::from_millis((number as u64 * 618) % 1_000),
        }
    }
}

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

/// The figures of one transport with actions of one length.
#[derive(Default)]
struct Cost {
    /// From the call until the command is at the extension.
    frame: SampleSeries,
    /// How much later than the action the answer is there.
    late: SampleSeries,
}

fn main() -> ExitCode {
    load::run("transports", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let state = tempfile::tempdir().context("no temporary directory")?;
    let path = state.path().join("state");
    let server = MeasuredServer::daemon(&options.daemon, &path, &[])?;
    let home = StateDirectory::open(&path)?;
    let mut costs = Vec::new();
    for transport in TRANSPORTS {
        let mut pairs = Vec::new();
        for number in 0..PAIRS {
            pairs.push(Pair::connect(transport, &server, &home, number).await?);
        }
        // What does not count: connections and caches are warm then.
        measure(&mut pairs, Duration::ZERO, transport.calls(Duration::ZERO, true)).await?;
        let mut of_transport = Vec::new();
        for length in LENGTHS {
            of_transport
                .push(measure(&mut pairs, length, transport.calls(length, options.quick)).await?);
        }
        costs.push((transport, of_transport));
    }
    show(&costs)
}

/// A client, and an extension in a browser of its own.
struct Pair {
    transport: MeasuredTransport,
    client: LoadClient,
    extension: End,
    body: Bytes,
}

impl Pair {
    async fn connect(
        transport: MeasuredTransport,
        server: &MeasuredServer,
        home: &StateDirectory,
        number: usize,
    ) -> anyhow::Result<Self> {
        let (extension, browser) = transport.connect(server, home, number).await?;
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let mut client = LoadClient::connect(server.port, token, Duration::from_millis(1)).await?;
        client.name.clone_from(&browser);
        // Extensions that only poll have no choice of tab.
        let tab = match transport {
            MeasuredTransport::WebSocket | MeasuredTransport::Fallback => r#","tab_id":7"#,
            MeasuredTransport::Poll | MeasuredTransport::Sync => "",
        };
        let target = format!(r#""browser":"{browser}","wait_ms":20000{tab}"#);
        let body = load::interact(&format!("{},{target}", load::SCRIPT));
        let mut pair = Self { transport, client, extension, body };
        while !pair.is_known(&browser).await? {}
        Ok(pair)
    }

    /// Nothing answers `ready`; the daemon has taken it in when it shows the tabs.
    async fn is_known(&mut self, browser: &str) -> anyhow::Result<bool> {
        let body = load::call("observe", r#""what":"browsers""#);
        let request = self.client.request("/mcp", body)?;
        let (answer, _) = self.client.send(request).await?;
        let known = format!(r#"{{"browser":"{browser}","label":""#);
        Ok(String::from_utf8_lossy(&answer).contains(&known))
    }

    async fn work(&mut self, length: Duration, calls: usize) -> anyhow::Result<Cost> {
        let mut cost = Cost::default();
        for number in 0..calls {
            tokio::time::sleep(self.transport.pause(number)).await;
            let request = self.client.request("/mcp", self.body.clone())?;
            let began = self.client.begin().await;
            let ran = self.extension.run_for(length);
            // A refused call brings the extension nothing: it must not be waited for.
            let answered = async {
                let (answer, at) = self.client.send(request).await?;
                load::check_complete(&answer)?;
                anyhow::Ok(at)
            };
            let (answered, (frame, took)) = tokio::try_join!(answered, ran)?;
            cost.frame.add(frame - began);
            cost.late.add((answered - began).saturating_sub(took));
        }
        Ok(cost)
    }
}

/// What actions of a length cost. Those that take no time go one after the other: side by
/// side they would wait for this process.
async fn measure(pairs: &mut Vec<Pair>, length: Duration, calls: usize) -> anyhow::Result<Cost> {
    let mut all = Cost::default();
    if length < Duration::from_millis(100) {
        all = pairs[0].work(length, calls).await?;
        return Ok(all);
    }
    let mut working = JoinSet::new();
    for (number, mut pair) in pairs.drain(..).enumerate() {
        working.spawn(async move {
            // Not all at the same moment.
            tokio::time::sleep(length * u32::try_from(number)? / u32::try_from(PAIRS)?).await;
            let cost = pair.work(length, calls).await?;
            anyhow::Ok((pair, cost))
        });
    }
    while let Some(done) = working.join_next().await {
        let (pair, cost) = done??;
        pairs.push(pair);
        all.frame.extend(cost.frame);
        all.late.extend(cost.late);
    }
    Ok(all)
}

/// Prints the table. Whether a required bound is missed.
fn show(costs: &[(MeasuredTransport, Vec<Cost>)]) -> anyhow::Result<bool> {
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
        if transport.latest().is_some_and(|latest| worst > latest) {
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
