//! The entries that a reader may see who does not see every tab, or is not told of every site.

use std::collections::HashMap;

use super::StoredEntry;
use crate::protocol::{BrowserId, TabId, Timestamp, ToldSites};

/// The tabs whose entries a reader may see, each from a time on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TabsInside {
    tabs: HashMap<(BrowserId, TabId), Timestamp>,
    /// The sites of which the reader is told; `None`: of every site.
    sites: Option<ToldSites>,
}

impl TabsInside {
    /// These tabs, each from its time on, with the sites of which the reader is told; `None`: all.
    #[must_use]
    pub const fn new(
        tabs: HashMap<(BrowserId, TabId), Timestamp>,
        sites: Option<ToldSites>,
    ) -> Self {
        Self { tabs, sites }
    }

    /// Whether the reader may see an entry. An entry of no tab could be about any.
    #[must_use]
    pub fn show(&self, kept: &StoredEntry) -> bool {
        let place = kept.entry.tab().map(|tab| (kept.browser.clone(), tab));
        let since = place.and_then(|place| self.tabs.get(&place));
        since.is_some_and(|since| kept.came >= *since)
            && self.sites.as_ref().is_none_or(|sites| kept.entry.is_of(sites))
    }
}
