//! Tabs whose ids have changed: a browser gives a tab whose page it unloads another id. Clients, leases,
//! recordings, questions and waiting commands follow the tab.

use super::Transaction;
use super::browsers::BrowserState;
use super::clients::CurrentTab;
use super::entry::JournalEntry;
use crate::lifecycle::Lane;
use crate::protocol::{BrowserId, TabId};

impl Transaction<'_> {
    /// Everything that names a tab of this browser by a former id names it by its id now. Called
    /// before that which is bound to closed tabs is forgotten. Returns whether a waiting command has
    /// moved: it may have its turn now.
    pub(super) fn follow_renamed_tabs(&mut self, browser: &BrowserId) -> bool {
        let mut has_moved = false;
        let renamed = self.browsers.get(browser).map(BrowserState::renamed_tabs);
        for (former, now) in renamed.unwrap_or_default() {
            self.rename_current(browser, former, now);
            self.rename_leased_tab(browser, former, now);
            self.rename_owned_tab(browser, former, now);
            self.rename_opened_tab(browser, former, now);
            self.rename_captured_tab(browser, former, now);
            self.scheduler.rename_tab(browser, former, now);
            has_moved |= self.rename_lanes(browser, former, now);
        }
        has_moved
    }

    fn rename_current(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        self.clients.rename_used(browser, former, now);
        let is_of_it =
            |current: &CurrentTab| current.browser == *browser && current.tab == Some(former);
        for client in self.clients.with_current(is_of_it) {
            self.set_current(&client, CurrentTab { browser: browser.clone(), tab: Some(now) });
        }
    }

    fn rename_lanes(&mut self, browser: &BrowserId, former: TabId, now: TabId) -> bool {
        let mut has_moved = false;
        for id in self.scheduler.waiting_for(browser) {
            let is_of_it = self.scheduler.lane_of(&id).is_some_and(|lane| lane.tab == Some(former));
            let spec = self.commands.get(&id).map(|command| command.spec().clone());
            let (true, Some(spec)) = (is_of_it, spec) else { continue };
            let lane = Lane { browser: browser.clone(), tab: Some(now) };
            let limits = self.limits;
            self.scheduler.rename_lane(&spec, lane.clone(), &limits);
            self.record(JournalEntry::Placed(id, lane));
            has_moved = true;
        }
        has_moved
    }
}
