//! Pages that another extension has put a frame into, as password managers do.

use serde_json::{Value, json};
use testkit::soon;

use super::ActionStage;
use super::asleep::beside_vault;

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
    let mut stage = beside_vault("vault.html?src").await;
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
