//! The person's history of agents' acts: what is kept of them, how little, and who sees it.

use serde_json::{Value, json};

use super::popup::{Profile, popup, shows};
use testkit::{McpClient, ProgramOutput, TestDaemon, TestPages, cli_of, finish, first_tab, soon};

/// A value, a script, a path and a title that must not be in the history.
const SECRETS: [&str; 4] = ["hunter2hunter2", "scriptOfTheAgent", "form#order=4711", "Order form"];

async fn history(daemon: &TestDaemon, more: &[&str]) -> Vec<Value> {
    let ran = run(daemon, &[&["--json"], more].concat()).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    told["acts"].as_array().unwrap().clone()
}

async fn run(daemon: &TestDaemon, arguments: &[&str]) -> ProgramOutput {
    finish(cli_of(daemon, &[&["history"], arguments].concat())).await
}

/// The action and the end of each act, newest first, once the last act is there.
async fn until_last(daemon: &TestDaemon, action: &str) -> Vec<Value> {
    let mut acts = Vec::new();
    let kept = async {
        while acts.first().is_none_or(|act: &Value| act["action"] != action) {
            acts = history(daemon, &[]).await;
        }
    };
    soon(action, kept).await;
    acts
}

#[tokio::test]
async fn who_did_what_where_is_kept_without_values_scripts_paths_and_titles() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    let (browser, hand) = profile.open(&pages.url("/form#order=4711")).await;
    let client = McpClient::legacy(&daemon).named("Order bot");
    let tab = first_tab(&client, &browser).await;
    let act = async |more: Value| {
        let mut call = json!({"tab_id": tab, "wait_ms": 20_000});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call_raw("interact", call).await
    };
    act(json!({"action": "execute_js", "script": "document.title = 'Order form', 'scriptOfTheAgent'"}))
        .await;
    act(json!({"action": "type", "target": "#name", "text": "hunter2hunter2"})).await;
    act(json!({"action": "click", "target": "#nowhere"})).await;
    let steps = json!([{"action": "page_info"}, {"action": "get_text"}]);
    act(json!({"action": "batch", "steps": steps})).await;
    let ran = finish(cli_of(&daemon, &["sites", "deny", "localhost"])).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let denied = pages.url("/form#order=4711").replace("127.0.0.1", "localhost");
    act(json!({"action": "navigate", "url": denied})).await;

    let acts = until_last(&daemon, "navigate").await;
    let row = |action: &str| acts.iter().find(|act| act["action"] == action).unwrap().clone();
    for (action, ended, site) in [
        ("execute_js", "complete", "127.0.0.1"),
        ("type", "complete", "127.0.0.1"),
        ("click", "error", "127.0.0.1"),
        ("batch: page_info, get_text", "complete", "127.0.0.1"),
        ("navigate", "error", "localhost"),
    ] {
        let act = row(action);
        assert_eq!((&act["ended"], &act["site"]), (&json!(ended), &json!(site)), "{act}");
        assert_eq!(act["client"], "Order bot", "{act}");
    }
    assert_eq!(row("navigate")["reason"], "blocked_by_policy");
    for file in std::fs::read_dir(daemon.home().dir()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("history.db") {
            let bytes = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(SECRETS.iter().all(|secret| !bytes.contains(secret)), "{name}");
        }
    }
    let of_site = history(&daemon, &["--site", "localhost"]).await;
    assert_eq!(of_site.len(), 1, "{of_site:?}");
    assert!(history(&daemon, &["--client", "nobody"]).await.is_empty());
    assert!(history(&daemon, &["--since", "2099-01-01T00:00:00Z"]).await.is_empty());
    drop(hand);
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn the_popup_shows_the_last_acts_and_its_switch_and_button_are_the_persons() {
    let daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profile = Profile::new(&daemon.home(), daemon.port());
    let (browser, mut hand) = profile.open(&pages.url("/form")).await;
    let client = McpClient::legacy(&daemon).named("Order bot");
    let tab = first_tab(&client, &browser).await;
    let act = async |action: &str| {
        client.call("interact", json!({"action": action, "tab_id": tab, "wait_ms": 20_000})).await
    };
    act("page_info").await;
    hand.open_beside(&popup()).await;
    shows(&mut hand, "Connected").await;
    hand.read("document.querySelector('#history').open = true").await;
    shows(&mut hand, "page_info").await;
    shows(&mut hand, "Order bot · 127.0.0.1").await;

    // The person scrolls down to it.
    hand.read("document.querySelector('#history').scrollIntoView({block: 'end'})").await;
    hand.click("#history-on").await;
    let off = async || run(&daemon, &[]).await.stdout.contains("The history is off");
    soon("off", testkit::until(off)).await;
    let is_on = "document.querySelector('#history-on').checked";
    soon("the switch", testkit::until(async || hand.read(is_on).await == false)).await;
    act("refresh").await;
    hand.click("#history-on").await;
    let on = async || !run(&daemon, &[]).await.stdout.contains("The history is off");
    soon("on", testkit::until(on)).await;
    act("screenshot").await;
    let acts = until_last(&daemon, "screenshot").await;
    assert!(acts.iter().all(|act| act["action"] != "refresh"), "{acts:?}");

    hand.click("#history-clear").await;
    let gone = async || history(&daemon, &[]).await.is_empty();
    soon("an empty history", testkit::until(gone)).await;
    let rows = "document.querySelectorAll('#past-acts li').length";
    soon("an empty list", testkit::until(async || hand.read(rows).await == 0)).await;
    browser.end().await;
    daemon.stop().await;
}
