//! An agent that has a picture written where programs read it on their own, or where a link leads.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tabwire::home::{FolderAccess, UsualFolder};

use testkit::{AutoExtension, ExtensionBuilder, McpClient, RowReport, TestDaemon, body, soon};

/// A picture that a shell would run line by line.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\ntouch /tmp/owned\n";

/// A daemon whose browser takes one and the same picture of everything, and a person's folders.
struct Stage {
    daemon: TestDaemon,
    client: McpClient,
    _browser: AutoExtension,
    _dir: tempfile::TempDir,
    person: PathBuf,
    opened: PathBuf,
}

/// A browser that takes one and the same picture of everything.
async fn takes_pictures(daemon: &TestDaemon) -> AutoExtension {
    let picture = json!({"mime_type": "image/png", "data": STANDARD.encode(PICTURE),
                         "width": 1, "height": 1});
    ExtensionBuilder::of(daemon).connect().await.auto(move |_| json!({"value": picture.clone()}))
}

impl Stage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let browser = takes_pictures(&daemon).await;
        let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
        let person = dir.path().to_owned();
        let opened = person.join("pictures");
        fs::create_dir(&opened).unwrap();
        daemon.home().open_agent_folder(&opened, &[FolderAccess::Write]).unwrap();
        let client = McpClient::legacy(&daemon);
        Self { daemon, client, _browser: browser, _dir: dir, person, opened }
    }

    async fn shot(&self, path: &str) -> Value {
        let shot = json!({"action": "screenshot", "path": path, "wait_ms": 20_000});
        body(&self.client.call_raw("interact", shot).await)
    }

    /// All files below the person's folders, with their modes.
    fn files(&self) -> Vec<(PathBuf, u32)> {
        let mut found = Vec::new();
        let mut folders = vec![self.person.clone(), self.daemon.home().dir().join("files")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let about = entry.path().symlink_metadata().unwrap();
                if about.is_dir() {
                    folders.push(entry.path());
                } else if about.is_file() {
                    found.push((entry.path(), about.permissions().mode() & 0o777));
                }
            }
        }
        found
    }
}

/// Names that must not be written, for a person whose home directory this is.
fn forbidden(stage: &Stage) -> Vec<String> {
    let person = stage.person.display();
    let opened = stage.opened.display();
    let state = stage.daemon.home().dir().display().to_string();
    let mut names: Vec<_> = [
        ".xsessionrc",
        ".bashrc",
        ".profile",
        ".config/autostart/x.desktop",
        ".ssh/authorized_keys",
        "bin/ls",
        "page.png",
        "x.png.sh",
    ]
    .iter()
    .flat_map(|name| [format!("{person}/{name}"), format!("{opened}/../{name}")])
    .collect();
    for name in [
        ".xsessionrc",
        ".hidden.png",
        ".git/page.png",
        "page.sh",
        "page",
        "page.png.desktop",
        "page.svg",
        "page.html",
        "page.jpg",
        "link/page.png",
        "link/deep/page.png",
        "link.png",
        "page.png\n",
        "a\u{1b}[2J.png",
        "../page.png",
        "none/page.png",
        "there.png/page.png",
    ] {
        names.push(format!("{opened}/{name}"));
    }
    names.extend([
        format!("{state}/page.png"),
        format!("{state}/extension/page.png"),
        format!("{state}/drawings/page.png"),
        "/etc/page.png".to_owned(),
        "/tmp/../etc/page.png".to_owned(),
        "../page.png".to_owned(),
        "../extension/page.png".to_owned(),
        "~/page.png".to_owned(),
        ".png".to_owned(),
        String::new(),
    ]);
    names
}

#[tokio::test]
async fn row_27_a_picture_goes_to_a_new_file_for_the_person_alone_below_an_opened_folder_only() {
    let stage = Stage::set().await;
    let theirs = stage.person.join("theirs");
    fs::create_dir_all(theirs.join("deep")).unwrap();
    symlink(&theirs, stage.opened.join("link")).unwrap();
    symlink(stage.person.join(".xsessionrc"), stage.opened.join("link.png")).unwrap();
    fs::write(stage.opened.join("there.png"), "theirs").unwrap();
    let before = stage.files();
    let mut row = RowReport::new(27);
    for name in forbidden(&stage) {
        let answer = stage.shot(&name).await;
        let is_refused = answer["error"] == "invalid_argument" && answer["param"] == "path";
        row.tried(&name, is_refused && answer["hint"].is_string(), &answer);
    }
    let there = stage.opened.join("there.png");
    let answer = stage.shot(there.to_str().unwrap()).await;
    row.tried("a file that is there", answer["error"] == "invalid_argument", &answer);
    let after = stage.files();
    row.tried("what is there", after == before, format!("{after:?}"));

    // Where it may write, it writes for nobody else.
    let page = stage.opened.join("page.png");
    let answer = stage.shot(page.to_str().unwrap()).await;
    assert_eq!(answer["result"]["value"]["path"], json!(page), "{answer}");
    let bare = stage.shot("bare.png").await;
    let usual = stage.daemon.home().dir().join("files/bare.png");
    assert_eq!(bare["result"]["value"]["path"], json!(usual.canonicalize().unwrap()), "{bare}");
    for path in [&page, &usual] {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        row.tried("the mode of a file", mode == 0o600, format!("{mode:o}"));
    }
    row.report();
    stage.daemon.stop().await;
}

#[tokio::test]
async fn row_27_no_folder_of_the_extension_gets_a_picture_whatever_the_person_opened() {
    let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
    let person = dir.path().canonicalize().unwrap();
    let base = person.clone();
    let daemon = TestDaemon::with(|settings| {
        settings.agent_files = UsualFolder { base, below: "Tabwire/files".into() };
    })
    .await;
    let _browser = takes_pictures(&daemon).await;
    let client = McpClient::legacy(&daemon);
    // The usual folder, and one that it was unpacked to last: a browser may use either.
    let folders = ["Tabwire/extension", "elsewhere"].map(|folder| person.join(folder));
    for folder in &folders {
        fs::create_dir_all(folder.join("icons")).unwrap();
    }
    daemon.home().note_unpacked(&folders[1]).unwrap();
    for opened in ["Tabwire", "elsewhere"] {
        // Before the extension came there; `tabwire files` opens neither now.
        daemon.home().open_agent_folder(&person.join(opened), &[FolderAccess::Write]).unwrap();
    }
    let shot = async |path: &Path| {
        let shot = json!({"action": "screenshot", "path": path, "wait_ms": 20_000});
        client.call_raw("interact", shot).await["structuredContent"].clone()
    };
    let mut row = RowReport::new(27);
    for folder in &folders {
        for name in ["page.png", "icons/page.png", "../extension/page.png"] {
            let answer = shot(&folder.join(name)).await;
            let is_refused = answer["error"] == "invalid_argument" && answer["param"] == "path";
            let is_there = folder.join(name).exists();
            row.tried(&folder.join(name).display().to_string(), is_refused && !is_there, &answer);
        }
    }
    let beside = person.join("Tabwire/page.png");
    assert_eq!(shot(&beside).await["result"]["value"]["path"], json!(beside), "the rest is open");
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn row_27_a_folder_that_becomes_a_link_while_the_picture_is_taken_gets_none() {
    let daemon = TestDaemon::start().await;
    let mut browser = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon);
    let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
    let (opened, theirs) = (dir.path().join("pictures"), dir.path().join("theirs"));
    fs::create_dir_all(opened.join("shop")).unwrap();
    fs::create_dir(&theirs).unwrap();
    daemon.home().open_agent_folder(&opened, &[FolderAccess::Write]).unwrap();
    let mut row = RowReport::new(27);
    for (n, name) in ["shop/page.png", "page.png"].into_iter().enumerate() {
        let path = opened.join(name);
        let shot = json!({"action": "screenshot", "path": path, "wait_ms": 20_000});
        let asked = client.call_raw("interact", shot);
        let answer = async {
            let command = soon("the command", browser.command()).await;
            let folder = path.parent().unwrap();
            fs::rename(folder, dir.path().join(format!("moved-{n}"))).unwrap();
            symlink(&theirs, folder).unwrap();
            let picture = json!({"mime_type": "image/png", "data": STANDARD.encode(PICTURE),
                                 "width": 1, "height": 1});
            browser.complete(&command, &json!({"value": picture})).await;
        };
        let (answer, ()) = tokio::join!(asked, answer);
        let value = &body(&answer)["result"]["value"];
        let is_refused = value["save_error"].is_string() && value["path"].is_null();
        row.tried(name, is_refused, &answer);
        let is_empty = fs::read_dir(&theirs).unwrap().next().is_none();
        row.tried("where the link leads", is_empty, "a file");
        // The next one goes to the folder itself.
        fs::remove_file(path.parent().unwrap()).unwrap();
    }
    row.report();
    daemon.stop().await;
}
