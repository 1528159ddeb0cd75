//! What agents change about tabs: another screen, place or network, rules for requests, and the frame
//! that shows a person an element. All of it is put back. And the names of cookies.

use std::time::Duration;

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;
use tokio::time::timeout;

use testkit::{BrowserUser, soon, until};

use super::ActionStage;

const ALL: &str = "seen()";

/// A page with all emulated that can be, and what it saw before.
async fn emulated() -> (ActionStage, Value) {
    let stage = ActionStage::open("emulated.html").await;
    let before = stage.read(ALL).await;
    let all = json!({
        "device": "android_phone", "viewport": "390x844@3", "color_scheme": "dark", "reduced_motion": true,
        "locale": "de-DE", "timezone": "Asia/Tokyo", "geolocation": "52.52,13.4", "network": "offline", "cpu_slowdown": 2,
    });
    let value = stage.act("emulate", all.clone()).await;
    assert_eq!(value["emulated"], all);
    (stage, before)
}

/// Waits until the page sees again what it saw before.
async fn put_back(stage: &ActionStage, before: &Value) {
    let mut seen = Value::Null;
    // After a Stop it takes a moment until agents are let in again.
    let is_back = async || {
        let answer = stage.answer("execute_js", json!({"script": ALL})).await;
        seen =
            answer.get("result").map_or_else(|| answer.clone(), |result| result["value"].clone());
        seen == *before
    };
    if timeout(Duration::from_secs(10), until(is_back)).await.is_err() {
        panic!("the page sees {seen}, and saw {before}");
    }
    assert_eq!(stage.read("loads()").await, true);
}

#[tokio::test]
async fn a_page_sees_the_device_the_place_and_the_network_that_are_emulated_until_they_are_reset() {
    let (stage, before) = emulated().await;
    let seen = stage.read(ALL).await;
    for (name, value) in [
        ("width", json!(390)),
        ("ratio", json!(3)),
        ("dark", json!(true)),
        ("still", json!(true)),
        ("coarse", json!(true)),
        ("touch", json!(5)),
        ("languages", json!("de-DE")),
        ("number", json!("1.234,5")),
        ("zone", json!("Asia/Tokyo")),
        ("online", json!(false)),
    ] {
        assert_eq!(seen[name], value, "{name}: {seen}");
        assert_ne!(seen[name], before[name], "{name} was so before");
    }
    assert!(seen["agent"].as_str().unwrap().contains("Android"), "{seen}");
    assert!(seen["brands"].as_str().unwrap().contains("\"mobile\":true"), "{seen}");
    assert_eq!(stage.read("loads()").await, false);
    // Part by part, also after a navigation and beside a recording that ends.
    stage.client().call("configure", json!({"action": "capture", "streams": ["network"]})).await;
    stage.client().call("configure", json!({"action": "capture", "streams": []})).await;
    assert_eq!(stage.read("loads()").await, false, "the network is still emulated");
    let part = stage.act("emulate", json!({"network": "full", "color_scheme": "light"})).await;
    assert_eq!(
        (&part["emulated"]["network"], &part["emulated"]["timezone"]),
        (&json!("full"), &json!("Asia/Tokyo"))
    );
    stage.go("emulated.html?again").await;
    let again = stage.read(ALL).await;
    assert_eq!(
        (&again["zone"], &again["width"], &again["dark"]),
        (&json!("Asia/Tokyo"), &json!(390), &json!(false))
    );
    // A page that held on to all that it saw keeps none of it on, and no page after it.
    stage.read("window.held = [matchMedia('(prefers-color-scheme: dark)'), open('emulated.html?opened')]; 1").await;
    let value = stage.act("emulate", json!({"reset": true})).await;
    assert_eq!(value["emulated"], json!({}));
    put_back(&stage, &before).await;
    assert_eq!(stage.read("held[0].matches").await, before["dark"]);
    stage.go("emulated.html?last").await;
    put_back(&stage, &before).await;
    assert_eq!(stage.act("emulate", json!({})).await["emulated"], json!({}));
    stage.end().await;
}

#[tokio::test]
async fn a_page_in_the_background_is_told_each_size_before_the_act_is_answered() {
    let stage = ActionStage::open("emulated.html").await;
    let width = stage.read("innerWidth").await;
    for round in 0..2 {
        let phone = json!({"device": "android_phone", "viewport": "390x844@3", "locale": "de-DE", "cpu_slowdown": 2});
        stage.act("emulate", phone).await;
        // The size of a new document waits for its first frame, and the document goes to the background.
        stage.go(&format!("emulated.html?{round}")).await;
        assert_eq!(stage.read("innerWidth").await, 390, "round {round}");
        stage.read("open('emulated.html?opened'); 1").await;
        stage.act("emulate", json!({"reset": true})).await;
        assert_eq!(stage.read("innerWidth").await, width, "round {round}");
        stage.act("tab_activate", json!({})).await;
    }
    stage.end().await;
}

#[tokio::test]
async fn a_page_gets_an_emulated_place_only_where_the_person_lets_it_ask_for_one() {
    let stage = ActionStage::open("emulated.html").await;
    stage.act("emulate", json!({"geolocation": "52.52,13.4"})).await;
    let mut user = stage.user().await;
    // A page in the background is told no place.
    stage.act("tab_activate", json!({})).await;
    user.set_permission("geolocation", "denied").await;
    assert_eq!(stage.read("place()").await, "refused 1");
    user.set_permission("geolocation", "granted").await;
    assert_eq!(stage.read("place()").await, json!([52.52, 13.4]));
    stage.act("emulate", json!({"reset": true})).await;
    assert_ne!(stage.read("place()").await, json!([52.52, 13.4]));
    stage.end().await;
}

#[tokio::test]
async fn an_emulation_that_cannot_be_changes_nothing_and_says_what_can() {
    let stage = ActionStage::open("emulated.html").await;
    stage.act("emulate", json!({"color_scheme": "dark"})).await;
    for (wrong, says) in [
        (json!({"viewport": "wide", "timezone": "Asia/Tokyo"}), "such as 390x844"),
        (json!({"timezone": "Mars/Base", "viewport": "390x844"}), "such as Europe/Berlin"),
        (json!({"locale": "no language"}), "such as de-DE"),
        (json!({"geolocation": "north"}), "such as 52.52,13.40"),
    ] {
        let refused = stage.fails("emulate", wrong).await;
        assert_eq!(refused["reason"], "invalid_params", "{refused}");
        assert!(refused["error"].as_str().unwrap().contains(says), "{refused}");
    }
    assert_eq!(stage.act("emulate", json!({})).await["emulated"], json!({"color_scheme": "dark"}));
    assert_ne!(stage.read("seen().width").await, 390);
    stage.end().await;
}

/// Clicks a button of the popup, which is longer than the window.
async fn press(user: &mut BrowserUser, button: &str) {
    let show = format!(
        "((button) => button?.checkVisibility() && (button.scrollIntoView(), true))\
         (document.querySelector({button:?}))"
    );
    soon("the button", until(async || user.read(&show).await == true)).await;
    user.click(button).await;
}

#[tokio::test]
async fn what_is_emulated_is_told_in_the_popup_and_put_back_by_the_person_by_stop_and_by_a_rule() {
    let (stage, before) = emulated().await;
    let mut user = stage.user().await;
    user.open_beside(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    let text = "document.querySelector('#changed').innerText";
    let says = async || user.read(text).await.as_str().unwrap().contains("emulates");
    soon("the popup tells it", until(says)).await;
    press(&mut user, "#changed-list button").await;
    put_back(&stage, &before).await;

    let dark = json!({"color_scheme": "dark", "timezone": "Asia/Tokyo"});
    stage.act("emulate", dark.clone()).await;
    press(&mut user, "#stop-all").await;
    press(&mut user, "#release").await;
    put_back(&stage, &before).await;

    // A site that agents may read and not act on.
    stage.act("emulate", dark.clone()).await;
    let rule = "chrome.runtime.sendMessage({ask: 'site_rule', change: 'add', list: 'read', \
                pattern: '127.0.0.1'}).then(({trouble}) => trouble ?? '')";
    assert_eq!(user.read(rule).await, "");
    let is_back = async || {
        let seen = stage.act("get_text", json!({"target": "#sees"})).await;
        let seen = seen.as_str().unwrap().replace('\n', "");
        seen.contains(r#""dark":false"#) && !seen.contains("Tokyo")
    };
    soon("what was before", until(is_back)).await;
    let refused = stage.fails("emulate", dark.clone()).await;
    assert_eq!(refused["reason"], "blocked_by_policy", "{refused}");
    stage.end().await;
}

#[tokio::test]
async fn an_emulation_that_a_killed_worker_left_on_is_put_back_by_the_next_one() {
    let (stage, before) = emulated().await;
    stage.stage.kill_worker();
    let told = async || {
        let answer = stage.answer("emulate", json!({})).await;
        answer["result"]["value"]["emulated"] == json!({})
    };
    soon("the next worker", until(told)).await;
    put_back(&stage, &before).await;
    stage.end().await;
}

/// The colours of a picture of the page at these points.
async fn colours(
    stage: &ActionStage,
    user: &mut BrowserUser,
    points: &[(i32, i32)],
) -> Vec<[u64; 3]> {
    let picture = stage.raw("screenshot", json!({}), true).await;
    let image = picture["content"].as_array().unwrap().iter().find(|part| part["type"] == "image");
    let data = image.unwrap()["data"].as_str().unwrap();
    user.look_at(&format!("data:image/png;base64,{data}"), points).await.colours
}

#[tokio::test]
async fn a_frame_around_an_element_is_shown_to_the_person_and_to_no_page_and_ends() {
    let stage = ActionStage::open("emulated.html").await;
    let at = [(160, 150), (400, 300)];
    let mut user = stage.user().await;
    user.open_beside(&stage.url("second")).await;
    stage.read("document.body.style.background = '#fff'; shown.style.background = '#00f'; shown.textContent = ''; 1").await;
    let whole = "document.documentElement.outerHTML.replace(/<pre.*<.pre>/, '')";
    let before = stage.read(whole).await;
    let plain = colours(&stage, &mut user, &at).await;
    let shown = stage.act("highlight", json!({"target": "#shown", "duration_ms": 60_000})).await;
    assert_eq!(shown["duration_ms"], 60_000, "{shown}");
    let framed = colours(&stage, &mut user, &at).await;
    assert_ne!(framed[0], plain[0], "the element is marked");
    assert_eq!(framed[1], plain[1], "and nothing else");
    assert_eq!(stage.read(whole).await, before, "the page sees nothing of it");
    assert_eq!(stage.act("highlight", json!({})).await["ended"], true);
    assert_eq!(colours(&stage, &mut user, &at).await, plain);
    assert_eq!(stage.act("highlight", json!({})).await["ended"], false);
    stage.act("highlight", json!({"target": "#shown", "duration_ms": 100})).await;
    let over = until(async || colours(&stage, &mut user, &at).await == plain);
    soon("the end of the frame", over).await;
    let missing = stage.fails("highlight", json!({"target": "#nowhere"})).await;
    assert_eq!(missing["reason"], "target_not_found", "{missing}");
    stage.end().await;
}

#[tokio::test]
async fn requests_that_a_rule_blocks_reach_no_server_until_the_client_ends_the_rule() {
    let stage = ActionStage::open("requests.html").await;
    let gets = async |url: &str| stage.read(&format!("gets({url:?})")).await;
    assert_eq!((gets("/second").await, gets("/cart.css").await), (json!(200), json!(200)));
    let reached = stage.pages().hits("/second");
    let rules =
        json!({"rules": [{"url": "/second", "block": true}, {"url": "**/*.css", "block": true}]});
    let set = stage.act("network_rules", rules.clone()).await;
    assert_eq!(set["rules"][0], json!({"url": "/second", "block": true, "matched": 0}));
    assert_eq!(
        (gets("/second").await, gets("/cart.css").await),
        (json!("blocked"), json!("blocked"))
    );
    assert_eq!(gets("/cart.js").await, 200);
    assert_eq!(stage.pages().hits("/second"), reached, "no server has heard of it");
    // A document is no request that a rule is about; the rules stay for the next page.
    stage.go("second").await;
    stage.go("requests.html?again").await;
    assert_eq!(gets("/second").await, "blocked");
    let told = stage.act("network_rules", json!({})).await;
    let matched: Vec<_> =
        told["rules"].as_array().unwrap().iter().map(|rule| &rule["matched"]).collect();
    assert_eq!(matched, [2, 1]);
    let reset = stage.act("network_rules", json!({"rules": []})).await;
    assert_eq!(reset["rules"], json!([]));
    assert_eq!((gets("/second").await, gets("/cart.css").await), (json!(200), json!(200)));

    // A worker that is killed leaves no rule on.
    stage.act("network_rules", rules.clone()).await;
    stage.stage.kill_worker();
    let told = async || {
        let answer = stage.answer("network_rules", json!({})).await;
        answer["result"]["value"]["rules"] == json!([])
    };
    soon("the next worker", until(told)).await;
    assert_eq!(gets("/second").await, 200);

    // A command that holds dialogs and the rules hold up requests at the same time.
    stage.act("network_rules", rules).await;
    let held = json!({"script": "return gets('/second')", "dialogs": "hold"});
    assert_eq!(stage.act("execute_js", held).await, "blocked");
    assert_eq!(gets("/second").await, "blocked", "the end of the hold is not that of the rules");
    stage.end().await;
}

#[tokio::test]
async fn rules_that_do_two_things_or_change_headers_of_security_are_refused_by_name() {
    let stage = ActionStage::open("requests.html").await;
    for (rule, says) in [
        (json!({"url": "/second", "block": true, "answer": {"body": "x"}}), "must have one of"),
        (json!({"url": "/second", "headers": {"Cookie": "x"}}), "cannot change Cookie"),
        (
            json!({"url": "/second", "headers": {"Authorization": "x"}}),
            "cannot change Authorization",
        ),
        (json!({"url": "/second", "block": false}), "block must be true"),
        (json!({"url": "", "block": true}), "url must be"),
    ] {
        let refused = stage.fails("network_rules", json!({"rules": [rule]})).await;
        let text = refused.to_string();
        assert!(text.contains(says), "{says}: {refused}");
    }
    assert_eq!(stage.act("network_rules", json!({})).await["rules"], json!([]));
    stage.end().await;
}

#[tokio::test]
async fn the_names_of_the_pages_cookies_are_told_and_neither_values_nor_those_of_other_sites() {
    let stage = ActionStage::open("cookies.html").await;
    let told = stage.act("cookies", json!({})).await;
    let names: Vec<_> =
        told["cookies"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(names.contains(&&json!("sid")) && names.contains(&&json!("theme")), "{told}");
    let sid = told["cookies"].as_array().unwrap().iter().find(|one| one["name"] == "sid").unwrap();
    assert_eq!((&sid["http_only"], &sid["same_site"]), (&json!(true), &json!("lax")));
    let text = told.to_string();
    for secret in ["s3cret", "dark-chosen", "of_another_site"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // Those of a site that is denied are told to nobody, by its own page or by another one.
    stage.client().call("configure", json!({"action": "site_rules", "pattern": "localhost"})).await;
    let refused = stage.fails("cookies", json!({})).await;
    assert_eq!(refused["reason"], "blocked_by_policy", "{refused}");
    assert!(!refused.to_string().contains("sid"), "{refused}");
    stage.end().await;
}
