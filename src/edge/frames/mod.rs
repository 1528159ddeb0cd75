//! The same frames over HTTP, for an extension that cannot have its socket: a session
//! takes the socket's place. What is a close code there is an error here that carries
//! it.

mod session;
mod sessions;
mod state;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::EdgeState;
use super::body::read_body;
use super::connections::{ConnectionHandle, ConnectionHolder};
use super::conversation::{self, LinkClose};
use super::guard::{EXTENSION_BODY, Principal, SESSION_BODY};
use super::http_error::{HttpError, json_response};
use crate::proof;
use crate::protocol::{FromExtension, ToExtension, Transport};
use session::{FRAMES_A_POST, HttpSession};
pub(super) use sessions::HttpSessions;

/// The longest that a poll is held.
const LONGEST_POLL: Duration = Duration::from_secs(25);

/// The body of `POST /session`: a request for a challenge, or the `hello` that answers it.
#[derive(Deserialize)]
struct SessionRequest {
    #[serde(rename = "type")]
    kind: String,
    /// Which challenge the `hello` answers.
    #[serde(default)]
    challenge: String,
}

/// A `welcome` with the session's token.
#[derive(Serialize)]
struct SessionWelcome<'a> {
    #[serde(flatten)]
    welcome: ToExtension,
    session: &'a str,
}

/// The body of `POST /frames`.
#[derive(Deserialize)]
struct PostedFrames<'a> {
    /// The number of this request: one that comes again is not taken again.
    n: Option<u64>,
    /// The number of the last frame that the extension has.
    after: Option<u64>,
    #[serde(borrow)]
    frames: Vec<&'a RawValue>,
}

/// `POST /session`.
pub(super) async fn begin(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    Extension(connection): Extension<ConnectionHandle>,
    body: Body,
) -> Response {
    // The table lets only extensions in here.
    let Principal::Extension(id) = principal else { return HttpError::Undeclared.into_response() };
    let body = match read_body(body, SESSION_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let text = str::from_utf8(&body).unwrap_or_default();
    let Ok(opening) = serde_json::from_str::<SessionRequest>(text) else {
        return HttpError::BadFrames.into_response();
    };
    if opening.kind == "start" {
        let nonce = edge.sessions.challenge(&id, edge.tools.hub().now());
        return json_of(&ToExtension::Challenge { nonce });
    }
    // Before the proof is checked: a full daemon spends no work on it.
    if !edge.sessions.has_room() {
        return HttpError::TooManySessions.into_response();
    }
    match open(&edge, &id, &opening.challenge, text) {
        Ok(response) => {
            connection.prove(ConnectionHolder::Extension(id));
            response
        }
        Err(close) => close_response(&close),
    }
}

/// Takes a `hello`.
fn open(
    edge: &Arc<EdgeState>,
    id: &str,
    challenge: &str,
    hello: &str,
) -> Result<Response, LinkClose> {
    let hello = FromExtension::parse(hello);
    if matches!(hello, Ok(FromExtension::Hello(_)))
        && !edge.sessions.answers(challenge, id, edge.tools.hub().now())
    {
        return Err(conversation::no_hello());
    }
    let accepted = conversation::accept_hello(edge, Transport::Http, id, challenge, hello)?;
    let token = proof::nonce();
    let answer = json_of(&SessionWelcome { welcome: accepted.welcome, session: &token });
    let (session, run) = HttpSession::open(edge.clone(), token, id, accepted.link, accepted.outbox);
    // Before `run` starts, so that the first request finds the session.
    edge.sessions.add(session);
    edge.tasks.spawn(run);
    Ok(answer)
}

/// `GET /frames` and `POST /frames`.
pub(super) async fn exchange(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    Extension(connection): Extension<ConnectionHandle>,
    request: Request,
) -> Response {
    // The table lets only these in here.
    let Principal::Session { token, extension } = principal else {
        return HttpError::Undeclared.into_response();
    };
    // A browser sends no `Origin` with a worker's GET; an origin that it sends must fit.
    let is_its = |session: &HttpSession| extension.is_none_or(|id| session.is_of(&id));
    let Some(session) = edge.sessions.find(&token).filter(|session| is_its(session)) else {
        return HttpError::NoSession.into_response();
    };
    connection.prove(session.holder());
    let answered = if request.method() == Method::POST {
        post(&edge, &session, request.into_body()).await
    } else {
        poll(&session, request.uri()).await
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

async fn poll(session: &HttpSession, uri: &Uri) -> Result<Response, HttpError> {
    let PollQuery { wait, after } = PollQuery::of(uri).ok_or(HttpError::BadFrames)?;
    Ok(answer(session.poll(after, wait).await))
}

async fn post(edge: &EdgeState, session: &HttpSession, body: Body) -> Result<Response, HttpError> {
    let body = read_body(body, EXTENSION_BODY).await?;
    let parsed = edge.parsers.extensions.parse(body, |body| {
        let PostedFrames { n, after, frames } = str::from_utf8(body)
            .ok()
            .and_then(|text| serde_json::from_str(text).ok())
            .filter(|posted: &PostedFrames<'_>| posted.frames.len() <= FRAMES_A_POST)?;
        let frames = frames.into_iter().map(|frame| FromExtension::parse(frame.get())).collect();
        Some((n, after, frames))
    });
    let (n, after, frames) = parsed.await?.ok_or(HttpError::BadFrames)?;
    Ok(answer(session.post(n, after, frames).await))
}

/// The query of `GET /frames`.
#[derive(Debug, PartialEq, Eq)]
struct PollQuery {
    wait: Duration,
    after: Option<u64>,
}

impl PollQuery {
    /// `None`: a number is malformed. Other parameters are ignored.
    fn of(uri: &Uri) -> Option<Self> {
        let mut asked = Self { wait: Duration::ZERO, after: None };
        for pair in uri.query().unwrap_or_default().split('&') {
            match pair.split_once('=') {
                Some(("wait_ms", number)) => {
                    asked.wait = Duration::from_millis(number.parse().ok()?).min(LONGEST_POLL);
                }
                Some(("after", number)) => asked.after = Some(number.parse().ok()?),
                Some(_) | None => {}
            }
        }
        Some(asked)
    }
}

fn answer(frames: Result<String, LinkClose>) -> Response {
    match frames {
        Ok(text) => json_response(StatusCode::OK, text),
        Err(close) => close_response(&close),
    }
}

/// The counterpart of a close frame on the socket.
fn close_response(LinkClose { code, reason }: &LinkClose) -> Response {
    let (status, word) = match code {
        1001 => (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
        1002 => (StatusCode::GONE, "silent"),
        1008 => (StatusCode::GONE, "malformed_frames"),
        4001 => (StatusCode::GONE, "replaced"),
        4401 => (StatusCode::FORBIDDEN, "bad_proof"),
        4408 => (StatusCode::FORBIDDEN, "no_hello"),
        4409 => (StatusCode::CONFLICT, "protocol_version"),
        4429 => (StatusCode::GONE, "overflow"),
        _ => (StatusCode::GONE, "session_over"),
    };
    tracing::debug!(code, reason, "an extension over HTTP is turned away");
    json_response(status, json!({"error": word, "message": reason, "code": code}).to_string())
}

fn json_of(value: &impl Serialize) -> Response {
    json_response(StatusCode::OK, serde_json::to_string(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_says_how_long_and_after_which_frame_or_is_refused() {
        let asked = |query: &str| PollQuery::of(&format!("/frames{query}").parse().unwrap());
        let of = |wait, after| Some(PollQuery { wait: Duration::from_millis(wait), after });
        assert_eq!(asked(""), of(0, None));
        assert_eq!(asked("?wait_ms=25000&after=7"), of(25_000, Some(7)));
        assert_eq!(asked("?after=7&new=x"), of(0, Some(7)));
        assert_eq!(asked("?wait_ms=99999999"), of(25_000, None), "no longer than we hold it");
        for wrong in ["?wait_ms=", "?wait_ms=x", "?after=-1", "?after=18446744073709551616"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
    }
}
