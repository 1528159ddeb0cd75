//! `GET /metrics`, for a collector of an operator.

use serde_json::json;

use testkit::{
    ExtensionBuilder, McpClient, RawAnswer, TestDaemon, authorization, cli_of, finish, raw,
};

async fn scrape(daemon: &TestDaemon, token: &str, more: &[&str]) -> RawAnswer {
    let token = authorization(token);
    let mut head = vec!["GET /metrics HTTP/1.1", "Host: HOST", &token];
    head.extend(more);
    raw(daemon, &head, b"").await
}

async fn text(daemon: &TestDaemon) -> String {
    let answer = scrape(daemon, &daemon.home().auth().metrics_token(), &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// The value on the line of this series, 0 if there is none.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn each_command_is_counted_once_by_action_transport_and_end() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon);
    let (ok, failed) = (client.script("1", 7).await, client.script("2", 8).await);
    let (first, second) = (extension.command().await, extension.command().await);
    extension.claim(&first).await;
    let result = json!({"success": true, "value": 1, "type": "number"});
    extension.report(&first, "complete", json!({"result": result})).await;
    extension.claim(&second).await;
    // The extension names the reason: no label takes it.
    let error = json!({"code": "made_up_reason", "message": "no"});
    extension.report(&second, "error", json!({"error": error})).await;
    assert_eq!(client.outcome(&ok).await["status"], "complete");
    assert_eq!(client.outcome(&failed).await["status"], "error");
    let late = client.script("3", 7).await;
    client.cancel(&late).await;
    assert_eq!(client.outcome(&late).await["status"], "cancelled");
    // To read an end once more ends nothing once more.
    client.outcome(&ok).await;

    let text = text(&daemon).await;
    let ended = |labels: &str| {
        value(&text, &format!("tabwire_commands_total{{action=\"execute_js\",{labels}}}"))
    };
    assert_eq!(ended("transport=\"web_socket\",end=\"complete\""), 1.0, "{text}");
    assert_eq!(ended("transport=\"web_socket\",end=\"error\""), 1.0, "{text}");
    let counted = text.lines().filter(|line| line.starts_with("tabwire_commands_total{"));
    let all: f64 =
        counted.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert_eq!(all, 3.0, "{text}");
    for phase in ["queued", "delivered", "claimed", "started"] {
        let stays = format!(
            "tabwire_command_phase_seconds_count{{phase=\"{phase}\",transport=\"web_socket\"}}"
        );
        assert!(value(&text, &stays) >= 2.0, "{phase}: {text}");
    }
    assert_eq!(value(&text, "tabwire_links{transport=\"web_socket\"}"), 1.0, "{text}");
    assert!(value(&text, "tabwire_journal_write_seconds_count") >= 1.0, "{text}");
    assert!(value(&text, "tabwire_journal_size_bytes") > 1024.0, "{text}");
    for private in ["made_up_reason", "it 1", "a.test", &ok] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_link_that_returns_and_calls_and_requests_that_are_rejected_are_counted() {
    let daemon = TestDaemon::start().await;
    let identity = ExtensionBuilder::of(&daemon);
    let first = identity.clone().connect().await;
    drop(first);
    let again = identity.connect().await;
    let client = McpClient::modern(&daemon);
    let gone = json!({"action": "page_info", "tab_id": 999});
    client.call_raw("interact", gone).await;
    let answer = scrape(&daemon, "guess", &[]).await;
    assert_eq!(answer.status, 401, "{answer:?}");

    let text = text(&daemon).await;
    let links = |returning: &str| {
        let labels = format!("transport=\"web_socket\",returning=\"{returning}\"");
        value(&text, &format!("tabwire_links_opened_total{{{labels}}}"))
    };
    assert_eq!((links("false"), links("true")), (1.0, 1.0), "{text}");
    assert_eq!(value(&text, "tabwire_rejected_calls_total{code=\"tab_gone\"}"), 1.0, "{text}");
    assert_eq!(
        value(&text, "tabwire_rejected_requests_total{code=\"unauthorized\"}"),
        1.0,
        "{text}"
    );
    drop(again);
    daemon.stop().await;
}

#[tokio::test]
async fn the_token_of_metrics_reads_them_and_opens_nothing_else() {
    let daemon = TestDaemon::start().await;
    let own = daemon.home().auth().metrics_token();
    let answer = scrape(&daemon, &own, &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let kind = answer.header("content-type").unwrap_or_default();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    for other in
        [daemon.token(), daemon.token_of("ci"), daemon.home().auth().dashboard_key(), String::new()]
    {
        assert_eq!(scrape(&daemon, &other, &[]).await.status, 401, "{other}");
    }
    for page in
        ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "X-Forwarded-For: ::1"]
    {
        assert_eq!(scrape(&daemon, &own, &[page]).await.status, 403, "{page}");
    }
    let token = authorization(&own);
    for path in ["/api/status", "/api/commands", "/dashboard/feed", "/api/asks", "/mcp"] {
        let line = format!("GET {path} HTTP/1.1");
        let answer = raw(&daemon, &[&line, "Host: HOST", &token], b"").await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn the_command_line_shows_the_metrics_and_prints_their_token() {
    let daemon = TestDaemon::start().await;
    let told = finish(cli_of(&daemon, &["token", "--metrics", "--json"])).await;
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["token"], daemon.home().auth().metrics_token());
    let shown = finish(cli_of(&daemon, &["metrics"])).await;
    assert!(shown.stdout.contains("tabwire_storage_up 1\n"), "{}", shown.stdout);
    let shown = finish(cli_of(&daemon, &["metrics", "--json"])).await;
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert!(shown["text"].as_str().unwrap().contains("tabwire_clients "), "{shown}");
    let both = finish(cli_of(&daemon, &["token", "--metrics", "--owner", "ci"])).await;
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    daemon.stop().await;
}
