//! The tools and their parameters, as `tools/list` describes them.

use std::sync::LazyLock;

use serde_json::Value;

use crate::terminal::{self, TextStyle, print_line, wrapped};
use crate::tools::{self, ToolSurface};

/// Where descriptions begin, and how wide a line gets on a wide terminal.
const INDENT: usize = 20;
const WIDEST: usize = 100;

const EVERY_ACTION: &str = "Every action also takes tab_id, browser, timeout_ms, wait_ms, trace and \
    idempotency_key.";

/// One tool as clients are shown it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolSchema<'a>(&'a Value);

impl ToolSchema<'static> {
    /// All of them, in their order.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        tools::list().as_array().into_iter().flatten().map(Self)
    }

    /// The actions, each as a tool of its own.
    pub(super) fn actions() -> impl Iterator<Item = Self> {
        static ACTIONS: LazyLock<Value> =
            LazyLock::new(|| ToolSurface::whole().list().into_owned());
        let is_own = |tool: &Self| Self::all().all(|known| known.name() != tool.name());
        ACTIONS.as_array().into_iter().flatten().map(Self).filter(is_own)
    }

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::all().chain(Self::actions()).find(|tool| tool.name() == name)
    }
}

impl<'a> ToolSchema<'a> {
    pub(super) fn name(&self) -> &'a str {
        self.0["name"].as_str().unwrap_or_default()
    }

    /// The schema of a parameter of the choice that a call makes, listed or not.
    pub(super) fn parameter(&self, choice: Option<&str>, name: &str) -> Option<&'static Value> {
        tools::parameter(self.name(), choice, name)
    }

    /// The names of its parameters.
    pub(super) fn keys(&self) -> Vec<&str> {
        let parameters = self.0["inputSchema"]["properties"].as_object();
        parameters.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    /// The parameter that has this value among those that can be chosen.
    pub(super) fn selecting(&self, choice: &str) -> Option<&str> {
        let parameters = self.0["inputSchema"]["properties"].as_object()?;
        let can_be = |schema: &Value| {
            schema["enum"].as_array().is_some_and(|all| all.iter().any(|one| one == choice))
        };
        parameters.iter().find(|(_, schema)| can_be(schema)).map(|(name, _)| name.as_str())
    }

    /// The tool for a person: its purpose, its choices, its parameters.
    fn lines(&self, width: usize) -> Vec<String> {
        let name = TextStyle::Bold.paint(self.name()).into_owned();
        let about = self.0["description"].as_str().unwrap_or_default();
        let mut lines = vec![name];
        lines.extend(wrapped(about, width - 2).into_iter().map(|line| format!("  {line}")));
        let required = self.0["inputSchema"]["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let parameters = self.0["inputSchema"]["properties"].as_object();
        for (name, schema) in parameters.into_iter().flatten() {
            let mut about = schema["description"].as_str().unwrap_or_default().to_owned();
            let choices = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let choices: Vec<_> = choices.collect();
            if !choices.is_empty() {
                about = format!("{}. {}", choices.join(", "), about.replace('\n', " "));
            }
            let needed = if is_required(name) { " (required)" } else { "" };
            let about = format!("{}{needed}. {about}", kind(schema));
            let mut head = format!("  {name}");
            for line in wrapped(&about, width.saturating_sub(INDENT)) {
                lines.push(format!("{head:INDENT$}{line}"));
                head.clear();
            }
        }
        lines
    }
}

/// The type of a value in words.
fn kind(schema: &Value) -> String {
    let kind = schema["type"].as_str().unwrap_or("any JSON");
    match (kind, schema["items"]["enum"].as_array()) {
        ("array", Some(items)) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            format!("list of {}", items.join(", "))
        }
        _ => kind.to_owned(),
    }
}

/// Prints one tool.
pub(super) fn show_one(tool: &ToolSchema<'_>) -> anyhow::Result<()> {
    let width = terminal::size().0.min(WIDEST);
    for line in tool.lines(width) {
        print_line(line)?;
    }
    if tools::submits(tool.name()) {
        print_line("")?;
        for line in wrapped(EVERY_ACTION, width) {
            print_line(line)?;
        }
    }
    Ok(())
}

/// Prints all tools.
pub(super) fn show(json: bool) -> anyhow::Result<()> {
    if json {
        print_line(serde_json::to_string_pretty(tools::list())?)?;
        return Ok(());
    }
    let width = terminal::size().0.min(WIDEST);
    for tool in ToolSchema::all() {
        for line in tool.lines(width) {
            print_line(line)?;
        }
        print_line("")?;
    }
    let names: Vec<_> = ToolSchema::actions().map(|tool| tool.name()).collect();
    print_line("Each action is a tool, too:")?;
    for line in wrapped(&names.join(", "), width - 2) {
        print_line(format_args!("  {line}"))?;
    }
    print_line("")?;
    print_line("`tabwire call TOOL --help` lists the parameters of one.")?;
    print_line("Example: tabwire call execute_js script=document.title")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_choice_and_parameter_is_listed_within_80_columns() {
        for tool in ToolSchema::all().chain(ToolSchema::actions()) {
            let lines = tool.lines(80);
            let text = lines.join("\n");
            let properties = tool.0["inputSchema"]["properties"].as_object().unwrap();
            for (name, schema) in properties {
                assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
                for choice in schema["enum"].as_array().into_iter().flatten() {
                    assert!(text.contains(choice.as_str().unwrap()), "{choice}: {text}");
                }
            }
            for line in lines {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}
