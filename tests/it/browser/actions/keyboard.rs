//! Text and keys, as events that a page takes for a person's.

use serde_json::{Value, json};

use super::ActionStage;
use testkit::{OTHER_SITE, soon, until};

impl ActionStage {
    /// Types, and reads the page afterwards.
    async fn typed(&self, params: Value, script: &str) -> Value {
        self.act("type", params).await;
        self.read(script).await
    }
}

#[tokio::test]
async fn text_comes_to_fields_as_it_is_typed_and_the_answer_says_when_a_page_changes_it() {
    let stage = ActionStage::open("fields.html").await;
    let typed = stage.act("type", json!({"target": "label=Name", "text": "Ann"})).await;
    assert!(typed["typed"].as_str().unwrap().starts_with("textbox \"Name\" "), "{typed}");
    assert_eq!(typed.as_object().unwrap().len(), 1, "nothing else happened: {typed}");
    let value = "document.forms[0].elements.name.value";
    let more = json!({"target": "label=Name", "text": " Lee"});
    assert_eq!(stage.typed(more.clone(), value).await, "Ann Lee", "it goes behind the text");
    assert!(stage.bytes_of("type", more).await <= 80);
    let anew = json!({"target": "label=Name", "text": "Bo 😀 é", "clear": true});
    assert_eq!(stage.typed(anew, value).await, "Bo 😀 é");
    assert_eq!(stage.typed(json!({"text": "!"}), value).await, "Bo 😀 é!", "where the focus is");
    let slowly = json!({"target": "label=Name", "text": "añ😀", "clear": true, "slowly": true});
    assert_eq!(stage.typed(slowly, value).await, "añ😀");
    let empty = json!({"target": "label=Name", "text": "", "clear": true});
    assert_eq!(stage.typed(empty, value).await, "");
    let notes = json!({"target": "label=Notes", "text": "\nnext\n"});
    let written = stage.typed(notes, "document.forms[0].elements.notes.value").await;
    assert_eq!(written, "before\nnext\n");
    let rich = json!({"target": "#rich", "text": " and after"});
    let text = "document.querySelector('#rich').textContent";
    assert_eq!(stage.typed(rich, text).await, "rich before and after");
    let clear = json!({"target": "#rich", "text": "anew", "clear": true});
    assert_eq!(stage.typed(clear, text).await, "anew");

    let amount = stage.act("type", json!({"target": "label=Amount", "text": "4 x"})).await;
    assert_eq!(amount["value"], "4", "{amount}");
    let secret = stage.act("type", json!({"target": "label=Password", "text": "hunter22"})).await;
    assert_eq!(secret["value"], "[redacted]", "what it holds is not told: {secret}");
    let day = json!({"target": "label=Day", "text": "2026-11-23"});
    assert_eq!(stage.typed(day, "document.forms[0].elements.day.value").await, "2026-11-23");
    let shadow = json!({"target": "label=In the shadow", "text": "closed"});
    assert_eq!(stage.typed(shadow, "shadowValue()").await, "closed");
    let scripted = stage.read("events.filter((event) => /^input .*scripted/.test(event))").await;
    assert_eq!(scripted, json!(["input day scripted"]), "all else is input of the browser");

    let frame = stage.read("document.querySelector('iframe').src").await;
    assert_eq!(frame, stage.url_elsewhere("inner_field.html"), "a site of its own");
    let inner = stage.act("type", json!({"target": "label=Inner", "text": "in a frame"})).await;
    assert!(inner["typed"].as_str().unwrap().starts_with("textbox \"Inner\" "), "{inner}");
    let ask = "new Promise((done) => { onmessage = ({ data }) => done(data); frames[0].postMessage('#inner', '*'); })";
    assert_eq!(stage.read(ask).await, "in a frame");

    for (target, reason) in
        [("label=Locked", "not_editable"), ("label=I agree", "not_editable"), ("h9", "stale_ref")]
    {
        let failed = stage.fails("type", json!({"target": target, "text": "x"})).await;
        assert_eq!(failed["reason"], reason, "{failed}");
    }
    let off = json!({"target": "label=Off", "text": "x", "timeout_ms": 1_000});
    assert_eq!(stage.fails("type", off).await["reason"], "disabled");
    let wrong = stage.fails("type", json!({"target": "label=Day", "text": "11/23/2026"})).await;
    assert!(wrong["hint"].as_str().unwrap().contains("2026-11-23"), "{wrong}");
    stage.end().await;
}

#[tokio::test]
async fn rich_editors_take_text_lines_and_chords_as_from_a_person() {
    let mut stage = ActionStage::open("plain.html").await;
    for editor in ["prosemirror", "lexical", "codemirror", "monaco"] {
        stage.turn_to(&format!("editor.html?{editor}")).await;
        stage.until("editorText() === 'before'").await;
        let lines = |text: &str| {
            if editor == "lexical" { text.replace('\n', "\n\n") } else { text.to_owned() }
        };
        let target = "#editor";
        let text = "editorText()";
        let typed = stage.typed(json!({"target": target, "text": " and after"}), text).await;
        assert_eq!(typed, "before and after", "{editor}: behind the text");
        let anew = json!({"target": target, "text": "new 😀 שלום", "clear": true});
        assert_eq!(stage.typed(anew, text).await, "new 😀 שלום", "{editor}: in its place");
        let more = json!({"target": target, "text": "\nsecond\nthird line"});
        let expected = lines("new 😀 שלום\nsecond\nthird line");
        assert_eq!(stage.typed(more, text).await, expected, "{editor}: lines");
        let slowly = json!({"target": target, "text": "é\nx", "clear": true, "slowly": true});
        assert_eq!(stage.typed(slowly, text).await, lines("é\nx"), "{editor}: key by key");
        stage.act("press_key", json!({"keys": ["ControlOrMeta+a", "Backspace"]})).await;
        assert_eq!(stage.read(text).await, "", "{editor}: a chord selects all");
        let filled = json!({"fields": [{"target": target, "value": "filled"}]});
        assert_eq!(stage.act("fill_form", filled).await, json!({"filled": 1}), "{editor}");
        assert_eq!(stage.read(text).await, "filled", "{editor}");
    }
    stage.end().await;
}

#[tokio::test]
async fn keys_and_chords_are_pressed_in_order_where_the_focus_is() {
    let stage = ActionStage::open("keys.html").await;
    let pressed = stage.act("press_key", json!({"target": "#terminal", "key": "Enter"})).await;
    let on = pressed["pressed_on"].as_str().unwrap();
    assert!(on.starts_with("application \"Terminal\" "), "{pressed}");
    let command = json!({"target": "#terminal", "text": "ls\n"});
    assert_eq!(stage.typed(command, "terminal").await, "<Enter>ls<Enter>", "no field, only keys");
    stage.read("keys.length = 0").await;
    let keys = ["Control+Shift+ArrowLeft", "F5", "?"];
    stage.act("press_key", json!({"target": "#terminal", "keys": keys})).await;
    let seen = ["Control+Control", "Control+Shift+Shift", "Control+Shift+ArrowLeft", "F5", "?"];
    assert_eq!(stage.read("keys").await, json!(seen));

    stage.act("type", json!({"target": "#field", "text": "one two"})).await;
    let cut = json!({"keys": ["End", "Shift+Home", "Delete", "Z", "é"]});
    let edited = stage.act("press_key", cut).await;
    assert_eq!(edited["value"], "Zé", "the answer says the value: {edited}");
    let signed = stage.act("press_key", json!({"key": "!"})).await;
    assert_eq!(signed["value"], Value::Null, "a sign that was entered is known: {signed}");
    assert_eq!(stage.read("document.querySelector('#field').value").await, "Zé!");
    let moved = stage.act("press_key", json!({"key": "Tab"})).await;
    assert!(moved["focus"].as_str().unwrap().contains("Swallowing"), "{moved}");

    for key in ["Foo", "Control+", ""] {
        let failed = stage.fails("press_key", json!({"key": key})).await;
        assert!(failed["hint"].as_str().unwrap().contains("ArrowDown"), "{failed}");
    }
    let none = stage.fails("press_key", json!({"key": "a", "target": "#list"})).await;
    assert_eq!(none["reason"], "not_visible", "{none}");
    stage.end().await;
}

#[tokio::test]
async fn pages_that_listen_swallow_hand_on_or_draw_anew_are_followed_and_told() {
    let stage = ActionStage::open("keys.html").await;
    let code = json!({"target": "#codes input", "text": "123"});
    assert_eq!(stage.fails("type", code).await["reason"], "ambiguous_target");
    let first = json!({"target": "#codes input:first-child", "text": "123"});
    let codes = "[...document.querySelectorAll('#codes input')].map(({ value }) => value).join()";
    assert_eq!(stage.typed(first, codes).await, "1,2,3", "the focus is moved from key to key");
    let swallowed = stage.act("type", json!({"target": "#swallowing", "text": "gone"})).await;
    assert_eq!(swallowed["value"], "", "{swallowed}");
    let handed = stage.fails("type", json!({"target": "#handing", "text": "x"})).await;
    assert_eq!(handed["reason"], "not_editable", "{handed}");
    assert!(handed["error"].as_str().unwrap().contains("\"Other\""), "{handed}");
    let renewed = json!({"target": "label=Renewed", "text": "kept"});
    let value = "document.querySelector('#renewed input').value";
    assert_eq!(stage.typed(renewed, value).await, "kept", "in the field that has taken its place");

    // An autocomplete follows what is typed; its list is chosen from by keys.
    stage.act("type", json!({"target": "#search", "text": "Os"})).await;
    stage.until("document.querySelectorAll('#list [role=option]').length === 2").await;
    let chosen = stage.act("press_key", json!({"keys": ["ArrowDown", "ArrowDown", "Enter"]})).await;
    assert!(chosen["pressed_on"].as_str().unwrap().contains("Search"), "{chosen}");
    assert_eq!(stage.read("document.querySelector('#search').value").await, "Osaka");

    // Keys that the page keeps from all who listen after it, and one that it does not take.
    stage
        .read("addEventListener('keyup', (event) => event.stopImmediatePropagation(), true)")
        .await;
    let full = json!({"target": "#codes input:first-child", "key": "9"});
    assert_eq!(stage.act("press_key", full).await["value"], "1");
    let field = json!({"target": "#field", "text": "in"});
    assert_eq!(stage.typed(field, "document.querySelector('#field').value").await, "in");
    stage.end().await;
}

#[tokio::test]
async fn keys_do_not_come_to_a_frame_of_a_site_that_is_closed_to_agents() {
    let stage = ActionStage::open(&format!("leading_away.html?{OTHER_SITE}")).await;
    let rule = json!({"action": "site_rules", "pattern": OTHER_SITE});
    stage.client().call("configure", rule).await;
    let led = stage.fails("type", json!({"target": "#trap", "text": "secret"})).await;
    assert_eq!(led["reason"], "not_editable", "{led}");
    for (action, params) in [("type", json!({"text": "x"})), ("press_key", json!({"key": "x"}))] {
        let denied = stage.fails(action, params).await;
        assert_eq!(denied["reason"], "blocked_by_policy", "{denied}");
    }
    let on = json!({"target": "#late", "keys": ["a", "Tab", "b", "c"]});
    let denied = stage.answer("press_key", on).await;
    stage.read("document.activeElement.blur()").await;
    assert_eq!(denied["reason"], "blocked_by_policy", "{denied}");
    stage.end().await;
}

#[tokio::test]
async fn a_right_to_left_page_takes_its_own_script_and_emoji() {
    let stage = ActionStage::open("rtl_field.html").await;
    let name = json!({"target": "label=שם", "text": "דנה 👩‍💻"});
    assert_eq!(stage.typed(name, "document.querySelector('#name').value").await, "דנה 👩‍💻");
    let about = json!({"target": "#about", "text": " עולם 🌍"});
    let text = "document.querySelector('#about').textContent";
    assert_eq!(stage.typed(about, text).await, "שלום עולם 🌍");
    let slowly = json!({"target": "#name", "text": "אב👍🏽", "clear": true, "slowly": true});
    assert_eq!(stage.typed(slowly, "document.querySelector('#name').value").await, "אב👍🏽");
    stage.end().await;
}

#[tokio::test]
async fn a_text_that_is_cancelled_is_typed_no_further() {
    let stage = ActionStage::open("keys.html").await;
    let long = json!({
        "action": "type", "tab_id": stage.tab, "target": "#field", "text": "x".repeat(500), "slowly": true,
        "timeout_ms": 30_000
    });
    let typing = stage.client().submit(long).await;
    soon("it types", until(async || stage.pages().hits("/begun") > 0)).await;
    stage.client().cancel(&typing).await;
    let ended = stage.client().outcome(&typing).await;
    let length = "document.querySelector('#field').value.length";
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let at_once = stage.read(length).await;
    let later = stage
        .read(&format!("await new Promise((done) => setTimeout(done, 200)); return {length}"))
        .await;
    assert_eq!(at_once, later, "nothing comes after the cancel");
    assert!(at_once.as_u64().unwrap() < 500, "{at_once}");
    stage.end().await;
}
