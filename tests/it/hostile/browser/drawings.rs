//! Between a person who draws for an agent and the agent: the page that they draw on, and the agent
//! itself.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::browser::draw::Stage;
use testkit::{RowReport, soon, until};

/// How long the browser may take to show a drawing again on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// What the person writes.
const WORDS: &str = "words of my own";

/// What the page has seen, heard and read of a person's drawing since it was last asked.
async fn spied(stage: &mut Stage) -> Value {
    stage.hand.turn_to_page();
    stage.hand.read("spy").await
}

/// Looks through what the page knows.
fn judge(row: &mut RowReport, when: &str, spy: &Value) {
    row.tried(&format!("{when}: an element of ours"), spy["nodes"] == json!([]), &spy["nodes"]);
    row.tried(&format!("{when}: a shadow root"), spy["roots"] == 0, &spy["roots"]);
    row.tried(&format!("{when}: a person's input"), spy["heard"] == json!([]), &spy["heard"]);
    let read = spy["read"].as_array().unwrap();
    let has_words = |text: &&Value| {
        let text = text.as_str().unwrap();
        text.contains(WORDS) || text == "true"
    };
    let words = read.iter().find(has_words);
    row.tried(&format!("{when}: {} looks at the words", read.len()), words.is_none(), json!(words));
}

/// Draws, and writes a note, as a person does.
async fn draw(stage: &mut Stage) {
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    stage.hand.press("4", 1).await;
    stage.hand.drag(&[(40, 40)]).await;
    stage.hand.type_text(WORDS).await;
    stage.hand.press("Enter", 1).await;
}

/// Whether it is what the person has drawn, no more and no less.
fn is_the_persons(drawing: &Value) -> bool {
    let marks = drawing["annotations"].as_array().unwrap();
    let boxed = json!({"x": 100, "y": 100, "width": 200, "height": 100});
    marks.len() == 2
        && marks[0]["kind"] == "rectangle"
        && marks[0]["box"] == boxed
        && marks[1]["text"] == WORDS
        && drawing["cancelled"].is_null()
}

#[tokio::test]
async fn row_23_a_page_has_no_part_in_what_a_person_draws_on_its_picture() {
    let mut stage = Stage::set("/drawn").await;
    let mut row = RowReport::new(23);
    // At it before the picture is taken, while the person draws, and while it is sent.
    stage.hand.read("isAtIt = true").await;
    stage.open("ann_hostile").await;
    draw(&mut stage).await;
    let spy = spied(&mut stage).await;
    let tried = spy["tried"].as_object().unwrap();
    assert!(tried.len() > 25, "all of them were tried: {tried:?}");
    judge(&mut row, "while it is drawn", &spy);
    row.tried("a drawing that nobody sent", stage.drawings().is_empty(), json!(stage.drawings()));

    // By mouse: what lies where the person sees Send is Send.
    stage.hand.turn_to_drawing().await;
    stage.hand.click("#send").await;
    let drawing = stage.drawing(1).await;
    for (name, came) in tried {
        row.tried(&format!("{name}, which {came}"), is_the_persons(&drawing), &drawing);
    }
    let url = stage.pages.url("/drawn");
    let of = (&drawing["page_url"], &drawing["page_title"]);
    // Its address and title are its own to change, up to the moment of the picture.
    row.tried("another page's name", of.0.as_str().unwrap().starts_with(&url), of.0);
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    judge(&mut row, "after it was sent", &spied(&mut stage).await);
    row.report();
    stage.end().await;
}

#[tokio::test]
async fn row_23_what_a_person_cancels_no_page_sends_and_a_page_that_writes_itself_anew_neither() {
    let mut stage = Stage::set("/drawn").await;
    let mut row = RowReport::new(23);
    stage.hand.read("isAtIt = true").await;
    stage.open("ann_cancelled").await;
    draw(&mut stage).await;
    stage.hand.press("Escape", 1).await;
    let told = stage.drawing(1).await;
    row.tried("what was cancelled", told["cancelled"] == "user", &told);
    row.tried("its words", !told.to_string().contains("words"), &told);
    stage.acknowledge(&told);
    stage.is_closed().await;

    stage.hand.read("isAtIt = false").await;
    stage.open("ann_written").await;
    draw(&mut stage).await;
    stage.hand.turn_to_page();
    let write = "document.open(); document.write('<h1>Another Page</h1>'); document.close(); 1";
    stage.hand.read(write).await;
    stage.hand.turn_to_drawing().await;
    stage.hand.press("Enter", 1).await;
    let drawing = stage.drawing(2).await;
    row.tried("a page that writes itself anew", is_the_persons(&drawing), &drawing);
    row.tried("a second drawing", stage.drawings().len() == 2, json!(stage.drawings()));
    row.report();
    stage.end().await;
}

#[tokio::test]
async fn row_23_neither_a_page_nor_an_agent_gets_to_the_tab_that_a_person_draws_in() {
    let mut stage = Stage::set("/drawn").await;
    let mut row = RowReport::new(23);
    stage.open("ann_reached").await;
    draw(&mut stage).await;
    let tab = stage.hand.read("chrome.tabs.getCurrent().then(({id}) => id)").await;
    let drawn = stage.hand.read("new URL(location.href).searchParams.get('tab')").await;
    stage.hand.turn_to_page();
    let reached = stage.hand.read(&format!("reach({drawn})")).await;
    for name in ["fetch", "script", "module"] {
        row.tried(name, reached[name] == "refused", &reached[name]);
    }
    let pages = stage.hand.drawing_pages().await;
    row.tried(
        "a frame, an image, a window and messages",
        pages == 1,
        format!("{pages}: {reached}"),
    );

    for action in [
        json!({"action": "execute_js", "script": "document.querySelector('#send').click()"}),
        json!({"action": "screenshot"}),
        json!({"action": "navigate", "url": "about:blank"}),
        json!({"action": "refresh"}),
        json!({"action": "tab_activate"}),
        json!({"action": "tab_close"}),
    ] {
        let mut asked = action.clone();
        asked["tab_id"] = tab.clone();
        asked["wait_ms"] = 20_000.into();
        let answer = stage.client.call_raw("interact", asked).await;
        let why = &answer["structuredContent"]["error"];
        row.tried(&format!("an agent: {action}"), why == "tab_gone", &answer);
    }
    let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
    row.tried("the list of tabs", !tabs.to_string().contains("chrome-extension:"), &tabs);

    row.tried("a drawing that nobody sent", stage.drawings().is_empty(), json!(stage.drawings()));
    stage.hand.turn_to_drawing().await;
    stage.hand.press("Enter", 1).await;
    let drawing = stage.drawing(1).await;
    row.tried("other words or marks", is_the_persons(&drawing), &drawing);
    row.report();
    stage.end().await;
}

#[tokio::test]
async fn row_23_a_tab_that_a_page_opens_does_not_take_the_keyboard_from_a_person_who_draws() {
    let mut stage = Stage::set("/drawn").await;
    let mut row = RowReport::new(23);
    stage.open("ann_opens").await;
    for opening in ["window.open('about:blank')", "window.open('/second', 'second')"] {
        stage.hand.turn_to_page();
        let pages = stage.hand.pages().await;
        // As for some seconds after each click in it.
        let opened = stage.hand.read_clicked(&format!("{opening} !== null")).await;
        assert_eq!(opened, true, "{opening}");
        soon("the tab", until(async || stage.hand.pages().await != pages)).await;
        stage.hand.turn_to_drawing().await;
        let is_seen = "document.visibilityState === 'visible'";
        let back = until(async || stage.hand.read(is_seen).await == true);
        row.tried(opening, timeout(SOON, back).await.is_ok(), "the drawing stays behind it");
    }
    row.report();
    stage.end().await;
}
