//! What a blocked read costs, and how soon it wakes: 1,000 reads of waits for drawings, each
//! for a session of its own, that end one by one.
//!
//! `cargo bench --bench waits` runs the hub with a journal in this process. A wake-up is
//! counted from the end of the command, which is recorded before anybody is told, to the
//! moment at which the reader has it.
//!
//! After `--`: `--check` to exit with 1 if a required bound is missed.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser;
use serde_json::value::RawValue;
use tabwire::hub::{Caller, ClockSample, HostTask, Hub, TargetSelector};
use tabwire::journal;
use tabwire::lifecycle::{AwaitedDrawings, CommandOutcome, CommandWork, Limits, limits};
use tabwire::protocol::{CorrelationId, SessionName};
use testkit::load::{self, SampleSeries, now, resident, verdict};
use tokio::task::JoinHandle;

/// Clients, each with as many waits as it may have.
const CLIENTS: usize = 50;

/// Required: the memory of all blocked reads together, in MiB.
const MEMORY: f64 = 10.0;

/// Required: a wake-up at p99, in ms.
const WAKE: f64 = 5.0;

/// Measures blocked reads.
#[derive(Parser)]
#[command(name = "waits")]
struct Options {
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// A read that blocks, and when it came back.
type Blocked = JoinHandle<anyhow::Result<Instant>>;

fn main() -> ExitCode {
    load::run("waits", |options: &Options| options.check, bench)
}

async fn bench(_options: &Options) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir().context("no temporary directory")?;
    let opened = journal::open(&folder.path().join("journal.db"), "aside")?;
    let hub = Hub::open(Limits::default(), opened.journal, opened.history, &ClockSample::now());
    let waits = waits(&hub)?;
    hub.flush_journal().await;
    let before = resident(std::process::id())?;
    let blocked: Vec<_> = waits.iter().map(|wait| block(&hub, wait)).collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let memory = resident(std::process::id())? - before;
    let mut took = SampleSeries::default();
    for ((_, id), blocked) in waits.iter().zip(blocked) {
        let result = RawValue::from_string(r#"{"annotations":[]}"#.to_owned())?.into();
        let ended = now();
        hub.finish(id, CommandOutcome::Complete { result, origin: None });
        took.add(blocked.await?? - ended);
    }
    hub.shut_down().await;
    let (p50, p99) = (took.p50() / 1_000.0, took.p99() / 1_000.0);
    let count = took.count();
    let missed = verdict(
        memory <= MEMORY,
        &format!("{count} blocked reads take {memory:.1} MiB ({MEMORY:.0} are allowed)"),
    )?;
    let says =
        format!("a wake-up takes {p50:.2} ms at p50, {p99:.2} ms at p99 ({WAKE:.0} are allowed)");
    Ok(missed | verdict(p99 <= WAKE, &says)?)
}

fn waits(hub: &Hub) -> anyhow::Result<Vec<(Caller, CorrelationId)>> {
    let mut waits = Vec::new();
    for client in 0..CLIENTS {
        let caller = Caller { owner: "user".into(), client: format!("client {client}").into() };
        for n in 0..Limits::default().annotations {
            let session = SessionName::parse(&format!("{client} {n}")).ok();
            let asked = HostTask {
                work: CommandWork::Annotations { annotations: AwaitedDrawings { session } },
                target: TargetSelector::default(),
                deadline: limits::PERSON,
                estimate: Duration::ZERO,
                idempotency_key: None,
                must_name_tab: false,
                trace_context: None,
                record_by: None,
            };
            let taken = hub.start_host_task(&caller, asked);
            let taken = taken.map_err(|refused| anyhow::anyhow!(refused.why.message()))?;
            waits.push((caller.clone(), taken.accepted.id));
        }
    }
    Ok(waits)
}

fn block(hub: &Hub, (caller, id): &(Caller, CorrelationId)) -> Blocked {
    let (hub, caller, id) = (hub.clone(), caller.clone(), id.clone());
    tokio::spawn(async move {
        let seen = hub.wait(&caller, &id, limits::WAIT_MAX, false).await;
        seen.map_err(|refused| anyhow::anyhow!(refused.why.message()))?;
        Ok(now())
    })
}
