//! Sessions: the links of extensions over HTTP.
//!
//! A session outlives the connections that carry it, so what one of them loses is not
//! lost. Both directions are numbered. A frame for the extension is kept until a request
//! says that it has come (`after`), and every answer carries all that are not known to
//! have: whatever order answers come in, the extension sees each frame once, in order. A
//! POST has a number of its own and is taken once, so the extension may send it again
//! until it is answered. That makes a session what a socket is; the lifecycle's own
//! answers to a link that breaks are needed only when a session ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, stream};
use subtle::ConstantTimeEq as _;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::state::{ReplyKey, SessionState, answer, awaits};
use crate::edge::EdgeState;
use crate::edge::connections::ConnectionHolder;
use crate::edge::conversation::{self, LinkClose, LinkLost, ReceivedFrame, close_of, listen};
use crate::hub::{ExtensionLink, Outbox};
use crate::proof;
use crate::protocol::{FrameError, FromExtension};

/// A session without a request for this long is over: between two polls of a living
/// worker there are milliseconds, and a command that is sent to a dead one expires after 3 s.
const IDLE: Duration = Duration::from_secs(2);

/// How long a POST waits for the answers to its frames; later ones come with the poll.
const ANSWERS: Duration = Duration::from_millis(100);

/// How many frames may wait to be fetched: the answers to a POST and some more. Further ones
/// fill the link's outbox, which has a limit of its own.
const WAITING: usize = FRAMES_A_POST + 32;

/// How many frames a POST may have.
pub(super) const FRAMES_A_POST: usize = 64;

/// How many frames are taken in before what follows from them is sent on: fewer than an
/// outbox has room for.
const AT_ONCE: usize = 16;

/// The frames of one request.
type FrameBatch = Vec<Result<FromExtension, FrameError>>;

/// A link over HTTP.
#[derive(Debug)]
pub(super) struct HttpSession {
    token: String,
    hash: [u8; 32],
    extension: String,
    said: mpsc::Sender<FrameBatch>,
    state: watch::Sender<SessionState>,
}

impl HttpSession {
    /// A session, and its task: the session is open until the task ends.
    pub(super) fn open(
        edge: Arc<EdgeState>,
        token: String,
        extension: &str,
        link: ExtensionLink,
        outbox: Outbox,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        // One batch at a time: a POST waits here while the one before it is taken in.
        let (said, batches) = mpsc::channel(1);
        let state = watch::Sender::new(SessionState::default());
        let (hash, extension) = (proof::hash(&token), extension.to_owned());
        let session = Arc::new(Self { token, hash, extension, said, state });
        let run = session.clone().run(edge, link, outbox, batches);
        (session, run)
    }

    pub(super) fn is_of(&self, extension: &str) -> bool {
        self.extension == extension
    }

    pub(super) fn holder(&self) -> ConnectionHolder {
        ConnectionHolder::Extension(self.extension.clone())
    }

    /// Whether this is the hash of its token.
    pub(super) fn has_hash(&self, hash: &[u8; 32]) -> bool {
        self.hash == *hash
    }

    /// Whether this is its token; takes the same time for any wrong one.
    pub(super) fn has_token(&self, token: &str) -> bool {
        self.token.as_bytes().ct_eq(token.as_bytes()).into()
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    async fn run(
        self: Arc<Self>,
        edge: Arc<EdgeState>,
        link: ExtensionLink,
        mut outbox: Outbox,
        mut batches: mpsc::Receiver<FrameBatch>,
    ) {
        let mut said = one_by_one(&mut batches);
        let close = tokio::select! {
            biased;
            end = listen(&edge, &self.extension, &link, &mut said) => end.unwrap_or_else(|LinkLost| idle()),
            close = self.fill(&mut outbox) => close,
            () = self.idle() => idle(),
        };
        tracing::info!(
            extension = self.extension,
            code = close.code,
            reason = close.reason,
            "session over"
        );
        // Before `end`: who sees the session over may count on the hub knowing it too.
        drop(link);
        self.end(close);
    }

    /// Moves frames from the outbox to the waiting ones, while there is room.
    async fn fill(&self, outbox: &mut Outbox) -> LinkClose {
        let mut state = self.state.subscribe();
        loop {
            tokio::select! {
                biased;
                _ = state.wait_for(|state| state.waiting.len() < WAITING) => {}
                reason = outbox.ended() => return close_of(reason),
            }
            match conversation::next_frame(outbox).await {
                Ok(frame) => self.state.send_modify(|state| state.push(&frame)),
                Err(close) => return close,
            }
        }
    }

    /// Waits until there has been no request for [`IDLE`].
    async fn idle(&self) {
        let mut state = self.state.subscribe();
        loop {
            let requests = match state.wait_for(|state| state.open == 0).await {
                Ok(state) => state.requests,
                Err(_closed) => return,
            };
            let next = state.wait_for(|state| state.requests != requests);
            if timeout(IDLE, next).await.is_err() {
                return;
            }
        }
    }

    /// What is left must not be told any more, unless the daemon ends: those are its last
    /// words.
    fn end(&self, close: LinkClose) {
        self.state.send_modify(|state| {
            // After 1001 nobody will send them again.
            if close.code != 1001 {
                state.waiting.clear();
            }
            state.end = Some(close);
        });
    }

    /// Waits for frames after the one of this number; without it, after those that answers
    /// have carried. Ends early when a newer poll comes.
    pub(super) async fn poll(
        &self,
        after: Option<u64>,
        wait: Duration,
    ) -> Result<String, LinkClose> {
        let _in_progress = OpenRequest::of(self);
        let (poll, after, carried) = self.change(|state| {
            // A newer poll ends the older one, whose connection may be dead.
            state.poll += 1;
            let after = after.unwrap_or(state.carried);
            state.acknowledge(after);
            (state.poll, after, state.carried)
        });
        let mut state = self.state.subscribe();
        let due = state.wait_for(|state| {
            state.end.is_some() || state.poll != poll || state.has_for_poll(after, carried)
        });
        // A timeout is no error: the answer carries the frames that wait now.
        let _ = timeout(wait, due).await.map(drop);
        self.change(|state| {
            let has_any = state.count_after(after) > 0;
            match &state.end {
                Some(close) if !has_any => Err(close.clone()),
                Some(_) | None if state.poll != poll => Ok(answer(&[], after)),
                Some(_) | None => Ok(state.frames_after(after)),
            }
        })
    }

    /// Takes in the extension's frames, once for each number, and waits briefly for the
    /// answers.
    pub(super) async fn post(
        &self,
        number: Option<u64>,
        after: Option<u64>,
        frames: FrameBatch,
    ) -> Result<String, LinkClose> {
        let _in_progress = OpenRequest::of(self);
        let awaited = frames.iter().flatten().filter_map(awaits).collect();
        // From here to the end of `begin` nothing can come in between: a request whose
        // connection breaks was taken whole, or not at all.
        if let Ok(permit) = self.said.reserve().await {
            let (posting, is_new) = PendingPost::begin(self, number, awaited);
            if is_new {
                // A repeated POST only waits for the answers to its first try.
                permit.send(frames);
            }
            posting.answered().await;
        }
        self.change(|state| match &state.end {
            Some(close) => Err(close.clone()),
            None => {
                let after = after.unwrap_or(state.carried);
                state.acknowledge(after);
                Ok(state.frames_after(after))
            }
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut SessionState) -> R) -> R {
        let mut result = None;
        self.state.send_modify(|state| result = Some(change(state)));
        result.expect("the change was made")
    }
}

fn idle() -> LinkClose {
    LinkClose::new(1002, "no request for 2 s")
}

/// A request in progress: its session is not idle.
struct OpenRequest<'a>(&'a HttpSession);

impl<'a> OpenRequest<'a> {
    fn of(session: &'a HttpSession) -> Self {
        session.state.send_modify(|state| {
            state.open += 1;
            state.requests += 1;
        });
        Self(session)
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.open -= 1);
    }
}

/// A POST that waits for the answers to its frames.
struct PendingPost<'a> {
    session: &'a HttpSession,
    awaited: Vec<ReplyKey>,
}

impl<'a> PendingPost<'a> {
    /// Whether it was not taken before, too.
    fn begin(
        session: &'a HttpSession,
        number: Option<u64>,
        awaited: Vec<ReplyKey>,
    ) -> (Self, bool) {
        let is_new = session.change(|state| {
            let is_new = number.is_none_or(|number| number > state.taken);
            state.posts += 1;
            if is_new {
                state.taken = number.unwrap_or(state.taken);
                state.awaited.extend(awaited.iter().cloned());
            }
            is_new
        });
        (Self { session, awaited }, is_new)
    }

    async fn answered(&self) {
        let mut state = self.session.state.subscribe();
        let answered = state.wait_for(|state| {
            let is_awaited = |answered| state.awaited.contains(answered);
            state.end.is_some() || !self.awaited.iter().any(is_awaited)
        });
        // Later answers come with the poll.
        let _ = timeout(ANSWERS, answered).await.map(drop);
    }
}

impl Drop for PendingPost<'_> {
    fn drop(&mut self) {
        self.session.state.send_modify(|state| {
            state.posts -= 1;
            for answered in &self.awaited {
                state.awaited.remove(answered);
            }
        });
    }
}

/// The frames of all batches.
fn one_by_one(
    batches: &mut mpsc::Receiver<FrameBatch>,
) -> impl Stream<Item = ReceivedFrame> + Unpin + Send {
    let mut frames = VecDeque::new();
    let mut taken = 0;
    stream::poll_fn(move |context: &mut Context<'_>| {
        loop {
            taken = (taken + 1) % AT_ONCE;
            if taken == 0 {
                // Others get a turn, and this stream is polled again right after.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Some(frame) = frames.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            match batches.poll_recv(context) {
                Poll::Ready(Some(batch)) => frames.extend(batch),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
}
