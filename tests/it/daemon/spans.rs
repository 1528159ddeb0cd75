//! Spans of commands for a collector of traces. The collector here reads them with the types of
//! OpenTelemetry's own crate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as PlainValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use testkit::{
    ExtensionBuilder, FakeExtension, McpClient, ProgramSandbox, TestDaemon, cli_of, finish, soon,
    until,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The state of a collector.
#[derive(Default)]
struct Taken {
    spans: Vec<Span>,
    resources: Vec<KeyValue>,
    /// The next answers; then 200.
    answers: Vec<StatusCode>,
    requests: usize,
}

type Shared = Arc<Mutex<Taken>>;

/// A collector on a free port.
struct Collector {
    port: u16,
    taken: Shared,
    _serving: AbortOnDropHandle<std::io::Result<()>>,
}

impl Collector {
    /// One that answers like this first.
    async fn answering(answers: &[StatusCode]) -> Self {
        let taken = Shared::default();
        taken.lock().unwrap().answers = answers.to_vec();
        let app = Router::new().route("/v1/traces", post(take)).with_state(taken.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move { axum::serve(listener, app).await });
        Self { port, taken, _serving: AbortOnDropHandle::new(serving) }
    }

    async fn start() -> Self {
        Self::answering(&[]).await
    }

    /// A daemon that sends its spans here.
    async fn daemon(&self) -> TestDaemon {
        daemon_for(self.port).await
    }

    /// The spans, once there are this many.
    async fn spans(&self, number: usize) -> Vec<Span> {
        let is_there = async || self.taken.lock().unwrap().spans.len() >= number;
        soon("the spans", until(is_there)).await;
        let spans = self.taken.lock().unwrap().spans.clone();
        assert_eq!(spans.len(), number, "{spans:#?}");
        spans
    }
}

async fn take(State(taken): State<Shared>, headers: HeaderMap, body: Bytes) -> (StatusCode, Bytes) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let mut taken = taken.lock().unwrap();
    taken.requests += 1;
    if !taken.answers.is_empty() {
        return (taken.answers.remove(0), Bytes::new());
    }
    for one in request.resource_spans {
        taken.resources = one.resource.unwrap().attributes;
        for scope in one.scope_spans {
            assert_eq!(scope.scope.unwrap().name, "tabwire");
            taken.spans.extend(scope.spans);
        }
    }
    (StatusCode::OK, Bytes::new())
}

async fn daemon_for(port: u16) -> TestDaemon {
    let endpoint = format!("http://127.0.0.1:{port}").parse().unwrap();
    TestDaemon::with(|settings| settings.otlp = Some(endpoint)).await
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(list: &[KeyValue]) -> HashMap<&str, &str> {
    let text = |one: &'_ KeyValue| {
        let value = one.value.clone().unwrap().value;
        let Some(PlainValue::StringValue(text)) = value else { panic!("{one:?}") };
        text.leak()
    };
    list.iter().map(|one| (one.key.as_str(), &*text(one))).collect()
}

fn phases(span: &Span) -> Vec<&str> {
    span.events.iter().map(|event| event.name.as_str()).collect()
}

/// Submits a script, with this `_meta`; its id.
async fn script(client: &McpClient, meta: Value) -> String {
    let arguments =
        json!({"action": "execute_js", "script": "secret()", "tab_id": 7, "wait_ms": 0});
    let params = json!({"name": "interact", "arguments": arguments, "_meta": meta});
    let answer = client.rpc("tools/call", params).await.json();
    answer["result"]["structuredContent"]["correlation_id"].as_str().unwrap().to_owned()
}

fn in_trace(flags: &str) -> Value {
    json!({"traceparent": format!("00-{TRACE}-{PARENT}-{flags}"), "tracestate": "vendor=1"})
}

async fn complete(extension: &mut FakeExtension) -> Value {
    let result = json!({"success": true, "value": "private words", "type": "string"});
    extension.run(&result).await.command
}

/// How many spans became this.
async fn counted(daemon: &TestDaemon, fate: &str) -> u64 {
    let text = finish(cli_of(daemon, &["metrics"])).await.stdout;
    let series = format!("tabwire_spans_total{{fate=\"{fate}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&series));
    line.map_or(0, |number| number.parse().unwrap())
}

#[tokio::test]
async fn a_command_is_a_span_with_its_phases_below_the_span_of_its_call() {
    let collector = Collector::start().await;
    let daemon = collector.daemon().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let id = script(&client, in_trace("01")).await;
    let command = complete(&mut extension).await;
    let span = collector.spans(1).await.remove(0);
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), PARENT.into()));
    assert_eq!(span.trace_state, "vendor=1");
    // The extension's work is within the command's span.
    let within = format!("00-{TRACE}-{}-01", hex(&span.span_id));
    assert_eq!(command["traceparent"], within);
    assert_eq!(command["tracestate"], "vendor=1");
    assert_eq!((span.name.as_str(), span.kind), ("execute_js", 2));
    assert_eq!(phases(&span), ["queued", "delivered", "claimed", "started", "done"]);
    let (first, last) = (&span.events[0], &span.events[4]);
    assert_eq!(span.start_time_unix_nano, first.time_unix_nano);
    assert_eq!(span.end_time_unix_nano, last.time_unix_nano);
    assert!(first.time_unix_nano < last.time_unix_nano);
    assert!(span.status.is_none(), "{span:?}");
    let attributes = attributes(&span.attributes);
    assert_eq!(attributes["tabwire.action"], "execute_js");
    assert_eq!(attributes["tabwire.end"], "complete");
    assert_eq!(attributes["tabwire.transport"], "web_socket");
    assert_eq!(attributes["tabwire.correlation_id"], id);
    assert!(attributes.contains_key("tabwire.browser"), "{attributes:?}");
    let all = format!("{span:?}");
    for private in ["secret()", "private words", "tab-7.test", "Tab 7"] {
        assert!(!all.contains(private), "{private}: {all}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn without_a_parent_that_is_recorded_a_span_is_the_root_of_a_trace_of_its_own() {
    let collector = Collector::start().await;
    let daemon = collector.daemon().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    for meta in [json!({}), in_trace("00"), json!({"traceparent": "00-zz"})] {
        let unsampled = meta["traceparent"].as_str().filter(|text| text.ends_with("-00"));
        let unsampled = unsampled.map(str::to_owned);
        script(&client, meta).await;
        let command = complete(&mut extension).await;
        // Nobody records a span of this trace here, so it is handed on as it came.
        assert_eq!(command.get("traceparent").and_then(Value::as_str), unsampled.as_deref());
    }
    let spans = collector.spans(3).await;
    for span in &spans {
        assert!(span.parent_span_id.is_empty() && span.trace_state.is_empty(), "{span:?}");
        assert_ne!(hex(&span.trace_id), TRACE);
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
    }
    assert_ne!(spans[0].trace_id, spans[1].trace_id);
    daemon.stop().await;
}

#[tokio::test]
async fn a_failure_is_told_by_its_code_and_a_cancel_is_none() {
    let collector = Collector::start().await;
    let daemon = collector.daemon().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    for code in ["script_threw", "Anything that an extension Makes Up"] {
        script(&client, json!({})).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        let error = json!({"code": code, "message": "private words"});
        extension.report(&command, "error", json!({"error": error})).await;
    }
    let id = client.script("1", 8).await;
    client.cancel(&id).await;
    let spans = collector.spans(3).await;
    let status = |at: usize| spans[at].status.clone().map(|status| (status.code, status.message));
    assert_eq!(status(0), Some((2, "script_threw".to_owned())));
    assert_eq!(attributes(&spans[0].attributes)["error.type"], "script_threw");
    assert_eq!(status(1), Some((2, String::new())));
    assert_eq!(attributes(&spans[1].attributes).get("error.type"), None);
    assert_eq!(status(2), None);
    assert_eq!(attributes(&spans[2].attributes)["tabwire.end"], "cancelled");
    assert!(!format!("{spans:?}").contains("private words"));
    daemon.stop().await;
}

#[tokio::test]
async fn the_end_of_a_daemon_sends_the_spans_that_wait() {
    let collector = Collector::start().await;
    let daemon = collector.daemon().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    script(&McpClient::modern(&daemon), json!({})).await;
    complete(&mut extension).await;
    extension.so_far().await;
    daemon.stop().await;
    collector.spans(1).await;
    let taken = collector.taken.lock().unwrap();
    let resource = attributes(&taken.resources);
    assert_eq!(resource["service.name"], "tabwire");
    assert!(!resource["service.instance.id"].is_empty());
}

#[tokio::test]
async fn a_collector_that_is_busy_gets_the_spans_again_and_one_that_refuses_them_does_not() {
    let busy = StatusCode::SERVICE_UNAVAILABLE;
    let collector = Collector::answering(&[busy, StatusCode::BAD_REQUEST]).await;
    let daemon = collector.daemon().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    script(&client, json!({})).await;
    complete(&mut extension).await;
    let is_refused = async || counted(&daemon, "failed").await == 1;
    soon("the refusal", until(is_refused)).await;
    assert_eq!(collector.taken.lock().unwrap().requests, 2);
    script(&client, json!({})).await;
    complete(&mut extension).await;
    collector.spans(1).await;
    let is_counted = async || counted(&daemon, "exported").await == 1;
    soon("the count", until(is_counted)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_collector_that_never_answers_holds_up_neither_commands_nor_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = daemon_for(listener.local_addr().unwrap().port()).await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let id = script(&client, json!({})).await;
    complete(&mut extension).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
    let (_connection, _) = soon("a request", listener.accept()).await.unwrap();
    let id = script(&client, json!({})).await;
    complete(&mut extension).await;
    assert_eq!(client.outcome(&id).await["status"], "complete");
    // It checks the time.
    daemon.stop().await;
}

#[tokio::test]
async fn nothing_is_sent_unless_the_flag_names_a_collector() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let place = ProgramSandbox::new();
    let mut command = place.command(&["serve", "--json"]);
    // Agents set it for their own spans, and their daemon inherits it.
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &address);
    let served = place.serve_by(command).await;
    let token = place.home().auth().token(&DEFAULT_OWNER.into());
    let client = McpClient::at(place.daemon().unwrap().port, token);
    let id = client.script("1", 7).await;
    client.cancel(&id).await;
    served.stop().await;
    let asked = tokio::time::timeout(std::time::Duration::ZERO, listener.accept()).await;
    assert!(asked.is_err(), "somebody has connected");
}
