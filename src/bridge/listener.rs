//! The stream that tells the daemon that the client is there, and on which the daemon tells of jobs
//! if the client wants to know. It is opened again whenever there is another daemon. None is started
//! for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::daemon_finder::{DaemonIdentity, FoundDaemon};
use super::daemon_link::DaemonLink;
use super::events::EventReader;
use super::questions::DaemonQuestions;
use super::request::{is_events, stream_request};
use crate::mcp::JobCalls;

/// How long after a stream broke a daemon is looked for that others may have started.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a call waits for the stream at most, so that nothing that it leads to is missed.
const OPENING: Duration = Duration::from_millis(500);

/// The reader of the daemon's notices of jobs.
#[derive(Default)]
pub(super) struct NoticeListener {
    is_wanted: AtomicBool,
    /// The client has answers to questions that the daemon asks on the stream.
    is_asked: AtomicBool,
    /// The daemon whose stream is open, or that has none.
    heard: watch::Sender<Option<DaemonIdentity>>,
}

/// Why a stream was not read on.
enum StreamEnd {
    /// It broke, or the daemon ended it.
    Broken,
    /// This daemon has none.
    Refused,
}

/// The way of the daemon's messages to the client.
pub(super) struct ClientLines {
    pub(super) lines: mpsc::Sender<String>,
    /// The calls that begin jobs.
    pub(super) calls: JobCalls<()>,
    pub(super) questions: DaemonQuestions,
}

impl ClientLines {
    /// Passes a message on: a question at once, and a notice once the open calls that may have begun its
    /// job are answered.
    async fn pass_on(&self, message: String) {
        if !self.questions.note(&message)
            && let Some(answered) = self.calls.until_answered(&())
        {
            answered.await;
        }
        // Nobody reads any more: the bridge is about to end.
        let _ = self.lines.send(message).await;
    }
}

impl NoticeListener {
    /// The daemon may ask the client from here on, so calls wait for the stream.
    pub(super) fn expect_questions(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Waits until the stream of this daemon is open, if the client wants notices or can be asked.
    pub(super) async fn until_it_hears(&self, found: &FoundDaemon) {
        if !self.is_wanted.load(Ordering::Relaxed) && !self.is_asked.load(Ordering::Relaxed) {
            return;
        }
        let mut heard = self.heard.subscribe();
        let open = heard.wait_for(|daemon| daemon.as_ref() == Some(&found.identity));
        if tokio::time::timeout(OPENING, open).await.is_err() {
            tracing::debug!("the daemon's stream is not open yet");
        }
    }
}

impl DaemonLink {
    /// Holds a stream of the daemon open, and passes on its notices of jobs if they are wanted. Then
    /// calls wait for the stream from this call on, even if its future is polled later.
    pub(super) fn listen(
        self: Arc<Self>,
        lines: ClientLines,
        wants_jobs: bool,
    ) -> impl Future<Output = ()> + Send + 'static {
        self.listener.is_wanted.fetch_or(wants_jobs, Ordering::Relaxed);
        let mut finds = self.finder.finds();
        async move {
            // Before any call there is nothing to hear.
            while finds.wait_for(Option::is_some).await.is_ok() {
                // Else `changed` below would return for this very daemon.
                finds.mark_unchanged();
                let end = match self.finder.running().await {
                    Some(found) => {
                        let end = self.read_stream(&found, &lines).await;
                        // Its run may be over, and its clock with it.
                        self.finder.note_broken_stream();
                        end
                    }
                    None => StreamEnd::Broken,
                };
                match end {
                    StreamEnd::Broken => {
                        self.listener.heard.send_replace(None);
                        let _ = tokio::time::timeout(AGAIN, finds.changed()).await;
                    }
                    StreamEnd::Refused => {
                        let _ = finds.changed().await;
                    }
                }
            }
        }
    }

    /// Reads a daemon's stream to its end. What comes while a call is open that may begin the job
    /// waits for its answer, and the stream with it: the daemon tells the newest later.
    async fn read_stream(&self, found: &FoundDaemon, lines: &ClientLines) -> StreamEnd {
        let Ok(request) = stream_request(found, self.listener.is_wanted.load(Ordering::Relaxed))
        else {
            return StreamEnd::Refused;
        };
        let Ok(response) = self.http.request(request).await else { return StreamEnd::Broken };
        let is_stream = is_events(&response);
        self.listener.heard.send_replace(Some(found.identity.clone()));
        if !is_stream {
            tracing::warn!(status = %response.status(), "this daemon does not tell of jobs");
            return StreamEnd::Refused;
        }
        let mut events = EventReader::new(response.into_body());
        while let Ok(Some(message)) = events.next().await {
            lines.pass_on(message).await;
        }
        StreamEnd::Broken
    }
}
