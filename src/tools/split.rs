//! One tool an action: the choices of the five tools under names of their own, with a flat schema
//! and honest hints each, so that a person can allow one of them for ever and no other.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::failure::CallFailure;
use super::surface::ToolSurface;
use super::{
    analyze, annotations, arguments_of, asks, configure, interact, jobs, observe, run,
    submits_commands, tool_of_action,
};
use crate::protocol::actions::{ActionEffect, RegisteredAction, ToolGroup};

/// A choice of one of the five tools as a tool of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitTool {
    name: &'static str,
    title: &'static str,
    group: ToolGroup,
    /// Its own description, if not that of its choice.
    about: Option<&'static str>,
    /// The tool of the five, and the choice of it; the job's tool has none.
    tool: &'static str,
    choice: Option<&'static str>,
    effect: ActionEffect,
    /// Its parameters that this tool does not take.
    without: &'static [&'static str],
    /// Its parameters that this tool takes and does not list.
    unlisted: &'static [&'static str],
    /// Its parameters that this tool requires besides.
    requires: &'static [&'static str],
    /// The parameters of every choice that are listed. All are taken.
    common: &'static [&'static str],
}

/// A choice of `observe` or `configure`, or one more of another tool.
const fn choice(
    name: &'static str,
    title: &'static str,
    group: ToolGroup,
    (tool, choice): (&'static str, &'static str),
    effect: ActionEffect,
) -> SplitTool {
    SplitTool {
        name,
        title,
        group,
        about: None,
        tool,
        choice: Some(choice),
        effect,
        without: &[],
        unlisted: &[],
        requires: &[],
        common: &[],
    }
}

const READS: ActionEffect = ActionEffect::Reads;
const HARMLESS: ActionEffect = ActionEffect::Acts { destructive: false, idempotent: true };
const ADDING: ActionEffect = ActionEffect::Acts { destructive: false, idempotent: false };
const DESTRUCTIVE: ActionEffect = ActionEffect::Acts { destructive: true, idempotent: true };

const DESTRUCTIVE_ONCE: ActionEffect = ActionEffect::Acts { destructive: true, idempotent: false };

const O: &str = observe::NAME;
const C: &str = configure::NAME;

/// The tool that lists the tabs without asking their browsers.
const KNOWN_TABS: &str = "known_tabs";

/// The tools that are no actions of a browser.
static OTHERS: [SplitTool; 34] = {
    use ToolGroup::{Core, Files, Manage, Nav, Page, State, Streams};
    [
        choice("console", "Read the console", Core, (O, "logs"), READS),
        choice("requests", "Read requests", Core, (O, "network"), READS),
        choice("capture", "Record pages", Core, (C, "capture"), HARMLESS),
        SplitTool {
            without: &["manage"],
            unlisted: &["session", "styles"],
            common: &["tab_id"],
            ..choice(
                "annotations",
                "Drawings of the user",
                Core,
                (analyze::NAME, annotations::NAME),
                ADDING,
            )
        },
        SplitTool {
            about: Some("Lists or deletes the user's drawings, or asks for one of a session."),
            common: &["tab_id"],
            ..choice(
                "drawings",
                "Manage drawings",
                Page,
                (analyze::NAME, annotations::NAME),
                DESTRUCTIVE_ONCE,
            )
        },
        choice(asks::NAME, "Ask the user", Core, (interact::NAME, asks::NAME), ADDING),
        choice("result", "Read a result", Core, (O, "command_result"), READS),
        choice("cancel", "Cancel a command", Core, (C, "cancel"), HARMLESS),
        choice("dialogs", "Leave dialogs open", Nav, (C, "dialogs"), HARMLESS),
        choice("tab_release", "Give a tab back", Nav, (C, "tab_release"), HARMLESS),
        choice(KNOWN_TABS, "List known tabs", Nav, (O, "tabs"), READS),
        SplitTool {
            common: &["tab_id", "timeout_ms", "wait_ms"],
            ..choice(
                run::NAME,
                "Run recorded steps",
                Page,
                (interact::NAME, run::NAME),
                DESTRUCTIVE_ONCE,
            )
        },
        choice("page_state", "State of a page", Page, (O, "page"), READS),
        SplitTool {
            about: Some("Saves a picture of the page as a new file."),
            requires: &["path"],
            common: &["tab_id"],
            ..choice(
                "save_screenshot",
                "Save a screenshot",
                Files,
                (interact::NAME, "screenshot"),
                ADDING,
            )
        },
        SplitTool {
            about: Some(jobs::DESCRIPTION),
            choice: None,
            ..choice(jobs::NAME, "Sync files", Files, (jobs::NAME, ""), HARMLESS)
        },
        choice("save_har", "Save requests as HAR", Files, (C, "save_har"), ADDING),
        choice("errors", "Read errors", Streams, (O, "errors"), READS),
        choice("websocket", "Read WebSocket messages", Streams, (O, "websocket"), READS),
        choice("user_actions", "Read the user's actions", Streams, (O, "actions"), READS),
        choice("web_vitals", "Read web vitals", Streams, (O, "performance"), READS),
        choice("extension_logs", "Read the extension's log", Streams, (O, "extension_logs"), READS),
        choice("clear_streams", "Clear recordings", Streams, (C, "clear"), DESTRUCTIVE),
        choice("noise_rule", "Hide noise", Streams, (C, "noise_rule"), DESTRUCTIVE),
        choice("store", "Store JSON", State, (C, "store"), DESTRUCTIVE),
        choice("load", "Load JSON", State, (C, "load"), READS),
        choice("list_stored", "List stored JSON", State, (C, "list"), READS),
        choice("delete_stored", "Delete stored JSON", State, (C, "delete"), DESTRUCTIVE),
        choice("pending_commands", "List commands", Manage, (O, "pending_commands"), READS),
        choice("failed_commands", "List failures", Manage, (O, "failed_commands"), READS),
        choice("browsers", "List browsers", Manage, (O, "browsers"), READS),
        choice("query_status", "Status of a command", Manage, (C, "query_status"), READS),
        choice("health", "State of the daemon", Manage, (C, "health"), READS),
        choice("clients", "List clients", Manage, (C, "clients"), READS),
        choice("site_rules", "Deny sites", Manage, (C, "site_rules"), HARMLESS),
    ]
};

/// All of them, in the order in which they are listed.
static TOOLS: LazyLock<Vec<SplitTool>> = LazyLock::new(|| {
    let actions = RegisteredAction::all().iter().filter_map(SplitTool::of_action);
    let mut tools: Vec<_> = actions.chain(OTHERS).collect();
    tools.sort_by_key(|tool| tool.group);
    tools
});

/// The tools of this split surface, as `tools/list` shows them.
pub(super) fn split_list(surface: &ToolSurface) -> Value {
    let tools = TOOLS.iter().filter(|tool| surface.shows(tool.group));
    let mut list: Vec<_> = tools.map(SplitTool::definition).collect();
    list.iter_mut().for_each(|tool| tell_wait(tool, surface));
    list.into()
}

/// Tells in the definition of a tool how long its calls wait on this surface, if that is not what its
/// schema says.
pub(super) fn tell_wait(tool: &mut Value, surface: &ToolSurface) {
    let wait = tool["name"].as_str().and_then(|name| usual_wait(name, surface));
    if let Some(wait) = wait
        && let Some(about) = tool.pointer_mut("/inputSchema/properties/wait_ms/description")
    {
        *about = format!("Wait for the result in ms; default {}.", wait.as_millis()).into();
    }
}

/// The tool of the five, and the choice of it, behind a tool's name; a tool of the five has no
/// choice here. `None`: there is no such tool.
#[must_use]
pub fn choice_of(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    match SplitTool::named(name) {
        Some(tool) => Some((tool.tool, tool.choice)),
        None => super::tool_of_five(name).map(|tool| (tool, None)),
    }
}

/// The schema of a parameter of a tool of either surface, also of a parameter that `tools/list` does
/// not show. `choice` is the call's own, of a tool of the five.
#[must_use]
pub fn parameter(tool: &str, choice: Option<&str>, name: &str) -> Option<&'static Value> {
    let (tool, own) = choice_of(tool)?;
    arguments_of(tool).parameter(own.or(choice), name)
}

impl SplitTool {
    fn of_action(action: &'static RegisteredAction) -> Option<Self> {
        let spec = action.spec;
        let tool = tool_of_action(spec)?;
        let common: &[&str] = match (spec.is_browser_wide, spec.takes_long) {
            (true, _) => &[],
            (false, true) => &["tab_id", "timeout_ms", "wait_ms"],
            (false, false) => &["tab_id"],
        };
        Some(Self {
            without: spec.beyond_effect,
            common,
            ..choice(spec.name, spec.title, spec.group, (tool, spec.name), spec.effect)
        })
    }

    /// The tool of this name. The job's tool is the same on both surfaces.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name && tool.choice.is_some())
    }

    /// The tool that the split surface has for a choice of a tool of the five.
    pub(super) fn of_choice(tool: &str, choice: &str) -> Option<&'static Self> {
        let is_it = |known: &&Self| {
            known.tool == tool && known.choice == Some(choice) && known.requires.is_empty()
        };
        TOOLS.iter().find(is_it)
    }

    /// The tool of the core that serves in the place of this one.
    pub(super) fn stand_in(&self) -> Option<&'static Self> {
        Self::named("tab_list").filter(|_| self.name == KNOWN_TABS)
    }

    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) const fn group(&self) -> ToolGroup {
        self.group
    }

    pub(super) const fn tool(&self) -> &'static str {
        self.tool
    }

    /// Whether its calls submit a command and so can wait for a result, or read one.
    fn waits(&self) -> bool {
        submits_commands(self.tool) || self.choice == Some(observe::COMMAND_RESULT)
    }

    fn definition(&self) -> Value {
        let arguments = arguments_of(self.tool);
        let unlisted = [self.without, self.unlisted].concat();
        let (about, schema) = arguments.flat(self.choice, &unlisted, self.requires, self.common);
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.about.unwrap_or(about),
            "inputSchema": schema,
            "annotations": hints(self.effect, self.tool != configure::NAME && self.tool != jobs::NAME),
        })
    }

    /// The arguments of the tool of the five, for these arguments of this tool.
    pub(super) fn arguments(
        &self,
        given: Map<String, Value>,
    ) -> Result<Map<String, Value>, CallFailure> {
        let Some((selector, choice)) = arguments_of(self.tool).selector().zip(self.choice) else {
            return Ok(given);
        };
        let wrong = |name: &str| {
            let message = format!("{} takes no `{name}`", self.name);
            CallFailure::new("unknown_argument", message, format!("Leave `{name}` out."))
                .about(name)
        };
        if let Some(name) = self.without.iter().copied().find(|name| given.contains_key(*name)) {
            return Err(wrong(name));
        }
        if given.contains_key(selector) {
            return Err(wrong(selector));
        }
        if let Some(name) = self.requires.iter().copied().find(|name| !given.contains_key(*name)) {
            let message = format!("{} needs `{name}`", self.name);
            return Err(
                CallFailure::new("missing_argument", message, format!("Add `{name}`.")).about(name)
            );
        }
        let mut arguments = Map::new();
        arguments.insert(selector.to_owned(), choice.into());
        arguments.extend(given);
        Ok(arguments)
    }
}

/// How long a call waits for its result unless its arguments say so; `None`: as its tool does.
pub(super) fn usual_wait(name: &str, surface: &ToolSurface) -> Option<Duration> {
    match SplitTool::named(name) {
        Some(tool) if tool.waits() => Some(surface.wait().unwrap_or(ToolSurface::SPLIT_WAIT)),
        Some(_) => None,
        None => surface.wait().filter(|_| submits_commands(name)),
    }
}

/// What clients tell a person before they ask for a permission.
fn hints(effect: ActionEffect, open_world: bool) -> Value {
    match effect {
        ActionEffect::Reads => json!({"readOnlyHint": true, "openWorldHint": open_world}),
        ActionEffect::Acts { destructive, idempotent } => json!({
            "readOnlyHint": false, "destructiveHint": destructive, "idempotentHint": idempotent,
            "openWorldHint": open_world,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest list of the core: 20 KB, of which 13 % stay free.
    const LIST_MAX: usize = 20 * 1024 * 87 / 100;

    /// The most tools of the core: some clients take 32, and five places stay free.
    const CORE_MAX: usize = 32 - 5;

    fn core() -> impl Iterator<Item = &'static SplitTool> {
        TOOLS.iter().filter(|tool| tool.group == ToolGroup::Core)
    }

    #[test]
    fn the_core_is_small() {
        assert!(core().count() <= CORE_MAX, "{}", core().count());
        let size = split_list(&ToolSurface::parse("split").unwrap()).to_string().len();
        assert!(size <= LIST_MAX, "{size} bytes");
    }

    #[test]
    fn every_tool_has_a_name_of_its_own_and_each_choice_of_the_five_tools_is_one() {
        let mut names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let five: Vec<_> = crate::tools::list().as_array().unwrap().iter().collect();
        for tool in five {
            let name = tool["name"].as_str().unwrap();
            assert!(name == jobs::NAME || SplitTool::named(name).is_none(), "{name}");
            let properties = &tool["inputSchema"]["properties"];
            let choices = properties["action"]["enum"].as_array();
            for choice in choices.or(properties["what"]["enum"].as_array()).into_iter().flatten() {
                let choice = choice.as_str().unwrap();
                assert!(SplitTool::of_choice(name, choice).is_some(), "{name} {choice}");
            }
        }
    }

    #[test]
    fn every_tool_and_each_of_its_parameters_has_a_description_and_one_type() {
        for tool in TOOLS.iter() {
            let tool = tool.definition();
            let name = &tool["name"];
            assert!(
                tool["description"].as_str().is_some_and(|about| about.ends_with('.')),
                "{name}"
            );
            assert_eq!(tool["inputSchema"]["type"], "object");
            for (parameter, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
                let about = schema["description"].as_str().unwrap_or_default();
                assert!(about.ends_with('.') && about.len() > 8, "{name} {parameter}: {about}");
                let is_untyped = ["data", "snapshot"].contains(&parameter.as_str());
                assert!(schema["type"].is_string() || is_untyped, "{name} {parameter}");
            }
        }
    }

    #[test]
    fn a_tool_that_only_reads_takes_no_parameter_that_leaves_something_behind() {
        for (name, parameter) in [("screenshot", "path"), ("wait_for", "function")] {
            let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
            let definition = tool.definition();
            assert_eq!(definition["annotations"]["readOnlyHint"], true);
            assert!(definition["inputSchema"]["properties"].get(parameter).is_none());
            let given = json!({parameter: "x"}).as_object().unwrap().clone();
            let refused = tool.arguments(given).unwrap_err();
            assert_eq!(refused.param.as_deref(), Some(parameter));
        }
        let script = SplitTool::named("execute_js").unwrap().definition();
        assert_eq!(script["annotations"]["destructiveHint"], true);
    }

    #[test]
    fn a_call_waits_for_30_s_unless_its_client_has_chosen_another_time() {
        let (split, compact) = (ToolSurface::parse("split").unwrap(), ToolSurface::default());
        let second = Some(Duration::from_secs(1));
        for (name, surface, wait) in [
            ("navigate", &split, Some(ToolSurface::SPLIT_WAIT)),
            ("navigate", &compact, Some(ToolSurface::SPLIT_WAIT)),
            ("result", &split, Some(ToolSurface::SPLIT_WAIT)),
            ("console", &split, None),
            ("interact", &split, None),
            ("interact", &compact.clone().with_wait(second), second),
            ("navigate", &split.clone().with_wait(second), second),
            ("observe", &compact.clone().with_wait(second), None),
        ] {
            assert_eq!(usual_wait(name, surface), wait, "{name} {surface:?}");
        }
    }
}
