//! `configure save_har`: recorded requests as an HTTP archive, in a file.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::failure::CallFailure;
use super::result::status;
use super::streams::id_of;
use super::{ToolResult, ToolSet};
use crate::hub::{Caller, Hub};
use crate::protocol::{SavedFormat, StreamKind, TabId};
use crate::streams::{
    EntryFilter, EntryForm, LONGEST_PAGE, PageQuery, PageStart, StreamView, http_archive,
};

/// Which requests are saved, and where.
#[derive(Deserialize, JsonSchema)]
// Else this would describe the choice in the place of its own description.
#[schemars(description = "")]
pub(super) struct HarArguments {
    /// New file ending in .har, in a folder open to agents.
    #[schemars(extend("x-rare" = true))]
    path: String,
    /// Tab; default every tab.
    tab_id: Option<TabId>,
    /// Browser; default every one.
    browser: Option<String>,
    /// Only requests with this in the URL.
    #[schemars(extend("x-rare" = true))]
    url: Option<String>,
    /// Only requests of the last N ms.
    #[schemars(range(min = 0))]
    #[schemars(extend("x-silent" = true))]
    since_ms: Option<u64>,
}

/// The file that was written.
#[derive(Serialize, JsonSchema)]
pub(super) struct HarAnswer {
    status: status::Ok,
    /// Where it is.
    path: String,
    /// How many requests it has.
    requests: usize,
    /// How many older requests were dropped before.
    #[serde(skip_serializing_if = "is_none_dropped")]
    dropped: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_none_dropped(count: &u64) -> bool {
    *count == 0
}

pub(super) async fn save_har(
    tools: &ToolSet,
    caller: &Caller,
    wanted: HarArguments,
) -> Result<HarAnswer, CallFailure> {
    let hub = &tools.hub;
    let Some(files) = hub.agent_files().cloned() else {
        return Err(CallFailure::of_param("path", "This daemon writes no files", "Omit `path`."));
    };
    let refused = |why: &crate::home::AgentFileError| {
        let open = files.open_folders().unwrap_or_default();
        CallFailure::of_param("path", format!("`path`: {why}"), why.hint(&open))
    };
    // Before all requests are read: the agent can still correct the path.
    files.check(&wanted.path, SavedFormat::Har).map_err(|why| refused(&why))?;
    let filter = EntryFilter {
        tab: wanted.tab_id,
        browser: wanted.browser.map(|named| id_of(hub, named)),
        url: wanted.url,
        within: wanted.since_ms.map(Duration::from_millis),
        ..EntryFilter::default()
    };
    let (requests, dropped) = all_of(hub, caller, StreamKind::Network, &filter).await;
    if requests.is_empty() {
        return Err(CallFailure::new(
            "nothing_recorded",
            "No request is recorded that fits",
            "Start recording with configure({action:\"capture\", streams:[\"network\",\"bodies\"]}), \
             load the page, then call again.",
        ));
    }
    let (bodies, _) = all_of(hub, caller, StreamKind::Bodies, &filter).await;
    let count = requests.len();
    let path = wanted.path;
    let written = tokio::task::spawn_blocking({
        let files = files.clone();
        move || files.write(&path, http_archive(&requests, &bodies).to_string().as_bytes())
    });
    match written.await {
        Ok(Ok(path)) => Ok(HarAnswer {
            status: status::Ok::Ok,
            path: path.display().to_string(),
            requests: count,
            dropped,
        }),
        Ok(Err(why)) => Err(refused(&why)),
        Err(error) => Err(CallFailure::new(
            "internal",
            format!("the file was not written: {error}"),
            "Call again.",
        )),
    }
}

/// All kept entries of a stream that fit, oldest first, and how many were dropped before them.
async fn all_of(
    hub: &Hub,
    caller: &Caller,
    stream: StreamKind,
    filter: &EntryFilter,
) -> (Vec<Box<RawValue>>, u64) {
    let (mut entries, mut dropped, mut from) = (Vec::new(), 0, PageStart::Oldest);
    loop {
        let query = PageQuery {
            view: StreamView::Of(stream),
            filter: filter.clone(),
            from,
            limit: usize::MAX,
            room: LONGEST_PAGE,
            form: EntryForm::Whole,
        };
        let page = hub.read_streams(caller, query).await;
        entries.extend(page.entries);
        dropped += page.dropped;
        if !page.has_more {
            return (entries, dropped);
        }
        from = PageStart::Cursor(page.next);
    }
}

/// The same as the answer of a tool.
pub(super) fn answer_of(saved: Result<HarAnswer, CallFailure>) -> ToolResult {
    match saved {
        Ok(saved) => ToolResult::of(&saved),
        Err(wrong) => wrong.into(),
    }
}
