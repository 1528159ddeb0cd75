//! The owners whose tokens count: listed at the update from all that is known of owners, and kept up to
//! date in a running daemon.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::engine::RecordedHistory;
use crate::home::{OwnersError, OwnersFile, StateDirectory, StateDirectoryError, StateFileStamp};
use crate::hub::{ClockSample, Hub};
use crate::journal;
use crate::past_acts::PastActFile;
use crate::protocol::{DEFAULT_OWNER, FarOwnerChange, Owner, OwnerList};

/// How often the file is checked, beside the check at each token of an owner with a name. A command that
/// changes it tells the daemon; one that was killed in between did not.
const LOOK: Duration = Duration::from_secs(1);

/// How often, and how far apart, the list of a daemon that is just starting is looked for.
const LIST_LOOKS: u32 = 200;
const LIST_LOOK: Duration = Duration::from_millis(10);

/// Why the owners cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum OwnerSeedError {
    /// The state directory cannot be used.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The journal, which knows owners from before there was a list, cannot be used.
    #[error(transparent)]
    Journal(#[from] journal::OpenError),
}

/// The list of owners; made, if there is none, of the owners that the journal, stored values, drawings,
/// noise rules, scopes and the history of acts know.
///
/// # Errors
///
/// [`StateDirectoryError`]: nothing changed.
pub fn read_or_seed(
    home: &StateDirectory,
    history: &RecordedHistory,
) -> Result<OwnerList, StateDirectoryError> {
    home.owners().read_or_seed(ClockSample::now().system, || known_owners(home, history))
}

fn known_owners(
    home: &StateDirectory,
    history: &RecordedHistory,
) -> Result<Vec<Owner>, StateDirectoryError> {
    let mut known = home.owners_with_files()?;
    known.extend(home.scopes().read()?.chosen().map(|(owner, _)| owner.clone()));
    known.extend(history.owners().cloned());
    // A history that cannot be read is moved aside at the first act. It is no reason not to start.
    let of_acts = PastActFile::at(&home.history_path()).owners().unwrap_or_else(|why| {
        tracing::warn!(%why, "the owners in the history of acts are not listed");
        Vec::new()
    });
    known.extend(of_acts);
    Ok(known)
}

/// The list of owners, for the command line; made if there is none. `None`: a daemon of an earlier
/// version runs, which takes the token of any name.
///
/// # Errors
///
/// [`OwnerSeedError`]: nothing changed.
pub fn read_beside_daemon(home: &StateDirectory) -> Result<Option<OwnerList>, OwnerSeedError> {
    for _ in 0..LIST_LOOKS {
        if let Some(list) = home.owners().read()? {
            return Ok(Some(list));
        }
        // With the lock nobody else writes to the journal.
        if let Some(_lock) = home.try_lock_daemon()? {
            let history = if home.journal_path().exists() {
                let now = ClockSample::now().system.unix_millis();
                journal::open(&home.journal_path(), &format!("unusable-{now}"))?.history
            } else {
                RecordedHistory::default()
            };
            return Ok(Some(read_or_seed(home, &history)?));
        }
        // A daemon lists the owners before it says where it listens.
        if home.daemon_record()?.is_some() {
            return Ok(home.owners().read()?);
        }
        std::thread::sleep(LIST_LOOK);
    }
    Ok(home.owners().read()?)
}

/// The owners of a running daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveOwners(Arc<LiveOwnersState>);

#[derive(Debug)]
struct LiveOwnersState {
    hub: Hub,
    file: OwnersFile,
    /// The look at the file that was read last.
    seen: Mutex<Option<StateFileStamp>>,
    list: watch::Sender<Arc<OwnerList>>,
}

impl LiveOwners {
    /// The owners of this state directory, none but the default one until the file was read.
    #[must_use]
    pub fn new(hub: Hub, file: OwnersFile) -> Self {
        let list = watch::Sender::new(Arc::default());
        Self(Arc::new(LiveOwnersState { hub, file, seen: Mutex::default(), list }))
    }

    /// The list in force, and its changes.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Arc<OwnerList>> {
        self.0.list.subscribe()
    }

    /// The list in force, after a look at the file.
    #[must_use]
    pub fn list(&self) -> Arc<OwnerList> {
        if let Err(error) = self.refresh() {
            tracing::warn!(%error, "the list of owners stays as it was read last");
        }
        self.0.list.borrow().clone()
    }

    /// Whether the token of this owner counts. The default owner's always does.
    #[must_use]
    pub fn has(&self, owner: &Owner) -> bool {
        owner.as_str() == DEFAULT_OWNER || self.list().has(owner)
    }

    /// Whether an owner's programs are on another machine, by the list as it was read last.
    #[must_use]
    pub fn is_far(&self, owner: &Owner) -> bool {
        self.0.list.borrow().is_far(owner)
    }

    /// Reads the file, if it is another one than that which was read last, and ends what belongs to
    /// removed owners.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: the list stays as it was read last.
    pub fn refresh(&self) -> Result<(), StateDirectoryError> {
        let Some(stamp) = StateFileStamp::of(&self.0.file.path()) else { return Ok(()) };
        let mut seen = self.lock();
        if seen.as_ref() == Some(&stamp) {
            return Ok(());
        }
        // The look precedes the read: a change during the read is found by the next look.
        let Some(list) = self.0.file.read()? else { return Ok(()) };
        let list = Arc::new(list);
        // First the end of what was an owner's, then the next one of its name.
        self.0.hub.set_owners(list.clone());
        self.0.list.send_replace(list);
        *seen = Some(stamp);
        Ok(())
    }

    /// The person disconnects an owner on another machine, or lets it in again. Of one that is disconnected
    /// nothing goes on when this returns.
    ///
    /// # Errors
    ///
    /// [`OwnersError`]: nothing has changed.
    pub fn change_far(&self, change: &FarOwnerChange) -> Result<(), OwnersError> {
        self.0.file.change_far(change)?;
        Ok(self.refresh()?)
    }

    /// Looks at the file now and then, without end.
    pub async fn watch(self) {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            let _ = self.list();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<StateFileStamp>> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::ValueName;
    use crate::lifecycle::Limits;
    use crate::protocol::{OwnerKind, TabScope, Timestamp};

    const AT: Timestamp = Timestamp::from_unix_micros(1_700_000_000_000_000);

    fn in_temporary() -> (tempfile::TempDir, StateDirectory) {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        (dir, home)
    }

    fn names(list: &OwnerList) -> Vec<&str> {
        list.entries().iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn the_owners_of_stored_values_and_scopes_are_listed_as_they_were() {
        let (_dir, home) = in_temporary();
        let note = ValueName::parse("note").unwrap();
        let value = serde_json::value::to_raw_value(&1).unwrap();
        home.store().store(&"ci".into(), &note, &value).unwrap();
        home.scopes().choose(&"work".into(), TabScope::Own).unwrap();
        let list = read_beside_daemon(&home).unwrap().unwrap();
        assert_eq!(names(&list), ["ci", "work"]);
        assert_eq!(list.owner("ci").unwrap(), "ci".into(), "its values are still its own");
    }

    #[test]
    fn beside_a_daemon_that_keeps_no_list_none_is_made() {
        let (_dir, home) = in_temporary();
        let lock = home.try_lock_daemon().unwrap().unwrap();
        let record = crate::home::DaemonRecord { pid: 1, port: 2, version: "0.1.0".to_owned() };
        lock.announce(&record).unwrap();
        assert_eq!(read_beside_daemon(&home).unwrap(), None);
        assert!(!home.owners().path().exists());
    }

    #[tokio::test]
    async fn a_change_of_the_file_counts_at_the_next_look_and_a_damaged_file_changes_nothing() {
        let (_dir, home) = in_temporary();
        let live = LiveOwners::new(Hub::start(Limits::default()), home.owners());
        let add = || home.owners().add("ci", None, OwnerKind::Local, AT).unwrap().owner();
        let first = add();
        assert!(live.has(&first));
        std::fs::rename(home.owners().path(), home.dir().join("aside")).unwrap();
        assert!(live.has(&first), "a file that is gone changes nothing");
        std::fs::write(home.owners().path(), "{").unwrap();
        assert!(live.refresh().is_err() && live.has(&first));
        std::fs::rename(home.dir().join("aside"), home.owners().path()).unwrap();
        home.owners().remove("ci").unwrap();
        assert!(!live.has(&first) && live.has(&DEFAULT_OWNER.into()));
        let second = add();
        assert!(live.has(&second) && !live.has(&first));
    }
}
