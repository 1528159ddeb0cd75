//! Whose process is at the other end of a connection.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Uid, geteuid};
use tokio::net::{TcpSocket, UnixStream};

#[cfg(target_os = "linux")]
use super::sock_diag::SockDiagClient;
use crate::os::ConnectionOwner;

/// Prepares a socket that will listen. A daemon that was just ended leaves connections behind that would keep its port for a
/// minute.
pub(crate) fn prepare_listener(socket: &TcpSocket) -> io::Result<()> {
    socket.set_reuseaddr(true)
}

/// Whether a socket cannot have its address because another program may have it.
pub(crate) fn may_be_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// The system's table of connections and their users.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    #[cfg(target_os = "linux")]
    kernel: SockDiagClient,
}

impl ConnectionTable {
    /// Whether a lookup is short enough for a thread that has other work.
    pub(crate) const IS_QUICK: bool = true;

    /// The user who owns the socket at `peer` that is connected to `own`. `None`: no process has such a
    /// socket, or none has it any more.
    ///
    /// # Errors
    ///
    /// The system's, if it does not answer.
    #[cfg(target_os = "linux")]
    pub(crate) fn owner_of(
        &mut self,
        peer: SocketAddr,
        own: SocketAddr,
    ) -> io::Result<Option<ConnectionOwner>> {
        let user = self.kernel.user_at(peer, own)?;
        Ok(user.map(|user| owner(user, geteuid())))
    }

    /// This system has no such table.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn owner_of(
        &mut self,
        _peer: SocketAddr,
        _own: SocketAddr,
    ) -> io::Result<Option<ConnectionOwner>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn owner(user: Uid, own: Uid) -> ConnectionOwner {
    if user == own {
        ConnectionOwner::Own
    } else if user.is_root() {
        ConnectionOwner::Administrator
    } else {
        ConnectionOwner::Another
    }
}

/// The user of the process that has connected to a socket in a directory. One that the system does not tell is
/// another: it tells each.
pub(crate) fn owner_of_stream(stream: &UnixStream) -> ConnectionOwner {
    let user = stream.peer_cred().map(|peer| Uid::from_raw(peer.uid()));
    user.map_or(ConnectionOwner::Another, |user| owner(user, geteuid()))
}

/// Whether a process that has connected to a socket in a directory is this user's, or that of the user with
/// this number.
pub(crate) fn may_connect(stream: &UnixStream, user: Option<u32>) -> bool {
    let peer = stream.peer_cred();
    let is_named = |user: u32| peer.is_ok_and(|peer| peer.uid() == user);
    owner_of_stream(stream) == ConnectionOwner::Own || user.is_some_and(is_named)
}

/// Whether an error of a lookup is for want of files or memory.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::AGAIN];
    Errno::from_io_error(error).is_some_and(|errno| passing.contains(&errno))
}

/// Whether bytes have come that nobody has read yet.
pub(crate) fn has_unread_bytes(stream: &impl AsFd) -> bool {
    let received = rustix::net::recv(stream, &mut [0; 1], RecvFlags::PEEK);
    received.is_ok_and(|(_, length)| length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_user_and_the_administrator_are_known_as_such() {
        let user = Uid::from_raw;
        for (found, own, expected) in [
            (1000, 1000, ConnectionOwner::Own),
            (0, 1000, ConnectionOwner::Administrator),
            (1001, 1000, ConnectionOwner::Another),
            (1000, 0, ConnectionOwner::Another),
            (0, 0, ConnectionOwner::Own),
        ] {
            assert_eq!(owner(user(found), user(own)), expected, "{found} {own}");
        }
    }
}
