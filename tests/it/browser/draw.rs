//! Draw mode in a real Chromium, by real mouse and keyboard events. The relay stands in for the
//! daemon: it asks for drawings, takes them and acknowledges them.

use serde_json::{Value, json};
use tabwire::demo::Browser;

use testkit::{
    BrowserUser, FrameRelay, McpClient, TestDaemon, TestPages, first_tab, kill_worker, soon, until,
};

/// What every mark is painted in.
pub(crate) const INK: [u64; 3] = [230, 0, 110];

/// A browser whose tab shows a page, a picture of which can be drawn on.
pub(crate) struct Stage {
    daemon: TestDaemon,
    relay: FrameRelay,
    pub(crate) client: McpClient,
    pub(crate) pages: TestPages,
    browser: Browser,
    pub(crate) hand: BrowserUser,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn set(page: &str) -> Self {
        let daemon = TestDaemon::start().await;
        let relay = FrameRelay::start(daemon.port()).await;
        relay.take_drawings();
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let (browser, folder) =
            BrowserUser::open_browser_behind(&daemon, relay.port(), &pages.url(page));
        first_tab(&client, &browser).await;
        let hand = BrowserUser::reach(&folder.path().join("profile")).await;
        Self { daemon, relay, client, pages, browser, hand, _folder: folder }
    }

    /// Asks for a drawing, as the daemon does, and gives what the extension says to that.
    pub(crate) async fn ask(&self, id: &str, session: Option<&str>) -> Value {
        let correlation_id = format!("draw_{id}");
        let mut params = json!({"correlation_id": id, "styles": true});
        if let Some(session) = session {
            params["session"] = session.into();
        }
        self.relay.say(&json!({"type": "command", "attempt": 1, "command": {
            "id": "q_draw", "correlation_id": correlation_id, "type": "draw_mode",
            "params": params, "timeout_ms": 10_000, "safe": true, "redelivered": false}}));
        let reported = || self.relay.reported(|frame| frame["correlation_id"] == correlation_id);
        soon("the picture", until(async || !reported().is_empty())).await;
        reported().remove(0)
    }

    /// The same for one that is opened here, and turns to it.
    pub(crate) async fn open(&mut self, id: &str) {
        let report = self.ask(id, None).await;
        let value = &report["result"]["value"];
        assert_eq!((&value["open"], &value["was_open"]), (&json!(true), &json!(false)), "{report}");
        self.hand.turn_to_drawing().await;
    }

    pub(crate) fn drawings(&self) -> Vec<Value> {
        self.relay.reported(|frame| frame["type"] == "annotations")
    }

    /// Waits until so many drawings have come; gives the last.
    pub(crate) async fn drawing(&self, count: usize) -> Value {
        soon("a drawing", until(async || self.drawings().len() >= count)).await;
        self.drawings()[count - 1].clone()
    }

    pub(crate) fn acknowledge(&self, drawing: &Value) {
        let id = &drawing["drawing_id"];
        self.relay.say(&json!({"type": "annotations_ack", "drawing_id": id}));
    }

    /// Waits until nothing is drawn on any more, and turns back to the page.
    pub(crate) async fn is_closed(&mut self) {
        soon("the end of the drawing", until(async || !self.hand.sees_drawing().await)).await;
        self.hand.turn_to_page();
    }

    /// The colours of the picture at these points.
    async fn colours(&mut self, drawing: &Value, points: &[(i32, i32)]) -> Vec<[u64; 3]> {
        // A page that lets pictures in.
        self.hand.go(&self.pages.url("/second")).await;
        let picture = drawing["screenshot_data_url"].as_str().unwrap();
        self.hand.look_at(picture, points).await.colours
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// What kinds of marks a drawing has, in order.
fn kinds(drawing: &Value) -> Vec<&str> {
    let marks = drawing["annotations"].as_array().unwrap();
    marks.iter().map(|mark| mark["kind"].as_str().unwrap()).collect()
}

/// Whether a colour is the wanted one, but for what a compressed picture loses.
pub(crate) fn near(shown: [u64; 3], wanted: [u64; 3]) -> bool {
    shown.iter().zip(wanted).all(|(one, other)| one.abs_diff(other) <= 8)
}

#[tokio::test]
async fn a_drawing_by_mouse_arrives_with_its_picture_and_what_is_under_it() {
    let mut stage = Stage::set("/strict").await;
    let bottom = stage.hand.read("innerHeight").await.as_i64().unwrap() as i32;
    stage.open("ann_mouse").await;
    let hand = &mut stage.hand;
    hand.drag(&[(100, 100), (200, 150), (300, 200)]).await;
    hand.press("2", 1).await;
    hand.drag(&[(500, 300), (420, 260), (400, 250)]).await;
    hand.press("3", 1).await;
    hand.drag(&[(600, 100), (640, 140), (680, 100), (720, 140)]).await;
    hand.drag(&[(600, 300), (700, 300)]).await;
    hand.press("Control+z", 1).await;
    hand.press("4", 1).await;
    hand.drag(&[(40, 40)]).await;
    hand.type_text("Make 1 line of it").await;
    hand.press("Enter", 1).await;
    hand.press("Enter", 1).await;

    let drawing = stage.drawing(1).await;
    assert_eq!(kinds(&drawing), ["rectangle", "arrow", "freehand", "note"]);
    let marks = &drawing["annotations"];
    assert_eq!(marks[0]["box"], json!({"x": 100, "y": 100, "width": 200, "height": 100}));
    assert_eq!(marks[1]["points"], json!([[500, 300], [400, 250]]));
    assert_eq!(marks[2]["points"].as_array().unwrap().len(), 4);
    assert_eq!(marks[3]["text"], "Make 1 line of it");
    let ids: Vec<_> = (0..4).map(|at| marks[at]["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    let heading = &drawing["element_details"][marks[3]["element"].as_str().unwrap()];
    assert_eq!(
        (&heading["selector"], &heading["role"], &heading["name"], &heading["text"]),
        (&json!("h1"), &json!("heading"), &json!("Strict Page"), &json!("Strict Page"))
    );
    assert_eq!(heading["styles"]["font-weight"], "700");
    assert_eq!(drawing["correlation_id"], "ann_mouse");
    assert_eq!(drawing["page_url"], stage.pages.url("/strict"));
    assert_eq!(drawing["page_title"], "Strict Page");

    assert!(stage.hand.sees_drawing().await, "it is kept until it is acknowledged");
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    // On the marks' lines; where one was undone, inside the rectangle, and at the bottom.
    let marked = [(200, 100), (300, 150), (450, 275), (620, 120)];
    let bare = [(650, 300), (200, 150), (500, bottom - 60)];
    let colours = stage.colours(&drawing, &marked).await;
    assert!(colours.iter().all(|&colour| near(colour, INK)), "{colours:?}");
    let colours = stage.colours(&drawing, &bare).await;
    assert!(colours.iter().all(|&colour| near(colour, [255, 255, 255])), "{colours:?}");
    assert_eq!(stage.drawings().len(), 1);
    stage.end().await;
}

#[tokio::test]
async fn a_drawing_can_be_made_by_keyboard_alone_and_the_page_hears_no_key() {
    let mut stage = Stage::set("/form").await;
    stage
        .hand
        .read(
            "window.heard = 0; for (const name of ['keydown', 'keyup', 'pointerdown', 'click'])
        { document.addEventListener(name, () => heard += 1, true); }",
        )
        .await;
    stage.open("ann_keys").await;
    let hand = &mut stage.hand;
    hand.press("ArrowRight", 1).await;
    hand.press(" ", 1).await;
    hand.press("Shift+ArrowRight", 2).await;
    hand.press("Shift+ArrowDown", 1).await;
    hand.press(" ", 1).await;
    // From the surface to the second of the tools, and back by choosing it.
    hand.press("Tab", 2).await;
    hand.press("Enter", 1).await;
    hand.press("Shift+Tab", 2).await;
    hand.press(" ", 1).await;
    hand.press("ArrowLeft", 5).await;
    hand.press(" ", 1).await;
    hand.press("4", 1).await;
    hand.press(" ", 1).await;
    hand.type_text("here").await;
    hand.press("Enter", 1).await;
    hand.press("Enter", 1).await;
    let drawing = stage.drawing(1).await;
    assert_eq!(kinds(&drawing), ["rectangle", "arrow", "note"]);
    let marks = &drawing["annotations"];
    let size = |mark: &Value| (mark["box"]["width"].clone(), mark["box"]["height"].clone());
    assert_eq!(size(&marks[0]), (json!(128), json!(64)));
    assert_eq!(size(&marks[1]), (json!(40), json!(0)));
    assert_eq!(marks[2]["text"], "here");
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    assert_eq!(stage.hand.read("heard").await, 0);
    stage.hand.press("x", 1).await;
    assert_eq!(stage.hand.read("heard").await, 2, "and hears them again afterwards");
    stage.end().await;
}

#[tokio::test]
async fn escape_closes_a_note_first_and_then_tells_that_nothing_will_come() {
    let mut stage = Stage::set("/strict").await;
    stage.open("ann_escape").await;
    stage.hand.press("4", 1).await;
    stage.hand.drag(&[(300, 300)]).await;
    stage.hand.type_text("never mind").await;
    stage.hand.press("Escape", 1).await;
    assert!(stage.hand.sees_drawing().await);
    stage.hand.press("Escape", 1).await;
    let told = stage.drawing(1).await;
    assert_eq!(
        (&told["cancelled"], &told["correlation_id"]),
        (&json!("user"), &json!("ann_escape"))
    );
    assert_eq!(told["annotations"], json!([]));
    stage.is_closed().await;
    // Nobody has acknowledged it, so the next worker says it again.
    kill_worker(&stage.browser);
    assert_eq!(stage.drawing(2).await, told);
    stage.acknowledge(&told);
    stage.end().await;
}

#[tokio::test]
async fn a_drawing_outlives_the_worker_that_sent_it_and_is_one_drawing() {
    let mut stage = Stage::set("/strict").await;
    stage.open("ann_killed").await;
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    stage.hand.press("Enter", 1).await;
    let first = stage.drawing(1).await;
    kill_worker(&stage.browser);
    let again = stage.drawing(2).await;
    assert_eq!(again, first, "the same in all, its id and its picture too");
    assert!(stage.hand.sees_drawing().await);
    stage.acknowledge(&again);
    stage.is_closed().await;
    stage.end().await;
}

#[tokio::test]
async fn a_drawing_that_is_refused_stays_and_can_be_sent_anew() {
    let mut stage = Stage::set("/strict").await;
    stage.open("ann_refused").await;
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    stage.hand.press("Enter", 1).await;
    let first = stage.drawing(1).await;
    stage.relay.say(&json!({"type": "annotations_ack", "drawing_id": first["drawing_id"],
        "error": {"code": "too_large", "message": "9 MiB"}}));
    let resent = async {
        // It is the person's to press again, which does nothing while it is on its way.
        while stage.drawings().len() < 2 {
            stage.hand.press("Enter", 1).await;
        }
    };
    soon("the drawing once more", resent).await;
    let second = stage.drawing(2).await;
    assert_eq!(second["annotations"], first["annotations"]);
    assert_ne!(second["drawing_id"], first["drawing_id"]);
    stage.acknowledge(&second);
    stage.is_closed().await;
    stage.end().await;
}

#[tokio::test]
async fn a_page_that_goes_away_while_it_is_drawn_on_is_told_even_by_a_new_worker() {
    let mut stage = Stage::set("/strict").await;
    stage.open("ann_left").await;
    let second = stage.ask("ann_again", Some("checkout")).await;
    assert_eq!(second["result"]["value"]["was_open"], true, "{second}");
    kill_worker(&stage.browser);
    stage.hand.turn_to_page();
    stage.hand.go(&stage.pages.url("/second")).await;
    let told = [stage.drawing(1).await, stage.drawing(2).await];
    for (told, id) in told.iter().zip(["ann_left", "ann_again"]) {
        assert_eq!(
            (&told["cancelled"], &told["correlation_id"]),
            (&json!("page_closed"), &json!(id))
        );
        assert_eq!(told["page_url"], stage.pages.url("/strict"));
        stage.acknowledge(told);
    }
    assert_eq!(told[1]["annot_session_name"], "checkout");
    stage.is_closed().await;

    // The browser itself goes on: it has another tab.
    stage.client.call("interact", json!({"action": "tab_open", "wait_ms": 20_000})).await;
    stage.open("ann_closed").await;
    stage.hand.turn_to_page();
    stage.hand.close_page().await;
    let told = stage.drawing(3).await;
    assert_eq!(
        (&told["cancelled"], &told["correlation_id"]),
        (&json!("page_closed"), &json!("ann_closed"))
    );
    stage.end().await;
}

#[tokio::test]
async fn a_drawing_that_is_begun_outlives_its_page_and_the_extensions_process() {
    let mut stage = Stage::set("/strict").await;
    stage.open("ann_outlives").await;
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    stage.hand.press("4", 1).await;
    stage.hand.drag(&[(40, 40)]).await;
    stage.hand.type_text("kept").await;
    stage.hand.press("Enter", 1).await;
    stage.hand.turn_to_page();
    stage.hand.go(&stage.pages.url("/second")).await;
    kill_worker(&stage.browser);
    stage.client.call("interact", json!({"action": "tab_list", "wait_ms": 20_000})).await;
    let again = stage.ask("ann_again", None).await;
    assert_eq!(again["result"]["value"]["was_open"], true, "{again}");
    stage.hand.turn_to_drawing().await;
    stage.hand.press("Enter", 1).await;
    let drawing = stage.drawing(1).await;
    assert_eq!(kinds(&drawing), ["rectangle", "note"]);
    assert_eq!(drawing["annotations"][1]["text"], "kept");
    assert_eq!(drawing["correlation_id"], "ann_again", "a drawing ends all waits of its session");
    assert_eq!(drawing["page_url"], stage.pages.url("/strict"), "of what is in the picture");
    assert_eq!(drawing["element_details"], json!({}), "and not of what is there now");
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    assert!(near(stage.colours(&drawing, &[(200, 100)]).await[0], INK));
    stage.end().await;
}

#[tokio::test]
async fn agents_see_the_page_where_the_person_sees_its_picture() {
    let mut stage = Stage::set("/strict").await;
    let title = json!({"action": "execute_js", "script": "document.title", "wait_ms": 20_000});
    stage.client.call("interact", title.clone()).await;
    let tabs = async || stage.client.call("observe", json!({"what": "tabs"})).await["tabs"].clone();
    let before = tabs().await;
    let report = stage.ask("ann_hidden", None).await;
    assert_eq!(report["result"]["value"]["open"], true, "{report}");
    let answer = stage.client.call("interact", title).await;
    assert_eq!(answer["result"]["value"], "Strict Page", "{answer}");
    assert_eq!(tabs().await, before, "no tab more, and the same one is in front");
    stage.hand.turn_to_drawing().await;
    stage.hand.press("Escape", 1).await;
    stage.drawing(1).await;
    stage.end().await;
}

#[tokio::test]
async fn what_is_under_a_mark_is_found_in_shadow_roots_and_frames_too() {
    let mut stage = Stage::set("/shop").await;
    let button = "document.querySelector('x-card').shadowRoot.querySelector('button')";
    let frame = "document.querySelector('#inner')";
    // Neither the bar at the bottom nor the browser's own at the top may cover them.
    let show = format!(
        "document.body.style.paddingBottom = '900px'; {button}.scrollIntoView({{block: 'center'}})"
    );
    stage.hand.read(&show).await;
    let boxes = stage
        .hand
        .read(&format!(
            "[{button}, {frame}].map((element) => {{ \
         const {{x, y, width, height}} = element.getBoundingClientRect(); \
         return [x, y, width, height].map(Math.round) }})"
        ))
        .await;
    let boxes: [[i32; 4]; 2] = serde_json::from_value(boxes).unwrap();
    stage.open("ann_inside").await;
    let [x, y, width, height] = boxes[0];
    stage.hand.drag(&[(x - 3, y - 3), (x + width + 3, y + height + 3)]).await;
    stage.hand.press("2", 1).await;
    let [x, y, ..] = boxes[1];
    stage.hand.drag(&[(x + 100, y - 5), (x + 14, y + 14)]).await;
    stage.hand.press("Enter", 1).await;
    let drawing = stage.drawing(1).await;
    let under = |at: usize| {
        let key = drawing["annotations"][at]["element"].as_str().unwrap();
        drawing["element_details"][key].clone()
    };
    let (boxed, pointed) = (under(0), under(1));
    assert_eq!(
        (&boxed["tag"], &boxed["within"]),
        (&json!("button"), &json!(["x-card"])),
        "{boxed}"
    );
    assert_eq!(boxed["role"], "button");
    assert_eq!((&pointed["within"]), (&json!(["#inner"])), "{pointed}");
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    stage.end().await;
}

/// A card with a button and words in it; a link 6 px below it, another one 40 px below it; one that
/// nobody sees, and one that lies under another element.
const CARD: &str = r#"(() => {
    const put = (id, tag, [x, y, width, height], text, parent = document.body) => {
        const element = parent.appendChild(document.createElement(tag));
        Object.assign(element, { id, textContent: text });
        Object.assign(element.style, { position: 'fixed', left: `${x}px`, top: `${y}px`, width: `${width}px`,
            height: `${height}px`, margin: 0, padding: 0, border: 0, font: '12px/20px sans-serif' });
        return element;
    };
    document.body.replaceChildren();
    const card = put('card', 'div', [100, 100, 200, 100], '');
    put('buy', 'button', [120, 110, 60, 20], '', card).innerHTML = '<span id=label>Buy</span>';
    put('price', 'span', [200, 110, 50, 20], '5 €', card);
    put('under', 'span', [120, 150, 60, 20], 'under', card);
    put('over', 'p', [110, 145, 90, 30], 'over', card);
    put('unseen', 'span', [220, 150, 60, 20], 'unseen', card).style.visibility = 'hidden';
    put('near', 'a', [120, 206, 60, 20], 'near').href = '#near';
    put('far', 'a', [120, 240, 60, 20], 'far').href = '#far';
})()"#;

#[tokio::test]
async fn what_lies_in_a_mark_or_close_to_it_is_told_and_what_nobody_sees_there_is_not() {
    let mut stage = Stage::set("/second").await;
    stage.hand.read(CARD).await;
    stage.open("ann_near").await;
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    // Its tip is 7 px below the button, and 8 px above the words.
    stage.hand.press("2", 1).await;
    stage.hand.drag(&[(250, 190), (150, 137)]).await;
    stage.hand.press("Enter", 1).await;
    let drawing = stage.drawing(1).await;
    let selector = |key: &Value| {
        let selector = &drawing["element_details"][key.as_str().unwrap()]["selector"];
        selector.as_str().unwrap().to_owned()
    };
    let of = |at: usize| {
        let mark = &drawing["annotations"][at];
        let mut near: Vec<_> = mark["elements"].as_array().unwrap().iter().map(selector).collect();
        near.sort();
        (selector(&mark["element"]), near.join(" "))
    };
    assert_eq!(of(0), ("#card".to_owned(), "#buy #near #over #price".to_owned()), "{drawing}");
    assert_eq!(of(1), ("#card".to_owned(), "#buy #over".to_owned()), "{drawing}");
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    stage.end().await;
}

#[tokio::test]
async fn of_a_crowd_of_elements_a_mark_tells_eight_and_a_drawing_a_hundred_more() {
    let mut stage = Stage::set("/second").await;
    // More than a hundred of them lie near the marks, each of which is in a line of its own.
    let crowd = "document.body.replaceChildren(...Array.from({length: 1200}, (_, at) => Object.assign(\
                 document.createElement('i'), {textContent: at % 10}))); Object.assign(document.body.style, \
                 {lineHeight: 1, width: '420px', wordBreak: 'break-all'}); 1";
    stage.hand.read(crowd).await;
    stage.open("ann_crowd").await;
    for row in 0..20 {
        stage.hand.drag(&[(10, 10 + row * 18), (400, 14 + row * 18)]).await;
    }
    stage.hand.press("Enter", 1).await;
    let drawing = stage.drawing(1).await;
    let marks = drawing["annotations"].as_array().unwrap();
    assert_eq!(marks.len(), 20);
    let most = marks.iter().filter_map(|mark| mark["elements"].as_array()).map(Vec::len).max();
    assert_eq!(most, Some(8));
    assert!(marks.iter().all(|mark| mark["element"].is_string()), "{drawing}");
    let told = drawing["element_details"].as_object().unwrap().len();
    assert!(told <= 120, "{told}");
    stage.acknowledge(&drawing);
    stage.is_closed().await;
    stage.end().await;
}

#[tokio::test]
async fn pages_that_extensions_may_not_touch_are_refused() {
    let mut stage = Stage::set("/strict").await;
    stage.hand.go("chrome://version/").await;
    let report = stage.ask("ann_restricted", None).await;
    assert_eq!(report["error"]["code"], "restricted_page", "{report}");
    stage.end().await;
}
