//! A widening of what agents may do that no person has confirmed yet.

use serde::{Deserialize, Serialize};

use crate::protocol::Timestamp;

/// A widening that no person has confirmed yet.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedWidening {
    /// Its name. A confirmation gives it, so that nobody confirms a widening that came after they
    /// looked.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// What it allows, as it reads after "Let ", for example `agents use example.com`.
    pub what: String,
    /// The command that takes it back, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take_back: Option<String>,
}
