//! Each transport, with actions of several lengths: how late the answer is at the caller.

use std::time::Duration;

use testkit::load::PairedDaemon;
use testkit::record::{Bound, Figure, Spread};

use crate::Extent;
use crate::cost::{MeasuredTransport, TRANSPORTS, TransportPairs};

/// Required: how late an answer is over WebSocket, in ms at p99.
const LATE: f64 = 2.0;

const LENGTHS: [u64; 5] = [5, 150, 250, 600, 5_000];

pub(crate) async fn measure(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let daemon = PairedDaemon::start(extent.program, &[])?;
    let mut figures = Vec::new();
    for transport in TRANSPORTS {
        let mut pairs = TransportPairs::connect(transport, &daemon).await?;
        for ms in LENGTHS {
            let length = Duration::from_millis(ms);
            // The longest are half of the run otherwise.
            let calls = transport.calls(length) / if ms < 5_000 { 2 } else { 3 };
            let cost = pairs.measure(length, extent.of(calls)).await?;
            let of = transport.name();
            #[expect(clippy::cast_precision_loss, reason = "a length")]
            let at = ms as f64;
            let (late, late_p99) = (cost.late.p50() / 1_000.0, cost.late.p99() / 1_000.0);
            if ms == LENGTHS[0] {
                let (frame, p99) = (cost.frame.p50() / 1_000.0, cost.frame.p99() / 1_000.0);
                let figure = Figure::new("submit → frame", "ms", Spread::one(frame));
                figures.push(figure.of(of, at).p99(p99));
            }
            let figure = Figure::new(format!("late, {ms} ms"), "ms", Spread::one(late));
            let figure = figure.of(of, at).p99(late_p99);
            let is_bound = transport == MeasuredTransport::WebSocket;
            figures.push(if is_bound { figure.bound(Bound::P99(LATE)) } else { figure });
        }
    }
    Ok(figures)
}
