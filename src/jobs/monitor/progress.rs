//! The progress of a sync: counters of its threads, and reports of them.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The walk's share of the whole, if its length can be estimated.
const WALK_SHARE: f64 = 0.2;

/// The cost of opening a file, in bytes read.
const PER_FILE: f64 = 16_384.0;

/// The stage of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPhase {
    /// Another sync is running.
    Waiting,
    /// Files are looked for and compared with their rows.
    Walking,
    /// New and changed files are read.
    Reading,
    /// All is done.
    Done,
}

/// How far a sync is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyncProgress {
    /// Its stage.
    pub phase: SyncPhase,
    /// How many files are dealt with.
    pub done: u64,
    /// How many files there are, as far as they have been found.
    pub found: u64,
    /// How many files there are in all, once that is known.
    pub total: Option<u64>,
    /// From 0 to 1. It never goes back.
    pub fraction: f64,
}

impl SyncProgress {
    /// The same in words.
    #[must_use]
    pub fn message(&self) -> String {
        match (self.phase, self.total) {
            (SyncPhase::Waiting, _) => "Waiting for another sync".to_owned(),
            (_, Some(total)) => format!("Processing {} of {total} files", self.done),
            (_, None) => format!("Found {} files so far", self.found),
        }
    }
}

/// The counters of a sync's threads. They only grow, so it does no harm that a report reads them at
/// slightly different times.
#[derive(Debug, Default)]
pub(super) struct SyncGauge {
    phase: AtomicU8,
    found: AtomicU64,
    done: AtomicU64,
    bytes_found: AtomicU64,
    bytes_done: AtomicU64,
    expected: AtomicU64,
    stopped: AtomicBool,
}

const WALKING: u8 = 0;
const READING: u8 = 1;
const DONE: u8 = 2;

impl SyncGauge {
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Begins the walk, which found this many files the last time.
    pub(super) fn walk(&self, expected: u64) {
        for count in [&self.found, &self.done, &self.bytes_done] {
            count.store(0, Ordering::Relaxed);
        }
        self.expected.store(expected, Ordering::Relaxed);
        self.phase.store(WALKING, Ordering::Relaxed);
    }

    pub(super) fn found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins to read this many files, beside those that are dealt with.
    pub(super) fn read(&self, dealt_with: u64, files: u64, bytes: u64) {
        self.found.store(dealt_with + files, Ordering::Relaxed);
        self.done.store(dealt_with, Ordering::Relaxed);
        self.bytes_found.store(bytes, Ordering::Relaxed);
        self.phase.store(READING, Ordering::Relaxed);
    }

    pub(super) fn bytes_read(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn file_read(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn finish(&self) {
        self.phase.store(DONE, Ordering::Relaxed);
    }

    fn look(&self) -> SyncProgress {
        let phase = match self.phase.load(Ordering::Relaxed) {
            WALKING => SyncPhase::Walking,
            READING => SyncPhase::Reading,
            _ => SyncPhase::Done,
        };
        let [found, done] = [&self.found, &self.done].map(|count| count.load(Ordering::Relaxed));
        let total = (phase != SyncPhase::Walking).then_some(found);
        SyncProgress { phase, done, found, total, fraction: self.fraction(phase, found, done) }
    }

    #[expect(clippy::cast_precision_loss, reason = "a fraction of counts")]
    fn fraction(&self, phase: SyncPhase, found: u64, done: u64) -> f64 {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        match phase {
            SyncPhase::Waiting => 0.0,
            SyncPhase::Walking => {
                let expected = load(&self.expected);
                if expected > 0.0 { WALK_SHARE * (found as f64 / expected).min(1.0) } else { 0.0 }
            }
            SyncPhase::Reading => {
                let all = load(&self.bytes_found) + found as f64 * PER_FILE;
                let done = load(&self.bytes_done) + done as f64 * PER_FILE;
                WALK_SHARE + (1.0 - WALK_SHARE) * (done / all.max(1.0)).min(1.0)
            }
            SyncPhase::Done => 1.0,
        }
    }
}

/// Reports the progress of a sync. The fraction never goes back, even if a sync has to begin anew.
pub(super) struct ProgressReporter<'a> {
    watch: &'a mut dyn FnMut(&SyncProgress),
    last: f64,
}

impl<'a> ProgressReporter<'a> {
    pub(super) fn new(watch: &'a mut dyn FnMut(&SyncProgress)) -> Self {
        Self { watch, last: 0.0 }
    }

    pub(super) fn waiting(&mut self) {
        let phase = SyncPhase::Waiting;
        (self.watch)(&SyncProgress { phase, done: 0, found: 0, total: None, fraction: 0.0 });
    }

    pub(super) fn report(&mut self, gauge: &SyncGauge) {
        let now = gauge.look();
        self.last = self.last.max(now.fraction);
        (self.watch)(&SyncProgress { fraction: self.last, ..now });
    }
}
