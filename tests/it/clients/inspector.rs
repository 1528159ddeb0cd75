//! The MCP Inspector as a command, `--cli`: each run connects, makes one call and ends.
//!
//! It asks for progress and shows none. It has no way to cancel a request or a task, so the
//! cancel is another run, which calls the tool for it.

use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::driver::{Transport, installed, node, server, token, url};
use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, LEGACY, MODERN, ProgramSandbox,
    ServedDaemon, TOOLS, authorization,
};

/// How long a run may take on a busy machine; each starts an interpreter.
const RUN: Duration = Duration::from_secs(40);

/// A daemon, its extension, and what the Inspector has to know of them.
struct Stage {
    place: ProgramSandbox,
    extension: FakeExtension,
    _daemon: ServedDaemon,
    transport: Transport,
    era: &'static str,
    url: String,
    token: String,
}

impl Stage {
    async fn set(transport: Transport, era: &'static str) -> Self {
        let place = ProgramSandbox::new();
        let daemon = place.serve(&[]).await;
        let extension =
            ExtensionBuilder::at(daemon.port, &place.home()).connect().await.with_heartbeat();
        let (url, token) = (url(daemon.port), token(&place).await);
        Self { place, extension, _daemon: daemon, transport, era, url, token }
    }

    /// The Inspector, which keeps its own state in this place, too.
    fn inspector(&self) -> Command {
        let mut command = node();
        command
            .arg(installed("tests/clients/node_modules/.bin/mcp-inspector"))
            .env("HOME", self.place.path().join("inspector"))
            .env("MCP_INSPECTOR_SECRET_STORE", "memory")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Tells it where the server is.
    fn add_target(&self, command: &mut Command) {
        match self.transport {
            Transport::Http => {
                let token = authorization(&self.token);
                command.args(["--server-url", &self.url, "--header", &token]);
            }
            Transport::Stdio => {
                let server = server(&self.place);
                for (name, value) in server["env"].as_object().unwrap() {
                    command.args(["-e", &format!("{name}={}", value.as_str().unwrap())]);
                }
                let program = server["command"].as_str().unwrap();
                command.args(["--transport", "stdio", "--", program, "mcp"]);
            }
        }
    }

    /// A run with this method and what belongs to it.
    fn run(&self, method: &[&str]) -> Run {
        let mut command = self.inspector();
        command.args(["--cli", "--format", "json", "--protocol-era", self.era, "--method"]);
        command.args(method);
        self.add_target(&mut command);
        Run::start(command)
    }

    fn call(&self, tool: &str, arguments: &Value) -> Run {
        let arguments = arguments.to_string();
        self.run(&["tools/call", "--tool-name", tool, "--tool-args-json", &arguments])
    }
}

/// One run.
struct Run(tokio::process::Child);

impl Run {
    fn start(mut command: Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    async fn output(self) -> Output {
        let output = tokio::time::timeout(RUN, self.0.wait_with_output()).await;
        output.expect("the Inspector hangs").unwrap()
    }

    /// The result that it prints.
    async fn result(self) -> Value {
        let output = self.output().await;
        let printed = serde_json::from_slice::<Value>(&output.stdout);
        printed.unwrap_or_else(|error| panic!("{error}: {output:?}"))["result"].clone()
    }

    /// Whatever it prints.
    async fn said(self) -> String {
        let output = self.output().await;
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }

    /// What the tool says.
    async fn tool_result(self) -> Value {
        let result = self.result().await;
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].clone()
    }
}

/// The same as [`running`] for a call that only just starts its program.
async fn first_running(extension: &mut FakeExtension, script: &str) -> DeliveredCommand {
    let arrived = tokio::time::timeout(RUN, extension.until_next()).await;
    arrived.expect("the Inspector hangs");
    extension.start_script(script).await
}

fn script(text: &str) -> Value {
    json!({"action": "execute_js", "script": text, "tab_id": 7, "timeout_ms": 60_000})
}

fn cancel(id: &str) -> Value {
    json!({"action": "cancel", "correlation_id": id})
}

async fn knows_the_tools(stage: &Stage, version: &str) {
    let server = stage.run(&["initialize"]).result().await;
    assert_eq!(server["protocolVersion"], version, "{server}");
    let list = stage.run(&["tools/list"]).result().await;
    let names = list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), TOOLS);
}

/// One call for each step: submit, wait, cancel.
async fn submits_waits_and_cancels(transport: Transport) {
    let mut stage = Stage::set(transport, "legacy").await;
    knows_the_tools(&stage, LEGACY).await;
    let submitted = stage.call("interact", &script("submitted")).tool_result().await;
    let command = stage.extension.start_script("submitted").await;
    assert_eq!(submitted["correlation_id"], command.id, "{submitted}");
    let wait = json!({"what": "command_result", "correlation_id": command.id, "wait_ms": 50_000});
    let waiting = stage.call("observe", &wait);
    stage.extension.complete(&command, &json!(42)).await;
    assert_eq!(waiting.tool_result().await["result"], 42);

    let mut call = script("cancelled");
    call["wait_ms"] = 50_000.into();
    let waiting = stage.call("interact", &call);
    let command = first_running(&mut stage.extension, "cancelled").await;
    let cancelled = stage.call("configure", &cancel(&command.id)).tool_result().await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    stage.extension.expect(&command.cancel("cancelled")).await;
    assert_eq!(waiting.tool_result().await["status"], "cancelled");
    stage.extension.expect_nothing().await;
}

/// A task is driven to its end, and another one cancelled.
async fn drives_tasks(transport: Transport) {
    let mut stage = Stage::set(transport, "modern").await;
    knows_the_tools(&stage, MODERN).await;
    let calling = stage.call("interact", &script("as a task"));
    let command = first_running(&mut stage.extension, "as a task").await;
    stage.extension.complete(&command, &json!(42)).await;
    assert_eq!(calling.tool_result().await["result"], 42);

    let calling = stage.call("interact", &script("cancelled as a task"));
    let command = first_running(&mut stage.extension, "cancelled as a task").await;
    let cancelled = stage.call("configure", &cancel(&command.id)).tool_result().await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    stage.extension.expect(&command.cancel("cancelled")).await;
    let said = calling.said().await;
    assert!(said.contains("cancelled"), "{said}");
    stage.extension.expect_nothing().await;
}

#[tokio::test]
async fn the_inspector_submits_waits_and_cancels_over_stdio() {
    submits_waits_and_cancels(Transport::Stdio).await;
}

#[tokio::test]
async fn the_inspector_submits_waits_and_cancels_over_http() {
    submits_waits_and_cancels(Transport::Http).await;
}

#[tokio::test]
async fn the_inspector_drives_tasks_over_stdio() {
    drives_tasks(Transport::Stdio).await;
}

#[tokio::test]
async fn the_inspector_drives_tasks_over_http() {
    drives_tasks(Transport::Http).await;
}
