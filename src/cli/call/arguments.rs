//! The arguments of a tool call, as they are typed on the command line.

use std::io::{self, Read};

use serde_json::{Map, Value};

use super::catalog::ToolSchema;

/// How a call's arguments can be written.
const WAYS: &str =
    "write key=value, key:=JSON, a JSON object, or - for an object on standard input";

/// Reads the arguments; a later word replaces an earlier one. The tool itself refuses unknown
/// parameters and wrong values.
pub(super) fn read(
    tool: &ToolSchema,
    words: &[String],
    input: impl Read,
) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    let mut input = Some(input);
    for word in words {
        if word == "-" {
            let input = input.take().ok_or("standard input can be read once only")?;
            arguments.extend(object(&text_of(input)?, "standard input")?);
        } else if word.starts_with('{') {
            arguments.extend(object(word, "the argument")?);
        } else {
            let (name, value) = pair(tool, choice_in(words), word)?;
            arguments.insert(name, value);
        }
    }
    Ok(arguments)
}

/// The choice of its tool that a call makes, if a word of its own names it.
fn choice_in(words: &[String]) -> Option<&str> {
    let named = |word| ["action=", "what="].iter().find_map(|name| str::strip_prefix(word, name));
    words.iter().rev().find_map(|word| named(word.as_str()))
}

fn text_of(mut input: impl Read) -> Result<String, String> {
    let mut text = String::new();
    let read = input.read_to_string(&mut text);
    read.map_err(|error: io::Error| format!("cannot read standard input: {error}"))?;
    Ok(text)
}

fn object(text: &str, whence: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("{whence} is not a JSON object: {error}"))
}

/// `key=value` or `key:=JSON`.
fn pair(tool: &ToolSchema, choice: Option<&str>, word: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let next = tool.selecting(word).map_or_else(
            || format!("valid keys of {}: {}", tool.name(), tool.keys().join(", ")),
            |selector| format!("did you mean {selector}={word}?"),
        );
        return Err(format!("invalid argument `{word}`: {WAYS}; {next}"));
    };
    match name.strip_suffix(':').filter(|name| !name.is_empty()) {
        Some(name) => {
            let value = serde_json::from_str(value)
                .map_err(|error| format!("the value of `{name}` is not JSON: {error}"))?;
            Ok((name.to_owned(), value))
        }
        None => Ok((name.to_owned(), typed(tool.parameter(choice, name), value))),
    }
}

/// A value of the type that its schema names. Text that has not that type stays text, for the tool
/// to refuse.
fn typed(schema: Option<&Value>, text: &str) -> Value {
    let as_json = || serde_json::from_str::<Value>(text).ok();
    let as_text = || Value::from(text);
    let Some(schema) = schema else { return as_text() };
    match schema["type"].as_str() {
        Some("string") => as_text(),
        Some("array") => match as_json() {
            // `streams=["logs"]` is JSON already; anything else counts as a comma-separated list.
            Some(list @ Value::Array(_)) => list,
            Some(_) | None if text.is_empty() => Value::Array(Vec::new()),
            // `streams=logs,network`
            Some(_) | None => {
                text.split(',').map(|item| typed(Some(&schema["items"]), item)).collect()
            }
        },
        Some(_) | None => as_json().unwrap_or_else(as_text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};
    use serde_json::json;

    use super::*;

    fn arguments_of(tool: &str, words: &[&str], input: &str) -> Result<Value, String> {
        let tool = ToolSchema::find(tool).unwrap();
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        read(&tool, &words, input.as_bytes()).map(Value::Object)
    }

    #[test]
    fn a_value_gets_the_type_that_the_tools_schema_names() {
        let words = ["action=screenshot", "tab_id=7", "full_page=true", "browser=7"];
        assert_eq!(
            arguments_of("interact", &words, "").unwrap(),
            json!({"action": "screenshot", "tab_id": 7, "full_page": true, "browser": "7"})
        );
        let words = ["action=capture", "streams=logs,network"];
        let capture = json!({"action": "capture", "streams": ["logs", "network"]});
        assert_eq!(arguments_of("configure", &words, "").unwrap(), capture);
        let words = ["action=capture", "streams=[\"logs\", \"network\"]"];
        assert_eq!(arguments_of("configure", &words, "").unwrap(), capture);
        for (data, value) in [("{\"a\":1}", json!({"a": 1})), ("5", json!(5)), ("x", json!("x"))] {
            let given = arguments_of("configure", &[&format!("data={data}")], "").unwrap();
            assert_eq!(given["data"], value);
        }
    }

    #[test]
    fn what_does_not_fit_goes_to_the_tool_as_it_is() {
        let words = ["action=fly", "tab_id=seven", "colour=red", "full_page=perhaps"];
        assert_eq!(
            arguments_of("interact", &words, "").unwrap(),
            json!({"action": "fly", "tab_id": "seven", "colour": "red", "full_page": "perhaps"})
        );
    }

    #[test]
    fn json_can_be_given_for_one_value_or_for_all_and_the_last_word_counts() {
        let words = ["{\"action\": \"fly\", \"tab_id\": 1}", "action=execute_js", "-", "tab_id:=3"];
        let input = "{\"script\": \"a = 'b=c'\", \"tab_id\": 2}";
        assert_eq!(
            arguments_of("interact", &words, input).unwrap(),
            json!({"action": "execute_js", "tab_id": 3, "script": "a = 'b=c'"})
        );
    }

    #[test]
    fn a_word_that_is_no_argument_is_refused_with_what_it_may_have_meant() {
        for (word, says) in [
            ("screenshot", "did you mean action=screenshot?"),
            ("fly", "valid keys of interact: action, "),
            ("=7", "write key=value"),
            ("tab_id:=seven", "the value of `tab_id` is not JSON"),
            ("{tab_id: 7}", "the argument is not a JSON object"),
            ("-", "standard input is not a JSON object"),
        ] {
            let why = arguments_of("interact", &[word], "[7]").unwrap_err();
            assert!(why.contains(says), "{word}: {why}");
        }
        let why = arguments_of("interact", &["-", "-"], "{}").unwrap_err();
        assert!(why.contains("once only"), "{why}");
    }

    #[test]
    fn a_text_arrives_as_it_was_typed_whatever_it_looks_like() {
        proptest!(|(text in "\\PC{0,40}")| {
            let given = arguments_of("interact", &[&format!("script={text}")], "").unwrap();
            prop_assert_eq!(given["script"].as_str(), Some(text.as_str()));
        });
    }
}
