//! Access to files and folders without following a link. Each folder on the way is kept open, and Windows
//! renames no folder in which one is open: so none can be swapped for a link meanwhile.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DEVICE, FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES, FILE_SHARE_READ, FILE_SHARE_WRITE,
};

use crate::os::{NoFollowError, NoFollowReason};

/// An open folder. It stays the same one even if its name leads elsewhere by now.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    /// The folder, and those above it.
    _opened: Vec<File>,
    path: PathBuf,
}

impl FolderHandle {
    /// The folder of this absolute path, none of whose parts may be a link.
    pub(crate) fn of(path: &Path) -> Result<Self, NoFollowError> {
        let root = path.ancestors().last().unwrap_or(path).to_owned();
        let opened = vec![open_folder(&root)?];
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            Component::RootDir
            | Component::CurDir
            | Component::ParentDir
            | Component::Prefix(_) => None,
        });
        let start = Self { _opened: opened, path: root };
        names.into_iter().try_fold(start, |folder, name| folder.enter(name))
    }

    /// The folder of this name in it.
    pub(crate) fn enter(mut self, name: &OsStr) -> Result<Self, NoFollowError> {
        let path = self.at(name)?;
        self._opened.push(open_folder(&path)?);
        Ok(Self { path, ..self })
    }

    /// The same, made for its owner alone if it is not there.
    pub(crate) fn make(self, name: &OsStr) -> Result<Self, NoFollowError> {
        let path = self.at(name)?;
        match super::create_folder(&path) {
            // If a link has that name, `enter` refuses it.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(at(&path)(error)),
            Ok(()) | Err(_) => self.enter(name),
        }
    }

    /// Whether there is anything of this name in it, a link among them.
    pub(crate) fn holds(&self, name: &OsStr) -> Result<bool, NoFollowError> {
        let path = self.at(name)?;
        match fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// Makes a new file that only its owner can read; whole, or it is gone again.
    pub(crate) fn create(&self, name: &OsStr, bytes: &[u8]) -> Result<(), NoFollowError> {
        let path = self.at(name)?;
        let mut file = super::create_owner_only(&path).map_err(at(&path))?;
        file.write_all(bytes).map_err(|source| {
            // The disk may be full, and half a picture is of no use.
            let _ = fs::remove_file(&path);
            at(&path)(source)
        })
    }

    /// Whether the entry of this name in it is a regular file or a link, which `open` refuses.
    pub(crate) fn has_file(&self, name: &OsStr) -> Result<bool, NoFollowError> {
        let path = self.at(name)?;
        let found = fs::symlink_metadata(&path).map_err(at(&path))?;
        Ok(found.is_file() || is_link(&found))
    }

    /// Opens the file of this name in it for reading. It may be a folder.
    pub(crate) fn open(&self, name: &OsStr) -> Result<File, NoFollowError> {
        let path = self.at(name)?;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
            .open(&path)
            .map_err(at(&path))?;
        refuse_link(&path, &file)?;
        Ok(file)
    }

    /// Whether a plain file of this name in it holds just these bytes.
    pub(crate) fn has(&self, name: &OsStr, bytes: &[u8]) -> bool {
        let Ok(file) = self.open(name) else { return false };
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_add(1);
        let mut found = Vec::new();
        is_file && file.take(most).read_to_end(&mut found).is_ok() && found == bytes
    }

    /// The path of this name in it. A name that means something else to Windows is refused.
    fn at(&self, name: &OsStr) -> Result<PathBuf, NoFollowError> {
        let path = self.path.join(name);
        if super::is_plain_part(&Component::Normal(name)) {
            return Ok(path);
        }
        let source = io::ErrorKind::InvalidFilename.into();
        Err(NoFollowError { path, reason: NoFollowReason::NotRegular, source })
    }
}

fn open_folder(path: &Path) -> Result<File, NoFollowError> {
    let folder = OpenOptions::new()
        .access_mode(FILE_READ_ATTRIBUTES)
        // Nobody may rename or remove it meanwhile.
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
        .map_err(at(path))?;
    let found = refuse_link(path, &folder)?;
    if found.is_dir() {
        return Ok(folder);
    }
    let source = io::ErrorKind::NotADirectory.into();
    Err(NoFollowError { path: path.to_owned(), reason: NoFollowReason::Link, source })
}

fn refuse_link(path: &Path, file: &File) -> Result<Metadata, NoFollowError> {
    let found = file.metadata().map_err(at(path))?;
    let refuse = |reason| {
        let source = io::ErrorKind::Unsupported.into();
        Err(NoFollowError { path: path.to_owned(), reason, source })
    };
    if is_link(&found) {
        return refuse(NoFollowReason::Link);
    }
    if found.file_attributes() & FILE_ATTRIBUTE_DEVICE != 0 {
        return refuse(NoFollowReason::NotRegular);
    }
    Ok(found)
}

/// Whether it is a link, a junction, or another file whose content lies elsewhere.
fn is_link(found: &Metadata) -> bool {
    found.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0
}

fn at(path: &Path) -> impl Fn(io::Error) -> NoFollowError {
    let path = path.to_owned();
    move |source| {
        let reasons = [
            (io::ErrorKind::NotFound, NoFollowReason::NotFound),
            (io::ErrorKind::AlreadyExists, NoFollowReason::Exists),
            (io::ErrorKind::NotADirectory, NoFollowReason::Link),
        ];
        let known = reasons.into_iter().find(|(kind, _)| *kind == source.kind());
        let reason = known.map_or(NoFollowReason::Other, |(_, reason)| reason);
        NoFollowError { path: path.clone(), reason, source }
    }
}
