//! The tabs that a client uses, and the tab of a call that names none.
//!
//! Several agents may share one client: the tab used last is then another agent's. So a ref names its
//! tab, and a client that uses several tabs has to say which one a call is for.

use std::collections::HashSet;

use super::clients::CurrentTab;
use super::refusal::{RefusalReason, TabChoice};
use super::{Caller, Transaction};
use crate::lifecycle::{TargetSelector, limits};
use crate::protocol::{Action, BrowserId, BrowserTab, TabId, Timestamp};

/// A tab that a client has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedTab {
    /// The browser.
    pub browser: BrowserId,
    /// The tab.
    pub tab: TabId,
    /// When the client last used it.
    pub at: Timestamp,
}

/// The tabs that a client used of late, the one used last at the end.
#[derive(Debug, Default)]
pub(super) struct UsedTabs(Vec<UsedTab>);

impl UsedTabs {
    /// The client uses this tab.
    pub(super) fn note(&mut self, current: &CurrentTab, now: Timestamp) {
        let Some(tab) = current.tab else { return };
        let is_other = |used: &UsedTab| used.tab != tab || used.browser != current.browser;
        self.0.retain(|used| is_of_late(used, now) && is_other(used));
        if self.0.len() >= limits::USED_TABS {
            self.0.remove(0);
        }
        self.0.push(UsedTab { browser: current.browser.clone(), tab, at: now });
    }

    /// Continues from the journal.
    pub(super) fn restore(&mut self, used: Vec<UsedTab>, now: Timestamp) {
        self.0 = used;
        // A recorded time lies in the future if the clock was set back.
        self.0.iter_mut().for_each(|used| used.at = used.at.min(now));
    }

    /// A tab goes on under its new id.
    pub(super) fn rename(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        let of_it = self.0.iter_mut().filter(|used| used.browser == *browser && used.tab == former);
        of_it.for_each(|used| used.tab = now);
    }

    /// Forgets the tabs of a browser but these.
    pub(super) fn forget_but(&mut self, kept: &HashSet<TabId>, browser: &BrowserId) {
        self.0.retain(|used| used.browser != *browser || kept.contains(&used.tab));
    }

    /// All of them, for the journal.
    pub(super) fn to_record(&self) -> Vec<UsedTab> {
        self.0.clone()
    }

    fn of_late(&self, now: Timestamp) -> impl Iterator<Item = &UsedTab> {
        self.0.iter().filter(move |used| is_of_late(used, now))
    }
}

fn is_of_late(used: &UsedTab, now: Timestamp) -> bool {
    now.since(used.at) < limits::TABS_TOLD_APART
}

impl Transaction<'_> {
    /// The same selector, with the tab whose element the action names by a ref if it names no tab.
    pub(super) fn with_tab_of_ref(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
        action: &Action,
    ) -> TargetSelector {
        let by_ref = || {
            let letters = action.letters_of_ref()?;
            self.tab_of_letters(caller, selector, &letters)
        };
        match selector.tab {
            Some(_) => selector.clone(),
            None => by_ref().unwrap_or_else(|| selector.clone()),
        }
    }

    /// The only tab whose refs begin with these letters; of several browsers' tabs the only one that
    /// the client uses.
    fn tab_of_letters(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
        letters: &str,
    ) -> Option<TargetSelector> {
        let is_meant = |id: &BrowserId, label: &str| {
            selector.browser.as_deref().is_none_or(|named| named == id.as_str() || named == label)
        };
        let browsers = self.browsers.iter().filter(|(id, browser)| is_meant(id, browser.label()));
        let with_letters: Vec<_> = browsers
            .flat_map(|(id, browser)| browser.tabs().iter().map(move |tab| (id, tab)))
            .filter(|(_, tab)| tab.ref_prefix.as_deref() == Some(letters))
            .filter(|(id, tab)| self.inside_since(&caller.owner, id, tab.tab_id).is_some())
            .collect();
        let found = match with_letters.as_slice() {
            [only] => *only,
            several => {
                let used: Vec<_> = self.used_of_late(caller);
                let is_used = |id: &BrowserId, tab| {
                    used.iter().any(|used| used.browser == *id && used.tab == tab)
                };
                let mut used = several.iter().filter(|(id, tab)| is_used(id, tab.tab_id));
                *used.next().filter(|_| used.next().is_none())?
            }
        };
        let (browser, tab) = found;
        Some(TargetSelector { browser: Some(browser.as_str().to_owned()), tab: Some(tab.tab_id) })
    }

    /// Checks that a call says which tab it is for, if its client uses several.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::WhichTab`].
    pub(super) fn check_tab_named(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
    ) -> Result<(), RefusalReason> {
        if selector.tab.is_some() {
            return Ok(());
        }
        let used = self.used_of_late(caller);
        let mut tabs: Vec<_> = used.iter().filter_map(|used| self.choice(caller, used)).collect();
        if tabs.len() < 2 {
            return Ok(());
        }
        if tabs.iter().all(|tab| tab.browser == tabs[0].browser) {
            tabs.iter_mut().for_each(|tab| tab.browser = None);
        }
        Err(RefusalReason::WhichTab { tabs })
    }

    fn used_of_late(&self, caller: &Caller) -> Vec<UsedTab> {
        let now = self.now();
        let used = self.clients.used_tabs(&caller.client);
        used.map_or_else(Vec::new, |used| used.of_late(now).cloned().collect())
    }

    /// A used tab that is still there. A browser that is away may still have it.
    fn choice(&self, caller: &Caller, used: &UsedTab) -> Option<TabChoice> {
        let browser = self.browsers.get(&used.browser)?;
        let now = browser.id_now(used.tab);
        self.inside_since(&caller.owner, &used.browser, now)?;
        let known = browser.tabs().iter().find(|tab| tab.tab_id == now).cloned();
        // After a start of the daemon nothing but the number is known of it.
        let unknown = || BrowserTab {
            tab_id: used.tab,
            window_id: 0,
            url: String::new(),
            title: String::new(),
            active: false,
            focused: false,
            ref_prefix: None,
            discarded: false,
            frozen: false,
            former_ids: Vec::new(),
            private: false,
        };
        let tab = known.or_else(|| (!browser.is_connected()).then(unknown))?;
        let browser_label = self.browser_label(&used.browser);
        Some(TabChoice { browser: Some(used.browser.clone()), browser_label, tab })
    }
}
