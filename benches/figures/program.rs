//! Starts, memory and sizes of the program, and acts in a real browser.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use tabwire::demo::find_browser;
use testkit::load::{MeasuredServer, PairedDaemon, now};
use testkit::record::{Bound, Figure, Spread};

use crate::Extent;
use crate::real::{BRIDGE_MEMORY, IDLE_MEMORY, MeasuredCall, measure_bridge, measure_browser};

/// Required, in MiB: the daemon without anything to do, and the program's file.
const IDLE: f64 = 10.0;
const FILE: f64 = 12.0;

/// How many blocks the samples of a series are cut into.
const BLOCKS: usize = 5;

pub(crate) async fn starts(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let measured = measure_bridge(folder.path(), extent.of(20)).await;
    let bare = bare_starts(extent, measured.first().map_or(1, |first| first.values.len()))?;
    let mut figures = Vec::new();
    for call in &measured {
        if call.what == BRIDGE_MEMORY {
            continue;
        }
        let figure = Figure::new(call.what, "ms", blocks_of(&call.values)).p99(call.at(0.99));
        let figure = figure.beside("`tabwire --version`", &call.values, &bare);
        figures.push(figure.bound(Bound::Median(call.p50)));
    }
    figures.push(full_start(extent).await?);
    Ok(figures)
}

/// How long the program takes that does nothing, in ms.
fn bare_starts(extent: Extent, starts: usize) -> anyhow::Result<Vec<f64>> {
    let mut took = Vec::new();
    for _ in 0..starts {
        let began = now();
        let done = Command::new(extent.program).arg("--version").output()?;
        ensure!(done.status.success(), "the program does not start");
        took.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(took)
}

/// The start of a daemon that was killed with 1,000 commands in its journal.
async fn full_start(extent: Extent) -> anyhow::Result<Figure> {
    let daemon = PairedDaemon::start(extent.program, &[])?;
    for pair in &mut daemon.connect(10).await?.0 {
        pair.repeat(100).await?;
    }
    let PairedDaemon { server, folder } = daemon;
    let home = folder.path().join("state");
    server.kill()?;
    let (mut full, mut empty) = (Vec::new(), Vec::new());
    for _ in 0..extent.of(9).max(3) {
        full.push(start(extent.program, &home)?);
        let fresh = tempfile::tempdir()?;
        empty.push(start(extent.program, &fresh.path().join("state"))?);
    }
    let figure =
        Figure::new("daemon: start with 1,000 commands in its journal", "ms", Spread::of(&full));
    Ok(figure.beside("with none", &full, &empty))
}

/// How long it takes until a daemon listens, in ms.
fn start(program: &Path, home: &Path) -> anyhow::Result<f64> {
    let began = now();
    let server = MeasuredServer::daemon(program, home, &[])?;
    let took = began.elapsed().as_secs_f64() * 1_000.0;
    server.kill()?;
    Ok(took)
}

pub(crate) async fn memory(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let daemon = PairedDaemon::start(extent.program, &[])?;
    let relay = MeasuredServer::relay(1)?;
    let (idle, bare) = (daemon.server.resident()?, relay.resident()?);
    let figure = Figure::new("the daemon, idle", "MiB", Spread::one(idle));
    let mut figures =
        vec![figure.beside("bare relay", &[idle], &[bare]).bound(Bound::Median(IDLE))];
    let (own, others) = (daemon.server.own()?, relay.own()?);
    let figure =
        Figure::new("the same, without pages of the program's file", "MiB", Spread::one(own));
    figures.push(figure.beside("bare relay", &[own], &[others]));
    let mut pairs = daemon.connect(100).await?;
    let connected = daemon.server.resident()?;
    figures.push(Figure::new(
        "the same, with 100 browsers and their clients",
        "MiB",
        Spread::one(connected),
    ));
    pairs.work(std::time::Duration::from_secs(2)).await?;
    let worked = daemon.server.resident()?;
    figures.push(Figure::new("the same, after they have worked", "MiB", Spread::one(worked)));
    #[expect(clippy::cast_precision_loss, reason = "a size")]
    let file = std::fs::metadata(extent.program)?.len() as f64 / f64::from(1 << 20);
    figures.push(
        Figure::new("the program's file", "MiB", Spread::one(file)).bound(Bound::Median(FILE)),
    );
    Ok(figures)
}

pub(crate) async fn in_browser(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let chromium = find_browser().context("`make browser` installs one")?;
    let folder = tempfile::tempdir()?;
    let measured = measure_browser(folder.path(), &chromium, extent.of(200), false).await;
    let mut figures = Vec::new();
    for call in measured.iter().filter(|call| call.what != IDLE_MEMORY) {
        let MeasuredCall { what, values, p50, p99 } = call;
        let unit = if what.contains("bytes") { "" } else { "ms" };
        let figure = Figure::new(*what, unit, blocks_of(values)).bound(Bound::Median(*p50));
        let last = call.at(0.99);
        let figure = if values.len() > 1 { figure.p99(last) } else { figure };
        if let Some(most) = p99 {
            let figure = Figure::new(format!("{what}: the slowest"), unit, blocks_of(values));
            figures.push(figure.p99(last).bound(Bound::P99(*most)));
        }
        figures.push(figure);
    }
    Ok(figures)
}

/// The medians of the blocks that a series is cut into.
fn blocks_of(values: &[f64]) -> Spread {
    let size = values.len().div_ceil(BLOCKS).max(1);
    let medians: Vec<_> = values.chunks(size).map(|block| Spread::of(block).median).collect();
    Spread::of(&medians)
}
