//! The file system as a sync uses it. These are the only calls that go to files and folders,
//! so a test can make any of them fail or wait.

use std::fs::{self, File, Metadata, OpenOptions, ReadDir};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

type PathCall<T> = Box<dyn Fn(&Path) -> io::Result<T> + Send + Sync>;

/// Reads on from a file, which has this path.
type ReadCall = Box<dyn Fn(&Path, &mut File, &mut [u8]) -> io::Result<usize> + Send + Sync>;

/// How files and folders are read.
pub(super) struct DiskCalls {
    pub(super) list: PathCall<ReadDir>,
    pub(super) open: PathCall<File>,
    pub(super) read: ReadCall,
}

impl Default for DiskCalls {
    fn default() -> Self {
        Self {
            list: Box::new(|path| fs::read_dir(path)),
            open: Box::new(open),
            read: Box::new(|_, file, buffer| file.read(buffer)),
        }
    }
}

/// Opens a file that was a regular one a moment ago. It neither follows a link nor waits for a pipe
/// that has taken the file's place.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Size and time of a file, which show a change without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    /// In bytes.
    pub(super) size: u64,
    /// When it was modified, in ns since the Unix epoch.
    pub(super) mtime_ns: i64,
}

impl FileStamp {
    /// Times beyond the years 1677 to 2262 are taken for those.
    pub(super) fn of(found: &Metadata) -> Self {
        let ns = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Self { size: found.len(), mtime_ns: ns }
    }
}

/// The content of a file: its BLAKE3.
pub(super) type ContentHash = [u8; blake3::OUT_LEN];
