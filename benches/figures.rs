//! All figures of docs/performance.md, in one run, each beside a yardstick: `make bench`.
//!
//! Each part starts the daemon as a process of its own (guard on, no limit on the rate of calls); this
//! process plays the clients and the extensions, on the same cores. What is set beside a bare relay or
//! beside another setting alternates with it in blocks, so that noise of the machine hits both alike, and
//! a ratio is of two blocks that followed each other. A figure is the median of the blocks' medians, with
//! the least and the greatest of them.
//!
//! Before each part the machine is watched for a second while nothing of this run works: the record says
//! whether it was quiet.
//!
//! Times of one client come twice. With a pause of 1 ms before each call, as agents do not call back to
//! back, cores sleep in between, and caches forget; without it one core stays awake.
//!
//! After `--`: `--part NAME` (again for more) for some parts alone, `--quick` for a tenth, `--check` to exit
//! with 1 if a required bound is missed, `--json` for the record on standard output, `--write` to record
//! the run in benches/figures/figures.json, docs/performance.md and its charts, and README.md.

#[path = "figures/carriers.rs"]
mod carriers;
#[path = "transports/cost.rs"]
mod cost;
#[path = "figures/growth.rs"]
mod growth;
#[path = "figures/machine.rs"]
mod machine;
#[path = "figures/page.rs"]
mod page;
#[path = "figures/path.rs"]
mod path;
#[path = "figures/program.rs"]
mod program;
#[path = "figures/rate.rs"]
mod rate;
#[path = "browser/real.rs"]
mod real;
#[path = "figures/watched.rs"]
mod watched;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use testkit::load::{self, verdict};
use testkit::record::{BenchRecord, Figure, RecordPart, required, tables};

/// Measures all figures of docs/performance.md.
#[derive(Parser)]
#[command(name = "figures")]
struct Options {
    /// This part alone; may be given again
    #[arg(long = "part", value_name = "NAME")]
    parts: Vec<Part>,
    /// A tenth of everything
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Print the record as JSON, too
    #[arg(long)]
    json: bool,
    /// Record the run in the project's files
    #[arg(long, conflicts_with_all = ["quick", "parts"])]
    write: bool,
    /// Measure this daemon instead, such as an earlier build's
    #[arg(long, value_name = "PATH", default_value = testkit::program())]
    daemon: PathBuf,
    /// The profile of the build, for the record
    #[arg(long, default_value = "bench")]
    profile: String,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
    /// Be the bare relay, with so many ports
    #[arg(long, hide = true)]
    bare_relay: Option<usize>,
}

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// From a call to the frame and to the result, beside the bare relay
    Path,
    /// Each transport, with actions of several lengths
    Carriers,
    /// Commands a second
    Rate,
    /// A burst of calls of one client
    Burst,
    /// A call beside more and more connected browsers
    Browsers,
    /// A call beside more and more kept commands
    Kept,
    /// A call beside a viewer of the dashboard and a collector
    Watched,
    /// The dashboard in a real browser
    Page,
    /// Starts of the programs
    Start,
    /// Memory and sizes
    Memory,
    /// Acts in a real browser
    Browser,
}

/// How much of a part is measured.
#[derive(Clone, Copy)]
struct Extent {
    program: &'static Path,
    is_quick: bool,
}

impl Extent {
    /// So many, or a tenth.
    const fn of(self, full: usize) -> usize {
        if self.is_quick { full.div_ceil(10) } else { full }
    }
}

fn main() -> ExitCode {
    // `cargo test --benches` and its like run this too: there is nothing to test here.
    if std::env::args().any(|argument| argument == "--bare-relay") {
        let ports = Options::parse().bare_relay.unwrap_or(1);
        return load::run_bare_relay(ports).unwrap_or(ExitCode::FAILURE);
    }
    load::run("figures", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    // Children inherit it: many browsers need as many sockets at either end.
    machine::raise_open_files()?;
    let program = Box::leak(options.daemon.clone().into_boxed_path());
    let extent = Extent { program, is_quick: options.quick };
    let mut record = BenchRecord {
        date: machine::today(),
        machine: machine::described(program, &options.profile)?,
        parts: Vec::new(),
    };
    let mut missed = false;
    for part in Part::value_variants() {
        if !options.parts.is_empty() && !options.parts.contains(part) {
            continue;
        }
        let name = part.to_possible_value().map(|value| value.get_name().to_owned());
        let name = name.unwrap_or_default();
        let busy_percent = machine::busy_percent().await?;
        let figures = part.measure(extent).await?;
        missed |= say(&name, busy_percent, &figures)?;
        record.parts.push(RecordPart { name, busy_percent, figures });
    }
    let mut out = io::stdout().lock();
    for (place, table) in tables(&record) {
        writeln!(out, "\n{place}\n\n{table}")?;
    }
    if options.json {
        writeln!(out, "{}", serde_json::to_string(&record)?)?;
    }
    if options.write {
        record.write(Path::new(env!("CARGO_MANIFEST_DIR")))?;
    }
    Ok(missed)
}

impl Part {
    async fn measure(self, extent: Extent) -> anyhow::Result<Vec<Figure>> {
        match self {
            Self::Path => path::measure(extent).await,
            Self::Carriers => carriers::measure(extent).await,
            Self::Rate => rate::measure(extent).await,
            Self::Burst => rate::measure_burst(extent).await,
            Self::Browsers => growth::beside_browsers(extent).await,
            Self::Kept => growth::beside_kept(extent).await,
            Self::Watched => watched::measure(extent).await,
            Self::Page => page::measure(extent).await,
            Self::Start => program::starts(extent).await,
            Self::Memory => program::memory(extent).await,
            Self::Browser => program::in_browser(extent).await,
        }
    }
}

/// Progress, as each part is done: whether a bound was missed.
fn say(name: &str, busy_percent: f64, figures: &[Figure]) -> anyhow::Result<bool> {
    writeln!(io::stdout(), "{name}: {} figures (others took {busy_percent:.0} %)", figures.len())?;
    let mut missed = false;
    for figure in figures.iter().filter(|figure| figure.bound.is_some()) {
        missed |= verdict(!figure.is_missed(), &told(figure))?;
    }
    Ok(missed)
}

fn told(figure: &Figure) -> String {
    let Figure { unit, value, p99, yardstick, bound, .. } = figure;
    let what = figure.name();
    let p99 = p99.map(|p99| format!(", p99 {p99:.2}")).unwrap_or_default();
    let ratio =
        yardstick.as_ref().map(|beside| format!(", {:.2} × {}", beside.ratio.median, beside.what));
    let ratio = ratio.unwrap_or_default();
    let bound = bound.map(|bound| format!("; required {}", required(bound, unit)));
    let bound = bound.unwrap_or_default();
    format!("{what}: {:.2} {unit}{p99}{ratio}{bound}", value.median)
}
