//! Which tools, actions and views the programs of an owner on another machine have. What is not listed here is
//! refused to them, so a new one is until somebody has decided. Nothing listed gives them a path of this
//! machine, or takes one.

use serde_json::{Map, Value};

use super::failure::CallFailure;
use super::{ToolSet, analyze, arguments_of, configure, interact, observe, tool_of_five};
use crate::hub::Caller;

/// Each tool with its choices.
const LISTED: [(&str, &[&str]); 4] = [
    (
        interact::NAME,
        &[
            "execute_js",
            "navigate",
            "refresh",
            "back",
            "forward",
            "page_info",
            "tab_list",
            "tab_open",
            "tab_close",
            "tab_activate",
            "screenshot",
            "pdf",
            "record",
            "click",
            "hover",
            "scroll",
            "drag",
            "draw",
            "type",
            "press_key",
            "select_option",
            "check",
            "uncheck",
            "fill_form",
            "clipboard",
            "wait_for",
            "batch",
            "call_page_tool",
            "dialog",
            "emulate",
            "highlight",
            "network_rules",
            "storage",
            "set_permissions",
            "ask_user",
            "run",
        ],
    ),
    (
        observe::NAME,
        &[
            "command_result",
            "pending_commands",
            "failed_commands",
            "tabs",
            "browsers",
            "logs",
            "errors",
            "network",
            "websocket",
            "actions",
            "performance",
            "page",
        ],
    ),
    (
        analyze::NAME,
        &[
            "dom",
            "accessibility",
            "page_summary",
            "performance",
            "trace",
            "audit",
            "forms",
            "snapshot",
            "find",
            "get_text",
            "get_markdown",
            "get_html",
            "get_value",
            "get_attributes",
            "page_tools",
            "cookies",
            "annotations",
        ],
    ),
    (
        configure::NAME,
        &[
            "query_status",
            "cancel",
            "health",
            "clients",
            "capture",
            "tab_release",
            "dialogs",
            "noise_rule",
            "clear",
            "store",
            "load",
            "list",
            "delete",
        ],
    ),
];

/// The parameters that are paths of this machine.
const PATHS: [&str; 2] = ["path", "paths"];

/// The schemes of addresses that lead to files of this machine.
const FILES: [&str; 2] = ["file:", "view-source:"];

impl ToolSet {
    /// Checks that a call with these arguments is one that the caller's owner may make.
    pub(super) fn check_far(
        &self,
        caller: &Caller,
        tool: &str,
        given: &Map<String, Value>,
    ) -> Result<(), CallFailure> {
        if self.hub.is_far(&caller.owner) { check(tool, given) } else { Ok(()) }
    }
}

/// Checks a call of an owner on another machine.
fn check(tool: &str, given: &Map<String, Value>) -> Result<(), CallFailure> {
    let selector = tool_of_five(tool).and_then(|tool| arguments_of(tool).selector());
    let choice = selector.and_then(|selector| given.get(selector)?.as_str()).unwrap_or_default();
    if !is_listed(tool, choice) {
        return Err(not_listed(if choice.is_empty() { tool } else { choice }));
    }
    check_params(given)?;
    let steps = given.get("steps").and_then(Value::as_array).into_iter().flatten();
    for step in steps.filter_map(Value::as_object) {
        let action = step.get("action").and_then(Value::as_str).unwrap_or_default();
        // A step is an action of either tool.
        if ![interact::NAME, analyze::NAME].iter().any(|tool| is_listed(tool, action)) {
            return Err(not_listed(action));
        }
        check_params(step)?;
    }
    Ok(())
}

fn is_listed(tool: &str, choice: &str) -> bool {
    LISTED.iter().any(|(known, choices)| *known == tool && choices.contains(&choice))
}

fn check_params(given: &Map<String, Value>) -> Result<(), CallFailure> {
    // It would go on where the person goes, on sites without a word.
    if given.get("by").is_some_and(|by| by == "person") {
        return Err(not_listed("record by the person").about("by"));
    }
    if let Some(path) = PATHS.into_iter().find(|path| given.contains_key(*path)) {
        let message =
            format!("`{path}` is on the machine with the browser, and this program is on another");
        let hint = format!(
            "Leave `{path}` out: pictures and files are in the answer, 1 MiB each at most."
        );
        return Err(CallFailure::new(CODE, message, hint).about(path));
    }
    let url = given.get("url").and_then(Value::as_str).unwrap_or_default();
    if url.contains("{{") {
        let message = "`url` is made of an earlier result, which could lead to a file";
        let hint = "Write the address out, or navigate in a call of its own.";
        return Err(CallFailure::new(CODE, message, hint).about("url"));
    }
    // As browsers read an address: without spaces around it, and in any case.
    let url = url.trim_start_matches(|letter: char| letter <= ' ').to_ascii_lowercase();
    if FILES.iter().any(|scheme| url.starts_with(scheme)) {
        let message =
            "`url` is a file on the machine with the browser, and this program is on another";
        let hint = "Serve the page over HTTP, and open that address.";
        return Err(CallFailure::new(CODE, message, hint).about("url"));
    }
    Ok(())
}

/// The code of a call that such an owner may not make.
const CODE: &str = "not_for_far_owners";

fn not_listed(name: &str) -> CallFailure {
    let message = format!("`{name}` is not for programs on another machine than the browser's");
    let hint = "Use snapshot, get_text or screenshot, whose results are in the answer, or ask the user to do \
                it on that machine.";
    CallFailure::new(CODE, message, hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::TOOL_NAMES;

    /// Those that somebody has decided not to list, and why: they take or tell paths of the machine with the
    /// browser, or what happens there beside the pages.
    const REFUSED: [(&str, &str); 6] = [
        (interact::NAME, "upload_file"),
        (interact::NAME, "downloads"),
        (observe::NAME, "extension_logs"),
        (configure::NAME, "save_har"),
        // The sites that the person has rules for.
        (configure::NAME, "site_rules"),
        (crate::tools::jobs::NAME, crate::tools::jobs::NAME),
    ];

    fn checked(tool: &str, given: &Value) -> Result<(), CallFailure> {
        check(tool, given.as_object().expect("an object"))
    }

    #[track_caller]
    fn assert_refused(tool: &str, given: &Value) {
        let failure = checked(tool, given).expect_err("it is refused");
        assert_eq!(failure.error, CODE, "{given}");
        assert!(failure.hint.len() > 10, "{given}");
    }

    #[test]
    fn of_every_tool_action_and_view_it_is_decided_whether_programs_on_another_machine_have_it() {
        for tool in TOOL_NAMES {
            for (choice, params) in arguments_of(tool).choices() {
                let is_refused = REFUSED.contains(&(tool, choice));
                assert!(
                    is_listed(tool, choice) != is_refused,
                    "{tool} {choice}: decide, and list it"
                );
                let is_path = |name: &&str| {
                    ["path", "file", "folder", "dir"].iter().any(|word| name.contains(word))
                };
                let paths: Vec<_> = params.into_iter().filter(is_path).collect();
                let not_taken = |name: &&str| PATHS.contains(name) || *name == "direction";
                assert!(is_refused || paths.iter().all(not_taken), "{tool} {choice}: {paths:?}");
            }
        }
    }

    #[test]
    fn paths_files_and_what_is_not_listed_are_refused_also_as_steps() {
        assert_eq!(checked("interact", &json!({"action": "screenshot"})), Ok(()));
        assert_eq!(checked("interact", &json!({"action": "scroll", "direction": "up"})), Ok(()));
        let steps =
            |step: Value| json!({"action": "batch", "steps": [{"action": "page_info"}, step]});
        assert_eq!(checked("interact", &steps(json!({"action": "find", "text": "a"}))), Ok(()));
        for given in [
            json!({"action": "upload_file", "paths": ["a"]}),
            json!({"action": "screenshot", "path": "a.png"}),
            json!({"action": "dialog", "paths": ["a"]}),
            json!({"action": "downloads"}),
            json!({"action": "to_come"}),
            json!({"action": "record", "phase": "start", "by": "person"}),
            json!({"action": "navigate", "url": "file:///etc/passwd"}),
            json!({"action": "tab_open", "url": " \tFILE:/etc/passwd"}),
            json!({"action": "navigate", "url": "view-source:file:///etc/passwd"}),
            steps(json!({"action": "upload_file", "paths": ["a"]})),
            steps(json!({"action": "navigate", "url": "File:///etc"})),
            steps(json!({"action": "navigate", "url": "{{page.url}}"})),
            steps(json!({"action": "to_come"})),
        ] {
            assert_refused("interact", &given);
        }
        assert_refused("wksm_monitor_sync", &json!({"path": "/"}));
        assert_refused("observe", &json!({"what": "extension_logs"}));
        assert_refused("configure", &json!({"action": "save_har"}));
        assert_refused("to_come", &json!({}));
    }
}
