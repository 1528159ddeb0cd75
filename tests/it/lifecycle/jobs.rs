//! Jobs of the daemon's own, as MCP clients see them: two answers, and one command.

use std::collections::HashSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;

use testkit::{LOOK, McpClient, ProgramSandbox, StdioClient, TestDaemon, signal, soon, until};

/// A folder with a few files that may be synced.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    for (name, text) in [("a.txt", "a"), ("b.txt", "bb"), ("sub/c.txt", "ccc")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// A file that takes long to read and no room on the disk.
fn long_file(folder: &Path) -> PathBuf {
    let path = folder.join("long");
    fs::File::create(&path).unwrap().set_len(1 << 36).unwrap();
    path
}

async fn daemon_for(folder: &Path) -> TestDaemon {
    let roots = vec![folder.to_owned()];
    TestDaemon::with(|settings| settings.monitor_roots = roots).await
}

async fn begin(client: &McpClient, path: &Path) -> String {
    let answer = client.call("wksm_monitor_sync", json!({"path": path})).await;
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"]["job_id"].as_str().unwrap().to_owned()
}

async fn sync(client: &McpClient, arguments: Value) -> Value {
    let answer = client.call("wksm_monitor_sync", arguments).await;
    client.outcome(answer["data"]["job_id"].as_str().unwrap()).await
}

/// What is known of a job that is at it.
async fn at_work(client: &McpClient, id: &str) -> Value {
    let counts = async || client.status(id).await["progress"]["message"].clone();
    let is_reading = async || counts().await.as_str().is_some_and(|said| said.contains(" of "));
    soon("progress", until(is_reading)).await;
    client.status(id).await
}

#[tokio::test]
async fn a_sync_is_answered_at_once_and_its_result_is_read_by_its_id() {
    let folder = folder();
    let daemon = daemon_for(folder.path()).await;
    let client = McpClient::modern(&daemon);
    let first = client.call("wksm_monitor_sync", json!({"path": folder.path()})).await;
    let id = first["data"]["job_id"].as_str().unwrap();
    assert!(id.starts_with("job_"), "{id}");
    assert_eq!(first.to_string().matches(id).count(), 2, "with the call that reads on: {first}");
    assert!(["queued", "running"].contains(&first["data"]["status"].as_str().unwrap()));
    assert_eq!(first["data"]["estimated_runtime_seconds"], 0.03, "a second for 100 files");
    assert_eq!(first["messages"][0]["type"], "info");
    let said = format!("Operation {}", first["data"]["status"].as_str().unwrap());
    assert!(first["messages"][0]["text"].as_str().unwrap().starts_with(&said), "{first}");
    let outcome = client.outcome(id).await;
    assert_eq!((&outcome["status"], &outcome["success"]), (&json!("complete"), &json!(true)));
    assert_eq!(outcome["command"], "wksm_monitor_sync");
    assert!(outcome.get("page").is_none(), "{outcome}");
    for (count, expected) in
        [("files_processed", 3), ("files_skipped", 0), ("files_updated", 3), ("files_removed", 0)]
    {
        assert_eq!(outcome["data"][count], expected, "{count}");
    }
    assert!(outcome["data"]["duration_seconds"].is_f64());
    assert_eq!(outcome["messages"][0]["type"], "success");
    daemon.stop().await;
}

#[tokio::test]
async fn a_second_sync_tells_what_has_changed_since() {
    let folder = folder();
    let daemon = daemon_for(folder.path()).await;
    let client = McpClient::legacy(&daemon);
    sync(&client, json!({"path": folder.path()})).await;
    fs::write(folder.path().join("a.txt"), "changed").unwrap();
    fs::write(folder.path().join("new.txt"), "n").unwrap();
    fs::remove_file(folder.path().join("sub/c.txt")).unwrap();
    let daemon = daemon.restart().await;
    let outcome = sync(&McpClient::legacy(&daemon), json!({"path": folder.path()})).await;
    let data = &outcome["data"];
    assert_eq!(data["files_new"], 1, "{data}");
    assert_eq!(data["files_changed"], 1, "{data}");
    assert_eq!(data["files_removed"], 1, "{data}");
    assert_eq!(data["files_skipped"], 1, "{data}");
    let flat = json!({"path": folder.path(), "recursive": false, "verify": true});
    let outcome = sync(&McpClient::legacy(&daemon), flat).await;
    assert_eq!(outcome["data"]["bytes_hashed"], 10, "{outcome}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_cannot_be_synced_is_refused_at_the_call_and_nothing_is_begun() {
    let folder = folder();
    let daemon = daemon_for(folder.path()).await;
    let client = McpClient::modern(&daemon);
    let missing = folder.path().join("missing");
    for (path, error) in [
        (Path::new("/etc/hostname"), "outside_roots"),
        (&missing, "not_found"),
        (Path::new("a.txt"), "not_absolute"),
    ] {
        let refused = client.call_fails("wksm_monitor_sync", json!({"path": path})).await;
        assert_eq!(refused["error"], error, "{refused}");
        assert_eq!(refused["success"], false);
        assert_eq!(refused["messages"][0]["type"], "error");
    }
    for (wrong, error) in [
        (json!({}), "missing_argument"),
        (json!({"path": 7}), "invalid_argument"),
        (json!({"path": "/", "depth": 1}), "unknown_argument"),
    ] {
        assert_eq!(client.call_fails("wksm_monitor_sync", wrong).await["error"], error);
    }
    let lists = client.call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(lists["pending"], json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_long_job_tells_how_far_it_is_and_stops_when_it_is_cancelled() {
    let folder = folder();
    let long = long_file(folder.path());
    let daemon = daemon_for(folder.path()).await;
    let client = McpClient::modern(&daemon);
    let id = begin(&client, &long).await;
    let status = at_work(&client, &id).await;
    assert_eq!(status["status"], "pending");
    assert!(status["progress"]["message"].as_str().unwrap().ends_with("of 1 files"), "{status}");
    assert!(status["started_at"].is_string());
    let cancelled = client.cancel(&id).await;
    assert_eq!((&cancelled["status"], &cancelled["success"]), (&json!("cancelled"), &json!(false)));
    assert_eq!(cancelled["may_have_run"], true);
    let next = sync(&client, json!({"path": folder.path().join("sub")})).await;
    assert_eq!(next["success"], true, "the long one is out of its way: {next}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_that_ends_does_not_wait_for_a_long_job_and_the_next_one_says_so() {
    let folder = folder();
    let long = long_file(folder.path());
    let daemon = daemon_for(folder.path()).await;
    let client = McpClient::modern(&daemon);
    let id = begin(&client, &long).await;
    at_work(&client, &id).await;
    let daemon = daemon.restart().await;
    let status = McpClient::modern(&daemon).status(&id).await;
    assert_eq!(
        (&status["status"], &status["reason"]),
        (&json!("expired"), &json!("daemon_restarted"))
    );
    assert_eq!(status["success"], false);
    let hint = status["hint"].as_str().unwrap();
    assert!(
        hint.contains("Call again") && !hint.contains("page"),
        "no page has to do with it: {hint}"
    );
    assert_eq!(status["messages"][0]["type"], "error");
    daemon.stop().await;
}

#[tokio::test]
async fn a_job_is_read_by_any_client_of_its_owner_and_by_nobody_else() {
    let folder = folder();
    let daemon = daemon_for(folder.path()).await;
    let id = begin(&McpClient::modern(&daemon).named("one"), folder.path()).await;
    let other = McpClient::modern(&daemon).named("another");
    assert_eq!(other.outcome(&id).await["success"], true);
    let stranger = McpClient::modern(&daemon).with_token(daemon.token_of("stranger"));
    let what = json!({"what": "command_result", "correlation_id": id});
    let result = stranger.call_raw("observe", what).await;
    assert_eq!(result["structuredContent"]["error"], "not_found");
    daemon.stop().await;
}

#[tokio::test]
async fn jobs_take_turns_and_those_that_wait_outlive_the_daemon_that_was_killed() {
    let folder = folder();
    let long = long_file(folder.path());
    let place = ProgramSandbox::new();
    let roots = folder.path().to_str().unwrap();
    let daemon = place.serve(&["--monitor-root", roots, "--unattended"]).await;
    let client = |port| McpClient::at(port, place.home().auth().token(&DEFAULT_OWNER.into()));
    let mut ids = Vec::new();
    for path in [&long, &folder.path().join("sub")] {
        ids.push(begin(&client(daemon.port), path).await);
    }
    at_work(&client(daemon.port), &ids[0]).await;
    let waiting = client(daemon.port).status(&ids[1]).await;
    assert_eq!(waiting["message"], "Waiting for its turn");
    assert_eq!(waiting["started_at"], Value::Null, "what waits has not begun: {waiting}");
    signal(daemon.pid(), Signal::KILL);
    daemon.end().await;
    place.until_no_daemon().await;
    let daemon = place.serve(&["--monitor-root", roots]).await;
    assert_eq!(client(daemon.port).status(&ids[0]).await["reason"], "daemon_restarted");
    let outcome = client(daemon.port).outcome(&ids[1]).await;
    assert_eq!(outcome["data"]["files_new"], 1, "{outcome}");
    signal(daemon.pid(), Signal::TERM);
    daemon.end().await;
}

#[tokio::test]
async fn a_call_that_is_sent_again_under_its_key_is_the_same_job() {
    let folder = folder();
    let daemon = daemon_for(folder.path()).await;
    let client = McpClient::modern(&daemon);
    let params = json!({"name": "wksm_monitor_sync", "arguments": {"path": folder.path()}});
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (mut headers, message) = client.message(&json!(1), "tools/call", params.clone());
        headers.push(("x-tabwire-idempotency-key", "the-same".to_owned()));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = client.post(&headers, message.to_string().into_bytes()).await.json();
        ids.push(answer["result"]["structuredContent"]["data"]["job_id"].clone());
    }
    assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
    daemon.stop().await;
}

/// A call that begins a job, and whose answer nobody has read yet. The test looks at its socket: a
/// client's task could be late for an answer that has come.
struct UnreadCall(TcpStream);

impl UnreadCall {
    fn of(client: &McpClient, daemon: &TestDaemon, name: &str, path: &Path) -> Self {
        let params = json!({"name": "wksm_monitor_sync", "arguments": {"path": path}});
        let (mut headers, message) = client.message(&json!("job"), "tools/call", params);
        let body = message.to_string();
        headers.extend([
            ("host", format!("127.0.0.1:{}", daemon.port())),
            ("authorization", format!("Bearer {}", daemon.token())),
            ("x-tabwire-client", name.to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("content-length", body.len().to_string()),
            ("connection", "close".to_owned()),
        ]);
        let mut request = "POST /mcp HTTP/1.1\r\n".to_owned();
        for (header, value) in headers {
            request.push_str(&format!("{header}: {value}\r\n"));
        }
        let mut socket = TcpStream::connect(("127.0.0.1", daemon.port())).unwrap();
        socket.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
        Self(socket)
    }

    fn is_answered(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        matches!(self.0.peek(&mut [0]), Ok(1))
    }

    /// The job that the answer names.
    fn job(mut self) -> String {
        self.0.set_nonblocking(false).unwrap();
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).unwrap();
        let (from, to) = (answer.find('{').unwrap(), answer.rfind('}').unwrap());
        let answer: Value = serde_json::from_str(&answer[from..=to]).unwrap();
        let data = &answer["result"]["structuredContent"]["data"];
        data["job_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_nothing_is_told_of_a_job_before_the_answer_that_names_it() {
    const JOBS: usize = 15;
    let folder = folder();
    let daemon = daemon_for(folder.path()).await;
    for (client, name) in
        [(McpClient::legacy(&daemon), "legacy"), (McpClient::modern(&daemon), "modern")]
    {
        let client = client.named(name);
        let asks = [("x-tabwire-jobs", "1"), ("mcp-protocol-version", "2025-11-25")];
        let mut stream = client.listen("text/event-stream", &asks).await;
        let (mut answered, mut ended) = (HashSet::new(), HashSet::new());
        let mut note = |answered: &HashSet<String>, told: &Value, call: Option<&UnreadCall>| {
            let job = told["params"]["job_id"].as_str().unwrap().to_owned();
            let is_named = answered.contains(&job) || call.is_some_and(UnreadCall::is_answered);
            assert!(is_named, "told before its answer: {told}");
            if told["method"] == "notifications/tool_result" {
                ended.insert(job);
            }
            ended.len()
        };
        for _ in 0..JOBS {
            let call = UnreadCall::of(&client, &daemon, name, folder.path());
            while !call.is_answered() {
                tokio::select! {
                    told = stream.message() => { note(&answered, &told.unwrap(), Some(&call)); }
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
            answered.insert(call.job());
        }
        let mut told = async || soon("the jobs' ends", stream.message()).await.unwrap();
        while note(&answered, &told().await, None) < JOBS {}
    }
    daemon.stop().await;
}

#[tokio::test]
async fn over_stdio_a_client_that_asks_is_told_of_its_job_in_two_stages() {
    let folder = folder();
    let long = long_file(folder.path());
    let place = ProgramSandbox::new();
    let mut command = place.command(&["mcp"]);
    command.env("TABWIRE_MONITOR_ROOTS", folder.path());
    let mut client = StdioClient::spawn(command);
    let params = json!({
        "protocolVersion": "2025-11-25", "clientInfo": {"name": "it", "version": "1"},
        "capabilities": {"experimental": {"tabwire/jobs": {}}},
    });
    client.rpc(json!(0), "initialize", params).await;
    for (path, is_cancelled) in [(folder.path().join("sub"), false), (long, true)] {
        let id = json!(path);
        client.ask(&id, "wksm_monitor_sync", json!({"path": path})).await;
        let first = client.answer(&id).await["result"]["structuredContent"].clone();
        assert_eq!(first["success"], true, "{first}");
        let job = first["data"]["job_id"].as_str().unwrap().to_owned();
        let mut told = Vec::new();
        while told.last().is_none_or(|last: &Value| last["method"] != "notifications/tool_result") {
            let message = soon("a notification", client.read()).await.unwrap();
            assert_eq!(message["params"]["job_id"], *job, "{message}");
            assert!(message["params"]["timestamp"].is_string() && message["id"].is_null());
            told.push(message);
            if is_cancelled && told.len() == 3 {
                let cancel = json!({"action": "cancel", "correlation_id": job});
                client.call("configure", cancel).await;
            }
        }
        let result = &told.last().unwrap()["params"]["result"];
        assert_eq!(result["success"], !is_cancelled, "{result}");
        assert_eq!(result["data"]["files_processed"].as_u64(), (!is_cancelled).then_some(1));
        assert!(result["messages"][0]["text"].is_string(), "{result}");
        let progress = told.iter().filter(|message| message["method"] == "notifications/progress");
        let parts: Vec<_> =
            progress.filter_map(|message| message["params"]["progress"].as_f64()).collect();
        assert!(parts.is_sorted() && parts.iter().all(|part| (0.0..=1.0).contains(part)));
        assert!(!is_cancelled || parts.len() >= 3, "{told:?}");
    }
    client.end_input();
    assert!(client.ended().await);
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
}
