//! What a whole session leaves behind: nothing private in the log, and no file that others
//! could open.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::json;
use tabwire::proof::DEFAULT_OWNER;

use testkit::{
    ExtensionBuilder, ProgramSandbox, RawConnection, RowReport, ServedDaemon, StdioClient,
    active_tab, authorization,
};

/// What stands in everything private that the session has to do with.
const PRIVATE: &str = "Xq7private";

/// The word for one private thing.
fn private(what: &str) -> String {
    format!("{PRIVATE}-{what}")
}

/// The secret itself, and what is made of it.
fn keys(place: &ProgramSandbox) -> Vec<String> {
    let home = place.home();
    let secret = fs::read(place.path().join("auth.key")).unwrap();
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let extension = home.auth().extension_key(tabwire::protocol::EXTENSION_ID);
    let token = home.auth().token(&DEFAULT_OWNER.into());
    let debug = format!("{secret:?}");
    vec![BASE64_URL_SAFE_NO_PAD.encode(&secret), hex, debug, extension.encoded(), token]
}

/// Commands of all kinds of ends, with something private wherever there is room for it.
async fn talk(place: &ProgramSandbox, daemon: &ServedDaemon) -> String {
    let mut tab = active_tab(7);
    tab["url"] = format!("http://page.example/?q={}", private("url")).into();
    tab["title"] = private("title").into();
    let mut extension =
        ExtensionBuilder::at(daemon.port, &place.home()).tabs(vec![tab]).connect().await;
    let mut agent = StdioClient::start(place);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "it", "version": "1"},
    });
    agent.rpc("hello".into(), "initialize", hello).await;
    let script = |what: &str| json!({"action": "execute_js", "script": private(what), "tab_id": 7});
    for kind in ["complete", "error", "cancelled"] {
        let id = agent.call("interact", script("script")).await["correlation_id"].clone();
        let command = extension.command().await;
        extension.claim(&command).await;
        let end = match kind {
            "complete" => json!({"result": {"success": true, "value": private("result")}}),
            "error" => json!({"error": {
                "code": "script_error", "message": private("error"), "stack": private("stack"),
            }}),
            _ => json!({"may_have_run": true}),
        };
        extension.report(&command, kind, end).await;
        agent.call_raw("observe", json!({"what": "command_result", "correlation_id": id})).await;
    }
    let queued = agent.call("interact", script("cancelled")).await["correlation_id"].clone();
    agent.call_raw("configure", json!({"action": "cancel", "correlation_id": queued})).await;
    let unknown = json!({"name": private("tool"), "arguments": {"argument": private("argument")}});
    agent.rpc("unknown".into(), "tools/call", unknown).await;
    agent.call_raw("interact", json!({"action": private("action")})).await;
    // What is no frame, or none that is known, and what belongs to nobody.
    extension.send(&json!({"type": private("frame")})).await;
    extension.send(&json!({"type": "complete", "attempt": private("malformed")})).await;
    extension
        .send(&json!({
            "type": "complete", "correlation_id": "exec_1_2", "attempt": 1,
            "result": private("late"),
        }))
        .await;
    agent.end_input();
    assert!(agent.ended().await);
    agent.complaints().await
}

/// Requests that are refused, each for another reason.
async fn be_refused(place: &ProgramSandbox, daemon: &ServedDaemon) {
    let token = place.home().auth().token(&DEFAULT_OWNER.into());
    let (wrong, right) = (private("token"), token.as_str());
    let secret = private("header");
    let headers = |token: &str| {
        let authorization = authorization(token);
        format!(
            "Host: 127.0.0.1:{}\r\n{authorization}\r\nCookie: {secret}\r\n\
             X-Secret: {secret}\r\n",
            daemon.port
        )
    };
    let body = private("body");
    let post = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    for (request, status) in [
        (format!("GET /mcp HTTP/1.1\r\n{}\r\n", headers(&wrong)), 401),
        (format!("GET /{}?{} HTTP/1.1\r\n{}\r\n", wrong, wrong, headers(right)), 404),
        (format!("GET /health HTTP/1.1\r\nOrigin: {wrong}\r\n{}\r\n", headers(right)), 403),
        (format!("POST /mcp HTTP/1.1\r\n{}{post}\r\n{body}", headers(right)), 400),
        (format!("POST /session HTTP/1.1\r\n{}{post}\r\n{body}", headers(right)), 403),
        (format!("{} {wrong}\r\n\r\n", private("no-http")), 400),
    ] {
        let mut connection = RawConnection::to(daemon.port).await;
        connection.send(&request).await;
        let answer = connection.answer().await.unwrap();
        assert_eq!(answer.status, status, "{request}: {answer:?}");
    }
}

fn files_below(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: std::path::PathBuf| match path.is_dir() {
        true => [vec![path.clone()], files_below(&path)].concat(),
        false => vec![path],
    };
    entries.flat_map(below).collect()
}

/// A whole session; everything that was logged in it, by the daemon and by the bridge.
async fn logged(place: &ProgramSandbox, level: &str) -> String {
    let mut command = place.command(&["serve", "--json"]);
    command.env("TABWIRE_LOG", level);
    // A pipe would hold up a daemon that says more than it holds.
    let stderr = place.path().join("stderr.log");
    command.stderr(fs::File::create(&stderr).unwrap());
    let daemon = place.serve_by(command).await;
    let bridge = talk(place, &daemon).await;
    be_refused(place, &daemon).await;
    assert!(daemon.stop().await.0.success());
    let said = fs::read_to_string(&stderr).unwrap();
    fs::remove_file(stderr).unwrap();
    let logs = files_below(place.path());
    let logs = logs.iter().filter(|path| path.to_string_lossy().contains("daemon.log"));
    let kept: String = logs.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(kept.contains("extension attached"), "the session was logged: {kept}");
    assert!(said.contains("extension attached"), "and told: {said}");
    format!("{kept}{said}{bridge}")
}

#[tokio::test]
async fn a_session_leaves_nothing_private_in_the_log_and_no_key_even_at_the_lowest_level() {
    let place = ProgramSandbox::new();
    let usual = logged(&place, "").await;
    let mut row = RowReport::new(18);
    row.tried("anything private", !usual.contains(PRIVATE), &usual);
    let all = logged(&place, "tabwire=trace").await;
    for key in keys(&place) {
        row.tried("a key at the lowest level", !all.contains(&key), &all);
    }
    row.tried("what was given as a token", !all.contains(&private("token")), &all);
    row.report();
}

#[tokio::test]
async fn no_file_of_a_session_is_open_to_others_or_left_when_all_is_removed() {
    let place = ProgramSandbox::new();
    logged(&place, "").await;
    let files = files_below(place.path());
    assert!(files.iter().any(|path| path.ends_with("journal.db")), "{files:?}");
    let mut row = RowReport::new(18);
    for path in files {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        row.tried(&path.to_string_lossy(), mode & 0o77 == 0, format!("{mode:o}"));
    }
    row.report();
    let removed = place.home().remove().unwrap();
    assert!(removed.stays.is_empty(), "`tabwire uninstall --state` knows each: {removed:?}");
}
