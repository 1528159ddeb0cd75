//! Calls over HTTP: MCP as a client speaks it, each on a connection of its own.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tabwire::hub::{Caller, Submission};
use tabwire::protocol::{CLIENT_HEADER, IDEMPOTENCY_HEADER};
use tokio::task::spawn_local;
use tokio::time::timeout;
use turmoil::net::TcpStream;

use super::agents::Lost;
use super::daemon::Call;
use super::world::{DAEMON, PORT, World};
use testkit::{bearer, check_answer};

/// How long an answer is waited for beyond what the call itself may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// An HTTP client of an owner.
pub(super) struct Http {
    token: String,
    client: String,
}

impl Http {
    pub(super) fn new(world: &Rc<World>, caller: &Caller) -> Self {
        let token = world.home().auth().token(&caller.owner);
        Self { token, client: caller.client.to_string() }
    }

    /// Calls a tool; what it answers as data.
    pub(super) async fn call(&self, call: Call) -> Result<Value, Lost> {
        let key = match &call {
            Call::Submit(submission) => submission.idempotency_key.clone(),
            Call::Look(_) | Call::Wait(..) | Call::Cancel(_) => None,
        };
        let (tool, arguments, wait) = match call {
            Call::Submit(submission) => ("interact", arguments(&submission), Duration::ZERO),
            Call::Look(id) => ("observe", look(id.as_str(), Duration::ZERO), Duration::ZERO),
            Call::Wait(id, at_most) => ("observe", look(id.as_str(), at_most), at_most),
            Call::Cancel(id) => {
                let arguments = json!({"action": "cancel", "correlation_id": id.as_str()});
                ("configure", arguments, Duration::ZERO)
            }
        };
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = timeout(wait + PATIENCE, self.post(message.to_string(), key.as_deref())).await;
        let answer = answer.unwrap_or(Err(Lost))?;
        check_answer(&message, &answer);
        Ok(answer["result"]["structuredContent"].clone())
    }

    async fn post(&self, body: String, key: Option<&str>) -> Result<Value, Lost> {
        let stream = TcpStream::connect((DAEMON, PORT)).await.map_err(lost)?;
        let (mut requests, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        spawn_local(connection);
        let mut request = Request::post("/mcp")
            .header("host", format!("127.0.0.1:{PORT}"))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .header("authorization", bearer(&self.token))
            .header(CLIENT_HEADER, &self.client);
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_HEADER, key);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let response = requests.send_request(request).await.map_err(lost)?;
        let body = response.into_body().collect().await.map_err(lost)?;
        serde_json::from_slice(&body.to_bytes()).map_err(lost)
    }
}

fn lost<E>(_broken: E) -> Lost {
    Lost
}

fn arguments(submission: &Submission) -> Value {
    let mut arguments = serde_json::to_value(&submission.action).unwrap();
    arguments["timeout_ms"] = u64::try_from(submission.timeout.as_millis()).unwrap().into();
    if let Some(tab) = submission.selector.tab {
        arguments["tab_id"] = tab.0.into();
    }
    if let Some(browser) = &submission.selector.browser {
        arguments["browser"] = browser.as_str().into();
    }
    arguments
}

fn look(id: &str, wait: Duration) -> Value {
    let wait = u64::try_from(wait.as_millis()).unwrap();
    json!({"what": "command_result", "correlation_id": id, "wait_ms": wait})
}
