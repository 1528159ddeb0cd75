//! An extension that only polls, once a second or with `/sync`, and runs what it gets.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use testkit::load::{self, now};

/// How often it polls.
const INTERVAL: Duration = Duration::from_secs(1);

/// After this long at work it says so.
const PENDING: Duration = Duration::from_secs(3);

/// Extension ids have the letters from a to p, as other numbers have the digits of sixteen.
fn letter(digit: u32) -> char {
    char::from_u32(u32::from('a') + digit).unwrap_or('p')
}

/// The polling side of a pair.
pub(crate) struct Poller {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    extension_id: String,
    session: String,
    /// From when on it polls.
    since: Instant,
    /// Whether it polls with `/sync`.
    speaks_sync: bool,
    /// A command that came with the answer to a result.
    next: Option<Value>,
}

impl Poller {
    /// One of so many of its kind, each an extension of its own that the person has allowed.
    pub(crate) async fn connect(
        port: u16,
        home: &StateDirectory,
        number: usize,
        speaks_sync: bool,
    ) -> anyhow::Result<Self> {
        let letters = format!("{number:031x}");
        let letters = letters.chars().filter_map(|digit| digit.to_digit(16)).map(letter);
        let kind = if speaks_sync { 'p' } else { 'a' };
        let extension_id: String = std::iter::once(kind).chain(letters).collect();
        home.allow_extension(&extension_id)?;
        let stream = TokioIo::new(load::tcp(port).await?);
        let (sender, connection) = http1::handshake(stream).await?;
        tokio::spawn(connection);
        let mut poller = Self {
            sender,
            host: format!("127.0.0.1:{port}"),
            session: format!("ext_{number}"),
            extension_id,
            since: now(),
            speaks_sync,
            next: None,
        };
        if speaks_sync {
            // It brings a result that nobody knows, and so is not held.
            poller.next = poller.sync(&json!([{"id": "q_0"}])).await?;
            ensure!(poller.next.is_none(), "nothing was submitted yet");
            return Ok(poller);
        }
        let session = json!({"session_id": poller.session, "settings": {}});
        poller.post("/settings", &session).await?;
        ensure!(poller.poll().await?.is_none(), "nothing was submitted yet");
        Ok(poller)
    }

    /// What its browser is known by.
    pub(crate) fn browser(&self) -> String {
        format!("legacy-{}", self.extension_id)
    }

    /// Takes the next command and is at it for so long. When it had the command, and how long
    /// it took over it.
    pub(crate) async fn run_for(
        &mut self,
        length: Duration,
    ) -> anyhow::Result<(Instant, Duration)> {
        if self.speaks_sync {
            return self.run_synced(length).await;
        }
        let query = loop {
            self.until_next_poll().await;
            if let Some(query) = self.poll().await? {
                break query;
            }
        };
        let frame = now();
        let id = query["correlation_id"].as_str().context("no correlation id")?;
        tokio::time::sleep(length.min(PENDING)).await;
        if length > PENDING {
            self.post("/execute-result", &json!({"correlation_id": id, "status": "pending"}))
                .await?;
            tokio::time::sleep(length - PENDING).await;
        }
        let took = now() - frame;
        let result = json!({"success": true, "result": "Home Page"});
        let report = json!({"correlation_id": id, "status": "complete", "result": result});
        self.post("/execute-result", &report).await?;
        Ok((frame, took))
    }

    /// The same with `/sync`: its request is held until there is a command.
    async fn run_synced(&mut self, length: Duration) -> anyhow::Result<(Instant, Duration)> {
        let query = loop {
            if let Some(query) = self.next.take() {
                break query;
            }
            self.next = self.sync(&json!([])).await?;
        };
        let frame = now();
        tokio::time::sleep(length).await;
        let took = now() - frame;
        let result = json!({"success": true, "result": "Home Page"});
        let report = json!([{"id": query["id"], "status": "complete", "result": result}]);
        self.next = self.sync(&report).await?;
        Ok((frame, took))
    }

    /// One `/sync` with these results; the command that it is answered with.
    async fn sync(&mut self, results: &Value) -> anyhow::Result<Option<Value>> {
        let body = json!({
            "session_id": self.session, "extension_version": "6.0.3", "command_results": results,
        });
        let mut answer = self.post("/sync", &body).await?;
        Ok(answer["commands"].as_array_mut().context("no commands")?.pop())
    }

    /// It polls by the clock, also while nothing is asked for: a command comes at any time in
    /// between.
    async fn until_next_poll(&self) {
        let polls = (now() - self.since).as_nanos() / INTERVAL.as_nanos() + 1;
        let next = self.since + INTERVAL * u32::try_from(polls).unwrap_or(u32::MAX);
        tokio::time::sleep_until(next.into()).await;
    }

    async fn poll(&mut self) -> anyhow::Result<Option<Value>> {
        let request = Request::get("/pending-queries").header("x-gasoline-session", &self.session);
        let mut answer = self.send(request, String::new()).await?;
        Ok(answer["queries"].as_array_mut().context("no queries")?.pop())
    }

    async fn post(&mut self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = Request::post(path)
            .header(ORIGIN, format!("chrome-extension://{}", self.extension_id))
            .header(CONTENT_TYPE, "application/json");
        self.send(request, body.to_string()).await
    }

    async fn send(
        &mut self,
        request: axum::http::request::Builder,
        body: String,
    ) -> anyhow::Result<Value> {
        let request = request.header(HOST, &self.host).header("sec-fetch-site", "none");
        let request = request.body(Full::new(body.into()))?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(status == StatusCode::OK, "{status}: {}", String::from_utf8_lossy(&body));
        Ok(serde_json::from_slice(&body)?)
    }
}
