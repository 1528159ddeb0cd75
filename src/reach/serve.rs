//! Home: passes the calls of a far end on to the daemon. Exactly `POST` and `GET /mcp`, with the headers of the
//! bridge's own calls, and with the owner's token, which the far end never sees.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{HEADERS_MAX, LineKind, MCP_PATH, PING, STREAMS, WINDOW, headers};
use crate::daemon_connector::DaemonConnector;
use crate::home::StateDirectory;
use crate::protocol::Owner;

/// How large the body of a call is at most, in bytes.
const BODY_MAX: usize = 1024 * 1024;

/// Any error of a body.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a call, within its limit.
type CallBody = BoxBody<Bytes, BodyError>;

/// Why the line to the far end ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It broke, was silent, or the far end does not speak the protocol.
    #[error("the line to the far end broke: {0}")]
    Line(#[from] hyper::Error),
}

/// The daemon that calls are passed on to, as one owner. Cheap to clone.
#[derive(Clone)]
pub struct HomeDaemon {
    http: Client<DaemonConnector, CallBody>,
    port: u16,
    authorization: HeaderValue,
}

impl HomeDaemon {
    /// The daemon of this state directory, which listens on `port`. `None`: the owner's token cannot stand in
    /// a header.
    #[must_use]
    pub fn new(home: &StateDirectory, port: u16, owner: &Owner) -> Option<Self> {
        let http = Client::builder(TokioExecutor::new()).build(DaemonConnector::new(home.dir()));
        let token = home.auth().token(owner);
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        authorization.set_sensitive(true);
        Some(Self { http, port, authorization })
    }

    async fn pass_on(&self, call: Request<Incoming>) -> Response<CallBody> {
        let is_carried = [Method::POST, Method::GET].contains(call.method());
        // As it is written: no other spelling of the path is taken for it.
        if !is_carried || call.uri().path_and_query().map(|path| path.as_str()) != Some(MCP_PATH) {
            return failure(
                StatusCode::NOT_FOUND,
                "not_carried",
                "Only POST and GET /mcp are carried",
                "Use `tabwire mcp --connect` at the far end.",
            );
        }
        let (parts, body) = call.into_parts();
        let mut passed = Request::new(Limited::new(body, BODY_MAX).boxed());
        *passed.method_mut() = parts.method;
        *passed.headers_mut() = headers::of_call(&parts.headers);
        passed.headers_mut().insert(AUTHORIZATION, self.authorization.clone());
        let Ok(uri) = format!("http://127.0.0.1:{}{MCP_PATH}", self.port).parse() else {
            return unanswered();
        };
        *passed.uri_mut() = uri;
        match self.http.request(passed).await {
            Ok(answer) => {
                let (parts, body) = answer.into_parts();
                let mut told = Response::new(body.map_err(BodyError::from).boxed());
                *told.status_mut() = parts.status;
                *told.headers_mut() = headers::of_answer(&parts.headers);
                told
            }
            Err(error) => {
                tracing::debug!(%error, "the daemon did not answer a carried call");
                unanswered()
            }
        }
    }
}

/// Passes calls on until the line ends.
///
/// # Errors
///
/// [`ServeError`].
pub async fn serve(
    line: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    daemon: HomeDaemon,
    kind: LineKind,
) -> Result<(), ServeError> {
    let passing_on = service_fn(|call| {
        let daemon = daemon.clone();
        async move { Ok::<_, Infallible>(daemon.pass_on(call).await) }
    });
    let line = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(kind.silence())
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS_MAX)
        .serve_connection(TokioIo::new(line), passing_on);
    Ok(line.await?)
}

/// The daemon is gone, or has ended in the middle.
fn unanswered() -> Response<CallBody> {
    failure(
        StatusCode::BAD_GATEWAY,
        "daemon_lost",
        "The daemon at home did not answer",
        "Call again; if the error repeats, ask the user to run `tabwire doctor` at home.",
    )
}

fn failure(status: StatusCode, code: &str, message: &str, hint: &str) -> Response<CallBody> {
    let told = json!({"error": code, "message": message, "hint": hint});
    let body = Full::new(Bytes::from(told.to_string())).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
