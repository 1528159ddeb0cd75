//! An agent that cancels, in each way that there is.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testkit::{StdioClient, authorized};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

/// How an agent cancels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ById,
    Notification,
    Closed,
    Task,
    Stdio,
}

pub(crate) const WAYS: [(Way, &str); 5] = [
    (Way::ById, "configure cancel"),
    (Way::Notification, "notifications/cancelled, HTTP"),
    (Way::Closed, "closed response stream"),
    (Way::Task, "tasks/cancel"),
    (Way::Stdio, "notifications/cancelled, stdio"),
];

/// A command that runs, and what its agent holds of it.
pub(crate) enum Running {
    /// Its id.
    Known(String),
    /// The call that waits for it, under this id.
    Called(TcpStream, u64),
    /// The bridge has that call, under this id.
    Bridged(u64),
}

/// An agent over HTTP, and one over a bridge.
pub(crate) struct Agent {
    port: u16,
    token: String,
    bridge: StdioClient,
    /// Of the last request: two under one id could not be told apart.
    id: u64,
}

impl Agent {
    pub(crate) async fn start(port: u16, token: String, home: &Path) -> anyhow::Result<Self> {
        Ok(Self { port, token, bridge: start_bridge(home, port).await, id: 0 })
    }

    /// Calls `interact`, as an agent does that will cancel in this way.
    pub(crate) async fn begin(&mut self, way: Way, arguments: &Value) -> anyhow::Result<Running> {
        let mut waiting = arguments.clone();
        waiting["wait_ms"] = 20_000.into();
        Ok(match way {
            Way::ById => {
                let answer = self.call("interact", arguments).await?;
                let id = answer["structuredContent"]["correlation_id"].as_str();
                Running::Known(id.with_context(|| format!("no id: {answer}"))?.to_owned())
            }
            Way::Notification => {
                let stream =
                    self.ask(Era::Legacy, "tools/call", &tool("interact", &waiting)).await?;
                Running::Called(stream, self.id)
            }
            Way::Closed => {
                let stream =
                    self.ask(Era::Modern, "tools/call", &tool("interact", &waiting)).await?;
                Running::Called(stream, self.id)
            }
            Way::Task => {
                let call = tool("interact", &waiting);
                let stream = self.ask(Era::Modern, "tools/call", &with_tasks(call)).await?;
                let task = answer(stream).await?;
                let id = task["result"]["taskId"].as_str();
                Running::Known(id.with_context(|| format!("no task: {task}"))?.to_owned())
            }
            Way::Stdio => {
                self.id += 1;
                let (id, params) = (self.id, tool("interact", &waiting));
                let call =
                    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
                self.bridge.send(&call).await;
                Running::Bridged(id)
            }
        })
    }

    /// Cancels. What is returned is held until the page has been told.
    pub(crate) async fn cancel(
        &mut self,
        way: Way,
        running: Running,
    ) -> anyhow::Result<Vec<TcpStream>> {
        match running {
            Running::Known(id) if way == Way::Task => {
                let params = with_tasks(json!({"taskId": id}));
                Ok(vec![self.ask(Era::Modern, "tasks/cancel", &params).await?])
            }
            Running::Known(id) => {
                let cancel = json!({"action": "cancel", "correlation_id": id});
                Ok(vec![self.ask(Era::Legacy, "tools/call", &tool("configure", &cancel)).await?])
            }
            Running::Called(stream, _) if way == Way::Closed => {
                drop(stream);
                Ok(Vec::new())
            }
            Running::Called(stream, id) => {
                let body = cancelled(id);
                let told = self.post(Era::Legacy, "notifications/cancelled", None, &body).await?;
                Ok(vec![stream, told])
            }
            Running::Bridged(id) => {
                self.bridge.send(&cancelled(id)).await;
                Ok(Vec::new())
            }
        }
    }

    /// Calls a tool and waits for its answer.
    pub(crate) async fn call(&mut self, name: &str, arguments: &Value) -> anyhow::Result<Value> {
        let stream = self.ask(Era::Legacy, "tools/call", &tool(name, arguments)).await?;
        Ok(answer(stream).await?["result"].take())
    }

    /// Runs a script and waits for its value.
    pub(crate) async fn value(&mut self, script: &str) -> anyhow::Result<Value> {
        let script = json!({"action": "execute_js", "script": script, "wait_ms": 20_000});
        let answer = self.call("interact", &script).await?;
        let result = &answer["structuredContent"];
        ensure!(result["status"].is_null(), "{answer}");
        Ok(result["result"].clone())
    }

    async fn ask(&mut self, era: Era, method: &str, params: &Value) -> anyhow::Result<TcpStream> {
        self.id += 1;
        let mut params = params.clone();
        if era == Era::Modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            let client = json!({"name": "bench", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = client;
            let capabilities = &mut params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            if capabilities.is_null() {
                *capabilities = json!({});
            }
        }
        let name = params["name"].as_str().or(params["taskId"].as_str()).map(str::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        self.post(era, method, name.as_deref(), &body).await
    }

    /// A request on a connection of its own, of which no answer is awaited.
    async fn post(
        &self,
        era: Era,
        method: &str,
        name: Option<&str>,
        body: &Value,
    ) -> anyhow::Result<TcpStream> {
        let body = body.to_string();
        let more = match (era, name) {
            (Era::Legacy, _) => "MCP-Protocol-Version: 2025-11-25\r\n".to_owned(),
            (Era::Modern, name) => format!(
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {}\r\n",
                name.unwrap_or_default()
            ),
        };
        let authorized = authorized("POST /mcp", self.port, &self.token);
        let head = format!(
            "{authorized}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{more}Content-Length: {}\r\n\r\n",
            body.len(),
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        stream.write_all((head + &body).as_bytes()).await?;
        Ok(stream)
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        self.bridge.end_input();
        ensure!(self.bridge.ended().await, "the bridge has failed");
        Ok(())
    }
}

/// Which MCP is spoken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

fn tool(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn with_tasks(mut params: Value) -> Value {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = tasks;
    params
}

fn cancelled(id: u64) -> Value {
    let params = json!({"requestId": id});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// The body of an answer that says how long it is.
async fn answer(stream: TcpStream) -> anyhow::Result<Value> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line).await? > 0, "the connection was closed");
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    serde_json::from_slice(&body)
        .with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&body)))
}

/// Starts `tabwire mcp` for the daemon on this port.
async fn start_bridge(home: &Path, port: u16) -> StdioClient {
    let mut command = Command::new(testkit::program());
    command.args(["mcp", "--port", &port.to_string()]).env("TABWIRE_HOME", home);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut bridge = StdioClient::spawn(command).without_checks();
    bridge.initialize("bench").await;
    bridge
}
