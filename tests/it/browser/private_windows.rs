//! Private windows are the person's alone.

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use super::popup::{Profile, popup};
use testkit::{McpClient, TestDaemon, TestPages, first_tab, soon, until};

#[tokio::test]
async fn nothing_of_a_private_window_is_told_and_no_agents_tab_opens_there() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    let (browser, mut hand) = profile.open(&pages.url("/")).await;
    let client = McpClient::legacy(&daemon);
    first_tab(&client, &browser).await;
    client.call("configure", json!({"action": "capture", "streams": ["network"]})).await;

    // As a person who would let every extension in.
    hand.go("chrome://extensions/").await;
    let allow = format!(
        "chrome.developerPrivate.updateExtensionConfiguration(\
         {{extensionId: '{EXTENSION_ID}', incognitoAccess: true}}).then(() => 1, () => 1)"
    );
    hand.read(&allow).await;
    let is_allowed = format!(
        "chrome.developerPrivate.getExtensionInfo('{EXTENSION_ID}')\
         .then((info) => info.incognitoAccess.isActive)"
    );
    assert_eq!(hand.read(&is_allowed).await, false);
    let window = format!(
        "new Promise((done) => chrome.windows.create(\
         {{incognito: true, url: '{}'}}, () => done(1)))",
        pages.url("/strict?private")
    );
    hand.open_beside(&popup()).await;
    hand.read(&window).await;
    let count = "chrome.windows.getAll({}).then((all) => all.length)";
    soon("the page's end", until(async || hand.read(count).await.is_number())).await;
    hand.turn_to(&pages.url("/strict?private")).await;

    let opened = json!({"action": "tab_open", "url": pages.url("/form"), "wait_ms": 20_000});
    let opened = client.call("interact", opened).await["result"]["value"].clone();
    let listed = client.call("observe", json!({"what": "tabs"})).await;
    let tabs = listed["tabs"].as_array().unwrap();
    let of = |tab: &Value| tab["url"].as_str().unwrap().to_owned();
    assert!(!tabs.iter().any(|tab| of(tab).contains("private")), "{listed}");
    let is_beside = |tab: &&Value| tab["tab_id"] == opened["tab_id"];
    let ours = tabs.iter().find(is_beside).expect("the agent's tab");
    assert!(tabs.iter().any(|tab| tab["tab_id"] != ours["tab_id"]), "{listed}");
    let seen = client.call("observe", json!({"what": "network"})).await;
    assert!(!seen.to_string().contains("private"), "{seen}");
    browser.end().await;
    daemon.stop().await;
}
