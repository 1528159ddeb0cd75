//! The folders that a person opened to agents.

use std::io;
use std::iter;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::home::unpacked::{unpacked_below, usual_extension_folders};
use crate::home::{StateDirectory, StateDirectoryError, lock_settings, read_json, write_json};
use crate::os;

const AGENT_FOLDERS: &str = "agent_folders.json";

/// The folders that a person opened to agents, without links in their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFolders {
    /// The folders below which agents may create files.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// The folders whose files agents may give to pages.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// The folders outside of the home directory that agents may sync. The list only saves a person the
    /// same question twice; the daemon goes by its own flags.
    #[serde(default)]
    pub sync: Vec<PathBuf>,
}

/// The use that agents may make of an opened folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderAccess {
    /// Giving its files to pages.
    Read,
    /// Writing new files to it.
    Write,
}

/// Why a folder cannot be opened to agents. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum AgentFolderError {
    /// It cannot be looked at.
    #[error("cannot open {} to agents: {source}. Name a folder that exists", .path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is not a folder. Name a folder", .0.display())]
    NoFolder(PathBuf),
    /// Its name is no text, so it cannot be kept, or a person would not see all of it.
    #[error("the path of {} is not plain text. Name another folder", .0.display())]
    NoText(PathBuf),
    /// It is, or holds, a directory that is never open to agents, or lies in one.
    #[error("{} is not opened to agents: {why}. Make a folder for them and name that", .path.display())]
    Kept {
        /// The folder.
        path: PathBuf,
        /// Why it is not.
        why: &'static str,
    },
    /// The state directory cannot be used.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
}

/// The folders as they are kept.
pub(super) fn read(state: &Path) -> Result<AgentFolders, StateDirectoryError> {
    Ok(read_json(&state.join(AGENT_FOLDERS))?.unwrap_or_default())
}

/// Whether a path lies in the state directory or in a folder of the extension. `person` is the home
/// directory of the person.
pub(super) fn is_kept_from_agents(
    state: &Path,
    person: &Path,
    path: &Path,
) -> Result<bool, StateDirectoryError> {
    Ok(kept_from_agents(state, Some(person))?.iter().any(|(kept, _)| path.starts_with(kept)))
}

/// The directories that are never open to agents, and why.
fn kept_from_agents(
    state: &Path,
    person: Option<&Path>,
) -> Result<Vec<(PathBuf, &'static str)>, StateDirectoryError> {
    let extensions = usual_extension_folders(state, person).chain(unpacked_below(state)?);
    let extensions = extensions.map(|path| (path, "the extension is there, with its key"));
    let all = iter::once((state.to_owned(), "Tabwire keeps its keys there")).chain(extensions);
    // No link can lead to a folder that does not exist, so its plain path is enough.
    Ok(all.map(|(path, why)| (os::canonicalize(&path).unwrap_or(path), why)).collect())
}

impl StateDirectory {
    /// The folder as it would be opened to agents: without links, and none that is kept from
    /// them. `person` is the home directory of the person.
    ///
    /// # Errors
    ///
    /// [`AgentFolderError`].
    pub fn check_agent_folder(
        &self,
        folder: &Path,
        person: Option<&Path>,
    ) -> Result<PathBuf, AgentFolderError> {
        let io = |source| AgentFolderError::Io { path: folder.to_owned(), source };
        // The folder is opened and not the link that named it, which may lead elsewhere later.
        let path = os::canonicalize(folder).map_err(io)?;
        if !path.is_dir() {
            return Err(AgentFolderError::NoFolder(path));
        }
        if path.to_str().is_none_or(|text| text.chars().any(char::is_control)) {
            return Err(AgentFolderError::NoText(path));
        }
        let person = person.map(|home| os::canonicalize(home).unwrap_or_else(|_| home.to_owned()));
        match self.why_kept(&path, person.as_deref())? {
            None => Ok(path),
            Some(why) => Err(AgentFolderError::Kept { path, why }),
        }
    }

    /// Why this folder is not opened to agents, if so.
    fn why_kept(
        &self,
        path: &Path,
        person: Option<&Path>,
    ) -> Result<Option<&'static str>, StateDirectoryError> {
        if person.is_some_and(|home| home.starts_with(path)) || path.parent().is_none() {
            return Ok(Some("all your files lie below it"));
        }
        let is_dot = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        if path.components().any(is_dot) {
            return Ok(Some(
                "programs keep their settings in folders whose names begin with a dot",
            ));
        }
        let kept = kept_from_agents(&self.dir, person)?;
        // In both directions: from a folder above, an agent could write into it.
        let overlaps =
            |(kept, _): &&(PathBuf, &'static str)| path.starts_with(kept) || kept.starts_with(path);
        Ok(kept.iter().find(overlaps).map(|(_, why)| *why))
    }

    /// The folders that a person opened to agents.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn agent_folders(&self) -> Result<AgentFolders, StateDirectoryError> {
        read(&self.dir)
    }

    /// Opens a folder that [`StateDirectory::check_agent_folder`] has returned to agents; a running
    /// daemon follows at once. False: it was open already.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn open_agent_folder(
        &self,
        path: &Path,
        accesses: &[FolderAccess],
    ) -> Result<bool, StateDirectoryError> {
        self.change_agent_folders(|folders| {
            let opened = accesses.iter().map(|access| add(folders.with_mut(*access), path));
            // Each of them is opened: `any` would stop at the first.
            opened.fold(false, |before, is_new| before | is_new)
        })
    }

    /// Remembers that a daemon may be started for agents to sync this folder. False: it was
    /// remembered already.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn note_synced_folder(&self, path: &Path) -> Result<bool, StateDirectoryError> {
        self.change_agent_folders(|folders| add(&mut folders.sync, path))
    }

    /// Closes a folder to agents for these uses. False: it was open for none of them.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn close_agent_folder(
        &self,
        folder: &Path,
        accesses: &[FolderAccess],
    ) -> Result<bool, StateDirectoryError> {
        // A folder that is gone or a link by now cannot be resolved: it is found as it is listed.
        let path = os::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        self.change_agent_folders(|folders| {
            let mut is_changed = false;
            for access in accesses {
                let open = folders.with_mut(*access);
                let before = open.len();
                open.retain(|known| known != folder && *known != path);
                is_changed |= open.len() < before;
            }
            is_changed
        })
    }

    fn change_agent_folders(
        &self,
        change: impl FnOnce(&mut AgentFolders) -> bool,
    ) -> Result<bool, StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut folders = self.agent_folders()?;
        let is_changed = change(&mut folders);
        if is_changed {
            write_json(&self.dir.join(AGENT_FOLDERS), &folders)?;
        }
        Ok(is_changed)
    }
}

impl FolderAccess {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];
}

impl AgentFolders {
    /// The folders that are open for this use.
    #[must_use]
    pub fn with(&self, access: FolderAccess) -> &[PathBuf] {
        match access {
            FolderAccess::Read => &self.read,
            FolderAccess::Write => &self.write,
        }
    }

    const fn with_mut(&mut self, access: FolderAccess) -> &mut Vec<PathBuf> {
        match access {
            FolderAccess::Read => &mut self.read,
            FolderAccess::Write => &mut self.write,
        }
    }
}

/// Whether the folder is new there.
fn add(folders: &mut Vec<PathBuf>, path: &Path) -> bool {
    let is_new = !folders.iter().any(|known| known == path);
    if is_new {
        folders.push(path.to_owned());
    }
    is_new
}
