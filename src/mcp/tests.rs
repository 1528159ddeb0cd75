//! JSON-RPC messages and the choice of a generation, without any transport.
#![expect(clippy::needless_pass_by_value, reason = "json! literals read better by value")]

use proptest::option;
use proptest::prelude::any;
use proptest::{prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::*;
use crate::hub::{Caller, HostTask, Hub, RequestContext};
use crate::lifecycle::{CommandOutcome, CommandWork};
use crate::mcp::generation::META_CAPABILITIES;
use crate::protocol::{Job, MonitorSync, ReportedError, garbled};
use crate::tools::ToolSurface;
use crate::tools::{NowOrLater, ToolSet};

fn request(message: Value) -> RpcRequest {
    match IncomingMessage::parse(message.to_string().as_bytes()) {
        Ok(IncomingMessage::Request(request)) => request,
        other => panic!("{message} should be a request, and is {other:?}"),
    }
}

fn list(meta: Value) -> RpcRequest {
    request(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}))
}

fn modern() -> RpcRequest {
    list(json!({META_VERSION: MODERN_VERSION, "io.modelcontextprotocol/clientCapabilities": {}}))
}

fn headers(version: &str, method: &str) -> McpHeaders {
    McpHeaders { version: Some(version.to_owned()), method: Some(method.to_owned()), name: None }
}

fn kind(result: Result<ProtocolGeneration, RpcError>) -> RpcErrorKind {
    result.unwrap_err().kind
}

#[test]
fn ids_are_strings_or_whole_numbers_and_come_back_as_they_were() {
    for id in [json!(0), json!(-3), json!("server-discover-probe-1"), json!("")] {
        let request = request(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        assert_eq!(serde_json::to_value(&request.id).unwrap(), id);
    }
    for id in [json!(null), json!(1.5), json!([1]), json!({}), json!(true)] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
        let (error, known) = IncomingMessage::parse(message.as_bytes()).unwrap_err();
        assert_eq!((error.kind, known), (RpcErrorKind::Shape, None), "{message}");
    }
}

#[test]
fn what_is_not_json_rpc_is_refused_and_its_id_is_told_if_it_could_be_read() {
    let id = Some(RequestId::Number(7));
    for (text, kind, id) in [
        ("", RpcErrorKind::Parse, None),
        ("{", RpcErrorKind::Parse, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\u{0}\"}", RpcErrorKind::Parse, None),
        ("[]", RpcErrorKind::Shape, None),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, RpcErrorKind::Shape, None),
        ("7", RpcErrorKind::Shape, None),
        (r#"{"id":7,"method":"ping"}"#, RpcErrorKind::Shape, id.clone()),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, RpcErrorKind::Shape, id.clone()),
        (r#"{"jsonrpc":"2.0","id":7}"#, RpcErrorKind::Shape, id.clone()),
        (r#"{"jsonrpc":"2.0","id":7,"method":1}"#, RpcErrorKind::Shape, id.clone()),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#, RpcErrorKind::Shape, id),
    ] {
        let (error, known) = IncomingMessage::parse(text.as_bytes()).unwrap_err();
        assert_eq!((error.kind, known), (kind, id), "{text}");
    }
    assert_eq!(IncomingMessage::parse(&[0xff, 0xfe]).unwrap_err().0.kind, RpcErrorKind::Parse);
}

#[test]
fn notifications_and_answers_are_told_from_requests() {
    let parse = |text: &str| IncomingMessage::parse(text.as_bytes()).unwrap();
    let told = |method: &str, params: Value| {
        let params = params.as_object().unwrap().clone();
        IncomingMessage::Notification(RpcNotification { method: method.to_owned(), params })
    };
    let initialized = parse(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(initialized, told("notifications/initialized", json!({})));
    let progress = parse(r#"{"jsonrpc":"2.0","method":"a","params":{"b":1}}"#);
    assert_eq!(progress, told("a", json!({"b": 1})));
    assert_eq!(parse(r#"{"jsonrpc":"2.0","method":"a","params":[1]}"#), told("a", json!({})));
    let reply = |id: Option<&str>, result| {
        IncomingMessage::Response(RpcReply { id: id.map(str::to_owned), result })
    };
    assert_eq!(
        parse(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
        reply(Some("a"), Some(json!({})))
    );
    assert_eq!(parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), reply(None, Some(json!({}))));
    assert_eq!(parse(r#"{"jsonrpc":"2.0","id":"a","error":{}}"#), reply(Some("a"), None));
}

#[test]
fn a_cancel_names_the_request_that_it_is_for() {
    let cancels = |method: &str, params: Value| {
        let params = params.as_object().unwrap().clone();
        RpcNotification { method: method.to_owned(), params }.cancels()
    };
    let id = json!({"requestId": 7, "reason": "enough"});
    assert_eq!(cancels("notifications/cancelled", id.clone()), Some(RequestId::Number(7)));
    let text = json!({"requestId": "7"});
    assert_eq!(cancels("notifications/cancelled", text), Some(RequestId::Text("7".to_owned())));
    assert_eq!(cancels("notifications/progress", id), None);
    for wrong in [json!({}), json!({"requestId": null}), json!({"requestId": [7]})] {
        assert_eq!(cancels("notifications/cancelled", wrong), None);
    }
}

#[test]
fn a_request_says_its_era_in_its_meta_and_over_http_in_its_headers_too() {
    assert_eq!(ProtocolGeneration::of(&modern(), None), Ok(ProtocolGeneration::Modern));
    let right = headers(MODERN_VERSION, "tools/list");
    assert_eq!(ProtocolGeneration::of(&modern(), Some(&right)), Ok(ProtocolGeneration::Modern));
    let legacy = request(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert_eq!(ProtocolGeneration::of(&legacy, None), Ok(ProtocolGeneration::Legacy));
    assert_eq!(
        ProtocolGeneration::of(&legacy, Some(&McpHeaders::default())),
        Ok(ProtocolGeneration::Legacy)
    );
    for version in LEGACY_VERSIONS {
        let headers = headers(version, "whatever");
        assert_eq!(
            ProtocolGeneration::of(&legacy, Some(&headers)),
            Ok(ProtocolGeneration::Legacy),
            "{version}"
        );
    }
    let initialize = request(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"}));
    let headers = headers("1999-01-01", "initialize");
    assert_eq!(ProtocolGeneration::of(&initialize, Some(&headers)), Ok(ProtocolGeneration::Legacy));
}

#[test]
fn headers_that_are_missing_or_say_something_else_are_a_mismatch() {
    for wrong in [
        McpHeaders::default(),
        headers("2025-11-25", "tools/list"),
        headers(MODERN_VERSION, "TOOLS/LIST"),
        headers(MODERN_VERSION, "tools/list,tools/list"),
        McpHeaders { method: None, ..headers(MODERN_VERSION, "") },
    ] {
        assert_eq!(
            kind(ProtocolGeneration::of(&modern(), Some(&wrong))),
            RpcErrorKind::HeaderMismatch,
            "{wrong:?}"
        );
    }
}

/// `tasks/result` and `tasks/list` are of an older draft: that they are gone is what has to
/// be answered, not that a header is missing which nobody knows to send with them.
#[test]
fn only_the_methods_of_tasks_that_there_are_need_the_task_in_a_header() {
    let of = |method: &str| {
        let meta = modern().params["_meta"].clone();
        let params = json!({"_meta": meta, "taskId": "exec_1"});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        ProtocolGeneration::of(&self::request(request), Some(&headers(MODERN_VERSION, method)))
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(kind(of(method)), RpcErrorKind::HeaderMismatch, "{method}");
    }
    for method in ["tasks/result", "tasks/list", "tasks/other"] {
        assert_eq!(of(method), Ok(ProtocolGeneration::Modern), "{method}");
    }
}

#[test]
fn names_travel_in_headers_plainly_or_in_base64() {
    let call = |name: &str| {
        let meta = json!({
            META_VERSION: MODERN_VERSION, "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": name, "_meta": meta});
        request(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    };
    let named = |name: &str| McpHeaders {
        name: Some(name.to_owned()),
        ..headers(MODERN_VERSION, "tools/call")
    };
    for name in ["interact", "größe", " padded ", "=?base64?x?=", "日本"] {
        let header = encode_name(name);
        assert!(header.is_ascii());
        assert_eq!(
            ProtocolGeneration::of(&call(name), Some(&named(&header))),
            Ok(ProtocolGeneration::Modern),
            "{name}"
        );
    }
    assert_eq!(
        ProtocolGeneration::of(&call("interact"), Some(&named("\t interact "))),
        Ok(ProtocolGeneration::Modern)
    );
    for wrong in ["observe", "Interact", "=?base64?aW50ZXJhY3Q?=", "=?base64?!!?=", ""] {
        let generation = ProtocolGeneration::of(&call("interact"), Some(&named(wrong)));
        assert_eq!(kind(generation), RpcErrorKind::HeaderMismatch, "{wrong}");
    }
}

#[test]
fn what_the_meta_lacks_is_named_before_anything_else_is_looked_at() {
    for meta in [
        json!({META_VERSION: MODERN_VERSION}),
        json!({META_VERSION: MODERN_VERSION, "io.modelcontextprotocol/clientCapabilities": 1}),
        json!({META_VERSION: 1, "io.modelcontextprotocol/clientCapabilities": {}}),
    ] {
        let error = ProtocolGeneration::of(&list(meta), Some(&McpHeaders::default())).unwrap_err();
        assert_eq!(error.kind, RpcErrorKind::Envelope);
        assert!(error.message.contains("io.modelcontextprotocol/"), "{}", error.message);
    }
    let bare = request(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let headers = headers(MODERN_VERSION, "tools/list");
    assert_eq!(kind(ProtocolGeneration::of(&bare, Some(&headers))), RpcErrorKind::Envelope);
}

#[test]
fn an_unknown_version_is_told_which_are_known() {
    let meta = json!({
        META_VERSION: "v999.0.0", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = headers("v999.0.0", "tools/list");
    let error = ProtocolGeneration::of(&list(meta), Some(&headers)).unwrap_err();
    assert_eq!(error.kind, RpcErrorKind::Version);
    let data = json!({"supported": [MODERN_VERSION], "requested": "v999.0.0"});
    assert_eq!(error.data.as_deref(), Some(&data));
    let bare = request(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert_eq!(kind(ProtocolGeneration::of(&bare, Some(&headers))), RpcErrorKind::Version);
}

#[test]
fn what_the_daemon_cannot_answer_is_a_failed_call_of_a_tool_and_an_error_of_anything_else() {
    let body = json!({"error": "daemon_lost", "message": "It went away", "hint": "Call again."});
    let failed = |method: &str| -> Value {
        let text = failure(&body, method, &RequestId::Number(1), ProtocolGeneration::Modern);
        serde_json::from_str(&text).unwrap()
    };
    let call = failed("tools/call");
    assert_eq!((&call["result"]["isError"], &call["id"]), (&json!(true), &json!(1)));
    assert_eq!(call["result"]["structuredContent"], body);
    let error = json!({"code": -32000, "message": "It went away", "data": body});
    assert_eq!(failed("tasks/get")["error"], error);
}

#[test]
fn what_needs_no_daemon_is_answered_without_one_and_only_a_call_needs_one() {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}});
    assert!(
        answer_alone(&request(call), ProtocolGeneration::Modern, &ToolSurface::default(), false)
            .is_none()
    );
    for (method, generation) in [
        ("initialize", ProtocolGeneration::Legacy),
        ("ping", ProtocolGeneration::Legacy),
        ("tools/list", ProtocolGeneration::Legacy),
        ("tools/list", ProtocolGeneration::Modern),
        ("server/discover", ProtocolGeneration::Modern),
    ] {
        let request = request(json!({"jsonrpc": "2.0", "id": 1, "method": method}));
        let text =
            answer_alone(&request, generation, &ToolSurface::default(), false).unwrap().unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        let is_modern = answer["result"]["resultType"] == "complete";
        assert_eq!(is_modern, generation == ProtocolGeneration::Modern, "{method}");
    }
    for (method, generation) in [
        ("initialize", ProtocolGeneration::Modern),
        ("ping", ProtocolGeneration::Modern),
        ("server/discover", ProtocolGeneration::Legacy),
        ("prompts/list", ProtocolGeneration::Legacy),
    ] {
        let request = request(json!({"jsonrpc": "2.0", "id": 1, "method": method}));
        let error = answer_alone(&request, generation, &ToolSurface::default(), false)
            .unwrap()
            .unwrap_err();
        assert_eq!(error.kind, RpcErrorKind::Method, "{method}");
    }
}

#[test]
fn a_client_gets_the_version_that_it_asked_for_or_the_newest_of_its_era() {
    for (asked, got) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
        (MODERN_VERSION, "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": asked});
        let initialize =
            request(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        let text =
            answer_alone(&initialize, ProtocolGeneration::Legacy, &ToolSurface::default(), false)
                .unwrap()
                .unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["result"]["protocolVersion"], got, "{asked}");
    }
}

// ── Nearly messages ─────────────────────────────────────────────────────────────────

const MESSAGES: [&str; 5] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"interact","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":-7,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
];

#[test]
fn whatever_is_sent_is_read_as_what_it_says_or_refused_with_a_reason() {
    proptest!(garbled::cases(2_000), |(bytes in garbled::nearly(&MESSAGES))| {
        let says: Option<Value> = serde_json::from_slice(&bytes).ok();
        match (IncomingMessage::parse(&bytes), says) {
            (Ok(IncomingMessage::Request(RpcRequest { id, method, params })), Some(says)) => {
                prop_assert_eq!(serde_json::to_value(id).unwrap(), says["id"].clone());
                prop_assert_eq!(method, says["method"].as_str().unwrap());
                let given = says.get("params").cloned().unwrap_or_else(|| json!({}));
                prop_assert_eq!(Value::Object(params), given);
            }
            (Ok(IncomingMessage::Notification(notification)), Some(says)) => {
                prop_assert_eq!(notification.method, says["method"].as_str().unwrap());
                prop_assert!(says.get("id").is_none());
            }
            (Ok(IncomingMessage::Response(_)), Some(says)) => prop_assert!(says.get("method").is_none()),
            (Ok(_), None) => prop_assert!(false, "it is no JSON"),
            (Err((error, id)), says) => {
                let is_json = error.kind != RpcErrorKind::Parse;
                prop_assert_eq!(is_json, says.is_some());
                let answer: Value = serde_json::from_str(&error.to_json(id.as_ref())).unwrap();
                prop_assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
                let asked = says.map_or(Value::Null, |says| says["id"].clone());
                prop_assert!(answer["id"].is_null() || answer["id"] == asked);
            }
        }
    });
}

#[test]
fn a_request_is_of_the_era_that_it_says_and_its_headers_say_the_same() {
    let versions = LEGACY_VERSIONS.iter().chain([&MODERN_VERSION]).copied().collect::<Vec<_>>();
    let version = option::of(garbled::nearly_text(&versions));
    let method = option::of(garbled::nearly_text(&["tools/call", "initialize"]));
    let name = option::of(garbled::nearly_text(&["interact", "=?base64?aW50ZXJhY3Q=?="]));
    let bodies = garbled::nearly(&MESSAGES);
    proptest!(garbled::cases(2_000), |(bytes in bodies, version in version, method in method, name in name)| {
        let Ok(IncomingMessage::Request(request)) = IncomingMessage::parse(&bytes) else { return Ok(()) };
        let says = request.params.get("_meta").and_then(|meta| meta.get(META_VERSION)).cloned();
        let headers = McpHeaders { version, method, name };
        for headers in [None, Some(&headers)] {
            match ProtocolGeneration::of(&request, headers) {
                Ok(ProtocolGeneration::Legacy) => prop_assert_eq!(says.clone(), None),
                Ok(ProtocolGeneration::Modern) => {
                    prop_assert_eq!(says.clone(), Some(json!(MODERN_VERSION)));
                    if let Some(headers) = headers {
                        prop_assert_eq!(headers.version.as_deref(), Some(MODERN_VERSION));
                        prop_assert_eq!(headers.method.as_deref(), Some(&*request.method));
                    }
                }
                Err(error) => prop_assert!(!error.message.is_empty()),
            }
        }
    });
}

#[test]
fn any_name_goes_through_a_header_and_comes_out_as_it_was() {
    proptest!(garbled::cases(1_000), |(name in any::<String>())| {
        let mut request = modern();
        request.method = "tools/call".to_owned();
        request.params.insert("name".to_owned(), json!(name));
        let written = encode_name(&name);
        prop_assert!(written.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
        let headers = McpHeaders { name: Some(written), ..headers(MODERN_VERSION, "tools/call") };
        prop_assert_eq!(ProtocolGeneration::of(&request, Some(&headers)), Ok(ProtocolGeneration::Modern));
    });
}

#[tokio::test(start_paused = true)]
async fn whether_a_client_wants_to_be_told_of_its_jobs_is_what_its_last_initialize_says() {
    let hub = Hub::start(crate::lifecycle::Limits::default());
    let tools = ToolSet::new(hub.clone(), std::time::Duration::ZERO);
    let caller = |client: &str| Caller { owner: "user".into(), client: client.into() };
    let initialize = async |client: &str, experimental: Value| {
        let params = json!({"capabilities": {"experimental": experimental}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let (calls, request) = (CallRegistry::default(), request(message));
        handle(
            (&tools, None),
            &calls,
            &caller(client),
            request,
            ProtocolGeneration::Legacy,
            RequestContext::default(),
            &ToolSurface::default(),
        )
        .await;
    };
    initialize("a", json!({"tabwire/jobs": {}})).await;
    initialize("b", json!({})).await;
    assert!(hub.wants_jobs(&caller("a")));
    assert!(!hub.wants_jobs(&caller("b")));
    assert_eq!(hub.health().clients, 1, "who asks for nothing is not kept");
    initialize("a", json!({})).await;
    assert!(!hub.wants_jobs(&caller("a")));
}

#[tokio::test(start_paused = true)]
async fn only_a_job_that_the_daemon_broke_off_is_a_failed_task() {
    for (code, expected) in [(ReportedError::BROKE_OFF, "failed"), ("not_found", "completed")] {
        let hub = Hub::start(crate::lifecycle::Limits::default());
        let tools = ToolSet::new(hub.clone(), std::time::Duration::ZERO);
        let caller = Caller { owner: "user".into(), client: "a".into() };
        let job = MonitorSync { path: "/".to_owned(), recursive: None, verify: None };
        let task = HostTask {
            work: CommandWork::Job { job: Job::MonitorSync(job) },
            target: crate::hub::TargetSelector::default(),
            deadline: std::time::Duration::from_secs(60),
            estimate: std::time::Duration::ZERO,
            idempotency_key: None,
            must_name_tab: false,
            trace_context: None,
            record_by: None,
        };
        let id = hub.start_host_task(&caller, task).unwrap().accepted.id;
        assert!(hub.begin_job(&id));
        let error = ReportedError::new(code, "why");
        assert!(hub.finish(&id, CommandOutcome::Error { error: error.into() }));
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let meta = json!({META_VERSION: MODERN_VERSION, META_CAPABILITIES: capabilities});
        let get = request(json!({
            "jsonrpc": "2.0", "id": 1, "method": "tasks/get",
            "params": {"taskId": id, "_meta": meta},
        }));
        let answer = handle(
            (&tools, None),
            &CallRegistry::default(),
            &caller,
            get,
            ProtocolGeneration::Modern,
            RequestContext::default(),
            &ToolSurface::default(),
        )
        .await;
        let NowOrLater::Now(done) = answer.outcome else { panic!("not at once") };
        let task = serde_json::from_str::<Value>(&done.text).unwrap()["result"].clone();
        assert_eq!(task["status"], expected, "{task}");
        assert_eq!(task.get("result").is_some(), expected == "completed", "{task}");
        let error = json!({"code": -32_603, "message": "why"});
        assert_eq!(task.get("error"), (expected == "failed").then_some(&error), "{task}");
        assert_eq!(done.hands_over, Some(id), "it was read");
    }
}
