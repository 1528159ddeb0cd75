//! Tabwire's own pages: no call opens one, no list and no stream has one.

use super::*;
use crate::protocol::actions::{BatchAction, NavigateAction, TabOpenAction};
use crate::protocol::{EXTENSION_ID, StreamKind};

fn own() -> [String; 3] {
    [
        "http://127.0.0.1:7890/dashboard".to_owned(),
        "http://localhost:7890/".to_owned(),
        format!("chrome-extension://{EXTENSION_ID}/popup/popup.html"),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_call_that_opens_an_own_page_is_refused_and_becomes_no_command() {
    let hub = Hub::start(Limits::default());
    hub.set_own_port(7890);
    let mut browser = Extension::connect(&hub, "b", "i");
    for url in own() {
        let step = serde_json::json!({"steps": [{"action": "navigate", "url": url}]});
        let batch: BatchAction = serde_json::from_value(step).unwrap();
        for action in [
            Action::Navigate(NavigateAction { url: url.clone(), focus: None }),
            Action::TabOpen(TabOpenAction {
                url: Some(url.clone()),
                focus: None,
                share: None,
                keep: None,
                private: None,
            }),
            Action::Batch(batch),
        ] {
            let refused = hub.submit(&agent("a"), Submission { action, ..script() }).await;
            let CallRefusal { why, .. } = refused.unwrap_err();
            assert_eq!(why.code(), "tabwire_page", "{url}");
        }
    }
    assert!(browser.is_quiet().await);
    let other = NavigateAction { url: "http://127.0.0.1:7891/".to_owned(), focus: None };
    let other = Submission { action: Action::Navigate(other), ..script() };
    assert!(hub.submit(&agent("a"), other).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_tab_with_an_own_page_is_in_no_list_from_its_first_mention() {
    let hub = Hub::start(Limits::default());
    hub.set_own_port(7890);
    let browser = Extension::attach(&hub, "b", "i");
    let with = |url: &str| {
        let mut all = tabs(1..=3, "http://a.example/");
        url.clone_into(&mut all[1].url);
        all
    };
    let listed = || -> Vec<_> {
        hub.tabs(&agent("a")).into_iter().map(|summary| summary.tab.tab_id.0).collect()
    };
    let [first, others @ ..] = own();
    browser.ready_with(None, with(&first), Vec::new());
    assert_eq!(listed(), [1, 3]);
    for url in others {
        browser.link.receive(FromExtension::Tabs { tabs: with("http://b.example/") });
        assert_eq!(listed(), [1, 2, 3]);
        browser.link.receive(FromExtension::Tabs { tabs: with(&url) });
        assert_eq!(listed(), [1, 3], "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_of_an_own_page_or_of_a_request_to_one_is_not_kept() {
    let hub = Hub::start(Limits::default());
    hub.set_own_port(7890);
    let browser = Extension::connect(&hub, "b", "i");
    let send = |stream: &str, entry: serde_json::Value| {
        let entries = vec![RawValue::from_string(entry.to_string()).unwrap()];
        browser.link.receive(FromExtension::Events { stream: stream.to_owned(), entries });
    };
    let page = "http://a.example/";
    for url in own() {
        let line = serde_json::json!({"t": 1, "tab_id": 1, "level": "error", "source": "console", "text": "x", "url": url});
        send("logs", line);
        for (url, page_url) in [(url.as_str(), page), (page, url.as_str())] {
            send(
                "network",
                serde_json::json!({"t": 1, "tab_id": 1, "method": "GET", "url": url, "page_url": page_url}),
            );
        }
        send("actions", serde_json::json!({"t": 1, "tab_id": 1, "kind": "navigate", "url": url}));
    }
    send(
        "network",
        serde_json::json!({"t": 1, "tab_id": 1, "method": "GET", "url": page, "page_url": page}),
    );
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(hub.stream_entries(StreamKind::Network), 1);
    assert_eq!(hub.stream_entries(StreamKind::Logs), 0);
    assert_eq!(hub.stream_entries(StreamKind::Actions), 0);
}
