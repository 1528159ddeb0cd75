//! Who gets in: each case of the table in `docs/security.md` with its exact status.

use serde_json::json;

use testkit::{
    ExtensionBuilder, FrozenClock, McpClient, OWN_TOKEN, RawAnswer, RawConnection, TestDaemon,
    bearer, raw,
};

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// One request and the status that it gets.
struct Case {
    what: &'static str,
    lines: Vec<String>,
    body: Vec<u8>,
    status: u16,
}

/// `POST /mcp` as it should be, but for what is said: headers that replace or, if they
/// stand there already, join those of a good request. An empty value takes one away.
fn post(what: &'static str, changes: &[(&str, &str)], status: u16) -> Case {
    let mut headers = vec![
        ("Host", "HOST"),
        ("Content-Type", "application/json"),
        ("Authorization", "Bearer TOKEN"),
    ];
    for (name, _) in changes {
        headers.retain(|(known, _)| known != name);
    }
    headers.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
    let mut lines = vec!["POST /mcp HTTP/1.1".to_owned()];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.push(format!("Content-Length: {}", PING.len()));
    Case { what, lines, body: PING.to_vec(), status }
}

/// A request without a body.
fn get(what: &'static str, request: &str, headers: &[(&str, &str)], status: u16) -> Case {
    let mut lines = vec![format!("{request} HTTP/1.1"), "Host: HOST".to_owned()];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    Case { what, lines, body: Vec::new(), status }
}

async fn ask(daemon: &TestDaemon, case: &Case) -> RawAnswer {
    let lines: Vec<_> = case.lines.iter().map(String::as_str).collect();
    let answer = raw(daemon, &lines, &case.body).await;
    let cors = answer.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
    assert_eq!(cors, None, "{}: no page is ever let in", case.what);
    answer
}

/// Tries every case and shows all that fail, not only the first.
async fn check(daemon: &TestDaemon, cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let answer = ask(daemon, case).await;
        if answer.status != case.status {
            wrong.push(format!("{}: {}, not {}", case.what, answer.status, case.status));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn only_our_own_names_and_port_are_answered() {
    let daemon = TestDaemon::start().await;
    let port = daemon.port();
    let own = |name: &str| format!("{name}:{port}");
    let (localhost, ipv6) = (own("localhost"), own("[::1]"));
    let (evil, prefixed) = (own("evil.example"), own("localhost.evil.example"));
    let (suffixed, shouted) = (own("evil-localhost"), own("127.0.0.1.nip.io"));
    let other = format!("127.0.0.1:{}", port.wrapping_add(1));
    let absolute = Case {
        what: "a foreign absolute URL",
        lines: vec!["GET http://evil.example/health HTTP/1.1".into(), "Host: HOST".into()],
        body: Vec::new(),
        status: 403,
    };
    let mut doubled = post("two Hosts", &[], 400);
    doubled.lines.push("Host: HOST".into());
    let cases = [
        post("127.0.0.1", &[], 200),
        post("localhost", &[("Host", &localhost)], 200),
        post("[::1]", &[("Host", &ipv6)], 200),
        post("a rebound name", &[("Host", &evil)], 403),
        post("a name that begins like ours", &[("Host", &prefixed)], 403),
        post("a name that ends like ours", &[("Host", &suffixed)], 403),
        post("a name that resolves to the loopback", &[("Host", &shouted)], 403),
        post("another port", &[("Host", &other)], 403),
        post("no port", &[("Host", "127.0.0.1")], 403),
        post("no Host", &[("Host", "")], 400),
        doubled,
        absolute,
        get("a public route under a foreign name", "GET /health", &[("X-Nothing", "1")], 200),
    ];
    check(&daemon, &cases).await;
}

#[tokio::test]
async fn what_a_browser_says_of_a_pages_request_keeps_it_out() {
    let daemon = TestDaemon::start().await;
    let own = format!("http://127.0.0.1:{}", daemon.port());
    let localhost = format!("http://localhost:{}", daemon.port());
    let secure = format!("https://127.0.0.1:{}", daemon.port());
    let mut two = post("two Origins", &[("Origin", &own)], 403);
    two.lines.push(format!("Origin: {own}"));
    let site = "Sec-Fetch-Site";
    let cases = [
        post("no Origin", &[], 200),
        post("our own", &[("Origin", &own)], 200),
        post("our own by name", &[("Origin", &localhost), (site, "same-origin")], 200),
        post("typed by the user", &[(site, "none")], 200),
        post("a page", &[("Origin", "http://evil.example")], 403),
        post("a secure page", &[("Origin", "https://evil.example")], 403),
        post("a sandboxed frame", &[("Origin", "null")], 403),
        post("an empty Origin", &[("Origin", " ")], 403),
        post("our own with https", &[("Origin", &secure)], 403),
        post("our own without the port", &[("Origin", "http://127.0.0.1")], 403),
        post(
            "an extension",
            &[("Origin", "chrome-extension://cojpnlnglaiojkhnmkknknhgnedlcmlg")],
            403,
        ),
        two,
        post("from another site", &[(site, "cross-site")], 403),
        post("from another port", &[(site, "same-site")], 403),
        post("a word that no browser says", &[(site, "Same-Origin")], 403),
        get("no-cors GET", "GET /health", &[(site, "cross-site")], 403),
        get("a GET with Origin", "GET /health", &[("Origin", "http://evil.example")], 403),
        get("even our own has no business there", "GET /health", &[("Origin", &own)], 403),
        get("a program", "GET /health", &[], 200),
        get("the address bar", "GET /health", &[(site, "none")], 200),
        get("a same-origin page", "GET /health", &[(site, "same-origin")], 403),
    ];
    check(&daemon, &cases).await;
}

#[tokio::test]
async fn a_body_is_json_and_a_page_hears_of_its_origin_first() {
    let daemon = TestDaemon::start().await;
    let (kind, json) = ("Content-Type", "application/json");
    let page = ("Origin", "http://evil.example");
    let mut two = post("two content types", &[(kind, json)], 415);
    two.lines.push("Content-Type: text/plain".into());
    let cases = [
        post("JSON", &[(kind, json)], 200),
        post("JSON with a charset", &[(kind, "Application/JSON; charset=utf-8")], 200),
        post("text", &[(kind, "text/plain")], 415),
        post("a form", &[(kind, "application/x-www-form-urlencoded")], 415),
        post("a multipart form", &[(kind, "multipart/form-data; boundary=x")], 415),
        post("nothing", &[(kind, "")], 415),
        post("JSON as a parameter", &[(kind, "text/plain; application/json")], 415),
        post("a relative of JSON", &[(kind, "application/json-patch+json")], 415),
        two,
        post("text from a page", &[(kind, "text/plain"), page], 403),
        post("a form from a page", &[(kind, "application/x-www-form-urlencoded"), page], 403),
        post("text without a token", &[(kind, "text/plain"), ("Authorization", "")], 415),
        post("JSON from a page without a token", &[page, ("Authorization", "")], 403),
    ];
    check(&daemon, &cases).await;
}

#[tokio::test]
async fn a_preflight_is_never_granted() {
    let daemon = TestDaemon::start().await;
    let headers = [
        ("Origin", "http://evil.example"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization, content-type"),
        ("Access-Control-Request-Private-Network", "true"),
    ];
    let routes = ["/mcp", "/ws", "/health", "/nothing"].map(|path| format!("OPTIONS {path}"));
    let cases = routes.map(|route| get("a preflight", &route, &headers, 403));
    check(&daemon, &cases).await;
}

#[tokio::test]
async fn nobody_gets_in_without_a_token() {
    let daemon = TestDaemon::start().await;
    let authorization = "Authorization";
    let other = bearer(&daemon.token_of("ci"));
    let forged = bearer(&format!("ci.{}", daemon.token()));
    let mut two = post("two tokens", &[], 401);
    two.lines.push(OWN_TOKEN.into());
    let cases = [
        post("the user's", &[], 200),
        post("in lower case", &[(authorization, "bearer TOKEN")], 200),
        post("another owner's", &[(authorization, &other)], 200),
        post("none", &[(authorization, "")], 401),
        post("no scheme", &[(authorization, "TOKEN")], 401),
        post("another scheme", &[(authorization, "Basic TOKEN")], 401),
        post("a wrong one", &[(authorization, "Bearer nonsense")], 401),
        post("an empty one", &[(authorization, "Bearer ")], 401),
        post("one with more after it", &[(authorization, "Bearer TOKENx")], 401),
        post("an owner's name before another's", &[(authorization, &forged)], 401),
        two,
    ];
    check(&daemon, &cases).await;
    let answer = ask(&daemon, &post("none", &[(authorization, "")], 401)).await;
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    let hint = answer.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("tabwire token"), "the next step: {hint}");
}

#[tokio::test]
async fn without_a_token_what_is_there_and_what_is_not_look_the_same() {
    let daemon = TestDaemon::start().await;
    let no_token = ("Authorization", "");
    let known = ask(&daemon, &post("known", &[no_token], 401)).await;
    assert_eq!(known.status, 401);
    for path in ["/nothing", "/mcp/", "/MCP", "/sessions", "/admin?x=1", "/mcp?x=1"] {
        let mut unknown = post("unknown", &[no_token], 401);
        unknown.lines[0] = format!("POST {path} HTTP/1.1");
        assert_eq!(ask(&daemon, &unknown).await, known, "POST {path}");
        for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
            let case = get("unknown", &format!("{method} {path}"), &[], 401);
            assert_eq!(ask(&daemon, &case).await, known, "{method} {path}");
        }
    }
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let case = get("known", &format!("{method} /mcp"), &[], 401);
        assert_eq!(ask(&daemon, &case).await, known, "{method} /mcp");
    }
    let bearer = [("Authorization", "Bearer TOKEN")];
    let cases = [
        get("with a token", "GET /nothing", &bearer, 404),
        get("with a token", "GET /mcp/", &bearer, 404),
        get("no events", "GET /mcp", &bearer, 406),
        get("no session", "DELETE /mcp", &bearer, 405),
        get("no such method", "PUT /mcp", &bearer, 405),
        get("no such method", "PUT /health", &bearer, 405),
    ];
    check(&daemon, &cases).await;
    for method in ["DELETE", "PUT"] {
        let answer = ask(&daemon, &get("405", &format!("{method} /mcp"), &bearer, 405)).await;
        assert_eq!(answer.header("allow"), Some("POST, GET"), "{method}");
    }
}

#[tokio::test]
async fn nobody_gets_in_through_a_tunnel() {
    let daemon = TestDaemon::start().await;
    let headers = [
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "x-forwarded-proto",
        "X-Forwarded-Any",
    ];
    let cases = headers.map(|name| post("through a proxy", &[(name, "for=203.0.113.7")], 403));
    check(&daemon, &cases).await;
    let public = get("a public route", "GET /health", &[("X-Forwarded-For", "1.2.3.4")], 403);
    check(&daemon, &[public]).await;
}

#[tokio::test]
async fn a_client_has_one_printable_name() {
    let daemon = TestDaemon::start().await;
    let (name, long) = ("X-Tabwire-Client", "x".repeat(129));
    let mut two = post("two names", &[(name, "one")], 400);
    two.lines.push("X-Tabwire-Client: two".into());
    let cases = [
        post("a name", &[(name, "Claude (laptop)")], 200),
        post("128 characters", &[(name, &long[1..])], 200),
        post("129 characters", &[(name, &long)], 400),
        post("not ASCII", &[(name, "cafe\u{301}")], 400),
        two,
    ];
    check(&daemon, &cases).await;
}

#[tokio::test(start_paused = true)]
async fn wrong_tokens_are_looked_at_twenty_times_a_minute_and_the_right_one_always() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let wrong = post("wrong", &[("Authorization", "Bearer wrong")], 401);
    let right = post("right", &[], 200);
    for n in 1..=20 {
        assert_eq!(ask(&daemon, &wrong).await.status, 401, "wrong token {n}");
    }
    let refused = ask(&daemon, &wrong).await;
    assert_eq!(refused.status, 429);
    let retry_after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&retry_after), "{retry_after}");
    assert_eq!(ask(&daemon, &right).await.status, 200, "never the right one");
    let other = bearer(&daemon.token_of("ci"));
    let other = post("another owner's", &[("Authorization", &other)], 200);
    assert_eq!(ask(&daemon, &other).await.status, 200, "nor another owner's");
    time.pass_ms(retry_after * 1_000).await;
    assert_eq!(ask(&daemon, &wrong).await.status, 401, "after Retry-After it is looked at again");
}

const MIB: usize = 1024 * 1024;

/// A call that is exactly this long.
fn call_of(length: usize) -> Vec<u8> {
    let call = |script: &str| {
        let arguments = json!({"action": "execute_js", "script": script});
        let params = json!({"name": "interact", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
    };
    let script = "x".repeat(length - call("").len());
    call(&script).into_bytes()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    for chunk in body.chunks(16 * 1024) {
        chunks.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        chunks.extend(chunk);
        chunks.extend(b"\r\n");
    }
    chunks.extend(b"0\r\n\r\n");
    chunks
}

#[tokio::test]
async fn a_body_of_one_mib_is_taken_and_one_byte_more_is_refused_however_it_is_sent() {
    let daemon = TestDaemon::start().await;
    let head = ["POST /mcp HTTP/1.1", "Host: HOST", "Content-Type: application/json", OWN_TOKEN];
    for (length, status) in [(MIB, 200), (MIB + 1, 413), (20 * MIB, 413)] {
        let body = call_of(length);
        let content_length = format!("Content-Length: {length}");
        let plain: Vec<_> = head.into_iter().chain([content_length.as_str()]).collect();
        let in_chunks: Vec<_> = head.into_iter().chain(["Transfer-Encoding: chunked"]).collect();
        let answers =
            [raw(&daemon, &plain, &body).await, raw(&daemon, &in_chunks, &chunked(&body)).await];
        for answer in answers {
            assert_eq!(answer.status, status, "{length} bytes");
            if status == 413 {
                assert_eq!(answer.json()["error"], "too_large");
            } else {
                assert_eq!(answer.json()["result"]["structuredContent"]["status"], "queued");
            }
        }
    }
    let lists =
        McpClient::legacy(&daemon).call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(lists["pending"].as_array().unwrap().len(), 2, "only what was taken");
}

#[tokio::test]
async fn another_owners_command_looks_like_one_that_never_was() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let user = McpClient::legacy(&daemon);
    let id = user.script("private", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let stranger = || McpClient::legacy(&daemon).with_token(daemon.token_of("stranger"));
    let never = format!("exec_{}_{}", &id[5..18], "0".repeat(32));
    assert_eq!(never.len(), id.len());
    for arguments in [
        json!({"what": "command_result", "correlation_id": "ID"}),
        json!({"what": "command_result", "correlation_id": "ID", "wait_ms": 1_000, "trace": true}),
        json!({"what": "command_result", "correlation_id": "ID", "offset": 0}),
        json!({"action": "query_status", "correlation_id": "ID"}),
        json!({"action": "cancel", "correlation_id": "ID"}),
    ] {
        let tool = if arguments.get("what").is_some() { "observe" } else { "configure" };
        let ask = async |id: &str| {
            let arguments = arguments.to_string().replace("ID", id);
            let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            stranger().post(&[], body.into_bytes()).await.body
        };
        let (anothers, nobodys) = (ask(&id).await, ask(&never).await);
        assert_eq!(anothers, nobodys, "{arguments}");
        assert!(String::from_utf8_lossy(&nobodys).contains("not_found"), "{arguments}");
    }
    extension.expect_nothing().await;
    let other = stranger().call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(other["pending"], json!([]));
    extension.complete(&command, &json!(1)).await;
    assert_eq!(user.outcome(&id).await["status"], "complete", "and nothing happened to it");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_come_is_waited_for_five_seconds() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut silent = RawConnection::open(&daemon).await;
    let mut slow = RawConnection::open(&daemon).await;
    slow.send("POST /mcp HTTP/1.1\r\nHost: 127").await;
    let mut good = RawConnection::open(&daemon).await;
    let request = format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", daemon.port());
    good.send(&request).await;
    assert_eq!(good.answer().await.unwrap().status, 200);
    time.pass_ms(5_001).await;
    silent.assert_closed_in_silence().await;
    slow.assert_closed_in_silence().await;
    good.send(&request).await;
    assert_eq!(good.answer().await.unwrap().status, 200, "a good one stays");
}

#[tokio::test]
async fn the_public_constant_tells_nothing_private() {
    let daemon = TestDaemon::start().await;
    let health = ask(&daemon, &get("health", "GET /health", &[], 200)).await;
    let expected = json!({
        "status": "ok", "name": "tabwire", "version": env!("CARGO_PKG_VERSION"),
        "logs": {"entries": 0, "maxEntries": 0, "logFile": "", "logFileSize": 0},
    });
    assert_eq!(health.json(), expected);
}
