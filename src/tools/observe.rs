//! `observe`: reads what is known. It never asks the browser.

use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::result::Part;
use super::streams::{self, StreamArguments};
use super::{Call, Outcome, ToolResult, Tools, read};
use crate::hub::{Caller, Lists, Wish};
use crate::lifecycle::limits;
use crate::protocol::{CorrelationId, Stream, TabId};
use crate::streams::View;

pub(super) const NAME: &str = "observe";

pub(super) const DESCRIPTION: &str =
    "Reads results, and what pages did while configure capture was on.";

pub(super) static ARGUMENTS: LazyLock<Arguments> =
    LazyLock::new(|| Arguments::of::<Observe, Nothing>("what"));

/// What can be read.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Observe {
    /// One command's status and result.
    CommandResult {
        /// As it was returned.
        correlation_id: String,
        /// Block up to so many ms; default 0, for ann_ ids 55000.
        #[schemars(range(min = 0, max = 55_000))]
        wait_ms: Option<u64>,
        /// Add phase times.
        trace: Option<bool>,
        /// Read on from this byte.
        #[schemars(range(min = 0))]
        offset: Option<usize>,
        /// Bytes, or entries (default 50, at most 200).
        #[schemars(range(min = 1, max = 65_536))]
        limit: Option<usize>,
    },
    /// This client's commands.
    PendingCommands {},
    FailedCommands {},
    Tabs {},
    Browsers {},
    /// Console and exceptions.
    Logs(StreamArguments),
    /// Of console, scripts and requests.
    Errors(StreamArguments),
    /// Requests; with request_id their bodies too.
    Network(StreamArguments),
    Websocket(StreamArguments),
    /// What the person did.
    Actions(StreamArguments),
    /// Web vitals, load times.
    Performance(StreamArguments),
    ExtensionLogs(StreamArguments),
    /// A tab's URL, title, errors, vitals.
    Page {
        /// Default: the tab used last.
        tab_id: Option<TabId>,
        /// Its id or label.
        browser: Option<String>,
    },
}

/// No further parameters.
#[derive(JsonSchema)]
pub(super) struct Nothing {}

pub(super) async fn call(tools: &Tools, caller: &Caller, given: &Map<String, Value>) -> Call {
    let hub = &tools.hub;
    let what = match read(given) {
        Ok(what) => what,
        Err(wrong) => return Call::done(wrong),
    };
    let of = View::Of;
    Call::done(match what {
        Observe::CommandResult { correlation_id, wait_ms, trace, offset, limit } => {
            let part = Part::asked_for(offset, limit);
            let wait = wait_ms.map_or_else(|| usual_wait(&correlation_id), Duration::from_millis);
            let with_trace = trace == Some(true);
            return command_result(tools, caller, correlation_id, wait, with_trace, part).await;
        }
        Observe::PendingCommands {} => pending_commands(&hub.lists(caller)),
        Observe::FailedCommands {} => {
            let commands = hub.failures(caller);
            let count = commands.len();
            ToolResult::of(
                &json!({"status": "ok", "count": count, "commands": commands, "untrusted": true}),
            )
        }
        Observe::Tabs {} => {
            let tabs = hub.tabs(caller);
            ToolResult::of(&json!({"count": tabs.len(), "tabs": tabs, "untrusted": true}))
        }
        Observe::Browsers {} => {
            let browsers = hub.browsers();
            ToolResult::of(&json!({"count": browsers.len(), "browsers": browsers}))
        }
        Observe::Logs(wanted) => streams::read(hub, caller, of(Stream::Logs), wanted).await,
        Observe::Errors(wanted) => streams::read(hub, caller, View::Errors, wanted).await,
        Observe::Network(wanted) => streams::read(hub, caller, of(Stream::Network), wanted).await,
        Observe::Websocket(wanted) => {
            streams::read(hub, caller, of(Stream::Websocket), wanted).await
        }
        Observe::Actions(wanted) => streams::read(hub, caller, of(Stream::Actions), wanted).await,
        Observe::Performance(wanted) => {
            streams::read(hub, caller, of(Stream::Performance), wanted).await
        }
        Observe::ExtensionLogs(wanted) => {
            streams::read(hub, caller, of(Stream::ExtensionLogs), wanted).await
        }
        Observe::Page { tab_id, browser } => {
            streams::page(hub, caller, &Wish { browser, tab: tab_id }).await
        }
    })
}

/// How long a call blocks for a command unless it says otherwise: people take their time.
fn usual_wait(id: &str) -> Duration {
    if CorrelationId::from(id).is_annotations() { limits::WAIT_MAX } else { Duration::ZERO }
}

/// The same of a call by its arguments, if it is one that reads a command.
pub(super) fn usual_wait_of(tool: &str, given: &Value) -> Option<Duration> {
    let id = given["correlation_id"].as_str().filter(|_| tool == NAME)?;
    Some(usual_wait(id)).filter(|wait| !wait.is_zero())
}

/// One command's status, now or once it is over. Also what `configure query_status`
/// answers.
pub(super) async fn command_result(
    tools: &Tools,
    caller: &Caller,
    id: String,
    wait: Duration,
    with_trace: bool,
    part: Option<Part>,
) -> Call {
    let id: CorrelationId = id.into();
    if wait.is_zero() {
        let seen = tools.hub.look(caller, &id, with_trace).await;
        return Call::done(ToolResult::of_seen(seen, part));
    }
    let (hub, caller) = (tools.hub.clone(), caller.clone());
    let waits_for = Some(id.clone());
    let outcome = Outcome::Later(Box::pin(async move {
        ToolResult::of_seen(hub.wait(&caller, &id, wait, with_trace).await, part)
    }));
    Call { submitted: None, waits_for, outcome }
}

fn pending_commands(lists: &Lists) -> ToolResult {
    let failed: Vec<_> = lists
        .failed
        .iter()
        .map(|failed| {
            json!({
                "correlation_id": failed.correlation_id,
                "error": failed.error,
                "failed_at": failed.at,
            })
        })
        .collect();
    ToolResult::of(
        &json!({"pending": lists.pending, "completed": lists.completed, "failed": failed}),
    )
}
