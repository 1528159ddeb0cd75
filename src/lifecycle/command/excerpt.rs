//! How much of a long text a report contains.

use std::sync::Arc;

/// The longest error message and the longest stack in a report, in bytes. A page can throw errors of
/// any length, and agents do not read a report in parts.
pub(super) const MESSAGE_TOLD: usize = 2_000;
pub(super) const STACK_TOLD: usize = 3_000;

/// The text, or its beginning and how much is missing.
pub(super) fn beginning(text: &str, longest: usize) -> Arc<str> {
    if text.len() <= longest {
        return text.into();
    }
    let told = &text[..text.floor_char_boundary(longest)];
    format!("{told}… ({} more bytes)", text.len() - told.len()).into()
}
