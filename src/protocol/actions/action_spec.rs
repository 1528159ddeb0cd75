//! The description of an action.

use std::time::Duration;

#[cfg(test)]
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::{ACTIONS, Action};

/// Everything that is true of an action, whatever its parameters are.
#[derive(Debug)]
pub struct ActionSpec {
    /// Its name, as MCP and the wire call it.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The tool of the five that offers it.
    pub tool: ActionTool,
    /// The group of tools that it belongs to where each action is a tool.
    pub group: ToolGroup,
    /// The first part of the correlation id.
    pub id_kind: &'static str,
    /// Whether running it twice does no harm. Such a command skips the claim.
    pub is_safe: bool,
    /// Whether it concerns the browser as a whole and so needs no tab.
    pub is_browser_wide: bool,
    /// Whether it is delivered at once, even while another command runs in its tab.
    pub passes_lanes: bool,
    /// What it does to the page and the browser, as clients are told before they ask a person.
    pub effect: ActionEffect,
    /// The parameters that do more than `effect` says: the action's own tool, which a person may have
    /// allowed for ever, does not take them.
    pub beyond_effect: &'static [&'static str],
    /// The parameters that no record of the action has, such as passwords.
    pub unrecorded: &'static [&'static str],
    /// Whether the extension cuts its result to the call's `max_bytes`, at a place that makes sense,
    /// and says there how to read on.
    pub cuts_result: bool,
    /// Whether callers often choose its time: then its tool lists `timeout_ms` and `wait_ms`, which
    /// every action takes.
    pub takes_long: bool,
    /// How long it takes as a rule: the estimate until there are runs to go by.
    pub usual_length: Duration,
    /// Parameters of one call, as a JSON object. The golden command frame is made of it.
    pub example: &'static str,
}

/// The tool of the five that offers an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionTool {
    /// `interact`, under `action`.
    Interact,
    /// `analyze`, under `what`.
    Analyze,
    /// None: the daemon itself asks for it.
    Daemon,
}

/// The groups of tools where each action is a tool: a client chooses the groups that it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolGroup {
    /// What most tasks need: always shown.
    Core,
    /// Further ways through pages and tabs.
    Nav,
    /// Further kinds of input.
    Input,
    /// Further ways to read a page, and tools that pages offer.
    Page,
    /// Files on this computer.
    Files,
    /// Further recorded streams.
    Streams,
    /// JSON that agents keep, and the state of tabs.
    State,
    /// Commands, clients and rules.
    Manage,
}

/// What an action does to the page and the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionEffect {
    /// It only looks.
    Reads,
    /// It changes something.
    Acts {
        /// Whether it can destroy something, such as unsaved input.
        destructive: bool,
        /// Whether a second run changes nothing more.
        idempotent: bool,
    },
}

/// An action in the registry.
#[derive(Debug)]
pub struct RegisteredAction {
    /// What is true of it.
    pub spec: &'static ActionSpec,
    /// Makes the JSON Schema of its parameters.
    #[cfg(test)]
    pub(crate) schema: fn(SchemaGenerator) -> Schema,
    /// Reads its parameters.
    pub(super) read: fn(&Map<String, Value>) -> serde_json::Result<Action>,
}

impl RegisteredAction {
    /// All of them, in their order.
    #[must_use]
    pub fn all() -> &'static [Self] {
        ACTIONS
    }

    /// The action of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|known| known.spec.name == name)
    }

    /// The action that its example describes.
    #[cfg(test)]
    pub(crate) fn example(&self) -> Action {
        let params = serde_json::from_str(self.spec.example).expect("an example is an object");
        (self.read)(&params).expect("an example is an action")
    }

    /// The actions that this tool offers.
    pub fn of_tool(tool: ActionTool) -> impl Iterator<Item = &'static Self> {
        Self::all().iter().filter(move |known| known.spec.tool == tool)
    }
}

impl ActionSpec {
    /// An action that only looks at a page: `analyze` offers it, and it is safe to run twice.
    pub(super) const fn reading(name: &'static str, title: &'static str) -> Self {
        Self {
            tool: ActionTool::Analyze,
            is_safe: true,
            effect: ActionEffect::Reads,
            usual_length: Duration::from_millis(20),
            ..Self::acting(name, title)
        }
    }

    /// An action that changes something, may destroy it, and goes on doing so when it is repeated.
    pub(super) const fn acting(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            tool: ActionTool::Interact,
            group: ToolGroup::Core,
            id_kind: name,
            is_safe: false,
            is_browser_wide: false,
            passes_lanes: false,
            effect: ActionEffect::Acts { destructive: true, idempotent: false },
            beyond_effect: &[],
            unrecorded: &[],
            cuts_result: false,
            takes_long: false,
            usual_length: Duration::from_millis(20),
            example: "{}",
        }
    }
}

impl ActionEffect {
    /// It changes something and destroys nothing; a second run changes nothing more.
    pub(super) const HARMLESS: Self = Self::Acts { destructive: false, idempotent: true };

    /// It changes something and destroys nothing, and does more when it is repeated.
    pub(super) const ADDING: Self = Self::Acts { destructive: false, idempotent: false };
}

impl ActionTool {
    /// The parameter that selects an action of this tool, in its calls and in records.
    #[must_use]
    pub const fn selector(self) -> &'static str {
        match self {
            Self::Interact | Self::Daemon => "action",
            Self::Analyze => "what",
        }
    }
}

impl ToolGroup {
    /// All of them, in the order in which their tools are listed.
    pub const ALL: [Self; 8] = [
        Self::Core,
        Self::Nav,
        Self::Input,
        Self::Page,
        Self::Files,
        Self::Streams,
        Self::State,
        Self::Manage,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Nav => "nav",
            Self::Input => "input",
            Self::Page => "page",
            Self::Files => "files",
            Self::Streams => "streams",
            Self::State => "state",
            Self::Manage => "manage",
        }
    }

    /// The group of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }
}
