//! The bridge's way to the daemon: finds it, starts it if there is none, and sends it
//! requests.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::home::{DaemonRecord, Home, HomeError};
use crate::mcp::LEGACY_VERSIONS;
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{CLIENT_HEADER, EARLY_HEADER, SERVER_VERSION};

/// How long a daemon may take to start.
const START: Duration = Duration::from_secs(10);

/// How long a daemon may take to say whether it has anything to do.
const ASK: Duration = Duration::from_secs(2);

/// How often, and how far apart, a daemon that is just starting or ending is looked for.
const RECORD_LOOKS: u32 = 200;
const RECORD_LOOK: Duration = Duration::from_millis(10);

/// How much of the log's end is looked through for the reason of a failed start.
const LOG_TAIL: usize = 4096;

/// Which daemon the bridge is for.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its state directory.
    pub home: PathBuf,
    /// The port that it is started on; 0 for any that is free.
    pub port: u16,
    /// What the bridge calls itself.
    pub client: String,
    /// The program to start it with.
    pub program: PathBuf,
}

/// The headers of a forwarded request.
pub(super) struct Headers {
    /// Whether the status is to come as soon as the command is accepted.
    pub(super) early: bool,
    pub(super) version: &'static str,
    pub(super) method: Option<String>,
    pub(super) name: Option<String>,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    /// There is no daemon, and none could be started.
    #[error("the Tabwire daemon cannot be started: {0}")]
    NoDaemon(String),
    /// The daemon went away in the middle.
    #[error("the Tabwire daemon went away before it answered ({detail})")]
    Lost {
        /// What broke.
        detail: String,
        /// Whether the request may have been taken.
        may_be_taken: bool,
    },
    /// The daemon took too long.
    #[error("the Tabwire daemon did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The daemon refused the request before it looked at what it says.
    #[error("the Tabwire daemon refused the request")]
    Refused {
        /// What it said.
        body: Value,
    },
}

impl Unanswered {
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::NoDaemon(_) => "no_daemon",
            Self::Lost { .. } => "daemon_lost",
            Self::TimedOut(_) => "daemon_timeout",
            Self::Refused { .. } => "refused",
        }
    }

    pub(super) const fn hint(&self) -> &'static str {
        match self {
            Self::NoDaemon(_) => "Run `tabwire serve` in a terminal: it says what is wrong.",
            Self::Lost { may_be_taken: true, .. } | Self::TimedOut(_) => {
                "The command may have been taken: look at observe({what:\"pending_commands\"}) and \
                 at the page before you call again."
            }
            Self::Lost { .. } | Self::Refused { .. } => "Call again.",
        }
    }
}

/// The way to the daemon. It knows where the daemon is once it was found.
pub(super) struct DaemonLink {
    target: Target,
    client: Client<HttpConnector, Full<Bytes>>,
    found: Mutex<Option<Found>>,
}

#[derive(Clone)]
struct Found {
    record: DaemonRecord,
    url: String,
    authorization: String,
}

impl Found {
    fn at(record: DaemonRecord, home: &Home) -> Self {
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let url = format!("http://127.0.0.1:{}/mcp", record.port);
        Self { record, url, authorization: format!("Bearer {token}") }
    }
}

/// An answer whose status and headers have come.
pub(super) struct Reply {
    response: Response<Incoming>,
    /// Whether what it answers may have been taken, should the rest of it not come.
    may_be_taken: bool,
}

impl Reply {
    /// The JSON-RPC message, byte for byte.
    pub(super) async fn text(self) -> Result<String, Unanswered> {
        let Self { response, may_be_taken } = self;
        let status = response.status();
        let lost = |detail: String| Unanswered::Lost { detail, may_be_taken };
        let body = response.into_body().collect().await.map_err(|error| lost(error.to_string()))?;
        let text = String::from_utf8(body.to_bytes().into())
            .map_err(|_| lost("its answer is not UTF-8".to_owned()))?;
        if status == StatusCode::OK {
            return Ok(text);
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(message) if message.get("jsonrpc").is_some() => Ok(text),
            Ok(body) if body.is_object() => Err(Unanswered::Refused { body }),
            Ok(_) | Err(_) => {
                let body = json!({"error": "refused", "message": format!("HTTP status {status}")});
                Err(Unanswered::Refused { body })
            }
        }
    }
}

impl DaemonLink {
    pub(super) fn new(target: Target) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Self { target, client, found: Mutex::new(None) }
    }

    /// Sends a request; returns when its status and headers have come, which for a
    /// submission means that it is accepted.
    ///
    /// A daemon that is gone is looked for, or started, once more. A submission that
    /// may have been taken is not sent again.
    pub(super) async fn send(
        &self,
        line: Vec<u8>,
        headers: Headers,
        is_submit: bool,
    ) -> Result<Reply, Unanswered> {
        let line = Bytes::from(line);
        let mut gone: Option<DaemonRecord> = None;
        loop {
            let found = self.find(gone.as_ref()).await?;
            let request = request(&found, &self.target.client, line.clone(), &headers)
                .map_err(|error| Unanswered::NoDaemon(error.to_string()))?;
            let error = match self.client.request(request).await {
                Ok(response) => return Ok(Reply { response, may_be_taken: is_submit }),
                Err(error) => error,
            };
            *self.found.lock().await = None;
            let was_sent = !error.is_connect();
            let detail = error.to_string();
            if gone.is_some() || (was_sent && is_submit) {
                return Err(Unanswered::Lost { detail, may_be_taken: was_sent && is_submit });
            }
            gone = Some(found.record);
        }
    }

    /// Where the daemon is; starts one if none runs. Of several bridges one starts it.
    /// `gone` is one that has just failed.
    async fn find(&self, gone: Option<&DaemonRecord>) -> Result<Found, Unanswered> {
        let mut known = self.found.lock().await;
        if let Some(found) = &*known {
            return Ok(found.clone());
        }
        let failed = |error: HomeError| Unanswered::NoDaemon(error.to_string());
        let home = Home::open(&self.target.home).map_err(failed)?;
        // A daemon that was killed holds its lock a moment longer than its sockets.
        for _ in 0..RECORD_LOOKS {
            if gone.is_none() || running(&home).map_err(failed)?.as_ref() != gone {
                break;
            }
            tokio::time::sleep(RECORD_LOOK).await;
        }
        let mut found = match running(&home).map_err(failed)? {
            Some(record) => Found::at(record, &home),
            None => Found::at(self.start(&home, self.target.port).await?, &home),
        };
        if is_newer(SERVER_VERSION, &found.record.version) && self.is_free(&found).await {
            found = self.replace(&home, found.record).await?;
        }
        *known = Some(found.clone());
        Ok(found)
    }

    /// Whether an older daemon has nothing to do, so that it can be replaced.
    async fn is_free(&self, found: &Found) -> bool {
        let health = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {
            "name": "configure", "arguments": {"action": "health"},
        }});
        let headers =
            Headers { early: false, version: LEGACY_VERSIONS[0], method: None, name: None };
        let line = Bytes::from(health.to_string());
        let asked = async {
            let request = request(found, &self.target.client, line, &headers).ok()?;
            let response = self.client.request(request).await.ok()?;
            let reply = Reply { response, may_be_taken: false };
            let answer: Value = serde_json::from_str(&reply.text().await.ok()?).ok()?;
            answer["result"]["structuredContent"]["pending"].as_u64()
        };
        tokio::time::timeout(ASK, asked).await.ok().flatten() == Some(0)
    }

    /// Asks an older daemon to end, and starts one of this version on its port, where
    /// the extension looks for it.
    async fn replace(&self, home: &Home, old: DaemonRecord) -> Result<Found, Unanswered> {
        tracing::info!(old = old.version, new = SERVER_VERSION, "replacing an older daemon");
        let failed = |error: HomeError| Unanswered::NoDaemon(error.to_string());
        let pid = i32::try_from(old.pid).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // The lock was held, so it is the process that the record names.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        for _ in 0..RECORD_LOOKS {
            if !home.has_daemon().map_err(failed)? {
                break;
            }
            tokio::time::sleep(RECORD_LOOK).await;
        }
        Ok(Found::at(self.start(home, old.port).await?, home))
    }

    async fn start(&self, home: &Home, port: u16) -> Result<DaemonRecord, Unanswered> {
        let dir = home.dir().to_owned();
        let no_daemon = |error: String| Unanswered::NoDaemon(error);
        let lock = tokio::task::spawn_blocking(move || Home::open(&dir)?.lock_start()).await;
        let _lock = lock
            .map_err(|error| no_daemon(error.to_string()))?
            .map_err(|error| no_daemon(error.to_string()))?;
        // A daemon that has the lock but does not listen yet says where in a moment.
        for _ in 0..RECORD_LOOKS {
            let failed = |error: HomeError| no_daemon(error.to_string());
            if let Some(record) = running(home).map_err(failed)? {
                return Ok(record);
            }
            if !home.has_daemon().map_err(failed)? {
                break;
            }
            tokio::time::sleep(RECORD_LOOK).await;
        }
        let started = tokio::time::timeout(START, self.spawn(home, port)).await;
        match started {
            Ok(Ok(record)) => Ok(record),
            Ok(Err(error)) => Err(no_daemon(error.to_string())),
            Err(_elapsed) => {
                Err(no_daemon(format!("it was not ready within {} s", START.as_secs())))
            }
        }
    }

    /// Starts a daemon of its own session, which says on its standard output where it
    /// listens.
    async fn spawn(&self, home: &Home, port: u16) -> io::Result<DaemonRecord> {
        let log = open_log(home)?;
        let mut daemon = Command::new(&self.target.program)
            .args(["serve", "--detach", "--json", "--port", &port.to_string()])
            .env("TABWIRE_HOME", &self.target.home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let mut said = String::new();
        if let Some(stdout) = daemon.stdout.take() {
            BufReader::new(stdout).read_line(&mut said).await?;
        }
        serde_json::from_str(&said).map_err(|_| match said.trim() {
            "" => io::Error::other(last_words(home)),
            said => io::Error::other(said.to_owned()),
        })
    }
}

/// The daemon that runs on this state directory. Its lock shows that the record is its
/// own: nobody else gets to see the token.
fn running(home: &Home) -> Result<Option<DaemonRecord>, HomeError> {
    if home.has_daemon()? { home.daemon_record() } else { Ok(None) }
}

/// Whether version `a` is newer than `b`, both like `1.2.3`.
fn is_newer(a: &str, b: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u32>> {
        version.split('.').map(|number| number.parse().ok()).collect()
    };
    matches!((numbers(a), numbers(b)), (Some(a), Some(b)) if a > b)
}

fn open_log(home: &Home) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(home.log_path())
}

/// The last line of the daemon's log.
fn last_words(home: &Home) -> String {
    let log = std::fs::read(home.log_path()).unwrap_or_default();
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_TAIL)..]).into_owned();
    let last = tail.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "it ended without a word".to_owned(), |line| line.trim().to_owned())
}

fn request(
    found: &Found,
    client: &str,
    line: Bytes,
    headers: &Headers,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::post(&found.url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .header(AUTHORIZATION, &found.authorization)
        .header(CLIENT_HEADER, client)
        .header("mcp-protocol-version", headers.version);
    if headers.early {
        request = request.header(EARLY_HEADER, "1");
    }
    if let Some(method) = &headers.method {
        request = request.header("mcp-method", method);
    }
    if let Some(name) = &headers.name {
        request = request.header("mcp-name", name);
    }
    request.body(Full::new(line))
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn only_a_newer_version_replaces_an_older_one() {
        assert!(is_newer("0.2.0", "0.1.9"));
        assert!(is_newer("0.10.0", "0.9.0"));
        assert!(!is_newer("0.1.0", "0.1.0"));
        assert!(!is_newer("0.1.0", "0.2.0"));
        assert!(!is_newer("0.1.0", "nightly"));
    }
}
