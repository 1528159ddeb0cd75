//! A socket of which only so much is read until its connection has proved itself.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::edge::connections::Connection;

/// Reading more than there is left ends with [`io::ErrorKind::QuotaExceeded`].
pub(super) struct Bounded<S> {
    stream: S,
    connection: Connection,
    /// How much may still be read, in bytes, while nothing is proven.
    left: usize,
}

impl<S> Bounded<S> {
    pub(super) const fn new(stream: S, connection: Connection, left: usize) -> Self {
        Self { stream, connection, left }
    }

    fn take(&mut self, bytes: usize) -> io::Result<()> {
        if !self.connection.is_proven() {
            let left = self.left.checked_sub(bytes);
            self.left = left.ok_or(io::ErrorKind::QuotaExceeded)?;
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.take(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
