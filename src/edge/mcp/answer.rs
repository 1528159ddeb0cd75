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
use super::{Edge, json_response, status};
use crate::hub::Caller;
use crate::mcp::{CallProgress, Done, Era, JobCall};
use crate::protocol::CorrelationId;

/// Sees to it that an answer gets to the caller's socket: then an outcome was read. If it
/// does not, the caller may have given the command up.
pub(super) struct Receipt {
    edge: Arc<Edge>,
    caller: Caller,
    /// The command that is cancelled if the connection closes before the answer is out.
    given_up_by_closing: Option<CorrelationId>,
    /// Open until the answer is out: then the job that it names may be told of.
    _job_call: Option<JobCall<Caller>>,
}

impl Receipt {
    pub(super) const fn new(
        edge: Arc<Edge>,
        caller: Caller,
        given_up_by_closing: Option<CorrelationId>,
        job_call: Option<JobCall<Caller>>,
    ) -> Self {
        Self { edge, caller, given_up_by_closing, _job_call: job_call }
    }

    /// Answers with what is there.
    pub(super) fn respond(self, done: Done, era: Era) -> Response {
        let status = status(done.error.as_ref(), era);
        json_response(status, self.body(Text::Ready(done)))
    }

    /// Answers with status and headers at once, and the rest when it is there.
    pub(super) fn respond_early(self, later: BoxFuture<'static, Done>) -> Response {
        json_response(StatusCode::OK, self.body(Text::Coming(later)))
    }

    /// Answers with events: progress until the answer is there, and the answer.
    pub(super) fn respond_with_events(
        self,
        progress: CallProgress,
        later: BoxFuture<'static, Done>,
    ) -> Response {
        let events = EventBody { answer: Some(later), next: Some(said(progress)), receipt: self };
        event_response(Body::new(events))
    }

    fn body(self, text: Text) -> Body {
        Body::new(AnswerBody { text, receipt: self })
    }

    fn handed_over(&mut self, outcome_of: Option<&CorrelationId>) {
        self.given_up_by_closing = None;
        if let Some(id) = outcome_of {
            self.edge.tools.hub().mark_read(&self.caller, id);
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

/// An answer that is one JSON body.
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
    type Error = Infallible;

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

/// What is said next of a call, and what says more then.
type SaidNext = BoxFuture<'static, Option<(String, CallProgress)>>;

/// An answer that is events. They are made as they are read: of what a slow reader misses
/// nothing is kept.
struct EventBody {
    /// `None` once it is out: it is the last event.
    answer: Option<BoxFuture<'static, Done>>,
    /// `None` once there is no more.
    next: Option<SaidNext>,
    receipt: Receipt,
}

fn said(mut progress: CallProgress) -> SaidNext {
    Box::pin(async move { Some((progress.next().await?, progress)) })
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        if let Poll::Ready(Done { text, hands_over, .. }) = answer.poll_unpin(context) {
            self.answer = None;
            self.next = None;
            self.receipt.handed_over(hands_over.as_ref());
            return Poll::Ready(Some(Ok(Frame::data(event(&text)))));
        }
        let Some(next) = &mut self.next else { return Poll::Pending };
        match next.poll_unpin(context) {
            Poll::Ready(Some((text, progress))) => {
                self.next = Some(said(progress));
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
