//! The errors of a sync.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::summary::show;

/// The reason why nothing, or not everything, was synced. Each message names the next step.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The path does not begin at the root of the file system.
    #[error("`{}` is not an absolute path. Give the whole path, beginning with /", show(.path))]
    NotAbsolute {
        /// As it was given.
        path: PathBuf,
    },
    /// There is nothing at the path, or it cannot be reached.
    #[error("{} cannot be found: {why}. Check the path and that you may read it", show(.path))]
    NotFound {
        /// As it was given.
        path: PathBuf,
        /// The system's error.
        why: String,
    },
    /// The file or folder of the sync is gone, or something else has taken its place.
    #[error(
        "{} vanished during the sync. {recorded} files were recorded until then and nothing was removed; sync it again once it is back",
        show(.path)
    )]
    Vanished {
        /// The path of the sync.
        path: PathBuf,
        /// How many files were recorded before.
        recorded: u64,
    },
    /// The path, without symbolic links and `..`, is below none of the roots.
    #[error(
        "{} is outside of the folders that may be synced ({}). Choose a path in one of them, or have the daemon started with --monitor-root for another one",
        show(.path),
        list(.roots)
    )]
    OutsideRoots {
        /// As it was given.
        path: PathBuf,
        /// The folders that may be synced.
        roots: Vec<PathBuf>,
    },
    /// It is a device, a socket or the like.
    #[error("{} is neither a file nor a folder. Choose one, or the folder that has it", show(.path))]
    NotFileOrFolder {
        /// As it was given.
        path: PathBuf,
    },
    /// The database cannot be opened, read or written.
    #[error(
        "the monitor's database {} cannot be used: {why}. Free space on the disk or make it writable, and sync again; what was recorded before is kept",
        show(.path)
    )]
    Storage {
        /// The database file.
        path: PathBuf,
        /// The error of the system or of SQLite.
        why: String,
    },
    /// It was told to stop.
    #[error(
        "the sync was cancelled. {recorded} files were recorded until then; sync again for the rest"
    )]
    Cancelled {
        /// How many files were recorded before.
        recorded: u64,
    },
}

impl SyncError {
    /// The error in a word, for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAbsolute { .. } => "not_absolute",
            Self::NotFound { .. } | Self::Vanished { .. } => "not_found",
            Self::OutsideRoots { .. } => "outside_roots",
            Self::NotFileOrFolder { .. } => "not_a_file_or_folder",
            Self::Storage { .. } => "storage_unavailable",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// The next step, which is the last sentence of the message. The search begins at the end, since a
    /// path can have a full stop and a space too.
    #[must_use]
    pub fn hint(&self) -> String {
        let text = self.to_string();
        match text.rsplit_once(". ") {
            Some((_, hint)) => format!("{hint}."),
            None => text,
        }
    }

    /// The subject of the error, as an object.
    #[must_use]
    pub fn details(&self) -> Value {
        match self {
            Self::NotAbsolute { path } | Self::NotFileOrFolder { path } => {
                json!({ "path": show(path) })
            }
            Self::NotFound { path, why } | Self::Storage { path, why } => {
                json!({ "path": show(path), "reason": why })
            }
            Self::Vanished { path, recorded } => {
                json!({ "path": show(path), "files_recorded": recorded })
            }
            Self::OutsideRoots { path, roots } => {
                let roots: Vec<_> = roots.iter().map(show).collect();
                json!({ "path": show(path), "roots": roots })
            }
            Self::Cancelled { recorded } => json!({ "files_recorded": recorded }),
        }
    }
}

fn list(roots: &[PathBuf]) -> String {
    roots.iter().map(show).collect::<Vec<_>>().join(", ")
}
