//! The answer to each method.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer::{RpcAnswer, RpcResponse, result};
use super::calls::{CallInProgress, CallRegistry};
use super::extra_tools::{CatalogueSource, ExtraTools, ToolCall};
use super::generation::{MODERN_VERSION, ProtocolGeneration, negotiate};
use super::message::{RequestId, RpcError, RpcErrorKind, RpcRequest};
use super::notices::asks_for_jobs;
use super::progress::{CallProgress, progress_token};
use super::roots::declares_roots;
use super::subscription::{self, LISTEN};
use super::{client_info, command_view};
use super::{tasks, trace_meta};
use crate::hub::{Caller, Hub, RequestContext};
use crate::protocol::{CorrelationId, SERVER_VERSION};
use crate::tools::{NowOrLater, ResponseMode, ToolReply, ToolResult, ToolSet, ToolSurface};

/// How long clients may keep the list of tools, in ms: it changes with the version only.
const LIST_TTL_MS: u64 = 300_000;

/// Answers a request that needs no daemon: `None` for any other. `shows_views`: whether the client has
/// [declared](command_view::declares_views) so.
#[must_use]
pub fn answer_alone(
    request: &RpcRequest,
    generation: ProtocolGeneration,
    surface: &ToolSurface,
    shows_views: bool,
) -> Option<Result<String, RpcError>> {
    let own = CatalogueSource::Own { surface, shows_views };
    answer_from(own, request, generation, shows_views)
}

/// Answers a request from the catalogue alone.
fn answer_from(
    shown: CatalogueSource<'_>,
    request: &RpcRequest,
    generation: ProtocolGeneration,
    shows_views: bool,
) -> Option<Result<String, RpcError>> {
    let method = request.method.as_str();
    let body = match (method, generation) {
        ("initialize", ProtocolGeneration::Legacy) => initialize(request, shown),
        ("ping", ProtocolGeneration::Legacy) => json!({}),
        ("server/discover", ProtocolGeneration::Modern) => discover(shown, shows_views),
        ("tools/list", _) => json!({"tools": shown.tools()}),
        ("tools/call", _) => return None,
        (LISTEN, ProtocolGeneration::Modern) => {
            return subscription::task_ids(request).err().map(Err);
        }
        (method, ProtocolGeneration::Modern) if tasks::is_method(method) => {
            return tasks::check(request).err().map(Err);
        }
        (method, _) => {
            match command_view::answer(method, &request.params, generation, shows_views) {
                Some(Ok(body)) => body,
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    let message = format!("Method not found: {method}");
                    return Some(Err(RpcError::new(RpcErrorKind::Method, message)));
                }
            }
        }
    };
    let body = match check_cursor(request) {
        Ok(()) => cacheable(method, generation, body),
        Err(error) => return Some(Err(error)),
    };
    Some(Ok(result(request, generation, body)))
}

/// Answers a request for which no command has to be looked at.
fn answer_at_once(
    extra: Option<&ExtraTools>,
    request: &RpcRequest,
    generation: ProtocolGeneration,
    surface: &ToolSurface,
    shows_views: bool,
) -> Option<Result<String, RpcError>> {
    match extra.and_then(|extra| (extra.answer)(request, generation)) {
        Some(answered) => Some(answered.map(|body| result(request, generation, body))),
        None => {
            let own = CatalogueSource::Own { surface, shows_views };
            let shown = extra.map_or(own, |extra| CatalogueSource::Ready(&extra.catalogue));
            answer_from(shown, request, generation, shows_views)
        }
    }
}

/// Answers a request that is no [`LISTEN`], of a client with this surface of tools. The key of `context`
/// is that of a call whose arguments have none, and what tells the call from another one under the same
/// id; it stands in `calls` until it is answered.
pub async fn handle(
    (tools, extra): (&ToolSet, Option<&ExtraTools>),
    calls: &CallRegistry<Caller>,
    caller: &Caller,
    request: RpcRequest,
    generation: ProtocolGeneration,
    context: RequestContext,
    surface: &ToolSurface,
) -> RpcAnswer {
    let hub = tools.hub();
    // Any request of the modern generation may name it, so it is looked for in each.
    if let Some(program) = client_info::program(&request) {
        hub.note_program(caller, program);
    }
    let shows_views = shows_views(hub, caller, &request, generation);
    if let Some(answer) = answer_at_once(extra, &request, generation, surface, shows_views) {
        note_abilities(hub, caller, &request, generation);
        return match answer {
            Ok(text) => RpcAnswer::text(text),
            Err(error) => RpcAnswer::error(error, &request.id),
        };
    }
    if tasks::is_method(&request.method) {
        return tasks::handle(hub, caller, &request).await;
    }
    let as_task = generation == ProtocolGeneration::Modern && tasks::are_declared(&request);
    let RpcRequest { id, mut params, .. } = request;
    let (name, arguments) = match take_call(&mut params) {
        Ok(call) => call,
        Err(wrong) => {
            return RpcAnswer::error(RpcError::new(RpcErrorKind::Params, wrong), &id);
        }
    };
    // Before the call, so that a cancel that follows at once finds it.
    let in_progress = calls.begin(caller, &id, context.key.clone());
    let request = RequestContext { trace_context: trace_meta::context_of(&params), ..context };
    let mode = if as_task { ResponseMode::AsTask } else { ResponseMode::Usual };
    let reply = match extra.filter(|extra| (extra.has)(&name)) {
        Some(extra) => {
            let key = request.key;
            let call = ToolCall { name: &name, arguments, params: &params, key, mode };
            (extra.call)(hub, caller, call).await
        }
        None => tools
            .call(caller, &name, arguments, request, mode, surface)
            .await
            .ok_or_else(|| RpcError::new(RpcErrorKind::Params, format!("Unknown tool: {name}"))),
    };
    let ToolReply { submitted, waits_for, outcome } = match reply {
        Ok(reply) => reply,
        Err(error) => return RpcAnswer::error(error, &id),
    };
    if let Some(command) = submitted.clone() {
        in_progress.note_submitted(command);
    }
    // A client without a progress token must get no notifications.
    let following = waits_for.and_then(|command| {
        Some((progress_token(&params)?.clone(), hub.follow(caller, &command)?))
    });
    let progress = following.map(|(token, following)| CallProgress::new(token, following));
    let call = SubmittedCall {
        in_progress,
        submitted: submitted.clone(),
        hub: hub.clone(),
        caller: caller.clone(),
        shows_views,
    };
    let outcome = match outcome {
        // Refusals, failures and results are answers already; only a queued command becomes a task.
        NowOrLater::Now(result) if as_task && call.says_no_more_than_that(&result) => {
            NowOrLater::Later(Box::pin(call.answer_as_task(result, id)))
        }
        NowOrLater::Now(result) => {
            call.cancel_if_asked();
            NowOrLater::Now(RpcResponse::of(call.in_full(result), &id, generation))
        }
        NowOrLater::Later(result) => NowOrLater::Later(Box::pin(async move {
            RpcResponse::of(call.finish(result).await, &id, generation)
        })),
    };
    RpcAnswer { submitted, progress, outcome }
}

/// Notes what a legacy client wants and can be asked, which only its first request says.
fn note_abilities(
    hub: &Hub,
    caller: &Caller,
    request: &RpcRequest,
    generation: ProtocolGeneration,
) {
    if request.method == "initialize" && generation == ProtocolGeneration::Legacy {
        hub.note_wants_jobs(caller, asks_for_jobs(request));
        hub.note_has_roots(caller, declares_roots(request));
        hub.note_shows_views(caller, command_view::declares_views(request));
    }
}

/// Whether the client of a request shows views.
fn shows_views(
    hub: &Hub,
    caller: &Caller,
    request: &RpcRequest,
    generation: ProtocolGeneration,
) -> bool {
    match (generation, request.method.as_str()) {
        (ProtocolGeneration::Modern, _) | (ProtocolGeneration::Legacy, "initialize") => {
            command_view::declares_views(request)
        }
        (ProtocolGeneration::Legacy, _) => hub.shows_views(caller),
    }
}

/// Takes the tool's name and its arguments out of a call's parameters.
fn take_call(
    params: &mut Map<String, Value>,
) -> Result<(String, Map<String, Value>), &'static str> {
    let Some(Value::String(name)) = params.shift_remove("name") else {
        return Err("params.name must name a tool");
    };
    match params.shift_remove("arguments") {
        None => Ok((name, Map::new())),
        Some(Value::Object(arguments)) => Ok((name, arguments)),
        Some(_) => Err("params.arguments must be an object"),
    }
}

/// A call that a tool has taken.
pub(super) struct SubmittedCall {
    in_progress: CallInProgress<Caller>,
    submitted: Option<CorrelationId>,
    pub(super) hub: Hub,
    pub(super) caller: Caller,
    shows_views: bool,
}

impl SubmittedCall {
    /// The result of a call that did not wait, with the parts that stand in its `_meta`.
    fn in_full(&self, result: ToolResult) -> ToolResult {
        self.with_timeline(self.in_trace(result))
    }

    /// The result with the phases of the command that it tells of, for a client that shows them.
    pub(super) fn with_timeline(&self, result: ToolResult) -> ToolResult {
        let about = result.about.as_ref().or(self.submitted.as_ref());
        let timeline =
            about.filter(|_| self.shows_views).and_then(|id| self.hub.timeline(&self.caller, id));
        ToolResult { timeline, ..result }
    }

    /// The result with the command's place in a trace, which a result has that tells how the command
    /// stands.
    fn in_trace(&self, result: ToolResult) -> ToolResult {
        let of_command = || self.hub.trace_context_of(self.submitted.as_ref()?).map(Box::new);
        ToolResult { trace_context: result.trace_context.or_else(of_command), ..result }
    }

    /// The call's result, unless it is cancelled before. The command that it submitted is
    /// cancelled with it; a call that only waited for one leaves that alone.
    async fn finish(self, mut result: BoxFuture<'static, ToolResult>) -> ToolResult {
        tokio::select! {
            biased;
            () = self.in_progress.cancelled() => {}
            result = &mut result => return self.with_timeline(result),
        }
        // A call that reads another call's command has no right to cancel it.
        if self.submitted.is_none() {
            return ToolResult::cancelled_wait();
        }
        self.cancel_if_asked();
        // It waits for the end of the command.
        let result = result.await;
        self.with_timeline(result)
    }

    /// Whether a result says no more than that a command was submitted.
    const fn says_no_more_than_that(&self, result: &ToolResult) -> bool {
        self.submitted.is_some() && result.hands_over.is_none() && !result.is_error
    }

    async fn answer_as_task(self, queued: ToolResult, id: RequestId) -> RpcResponse {
        let Some(command) = &self.submitted else {
            return RpcResponse::of(queued, &id, ProtocolGeneration::Modern);
        };
        let done = tasks::answer_call(&self, command, queued, &id).await;
        self.cancel_if_asked();
        done
    }

    fn cancel_if_asked(&self) {
        if let Some(id) = self.submitted.as_ref().filter(|_| self.in_progress.is_cancelled()) {
            self.hub.ask_to_cancel(&self.caller, id);
        }
    }
}

fn initialize(request: &RpcRequest, shown: CatalogueSource<'_>) -> Value {
    json!({
        "protocolVersion": negotiate(request),
        "capabilities": shown.capabilities(),
        "serverInfo": server_info(),
        "instructions": shown.instructions(),
    })
}

fn discover(shown: CatalogueSource<'_>, shows_views: bool) -> Value {
    let mut capabilities = shown.capabilities();
    // Only `server/discover` has a place for extensions.
    capabilities["extensions"] = json!({tasks::EXTENSION: {}});
    if shows_views {
        capabilities["extensions"][command_view::EXTENSION] = json!({});
    }
    json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities,
        "instructions": shown.instructions(),
        "ttlMs": LIST_TTL_MS,
        "cacheScope": "private",
    })
}

/// Refuses a cursor of a list: no page of ours ever names one.
fn check_cursor(request: &RpcRequest) -> Result<(), RpcError> {
    if request.method.ends_with("/list") && request.params.contains_key("cursor") {
        let message = "Unknown cursor: the list has one page";
        return Err(RpcError::new(RpcErrorKind::Params, message));
    }
    Ok(())
}

/// The answer with how long a client may keep it, which the modern generation has for what changes with
/// the version only.
fn cacheable(method: &str, generation: ProtocolGeneration, mut body: Value) -> Value {
    let is_kept = method.ends_with("/list") || method.starts_with("resources/");
    if is_kept && generation == ProtocolGeneration::Modern {
        body["ttlMs"] = LIST_TTL_MS.into();
        body["cacheScope"] = "private".into();
    }
    body
}

/// Whether requests of this method, which is no tool call, change nothing, and so can be made twice.
#[must_use]
pub fn only_reads(method: &str) -> bool {
    [LISTEN, "tasks/get", "ping"].contains(&method)
        || method.ends_with("/list")
        || method.ends_with("/read")
}

/// Who answers.
pub(super) fn server_info() -> Value {
    json!({"name": "tabwire", "title": "Tabwire", "version": SERVER_VERSION})
}
