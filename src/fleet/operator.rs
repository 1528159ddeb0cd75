//! The folder of an operator: the configuration of the NATS servers, and the users in it. Only this folder can make
//! users, and it keeps no secret of theirs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::keys::{TenantName, TenantServers};
use super::nats_conf::{AUTHORITIES, server_file, server_files};
use super::users_file::{FleetUsers, FleetUsersError};
use crate::home::write_private;
use crate::os::{self, FileAccess, OpenOwnerOnly as _};
use crate::proof;

/// The files of the folder.
const USERS: &str = "users.conf";
const TENANT: &str = "tenant.json";
const LOCK: &str = "places.lock";

/// How many random bytes the name of a file has that is being written.
const ASIDE_BYTES: usize = 8;

/// The tenant as its folder has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantSettings {
    /// Its name, as keys have it.
    pub tenant: TenantName,
    /// Its servers, as keys name them.
    pub servers: TenantServers,
}

/// The certificate of the servers and its key, for their configuration: paths on the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCertificate {
    /// The file of the certificate.
    pub certificate: PathBuf,
    /// The file of its key.
    pub key: PathBuf,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OperatorFolderError {
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others may use the folder.
    #[error(
        "{path} is open to others ({found}): who can write there can make users. Close it with: {remedy}"
    )]
    OpenToOthers {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        found: String,
        /// The command that closes it.
        remedy: String,
    },
    /// It is another user's.
    #[error("{path} belongs to another user ({owner}). Name a folder of your own")]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: String,
    },
    /// It is set up already.
    #[error(
        "{0} is set up already. `tabwire-fleet places list` there shows its places; name another folder"
    )]
    Exists(PathBuf),
    /// It has no settings, but files of these names: an earlier command was ended before it was set up, or they are
    /// a person's own.
    #[error(
        "{} is not set up, and has files that are not of this command: {}. If they are of a `places init` that did not end, \
         delete them, then give the command again; else name another folder",
        .dir.display(),
        .files.join(", ")
    )]
    HalfMade {
        /// The folder.
        dir: PathBuf,
        /// The names of the files.
        files: Vec<String>,
    },
    /// The servers can be no cluster.
    #[error("{0}")]
    Cluster(Box<str>),
    /// It is not set up.
    #[error(
        "{0} is no folder of places. `tabwire-fleet places init DIR` makes one; name it with --dir DIR"
    )]
    None(PathBuf),
    /// A path cannot stand in the configuration of NATS.
    #[error(
        "the path {0:?} cannot stand in the configuration of NATS. Name a file without quotes and backslashes in its path"
    )]
    Path(PathBuf),
    /// The settings are damaged.
    #[error("{path} does not hold the settings of a tenant: {source}. Put a copy of it back")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
    /// The users cannot be changed or read.
    #[error(transparent)]
    Users(#[from] FleetUsersError),
}

/// The folder, locked against other commands until it is dropped.
#[derive(Debug)]
pub struct OperatorFolder {
    dir: PathBuf,
    _lock: File,
}

impl OperatorFolder {
    /// Makes the folder with its files. Given again after it was ended half-way, it goes on.
    ///
    /// # Errors
    ///
    /// [`OperatorFolderError`]; a folder that is set up stays as it is.
    pub fn init(
        dir: &Path,
        settings: &TenantSettings,
        certificate: Option<&ServerCertificate>,
    ) -> Result<Self, OperatorFolderError> {
        let mut files = server_files(settings, certificate)?;
        files.push((USERS.to_owned(), FleetUsers::default().to_text()));
        os::create_folders(dir).map_err(at(dir))?;
        let folder = Self::lock(dir)?;
        if folder.path(TENANT).symlink_metadata().is_ok() {
            return Err(OperatorFolderError::Exists(dir.to_owned()));
        }
        // Files that differ from those of this command may be a person's own.
        let differs = |(name, text): &&(String, String)| {
            let path = folder.path(name);
            path.symlink_metadata().is_ok() && fs::read_to_string(&path).ok().as_ref() != Some(text)
        };
        let differing: Vec<_> =
            files.iter().filter(differs).map(|(name, _)| name.clone()).collect();
        if !differing.is_empty() {
            return Err(OperatorFolderError::HalfMade { dir: dir.to_owned(), files: differing });
        }
        for (name, text) in &files {
            folder.write(name, text)?;
        }
        // Last: without it the folder is none, and the command can be given again.
        folder.write(TENANT, &serde_json::to_string_pretty(settings).unwrap_or_default())?;
        Ok(folder)
    }

    /// Opens a folder that is set up, once no other command uses it.
    ///
    /// # Errors
    ///
    /// [`OperatorFolderError`].
    pub fn open(dir: &Path) -> Result<Self, OperatorFolderError> {
        if !dir.join(TENANT).is_file() {
            return Err(OperatorFolderError::None(dir.to_owned()));
        }
        Self::lock(dir)
    }

    fn lock(dir: &Path) -> Result<Self, OperatorFolderError> {
        let path_of = || dir.to_owned();
        match os::access(dir).map_err(at(dir))? {
            FileAccess::OwnerOnly => {}
            FileAccess::Open { found, remedy } => {
                return Err(OperatorFolderError::OpenToOthers { path: path_of(), found, remedy });
            }
            FileAccess::Foreign { owner } => {
                return Err(OperatorFolderError::NotOurs { path: path_of(), owner });
            }
        }
        let path = dir.join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let lock = options.open_owner_only(&path).map_err(at(&path))?;
        lock.lock().map_err(at(&path))?;
        let folder = Self { dir: dir.to_owned(), _lock: lock };
        folder.clear_asides();
        Ok(folder)
    }

    /// Deletes files of commands that were ended while they wrote. With the lock nobody else writes.
    fn clear_asides(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_aside) {
                // One that stays is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where the configurations of these servers are, in the order of the addresses.
    #[must_use]
    pub fn server_paths(&self, servers: &TenantServers) -> Vec<PathBuf> {
        let count = servers.addresses.len();
        (0..count).map(|number| self.path(&server_file(number, count))).collect()
    }

    /// Where the users are.
    #[must_use]
    pub fn users_path(&self) -> PathBuf {
        self.path(USERS)
    }

    /// The tenant.
    ///
    /// # Errors
    ///
    /// [`OperatorFolderError::Io`] and [`OperatorFolderError::Damaged`].
    pub fn settings(&self) -> Result<TenantSettings, OperatorFolderError> {
        let path = self.path(TENANT);
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        serde_json::from_str(&text).map_err(|source| OperatorFolderError::Damaged { path, source })
    }

    /// The users.
    ///
    /// # Errors
    ///
    /// [`OperatorFolderError::Io`] and [`OperatorFolderError::Users`].
    pub fn users(&self) -> Result<FleetUsers, OperatorFolderError> {
        let path = self.users_path();
        Ok(FleetUsers::parse(&fs::read_to_string(&path).map_err(at(&path))?)?)
    }

    /// Puts other users in the place of all.
    ///
    /// # Errors
    ///
    /// [`OperatorFolderError::Io`]: nothing has changed.
    pub fn set_users(&self, users: &FleetUsers) -> Result<(), OperatorFolderError> {
        self.write(USERS, &users.to_text())
    }

    /// Writes a file whole or not at all, also over a power failure.
    fn write(&self, name: &str, text: &str) -> Result<(), OperatorFolderError> {
        let path = self.path(name);
        let aside = self.path(&format!("{name}.{}", proof::random_hex::<ASIDE_BYTES>()));
        let written = write_private(&aside, text.as_bytes())
            .and_then(|()| os::sync_file(&aside))
            .and_then(|()| os::replace_file(&aside, &path));
        if written.is_err() {
            // The error that counts is the one above.
            let _ = fs::remove_file(&aside);
        }
        written.map_err(at(&path))
    }
}

/// Whether a file of this name was being written: ours have their own name and random digits behind it.
fn is_aside(name: &str) -> bool {
    let Some((of, digits)) = name.rsplit_once('.') else { return false };
    let is_random =
        digits.len() == 2 * ASIDE_BYTES && digits.bytes().all(|it| it.is_ascii_hexdigit());
    let is_servers = of.starts_with("nats") && of.ends_with(".conf");
    is_random && (is_servers || [USERS, TENANT, AUTHORITIES].contains(&of))
}

fn at(path: &Path) -> impl Fn(io::Error) -> OperatorFolderError {
    move |source| OperatorFolderError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{NkeySeed, PlaceId};
    use crate::os::testing::{chmod, mode};

    fn settings(address: &str) -> TenantSettings {
        let servers =
            TenantServers { addresses: vec![address.parse().unwrap()], ca: None, name: None };
        TenantSettings { tenant: "acme".parse().unwrap(), servers }
    }

    #[test]
    fn the_files_are_their_operators_alone_and_a_folder_that_is_set_up_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("acme");
        let folder = OperatorFolder::init(&dir, &settings("127.0.0.1:4333"), None).unwrap();
        assert_eq!(folder.settings().unwrap(), settings("127.0.0.1:4333"));
        assert!(folder.users().unwrap().all().is_empty());
        let server = folder.server_paths(&settings("127.0.0.1:4333").servers).remove(0);
        for path in [server.clone(), folder.users_path(), dir.join(TENANT)] {
            assert_eq!(mode(&path) & 0o777, 0o600, "{}", path.display());
        }
        assert_eq!(mode(&dir) & 0o777, 0o700);
        drop(folder);
        let text = fs::read_to_string(&server).unwrap();
        assert!(text.contains("listen: \"127.0.0.1:4333\"") && !text.contains("tls"), "{text}");
        let why = OperatorFolder::init(&dir, &settings("127.0.0.1:1"), None).unwrap_err();
        assert!(why.to_string().contains("set up already"), "{why}");
        assert_eq!(fs::read_to_string(&server).unwrap(), text);
        let none = OperatorFolder::open(&dir.join("none")).unwrap_err().to_string();
        assert!(none.contains("places init DIR") && none.contains("--dir"), "{none}");
    }

    #[test]
    fn a_set_up_that_was_ended_half_way_goes_on_or_says_which_files_to_delete() {
        let of = settings("127.0.0.1:4333");
        let files = server_files(&of, None).unwrap();
        // It writes nats.conf, users.conf and tenant.json in this order, each by another file beside it.
        for made in 0..=2 {
            let dir = tempfile::tempdir().unwrap();
            let dir = dir.path().join("acme");
            drop(OperatorFolder::init(&dir, &of, None).unwrap());
            for gone in [TENANT, USERS, "nats.conf"].iter().take(3 - made) {
                fs::remove_file(dir.join(gone)).unwrap();
            }
            let aside = dir.join("users.conf.0123456789abcdef");
            fs::write(&aside, "half a file").unwrap();
            fs::write(dir.join("users.conf.bak"), "a person's own").unwrap();
            if made > 0 {
                let other =
                    OperatorFolder::init(&dir, &settings("127.0.0.1:4444"), None).unwrap_err();
                let why = other.to_string();
                assert!(
                    why.contains("this command: nats.conf. If")
                        && why.contains("delete them, then"),
                    "{why}"
                );
                assert_eq!(fs::read_to_string(dir.join("nats.conf")).unwrap(), files[0].1);
                assert!(!dir.join(TENANT).exists());
            }
            drop(OperatorFolder::init(&dir, &of, None).unwrap());
            let folder = OperatorFolder::open(&dir).unwrap();
            assert!(folder.users().unwrap().all().is_empty() && !aside.exists(), "{made}");
            assert!(dir.join("users.conf.bak").exists());
            if made > 0 {
                drop(folder);
                fs::remove_file(dir.join(TENANT)).unwrap();
                fs::remove_file(dir.join("nats.conf")).unwrap();
                let other = settings("127.0.0.1:4444");
                assert_eq!(
                    OperatorFolder::init(&dir, &other, None).unwrap().settings().unwrap(),
                    other
                );
            }
        }
    }

    #[test]
    fn users_of_a_folder_whose_settings_are_gone_are_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("acme");
        let of = settings("127.0.0.1:4333");
        let folder = OperatorFolder::init(&dir, &of, None).unwrap();
        let mut users = folder.users().unwrap();
        users.add_place("qa".parse().unwrap(), NkeySeed::generate().unwrap().public()).unwrap();
        folder.set_users(&users).unwrap();
        drop(folder);
        fs::remove_file(dir.join(TENANT)).unwrap();
        let why = OperatorFolder::init(&dir, &of, None).unwrap_err().to_string();
        assert!(why.contains("users.conf"), "{why}");
        assert_eq!(
            FleetUsers::parse(&fs::read_to_string(dir.join(USERS)).unwrap()).unwrap(),
            users
        );
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("acme");
        drop(OperatorFolder::init(&dir, &settings("127.0.0.1:1"), None).unwrap());
        for open in [0o770, 0o702, 0o755] {
            chmod(&dir, open).unwrap();
            let why = OperatorFolder::open(&dir).unwrap_err().to_string();
            assert!(why.contains("chmod 700"), "{open:o}: {why}");
        }
    }

    #[test]
    fn changes_that_are_made_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("acme");
        drop(OperatorFolder::init(&dir, &settings("127.0.0.1:1"), None).unwrap());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let dir = &dir;
                scope.spawn(move || {
                    let folder = OperatorFolder::open(dir).unwrap();
                    let mut users = folder.users().unwrap();
                    let name: PlaceId = format!("p{number}").parse().unwrap();
                    users.add_place(name, NkeySeed::generate().unwrap().public()).unwrap();
                    folder.set_users(&users).unwrap();
                });
            }
        });
        let folder = OperatorFolder::open(&dir).unwrap();
        assert_eq!(folder.users().unwrap().all().len(), 8);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 4, "nothing beside its files");
    }
}
