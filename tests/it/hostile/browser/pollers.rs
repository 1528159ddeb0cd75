//! An ordinary extension with a host permission for the loopback, in a real Chromium: it polls as
//! older extensions do, and forges what they post.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::home::{LegacyApprover, LegacyMode};

use crate::browser::Stage;
use testkit::{RowReport, TestDaemon, TestPages, cli_of, finish, scratch_folder, soon, until};

/// What it says of itself and forges, wherever it can.
const MARK: &str = "IGNORE";

/// How many tries a round of it has.
const TRIES: usize = 8;

/// Writes the extension to a folder, with what it attacks.
fn ordinary_extension(folder: &Path, daemon: &TestDaemon, pages: &TestPages) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile/poller");
    for file in ["manifest.json", "background.js", "attack.html", "attack.js"] {
        std::fs::copy(source.join(file), folder.join(file)).unwrap();
    }
    let daemon = format!("http://127.0.0.1:{}", daemon.port());
    let target = json!({"daemon": daemon, "report": pages.url("/report")});
    std::fs::write(folder.join("target.json"), target.to_string()).unwrap();
}

/// What the extension has told of each try: the round, the try, and what came of it.
fn told(pages: &TestPages) -> Vec<(u64, String, String)> {
    let read = |path: &String| {
        let (_, text) = path.split_once("told=").unwrap();
        serde_json::from_slice(&BASE64_STANDARD.decode(text).unwrap()).unwrap()
    };
    pages.asked_like("/report?told=").iter().map(read).collect()
}

fn last_round(pages: &TestPages) -> u64 {
    told(pages).iter().map(|(round, ..)| *round).max().unwrap_or(0)
}

/// Waits for rounds that begin from here on, and takes what came of them.
async fn rounds_from_here(pages: &TestPages, count: u64) -> Vec<(u64, String, String)> {
    let before = last_round(pages) + 1;
    soon("rounds of the attack", until(async || last_round(pages) > before + count)).await;
    let of_these =
        |(round, ..): &(u64, String, String)| (before + 1..=before + count).contains(round);
    told(pages).into_iter().filter(of_these).collect()
}

/// Whether a try came to what an extension gets that is not let in.
fn is_turned_away(name: &str, outcome: &str) -> bool {
    match name {
        "name a session" => outcome == r#"200 {"status":"ok"}"#,
        "poll" => {
            outcome == r#"200 {"count":0,"queries":[]}"# || outcome.contains(r#""queries":[]"#)
        }
        "sync" => outcome.starts_with("200") && outcome.contains(r#""commands":[]"#),
        _ => outcome.starts_with("403") && outcome.contains("unknown_extension"),
    }
}

/// Looks for what it has forged and what it says of itself, wherever that might stand.
async fn look_for_traces(victim: &Stage, row: &mut RowReport) {
    let asks = [
        ("observe", json!({"what": "browsers"})),
        ("observe", json!({"what": "logs"})),
        ("observe", json!({"what": "extension_logs"})),
        ("observe", json!({"what": "network"})),
        ("observe", json!({"what": "failed_commands"})),
        ("analyze", json!({"what": "annotations", "manage": "list"})),
        ("configure", json!({"action": "health"})),
    ];
    for (tool, ask) in asks {
        let answer = victim.client.call_raw(tool, ask.clone()).await;
        row.tried(&format!("its text in {ask}"), !answer.to_string().contains(MARK), &answer);
    }
    for words in [&["status"][..], &["doctor"], &["legacy"], &["commands"]] {
        let ran = finish(cli_of(&victim.daemon, words)).await;
        let is_there = ran.stdout.contains(MARK) || ran.stderr.contains(MARK);
        row.tried(&format!("its text in `tabwire {}`", words[0]), !is_there, &ran.stdout);
    }
}

/// Runs commands that name no browser.
async fn use_it_unnamed(victim: &Stage, row: &mut RowReport) {
    victim.go("/second").await;
    for _ in 0..10 {
        let title = json!({"action": "execute_js", "script": "return document.title"});
        let answer = victim.interact(title).await;
        row.tried(
            "a call that names no browser",
            answer["result"]["value"] == "Second Page",
            &answer,
        );
    }
}

#[tokio::test]
async fn row_24_an_ordinary_extension_that_polls_gets_nothing_and_is_named_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let (daemon, pages) = (TestDaemon::start().await, TestPages::start().await);
    ordinary_extension(folder.path(), &daemon, &pages);
    let victim = Stage::beside(daemon, pages, folder.path()).await;
    let mut row = RowReport::new(24);
    let (came, ()) =
        tokio::join!(rounds_from_here(&victim.pages, 3), use_it_unnamed(&victim, &mut row));
    assert_eq!(came.len(), 3 * TRIES, "{came:?}");
    for (round, name, outcome) in &came {
        row.tried(&format!("{name}, round {round}"), is_turned_away(name, outcome), outcome);
    }
    look_for_traces(&victim, &mut row).await;
    let shown = finish(cli_of(&victim.daemon, &["legacy", "--json"])).await.stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let asks = &shown["asking"][0];
    row.tried("it is named as one that asks", asks["extension_version"] == "unknown", &shown);
    row.tried("it is let in by nobody", shown["let_in"] == json!([]), &shown);
    row.report();
    victim.end().await;
}

#[tokio::test]
async fn row_24_where_the_first_is_let_in_it_loses_its_place_when_our_own_connects() {
    let folder = tempfile::tempdir().unwrap();
    let (daemon, pages) = (TestDaemon::start().await, TestPages::start().await);
    daemon.home().legacy().set_mode(LegacyMode::Auto).unwrap();
    ordinary_extension(folder.path(), &daemon, &pages);
    let profile = scratch_folder("tabwire-it-poller-");
    let program = find_browser().expect("the tests need a Chromium");
    let own_profile = profile.path().join("profile");
    let alone = Browser::launch(&program, &own_profile, folder.path(), &pages.url("/")).unwrap();
    let legacy = || daemon.home().legacy().read().unwrap();
    let is_in = async || legacy().approvals.first().is_some_and(|a| a.by == LegacyApprover::Auto);
    soon("the approval of the first that polls", until(is_in)).await;
    let id = legacy().approvals[0].id.clone();
    let victim = Stage::beside_poller(daemon, pages, folder.path()).await;
    let mut row = RowReport::new(24);
    let (came, ()) =
        tokio::join!(rounds_from_here(&victim.pages, 3), use_it_unnamed(&victim, &mut row));
    for (round, name, outcome) in &came {
        row.tried(&format!("{name}, round {round}"), is_turned_away(name, outcome), outcome);
    }
    let named = json!({"action": "page_info", "browser": format!("legacy-{id}")});
    let sent = victim.client.call_raw("interact", named).await;
    let late = rounds_from_here(&victim.pages, 2).await;
    let has_command = late.iter().any(|(_, _, outcome)| outcome.contains("page_info"));
    row.tried("a command that names its browser", !has_command, format!("{sent} {late:?}"));
    let legacy = victim.daemon.home().legacy().read().unwrap();
    row.tried("its approval", legacy.approvals.is_empty(), format!("{legacy:?}"));
    let doctor = finish(cli_of(&victim.daemon, &["doctor"])).await;
    let is_said = doctor.stdout.contains(&format!("tabwire legacy allow {id}"));
    row.tried("that it ended is said", is_said, &doctor.stdout);
    row.report();
    alone.end().await;
    victim.end().await;
}
