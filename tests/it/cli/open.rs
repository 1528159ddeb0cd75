//! `tabwire open`: the person's browser is started, or told how to get there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{ProgramOutput, Stopwatch, TestDaemon, cli_of, finish};

/// A stand-in for the program that opens files: it notes which, and goes on as told.
fn opener(dir: &Path, goes_on: &str) -> PathBuf {
    let (program, noted) = (dir.join("opener"), dir.join("opened"));
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n{goes_on}\n", noted.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    program
}

async fn open_by(daemon: &TestDaemon, opener: &Path, flags: &[&str]) -> ProgramOutput {
    let mut command = cli_of(daemon, &[&["open"], flags].concat());
    command.env("BROWSER", opener);
    finish(command).await
}

#[tokio::test]
async fn the_persons_browser_gets_the_file_and_nobody_waits_until_it_is_closed() {
    let (daemon, dir) = (TestDaemon::start().await, tempfile::tempdir().unwrap());
    let link = daemon.home().dir().join("dashboard.html");
    for goes_on in ["", "sleep 20"] {
        let watch = Stopwatch::start();
        let ran = open_by(&daemon, &opener(dir.path(), goes_on), &[]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.stdout, "The dashboard opens in your browser.\n");
        assert!(watch.millis() < 15_000, "it waited for the browser's end");
        assert_eq!(fs::read_to_string(dir.path().join("opened")).unwrap(), link.to_str().unwrap());
        fs::remove_file(dir.path().join("opened")).unwrap();
    }
}

#[tokio::test]
async fn where_no_browser_opens_the_person_is_told_which_program_failed_and_which_file_to_open() {
    let (daemon, dir) = (TestDaemon::start().await, tempfile::tempdir().unwrap());
    let link = daemon.home().dir().join("dashboard.html");
    for failing in [opener(dir.path(), "exit 3"), dir.path().join("is-missing")] {
        let ran = open_by(&daemon, &failing, &[]).await;
        let name = failing.display();
        let told = format!("`{name}` opened no browser. Open this file within 30 s:");
        assert_eq!(ran.stdout, format!("{told}\n{}\n", link.display()), "{ran:?}");
        let ran = open_by(&daemon, &failing, &["--json"]).await;
        let told = json!({"file": link, "opened": false, "expires_in_ms": 30_000});
        assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), told);
    }
}
