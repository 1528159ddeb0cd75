//! The dashboard: programs and pages that want its token, and a use of the token for something else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{
    ExtensionBuilder, McpClient, RawAnswer, RawConnection, RowReport, TestDaemon, authorization,
    authorized, body, cli_of, finish, raw,
};

/// What a browser says of a person's tab that goes there from a file.
const WHOLE_TAB: [&str; 4] = [
    "Origin: null",
    "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Dest: document",
];

async fn ask_for_code(daemon: &TestDaemon, token: &str) -> RawAnswer {
    let (token, kind) = (authorization(token), "Content-Type: application/json");
    raw(
        daemon,
        &["POST /dashboard/codes HTTP/1.1", "Host: HOST", &token, kind, "Content-Length: 0"],
        b"",
    )
    .await
}

async fn code(daemon: &TestDaemon) -> String {
    let answer = ask_for_code(daemon, &daemon.home().auth().dashboard_key()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["code"].as_str().unwrap().to_owned()
}

async fn exchange(daemon: &TestDaemon, code: &str, headers: &[&str]) -> RawAnswer {
    let form = format!("code={code}");
    let length = format!("Content-Length: {}", form.len());
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let mut head = vec!["POST /dashboard HTTP/1.1", "Host: HOST", kind, &length];
    head.extend(headers);
    raw(daemon, &head, form.as_bytes()).await
}

/// The token in a page; empty if there is none.
fn token_in(answer: &RawAnswer) -> String {
    let (_, rest) = answer.body.split_once("name=\"tabwire-token\" content=\"").unwrap_or_default();
    rest.split('"').next().unwrap_or_default().to_owned()
}

pub(super) async fn viewer(daemon: &TestDaemon) -> String {
    let token = token_in(&exchange(daemon, &code(daemon).await, &WHOLE_TAB).await);
    assert_eq!(token.len(), 64);
    token
}

pub(super) async fn get(daemon: &TestDaemon, path: &str, headers: &[&str]) -> RawAnswer {
    let line = format!("GET {path} HTTP/1.1");
    let mut head = vec![line.as_str(), "Host: HOST"];
    head.extend(headers);
    raw(daemon, &head, b"").await
}

/// What the person does in the dashboard, without saying to which tab.
pub(super) async fn act(daemon: &TestDaemon, path: &str, token: &str, more: &[&str]) -> RawAnswer {
    let body = if path == "/dashboard/tabs" { "{}" } else { "" };
    post(daemon, path, token, body, more).await
}

/// The same with a body.
pub(super) async fn send(daemon: &TestDaemon, path: &str, token: &str, body: &str) -> RawAnswer {
    post(daemon, path, token, body, &[]).await
}

async fn post(
    daemon: &TestDaemon,
    path: &str,
    token: &str,
    body: &str,
    more: &[&str],
) -> RawAnswer {
    let line = format!("POST {path} HTTP/1.1");
    let length = format!("Content-Length: {}", body.len());
    let mut head = vec![line.as_str(), "Host: HOST", token, "Content-Type: application/json"];
    head.extend(more);
    head.push(&length);
    raw(daemon, &head, body.as_bytes()).await
}

#[tokio::test]
async fn row_49_a_program_with_a_token_gets_no_code_and_a_code_counts_once() {
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(49);
    for token in [daemon.token(), daemon.token_of("ci"), viewer(&daemon).await, "guess".to_owned()]
    {
        let answer = ask_for_code(&daemon, &token).await;
        row.tried("a code for another token", answer.status == 401, answer.body);
    }
    let code = code(&daemon).await;
    for guess in ["", "0", &code[1..], &format!("{code}0"), &code.to_uppercase()] {
        let answer = exchange(&daemon, guess, &WHOLE_TAB).await;
        row.tried("a guess", answer.status == 403 && token_in(&answer).is_empty(), answer.status);
    }
    assert_eq!(token_in(&exchange(&daemon, &code, &WHOLE_TAB).await).len(), 64);
    let again = exchange(&daemon, &code, &WHOLE_TAB).await;
    row.tried("a code twice", again.status == 403 && token_in(&again).is_empty(), again.status);
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn row_49_a_page_neither_frames_nor_fetches_nor_sends_a_code() {
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(49);
    let code = code(&daemon).await;
    for site in ["cross-site", "same-site"] {
        let site = format!("Sec-Fetch-Site: {site}");
        for (mode, dest) in [
            ("navigate", "iframe"),
            ("navigate", "frame"),
            ("navigate", "object"),
            ("cors", "empty"),
            ("no-cors", "image"),
            ("no-cors", "script"),
            ("no-cors", "style"),
            ("no-cors", "empty"),
        ] {
            let (mode, dest) =
                (format!("Sec-Fetch-Mode: {mode}"), format!("Sec-Fetch-Dest: {dest}"));
            let headers = [site.as_str(), &mode, &dest];
            for path in [
                "/dashboard",
                "/dashboard/files/dashboard.js",
                "/dashboard/feed",
                "/dashboard/feed?entries=",
                "/dashboard/entries/logs.0",
                "/dashboard/pictures/exec_1.0",
            ] {
                let answer = get(&daemon, path, &headers).await;
                row.tried(&format!("{path} {headers:?}"), answer.status == 403, answer.status);
            }
            let sent = exchange(&daemon, &code, &headers).await;
            row.tried(
                &format!("a code {headers:?}"),
                sent.status == 403 && token_in(&sent).is_empty(),
                sent.status,
            );
        }
    }
    for origin in ["http://evil.example", "http://127.0.0.1:1", "null "] {
        let origin = format!("Origin: {origin}");
        let sent = exchange(&daemon, &code, &[&origin]).await;
        let is_null = origin.trim_end().ends_with("null");
        row.tried(&origin, is_null || sent.status == 403, sent.status);
        if is_null {
            assert_eq!(sent.status, 200, "a file has no origin");
        }
    }
    let page = get(&daemon, "/dashboard", &[]).await;
    let policy = page.header("content-security-policy").unwrap();
    for part in
        ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
    {
        row.tried(part, policy.contains(part), policy);
    }
    row.tried(
        "the page is in no cache",
        page.header("cache-control") == Some("no-store"),
        &page.body,
    );
    row.tried("the page alone has no token", token_in(&page).is_empty(), &page.body);
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn row_49_the_dashboards_token_submits_nothing_opens_no_other_route_and_dies_with_the_daemon()
{
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(49);
    let token = viewer(&daemon).await;
    let line = authorization(&token);
    for path in ["/api/status", "/api/commands", "/api/asks", "/frames", "/mcp"] {
        let answer = get(&daemon, path, &[&line]).await;
        row.tried(path, answer.status == 401, answer.status);
    }
    let call = [
        "POST /mcp HTTP/1.1",
        "Host: HOST",
        &line,
        "Content-Type: application/json",
        "Content-Length: 2",
    ];
    let call = raw(&daemon, &call, b"{}").await;
    row.tried("POST /mcp", call.status == 401, call.status);
    for path in ["/dashboard/feed", "/dashboard/commands/exec_1", "/dashboard/pictures/exec_1.0"] {
        for other in [daemon.token(), daemon.token_of("ci"), daemon.home().auth().dashboard_key()] {
            let answer = get(&daemon, path, &[&authorization(&other)]).await;
            row.tried(&format!("{path} with another token"), answer.status == 401, answer.status);
        }
    }
    let others = [daemon.token(), daemon.token_of("ci"), daemon.home().auth().dashboard_key()];
    for path in ["/dashboard/stop/exec_1", "/dashboard/tabs"] {
        for other in &others {
            let answer = act(&daemon, path, &authorization(other), &[]).await;
            row.tried(&format!("{path} with another token"), answer.status == 401, answer.status);
        }
        // A page of another site that had the token would still be refused.
        for head in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"] {
            let answer = act(&daemon, path, &line, &[head]).await;
            row.tried(&format!("{path} {head}"), answer.status == 403, answer.status);
        }
    }
    let none = act(&daemon, "/dashboard/stop/exec_1", &line, &[]).await;
    assert_eq!((none.status, none.json()), (200, json!({"stopped": false})));
    let no_tab = act(&daemon, "/dashboard/tabs", &line, &[]).await;
    assert_eq!((no_tab.status, &no_tab.json()["error"]), (400, &json!("invalid_tab")));
    let unknown = get(&daemon, "/dashboard/commands/exec_1", &[&line]).await;
    assert_eq!(unknown.status, 404);
    let daemon = daemon.restart().await;
    let after = get(&daemon, "/dashboard/commands/exec_1", &[&line]).await;
    row.tried("after a restart", after.status == 401, after.status);
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn row_49_what_an_agent_got_as_a_picture_is_one_or_is_not_served() {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).connect().await;
    let _extension = extension.auto(|given| {
        let data = match given.command["params"]["max_side"].as_i64() {
            Some(100) => "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
            Some(101) => "<script>alert(1)</script>",
            _ => "RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        json!({"value": {"data": STANDARD.encode(data), "mime_type": "text/html"}})
    });
    let token = authorization(&viewer(&daemon).await);
    let agent = McpClient::modern(&daemon);
    let ran = async |mut call: Value| {
        (call["tab_id"], call["wait_ms"]) = (7.into(), 5_000.into());
        let answer = body(&agent.call_raw("interact", call).await);
        answer["correlation_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let served = async |id: &str, number: &str| {
        get(&daemon, &format!("/dashboard/pictures/{id}.{number}"), &[&token]).await
    };
    let mut row = RowReport::new(49);
    let id = ran(json!({"action": "screenshot"})).await;
    let picture = served(&id, "0").await;
    assert_eq!((picture.status, picture.header("content-type")), (200, Some("image/webp")));
    for (name, value) in [("x-content-type-options", "nosniff"), ("cache-control", "no-store")] {
        row.tried(name, picture.header(name) == Some(value), format!("{:?}", picture.headers));
    }
    let path = format!("/dashboard/commands/{id}");
    assert_eq!(get(&daemon, &path, &[&token]).await.json()["pictures"], 1);
    for number in ["1", "-1", "18446744073709551616", "", "0.0", "x"] {
        let answer = served(&id, number).await;
        row.tried(number, answer.status == 404, &answer.body);
    }
    for (what, call) in [
        ("markup that runs", json!({"action": "screenshot", "max_side": 100})),
        ("a page", json!({"action": "screenshot", "max_side": 101})),
        ("a picture that a page has made", json!({"action": "execute_js", "script": "1"})),
    ] {
        let answer = served(&ran(call).await, "0").await;
        row.tried(what, answer.status == 404, &answer.body);
    }
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn the_stream_shows_the_commands_of_all_owners_and_goes_on_from_its_place() {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).connect().await;
    let _extension = extension.auto(|_| json!({"value": 1}));
    let token = viewer(&daemon).await;
    let run = async |owner: &str, script: &str| {
        let client = McpClient::at(daemon.port(), daemon.token_of(owner)).named(owner);
        let call = json!({"action": "execute_js", "script": script, "wait_ms": 5_000});
        let answer = client.call("interact", call).await;
        answer["correlation_id"].as_str().unwrap().to_owned()
    };
    let (mine, theirs) = (run("user", "1").await, run("ci", "document.title").await);
    let open = async |query: &str| {
        let mut feed = RawConnection::open(&daemon).await;
        let head = authorized(&format!("GET /dashboard/feed{query}"), daemon.port(), &token);
        feed.send(format!("{head}\r\n")).await;
        feed
    };
    let mut feed = open("").await;
    for words in [mine.as_str(), &theirs, "\"owner\":\"ci\"", "\"phase\":\"done\"", "\"browsers\""]
    {
        feed.read_until(words).await;
    }
    let third = run("ci", "3").await;
    feed.read_until(&third).await;
    // A place in another run of the daemon, or none, begins anew.
    for query in ["?after=other.1", "?after="] {
        open(query).await.read_until(&mine).await;
    }
    let path = format!("/dashboard/commands/{theirs}");
    let shown = get(&daemon, &path, &[&authorization(&token)]).await.json();
    assert!(shown["arguments"].as_str().unwrap().contains("document.title"), "{shown}");
    assert!(shown["result"].as_str().unwrap().contains("\"value\": 1"), "{shown}");
    daemon.stop().await;
}

#[tokio::test]
async fn open_writes_a_file_for_the_browser_and_names_it_where_there_is_none() {
    let daemon = TestDaemon::start().await;
    let ran = finish(cli_of(&daemon, &["open", "--print"])).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = std::fs::read_to_string(ran.stdout.trim()).unwrap();
    let (_, rest) = page.split_once("value=\"").unwrap();
    let code = rest.split('"').next().unwrap();
    assert_eq!(token_in(&exchange(&daemon, code, &WHOLE_TAB).await).len(), 64);
    let mut failing = cli_of(&daemon, &["open", "--json"]);
    failing.env("BROWSER", "false");
    let ran = finish(failing).await;
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&told["opened"], &told["expires_in_ms"]),
        (&json!(false), &json!(30_000)),
        "{told}"
    );
    let mut opening = cli_of(&daemon, &["open"]);
    opening.env("BROWSER", "true");
    let ran = finish(opening).await;
    assert!(ran.stdout.contains("opens in your browser"), "{ran:?}");
    daemon.stop().await;
}
