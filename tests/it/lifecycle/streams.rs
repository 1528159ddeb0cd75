//! What pages do is recorded when an agent asks for it, and read back through the tools.

use serde_json::{Value, json};

use testkit::{ExtensionBuilder, McpClient, TestDaemon};

fn log(level: &str, text: &str) -> Value {
    json!({"t": 1_795_298_985_123_u64, "tab_id": 7, "level": level, "source": "console",
           "text": text, "url": "http://tab-7.test/"})
}

fn events(stream: &str, entries: &[Value]) -> Value {
    json!({"type": "events", "stream": stream, "entries": entries})
}

fn texts(page: &Value) -> Vec<&str> {
    page["entries"].as_array().unwrap().iter().map(|e| e["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_agent_turns_recording_on_and_reads_what_the_page_said() {
    let daemon = TestDaemon::start().await;
    let agent = McpClient::legacy(&daemon);
    let empty = agent.call("observe", json!({"what": "errors"})).await;
    assert_eq!(empty["entries"], json!([]));
    let hint = empty["hint"].as_str().unwrap();
    assert!(
        hint.contains(r#"configure({action:"capture", streams:["logs","network"]})"#),
        "{hint}"
    );

    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let streams = json!(["logs", "network"]);
    let on = agent.call("configure", json!({"action": "capture", "streams": streams})).await;
    assert_eq!(on["capturing"], json!({"all": streams, "browsers": []}));
    let told = extension.next().await;
    assert_eq!(told, json!({"type": "capture", "capture": {"all": streams}}));

    extension.send(&events("logs", &[log("info", "fine"), log("error", "token=abc boom")])).await;
    let failed = json!({"t": 1, "tab_id": 7, "request_id": "r1", "method": "GET",
                        "url": "http://api.test/", "error": "net::ERR_CONNECTION_REFUSED"});
    extension.send(&events("network", &[failed])).await;
    extension.so_far().await;
    let errors = agent.call("observe", json!({"what": "errors"})).await;
    assert_eq!(errors["entries"][0]["text"], "token=[redacted] boom");
    assert_eq!(errors["entries"][1]["error"], "net::ERR_CONNECTION_REFUSED");
    assert_eq!(errors["page"], "*");
    let page = agent.call("observe", json!({"what": "page"})).await;
    assert_eq!((&page["url"], &page["errors"]), (&json!("http://tab-7.test/"), &json!(1)));
    assert_eq!((&page["failed_requests"], &page["capture"]), (&json!(1), &streams));
}

#[tokio::test]
async fn a_browser_that_connects_later_is_told_in_its_welcome() {
    let daemon = TestDaemon::start().await;
    let agent = McpClient::legacy(&daemon);
    agent.call("configure", json!({"action": "capture", "streams": ["actions"]})).await;
    let welcome = ExtensionBuilder::of(&daemon).open().await.hello().await;
    assert_eq!(welcome["capture"], json!({"all": ["actions"]}));
    agent.call("configure", json!({"action": "capture", "on": false})).await;
    let welcome = ExtensionBuilder::of(&daemon).open().await.hello().await;
    assert_eq!(welcome["capture"], json!({}));
}

#[tokio::test]
async fn a_cursor_reads_on_and_a_foreign_one_is_refused_with_the_way_out() {
    let daemon = TestDaemon::start().await;
    let agent = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    extension.send(&events("logs", &[log("log", "one"), log("log", "two")])).await;
    extension.so_far().await;
    let first = agent.call("observe", json!({"what": "logs", "limit": 1})).await;
    assert_eq!((texts(&first), &first["has_older"]), (vec!["two"], &json!(true)));
    extension.send(&events("logs", &[log("log", "three")])).await;
    extension.so_far().await;
    let cursor = &first["next_cursor"];
    let next = agent.call("observe", json!({"what": "logs", "cursor": cursor})).await;
    assert_eq!((texts(&next), &next["dropped"]), (vec!["three"], &Value::Null));
    let all = agent.call("observe", json!({"what": "logs", "cursor": "oldest"})).await;
    assert_eq!(texts(&all), ["one", "two", "three"]);
    let wrong = agent.call_fails("observe", json!({"what": "errors", "cursor": cursor})).await;
    assert_eq!((&wrong["error"], &wrong["param"]), (&json!("invalid_argument"), &json!("cursor")));
}

#[tokio::test]
async fn a_request_is_shown_with_its_bodies() {
    let daemon = TestDaemon::start().await;
    let agent = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let request = |id: &str| json!({"t": 1, "tab_id": 7, "request_id": id, "method": "POST", "url": "http://api.test/"});
    let mut bodies = request("r2");
    bodies["request_body"] = "password=abc".into();
    bodies["response_body"] = "{}".into();
    extension.send(&events("network", &[request("r1"), request("r2")])).await;
    extension.send(&events("bodies", &[bodies])).await;
    extension.so_far().await;
    let shown = agent.call("observe", json!({"what": "network", "request_id": "r2"})).await;
    assert_eq!(shown["entries"].as_array().unwrap().len(), 1);
    assert_eq!(shown["bodies"][0]["request_body"], "password=[redacted]");
    assert_eq!(shown["bodies"][0]["response_body"], "{}");
}

#[tokio::test]
async fn noise_is_hidden_for_its_owner_and_streams_are_cleared() {
    let daemon = TestDaemon::start().await;
    let agent = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    extension.send(&events("logs", &[log("log", "[HMR] up"), log("log", "mine")])).await;
    extension.so_far().await;
    let added = agent.call("configure", json!({"action": "noise_rule", "pattern": "[hmr]"})).await;
    assert_eq!(added["rules"], json!([{"id": added["id"], "pattern": "[hmr]"}]));
    let hidden = agent.call("observe", json!({"what": "logs"})).await;
    assert_eq!((texts(&hidden), &hidden["hidden"]), (vec!["mine"], &json!(1)));
    agent.call("configure", json!({"action": "noise_rule", "remove": added["id"]})).await;
    let all = agent.call("observe", json!({"what": "logs"})).await;
    assert_eq!(texts(&all).len(), 2);
    let unknown = json!({"action": "noise_rule", "remove": "noise_9"});
    assert_eq!(agent.call_fails("configure", unknown).await["error"], "not_found");
    let cleared = agent.call("configure", json!({"action": "clear", "streams": ["logs"]})).await;
    assert_eq!(cleared["cleared"], json!({"logs": 2}));
    assert_eq!(agent.call("observe", json!({"what": "logs"})).await["entries"], json!([]));
}
