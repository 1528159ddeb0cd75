//! A program that names folders as those in which it works (`roots` of MCP), so that the person is
//! offered to open them; and an extension that makes such folders up.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, ProgramSandbox, RowReport, ServedDaemon,
    StdioClient, soon,
};

const SITE: &str = "https://shop.example";

/// A client over stdio that says in which folders it works, a browser, and the home of a person.
struct RootsStage {
    client: StdioClient,
    extension: FakeExtension,
    _daemon: ServedDaemon,
    place: ProgramSandbox,
    _dir: tempfile::TempDir,
    person: PathBuf,
    requests: u64,
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn uri(path: &Path) -> String {
    format!("file://{}", text(path))
}

/// An answer to the daemon's question that names these.
fn roots(uris: &[String]) -> Value {
    let roots: Vec<_> =
        uris.iter().map(|uri| json!({"uri": uri, "name": "\u{202e}<b>/"})).collect();
    json!({"result": {"roots": roots}})
}

impl RootsStage {
    async fn set() -> Self {
        let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
        let person = dir.path().canonicalize().unwrap().join("ann");
        fs::create_dir_all(person.join("shop/photos")).unwrap();
        fs::write(person.join("shop/photos/cat.png"), "cat").unwrap();
        let place = ProgramSandbox::new();
        let mut serve = place.command(&["serve", "--json"]);
        serve.env("HOME", &person);
        let daemon = place.serve_by(serve).await;
        let extension = ExtensionBuilder::at(daemon.port, &place.home());
        let extension = extension.actions(&["upload_file"]).connect().await;
        let mut client = StdioClient::start(&place);
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
                            "clientInfo": {"name": "it", "version": "1"}});
        client.rpc(json!(0), "initialize", params).await;
        Self { client, extension, _daemon: daemon, place, _dir: dir, person, requests: 0 }
    }

    fn cat(&self) -> String {
        text(&self.person.join("shop/photos/cat.png"))
    }

    async fn begin(&mut self, path: &str) -> DeliveredCommand {
        let call = json!({"action": "upload_file", "target": "b1", "paths": [path], "tab_id": 7,
                          "timeout_ms": 60_000, "wait_ms": 0});
        let accepted = self.client.call("interact", call).await;
        assert_eq!(accepted["status"], "queued", "{accepted}");
        loop {
            let frame = self.next_of("command").await;
            let command = DeliveredCommand::of(&frame);
            if accepted["correlation_id"] == command.id {
                return command;
            }
        }
    }

    /// A command that has begun, so that no look is too late for it.
    async fn begun(&mut self, path: &str) -> DeliveredCommand {
        let command = self.begin(path).await;
        self.extension.send(&command.answer("claim")).await;
        self.next_of("go").await;
        command
    }

    async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let frame = soon(kind, self.extension.next()).await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// The file of the question about this path, where the client answers the daemon so.
    async fn asked(&mut self, command: &DeliveredCommand, path: &str, answer: Value) -> Value {
        self.requests += 1;
        let fields = json!({"request": self.requests, "paths": [path], "site": SITE, "look": true});
        self.extension.send(&command.frame("upload_request", fields)).await;
        let mut question = self.client.read().await.unwrap();
        // The answer before may have taken the daemon too long, which has taken its question back.
        while question["method"] == "notifications/cancelled" {
            question = self.client.read().await.unwrap();
        }
        assert_eq!(question["method"], "roots/list", "{question}");
        let mut said = json!({"jsonrpc": "2.0", "id": question["id"]});
        said.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        self.client.send(&said).await;
        let copies = self.next_of("upload_copies").await;
        let asks = copies["asks"].as_array().unwrap_or_else(|| panic!("{copies}"));
        asks[0].clone()
    }

    /// Holds a command for this file.
    async fn hold_command(&mut self, command: &DeliveredCommand, file: &Value) {
        let need = json!({"kind": "file", "site": SITE, "document": "d1", "files": [file]});
        self.extension.send(&command.frame("hold", json!({"need": need}))).await;
        self.next_of("asks").await;
    }

    async fn says(&mut self, command: &DeliveredCommand, consent: &str) {
        let answer = json!({"kind": "consent", "consent": consent});
        let said = json!({"type": "ask_answer", "correlation_id": command.id, "answer": answer});
        self.extension.send(&said).await;
        self.extension.so_far().await;
    }

    async fn is_held(&mut self, command: &DeliveredCommand) -> bool {
        let what = json!({"what": "command_result", "correlation_id": command.id, "wait_ms": 0});
        self.client.call("observe", what).await["status"] == "waiting_for_user"
    }

    fn opened(&self) -> Vec<PathBuf> {
        self.place.home().agent_folders().unwrap().read
    }
}

fn nowhere(n: usize) -> Vec<String> {
    vec!["file:///nowhere".to_owned(); n]
}

/// Answers of which the person gets no proposal.
fn bad_answers(stage: &RootsStage) -> Vec<(&'static str, Value)> {
    let (cat, shop) = (stage.cat(), stage.person.join("shop"));
    let last = nowhere(9_999).into_iter().chain([uri(&shop)]).collect::<Vec<_>>();
    vec![
        ("everything", roots(&["file:///".to_owned()])),
        ("the home", roots(&[uri(&stage.person)])),
        ("the folder of homes", roots(&[uri(stage.person.parent().unwrap())])),
        ("the home by a link", roots(&[uri(&stage.person.join("innocent"))])),
        ("the project by a link", roots(&[uri(&stage.person.join("link"))])),
        ("a way up", roots(&[format!("{}/photos/..", uri(&shop))])),
        ("a way up, encoded", roots(&[format!("{}/photos/%2e%2e", uri(&shop))])),
        ("a slash, encoded", roots(&[uri(&shop).replace("/shop", "%2fshop")])),
        ("another computer", roots(&[uri(&shop).replace("file://", "file://evil")])),
        ("another scheme", roots(&[uri(&shop).replace("file://", "https://")])),
        ("a path", roots(&[text(&shop)])),
        (
            "a name of two readings",
            roots(&[format!("{}?x", uri(&shop)), format!("{}#x", uri(&shop))]),
        ),
        (
            "a folder beside",
            roots(&[uri(&stage.person.join("sho")), uri(&stage.person.join("none"))]),
        ),
        ("the file itself", roots(&[format!("file://{cat}")])),
        ("a list of 10,000", roots(&last)),
        ("a URI of 100 kB", roots(&[format!("file://{}", "/".repeat(100_000))])),
        ("no list", json!({"result": {"roots": {"uri": uri(&shop)}}})),
        ("no URIs", json!({"result": {"roots": [uri(&shop), 7, null, {"uri": [uri(&shop)]}]}})),
        ("no result", json!({"result": uri(&shop)})),
        ("an error", json!({"error": {"code": -32601, "message": uri(&shop)}})),
        (
            "an error and a result",
            json!({"result": {"roots": [{"uri": uri(&shop)}]}, "error": {"code": 1, "message": ""}}),
        ),
    ]
}

#[tokio::test]
async fn row_46_a_program_names_no_folder_to_the_person_that_could_not_be_opened() {
    let mut stage = RootsStage::set().await;
    let (cat, shop) = (stage.cat(), stage.person.join("shop"));
    symlink(&stage.person, stage.person.join("innocent")).unwrap();
    symlink(&shop, stage.person.join("link")).unwrap();
    let command = stage.begun(&cat).await;
    let mut row = RowReport::new(46);
    for (what, answer) in bad_answers(&stage) {
        let file = stage.asked(&command, &cat, answer).await;
        let is_refused = file["path"] == cat && file["root"].is_null();
        row.tried(what, is_refused, &file);
    }
    // Above the state directory, where a file can be asked about.
    let beside = stage.place.path().parent().unwrap().canonicalize().unwrap();
    let beside = tempfile::Builder::new().prefix("tabwire-it-").tempdir_in(beside).unwrap();
    fs::create_dir(beside.path().join("photos")).unwrap();
    let path = text(&beside.path().canonicalize().unwrap().join("photos/dog.png"));
    fs::write(&path, "dog").unwrap();
    stage.extension.complete(&command, &json!({"value": {}})).await;
    let near = stage.begun(&path).await;
    let above = stage.place.path().canonicalize().unwrap();
    let above = roots(&[uri(above.parent().unwrap()), uri(&above)]);
    let file = stage.asked(&near, &path, above).await;
    row.tried("above the state folder", file["root"].is_null(), &file);
    stage.extension.complete(&near, &json!({"value": {}})).await;
    let command = stage.begun(&cat).await;
    // A folder of somebody else: `/tmp` of root, or one that is given away by root.
    if rustix::process::geteuid().is_root() {
        chown(&shop, Some(1), None).unwrap();
        let file = stage.asked(&command, &cat, roots(&[uri(&shop)])).await;
        row.tried("a folder of somebody else", file["root"].is_null(), &file);
        chown(&shop, Some(0), None).unwrap();
    } else {
        let file = stage.asked(&command, &cat, roots(&["file:///tmp".to_owned()])).await;
        row.tried("a folder of somebody else", file["root"].is_null(), &file);
    }
    row.tried("the open folders", stage.opened().is_empty(), format!("{:?}", stage.opened()));
    // Of the first 50 the deepest that can be opened is offered, and the file's own only once.
    let first = [uri(&stage.person), uri(&shop)].into_iter().chain(nowhere(100));
    let file = stage.asked(&command, &cat, roots(&first.collect::<Vec<_>>())).await;
    assert_eq!(file["root"], text(&shop), "{file}");
    assert!(!file.to_string().contains("<b>"), "a root's `name` is in no question: {file}");
    let own = [uri(&shop), uri(&shop.join("photos"))];
    let file = stage.asked(&command, &cat, roots(&own)).await;
    assert_eq!((&file["root"], &file["may_open_folder"]), (&Value::Null, &json!(true)), "{file}");
    row.report();
}

type MadeUpFolder = fn(&RootsStage) -> PathBuf;

#[tokio::test]
async fn row_46_an_extension_that_makes_up_a_folder_has_the_person_open_none_that_stays_closed() {
    let mut row = RowReport::new(46);
    let made_up: [(&str, MadeUpFolder); 7] = [
        ("everything", |_| "/".into()),
        ("the home", |stage| stage.person.clone()),
        ("the state folder", |stage| stage.place.home().dir().to_owned()),
        ("a link", |stage| stage.person.join("link")),
        ("a folder beside", |stage| stage.person.join("other")),
        ("the file", |stage| stage.cat().into()),
        ("a path from nowhere on", |_| "shop".into()),
    ];
    for (what, folder) in made_up {
        let mut stage = RootsStage::set().await;
        let cat = stage.cat();
        fs::create_dir(stage.person.join("other")).unwrap();
        symlink(stage.person.join("shop"), stage.person.join("link")).unwrap();
        let command = stage.begin(&cat).await;
        let mut file = stage.asked(&command, &cat, roots(&[])).await;
        file["root"] = text(&folder(&stage)).into();
        stage.hold_command(&command, &file).await;
        stage.says(&command, "root").await;
        let is_refused = stage.opened().is_empty() && stage.is_held(&command).await;
        row.tried(what, is_refused, format!("{:?}", stage.opened()));
    }
    let mut stage = RootsStage::set().await;
    let cat = stage.cat();
    let command = stage.begin(&cat).await;
    let file = stage.asked(&command, &cat, roots(&[])).await;
    stage.hold_command(&command, &file).await;
    stage.says(&command, "root").await;
    let is_refused = stage.opened().is_empty() && stage.is_held(&command).await;
    row.tried("none", is_refused, format!("{:?}", stage.opened()));
    row.report();
}

#[tokio::test]
async fn row_46_a_program_that_names_a_folder_opens_nothing_and_the_persons_word_opens_that_one_only()
 {
    let mut stage = RootsStage::set().await;
    let (cat, shop) = (stage.cat(), stage.person.join("shop"));
    let mut row = RowReport::new(46);
    let command = stage.begin(&cat).await;
    let file = stage.asked(&command, &cat, roots(&[uri(&shop)])).await;
    assert_eq!(file["root"], text(&shop), "{file}");
    stage.hold_command(&command, &file).await;
    row.tried("the name alone", stage.opened().is_empty(), format!("{:?}", stage.opened()));

    // A link in the place of the folder since the question.
    fs::rename(&shop, stage.person.join("moved")).unwrap();
    symlink(&stage.person, &shop).unwrap();
    stage.says(&command, "root").await;
    let is_refused = stage.opened().is_empty() && stage.is_held(&command).await;
    row.tried("a link since the question", is_refused, format!("{:?}", stage.opened()));
    fs::remove_file(&shop).unwrap();
    fs::rename(stage.person.join("moved"), &shop).unwrap();

    stage
        .extension
        .send(&json!({"type": "ask_answer", "correlation_id": command.id,
                                 "answer": {"kind": "consent", "consent": "root"}}))
        .await;
    stage.next_of("command").await;
    assert_eq!(stage.opened(), [shop], "as the person has said");
    row.report();
}
