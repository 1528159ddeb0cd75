//! Access to files and folders without following a link. Each folder is opened by its name in the one
//! before, so that a folder that is swapped for a link meanwhile is refused as well.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::os::{NoFollowError, NoFollowReason};

/// Opens a folder for lookups only. That needs no right to list it, which `/home` may refuse.
#[cfg(target_os = "linux")]
const LOOK_UP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK_UP: OFlags = OFlags::RDONLY;

const FOLDER: OFlags =
    LOOK_UP.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder. It stays the same one even if its name leads elsewhere by now.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    handle: OwnedFd,
    path: PathBuf,
}

impl FolderHandle {
    /// The folder of this absolute path, none of whose parts may be a link.
    pub(crate) fn of(path: &Path) -> Result<Self, NoFollowError> {
        let root = PathBuf::from("/");
        let handle = rustix::fs::open(&root, FOLDER, Mode::empty()).map_err(at(&root))?;
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            Component::RootDir
            | Component::CurDir
            | Component::ParentDir
            | Component::Prefix(_) => None,
        });
        names.into_iter().try_fold(Self { handle, path: root }, |folder, name| folder.enter(name))
    }

    /// The folder of this name in it.
    pub(crate) fn enter(self, name: &OsStr) -> Result<Self, NoFollowError> {
        let path = self.path.join(name);
        let handle = openat(&self.handle, name, FOLDER, Mode::empty()).map_err(at(&path))?;
        Ok(Self { handle, path })
    }

    /// The same, made for its owner alone if it is not there.
    pub(crate) fn make(self, name: &OsStr) -> Result<Self, NoFollowError> {
        match mkdirat(&self.handle, name, Mode::RWXU) {
            // If a link has that name, `enter` refuses it.
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(at(&self.path.join(name))(error)),
        }
    }

    /// Whether there is anything of this name in it, a link among them.
    pub(crate) fn holds(&self, name: &OsStr) -> Result<bool, NoFollowError> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(at(&self.path.join(name))(error)),
        }
    }

    /// Makes a new file that only its owner can read; whole, or it is gone again.
    pub(crate) fn create(&self, name: &OsStr, bytes: &[u8]) -> Result<(), NoFollowError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.path.join(name);
        let handle =
            openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR).map_err(at(&path))?;
        File::from(handle).write_all(bytes).map_err(|source| {
            // The disk may be full, and half a picture is of no use.
            let _ = unlinkat(&self.handle, name, AtFlags::empty());
            NoFollowError { path, reason: NoFollowReason::Other, source }
        })
    }

    /// Whether the entry of this name in it is a regular file or a link, which `open` refuses.
    pub(crate) fn has_file(&self, name: &OsStr) -> Result<bool, NoFollowError> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(at(&self.path.join(name)))?;
        let kind = FileType::from_raw_mode(found.st_mode);
        Ok(matches!(kind, FileType::RegularFile | FileType::Symlink))
    }

    /// Opens the file of this name in it for reading. It may be a pipe, a device or a folder.
    pub(crate) fn open(&self, name: &OsStr) -> Result<File, NoFollowError> {
        // `NONBLOCK`, since the open of a pipe would wait for its other end.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = openat(&self.handle, name, flags, Mode::empty());
        handle.map(File::from).map_err(at(&self.path.join(name)))
    }

    /// Whether a plain file of this name in it holds just these bytes.
    pub(crate) fn has(&self, name: &OsStr, bytes: &[u8]) -> bool {
        let Ok(file) = self.open(name) else { return false };
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_add(1);
        let mut found = Vec::new();
        is_file && file.take(most).read_to_end(&mut found).is_ok() && found == bytes
    }
}

fn at(path: &Path) -> impl Fn(Errno) -> NoFollowError {
    let path = path.to_owned();
    move |error| NoFollowError {
        path: path.clone(),
        reason: reason_of(error),
        source: error.into(),
    }
}

fn reason_of(error: Errno) -> NoFollowReason {
    match error {
        Errno::NOENT => NoFollowReason::NotFound,
        Errno::EXIST => NoFollowReason::Exists,
        // Systems report different errors for a link in place of a folder.
        Errno::LOOP | Errno::MLINK | Errno::NOTDIR => NoFollowReason::Link,
        Errno::NXIO => NoFollowReason::NotRegular,
        _ => NoFollowReason::Other,
    }
}
