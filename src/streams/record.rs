//! The records of entries: one type for each stream, as browsers send it and agents see it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Severity, least first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum LogLevel {
    Debug,
    Log,
    Info,
    Warn,
    Error,
}

/// The record of an entry.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EntryRecord {
    Log(ConsoleLine),
    Request(Box<NetworkRequest>),
    Bodies(RequestBodies),
    Socket(SocketEvent),
    Action(UserAction),
    Performance(PagePerformance),
    ExtensionLog(ExtensionLog),
}

/// A line of the console, or an exception.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ConsoleLine {
    pub(super) level: LogLevel,
    pub(super) source: Box<str>,
    pub(super) text: Box<str>,
    #[serde(default)]
    pub(super) url: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) script_url: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<Box<str>>,
}

/// Headers by their name.
pub(super) type CapturedHeaders = BTreeMap<Box<str>, Box<str>>;

/// A finished request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct NetworkRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<Box<str>>,
    pub(super) url: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page_url: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource_type: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status_text: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) duration_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ttfb_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from_cache: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_headers: Option<CapturedHeaders>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_headers: Option<CapturedHeaders>,
}

/// The bodies of a request and of its answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct RequestBodies {
    pub(super) request_id: Box<str>,
    pub(super) method: Box<str>,
    pub(super) url: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page_url: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_body: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_body: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) base64: bool,
    #[serde(default)]
    pub(super) truncated: bool,
}

/// An event on a page's WebSocket.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SocketEvent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<Box<str>>,
    pub(super) url: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page_url: Option<Box<str>>,
    pub(super) event: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<Number>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
}

/// A person's action in a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct UserAction {
    pub(super) kind: Box<str>,
    pub(super) url: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<ActionTarget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) masked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<Box<str>>,
}

/// The element of an action.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ActionTarget {
    pub(super) selector: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tag: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Box<str>>,
}

/// The speed of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct PagePerformance {
    pub(super) url: Box<str>,
    pub(super) metrics: WebVitals,
}

/// The measurements of a page: times in ms, and the shift of its layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "the field's own words")]
pub struct WebVitals {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttfb_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fcp_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lcp_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cls: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inp_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dom_content_loaded_ms: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_ms: Option<Number>,
}

/// A line of the extension's own log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ExtensionLog {
    pub(super) level: LogLevel,
    pub(super) text: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) category: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<Box<str>>,
}

impl EntryRecord {
    /// About how many bytes the names of headers take, with their place in the map.
    pub(super) fn weight_of_names(&self) -> usize {
        let Self::Request(request) = self else { return 0 };
        let both = [&request.request_headers, &request.response_headers];
        let names = both.into_iter().flatten().flat_map(BTreeMap::keys);
        names.map(|name| name.len() + 2 * size_of::<Box<str>>()).sum()
    }
}

impl NetworkRequest {
    pub(super) fn has_failed(&self) -> bool {
        self.error.is_some() || self.status.is_some_and(|status| status >= 400)
    }
}
