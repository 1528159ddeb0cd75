//! `tabwire mcp` in WSL, with a stand-in for the program of Windows.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::{ProgramSandbox, StdioClient, finish};

/// A program that answers each line with its own words.
const STAND_IN: &str = r#"#!/bin/sh
while read -r line; do
    printf '{"jsonrpc":"2.0","id":1,"result":{"words":"%s"}}\n' "$*"
done
exit 7
"#;

#[tokio::test]
async fn in_wsl_the_program_of_windows_answers_unless_this_system_has_a_daemon_of_its_own() {
    let place = ProgramSandbox::new();
    let windows = tempfile::tempdir().unwrap();
    let program = windows.path().join("tabwire.exe");
    fs::write(&program, STAND_IN).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", std::env::var("PATH").unwrap(), windows.path().display());
    let state = windows.path().join("none-yet");
    let command = |words: &[&str]| {
        let mut command = place.command(words);
        command.env("PATH", &path).env("WSL_DISTRO_NAME", "Debian").env("TABWIRE_HOME", &state);
        command
    };
    let mut client = StdioClient::spawn(command(&["mcp", "--tools", "split"])).without_checks();
    let answer =
        client.try_rpc(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await.unwrap();
    assert_eq!(answer["result"]["words"], "mcp --tools split", "{answer}");
    assert!(!state.exists(), "nothing was made on this side");
    // Its end is the end of this one.
    let ended = finish(command(&["mcp"])).await;
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let mut elsewhere = command(&["mcp"]);
    elsewhere.env_remove("WSL_DISTRO_NAME");
    assert_eq!(finish(elsewhere).await.code, Some(0), "on any other system it answers itself");
    fs::create_dir(&state).unwrap();
    assert_eq!(finish(command(&["mcp"])).await.code, Some(0), "here is a state directory");
}
