//! How much of a long text a report tells.

use std::sync::Arc;

/// How much is told of an error's message and of its stack, in bytes. A page can throw errors of
/// any length, and an answer about one is not read in parts.
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
