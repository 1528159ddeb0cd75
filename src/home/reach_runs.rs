//! The runs of `tabwire reach`: one for each place at a time, in the folder where the sockets of places are.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StateDirectory, StateDirectoryError, open_private, read_json, write_json};
use crate::os;

/// The folder of the runs, and of the sockets of places.
pub(super) const REACH: &str = "reach";

/// The endings of our files in it.
const ENDINGS: [&str; 3] = ["lock", "json", "sock"];

/// A run of `tabwire reach`, as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachRun {
    /// The name of the place.
    pub name: String,
    /// The number of the process.
    pub pid: u32,
    /// The command or folder by which the place is reached.
    pub by: String,
    /// The state in words.
    pub state: String,
}

/// Holds the right to reach a place until it is dropped.
#[derive(Debug)]
pub struct ReachLock {
    _file: File,
    record: PathBuf,
}

/// The folder of a state directory with the sockets of places.
#[must_use]
pub fn reach_folder(state: &Path) -> PathBuf {
    state.join(REACH)
}

impl StateDirectory {
    /// Takes the right to reach a place. `None`: another process has it.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn try_lock_reach(&self, name: &str) -> Result<Option<ReachLock>, StateDirectoryError> {
        let folder = reach_folder(&self.dir);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| StateDirectoryError::Io { path, source }
        };
        os::create_folders(&folder).map_err(io(&folder))?;
        let path = folder.join(format!("{name}.lock"));
        let file = open_private(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(ReachLock { _file: file, record: path.with_extension("json") })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(io(&path)(source)),
        }
    }

    /// The runs that go on, by the names of their places.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn reach_runs(&self) -> Result<Vec<ReachRun>, StateDirectoryError> {
        let Ok(entries) = std::fs::read_dir(reach_folder(&self.dir)) else {
            return Ok(Vec::new());
        };
        let mut runs = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|ending| ending != "lock") {
                continue;
            }
            // A run that was killed has left its record, but not its lock.
            if matches!(open_private(&path)?.try_lock_shared(), Err(TryLockError::WouldBlock)) {
                runs.extend(read_json::<ReachRun>(&path.with_extension("json"))?);
            }
        }
        runs.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(runs)
    }
}

impl ReachLock {
    /// Tells others of the run.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn announce(&self, run: &ReachRun) -> Result<(), StateDirectoryError> {
        write_json(&self.record, run)
    }
}

impl Drop for ReachLock {
    fn drop(&mut self) {
        // A failure is harmless: nobody reads a record without a lock.
        let _ = std::fs::remove_file(&self.record);
    }
}

/// Whether a file in the folder is one of ours.
pub(super) fn is_own_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|own| ending == *own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn a_place_is_reached_by_one_process_at_a_time_and_a_dead_one_is_not_listed() {
        let (_dir, home) = in_temporary();
        assert_eq!(home.reach_runs().unwrap(), []);
        let lock = home.try_lock_reach("box").unwrap().unwrap();
        let run = |name: &str| ReachRun {
            name: name.to_owned(),
            pid: 7,
            by: "ssh box".to_owned(),
            state: "connected".to_owned(),
        };
        lock.announce(&run("box")).unwrap();
        let other = home.try_lock_reach("another").unwrap().unwrap();
        other.announce(&run("another")).unwrap();
        assert!(home.try_lock_reach("box").unwrap().is_none());
        assert_eq!(home.reach_runs().unwrap(), [run("another"), run("box")]);
        drop(lock);
        // As a process that was killed leaves it.
        std::fs::write(reach_folder(home.dir()).join("box.json"), "{").unwrap();
        assert_eq!(home.reach_runs().unwrap(), [run("another")]);
        assert!(home.try_lock_reach("box").unwrap().is_some());
    }
}
