//! A minimal MCP client over the standard input and output of `tabwire mcp`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::mcp::body_of;

/// How long the bridge may take to end.
const END: Duration = Duration::from_secs(2);

/// An MCP client with its server process.
pub(super) struct Client {
    server: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    next_id: u64,
}

impl Client {
    /// Starts `tabwire mcp` and shakes hands with it.
    pub(super) async fn start(program: &Path, state: &Path) -> anyhow::Result<Self> {
        let mut server = Command::new(program)
            .args(["mcp", "--client", "demo"])
            .env("TABWIRE_HOME", state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start `tabwire mcp`")?;
        let input = server.stdin.take().context("no standard input")?;
        let output = BufReader::new(server.stdout.take().context("no standard output")?).lines();
        let mut client = Self { server, input, output, next_id: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "tabwire demo", "version": crate::protocol::SERVER_VERSION},
        });
        client.ask("initialize", hello).await?;
        client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(client)
    }

    /// Calls a tool; the body of its answer.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        body_of(&result).with_context(|| format!("{tool} has answered {result}"))
    }

    /// Ends the server by ending its input.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        let Self { mut server, input, .. } = self;
        drop(input);
        tokio::time::timeout(END, server.wait()).await.context("the bridge has not ended")??;
        Ok(())
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.tell(&request).await?;
        loop {
            let line = self.output.next_line().await?.context("`tabwire mcp` has ended")?;
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                let error = &message["error"];
                anyhow::ensure!(error.is_null(), "{method} failed: {error}");
                return Ok(message["result"].take());
            }
        }
    }

    async fn tell(&mut self, message: &Value) -> anyhow::Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(())
    }
}
