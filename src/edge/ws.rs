//! The WebSocket of an extension: handshake, mutual proof, then frames in both
//! directions until one side ends it.
//!
//! Reading and writing go on side by side in one task, so that an extension that does
//! not read cannot keep us from hearing it, nor from ending its link.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Edge;
use super::guard::Admitted;
use super::problem::Problem;
use crate::hub::{Farewell, Link, Outbox};
use crate::lifecycle::Peer;
use crate::proof;
use crate::protocol::{
    CaptureSettings, Carrier, FrameError, FromExtension, Hello, NackReason, PROTOCOL_VERSION,
    SERVER_VERSION, ToExtension, WS_SUBPROTOCOL,
};

/// How long an extension may take to answer `challenge`.
const HELLO: Duration = Duration::from_secs(5);

/// How often `ping` goes out: a worker without data frames is stopped after 30 s.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// A link on which nothing came for this long is dead.
const DEAD: Duration = Duration::from_secs(45);

/// How long the closing handshake may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// The largest message and frame, in bytes.
const LARGEST_FRAME: usize = 8 * 1024 * 1024;

/// How much is read at a time, in bytes: room for this much is zeroed before each read.
const READ_BUFFER: usize = 16 * 1024;

/// What may wait in the socket's own buffer, in bytes.
const WRITE_BUFFER: usize = 16 * 1024 * 1024;

/// How many turns of the runtime an acknowledgement waits for the answer to whoever waits for
/// the result: it has to be written by its call's task and by its connection's.
const ACK_TURNS: u32 = 4;

/// This many malformed frames end a connection.
const MALFORMED: u32 = 3;

/// How many unknown frame types are remembered as answered.
const UNKNOWN_TYPES: usize = 32;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Why a connection ends, as its close frame says.
struct Close {
    code: u16,
    reason: String,
}

impl Close {
    fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// A connection that ended by itself: there is nobody to say goodbye to.
struct Lost;

pub(super) async fn upgrade(
    State(edge): State<Arc<Edge>>,
    Extension(admitted): Extension<Admitted>,
    mut request: Request<Body>,
) -> Response {
    // The table lets only extensions in here.
    let Admitted::Extension(id) = admitted else { return Problem::Undeclared.into_response() };
    let Some(key) = handshake_key(request.headers()) else {
        return Problem::BadHandshake.into_response();
    };
    let accept = derive_accept_key(key.as_bytes());
    let upgrading = hyper::upgrade::on(&mut request);
    let tasks = edge.tasks.clone();
    tasks.spawn(async move {
        match upgrading.await {
            Ok(upgraded) => serve(edge, id, upgraded).await,
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

async fn serve(edge: Arc<Edge>, extension_id: String, upgraded: Upgraded) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_FRAME))
        .max_frame_size(Some(LARGEST_FRAME))
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER);
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let (mut sink, mut stream) = socket.split();
    let Err(end) = converse(&edge, &extension_id, &mut sink, &mut stream).await;
    if let Ok(Close { code, reason }) = end {
        tracing::info!(extension = extension_id, code, reason, "closing the extension's socket");
        say_goodbye(code, reason, &mut sink, &mut stream).await;
    }
}

/// Everything from `challenge` on. Ends with what to say in the close frame.
async fn converse(
    edge: &Edge,
    extension_id: &str,
    sink: &mut SplitSink<Socket, Message>,
    stream: &mut SplitStream<Socket>,
) -> Result<std::convert::Infallible, Result<Close, Lost>> {
    let hub = edge.tools.hub();
    let challenge = proof::nonce();
    send(sink, &ToExtension::Challenge { nonce: challenge.clone() }).await.map_err(Err)?;
    let hello = tokio::select! {
        hello = hello(stream) => hello?,
        () = tokio::time::sleep(HELLO) => {
            return Err(Ok(Close::new(4408, "no hello within 5 s")));
        }
    };
    let key = edge.guard.home().auth().extension_key(extension_id);
    if !key.proves_hello(&challenge, &hello.nonce, &hello.instance_id, &hello.mac) {
        let reason = "hello does not prove the key; unpack the extension again with this daemon's \
                      `tabwire extension unpack`";
        return Err(Ok(Close::new(4401, reason)));
    }
    edge.guard.note_paired();
    let peer = Peer { browser: hello.browser_id, instance: hello.instance_id };
    let (link, mut outbox) = hub.attach(peer, Carrier::WebSocket, hello.extension_version);
    let welcome = ToExtension::Welcome {
        protocol: PROTOCOL_VERSION,
        epoch: hub.epoch(),
        server_version: SERVER_VERSION,
        heartbeat_ms: u64::try_from(HEARTBEAT.as_millis()).unwrap_or(u64::MAX),
        capture: CaptureSettings::default(),
        mac: key.welcome_mac(&hello.nonce, &challenge, &hub.epoch()),
    };
    send(sink, &welcome).await.map_err(Err)?;
    tokio::select! {
        // Reading first: what it leads to, above all `go`, is then written in the same
        // turn.
        biased;
        end = read(stream, &link) => Err(end),
        end = write(sink, &mut outbox) => Err(end),
    }
}

/// The first message, which must be a `hello` that we can go on with.
async fn hello(stream: &mut SplitStream<Socket>) -> Result<Hello, Result<Close, Lost>> {
    let text = next_text(stream).await?;
    let hello = match FromExtension::parse(&text) {
        Ok(FromExtension::Hello(hello)) => hello,
        Ok(_) | Err(_) => return Err(Ok(Close::new(4401, "the first frame must be hello"))),
    };
    if !hello.protocol.contains(&PROTOCOL_VERSION) {
        let theirs: Vec<_> = hello.protocol.iter().map(u32::to_string).collect();
        let reason = format!(
            "this daemon speaks protocol {PROTOCOL_VERSION}, the extension speaks {}",
            theirs.join(", ")
        );
        return Err(Ok(Close::new(4409, reason)));
    }
    Ok(hello)
}

/// Sends what the outbox has. Ends when the hub ends the link, even in the middle of a
/// frame that the extension does not read.
async fn write(sink: &mut SplitSink<Socket, Message>, outbox: &mut Outbox) -> Result<Close, Lost> {
    loop {
        let frame = match outbox.next().await {
            Ok(frame) => frame,
            Err(farewell) => return Ok(close_of(farewell)),
        };
        if matches!(frame, ToExtension::ResultAck { .. }) {
            // Nobody waits for it, but somebody may for the result: that goes first.
            for _ in 0..ACK_TURNS {
                tokio::task::yield_now().await;
            }
        }
        tokio::select! {
            biased;
            sent = send(sink, &frame) => sent?,
            farewell = outbox.ended() => return Ok(close_of(farewell)),
        }
    }
}

fn close_of(farewell: Farewell) -> Close {
    match farewell {
        Farewell::Shutdown => Close::new(1001, "the daemon is shutting down"),
        Farewell::Replaced => Close::new(4001, "replaced by a new connection of this browser"),
        Farewell::Overflow => Close::new(4429, "too many frames waited to be read"),
    }
}

/// Takes in what the extension says, and asks it for a sign of life now and then.
async fn read(stream: &mut SplitStream<Socket>, link: &Link) -> Result<Close, Lost> {
    let mut malformed = 0;
    let mut answered = HashSet::new();
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    heartbeat.tick().await;
    let mut heard = link.now();
    let dead = tokio::time::sleep(DEAD);
    tokio::pin!(dead);
    loop {
        let text = tokio::select! {
            biased;
            text = next_text(stream) => match text {
                Ok(text) => text,
                Err(end) => return end,
            },
            _ = heartbeat.tick() => {
                link.ping();
                continue;
            }
            () = &mut dead => {
                // Wound up again only now: that is cheaper than with every frame.
                let left = DEAD.saturating_sub(link.now().since(heard));
                if left.is_zero() {
                    return Ok(Close::new(1002, "nothing came for 45 s"));
                }
                dead.set(tokio::time::sleep(left));
                continue;
            }
        };
        heard = link.now();
        match FromExtension::parse(&text) {
            Ok(frame) => link.receive(frame),
            Err(FrameError::UnknownType(kind)) => {
                if answered.len() < UNKNOWN_TYPES && answered.insert(kind) {
                    link.refuse(NackReason::UnknownType);
                }
            }
            Err(FrameError::Malformed(error)) => {
                tracing::debug!(%error, "malformed frame");
                malformed += 1;
                if malformed == MALFORMED {
                    return Ok(Close::new(1008, "three malformed frames"));
                }
                link.refuse(NackReason::Malformed);
            }
        }
    }
}

/// The next text message; `Err` with what to say if there is none.
///
/// Cancel safe.
async fn next_text(
    stream: &mut SplitStream<Socket>,
) -> Result<tokio_tungstenite::tungstenite::Utf8Bytes, Result<Close, Lost>> {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Binary(_))) => {
                return Err(Ok(Close::new(1003, "frames are text")));
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_))) | None => return Err(Err(Lost)),
            Some(Err(Error::Capacity(_))) => {
                return Err(Ok(Close::new(1009, "a message may have 8 MiB")));
            }
            Some(Err(Error::Utf8(_))) => return Err(Ok(Close::new(1007, "not UTF-8"))),
            Some(Err(Error::Protocol(error))) => {
                return Err(Ok(Close::new(1002, error.to_string())));
            }
            Some(Err(error)) => {
                tracing::debug!(%error, "the extension's socket was lost");
                return Err(Err(Lost));
            }
        }
    }
}

async fn send(sink: &mut SplitSink<Socket, Message>, frame: &ToExtension) -> Result<(), Lost> {
    let text = serde_json::to_string(frame).unwrap_or_default();
    sink.send(Message::text(text)).await.map_err(|error| {
        tracing::debug!(%error, "the extension's socket was lost");
        Lost
    })
}

/// Sends the close frame and waits a little for the other side to have read it.
async fn say_goodbye(
    code: u16,
    mut reason: String,
    sink: &mut SplitSink<Socket, Message>,
    stream: &mut SplitStream<Socket>,
) {
    // A close frame's reason has room for 123 bytes.
    reason.truncate(reason.floor_char_boundary(123));
    let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
    let goodbye = async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = stream.next().await {}
        }
    };
    // Whoever does not answer is dropped: the socket closes either way.
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
}
