//! The file system as a sync uses it. These are the only calls that go to files and folders,
//! so a test can make any of them fail or wait.

use std::fs::{self, File, Metadata, ReadDir};
use std::io::{self, Read as _};
use std::path::Path;

use crate::os;

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
            open: Box::new(os::open_regular),
            read: Box::new(|_, file, buffer| file.read(buffer)),
        }
    }
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
        let (seconds, rest) = os::times(found).written;
        let ns = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self { size: found.len(), mtime_ns: ns }
    }
}

/// The content of a file: its BLAKE3.
pub(super) type ContentHash = [u8; blake3::OUT_LEN];
