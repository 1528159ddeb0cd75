//! Reads files and hashes them, several at once.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;

use super::disk::{ContentHash, DiskCalls, FileStamp};
use super::progress::SyncGauge;
use super::walk::{WalkFindings, is_gone};

/// How much is read at once, in bytes.
const BUFFER: usize = 256 * 1024;

/// How many files a thread takes at once.
const CLAIM: usize = 64;

/// The result of reading a file.
pub(super) struct HashResult {
    /// Which of the found files it is.
    pub(super) file: usize,
    pub(super) result: Result<(FileStamp, ContentHash), HashFailure>,
}

/// The reason why a file has no hash.
pub(super) enum HashFailure {
    /// It was deleted since it was found.
    Gone,
    /// It could not be read, for this reason.
    Unreadable(String),
    /// The sync was told to stop.
    Stopped,
}

impl From<io::Error> for HashFailure {
    fn from(error: io::Error) -> Self {
        if is_gone(&error) { Self::Gone } else { Self::Unreadable(error.to_string()) }
    }
}

/// Reads all files that were found, until the gauge stops or nobody receives any more.
pub(super) fn read_all(
    found: &WalkFindings,
    disk: &DiskCalls,
    gauge: &SyncGauge,
    threads: usize,
    results: &SyncSender<Vec<HashResult>>,
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| read_some(found, disk, gauge, &next, results));
        }
    });
}

fn read_some(
    found: &WalkFindings,
    disk: &DiskCalls,
    gauge: &SyncGauge,
    next: &AtomicUsize,
    results: &SyncSender<Vec<HashResult>>,
) {
    let mut buffer = vec![0; BUFFER];
    while !gauge.is_stopped() {
        let from = next.fetch_add(CLAIM, Ordering::Relaxed);
        let to = found.files.len().min(from + CLAIM);
        if from >= to {
            return;
        }
        let read = (from..to).map(|file| {
            let about = &found.files[file];
            let path = found.folders[about.folder].path.join(&about.name);
            let result = hash(disk, gauge, &path, &mut buffer);
            gauge.file_read();
            HashResult { file, result }
        });
        if results.send(read.collect()).is_err() {
            return;
        }
    }
}

fn hash(
    disk: &DiskCalls,
    gauge: &SyncGauge,
    path: &Path,
    buffer: &mut [u8],
) -> Result<(FileStamp, ContentHash), HashFailure> {
    if gauge.is_stopped() {
        return Err(HashFailure::Stopped);
    }
    let mut file = (disk.open)(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(HashFailure::Unreadable("it is not a regular file any more".to_owned()));
    }
    let before = FileStamp::of(&about);
    let mut hasher = blake3::Hasher::new();
    // Bytes that are appended meanwhile are not read; the size differs then, and the file is left out.
    while hasher.count() < before.size {
        let read = match (disk.read)(path, &mut file, buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(HashFailure::Unreadable(error.to_string())),
        };
        hasher.update(&buffer[..read]);
        gauge.bytes_read(u64::try_from(read).unwrap_or(u64::MAX));
        if gauge.is_stopped() {
            return Err(HashFailure::Stopped);
        }
    }
    if hasher.count() != before.size || FileStamp::of(&file.metadata()?) != before {
        return Err(HashFailure::Unreadable("it changed while it was read".to_owned()));
    }
    Ok((before, hasher.finalize().into()))
}
