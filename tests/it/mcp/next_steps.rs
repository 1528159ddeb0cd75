//! Every error, timeout and wait that callers are told of has its next step: all that is published
//! of answers is walked.

use serde_json::Value;

/// The states of an answer that tells of no result.
const WITHOUT_RESULT: [&str; 6] =
    ["pending", "error", "timeout", "expired", "refused", "not_found"];

/// Whether what this schema describes tells of an error, or of a command without a result.
fn needs_a_next_step(schema: &Value) -> bool {
    let status = &schema["properties"]["status"];
    let words = status["enum"].as_array().into_iter().flatten().chain([&status["const"]]);
    let mut words = words.filter_map(Value::as_str);
    requires(schema, "error") || words.any(|word| WITHOUT_RESULT.contains(&word))
}

fn requires(schema: &Value, field: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == field))
}

/// The schemas in this one that need a next step, and whether they require one: by their path.
fn walk(schema: &Value, path: &str, found: &mut Vec<(String, bool)>) {
    if needs_a_next_step(schema) {
        found.push((path.to_owned(), requires(schema, "hint")));
    }
    match schema {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, inner)| walk(inner, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| walk(item, &format!("{path}/{n}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_published_answer_with_an_error_or_without_a_result_requires_a_hint() {
    let mut found = Vec::new();
    walk(tabwire::tools::answers(), "", &mut found);
    assert!(found.len() > 15, "they are found: {found:#?}");
    let lacking: Vec<_> = found.iter().filter(|(_, has_hint)| !has_hint).collect();
    assert!(lacking.is_empty(), "{lacking:#?}");
}

#[test]
fn a_published_answer_without_its_hint_would_be_found() {
    let schema = serde_json::json!({
        "a": {"properties": {"error": {}, "hint": {}}, "required": ["error"]},
        "b": [{"properties": {"status": {"const": "pending"}}, "required": ["status", "hint"]}],
        "c": {"properties": {"status": {"enum": ["ok"]}, "error": {}}, "required": ["status"]},
    });
    let mut found = Vec::new();
    walk(&schema, "", &mut found);
    assert_eq!(found, [("/a".to_owned(), false), ("/b/0".to_owned(), true)]);
}
