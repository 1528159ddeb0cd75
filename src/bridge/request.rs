//! A request to the daemon, its answer, and the reasons for a missing one.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::http::request::Builder;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::daemon_finder::FoundDaemon;
use super::events::{EventReader, ProgressLines};
use crate::daemon_connector::DaemonConnector;
use crate::mcp::LEGACY_VERSIONS;
use crate::protocol::{
    AFTER_HEADER, BEFORE_HEADER, BRIDGE_HEADER, BROWSER_HEADER, CLIENT_HEADER, CorrelationId,
    EARLY_HEADER, IDEMPOTENCY_HEADER, JOBS_HEADER, RunClock, SERVER_VERSION, TOOLS_HEADER,
    WAIT_HEADER,
};
use crate::tools::{ToolSurface, lost_call, with_calls_of};

/// The HTTP client of the bridge. Cheap to clone; all clones share their connections.
pub(super) type HttpClient = Client<DaemonConnector, Full<Bytes>>;

/// A new HTTP client for the daemon that this connects to.
pub(super) fn http(connector: DaemonConnector) -> HttpClient {
    Client::builder(TokioExecutor::new()).build(connector)
}

/// The code of a call that did not reach the machine with the browser.
pub(crate) const PLACE_OFFLINE: &str = "place_offline";

/// The code of a call whose line to that machine broke before the answer came.
pub(crate) const PLACE_LOST: &str = "place_lost";

/// The code of a call that the machine with the browser has not answered in its time.
pub(crate) const PLACE_TIMEOUT: &str = "place_timeout";

/// The code of a call that the daemon did not answer.
pub(crate) const DAEMON_LOST: &str = "daemon_lost";

/// The code of a call that the daemon refuses since it does not have the one before it.
pub(super) const OUT_OF_TURN: &str = "out_of_turn";

/// The headers of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallHeaders {
    pub(super) version: &'static str,
    pub(super) method: Option<String>,
    pub(super) name: Option<String>,
    /// The key of a call that submits a command. The status of such a call comes as soon as
    /// the command is accepted.
    pub(super) submit_key: Option<String>,
    /// Until when it may come, if the daemon is on another machine. `None`: for some seconds from now on.
    pub(super) before: Option<RunClock>,
    /// The key of the submission before it, if it was sent without waiting for that one.
    pub(super) after: Option<String>,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForwardError {
    /// There is no daemon, and none could be started.
    #[error("the Tabwire daemon cannot be started: {0}")]
    NoDaemon(String),
    /// The owner of the bridge is not listed, or is suspended.
    #[error("{0}")]
    NoOwner(String),
    /// The daemon went away in the middle.
    #[error("the Tabwire daemon went away before it answered ({detail})")]
    Lost {
        /// The error of the connection.
        detail: String,
        /// Whether the request may have reached it.
        was_sent: bool,
    },
    /// The daemon took too long.
    #[error("the Tabwire daemon did not answer within {} s", .timeout.as_secs())]
    TimedOut {
        /// How long it had.
        timeout: Duration,
        /// Whether the request may have reached it.
        was_sent: bool,
    },
    /// The machine with the browser is not reached.
    #[error("`{place}` does not reach the browser: {why}")]
    Offline {
        /// The place, as the person named it.
        place: String,
        /// Why not.
        why: String,
    },
    /// The line to the machine with the browser broke, and the call may have run.
    #[error("the line to the browser by `{place}` broke before the answer came")]
    PlaceLost {
        /// The place, as the person named it.
        place: String,
    },
    /// The machine with the browser took too long.
    #[error("`{place}` did not answer within {} s", .timeout.as_secs())]
    PlaceTimedOut {
        /// The place, as the person named it.
        place: String,
        /// How long it had.
        timeout: Duration,
        /// Whether the call was sent.
        was_sent: bool,
    },
    /// The daemon rejected the request unread.
    #[error("the Tabwire daemon refused the request")]
    Refused {
        /// The daemon's answer.
        body: Value,
    },
}

impl ForwardError {
    /// The failed tool call's result, with the next step. `submits`: whether to call again
    /// could do the same thing twice; `command`: the one that it has submitted, if that is known.
    pub(super) fn to_json(
        &self,
        (submits, command): (bool, Option<&CorrelationId>),
        surface: &ToolSurface,
    ) -> Value {
        let code = match self {
            Self::NoDaemon(_) => "no_daemon",
            Self::NoOwner(_) => "not_allowed",
            Self::Lost { .. } => DAEMON_LOST,
            Self::TimedOut { .. } => "daemon_timeout",
            Self::Offline { .. } => PLACE_OFFLINE,
            Self::PlaceLost { .. } => PLACE_LOST,
            Self::PlaceTimedOut { .. } => PLACE_TIMEOUT,
            Self::Refused { body } => return body.clone(),
        };
        if let Some(may_have_run) = self.may_have_run() {
            let command = command.filter(|_| may_have_run);
            let hint = match command {
                Some(id) => Cow::Owned(hint_of_accepted(id)),
                None => self.hint(submits).into(),
            };
            let hint = with_calls_of(&hint, surface).into_owned();
            return lost_call(code, self.to_string(), hint, (may_have_run, command.cloned()));
        }
        let hint = with_calls_of(self.hint(submits), surface);
        json!({"error": code, "message": self.to_string(), "hint": hint})
    }

    /// Whether a call to another machine that has no answer may have run. `None`: it is none, or has an answer.
    const fn may_have_run(&self) -> Option<bool> {
        match self {
            Self::Offline { .. } => Some(false),
            Self::PlaceLost { .. } => Some(true),
            Self::PlaceTimedOut { was_sent, .. } => Some(*was_sent),
            Self::NoDaemon(_)
            | Self::NoOwner(_)
            | Self::Lost { .. }
            | Self::TimedOut { .. }
            | Self::Refused { .. } => None,
        }
    }

    /// The daemon refused the request and said nothing that can be read.
    fn refused(status: u16) -> Self {
        let message = format!("the Tabwire daemon refused the request with HTTP status {status}");
        let hint = "Call again; if the error repeats, ask the user to run `tabwire doctor`.";
        Self::Refused { body: json!({"error": "refused", "message": message, "hint": hint}) }
    }

    /// The same of a call that may have reached a daemon before.
    pub(super) fn after(self, sent_before: bool) -> Self {
        match self {
            Self::Lost { detail, was_sent } => {
                Self::Lost { detail, was_sent: was_sent || sent_before }
            }
            // The first daemon may have run the command, so the hint must not say "call again".
            Self::NoDaemon(_) if sent_before => {
                Self::Lost { detail: self.to_string(), was_sent: true }
            }
            other @ (Self::NoDaemon(_)
            | Self::NoOwner(_)
            | Self::TimedOut { .. }
            | Self::Offline { .. }
            | Self::PlaceLost { .. }
            | Self::PlaceTimedOut { .. }
            | Self::Refused { .. }) => other,
        }
    }

    const fn hint(&self, submits: bool) -> &'static str {
        match self {
            Self::NoDaemon(_) => "Run `tabwire serve` in a terminal to see the cause.",
            Self::NoOwner(_) => "Ask the person to add the owner, then call again.",
            Self::Offline { .. } => {
                "Ask the user whether `tabwire reach` runs on the machine with the browser, then call again. \
                 `tabwire doctor --connect` here finds the broken part."
            }
            Self::PlaceLost { .. } | Self::PlaceTimedOut { was_sent: true, .. } if !submits => {
                "The call may have taken effect: look before you call again."
            }
            Self::PlaceLost { .. }
            | Self::PlaceTimedOut { was_sent: true, .. }
            | Self::Lost { was_sent: true, .. }
            | Self::TimedOut { was_sent: true, .. }
                if submits =>
            {
                "The daemon may have accepted the command: check observe({what:\"pending_commands\"}) \
                 and the page before you call again."
            }
            Self::Lost { .. }
            | Self::TimedOut { .. }
            | Self::PlaceLost { .. }
            | Self::PlaceTimedOut { .. }
            | Self::Refused { .. } => "Call again.",
        }
    }
}

/// The next step of a call whose command is known, though its answer is lost.
fn hint_of_accepted(id: &CorrelationId) -> String {
    format!(
        "The daemon has accepted the command, so do not call again: once the place answers, \
         observe({{what:\"command_result\", correlation_id:\"{id}\"}}) says how it ended."
    )
}

/// The headers that say who the client is.
fn with_client(request: Builder, found: &FoundDaemon) -> Builder {
    let mut request = request.header(CLIENT_HEADER, &found.client.name);
    request = match &found.authorization {
        Some(authorization) => request.header(AUTHORIZATION, authorization),
        // Home adds the token, and looks whether the versions go together.
        None => request.header(BRIDGE_HEADER, SERVER_VERSION),
    };
    match &found.client.browser {
        Some(browser) => request.header(BROWSER_HEADER, browser),
        None => request,
    }
}

/// A message to a daemon.
pub(super) fn request(
    found: &FoundDaemon,
    line: Bytes,
    headers: &CallHeaders,
) -> Result<Request<Full<Bytes>>, ForwardError> {
    let mut request = with_client(Request::post(&found.url), found)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", headers.version);
    if let Some(clock) = &found.clock {
        let before = headers.before.clone().unwrap_or_else(|| clock.limit_from_now());
        request = request.header(BEFORE_HEADER, before.to_string());
    }
    if let Some(after) = &headers.after {
        request = request.header(AFTER_HEADER, after);
    }
    if let Some(tools) = found.client.surface.name() {
        request = request.header(TOOLS_HEADER, tools);
    }
    if let Some(wait) = found.client.surface.wait() {
        request = request.header(WAIT_HEADER, wait.as_millis().to_string());
    }
    if let Some(key) = &headers.submit_key {
        // The early status tells that the next submission may follow; the key makes repeating safe.
        request = request.header(EARLY_HEADER, "1").header(IDEMPOTENCY_HEADER, key);
    }
    if let Some(method) = &headers.method {
        request = request.header("mcp-method", method);
    }
    if let Some(name) = &headers.name {
        request = request.header("mcp-name", name);
    }
    request.body(Full::new(line)).map_err(|error| ForwardError::NoDaemon(error.to_string()))
}

/// The request for the stream of notices, which tells of jobs if they are wanted.
pub(super) fn stream_request(
    found: &FoundDaemon,
    wants_jobs: bool,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    // The same client as that of the calls, else it would not hear of its own jobs.
    let mut request = with_client(Request::get(&found.url), found)
        .header(ACCEPT, "text/event-stream")
        .header("mcp-protocol-version", LEGACY_VERSIONS[0]);
    if wants_jobs {
        request = request.header(JOBS_HEADER, "1");
    }
    request.body(Full::default())
}

/// Whether a response's body is events.
pub(super) fn is_events(response: &Response<Incoming>) -> bool {
    let named = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    response.status() == StatusCode::OK
        && named.is_some_and(|named| named.starts_with("text/event-stream"))
}

/// The JSON-RPC message of an answer whose status and headers have come, byte for byte.
/// Progress that comes before it goes where `progress` says.
pub(super) async fn read_answer(
    response: Response<Incoming>,
    progress: Option<&mut ProgressLines>,
) -> Result<String, ForwardError> {
    let status = response.status();
    let lost = |detail: String| ForwardError::Lost { detail, was_sent: true };
    if is_events(&response) {
        let mut events = EventReader::new(response.into_body());
        return events.answer(progress).await.map_err(lost);
    }
    let body = response.into_body().collect().await.map_err(|error| lost(error.to_string()))?;
    let text = String::from_utf8(body.to_bytes().into())
        .map_err(|_| lost("its answer is not UTF-8".to_owned()))?;
    if status == StatusCode::OK {
        return Ok(text);
    }
    match serde_json::from_str::<Value>(&text) {
        // An MCP error with an HTTP status of its own: the client understands it as it is.
        Ok(message) if message.get("jsonrpc").is_some() => Ok(text),
        Ok(body) if body.is_object() => Err(ForwardError::Refused { body }),
        Ok(_) | Err(_) => Err(ForwardError::refused(status.as_u16())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(was_sent: bool) -> ForwardError {
        ForwardError::Lost { detail: "it broke".to_owned(), was_sent }
    }

    #[test]
    fn every_call_that_gets_no_answer_is_told_the_next_step() {
        let all = [
            ForwardError::NoDaemon("no room".to_owned()),
            ForwardError::NoOwner("there is no owner ci".to_owned()),
            lost(true),
            lost(false),
            ForwardError::TimedOut { timeout: Duration::from_secs(10), was_sent: true },
            ForwardError::refused(502),
        ];
        for (why, submits) in all.iter().flat_map(|why| [(why, true), (why, false)]) {
            let told = why.to_json((submits, None), &ToolSurface::default());
            for field in ["error", "message", "hint"] {
                assert!(told[field].as_str().is_some_and(|text| !text.is_empty()), "{told}");
            }
        }
    }

    #[test]
    fn a_submission_that_may_have_reached_a_daemon_is_not_to_be_called_again_blindly() {
        let hints_at_the_page = |why: ForwardError, submits: bool| {
            let hint = why.to_json((submits, None), &ToolSurface::default())["hint"].to_string();
            hint.contains("may have accepted")
        };
        let late = |was_sent| ForwardError::TimedOut { timeout: Duration::from_secs(10), was_sent };
        let none = || ForwardError::NoDaemon("no room".to_owned());
        for why in [lost(true), late(true), lost(false).after(true), none().after(true)] {
            assert!(hints_at_the_page(why, true));
        }
        for why in [lost(false), late(false), none(), lost(false).after(false), none().after(false)]
        {
            assert!(!hints_at_the_page(why, true));
        }
        for why in [lost(true), late(true), none().after(true)] {
            assert!(!hints_at_the_page(why, false), "a read can be repeated");
        }
    }
}
