//! Follows one call to its command's end: submits the command, reads its result until it is over,
//! joins the parts, and cancels the command on Ctrl+C.

use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Sleep;

use super::catalog::ToolSchema;
use super::parts;
use super::session::{ToolAnswer, ToolSession};
use crate::bridge::DaemonTarget;
use crate::lifecycle::limits::WAIT_MAX;
use crate::os::{StopRequest, StopSignals};
use crate::terminal::ProgressNotice;
use crate::tools;

/// A terminal shows progress after this long.
const QUIET: Duration = Duration::from_secs(1);

/// Time limit for the daemon's answer to a cancel.
const CANCEL: Duration = Duration::from_secs(5);

/// Exit codes of a process that a signal has ended: 128 and the signal's number.
pub(in crate::cli) const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// A call that is followed to its end.
pub(super) struct CallFollower {
    session: ToolSession,
    tool: ToolSchema<'static>,
    given: Map<String, Value>,
    /// How long to wait at most; `None` waits until the end.
    wait: Option<Duration>,
    signals: StopSignals,
}

/// How following a call ended.
pub(super) enum CallEnd {
    /// There is an answer, and nothing more to wait for.
    Answered(ToolAnswer),
    /// The wait is over, and the command is not.
    Pending(ToolAnswer),
    /// A signal has stopped it.
    Stopped {
        /// The exit code.
        code: u8,
        /// A sentence about the command.
        told: String,
    },
}

impl CallFollower {
    pub(super) fn start(
        target: DaemonTarget,
        tool: ToolSchema<'static>,
        given: Map<String, Value>,
        wait: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let signals = StopSignals::listen()?;
        Ok(Self { session: ToolSession::start(target), tool, given, wait, signals })
    }

    /// Calls, and follows the command to its end, or for as long as was asked for.
    pub(super) async fn follow(mut self) -> anyhow::Result<CallEnd> {
        let mut end = self.end_of_call().await?;
        if let CallEnd::Answered(answer) = &mut end
            && !self.reads_part()
        {
            let Self { session, tool, given, signals, .. } = &mut self;
            tokio::select! {
                biased;
                request = signals.next() => {
                    let told = "interrupted; the command has ended".to_owned();
                    return Ok(CallEnd::Stopped { code: exit_code(request), told });
                }
                read = parts::complete(session, tool.name(), given, answer) => read?,
            }
        }
        Ok(end)
    }

    async fn end_of_call(&mut self) -> anyhow::Result<CallEnd> {
        let mut arguments = self.given.clone();
        if self.submits() && !tools::begins_job(self.tool.name()) || self.reads_result() {
            // Without a wait the answer comes at once, and Ctrl+C can cancel by the id in it.
            arguments.entry("wait_ms").or_insert(json!(0));
        }
        self.session.send(self.tool.name(), &arguments).await?;
        let answer = tokio::select! {
            biased;
            request = self.signals.next() => return self.stop_call(exit_code(request)).await,
            answer = with_progress(self.session.answer()) => answer?,
        };
        if !answer.is_pending() {
            return Ok(CallEnd::Answered(answer));
        }
        let has_own_wait = self.given.contains_key("wait_ms") && self.wait.is_none();
        if !self.reads_on() || has_own_wait || self.wait == Some(Duration::ZERO) {
            return Ok(CallEnd::Pending(answer));
        }
        self.wait_for(answer.command_id()).await
    }

    /// Whether the call is about one command whose end it waits for.
    fn reads_on(&self) -> bool {
        self.submits() || self.reads_result()
    }

    fn submits(&self) -> bool {
        tools::submits(self.tool.name())
    }

    /// Whether it waits for a command that another call has submitted.
    fn reads_result(&self) -> bool {
        tools::reads_result(self.tool.name(), &self.given)
    }

    /// Whether it reads one part of a value and no more. `limit` of an analysis counts elements.
    fn reads_part(&self) -> bool {
        !self.submits() && ["offset", "limit"].iter().any(|name| self.given.contains_key(*name))
    }

    /// Waits for a command until it is over, or until the wait is.
    async fn wait_for(&mut self, id: &str) -> anyhow::Result<CallEnd> {
        // One timer for the whole wait: a timer per round would start anew with every answer.
        let mut over: Pin<Box<Sleep>> =
            Box::pin(tokio::time::sleep(self.wait.unwrap_or(Duration::MAX)));
        loop {
            let look = self.look(id, WAIT_MAX);
            self.session.send("observe", &look).await?;
            tokio::select! {
                biased;
                request = self.signals.next() => return self.stop_command(id, exit_code(request)).await,
                () = &mut over => break,
                answer = with_progress(self.session.answer()) => {
                    let answer = answer?;
                    if !answer.is_pending() {
                        return Ok(CallEnd::Answered(answer));
                    }
                }
            }
        }
        self.session.cancel().await?;
        // A last look: the result may have come while the wait ended.
        let look = self.look(id, Duration::ZERO);
        let answer = self.session.call("observe", &look).await?;
        Ok(if answer.is_pending() { CallEnd::Pending(answer) } else { CallEnd::Answered(answer) })
    }

    /// The arguments of `observe` that read a command's result, as this call wants it.
    fn look(&self, id: &str, wait: Duration) -> Map<String, Value> {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let mut look = Map::new();
        if self.reads_result() {
            look.clone_from(&self.given);
        } else {
            // The answer is that of a call which waits by itself: short unless it has `trace`.
            let trace = self.given.get("trace").cloned();
            look.insert("trace".to_owned(), trace.unwrap_or(Value::Bool(false)));
        }
        look.insert("what".to_owned(), "command_result".into());
        look.insert("correlation_id".to_owned(), id.into());
        look.insert("wait_ms".to_owned(), wait.into());
        look
    }

    /// Stops a call that has no answer yet.
    async fn stop_call(&mut self, code: u8) -> anyhow::Result<CallEnd> {
        // Such a call was sent with `wait_ms` 0, see `end_of_call`.
        let answers_soon = self.submits() && !self.given.contains_key("wait_ms");
        if !answers_soon {
            // The daemon cancels the command of a blocking call along with the call.
            let told = if self.submits() { "cancelled" } else { "interrupted" }.to_owned();
            self.session.cancel().await?;
            self.session.end().await?;
            return Ok(CallEnd::Stopped { code, told });
        }
        // The command may be accepted already. The answer names it.
        let told = match self.answer_to_stop().await? {
            Some(answer) if answer.is_pending() => {
                return self.stop_command(answer.command_id(), code).await;
            }
            Some(answer) => return Ok(CallEnd::Answered(answer)),
            None => {
                "interrupted before the daemon answered; `tabwire commands` lists the command if it \
                 still runs"
            }
        };
        Ok(CallEnd::Stopped { code, told: told.to_owned() })
    }

    /// The answer to the call that was sent last, if it comes before the person loses patience.
    async fn answer_to_stop(&mut self) -> anyhow::Result<Option<ToolAnswer>> {
        tokio::select! {
            biased;
            // A second Ctrl+C must end the program even if the daemon hangs.
            _again = self.signals.next() => Ok(None),
            answer = tokio::time::timeout(CANCEL, self.session.answer()) => answer.ok().transpose(),
        }
    }

    /// Stops waiting for a command, and cancels it if this call has submitted it.
    async fn stop_command(&mut self, id: &str, code: u8) -> anyhow::Result<CallEnd> {
        self.session.cancel().await?;
        if !self.submits() {
            let told = format!("interrupted; {id} keeps running");
            return Ok(CallEnd::Stopped { code, told });
        }
        let cancel = json!({"action": "cancel", "correlation_id": id});
        let cancel = cancel.as_object().cloned().unwrap_or_default();
        self.session.send("configure", &cancel).await?;
        let Some(answer) = self.answer_to_stop().await? else {
            let told = format!("the daemon did not answer the request to cancel {id}");
            return Ok(CallEnd::Stopped { code, told });
        };
        let told = match answer.text("status") {
            "cancelled" if answer.body["may_have_run"] == false => {
                "cancelled before it began in the page".to_owned()
            }
            "cancelled" => "cancelled; it may have begun in the page".to_owned(),
            // It was over before it could be cancelled.
            "complete" => return Ok(CallEnd::Answered(answer)),
            status => format!("interrupted; {id} is {status}"),
        };
        Ok(CallEnd::Stopped { code, told })
    }
}

/// The same future, of which a terminal is told if it takes its time.
async fn with_progress<T>(work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(QUIET) => {}
    }
    let _progress = ProgressNotice::start("waiting for the result; Ctrl+C stops");
    work.await
}

/// The exit code of a call that was stopped.
const fn exit_code(request: StopRequest) -> u8 {
    match request {
        StopRequest::Interrupt => INTERRUPTED,
        StopRequest::Terminate => TERMINATED,
    }
}
