//! The daemon's socket in the state directory. Bridge and command line of the same user reach the
//! daemon there: their token does not go over the loopback, whose ports any program can take.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::DaemonLock;
use crate::os::{self, AsyncUnixListener, FileIdentity, UnixListener, UnixStream};

/// The socket's name.
pub(super) const SOCKET: &str = "daemon.sock";

/// The longest path of a socket, in bytes. Systems end at 103 to 107.
pub const SOCKET_PATH_MAX: usize = 100;

/// Why there is no socket. A daemon listens on its port all the same.
#[derive(Debug, thiserror::Error)]
pub enum DaemonSocketError {
    /// The path does not fit into an address.
    #[error(
        "the path of the socket has {length} bytes and may have {SOCKET_PATH_MAX}: {path}. Choose a shorter path: TABWIRE_HOME names another state directory"
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// A link is in its place, which could lead anywhere.
    #[error("{0} is a link. Remove it, and run the command again")]
    Link(PathBuf),
    /// Another file is in its place.
    #[error("{0} is no socket. Move it away, and run the command again")]
    NoSocket(PathBuf),
    /// Another program answers there.
    #[error("another program listens on {0}. End it, and run the command again")]
    InUse(PathBuf),
    /// The system's error.
    #[error("cannot listen on {path}: {source}")]
    Io {
        /// The socket.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// A socket that listens. It takes its file away when it is dropped.
#[derive(Debug)]
pub struct DaemonSocket {
    listener: UnixListener,
    path: PathBuf,
    identity: FileIdentity,
}

/// The socket of a daemon that runs on the state directory `home`; `None`: there is none, or a file that
/// is not this user's own socket.
pub(crate) fn socket_in(home: &Path) -> Option<PathBuf> {
    let path = home.join(SOCKET);
    let found = fs::symlink_metadata(&path).ok()?;
    let is_ours = os::is_owner(&path, &found);
    (os::is_socket(found.file_type()) && is_ours && fits(&path)).then_some(path)
}

impl DaemonLock {
    /// Listens on the socket of the state directory.
    ///
    /// # Errors
    ///
    /// [`DaemonSocketError`]: nothing that is there was changed.
    pub fn listen(&self) -> Result<DaemonSocket, DaemonSocketError> {
        DaemonSocket::listen_at(self.socket_path())
    }
}

impl DaemonSocket {
    /// Listens on a socket in a directory that is closed to others.
    ///
    /// # Errors
    ///
    /// [`DaemonSocketError`]: nothing that is there was changed.
    pub(crate) fn listen_at(path: PathBuf) -> Result<Self, DaemonSocketError> {
        if !fits(&path) {
            let length = path.as_os_str().len();
            return Err(DaemonSocketError::PathTooLong { path, length });
        }
        remove_silent(&path)?;
        let io = |source| DaemonSocketError::Io { path: path.clone(), source };
        // The directory is closed to others, so nobody connects before the mode is set.
        let listener = UnixListener::bind(&path).map_err(io)?;
        let identity = identity(&path).map_err(io)?;
        let socket = Self { listener, path: path.clone(), identity };
        os::close_to_others(&path).map_err(io)?;
        socket.listener.set_nonblocking(true).map_err(io)?;
        Ok(socket)
    }

    /// The listener, for the runtime in which this is called. The file stays as long as the socket lives.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listener(&self) -> io::Result<AsyncUnixListener> {
        AsyncUnixListener::from_std(self.listener.try_clone()?)
    }
}

impl Drop for DaemonSocket {
    fn drop(&mut self) {
        // Another file may be in its place by now.
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes an old socket away on which nobody answers, and nothing else.
fn remove_silent(path: &Path) -> Result<(), DaemonSocketError> {
    let io = |source| DaemonSocketError::Io { path: path.to_owned(), source };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    if found.is_symlink() {
        return Err(DaemonSocketError::Link(path.to_owned()));
    }
    if !os::is_socket(found) {
        return Err(DaemonSocketError::NoSocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_answers) => Err(DaemonSocketError::InUse(path.to_owned())),
        // A daemon that was killed leaves its socket behind.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(io)
        }
        // A full backlog: somebody listens.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(DaemonSocketError::InUse(path.to_owned()))
        }
        Err(error) => Err(io(error)),
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= SOCKET_PATH_MAX
}

fn identity(path: &Path) -> io::Result<FileIdentity> {
    Ok(os::entry(path, &fs::symlink_metadata(path)?)?.identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::{StateDirectory, in_temporary};
    use crate::os::testing::{mode, private_folder, symlink};

    fn kind(error: &DaemonSocketError) -> &'static str {
        match error {
            DaemonSocketError::PathTooLong { .. } => "path",
            DaemonSocketError::Link(_) => "link",
            DaemonSocketError::NoSocket(_) => "file",
            DaemonSocketError::InUse(_) => "in use",
            DaemonSocketError::Io { .. } => "io",
        }
    }

    #[test]
    fn the_socket_is_its_users_alone_and_goes_with_the_daemon() {
        let (_dir, home) = in_temporary();
        let lock = home.try_lock_daemon().unwrap().unwrap();
        assert_eq!(socket_in(home.dir()), None);
        let socket = lock.listen().unwrap();
        let path = socket_in(home.dir()).unwrap();
        assert_eq!(mode(&path), 0o600);
        UnixStream::connect(&path).unwrap();
        drop(socket);
        assert!(!path.exists() && socket_in(home.dir()).is_none());
    }

    #[test]
    fn an_old_socket_goes_only_if_nobody_answers_and_a_link_or_file_never() {
        let (_dir, home) = in_temporary();
        let lock = home.try_lock_daemon().unwrap().unwrap();
        let path = home.dir().join(SOCKET);
        let answers = UnixListener::bind(&path).unwrap();
        assert_eq!(kind(&lock.listen().unwrap_err()), "in use");
        UnixStream::connect(&path).unwrap();
        drop(answers);
        drop(lock.listen().unwrap());
        fs::write(&path, "mine").unwrap();
        assert_eq!(kind(&lock.listen().unwrap_err()), "file");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(socket_in(home.dir()), None);
        let elsewhere = home.dir().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert_eq!(kind(&lock.listen().unwrap_err()), "link");
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink() && elsewhere.exists());
        assert_eq!(socket_in(home.dir()), None);
    }

    #[test]
    fn a_socket_that_another_program_has_put_in_its_place_stays() {
        let (_dir, home) = in_temporary();
        let lock = home.try_lock_daemon().unwrap().unwrap();
        let socket = lock.listen().unwrap();
        let path = socket_in(home.dir()).unwrap();
        fs::rename(&path, home.dir().join("moved")).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        drop(socket);
        assert!(path.exists());
    }

    #[test]
    fn a_path_of_100_bytes_has_a_socket_and_a_longer_one_is_refused_with_the_way_out() {
        let dir = private_folder();
        let base = dir.path().as_os_str().len() + 1 + 1 + SOCKET.len();
        for (length, fits) in [(SOCKET_PATH_MAX, true), (SOCKET_PATH_MAX + 1, false)] {
            let home = StateDirectory::open(&dir.path().join("x".repeat(length - base))).unwrap();
            let lock = home.try_lock_daemon().unwrap().unwrap();
            match lock.listen() {
                Ok(_) => assert!(fits, "{length}"),
                Err(error) => {
                    assert!(!fits && kind(&error) == "path", "{length}: {error}");
                    assert!(error.to_string().contains("TABWIRE_HOME"), "{error}");
                }
            }
        }
    }
}
