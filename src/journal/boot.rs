//! Which start of the machine this is.

use std::sync::Arc;

/// Names this start of the machine. Where the system has no such name, each call gives
/// another one: the machine then counts as restarted, and no command is sent again.
#[must_use]
pub fn boot_id() -> Arc<str> {
    let told = crate::os::boot_id().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    told.unwrap_or_else(|| format!("unknown-{}", crate::proof::random_hex::<8>())).into()
}
