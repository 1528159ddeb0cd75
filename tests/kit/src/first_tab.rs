//! A browser's first sign of life.

use serde_json::{Value, json};
use tabwire::demo::Browser;

use super::{McpClient, body};

/// Waits until the extension in this browser has run its first command, which is accepted
/// before the browser is there. Its first tab. If it never does, the test fails with what the
/// browser and the daemon know of that; at once, if the browser has ended.
pub async fn first_tab(client: &McpClient, browser: &Browser) -> Value {
    let tabs = json!({"action": "tab_list", "wait_ms": 30_000});
    let answer = tokio::select! {
        answer = client.call_raw("interact", tabs) => answer,
        how = browser.ended() => panic!("the browser {how}; it said:\n{}", browser.said()),
    };
    let tabs = &body(&answer);
    if tabs["status"] != "complete" {
        let health = client.call("configure", json!({"action": "health"})).await;
        panic!("no tab: {tabs}\nthe daemon: {health}\nthe browser: {}", browser.said());
    }
    tabs["result"]["value"][0]["tab_id"].clone()
}
