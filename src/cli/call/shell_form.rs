//! Next steps as they are typed on the command line. Tools name them as agents make calls:
//! `observe({what:"tabs"})`.

use serde_json::{Deserializer, Value};

use super::catalog::ToolSchema;
use crate::install::native_host::shell_quoted;

/// The text with each call in it as a command.
pub(super) fn with_shell_commands(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, tool)) = next_call(rest) {
        let (before, call) = rest.split_at(at);
        told.push_str(before);
        let arguments = &call[tool.len() + OPENING.len()..];
        if let Some((words, length)) = words_of(arguments) {
            let words = words.iter().map(|word| format!(" {word}")).collect::<String>();
            told.push_str(&format!("`tabwire call {tool}{words}`"));
            rest = &arguments[length..];
        } else {
            told.push_str(&call[..tool.len()]);
            rest = &call[tool.len()..];
        }
    }
    told.push_str(rest);
    told
}

const OPENING: &str = "({";
const CLOSING: &str = "})";

/// The first call in a text: where it begins, and the tool.
fn next_call(text: &str) -> Option<(usize, &'static str)> {
    let calls = ToolSchema::all().filter_map(|tool| {
        let name = tool.name();
        text.find(&format!("{name}{OPENING}")).map(|at| (at, name))
    });
    calls.min()
}

/// The arguments of a call as words, and the length of their text with its closing brackets.
fn words_of(text: &str) -> Option<(Vec<String>, usize)> {
    let (mut words, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(CLOSING) {
            return Some((words, text.len() - behind.len()));
        }
        let end =
            rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').filter(|end| *end > 0)?;
        let (name, behind) = rest.split_at(end);
        rest = if let Some(json) = behind.strip_prefix(':') {
            let mut values = Deserializer::from_str(json).into_iter::<Value>();
            words.push(word(name, &values.next()?.ok()?));
            &json[values.byte_offset()..]
        } else {
            words.push(format!("{name}=…"));
            behind
        };
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn word(name: &str, value: &Value) -> String {
    let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
    let texts: Option<Vec<_>> = texts;
    match (value, texts) {
        (Value::String(text), _) => format!("{name}={}", quoted(text)),
        (_, Some(texts)) if !texts.iter().any(|text| text.contains(',')) => {
            format!("{name}={}", quoted(&texts.join(",")))
        }
        (Value::Array(_) | Value::Object(_), _) => {
            format!("{name}:={}", quoted(&value.to_string()))
        }
        (Value::Null | Value::Bool(_) | Value::Number(_), _) => format!("{name}={value}"),
    }
}

/// A text that a shell takes as one word.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    shell_quoted(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_a_next_step_are_told_as_commands() {
        for (hint, told) in [
            (
                "Not recorded: configure({action:\"capture\", streams:[\"logs\",\"network\"]}) begins to.",
                "Not recorded: `tabwire call configure action=capture streams=logs,network` begins to.",
            ),
            (
                "observe({what:\"command_result\", correlation_id}) or observe({what:\"tabs\"}).",
                "`tabwire call observe what=command_result correlation_id=…` or `tabwire call observe what=tabs`.",
            ),
            (
                "Read on with configure({action:\"load\", name:\"a 'b'\", offset:9}).",
                "Read on with `tabwire call configure action=load name='a '\\''b'\\''' offset=9`.",
            ),
            (
                "interact({action:\"store\", data:{\"a\": [1]}})",
                "`tabwire call interact action=store data:='{\"a\":[1]}'`",
            ),
            ("observe({what: ...}) and observe({", "observe({what: ...}) and observe({"),
            ("Use another site.", "Use another site."),
        ] {
            assert_eq!(with_shell_commands(hint), told);
        }
    }
}
