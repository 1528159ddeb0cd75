//! JSON-RPC 2.0 messages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A request's id: a string or a whole number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number. Zero is one that clients use.
    Number(i64),
    /// A text.
    Text(String),
}

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum IncomingMessage {
    /// Wants an answer.
    Request(RpcRequest),
    /// Wants none.
    Notification(RpcNotification),
    /// The answer to a request of ours.
    Response(RpcReply),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcRequest {
    /// Its answer carries the same id.
    pub id: RequestId,
    /// The method's name.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
}

/// A message that wants no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcNotification {
    /// The method's name.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
}

/// A client's answer to a request of the daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcReply {
    /// The request's id, if it is one that the daemon could have used.
    pub id: Option<String>,
    /// The result; `None` if the client answers with an error.
    pub result: Option<Value>,
}

/// The notification by which a client cancels a request of its own.
pub const CANCELLED: &str = "notifications/cancelled";

/// An answer that is no result.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Its kind.
    pub kind: RpcErrorKind,
    /// A sentence for people and models.
    pub message: String,
    /// Details for programs.
    pub data: Option<Box<Value>>,
}

/// The kinds of errors. Where they come with an HTTP status, the edge says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcErrorKind {
    /// Not JSON.
    Parse,
    /// Not a JSON-RPC message.
    Shape,
    /// The request lacks its version or its client's capabilities.
    Envelope,
    /// A header contradicts the body.
    HeaderMismatch,
    /// A protocol version that is not spoken here.
    Version,
    /// No such method.
    Method,
    /// Parameters that the method cannot work with.
    Params,
    /// No such resource. The modern generation has [`Params`](Self::Params) for it.
    Resource,
    /// The client does not declare a capability that the method needs.
    Capability,
    /// Not now: too much at once, or nothing can be recorded.
    Refused,
    /// The server has broken off the request's command.
    Internal,
}

impl RpcErrorKind {
    /// The JSON-RPC error code.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::Parse => -32_700,
            Self::Shape => -32_600,
            Self::Method => -32_601,
            Self::Envelope | Self::Params => -32_602,
            Self::Resource => -32_002,
            Self::HeaderMismatch => -32_020,
            Self::Capability => -32_021,
            Self::Version => -32_022,
            Self::Refused => -32_000,
            Self::Internal => -32_603,
        }
    }
}

impl RpcError {
    /// An error without data.
    #[must_use]
    pub fn new(kind: RpcErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None }
    }

    /// The whole message, as it goes out. `None` for the id of a request that could not
    /// be read.
    #[must_use]
    pub fn to_json(&self, id: Option<&RequestId>) -> String {
        json!({"jsonrpc": "2.0", "id": id, "error": self.to_object()}).to_string()
    }

    /// The `error` of the message.
    pub(super) fn to_object(&self) -> Value {
        let mut error = json!({"code": self.kind.code(), "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = (**data).clone();
        }
        error
    }
}

impl IncomingMessage {
    /// Reads one message.
    ///
    /// # Errors
    ///
    /// [`RpcErrorKind::Parse`] or [`RpcErrorKind::Shape`], and the request's id if it could be
    /// read.
    pub fn parse(bytes: &[u8]) -> Result<Self, (RpcError, Option<RequestId>)> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| {
            (RpcError::new(RpcErrorKind::Parse, format!("not valid JSON: {error}")), None)
        })?;
        let Value::Object(mut message) = value else {
            let what = if value.is_array() { "batches are not supported" } else { "not an object" };
            return Err((
                RpcError::new(RpcErrorKind::Shape, format!("not a JSON-RPC message: {what}")),
                None,
            ));
        };
        let id = message.get("id").cloned();
        // Kept for the error: a client matches it by the id.
        let known: Option<RequestId> = id.clone().and_then(|id| serde_json::from_value(id).ok());
        let wrong = |what: &str| {
            let error =
                RpcError::new(RpcErrorKind::Shape, format!("not a JSON-RPC 2.0 message: {what}"));
            Err((error, known.clone()))
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return wrong("`jsonrpc` must be \"2.0\"");
        }
        let method = match message.shift_remove("method") {
            Some(Value::String(method)) => method,
            Some(_) => return wrong("`method` must be a string"),
            None if message.contains_key("result") || message.contains_key("error") => {
                let id = id.as_ref().and_then(Value::as_str).map(str::to_owned);
                // Both at once is no answer that can be read in one way.
                let is_error = message.contains_key("error");
                let result = message.shift_remove("result").filter(|_| !is_error);
                return Ok(Self::Response(RpcReply { id, result }));
            }
            None => return wrong("`method` is missing"),
        };
        match (id, known.clone(), message.shift_remove("params")) {
            // A notification has no answer, so wrong parameters could be reported to nobody.
            (None, _, params) => {
                let params = params.and_then(|params| serde_json::from_value(params).ok());
                let params = params.unwrap_or_default();
                Ok(Self::Notification(RpcNotification { method, params }))
            }
            (Some(_), None, _) => wrong("`id` must be a string or a whole number"),
            (Some(_), Some(id), None) => {
                Ok(Self::Request(RpcRequest { id, method, params: Map::new() }))
            }
            (Some(_), Some(id), Some(Value::Object(params))) => {
                Ok(Self::Request(RpcRequest { id, method, params }))
            }
            (Some(_), Some(_), Some(_)) => wrong("`params` must be an object"),
        }
    }
}

impl RpcNotification {
    /// The request that this cancels, if it is a cancel.
    #[must_use]
    pub fn cancels(&self) -> Option<RequestId> {
        let id = self.params.get("requestId").filter(|_| self.method == CANCELLED)?;
        RequestId::deserialize(id).ok()
    }
}
