//! Pages that want to fool the scripts which act where a frame of another extension keeps the debugger out.

use serde_json::json;
use testkit::RowReport;

use crate::browser::actions::scripted::Beside;

#[tokio::test]
async fn row_45_a_page_cannot_fool_the_scripts_that_act_without_the_debugger() {
    let mut row = RowReport::new(45);
    let mut page = Beside::switched_off("vault_fields.html?hostile-src").await;
    // It redefines what scripts are made with, and imitates ours.
    page.act("click", json!({"target": "css=#go"})).await;
    page.act("type", json!({"target": "css=#name", "text": "ann"})).await;
    page.act("fill_form", json!({"fields": [{"target": "css=#day", "value": "2026-11-24"}, {"target": "css=#stay", "value": true}]})).await;
    let log = page.log().await;
    row.tried("redefined functions", log == json!(["go scripted"]), &log);
    let value = page.value("css=#name").await;
    row.tried("a redefined value", value == "ann", &value);
    let told = page.front_picture().await;
    let seen = page.hand.read("[innerWidth, innerHeight]").await;
    row.tried("a false size", json!([told["width"], told["height"]]) == seen, &told);
    let lied = page.hand.read("lied").await;
    row.tried("functions of the page that were called", lied == 0, &lied);

    // It covers or disables what is clicked once the pointer comes, and steals the focus.
    for (action, target, reason, words) in [
        ("click", "css=#shy", "disabled", "Shy"),
        ("type", "css=#thief", "foreign_extension_frame", "has moved the focus"),
        ("click", "css=#picky-button", "foreign_extension_frame", "nothing that was looked at"),
        // It does something at the press, and has the button come back: that is not pressed again.
        ("click", "css=#order", "disabled", "Order"),
        ("click", "css=#sly", "covered", "Sly"),
    ] {
        let mut params = json!({"target": target, "timeout_ms": 3_000});
        if action == "type" {
            params["text"] = "word".into();
        }
        let failed = page.fails(action, params, reason, words).await;
        let log = page.log().await;
        let is_order = target == "css=#order";
        let expected = if is_order { json!(["ordered"]) } else { json!([]) };
        let is_told = !is_order || failed["may_have_run"] == true;
        row.tried(target, log == expected && is_told, &log);
    }
    let value = page.value("css=#name").await;
    row.tried("text for another field", value == "ann", &value);
    row.report();
    page.end().await;
}
