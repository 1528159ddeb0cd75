//! The load of the benchmarks: MCP clients and extensions, for the daemon and for a bare relay, the
//! servers that are measured, and what is said of the samples. Nothing here checks answers against
//! their schemas, which would be measured too.

mod agent;
mod figures;
mod idle;
mod pairs;
mod process;
mod relay;
mod run;

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use tabwire::proof::{self, DEFAULT_OWNER};
use tabwire::protocol::CLIENT_HEADER;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::{
    ExtensionBuilder, ExtensionIdentity, ExtensionSession, HttpExtension, active_tab, bearer, tab,
};
pub use agent::LoadAgent;
pub use figures::{CallSamples, SampleSeries, verdict};
pub use idle::IdleBrowsers;
pub use pairs::{LoadPairs, PairedDaemon};
pub use process::{MeasuredServer, resident};
use relay::READ_BUFFER;
pub use relay::run as run_bare_relay;
pub use run::run;

/// Arguments of a command that is claimed.
pub const SCRIPT: &str = r#""action":"execute_js","script":"document.title""#;

/// Arguments of a command that is not.
pub const SAFE: &str = r#""action":"page_info""#;

/// The result that the extension reports for each command.
pub const RESULT: &str = r#"{"success":true,"value":"Home Page","type":"string"}"#;

/// When the shim says that a command still runs.
const PENDING: Duration = Duration::from_secs(2);

/// A call of `interact` as it goes out.
pub fn interact(arguments: &str) -> Bytes {
    call("interact", arguments)
}

pub fn call(tool: &str, arguments: &str) -> Bytes {
    let name = format!(r#""name":"{tool}","arguments":{{{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{name}}}}}"#).into()
}

fn waiting(arguments: &str) -> Bytes {
    interact(&format!(r#"{arguments},"wait_ms":10000"#))
}

/// No poll is held longer.
const LONGEST_POLL: Duration = Duration::from_secs(30);

/// The MCP client.
pub struct LoadClient {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: String,
    /// What it calls itself.
    pub name: String,
    /// How long it does nothing before each call.
    pause: Duration,
}

impl LoadClient {
    pub async fn connect(port: u16, token: String, pause: Duration) -> anyhow::Result<Self> {
        let (sender, connection) = http1::handshake(TokioIo::new(tcp(port).await?)).await?;
        tokio::spawn(connection);
        let (host, name) = (format!("127.0.0.1:{port}"), "bench".to_owned());
        Ok(Self { sender, host, token, name, pause })
    }

    /// When the next call begins: after the pause.
    pub async fn begin(&self) -> Instant {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        now()
    }

    /// A request with the headers that an MCP client sends.
    pub fn request(&self, path: &str, body: Bytes) -> anyhow::Result<Request<Full<Bytes>>> {
        let request = Request::post(path)
            .header(HOST, &self.host)
            .header(AUTHORIZATION, bearer(&self.token))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .header(CLIENT_HEADER, &self.name);
        Ok(request.body(Full::new(body))?)
    }

    /// Sends a request; what it is answered.
    pub async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        // The task of the connection may not have run since the answer before.
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// Sends a request that has to succeed; its answer, and when it was there.
    pub async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> anyhow::Result<(Bytes, Instant)> {
        let (status, body) = self.ask(request).await?;
        let at = now();
        ensure!(status == StatusCode::OK, "{status}: {}", String::from_utf8_lossy(&body));
        Ok((body, at))
    }
}

/// The extension's end of the socket.
pub struct LoadExtension {
    carrier: Carrier,
    /// What it sends besides, while it waits for frames.
    flood: Option<LogFlood>,
}

enum Carrier {
    Socket(Box<WebSocketStream<TcpStream>>),
    Http(Box<HttpExtension>),
}

/// Log entries that a page writes, in batches.
struct LogFlood {
    every: tokio::time::Interval,
    batch: Utf8Bytes,
    /// How many entries were sent.
    sent: u64,
}

/// Entries of a batch: as many as a frame may have.
const BATCH: u64 = 200;

impl LogFlood {
    /// So many entries a second, each with a text of so many bytes.
    fn new(a_second: u64, bytes: usize) -> Self {
        let url = "http://127.0.0.1:8000/";
        let text = format!("request to {url}?token=abc took 12 ms {}", "x".repeat(bytes));
        let entry = json!({
            "t": 1_795_298_985_123_u64, "tab_id": 7, "level": "info", "source": "console",
            "text": text, "url": url, "script_url": format!("{url}app.js"), "line": 3,
        });
        let entries = vec![entry; BATCH as usize];
        let batch = json!({"type": "events", "stream": "logs", "entries": entries});
        let every = tokio::time::interval(Duration::from_secs(1) * BATCH as u32 / a_second as u32);
        Self { every, batch: batch.to_string().into(), sent: 0 }
    }
}

impl LoadExtension {
    pub async fn connect(port: u16, identity: &ExtensionIdentity) -> anyhow::Result<Self> {
        let mut this = Self::open(tcp(port).await?, identity).await?;
        this.introduce(identity).await?;
        Ok(this)
    }

    /// Opens the socket on a connection that is there, no more.
    pub async fn open(stream: TcpStream, identity: &ExtensionIdentity) -> anyhow::Result<Self> {
        let upgrade = identity.upgrade(identity.port);
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER).write_buffer_size(0);
        let handshake =
            tokio_tungstenite::client_async_with_config(upgrade, stream, Some(config)).await;
        Ok(Self { carrier: Carrier::Socket(Box::new(handshake?.0)), flood: None })
    }

    /// Connects over HTTP.
    pub async fn connect_http(identity: &ExtensionIdentity) -> anyhow::Result<Self> {
        let session = ExtensionSession::of(&ExtensionBuilder::with_identity(identity.clone()));
        let link =
            HttpExtension::try_open(&session, || LONGEST_POLL).await.context("no session")?;
        let mut this = Self { carrier: Carrier::Http(Box::new(link)), flood: None };
        this.ready().await?;
        Ok(this)
    }

    pub async fn text(&mut self) -> anyhow::Result<Utf8Bytes> {
        let socket = match &mut self.carrier {
            Carrier::Socket(socket) => socket,
            Carrier::Http(link) => {
                let frame = link.try_next().await.context("the session is over")?;
                return Ok(frame.to_string().into());
            }
        };
        loop {
            let message = match &mut self.flood {
                None => socket.next().await,
                Some(flood) => tokio::select! {
                    biased;
                    _ = flood.every.tick() => {
                        flood.sent += BATCH;
                        socket.send(Message::Text(flood.batch.clone())).await?;
                        continue;
                    }
                    message = socket.next() => message,
                },
            };
            let message = message.context("the socket was closed")??;
            let Message::Text(text) = message else { bail!("no text: {message}") };
            return Ok(text);
        }
    }

    pub async fn send(&mut self, text: String) -> anyhow::Result<()> {
        match &mut self.carrier {
            Carrier::Socket(socket) => Ok(socket.send(Message::text(text)).await?),
            Carrier::Http(link) => {
                link.try_send(&serde_json::from_str(&text)?).await.context("the session is over")
            }
        }
    }

    /// The next frame of one of these types; `ping` is answered.
    pub async fn frame(&mut self, wanted: &str) -> anyhow::Result<ReceivedFrame> {
        loop {
            let text = self.text().await?;
            let at = now();
            let ParsedFrame { kind, t, attempt, correlation_id, command } =
                serde_json::from_str(&text)?;
            if kind == wanted {
                let id = correlation_id.or(command.map(|command| command.correlation_id));
                let id = id.unwrap_or_default().into_owned();
                return Ok(ReceivedFrame { at, id, attempt });
            }
            ensure!(kind == "ping", "expected {wanted}: {text}");
            self.send(json!({"type": "pong", "t": t}).to_string()).await?;
        }
    }

    /// Proves itself on a socket that is open, and says that it is ready.
    pub async fn introduce(&mut self, identity: &ExtensionIdentity) -> anyhow::Result<()> {
        let challenge: Value = serde_json::from_str(&self.text().await?)?;
        let challenge = challenge["nonce"].as_str().context("no challenge")?;
        self.send(identity.hello_to(challenge).to_string()).await?;
        self.frame("welcome").await?;
        self.ready().await
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let ready = json!({
            "type": "ready", "label": "Bench", "user_agent": "Mozilla/5.0",
            "actions": ["execute_js", "navigate", "page_info", "screenshot", "tab_list"],
            "tabs": [active_tab(7), tab(8)],
            "in_flight": [],
        });
        self.send(ready.to_string()).await
    }

    /// Waits until the daemon has taken in that it is ready, which nothing answers: a report on a command
    /// that nobody knows comes behind it, and is refused.
    async fn until_ready(&mut self) -> anyhow::Result<()> {
        let id = format!("exec_1_{:032x}", 0);
        let fence = format!(r#""correlation_id":"{id}","attempt":1"#);
        self.send(format!(r#"{{"type":"complete",{fence},"result":{RESULT}}}"#)).await?;
        self.frame("nack").await.map(drop)
    }

    /// The next command, run as the shim does, for `length`: when it was there, and how
    /// long it really ran.
    pub async fn run_for(&mut self, length: Duration) -> anyhow::Result<(Instant, Duration)> {
        let ReceivedFrame { id, attempt, at } = self.frame("command").await?;
        let fence = format!(r#""correlation_id":"{id}","attempt":{attempt}"#);
        self.send(format!(r#"{{"type":"claim",{fence}}}"#)).await?;
        self.frame("go").await?;
        let began = now();
        tokio::time::sleep(length.min(PENDING)).await;
        if length > PENDING {
            self.send(format!(r#"{{"type":"pending",{fence}}}"#)).await?;
            tokio::time::sleep((began + length).saturating_duration_since(now())).await;
        }
        let took = now() - began;
        self.send(format!(r#"{{"type":"complete",{fence},"result":{RESULT}}}"#)).await?;
        self.frame("result_ack").await?;
        Ok((at, took))
    }

    /// Runs a command as the shim does, but in no time.
    async fn run(&mut self, command: &ReceivedFrame, is_safe: bool) -> anyhow::Result<()> {
        let ReceivedFrame { id, attempt, .. } = command;
        let fence = format!(r#""correlation_id":"{id}","attempt":{attempt}"#);
        if !is_safe {
            self.send(format!(r#"{{"type":"claim",{fence}}}"#)).await?;
            self.frame("go").await?;
        }
        self.send(format!(r#"{{"type":"complete",{fence},"result":{RESULT}}}"#)).await
    }
}

/// A frame from the daemon, and when it was there.
pub struct ReceivedFrame {
    pub at: Instant,
    pub id: String,
    pub attempt: u32,
}

/// What is read of a frame.
#[derive(Deserialize)]
struct ParsedFrame<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    t: u64,
    #[serde(default)]
    attempt: u32,
    #[serde(default, borrow)]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    command: Option<ParsedCommand<'a>>,
}

#[derive(Deserialize)]
struct ParsedCommand<'a> {
    #[serde(borrow)]
    correlation_id: Cow<'a, str>,
}

/// Both ends of the daemon.
pub struct DaemonSide {
    client: LoadClient,
    extension: LoadExtension,
    /// Arguments that name its browser, where there are others.
    target: String,
}

impl DaemonSide {
    /// The only one of its daemon.
    pub async fn connect(
        server: &MeasuredServer,
        home: &Path,
        pause: Duration,
    ) -> anyhow::Result<Self> {
        let pair = LoadPair::connect_as(server.port, &StateDirectory::open(home)?, "bench").await?;
        let LoadPair { mut client, extension, .. } = pair;
        client.pause = pause;
        Ok(Self { client, extension, target: String::new() })
    }

    /// One of many, each with a browser of its own.
    pub fn beside_others(pair: LoadPair, pause: Duration) -> Self {
        let LoadPair { mut client, extension, browser } = pair;
        client.pause = pause;
        Self { client, extension, target: target(&browser) }
    }

    /// Calls that are answered at once. Each command is brought to its end, and its result
    /// read, before the next one; that is not measured.
    pub async fn submits(&mut self, calls: usize, to: &mut CallSamples) -> anyhow::Result<()> {
        let body = interact(&format!("{SCRIPT}{}", self.target));
        for _ in 0..calls {
            let request = self.client.request("/mcp", body.clone())?;
            let began = self.client.begin().await;
            let (answered, command) =
                tokio::try_join!(self.client.send(request), self.extension.frame("command"))?;
            to.frame.add(command.at - began);
            to.answer.add(answered.1 - began);
            self.extension.run(&command, false).await?;
            self.extension.frame("result_ack").await?;
            let read = format!(r#""what":"command_result","correlation_id":"{}""#, command.id);
            let request = self.client.request("/mcp", call("observe", &read))?;
            check_complete(&self.client.send(request).await?.0)?;
        }
        Ok(())
    }

    /// Calls that wait for their result.
    pub async fn waits(
        &mut self,
        arguments: &str,
        calls: usize,
        to: &mut CallSamples,
    ) -> anyhow::Result<()> {
        let body = waiting(&format!("{arguments}{}", self.target));
        let Self { client, extension, .. } = self;
        for _ in 0..calls {
            let request = client.request("/mcp", body.clone())?;
            let began = client.begin().await;
            let ran = async {
                let command = extension.frame("command").await?;
                extension.run(&command, arguments == SAFE).await?;
                Ok(command)
            };
            let (answered, command) = tokio::try_join!(client.send(request), ran)?;
            to.frame.add(command.at - began);
            to.answer.add(answered.1 - began);
            extension.frame("result_ack").await?;
            check_complete(&answered.0)?;
        }
        Ok(())
    }
}

/// One of many clients, with a browser of its own.
pub struct LoadPair {
    client: LoadClient,
    extension: LoadExtension,
    browser: String,
}

/// Arguments that name a browser, and its tab.
fn target(browser: &str) -> String {
    format!(r#","browser":"{browser}","tab_id":7"#)
}

impl LoadPair {
    pub async fn connect(port: u16, home: &StateDirectory, number: usize) -> anyhow::Result<Self> {
        let mut pair = Self::connect_as(port, home, &format!("browser-{number}")).await?;
        pair.client.name = format!("client-{number}");
        Ok(pair)
    }

    /// A pair whose browser has this name.
    pub async fn connect_as(
        port: u16,
        home: &StateDirectory,
        browser: &str,
    ) -> anyhow::Result<Self> {
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let mut client = LoadClient::connect(port, token, Duration::ZERO).await?;
        // The daemon lets only so many connections stand that have not shown a token.
        let hello = client.request("/mcp", call("configure", r#""action":"health""#))?;
        client.send(hello).await?;
        let identity = ExtensionIdentity::new(port, home, browser);
        let mut extension = LoadExtension::connect(port, &identity).await?;
        extension.until_ready().await?;
        Ok(Self { client, extension, browser: browser.to_owned() })
    }

    fn body(&self, more: &str) -> Bytes {
        interact(&format!("{SCRIPT}{}{more}", target(&self.browser)))
    }

    /// Calls that wait for their result, one after the other, until `end`.
    pub async fn work(&mut self, end: Instant, took: &mut SampleSeries) -> anyhow::Result<()> {
        let body = self.body(r#","wait_ms":10000"#);
        while now() < end {
            self.one(&body, took).await?;
        }
        Ok(())
    }

    /// One call that waits for its result.
    async fn one(&mut self, body: &Bytes, took: &mut SampleSeries) -> anyhow::Result<()> {
        let Self { client, extension, .. } = self;
        let request = client.request("/mcp", body.clone())?;
        let began = now();
        let ran = async {
            let command = extension.frame("command").await?;
            extension.run(&command, false).await
        };
        let (answered, ()) = tokio::try_join!(client.send(request), ran)?;
        took.add(answered.1 - began);
        extension.frame("result_ack").await?;
        Ok(())
    }

    /// Calls itself something else from now on.
    pub fn rename(&mut self, client: String) {
        self.client.name = client;
    }

    /// So many calls that wait for their result, one after the other.
    pub async fn repeat(&mut self, calls: usize) -> anyhow::Result<()> {
        let body = self.body(r#","wait_ms":10000"#);
        for _ in 0..calls {
            self.one(&body, &mut SampleSeries::default()).await?;
        }
        Ok(())
    }

    /// Has its page write log entries from now on, while it works or waits.
    pub fn flood(&mut self, a_second: u64, bytes: usize) {
        self.extension.flood = Some(LogFlood::new(a_second, bytes));
    }

    /// Ends that. How many were sent.
    pub fn stop_flood(&mut self) -> u64 {
        self.extension.flood.take().map_or(0, |flood| flood.sent)
    }

    /// Waits, and has no commands, until `end`.
    pub async fn wait(&mut self, end: Instant) -> anyhow::Result<()> {
        match tokio::time::timeout_at(end.into(), self.extension.frame("command")).await {
            Ok(Ok(command)) => bail!("nobody has called {}", command.id),
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Submits commands that stay where they are: nobody claims them.
    pub async fn pile_up(&mut self, commands: usize) -> anyhow::Result<()> {
        let body = self.body(r#","timeout_ms":300000"#);
        for _ in 0..commands {
            let request = self.client.request("/mcp", body.clone())?;
            let (answer, _) = self.client.send(request).await?;
            let answer = String::from_utf8_lossy(&answer);
            ensure!(answer.contains(r#""status":"queued""#), "not taken: {answer}");
        }
        Ok(())
    }
}

pub fn check_complete(answer: &[u8]) -> anyhow::Result<()> {
    let answer = String::from_utf8_lossy(answer);
    // A call that has waited is told the value alone, one that reads a result its status too.
    let is_complete = answer.contains(r#"{"result":"#) || answer.contains(r#""status":"complete""#);
    ensure!(is_complete, "not complete: {answer}");
    Ok(())
}

/// Both ends of the relay.
pub struct RelaySide {
    client: LoadClient,
    extension: LoadExtension,
}

impl RelaySide {
    /// The end of one of the relay's ports.
    pub async fn connect(port: u16, pause: Duration) -> anyhow::Result<Self> {
        // A token of the daemon's length, so that requests have the same bytes.
        let client = LoadClient::connect(port, proof::nonce(), pause).await?;
        // The relay looks at no proof, so any key will do.
        let folder = tempfile::tempdir()?;
        // A folder that others can list is refused, so it makes its own.
        let home = StateDirectory::open(&folder.path().join("state"))?;
        let identity = ExtensionIdentity::new(port, &home, "bench");
        let extension = LoadExtension::open(tcp(port).await?, &identity).await?;
        Ok(Self { client, extension })
    }

    /// Posts of which nothing follows.
    pub async fn empty_posts(&mut self, calls: usize, to: &mut SampleSeries) -> anyhow::Result<()> {
        let body = interact(SCRIPT);
        for _ in 0..calls {
            let request = self.client.request("/empty", body.clone())?;
            let began = self.client.begin().await;
            to.add(self.client.send(request).await?.1 - began);
        }
        Ok(())
    }

    /// Posts that are handed on and answered at once.
    pub async fn submits(&mut self, calls: usize, to: &mut CallSamples) -> anyhow::Result<()> {
        let body = interact(SCRIPT);
        for _ in 0..calls {
            let request = self.client.request("/submit", body.clone())?;
            let began = self.client.begin().await;
            let seen = async {
                self.extension.text().await?;
                Ok(now())
            };
            let (answered, seen) = tokio::try_join!(self.client.send(request), seen)?;
            to.frame.add(seen - began);
            to.answer.add(answered.1 - began);
        }
        Ok(())
    }

    /// Posts that are answered with what comes back.
    pub async fn waits(&mut self, calls: usize, to: &mut CallSamples) -> anyhow::Result<()> {
        let body = waiting(SCRIPT);
        for _ in 0..calls {
            let request = self.client.request("/wait", body.clone())?;
            let began = self.client.begin().await;
            let replied = async {
                self.extension.text().await?;
                let seen = now();
                self.extension.send(format!(r#"{{"type":"complete","result":{RESULT}}}"#)).await?;
                Ok(seen)
            };
            let (answered, seen) = tokio::try_join!(self.client.send(request), replied)?;
            to.frame.add(seen - began);
            to.answer.add(answered.1 - began);
        }
        Ok(())
    }
}

pub async fn tcp(port: u16) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The time.
#[expect(clippy::disallowed_methods, reason = "a measurement reads clocks")]
pub fn now() -> Instant {
    Instant::now()
}
