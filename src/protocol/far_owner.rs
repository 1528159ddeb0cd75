//! Owners whose programs are on another machine, as the person sees them in the popup.

use serde::{Deserialize, Serialize};

use super::Owner;

/// Such an owner, as the extension shows it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FarOwner {
    /// Which.
    pub owner: Owner,
    /// The person's words for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many of its calls are not over.
    pub calls: usize,
    /// Whether the person has disconnected it: its token counts for nothing.
    pub suspended: bool,
}

/// A team whose calls do not go as they should, as the extension shows it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TenantTrouble {
    /// Which, by the person's name for it.
    pub tenant: String,
    /// The finding in a sentence.
    pub says: String,
    /// The next step.
    #[serde(rename = "do")]
    pub remedy: String,
}

/// The person disconnects such an owner, or lets it in again.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarOwnerChange {
    /// Which: of another generation it counts for nothing.
    pub owner: Owner,
    /// Whether its token counts from now on.
    pub allowed: bool,
}

/// What the person does with the list of such owners.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarOwnerWish {
    /// The change; absent: they look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FarOwnerChange>,
}
