//! A browser is called by its name wherever a person or an agent reads of it.

use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, FakeExtension, McpClient, TestDaemon, active_tab, body, cli_of, finish, soon,
    tab,
};

/// The ids of the two browsers, and what a person calls them.
const IDS: [&str; 2] = ["b-0123456789", "b-9876543210"];

struct TwoBrowsers {
    daemon: TestDaemon,
    one: FakeExtension,
    two: FakeExtension,
    client: McpClient,
}

async fn two_browsers() -> TwoBrowsers {
    let daemon = TestDaemon::start().await;
    let one = ExtensionBuilder::of(&daemon).browser(IDS[0]).connect().await;
    let tabs = vec![active_tab(70), tab(80)];
    let two = ExtensionBuilder::of(&daemon).browser(IDS[1]).tabs(tabs).connect().await;
    let client = McpClient::legacy(&daemon).named("probe");
    TwoBrowsers { daemon, one, two, client }
}

fn label(at: usize) -> String {
    format!("Browser {}", IDS[at])
}

/// What is said of browsers beside their names must not need an id.
fn names_only(words: &str, at: usize) {
    assert!(words.contains(&label(at)), "{words}");
    assert!(!words.replace(&label(at), "").contains(IDS[at]), "{words}");
}

#[tokio::test]
async fn lists_of_tabs_clients_and_commands_call_a_browser_by_its_name() {
    let TwoBrowsers { daemon, one: _one, mut two, client } = two_browsers().await;
    let listed = client.call_raw("observe", json!({"what": "tabs", "trace": false})).await;
    let lines = body(&listed)["tabs"].clone();
    for line in lines.as_array().unwrap() {
        let at = usize::from(
            line.as_str().unwrap().contains("tab-70.test")
                || line.as_str().unwrap().contains("tab-80.test"),
        );
        assert!(line.as_str().unwrap().contains(&format!("browser:\"{}\"", label(at))), "{line}");
        names_only(line.as_str().unwrap(), at);
    }
    // The name works as the parameter.
    let call = json!({"action": "execute_js", "script": "1", "browser": label(1), "wait_ms": 0});
    let id = client.submit(call).await;
    two.run(&json!({"success": true, "value": 1})).await;
    let whole = client.call("observe", json!({"what": "tabs"})).await;
    assert_eq!(whole["tabs"][0]["browser_label"], label(0), "{whole}");
    let page = client.call("observe", json!({"what": "page", "tab_id": 70})).await;
    assert_eq!(page["browser_label"], label(1), "{page}");
    let clients = client.call("configure", json!({"action": "clients"})).await;
    assert_eq!(clients["clients"][0]["browser_label"], label(1), "{clients}");

    for command in [&["commands"][..], &["trace", &id]] {
        let shown = finish(cli_of(&daemon, command)).await.stdout;
        names_only(&shown, 1);
    }
    let told = finish(cli_of(&daemon, &["commands", "--json"])).await.stdout;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["commands"][0]["browser_label"], label(1), "{told}");
    daemon.stop().await;
}

#[tokio::test]
async fn refusals_call_a_browser_by_its_name() {
    let TwoBrowsers { daemon, one: _one, two: _two, client } = two_browsers().await;
    let script =
        |tab: i64| json!({"action": "execute_js", "script": "1", "browser": IDS[1], "tab_id": tab});
    let gone = client.call_fails("interact", script(7)).await;
    assert_eq!(gone["error"], "tab_gone", "{gone}");
    names_only(gone["message"].as_str().unwrap(), 1);
    let unknown = json!({"action": "click", "target": "text=Go", "browser": IDS[1], "tab_id": 70});
    let unknown = client.call_fails("interact", unknown).await;
    assert_eq!(unknown["error"], "unsupported_action", "{unknown}");
    names_only(unknown["message"].as_str().unwrap(), 1);
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_about_a_tab_of_another_browser_names_that_browser() {
    let TwoBrowsers { daemon, mut one, mut two, client } = two_browsers().await;
    let ask = json!({"action": "ask_user", "kind": "approve", "question": "Send?", "browser": IDS[1], "tab_id": 80});
    let asked = client.call("interact", ask).await;
    assert_eq!(asked["status"], "waiting_for_user", "{asked}");
    let shown = async |extension: &mut FakeExtension| loop {
        let frame = soon("a frame", extension.next()).await;
        if frame["type"] == "asks" {
            return frame["asks"][0].clone();
        }
    };
    let (there, here) = (shown(&mut one).await, shown(&mut two).await);
    assert_eq!((&there["browser_label"], &there["tab_id"]), (&json!(label(1)), &Value::Null));
    assert_eq!((&here["browser_label"], &here["tab_id"]), (&Value::Null, &json!(80)));
    let listed = finish(cli_of(&daemon, &["asks"])).await.stdout;
    names_only(&listed, 1);
    daemon.stop().await;
}
