//! A program on another port that passes everything on between the extension and the daemon.

use std::time::Duration;

use serde_json::{Value, json};

use testkit::{
    BrowserUser, ExtensionBuilder, ExtensionSession, FrameRelay, McpClient, RowReport, TestDaemon,
    TestPages, answering, until,
};

async fn browsers(client: &McpClient) -> Value {
    client.call("observe", json!({"what": "browsers"})).await["count"].clone()
}

#[tokio::test]
async fn row_32_a_proof_that_was_made_for_another_port_is_none() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut row = RowReport::new(32);
    for dialled in [daemon.port() ^ 1, 7890, 1, 65_535] {
        let shim = ExtensionBuilder::of(&daemon).dialled(dialled);
        let mut socket = shim.open().await;
        let challenge = socket.challenge().await;
        socket.send(&shim.hello_to(&challenge)).await;
        let (code, reason) = socket.closed_without_a_frame().await;
        row.tried(&format!("a socket for port {dialled}"), code == 4401, &reason);

        let session = ExtensionSession::of(&shim);
        let challenge = session.challenge().await;
        let close = session.begin(&answering(shim.hello_to(&challenge), &challenge)).await.close();
        row.tried(&format!("a session for port {dialled}"), close == (403, 4401), close.1);
    }
    let count = browsers(&client).await;
    row.tried("what is connected", count == 0, count);
    row.report();
    ExtensionBuilder::of(&daemon).connect().await;
}

mod browser {
    use super::*;

    #[tokio::test]
    async fn row_32_a_relay_gets_nothing_out_of_the_real_extension_nor_in() {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let relay = FrameRelay::start(daemon.port()).await;
        // The extension dials the relay's port.
        let (browser, _folder) = BrowserUser::open_browser(&daemon, relay.port(), &pages.url("/"));
        let refused = async || relay.said_by_extension().len() >= 3;
        tokio::time::timeout(Duration::from_secs(40), until(refused)).await.expect("it tries");
        let mut row = RowReport::new(32);
        for frame in &relay.said_by_extension() {
            row.tried("a frame", frame["type"] == "hello" && frame.get("tabs").is_none(), frame);
        }
        for kind in relay.types_from_daemon() {
            row.tried("a frame of the daemon", kind == "challenge", &kind);
        }
        let count = browsers(&client).await;
        row.tried("what is connected", count == 0, count);
        row.report();
        browser.end().await;
        daemon.stop().await;
    }
}
