//! The WebSocket of an extension: handshake, mutual proof, then frames in both
//! directions until one side ends it.
//!
//! Reading and writing go on side by side in one task, so that an extension that does
//! not read cannot keep us from hearing it, nor from ending its link.

mod bounded;

use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, Stream, StreamExt as _, TryFutureExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::EdgeState;
use super::body::BodyParse;
use super::connections::{ConnectionHandle, ConnectionHolder};
use super::conversation::{
    self, AcceptedHello, FRAMES_AT_ONCE, HELLO, LARGEST_FRAME, LinkClose, LinkLost, LinkOutcome,
    ParsedFrame, ReceivedFrame, listen,
};
use super::guard::Principal;
use super::http_error::HttpError;
use super::yield_budget::YieldBudget;
use crate::hub::{ExtensionLink, Outbox};
use crate::proof;
use crate::protocol::{FromExtension, ToExtension, Transport, WS_SUBPROTOCOL};
use bounded::{BoundedStream, HelloProof};

/// How long the closing handshake may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// How much is read at a time, in bytes: each connection keeps room for this much, and it is zeroed before
/// each read. Frames of commands have some hundred bytes.
const READ_BUFFER: usize = 2 * 1024;

/// The size of the socket's own write buffer, in bytes.
const WRITE_BUFFER: usize = 16 * 1024 * 1024;

/// How much is read before the `hello` that proves the key, in bytes: it has some hundreds, and
/// a peer without the key must not fill the memory.
const UNPROVEN_BYTES: usize = 64 * 1024;

type ExtensionSocket = WebSocketStream<BoundedStream<TokioIo<Upgraded>>>;

pub(super) async fn upgrade(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    Extension(connection): Extension<ConnectionHandle>,
    mut request: Request<Body>,
) -> Response {
    // The table lets only extensions in here.
    let Principal::Extension(id) = principal else { return HttpError::Undeclared.into_response() };
    let Some(key) = handshake_key(request.headers()) else {
        return HttpError::BadHandshake.into_response();
    };
    let accept = derive_accept_key(key.as_bytes());
    let upgrading = hyper::upgrade::on(&mut request);
    let tasks = edge.tasks.clone();
    // The upgrade completes only after this response is written, so it cannot be awaited here.
    tasks.spawn(async move {
        match upgrading.await {
            Ok(upgraded) => serve(edge, id, connection, upgraded).await,
            Err(error) => tracing::debug!(%error, "the connection was lost in the handshake"),
        }
    });
    switching_protocols(&accept)
}

/// The handshake's key, if this is a handshake that we speak.
fn handshake_key(headers: &HeaderMap) -> Option<String> {
    let has =
        |name: HeaderName, wanted: &str| {
            headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).any(|value| {
                value.split(',').any(|token| token.trim().eq_ignore_ascii_case(wanted))
            })
        };
    let fits = has(CONNECTION, "upgrade")
        && has(UPGRADE, "websocket")
        && has(SEC_WEBSOCKET_VERSION, "13")
        && has(SEC_WEBSOCKET_PROTOCOL, WS_SUBPROTOCOL);
    let key = headers.get(SEC_WEBSOCKET_KEY)?.to_str().ok()?;
    fits.then(|| key.to_owned())
}

fn switching_protocols(accept: &str) -> Response {
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(WS_SUBPROTOCOL));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

async fn serve(
    edge: Arc<EdgeState>,
    extension_id: String,
    connection: ConnectionHandle,
    upgraded: Upgraded,
) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_FRAME))
        .max_frame_size(Some(LARGEST_FRAME))
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER);
    let hello = HelloProof::default();
    let stream = BoundedStream::new(TokioIo::new(upgraded), hello.clone(), UNPROVEN_BYTES);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    // Split, so that a blocked write never stops the reading.
    let (mut sink, mut stream) = socket.split();
    let conversing = converse(&edge, &extension_id, &connection, &hello, &mut sink, &mut stream);
    let Err(end) = conversing.await;
    if let Ok(LinkClose { code, reason }) = end {
        tracing::info!(extension = extension_id, code, reason, "closing the extension's socket");
        say_goodbye(code, reason, &mut sink, &mut stream).await;
    }
}

/// Everything from `challenge` on. Ends with the content of the close frame.
async fn converse(
    edge: &EdgeState,
    extension_id: &str,
    connection: &ConnectionHandle,
    hello_proof: &HelloProof,
    sink: &mut SplitSink<ExtensionSocket, Message>,
    stream: &mut SplitStream<ExtensionSocket>,
) -> Result<std::convert::Infallible, LinkOutcome> {
    let mut said = SocketFrames { edge, stream, parsing: None };
    // Apart, so that an open link has no room for all that only its beginning needs.
    let (link, mut outbox) =
        prove_each_other(edge, extension_id, connection, sink, &mut said).await?;
    // The limit on bytes ends here: only the holder of the key gets more.
    hello_proof.note();
    tokio::select! {
        // Reading first: its answers, above all `go`, are then written in the same
        // turn.
        biased;
        end = listen(edge, extension_id, &link, &mut said) => Err(end),
        end = write(sink, &mut outbox) => Err(end),
        () = connection.closing() => Err(Err(LinkLost)),
    }
}

/// From `challenge` to `welcome`.
async fn prove_each_other(
    edge: &EdgeState,
    extension_id: &str,
    connection: &ConnectionHandle,
    sink: &mut SplitSink<ExtensionSocket, Message>,
    said: &mut SocketFrames<'_>,
) -> Result<(ExtensionLink, Outbox), LinkOutcome> {
    let challenge = proof::nonce();
    send(sink, &ToExtension::Challenge { nonce: challenge.clone() }).await.map_err(Err)?;
    let hello = tokio::select! {
        hello = said.next() => hello.unwrap_or(Err(Err(LinkLost)))?,
        () = tokio::time::sleep(HELLO) => return Err(Ok(conversation::no_hello())),
        () = connection.closing() => return Err(Err(LinkLost)),
    };
    let AcceptedHello { link, outbox, welcome } =
        conversation::accept_hello(edge, Transport::WebSocket, extension_id, &challenge, hello)
            .map_err(Ok)?;
    connection.prove(ConnectionHolder::Extension(extension_id.to_owned()));
    // Before anything from the outbox: the extension accepts frames after `welcome` only.
    send(sink, &welcome).await.map_err(Err)?;
    Ok((link, outbox))
}

/// Sends the frames of the outbox. Ends when the hub ends the link, even in the middle of a
/// frame that the extension does not read.
async fn write(sink: &mut SplitSink<ExtensionSocket, Message>, outbox: &mut Outbox) -> LinkOutcome {
    loop {
        let sending = match conversation::next_frame(outbox).await {
            Ok(frame) => send(sink, &frame),
            Err(close) => return Ok(close),
        };
        tokio::select! {
            biased;
            sent = sending => sent?,
            reason = outbox.ended() => return Ok(conversation::close_of(reason)),
        }
    }
}

/// The frames of the extension, one by one.
struct SocketFrames<'a> {
    edge: &'a EdgeState,
    stream: &'a mut SplitStream<ExtensionSocket>,
    /// A large frame, which another thread parses.
    parsing: Option<BoxFuture<'static, Result<ParsedFrame, HttpError>>>,
}

impl Stream for SocketFrames<'_> {
    type Item = ReceivedFrame;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ReceivedFrame>> {
        let Self { edge, stream, parsing } = self.get_mut();
        loop {
            if let Some(frame) = parsing {
                let frame = ready!(frame.as_mut().poll(context));
                *parsing = None;
                return Poll::Ready(Some(frame.map_err(|_ending| Err(LinkLost))));
            }
            let text = match ready!(stream.poll_next_unpin(context)) {
                None => return Poll::Ready(None),
                Some(Ok(Message::Text(text))) => text,
                // tungstenite answers a ping by itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(other) => return Poll::Ready(Some(Err(end_of(other)))),
            };
            match edge.parsers.extensions.begin(text, |text| FromExtension::parse(text)) {
                BodyParse::Done(frame) => return Poll::Ready(Some(Ok(frame))),
                BodyParse::Elsewhere(frame) => *parsing = Some(frame),
            }
        }
    }
}

/// How the link ends with a message that is no frame of the extension.
fn end_of(message: Result<Message, Error>) -> LinkOutcome {
    match message {
        Ok(Message::Binary(_)) => Ok(LinkClose::new(1003, "frames are text")),
        Ok(_) => Err(LinkLost),
        Err(Error::Capacity(_)) => Ok(LinkClose::new(1009, "a message may have 8 MiB")),
        Err(Error::Io(error)) if error.kind() == ErrorKind::QuotaExceeded => {
            Ok(LinkClose::new(1009, "up to a valid hello 64 KiB are read"))
        }
        Err(Error::Utf8(_)) => Ok(LinkClose::new(1007, "not UTF-8")),
        Err(Error::Protocol(error)) => Ok(LinkClose::new(1002, error.to_string())),
        Err(error) => {
            tracing::debug!(%error, "the extension's socket was lost");
            Err(LinkLost)
        }
    }
}

/// Writes a frame down at once, and returns what sends it.
fn send<'a>(
    sink: &'a mut SplitSink<ExtensionSocket, Message>,
    frame: &ToExtension,
) -> impl Future<Output = Result<(), LinkLost>> + use<'a> {
    let text = serde_json::to_string(frame).unwrap_or_default();
    sink.send(Message::text(text)).map_err(|error| {
        tracing::debug!(%error, "the extension's socket was lost");
        LinkLost
    })
}

/// Sends the close frame and waits a little for the other side to have read it.
async fn say_goodbye(
    code: u16,
    mut reason: String,
    sink: &mut SplitSink<ExtensionSocket, Message>,
    stream: &mut SplitStream<ExtensionSocket>,
) {
    // A close frame's reason has room for 123 bytes.
    reason.truncate(reason.floor_char_boundary(123));
    let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
    let goodbye = async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            let mut budget = YieldBudget::of(FRAMES_AT_ONCE);
            while let Some(Ok(_)) = stream.next().await {
                budget.spend(1).await;
            }
        }
    };
    // A peer that does not answer is dropped: the socket closes either way.
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
}
