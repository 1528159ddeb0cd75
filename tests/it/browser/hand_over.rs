//! A real worker whose connections are refused and cut at random: it changes from the socket
//! to HTTP and back, and the page counts what was done to it.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use testkit::any_seed;
use testkit::{BrowserUser, CuttingRelay, McpClient, TestDaemon, TestPages};

const COMMANDS: usize = 100;

async fn run(client: &McpClient, script: &str) -> Value {
    let call = json!({"action": "execute_js", "script": script, "wait_ms": 50_000});
    client.call("interact", call).await["result"]["value"].clone()
}

#[tokio::test]
async fn a_hundred_commands_touch_the_page_once_each_while_the_worker_changes_its_carrier() {
    let seed = std::env::var("HAND_OVER_SEED").map_or_else(|_| any_seed(), |s| s.parse().unwrap());
    println!("HAND_OVER_SEED={seed}");
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let pages = TestPages::start().await;
    let cutter = CuttingRelay::start(daemon.port(), seed).await;
    let (browser, _folder) =
        BrowserUser::open_browser_behind(&daemon, cutter.port(), &pages.url("/"));
    assert_eq!(run(&client, "document.title").await, "Home Page");

    for n in 0..COMMANDS {
        let script = format!(
            "window.ran ??= {{}}; ran[{n}] = (ran[{n}] ?? 0) + 1; \
             await new Promise((done) => setTimeout(done, 120)); return {n};"
        );
        assert_eq!(run(&client, &script).await, n);
    }
    let ran = run(&client, "window.ran").await;
    let ran: Vec<_> =
        ran.as_object().unwrap().values().map(|runs| runs.as_u64().unwrap()).collect();
    assert_eq!(ran, [1; COMMANDS], "each once");
    let [sockets, refused, sessions] = {
        let seen = cutter.seen();
        [&seen.sockets, &seen.refused, &seen.sessions].map(|count| count.load(Ordering::Relaxed))
    };
    println!("{sockets} sockets, {refused} refused, {sessions} sessions");
    assert!(sessions >= 2 && sockets >= 2, "it changed either way: {sockets} and {sessions}");
    browser.end().await;
    daemon.stop().await;
}
