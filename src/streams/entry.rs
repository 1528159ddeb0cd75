//! One entry: read from what a browser sent, cut to its limits, freed of secrets.

use serde::Deserialize;

use super::record::{Level, Record, Request, Vitals};
use crate::protocol::{StreamKind, TabId};

/// The last moment that RFC 3339 can tell, in ms since the Unix epoch.
const LATEST: f64 = 253_402_300_799_999.0;

/// An entry as it is kept. There are no secrets in it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it happened, by the browser's clock, in ms since the Unix epoch.
    pub(super) t: u64,
    /// The tab that it is of, if any.
    pub(super) tab: Option<TabId>,
    pub(super) record: Record,
    /// About how many bytes it takes.
    pub(super) weight: usize,
}

/// What every entry begins with.
#[derive(Deserialize)]
struct Stamp {
    t: f64,
    #[serde(default)]
    tab_id: Option<TabId>,
}

impl Entry {
    /// Reads an entry as it stands on the wire.
    ///
    /// # Errors
    ///
    /// It is not JSON, lacks what an entry of this stream needs, or has it of another type.
    pub fn read(stream: StreamKind, json: &str) -> Result<Self, serde_json::Error> {
        let Stamp { t, tab_id } = serde_json::from_str(json)?;
        let record = match stream {
            StreamKind::Logs => Record::Log(serde_json::from_str(json)?),
            StreamKind::Network => Record::Request(serde_json::from_str(json)?),
            StreamKind::Bodies => Record::Bodies(serde_json::from_str(json)?),
            StreamKind::Websocket => Record::Socket(serde_json::from_str(json)?),
            StreamKind::Actions => Record::Action(serde_json::from_str(json)?),
            StreamKind::Performance => Record::Performance(serde_json::from_str(json)?),
            StreamKind::ExtensionLogs => Record::ExtensionLog(serde_json::from_str(json)?),
        };
        Ok(Self::new(t, tab_id, record))
    }

    /// An entry, cut to its limits and without secrets.
    pub(super) fn new(t: f64, tab: Option<TabId>, mut record: Record) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        let t = t.clamp(0.0, LATEST) as u64;
        let mut weight = size_of::<Self>() + size_of::<Request>();
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
            Record::Log(_) => StreamKind::Logs,
            Record::Request(_) => StreamKind::Network,
            Record::Bodies(_) => StreamKind::Bodies,
            Record::Socket(_) => StreamKind::Websocket,
            Record::Action(_) => StreamKind::Actions,
            Record::Performance(_) => StreamKind::Performance,
            Record::ExtensionLog(_) => StreamKind::ExtensionLogs,
        }
    }

    /// The tab that it is of, if any.
    #[must_use]
    pub const fn tab(&self) -> Option<TabId> {
        self.tab
    }

    /// How bad it is. A request that failed is an error.
    #[must_use]
    pub fn level(&self) -> Level {
        match &self.record {
            Record::Log(log) if &*log.source == "exception" => Level::Error,
            Record::Log(log) => log.level,
            Record::ExtensionLog(log) => log.level,
            Record::Request(request) if request.has_failed() => Level::Error,
            Record::Socket(event) if &*event.event == "error" => Level::Error,
            Record::Request(_)
            | Record::Bodies(_)
            | Record::Socket(_)
            | Record::Action(_)
            | Record::Performance(_) => Level::Info,
        }
    }

    /// The request that it is of, if any.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        match &self.record {
            Record::Request(request) => request.request_id.as_deref(),
            Record::Bodies(bodies) => Some(&bodies.request_id),
            Record::Socket(event) => event.request_id.as_deref(),
            Record::Log(_)
            | Record::Action(_)
            | Record::Performance(_)
            | Record::ExtensionLog(_) => None,
        }
    }

    /// What was measured, of an entry that tells how fast a page was.
    #[must_use]
    pub const fn vitals(&self) -> Option<&Vitals> {
        match &self.record {
            Record::Performance(performance) => Some(&performance.metrics),
            Record::Log(_)
            | Record::Request(_)
            | Record::Bodies(_)
            | Record::Socket(_)
            | Record::Action(_)
            | Record::ExtensionLog(_) => None,
        }
    }

    /// The address of the page that it is of, if that is known.
    pub(super) fn page_address(&self) -> Option<&str> {
        match &self.record {
            Record::Log(log) => Some(&log.url),
            Record::Request(request) => request.page_url.as_deref(),
            Record::Action(action) => Some(&action.url),
            Record::Performance(performance) => Some(&performance.url),
            Record::Bodies(_) | Record::Socket(_) | Record::ExtensionLog(_) => None,
        }
    }

    /// Its texts that can be searched: its URL, and what it says.
    pub(super) fn said(&self) -> [&str; 2] {
        match &self.record {
            Record::Log(log) => [&log.url, &log.text],
            Record::Request(request) => [&request.url, request.error.as_deref().unwrap_or("")],
            Record::Bodies(bodies) => [&bodies.url, bodies.response_body.as_deref().unwrap_or("")],
            Record::Socket(event) => [&event.url, event.text.as_deref().unwrap_or("")],
            Record::Action(action) => [&action.url, action.value.as_deref().unwrap_or("")],
            Record::Performance(performance) => [&performance.url, ""],
            Record::ExtensionLog(log) => ["", &log.text],
        }
    }
}
