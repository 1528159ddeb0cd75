//! Commands a second, and a burst of one client.

use std::time::Duration;

use testkit::load::{LoadPairs, MeasuredServer, PairedDaemon, RelaySide, now};
use testkit::record::{Bound, Figure, Spread};
use tokio::task::JoinSet;

use crate::Extent;
use crate::cost::{MeasuredTransport, TransportPairs};

/// Required: commands a second with 100 browsers and the journal.
const RATE: f64 = 10_000.0;

const BLOCKS: usize = 5;
const BLOCK: Duration = Duration::from_secs(2);

/// As many calls as clients have been seen to make at once.
const BURST: usize = 50;

pub(crate) async fn measure(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for browsers in [1, 10, 100] {
        let journaled = PairedDaemon::start(extent.program, &[])?;
        let ephemeral = PairedDaemon::start(extent.program, &["--ephemeral"])?;
        let relay = MeasuredServer::relay(browsers)?;
        let mut pairs = [journaled.connect(browsers).await?, ephemeral.connect(browsers).await?];
        let mut relays = Vec::new();
        for port in &relay.ports {
            relays.push(RelaySide::connect(*port, Duration::ZERO).await?);
        }
        let block = if extent.is_quick { BLOCK / 10 } else { BLOCK };
        let mut rates = [const { Vec::new() }; 3];
        for number in 0..=BLOCKS {
            let [with, without] = &mut pairs;
            let rate = [
                rate(with, block).await?,
                rate(without, block).await?,
                of_relay(&mut relays, block).await?,
            ];
            // The first is a warm-up.
            for (rates, rate) in rates.iter_mut().zip(rate).filter(|_| number > 0) {
                rates.push(rate);
            }
        }
        let [with, without, bare] = &rates;
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let at = browsers as f64;
        let named =
            if browsers == 1 { "1 browser".to_owned() } else { format!("{browsers} browsers") };
        for (of, own) in [("with the journal", with), ("without a journal", without)] {
            let figure = Figure::new(format!("{named}, {of}"), "a second", Spread::of(own));
            let figure = figure.of(of, at).beside("bare relay", own, bare);
            let is_bound = browsers == 100 && of == "with the journal";
            figures.push(if is_bound { figure.bound(Bound::AtLeast(RATE)) } else { figure });
        }
        let figure = Figure::new(format!("{named}, bare relay"), "a second", Spread::of(bare));
        figures.push(figure.of("bare relay", at));
    }
    Ok(figures)
}

async fn rate(pairs: &mut LoadPairs, length: Duration) -> anyhow::Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a count of commands")]
    Ok(pairs.work(length).await?.count() as f64 / length.as_secs_f64())
}

async fn of_relay(relays: &mut Vec<RelaySide>, length: Duration) -> anyhow::Result<f64> {
    let end = now() + length;
    let mut working = JoinSet::new();
    for mut side in relays.drain(..) {
        working.spawn(async move {
            let mut samples = testkit::load::CallSamples::default();
            while now() < end {
                side.waits(1, &mut samples).await?;
            }
            anyhow::Ok((side, samples.answer.count()))
        });
    }
    let mut calls = 0;
    while let Some(done) = working.join_next().await {
        let (side, count) = done??;
        relays.push(side);
        calls += count;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    Ok(calls as f64 / length.as_secs_f64())
}

/// One client calls without waiting for answers: how long until it has all results.
pub(crate) async fn measure_burst(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let daemon =
        PairedDaemon::start(extent.program, &["--limit", "queued=50", "--limit", "waiters=64"])?;
    let mut pairs = TransportPairs::connect(MeasuredTransport::WebSocket, &daemon).await?;
    let mut pollers = TransportPairs::connect(MeasuredTransport::Poll, &daemon).await?;
    // The same number at both, also in a quick run: a poll takes a second for each.
    let calls = extent.of(BURST);
    let mut pushed = Vec::new();
    for _ in 0..extent.of(20).max(3) {
        pushed.push(pairs.burst(calls).await?.as_secs_f64() * 1_000.0);
    }
    // Once is enough.
    let polled = vec![pollers.burst(calls).await?.as_secs_f64() * 1_000.0; pushed.len()];
    let what = format!("{calls} calls at once by one client → all results");
    Ok(vec![Figure::new(what, "ms", Spread::of(&pushed)).beside(
        "poll every 1 s",
        &pushed,
        &polled,
    )])
}
