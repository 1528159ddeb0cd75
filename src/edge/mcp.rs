//! `/mcp`: MCP over HTTP.
//!
//! Answers are plain JSON, but for a call that waits and whose client wants to be told of its
//! progress: that is answered with events, of which the last one is the answer. A client that
//! asks for it (the bridge does) gets the status and headers of a call that waits as soon as
//! the command is accepted, and so knows when the next one may follow; the body comes with
//! the result.
//!
//! A client of the modern generation cancels a call by closing its connection. One that asked for
//! early headers does not: it says what it cancels, and its connection may break.

mod answer;
mod call_limit;
mod stream;
mod turns;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::EdgeState;
use super::body::{drain, read_body};
use super::guard::{MCP_BODY, Principal, single};
use super::http_error::{HttpError, json_response};
use crate::hub::{Caller, RequestContext};
use crate::mcp::{
    self, IncomingMessage, McpHeaders, ProtocolGeneration, RpcAnswer, RpcError, RpcErrorKind,
    RpcNotification, RpcReply, RpcRequest,
};
use crate::protocol::{
    AFTER_HEADER, COMMAND_HEADER, EARLY_HEADER, IDEMPOTENCY_HEADER, TOOLS_HEADER, WAIT_HEADER,
    is_idempotency_key,
};
use crate::tools::{NowOrLater, SurfaceError, ToolSurface};
use answer::AnswerDelivery;
use call_limit::CallLimit;
pub(super) use stream::OpenStreams;
pub(super) use turns::CallTurns;

/// A body of more bytes is counted by its owner. One of this size is parsed in about the time that
/// everything else takes with a request.
const COUNTED: usize = 8 * 1024;

pub(super) async fn serve(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Response {
    // The table lets only callers in here.
    let Principal::Caller(caller) = principal else { return HttpError::Undeclared.into_response() };
    let (Parts { method, uri, headers, .. }, body) = request.into_parts();
    match method {
        Method::GET => stream::open(&edge, &caller, &headers),
        _ => match tool_surface(&uri, &headers) {
            Ok(surface) => post(edge, caller, surface, headers, body).await,
            Err(error) => error.into_response(),
        },
    }
}

async fn post(
    edge: Arc<EdgeState>,
    caller: Caller,
    surface: ToolSurface,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let ReceivedCall { limit, key, body } = match receive(&edge, &caller, &headers, body).await {
        Ok(received) => received,
        Err(error) => return error.into_response(),
    };
    let incoming = match edge.parsers.calls.parse(body, |body| IncomingMessage::parse(body)).await {
        Ok(incoming) => incoming,
        Err(error) => return error.into_response(),
    };
    let request = match incoming {
        Ok(IncomingMessage::Request(request)) => request,
        Ok(IncomingMessage::Notification(told)) => {
            return edge.handle_notification(&caller, Some(&told), &headers, key.as_deref()).await;
        }
        Ok(IncomingMessage::Response(reply)) => {
            return edge.handle_reply(&caller, reply, &headers).await;
        }
        Err((error, id)) => {
            return json_response(StatusCode::BAD_REQUEST, error.to_json(id.as_ref()));
        }
    };
    let generation = match ProtocolGeneration::of(&request, Some(&mcp_headers(&headers))) {
        Ok(generation) => generation,
        Err(error) => {
            return json_response(StatusCode::BAD_REQUEST, error.to_json(Some(&request.id)));
        }
    };
    if request.method == mcp::LISTEN && generation == ProtocolGeneration::Modern {
        return stream::subscribe(&edge, &caller, &headers, &request).await;
    }
    let context = RequestContext { key, ..limit.context() };
    answer((edge, caller), (request, generation), context, surface, &headers).await
}

/// Answers a request as its headers ask for it.
async fn answer(
    (edge, caller): (Arc<EdgeState>, Caller),
    (request, generation): (RpcRequest, ProtocolGeneration),
    context: RequestContext,
    surface: ToolSurface,
    headers: &HeaderMap,
) -> Response {
    let early = headers.contains_key(EARLY_HEADER);
    // Taken before `edge` moves into the future.
    let tasks = edge.tasks.clone();
    // Before the call begins its job: notices of the job wait for this answer.
    let job_call = edge.job_calls.begin(&caller, &request);
    // Calls from other machines alone name the one before them.
    let turn = context.record_by.and(context.key.clone());
    let handled = async move {
        let answer = mcp::handle(
            (&edge.tools, edge.extra.as_ref()),
            &edge.calls,
            &caller,
            request,
            generation,
            context,
            &surface,
        )
        .await;
        if let Some(key) = turn {
            edge.turns.note(&caller.owner, &key);
        }
        let RpcAnswer { submitted, progress, outcome } = answer;
        if let (NowOrLater::Now(_), Some(id)) = (&outcome, &submitted) {
            edge.tools.hub().orders_written(id).await;
        }
        let told_early = submitted.clone().filter(|_| early);
        let given_up_by_closing =
            submitted.filter(|_| generation == ProtocolGeneration::Modern && !early);
        let delivery = AnswerDelivery::new(edge, caller, given_up_by_closing, job_call);
        (delivery, told_early, progress, outcome)
    };
    let handled = FinishOnDrop { rest: Some(Box::pin(handled)), tasks };
    let (delivery, told_early, progress, outcome) = handled.await;
    let mut response = match outcome {
        NowOrLater::Now(done) => delivery.respond(done, generation),
        NowOrLater::Later(mut later) => match progress.filter(|_| takes_events(headers)) {
            // An answer that is there already goes out as JSON, which every client reads.
            Some(progress) => match (&mut later).now_or_never() {
                Some(done) => delivery.respond(done, generation),
                None => delivery.respond_with_events(progress, later),
            },
            None if early => delivery.respond_early(later),
            None => delivery.respond(later.await, generation),
        },
    };
    let id = told_early.and_then(|id| HeaderValue::from_str(id.as_str()).ok());
    if let Some(id) = id {
        response.headers_mut().insert(COMMAND_HEADER, id);
    }
    response
}

/// A call whose body is there.
struct ReceivedCall {
    limit: CallLimit,
    key: Option<Arc<str>>,
    body: Bytes,
}

/// Reads the body of a call that comes in time.
async fn receive(
    edge: &EdgeState,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<ReceivedCall, HttpError> {
    // Before the body is read: what comes late may come for long.
    let limit = match CallLimit::of(edge, caller, headers) {
        Ok(limit) => limit,
        Err(error) => {
            // A client that still sends would see a broken connection and not the error.
            drain(body).await;
            return Err(error);
        }
    };
    let (key, follows) = (idempotency_key(headers), followed_call(headers));
    let body = read_body(body, MCP_BODY).await;
    let (key, follows, body) = (key?, follows?, body?);
    if let Some(follows) = follows {
        edge.turns.wait_for(&caller.owner, &follows).await?;
        // The person may have disconnected its machine meanwhile.
        if !edge.guard.owners().has(&caller.owner) {
            return Err(HttpError::SuspendedOwner { name: caller.owner.name().to_owned() });
        }
    }
    // Its end, or its turn, may have come long after its beginning.
    limit.check()?;
    // Small ones go on, so that one client in a loop does not hold back the others of its owner.
    if body.len() > COUNTED
        && let Err(retry_after) = edge.tools.hub().admit_bytes(&caller.owner, body.len()).await
    {
        return Err(HttpError::TooManyBytes { retry_after });
    }
    Ok(ReceivedCall { limit, key, body })
}

/// Whether a client says that it can read events.
fn takes_events(headers: &HeaderMap) -> bool {
    let named = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = named.flat_map(|value| value.split(','));
    types.any(|one| {
        let media_type = one.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

impl EdgeState {
    /// Takes the answer to a question of the daemon.
    async fn handle_reply(
        &self,
        caller: &Caller,
        reply: RpcReply,
        headers: &HeaderMap,
    ) -> Response {
        if let Some(uploads) = self.tools.uploads() {
            mcp::note_reply(uploads.client_roots(), caller, reply);
        }
        self.handle_notification(caller, None, headers, None).await
    }

    /// Takes a message that wants no answer. Of those, only a cancel means anything here.
    async fn handle_notification(
        &self,
        caller: &Caller,
        told: Option<&RpcNotification>,
        headers: &HeaderMap,
        key: Option<&str>,
    ) -> Response {
        if let Err(error) = mcp_headers(headers).check_version() {
            return json_response(StatusCode::BAD_REQUEST, error.to_json(None));
        }
        if let Some(id) = told.and_then(RpcNotification::cancels) {
            // A cancel without a call has no effect: the answer may have crossed it.
            for command in self.calls.cancel(caller, &id, key) {
                let hub = self.tools.hub();
                hub.ask_to_cancel(caller, &command);
                hub.orders_written(&command).await;
            }
        }
        StatusCode::ACCEPTED.into_response()
    }
}

/// The surface of tools that the caller has chosen: by a header, or by the query of the path, which
/// clients can set that cannot set headers.
fn tool_surface(uri: &Uri, headers: &HeaderMap) -> Result<ToolSurface, HttpError> {
    let wrong = |why: SurfaceError| HttpError::BadSurface { why };
    let header = |name: &'static str| {
        let twice = || wrong(SurfaceError::Surface(format!("{name}, twice")));
        single(headers, &HeaderName::from_static(name)).map_err(|()| twice())
    };
    let asked = uri.query().into_iter().flat_map(|query| query.split('&'));
    let asked = asked.filter_map(|pair| pair.strip_prefix("tools=")).next_back();
    let asked = asked.map(|named| named.replace("%2C", ",").replace("%2c", ","));
    let named = header(TOOLS_HEADER)?.map(str::to_owned).or(asked);
    let surface = named.map(|named| ToolSurface::parse(&named)).transpose().map_err(wrong)?;
    let wait = header(WAIT_HEADER)?.map(ToolSurface::parse_wait).transpose().map_err(wrong)?;
    Ok(surface.unwrap_or_default().with_wait(wait))
}

/// The call's idempotency key, if it came with one.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<Arc<str>>, HttpError> {
    match single(headers, &HeaderName::from_static(IDEMPOTENCY_HEADER)) {
        Ok(None) => Ok(None),
        Ok(Some(key)) if is_idempotency_key(key) => Ok(Some(key.into())),
        Ok(Some(_)) | Err(()) => Err(HttpError::BadIdempotencyKey),
    }
}

/// The key of the call that this one follows, if it names one.
fn followed_call(headers: &HeaderMap) -> Result<Option<Arc<str>>, HttpError> {
    match single(headers, &HeaderName::from_static(AFTER_HEADER)) {
        Ok(None) => Ok(None),
        Ok(Some(key)) if is_idempotency_key(key) => Ok(Some(key.into())),
        Ok(Some(_)) | Err(()) => Err(HttpError::BadAfter),
    }
}

fn mcp_headers(headers: &HeaderMap) -> McpHeaders {
    let joined = |name: &str| {
        let values = headers.get_all(name).iter();
        let values: Vec<_> = values.map(|v| String::from_utf8_lossy(v.as_bytes())).collect();
        (!values.is_empty()).then(|| values.join(","))
    };
    McpHeaders {
        version: joined("mcp-protocol-version"),
        method: joined("mcp-method"),
        name: joined("mcp-name"),
    }
}

/// The HTTP status of an answer. Clients of the legacy generation throw the body of any but
/// 200 away, so there an error that has one is a 200.
fn status(error: Option<&RpcError>, generation: ProtocolGeneration) -> StatusCode {
    match (error.map(|error| error.kind), generation) {
        (
            None
            | Some(
                RpcErrorKind::Params
                | RpcErrorKind::Resource
                | RpcErrorKind::Refused
                | RpcErrorKind::Internal,
            ),
            _,
        )
        | (Some(_), ProtocolGeneration::Legacy) => StatusCode::OK,
        (Some(RpcErrorKind::Method), ProtocolGeneration::Modern) => StatusCode::NOT_FOUND,
        (
            Some(
                RpcErrorKind::Parse
                | RpcErrorKind::Shape
                | RpcErrorKind::Envelope
                | RpcErrorKind::HeaderMismatch
                | RpcErrorKind::Version
                | RpcErrorKind::Capability,
            ),
            ProtocolGeneration::Modern,
        ) => StatusCode::BAD_REQUEST,
    }
}

/// Work that is finished also if nobody waits for it any more: a submission that is just
/// being recorded, whose caller closes the connection, has to be known to be cancelled.
struct FinishOnDrop<T: Send + 'static> {
    rest: Option<BoxFuture<'static, T>>,
    tasks: TaskTracker,
}

impl<T: Send + 'static> Future for FinishOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(rest) = &mut self.rest else { return Poll::Pending };
        let polled = rest.poll_unpin(context);
        if polled.is_ready() {
            self.rest = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for FinishOnDrop<T> {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            // A runtime that is about to end begins nothing.
            if let Ok(runtime) = Handle::try_current() {
                self.tasks.spawn_on(rest.map(drop), &runtime);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_has_begun_is_finished_though_nobody_waits_for_it_any_more() {
        let tasks = TaskTracker::new();
        let (go, gone) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let work = async move {
            let _ = gone.await;
            let _ = done.send(7);
        };
        let mut finished = FinishOnDrop { rest: Some(Box::pin(work)), tasks: tasks.clone() };
        assert_eq!((&mut finished).now_or_never(), None);
        drop(finished);
        go.send(()).unwrap();
        assert_eq!(is_done.await, Ok(7));
        tasks.close();
        tasks.wait().await;
    }

    #[tokio::test]
    async fn what_is_waited_for_to_its_end_is_done_once() {
        let tasks = TaskTracker::new();
        let finished = FinishOnDrop { rest: Some(Box::pin(async { 7 })), tasks: tasks.clone() };
        assert_eq!(finished.await, 7);
        assert!(tasks.is_empty());
    }
}
