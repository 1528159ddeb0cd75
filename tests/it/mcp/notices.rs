//! The stream on which a client is told of its jobs: who gets it, how long, and what the
//! bridge does with it.

use serde_json::{Value, json};

use testkit::{
    EventStream, FakeDaemon, FrozenClock, HeldRequest, McpClient, ProgramSandbox, StdioClient,
    TestDaemon, modern_meta,
};

const EVENTS: &str = "text/event-stream";

async fn open(client: &McpClient) -> EventStream {
    let stream = client.listen(EVENTS, &[("mcp-protocol-version", "2025-11-25")]).await;
    assert_eq!(stream.status, 200);
    assert!(stream.is_events(), "{:?}", stream.headers);
    stream
}

#[tokio::test]
async fn the_stream_is_for_the_legacy_era_and_for_who_can_read_events() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let modern = client.listen(EVENTS, &[("mcp-protocol-version", "2026-07-28")]).await;
    assert_eq!(modern.status, 405);
    assert_eq!(modern.headers["allow"], "POST");
    let deaf = client.listen("application/json", &[]).await;
    assert_eq!(deaf.status, 406);
    assert_eq!(deaf.json().await["error"], "not_acceptable");
    open(&client).await;
    assert_eq!(client.listen(EVENTS, &[]).await.status, 200, "the version is not always said");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_asked_anything_of_is_kept_alive_and_says_nothing() {
    let daemon = TestDaemon::start().await;
    let time = FrozenClock::time().await;
    let mut stream = open(&McpClient::legacy(&daemon)).await;
    for _ in 0..3 {
        time.pass_ms(15_000).await;
        assert_eq!(stream.block().await.unwrap(), ": still here");
    }
}

#[tokio::test]
async fn a_ninth_stream_of_a_client_closes_its_oldest_and_no_others() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut others = open(&McpClient::legacy(&daemon).named("other")).await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(open(&client).await);
    }
    for stream in &mut streams[..2] {
        assert_eq!(stream.block().await, None);
    }
    daemon.begin_to_stop();
    for stream in &mut streams[2..] {
        assert_eq!(stream.block().await, None, "it ends with the daemon");
    }
    assert_eq!(others.block().await, None);
    daemon.stop().await;
}

fn initialize(experimental: &Value) -> Value {
    let info = json!({"name": "it", "version": "1"});
    let capabilities = json!({"experimental": experimental});
    json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info})
}

fn health() -> Value {
    json!({"action": "health"})
}

fn notice(n: u32) -> Value {
    let params = json!({"job_id": "job_1", "progress": 0.5, "message": format!("{n}")});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

/// A bridge whose client asks to be told of its jobs.
async fn asking(place: &ProgramSandbox) -> StdioClient {
    let mut client = StdioClient::start(place);
    let params = initialize(&json!({"tabwire/jobs": {}}));
    client.rpc(json!(0), "initialize", params).await;
    client
}

/// Hears the client's handshake, which comes before the first call.
async fn greeted(daemon: &mut FakeDaemon) {
    let handshake = daemon.next().await;
    assert_eq!(handshake.json()["method"], "initialize");
    handshake.note().await;
}

/// The bridge's stream, opened.
async fn opened(daemon: &mut FakeDaemon) -> HeldRequest {
    let mut stream = daemon.next().await;
    assert_eq!(stream.line, "GET /mcp HTTP/1.1");
    assert_eq!(stream.header("accept"), Some(EVENTS));
    assert!(stream.header("x-tabwire-jobs").is_some());
    assert!(stream.header("authorization").unwrap().starts_with("Bearer "));
    stream.accept_events().await;
    stream
}

#[tokio::test]
async fn a_bridge_whose_client_asks_opens_the_stream_before_the_first_call_and_passes_it_on() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let flag = StdioClient::spawn(place.command(&["mcp", "--job-notifications"]));
    for (mut client, begins) in [(asking(&place).await, true), (flag, false)] {
        client.ask(&json!(1), "configure", health()).await;
        if begins {
            greeted(&mut daemon).await;
        }
        let mut stream = opened(&mut daemon).await;
        let call = daemon.next().await;
        assert_eq!(call.header("x-tabwire-client"), stream.header("x-tabwire-client"));
        for n in 1..=3 {
            stream.event(&notice(n)).await;
            assert_eq!(client.read().await.unwrap(), notice(n), "while a call is open");
        }
        call.answer(false, &json!({})).await;
        client.answer(&json!(1)).await;
        stream.event(&notice(4)).await;
        assert_eq!(client.read().await.unwrap(), notice(4));
        client.end_input();
        assert!(client.ended().await);
        stream.closed().await;
    }
}

/// A call that begins a job, as a client of the era writes it.
fn begins_a_job(is_modern: bool) -> Value {
    let mut params = json!({"name": "wksm_monitor_sync", "arguments": {"path": "/srv"}});
    if is_modern {
        params["_meta"] = modern_meta();
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

#[tokio::test]
async fn a_bridge_writes_nothing_of_a_job_before_the_answer_that_names_it() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let flag = StdioClient::spawn(place.command(&["mcp", "--job-notifications"]));
    for (mut client, is_modern) in [(asking(&place).await, false), (flag, true)] {
        client.send(&begins_a_job(is_modern)).await;
        if !is_modern {
            greeted(&mut daemon).await;
        }
        let mut stream = opened(&mut daemon).await;
        let call = daemon.next().await;
        for n in 1..=3 {
            stream.event(&notice(n)).await;
        }
        // Another call goes on meanwhile, and the bridge has had the time to write.
        client.ask(&json!(2), "configure", health()).await;
        daemon.next().await.answer(false, &json!({})).await;
        assert_eq!(client.read().await.unwrap()["id"], 2);
        call.answer(false, &json!({"job_id": "job_1"})).await;
        assert_eq!(client.read().await.unwrap()["id"], 1, "the answer comes first");
        for n in 1..=3 {
            assert_eq!(client.read().await.unwrap(), notice(n));
        }
        client.end_input();
        assert!(client.ended().await);
        stream.closed().await;
    }
}

#[tokio::test]
async fn after_a_restart_of_the_daemon_the_stream_is_opened_again() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = asking(&place).await;
    client.ask(&json!(1), "configure", health()).await;
    greeted(&mut daemon).await;
    let stream = opened(&mut daemon).await;
    daemon.next().await.answer(false, &json!({})).await;
    client.answer(&json!(1)).await;
    daemon.becomes_another().await;
    drop(stream);
    // Nobody calls.
    let mut stream = opened(&mut daemon).await;
    stream.event(&notice(1)).await;
    assert_eq!(client.read().await.unwrap(), notice(1));
}

#[tokio::test]
async fn a_daemon_without_such_a_stream_answers_calls_all_the_same() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    let mut client = asking(&place).await;
    for id in [json!(1), json!(2)] {
        client.ask(&id, "configure", health()).await;
        if id == 1 {
            greeted(&mut daemon).await;
        }
        let mut request = daemon.next().await;
        if request.line.starts_with("GET") {
            request.note().await;
            request = daemon.next().await;
        }
        assert_eq!(request.json()["id"], id);
        request.answer(false, &json!({})).await;
        client.answer(&id).await;
    }
}

#[tokio::test]
async fn a_bridge_whose_client_does_not_ask_is_told_of_no_job() {
    let place = ProgramSandbox::new();
    let mut daemon = FakeDaemon::start(&place).await;
    for experimental in [json!({}), json!({"tabwire/jobs": false}), json!(null)] {
        let mut client = StdioClient::start(&place);
        client.rpc(json!(0), "initialize", initialize(&experimental)).await;
        for id in [json!(1), json!(2)] {
            client.ask(&id, "configure", health()).await;
            if id == 1 {
                greeted(&mut daemon).await;
            }
            let call = daemon.next().await;
            assert_eq!(call.line, "POST /mcp HTTP/1.1", "{experimental}");
            call.answer(false, &json!({})).await;
            client.answer(&id).await;
        }
    }
}

#[tokio::test]
async fn to_be_told_of_jobs_starts_no_daemon_and_leaves_nothing_behind() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::spawn(place.command(&["mcp", "--job-notifications"]));
    client.rpc(json!(0), "initialize", initialize(&json!({"tabwire/jobs": {}}))).await;
    client.rpc(json!(1), "tools/list", json!({})).await;
    client.end_input();
    assert!(client.ended().await);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
