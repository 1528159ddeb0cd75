//! Where the extension was unpacked.

use std::path::{Path, PathBuf};

use super::{Home, HomeError, read_json, write_json};

pub(super) const UNPACKED: &str = "unpacked.json";

impl Home {
    /// Where the extension was unpacked last; `None` if it never was.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`] and [`HomeError::Damaged`].
    pub fn unpacked(&self) -> Result<Option<PathBuf>, HomeError> {
        unpacked_below(&self.dir)
    }

    /// Remembers where the extension was unpacked.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`].
    pub fn note_unpacked(&self, to: &Path) -> Result<(), HomeError> {
        // A name that JSON cannot hold is not remembered.
        let Some(to) = to.to_str() else { return Ok(()) };
        write_json(&self.dir.join(UNPACKED), &to)
    }
}

/// The same for a state directory that is not opened.
pub(super) fn unpacked_below(dir: &Path) -> Result<Option<PathBuf>, HomeError> {
    read_json(&dir.join(UNPACKED))
}
