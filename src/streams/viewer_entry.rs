//! Entries as the person sees them in the dashboard: without the values that they typed.

use serde::Serialize;
use serde_json::Number;
use serde_json::value::{RawValue, to_raw_value};

use super::entry_line::{file_name, place_of_action};
use super::page::ShownEntry;
use super::record::{EntryRecord, LogLevel, UserAction};
use super::text_line::TextLine;
use super::{StoredEntry, StreamView};
use crate::protocol::{BrowserId, StreamKind, TabId, Timestamp};

/// In place of a value that the person typed or chose.
const NOT_SHOWN: &str = "[not shown]";

/// An entry in the list. Texts of pages are one line each, as in lines for agents.
#[derive(Serialize)]
struct ViewerRow<'a> {
    id: String,
    stream: &'static str,
    at: Timestamp,
    browser: &'a BrowserId,
    #[serde(skip_serializing_if = "Option::is_none")]
    tab_id: Option<TabId>,
    level: LogLevel,
    /// The method of a request, the source of a line, the word for an event or an action.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Without its query: forms put typed texts there.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    /// The script of a line, or the type of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<&'a Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfb_ms: Option<&'a Number>,
}

/// The stream and the place of an entry, from its id.
#[must_use]
pub fn parse_entry_id(id: &str) -> Option<(StreamKind, u64)> {
    let (stream, seq) = id.split_once('.')?;
    let stream = StreamKind::named(stream)?;
    let is_listed = StreamView::Recordings.streams().contains(&stream);
    Some((stream, seq.parse().ok()?)).filter(|_| is_listed)
}

impl StoredEntry {
    /// The entry as a row of the person's list.
    pub(super) fn viewer_row(&self) -> Option<Box<RawValue>> {
        to_raw_value(&ViewerRow::of(self)).ok()
    }

    /// All fields of the entry that the person sees.
    #[must_use]
    pub fn for_viewer(&self) -> Option<Box<RawValue>> {
        let record = &self.entry.record;
        if let EntryRecord::Action(action) = record
            && action.value.is_some()
        {
            let action = UserAction { value: Some(NOT_SHOWN.into()), ..action.clone() };
            return to_raw_value(&ShownEntry::of(self, &EntryRecord::Action(action))).ok();
        }
        to_raw_value(&ShownEntry::of(self, record)).ok()
    }
}

impl<'a> ViewerRow<'a> {
    fn of(kept: &'a StoredEntry) -> Self {
        let StoredEntry { seq, browser, entry, .. } = kept;
        let stream = entry.stream().name();
        let blank = Self {
            id: format!("{stream}.{seq}"),
            stream,
            at: entry.at(),
            browser,
            tab_id: entry.tab,
            level: entry.level(),
            kind: String::new(),
            status: None,
            url: None,
            text: String::new(),
            source: None,
            duration_ms: None,
            ttfb_ms: None,
        };
        match &entry.record {
            EntryRecord::Log(log) => {
                let script = log.script_url.as_deref().map(file_name);
                let place = script.map(|file| match &log.line {
                    Some(line) => format!("{file}:{line}"),
                    None => file.to_owned(),
                });
                let (kind, source) = (word(&log.source), place.map(|place| word(&place)));
                Self { kind, text: line(&log.text), source, ..blank }
            }
            EntryRecord::Request(request) => Self {
                kind: word(&request.method.as_deref().unwrap_or_default().to_ascii_uppercase()),
                status: request.status,
                url: Some(without_query(&request.url)),
                text: line(request.error.as_deref().unwrap_or_default()),
                source: request.resource_type.as_deref().map(word),
                duration_ms: request.duration_ms.as_ref(),
                ttfb_ms: request.ttfb_ms.as_ref(),
                ..blank
            },
            EntryRecord::Socket(event) => Self {
                kind: word(&event.event),
                url: Some(without_query(&event.url)),
                text: line(event.text.as_deref().unwrap_or_default()),
                ..blank
            },
            EntryRecord::Action(action) => Self {
                kind: word(&action.kind),
                url: Some(without_query(&action.url)),
                text: line(&place_of_action(action)),
                source: action.key.as_deref().map(word),
                ..blank
            },
            EntryRecord::Bodies(_) | EntryRecord::Performance(_) | EntryRecord::ExtensionLog(_) => {
                blank
            }
        }
    }
}

fn word(text: &str) -> String {
    let mut line = TextLine::default();
    line.word(text);
    line.into_text()
}

fn line(text: &str) -> String {
    TextLine::default().ending_in(text)
}

/// An address without its query and its fragment.
#[must_use]
pub fn without_query(address: &str) -> String {
    word(address.split(['?', '#']).next().unwrap_or(address))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::lifecycle::Limits;
    use crate::streams::{StreamEntry, StreamRings};

    fn shown(stream: StreamKind, mut entry: Value) -> (Value, Value) {
        entry["t"] = 1_795_298_985_123_u64.into();
        entry["tab_id"] = 7.into();
        let entry = StreamEntry::read(stream, &entry.to_string()).unwrap();
        let mut rings = StreamRings::new(&Limits::default());
        rings.push(&BrowserId::from("b"), entry, Timestamp::from_unix_micros(0));
        let kept = rings.all(stream).next().unwrap();
        let read = |raw: Option<Box<RawValue>>| serde_json::from_str(raw.unwrap().get()).unwrap();
        (read(kept.viewer_row()), read(kept.for_viewer()))
    }

    #[test]
    fn values_that_the_person_typed_are_in_no_row_and_in_no_whole_entry() {
        let action = json!({"url": "http://a.test/?q=Ada+Lovelace", "kind": "change",
            "value": "Ada Lovelace", "target": {"selector": "#name", "text": "Your name"}});
        let (row, whole) = shown(StreamKind::Actions, action);
        assert_eq!(row["text"], "#name \"Your name\"");
        assert_eq!((&row["url"], &row["id"]), (&json!("http://a.test/"), &json!("actions.0")));
        assert_eq!(whole["value"], NOT_SHOWN);
        assert!(!row.to_string().contains("Ada"), "{row}");
        assert!(!whole["value"].to_string().contains("Ada"), "{whole}");
    }

    #[test]
    fn each_stream_of_the_list_has_its_row_and_says_what_failed() {
        let request = json!({"method": "post", "status": 500, "url": "http://a.test/pay?card=1",
            "resource_type": "fetch", "duration_ms": 40.5, "ttfb_ms": 30});
        let (row, whole) = shown(StreamKind::Network, request);
        assert_eq!(row["level"], "error");
        assert_eq!((&row["kind"], &row["status"]), (&json!("POST"), &json!(500)));
        assert_eq!((&row["duration_ms"], &row["ttfb_ms"]), (&json!(40.5), &json!(30)));
        assert_eq!((&row["tab_id"], &row["browser"]), (&json!(7), &json!("b")));
        assert_eq!(row["at"], whole["at"]);
        let log = json!({"level": "warn", "source": "console", "text": "one\ntwo\u{202e}",
            "script_url": "http://a.test/js/shop.js?v=1", "line": 31});
        let (row, _) = shown(StreamKind::Logs, log);
        assert_eq!(row["text"], "one\\ntwo\\u{202e}");
        assert_eq!((&row["source"], &row["level"]), (&json!("shop.js:31"), &json!("warn")));
        let event = json!({"url": "ws://a.test/live", "event": "sent", "text": "hello"});
        let (row, _) = shown(StreamKind::Websocket, event);
        assert_eq!((&row["kind"], &row["text"]), (&json!("sent"), &json!("hello")));
    }

    #[test]
    fn an_id_names_an_entry_of_the_list_and_nothing_else() {
        assert_eq!(parse_entry_id("logs.12"), Some((StreamKind::Logs, 12)));
        for other in ["logs", "logs.", "logs.-1", "bodies.1", "performance.1", "x.1", ""] {
            assert_eq!(parse_entry_id(other), None, "{other}");
        }
    }
}
