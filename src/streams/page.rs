//! Reading in pages: views, filters, cursors, and the size of an answer.

use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

#[cfg(test)]
use super::entry::EntryStamp;
use super::entry_line::entry_line;
use super::noise::find;
use super::record::{
    ConsoleLine, ExtensionLog, NetworkRequest, PagePerformance, RequestBodies, SocketEvent,
    UserAction,
};
use super::{
    ClearedPlaces, LogLevel, NoiseRules, PageCursor, StoredEntry, StreamRings, TabsInside,
};
use crate::protocol::{BrowserId, PageMark, StreamKind, TabId, Timestamp};

/// The longest page, in bytes of JSON. Of 64 KiB it leaves room for the fields around the entries.
/// Every entry is shorter.
pub const LONGEST_PAGE: usize = 63 * 1024;

/// A stream, or a selection from several streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamView {
    /// One stream.
    Of(StreamKind),
    /// Exceptions, errors in the console and failed requests.
    Errors,
    /// All that the person sees in the dashboard.
    Recordings,
}

impl StreamView {
    /// The streams that it reads.
    #[must_use]
    pub const fn streams(&self) -> &[StreamKind] {
        match self {
            Self::Of(stream) => std::slice::from_ref(stream),
            Self::Errors => &[StreamKind::Logs, StreamKind::Network],
            // Bodies have typed texts and pictures; the two others tell of no single event.
            Self::Recordings => {
                &[StreamKind::Logs, StreamKind::Network, StreamKind::Websocket, StreamKind::Actions]
            }
        }
    }

    /// Its name, as callers ask for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of(stream) => stream.name(),
            Self::Errors => "errors",
            Self::Recordings => "recordings",
        }
    }
}

/// A filter of entries. Every given field must match.
#[derive(Clone, Debug, Default)]
pub struct EntryFilter {
    /// Minimum severity.
    pub level: Option<LogLevel>,
    /// A text in its content or its URL; ASCII letters match in any case.
    pub text: Option<String>,
    /// A text in its URL; ASCII letters match in any case.
    pub url: Option<String>,
    /// Of this tab.
    pub tab: Option<TabId>,
    /// Of this browser.
    pub browser: Option<BrowserId>,
    /// Of this request.
    pub request_id: Option<String>,
    /// Maximum age.
    pub within: Option<Duration>,
}

/// The start of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// The newest entries.
    Newest,
    /// The oldest stored entry, then forwards.
    Oldest,
    /// The end of an earlier page, then forwards.
    Cursor(PageCursor),
}

/// A request for a page.
#[derive(Clone, Debug)]
pub struct PageQuery {
    /// What to read.
    pub view: StreamView,
    /// Which entries of it.
    pub filter: EntryFilter,
    /// Where to begin.
    pub from: PageStart,
    /// How many entries at most.
    pub limit: usize,
    /// How many bytes of JSON several entries may have; [`LONGEST_PAGE`] at most.
    pub room: usize,
    /// The form of each entry.
    pub form: EntryForm,
}

/// The forms of an entry in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryForm {
    /// One line of text.
    Line,
    /// All its stored fields, as a JSON object.
    Whole,
    /// A row for the person, without typed values.
    ViewerRow,
}

/// A part of a view, oldest entry first.
#[derive(Debug)]
pub struct EntryPage {
    /// The entries as callers see them.
    pub entries: Vec<Box<RawValue>>,
    /// The pages that the entries are of. Lines have addresses of a single one without its origin.
    pub mark: PageMark,
    /// Whether there is more behind the last one already.
    pub has_more: bool,
    /// Whether there are older entries that the reader did not reach. Only for [`PageStart::Newest`].
    pub has_older: bool,
    /// Where to read on.
    pub next: PageCursor,
    /// How many entries behind the cursor were dropped before they could be read.
    pub dropped: u64,
    /// How many matching entries are hidden as noise.
    pub hidden: usize,
    /// How many entries of these streams were malformed since the daemon started.
    pub rejected: u64,
}

/// Makes a page, a few entries at a time, from a snapshot of the rings. The shell can yield between
/// two steps, and holds no lock meanwhile.
#[derive(Debug)]
pub struct PageReader {
    query: PageQuery,
    noise: NoiseRules,
    oldest: Timestamp,
    /// The entries still to look at, in reverse: the next one is the last.
    ahead: Vec<Arc<StoredEntry>>,
    /// The position in each stream.
    places: Vec<ReadPosition>,
    room: usize,
    is_full: bool,
    /// The entries that the page has, in its order.
    taken: Vec<Arc<StoredEntry>>,
    /// Whether it counts the entries that were dropped: of whom does not see every tab they could be
    /// of any.
    tells_lost: bool,
    page: EntryPage,
}

#[derive(Debug)]
struct ReadPosition {
    stream: StreamKind,
    from: u64,
    seen: u64,
    next: u64,
}

/// An entry as callers see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{R}Entry")]
pub(super) struct ShownEntry<'a, R> {
    /// When it happened.
    at: Timestamp,
    browser: &'a BrowserId,
    #[serde(skip_serializing_if = "Option::is_none")]
    tab_id: Option<TabId>,
    #[serde(flatten)]
    record: &'a R,
}

impl<'a, R> ShownEntry<'a, R> {
    /// An entry with its record, or with another one in its place.
    pub(super) const fn of(kept: &'a StoredEntry, record: &'a R) -> Self {
        let StoredEntry { browser, entry, .. } = kept;
        Self { at: entry.at(), browser, tab_id: entry.tab, record }
    }
}

/// The schemas of a view's entries; each entry has one of them.
pub fn entry_schemas(view: StreamView, generator: &mut SchemaGenerator) -> Vec<Schema> {
    let of = |stream: &StreamKind| match stream {
        StreamKind::Logs => generator.subschema_for::<ShownEntry<'_, ConsoleLine>>(),
        StreamKind::Network => generator.subschema_for::<ShownEntry<'_, NetworkRequest>>(),
        StreamKind::Bodies => generator.subschema_for::<ShownEntry<'_, RequestBodies>>(),
        StreamKind::Websocket => generator.subschema_for::<ShownEntry<'_, SocketEvent>>(),
        StreamKind::Actions => generator.subschema_for::<ShownEntry<'_, UserAction>>(),
        StreamKind::Performance => generator.subschema_for::<ShownEntry<'_, PagePerformance>>(),
        StreamKind::ExtensionLogs => generator.subschema_for::<ShownEntry<'_, ExtensionLog>>(),
    };
    view.streams().iter().map(of).collect()
}

/// The schemas of entries as they stand on the wire: their stamp, and the record of each stream.
#[cfg(test)]
pub(crate) fn wire_schemas(generator: &mut SchemaGenerator) -> (Schema, Vec<(StreamKind, Schema)>) {
    let records = StreamKind::ALL.map(|stream| {
        let schema = match stream {
            StreamKind::Logs => generator.subschema_for::<ConsoleLine>(),
            StreamKind::Network => generator.subschema_for::<NetworkRequest>(),
            StreamKind::Bodies => generator.subschema_for::<RequestBodies>(),
            StreamKind::Websocket => generator.subschema_for::<SocketEvent>(),
            StreamKind::Actions => generator.subschema_for::<UserAction>(),
            StreamKind::Performance => generator.subschema_for::<PagePerformance>(),
            StreamKind::ExtensionLogs => generator.subschema_for::<ExtensionLog>(),
        };
        (stream, schema)
    });
    let stamp = schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<EntryStamp>();
    (stamp, records.into())
}

impl PageReader {
    /// Takes a snapshot of the entries that the owner has not cleared, of the tabs that its clients
    /// see; `None`: of all tabs.
    #[must_use]
    pub fn new(
        rings: &StreamRings,
        query: PageQuery,
        noise: NoiseRules,
        cleared: &ClearedPlaces,
        inside: Option<&TabsInside>,
        now: Timestamp,
    ) -> Self {
        let mut page = EntryPage {
            entries: Vec::new(),
            mark: PageMark::any(),
            has_more: false,
            has_older: false,
            next: PageCursor(Vec::new()),
            dropped: 0,
            hidden: 0,
            rejected: 0,
        };
        let (mut ahead, mut places) = (Vec::new(), Vec::new());
        for (at, stream) in query.view.streams().iter().enumerate() {
            let from = match &query.from {
                PageStart::Newest | PageStart::Oldest => None,
                PageStart::Cursor(cursor) => cursor.0.get(at).copied(),
            };
            let since = rings.since(*stream, from, cleared);
            // Here and not in a filter: that more entries are outside must show nowhere.
            let may_see = |kept: &Arc<StoredEntry>| inside.is_none_or(|inside| inside.show(kept));
            let before = ahead.len();
            ahead.extend(since.kept.into_iter().filter(may_see));
            // That something came outside moves nobody's cursor, either.
            let last: Option<&Arc<StoredEntry>> = ahead[before..].last();
            let next_inside = || last.map_or(from.unwrap_or(0), |kept| kept.seq + 1);
            let next = if inside.is_none() { since.next } else { next_inside() };
            places.push(ReadPosition { stream: *stream, from: since.from, seen: 0, next });
            page.rejected += if inside.is_none() { since.rejected } else { 0 };
        }
        ahead.sort_unstable_by_key(|kept| kept.order);
        if query.from != PageStart::Newest {
            ahead.reverse();
        }
        // Counted from the arrival, because the browser's clock may differ (decision 126).
        let oldest =
            query.filter.within.map_or(Timestamp::from_unix_micros(0), |within| now - within);
        let room = query.room;
        let taken = Vec::new();
        let tells_lost = inside.is_none();
        Self { query, noise, oldest, ahead, places, room, is_full: false, taken, tells_lost, page }
    }

    /// Looks at some entries. Returns whether there are more.
    pub fn look_at(&mut self, entries: usize) -> bool {
        for _ in 0..entries {
            let Some(kept) = self.ahead.last() else { return false };
            if !self.take(&kept.clone()) {
                self.is_full = true;
                return false;
            }
            self.ahead.pop();
        }
        true
    }

    /// Takes an entry in, or passes over it. False: the page is full.
    fn take(&mut self, kept: &Arc<StoredEntry>) -> bool {
        if self.page.entries.len() >= self.query.limit {
            return false;
        }
        if self.fits(kept) {
            if self.noise.hide(&kept.entry) {
                self.page.hidden += 1;
            } else {
                let Some(shown) = kept.shown(self.query.form) else { return true };
                let takes = shown.get().len() + 1;
                // A page has one entry at least, or its cursor would never advance.
                if takes > self.room && !self.page.entries.is_empty() {
                    return false;
                }
                self.room = self.room.saturating_sub(takes);
                self.page.entries.push(shown);
                self.taken.push(kept.clone());
            }
        }
        let stream = kept.entry.stream();
        if let Some(place) = self.places.iter_mut().find(|place| place.stream == stream) {
            // Entries that the filter passed over count too: `dropped` is about places without an
            // entry.
            place.seen += 1;
        }
        true
    }

    fn fits(&self, kept: &StoredEntry) -> bool {
        let EntryFilter { level, text, url, tab, browser, request_id, within: _ } =
            &self.query.filter;
        let entry = &kept.entry;
        // The view of errors reads two streams whose other entries are no errors.
        let least =
            if self.query.view == StreamView::Errors { Some(LogLevel::Error) } else { *level };
        let [at_url, says] = entry.said();
        least.is_none_or(|least| entry.level() >= least)
            && tab.is_none_or(|tab| entry.tab == Some(tab))
            && browser.as_ref().is_none_or(|browser| kept.browser == *browser)
            && request_id.as_deref().is_none_or(|id| entry.request_id() == Some(id))
            && kept.came >= self.oldest
            && url.as_deref().is_none_or(|part| find(at_url, part).is_some())
            && text
                .as_deref()
                .is_none_or(|part| find(says, part).is_some() || find(at_url, part).is_some())
    }

    /// The page, once there is nothing more to look at.
    #[must_use]
    pub fn page(mut self) -> EntryPage {
        self.mark_pages();
        if self.query.from == PageStart::Newest {
            self.page.entries.reverse();
            self.page.has_older = self.is_full;
        } else {
            self.page.has_more = self.is_full;
            for place in &mut self.places {
                // `ahead` is in reverse, and the next page begins at its first unread entry.
                let mut ahead = self.ahead.iter().rev();
                let unread = ahead.find(|kept| kept.entry.stream() == place.stream);
                place.next = unread.map_or(place.next, |kept| kept.seq);
                let lost = place.next.saturating_sub(place.from).saturating_sub(place.seen);
                self.page.dropped += if self.tells_lost { lost } else { 0 };
            }
        }
        self.page.next = PageCursor(self.places.iter().map(|place| place.next).collect());
        self.page
    }
}

impl PageReader {
    /// Sets the mark to the origin of the pages if all entries come from one origin, and leaves that
    /// origin out of the addresses of lines.
    fn mark_pages(&mut self) {
        let mut pages = self.taken.iter().map(|kept| kept.entry.page_address());
        let Some(Some(first)) = pages.next() else { return };
        let mark = PageMark::of_address(first);
        if !pages.all(|page| page.is_some_and(|page| PageMark::of_address(page) == mark)) {
            return;
        }
        if self.query.form == EntryForm::Line {
            let line = |kept: &Arc<StoredEntry>| {
                to_raw_value(&entry_line(&kept.entry.record, mark.origin()))
            };
            let Ok(entries) = self.taken.iter().map(line).collect() else { return };
            self.page.entries = entries;
        }
        self.page.mark = mark;
    }
}

impl StoredEntry {
    /// The entry as callers see it.
    fn shown(&self, form: EntryForm) -> Option<Box<RawValue>> {
        let record = &self.entry.record;
        match form {
            EntryForm::Line => to_raw_value(&entry_line(record, None)).ok(),
            EntryForm::Whole => to_raw_value(&ShownEntry::of(self, record)).ok(),
            EntryForm::ViewerRow => self.viewer_row(),
        }
    }
}
