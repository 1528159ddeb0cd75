//! An extension whose files were renewed while the browser runs loads them by itself.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;
use testkit::{McpClient, TestDaemon, TestPages, soon, until};

use super::popup::{Profile, popup, shows};

/// The daemon looks every 3 s, waits until all is quiet, and the browser loads the extension anew.
const RENEWAL: Duration = Duration::from_secs(30);

const OLD: &str = "0.0.1";
const NEW: &str = env!("CARGO_PKG_VERSION");

/// Gives the unpacked extension another version, as if an older program had written it.
fn make_older(folder: &Path) {
    let manifest = folder.join("manifest.json");
    let mut text: Value = serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    text["version"] = OLD.into();
    // It is read-only.
    fs::remove_file(&manifest).unwrap();
    fs::write(manifest, text.to_string()).unwrap();
}

/// Renews it, as `tabwire install` does.
fn renew(folder: &Path, daemon: &TestDaemon) {
    let key = daemon.home().auth().extension_key(EXTENSION_ID);
    extension::unpack(folder, daemon.port(), &key).unwrap();
    daemon.home().note_unpacked(folder).unwrap();
}

/// The version of the connected extension, if one is connected.
async fn version(client: &McpClient) -> Option<String> {
    let browsers = client.call("observe", json!({"what": "browsers"})).await["browsers"].clone();
    let connected = browsers.as_array().unwrap().iter().find(|one| one["connected"] == true)?;
    Some(connected["extension_version"].as_str().unwrap().to_owned())
}

/// The name of the first element in a snapshot.
fn first_ref(snapshot: &str) -> String {
    let is_ref = |word: &&str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
        digits.len() < word.len()
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_ascii_digit())
    };
    let words = snapshot.split(|c: char| !c.is_ascii_alphanumeric());
    words.into_iter().find(is_ref).expect(snapshot).to_owned()
}

fn script(tab: &Value, script: &str) -> Value {
    json!({"action": "execute_js", "script": script, "tab_id": tab, "wait_ms": 20_000})
}

#[tokio::test]
async fn a_renewed_extension_loads_itself_anew_when_its_command_is_over_and_goes_on_as_before() {
    let (daemon, pages) = (TestDaemon::start().await, TestPages::start().await);
    let place = Profile::folder();
    let folder = place.path().join("extension");
    let profile = Profile::within(place, &daemon.home(), daemon.port());
    make_older(&folder);
    let (browser, mut hand) = profile.open("about:blank").await;
    hand.go(&popup()).await;
    shows(&mut hand, "Connected").await;
    let client = McpClient::modern(&daemon);
    assert_eq!(version(&client).await.as_deref(), Some(OLD));
    let paired = "chrome.storage.local.get('browser_id').then((kept) => kept.browser_id)";
    let browser_id = hand.read(paired).await;
    hand.go("about:blank").await;
    let open = json!({"action": "tab_open", "url": pages.url("/form"), "wait_ms": 20_000});
    let tab = client.call("interact", open).await["result"]["value"]["tab_id"].clone();

    client.call("configure", json!({"action": "capture", "streams": ["logs"]})).await;
    let look = json!({"what": "snapshot", "tab_id": tab, "wait_ms": 20_000});
    let seen = client.call("analyze", look.clone()).await["result"]["value"].to_string();
    let old_ref = first_ref(&seen);

    let long = "globalThis.runs = (globalThis.runs ?? 0) + 1; \
                new Promise((done) => setTimeout(() => done(globalThis.runs), 4_000))";
    let running = client.call("interact", script(&tab, long));
    let renewing = async {
        let pending = json!({"what": "pending_commands"});
        let runs = async || client.call("observe", pending.clone()).await["pending"] != json!([]);
        soon("the command", until(runs)).await;
        renew(&folder, &daemon);
    };
    let (ran, ()) = tokio::join!(running, renewing);
    assert_eq!((&ran["status"], &ran["result"]["value"]), (&json!("complete"), &json!(1)), "{ran}");
    let is_new = async || version(&client).await.as_deref() == Some(NEW);
    let renewed = tokio::time::timeout(RENEWAL, until(is_new)).await;
    renewed.expect("the new version");

    let again = client.call("interact", script(&tab, "globalThis.runs")).await;
    assert_eq!(again["result"]["value"], 1, "no command ran twice, and the tab is the same");
    // The pages count their elements anew, so a name from before must not be another element's.
    let seen = client.call("analyze", look).await["result"]["value"].to_string();
    assert_ne!(first_ref(&seen), old_ref, "{seen}");
    let click = json!({"action": "click", "target": old_ref, "tab_id": tab, "wait_ms": 20_000});
    let clicked = client.call_raw("interact", click).await;
    assert!(clicked.to_string().contains("stale_ref"), "{clicked}");
    let logs = json!({"what": "logs", "tab_id": tab});
    let logged = async || {
        client.call("interact", script(&tab, "console.log('still recorded')")).await;
        client.call("observe", logs.clone()).await.to_string().contains("still recorded")
    };
    soon("the log after the reload", until(logged)).await;
    let tabs = client.call("observe", json!({"what": "tabs"})).await;
    let held = tabs["tabs"].as_array().unwrap().iter().find(|one| one["tab_id"] == tab).unwrap();
    assert_eq!(held["held_by"]["you"], true, "its agent still holds it: {tabs}");
    hand.go(&popup()).await;
    shows(&mut hand, "Connected").await;
    assert_eq!(hand.read(paired).await, browser_id);
    let agents = "chrome.storage.session.get('agent_tabs').then((kept) => kept.agent_tabs.agents)";
    assert_eq!(hand.read(agents).await, json!([tab]), "it still knows whose tab it is");
    let left = "chrome.storage.local.get('handed_on').then(Object.keys)";
    assert_eq!(hand.read(left).await, json!([]), "nothing of the session stays on the disk");
    browser.end().await;
    daemon.stop().await;
}
