//! Sockets in a directory, of which the runtime knows none on Windows: none can be made, and the daemon is reached
//! by its port. The types have no values.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::os::ConnectionOwner;

/// A listener.
#[derive(Debug)]
pub(crate) struct UnixListener(Infallible);

/// A connection.
#[derive(Debug)]
pub(crate) struct UnixStream(Infallible);

/// A listener of the runtime.
#[derive(Debug)]
pub(crate) struct AsyncUnixListener(Infallible);

/// A connection of the runtime.
#[derive(Debug)]
pub(crate) struct AsyncUnixStream(Infallible);

fn unsupported<T>() -> io::Result<T> {
    const REASON: &str = "on Windows Tabwire has no sockets in a folder. Run the command in WSL2 or on another system; on this one, leave out --connect and --socket";
    Err(io::Error::new(io::ErrorKind::Unsupported, REASON))
}

impl UnixListener {
    pub(crate) fn bind(_path: impl AsRef<Path>) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) const fn set_nonblocking(&self, _is_nonblocking: bool) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) const fn try_clone(&self) -> io::Result<Self> {
        match self.0 {}
    }
}

impl UnixStream {
    pub(crate) fn connect(_path: impl AsRef<Path>) -> io::Result<Self> {
        unsupported()
    }
}

impl AsyncUnixListener {
    #[expect(clippy::needless_pass_by_value, reason = "as the runtime's own")]
    pub(crate) const fn from_std(listener: UnixListener) -> io::Result<Self> {
        match listener.0 {}
    }

    pub(crate) const fn poll_accept(
        &self,
        _context: &mut Context<'_>,
    ) -> Poll<io::Result<(AsyncUnixStream, ())>> {
        match self.0 {}
    }
}

impl AsyncUnixStream {
    pub(crate) async fn connect(_path: impl AsRef<Path>) -> io::Result<Self> {
        unsupported()
    }

    pub(super) const fn owner(&self) -> ConnectionOwner {
        match self.0 {}
    }
}

impl Connection for AsyncUnixStream {
    fn connected(&self) -> Connected {
        match self.0 {}
    }
}

impl std::os::windows::io::AsSocket for AsyncUnixStream {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        match self.0 {}
    }
}

impl AsyncRead for AsyncUnixStream {
    fn poll_read(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        _into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}

impl AsyncWrite for AsyncUnixStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        _bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}
