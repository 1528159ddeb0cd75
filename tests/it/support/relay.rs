//! Between an extension and its daemon: passes frames on until one comes that it is to keep.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tabwire::protocol::{WS_PATH, WS_SUBPROTOCOL};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

/// A relay on a port of its own. The extension takes it for the daemon, and proves itself to the
/// daemon behind it.
pub(crate) struct Relay {
    port: u16,
    trap: Arc<Mutex<Option<Trap>>>,
}

/// What is waited for: the first frame of a type.
struct Trap {
    kind: &'static str,
    sprung: oneshot::Sender<Value>,
}

impl Relay {
    pub(crate) async fn start(daemon: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let trap = Arc::new(Mutex::new(None));
        let its = trap.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, daemon, its.clone()));
            }
        });
        Self { port, trap }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Keeps the next frame of this type, and whatever comes after it on its connection. The
    /// frame comes out of what this returns.
    pub(crate) fn keep(&self, kind: &'static str) -> oneshot::Receiver<Value> {
        let (sprung, kept) = oneshot::channel();
        *self.trap.lock().unwrap() = Some(Trap { kind, sprung });
        kept
    }
}

/// One connection, until either side ends it.
async fn pass_on(stream: TcpStream, daemon: u16, trap: Arc<Mutex<Option<Trap>>>) -> Option<()> {
    let mut origin = String::new();
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let greet = |request: &Request, mut response: Response| {
        let named = request.headers().get("origin").and_then(|origin| origin.to_str().ok());
        origin = named.unwrap_or_default().to_owned();
        response.headers_mut().insert("sec-websocket-protocol", WS_SUBPROTOCOL.parse().unwrap());
        Ok(response)
    };
    let extension = tokio_tungstenite::accept_hdr_async(stream, greet).await.ok()?;
    let address = format!("127.0.0.1:{daemon}");
    let request = ClientRequestBuilder::new(format!("ws://{address}{WS_PATH}").parse().ok()?)
        .with_header("Origin", origin)
        .with_sub_protocol(WS_SUBPROTOCOL);
    let behind = TcpStream::connect(&address).await.ok()?;
    let (behind, _) = tokio_tungstenite::client_async(request, behind).await.ok()?;
    let (mut to_extension, mut from_extension) = extension.split();
    let (mut to_daemon, mut from_daemon) = behind.split();
    loop {
        let (message, is_the_daemons) = tokio::select! {
            message = from_extension.next() => (message?.ok()?, false),
            message = from_daemon.next() => (message?.ok()?, true),
        };
        if is_kept(&message, &trap) {
            // Nothing passes any more; the connection ends with the worker that is killed.
            while let Some(Ok(_)) = from_extension.next().await {}
            return None;
        }
        if is_the_daemons {
            to_extension.send(message).await.ok()?;
        } else {
            to_daemon.send(message).await.ok()?;
        }
    }
}

fn is_kept(message: &Message, trap: &Mutex<Option<Trap>>) -> bool {
    let Message::Text(text) = message else { return false };
    let Ok(frame) = serde_json::from_str::<Value>(text) else { return false };
    let mut trap = trap.lock().unwrap();
    let Some(Trap { sprung, .. }) = trap.take_if(|trap| frame["type"] == trap.kind) else {
        return false;
    };
    // Whoever set it may be gone.
    let _ = sprung.send(frame);
    true
}
