//! `POST /mcp`: MCP over HTTP.
//!
//! Answers are plain JSON. A client that asks for it (the bridge does) gets the status and
//! headers of a call that waits as soon as the command is accepted, and so knows when the
//! next one may follow; the body comes with the result.
//!
//! A client of the modern era cancels a call by closing its connection. One that asked for
//! early headers does not: it says what it cancels, and its connection may break.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::Edge;
use super::body::read_body;
use super::guard::{Admitted, MCP_BODY, single};
use super::problem::{Problem, json_response};
use crate::hub::Caller;
use crate::mcp::{self, Answer, Done, Era, Fault, Headers, Incoming, Notification, RpcError};
use crate::protocol::{CorrelationId, EARLY_HEADER, IDEMPOTENCY_HEADER, is_idempotency_key};
use crate::tools::Outcome;

pub(super) async fn post(
    State(edge): State<Arc<Edge>>,
    Extension(admitted): Extension<Admitted>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    // The table lets only callers in here.
    let Admitted::Caller(caller) = admitted else { return Problem::Undeclared.into_response() };
    let (key, body) = match (idempotency_key(&headers), read_body(body, MCP_BODY).await) {
        (Ok(key), Ok(body)) => (key, body),
        (Err(problem), _) | (_, Err(problem)) => return problem.into_response(),
    };
    let request = match Incoming::parse(&body) {
        Ok(Incoming::Request(request)) => request,
        Ok(Incoming::Notification(told)) => {
            return edge.note(&caller, Some(&told), &headers, key.as_deref()).await;
        }
        Ok(Incoming::Response) => return edge.note(&caller, None, &headers, None).await,
        Err((error, id)) => {
            let text = error.to_json(id.as_ref());
            return json_response(StatusCode::BAD_REQUEST, text);
        }
    };
    let era = match Era::of(&request, Some(&mcp_headers(&headers))) {
        Ok(era) => era,
        Err(error) => {
            return json_response(StatusCode::BAD_REQUEST, error.to_json(Some(&request.id)));
        }
    };
    let early = headers.contains_key(EARLY_HEADER);
    let tasks = edge.tasks.clone();
    let handled = async move {
        let answer = mcp::handle(&edge.tools, &edge.calls, &caller, request, era, key).await;
        let Answer { submitted, outcome } = answer;
        let given_up_by_closing = submitted.filter(|_| era == Era::Modern && !early);
        (Receipt { edge, caller, given_up_by_closing }, outcome)
    };
    let (receipt, outcome) = SeenThrough { rest: Some(Box::pin(handled)), tasks }.await;
    match outcome {
        Outcome::Now(done) => {
            // A command that was submitted is on its way to the socket's task: it goes
            // first.
            tokio::task::yield_now().await;
            receipt.respond(done, era)
        }
        Outcome::Later(later) if early => {
            json_response(StatusCode::OK, receipt.body(Text::Coming(later)))
        }
        Outcome::Later(later) => receipt.respond(later.await, era),
    }
}

impl Edge {
    /// Takes a message that wants no answer. Of those, only a cancel means anything here.
    async fn note(
        &self,
        caller: &Caller,
        told: Option<&Notification>,
        headers: &HeaderMap,
        key: Option<&str>,
    ) -> Response {
        if let Err(error) = mcp_headers(headers).check_version() {
            return json_response(StatusCode::BAD_REQUEST, error.to_json(None));
        }
        if let Some(id) = told.and_then(Notification::cancels) {
            self.calls.cancel(caller, &id, key);
            // The call's own task does the rest: it goes first.
            tokio::task::yield_now().await;
        }
        StatusCode::ACCEPTED.into_response()
    }
}

/// The call's idempotency key, if it came with one.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<Arc<str>>, Problem> {
    match single(headers, &HeaderName::from_static(IDEMPOTENCY_HEADER)) {
        Ok(None) => Ok(None),
        Ok(Some(key)) if is_idempotency_key(key) => Ok(Some(key.into())),
        Ok(Some(_)) | Err(()) => Err(Problem::BadIdempotencyKey),
    }
}

fn mcp_headers(headers: &HeaderMap) -> Headers {
    let joined = |name: &str| {
        let values = headers.get_all(name).iter();
        let values: Vec<_> = values.map(|v| String::from_utf8_lossy(v.as_bytes())).collect();
        (!values.is_empty()).then(|| values.join(","))
    };
    Headers {
        version: joined("mcp-protocol-version"),
        method: joined("mcp-method"),
        name: joined("mcp-name"),
    }
}

/// The HTTP status of an answer. Clients of the legacy era throw the body of any but
/// 200 away, so there an error that has one is a 200.
fn status(error: Option<&RpcError>, era: Era) -> StatusCode {
    match (error.map(|error| error.fault), era) {
        (None, _) | (Some(Fault::Params), _) | (Some(_), Era::Legacy) => StatusCode::OK,
        (Some(Fault::Method), Era::Modern) => StatusCode::NOT_FOUND,
        (
            Some(
                Fault::Parse
                | Fault::Shape
                | Fault::Envelope
                | Fault::HeaderMismatch
                | Fault::Version,
            ),
            Era::Modern,
        ) => StatusCode::BAD_REQUEST,
    }
}

/// Sees to it that an answer gets to the caller's socket: then an outcome was read. If it
/// does not, the caller may have given the command up.
struct Receipt {
    edge: Arc<Edge>,
    caller: Caller,
    /// The command that is cancelled if the connection closes before the answer is out.
    given_up_by_closing: Option<CorrelationId>,
}

impl Receipt {
    fn respond(self, done: Done, era: Era) -> Response {
        let status = status(done.error.as_ref(), era);
        json_response(status, self.body(Text::Ready(done)))
    }

    fn body(self, text: Text) -> Body {
        Body::new(AnswerBody { text, receipt: self })
    }

    fn handed_over(&mut self, outcome_of: Option<&CorrelationId>) {
        self.given_up_by_closing = None;
        if let Some(id) = outcome_of {
            self.edge.tools.hub().note_read(&self.caller, id);
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(id) = self.given_up_by_closing.take() {
            tracing::debug!(correlation_id = %id, "cancelled: its caller has gone");
            self.edge.tools.hub().ask_to_cancel(&self.caller, &id);
        }
    }
}

/// Work that is finished also if nobody waits for it any more: a submission that is just
/// being recorded, whose caller closes the connection, has to be known to be cancelled.
struct SeenThrough<T: Send + 'static> {
    rest: Option<BoxFuture<'static, T>>,
    tasks: TaskTracker,
}

impl<T: Send + 'static> Future for SeenThrough<T> {
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

impl<T: Send + 'static> Drop for SeenThrough<T> {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            // A runtime that is about to end begins nothing.
            if let Ok(runtime) = Handle::try_current() {
                self.tasks.spawn_on(rest.map(drop), &runtime);
            }
        }
    }
}

/// An answer on its way to the socket.
struct AnswerBody {
    text: Text,
    receipt: Receipt,
}

enum Text {
    Ready(Done),
    Coming(BoxFuture<'static, Done>),
    Sent,
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Done { text, hands_over, .. } = match std::mem::replace(&mut self.text, Text::Sent) {
            Text::Sent => return Poll::Ready(None),
            Text::Ready(done) => done,
            Text::Coming(mut later) => match later.poll_unpin(context) {
                Poll::Ready(done) => done,
                Poll::Pending => {
                    self.text = Text::Coming(later);
                    return Poll::Pending;
                }
            },
        };
        self.receipt.handed_over(hands_over.as_ref());
        Poll::Ready(Some(Ok(Frame::data(text.into()))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.text, Text::Sent)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.text {
            Text::Ready(done) => SizeHint::with_exact(done.text.len() as u64),
            Text::Coming(_) => SizeHint::default(),
            Text::Sent => SizeHint::with_exact(0),
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
        let mut seen_through = SeenThrough { rest: Some(Box::pin(work)), tasks: tasks.clone() };
        assert_eq!((&mut seen_through).now_or_never(), None);
        drop(seen_through);
        go.send(()).unwrap();
        assert_eq!(is_done.await, Ok(7));
        tasks.close();
        tasks.wait().await;
    }

    #[tokio::test]
    async fn what_is_waited_for_to_its_end_is_done_once() {
        let tasks = TaskTracker::new();
        let seen_through = SeenThrough { rest: Some(Box::pin(async { 7 })), tasks: tasks.clone() };
        assert_eq!(seen_through.await, 7);
        assert!(tasks.is_empty());
    }
}
