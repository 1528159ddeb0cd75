//! What agents store: JSON by name, a file each, a folder for each owner.
//!
//! A value is there once its call has returned, whatever happens to the machine, and a
//! write that was interrupted leaves the value that was there before.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde_json::value::RawValue;

use super::Home;
use crate::protocol::{Moment, Owner};

/// The longest name, in bytes of UTF-8: encoded it still fits into a file's name.
pub const NAME_MAX: usize = 64;

/// The largest value, in bytes of JSON: a call that stores it must fit into a request.
pub const VALUE_MAX: usize = 512 * 1024;

/// How many values an owner can have: a list of all fits into one answer.
pub const VALUES_MAX: usize = 256;

/// The end of the year 9999: what comes after it cannot be shown.
const LAST_MICROS: u64 = 253_402_300_799_999_999;

const EXTENSION: &str = "json";

/// A value on its way to its name. There is one writer, so one name is enough; what a
/// killed writer left there is written over.
const ASIDE: &str = "writing";

/// The values of all owners. Cheap to clone; all clones write one after another. Its
/// functions wait for the disk.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    writing: Arc<Mutex<()>>,
}

/// The name of a value: 1 to [`NAME_MAX`] bytes without control characters, and no space
/// at either end. `Login` and `login` are two, on any file system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueName(String);

/// A value's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// What it is called.
    pub name: ValueName,
    /// How many bytes of JSON it has.
    pub size: u64,
    /// When it was stored.
    pub at: Moment,
}

/// Why nothing was stored, loaded, listed or deleted.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The value is too large.
    #[error("the value has {size} bytes; at most {VALUE_MAX} are stored under one name")]
    TooLarge {
        /// Its size.
        size: usize,
    },
    /// There are too many values.
    #[error("there are {VALUES_MAX} names already")]
    Full,
    /// There is no value of that name.
    #[error("nothing is stored under `{}`", .name.as_str())]
    NotFound {
        /// The name.
        name: ValueName,
    },
    /// Somebody else has written its file.
    #[error("{} does not hold what was stored: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The disk is full, cannot be written or cannot be read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ValueName {
    /// The name, if it can be one; else what is wrong with it.
    ///
    /// # Errors
    ///
    /// A sentence for the caller.
    pub fn parse(name: &str) -> Result<Self, String> {
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(format!("a name has 1 to {NAME_MAX} bytes, this one {}", name.len()));
        }
        if name.chars().any(char::is_control) {
            return Err("a name has no control characters".to_owned());
        }
        if name.trim() != name {
            return Err("a name neither begins nor ends with a space".to_owned());
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as the caller gave it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn file(&self) -> String {
        format!("{}.{EXTENSION}", encode(&self.0))
    }

    fn of_file(path: &Path) -> Option<Self> {
        if path.extension()? != EXTENSION {
            return None;
        }
        Self::parse(&decode(path.file_stem()?.to_str()?)?).ok()
    }
}

/// The name of a file or folder that no file system takes for another one's or for a path:
/// small letters, digits, `-` and `_`; every other byte as `%` and two hex digits.
fn encode(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    name.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02x}") })
        .collect()
}

fn decode(file: &str) -> Option<String> {
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
    // Only what `encode` makes: a value has one file.
    String::from_utf8(bytes).ok().filter(|name| encode(name) == file)
}

impl Home {
    /// What agents store in this directory.
    #[must_use]
    pub fn store(&self) -> Store {
        Store { dir: self.dir.join("store"), writing: Arc::default() }
    }
}

impl Store {
    /// Stores a value, in place of the one of that name if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`], [`StoreError::Full`], [`StoreError::Io`]. Unless the folder
    /// could not be synced, what was there before still is.
    pub fn store(
        &self,
        owner: &Owner,
        name: &ValueName,
        value: &RawValue,
    ) -> Result<(), StoreError> {
        let size = value.get().len();
        if size > VALUE_MAX {
            return Err(StoreError::TooLarge { size });
        }
        let _turn = self.turn();
        let folder = self.folder(owner);
        make_folder(&self.dir)?;
        make_folder(&folder)?;
        let path = folder.join(name.file());
        let is_new = !path.try_exists().map_err(io_error(&path))?;
        if is_new && names(&folder)?.count() >= VALUES_MAX {
            return Err(StoreError::Full);
        }
        write(&folder, &path, value.get().as_bytes())
    }

    /// The value of that name.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn load(
        &self,
        owner: &Owner,
        name: &ValueName,
    ) -> Result<(StoredValue, Box<RawValue>), StoreError> {
        let path = self.folder(owner).join(name.file());
        let file = File::open(&path).map_err(missing_or_io(&path, name))?;
        let about = describe(&path, name.clone())?;
        let mut text = String::new();
        let damaged = |why: String| StoreError::Damaged { path: path.clone(), why };
        let most = u64::try_from(VALUE_MAX).unwrap_or(u64::MAX);
        match file.take(most + 1).read_to_string(&mut text) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(damaged(error.to_string()));
            }
            Err(source) => return Err(StoreError::Io { path: path.clone(), source }),
            Ok(_) if text.len() > VALUE_MAX => return Err(damaged("it is too large".to_owned())),
            Ok(_) => {}
        }
        let value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        Ok((about, value))
    }

    /// What there is, by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn list(&self, owner: &Owner) -> Result<Vec<StoredValue>, StoreError> {
        let folder = self.folder(owner);
        let mut values = Vec::new();
        for name in names(&folder)? {
            match describe(&folder.join(name.file()), name) {
                Ok(value) => values.push(value),
                // Deleted in the meantime.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        values.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(values)
    }

    /// Deletes the value of that name.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Io`].
    pub fn delete(&self, owner: &Owner, name: &ValueName) -> Result<(), StoreError> {
        let _turn = self.turn();
        let folder = self.folder(owner);
        let path = folder.join(name.file());
        fs::remove_file(&path).map_err(missing_or_io(&path, name))?;
        sync_folder(&folder)
    }

    fn folder(&self, owner: &Owner) -> PathBuf {
        self.dir.join(encode(owner.as_str()))
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a folder that only its owner can open, unless it is there.
fn make_folder(folder: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::Io { path: folder.to_owned(), source }),
    }
}

/// Puts a file in its place: whole and on the disk, or not at all.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let aside = folder.join(ASIDE);
    let written = write_aside(&aside, bytes).and_then(|()| fs::rename(&aside, path));
    if let Err(source) = written {
        // The room that it takes may be what is missing. What stays is written over.
        let _ = fs::remove_file(&aside);
        return Err(StoreError::Io { path: path.to_owned(), source });
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
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(io_error(folder))
}

/// The names of the values in a folder, which need not be there.
fn names(folder: &Path) -> Result<impl Iterator<Item = ValueName>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(StoreError::Io { path: folder.to_owned(), source }),
    };
    let entries = entries.into_iter().flatten().flatten();
    Ok(entries.filter_map(|entry| ValueName::of_file(&entry.path())))
}

fn describe(path: &Path, name: ValueName) -> Result<StoredValue, StoreError> {
    let found = fs::metadata(path).map_err(missing_or_io(path, &name))?;
    let modified = found.modified().map_err(io_error(path))?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX).min(LAST_MICROS);
    Ok(StoredValue { name, size: found.len(), at: Moment::from_unix_micros(micros) })
}

fn missing_or_io(path: &Path, name: &ValueName) -> impl Fn(io::Error) -> StoreError {
    let (path, name) = (path.to_owned(), name.clone());
    move |source| {
        if source.kind() == io::ErrorKind::NotFound {
            StoreError::NotFound { name: name.clone() }
        } else {
            StoreError::Io { path: path.clone(), source }
        }
    }
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests;
