//! No answer brings an agent a picture that model APIs refuse: they would refuse the whole
//! conversation from then on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use testkit::{ExtensionBuilder, FakeExtension, McpClient, TestDaemon, active_tab, png, soon};

/// The most letters of base64, and the longest side in px.
const LARGEST: usize = 5_000_000;
const LONGEST: u64 = 2_000;

/// The ways in which a picture comes to an agent.
const WAYS: [&str; 10] = [
    "screenshot",
    "with trace",
    "split",
    "later",
    "in parts",
    "batch",
    "run",
    "task",
    "told task",
    "drawing",
];

struct Browser {
    daemon: TestDaemon,
    extension: FakeExtension,
    drawings: u8,
}

impl Browser {
    async fn open() -> Self {
        let daemon = TestDaemon::start().await;
        let actions = ["screenshot", "batch", "draw_mode"];
        let builder = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).actions(&actions);
        let extension = builder.connect().await;
        Self { daemon, extension, drawings: 0 }
    }

    /// The whole answer in which this picture reaches an agent, or does not.
    async fn answer(&mut self, way: &str, picture: &str) -> Value {
        let shot = described(picture);
        let steps = json!({"results": [{"clicked": "button"}, shot]});
        match way {
            "screenshot" => self.called("interact", json!({"trace": false}), shot).await,
            "with trace" => self.called("interact", json!({"trace": true}), shot).await,
            "split" => self.called("screenshot", json!({}), shot).await,
            "batch" | "run" => {
                let call = json!({"action": way, "steps": [
                    {"action": "click", "target": "text=Go"}, {"action": "screenshot", "max_side": 8_192}]});
                self.called("interact", call, steps).await
            }
            "later" | "in parts" => self.read_later(way, shot).await,
            "task" | "told task" => self.task(way, shot).await,
            "drawing" => self.drawing(picture).await,
            other => panic!("{other}"),
        }
    }

    async fn called(&mut self, tool: &str, mut call: Value, value: Value) -> Value {
        if tool == "interact" && call["action"].is_null() {
            call["action"] = "screenshot".into();
        }
        if call["steps"].is_null() {
            call["max_side"] = 8_192.into();
        }
        call["wait_ms"] = 20_000.into();
        let client = McpClient::legacy(&self.daemon);
        let answer = soon("the answer", client.call_raw(tool, call));
        tokio::join!(answer, took(&mut self.extension, value)).0
    }

    async fn read_later(&mut self, way: &str, value: Value) -> Value {
        let client = McpClient::legacy(&self.daemon);
        let id = client.submit(json!({"action": "screenshot", "max_side": 8_192})).await;
        took(&mut self.extension, value).await;
        client.outcome(&id).await;
        let mut call = json!({"what": "command_result", "correlation_id": id});
        if way == "in parts" {
            call["offset"] = 0.into();
            call["limit"] = 65_536.into();
        }
        client.call_raw("observe", call).await
    }

    async fn task(&mut self, way: &str, value: Value) -> Value {
        let client = McpClient::modern(&self.daemon).with_tasks();
        let arguments = json!({"action": "screenshot", "max_side": 8_192});
        let call = client.rpc("tools/call", json!({"name": "interact", "arguments": arguments}));
        let begun = soon("a task", call).await.json()["result"].clone();
        let id = begun["taskId"].as_str().unwrap_or_else(|| panic!("{begun}"));
        let told = json!({"taskIds": [id]});
        let mut stream = client.subscribe(&json!("s"), told).await;
        took(&mut self.extension, value).await;
        loop {
            let message = soon("a message", stream.message()).await.expect("an open stream");
            if message["params"]["status"] == "completed" {
                if way == "told task" {
                    return message;
                }
                break;
            }
        }
        client.rpc("tasks/get", json!({"taskId": id})).await.json()
    }

    async fn drawing(&mut self, picture: &str) -> Value {
        self.drawings += 1;
        let drawing = json!({
            "type": "annotations", "drawing_id": format!("{:032x}", self.drawings),
            "screenshot_data_url": format!("data:image/png;base64,{picture}"),
            "annotations": [{"id": 1, "kind": "note", "text": "here"}], "element_details": {},
            "page_url": "http://shop.test/", "tab_id": 7,
        });
        self.extension.send(&drawing).await;
        let ack = self.extension.next().await;
        assert_eq!(ack["type"], "annotations_ack", "{ack}");
        assert_eq!(ack["error"], Value::Null, "{ack}");
        let client = McpClient::legacy(&self.daemon);
        client.call_raw("analyze", json!({"what": "annotations"})).await
    }
}

/// A picture's value, whose description tells a size that every model takes.
fn described(picture: &str) -> Value {
    json!({"mime_type": "image/png", "data": picture, "width": 8, "height": 6})
}

async fn took(extension: &mut FakeExtension, value: Value) {
    let command = extension.command().await;
    extension.claim(&command).await;
    let result = json!({"success": true, "value": value, "type": "image"});
    extension.report(&command, "complete", json!({ "result": result })).await;
}

/// All pictures of an answer, wherever they stand in it.
fn pictures(answer: &Value) -> Vec<&Value> {
    let inner = match answer {
        Value::Array(list) => list.iter().flat_map(pictures).collect(),
        Value::Object(fields) => fields.values().flat_map(pictures).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let is_picture = answer["type"] == "image" && answer["mimeType"].is_string();
    if is_picture { vec![answer] } else { inner }
}

fn sides(picture: &Value) -> [u64; 2] {
    let bytes = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()).into())
}

/// A picture with so many letters of base64.
fn of_length(length: usize) -> String {
    let mut bytes = png(10, 10);
    bytes.resize(length / 4 * 3, 0);
    STANDARD.encode(bytes)
}

#[tokio::test]
async fn no_way_brings_an_agent_a_picture_that_models_refuse() {
    let mut browser = Browser::open().await;
    for way in WAYS {
        let largest = STANDARD.encode(png(2_000, 2_000));
        let shown = browser.answer(way, &largest).await;
        let [picture] = pictures(&shown)[..] else { panic!("{way}: {shown}") };
        assert_eq!(sides(picture), [LONGEST; 2], "{way}");
        for (case, picture) in [
            ("too wide", STANDARD.encode(png(2_001, 10))),
            ("too high", STANDARD.encode(png(10, 8_192))),
            ("too long", of_length(LARGEST + 4)),
            ("of no known size", STANDARD.encode("GIF89a")),
        ] {
            // A drawing is checked when it comes.
            if way == "drawing" && case == "of no known size" {
                continue;
            }
            let told = browser.answer(way, &picture).await;
            assert!(pictures(&told).is_empty(), "{way} {case}: {:.500}", told.to_string());
            assert!(told.to_string().len() < 20_000, "{way} {case}: it is there as text");
            let says = told.to_string();
            let next = if way == "drawing" { ".png" } else { "path for a file" };
            assert!(says.contains(next), "{way} {case}: {says}");
        }
    }
    browser.daemon.stop().await;
}

#[tokio::test]
async fn a_picture_of_5_mb_is_shown() {
    let mut browser = Browser::open().await;
    let largest = of_length(LARGEST);
    assert_eq!(largest.len(), LARGEST);
    for way in ["screenshot", "batch", "task"] {
        let told = browser.answer(way, &largest).await;
        assert_eq!(pictures(&told).len(), 1, "{way}");
    }
    browser.daemon.stop().await;
}
