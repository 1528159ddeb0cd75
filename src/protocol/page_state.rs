//! Tabs that clients have changed by more than acts in their pages.

use serde::{Deserialize, Serialize};

use crate::protocol::{ClientId, TabId};

/// A tab that a client has changed, such as by an emulated screen, and that is to be put back.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PageState {
    /// The tab.
    pub tab_id: TabId,
    /// The client that changed it.
    pub client_id: ClientId,
}
