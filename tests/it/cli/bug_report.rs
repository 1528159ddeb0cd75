//! `tabwire doctor --report`: the file for a bug report.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::EXTENSION_ID;

use testkit::{ExtensionBuilder, ProgramSandbox, StdioClient, finish, tab};

#[tokio::test]
async fn the_report_has_what_a_maintainer_needs_and_nothing_that_is_nobodys_business() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let mut private = tab(7);
    private["title"] = "My bank account".into();
    private["url"] = "https://bank.example/accounts/current?session=abc".into();
    let shim = ExtensionBuilder::at(served.port, &place.home()).tabs(vec![private]);
    let value = json!({"success": true, "value": []});
    let _extension = shim.connect().await.auto(move |_| value.clone());
    let mut client = StdioClient::spawn(place.command(&["mcp", "--client", "probe"]));
    client.call("observe", json!({"what": "tabs"})).await;
    let other_extension = "abcdefghijklmnopabcdefghijklmnop";
    place.home().allow_extension(other_extension).unwrap();
    let home = place.home();
    let auth = home.auth();
    let secrets = [
        auth.token(&DEFAULT_OWNER.into()),
        auth.extension_key(EXTENSION_ID).encoded(),
        auth.extension_key(other_extension).encoded(),
        auth.token(&"shared".into()).split_once('.').unwrap().1.to_owned(),
    ];
    let mut log = fs::OpenOptions::new().append(true).open(home.log_path()).unwrap();
    writeln!(log, "refused https://ann:pw@bank.example/accounts/current for {}", secrets[0])
        .unwrap();
    writeln!(log, "keys {secrets:?}").unwrap();
    writeln!(log, "password=hunter2hunter2 in /people/annabel/letters of Annabel").unwrap();
    writeln!(log, "2026-11-23T15:00:00.000000Z DEBUG hyper: a frame titled My bank account")
        .unwrap();

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let path = file.to_str().unwrap();
    let mut reporting = place.command(&["doctor", "--report", path]);
    reporting.env("HOME", "/people/annabel").env("USER", "annabel");
    let ran = finish(reporting).await;
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("The report is in {path}.")), "{ran:?}");
    assert!(said.contains("no title of a page"), "it says what is in it: {ran:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["versions"]["tabwire"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["system"]["os"], std::env::consts::OS);
    assert!(report["doctor"]["hops"].as_array().unwrap().len() > 5, "{text}");
    let clients = report["status"]["clients"].as_array().unwrap();
    assert!(clients.iter().any(|known| known["client"] == "probe"), "{text}");
    assert!(text.contains("listening"), "the log: {text}");
    assert!(text.contains("refused https://bank.example/… for [redacted]"), "{text}");
    assert!(text.contains("in ~/letters of [user]"), "{text}");
    let private = ["My bank", "/current", "abc\"", "hunter2", "ann:pw", "people", "nnabel"];
    for secret in private.into_iter().chain(secrets.iter().map(String::as_str)) {
        assert!(!text.contains(secret), "{secret}: {text}");
    }

    let again = place.run(&["doctor", "--report", path]).await;
    assert_eq!((again.code, &*again.stdout), (Some(1), ""), "{again:?}");
    assert!(again.stderr.contains("exists; name another file"), "{again:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let mut unnamed = place.command(&["doctor", "--json", "--report"]);
    unnamed.current_dir(folder.path());
    let told: Value = serde_json::from_str(&finish(unnamed).await.stdout).unwrap();
    let path = told["report"].as_str().unwrap();
    assert!(path.contains("tabwire-report-"), "{path}");
    assert!(fs::read_to_string(path).unwrap().contains("\"doctor\""));
}

#[tokio::test]
async fn a_report_is_written_also_where_nothing_was_set_up() {
    let place = ProgramSandbox::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let ran = place.run(&["doctor", "--report", file.to_str().unwrap()]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(report["status"]["error"].as_str().unwrap().contains("no daemon runs"), "{report}");
    assert_eq!(report["log"], Value::Null);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "the state directory is not made");
}
