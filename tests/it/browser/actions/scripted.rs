//! Acts by scripts, where a frame of another extension keeps the debugger out of a tab and is not set
//! aside: the person has that switched off, types there, or the frame comes back each time.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{BrowserUser, TestPages, soon};
use tokio::time::timeout;

use super::super::popup::popup;
use super::{ActionStage, Stage, folder};

/// A page of which another extension has a frame, with the person of the browser, who has turned to
/// that page without showing it.
pub(crate) struct Beside {
    pub(super) stage: ActionStage,
    pub(crate) hand: BrowserUser,
}

impl Beside {
    pub(crate) async fn open(page: &str) -> Self {
        let vault = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vault");
        let pages = TestPages::with_folders(&[&folder()]).await;
        let stage = Stage::beside_with_user(pages, &vault).await;
        let hand = BrowserUser::reach(&stage.profile()).await;
        let mut beside = Self { stage: ActionStage { stage, tab: Value::Null }, hand };
        beside.turn_to(page).await;
        beside
    }

    /// The same where the person wants no frames set aside.
    pub(crate) async fn switched_off(page: &str) -> Self {
        let mut beside = Self::open(page).await;
        // The popup has its switch once a frame was set aside.
        beside.stage.read("1").await;
        beside.hand.open_beside(&popup()).await;
        beside.hand.becomes("document.querySelector('#foreign').hidden", false).await;
        // The popup is drawn anew now and then, and a click may come in between.
        let off = "(() => { const box = document.querySelector('#foreign-on'); if (box.checked) box.click() })()";
        // By then the frame is there again.
        let mut told = Value::Null;
        let is_off = async {
            loop {
                beside.hand.read(off).await;
                told = beside.stage.answer("execute_js", json!({"script": "1"})).await;
                if told["error"].as_str().is_some_and(|error| error.contains("switched off")) {
                    return;
                }
                // Frames come back where no command follows at once.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        if timeout(Duration::from_secs(20), is_off).await.is_err() {
            panic!("no refusal, but {told}");
        }
        beside.hand.turn_to(&beside.stage.url(page)).await;
        beside
    }

    pub(super) async fn turn_to(&mut self, page: &str) {
        self.stage.turn_to(page).await;
        self.is_here().await;
        self.hand.turn_to(&self.stage.url(page)).await;
    }

    /// Waits until the frame of the other extension is there.
    async fn is_here(&self) {
        let came = async {
            while self.stage.act("get_text", json!({"target": "css=#here"})).await == "here 0" {}
        };
        soon("the frame of the other extension", came).await;
    }

    /// Does something that must succeed by script.
    pub(crate) async fn act(&self, action: &str, params: Value) -> Value {
        let told = self.stage.act(action, params.clone()).await;
        assert_eq!(told["input"], "scripted", "{action} {params}: {told}");
        let why = told["input_why"].as_str().unwrap_or_default();
        assert!(why.contains("the extension "), "{action} {params}: {told}");
        told
    }

    /// Does something that must fail for this reason, with these words.
    pub(crate) async fn fails(
        &self,
        action: &str,
        params: Value,
        reason: &str,
        words: &str,
    ) -> Value {
        let failed = self.stage.fails(action, params.clone()).await;
        assert_eq!(failed["reason"], reason, "{action} {params}: {failed}");
        let error = failed["error"].as_str().unwrap_or_default();
        assert!(error.contains(words), "{action} {params}: {failed}");
        failed
    }

    pub(crate) async fn value(&self, target: &str) -> Value {
        self.stage.act("get_value", json!({"target": target})).await["value"].clone()
    }

    /// What the page has noted since it was last asked.
    pub(crate) async fn log(&mut self) -> Value {
        self.hand.read("log.splice(0)").await
    }

    pub(crate) async fn end(self) {
        self.stage.end().await;
    }
}

#[tokio::test]
async fn where_the_person_wants_no_frame_set_aside_acts_are_done_by_scripts_and_say_so() {
    let mut page = Beside::switched_off("vault_fields.html?src").await;
    let clicked = page.act("click", json!({"target": "css=#go"})).await;
    assert!(clicked["input_why"].as_str().unwrap().contains("switched off"), "{clicked}");
    page.act("click", json!({"target": "role=button[name=\"Deep\"]"})).await;
    page.act("click", json!({"target": "role=button[name=\"In\"]"})).await;
    assert_eq!(page.log().await, json!(["go scripted", "deep", "in"]));

    let typed = page.act("type", json!({"target": "label=Name", "text": "ann"})).await;
    assert_eq!(typed["value"], Value::Null, "{typed}");
    page.act("type", json!({"target": "label=Name", "text": "bob", "slowly": true})).await;
    assert_eq!(page.value("label=Name").await, "annbob");
    page.act("type", json!({"target": "label=Name", "text": "eve", "clear": true})).await;
    assert_eq!(page.value("label=Name").await, "eve");
    page.act("type", json!({"target": "css=#editor", "text": "new", "clear": true})).await;
    assert_eq!(page.hand.read("document.querySelector('#editor').innerText").await, "new");
    page.act("type", json!({"target": "label=Inner", "text": "within"})).await;
    assert_eq!(page.value("label=Inner").await, "within");

    page.act("check", json!({"target": "css=#stay"})).await;
    assert_eq!(page.hand.read("element('stay').checked").await, true);
    page.act("uncheck", json!({"target": "css=#stay"})).await;
    assert_eq!(page.hand.read("element('stay').checked").await, false);
    page.act("select_option", json!({"target": "label=Size", "values": ["large"]})).await;

    let fields = json!([
        {"target": "label=Name", "value": "Ann"}, {"target": "css=#pass", "value": "s3cret-word"},
        {"target": "label=Note", "value": "one\ntwo"}, {"target": "label=Day", "value": "2026-11-24"},
        {"target": "label=Size", "value": "small"}, {"target": "css=#stay", "value": true},
        {"target": "css=#post", "value": true},
    ]);
    let filled = page.act("fill_form", json!({"fields": fields, "submit": true})).await;
    assert_eq!([&filled["filled"], &filled["differing"]], [&json!(7), &Value::Null], "{filled}");
    assert!(!filled.to_string().contains("s3cret"), "{filled}");
    let values = "[...element('form').elements].filter(({id}) => id).slice(0, 7).map((one) => one.type === 'checkbox' || one.type === 'radio' ? one.checked : one.value)";
    let values = page.hand.read(values).await;
    assert_eq!(
        values,
        json!(["Ann", "s3cret-word", "one\ntwo", "2026-11-24", "small", true, true])
    );
    assert_eq!(page.log().await, json!(["sent"]));
    page.act("type", json!({"target": "label=Name", "text": "!", "submit": true})).await;
    assert_eq!(page.log().await, json!(["sent"]));

    page.act("scroll", json!({"direction": "down"})).await;
    assert_ne!(page.hand.read("scrollY").await, 0);
    let found = page.act("scroll", json!({"until_text": "far away", "direction": "down"})).await;
    assert!(found["found"].as_str().unwrap().contains("far away"), "{found}");
    page.stage.act("wait_for", json!({"text": "far away"})).await;

    let opened = page.act("click", json!({"target": "css=#new"})).await;
    assert!(opened["new_tab"].is_number(), "{opened}");
    let elsewhere = page.act("click", json!({"target": "css=#link"})).await;
    assert!(elsewhere["navigated"].as_str().unwrap().ends_with("?there"), "{elsewhere}");
    page.end().await;
}

#[tokio::test]
async fn an_act_by_script_that_is_refused_or_without_effect_is_told_as_such() {
    let mut page = Beside::switched_off("vault_fields.html?src").await;
    let foreign = "foreign_extension_frame";
    // As the debugger's way refuses them.
    page.fails("click", json!({"target": "css=#under", "timeout_ms": 2_000}), "covered", "Under")
        .await;
    page.fails(
        "type",
        json!({"target": "css=#off", "text": "x", "timeout_ms": 2_000}),
        "disabled",
        "Off",
    )
    .await;
    page.fails("type", json!({"target": "css=#fixed", "text": "x"}), "not_editable", "read-only")
        .await;
    page.fails("click", json!({"target": "css=#size"}), "wrong_kind", "list").await;
    // What only the debugger does has not begun.
    for (action, params) in [
        ("click", json!({"target": "css=#file"})),
        ("click", json!({"target": "css=#go", "hold_ms": 50})),
        ("hover", json!({"target": "css=#go"})),
        ("press_key", json!({"key": "Enter"})),
        ("execute_js", json!({"script": "1"})),
        ("type", json!({"target": "css=#editor", "text": "x", "submit": true})),
    ] {
        let failed = page.fails(action, params, foreign, "switched off").await;
        assert_eq!(failed["may_have_run"], false, "{failed}");
        assert!(failed["error"].as_str().unwrap().contains("the extension "), "{failed}");
    }
    assert_eq!(page.log().await, json!([]));
    assert_eq!(page.hand.read("element('editor').innerText").await, "old");

    // What the page refuses since no person has done it is not told as done.
    let button = page
        .fails(
            "click",
            json!({"target": "css=#picky-button"}),
            foreign,
            "nothing that was looked at",
        )
        .await;
    assert_ne!(button["may_have_run"], false, "{button}");
    page.fails("check", json!({"target": "css=#picky-box"}), "not_editable", "still clear").await;
    let field = page
        .fails("type", json!({"target": "css=#picky", "text": "x"}), foreign, "has not become")
        .await;
    assert_ne!(field["may_have_run"], false, "{field}");
    page.fails("type", json!({"target": "css=#choosy", "text": "x"}), foreign, "has not become")
        .await;
    let fields =
        json!([{"target": "css=#name", "value": "a"}, {"target": "css=#picky", "value": "b"}]);
    page.fails("fill_form", json!({"fields": fields}), foreign, "field 2 of 2").await;
    // The chooser of files, which only the debugger keeps from the person.
    page.act("click", json!({"target": "css=#chooser"})).await;
    assert_eq!(page.log().await, json!(["asked for a file"]));
    let alarm = json!({"target": "css=#alarm", "timeout_ms": 2_000});
    let alarm = page.stage.answer("click", alarm).await;
    assert_eq!([&alarm["status"], &alarm["may_have_run"]], [&json!("timeout"), &json!(true)]);
    assert!(alarm["error"].as_str().unwrap().contains("shows a dialog"), "{alarm}");
    page.end().await;
}

#[tokio::test]
async fn a_frame_that_no_setting_aside_helps_against_leaves_acts_to_scripts_from_their_beginning() {
    for way in ["stubborn", "always"] {
        let mut page = Beside::open(&format!("vault_fields.html?{way}")).await;
        let mut told = Value::Null;
        for _ in 0..60 {
            let answer = page.stage.answer("click", json!({"target": "css=#go"})).await;
            let clicks = page.log().await.as_array().unwrap().len();
            if answer["status"] == "complete" {
                assert_eq!(clicks, 1, "{answer}");
                told = answer["result"]["value"].clone();
            } else {
                // One that was cut off is not repeated, and says so.
                assert_eq!(answer["reason"], "foreign_extension_frame", "{answer}");
                assert!(clicks <= 1, "{answer}");
            }
            if told["input"] == "scripted" {
                break;
            }
        }
        assert!(
            told["input_why"].as_str().unwrap().contains("comes back each time"),
            "{way}: {told}"
        );
        page.act("type", json!({"target": "label=Name", "text": "ann"})).await;
        assert_eq!(page.value("label=Name").await, "ann", "{way}");
        page.end().await;
    }
}

#[tokio::test]
async fn while_the_person_types_nothing_is_set_aside_and_scripts_leave_the_focus_to_them() {
    let mut page = Beside::open("vault_fields.html?src").await;
    page.hand.show().await;
    page.hand.click("#name").await;
    page.hand.type_text("per").await;
    let foreign = "foreign_extension_frame";
    let failed =
        page.fails("execute_js", json!({"script": "1"}), foreign, "using the keyboard").await;
    assert_eq!(failed["may_have_run"], false, "{failed}");
    page.hand.type_text("s").await;
    let typed = page.act("type", json!({"target": "css=#note", "text": "by an agent"})).await;
    assert!(typed["input_why"].as_str().unwrap().contains("using the keyboard"), "{typed}");
    assert_eq!(page.value("css=#note").await, "by an agent");
    page.hand.type_text("o").await;
    page.act("click", json!({"target": "css=#go"})).await;
    page.hand.type_text("n").await;
    page.act("fill_form", json!({"fields": [{"target": "css=#day", "value": "2026-11-24"}, {"target": "css=#size", "value": "large"}]})).await;
    page.hand.type_text("!").await;
    page.fails("type", json!({"target": "css=#name", "text": "x"}), foreign, "the person is in it")
        .await;
    page.fails(
        "type",
        json!({"target": "css=#editor", "text": "x"}),
        foreign,
        "the focus, which the person has",
    )
    .await;
    assert_eq!(
        page.hand.read("[document.activeElement.id, element('name').value]").await,
        json!(["name", "person!"])
    );
    assert_eq!(
        page.hand.read("[element('day').value, element('size').value]").await,
        json!(["2026-11-24", "large"])
    );
    assert_eq!(page.log().await, json!(["go scripted"]));
    page.end().await;
}
