//! Notices that belong to no call of the client: `GET /mcp` in the legacy generation, and
//! `subscriptions/listen` in the modern one.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use super::{EdgeState, HttpError, json_response, mcp_headers, status, takes_events};
use crate::client_roots::{RootsMessage, RootsMessages};
use crate::hub::{Caller, Hub, PresenceGuard};
use crate::mcp::{
    self, JobNotices, MODERN_VERSION, ProtocolGeneration, RpcError, RpcErrorKind, RpcRequest,
    TaskSubscription,
};
use crate::protocol::{CorrelationId, JOBS_HEADER};

/// How many streams a client may have open. One more of the legacy generation closes the oldest;
/// one more of the modern generation is refused.
const STREAMS: usize = 8;

/// How long a stream is silent at most: who reads it can tell that it is up.
const SILENCE: Duration = Duration::from_secs(15);

/// A comment that breaks the silence.
const KEEP_ALIVE: &str = ": still here\n\n";

/// Opens the caller's stream. One that has not asked to be told of its jobs gets one that is
/// silent.
pub(super) fn open(edge: &EdgeState, caller: &Caller, headers: &HeaderMap) -> Response {
    if mcp_headers(headers).version.as_deref() == Some(MODERN_VERSION) {
        return HttpError::NoMethod { allow: [Some("POST"), None] }.into_response();
    }
    if !takes_events(headers) {
        return HttpError::NotEvents.into_response();
    }
    let hub = edge.tools.hub();
    // A client that did not ask for notices of jobs need not know their form.
    let is_told = headers.contains_key(JOBS_HEADER) || hub.wants_jobs(caller);
    let notices = if is_told {
        NoticeSource::OfJobs(Box::new(JobNotices::new(
            hub,
            caller,
            edge.job_calls.clone(),
            CorrelationId::is_job,
        )))
    } else {
        NoticeSource::None(hub.clone())
    };
    let questions = edge.tools.uploads().map(|uploads| uploads.client_roots().open(caller));
    let (place, presence) = (edge.streams.open(caller), hub.present(caller));
    NoticeStream { notices, questions, place, presence }.into_response()
}

/// Opens the stream that a request asks for.
pub(super) async fn subscribe(
    edge: &EdgeState,
    caller: &Caller,
    headers: &HeaderMap,
    request: &RpcRequest,
) -> Response {
    if !takes_events(headers) {
        return HttpError::NotEvents.into_response();
    }
    let opened = TaskSubscription::open(edge.tools.hub(), caller, request).await;
    let opened = opened.and_then(|told| Ok((told, edge.streams.try_open(caller)?)));
    match opened {
        Ok((told, place)) => {
            let presence = edge.tools.hub().present(caller);
            let notices = NoticeSource::OfTasks(Box::new(told));
            NoticeStream { notices, questions: None, place, presence }.into_response()
        }
        Err(error) => json_response(
            status(Some(&error), ProtocolGeneration::Modern),
            error.to_json(Some(&request.id)),
        ),
    }
}

/// The events of a stream. Each is made when it is read: a slow reader holds up nobody.
struct NoticeStream {
    notices: NoticeSource,
    /// What the client is asked: its answers come as requests of their own.
    questions: Option<RootsMessages>,
    place: StreamPermit,
    #[expect(dead_code, reason = "its end tells the engine")]
    presence: PresenceGuard,
}

/// The source of the notices.
enum NoticeSource {
    None(Hub),
    OfJobs(Box<JobNotices>),
    OfTasks(Box<TaskSubscription>),
}

impl NoticeSource {
    /// The next message; `None` at the end. Cancel safe.
    async fn next(&mut self) -> Option<String> {
        match self {
            Self::None(hub) => {
                hub.ended().await;
                None
            }
            Self::OfJobs(notices) => notices.next().await,
            Self::OfTasks(subscription) => subscription.next().await,
        }
    }
}

impl NoticeStream {
    fn into_response(self) -> Response {
        event_response(Body::from_stream(stream::unfold(self, Self::next)))
    }

    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let text = tokio::select! {
            biased;
            () = self.place.closed.cancelled() => return None,
            Some(message) = next_question(&mut self.questions) => {
                event(&mcp::roots_message(&message))
            }
            text = self.notices.next() => event(&text?),
            // Proxies and clients drop connections that look dead.
            () = tokio::time::sleep(SILENCE) => Bytes::from_static(KEEP_ALIVE.as_bytes()),
        };
        Some((Ok(text), self))
    }
}

/// The next message for the client. `None`: this stream carries none. Cancel safe.
async fn next_question(questions: &mut Option<RootsMessages>) -> Option<RootsMessage> {
    Some(questions.as_mut()?.next().await)
}

/// A message as an event: a line of data for each of its own.
pub(super) fn event(message: &str) -> Bytes {
    let mut event = String::with_capacity(message.len() + 32);
    event.push_str("event: message\n");
    for line in message.split(['\n', '\r']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into()
}

/// A response whose body is events.
pub(super) fn event_response(events: Body) -> Response {
    let mut response = Response::new(events);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The streams that are open, by client, the oldest first.
#[derive(Clone, Debug, Default)]
pub(in crate::edge) struct OpenStreams(
    Arc<Mutex<HashMap<Caller, VecDeque<Arc<CancellationToken>>>>>,
);

/// A stream's place among those that are open. It is free when this is dropped.
struct StreamPermit {
    streams: OpenStreams,
    caller: Caller,
    /// Cancelled if the stream has to make room.
    closed: Arc<CancellationToken>,
}

impl OpenStreams {
    fn open(&self, caller: &Caller) -> StreamPermit {
        let mut streams = self.streams();
        let own = streams.entry(caller.clone()).or_default();
        if own.len() >= STREAMS
            && let Some(oldest) = own.pop_front()
        {
            // A client that reconnects without closing would lock itself out otherwise.
            oldest.cancel();
        }
        self.place(caller, own)
    }

    /// The same for one that closes no other.
    fn try_open(&self, caller: &Caller) -> Result<StreamPermit, RpcError> {
        let mut streams = self.streams();
        let own = streams.entry(caller.clone()).or_default();
        if own.len() >= STREAMS {
            let message =
                format!("A client may have at most {STREAMS} open streams: close one first");
            return Err(RpcError::new(RpcErrorKind::Refused, message));
        }
        Ok(self.place(caller, own))
    }

    fn place(&self, caller: &Caller, own: &mut VecDeque<Arc<CancellationToken>>) -> StreamPermit {
        let closed = Arc::new(CancellationToken::new());
        own.push_back(closed.clone());
        StreamPermit { streams: self.clone(), caller: caller.clone(), closed }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<Caller, VecDeque<Arc<CancellationToken>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = self.streams.streams();
        let Some(own) = streams.get_mut(&self.caller) else { return };
        own.retain(|open| !Arc::ptr_eq(open, &self.closed));
        if own.is_empty() {
            streams.remove(&self.caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(client: &str) -> Caller {
        Caller { owner: "user".into(), client: client.into() }
    }

    #[test]
    fn one_stream_too_many_closes_the_clients_oldest_and_what_is_closed_leaves_nothing_behind() {
        let streams = OpenStreams::default();
        let other = streams.open(&caller("b"));
        let mut open: VecDeque<_> = (0..STREAMS).map(|_| streams.open(&caller("a"))).collect();
        assert!(open.iter().all(|place| !place.closed.is_cancelled()));
        for _ in 0..2 {
            open.push_back(streams.open(&caller("a")));
            let oldest = open.pop_front().unwrap();
            assert!(oldest.closed.is_cancelled());
            assert!(open.iter().all(|place| !place.closed.is_cancelled()));
        }
        drop(open.pop_back());
        open.push_back(streams.open(&caller("a")));
        assert!(open.iter().all(|place| !place.closed.is_cancelled()), "its place was free");
        assert!(!other.closed.is_cancelled());
        drop((open, other));
        assert!(streams.streams().is_empty());
    }

    #[test]
    fn a_subscription_closes_no_other_stream_and_is_refused_where_there_is_no_place() {
        let streams = OpenStreams::default();
        let mut open: Vec<_> = (1..STREAMS).map(|_| streams.open(&caller("a"))).collect();
        open.push(streams.try_open(&caller("a")).unwrap());
        let refused = streams.try_open(&caller("a")).err().unwrap();
        assert_eq!(refused.kind, RpcErrorKind::Refused);
        assert!(open.iter().all(|place| !place.closed.is_cancelled()));
        let other = streams.try_open(&caller("b")).unwrap();
        drop(open.pop());
        open.push(streams.try_open(&caller("a")).unwrap());
        drop((open, other));
        assert!(streams.streams().is_empty());
    }

    #[test]
    fn an_event_has_no_line_that_is_not_data() {
        assert_eq!(event("{\"a\":1}"), "event: message\ndata: {\"a\":1}\n\n");
        assert_eq!(event("{\n\r\n}"), "event: message\ndata: {\ndata: \ndata: \ndata: }\n\n");
    }
}
