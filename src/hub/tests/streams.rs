//! What browsers send on their own: recorded where it was asked for, and kept.

use serde_json::Value;
use serde_json::value::RawValue;

use super::*;
use crate::hub::streams::IngestCounts;
use crate::protocol::{CaptureSettings, StreamKind, TabCapture};
use crate::streams::{
    EntryFilter, EntryForm, EntryPage, LONGEST_PAGE, LegacyStream, NoiseRules, PageQuery,
    PageStart, StreamView,
};

fn entry(text: &str) -> Box<RawValue> {
    let json = format!(
        r#"{{"t":1795298985123,"tab_id":1,"level":"error","source":"console","text":{text:?},"url":"u"}}"#
    );
    RawValue::from_string(json).unwrap()
}

fn body(text: &str) -> Box<RawValue> {
    let json = format!(
        r#"{{"t":1,"tab_id":1,"request_id":"1","method":"POST","url":"u","request_body":{text:?}}}"#
    );
    RawValue::from_string(json).unwrap()
}

fn malformed() -> Box<RawValue> {
    RawValue::from_string(r#"{"t":1}"#.to_owned()).unwrap()
}

fn logs(browser: Option<&str>) -> PageQuery {
    PageQuery {
        view: StreamView::Of(StreamKind::Logs),
        filter: EntryFilter { browser: browser.map(BrowserId::from), ..EntryFilter::default() },
        from: PageStart::Newest,
        limit: 50,
        room: LONGEST_PAGE,
        form: EntryForm::Whole,
    }
}

fn texts(page: &EntryPage) -> Vec<String> {
    let entries = page.entries.iter().map(|entry| serde_json::from_str(entry.get()).unwrap());
    entries.map(|entry: Value| entry["text"].as_str().unwrap().to_owned()).collect()
}

impl Extension {
    fn sends(&self, stream: &str, entries: Vec<Box<RawValue>>) {
        self.link.receive(FromExtension::Events { stream: stream.to_owned(), entries });
    }

    async fn captures(&mut self) -> CaptureSettings {
        match self.frame().await {
            ToExtension::Capture { capture } => capture,
            other => panic!("expected capture, got {other:?}"),
        }
    }
}

/// Lets what waits be read.
async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn on(streams: &[StreamKind], browser: Option<&str>, tab: Option<i64>) -> CaptureChange {
    CaptureChange {
        on: true,
        streams: Some(streams.iter().copied().collect()),
        of: TargetSelector { browser: browser.map(str::to_owned), tab: tab.map(TabId) },
    }
}

fn off(browser: Option<&str>, tab: Option<i64>) -> CaptureChange {
    CaptureChange { on: false, streams: None, ..on(&[], browser, tab) }
}

fn in_all(streams: &[StreamKind]) -> CaptureSettings {
    CaptureSettings { all: streams.iter().copied().collect(), tabs: Vec::new() }
}

#[tokio::test(start_paused = true)]
async fn what_two_browsers_send_is_kept_and_told_apart() {
    let hub = Hub::start(Limits::default());
    let (one, two) = (Extension::connect(&hub, "b1", "i1"), Extension::connect(&hub, "b2", "i1"));
    one.sends("logs", vec![entry("of one")]);
    two.sends("logs", vec![entry("of two")]);
    settled().await;
    let both = hub.read_streams(&agent("a"), logs(None)).await;
    assert_eq!(texts(&both), ["of one", "of two"]);
    let of_two = hub.read_streams(&agent("a"), logs(Some("b2"))).await;
    assert_eq!(texts(&of_two), ["of two"]);
    assert_eq!(hub.clear_logs(&BrowserId::from("b1")), 1);
    assert_eq!(texts(&hub.read_streams(&agent("a"), logs(None)).await), ["of two"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_entry_is_rejected_and_counted_and_the_others_are_kept() {
    let hub = Hub::start(Limits::default());
    let browser = BrowserId::from("b1");
    let taken = hub.0.streams.take(
        &hub,
        &browser,
        StreamKind::Logs,
        &[entry("1"), malformed(), entry("2")],
    );
    assert_eq!(taken, IngestCounts { received: 2, rejected: 1 });
    let extension = Extension::connect(&hub, "b1", "i1");
    extension.sends("logs", vec![malformed(), entry("3")]);
    extension.sends("streams_of_tomorrow", vec![entry("4")]);
    settled().await;
    let page = hub.read_streams(&agent("a"), logs(None)).await;
    assert_eq!((texts(&page), page.rejected), (vec!["1".into(), "2".into(), "3".into()], 2));
}

#[tokio::test(start_paused = true)]
async fn what_waits_to_be_read_is_bounded_and_readers_are_told_what_was_lost() {
    let hub = Hub::start(Limits::default());
    let extension = Extension::connect(&hub, "b1", "i1");
    extension.sends("logs", vec![entry("first")]);
    settled().await;
    let cursor = hub.read_streams(&agent("a"), logs(None)).await.next;
    // Nothing of it is read before all is there: 6 MiB.
    for _ in 0..6 {
        extension.sends("logs", (0..8).map(|_| entry(&"x".repeat(128 * 1024))).collect());
    }
    settled().await;
    let query = PageQuery { from: PageStart::Cursor(cursor), limit: 200, ..logs(None) };
    let page = hub.read_streams(&agent("a"), query).await;
    assert_eq!(page.dropped, 24, "three batches had to go");
}

#[tokio::test(start_paused = true)]
async fn what_comes_on_a_link_that_was_replaced_does_not_count() {
    let hub = Hub::start(Limits::default());
    let old = Extension::connect(&hub, "b1", "i1");
    let _new = Extension::connect(&hub, "b1", "i2");
    old.sends("logs", vec![entry("late")]);
    settled().await;
    assert_eq!(hub.stream_entries(StreamKind::Logs), 0);
}

#[tokio::test(start_paused = true)]
async fn bodies_of_a_polling_extension_are_kept_like_the_others() {
    let hub = Hub::start(Limits::default());
    let browser = BrowserId::from("legacy");
    let body = br#"{"entries":[{"message":"Authorization: Bearer abc","level":"error"},{}]}"#;
    let taken = hub.take_legacy_events(&browser, LegacyStream::Logs, body).await.unwrap();
    assert_eq!(taken, IngestCounts { received: 1, rejected: 1 });
    let page = hub.read_streams(&agent("a"), logs(None)).await;
    assert_eq!(texts(&page), ["Authorization: [redacted]"]);
    assert!(hub.take_legacy_events(&browser, LegacyStream::Logs, b"{").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_recorded_until_somebody_asks_and_browsers_that_connect_later_are_told() {
    let hub = Hub::start(Limits::default());
    let mut early = Extension::connect(&hub, "b1", "i1");
    assert_eq!(hub.capture_of(&"b1".into()), CaptureSettings::default());
    hub.capture(&agent("a"), &on(&[StreamKind::Logs], None, None)).unwrap();
    assert_eq!(early.captures().await, in_all(&[StreamKind::Logs]));
    let _late = Extension::connect(&hub, "b2", "i1");
    assert_eq!(hub.capture_of(&"b2".into()), in_all(&[StreamKind::Logs]), "in its welcome");
    hub.capture(&agent("b"), &on(&[StreamKind::Logs], None, None)).unwrap();
    assert!(early.is_quiet().await, "what has not changed is not told");
    hub.capture(&agent("b"), &off(None, None)).unwrap();
    assert_eq!(early.captures().await, CaptureSettings::default());
}

#[tokio::test(start_paused = true)]
async fn one_tab_of_one_browser_is_recorded_until_it_is_closed() {
    let hub = Hub::start(Limits::default());
    let mut one = Extension::connect(&hub, "b1", "i1");
    let mut two = Extension::connect(&hub, "b2", "i1");
    let change = on(&[StreamKind::Bodies], Some("b1"), Some(2));
    hub.capture(&agent("a"), &change).unwrap();
    let of_tab = TabCapture { tab_id: TabId(2), streams: [StreamKind::Bodies].into() };
    let expected = CaptureSettings { tabs: vec![of_tab], ..CaptureSettings::default() };
    assert_eq!(one.captures().await, expected);
    assert!(two.is_quiet().await);
    let is_recorded = |browser: Option<&BrowserId>| {
        hub.captures_for(&agent("a").owner, StreamKind::Bodies, browser, Some(TabId(2)))
    };
    assert!(is_recorded(None));
    assert!(!is_recorded(Some(&"b2".into())));
    one.link.receive(FromExtension::Tabs { tabs: tabs(3..=5, "http://127.0.0.1/") });
    assert_eq!(one.captures().await, CaptureSettings::default());
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_is_back_gets_what_was_set_meanwhile() {
    let hub = Hub::start(Limits::default());
    drop(Extension::connect(&hub, "b1", "i1"));
    hub.capture(&agent("a"), &on(&[StreamKind::Actions], Some("b1"), None)).unwrap();
    let mut back = Extension::connect(&hub, "b1", "i2");
    assert_eq!(hub.capture_of(&"b1".into()), in_all(&[StreamKind::Actions]), "in its welcome");
    assert!(back.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn tabs_of_a_former_run_of_the_browser_are_not_recorded_in_the_next() {
    let hub = Hub::start(Limits::default());
    let first = Extension::attach(&hub, "b1", "i1");
    first.ready_with(Some("run 1"), tabs(1..=3, "http://one.test/"), Vec::new());
    hub.capture(&agent("a"), &on(&[StreamKind::Logs], None, Some(2))).unwrap();
    let mut second = Extension::attach(&hub, "b1", "i2");
    second.ready_with(Some("run 2"), tabs(1..=3, "http://two.test/"), Vec::new());
    assert_eq!(second.captures().await, CaptureSettings::default());
}

#[tokio::test(start_paused = true)]
async fn what_is_usually_recorded_is_all_but_bodies_and_all_goes_off() {
    let hub = Hub::start(Limits::default());
    let usual = CaptureChange { on: true, ..CaptureChange::default() };
    let all = hub.capture(&agent("a"), &usual).unwrap().all;
    assert!(all.contains(&StreamKind::Network) && !all.contains(&StreamKind::Bodies));
    assert!(!all.contains(&StreamKind::ExtensionLogs), "that one is always there");
    hub.capture(&agent("a"), &on(&[StreamKind::Bodies], None, None)).unwrap();
    assert!(hub.capture(&agent("a"), &off(None, None)).unwrap().all.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_is_not_there_or_could_be_of_two_browsers_is_refused() {
    let hub = Hub::start(Limits::default());
    let change = on(&[StreamKind::Logs], None, Some(99));
    let why = |hub: &Hub, change: &CaptureChange| hub.capture(&agent("a"), change).unwrap_err().why;
    assert!(matches!(why(&hub, &change), RefusalReason::BrowserGone { .. }));
    let _one = Extension::connect(&hub, "b1", "i1");
    assert!(matches!(why(&hub, &change), RefusalReason::TabGone { .. }));
    let _two = Extension::connect(&hub, "b2", "i1");
    let of_both = on(&[StreamKind::Logs], None, Some(1));
    assert!(matches!(why(&hub, &of_both), RefusalReason::AmbiguousBrowser { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_page_is_judged_by_what_is_kept_of_its_tab() {
    let hub = Hub::start(Limits::default());
    let _extension = Extension::connect(&hub, "b1", "i1");
    let browser = BrowserId::from("b1");
    let _ =
        hub.0.streams.take(&hub, &browser, StreamKind::Logs, &[entry("one"), entry("[HMR] two")]);
    let mut noise = crate::streams::NoiseRules::default();
    noise.add("[hmr]").unwrap();
    hub.set_noise(&"user".into(), noise);
    let (found, tab) = hub.find_tab(&agent("a"), &TargetSelector::default(), false).unwrap();
    assert_eq!((&found, tab.tab_id), (&browser, TabId(1)), "the active one");
    let record = hub.page_record(&agent("a"), &browser, TabId(1)).await;
    assert_eq!((record.errors, record.hidden, record.failed_requests), (1, 1, 0));
    assert_eq!(hub.page_record(&agent("a"), &browser, TabId(2)).await.errors, 0);
}

#[tokio::test(start_paused = true)]
async fn the_person_reads_entries_of_all_browsers_whatever_owners_have_cleared_or_hidden() {
    let hub = Hub::start(Limits::default());
    let (one, two) = (Extension::connect(&hub, "b1", "i1"), Extension::connect(&hub, "b2", "i1"));
    one.sends("logs", vec![entry("of one")]);
    two.sends("logs", vec![entry("of two")]);
    one.sends("bodies", vec![body("typed")]);
    settled().await;
    let mut noise = NoiseRules::default();
    noise.add("of one").unwrap();
    hub.set_noise(&"a".into(), noise);
    let _cleared = hub.clear_streams(&"a".into(), [StreamKind::Logs]);
    let page = hub.recordings(PageStart::Oldest).await;
    assert_eq!(texts(&page), ["of one", "of two"], "no bodies");

    two.sends("logs", vec![entry("later")]);
    settled().await;
    let page = hub.recordings(PageStart::Cursor(page.next)).await;
    assert_eq!((texts(&page), page.dropped), (vec!["later".to_owned()], 0));
    let last: Value = serde_json::from_str(page.entries[0].get()).unwrap();
    let id = last["id"].as_str().unwrap();
    let whole: Value = serde_json::from_str(hub.recorded_entry(id).unwrap().get()).unwrap();
    assert_eq!((&whole["text"], &whole["browser"]), (&last["text"], &last["browser"]));
    for other in ["logs.99", "bodies.0", "logs", "x.0"] {
        assert!(hub.recorded_entry(other).is_none(), "{other}");
    }
    let empty = hub.recordings(PageStart::Cursor(page.next)).await;
    assert_eq!((empty.entries.len(), empty.has_more), (0, false));
}

#[tokio::test(start_paused = true)]
async fn a_page_of_entries_for_the_person_is_bounded_and_says_what_was_dropped_between_two() {
    let hub = Hub::start(Limits { logs: 500, ..Limits::default() });
    let extension = Extension::connect(&hub, "b1", "i1");
    extension.sends("logs", (0..450).map(|n| entry(&format!("{n}"))).collect());
    settled().await;
    let mut from = PageStart::Oldest;
    let mut read = Vec::new();
    loop {
        let page = hub.recordings(from).await;
        assert!(page.entries.len() <= 200);
        read.extend(texts(&page));
        from = PageStart::Cursor(page.next);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(read, (0..450).map(|n| n.to_string()).collect::<Vec<_>>());
    extension.sends("logs", (0..700).map(|n| entry(&format!("{n}"))).collect());
    settled().await;
    assert_eq!(hub.recordings(from).await.dropped, 200, "500 of 700 are kept");
}
