//! What the hub knows of each client.

use crate::lifecycle::{Limits, Rate};
use crate::protocol::{BrowserId, ClientId, CorrelationId, Moment, TabId};

/// One client's own: its calls, its commands, its tab.
#[derive(Debug)]
pub(super) struct Client {
    /// The tab that it used last.
    pub(super) current: Option<Current>,
    /// Its commands that are not over, oldest first.
    pub(super) active: Vec<CorrelationId>,
    /// How many of its calls block now.
    pub(super) waiters: usize,
    /// When it last made itself heard.
    pub(super) last_seen: Moment,
    pub(super) calls: Rate,
}

/// The tab that a client's commands go to when they name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) browser: BrowserId,
    pub(super) tab: Option<TabId>,
}

/// One client as `configure clients` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ClientSummary {
    /// The client.
    pub client: ClientId,
    /// When it last made itself heard.
    pub last_seen: Moment,
    /// How many of its commands are not over.
    pub pending: usize,
    /// The browser that it used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<BrowserId>,
    /// The tab that it used last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
}

impl Client {
    pub(super) fn new(limits: &Limits, now: Moment) -> Self {
        let calls = Rate::new(limits.calls_per_minute, now);
        Self { current: None, active: Vec::new(), waiters: 0, last_seen: now, calls }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty() && self.waiters == 0
    }

    pub(super) fn summary(&self, client: &ClientId) -> ClientSummary {
        ClientSummary {
            client: client.clone(),
            last_seen: self.last_seen,
            pending: self.active.len(),
            browser: self.current.as_ref().map(|current| current.browser.clone()),
            tab_id: self.current.as_ref().and_then(|current| current.tab),
        }
    }
}
