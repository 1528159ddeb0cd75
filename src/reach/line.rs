//! A line to a far end: the command is started, and greets.

use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio_util::task::AbortOnDropHandle;

use super::LineKind;
use super::command::FarCommand;
use super::greeting::{CarrierGreeting, GreetingError, read_greeting};
use super::place::PlaceName;
use crate::terminal::clean_lines;

/// How long the first line may take: a person may have to type a password.
const FIRST: Duration = Duration::from_secs(120);

/// How long a line may take that comes back by itself.
const RETRY: Duration = Duration::from_secs(30);

/// How much of the end of standard error is kept, in bytes.
const SAID: usize = 1_000;

/// How long a command may take to end once its pipes are closed.
const END: Duration = Duration::from_secs(1);

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub enum FarLineError {
    /// The command cannot be started.
    #[error("cannot start {command}: {source}. Install it, or name another command behind --")]
    Start {
        /// The command.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// There is no program at the far end.
    #[error(
        "there is no `tabwire` at the far end. Install it there, in the PATH or as ~/.local/bin/tabwire, or name it with --far-program{}", after(.0)
    )]
    NoProgram(String),
    /// The program at the far end does not run there.
    #[error(
        "the `tabwire` at the far end cannot be run there: it may be for another architecture or system. Install the one for that machine{}", after(.0)
    )]
    OtherArchitecture(String),
    /// The program at the far end has no `carry`.
    #[error("the `tabwire` at the far end is too old and knows no `carry`. Update it there{}", after(.0))]
    TooOld(String),
    /// `ssh` does not get there.
    #[error("ssh does not connect{}", after(.0))]
    NotConnected(String),
    /// The command ended otherwise.
    #[error("{why}{}", after(.said))]
    Greeting {
        /// What it said instead.
        why: GreetingError,
        /// The end of its standard error.
        said: String,
    },
    /// Nothing came.
    #[error("the far end has not answered within {} s{}", .waited.as_secs(), after(.said))]
    Silent {
        /// How long it had.
        waited: Duration,
        /// The end of its standard error.
        said: String,
    },
    /// It carries for another place.
    #[error(
        "`tabwire carry` there carries for {there}, not for {here}. Give both ends the same name"
    )]
    OtherPlace {
        /// The name at the far end.
        there: PlaceName,
        /// The name here.
        here: PlaceName,
    },
}

/// What was said, in words for an error.
fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(". It said: {said}") }
}

/// A line whose far end has greeted. Its command ends with it.
#[derive(Debug)]
pub struct FarLine {
    child: Child,
    pipes: LinePipes,
    greeting: CarrierGreeting,
    _errors: AbortOnDropHandle<()>,
}

/// The standard input and output of the command.
#[derive(Debug)]
pub struct LinePipes {
    input: ChildStdin,
    output: ChildStdout,
}

impl FarLine {
    /// Starts the command, and waits for its far end.
    ///
    /// # Errors
    ///
    /// [`FarLineError`]: the command has ended.
    pub async fn open(
        command: &FarCommand,
        place: &PlaceName,
        kind: LineKind,
        is_retry: bool,
    ) -> Result<Self, FarLineError> {
        let cannot_start = |source| FarLineError::Start { command: command.summary(), source };
        let nothing = || cannot_start(io::Error::other("there is no command"));
        let mut started = command.command(place, kind, is_retry).ok_or_else(nothing)?;
        let mut child = started.spawn().map_err(cannot_start)?;
        let (Some(input), Some(mut output), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(nothing());
        };
        let errors = ErrorTail::default();
        let reading = AbortOnDropHandle::new(tokio::spawn(errors.clone().read(stderr)));
        let waited = if is_retry { RETRY } else { FIRST };
        let greeted = tokio::time::timeout(waited, read_greeting(&mut output)).await;
        let why = match greeted {
            Ok(Ok(greeting)) if greeting.place == *place => {
                let pipes = LinePipes { input, output };
                return Ok(Self { child, pipes, greeting, _errors: reading });
            }
            Ok(Ok(greeting)) => {
                FarLineError::OtherPlace { there: greeting.place, here: place.clone() }
            }
            Ok(Err(why)) => {
                drop(input);
                let status = tokio::time::timeout(END, child.wait()).await;
                // All that it said is there once the pipe is closed; a child of its may hold it open.
                let _ = tokio::time::timeout(END, reading).await;
                let status = status.ok().and_then(Result::ok);
                explained(command, why, status, errors.text())
            }
            Err(_elapsed) => FarLineError::Silent { waited, said: errors.text() },
        };
        let _ = child.kill().await;
        Err(why)
    }

    /// What the far end said first.
    #[must_use]
    pub fn greeting(&self) -> &CarrierGreeting {
        &self.greeting
    }

    /// The pipes, and the command that ends with its guard.
    #[must_use]
    pub fn split(self) -> (LinePipes, LineGuard) {
        (self.pipes, LineGuard { child: self.child, _errors: self._errors })
    }
}

/// Ends the command of a line.
#[derive(Debug)]
pub struct LineGuard {
    child: Child,
    _errors: AbortOnDropHandle<()>,
}

impl LineGuard {
    /// Waits for the command's end, now that its pipes are closed. One that goes on is killed.
    pub async fn end(mut self) {
        if tokio::time::timeout(END, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

/// What a far end without a greeting means.
fn explained(
    command: &FarCommand,
    why: GreetingError,
    status: Option<ExitStatus>,
    said: String,
) -> FarLineError {
    let code = status.and_then(|status| status.code());
    let is_said = |words: &[&str]| words.iter().any(|word| said.contains(word));
    match code {
        Some(126) if is_said(&["xec format error", "cannot execute", "rmission denied"]) => {
            FarLineError::OtherArchitecture(said)
        }
        Some(126 | 127) if is_said(&["not found", "No such file"]) => FarLineError::NoProgram(said),
        Some(2) if is_said(&["unrecognized subcommand", "subcommand 'carry'"]) => {
            FarLineError::TooOld(said)
        }
        Some(255) if command.is_ssh() => FarLineError::NotConnected(said),
        Some(_) | None => FarLineError::Greeting { why, said },
    }
}

/// The end of what a command says on its standard error. Cheap to clone.
#[derive(Clone, Default)]
struct ErrorTail(Arc<Mutex<Vec<u8>>>);

impl ErrorTail {
    async fn read(self, mut stderr: ChildStderr) {
        let mut buffer = [0; 1024];
        while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
            let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&buffer[..length]);
            let over = said.len().saturating_sub(SAID);
            said.drain(..over);
        }
    }

    fn text(&self) -> String {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clean_lines(String::from_utf8_lossy(&said).trim())
    }
}

impl AsyncRead for LinePipes {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, into)
    }
}

impl AsyncWrite for LinePipes {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(context)
    }
}
