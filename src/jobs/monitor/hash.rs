//! Reads files and hashes them, several at once.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;

use super::disk::{Content, Disk, Stamp};
use super::progress::Gauge;
use super::walk::{Found, is_gone};

/// How much is read at once, in bytes.
const BUFFER: usize = 256 * 1024;

/// How many files a thread takes at once.
const CLAIM: usize = 64;

/// What became of a file that was to be read.
pub(super) struct Hashed {
    /// Which of the found files it is.
    pub(super) file: usize,
    pub(super) result: Result<(Stamp, Content), Failure>,
}

/// Why a file has no hash.
pub(super) enum Failure {
    /// It was deleted since it was found.
    Gone,
    /// It could not be read, for this reason.
    Unreadable(String),
    /// The sync was told to stop.
    Stopped,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if is_gone(&error) { Self::Gone } else { Self::Unreadable(error.to_string()) }
    }
}

/// Reads all files that were found, until the gauge stops or nobody receives any more.
pub(super) fn read_all(
    found: &Found,
    disk: &Disk,
    gauge: &Gauge,
    threads: usize,
    results: &SyncSender<Vec<Hashed>>,
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| read_some(found, disk, gauge, &next, results));
        }
    });
}

fn read_some(
    found: &Found,
    disk: &Disk,
    gauge: &Gauge,
    next: &AtomicUsize,
    results: &SyncSender<Vec<Hashed>>,
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
            Hashed { file, result }
        });
        if results.send(read.collect()).is_err() {
            return;
        }
    }
}

fn hash(
    disk: &Disk,
    gauge: &Gauge,
    path: &Path,
    buffer: &mut [u8],
) -> Result<(Stamp, Content), Failure> {
    if gauge.is_stopped() {
        return Err(Failure::Stopped);
    }
    let mut file = (disk.open)(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(Failure::Unreadable("it is not a regular file any more".to_owned()));
    }
    let before = Stamp::of(&about);
    let mut hasher = blake3::Hasher::new();
    // What is appended meanwhile is not read: then the size differs.
    while hasher.count() < before.size {
        let read = match (disk.read)(path, &mut file, buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Unreadable(error.to_string())),
        };
        hasher.update(&buffer[..read]);
        gauge.bytes_read(u64::try_from(read).unwrap_or(u64::MAX));
        if gauge.is_stopped() {
            return Err(Failure::Stopped);
        }
    }
    if hasher.count() != before.size || Stamp::of(&file.metadata()?) != before {
        return Err(Failure::Unreadable("it changed while it was read".to_owned()));
    }
    Ok((before, hasher.finalize().into()))
}
