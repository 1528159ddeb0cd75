//! Copies of files that agents give to pages. A browser reads a file only when the page sends it, so a
//! copy stays for a while; it lies in a folder of its own, under the file's own name.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::files::{make_folder, paths_in};
use super::{ReadableFile, StateDirectory};
use crate::os;
use crate::proof::random_hex;

/// The largest file that an agent can give to a page, in bytes.
pub const UPLOAD_SIZE_MAX: u64 = 100 * 1024 * 1024;

/// How many bytes all copies may have together.
pub const UPLOADS_KEPT_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// How long a copy stays: a person may look over a form before they send it.
pub const UPLOAD_KEPT: Duration = Duration::from_secs(60 * 60);

const UPLOADS: &str = "uploads";

/// How many random bytes the name of a copy's folder has.
const NAME_BYTES: usize = 16;

/// The copies in the state directory. Cheap to clone. The functions block on the disk.
#[derive(Clone, Debug)]
pub struct UploadStore {
    dir: PathBuf,
}

/// A copy of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredUpload {
    /// The copy.
    pub path: PathBuf,
    /// The name that the page sees.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The reason why a file is not copied. Nothing is left of a copy that was begun.
#[derive(Debug, thiserror::Error)]
pub enum StoredUploadError {
    /// The file is too large.
    #[error("`{name}` has {size} bytes; a file for a page may have at most {UPLOAD_SIZE_MAX}")]
    TooLarge {
        /// The file's name.
        name: String,
        /// Its size.
        size: u64,
    },
    /// The file was written to while it was copied.
    #[error("`{0}` was changed while it was read")]
    Changed(String),
    /// There are too many copies.
    #[error("{UPLOADS_KEPT_MAX} bytes of files for pages are kept already")]
    Full,
    /// The disk is full, cannot be written or cannot be read.
    #[error("cannot copy `{name}`: {source}")]
    Io {
        /// The file's name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
}

impl StateDirectory {
    /// The copies of files that agents give to pages.
    #[must_use]
    pub fn uploads(&self) -> UploadStore {
        UploadStore { dir: self.dir.join(UPLOADS) }
    }
}

impl UploadStore {
    /// Copies a file. The copy is whole, or nothing is left of it.
    ///
    /// # Errors
    ///
    /// [`StoredUploadError`].
    pub fn add(&self, source: &mut ReadableFile) -> Result<StoredUpload, StoredUploadError> {
        let (name, size) = (source.name.clone(), source.metadata.len());
        if size > UPLOAD_SIZE_MAX {
            return Err(StoredUploadError::TooLarge { name, size });
        }
        let io = |source| StoredUploadError::Io { name: name.clone(), source };
        if self.size().map_err(io)?.saturating_add(size) > UPLOADS_KEPT_MAX {
            return Err(StoredUploadError::Full);
        }
        make_folder(&self.dir).map_err(|error| io(error.source))?;
        let folder = self.dir.join(random_hex::<NAME_BYTES>());
        os::create_folder(&folder).map_err(io)?;
        let path = folder.join(&name);
        match copy(source, &path) {
            Ok(true) => Ok(StoredUpload { path, name, size }),
            Ok(false) => {
                remove(&folder);
                Err(StoredUploadError::Changed(name))
            }
            Err(error) => {
                remove(&folder);
                Err(io(error))
            }
        }
    }

    /// Removes a copy.
    pub fn remove(&self, upload: &StoredUpload) {
        if let Some(folder) = upload.path.parent().filter(|folder| is_own_folder(folder)) {
            remove(folder);
        }
    }

    /// Removes the copies of this age, also those of an earlier daemon. Returns the time until the
    /// next one has it; `None`: no copy is left.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn remove_older_than(
        &self,
        age: Duration,
        now: SystemTime,
    ) -> io::Result<Option<Duration>> {
        let mut next: Option<Duration> = None;
        for folder in self.folders()? {
            // It may have been removed meanwhile, because its tab was closed.
            let Ok(found) = fs::symlink_metadata(&folder) else { continue };
            let passed = match now.duration_since(found.modified()?) {
                Ok(passed) => passed,
                // Times of files are finer than `now`: a copy that was just made seems to be ahead of it.
                Err(ahead) if ahead.duration() <= age => Duration::ZERO,
                // A clock that was set back must not keep a copy for ever.
                Err(_) => age,
            };
            match age.checked_sub(passed).filter(|left| !left.is_zero()) {
                Some(left) => next = Some(next.map_or(left, |next| next.min(left))),
                None => remove(&folder),
            }
        }
        Ok(next)
    }

    /// How many bytes all copies have.
    fn size(&self) -> io::Result<u64> {
        let files = self.folders()?.into_iter().flat_map(|folder| files_in(&folder));
        Ok(files.filter_map(|file| Some(fs::symlink_metadata(file).ok()?.len())).sum())
    }

    fn folders(&self) -> io::Result<Vec<PathBuf>> {
        let paths = paths_in(&self.dir).map_err(|error| error.source)?;
        Ok(paths.filter(|path| is_own_folder(path)).collect())
    }
}

/// Copies an open file to a new one. False: the file was changed meanwhile.
fn copy(source: &mut ReadableFile, path: &Path) -> io::Result<bool> {
    let mut copy = os::create_owner_only(path)?;
    let size = source.metadata.len();
    // One byte more shows that the file has grown.
    let copied = io::copy(&mut (&mut source.file).take(size.saturating_add(1)), &mut copy)?;
    let after = source.file.metadata()?;
    let is_same = after.len() == size && after.modified()? == source.metadata.modified()?;
    Ok(copied == size && is_same)
}

/// Whether this is the folder of a copy, by its name.
fn is_own_folder(folder: &Path) -> bool {
    let is_hex = |name: &str| {
        name.len() == 2 * NAME_BYTES
            && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    folder.file_name().and_then(|name| name.to_str()).is_some_and(is_hex)
}

/// Whether this is a copy, by the name of its folder.
pub(super) fn is_own_file(path: &Path) -> bool {
    path.parent().is_some_and(is_own_folder)
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    paths_in(folder).map(Iterator::collect).unwrap_or_default()
}

/// Removes the folder of a copy. A browser that reads the copy goes on.
fn remove(folder: &Path) {
    for file in files_in(folder) {
        // The next removal tries the rest again.
        let _ = fs::remove_file(file);
    }
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests;
