//! Tabwire's own pages are kept from agents, whatever the rules say: no call opens one, and no list of
//! tabs has one. The extension refuses the same pages once more, where it sees them.

use super::refusal::RefusalReason;
use super::{Engine, Transaction};
use crate::protocol::{Action, BrowserTab, is_own_page};

impl Engine {
    /// Whether a URL is one of Tabwire's own pages.
    fn is_own_page(&self, url: &str) -> bool {
        self.own_port.is_some_and(|port| is_own_page(url, port))
    }

    /// The port of the daemon's own pages, once it listens.
    #[must_use]
    pub const fn own_port(&self) -> Option<u16> {
        self.own_port
    }

    /// Refuses an action that opens one of them.
    pub(super) fn check_opens_no_own_page(&self, action: &Action) -> Result<(), RefusalReason> {
        let opens_one = action.opened_urls().into_iter().any(|url| self.is_own_page(url));
        if opens_one { Err(RefusalReason::TabwirePage) } else { Ok(()) }
    }

    /// The tabs that show something else.
    pub(super) fn without_own_pages(&self, mut tabs: Vec<BrowserTab>) -> Vec<BrowserTab> {
        tabs.retain(|tab| !self.is_own_page(&tab.url));
        tabs
    }
}

impl Transaction<'_> {
    /// Sets the port of the daemon's own pages.
    pub fn set_own_port(&mut self, port: u16) {
        self.own_port = Some(port);
    }
}
