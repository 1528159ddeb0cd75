//! Whether a file of the state directory is still the one that was read.

use std::path::Path;

use crate::os::{self, FileIdentity};

/// What a look at a file of the state directory tells of it: every write puts a new file in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFileStamp {
    identity: FileIdentity,
    changed: (i64, i64),
    size: u64,
}

impl StateFileStamp {
    /// A look at a file; `None`: it is not there.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        let (identity, changed) =
            (os::entry(path, &found).ok()?.identity, os::times(&found).changed);
        Some(Self { identity, changed, size: found.len() })
    }
}
