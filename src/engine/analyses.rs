//! Redaction of analyses, by the same rules as for recorded streams.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::{Action, ExtensionReport};
use crate::streams::redact_json;

/// Redacts a report on this action, if it is an analysis. A large result takes milliseconds.
pub(crate) fn redact_report(action: &Action, report: &mut ExtensionReport) {
    if let ExtensionReport::Complete { result, .. } = report
        && action.is_analysis()
        && let Some(clean) = redacted(result, &action.picture_steps())
    {
        *result = clean.into();
    }
}

/// The result without its secrets; `None` if there are none. The data of a batch's pictures stays as
/// it is: among a million letters some look like a token.
fn redacted(result: &RawValue, picture_steps: &[usize]) -> Option<Box<RawValue>> {
    if picture_steps.is_empty() {
        return redact_json(result);
    }
    let mut whole: Value = serde_json::from_str(result.get()).ok()?;
    let at = |step| format!("/value/results/{step}/data");
    let taken: Vec<_> = picture_steps
        .iter()
        .filter_map(|step| whole.pointer_mut(&at(step)).map(|data| (step, data.take())))
        .collect();
    let rest = RawValue::from_string(whole.to_string()).ok()?;
    let mut clean: Value = serde_json::from_str(redact_json(&rest)?.get()).ok()?;
    for (step, data) in taken {
        if let Some(place) = clean.pointer_mut(&at(step)) {
            *place = data;
        }
    }
    RawValue::from_string(clean.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pictures_of_a_batch_stay_whole_and_the_rest_is_redacted() {
        let token = "ghp_1234567890abcdefghij";
        let steps = json!({"steps": [{"action": "find", "text": "a"}, {"action": "screenshot"}]});
        let steps = steps.as_object().expect("an object");
        let action = Action::of_params("batch", steps).expect("known").expect("a batch");
        let result =
            json!({"value": {"results": [{"data": token}, {"data": token, "marks": token}]}});
        let result = RawValue::from_string(result.to_string()).expect("JSON");
        let clean = redacted(&result, &action.picture_steps()).expect("secrets");
        let clean: Value = serde_json::from_str(clean.get()).expect("JSON");
        assert_eq!(clean["value"]["results"][1]["data"], token);
        assert_ne!(clean["value"]["results"][0]["data"], token, "{clean}");
        assert_ne!(clean["value"]["results"][1]["marks"], token, "{clean}");
    }
}
