//! Spans in the messages of OTLP (`opentelemetry/proto/collector/trace/v1`), with the fields that a
//! command has. A test reads them with the types of the official crate.

use prost::Message;

use super::CommandSpan;
use crate::lifecycle::TracePoint;
use crate::protocol::{SERVER_VERSION, StatusWord, Timestamp};

/// The most events of a span: a command that is lost and sent again for hours has more.
const EVENTS_MAX: usize = 64;

/// `SPAN_KIND_SERVER`: the work that a client has asked for.
const KIND_SERVER: i32 = 2;

/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: i32 = 2;

/// Bits 8 and 9 of a span's flags: it is known whether the parent is in another program, and it is.
const PARENT_IS_REMOTE: u32 = 0x300;

/// The flag of a context that is sampled.
const SAMPLED: u32 = 1;

/// The daemon that the spans are of.
#[derive(Clone, Debug)]
pub struct SpanSource {
    /// The id of its run.
    pub instance: String,
}

#[derive(Clone, PartialEq, Message)]
struct TraceRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct InstrumentationScope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<SpanEvent>,
    #[prost(uint32, tag = "12")]
    dropped_events_count: u32,
    #[prost(message, optional, tag = "15")]
    status: Option<SpanStatus>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct SpanEvent {
    #[prost(fixed64, tag = "1")]
    time_unix_nano: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanStatus {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "PlainValue", tags = "1, 3")]
    value: Option<PlainValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum PlainValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

#[derive(Clone, PartialEq, Message)]
struct TraceResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
}

/// The body of a request with these spans.
#[must_use]
pub fn trace_request(source: &SpanSource, spans: &[CommandSpan]) -> Vec<u8> {
    let resource = Resource {
        attributes: vec![
            text("service.name", "tabwire"),
            text("service.version", SERVER_VERSION),
            text("service.instance.id", &source.instance),
        ],
    };
    let scope =
        InstrumentationScope { name: "tabwire".to_owned(), version: SERVER_VERSION.to_owned() };
    let spans = spans.iter().map(span_message).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans }];
    TraceRequest { resource_spans }.encode_to_vec()
}

/// How many spans the collector has rejected, by the body of its answer.
#[must_use]
pub fn rejected_spans(answer: &[u8]) -> u64 {
    let answer = TraceResponse::decode(answer).unwrap_or_default();
    let rejected = answer.partial_success.unwrap_or_default().rejected_spans;
    u64::try_from(rejected).unwrap_or_default()
}

fn span_message(span: &CommandSpan) -> Span {
    let parent = span.parent.as_ref();
    let events = span.phases.iter().take(EVENTS_MAX).map(event_message).collect();
    let dropped = span.phases.len().saturating_sub(EVENTS_MAX);
    Span {
        trace_id: span.trace_id().into(),
        span_id: span.span_id().into(),
        trace_state: parent
            .and_then(|parent| parent.state())
            .map(ToString::to_string)
            .unwrap_or_default(),
        parent_span_id: parent.map(|parent| parent.parent_id().into()).unwrap_or_default(),
        name: span.action.to_owned(),
        kind: KIND_SERVER,
        start_time_unix_nano: nanos(span.created),
        end_time_unix_nano: nanos(span.ended),
        attributes: attributes(span),
        events,
        dropped_events_count: u32::try_from(dropped).unwrap_or(u32::MAX),
        status: status(span),
        flags: SAMPLED | parent.map_or(0, |_| PARENT_IS_REMOTE),
    }
}

fn attributes(span: &CommandSpan) -> Vec<KeyValue> {
    let mut attributes = vec![
        text("tabwire.action", span.action),
        text("tabwire.end", span.end.as_str()),
        text("tabwire.correlation_id", span.id.as_str()),
    ];
    attributes.extend(span.transport.map(|transport| text("tabwire.transport", transport.word())));
    attributes.extend(span.browser.as_deref().map(|browser| text("tabwire.browser", browser)));
    attributes.extend(span.code.as_deref().map(|code| text("error.type", code)));
    attributes
}

/// A command that its client or the person has cancelled has not failed.
fn status(span: &CommandSpan) -> Option<SpanStatus> {
    let has_failed =
        matches!(span.end, StatusWord::Error | StatusWord::Timeout | StatusWord::Expired);
    let message = span.code.as_deref().unwrap_or_default().to_owned();
    has_failed.then_some(SpanStatus { message, code: STATUS_ERROR })
}

fn event_message(point: &TracePoint) -> SpanEvent {
    let number = |number: u32| PlainValue::Number(number.into());
    let attempt = point.attempt.map(|attempt| attribute("tabwire.attempt", number(attempt.0)));
    SpanEvent {
        time_unix_nano: nanos(point.at),
        name: point.phase.as_str().to_owned(),
        attributes: attempt.into_iter().collect(),
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, PlainValue::Text(value.to_owned()))
}

fn attribute(key: &str, value: PlainValue) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

const fn nanos(at: Timestamp) -> u64 {
    at.unix_micros().saturating_mul(1_000)
}
