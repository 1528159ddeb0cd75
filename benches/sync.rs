//! What the monitor's database costs: 100,000 small files hashed alone, synced for the first
//! time, and synced again unchanged, by turns in one run.
//!
//! `cargo bench --bench sync`. What the database costs is measured with all files in the
//! cache of the system, where it is as large a part of the whole as it can be. A first sync
//! beside an unchanged one is measured as it is on files that nobody has just written: their
//! content is on the disk, their names and times are in the cache. (On Linux; elsewhere the
//! cache is left as it is.)
//!
//! After `--`: `--quick` for a tenth of the files, `--check` to exit with 1 if a required
//! bound is missed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Context as _;
use clap::Parser;
use tabwire::jobs::monitor::{FileMonitor, SyncRequest, SyncSummary};
use testkit::load::{self, SampleSeries, now, verdict};

/// How many files a folder has.
const FILES_IN_FOLDER: usize = 100;

/// How often each of the three is measured.
const ROUNDS: usize = 5;

/// Required: how many times as long as hashing alone the first sync may take.
const FIRST: f64 = 2.0;

/// Required: how many times as fast as the first one the second sync is at least.
const AGAIN: f64 = 10.0;

/// Measures the sync of many small files.
#[derive(Parser)]
#[command(name = "sync")]
struct Options {
    /// A tenth of the files
    #[arg(long)]
    quick: bool,
    /// How large the files are on average, in KiB
    #[arg(long, default_value_t = 4)]
    kib: usize,
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    load::run("sync", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let files = if options.quick { 10_000 } else { 100_000 };
    let dir = tempfile::tempdir().context("no temporary directory")?;
    let tree = dir.path().join("tree");
    let bytes = make(&tree, files, options.kib * 1_024)?;
    let mut all = Figures::default();
    let _ = hash_alone(&tree)?;
    for round in 0..ROUNDS {
        for cold in [false, true] {
            let state = dir.path().join(format!("{round}-{cold}"));
            fs::create_dir(&state)?;
            measure(&tree, &state, (files, bytes), cold, &mut all)?;
        }
    }
    writeln!(io::stdout(), "{files} files with {} MiB, {ROUNDS} rounds by turns", bytes >> 20)?;
    all.report()
}

/// Hashes all files alone, syncs them for the first time, and again.
fn measure(
    tree: &Path,
    state: &Path,
    (files, bytes): (u64, u64),
    cold: bool,
    all: &mut Figures,
) -> anyhow::Result<()> {
    let [alone, first] = if cold { &mut all.cold } else { &mut all.warm };
    let prepare = || if cold { forget(tree) } else { Ok(()) };
    prepare()?;
    let began = now();
    anyhow::ensure!(hash_alone(tree)? == (files, bytes), "not all files were hashed");
    alone.add(began.elapsed());
    prepare()?;
    let monitor = open(&state.join("monitor.db"), tree);
    let began = now();
    let summary = sync(&monitor, tree)?;
    first.add(began.elapsed());
    anyhow::ensure!(summary.files_new == files, "not all files are new: {summary:?}");
    let began = now();
    let summary = sync(&monitor, tree)?;
    all.unchanged.add(began.elapsed());
    anyhow::ensure!(summary.files_skipped == files, "not all are unchanged: {summary:?}");
    Ok(())
}

/// Takes the content of all files out of the cache.
#[cfg(target_os = "linux")]
fn forget(tree: &Path) -> anyhow::Result<()> {
    for folder in folders_of(tree)? {
        for entry in fs::read_dir(folder)? {
            let file = File::open(entry?.path())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn forget(_tree: &Path) -> anyhow::Result<()> {
    anyhow::bail!("only Linux takes a file's content out of its cache on request")
}

/// What was measured: hashing alone and the first sync, and all syncs after that.
#[derive(Default)]
struct Figures {
    warm: [SampleSeries; 2],
    cold: [SampleSeries; 2],
    unchanged: SampleSeries,
}

impl Figures {
    fn report(&self) -> anyhow::Result<bool> {
        let out = &mut io::stdout();
        let rows = [
            ("hashed alone, in the cache", &self.warm[0]),
            ("first sync, in the cache", &self.warm[1]),
            ("hashed alone, on the disk", &self.cold[0]),
            ("first sync, on the disk", &self.cold[1]),
            ("unchanged sync", &self.unchanged),
        ];
        writeln!(out, "| | median ms | least | most |\n|---|---|---|---|")?;
        for (what, took) in rows {
            let [least, median, most] = [0, 50, 100].map(|percent| took.percentile(percent) / 1e3);
            writeln!(out, "| {what} | {median:.0} | {least:.0} | {most:.0} |")?;
        }
        let mut missed = false;
        for (at, [alone, first]) in [("in the cache", &self.warm), ("on the disk", &self.cold)] {
            let times = first.p50() / alone.p50();
            let what = format!("{at}: a first sync takes {times:.2} × of hashing alone");
            missed |= verdict(times <= FIRST, &format!("{what} ({FIRST} are allowed)"))?;
        }
        let times = self.cold[1].p50() / self.unchanged.p50();
        let what = format!("on the disk: an unchanged sync is {times:.1} × faster than the first");
        missed |= verdict(times >= AGAIN, &format!("{what} ({AGAIN} are required)"))?;
        let times = self.warm[1].p50() / self.unchanged.p50();
        writeln!(out, "        in the cache: {times:.1} ×")?;
        Ok(missed)
    }
}

/// Makes the files, all different. How many bytes they have.
fn make(tree: &Path, files: u64, size: usize) -> io::Result<u64> {
    let mut bytes = 0;
    for number in 0..usize::try_from(files).unwrap_or(usize::MAX) {
        let folder = number / FILES_IN_FOLDER;
        let folder = tree.join(format!("{:02}", folder / 50)).join(format!("{:02}", folder % 50));
        if number % FILES_IN_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        // From half the size to one and a half.
        let length = size / 2 + number * 7_919 % size;
        let line = format!("{number} is the number of this file\n");
        let content: Vec<u8> = line.bytes().cycle().take(length).collect();
        fs::write(folder.join(format!("file-{:04}.txt", number % FILES_IN_FOLDER)), &content)?;
        bytes += length as u64;
    }
    // What is not on the disk yet stays in the cache.
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(tree)?)?;
    Ok(bytes)
}

fn open(database: &Path, tree: &Path) -> FileMonitor {
    let began = now();
    FileMonitor::open(database, vec![tree.to_owned()], Arc::new(move || began.elapsed()))
}

fn sync(monitor: &FileMonitor, tree: &Path) -> anyhow::Result<SyncSummary> {
    Ok(monitor.sync(&SyncRequest::of(tree.to_owned()), &mut |_| {}, &|| false)?)
}

/// Walks, reads and hashes without a database, with as many threads as a sync. How many files
/// and bytes that were.
fn hash_alone(tree: &Path) -> anyhow::Result<(u64, u64)> {
    let threads = thread::available_parallelism()?.get();
    let files = on_threads(threads, &folders_of(tree)?, |folder, files| list(folder, files))?;
    let hashed = on_threads(threads, &files, |path, hashed| {
        hashed.push(hash(path)?);
        Ok(())
    })?;
    Ok((hashed.len() as u64, hashed.iter().sum()))
}

fn folders_of(tree: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![tree.to_owned()];
    let mut at = 0;
    while at < found.len() && found[at].components().count() < tree.components().count() + 2 {
        for entry in fs::read_dir(&found[at])? {
            found.push(entry?.path());
        }
        at += 1;
    }
    Ok(found.split_off(at))
}

/// Does the work for each of these, several at once.
fn on_threads<T: Sync, R: Send>(
    threads: usize,
    todo: &[T],
    work: impl Fn(&T, &mut Vec<R>) -> io::Result<()> + Sync,
) -> anyhow::Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let run = || -> io::Result<()> {
            let mut done = Vec::new();
            while let Some(one) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                work(one, &mut done)?;
            }
            all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut done);
            Ok(())
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.metadata()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn hash(path: &Path) -> io::Result<u64> {
    thread_local!(static BUFFER: std::cell::RefCell<Vec<u8>> = vec![0; 256 * 1_024].into());
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    BUFFER.with_borrow_mut(|buffer| {
        loop {
            match file.read(buffer)? {
                0 => break,
                read => hasher.update(&buffer[..read]),
            };
        }
        std::hint::black_box(hasher.finalize());
        Ok(hasher.count())
    })
}
