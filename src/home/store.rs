//! The values that agents store: JSON by name, a folder for each owner, a file for each value.
//!
//! Once a call has returned, its value survives a power failure. An interrupted write leaves the
//! former value.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde_json::value::RawValue;

use super::StateDirectory;
use super::files::{
    FileError, ReadError, decode, encode, make_folder, moment, paths_in, read_text, sync_folder,
    write,
};
pub use crate::protocol::NAME_MAX;
use crate::protocol::{Owner, Timestamp, check_name};

/// The largest value, in bytes of JSON: a call that stores it must fit into a request.
pub const VALUE_MAX: usize = 512 * 1024;

/// How many values an owner can have: a list of all fits into one answer.
pub const VALUES_MAX: usize = 256;

const EXTENSION: &str = "json";

/// The values of all owners. Clones are cheap and write one after another. The functions block on
/// the disk.
#[derive(Clone, Debug)]
pub struct ValueStore {
    dir: PathBuf,
    writing: Arc<Mutex<()>>,
}

/// The name of a value, for which [`check_name`] holds. `Login` and `login` are two names on every
/// file system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueName(String);

/// A value's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// Its name.
    pub name: ValueName,
    /// How many bytes of JSON it has.
    pub size: u64,
    /// When it was stored.
    pub at: Timestamp,
}

/// The reason why nothing was stored, loaded, listed or deleted.
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
    /// Another program has changed its file.
    #[error("{} does not hold what was stored: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error in it.
        why: String,
    },
    /// The disk is full, cannot be written or cannot be read.
    #[error(transparent)]
    Io(#[from] FileError),
}

impl ValueName {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// The reason from [`check_name`].
    pub fn parse(name: &str) -> Result<Self, String> {
        check_name(name)?;
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

impl StateDirectory {
    /// The values in this directory.
    #[must_use]
    pub fn store(&self) -> ValueStore {
        ValueStore { dir: self.dir.join("store"), writing: Arc::default() }
    }
}

impl ValueStore {
    /// Stores a value. Replaces the one with the same name.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`], [`StoreError::Full`], [`StoreError::Io`]. The former value remains,
    /// unless only the sync of the folder failed.
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
        let is_new = !path.try_exists().map_err(FileError::at(&path))?;
        // A value that is replaced takes no further place.
        if is_new && names(&folder)?.count() >= VALUES_MAX {
            return Err(StoreError::Full);
        }
        Ok(write(&folder, &path, value.get().as_bytes())?)
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
        let about = describe(&path, name.clone())?;
        let damaged = |why: String| StoreError::Damaged { path: path.clone(), why };
        let text = read_text(&path, VALUE_MAX).map_err(|error| match error {
            ReadError::Damaged(why) => damaged(why),
            ReadError::Io(error) => missing_or_io(&path, name)(error.source),
        })?;
        let value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        Ok((about, value))
    }

    /// All values, by name.
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
                // It was deleted since the folder was listed.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        values.sort_unstable_by(|a, b| a.name.cmp(&b.name));
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
        Ok(sync_folder(&folder)?)
    }

    fn folder(&self, owner: &Owner) -> PathBuf {
        self.dir.join(encode(owner.as_str()))
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this is the file of a value.
pub(super) fn is_own_file(path: &Path) -> bool {
    ValueName::of_file(path).is_some()
}

/// The names of the values in a folder, which need not be there.
fn names(folder: &Path) -> Result<impl Iterator<Item = ValueName>, StoreError> {
    Ok(paths_in(folder)?.filter_map(|path| ValueName::of_file(&path)))
}

fn describe(path: &Path, name: ValueName) -> Result<StoredValue, StoreError> {
    let found = fs::metadata(path).map_err(missing_or_io(path, &name))?;
    let modified = found.modified().map_err(FileError::at(path))?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
    Ok(StoredValue { name, size: found.len(), at: moment(micros) })
}

fn missing_or_io(path: &Path, name: &ValueName) -> impl Fn(io::Error) -> StoreError {
    let (path, name) = (path.to_owned(), name.clone());
    move |source| {
        if source.kind() == io::ErrorKind::NotFound {
            StoreError::NotFound { name: name.clone() }
        } else {
            StoreError::Io(FileError { path: path.clone(), source })
        }
    }
}

#[cfg(test)]
mod tests;
