//! The program on the command line: what it says, and with which code it ends.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, ProgramSandbox, RowReport, StdioClient, Stopwatch, finish, signal,
};

#[tokio::test]
async fn a_port_that_another_program_has_ends_it_with_69_and_names_the_program() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let place = ProgramSandbox::new();
    let ran = place.run(&["serve", "--port", &port]).await;
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.stderr.contains(&format!("port {port}")), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("process {}", std::process::id())), "{}", ran.stderr);
    assert!(ran.stderr.contains("--port"), "the next step: {}", ran.stderr);
    assert_eq!(ran.stdout, "");
    assert_eq!(place.daemon(), None);
}

#[tokio::test]
async fn a_second_daemon_on_a_state_directory_says_so_and_ends_well() {
    let place = ProgramSandbox::new();
    let first = place.serve(&[]).await;
    let ran = place.run(&["serve"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("already runs"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("process {}", first.pid())), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("port {}", first.port)), "{}", ran.stdout);
    assert_eq!(place.daemon().unwrap().pid, first.pid(), "the first one goes on");
}

#[tokio::test]
async fn a_daemon_whose_state_directory_is_removed_ends_and_leaves_the_next_one_alone() {
    let (place, aside) = (ProgramSandbox::new(), tempfile::tempdir().unwrap());
    let first = place.serve(&[]).await;
    // At once, also while the daemon is still making files there.
    fs::rename(place.path(), aside.path().join("state")).unwrap();
    let next = place.serve(&[]).await;
    let pid = first.pid();
    let ended = first.end().await;
    assert!(ended.success(), "{ended}");
    let told = place.daemon().expect("the next one's record is its own");
    assert!(told.pid == next.pid() && told.pid != pid, "{told:?}");
}

#[tokio::test]
async fn a_port_that_another_tabwire_of_the_user_serves_ends_it_well() {
    let (one, other) = (ProgramSandbox::new(), ProgramSandbox::new());
    let first = one.serve(&[]).await;
    let ran = other.run(&["serve", "--port", &first.port.to_string()]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Tabwire"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("process {}", first.pid())), "{}", ran.stdout);
    assert_eq!(other.daemon(), None);
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_used_ends_it_with_the_next_step() {
    let place = ProgramSandbox::new();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let below_a_file = file.join("state");
    let open = place.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o750)).unwrap();
    for (dir, next_step) in [(&below_a_file, "TABWIRE_HOME"), (&open, "chmod 700")] {
        for command in [&["serve"][..], &["token"], &["stop"], &["extension", "unpack"]] {
            let mut command = place.command(command);
            command.env("TABWIRE_HOME", dir);
            let ran = finish(command).await;
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert!(ran.stderr.contains(dir.to_str().unwrap()), "{}", ran.stderr);
            assert!(ran.stderr.contains(next_step), "{}", ran.stderr);
            assert_eq!(ran.stdout, "", "{ran:?}");
        }
    }
}

#[tokio::test]
async fn signals_end_the_daemon_in_under_five_seconds_whatever_it_is_at() {
    for sign in [Signal::TERM, Signal::INT] {
        let place = ProgramSandbox::new();
        let daemon = place.serve(&[]).await;
        let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
        let mut client = StdioClient::start(&place);
        let arguments = json!({"action": "execute_js", "script": "1", "wait_ms": 50_000});
        let params = json!({"name": "interact", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        client.send(&call).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        let watch = Stopwatch::start();
        signal(daemon.pid(), sign);
        assert_eq!(extension.closed().await.0, 1001);
        let answer = client.answer(&json!(1)).await;
        assert_eq!(answer["result"]["structuredContent"]["status"], "pending", "{answer}");
        assert_eq!(daemon.end().await.code(), Some(0));
        watch.assert_under(5_000, "the end");
        assert_eq!(place.daemon(), None);
        assert!(!place.path().join("daemon.json").exists(), "its record goes with it");
    }
}

#[tokio::test]
async fn stop_ends_the_daemon_and_says_when_there_is_none() {
    let place = ProgramSandbox::new();
    let ran = place.run(&["stop"]).await;
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "no daemon runs"));
    let daemon = place.serve(&[]).await;
    let pid = daemon.pid();
    let ran = place.run(&["stop"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(&format!("process {pid}")), "{}", ran.stdout);
    assert_eq!(daemon.end().await.code(), Some(0));
}

#[tokio::test]
async fn limits_are_set_by_name_and_a_wrong_name_names_the_closest() {
    let place = ProgramSandbox::new();
    for (limit, says) in [
        ("queud=9", "did you mean `queued`?"),
        ("queued", "NAME=VALUE"),
        ("queued=many", "invalid number"),
        ("queued=0", "below the minimum"),
    ] {
        let ran = place.run(&["serve", "--limit", limit]).await;
        assert_eq!(ran.code, Some(2), "{limit}: {ran:?}");
        assert!(ran.stderr.contains(says), "{limit}: {}", ran.stderr);
    }
    let _daemon = place.serve(&["--limit", "queued=1", "--wait-ms", "0"]).await;
    let mut client = StdioClient::start(&place);
    client.call("interact", json!({"action": "page_info"})).await;
    let refusal = client.call_fails("interact", json!({"action": "page_info"})).await;
    assert_eq!((&refusal["error"], &refusal["queued"]), (&json!("queue_full"), &json!(1)));
}

#[tokio::test]
async fn a_daemon_can_wait_for_results_by_itself() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&["--wait-ms", "8000"]).await;
    let extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let _auto = extension.auto(|_| json!("ran"));
    let mut client = StdioClient::start(&place);
    let call = json!({"action": "execute_js", "script": "1"});
    assert_eq!(client.call("interact", call).await["result"], "ran");
}

#[tokio::test]
async fn tokens_are_printed_one_for_each_owner_and_stay_the_same() {
    let place = ProgramSandbox::new();
    let user = place.run(&["token"]).await;
    let token = user.stdout.trim().to_owned();
    assert_eq!((user.code, token.len()), (Some(0), 43), "{user:?}");
    assert_eq!(place.run(&["token"]).await.stdout, user.stdout);
    let other = place.run(&["token", "--owner", "ci"]).await;
    assert_eq!(other.code, Some(0));
    assert_ne!(other.stdout, user.stdout);
    let wrong = place.run(&["token", "--owner", "no spaces"]).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("no spaces"), "{}", wrong.stderr);
    let mode =
        |name: &str| fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("auth.key"), 0o600);
}

#[tokio::test]
async fn the_extension_is_unpacked_with_its_key_and_the_port_of_the_daemon() {
    let place = ProgramSandbox::new();
    let no_port = place.run(&["extension", "unpack"]).await;
    assert_eq!(no_port.code, Some(1), "{no_port:?}");
    assert!(no_port.stderr.contains("port"), "{}", no_port.stderr);

    let daemon = place.serve(&[]).await;
    let ran = place.run(&["extension", "unpack", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(said["port"], daemon.port);
    let id = place.run(&["extension", "id"]).await.stdout;
    assert_eq!(said["id"], id.trim());
    let dir = std::path::PathBuf::from(said["dir"].as_str().unwrap());
    assert!(dir.starts_with(place.path()), "nothing is written outside TABWIRE_HOME");
    let config = dir.join("config.json");
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    let config: Value = serde_json::from_str(&fs::read_to_string(config).unwrap()).unwrap();
    let key = place.home().auth().extension_key(id.trim());
    assert_eq!(config, json!({"port": daemon.port, "ext_key": key.encoded()}));
    assert!(dir.join("manifest.json").is_file());

    let occupied = place.path().join("thesis");
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("thesis.txt"), "years of work").unwrap();
    let ran = place.run(&["extension", "unpack", occupied.to_str().unwrap()]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(fs::read_dir(&occupied).unwrap().count(), 1, "it was left alone");
}

#[tokio::test]
async fn another_extension_is_allowed_by_its_id_and_reaches_a_running_daemon_at_once() {
    const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    for wrong in ["abc", "ABCDEFGHIJKLMNOPABCDEFGHIJKLMNOP", "abcdefghijklmnopabcdefghijklmnoz"] {
        let ran = place.run(&["extension", "allow", wrong]).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("32 letters"), "{}", ran.stderr);
    }
    let first = place.run(&["extension", "allow", OTHER_ID, "--unattended"]).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    let again = place.run(&["extension", "allow", OTHER_ID]).await;
    assert_eq!((again.code, again.stdout.contains("already")), (Some(0), true), "{again:?}");
    let home = place.home();
    let shim = ExtensionBuilder::at(daemon.port, &home).extension(OTHER_ID);
    shim.key(home.auth().extension_key(OTHER_ID)).connect().await.expect_nothing().await;
}

#[tokio::test]
async fn help_comes_with_examples_and_wrong_usage_ends_with_2() {
    let place = ProgramSandbox::new();
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["mcp", "--help"],
        &["extension", "unpack", "--help"],
    ] {
        let ran = place.run(command).await;
        assert_eq!(ran.code, Some(0), "{command:?}");
        assert!(ran.stdout.contains("Example"), "{command:?}: {}", ran.stdout);
    }
    let exit_codes = place.run(&["--help"]).await.stdout;
    assert!(exit_codes.contains("69"), "the exit codes are documented");
    for wrong in [&["sevre"][..], &["serve", "--prot", "1"], &["serve", "--port", "99999"]] {
        let ran = place.run(wrong).await;
        assert_eq!(ran.code, Some(2), "{wrong:?}: {ran:?}");
        assert!(!ran.stderr.is_empty(), "{wrong:?}");
    }
    assert!(place.run(&["sevre"]).await.stderr.contains("serve"), "the closest command");
    let version = place.run(&["--version"]).await;
    assert_eq!(version.stdout.trim(), concat!("tabwire ", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn the_configuration_for_mcp_clients_starts_this_program() {
    let place = ProgramSandbox::with_port(47_891);
    let ran = place.run(&["mcp-config"]).await;
    assert_eq!(place.run(&["mcp-config", "--json"]).await.stdout, ran.stdout);
    let config: Value = serde_json::from_str(&ran.stdout).unwrap();
    let server = &config["mcpServers"]["tabwire"];
    let args = json!(["mcp", "--tools", "split", "--home", place.path(), "--port", "47891"]);
    assert_eq!(server["args"], args);
    let program = fs::canonicalize(server["command"].as_str().unwrap()).unwrap();
    assert_eq!(program, fs::canonicalize(testkit::program()).unwrap());
}

#[tokio::test]
async fn the_configuration_for_mcp_clients_names_an_owner_and_a_browser_if_it_is_told_to() {
    let place = ProgramSandbox::with_port(47_891);
    let told = ["mcp-config", "--owner", "work", "--browser", "Private"];
    let config: Value = serde_json::from_str(&place.run(&told).await.stdout).unwrap();
    let args = config["mcpServers"]["tabwire"]["args"].as_array().unwrap().clone();
    let named = &args[args.len() - 4..];
    assert_eq!(json!(named), json!(["--browser", "Private", "--owner", "work"]));
    // The line is one that the program takes.
    let line: Vec<_> = args.iter().map(|arg| arg.as_str().unwrap()).chain(["--help"]).collect();
    assert_eq!(place.run(&line).await.code, Some(0));
    for (wrong, says) in [(["--owner", "a b"], "owner"), (["--browser", ""], "--browser")] {
        let refused = place.run(&[&["mcp-config"], &wrong[..]].concat()).await;
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stdout.is_empty() && refused.stderr.contains(says), "{refused:?}");
    }
}

#[tokio::test]
async fn a_daemon_without_work_ends_by_itself_if_it_was_told_to() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&["--idle-exit", "1"]).await;
    assert_eq!(daemon.end().await.code(), Some(0));
    assert_eq!(place.daemon(), None);
}

#[tokio::test]
async fn a_daemon_listens_on_the_loopback_only_and_no_flag_changes_that() {
    let place = ProgramSandbox::new();
    let mut row = RowReport::new(19);
    for flag in ["--listen", "--host", "--bind", "--allow-remote"] {
        let ran = place.run(&["serve", flag, "0.0.0.0"]).await;
        row.tried(flag, ran.code == Some(2), format!("{ran:?}"));
    }
    let daemon = place.serve(&[]).await;
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    let port = format!(":{:04X}", daemon.port);
    let mut own: Vec<_> = tables
        .iter()
        .flat_map(|table| table.as_deref().unwrap_or_default().lines())
        .filter_map(|line| line.split_whitespace().nth(1)?.strip_suffix(&port))
        .collect();
    own.dedup();
    let loopback = ["0100007F", "00000000000000000000000001000000"];
    let is_loopback = own.iter().all(|address| loopback.contains(address));
    row.tried("its listeners", is_loopback, format!("{own:?}"));
    row.report();
}
