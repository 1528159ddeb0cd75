//! `navigate`: opens a URL in the tab.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ActionSpec, BrowserAction};
use crate::protocol::{LegacyAction, url_in_short};

/// Opens a URL and waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NavigateAction {
    /// URL: http, https, file or about:blank.
    pub url: String,
    /// To the front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<bool>,
}

impl BrowserAction for NavigateAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "nav",
        takes_long: true,
        usual_length: Duration::from_millis(1_000),
        example: r#"{"url": "http://127.0.0.1:8000/"}"#,
        ..ActionSpec::acting("navigate", "Open a URL")
    };

    fn target(&self) -> Option<Arc<str>> {
        Some(url_in_short(&self.url))
    }

    fn opened_urls(&self) -> Vec<&str> {
        vec![&self.url]
    }

    fn in_legacy_words(&self, _: u64) -> Option<LegacyAction> {
        Some(LegacyAction::of_browser(json!({"action": "navigate", "url": self.url})))
    }
}
