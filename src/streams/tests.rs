//! What is kept of streams, and how it is read.

use serde_json::{Value, json};

use super::*;
use crate::lifecycle::Limits;
use crate::protocol::{BrowserId, StreamKind, TabId, Timestamp, garbled};
use proptest::{prop_assert, proptest};

const LIFE: &str = "1795298985123-0123";
const LEGACY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/legacy/events.json"));

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_unix_micros((1_795_298_000 + seconds) * 1_000_000)
}

fn browser(name: &str) -> BrowserId {
    name.into()
}

fn log(text: &str) -> Value {
    json!({"t": 1_795_298_000_123_u64, "tab_id": 7, "level": "log", "source": "console",
           "text": text, "url": "http://page.test/a"})
}

fn request(id: &str, status: u16) -> Value {
    json!({"t": 1_795_298_000_123_u64, "tab_id": 7, "request_id": id, "method": "GET",
           "url": format!("http://api.test/{id}"), "page_url": "http://page.test/a",
           "resource_type": "fetch", "status": status, "duration_ms": 1.5})
}

fn read(stream: StreamKind, json: &Value) -> StreamEntry {
    StreamEntry::read(stream, &json.to_string()).unwrap()
}

fn shelf() -> StreamRings {
    StreamRings::new(&Limits { logs: 10, ..Limits::default() })
}

fn push(rings: &mut StreamRings, stream: StreamKind, json: &Value) {
    rings.push(&browser("b1"), read(stream, json), at(0));
}

fn fill(rings: &mut StreamRings, numbers: std::ops::Range<u32>) {
    for number in numbers {
        push(rings, StreamKind::Logs, &log(&format!("line {number}")));
    }
}

fn query(view: StreamView) -> PageQuery {
    let form = EntryForm::Whole;
    let filter = EntryFilter::default();
    PageQuery { view, filter, from: PageStart::Newest, limit: 50, room: LONGEST_PAGE, form }
}

fn page_of(rings: &StreamRings, query: PageQuery) -> EntryPage {
    noisy_page_of(rings, query, NoiseRules::default())
}

fn noisy_page_of(rings: &StreamRings, query: PageQuery, noise: NoiseRules) -> EntryPage {
    let cleared = ClearedPlaces::default();
    read_page(PageReader::new(rings, query, noise, &cleared, None, at(10)))
}

fn page_without(rings: &StreamRings, query: PageQuery, cleared: &ClearedPlaces) -> EntryPage {
    read_page(PageReader::new(rings, query, NoiseRules::default(), cleared, None, at(10)))
}

fn read_page(mut reader: PageReader) -> EntryPage {
    while reader.look_at(3) {}
    reader.page()
}

fn shown(page: &EntryPage) -> Vec<Value> {
    page.entries.iter().map(|entry| serde_json::from_str(entry.get()).unwrap()).collect()
}

fn texts(page: &EntryPage) -> Vec<String> {
    shown(page).iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
}

fn lines(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("line {number}")).collect()
}

#[test]
fn lines_leave_out_the_origin_of_their_pages_if_they_have_the_same() {
    let mut rings = shelf();
    let lines = |rings: &StreamRings| {
        let form = EntryForm::Line;
        let page = page_of(rings, PageQuery { form, ..query(StreamView::Of(StreamKind::Network)) });
        let lines = page.entries.iter().map(|line| serde_json::from_str(line.get()).unwrap());
        json!([lines.collect::<Vec<Value>>(), page.mark])
    };
    let of = |page: &str, url: &str| json!({"t": 1, "method": "GET", "status": 200, "url": url, "page_url": page});
    push(&mut rings, StreamKind::Network, &of("http://a.test/shop", "http://a.test/b"));
    push(&mut rings, StreamKind::Network, &of("http://a.test/", "http://a.test.evil/b"));
    let expected = json!([["GET 200 /b", "GET 200 http://a.test.evil/b"], "http://a.test"]);
    assert_eq!(lines(&rings), expected);
    push(&mut rings, StreamKind::Network, &of("http://c.test/", "http://a.test/b"));
    let told = lines(&rings);
    assert_eq!((&told[0][0], &told[1]), (&json!("GET 200 http://a.test/b"), &json!("*")));
}

#[test]
fn an_entry_is_shown_as_it_was_sent_with_its_time_and_browser() {
    let mut rings = shelf();
    push(&mut rings, StreamKind::Network, &request("r1", 200));
    let page = page_of(&rings, query(StreamView::Of(StreamKind::Network)));
    assert_eq!(
        shown(&page),
        [json!({
            "at": "2026-11-21T21:53:20.123Z", "browser": "b1", "tab_id": 7, "request_id": "r1",
            "method": "GET", "url": "http://api.test/r1", "page_url": "http://page.test/a",
            "resource_type": "fetch", "status": 200, "duration_ms": 1.5,
        })]
    );
}

#[test]
fn every_stream_has_its_shape_and_what_lacks_it_is_malformed() {
    let tab = json!({"t": 1, "tab_id": 7});
    let with = |more: Value| {
        let mut entry = tab.clone();
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    for (stream, good) in [
        (StreamKind::Logs, json!({"level": "warn", "source": "console", "text": "x"})),
        (StreamKind::Network, json!({"request_id": "1", "method": "GET", "url": "u"})),
        (StreamKind::Bodies, json!({"request_id": "1", "method": "GET", "url": "u"})),
        (StreamKind::Websocket, json!({"request_id": "1", "url": "u", "event": "open"})),
        (StreamKind::Actions, json!({"kind": "click", "url": "u"})),
        (StreamKind::Performance, json!({"url": "u", "metrics": {"cls": 0.1}})),
        (StreamKind::ExtensionLogs, json!({"level": "warn", "text": "x"})),
    ] {
        let good = with(good);
        assert_eq!(read(stream, &good).stream(), stream);
        for field in good.as_object().unwrap().keys() {
            if ["tab_id", "request_id", "method"].contains(&field.as_str()) {
                continue;
            }
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().shift_remove(field);
            assert!(
                StreamEntry::read(stream, &bad.to_string()).is_err(),
                "{stream:?} without {field}"
            );
            bad[field.as_str()] = true.into();
            assert!(
                StreamEntry::read(stream, &bad.to_string()).is_err(),
                "{stream:?}: {field} is true"
            );
        }
    }
}

#[test]
fn a_ring_keeps_its_last_entries_and_no_more() {
    let mut rings = shelf();
    fill(&mut rings, 0..25);
    assert_eq!(rings.count(StreamKind::Logs), 10);
    let page = page_of(&rings, query(StreamView::Of(StreamKind::Logs)));
    assert_eq!(texts(&page), lines(15..25));
    assert_eq!((page.has_more, page.has_older, page.dropped), (false, false, 0));
}

#[test]
fn all_rings_together_keep_to_their_bytes_and_the_oldest_of_all_goes() {
    let mut rings = StreamRings::new(&Limits { streams_mib: 1, ..Limits::default() });
    push(&mut rings, StreamKind::Network, &request("old", 200));
    for number in 0..1_000 {
        push(&mut rings, StreamKind::Logs, &log(&format!("{number} {}", "x".repeat(4_000))));
        assert!(rings.bytes() <= 1 << 20);
    }
    assert_eq!(rings.count(StreamKind::Network), 0, "it was the oldest");
    assert!(rings.count(StreamKind::Logs) > 200, "{}", rings.count(StreamKind::Logs));
    for stream in StreamKind::ALL {
        let _ = rings.clear_of(stream, &browser("b1"));
    }
    assert_eq!(rings.bytes(), 0);
}

#[test]
fn without_a_cursor_the_newest_are_shown_and_the_cursor_reads_on_from_there() {
    let mut rings = shelf();
    fill(&mut rings, 0..8);
    let newest = page_of(&rings, PageQuery { limit: 3, ..query(StreamView::Of(StreamKind::Logs)) });
    assert_eq!(texts(&newest), lines(5..8));
    assert_eq!((newest.has_more, newest.has_older), (false, true));
    fill(&mut rings, 8..12);
    let next = PageQuery {
        limit: 3,
        from: PageStart::Cursor(newest.next),
        ..query(StreamView::Of(StreamKind::Logs))
    };
    let next = page_of(&rings, next);
    assert_eq!(texts(&next), lines(8..11));
    assert!(next.has_more);
    let last =
        PageQuery { from: PageStart::Cursor(next.next), ..query(StreamView::Of(StreamKind::Logs)) };
    let last = page_of(&rings, last);
    assert_eq!((texts(&last), last.has_more, last.dropped), (lines(11..12), false, 0));
}

#[test]
fn a_cursor_stays_good_while_the_ring_turns_and_tells_what_was_dropped() {
    let mut rings = shelf();
    fill(&mut rings, 0..5);
    let cursor = page_of(&rings, query(StreamView::Of(StreamKind::Logs))).next;
    fill(&mut rings, 5..40);
    let page = page_of(
        &rings,
        PageQuery { from: PageStart::Cursor(cursor), ..query(StreamView::Of(StreamKind::Logs)) },
    );
    assert_eq!(texts(&page), lines(30..40));
    assert_eq!(page.dropped, 25);
    rings.skip(StreamKind::Logs, 4);
    fill(&mut rings, 40..41);
    let page = page_of(
        &rings,
        PageQuery { from: PageStart::Cursor(page.next), ..query(StreamView::Of(StreamKind::Logs)) },
    );
    assert_eq!((texts(&page), page.dropped), (lines(40..41), 4), "lost before they were kept");
}

#[test]
fn what_an_owner_has_cleared_is_not_told_to_them_as_dropped_and_stays_for_others() {
    let mut rings = shelf();
    fill(&mut rings, 0..5);
    let logs = || query(StreamView::Of(StreamKind::Logs));
    let cursor = page_of(&rings, PageQuery { limit: 1, from: PageStart::Oldest, ..logs() });
    assert_eq!(texts(&cursor), lines(0..1));
    let mut cleared = ClearedPlaces::default();
    assert_eq!(rings.clear_for(&mut cleared, None, StreamKind::Logs), 5);
    assert_eq!(
        rings.clear_for(&mut cleared, None, StreamKind::Logs),
        0,
        "they see none of it any more"
    );
    fill(&mut rings, 5..7);
    let from = || PageStart::Cursor(cursor.next.clone());
    for from in [from(), PageStart::Newest, PageStart::Oldest] {
        let page = page_without(&rings, PageQuery { from, ..logs() }, &cleared);
        assert_eq!((texts(&page), page.dropped, page.has_older), (lines(5..7), 0, false));
    }
    let others = page_of(&rings, PageQuery { from: from(), ..logs() });
    assert_eq!((texts(&others), others.dropped), (lines(1..7), 0));
    // What there was no room for is lost to both.
    fill(&mut rings, 7..19);
    let page = page_without(&rings, PageQuery { from: from(), ..logs() }, &cleared);
    assert_eq!((texts(&page), page.dropped), (lines(9..19), 4));
    assert_eq!(rings.clear_for(&mut cleared, None, StreamKind::Logs), 10);
}

#[test]
fn a_cursor_is_good_for_its_view_and_this_life_only() {
    let rings = shelf();
    let view = StreamView::Errors;
    let cursor = page_of(&rings, query(view)).next;
    let text = cursor.text(view, LIFE, None);
    assert_eq!(PageCursor::parse(&text, view, LIFE, None), Ok(cursor));
    assert_eq!(PageCursor::parse(&text, view, "another", None), Err(CursorError::Stale));
    let foreign = Err(CursorError::Foreign);
    assert_eq!(PageCursor::parse(&text, StreamView::Of(StreamKind::Logs), LIFE, None), foreign);
    for text in ["", "12", "====", "bG9ncw"] {
        assert_eq!(PageCursor::parse(text, view, LIFE, None), foreign, "{text}");
    }
}

#[test]
fn a_cursor_from_the_future_reads_what_there_is() {
    let mut rings = shelf();
    fill(&mut rings, 0..3);
    let text = PageCursor::parse(
        &page_of(&rings, query(StreamView::Of(StreamKind::Logs))).next.text(
            StreamView::Of(StreamKind::Logs),
            LIFE,
            None,
        ),
        StreamView::Of(StreamKind::Logs),
        LIFE,
        None,
    );
    let empty = StreamRings::new(&Limits::default());
    let from = PageStart::Cursor(text.unwrap());
    let page = page_of(&empty, PageQuery { from, ..query(StreamView::Of(StreamKind::Logs)) });
    assert_eq!((page.entries.len(), page.dropped), (0, 0));
}

#[test]
fn errors_are_exceptions_console_errors_and_failed_requests_in_their_order() {
    let mut rings = shelf();
    let mut exception = log("thrown");
    exception["source"] = "exception".into();
    exception["level"] = "log".into();
    let mut error = log("said");
    error["level"] = "error".into();
    let mut refused = request("r2", 200);
    refused["status"] = Value::Null;
    refused["error"] = "net::ERR_CONNECTION_REFUSED".into();
    push(&mut rings, StreamKind::Logs, &exception);
    push(&mut rings, StreamKind::Network, &request("r1", 500));
    push(&mut rings, StreamKind::Logs, &log("fine"));
    push(&mut rings, StreamKind::Network, &refused);
    push(&mut rings, StreamKind::Logs, &error);
    push(&mut rings, StreamKind::Network, &request("r3", 302));
    let words = |page: &EntryPage| {
        let said = |entry: &Value| {
            entry["text"].as_str().or(entry["request_id"].as_str()).unwrap().to_owned()
        };
        shown(page).iter().map(said).collect::<Vec<_>>()
    };
    let all = page_of(&rings, query(StreamView::Errors));
    assert_eq!(words(&all), ["thrown", "r1", "r2", "said"]);
    let mut from = PageStart::Oldest;
    let mut read = Vec::new();
    for _ in 0..4 {
        let page = page_of(&rings, PageQuery { limit: 1, from, ..query(StreamView::Errors) });
        read.extend(words(&page));
        assert_eq!(page.dropped, 0);
        from = PageStart::Cursor(page.next);
    }
    assert_eq!(read, words(&all), "one by one they are the same");
}

#[test]
fn filters_must_all_hold() {
    let mut rings = shelf();
    let mut other_tab = log("Other Tab");
    other_tab["tab_id"] = 8.into();
    let mut warning = log("a Warning");
    warning["level"] = "warn".into();
    warning["url"] = "http://page.test/b".into();
    push(&mut rings, StreamKind::Logs, &log("plain"));
    push(&mut rings, StreamKind::Logs, &other_tab);
    rings.push(&browser("b2"), read(StreamKind::Logs, &warning), at(9));
    let none = EntryFilter::default;
    let cases = [
        (none(), vec!["plain", "Other Tab", "a Warning"]),
        (EntryFilter { level: Some(LogLevel::Info), ..none() }, vec!["a Warning"]),
        (EntryFilter { text: Some("warn".into()), ..none() }, vec!["a Warning"]),
        (EntryFilter { url: Some("/A".into()), ..none() }, vec!["plain", "Other Tab"]),
        (EntryFilter { tab: Some(TabId(8)), ..none() }, vec!["Other Tab"]),
        (EntryFilter { browser: Some(browser("b2")), ..none() }, vec!["a Warning"]),
        (
            EntryFilter { within: Some(std::time::Duration::from_secs(2)), ..none() },
            vec!["a Warning"],
        ),
        (EntryFilter { tab: Some(TabId(7)), text: Some("tab".into()), ..none() }, vec![]),
        (EntryFilter { request_id: Some("r".into()), ..none() }, vec![]),
    ];
    for (filter, expected) in cases {
        let page = page_of(
            &rings,
            PageQuery { filter: filter.clone(), ..query(StreamView::Of(StreamKind::Logs)) },
        );
        assert_eq!(texts(&page), expected, "{filter:?}");
    }
}

#[test]
fn noise_is_hidden_and_counted_and_is_there_again_without_its_rule() {
    let mut rings = shelf();
    fill(&mut rings, 0..3);
    push(&mut rings, StreamKind::Logs, &log("[HMR] connected"));
    let mut noise = NoiseRules::default();
    let id = noise.add("[hmr]").unwrap();
    let page = noisy_page_of(&rings, query(StreamView::Of(StreamKind::Logs)), noise.clone());
    assert_eq!((texts(&page), page.hidden), (lines(0..3), 1));
    assert!(noise.remove(&id));
    let page = noisy_page_of(&rings, query(StreamView::Of(StreamKind::Logs)), noise);
    assert_eq!((page.entries.len(), page.hidden), (4, 0));
}

#[test]
fn an_answer_has_less_than_64_kib_and_the_rest_stays_for_the_next_page() {
    let mut rings = StreamRings::new(&Limits::default());
    for number in 0..40 {
        push(&mut rings, StreamKind::Logs, &log(&format!("{number} {}", "\u{1}".repeat(9_000))));
    }
    let (mut from, mut read) = (PageStart::Oldest, 0);
    loop {
        let page = page_of(&rings, PageQuery { from, ..query(StreamView::Of(StreamKind::Logs)) });
        let bytes: usize = page.entries.iter().map(|entry| entry.get().len() + 1).sum();
        assert!(bytes <= LONGEST_PAGE, "{bytes}");
        assert!(!page.entries.is_empty(), "no entry is longer than a page");
        read += page.entries.len();
        from = PageStart::Cursor(page.next);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(read, 40);
}

#[test]
fn the_longest_request_and_its_bodies_fit_into_one_answer() {
    let long = "\u{1}\"é".repeat(10_000);
    let mut headers = serde_json::Map::new();
    for number in 0..200 {
        headers.insert(format!("x-{number}-{}", "h".repeat(60)), long.clone().into());
    }
    let mut big = request(&long, 200);
    for field in ["method", "url", "page_url", "resource_type", "status_text", "mime_type", "error"]
    {
        big[field] = long.clone().into();
    }
    big["request_headers"] = headers.clone().into();
    big["response_headers"] = headers.into();
    let bodies = json!({"t": 1, "request_id": long, "method": long, "url": long, "mime_type": long,
                        "request_body": long, "response_body": long, "truncated": false});
    let mut rings = shelf();
    push(&mut rings, StreamKind::Network, &big);
    push(&mut rings, StreamKind::Bodies, &bodies);
    let request = page_of(&rings, query(StreamView::Of(StreamKind::Network)));
    let bodies = page_of(&rings, query(StreamView::Of(StreamKind::Bodies)));
    let (request, bodies) = (request.entries[0].get().len(), bodies.entries[0].get().len());
    assert!(request + bodies < LONGEST_PAGE, "{request} + {bodies}");
}

#[test]
fn a_body_that_is_too_long_is_cut_and_says_so() {
    let bodies = |body: &str| {
        let mut rings = shelf();
        let entry = json!({"t": 1, "request_id": "1", "method": "GET", "url": "u",
                           "response_body": body, "truncated": false});
        push(&mut rings, StreamKind::Bodies, &entry);
        shown(&page_of(&rings, query(StreamView::Of(StreamKind::Bodies)))).remove(0)
    };
    assert_eq!(bodies("short")["truncated"], false);
    let cut = bodies(&"é".repeat(20_000));
    assert_eq!(cut["truncated"], true);
    assert_eq!(cut["response_body"].as_str().unwrap().len(), 16 * 1024);
}

#[test]
fn secrets_are_gone_before_an_entry_is_stored_whatever_field_they_are_in() {
    let secret = "sk-abcdefghij0123456789";
    let headers = json!({"Cookie": "sid=abc", "X-Api-Key": "abc", "Accept": "*/*",
                         "Authorization": "Bearer abc"});
    let mut network = request("r1", 200);
    network["url"] = "http://api.test/?access_token=abc&page=2".into();
    network["request_headers"] = headers.clone();
    network["response_headers"] = json!({"Set-Cookie": "sid=abc", "Content-Type": "text/html"});
    let entries = [
        (StreamKind::Logs, log(&format!("token: {secret}"))),
        (StreamKind::Network, network),
        (
            StreamKind::Bodies,
            json!({"t": 1, "request_id": "1", "method": "POST", "url": "u",
                   "request_body": "password=abc&x=1", "response_body": "{\"token\":\"abc\"}"}),
        ),
        (
            StreamKind::Websocket,
            json!({"t": 1, "url": "ws://h/?key=abc", "event": "sent", "text": secret}),
        ),
        (StreamKind::Actions, json!({"t": 1, "kind": "input", "url": "u", "value": secret})),
        (StreamKind::Performance, json!({"t": 1, "url": "http://h/?code=abc", "metrics": {}})),
        (
            StreamKind::ExtensionLogs,
            json!({"t": 1, "level": "info", "text": "x", "data": "{\"secret\":\"abc\"}"}),
        ),
    ];
    let mut rings = shelf();
    for (stream, entry) in &entries {
        push(&mut rings, *stream, entry);
        let kept = format!("{:?}", rings.all(*stream).next().unwrap());
        assert!(!kept.contains("abc") && kept.contains(REDACTED), "{kept}");
    }
    let page = page_of(&rings, query(StreamView::Of(StreamKind::Network)));
    let entry = &shown(&page)[0];
    assert_eq!(entry["url"], "http://api.test/?access_token=[redacted]&page=2");
    assert_eq!(entry["request_headers"]["Accept"], "*/*");
    assert_eq!(entry["response_headers"]["Content-Type"], "text/html");
}

#[test]
fn a_time_that_no_calendar_has_breaks_nothing() {
    for t in [-1.0, 0.0, 1e300, 9_007_199_254_740_993.0] {
        let mut rings = shelf();
        let mut entry = log("x");
        entry["t"] = t.into();
        push(&mut rings, StreamKind::Logs, &entry);
        assert!(
            shown(&page_of(&rings, query(StreamView::Of(StreamKind::Logs))))[0]["at"].is_string()
        );
    }
}

#[test]
fn no_entry_however_garbled_breaks_the_rings() {
    let samples: Vec<_> = [log("x"), request("r", 404)].iter().map(Value::to_string).collect();
    let samples: Vec<_> = samples.iter().map(String::as_str).collect();
    proptest!(garbled::cases(2_000), |(text in garbled::nearly_text(&samples))| {
        let mut rings = shelf();
        for stream in StreamKind::ALL {
            if let Ok(entry) = StreamEntry::read(stream, &text) {
                rings.push(&browser("b1"), entry, at(0));
                let page = page_of(&rings, query(StreamView::Of(stream)));
                prop_assert!(page.entries.len() == 1);
            }
        }
    });
}

// ── What extensions post that only poll ─────────────────────────────────────────────

fn recorded(route: &str) -> Vec<Vec<u8>> {
    let all: Value = serde_json::from_str(LEGACY).unwrap();
    all[route].as_array().unwrap().iter().map(|body| body.to_string().into_bytes()).collect()
}

fn legacy(kind: LegacyStream, body: &[u8]) -> LegacyBatch {
    kind.read(body, at(0)).unwrap()
}

fn legacy_shown(kind: LegacyStream, body: &Value) -> Vec<Value> {
    let mut rings = shelf();
    for entry in legacy(kind, body.to_string().as_bytes()).entries {
        rings.push(&browser("b1"), entry, at(0));
    }
    StreamKind::ALL
        .into_iter()
        .flat_map(|stream| shown(&page_of(&rings, query(StreamView::Of(stream)))))
        .collect()
}

#[test]
fn recorded_bodies_of_a_polling_extension_become_entries() {
    let body: Value = serde_json::from_slice(&recorded("logs")[0]).unwrap();
    assert_eq!(
        legacy_shown(LegacyStream::Logs, &body),
        [json!({
            "at": "2026-11-21T20:40:34.623Z", "browser": "b1", "tab_id": 1_161_327_439,
            "level": "warn", "source": "console",
            "text": "[Gasoline] Performance capture already installed, skipping",
            "url": "http://127.0.0.1:18892/two",
        })]
    );
    let body: Value = serde_json::from_slice(&recorded("extension-logs")[0]).unwrap();
    let logs = legacy_shown(LegacyStream::ExtensionLogs, &body);
    assert_eq!(logs.len(), 4);
    assert_eq!(logs[0]["text"], "Connected to server");
    assert_eq!(logs[0]["category"], "connection");
    assert_eq!(logs[0]["data"], r#"{"entries":0,"error":null,"serverVersion":"5.6.0"}"#);
    let body: Value = serde_json::from_slice(&recorded("network-waterfall")[2]).unwrap();
    let requests = legacy_shown(LegacyStream::NetworkWaterfall, &body);
    assert_eq!(requests[1]["url"], "http://127.0.0.1:18892/favicon.ico");
    assert_eq!(requests[0]["page_url"], "http://127.0.0.1:18892/two");
    assert_eq!(requests[0]["resource_type"], "fetch");
    assert_eq!(requests[0]["bytes"], 450);
    assert_eq!(requests[0]["from_cache"], false);
}

#[test]
fn a_waterfall_that_is_posted_again_is_kept_once() {
    let mut waterfall = WaterfallHistory::default();
    let kept: Vec<_> = recorded("network-waterfall")
        .iter()
        .map(|body| {
            let mut batch = legacy(LegacyStream::NetworkWaterfall, body);
            waterfall.drop_repeated(&browser("b1"), &mut batch);
            (batch.received, batch.entries.len())
        })
        .collect();
    assert_eq!(kept, [(1, 1), (1, 0), (2, 2)]);
    let mut of_another = legacy(LegacyStream::NetworkWaterfall, &recorded("network-waterfall")[2]);
    waterfall.drop_repeated(&browser("b2"), &mut of_another);
    assert_eq!(of_another.entries.len(), 2);
}

#[test]
fn other_posts_of_a_polling_extension_are_read_by_either_spelling() {
    let bodies = json!({"bodies": [{"ts": "2026-11-21T20:40:34Z", "method": "POST", "url": "u",
        "status": 500, "requestBody": "a", "response_body": "b", "contentType": "text/html"}]});
    let read = legacy_shown(LegacyStream::NetworkBodies, &bodies);
    assert_eq!(read[0]["status"], 500, "the request is listed too");
    assert_eq!(read[0]["request_id"], read[1]["request_id"]);
    assert_eq!((&read[1]["request_body"], &read[1]["response_body"]), (&json!("a"), &json!("b")));
    let events = json!({"events": [
        {"ts": 1, "event": "message", "direction": "outgoing", "url": "ws://h", "data": "hi", "id": "s1"},
        {"ts": 1, "event": "message", "direction": "incoming", "url": "ws://h", "data": "ho"}]});
    let read = legacy_shown(LegacyStream::WebsocketEvents, &events);
    assert_eq!((&read[0]["event"], &read[1]["event"]), (&json!("sent"), &json!("received")));
    let actions = json!({"actions": [{"type": "input", "timestamp": 1, "url": "u", "value": "pw",
        "inputType": "password", "selectors": {"cssPath": "#p", "role": {"role": "textbox"}}}]});
    let read = legacy_shown(LegacyStream::EnhancedActions, &actions);
    assert_eq!((&read[0]["masked"], &read[0]["value"]), (&json!(true), &Value::Null));
    assert_eq!(read[0]["target"], json!({"selector": "#p", "role": "textbox"}));
    let snapshots = json!({"snapshots": [{"url": "u", "timestamp": "2026-11-21T20:40:34Z",
        "timing": {"load": 12, "largestContentfulPaint": 3.5}, "cumulativeLayoutShift": 0.1}]});
    let read = legacy_shown(LegacyStream::PerformanceSnapshots, &snapshots);
    assert_eq!(read[0]["metrics"], json!({"lcp_ms": 3.5, "cls": 0.1, "load_ms": 12}));
}

#[test]
fn items_of_a_polling_extension_that_are_none_are_rejected_and_the_others_kept() {
    let body = json!({"entries": [{"message": "kept"}, {"level": "error"}, 7, null]}).to_string();
    let batch = legacy(LegacyStream::Logs, body.as_bytes());
    assert_eq!((batch.received, batch.rejected, batch.entries.len()), (1, 3, 1));
    assert!(matches!(LegacyStream::Logs.read(b"{", at(0)), Err(LegacyBodyError::Json(_))));
    for body in ["{}", "[]", "null", r#"{"entries":{}}"#] {
        let read = LegacyStream::Logs.read(body.as_bytes(), at(0));
        assert!(matches!(read, Err(LegacyBodyError::NoList("entries"))), "{body}");
    }
}
