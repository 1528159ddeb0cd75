//! The folders for the extension, and the one to which it was unpacked last.

use std::path::{Path, PathBuf};

use super::{StateDirectory, StateDirectoryError, read_json, write_json};
use crate::protocol::SERVER_VERSION;

pub(super) const UNPACKED: &str = "unpacked.json";
pub(super) const INSTALLED_PROGRAM: &str = "program.json";
pub(super) const UNPACKED_VERSION: &str = "unpacked_version.json";

const EXTENSION: &str = "extension";

/// The folder in a person's home directory with the files that they need to find: the extension, and
/// the files of agents.
pub const PERSON_FOLDER: &str = "Tabwire";

/// The folder for the extension below the home directory of a person, where a file dialog shows it.
#[must_use]
pub fn extension_in_person_folder(person: &Path) -> PathBuf {
    person.join(PERSON_FOLDER).join(EXTENSION)
}

/// The folder for the extension below a state directory, for a state directory that was named by
/// hand. Older versions always used it.
#[must_use]
pub fn extension_in_state(state: &Path) -> PathBuf {
    state.join(EXTENSION)
}

/// Both folders: a browser may have loaded the extension from one although another was unpacked last.
pub(super) fn usual_extension_folders(
    state: &Path,
    person: Option<&Path>,
) -> impl Iterator<Item = PathBuf> + use<> {
    [Some(extension_in_state(state)), person.map(extension_in_person_folder)].into_iter().flatten()
}

/// The program that `tabwire install` has copied into the state directory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InstalledProgram {
    /// Its version.
    pub version: String,
    /// How the program that made the copy came to the computer.
    pub origin: String,
}

impl StateDirectory {
    /// The program that was copied here last; `None`: none was.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn installed_program(&self) -> Result<Option<InstalledProgram>, StateDirectoryError> {
        read_json(&self.dir.join(INSTALLED_PROGRAM))
    }

    /// Remembers the program that was copied here.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn note_program(&self, installed: &InstalledProgram) -> Result<(), StateDirectoryError> {
        write_json(&self.dir.join(INSTALLED_PROGRAM), installed)
    }

    /// Forgets the program that was copied here, which is gone.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn forget_program(&self) -> Result<(), StateDirectoryError> {
        let path = self.dir.join(INSTALLED_PROGRAM);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(StateDirectoryError::Io { path, source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Where the extension was unpacked last; `None` if it never was.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn unpacked(&self) -> Result<Option<PathBuf>, StateDirectoryError> {
        unpacked_below(&self.dir)
    }

    /// The version that was unpacked there; `None`: by a build that did not note it.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn unpacked_version(&self) -> Result<Option<String>, StateDirectoryError> {
        read_json(&self.dir.join(UNPACKED_VERSION))
    }

    /// Remembers where this build's extension was unpacked.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`].
    pub fn note_unpacked(&self, to: &Path) -> Result<(), StateDirectoryError> {
        // JSON cannot hold a path that is not UTF-8. Such a folder works, but is not remembered.
        let Some(to) = to.to_str() else { return Ok(()) };
        // The version comes last: with it the check of the folder's files begins. If the program is
        // killed between the two, it must not stand beside another folder.
        write_json(&self.dir.join(UNPACKED), &to)?;
        write_json(&self.dir.join(UNPACKED_VERSION), &SERVER_VERSION)
    }
}

/// The same for a state directory that is not opened.
pub(super) fn unpacked_below(dir: &Path) -> Result<Option<PathBuf>, StateDirectoryError> {
    read_json(&dir.join(UNPACKED))
}
