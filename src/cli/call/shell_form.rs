//! Next steps as they are typed on the command line. Tools name them as agents make calls:
//! `observe({what:"tabs"})`.

use serde_json::Value;

use crate::install::native_host::shell_quoted;
use crate::tools::{CallInText, with_calls_as};

/// The text with each call in it as a command.
pub(super) fn with_shell_commands(text: &str) -> String {
    with_calls_as(text, |call| Some(as_command(call)))
}

fn as_command(call: &CallInText<'_>) -> String {
    let words = call.arguments.iter().map(|(name, value)| match value {
        Some(value) => format!(" {}", word(name, value)),
        None => format!(" {name}=…"),
    });
    format!("`tabwire call {}{}`", call.tool, words.collect::<String>())
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
