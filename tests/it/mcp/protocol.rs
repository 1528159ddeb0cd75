//! MCP over HTTP in both eras, and what is said to whoever gets it wrong.

use hyper::StatusCode;
use serde_json::{Value, json};

use testkit::{ExtensionBuilder, HttpAnswer, McpClient, TestDaemon, modern_meta, raw};

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Posts a message with these headers.
async fn post(client: &McpClient, headers: &[(&str, &str)], message: &Value) -> HttpAnswer {
    client.post(headers, message.to_string().into_bytes()).await
}

fn assert_error(answer: &HttpAnswer, status: u16, code: i64, what: &str) {
    let body = answer.json();
    assert_eq!(
        (answer.status.as_u16(), answer.error_code()),
        (status, Some(code)),
        "{what}: {body}"
    );
    assert_eq!(body["jsonrpc"], "2.0", "{what}");
    assert!(body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{what}");
    assert!(body.get("result").is_none(), "{what}");
}

#[tokio::test]
async fn initialize_agrees_on_a_version_that_both_know() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    for (asked, answered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let params = json!({
            "protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        // Clients send the first request without a version header, or with one.
        for headers in [&[][..], &[("mcp-protocol-version", "2025-11-25")]] {
            let answer = post(&client, headers, &message).await;
            assert_eq!(answer.status, StatusCode::OK, "{asked}");
            let result = &answer.json()["result"];
            assert_eq!(result["protocolVersion"], answered, "{asked}");
            assert_eq!(result["capabilities"], json!({"tools": {"listChanged": false}}));
            assert_eq!(result["serverInfo"]["name"], "tabwire");
            assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
            assert!(result["instructions"].as_str().is_some_and(|text| text.contains("interact")));
            for modern in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                assert!(result.get(modern).is_none(), "{modern}: {result}");
            }
        }
    }
}

#[tokio::test]
async fn discover_says_what_is_spoken_here() {
    let daemon = TestDaemon::start().await;
    let answer = McpClient::modern(&daemon).rpc("server/discover", json!({})).await;
    assert_eq!(answer.status, StatusCode::OK);
    let result = &answer.json()["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(
        result["capabilities"],
        json!({"tools": {"listChanged": false}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
    );
    assert!(result["ttlMs"].is_u64(), "{result}");
    assert_eq!(result["cacheScope"], "private");
    assert_eq!(result["_meta"][META_SERVER]["name"], "tabwire");
    assert!(result.get("serverInfo").is_none(), "only in _meta: {result}");
}

#[tokio::test]
async fn the_list_of_tools_is_the_same_in_both_eras_small_and_in_a_fixed_order() {
    let daemon = TestDaemon::start().await;
    let modern = McpClient::modern(&daemon).rpc("tools/list", json!({})).await.json();
    let legacy = McpClient::legacy(&daemon).rpc("tools/list", json!({})).await.json();
    let (modern, legacy) = (&modern["result"], &legacy["result"]);
    assert_eq!(legacy.as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
    assert_eq!(modern["tools"], legacy["tools"]);
    assert_eq!(modern["resultType"], "complete");
    assert_eq!(modern["cacheScope"], "private");
    assert!(modern["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), "clients need not ask again");
    assert!(modern["_meta"][META_SERVER].is_object());
    let tools = legacy["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["interact", "observe", "analyze", "configure", "wksm_monitor_sync"]);
    let length = modern.to_string().len();
    // Some of the 12 KB that a list may have stay free for more actions.
    assert!(length <= 12 * 1024 * 95 / 100, "{length} bytes");
}

/// What clients stumble over in a schema, by where it is.
fn stumbling_blocks(schema: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some(object) = schema.as_object() else {
        return vec![format!("{at} is no object: {schema}")];
    };
    for word in ["oneOf", "anyOf", "allOf", "if", "$ref", "not"] {
        if object.contains_key(word) {
            found.push(format!("{at} has {word}"));
        }
    }
    if object.get("format").is_some_and(|format| format.to_string().contains("int")) {
        found.push(format!("{at} has a format of Rust's"));
    }
    for (name, property) in
        object.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        found.extend(stumbling_blocks(property, &format!("{at}.{name}")));
    }
    found
}

#[tokio::test]
async fn every_tools_schema_is_one_flat_object_that_all_clients_can_read() {
    let daemon = TestDaemon::start().await;
    let list = McpClient::legacy(&daemon).rpc("tools/list", json!({})).await.json();
    for tool in list["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        for text in ["title", "description"] {
            assert!(tool[text].as_str().is_some_and(|text| !text.is_empty()), "{name}: {text}");
        }
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(stumbling_blocks(schema, name), Vec::<String>::new());
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}");
        for (parameter, schema) in schema["properties"].as_object().unwrap() {
            // One type, or any at all.
            let takes_any = ["data", "snapshot"].contains(&parameter.as_str());
            let any = schema.get("type").is_none() && takes_any;
            assert!(schema["type"].is_string() || any, "{name}.{parameter}: {schema}");
            assert!(schema["description"].is_string(), "{name}.{parameter}: {schema}");
        }
        let is_async = ["interact", "analyze", "wksm_monitor_sync"].contains(&name);
        assert_eq!(tool["async"] == true, is_async, "{name}");
        assert_eq!(tool["_meta"]["tabwire/async"] == true, is_async, "{name}");
    }
    let bad = json!({"properties": {"a": true, "b": {"oneOf": []}, "c": {"format": "uint64"}}});
    assert_eq!(stumbling_blocks(&bad, "bad").len(), 3, "the check itself finds what is wrong");
}

#[tokio::test]
async fn legacy_requests_need_no_header_and_no_params() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    for id in [json!(0), json!(7), json!("a-1"), json!("")] {
        let list = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        let answer = post(&client, &[], &list).await;
        assert_eq!(answer.json()["id"], id);
        assert!(answer.json()["result"]["tools"].is_array());
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let answer = post(&client, &[], &ping).await;
        assert_eq!(answer.json(), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let answer = post(&client, &[("mcp-protocol-version", version)], &ping).await;
        assert_eq!(answer.status, StatusCode::OK, "{version}");
    }
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_refused_with_those_that_are() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let list = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"});
    let answer = post(&client, &[("mcp-protocol-version", "1999-01-01")], &list).await;
    assert_error(&answer, 400, -32022, "an unknown header");
    let data = &answer.json()["error"]["data"];
    assert_eq!(data["requested"], "1999-01-01");
    assert!(data["supported"].as_array().unwrap().contains(&json!("2025-11-25")), "{data}");
    assert_eq!(answer.json()["id"], 5);

    for requested in ["v999.0.0", "2025-11-25"] {
        let mut meta = modern_meta();
        meta[META_VERSION] = requested.into();
        let discover = json!({
            "jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}
        });
        let headers = [("mcp-protocol-version", requested), ("mcp-method", "server/discover")];
        let answer = post(&client, &headers, &discover).await;
        assert_error(&answer, 400, -32022, requested);
        let expected = json!({"supported": ["2026-07-28"], "requested": requested});
        assert_eq!(answer.json()["error"]["data"], expected);
        assert_eq!(answer.json()["id"], 0);
    }
}

/// A request of 2026-07-28 after a change, with headers after a change.
struct Modern {
    headers: Vec<(&'static str, String)>,
    message: Value,
}

impl Modern {
    fn of(client: &McpClient, method: &str, params: Value) -> Self {
        let (headers, message) = client.message(&json!(3), method, params);
        Self { headers, message }
    }

    fn call(client: &McpClient) -> Self {
        let params = json!({"name": "configure", "arguments": {"action": "health"}});
        Self::of(client, "tools/call", params)
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }

    fn twice(mut self, name: &'static str) -> Self {
        let again = self.headers.iter().find(|(known, _)| *known == name).cloned().unwrap();
        self.headers.push(again);
        self
    }

    fn meta(mut self, key: &str, value: Value) -> Self {
        self.message["params"]["_meta"][key] = value;
        self
    }

    fn without_meta(mut self, key: &str) -> Self {
        self.message["params"]["_meta"].as_object_mut().unwrap().shift_remove(key);
        self
    }

    async fn send(&self, client: &McpClient) -> HttpAnswer {
        let headers: Vec<_> = self.headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let answer = post(client, &headers, &self.message).await;
        assert_eq!(answer.json()["id"], self.message["id"], "the id comes back");
        answer
    }
}

#[tokio::test]
async fn a_modern_request_says_its_version_and_what_its_client_can_do() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let list = || Modern::of(&client, "tools/list", json!({}));
    let mut no_meta = list();
    no_meta.message["params"] = json!({});
    let mut no_params = list();
    no_params.message.as_object_mut().unwrap().shift_remove("params");
    let mut null_meta = list();
    null_meta.message["params"]["_meta"] = Value::Null;
    let cases = [
        ("no _meta", no_meta, [META_VERSION, META_CAPABILITIES].as_slice()),
        ("no params", no_params, &[META_VERSION, META_CAPABILITIES]),
        ("_meta is null", null_meta, &[META_VERSION, META_CAPABILITIES]),
        ("no version", list().without_meta(META_VERSION), &[META_VERSION]),
        ("no capabilities", list().without_meta(META_CAPABILITIES), &[META_CAPABILITIES]),
        ("the version is a number", list().meta(META_VERSION, json!(1)), &[META_VERSION]),
        (
            "the capabilities are a list",
            list().meta(META_CAPABILITIES, json!([])),
            &[META_CAPABILITIES],
        ),
    ];
    for (what, request, missing) in cases {
        let answer = request.send(&client).await;
        assert_error(&answer, 400, -32602, what);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(missing.iter().all(|key| message.contains(key)), "{what}: {message}");
    }
    let no_client_info = list().without_meta("io.modelcontextprotocol/clientInfo");
    let answer = no_client_info.meta("progressToken", json!(3)).send(&client).await;
    assert!(answer.json()["result"]["tools"].is_array(), "clientInfo is optional");
}

#[tokio::test]
async fn a_modern_requests_headers_must_say_what_its_body_says() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let call = || Modern::call(&client);
    let (version, method, name) = ("mcp-protocol-version", "mcp-method", "mcp-name");
    let wrong = [
        ("another version", call().header(version, "2025-11-25")),
        ("an unknown version", call().header(version, "1999-01-01")),
        ("no version", call().without(version)),
        ("two versions", call().twice(version)),
        ("another method", call().header(method, "prompts/list")),
        ("the method in capitals", call().header(method, "TOOLS/CALL")),
        ("no method", call().without(method)),
        ("two methods", call().twice(method)),
        ("another name", call().header(name, "interact")),
        ("the name in capitals", call().header(name, "Configure")),
        ("no name", call().without(name)),
        ("two names", call().twice(name)),
        ("bad base64", call().header(name, "=?base64?!!!?=")),
        ("base64 of another name", call().header(name, "=?base64?aW50ZXJhY3Q=?=")),
        ("base64 that is no UTF-8", call().header(name, "=?base64?/w==?=")),
        ("base64 without padding", call().header(name, "=?base64?Y29uZmlndXJl=?=")),
        ("only the beginning of base64", call().header(name, "=?base64?Y29uZmlndXJl")),
        // The wrong header counts before the wrong version.
        ("and an unknown version", call().meta(META_VERSION, json!("v9")).header(version, "v8")),
    ];
    for (what, request) in wrong {
        assert_error(&request.send(&client).await, 400, -32020, what);
    }
    let right = [
        ("as it should be", call()),
        ("spaces around the name", call().header(name, "  configure  ")),
        ("the name in base64", call().header(name, "=?base64?Y29uZmlndXJl?=")),
        ("further parameters", call().header("mcp-param-action", "anything")),
    ];
    for (what, request) in right {
        let answer = request.send(&client).await;
        assert_eq!(answer.status, StatusCode::OK, "{what}");
        assert_eq!(answer.json()["result"]["isError"], false, "{what}");
    }
}

#[tokio::test]
async fn header_names_are_the_same_in_any_case() {
    let daemon = TestDaemon::start().await;
    let list = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta()}
    });
    let body = list.to_string();
    let length = format!("Content-Length: {}", body.len());
    let lines = [
        "POST /mcp HTTP/1.1",
        "host: HOST",
        "CONTENT-TYPE: application/json",
        "AUTHORIZATION: Bearer TOKEN",
        "MCP-PROTOCOL-VERSION: 2026-07-28",
        "MCP-METHOD: tools/list",
        &length,
    ];
    let answer = raw(&daemon, &lines, body.as_bytes()).await;
    assert_eq!(answer.status, 200);
    assert!(answer.json()["result"]["tools"].is_array());
}

#[tokio::test]
async fn an_unknown_method_is_404_in_the_modern_era_and_200_in_the_legacy_one() {
    let daemon = TestDaemon::start().await;
    let (modern, legacy) = (McpClient::modern(&daemon), McpClient::legacy(&daemon));
    let unknown = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/list",
        "resources/subscribe",
        "prompts/list",
        "completion/complete",
        "unknown/method",
        "",
    ];
    for method in unknown {
        assert_error(&modern.rpc(method, json!({})).await, 404, -32601, method);
    }
    for method in ["server/discover", "resources/list", "prompts/list", "tools/List", "nothing"] {
        assert_error(&legacy.rpc(method, json!({})).await, 200, -32601, method);
    }
}

#[tokio::test]
async fn wrong_params_of_a_method_are_a_json_rpc_error() {
    let daemon = TestDaemon::start().await;
    for client in [McpClient::modern(&daemon), McpClient::legacy(&daemon)] {
        let cases = [
            ("an unknown tool", "tools/call", json!({"name": "interacts", "arguments": {}})),
            ("no name", "tools/call", json!({"arguments": {}})),
            ("a name that is none", "tools/call", json!({"name": 7})),
            (
                "arguments that are a list",
                "tools/call",
                json!({"name": "observe", "arguments": []}),
            ),
            (
                "arguments that are null",
                "tools/call",
                json!({"name": "observe", "arguments": null}),
            ),
            ("an unknown cursor", "tools/list", json!({"cursor": "page 2"})),
            ("a cursor that is none", "tools/list", json!({"cursor": 2})),
        ];
        for (what, method, params) in cases {
            let answer = client.rpc(method, params).await;
            assert_error(&answer, 200, -32602, what);
            if what == "an unknown tool" {
                let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                assert!(message.contains("interacts"), "{message}");
            }
        }
        // Arguments may be absent; what is wrong then is the tool's to say.
        let absent = client.rpc("tools/call", json!({"name": "observe"})).await.json();
        assert_eq!(absent["result"]["isError"], true, "{absent}");
    }
}

#[tokio::test]
async fn what_is_no_json_rpc_request_is_refused() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let batch = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    let cases: [(&str, &[u8], i64); 16] = [
        ("nothing", b"", -32700),
        ("no JSON", b"hello", -32700),
        ("half a message", br#"{"jsonrpc":"2.0","id":1,"meth"#, -32700),
        ("two messages", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#, -32700),
        ("invalid UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700),
        ("a NUL", b"\0", -32700),
        ("a batch", batch, -32600),
        ("an empty batch", b"[]", -32600),
        ("a number", b"7", -32600),
        ("an empty object", b"{}", -32600),
        ("no version", br#"{"id":1,"method":"ping"}"#, -32600),
        ("another version", br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        ("a method that is none", br#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        ("an id of null", br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        ("an id of 1.5", br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (
            "params that are a list",
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            -32600,
        ),
    ];
    for (what, body, code) in cases {
        let answer = client.post(&[], body.to_vec()).await;
        assert_error(&answer, 400, code, what);
    }
    let deep = "[".repeat(100_000);
    assert_error(&client.post(&[], deep.into_bytes()).await, 400, -32700, "nested too deep");
    // An id that can be read comes back.
    let answer = client.post(&[], br#"{"jsonrpc":"2.0","id":"x"}"#.to_vec()).await;
    assert_eq!(answer.json()["id"], "x");
    assert_eq!(client.rpc("ping", json!({})).await.status, StatusCode::OK, "and it goes on");
}

#[tokio::test]
async fn notifications_and_responses_are_taken_without_an_answer() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let messages = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/unheard-of", "params": {"_meta": modern_meta()}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}),
    ];
    for message in messages {
        for version in ["2025-11-25", "2026-07-28"] {
            let answer = post(&client, &[("mcp-protocol-version", version)], &message).await;
            assert_eq!(answer.status, StatusCode::ACCEPTED, "{message}");
            assert_eq!(answer.body.len(), 0, "{message}");
        }
    }
}

#[tokio::test]
async fn a_notification_of_a_version_that_nobody_speaks_is_refused() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = post(&client, &[("mcp-protocol-version", "v999.0.0")], &message).await;
    assert_error(&answer, 400, -32022, "a notification");
}

#[tokio::test]
async fn a_client_that_accepts_anything_gets_json() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for accept in ["application/json", "text/event-stream", "*/*", "text/html"] {
        let answer = post(&client, &[("accept", accept)], &ping).await;
        assert_eq!(answer.status, StatusCode::OK, "{accept}");
        assert_eq!(answer.headers["content-type"], "application/json", "{accept}");
    }
}

#[tokio::test]
async fn a_call_answers_in_the_form_of_its_era() {
    let daemon = TestDaemon::start().await;
    let arguments = json!({"action": "health"});
    let legacy = McpClient::legacy(&daemon).call_raw("configure", arguments.clone()).await;
    let fields: Vec<_> = legacy.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["content", "structuredContent", "isError"]);
    let modern = McpClient::modern(&daemon).call_raw("configure", arguments).await;
    assert_eq!(modern["resultType"], "complete");
    assert_eq!(modern["_meta"][META_SERVER]["name"], "tabwire");
    let health = &modern["structuredContent"];
    assert_eq!(health["status"], "ok");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    for number in ["uptime_seconds", "pending", "browsers", "clients"] {
        assert!(health[number].is_number(), "{health}");
    }
}

#[tokio::test]
async fn clients_are_told_apart_by_the_name_that_they_give_themselves() {
    let daemon = TestDaemon::start().await;
    McpClient::legacy(&daemon).named("ann").submit(json!({"action": "page_info"})).await;
    let clients = McpClient::modern(&daemon)
        .named("bob")
        .call("configure", json!({"action": "clients"}))
        .await;
    assert_eq!((&clients["you"], &clients["count"]), (&json!("bob"), &json!(2)), "{clients}");
    let ann = clients["clients"].as_array().unwrap().iter().find(|c| c["client"] == "ann").unwrap();
    assert_eq!(ann["pending"], 1);
}

/// Wrong arguments, the parameter that the answer names, and what its hint says.
const WRONG: [(&str, &str, &str, &str); 22] = [
    ("interact", r#"{}"#, "action", "execute_js"),
    ("interact", r#"{"action":7}"#, "action", "execute_js"),
    ("interact", r#"{"action":"execute_jss"}"#, "action", "Did you mean `execute_js`?"),
    ("interact", r#"{"action":"zzzzzz"}"#, "action", "navigate"),
    ("interact", r#"{"action":"execute_js"}"#, "script", "script"),
    ("interact", r#"{"action":"execute_js","scirpt":"1"}"#, "scirpt", "Did you mean `script`?"),
    ("interact", r#"{"action":"execute_js","script":7}"#, "script", "string"),
    ("interact", r#"{"action":"execute_js","script":null}"#, "script", "string"),
    ("interact", r#"{"action":"execute_js","script":"1","url":"x"}"#, "url", "navigate"),
    ("interact", r#"{"action":"page_info","wait_m":5}"#, "wait_m", "wait_ms"),
    ("interact", r#"{"action":"page_info","wait_ms":"5"}"#, "wait_ms", "integer"),
    ("interact", r#"{"action":"page_info","wait_ms":1.5}"#, "wait_ms", "integer"),
    ("interact", r#"{"action":"page_info","wait_ms":55001}"#, "wait_ms", "0 to 55000"),
    ("interact", r#"{"action":"page_info","wait_ms":-1}"#, "wait_ms", "0 to 55000"),
    ("interact", r#"{"action":"page_info","timeout_ms":99999999999999999999}"#, "timeout_ms", ""),
    ("interact", r#"{"action":"screenshot","format":"gif"}"#, "format", ""),
    ("interact", r#"{"action":"screenshot","format":"pngg"}"#, "format", "Did you mean `png`?"),
    ("interact", r#"{"action":"page_info","idempotency_key":7}"#, "idempotency_key", "string"),
    ("interact", r#"{"action":"page_info","idempotency_key":""}"#, "idempotency_key", "random"),
    ("interact", r#"{"action":"page_info","idempotency_key":"a b"}"#, "idempotency_key", "random"),
    ("observe", r#"{"what":"command_results"}"#, "what", "Did you mean `command_result`?"),
    ("configure", r#"{"action":"cancel"}"#, "correlation_id", "correlation_id"),
];

#[tokio::test]
async fn wrong_arguments_are_named_with_the_next_step_and_nothing_is_done() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for client in [McpClient::modern(&daemon), McpClient::legacy(&daemon)] {
        for (tool, arguments, param, hint) in WRONG {
            let body = client.call_fails(tool, serde_json::from_str(arguments).unwrap()).await;
            assert_eq!(body["param"], param, "{arguments}: {body}");
            let said = body["hint"].as_str().unwrap();
            assert!(said.contains(hint), "{arguments}: {said}");
            assert!(body.get("expected").is_some(), "{arguments}: {body}");
        }
    }
    extension.expect_nothing().await;
    let whole = json!({"action": "page_info", "timeout_ms": 5000.0});
    McpClient::legacy(&daemon).submit(whole).await;
    assert_eq!(extension.command().await.command["timeout_ms"], 5_000, "5000.0 is a whole number");
}

#[tokio::test]
async fn a_script_of_two_megabytes_is_refused_and_the_daemon_works_on() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let params = json!({
        "name": "interact",
        "arguments": {"action": "execute_js", "script": "x".repeat(2 * 1024 * 1024)},
    });
    let request = Modern::of(&client, "tools/call", params);
    let headers: Vec<_> = request.headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let answer = post(&client, &headers, &request.message).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.json()["error"], "too_large");
    assert!(answer.json()["message"].as_str().unwrap().contains("1048576"), "how much is taken");
    assert_eq!(client.call("configure", json!({"action": "health"})).await["pending"], 0);
    client.submit(json!({"action": "execute_js", "script": "1"})).await;
}

#[tokio::test]
async fn calls_beyond_a_minutes_worth_are_refused_and_listed_for_that_client_alone() {
    let daemon = TestDaemon::with(|settings| settings.limits.calls_per_minute = 3).await;
    let client = McpClient::modern(&daemon).named("eager");
    for _ in 0..3 {
        client.call("configure", json!({"action": "health"})).await;
    }
    let refusal = client.call_fails("configure", json!({"action": "health"})).await;
    assert_eq!(refusal["error"], "rate_limited");
    let retry_after = refusal["retry_after_ms"].as_u64().unwrap();
    assert!((1..=20_000).contains(&retry_after), "{retry_after}");
    McpClient::modern(&daemon).named("other").call("configure", json!({"action": "health"})).await;
}

#[tokio::test]
async fn more_waiters_than_a_client_may_have_are_refused() {
    let daemon = TestDaemon::with(|settings| settings.limits.waiters = 1).await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let id = client.script("slow", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let wait = json!({"what": "command_result", "correlation_id": id, "wait_ms": 8_000});
    let one = client.call_raw("observe", wait.clone());
    let other = client.call_raw("observe", wait);
    tokio::pin!(one, other);
    // Whichever comes second is refused at once, while the other waits.
    let refused = tokio::select! {
        refused = &mut one => refused,
        refused = &mut other => {
            // So that the one that is left is `other` either way.
            std::mem::swap(&mut one, &mut other);
            refused
        }
    };
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(refused["structuredContent"]["error"], "too_many_waiters");
    extension.complete(&command, &json!(1)).await;
    assert_eq!(other.await["structuredContent"]["status"], "complete");
}

#[tokio::test]
async fn an_idempotency_key_that_is_none_is_refused_wherever_it_stands() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    let header = "x-tabwire-idempotency-key";
    let params = json!({"name": "interact", "arguments": {"action": "page_info"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let long = "x".repeat(129);
    for headers in
        [&[(header, "")][..], &[(header, "a b")], &[(header, &long)], &[(header, "a"); 2]]
    {
        let answer = post(&client, headers, &call).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{headers:?}");
        assert_eq!(answer.json()["error"], "bad_idempotency_key", "{headers:?}");
    }
    extension.expect_nothing().await;
    let answer = post(&client, &[(header, &long[1..])], &call).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["status"], "queued");
    client.submit(json!({"action": "page_info", "idempotency_key": &long[2..]})).await;
}
