//! Where an agent works: a home directory with Tabwire installed for its program, and a browser
//! with the extension and a page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tokio::net::TcpListener;
use tokio::process::Command;

use super::program::AgentProgram;
use testkit::LEGACY;
use testkit::{BrowserUser, StdioClient, TestPages, finish, program};

pub(super) struct Workplace {
    browser: Option<Browser>,
    pub(super) hand: BrowserUser,
    /// Another client of the same daemon, to compare with.
    reference: StdioClient,
    port: u16,
    // Dropped last: everything else writes into it.
    home: tempfile::TempDir,
}

impl Workplace {
    /// One for this program, whose model is at this address. The browser shows this page.
    pub(super) async fn set(agent: AgentProgram, model: &str, page: &str) -> Self {
        let home = tempfile::Builder::new().prefix("tabwire-it-agent-").tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        fs::create_dir(path.join("work")).unwrap();
        fs::create_dir(path.join("tmp")).unwrap();
        agent.write_settings(&path, model);
        // Somebody else may take it before the daemon does; then the test fails, and says so.
        let port = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
        let extension = install(&path, port, agent).await;

        let pages = TestPages::start().await;
        let profile = path.join("profile");
        let chromium = find_browser().expect("the tests need a Chromium");
        let chromium = BrowserUser::lets_in(&path, &chromium);
        let browser = Browser::launch(&chromium, &profile, &extension, &pages.url(page)).unwrap();
        let mut bridge = tabwire(&path, port);
        bridge.args(["mcp", "--tools", "split"]);
        let reference = StdioClient::spawn(bridge);
        let hand = BrowserUser::reach(&profile).await;
        let mut this = Self { browser: Some(browser), hand, reference, port, home };
        let title = this.ask("page_info", json!({})).await;
        assert_ne!(title["isError"], true, "{title}");
        this
    }

    pub(super) fn path(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    /// A command as it is started here.
    pub(super) fn at_home(&self, command: &Command) -> Command {
        at_home(&self.path(), command)
    }

    /// What the daemon tells clients of the tools.
    pub(super) async fn instructions(&mut self) -> String {
        let params = json!({"protocolVersion": LEGACY, "capabilities": {},
                            "clientInfo": {"name": "reference", "version": "1"}});
        let told = self.reference.rpc("initialize".into(), "initialize", params).await;
        told["result"]["instructions"].as_str().unwrap().to_owned()
    }

    /// What the other client is answered to this call.
    pub(super) async fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = self.reference.try_rpc(&call).await.expect("an answer");
        answer["result"].clone()
    }

    pub(super) async fn end(&mut self) {
        if let Some(browser) = self.browser.take() {
            browser.end().await;
        }
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let mut stop = tabwire(&self.path(), self.port);
        let stop = stop.as_std_mut().arg("stop").stdout(Stdio::null()).stderr(Stdio::null());
        let _ = stop.status();
    }
}

/// Installs Tabwire for this program; the folder of the extension.
async fn install(home: &Path, port: u16, agent: AgentProgram) -> PathBuf {
    let mut command = tabwire(home, port);
    command.args(["install", "--client", agent.client(), "--json"]);
    let ran = finish(command).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    told["extension"].as_str().unwrap().into()
}

fn tabwire(home: &Path, port: u16) -> Command {
    let mut command = at_home(home, &Command::new(program()));
    command.env("TABWIRE_PORT", port.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

/// The command for a person with this home directory, of whose environment nothing else is set
/// that could lead out of it.
fn at_home(home: &Path, command: &Command) -> Command {
    let mut fresh = Command::new(command.as_std().get_program());
    fresh.args(command.as_std().get_args()).env_clear();
    fresh.env("HOME", home).env("TMPDIR", home.join("tmp")).env("TERM", "xterm-256color");
    fresh.env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in command.as_std().get_envs() {
        value.into_iter().for_each(|value| {
            fresh.env(name, value);
        });
    }
    fresh
}
