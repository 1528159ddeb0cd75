//! Pages that another extension has put a frame into, as password managers do.

use serde_json::{Value, json};
use testkit::{body, soon, until};

use super::super::popup::popup;
use super::super::steps_alone::{press, step_tab};
use super::ActionStage;
use super::asleep::beside_vault;
use super::scripted::Beside;

impl ActionStage {
    /// Waits until the frame of the other extension has loaded at least so many times. No debugger is
    /// needed for that.
    async fn is_here(&self, times: u32) {
        let came = async {
            loop {
                let text = self.act("get_text", json!({"target": "css=#here"})).await;
                let told = text.as_str().unwrap().trim_start_matches("here ").parse::<u32>();
                if told.unwrap() >= times {
                    return;
                }
            }
        };
        soon("the frame of the other extension", came).await;
    }

    async fn said(&self) -> Value {
        self.act("get_text", json!({"target": "css=#said"})).await
    }
}

#[tokio::test]
async fn a_frame_of_another_extension_is_set_aside_for_a_command_and_put_back_after_it() {
    let Beside { mut stage, mut hand } = Beside::open("vault.html?src").await;
    for way in ["src", "blank", "closed", "object", "blanks", "nested-src", "nested-closed"] {
        stage.turn_to(&format!("vault.html?{way}")).await;
        stage.is_here(1).await;
        assert_eq!(stage.read("document.title").await, "Log in", "{way}");
        // It is back, loaded anew, when the command is over.
        stage.is_here(2).await;
        stage.act("click", json!({"target": "css=#go"})).await;
        assert_eq!(stage.said().await, "clicked 1 trusted", "{way}");
        // The person comes to the tab.
        stage.act("tab_activate", json!({})).await;
        stage.is_here(3).await;
    }

    // In a tab of the person, which nobody holds and in which they are, their next key ends the burst.
    let mine = stage.url("vault.html?src#mine");
    hand.open_beside(&mine).await;
    stage.tab = tab_at(&stage, &mine).await;
    stage.is_here(1).await;
    stage.act("click", json!({"target": "css=#go"})).await;
    let here = "document.querySelector('#here').textContent";
    assert_eq!(hand.read(here).await, "here 1", "it is aside");
    let is_back = async || {
        hand.press("Shift", 1).await;
        hand.read(here).await == "here 2"
    };
    soon("the frame of the other extension", until(is_back)).await;
    stage.end().await;
}

/// The tab that shows this address, once the daemon has heard of it.
async fn tab_at(stage: &ActionStage, url: &str) -> Value {
    let listed = async {
        loop {
            let listed = stage.client().call("observe", json!({"what": "tabs"})).await;
            if let Some(tab) =
                listed["tabs"].as_array().unwrap().iter().find(|tab| tab["url"] == url)
            {
                return tab["tab_id"].clone();
            }
        }
    };
    soon(url, listed).await
}

#[tokio::test]
async fn the_person_reads_whose_frames_are_aside_leaves_them_where_they_are_and_has_them_alone_in_a_step()
 {
    let Beside { mut stage, mut hand } = Beside::open("vault.html?src").await;
    stage.read("1").await;
    hand.open_beside(&popup()).await;
    let line = "document.querySelector('#foreign-line').innerText";
    let told = async || hand.read(line).await.as_str().is_some_and(|line| !line.is_empty());
    soon("the popup's line", until(told)).await;
    let told = hand.read(line).await;
    assert!(
        told.as_str().unwrap().starts_with("Set aside in agents' tabs: the extension "),
        "{told}"
    );
    // Its switch, off and on again. The popup may be drawn anew as it is clicked.
    for is_on in [false, true] {
        let set = format!(
            "(() => {{ const box = document.querySelector('#foreign-on'); if (box.checked !== {is_on}) box.click(); }})()"
        );
        let kept =
            "chrome.storage.local.get('framesAside').then(({ framesAside }) => framesAside.isOn)";
        let is_kept = async || {
            hand.read(&set).await;
            hand.read(kept).await == is_on
        };
        soon("the switch", until(is_kept)).await;
        stage.turn_to(&format!("vault.html?src#{is_on}")).await;
        stage.is_here(1).await;
        let script = stage.answer("execute_js", json!({"script": "1"})).await;
        assert_eq!(script["status"] == "complete", is_on, "{script}");
        let error = script["error"].as_str().unwrap_or_default();
        assert_eq!(error.contains("switched off"), !is_on, "{script}");
    }

    // While the person is to do a step on the site, and does it, their password manager is in its place.
    stage.is_here(2).await;
    stage.act("click", json!({"target": "css=#go"})).await;
    let agents = stage.url("vault.html?src#true");
    let ask = json!({"action": "ask_user", "kind": "hand_over", "question": "Log in here.", "tab_id": stage.tab});
    let asked = stage.client().call("interact", ask).await;
    assert_eq!(asked["status"], "waiting_for_user", "{asked}");
    hand.turn_to(&agents).await;
    let here = "document.querySelector('#here').textContent";
    soon("the frame in the agent's tab", until(async || hand.read(here).await == "here 3")).await;
    press(&mut hand, "Begin").await;
    let step = step_tab(&mut hand, &Value::Null).await;
    let is_there = format!(
        "chrome.tabs.get({step}).then(({{ url, status }}) => status === 'complete' && url)"
    );
    soon("the step's page", until(async || hand.read(&is_there).await == agents.as_str())).await;
    for tab in [&stage.tab, &step] {
        let mut click =
            json!({"action": "click", "target": "css=#go", "tab_id": tab, "wait_ms": 20_000});
        click["timeout_ms"] = 2_000.into();
        let refused = body(&stage.client().call_raw("interact", click).await);
        let told = [&refused["reason"], &refused["error"]];
        assert!(
            told.contains(&&json!("handed_over")) || told.contains(&&json!("tab_gone")),
            "{refused}"
        );
    }
    hand.turn_to(&popup()).await;
    hand.turn_to_tab(&step).await;
    soon("the frame in the step", until(async || hand.read(here).await == "here 1")).await;
    press(&mut hand, "Cannot").await;
    assert_eq!(hand.read("1").await, 1);
    stage.end().await;
}

#[tokio::test]
async fn a_frame_that_appears_in_the_middle_of_an_act_repeats_and_loses_nothing() {
    let stage = beside_vault("vault.html?focus").await;
    let fields =
        json!([{"target": "css=#name", "value": "ann"}, {"target": "css=#code", "value": "1234"}]);
    let told = stage.act("fill_form", json!({"fields": fields})).await;
    assert_eq!(told["filled"], 2, "{told}");
    let values =
        stage.read("[...document.querySelectorAll('input')].map(({value}) => value).join()").await;
    assert_eq!(values, "ann,1234,on");
    let typed = stage
        .act("type", json!({"target": "css=#name", "text": "bob", "clear": true, "slowly": true}))
        .await;
    assert_eq!(typed["value"], Value::Null, "{typed}");
    assert_eq!(stage.read("document.querySelector('#name').value").await, "bob");
    stage.end().await;
}

#[tokio::test]
async fn an_extension_that_sends_its_frame_elsewhere_for_a_while_holds_up_no_act() {
    let stage = beside_vault("vault.html?again").await;
    let (mut tries, mut done) = (0, 0);
    while done < 3 && tries < 20 {
        tries += 1;
        let answer = stage.answer("click", json!({"target": "css=#go"})).await;
        if answer["status"] == "complete" {
            assert_eq!(answer["result"]["value"]["input"], Value::Null, "{answer}");
            done += 1;
        } else {
            // One that was cut off may have run, and is not repeated.
            assert_eq!(answer["reason"], "foreign_extension_frame", "{answer}");
        }
    }
    assert_eq!(done, 3, "of {tries}");
    let said = stage.said().await;
    let clicks = said.as_str().unwrap().split(' ').nth(1).unwrap().parse::<u32>().unwrap();
    assert!((done..=tries).contains(&clicks), "{said} of {tries}");
    stage.end().await;
}

#[tokio::test]
async fn a_frame_that_comes_back_each_time_ends_the_command_with_the_name_of_its_extension() {
    let stage = beside_vault("vault.html?stubborn").await;
    stage.is_here(2).await;
    let script = "await new Promise((done) => setTimeout(done, 8000))";
    let failed = stage.fails("execute_js", json!({"script": script})).await;
    assert_eq!(failed["reason"], "foreign_extension_frame", "{failed}");
    assert!(failed["error"].as_str().unwrap().contains("the extension "), "{failed}");
    assert_ne!(failed["may_have_run"], false, "{failed}");
    // What needs no debugger works.
    let text = stage.act("get_text", json!({})).await;
    assert!(text.as_str().unwrap().contains("Stay"), "{text}");
    stage.end().await;
}
