//! Halves of characters: what pages hold, and extensions send, reaches agents as JSON that every
//! parser takes. All answers are read here by one that refuses them.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::browser::Stage;
use testkit::PollingExtension;
use testkit::{
    ExtensionBuilder, FakeExtension, McpClient, RowReport, TestDaemon, body, soon, until,
};
use testkit::{SyncingExtension, result_of};

/// Halves as escapes, and what a reader gets for each. The last is a text about one.
const HALVES: [(&str, &str); 5] = [
    (r"\ud83d", "\u{fffd}"),
    (r"\uDE00", "\u{fffd}"),
    (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
    (r"\ud83d\ude00", "😀"),
    (r"\\ud83d", r"\ud83d"),
];

/// Sends a frame that serde could not write.
async fn say(extension: &mut FakeExtension, frame: String) {
    extension.send_message(Message::text(frame)).await;
}

async fn submit(client: &McpClient) -> String {
    client.submit(json!({"action": "execute_js", "script": "1"})).await
}

#[tokio::test]
async fn row_29_half_a_character_from_an_extension_is_no_half_for_an_agent() {
    let mut row = RowReport::new(29);
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for (half, whole) in HALVES {
        let id = submit(&client).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        let fence = format!(r#""correlation_id":"{id}","attempt":{}"#, command.attempt);
        let value =
            format!(r#"{{"success":true,"value":{{"k{half}":["v{half}"]}},"type":"object"}}"#);
        let complete =
            format!(r#"{{"type":"complete",{fence},"result":{value},"origin":"o{half}"}}"#);
        say(&mut extension, complete).await;
        extension.expect_in_time(&command.answer("result_ack")).await;
        let answer = client.outcome(&id).await;
        let is_whole =
            answer["result"]["value"] == json!({format!("k{whole}"): [format!("v{whole}")]});
        row.tried(&format!("a result with {half}"), is_whole, &answer);

        let id = submit(&client).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        let fence = format!(r#""correlation_id":"{id}","attempt":{}"#, command.attempt);
        let error = format!(r#"{{"code":"script_threw","message":"m{half}","stack":"s{half}"}}"#);
        say(&mut extension, format!(r#"{{"type":"error",{fence},"error":{error}}}"#)).await;
        extension.expect_in_time(&command.answer("result_ack")).await;
        let answer = client.outcome(&id).await;
        row.tried(
            &format!("an error with {half}"),
            answer["error"] == format!("m{whole}"),
            &answer,
        );

        let tab = format!(
            r#"{{"tab_id":7,"window_id":1,"url":"http://a/","title":"t{half}","active":true,"focused":true}}"#
        );
        say(&mut extension, format!(r#"{{"type":"tabs","tabs":[{tab}]}}"#)).await;
        let line = format!(
            r#"{{"t":1,"tab_id":7,"level":"log","source":"console","text":"l{half}","url":"u"}}"#
        );
        say(&mut extension, format!(r#"{{"type":"events","stream":"logs","entries":[{line}]}}"#))
            .await;
        extension.so_far().await;
        let tabs = client.call("observe", json!({"what": "tabs"})).await;
        row.tried(
            &format!("a title with {half}"),
            tabs["tabs"][0]["title"] == format!("t{whole}"),
            &tabs,
        );
        let logs = client.call("observe", json!({"what": "logs", "limit": 1})).await;
        row.tried(
            &format!("a line with {half}"),
            logs["entries"][0]["text"] == format!("l{whole}"),
            &logs,
        );

        let id = format!("{:032x}", row_number(half));
        let drawing = format!(
            r#"{{"type":"annotations","drawing_id":"{id}","annotations":[{{"id":1,"kind":"note","text":"n{half}"}}],"element_details":{{}},"page_url":"http://a/","page_title":"p{half}"}}"#
        );
        say(&mut extension, drawing).await;
        let ack = extension.next().await;
        row.tried(
            &format!("a drawing with {half}"),
            ack["type"] == "annotations_ack" && ack["error"].is_null(),
            &ack,
        );
    }
    let all = client.call_raw("analyze", json!({"what": "annotations", "manage": "list"})).await;
    row.tried("what was drawn", all["isError"] != true, &all);
    row.report();
}

fn row_number(half: &str) -> usize {
    HALVES.iter().position(|(known, _)| *known == half).unwrap() + 1
}

#[tokio::test]
async fn row_29_nor_from_one_that_polls() {
    let mut row = RowReport::new(29);
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let old = PollingExtension::connect(&daemon).await;
    for (half, whole) in HALVES {
        let id = submit(&client).await;
        let queries = old.poll().await;
        assert_eq!(queries.len(), 1, "{queries:?}");
        let result = format!(r#"{{"success":true,"result":{{"k{half}":"v{half}"}}}}"#);
        let body = format!(r#"{{"correlation_id":"{id}","status":"complete","result":{result}}}"#);
        let status = old.post("/execute-result", body).await.status;
        let answer = client.outcome(&id).await;
        let is_whole =
            answer["result"]["value"] == json!({format!("k{whole}"): format!("v{whole}")});
        row.tried(&format!("a result with {half}"), status == 200 && is_whole, &answer);

        let body = format!(r#"{{"entries":[{{"level":"error","message":"l{half}"}}]}}"#);
        let status = old.post("/logs", body).await.status;
        let logs = client.call("observe", json!({"what": "logs", "limit": 1})).await;
        let is_whole = logs["entries"][0]["text"] == format!("l{whole}");
        row.tried(&format!("a line with {half}"), status == 200 && is_whole, &logs);
    }
    row.report();
}

#[tokio::test]
async fn row_29_nor_from_one_that_syncs() {
    let mut row = RowReport::new(29);
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let newer = SyncingExtension::connect(&daemon).await;
    for (half, whole) in HALVES {
        let id = submit(&client).await;
        let query = newer.taken().await;
        let mut said = result_of(&query, json!({"kHALF": "vHALF"}));
        said["extension_logs"] = json!([{"level": "error", "message": "lHALF"}]);
        let status = newer.post(newer.body(&said).replace("HALF", half)).await.status;
        let answer = client.outcome(&id).await;
        let is_whole =
            answer["result"]["value"] == json!({format!("k{whole}"): format!("v{whole}")});
        row.tried(&format!("a result with {half}"), status == 200 && is_whole, &answer);
        let lines = client.call("observe", json!({"what": "extension_logs", "limit": 1})).await;
        let is_whole =
            lines["entries"].to_string().contains(&json!(format!("l{whole}")).to_string());
        row.tried(&format!("a line with {half}"), is_whole, &lines);
    }
    row.report();
}

#[tokio::test]
async fn row_29_every_part_of_a_large_result_is_whole_characters() {
    let mut row = RowReport::new(29);
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let text = r#"😀\ud83d\ude00\\\"\n\u00e9"#.repeat(3_000);
    let whole: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
    for (value, field) in
        [(format!("\"{text}\""), ""), (format!(r#"{{"text":"{text}"}}"#), "/text")]
    {
        let result = format!(r#"{{"success":true,"value":{value}}}"#);
        let id = submit(&client).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        let fence = format!(r#""correlation_id":"{id}","attempt":{}"#, command.attempt);
        say(&mut extension, format!(r#"{{"type":"complete",{fence},"result":{result}}}"#)).await;
        extension.expect_in_time(&command.answer("result_ack")).await;
        for limit in [1, 5, 7, 11, 13, 65_536] {
            let (mut offset, mut read) = (0, String::new());
            for _ in 0..40 {
                let part = json!({"what": "command_result", "correlation_id": id, "offset": offset, "limit": limit});
                let part = client.call("observe", part).await;
                let said = part["result"].pointer(field).and_then(Value::as_str);
                read.push_str(said.unwrap_or_default());
                let is_whole =
                    said.is_some_and(|said| !said.is_empty()) && whole.starts_with(&read);
                row.tried(&format!("{limit} bytes from {offset} of {value:.9}"), is_whole, &part);
                match part["next_offset"].as_u64() {
                    Some(next) => offset = next,
                    None => break,
                }
            }
            assert!(limit < 65_536 || read == whole, "the parts are what was sent");
        }
    }
    row.report();
}

mod browser {
    use super::*;

    #[tokio::test]
    async fn row_29_half_a_character_in_a_real_page() {
        let mut row = RowReport::new(29);
        let stage = Stage::set().await;
        stage.go("/halves").await;
        stage
            .client
            .call("configure", json!({"action": "capture", "streams": ["logs", "actions"]}))
            .await;
        stage.act("refresh").await;
        for script in [
            r"'a\ud83d'",
            r"['a\ud83d', {['k\ud83d']: 1}]",
            r"const a = 'x\ud83d'; a",
            "document.title",
            r"throw new Error('e\ud83d')",
            r"throw 'x'.repeat(999) + '😀'",
            "document.body",
            r"(() => {}).bind(null, 'x\ud83d'), document.querySelector('p')",
        ] {
            let arguments = json!({"action": "execute_js", "script": script, "wait_ms": 20_000});
            // The client's parser refuses halves.
            let answer = body(&stage.client.call_raw("interact", arguments).await);
            let is_told = answer["status"] == "complete" || answer["reason"] == "script_threw";
            row.tried(script, is_told, &answer);
        }
        for analysis in [
            json!({"what": "dom", "selector": "p, button"}),
            json!({"what": "page_summary"}),
            json!({"what": "accessibility"}),
        ] {
            let mut arguments = analysis.clone();
            arguments["wait_ms"] = 20_000.into();
            let answer = body(&stage.client.call_raw("analyze", arguments).await);
            let said = answer["result"].to_string();
            let is_whole = answer["status"] == "complete" && !said.contains(r"\ud83d");
            row.tried(&analysis.to_string(), is_whole, &answer);
        }
        // Its text is cut within an emoji.
        let dom = json!({"what": "dom", "selector": "#cut", "wait_ms": 20_000});
        let dom = body(&stage.client.call_raw("analyze", dom).await);
        let expected = format!("{}…", "x".repeat(299));
        let is_cut = dom["result"]["value"]["matches"][0]["text"] == expected;
        row.tried("a text that is cut within an emoji", is_cut, &dom);
        let lines = async || stage.client.call("observe", json!({"what": "logs"})).await;
        let has_line = async || lines().await.to_string().contains("l\u{fffd}");
        soon("the line", until(has_line)).await;
        row.tried("a line of the console", true, "");
        let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
        row.tried("a title", tabs["tabs"][0]["title"] == "t\u{fffd}", &tabs);
        stage.end().await;
        row.report();
    }
}
