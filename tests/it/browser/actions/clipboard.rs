//! Copies and pastes with a clipboard of the client's own.

use serde_json::{Value, json};

use super::ActionStage;
use testkit::soon;

impl ActionStage {
    async fn clipboard(&self, params: Value) -> Value {
        self.act("clipboard", params).await
    }
}

#[tokio::test]
async fn an_agent_copies_and_pastes_and_the_persons_clipboard_stays_as_it_is() {
    let mut stage = ActionStage::open("clipboard.html").await;
    let mut user = stage.user().await;
    user.read_clicked("navigator.clipboard.writeText('of the person')").await;
    assert_eq!(user.clipboard().await, "of the person");

    let empty = stage.fails("clipboard", json!({"operation": "paste", "target": "#to"})).await;
    assert!(empty["error"].as_str().unwrap().contains("empty"), "not the person's: {empty}");
    let copied = stage.clipboard(json!({"operation": "copy", "target": "#from"})).await;
    assert_eq!(copied, json!({"copied": "from here"}));
    let pasted = stage.clipboard(json!({"operation": "paste", "target": "#to"})).await;
    assert_eq!(pasted["value"], "from here", "{pasted}");
    stage.clipboard(json!({"operation": "copy", "target": "#text"})).await;
    let read = stage.clipboard(json!({"operation": "read"})).await;
    assert_eq!(read["text"], "Some bold words", "{read}");
    stage.clipboard(json!({"operation": "paste", "target": "#rich"})).await;
    let markup = stage.read("document.querySelector('#rich').innerHTML").await;
    assert_eq!(markup, "rich:Some bold words", "markup of a page does not become elements");

    stage.clipboard(json!({"operation": "copy", "target": "#own"})).await;
    stage.clipboard(json!({"operation": "paste", "target": "#own"})).await;
    let taken = stage.read("pasted[0]").await;
    assert_eq!(taken, json!(["application/x-cells: [[1]]", "text/plain: cells"]));

    stage.clipboard(json!({"operation": "cut", "target": "#from"})).await;
    assert_eq!(stage.read("document.querySelector('#from').value").await, "");
    let keys = ["ControlOrMeta+a", "ControlOrMeta+x", "ControlOrMeta+v", "Shift+Insert"];
    let pressed = stage.act("press_key", json!({"target": "#to", "keys": keys})).await;
    assert_eq!(pressed["value"], "from herefrom here", "{pressed}");
    stage.act("press_key", json!({"target": "#shell", "key": "Control+c"})).await;
    assert_eq!(stage.read("keys").await, json!(["interrupt"]), "a page may use the chord itself");

    stage.clipboard(json!({"operation": "write", "text": "for an editor"})).await;
    stage.turn_to("editor.html?prosemirror").await;
    stage.until("editorText() === 'before'").await;
    let select = json!({"target": "#editor .ProseMirror", "key": "ControlOrMeta+a"});
    stage.act("press_key", select).await;
    stage.clipboard(json!({"operation": "paste"})).await;
    assert_eq!(stage.read("editorText()").await, "for an editor");
    stage.act("press_key", json!({"keys": ["ControlOrMeta+a", "ControlOrMeta+c"]})).await;
    let read = stage.clipboard(json!({"operation": "read"})).await;
    assert_eq!(read["text"], "for an editor", "{read}");

    assert_eq!(user.clipboard().await, "of the person");
    stage.end().await;
}

#[tokio::test]
async fn secrets_are_not_copied_and_nothing_selected_is_said() {
    let stage = ActionStage::open("clipboard.html").await;
    for params in [
        json!({"operation": "copy", "target": "#password"}),
        json!({"operation": "copy"}),
        json!({"operation": "write"}),
        json!({"operation": "swap"}),
    ] {
        stage.fails("clipboard", params).await;
    }
    stage.end().await;
}

#[tokio::test]
async fn what_a_page_copies_after_an_agents_click_is_the_agents_and_the_persons_stays() {
    let stage = ActionStage::open("copying.html").await;
    let mut user = stage.user().await;
    user.read_clicked("navigator.clipboard.writeText('of the person')").await;
    let click = |target: &'static str| stage.act("click", json!({"target": target}));
    for (target, copied) in [
        ("#write", "by writeText"),
        ("#command", "of the field"),
        ("#event", "by the event"),
        ("#cut", "of the field"),
    ] {
        let told = click(target).await;
        assert_eq!(told["copied"], copied, "{target}: {told}");
        let pasted = stage.clipboard(json!({"operation": "paste", "target": "#to"})).await;
        assert!(pasted["value"].as_str().unwrap().ends_with(copied), "{target}: {pasted}");
    }
    assert_eq!(stage.read("word.value").await, "", "it is cut");
    for (target, done, copied) in
        [("#later", "later done", "after a while"), ("#items", "write done", "by write")]
    {
        click(target).await;
        stage.until(&format!("done.includes('{done}')")).await;
        let read = stage.clipboard(json!({"operation": "read"})).await;
        assert_eq!(read["text"], copied, "{target}: {read}");
    }
    // A page is not given the person's either, and a middle click pastes nothing.
    click("#read").await;
    stage.until("done.includes('readText NotAllowedError')").await;
    stage.read("to.value = ''; pasted = []").await;
    stage.act("click", json!({"target": "#to", "button": "middle"})).await;
    assert_eq!(stage.read("to.value + pasted.join()").await, "");
    let opened = stage.act("click", json!({"target": "#link", "button": "middle"})).await;
    assert!(opened["new_tab"].is_number(), "{opened}");
    assert_eq!(user.clipboard().await, "of the person");

    // Once the person looks at the tab, its copies are theirs.
    let seen = json!({"script": "word.value = 'theirs'; word.select(); return document.execCommand('copy')", "user_gesture": true});
    stage.act("tab_activate", json!({})).await;
    soon("the person's copy", async {
        loop {
            assert_eq!(stage.act("execute_js", seen.clone()).await, true);
            let read = stage.clipboard(json!({"operation": "read"})).await;
            if read["text"] == "by write" {
                return;
            }
        }
    })
    .await;
    user.turn_to(&stage.url("copying.html")).await;
    assert_eq!(user.clipboard().await, "theirs");
    stage.end().await;
}
