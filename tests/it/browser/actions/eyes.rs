//! Reading pages: snapshots, texts, elements by description.

use serde_json::json;

use super::ActionStage;

#[tokio::test]
async fn a_page_is_opened_in_the_background_and_read_by_script() {
    let stage = ActionStage::open("plain.html").await;
    assert_eq!(stage.read("document.title + document.visibilityState").await, "Plain Pagehidden");
    stage.read("setTimeout(() => { document.title = 'Later' }, 50)").await;
    stage.until("document.title === 'Later'").await;
    let info = stage.act("page_info", json!({})).await;
    assert_eq!(info["url"], stage.url("plain.html"));
    stage.end().await;
}
