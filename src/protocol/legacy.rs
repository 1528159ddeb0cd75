//! What extensions know that only poll: an older vocabulary for the same commands and
//! reports.
//!
//! Every action is translated here or not known to them. What they answer is brought into
//! the form that all extensions report in, so that callers see no difference.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::{Action, Analysis, CorrelationId, ExtensionReport, QueryId, ReportedError};

/// A command as a polling extension gets it.
#[derive(Clone, Debug, Serialize)]
pub struct LegacyQuery {
    /// The command's second name, which a query without the first is answered under.
    pub id: QueryId,
    /// The command's name. With it the extension says `pending` after 3 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// What to do, in its words.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The parameters, in its words: always an object.
    pub params: Value,
}

/// An action in the words of a polling extension.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyAction {
    /// The query's type.
    pub kind: &'static str,
    /// Its parameters.
    pub params: Value,
    /// Whether it is asked under a correlation id, so that the extension says `pending` while
    /// it works. Other queries it answers when they are done, and not before.
    pub says_pending: bool,
}

impl LegacyAction {
    /// The action for a command that may run for `timeout_ms`. `None`: such an extension does
    /// not know it, and would never answer.
    #[must_use]
    pub fn of(action: &Action, timeout_ms: u64) -> Option<Self> {
        let (kind, params, says_pending) = match action {
            Action::ExecuteJs { script } => {
                ("execute", json!({"script": script, "timeout_ms": timeout_ms}), true)
            }
            Action::Navigate { url, focus: _ } => {
                ("browser_action", json!({"action": "navigate", "url": url}), true)
            }
            Action::Refresh {} => ("browser_action", json!({"action": "refresh"}), true),
            Action::Back {} => ("browser_action", json!({"action": "back"}), true),
            Action::Forward {} => ("browser_action", json!({"action": "forward"}), true),
            Action::PageInfo {} => ("page_info", json!({}), false),
            Action::TabList {} => ("tabs", json!({}), false),
            // It tells as many matches, and as deep a tree, as it likes.
            Action::Analyze(Analysis::Dom { selector, limit: _ }) => {
                ("dom", json!({"selector": selector}), false)
            }
            Action::Analyze(Analysis::Accessibility { selector: None, .. }) => {
                ("a11y", json!({}), false)
            }
            Action::Analyze(Analysis::Accessibility { selector: Some(scope), depth: _ }) => {
                ("a11y", json!({"scope": scope}), false)
            }
            Action::TabOpen { .. }
            | Action::TabClose {}
            | Action::TabActivate { .. }
            | Action::Screenshot { .. }
            | Action::DrawMode { .. }
            | Action::Analyze(Analysis::PageSummary {} | Analysis::Performance {}) => return None,
        };
        Some(Self { kind, params, says_pending })
    }
}

/// The actions that a polling extension knows, by name.
pub const LEGACY_ACTIONS: [&str; 9] = [
    "execute_js",
    "navigate",
    "refresh",
    "back",
    "forward",
    "page_info",
    "tab_list",
    "dom",
    "accessibility",
];

/// What a polling extension posts of a command, on whichever route.
#[derive(Clone, Debug, Deserialize)]
pub struct LegacyReport {
    /// The command's name, if it was asked under one.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// The query's.
    #[serde(default)]
    pub id: Option<String>,
    /// The same, as older ones call it.
    #[serde(default)]
    pub query_id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    message: Option<String>,
}

impl LegacyReport {
    /// The names under which the command is looked for, the surest first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = [&self.correlation_id, &self.id, &self.query_id];
        names.into_iter().filter_map(|name| name.as_deref()).filter(|name| !name.is_empty())
    }

    /// The report in today's words. A failure is one however it is told: by `error`, or by a
    /// result that says so.
    #[must_use]
    pub fn into_report(self, action: &Action) -> ExtensionReport {
        let Self { status, result, error, message, .. } = self;
        match (status.as_deref(), failure(error.as_ref(), message.as_deref(), result.as_deref())) {
            (Some("pending"), None) => ExtensionReport::Pending { message, progress: None },
            (Some("timeout"), error) => {
                ExtensionReport::Timeout { error: error.unwrap_or_else(|| timed_out(message)) }
            }
            (_, Some(error)) => ExtensionReport::Error { error },
            (_, None) => ExtensionReport::Complete {
                result: shaped(result.as_deref(), action),
                origin: None,
            },
        }
    }
}

fn timed_out(message: Option<String>) -> ReportedError {
    let message = message.unwrap_or_else(|| "The extension's own time was over".to_owned());
    ReportedError::new("execution_timeout", message)
}

/// The failure that is told, if one is.
fn failure(
    error: Option<&Value>,
    message: Option<&str>,
    result: Option<&RawValue>,
) -> Option<ReportedError> {
    let told = match error {
        None | Some(Value::Null) => of_result(result?)?,
        Some(Value::Object(error)) => of_object(error),
        Some(Value::String(code)) => reported(code, message, None),
        Some(other) => reported(&other.to_string(), message, None),
    };
    Some(told)
}

/// A result that says of itself that it is none.
fn of_result(result: &RawValue) -> Option<ReportedError> {
    #[derive(Deserialize)]
    struct Judged {
        success: Option<bool>,
    }
    let judged: Judged = serde_json::from_str(result.get()).ok()?;
    if judged.success != Some(false) {
        return None;
    }
    Some(of_object(&serde_json::from_str(result.get()).ok()?))
}

fn of_object(object: &Map<String, Value>) -> ReportedError {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let code = text("error").or(text("code")).unwrap_or("error");
    reported(code, text("message"), text("stack"))
}

fn reported(code: &str, message: Option<&str>, stack: Option<&str>) -> ReportedError {
    let stack = stack.map(str::to_owned);
    ReportedError { stack, ..ReportedError::new(code, message.unwrap_or(code)) }
}

/// The result as today's extensions shape it: `{success, value, type}`. What is in it stays
/// as it was sent.
fn shaped(result: Option<&RawValue>, action: &Action) -> Arc<RawValue> {
    let sent: Value =
        result.and_then(|result| serde_json::from_str(result.get()).ok()).unwrap_or(Value::Null);
    let value = match (action, sent) {
        (Action::ExecuteJs { .. }, Value::Object(mut sent)) if sent.contains_key("success") => {
            sent.shift_remove("result").unwrap_or(Value::Null)
        }
        (Action::TabList {}, Value::Object(mut sent)) => match sent.shift_remove("tabs") {
            Some(Value::Array(tabs)) => tabs
                .into_iter()
                .map(|tab| renamed(tab, &[("id", "tab_id"), ("windowId", "window_id")]))
                .collect(),
            Some(_) | None => Value::Object(sent),
        },
        (Action::Analyze(Analysis::Dom { .. }), sent) => {
            renamed(sent, &[("matchCount", "count"), ("returnedCount", "shown")])
        }
        (_, sent) => sent,
    };
    let kind = kind(&value);
    to_raw_value(&json!({"success": true, "value": value, "type": kind})).unwrap_or_default().into()
}

/// An object under the names that its fields have from every extension.
fn renamed(sent: Value, names: &[(&str, &str)]) -> Value {
    let Value::Object(mut sent) = sent else { return sent };
    for (theirs, ours) in names {
        if let Some(value) = sent.shift_remove(*theirs) {
            sent.insert((*ours).to_owned(), value);
        }
    }
    Value::Object(sent)
}

/// A value's type, as JavaScript calls it.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(action: &Action, body: &str) -> ExtensionReport {
        serde_json::from_str::<LegacyReport>(body).unwrap().into_report(action)
    }

    fn script() -> Action {
        Action::ExecuteJs { script: "1".to_owned() }
    }

    fn dom() -> Action {
        Action::Analyze(Analysis::Dom { selector: "a".to_owned(), limit: Some(5) })
    }

    fn value(report: &ExtensionReport) -> &str {
        let ExtensionReport::Complete { result, .. } = report else { panic!("{report:?}") };
        result.get()
    }

    #[test]
    fn the_actions_that_are_translated_are_the_ones_that_are_listed() {
        let all = [
            script(),
            Action::Navigate { url: "http://a/".to_owned(), focus: None },
            Action::Refresh {},
            Action::Back {},
            Action::Forward {},
            Action::PageInfo {},
            Action::TabList {},
            Action::TabOpen { url: None, focus: None },
            Action::TabClose {},
            Action::TabActivate { focus: None },
            dom(),
            Action::Analyze(Analysis::Accessibility { selector: None, depth: None }),
            Action::Analyze(Analysis::PageSummary {}),
            Action::Analyze(Analysis::Performance {}),
        ];
        for action in all {
            let is_known = LegacyAction::of(&action, 1).is_some();
            assert_eq!(is_known, LEGACY_ACTIONS.contains(&action.name()), "{}", action.name());
        }
    }

    #[test]
    fn an_analysis_is_asked_for_in_its_own_words() {
        let of = |analysis| LegacyAction::of(&Action::Analyze(analysis), 1).unwrap();
        let part = of(Analysis::Accessibility { selector: Some("main".to_owned()), depth: None });
        assert_eq!((part.kind, part.params), ("a11y", json!({"scope": "main"})));
        let found = LegacyAction::of(&dom(), 1).unwrap();
        assert_eq!((found.kind, found.params), ("dom", json!({"selector": "a"})));
    }

    #[test]
    fn a_result_has_the_shape_that_it_has_from_every_extension() {
        let done =
            report(&script(), r#"{"status":"complete","result":{"success":true,"result":"Home"}}"#);
        assert_eq!(value(&done), r#"{"success":true,"value":"Home","type":"string"}"#);
        let listed = report(
            &Action::TabList {},
            r#"{"id":"q","result":{"tabs":[{"id":7,"url":"http://a/","windowId":1}]}}"#,
        );
        let expected = r#"{"success":true,"value":[{"url":"http://a/","tab_id":7,"window_id":1}],"type":"array"}"#;
        assert_eq!(value(&listed), expected);
        let found = report(&dom(), r#"{"id":"q","result":{"matchCount":3,"returnedCount":1}}"#);
        let expected = r#"{"success":true,"value":{"count":3,"shown":1},"type":"object"}"#;
        assert_eq!(value(&found), expected);
        let bare = report(&script(), r#"{"status":"complete","result":5,"error":null}"#);
        assert_eq!(value(&bare), r#"{"success":true,"value":5,"type":"number"}"#);
        let nothing = report(&Action::Refresh {}, r#"{"id":"q"}"#);
        assert_eq!(value(&nothing), r#"{"success":true,"value":null,"type":"null"}"#);
    }

    #[test]
    fn a_failure_is_one_however_it_is_told() {
        let told = [
            (r#"{"status":"complete","error":"ai_web_pilot_disabled"}"#, "ai_web_pilot_disabled"),
            (
                r#"{"status":"complete","result":{"success":false,"error":"execution_error","message":"bad"}}"#,
                "execution_error",
            ),
            (r#"{"status":"error","error":{"code":"gone","message":"away"}}"#, "gone"),
            (r#"{"result":{"success":false}}"#, "error"),
            (r#"{"error":17}"#, "17"),
        ];
        for (body, code) in told {
            let ExtensionReport::Error { error } = report(&script(), body) else {
                panic!("{body}")
            };
            assert_eq!(error.code, code, "{body}");
        }
    }

    #[test]
    fn still_at_work_and_out_of_time_are_told_apart_from_a_result() {
        let pending = report(&script(), r#"{"correlation_id":"c","status":"pending"}"#);
        assert!(matches!(pending, ExtensionReport::Pending { .. }));
        let late =
            report(&script(), r#"{"correlation_id":"c","status":"timeout","error":"timeout"}"#);
        assert!(matches!(late, ExtensionReport::Timeout { .. }));
    }
}
