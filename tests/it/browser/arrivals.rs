//! What a navigation tells of what it came to: the HTTP status, a redirect, a download instead of a
//! page. Real Chromium with the real extension, as in `browser`.

use serde_json::{Value, json};

use crate::browser::Stage;
use testkit::Stopwatch;

fn value(answer: &Value) -> &Value {
    assert_eq!(answer["status"], "complete", "{answer}");
    &answer["result"]["value"]
}

#[tokio::test]
async fn a_navigation_tells_the_http_status_of_the_page_that_it_came_to() {
    let stage = Stage::set().await;
    for (path, status, title) in [
        ("/second", 200, "Second Page"),
        ("/status?404", 404, "Status 404"),
        ("/status?500", 500, "Status 500"),
    ] {
        let answer = stage.go(path).await;
        assert_eq!(value(&answer)["http_status"], status, "{answer}");
        assert_eq!(value(&answer)["title"], title, "{answer}");
        assert!(value(&answer).get("redirected_from").is_none(), "{answer}");
        let answer = stage.act("refresh").await;
        assert_eq!(value(&answer)["http_status"], status, "{answer}");
    }
    let opened = json!({"action": "tab_open", "url": stage.pages.url("/status?410")});
    let answer = stage.interact(opened).await;
    assert_eq!(value(&answer)["http_status"], 410, "{answer}");
    // A page that no server was asked for has none.
    let blank = json!({"action": "navigate", "url": "about:blank"});
    let answer = stage.interact(blank).await;
    assert_eq!(*value(&answer), json!({"url": "about:blank", "title": "about:blank"}), "{answer}");

    let empty = stage.go("/status?503&empty").await;
    assert_eq!(empty["reason"], "navigation_failed", "{empty}");
    assert!(empty["error"].as_str().unwrap().contains("HTTP error status and no page"), "{empty}");
    stage.end().await;
}

#[tokio::test]
async fn a_redirect_is_told_with_the_address_that_it_began_with() {
    let stage = Stage::set().await;
    let answer = stage.go("/to?/to?/status?404").await;
    let (from, to) = (stage.pages.url("/to?/to?/status?404"), stage.pages.url("/status?404"));
    let title = "Status 404";
    let told = json!({"url": to, "title": title, "http_status": 404, "redirected_from": from});
    assert_eq!(*value(&answer), told, "{answer}");

    let opened = json!({"action": "tab_open", "url": stage.pages.url("/to?/second")});
    let answer = stage.interact(opened).await;
    assert_eq!(value(&answer)["url"], stage.pages.url("/second"), "{answer}");
    assert_eq!(value(&answer)["redirected_from"], stage.pages.url("/to?/second"), "{answer}");
    stage.end().await;
}

#[tokio::test]
async fn a_download_ends_its_navigation_at_once_names_its_file_and_leaves_the_tab_where_it_was() {
    let stage = Stage::set().await;
    for (path, name) in [("/download?a.csv", "a.csv"), ("/to?/download?b.csv", "b.csv")] {
        let watch = Stopwatch::start();
        let answer = stage.go(path).await;
        watch.assert_under(5_000, path);
        let url = stage.pages.url(&format!("/download?{name}"));
        let download = json!({"file_name": name, "url": url, "mime_type": "text/csv", "bytes": 3});
        assert_eq!(value(&answer)["download"], download, "{answer}");
        assert!(value(&answer).get("http_status").is_none(), "{answer}");
        assert_eq!(value(&answer)["url"], stage.pages.url("/"), "{answer}");
        assert_eq!(value(&answer).get("redirected_from").is_some(), path.starts_with("/to?"));
        assert_eq!(stage.value("document.title").await, "Home Page");
    }
    let url = stage.pages.url("/download?c.csv");
    let answer = stage.interact(json!({"action": "tab_open", "url": url})).await;
    assert_eq!(value(&answer)["download"]["file_name"], "c.csv", "{answer}");
    // The browser may close a tab that was opened for a download alone.
    let is_closed = value(&answer)["tab_closed"] == true && value(&answer).get("tab_id").is_none();
    assert!(is_closed || value(&answer)["url"] == "about:blank", "{answer}");

    // Another answer without a page, which is no download.
    let watch = Stopwatch::start();
    let answer = stage.go("/status?204").await;
    watch.assert_under(5_000, "204");
    assert_eq!(answer["reason"], "navigation_failed", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("without a page"), "{answer}");
    stage.end().await;
}
