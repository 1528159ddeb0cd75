//! The tenants that the person of this machine has joined: one file of each with its key, and who takes its calls.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StateDirectory, StateDirectoryError, open_private, read_json, write_json};
use crate::os;
use crate::protocol::TenantTrouble;

/// The folder of the files.
pub(super) const TENANTS: &str = "tenants";

/// The ending of a tenant's file.
const ENDING: &str = "key";

/// The ending of the file that says how it is with a tenant's calls.
const STATE_ENDING: &str = "json";

/// Held by the daemon that takes the calls of tenants.
const HOMES_LOCK: &str = "homes.lock";

/// The files of joined tenants. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TenantFiles {
    folder: PathBuf,
}

/// Held as long as a daemon takes the calls of tenants.
#[derive(Debug)]
pub struct TenantsLock {
    _file: File,
}

/// How it is with the calls of a tenant, in words for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantCallState {
    /// The finding in a sentence.
    pub says: String,
    /// The next step, if something is wrong.
    #[serde(rename = "do", default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl StateDirectory {
    /// The files of joined tenants.
    #[must_use]
    pub fn tenants(&self) -> TenantFiles {
        TenantFiles { folder: self.dir.join(TENANTS) }
    }
}

impl TenantFiles {
    /// The names of all joined tenants, sorted.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn names(&self) -> Result<Vec<String>, StateDirectoryError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_at(&self.folder)(error)),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let keys = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        let names = keys.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Where the key of a tenant is.
    #[must_use]
    pub fn path(&self, tenant: &str) -> PathBuf {
        self.folder.join(format!("{tenant}.{ENDING}"))
    }

    /// Whether a tenant is joined.
    #[must_use]
    pub fn has(&self, tenant: &str) -> bool {
        self.path(tenant).symlink_metadata().is_ok()
    }

    /// Tells other processes how it is with the calls of a tenant.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn announce(
        &self,
        tenant: &str,
        state: &TenantCallState,
    ) -> Result<(), StateDirectoryError> {
        write_json(&self.state_path(tenant), state)
    }

    /// What the process says that takes the calls of tenants; `None`: none does, or it has said nothing yet.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn state(&self, tenant: &str) -> Result<Option<TenantCallState>, StateDirectoryError> {
        if self.has_homes()? { read_json(&self.state_path(tenant)) } else { Ok(None) }
    }

    /// The joined tenants whose calls do not go as they should, by the process that takes them.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn troubles(&self) -> Result<Vec<TenantTrouble>, StateDirectoryError> {
        let mut troubles = Vec::new();
        for tenant in self.names()? {
            if let Some(TenantCallState { says, remedy: Some(remedy) }) = self.state(&tenant)? {
                troubles.push(TenantTrouble { tenant, says, remedy });
            }
        }
        Ok(troubles)
    }

    fn state_path(&self, tenant: &str) -> PathBuf {
        self.folder.join(format!("{tenant}.{STATE_ENDING}"))
    }

    /// Makes the folder, closed to others.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn make_folder(&self) -> Result<(), StateDirectoryError> {
        os::create_folders(&self.folder).map_err(io_at(&self.folder))
    }

    /// Forgets the key of a tenant. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn forget(&self, tenant: &str) -> Result<bool, StateDirectoryError> {
        let path = self.path(tenant);
        // Words on calls that nobody takes any more. A failure is harmless.
        let _ = fs::remove_file(self.state_path(tenant));
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_at(&path)(error)),
        }
    }

    /// Takes the calls of tenants from now on. `None`: another process does.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn try_lock_homes(&self) -> Result<Option<TenantsLock>, StateDirectoryError> {
        self.make_folder()?;
        let path = self.folder.join(HOMES_LOCK);
        let file = open_private(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(TenantsLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(io_at(&path)(source)),
        }
    }

    /// Whether a daemon takes the calls of tenants.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn has_homes(&self) -> Result<bool, StateDirectoryError> {
        let path = self.folder.join(HOMES_LOCK);
        if !path.exists() {
            return Ok(false);
        }
        match open_private(&path)?.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(source)) => Err(io_at(&path)(source)),
        }
    }
}

/// Whether a file of the folder is ours.
pub(super) fn is_own_file(path: &Path) -> bool {
    let endings = [ENDING, STATE_ENDING];
    let is_of_tenant =
        path.extension().is_some_and(|ending| endings.iter().any(|it| ending == *it));
    is_of_tenant || path.file_name().is_some_and(|name| name == HOMES_LOCK)
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> StateDirectoryError {
    let path = path.to_owned();
    move |source| StateDirectoryError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn a_joined_tenant_is_named_until_its_key_is_forgotten() {
        let (_dir, home) = in_temporary();
        let tenants = home.tenants();
        assert!(tenants.names().unwrap().is_empty() && !tenants.has("acme"));
        assert!(!tenants.has_homes().unwrap(), "a look makes nothing");
        assert!(!home.dir().join(TENANTS).exists());
        tenants.make_folder().unwrap();
        for name in ["zeta", "acme"] {
            fs::write(tenants.path(name), "x").unwrap();
        }
        assert_eq!(tenants.names().unwrap(), ["acme", "zeta"]);
        assert!(tenants.forget("acme").unwrap() && !tenants.forget("acme").unwrap());
        assert!(!tenants.has("acme") && tenants.has("zeta"));
    }

    #[test]
    fn a_tenant_in_trouble_is_named_with_the_next_step_while_a_process_takes_its_calls() {
        let (_dir, home) = in_temporary();
        let tenants = home.tenants();
        let lock = tenants.try_lock_homes().unwrap();
        let state = |remedy: Option<&str>| {
            let remedy = remedy.map(str::to_owned);
            TenantCallState { says: "says".to_owned(), remedy }
        };
        for name in ["acme", "beta", "quiet"] {
            fs::write(tenants.path(name), "x").unwrap();
        }
        tenants.announce("acme", &state(None)).unwrap();
        tenants.announce("beta", &state(Some("do this"))).unwrap();
        let told = tenants.troubles().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!((&*told[0].tenant, &*told[0].remedy), ("beta", "do this"));
        tenants.forget("beta").unwrap();
        assert_eq!(tenants.troubles().unwrap(), []);
        tenants.announce("acme", &state(Some("do this"))).unwrap();
        assert_eq!(tenants.troubles().unwrap().len(), 1);
        drop(lock);
        assert_eq!(tenants.troubles().unwrap(), [], "the words of a process that has ended");
    }

    #[test]
    fn one_process_takes_the_calls_of_tenants() {
        let (_dir, home) = in_temporary();
        let lock = home.tenants().try_lock_homes().unwrap().unwrap();
        assert!(home.tenants().try_lock_homes().unwrap().is_none());
        assert!(home.tenants().has_homes().unwrap());
        drop(lock);
        assert!(!home.tenants().has_homes().unwrap());
    }

    #[test]
    fn the_keys_go_with_the_state_directory() {
        let (_dir, home) = in_temporary();
        drop(home.tenants().try_lock_homes().unwrap());
        fs::write(home.tenants().path("acme"), "x").unwrap();
        let dir = home.dir().to_owned();
        let removal = home.remove().unwrap();
        assert!(removal.stays.is_empty() && !dir.exists(), "{removal:?}");
    }
}
