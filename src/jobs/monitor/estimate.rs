//! The estimate of a sync's duration: from earlier syncs of the path, or from the number of files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::database::DatabaseError;
use super::roots::SyncTarget;
use super::summary::SyncSummary;
use super::{FileMonitor, SyncRequest};

/// The assumed speed without earlier syncs: files in a second.
const FILES_A_SECOND: u32 = 100;

/// How many durations of one path are kept.
const KEPT_OF_A_PATH: u32 = 9;

/// How many durations are kept in all.
const KEPT: u32 = 4_096;

/// How long a sync will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyncEstimate {
    /// In seconds.
    pub seconds: f64,
    /// How many files were counted for it, if it was not known from earlier syncs.
    pub files: Option<u32>,
    /// Whether the time was too short to count all files: the sync takes at least this long.
    pub at_least: bool,
}

impl FileMonitor {
    /// How long this would take: the median of what the same sync took before; else a second
    /// for each 100 files, which are counted for at most `count_for`. It does not wait for a
    /// sync that is running. Of a path that may not be synced the estimate is 0.
    pub fn estimate(&self, request: &SyncRequest, count_for: Duration) -> SyncEstimate {
        let Ok(target) = self.check(request) else {
            return SyncEstimate { seconds: 0.0, files: Some(0), at_least: false };
        };
        // An estimate never fails: the sync itself reports an error of the database.
        let past = self.store.reader().ok().and_then(|connection| {
            PastSyncs::of(request, &target).median_seconds(&connection).ok().flatten()
        });
        match past {
            Some(seconds) => SyncEstimate { seconds, files: None, at_least: false },
            None => self.count(request, target.path, count_for),
        }
    }

    fn count(&self, request: &SyncRequest, path: PathBuf, count_for: Duration) -> SyncEstimate {
        let began = (self.clock)();
        let is_over = || (self.clock)().saturating_sub(began) >= count_for;
        let mut files = 0;
        let mut folders = vec![path];
        let mut at_least = false;
        while let Some(folder) = folders.pop()
            && !at_least
        {
            let Ok(entries) = fs::read_dir(&folder) else {
                files += u32::from(folder.is_file());
                continue;
            };
            for entry in entries.flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_file() => files += 1,
                    Ok(kind) if kind.is_dir() && request.recursive => folders.push(entry.path()),
                    _ => {}
                }
                at_least = at_least || is_over();
                if at_least {
                    break;
                }
            }
        }
        let seconds = f64::from(files) / f64::from(FILES_A_SECOND);
        SyncEstimate { seconds, files: Some(files), at_least }
    }
}

/// The durations of earlier syncs of a path.
pub(super) struct PastSyncs<'a> {
    path: &'a Path,
    recursive: bool,
    verify: bool,
}

impl<'a> PastSyncs<'a> {
    pub(super) fn of(request: &SyncRequest, target: &'a SyncTarget) -> Self {
        Self { path: &target.path, recursive: request.recursive, verify: request.verify }
    }

    /// How many files there were the last time; 0 if there was none.
    pub(super) fn files(&self, connection: &Connection) -> Result<u64, DatabaseError> {
        let mut last = connection.prepare_cached(
            "SELECT files FROM took WHERE path = ?1 AND recursive = ?2 ORDER BY number DESC",
        )?;
        let path = self.path.as_os_str().as_encoded_bytes();
        let files = last.query_row(params![path, self.recursive], |row| row.get(0)).optional()?;
        Ok(files.unwrap_or(0))
    }

    fn median_seconds(&self, connection: &Connection) -> Result<Option<f64>, DatabaseError> {
        let mut all = connection.prepare(
            "SELECT seconds FROM took WHERE path = ?1 AND recursive = ?2 AND verify = ?3 \
             ORDER BY number DESC LIMIT ?4",
        )?;
        let path = self.path.as_os_str().as_encoded_bytes();
        let found = params![path, self.recursive, self.verify, KEPT_OF_A_PATH];
        let seconds = all.query_map(found, |row| row.get(0))?;
        let mut seconds = seconds.collect::<Result<Vec<f64>, _>>()?;
        seconds.sort_unstable_by(f64::total_cmp);
        let middle = seconds.len().saturating_sub(1) / 2;
        Ok(seconds.get(middle).copied())
    }

    /// Notes the length of this sync.
    pub(super) fn add(
        &self,
        connection: &Connection,
        summary: &SyncSummary,
    ) -> Result<(), DatabaseError> {
        let path = self.path.as_os_str().as_encoded_bytes();
        connection.execute(
            "INSERT INTO took (path, recursive, verify, seconds, files) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                path,
                self.recursive,
                self.verify,
                summary.duration_seconds,
                summary.files_processed
            ],
        )?;
        let same = params![path, self.recursive, self.verify, KEPT_OF_A_PATH];
        connection.execute(
            "DELETE FROM took WHERE path = ?1 AND recursive = ?2 AND verify = ?3 AND number <= \
             (SELECT number FROM took WHERE path = ?1 AND recursive = ?2 AND verify = ?3 \
              ORDER BY number DESC LIMIT 1 OFFSET ?4)",
            same,
        )?;
        connection.execute(
            "DELETE FROM took WHERE number <= (SELECT max(number) - ?1 FROM took)",
            [KEPT],
        )?;
        Ok(())
    }
}
