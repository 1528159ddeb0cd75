//! `interact` `ask_user`: a question that only the person answers. The call returns at once; the
//! answer is read under its id, however long the person takes.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answers::AnswerSchemas;
use super::brief::DetailLevel;
use super::failure::CallFailure;
use super::result::{CommandAnswer, status};
use super::submit::CommonParameters;
use super::{NowOrLater, ToolReply, ToolResult, ToolSet, read};
use crate::hub::{Caller, HostTask, Hub, RequestContext, SubmittedCommand};
use crate::lifecycle::{CommandWork, limits};
use crate::protocol::{ASK_OPTIONS, AskOption, AskQuestion, CorrelationId, PersonAsk, QueryId};

pub(super) const NAME: &str = "ask_user";

/// The usual time that people take.
const USUAL: Duration = Duration::from_secs(60);

/// Acts of the person.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum PersonRequest {
    /// Asks the user in the browser; returns an id at once.
    AskUser(AskArguments),
}

/// The arguments of `ask_user`.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct AskArguments {
    /// approve, choose of options, answer: a line, hand_over: a log-in.
    #[schemars(extend("x-rare" = true))]
    kind: AskKind,
    /// Question to the user.
    #[schemars(extend("x-rare" = true))]
    question: String,
    /// For choose.
    #[schemars(extend("x-rare" = true))]
    options: Option<Vec<String>>,
}

/// What the person is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum AskKind {
    Approve,
    Choose,
    Answer,
    HandOver,
}

/// The arguments of every call of `interact`.
#[derive(Deserialize)]
struct AskCallOptions {
    wait_ms: Option<u64>,
    #[serde(flatten)]
    common: CommonParameters,
}

/// The first answer to a call that asks a person.
#[derive(Serialize, JsonSchema)]
struct WaitingForAnswer<'a> {
    status: status::WaitingForUser,
    correlation_id: &'a CorrelationId,
    query_id: &'a QueryId,
    /// The same as `correlation_id`.
    job_id: &'a CorrelationId,
    /// How long people take, as a rule.
    estimated_runtime_seconds: f64,
    /// Where the person sees the question, and the call that reads the answer.
    message: String,
}

/// The schemas of its answers, also of a call that waits.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    answers.of(super::interact::NAME, NAME).are::<WaitingForAnswer<'_>>().are::<CommandAnswer>();
}

/// Whether checked arguments of a call ask a person. Its call waits only if it says so: a person takes
/// minutes, and the agent learns the id at once.
pub(super) fn is_ask(given: &Map<String, Value>) -> bool {
    given.get("action").is_some_and(|action| action == NAME)
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    request: RequestContext,
    must_name_tab: bool,
) -> ToolReply {
    let (asked, options): (AskArguments, AskCallOptions) = match (read(given), read(given)) {
        (Ok(PersonRequest::AskUser(asked)), Ok(options)) => (asked, options),
        (Err(wrong), _) | (_, Err(wrong)) => return ToolReply::done(wrong),
    };
    let ask = match asked.into_ask() {
        Ok(ask) => ask,
        Err(wrong) => return ToolReply::done(wrong.into()),
    };
    let AskCallOptions { wait_ms, common } = options;
    let RequestContext { key, trace_context, record_by } = request;
    let (target, idempotency_key, with_trace) = match common.into_parts(key) {
        Ok(parts) => parts,
        Err(wrong) => return ToolReply::done(wrong),
    };
    let is_answered_anywhere = ask.is_answered_anywhere();
    let task = HostTask {
        work: CommandWork::Ask { ask },
        target,
        deadline: limits::PERSON,
        estimate: USUAL,
        idempotency_key,
        must_name_tab,
        trace_context,
        record_by,
    };
    let hub = &tools.hub;
    let submitted = match hub.start_host_task(caller, task) {
        Ok(submitted) => submitted,
        Err(refused) => return ToolReply::done(ToolResult::refused(&refused)),
    };
    if let Err(refused) = hub.confirm(caller, &submitted).await {
        return ToolReply::done(ToolResult::refused(&refused));
    }
    let id = submitted.accepted.id.clone();
    let wait = Duration::from_millis(wait_ms.unwrap_or(0));
    if wait.is_zero() {
        let waiting = ToolResult::of(&waiting(hub, &submitted, is_answered_anywhere));
        return ToolReply { submitted: Some(id), ..ToolReply::done(waiting) };
    }
    let (hub, caller, command) = (hub.clone(), caller.clone(), Some(id.clone()));
    let outcome = NowOrLater::Later(Box::pin(async move {
        let seen = hub.wait(&caller, &id, wait, with_trace).await;
        ToolResult::of_seen(seen, None, DetailLevel::Full, hub.agent_files())
    }));
    ToolReply { submitted: command.clone(), waits_for: command, outcome }
}

impl AskArguments {
    fn into_ask(self) -> Result<PersonAsk, CallFailure> {
        let Self { kind, question, options } = self;
        let question = AskQuestion::parse(&question).map_err(|why| {
            let hint = "Ask in one line of at most 500 characters.";
            CallFailure::of_param("question", format!("invalid `question`: {why}"), hint)
        })?;
        match (kind, options) {
            (AskKind::Approve, None) => Ok(PersonAsk::Approve { question }),
            (AskKind::Answer, None) => Ok(PersonAsk::Answer { question }),
            (AskKind::HandOver, None) => Ok(PersonAsk::HandOver { question }),
            (AskKind::Choose, Some(options)) => {
                Ok(PersonAsk::Choose { question, options: read_options(&options)? })
            }
            (AskKind::Choose, None) => {
                Err(wrong_options("`options` is missing: the user has nothing to choose"))
            }
            (AskKind::Approve | AskKind::Answer | AskKind::HandOver, Some(_)) => {
                let hint = "Omit `options`, or ask with kind:\"choose\".";
                Err(CallFailure::of_param("options", "only kind choose takes `options`", hint))
            }
        }
    }
}

fn read_options(options: &[String]) -> Result<Vec<AskOption>, CallFailure> {
    let read = |option: &String| {
        AskOption::parse(option).map_err(|why| wrong_options(&format!("invalid option: {why}")))
    };
    let read = options.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if !ASK_OPTIONS.contains(&read.len()) {
        return Err(wrong_options(&format!("`options` has {} options", read.len())));
    }
    let is_repeated = |(at, option): (usize, &AskOption)| read[..at].contains(option);
    if read.iter().enumerate().any(is_repeated) {
        return Err(wrong_options("two options are alike"));
    }
    Ok(read)
}

fn wrong_options(message: &str) -> CallFailure {
    let (least, most) = (ASK_OPTIONS.start(), ASK_OPTIONS.end());
    let hint =
        format!("Pass {least} to {most} different options of one line and at most 100 characters.");
    CallFailure::of_param("options", message, hint)
}

fn waiting<'a>(
    hub: &Hub,
    submitted: &'a SubmittedCommand,
    is_answered_anywhere: bool,
) -> WaitingForAnswer<'a> {
    let accepted = &submitted.accepted;
    let id = &accepted.id;
    let place = match (hub.shows_asks(), is_answered_anywhere) {
        (true, true) => "The user sees the question in the Tabwire popup and with `tabwire asks`.",
        (true, false) => "The user sees the question in the Tabwire popup.",
        (false, true) => {
            "No browser is connected that shows the question: the user can answer with \
             `tabwire asks`."
        }
        (false, false) => {
            "No browser is connected that shows the question: ask the user to open the browser \
             with the Tabwire extension."
        }
    };
    let message = format!(
        "{place} observe({{what:\"command_result\", correlation_id:\"{id}\"}}) blocks up to 55 s \
         until the answer is there; repeat the call while the status is pending. Other calls work \
         meanwhile."
    );
    WaitingForAnswer {
        status: status::WaitingForUser::WaitingForUser,
        correlation_id: id,
        query_id: &accepted.query_id,
        job_id: id,
        estimated_runtime_seconds: accepted.estimate.as_secs_f64(),
        message,
    }
}
