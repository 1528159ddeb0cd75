//! Whose process is at the other end of a connection, and which program listens on a port.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use rustix::net::RecvFlags;
use tokio::net::TcpSocket;

use super::AsyncUnixStream;
use super::calls::{self, OpenedProcess};
use crate::os::{ConnectionOwner, PortOwner};

/// Prepares a socket that will listen: no other program may have its address, before or after. Windows lets two programs
/// have the same one unless a program says so, and the second may be another user's.
pub(crate) fn prepare_listener(socket: &TcpSocket) -> io::Result<()> {
    calls::keep_address(socket)
}

/// Whether a socket cannot have its address because another program may have it. Access is also denied to a port that the
/// system keeps for itself.
pub(crate) fn may_be_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

/// The system's table of connections and their users.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable(());

impl ConnectionTable {
    /// Whether a lookup is short enough for a thread that has other work. The whole table is read.
    pub(crate) const IS_QUICK: bool = false;

    /// The user who owns the socket at `peer` that is connected to `own`. A process that is not told, such as
    /// one that has closed its socket, is unknown: tokens and proofs decide.
    ///
    /// # Errors
    ///
    /// The system's, if it does not answer.
    #[expect(clippy::unused_self, reason = "other systems keep a connection to the kernel in it")]
    pub(crate) fn owner_of(
        &mut self,
        peer: SocketAddr,
        own: SocketAddr,
    ) -> io::Result<Option<ConnectionOwner>> {
        let rows = calls::connections_like(peer)?;
        let is_it = |row: &calls::TcpRow| {
            row.local == (peer.ip(), peer.port()) && row.remote_port == own.port()
        };
        // The system's own number stands for a process that has ended.
        let process = rows.iter().find(|row| is_it(row)).map(|row| row.process);
        let owner = process.filter(|process| *process != 0).and_then(|process| {
            OpenedProcess::open(process).and_then(|process| process.owner()).ok()
        });
        Ok(Some(owner.unwrap_or(ConnectionOwner::Unknown)))
    }
}

/// The user of the process that has connected to a socket in a directory.
pub(crate) const fn owner_of_stream(stream: &AsyncUnixStream) -> ConnectionOwner {
    stream.owner()
}

/// Whether a process that has connected to a socket in a directory is this user's: Windows numbers no users.
pub(crate) fn may_connect(stream: &AsyncUnixStream, _user: Option<u32>) -> bool {
    owner_of_stream(stream) == ConnectionOwner::Own
}

/// Whether an error of a lookup is for want of files or memory.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::Interrupted)
}

/// Whether bytes have come that nobody has read yet.
pub(crate) fn has_unread_bytes(stream: &impl super::AsSocketHandle) -> bool {
    let received = rustix::net::recv(stream, &mut [0; 1], RecvFlags::PEEK);
    received.is_ok_and(|(_, length)| length > 0)
}

/// The program that listens on a port of the loopback.
pub(crate) fn listening_program(port: u16) -> PortOwner {
    let rows = calls::listeners().unwrap_or_default();
    // The number 0 stands for a process that the system does not tell.
    let is_it = |row: &&calls::TcpRow| row.local.1 == port && row.process != 0;
    let found = rows.iter().find(is_it).map(|row| row.process);
    let Some(number) = found else { return PortOwner::default() };
    let opened = OpenedProcess::open(number).ok();
    let name = opened.as_ref().and_then(|process| {
        let program = process.program().ok()?;
        Some(Path::new(&program).file_name()?.to_string_lossy().into_owned())
    });
    PortOwner {
        process: Some((number, name.unwrap_or_else(|| "a program".to_owned()))),
        is_own: opened.is_some_and(|process| {
            process.owner().is_ok_and(|owner| owner == ConnectionOwner::Own)
        }),
    }
}
