//! A whole sync: the calling thread reports, another one walks, has files read, and writes.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::database::{self, DatabaseError};
use super::errors::SyncError;
use super::estimate::PastSyncs;
use super::hash;
use super::progress::{ProgressReporter, SyncGauge, SyncProgress};
use super::record::{self, RecordedChanges, RowWriter};
use super::roots::{SyncTarget, TargetKind};
use super::summary::SyncSummary;
use super::walk::{FolderWalk, WalkFindings};
use super::{FileMonitor, SyncRequest};

/// The interval of reports, which is also the longest delay of a cancellation.
pub(super) const REPORT_EVERY: Duration = Duration::from_millis(250);

/// How many lots of results may wait for the writer, for each reading thread.
const LOTS_WAITING: usize = 4;

/// The reasons why a sync ends early.
enum SyncHalt {
    Storage(DatabaseError),
    /// The path is gone; this many files were recorded before.
    Vanished(u64),
    /// It was told to stop; this many files were recorded before.
    Stopped(u64),
}

impl<T: Into<DatabaseError>> From<T> for SyncHalt {
    fn from(trouble: T) -> Self {
        Self::Storage(trouble.into())
    }
}

impl FileMonitor {
    /// Brings the database up to date. Calls `watch` and `is_cancelled` at least twice a second, even
    /// while the disk hangs, and `watch` at the end.
    ///
    /// # Errors
    ///
    /// [`SyncError`]. Earlier records stay.
    pub fn sync(
        &self,
        request: &SyncRequest,
        watch: &mut dyn FnMut(&SyncProgress),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SyncSummary, SyncError> {
        // First, so that a bad request does not wait for the sync before it.
        self.check(request)?;
        let mut watcher = ProgressReporter::new(watch);
        let turn = self.turn.take(REPORT_EVERY, || {
            watcher.waiting();
            !is_cancelled()
        });
        let _turn = turn.ok_or(SyncError::Cancelled { recorded: 0 })?;
        // Checked again: the path may have gone while this sync waited for its turn.
        let gauge = SyncGauge::default();
        let work =
            RunningSync { monitor: self, request, target: self.check(request)?, gauge: &gauge };
        let (ended, end) = mpsc::sync_channel(1);
        let done = thread::scope(|scope| {
            let working = scope.spawn(|| {
                let done = work.run();
                // Wakes the loop below at once, so that a short sync does not wait for an interval.
                let _ = ended.send(());
                done
            });
            loop {
                watcher.report(&gauge);
                if is_cancelled() {
                    gauge.stop();
                }
                match end.recv_timeout(REPORT_EVERY) {
                    Err(RecvTimeoutError::Timeout) if !working.is_finished() => {}
                    _ => break working.join(),
                }
            }
        });
        let summary = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        watcher.report(&gauge);
        Ok(summary)
    }
}

/// A sync at work.
struct RunningSync<'a> {
    monitor: &'a FileMonitor,
    request: &'a SyncRequest,
    target: SyncTarget,
    gauge: &'a SyncGauge,
}

impl RunningSync<'_> {
    /// Runs the sync. If the database turns out to be damaged, moves it aside and begins anew.
    fn run(&self) -> Result<SyncSummary, SyncError> {
        let done = match self.attempt() {
            Err(SyncHalt::Storage(DatabaseError::Damaged(_))) => {
                let aside = self.monitor.store.move_aside();
                aside.map_err(SyncHalt::from).and_then(|to| {
                    let summary = self.attempt()?;
                    Ok(SyncSummary { database_moved_to: Some(to), ..summary })
                })
            }
            done => done,
        };
        done.map_err(|halt| self.error(halt))
    }

    fn error(&self, halt: SyncHalt) -> SyncError {
        match halt {
            SyncHalt::Storage(DatabaseError::Damaged(why) | DatabaseError::Access(why)) => {
                SyncError::Storage { path: self.monitor.store.path().to_owned(), why }
            }
            SyncHalt::Vanished(recorded) => {
                SyncError::Vanished { path: self.target.path.clone(), recorded }
            }
            SyncHalt::Stopped(recorded) => SyncError::Cancelled { recorded },
        }
    }

    fn attempt(&self) -> Result<SyncSummary, SyncHalt> {
        let connection = self.monitor.store.connect()?;
        let done = self.bring_up_to_date(&connection);
        // A connection that failed once is not trusted with the next sync.
        if !matches!(done, Err(SyncHalt::Storage(_))) {
            self.monitor.store.keep(connection);
        }
        done
    }

    fn bring_up_to_date(&self, connection: &Connection) -> Result<SyncSummary, SyncHalt> {
        let began = (self.monitor.clock)();
        let past = PastSyncs::of(self.request, &self.target);
        // A kill from here on makes the next sync check the database.
        database::set_ended_cleanly(connection, false)?;
        self.gauge.walk(past.files(connection)?);
        let found = self.walk().run()?;
        // An unmounted disk looks like an empty folder (decision 166).
        self.go_on(0)?;
        let lost = record::lost_folders(connection, &found, self.below())?;
        let RecordedChanges { mut summary, gone } = self.read(connection, &found)?;
        self.go_on(summary.files_updated)?;
        // Removals, statistics and the mark are one transaction: a kill before it removes nothing.
        let end = connection.unchecked_transaction()?;
        summary.files_removed = record::remove(connection, &found, &gone, &lost)?;
        summary.add(found.summary);
        let took = (self.monitor.clock)().saturating_sub(began);
        summary.duration_seconds = took.as_secs_f64();
        past.add(connection, &summary)?;
        database::set_ended_cleanly(connection, true)?;
        end.commit()?;
        self.gauge.finish();
        Ok(summary)
    }

    fn walk(&self) -> FolderWalk<'_> {
        let FileMonitor { store, disk, .. } = self.monitor;
        let SyncRequest { recursive, verify, .. } = *self.request;
        let (target, gauge, threads) = (&self.target, self.gauge, threads());
        FolderWalk { target, recursive, verify, store, disk, gauge, threads }
    }

    /// The path below which the walk saw every folder, if it did. A sync of a file counts: a folder may
    /// have stood in its place.
    fn below(&self) -> Option<&Path> {
        let all = self.request.recursive || self.target.kind == TargetKind::File;
        all.then_some(self.target.path.as_path())
    }

    /// Reads the found files and writes their rows. Stops reading when writing fails.
    fn read(
        &self,
        connection: &Connection,
        found: &WalkFindings,
    ) -> Result<RecordedChanges, SyncHalt> {
        let (disk, gauge, threads) = (&self.monitor.disk, self.gauge, threads());
        let bytes = found.files.iter().map(|file| file.size).sum();
        gauge.read(found.summary.files_processed, count(found.files.len()), bytes);
        thread::scope(|scope| {
            let (results, received) = mpsc::sync_channel(LOTS_WAITING * threads);
            scope.spawn(move || hash::read_all(found, disk, gauge, threads, &results));
            let recorded = RowWriter::new(connection, found).record(&received);
            // Wakes the readers that wait to send: their sends fail from here on.
            drop(received);
            Ok(recorded.inspect_err(|_| gauge.stop())?)
        })
    }

    /// Fails if the sync was stopped or its path is gone. `recorded` files were written so far.
    fn go_on(&self, recorded: u64) -> Result<(), SyncHalt> {
        if self.gauge.is_stopped() {
            return Err(SyncHalt::Stopped(recorded));
        }
        if self.target.is_still_there() { Ok(()) } else { Err(SyncHalt::Vanished(recorded)) }
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn count(files: usize) -> u64 {
    u64::try_from(files).unwrap_or(u64::MAX)
}
