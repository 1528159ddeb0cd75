//! Sessions: the links of extensions over HTTP.
//!
//! A session outlives the connections that carry it, so what one of them loses is not
//! lost. Both directions are numbered. A frame for the extension is kept until a request
//! says that it has come (`after`), and every answer carries all that are not known to
//! have: whatever order answers come in, the extension sees each frame once, in order. A
//! POST has a number of its own and is taken once, so the extension may send it again
//! until it is answered. That makes a session what a socket is; the lifecycle's own
//! answers to a link that breaks are needed only when a session ends.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, stream};
use subtle::ConstantTimeEq as _;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::edge::conversation::{self, Close, HELLO, Heard, Lost, close_of, listen};
use crate::hub::{Link, Outbox};
use crate::proof;
use crate::protocol::{
    Attempt, CorrelationId, ExtensionReport, FrameError, FromExtension, Moment, ToExtension,
};

/// A session without a request for this long is over: between two polls of a living
/// worker there are milliseconds, and what is sent to a dead one expires after 3 s.
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

/// How many sessions there may be, those that are over among them.
const SESSIONS: usize = 256;

/// How many challenges may be unanswered.
const CHALLENGES: usize = 64;

/// All sessions, and the challenges that are not answered yet.
#[derive(Debug, Default)]
pub(in crate::edge) struct Sessions {
    /// Oldest first. One that is over stays as long as there is room, to say why.
    known: Mutex<Vec<Arc<Session>>>,
    challenges: Mutex<VecDeque<Challenge>>,
}

#[derive(Debug)]
struct Challenge {
    nonce: String,
    extension: String,
    at: Moment,
}

impl Sessions {
    /// A new challenge for an extension. The oldest one goes if there are too many.
    pub(super) fn challenge(&self, extension: &str, at: Moment) -> String {
        let nonce = proof::nonce();
        let mut challenges = lock(&self.challenges);
        challenges.retain(|known| at.since(known.at) <= HELLO);
        if challenges.len() == CHALLENGES {
            challenges.pop_front();
        }
        let extension = extension.to_owned();
        challenges.push_back(Challenge { nonce: nonce.clone(), extension, at });
        nonce
    }

    /// Whether this is a challenge that the extension may answer now. It may once.
    pub(super) fn answers(&self, nonce: &str, extension: &str, now: Moment) -> bool {
        let mut challenges = lock(&self.challenges);
        let asked = challenges.iter().position(|known| known.nonce == nonce);
        let asked = asked.and_then(|at| challenges.remove(at));
        asked.is_some_and(|known| known.extension == extension && now.since(known.at) <= HELLO)
    }

    /// Makes room for one more session.
    pub(super) fn has_room(&self) -> bool {
        let mut known = lock(&self.known);
        while known.len() >= SESSIONS
            && let Some(over) = known.iter().position(|session| session.is_over())
        {
            known.remove(over);
        }
        known.len() < SESSIONS
    }

    pub(super) fn add(&self, session: Arc<Session>) {
        lock(&self.known).push(session);
    }

    /// The session of this token. It is looked for by its hash: how nearly that fits tells a
    /// guesser nothing.
    pub(super) fn find(&self, token: &str) -> Option<Arc<Session>> {
        let hash = proof::hash(token);
        let found = lock(&self.known).iter().find(|session| session.hash == hash).cloned();
        found.filter(|session| session.token.as_bytes().ct_eq(token.as_bytes()).into())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an extension said in one request.
type Batch = Vec<Result<FromExtension, FrameError>>;

/// Names the answer to a claim or a report.
type Answered = (CorrelationId, Attempt);

/// A link over HTTP.
#[derive(Debug)]
pub(super) struct Session {
    token: String,
    hash: [u8; 32],
    extension: String,
    said: mpsc::Sender<Batch>,
    state: watch::Sender<State>,
}

/// A frame that the extension is not known to have.
#[derive(Debug)]
struct Waiting {
    text: String,
    /// A POST waits for it, so no poll need end for it.
    is_awaited: bool,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The number of the newest frame. They count from 1.
    last: u64,
    /// The newest frame that an answer has carried.
    carried: u64,
    /// The newest POST that was taken.
    taken: u64,
    /// The newest poll.
    poll: u64,
    /// POSTs that wait for answers, and which.
    posts: u32,
    awaited: HashSet<Answered>,
    /// Requests in progress, and all that there ever were.
    open: u32,
    requests: u64,
    end: Option<Close>,
}

impl State {
    fn push(&mut self, frame: &ToExtension) {
        let is_awaited = answer_to(frame).is_some_and(|answered| self.awaited.remove(&answered));
        let text = serde_json::to_string(frame).unwrap_or_default();
        self.waiting.push_back(Waiting { text, is_awaited });
        self.last += 1;
    }

    /// How many of the frames that wait come after this one.
    fn count_after(&self, after: u64) -> usize {
        let newer = usize::try_from(self.last.saturating_sub(after)).unwrap_or(usize::MAX);
        newer.min(self.waiting.len())
    }

    /// Frames up to this one have come.
    fn acknowledge(&mut self, after: u64) {
        let kept = self.count_after(after);
        self.waiting.drain(..self.waiting.len() - kept);
    }

    /// The frames after this one, as a request is answered.
    fn frames_after(&mut self, after: u64) -> String {
        let count = self.count_after(after);
        self.carried = self.carried.max(self.last);
        let newer = self.waiting.iter().skip(self.waiting.len() - count);
        answer(&newer.map(|frame| frame.text.as_str()).collect::<Vec<_>>(), self.last)
    }

    /// Whether a poll has to end: there is a frame after `after` that no other answer
    /// brings. What answers have carried since the poll began, they bring.
    fn has_for_poll(&self, after: u64, carried_before: u64) -> bool {
        let is_news = self.carried > carried_before;
        let after = if is_news { after.max(self.carried) } else { after };
        let newer = self.waiting.iter().rev().take(self.count_after(after));
        newer.into_iter().any(|frame| !frame.is_awaited || self.posts == 0)
    }
}

fn answer(frames: &[&str], last: u64) -> String {
    format!(r#"{{"frames":[{}],"last":{last}}}"#, frames.join(","))
}

impl Session {
    /// A session, and what has to run for it to work: until that ends, it is open.
    pub(super) fn open(
        token: String,
        extension: &str,
        link: Link,
        outbox: Outbox,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let (said, batches) = mpsc::channel(1);
        let state = watch::Sender::new(State::default());
        let (hash, extension) = (proof::hash(&token), extension.to_owned());
        let session = Arc::new(Self { token, hash, extension, said, state });
        let run = session.clone().run(link, outbox, batches);
        (session, run)
    }

    pub(super) fn is_of(&self, extension: &str) -> bool {
        self.extension == extension
    }

    fn is_over(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    async fn run(
        self: Arc<Self>,
        link: Link,
        mut outbox: Outbox,
        mut batches: mpsc::Receiver<Batch>,
    ) {
        let mut said = one_by_one(&mut batches);
        let close = tokio::select! {
            biased;
            end = listen(&link, &mut said) => end.unwrap_or_else(|Lost| idle()),
            close = self.fill(&mut outbox) => close,
            () = self.idle() => idle(),
        };
        tracing::info!(
            extension = self.extension,
            code = close.code,
            reason = close.reason,
            "session over"
        );
        drop(link);
        self.end(close);
    }

    /// Puts what the outbox has where requests find it, as far as there is room.
    async fn fill(&self, outbox: &mut Outbox) -> Close {
        let mut state = self.state.subscribe();
        loop {
            tokio::select! {
                biased;
                _ = state.wait_for(|state| state.waiting.len() < WAITING) => {}
                farewell = outbox.ended() => return close_of(farewell),
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
    fn end(&self, close: Close) {
        self.state.send_modify(|state| {
            if close.code != 1001 {
                state.waiting.clear();
            }
            state.end = Some(close);
        });
    }

    /// Waits for frames after the one of this number; without it, after those that answers
    /// have carried. Ends early when a newer poll comes.
    pub(super) async fn poll(&self, after: Option<u64>, wait: Duration) -> Result<String, Close> {
        let _in_progress = InProgress::of(self);
        let (poll, after, carried) = self.change(|state| {
            state.poll += 1;
            let after = after.unwrap_or(state.carried);
            state.acknowledge(after);
            (state.poll, after, state.carried)
        });
        let mut state = self.state.subscribe();
        let due = state.wait_for(|state| {
            state.end.is_some() || state.poll != poll || state.has_for_poll(after, carried)
        });
        // Whether it came or the time is over: what there is, is told.
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

    /// Takes what the extension says, once for each number, and waits a little for the
    /// answers.
    pub(super) async fn post(
        &self,
        number: Option<u64>,
        after: Option<u64>,
        frames: Batch,
    ) -> Result<String, Close> {
        let _in_progress = InProgress::of(self);
        let awaited = frames.iter().flatten().filter_map(awaits).collect();
        // From here to the end of `begin` nothing can come in between: a request whose
        // connection breaks was taken whole, or not at all.
        if let Ok(permit) = self.said.reserve().await {
            let (posting, is_new) = Posting::begin(self, number, awaited);
            if is_new {
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

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut result = None;
        self.state.send_modify(|state| result = Some(change(state)));
        result.expect("the change was made")
    }
}

fn idle() -> Close {
    Close::new(1002, "no request came for 2 s")
}

/// A request in progress: its session is not idle.
struct InProgress<'a>(&'a Session);

impl<'a> InProgress<'a> {
    fn of(session: &'a Session) -> Self {
        session.state.send_modify(|state| {
            state.open += 1;
            state.requests += 1;
        });
        Self(session)
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.open -= 1);
    }
}

/// A POST that waits for the answers to its frames.
struct Posting<'a> {
    session: &'a Session,
    awaited: Vec<Answered>,
}

impl<'a> Posting<'a> {
    /// Whether it was not taken before, too.
    fn begin(session: &'a Session, number: Option<u64>, awaited: Vec<Answered>) -> (Self, bool) {
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
        // What has not come by then comes with the poll.
        let _ = timeout(ANSWERS, answered).await.map(drop);
    }
}

impl Drop for Posting<'_> {
    fn drop(&mut self) {
        self.session.state.send_modify(|state| {
            state.posts -= 1;
            for answered in &self.awaited {
                state.awaited.remove(answered);
            }
        });
    }
}

/// The answer that a frame asks for.
fn awaits(frame: &FromExtension) -> Option<Answered> {
    match frame {
        FromExtension::Report { report: ExtensionReport::Pending { .. }, .. } => None,
        FromExtension::Claim { correlation_id, attempt }
        | FromExtension::Report { correlation_id, attempt, .. } => {
            Some((correlation_id.clone(), *attempt))
        }
        FromExtension::Hello(_)
        | FromExtension::Ready(_)
        | FromExtension::Events { .. }
        | FromExtension::Tabs { .. }
        | FromExtension::Nack { .. }
        | FromExtension::Pong { .. } => None,
    }
}

/// What a frame answers.
fn answer_to(frame: &ToExtension) -> Option<Answered> {
    match frame {
        ToExtension::Go { correlation_id, attempt }
        | ToExtension::ResultAck { correlation_id, attempt } => {
            Some((correlation_id.clone(), *attempt))
        }
        ToExtension::Nack { correlation_id, attempt, .. } => {
            Some((correlation_id.clone()?, (*attempt)?))
        }
        ToExtension::Challenge { .. }
        | ToExtension::Welcome { .. }
        | ToExtension::Command { .. }
        | ToExtension::Cancel { .. }
        | ToExtension::Capture { .. }
        | ToExtension::Ping { .. } => None,
    }
}

/// The frames of all batches.
fn one_by_one(batches: &mut mpsc::Receiver<Batch>) -> impl Stream<Item = Heard> + Unpin + Send {
    let mut frames = VecDeque::new();
    let mut taken = 0;
    stream::poll_fn(move |context: &mut Context<'_>| {
        loop {
            taken = (taken + 1) % AT_ONCE;
            if taken == 0 {
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
