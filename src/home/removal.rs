//! Removal of a state directory: Tabwire's own files, by exact names, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{ASIDE, REDO_ENDINGS, decode};
use super::reach_runs::{self, REACH};
use super::tenants::{self, TENANTS};
use super::{AUTH_KEY, StateDirectory, StateDirectoryError, drawings, noise, store, uploads};
use crate::os;
use crate::protocol::Owner;

/// Our files. While one is written it has [`ASIDE_DIGITS`] more behind a dot.
const FILES: [&str; 21] = [
    "agent_folders.json",
    "auth.key",
    "daemon.json",
    "dashboard.html",
    "daemon.lock",
    "daemon.sock",
    "extensions.json",
    "installed.json",
    "legacy.json",
    "local_files.json",
    "native-host",
    "owners.json",
    "program.json",
    "scopes.json",
    "settings.lock",
    "browser_names.json",
    "site_rules.json",
    "start.lock",
    "unconfirmed.json",
    "unpacked.json",
    "unpacked_version.json",
];

/// The daemon's log: the current file and two former ones.
const LOGS: [&str; 3] = ["daemon.log", "daemon.log.1", "daemon.log.2"];

/// The databases, each with the suffix of a copy that was moved aside: a number follows.
const DATABASES: [(&str, &str); 3] =
    [("journal.db", ".unusable-"), ("monitor.db", ".damaged-"), ("history.db", ".damaged-")];

/// The suffixes of SQLite's own files, and of the journal's logs.
const DATABASE_ENDINGS: [&str; 6] =
    ["", "-wal", "-shm", "-journal", REDO_ENDINGS[0], REDO_ENDINGS[1]];

/// How many hexadecimal digits a file has behind its name while it is written.
const ASIDE_DIGITS: usize = 16;

/// A folder with a folder for each owner: its name, and a test for Tabwire's files in them.
type OwnersFolder = (&'static str, fn(&Path) -> bool);

/// Our folders with a folder for each owner.
const OWNERS_FOLDERS: [OwnersFolder; 4] = [
    ("drawings", drawings::is_own_file),
    ("noise", noise::is_own_file),
    ("store", store::is_own_file),
    // Each copy has a folder of its own there.
    (UPLOADS, uploads::is_own_file),
];

/// The folder of copies for pages, which are nobody's for longer than an hour.
const UPLOADS: &str = "uploads";

/// The owner of a folder, the folder, and which files in it are ours.
type FolderOfOwner = (Owner, PathBuf, fn(&Path) -> bool);

/// The plan of removing a state directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDirectoryRemoval {
    /// The paths to remove, in this order: a folder after its content, and the directory itself last,
    /// if nothing stays in it.
    pub goes: Vec<PathBuf>,
    /// The paths that stay: foreign files, and unconfirmed widenings.
    pub stays: Vec<PathBuf>,
}

impl StateDirectory {
    /// The plan that [`StateDirectory::remove`] would carry out now. Paths in `gone` count as removed.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn removal(&self, gone: &[PathBuf]) -> Result<StateDirectoryRemoval, StateDirectoryError> {
        let mut removal = StateDirectoryRemoval::default();
        // A removal must not be a way to make Tabwire forget an unconfirmed widening.
        let is_unconfirmed = !self.unconfirmed().is_ok_and(|widenings| widenings.is_empty());
        let unconfirmed = is_unconfirmed.then(|| self.unconfirmed_path());
        for path in sorted_entries(&self.dir)? {
            if gone.contains(&path) {
                continue;
            }
            match owners_folder(&path) {
                None if unconfirmed.as_ref() == Some(&path) => removal.stays.push(path),
                Some(is_own) => removal.add_owners_folder(&path, is_own)?,
                None if name_of(&path) == Some(REACH) && is_folder(&path) => {
                    removal.add_owner_folder(path, reach_runs::is_own_file)?;
                }
                None if name_of(&path) == Some(TENANTS) && is_folder(&path) => {
                    removal.add_owner_folder(path, tenants::is_own_file)?;
                }
                None if is_own_file(&path) => removal.goes.push(path),
                // A folder may be empty once the paths in `gone` are.
                None if is_emptied(&path, gone)? => removal.goes.push(path),
                None => removal.stays.push(path),
            }
        }
        // The secret goes last: if the removal fails in the middle, it shows that the rest is Tabwire's.
        let key = self.dir.join(AUTH_KEY);
        removal.goes.sort_by_key(|path| *path == key);
        if removal.stays.is_empty() {
            removal.goes.push(self.dir.clone());
        }
        Ok(removal)
    }

    /// The owners who have stored values, noise rules or drawings, listed or not.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn owners_with_files(&self) -> Result<Vec<Owner>, StateDirectoryError> {
        let folders = self.folders_of_owners()?;
        Ok(folders.into_iter().map(|(owner, _, _)| owner).collect())
    }

    /// Removes the stored values, noise rules and drawings of these owners. Other programs' files in
    /// their folders stay, and are named.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn remove_files_of(
        &self,
        is_meant: impl Fn(&Owner) -> bool,
    ) -> Result<StateDirectoryRemoval, StateDirectoryError> {
        let mut removal = StateDirectoryRemoval::default();
        for (owner, folder, is_own) in self.folders_of_owners()? {
            if is_meant(&owner) {
                removal.add_owner_folder(folder, is_own)?;
            }
        }
        removal.carry_out()?;
        Ok(removal)
    }

    /// The folders of all owners, and which of the files in them are ours.
    fn folders_of_owners(&self) -> Result<Vec<FolderOfOwner>, StateDirectoryError> {
        let mut folders = Vec::new();
        for (name, is_own) in OWNERS_FOLDERS.into_iter().filter(|(name, _)| *name != UPLOADS) {
            let folder = self.dir.join(name);
            if owners_folder(&folder).is_none() {
                continue;
            }
            for path in sorted_entries(&folder)?.into_iter().filter(|path| is_folder(path)) {
                if let Some(owner) = name_of(&path).and_then(decode) {
                    folders.push((Owner::from(owner), path, is_own));
                }
            }
        }
        Ok(folders)
    }

    /// Removes all of Tabwire's files but unconfirmed widenings, and the directory if it is empty then.
    /// Returns what it did. No daemon may run on the directory.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn remove(self) -> Result<StateDirectoryRemoval, StateDirectoryError> {
        let removal = self.removal(&[])?;
        removal.carry_out()?;
        Ok(removal)
    }
}

impl StateDirectoryRemoval {
    fn carry_out(&self) -> Result<(), StateDirectoryError> {
        for path in &self.goes {
            remove(path)
                .map_err(|source| StateDirectoryError::Io { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Adds a folder that holds a folder for each owner.
    fn add_owners_folder(
        &mut self,
        folder: &Path,
        is_own: fn(&Path) -> bool,
    ) -> Result<(), StateDirectoryError> {
        let before = self.stays.len();
        for owner in sorted_entries(folder)? {
            // Tabwire encodes the names of its folders; another name is from somebody else.
            if !is_folder(&owner) || name_of(&owner).and_then(decode).is_none() {
                self.stays.push(owner);
                continue;
            }
            self.add_owner_folder(owner, is_own)?;
        }
        if self.stays.len() == before {
            self.goes.push(folder.to_owned());
        }
        Ok(())
    }

    /// Adds a folder that holds files alone, such as that of one owner.
    fn add_owner_folder(
        &mut self,
        owner: PathBuf,
        is_own: fn(&Path) -> bool,
    ) -> Result<(), StateDirectoryError> {
        let before = self.stays.len();
        for file in sorted_entries(&owner)? {
            let is_ours = is_own(&file) || name_of(&file) == Some(ASIDE);
            let list = if is_ours && !is_folder(&file) { &mut self.goes } else { &mut self.stays };
            list.push(file);
        }
        if self.stays.len() == before {
            self.goes.push(owner);
        }
        Ok(())
    }
}

/// The entries of a folder, by name.
fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, StateDirectoryError> {
    let io = |source| StateDirectoryError::Io { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(io)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = paths.map_err(io)?;
    paths.sort_unstable();
    Ok(paths)
}

/// Which files are ours in the folders of this folder of ours, if it is one. A link to a folder
/// is none.
fn owners_folder(path: &Path) -> Option<fn(&Path) -> bool> {
    let name = name_of(path)?;
    let (_, is_own) = OWNERS_FOLDERS.into_iter().find(|(folder, _)| *folder == name)?;
    is_folder(path).then_some(is_own)
}

/// Whether a path in the state directory is a file of ours, or a link in the place of one.
fn is_own_file(path: &Path) -> bool {
    let Some(name) = name_of(path) else { return false };
    let is_link_to_folder = OWNERS_FOLDERS.iter().any(|(folder, _)| *folder == name);
    !is_folder(path) && (is_own_name(name) || is_link_to_folder)
}

/// Whether this is the name of a file of ours in a state directory.
fn is_own_name(name: &str) -> bool {
    let is_written = |own: &str| {
        let digits = name.strip_prefix(own).and_then(|rest| rest.strip_prefix('.'));
        digits.is_some_and(|digits| {
            let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            digits.len() == ASIDE_DIGITS && digits.bytes().all(is_digit)
        })
    };
    LOGS.contains(&name)
        || FILES.iter().any(|own| name == *own || is_written(own))
        || DATABASES.iter().any(|database| is_of_database(name, *database))
}

fn is_of_database(name: &str, (database, aside): (&str, &str)) -> bool {
    let Some(rest) = name.strip_prefix(database) else { return false };
    DATABASE_ENDINGS.iter().filter_map(|ending| rest.strip_suffix(ending)).any(|between| {
        let number = between.strip_prefix(aside);
        let is_number =
            |number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        between.is_empty() || number.is_some_and(is_number)
    })
}

/// Whether a folder holds only paths that are gone, and at least one of them.
fn is_emptied(folder: &Path, gone: &[PathBuf]) -> Result<bool, StateDirectoryError> {
    if !gone.iter().any(|path| path.parent() == Some(folder)) || !is_folder(folder) {
        return Ok(false);
    }
    Ok(sorted_entries(folder)?.iter().all(|path| gone.contains(path)))
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Whether it is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A link is removed, and not its target. A folder is removed only if it is empty.
fn remove(path: &Path) -> io::Result<()> {
    if is_folder(path) { fs::remove_dir(path) } else { os::remove_file(path) }
}

#[cfg(test)]
mod tests;
