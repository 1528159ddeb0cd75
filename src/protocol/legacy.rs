//! The older vocabulary of extensions that only poll, for the same commands and reports.
//!
//! Every action is translated here, or such an extension does not know it. Their answers are
//! translated into the reports of all extensions, so that callers see no difference.

mod failure;
mod members;
mod report;
mod sync;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Action, CorrelationId, PageAnalysis, QueryId};
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
    /// Translates an action that may run for `timeout_ms`. `None`: such an extension does not know
    /// the action and would never answer.
    #[must_use]
    pub fn of(action: &Action, timeout_ms: u64) -> Option<Self> {
        let (kind, params, says_pending) = match action {
            // Such an extension cannot give a script a user gesture.
            Action::ExecuteJs { script, user_gesture: _ } => {
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
            // It has no parameters for the number of matches and the depth of the tree.
            Action::Analyze(PageAnalysis::Dom { selector, limit: _ }) => {
                ("dom", json!({"selector": selector}), false)
            }
            Action::Analyze(PageAnalysis::Accessibility { selector: None, .. }) => {
                ("a11y", json!({}), false)
            }
            Action::Analyze(PageAnalysis::Accessibility { selector: Some(scope), depth: _ }) => {
                ("a11y", json!({"scope": scope}), false)
            }
            Action::TabOpen { .. }
            | Action::TabClose {}
            | Action::TabActivate { .. }
            | Action::Screenshot { .. }
            | Action::DrawMode { .. }
            | Action::Analyze(PageAnalysis::PageSummary {} | PageAnalysis::Performance {}) => {
                return None;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_actions_that_are_translated_are_the_ones_that_are_listed() {
        let all = [
            Action::ExecuteJs { script: "1".to_owned(), user_gesture: None },
            Action::Navigate { url: "http://a/".to_owned(), focus: None },
            Action::Refresh {},
            Action::Back {},
            Action::Forward {},
            Action::PageInfo {},
            Action::TabList {},
            Action::TabOpen { url: None, focus: None },
            Action::TabClose {},
            Action::TabActivate { focus: None },
            Action::Analyze(PageAnalysis::Dom { selector: "a".to_owned(), limit: None }),
            Action::Analyze(PageAnalysis::Accessibility { selector: None, depth: None }),
            Action::Analyze(PageAnalysis::PageSummary {}),
            Action::Analyze(PageAnalysis::Performance {}),
        ];
        for action in all {
            let is_known = LegacyAction::of(&action, 1).is_some();
            assert_eq!(is_known, LEGACY_ACTIONS.contains(&action.name()), "{}", action.name());
        }
    }

    #[test]
    fn an_analysis_is_asked_for_in_its_own_words() {
        let of = |analysis| LegacyAction::of(&Action::Analyze(analysis), 1).unwrap();
        let part =
            of(PageAnalysis::Accessibility { selector: Some("main".to_owned()), depth: None });
        assert_eq!((part.kind, part.params), ("a11y", json!({"scope": "main"})));
        let found = of(PageAnalysis::Dom { selector: "a".to_owned(), limit: Some(5) });
        assert_eq!((found.kind, found.params), ("dom", json!({"selector": "a"})));
    }
}
