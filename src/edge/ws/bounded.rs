//! A limit on the bytes before a valid `hello`, also on a connection that has proved itself
//! earlier.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Whether a valid `hello` has come on a socket.
#[derive(Clone, Debug, Default)]
pub(super) struct HelloProof(Arc<AtomicBool>);

impl HelloProof {
    /// Notes a valid `hello`.
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reading more than there is left ends with [`io::ErrorKind::QuotaExceeded`].
pub(super) struct BoundedStream<S> {
    stream: S,
    hello: HelloProof,
    /// How much may still be read before that, in bytes.
    left: usize,
}

impl<S> BoundedStream<S> {
    pub(super) const fn new(stream: S, hello: HelloProof, left: usize) -> Self {
        Self { stream, hello, left }
    }

    fn take(&mut self, bytes: usize) -> io::Result<()> {
        if !self.hello.has_come() {
            let left = self.left.checked_sub(bytes);
            self.left = left.ok_or(io::ErrorKind::QuotaExceeded)?;
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
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
