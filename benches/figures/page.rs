//! The dashboard in a real browser, with many commands in its list, while commands change: how long the
//! page's thread works for a set of changes.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tabwire::demo::{Browser, find_browser};
use tabwire::protocol::EXTENSION_ID;
use testkit::load::{CallSamples, DaemonSide, LoadPair, PairedDaemon, SCRIPT, now};
use testkit::record::{Bound, Figure, Spread};
use testkit::{BrowserUser, PageTrace, PageWork, TestPages};
use tokio::task::JoinSet;

use crate::Extent;

/// Required, in ms: script, style and layout of a set of changes, and the longest task, as browsers define
/// a long one.
const SET: f64 = 8.0;
const TASK: f64 = 50.0;

/// As many commands as the page keeps.
const KEPT: usize = 10_000;

/// So many a client, as the daemon keeps them unless it is told otherwise.
const KEPT_EACH: usize = 100;

/// What makes the changes: so many clients, each with a pause before its call. A command that waits for its
/// result changes at least twice.
const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(28);
const CHANGES: f64 = 200.0;

const LENGTH: Duration = Duration::from_secs(10);

/// The daemon gathers changes for so long: what the page does within this time is for one set of them.
const GATHER: Duration = Duration::from_millis(100);

pub(crate) async fn measure(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let kept = extent.of(KEPT);
    let clients = kept / KEPT_EACH;
    let limit = format!("clients={}", clients + CLIENTS + 10);
    let daemon =
        PairedDaemon::start(extent.program, &["--limit", &limit, "--limit", "kept_mib=2000"])?;
    let home = daemon.home()?;
    let port = daemon.server.port;
    let mut pair = LoadPair::connect(port, &home, 0).await?;
    for client in 0..clients {
        pair.rename(format!("kept-{client}"));
        pair.repeat(KEPT_EACH).await?;
    }
    let folder = tempfile::tempdir()?;
    let unpacked = folder.path().join("extension");
    tabwire::extension::unpack(&unpacked, port, &home.auth().extension_key(EXTENSION_ID))?;
    let chromium = find_browser().context("`make browser` installs one")?;
    let program = BrowserUser::lets_in(folder.path(), &chromium);
    let profile = folder.path().join("profile");
    let pages = TestPages::start().await;
    let browser = Browser::launch(&program, &profile, &unpacked, &pages.url("/"))?;
    let mut hand = BrowserUser::reach(&profile).await;
    hand.leave_for(&link(extent, &daemon)?).await;
    let is_full = format!("document.querySelector('#list [aria-setsize=\"{kept}\"]') !== null");
    hand.becomes(&is_full, true).await;
    let length = if extent.is_quick { LENGTH / 5 } else { LENGTH };
    let (trace, calls) = hand.traced("/dashboard/files/", changes(&daemon, length)).await;
    browser.end().await;
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    let changes = 2.0 * calls? as f64 / length.as_secs_f64();
    ensure!(changes >= CHANGES, "only {changes:.0} changes a second");
    told(kept, changes, &trace)
}

/// The address of the file that leads to the page.
fn link(extent: Extent, daemon: &PairedDaemon) -> anyhow::Result<String> {
    let mut open = Command::new(extent.program);
    open.args(["open", "--print"])
        .env("TABWIRE_HOME", daemon.home_path())
        .env_remove("TABWIRE_PORT");
    let done = open.output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(format!("file://{}", String::from_utf8(done.stdout)?.trim()))
}

/// Commands that come and end, for so long; how many.
async fn changes(daemon: &PairedDaemon, length: Duration) -> anyhow::Result<usize> {
    let home = daemon.home()?;
    let end = now() + length;
    let mut working = JoinSet::new();
    for number in 0..CLIENTS {
        let name = format!("changes-{number}");
        let pair = LoadPair::connect_as(daemon.server.port, &home, &name).await?;
        let mut side = DaemonSide::beside_others(pair, PAUSE);
        working.spawn(async move {
            let mut samples = CallSamples::default();
            while now() < end {
                side.waits(SCRIPT, 1, &mut samples).await?;
            }
            anyhow::Ok(samples.answer.count())
        });
    }
    let mut calls = 0;
    while let Some(done) = working.join_next().await {
        calls += done??;
    }
    Ok(calls)
}

fn told(kept: usize, changes: f64, trace: &PageTrace) -> anyhow::Result<Vec<Figure>> {
    let sets = sets_of(&trace.script_and_layout);
    ensure!(sets.len() > 10, "{} sets of changes were seen", sets.len());
    let mut sorted = sets.clone();
    sorted.sort_by(f64::total_cmp);
    let p99 = sorted[(sorted.len() - 1) * 99 / 100];
    let longest = trace.tasks.iter().map(|task| millis(task.length)).fold(0.0, f64::max);
    let named = format!("{kept} commands in the list, {changes:.0} changes a second");
    let each = Figure::new(
        format!("{named}: script and layout for a set of them"),
        "ms",
        Spread::of(&sets),
    );
    let whole = sets_of(&trace.tasks);
    let whole =
        Figure::new(format!("{named}: all work for a set of them"), "ms", Spread::of(&whole));
    let most = Figure::new(format!("{named}: the longest task"), "ms", Spread::one(longest));
    Ok(vec![each.p99(p99).bound(Bound::P99(SET)), whole, most.bound(Bound::Median(TASK))])
}

/// How long the thread works for each set of changes, in ms.
fn sets_of(tasks: &[PageWork]) -> Vec<f64> {
    let Some(first) = tasks.first() else { return Vec::new() };
    let mut sets: Vec<f64> = Vec::new();
    for task in tasks {
        let at = (task.begin - first.begin).as_millis() / GATHER.as_millis();
        let at = usize::try_from(at).unwrap_or_default();
        if at >= sets.len() {
            sets.resize(at + 1, 0.0);
        }
        sets[at] += millis(task.length);
    }
    sets
}

fn millis(length: Duration) -> f64 {
    length.as_secs_f64() * 1_000.0
}
