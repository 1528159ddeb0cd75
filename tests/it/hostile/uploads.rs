//! An agent that gives a page files that no person opened to it, and an extension that asks for files
//! of no command.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::home::FolderAccess;

use super::accepting_client::try_acceptance;
use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, McpClient, RowReport, TestDaemon,
    active_tab, answer_ask, body, cli_of, finish, raw, soon, tab, until,
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

const SITE: &str = "https://shop.example";

/// Questions about files.
impl Stage {
    /// The next frame of this type, past those about questions.
    async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let frame = soon(kind, self.extension.next()).await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// As `ask`, past frames about questions.
    async fn request(
        &mut self,
        command: &DeliveredCommand,
        paths: &[&str],
        fields: Value,
    ) -> Value {
        self.requests += 1;
        let mut asked = json!({"request": self.requests, "paths": paths, "site": SITE});
        asked.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.extension.send(&command.frame("upload_request", asked)).await;
        self.next_of("upload_copies").await
    }

    async fn look(&mut self, command: &DeliveredCommand, paths: &[&str]) -> Value {
        self.request(command, paths, json!({"look": true})).await
    }

    /// A command for these files about which the person is asked.
    async fn hold(&mut self, paths: &[&str]) -> DeliveredCommand {
        let command = self.begin(paths).await;
        let looked = self.look(&command, paths).await;
        assert!(looked["error"].is_null() && looked["asks"] != json!([]), "{looked}");
        let need = json!({"kind": "file", "site": SITE, "document": "d1", "files": looked["asks"]});
        self.extension.send(&command.frame("hold", json!({"need": need}))).await;
        let asks = self.next_of("asks").await;
        let shown = &asks["asks"][0]["need"]["files"];
        assert_eq!(shown, &looked["asks"], "{asks}");
        command
    }

    /// The person's word in a page of the extension.
    async fn says(&mut self, command: &DeliveredCommand, consent: &str) {
        let answer = json!({"kind": "consent", "consent": consent});
        let said = json!({"type": "ask_answer", "correlation_id": command.id, "answer": answer});
        self.extension.send(&said).await;
    }

    /// The command as it comes after the person's word, and runs.
    async fn goes_on(&mut self, command: &DeliveredCommand) -> DeliveredCommand {
        let next = DeliveredCommand::of(&self.next_of("command").await);
        assert_eq!(next.id, command.id);
        self.extension.send(&next.answer("claim")).await;
        self.next_of("go").await;
        next
    }

    async fn allowed_once(&mut self, paths: &[&str]) -> DeliveredCommand {
        let command = self.hold(paths).await;
        self.says(&command, "once").await;
        self.goes_on(&command).await
    }

    async fn done(&mut self, command: &DeliveredCommand) {
        self.extension.complete(command, &json!({"value": {}})).await;
    }

    async fn is_held(&self, command: &DeliveredCommand) -> bool {
        self.client.status(&command.id).await["status"] == "waiting_for_user"
    }

    fn opened(&self) -> Vec<PathBuf> {
        self.daemon.home().agent_folders().unwrap().read
    }
}

#[tokio::test]
async fn row_46_no_program_answers_in_the_place_of_the_person_and_without_a_word_no_file_goes() {
    let mut stage = Stage::set().await;
    let secret = text(&stage.person.join("secret"));
    let mut row = RowReport::new(46);
    let command = stage.begin(&[&secret]).await;
    stage.extension.claim(&command).await;
    let unasked = stage.ask(&command, &[&secret]).await;
    row.tried("an extension that asks nobody", is_refused(&unasked, "file_not_allowed"), &unasked);
    stage.done(&command).await;

    let command = stage.hold(&[&secret]).await;
    let early = stage.request(&command, &[&secret], json!({})).await;
    row.tried("before the word", is_refused(&early, "internal"), &early);
    for consent in ["once", "folder", "root", "session", "always"] {
        let answer = json!({"kind": "consent", "consent": consent});
        let answered = answer_ask(&stage.daemon, &command.id, &answer).await;
        let refused = answered.status == 403 && stage.is_held(&command).await;
        row.tried(&format!("a program with the token: {consent}"), refused, &answered.body);
    }
    let words = ["once", "root"].map(|consent| json!({"kind": "consent", "consent": consent}));
    let is_held = async || stage.is_held(&command).await;
    try_acceptance(&mut row, &stage.daemon, &command.id, &words, is_held).await;
    let ran = finish(cli_of(&stage.daemon, &["asks", "decline", &command.id])).await;
    row.tried(
        "a program at a terminal",
        ran.code == Some(1) && stage.is_held(&command).await,
        &ran.stderr,
    );
    // No word on files is kept.
    for consent in ["session", "always", "never"] {
        stage.says(&command, consent).await;
        row.tried(
            &format!("a word that would be kept: {consent}"),
            stage.is_held(&command).await,
            consent,
        );
    }
    row.tried(
        "the open folders",
        stage.opened() == [stage.shop.clone()],
        format!("{:?}", stage.opened()),
    );
    stage.says(&command, "deny").await;
    let denied = stage.client.outcome(&command.id).await;
    row.tried("No", denied["reason"] == "denied_by_user", &denied);
    row.tried("the copies", stage.copies().is_empty(), format!("{:?}", stage.copies()));
    row.report();
    stage.daemon.stop().await;
}

type FileSwap = fn(&Path);

/// Ways to put another file in the place of one that the person was asked about.
fn swaps() -> Vec<(&'static str, FileSwap)> {
    vec![
        ("other bytes, of the same length and time", |path| {
            let before = fs::metadata(path).unwrap().modified().unwrap();
            fs::write(path, "SECRET").unwrap();
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(before).unwrap();
        }),
        ("more bytes", |path| fs::write(path, "secret and more").unwrap()),
        ("another file", |path| {
            fs::write(path.with_extension("new"), "SECRET").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("a link", |path| {
            fs::rename(path, path.with_extension("old")).unwrap();
            symlink(path.with_extension("old"), path).unwrap();
        }),
        ("a second name", |path| fs::hard_link(path, path.with_extension("two")).unwrap()),
        ("nothing", |path| fs::remove_file(path).unwrap()),
        ("a link in the place of its folder", |path| {
            let folder = path.parent().unwrap();
            fs::rename(folder, folder.with_extension("old")).unwrap();
            symlink(folder.with_extension("old"), folder).unwrap();
        }),
    ]
}

#[tokio::test]
async fn row_46_the_file_that_goes_is_the_one_that_the_person_was_asked_about() {
    let mut stage = Stage::set().await;
    let mut row = RowReport::new(46);
    for (number, (what, swap)) in swaps().into_iter().enumerate() {
        let folder = stage.person.join(format!("folder{number}"));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("letter.txt");
        fs::write(&path, "letter").unwrap();
        let name = text(&path);
        let command = stage.hold(&[&name]).await;
        swap(&path);
        stage.says(&command, "once").await;
        let command = stage.goes_on(&command).await;
        let looked = stage.look(&command, &[&name]).await;
        row.tried(&format!("{what}, looked at"), is_refused(&looked, "file_changed"), &looked);
        let copied = stage.request(&command, &[&name], json!({})).await;
        row.tried(what, is_refused(&copied, "file_changed"), &copied);
        stage.done(&command).await;
    }
    let (letter, other) =
        (text(&stage.person.join("letter.txt")), text(&stage.person.join("secret")));
    fs::write(&letter, "letter").unwrap();
    let command = stage.allowed_once(&[&letter]).await;
    let elsewhere = json!({"site": "https://other.example"});
    let copied = stage.request(&command, &[&letter], elsewhere).await;
    row.tried("for another site", is_refused(&copied, "file_not_allowed"), &copied);
    let copied = stage.request(&command, &[&other], json!({})).await;
    row.tried("another file", is_refused(&copied, "internal"), &copied);
    row.tried("the copies", stage.copies().is_empty(), format!("{:?}", stage.copies()));
    let looked = stage.look(&command, &[&letter]).await;
    assert!(looked["error"].is_null() && looked["asks"].is_null(), "{looked}");
    let copied = stage.request(&command, &[&letter], json!({})).await;
    let copy = copied["files"][0]["path"].as_str().unwrap();
    assert_eq!(fs::read(copy).unwrap(), b"letter", "{copied}");
    stage.done(&command).await;
    // The word was for this command.
    let again = stage.begin(&[&letter]).await;
    let looked = stage.look(&again, &[&letter]).await;
    row.tried("another command", looked["asks"][0]["path"] == letter, &looked);
    stage.extension.claim(&again).await;
    let copied = stage.ask(&again, &[&letter]).await;
    row.tried("another command, unasked", is_refused(&copied, "file_not_allowed"), &copied);
    row.report();
    stage.daemon.stop().await;
}

/// The state of a file, as the daemon notes it.
fn mark_of(path: &str) -> String {
    let Ok(found) = fs::metadata(path) else { return "gone".to_owned() };
    let (dev, ino, length) = (found.dev(), found.ino(), found.len());
    let modified = format!("{}.{}", found.mtime(), found.mtime_nsec());
    format!("{dev}:{ino}:{length}:{modified}:{}.{}", found.ctime(), found.ctime_nsec())
}

#[tokio::test]
async fn row_46_files_that_can_never_be_opened_are_refused_before_anybody_is_asked() {
    let mut stage = Stage::set().await;
    let at = |name: &str| stage.person.join(name);
    fs::create_dir_all(at(".ssh")).unwrap();
    fs::create_dir_all(at("profile/Default")).unwrap();
    for file in [
        ".ssh/id",
        ".env",
        "profile/Local State",
        "profile/Default/Cookies",
        "turned\u{202e}gnp.sh",
    ] {
        fs::write(at(file), "secret").unwrap();
    }
    symlink(at("secret"), at("link")).unwrap();
    symlink(&stage.shop, at("folder-link")).unwrap();
    fs::write(at("twice"), "secret").unwrap();
    fs::hard_link(at("twice"), at("second-name")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    fs::File::create(at("huge")).unwrap().set_len(101 * 1024 * 1024).unwrap();
    let mut row = RowReport::new(46);
    let state = stage.daemon.home().dir().to_owned();
    for path in [
        state.join("auth.key"),
        state.join("journal.db"),
        at(".ssh/id"),
        at(".env"),
        at("profile/Default/Cookies"),
        at("link"),
        at("folder-link/cat.png"),
        at("second-name"),
        at("pipe"),
        at("profile"),
        at("huge"),
        at("absent"),
        at("turned\u{202e}gnp.sh"),
        at("shop/../secret"),
        "secret".into(),
        "/proc/self/environ".into(),
        "/sys/kernel/profiling".into(),
        "/dev/zero".into(),
        "/".into(),
    ] {
        let path = text(&path);
        let command = stage.begin(&[&path]).await;
        let looked = stage.look(&command, &[&path]).await;
        row.tried(&format!("{path}, looked at"), is_refused(&looked, "file_not_allowed"), &looked);
        // An extension that asks all the same, and a person who allows that.
        let shown = if path.contains('\u{202e}') { "/cat.png" } else { &path };
        let file =
            json!({"path": shown, "size": 6, "mark": mark_of(&path), "may_open_folder": true});
        let need = json!({"kind": "file", "site": SITE, "files": [file]});
        stage.extension.send(&command.frame("hold", json!({"need": need}))).await;
        stage.says(&command, "once").await;
        let command = stage.goes_on(&command).await;
        let copied = stage.request(&command, &[&path], json!({})).await;
        let codes = ["file_not_allowed", "file_changed", "file_too_large"];
        row.tried(&path, codes.iter().any(|code| is_refused(&copied, code)), &copied);
        stage.done(&command).await;
    }
    row.tried("the copies", stage.copies().is_empty(), format!("{:?}", stage.copies()));
    row.report();
    stage.daemon.stop().await;
}

#[tokio::test]
async fn row_46_this_folder_opens_the_folder_that_the_person_has_read_and_no_other() {
    let mut stage = Stage::set().await;
    let folder = stage.person.join("papers");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("letter.txt"), "letter").unwrap();
    let letter = text(&folder.join("letter.txt"));
    let mut row = RowReport::new(46);
    let command = stage.hold(&[&letter]).await;
    fs::rename(&folder, stage.person.join("moved")).unwrap();
    symlink(&stage.person, &folder).unwrap();
    stage.says(&command, "folder").await;
    stage.extension.so_far().await;
    let refused = stage.opened() == [stage.shop.clone()] && stage.is_held(&command).await;
    row.tried("a link in the place of the folder", refused, format!("{:?}", stage.opened()));
    fs::remove_file(&folder).unwrap();
    fs::rename(stage.person.join("moved"), &folder).unwrap();
    stage.says(&command, "folder").await;
    let command = stage.goes_on(&command).await;
    assert_eq!(stage.opened(), [stage.shop.clone(), folder.clone()]);
    let copied = stage.request(&command, &[&letter], json!({})).await;
    assert_eq!(copied["files"][0]["name"], "letter.txt", "{copied}");
    stage.done(&command).await;
    assert_eq!(stage.upload(&[&letter]).await["files"][0]["size"], 6, "the rule stays");
    let outside = text(&stage.person.join("secret"));
    let closed = stage.upload(&[&outside]).await;
    row.tried("a file beside the folder", is_refused(&closed, "file_not_allowed"), &closed);
    row.report();
    stage.daemon.stop().await;
}

#[tokio::test]
async fn row_46_a_question_about_a_file_ends_with_its_command_and_outlives_its_daemon() {
    let mut stage = Stage::set().await;
    let secret = text(&stage.person.join("secret"));
    let mut row = RowReport::new(46);
    let command = stage.hold(&[&secret]).await;
    assert_eq!(stage.client.cancel(&command.id).await["status"], "cancelled");
    stage.says(&command, "once").await;
    stage.says(&command, "folder").await;
    let late = stage.request(&command, &[&secret], json!({})).await;
    row.tried("a word on a cancelled command", is_refused(&late, "internal"), &late);
    row.tried(
        "its folder",
        stage.opened() == [stage.shop.clone()],
        format!("{:?}", stage.opened()),
    );

    let held = stage.hold(&[&secret]).await;
    stage.daemon = stage.daemon.restart().await;
    stage.client = McpClient::legacy(&stage.daemon);
    stage.extension = browser(&stage.daemon).connect().await;
    assert!(stage.is_held(&held).await);
    stage.says(&held, "once").await;
    let next = stage.goes_on(&held).await;
    let copied = stage.request(&next, &[&secret], json!({})).await;
    assert_eq!(copied["files"][0]["name"], "secret", "{copied}");
    row.report();
    stage.daemon.stop().await;
}
