//! Answers on their way to the socket: as one JSON body, or as events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};

use super::stream::{event, event_response};
use super::{EdgeState, json_response, status};
use crate::hub::Caller;
use crate::mcp::{CallProgress, JobCall, ProtocolGeneration, RpcResponse};
use crate::protocol::CorrelationId;

/// Sees to it that an answer gets to the caller's socket: then an outcome was read. If it
/// does not, the caller may have given the command up.
pub(super) struct AnswerDelivery {
    edge: Arc<EdgeState>,
    caller: Caller,
    /// The command that is cancelled if the connection closes before the answer is out.
    given_up_by_closing: Option<CorrelationId>,
    /// Open until the answer is out: then the job that it names may be told of.
    _job_call: Option<JobCall<Caller>>,
}

impl AnswerDelivery {
    pub(super) const fn new(
        edge: Arc<EdgeState>,
        caller: Caller,
        given_up_by_closing: Option<CorrelationId>,
        job_call: Option<JobCall<Caller>>,
    ) -> Self {
        Self { edge, caller, given_up_by_closing, _job_call: job_call }
    }

    /// Answers with a finished response.
    pub(super) fn respond(self, done: RpcResponse, generation: ProtocolGeneration) -> Response {
        let status = status(done.error.as_ref(), generation);
        json_response(status, self.body(AnswerText::Ready(done)))
    }

    /// Answers with status and headers at once, and the rest when it is there.
    pub(super) fn respond_early(self, later: BoxFuture<'static, RpcResponse>) -> Response {
        json_response(StatusCode::OK, self.body(AnswerText::Coming(later)))
    }

    /// Answers with events: progress until the answer is there, and the answer.
    pub(super) fn respond_with_events(
        self,
        progress: CallProgress,
        later: BoxFuture<'static, RpcResponse>,
    ) -> Response {
        let events = EventStreamBody {
            answer: Some(later),
            next: Some(next_progress(progress)),
            delivery: self,
        };
        event_response(Body::new(events))
    }

    fn body(self, text: AnswerText) -> Body {
        Body::new(JsonAnswerBody { text, delivery: self })
    }

    fn handed_over(&mut self, outcome_of: Option<&CorrelationId>) {
        self.given_up_by_closing = None;
        if let Some(id) = outcome_of {
            // A read outcome may be evicted; an unread one is kept for another try.
            self.edge.tools.hub().mark_read(&self.caller, id);
        }
    }
}

impl Drop for AnswerDelivery {
    fn drop(&mut self) {
        // Still set: the answer never reached the socket.
        if let Some(id) = self.given_up_by_closing.take() {
            tracing::debug!(correlation_id = %id, "cancelled: its caller has gone");
            self.edge.tools.hub().ask_to_cancel(&self.caller, &id);
        }
    }
}

/// An answer that is one JSON body.
struct JsonAnswerBody {
    text: AnswerText,
    delivery: AnswerDelivery,
}

enum AnswerText {
    Ready(RpcResponse),
    Coming(BoxFuture<'static, RpcResponse>),
    Sent,
}

impl http_body::Body for JsonAnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let RpcResponse { text, hands_over, .. } =
            match std::mem::replace(&mut self.text, AnswerText::Sent) {
                AnswerText::Sent => return Poll::Ready(None),
                AnswerText::Ready(done) => done,
                AnswerText::Coming(mut later) => match later.poll_unpin(context) {
                    Poll::Ready(done) => done,
                    Poll::Pending => {
                        self.text = AnswerText::Coming(later);
                        return Poll::Pending;
                    }
                },
            };
        self.delivery.handed_over(hands_over.as_ref());
        Poll::Ready(Some(Ok(Frame::data(text.into()))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.text, AnswerText::Sent)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.text {
            AnswerText::Ready(done) => SizeHint::with_exact(done.text.len() as u64),
            AnswerText::Coming(_) => SizeHint::default(),
            AnswerText::Sent => SizeHint::with_exact(0),
        }
    }
}

/// The next progress notification of a call, and the source of further ones.
type NextProgress = BoxFuture<'static, Option<(String, CallProgress)>>;

/// An answer that is events. They are made as they are read: of what a slow reader misses
/// nothing is kept.
struct EventStreamBody {
    /// `None` once it is out: it is the last event.
    answer: Option<BoxFuture<'static, RpcResponse>>,
    /// `None` once there is no more.
    next: Option<NextProgress>,
    delivery: AnswerDelivery,
}

fn next_progress(mut progress: CallProgress) -> NextProgress {
    Box::pin(async move { Some((progress.next().await?, progress)) })
}

impl http_body::Body for EventStreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        if let Poll::Ready(RpcResponse { text, hands_over, .. }) = answer.poll_unpin(context) {
            self.answer = None;
            self.next = None;
            self.delivery.handed_over(hands_over.as_ref());
            return Poll::Ready(Some(Ok(Frame::data(event(&text)))));
        }
        // The answer has registered its waker above.
        let Some(next) = &mut self.next else { return Poll::Pending };
        match next.poll_unpin(context) {
            Poll::Ready(Some((text, progress))) => {
                self.next = Some(next_progress(progress));
                Poll::Ready(Some(Ok(Frame::data(event(&text)))))
            }
            Poll::Ready(None) => {
                self.next = None;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_none()
    }
}
