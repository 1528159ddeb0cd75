//! The extension's link over HTTP: one connection that polls, one that posts.

use anyhow::{Context as _, ensure};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tabwire::protocol::{EXTENSION_ID, FRAMES_PATH, SESSION_PATH};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::tcp;

/// What is heard over HTTP, and said.
pub(super) struct HttpCarrier {
    requests: Requests,
    challenge: String,
    /// What was heard before the session.
    first: VecDeque<String>,
    ears: Arc<Mutex<Ears>>,
    heard: mpsc::UnboundedReceiver<String>,
    polling: Option<JoinHandle<anyhow::Result<()>>>,
    posts: u64,
}

/// Each frame once, whichever answers bring it.
struct Ears {
    after: u64,
    frames: mpsc::UnboundedSender<String>,
}

/// What answers bring.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    frames: Vec<&'a RawValue>,
    last: u64,
}

/// One connection.
struct Requests {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: String,
}

impl Requests {
    async fn connect(port: u16, token: String) -> anyhow::Result<Self> {
        let (sender, connection) = http1::handshake(TokioIo::new(tcp(port).await?)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: format!("127.0.0.1:{port}"), token })
    }

    async fn post(&mut self, path: &str, body: String) -> anyhow::Result<Bytes> {
        let request = Request::post(path)
            .header(ORIGIN, format!("chrome-extension://{EXTENSION_ID}"))
            .header(CONTENT_TYPE, "application/json");
        self.send(request, body).await
    }

    async fn send(
        &mut self,
        request: axum::http::request::Builder,
        body: String,
    ) -> anyhow::Result<Bytes> {
        let mut request = request.header(HOST, &self.host).header("sec-fetch-site", "none");
        if !self.token.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {}", self.token));
        }
        let response = self.sender.send_request(request.body(Full::new(body.into()))?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(status == StatusCode::OK, "{status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }
}

impl Ears {
    fn hear(&mut self, answer: &[u8]) -> anyhow::Result<()> {
        let Answer { frames, last } = serde_json::from_slice(answer)?;
        let first = last + 1 - frames.len() as u64;
        for (number, frame) in (first..).zip(frames) {
            if number > self.after {
                self.after = number;
                self.frames.send(frame.get().to_owned())?;
            }
        }
        Ok(())
    }
}

impl HttpCarrier {
    pub(super) async fn connect(port: u16) -> anyhow::Result<Self> {
        let mut requests = Requests::connect(port, String::new()).await?;
        let challenge = requests.post(SESSION_PATH, r#"{"type":"start"}"#.to_owned()).await?;
        let text = String::from_utf8(challenge.to_vec())?;
        let challenge: serde_json::Value = serde_json::from_str(&text)?;
        let (frames, heard) = mpsc::unbounded_channel();
        Ok(Self {
            requests,
            challenge: challenge["nonce"].as_str().context("no challenge")?.to_owned(),
            first: [text].into(),
            ears: Arc::new(Mutex::new(Ears { after: 0, frames })),
            heard,
            polling: None,
            posts: 0,
        })
    }

    pub(super) async fn text(&mut self) -> anyhow::Result<String> {
        match self.first.pop_front() {
            Some(text) => Ok(text),
            None => self.heard.recv().await.context("the session is over"),
        }
    }

    pub(super) async fn send(&mut self, text: &str) -> anyhow::Result<()> {
        if self.polling.is_none() {
            return self.greet(text).await;
        }
        self.posts += 1;
        let after = self.ears().after;
        let body = format!(r#"{{"n":{},"after":{after},"frames":[{text}]}}"#, self.posts);
        let answer = self.requests.post(FRAMES_PATH, body).await?;
        self.ears().hear(&answer)
    }

    fn ears(&self) -> std::sync::MutexGuard<'_, Ears> {
        self.ears.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The first that is said is `hello`.
    async fn greet(&mut self, hello: &str) -> anyhow::Result<()> {
        let mut hello: serde_json::Value = serde_json::from_str(hello)?;
        hello["challenge"] = self.challenge.as_str().into();
        let welcome = self.requests.post(SESSION_PATH, hello.to_string()).await?;
        let text = String::from_utf8(welcome.to_vec())?;
        let welcome: serde_json::Value = serde_json::from_str(&text)?;
        self.requests.token = welcome["session"].as_str().context("no session")?.to_owned();
        self.first.push_back(text);
        let port = self.requests.host.rsplit(':').next().context("no port")?.parse()?;
        let polls = Requests::connect(port, self.requests.token.clone()).await?;
        self.polling = Some(tokio::spawn(keep_polling(polls, self.ears.clone())));
        Ok(())
    }
}

impl Drop for HttpCarrier {
    fn drop(&mut self) {
        if let Some(polling) = &self.polling {
            polling.abort();
        }
    }
}

async fn keep_polling(mut polls: Requests, ears: Arc<Mutex<Ears>>) -> anyhow::Result<()> {
    let lock = || ears.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    loop {
        let path = format!("{FRAMES_PATH}?wait_ms=25000&after={}", lock().after);
        let answer = polls.send(Request::get(path), String::new()).await?;
        lock().hear(&answer)?;
    }
}
