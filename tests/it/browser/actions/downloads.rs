//! Waits for downloads, and downloads that acts begin.

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use testkit::McpClient;

use super::ActionStage;

/// Clicks a link to a file, and waits for the download; the answer of the wait.
async fn after_click(stage: &ActionStage, file: &str) -> (Value, Value) {
    stage.read(&format!("file.href = '/download?{file}'")).await;
    let clicked = stage.act("click", json!({"target": "#file"})).await;
    (clicked, stage.answer("wait_for", json!({"download": true})).await)
}

#[tokio::test]
async fn a_download_is_told_by_the_click_that_begins_it_and_waited_for_until_it_ends() {
    let stage = ActionStage::open("flow.html").await;
    let (clicked, waited) = after_click(&stage, "list.csv").await;
    let told = &clicked["download"];
    assert_eq!((&told["file_name"], &told["mime_type"]), (&json!("list.csv"), &json!("text/csv")));
    let done = &waited["result"]["value"]["download"];
    assert_eq!((&waited["status"], &done["bytes"]), (&json!("complete"), &json!(3)), "{waited}");
    let path = done["path"].as_str().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"a,b", "{done}");
    // Each is told once.
    let none = json!({"download": true, "timeout_ms": 900});
    let none = stage.answer("wait_for", none).await;
    assert!(none["error"].as_str().unwrap().contains("the tab has begun no download"), "{none}");

    let (_, cut) = after_click(&stage, "cut.csv&cut").await;
    assert_eq!(cut["reason"], "download_failed", "{cut}");
    let (error, hint) = (cut["error"].as_str().unwrap(), cut["hint"].as_str().unwrap());
    assert!(error.contains("cut.csv") && error.contains("of 1000 bytes"), "{cut}");
    assert!(hint.contains("Begin it again"), "{cut}");

    // One that the person cancels, and one that takes too long.
    let mut user = stage.user().await;
    user.open_beside(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    stage.read("file.href = '/download?slow.csv&part'").await;
    let clicked = stage.act("click", json!({"target": "#file"})).await;
    assert_eq!(clicked["download"]["file_name"], "slow.csv", "{clicked}");
    let late = stage.answer("wait_for", json!({"download": true, "timeout_ms": 900})).await;
    assert!(late["error"].as_str().unwrap().contains("slow.csv has 3 bytes so far"), "{late}");
    let wait = json!({"action": "wait_for", "download": true, "tab_id": stage.tab});
    let id = stage.client().submit(wait).await;
    user.read(
        "chrome.downloads.search({state: 'in_progress'})\
         .then((found) => Promise.all(found.map(({id}) => chrome.downloads.cancel(id)))).then(() => 1)",
    )
    .await;
    let cancelled = stage.client().outcome(&id).await;
    assert_eq!(cancelled["reason"], "download_failed", "{cancelled}");
    assert!(cancelled["error"].as_str().unwrap().contains("cancelled in the browser"));
    stage.end().await;
}

#[tokio::test]
async fn a_client_lists_waits_for_and_cancels_the_downloads_of_its_own_acts_and_sees_no_others() {
    let stage = ActionStage::open("flow.html").await;
    let mut user = stage.user().await;
    user.open_beside(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    let mine =
        async || stage.act("downloads", json!({"operation": "list"})).await["downloads"].clone();
    // The person's own.
    let theirs = stage.url("download?theirs.csv");
    user.read(&format!("chrome.downloads.download({{url: {theirs:?}}})")).await;
    assert_eq!(mine().await, json!([]));

    stage.read("file.href = '/download?list.csv'").await;
    stage.act("click", json!({"target": "#file"})).await;
    let done = stage.act("downloads", json!({"operation": "wait"})).await;
    assert_eq!((&done["file_name"], &done["state"]), (&json!("list.csv"), &json!("complete")));
    assert_eq!(std::fs::read(done["path"].as_str().unwrap()).unwrap(), b"a,b", "{done}");
    stage.answer("navigate", json!({"url": stage.url("download?slow.csv&part")})).await;
    let listed = mine().await;
    assert_eq!(
        (&listed[0]["file_name"], &listed[0]["state"]),
        (&json!("slow.csv"), &json!("in_progress"))
    );
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["bytes"]), (2, &json!(1_000)));
    let late = json!({"operation": "wait", "timeout_ms": 900});
    let late = stage.answer("downloads", late).await;
    assert!(late["error"].as_str().unwrap().contains("slow.csv has 3 bytes so far"), "{late}");

    // Another agent of the same program: neither listed nor cancelled.
    let id = listed[0]["download_id"].clone();
    let other = McpClient::legacy(&stage.stage.daemon).named("other");
    let ask = |params: Value| json!({"action": "downloads", "wait_ms": 10_000, "trace": true, "operation": params["operation"], "download_id": params["id"]});
    let mut list = ask(json!({"operation": "list"}));
    list.as_object_mut().unwrap().remove("download_id");
    let told = other.call("interact", list).await;
    assert_eq!(told["result"]["value"]["downloads"], json!([]), "{told}");
    let refused = testkit::body(
        &other.call_raw("interact", ask(json!({"operation": "cancel", "id": id}))).await,
    );
    assert_eq!(refused["reason"], "invalid_params", "{refused}");

    let cancelled = stage.act("downloads", json!({"operation": "cancel", "download_id": id})).await;
    assert_eq!(cancelled["cancelled"], "slow.csv", "{cancelled}");
    let failed = stage.fails("downloads", json!({"operation": "wait", "download_id": id})).await;
    assert_eq!(failed["reason"], "download_failed", "{failed}");
    let ended = stage.fails("downloads", json!({"operation": "cancel", "download_id": id})).await;
    assert!(ended["error"].as_str().unwrap().contains("nothing to cancel"), "{ended}");
    stage.end().await;
}
