//! Tabs that clients opened, as the extension shows them to the person.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::{ClientId, TabId, Timestamp};

/// A tab that a client opened and the person has not made their own.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTab {
    /// The tab.
    pub tab_id: TabId,
    /// The name of the client.
    pub client: Arc<str>,
    /// The client.
    pub client_id: ClientId,
    /// When it is closed; absent while the client or another one may still use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at: Option<Timestamp>,
}

/// A tab that a browser has brought back when it was started anew.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredTab {
    /// Its number in the browser's former run.
    pub former: TabId,
    /// Its number now.
    pub tab_id: TabId,
}
