//! The locks of a state directory: one for its daemon, one for starting it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::socket::SOCKET;
use super::{
    DAEMON_LOCK, DAEMON_RECORD, DaemonRecord, START_LOCK, StateDirectory, StateDirectoryError,
    StateFileStamp, open_private, write_json,
};
use crate::os;

/// The attempts to take the daemon's lock, and the pause between them.
const LOCK_TRIES: u32 = 10;
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// Holds the lock of a state directory's one daemon until it is dropped.
#[derive(Debug)]
pub struct DaemonLock {
    file: File,
    path: PathBuf,
    record: PathBuf,
}

/// Holds the right to start a daemon until it is dropped.
#[derive(Debug)]
pub struct StartLock {
    _file: File,
}

/// A daemon that was seen running, and how its record looked then.
#[derive(Debug)]
pub struct DaemonSighting {
    dir: PathBuf,
    stamp: StateFileStamp,
    record: DaemonRecord,
}

impl StateDirectory {
    /// Takes the lock of this directory's one daemon. `None`: one runs already.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn try_lock_daemon(&self) -> Result<Option<DaemonLock>, StateDirectoryError> {
        let path = self.dir.join(DAEMON_LOCK);
        let file = open_private(&path)?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return self.locked(file, path).map(Some),
                // `has_daemon` of another process holds the lock for an instant.
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY),
                Err(TryLockError::Error(source)) => {
                    return Err(StateDirectoryError::Io { path, source });
                }
            }
        }
        Ok(None)
    }

    fn locked(&self, file: File, path: PathBuf) -> Result<DaemonLock, StateDirectoryError> {
        let record = self.dir.join(DAEMON_RECORD);
        // A daemon that was killed left its record, which must not pass for this one's.
        match fs::remove_file(&record) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(StateDirectoryError::Io { path: record, source })
            }
            Ok(()) | Err(_) => Ok(DaemonLock { file, path, record }),
        }
    }

    /// Whether a daemon runs on this directory.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn has_daemon(&self) -> Result<bool, StateDirectoryError> {
        has_daemon(&self.dir)
    }

    /// The running daemon of this directory, as [`running_daemon`](Self::running_daemon) says, to be looked at again.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn sight_daemon(&self) -> Result<Option<DaemonSighting>, StateDirectoryError> {
        // The look precedes the read: a daemon that comes during the read is found by the next look.
        let Some(stamp) = StateFileStamp::of(&self.dir.join(DAEMON_RECORD)) else {
            return Ok(None);
        };
        let record = self.running_daemon()?;
        Ok(record.map(|record| DaemonSighting { dir: self.dir.clone(), stamp, record }))
    }

    /// The running daemon of this directory, once it has announced itself. The lock shows that the
    /// record is its own: a token sent there goes to no other program on that port.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn running_daemon(&self) -> Result<Option<DaemonRecord>, StateDirectoryError> {
        if self.has_daemon()? { self.daemon_record() } else { Ok(None) }
    }

    /// Waits for the right to start a daemon, so that only one of several processes starts it.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn lock_start(&self) -> Result<StartLock, StateDirectoryError> {
        let path = self.dir.join(START_LOCK);
        let file = open_private(&path)?;
        file.lock().map_err(|source| StateDirectoryError::Io { path, source })?;
        Ok(StartLock { _file: file })
    }
}

impl DaemonSighting {
    /// The daemon.
    #[must_use]
    pub const fn record(&self) -> &DaemonRecord {
        &self.record
    }

    /// Whether the same daemon still runs, and its directory is closed to others. A look reads no file.
    #[must_use]
    pub fn is_current(&self) -> bool {
        matches!(StateDirectory::has_dir(&self.dir), Ok(true))
            && StateFileStamp::of(&self.dir.join(DAEMON_RECORD)).as_ref() == Some(&self.stamp)
            && matches!(has_daemon(&self.dir), Ok(true))
    }
}

impl DaemonLock {
    /// Where the socket of the locked directory is.
    pub(super) fn socket_path(&self) -> PathBuf {
        self.record.with_file_name(SOCKET)
    }

    /// Announces this daemon's address.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn announce(&self, record: &DaemonRecord) -> Result<(), StateDirectoryError> {
        write_json(&self.record, record)
    }

    /// Whether the directory still has the file of this lock. If not it was removed, and whoever finds another one there
    /// does not find this daemon.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        let identity =
            |of: &fs::Metadata| os::entry(&self.path, of).ok().map(|entry| entry.identity);
        let own = self.file.metadata().ok();
        own.is_none_or(|own| identity(&own) == identity(&found))
    }
}

impl Drop for DaemonLock {
    fn drop(&mut self) {
        // In a directory that was made anew it may be another daemon's.
        if self.is_in_place() {
            // A failure is harmless: nobody trusts a record without a lock.
            let _ = fs::remove_file(&self.record);
        }
    }
}

/// Whether a daemon runs on this directory.
fn has_daemon(dir: &Path) -> Result<bool, StateDirectoryError> {
    let path = dir.join(DAEMON_LOCK);
    // Without this, looking would leave a lock file in a directory that no daemon has used.
    if !path.exists() {
        return Ok(false);
    }
    let file = open_private(&path)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(StateDirectoryError::Io { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::in_temporary;

    fn record(port: u16) -> DaemonRecord {
        DaemonRecord { port, pid: 7, version: "1.0.0".to_owned() }
    }

    #[test]
    fn a_lock_whose_directory_was_removed_is_not_in_place_and_leaves_the_next_ones_record_alone() {
        let (dir, home) = in_temporary();
        let lock = home.try_lock_daemon().unwrap().unwrap();
        lock.announce(&record(1)).unwrap();
        assert!(lock.is_in_place());
        fs::remove_dir_all(home.dir()).unwrap();
        assert!(!lock.is_in_place());
        let home = StateDirectory::open(home.dir()).unwrap();
        let next = home.try_lock_daemon().unwrap().unwrap();
        next.announce(&record(2)).unwrap();
        assert!(next.is_in_place() && !lock.is_in_place());
        drop(lock);
        assert_eq!(home.running_daemon().unwrap(), Some(record(2)));
        drop((next, dir));
    }

    #[test]
    fn a_daemon_that_was_seen_counts_until_it_ends_and_no_later_one_passes_for_it() {
        let (_dir, home) = in_temporary();
        assert!(home.sight_daemon().unwrap().is_none());
        let lock = home.try_lock_daemon().unwrap().unwrap();
        assert!(home.sight_daemon().unwrap().is_none(), "it has not said where it listens");
        lock.announce(&record(1)).unwrap();
        let seen = home.sight_daemon().unwrap().unwrap();
        assert_eq!((seen.record(), seen.is_current()), (&record(1), true));
        // Killed: it leaves its record.
        let left = fs::read(home.dir().join(DAEMON_RECORD)).unwrap();
        drop(lock);
        fs::write(home.dir().join(DAEMON_RECORD), left).unwrap();
        assert!(!seen.is_current());
        let lock = home.try_lock_daemon().unwrap().unwrap();
        assert!(!seen.is_current(), "another one starts");
        lock.announce(&record(1)).unwrap();
        assert!(!seen.is_current(), "another one with the same record");
        assert!(home.sight_daemon().unwrap().unwrap().is_current());
    }
}
