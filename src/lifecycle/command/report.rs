//! How a command is shown: one exhaustive match from its state.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::excerpt::{MESSAGE_TOLD, STACK_TOLD, beginning};
use super::next_step::{
    BROWSER_AWAY_HINT, HALF_DONE_HINT, STOPPED_HINT, answer_of_dialog, next_step_of,
    next_step_of_pending,
};
use super::{Command, CommandHold, CommandOutcome, CommandState, ExpiryReason};
use crate::lifecycle::Lane;
use crate::protocol::{
    Action, CommandAim, CommandReport, CommandStatus, CommandStory, CommandSummary, ConsentKind,
    FailedCommand, FinishedCommand, HeldDialog, PageMark, PendingCommand, StatusWord, Timestamp,
    TraceEntry, TracePhase, WorkKind, millis,
};

impl Command {
    /// The command as its owner sees it; `with_trace` adds the time of every phase.
    #[must_use]
    pub fn report(&self, with_trace: bool) -> CommandReport {
        CommandReport {
            status: self.status(),
            correlation_id: self.spec.id.clone(),
            command: self.spec.work.name(),
            trace: with_trace.then(|| self.trace()),
            kind: self.spec.work.kind(),
            lacks_browser: self.lacks_browser(),
            saved_path: self
                .spec
                .work
                .action()
                .and_then(Action::saved_file)
                .map(|(name, _)| name.into()),
            picture_steps: self.spec.work.action().map(Action::picture_steps).unwrap_or_default(),
            trace_context: self.spec.trace_context.clone(),
        }
    }

    /// Whether it waits for a browser to connect, or has waited for one in vain.
    const fn lacks_browser(&self) -> bool {
        match &self.state {
            CommandState::Queued { reachable, .. } => !*reachable,
            CommandState::Ended { outcome: CommandOutcome::Expired { reason, .. }, .. } => {
                matches!(reason, ExpiryReason::NoExtension)
            }
            CommandState::Sent { .. }
            | CommandState::Held { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. }
            | CommandState::Ended { .. } => false,
        }
    }

    fn status(&self) -> CommandStatus {
        match &self.state {
            CommandState::Queued { .. } => self.pending(None, self.why_queued()),
            CommandState::Sent { .. } => self.pending(None, "Sent to the browser".to_owned()),
            CommandState::Held { hold, .. } => self.waiting_for_user(hold),
            CommandState::Started { progress, .. } => {
                let message = match self.dialog() {
                    Some(_) => "The command waits for the answer to a dialog",
                    None => "The command is running in the browser",
                };
                self.pending(progress.clone(), message.to_owned())
            }
            CommandState::Waiting => self.pending(None, self.why_waiting()),
            CommandState::Working { progress } => {
                self.pending(progress.clone(), "The job is running".to_owned())
            }
            CommandState::Ended { at, outcome, .. } => self.ended(*at, outcome),
        }
    }

    /// The dialog that it waits for.
    #[must_use]
    pub fn dialog(&self) -> Option<&HeldDialog> {
        let CommandState::Started { progress, .. } = &self.state else { return None };
        progress.as_ref()?.dialog.as_ref()
    }

    fn pending(
        &self,
        progress: Option<crate::protocol::CommandProgress>,
        message: String,
    ) -> CommandStatus {
        CommandStatus::Pending {
            created_at: self.spec.created,
            delivered_at: self.reached(TracePhase::Delivered),
            started_at: self.reached(TracePhase::Started),
            // Until there is progress, no text of a page is in the report.
            page: progress.as_ref().and_then(|_| self.page_mark(None)),
            blocked_by: self.dialog().map(|_| "dialog"),
            progress,
            message,
            hint: if self.lacks_browser() {
                BROWSER_AWAY_HINT.into()
            } else if let Some(dialog) = self.dialog() {
                answer_of_dialog(dialog, &self.spec.id).into()
            } else {
                next_step_of_pending(&self.spec.id, self.spec.work.kind()).into()
            },
        }
    }

    fn waiting_for_user(&self, hold: &CommandHold) -> CommandStatus {
        let (until, kind) = (self.total_by(), hold.need.kind);
        let purpose = kind.told(hold.need.site.as_str());
        let code = if kind == ConsentKind::Permission { "permission_needed: " } else { "" };
        let decides = if hold.need.is_of_poller() {
            // The browser of the command has no popup of ours.
            "who finds the question by `tabwire asks` and decides in the Tabwire popup of another browser"
        } else {
            "who decides in the Tabwire popup"
        };
        CommandStatus::WaitingForUser {
            created_at: self.spec.created,
            waits_since: hold.since,
            until,
            message: format!(
                "{code}Waiting until {until} for the user, {decides} whether you may {purpose}"
            ),
            hint: next_step_of_pending(&self.spec.id, WorkKind::Ask),
        }
    }

    fn why_queued(&self) -> String {
        if matches!(self.state, CommandState::Queued { reachable: false, .. }) {
            let until = self.total_by();
            return format!("Waiting until {until} for a browser with the Tabwire extension");
        }
        "Waiting for its turn in the tab".to_owned()
    }

    fn why_waiting(&self) -> String {
        match self.spec.work.kind() {
            WorkKind::Annotations => {
                let until = self.total_by();
                format!("Waiting until {until} for the user to finish drawing")
            }
            WorkKind::Ask => {
                let until = self.total_by();
                format!("Waiting until {until} for the user's answer")
            }
            WorkKind::Browser | WorkKind::Job => "Waiting for its turn".to_owned(),
        }
    }

    fn ended(&self, at: Timestamp, outcome: &CommandOutcome) -> CommandStatus {
        match outcome {
            CommandOutcome::Complete { result, origin } => CommandStatus::Complete {
                result: result.clone(),
                page: self.page_mark(origin.as_deref()),
                created_at: self.spec.created,
                completed_at: at,
                duration_ms: millis(at.since(self.spec.created)),
            },
            CommandOutcome::Error { error } => CommandStatus::Error {
                error: beginning(&error.message, MESSAGE_TOLD),
                reason: error.code.as_str().into(),
                stack: error.stack.as_deref().map(|stack| beginning(stack, STACK_TOLD)),
                hint: next_step_of(error, self.spec.work.kind()),
                may_have_run: error.may_have_run,
                page: self.page_mark(None),
                failed_at: at,
            },
            CommandOutcome::Timeout { error } => CommandStatus::Timeout {
                error: beginning(&error.message, MESSAGE_TOLD),
                hint: next_step_of(error, self.spec.work.kind()),
                failed_at: at,
                may_have_run: true,
                page: self.page_mark(None),
            },
            CommandOutcome::Expired { reason, may_have_run } => CommandStatus::Expired {
                error: self.why_expired(*reason, at),
                expired_at: at,
                reason: reason.code(),
                hint: self.hint_for(*reason, *may_have_run).into(),
                may_have_run: *may_have_run,
            },
            CommandOutcome::Cancelled { may_have_run, by_user } => CommandStatus::Cancelled {
                cancelled_at: at,
                may_have_run: *may_have_run,
                reason: by_user.then_some(CommandOutcome::STOPPED_BY_USER),
                hint: if *by_user {
                    Some(STOPPED_HINT)
                } else {
                    may_have_run.then_some(HALF_DONE_HINT)
                },
            },
        }
    }

    /// Why the command expired, in a sentence. It states the time, because extensions that poll have
    /// a different time to answer than others.
    fn why_expired(&self, reason: ExpiryReason, at: Timestamp) -> Cow<'static, str> {
        match (reason, self.reached(TracePhase::Delivered)) {
            (ExpiryReason::ExtensionNoResponse, Some(delivered)) => {
                let waited = at.since(delivered).as_secs_f64().round();
                format!("Extension did not respond within {waited}s of receiving command").into()
            }
            (reason, _) => reason.message().into(),
        }
    }

    /// The next step after the command expired, in a sentence.
    fn hint_for(&self, reason: ExpiryReason, may_have_run: bool) -> &'static str {
        if reason == ExpiryReason::ExtensionNoResponse && may_have_run && !self.spec.work.is_safe()
        {
            return "The extension may have run the command: look at the page before you call \
                    again. Check with observe({what:\"browsers\"}) that the browser answers, and \
                    reload its extension if it does not.";
        }
        reason.hint_for(self.spec.work.kind())
    }

    /// Marks text that a page may have written. No page has a say in a job's text, or in the person's
    /// answer.
    fn page_mark(&self, origin: Option<&str>) -> Option<PageMark> {
        let is_of_page = !matches!(self.spec.work.kind(), WorkKind::Job | WorkKind::Ask);
        is_of_page.then(|| PageMark::of_origin(origin))
    }

    /// The command as the command line lists it; `target` is the lane that it was given.
    #[must_use]
    pub fn summary(&self, target: Option<&Lane>) -> CommandSummary {
        let end = self.end();
        let open =
            if self.hold().is_some() { StatusWord::WaitingForUser } else { StatusWord::Pending };
        let (status, reason) = end.map_or((open, None), |(_, outcome)| outcome.word());
        let ended_at = end.map(|(at, _)| at);
        let holder = self.delivery().map(|delivery| delivery.peer.browser.clone());
        CommandSummary {
            correlation_id: self.spec.id.clone(),
            command: self.spec.work.name(),
            client: self.spec.client.clone(),
            browser: target.map(|lane| lane.browser.clone()).or(holder),
            // The engine knows the browsers.
            browser_label: None,
            tab_id: target.and_then(|lane| lane.tab),
            status,
            phase: self.furthest(),
            reason,
            created_at: self.spec.created,
            started_at: self.reached(TracePhase::Started),
            ended_at,
            duration_ms: ended_at.map(|at| millis(at.since(self.spec.created))),
        }
    }

    /// When it ended and by which word, if it has ended.
    #[must_use]
    pub fn end_word(&self) -> Option<(Timestamp, StatusWord)> {
        self.end().map(|(at, outcome)| (at, outcome.word().0))
    }

    /// Every phase of the command, without its result.
    #[must_use]
    pub fn story(&self, target: Option<&Lane>) -> CommandStory {
        let (message, error, hint) = match self.status() {
            CommandStatus::Pending { message, hint, .. } => {
                (Some(message), None, Some(hint.into_owned()))
            }
            CommandStatus::WaitingForUser { message, hint, .. } => {
                (Some(message), None, Some(hint))
            }
            CommandStatus::Complete { .. } => (None, None, None),
            CommandStatus::Cancelled { hint, .. } => (None, None, hint.map(str::to_owned)),
            CommandStatus::Error { error, hint, .. }
            | CommandStatus::Timeout { error, hint, .. } => {
                (None, Some(error), Some(hint.as_ref().to_owned()))
            }
            CommandStatus::Expired { error, hint, .. } => {
                (None, Some((*error).into()), Some(hint.into_owned()))
            }
        };
        CommandStory {
            summary: self.summary(target),
            message,
            error,
            hint,
            may_have_run: self.may_have_run(),
            timeout_ms: u64::try_from(self.spec.timeout.as_millis()).unwrap_or(u64::MAX),
            files: Vec::new(),
            trace: self.trace(),
        }
    }

    /// The last phase that the command reached. Late results and reads come after its end, so they
    /// do not count.
    #[must_use]
    pub fn furthest(&self) -> TracePhase {
        let on_its_way = |phase: &TracePhase| match phase {
            TracePhase::LateResult | TracePhase::FirstRead => false,
            TracePhase::Queued
            | TracePhase::Delivered
            | TracePhase::Requeued
            | TracePhase::Claimed
            | TracePhase::Held
            | TracePhase::Started
            | TracePhase::FirstPending
            | TracePhase::Done => true,
        };
        let phases = self.trace.iter().map(|mark| mark.phase);
        phases.rev().find(on_its_way).unwrap_or(TracePhase::Queued)
    }

    /// When the command last reached a phase.
    pub(super) fn reached(&self, phase: TracePhase) -> Option<Timestamp> {
        self.trace.iter().rev().find(|mark| mark.phase == phase).map(|mark| mark.at)
    }

    /// When it last reached a phase or told its progress.
    #[must_use]
    pub fn changed_at(&self) -> Timestamp {
        let reached = self.trace.last().map_or(self.spec.created, |mark| mark.at);
        let (CommandState::Started { progress, .. } | CommandState::Working { progress }) =
            &self.state
        else {
            return reached;
        };
        progress.as_ref().map_or(reached, |progress| progress.at.max(reached))
    }

    fn trace(&self) -> Vec<TraceEntry> {
        let transport = |mark: &super::TracePoint| {
            let last = self.delivery().filter(|delivery| Some(delivery.attempt) == mark.attempt)?;
            (mark.phase == TracePhase::Delivered).then_some(last.transport)
        };
        let entry = |mark: &super::TracePoint| TraceEntry {
            phase: mark.phase,
            at: mark.at,
            after_ms: mark.at.since(self.spec.created),
            attempt: mark.attempt,
            carrier: transport(mark),
        };
        self.trace.iter().map(entry).collect()
    }

    /// The command as lists of pending ones show it, if it is not over.
    #[must_use]
    pub fn as_pending(&self) -> Option<PendingCommand> {
        (!self.phase().is_terminal()).then(|| PendingCommand {
            correlation_id: self.spec.id.clone(),
            created_at: self.spec.created,
            command: self.spec.work.name(),
        })
    }

    /// The command as lists of completed ones show it, if it has a result.
    #[must_use]
    pub fn as_finished(&self) -> Option<FinishedCommand> {
        let Some((completed_at, CommandOutcome::Complete { .. })) = self.end() else { return None };
        Some(FinishedCommand {
            correlation_id: self.spec.id.clone(),
            completed_at,
            duration_ms: millis(completed_at.since(self.spec.created)),
        })
    }

    /// The command's entry in lists of failures, if it failed (row 21); `target` is its lane. A
    /// cancelled command did not fail: its owner wanted it to end.
    #[must_use]
    pub fn as_failed(&self, target: Option<&Lane>) -> Option<FailedCommand> {
        let (at, outcome) = self.end()?;
        let kind = self.spec.work.kind();
        let (error, hint, message) = match outcome {
            CommandOutcome::Complete { .. } | CommandOutcome::Cancelled { .. } => return None,
            CommandOutcome::Error { error } => {
                (error.code.as_str(), next_step_of(error, kind), Some(&error.message))
            }
            CommandOutcome::Timeout { error } => {
                (CommandOutcome::EXECUTION_TIMEOUT, next_step_of(error, kind), Some(&error.message))
            }
            CommandOutcome::Expired { reason, may_have_run } => {
                let why = self.why_expired(*reason, at);
                let next = self.hint_for(*reason, *may_have_run);
                (reason.code(), format!("{why}. {next}").into(), None)
            }
        };
        Some(FailedCommand {
            correlation_id: self.spec.id.clone(),
            aim: self.aim(target),
            error: error.into(),
            at,
            expired_at: (!matches!(outcome, CommandOutcome::Error { .. })).then_some(at),
            hint,
            message: message.map(|message| message.as_str().into()),
        })
    }

    /// The command's entry in lists of failures when its result is dropped unread at this time;
    /// `why` says why it is dropped.
    #[must_use]
    pub fn as_unread(&self, target: Option<&Lane>, why: &str, at: Timestamp) -> FailedCommand {
        FailedCommand {
            correlation_id: self.spec.id.clone(),
            aim: self.aim(target),
            error: "expired".into(),
            at,
            expired_at: Some(at),
            hint: format!("{why}. {}", ExpiryReason::ResultExpired.hint()).into(),
            message: None,
        }
    }

    fn aim(&self, target: Option<&Lane>) -> CommandAim {
        self.spec.work.aim(target.and_then(|lane| lane.tab))
    }

    /// The message for a result that expired unread (row 20).
    #[must_use]
    pub fn unread_at_last(&self) -> &'static str {
        match self.spec.work.kind() {
            WorkKind::Browser => "Result expired after 60s (never retrieved)",
            WorkKind::Annotations | WorkKind::Ask | WorkKind::Job => {
                "Result expired after 10 minutes (never retrieved)"
            }
        }
    }

    /// How long it took from `go` to its result, if it has one. Estimates are made of these times.
    #[must_use]
    pub fn running_time(&self) -> Option<Duration> {
        let Some((done, CommandOutcome::Complete { .. })) = self.end() else { return None };
        // A safe command gets no `go` and runs from its delivery on.
        let began = self.reached(TracePhase::Started).or(self.reached(TracePhase::Delivered))?;
        Some(done.since(began))
    }
}

impl CommandOutcome {
    /// The word for it and, if there is no result, the word for why.
    fn word(&self) -> (StatusWord, Option<Arc<str>>) {
        match self {
            Self::Complete { .. } => (StatusWord::Complete, None),
            Self::Error { error } => (StatusWord::Error, Some(error.code.as_str().into())),
            Self::Timeout { .. } => (StatusWord::Timeout, Some(Self::EXECUTION_TIMEOUT.into())),
            Self::Expired { reason, .. } => (StatusWord::Expired, Some(reason.code().into())),
            Self::Cancelled { by_user, .. } => {
                (StatusWord::Cancelled, by_user.then(|| Self::STOPPED_BY_USER.into()))
            }
        }
    }
}
