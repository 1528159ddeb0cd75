//! The tab of a call that names none, where several agents share a client.

use serde_json::{Value, json};

use super::ActionStage;
use testkit::body;

/// Puts a button into the page of the stage's tab; its ref.
async fn button_of(stage: &ActionStage) -> String {
    let button = "document.body.innerHTML = '<button>Press</button>';
        document.querySelector('button').onclick = () => { document.title = 'pressed'; }";
    stage.read(button).await;
    let page = stage.act("snapshot", json!({})).await.to_string();
    let (_, behind) = page.split_once("Press").expect("the button is in the snapshot");
    let mut words = behind.split(|c: char| !c.is_ascii_alphanumeric());
    words.find(|word| word.ends_with(|c: char| c.is_ascii_digit())).unwrap().to_owned()
}

async fn is_pressed(stage: &ActionStage, tab: &Value) -> bool {
    let script = json!({"script": "document.title === 'pressed'", "tab_id": tab});
    stage.act("execute_js", script).await == true
}

#[tokio::test]
async fn a_ref_acts_in_its_own_tab_and_a_call_that_names_none_of_two_acts_in_neither() {
    let mut stage = ActionStage::open("plain.html").await;
    let (first, first_ref) = (stage.tab.clone(), button_of(&stage).await);
    stage.turn_to("plain.html").await;
    let (second, second_ref) = (stage.tab.clone(), button_of(&stage).await);
    let click = async |target: &str| {
        body(&stage.client().call_raw("click", json!({"target": target})).await)
    };
    let refused = click("text=Press").await;
    assert_eq!(refused["error"], "which_tab", "{refused}");
    let named: Vec<_> =
        refused["tabs"].as_array().unwrap().iter().map(|tab| &tab["tab_id"]).collect();
    assert!(named.contains(&&first) && named.contains(&&second), "{refused}");
    assert!(!is_pressed(&stage, &first).await && !is_pressed(&stage, &second).await);
    // The second tab was used last.
    let clicked = click(&first_ref).await;
    assert!(clicked["error"].is_null(), "{clicked}");
    assert!(is_pressed(&stage, &first).await && !is_pressed(&stage, &second).await);
    click(&second_ref).await;
    assert!(is_pressed(&stage, &second).await);
    // A tab that was named wins over the ref, which is then an element of another tab.
    let crossed = stage.fails("click", json!({"target": first_ref})).await;
    assert_eq!(crossed["reason"], "stale_ref", "{crossed}");
    stage.end().await;
}
