//! The requests of the command line: the daemon's status, its commands, and the timeline of each.
//! They read only, and show no parameter and no result. One more makes the daemon read the rules
//! for sites again from their file; a caller cannot change a rule by it. The questions of agents are
//! listed and answered here.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::EdgeState;
use super::body::read_body;
use super::connections::ConnectionHandle;
use super::guard::{ANSWER_BODY, Principal};
use super::http_error::{HttpError, json_response, no_site_rules, storage_unavailable};
use super::routes::id_in;
use crate::hub::{AskReply, CommandObserver, ObserverEvent, StoryLookup};
use crate::lifecycle::Tombstone;
use crate::protocol::{AnswerChannel, AskAnswer, AskRefusal, CorrelationId, SERVER_VERSION};

/// The daemon's status: its browsers, its clients, its load.
pub(super) async fn status(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    Extension(connection): Extension<ConnectionHandle>,
) -> Response {
    // The table lets only callers in here and below.
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let hub = edge.tools.hub();
    let health = hub.health();
    let older_extensions = edge.guard.admission().status().ok();
    let body = json!({
        "version": SERVER_VERSION,
        "pid": std::process::id(),
        "port": edge.guard.port(),
        "epoch": hub.epoch(),
        "uptime_seconds": health.uptime.as_secs_f64(),
        "pending": health.pending,
        "kept": health.kept,
        "browsers": hub.browsers_of(&caller.owner),
        "clients": hub.clients(&caller.owner),
        "storage": hub.storage(),
        "outdated_extension": hub.has_outdated_extension(),
        "peer_users": if connection.is_ours() { "known" } else { "unknown" },
        "older_extensions": older_extensions,
    });
    json_response(StatusCode::OK, body.to_string())
}

/// All commands of the caller's owner that are known; with `follow=1` every change of
/// them too, one a line, until the caller or the daemon ends it.
pub(super) async fn commands(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Response {
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let hub = edge.tools.hub();
    let follow = query.is_some_and(|query| query.split('&').any(|pair| pair == "follow=1"));
    if !follow {
        let commands = hub.commands(&caller.owner);
        hub.flush_journal().await;
        let body = json!({"count": commands.len(), "commands": commands});
        return json_response(StatusCode::OK, body.to_string());
    }
    // Subscribed before the list is taken: no change falls between the two.
    let events = hub.events(&caller.owner);
    let known = json!({"event": "known", "commands": hub.commands(&caller.owner)});
    let lines = futures_util::stream::unfold(
        CommandEventLines { first: Some(known), events },
        CommandEventLines::next,
    );
    let mut response = Response::new(Body::from_stream(lines));
    let ndjson = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, ndjson);
    response
}

/// The lines of a caller that follows. They are made as they are read: one that reads
/// slowly holds up nobody.
struct CommandEventLines {
    first: Option<Value>,
    events: CommandObserver,
}

impl CommandEventLines {
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        let line = match self.first.take() {
            Some(known) => known,
            None => match self.events.next().await? {
                ObserverEvent::Changed(command) => {
                    json!({"event": "changed", "command": &*command})
                }
                ObserverEvent::Skipped(count) => json!({"event": "skipped", "count": count}),
            },
        };
        Some((Ok(format!("{line}\n").into()), self))
    }
}

/// One command's timeline, without its result.
pub(super) async fn command(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let hub = edge.tools.hub();
    let told = hub.story(&caller, &id_in(&uri).into());
    hub.flush_journal().await;
    let (status, body) = match told {
        StoryLookup::Story(story) => (StatusCode::OK, json!(story)),
        StoryLookup::Evicted(gone) => (
            StatusCode::GONE,
            json!({
                "error": "expired",
                "message": Tombstone::REASON.message(),
                "hint": Tombstone::REASON.hint(),
                "gone_at": gone.at,
                "may_have_run": gone.may_have_run,
            }),
        ),
        StoryLookup::NotFound => (
            StatusCode::NOT_FOUND,
            json!({
                "error": "no_such_command",
                "message": "There is no command with this id",
                "hint": "`tabwire commands` lists the commands of the last minute.",
            }),
        ),
    };
    json_response(status, body.to_string())
}

/// The open questions of the caller's owner.
pub(super) async fn asks(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let hub = edge.tools.hub();
    let (asks, consents) = (hub.asks_of(&caller.owner), hub.consents_of(&caller.owner));
    let told = json!({"count": asks.len(), "asks": asks, "consents": consents});
    json_response(StatusCode::OK, told.to_string())
}

/// The answer to a question, as the person gives it.
#[derive(Deserialize)]
struct GivenAnswer {
    correlation_id: CorrelationId,
    answer: AskAnswer,
}

/// The words of the person that are to be forgotten.
#[derive(Deserialize)]
struct ForgottenConsents {
    client: String,
    #[serde(default)]
    site: Option<String>,
}

/// A person takes kept words about a client back. That widens nothing: the client's next act waits
/// for the person again.
pub(super) async fn forget_consents(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Response {
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let body = match read_body(body, ANSWER_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let told = match serde_json::from_slice::<ForgottenConsents>(&body) {
        Ok(ForgottenConsents { client, site }) => {
            let hub = edge.tools.hub();
            let count = hub.forget_consents(&caller.owner, &client, site.as_deref()).await;
            (StatusCode::OK, json!({"forgotten": count}))
        }
        Err(error) => {
            let hint = "Name the client as `tabwire asks forget` does.";
            let told =
                json!({"error": "invalid_request", "message": error.to_string(), "hint": hint});
            (StatusCode::BAD_REQUEST, told)
        }
    };
    json_response(told.0, told.1.to_string())
}

/// A person answers a question at a terminal. Any program of the owner can send this request, so it
/// allows and denies nothing.
pub(super) async fn answer_ask(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Response {
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let body = match read_body(body, ANSWER_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let refused = |status, error: &str, message: String, hint: &str| {
        let told = json!({"error": error, "message": message, "hint": hint});
        json_response(status, told.to_string())
    };
    let given = match serde_json::from_slice::<GivenAnswer>(&body) {
        Ok(given) => given,
        Err(error) => {
            let hint = "Answer as `tabwire asks` does.";
            return refused(StatusCode::BAD_REQUEST, "invalid_answer", error.to_string(), hint);
        }
    };
    let GivenAnswer { correlation_id, answer } = given;
    let hub = edge.tools.hub();
    let reply =
        hub.answer_ask(&caller.owner, &correlation_id, answer, AnswerChannel::Terminal).await;
    match reply {
        AskReply::Taken => json_response(StatusCode::OK, json!({"status": "answered"}).to_string()),
        AskReply::Over => {
            let message = "There is no open question with this id".to_owned();
            let hint = "`tabwire asks` lists the open ones.";
            refused(StatusCode::NOT_FOUND, "no_such_ask", message, hint)
        }
        AskReply::Refused(why @ AskRefusal::NeedsBrowser) => {
            let hint = "Open the popup of the Tabwire extension in the browser.";
            refused(StatusCode::FORBIDDEN, "needs_browser", why.to_string(), hint)
        }
        AskReply::Refused(why @ AskRefusal::Unfit) => {
            let hint = "`tabwire asks` says how each question is answered.";
            refused(StatusCode::BAD_REQUEST, "unfit_answer", why.to_string(), hint)
        }
    }
}

/// Reads the rules which sites may be used anew, after the command line has changed them.
pub(super) async fn reload_sites(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    let Principal::Caller(_) = principal else { return HttpError::Undeclared.into_response() };
    // First: a name that was removed and added again must not get the scope of the old one.
    if let Err(why) = edge.guard.owners().refresh() {
        return storage_unavailable(&why);
    }
    let reloaded = edge.tools.sites().map(crate::sites::LiveSiteRules::reload);
    match reloaded {
        Some(Ok(rules)) => json_response(StatusCode::OK, json!(*rules).to_string()),
        Some(Err(why)) => storage_unavailable(&why),
        None => no_site_rules(),
    }
}
