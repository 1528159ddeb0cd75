//! From nothing to the first command, as the README has it: `tabwire install`, the folder that it
//! names loaded in a real Chromium, and the MCP client's command exactly as it was written into
//! the settings. No secret is typed and no file is put anywhere by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::install::manifest_below;
use tokio::process::Command;

use crate::support::{Pages, Ran, StdioClient, finish};

/// A computer on which Chromium and Cursor have run, and Tabwire has not.
struct Computer {
    home: tempfile::TempDir,
    port: u16,
}

impl Computer {
    async fn new() -> Self {
        // Somebody else may take it before the daemon does; then the test fails, and says so.
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let home = tempfile::Builder::new().prefix("tabwire-it-first-").tempdir().unwrap();
        let this = Self { home, port };
        fs::create_dir_all(this.profile()).unwrap();
        fs::create_dir(this.at(".cursor")).unwrap();
        this
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(path)
    }

    /// Where Chromium keeps its own, and looks for hosts to start.
    fn profile(&self) -> PathBuf {
        self.at(".config/chromium")
    }

    /// A program as this computer's person starts it, with nothing set that is not usual.
    fn start(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", self.at(""));
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    async fn tabwire(&self, arguments: &[&str]) -> Ran {
        let mut command = self.start(env!("CARGO_BIN_EXE_tabwire"));
        command.args(arguments).env("TABWIRE_PORT", self.port.to_string());
        let ran = finish(command).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    }

    /// Installs; the folder that is to be loaded.
    async fn install(&self) -> PathBuf {
        let told = self.tabwire(&["install", "--client", "cursor"]).await.stdout;
        let named = told.lines().find_map(|line| line.strip_prefix("The extension is in "));
        named.and_then(|line| line.strip_suffix('.')).expect(&told).into()
    }

    /// Starts what the client's settings say, as they say it.
    fn start_agent(&self) -> StdioClient {
        let settings = fs::read(self.at(".cursor/mcp.json")).unwrap();
        let settings: Value = serde_json::from_slice(&settings).unwrap();
        let server = &settings["mcpServers"]["tabwire"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut command = self.start(text(&server["command"]));
        command.args(server["args"].as_array().unwrap().iter().map(text));
        for (name, value) in server["env"].as_object().into_iter().flatten() {
            command.env(name, text(value));
        }
        StdioClient::spawn(command)
    }

    /// Everything that is there, but for what is the browser's own.
    fn paths(&self) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        let mut folders = vec![self.at("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && path != self.profile() {
                    folders.push(path.clone());
                }
                paths.insert(path);
            }
        }
        paths
    }
}

impl Drop for Computer {
    fn drop(&mut self) {
        // A test that failed may have left a daemon; without one this does nothing.
        let mut stop = std::process::Command::new(env!("CARGO_BIN_EXE_tabwire"));
        stop.arg("stop").env_clear().env("HOME", self.home.path());
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The first command of an agent on a computer where Tabwire was installed and `folder` loaded.
async fn first_command(computer: &Computer, folder: &Path) {
    let pages = Pages::start().await;
    let chromium = find_browser().expect("the tests need a Chromium");
    let browser = Browser::launch(&chromium, &computer.profile(), folder, &pages.url("/")).unwrap();
    let mut agent = computer.start_agent();
    let arguments = json!({"action": "execute_js", "script": "document.title", "wait_ms": 30_000});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "interact", "arguments": arguments}});
    let answer = agent.try_rpc(&call).await.unwrap();
    let answer = &answer["result"]["structuredContent"];
    assert_eq!(answer["result"], "Home Page", "{answer}");
    let found = computer.tabwire(&["doctor"]).await;
    assert!(found.stdout.ends_with("\nAll is well.\n"), "{found:?}");
    browser.end().await;
}

/// Removes everything, and looks whether something is left.
async fn uninstall(computer: &Computer, before: &BTreeSet<PathBuf>) {
    computer.tabwire(&["uninstall", "--state"]).await;
    let above = |path: &Path| path == computer.at(".local") || path == computer.at(".local/state");
    let left: Vec<_> = computer
        .paths()
        .into_iter()
        .filter(|path| !before.contains(path) && !above(path))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    assert!(!manifest_below(&computer.profile()).exists());
    let address = ("127.0.0.1", computer.port);
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "a daemon still listens");
}

#[tokio::test]
async fn a_fresh_install_runs_its_first_command_with_the_key_in_the_folder_and_leaves_nothing() {
    let computer = Computer::new().await;
    let before = computer.paths();
    let folder = computer.install().await;
    assert!(folder.join("config.json").is_file());
    // So that no host is what gives the key.
    fs::remove_file(manifest_below(&computer.profile())).unwrap();
    first_command(&computer, &folder).await;
    uninstall(&computer, &before).await;
}

#[tokio::test]
async fn a_fresh_install_runs_its_first_command_with_the_key_from_the_host_and_leaves_nothing() {
    let computer = Computer::new().await;
    let before = computer.paths();
    let folder = computer.install().await;
    fs::remove_file(folder.join("config.json")).unwrap();
    first_command(&computer, &folder).await;
    uninstall(&computer, &before).await;
}
