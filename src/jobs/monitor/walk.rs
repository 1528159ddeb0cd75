//! Looks for files and compares them with their rows: one folder at a time, several at once.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rusqlite::Connection;

use super::database::{self, DatabaseError, FileRow, MonitorDatabase};
use super::disk::{DiskCalls, FileStamp};
use super::progress::SyncGauge;
use super::roots::{SyncTarget, TargetKind};
use super::summary::SyncSummary;
use crate::os;

/// The parameters of a walk.
pub(super) struct FolderWalk<'a> {
    pub(super) target: &'a SyncTarget,
    pub(super) recursive: bool,
    pub(super) verify: bool,
    pub(super) store: &'a MonitorDatabase,
    pub(super) disk: &'a DiskCalls,
    pub(super) gauge: &'a SyncGauge,
    pub(super) threads: usize,
}

/// The results of a walk.
#[derive(Default)]
pub(super) struct WalkFindings {
    /// Folders with files to read.
    pub(super) folders: Vec<FoundFolder>,
    /// Files to read.
    pub(super) files: Vec<FileToRead>,
    /// Rows whose file is not there: the folder's number and the name.
    pub(super) vanished: Vec<(i64, OsString)>,
    /// The numbers of the folders that were looked at.
    pub(super) visited: HashSet<i64>,
    /// Folders that could not be listed: nothing is known of their content.
    pub(super) closed: Vec<PathBuf>,
    /// The summary so far.
    pub(super) summary: SyncSummary,
}

/// A folder, and its number if it has one.
pub(super) struct FoundFolder {
    pub(super) path: PathBuf,
    pub(super) id: Option<i64>,
}

/// A file to read.
pub(super) struct FileToRead {
    /// Which of the found folders it is in.
    pub(super) folder: usize,
    pub(super) name: OsString,
    /// Its size at that time, in bytes.
    pub(super) size: u64,
    /// Its record.
    pub(super) row: Option<FileRow>,
}

/// The entries of a folder.
#[derive(Default)]
struct FolderListing {
    /// Regular files by name. The stamp of a file may be unknown.
    files: Vec<(OsString, io::Result<FileStamp>)>,
    folders: Vec<PathBuf>,
    not_regular: u64,
    /// The error after which the list is incomplete.
    broken: Option<io::Error>,
}

impl FolderWalk<'_> {
    pub(super) fn run(&self) -> Result<WalkFindings, DatabaseError> {
        match self.target.kind {
            TargetKind::File => self.file(),
            TargetKind::Folder => self.folders(),
        }
    }

    fn file(&self) -> Result<WalkFindings, DatabaseError> {
        let mut found = WalkFindings::default();
        let path = &self.target.path;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(found);
        };
        let mut listing = FolderListing::default();
        match fs::symlink_metadata(path) {
            Err(error) if is_gone(&error) => {}
            about => {
                listing.files.push((name.to_owned(), about.map(|found| FileStamp::of(&found))))
            }
        }
        found.compare(self, &self.store.reader()?, folder, listing, Some(name))?;
        Ok(found)
    }

    fn folders(&self) -> Result<WalkFindings, DatabaseError> {
        let queue = FolderQueue::new(self.target.path.clone());
        let own = self.store.own_files();
        let own = own.as_ref().map(|(folder, name)| (folder.as_path(), *name));
        thread::scope(|scope| {
            let start = |_| scope.spawn(|| self.take_folders(&queue, own));
            let threads: Vec<_> = (0..self.threads).map(start).collect();
            let mut all = self.file_of_that_path()?;
            for thread in threads {
                let found = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                all.add(found?);
            }
            Ok(all)
        })
    }

    /// Looks for a row of a file in whose place a folder stands now.
    fn file_of_that_path(&self) -> Result<WalkFindings, DatabaseError> {
        let mut found = WalkFindings::default();
        if let (Some(folder), name @ Some(_)) =
            (self.target.path.parent(), self.target.path.file_name())
        {
            let connection = self.store.reader()?;
            found.compare(self, &connection, folder, FolderListing::default(), name)?;
        }
        Ok(found)
    }

    fn take_folders(
        &self,
        queue: &FolderQueue,
        own: Option<(&Path, &OsStr)>,
    ) -> Result<WalkFindings, DatabaseError> {
        // The sync fails, so the other threads need not go on.
        let connection = self.store.reader().inspect_err(|_| self.gauge.stop())?;
        let mut found = WalkFindings::default();
        while let Some(claimed) = queue.claim(self.gauge) {
            let Some(listing) = self.list(&claimed.path, own, &mut found) else { continue };
            if self.recursive {
                queue.add(&listing.folders);
            }
            let compared = found.compare(self, &connection, &claimed.path, listing, None);
            compared.inspect_err(|_| self.gauge.stop())?;
        }
        Ok(found)
    }

    /// The entries of a folder, unless it is gone or cannot be listed at all.
    fn list(
        &self,
        path: &Path,
        own: Option<(&Path, &OsStr)>,
        found: &mut WalkFindings,
    ) -> Option<FolderListing> {
        let entries = match (self.disk.list)(path) {
            Ok(entries) => entries,
            Err(error) if is_gone(&error) => return None,
            Err(error) => {
                found.close(path, &error);
                return None;
            }
        };
        let mut listing = FolderListing::default();
        let own = own.filter(|(folder, _)| *folder == path).map(|(_, name)| name);
        for entry in entries {
            if self.gauge.is_stopped() {
                break;
            }
            match entry {
                Ok(entry) => listing.add(&entry, own, self.gauge),
                Err(error) => listing.broken = Some(error),
            }
        }
        listing.files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Some(listing)
    }
}

impl FolderListing {
    fn add(&mut self, entry: &DirEntry, own: Option<&OsStr>, gauge: &SyncGauge) {
        let name = entry.file_name();
        match entry.file_type() {
            Err(error) if is_gone(&error) => {}
            Err(error) => self.broken = Some(error),
            Ok(kind) if kind.is_dir() => self.folders.push(entry.path()),
            Ok(kind) if kind.is_file() && own.is_some_and(|own| is_own(&name, own)) => {}
            Ok(kind) if kind.is_file() => match entry.metadata() {
                // Gone since the folder was listed, so it counts as not listed.
                Err(error) if is_gone(&error) => {}
                about => {
                    gauge.found();
                    self.files.push((name, about.map(|found| FileStamp::of(&found))));
                }
            },
            // To open a pipe or a device can block or act (decision 170).
            Ok(_) => self.not_regular += 1,
        }
    }
}

/// Whether the name is one of the database's own files: they change with every sync.
fn is_own(name: &OsStr, database: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(database.as_encoded_bytes());
    rest.is_some_and(|rest| matches!(rest, b"" | b"-wal" | b"-shm"))
}

/// Whether something was deleted, or replaced by something else, since its name was read.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl WalkFindings {
    fn close(&mut self, path: &Path, error: &io::Error) {
        self.closed.push(path.to_owned());
        self.summary.unreadable_folder(path, error.to_string());
    }

    /// Compares the content of a folder with its rows. Both are sorted by name, so one pass is enough.
    fn compare(
        &mut self,
        walk: &FolderWalk<'_>,
        connection: &Connection,
        path: &Path,
        listing: FolderListing,
        only: Option<&OsStr>,
    ) -> Result<(), DatabaseError> {
        self.summary.not_regular_skipped += listing.not_regular;
        if let Some(error) = &listing.broken {
            self.close(path, error);
        }
        let id = database::folder(connection, path)?;
        let at = self.folders.len();
        let before = self.files.len();
        let mut files = listing.files.into_iter().peekable();
        if let Some(id) = id {
            self.visited.insert(id);
            database::rows(connection, id, only, |name, row| {
                while let Some((name, stamp)) =
                    files.next_if(|file| file.0.as_encoded_bytes() < name)
                {
                    self.file(walk, (path, at), name, stamp, None);
                }
                match files.next_if(|file| file.0.as_encoded_bytes() == name) {
                    Some((name, stamp)) => self.file(walk, (path, at), name, stamp, Some(row)),
                    // An incomplete list does not show that a file is gone.
                    None if listing.broken.is_some() => {}
                    None => self.vanished.push((id, os::name_of_bytes(name))),
                }
            })?;
        }
        for (name, stamp) in files {
            self.file(walk, (path, at), name, stamp, None);
        }
        // Folders without a file to read are not needed any more.
        if self.files.len() > before {
            self.folders.push(FoundFolder { path: path.to_owned(), id });
        }
        Ok(())
    }

    fn file(
        &mut self,
        walk: &FolderWalk<'_>,
        (path, folder): (&Path, usize),
        name: OsString,
        stamp: io::Result<FileStamp>,
        row: Option<FileRow>,
    ) {
        match stamp {
            Err(error) => self.summary.unreadable_file(&path.join(name), error.to_string()),
            Ok(stamp) if !walk.verify && row.is_some_and(|row| row.stamp == stamp) => {
                self.summary.skipped_file();
            }
            Ok(stamp) => self.files.push(FileToRead { folder, name, size: stamp.size, row }),
        }
    }

    fn add(&mut self, other: Self) {
        // The other thread counted its folders from 0.
        let before = self.folders.len();
        let files = other.files.into_iter();
        self.files.extend(files.map(|file| FileToRead { folder: before + file.folder, ..file }));
        self.folders.extend(other.folders);
        self.vanished.extend(other.vanished);
        self.visited.extend(other.visited);
        self.closed.extend(other.closed);
        self.summary.add(other.summary);
    }
}

/// The folders that are still to be listed. The deepest come first, which keeps their number small.
struct FolderQueue {
    open: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    waiting: Vec<PathBuf>,
    /// How many folders are being listed. Each may add more, so the walk is not over before this is 0.
    claimed: usize,
}

/// A folder that is being listed, until this is dropped.
struct ClaimedFolder<'a> {
    path: PathBuf,
    queue: &'a FolderQueue,
}

impl FolderQueue {
    fn new(first: PathBuf) -> Self {
        Self {
            open: Mutex::new(QueueState { waiting: vec![first], claimed: 0 }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next folder, unless there can be none any more.
    fn claim(&self, gauge: &SyncGauge) -> Option<ClaimedFolder<'_>> {
        let mut open = self.lock();
        loop {
            if gauge.is_stopped() {
                return None;
            }
            if let Some(path) = open.waiting.pop() {
                open.claimed += 1;
                return Some(ClaimedFolder { path, queue: self });
            }
            // A folder that is being listed may still add more.
            if open.claimed == 0 {
                return None;
            }
            open = self.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, folders: &[PathBuf]) {
        if !folders.is_empty() {
            self.lock().waiting.extend_from_slice(folders);
            self.changed.notify_all();
        }
    }
}

impl Drop for ClaimedFolder<'_> {
    fn drop(&mut self) {
        self.queue.lock().claimed -= 1;
        self.queue.changed.notify_all();
    }
}
