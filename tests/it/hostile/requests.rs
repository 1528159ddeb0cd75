//! Requests that no well-behaved program makes, byte by byte.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::scene::Scene;
use crate::connection::websocket::{PROTOCOL, handshake};
use testkit::{
    ExtensionBuilder, McpClient, OWN_TOKEN, RawAnswer, RawConnection, RowReport, Stopwatch,
    TestDaemon, authorization, authorized, raw,
};

const OURS: &str = "Origin: chrome-extension://cojpnlnglaiojkhnmkknknhgnedlcmlg";
const JSON: &str = "Content-Type: application/json";
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Every kind of route that there is.
const ROUTES: [&str; 10] = [
    "GET /health",
    "GET /settings",
    "GET /pending-queries",
    "GET /frames",
    "GET /mcp",
    "POST /mcp",
    "POST /session",
    "POST /settings",
    "POST /draw-mode/complete",
    "GET /nowhere",
];

/// One request with `PING` for a body if it is a POST.
async fn ask(daemon: &TestDaemon, route: &str, headers: &[&str]) -> RawAnswer {
    let first = format!("{route} HTTP/1.1");
    let length = format!("Content-Length: {}", PING.len());
    let is_post = route.starts_with("POST");
    let mut lines = vec![first.as_str()];
    lines.extend(headers);
    if is_post {
        lines.push(&length);
    }
    raw(daemon, &lines, if is_post { PING } else { &[] }).await
}

fn has_cors(answer: &RawAnswer) -> bool {
    answer.headers.iter().any(|(name, _)| name.starts_with("access-control-"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_1_what_a_page_can_ask_by_itself_is_turned_away() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(1);
    let attack = async {
        for route in ROUTES {
            for from in [
                "Sec-Fetch-Site: cross-site",
                "Sec-Fetch-Site: same-site",
                "Origin: http://evil.example",
                "Origin: https://127.0.0.1",
                "Origin: http://127.0.0.1:1",
                "Origin: null",
                "Origin: ",
            ] {
                let headers = ["Host: HOST", OWN_TOKEN, JSON, from];
                let answer = ask(&scene.daemon, route, &headers).await;
                let is_refused = answer.status == 403 && !has_cors(&answer);
                row.tried(&format!("{route}, {from}"), is_refused, answer.status);
            }
        }
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_2_a_body_that_a_form_can_send_is_turned_away() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(2);
    let attack = async {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            let kind = format!("Content-Type: {kind}");
            for (from, status) in [("X-From: a program", 415), ("Origin: http://evil.example", 403)]
            {
                let headers = ["Host: HOST", OWN_TOKEN, &kind, from];
                let answer = ask(&scene.daemon, "POST /mcp", &headers).await;
                row.tried(&format!("{kind}, {from}"), answer.status == status, answer.status);
            }
        }
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_3_no_page_is_given_leave_to_ask() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(3);
    let attack = async {
        for route in ROUTES {
            let path = route.split(' ').next_back().unwrap();
            for origin in ["Origin: http://evil.example", "Origin: null", OURS] {
                let headers = [
                    "Host: HOST",
                    origin,
                    "Access-Control-Request-Method: POST",
                    "Access-Control-Request-Headers: authorization, content-type",
                    "Access-Control-Request-Private-Network: true",
                ];
                let answer = ask(&scene.daemon, &format!("OPTIONS {path}"), &headers).await;
                let is_refused = answer.status >= 400 && !has_cors(&answer);
                row.tried(&format!("{path}, {origin}"), is_refused, format!("{answer:?}"));
            }
        }
    };
    scene.while_others_work(attack).await;
    row.report();
}

/// The status of an attempt to open a socket.
async fn upgrade(daemon: &TestDaemon, origins: &[&str]) -> u16 {
    let lines = handshake(origins, PROTOCOL);
    raw(daemon, &lines, &[]).await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_4_no_page_opens_a_socket() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(4);
    let suffixed = format!("{OURS}.evil");
    let (shouted, ported) = (OURS.replace("cojp", "COJP"), format!("{OURS}:80"));
    let slashed = format!("{OURS}/");
    let attack = async {
        for origins in [
            &[][..],
            &["Origin: null"],
            &["Origin: http://evil.example"],
            &["Origin: http://HOST"],
            &[&suffixed],
            &[&shouted],
            &[&ported],
            &[&slashed],
            &[OURS, OURS],
            &[OURS, "Origin: http://evil.example"],
            &["Origin: CHROME-EXTENSION://cojpnlnglaiojkhnmkknknhgnedlcmlg"],
            &["Origin: moz-extension://cojpnlnglaiojkhnmkknknhgnedlcmlg"],
            &["Origin: chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
        ] {
            let status = upgrade(&scene.daemon, origins).await;
            row.tried(&format!("{origins:?}"), status == 403, status);
        }
        assert_eq!(upgrade(&scene.daemon, &[OURS]).await, 101, "ours, exactly");
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_5_only_our_own_names_are_answered() {
    let scene = Scene::set().await;
    let port = scene.daemon.port();
    let mut row = RowReport::new(5);
    let attack = async {
        for route in ROUTES {
            for name in [
                "evil.example",
                "127.0.0.1.nip.io",
                "127.1",
                "0.0.0.0",
                "2130706433",
                "[::]",
                "localhost.",
                "LOCALHOST.evil",
                "[::ffff:127.0.0.1]",
                "127.0.0.1@evil",
            ] {
                let host = format!("Host: {name}:{port}");
                let headers = [host.as_str(), OWN_TOKEN, JSON];
                let answer = ask(&scene.daemon, route, &headers).await;
                row.tried(&format!("{route}, {host}"), answer.status == 403, answer.status);
            }
            for hosts in [&[][..], &["Host: HOST", "Host: HOST"], &["Host: HOST", "Host: evil"]] {
                let headers = [hosts, &[OWN_TOKEN, JSON]].concat();
                let answer = ask(&scene.daemon, route, &headers).await;
                row.tried(&format!("{route}, {hosts:?}"), answer.status == 400, answer.status);
            }
        }
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_9_another_owners_ids_look_like_none() {
    let scene = Scene::set().await;
    let own = McpClient::modern(&scene.daemon).named("victim");
    let thief = McpClient::modern(&scene.daemon)
        .with_token(scene.daemon.token_of("thief"))
        .named("victim")
        .with_tasks();
    let mut row = RowReport::new(9);
    let attack = async {
        let call = json!({"action": "execute_js", "script": "1", "browser": "Browser socket"});
        let id = own.submit(call).await;
        for (what, ask) in [
            ("read", |id: &str| {
                (
                    "tools/call",
                    json!({"name": "observe", "arguments": {"what": "command_result", "correlation_id": id}}),
                )
            }),
            ("wait", |id: &str| {
                (
                    "tools/call",
                    json!({"name": "observe", "arguments": {"what": "command_result", "correlation_id": id, "wait_ms": 50}}),
                )
            }),
            ("page on", |id: &str| {
                (
                    "tools/call",
                    json!({"name": "observe", "arguments": {"what": "command_result", "correlation_id": id, "offset": 0}}),
                )
            }),
            ("query_status", |id: &str| {
                (
                    "tools/call",
                    json!({"name": "configure", "arguments": {"action": "query_status", "correlation_id": id}}),
                )
            }),
            ("cancel", |id: &str| {
                (
                    "tools/call",
                    json!({"name": "configure", "arguments": {"action": "cancel", "correlation_id": id}}),
                )
            }),
            ("tasks/get", |id: &str| ("tasks/get", json!({"taskId": id}))),
            ("tasks/cancel", |id: &str| ("tasks/cancel", json!({"taskId": id}))),
        ] as [(&str, fn(&str) -> (&'static str, Value)); 7]
        {
            let never = id.chars().rev().collect::<String>();
            let said = async |id: &str| {
                let (method, params) = ask(id);
                let mut answer = thief.rpc(method, params).await.json();
                answer["id"] = json!(null);
                answer.to_string().replace(id, "ID")
            };
            let (of_his, of_none) = (said(&id).await, said(&never).await);
            row.tried(what, of_his == of_none, format!("{of_his}\nbut {of_none}"));
        }
        let lists = thief.call("observe", json!({"what": "pending_commands"})).await;
        row.tried("lists", !lists.to_string().contains(&id), lists);
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_10_who_guesses_tokens_is_slowed_down_and_the_right_one_is_not() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(10);
    let attack = async {
        let mut slowed = 0;
        for guess in 0..200 {
            let token = authorization(&format!("{guess:043}"));
            let answer = ask(&scene.daemon, "POST /mcp", &["Host: HOST", JSON, &token]).await;
            let says_when =
                answer.header("retry-after").is_some_and(|secs| secs.parse::<u64>().is_ok());
            slowed += usize::from(answer.status == 429 && says_when);
            row.tried("a guess", [401, 429].contains(&answer.status), answer.status);
        }
        assert!(slowed >= 180, "{slowed} of 200 were not even looked at");
        let right = ["Host: HOST", JSON, OWN_TOKEN];
        assert_eq!(ask(&scene.daemon, "POST /mcp", &right).await.status, 200);
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_12_a_client_that_floods_is_refused_and_holds_up_nobody() {
    let scene = Scene::set().await;
    let flood = McpClient::modern(&scene.daemon).named("flood");
    let mut row = RowReport::new(12);
    let attack = async {
        let call = json!({"action": "execute_js", "script": "1", "browser": "Browser socket"});
        let watch = Stopwatch::start();
        let mut taken = 0;
        for _ in 0..22 {
            let calls = (0..50).map(|_| flood.call_raw("interact", call.clone()));
            for result in join_all(calls).await {
                let error = result["structuredContent"]["error"].as_str().unwrap_or_default();
                taken += u128::from(!["queue_full", "rate_limited"].contains(&error));
            }
        }
        // A minute's worth at once, and what a minute's worth is of the time that it took.
        let at_most = 1_000 + watch.millis() / 60 + 1;
        row.tried("1,100 calls at once", taken <= at_most, format!("{taken} were taken"));
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_13_a_body_that_is_too_large_is_turned_away() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(13);
    let attack = async {
        for (route, length) in [
            ("POST /mcp", 1_usize << 20),
            ("POST /session", 1 << 16),
            ("POST /frames", 8 << 20),
            ("POST /query-result", 8 << 20),
            ("POST /draw-mode/complete", 16 << 20),
        ] {
            let first = format!("{route} HTTP/1.1");
            let origin = if route == "POST /mcp" { "X-None: 1" } else { OURS };
            let old = "Origin: chrome-extension://pknkjmecjogdphnahbagadepchhknbfe";
            let polls = route.contains("result") || route.contains("draw");
            let origin = if polls { old } else { origin };
            let declared = format!("Content-Length: {}", length + 1);
            let lines = [&first, "Host: HOST", JSON, OWN_TOKEN, origin, &declared];
            let answer = raw(&scene.daemon, &lines, &vec![b' '; length + 1]).await;
            row.tried(&format!("{route}, declared"), answer.status == 413, answer.status);
        }
        let status = chunked(&scene.daemon, (1 << 20) + 1).await;
        row.tried("POST /mcp, chunked", status == 413, status);
    };
    scene.while_others_work(attack).await;
    row.report();
}

/// The status of a call with a body of so many bytes, whose length nobody says before.
async fn chunked(daemon: &TestDaemon, length: usize) -> u16 {
    let mut connection = RawConnection::open(daemon).await;
    let head = authorized("POST /mcp", daemon.port(), &daemon.token());
    connection.send(format!("{head}{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n")).await;
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
    for _ in 0..length / (1 << 16) {
        connection.send(&chunk).await;
    }
    connection.send("1\r\n \r\n0\r\n\r\n").await;
    connection.answer().await.unwrap().status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_15_two_hundred_half_open_connections_hold_up_nobody() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(15);
    let attack = async {
        let mut held = Vec::new();
        for n in 0..200 {
            let address = ("127.0.0.1", scene.daemon.port());
            let mut stream = TcpStream::connect(address).await.unwrap();
            // Nothing, half a head, or a byte of a head now and then.
            let said = ["", "POST /mcp HTTP/1.1\r\nHost: ", "G"][n % 3];
            let _ = stream.write_all(said.as_bytes()).await;
            held.push(stream);
        }
        let all = join_all(held.iter_mut().map(until_closed));
        let ended = tokio::time::timeout(std::time::Duration::from_secs(9), all).await;
        row.tried("200 half-open connections", ended.is_ok(), "some stay open");
    };
    scene.while_others_work(attack).await;
    row.report();
}

/// Says a byte whenever it can, and waits for the other side to have enough of it.
async fn until_closed(stream: &mut TcpStream) {
    let mut answer = [0; 512];
    loop {
        let pause = std::time::Duration::from_millis(200);
        match tokio::time::timeout(pause, stream.read(&mut answer)).await {
            Ok(Ok(0) | Err(_)) => return,
            Ok(Ok(_)) => {}
            Err(_elapsed) => {
                let _ = stream.write_all(b"x").await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_20_nobody_gets_in_through_a_tunnel() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(20);
    let attack = async {
        for route in ROUTES {
            for header in [
                "Forwarded: for=1.2.3.4",
                "X-Forwarded-For: 127.0.0.1",
                "X-Forwarded-Host: HOST",
                "x-forwarded-proto: https",
                "X-FORWARDED-ANYTHING: 1",
            ] {
                let headers = ["Host: HOST", OWN_TOKEN, JSON, header];
                let answer = ask(&scene.daemon, route, &headers).await;
                row.tried(&format!("{route}, {header}"), answer.status == 403, answer.status);
            }
        }
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_21_what_nobody_declared_answers_nobody() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(21);
    let attack = async {
        for route in [
            "GET /",
            "GET /debug",
            "POST /api/commands",
            "PUT /mcp",
            "DELETE /mcp",
            "PATCH /health",
            "GET /mcp/",
            "GET //mcp",
            "GET /MCP",
            "GET /api/commands/a/b",
            "POST /ws",
            "GET /admin",
            "GET /%6dcp",
            "GET /mcp%2f..",
            "TRACE /mcp",
            "CONNECT /mcp",
            "GET /.well-known/x",
        ] {
            let given = ["Host: HOST", JSON, OWN_TOKEN];
            // Whoever has the token is told whether there is such a thing, nobody else.
            for (headers, refusals) in
                [(&given[..], [403, 404, 405]), (&given[..2], [400, 401, 403])]
            {
                let answer = ask(&scene.daemon, route, headers).await;
                let is_refused = refusals.contains(&answer.status);
                row.tried(&format!("{route}, {refusals:?}"), is_refused, answer.status);
            }
        }
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_11_forged_and_late_results_change_nothing() {
    let scene = Scene::set().await;
    let agent = McpClient::modern(&scene.daemon).named("victim");
    let mut row = RowReport::new(11);
    let attack = async {
        let mut honest =
            ExtensionBuilder::of(&scene.daemon).browser("honest").instance("h").connect().await;
        let mut liar =
            ExtensionBuilder::of(&scene.daemon).browser("liar").instance("l").connect().await;
        let id = agent
            .submit(json!({"action": "execute_js", "script": "1", "browser": "Browser honest"}))
            .await;
        let command = honest.command().await;
        honest.claim(&command).await;
        for kind in ["complete", "error", "claim", "nack"] {
            let forged =
                json!({"result": "forged", "error": {"message": "forged"}, "reason": "busy"});
            liar.send(&command.frame(kind, forged)).await;
            liar.so_far().await;
            let is_pending = agent.status(&id).await["status"] == "pending";
            row.tried(&format!("{kind} by another browser"), is_pending, "it counted");
        }
        let mut other_attempt = command.frame("complete", json!({"result": "forged"}));
        other_attempt["attempt"] = 7.into();
        honest.send(&other_attempt).await;
        honest.so_far().await;
        let is_pending = agent.status(&id).await["status"] == "pending";
        row.tried("another attempt", is_pending, "it counted");
        honest.complete(&command, &json!("true")).await;
        assert_eq!(agent.outcome(&id).await["result"], "true");
        honest.send(&command.frame("complete", json!({"result": "forged"}))).await;
        honest.so_far().await;
        let after = agent.status(&id).await;
        row.tried("a second result", after["result"] == "true", after);
    };
    scene.while_others_work(attack).await;
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_14_ten_thousand_malformed_frames_end_their_sockets_and_no_more() {
    let scene = Scene::set().await;
    let mut row = RowReport::new(14);
    let attack = async {
        let before = resident_pages();
        for n in 0..100 {
            let name = format!("rubbish-{}", n % 4);
            let shim = ExtensionBuilder::of(&scene.daemon).browser(&name).instance(&name);
            let mut rubbish = shim.connect().await;
            for frame in 0..100 {
                let text =
                    ["{", "[]", "{\"type\":7}", "\u{0}", "{\"type\":\"complete\"}"][frame % 5];
                let message = tokio_tungstenite::tungstenite::Message::text(text);
                rubbish.try_send_message(message).await;
            }
            let (code, why) = rubbish.closed().await;
            row.tried("100 malformed frames", code == 1008, format!("{code} {why}"));
        }
        let grown = resident_pages().saturating_sub(before) * 4 / 1024;
        row.tried("memory", grown < 64, format!("{grown} MiB more"));
    };
    scene.while_others_work(attack).await;
    row.report();
}

/// How much memory this process, in which the daemon runs, has in use, in pages.
fn resident_pages() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse().unwrap()
}
