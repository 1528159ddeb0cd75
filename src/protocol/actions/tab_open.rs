//! `tab_open`: opens a tab.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction};
use crate::protocol::url_in_short;

/// Opens a tab; later calls use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabOpenAction {
    /// Else: blank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// To the front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<bool>,
    /// Others may act.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub share: Option<bool>,
    /// Stays after you.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub keep: Option<bool>,
    /// Private window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub private: Option<bool>,
}

impl BrowserAction for TabOpenAction {
    const SPEC: ActionSpec = ActionSpec {
        id_kind: "tab",
        is_browser_wide: true,
        effect: ActionEffect::ADDING,
        usual_length: Duration::from_millis(1_000),
        example: r#"{"url": "http://127.0.0.1:8000/", "focus": true}"#,
        ..ActionSpec::acting("tab_open", "Open a tab")
    };

    fn target(&self) -> Option<Arc<str>> {
        self.url.as_deref().map(url_in_short)
    }

    fn opens_private_tab(&self) -> bool {
        self.private == Some(true)
    }

    fn opened_urls(&self) -> Vec<&str> {
        self.url.as_deref().into_iter().collect()
    }
}
