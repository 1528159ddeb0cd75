//! The HTTP archive that an agent saves, as a program that others wrote reads it.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{soon, until};

use super::installed;
use crate::browser::Stage;

/// What the reader makes of a file.
async fn read(path: &Path) -> Value {
    let mut reader = tokio::process::Command::new(installed("target/clients/bin/python"));
    let script = installed("tests/clients/read_har.py");
    let read = reader.arg(script).arg(path).output().await.unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    serde_json::from_slice(&read.stdout).unwrap()
}

#[tokio::test]
async fn a_reader_finds_the_recorded_requests_of_a_page_and_no_secret_in_the_archive() {
    let stage = Stage::set().await;
    let save = |path: &str| json!({"action": "save_har", "path": path});
    let nothing = stage.client.call_fails("configure", save("shop.har")).await;
    assert_eq!(nothing["error"], "nothing_recorded", "{nothing}");
    let streams = json!({"action": "capture", "streams": ["network", "bodies"]});
    stage.client.call("configure", streams).await;
    stage.go("/second").await;
    let send = "return (await fetch('/status?201&item=7&token=tok-4711', {method: 'POST', \
                headers: {'content-type': 'application/json', authorization: 'Bearer sesame-4711'}, \
                body: JSON.stringify({item: 7, password: 'hunter-4711'})})).status";
    stage.value(send).await;
    // The browser is asked for the bodies once the request has ended: they are recorded after it.
    let is_recorded = async || {
        let sent = stage.client.call("observe", json!({"what": "network", "url": "item=7"})).await;
        let Some(id) = sent["entries"][0]["request_id"].as_str() else { return false };
        let whole = json!({"what": "network", "request_id": id});
        let whole = stage.client.call("observe", whole).await;
        whole.to_string().contains("request_body")
    };
    soon("the request and its body", until(is_recorded)).await;

    let saved = stage.client.call("configure", save("shop.har")).await;
    let path = Path::new(saved["path"].as_str().unwrap()).to_owned();
    let archive = read(&path).await;
    assert_eq!((&archive["version"], &archive["creator"]), (&json!("1.2"), &json!("Tabwire")));
    let entries = archive["entries"].as_array().unwrap();
    assert_eq!(saved["requests"], entries.len());
    let find = |part: &str| {
        let is_it = |entry: &&Value| entry["url"].as_str().unwrap().contains(part);
        entries.iter().find(is_it).unwrap_or_else(|| panic!("{part}: {archive}"))
    };
    let page = find("/second");
    assert_eq!((&page["method"], &page["status"]), (&json!("GET"), &json!(200)), "{page}");
    assert_eq!(
        (&page["mime_type"], &page["content_type"]),
        (&json!("text/html"), &json!("text/html"))
    );
    let sent = find("item=7");
    assert_eq!((&sent["method"], &sent["waited"]), (&json!("POST"), &json!(true)), "{sent}");
    assert!(sent["sent"].as_str().unwrap().contains("\"item\":7"), "{sent}");
    assert!(sent["query"].to_string().contains("\"item\""), "{sent}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("4711") && text.contains("[redacted]"), "{text}");

    // Nothing is overwritten, other endings are refused, and a filter leaves requests out.
    let again = stage.client.call_fails("configure", save("shop.har")).await;
    assert!(again["message"].as_str().unwrap().contains("exists already"), "{again}");
    let ending = stage.client.call_fails("configure", save("shop.sh")).await;
    assert_eq!(ending["param"], "path", "{ending}");
    let one = json!({"action": "save_har", "path": "one.har", "url": "item=7"});
    assert_eq!(stage.client.call("configure", one).await["requests"], 1);
    stage.end().await;
}
