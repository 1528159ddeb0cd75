//! `observe` and `configure` on the streams that browsers send on their own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ToolResult;
use super::answers::AnswerSchemas;
use super::failure::CallFailure;
use super::parts::{AnswerRange, USUAL_PART};
use super::result::status;
use crate::hub::{Caller, CaptureChange, CaptureStatus, Hub, TargetSelector};
use crate::protocol::{BrowserId, PageMark, StreamKind, TabId};
use crate::streams::{
    CursorError, EntryFilter, EntryForm, EntryPage, LONGEST_PAGE, LogLevel, PageCursor, PageQuery,
    PageStart, StreamView, WebVitals, entry_schemas,
};

/// How many entries a page has unless the call says otherwise, and at most.
const USUAL: usize = 50;
const MOST: usize = 200;

/// How many bytes the entries of a list take at most: with the fields around them they are no
/// longer than a part.
const LIST_ROOM: usize = USUAL_PART - 500;

/// A cursor for the first entry that is kept.
const OLDEST: &str = "oldest";

/// Which entries of a stream.
#[derive(Default, Deserialize, JsonSchema)]
// Else this would describe each stream that has no description of its own.
#[schemars(description = "")]
pub(super) struct StreamArguments {
    /// A next_cursor, or oldest; default: the newest.
    cursor: Option<String>,
    /// Max entries; default 50.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// Lowest severity of entries.
    level: Option<LogLevel>,
    /// Only entries with this in text or URL.
    text: Option<String>,
    /// Only entries with this in the URL.
    url: Option<String>,
    /// Only entries of this tab.
    tab_id: Option<TabId>,
    /// Only this browser: id or label.
    #[schemars(extend("x-silent" = true))]
    browser: Option<String>,
    /// Only entries of the last N ms.
    #[schemars(range(min = 0))]
    since_ms: Option<u64>,
    /// Only this request.
    request_id: Option<String>,
    /// Add ids and times.
    #[schemars(extend("x-silent" = true))]
    trace: Option<bool>,
    /// Start of a part, in bytes.
    #[schemars(range(min = 0))]
    #[schemars(extend("x-silent" = true))]
    offset: Option<usize>,
}

/// A page of a stream.
#[derive(Serialize, JsonSchema)]
struct StreamAnswer {
    /// Whether there is more behind the last one already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
    /// Whether older ones are kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_older: bool,
    /// The `cursor` of the call that reads on; absent of a short answer with nothing to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// How many entries behind the cursor were not kept long enough to be read.
    #[serde(skip_serializing_if = "is_zero")]
    dropped: u64,
    /// How many that fit the filter are hidden as noise.
    #[serde(skip_serializing_if = "is_zero")]
    hidden: u64,
    /// How many were malformed since the daemon started.
    #[serde(skip_serializing_if = "is_zero")]
    rejected: u64,
    /// Oldest first. Each is one line, or an object with all that is kept of it for calls with
    /// `request_id` or `trace`.
    entries: Vec<Box<RawValue>>,
    /// The bodies of the one request that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    bodies: Option<Vec<Box<RawValue>>>,
    /// The pages that decide the content of entries.
    page: PageMark,
    /// Why there may be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// The state of a tab's page.
#[derive(Serialize, JsonSchema)]
pub(super) struct PageAnswer {
    browser: BrowserId,
    /// What a person calls that.
    #[serde(skip_serializing_if = "Option::is_none")]
    browser_label: Option<String>,
    tab_id: TabId,
    url: String,
    title: String,
    active: bool,
    /// Errors and exceptions in its console.
    errors: usize,
    failed_requests: usize,
    /// How many of both are hidden as noise.
    hidden: usize,
    /// The last measurement.
    vitals: Option<WebVitals>,
    /// The streams that are recorded.
    capture: Vec<StreamKind>,
    page: PageMark,
    /// The next step if none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

/// The streams that are recorded now.
#[derive(Serialize, JsonSchema)]
pub(super) struct CaptureAnswer {
    status: status::Ok,
    capturing: CaptureStatus,
    /// Which browsers it does not reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// The entries that were cleared for this owner.
#[derive(Serialize, JsonSchema)]
pub(super) struct ClearAnswer {
    status: status::Ok,
    /// How many entries of each stream.
    cleared: BTreeMap<StreamKind, usize>,
}

/// The schema of a page of a view.
pub(super) fn page_of(view: StreamView, answers: &mut AnswerSchemas) -> Value {
    let mut page = answers.inline::<StreamAnswer>();
    let any_of = |entries: Vec<Schema>| json!({"type": "array", "items": {"anyOf": entries}});
    let mut is_listed = |field: &str, of: StreamView| {
        let listed = any_of(entry_schemas(of, answers.generator()));
        let described = page["properties"][field]["description"].take();
        page["properties"][field] = listed;
        page["properties"][field]["description"] = described;
    };
    is_listed("entries", view);
    is_listed("bodies", StreamView::Of(StreamKind::Bodies));
    if let Some(forms) = page["properties"]["entries"]["items"]["anyOf"].as_array_mut() {
        forms.insert(0, json!({"type": "string"}));
    }
    if view != StreamView::Of(StreamKind::Network)
        && let Some(properties) = page["properties"].as_object_mut()
    {
        properties.shift_remove("bodies");
    }
    page
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A page of a view.
pub(super) async fn read(
    hub: &Hub,
    caller: &Caller,
    view: StreamView,
    wanted: StreamArguments,
) -> ToolResult {
    let seal = hub.cursor_seal(&caller.owner);
    let from = match wanted.cursor.as_deref() {
        None => PageStart::Newest,
        Some(OLDEST) => PageStart::Oldest,
        Some(cursor) => match PageCursor::parse(cursor, view, &hub.epoch(), seal.as_ref()) {
            Ok(cursor) => PageStart::Cursor(cursor),
            Err(error) => return wrong_cursor(error),
        },
    };
    let limit = wanted.limit.unwrap_or(USUAL).min(MOST);
    let (with_trace, has_cursor) = (wanted.trace == Some(true), wanted.cursor.is_some());
    let filter = wanted.filter(hub);
    let with_bodies = view == StreamView::Of(StreamKind::Network) && filter.request_id.is_some();
    let (form, room) = match (&filter.request_id, with_trace) {
        // Of one request: the whole of it is told in parts.
        (Some(_), _) => (EntryForm::Whole, LONGEST_PAGE),
        (None, true) => (EntryForm::Whole, LIST_ROOM),
        (None, false) => (EntryForm::Line, LIST_ROOM),
    };
    let query = PageQuery { view, filter: filter.clone(), from, limit, room, form };
    let page = hub.read_streams(caller, query).await;
    let bodies = if with_bodies { Some(bodies(hub, caller, &filter, &page).await) } else { None };
    let hint = hint(hub, caller, view, &filter, &page);
    // A caller that has read on from a cursor goes on doing so.
    let reads_on = with_trace || has_cursor || page.has_more || page.has_older;
    ToolResult::of(&StreamAnswer {
        has_more: page.has_more,
        has_older: page.has_older,
        next_cursor: reads_on.then(|| page.next.text(view, &hub.epoch(), seal.as_ref())),
        dropped: page.dropped,
        hidden: u64::try_from(page.hidden).unwrap_or(u64::MAX),
        rejected: page.rejected,
        entries: page.entries,
        bodies,
        page: page.mark,
        hint,
    })
}

/// The bodies of the request that a page is about, as far as they fit beside it.
async fn bodies(
    hub: &Hub,
    caller: &Caller,
    filter: &EntryFilter,
    page: &EntryPage,
) -> Vec<Box<RawValue>> {
    // Each entry brings a comma.
    let taken: usize = page.entries.iter().map(|entry| entry.get().len() + 1).sum();
    let filter = EntryFilter {
        request_id: filter.request_id.clone(),
        browser: filter.browser.clone(),
        tab: filter.tab,
        ..EntryFilter::default()
    };
    let room = LONGEST_PAGE.saturating_sub(taken);
    let view = StreamView::Of(StreamKind::Bodies);
    let form = EntryForm::Whole;
    let query = PageQuery { view, filter, from: PageStart::Newest, limit: MOST, room, form };
    hub.read_streams(caller, query).await.entries
}

impl StreamArguments {
    /// The part of a long answer that is asked for.
    pub(super) fn range(&self) -> AnswerRange {
        AnswerRange { offset: self.offset, limit: None }
    }

    fn filter(self, hub: &Hub) -> EntryFilter {
        EntryFilter {
            level: self.level,
            text: self.text,
            url: self.url,
            tab: self.tab_id,
            browser: self.browser.map(|named| id_of(hub, named)),
            request_id: self.request_id,
            within: self.since_ms.map(Duration::from_millis),
        }
    }
}

/// The id of a browser that is named by id or label. One that is not known any more may
/// have left entries behind.
pub(super) fn id_of(hub: &Hub, named: String) -> BrowserId {
    let browsers = hub.browsers();
    let labelled = browsers.into_iter().find(|browser| browser.label == named);
    labelled.map_or_else(|| named.into(), |browser| browser.browser)
}

/// The next step for a page that is empty because its streams are not recorded.
fn hint(
    hub: &Hub,
    caller: &Caller,
    view: StreamView,
    filter: &EntryFilter,
    page: &EntryPage,
) -> Option<String> {
    let streams: Vec<_> =
        view.streams().iter().filter(|stream| stream.is_captured()).copied().collect();
    if !page.entries.is_empty() || streams.is_empty() {
        return None;
    }
    let deaf = hub.capture_unsupported(filter.browser.as_ref());
    let (owner, tab) = (&caller.owner, filter.tab);
    let is_on =
        |stream: &StreamKind| hub.captures_for(owner, *stream, filter.browser.as_ref(), tab);
    // Recording is on: an empty list then means that nothing happened.
    if streams.iter().all(is_on) || !deaf.labels.is_empty() && deaf.are_all {
        return deaf.hint();
    }
    let names: Vec<_> = streams.iter().map(|stream| format!("\"{}\"", stream.name())).collect();
    let names = names.join(",");
    let own = format!(
        "Recording is off: configure({{action:\"capture\", streams:[{names}]}}) starts it."
    );
    Some([Some(own), deaf.hint()].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn wrong_cursor(error: CursorError) -> ToolResult {
    let code = match error {
        CursorError::Foreign => "invalid_argument",
        CursorError::Stale => "stale_cursor",
    };
    CallFailure::new(code, error.to_string(), "Omit `cursor` for the newest entries.")
        .about("cursor")
        .expecting(format!("a next_cursor of the same `what`, or `{OLDEST}`"))
        .into()
}

/// Answers with the state of a tab's page.
pub(super) async fn page(
    hub: &Hub,
    caller: &Caller,
    selector: &TargetSelector,
    must_name_tab: bool,
) -> ToolResult {
    let (browser, tab) = match hub.find_tab(caller, selector, must_name_tab) {
        Ok(found) => found,
        Err(refused) => return ToolResult::refused(&refused),
    };
    let record = hub.page_record(caller, &browser, tab.tab_id).await;
    let capture = hub.capture_of(&browser);
    let recorded: Vec<_> = StreamKind::ALL
        .into_iter()
        .filter(|stream| capture.has(*stream, Some(tab.tab_id)))
        .collect();
    let hint = recorded
        .is_empty()
        .then_some("Recording is off for this page: configure({action:\"capture\"}) starts it.");
    ToolResult::of(&PageAnswer {
        browser_label: hub.browser_label(&browser),
        browser,
        tab_id: tab.tab_id,
        page: PageMark::of_address(&tab.url),
        url: tab.url,
        title: tab.title,
        active: tab.active,
        errors: record.errors,
        failed_requests: record.failed_requests,
        hidden: record.hidden,
        vitals: record.vitals,
        capture: recorded,
        hint,
    })
}

/// Starts or stops recording.
pub(super) fn capture(hub: &Hub, caller: &Caller, change: &CaptureChange) -> ToolResult {
    match hub.capture(caller, change) {
        Ok(capturing) => {
            let browser = change.of.browser.clone().map(|named| id_of(hub, named));
            let hint = hub.capture_unsupported(browser.as_ref()).hint();
            ToolResult::of(&CaptureAnswer { status: status::Ok::Ok, capturing, hint })
        }
        Err(refused) => ToolResult::refused(&refused),
    }
}

/// Hides the entries so far from the caller's owner.
pub(super) fn clear(hub: &Hub, caller: &Caller, streams: Option<Vec<StreamKind>>) -> ToolResult {
    let streams: BTreeSet<_> = streams.map_or_else(|| StreamKind::ALL.into(), BTreeSet::from_iter);
    let cleared: BTreeMap<_, _> = hub.clear_streams(&caller.owner, streams).into_iter().collect();
    ToolResult::of(&ClearAnswer { status: status::Ok::Ok, cleared })
}
