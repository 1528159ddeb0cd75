//! Answers as they go out.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::command_view;
use super::generation::ProtocolGeneration;
use super::message::{RequestId, RpcError, RpcErrorKind, RpcRequest};
use super::methods::server_info;
use super::progress::CallProgress;
use super::trace_meta;
use crate::hub::RefusalReason;
use crate::protocol::{CorrelationId, TraceContext};
use crate::tools::{InlinePicture, NowOrLater, ToolResult};

/// The type of a result that is the method's own.
pub(super) const COMPLETE: &str = "complete";

/// The answer to a request.
pub struct RpcAnswer {
    /// The command that the request submitted.
    pub submitted: Option<CorrelationId>,
    /// The progress of a later answer, if its client wants to hear of it.
    pub progress: Option<CallProgress>,
    /// The answer itself. To drop one that comes later ends the wait, not the command.
    pub outcome: NowOrLater<RpcResponse>,
}

/// An answer that is done.
#[derive(Debug)]
pub struct RpcResponse {
    /// The whole JSON-RPC message.
    pub text: String,
    /// The error, for transports that have a status.
    pub error: Option<RpcError>,
    /// The command whose outcome this hands over: read, once it is on the caller's
    /// socket.
    pub hands_over: Option<CorrelationId>,
}

impl RpcAnswer {
    pub(super) fn text(text: String) -> Self {
        RpcResponse { text, error: None, hands_over: None }.into()
    }

    pub(super) fn error(error: RpcError, id: &RequestId) -> Self {
        RpcResponse::error(error, id).into()
    }
}

impl From<RpcResponse> for RpcAnswer {
    fn from(done: RpcResponse) -> Self {
        Self { submitted: None, progress: None, outcome: NowOrLater::Now(done) }
    }
}

impl RpcResponse {
    /// A tool's result: the same JSON as text and as data, or as text with a picture.
    pub(super) fn of(result: ToolResult, id: &RequestId, generation: ProtocolGeneration) -> Self {
        let text = envelope(id, CallResult::of(&result, generation));
        Self { text, error: None, hands_over: result.hands_over }
    }

    pub(super) fn error(error: RpcError, id: &RequestId) -> Self {
        let text = error.to_json(Some(id));
        Self { text, error: Some(error), hands_over: None }
    }

    /// A result of the modern generation, of this type.
    pub(super) fn modern(id: &RequestId, result_type: &'static str, body: &impl Serialize) -> Self {
        Self::modern_in_trace(id, result_type, body, None)
    }

    /// The same about a command of a call with this place in a trace.
    pub(super) fn modern_in_trace(
        id: &RequestId,
        result_type: &'static str,
        body: &impl Serialize,
        context: Option<&TraceContext>,
    ) -> Self {
        let mut meta = modern_meta();
        trace_meta::add_to(&mut meta, context);
        let text = envelope(id, ModernResult { result_type, body, meta });
        Self { text, error: None, hands_over: None }
    }
}

/// A result as the whole message that goes out.
fn envelope(id: &RequestId, result: impl Serialize) -> String {
    serde_json::to_string(&ResponseEnvelope { jsonrpc: "2.0", id, result }).unwrap_or_default()
}

#[derive(Serialize)]
struct ModernResult<'a, T> {
    #[serde(rename = "resultType")]
    result_type: &'static str,
    #[serde(flatten)]
    body: &'a T,
    #[serde(rename = "_meta")]
    meta: Value,
}

#[derive(Serialize)]
struct ResponseEnvelope<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: R,
}

/// A tool's result as it stands in an answer.
#[derive(Serialize)]
pub(super) struct CallResult<'a> {
    #[serde(rename = "resultType", skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Vec<ToolContent<'a>>,
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    structured: Option<&'a RawValue>,
    #[serde(rename = "isError")]
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

impl<'a> CallResult<'a> {
    pub(super) fn of(result: &'a ToolResult, generation: ProtocolGeneration) -> Self {
        let ToolResult { body, is_error, pictures, .. } = result;
        let mut content = vec![ToolContent::Text { text: body.get() }];
        for InlinePicture { data, mime_type } in pictures {
            content.push(ToolContent::Image { data, mime_type });
        }
        // Codex shows its model either `structuredContent` or `content`, and never both.
        let structured = pictures.is_empty().then_some(&**body);
        let (result_type, mut meta) = modern_parts(generation);
        if let Some(context) = &result.trace_context {
            trace_meta::add_to(meta.get_or_insert_default(), Some(context));
        }
        if let Some(story) = &result.timeline {
            command_view::add_to(meta.get_or_insert_default(), story);
        }
        Self { result_type, content, structured, is_error: *is_error, meta }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolContent<'a> {
    Text {
        text: &'a str,
    },
    Image {
        data: &'a str,
        #[serde(rename = "mimeType")]
        mime_type: &'a str,
    },
}

/// A failed request as a whole message, for a program between the client and the tools. A call of a
/// tool is a failed one, anything else an error. `body` has a `message`.
#[must_use]
pub fn failure(
    body: &Value,
    method: &str,
    id: &RequestId,
    generation: ProtocolGeneration,
) -> String {
    // A model sees the result of its tool call; many clients hide a JSON-RPC error from it.
    if method != "tools/call" {
        let message = body["message"].as_str().unwrap_or_default().to_owned();
        let data = Some(body.clone().into());
        return RpcError { kind: RpcErrorKind::Refused, message, data }.to_json(Some(id));
    }
    RpcResponse::of(ToolResult::failed(body), id, generation).text
}

/// The body of a tool's result, which every result has as its first text.
#[must_use]
pub fn body_of(result: &Value) -> Option<Value> {
    serde_json::from_str(result["content"][0]["text"].as_str()?).ok()
}

/// Whether an answer refuses a call because the daemon is about to end: another one may
/// take it.
#[must_use]
pub fn is_shutdown_refusal(answer: &str) -> bool {
    is_refusal(answer, RefusalReason::ShuttingDown.code())
}

/// Whether an answer refuses a call because it came too late.
#[must_use]
pub fn is_too_late(answer: &str) -> bool {
    is_refusal(answer, RefusalReason::TooLate.code())
}

fn is_refusal(answer: &str, code: &str) -> bool {
    let refuses = |answer: &Value| {
        let result = &answer["result"];
        result["isError"] == true && body_of(result).is_some_and(|body| body["error"] == code)
    };
    // Nearly no answer has the word in it, and a large one takes a while to read.
    answer.contains(code) && serde_json::from_str(answer).is_ok_and(|answer| refuses(&answer))
}

/// A result as the whole message that goes out.
pub(super) fn result(
    request: &RpcRequest,
    generation: ProtocolGeneration,
    mut body: Value,
) -> String {
    if let (Some(result_type), Some(meta)) = modern_parts(generation) {
        // Extra tools may answer with another type.
        if body.get("resultType").is_none() {
            body["resultType"] = result_type.into();
        }
        body["_meta"] = meta;
    }
    envelope(&request.id, body)
}

/// The fields that every result of the modern generation adds.
fn modern_parts(generation: ProtocolGeneration) -> (Option<&'static str>, Option<Value>) {
    match generation {
        ProtocolGeneration::Legacy => (None, None),
        ProtocolGeneration::Modern => (Some(COMPLETE), Some(modern_meta())),
    }
}

/// Where a message says which subscription it belongs to.
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The `_meta` of every message of a subscription: the id of its request.
pub(super) fn of_subscription(id: &RequestId) -> Value {
    json!({META_SUBSCRIPTION: id})
}

/// The answer to the request of a subscription, which ends it.
pub(super) fn end_of_subscription(id: &RequestId) -> String {
    let mut meta = modern_meta();
    meta[META_SUBSCRIPTION] = json!(id);
    envelope(id, ModernResult { result_type: COMPLETE, body: &json!({}), meta })
}

fn modern_meta() -> Value {
    json!({"io.modelcontextprotocol/serverInfo": server_info()})
}
