//! `batch`: several actions in one call.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Action, ActionSpec, BrowserAction, TabOpenAction, UploadFileAction};
use crate::protocol::in_short;

/// Runs actions until one fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchAction {
    /// [{action, …, as?}]: later steps use {{as.path}} of earlier results.
    pub steps: Vec<BatchStep>,
}

/// One action of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BatchStep {
    /// Name of the action.
    pub action: String,
    /// Name under which later steps use its result.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub result_name: Option<String>,
    /// Parameters of the action.
    #[serde(flatten)]
    pub params: Map<String, Value>,
}

impl BatchAction {
    /// Whether a step opens a tab with this switch on. One that is made of an earlier result is known
    /// only at its step: it counts as on.
    #[must_use]
    pub fn opens_tab_with(&self, switch: &str) -> bool {
        let is_on = |value: &Value| *value != Value::Bool(false) && !value.is_null();
        self.steps.iter().any(|step| {
            step.action == TabOpenAction::SPEC.name && step.params.get(switch).is_some_and(is_on)
        })
    }
}

impl BatchStep {
    /// Whether running it twice does no harm. Parameters that are made of an earlier result are not
    /// known before.
    fn is_safe(&self) -> bool {
        let action = Action::of_params(&self.action, &self.params);
        action.and_then(Result::ok).is_some_and(|action| action.is_safe())
    }

    /// Whether it tells what a page holds. It may if its parameters are made of an earlier result,
    /// which is not known before.
    fn is_analysis(&self) -> bool {
        let action = Action::of_params(&self.action, &self.params);
        action.and_then(Result::ok).is_none_or(|action| action.is_analysis())
    }

    /// Whether it gives exactly these files to the page. Paths that are made of earlier results
    /// are never given: a page could have made them.
    fn gives_files(&self, paths: &[String]) -> bool {
        let named = self.params.get("paths").and_then(Value::as_array);
        let are_same = |named: &Vec<Value>| {
            named.iter().map(Value::as_str).eq(paths.iter().map(|path| Some(path.as_str())))
        };
        self.action == UploadFileAction::SPEC.name && named.is_some_and(are_same)
    }
}

impl BrowserAction for BatchAction {
    const SPEC: ActionSpec = ActionSpec {
        takes_long: true,
        usual_length: Duration::from_millis(200),
        example: r#"{"steps": [{"action": "type", "target": "b1", "text": "hi"}, {"action": "click", "target": "b2", "as": "sent"}]}"#,
        ..ActionSpec::acting("batch", "Run several actions")
    };

    fn is_safe(&self) -> bool {
        self.steps.iter().all(BatchStep::is_safe)
    }

    fn is_analysis(&self) -> bool {
        self.steps.iter().any(BatchStep::is_analysis)
    }

    fn target(&self) -> Option<Arc<str>> {
        let names: Vec<_> = self.steps.iter().map(|step| &*step.action).collect();
        Some(in_short(&names.join(" ")))
    }

    fn opened_urls(&self) -> Vec<&str> {
        self.steps
            .iter()
            .filter_map(|step| step.params.get("url").and_then(Value::as_str))
            .collect()
    }

    fn opens_private_tab(&self) -> bool {
        self.opens_tab_with("private")
    }

    fn gives_files(&self, paths: &[String]) -> bool {
        self.steps.iter().any(|step| step.gives_files(paths))
    }
}
