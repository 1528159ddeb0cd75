//! Pictures of pages and of elements, with marks, and pages on paper.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::ActionStage;

/// Takes a picture; what is told of it, and its bytes.
async fn picture(stage: &ActionStage, params: Value) -> (Value, Vec<u8>) {
    let result = stage.raw("screenshot", params, false).await;
    assert_eq!(result["isError"], false, "{result}");
    let bytes = STANDARD.decode(result["content"][1]["data"].as_str().unwrap()).unwrap();
    keep(&bytes);
    (testkit::body(&result)["result"].clone(), bytes)
}

/// Keeps a picture for a person to look at, if a folder for that is named.
fn keep(bytes: &[u8]) {
    let Some(folder) = std::env::var_os("TABWIRE_TEST_PICTURES") else { return };
    let n = std::fs::read_dir(&folder).unwrap().count();
    let ending = if bytes.starts_with(b"RIFF") { "webp" } else { "png" };
    std::fs::write(std::path::Path::new(&folder).join(format!("{n}.{ending}")), bytes).unwrap();
}

#[tokio::test]
async fn a_picture_is_of_the_view_of_an_element_or_of_the_page_in_each_format() {
    let stage = ActionStage::open("pictures.html").await;
    for (format, begin) in
        [("png", b"\x89PNG".as_slice()), ("jpeg", b"\xff\xd8\xff"), ("webp", b"RIFF")]
    {
        let (told, bytes) = picture(&stage, json!({"format": format})).await;
        assert!(bytes.starts_with(begin), "{format}");
        assert_eq!(told["mime_type"], format!("image/{format}"));
        assert!(told["width"].as_u64().unwrap() >= 900, "{told}");
    }
    // An element that is scrolled to, and one that is larger than the view.
    let (told, _) = picture(&stage, json!({"target": "#below"})).await;
    assert_eq!((&told["width"], &told["height"]), (&json!(120), &json!(40)), "{told}");
    // One that a scrolling box cuts off, within the view of the page.
    stage.read("scrollTo(0, 0)").await;
    picture(&stage, json!({"target": "#clipped"})).await;
    assert_ne!(stage.read("document.querySelector('#box').scrollTop").await, 0);
    let (told, _) = picture(&stage, json!({"target": "#long", "max_side": 500})).await;
    assert_eq!(told["height"], 500, "{told}");
    let (told, _) = picture(&stage, json!({"full_page": true, "max_side": 8_192})).await;
    assert!(told["height"].as_u64().unwrap() > 2_000, "{told}");
    let (told, _) = picture(&stage, json!({"max_side": 300, "format": "webp"})).await;
    assert_eq!(told["width"], 300, "{told}");

    let missing =
        stage.fails("screenshot", json!({"target": "text=Nowhere", "timeout_ms": 700})).await;
    assert_eq!(missing["reason"], "target_not_found", "{missing}");
    let both = stage.fails("screenshot", json!({"target": "#below", "full_page": true})).await;
    assert_eq!(both["reason"], "invalid_params", "{both}");
    stage.end().await;
}

#[tokio::test]
async fn marks_on_a_picture_are_the_refs_of_the_elements_that_a_person_sees_and_acts_on() {
    let stage = ActionStage::open("frames.html").await;
    let (told, bytes) = picture(&stage, json!({"marks": true})).await;
    let marks = told["marks"].as_str().unwrap();
    for name in ["Inside near", "Inside far", "Open button", "Closed button"] {
        let line = marks.lines().find(|line| line.ends_with(&format!("button \"{name}\"")));
        let line = line.unwrap_or_else(|| panic!("{name}: {marks}"));
        let text = stage.act("get_text", json!({"target": line.split(' ').next()})).await;
        assert_eq!(text, name);
    }
    let (_, plain) = picture(&stage, json!({})).await;
    assert_ne!(bytes, plain, "the marks are drawn");
    assert_eq!(stage.read("document.querySelectorAll('canvas').length").await, 0);

    stage.go("pictures.html").await;
    let (told, _) = picture(&stage, json!({"marks": true, "format": "webp"})).await;
    assert_eq!(told["mime_type"], "image/webp");
    let marks = told["marks"].as_str().unwrap();
    assert!(marks.contains("\"In view\""), "{marks}");
    assert!(!marks.contains("\"Covered\"") && !marks.contains("\"Below\""), "{marks}");
    let (told, _) = picture(&stage, json!({"marks": true, "full_page": true})).await;
    assert!(told["marks"].as_str().unwrap().contains("\"Below\""), "{told}");
    stage.end().await;
}

#[tokio::test]
async fn a_page_is_printed_to_a_file_or_told_in_parts() {
    let stage = ActionStage::open("shop.html").await;
    let printed = stage.act("pdf", json!({"path": "shop.pdf", "landscape": true})).await;
    assert_eq!(printed["data"], "(in the file)");
    let bytes = std::fs::read(printed["path"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"%PDF-"));

    let part = stage.answer("pdf", json!({"scale": 0.5})).await;
    assert_eq!(part["status"], "complete", "{part}");
    let total = part["total_bytes"].as_u64().unwrap();
    assert!(total > 10_000 && part["next_offset"].is_u64(), "{part}");
    assert!(part["result"]["data"].as_str().unwrap().starts_with("JVBERi0"), "{part}");

    let wrong = stage.fails("pdf", json!({"page_ranges": "7-9"})).await;
    assert_eq!(wrong["reason"], "invalid_params", "{wrong}");
    let ending = stage.fails("pdf", json!({"path": "shop.png"})).await;
    assert!(ending["message"].as_str().unwrap().contains(".pdf"), "{ending}");
    stage.end().await;
}
