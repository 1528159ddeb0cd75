//! What clients have changed about tabs, such as an emulated screen: put back when the client has
//! ended, has given the tab back, or another client acts there.
//!
//! The browser keeps these states and reports all of them after each change, so nothing of them is
//! recorded: after a restart the browser says which there are.

use std::collections::HashMap;

use super::clients::ClientPresence;
use super::leases::TabPlace;
use super::{Caller, Engine, Transaction};
use crate::lifecycle::limits;
use crate::protocol::{BrowserId, ClientId, PageState, Timestamp, ToExtension};

/// The states of the tabs of all browsers, with the time since which each is known.
#[derive(Debug, Default)]
pub(super) struct PageStates(HashMap<BrowserId, Vec<(PageState, Timestamp)>>);

impl PageStates {
    /// Forgets a browser, which reports them anew if it comes back.
    pub(super) fn forget_browser(&mut self, browser: &BrowserId) {
        self.0.remove(browser);
    }

    /// Takes out those of a browser for which this is so.
    fn take(
        &mut self,
        browser: &BrowserId,
        is_it: impl Fn(&PageState, Timestamp) -> bool,
    ) -> Vec<PageState> {
        let mut known = self.0.get(browser).into_iter().flatten();
        if !known.any(|(state, since)| is_it(state, *since)) {
            return Vec::new();
        }
        let all = self.0.remove(browser).unwrap_or_default();
        let (over, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(state, since)| is_it(state, *since));
        self.0.insert(browser.clone(), kept);
        over.into_iter().map(|(state, _)| state).collect()
    }
}

impl Transaction<'_> {
    /// A browser has reported all of its states.
    pub(super) fn set_page_states(&mut self, browser: &BrowserId, states: Vec<PageState>) {
        let now = self.now();
        let known = self.page_states.0.remove(browser).unwrap_or_default();
        let since = |state: &PageState| {
            known.iter().find(|(other, _)| other == state).map_or(now, |(_, since)| *since)
        };
        let states = states.into_iter().take(limits::PAGE_STATES);
        let states: Vec<_> = states.map(|state| (state.clone(), since(&state))).collect();
        if !states.is_empty() {
            self.page_states.0.insert(browser.clone(), states);
        }
    }

    /// Has the states put back whose clients have been away for as long as ends a lease.
    pub(super) fn sweep_page_states(&mut self) {
        let now = self.now();
        for browser in self.page_states.0.keys().cloned().collect::<Vec<_>>() {
            let Engine { page_states, clients, .. } = &mut **self;
            let is_over = |state: &PageState, since: Timestamp| match clients
                .presence(&state.client_id)
            {
                ClientPresence::Here => false,
                ClientPresence::Left { since: left } | ClientPresence::Silent { since: left } => {
                    now.since(left.max(since)) >= limits::LEASE_ABSENT
                }
            };
            let over = page_states.take(&browser, is_over);
            self.put_back(&browser, over);
        }
    }

    /// A client's right to a tab has ended: what it has changed there is put back.
    pub(super) fn end_page_states_of(&mut self, place: &TabPlace, client: &ClientId) {
        let is_it = |state: &PageState, _| state.tab_id == place.tab && state.client_id == *client;
        let over = self.page_states.take(&place.browser, is_it);
        self.put_back(&place.browser, over);
    }

    /// The owner of a client was removed.
    pub(super) fn end_page_states_of_client(&mut self, client: &ClientId) {
        for browser in self.page_states.0.keys().cloned().collect::<Vec<_>>() {
            let over = self.page_states.take(&browser, |state, _| state.client_id == *client);
            self.put_back(&browser, over);
        }
    }

    /// The person takes a tab back.
    pub(super) fn end_page_states_in(&mut self, place: &TabPlace) {
        let over = self.page_states.take(&place.browser, |state, _| state.tab_id == place.tab);
        self.put_back(&place.browser, over);
    }

    /// A client acts in a tab: what others have changed there, who do not hold it, is put back
    /// before.
    pub(super) fn end_page_states_of_others(&mut self, caller: &Caller, place: &TabPlace) {
        let holder = self.leases.holder(place).cloned();
        let is_it = |state: &PageState, _| {
            let is_holder = holder.as_ref().is_some_and(|one| one.client == state.client_id);
            state.tab_id == place.tab && state.client_id != caller.client && !is_holder
        };
        let over = self.page_states.take(&place.browser, is_it);
        self.put_back(&place.browser, over);
    }

    /// A browser that is away puts them back by itself, and reports what is left when it returns.
    fn put_back(&mut self, browser: &BrowserId, states: Vec<PageState>) {
        if !states.is_empty() {
            self.send(browser, ToExtension::PageStatesOver { states });
        }
    }
}
