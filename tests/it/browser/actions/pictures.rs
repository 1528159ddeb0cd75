//! Pictures of pages and of elements, with marks, and pages on paper.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use tabwire::protocol::EXTENSION_ID;

use super::ActionStage;
use testkit::{BrowserUser, soon, until};

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
    // No model is given one that its API refuses; a file may have it.
    let large = json!({"full_page": true, "max_side": 8_192});
    let refused = stage.raw("screenshot", large.clone(), false).await;
    assert_eq!(refused["content"].as_array().unwrap().len(), 1, "{refused}");
    let said = refused["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("at most 2000 px") && said.contains("smaller max_side"), "{said}");
    let step = json!({"action": "screenshot", "full_page": true, "max_side": 8_192, "marks": true});
    for (action, params) in [("screenshot", large.clone()), ("batch", json!({"steps": [step]}))] {
        let refused = stage.raw(action, params, true).await;
        assert_eq!(refused["content"].as_array().unwrap().len(), 1, "{action}");
        assert!(refused.to_string().len() < 20_000, "{action}: it is there as text");
    }
    let path = stage.stage.daemon.home().dir().canonicalize().unwrap().join("files/tall.png");
    let mut filed = large;
    filed["path"] = json!(path);
    let told = stage.act("screenshot", filed).await;
    assert!(told["height"].as_u64().unwrap() > 2_000, "{told}");
    assert!(path.is_file(), "{told}");
    let (told, _) = picture(&stage, json!({"max_side": 300, "format": "webp"})).await;
    assert_eq!(told["width"], 300, "{told}");

    let missing = stage.fails("screenshot", json!({"target": "text=Nowhere"})).await;
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

/// Where a click at a pixel of a picture goes: the element that is painted there.
async fn clicked_at(stage: &ActionStage, told: &Value, (x, y): (f64, f64)) -> String {
    let number = |name: &str| told[name].as_f64().unwrap_or_default();
    let place = |corner: &str, pixel: f64| number(corner) + number("click_factor") * pixel;
    let at = json!({"x": place("click_left", x), "y": place("click_top", y)});
    stage.act("click", at).await["clicked"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_pictures_pixels_lead_to_clicks_at_every_zoom_and_on_every_screen() {
    for screen in [1.0, 2.0, 3.0] {
        let flag = format!("--force-device-scale-factor={screen}");
        let mut stage = ActionStage::open_with("plain.html", &[&flag]).await;
        let mut user = stage.user().await;
        user.open_beside(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
        for zoom in [1.0, 0.8, 1.5] {
            stage.turn_to("zoomed.html").await;
            let set = format!(
                "chrome.tabs.setZoomSettings({0}, {{scope: 'per-tab'}}).then(() => chrome.tabs.setZoom({0}, {zoom})).then(() => 1)",
                stage.tab
            );
            user.read(&set).await;
            stage.until(&format!("Math.abs(devicePixelRatio - {}) < 0.01", screen * zoom)).await;
            let case = format!("zoom {zoom}, screen {screen}");
            for params in [
                json!({}),
                json!({"max_side": 400}),
                json!({"full_page": true, "format": "jpeg", "max_side": 900}),
                json!({"target": "#part", "max_side": 64, "format": "webp"}),
            ] {
                let (told, bytes) = picture(&stage, params.clone()).await;
                let limit = params["max_side"].as_u64().unwrap_or(1_568);
                let sides = [&told["width"], &told["height"]].map(|side| side.as_u64().unwrap());
                assert!(sides.iter().all(|side| *side <= limit), "{case} {params}: {told}");
                // The red element is where the picture is red, and a click there is a click on it.
                let data = format!(
                    "data:{};base64,{}",
                    told["mime_type"].as_str().unwrap(),
                    STANDARD.encode(&bytes)
                );
                let (x, y) = stage.red_place(&mut user, &data).await;
                let at = json!({"x": x, "y": y, "in": told["in"]});
                let clicked = stage.act("click", at).await["clicked"].to_string();
                assert!(clicked.contains("Red"), "{case} {params}: {clicked} {told}");
                let clicked = clicked_at(&stage, &told, (x, y)).await;
                assert!(clicked.starts_with("button \"Red\""), "{case} {params}: {clicked} {told}");
            }
        }
        stage.end().await;
    }
}

#[tokio::test]
async fn points_of_a_picture_hit_what_it_shows_until_the_tab_shows_something_else() {
    let mut stage = ActionStage::open("picture_points.html").await;
    let mut user = stage.user().await;
    user.open_beside(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    // Far below the view: it is scrolled to.
    let (told, bytes) = picture(&stage, json!({"full_page": true, "max_side": 1_000})).await;
    let data = format!("data:image/png;base64,{}", STANDARD.encode(&bytes));
    let (x, y) = stage.red_place(&mut user, &data).await;
    let at = |told: &Value, (x, y): (f64, f64)| json!({"x": x, "y": y, "in": told["in"]});
    let clicked = stage.act("click", at(&told, (x, y))).await;
    assert!(clicked["clicked"].as_str().unwrap().starts_with("button \"Below\""), "{clicked}");
    assert_ne!(stage.read("scrollY").await, 0);

    let why = async |stage: &ActionStage, params: Value| {
        let stale = stage.fails("click", params).await;
        assert_eq!(stale["reason"], "picture_stale", "{stale}");
        stale["error"].as_str().unwrap().to_owned()
    };
    assert!(why(&stage, at(&told, (x, y))).await.contains("scrolled"));
    let unknown = json!({"x": 5, "y": 5, "in": "p0"});
    assert!(why(&stage, unknown).await.contains("not known"));
    let (told, _) = picture(&stage, json!({})).await;
    let outside = stage.fails("click", at(&told, (9_000.0, 5.0))).await;
    assert_eq!(outside["reason"], "invalid_params", "{outside}");
    let zoom = |level: f64| {
        format!(
            "chrome.tabs.setZoomSettings({0}, {{scope: 'per-tab'}}).then(() => chrome.tabs.setZoom({0}, {level})).then(() => 1)",
            stage.tab
        )
    };
    user.read(&zoom(1.5)).await;
    stage.until("devicePixelRatio > 1.4").await;
    assert!(why(&stage, at(&told, (5.0, 5.0))).await.contains("zoom"));
    user.read(&zoom(1.0)).await;
    stage.until("devicePixelRatio < 1.4").await;
    let (told, _) = picture(&stage, json!({})).await;
    // The view has another size.
    let (width, height) = (stage.read("innerWidth").await, stage.read("innerHeight").await);
    let smaller = format!("{}x{}", width.as_u64().unwrap() - 60, height.as_u64().unwrap() - 40);
    stage.act("emulate", json!({"viewport": smaller})).await;
    assert!(why(&stage, at(&told, (5.0, 5.0))).await.contains("size"));
    stage.act("emulate", json!({"reset": true})).await;
    let (told, _) = picture(&stage, json!({})).await;
    let first = stage.tab.clone();
    stage.turn_to("picture_points.html").await;
    assert!(why(&stage, at(&told, (5.0, 5.0))).await.contains("is of tab"));
    stage.tab = first;
    stage.go("picture_points.html").await;
    assert!(why(&stage, at(&told, (5.0, 5.0))).await.contains("another page"));

    // Drags and paths as well.
    let (told, _) = picture(&stage, json!({"max_side": 400})).await;
    let factor = told["click_factor"].as_f64().unwrap();
    let px = |css: f64| css / factor;
    let drawn = json!({"points": [[px(60.0), px(60.0)], [px(100.0), px(80.0)]], "in": told["in"]});
    stage.act("draw", drawn).await;
    assert_eq!(stage.read("path.join()").await, "60 60,100 80");
    let dragged = json!({"startX": px(70.0), "startY": px(70.0), "endX": px(90.0), "endY": px(75.0), "in": told["in"]});
    stage.act("drag", dragged).await;
    assert_eq!(stage.read("path.slice(2, 3).join() + path.at(-1)").await, "70 7090 75");
    stage.end().await;
}

impl ActionStage {
    /// The middle of all that is red in a picture.
    async fn red_place(&self, user: &mut BrowserUser, picture: &str) -> (f64, f64) {
        let found = user
            .read(&format!(
                "(async () => {{ const image = new Image(); image.src = {}; await image.decode();
                 const canvas = new OffscreenCanvas(image.width, image.height);
                 const paint = canvas.getContext('2d'); paint.drawImage(image, 0, 0);
                 const {{ data }} = paint.getImageData(0, 0, image.width, image.height);
                 let [count, x, y] = [0, 0, 0];
                 for (let at = 0; at < data.length; at += 4) {{
                     if (data[at] < 200 || data[at + 1] > 80 || data[at + 2] > 80) continue;
                     count += 1; x += (at / 4) % image.width; y += Math.floor(at / 4 / image.width);
                 }}
                 return [x / count, y / count] }})()",
                json!(picture)
            ))
            .await;
        // Without any red the browser tells no number.
        let number = |at: usize| found[at].as_f64().unwrap_or(f64::NAN);
        (number(0), number(1))
    }
}

#[tokio::test]
async fn a_tab_with_a_pdf_says_so_and_what_works_there() {
    let stage = ActionStage::open("red.pdf").await;
    let mut user = stage.user().await;
    for look in ["snapshot", "get_text", "get_markdown"] {
        let text = stage.act(look, json!({})).await;
        let text = text.as_str().unwrap();
        assert!(text.contains("shows a PDF") && text.contains("screenshot"), "{look}: {text}");
    }
    let says =
        |told: &Value| told["note"].as_str().is_some_and(|note| note.contains("shows a PDF"));
    for look in ["page_info", "forms", "page_summary", "accessibility"] {
        let told = stage.act(look, json!({})).await;
        assert!(says(&told), "{look}: {told}");
    }
    let told = stage.act("dom", json!({"selector": "p"})).await;
    assert!(says(&told), "{told}");
    let found = stage.act("find", json!({"text": "red"})).await;
    assert!(found.as_str().unwrap().contains("shows a PDF"), "{found}");
    let clicked = stage.fails("click", json!({"target": "text=red"})).await;
    assert_eq!(clicked["reason"], "target_not_found", "{clicked}");
    assert!(clicked["hint"].as_str().unwrap().contains("shows a PDF"), "{clicked}");
    let printed = stage.fails("pdf", json!({})).await;
    assert_eq!(printed["reason"], "unsupported", "{printed}");
    // The two ways that are named lead there.
    let file = "return (await (await fetch(location.href)).text()).slice(0, 5)";
    assert_eq!(stage.read(file).await, "%PDF-");
    let mut shown = async || {
        let (told, bytes) = picture(&stage, json!({})).await;
        let data = format!("data:image/png;base64,{}", STANDARD.encode(&bytes));
        assert_eq!(told["mime_type"], "image/png");
        stage.red_place(&mut user, &data).await
    };
    soon("a red page", until(async || shown().await.0.is_finite())).await;
    // A page that is none says nothing of it.
    stage.go("pictures.html").await;
    assert_eq!(stage.act("page_info", json!({})).await["note"], Value::Null);
    stage.end().await;
}
