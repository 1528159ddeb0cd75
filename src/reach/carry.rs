//! The far end: takes calls on a socket of this user, and carries each as a stream over its standard output.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::answers::{failure, json_response};
use super::greeting::CarrierGreeting;
use super::place::PlaceName;
use super::{
    CARRIER_PATH, HEADERS_MAX, LineKind, MCP_PATH, PING, STREAMS, STREAMS_AT_ONCE, WINDOW, headers,
};
use crate::bridge::{PLACE_LOST, PLACE_OFFLINE};
use crate::home::DaemonSocket;
use crate::os::{self, AsyncUnixListener, AsyncUnixStream, ConnectionOwner};
use crate::protocol::{EARLY_HEADER, SERVER_VERSION};

/// The name that calls are carried under; home looks at the path alone.
const AUTHORITY: &str = "http://tabwire";

/// Why the far end has ended.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The line home is broken, or silent.
    #[error("the line to the machine with the browser broke: {0}")]
    Line(#[from] hyper::Error),
    /// The system's error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The body of an answer.
type AnswerBody = BoxBody<Bytes, hyper::Error>;

/// How many calls are carried: those that wait leave room for others.
#[derive(Clone)]
struct CarriedCalls {
    all: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The place of a call among them.
struct CarriedCall {
    _all: OwnedSemaphorePermit,
    _waiting: Option<OwnedSemaphorePermit>,
}

impl CarriedCalls {
    fn new() -> Self {
        let waiting = usize::try_from(STREAMS - STREAMS_AT_ONCE).unwrap_or_default();
        let all = usize::try_from(STREAMS).unwrap_or_default();
        Self { all: Arc::new(Semaphore::new(all)), waiting: Arc::new(Semaphore::new(waiting)) }
    }

    /// `None`: there are too many.
    fn begin(&self, waits: bool) -> Option<CarriedCall> {
        let waiting = match waits {
            true => Some(self.waiting.clone().try_acquire_owned().ok()?),
            false => None,
        };
        Some(CarriedCall { _all: self.all.clone().try_acquire_owned().ok()?, _waiting: waiting })
    }
}

/// Greets, and carries calls of the socket until the line ends.
///
/// # Errors
///
/// [`CarryError`]; the socket is gone in any case.
pub async fn carry(
    place: PlaceName,
    socket: DaemonSocket,
    input: impl AsyncRead + Send + Unpin + 'static,
    mut output: impl AsyncWrite + Send + Unpin + 'static,
    kind: LineKind,
) -> Result<(), CarryError> {
    let listener = socket.listener()?;
    output.write_all(CarrierGreeting::of(place).line().as_bytes()).await?;
    output.flush().await?;
    let line = TokioIo::new(tokio::io::join(input, output));
    let (home, line) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(kind.silence())
        .keep_alive_while_idle(true)
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .max_header_list_size(HEADERS_MAX.into())
        .handshake(line)
        .await?;
    tokio::select! {
        ended = line => Ok(ended?),
        accepted = accept(&listener, &home) => Ok(accepted?),
    }
}

/// Takes connections without end.
async fn accept(listener: &AsyncUnixListener, home: &SendRequest<Incoming>) -> io::Result<()> {
    let calls = CarriedCalls::new();
    // They end with the line.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = poll_fn(|context| listener.poll_accept(context)).await?;
        // By the system's word.
        if os::owner_of_stream(&stream) == ConnectionOwner::Own {
            connections.spawn(serve_connection(stream, home.clone(), calls.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(
    stream: AsyncUnixStream,
    home: SendRequest<Incoming>,
    calls: CarriedCalls,
) {
    let carrying = service_fn(|call| {
        let (home, calls) = (home.clone(), calls.clone());
        async move { Ok::<_, Infallible>(carry_call(call, home, &calls).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .max_buf_size(HEADERS_MAX.into())
        .serve_connection(TokioIo::new(stream), carrying);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection at the far end broke");
    }
}

async fn carry_call(
    call: Request<Incoming>,
    mut home: SendRequest<Incoming>,
    calls: &CarriedCalls,
) -> Response<AnswerBody> {
    if (call.method(), call.uri().path()) == (&Method::GET, CARRIER_PATH) {
        return json_response(StatusCode::OK, &json!({"version": SERVER_VERSION}));
    }
    let waits = call.method() == Method::GET || call.headers().contains_key(EARLY_HEADER);
    let Some(place) = calls.begin(waits) else {
        return failure(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            (
                "Too many calls are on their way to the browser's machine",
                "Wait until others have ended, then call again.",
            ),
            false,
        );
    };
    let (parts, body) = call.into_parts();
    let mut carried = Request::new(body);
    *carried.method_mut() = parts.method;
    *carried.headers_mut() = headers::of_call(&parts.headers);
    // The path as it is: home decides.
    let path = parts.uri.path_and_query().map_or(MCP_PATH, |path| path.as_str());
    let Ok(uri) = format!("{AUTHORITY}{path}").parse() else { return lost(false) };
    *carried.uri_mut() = uri;
    if home.ready().await.is_err() {
        return lost(false);
    }
    match home.send_request(carried).await {
        Ok(answer) => {
            let (parts, body) = answer.into_parts();
            let mut told = Response::new(HeldBody { body, _place: place }.boxed());
            *told.status_mut() = parts.status;
            *told.headers_mut() = headers::of_answer(&parts.headers);
            told
        }
        Err(error) => {
            tracing::debug!(%error, "a call was not answered");
            lost(true)
        }
    }
}

/// The line broke before the answer came.
fn lost(may_have_run: bool) -> Response<AnswerBody> {
    let (code, message) = match may_have_run {
        true => (PLACE_LOST, "The line to the browser's machine broke before the answer came"),
        false => (PLACE_OFFLINE, "The line to the browser's machine is broken"),
    };
    let hint = "Ask whether `tabwire reach` is running on the machine with the browser.";
    failure(StatusCode::BAD_GATEWAY, code, (message, hint), may_have_run)
}

/// A body that keeps the place of its call until it is read.
struct HeldBody {
    body: Incoming,
    _place: CarriedCall,
}

impl hyper::body::Body for HeldBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, hyper::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}
