//! The entries that a reader may see who does not see every tab.

use std::collections::HashMap;

use super::StoredEntry;
use crate::protocol::{BrowserId, TabId, Timestamp};

/// The tabs whose entries a reader may see, each from a time on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TabsInside(HashMap<(BrowserId, TabId), Timestamp>);

impl TabsInside {
    /// These tabs, each from its time on.
    #[must_use]
    pub const fn new(tabs: HashMap<(BrowserId, TabId), Timestamp>) -> Self {
        Self(tabs)
    }

    /// Whether the reader may see an entry. An entry of no tab could be about any.
    #[must_use]
    pub fn show(&self, kept: &StoredEntry) -> bool {
        let place = kept.entry.tab().map(|tab| (kept.browser.clone(), tab));
        let since = place.and_then(|place| self.0.get(&place));
        since.is_some_and(|since| kept.came >= *since)
    }
}
