//! What a request is told that is not taken: each problem's status and body.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::protocol::{IDEMPOTENCY_KEY_FORM, WS_SUBPROTOCOL, millis};

/// Why a request is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HttpError {
    /// There is not exactly one `Host`.
    BadHost,
    /// `Host` is not this daemon: a rebinding page, or a tunnel.
    ForeignHost,
    /// It came through a proxy.
    Forwarded,
    /// A web page, or an extension that may not, is asking.
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
    /// The body is not said to be JSON.
    NotJson,
    /// Only events are to be had here, and the caller does not say that it takes them.
    NotEvents,
    /// The body is not the JSON that it should be.
    MalformedJson,
    /// The body is not the drawing that it should be.
    BadDrawing {
        /// What is wrong with it.
        why: String,
    },
    /// What it leads to cannot be recorded for now.
    StorageUnavailable,
    /// The body is too large.
    TooLarge {
        /// How many bytes are taken.
        limit: usize,
    },
    /// The body did not come in time.
    SlowBody,
    /// No token, or a wrong one.
    NoToken,
    /// Too many wrong tokens.
    TooManyWrongTokens {
        /// When the next one is looked at.
        retry_after_secs: u64,
    },
    /// The owner's clients have sent as much as they may for now.
    TooManyBytes {
        /// When the same is taken.
        retry_after: Duration,
    },
    /// The client's name is none.
    BadClient,
    /// The idempotency key is none.
    BadIdempotencyKey,
    /// There is nothing here.
    NoRoute,
    /// It is here, but not with this method.
    NoMethod {
        /// The methods that it has: no path has more than two.
        allow: [Option<&'static str>; 2],
    },
    /// A route that does not say who may call it.
    Undeclared,
    /// Not the WebSocket handshake that it should be.
    BadHandshake,
    /// Not the frames, or the question for them, that it should be.
    BadFrames,
    /// No session has this token.
    NoSession,
    /// There are more sessions than any person has browsers.
    TooManySessions,
}

impl HttpError {
    const fn status(&self) -> StatusCode {
        match self {
            Self::BadHost
            | Self::BadClient
            | Self::BadIdempotencyKey
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
            | Self::Undeclared => StatusCode::FORBIDDEN,
            Self::StorageUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotEvents => StatusCode::NOT_ACCEPTABLE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::NoToken | Self::NoSession => StatusCode::UNAUTHORIZED,
            Self::TooManySessions => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooManyWrongTokens { .. } | Self::TooManyBytes { .. } => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::NoRoute => StatusCode::NOT_FOUND,
            Self::NoMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    const fn code(&self) -> &'static str {
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
            Self::NotEvents => "not_acceptable",
            Self::MalformedJson => "malformed_json",
            Self::BadDrawing { .. } => "malformed_drawing",
            Self::StorageUnavailable => "storage_unavailable",
            Self::TooLarge { .. } => "too_large",
            Self::SlowBody => "slow_body",
            Self::NoToken => "unauthorized",
            Self::TooManyWrongTokens { .. } => "too_many_wrong_tokens",
            Self::TooManyBytes { .. } => "rate_limited",
            Self::BadClient => "bad_client",
            Self::BadIdempotencyKey => "bad_idempotency_key",
            Self::NoRoute => "not_found",
            Self::NoMethod { .. } => "method_not_allowed",
            Self::Undeclared => "forbidden",
            Self::BadHandshake => "bad_handshake",
            Self::BadFrames => "bad_frames",
            Self::NoSession => "no_session",
            Self::TooManySessions => "too_many_sessions",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::BadHost => "There must be exactly one Host header".to_owned(),
            Self::ForeignHost => {
                "This daemon answers to 127.0.0.1, localhost and [::1] with its own port only"
                    .to_owned()
            }
            Self::Forwarded => {
                "This daemon is not to be reached through a proxy or a tunnel".to_owned()
            }
            Self::ForeignOrigin => "Web pages and other extensions may not call this".to_owned(),
            Self::UnknownExtension => "This extension may not connect".to_owned(),
            Self::UnknownPoller { .. } => "This extension may not poll".to_owned(),
            Self::PollingSwitchedOff => "No extension may poll".to_owned(),
            Self::UnknownUser => {
                "This system does not say which user a connection belongs to, so extensions \
                 without a key are refused"
                    .to_owned()
            }
            Self::MalformedJson => "The body is not the JSON that belongs here".to_owned(),
            Self::BadDrawing { why } => format!("The body is not a drawing: {why}"),
            Self::StorageUnavailable => "What happens cannot be recorded now".to_owned(),
            Self::NotEvents => "There are only events here".to_owned(),
            Self::NotJson => "The body must be JSON, and be said to be".to_owned(),
            Self::TooLarge { limit } => {
                format!("The body is larger than {limit} bytes; nothing of it was taken")
            }
            Self::SlowBody => "The body did not come within 15 s".to_owned(),
            Self::NoToken => "A bearer token is needed".to_owned(),
            Self::TooManyWrongTokens { .. } => "Too many wrong tokens".to_owned(),
            Self::TooManyBytes { .. } => {
                "All clients of this owner together have sent more than a minute allows".to_owned()
            }
            Self::BadClient => {
                "X-Tabwire-Client must be 1 to 128 printable ASCII characters, once".to_owned()
            }
            Self::BadIdempotencyKey => {
                format!("X-Tabwire-Idempotency-Key must be {IDEMPOTENCY_KEY_FORM}, once")
            }
            Self::NoRoute => "There is nothing here".to_owned(),
            Self::NoMethod { .. } => "It is here, but not with this method".to_owned(),
            Self::Undeclared => "Nobody may call this".to_owned(),
            Self::BadHandshake => {
                format!("This is a WebSocket of version 13 with the subprotocol {WS_SUBPROTOCOL}")
            }
            Self::BadFrames => "This is not what belongs there".to_owned(),
            Self::NoSession => "There is no such session".to_owned(),
            Self::TooManySessions => "There are too many sessions".to_owned(),
        }
    }

    /// What to do next.
    fn hint(&self) -> String {
        match self {
            Self::BadHost | Self::ForeignHost => {
                "Call it as 127.0.0.1, localhost or [::1], with the port that it listens on"
            }
            Self::Forwarded => "Call it directly, from the computer that it runs on",
            Self::ForeignOrigin => "Call it from an MCP client; `tabwire mcp-config` sets one up",
            Self::UnknownExtension => "`tabwire extension allow ID` lets it, if it is yours",
            Self::UnknownPoller { id } => {
                return format!("If it is yours, `tabwire legacy allow {id}` lets it in");
            }
            Self::PollingSwitchedOff => {
                "`tabwire legacy ask` lets in those that a person allows; `tabwire install` sets up \
                 the Tabwire extension, which need not poll"
            }
            Self::UnknownUser => "`tabwire install` sets up the Tabwire extension, which has a key",
            Self::NotJson => "Send it with Content-Type: application/json",
            Self::NotEvents => "Send Accept: text/event-stream",
            Self::MalformedJson
            | Self::BadDrawing { .. }
            | Self::BadClient
            | Self::BadIdempotencyKey
            | Self::BadHandshake => "Change what the message names, then send it again",
            Self::StorageUnavailable => {
                "Try again in a moment; `tabwire status` says what is wrong"
            }
            Self::TooLarge { .. } => "Send less at once",
            Self::SlowBody => "Send it again, without a pause",
            Self::NoToken => "`tabwire token` prints it",
            Self::TooManyWrongTokens { retry_after_secs } => {
                return format!(
                    "`tabwire token` prints the right one; wait {retry_after_secs} s with a guess"
                );
            }
            Self::TooManyBytes { .. } => "Send it again after retry_after_ms, or send less",
            Self::NoRoute | Self::Undeclared => {
                "MCP is at POST /mcp; docs/protocol.md has the rest"
            }
            Self::NoMethod { allow } => return format!("Use {}", joined(*allow)),
            Self::BadFrames => "docs/protocol.md has what does",
            Self::NoSession => "Begin one with POST /session",
            Self::TooManySessions => "Close those that nobody needs",
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
            | Self::NotJson
            | Self::NotEvents
            | Self::MalformedJson
            | Self::BadDrawing { .. }
            | Self::StorageUnavailable
            | Self::TooLarge { .. }
            | Self::SlowBody
            | Self::BadClient
            | Self::BadIdempotencyKey
            | Self::NoRoute
            | Self::Undeclared
            | Self::BadHandshake
            | Self::BadFrames
            | Self::TooManySessions => None,
        }
    }
}

fn joined(methods: [Option<&'static str>; 2]) -> String {
    methods.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        tracing::debug!(error = self.code(), "request refused");
        let mut body =
            json!({"error": self.code(), "message": self.message(), "hint": self.hint()});
        if let Self::TooManyBytes { retry_after } = &self {
            body["retry_after_ms"] = millis(*retry_after).into();
        }
        let mut response = json_response(self.status(), body.to_string());
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// A response with a JSON body.
pub(super) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
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
            HttpError::NotEvents,
            HttpError::MalformedJson,
            HttpError::BadDrawing { why: "the screenshot is not valid base64".to_owned() },
            HttpError::StorageUnavailable,
            HttpError::TooLarge { limit: 8_192 },
            HttpError::SlowBody,
            HttpError::NoToken,
            HttpError::TooManyWrongTokens { retry_after_secs: 7 },
            HttpError::TooManyBytes { retry_after: Duration::from_secs(7) },
            HttpError::BadClient,
            HttpError::BadIdempotencyKey,
            HttpError::NoRoute,
            HttpError::NoMethod { allow: [Some("GET"), Some("POST")] },
            HttpError::Undeclared,
            HttpError::BadHandshake,
            HttpError::BadFrames,
            HttpError::NoSession,
            HttpError::TooManySessions,
        ];
        let walked: BTreeSet<_> = all.iter().map(HttpError::code).collect();
        assert_eq!(walked, codes_named_in(include_str!("http_error.rs")));
        for error in all {
            let (hint, message) = (error.hint(), error.message());
            assert!(hint.len() > 5 && hint != message, "{error:?}: {hint}");
        }
    }
}
