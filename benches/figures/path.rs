//! From a call to the command's frame and to its result, of 1, 16 and 64 clients side by side, beside the
//! bare relay and, of one client, beside the same daemon without its journal.

use std::time::Duration;

use testkit::load::{
    CallSamples, DaemonSide, LoadPair, MeasuredServer, PairedDaemon, RelaySide, SAFE, SCRIPT,
};
use testkit::record::{Bound, Figure, Spread};
use tokio::task::JoinSet;

use crate::Extent;

/// Required: a command's frame, and its result with the journal and without a claim, beside the relay's.
const FRAME: f64 = 1.25;
const RESULT: f64 = 2.0;
const SAFE_RESULT: f64 = 1.7;

const PAUSE: Duration = Duration::from_millis(1);

/// One kind of call at one kind of server: the medians of the blocks, in µs.
#[derive(Default)]
struct CallBlocks {
    frame: Vec<f64>,
    answer: Vec<f64>,
    all: CallSamples,
}

impl CallBlocks {
    fn add(&mut self, samples: CallSamples) {
        self.frame.push(samples.frame.p50());
        self.answer.push(samples.answer.p50());
        self.all.frame.extend(samples.frame);
        self.all.answer.extend(samples.answer);
    }
}

/// What is measured in each block, in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Submit,
    Wait,
    Safe,
}

const KINDS: [Kind; 3] = [Kind::Submit, Kind::Wait, Kind::Safe];

pub(crate) async fn measure(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (clients, pause, named, blocks, calls) in [
        (1, PAUSE, "1 client", 15, 150),
        (1, Duration::ZERO, "1 client, back to back", 15, 300),
        (16, PAUSE, "16 clients", 9, 40),
        (64, PAUSE, "64 clients", 9, 15),
    ] {
        let is_usual = clients == 1 && !pause.is_zero();
        let mut sides = Sides::connect(extent, clients, pause, is_usual).await?;
        sides.block(extent.of(calls * 2), |_, _, _| {}).await?;
        let mut all = Blocks::default();
        for _ in 0..extent.of(blocks).max(3) {
            sides.block(extent.of(calls), |at, kind, samples| all.add(at, kind, samples)).await?;
        }
        figures.extend(all.told(named, is_usual));
    }
    Ok(figures)
}

/// The servers that take turns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Daemon,
    Ephemeral,
    Relay,
}

#[derive(Default)]
struct Blocks {
    daemon: [CallBlocks; 3],
    ephemeral: [CallBlocks; 3],
    relay: [CallBlocks; 3],
}

impl Blocks {
    fn add(&mut self, at: At, kind: Kind, samples: CallSamples) {
        let of = match at {
            At::Daemon => &mut self.daemon,
            At::Ephemeral => &mut self.ephemeral,
            At::Relay => &mut self.relay,
        };
        of[kind as usize].add(samples);
    }

    fn told(&self, named: &str, is_usual: bool) -> Vec<Figure> {
        let of = |blocks: &[CallBlocks; 3], kind: Kind, is_frame: bool| {
            let blocks = &blocks[kind as usize];
            let medians = if is_frame { &blocks.frame } else { &blocks.answer };
            let p99 = if is_frame { blocks.all.frame.p99() } else { blocks.all.answer.p99() };
            (medians.clone(), p99)
        };
        let figure = |what: &str, kind, relays, is_frame, bound| {
            let (own, p99) = of(&self.daemon, kind, is_frame);
            let (relay, _) = of(&self.relay, relays, is_frame);
            let figure = Figure::new(format!("{named}: {what}"), "µs", Spread::of(&own)).p99(p99);
            let figure = figure.beside("bare relay", &own, &relay);
            if is_usual { figure.bound(Bound::Ratio(bound)) } else { figure }
        };
        let mut figures = vec![
            figure("submit → frame", Kind::Submit, Kind::Submit, true, FRAME),
            figure("submit with wait → result", Kind::Wait, Kind::Wait, false, RESULT),
            figure("the same, safe action", Kind::Safe, Kind::Wait, false, SAFE_RESULT),
        ];
        if is_usual {
            let (own, p99) = of(&self.daemon, Kind::Wait, false);
            let (bare, _) = of(&self.ephemeral, Kind::Wait, false);
            let what = format!("{named}: submit with wait → result, beside no journal");
            let figure = Figure::new(what, "µs", Spread::of(&own)).p99(p99);
            figures.push(figure.beside("`--ephemeral`", &own, &bare));
        }
        figures
    }
}

/// Clients and extensions of each server.
struct Sides {
    daemon: Vec<DaemonSide>,
    ephemeral: Vec<DaemonSide>,
    relay: Vec<RelaySide>,
    /// They end with this.
    _servers: (PairedDaemon, Option<PairedDaemon>, MeasuredServer),
}

impl Sides {
    async fn connect(
        extent: Extent,
        clients: usize,
        pause: Duration,
        has_ephemeral: bool,
    ) -> anyhow::Result<Self> {
        let daemon = PairedDaemon::start(extent.program, &[])?;
        let ephemeral = if has_ephemeral {
            Some(PairedDaemon::start(extent.program, &["--ephemeral"])?)
        } else {
            None
        };
        let relay = MeasuredServer::relay(clients)?;
        let mut relays = Vec::new();
        for port in &relay.ports {
            relays.push(RelaySide::connect(*port, pause).await?);
        }
        let of_daemon = sides_of(&daemon, clients, pause).await?;
        let of_ephemeral = match &ephemeral {
            None => Vec::new(),
            Some(daemon) => sides_of(daemon, clients, pause).await?,
        };
        Ok(Self {
            daemon: of_daemon,
            ephemeral: of_ephemeral,
            relay: relays,
            _servers: (daemon, ephemeral, relay),
        })
    }

    /// So many calls of each kind by each client, at one server after the other.
    async fn block(
        &mut self,
        calls: usize,
        mut done: impl FnMut(At, Kind, CallSamples),
    ) -> anyhow::Result<()> {
        for kind in KINDS {
            let samples = side_by_side(&mut self.daemon, async move |side: &mut DaemonSide, to| {
                at_daemon(side, kind, calls, to).await
            });
            done(At::Daemon, kind, samples.await?);
            let samples = side_by_side(&mut self.relay, async move |side: &mut RelaySide, to| {
                match kind {
                    Kind::Submit => side.submits(calls, to).await,
                    Kind::Wait => side.waits(calls, to).await,
                    // The same as a call that waits, to the relay.
                    Kind::Safe => Ok(()),
                }
            });
            done(At::Relay, kind, samples.await?);
            if kind == Kind::Wait && !self.ephemeral.is_empty() {
                let samples =
                    side_by_side(&mut self.ephemeral, async move |side: &mut DaemonSide, to| {
                        at_daemon(side, kind, calls, to).await
                    });
                done(At::Ephemeral, kind, samples.await?);
            }
        }
        Ok(())
    }
}

async fn at_daemon(
    side: &mut DaemonSide,
    kind: Kind,
    calls: usize,
    to: &mut CallSamples,
) -> anyhow::Result<()> {
    match kind {
        Kind::Submit => side.submits(calls, to).await,
        Kind::Wait => side.waits(SCRIPT, calls, to).await,
        Kind::Safe => side.waits(SAFE, calls, to).await,
    }
}

async fn sides_of(
    daemon: &PairedDaemon,
    clients: usize,
    pause: Duration,
) -> anyhow::Result<Vec<DaemonSide>> {
    if clients == 1 {
        return Ok(vec![DaemonSide::connect(&daemon.server, &daemon.home_path(), pause).await?]);
    }
    let pairs: Vec<LoadPair> = daemon.connect(clients).await?.0;
    Ok(pairs.into_iter().map(|pair| DaemonSide::beside_others(pair, pause)).collect())
}

/// The same work of all of them at the same time.
async fn side_by_side<S: Send + 'static, W>(
    sides: &mut Vec<S>,
    work: W,
) -> anyhow::Result<CallSamples>
where
    W: AsyncFn(&mut S, &mut CallSamples) -> anyhow::Result<()> + Copy + 'static,
{
    let mut all = CallSamples::default();
    // One alone has no task between itself and its sockets.
    if let [side] = sides.as_mut_slice() {
        work(side, &mut all).await?;
        return Ok(all);
    }
    let tasks = tokio::task::LocalSet::new();
    let done = tasks.run_until(async {
        let mut working = JoinSet::new();
        for mut side in sides.drain(..) {
            working.spawn_local(async move {
                let mut samples = CallSamples::default();
                work(&mut side, &mut samples).await.map(|()| (side, samples))
            });
        }
        working.join_all().await
    });
    for finished in done.await {
        let (side, samples) = finished?;
        sides.push(side);
        all.frame.extend(samples.frame);
        all.answer.extend(samples.answer);
    }
    Ok(all)
}
