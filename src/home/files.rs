//! Files that exist whole or not at all, under names that mean the same on every file system.
//!
//! A file is written aside, synced and renamed, and then its folder is synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::os::{self, OpenOwnerOnly as _};
use crate::protocol::Timestamp;

/// The name of a file while it is written. Each folder has one writer, so one name is enough; the
/// next write replaces what a killed writer left.
pub(super) const ASIDE: &str = "writing";

/// The end of the year 9999, the last one that RFC 3339 can show.
const LAST_MICROS: u64 = 253_402_300_799_999_999;

/// The system's error for a file or folder.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl FileError {
    /// Adds this path to a system's error.
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path: path.clone(), source }
    }
}

/// The reason why a file cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is not UTF-8 or too large, as this says.
    Damaged(String),
    /// It is not there, or cannot be read.
    Io(FileError),
}

/// Encodes a name so that no file system takes it for another name or for a path: small letters,
/// digits, `-` and `_` stay, and every other byte becomes `%` and two hex digits. So does the first byte of
/// the name of a device.
pub(super) fn encode(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let is_device = os::is_device_name(name);
    let stays = |at: usize, b: u8| plain(b) && !(at == 0 && is_device);
    name.bytes()
        .enumerate()
        .map(|(at, b)| if stays(at, b) { char::from(b).to_string() } else { format!("%{b:02x}") })
        .collect()
}

/// Reverses [`encode`]; `None` for any other text.
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
    // Other spellings of the same bytes are refused, so that each name has one file.
    String::from_utf8(bytes).ok().filter(|name| encode(name) == file)
}

/// The moment `micros` µs after the Unix epoch, or the last one that can be shown.
pub(super) fn moment(micros: u64) -> Timestamp {
    Timestamp::from_unix_micros(micros.min(LAST_MICROS))
}

/// The endings of the journal's two redo logs, behind the name of its file.
pub(crate) const REDO_ENDINGS: [&str; 2] = ["-redo1", "-redo2"];

/// Renames a database of SQLite, and its logs and index with it: the ending `aside` follows the name.
/// Returns the new path of the file.
pub(crate) fn rename_database(path: &Path, aside: &str) -> io::Result<PathBuf> {
    let with = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    // These first: a new database would take the old log for its own.
    for suffix in ["-wal", "-shm"].into_iter().chain(REDO_ENDINGS) {
        match fs::rename(with(suffix), with(&format!("{aside}{suffix}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    fs::rename(path, with(aside))?;
    Ok(with(aside))
}

/// Renames a damaged database to the first free name of `….damaged-1`, `….damaged-2` and so on.
pub(crate) fn move_damaged_database(path: &Path) -> io::Result<PathBuf> {
    let taken = |aside: &String| {
        let mut name = path.as_os_str().to_owned();
        name.push(aside);
        PathBuf::from(name).exists()
    };
    let mut names = (1..).map(|number: u32| format!(".damaged-{number}"));
    let free = names.find(|aside| !taken(aside)).unwrap_or_default();
    rename_database(path, &free)
}

/// Makes a folder that only its owner can open, unless it is there.
pub(super) fn make_folder(folder: &Path) -> Result<(), FileError> {
    match os::create_folder(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(FileError { path: folder.to_owned(), source }),
    }
}

/// Puts a file in its place: whole and on the disk, or not at all.
pub(super) fn write(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let aside = folder.join(ASIDE);
    let written = write_aside(&aside, bytes).and_then(|()| os::replace_file(&aside, path));
    if let Err(source) = written {
        // The disk may be full. If this fails, the next write replaces the file.
        let _ = fs::remove_file(&aside);
        return Err(FileError { path: path.to_owned(), source });
    }
    sync_folder(folder)
}

fn write_aside(aside: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).open_owner_only(aside)?;
    file.write_all(bytes)?;
    // Before the rename: after a power failure the name must not lead to an empty file.
    file.sync_all()
}

/// Syncs a folder. Without this a new name may be lost in a power failure.
pub(super) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    os::sync_folder(folder).map_err(FileError::at(folder))
}

/// The text of a file, of at most `most` bytes.
pub(super) fn read_text(path: &Path, most: usize) -> Result<String, ReadError> {
    let io = FileError::at(path);
    let file = File::open(path).map_err(|source| ReadError::Io(io(source)))?;
    let mut text = String::new();
    // One byte more than allowed shows that there is more.
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

/// The paths in a folder, which need not exist.
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
