//! An extension whose files after Tabwire wrote them gets no commands.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;

use testkit::{ExtensionBuilder, McpClient, ProgramSandbox, ServedDaemon};

/// A daemon, and the folder that the extension was unpacked to.
async fn unpacked() -> (ProgramSandbox, ServedDaemon) {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    assert_eq!(place.run(&["extension", "unpack"]).await.code, Some(0));
    (place, daemon)
}

/// Adds a line to a file, as a program would that may write to the folder.
fn change(folder: &Path, file: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, text + "\n").unwrap();
}

fn client(place: &ProgramSandbox, daemon: &ServedDaemon) -> McpClient {
    McpClient::at(daemon.port, place.home().auth().token(&DEFAULT_OWNER.into()))
}

const SCRIPT: &str = "document.title";

#[tokio::test]
async fn an_extension_whose_files_were_changed_gets_no_command_and_everybody_is_told() {
    let (place, daemon) = unpacked().await;
    let client = client(&place, &daemon);
    let submit = json!({"action": "execute_js", "script": SCRIPT});
    let waiting = client.call("interact", submit.clone()).await;
    let waiting = waiting["correlation_id"].as_str().unwrap();
    change(&place.path().join("extension"), "src/actions/execute_js.js");
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let mut extension = shim.connect().await;
    extension.expect(&json!({"type": "extension_changed"})).await;

    let ended = json!({"what": "command_result", "correlation_id": waiting, "wait_ms": 5_000});
    let ended = client.call_raw("observe", ended).await["structuredContent"].clone();
    assert_eq!((&ended["status"], &ended["may_have_run"]), (&json!("error"), &json!(false)));
    assert_eq!(ended["reason"], "extension_changed", "{ended}");
    let refused = client.call_fails("interact", submit).await;
    assert_eq!(refused["error"], "extension_changed", "{refused}");
    for answer in [&ended, &refused] {
        assert!(answer["hint"].as_str().unwrap().contains("tabwire install"), "{answer}");
    }
    extension.expect_nothing().await;

    let status = place.run(&["status"]).await.stdout;
    assert!(status.contains("after Tabwire wrote them"), "{status}");
    let found = place.run(&["doctor", "--json"]).await.stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["first_broken"], "extension folder", "{found:#}");
    let hops = found["hops"].as_array().unwrap();
    let test = hops.iter().find(|hop| hop["hop"] == "test command").unwrap();
    assert!(test["do"].as_str().unwrap().contains("tabwire install"), "{test}");
    let next = place.run(&[]).await.stdout;
    assert!(next.contains("`tabwire install`, then reload"), "{next}");
    let log = fs::read_to_string(place.home().log_path()).unwrap();
    assert!(log.contains("src/actions/execute_js.js"), "{log}");
}

#[tokio::test]
async fn an_extension_that_was_written_anew_gets_commands_again_and_its_configuration_may_change() {
    let (place, daemon) = unpacked().await;
    let client = client(&place, &daemon);
    let folder = place.path().join("extension");
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let result = json!({"success": true, "value": "Home Page"});
    let work = json!({"action": "execute_js", "script": SCRIPT, "wait_ms": 5_000});
    for is_changed in [false, true, false] {
        if is_changed {
            change(&folder, "manifest.json");
        } else {
            assert_eq!(place.run(&["extension", "unpack"]).await.code, Some(0));
            change(&folder, "config.json");
        }
        let answered = result.clone();
        let _extension = shim.connect().await.auto(move |_| answered.clone());
        if is_changed {
            let refused = client.call_fails("interact", work.clone()).await;
            assert_eq!(refused["error"], "extension_changed", "{refused}");
        } else {
            let answer = client.call("interact", work.clone()).await;
            assert_eq!(answer["status"], "complete", "{answer}");
        }
    }
}
