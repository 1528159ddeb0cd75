//! Between an extension and its daemon: passes frames on until one comes that it is to keep,
//! and can speak in the daemon's place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tabwire::protocol::{WS_PATH, WS_SUBPROTOCOL};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::{past_health, soon, until};

/// A relay on a port of its own. For a browser whose connections to the daemon are led here
/// ([`BrowserUser::open_browser_behind`](super::BrowserUser::open_browser_behind)) the proofs hold.
pub struct FrameRelay {
    port: u16,
    shared: Arc<Shared>,
}

/// What its connections share.
#[derive(Default)]
struct Shared {
    trap: Mutex<Option<FrameTrap>>,
    /// What the extension is told to record, if it is told so here.
    capture: Mutex<Option<Value>>,
    /// The way to the extension on the last connection.
    to_extension: Mutex<Option<mpsc::UnboundedSender<Message>>>,
    /// The `events` frames that have passed.
    events: Mutex<Vec<Value>>,
    /// The reports and drawings that the extension has sent, oldest first.
    reported: Mutex<Vec<Value>>,
    /// The types of the daemon's frames, and all frames of the extension.
    from_daemon: Mutex<Vec<Value>>,
    from_extension: Mutex<Vec<Value>>,
    /// Whether drawings end here, instead of at the daemon.
    takes_drawings: AtomicBool,
}

impl Shared {
    fn takes_drawings(&self) -> bool {
        self.takes_drawings.load(Ordering::Relaxed)
    }
}

/// What is waited for: the first frame of a type.
struct FrameTrap {
    kind: &'static str,
    sprung: oneshot::Sender<Value>,
}

impl FrameRelay {
    pub async fn start(daemon: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let its = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, daemon, its.clone()));
            }
        });
        Self { port, shared }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Keeps the next frame of this type, and whatever comes after it on its connection. The
    /// frame comes out of what this returns.
    pub fn keep(&self, kind: &'static str) -> oneshot::Receiver<Value> {
        let (sprung, kept) = oneshot::channel();
        *self.shared.trap.lock().unwrap() = Some(FrameTrap { kind, sprung });
        kept
    }

    /// Takes the daemon's place for drawings: they end here, and nobody acknowledges them but
    /// by [`FrameRelay::say`].
    pub fn take_drawings(&self) {
        self.shared.takes_drawings.store(true, Ordering::Relaxed);
    }

    /// Says something in the daemon's place.
    pub fn say(&self, frame: &Value) {
        let way = self.shared.to_extension.lock().unwrap();
        let way = way.as_ref().expect("an extension is connected");
        way.send(Message::text(frame.to_string())).expect("it still is");
    }

    /// The reports and drawings so far that are so.
    pub fn reported(&self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let reported = self.shared.reported.lock().unwrap();
        reported.iter().filter(|frame| is_it(frame)).cloned().collect()
    }

    /// The types of the frames that the daemon has said.
    pub fn types_from_daemon(&self) -> Vec<Value> {
        self.shared.from_daemon.lock().unwrap().clone()
    }

    /// All that the extension has said.
    pub fn said_by_extension(&self) -> Vec<Value> {
        self.shared.from_extension.lock().unwrap().clone()
    }

    /// What the extension is to record from here on, as a daemon would say it: now, and in each
    /// `welcome` to come.
    pub fn capture(&self, settings: Value) {
        let frame = json!({"type": "capture", "capture": settings});
        *self.shared.capture.lock().unwrap() = Some(settings);
        let way = self.shared.to_extension.lock().unwrap();
        // While no extension is connected there is only the `welcome`.
        if let Some(way) = way.as_ref() {
            let _ = way.send(Message::text(frame.to_string()));
        }
    }

    /// All entries of a stream that have passed so far.
    pub fn entries(&self, stream: &str) -> Vec<Value> {
        let events = self.shared.events.lock().unwrap();
        let of_stream = events.iter().filter(|frame| frame["stream"] == stream);
        of_stream.flat_map(|frame| frame["entries"].as_array().unwrap().clone()).collect()
    }

    /// Waits for an entry that is so, and tells what it is.
    pub async fn entry(&self, stream: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let find = || self.entries(stream).into_iter().find(&is_it);
        soon(stream, until(async || find().is_some())).await;
        find().unwrap()
    }
}

/// One connection, until either side ends it.
async fn pass_on(stream: TcpStream, daemon: u16, shared: Arc<Shared>) -> Option<()> {
    let stream = past_health(stream).await?;
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
    let (way, mut said) = mpsc::unbounded_channel();
    *shared.to_extension.lock().unwrap() = Some(way);
    loop {
        let (message, is_the_daemons) = tokio::select! {
            message = from_extension.next() => (message?.ok()?, false),
            message = from_daemon.next() => (message?.ok()?, true),
            message = said.recv() => (message?, true),
        };
        note(&message, is_the_daemons, &shared);
        if !is_the_daemons && ends_here(&message, &shared) {
            continue;
        }
        if is_kept(&message, &shared) {
            // Nothing passes any more; the connection ends with the worker that is killed.
            while let Some(Ok(_)) = from_extension.next().await {}
            return None;
        }
        if is_the_daemons {
            to_extension.send(with_capture(message, &shared)).await.ok()?;
        } else {
            to_daemon.send(without_waits(message, &shared)).await.ok()?;
        }
    }
}

/// Remembers what has come.
fn note(message: &Message, is_the_daemons: bool, shared: &Shared) {
    let Message::Text(text) = message else { return };
    let frame = serde_json::from_str::<Value>(text).unwrap_or_default();
    if is_the_daemons {
        shared.from_daemon.lock().unwrap().push(frame["type"].clone());
    } else {
        shared.from_extension.lock().unwrap().push(frame);
    }
}

/// A `welcome` with what is to be recorded; its proof does not cover that.
fn with_capture(message: Message, shared: &Shared) -> Message {
    let capture = shared.capture.lock().unwrap();
    let (Message::Text(text), Some(capture)) = (&message, capture.as_ref()) else { return message };
    match serde_json::from_str::<Value>(text) {
        Ok(mut frame) if frame["type"] == "welcome" => {
            frame["capture"] = capture.clone();
            Message::text(frame.to_string())
        }
        _other => message,
    }
}

/// A `ready` that names no wait: those that are asked for here the daemon does not know.
fn without_waits(message: Message, shared: &Shared) -> Message {
    let Message::Text(text) = &message else { return message };
    match serde_json::from_str::<Value>(text) {
        Ok(mut frame) if frame["type"] == "ready" && shared.takes_drawings() => {
            frame["draws_for"] = json!([]);
            Message::text(frame.to_string())
        }
        _other => message,
    }
}

/// Whether it is a drawing that does not go on to the daemon. Remembers what is reported.
fn ends_here(message: &Message, shared: &Shared) -> bool {
    let Message::Text(text) = message else { return false };
    let Ok(frame) = serde_json::from_str::<Value>(text) else { return false };
    let is_drawing = frame["type"] == "annotations";
    if is_drawing || matches!(frame["type"].as_str(), Some("complete" | "error" | "timeout")) {
        shared.reported.lock().unwrap().push(frame);
    }
    is_drawing && shared.takes_drawings()
}

fn is_kept(message: &Message, shared: &Shared) -> bool {
    let Message::Text(text) = message else { return false };
    let Ok(frame) = serde_json::from_str::<Value>(text) else { return false };
    if frame["type"] == "events" {
        shared.events.lock().unwrap().push(frame);
        return false;
    }
    let mut trap = shared.trap.lock().unwrap();
    let Some(FrameTrap { sprung, .. }) = trap.take_if(|trap| frame["type"] == trap.kind) else {
        return false;
    };
    // Whoever set it may be gone.
    let _ = sprung.send(frame);
    true
}
