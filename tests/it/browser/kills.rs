//! A real worker killed at each point of a command's way. The page counts what was done to it.

use serde_json::{Value, json};

use testkit::{BrowserUser, FrameRelay, McpClient, TestDaemon, TestPages, kill_worker, soon};

/// Where the worker is killed.
#[derive(Clone, Copy, Debug)]
enum Point {
    BeforeClaim,
    AfterClaim,
    AfterGo,
    Running,
    BeforeAcknowledgement,
}

use Point::{AfterClaim, AfterGo, BeforeAcknowledgement, BeforeClaim, Running};

impl Point {
    /// The frame that does not arrive: the worker is killed while it is on its way.
    const fn lost_frame(self) -> Option<&'static str> {
        match self {
            BeforeClaim => Some("command"),
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
            BeforeClaim | AfterClaim => ("complete", 1),
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
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let relay = FrameRelay::start(daemon.port()).await;
    let (browser, _folder) =
        BrowserUser::open_browser_behind(&daemon, relay.port(), &pages.url("/"));
    assert_eq!(title(&client).await, "Home Page");

    for point in [BeforeClaim, AfterClaim, AfterGo, Running, BeforeAcknowledgement] {
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
        assert_eq!(title(&client).await, "Home Page", "after {point:?}");
        assert_eq!(pages.hits(&counter), touched, "{point:?}");
    }
    browser.end().await;
    daemon.stop().await;
}

async fn title(client: &McpClient) -> Value {
    let call = json!({"action": "execute_js", "script": "document.title", "wait_ms": 30_000});
    client.call("interact", call).await["result"]["value"].clone()
}
