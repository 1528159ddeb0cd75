//! The differences between operating systems: one vocabulary, with the same names for each system. No other
//! module asks which system it runs on, and a test enforces this.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

/// The operating systems, as far as other programs keep their files in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatingSystem {
    /// Linux, and systems that keep settings as Linux does.
    Linux,
    MacOs,
    Windows,
}

impl OperatingSystem {
    /// The one that this program was built for.
    pub(crate) const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// Who may use a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// This user, and the administrators of the computer.
    OwnerOnly,
    /// Others as well.
    Open {
        /// Its permissions, as the system names them.
        found: String,
        /// The command that closes it.
        remedy: String,
    },
    /// It is another user's.
    Foreign {
        /// That user, as the system names them.
        owner: String,
    },
}

/// The device and number of a file or folder: the same under all its names.
pub(crate) type FileIdentity = (u64, u64);

/// The entry of a file system that a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) identity: FileIdentity,
    /// How many names it has: more than one with hard links.
    pub(crate) names: u64,
}

/// The times of a file: seconds and nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileTimes {
    /// When its content was written.
    pub(crate) written: (i64, i64),
    /// When it was changed in any way. A program that sets `written` back changes this one.
    pub(crate) changed: (i64, i64),
}

/// Why a file or folder was not reached without following a link.
#[derive(Debug)]
pub(crate) struct NoFollowError {
    pub(crate) path: PathBuf,
    pub(crate) reason: NoFollowReason,
    pub(crate) source: io::Error,
}

/// The kinds of such errors, for which systems have different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFollowReason {
    /// It does not exist.
    NotFound,
    /// A new file has the name of one that exists.
    Exists,
    /// It is a link, or no folder where one should be.
    Link,
    /// It is a socket, or a device without a driver.
    NotRegular,
    /// Any other error.
    Other,
}

impl NoFollowError {
    /// Whether a file is not made because there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.reason == NoFollowReason::Exists
    }
}

/// The user of a process at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionOwner {
    /// This user.
    Own,
    /// The administrator, or the system itself: they could read this user's files anyway.
    Administrator,
    Another,
    /// The system does not tell.
    #[cfg_attr(unix, expect(dead_code, reason = "Linux tells each, and macOS none"))]
    Unknown,
}

/// The program that listens on a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortOwner {
    /// Its number and name, if the system tells.
    pub(crate) process: Option<(u32, String)>,
    /// Whether it is this user's.
    pub(crate) is_own: bool,
}

/// A request of the system, or of a person, to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// Ctrl+C.
    Interrupt,
    /// Any other: of `tabwire stop`, of a service manager, of a session that ends.
    Terminate,
}

/// Whether a path leads to a regular file or a folder of this user.
pub(crate) fn is_own(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| is_owner(path, &found))
}
