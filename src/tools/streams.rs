//! What `observe` and `configure` do with what browsers send on their own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ToolResult;
use super::answers::Answers;
use super::failure::Failure;
use super::result::status;
use crate::hub::{Caller, CaptureChange, Capturing, Hub, Wish};
use crate::protocol::{BrowserId, Stream, TabId};
use crate::streams::{
    Cursor, CursorError, Filter, From, LONGEST_PAGE, Level, Page, Query, View, Vitals,
    entry_schemas,
};

/// How many entries a page has unless the call says otherwise, and at most.
const USUAL: usize = 50;
const MOST: usize = 200;

/// What a cursor may say instead: from the first entry that is kept.
const OLDEST: &str = "oldest";

/// Which entries of a stream.
#[derive(Default, Deserialize, JsonSchema)]
// Else this would describe each stream that has no description of its own.
#[schemars(description = "")]
pub(super) struct StreamArguments {
    /// A next_cursor, or `oldest`; default: the newest.
    cursor: Option<String>,
    /// How many entries.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// At least this bad.
    level: Option<Level>,
    /// With this in text or URL.
    text: Option<String>,
    /// With this in the URL.
    url: Option<String>,
    /// Of this tab.
    tab_id: Option<TabId>,
    /// Of this browser.
    browser: Option<String>,
    /// Of the last so many ms.
    #[schemars(range(min = 0))]
    since_ms: Option<u64>,
    /// Of this request.
    request_id: Option<String>,
}

/// What `observe` answers.
#[derive(Serialize, JsonSchema)]
struct Answer {
    /// Oldest first.
    entries: Vec<Box<RawValue>>,
    /// The bodies of the one request that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    bodies: Option<Vec<Box<RawValue>>>,
    /// Whether there is more behind the last one already.
    has_more: bool,
    /// Whether older ones are kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_older: bool,
    /// The `cursor` of the call that reads on.
    next_cursor: String,
    /// How many entries behind the cursor were not kept long enough to be read.
    dropped: u64,
    /// How many that fit the filter are hidden as noise.
    hidden: usize,
    /// How many were malformed since the daemon started.
    #[serde(skip_serializing_if = "is_zero")]
    rejected: u64,
    untrusted: bool,
    /// Why there may be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What is known of a page.
#[derive(Serialize, JsonSchema)]
pub(super) struct PageAnswer {
    browser: BrowserId,
    tab_id: TabId,
    url: String,
    title: String,
    active: bool,
    /// Errors and exceptions in its console.
    errors: usize,
    failed_requests: usize,
    /// How many of both are hidden as noise.
    hidden: usize,
    /// What was measured last.
    vitals: Option<Vitals>,
    /// What of it is being recorded.
    capture: Vec<Stream>,
    untrusted: bool,
    /// What to do if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

/// What is recorded now.
#[derive(Serialize, JsonSchema)]
pub(super) struct CaptureAnswer {
    status: status::Ok,
    capturing: Capturing,
    /// Which browsers it does not reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What was cleared for this owner.
#[derive(Serialize, JsonSchema)]
pub(super) struct ClearAnswer {
    status: status::Ok,
    /// How many entries of each stream.
    cleared: BTreeMap<Stream, usize>,
}

/// What a page of a view looks like.
pub(super) fn page_of(view: View, answers: &mut Answers) -> Value {
    let mut page = answers.inline::<Answer>();
    let any_of = |entries: Vec<Schema>| json!({"type": "array", "items": {"anyOf": entries}});
    let mut is_listed = |field: &str, of: View| {
        let listed = any_of(entry_schemas(of, answers.generator()));
        let described = page["properties"][field]["description"].take();
        page["properties"][field] = listed;
        page["properties"][field]["description"] = described;
    };
    is_listed("entries", view);
    is_listed("bodies", View::Of(Stream::Bodies));
    if view != View::Of(Stream::Network)
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
    view: View,
    wanted: StreamArguments,
) -> ToolResult {
    let from = match wanted.cursor.as_deref() {
        None => From::Newest,
        Some(OLDEST) => From::Oldest,
        Some(cursor) => match Cursor::parse(cursor, view, &hub.epoch()) {
            Ok(cursor) => From::Cursor(cursor),
            Err(error) => return wrong_cursor(error),
        },
    };
    let limit = wanted.limit.unwrap_or(USUAL).min(MOST);
    let filter = wanted.filter(hub);
    let with_bodies = view == View::Of(Stream::Network) && filter.request_id.is_some();
    let query = Query { view, filter: filter.clone(), from, limit, room: LONGEST_PAGE };
    let page = hub.read_streams(caller, query).await;
    let bodies = if with_bodies { Some(bodies(hub, caller, &filter, &page).await) } else { None };
    let hint = hint(hub, view, &filter, &page);
    ToolResult::of(&Answer {
        next_cursor: page.next.text(view, &hub.epoch()),
        entries: page.entries,
        bodies,
        has_more: page.has_more,
        has_older: page.has_older,
        dropped: page.dropped,
        hidden: page.hidden,
        rejected: page.rejected,
        untrusted: true,
        hint,
    })
}

/// The bodies of the request that a page is about, as far as they fit beside it.
async fn bodies(hub: &Hub, caller: &Caller, filter: &Filter, page: &Page) -> Vec<Box<RawValue>> {
    let taken: usize = page.entries.iter().map(|entry| entry.get().len() + 1).sum();
    let filter = Filter {
        request_id: filter.request_id.clone(),
        browser: filter.browser.clone(),
        tab: filter.tab,
        ..Filter::default()
    };
    let room = LONGEST_PAGE.saturating_sub(taken);
    let view = View::Of(Stream::Bodies);
    let query = Query { view, filter, from: From::Newest, limit: MOST, room };
    hub.read_streams(caller, query).await.entries
}

impl StreamArguments {
    fn filter(self, hub: &Hub) -> Filter {
        Filter {
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
fn id_of(hub: &Hub, named: String) -> BrowserId {
    let browsers = hub.browsers();
    let labelled = browsers.into_iter().find(|browser| browser.label == named);
    labelled.map_or_else(|| named.into(), |browser| browser.browser)
}

/// What to do about a page that is empty because nobody records what it is about.
fn hint(hub: &Hub, view: View, filter: &Filter, page: &Page) -> Option<String> {
    let streams: Vec<_> =
        view.streams().iter().filter(|stream| stream.is_captured()).copied().collect();
    if !page.entries.is_empty() || streams.is_empty() {
        return None;
    }
    let deaf = hub.deaf_to_capture(filter.browser.as_ref());
    let is_on = |stream: &Stream| hub.captures(*stream, filter.browser.as_ref(), filter.tab);
    if streams.iter().all(is_on) || !deaf.labels.is_empty() && deaf.are_all {
        return deaf.hint();
    }
    let names: Vec<_> = streams.iter().map(|stream| format!("\"{}\"", stream.name())).collect();
    let names = names.join(",");
    let own = format!(
        "This is not being recorded: configure({{action:\"capture\", streams:[{names}]}}) begins to."
    );
    Some([Some(own), deaf.hint()].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn wrong_cursor(error: CursorError) -> ToolResult {
    let code = match error {
        CursorError::Foreign => "invalid_argument",
        CursorError::Stale => "stale_cursor",
    };
    Failure::new(code, error.to_string(), "Leave `cursor` out for the newest entries.")
        .about("cursor")
        .expecting(format!("a next_cursor of the same `what`, or `{OLDEST}`"))
        .into()
}

/// What is known of a page.
pub(super) async fn page(hub: &Hub, caller: &Caller, wish: &Wish) -> ToolResult {
    let (browser, tab) = match hub.find_tab(caller, wish) {
        Ok(found) => found,
        Err(refused) => return ToolResult::refused(&refused),
    };
    let record = hub.page_record(caller, &browser, tab.tab_id).await;
    let capture = hub.capture_of(&browser);
    let recorded: Vec<_> =
        Stream::ALL.into_iter().filter(|stream| capture.has(*stream, Some(tab.tab_id))).collect();
    let hint = recorded
        .is_empty()
        .then_some("Nothing of it is being recorded: configure({action:\"capture\"}) begins to.");
    ToolResult::of(&PageAnswer {
        browser,
        tab_id: tab.tab_id,
        url: tab.url,
        title: tab.title,
        active: tab.active,
        errors: record.errors,
        failed_requests: record.failed_requests,
        hidden: record.hidden,
        vitals: record.vitals,
        capture: recorded,
        untrusted: true,
        hint,
    })
}

/// Changes what is recorded.
pub(super) fn capture(hub: &Hub, caller: &Caller, change: &CaptureChange) -> ToolResult {
    match hub.capture(caller, change) {
        Ok(capturing) => {
            let browser = change.of.browser.clone().map(|named| id_of(hub, named));
            let hint = hub.deaf_to_capture(browser.as_ref()).hint();
            ToolResult::of(&CaptureAnswer { status: status::Ok::Ok, capturing, hint })
        }
        Err(refused) => ToolResult::refused(&refused),
    }
}

/// Hides from the caller's owner what is kept of streams.
pub(super) fn clear(hub: &Hub, caller: &Caller, streams: Option<Vec<Stream>>) -> ToolResult {
    let streams: BTreeSet<_> = streams.map_or_else(|| Stream::ALL.into(), BTreeSet::from_iter);
    let cleared: BTreeMap<_, _> = hub.clear_streams(&caller.owner, streams).into_iter().collect();
    ToolResult::of(&ClearAnswer { status: status::Ok::Ok, cleared })
}
