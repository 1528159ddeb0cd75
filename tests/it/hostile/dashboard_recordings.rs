//! The recorded entries of all tabs, which the dashboard shows to the person: wanted by programs, and
//! more of them than the person is to see.

use serde_json::{Value, json};
use testkit::{
    ExtensionBuilder, FakeExtension, McpClient, RawConnection, RowReport, TestDaemon,
    authorization, authorized, cli_of, finish, soon,
};

use super::dashboard::{get, viewer};

/// The person typed it into a page.
const TYPED: &str = "Ada Lovelace";

/// A daemon with entries of all streams.
struct Recorded {
    daemon: TestDaemon,
    token: String,
    _extension: FakeExtension,
}

impl Recorded {
    async fn begin() -> Self {
        let daemon = TestDaemon::start().await;
        let mut extension = ExtensionBuilder::of(&daemon).connect().await;
        let (t, tab_id) = (1_795_298_985_123_u64, 7);
        let page = "http://a.example/?q=Ada+Lovelace";
        for (stream, entry) in [
            (
                "logs",
                json!({"level": "log", "source": "console", "text": "password=hunter22 \u{202e}", "url": page}),
            ),
            (
                "logs",
                json!({"level": "log", "source": "console", "text": "of the daemon's page",
                "url": format!("http://127.0.0.1:{}/dashboard", daemon.port())}),
            ),
            (
                "network",
                json!({"method": "GET", "status": 200, "url": "http://a.example/?token=abc", "page_url": page,
                "request_headers": {"Authorization": "Bearer abcdefgh"}}),
            ),
            (
                "bodies",
                json!({"request_id": "1", "method": "POST", "url": "http://a.example/", "request_body": TYPED}),
            ),
            (
                "actions",
                json!({"kind": "change", "url": page, "value": TYPED, "target": {"selector": "#name"}}),
            ),
            (
                "websocket",
                json!({"url": "ws://a.example/live", "event": "received", "text": "the last one"}),
            ),
        ] {
            let mut entry = entry;
            (entry["t"], entry["tab_id"]) = (t.into(), tab_id.into());
            let batch = json!({"type": "events", "stream": stream, "entries": [entry]});
            extension.send(&batch).await;
        }
        let token = viewer(&daemon).await;
        let recorded = Self { daemon, token, _extension: extension };
        // A viewer that comes meanwhile gets the entries in several lines, one that comes later in one.
        recorded.feed("?entries=", "the last one").await;
        recorded
    }

    /// The place behind all entries.
    async fn entries_place(&self) -> String {
        let said = self.feed_until_a_command("?entries=").await;
        let (_, place) = said.rsplit_once("\"entries_place\":\"").unwrap();
        place.split('"').next().unwrap().to_owned()
    }

    async fn open(&self, query: &str) -> RawConnection {
        let mut feed = RawConnection::open(&self.daemon).await;
        let head = format!("GET /dashboard/feed{query}");
        let head = authorized(&head, self.daemon.port(), &self.token);
        feed.send(format!("{head}\r\n")).await;
        feed
    }

    /// The stream of this token, read until these words.
    async fn feed(&self, query: &str, words: &str) -> String {
        self.open(query).await.read_until(words).await
    }

    /// The same, read until it shows a command that began after it: entries would have come before.
    async fn feed_until_a_command(&self, query: &str) -> String {
        let mut feed = self.open(query).await;
        feed.read_until("\"uptime_seconds\"").await;
        let agent = McpClient::modern(&self.daemon);
        let id = agent.script("1", 7).await;
        let said = feed.read_until(&id).await;
        agent.cancel(&id).await;
        said
    }

    async fn entry(&self, id: &str) -> (u16, String) {
        let path = format!("/dashboard/entries/{id}");
        let answer = get(&self.daemon, &path, &[&authorization(&self.token)]).await;
        (answer.status, answer.body)
    }
}

#[tokio::test]
async fn row_49_no_other_token_reads_the_recorded_entries_of_all_tabs() {
    let recorded = Recorded::begin().await;
    let daemon = &recorded.daemon;
    recorded.feed("?entries=", "the last one").await;
    assert_eq!(recorded.entry("logs.0").await.0, 200);
    let mut row = RowReport::new(49);
    let scoped = daemon.token_of("ci");
    assert_eq!(finish(cli_of(daemon, &["scope", "ci", "own"])).await.code, Some(0));
    let home = daemon.home();
    let auth = home.auth();
    for other in
        [daemon.token(), scoped, auth.dashboard_key(), auth.metrics_token(), "guess".to_owned()]
    {
        for path in [
            "/dashboard/feed?entries=",
            "/dashboard/feed?after=&entries=",
            "/dashboard/entries/logs.0",
        ] {
            let answer = get(daemon, path, &[&authorization(&other)]).await;
            row.tried(path, answer.status == 401 && !answer.body.contains("example"), answer.body);
        }
    }
    let answer = get(daemon, "/dashboard/entries/logs.0", &[]).await;
    row.tried("no token", answer.status == 401, answer.status);
    // The place of a viewer is no cursor for an agent.
    let place = recorded.entries_place().await;
    let agent = McpClient::modern(daemon);
    for what in ["logs", "errors", "network"] {
        let read = json!({"what": what, "cursor": place});
        let answer = agent.call_raw("observe", read).await.to_string();
        row.tried(what, answer.contains("invalid_argument"), answer);
    }
    row.report();
    recorded.daemon.stop().await;
}

#[tokio::test]
async fn row_49_the_dashboard_gets_no_typed_value_no_secret_no_body_and_no_page_of_its_own() {
    let recorded = Recorded::begin().await;
    let mut row = RowReport::new(49);
    let said = recorded.feed_until_a_command("?entries=").await;
    assert!(said.contains("#name") && said.contains("\"kind\":\"GET\""), "{said}");
    let mut whole = Vec::new();
    for stream in
        ["logs", "network", "actions", "websocket", "bodies", "performance", "extension_logs"]
    {
        for number in 0..3 {
            whole.push(recorded.entry(&format!("{stream}.{number}")).await);
        }
    }
    assert_eq!(whole.iter().filter(|(status, _)| *status == 200).count(), 4, "{whole:?}");
    let whole: String = whole.into_iter().map(|(_, body)| body).collect();
    for words in [TYPED, "hunter22", "token=abc", "abcdefgh", "daemon's page"] {
        row.tried(
            words,
            !said.contains(words) && !whole.contains(words),
            format!("{said}\n{whole}"),
        );
    }
    row.tried("the query of a form", !said.contains("Lovelace"), &said);
    row.tried("a text that turns the direction", !said.contains('\u{202e}'), &said);
    for id in
        ["bodies.0", "logs.18446744073709551615", "logs.-1", "logs", "..", "logs.0.0", "LOGS.0"]
    {
        let (status, body) = recorded.entry(id).await;
        row.tried(id, status == 404, format!("{status} {body}"));
    }
    row.report();
    recorded.daemon.stop().await;
}

#[tokio::test]
async fn a_viewer_gets_entries_only_if_it_shows_them_and_from_its_place_on() {
    let recorded = Recorded::begin().await;
    let place = recorded.entries_place().await;
    let without = recorded.feed_until_a_command("").await;
    assert!(!without.contains("\"entries"), "{without}");
    let again = recorded.feed_until_a_command(&format!("?after=&entries={place}")).await;
    assert!(!again.contains("\"entries"), "it has them: {again}");
    // A place in another run, or none at all, is the beginning.
    for other in ["", "bm9uZQ", "18446744073709551615", "%00"] {
        let said = recorded.feed_until_a_command(&format!("?after=x&entries={other}")).await;
        let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let entries: usize = lines.filter_map(|line| Some(line["entries"].as_array()?.len())).sum();
        assert_eq!(entries, 4, "{other}: {said}");
    }
    soon("the end", recorded.daemon.stop()).await;
}
