//! From inside a real Chromium: pages, and another extension that says that it is ours.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use crate::browser::Stage;
use testkit::{RowReport, TestDaemon, TestPages, cli_of, finish, soon, until};

/// What the daemon has let in up to now, and what came of it.
async fn standing(stage: &Stage) -> Value {
    let health = stage.client.call("configure", json!({"action": "health"})).await;
    let clients = stage.client.call("configure", json!({"action": "clients"})).await;
    json!({
        "requests": health["requests"], "kept": health["kept"],
        "browsers": health["browsers"], "clients": clients["count"],
    })
}

/// Whether nothing came of it that a page could use: it was not let in, or could not read it.
fn is_nothing(outcome: &str) -> bool {
    let parts = outcome.split(", ");
    let nothing = |part: &str| match part {
        "TypeError" | "SecurityError" | "NetworkError" | "opaque" | "refused" | "unreadable"
        // The browser takes it and says nothing of what becomes of it.
        | "sent" | "closed 1006" => true,
        _ => false,
    };
    parts.into_iter().all(nothing)
}

#[tokio::test]
async fn rows_1_to_4_pages_in_chromium_move_nothing_in_the_daemon() {
    let victim = Stage::set().await;
    let port = victim.daemon.port();
    let daemon = format!("127.0.0.1:{port}");
    let (mut page, mut socket) = (RowReport::new(1), RowReport::new(4));
    // One is another port of the same host, the other another site.
    let same_host = victim.pages.url("/hostile");
    let other_site = same_host.replace("127.0.0.1", "localhost");
    for url in [same_host, other_site] {
        victim.interact(json!({"action": "navigate", "url": url})).await;
        let before = standing(&victim).await;
        let came = victim.value(&format!("return await attack('{daemon}')")).await;
        let after = standing(&victim).await;
        let came = came.as_object().unwrap();
        assert_eq!(came.len(), 27, "all of them were tried: {came:?}");
        for (name, outcome) in came {
            let row = if name.contains("socket") || name == "sandboxed frame" {
                &mut socket
            } else {
                &mut page
            };
            let outcome = outcome.as_str().unwrap();
            row.tried(&format!("{name} from {url}"), is_nothing(outcome), outcome);
        }
        let count = |of: &Value, what: &str| of["requests"][what].as_u64().unwrap();
        // The agent's own: for its clients before, for the script, and for its health after.
        assert_eq!(count(&after, "admitted"), count(&before, "admitted") + 3, "{came:?}");
        let refused = count(&after, "refused") - count(&before, "refused");
        assert!(refused >= 27, "{refused} were counted as refused");
        for what in ["browsers", "clients"] {
            assert_eq!(after[what], before[what]);
        }
    }
    page.report();
    socket.report();
    victim.end().await;
}

/// An extension that attacks as soon as it is there.
fn hostile_extension(folder: &Path, daemon: &TestDaemon, pages: &TestPages) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile/extension");
    for file in ["manifest.json", "background.js", "attack.html", "attack.js"] {
        std::fs::copy(source.join(file), folder.join(file)).unwrap();
    }
    let guess = "A".repeat(43);
    let target = json!({
        "daemon": format!("127.0.0.1:{}", daemon.port()), "victim": EXTENSION_ID,
        "report": pages.url("/report"),
        "hello": {
            "v": 1, "type": "hello", "protocol": [2], "browser_id": "b", "instance_id": "i",
            "extension_version": "1", "nonce": guess, "mac": guess,
        },
    });
    std::fs::write(folder.join("target.json"), target.to_string()).unwrap();
}

/// What the hostile extension has told of each try.
fn told(pages: &TestPages) -> HashMap<String, String> {
    let reports = pages.asked_like("/report?told=");
    let read = |path: &String| {
        let (_, text) = path.split_once('=').unwrap();
        let (name, outcome) =
            serde_json::from_slice(&BASE64_STANDARD.decode(text).unwrap()).unwrap();
        (name, outcome)
    };
    reports.iter().map(read).collect()
}

/// What a try of the hostile extension may come to: the same refusal that anybody gets.
fn is_turned_away(name: &str, outcome: &str) -> bool {
    match name {
        "socket, guessed proof" => outcome == "challenge closed 4401",
        "socket, no proof" | "socket, ready at once" => {
            ["challenge closed 4401", "challenge closed 1008"].contains(&outcome)
        }
        // What any program may see: nothing waits for it.
        "poll" | "poll under that session" => {
            outcome.starts_with("403") || outcome.contains("\"queries\":[]")
        }
        "read the key" => outcome == "TypeError",
        "message to the extension" => outcome == "refused",
        _ => ["401 ", "403 ", "404 "].iter().any(|status| outcome.starts_with(status)),
    }
}

#[tokio::test]
async fn row_8_another_extension_with_forged_headers_gets_no_command_and_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let (daemon, pages) = (TestDaemon::start().await, TestPages::start().await);
    hostile_extension(folder.path(), &daemon, &pages);
    let victim = Stage::beside(daemon, pages, folder.path()).await;
    // Works while it is tried.
    victim.go("/second").await;
    let over = async || {
        assert_eq!(victim.value("return document.title").await, "Second Page");
        victim.pages.hits("/report?over") > 0
    };
    soon("the end of the attack", until(over)).await;
    let came = told(&victim.pages);
    assert_eq!(came.len(), 15, "all of them were tried: {came:?}");
    let mut row = RowReport::new(8);
    for (name, outcome) in &came {
        row.tried(name, is_turned_away(name, outcome), outcome);
    }
    row.report();
    let browsers = victim.client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["count"], 1, "{browsers}");
    victim.end().await;
}

#[tokio::test]
async fn row_17_what_a_page_says_is_data_and_nothing_that_it_does_submits_a_command() {
    let victim = Stage::set().await;
    victim.go("/orders").await;
    let before = standing(&victim).await;
    let script =
        json!({"action": "execute_js", "script": "return document.title", "wait_ms": 20_000});
    let answer = victim.client.call("interact", script).await;
    let mut row = RowReport::new(17);
    let is_marked = answer["page"].as_str().is_some_and(|page| page.contains("://"));
    row.tried("its title as a result", is_marked, &answer);
    let mut ours = answer.clone();
    ours.as_object_mut().unwrap().shift_remove("result");
    row.tried("its title in our own words", !ours.to_string().contains("IGNORE"), &ours);
    let summary = json!({"what": "page_summary", "wait_ms": 20_000});
    let summary = victim.client.call("analyze", summary).await;
    row.tried("its text in a summary", summary["page"].is_string(), &summary);
    let tabs = victim.client.call("observe", json!({"what": "tabs"})).await;
    row.tried("its title in a list", tabs["page"] == "*", &tabs);
    let failed = json!({"action": "execute_js", "script": "throw new Error(document.title)", "wait_ms": 20_000});
    let failed = victim.client.call_raw("interact", failed).await;
    row.tried("an error of its own", failed["structuredContent"]["page"] == "*", &failed);
    let after = standing(&victim).await;
    let kept = |of: &Value| of["kept"].as_u64().unwrap();
    row.tried("its events, messages and keys", kept(&after) == kept(&before) + 3, &after);
    for words in [&["commands"][..], &["status"], &["doctor"]] {
        let ran = finish(cli_of(&victim.daemon, words)).await;
        let escapes = ran.stdout.contains('\u{1b}') || ran.stderr.contains('\u{1b}');
        row.tried(&format!("escapes in `tabwire {}`", words[0]), !escapes, &ran.stdout);
    }
    row.report();
    victim.end().await;
}
