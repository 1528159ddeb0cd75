//! The folders in which files may be synced.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::errors::SyncError;
use crate::os::{self, FileIdentity};

/// The folders below which files may be synced.
#[derive(Debug)]
pub(super) struct SyncRoots(Vec<PathBuf>);

/// The file or folder of a sync. It exists and lies below the roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncTarget {
    /// Its path, without symbolic links and `..`.
    pub path: PathBuf,
    /// Whether it is a file or a folder.
    pub kind: TargetKind,
    identity: FileIdentity,
}

/// The kind of entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

impl SyncRoots {
    pub(super) const fn new(roots: Vec<PathBuf>) -> Self {
        Self(roots)
    }

    pub(super) fn check(&self, path: &Path) -> Result<SyncTarget, SyncError> {
        if !path.is_absolute() {
            return Err(SyncError::NotAbsolute { path: path.to_owned() });
        }
        let not_found = |error: io::Error| SyncError::NotFound {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let whole = match os::canonicalize(path) {
            Ok(whole) => whole,
            // An error must not reveal whether a path outside of the roots exists.
            Err(_) if !self.contain(&existing_part(path)) => return Err(self.outside(path)),
            Err(error) => return Err(not_found(error)),
        };
        if !self.contain(&whole) {
            return Err(self.outside(path));
        }
        let found = fs::symlink_metadata(&whole).map_err(not_found)?;
        SyncTarget::new(whole, &found)
            .ok_or_else(|| SyncError::NotFileOrFolder { path: path.to_owned() })
    }

    /// Whether a path lies below a root. Roots need not exist: their disk may be mounted later.
    fn contain(&self, whole: &Path) -> bool {
        self.0.iter().any(|root| os::canonicalize(root).is_ok_and(|root| whole.starts_with(root)))
    }

    fn outside(&self, path: &Path) -> SyncError {
        SyncError::OutsideRoots { path: path.to_owned(), roots: self.0.clone() }
    }
}

/// The longest part of a path that leads somewhere, as it is without symbolic links.
fn existing_part(path: &Path) -> PathBuf {
    path.ancestors().find_map(|part| os::canonicalize(part).ok()).unwrap_or_default()
}

impl SyncTarget {
    fn new(path: PathBuf, found: &Metadata) -> Option<Self> {
        let kind = match found.file_type() {
            kind if kind.is_file() => TargetKind::File,
            kind if kind.is_dir() => TargetKind::Folder,
            _ => return None,
        };
        let identity = os::entry(&path, found).ok()?.identity;
        Some(Self { path, kind, identity })
    }

    /// Whether the path still leads to the same folder, or to a file: files are often
    /// replaced as a whole, folders only when they are unmounted or deleted.
    pub(super) fn is_still_there(&self) -> bool {
        let now = fs::symlink_metadata(&self.path).ok();
        let now = now.and_then(|found| Self::new(self.path.clone(), &found));
        now.is_some_and(|now| match self.kind {
            TargetKind::File => now.kind == TargetKind::File,
            TargetKind::Folder => now == *self,
        })
    }
}
