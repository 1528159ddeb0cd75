//! HTTP requests to a running daemon.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::owner::listed_owner;
use super::{ExitFailure, NOT_RUNNING};
use crate::config::DaemonLocation;
use crate::daemon_connector::DaemonConnector;
use crate::home::{DaemonRecord, StateDirectory};
use crate::mcp::{LEGACY_VERSIONS, body_of};
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{CLIENT_HEADER, DOCTOR_CLIENT, Owner};

/// Time limit of requests that the daemon answers from memory.
const ANSWER: Duration = Duration::from_secs(3);

/// Added to the time that a tool call may take.
const GRACE: Duration = Duration::from_secs(2);

/// Sends requests to one daemon.
pub(super) struct DaemonClient {
    pub(super) record: DaemonRecord,
    http: Client<DaemonConnector, Full<Bytes>>,
    authorization: String,
}

/// A response whose body is JSON.
#[derive(Debug)]
pub(super) struct DaemonAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum DaemonClientError {
    #[error("no program listens on port {0}")]
    Nobody(u16),
    #[error("the daemon (process {pid}, port {port}) does not answer within {} s", .waited.as_secs())]
    TimedOut { pid: u32, port: u16, waited: Duration },
    #[error("cannot read the daemon's answer: {0}")]
    Broken(String),
}

impl DaemonClient {
    /// A client for the daemon of this location.
    pub(super) fn of(location: &DaemonLocation) -> anyhow::Result<Self> {
        Self::of_owner(location, &DEFAULT_OWNER.into())
    }

    /// The same with the token of this owner.
    pub(super) fn of_owner(location: &DaemonLocation, owner: &Owner) -> anyhow::Result<Self> {
        let (home, record) = Self::running(location)?;
        let owner = listed_owner(&home, owner.as_str())?;
        let token = home.auth().token(&owner);
        Ok(Self::with_token(&home, record, &token))
    }

    /// The same with the key that opens the dashboard.
    pub(super) fn for_dashboard(location: &DaemonLocation) -> anyhow::Result<Self> {
        let (home, record) = Self::running(location)?;
        Ok(Self::with_token(&home, record, &home.auth().dashboard_key()))
    }

    /// The same with the token that reads metrics.
    pub(super) fn for_metrics(location: &DaemonLocation) -> anyhow::Result<Self> {
        let (home, record) = Self::running(location)?;
        Ok(Self::with_token(&home, record, &home.auth().metrics_token()))
    }

    fn running(location: &DaemonLocation) -> anyhow::Result<(StateDirectory, DaemonRecord)> {
        let dir = location.home()?;
        let home = StateDirectory::find(&dir)?;
        let not_running = |message: String| ExitFailure { code: NOT_RUNNING, message };
        // `find` creates no state directory: a question must not leave one behind.
        let Some(home) = home else {
            return Err(not_running(format!(
                "no daemon runs, and none has ever used {}",
                dir.display()
            ))
            .into());
        };
        if !home.has_daemon()? {
            return Err(not_running(
                "no daemon runs; `tabwire serve` or a client's first call starts one".to_owned(),
            )
            .into());
        }
        let record = home.daemon_record()?;
        let record =
            // A daemon takes the lock before it writes its record.
            record.ok_or_else(|| not_running("a daemon is starting; try again".to_owned()))?;
        Ok((home, record))
    }

    /// A client for the daemon of this record. A daemon must hold the lock of the state directory:
    /// otherwise another program may listen on the port and would get the token.
    pub(super) fn new(home: &StateDirectory, record: DaemonRecord) -> Self {
        Self::with_token(home, record, &home.auth().token(&DEFAULT_OWNER.into()))
    }

    fn with_token(home: &StateDirectory, record: DaemonRecord, token: &str) -> Self {
        let connector = DaemonConnector::new(home.dir());
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Self { record, http, authorization: format!("Bearer {token}") }
    }

    /// Sends a GET request.
    pub(super) async fn get(&self, path: &str) -> Result<DaemonAnswer, DaemonClientError> {
        let request = self.request("GET", path).body(Full::default());
        self.within(ANSWER, read(self.send(request))).await
    }

    /// Sends a GET request whose answer is text.
    pub(super) async fn text(&self, path: &str) -> anyhow::Result<String> {
        let response = self.stream(path).await?;
        let status = response.status();
        let broken = |error: hyper::Error| DaemonClientError::Broken(error.to_string());
        let reading = async { response.into_body().collect().await.map_err(broken) };
        let body = self.within(ANSWER, reading).await?.to_bytes();
        if !status.is_success() {
            // The daemon is an older one, which has no such route.
            let said = String::from_utf8_lossy(&body).into_owned();
            return Err(DaemonClientError::Broken(format!("{status}: {said}")).into());
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Sends a POST request.
    pub(super) async fn post(&self, path: &str) -> Result<DaemonAnswer, DaemonClientError> {
        let request = self.request("POST", path).header(CONTENT_TYPE, "application/json");
        self.within(ANSWER, read(self.send(request.body(Full::default())))).await
    }

    /// Sends a POST request with this body.
    pub(super) async fn post_json(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<DaemonAnswer, DaemonClientError> {
        let request = self.request("POST", path).header(CONTENT_TYPE, "application/json");
        self.within(ANSWER, read(self.send(request.body(Full::from(body.to_string()))))).await
    }

    /// Sends a GET request whose response body goes on until the daemon ends.
    pub(super) async fn stream(&self, path: &str) -> Result<Response<Incoming>, DaemonClientError> {
        let request = self.request("GET", path).body(Full::default());
        self.within(ANSWER, self.send(request)).await
    }

    /// Calls a tool, which may take as long as `takes`, and returns the body of its answer.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Value,
        takes: Duration,
    ) -> Result<Value, DaemonClientError> {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        });
        let request = self
            .request("POST", "/mcp")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            // The legacy protocol needs no session here, so one request is a whole call.
            .header("mcp-protocol-version", LEGACY_VERSIONS[0])
            .header(CLIENT_HEADER, DOCTOR_CLIENT)
            .body(Full::from(call.to_string()));
        let answer = self.within(takes + GRACE, read(self.send(request))).await?;
        let body = body_of(&answer.body["result"]);
        body.ok_or_else(|| DaemonClientError::Broken(answer.body.to_string()))
    }

    fn request(&self, method: &str, path: &str) -> hyper::http::request::Builder {
        let port = self.record.port;
        Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{port}{path}"))
            .header(AUTHORIZATION, &self.authorization)
    }

    async fn send(
        &self,
        request: Result<Request<Full<Bytes>>, hyper::http::Error>,
    ) -> Result<Response<Incoming>, DaemonClientError> {
        let request = request.map_err(|error| DaemonClientError::Broken(error.to_string()))?;
        self.http.request(request).await.map_err(|error| {
            // A refused connection has another remedy than a broken answer: no daemon is there.
            if error.is_connect() {
                DaemonClientError::Nobody(self.record.port)
            } else {
                DaemonClientError::Broken(error.to_string())
            }
        })
    }

    async fn within<T>(
        &self,
        waited: Duration,
        asking: impl Future<Output = Result<T, DaemonClientError>>,
    ) -> Result<T, DaemonClientError> {
        let DaemonRecord { pid, port, .. } = self.record;
        let timed_out = |_elapsed| Err(DaemonClientError::TimedOut { pid, port, waited });
        tokio::time::timeout(waited, asking).await.unwrap_or_else(timed_out)
    }
}

async fn read(
    asking: impl Future<Output = Result<Response<Incoming>, DaemonClientError>>,
) -> Result<DaemonAnswer, DaemonClientError> {
    let response = asking.await?;
    let status = response.status();
    let broken = |error: String| DaemonClientError::Broken(error);
    let body = response.into_body().collect().await.map_err(|error| broken(error.to_string()))?;
    let body = serde_json::from_slice(&body.to_bytes());
    Ok(DaemonAnswer { status, body: body.map_err(|error| broken(error.to_string()))? })
}

impl DaemonAnswer {
    /// The body, if the daemon has answered with 200.
    pub(super) fn ok(self) -> anyhow::Result<Value> {
        let Self { status, body } = self;
        if status == StatusCode::OK {
            return Ok(body);
        }
        let message = body["message"].as_str().unwrap_or("it gave no reason");
        let next = body["hint"].as_str().unwrap_or("Run `tabwire doctor` to find the cause");
        anyhow::bail!("the daemon rejected the request ({status}): {message}. {next}")
    }
}
