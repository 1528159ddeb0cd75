//! Files that agents give to pages: found below the folders that are open for reading, and opened
//! without following a link.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{AgentFiles, NAME_MAX, folders};
use crate::home::StateDirectoryError;
use crate::os::{self, FileEntry, FolderHandle, NoFollowError, NoFollowReason};

/// A file that an agent may give to a page, open for reading.
#[derive(Debug)]
pub struct ReadableFile {
    /// The open file: the same one even if its name leads elsewhere by now.
    pub file: File,
    /// Its name, without folders.
    pub name: String,
    /// Its path, without links.
    pub path: PathBuf,
    /// Its size and times when it was opened.
    pub metadata: Metadata,
    pub(in crate::home) entry: FileEntry,
}

/// The reason why a file is not opened for an agent.
#[derive(Debug, thiserror::Error)]
pub enum ReadableFileError {
    /// The path is not absolute, has control characters or a `..`, or is too long.
    #[error("this is not an absolute path without `..`")]
    NoPath,
    /// A part of the path begins with a dot: keys and settings are kept in such files.
    #[error("a part of the path begins with a dot")]
    Dot,
    /// The file lies where no file is given to pages, also if the person would allow it.
    #[error("files there are never given to pages")]
    Kept,
    /// The file lies outside of all folders that are open for reading, or in a closed one.
    #[error("no folder that is open to agents for reading holds the file")]
    NotOpen,
    /// The file, or a folder on the way, is a link, or a file is where a folder should be.
    #[error("`{}` is a link, or not a folder", .0.display())]
    Link(PathBuf),
    /// There is no file of this name.
    #[error("`{}` does not exist", .0.display())]
    NotFound(PathBuf),
    /// It is a folder, a pipe, a socket or a device.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file has another name, which may lie in a folder that is not open.
    #[error("`{}` has a second name elsewhere (a hard link)", .0.display())]
    SeveralNames(PathBuf),
    /// The opened folders cannot be read.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The system reported an error.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ReadableFile {
    /// Which file it is and when it was last changed, in a line.
    #[must_use]
    pub fn mark(&self) -> String {
        let (device, number) = self.entry.identity;
        let os::FileTimes { written, changed } = os::times(&self.metadata);
        format!(
            "{device}:{number}:{}:{}.{}:{}.{}",
            self.metadata.len(),
            written.0,
            written.1,
            changed.0,
            changed.1,
        )
    }
}

impl AgentFiles {
    /// The folders that are open for reading.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn readable_folders(&self) -> Result<Vec<PathBuf>, StateDirectoryError> {
        Ok(folders::read(&self.state)?.read)
    }

    /// Opens a file that an agent names. Follows no link, and opens only regular files with one
    /// name.
    ///
    /// # Errors
    ///
    /// [`ReadableFileError`].
    pub fn open_readable(&self, path: &str) -> Result<ReadableFile, ReadableFileError> {
        let (folder, names) = self.find_readable(path)?;
        open_below(folder, &names, path)
    }

    /// Opens a file that lies in no folder that is open for reading, for the person to be asked about
    /// it or because they have allowed it. The rules are those of [`AgentFiles::open_readable`] else.
    ///
    /// # Errors
    ///
    /// [`ReadableFileError`]; `Kept` where no word of the person opens a file.
    pub fn open_unruled(&self, path: &str) -> Result<ReadableFile, ReadableFileError> {
        let named = plain_path(path)?;
        if os::SYSTEM_FOLDERS.iter().any(|folder| named.starts_with(folder))
            || folders::is_kept_from_agents(&self.state, &self.usual.base, named)?
        {
            return Err(ReadableFileError::Kept);
        }
        let root = named.ancestors().last().unwrap_or(named);
        open_below(root.to_owned(), &names_in(named.strip_prefix(root).unwrap_or(named)), path)
    }

    /// The folder that is open for reading, and the names below it that lead to the file. Reads no
    /// file but the list of opened folders.
    fn find_readable(&self, path: &str) -> Result<(PathBuf, Vec<String>), ReadableFileError> {
        let named = plain_path(path)?;
        let open = self.readable_folders()?;
        let below = |folder: PathBuf| Some((named.strip_prefix(&folder).ok()?.to_owned(), folder));
        let (below, folder) = open.into_iter().find_map(below).ok_or(ReadableFileError::NotOpen)?;
        // The state directory may have been moved into a folder that was opened before.
        if folders::is_kept_from_agents(&self.state, &self.usual.base, named)? {
            return Err(ReadableFileError::NotOpen);
        }
        Ok((folder, names_in(&below)))
    }
}

/// A path as agents must name it: absolute, without `..`, and with no part that begins with a dot.
fn plain_path(path: &str) -> Result<&Path, ReadableFileError> {
    let named = Path::new(path);
    if path.len() > NAME_MAX
        || path.chars().any(char::is_control)
        || !named.is_absolute()
        || !named.components().all(|part| os::is_plain_part(&part))
    {
        return Err(ReadableFileError::NoPath);
    }
    if named.iter().any(|part| part.as_encoded_bytes().starts_with(b".")) {
        return Err(ReadableFileError::Dot);
    }
    Ok(named)
}

fn names_in(path: &Path) -> Vec<String> {
    path.iter().filter_map(|name| name.to_str().map(str::to_owned)).collect()
}

/// Opens the file to which these names lead from a folder, without following a link. `path`: the whole one.
fn open_below(
    folder: PathBuf,
    names: &[String],
    path: &str,
) -> Result<ReadableFile, ReadableFileError> {
    let Some((name, between)) = names.split_last() else {
        return Err(ReadableFileError::NotRegular(folder));
    };
    let folder = FolderHandle::of(&folder)?;
    let folder = between.iter().try_fold(folder, |folder, name| folder.enter(name.as_ref()))?;
    let path = PathBuf::from(path);
    // Before it is opened: the program at the other end of a pipe would notice.
    if !folder.has_file(name.as_ref())? {
        return Err(ReadableFileError::NotRegular(path));
    }
    let file = folder.open(name.as_ref())?;
    let io = |source| ReadableFileError::Io { path: path.clone(), source };
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(ReadableFileError::NotRegular(path));
    }
    // A hard link leads to a file elsewhere as a symbolic one does, and no path shows it.
    let entry = os::entry_of(&file, &metadata).map_err(io)?;
    if entry.names > 1 {
        return Err(ReadableFileError::SeveralNames(path));
    }
    Ok(ReadableFile { file, name: name.to_owned(), path, metadata, entry })
}

impl From<NoFollowError> for ReadableFileError {
    fn from(NoFollowError { path, reason, source }: NoFollowError) -> Self {
        match reason {
            NoFollowReason::NotFound => Self::NotFound(path),
            NoFollowReason::Link => Self::Link(path),
            NoFollowReason::NotRegular => Self::NotRegular(path),
            NoFollowReason::Exists | NoFollowReason::Other => Self::Io { path, source },
        }
    }
}
