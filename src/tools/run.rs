//! `interact` `run`: recorded steps again, as a batch. Secrets are no part of steps: they come as
//! arguments, and take the places of `{{param.NAME}}` as data.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answers::AnswerSchemas;
use super::failure::CallFailure;
use super::result::CommandAnswer;
use super::submit::QueuedAnswer;
use super::{ToolReply, ToolResult, ToolSet, interact, read, stored};
use crate::hub::{Caller, RequestContext};

pub(super) const NAME: &str = "run";

/// Begins the name of a parameter.
const OPENING: &str = "{{param.";

/// In the place of a secret that the recording has hidden.
const REDACTED: &str = "[redacted]";

/// Parameters that are run as scripts: a value in them would be code.
const SCRIPTS: [&str; 2] = ["script", "function"];

/// Recorded steps.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum RecordedRequest {
    /// Runs recorded steps until one differs.
    Run(RunArguments),
}

/// The arguments of `run`.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct RunArguments {
    /// Steps of record.
    #[schemars(extend("x-silent" = true))]
    steps: Option<Vec<Map<String, Value>>>,
    /// Stored value with the steps, in place of steps.
    #[schemars(extend("x-rare" = true))]
    name: Option<String>,
    /// Values of {{param.NAME}} by name.
    #[schemars(extend("x-rare" = true))]
    params: Option<Map<String, Value>>,
}

/// The schemas of its answers: those of a batch.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    answers.of(interact::NAME, NAME).are::<QueuedAnswer<'_>>().are::<CommandAnswer>();
}

/// Whether checked arguments of a call run recorded steps.
pub(super) fn is_run(given: &Map<String, Value>) -> bool {
    given.get("action").is_some_and(|action| action == NAME)
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    request: RequestContext,
    takes_tab: bool,
) -> ToolReply {
    match as_batch(tools, caller, given).await {
        // A stored value may hold any steps.
        Ok(batch) => match tools.check_far(caller, interact::NAME, &batch) {
            Ok(()) => interact::call(tools, caller, &batch, request, takes_tab).await,
            Err(wrong) => ToolReply::done(wrong.into()),
        },
        Err(wrong) => ToolReply::done(wrong),
    }
}

/// The arguments of the batch that a call means.
async fn as_batch(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, ToolResult> {
    let RecordedRequest::Run(wanted) = read(given)?;
    let RunArguments { steps, name, params } = wanted;
    let steps = match (steps, name) {
        (Some(steps), None) => steps.into_iter().map(Value::Object).collect(),
        (None, Some(name)) => steps_of(&name, stored::value(tools, caller, &name).await?)?,
        (None, None) | (Some(_), Some(_)) => return Err(which_steps().into()),
    };
    let steps = filled(steps, &params.unwrap_or_default())?;
    let mut batch = given.clone();
    for own in ["name", "params"] {
        batch.shift_remove(own);
    }
    batch.insert("action".to_owned(), "batch".into());
    batch.insert("steps".to_owned(), steps.into());
    Ok(batch)
}

fn which_steps() -> CallFailure {
    let hint = "Pass `steps` as record told them, or `name` of the stored value that has them.";
    CallFailure::of_param("steps", "run takes either `steps` or `name`", hint)
}

/// The steps of a stored value: a list, or the answer of `record`.
fn steps_of(name: &str, value: Value) -> Result<Vec<Value>, CallFailure> {
    let mut value = value;
    let steps = if value.is_object() { value["steps"].take() } else { value };
    let Value::Array(steps) = steps else {
        let message = format!("the stored value {} has no steps", Value::from(name));
        let hint = "Store the answer of interact({action:\"record\", phase:\"stop\"}) under it.";
        return Err(CallFailure::of_param("name", message, hint));
    };
    Ok(steps)
}

/// The steps with the values in their places.
fn filled(mut steps: Vec<Value>, params: &Map<String, Value>) -> Result<Vec<Value>, CallFailure> {
    let mut wanted = BTreeSet::new();
    for (number, step) in steps.iter_mut().enumerate() {
        let faults = fill(step, params, &mut wanted);
        if faults.holds_hidden {
            let message = format!("steps[{number}]: the recording has hidden a secret there");
            let hint =
                "Write {{param.NAME}} in the place of [redacted], and pass its value in `params`.";
            return Err(CallFailure::of_param("steps", message, hint));
        }
        if faults.is_code {
            let message = format!("steps[{number}]: a script takes no {{{{param.NAME}}}}");
            let hint = "Enter the value into the page with type or fill_form.";
            return Err(CallFailure::of_param("steps", message, hint));
        }
    }
    let missing: Vec<_> = wanted.iter().filter(|name| !params.contains_key(*name)).collect();
    if let Some(first) = missing.first() {
        let names = missing.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let message = format!("the steps need values that were not recorded: {names}");
        let hint = format!("Pass them: params:{{\"{first}\": \"…\"}}. Ask the user for secrets.");
        return Err(CallFailure::of_param("params", message, hint));
    }
    if let Some(unknown) = params.keys().find(|name| !wanted.contains(*name)) {
        let message = format!("no step has {{{{param.{unknown}}}}}");
        return Err(CallFailure::of_param("params", message, format!("Leave `{unknown}` out.")));
    }
    Ok(steps)
}

/// What is wrong with a step.
#[derive(Clone, Copy, Default)]
struct StepFaults {
    /// Something in it was hidden.
    holds_hidden: bool,
    /// A parameter stands in a script.
    is_code: bool,
}

impl StepFaults {
    const fn and(self, other: Self) -> Self {
        Self {
            holds_hidden: self.holds_hidden || other.holds_hidden,
            is_code: self.is_code || other.is_code,
        }
    }
}

/// Puts the values in the places of their names, once: a value is never read for further names.
fn fill(
    value: &mut Value,
    params: &Map<String, Value>,
    wanted: &mut BTreeSet<String>,
) -> StepFaults {
    match value {
        Value::String(text) => {
            let holds_hidden = text.contains(REDACTED);
            *value = with_values(text, params, wanted);
            StepFaults { holds_hidden, is_code: false }
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(StepFaults::default(), |faults, item| faults.and(fill(item, params, wanted))),
        Value::Object(members) => {
            members.iter_mut().fold(StepFaults::default(), |faults, (name, member)| {
                let is_code = SCRIPTS.contains(&name.as_str())
                    && member.as_str().is_some_and(|script| script.contains(OPENING));
                faults.and(fill(member, params, wanted)).and(StepFaults { is_code, ..faults })
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => StepFaults::default(),
    }
}

/// A text that is one name alone becomes the value itself.
fn with_values(text: &str, params: &Map<String, Value>, wanted: &mut BTreeSet<String>) -> Value {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_param(rest) {
        wanted.insert(name.to_owned());
        let value = params.get(name);
        if before.is_empty() && after.is_empty() && filled.is_empty() {
            return value.cloned().unwrap_or_default();
        }
        filled.push_str(before);
        match value {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => {}
        }
        rest = after;
    }
    filled.push_str(rest);
    filled.into()
}

/// The next parameter of a text, and the text around it.
fn next_param(text: &str) -> Option<(&str, &str, &str)> {
    let (before, inside) = text.split_once(OPENING)?;
    let (name, after) = inside.split_once("}}")?;
    Some((before, name.trim(), after))
}

/// The first parameter that a step still has: only `run` fills it.
pub(super) fn param_in(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => next_param(text).map(|(_, name, _)| name),
        Value::Array(items) => items.iter().find_map(param_in),
        Value::Object(members) => members.values().find_map(param_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn run(steps: Value, params: Value) -> Result<Value, CallFailure> {
        let (Value::Array(steps), Value::Object(params)) = (steps, params) else { panic!("types") };
        filled(steps, &params).map(Value::from)
    }

    #[test]
    fn values_take_the_places_of_their_names_once_and_as_data() {
        let steps = json!([
            {"action": "type", "text": "{{param.pw}}"},
            {"action": "fill_form", "fields": [{"target": "a", "value": "{{param.on}}"}]},
            {"action": "navigate", "url": "https://a.example/{{param.id}}/{{ param.id }}?{{param.id}}"},
        ]);
        let params = json!({"pw": "{{param.on}} \"x\"", "on": true, "id": 7});
        let filled = run(steps, params).unwrap();
        assert_eq!(filled[0]["text"], "{{param.on}} \"x\"", "a value is no template");
        assert_eq!(filled[1]["fields"][0]["value"], true);
        assert_eq!(filled[2]["url"], "https://a.example/7/{{ param.id }}?7");
    }

    #[test]
    fn a_missing_a_needless_and_a_hidden_value_are_refused_with_the_next_step() {
        let steps = || json!([{"action": "type", "text": "{{param.b}}{{param.a}}"}]);
        let missing = run(steps(), json!({"b": ""})).unwrap_err();
        assert!(missing.message.ends_with(": a"), "{}", missing.message);
        assert!(missing.hint.contains("\"a\""), "{}", missing.hint);
        let needless = run(steps(), json!({"a": 1, "b": 2, "c": 3})).unwrap_err();
        assert!(needless.message.contains("param.c"), "{}", needless.message);
        let hidden = json!([{"action": "refresh"}, {"action": "type", "text": "x [redacted]"}]);
        let hidden = run(hidden, json!({})).unwrap_err();
        assert!(hidden.message.starts_with("steps[1]"), "{}", hidden.message);
        let code = json!([{"action": "execute_js", "script": "f('{{param.a}}')"}]);
        let code = run(code, json!({"a": "');evil('"})).unwrap_err();
        assert!(code.message.contains("script takes no"), "{}", code.message);
    }

    #[test]
    fn a_stored_value_is_a_list_or_an_answer_of_record() {
        let steps = json!([{"action": "refresh"}]);
        assert_eq!(steps_of("a", steps.clone()).unwrap().len(), 1);
        assert_eq!(steps_of("a", json!({"steps": steps, "params": []})).unwrap().len(), 1);
        for wrong in [json!(7), json!({}), json!({"steps": {}})] {
            assert!(steps_of("a", wrong).unwrap_err().message.contains("\"a\" has no steps"));
        }
    }

    #[test]
    fn what_only_run_fills_is_found_in_a_batch() {
        assert_eq!(param_in(&json!({"fields": [{"value": "a {{param.pw}}"}]})), Some("pw"));
        assert_eq!(param_in(&json!({"text": "{{page.url}}", "n": 1})), None);
    }
}
