//! HTTP for extensions that only poll.
//!
//! They look at whether an answer is a success and at little else, and try again when it is
//! none. So every request that can be parsed is answered with 200, also when it does not count.
//! Reports on commands go through one handler, on any of their routes.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::EdgeState;
use super::body::{BodyParsers, ParserLane, read_body};
use super::connections::{ConnectionHandle, ConnectionHolder};
use super::guard::{DRAWING_BODY, EXTENSION_BODY, Principal, SESSION_BODY, check_user, single};
use super::http_error::{HttpError, json_response};
use crate::home::LegacyAnswer;
use crate::hub::{IngestCounts, PollRequest, ReportDisposition};
use crate::journal::WriteFailure;
use crate::protocol::{
    Drawing, LegacyReport, LegacySyncAnswer, LegacySyncRequest, Transport, session_name,
    well_formed,
};
use crate::streams::LegacyStream;

/// Which life of the extension's worker polls.
static SESSION: HeaderName = HeaderName::from_static("x-gasoline-session");

/// The extension's version.
static VERSION: HeaderName = HeaderName::from_static("x-gasoline-extension-version");

/// The largest body of a `/sync` request from an extension that is not let in, in bytes.
const ASKING_BODY: usize = 256 * 1024;

/// `0`: the person does not let the extension be controlled.
static PILOT: HeaderName = HeaderName::from_static("x-gasoline-pilot");

/// The body of `POST /settings`.
#[derive(Deserialize)]
struct PostedSettings {
    #[serde(default)]
    session_id: String,
}

/// `GET /settings`, a public constant, since there is nothing to set; and `POST`, with which the
/// extension names its session, before its first poll and every 2 s. One that is not let in gets
/// the same answer: it would stop asking otherwise.
pub(super) async fn settings(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    Extension(connection): Extension<ConnectionHandle>,
    headers: HeaderMap,
    method: Method,
    body: Body,
) -> Result<Response, HttpError> {
    if method == Method::GET {
        return Ok(json_response(StatusCode::OK, "{}"));
    }
    let Principal::Asker(extension_id) = principal else { return Err(HttpError::Undeclared) };
    let calls = &edge.parsers.calls;
    let body = read_posted(calls, body, SESSION_BODY).await?;
    let PostedSettings { session_id } = parse(calls, body).await?;
    let version = header(&headers, &VERSION).unwrap_or_default();
    let admission = edge.guard.admission();
    if let Some(session) = session_name(&session_id)
        && admission.name_session(&extension_id, &session, version)
    {
        connection.prove(ConnectionHolder::Extension(extension_id));
    }
    Ok(answer(&json!({"status": "ok"})))
}

/// `GET /pending-queries`: with a session that an allowed extension has named, the next
/// command; with any other, nothing; without one, a look from outside that takes nothing.
pub(super) async fn pending_queries(
    State(edge): State<Arc<EdgeState>>,
    Extension(connection): Extension<ConnectionHandle>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let hub = edge.tools.hub();
    let Some(session) = header(&headers, &SESSION) else {
        let queries = hub.pending_queries();
        return Ok(answer(&json!({"count": queries.len(), "queries": queries})));
    };
    check_user(Some(&connection))?;
    let poll = PollRequest {
        session: session.into(),
        extension_version: header(&headers, &VERSION).unwrap_or_default().to_owned(),
        is_pilot_on: header(&headers, &PILOT) != Some("0"),
        transport: Transport::Poll,
    };
    let query = match edge.guard.admission().poller_of(&poll.session, &poll.extension_version) {
        Some(id) => {
            connection.prove(ConnectionHolder::Extension(id));
            hub.poll(poll).await
        }
        None => None,
    };
    let queries: Vec<_> = query.into_iter().collect();
    Ok(answer(&json!({"queries": queries, "count": queries.len()})))
}

/// `POST /sync`, with which later ones poll, report and log at once. It is answered as soon as
/// there is a command, or a little later without one; at once and with nothing, if the extension is
/// not let in.
pub(super) async fn sync(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    Extension(connection): Extension<ConnectionHandle>,
    body: Body,
) -> Result<Response, HttpError> {
    let Principal::Asker(extension_id) = principal else { return Err(HttpError::Undeclared) };
    let admission = edge.guard.admission();
    let is_let_in = admission.answer(&extension_id) == LegacyAnswer::Welcome;
    let BodyParsers { calls, extensions } = &edge.parsers;
    // Extensions that are not let in must not delay the results of those that are.
    let (most, lane) = if is_let_in { (EXTENSION_BODY, extensions) } else { (ASKING_BODY, calls) };
    let body = read_posted(lane, body, most).await?;
    let mut request: LegacySyncRequest = parse(lane, body).await?;
    let session = request.session().ok_or_else(|| malformed("no session, or no name for one"))?;
    // An error would make the extension stop asking, and a person may allow it any moment.
    if !admission.admit_sync(&extension_id, &session, request.version()) {
        let nothing = LegacySyncAnswer::nothing(request.version(), edge.tools.hub().now());
        return Ok(json_response(StatusCode::OK, json!(nothing).to_string()));
    }
    connection.prove(ConnectionHolder::Extension(extension_id.clone()));
    let poll = PollRequest {
        session,
        extension_version: request.version().to_owned(),
        is_pilot_on: request.is_pilot_on(),
        transport: Transport::Sync,
    };
    let hub = edge.tools.hub();
    let begun = hub
        .begin_sync(&extension_id, poll, &request)
        .await
        .map_err(|trouble| unrecorded(&trouble))?;
    let open = begun.ok_or(HttpError::StorageUnavailable)?;
    // Logs are taken after the reports: a command's outcome must not wait for them.
    if let Some(lines) = request.take_logs() {
        let kind = LegacyStream::ExtensionLogs;
        if let Err(error) = hub.take_legacy_events(open.browser(), kind, lines).await {
            tracing::debug!(%error, "log lines that are none");
        }
    }
    let answer = serde_json::to_string(&open.answer().await).unwrap_or_default();
    Ok(json_response(StatusCode::OK, answer))
}

/// The routes on which results are posted: whichever it is, the command is found by its
/// name.
pub(super) async fn result(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Result<Response, HttpError> {
    let extension_id = poller(principal)?;
    let body = read_posted(&edge.parsers.extensions, body, EXTENSION_BODY).await?;
    let report: LegacyReport = parse(&edge.parsers.extensions, body).await?;
    let verdict = edge
        .tools
        .hub()
        .take_report(&extension_id, report)
        .await
        .map_err(|trouble| unrecorded(&trouble))?;
    Ok(answer(&match verdict {
        ReportDisposition::Accepted => json!({"status": "ok", "accepted": true}),
        ReportDisposition::Refused(reason) => {
            tracing::info!(extension_id, ?reason, "a posted result does not count");
            json!({"status": "ok", "accepted": false, "reason": reason})
        }
    }))
}

/// Logs, requests and actions of pages: stores them in the streams.
pub(super) async fn ingest(
    kind: LegacyStream,
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Result<Response, HttpError> {
    let extension_id = poller(principal)?;
    let body = read_posted(&edge.parsers.extensions, body, EXTENSION_BODY).await?;
    let hub = edge.tools.hub();
    let browser = hub.browser_with(&extension_id);
    let IngestCounts { received, rejected } =
        hub.take_legacy_events(&browser, kind, body).await.map_err(malformed)?;
    let entries = hub.stream_entries(kind.stream());
    Ok(answer(&json!({"received": received, "rejected": rejected, "entries": entries})))
}

/// `POST /logs`, and `DELETE`: the person has cleared what their extension shows.
pub(super) async fn logs(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    method: Method,
    body: Body,
) -> Result<Response, HttpError> {
    if method != Method::DELETE {
        return ingest(LegacyStream::Logs, State(edge), Extension(principal), body).await;
    }
    let extension_id = poller(principal)?;
    let hub = edge.tools.hub();
    let cleared = hub.clear_logs(&hub.browser_with(&extension_id));
    Ok(answer(&json!({"status": "ok", "cleared": cleared})))
}

/// The extension's own notes, and its pictures of errors: read, answered and not stored.
pub(super) async fn noted(
    State(edge): State<Arc<EdgeState>>,
    body: Body,
) -> Result<Response, HttpError> {
    let body = read_posted(&edge.parsers.extensions, body, EXTENSION_BODY).await?;
    parse::<IgnoredAny>(&edge.parsers.extensions, body).await?;
    Ok(answer(&json!({"status": "ok"})))
}

/// `POST /draw-mode/complete`: what the person drew on a page, for a wait that this extension
/// holds. Nobody vouches for a drawing that was not asked for.
pub(super) async fn drawing(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Result<Response, HttpError> {
    let extension_id = poller(principal)?;
    let body = read_posted(&edge.parsers.extensions, body, DRAWING_BODY).await?;
    let drawing = edge.parsers.extensions.parse(body, |body| drawing_of(body)).await??;
    let id = drawing.drawing_id.clone();
    if edge.take_polled_drawing(extension_id, drawing).await? {
        return Ok(answer(&json!({"status": "ok", "accepted": true, "drawing_id": id})));
    }
    tracing::info!(drawing = %id, "no agent waits for a drawing from this older extension");
    Ok(answer(&json!({"status": "ok", "accepted": false, "reason": "no_wait"})))
}

impl EdgeState {
    /// Takes a drawing for the waits that this extension holds. That goes on to its end, also if
    /// nobody waits for the answer any more. False: it holds none.
    async fn take_polled_drawing(&self, id: String, drawing: Drawing) -> Result<bool, HttpError> {
        let annotations = self.tools.annotations().ok_or(HttpError::StorageUnavailable)?.clone();
        let taking = self.tasks.spawn(async move { annotations.take_polled(&id, drawing).await });
        match taking.await {
            Ok(Ok(taken)) => Ok(taken),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a drawing cannot be kept");
                Err(HttpError::StorageUnavailable)
            }
            Err(broken) => {
                tracing::warn!(%broken, "a drawing cannot be kept");
                Err(HttpError::StorageUnavailable)
            }
        }
    }
}

/// The drawing that a body is.
fn drawing_of(body: &[u8]) -> Result<Drawing, HttpError> {
    Drawing::parse(body).map_err(|why| HttpError::BadDrawing { why: why.to_string() })
}

/// The extension that posts.
fn poller(principal: Principal) -> Result<String, HttpError> {
    match principal {
        Principal::Poller(extension_id) => Ok(extension_id),
        // The table lets only pollers in here.
        Principal::Anyone
        | Principal::Extension(_)
        | Principal::Asker(_)
        | Principal::Session { .. }
        | Principal::Opener
        | Principal::Viewer
        | Principal::Scraper
        | Principal::Caller(_) => Err(HttpError::Undeclared),
    }
}

/// The one value of a header.
fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    single(headers, name).ok().flatten()
}

/// Reads the body of an extension's post. A lone surrogate in it is U+FFFD from here on.
async fn read_posted(lane: &ParserLane, body: Body, limit: usize) -> Result<Bytes, HttpError> {
    let body = read_body(body, limit).await?;
    lane.parse(body, |body| mended(body).map_or_else(|| body.clone(), Bytes::from)).await
}

/// A body in which surrogates stood alone, without them. None: there is nothing to mend.
fn mended(body: &[u8]) -> Option<String> {
    // A body that is not UTF-8 is refused as malformed JSON.
    match well_formed(str::from_utf8(body).ok()?) {
        Cow::Owned(mended) => Some(mended),
        Cow::Borrowed(_) => None,
    }
}

/// Reads a body that should be JSON of this kind.
async fn parse<T>(lane: &ParserLane, body: Bytes) -> Result<T, HttpError>
where
    T: DeserializeOwned + Send + 'static,
{
    lane.parse(body, |body| serde_json::from_slice(body)).await?.map_err(malformed)
}

fn unrecorded(trouble: &WriteFailure) -> HttpError {
    tracing::warn!(%trouble, "a posted result cannot be recorded");
    HttpError::StorageUnavailable
}

fn malformed(error: impl Display) -> HttpError {
    tracing::debug!(%error, "a body that is not what it should be");
    HttpError::MalformedJson
}

fn answer(body: &Value) -> Response {
    json_response(StatusCode::OK, body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_drawing_or_refused_with_what_is_wrong() {
        let drawing = drawing_of(br#"{"annotations":[{}],"page_url":"http://a/"}"#).unwrap();
        assert_eq!(drawing.annotations.len(), 1);
        for (body, says) in [
            ("", "not an object"),
            ("{", "EOF"),
            (r#"{"annotations":[]}"#, "`page_url`"),
            (r#"{"annotations":[5],"page_url":""}"#, "`annotations[0]`"),
        ] {
            let refused = drawing_of(body.as_bytes()).unwrap_err();
            assert!(
                matches!(&refused, HttpError::BadDrawing { why } if why.contains(says)),
                "{refused:?}"
            );
        }
    }
}
