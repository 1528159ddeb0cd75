//! The bridge's calls to the daemon: sent, repeated, cancelled.

use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::daemon_finder::{DaemonFinder, DaemonIdentity, DaemonTarget, FoundDaemon};
use super::events::ProgressLines;
use super::handshake::ClientHandshake;
use super::listener::NoticeListener;
use super::local_finder::FAREWELL;
use super::request::{CallHeaders, ForwardError, HttpClient, read_answer, request};
use crate::mcp::{self, CANCELLED, CallInProgress, RequestId};
use crate::protocol::{COMMAND_HEADER, CorrelationId};

/// How often a call is sent at most.
const TRIES: u32 = 3;

/// How long a call rests before it is sent again.
const REST: Duration = Duration::from_millis(50);

/// How long a daemon may take to hear that a call is cancelled.
const CANCEL: Duration = Duration::from_secs(2);

/// How long a daemon may take to hear an answer of the client. It waits no longer for one itself.
const REPLY: Duration = Duration::from_secs(2);

/// The bridge's connection to the daemon.
pub(super) struct DaemonLink {
    pub(super) finder: DaemonFinder,
    pub(super) http: HttpClient,
    pub(super) listener: NoticeListener,
    pub(super) handshake: ClientHandshake,
}

/// A call for the daemon.
pub(super) struct OutgoingCall {
    /// The message as the client wrote it.
    pub(super) line: Bytes,
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) headers: CallHeaders,
    /// Whether it changes nothing, so that it can be sent twice.
    pub(super) only_reads: bool,
    /// When its line came, by the clock that counts sleep.
    pub(super) came: Duration,
    pub(super) in_progress: CallInProgress<()>,
    /// The command that it has submitted, as soon as the daemon has said so.
    pub(super) command: Option<CorrelationId>,
    /// Where its progress goes.
    pub(super) progress: ProgressLines,
    /// Fires when the daemon has accepted the call, or when it never will.
    pub(super) accepted: Option<DropGuard>,
    /// The same of the submission that it follows, if it names that one.
    pub(super) follows: Option<CancellationToken>,
}

impl OutgoingCall {
    /// Whether it asks for a command.
    pub(super) const fn submits(&self) -> bool {
        self.headers.submit_key.is_some()
    }

    /// Waits for the submission that it follows, which need not be named then: it was accepted, or has failed.
    pub(super) async fn wait_for_turn(&mut self) {
        if let Some(accepted) = self.follows.take() {
            accepted.cancelled().await;
        }
        self.headers.after = None;
    }
}

impl DaemonLink {
    pub(super) fn new(target: DaemonTarget) -> Self {
        let http = target.http();
        let (listener, handshake) = (NoticeListener::default(), ClientHandshake::default());
        Self { finder: DaemonFinder::new(target, http.clone()), http, listener, handshake }
    }

    /// Whether a wait for an answer costs the way to another machine and back.
    pub(super) const fn is_far(&self) -> bool {
        matches!(self.finder, DaemonFinder::Far(_))
    }

    /// The error of a call that has no answer in its time.
    pub(super) fn timed_out(&self, timeout: Duration, was_sent: bool) -> ForwardError {
        match &self.finder {
            DaemonFinder::Far(far) => far.timed_out(timeout, was_sent),
            DaemonFinder::Local(_) => ForwardError::TimedOut { timeout, was_sent },
        }
    }

    /// Sends a call and waits for its answer. `None`: it was cancelled.
    ///
    /// If the daemon goes away before its answer is complete, the call is sent again, byte
    /// for byte and under the same key, by which the next daemon knows a command that it
    /// has already. A call that two daemons went away with is not sent to a third.
    pub(super) async fn exchange(
        &self,
        call: &mut OutgoingCall,
    ) -> Result<Option<String>, ForwardError> {
        if let DaemonFinder::Far(far) = &self.finder {
            return self.exchange_far(far, call).await;
        }
        let mut gone: Option<DaemonIdentity> = None;
        let mut sent_to: Option<DaemonIdentity> = None;
        let mut tries = 0;
        while !call.in_progress.is_cancelled() {
            let found = self.finder.find(gone.as_ref()).await;
            let found = found.map_err(|why| why.after(sent_to.is_some()))?;
            // Before the call, so that the daemon knows the program when it records the command.
            self.handshake.repeat_to(&found, &self.http).await;
            // Else a fast job could end before anybody listens.
            self.listener.until_it_hears(&found).await;
            if call.in_progress.is_cancelled() {
                break;
            }
            let answer = self.attempt(&found, call).await;
            if !self.is_lost(&found, &answer).await {
                return answer;
            }
            // Its port may be another program's by now.
            self.finder.forget(&found).await;
            tries += 1;
            // One that ended before the call came has nothing to do with it.
            let was_sent = matches!(answer, Err(ForwardError::Lost { was_sent: true, .. }));
            let is_second = was_sent && sent_to.as_ref().is_some_and(|to| *to != found.identity);
            if is_second || tries == TRIES {
                return answer.map_err(|why| why.after(sent_to.is_some()));
            }
            sent_to = sent_to.or_else(|| was_sent.then(|| found.identity.clone()));
            gone = Some(found.identity);
            tokio::time::sleep(REST).await;
        }
        Ok(None)
    }

    /// Sends a call once.
    pub(super) async fn attempt(
        &self,
        found: &FoundDaemon,
        call: &mut OutgoingCall,
    ) -> Result<Option<String>, ForwardError> {
        let submits = call.submits();
        let sent = self.http.request(request(found, call.line.clone(), &call.headers)?);
        let response = tokio::select! {
            biased;
            // Whether a submission was taken, and so is to be cancelled, shows only now.
            () = call.in_progress.cancelled(), if !submits => return Ok(None),
            response = sent => response,
        };
        let response = response.map_err(|error| ForwardError::Lost {
            detail: error.to_string(),
            was_sent: !error.is_connect(),
        })?;
        self.finder.note_clock(response.headers());
        if let Some(id) = told_command(response.headers()) {
            call.command = Some(id);
        }
        drop(call.accepted.take());
        let answer = read_answer(response, Some(&mut call.progress));
        tokio::pin!(answer);
        tokio::select! {
            biased;
            () = call.in_progress.cancelled() => {}
            answer = &mut answer => return answer.map(Some),
        }
        if submits {
            // `answer` lives on: without it the call would not be in progress any more.
            self.cancel(found, &call.id, &call.headers).await;
        }
        Ok(None)
    }

    /// Whether a daemon went away rather than answer. One that takes nothing any more, for
    /// it is about to end, counts once it has ended.
    async fn is_lost(
        &self,
        found: &FoundDaemon,
        answer: &Result<Option<String>, ForwardError>,
    ) -> bool {
        match answer {
            Err(ForwardError::Lost { .. }) => true,
            Ok(Some(text)) if mcp::is_shutdown_refusal(text) => {
                self.finder.has_ended(&found.identity, FAREWELL).await
            }
            Ok(_)
            | Err(
                ForwardError::NoDaemon(_)
                | ForwardError::NoOwner(_)
                | ForwardError::TimedOut { .. }
                | ForwardError::Offline { .. }
                | ForwardError::PlaceLost { .. }
                | ForwardError::PlaceTimedOut { .. }
                | ForwardError::Refused { .. },
            ) => false,
        }
    }

    /// Passes the client's answer to a question of the daemon on. A daemon that is gone has no use for it.
    pub(super) async fn pass_reply(&self, line: Bytes) {
        let Some(found) = self.finder.running().await else { return };
        let headers = CallHeaders { version: self.handshake.version(), ..CallHeaders::default() };
        let Ok(request) = request(&found, line, &headers) else { return };
        let heard = tokio::time::timeout(REPLY, self.http.request(request)).await;
        if !heard.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status().is_success())) {
            tracing::debug!("the daemon did not take the client's answer");
        }
    }

    /// Tells a daemon that a call of its is cancelled.
    async fn cancel(&self, found: &FoundDaemon, id: &RequestId, headers: &CallHeaders) {
        if !self.finder.is_running(found) {
            return;
        }
        let told = json!({
            "jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": id},
        });
        let headers = CallHeaders {
            method: headers.method.is_some().then(|| CANCELLED.to_owned()),
            name: None,
            // It may come long after the call.
            before: None,
            after: None,
            ..headers.clone()
        };
        let Ok(request) = request(found, told.to_string().into(), &headers) else { return };
        let heard = tokio::time::timeout(CANCEL, self.http.request(request)).await;
        if !heard.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status().is_success())) {
            tracing::warn!("the daemon could not be told that a call is cancelled");
        }
    }
}

/// The command that an early answer names.
fn told_command(headers: &HeaderMap) -> Option<CorrelationId> {
    // It stands in a sentence for the model, and may come from another machine.
    let id = headers.get(COMMAND_HEADER)?.to_str().ok().filter(|id| CorrelationId::is_one(id))?;
    Some(id.into())
}
