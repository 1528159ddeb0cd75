//! The state directory: the secret, the lock and the address of the one daemon, further extensions
//! that may connect, the rules for sites and files, the list of owners, unconfirmed widenings, values that agents store,
//! drawings, and copies of files for pages.
//!
//! It belongs to one user and is closed to all others; if it is not, nothing runs.

mod agent_files;
mod browser_names;
mod dashboard;
mod drawings;
mod files;
mod legacy;
mod local_files;
mod lock;
mod noise;
mod owners;
mod reach_runs;
mod removal;
mod scopes;
mod site_rules;
mod socket;
mod state_file_stamp;
mod store;
mod tenants;
mod unpacked;
mod uploads;
mod widenings;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::os::{self, FileAccess, OpenOwnerOnly as _};
use crate::proof::{self, AuthKey, KEY_LENGTH};
pub use agent_files::{
    AgentFileError, AgentFiles, AgentFolderError, AgentFolders, FolderAccess, ReadableFile,
    ReadableFileError, UsualFolder,
};
pub use browser_names::{BrowserNameError, BrowserNamesFile};
pub use drawings::{
    DRAWINGS_BYTES_MAX, DRAWINGS_MAX, DamagedDrawing, DrawingList, DrawingStore, DrawingsError,
    KeptDrawing,
};
pub use files::FileError;
pub(crate) use files::{REDO_ENDINGS, move_damaged_database, rename_database};
pub use legacy::{
    LegacyAnswer, LegacyApproval, LegacyApprover, LegacyFile, LegacyMode, PollingPolicy,
};
pub use local_files::{LocalFileStore, LocalFileStoreError};
pub use lock::{DaemonLock, DaemonSighting, StartLock};
pub use noise::{NoiseFileError, NoiseFiles};
pub use owners::{OwnersError, OwnersFile};
pub use reach_runs::{ReachLock, ReachRun, reach_folder};
pub use removal::StateDirectoryRemoval;
pub use scopes::ScopesFile;
pub use site_rules::{SiteRulesError, SiteRulesFile};
pub(crate) use socket::socket_in;
pub use socket::{DaemonSocket, DaemonSocketError, SOCKET_PATH_MAX};
pub use state_file_stamp::StateFileStamp;
pub use store::{NAME_MAX, StoreError, StoredValue, VALUE_MAX, VALUES_MAX, ValueName, ValueStore};
pub use tenants::{TenantCallState, TenantFiles, TenantsLock};
pub use unpacked::{
    InstalledProgram, PERSON_FOLDER, extension_in_person_folder, extension_in_state,
};
pub use uploads::{
    StoredUpload, StoredUploadError, UPLOAD_KEPT, UPLOAD_SIZE_MAX, UPLOADS_KEPT_MAX, UploadStore,
};
pub use widenings::WideningError;

const AUTH_KEY: &str = "auth.key";
const DAEMON_LOCK: &str = "daemon.lock";
const START_LOCK: &str = "start.lock";
const DAEMON_RECORD: &str = "daemon.json";
const SETTINGS_LOCK: &str = "settings.lock";
const EXTENSIONS: &str = "extensions.json";

/// An opened state directory.
#[derive(Debug)]
pub struct StateDirectory {
    dir: PathBuf,
    auth: AuthKey,
}

/// The address of a running daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    /// Its process.
    pub pid: u32,
    /// Its port on the loopback.
    pub port: u16,
    /// Its version.
    pub version: String,
}

/// Why a state directory cannot be used. Each message names the next step.
#[derive(Debug, thiserror::Error)]
pub enum StateDirectoryError {
    /// It cannot be made, read or written.
    #[error(
        "cannot use the state directory: {path}: {source}. Make it writable, or name another one with TABWIRE_HOME"
    )]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others may read or write it.
    #[error(
        "{path} is open to others ({found}): it holds the key to your browser. Close it with: {remedy}"
    )]
    OpenToOthers {
        /// Which file or folder.
        path: PathBuf,
        /// Its permissions.
        found: String,
        /// The command that closes it.
        remedy: String,
    },
    /// It is another user's.
    #[error(
        "{path} belongs to another user ({owner}). Name a directory of your own with TABWIRE_HOME"
    )]
    NotOurs {
        /// Which file or folder.
        path: PathBuf,
        /// Whose it is.
        owner: String,
    },
    /// The secret has another length.
    #[error(
        "{path} is damaged: it should hold {KEY_LENGTH} bytes and holds {length}. Move it away, then run `tabwire install`, which makes a new one, and reload the extension in the browser"
    )]
    DamagedKey {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The scopes of owners cannot be read.
    #[error(
        "{path} does not hold the scopes of owners: {source}. Correct it, or move it away to show every tab to every owner"
    )]
    DamagedScopes {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
    /// The list of owners cannot be read. Without it only the default owner's token may count.
    #[error(
        "{path} does not hold the list of owners: {source}. Correct it, or put a copy of it back. Without the file Tabwire lists the owners anew that it finds in its other files, also removed ones"
    )]
    DamagedOwners {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
    /// The site rules cannot be read. Without them agents may use no site.
    #[error(
        "{path} does not hold site rules: {source}. Correct it, or move it away to let agents use every site"
    )]
    DamagedSiteRules {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
    /// A file of Tabwire's cannot be parsed.
    #[error("{path} is damaged: {source}. Move it away and try again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
}

impl StateDirectory {
    /// Opens the state directory, and makes it with a new secret if there is none.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: it cannot be used, or it is not closed to others.
    pub fn open(dir: &Path) -> Result<Self, StateDirectoryError> {
        os::create_folders(dir)
            .map_err(|source| StateDirectoryError::Io { path: dir.to_owned(), source })?;
        // Before the secret is read or written, which another user could then see.
        check_private(dir)?;
        let auth = read_or_make_key(dir)?;
        Ok(Self { dir: dir.to_owned(), auth })
    }

    /// Opens the state directory if it exists, and makes nothing. `None`: it does not exist, or has
    /// no secret yet, so no daemon has run on it.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: it cannot be used, or it is not closed to others.
    pub fn find(dir: &Path) -> Result<Option<Self>, StateDirectoryError> {
        if !Self::has_dir(dir)? || !is_there(&dir.join(AUTH_KEY))? {
            return Ok(None);
        }
        Ok(Some(Self { dir: dir.to_owned(), auth: read_key(dir)? }))
    }

    /// Whether the directory is there, and is closed to others.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: it is there, and cannot be used.
    pub fn has_dir(dir: &Path) -> Result<bool, StateDirectoryError> {
        if !is_there(dir)? {
            return Ok(false);
        }
        check_private(dir)?;
        Ok(true)
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The secret.
    #[must_use]
    pub const fn auth(&self) -> &AuthKey {
        &self.auth
    }

    /// Replaces the secret. All keys and tokens that were derived from the old one are invalid for
    /// every process that opens the directory after this. A running daemon still has the old secret.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`].
    pub fn replace_key(&self) -> Result<Self, StateDirectoryError> {
        let path = self.dir.join(AUTH_KEY);
        let aside = aside(&path);
        write_private(&aside, AuthKey::generate().as_bytes())
            // A power failure after the rename must not leave an empty secret.
            .and_then(|()| os::sync_file(&aside))
            .and_then(|()| os::replace_file(&aside, &path))
            .map_err(|source| StateDirectoryError::Io { path, source })?;
        Ok(Self { dir: self.dir.clone(), auth: read_key(&self.dir)? })
    }

    /// Whether the secret was replaced since this was opened.
    #[must_use]
    pub fn is_key_replaced(&self) -> bool {
        // A file that cannot be read does not prove that there is another secret.
        read_key(&self.dir).is_ok_and(|key| key.as_bytes() != self.auth.as_bytes())
    }

    /// The address of the running daemon; `None` if none has announced itself.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn daemon_record(&self) -> Result<Option<DaemonRecord>, StateDirectoryError> {
        read_json(&self.dir.join(DAEMON_RECORD))
    }

    /// Further extensions that may connect.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn allowed_extensions(&self) -> Result<Vec<String>, StateDirectoryError> {
        Ok(read_json(&self.dir.join(EXTENSIONS))?.unwrap_or_default())
    }

    /// Lets a further extension connect, from its next attempt on. False: it was on the list already.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn allow_extension(&self, id: &str) -> Result<bool, StateDirectoryError> {
        // Two commands at once would each write a list without the other's extension.
        let _others_wait = lock_settings(&self.dir)?;
        let mut allowed = self.allowed_extensions()?;
        if allowed.iter().any(|known| known == id) {
            return Ok(false);
        }
        allowed.push(id.to_owned());
        write_json(&self.dir.join(EXTENSIONS), &allowed)?;
        Ok(true)
    }

    /// Where the journal is.
    #[must_use]
    pub fn journal_path(&self) -> PathBuf {
        self.dir.join("journal.db")
    }

    /// The bytes of the journal and of its logs; `None`: the daemon keeps none.
    #[must_use]
    pub fn journal_bytes(&self) -> Option<u64> {
        let sizes = ["", "-wal"].into_iter().chain(REDO_ENDINGS).map(|ending| {
            let mut file = self.journal_path().into_os_string();
            file.push(ending);
            std::fs::metadata(file).map(|file| file.len()).ok()
        });
        sizes.flatten().reduce(|sum, size| sum + size)
    }

    /// Where the database of `wksm_monitor_sync` is.
    #[must_use]
    pub fn monitor_path(&self) -> PathBuf {
        self.dir.join("monitor.db")
    }

    /// Where the history of agents' acts is.
    #[must_use]
    pub fn history_path(&self) -> PathBuf {
        self.dir.join("history.db")
    }

    /// Where the daemon's log goes.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.dir.join("daemon.log")
    }
}

fn read_or_make_key(dir: &Path) -> Result<AuthKey, StateDirectoryError> {
    let path = dir.join(AUTH_KEY);
    let io = |source| StateDirectoryError::Io { path: path.clone(), source };
    if !path.exists() {
        // Written aside and linked into place: if two processes start together, the second link fails,
        // and both read the same whole key.
        let aside = aside(&path);
        write_private(&aside, AuthKey::generate().as_bytes()).map_err(io)?;
        let linked = fs::hard_link(&aside, &path);
        fs::remove_file(&aside).map_err(io)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(error)),
            Ok(()) | Err(_) => {}
        }
    }
    read_key(dir)
}

/// Where a file is written before it gets its name.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", proof::random_hex::<8>()));
    name.into()
}

fn read_key(dir: &Path) -> Result<AuthKey, StateDirectoryError> {
    let path = dir.join(AUTH_KEY);
    check_private(&path)?;
    let bytes =
        fs::read(&path).map_err(|source| StateDirectoryError::Io { path: path.clone(), source })?;
    let length = bytes.len();
    let key = bytes
        .try_into()
        .map_err(|_| StateDirectoryError::DamagedKey { path: path.clone(), length })?;
    Ok(AuthKey::from_bytes(key))
}

fn is_there(path: &Path) -> Result<bool, StateDirectoryError> {
    path.try_exists().map_err(|source| StateDirectoryError::Io { path: path.to_owned(), source })
}

/// Checks that a path belongs to this user and is closed to all others.
fn check_private(path: &Path) -> Result<(), StateDirectoryError> {
    let path = path.to_owned();
    match os::access(&path) {
        Ok(FileAccess::OwnerOnly) => Ok(()),
        Ok(FileAccess::Open { found, remedy }) => {
            Err(StateDirectoryError::OpenToOthers { path, found, remedy })
        }
        Ok(FileAccess::Foreign { owner }) => Err(StateDirectoryError::NotOurs { path, owner }),
        Err(source) => Err(StateDirectoryError::Io { path, source }),
    }
}

/// Waits for the lock on this directory's settings, and holds it until it is dropped.
fn lock_settings(dir: &Path) -> Result<File, StateDirectoryError> {
    let path = dir.join(SETTINGS_LOCK);
    let file = open_private(&path)?;
    file.lock().map_err(|source| StateDirectoryError::Io { path, source })?;
    Ok(file)
}

fn open_private(path: &Path) -> Result<File, StateDirectoryError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .read(true)
        .open_owner_only(path)
        .map_err(|source| StateDirectoryError::Io { path: path.to_owned(), source })
}

/// Writes a new file that only its owner can read.
///
/// # Errors
///
/// The system's; among them, that the file exists.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    os::create_owner_only(path)?.write_all(bytes)
}

fn read_json<T: serde::de::DeserializeOwned>(
    path: &Path,
) -> Result<Option<T>, StateDirectoryError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StateDirectoryError::Io { path: path.to_owned(), source }),
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|source| StateDirectoryError::Damaged { path: path.to_owned(), source })
}

/// Reads rules; none, as their default is, if there is no file. `damaged`: the error for a file that
/// cannot be read as rules.
fn read_rules<T: serde::de::DeserializeOwned + Default>(
    path: &Path,
    damaged: impl Fn(PathBuf, serde_json::Error) -> StateDirectoryError,
) -> Result<T, StateDirectoryError> {
    // As an object first: serde would read a list field by field.
    let fields = read_json::<Map<String, Value>>(path).map_err(|error| {
        if let StateDirectoryError::Damaged { path, source } = error {
            damaged(path, source)
        } else {
            error
        }
    })?;
    let Some(fields) = fields else { return Ok(T::default()) };
    serde_json::from_value(fields.into()).map_err(|source| damaged(path.to_owned(), source))
}

/// Writes a file whole or not at all.
fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StateDirectoryError> {
    let aside = aside(path);
    let text = serde_json::to_vec_pretty(value).unwrap_or_default();
    write_private(&aside, &text)
        .and_then(|()| os::replace_file(&aside, path))
        .map_err(|source| StateDirectoryError::Io { path: path.to_owned(), source })
}

/// The same, also over a power failure.
fn write_json_synced<T: Serialize>(path: &Path, value: &T) -> Result<(), StateDirectoryError> {
    let io = |source| StateDirectoryError::Io { path: path.to_owned(), source };
    let aside = aside(path);
    let text = serde_json::to_vec_pretty(value).map_err(|error| io(error.into()))?;
    let written = write_private(&aside, &text)
        .and_then(|()| os::sync_file(&aside))
        .and_then(|()| os::replace_file(&aside, path));
    if written.is_err() {
        // The error that counts is the one above.
        let _ = fs::remove_file(&aside);
    }
    written.map_err(io)
}

/// A state directory for a test, and the guard that removes it.
#[cfg(test)]
fn in_temporary() -> (tempfile::TempDir, StateDirectory) {
    let dir = tempfile::tempdir().unwrap();
    let home = StateDirectory::open(&dir.path().join("state")).unwrap();
    (dir, home)
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::home::unpacked::{UNPACKED, UNPACKED_VERSION};
    use crate::os::testing::{chmod, mode, private_folder as temporary};
    use crate::protocol::garbled;

    #[test]
    fn the_secret_is_made_once_and_only_its_owner_can_read_it() {
        let dir = temporary();
        let path = dir.path().join("state");
        let first = StateDirectory::open(&path).unwrap();
        let second = StateDirectory::open(&path).unwrap();
        assert_eq!(first.auth().as_bytes(), second.auth().as_bytes());
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(path.join(AUTH_KEY)), 0o600);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "nothing is left aside");
    }

    #[test]
    fn a_directory_or_key_that_is_open_to_others_is_refused() {
        let dir = temporary();
        let home = dir.path().join("state");
        StateDirectory::open(&home).unwrap();
        for (path, open, closed) in
            [(home.clone(), 0o755, 0o700), (home.join(AUTH_KEY), 0o640, 0o600)]
        {
            chmod(&path, open).unwrap();
            let error = StateDirectory::open(&home).unwrap_err();
            assert!(matches!(error, StateDirectoryError::OpenToOthers { .. }), "{error}");
            let says = error.to_string();
            let is_named = says.contains(&format!("chmod {closed:o}")) || says.contains("icacls");
            assert!(is_named, "{says}");
            chmod(&path, closed).unwrap();
        }
        StateDirectory::open(&home).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_refused_and_named() {
        let dir = temporary();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = StateDirectory::open(&file.join("state")).unwrap_err().to_string();
        assert!(
            error.contains(&*file.join("state").to_string_lossy())
                && error.contains("TABWIRE_HOME"),
            "{error}"
        );
    }

    #[test]
    fn a_damaged_secret_is_refused_and_left_alone() {
        let dir = temporary();
        write_private(&dir.path().join(AUTH_KEY), b"short").unwrap();
        let error = StateDirectory::open(dir.path()).unwrap_err();
        assert!(matches!(error, StateDirectoryError::DamagedKey { length: 5, .. }), "{error}");
        assert_eq!(fs::read(dir.path().join(AUTH_KEY)).unwrap(), b"short");
    }

    #[test]
    fn a_replaced_secret_is_another_one_and_as_private() {
        let dir = temporary();
        let old = StateDirectory::open(dir.path()).unwrap();
        assert!(!old.is_key_replaced());
        let new = old.replace_key().unwrap();
        assert_ne!(new.auth().as_bytes(), old.auth().as_bytes());
        assert!(old.is_key_replaced() && !new.is_key_replaced());
        assert_eq!(
            StateDirectory::open(dir.path()).unwrap().auth().as_bytes(),
            new.auth().as_bytes()
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left aside");
    }

    #[test]
    fn one_daemon_holds_the_lock_and_its_record_goes_with_it() {
        let dir = temporary();
        let home = StateDirectory::open(dir.path()).unwrap();
        assert!(!home.has_daemon().unwrap());
        let lock = home.try_lock_daemon().unwrap().unwrap();
        assert!(home.has_daemon().unwrap());
        assert!(home.try_lock_daemon().unwrap().is_none());
        let record = DaemonRecord { pid: 1, port: 2, version: "3".to_owned() };
        lock.announce(&record).unwrap();
        assert_eq!(home.daemon_record().unwrap(), Some(record));
        drop(lock);
        assert!(!home.has_daemon().unwrap());
        assert_eq!(home.daemon_record().unwrap(), None);
    }

    #[test]
    fn allowed_extensions_are_kept_once_each() {
        let dir = temporary();
        let home = StateDirectory::open(dir.path()).unwrap();
        assert!(home.allow_extension("a").unwrap());
        assert!(!home.allow_extension("a").unwrap());
        assert!(home.allow_extension("b").unwrap());
        assert_eq!(home.allowed_extensions().unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_file_that_others_wrote_is_read_as_what_it_says_or_refused_by_its_name() {
        let samples = [
            r#"{"pid": 4711, "port": 7890, "version": "0.1.0"}"#,
            r#"["cojpnlnglaiojkhnmkknknhgnedlcmlg", "x"]"#,
            r#""/home/ann/tabwire""#,
        ];
        let dir = temporary();
        let home = StateDirectory::open(dir.path()).unwrap();
        proptest!(garbled::cases(500), |(bytes in garbled::nearly(&samples))| {
            for name in [DAEMON_RECORD, EXTENSIONS, UNPACKED, UNPACKED_VERSION] {
                let path = home.dir().join(name);
                fs::write(&path, &bytes).unwrap();
                let read = match name {
                    DAEMON_RECORD => home.daemon_record().map(serde_json::to_value),
                    EXTENSIONS => home.allowed_extensions().map(serde_json::to_value),
                    UNPACKED_VERSION => home.unpacked_version().map(serde_json::to_value),
                    _ => home.unpacked().map(serde_json::to_value),
                };
                match read {
                    Ok(read) => {
                        let says: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
                        let read = read.unwrap();
                        let same = |(field, value): (&String, &serde_json::Value)| says[field] == *value;
                        match read.as_object() {
                            Some(record) => prop_assert!(record.iter().all(same)),
                            None => prop_assert_eq!(read, says),
                        }
                    }
                    Err(error) => prop_assert!(error.to_string().contains(name), "{}", error),
                }
            }
        });
    }
}
