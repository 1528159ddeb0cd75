//! `tabwire mcp`: MCP over stdio, forwarded to the daemon.
//!
//! One line in is one message; nothing but MCP goes to standard output. What needs no
//! daemon is answered here at once, with the daemon's own code. The daemon is started by
//! the first call that needs it, and outlives the bridge. Everything the bridge runs is
//! a task of one set, and ends with it: when standard input does, or the client dies.

mod daemon_link;
mod lines;
mod parent;

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::mcp::{self, Era, Id, Incoming, LEGACY_VERSIONS, MODERN_VERSION, Request};
pub use daemon_link::Target;
use daemon_link::{DaemonLink, Headers, Unanswered};
use lines::{Line, next_line};
use parent::Parent;

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

/// What a call that waits has on top of its own time.
const WAIT_GRACE: Duration = Duration::from_secs(10);

/// Forwards lines until standard input ends, or until the process that started this one
/// is dead.
///
/// # Errors
///
/// The system's, when standard input or output breaks.
pub async fn run(
    target: Target,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let parent = Parent::now();
    let (answers, to_write) = mpsc::channel(ANSWERS);
    let bridge = Bridge::new(target, answers);
    let writing = write(to_write, output);
    tokio::pin!(writing);
    tokio::select! {
        read = bridge.read(input) => read?,
        written = &mut writing => return written,
        () = parent.death() => return Ok(()),
    }
    drop(bridge);
    // Nobody can send any more: this puts out what was answered last.
    tokio::time::timeout(LAST_WORDS, writing).await.unwrap_or(Ok(()))
}

/// Writes answers, one a line, until nobody can send any more.
async fn write(
    mut answers: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(mut answer) = answers.recv().await {
        answer.push('\n');
        output.write_all(answer.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

struct Bridge {
    daemon: Arc<DaemonLink>,
    answers: mpsc::Sender<String>,
    /// The version that the client and we agreed on in `initialize`.
    legacy_version: Mutex<&'static str>,
}

/// One request on its way to the daemon.
struct Forward {
    line: Vec<u8>,
    id: Id,
    era: Era,
    headers: Headers,
    timeout: Duration,
    /// Whether sending it twice would do the same thing twice.
    is_submit: bool,
    /// Fires when the submission before this one is accepted.
    after: Option<oneshot::Receiver<()>>,
    /// Fires when this one is.
    accepted: Option<oneshot::Sender<()>>,
}

impl Bridge {
    fn new(target: Target, answers: mpsc::Sender<String>) -> Self {
        let daemon = Arc::new(DaemonLink::new(target));
        Self { daemon, answers, legacy_version: Mutex::new(LEGACY_VERSIONS[0]) }
    }

    async fn read(&self, input: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut input = BufReader::new(input);
        let mut calls = JoinSet::new();
        let mut last_submit = None;
        loop {
            match next_line(&mut input).await? {
                Line::End => break,
                Line::TooLong => {
                    let text = too_long();
                    self.say(text).await;
                }
                Line::Text(line) if line.trim_ascii().is_empty() => {}
                Line::Text(line) => {
                    if let Some(forward) = self.take(line, &mut last_submit).await {
                        calls.spawn(forward.run(self.daemon.clone(), self.answers.clone()));
                    }
                }
            }
            while calls.try_join_next().is_some() {}
        }
        let all = async { while calls.join_next().await.is_some() {} };
        // What is not answered by then goes on in the daemon, and can be read by id.
        let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
        Ok(())
    }

    async fn say(&self, text: String) {
        // Nobody reads any more: the reader will notice too.
        let _ = self.answers.send(text).await;
    }

    /// Answers a line here, or makes it ready to be forwarded.
    async fn take(
        &self,
        line: Vec<u8>,
        last_submit: &mut Option<oneshot::Receiver<()>>,
    ) -> Option<Forward> {
        let request = match Incoming::parse(&line) {
            Ok(Incoming::Request(request)) => request,
            // Nothing that the daemon would act on.
            Ok(Incoming::Notification { .. } | Incoming::Response) => return None,
            Err((error, id)) => {
                self.say(error.to_json(id.as_ref())).await;
                return None;
            }
        };
        let era = match Era::of(&request, None) {
            Ok(era) => era,
            Err(error) => {
                self.say(error.to_json(Some(&request.id))).await;
                return None;
            }
        };
        if request.method == "initialize" {
            self.note_version(&request);
        }
        match mcp::answer_alone(&request, era) {
            Some(Ok(text)) => self.say(text).await,
            Some(Err(error)) => self.say(error.to_json(Some(&request.id))).await,
            None => return Some(self.forward(line, request, era, last_submit)),
        }
        None
    }

    fn note_version(&self, request: &Request) {
        *self.legacy_version.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            mcp::negotiate(request);
    }

    fn forward(
        &self,
        line: Vec<u8>,
        request: Request,
        era: Era,
        last_submit: &mut Option<oneshot::Receiver<()>>,
    ) -> Forward {
        let tool = request.params.get("name").and_then(|name| name.as_str());
        let is_submit = tool == Some("interact");
        let wait = request.params.get("arguments").and_then(|arguments| arguments.get("wait_ms"));
        let wait = wait.and_then(serde_json::Value::as_u64).map(Duration::from_millis);
        let usual = if is_submit { SUBMIT } else { QUICK };
        let timeout = wait.map_or(usual, |wait| usual.max(wait + WAIT_GRACE));
        let (after, accepted) = if is_submit {
            let (accepted, is_accepted) = oneshot::channel();
            (last_submit.replace(is_accepted), Some(accepted))
        } else {
            (None, None)
        };
        let headers = Headers {
            early: is_submit,
            version: match era {
                Era::Modern => MODERN_VERSION,
                Era::Legacy => {
                    *self.legacy_version.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
                }
            },
            method: (era == Era::Modern).then(|| request.method.clone()),
            name: (era == Era::Modern).then(|| tool.map(mcp::encode_name)).flatten(),
        };
        Forward { line, id: request.id, era, headers, timeout, is_submit, after, accepted }
    }
}

impl Forward {
    /// Sends it, in its turn, and passes the answer on.
    async fn run(self, daemon: Arc<DaemonLink>, answers: mpsc::Sender<String>) {
        let Self { line, id, era, headers, timeout, is_submit, after, accepted } = self;
        if let Some(after) = after {
            // An error says that the one before failed: then it is this one's turn too.
            let _ = after.await;
        }
        let exchange = async {
            let answer = daemon.send(line, headers, is_submit).await?;
            drop(accepted);
            answer.text().await
        };
        let text = match tokio::time::timeout(timeout, exchange).await {
            Ok(Ok(text)) => text,
            Ok(Err(unanswered)) => failed(&unanswered, &id, era),
            Err(_elapsed) => failed(&Unanswered::TimedOut(timeout), &id, era),
        };
        // Nobody reads any more: the bridge is about to end.
        let _ = answers.send(text).await;
    }
}

/// The answer to a call that the daemon has not answered: a failed tool call that says
/// what to do.
fn failed(why: &Unanswered, id: &Id, era: Era) -> String {
    let body = match why {
        Unanswered::Refused { body } => body.clone(),
        Unanswered::NoDaemon(_) | Unanswered::Lost { .. } | Unanswered::TimedOut(_) => json!({
            "error": why.code(),
            "message": why.to_string(),
            "hint": why.hint(),
        }),
    };
    mcp::tool_failure(&body, id, era)
}

fn too_long() -> String {
    let message = format!("a line may have {} bytes; this one was skipped", lines::LONGEST);
    mcp::RpcError::new(mcp::Fault::Shape, message).to_json(None)
}
