//! What agents are told where an extension that only polls cannot do what the Tabwire extension
//! can: the cause and a next step that works with it.

use serde_json::{Value, json};

use testkit::PollingExtension;
use testkit::{ExtensionBuilder, McpClient, TestDaemon};

fn hint(answer: &Value) -> &str {
    answer["hint"].as_str().unwrap_or_else(|| panic!("no hint: {answer}"))
}

#[tokio::test]
async fn no_hint_sends_an_agent_to_configure_capture_where_that_reaches_nobody() {
    let daemon = TestDaemon::start().await;
    let _old = PollingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    for what in ["websocket", "logs", "network", "errors", "performance", "actions"] {
        let answer = agent.call("observe", json!({"what": what})).await;
        assert!(hint(&answer).contains("popup"), "{what}: {answer}");
        assert!(!hint(&answer).contains("action:\"capture\""), "{what}: {answer}");
    }
    let answer = agent.call("configure", json!({"action": "capture"})).await;
    assert!(hint(&answer).contains("does not reach it"), "{answer}");
    let answer = agent.call("observe", json!({"what": "websocket"})).await;
    assert!(hint(&answer).contains("popup"), "also where it is switched on: {answer}");
    let lines = agent.call("observe", json!({"what": "extension_logs"})).await;
    assert_eq!(lines["hint"], Value::Null, "these come unasked");
}

#[tokio::test]
async fn beside_the_tabwire_extension_the_hint_is_for_both() {
    let daemon = TestDaemon::start().await;
    let _old = PollingExtension::connect(&daemon).await;
    let _shim = ExtensionBuilder::of(&daemon).connect().await;
    let agent = McpClient::modern(&daemon).named("agent");
    let answer = agent.call("observe", json!({"what": "websocket"})).await;
    assert!(hint(&answer).contains("action:\"capture\""), "{answer}");
    assert!(hint(&answer).contains("popup"), "{answer}");
}

#[tokio::test]
async fn pages_and_tabs_are_asked_for_with_commands_that_it_knows() {
    let daemon = TestDaemon::start().await;
    let _old = PollingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    for call in [json!({"what": "page"}), json!({"what": "page", "tab_id": 7})] {
        let refused = agent.call_fails("observe", call).await;
        assert_eq!(refused["error"], "no_tab_known", "{refused}");
        assert!(!refused["message"].as_str().unwrap().contains("-1"), "{refused}");
        assert!(hint(&refused).contains("page_info"), "{refused}");
    }
    let refused = agent.call_fails("configure", json!({"action": "capture", "tab_id": 7})).await;
    assert_eq!(refused["error"], "no_tab_known", "{refused}");
    let answer = agent.call("observe", json!({"what": "tabs"})).await;
    assert!(hint(&answer).contains("tab_list"), "{answer}");
}

#[tokio::test]
async fn a_browser_without_a_tab_is_not_said_to_lack_tab_minus_one() {
    let daemon = TestDaemon::start().await;
    let _shim = ExtensionBuilder::of(&daemon).tabs(Vec::new()).connect().await;
    let agent = McpClient::modern(&daemon).named("agent");
    let refused = agent.call_fails("observe", json!({"what": "page"})).await;
    assert_eq!(refused["error"], "no_tab_known", "{refused}");
    assert!(hint(&refused).contains("tab_open"), "{refused}");
}
