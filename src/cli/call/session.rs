//! An MCP client inside the command: it speaks to the daemon through the bridge of `tabwire mcp`,
//! and so starts the daemon, repeats calls and cancels them just as MCP clients do.

use std::io;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio_util::task::AbortOnDropHandle;

use crate::bridge::{self, DaemonTarget};
use crate::mcp::CANCELLED;
use crate::tools::PENDING_STATUSES;

/// The size of the buffers between this client and the bridge.
const PIPE: usize = 64 * 1024;

/// A conversation with the daemon.
pub(in crate::cli) struct ToolSession {
    requests: DuplexStream,
    answers: Lines<BufReader<DuplexStream>>,
    // Ends with the session: a bridge left alone would wait for input forever.
    bridge: AbortOnDropHandle<io::Result<()>>,
    last_id: u64,
}

/// The answer to a tool call.
#[derive(Debug)]
pub(in crate::cli) struct ToolAnswer {
    /// The JSON of the tool. Text that is no JSON is a string.
    pub(in crate::cli) body: Value,
    /// Whether the call failed.
    pub(in crate::cli) is_error: bool,
    pub(super) pictures: Vec<AnswerFile>,
    /// Whether `result` is the value itself, and not the extension's report with the value in it.
    pub(super) is_bare: bool,
}

/// A picture or a PDF of an answer.
#[derive(Debug)]
pub(super) struct AnswerFile {
    pub(super) bytes: Vec<u8>,
    /// The end of a file name, after the dot.
    pub(super) extension: &'static str,
}

impl ToolSession {
    pub(in crate::cli) fn start(target: DaemonTarget) -> Self {
        let (requests, input) = tokio::io::duplex(PIPE);
        let (output, answers) = tokio::io::duplex(PIPE);
        let bridge = AbortOnDropHandle::new(tokio::spawn(bridge::relay(target, input, output)));
        Self { requests, answers: BufReader::new(answers).lines(), bridge, last_id: 0 }
    }

    /// Sends a tool call. [`answer`](Self::answer) waits for its answer.
    pub(super) async fn send(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> anyhow::Result<()> {
        self.last_id += 1;
        self.write(&json!({
            "jsonrpc": "2.0", "id": self.last_id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }))
        .await
    }

    /// The answer to the call that was sent last.
    ///
    /// Cancel safe.
    pub(super) async fn answer(&mut self) -> anyhow::Result<ToolAnswer> {
        while let Some(line) = self.answers.next_line().await? {
            let message: Value = serde_json::from_str(&line)?;
            // A request that the bridge cannot read is answered without an id.
            let is_unreadable = message["id"].is_null() && message.get("error").is_some();
            if message["id"] == self.last_id || is_unreadable {
                return ToolAnswer::read(message);
            }
        }
        // The bridge repeats calls over lost connections itself, so its end is final.
        bail!("the connection to the daemon ended; call again")
    }

    pub(in crate::cli) async fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> anyhow::Result<ToolAnswer> {
        self.send(tool, arguments).await?;
        self.answer().await
    }

    /// Cancels the call that was sent last, as MCP clients do.
    pub(super) async fn cancel(&mut self) -> anyhow::Result<()> {
        let params = json!({"requestId": self.last_id});
        self.write(&json!({"jsonrpc": "2.0", "method": CANCELLED, "params": params})).await
    }

    /// Ends the conversation once the daemon has heard all of it.
    pub(super) async fn end(&mut self) -> anyhow::Result<()> {
        self.requests.shutdown().await?;
        (&mut self.bridge).await??;
        Ok(())
    }

    async fn write(&mut self, message: &Value) -> anyhow::Result<()> {
        let line = format!("{message}\n");
        self.requests.write_all(line.as_bytes()).await.context("the connection to the daemon ended")
    }
}

impl ToolAnswer {
    fn read(mut message: Value) -> anyhow::Result<Self> {
        if let Some(error) = message.get("error") {
            let body = json!({"status": "error", "error": error["message"]});
            return Ok(Self { body, is_error: true, pictures: Vec::new(), is_bare: true });
        }
        let result = message["result"].take();
        let content = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_type = |kind: &str| content.iter().find(|part| part["type"] == kind);
        let text = of_type("text").and_then(|part| part["text"].as_str()).unwrap_or_default();
        // Errors of the protocol layer are plain text.
        let body: Value = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        let images = content.iter().filter(|part| part["type"] == "image");
        let pictures = images.map(AnswerFile::read).collect::<anyhow::Result<_>>()?;
        // The full answer names the command; the short one, and a part, have the value alone.
        let is_bare = body.get("command").is_none() || body.get("truncated").is_some();
        Ok(Self { body, is_error: result["isError"] == true, pictures, is_bare })
    }

    /// Takes the PDF out of the answer to a call of `pdf`, if it has the data of one.
    pub(super) fn take_pdf(&mut self) -> anyhow::Result<Option<AnswerFile>> {
        let is_bare = self.is_bare;
        let result = self.body.get_mut("result");
        let value = if is_bare { result } else { result.and_then(|all| all.get_mut("value")) };
        let data = value.and_then(Value::as_object_mut).and_then(|value| value.remove("data"));
        let Some(Value::String(data)) = data else { return Ok(None) };
        let bytes = STANDARD.decode(data).context("the PDF is not base64")?;
        Ok(Some(AnswerFile { bytes, extension: "pdf" }))
    }

    /// The command that the answer is about; an empty text if it names none.
    pub(super) fn command_id(&self) -> &str {
        match self.text("correlation_id") {
            "" => self.job("job_id"),
            id => id,
        }
    }

    /// Whether the answer says that a command is not over, and names it.
    pub(super) fn is_pending(&self) -> bool {
        let state = match self.text("status") {
            "" => self.job("status"),
            status => status,
        };
        !self.is_error && !self.command_id().is_empty() && PENDING_STATUSES.contains(&state)
    }

    /// A field of the first answer about a job.
    fn job(&self, field: &str) -> &str {
        self.body["data"][field].as_str().unwrap_or_default()
    }

    /// A field of the answer that is a text; an empty one if it is not there.
    pub(super) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }
}

impl AnswerFile {
    fn read(part: &Value) -> anyhow::Result<Self> {
        let data = part["data"].as_str().unwrap_or_default();
        let bytes = STANDARD.decode(data).context("the picture is not base64")?;
        let extension = match part["mimeType"].as_str() {
            Some("image/png") => "png",
            Some("image/jpeg") => "jpg",
            Some("image/webp") => "webp",
            Some(_) | None => "bin",
        };
        Ok(Self { bytes, extension })
    }
}
