//! Home's end of a line: an HTTP/2 server over the two pipes, or an HTTP/1 server on a socket in a folder.

use std::future::poll_fn;
use std::io;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use super::home_daemon::HomeDaemon;
use super::{HEADERS_MAX, LineKind, PING, STREAMS, WINDOW};
use crate::home::DaemonSocket;
use crate::os;

/// How many connections to a folder's socket are open at the same time.
const CONNECTIONS: usize = 256;

/// Why the line to the far end ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It broke, was silent, or the far end does not speak the protocol.
    #[error("the line to the far end broke: {0}")]
    Line(#[from] hyper::Error),
}

/// Passes calls on until the line ends.
///
/// # Errors
///
/// [`ServeError`].
pub async fn serve(
    line: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    daemon: HomeDaemon,
    kind: LineKind,
) -> Result<(), ServeError> {
    let passing_on = service_fn(|call| daemon.clone().answer(call));
    let line = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(kind.silence())
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS_MAX.into())
        .serve_connection(TokioIo::new(line), passing_on);
    Ok(line.await?)
}

/// Passes the calls at a socket on, without end. Programs of this user get in, and those of the user with
/// this number.
///
/// # Errors
///
/// The system's.
pub async fn serve_folder(
    socket: DaemonSocket,
    user: Option<u32>,
    daemon: HomeDaemon,
) -> io::Result<()> {
    let listener = socket.listener()?;
    // They end with the socket.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = poll_fn(|context| listener.poll_accept(context)).await?;
        while connections.try_join_next().is_some() {}
        if !os::may_connect(&stream, user) || connections.len() >= CONNECTIONS {
            continue;
        }
        let daemon = daemon.clone();
        connections.spawn(async move {
            let passing_on = service_fn(|call| daemon.clone().answer(call));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .max_buf_size(HEADERS_MAX.into())
                .serve_connection(TokioIo::new(stream), passing_on);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection at the folder's socket broke");
            }
        });
    }
}
