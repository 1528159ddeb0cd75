//! The frame in which an extension describes itself and its browser, once both sides are proven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{Attempt, BrowserSession, CorrelationId, TabId};

/// The extension's browser, tabs, abilities and unfinished commands.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadyFrame {
    /// The browser's name for people.
    pub label: String,
    /// The browser's user agent.
    pub user_agent: String,
    /// The names of the actions that it can run.
    pub actions: Vec<String>,
    /// Which run of the browser this is. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<BrowserSession>,
    /// All tabs.
    pub tabs: Vec<BrowserTab>,
    /// The commands that it has not finished, or whose reports are not acknowledged.
    pub in_flight: Vec<InFlight>,
    /// The waits that drawing tools are open for. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws_for: Option<Vec<CorrelationId>>,
    /// Whether it enforces which sites may be used. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_rules: Option<bool>,
    /// Whether it enforces rules about acts: sites that agents may only read, and denied actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act_rules: Option<bool>,
    /// Whether it asks the person before a client acts, where the rules say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_first: Option<bool>,
    /// Whether it keeps a command to the tabs that the command's frame names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tab_scopes: Option<bool>,
    /// Whether the person can do steps alone in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hands_over: Option<bool>,
    /// Whether the person has stopped everything in this browser. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,
    /// Whether it shows the person which extensions that only poll ask to be let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_extensions: Option<bool>,
    /// Whether the person can name the browser in it. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<bool>,
    /// Whether it keeps private tabs to the owner who opened them. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_tabs: Option<bool>,
    /// Whether it asks the person about each site before it lets a program on another machine open, read or
    /// use it. Older extensions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_owners: Option<bool>,
    /// The tabs that the person shares with agents. Older extensions share none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_tabs: Vec<TabId>,
}

/// A command that the extension has not finished, or whose report is not acknowledged.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InFlight {
    /// The command.
    pub correlation_id: CorrelationId,
    /// The attempt.
    pub attempt: Attempt,
    /// Its state in the extension.
    pub state: InFlightState,
}

/// The state of a command in the extension.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InFlightState {
    /// Claimed; no `go` has come.
    Claimed,
    /// `go` has come and it runs.
    Running,
    /// It is over and its report is in the outbox.
    Done,
}

/// A browser tab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserTab {
    /// The tab.
    pub tab_id: TabId,
    /// Its window.
    pub window_id: i64,
    /// What it shows.
    #[serde(default)]
    pub url: String,
    /// The page's title.
    #[serde(default)]
    pub title: String,
    /// Whether it is the one its window shows.
    #[serde(default)]
    pub active: bool,
    /// Whether its window is the one that had the focus last.
    #[serde(default)]
    pub focused: bool,
    /// The letters with which the refs of its elements begin, once it has any: `b` of `b12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_prefix: Option<String>,
    /// Whether the browser has unloaded its page to save memory. The next command for the page
    /// loads it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discarded: bool,
    /// Whether the browser has stopped its page's timers and scripts. The next command for the page
    /// lets them run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// Ids that it had before: the browser gives a tab whose page it unloads another one. They still
    /// name it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_ids: Vec<TabId>,
    /// Whether it is in a private window. Only those that agents opened are in a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
}
