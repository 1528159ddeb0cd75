//! The bare relay: what is left of the daemon when nothing is tracked, checked or parsed.
//!
//! `POST /wait`: the body goes to the socket, the next text that comes back is the answer.
//! `POST /submit`: the body goes to the socket, and the answer at once to the caller.
//! `POST /empty`: nothing goes to the socket. `GET /ws`: the socket.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use futures_util::future::try_join_all;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tabwire::protocol::WS_SUBPROTOCOL;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// What a relay answers to a submit: as long as the daemon's answer.
const ACCEPTED: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"status\":\"queued\","#,
    r#"\"correlation_id\":\"exec_1795298985123_0123456789abcdef0123456789abcdef\",\"query_id\":"#,
    r#"\"q_0123456789abcdef\",\"job_id\":\"exec_1795298985123_0123456789abcdef0123456789abcdef\","#,
    r#"\"estimated_runtime_seconds\":0.01,\"message\":\"Command queued for execution. Get its "#,
    r#"result with observe({what:\\\"command_result\\\", correlation_id:\\\"exec_17952989851"#,
    r#"23_0123456789abcdef0123456789abcdef\\\", wait_ms:10000}).\"}"}],"structuredContent":{"#,
    r#""status":"queued","correlation_id":"exec_1795298985123_0123456789abcdef0123456789abcdef","#,
    r#""query_id":"q_0123456789abcdef","job_id":"exec_1795298985123_0123456789abcdef0123456789"#,
    r#"abcdef","estimated_runtime_seconds":0.01,"message":"Command queued for execution. Get its "#,
    r#"result with observe({what:\"command_result\", correlation_id:\"exec_1795298985123_012345678"#,
    r#"9abcdef0123456789abcdef\", wait_ms:10000})."},"isError":false}}"#,
);

/// How much is read at a time, in bytes, at all ends: as in the daemon.
pub(super) const READ_BUFFER: usize = 4 * 1024;

/// A body on its way to the socket, and where the answer to it goes, if it is waited for.
struct PassedBody {
    body: String,
    answer: Option<oneshot::Sender<String>>,
}

/// Where bodies go to.
#[derive(Clone)]
struct BareRelay {
    to_socket: mpsc::Sender<PassedBody>,
    /// What the socket takes when it comes.
    from_posts: Arc<Mutex<Option<mpsc::Receiver<PassedBody>>>>,
}

/// Runs until standard input ends, on one thread, as the daemon does. Each of its ports has a socket and
/// its callers of its own.
pub fn run(ports: usize) -> anyhow::Result<ExitCode> {
    // Whoever has started it holds the other end, and lets go of it at the latest when it
    // dies.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(ports))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(ports: usize) -> anyhow::Result<()> {
    let mut listeners = Vec::new();
    for _ in 0..ports {
        listeners.push(TcpListener::bind("127.0.0.1:0").await?);
    }
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    let ports = ports.collect::<std::io::Result<Vec<_>>>()?;
    writeln!(std::io::stdout(), "{}", json!({"port": ports.first(), "ports": ports}))?;
    try_join_all(listeners.into_iter().map(serve_at)).await?;
    Ok(())
}

async fn serve_at(listener: TcpListener) -> anyhow::Result<()> {
    let (to_socket, from_posts) = mpsc::channel(64);
    let relay = BareRelay { to_socket, from_posts: Arc::new(Mutex::new(Some(from_posts))) };
    let router = Router::new()
        .route("/empty", post(async |_body: String| ACCEPTED))
        .route("/submit", post(submit))
        .route("/wait", post(wait))
        .route("/ws", get(upgrade))
        .with_state(relay);
    let listener = listener.tap_io(|stream| {
        // A socket that is gone by now needs none.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await.context("cannot serve")
}

async fn submit(State(relay): State<BareRelay>, body: String) -> Response {
    match relay.to_socket.send(PassedBody { body, answer: None }).await {
        Ok(()) => ACCEPTED.into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn wait(State(relay): State<BareRelay>, body: String) -> Response {
    let (answer, answered) = oneshot::channel();
    if relay.to_socket.send(PassedBody { body, answer: Some(answer) }).await.is_err() {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    match answered.await {
        Ok(answer) => answer.into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn upgrade(State(relay): State<BareRelay>, mut request: Request) -> Response {
    let taken = relay.from_posts.lock().ok().and_then(|mut receiver| receiver.take());
    let (Some(key), Some(from_posts)) = (request.headers().get(SEC_WEBSOCKET_KEY), taken) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let upgrading = hyper::upgrade::on(&mut request);
    tokio::spawn(async {
        let upgraded = upgrading.await?;
        pump(upgraded, from_posts).await
    });
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(WS_SUBPROTOCOL));
    headers.extend(accept.map(|accept| (SEC_WEBSOCKET_ACCEPT, accept)));
    response
}

/// Carries bodies out and answers in until the socket ends.
async fn pump(
    upgraded: Upgraded,
    mut from_posts: mpsc::Receiver<PassedBody>,
) -> anyhow::Result<Infallible> {
    let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER).write_buffer_size(0);
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let mut waiting = VecDeque::new();
    loop {
        tokio::select! {
            passed = from_posts.recv() => {
                let PassedBody { body, answer } = passed.context("no more posts")?;
                waiting.extend(answer);
                socket.send(Message::text(body)).await?;
            }
            message = socket.next() => {
                let message = message.context("the socket was closed")??;
                if let (Message::Text(text), Some(answer)) = (message, waiting.pop_front()) {
                    // Its caller may have gone.
                    let _ = answer.send(text.as_str().to_owned());
                }
            }
        }
    }
}
