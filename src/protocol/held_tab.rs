//! Tabs that clients hold, as the extension shows them to the person.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::{TabId, Timestamp};

/// A tab in which only one client acts.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldTab {
    /// The tab.
    pub tab_id: TabId,
    /// The name of the client.
    pub client: Arc<str>,
    /// Whether the client opened it; else the tab is the person's.
    pub opened: bool,
    /// Since when the client holds it.
    pub since: Timestamp,
}
