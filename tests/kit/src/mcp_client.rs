//! An MCP client over HTTP, in both eras.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tabwire::protocol::{OwnerKind, RunClock, Timestamp};
use tabwire::tools::ToolSurface;

use super::contents::{body, check_contents, in_full};
use super::published::check_answer;
use super::{EventStream, TestDaemon, bearer, soon};

/// The version of MCP that clients of the earlier era speak.
pub const LEGACY: &str = "2025-11-25";

/// The version of MCP that clients of the present era speak.
pub const MODERN: &str = "2026-07-28";

/// The names of the tools, in the order in which they are listed.
pub const TOOLS: [&str; 5] = ["interact", "observe", "analyze", "configure", "wksm_monitor_sync"];

/// The names of the tools where each action is one, of the core.
pub fn split_tools() -> Vec<&'static str> {
    static LIST: LazyLock<Value> =
        LazyLock::new(|| ToolSurface::parse("split").unwrap().list().into_owned());
    LIST.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// An MCP client. What it asserts of every answer is what the protocol asks for.
pub struct McpClient {
    http: Client<HttpConnector, Full<Bytes>>,
    url: String,
    token: String,
    name: Option<String>,
    is_modern: bool,
    has_tasks: bool,
    has_views: bool,
    /// Whether what it calls are the program's own tools, whose answers are published.
    calls_published: bool,
    /// Until when the daemon has to have its calls.
    before: Option<String>,
    ids: AtomicI64,
}

/// An HTTP answer.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl HttpAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("no JSON ({error}): {}", String::from_utf8_lossy(&self.body))
        })
    }

    /// The JSON-RPC error's code, if it is one.
    pub fn error_code(&self) -> Option<i64> {
        self.json()["error"]["code"].as_i64()
    }
}

/// What every request of 2026-07-28 carries.
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
    })
}

/// The same of a client that declares the extension for tasks.
pub fn tasks_meta() -> Value {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    meta
}

/// What a client declares that shows views.
pub fn views_extension() -> Value {
    json!({"mimeTypes": ["text/html;profile=mcp-app"]})
}

impl McpClient {
    /// One of the era up to 2025-11-25.
    pub fn legacy(daemon: &TestDaemon) -> Self {
        Self::new(daemon.port(), daemon.token(), false)
    }

    /// One of the era up to 2025-11-25, of an owner whose programs are on another machine, which is added.
    /// Its calls are in time for an hour.
    pub async fn far(daemon: &TestDaemon, owner: &str) -> Self {
        let since = Timestamp::from_unix_micros(0);
        // A second client has the same one.
        let _ = daemon.home().owners().add(owner, None, OwnerKind::Far, since);
        Self::elsewhere(daemon, owner).await
    }

    /// The same of an agent of a tenant, `AGENT@TENANT`, as its home has it listed.
    pub async fn agent(daemon: &TestDaemon, owner: &str) -> Self {
        let since = Timestamp::from_unix_micros(0);
        daemon.home().owners().owner_of_agent(owner, "qa-17", since, || true).unwrap();
        Self::elsewhere(daemon, owner).await
    }

    /// A client of a listed owner whose calls say by when they must have come.
    async fn elsewhere(daemon: &TestDaemon, owner: &str) -> Self {
        let client = Self::legacy(daemon).with_token(daemon.token_of(owner)).of_any_tools();
        let request = Request::post(&client.url).header("content-type", "application/json");
        let told = client.send(request, "application/json", &[], b"{}".to_vec()).await;
        let clock = told.headers()["x-tabwire-clock"].to_str().unwrap();
        let mut by: RunClock = clock.parse().unwrap();
        by.elapsed += Duration::from_secs(3_600);
        Self { before: Some(by.to_string()), ..client }
    }

    /// One of 2026-07-28.
    pub fn modern(daemon: &TestDaemon) -> Self {
        Self::new(daemon.port(), daemon.token(), true)
    }

    /// One of 2026-07-28, of a daemon of which only the port and the token are known.
    pub fn at(port: u16, token: String) -> Self {
        Self::new(port, token, true)
    }

    fn new(port: u16, token: String, is_modern: bool) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            http: Client::builder(TokioExecutor::new()).build(connector),
            url: format!("http://127.0.0.1:{port}/mcp"),
            token,
            name: None,
            is_modern,
            has_tasks: false,
            has_views: false,
            calls_published: true,
            before: None,
            ids: AtomicI64::new(0),
        }
    }

    /// Names itself.
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Declares the extension for tasks.
    pub fn with_tasks(self) -> Self {
        Self { has_tasks: true, ..self }
    }

    /// Declares the extension for views. A legacy client has to say so with `initialize` as well.
    pub fn with_views(self) -> Self {
        Self { has_views: true, ..self }
    }

    /// The same client, as one of 2026-07-28 that declares the extension for tasks.
    pub fn as_one_with_tasks(&self) -> Self {
        let (url, token) = (self.url.clone(), self.token.clone());
        let (http, name, ids) = (self.http.clone(), self.name.clone(), AtomicI64::new(0));
        Self {
            http,
            url,
            token,
            name,
            is_modern: true,
            has_tasks: true,
            has_views: self.has_views,
            calls_published: self.calls_published,
            before: self.before.clone(),
            ids,
        }
    }

    /// Calls tools that are not the program's own, too.
    pub fn of_any_tools(self) -> Self {
        Self { calls_published: false, ..self }
    }

    /// Calls with another token.
    pub fn with_token(self, token: String) -> Self {
        Self { token, ..self }
    }

    /// Sends a body with these headers besides the token and the content type.
    pub async fn post(&self, headers: &[(&str, &str)], body: Vec<u8>) -> HttpAnswer {
        let accept = "application/json, text/event-stream";
        let request = Request::post(&self.url).header("content-type", "application/json");
        let asked = serde_json::from_slice(&body).unwrap_or_default();
        let response = self.send(request, accept, headers, body).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        if self.calls_published {
            check_answer(&asked, &serde_json::from_slice(&body).unwrap_or_default());
        }
        HttpAnswer { status: head.status, headers: head.headers, body }
    }

    async fn send(
        &self,
        mut request: hyper::http::request::Builder,
        accept: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Response<Incoming> {
        request = request.header("accept", accept).header("authorization", bearer(&self.token));
        if let Some(name) = &self.name {
            request = request.header("x-tabwire-client", name);
        }
        if let Some(before) = &self.before {
            request = request.header("x-tabwire-before", before);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        self.http.request(request).await.unwrap()
    }

    /// Calls a tool, with what the request's `_meta` is to say; its answer as it comes.
    pub async fn stream(
        &self,
        (tool, arguments): (&str, Value),
        meta: Value,
        accept: &str,
        more: &[(&str, &str)],
    ) -> EventStream {
        let params = json!({"name": tool, "arguments": in_full(tool, arguments), "_meta": meta});
        let (headers, message) = self.message(&json!("streamed"), "tools/call", params);
        let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<_> = headers.chain(more.iter().copied()).collect();
        let request = Request::post(&self.url).header("content-type", "application/json");
        let body = message.to_string().into_bytes();
        let response = soon("a head", self.send(request, accept, &headers, body)).await;
        EventStream::answering(message, response)
    }

    /// Opens a subscription; its answer as it comes.
    pub async fn subscribe(&self, id: &Value, notifications: Value) -> EventStream {
        let params = json!({"notifications": notifications});
        let (headers, message) = self.message(id, "subscriptions/listen", params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = Request::post(&self.url).header("content-type", "application/json");
        let accept = "application/json, text/event-stream";
        let body = message.to_string().into_bytes();
        EventStream::of(soon("a head", self.send(request, accept, &headers, body)).await)
    }

    /// Opens the stream of what no call carries.
    pub async fn listen(&self, accept: &str, headers: &[(&str, &str)]) -> EventStream {
        let request = Request::get(&self.url);
        EventStream::of(soon("a head", self.send(request, accept, headers, Vec::new())).await)
    }

    /// Sends a request of this client's era, with an id of its own.
    pub async fn rpc(&self, method: &str, params: Value) -> HttpAnswer {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (headers, message) = self.message(&id.into(), method, params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = self.post(&headers, message.to_string().into_bytes()).await;
        let json = answer.json();
        assert_eq!(json["jsonrpc"], "2.0", "{json}");
        assert_eq!(json["id"], id, "{json}");
        answer
    }

    /// A request of this client's era, with its headers.
    pub fn message(
        &self,
        id: &Value,
        method: &str,
        mut params: Value,
    ) -> (Vec<(&'static str, String)>, Value) {
        let mut headers = vec![("mcp-protocol-version", LEGACY.to_owned())];
        if self.is_modern {
            headers = vec![
                ("mcp-protocol-version", MODERN.to_owned()),
                ("mcp-method", method.to_owned()),
            ];
            let named_by = ["name", "taskId", "uri"];
            if let Some(name) = named_by.iter().find_map(|field| params[field].as_str()) {
                headers.push(("mcp-name", name.to_owned()));
            }
            let mut meta = if self.has_tasks { tasks_meta() } else { modern_meta() };
            if self.has_views {
                let capabilities = &mut meta["io.modelcontextprotocol/clientCapabilities"];
                capabilities["extensions"]["io.modelcontextprotocol/ui"] = views_extension();
            }
            let Value::Object(modern) = meta else { unreachable!("it is an object") };
            if params["_meta"].is_null() {
                params["_meta"] = json!({});
            }
            params["_meta"].as_object_mut().unwrap().extend(modern);
        }
        (headers, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Calls a tool; the whole result.
    pub async fn call_raw(&self, tool: &str, arguments: Value) -> Value {
        let arguments = in_full(tool, arguments);
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.rpc("tools/call", params).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.headers["content-type"], "application/json");
        let result = answer.json()["result"].clone();
        check_contents(&arguments, &result);
        assert_eq!(result.get("resultType").is_some(), self.is_modern, "{result}");
        assert_eq!(result.get("_meta").is_some(), self.is_modern, "{result}");
        result
    }

    /// Calls a tool and expects that it works.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call_raw(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        body(&result)
    }

    /// Calls a tool and expects that it fails, with a word, a sentence and a next step.
    pub async fn call_fails(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call_raw(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let body = body(&result);
        for field in ["error", "message", "hint"] {
            let text = body[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "a failure has `{field}`: {body}");
        }
        body
    }

    /// Submits a command; its correlation id.
    pub async fn submit(&self, arguments: Value) -> String {
        let answer = self.call("interact", arguments).await;
        assert_eq!(answer["status"], "queued", "{answer}");
        answer["correlation_id"].as_str().unwrap().to_owned()
    }

    /// Submits a script for a tab; its correlation id.
    pub async fn script(&self, script: &str, tab: i64) -> String {
        self.submit(json!({"action": "execute_js", "script": script, "tab_id": tab})).await
    }

    /// What is known of a command, with the time of every phase.
    pub async fn status(&self, id: &str) -> Value {
        let what =
            json!({"what": "command_result", "correlation_id": id, "trace": true, "wait_ms": 0});
        self.call("observe", what).await
    }

    /// Waits until a command is over; what is known of it.
    pub async fn outcome(&self, id: &str) -> Value {
        let what = json!({
            "what": "command_result", "correlation_id": id, "wait_ms": 8_000, "trace": true
        });
        let outcome = soon("an outcome", self.call("observe", what)).await;
        assert_ne!(outcome["status"], "pending", "{outcome}");
        outcome
    }

    /// Cancels a command; what is known of it then.
    pub async fn cancel(&self, id: &str) -> Value {
        self.call("configure", json!({"action": "cancel", "correlation_id": id})).await
    }
}

/// The phases of a trace.
pub fn phases(report: &Value) -> Vec<String> {
    let entries = report["trace"].as_array().expect("a trace was asked for");
    entries.iter().map(|entry| entry["phase"].as_str().unwrap().to_owned()).collect()
}
