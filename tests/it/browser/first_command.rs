//! From nothing to the first command, as the README has it: `tabwire install`, the folder that it
//! names loaded in a real Chromium, and the MCP client's command exactly as it was written into
//! the settings. No secret is typed and no file is put anywhere by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::install::manifest_below;
use tabwire::protocol::EXTENSION_ID;
use tokio::process::Command;

use testkit::{
    BrowserUser, ProgramOutput, StdioClient, Terminal, TestPages, finish, signal, soon, until,
};

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
        fs::create_dir_all(this.profile().join("Default")).unwrap();
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

    /// As a person does before they load an extension. Without it the browser lists no errors, and
    /// an unpacked extension that is reloaded stays off.
    fn switch_on_developer_mode(&self) {
        let preferences = json!({"extensions": {"ui": {"developer_mode": true}}});
        fs::create_dir_all(self.profile().join("Default")).unwrap();
        fs::write(self.profile().join("Default/Preferences"), preferences.to_string()).unwrap();
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

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.start(testkit::program());
        command.args(arguments).env("TABWIRE_PORT", self.port.to_string());
        command
    }

    async fn tabwire(&self, arguments: &[&str]) -> ProgramOutput {
        let ran = finish(self.command(arguments)).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    }

    /// Installs; the folder that is to be loaded.
    async fn install(&self) -> PathBuf {
        let told = self.tabwire(&["install", "--client", "cursor"]).await.stdout;
        told.lines().last().expect("the folder comes last").into()
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
        let mut stop = std::process::Command::new(testkit::program());
        stop.arg("stop").env_clear().env("HOME", self.home.path());
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The first command of an agent on a computer where Tabwire was installed and `folder` loaded.
async fn first_command(computer: &Computer, folder: &Path) {
    let pages = TestPages::start().await;
    let browser = load(computer, folder, &pages.url("/"));
    title(computer).await;
    let found = computer.tabwire(&["doctor"]).await;
    assert!(found.stdout.ends_with("\nNothing is broken.\n"), "{found:?}");
    browser.end().await;
}

/// A browser that has this folder loaded, and this page open.
fn load(computer: &Computer, folder: &Path, page: &str) -> Browser {
    let chromium = find_browser().expect("the tests need a Chromium");
    Browser::launch(&chromium, &computer.profile(), folder, page).unwrap()
}

/// What the client's first call gives.
async fn title(computer: &Computer) {
    let mut agent = computer.start_agent();
    let arguments = json!({"action": "execute_js", "script": "document.title", "wait_ms": 30_000});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "interact", "arguments": arguments}});
    let answer = agent.try_rpc(&call).await.unwrap();
    let answer = &answer["result"]["structuredContent"];
    assert_eq!(answer["result"], "Home Page", "{answer}");
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

/// What stands on the last screen of `install`, in this order.
const LAST_SCREEN: [&str; 13] = [
    "Next steps:",
    "  1. Open chrome://extensions and switch on \"Developer mode\", at the top right.",
    "  2. Choose \"Load unpacked\". In the file dialog press ",
    "     below and open it. If Tabwire is loaded already, press its reload arrow.",
    "  3. Pin Tabwire: the puzzle piece in the toolbar, then the pin beside Tabwire.",
    "  4. Restart Cursor.",
    "While an agent uses a tab, the browser shows a bar: \"Tabwire\" started debugging",
    "this browser. Its Cancel button takes the tabs from agents, until you give",
    "control back in the popup on the Tabwire icon.",
    "The folder holds a key to your browser: keep it to yourself.",
    "The folder:",
    "/Tabwire/extension",
    "Waiting for the extension (Ctrl+C ends the wait)",
];

/// What `doctor` and bare `tabwire` say to a person who is this far.
async fn says(computer: &Computer, doctor: &[&str], code: i32, next: &str) {
    let found = finish(computer.command(&["doctor"])).await;
    assert_eq!(found.code, Some(code), "{found:?}");
    for text in doctor {
        assert!(found.stdout.contains(text), "`{text}` is not in {}", found.stdout);
    }
    let bare = computer.tabwire(&[]).await.stdout;
    assert_eq!(bare.lines().count(), 5, "{bare}");
    let last = bare.lines().last().unwrap();
    assert!(last.starts_with("Next ") && last.contains(next), "{bare}");
}

#[tokio::test]
async fn the_first_five_minutes_from_an_empty_home_to_the_first_command() {
    let computer = Computer::new().await;
    let missing = ["✗ state directory", "Fix: run `tabwire install`"];
    says(&computer, &missing, 1, "`tabwire install` sets everything up").await;

    let mut terminal = Terminal::run(computer.command(&["install"]));
    terminal.until_shows("Add Tabwire to which? Enter for all").await;
    terminal.press("\n");
    terminal.until_shows("which tabs? Enter for 1").await;
    terminal.press("\n");
    terminal.until_shows("Which? Enter for 1").await;
    terminal.press("2\n");
    let screen = terminal.until_shows("Waiting for the extension").await;
    let mut lines = screen.iter();
    for text in LAST_SCREEN {
        assert!(lines.any(|line| line.contains(text)), "`{text}` is not in {screen:#?}");
    }
    let waiting = ["✗ extension connected", "→ open the browser and check at chrome://extensions"];
    says(&computer, &waiting, 1, "`tabwire install` shows how to load the extension").await;
    signal(terminal.pid(), Signal::INT);
    terminal.ended().await;
    computer.tabwire(&["stop"]).await;

    // The extension is loaded before a daemon runs.
    computer.switch_on_developer_mode();
    let pages = TestPages::start().await;
    let program = BrowserUser::lets_in(computer.home.path(), &find_browser().expect("a Chromium"));
    let folder = computer.at("Tabwire/extension");
    let page = pages.url("/");
    let browser = Browser::launch(&program, &computer.profile(), &folder, &page).unwrap();
    let mut hand = BrowserUser::reach(&computer.profile()).await;
    hand.begin_list_of_errors().await;
    hand.go(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    let headline = "document.body.innerText.includes('Not connected')";
    hand.becomes(headline, true).await;
    assert_eq!(hand.listed_errors().await, Vec::<Value>::new());
    let so_far =
        ["– daemon", "the first call of an MCP client starts one", "Nothing is broken so far"];
    says(&computer, &so_far, 0, "load the extension (`tabwire install` shows how)").await;

    let mut terminal = Terminal::run(computer.command(&["install"]));
    terminal.until_shows("Add Tabwire to which?").await;
    terminal.press("none\n");
    terminal.until_shows("✓ Chromium on Linux connected").await;
    let (code, screen) = terminal.ended().await;
    let shown: Vec<_> = screen.iter().filter(|line| !line.is_empty()).collect();
    assert_eq!((code, shown.last().unwrap().as_str()), (Some(0), "✓ Chromium on Linux connected"));

    hand.go(&page).await;
    title(&computer).await;
    says(&computer, &["\nNothing is broken.\n"], 0, "ask an agent which tabs you have open").await;
    let bare = computer.tabwire(&[]).await.stdout;
    assert!(bare.contains("Browser    Chromium on Linux connected"), "{bare}");
    assert!(bare.contains("Clients    Cursor"), "{bare}");
    assert_eq!(hand.listed_errors().await, Vec::<Value>::new());
    browser.end().await;
    let is_away = async || computer.tabwire(&["status"]).await.stdout.contains("away");
    soon("the browser to go", until(is_away)).await;
    let away = ["✗ extension connected", "Chromium on Linux was last seen at"];
    says(&computer, &away, 1, "`tabwire install` shows how to load the extension").await;
}

#[tokio::test]
async fn a_browser_that_has_the_former_folder_loaded_goes_on_after_the_move_and_a_reload() {
    let computer = Computer::new().await;
    let old = computer.at(".local/state/tabwire/extension");
    computer.tabwire(&["extension", "unpack", old.to_str().unwrap()]).await;
    computer.switch_on_developer_mode();
    let pages = TestPages::start().await;
    let program = BrowserUser::lets_in(computer.home.path(), &find_browser().expect("a Chromium"));
    let page = pages.url("/");
    let browser = Browser::launch(&program, &computer.profile(), &old, &page).unwrap();
    let mut hand = BrowserUser::reach(&computer.profile()).await;
    // A folder that moves while the browser reads it would leave the extension without a worker.
    hand.go(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    let answers = "document.body.innerText.includes('Not connected')";
    hand.becomes(answers, true).await;
    hand.go(&page).await;
    computer.install().await;
    assert!(old.is_symlink() && computer.at("Tabwire/extension/manifest.json").is_file());
    title(&computer).await;
    // The person presses the reload arrow: files are read from the disk again.
    hand.go("chrome://extensions/").await;
    let reload = format!("chrome.developerPrivate.reload('{EXTENSION_ID}', {{}})");
    hand.read(&reload).await;
    hand.go(&page).await;
    title(&computer).await;
    let found = computer.tabwire(&["doctor"]).await;
    assert!(found.stdout.ends_with("\nNothing is broken.\n"), "{found:?}");
    browser.end().await;
}
