//! `observe`: reads the daemon's state. It never asks the browser.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answers::{AnswerSchemas, FAILED};
use super::brief::{BriefReport, DetailLevel};
use super::failure::{CallFailure, NotFound, RefusedCall};
use super::parts::{AnswerRange, RequestedPart};
use super::result::{CommandAnswer, status};
use super::streams::{self, StreamArguments};
use super::{NowOrLater, ToolReply, ToolResult, ToolSet, read};
use crate::hub::{BrowserSummary, Caller, CommandLists, Hub, TabSummary, TargetSelector};
use crate::lifecycle::limits;
use crate::protocol::{
    CorrelationId, FailedCommand, FinishedCommand, PageMark, PendingCommand, StreamKind, TabId,
};
use crate::streams::{StreamView, TextLine};

pub(super) const NAME: &str = "observe";

/// The choice that reads a command.
pub(super) const COMMAND_RESULT: &str = "command_result";

pub(super) const DESCRIPTION: &str = "Reads results and captured page events.";

/// Its arguments, of their types.
#[cfg(test)]
pub(super) fn arguments() -> super::arguments::ToolArguments {
    super::arguments::ToolArguments::of::<ObserveQuery, ()>("what")
}

/// The queries.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
enum ObserveQuery {
    /// A command's status and result.
    CommandResult {
        /// Id of the command.
        correlation_id: String,
        /// Wait this many ms for its end; default 0, ann_ ids 55000.
        #[schemars(range(min = 0, max = 55_000))]
        wait_ms: Option<u64>,
        /// Add ids and times.
        trace: Option<bool>,
        /// Start of a part, in bytes.
        #[schemars(range(min = 0))]
        offset: Option<usize>,
        /// Most bytes (default 10000) or entries (default 50).
        #[schemars(range(min = 1, max = 65_536))]
        limit: Option<usize>,
    },
    /// This client's commands.
    PendingCommands(AnswerRange),
    /// This client's failures.
    FailedCommands(AnswerRange),
    /// Known tabs of all browsers.
    Tabs {
        /// Add ids and times.
        trace: Option<bool>,
        #[serde(flatten)]
        range: AnswerRange,
    },
    /// Known browsers.
    Browsers(AnswerRange),
    /// Console lines and exceptions.
    Logs(StreamArguments),
    /// Errors of pages and requests.
    Errors(StreamArguments),
    /// Requests; with request_id their bodies, too.
    Network(StreamArguments),
    /// WebSocket messages.
    Websocket(StreamArguments),
    /// The user's actions.
    Actions(StreamArguments),
    /// Web vitals and load times.
    Performance(StreamArguments),
    /// The extension's log.
    ExtensionLogs(StreamArguments),
    /// A tab's URL, errors and vitals.
    Page {
        /// Tab; default: last used.
        tab_id: Option<TabId>,
        /// Browser: id or label.
        browser: Option<String>,
    },
}

/// This client's commands, oldest first.
#[derive(Serialize, JsonSchema)]
struct PendingCommands {
    /// Those that are not over.
    pending: Vec<PendingCommand>,
    /// Those with a result.
    completed: Vec<FinishedCommand>,
    /// Those without one, and refused calls, as in `failed_commands`.
    failed: Vec<FailedCommand>,
    page: PageMark,
}

/// This client's failures and refused calls, oldest first.
#[derive(Serialize, JsonSchema)]
struct FailedCommands {
    status: status::Ok,
    count: usize,
    commands: Vec<FailedCommand>,
    page: PageMark,
}

/// A tab: one line, or with `trace` an object.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ListedTab {
    Line(String),
    Whole(TabSummary),
}

/// The tabs of the connected browsers.
#[derive(Serialize, JsonSchema)]
struct TabsAnswer {
    count: usize,
    tabs: Vec<ListedTab>,
    page: PageMark,
    /// Which browsers tell of none, or why no browser is connected; and the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// The browsers that are known, connected ones first.
#[derive(Serialize, JsonSchema)]
struct BrowsersAnswer {
    count: usize,
    browsers: Vec<BrowserSummary>,
    /// Why none is connected, and the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The place as the caller's machine knows it, if the browsers are on another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// The schemas of its answers.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    answers.of(NAME, COMMAND_RESULT).are::<CommandAnswer>().are::<BriefReport>();
    for (what, whole) in [
        ("pending_commands", answers.inline::<PendingCommands>()),
        ("failed_commands", answers.inline::<FailedCommands>()),
        ("tabs", answers.inline::<TabsAnswer>()),
        ("browsers", answers.inline::<BrowsersAnswer>()),
    ] {
        answers.of(NAME, what).are_in_parts(whole);
    }
    answers.of(NAME, "page").are::<streams::PageAnswer>();
    for view in StreamKind::ALL.map(StreamView::Of).into_iter().chain([StreamView::Errors]) {
        if view != StreamView::Of(StreamKind::Bodies) {
            let page = streams::page_of(view, answers);
            answers.of(NAME, view.name()).are_in_parts(page);
        }
    }
    answers.of(NAME, FAILED).are::<CallFailure>().are::<RefusedCall>().are::<NotFound>();
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    must_name_tab: bool,
) -> ToolReply {
    let hub = &tools.hub;
    let what: ObserveQuery = match read(given) {
        Ok(what) => what,
        Err(wrong) => return ToolReply::done(wrong),
    };
    let (of, range) = (StreamView::Of, what.range());
    let result = match what {
        ObserveQuery::CommandResult { correlation_id, wait_ms, trace, offset, limit } => {
            let part = RequestedPart::asked_for(offset, limit);
            let wait = wait_ms.map_or_else(|| usual_wait(&correlation_id), Duration::from_millis);
            return command_result(tools, caller, correlation_id, wait, trace, part).await;
        }
        ObserveQuery::PendingCommands(_) => pending_commands(hub.lists(caller)),
        ObserveQuery::FailedCommands(_) => {
            let commands = hub.failures(caller);
            ToolResult::of(&FailedCommands {
                status: status::Ok::Ok,
                count: commands.len(),
                commands,
                page: PageMark::any(),
            })
        }
        ObserveQuery::Tabs { trace, .. } => tabs(hub, caller, trace == Some(true)),
        ObserveQuery::Browsers(_) => {
            let browsers = hub.browsers_of(&caller.owner);
            let hint = hub.browser_absence();
            let place = hub.place_of(&caller.owner);
            ToolResult::of(&BrowsersAnswer { count: browsers.len(), browsers, hint, place })
        }
        ObserveQuery::Logs(wanted) => {
            streams::read(hub, caller, of(StreamKind::Logs), wanted).await
        }
        ObserveQuery::Errors(wanted) => {
            streams::read(hub, caller, StreamView::Errors, wanted).await
        }
        ObserveQuery::Network(wanted) => {
            streams::read(hub, caller, of(StreamKind::Network), wanted).await
        }
        ObserveQuery::Websocket(wanted) => {
            streams::read(hub, caller, of(StreamKind::Websocket), wanted).await
        }
        ObserveQuery::Actions(wanted) => {
            streams::read(hub, caller, of(StreamKind::Actions), wanted).await
        }
        ObserveQuery::Performance(wanted) => {
            streams::read(hub, caller, of(StreamKind::Performance), wanted).await
        }
        ObserveQuery::ExtensionLogs(wanted) => {
            streams::read(hub, caller, of(StreamKind::ExtensionLogs), wanted).await
        }
        ObserveQuery::Page { tab_id, browser } => {
            let selector = TargetSelector { browser, tab: tab_id };
            streams::page(hub, caller, &selector, must_name_tab).await
        }
    };
    ToolReply::done(result.in_parts(range, &same_call(given)))
}

impl ObserveQuery {
    /// The part of a long answer that the call asks for.
    fn range(&self) -> AnswerRange {
        match self {
            Self::PendingCommands(range)
            | Self::FailedCommands(range)
            | Self::Tabs { range, .. }
            | Self::Browsers(range) => *range,
            Self::Logs(wanted)
            | Self::Errors(wanted)
            | Self::Network(wanted)
            | Self::Websocket(wanted)
            | Self::Actions(wanted)
            | Self::Performance(wanted)
            | Self::ExtensionLogs(wanted) => wanted.range(),
            Self::CommandResult { .. } | Self::Page { .. } => AnswerRange::default(),
        }
    }
}

/// The call that reads on in a long answer, without the offset and the closing brackets.
fn same_call(given: &Map<String, Value>) -> String {
    // The caller of this adds the offset of the next part.
    let arguments = given.iter().filter(|(name, _)| *name != "offset");
    let arguments: Vec<_> = arguments.map(|(name, value)| format!("{name}:{value}")).collect();
    format!("{NAME}({{{}", arguments.join(", "))
}

/// The tabs, each in one line or as an object.
fn tabs(hub: &Hub, caller: &Caller, with_trace: bool) -> ToolResult {
    let tabs = hub.tabs(caller);
    // Naming the only browser on each line would cost tokens for nothing.
    let is_in_one = tabs.iter().all(|tab| tab.browser == tabs[0].browser);
    let listed = |tab: TabSummary| {
        if with_trace { ListedTab::Whole(tab) } else { ListedTab::Line(tab_line(&tab, !is_in_one)) }
    };
    let sees_all = !hub.scope_of(&caller.owner).is_bounded();
    let untold = || untold_tabs(&hub.capture_unsupported(None).labels).filter(|_| sees_all);
    let hint = hub.browser_absence().or_else(untold);
    let tabs: Vec<_> = tabs.into_iter().map(listed).collect();
    ToolResult::of(&TabsAnswer { count: tabs.len(), tabs, page: PageMark::any(), hint })
}

/// `7 browser:"work" active focused current yours refs:b https://example.com/ Example Domain`
fn tab_line(summary: &TabSummary, with_browser: bool) -> String {
    let TabSummary { browser, browser_label, tab, current, held_by } = summary;
    let mut line = TextLine::of(&tab.tab_id.to_string());
    if with_browser {
        let name = browser_label.as_deref().unwrap_or(browser.as_str());
        line.quoted("browser", name);
    }
    let words = [
        (tab.active, "active"),
        (tab.focused, "focused"),
        (*current, "current"),
        (tab.discarded, "discarded"),
        (tab.frozen, "frozen"),
        (tab.private, "private"),
    ];
    for (_, word) in words.into_iter().filter(|(is_so, _)| *is_so) {
        line.word(word);
    }
    match held_by {
        Some(holder) if holder.you => line.word("yours"),
        Some(holder) => line.named("held_by", Some(holder.shown_name())),
        None => {}
    }
    line.named("refs", tab.ref_prefix.as_deref());
    line.word(&tab.url);
    line.ending_in(&tab.title)
}

/// The next step for browsers whose extension does not report its tabs.
fn untold_tabs(labels: &[String]) -> Option<String> {
    let names: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "The tabs of {names} are missing: interact({{action:\"tab_list\", browser}}) asks for them."
        )
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

/// One command's status, now or once it is over. Also the answer to `configure query_status`.
/// `trace` adds the phases; `false` asks for the short answer of a call that has waited.
pub(super) async fn command_result(
    tools: &ToolSet,
    caller: &Caller,
    id: String,
    wait: Duration,
    trace: Option<bool>,
    part: Option<RequestedPart>,
) -> ToolReply {
    let id: CorrelationId = id.into();
    let with_trace = trace == Some(true);
    let detail = if trace == Some(false) { DetailLevel::Brief } else { DetailLevel::Full };
    if part.as_ref().is_some_and(RequestedPart::is_further) {
        tools.hub.read_on(caller, &id);
    }
    // Answered at once, without a waiter's permit.
    if wait.is_zero() {
        let seen = tools.hub.get(caller, &id, with_trace).await;
        return ToolReply::done(ToolResult::of_seen(seen, part, detail, tools.hub.agent_files()));
    }
    let (hub, caller) = (tools.hub.clone(), caller.clone());
    let waits_for = Some(id.clone());
    let outcome = NowOrLater::Later(Box::pin(async move {
        let seen = hub.wait(&caller, &id, wait, with_trace).await;
        ToolResult::of_seen(seen, part, detail, hub.agent_files())
    }));
    ToolReply { submitted: None, waits_for, outcome }
}

fn pending_commands(lists: CommandLists) -> ToolResult {
    let CommandLists { pending, completed, failed } = lists;
    ToolResult::of(&PendingCommands { pending, completed, failed, page: PageMark::any() })
}
