//! `analyze`: inspects a page, and changes nothing there. A trace may leave a file behind.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::annotations;
use super::answers::{AnswerSchemas, FAILED};
use super::brief::{BriefFailure, BriefReport};
use super::failure::{CallFailure, NotFound, RefusedCall};
use super::interact::check_path;
use super::result::CommandAnswer;
use super::submit::{CommandPlace, CommandRequest, CommonParameters, QueuedAnswer};
use super::{ToolReply, ToolResult, ToolSet, read, read_action};
use crate::hub::{Caller, RequestContext};
use crate::protocol::actions::ActionTool;

pub(super) const NAME: &str = "analyze";

pub(super) const DESCRIPTION: &str = "Inspects a page and returns the result.";

/// Its arguments, of their types.
#[cfg(test)]
pub(super) fn arguments() -> super::arguments::ToolArguments {
    super::arguments::ToolArguments::of_actions::<AnalyzeParameters>(ActionTool::Analyze)
        .and::<annotations::PersonAnalysis>()
}

/// How long a call blocks by default: an agent that inspects a page needs the result at once.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// The arguments of every analysis.
#[derive(Deserialize, JsonSchema)]
struct AnalyzeParameters {
    /// Wait this many ms for the result; default 10000.
    #[schemars(range(min = 0, max = 55_000))]
    wait_ms: Option<u64>,
    /// Add ids and times.
    trace: Option<bool>,
    #[serde(flatten)]
    place: CommandPlace,
}

/// The schemas of its answers, also of a call that does not wait.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    answers.of(NAME, "").are::<QueuedAnswer<'_>>().are::<CommandAnswer>().are::<BriefReport>();
    annotations::answers(answers);
    let failed = answers.of(NAME, FAILED).are::<BriefFailure>();
    failed.are::<CallFailure>().are::<RefusedCall>().are::<NotFound>().are::<CommandAnswer>();
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    request: RequestContext,
    is_split: bool,
) -> ToolReply {
    if given.get("what").and_then(Value::as_str) == Some(annotations::NAME) {
        return annotations::call(tools, caller, given, request, is_split).await;
    }
    match read_request(given, request).map(|request| request.taking_tab(is_split)) {
        Ok(request) => match check_path(tools, &request.submission.action) {
            Err(wrong) => ToolReply::done(wrong.into()),
            Ok(()) => request.submit(tools, caller).await,
        },
        Err(wrong) => ToolReply::done(wrong),
    }
}

/// Reads a call's arguments.
fn read_request(
    given: &Map<String, Value>,
    request: RequestContext,
) -> Result<CommandRequest, ToolResult> {
    let AnalyzeParameters { wait_ms, trace, place } = read(given)?;
    let analysis = read_action(given, ActionTool::Analyze)?;
    let wait = wait_ms.map_or(DEFAULT_WAIT, Duration::from_millis);
    CommonParameters::without_key(place, trace).into_request(analysis, wait, request)
}
