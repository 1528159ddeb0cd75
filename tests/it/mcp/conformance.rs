//! What only the official MCP conformance suite asks for is answered by no build that ships.

#[path = "../../conformance/fixtures/mod.rs"]
mod fixtures;

use std::time::Duration;

use serde_json::{Value, json};
use tabwire::daemon::{Daemon, DaemonSettings};
use tabwire::install::BrowserFolders;
use tabwire::lifecycle::Limits;
use tabwire::proof::DEFAULT_OWNER;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use testkit::{McpClient, ProgramSandbox, StateDir};

/// Methods that are the fixtures' own, each with parameters that they take.
fn methods() -> [(&'static str, Value); 6] {
    let completion = json!({"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}});
    [
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "test_simple_prompt"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "test://static-text"})),
        ("completion/complete", completion),
    ]
}

/// A daemon with the fixtures beside its tools.
struct WithFixtures {
    client: McpClient,
    _running: AbortOnDropHandle<std::io::Result<()>>,
    _dir: StateDir,
}

impl WithFixtures {
    async fn start() -> Self {
        let dir = StateDir::default();
        let settings = DaemonSettings {
            home: dir.path().to_owned(),
            port: 0,
            limits: Limits::default(),
            default_wait: Duration::ZERO,
            idle_exit: None,
            ephemeral: true,
            monitor_roots: Vec::new(),
            agent_files: dir.usual_folder(),
            browser_folders: BrowserFolders::default(),
            otlp: None,
        };
        let daemon = Daemon::start(settings).await.unwrap();
        let client = client(daemon.port(), &dir.home()).of_any_tools();
        let serving = daemon.serve(CancellationToken::new(), Some(fixtures::extra_tools()));
        let running = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { client, _running: running, _dir: dir }
    }
}

fn client(port: u16, home: &tabwire::home::StateDirectory) -> McpClient {
    McpClient::at(port, home.auth().token(&DEFAULT_OWNER.into()))
}

async fn listed(client: &McpClient) -> Vec<Value> {
    let list = client.rpc("tools/list", json!({})).await.json();
    list["result"]["tools"].as_array().unwrap().clone()
}

async fn capabilities(client: &McpClient) -> Value {
    client.rpc("server/discover", json!({})).await.json()["result"]["capabilities"].clone()
}

#[tokio::test]
async fn the_program_has_no_tool_and_no_method_of_the_suites_own() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let (program, with_fixtures) =
        (client(served.port, &place.home()), WithFixtures::start().await);
    let own = listed(&program).await;
    assert_eq!(json!(own), *tabwire::tools::list());
    let all = listed(&with_fixtures.client).await;
    let (same, fixtures) = all.split_at(own.len());
    assert_eq!(same, own, "the program's own tools are as ever beside them");
    assert!(fixtures.len() > 20, "{}", fixtures.len());
    for fixture in fixtures {
        let call = json!({"name": fixture["name"], "arguments": {"seconds": 0}});
        let says_unknown = async |client: &McpClient| {
            let answer = client.rpc("tools/call", call.clone()).await.json();
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            (message.starts_with("Unknown tool"), answer)
        };
        let (is_unknown, answer) = says_unknown(&program).await;
        assert!(is_unknown, "{answer}");
        let (is_unknown, answer) = says_unknown(&with_fixtures.client).await;
        assert!(!is_unknown, "{answer}");
    }
    for (method, params) in methods() {
        let answer = program.rpc(method, params.clone()).await;
        assert_eq!(answer.error_code(), Some(-32601), "{method}");
        let answer = with_fixtures.client.rpc(method, params).await.json();
        assert!(answer["result"].is_object(), "{method}: {answer}");
    }
    let declared = capabilities(&program).await;
    let declared: Vec<_> = declared.as_object().unwrap().keys().collect();
    assert_eq!(declared, ["tools", "extensions"]);
}
