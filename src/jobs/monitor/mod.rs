//! `wksm_monitor_sync`: brings a database up to date with a file or folder.
//!
//! The database has a row for each regular file: its size, its modification time and the BLAKE3
//! of its content. A file is *new* without a row, *unchanged* with the recorded size and time
//! (then it is not read again) or the recorded content, else *changed*; it has *vanished* if
//! the folder that had it was listed and does not name it any more.
//!
//! What holds:
//!
//! - A file counts as vanished only if its folder was listed: not if the folder cannot be listed, and
//!   not once the path of the sync is gone.
//! - A file that cannot be read, or changes while it is, keeps the row that it had.
//! - Symbolic links are not followed, and only regular files are opened. Everything else is
//!   counted and left out; so are the files of the database itself.
//! - Rows are written in batches, each a transaction. A sync that was cancelled or killed has the
//!   effect of one with fewer files; rows are removed at the very end.
//! - One sync runs at a time. The others wait in [`FileMonitor::sync`].
//!
//! A file that was changed in place, to the same size and within the same tick of the file
//! system's clock as it was read, is taken for unchanged; [`SyncRequest::verify`] finds it.
//!
//! There are no ignore rules: hidden files are files. This code blocks and starts threads, as
//! many as there are cores; it ends them before it returns.

mod database;
mod disk;
mod errors;
mod estimate;
mod hash;
mod progress;
mod record;
mod roots;
mod summary;
mod sync;
mod turn;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use errors::SyncError;
pub use estimate::SyncEstimate;
pub use progress::{SyncPhase, SyncProgress};
pub use roots::{SyncTarget, TargetKind};
pub use summary::{SyncSummary, UNREADABLE_LISTED, UnreadablePath};

use database::MonitorDatabase;
use disk::DiskCalls;
use roots::SyncRoots;
use turn::SyncTurn;

/// The time since a fixed point, for measuring durations.
pub type ElapsedClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The database of files, and which of them may be in it. Share it in an `Arc`: calls from
/// several threads wait for each other where they have to.
pub struct FileMonitor {
    store: MonitorDatabase,
    roots: SyncRoots,
    disk: DiskCalls,
    clock: ElapsedClock,
    turn: SyncTurn,
}

/// The request for a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRequest {
    /// An absolute path of a file or folder.
    pub path: PathBuf,
    /// Whether folders in it are walked too.
    pub recursive: bool,
    /// Whether files that seem unchanged are read again.
    pub verify: bool,
}

impl SyncRequest {
    /// A file, or a folder with all that is below it; what seems to be unchanged is not read.
    #[must_use]
    pub const fn of(path: PathBuf) -> Self {
        Self { path, recursive: true, verify: false }
    }
}

impl FileMonitor {
    /// The monitor with this database file, for files below these roots. The file is opened,
    /// or made, by the first sync: nothing can fail here. `clock` measures durations.
    #[must_use]
    pub fn open(db: &Path, roots: Vec<PathBuf>, clock: ElapsedClock) -> Self {
        Self {
            store: MonitorDatabase::new(db),
            roots: SyncRoots::new(roots),
            disk: DiskCalls::default(),
            clock,
            turn: SyncTurn::default(),
        }
    }

    /// Whether this may be synced, by a look at the path only.
    ///
    /// # Errors
    ///
    /// [`SyncError::NotAbsolute`], [`SyncError::NotFound`], [`SyncError::OutsideRoots`],
    /// [`SyncError::NotFileOrFolder`].
    pub fn check(&self, request: &SyncRequest) -> Result<SyncTarget, SyncError> {
        self.roots.check(&request.path)
    }
}

#[cfg(test)]
mod tests;
