//! What the tools that submit a command have in common: whose, where, how long, and what
//! is answered.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brief::DetailLevel;
use super::failure::CallFailure;
use super::result::status;
use super::{NowOrLater, ToolReply, ToolResult, ToolSet};
use crate::hub::{
    CallRefusal, Caller, CommandReceipt, DialogHandling, Hub, RequestContext, Submission,
    SubmittedCommand, TargetSelector,
};
use crate::lifecycle::limits;
use crate::protocol::{
    Action, CorrelationId, IDEMPOTENCY_KEY_FORM, QueryId, TabId, is_idempotency_key,
};

/// Where a command is to run, and for how long.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CommandPlace {
    /// Tab; default: last used.
    tab_id: Option<TabId>,
    /// Browser: id or label.
    browser: Option<String>,
    /// Limit in ms; default 10000.
    #[schemars(range(min = 1, max = 300_000))]
    timeout_ms: Option<u64>,
}

/// The arguments of every command.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CommonParameters {
    #[serde(flatten)]
    place: CommandPlace,
    /// Add ids and times.
    trace: Option<bool>,
    /// Calls with one key are one command.
    idempotency_key: Option<String>,
    /// Dialogs that it meets; default dismiss.
    #[schemars(extend("x-silent" = true))]
    dialogs: Option<DialogHandling>,
}

/// The answer to a call that does not wait.
#[derive(Serialize, JsonSchema)]
pub(super) struct QueuedAnswer<'a> {
    status: status::Queued,
    correlation_id: &'a CorrelationId,
    query_id: &'a QueryId,
    /// The same as `correlation_id`.
    job_id: &'a CorrelationId,
    /// How long it will take, as far as can be known.
    estimated_runtime_seconds: f64,
    /// The reason that it waits, and the call that reads its result.
    message: String,
}

/// The command that a call asks for.
#[derive(Debug)]
pub(super) struct CommandRequest {
    pub(super) submission: Submission,
    /// How long it blocks for the result.
    wait: Duration,
    with_trace: bool,
}

impl CommandPlace {
    /// The target that the call names.
    pub(super) fn into_wish(self) -> TargetSelector {
        TargetSelector { browser: self.browser, tab: self.tab_id }
    }
}

impl CommonParameters {
    /// The parameters of a call without a key.
    pub(super) const fn without_key(place: CommandPlace, trace: Option<bool>) -> Self {
        Self { place, trace, idempotency_key: None, dialogs: None }
    }

    /// The request for this action, which blocks for `wait`.
    pub(super) fn into_request(
        self,
        action: Action,
        wait: Duration,
        request: RequestContext,
    ) -> Result<CommandRequest, ToolResult> {
        let timeout = self.place.timeout_ms.map_or(limits::EXECUTE, Duration::from_millis);
        let dialogs = self.dialogs;
        let (selector, idempotency_key, with_trace) = self.into_parts(request.key)?;
        let submission = Submission {
            action,
            timeout,
            selector,
            idempotency_key,
            takes_tab: false,
            dialogs,
            trace_context: request.trace_context,
            record_by: request.record_by,
        };
        Ok(CommandRequest { submission, wait, with_trace })
    }

    /// The target, the idempotency key, and whether ids and times are told.
    pub(super) fn into_parts(
        self,
        key: Option<Arc<str>>,
    ) -> Result<(TargetSelector, Option<Arc<str>>, bool), ToolResult> {
        // The agent's own key wins over the one that the bridge has put into the header.
        let key = self.idempotency_key.map(Into::into).or(key);
        if key.as_deref().is_some_and(|key| !is_idempotency_key(key)) {
            return Err(wrong_key());
        }
        Ok((self.place.into_wish(), key, self.trace == Some(true)))
    }
}

impl CommandRequest {
    /// The same, whose caller is to tell its tabs apart, or not.
    pub(super) fn taking_tab(mut self, takes_tab: bool) -> Self {
        self.submission.takes_tab = takes_tab;
        self
    }

    /// Submits it, and waits for the result if it is to be waited for.
    pub(super) async fn submit(self, tools: &ToolSet, caller: &Caller) -> ToolReply {
        let Self { submission, wait, with_trace } = self;
        let submitted = match tools.hub.submit_unrecorded(caller, submission).await {
            Ok(submitted) => submitted,
            Err(refused) => return ToolReply::done(ToolResult::refused(&refused)),
        };
        let id = Some(submitted.accepted.id.clone());
        if wait.is_zero() {
            let result = match tools.hub.confirm(caller, &submitted).await {
                // Only an acceptance that is on disk may be told.
                Ok(()) => ToolResult::of(&queued(&tools.hub, &submitted.accepted)),
                Err(refused) => ToolResult::refused(&refused),
            };
            return ToolReply { submitted: id, ..ToolReply::done(result) };
        }
        let (hub, caller) = (tools.hub.clone(), caller.clone());
        let outcome = NowOrLater::Later(Box::pin(async move {
            match finish(&hub, &caller, &submitted, wait, with_trace).await {
                Ok(result) => result,
                Err(refused) => ToolResult::refused(&refused),
            }
        }));
        ToolReply { submitted: id.clone(), waits_for: id, outcome }
    }
}

/// Waits for a command's end. Nothing is said of it before its acceptance is recorded.
async fn finish(
    hub: &Hub,
    caller: &Caller,
    submitted: &SubmittedCommand,
    wait: Duration,
    with_trace: bool,
) -> Result<ToolResult, CallRefusal> {
    let waited = tokio::select! {
        biased;
        waited = hub.wait_for_submitted(caller, &submitted.accepted.id, wait, with_trace) => waited,
        refused = hub.refused(caller, submitted) => return Err(refused),
    };
    hub.confirm(caller, submitted).await?;
    // Without a result it was accepted all the same: say so rather than that it was not.
    Ok(match waited {
        Ok(seen) => {
            let detail = if with_trace { DetailLevel::Full } else { DetailLevel::Brief };
            ToolResult::of_own_command(seen, detail, hub.agent_files())
        }
        Err(_) => ToolResult::of(&queued(hub, &submitted.accepted)),
    })
}

fn wrong_key() -> ToolResult {
    let message = format!("`idempotency_key` must be {IDEMPOTENCY_KEY_FORM}");
    let hint = "Pass a random text such as a UUID, or omit `idempotency_key`.";
    CallFailure::of_param("idempotency_key", message, hint).expecting(IDEMPOTENCY_KEY_FORM).into()
}

fn queued<'a>(hub: &Hub, accepted: &'a CommandReceipt) -> QueuedAnswer<'a> {
    let id = &accepted.id;
    let how = format!(
        "Get its result with observe({{what:\"command_result\", correlation_id:\"{id}\", \
         wait_ms:10000}})."
    );
    let message = if accepted.reachable {
        format!("Command queued for execution. {how}")
    } else if let Some(why) = hub.browser_absence() {
        format!("No browser is connected: the command waits for one. {why} {how}")
    } else {
        format!("The browser of this command is not connected: the command waits for it. {how}")
    };
    QueuedAnswer {
        status: status::Queued::Queued,
        correlation_id: id,
        query_id: &accepted.query_id,
        job_id: id,
        estimated_runtime_seconds: accepted.estimate.as_secs_f64(),
        message,
    }
}
