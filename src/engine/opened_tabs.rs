//! The tabs that clients opened: each is closed a while after its client has ended, unless the person
//! has made it their own.
//!
//! The lease of a tab says who may act in it now, and ends within minutes. Who opened it is remembered
//! for as long as it is open. The extension sees what the person does with a tab, so it looks once
//! more before it closes one, and tells the engine which tabs are the person's from now on.

use std::collections::{HashMap, HashSet};

use super::browsers::BrowserState;
use super::clients::ClientPresence;
use super::entry::JournalEntry;
use super::leases::TabPlace;
use super::scopes::OwnerTab;
use super::{Caller, Engine, Transaction};
use crate::lifecycle::limits;
use crate::protocol::{AgentTab, BrowserId, RestoredTab, TabId, Timestamp, ToExtension};

/// A tab that a client opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTab {
    /// The browser of the tab.
    pub browser: BrowserId,
    /// The tab.
    pub tab: TabId,
    /// The client that opened it.
    pub opener: Caller,
    /// When it was opened.
    pub since: Timestamp,
    /// When a client last acted in it.
    pub used: Timestamp,
}

/// An opened tab, and what the extension was told of it.
#[derive(Debug)]
struct ClientTabState {
    tab: ClientTab,
    /// When the extension was last asked to close it.
    asked: Option<Timestamp>,
}

/// All tabs that clients opened.
#[derive(Debug, Default)]
pub(super) struct ClientTabs {
    tabs: HashMap<TabPlace, ClientTabState>,
    /// Those of each browser's former run, which it may bring back.
    former: HashMap<BrowserId, Vec<ClientTab>>,
    /// What each connected browser shows.
    shown: HashMap<BrowserId, Vec<AgentTab>>,
}

impl ClientTabs {
    fn put(&mut self, tab: ClientTab) {
        let place = TabPlace { browser: tab.browser.clone(), tab: tab.tab };
        self.tabs.insert(place, ClientTabState { tab, asked: None });
    }

    /// A client acts in a tab.
    pub(super) fn note_use(&mut self, place: &TabPlace, now: Timestamp) {
        if let Some(state) = self.tabs.get_mut(place) {
            state.tab.used = now;
            state.asked = None;
        }
    }

    /// Whether this client opened the tab, and the person has not made it their own.
    pub(super) fn is_opened_by(&self, place: &TabPlace, caller: &Caller) -> bool {
        self.tabs.get(place).is_some_and(|state| state.tab.opener == *caller)
    }

    fn places_of(&self, browser: &BrowserId) -> Vec<TabPlace> {
        self.tabs.keys().filter(|place| place.browser == *browser).cloned().collect()
    }
}

impl Engine {
    /// When a tab is closed. `None`: its client has not ended, or a client still uses it.
    fn closes_at(&self, tab: &ClientTab, now: Timestamp) -> Option<Timestamp> {
        let wait = self.limits.leftover_tabs_delay()?;
        let ended = match self.clients.presence(&tab.opener.client) {
            ClientPresence::Here => return None,
            ClientPresence::Left { since } => since,
            // It never had a stream, so that it has ended is a guess from its silence. Nobody could
            // call while the daemon was away.
            ClientPresence::Silent { since } => since.max(self.started) + wait,
        };
        let place = TabPlace { browser: tab.browser.clone(), tab: tab.tab };
        if self.is_in_use(&place, &tab.opener, now) {
            return None;
        }
        Some(ended.max(tab.used).max(self.started) + wait)
    }

    /// Whether a command is unfinished in a tab, or a client other than its opener holds it.
    fn is_in_use(&self, place: &TabPlace, opener: &Caller, now: Timestamp) -> bool {
        let here = self.scheduler.of_browser(&place.browser).into_iter();
        let is_unfinished = |id| {
            let lane = self.scheduler.lane_of(&id);
            lane.is_some_and(|lane| lane.tab == Some(place.tab))
                && self.commands.get(&id).is_some_and(|command| !command.phase().is_terminal())
        };
        let mut unfinished = here.filter(|id| is_unfinished(id.clone()));
        unfinished.next().is_some() || self.is_held_by_another(place, opener, now)
    }

    /// The tabs of a browser that clients opened, in the order of their numbers.
    fn agent_tabs(&self, browser: &BrowserId, now: Timestamp) -> Vec<AgentTab> {
        let of_it = self.opened_tabs.tabs.values().filter(|state| state.tab.browser == *browser);
        let mut tabs: Vec<_> = of_it
            .map(|ClientTabState { tab, .. }| AgentTab {
                tab_id: tab.tab,
                client: self.shown_caller(&tab.opener.owner, &tab.opener.client),
                client_id: tab.opener.client.clone(),
                closes_at: self.closes_at(tab, now),
            })
            .collect();
        tabs.sort_unstable_by_key(|tab| tab.tab_id);
        tabs
    }
}

/// How tabs come into the list, and leave it.
impl Transaction<'_> {
    /// A client has opened a tab.
    pub(super) fn note_opened(&mut self, place: &TabPlace, opener: &Caller) {
        if self.opened_tabs.tabs.contains_key(place) {
            return;
        }
        let now = self.now();
        let TabPlace { browser, tab } = place.clone();
        let opened = ClientTab { browser, tab, opener: opener.clone(), since: now, used: now };
        self.record(JournalEntry::TabOpened(opened.clone()));
        self.opened_tabs.put(opened);
        self.show_opened_tabs(&place.browser);
    }

    /// The person has made a tab their own: it is not closed any more.
    pub(super) fn keep_tab(&mut self, browser: &BrowserId, tab: TabId) {
        self.forget_opened(&TabPlace { browser: browser.clone(), tab });
        self.show_opened_tabs(browser);
    }

    /// A tab that a client opened is still that under its new id.
    pub(super) fn rename_opened_tab(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        let place = TabPlace { browser: browser.clone(), tab: former };
        let Some(state) = self.opened_tabs.tabs.get(&place) else { return };
        let tab = ClientTab { tab: now, ..state.tab.clone() };
        self.forget_opened(&place);
        self.record(JournalEntry::TabOpened(tab.clone()));
        self.opened_tabs.put(tab);
        self.show_opened_tabs(browser);
    }

    fn forget_opened(&mut self, place: &TabPlace) {
        if self.opened_tabs.tabs.remove(place).is_some() {
            self.record(JournalEntry::OpenedTabGone(place.browser.clone(), place.tab));
        }
    }

    /// Forgets the tabs that a connected browser no longer has.
    pub(super) fn forget_closed_opened_tabs(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser).filter(|known| known.is_connected()) else {
            return;
        };
        let open: HashSet<_> = known.tabs().iter().map(|tab| tab.tab_id).collect();
        self.forget_opened_tabs_but(browser, &open);
        self.show_opened_tabs(browser);
    }

    /// A browser was started anew: its tabs are others now, but these. It may have brought some back.
    pub(super) fn forget_former_opened_tabs(&mut self, browser: &BrowserId, kept: &HashSet<TabId>) {
        let all = self.opened_tabs.tabs.values().map(|state| &state.tab);
        let gone = all.filter(|tab| tab.browser == *browser && !kept.contains(&tab.tab));
        let gone = gone.cloned().collect();
        self.opened_tabs.former.insert(browser.clone(), gone);
        self.forget_opened_tabs_but(browser, kept);
    }

    /// A browser has brought back tabs of its former run, as its extension is sure.
    pub(super) fn restore_opened_tabs(&mut self, browser: &BrowserId, restored: Vec<RestoredTab>) {
        for RestoredTab { former, tab_id } in restored {
            let known = self.opened_tabs.former.get_mut(browser);
            let at = known.as_ref().and_then(|all| all.iter().position(|one| one.tab == former));
            let Some(opened) = known.zip(at).map(|(all, at)| all.remove(at)) else { continue };
            let is_open = self.browsers.get(browser).is_some_and(|known| known.has_tab(tab_id));
            if is_open {
                let place = TabPlace { browser: browser.clone(), tab: tab_id };
                self.note_opened(&place, &opened.opener);
                let now = self.now();
                let TabPlace { browser, tab } = place;
                let owner = opened.opener.owner.clone();
                let is_private = false;
                self.note_owned(OwnerTab { browser, tab, owner, since: now, is_private });
                // Its client may have left: then the tab's time has begun.
                self.effects().is_sooner = true;
            }
        }
    }

    /// Forgets the tabs of a browser but these.
    fn forget_opened_tabs_but(&mut self, browser: &BrowserId, kept: &HashSet<TabId>) {
        for place in self.opened_tabs.places_of(browser) {
            if !kept.contains(&place.tab) {
                self.forget_opened(&place);
            }
        }
    }

    /// Continues from the journal.
    pub(super) fn recover_opened_tab(&mut self, tab: ClientTab) {
        let used = self.now();
        self.opened_tabs.put(ClientTab { used, since: tab.since.min(used), ..tab });
    }
}

/// Their end.
impl Transaction<'_> {
    /// Whether a client is there has changed: the times at which its tabs close have, too.
    pub(super) fn follow_presence(&mut self, caller: &Caller) {
        let of_it = self.opened_tabs.tabs.values().filter(|state| state.tab.opener == *caller);
        let browsers: HashSet<_> = of_it.map(|state| state.tab.browser.clone()).collect();
        for browser in browsers {
            self.show_opened_tabs(&browser);
        }
        // The timer may sleep past the time at which the first of them closes.
        self.effects().is_sooner = true;
    }

    /// A browser has connected and shows nothing yet.
    pub(super) fn show_opened_tabs_to_newcomer(&mut self, browser: &BrowserId) {
        self.opened_tabs.shown.remove(browser);
        for place in self.opened_tabs.places_of(browser) {
            if let Some(state) = self.opened_tabs.tabs.get_mut(&place) {
                state.asked = None;
                // The timer did not wait for tabs of a browser that was away.
                self.effects().is_sooner = true;
            }
        }
        self.show_opened_tabs(browser);
    }

    /// Shows the person which tabs clients opened, if that has changed. An extension that does not know
    /// the frame answers with a `nack`, which does no harm.
    fn show_opened_tabs(&mut self, browser: &BrowserId) {
        if !self.browsers.get(browser).is_some_and(BrowserState::is_ready) {
            self.opened_tabs.shown.remove(browser);
            return;
        }
        let opened = self.agent_tabs(browser, self.now());
        let shown = self.opened_tabs.shown.get(browser).map_or(&[][..], Vec::as_slice);
        if shown != opened {
            self.opened_tabs.shown.insert(browser.clone(), opened.clone());
            self.send(browser, ToExtension::OpenedTabs { opened });
        }
    }

    /// Has the tabs closed whose time has come. One that the extension leaves open, as the person looks
    /// at it, gets its turn again.
    pub(super) fn close_leftover_tabs(&mut self) {
        let now = self.now();
        let browsers: HashSet<_> =
            self.opened_tabs.tabs.keys().map(|place| place.browser.clone()).collect();
        for browser in browsers {
            let is_ready = self.browsers.get(&browser).is_some_and(BrowserState::is_ready);
            let mut due = Vec::new();
            for place in self.opened_tabs.places_of(&browser) {
                let Some(state) = self.opened_tabs.tabs.get(&place) else { continue };
                if !is_ready && now.since(state.tab.since) >= limits::OPENED_TAB_REMEMBERED {
                    self.forget_opened(&place);
                } else if is_ready && self.next_closing_of(state).is_some_and(|at| at <= now) {
                    due.push(place);
                }
            }
            self.show_opened_tabs(&browser);
            if due.is_empty() {
                continue;
            }
            for place in &due {
                if let Some(state) = self.opened_tabs.tabs.get_mut(place) {
                    state.asked = Some(now);
                }
            }
            let mut tab_ids: Vec<_> = due.into_iter().map(|place| place.tab).collect();
            tab_ids.sort_unstable();
            self.send(&browser, ToExtension::CloseTabs { tab_ids });
        }
    }

    /// When the next tab closes.
    pub(super) fn next_closing(&self) -> Option<Timestamp> {
        let ready = self.opened_tabs.tabs.values().filter(|state| {
            self.browsers.get(&state.tab.browser).is_some_and(BrowserState::is_ready)
        });
        ready.filter_map(|state| self.next_closing_of(state)).min()
    }

    fn next_closing_of(&self, state: &ClientTabState) -> Option<Timestamp> {
        let at = self.closes_at(&state.tab, self.now())?;
        let again = state.asked.map(|asked| asked + limits::LEFTOVER_TAB_AGAIN);
        Some(again.map_or(at, |again| again.max(at)))
    }
}
