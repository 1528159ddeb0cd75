//! `batch`: the check of its steps when it is submitted, and the answer of one that stopped.

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::arguments::closest;
use super::failure::CallFailure;
use super::run::param_in;
use super::{arguments_of, tool_of_action};
use crate::lifecycle::next_step_of_code;
use crate::protocol::actions::{
    BatchAction, BatchStep, BrowserAction as _, RegisteredAction, ScreenshotAction,
    UploadFileAction,
};
use crate::protocol::{Action, CommandReport, CommandStatus};

/// More steps make an answer that nobody reads.
const MOST_STEPS: usize = 50;

/// Actions that are no steps, each with the reason and the next step.
const ALONE: [(&str, &str, &str); 5] = [
    ("batch", "its steps can stand in the list itself", "Put the steps of both into one list."),
    (
        "dialog",
        "the batch itself waits for its dialogs",
        "Call interact({action:\"dialog\"}) by itself, while the batch runs.",
    ),
    ("draw_mode", "a person draws for minutes", "Call analyze({what:\"annotations\"}) by itself."),
    (
        "pdf",
        "its file is written when its command ends",
        "Call interact({action:\"pdf\", path}) after the batch; a screenshot can be a step.",
    ),
    (
        "trace",
        "its file is written when its command ends",
        "Call analyze({what:\"trace\", path}) by itself.",
    ),
];

/// Parameters that concern the command as a whole.
const OF_COMMAND: [&str; 4] = ["browser", "wait_ms", "trace", "idempotency_key"];

/// The longest name of a result.
const LONGEST_NAME: usize = 64;

/// Checks the steps of a batch as if each were called alone. Parameters that are made of earlier
/// results are checked when they are known, in the extension.
pub(super) fn check_steps(action: &Action) -> Result<(), CallFailure> {
    let Action::Batch(BatchAction { steps }) = action else { return Ok(()) };
    if steps.is_empty() || steps.len() > MOST_STEPS {
        let message = format!("`steps` has {} steps; a batch has 1 to {MOST_STEPS}", steps.len());
        let hint = if steps.is_empty() {
            "Give `steps` at least one action: [{\"action\": \"page_info\"}]."
        } else {
            "Make several batches of it."
        };
        return Err(CallFailure::of_param("steps", message, hint));
    }
    let is_param = |step: &BatchStep| step.result_name.as_deref() == Some("param");
    let knows_params = steps.iter().any(is_param);
    for (at, step) in steps.iter().enumerate() {
        if let Some(name) = step.params.values().find_map(param_in).filter(|_| !knows_params) {
            let message = format!("steps[{at}]: a batch does not fill {{{{param.{name}}}}}");
            let hint = "Call interact({action:\"run\", steps, params}) with its value.";
            return Err(CallFailure::of_param("steps", message, hint));
        }
        check_step(step).map_err(|failure| CallFailure {
            message: format!("steps[{at}]: {}", failure.message),
            param: Some("steps".to_owned()),
            ..failure
        })?;
    }
    Ok(())
}

fn check_step(step: &BatchStep) -> Result<(), CallFailure> {
    let name = step.action.as_str();
    if let Some((_, why, hint)) = ALONE.iter().find(|(alone, ..)| *alone == name) {
        let message = format!("{name} cannot be a step of a batch: {why}");
        return Err(CallFailure::of_param("steps", message, *hint));
    }
    if name == ScreenshotAction::SPEC.name && step.params.contains_key("path") {
        let message = "a screenshot as a step takes no `path`: its picture is in the answer";
        let hint =
            "Leave `path` out, or call interact({action:\"screenshot\", path}) after the batch.";
        return Err(CallFailure::of_param("steps", message, hint));
    }
    let is_upload = name == UploadFileAction::SPEC.name;
    if is_upload && step.params.get("paths").is_some_and(has_template) {
        let message = "the `paths` of upload_file are written out: a page may have made a result";
        let hint = "Write the paths, or call upload_file by itself with paths that you know.";
        return Err(CallFailure::of_param("steps", message, hint));
    }
    let tool = tool_of(name).ok_or_else(|| unknown_action(name))?;
    if let Some(wrong) = step.result_name.as_deref().filter(|name| !is_result_name(name)) {
        let message = format!("`as` cannot be {wrong:?}");
        let hint = "Give `as` a word of letters, digits, `_` and `-` that begins with a letter or `_`, \
                    64 characters at most.";
        return Err(CallFailure::of_param("steps", message, hint));
    }
    if let Some(wrong) = OF_COMMAND.into_iter().find(|name| step.params.contains_key(*name)) {
        let message = format!("a step takes no `{wrong}`");
        return Err(CallFailure::of_param("steps", message, "Give it to the batch."));
    }
    check_params(name, tool, &step.params)
}

/// The tool of the five that offers an action.
fn tool_of(name: &str) -> Option<&'static str> {
    tool_of_action(RegisteredAction::named(name)?.spec)
}

fn unknown_action(name: &str) -> CallFailure {
    let all = RegisteredAction::all().iter().map(|known| known.spec.name);
    let names = all
        .filter(|name| tool_of(name).is_some() && !ALONE.iter().any(|(alone, ..)| alone == name));
    let hint = closest(name, names.clone()).map_or_else(
        || format!("The actions of steps are {}.", names.collect::<Vec<_>>().join(", ")),
        |near| format!("Did you mean `{near}`?"),
    );
    CallFailure::of_param("steps", format!("`{name}` is no action of a step"), hint)
}

fn is_result_name(name: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(is_word)
}

/// Checks the parameters of a step. One with a template in it may come out as a value of any type.
fn check_params(
    action: &str,
    tool: &'static str,
    params: &Map<String, Value>,
) -> Result<(), CallFailure> {
    let arguments = arguments_of(tool);
    let mut given = params.clone();
    if let Some(selector) = arguments.selector() {
        given.insert(selector.to_owned(), action.into());
    }
    let mut is_open = false;
    while let Err(failure) = arguments.check(given.clone()) {
        let param = failure.param.as_deref().unwrap_or_default();
        let is_template = given.get(param).is_some_and(has_template);
        if failure.error == "missing_argument" && params.get(param).is_some_and(has_template) {
            return Ok(());
        }
        if !is_template || failure.error != "invalid_argument" {
            return Err(failure);
        }
        given.shift_remove(param);
        is_open = true;
    }
    match Action::of_params(action, params) {
        Some(Err(wrong)) if !is_open && !params.values().any(has_template) => {
            let hint = "Correct the argument; the schema of the action describes it.";
            Err(CallFailure::of_param("steps", wrong.to_string(), hint))
        }
        Some(_) | None => Ok(()),
    }
}

fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(members) => members.values().any(has_template),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a batch is complete because one of its steps failed. The failure gets its next step, as
/// the failure of a command has.
pub(super) fn note_failed_step(report: &mut CommandReport) -> bool {
    if report.command != "batch" {
        return false;
    }
    let CommandStatus::Complete { result, .. } = &mut report.status else { return false };
    let Ok(mut whole) = serde_json::from_str::<Value>(result.get()) else { return false };
    let Some(Value::Object(failed)) = whole.pointer_mut("/value/failed") else { return false };
    let reason = failed.get("reason").and_then(Value::as_str).unwrap_or_default();
    if let (None, Some(step)) = (failed.get("hint"), next_step_of_code(reason)) {
        failed.insert("hint".to_owned(), step.into());
        if let Ok(noted) = to_raw_value(&whole) {
            *result = noted.into();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(steps: Value) -> Result<(), CallFailure> {
        let params = Map::from_iter([("steps".to_owned(), steps)]);
        let action = Action::of_params("batch", &params).expect("an action").expect("a batch");
        check_steps(&action)
    }

    #[track_caller]
    fn assert_refused(steps: Value, message: &str) {
        let failure = checked(steps).expect_err("it is refused");
        assert!(failure.message.contains(message), "{}", failure.message);
        assert!(!failure.hint.is_empty() && failure.param.as_deref() == Some("steps"));
    }

    #[test]
    fn steps_are_checked_as_if_each_were_called_alone() {
        let fine = json!([
            {"action": "page_info", "as": "page"},
            {"action": "dom", "selector": "a", "timeout_ms": 500},
            {"action": "navigate", "url": "{{page.url}}#top", "tab_id": "{{page.tab_id}}"},
            {"action": "execute_js", "script": "1", "user_gesture": "{{page.x}}"},
        ]);
        assert_eq!(checked(fine), Ok(()));
        assert_refused(
            json!([{"action": "page_info"}, {"action": "navigate"}]),
            "steps[1]: missing argument `url`",
        );
        assert_refused(json!([{"action": "navigate", "url": 7}]), "`url` must be of type string");
        assert_refused(json!([{"action": "navigate", "url": "{{a}}", "uri": 1}]), "`uri`");
    }

    #[test]
    fn actions_that_need_the_daemon_are_no_steps_and_the_rest_is_named() {
        for (action, why, _) in ALONE {
            assert_refused(json!([{ "action": action }]), why);
        }
        assert_eq!(checked(json!([{"action": "screenshot", "max_side": 400}])), Ok(()));
        assert_refused(json!([{"action": "screenshot", "path": "a.png"}]), "takes no `path`");
        let made = json!([{"action": "upload_file", "target": "#a", "paths": ["{{b}}"]}]);
        assert_refused(made, "are written out");
        assert_refused(json!([{"action": "hack"}]), "`hack` is no action");
        assert_refused(json!([{"action": "page_info", "wait_ms": 1}]), "takes no `wait_ms`");
        assert_refused(json!([{"action": "page_info", "as": "a.b"}]), "`as` cannot be");
        let open = json!({"action": "type", "target": "#a", "text": "{{param.pw}}"});
        assert_refused(json!([open]), "does not fill {{param.pw}}");
        let named = json!({"action": "page_info", "as": "param"});
        assert_eq!(checked(json!([named, open])), Ok(()));
        assert_refused(json!([]), "0 steps");
    }

    #[test]
    fn a_batch_is_safe_if_each_step_is_and_tells_of_a_page_if_one_does() {
        let action = |steps: Value| {
            let params = json!({ "steps": steps });
            Action::of_params("batch", params.as_object().expect("an object"))
                .expect("an action")
                .expect("a batch")
        };
        let reading = action(json!([{"action": "page_info"}, {"action": "dom", "selector": "a"}]));
        assert!(reading.is_safe() && reading.is_analysis());
        let acting = action(json!([{"action": "page_info"}, {"action": "refresh"}]));
        assert!(!acting.is_safe() && !acting.is_analysis());
        assert!(!action(json!([{"action": "wait_for", "function": "true"}])).is_safe());
        assert!(action(json!([{"action": "wait_for", "text": "a"}])).is_safe());
        assert!(!action(json!([{"action": "hack"}])).is_safe());
        let clicks = |snapshot: Value| {
            action(json!([{"action": "click", "target": "b1", "snapshot": snapshot}]))
        };
        assert!(clicks("diff".into()).is_analysis() && clicks(true.into()).is_analysis());
        assert!(!clicks(false.into()).is_analysis());
        assert!(clicks("{{a.b}}".into()).is_analysis(), "it is not known yet");
    }
}
