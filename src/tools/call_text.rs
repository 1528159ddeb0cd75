//! Calls of tools in texts. Answers name the next step as agents of the five tools make calls:
//! `observe({what:"tabs"})`. Other callers are told the same in their own words.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};

use super::json_elements::JsonElements;
use super::split::SplitTool;
use super::{TOOL_NAMES, ToolResult, ToolSurface};

const OPENING: &str = "({";
const CLOSING: &str = "})";

/// An argument of a call in a text; one without a value stands for any value.
type ArgumentInText<'a> = (&'a str, Option<Value>);

/// A call in a text.
#[derive(Debug, PartialEq)]
pub struct CallInText<'a> {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Vec<ArgumentInText<'a>>,
}

/// The text with each call in it in other words. A call without other words stays.
#[must_use]
pub fn with_calls_as(text: &str, words: impl Fn(&CallInText<'_>) -> Option<String>) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, tool)) = next_call(rest) {
        let (before, call) = rest.split_at(at);
        told.push_str(before);
        let arguments = &call[tool.len() + OPENING.len()..];
        let read = arguments_in(arguments).and_then(|(arguments, length)| {
            Some((words(&CallInText { tool, arguments })?, length))
        });
        if let Some((words, length)) = read {
            told.push_str(&words);
            rest = &arguments[length..];
        } else {
            told.push_str(&call[..tool.len()]);
            rest = &call[tool.len()..];
        }
    }
    told.push_str(rest);
    told
}

/// The first call in a text: where it begins, and the tool.
fn next_call(text: &str) -> Option<(usize, &'static str)> {
    let found = TOOL_NAMES
        .iter()
        .filter_map(|name| text.find(&format!("{name}{OPENING}")).map(|at| (at, *name)));
    found.min()
}

/// The arguments of a call, and the length of their text with its closing brackets.
fn arguments_in(text: &str) -> Option<(Vec<ArgumentInText<'_>>, usize)> {
    let (mut arguments, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(CLOSING) {
            return Some((arguments, text.len() - behind.len()));
        }
        let end =
            rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').filter(|end| *end > 0)?;
        let (name, behind) = rest.split_at(end);
        rest = if let Some(json) = behind.strip_prefix(':') {
            let mut values = Deserializer::from_str(json).into_iter::<Value>();
            arguments.push((name, Some(values.next()?.ok()?)));
            &json[values.byte_offset()..]
        } else {
            arguments.push((name, None));
            behind
        };
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// The text with each call in it as a client of this surface makes it.
#[must_use]
pub fn with_calls_of<'a>(text: &'a str, surface: &ToolSurface) -> Cow<'a, str> {
    if !surface.is_split() || !text.contains(OPENING) {
        return text.into();
    }
    with_calls_as(text, |call| in_split_words(call, surface)).into()
}

/// The call under the name that the split surface has for it. A tool of a group that the client has
/// not chosen is said with the words that would show it: clients call no tool that is not listed.
fn in_split_words(call: &CallInText<'_>, surface: &ToolSurface) -> Option<String> {
    let selector = call.arguments.iter().position(|(name, _)| ["action", "what"].contains(name))?;
    let choice = call.arguments[selector].1.as_ref()?.as_str()?;
    let tool = SplitTool::of_choice(call.tool, choice)?;
    let is_shown = surface.shows(tool.group());
    if let Some(stand_in) = tool.stand_in().filter(|_| !is_shown) {
        return Some(format!("{}({{}})", stand_in.name()));
    }
    let rest = call.arguments.iter().enumerate().filter(|(at, _)| *at != selector);
    let rest = rest.map(|(_, (name, value))| match value {
        Some(value) => format!("{name}:{value}"),
        None => (*name).to_owned(),
    });
    let rest = rest.collect::<Vec<_>>().join(", ");
    let call = format!("{}({{{rest}}})", tool.name());
    let group = tool.group().name();
    Some(if is_shown { call } else { format!("{call} (listed with --tools split,{group})") })
}

/// The members of an answer in which the daemon names a next step. No page writes them.
const NEXT_STEPS: [&str; 3] = ["hint", "message", "messages"];

/// The places of a failed step's next step in the result of its batch: in short, and whole.
const FAILED_STEP_HINTS: [&str; 2] = ["/failed/hint", "/value/failed/hint"];

/// The answer, whose next steps are calls of this surface. Every other byte stays.
pub(super) fn with_steps_of(result: ToolResult, surface: &ToolSurface) -> ToolResult {
    let json = result.body.get();
    if !surface.is_split() || !json.contains(OPENING) || !json.starts_with('{') {
        return result;
    }
    let mut told = String::with_capacity(json.len());
    let mut end = 0;
    for element in JsonElements::of(json, &(0..json.len())) {
        let name = json[element.start..element.value.start].split('"').nth(1).unwrap_or_default();
        let is_next_step = NEXT_STEPS.contains(&name);
        if !(is_next_step || result.has_failed_step && name == "result") {
            continue;
        }
        let Range { start, end: behind } = element.value;
        let Ok(mut value) = serde_json::from_str::<Value>(&json[start..behind]) else { continue };
        if is_next_step {
            rewrite(&mut value, surface);
        } else {
            FAILED_STEP_HINTS.iter().for_each(|place| {
                if let Some(hint) = value.pointer_mut(place) {
                    rewrite(hint, surface);
                }
            });
        }
        told.push_str(&json[end..start]);
        told.push_str(&value.to_string());
        end = behind;
    }
    told.push_str(&json[end..]);
    match RawValue::from_string(told) {
        Ok(body) => ToolResult { body, ..result },
        Err(_) => result,
    }
}

fn rewrite(value: &mut Value, surface: &ToolSurface) {
    match value {
        Value::String(text) => *text = with_calls_of(text, surface).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, surface)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| rewrite(member, surface));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn next_steps_are_told_as_calls_of_the_split_surface() {
        let surface = ToolSurface::parse("split").unwrap();
        for (hint, told) in [
            (
                "Read it with observe({what:\"command_result\", correlation_id:\"exec_1\", wait_ms:10000}).",
                "Read it with result({correlation_id:\"exec_1\", wait_ms:10000}).",
            ),
            (
                "interact({action:\"tab_open\", url}) or configure({action:\"capture\"}) begins to.",
                "tab_open({url}) or capture({}) begins to.",
            ),
            // A tool that the client is not shown: another tool in its place, or the way to it.
            ("observe({what:\"tabs\"}) lists them.", "tab_list({}) lists them."),
            (
                "See observe({what:\"pending_commands\"}).",
                "See pending_commands({}) (listed with --tools split,manage).",
            ),
            ("observe({what: ...}) stays.", "observe({what: ...}) stays."),
            ("interact({action:\"fly\"}) stays.", "interact({action:\"fly\"}) stays."),
        ] {
            assert_eq!(with_calls_of(hint, &surface), told);
        }
        let whole = ToolSurface::whole();
        let hint = "observe({what:\"tabs\"}) and observe({what:\"pending_commands\"})";
        assert_eq!(with_calls_of(hint, &whole), "known_tabs({}) and pending_commands({})");
        assert_eq!(with_calls_of(hint, &ToolSurface::default()), hint);
    }

    #[test]
    fn only_the_daemons_own_words_change_in_an_answer() {
        let surface = ToolSurface::parse("split").unwrap();
        let call = "observe({what:\"logs\"})";
        let body = json!({"result": call, "n": 1.0, "hint": call, "error": call});
        let result = ToolResult::of(&body);
        let told: Value = serde_json::from_str(with_steps_of(result, &surface).body.get()).unwrap();
        let expected = json!({"result": call, "n": 1.0, "hint": "console({})", "error": call});
        assert_eq!(told, expected);
    }
    #[test]
    fn the_next_step_of_a_failed_step_is_a_call_of_the_surface_and_the_steps_results_stay() {
        let surface = ToolSurface::parse("split").unwrap();
        let call = "observe({what:\"logs\"})";
        let stopped = json!({"failed": {"hint": call, "error": call}, "results": [call]});
        let told = json!({"failed": {"hint": "console({})", "error": call}, "results": [call]});
        for wrapped in [|value: &Value| value.clone(), |value: &Value| json!({ "value": value })] {
            let result = ToolResult {
                has_failed_step: true,
                ..ToolResult::of(&json!({"result": wrapped(&stopped)}))
            };
            let body = with_steps_of(result, &surface).body;
            let seen: Value = serde_json::from_str(body.get()).unwrap();
            assert_eq!(seen, json!({"result": wrapped(&told)}));
        }
    }
}
