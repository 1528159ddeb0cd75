//! `tabwire files`: the folders that a person opens to agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use testkit::{ProgramOutput, ProgramSandbox};

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A person's folders. None of their names begins with a dot.
fn temporary() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap()
}

async fn files(place: &ProgramSandbox, arguments: &[&str]) -> ProgramOutput {
    place.run(&[&["files"], arguments].concat()).await
}

async fn listed(place: &ProgramSandbox) -> Value {
    json_of(&files(place, &["--json"]).await.stdout)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn no_folder_is_open_for_reading_until_a_person_opens_it_and_the_question_makes_nothing() {
    let place = ProgramSandbox::new();
    let before = listed(&place).await;
    assert_eq!((&before["read"], &before["write"]), (&json!([]), &json!([])), "{before}");
    let shown = files(&place, &[]).await.stdout;
    assert!(shown.contains("`tabwire files allow DIR --read`"), "{shown}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn reading_and_writing_are_opened_and_closed_apart_by_a_folder_without_links() {
    let (place, person) = (ProgramSandbox::new(), temporary());
    let person = person.path().canonicalize().unwrap();
    let (folder, link) = (person.join("shop"), person.join("link"));
    fs::create_dir(&folder).unwrap();
    symlink(&folder, &link).unwrap();
    let neither = files(&place, &["allow", text(&folder), "--unattended"]).await;
    assert!(neither.code == Some(2) && neither.stderr.contains("--read"), "{neither:?}");
    let asked = files(&place, &["allow", text(&folder), "--read"]).await;
    assert!(asked.code == Some(77) && asked.stderr.contains("--unattended"), "{asked:?}");
    let opened = files(&place, &["allow", text(&link), "--read", "--unattended", "--json"]).await;
    assert_eq!(json_of(&opened.stdout)["read"], json!([folder]), "{opened:?}");
    let mode = fs::metadata(place.path().join("agent_folders.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = files(&place, &["allow", text(&folder), "--read"]).await;
    assert_eq!(again.code, Some(0), "nothing is widened: {again:?}");
    let both = files(&place, &["allow", text(&folder), "--read", "--write", "--unattended"]).await;
    assert_eq!(both.code, Some(0), "{both:?}");
    let home = place.home();
    let noted = home.unconfirmed().unwrap();
    let told: Vec<_> = noted.iter().map(|one| (&*one.what, one.take_back.as_deref())).collect();
    let [(read, close), (write, close_writing)] = told[..] else { panic!("{told:?}") };
    assert_eq!(read, format!("agents give web pages the files below {}", folder.display()));
    assert_eq!(close, Some(&*format!("tabwire files remove '{}'", folder.display())));
    assert_eq!(write, format!("agents write files below {}", folder.display()));
    assert_eq!(
        close_writing,
        Some(&*format!("tabwire files remove '{}' --write", folder.display()))
    );
    let served = place.serve(&[]).await;
    let status = place.run(&["status"]).await;
    assert!(status.stdout.contains("1 to read, 1 to write"), "{status:?}");
    let status = json_of(&place.run(&["status", "--json"]).await.stdout);
    assert_eq!(status["open_folders"], json!({"read": [folder], "write": [folder]}), "{status}");
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    served.end().await;

    let closed = files(&place, &["remove", text(&link), "--write", "--json"]).await;
    let left = json_of(&closed.stdout);
    assert_eq!((&left["read"], &left["write"]), (&json!([folder]), &json!([])), "{closed:?}");
    assert_eq!(files(&place, &["remove", text(&folder)]).await.code, Some(0));
    assert_eq!(listed(&place).await["read"], json!([]));
    let gone = files(&place, &["remove", text(&folder)]).await;
    assert!(gone.code == Some(1) && gone.stderr.contains("`tabwire files` lists"), "{gone:?}");
}

#[tokio::test]
async fn folders_with_keys_settings_or_everything_are_not_opened_and_the_refusal_says_why() {
    let (place, person) = (ProgramSandbox::new(), temporary());
    let person = person.path().canonicalize().unwrap();
    for folder in [".ssh/keys", "shop", "profile/Default", "profile/inner"] {
        fs::create_dir_all(person.join(folder)).unwrap();
    }
    fs::write(person.join("profile/Local State"), "{}").unwrap();
    fs::write(person.join("file"), "").unwrap();
    symlink(person.join(".ssh"), person.join("innocent")).unwrap();
    let home = place.home();
    let extension = person.join("extension");
    fs::create_dir(&extension).unwrap();
    home.note_unpacked(&extension).unwrap();
    let own = etcetera::home_dir().unwrap();
    for (kept, why) in [
        (home.dir().to_owned(), "Tabwire keeps its keys there"),
        (home.dir().parent().unwrap().to_owned(), "Make a folder for them"),
        (extension, "the extension is there"),
        (person.clone(), "the extension is there"),
        (person.join(".ssh"), "begin with a dot"),
        (person.join(".ssh/keys"), "begin with a dot"),
        (person.join("innocent"), "begin with a dot"),
        (person.join("profile"), "a browser's profile"),
        (person.join("profile/inner"), "a browser's profile"),
        (own, "all your files lie below it"),
        ("/".into(), "all your files lie below it"),
        (person.join("file"), "Name a folder"),
        (person.join("none"), "Name a folder that exists"),
    ] {
        let refused = files(&place, &["allow", text(&kept), "--read", "--unattended"]).await;
        assert_eq!(refused.code, Some(1), "{kept:?}: {refused:?}");
        assert!(refused.stderr.contains(why), "{kept:?}: {refused:?}");
    }
    assert_eq!(listed(&place).await["read"], json!([]));
    assert_eq!(home.unconfirmed().unwrap(), [], "nothing to confirm");
}
