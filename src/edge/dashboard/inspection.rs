//! The arguments, the result and the pictures of a command, as the person sees them: without secrets and without
//! typed texts, and no longer than a screen is worth.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::lifecycle::Command;
use crate::protocol::{ActMoment, CommandStatus, floor_escape_boundary};
use crate::streams::redact_json;
use crate::tools::{PictureFile, pictures_of};

/// In place of the arguments and the result of a command in a private window.
const NOT_SHOWN: &str = "[in a private window: not shown]";

/// The longest text of arguments or of a result, in bytes.
const LONGEST: usize = 32 * 1024;

/// Texts without a space beyond this are encoded files.
const ENCODED: usize = 1_000;

/// The members of arguments in which agents give texts for pages.
const TYPED: [&str; 3] = ["text", "value", "prompt"];

/// The arguments, the result, how many pictures are in it, and the moments of which there are pictures of the
/// tab.
pub(super) fn told(command: &Command, moments: &[ActMoment]) -> Value {
    if command.spec().is_private {
        return json!({"arguments": NOT_SHOWN, "result": NOT_SHOWN, "pictures": 0});
    }
    let arguments = shown(&command.spec().params, true);
    let report = command.report(false);
    let pictures = pictures_of(&report).len();
    let result = match report.status {
        CommandStatus::Complete { result, .. } => Some(shown(&result, false)),
        CommandStatus::Pending { .. }
        | CommandStatus::WaitingForUser { .. }
        | CommandStatus::Error { .. }
        | CommandStatus::Timeout { .. }
        | CommandStatus::Expired { .. }
        | CommandStatus::Cancelled { .. } => None,
    };
    json!({"arguments": arguments, "result": result, "pictures": pictures, "moments": moments})
}

/// One of the pictures in the result, counted from 0.
pub(super) fn picture(command: &Command, number: usize) -> Option<PictureFile> {
    if command.spec().is_private {
        return None;
    }
    pictures_of(&command.report(false)).into_iter().nth(number)
}

fn shown(json: &RawValue, hides_typed: bool) -> String {
    let clean = redact_json(json);
    let text = clean.as_deref().unwrap_or(json).get();
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    shorten(&mut value, hides_typed);
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    if text.len() > LONGEST {
        let end = floor_escape_boundary(&text, LONGEST);
        text.truncate(end);
        text.push_str("\n… cut");
    }
    text
}

fn shorten(value: &mut Value, hides_typed: bool) {
    match value {
        Value::String(text) if text.len() > ENCODED && !text.contains(' ') => {
            *value = format!("[{} characters]", text.chars().count()).into();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, hides_typed)),
        Value::Object(fields) => shorten_fields(fields, hides_typed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn shorten_fields(fields: &mut Map<String, Value>, hides_typed: bool) {
    for (name, value) in fields {
        match value.as_str() {
            Some(text) if hides_typed && TYPED.contains(&name.as_str()) => {
                *value = format!("[{} characters]", text.chars().count()).into();
            }
            _ => shorten(value, hides_typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    #[test]
    fn typed_texts_secrets_and_encoded_files_are_not_shown() {
        let typed = json!({"target": "#name", "text": "Ada Lovelace", "password": "hunter22"});
        let told = shown(&raw(&typed), true);
        assert!(told.contains("#name") && told.contains("[12 characters]"), "{told}");
        assert!(!told.contains("Ada") && !told.contains("hunter22"), "{told}");
        let picture = json!({"data": "A".repeat(5_000), "text": "read from the page"});
        let told = shown(&raw(&picture), false);
        assert!(told.contains("[5000 characters]") && told.contains("read from"), "{told}");
    }

    #[test]
    fn a_long_result_is_cut() {
        let long = json!({"text": "some words 😀 ".repeat(10_000)});
        let told = shown(&raw(&long), false);
        assert!(told.len() < LONGEST + 100 && told.ends_with("… cut"));
    }
}
