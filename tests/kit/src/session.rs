//! An extension over HTTP: its requests one by one, and the link that is made of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tabwire::protocol::{FRAMES_PATH, SESSION_PATH};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{DeliveredCommand, ExtensionBuilder, HttpAnswer, bearer, soon};

/// Requests of an extension, each on its own.
#[derive(Clone)]
pub struct ExtensionSession {
    shim: ExtensionBuilder,
    http: Client<HttpConnector, Full<Bytes>>,
    token: String,
}

impl HttpAnswer {
    /// The frames that it brings, and the number of the last one.
    pub fn frames(&self) -> (Vec<Value>, u64) {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        let answer = self.json();
        (answer["frames"].as_array().unwrap().clone(), answer["last"].as_u64().unwrap())
    }

    /// Why the session is over: the status, and what would be the close code.
    pub fn close(&self) -> (u16, u64) {
        let body = self.json();
        assert!(!body["message"].as_str().unwrap().is_empty(), "{body}");
        (self.status.as_u16(), body["code"].as_u64().unwrap_or_default())
    }
}

impl ExtensionSession {
    /// No session yet.
    pub fn of(shim: &ExtensionBuilder) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Self { shim: shim.clone(), http, token: String::new() }
    }

    /// One whose proof was valid, as the daemon's was.
    pub async fn open(shim: &ExtensionBuilder) -> Self {
        soon("a session", Self::try_open(shim)).await.unwrap()
    }

    async fn try_open(shim: &ExtensionBuilder) -> Option<Self> {
        Self::of(shim).try_again().await
    }

    /// Another one of the same extension, unless the connection breaks.
    async fn try_again(&self) -> Option<Self> {
        let (shim, mut session) = (&self.shim, Self { token: String::new(), ..self.clone() });
        let challenge = session.try_challenge().await?;
        let hello = shim.hello_to(&challenge);
        let welcome = session.try_begin(&answering(hello.clone(), &challenge)).await?;
        let welcome = welcome.json();
        assert_eq!(welcome["type"], "welcome", "{welcome}");
        shim.check_welcome(&welcome, &hello, &challenge);
        session.token = welcome["session"].as_str().unwrap().to_owned();
        Some(session)
    }

    /// One that is ready, and the number of the last frame.
    pub async fn connect(shim: &ExtensionBuilder) -> (Self, u64) {
        let session = Self::open(shim).await;
        // The answer to a claim of nothing shows that `ready` was taken in.
        let barrier = json!({"type": "claim", "correlation_id": "barrier", "attempt": 1});
        let (frames, last) = session.say(&[shim.ready_frame(&[]), barrier]).await.frames();
        assert!(frames.iter().any(|frame| frame["correlation_id"] == "barrier"), "{frames:?}");
        (session, last)
    }

    pub async fn challenge(&self) -> String {
        soon("a challenge", self.try_challenge()).await.unwrap()
    }

    async fn try_challenge(&self) -> Option<String> {
        let answer = self.try_begin(&json!({"type": "start"})).await?;
        let challenge = answer.json();
        assert_eq!(challenge["type"], "challenge", "{challenge}");
        Some(challenge["nonce"].as_str()?.to_owned())
    }

    /// Posts what begins a session.
    pub async fn begin(&self, body: &Value) -> HttpAnswer {
        soon("an answer", self.try_begin(body)).await.unwrap()
    }

    async fn try_begin(&self, body: &Value) -> Option<HttpAnswer> {
        self.ask(Method::POST, SESSION_PATH, body.to_string().into_bytes()).await
    }

    /// Posts frames without a number.
    pub async fn say(&self, frames: &[Value]) -> HttpAnswer {
        self.post(&json!({"frames": frames})).await
    }

    pub async fn post(&self, body: &Value) -> HttpAnswer {
        self.post_bytes(body.to_string().into_bytes()).await
    }

    pub async fn post_bytes(&self, body: Vec<u8>) -> HttpAnswer {
        soon("an answer", self.ask(Method::POST, FRAMES_PATH, body)).await.unwrap()
    }

    /// Polls, and waits for the answer as long as it is told to.
    pub async fn poll(&self, query: &str) -> HttpAnswer {
        let path = format!("{FRAMES_PATH}?{query}");
        self.ask(Method::GET, &path, Vec::new()).await.unwrap()
    }

    /// A request as a browser makes it; `None` if its connection breaks.
    pub async fn ask(&self, method: Method, path: &str, body: Vec<u8>) -> Option<HttpAnswer> {
        let uri = format!("http://127.0.0.1:{}{path}", self.shim.port());
        let mut request = Request::builder().uri(uri).header("sec-fetch-site", "none");
        // A worker's GET has no Origin.
        if method == Method::POST {
            let origin = self.shim.origin();
            request = request.header("origin", origin).header("content-type", "application/json");
        }
        if !self.token.is_empty() {
            request = request.header("authorization", bearer(&self.token));
        }
        let request = request.method(method).body(Full::new(Bytes::from(body))).unwrap();
        let (head, body) = self.http.request(request).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let is_cors =
            |name: &hyper::header::HeaderName| name.as_str().starts_with("access-control");
        assert!(!head.headers.keys().any(is_cors), "no page is ever let in");
        Some(HttpAnswer { status: head.status, headers: head.headers, body })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }
}

/// A `hello` that names the challenge that it answers.
pub fn answering(mut hello: Value, challenge: &str) -> Value {
    hello["challenge"] = challenge.into();
    hello
}

/// A link over HTTP: a poll is held all the time, and what is said goes out beside it.
pub struct HttpExtension {
    session: ExtensionSession,
    ears: Arc<Mutex<FrameInbox>>,
    heard: mpsc::UnboundedReceiver<Value>,
    polling: JoinHandle<()>,
    posts: u64,
}

/// What was heard: each frame once, in order, whichever answers bring it.
struct FrameInbox {
    after: u64,
    frames: mpsc::UnboundedSender<Value>,
}

impl FrameInbox {
    fn hear(&mut self, answer: &HttpAnswer) {
        let (frames, last) = answer.frames();
        let first = last + 1 - frames.len() as u64;
        for (number, frame) in (first..).zip(frames) {
            if number > self.after {
                self.after = number;
                // Whoever listened may have gone.
                let _ = self.frames.send(frame);
            }
        }
    }
}

impl HttpExtension {
    /// A proven one; `None` if the connection breaks. Each poll is broken off after what
    /// `patience` says, as a connection that is lost would be.
    pub async fn try_open(
        requests: &ExtensionSession,
        patience: impl FnMut() -> Duration + Send + 'static,
    ) -> Option<Self> {
        let session = requests.try_again().await?;
        let (frames, heard) = mpsc::unbounded_channel();
        let ears = Arc::new(Mutex::new(FrameInbox { after: 0, frames }));
        let polling = tokio::spawn(keep_polling(session.clone(), ears.clone(), patience));
        Some(Self { session, ears, heard, polling, posts: 0 })
    }

    /// The next frame; `None` once the session is over.
    ///
    /// Cancel safe.
    pub async fn try_next(&mut self) -> Option<Value> {
        self.heard.recv().await
    }

    /// Sends a frame; `None` once the session is over.
    pub async fn try_send(&mut self, frame: &Value) -> Option<()> {
        self.posts += 1;
        let after = self.ears.lock().unwrap().after;
        let body = json!({"n": self.posts, "after": after, "frames": [frame]}).to_string();
        let answer = self.session.ask(Method::POST, FRAMES_PATH, body.into_bytes()).await?;
        (answer.status == StatusCode::OK).then(|| self.ears.lock().unwrap().hear(&answer))
    }
}

impl Drop for HttpExtension {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

/// Polls until the session is over.
async fn keep_polling(
    session: ExtensionSession,
    ears: Arc<Mutex<FrameInbox>>,
    mut patience: impl FnMut() -> Duration,
) {
    loop {
        let after = ears.lock().unwrap().after;
        let query = format!("{FRAMES_PATH}?wait_ms=25000&after={after}");
        let poll = session.ask(Method::GET, &query, Vec::new());
        match tokio::time::timeout(patience(), poll).await {
            Ok(Some(answer)) if answer.status == StatusCode::OK => {
                ears.lock().unwrap().hear(&answer);
            }
            Ok(_over) => {
                let (nowhere, _) = mpsc::unbounded_channel();
                ears.lock().unwrap().frames = nowhere;
                return;
            }
            Err(_broken_off) => {}
        }
    }
}

/// The commands among frames.
pub fn commands(frames: &[Value]) -> Vec<DeliveredCommand> {
    frames.iter().filter(|frame| frame["type"] == "command").map(DeliveredCommand::of).collect()
}
