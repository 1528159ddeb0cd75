//! The files that agents use on this computer, below folders that a person opened: pictures that they
//! write, and files that they give to pages (`reading`).
//!
//! A name from an agent is untrusted. It is compared with the opened folders part by part, and the
//! file is created without following a link on the way ([`FolderHandle`]).

mod folders;
mod reading;

use std::io;
use std::path::{Component, Path, PathBuf};

use super::{StateDirectory, StateDirectoryError};
use crate::os::{self, FolderHandle, NoFollowError, NoFollowReason};
use crate::protocol::SavedFormat;
pub use folders::{AgentFolderError, AgentFolders, FolderAccess};
pub use reading::{ReadableFile, ReadableFileError};

/// The longest name that an agent can give, in bytes. Linux takes no longer path.
const NAME_MAX: usize = 4_096;

/// The folder that is open to agents by default. It is created with the first file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsualFolder {
    /// The directory that holds it, which is there: the home directory, or a state directory
    /// that was named by hand.
    pub base: PathBuf,
    /// Where it is below that.
    pub below: PathBuf,
}

/// Where agents may write files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    state: PathBuf,
    usual: UsualFolder,
}

/// The reason why a file is not written. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AgentFileError {
    /// The name is empty, too long, or has control characters.
    #[error("this is not a file name")]
    NoName,
    /// The name has a `..`.
    #[error("the name has a `..` in it")]
    Upwards,
    /// A part of the name begins with a dot: shells and desktops read such files unasked.
    #[error("a part of the name begins with a dot")]
    Dot,
    /// The file would lie outside of all open folders.
    #[error("the file would lie outside of the folders that are open to agents")]
    NotOpen,
    /// The name's ending does not fit the file's format.
    #[error("the name does not end in .{}", .0.endings().join(" or ."))]
    Ending(SavedFormat),
    /// The bytes are no picture, PDF, trace or HTTP archive.
    #[error("the browser did not send a file in a known format")]
    UnknownFormat,
    /// The file exists.
    #[error("the file exists already")]
    Exists,
    /// A folder on the way is a link or another kind of file.
    #[error("`{}` is a link or not a folder", .0.display())]
    Link(PathBuf),
    /// A folder on the way does not exist.
    #[error("the folder `{}` does not exist", .0.display())]
    NoFolder(PathBuf),
    /// The opened folders cannot be read.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The system reported an error.
    #[error("cannot write {}: {source}", .path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A file that an agent named, below an open folder.
#[derive(Debug, PartialEq, Eq)]
struct FileDestination {
    /// The folder that is open, without links.
    folder: OpenFolder,
    /// The folders between that and the file.
    between: Vec<String>,
    /// The file's name.
    name: String,
}

/// A folder that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OpenFolder {
    /// The usual one, which may not be there yet.
    Usual(UsualFolder),
    /// One that a person opened.
    Opened(PathBuf),
}

impl UsualFolder {
    /// Its path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// The same with the links in its base resolved: below the base no link is followed.
    fn resolved(&self) -> io::Result<Self> {
        Ok(Self { base: os::canonicalize(&self.base)?, below: self.below.clone() })
    }
}

impl OpenFolder {
    fn path(&self) -> PathBuf {
        match self {
            Self::Usual(usual) => usual.path(),
            Self::Opened(path) => path.clone(),
        }
    }

    fn enter(&self) -> Result<FolderHandle, NoFollowError> {
        match self {
            Self::Usual(usual) => {
                usual.below.components().try_fold(FolderHandle::of(&usual.base)?, |folder, part| {
                    folder.make(part.as_os_str())
                })
            }
            Self::Opened(path) => FolderHandle::of(path),
        }
    }
}

impl FileDestination {
    fn path(&self) -> PathBuf {
        let folder = self.between.iter().fold(self.folder.path(), |path, part| path.join(part));
        folder.join(&self.name)
    }

    /// The folder that the file goes to, reached without following a link.
    fn parent(&self) -> Result<FolderHandle, NoFollowError> {
        let enter = |folder: FolderHandle, part: &String| folder.enter(part.as_ref());
        self.between.iter().try_fold(self.folder.enter()?, enter)
    }
}

impl StateDirectory {
    /// Where agents may write files, with this folder open by itself.
    #[must_use]
    pub fn agent_files(&self, usual: UsualFolder) -> AgentFiles {
        AgentFiles { state: self.dir.clone(), usual }
    }
}

impl AgentFiles {
    /// The folder that is open by itself.
    #[must_use]
    pub fn usual(&self) -> PathBuf {
        self.usual.resolved().map_or_else(|_| self.usual.path(), |usual| usual.path())
    }

    /// All folders that are open for writing, the usual one first.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn open_folders(&self) -> Result<Vec<PathBuf>, StateDirectoryError> {
        let opened = folders::read(&self.state)?.write;
        Ok(std::iter::once(self.usual()).chain(opened).collect())
    }

    /// Checks that a new file of this name can be written. Returns its whole path.
    ///
    /// # Errors
    ///
    /// [`AgentFileError`].
    pub fn check(
        &self,
        name: &str,
        format: impl Into<SavedFormat>,
    ) -> Result<PathBuf, AgentFileError> {
        let destination = self.find(name, format.into())?;
        if destination.parent()?.holds(destination.name.as_ref())? {
            return Err(AgentFileError::Exists);
        }
        Ok(destination.path())
    }

    /// Writes a picture, a PDF or a trace to a new file. Returns its whole path. A file that holds the same
    /// bytes counts as written; any other file is left alone.
    ///
    /// # Errors
    ///
    /// [`AgentFileError`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, AgentFileError> {
        // The bytes decide on the ending: a browser could send a script and call it a picture.
        let format = SavedFormat::of_bytes(bytes).ok_or(AgentFileError::UnknownFormat)?;
        let destination = self.find(name, format)?;
        let parent = destination.parent()?;
        match parent.create(destination.name.as_ref(), bytes) {
            Ok(()) => Ok(destination.path()),
            Err(error) if error.is_there() => {
                let is_same = parent.has(destination.name.as_ref(), bytes);
                if is_same { Ok(destination.path()) } else { Err(AgentFileError::Exists) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Resolves a name. Reads no file but the list of opened folders.
    fn find(&self, name: &str, format: SavedFormat) -> Result<FileDestination, AgentFileError> {
        if name.is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) {
            return Err(AgentFileError::NoName);
        }
        let named = Path::new(name);
        if named.components().any(|part| part == Component::ParentDir) {
            return Err(AgentFileError::Upwards);
        }
        let (folder, below) = self.folder_of(named)?;
        let mut parts = Vec::new();
        for part in below.components() {
            match part {
                // The name is UTF-8, so each of its parts is.
                Component::Normal(part) => parts.extend(part.to_str().map(str::to_owned)),
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                    return Err(AgentFileError::NotOpen);
                }
            }
        }
        if parts.iter().any(|part| part.starts_with('.')) {
            return Err(AgentFileError::Dot);
        }
        let Some(name) = parts.pop() else { return Err(AgentFileError::NoName) };
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        if !ending.is_some_and(|ending| format.endings().contains(&ending.as_str())) {
            return Err(AgentFileError::Ending(format));
        }
        let destination = FileDestination { folder, between: parts, name };
        let is_usual = matches!(destination.folder, OpenFolder::Usual(_));
        // The state directory may have been moved into a folder that was opened before.
        let is_kept =
            |path: &Path| folders::is_kept_from_agents(&self.state, &self.usual.base, path);
        if !is_usual && is_kept(&destination.path())? {
            return Err(AgentFileError::NotOpen);
        }
        Ok(destination)
    }

    /// The open folder of a name, and the rest of the name below it. A relative name belongs to the
    /// usual folder.
    fn folder_of<'a>(&self, named: &'a Path) -> Result<(OpenFolder, &'a Path), AgentFileError> {
        let base = &self.usual.base;
        let usual = self
            .usual
            .resolved()
            .map_err(|source| AgentFileError::Io { path: base.clone(), source })?;
        if !named.is_absolute() {
            return Ok((OpenFolder::Usual(usual), named));
        }
        // An agent may name the folder with or without its links resolved.
        for path in [usual.path(), self.usual.path()] {
            if let Ok(below) = named.strip_prefix(&path) {
                return Ok((OpenFolder::Usual(usual), below));
            }
        }
        let opened = folders::read(&self.state)?.write;
        let found = opened.into_iter().find_map(|folder| {
            let below = named.strip_prefix(&folder).ok()?;
            Some((OpenFolder::Opened(folder), below))
        });
        found.ok_or(AgentFileError::NotOpen)
    }
}

impl AgentFileError {
    /// The next step for an agent, with the folders that are open.
    #[must_use]
    pub fn hint(&self, open: &[PathBuf]) -> String {
        let folders = open.iter().map(|path| format!("`{}`", path.display()));
        let folders = folders.collect::<Vec<_>>().join(", ");
        match self {
            Self::NotOpen | Self::NoFolder(_) => format!(
                "Give a file name alone, or a path in a folder that exists below {folders}. The \
                 person opens another folder with `tabwire files allow DIR --write`."
            ),
            Self::NoName | Self::Upwards | Self::Dot => {
                format!("Give a plain file name, or a path below {folders}.")
            }
            Self::Ending(_) => "Change the ending, or `format`.".to_owned(),
            Self::Exists => "Name a new file; nothing is overwritten.".to_owned(),
            Self::Link(_) => format!("Links are not followed. Name a folder below {folders}."),
            Self::UnknownFormat => "Take it again.".to_owned(),
            Self::Home(_) | Self::Io { .. } => "Ask the person to correct that.".to_owned(),
        }
    }
}

impl From<NoFollowError> for AgentFileError {
    fn from(NoFollowError { path, reason, source }: NoFollowError) -> Self {
        match reason {
            NoFollowReason::NotFound => Self::NoFolder(path),
            NoFollowReason::Link => Self::Link(path),
            NoFollowReason::Exists | NoFollowReason::NotRegular | NoFollowReason::Other => {
                Self::Io { path, source }
            }
        }
    }
}

#[cfg(test)]
mod tests;
