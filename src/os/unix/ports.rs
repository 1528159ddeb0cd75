//! Whose process is at the other end of a connection, and which program listens on a port.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Uid, geteuid, getuid};
use tokio::net::{TcpSocket, UnixStream};

#[cfg(target_os = "linux")]
use super::sock_diag::SockDiagClient;
use crate::os::{ConnectionOwner, PortOwner};

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

/// The program that listens on a port of the loopback.
pub(crate) fn listening_program(port: u16) -> PortOwner {
    let sockets = listening_sockets(port);
    let own_uid = getuid().as_raw();
    PortOwner {
        process: sockets.iter().find_map(|socket| process_with(socket.inode)),
        is_own: sockets.iter().any(|socket| socket.uid == own_uid),
    }
}

struct ListeningSocket {
    uid: u32,
    inode: u64,
}

/// The sockets that listen on a port, from the kernel's tables (Linux; none elsewhere).
fn listening_sockets(port: u16) -> Vec<ListeningSocket> {
    const LISTEN: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let read = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
        is_it.then_some(ListeningSocket {
            uid: fields.get(7)?.parse().ok()?,
            inode: fields.get(9)?.parse().ok()?,
        })
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(read).collect()
}

/// The process that has a socket open: its number and its name.
fn process_with(inode: u64) -> Option<(u32, String)> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find_map(|pid| {
        let mut open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        let has_it = open.any(|file| {
            fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str())
        });
        let name = || fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        has_it
            .then(|| (pid, name().map_or_else(|| "a program".to_owned(), |n| n.trim().to_owned())))
    })
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
