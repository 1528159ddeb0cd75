//! `tabwire doctor`: each hop is broken for real, and is named with what to do.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tabwire::home::DaemonRecord;
use tabwire::install::manifest_below;
use tabwire::proof::DEFAULT_OWNER;

use testkit::{
    ExtensionBuilder, ExtensionSession, FakeExtension, McpClient, ProgramSandbox, RawConnection,
    ServedDaemon, answering, finish, signal, soon, until,
};

/// What the doctor finds here.
async fn examine(place: &ProgramSandbox) -> Value {
    let ran = place.run(&["doctor", "--json"]).await;
    let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(ran.code, Some(if found["ok"] == true { 0 } else { 1 }), "{ran:?}");
    assert_eq!(found["ok"], found["first_broken"].is_null(), "{found}");
    found
}

/// The doctor names this hop first, with this in its sentence and this as what to do.
async fn assert_broken(place: &ProgramSandbox, hop: &str, says: &str, remedy: &str) {
    let found = examine(place).await;
    assert_eq!(found["first_broken"], hop, "{found:#}");
    let finding = of(&found, hop);
    assert_eq!(finding["state"], "broken");
    assert!(finding["says"].as_str().unwrap().contains(says), "{finding}");
    assert!(found["do"].as_str().unwrap().contains(remedy), "{found:#}");
    let text = place.run(&["doctor"]).await;
    assert!(text.stdout.contains(&format!("✗ {hop}")), "{}", text.stdout);
    let remedies = text.stdout.lines().filter(|line| line.contains("→ ")).count();
    assert_eq!(remedies, text.stdout.matches('✗').count(), "one for each: {}", text.stdout);
    let last = text.stdout.lines().last().unwrap();
    assert!(last.starts_with(&format!("Broken: {hop}.")) && last.contains(remedy), "{last}");
}

fn of<'a>(found: &'a Value, hop: &str) -> &'a Value {
    let hops = found["hops"].as_array().unwrap();
    hops.iter().find(|finding| finding["hop"] == hop).unwrap_or_else(|| panic!("{hop}: {found}"))
}

/// A daemon that runs here and an extension that was unpacked for it.
async fn with_daemon() -> (ProgramSandbox, ServedDaemon, PathBuf) {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let ran = place.run(&["extension", "unpack"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let folder = place.path().join("extension");
    (place, daemon, folder)
}

/// A place with a key, where nothing runs.
fn with_key(port: u16) -> ProgramSandbox {
    let place = ProgramSandbox::with_port(port);
    place.home();
    place
}

fn rewrite(path: &std::path::Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut value);
    // It may be read-only.
    fs::remove_file(path).unwrap();
    fs::write(path, value.to_string()).unwrap();
}

#[tokio::test]
async fn all_is_well_when_every_hop_is() {
    let (place, daemon, _) = with_daemon().await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let _extension = shim.connect().await.auto(|_| json!({"success": true, "value": []}));
    let found = examine(&place).await;
    assert_eq!(found["ok"], true, "{found:#}");
    for finding in found["hops"].as_array().unwrap() {
        // Nothing is installed, and this extension has its key.
        let state = if finding["hop"] == "native host" { "unknown" } else { "fine" };
        assert_eq!(finding["state"], state, "{finding}");
    }
    let ran = place.run(&["doctor"]).await;
    assert_eq!(
        (ran.code, ran.stdout.lines().last()),
        (Some(0), Some("Nothing is broken.")),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains('\x1b'), "no colours but on a terminal");
}

#[tokio::test]
async fn a_state_directory_that_is_not_there_is_named_and_not_made() {
    let place = ProgramSandbox::new();
    let dir = place.path().join("none");
    let mut command = place.command(&["doctor", "--json"]);
    command.env("TABWIRE_HOME", &dir);
    let ran = finish(command).await;
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &found["first_broken"]), (Some(1), &json!("state directory")));
    assert!(found["do"].as_str().unwrap().contains("tabwire install"), "{found:#}");
    assert!(!dir.exists());
}

#[tokio::test]
async fn a_state_directory_that_is_open_to_others_is_named_with_the_command_that_closes_it() {
    let place = with_key(0);
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    assert_broken(&place, "state directory", "mode 755", "chmod 700").await;
    fs::set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn a_key_that_is_missing_open_or_damaged_is_named() {
    let place = ProgramSandbox::new();
    assert_broken(&place, "key", "no auth.key", "tabwire install").await;
    let key = place.path().join("auth.key");
    assert!(!key.exists(), "the doctor makes none");
    place.home();
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    assert_broken(&place, "key", "open to others", "chmod 600").await;
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "short").unwrap();
    assert_broken(&place, "key", "damaged", "auth.key away").await;
    fs::remove_file(&key).unwrap();
}

#[tokio::test]
async fn a_port_that_another_program_has_is_named_with_that_program() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = with_key(taken.local_addr().unwrap().port());
    let process = format!("process {}", std::process::id());
    assert_broken(&place, "port", &process, "TABWIRE_PORT").await;
}

#[tokio::test]
async fn a_port_that_is_served_for_another_state_directory_is_named() {
    let other = ProgramSandbox::new();
    let daemon = other.serve(&[]).await;
    let place = with_key(daemon.port);
    assert_broken(&place, "port", "another Tabwire daemon of yours", "TABWIRE_HOME").await;
}

#[tokio::test]
async fn a_daemon_whose_port_is_not_its_own_gets_no_token() {
    let place = ProgramSandbox::new();
    let home = place.home();
    let lock = home.try_lock_daemon().unwrap().unwrap();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let port = stranger.local_addr().unwrap().port();
    // A process that does not listen there, and that may be ended.
    let mut other = tokio::process::Command::new("cat");
    let other = other.stdin(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    lock.announce(&DaemonRecord { pid: other.id().unwrap(), port, version }).unwrap();
    assert_broken(&place, "port", "the daemon's port", "tabwire stop").await;
    let mut heard = Vec::new();
    while let Ok((mut stream, _)) = stranger.accept() {
        std::io::Read::read_to_end(&mut stream, &mut heard).unwrap();
    }
    let heard = String::from_utf8_lossy(&heard).to_lowercase();
    assert!(!heard.contains("authorization"), "{heard}");

    drop(stranger);
    assert_broken(&place, "port", "no program listens", "tabwire stop").await;
    drop(lock);
}

#[tokio::test]
async fn that_no_daemon_runs_or_that_it_is_just_starting_is_said() {
    let place = with_key(0);
    assert_eq!(place.run(&["extension", "unpack", "--port", "47894"]).await.code, Some(0));
    let ran = place.run(&["doctor", "--port", "47894", "--json"]).await;
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let daemon = of(&found, "daemon");
    assert_eq!((ran.code, &daemon["state"]), (Some(0), &json!("unknown")), "{found:#}");
    assert!(
        daemon["says"].as_str().unwrap().contains("first call of an MCP client starts one"),
        "{daemon}"
    );
    let home = place.home();
    let lock = home.try_lock_daemon().unwrap().unwrap();
    assert_broken(&place, "daemon", "is starting", "try again").await;
    drop(lock);
    let daemon = place.serve(&[]).await;
    let record = place.path().join("daemon.json");
    let before = fs::read(&record).unwrap();
    fs::write(&record, "{").unwrap();
    assert_broken(&place, "daemon", "damaged", "daemon.json away").await;
    fs::write(&record, before).unwrap();
    signal(daemon.pid(), rustix::process::Signal::TERM);
    daemon.end().await;
}

#[tokio::test]
async fn a_daemon_of_another_version_is_named() {
    let (place, _daemon, _) = with_daemon().await;
    rewrite(&place.path().join("daemon.json"), |record| record["version"] = "0.0.1".into());
    assert_broken(&place, "version", "version 0.0.1", "tabwire stop").await;
}

#[tokio::test]
async fn a_daemon_that_does_not_know_the_key_is_named() {
    let (place, _daemon, _) = with_daemon().await;
    fs::remove_file(place.path().join("auth.key")).unwrap();
    place.home();
    assert_broken(&place, "token", "auth.key was replaced", "tabwire stop").await;
}

#[tokio::test]
async fn a_daemon_that_does_not_answer_is_named() {
    let place = ProgramSandbox::new();
    let home = place.home();
    let lock = home.try_lock_daemon().unwrap().unwrap();
    // It lets others connect, and that is all.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    lock.announce(&DaemonRecord { pid: std::process::id(), port, version }).unwrap();
    let found = examine(&place).await;
    drop(lock);
    assert_eq!(found["first_broken"], "token", "{found:#}");
    assert!(of(&found, "token")["says"].as_str().unwrap().contains("does not answer"), "{found:#}");
}

#[tokio::test]
async fn a_folder_that_does_not_fit_is_named_with_what_is_wrong_with_it() {
    let (place, _daemon, folder) = with_daemon().await;
    let again = "`tabwire install`";
    let (manifest, config) = (folder.join("manifest.json"), folder.join("config.json"));
    let whole = [&manifest, &config].map(|path| fs::read(path).unwrap());

    rewrite(&manifest, |manifest| manifest["version"] = "0.0.1".into());
    assert_broken(&place, "extension folder", "after Tabwire wrote it", again).await;
    let noted = place.path().join("unpacked_version.json");
    let version = fs::read(&noted).unwrap();
    fs::write(&noted, "\"0.0.1\"").unwrap();
    assert_broken(&place, "extension folder", "has version 0.0.1", again).await;
    fs::write(&noted, version).unwrap();
    fs::write(&manifest, &whole[0]).unwrap();

    rewrite(&config, |config| config["port"] = 1.into());
    assert_broken(&place, "extension folder", "is set up for port 1", again).await;
    fs::write(&config, &whole[1]).unwrap();

    rewrite(&config, |config| config["ext_key"] = "another".into());
    assert_broken(&place, "extension folder", "has another key", again).await;
    fs::write(&config, &whole[1]).unwrap();

    fs::remove_dir_all(&folder).unwrap();
    assert_broken(&place, "extension folder", "no Tabwire extension", "tabwire install").await;
}

#[tokio::test]
async fn a_native_host_that_starts_another_program_is_named_unless_nobody_needs_it() {
    let (place, daemon, _) = with_daemon().await;
    let found = examine(&place).await;
    assert_eq!(of(&found, "native host")["state"], "unknown", "nothing is installed: {found:#}");
    let port = daemon.port.to_string();
    let installed = place.run(&["install", "--json", "--port", &port]).await;
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert_eq!(of(&examine(&place).await, "native host")["state"], "fine");
    let wrapper = place.path().join("native-host");
    fs::write(&wrapper, "#!/bin/sh\nexec /elsewhere/tabwire native-host\n").unwrap();
    assert_broken(&place, "native host", "for another program", "tabwire install").await;
    rewrite(&manifest_below(place.path()), |manifest| manifest["path"] = "/elsewhere".into());
    let says = "starts another program, /elsewhere";
    assert_broken(&place, "native host", says, "tabwire install").await;
    fs::write(manifest_below(place.path()), "{").unwrap();
    assert_broken(&place, "native host", "unreadable", "tabwire install").await;
    fs::remove_file(manifest_below(place.path())).unwrap();
    assert_broken(&place, "native host", "is missing", "tabwire install").await;
    let extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let found = examine(&place).await;
    assert_eq!(of(&found, "native host")["state"], "unknown", "{found:#}");
    extension.breaks();
}

#[tokio::test]
async fn the_folder_that_was_named_last_is_the_one_that_is_looked_at() {
    let (place, _daemon, _) = with_daemon().await;
    let elsewhere = place.path().join("elsewhere");
    place.run(&["extension", "unpack", elsewhere.to_str().unwrap()]).await;
    rewrite(&elsewhere.join("manifest.json"), |manifest| manifest["version"] = "0.0.1".into());
    let again = format!("`tabwire extension unpack {}`", elsewhere.display());
    assert_broken(&place, "extension folder", "elsewhere", &again).await;
}

#[tokio::test]
async fn a_folder_without_the_key_is_not_broken_for_an_extension_that_has_it() {
    let (place, daemon, folder) = with_daemon().await;
    let extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    fs::remove_file(folder.join("config.json")).unwrap();
    let found = examine(&place).await;
    assert_eq!(of(&found, "extension folder")["state"], "unknown", "{found:#}");
    rewrite(&folder.join("manifest.json"), |manifest| manifest["version"] = "0.0.1".into());
    let found = examine(&place).await;
    assert_eq!(of(&found, "extension folder")["state"], "broken", "that is another: {found:#}");
    extension.breaks();
}

#[tokio::test]
async fn an_extension_that_is_away_is_named_with_when_it_was_last_seen() {
    let (place, daemon, _) = with_daemon().await;
    let chrome = "chrome://extensions";
    assert_broken(&place, "extension connected", "no browser has connected", chrome).await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    shim.connect().await.breaks();
    let label = shim.label();
    // The daemon finds out when it reads on.
    loop {
        let status = place.run(&["status", "--json"]).await;
        let status: Value = serde_json::from_str(&status.stdout).unwrap();
        if status["browsers"][0]["connected"] == false {
            break;
        }
    }
    let says = format!("{label} was last seen at 2");
    assert_broken(&place, "extension connected", &says, chrome).await;
}

/// An extension of this version, connected, and the daemon's `welcome` to it.
async fn connect_as(
    version: &str,
    place: &ProgramSandbox,
    daemon: &ServedDaemon,
) -> (FakeExtension, Value) {
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).open().await;
    let challenge = extension.challenge().await;
    let mut hello = extension.hello_to(&challenge);
    hello["extension_version"] = version.into();
    extension.send(&hello).await;
    let welcome = extension.next().await;
    extension.ready(&[]).await;
    (extension, welcome)
}

#[tokio::test]
async fn an_extension_newer_than_the_daemon_is_told_so_and_named_with_the_update_as_the_next_step()
{
    let (place, daemon, folder) = with_daemon().await;
    let (extension, welcome) = connect_as("99.0.0", &place, &daemon).await;
    assert_eq!(welcome["extension_newer"], true, "{welcome}");
    let _extension = extension.auto(|_| json!([]));
    let says = "has version 99.0.0, this program";
    assert_broken(&place, "extension version", says, "`tabwire update`").await;
    let status = place.run(&["status"]).await.stdout;
    let newer = "99.0.0 (newer than the daemon: run `tabwire update`";
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.contains(newer), "{status}");
    let status = place.run(&["status", "--json"]).await.stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["browsers"][0]["extension_newer"], true, "{status:#}");

    // `install` of this program would be refused, so it is not the next step for the folder.
    rewrite(&folder.join("manifest.json"), |manifest| manifest["version"] = "99.0.0".into());
    fs::write(place.path().join("unpacked_version.json"), "\"99.0.0\"").unwrap();
    let found = examine(&place).await;
    let step = of(&found, "extension folder")["do"].as_str().unwrap();
    assert!(step.contains("`tabwire update`") && !step.contains("install"), "{step}");
}

#[tokio::test]
async fn an_extension_of_another_version_is_named_by_doctor_status_and_log() {
    let (place, daemon, _) = with_daemon().await;
    let (extension, welcome) = connect_as("0.0.1", &place, &daemon).await;
    assert_eq!(welcome["extension_newer"], Value::Null, "{welcome}");
    let _extension = extension.auto(|_| json!([]));
    let says = "has version 0.0.1";
    assert_broken(&place, "extension version", says, "reload the extension").await;
    let status = place.run(&["status"]).await.stdout;
    assert!(status.contains("another version than the daemon's"), "{status}");
    let log = fs::read_to_string(place.home().log_path()).unwrap();
    assert!(log.contains("WARN") && log.contains("of another version"), "{log}");
}

const OLDER: &str = "dpadlilgmpioiddafgmbfmolmfeadnph";

/// An extension that polls with `/sync` and answers every command, for as long as it is let.
async fn poll(port: u16, extension: &str, pilot_enabled: bool) {
    let mut results = json!([]);
    loop {
        let body = json!({
            "session_id": "ext_1_a", "extension_version": "6.0.3", "command_results": results,
            "settings": {"pilot_enabled": pilot_enabled},
        });
        let body = body.to_string();
        let mut connection = RawConnection::to(port).await;
        let head = format!(
            "POST /sync HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Origin: chrome-extension://{extension}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        connection.send(head + &body).await;
        let Some(answer) = connection.answer().await else { return };
        let answer = answer.json();
        // One that is switched off gets none.
        let commands = answer["commands"].as_array().into_iter().flatten();
        results =
            commands.map(|query| json!({"id": query["id"], "result": {"tabs": []}})).collect();
    }
}

#[tokio::test]
async fn an_older_extension_that_works_is_well_and_one_that_is_switched_off_is_named() {
    let (place, daemon, _) = with_daemon().await;
    place.home().legacy().allow(OLDER).unwrap();
    let client = McpClient::at(daemon.port, place.home().auth().token(&DEFAULT_OWNER.into()));
    for is_on in [true, false] {
        let polling = tokio::spawn(poll(daemon.port, OLDER, is_on));
        let is_known = async {
            loop {
                let known = client.call("observe", json!({"what": "browsers"})).await;
                let off = known["browsers"][0]["control_off"] == true;
                if known["count"] == 1 && off != is_on {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        soon("the older extension", is_known).await;
        if is_on {
            let found = examine(&place).await;
            assert_eq!(found["ok"], true, "{found:#}");
            let version = of(&found, "extension version")["says"].as_str().unwrap();
            assert!(version.contains("older extension, version 6.0.3"), "{version}");
        } else {
            assert_broken(&place, "test command", "switched off", "popup").await;
            let status = place.run(&["status"]).await.stdout;
            assert!(status.contains("control is switched off"), "{status}");
        }
        polling.abort();
    }
}

/// Waits until this list of older extensions, as `tabwire status` shows it, has one.
async fn has_one(place: &ProgramSandbox, list: &str) {
    let shown = async {
        loop {
            let status = place.run(&["status", "--json"]).await.stdout;
            let status: Value = serde_json::from_str(&status).unwrap();
            if status["older_extensions"][list][0].is_object() {
                return;
            }
        }
    };
    soon("the older extension", shown).await;
}

#[tokio::test]
async fn an_older_extension_that_asks_or_is_switched_off_is_named_with_its_one_command() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let polling = tokio::spawn(poll(daemon.port, OLDER, true));
    has_one(&place, "asking").await;
    // Nobody needs the folder of an extension that they do not use.
    let allow = format!("tabwire legacy allow {OLDER}");
    assert_broken(&place, "extension connected", "asks to connect", &allow).await;
    assert_eq!(place.run(&["legacy", "deny"]).await.code, Some(0));
    has_one(&place, "switched_off").await;
    let found = examine(&place).await;
    assert_eq!(found["first_broken"], "extension folder", "they chose to do without: {found:#}");
    assert_eq!(place.run(&["extension", "unpack"]).await.code, Some(0));
    let cause = "older extensions are switched off";
    assert_broken(&place, "extension connected", cause, "tabwire legacy ask").await;
    polling.abort();
}

#[tokio::test]
async fn a_browser_that_does_not_answer_is_named() {
    let (place, daemon, _) = with_daemon().await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let _silent = shim.connect().await;
    let found = examine(&place).await;
    assert_eq!(found["first_broken"], "test command", "{found:#}");
    let says = of(&found, "test command")["says"].as_str().unwrap();
    assert!(says.contains(&shim.label()) && says.contains("did not respond"), "{says}");
    assert!(found["do"].as_str().unwrap().contains("reload the extension"), "{found:#}");
}

#[tokio::test]
async fn that_the_person_has_stopped_everything_is_said_with_the_way_to_go_on() {
    let (place, daemon, _) = with_daemon().await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    extension.send(&json!({"type": "stopped", "stopped": true})).await;
    let is_stopped = async || {
        let status = place.run(&["status"]).await.stdout;
        status.contains("stopped by you (popup: \"Let agents go on\")")
    };
    soon("the word of it", until(is_stopped)).await;
    assert_broken(&place, "test command", "stopped by you", "popup").await;
    let next = place.run(&[]).await.stdout;
    assert!(next.lines().count() == 5 && next.contains("Let agents go on"), "{next}");
}

#[tokio::test]
async fn an_extension_that_is_older_than_the_daemon_is_named_with_the_update() {
    let (place, daemon, _) = with_daemon().await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let client = McpClient::at(daemon.port, place.home().auth().token(&DEFAULT_OWNER.into()));
    let ask = async || {
        let queued = client.call("interact", json!({"action": "page_info"})).await;
        queued["message"].as_str().unwrap().to_owned()
    };
    assert!(!ask().await.contains("too old"), "none has tried");
    let old = |challenge: &str| {
        let mut hello = shim.hello_to(challenge);
        hello["protocol"] = json!([1]);
        hello
    };
    let mut socket = shim.open().await;
    let challenge = socket.challenge().await;
    socket.send(&old(&challenge)).await;
    let (code, reason) = socket.closed_without_a_frame().await;
    assert_eq!(code, 4409);
    let session = ExtensionSession::of(&shim);
    let challenge = session.challenge().await;
    let refused = session.begin(&answering(old(&challenge), &challenge)).await;
    assert_eq!(refused.close(), (409, 4409));
    for reason in [reason.as_str(), refused.json()["message"].as_str().unwrap()] {
        assert!(reason.starts_with("run `tabwire install`, then reload"), "{reason}");
    }

    let remedy = "run `tabwire install`, then reload the extension at chrome://extensions";
    assert_broken(&place, "extension connected", "too old for the daemon", remedy).await;
    let status = place.run(&["status"]).await.stdout;
    assert!(
        status.contains("older than the daemon tried to connect: run `tabwire install`"),
        "{status}"
    );
    let said = ask().await;
    for part in ["too old", "`tabwire install`", "reload the extension at chrome://extensions"] {
        assert!(said.contains(part), "{said}");
    }
    // Once the new one is there nothing is left to say to the agent.
    let _new = shim.connect().await;
    assert!(!ask().await.contains("too old"));
}
