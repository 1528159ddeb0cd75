//! Browsers and tabs as callers are shown them.

use super::links::Browser;
use crate::protocol::{BrowserId, Moment, Tab};

/// One browser as `observe browsers` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct BrowserSummary {
    /// What to name it by.
    pub browser: BrowserId,
    /// What a person would call it, with a number if another is called so; can be named too.
    pub label: String,
    /// Whether commands reach it now.
    pub connected: bool,
    /// When it last made itself heard.
    pub last_seen: Moment,
    /// The extension's version.
    pub extension_version: String,
    /// The browser's user agent.
    pub user_agent: String,
    /// The actions that its extension knows.
    pub actions: Vec<String>,
    /// How many tabs it has.
    pub tabs: usize,
}

/// One tab as `observe tabs` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TabSummary {
    /// The browser that it is in.
    pub browser: BrowserId,
    /// The tab.
    #[serde(flatten)]
    pub tab: Tab,
    /// Whether this client's commands go to it when they name no tab.
    pub current: bool,
}

impl Browser {
    /// The browser as it is now.
    pub(super) fn summary(&self, id: &BrowserId) -> BrowserSummary {
        BrowserSummary {
            browser: id.clone(),
            label: self.label.clone(),
            connected: self.is_connected(),
            last_seen: self.last_seen,
            extension_version: self.extension_version.clone(),
            user_agent: self.user_agent.clone(),
            actions: self.actions.clone(),
            tabs: self.tabs.len(),
        }
    }
}
