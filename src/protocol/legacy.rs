//! The older vocabulary of extensions that only poll, for the same commands and reports.
//!
//! Every action is translated here, or such an extension does not know it. Their answers are
//! translated into the reports of all extensions, so that callers see no difference.

mod failure;
mod members;
mod report;
mod sync;

use serde::Serialize;
use serde_json::Value;

use super::{CorrelationId, QueryId};
pub use report::LegacyReport;
pub use sync::{CaptureOverrides, LegacySyncAnswer, LegacySyncRequest, session_name};

/// A command as a polling extension gets it.
#[derive(Clone, Debug, Serialize)]
pub struct LegacyQuery {
    /// The command's second name. A query without a correlation id is answered under it.
    pub id: QueryId,
    /// The command's id. With it the extension reports `pending` after 3 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The type of the query, in the extension's words.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The parameters, in the extension's words: always an object.
    pub params: Value,
}

/// An action in the words of a polling extension.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyAction {
    /// The query's type.
    pub kind: &'static str,
    /// Its parameters.
    pub params: Value,
    /// Whether the query has a correlation id, with which the extension reports `pending` while it
    /// works. It answers other queries only when they are done.
    pub says_pending: bool,
}

impl LegacyAction {
    /// Something that the extension does with the tab that it follows, which may take a while.
    pub(super) const fn of_browser(params: Value) -> Self {
        Self { kind: "browser_action", params, says_pending: true }
    }

    /// Something that the extension reads at once.
    pub(super) const fn of_query(kind: &'static str, params: Value) -> Self {
        Self { kind, params, says_pending: false }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::actions::{
        AccessibilityAction, BrowserAction as _, DomAction, RegisteredAction,
    };

    #[test]
    fn the_actions_that_are_translated_are_the_ones_that_are_listed() {
        for known in RegisteredAction::all() {
            let is_known = known.example().in_legacy_words(1).is_some();
            let name = known.spec.name;
            assert_eq!(is_known, LEGACY_ACTIONS.contains(&name), "{name}");
        }
    }

    #[test]
    fn an_analysis_is_asked_for_in_its_own_words() {
        let part = AccessibilityAction { selector: Some("main".to_owned()), depth: None };
        let part = part.in_legacy_words(1).unwrap();
        assert_eq!((part.kind, part.params), ("a11y", json!({"scope": "main"})));
        let found = DomAction { selector: "a".to_owned(), limit: Some(5) };
        let found = found.in_legacy_words(1).unwrap();
        assert_eq!((found.kind, found.params), ("dom", json!({"selector": "a"})));
    }
}
