//! The rules for local files of a running daemon: the state directory keeps them, every browser gets
//! them, and the gate decides by a file's real place.
//!
//! An extension knows URLs only. It asks the daemon about each file before it touches a page that
//! shows one, and again before it hands out a result.

mod gate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::extension;
use crate::home::{LocalFileStore, LocalFileStoreError, StateDirectoryError};
use crate::hub::Hub;
use crate::install::UserFolders;
use crate::proof::ExtensionKey;
use crate::protocol::{LocalFileChange, LocalFileRules};
use gate::FileGate;
pub use gate::{FolderError, openable_folder};

/// The path that a `file:` URL names, if programs cannot read it in different ways: percent-decoded,
/// of no other host, and without dots.
#[must_use]
pub fn path_of_url(url: &str) -> Option<PathBuf> {
    gate::path_of(url)
}

/// The rules for local files of a running daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveLocalFileRules {
    hub: Hub,
    store: LocalFileStore,
    gate: Arc<FileGate>,
}

/// The reason why a change of the rules for local files is rejected.
#[derive(Debug, thiserror::Error)]
pub enum LocalFilesError {
    /// The rules cannot be written, or reject the change.
    #[error(transparent)]
    Store(#[from] LocalFileStoreError),
    /// The folder cannot be opened.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl LiveLocalFileRules {
    /// Reads the rules of this state directory, and sends them to the hub's browsers.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: the file cannot be read.
    pub fn open(hub: Hub, store: LocalFileStore) -> Result<Self, StateDirectoryError> {
        let gate = Arc::new(FileGate::new(store.clone(), UserFolders::current().ok().as_ref()));
        let this = Self { hub, store, gate };
        this.reload()?;
        Ok(this)
    }

    /// Makes a change, writes it and sends it to the browsers.
    ///
    /// # Errors
    ///
    /// [`LocalFilesError`]: nothing changed.
    pub fn change(&self, change: &LocalFileChange) -> Result<(), LocalFilesError> {
        let (rules, _) = match change {
            LocalFileChange::Add { folder } => {
                let folder = openable_folder(&self.store, Path::new(folder))?;
                self.store.change(&LocalFileChange::Add { folder })?
            }
            LocalFileChange::Remove { .. } | LocalFileChange::Switch { .. } => {
                self.store.change(change)?
            }
        };
        self.hold(rules);
        Ok(())
    }

    /// Reads the file again after another process changed it.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: it cannot be read, and the rules stay as they are.
    pub fn reload(&self) -> Result<Arc<LocalFileRules>, StateDirectoryError> {
        self.hold(self.store.read()?);
        Ok(self.hub.local_files())
    }

    fn hold(&self, rules: LocalFileRules) {
        if *self.hub.local_files() != rules {
            self.hub.set_local_files(rules);
        }
    }

    /// Whether agents may see each of these files, in the order of the URLs. Reads the disk, so
    /// call it where blocking is allowed.
    #[must_use]
    pub fn check(&self, urls: &[String]) -> Vec<bool> {
        self.gate.admits(&self.hub.local_files(), urls)
    }

    /// Whether a file lies in a folder that nobody can open to agents, such as a browser's profile.
    /// `path` is canonical. Reads the disk.
    #[must_use]
    pub fn is_closed(&self, path: &Path) -> bool {
        self.gate.is_closed(path)
    }

    /// Removes this key from the `config.json` of every known unpacked extension. The extension has
    /// the key in its own storage by now, and a file can be read by other programs.
    pub fn forget_unpacked_key(&self, key: &ExtensionKey) {
        for dir in self.gate.extension_folders() {
            match extension::remove_key(&dir, key) {
                Ok(true) => {
                    tracing::info!(dir = %dir.display(), "config.json holds no key any more")
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(dir = %dir.display(), %error, "config.json keeps its key");
                }
            }
        }
    }
}
