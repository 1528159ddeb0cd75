//! How a real extension in a real browser comes to its key: by the native messaging host that
//! `tabwire install` has written, or by the line of `tabwire pair`; and to the next one, when the
//! secret is replaced. Nothing is connected before.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::Digest as _;
use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::home::StateDirectory;
use tabwire::install::manifest_below;
use tabwire::protocol::EXTENSION_ID;

use testkit::{BrowserUser, ProgramSandbox, StdioClient, TestPages, scratch_folder};

/// A person with a daemon's place, a browser's profile and an unpacked extension without a key.
struct Person {
    place: ProgramSandbox,
    port: u16,
    folder: tempfile::TempDir,
}

impl Person {
    /// Nothing is installed.
    async fn new() -> Self {
        // Somebody else may take it before the daemon does; then the test fails, and says so.
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let folder = scratch_folder("tabwire-it-pairing-");
        let this = Self { place: ProgramSandbox::with_port(port), port, folder };
        this.unpack(&this.place.home());
        fs::remove_file(this.extension().join("config.json")).unwrap();
        this
    }

    /// The host is installed for the browser.
    async fn with_host() -> Self {
        let this = Self::new().await;
        let ran = this.place.run(&["install"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let manifest = manifest_below(&this.profile());
        fs::create_dir_all(manifest.parent().unwrap()).unwrap();
        fs::copy(manifest_below(this.place.path()), manifest).unwrap();
        this
    }

    fn extension(&self) -> PathBuf {
        self.folder.path().join("extension")
    }

    fn profile(&self) -> PathBuf {
        self.folder.path().join("profile")
    }

    /// Writes the extension with the key of a state directory.
    fn unpack(&self, home: &StateDirectory) {
        let key = home.auth().extension_key(EXTENSION_ID);
        extension::unpack(&self.extension(), self.port, &key).unwrap();
    }

    /// Makes it an extension of another id, which this is. An extension without a key in its
    /// manifest gets its id from its place.
    fn change_id(&self) -> String {
        let path = self.extension().join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest.as_object_mut().unwrap().remove("key");
        // It is read-only.
        fs::remove_file(&path).unwrap();
        fs::write(path, manifest.to_string()).unwrap();
        let place = self.extension().canonicalize().unwrap();
        let digest = sha2::Sha256::digest(place.as_os_str().as_bytes());
        let digits = digest.iter().take(16).flat_map(|byte| [byte >> 4, byte & 15]);
        digits.map(|digit| char::from(b'a' + digit)).collect()
    }

    fn open_browser(&self, page: &str) -> Browser {
        let program = BrowserUser::lets_in(self.folder.path(), &chromium());
        Browser::launch(&program, &self.profile(), &self.extension(), page).unwrap()
    }

    /// Opens the popup of the extension with this id as a page.
    async fn open_popup(&self, id: &str) -> (Browser, BrowserUser) {
        let browser = self.open_browser("about:blank");
        let mut hand = BrowserUser::reach(&self.profile()).await;
        hand.go(&format!("chrome-extension://{id}/popup/popup.html")).await;
        (browser, hand)
    }
}

fn chromium() -> PathBuf {
    find_browser().expect("the tests need a Chromium: `make test` installs it on Debian")
}

/// Submits a command, which starts a daemon if there is none, and waits for the extension; what it
/// gave.
async fn act(agent: &mut StdioClient, mut arguments: Value) -> Value {
    arguments["wait_ms"] = 30_000.into();
    let call = json!({"jsonrpc": "2.0", "id": "act", "method": "tools/call",
                      "params": {"name": "interact", "arguments": arguments}});
    let answer = agent.try_rpc(&call).await.unwrap();
    let answer = &answer["result"]["structuredContent"];
    assert!(answer["status"].is_null() && !answer["result"].is_null(), "{answer}");
    answer["result"].clone()
}

async fn title(agent: &mut StdioClient) -> Value {
    act(agent, json!({"action": "execute_js", "script": "document.title"})).await
}

/// Waits until the popup says this somewhere.
async fn shows(hand: &mut BrowserUser, words: &str) {
    let here = format!("document.body.innerText.includes({})", json!(words));
    hand.becomes(&here, true).await;
}

/// Where the focus is.
async fn paste(hand: &mut BrowserUser, line: &str) {
    hand.type_text(line).await;
    hand.press("Enter", 1).await;
}

#[tokio::test]
async fn without_a_key_the_extension_gets_it_from_the_host_and_a_command_runs() {
    let person = Person::with_host().await;
    let pages = TestPages::start().await;
    let browser = person.open_browser(&pages.url("/"));
    let mut agent = StdioClient::start(&person.place);
    assert_eq!(title(&mut agent).await, "Home Page");
    browser.end().await;
}

#[tokio::test]
async fn after_unpair_a_running_extension_gets_the_new_key_by_itself() {
    let person = Person::with_host().await;
    person.unpack(&person.place.home());
    let pages = TestPages::start().await;
    let browser = person.open_browser(&pages.url("/"));
    let mut agent = StdioClient::start(&person.place);
    assert_eq!(title(&mut agent).await, "Home Page");

    // The file with the old key stays where it is.
    let ran = person.place.run(&["unpair"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(title(&mut agent).await, "Home Page");
    browser.end().await;
}

#[tokio::test]
async fn an_extension_of_another_id_is_told_nothing_and_its_person_why() {
    let person = Person::with_host().await;
    let id = person.change_id();
    assert_ne!(id, EXTENSION_ID);
    let mark = person.folder.path().join("started");
    mark_starts(&manifest_below(&person.profile()), &mark);
    let (browser, mut hand) = person.open_popup(&id).await;
    shows(&mut hand, "Not paired").await;
    shows(&mut hand, "extension of another id").await;
    assert!(!mark.exists(), "the browser does not even start the host");
    browser.end().await;
}

/// Has the host leave a mark when it is started.
fn mark_starts(manifest: &Path, mark: &Path) {
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    let wrapper = manifest["path"].as_str().unwrap();
    let script = fs::read_to_string(wrapper).unwrap();
    let marking = script.replacen('\n', &format!("\ntouch '{}'\n", mark.display()), 1);
    fs::write(wrapper, marking).unwrap();
    fs::set_permissions(wrapper, Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn a_pasted_line_connects_a_damaged_one_says_what_is_wrong_and_a_forgotten_one_is_gone() {
    let person = Person::new().await;
    let (browser, mut hand) = person.open_popup(EXTENSION_ID).await;
    shows(&mut hand, "Not paired").await;
    shows(&mut hand, "not installed for this browser").await;
    let line = person.place.run(&["pair"]).await.stdout;
    let line = line.lines().next().unwrap();

    hand.click("#line").await;
    paste(&mut hand, &line[..line.len() - 4]).await;
    shows(&mut hand, "cut off").await;
    shows(&mut hand, "Not paired").await;

    // The wrong one is selected: what is pasted takes its place.
    paste(&mut hand, line).await;
    let mut agent = StdioClient::start(&person.place);
    act(&mut agent, json!({"action": "tab_list"})).await;
    shows(&mut hand, "Connected").await;

    hand.click("#forget").await;
    shows(&mut hand, "Not paired").await;
    browser.end().await;
}
