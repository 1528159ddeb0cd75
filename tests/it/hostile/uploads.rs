//! An agent that gives a page files that no person opened to it, and an extension that asks for files
//! of no command.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::home::FolderAccess;

use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, McpClient, RowReport, TestDaemon,
    active_tab, body, raw, soon, tab, until,
};

/// A daemon with a browser, and a person's folders: `shop` is open for reading.
struct Stage {
    daemon: TestDaemon,
    client: McpClient,
    extension: FakeExtension,
    _dir: tempfile::TempDir,
    person: PathBuf,
    shop: PathBuf,
    requests: u64,
}

fn browser(daemon: &TestDaemon) -> ExtensionBuilder {
    ExtensionBuilder::of(daemon).actions(&["upload_file"])
}

impl Stage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let extension = browser(&daemon).connect().await;
        let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
        let person = dir.path().canonicalize().unwrap();
        let shop = person.join("shop");
        fs::create_dir(&shop).unwrap();
        fs::write(shop.join("cat.png"), "cat").unwrap();
        fs::write(person.join("secret"), "secret").unwrap();
        daemon.home().open_agent_folder(&shop, &[FolderAccess::Read]).unwrap();
        let client = McpClient::legacy(&daemon);
        Self { daemon, client, extension, _dir: dir, person, shop, requests: 0 }
    }

    /// Has the browser run `upload_file` with these paths.
    async fn begin(&mut self, paths: &[&str]) -> DeliveredCommand {
        let call = json!({"action": "upload_file", "target": "b1", "paths": paths, "tab_id": 7,
                          "wait_ms": 0});
        let accepted = body(&self.client.call_raw("interact", call).await);
        assert_eq!(accepted["status"], "queued", "{accepted}");
        soon("the command", self.extension.command()).await
    }

    /// Asks for files as the command's extension does; the daemon's answer.
    async fn ask(&mut self, command: &DeliveredCommand, paths: &[&str]) -> Value {
        self.requests += 1;
        let fields = json!({"request": self.requests, "paths": paths,
                            "site": "https://shop.example"});
        self.extension.send(&command.frame("upload_request", fields)).await;
        let answer = soon("the copies", self.extension.next()).await;
        assert_eq!(
            (&answer["type"], &answer["request"]),
            (&json!("upload_copies"), &json!(self.requests))
        );
        answer
    }

    /// What a page would get of these files.
    async fn upload(&mut self, paths: &[&str]) -> Value {
        let command = self.begin(paths).await;
        self.extension.claim(&command).await;
        let answer = self.ask(&command, paths).await;
        self.extension.complete(&command, &json!({"value": {}})).await;
        answer
    }

    /// The copies that there are.
    fn copies(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.daemon.home().dir().join("uploads"));
        let folders = folders.into_iter().flatten().flatten();
        folders
            .flat_map(|folder| fs::read_dir(folder.path()).unwrap())
            .map(|file| file.unwrap().path())
            .collect()
    }

    fn at(&self, name: &str) -> String {
        text(&self.shop.join(name))
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Whether nothing was given, for this reason, and the next step is named.
fn is_refused(answer: &Value, code: &str) -> bool {
    let error = &answer["error"];
    let has_step = error["hint"].as_str().is_some_and(|hint| !hint.is_empty());
    answer["files"] == json!([]) && error["code"] == code && has_step
}

#[tokio::test]
async fn row_38_a_page_gets_files_below_folders_that_a_person_opened_and_no_others() {
    let mut stage = Stage::set().await;
    let at = |name: &str| stage.shop.join(name);
    fs::create_dir_all(at(".git")).unwrap();
    fs::create_dir_all(at("profile/Default")).unwrap();
    fs::create_dir_all(at("real")).unwrap();
    for file in
        [".env", ".git/config", "profile/Local State", "profile/Default/Cookies", "real/dog.png"]
    {
        fs::write(at(file), "secret").unwrap();
    }
    symlink(stage.person.join("secret"), at("link")).unwrap();
    symlink(&stage.person, at("folder-link")).unwrap();
    symlink("real", at("inner-link")).unwrap();
    fs::hard_link(stage.person.join("secret"), at("second-name")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let state = stage.daemon.home().dir().to_owned();
    let mut row = RowReport::new(38);
    for (path, code) in [
        (text(&stage.person.join("secret")), "file_not_allowed"),
        (text(&stage.person.join("shop-else/cat.png")), "file_not_allowed"),
        (text(&state.join("auth.key")), "file_not_allowed"),
        ("/etc/passwd".to_owned(), "file_not_allowed"),
        ("/dev/zero".to_owned(), "file_not_allowed"),
        ("/proc/self/environ".to_owned(), "file_not_allowed"),
        ("~/cat.png".to_owned(), "file_not_allowed"),
        ("cat.png".to_owned(), "file_not_allowed"),
        (String::new(), "file_not_allowed"),
        (stage.at("../secret"), "file_not_allowed"),
        (stage.at("real/../../secret"), "file_not_allowed"),
        (stage.at(".env"), "file_not_allowed"),
        (stage.at(".git/config"), "file_not_allowed"),
        (stage.at("profile/Default/Cookies"), "file_not_allowed"),
        (stage.at("link"), "file_not_allowed"),
        (stage.at("folder-link/secret"), "file_not_allowed"),
        (stage.at("inner-link/dog.png"), "file_not_allowed"),
        (stage.at("second-name"), "file_not_allowed"),
        (stage.at("pipe"), "file_not_allowed"),
        (stage.at("real"), "file_not_allowed"),
        (stage.at(""), "file_not_allowed"),
        (stage.at("cat.png\n"), "file_not_allowed"),
        (stage.at("none.png"), "file_not_found"),
    ] {
        let answer = stage.upload(&[&path]).await;
        row.tried(&path, is_refused(&answer, code), &answer);
        // One file that is closed keeps the others back.
        let answer = stage.upload(&[&stage.at("cat.png"), &path]).await;
        row.tried(&format!("cat.png and {path}"), is_refused(&answer, code), &answer);
    }
    let secret = stage.upload(&[&text(&stage.person.join("secret"))]).await;
    let hint = secret["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("tabwire files allow") && hint.contains("--read"), "{secret}");
    row.tried("the copies", stage.copies().is_empty(), format!("{:?}", stage.copies()));

    let given = stage.upload(&[&stage.at("cat.png"), &stage.at("real/dog.png")]).await;
    let (cat, dog) = (&given["files"][0], &given["files"][1]);
    assert_eq!(
        (&cat["name"], &cat["size"], &dog["name"]),
        (&json!("cat.png"), &json!(3), &json!("dog.png")),
        "{given}"
    );
    let copy = Path::new(cat["path"].as_str().unwrap());
    assert!(copy.starts_with(&state) && copy.ends_with("cat.png"), "{given}");
    assert_eq!(fs::read(copy).unwrap(), b"cat");
    assert_eq!(fs::metadata(copy).unwrap().permissions().mode() & 0o777, 0o600);
    stage.daemon.home().close_agent_folder(&stage.shop, &FolderAccess::ALL).unwrap();
    let closed = stage.upload(&[&stage.at("cat.png")]).await;
    row.tried("a closed folder", is_refused(&closed, "file_not_allowed"), &closed);
    row.report();
    stage.daemon.stop().await;
}

#[tokio::test]
async fn row_38_an_extension_gets_files_of_the_command_that_it_runs_and_of_no_other() {
    let mut stage = Stage::set().await;
    fs::write(stage.shop.join("dog.png"), "dog").unwrap();
    let (cat, dog) = (stage.at("cat.png"), stage.at("dog.png"));
    let mut row = RowReport::new(38);
    let command = stage.begin(&[&cat]).await;
    let early = stage.ask(&command, &[&cat]).await;
    row.tried("before its claim", is_refused(&early, "internal"), &early);
    stage.extension.claim(&command).await;
    for paths in [&[&*dog][..], &[&*cat, &*dog], &[]] {
        let other = stage.ask(&command, paths).await;
        row.tried(&format!("{paths:?}"), is_refused(&other, "internal"), &other);
    }
    let another = DeliveredCommand { id: command.id.clone(), attempt: 2, command: Value::Null };
    let other = stage.ask(&another, &[&cat]).await;
    row.tried("another attempt", is_refused(&other, "internal"), &other);
    // Another browser, whose extension knows the id.
    let beside = browser(&stage.daemon).browser("b_beside").connect().await;
    let own = std::mem::replace(&mut stage.extension, beside);
    let other = stage.ask(&command, &[&cat]).await;
    row.tried("another browser", is_refused(&other, "internal"), &other);
    stage.extension = own;
    let given = stage.ask(&command, &[&cat]).await;
    assert_eq!(given["files"][0]["name"], "cat.png", "{given}");
    let story = story(&stage, &command.id).await;
    let file = json!({"name": "cat.png", "size": 3, "site": "https://shop.example"});
    assert_eq!(story["files"], json!([file]), "{story}");
    stage.extension.complete(&command, &json!({"value": {}})).await;
    let late = stage.ask(&command, &[&cat]).await;
    row.tried("after its end", is_refused(&late, "internal"), &late);
    let unknown = DeliveredCommand { id: "file_1_0".to_owned(), attempt: 1, command: Value::Null };
    let unknown = stage.ask(&unknown, &[&cat]).await;
    row.tried("no command", is_refused(&unknown, "internal"), &unknown);
    row.tried("the copies", stage.copies().len() == 1, format!("{:?}", stage.copies()));
    // With its tab the copy goes.
    stage.extension.set_tabs(&[tab(7), active_tab(8)]).await;
    stage.extension.so_far().await;
    assert_eq!(stage.copies().len(), 1);
    stage.extension.set_tabs(&[active_tab(8)]).await;
    until(async || stage.copies().is_empty()).await;
    row.report();
    stage.daemon.stop().await;
}

/// The timeline of a command, as `tabwire trace` shows it.
async fn story(stage: &Stage, id: &str) -> Value {
    let line = format!("GET /api/commands/{id} HTTP/1.1");
    let head = [&*line, "Host: HOST", "Authorization: Bearer TOKEN"];
    raw(&stage.daemon, &head, b"").await.json()
}

#[tokio::test]
async fn row_38_files_are_copied_again_for_a_command_that_outlives_its_daemon() {
    let mut stage = Stage::set().await;
    let cat = stage.at("cat.png");
    let command = stage.begin(&[&cat]).await;
    stage.extension.claim(&command).await;
    let first = stage.ask(&command, &[&cat]).await;
    let copy = PathBuf::from(first["files"][0]["path"].as_str().unwrap());
    stage.daemon = stage.daemon.restart().await;
    assert!(copy.exists(), "a page may hold it");
    stage.extension = browser(&stage.daemon).connect_with(&[(&command, "running")]).await;
    let again = stage.ask(&command, &[&cat]).await;
    assert_eq!(again["files"][0]["name"], "cat.png", "{again}");
    stage.daemon.stop().await;
}
