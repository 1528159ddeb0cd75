//! Clicks, hovering, scrolling, dragging and drawing, as events that a page takes for a person's.

use serde_json::{Value, json};

use testkit::OTHER_SITE;

use super::ActionStage;
use super::eyes::ref_of;

/// The words that the page has noted since the last time.
async fn noticed(stage: &ActionStage) -> Vec<String> {
    let seen = stage.read("return window.seen()").await;
    seen.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn assert_says(answer: &Value, reason: &str, parts: &[&str]) {
    assert_eq!(answer["reason"], reason, "{answer}");
    let told = answer.to_string();
    for part in parts {
        assert!(told.contains(part), "`{part}` is missing: {answer}");
    }
}

#[tokio::test]
async fn a_strict_page_in_the_background_gets_the_clicks_of_a_person_and_says_their_consequences() {
    let stage = ActionStage::open("pointer.html").await;
    let page = stage.act("snapshot", json!({})).await;
    let ok = ref_of(&page, "button \"OK\"");
    let clicked = stage.act("click", json!({"target": ok})).await;
    assert_eq!(clicked, json!({"clicked": format!("button \"OK\" {ok}")}), "and nothing else");
    assert_eq!(noticed(&stage).await, ["mousedown ok", "mouseup ok", "click ok"]);
    let bytes = stage.bytes_of("click", json!({"target": ok})).await;
    assert!(bytes <= 80, "{bytes} bytes");
    noticed(&stage).await;

    let double = json!({"target": "#ok", "doubleClick": true, "modifiers": ["Shift"]});
    stage.act("click", double).await;
    assert!(noticed(&stage).await.contains(&"dblclick ok".to_owned()));
    stage.act("click", json!({"target": "text=OK", "button": "right"})).await;
    assert!(noticed(&stage).await.contains(&"contextmenu ok".to_owned()));
    stage.act("click", json!({"target": "role=button[name=OK]", "button": "middle"})).await;
    assert!(noticed(&stage).await.contains(&"auxclick ok".to_owned()));
    let point = stage.act("click", json!({"x": 15, "y": 10})).await;
    assert_eq!(point["clicked"], format!("button \"OK\" {ok}"));

    let gift = stage.act("click", json!({"target": "label=Gift"})).await;
    assert_eq!(gift["checked"], "true", "{gift}");
    let more = stage.act("click", json!({"target": "summary"})).await;
    assert_eq!(more["states"], "expanded", "{more}");
    let field = stage.act("click", json!({"target": "#to-field"})).await;
    assert!(field["focus"].as_str().unwrap().starts_with("textbox \"Field\""), "{field}");
    stage.act("click", json!({"target": "#enable"})).await;
    stage.act("click", json!({"target": "#wait"})).await;
    assert!(noticed(&stage).await.contains(&"click wait".to_owned()), "it was waited for");
    let changed = stage.act("click", json!({"target": "#ok", "snapshot": "diff"})).await;
    assert!(changed["snapshot"].is_string(), "{changed}");
    stage.end().await;
}

#[tokio::test]
async fn frames_and_shadow_trees_get_clicks_and_a_tab_in_front_as_well() {
    let stage = ActionStage::open("pointer.html").await;
    for mode in ["open", "closed"] {
        stage.act("click", json!({"target": format!("text=In {mode} shadow")})).await;
        assert_eq!(stage.read("document.title").await, format!("{mode} shadow clicked"));
    }
    for frame in ["#near", "#far"] {
        let clicked = stage.act("click", json!({"target": format!("{frame} #inside")})).await;
        assert!(clicked["landed_on"].is_null(), "{clicked}");
        let now = stage.act("get_text", json!({"target": format!("{frame} #inside")})).await;
        assert_eq!(now, "Done", "{frame}");
    }
    stage.act("tab_activate", json!({})).await;
    noticed(&stage).await;
    let clicked = stage.act("click", json!({"target": "#ok"})).await;
    assert!(clicked["input"].is_null(), "with the pointer: {clicked}");
    assert_eq!(noticed(&stage).await, ["mousedown ok", "mouseup ok", "click ok"]);
    stage.end().await;
}

#[tokio::test]
async fn an_answer_waits_for_the_page_the_tab_and_the_download_that_a_click_brings_and_names_them()
{
    let stage = ActionStage::open("pointer.html").await;
    let save = stage.act("click", json!({"target": "#save"})).await;
    assert!(save["download"]["file_name"].as_str().unwrap().ends_with("csv"), "{save}");
    let none = stage.act("click", json!({"target": "#none"})).await;
    assert!(none["navigation_failed"].as_str().unwrap().contains("no page"), "{none}");
    let beside = stage.act("click", json!({"target": "#beside"})).await;
    let there = beside["new_tab"].as_i64().unwrap_or_else(|| panic!("{beside}"));
    let title =
        stage.answer("execute_js", json!({"script": "document.title", "tab_id": there})).await;
    assert_eq!(title["status"], "complete", "the next call may name the tab: {title}");
    let tabs = stage.act("tab_list", json!({})).await;
    let opened = tabs.as_array().unwrap().iter().find(|tab| tab["tab_id"] == there).unwrap();
    assert_eq!(opened["active"], false, "the person's tab is seen as before: {opened}");

    let file = stage.act("click", json!({"target": "#file"})).await;
    assert!(file["file_chooser"].as_str().unwrap().contains("upload_file"), "{file}");

    let asked = stage.answer("click", json!({"target": "#alert"})).await;
    assert_eq!(asked["status"], "complete", "{asked}");
    assert!(asked.to_string().contains("Really?"), "{asked}");
    assert_eq!(stage.read("window.answer").await, false, "it was dismissed");
    stage.act("click", json!({"target": "#later"})).await;
    stage.until("window.asked").await;

    let next = stage.act("click", json!({"target": "#next", "snapshot": true})).await;
    assert!(next["navigated"].as_str().unwrap().ends_with("/plain.html"), "{next}");
    assert!(next["snapshot"].as_str().unwrap().contains("Plain Page"), "{next}");
    stage.end().await;
}

#[tokio::test]
async fn a_click_tells_of_all_that_scripts_and_the_browser_make_of_it() {
    let stage = ActionStage::open("consequences.html").await;
    let click = async |target: &str| stage.act("click", json!({"target": target})).await;
    for target in ["#go", "#go-later", "#send", "text=Closed link"] {
        let gone = click(target).await;
        let there = gone["navigated"].as_str().unwrap_or_else(|| panic!("{target}: {gone}"));
        assert!(there.contains("/plain.html"), "{target}: {gone}");
        stage.go("consequences.html").await;
    }
    let within = click("#move").await;
    assert!(within["navigated"].as_str().unwrap().ends_with("#there"), "{within}");
    let opened = click("#open").await;
    assert!(opened["new_tab"].is_i64(), "{opened}");
    let given = click("#give").await;
    assert!(given["download"].is_object(), "{given}");
    let late = click("#give-late").await;
    assert_eq!(late["download"]["file_name"], "late.html", "its server takes a moment: {late}");
    let picked = click("#pick").await;
    assert!(picked["file_chooser"].is_string(), "{picked}");
    let kept = click("#kept").await;
    assert!(kept["checked"].is_null(), "its click is prevented: {kept}");
    let labelled = click("#labelled").await;
    assert_eq!(labelled["checked"], "true", "{labelled}");
    assert!(labelled["focus"].as_str().unwrap().starts_with("textbox"), "{labelled}");
    stage.act("check", json!({"target": "#labelled"})).await;
    click("#popped").await;
    assert_eq!(stage.read("document.querySelector(':popover-open')?.id").await, "pop");
    stage.act("press_key", json!({"key": "Escape"})).await;
    let focused = click("#focused").await;
    assert!(focused["focus"].as_str().unwrap().starts_with("textbox"), "{focused}");

    stage.go("plain.html").await;
    stage.go("consequences.html").await;
    let back = click("#back").await;
    assert!(back["navigated"].as_str().is_some_and(|url| url.ends_with("/plain.html")), "{back}");
    stage.end().await;
}

#[tokio::test]
async fn an_element_that_cannot_be_clicked_says_why_and_what_is_there_instead() {
    let stage = ActionStage::open("pointer.html").await;
    let soon = |target: &str| json!({"target": target, "timeout_ms": 1_500});
    let covered = stage.fails("click", soon("#covered")).await;
    assert_says(&covered, "covered", &["dialog \\\"Cookies\\\" covers it", "Close or move"]);
    let disabled = stage.fails("click", soon("#wait")).await;
    assert_says(&disabled, "disabled", &["Wait for it"]);
    let hidden = stage.fails("click", soon("#entry")).await;
    assert_says(&hidden, "not_visible", &["display: none"]);
    let missing = stage.fails("click", soon("role=button[name=\"Enable that\"]")).await;
    assert_says(&missing, "target_not_found", &["Enable it"]);
    let many = stage.fails("click", soon("iframe")).await;
    assert_says(&many, "ambiguous_target", &["Near", "Far"]);
    let list = stage.fails("click", soon("#list")).await;
    assert_says(&list, "wrong_kind", &["select_option"]);
    let nothing = stage.fails("click", json!({"x": 5})).await;
    assert_says(&nothing, "invalid_params", &["both x and y"]);
    let outside = stage.fails("click", json!({"x": 5, "y": 90_000})).await;
    assert_says(&outside, "target_not_found", &["visible part"]);
    assert!(noticed(&stage).await.is_empty(), "the page has noticed nothing");

    // In the background it would move once a second, and stand still between.
    stage.act("tab_activate", json!({})).await;
    stage.read("window.move()").await;
    let moving = stage.fails("click", soon("#moving")).await;
    assert_says(&moving, "not_stable", &["wait \\\"none\\\""]);
    let caught = stage.act("click", json!({"target": "#moving", "wait": "none"})).await;
    assert!(caught["landed_on"].is_null(), "{caught}");
    assert!(noticed(&stage).await.contains(&"click moving".to_owned()));
    stage.read("window.halted = true").await;
    stage.act("click", json!({"target": "#moving"})).await;
    stage.end().await;
}

#[tokio::test]
async fn the_pointer_stays_where_it_hovers_and_a_menu_that_opens_there_stays_open() {
    let stage = ActionStage::open("pointer.html").await;
    let hovered = stage.act("hover", json!({"target": "#menu", "snapshot": true})).await;
    assert!(hovered["snapshot"].as_str().unwrap().contains("button \"Entry\""), "{hovered}");
    stage.act("get_text", json!({})).await;
    stage.act("click", json!({"target": "#entry"})).await;
    assert_eq!(stage.read("document.title").await, "Entry chosen");
    stage.act("hover", json!({"x": 300, "y": 480})).await;
    let closed = stage.fails("hover", json!({"target": "#entry", "timeout_ms": 1_000})).await;
    assert_says(&closed, "not_visible", &["Scroll"]);
    stage.end().await;
}

#[tokio::test]
async fn a_card_with_data_and_a_knob_without_are_dragged_and_a_refused_drop_is_told() {
    let stage = ActionStage::open("drag.html").await;
    let log = async || stage.read("return log.splice(0)").await;
    let dropped = stage.act("drag", json!({"startTarget": "#card", "endTarget": "#open"})).await;
    assert!(dropped["dropped"].is_null() && dropped["landed_on"].is_null(), "{dropped}");
    assert_eq!(log().await, json!(["start", "drop the card open", "end copy"]));
    let refused = stage.act("drag", json!({"startTarget": "#card", "endTarget": "#shut"})).await;
    assert_eq!(refused["dropped"], false, "{refused}");
    assert_eq!(log().await, json!(["start", "end none"]));

    let knob = json!({"startTarget": "#knob", "endTarget": "#goal", "moves": 20});
    stage.act("drag", knob).await;
    assert_eq!(log().await, json!(["let go"]));
    let moves = stage.read("moves").await.as_i64().unwrap();
    assert!(moves >= 20, "every move arrives: {moves}");
    assert_eq!(stage.read("[knob.offsetLeft, knob.offsetTop]").await, json!([500, 300]));
    stage.act("drag", json!({"startX": 545, "startY": 325, "endX": 145, "endY": 125})).await;
    assert_eq!(stage.read("[knob.offsetLeft, knob.offsetTop]").await, json!([100, 100]));

    log().await;
    stage.act("drag", json!({"startTarget": "#card", "endTarget": "#low"})).await;
    assert_eq!(log().await, json!(["start", "drop the card low", "end copy"]), "scrolled to");
    let missing = json!({"startTarget": "#card", "endTarget": "#nowhere", "timeout_ms": 1_000});
    let missing = stage.fails("drag", missing).await;
    assert_says(&missing, "target_not_found", &["#nowhere"]);
    assert_eq!(missing["may_have_run"], false, "{missing}");
    assert_eq!(log().await, json!([]), "nothing was picked up");
    let half = stage.fails("drag", json!({"startTarget": "#card", "endX": 3})).await;
    assert_says(&half, "invalid_params", &["both endX and endY"]);
    stage.end().await;
}

#[tokio::test]
async fn a_dragged_row_of_a_sorted_list_comes_to_the_place_of_its_goal_from_every_side() {
    let stage = ActionStage::open("reordered.html").await;
    for (from, to, order) in [
        (4, 2, "142356789"),
        (7, 2, "172345689"),
        (5, 3, "125346789"),
        (1, 3, "231456789"),
        (3, 5, "124536789"),
        (9, 1, "912345678"),
        (2, 6, "134562789"),
    ] {
        let place = |number| format!("#grid > div:nth-child({number})");
        let drag = json!({"startTarget": place(from), "endTarget": place(to)});
        stage.act("drag", drag).await;
        assert_eq!(stage.read("order()").await, order, "from {from} to {to}");
        stage.go("reordered.html").await;
    }
    stage.end().await;
}

#[tokio::test]
async fn a_row_that_moves_away_when_the_pointer_comes_is_clicked_where_it_stays() {
    let stage = ActionStage::open("reordered.html").await;
    for round in 0..20 {
        let clicked = stage.act("click", json!({"target": "#lower"})).await;
        assert!(clicked["landed_on"].is_null(), "round {round}: {clicked}");
        assert_eq!(stage.read("got.splice(0)").await, json!(["lower"]), "round {round}");
        stage.act("hover", json!({"x": 600, "y": 400})).await;
    }
    stage.end().await;
}

#[tokio::test]
async fn a_shape_that_the_page_puts_in_front_under_the_pointer_is_clicked_all_the_same() {
    let stage = ActionStage::open("reordered.html").await;
    let raised = stage.act("click", json!({"target": "#raised"})).await;
    assert_eq!(
        [&raised["input"], &raised["landed_on"]],
        [&json!("scripted"), &Value::Null],
        "{raised}"
    );
    assert_eq!(stage.read("got.splice(0)").await, json!(["raised"]));
    let at = stage.act("click", json!({"x": 350, "y": 250})).await;
    assert_eq!(at["input"], "scripted", "{at}");
    assert_eq!(stage.read("got.splice(0)").await, json!(["raised"]));
    let plain = stage.act("click", json!({"target": "#plain"})).await;
    assert!(plain["input"].is_null(), "{plain}");
    let around = stage.act("click", json!({"x": 400, "y": 205})).await;
    assert!(around["input"].is_null(), "{around}");
    assert_eq!(stage.read("got.splice(0)").await, json!(["plain", "svg"]));
    stage.end().await;
}

#[tokio::test]
async fn a_path_is_drawn_point_by_point_on_a_canvas() {
    let stage = ActionStage::open("pointer.html").await;
    let points = json!([[10, 10], [60, 20], [110, 10], [160, 60]]);
    let drawn = stage.act("draw", json!({"target": "#canvas", "points": points})).await;
    assert!(drawn["drawn"].as_str().unwrap().starts_with("4 points on"), "{drawn}");
    let path = stage.read("return window.path()").await;
    assert_eq!(
        path,
        json!([
            ["mousedown", 10, 10],
            ["mousemove", 60, 20],
            ["mousemove", 110, 10],
            ["mousemove", 160, 60],
            ["mouseup", 160, 60],
        ])
    );
    let outside = json!({"target": "#canvas", "points": [[10, 10], [20, 9_000]]});
    assert_says(&stage.fails("draw", outside).await, "not_visible", &["leaves the visible page"]);
    let none = stage.fails("draw", json!({"points": []})).await;
    assert_says(&none, "invalid_params", &["list of 1 to"]);
    stage.end().await;
}

#[tokio::test]
async fn an_endless_list_that_never_finishes_loading_is_scrolled_until_a_text_appears() {
    let stage = ActionStage::open("plain.html").await;
    let url = stage.url("endless.html");
    stage.read(&format!("location.href = {url:?}")).await;
    stage.until("document.querySelector('#list button')").await;
    let found = stage.act("scroll", json!({"until_text": "Needle"})).await;
    let named = found["found"].as_str().unwrap();
    assert!(named.starts_with("button \"Needle\""), "{found}");
    // The list makes its rows anew after it was scrolled, and the one that was named is still there.
    stage.act("click", json!({"target": named.split(' ').next_back()})).await;
    assert_eq!(stage.read("document.title").await, "Needle");
    let up = stage.act("scroll", json!({"target": "#list", "dy": -300})).await;
    assert!(up["top"].as_f64().unwrap() > 0.0, "{up}");
    let top = stage.act("scroll", json!({"to": "top"})).await;
    assert_eq!(top["top"], 0, "{top}");
    let still = stage.act("scroll", json!({"direction": "up"})).await;
    assert_eq!(still["moved"], false, "{still}");
    let never = stage.fails("scroll", json!({"until_text": "Thimble", "timeout_ms": 8_000})).await;
    assert_says(&never, "target_not_found", &["Thimble", "down to the end"]);
    assert_ne!(never["may_have_run"], false, "it has scrolled: {never}");
    let nowhere = stage.fails("scroll", json!({})).await;
    assert_says(&nowhere, "invalid_params", &["until_text"]);

    stage.go("reordered.html").await;
    let whole = stage.act("scroll", json!({"target": "#rows", "to": "bottom"})).await;
    assert_eq!([&whole["moved"], &whole["bottom_at"]], [&json!(false), &json!(0)], "{whole}");

    stage.go("drag.html").await;
    let shown = stage.act("scroll", json!({"target": "#low"})).await;
    assert!(shown["scrolled_to"].as_str().unwrap().contains("Far below"), "{shown}");
    assert!(stage.read("scrollY").await.as_f64().unwrap() > 1_000.0);
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_puts_another_button_under_the_pointer_swallows_events_or_lies_is_seen_through()
{
    let stage = ActionStage::open("attack.html").await;
    let got = async || stage.read("return got.splice(0)").await;
    let good = stage.fails("click", json!({"target": "#good", "timeout_ms": 2_000})).await;
    assert_says(&good, "covered", &["Buy everything"]);
    assert_eq!(got().await, json!([]), "the button that came under the pointer was not clicked");
    stage.read("evil.style.top = '300px'").await;
    let silent = json!({"target": "#silent", "timeout_ms": 2_000});
    assert_says(&stage.fails("click", silent).await, "covered", &["Buy everything"]);
    assert_eq!(got().await, json!([]), "nobody else heard of the move");
    stage.read("Object.assign(evil.style, {left: '0px', top: '300px'}) && 0").await;

    let swallowed = stage.act("click", json!({"target": "#swallowed"})).await;
    assert!(swallowed["landed_on"].as_str().unwrap().contains("not seen"), "{swallowed}");
    assert_eq!(got().await, json!(["swallowed"]));
    let faked = stage.act("click", json!({"target": "#faked"})).await;
    assert!(faked["landed_on"].is_null(), "made-up events count for nothing: {faked}");
    assert_eq!(got().await, json!(["faked"]));
    let inside = stage.act("click", json!({"target": "#inside"})).await;
    assert!(inside["landed_on"].is_null(), "{inside}");
    assert_eq!(got().await, json!(["inside"]));
    let gone = stage.act("click", json!({"target": "#gone"})).await;
    assert!(gone["landed_on"].as_str().unwrap().contains("Buy everything"), "{gone}");
    stage.end().await;
}

#[tokio::test]
async fn a_cancelled_hold_lets_the_button_go_and_a_closed_site_is_not_acted_in() {
    let stage = ActionStage::open("pointer.html").await;
    let client = stage.client();
    let hold =
        json!({"action": "click", "target": "#gift", "hold_ms": 10_000, "tab_id": stage.tab});
    let id = client.submit(hold).await;
    stage.pages().asked_for("/held").await;
    let cancelled = client.cancel(&id).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    stage.until("document.querySelector('#gift').checked").await;
    assert_eq!(noticed(&stage).await, ["mousedown gift", "mouseup gift", "click gift"]);

    let waits = json!({"action": "click", "target": "#covered", "tab_id": stage.tab});
    let waiting = client.submit(waits).await;
    client.cancel(&waiting).await;
    stage.read("document.querySelector('#cover').remove()").await;
    stage.act("click", json!({"target": "#ok"})).await;
    assert_eq!(noticed(&stage).await, ["mousedown ok", "mouseup ok", "click ok"], "nothing of it");

    let closed = stage.url("pointer_frame.html").replace("127.0.0.1", OTHER_SITE);
    let set = format!(
        "document.querySelector('#far').src = {closed:?}; document.querySelector('#closed').href = {closed:?}"
    );
    stage.read(&set).await;
    client.call("configure", json!({"action": "site_rules", "pattern": OTHER_SITE})).await;
    let frame = stage.fails("click", json!({"target": "#far #inside", "timeout_ms": 1_000})).await;
    assert_says(&frame, "target_not_found", &[]);
    let left = stage.answer("click", json!({"target": "#closed"})).await;
    assert_eq!(left["status"], "error", "{left}");
    assert!(left.to_string().contains("blocked_by_policy"), "{left}");
    stage.end().await;
}
