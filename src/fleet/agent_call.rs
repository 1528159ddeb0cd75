//! One call at the agent: the pure table with its requests, pauses and parts.

use std::collections::VecDeque;
use std::time::Duration;

use async_nats::{HeaderMap, Request as NatsRequest, RequestErrorKind};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::agent::FleetAgent;
use super::call::{
    AgentCall, AgentEffect, AgentEvent, AnswerHead, FleetCallEnd, HomeRequest, PART_MAX,
    RequestNumber,
};
use super::connect::FleetConnection;
use super::message::{self, FleetCallId};
use crate::os;

/// An answer that broke off after its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer of the place broke off")]
pub(super) struct AnswerBrokeOff;

/// How an answer begins.
pub(super) enum BegunAnswer {
    Head(AnswerHead),
    /// There is none.
    Ended(FleetCallEnd),
}

/// The task of a call.
pub(super) struct AgentTask {
    pub(super) agent: FleetAgent,
    pub(super) connection: FleetConnection,
    pub(super) id: FleetCallId,
    pub(super) opening: HeaderMap,
    pub(super) body: Bytes,
    /// The caller, once it has the head. It holds one part, and is gone when it is closed.
    pub(super) parts: mpsc::Sender<Result<Bytes, AnswerBrokeOff>>,
}

/// What a task waits for.
enum PendingStep {
    Reply(RequestNumber, Box<str>, HomeRequest),
    Rest(Duration),
    Hello(Duration),
    /// The caller takes its part.
    Caller,
}

impl AgentTask {
    /// Carries the call to this life of the place, and back.
    pub(super) async fn run(self, life: Box<str>, head: oneshot::Sender<BegunAnswer>) {
        let mut head = Some(head);
        let (mut call, effects) = AgentCall::begin(life, os::time_with_sleep());
        let mut effects = VecDeque::from(effects);
        loop {
            let mut step = PendingStep::Caller;
            for effect in effects.drain(..) {
                match effect {
                    AgentEffect::Send(number, life, request) => {
                        step = PendingStep::Reply(number, life, request);
                    }
                    AgentEffect::Close(life) => self.close(&life).await,
                    AgentEffect::Rest(pause) => step = PendingStep::Rest(pause),
                    AgentEffect::AskHello(within) => step = PendingStep::Hello(within),
                    AgentEffect::Head(begun) => {
                        if let Some(head) = head.take() {
                            let _ = head.send(BegunAnswer::Head(begun));
                        }
                    }
                    AgentEffect::Data(data) => {
                        // A caller that is gone is noticed below.
                        let _ = self.parts.send(Ok(data)).await;
                    }
                    AgentEffect::End(end) => return self.end(end, head).await,
                }
            }
            let event = tokio::select! {
                event = self.wait(step) => event,
                () = gone(&mut head, &self.parts) => AgentEvent::CallerGone,
            };
            let is_over = matches!(event, AgentEvent::CallerGone);
            effects.extend(call.apply(os::time_with_sleep(), event));
            if is_over {
                for effect in effects {
                    if let AgentEffect::Close(life) = effect {
                        self.close(&life).await;
                    }
                }
                return;
            }
        }
    }

    async fn end(&self, end: FleetCallEnd, head: Option<oneshot::Sender<BegunAnswer>>) {
        match head {
            Some(head) => {
                let _ = head.send(BegunAnswer::Ended(end));
            }
            None if end != FleetCallEnd::Whole => {
                let _ = self.parts.send(Err(AnswerBrokeOff)).await;
            }
            None => {}
        }
    }

    async fn wait(&self, step: PendingStep) -> AgentEvent {
        match step {
            PendingStep::Reply(number, life, request) => self.ask(number, &life, request).await,
            PendingStep::Rest(pause) => {
                sleep(pause).await;
                AgentEvent::Rested
            }
            PendingStep::Hello(within) => match self.agent.hello(&self.connection, within).await {
                Ok(lives) => AgentEvent::Hello(lives),
                Err(_not_granted) => AgentEvent::NotGranted,
            },
            PendingStep::Caller => match self.parts.reserve().await {
                Ok(_room) => AgentEvent::Taken,
                Err(_) => AgentEvent::CallerGone,
            },
        }
    }

    /// Sends a request and waits for its reply.
    async fn ask(&self, number: RequestNumber, life: &str, request: HomeRequest) -> AgentEvent {
        let subject = self.agent.subject(life);
        let (mut refusals, mut again) = (self.connection.refusals(), self.connection.again());
        let is_later_part = matches!(request, HomeRequest::Next { from: 1.., .. });
        let (headers, body, most) = match request {
            HomeRequest::Open => (self.opening.clone(), self.body.clone(), PART_MAX),
            HomeRequest::Next { most, .. } => {
                (message::request(self.id, &request), Bytes::new(), most)
            }
        };
        let silence = self.agent.silence(body.len() + most);
        let asked = NatsRequest::new().headers(headers).payload(body).timeout(Some(silence));
        let sent = os::time_with_sleep();
        let replied = tokio::select! {
            replied = self.connection.client.send_request(subject.clone(), asked) => replied,
            () = refusals.of(&subject) => return AgentEvent::NotGranted,
            () = again.of(life) => return AgentEvent::AskAgain(number),
        };
        match replied {
            Ok(reply) => {
                // The first part waits for the daemon, which says nothing of the way.
                if is_later_part {
                    self.agent.note_rate(reply.payload.len(), os::time_with_sleep() - sent);
                }
                match message::read_reply(reply.headers.as_ref(), reply.payload) {
                    Some(reply) => AgentEvent::Replied(number, reply),
                    // No home of this version says that.
                    None => AgentEvent::Silence(number),
                }
            }
            Err(why) => match why.kind() {
                RequestErrorKind::NoResponders => AgentEvent::NoResponders(number),
                RequestErrorKind::TimedOut
                | RequestErrorKind::InvalidSubject
                | RequestErrorKind::MaxPayloadExceeded
                | RequestErrorKind::Other => AgentEvent::Silence(number),
            },
        }
    }

    /// Tells home that the call is over; home finds out by itself, too.
    async fn close(&self, life: &str) {
        let told = message::closing(self.id);
        let subject = self.agent.subject(life);
        if let Err(error) =
            self.connection.client.publish_with_headers(subject, told, Bytes::new()).await
        {
            tracing::debug!(%error, "the end of a call was not told");
        }
    }
}

/// Returns once the caller is gone.
async fn gone(
    head: &mut Option<oneshot::Sender<BegunAnswer>>,
    parts: &mpsc::Sender<Result<Bytes, AnswerBrokeOff>>,
) {
    match head {
        Some(head) => head.closed().await,
        None => parts.closed().await,
    }
}
