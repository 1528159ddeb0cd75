//! What is read and pictured where a frame of another extension keeps the debugger out of a tab and
//! is not set aside.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::Stopwatch;

use super::super::popup::popup;
use super::scripted::Beside;

const PAGE: &str = "vault_fields.html?src";
const FOREIGN: &str = "foreign_extension_frame";
/// A point of the grey box of the page, in CSS px.
const GREY: (i32, i32) = (590, 50);

/// The picture that an answer brings, as an address, and what is told of it.
fn shown(answer: &Value) -> (String, Value) {
    assert_eq!(answer["isError"], false, "{answer}");
    let picture = &answer["content"][1];
    let bytes = picture["data"].as_str().unwrap();
    assert!(STANDARD.decode(bytes).is_ok());
    let address = format!("data:{};base64,{bytes}", picture["mimeType"].as_str().unwrap());
    (address, testkit::body(answer)["result"].clone())
}

impl Beside {
    async fn picture(&self, params: Value) -> (String, Value) {
        let (picture, told) = shown(&self.stage.raw("screenshot", params, false).await);
        assert_eq!(told["input"], "scripted", "{told}");
        let why = told["input_why"].as_str().unwrap();
        assert!(why.contains("the extension ") && why.contains("switched off"), "{told}");
        (picture, told)
    }

    /// What is told of a picture of the page, which comes to the front for it.
    pub(crate) async fn front_picture(&mut self) -> Value {
        self.in_front().await;
        self.picture(json!({})).await.1
    }

    async fn in_front(&mut self) {
        self.stage.act("tab_activate", json!({})).await;
    }
}

#[tokio::test]
async fn reading_where_only_scripts_work_says_so_and_why_and_elsewhere_says_nothing() {
    let page = Beside::switched_off(PAGE).await;
    let reads = [
        ("snapshot", json!({})),
        ("find", json!({"text": "Go"})),
        ("get_text", json!({})),
        ("get_markdown", json!({})),
        ("get_html", json!({"target": "css=#go"})),
        ("get_value", json!({"target": "label=Fixed"})),
        ("get_attributes", json!({"target": "css=#go"})),
        ("forms", json!({})),
        ("wait_for", json!({"text": "Go"})),
    ];
    for (action, params) in &reads {
        let told = page.stage.answer(action, params.clone()).await;
        assert_eq!(told["status"], "complete", "{action}: {told}");
        assert_eq!(told["result"]["input"], "scripted", "{action}: {told}");
        let why = told["result"]["input_why"].as_str().unwrap();
        assert!(why.contains("the extension ") && why.contains("switched off"), "{action}: {why}");
        // As a model sees it.
        let brief = testkit::body(&page.stage.raw(action, params.clone(), false).await);
        assert!(brief.to_string().contains("scripted"), "{action}: {brief}");
    }
    // What only the debugger tells.
    for wait in [json!({"state": "networkidle"}), json!({"function": "true"})] {
        let failed = page.fails("wait_for", wait, FOREIGN, "switched off").await;
        assert_eq!(failed["may_have_run"], false, "{failed}");
        assert!(failed["error"].as_str().unwrap().contains("the extension "), "{failed}");
    }
    let batch = json!({"steps": [{"action": "get_text", "target": "css=#go"}, {"action": "find", "text": "Go"}]});
    let told = page.stage.answer("batch", batch).await;
    assert_eq!(told["result"]["input"], "scripted", "{told}");

    page.stage.go("vault_fields.html").await;
    for (action, params) in reads {
        let told = page.stage.answer(action, params).await;
        assert_eq!(told["result"]["input"], Value::Null, "{action}: {told}");
    }
    page.end().await;
}

#[tokio::test]
async fn reading_says_nothing_more_once_the_frame_of_the_other_extension_is_gone() {
    let mut page = Beside::switched_off(PAGE).await;
    for way in ["src", "blank", "closed"] {
        if way != "src" {
            page.turn_to(&format!("vault_fields.html?{way}")).await;
        }
        let input = async |page: &Beside| {
            let told = page.stage.answer("get_text", json!({"target": "css=#go"})).await;
            told["result"]["input"].clone()
        };
        assert_eq!(input(&page).await, "scripted", "{way}");
        // It may be in a closed tree: all that came after the page's own goes.
        let gone = "while (element('far').nextElementSibling?.nextElementSibling?.nextElementSibling) document.body.lastElementChild.remove(); 1";
        page.hand.read(gone).await;
        assert_eq!(input(&page).await, Value::Null, "{way}");
    }
    page.end().await;
}

#[tokio::test]
async fn a_picture_without_the_debugger_is_of_the_tab_in_front_and_of_no_other() {
    let mut page = Beside::switched_off(PAGE).await;
    let behind = page.fails("screenshot", json!({}), FOREIGN, "only while a window shows").await;
    assert_eq!(behind["may_have_run"], false, "{behind}");

    page.in_front().await;
    let (picture, told) = page.picture(json!({})).await;
    assert_eq!(told["mime_type"], "image/png");
    let factor = told["click_factor"].as_f64().unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "a pixel of a screen")]
    let pixel = |css: i32| (f64::from(css) / factor).round() as i32;
    let seen = page.hand.look_at(&picture, &[(pixel(GREY.0), pixel(GREY.1))]).await;
    assert_eq!(seen.colours, [[221, 221, 221]], "{told}");
    assert_eq!(json!(seen.size), json!([told["width"], told["height"]]));

    // Smaller, of an element, with marks, in each format.
    let (picture, told) = page.picture(json!({"max_side": 300, "format": "jpeg"})).await;
    let seen = page.hand.look_at(&picture, &[]).await;
    assert_eq!((seen.size.iter().max(), &told["mime_type"]), (Some(&300), &json!("image/jpeg")));
    let (picture, told) = page.picture(json!({"target": "css=#over"})).await;
    let seen = page.hand.look_at(&picture, &[(190, 50)]).await;
    assert_eq!((seen.size, seen.colours), ([200, 60], vec![[221, 221, 221]]), "{told}");
    let (_, told) = page.picture(json!({"marks": true, "format": "webp"})).await;
    assert!(told["marks"].as_str().unwrap().contains("button \"Go\""), "{told}");
    // One that was scrolled to.
    let (_, told) = page.picture(json!({"target": "css=#far"})).await;
    assert!(told["height"].as_u64().unwrap() < 100, "{told}");

    page.fails("screenshot", json!({"full_page": true}), FOREIGN, "more than the view").await;
    page.fails("screenshot", json!({"target": "css=body:has(#far)"}), FOREIGN, "not all in view")
        .await;
    page.end().await;
}

#[tokio::test]
async fn pictures_without_the_debugger_wait_for_their_turn_and_end_once_another_tab_is_in_front() {
    let mut page = Beside::switched_off(PAGE).await;
    page.in_front().await;
    let began = Stopwatch::start();
    let answers = join_all((0..4).map(|_| page.stage.raw("screenshot", json!({}), false))).await;
    for answer in &answers {
        shown(answer);
    }
    assert!(began.millis() >= 1_500, "{} ms", began.millis());
    // The person goes elsewhere: the others are of no tab.
    let stage = &page.stage;
    let later = join_all((0..5).map(|_| stage.raw("screenshot", json!({}), false)));
    let elsewhere = popup();
    let away = page.hand.open_beside(&elsewhere);
    let (answers, ()) = tokio::join!(later, away);
    let pictures = answers.iter().filter(|answer| answer["isError"] == false);
    for answer in pictures {
        let (picture, _) = shown(answer);
        let seen = page.hand.look_at(&picture, &[GREY]).await;
        assert_eq!(seen.colours, [[221, 221, 221]], "a picture of another tab");
    }
    let last = testkit::body(answers.last().unwrap());
    assert_eq!(last["reason"], FOREIGN, "{last}");
    page.end().await;
}
