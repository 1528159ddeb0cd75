//! One entry: parsed, cut to its limits and redacted.

use serde::Deserialize;

use super::record::{EntryRecord, LogLevel, NetworkRequest, WebVitals};
use crate::protocol::{StreamKind, TabId, Timestamp, ToldSites};

/// The last time that RFC 3339 can express, in ms since the Unix epoch.
const LATEST: f64 = 253_402_300_799_999.0;

/// An entry without secrets, as the rings store it.
#[derive(Clone, Debug)]
pub struct StreamEntry {
    /// When it happened, by the browser's clock, in ms since the Unix epoch.
    pub(super) t: u64,
    /// The tab that it is of, if any.
    pub(super) tab: Option<TabId>,
    pub(super) record: EntryRecord,
    /// About how many bytes it takes.
    pub(super) weight: usize,
}

/// The fields of every entry.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
pub(super) struct EntryStamp {
    t: f64,
    #[serde(default)]
    tab_id: Option<TabId>,
}

impl StreamEntry {
    /// Reads an entry as it stands on the wire.
    ///
    /// # Errors
    ///
    /// It is not JSON, lacks what an entry of this stream needs, or has it of another type.
    pub fn read(stream: StreamKind, json: &str) -> Result<Self, serde_json::Error> {
        let EntryStamp { t, tab_id } = serde_json::from_str(json)?;
        let record = match stream {
            StreamKind::Logs => EntryRecord::Log(serde_json::from_str(json)?),
            StreamKind::Network => EntryRecord::Request(serde_json::from_str(json)?),
            StreamKind::Bodies => EntryRecord::Bodies(serde_json::from_str(json)?),
            StreamKind::Websocket => EntryRecord::Socket(serde_json::from_str(json)?),
            StreamKind::Actions => EntryRecord::Action(serde_json::from_str(json)?),
            StreamKind::Performance => EntryRecord::Performance(serde_json::from_str(json)?),
            StreamKind::ExtensionLogs => EntryRecord::ExtensionLog(serde_json::from_str(json)?),
        };
        Ok(Self::new(t, tab_id, record))
    }

    /// An entry, cut to its limits and without secrets.
    pub(super) fn new(t: f64, tab: Option<TabId>, mut record: EntryRecord) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        let t = t.clamp(0.0, LATEST) as u64;
        // `NetworkRequest` is the largest record, and boxed: counting it for all errs on the safe side.
        let mut weight = size_of::<Self>() + size_of::<NetworkRequest>();
        record.each_text(&mut |text, kind| {
            let is_cut = kind.clean(text);
            weight += text.len();
            is_cut
        });
        weight += record.weight_of_names();
        Self { t, tab, record, weight }
    }

    /// The stream that it belongs to.
    #[must_use]
    pub const fn stream(&self) -> StreamKind {
        match &self.record {
            EntryRecord::Log(_) => StreamKind::Logs,
            EntryRecord::Request(_) => StreamKind::Network,
            EntryRecord::Bodies(_) => StreamKind::Bodies,
            EntryRecord::Socket(_) => StreamKind::Websocket,
            EntryRecord::Action(_) => StreamKind::Actions,
            EntryRecord::Performance(_) => StreamKind::Performance,
            EntryRecord::ExtensionLog(_) => StreamKind::ExtensionLogs,
        }
    }

    /// The tab that it is of, if any.
    #[must_use]
    pub const fn tab(&self) -> Option<TabId> {
        self.tab
    }

    /// When it happened, by the browser's clock.
    pub(super) const fn at(&self) -> Timestamp {
        Timestamp::from_unix_micros(self.t.saturating_mul(1_000))
    }

    /// Its severity. A failed request is an error.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        match &self.record {
            // An extension may give an exception any level.
            EntryRecord::Log(log) if &*log.source == "exception" => LogLevel::Error,
            EntryRecord::Log(log) => log.level,
            EntryRecord::ExtensionLog(log) => log.level,
            EntryRecord::Request(request) if request.has_failed() => LogLevel::Error,
            EntryRecord::Socket(event) if &*event.event == "error" => LogLevel::Error,
            EntryRecord::Request(_)
            | EntryRecord::Bodies(_)
            | EntryRecord::Socket(_)
            | EntryRecord::Action(_)
            | EntryRecord::Performance(_) => LogLevel::Info,
        }
    }

    /// Its request, if it has one.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        match &self.record {
            EntryRecord::Request(request) => request.request_id.as_deref(),
            EntryRecord::Bodies(bodies) => Some(&bodies.request_id),
            EntryRecord::Socket(event) => event.request_id.as_deref(),
            EntryRecord::Log(_)
            | EntryRecord::Action(_)
            | EntryRecord::Performance(_)
            | EntryRecord::ExtensionLog(_) => None,
        }
    }

    /// The measurements of a performance entry.
    #[must_use]
    pub const fn vitals(&self) -> Option<&WebVitals> {
        let EntryRecord::Performance(performance) = &self.record else { return None };
        Some(&performance.metrics)
    }

    /// The address of its page, if known.
    pub(super) fn page_address(&self) -> Option<&str> {
        match &self.record {
            EntryRecord::Log(log) => Some(&log.url),
            EntryRecord::Request(request) => request.page_url.as_deref(),
            EntryRecord::Action(action) => Some(&action.url),
            EntryRecord::Performance(performance) => Some(&performance.url),
            EntryRecord::Bodies(bodies) => bodies.page_url.as_deref(),
            EntryRecord::Socket(event) => event.page_url.as_deref(),
            EntryRecord::ExtensionLog(_) => None,
        }
    }

    /// Whether it is of these sites alone: both its page and the address that it is about. One that does
    /// not name its page is of none.
    pub(super) fn is_of(&self, sites: &ToldSites) -> bool {
        let [subject, _content] = self.said();
        self.page_address().is_some_and(|page| !page.is_empty() && sites.tells(page))
            && sites.tells(subject)
    }

    /// The addresses that it is about: of its page, its request or its script.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let script = match &self.record {
            EntryRecord::Log(log) => log.script_url.as_deref(),
            EntryRecord::Request(_)
            | EntryRecord::Bodies(_)
            | EntryRecord::Socket(_)
            | EntryRecord::Action(_)
            | EntryRecord::Performance(_)
            | EntryRecord::ExtensionLog(_) => None,
        };
        let [subject, _content] = self.said();
        self.page_address().into_iter().chain(script).chain(Some(subject))
    }

    /// Its searchable texts: its URL and its content.
    pub(super) fn said(&self) -> [&str; 2] {
        match &self.record {
            EntryRecord::Log(log) => [&log.url, &log.text],
            EntryRecord::Request(request) => [&request.url, request.error.as_deref().unwrap_or("")],
            EntryRecord::Bodies(bodies) => {
                [&bodies.url, bodies.response_body.as_deref().unwrap_or("")]
            }
            EntryRecord::Socket(event) => [&event.url, event.text.as_deref().unwrap_or("")],
            EntryRecord::Action(action) => [&action.url, action.value.as_deref().unwrap_or("")],
            EntryRecord::Performance(performance) => [&performance.url, ""],
            EntryRecord::ExtensionLog(log) => ["", &log.text],
        }
    }
}
