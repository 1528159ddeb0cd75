//! One call at home: the daemon's answer is read as fast as its agent asks for it.

use std::sync::{Arc, Mutex, PoisonError};

use async_nats::{Client, Subject};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt as _;
use http_body_util::Full;
use hyper::{Request, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::call::{AnswerHead, HomeCall, HomeEffect, HomeEvent, ReplyNumber};
use super::home_owner::send_reply;
use super::message::FleetCallId;
use super::open_calls::FleetCalls;
use crate::os;
use crate::reach::{CallBody, HomeDaemon, carried_answer_headers, failure};

/// A request for a part of an answer.
#[derive(Clone, Debug)]
pub(super) struct WaitingReply {
    /// Where the reply goes.
    pub(super) to: Subject,
    pub(super) from: u64,
    pub(super) most: usize,
}

/// The task of a call.
pub(super) struct CallTask {
    pub(super) client: Client,
    pub(super) calls: Arc<Mutex<FleetCalls<mpsc::Sender<WaitingReply>>>>,
    pub(super) owner: Box<str>,
    pub(super) id: FleetCallId,
    /// They end when the call is closed.
    pub(super) requests: mpsc::Receiver<WaitingReply>,
}

/// What a task waits for.
enum TaskEvent {
    Home(HomeEvent),
    Asked(WaitingReply),
    Closed,
}

impl CallTask {
    /// Passes the call on, and replies until it is closed or nobody asks any more.
    pub(super) async fn run(
        mut self,
        daemon: Result<HomeDaemon, String>,
        request: Request<Bytes>,
        first: WaitingReply,
    ) {
        let mut source = AnswerSource::new(daemon, request);
        let mut call = HomeCall::new(os::time_with_sleep());
        let mut asked: Option<(ReplyNumber, Subject)> = None;
        let mut n_asked = 0;
        let mut next = TaskEvent::Asked(first);
        loop {
            let before = asked.clone();
            let event = match next {
                TaskEvent::Home(event) => event,
                TaskEvent::Asked(WaitingReply { to, from, most }) => {
                    n_asked += 1;
                    asked = Some((n_asked, to));
                    HomeEvent::Asked { number: n_asked, from, most }
                }
                TaskEvent::Closed => break,
            };
            let mut is_over = false;
            for effect in call.apply(os::time_with_sleep(), event) {
                match effect {
                    HomeEffect::Reply(number, reply) => {
                        let known = [&asked, &before].into_iter().flatten();
                        if let Some((_, to)) = known.into_iter().find(|(known, _)| *known == number)
                        {
                            send_reply(&self.client, to, reply).await;
                        }
                    }
                    HomeEffect::GiveUp => is_over = true,
                }
            }
            if is_over {
                break;
            }
            let woken = call.wake_at().saturating_sub(os::time_with_sleep());
            next = tokio::select! {
                asked = self.requests.recv() => asked.map_or(TaskEvent::Closed, TaskEvent::Asked),
                event = source.next(), if call.wants_data() => TaskEvent::Home(event),
                () = sleep(woken) => TaskEvent::Home(HomeEvent::Woken),
            };
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.close(os::time_with_sleep(), &self.owner, self.id);
    }
}

/// The daemon's answer.
enum AnswerSource {
    Opening(BoxFuture<'static, Response<CallBody>>),
    Reading(CallBody),
}

impl AnswerSource {
    fn new(daemon: Result<HomeDaemon, String>, request: Request<Bytes>) -> Self {
        let opening = async move {
            match daemon {
                Ok(daemon) => {
                    let Ok(answer) = daemon.answer(request.map(Full::new)).await;
                    answer
                }
                Err(why) => failure(
                    StatusCode::FORBIDDEN,
                    "not_allowed",
                    (&why, "Ask the person at that machine."),
                    false,
                ),
            }
        };
        Self::Opening(opening.boxed())
    }

    async fn next(&mut self) -> HomeEvent {
        let body = match self {
            Self::Opening(opening) => {
                let (parts, body) = opening.await.into_parts();
                *self = Self::Reading(body);
                let headers = carried_answer_headers(&parts.headers);
                return HomeEvent::Head(AnswerHead { status: parts.status.as_u16(), headers });
            }
            Self::Reading(body) => body,
        };
        loop {
            match body.frame().await {
                // Trailers say nothing here.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return HomeEvent::Data(data);
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "the daemon's answer broke off");
                    return HomeEvent::Broke;
                }
                None => return HomeEvent::End,
            }
        }
    }
}
