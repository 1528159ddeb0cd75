//! Failed calls: a code, a sentence and the next step.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ToolResult;
use super::job_view::JobView;
use super::result::status;
use crate::hub::{BrowserChoice, CallRefusal, RefusalReason, TabChoice};
use crate::protocol::{BrowserTab, CorrelationId, PageMark};
use crate::streams::NoiseRule;

/// How many bytes the tabs that a refusal names take at most: it is read as a whole.
const TABS_ROOM: usize = 6_000;

/// A call that failed, and has done nothing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct CallFailure {
    /// A code for programs.
    pub(super) error: Cow<'static, str>,
    /// The error, in a sentence.
    pub(super) message: String,
    /// The parameter that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) param: Option<String>,
    /// The expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<Box<Value>>,
    /// The next step, in a sentence.
    pub(super) hint: Cow<'static, str>,
}

/// A rejected call, under an id of its own.
#[derive(Serialize, JsonSchema)]
pub(super) struct RefusedCall {
    #[serde(flatten)]
    failure: CallFailure,
    /// Under this id it is among the `failed_commands`.
    correlation_id: CorrelationId,
    /// When to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// Of a call that came too late: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_have_run: Option<bool>,
    /// How many commands are queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<usize>,
    /// The browsers that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    browsers: Option<Vec<BrowserChoice>>,
    /// The tabs that there are, or some of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    tabs: Option<Vec<TabChoice>>,
    /// The pages that decide part of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageMark>,
}

/// A job that was rejected before it began.
#[derive(Serialize, JsonSchema)]
pub(super) struct RefusedJob {
    #[serde(flatten)]
    pub(super) failure: CallFailure,
    #[serde(flatten)]
    pub(super) job: JobView,
}

/// A call that got no answer of the daemon on its way from another machine.
#[derive(Serialize, JsonSchema)]
pub(super) struct LostCall {
    #[serde(flatten)]
    failure: CallFailure,
    /// Whether it may have been carried out all the same.
    may_have_run: bool,
    /// The command that it has submitted, if the daemon said so before the answer was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
}

/// The failure of such a call, as JSON.
#[must_use]
pub fn lost_call(
    code: &'static str,
    message: String,
    hint: String,
    (may_have_run, correlation_id): (bool, Option<CorrelationId>),
) -> Value {
    let failure = CallFailure::new(code, message, hint);
    serde_json::to_value(LostCall { failure, may_have_run, correlation_id }).unwrap_or_default()
}

/// No command has this id.
#[derive(Serialize, JsonSchema)]
pub(super) struct NotFound {
    status: status::NotFound,
    #[serde(flatten)]
    failure: CallFailure,
}

/// No rule has this id.
#[derive(Serialize, JsonSchema)]
pub(super) struct UnknownRule {
    #[serde(flatten)]
    pub(super) failure: CallFailure,
    /// The rules that there are.
    pub(super) rules: Vec<NoiseRule>,
}

impl CallFailure {
    /// A failure that is about no parameter.
    pub(super) fn new(
        error: &'static str,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self { error: error.into(), message, param: None, expected: None, hint }
    }

    /// A parameter with an invalid value.
    pub(super) fn of_param(
        param: &str,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new("invalid_argument", message, hint).about(param)
    }

    /// The same, about this parameter.
    pub(super) fn about(self, param: &str) -> Self {
        Self { param: Some(param.to_owned()), ..self }
    }

    /// The same, with the expected value.
    pub(super) fn expecting(self, expected: impl Into<Value>) -> Self {
        Self { expected: Some(Box::new(expected.into())), ..self }
    }
}

impl From<CallFailure> for ToolResult {
    fn from(failure: CallFailure) -> Self {
        Self::failed(&failure)
    }
}

impl NotFound {
    /// The same for an id of another owner and for one that never was.
    pub(super) fn command() -> Self {
        let hint = "Use the correlation_id from the answer of interact; \
                    observe({what:\"pending_commands\"}) lists yours.";
        let failure = CallFailure::new("not_found", "There is no command with this id", hint);
        Self { status: status::NotFound::NotFound, failure }
    }
}

impl RefusedCall {
    pub(super) fn of(refused: &CallRefusal) -> Self {
        let CallRefusal { id, why } = refused;
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let plain = Self {
            failure: CallFailure::new(why.code(), why.message(), why.hint()),
            correlation_id: id.clone(),
            retry_after_ms: why.retry_after().map(millis),
            may_have_run: None,
            queued: None,
            browsers: None,
            tabs: None,
            page: None,
        };
        match why {
            RefusalReason::QueueFull { queued, .. } => Self { queued: Some(*queued), ..plain },
            RefusalReason::AmbiguousBrowser { browsers }
            | RefusalReason::BrowserGone { browsers, .. } => {
                Self { browsers: Some(browsers.clone()), ..plain }
            }
            RefusalReason::TabGone { tabs, .. } => {
                let choice = |tab: &BrowserTab| TabChoice {
                    browser: None,
                    browser_label: None,
                    tab: tab.clone(),
                };
                plain.with_tabs(tabs.iter().map(choice))
            }
            RefusalReason::TooLate => Self { may_have_run: Some(false), ..plain },
            RefusalReason::WhichTab { tabs } => plain.with_tabs(tabs.iter().cloned()),
            RefusalReason::RateLimited { .. }
            | RefusalReason::Pinned(_)
            | RefusalReason::TabInUse { .. }
            | RefusalReason::TooManyWaiters { .. }
            | RefusalReason::TooMany { .. }
            | RefusalReason::UnsupportedAction { .. }
            | RefusalReason::ControlSwitchedOff { .. }
            | RefusalReason::NoChoiceOfTab { .. }
            | RefusalReason::NoTab { .. }
            | RefusalReason::ScopeNotKept { .. }
            | RefusalReason::FarWordsNotKept { .. }
            | RefusalReason::NoTabKnown { .. }
            | RefusalReason::NotInPrivate { .. }
            | RefusalReason::NoPageToHandOver { .. }
            | RefusalReason::TabwirePage
            | RefusalReason::StoppedByUser { .. }
            | RefusalReason::ExtensionChanged { .. }
            | RefusalReason::KeyReused { .. }
            | RefusalReason::StorageUnavailable { .. }
            | RefusalReason::OwnerRemoved
            | RefusalReason::ShuttingDown => plain,
        }
    }

    /// The same, naming these tabs, or the first ones of many.
    fn with_tabs(self, tabs: impl ExactSizeIterator<Item = TabChoice>) -> Self {
        let (mut room, count) = (TABS_ROOM, tabs.len());
        let fits = |tab: &TabChoice| {
            let length = serde_json::to_string(tab).map_or(TABS_ROOM, |json| json.len());
            let left = room.checked_sub(length);
            room = left.unwrap_or(0);
            left.is_some()
        };
        // MCP clients cut long answers, and the hint must survive.
        let named: Vec<_> = tabs.take_while(fits).collect();
        let mut failure = self.failure;
        if named.len() < count {
            failure.hint = format!("{} observe({{what:\"tabs\"}}) lists all.", failure.hint).into();
        }
        Self { failure, tabs: Some(named), page: Some(PageMark::any()), ..self }
    }
}
