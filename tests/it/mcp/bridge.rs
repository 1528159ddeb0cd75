//! `tabwire mcp`: MCP over stdio, with a daemon that comes when it is needed.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::bridge::{self, DaemonTarget, LocalTarget, TargetDaemon};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use testkit::{
    ExtensionBuilder, FakeDaemon, FrozenClock, ProgramSandbox, StdioClient, Stopwatch, active_tab,
    body, modern_meta, signal, soon, tab, until,
};

fn health() -> Value {
    json!({"action": "health"})
}

async fn initialize(client: &mut StdioClient, version: &str) -> Value {
    let info = json!({"name": "it", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
    let answer = client.rpc(json!(0), "initialize", params).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    answer["result"].clone()
}

#[tokio::test]
async fn what_needs_no_daemon_is_answered_without_one() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let result = initialize(&mut client, version).await;
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "tabwire");
    }
    let list = client.rpc(json!(1), "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0]["name"], "interact");
    assert_eq!(client.rpc(json!(2), "ping", json!({})).await["result"], json!({}));
    let unknown = client.rpc(json!(3), "resources/list", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    // Some clients ask this of a throw-away process and go on in another one.
    let probe = json!("server-discover-probe-1");
    let discover = client.rpc(probe, "server/discover", json!({"_meta": modern_meta()})).await;
    assert_eq!(discover["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discover["result"]["resultType"], "complete");
    let list = client.rpc(json!("b"), "tools/list", json!({"_meta": modern_meta()})).await;
    assert_eq!(list["result"]["resultType"], "complete");
    client.end_input();
    assert!(client.ended().await);
    assert_eq!(client.read().await, None, "nothing that nobody asked for");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it left nothing behind");
}

#[tokio::test]
async fn a_client_that_says_hello_does_not_wait_for_the_list_of_tools_to_be_made() {
    let place = ProgramSandbox::new();
    let split = place.command(&["mcp", "--tools", "split"]);
    let mut client = StdioClient::spawn(split).without_checks();
    // Then the program has started.
    client.rpc(json!(0), "ping", json!({})).await;
    let watch = Stopwatch::start();
    initialize(&mut client, "2025-11-25").await;
    let hello = watch.micros();
    let watch = Stopwatch::start();
    client.rpc(json!(1), "tools/list", json!({})).await;
    let list = watch.micros();
    assert!(hello * 2 < list, "{hello} µs for hello, {list} µs for the list");
}

/// Another reader of the pipe would be a thread that has to be woken for each message.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn pipes_of_a_client_are_opened_once_more_to_be_waited_for_like_connections() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    initialize(&mut client, "2025-11-25").await;
    let folder = format!("/proc/{}/fd", client.pid().unwrap());
    let open: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .collect();
    for stream in 0..2 {
        let pipe = fs::read_link(format!("/proc/{}/fd/{stream}", client.pid().unwrap())).unwrap();
        assert!(pipe.to_string_lossy().starts_with("pipe:"), "{pipe:?}");
        assert_eq!(open.iter().filter(|other| **other == pipe).count(), 2, "{stream}: {open:?}");
    }
}

#[tokio::test]
async fn the_first_call_starts_a_daemon_which_stays() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    initialize(&mut client, "2025-11-25").await;
    assert_eq!(client.call("configure", health()).await["status"], "ok");
    let daemon = place.daemon().expect("a daemon runs");
    client.end_input();
    assert!(client.ended().await);
    assert_eq!(client.complaints().await, "");
    let mut another = StdioClient::start(&place);
    let clients = another.call("configure", json!({"action": "clients"})).await;
    assert_eq!(clients["count"], 2, "{clients}");
    assert_eq!(place.daemon(), Some(daemon), "the same one");
    let stopped = place.run(&["stop"]).await;
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(place.daemon(), None);
}

#[tokio::test]
async fn a_client_holds_its_tabs_while_its_bridge_runs_and_another_may_act_there_once_it_has_ended()
{
    let place = ProgramSandbox::new();
    let mut ann = StdioClient::start(&place);
    ann.call("configure", health()).await;
    let port = place.daemon().expect("a daemon runs").port;
    let builder = ExtensionBuilder::at(port, &place.home()).actions(&["tab_open", "execute_js"]);
    let extension = builder.tabs(vec![active_tab(1), tab(2)]).connect().await;
    let _browser = extension.auto(|command| {
        let value =
            if command.command["type"] == "tab_open" { json!({"tab_id": 2}) } else { json!(1) };
        json!({"success": true, "value": value})
    });
    ann.call("interact", json!({"action": "tab_open", "wait_ms": 5_000})).await;
    let mut bob = StdioClient::start(&place);
    let script = json!({"action": "execute_js", "script": "1", "tab_id": 2, "wait_ms": 5_000});
    assert_eq!(bob.call_fails("interact", script.clone()).await["error"], "tab_in_use");
    ann.end_input();
    assert!(ann.ended().await);
    // The daemon sees the end of the stream a moment later.
    let mut is_free = async || bob.call_raw("interact", script.clone()).await["isError"] == false;
    soon("a free tab", until(async || is_free().await)).await;
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
}

#[tokio::test]
async fn a_modern_call_is_answered_in_its_form() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let params = json!({"name": "configure", "arguments": health(), "_meta": modern_meta()});
    let answer = client.rpc(json!(0), "tools/call", params).await;
    assert_eq!(answer["id"], 0);
    assert_eq!(answer["result"]["resultType"], "complete");
    let server = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "tabwire");
    let unknown = json!({"name": "n\u{f6}pe", "arguments": {}, "_meta": modern_meta()});
    let answer = client.rpc(json!(1), "tools/call", unknown).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = "v999.0.0".into();
    let answer = client.rpc(json!(2), "tools/list", json!({"_meta": meta})).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_bridges_at_once_leave_one_daemon() {
    let place = ProgramSandbox::new();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let mut client = StdioClient::start(&place);
        calls.spawn(async move {
            client.call("configure", health()).await;
            client
        });
    }
    let mut clients = calls.join_all().await;
    let seen = clients[0].call("configure", json!({"action": "clients"})).await;
    assert_eq!(seen["count"], 10, "all of them talk to the same one: {seen}");
    let daemon = place.daemon().unwrap();
    assert_eq!(daemons_of(&place), [daemon.pid]);
}

/// The processes that run `tabwire serve` on this state directory.
fn daemons_of(place: &ProgramSandbox) -> Vec<u32> {
    let is_daemon = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|part| part == b"serve")
    };
    place.processes().into_iter().filter(is_daemon).collect()
}

#[tokio::test]
async fn at_the_end_of_its_input_it_hands_out_what_is_answered_and_ends() {
    let place = ProgramSandbox::new();
    let _daemon = place.serve(&[]).await;
    let mut client = StdioClient::start(&place);
    client.call("configure", health()).await;
    let ids: Vec<_> = (0..20).map(Value::from).collect();
    let mut lines = String::new();
    for id in &ids {
        let params = json!({"name": "configure", "arguments": health()});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        lines.push_str(&format!("{call}\n"));
    }
    // One that would wait for long must not hold it up.
    let waiting = json!({"action": "page_info", "wait_ms": 50_000});
    let params = json!({"name": "interact", "arguments": waiting});
    let call = json!({"jsonrpc": "2.0", "id": "waits", "method": "tools/call", "params": params});
    lines.push_str(&format!("{call}\n"));
    let watch = Stopwatch::start();
    client.send_bytes(lines.as_bytes()).await;
    client.end_input();
    let mut answered = Vec::new();
    while let Some(answer) = client.read().await {
        answered.push(answer["id"].clone());
    }
    assert!(client.ended().await);
    watch.assert_under(500, "ending");
    assert_eq!(answered.len(), 20, "{answered:?}");
    assert!(ids.iter().all(|id| answered.contains(id)), "{answered:?}");
    assert!(place.daemon().is_some(), "the daemon goes on");
}

#[tokio::test]
async fn it_ends_at_once_when_nothing_was_asked() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    client.rpc(json!(1), "ping", json!({})).await;
    let watch = Stopwatch::start();
    client.end_input();
    assert!(client.ended().await);
    watch.assert_under(200, "ending");
}

#[tokio::test]
async fn submissions_keep_the_order_of_their_lines() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&["--limit", "queued=100"]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    let mut client = StdioClient::start(&place);
    let scripts: Vec<_> = (0..40).map(|n| format!("script {n}")).collect();
    let mut lines = String::new();
    for (n, script) in scripts.iter().enumerate() {
        // Some wait for their result, and must not hold up those behind them.
        let wait_ms = if n % 3 == 0 { 8_000 } else { 0 };
        let arguments = json!({
            "action": "execute_js", "script": script, "tab_id": 7, "wait_ms": wait_ms
        });
        let params = json!({"name": "interact", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params});
        lines.push_str(&format!("{call}\n"));
    }
    client.send_bytes(lines.as_bytes()).await;
    let mut ran = Vec::new();
    for _ in &scripts {
        ran.push(extension.run(&json!(1)).await.script().to_owned());
    }
    assert_eq!(ran, scripts);
    for n in 0..scripts.len() {
        let answer = client.answer(&json!(n)).await;
        let body = &answer["result"]["structuredContent"];
        let expected =
            if n % 3 == 0 { (json!(1), Value::Null) } else { (Value::Null, json!("queued")) };
        assert_eq!((&body["result"], &body["status"]), (&expected.0, &expected.1), "{answer}");
    }
}

#[tokio::test]
async fn after_its_daemon_was_killed_the_next_read_works() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    for _ in 0..2 {
        assert_eq!(client.call("configure", health()).await["status"], "ok");
        let daemon = place.daemon().unwrap();
        signal(daemon.pid, Signal::KILL);
        place.until_no_daemon().await;
        let pending = client.call("observe", json!({"what": "pending_commands"})).await;
        assert_eq!(pending["pending"], json!([]));
        assert_ne!(place.daemon().unwrap().pid, daemon.pid, "another one was started");
    }
}

#[tokio::test]
async fn a_read_that_waits_while_its_daemon_is_killed_goes_on_waiting_at_the_next_one() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let id = client.call("interact", json!({"action": "page_info"})).await;
    let id = id["correlation_id"].as_str().unwrap();
    let daemon = place.daemon().unwrap();
    let wait = json!({"what": "command_result", "correlation_id": id, "wait_ms": 8_000});
    let params = json!({"name": "observe", "arguments": wait});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    // It is on its way by the time that a later one is answered.
    client.call("configure", health()).await;
    signal(daemon.pid, Signal::KILL);
    let port = place.daemon_after(&daemon).await.port;
    let mut extension = ExtensionBuilder::at(port, &place.home()).connect().await;
    let command = extension.command().await;
    extension.complete(&command, &json!("Home")).await;
    let answer = client.answer(&json!(1)).await;
    let body = &answer["result"]["structuredContent"];
    assert_eq!((&body["status"], &body["result"]), (&json!("complete"), &json!("Home")), "{body}");
}

#[tokio::test]
async fn a_line_that_is_no_request_gets_an_error_and_the_next_one_works() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let long = vec![b'x'; 20 * 1024 * 1024];
    let lines: [(&str, &[u8], i64); 8] = [
        ("a word", b"hello", -32700),
        ("half a line", br#"{"jsonrpc":"2.0","id":1,"meth"#, -32700),
        ("bytes", b"\x00\xff\xfe\x80", -32700),
        (
            "invalid UTF-8 in a string",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
        ),
        ("a batch", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("no method", br#"{"jsonrpc":"2.0","id":null}"#, -32600),
        ("a carriage return", b"nonsense\r", -32700),
        ("20 MB", &long, -32600),
    ];
    for (what, line, code) in lines {
        client.send_bytes(line).await;
        client.send_bytes(b"\n").await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{what}: {answer}");
        assert_eq!(answer["id"], Value::Null, "{what}");
        let ping = client.rpc(json!("next"), "ping", json!({})).await;
        assert_eq!(ping["result"], json!({}), "after {what}");
    }
    // What wants no answer gets none.
    client.send_bytes(b"\n   \n\r\n").await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await;
    client.send_bytes(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#).await;
    client.end_input();
    assert_eq!(client.read().await.unwrap()["id"], "last", "a last line without an end counts");
    assert_eq!(client.read().await, None);
    assert!(client.ended().await);
    assert_eq!(place.daemon(), None, "none of it needed a daemon");
}

#[tokio::test]
async fn a_script_of_two_megabytes_is_refused_and_the_next_call_works() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let script = "x".repeat(2 * 1024 * 1024);
    let call = json!({"action": "execute_js", "script": script});
    let refusal = client.call_fails("interact", call).await;
    assert_eq!(refusal["error"], "too_large", "{refusal}");
    assert_eq!(client.call("configure", health()).await["pending"], 0);
}

#[tokio::test]
async fn a_port_that_another_program_has_is_a_failed_call_that_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let place = ProgramSandbox::with_port(port);
    let mut client = StdioClient::start(&place);
    initialize(&mut client, "2025-11-25").await;
    let failure = client.call_fails("configure", health()).await;
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains(&format!("port {port}")), "{message}");
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert!(!failure["hint"].as_str().unwrap().is_empty());
    drop(taken);
    assert_eq!(client.call("configure", health()).await["status"], "ok", "once it is free");
    assert_eq!(place.daemon().unwrap().port, port);
}

#[tokio::test]
async fn a_state_directory_that_is_open_to_others_is_a_failed_call_that_says_how_to_close_it() {
    let place = ProgramSandbox::new();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let mut client = StdioClient::start(&place);
    let failure = client.call_fails("configure", health()).await;
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("chmod 700"), "{message}");
    assert!(message.contains(place.path().to_str().unwrap()), "{message}");
    fs::set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(client.call("configure", health()).await["status"], "ok", "once it is closed");
}

#[tokio::test]
async fn a_client_that_is_named_keeps_its_name() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::spawn(place.command(&["mcp", "--client", "my agent"]));
    let clients = client.call("configure", json!({"action": "clients"})).await;
    assert_eq!(clients["you"], "my agent");
    let mut unnamed = StdioClient::start(&place);
    let clients = unnamed.call("configure", json!({"action": "clients"})).await;
    assert_ne!(clients["you"], "my agent");
    assert_eq!(clients["count"], 2);
}

/// Whether a process is there, and not just waiting to be buried.
fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[tokio::test]
async fn a_killed_agent_leaves_no_bridge_even_if_its_standard_input_stays_open() {
    let place = ProgramSandbox::new();
    let (for_bridge, mut held_open) = std::io::pipe().unwrap();
    // The agent: a shell that has the bridge as its child. What it starts in the background
    // has no standard input but one that has another name.
    let script = "exec 3<&0; \"$0\" mcp <&3 & echo $!; wait";
    let mut agent = tokio::process::Command::new("sh")
        .args(["-c", script, testkit::program()])
        .env("TABWIRE_HOME", place.path())
        .env("TABWIRE_PORT", "0")
        .stdin(for_bridge)
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut output = BufReader::new(agent.stdout.take().unwrap());
    output.read_line(&mut said).await.unwrap();
    let bridge: u32 = said.trim().parse().unwrap();
    // Once it answers it knows who its parent is.
    held_open.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    said.clear();
    output.read_line(&mut said).await.unwrap();
    assert!(said.contains("\"result\""), "{said}");
    assert!(is_alive(bridge));
    agent.kill().await.unwrap();
    let gone = async {
        while is_alive(bridge) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon("the end of the bridge", gone).await;
    drop(held_open);
}

#[tokio::test]
async fn a_result_that_was_written_on_several_lines_is_one_line_to_the_client() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    initialize(&mut client, "2025-11-25").await;
    client.call("configure", health()).await;
    let port = place.daemon().expect("a daemon runs").port;
    let mut extension = ExtensionBuilder::at(port, &place.home()).connect().await;
    let script = json!({"action": "execute_js", "script": "1", "tab_id": 7});
    let id = client.call("interact", script).await["correlation_id"].clone();
    let command = extension.command().await;
    extension.claim(&command).await;
    let report = command.frame("complete", json!({"result": {"success": true, "value": "a\nb"}}));
    let lines = serde_json::to_string_pretty(&report).unwrap().replace('\n', "\r\n");
    extension.send_message(lines.into()).await;
    let read = json!({"what": "command_result", "correlation_id": id, "wait_ms": 8_000});
    let outcome = soon("one line", client.call("observe", read)).await;
    assert_eq!(outcome["result"]["value"], "a\nb", "{outcome}");
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
}

#[tokio::test]
async fn a_bridge_calls_as_the_owner_that_it_was_started_for_and_its_name_makes_it_no_other() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let extension = ExtensionBuilder::at(served.port, &place.home()).connect().await;
    let _runs = extension.auto(|_| json!({"success": true, "value": "x", "type": "string"}));
    let start = |arguments: &[&str]| {
        StdioClient::spawn(place.command(&[&["mcp", "--client", "same"], arguments].concat()))
    };
    assert_eq!(place.run(&["token", "--owner", "research"]).await.code, Some(0));
    let mut own = start(&["--owner", "research"]);
    let mut others = start(&[]);
    let script = json!({"action": "execute_js", "script": "1", "wait_ms": 8_000, "trace": true});
    let id = own.call("interact", script).await["correlation_id"].clone();
    own.call("configure", json!({"action": "store", "name": "mine", "data": 1})).await;
    let read = json!({"what": "command_result", "correlation_id": id});
    assert_eq!(own.call("observe", read.clone()).await["status"], "complete");
    assert_eq!(body(&others.call_raw("observe", read.clone()).await)["status"], "not_found");
    let stored = others.call("configure", json!({"action": "list"})).await;
    assert!(!stored.to_string().contains("mine"), "{stored}");
    let clients = others.call("configure", json!({"action": "clients"})).await;
    assert_eq!((&clients["you"], &clients["count"]), (&json!("same"), &json!(1)), "{clients}");
    // A client's name is a label: that of the other owner's client opens nothing.
    let posing = place.run(&["mcp", "--client", "research·same"]).await;
    assert!(posing.code != Some(0) && posing.stderr.contains("ASCII"), "{posing:?}");
    let another = start(&["--owner", "research"]).call("observe", read).await;
    assert_eq!(another["status"], "complete", "another client of the same owner reads it");
    let wrong = place.run(&["mcp", "--owner", "a b"]).await;
    assert!(wrong.code != Some(0) && wrong.stderr.contains("letters, digits"), "{wrong:?}");
}

/// A bridge in this process, whose time is the test's: the client's end of its pipes.
fn bridge_to(place: &ProgramSandbox) -> DuplexStream {
    let (client, bridge_end) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(bridge_end);
    let local = LocalTarget {
        home: place.path().to_owned(),
        port: 0,
        owner: "user".into(),
        has_service: false,
        program: "there-is-none".into(),
    };
    let target = DaemonTarget::new(TargetDaemon::Local(local), "it".to_owned());
    tokio::spawn(bridge::run(target, input, output));
    client
}

#[tokio::test(start_paused = true)]
async fn each_call_of_a_daemon_that_hangs_is_answered_within_its_own_time() {
    let time = FrozenClock::time().await;
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = BufReader::new(bridge_to(&place));
    let call = |id: u64| {
        let params = json!({"name": "interact", "arguments": {"action": "page_info"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        format!("{call}\n")
    };
    for id in 0..3 {
        client.write_all(call(id).as_bytes()).await.unwrap();
    }
    let first = daemon.next().await;
    time.pass_ms(20_000).await;
    client.write_all(call(3).as_bytes()).await.unwrap();
    tokio::task::yield_now().await;
    time.pass_ms(14_900).await;
    assert!(client.fill_buf().now_or_never().is_none(), "their time is not over");
    // The hint of the next answer, by the call's id.
    let mut next = async || {
        let mut line = String::new();
        client.read_line(&mut line).await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let body = &answer["result"]["structuredContent"];
        assert_eq!(body["error"], "daemon_timeout", "{answer}");
        (answer["id"].as_u64().unwrap(), body["hint"].as_str().unwrap().to_owned())
    };
    time.pass_ms(200).await;
    let mut hints = [next().await, next().await, next().await];
    hints.sort();
    assert!(hints[0].1.contains("may have accepted"), "{hints:?}");
    assert_eq!(hints[1..], [1, 2].map(|id| (id, "Call again.".to_owned())));
    drop(first);
    // Its turn came when the time of the one before it was over.
    let second = daemon.next().await;
    assert_eq!(second.json()["id"], 3, "those whose time was over are not sent");
    time.pass_ms(20_000).await;
    assert_eq!(next().await.0, 3);
}
