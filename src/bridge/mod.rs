//! `tabwire mcp`: MCP over stdio, forwarded to the daemon.
//!
//! One line in is one message; nothing but MCP goes to standard output. Requests that
//! need no daemon are answered here at once, with the daemon's own code. The daemon is started by
//! the first call that needs it, and outlives the bridge. Everything the bridge runs is
//! a task of one set, and ends with it: when standard input does, or the client dies.

mod daemon_finder;
mod daemon_link;
mod events;
mod far;
mod handshake;
mod lines;
mod listener;
mod local_finder;
mod questions;
mod request;
mod submissions;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Sleep;
use tokio_util::task::AbortOnDropHandle;

pub use crate::daemon_connector::CallCarrier;
use crate::home::DaemonRecord;
use crate::mcp::{
    self, CallRegistry, IncomingMessage, JobCall, JobCalls, MODERN_VERSION, ProtocolGeneration,
    RpcRequest,
};
use crate::os::{self, ParentProcess};
use crate::proof;
use crate::tools::{self, ToolSurface};
use daemon_finder::DaemonFinder;
pub use daemon_finder::{DaemonTarget, TargetDaemon};
use daemon_link::{DaemonLink, OutgoingCall};
use events::ProgressLines;
pub use far::{FarPlace, FarTarget, FarWay};
use lines::{InputLine, next_line};
use listener::ClientLines;
pub use local_finder::LocalTarget;
use questions::DaemonQuestions;
use request::{CallHeaders, ForwardError};
pub(crate) use request::{DAEMON_LOST, PLACE_LOST, PLACE_OFFLINE};
use submissions::{RecentSubmissions, SentSubmission, SubmissionTurn};

/// Answers that wait to be written.
const ANSWERS: usize = 64;

/// How long answers may still take once standard input has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(150);

/// How long they may take to be written then.
const LAST_WORDS: Duration = Duration::from_millis(40);

/// How long the daemon may take for a call that does not wait.
const QUICK: Duration = Duration::from_secs(10);

/// How long it may take to accept a submission.
const SUBMIT: Duration = Duration::from_secs(35);

/// The extra time of a call that waits.
const WAIT_GRACE: Duration = Duration::from_secs(10);

/// Forwards lines until standard input ends, or until the process that started this one
/// is dead.
///
/// # Errors
///
/// The system's, when standard input or output breaks.
pub async fn run(
    target: DaemonTarget,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    // Read first: a parent that dies during the start must not go unnoticed.
    let parent = ParentProcess::now();
    tokio::select! {
        relayed = relay(target, input, output) => relayed,
        () = parent.death() => Ok(()),
    }
}

/// The same until the input ends, even if the process that started this one dies: for a
/// command that is its own MCP client, and may run in the background.
///
/// # Errors
///
/// See [`run`].
pub async fn relay(
    target: DaemonTarget,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (answers, to_write) = mpsc::channel(ANSWERS);
    let bridge = StdioBridge::new(target, answers);
    let writing = write(to_write, output);
    tokio::pin!(writing);
    tokio::select! {
        read = bridge.read(input) => read?,
        written = &mut writing => return written,
    }
    // The last senders of answers go with it, and that ends `writing`.
    drop(bridge);
    // No sender is left: this writes the last answers.
    tokio::time::timeout(LAST_WORDS, writing).await.unwrap_or(Ok(()))
}

/// The daemon that a bridge for this target would use; starts one if none runs.
///
/// # Errors
///
/// There is no daemon, and none can be started: why.
pub async fn find_daemon(target: DaemonTarget) -> io::Result<DaemonRecord> {
    LocalDaemon::new(target).find().await
}

/// The daemon of this computer, for a program that passes calls of others on to it. It is looked for anew
/// with each call.
pub struct LocalDaemon(DaemonFinder);

impl LocalDaemon {
    /// The daemon of this target.
    #[must_use]
    pub fn new(target: DaemonTarget) -> Self {
        let http = target.http();
        Self(DaemonFinder::new(target, http))
    }

    /// The daemon that runs. One is started if none does.
    ///
    /// # Errors
    ///
    /// There is no daemon, and none can be started: why.
    pub async fn find(&self) -> io::Result<DaemonRecord> {
        let found = self.0.find(None).await;
        let found = found.map_err(|error| io::Error::other(error.to_string()))?;
        found.identity.record().cloned().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// The daemon that runs. None is started.
    pub async fn running(&self) -> Option<DaemonRecord> {
        self.0.running().await?.identity.record().cloned()
    }
}

/// Writes answers, one a line, until nobody can send any more.
async fn write(
    mut answers: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(answer) = answers.recv().await {
        let mut answer = on_one_line(answer);
        answer.push('\n');
        output.write_all(answer.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// A message on one line. Line ends in it can only stand between its parts, where an
/// extension that writes its results so has put them.
fn on_one_line(message: String) -> String {
    if message.contains(['\n', '\r']) { message.replace(['\n', '\r'], " ") } else { message }
}

struct StdioBridge {
    daemon: Arc<DaemonLink>,
    /// The tools that the client is shown, and how long its calls wait.
    surface: ToolSurface,
    answers: mpsc::Sender<String>,
    /// The calls that are forwarded and not answered yet.
    calls: CallRegistry<()>,
    /// Those of them that begin jobs, until their answers stand before all that is written later.
    job_calls: JobCalls<()>,
    /// The daemon's questions that the client has not answered yet.
    questions: DaemonQuestions,
    /// Holds a stream of the daemon open, which tells it that this client is there.
    listening: Mutex<Option<ListeningTask>>,
}

/// The task that holds a stream of the daemon open.
struct ListeningTask {
    /// Whether the stream tells of jobs.
    is_told: bool,
    _task: AbortOnDropHandle<()>,
}

/// One call to be forwarded.
struct ForwardedCall {
    call: OutgoingCall,
    generation: ProtocolGeneration,
    surface: ToolSurface,
    timeout: Duration,
    /// Ends when the timeout has passed since the call was read.
    deadline: Pin<Box<Sleep>>,
    /// Its place among the submissions of its client, if it is one.
    turn: Option<SubmissionTurn>,
    /// Open until its answer is on its way out, if it begins a job.
    job_call: Option<JobCall<()>>,
}

impl StdioBridge {
    fn new(target: DaemonTarget, answers: mpsc::Sender<String>) -> Self {
        let wants_jobs = target.job_notifications;
        let surface = target.surface.clone();
        let daemon = Arc::new(DaemonLink::new(target));
        let (calls, job_calls, questions, listening) = Default::default();
        let bridge = Self { daemon, surface, answers, calls, job_calls, questions, listening };
        bridge.listen(wants_jobs);
        bridge
    }

    /// Holds a stream of the daemon open from here on, and passes on its notices of jobs if the
    /// client wants them.
    fn listen(&self, wants_jobs: bool) {
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        if listening.as_ref().is_some_and(|task| task.is_told || !wants_jobs) {
            return;
        }
        let lines = ClientLines {
            lines: self.answers.clone(),
            calls: self.job_calls.clone(),
            questions: self.questions.clone(),
        };
        let hearing = self.daemon.clone().listen(lines, wants_jobs);
        let task = AbortOnDropHandle::new(tokio::spawn(hearing));
        *listening = Some(ListeningTask { is_told: wants_jobs, _task: task });
    }

    async fn read(&self, input: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut input = BufReader::new(input);
        let mut calls = JoinSet::new();
        let mut submissions = RecentSubmissions::default();
        loop {
            match next_line(&mut input).await? {
                InputLine::End => break,
                InputLine::TooLong => {
                    let text = too_long();
                    self.answer(text).await;
                }
                InputLine::Text(line) if line.trim_ascii().is_empty() => {}
                InputLine::Text(line) => {
                    if let Some(forward) = self.take(line, &mut submissions).await {
                        calls.spawn(forward);
                    }
                }
            }
            // Finished calls would pile up in the set.
            while calls.try_join_next().is_some() {}
        }
        let all = async { while calls.join_next().await.is_some() {} };
        // Unanswered commands go on in the daemon, and can be read by id.
        let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
        Ok(())
    }

    async fn answer(&self, text: String) {
        // Nobody reads any more: the reader will notice too.
        let _ = self.answers.send(text).await;
    }

    /// Answers a line here, or returns the task that forwards it.
    async fn take(
        &self,
        line: Vec<u8>,
        submissions: &mut RecentSubmissions,
    ) -> Option<BoxFuture<'static, ()>> {
        let request = match IncomingMessage::parse(&line) {
            Ok(IncomingMessage::Request(request)) => request,
            // Of these only a cancel means anything here, or to the daemon.
            Ok(IncomingMessage::Notification(told)) => {
                if let Some(id) = told.cancels() {
                    // The daemon knows the command and cancels it.
                    let _ = self.calls.cancel(&(), &id, None);
                }
                return None;
            }
            Ok(IncomingMessage::Response(reply)) => {
                // Only the daemon asks, and each question has one answer.
                let is_answer = reply.id.is_some_and(|id| self.questions.take(&id));
                let daemon = self.daemon.clone();
                return is_answer
                    .then(|| async move { daemon.pass_reply(line.into()).await }.boxed());
            }
            Err((error, id)) => {
                self.answer(error.to_json(id.as_ref())).await;
                return None;
            }
        };
        let generation = match ProtocolGeneration::of(&request, None) {
            Ok(generation) => generation,
            Err(error) => {
                self.answer(error.to_json(Some(&request.id))).await;
                return None;
            }
        };
        if request.method == "initialize" {
            self.daemon.handshake.note(line.clone(), &request);
            if mcp::declares_roots(&request) {
                self.daemon.listener.expect_questions();
            }
            if mcp::asks_for_jobs(&request) {
                self.listen(true);
            }
        }
        let shows_views = match generation {
            ProtocolGeneration::Modern => mcp::declares_views(&request),
            ProtocolGeneration::Legacy => self.daemon.handshake.shows_views(),
        };
        match mcp::answer_alone(&request, generation, &self.surface, shows_views) {
            Some(Ok(text)) => self.answer(text).await,
            Some(Err(error)) => self.answer(error.to_json(Some(&request.id))).await,
            None => {
                let call = self.forward(line, request, generation, submissions);
                return Some(call.run(self.daemon.clone(), self.answers.clone()).boxed());
            }
        }
        None
    }

    fn forward(
        &self,
        line: Vec<u8>,
        request: RpcRequest,
        generation: ProtocolGeneration,
        submissions: &mut RecentSubmissions,
    ) -> ForwardedCall {
        let name = mcp::name_in_header(&request);
        let tool = name.filter(|_| request.method == "tools/call");
        let is_submit = tool.is_some_and(tools::submits);
        let given = request.params.get("arguments").unwrap_or(&Value::Null);
        let wait = tool.and_then(|tool| tools::longest_wait(tool, given, &self.surface));
        let usual = if is_submit { SUBMIT } else { QUICK };
        let timeout = match wait {
            // A subscription lasts until its client ends it.
            _ if request.method == mcp::LISTEN => Duration::MAX,
            None => usual,
            Some(wait) => usual.max(wait + WAIT_GRACE),
        };
        // Commands of one client must reach the daemon in the order of their lines.
        let submit_key = is_submit.then(proof::random_hex::<16>);
        let (turn, accepted) = submit_key.clone().map(|key| submissions.add(key)).unzip();
        let headers = CallHeaders {
            version: match generation {
                ProtocolGeneration::Modern => MODERN_VERSION,
                ProtocolGeneration::Legacy => self.daemon.handshake.version(),
            },
            method: (generation == ProtocolGeneration::Modern).then(|| request.method.clone()),
            name: (generation == ProtocolGeneration::Modern)
                .then(|| name.map(mcp::encode_name))
                .flatten(),
            submit_key,
            before: None,
            after: None,
        };
        let only_reads = match request.method.as_str() {
            "tools/call" => tool.is_some_and(tools::only_reads),
            method => mcp::only_reads(method),
        };
        let in_progress = self.calls.begin(&(), &request.id, None);
        let job_call = self.job_calls.begin(&(), &request);
        let progress = ProgressLines::new(self.answers.clone());
        let (line, id, method) = (line.into(), request.id, request.method);
        let call = OutgoingCall {
            line,
            id,
            method,
            headers,
            only_reads,
            came: os::time_with_sleep(),
            in_progress,
            command: None,
            progress,
            accepted,
            follows: None,
        };
        let deadline = Box::pin(tokio::time::sleep(timeout));
        let surface = self.surface.clone();
        ForwardedCall { call, generation, surface, timeout, deadline, turn, job_call }
    }
}

impl ForwardedCall {
    /// Sends it, in its turn, and passes the answer on. The wait for its turn is part of its time.
    async fn run(self, daemon: Arc<DaemonLink>, answers: mpsc::Sender<String>) {
        let Self { mut call, generation, surface, timeout, deadline, turn, job_call } = self;
        let mut was_sent = false;
        let exchange = async {
            // One that is cancelled waits as well, so that those behind it keep their turn.
            let SubmissionTurn { follows, room } = turn.unwrap_or_default();
            if let Some(SentSubmission { key, accepted }) = follows {
                // The daemon on another machine keeps their order itself: a wait here costs the way there and back.
                let goes_ahead = daemon.is_far() && !accepted.is_cancelled();
                (call.headers.after, call.follows) = (Some(key), Some(accepted));
                match (goes_ahead, room) {
                    (true, Some(room)) => room.cancelled().await,
                    (true, None) => {}
                    (false, _) => call.wait_for_turn().await,
                }
            }
            was_sent = true;
            daemon.exchange(&mut call).await
        };
        let exchanged = tokio::select! {
            // The deadline first: a call whose time is over when its turn comes is not sent.
            biased;
            () = deadline => Err(daemon.timed_out(timeout, was_sent)),
            exchanged = exchange => exchanged,
        };
        let text = match exchanged {
            Ok(None) => return,
            Ok(Some(text)) => text,
            Err(unanswered) => failed(&unanswered, &call, generation, &surface),
        };
        if call.in_progress.is_cancelled() {
            return;
        }
        // Over before it is answered, so that a cancel from here on is for nobody.
        drop(call);
        // Nobody reads any more: the bridge is about to end.
        let _ = answers.send(text).await;
        drop(job_call);
    }
}

/// The answer to a call that the daemon has not answered, with the next step.
fn failed(
    why: &ForwardError,
    call: &OutgoingCall,
    generation: ProtocolGeneration,
    surface: &ToolSurface,
) -> String {
    let body = why.to_json((call.submits(), call.command.as_ref()), surface);
    mcp::failure(&body, &call.method, &call.id, generation)
}

fn too_long() -> String {
    let message = format!(
        "a line may have at most {} bytes; the bridge skipped a longer one",
        lines::LONGEST
    );
    mcp::RpcError::new(mcp::RpcErrorKind::Shape, message).to_json(None)
}
