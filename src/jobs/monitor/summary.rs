//! The summary of a sync, and paths as text.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

/// How many of the files and folders that could not be read are listed.
pub const UNREADABLE_LISTED: usize = 100;

/// The summary of a sync. `files_processed` is `files_skipped`, `files_updated` and
/// `files_unreadable` together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SyncSummary {
    /// Regular files that were found.
    pub files_processed: u64,
    /// Those with the recorded size and modification time, or with the recorded content.
    pub files_skipped: u64,
    /// New and changed ones.
    pub files_updated: u64,
    /// Those that had no row.
    pub files_new: u64,
    /// Those with other content than recorded.
    pub files_changed: u64,
    /// Rows that were removed because their file has vanished.
    pub files_removed: u64,
    /// Files that could not be read, or changed while they were read.
    pub files_unreadable: u64,
    /// Folders that could not be listed, or not to their end.
    pub folders_unreadable: u64,
    /// Symbolic links, sockets, devices and the like: not followed, never opened.
    pub not_regular_skipped: u64,
    /// How many bytes were read.
    pub bytes_hashed: u64,
    /// How long it took, without the wait for other syncs.
    pub duration_seconds: f64,
    /// Files and folders that could not be read: the first [`UNREADABLE_LISTED`].
    pub unreadable: Vec<UnreadablePath>,
    /// The new path of a damaged database: this sync began a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_moved_to: Option<PathBuf>,
}

/// A file or folder that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadablePath {
    /// Its path; bytes that are not UTF-8 as `\xNN`.
    pub path: String,
    /// What the system said.
    pub reason: String,
}

impl SyncSummary {
    pub(super) fn skipped_file(&mut self) {
        self.files_processed += 1;
        self.files_skipped += 1;
    }

    pub(super) fn updated_file(&mut self, is_new: bool) {
        self.files_processed += 1;
        self.files_updated += 1;
        *(if is_new { &mut self.files_new } else { &mut self.files_changed }) += 1;
    }

    pub(super) fn unreadable_file(&mut self, path: &Path, reason: String) {
        self.files_processed += 1;
        self.files_unreadable += 1;
        self.list(path, reason);
    }

    pub(super) fn unreadable_folder(&mut self, path: &Path, reason: String) {
        self.folders_unreadable += 1;
        self.list(path, reason);
    }

    fn list(&mut self, path: &Path, reason: String) {
        if self.unreadable.len() < UNREADABLE_LISTED {
            self.unreadable.push(UnreadablePath { path: show(path), reason });
        }
    }

    /// Adds the findings of another thread.
    pub(super) fn add(&mut self, other: Self) {
        self.files_processed += other.files_processed;
        self.files_skipped += other.files_skipped;
        self.files_updated += other.files_updated;
        self.files_new += other.files_new;
        self.files_changed += other.files_changed;
        self.files_removed += other.files_removed;
        self.files_unreadable += other.files_unreadable;
        self.folders_unreadable += other.folders_unreadable;
        self.not_regular_skipped += other.not_regular_skipped;
        self.bytes_hashed += other.bytes_hashed;
        let room = UNREADABLE_LISTED - self.unreadable.len();
        self.unreadable.extend(other.unreadable.into_iter().take(room));
    }
}

/// A path as text: bytes that are not UTF-8 as `\xNN`.
pub(super) fn show(path: impl AsRef<OsStr>) -> String {
    let mut text = String::new();
    for chunk in path.as_ref().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}
