//! The name of a place, and its socket at the far end.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::home::{DaemonSocket, DaemonSocketError, SOCKET_PATH_MAX, reach_folder};
use crate::os;
use crate::protocol::{PLACE_NAME_MAX, is_place_name};

/// How an agent on another machine is called at home: its owner has this name, and so has its socket there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlaceName(Box<str>);

/// A text that is no name of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a place has a name of 1 to {PLACE_NAME_MAX} letters a-z, digits and -. Name it with --name"
)]
pub struct PlaceNameError;

impl PlaceName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PlaceName {
    type Err = PlaceNameError;

    fn from_str(text: &str) -> Result<Self, PlaceNameError> {
        if is_place_name(text) { Ok(Self(text.into())) } else { Err(PlaceNameError) }
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an agent finds the browser's machine: by the name of its place, or by a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FarAddress {
    /// The place of this name.
    Place(PlaceName),
    /// The socket at this path.
    Socket(PathBuf),
}

/// The scheme of a socket's path.
const SOCKET_SCHEME: &str = "unix:";

/// A text that is no address of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "name a place as `tabwire reach` has it, with 1 to {PLACE_NAME_MAX} letters a-z, digits and -, or its socket as unix:/PATH, with {SOCKET_PATH_MAX} bytes at most"
)]
pub struct FarAddressError;

impl FromStr for FarAddress {
    type Err = FarAddressError;

    fn from_str(text: &str) -> Result<Self, FarAddressError> {
        match text.strip_prefix(SOCKET_SCHEME) {
            Some(path) if Path::new(path).is_absolute() && path.len() <= SOCKET_PATH_MAX => {
                Ok(Self::Socket(path.into()))
            }
            Some(_) => Err(FarAddressError),
            None => text.parse().map(Self::Place).map_err(|PlaceNameError| FarAddressError),
        }
    }
}

impl fmt::Display for FarAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => place.fmt(f),
            Self::Socket(path) => write!(f, "{SOCKET_SCHEME}{}", path.display()),
        }
    }
}

/// Why the far end has no socket.
#[derive(Debug, thiserror::Error)]
pub enum FarSocketError {
    /// Its folder cannot be made, or looked at.
    #[error("cannot use {path} for the socket: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its folder is a link, another user's, or open to others.
    #[error(
        "{0} must be a folder of your own that is closed to others. Run `chmod 700 {0}`, or move it away"
    )]
    OpenFolder(PathBuf),
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] DaemonSocketError),
}

/// The socket of a place on this machine, in its state directory.
#[must_use]
pub fn far_socket(state: &Path, place: &PlaceName) -> PathBuf {
    socket_of(state, place, &os::host_name())
}

/// The same on a machine of this name: a home directory may be on several machines.
fn socket_of(state: &Path, place: &PlaceName, host: &str) -> PathBuf {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '.';
    let host: String = host.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect();
    reach_folder(state).join(format!("{place}-{host}.sock"))
}

/// Listens on the socket of a place, in a folder that is closed to others.
///
/// # Errors
///
/// [`FarSocketError`]: nothing that is there was changed.
pub fn listen_far(path: &Path) -> Result<DaemonSocket, FarSocketError> {
    if let Some(folder) = path.parent() {
        let io = |source| FarSocketError::Folder { path: folder.to_owned(), source };
        os::create_folders(folder).map_err(io)?;
        let found = fs::symlink_metadata(folder).map_err(io)?;
        let is_ours = found.is_dir() && os::is_owner(folder, &found);
        if !is_ours || !os::is_closed_to_others(folder) {
            return Err(FarSocketError::OpenFolder(folder.to_owned()));
        }
    }
    Ok(DaemonSocket::listen_at(path.to_owned())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::{chmod, mode, symlink};

    fn place(name: &str) -> PlaceName {
        name.parse().unwrap()
    }

    #[test]
    fn the_name_of_a_place_is_short_plain_and_no_option() {
        for name in ["box", "a", "dev-2", &"a".repeat(40)] {
            assert_eq!(place(name).to_string(), name);
        }
        for wrong in ["", "Box", "a_b", "a.b", "a/b", "-o", "a b", "bäx", "..", &"a".repeat(41)] {
            assert_eq!(wrong.parse::<PlaceName>(), Err(PlaceNameError), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_a_name_or_the_whole_path_of_a_socket_that_fits() {
        for text in ["box", "unix:/run/dev/tabwire.sock"] {
            assert_eq!(text.parse::<FarAddress>().unwrap().to_string(), text);
        }
        let long = format!("unix:/{}", "x".repeat(SOCKET_PATH_MAX));
        for wrong in ["", "unix:", "unix:tabwire.sock", "/run/a.sock", "tcp:1", "Box", &long] {
            assert_eq!(wrong.parse::<FarAddress>(), Err(FarAddressError), "{wrong}");
        }
    }

    #[test]
    fn the_socket_of_a_place_is_named_after_it_and_its_machine_and_leads_nowhere_else() {
        let path = socket_of(Path::new("/home/ann/.local/state/tabwire"), &place("box"), "b-7.lan");
        assert_eq!(path, Path::new("/home/ann/.local/state/tabwire/reach/box-b-7.lan.sock"));
        let path = socket_of(Path::new("/s"), &place("box"), "../../etc");
        assert_eq!(path, Path::new("/s/reach/box-.._.._etc.sock"));
    }

    #[test]
    fn the_folder_of_the_socket_is_closed_and_an_open_one_or_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = far_socket(dir.path(), &place("box"));
        let folder = path.parent().unwrap();
        let socket = listen_far(&path).unwrap();
        assert_eq!((mode(&path), mode(folder)), (0o600, 0o700));
        assert!(matches!(
            listen_far(&path),
            Err(FarSocketError::Socket(DaemonSocketError::InUse(_)))
        ));
        drop(socket);
        assert!(!path.exists());
        chmod(folder, 0o750).unwrap();
        assert!(matches!(listen_far(&path), Err(FarSocketError::OpenFolder(_))));
        chmod(folder, 0o700).unwrap();
        symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(matches!(
            listen_far(&path),
            Err(FarSocketError::Socket(DaemonSocketError::Link(_)))
        ));
        let linked = dir.path().join("linked");
        symlink(folder, &linked).unwrap();
        assert!(matches!(listen_far(&linked.join("s")), Err(FarSocketError::OpenFolder(_))));
        let long = dir.path().join("a".repeat(100)).join("s");
        let error = listen_far(&long).unwrap_err();
        assert!(matches!(error, FarSocketError::Socket(DaemonSocketError::PathTooLong { .. })));
    }
}
