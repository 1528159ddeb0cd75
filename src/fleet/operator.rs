//! The folder of an operator: the configuration of the NATS servers, and the users in it. Only this folder can make
//! users, and it keeps no secret of theirs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::keys::{TenantName, TenantServers};
use super::users_file::{FleetUsers, FleetUsersError};
use crate::home::write_private;
use crate::os::{self, FileAccess, OpenOwnerOnly as _};
use crate::proof;

/// The files of the folder.
const SERVER: &str = "nats.conf";
const USERS: &str = "users.conf";
const TENANT: &str = "tenant.json";
const LOCK: &str = "places.lock";

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
    /// Makes the folder with its files.
    ///
    /// # Errors
    ///
    /// [`OperatorFolderError`]; a folder that is set up stays as it is.
    pub fn init(
        dir: &Path,
        settings: &TenantSettings,
        certificate: Option<&ServerCertificate>,
    ) -> Result<Self, OperatorFolderError> {
        let configuration = configuration(settings, certificate)?;
        os::create_folders(dir).map_err(at(dir))?;
        let folder = Self::lock(dir)?;
        for name in [SERVER, USERS, TENANT] {
            if folder.path(name).symlink_metadata().is_ok() {
                return Err(OperatorFolderError::Exists(dir.to_owned()));
            }
        }
        let settings = serde_json::to_string_pretty(settings).unwrap_or_default();
        folder.write(SERVER, &configuration)?;
        folder.write(USERS, &FleetUsers::default().to_text())?;
        // Last: without it the folder is none, and the command can be given again once the others are moved away.
        folder.write(TENANT, &settings)?;
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
        Ok(Self { dir: dir.to_owned(), _lock: lock })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where the configuration of the servers is.
    #[must_use]
    pub fn server_path(&self) -> PathBuf {
        self.path(SERVER)
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
        let aside = self.path(&format!("{name}.{}", proof::random_hex::<8>()));
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

fn at(path: &Path) -> impl Fn(io::Error) -> OperatorFolderError {
    move |source| OperatorFolderError::Io { path: path.to_owned(), source }
}

/// The configuration of a server. Clients on other machines come by TLS alone.
fn configuration(
    TenantSettings { tenant, servers }: &TenantSettings,
    certificate: Option<&ServerCertificate>,
) -> Result<String, OperatorFolderError> {
    let port = servers.addresses.first().map_or(4222, super::NatsAddress::port);
    let is_far = servers.require_tls();
    let listen = if is_far { "0.0.0.0" } else { "127.0.0.1" };
    let mut text = format!(
        "# A NATS server of the tenant {tenant}: `nats-server -c nats.conf`.\nlisten: \"{listen}:{port}\"\n"
    );
    let usual = || ServerCertificate {
        certificate: PathBuf::from("server-cert.pem"),
        key: PathBuf::from("server-key.pem"),
    };
    if let Some(files) = certificate.cloned().or_else(|| is_far.then(usual)) {
        let (cert, key) = (quoted(&files.certificate)?, quoted(&files.key)?);
        text += &format!("\ntls {{\n  cert_file: {cert}\n  key_file: {key}\n}}\n");
    }
    text +=
        "\n# Places and agents. `tabwire-fleet places` writes this file.\ninclude \"users.conf\"\n";
    Ok(text)
}

/// A path as a text of the configuration.
fn quoted(path: &Path) -> Result<String, OperatorFolderError> {
    let text = path.to_str().filter(|text| !text.contains(['"', '\\', '\n']));
    let text = text.ok_or_else(|| OperatorFolderError::Path(path.to_owned()))?;
    Ok(format!("\"{text}\""))
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
        for path in [folder.server_path(), folder.users_path(), dir.join(TENANT)] {
            assert_eq!(mode(&path) & 0o777, 0o600, "{}", path.display());
        }
        assert_eq!(mode(&dir) & 0o777, 0o700);
        drop(folder);
        let text = fs::read_to_string(dir.join(SERVER)).unwrap();
        assert!(text.contains("listen: \"127.0.0.1:4333\"") && !text.contains("tls"), "{text}");
        let why = OperatorFolder::init(&dir, &settings("127.0.0.1:1"), None).unwrap_err();
        assert!(why.to_string().contains("set up already"), "{why}");
        assert_eq!(fs::read_to_string(dir.join(SERVER)).unwrap(), text);
        let none = OperatorFolder::open(&dir.join("none")).unwrap_err().to_string();
        assert!(none.contains("places init DIR") && none.contains("--dir"), "{none}");
    }

    #[test]
    fn a_server_for_other_machines_has_tls_and_a_path_that_would_be_configuration_is_refused() {
        let far = settings("nats://nats.acme.example:4222");
        let text = configuration(&far, None).unwrap();
        assert!(text.contains("0.0.0.0:4222") && text.contains("cert_file"), "{text}");
        let of = |certificate: &str| ServerCertificate {
            certificate: certificate.into(),
            key: "/etc/key.pem".into(),
        };
        assert!(configuration(&far, Some(&of("/etc/a.pem"))).unwrap().contains("\"/etc/a.pem\""));
        for wrong in ["/a\".pem", "/a\\b", "/a\nb"] {
            let why = configuration(&far, Some(&of(wrong))).unwrap_err().to_string();
            assert!(why.contains("without quotes"), "{why}");
        }
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
