//! The official Rust SDK's client, against the program: what the client sees, and what the
//! extension sees.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(deprecated, reason = "clients have roots, though the next version of MCP ends them")]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig,
    GetTaskParams, Implementation, ListRootsResult, ProgressNotificationParam, ProtocolVersion,
    Root, TaskPayload,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use testkit::{
    ExtensionBuilder, FakeExtension, LEGACY, MODERN, ProgramSandbox, ServedDaemon, TOOLS, soon,
    until,
};

/// The client's own part: it hears of progress, and says in which folders it works.
struct Handler {
    config: ClientConfig,
    roots: Vec<String>,
    progress: mpsc::UnboundedSender<ProgressNotificationParam>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // The test may be over.
        let _ = self.progress.send(params);
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.iter().map(Root::new).collect()))
    }
}

#[derive(Clone, Copy)]
enum Transport {
    Http,
    Stdio,
}

/// A client of a daemon that has an extension.
struct Stage {
    client: RunningService<RoleClient, Handler>,
    progress: mpsc::UnboundedReceiver<ProgressNotificationParam>,
    extension: FakeExtension,
    _daemon: ServedDaemon,
    _place: ProgramSandbox,
}

impl Stage {
    async fn set(
        transport: Transport,
        mode: ClientLifecycleMode,
        capabilities: ClientCapabilities,
    ) -> Self {
        Self::set_in(transport, mode, capabilities, Vec::new()).await
    }

    /// The same of a client that works in these folders.
    async fn set_in(
        transport: Transport,
        mode: ClientLifecycleMode,
        capabilities: ClientCapabilities,
        roots: Vec<String>,
    ) -> Self {
        let place = ProgramSandbox::new();
        let daemon = place.serve(&[]).await;
        let extension = ExtensionBuilder::at(daemon.port, &place.home());
        let extension = extension.actions(&["execute_js", "upload_file"]).connect().await;
        let (told, progress) = mpsc::unbounded_channel();
        let config = ClientConfig::new(capabilities, Implementation::new("it", "1"));
        let handler = Handler { config, roots, progress: told };
        let client = match transport {
            Transport::Http => {
                let token = place.run(&["token"]).await.stdout.trim().to_owned();
                let url = format!("http://127.0.0.1:{}/mcp", daemon.port);
                let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
                let http = StreamableHttpClientTransport::from_config(config);
                soon("a connection", handler.serve_with_lifecycle(http, mode)).await
            }
            Transport::Stdio => {
                let bridge = TokioChildProcess::new(place.command(&["mcp"])).unwrap();
                soon("a connection", handler.serve_with_lifecycle(bridge, mode)).await
            }
        };
        Self { client: client.unwrap(), progress, extension, _daemon: daemon, _place: place }
    }

    /// Calls a tool; what it says.
    async fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let result = soon("an answer", self.client.call_tool(call(tool, arguments))).await;
        result.unwrap().structured_content.unwrap()
    }

    /// Submits a script that goes on as a task; the id of that.
    async fn task(&self, text: &str) -> String {
        let answer = self.client.call_tool_once(call("interact", script(text)));
        let answer = soon("an answer", answer).await.unwrap();
        let CallToolResponse::Task(created) = answer else { panic!("{answer:?}") };
        created.task.task_id
    }

    async fn task_now(&self, id: &str) -> TaskPayload {
        let now = soon("a task", self.client.get_task(GetTaskParams::new(id))).await;
        now.unwrap().task.payload
    }

    async fn end(mut self) {
        soon("the client's end", self.client.cancel()).await.unwrap();
        self.extension.expect_nothing().await;
    }
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("no object: {arguments}") };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

fn script(text: &str) -> Value {
    json!({"action": "execute_js", "script": text, "tab_id": 7, "wait_ms": 20_000})
}

fn is_a_quarter(told: &ProgressNotificationParam) {
    assert_eq!((told.progress, told.total), (0.25, Some(1.0)), "{told:?}");
    assert_eq!(told.message.as_deref(), Some("a quarter"), "{told:?}");
}

async fn submits_waits_and_cancels(transport: Transport, mode: ClientLifecycleMode, version: &str) {
    let mut stage = Stage::set(transport, mode, ClientCapabilities::default()).await;
    assert_eq!(stage.client.peer_info().unwrap().protocol_version.as_str(), version);
    let tools = soon("the tools", stage.client.list_all_tools()).await.unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), TOOLS);

    let mut submitted = script("submitted");
    submitted["wait_ms"] = 0.into();
    let submitted = stage.call("interact", submitted).await;
    let command = stage.extension.start_script("submitted").await;
    assert_eq!(submitted["correlation_id"], command.id, "{submitted}");
    let wait = json!({"what": "command_result", "correlation_id": command.id, "wait_ms": 20_000});
    let waiting = stage.client.call_tool(call("observe", wait));
    let answering = async {
        is_a_quarter(&soon("progress", stage.progress.recv()).await.unwrap());
        stage.extension.complete(&command, &json!(42)).await;
    };
    let (waited, ()) = tokio::join!(waiting, answering);
    let waited = waited.unwrap().structured_content.unwrap();
    assert_eq!((&waited["status"], &waited["result"]), (&json!("complete"), &json!(42)));

    let given_up = stage.client.call_tool(call("interact", script("given up")));
    let until_it_runs = async {
        let command = stage.extension.start_script("given up").await;
        is_a_quarter(&soon("progress", stage.progress.recv()).await.unwrap());
        command
    };
    // The SDK cancels a request whose future is dropped.
    let command = tokio::select! {
        answer = given_up => panic!("{answer:?}"),
        command = until_it_runs => command,
    };
    stage.extension.expect(&command.cancel("cancelled")).await;
    stage.end().await;
}

async fn speaks_tasks(transport: Transport) {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let capabilities = serde_json::from_value(capabilities).unwrap();
    let mut stage = Stage::set(transport, discover(), capabilities).await;
    let id = stage.task("finished").await;
    let command = stage.extension.start_script("finished").await;
    assert_eq!(id, command.id);
    assert_eq!(stage.task_now(&id).await, TaskPayload::Working);
    stage.extension.complete(&command, &json!(42)).await;
    let is_over = async || stage.task_now(&id).await != TaskPayload::Working;
    soon("the end of a task", until(is_over)).await;
    let TaskPayload::Completed { result } = stage.task_now(&id).await else { panic!("{id}") };
    assert_eq!(result["structuredContent"]["result"], 42, "{result:?}");

    let id = stage.task("cancelled").await;
    let command = stage.extension.start_script("cancelled").await;
    let cancelling = stage.client.cancel_task(CancelTaskParams::new(&id));
    soon("a cancel", cancelling).await.unwrap();
    stage.extension.expect(&command.cancel("cancelled")).await;
    assert_eq!(stage.task_now(&id).await, TaskPayload::Cancelled);
    stage.end().await;
}

#[tokio::test]
async fn the_rust_client_submits_waits_and_cancels_over_stdio() {
    let mode = ClientLifecycleMode::Initialize;
    submits_waits_and_cancels(Transport::Stdio, mode, LEGACY).await;
    submits_waits_and_cancels(Transport::Stdio, discover(), MODERN).await;
}

#[tokio::test]
async fn the_rust_client_submits_waits_and_cancels_over_http() {
    let mode = ClientLifecycleMode::Initialize;
    submits_waits_and_cancels(Transport::Http, mode, LEGACY).await;
    submits_waits_and_cancels(Transport::Http, discover(), MODERN).await;
}

#[tokio::test]
async fn the_rust_client_speaks_tasks() {
    speaks_tasks(Transport::Stdio).await;
    speaks_tasks(Transport::Http).await;
}

/// Has a client that works in a project give a page a file of it, and looks at what the person is offered.
async fn is_asked_for_its_folders(mode: ClientLifecycleMode, is_asked: bool) {
    let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
    let project = dir.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(project.join("photos")).unwrap();
    let file = project.join("photos/cat.png");
    std::fs::write(&file, "cat").unwrap();
    let capabilities = serde_json::from_value(json!({"roots": {}})).unwrap();
    let roots = vec![format!("file://{}", project.display())];
    let mut stage = Stage::set_in(Transport::Stdio, mode, capabilities, roots).await;
    let upload = json!({"action": "upload_file", "target": "b1", "paths": [file], "tab_id": 7,
                        "wait_ms": 0});
    stage.call("interact", upload).await;
    let command = soon("the command", stage.extension.command()).await;
    let look = json!({"request": 1, "paths": [file], "site": "https://shop.example", "look": true});
    stage.extension.send(&command.frame("upload_request", look)).await;
    let told = soon("the look", stage.extension.next()).await;
    let expected = if is_asked { json!(project) } else { Value::Null };
    let asked = &told["asks"][0];
    assert_eq!((&asked["path"], &asked["root"]), (&json!(file), &expected), "{told}");
}

#[tokio::test]
async fn the_rust_client_is_asked_for_its_folders_in_the_legacy_era_and_never_in_the_modern_one() {
    is_asked_for_its_folders(ClientLifecycleMode::Initialize, true).await;
    is_asked_for_its_folders(discover(), false).await;
}
