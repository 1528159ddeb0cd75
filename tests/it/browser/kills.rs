//! A real worker killed at each point of a command's way. The page counts what was done to it.

use std::time::Duration;

use serde_json::{Value, json};

use testkit::{BrowserUser, FrameRelay, McpClient, TestDaemon, TestPages, kill_worker, soon};

/// Where the worker is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// The command and the `go` that comes with it.
    OnItsWay,
    BeforeClaim,
    AfterClaim,
    AfterGo,
    Running,
    BeforeAcknowledgement,
}

use Point::{AfterClaim, AfterGo, BeforeAcknowledgement, BeforeClaim, OnItsWay, Running};

/// The points of a command with which `go` comes, and of one that is claimed.
const WITH_GO: &[Point] = &[OnItsWay, Running, BeforeAcknowledgement];
const CLAIMED: &[Point] = &[BeforeClaim, AfterClaim, AfterGo, Running, BeforeAcknowledgement];

impl Point {
    /// The frame that does not arrive: the worker is killed while it is on its way.
    const fn lost_frame(self) -> Option<&'static str> {
        match self {
            OnItsWay | BeforeClaim => Some("command"),
            AfterClaim => Some("claim"),
            AfterGo => Some("go"),
            Running => None,
            BeforeAcknowledgement => Some("result_ack"),
        }
    }

    /// How the command ends, and how often the page was touched.
    const fn expected(self) -> (&'static str, usize) {
        match self {
            // Nothing had begun, so it is sent again to the next worker.
            OnItsWay | BeforeClaim | AfterClaim => ("complete", 1),
            // Nobody can tell this from a `go` that arrived.
            AfterGo => ("extension_disconnected", 0),
            Running => ("extension_disconnected", 1),
            // The outbox outlives the worker.
            BeforeAcknowledgement => ("complete", 1),
        }
    }
}

#[tokio::test]
async fn a_worker_killed_at_any_point_of_a_command_touches_the_page_once_at_most() {
    killed_at(CLAIMED).await;
}

#[tokio::test]
async fn so_does_one_whose_commands_come_with_go() {
    killed_at(WITH_GO).await;
}

async fn killed_at(points: &[Point]) {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let relay = FrameRelay::start(daemon.port()).await;
    if points.contains(&OnItsWay) {
        relay.have_go_with_commands();
    }
    let (browser, _folder) =
        BrowserUser::open_browser_behind(&daemon, relay.port(), &pages.url("/"));
    assert_eq!(title(&client).await["result"]["value"], "Home Page");

    for point in points.iter().copied() {
        let counter = format!("/touched-{point:?}");
        // While it is killed as it runs, it must be running.
        let then = if matches!(point, Running) { "await new Promise(() => {})" } else { "" };
        let script = format!("await fetch('{counter}'); {then}; return 'done'");
        let kept = point.lost_frame().map(|kind| relay.keep(kind));
        let id = client.submit(json!({"action": "execute_js", "script": script})).await;
        match kept {
            Some(kept) => drop(soon("the frame", kept).await.unwrap()),
            None => pages.asked_for(&counter).await,
        }
        kill_worker(&browser);
        let outcome = client.outcome(&id).await;
        let (end, touched) = point.expected();
        let how = outcome["reason"].as_str().or(outcome["status"].as_str());
        assert_eq!(how, Some(end), "{point:?}: {outcome}");
        if end != "complete" {
            assert_eq!(outcome["may_have_run"], true, "{point:?}: {outcome}");
        }
        // The next command works, and by then nothing has been done a second time.
        let next = title(&client).await;
        assert_eq!(next["result"]["value"], "Home Page", "after {point:?}: {next}");
        assert_eq!(pages.hits(&counter), touched, "{point:?}");
    }
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_worker_killed_at_any_moment_touches_the_page_once_or_says_that_it_may_have() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let relay = FrameRelay::start(daemon.port()).await;
    relay.have_go_with_commands();
    let (browser, _folder) =
        BrowserUser::open_browser_behind(&daemon, relay.port(), &pages.url("/"));
    assert_eq!(title(&client).await["result"]["value"], "Home Page");
    for round in 0..16_u64 {
        let counter = format!("/touched-{round}");
        let script = format!("await fetch('{counter}'); return 'done'");
        let id = client.submit(json!({"action": "execute_js", "script": script})).await;
        tokio::time::sleep(Duration::from_millis(round % 8)).await;
        kill_worker(&browser);
        let outcome = client.outcome(&id).await;
        // The next command comes while the worker is gone, and is done by the one after.
        let next = title(&client).await;
        assert_eq!(next["result"]["value"], "Home Page", "{round}: {next}");
        let touched = pages.hits(&counter);
        if outcome["status"] == "complete" {
            assert_eq!(touched, 1, "{round}: {outcome}");
        } else {
            assert_eq!(outcome["may_have_run"], true, "{round}: {outcome}");
            assert!(touched <= 1, "{round}: {touched} times");
        }
    }
    browser.end().await;
    daemon.stop().await;
}

async fn title(client: &McpClient) -> Value {
    let call = json!({"action": "execute_js", "script": "document.title", "wait_ms": 30_000});
    client.call_raw("interact", call).await["structuredContent"].clone()
}
