//! Permissions of sites that agents set with the person's word, and the optional permission of the
//! extension that this needs, in a real browser.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::actions::folder;
use super::ask_first::{ALWAYS, ConsentStage, DENY, ONCE};
use super::popup::{Profile, popup, shows};
use testkit::{McpClient, TestPages, body, kill_worker, signal, soon, until};

/// The button that gives the extension what it asks for.
pub(crate) const GIVE: usize = 2;

/// The beginning of the popup's question for it.
pub(crate) const PURPOSE: &str = "use the browser's permission";

/// The optional permission of the extension.
const PERMISSION: &str = "contentSettings";

/// With a person who says yes when the browser itself asks.
pub(crate) async fn stage_of_giver() -> ConsentStage {
    stage_where(|_| {}).await
}

async fn stage_where(prepare: impl FnOnce(&Profile)) -> ConsentStage {
    let pages = TestPages::with_folders(&[&folder()]).await;
    let gives = |profile: &Profile| {
        profile.gives(PERMISSION);
        prepare(profile);
    };
    ConsentStage::open_where(pages, "/requests.html", gives).await
}

pub(crate) fn set(tab: &Value, permissions: &Value) -> Value {
    json!({"action": "set_permissions", "permissions": permissions, "tab_id": tab, "wait_ms": 20_000})
}

/// What the page is told of these permissions, in their order.
pub(crate) async fn told(stage: &ConsentStage, names: &[&str]) -> Value {
    let names = json!(names);
    let script = format!(
        "Promise.all({names}.map((name) => navigator.permissions.query({{name}}).then((it) => it.state)))"
    );
    done(stage, stage.script(&script)).await
}

async fn done(stage: &ConsentStage, call: Value) -> Value {
    let answer = body(&stage.client.call_raw("interact", call).await);
    assert_eq!(answer["status"], "complete", "{answer}");
    answer["result"]["value"].clone()
}

/// Waits until the command lacks the extension's permission.
pub(crate) async fn lacks_permission(stage: &ConsentStage, client: &McpClient, id: &str) {
    let waits = async || {
        let status = client.status(id).await;
        let message = status["message"].as_str().unwrap_or_default();
        status["status"] == "waiting_for_user" && message.starts_with("permission_needed: ")
    };
    soon("the question for the permission", until(waits)).await;
    assert_eq!(told(stage, &["geolocation", "camera"]).await, json!(["prompt", "prompt"]));
}

/// Sets them, with the person's word on the site and, the first time, on the extension's permission.
async fn set_first(stage: &mut ConsentStage, permissions: &Value) -> Value {
    let id = stage.held(set(&stage.tab, permissions)).await;
    stage.press(&id, ALWAYS).await;
    lacks_permission(stage, &stage.client, &id).await;
    stage.press_of(&id, PURPOSE, GIVE).await;
    let outcome = stage.client.outcome(&id).await;
    assert_eq!(outcome["status"], "complete", "{outcome}");
    outcome["result"]["value"]["permissions"].clone()
}

#[tokio::test]
async fn a_site_gets_permissions_with_two_words_of_the_person_and_all_is_put_back() {
    let mut stage = stage_of_giver().await;
    let place = json!({"action": "emulate", "geolocation": "52.52,13.40", "tab_id": stage.tab, "wait_ms": 20_000});
    done(&stage, place).await;
    assert_eq!(told(&stage, &["geolocation", "camera"]).await, json!(["prompt", "prompt"]));
    let now = set_first(&mut stage, &json!({"geolocation": "allow"})).await;
    assert_eq!(now, json!({"geolocation": "allow"}));

    // The word is kept, and the extension has its permission: nobody is asked any more.
    let all = json!({"camera": "deny", "microphone": "allow", "notifications": "deny", "clipboard": "allow", "automatic_downloads": "deny"});
    let now = done(&stage, set(&stage.tab, &all)).await["permissions"].clone();
    assert_eq!((now["geolocation"].clone(), now.as_object().unwrap().len()), (json!("allow"), 6));
    let names = ["geolocation", "camera", "microphone", "notifications", "clipboard-read"];
    let set_all = json!(["granted", "denied", "granted", "denied", "granted"]);
    assert_eq!(told(&stage, &names).await, set_all);
    let line = "document.querySelector('#changed-list').innerText";
    let is_told = async || {
        let text = stage.hand.read(line).await;
        text.as_str().is_some_and(|text| text.contains("geolocation allow"))
    };
    soon("the popup tells it", until(is_told)).await;

    // Another site has none of it, and the other tabs of this site have.
    let there = stage.pages.url("/requests.html").replace("127.0.0.1", "localhost");
    let other = json!({"action": "tab_open", "url": there, "wait_ms": 20_000});
    let other = done(&stage, other).await["tab_id"].clone();
    let mine = std::mem::replace(&mut stage.tab, other);
    assert_eq!(told(&stage, &names[..2]).await, json!(["prompt", "prompt"]));
    stage.tab = mine;

    let reset =
        json!({"action": "set_permissions", "reset": true, "tab_id": stage.tab, "wait_ms": 20_000});
    assert_eq!(done(&stage, reset).await["permissions"], json!({}));
    assert_eq!(told(&stage, &names).await, json!(vec!["prompt"; 5]), "as the person has it");
    stage.end().await;
}

#[tokio::test]
async fn what_the_person_has_set_themselves_holds_again_when_an_agent_ends_its_permissions() {
    let mut stage = stage_where(|profile| profile.blocks("geolocation")).await;
    assert_eq!(told(&stage, &["geolocation"]).await, json!(["denied"]));
    let id = stage.held(set(&stage.tab, &json!({"geolocation": "allow"}))).await;
    stage.press(&id, ALWAYS).await;
    stage.press_of(&id, PURPOSE, GIVE).await;
    let outcome = stage.client.outcome(&id).await;
    assert_eq!(outcome["status"], "complete", "{outcome}");
    assert_eq!(told(&stage, &["geolocation"]).await, json!(["granted"]));
    let press = "#changed-list li button";
    let row = format!("document.querySelector('{press}') != null");
    soon("the row", until(async || stage.hand.read(&row).await == true)).await;
    stage
        .hand
        .read(&format!("document.querySelector('{press}').scrollIntoView({{block: 'center'}})"))
        .await;
    stage.hand.click(press).await;
    let back = async || told(&stage, &["geolocation"]).await == json!(["denied"]);
    soon("the person's own setting", until(back)).await;
    stage.end().await;
}

#[tokio::test]
async fn permissions_end_with_the_site_in_the_tab_with_a_killed_worker_and_with_stop() {
    let mut stage = stage_of_giver().await;
    set_first(&mut stage, &json!({"camera": "allow"})).await;
    let is =
        async |stage: &ConsentStage, word: &str| told(stage, &["camera"]).await == json!([word]);
    assert!(is(&stage, "granted").await);
    let go = |url: String| json!({"action": "navigate", "url": url, "tab_id": stage.tab, "wait_ms": 20_000});
    let elsewhere = stage.pages.url("/requests.html").replace("127.0.0.1", "localhost");
    done(&stage, go(stage.pages.url("/second"))).await;
    assert!(is(&stage, "granted").await, "the same site");
    done(&stage, go(elsewhere)).await;
    done(&stage, go(stage.pages.url("/requests.html"))).await;
    soon("the end with the site", until(async || is(&stage, "prompt").await)).await;

    let again = set(&stage.tab, &json!({"camera": "allow"}));
    done(&stage, again.clone()).await;
    assert!(is(&stage, "granted").await);
    kill_worker(&stage.browser);
    soon("the end with the worker", until(async || is(&stage, "prompt").await)).await;

    done(&stage, again).await;
    assert!(is(&stage, "granted").await);
    stage.hand.open_beside(&popup()).await;
    let stop = "chrome.runtime.sendMessage({ask: 'stop_all'}).then(() => \
                chrome.runtime.sendMessage({ask: 'release'})).then(() => 1)";
    stage.hand.read(stop).await;
    soon("the end with stop", until(async || is(&stage, "prompt").await)).await;
    stage.end().await;
}

#[tokio::test]
async fn a_permission_that_the_person_does_not_give_is_named_and_nothing_is_set() {
    let mut stage =
        ConsentStage::open(TestPages::with_folders(&[&folder()]).await, "/requests.html").await;
    let camera = json!({"camera": "allow"});
    let id = stage.held(set(&stage.tab, &camera)).await;
    stage.press(&id, DENY).await;
    assert_eq!(stage.client.outcome(&id).await["reason"], "denied_by_user");

    let id = stage.held(set(&stage.tab, &camera)).await;
    stage.press(&id, ONCE).await;
    lacks_permission(&stage, &stage.client, &id).await;
    // The browser's own question has no window here, and nobody answers it.
    stage.press_of(&id, PURPOSE, GIVE).await;
    lacks_permission(&stage, &stage.client, &id).await;
    stage.press_of(&id, PURPOSE, DENY).await;
    let denied = stage.client.outcome(&id).await;
    let told = (&denied["reason"], &denied["may_have_run"]);
    assert_eq!(told, (&json!("permission_needed"), &json!(false)), "{denied}");
    assert!(denied["hint"].as_str().unwrap().contains("popup"), "{denied}");

    for (permissions, says) in [
        (json!({"midi": "allow"}), "automatic_downloads"),
        (json!({"camera": "yes"}), "deny"),
        (json!("camera"), "permissions"),
    ] {
        let refused = body(&stage.client.call_raw("interact", set(&stage.tab, &permissions)).await);
        assert_eq!(refused["error"], "invalid_argument", "{refused}");
        assert!(refused.to_string().contains(says), "{says}: {refused}");
    }
    let empty =
        json!({"action": "navigate", "url": "about:blank", "tab_id": stage.tab, "wait_ms": 20_000});
    done(&stage, empty).await;
    let refused = body(&stage.client.call_raw("interact", set(&stage.tab, &camera)).await);
    // A page of no site has none, and nobody is asked about it.
    assert_eq!(refused["status"], "error", "{refused}");
    stage.end().await;
}

#[tokio::test]
async fn a_command_that_waits_for_a_permission_outlives_daemon_and_worker_and_goes_on_by_itself() {
    let mut stage = stage_of_giver().await;
    let id = stage.held(set(&stage.tab, &json!({"camera": "allow"}))).await;
    stage.press(&id, ONCE).await;
    lacks_permission(&stage, &stage.client, &id).await;
    kill_worker(&stage.browser);
    let mut stage = stage.restarted().await;
    // The person gives it while no popup is open any more: only the worker hears of it.
    stage.hand.open_beside(&popup()).await;
    shows(&mut stage.hand, "Connected").await;
    let give = "chrome.permissions.request({permissions: ['contentSettings']})";
    assert_eq!(stage.hand.read_clicked(give).await, true);
    let outcome = stage.client.outcome(&id).await;
    assert_eq!(outcome["status"], "complete", "{outcome}");
    assert_eq!(told(&stage, &["camera"]).await, json!(["granted"]));

    // What the browser has kept of it does not outlive its crash for long.
    signal(stage.browser.id(), Signal::KILL);
    stage.browser.end().await;
    let (browser, mut hand) = stage.profile.open(&stage.pages.url("/requests.html")).await;
    hand.go(&stage.pages.url("/requests.html")).await;
    let camera = "navigator.permissions.query({name: 'camera'}).then((it) => it.state)";
    soon("the end with the browser", until(async || hand.read(camera).await == "prompt")).await;
    browser.end().await;
    stage.daemon.stop().await;
}
