//! One connection, from its first byte to its last: HTTP/1.1, and a WebSocket after an upgrade.
//!
//! Time limits bind the client alone: it has to finish a head that it has begun, and to send
//! another request or go. Nothing is limited here while a request is being answered, so
//! that polls, streams and sockets last as long as they like; bodies have their own limit.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use super::connections::{ConnectionHandle, ConnectionPermit};
use super::routes::GuardedRoutes;

/// How long a head may take, from its first byte on; the first one of a connection from the
/// connection's beginning on.
const HEAD: Duration = Duration::from_secs(5);

/// The most bytes that one read takes, and the longest head: one connection must not occupy the
/// thread for long.
const READ: usize = 64 * 1024;

/// How long a connection may be idle between requests.
const IDLE: Duration = Duration::from_secs(120);

/// How long a connection stays after its owner was removed: a running request still gets its answer, and
/// what goes on without an answer, as a stream does, ends.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// Serves until either side ends it, or `shutdown` does.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    permit: ConnectionPermit,
    routes: GuardedRoutes,
    shutdown: CancellationToken,
) {
    let phase = RequestPhase::default();
    let connection = permit.connection().clone();
    let service = {
        let (phase, connection) = (phase.clone(), connection.clone());
        service_fn(move |request| {
            answer(request, connection.clone(), routes.clone(), phase.clone())
        })
    };
    // The stream owns the permit: an upgraded socket outlives the HTTP service.
    let stream = TokioIo::new(WatchedStream { stream, phase: phase.clone(), permit });
    let mut http = hyper::server::conn::http1::Builder::new();
    // hyper's timeout covers the idle time; `late` measures the head from its first byte.
    http.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(READ);
    let serving = http.serve_connection(stream, service).with_upgrades();
    tokio::pin!(serving);
    let mut is_ending = false;
    let late = phase.late_head();
    tokio::pin!(late);
    let removed = async {
        connection.ending().await;
        tokio::time::sleep(LAST_ANSWER).await;
    };
    tokio::pin!(removed);
    loop {
        let reading = poll_fn(|context| {
            let polled = serving.as_mut().poll(context);
            // Only after the poll: a proof in these bytes is noted by now.
            connection.note_polled();
            polled
        });
        tokio::select! {
            // Reading first: the bytes decide whether a head is late.
            biased;
            served = reading => {
                if let Err(error) = served {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = &mut late => {
                tracing::debug!("connection closed: a request's head took over 5 s");
                return;
            }
            () = connection.closing() => {
                tracing::debug!("connection closed: too many that have proved nothing");
                return;
            }
            () = &mut removed => {
                tracing::debug!("connection closed: its owner was removed");
                return;
            }
            () = connection.ending(), if !is_ending => {
                is_ending = true;
                serving.as_mut().graceful_shutdown();
            }
            () = shutdown.cancelled(), if !is_ending => {
                is_ending = true;
                // The loop goes on: a running request still gets its answer.
                serving.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers one request; handlers find the connection that it came on among its extensions.
async fn answer(
    mut request: Request<Incoming>,
    connection: ConnectionHandle,
    routes: GuardedRoutes,
    phase: RequestPhase,
) -> Result<Response<GuardedBody>, std::convert::Infallible> {
    // The guard moves into the body, so a slow reader still counts as being answered.
    let answering = phase.answering();
    request.extensions_mut().insert(connection);
    let response = routes.answer(request).await;
    Ok(response.map(|body| GuardedBody { body, _answering: answering }))
}

/// Whose turn it is, counted on: the client's to send a head (0, 3, …), ours to answer
/// (1, 4, …), or nobody's (2, 5, …).
#[derive(Clone, Debug, Default)]
struct RequestPhase(Arc<AtomicU64>);

/// While it lives, a request is being answered.
struct AnsweringGuard(RequestPhase);

impl RequestPhase {
    const HEAD: u64 = 0;
    const ANSWER: u64 = 1;
    const IDLE: u64 = 2;
    const PHASES: u64 = 3;

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Bytes have come. They are a head's, unless a request is being answered.
    fn heard(&self) {
        let phase = self.get();
        if phase % Self::PHASES == Self::IDLE {
            self.0.store(phase + 1, Ordering::Relaxed);
        }
    }

    /// A head is there. It may have come along with the one before.
    fn answering(&self) -> AnsweringGuard {
        let phase = self.get();
        let steps = if phase % Self::PHASES == Self::IDLE { 2 } else { 1 };
        self.0.store(phase + steps, Ordering::Relaxed);
        AnsweringGuard(self.clone())
    }

    /// Returns when a head takes too long. Poll this after the reader, in the same
    /// task: nothing else tells that a head has begun.
    fn late_head(&self) -> impl Future<Output = ()> + use<> {
        let phase = self.clone();
        let mut timer: Option<(u64, Pin<Box<Sleep>>)> = None;
        poll_fn(move |context| {
            let now = phase.get();
            // The timer of an earlier head must not fire for the next one.
            if now % Self::PHASES != Self::HEAD {
                timer = None;
                return Poll::Pending;
            }
            let (_, sleep) = match timer.take().filter(|(of, _)| *of == now) {
                Some(running) => timer.insert(running),
                None => timer.insert((now, Box::pin(tokio::time::sleep(HEAD)))),
            };
            sleep.as_mut().poll(context)
        })
    }
}

impl Drop for AnsweringGuard {
    fn drop(&mut self) {
        debug_assert_eq!(self.0.get() % RequestPhase::PHASES, RequestPhase::ANSWER);
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A response's body: until it is dropped, the request is being answered.
struct GuardedBody {
    body: Body,
    _answering: AnsweringGuard,
}

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection's stream, also after an upgrade: it notes when bytes come, and keeps the
/// connection's place for as long as it is open.
struct WatchedStream<S> {
    stream: S,
    phase: RequestPhase,
    permit: ConnectionPermit,
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.phase.heard();
            self.permit.connection().note_bytes();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
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

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
