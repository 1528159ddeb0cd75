//! Files that are there whole or not at all, under names that mean the same on any file
//! system.
//!
//! A file is written aside, synced, renamed, and its folder is synced: then it counts.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::protocol::Timestamp;

/// A file on its way to its name. Each folder has one writer, so one name is enough; what a
/// killed writer left there is written over.
pub(super) const ASIDE: &str = "writing";

/// The end of the year 9999: what comes after it cannot be shown.
const LAST_MICROS: u64 = 253_402_300_799_999_999;

/// What the system said of a file or folder.
#[derive(Debug)]
pub(super) struct FileError {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

impl FileError {
    /// What makes one of an error, for this file or folder.
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path: path.clone(), source }
    }
}

/// Why a file gives no text.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It holds something else than was written: what is wrong with it.
    Damaged(String),
    /// It is not there, or cannot be read.
    Io(FileError),
}

/// The name of a file or folder that no file system takes for another one's or for a path:
/// small letters, digits, `-` and `_`; every other byte as `%` and two hex digits.
pub(super) fn encode(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    name.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02x}") })
        .collect()
}

/// The name that [`encode`] made this of, if it did.
pub(super) fn decode(file: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = file.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                (u8::from_str_radix(digits, 16).ok()?, after)
            }
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    // Only what `encode` makes: a name has one file.
    String::from_utf8(bytes).ok().filter(|name| encode(name) == file)
}

/// The moment `micros` µs after the Unix epoch, or the last one that can be shown.
pub(super) fn moment(micros: u64) -> Timestamp {
    Timestamp::from_unix_micros(micros.min(LAST_MICROS))
}

/// Makes a folder that only its owner can open, unless it is there.
pub(super) fn make_folder(folder: &Path) -> Result<(), FileError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(FileError { path: folder.to_owned(), source }),
    }
}

/// Puts a file in its place: whole and on the disk, or not at all.
pub(super) fn write(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let aside = folder.join(ASIDE);
    let written = write_aside(&aside, bytes).and_then(|()| fs::rename(&aside, path));
    if let Err(source) = written {
        // The room that it takes may be what is missing. What stays is written over.
        let _ = fs::remove_file(&aside);
        return Err(FileError { path: path.to_owned(), source });
    }
    sync_folder(folder)
}

fn write_aside(aside: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(aside)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Without this a new name may be gone after a power failure.
pub(super) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(FileError::at(folder))
}

/// The text of a file, of at most `most` bytes.
pub(super) fn read_text(path: &Path, most: usize) -> Result<String, ReadError> {
    let io = FileError::at(path);
    let file = File::open(path).map_err(|source| ReadError::Io(io(source)))?;
    let mut text = String::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    match file.take(limit).read_to_string(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(ReadError::Damaged(error.to_string()))
        }
        Err(source) => Err(ReadError::Io(io(source))),
        Ok(_) if text.len() > most => Err(ReadError::Damaged("it is too large".to_owned())),
        Ok(_) => Ok(text),
    }
}

/// What there is in a folder, which need not be there.
pub(super) fn paths_in(folder: &Path) -> Result<impl Iterator<Item = PathBuf> + use<>, FileError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(FileError { path: folder.to_owned(), source }),
    };
    Ok(entries.into_iter().flatten().flatten().map(|entry| entry.path()))
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn every_name_has_one_file_and_every_file_one_name(text in ".{0,24}", file in "[%a-f0-9A]{0,12}") {
            prop_assert_eq!(decode(&encode(&text)), Some(text.clone()));
            prop_assert!(encode(&text).len() <= 3 * text.len());
            if let Some(name) = decode(&file) {
                prop_assert_eq!(encode(&name), file);
            }
        }
    }
}
