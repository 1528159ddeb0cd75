//! A call of one client, beside more and more connected browsers, and beside more and more commands that
//! the daemon keeps.

use std::time::Duration;

use testkit::load::{
    CallSamples, DaemonSide, IdleBrowsers, LoadPair, PairedDaemon, SCRIPT, SampleSeries,
};
use testkit::record::{Bound, Figure, Spread};

use crate::Extent;

/// Required: the p99 of a call beside most browsers, as a multiple of that beside 10.
const GROWTH: f64 = 2.0;

/// Required: what an idle browser costs, in KiB.
const SOCKET: f64 = 12.0;

const PAUSE: Duration = Duration::from_millis(1);

const BLOCKS: usize = 9;
const CALLS: usize = 150;

/// How many browsers are connected.
const BROWSERS: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// So many more come between two calls: within a fraction of the time in which a heartbeat is due.
const AT_ONCE: usize = 250;

/// How many commands that are over the daemon keeps meanwhile.
const KEPT: [usize; 6] = [1, 10, 100, 1_000, 10_000, 100_000];

pub(crate) async fn beside_browsers(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let counts = if extent.is_quick { &BROWSERS[..4] } else { &BROWSERS[..] };
    let most = counts[counts.len() - 1];
    let daemon = PairedDaemon::start(extent.program, &["--limit", "connections=11000"])?;
    let few = PairedDaemon::start(extent.program, &[])?;
    let (mut idle, mut beside_few) = (IdleBrowsers::default(), IdleBrowsers::default());
    beside_few.fill_up(few.server.port, &few.home()?, 9).await?;
    let home = daemon.home()?;
    let mut measured = alone(&daemon).await?;
    let mut yardstick = alone(&few).await?;
    let empty = daemon.server.resident()?;
    let mut figures = Vec::new();
    for &browsers in counts {
        for count in (0..browsers).step_by(AT_ONCE).chain([browsers - 1]) {
            idle.fill_up(daemon.server.port, &home, count).await?;
            // So that the browsers that are called answer their heartbeats while the others come.
            for side in [&mut measured, &mut yardstick] {
                side.waits(SCRIPT, 1, &mut CallSamples::default()).await?;
            }
        }
        let [own, others] = by_turns(extent, &mut measured, &mut yardstick).await?;
        idle.check()?;
        let figure = Figure::new("call, median", "µs", Spread::of(&own.medians));
        figures.push(beside(figure, browsers, &own.medians, &others.medians, "10 browsers"));
        let figure = Figure::new("call, p99", "µs", Spread::of(&own.p99s));
        let figure = beside(figure, browsers, &own.p99s, &others.p99s, "10 browsers");
        figures.push(if browsers == most { figure.bound(Bound::Ratio(GROWTH)) } else { figure });
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of browsers")]
    let each = (daemon.server.resident()? - empty) * 1_024.0 / most as f64;
    let figure = Figure::new("memory of an idle browser", "KiB", Spread::one(each));
    figures.push(figure.bound(Bound::Median(SOCKET)));
    Ok(figures)
}

pub(crate) async fn beside_kept(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let most = if extent.is_quick { 1_000 } else { 100_000 };
    let mut figures = Vec::new();
    let few = PairedDaemon::start(extent.program, &["--limit", "retained=1"])?;
    for kept in KEPT.into_iter().filter(|kept| *kept <= most) {
        // Spread over clients, of which each keeps a hundred at most, as the default has it.
        let clients = kept.div_ceil(100);
        let (each, limit) = (kept.div_ceil(clients), format!("clients={}", clients + 10));
        let flags = ["--limit", &limit, "--limit", "kept_mib=2000", "--limit", "retained=100"];
        let daemon = PairedDaemon::start(extent.program, &flags)?;
        let home = daemon.home()?;
        let mut pair = LoadPair::connect(daemon.server.port, &home, 0).await?;
        for client in 0..clients {
            pair.rename(format!("kept-{client}"));
            pair.repeat(each).await?;
        }
        // Connected only now: a daemon gives up a browser that is silent for 45 s, and the work before can take longer.
        let (mut measured, mut yardstick) = (alone(&daemon).await?, alone(&few).await?);
        let [own, others] = by_turns(extent, &mut measured, &mut yardstick).await?;
        let figure = Figure::new("call, median", "µs", Spread::of(&own.medians));
        figures.push(beside(figure, kept, &own.medians, &others.medians, "1 kept"));
        let figure = Figure::new("call, p99", "µs", Spread::of(&own.p99s));
        figures.push(beside(figure, kept, &own.p99s, &others.p99s, "1 kept"));
    }
    Ok(figures)
}

fn beside(figure: Figure, count: usize, own: &[f64], others: &[f64], what: &str) -> Figure {
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let at = count as f64;
    let named = figure.what.clone();
    let mut figure = figure.of(named, at).beside(what, own, others);
    figure.what = format!("{}, beside {count}", figure.what);
    figure
}

async fn alone(daemon: &PairedDaemon) -> anyhow::Result<DaemonSide> {
    let home = daemon.home()?;
    let pair = LoadPair::connect_as(daemon.server.port, &home, "bench").await?;
    Ok(DaemonSide::beside_others(pair, PAUSE))
}

/// The medians and the 99th percentiles of blocks, in µs.
#[derive(Default)]
struct Quantiles {
    medians: Vec<f64>,
    p99s: Vec<f64>,
}

impl Quantiles {
    fn add(&mut self, samples: &SampleSeries) {
        self.medians.push(samples.p50());
        self.p99s.push(samples.p99());
    }
}

/// Blocks of calls at the one and at the other.
async fn by_turns(
    extent: Extent,
    one: &mut DaemonSide,
    other: &mut DaemonSide,
) -> anyhow::Result<[Quantiles; 2]> {
    let mut quantiles = [Quantiles::default(), Quantiles::default()];
    for block in 0..=BLOCKS {
        for (side, to) in [&mut *one, &mut *other].into_iter().zip(&mut quantiles) {
            let mut samples = CallSamples::default();
            side.waits(SCRIPT, extent.of(CALLS), &mut samples).await?;
            // The first is a warm-up.
            if block > 0 {
                to.add(&samples.answer);
            }
        }
    }
    Ok(quantiles)
}
