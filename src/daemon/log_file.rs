//! The daemon's log in the state directory: readable by its owner only, and bounded.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::os::{self, OpenOwnerOnly as _};

/// The largest that one file of it gets, in bytes.
const LARGEST: u64 = 5 * 1024 * 1024;

/// How many files there are: the one that is written, and older ones.
const FILES: u32 = 3;

/// Writes `path`. A full file becomes `path.1`, the former `path.1` becomes `path.2`, and the
/// oldest is deleted.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    length: u64,
    largest: u64,
}

impl LogFile {
    /// Opens the log, and writes on where it ends.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_largest(path, LARGEST)
    }

    fn with_largest(path: &Path, largest: u64) -> io::Result<Self> {
        let file = open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, largest })
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..FILES - 1).rev() {
            rename(&numbered(&self.path, number), &numbered(&self.path, number + 1))?;
        }
        rename(&self.path, &numbered(&self.path, 1))?;
        self.file = open(&self.path)?;
        self.length = 0;
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        // A line longer than the limit still goes into a file of its own.
        if self.length > 0 && self.length.saturating_add(more) > self.largest {
            self.rotate()?;
        }
        let written = self.file.write(bytes)?;
        self.length += u64::try_from(written).unwrap_or(u64::MAX);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open_owner_only(path)?;
    // It may be there already, made by an older version or by hand.
    os::close_to_others(path)?;
    Ok(file)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::{chmod, mode};

    #[test]
    fn the_log_is_bounded_private_and_keeps_what_is_newest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        fs::write(&path, "").unwrap();
        chmod(&path, 0o644).unwrap();
        let mut log = LogFile::with_largest(&path, 100).unwrap();
        for number in 0..100 {
            log.write_all(format!("line {number:03}\n").as_bytes()).unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let files = [numbered(&path, 2), numbered(&path, 1), path.clone()];
        let all: String = files.iter().map(|path| read(path)).collect();
        assert!(all.ends_with("line 098\nline 099\n"), "{all}");
        assert!(all.starts_with("line 0"), "lines are whole: {all}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        for path in files {
            assert!(fs::metadata(&path).unwrap().len() <= 100, "{}", path.display());
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }

    #[test]
    fn a_daemon_that_starts_again_writes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        for line in ["first\n", "second\n"] {
            LogFile::with_largest(&path, 100).unwrap().write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "first\nsecond\n");
    }
}
