//! Drawings in the dashboard, in a real Chromium.

use serde_json::json;
use tabwire::protocol::{Drawing, DrawingId, ImageFormat, Owner, Screenshot, TabScope, Timestamp};

use super::dashboard::Viewing;

const PNG: &[u8] = include_bytes!("../../../docs/images/popup.png");

#[tokio::test]
async fn drawings_are_listed_with_their_state_and_each_shows_its_picture() {
    let mut viewing = Viewing::begin().await;
    viewing.becomes("document.querySelector('#drawings').hidden").await;
    // One that is asked for.
    let ask = json!({"what": "annotations", "wait": true, "tab_id": viewing.tab, "wait_ms": 0});
    let asked = viewing.agent.call("analyze", ask).await;
    viewing.shows("Asked for, not drawn yet").await;
    viewing.agent.cancel(asked["correlation_id"].as_str().unwrap()).await;
    viewing.becomes("document.querySelector('#drawings').hidden").await;
    // One that was made, also while nobody waits for it.
    let (drawings, owner) = (viewing.daemon.home().drawings(), Owner::from("user"));
    let page = "http://shop.example/<img id=owned src=x onerror='window.owned = 1'>?card=4111";
    let body = json!({
        "drawing_id": format!("{:032x}", 7), "annotations": [{"id": 1, "kind": "note"}], "page_url": page, "annot_session_name": "checkout",
    });
    let drawing = Drawing::parse(body.to_string().as_bytes()).unwrap();
    let screenshot = Screenshot { format: ImageFormat::Png, bytes: PNG.to_vec().into() };
    let drawing = Drawing { screenshot: Some(screenshot), ..drawing };
    let at = Timestamp::from_unix_micros(1_795_000_000_000_000);
    drawings.keep(&owner, &drawing, at, TabScope::All).unwrap();
    viewing.shows("shop.example").await;
    viewing.shows("1 annotation · not read yet").await;
    viewing.hand.click("#drawing-list button").await;
    viewing.becomes("(({complete, naturalWidth, alt}) => complete && naturalWidth > 100 && alt !== '')(document.querySelector('#detail .film img') ?? {})").await;
    viewing.shows("checkout").await;
    let is_text = "window.owned === undefined && !document.querySelector('#owned') && !document.body.innerText.includes('4111')";
    viewing.becomes(is_text).await;
    viewing.is_accessible().await;
    // Live: another program marks it as read, and deletes it. On a narrow screen the details are over the list.
    viewing.hand.press("Escape", 1).await;
    drawings.mark_read(&owner, &drawing.drawing_id).unwrap();
    viewing.shows("1 annotation · read by the agent").await;
    // Of one whose file is damaged the person hears, too.
    let damaged = Drawing {
        drawing_id: DrawingId::parse(&format!("{:032x}", 8)).unwrap(),
        ..drawing.clone()
    };
    drawings.keep(&owner, &damaged, at, TabScope::All).unwrap();
    viewing.becomes("document.querySelectorAll('#drawing-list button').length === 2").await;
    let name = format!("drawings/user/{}.json", damaged.drawing_id);
    let file = viewing.daemon.home().dir().join(name);
    assert!(file.exists());
    std::fs::write(file, "{").unwrap();
    drawings.delete(&owner, &drawing.drawing_id).unwrap();
    viewing.shows("1 damaged file: tabwire drawings").await;
    viewing.is_accessible().await;
    drawings.delete(&owner, &damaged.drawing_id).unwrap();
    viewing.becomes("document.querySelector('#drawings').hidden").await;
    viewing.end().await;
}
