//! An entry as one line of text, for lists. Names and numbers come first, then addresses, which have
//! no white space, and last the page's own text. So that text cannot pass for an earlier field, nor,
//! without line breaks and control characters, for another entry.

use std::fmt::Write as _;

use serde_json::Number;

use super::record::{
    ConsoleLine, EntryRecord, ExtensionLog, LogLevel, NetworkRequest, PagePerformance,
    RequestBodies, SocketEvent, UserAction,
};
use super::text_line::TextLine;

/// Lines of requests that took this long, in ms, show the duration.
const SLOW: f64 = 1_000.0;

/// The entry as one line, with addresses of this origin from their path on.
pub(super) fn entry_line(record: &EntryRecord, origin: Option<&str>) -> String {
    match record {
        EntryRecord::Log(log) => of_log(log),
        EntryRecord::Request(request) => of_request(request, origin),
        EntryRecord::Bodies(bodies) => of_bodies(bodies, origin),
        EntryRecord::Socket(event) => of_socket_event(event, origin),
        EntryRecord::Action(action) => of_action(action, origin),
        EntryRecord::Performance(performance) => of_performance(performance, origin),
        EntryRecord::ExtensionLog(log) => of_extension_log(log),
    }
}

/// `error shop.js:31 Uncaught TypeError: cart is undefined`
fn of_log(log: &ConsoleLine) -> String {
    let mut line = TextLine::of(level(log.level));
    match (log.script_url.as_deref().map(file_name), &log.line) {
        (Some(file), Some(number)) => line.word(&format!("{file}:{number}")),
        (Some(file), None) => line.word(file),
        // A `-` in its place, so that the text of the page cannot pass for a file name.
        (None, _) => line.word(""),
    }
    line.ending_in(&log.text)
}

/// `POST 500 http://127.0.0.1:8000/pay r:4711.2`, with the duration of a slow request and the error
/// of a failed one.
fn of_request(request: &NetworkRequest, origin: Option<&str>) -> String {
    // In capitals, so that no method looks like the level of a log line beside it.
    let method = request.method.as_deref().unwrap_or_default().to_ascii_uppercase();
    let mut line = TextLine::default();
    line.word(&method);
    line.word(&request.status.map(|status| status.to_string()).unwrap_or_default());
    line.address(&request.url, origin);
    let is_slow = |took: &&Number| took.as_f64().is_some_and(|took| took >= SLOW);
    line.number(request.duration_ms.as_ref().filter(is_slow), "ms");
    line.named("r", request.request_id.as_deref());
    line.ending_in(request.error.as_deref().unwrap_or_default())
}

/// `POST 500 http://127.0.0.1:8000/pay r:4711.2`
fn of_bodies(bodies: &RequestBodies, origin: Option<&str>) -> String {
    let mut line = TextLine::default();
    line.word(&bodies.method.to_ascii_uppercase());
    line.word(&bodies.status.map(|status| status.to_string()).unwrap_or_default());
    line.address(&bodies.url, origin);
    line.named("r", Some(&bodies.request_id));
    line.into_text()
}

/// `sent 5 B r:4711.4 ws://127.0.0.1:8000/live hello`
fn of_socket_event(event: &SocketEvent, origin: Option<&str>) -> String {
    let mut line = TextLine::default();
    line.word(&event.event);
    line.number(event.bytes.as_ref(), "B");
    line.named("r", event.request_id.as_deref());
    line.address(&event.url, origin);
    line.ending_in(event.text.as_deref().unwrap_or_default())
}

/// `change http://127.0.0.1:8000/ #name = Ann`
fn of_action(action: &UserAction, origin: Option<&str>) -> String {
    let mut line = TextLine::default();
    line.word(&action.kind);
    line.named("key", action.key.as_deref());
    if action.masked {
        line.word("masked");
    }
    line.address(&action.url, origin);
    let mut said = place_of_action(action);
    if let Some(value) = &action.value {
        let _ = write!(said, " = {value}");
    }
    line.ending_in(&said)
}

/// `#name "Your name"`
pub(super) fn place_of_action(action: &UserAction) -> String {
    let Some(target) = &action.target else { return String::new() };
    let mut place = target.selector.to_string();
    if let Some(text) = &target.text {
        let _ = write!(place, " \"{text}\"");
    }
    place
}

/// `http://127.0.0.1:8000/ ttfb 12 ms, lcp 132 ms, cls 0`
fn of_performance(performance: &PagePerformance, origin: Option<&str>) -> String {
    let mut line = TextLine::default();
    line.address(&performance.url, origin);
    let metrics = &performance.metrics;
    for (name, time) in [
        ("ttfb", &metrics.ttfb_ms),
        ("fcp", &metrics.fcp_ms),
        ("lcp", &metrics.lcp_ms),
        ("inp", &metrics.inp_ms),
        ("dom_content_loaded", &metrics.dom_content_loaded_ms),
        ("load", &metrics.load_ms),
    ] {
        if time.is_some() {
            line.word(name);
            line.number(time.as_ref(), "ms");
        }
    }
    if let Some(shift) = &metrics.cls {
        line.word("cls");
        line.word(&shift.to_string());
    }
    line.into_text()
}

/// `warn connection Lost the socket`
fn of_extension_log(log: &ExtensionLog) -> String {
    let mut line = TextLine::of(level(log.level));
    let source = log.category.as_deref().or(log.source.as_deref());
    line.word(source.unwrap_or_default());
    line.ending_in(&log.text)
}

const fn level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Log => "log",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

/// The last part of an address's path, or all of an address without one.
pub(super) fn file_name(address: &str) -> &str {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::StreamKind;
    use crate::streams::StreamEntry;
    use crate::streams::text_line::{CUT, LONGEST_TEXT};

    fn line(stream: StreamKind, mut entry: Value) -> String {
        entry["t"] = 1.into();
        entry_line(&StreamEntry::read(stream, &entry.to_string()).unwrap().record, None)
    }

    #[test]
    fn each_stream_has_its_line() {
        let url = "http://127.0.0.1:8000/pay";
        for (stream, entry, expected) in [
            (
                StreamKind::Network,
                json!({"method": "POST", "status": 500, "url": url, "duration_ms": 1705.5,
                       "request_id": "4711.2", "bytes": 168, "mime_type": "text/html"}),
                "POST 500 http://127.0.0.1:8000/pay 1706 ms r:4711.2",
            ),
            (
                StreamKind::Network,
                json!({"method": "get", "url": url, "duration_ms": 2.25, "request_id": "4711.3",
                       "error": "net::ERR_CONNECTION_REFUSED"}),
                "GET - http://127.0.0.1:8000/pay r:4711.3 net::ERR_CONNECTION_REFUSED",
            ),
            (
                StreamKind::Logs,
                json!({"level": "error", "source": "exception", "text": "Uncaught TypeError",
                       "script_url": "http://127.0.0.1:8000/js/shop.js?v=1", "line": 31}),
                "error shop.js:31 Uncaught TypeError",
            ),
            (
                StreamKind::Logs,
                json!({"level": "warn", "source": "browser", "text": "A cookie was refused"}),
                "warn - A cookie was refused",
            ),
            (
                StreamKind::Websocket,
                json!({"request_id": "4711.4", "url": "ws://127.0.0.1/live", "event": "sent",
                       "text": "hello", "bytes": 5}),
                "sent 5 B r:4711.4 ws://127.0.0.1/live hello",
            ),
            (
                StreamKind::Actions,
                json!({"url": url, "kind": "change", "value": "Ann",
                       "target": {"selector": "#name", "tag": "input", "text": "Name"}}),
                "change http://127.0.0.1:8000/pay #name \"Name\" = Ann",
            ),
            (
                StreamKind::Actions,
                json!({"url": url, "kind": "key", "key": "Enter", "target": {"selector": "#name"}}),
                "key key:Enter http://127.0.0.1:8000/pay #name",
            ),
            (
                StreamKind::Performance,
                json!({"url": url, "metrics": {"cls": 0, "ttfb_ms": 12.3, "lcp_ms": 132}}),
                "http://127.0.0.1:8000/pay ttfb 12 ms lcp 132 ms cls 0",
            ),
            (
                StreamKind::ExtensionLogs,
                json!({"level": "warn", "text": "Lost the socket", "category": "connection"}),
                "warn connection Lost the socket",
            ),
        ] {
            assert_eq!(line(stream, entry), expected);
        }
    }

    #[test]
    fn what_a_page_says_is_one_line_at_the_end_of_its_own_entry() {
        let hostile = "x\nGET 200 https://bank.test/ 1 ms r:1\r\u{2028}\u{202e}\u{0}\u{200b}";
        let of_log =
            line(StreamKind::Logs, json!({"level": "log", "source": "console", "text": hostile}));
        assert_eq!(
            of_log,
            "log - x\\nGET 200 https://bank.test/ 1 ms r:1\\r\\u{2028}\\u{202e}\\u{0}\\u{200b}"
        );
        let address = format!("https://a.test/ 1 ms r:1 {hostile}");
        let method = "error shop.js:1 pay";
        let request = json!({"method": method, "url": address, "status": 200, "request_id": "7"});
        let of_request = line(StreamKind::Network, request);
        let words: Vec<_> = of_request.split(' ').collect();
        assert_eq!(words.len(), 4, "{of_request}");
        assert_eq!(words[0], "ERROR%20SHOP.JS:1%20PAY");
        assert_eq!((words[1], words[3]), ("200", "r:7"));
        assert!(words[2].starts_with("https://a.test/%201%20ms"), "{of_request}");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let said = json!({"level": "log", "source": "console", "text": "€".repeat(2_000)});
        let cut = line(StreamKind::Logs, said);
        assert!(cut.ends_with(CUT) && cut.len() < LONGEST_TEXT + 20, "{} bytes", cut.len());
    }
}
