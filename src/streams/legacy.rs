//! The bodies of extensions that only poll, translated into the same entries.
//!
//! The parser is lenient: a field may have any name that a version gave it, and an optional field
//! may be missing. An item that lacks a required field is rejected, and the others are kept.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::UNIX_EPOCH;

use serde_json::{Map, Number, Value};

use super::StreamEntry;
use super::record::{
    ActionTarget, ConsoleLine, EntryRecord, ExtensionLog, LogLevel, NetworkRequest,
    PagePerformance, RequestBodies, SocketEvent, UserAction, WebVitals,
};
use crate::protocol::{BrowserId, StreamKind, TabId, Timestamp};

/// The routes on which polling extensions post entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyStream {
    /// `POST /logs`.
    Logs,
    /// `POST /extension-logs`.
    ExtensionLogs,
    /// `POST /network-waterfall`.
    NetworkWaterfall,
    /// `POST /network-bodies`.
    NetworkBodies,
    /// `POST /websocket-events`.
    WebsocketEvents,
    /// `POST /enhanced-actions`.
    EnhancedActions,
    /// `POST /performance-snapshots`.
    PerformanceSnapshots,
}

/// The reason why a body is rejected.
#[derive(Debug, thiserror::Error)]
pub enum LegacyBodyError {
    /// It is not JSON.
    #[error("malformed JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is not an object with the route's list.
    #[error("no list `{0}`")]
    NoList(&'static str),
}

/// The entries of a body.
#[derive(Debug, Default)]
pub struct LegacyBatch {
    /// The entries.
    pub entries: Vec<StreamEntry>,
    /// The number of malformed items.
    pub rejected: usize,
    /// The number of well-formed items, also of those that were posted before.
    pub received: usize,
    /// A hash of each entry of a waterfall, by which a repetition is recognised.
    marks: Vec<u64>,
}

/// The requests in each browser's last body. Such an extension posts all requests of a page again
/// with each body.
#[derive(Debug, Default)]
pub struct WaterfallHistory(HashMap<BrowserId, HashSet<u64>>);

/// The limits of this memory: browsers, and requests of each.
const BROWSERS: usize = 64;
const MARKS: usize = 1_000;

impl LegacyStream {
    /// The name of the list in its bodies.
    const fn list(self) -> &'static str {
        match self {
            Self::Logs | Self::NetworkWaterfall => "entries",
            Self::ExtensionLogs => "logs",
            Self::NetworkBodies => "bodies",
            Self::WebsocketEvents => "events",
            Self::EnhancedActions => "actions",
            Self::PerformanceSnapshots => "snapshots",
        }
    }

    /// The stream that its items are of.
    #[must_use]
    pub const fn stream(self) -> StreamKind {
        match self {
            Self::Logs => StreamKind::Logs,
            Self::ExtensionLogs => StreamKind::ExtensionLogs,
            Self::NetworkWaterfall => StreamKind::Network,
            Self::NetworkBodies => StreamKind::Bodies,
            Self::WebsocketEvents => StreamKind::Websocket,
            Self::EnhancedActions => StreamKind::Actions,
            Self::PerformanceSnapshots => StreamKind::Performance,
        }
    }

    /// Reads a body. An item without a time gets `now`.
    ///
    /// # Errors
    ///
    /// See [`LegacyBodyError`].
    pub fn read(self, body: &[u8], now: Timestamp) -> Result<LegacyBatch, LegacyBodyError> {
        let mut body: Value = serde_json::from_slice(body)?;
        let Some(Value::Array(items)) = body.get_mut(self.list()).map(Value::take) else {
            return Err(LegacyBodyError::NoList(self.list()));
        };
        let page = body.as_object().and_then(|body| text(body, &["pageURL", "page_url"]));
        let mut batch = LegacyBatch::default();
        for (number, item) in items.iter().enumerate() {
            let read = item.as_object().and_then(|item| {
                // Not every version names the request; the number tells the items of one body
                // apart.
                let id = || format!("legacy-{}-{number}", now.unix_millis()).into();
                Some((item, self.record(item, page.as_deref(), id)?))
            });
            let Some((item, record)) = read else {
                batch.rejected += 1;
                continue;
            };
            batch.received += 1;
            if self == Self::NetworkWaterfall {
                batch.marks.push(mark(page.as_deref(), item));
            }
            let tab = number_of(item, &["tabId", "tab_id"]).and_then(|n| n.as_i64()).map(TabId);
            let t = time(item).unwrap_or_else(|| millis(now));
            // Such an extension reports a request with a body here only, and `network` needs it too.
            if let EntryRecord::Bodies(bodies) = &record {
                let request = EntryRecord::Request(Box::new(bodies.request(item)));
                batch.entries.push(StreamEntry::new(t, tab, request));
            }
            batch.entries.push(StreamEntry::new(t, tab, record));
        }
        Ok(batch)
    }

    fn record(
        self,
        item: &Map<String, Value>,
        page: Option<&str>,
        id: impl Fn() -> Box<str>,
    ) -> Option<EntryRecord> {
        Some(match self {
            Self::Logs => EntryRecord::Log(log(item)?),
            Self::ExtensionLogs => EntryRecord::ExtensionLog(extension_log(item)?),
            Self::NetworkWaterfall => EntryRecord::Request(Box::new(request(item, page)?)),
            Self::NetworkBodies => EntryRecord::Bodies(bodies(item, id)?),
            Self::WebsocketEvents => EntryRecord::Socket(socket_event(item)?),
            Self::EnhancedActions => EntryRecord::Action(action(item)?),
            Self::PerformanceSnapshots => EntryRecord::Performance(performance(item)?),
        })
    }
}

impl WaterfallHistory {
    /// Drops the requests that were in this browser's last body.
    pub fn drop_repeated(&mut self, browser: &BrowserId, batch: &mut LegacyBatch) {
        // A browser that is forgotten costs duplicates at worst, so this need not be precise.
        if self.0.len() >= BROWSERS && !self.0.contains_key(browser) {
            self.0.clear();
        }
        let marks = std::mem::take(&mut batch.marks);
        let before = self.0.get(browser);
        let is_repeated = |mark: &u64| before.is_some_and(|before| before.contains(mark));
        let mut each = marks.iter();
        batch.entries.retain(|_| each.next().is_none_or(|mark| !is_repeated(mark)));
        self.0.insert(browser.clone(), marks.into_iter().take(MARKS).collect());
    }
}

/// A hash that tells a request from the others of its page.
fn mark(page: Option<&str>, item: &Map<String, Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    // A page may request one URL many times.
    let start = item.get("startTime").map(Value::to_string);
    (page, text(item, &["url"]), start).hash(&mut hasher);
    hasher.finish()
}

fn log(item: &Map<String, Value>) -> Option<ConsoleLine> {
    let args = || {
        let args = item.get("args")?.as_array()?;
        let texts =
            args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned));
        Some(texts.collect::<Vec<_>>().join(" ").into())
    };
    let said = text(item, &["message", "error"]).or_else(args)?;
    let source = text(item, &["type"]).unwrap_or_else(|| "console".into());
    Some(ConsoleLine {
        level: level(item),
        source,
        text: said,
        url: text(item, &["url"]).unwrap_or_default(),
        script_url: text(item, &["filename", "source"]).filter(|source| !source.is_empty()),
        line: number_of(item, &["lineno", "line"]),
        stack: text(item, &["stack"]),
    })
}

fn extension_log(item: &Map<String, Value>) -> Option<ExtensionLog> {
    Some(ExtensionLog {
        level: level(item),
        text: text(item, &["message"])?,
        source: text(item, &["source"]),
        category: text(item, &["category"]),
        data: item.get("data").filter(|data| !data.is_null()).map(|data| data.to_string().into()),
    })
}

fn request(item: &Map<String, Value>, page: Option<&str>) -> Option<NetworkRequest> {
    let phase =
        |name| item.get("phases")?.as_object().and_then(|phases| number_of(phases, &[name]));
    let size = |name| item.get(name).and_then(Value::as_u64);
    // The timing API has no flag: a cached response has content and no bytes on the wire.
    let from_cache = size("transferSize").zip(size("decodedBodySize"));
    Some(NetworkRequest {
        url: text(item, &["url"])?,
        page_url: page.map(Into::into),
        resource_type: text(item, &["initiatorType", "initiator_type"]),
        duration_ms: number_of(item, &["duration"]),
        ttfb_ms: phase("ttfb"),
        bytes: number_of(item, &["transferSize", "transfer_size"]),
        from_cache: from_cache.map(|(sent, has)| sent == 0 && has > 0),
        ..NetworkRequest::default()
    })
}

fn bodies(item: &Map<String, Value>, id: impl Fn() -> Box<str>) -> Option<RequestBodies> {
    let truncated =
        ["requestTruncated", "request_truncated", "responseTruncated", "response_truncated"];
    Some(RequestBodies {
        page_url: None,
        request_id: text(item, &["requestId", "request_id", "id"]).unwrap_or_else(id),
        method: text(item, &["method"]).unwrap_or_else(|| "GET".into()),
        url: text(item, &["url"])?,
        status: number_of(item, &["status"]).and_then(|n| u16::try_from(n.as_u64()?).ok()),
        mime_type: text(item, &["contentType", "content_type"]),
        request_body: text(item, &["requestBody", "request_body"]),
        response_body: text(item, &["responseBody", "response_body"]),
        base64: false,
        truncated: truncated.iter().any(|name| item.get(*name) == Some(&Value::Bool(true))),
    })
}

impl RequestBodies {
    /// The request of these bodies.
    fn request(&self, item: &Map<String, Value>) -> NetworkRequest {
        NetworkRequest {
            request_id: Some(self.request_id.clone()),
            method: Some(self.method.clone()),
            url: self.url.clone(),
            status: self.status,
            mime_type: self.mime_type.clone(),
            duration_ms: number_of(item, &["duration"]),
            ..NetworkRequest::default()
        }
    }
}

fn socket_event(item: &Map<String, Value>) -> Option<SocketEvent> {
    let event = text(item, &["event"])?;
    let event = match (&*event, text(item, &["direction"]).as_deref()) {
        ("message", Some("outgoing")) => "sent".into(),
        ("message", _) => "received".into(),
        (_, _) => event,
    };
    Some(SocketEvent {
        page_url: None,
        request_id: text(item, &["id"]),
        url: text(item, &["url"])?,
        event,
        text: text(item, &["data", "reason"]),
        bytes: number_of(item, &["size"]),
        truncated: item.get("truncated") == Some(&Value::Bool(true)),
    })
}

fn action(item: &Map<String, Value>) -> Option<UserAction> {
    let masked = text(item, &["inputType", "input_type"]).as_deref() == Some("password");
    Some(UserAction {
        kind: text(item, &["type"])?,
        url: text(item, &["url", "toUrl", "to_url"]).unwrap_or_default(),
        target: item.get("selectors").and_then(Value::as_object).and_then(target),
        // Not every version masks the text of a password field itself.
        value: text(item, &["value", "selectedValue", "selected_value"]).filter(|_| !masked),
        masked,
        key: text(item, &["key"]),
    })
}

fn target(selectors: &Map<String, Value>) -> Option<ActionTarget> {
    let role = selectors.get("role");
    let named = role.and_then(Value::as_object).and_then(|role| text(role, &["role"]));
    Some(ActionTarget {
        selector: text(selectors, &["cssPath", "css_path", "css", "selector", "id", "testId"])?,
        tag: text(selectors, &["tag", "tagName"]),
        role: text(selectors, &["role"]).or(named),
        text: text(selectors, &["text"]),
    })
}

fn performance(item: &Map<String, Value>) -> Option<PagePerformance> {
    let timing = item.get("timing").and_then(Value::as_object).unwrap_or(item);
    let time = |names: &[&str]| number_of(timing, names);
    Some(PagePerformance {
        url: text(item, &["url"])?,
        metrics: WebVitals {
            ttfb_ms: time(&["timeToFirstByte", "time_to_first_byte"]),
            fcp_ms: time(&["firstContentfulPaint", "first_contentful_paint"]),
            lcp_ms: time(&["largestContentfulPaint", "largest_contentful_paint"]),
            cls: number_of(item, &["cumulativeLayoutShift", "cumulative_layout_shift", "cls"]),
            inp_ms: time(&["interactionToNextPaint", "interaction_to_next_paint"]),
            dom_content_loaded_ms: time(&["domContentLoaded", "dom_content_loaded"]),
            load_ms: time(&["load"]),
        },
    })
}

/// The text under the first of these names that has one.
fn text(item: &Map<String, Value>, names: &[&str]) -> Option<Box<str>> {
    names.iter().find_map(|name| item.get(*name)?.as_str()).map(Into::into)
}

/// The number under the first of these names that has one.
fn number_of(item: &Map<String, Value>, names: &[&str]) -> Option<Number> {
    names.iter().find_map(|name| item.get(*name)?.as_number()).cloned()
}

fn level(item: &Map<String, Value>) -> LogLevel {
    match text(item, &["level"]).unwrap_or_default().to_ascii_lowercase().as_str() {
        "debug" | "trace" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warn" | "warning" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _other => LogLevel::Log,
    }
}

/// The item's time in ms since the Unix epoch. Such extensions write RFC 3339 or a number.
fn time(item: &Map<String, Value>) -> Option<f64> {
    let said = ["ts", "timestamp", "t"].iter().find_map(|name| item.get(*name))?;
    if let Some(number) = said.as_f64() {
        return Some(number);
    }
    let time = humantime::parse_rfc3339_weak(said.as_str()?).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64() * 1_000.0)
}

#[expect(clippy::cast_precision_loss, reason = "exact until the year 287396")]
fn millis(moment: Timestamp) -> f64 {
    moment.unix_millis() as f64
}
