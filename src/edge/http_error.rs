//! The errors of HTTP requests: status, code, message and next step of each.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::home::StateDirectoryError;
use crate::hub::RefusalReason;
use crate::protocol::{IDEMPOTENCY_KEY_FORM, WS_SUBPROTOCOL, millis};
use crate::tools::SurfaceError;

/// The fault of a moment by which a call must have come.
const BAD_BEFORE: &str =
    "X-Tabwire-Before must be <run>.<ms>, as the header X-Tabwire-Clock of an answer has it, once";

/// The fault where there is none and must be one.
const NO_BEFORE: &str = "A call from another machine needs the header X-Tabwire-Before";

/// Why the daemon rejects a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HttpError {
    /// The request has no `Host`, or several.
    BadHost,
    /// `Host` is not this daemon: a rebinding page, or a tunnel.
    ForeignHost,
    /// The request came through a proxy.
    Forwarded,
    /// A web page or a foreign extension calls.
    ForeignOrigin,
    /// An extension that nobody has allowed.
    UnknownExtension,
    /// A polling extension that nobody has let in.
    UnknownPoller {
        /// The extension.
        id: String,
    },
    /// No extension may poll.
    PollingSwitchedOff,
    /// The system does not say which user polls.
    UnknownUser,
    /// The `Content-Type` is not JSON.
    NotJson,
    /// The `Content-Type` is not that of a form.
    NotForm,
    /// The route answers with events, and the caller does not accept events.
    NotEvents,
    /// The body is not the route's JSON.
    MalformedJson,
    /// The body is not a drawing.
    BadDrawing {
        /// The error in it.
        why: String,
    },
    /// The daemon cannot record the effect of the request.
    StorageUnavailable,
    /// The body is too large.
    TooLarge {
        /// The limit of the route, in bytes.
        limit: usize,
    },
    /// The body did not come in time.
    SlowBody,
    /// No token, or a wrong one.
    NoToken,
    /// The token is that of an owner that is not listed, or is suspended.
    UnlistedOwner {
        /// The owner's name.
        name: String,
    },
    /// The token is that of an owner that the person has disconnected.
    SuspendedOwner {
        /// The owner's name.
        name: String,
    },
    /// Too many wrong tokens.
    TooManyWrongTokens {
        /// When the guard checks the next token.
        retry_after_secs: u64,
    },
    /// The owner's clients have used up their bytes per minute.
    TooManyBytes {
        /// When the daemon accepts the same body.
        retry_after: Duration,
    },
    /// The client's name is malformed.
    BadClient,
    /// The name of the browser that the client is pinned to is malformed.
    BadBrowser,
    /// The idempotency key is malformed.
    BadIdempotencyKey,
    /// The moment by which the call must have come is malformed.
    BadBefore,
    /// The owner's programs are on another machine, and the call does not say by when it must have come.
    NoBefore,
    /// The call came later than its client waits for it.
    TooLate,
    /// The key of the call that this one follows is malformed.
    BadAfter,
    /// The call that this one follows has not come.
    OutOfTurn,
    /// The surface of tools, or the wait, is malformed.
    BadSurface {
        /// The fault.
        why: SurfaceError,
    },
    /// No route has this path.
    NoRoute,
    /// The path exists, but not with this method.
    NoMethod {
        /// The methods of the path: no path has more than two.
        allow: [Option<&'static str>; 2],
    },
    /// A route without an access rule.
    Undeclared,
    /// The WebSocket handshake is malformed.
    BadHandshake,
    /// The frames, or the query for them, are malformed.
    BadFrames,
    /// No session has this token.
    NoSession,
    /// More sessions than a person has browsers.
    TooManySessions,
    /// More dashboards than a person looks at.
    TooManyViewers,
}

impl HttpError {
    const fn status(&self) -> StatusCode {
        match self {
            Self::BadHost
            | Self::BadClient
            | Self::BadBrowser
            | Self::BadIdempotencyKey
            | Self::BadBefore
            | Self::NoBefore
            | Self::BadAfter
            | Self::BadSurface { .. }
            | Self::BadHandshake
            | Self::MalformedJson
            | Self::BadDrawing { .. }
            | Self::BadFrames => StatusCode::BAD_REQUEST,
            Self::ForeignHost
            | Self::Forwarded
            | Self::ForeignOrigin
            | Self::UnknownExtension
            | Self::UnknownPoller { .. }
            | Self::PollingSwitchedOff
            | Self::UnknownUser
            | Self::UnlistedOwner { .. }
            | Self::SuspendedOwner { .. }
            | Self::Undeclared => StatusCode::FORBIDDEN,
            Self::StorageUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotEvents => StatusCode::NOT_ACCEPTABLE,
            Self::TooLate => StatusCode::PRECONDITION_FAILED,
            Self::OutOfTurn => StatusCode::CONFLICT,
            Self::NotJson | Self::NotForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::NoToken | Self::NoSession => StatusCode::UNAUTHORIZED,
            Self::TooManySessions | Self::TooManyViewers => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooManyWrongTokens { .. } | Self::TooManyBytes { .. } => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::NoRoute => StatusCode::NOT_FOUND,
            Self::NoMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::BadHost => "bad_host",
            Self::ForeignHost => "foreign_host",
            Self::Forwarded => "forwarded",
            Self::ForeignOrigin => "foreign_origin",
            Self::UnknownExtension => "unknown_extension",
            Self::UnknownPoller { .. } => "unknown_extension",
            Self::PollingSwitchedOff => "polling_switched_off",
            Self::UnknownUser => "unknown_user",
            Self::NotJson => "not_json",
            Self::NotForm => "not_a_form",
            Self::NotEvents => "not_acceptable",
            Self::MalformedJson => "malformed_json",
            Self::BadDrawing { .. } => "malformed_drawing",
            Self::StorageUnavailable => "storage_unavailable",
            Self::TooLarge { .. } => "too_large",
            Self::SlowBody => "slow_body",
            Self::NoToken => "unauthorized",
            Self::UnlistedOwner { .. } => "unlisted_owner",
            Self::SuspendedOwner { .. } => "not_allowed",
            Self::TooManyWrongTokens { .. } => "too_many_wrong_tokens",
            Self::TooManyBytes { .. } => "rate_limited",
            Self::BadClient => "bad_client",
            Self::BadBrowser => "bad_browser",
            Self::BadIdempotencyKey => "bad_idempotency_key",
            Self::BadBefore => "bad_before",
            Self::NoBefore => "no_before",
            Self::TooLate => "too_late",
            Self::BadAfter => "bad_after",
            Self::OutOfTurn => "out_of_turn",
            Self::BadSurface { .. } => "bad_surface",
            Self::NoRoute => "not_found",
            Self::NoMethod { .. } => "method_not_allowed",
            Self::Undeclared => "forbidden",
            Self::BadHandshake => "bad_handshake",
            Self::BadFrames => "bad_frames",
            Self::NoSession => "no_session",
            Self::TooManySessions => "too_many_sessions",
            Self::TooManyViewers => "too_many_viewers",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::BadHost => "The request must have exactly one Host header".to_owned(),
            Self::ForeignHost => {
                "The Host header must be 127.0.0.1, localhost or [::1] with the daemon's port"
                    .to_owned()
            }
            Self::Forwarded => "The daemon rejects requests from a proxy or a tunnel".to_owned(),
            Self::ForeignOrigin => {
                "Web pages and other extensions may not call this route".to_owned()
            }
            Self::UnknownExtension => "This extension is not allowed to connect".to_owned(),
            Self::UnknownPoller { .. } => "This extension is not allowed to poll".to_owned(),
            Self::PollingSwitchedOff => "Polling is switched off".to_owned(),
            Self::UnknownUser => {
                "The system does not report the user of a connection, so the daemon rejects \
                 extensions without a key"
                    .to_owned()
            }
            Self::MalformedJson => "The body is not valid JSON for this route".to_owned(),
            Self::BadDrawing { why } => format!("The body is not a drawing: {why}"),
            Self::StorageUnavailable => {
                "The state directory cannot be written, so the daemon rejects this request"
                    .to_owned()
            }
            Self::NotEvents => "This route answers with events only".to_owned(),
            Self::NotJson => "The Content-Type must be application/json".to_owned(),
            Self::NotForm => {
                "The Content-Type must be application/x-www-form-urlencoded".to_owned()
            }
            Self::TooLarge { limit } => {
                format!("The body is larger than {limit} bytes; the daemon ignored all of it")
            }
            Self::SlowBody => "The body did not arrive within 15 s".to_owned(),
            Self::NoToken => "The request has no valid bearer token".to_owned(),
            Self::UnlistedOwner { name } => unlisted(name),
            Self::SuspendedOwner { name } => suspended(name),
            Self::TooManyWrongTokens { .. } => "Too many bad tokens".to_owned(),
            Self::TooManyBytes { .. } => {
                "All clients of this owner together exceeded their bytes per minute".to_owned()
            }
            Self::BadClient => {
                "X-Tabwire-Client must be 1 to 128 printable ASCII characters, once".to_owned()
            }
            Self::BadBrowser => {
                "X-Tabwire-Browser must be a browser's name, encoded as in an address, once"
                    .to_owned()
            }
            Self::BadIdempotencyKey => {
                format!("X-Tabwire-Idempotency-Key must be {IDEMPOTENCY_KEY_FORM}, once")
            }
            Self::BadBefore => BAD_BEFORE.to_owned(),
            Self::NoBefore => NO_BEFORE.to_owned(),
            Self::TooLate => RefusalReason::CAME_TOO_LATE.to_owned(),
            Self::BadAfter => format!("X-Tabwire-After must be {IDEMPOTENCY_KEY_FORM}, once"),
            Self::OutOfTurn => "The call that X-Tabwire-After names has not come".to_owned(),
            Self::BadSurface { why } => format!("X-Tabwire-Tools or X-Tabwire-Wait: {why}"),
            Self::NoRoute => "No such route".to_owned(),
            Self::NoMethod { .. } => "Method not allowed".to_owned(),
            Self::Undeclared => "No caller is allowed on this route".to_owned(),
            Self::BadHandshake => {
                format!(
                    "This route needs a WebSocket handshake of version 13 with the subprotocol {WS_SUBPROTOCOL}"
                )
            }
            Self::BadFrames => "The frames or the query are malformed".to_owned(),
            Self::NoSession => "No such session".to_owned(),
            Self::TooManySessions => "Too many sessions".to_owned(),
            Self::TooManyViewers => "Too many dashboards are open".to_owned(),
        }
    }

    /// The next step.
    fn hint(&self) -> String {
        match self {
            Self::BadHost | Self::ForeignHost => {
                "Call 127.0.0.1, localhost or [::1] with the daemon's port"
            }
            Self::Forwarded => "Call the daemon directly, from the same computer",
            Self::ForeignOrigin => "Call from an MCP client; `tabwire mcp-config` sets one up",
            Self::UnknownExtension => "If the extension is yours, run `tabwire extension allow ID`",
            Self::UnknownPoller { id } => {
                return format!("If the extension is yours, run `tabwire legacy allow {id}`");
            }
            Self::PollingSwitchedOff => {
                "`tabwire legacy ask` lets you allow single extensions; `tabwire install` sets up \
                 the Tabwire extension, which does not poll"
            }
            Self::UnknownUser => "`tabwire install` sets up the Tabwire extension, which has a key",
            Self::NotJson => "Send Content-Type: application/json",
            Self::NotForm => "Open the dashboard with `tabwire open`",
            Self::NotEvents => "Send Accept: text/event-stream",
            Self::MalformedJson
            | Self::BadDrawing { .. }
            | Self::BadClient
            | Self::BadBrowser
            | Self::BadIdempotencyKey
            | Self::BadBefore
            | Self::BadAfter
            | Self::BadSurface { .. }
            | Self::BadHandshake => {
                "Correct the part that the message names, then send the request again"
            }
            Self::NoBefore => {
                "Add ms to X-Tabwire-Clock of any answer, this one included: 10000 at most"
            }
            Self::TooLate => RefusalReason::CALL_AGAIN,
            Self::OutOfTurn => "Send it again once that call has its answer",
            Self::StorageUnavailable => "Try again in a moment; `tabwire status` shows the cause",
            Self::TooLarge { .. } => "Send a smaller body",
            Self::SlowBody => "Send the body again, without a pause",
            Self::NoToken => "`tabwire token` prints the token",
            Self::UnlistedOwner { name } => {
                return format!(
                    "A person adds the owner with `tabwire owner add {name}`; \
                     `tabwire token --owner {name}` then prints its token"
                );
            }
            Self::SuspendedOwner { name } => {
                return format!(
                    "Ask the person to let it in again: in the Tabwire popup, or with `tabwire owner allow {name}` \
                     in a terminal on the machine with the browser"
                );
            }
            Self::TooManyWrongTokens { retry_after_secs } => {
                return format!("Run `tabwire token`; retry in {retry_after_secs} s");
            }
            Self::TooManyBytes { .. } => {
                "Send the request again after retry_after_ms, or send less"
            }
            Self::NoRoute | Self::Undeclared => {
                "MCP is at POST /mcp; docs/protocol.md lists all routes"
            }
            Self::NoMethod { allow } => return format!("Use {}", joined(*allow)),
            Self::BadFrames => "docs/protocol.md describes the frames",
            Self::NoSession => "Begin a session with POST /session",
            Self::TooManySessions => "Close sessions that nobody needs",
            Self::TooManyViewers => "Close the tab of another dashboard",
        }
        .to_owned()
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::NoToken | Self::NoSession => {
                Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
            }
            Self::TooManyWrongTokens { retry_after_secs } => {
                Some((RETRY_AFTER, (*retry_after_secs).into()))
            }
            Self::TooManyBytes { retry_after } => {
                Some((RETRY_AFTER, (retry_after.as_secs() + 1).into()))
            }
            Self::NoMethod { allow } => Some((ALLOW, HeaderValue::from_str(&joined(*allow)).ok()?)),
            Self::BadHost
            | Self::ForeignHost
            | Self::Forwarded
            | Self::ForeignOrigin
            | Self::UnknownExtension
            | Self::UnknownPoller { .. }
            | Self::PollingSwitchedOff
            | Self::UnknownUser
            | Self::UnlistedOwner { .. }
            | Self::SuspendedOwner { .. }
            | Self::NotJson
            | Self::NotForm
            | Self::NotEvents
            | Self::MalformedJson
            | Self::BadDrawing { .. }
            | Self::StorageUnavailable
            | Self::TooLarge { .. }
            | Self::SlowBody
            | Self::BadClient
            | Self::BadBrowser
            | Self::BadIdempotencyKey
            | Self::BadBefore
            | Self::NoBefore
            | Self::TooLate
            | Self::BadAfter
            | Self::OutOfTurn
            | Self::BadSurface { .. }
            | Self::NoRoute
            | Self::Undeclared
            | Self::BadHandshake
            | Self::BadFrames
            | Self::TooManySessions
            | Self::TooManyViewers => None,
        }
    }
}

fn joined(methods: [Option<&'static str>; 2]) -> String {
    methods.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        tracing::debug!(error = self.code(), "request rejected");
        let mut body =
            json!({"error": self.code(), "message": self.message(), "hint": self.hint()});
        if let Self::TooManyBytes { retry_after } = &self {
            body["retry_after_ms"] = millis(*retry_after).into();
        }
        if matches!(self, Self::TooLate | Self::OutOfTurn) {
            body["may_have_run"] = false.into();
        }
        let mut response = json_response(self.status(), body.to_string());
        // A page that frames the daemon gets this answer, and must not show even that.
        let alone = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, alone);
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// The answer if the rules for sites cannot be read or written.
pub(super) fn storage_unavailable(why: &StateDirectoryError) -> Response {
    let told = json!({
        "error": "storage_unavailable",
        "message": why.to_string(),
        "hint": "Free disk space, or make the state directory writable. `tabwire doctor` prints its path.",
    });
    json_response(StatusCode::INTERNAL_SERVER_ERROR, told.to_string())
}

/// The answer of a daemon that keeps no rules for sites.
pub(super) fn no_site_rules() -> Response {
    let told = json!({
        "error": "not_available",
        "message": "This daemon keeps no rules for sites",
        "hint": "Start a daemon with a state directory: run `tabwire serve`.",
    });
    json_response(StatusCode::NOT_FOUND, told.to_string())
}

/// A response with a JSON body.
pub(super) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn unlisted(name: &str) -> String {
    format!("The token is that of owner {name} from before it was removed, or of no listed owner")
}

fn suspended(name: &str) -> String {
    format!("The user has disconnected owner {name}: its programs may not use the browser")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::protocol::code_literals::codes_named_in;

    #[test]
    fn every_request_that_is_refused_is_told_the_next_step() {
        let all = [
            HttpError::BadHost,
            HttpError::ForeignHost,
            HttpError::Forwarded,
            HttpError::ForeignOrigin,
            HttpError::UnknownExtension,
            HttpError::UnknownPoller { id: "a".repeat(32) },
            HttpError::PollingSwitchedOff,
            HttpError::UnknownUser,
            HttpError::NotJson,
            HttpError::NotForm,
            HttpError::NotEvents,
            HttpError::MalformedJson,
            HttpError::BadDrawing { why: "the screenshot is not valid base64".to_owned() },
            HttpError::StorageUnavailable,
            HttpError::TooLarge { limit: 8_192 },
            HttpError::SlowBody,
            HttpError::NoToken,
            HttpError::UnlistedOwner { name: "ci".to_owned() },
            HttpError::SuspendedOwner { name: "ci".to_owned() },
            HttpError::TooManyWrongTokens { retry_after_secs: 7 },
            HttpError::TooManyBytes { retry_after: Duration::from_secs(7) },
            HttpError::BadClient,
            HttpError::BadBrowser,
            HttpError::BadIdempotencyKey,
            HttpError::BadBefore,
            HttpError::NoBefore,
            HttpError::TooLate,
            HttpError::BadAfter,
            HttpError::OutOfTurn,
            HttpError::BadSurface { why: SurfaceError::Wait },
            HttpError::NoRoute,
            HttpError::NoMethod { allow: [Some("GET"), Some("POST")] },
            HttpError::Undeclared,
            HttpError::BadHandshake,
            HttpError::BadFrames,
            HttpError::NoSession,
            HttpError::TooManySessions,
            HttpError::TooManyViewers,
        ];
        let walked: BTreeSet<_> = all.iter().map(HttpError::code).collect();
        assert_eq!(walked, codes_named_in(include_str!("http_error.rs")));
        for error in all {
            let (hint, message) = (error.hint(), error.message());
            assert!(hint.len() > 5 && hint != message, "{error:?}: {hint}");
        }
    }
}
