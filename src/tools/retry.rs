//! A command that has ended, submitted once more by the person's word: the same action for the same
//! client, through the same checks as a call of that client.

use super::ToolSet;
use super::failure::CallFailure;
use super::interact::check_action;
use crate::hub::{CallRefusal, Caller, DialogHandling, RefusalReason, Submission, TargetSelector};
use crate::lifecycle::{Command, CommandWork, Lane};
use crate::protocol::{Action, CommandStatus, CorrelationId};
use crate::streams::REDACTED;

/// Begins the idempotency key of a retry. No client can name it: its keys are ASCII.
const KEY: &str = "retry·";

/// The new command of a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetriedCommand {
    /// The new command.
    pub id: CorrelationId,
    /// Whether this word submitted it. False: an earlier one did.
    pub is_new: bool,
}

/// Why a command is not submitted again.
#[derive(Debug, thiserror::Error)]
pub enum RetryRefusal {
    /// Its record is gone.
    #[error(
        "The daemon does not keep this command any more: it drops the arguments a minute after the \
         end. Ask the agent to send it again."
    )]
    Gone,
    /// It has not ended.
    #[error("This command has not ended yet. Stop it first, or wait for its end.")]
    Open,
    /// It has completed.
    #[error("This command has completed, so there is nothing to retry.")]
    Completed,
    /// It is a question, a drawing or a job.
    #[error(
        "A question, a drawing or a job cannot be retried here. Ask the agent to begin it again."
    )]
    NoAction,
    /// It was in a private window.
    #[error("This command was in a private window, so nothing of it is shown or sent again.")]
    Private,
    /// A secret in its arguments is hidden.
    #[error("A secret in the arguments is hidden, so they cannot be sent again. Ask the agent to.")]
    Hidden,
    /// It never had a browser.
    #[error("This command was for no tab that the daemon knows. Ask the agent to send it again.")]
    NoTarget,
    /// The arguments would be refused in a call, too.
    #[error("{0}")]
    Arguments(String),
    /// A call of the client would be refused, too.
    #[error("{}. {}", .0.message(), .0.hint())]
    Refused(RefusalReason),
}

impl From<CallRefusal> for RetryRefusal {
    fn from(refusal: CallRefusal) -> Self {
        Self::Refused(refusal.why)
    }
}

impl From<CallFailure> for RetryRefusal {
    fn from(wrong: CallFailure) -> Self {
        Self::Arguments(format!("{}. {}", wrong.message, wrong.hint))
    }
}

impl ToolSet {
    /// Submits a command that has ended without a result once more, as a new command of its client.
    /// A second call for the same command finds the first one's.
    ///
    /// # Errors
    ///
    /// [`RetryRefusal`]: nothing was submitted.
    pub async fn retry(&self, id: &CorrelationId) -> Result<RetriedCommand, RetryRefusal> {
        let (command, lane) = self.hub.inspected_with_lane(id).ok_or(RetryRefusal::Gone)?;
        let submission = submission_of(&command, lane)?;
        let spec = command.spec();
        let caller = Caller { owner: spec.owner.clone(), client: spec.client.clone() };
        self.hub.admit(&caller).await?;
        check_action(self, &submission.action)?;
        match self.hub.submit_unrecorded(&caller, submission).await {
            Ok(submitted) => {
                self.hub.confirm(&caller, &submitted).await?;
                let is_new = submitted.is_new();
                Ok(RetriedCommand { id: submitted.accepted.id, is_new })
            }
            // The tab has another id since the first retry.
            Err(CallRefusal { why: RefusalReason::KeyReused { id }, .. }) => {
                Ok(RetriedCommand { id, is_new: false })
            }
            Err(refusal) => Err(refusal.into()),
        }
    }
}

/// The call that a command was, with the tab in which it ended.
fn submission_of(command: &Command, lane: Option<Lane>) -> Result<Submission, RetryRefusal> {
    let spec = command.spec();
    if !command.phase().is_terminal() {
        return Err(RetryRefusal::Open);
    }
    if matches!(command.report(false).status, CommandStatus::Complete { .. }) {
        return Err(RetryRefusal::Completed);
    }
    if spec.is_private {
        return Err(RetryRefusal::Private);
    }
    let CommandWork::Browser(action) = &spec.work else { return Err(RetryRefusal::NoAction) };
    if spec.params.get().contains(REDACTED) {
        return Err(RetryRefusal::Hidden);
    }
    Ok(Submission {
        action: action.clone(),
        selector: selector_of(action, lane)?,
        timeout: spec.timeout,
        idempotency_key: Some(format!("{KEY}{}", spec.id).into()),
        takes_tab: false,
        dialogs: Some(match spec.holds_dialogs {
            true => DialogHandling::Hold,
            false => DialogHandling::Dismiss,
        }),
        // A person's act, which is no part of what the client traces.
        trace_context: None,
        record_by: None,
    })
}

/// The tab of the ended command, by name: the client's current tab may be another one by now.
fn selector_of(action: &Action, lane: Option<Lane>) -> Result<TargetSelector, RetryRefusal> {
    match lane {
        Some(Lane { browser, tab }) => {
            // A command for the browser as a whole was given no tab.
            Ok(TargetSelector { browser: Some(browser.to_string()), tab })
        }
        None if action.is_browser_wide() => Ok(TargetSelector::default()),
        None => Err(RetryRefusal::NoTarget),
    }
}
