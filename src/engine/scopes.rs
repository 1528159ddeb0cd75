//! Which tabs an owner's clients see: [`Engine::inside_since`] is the one rule, and all lists, choices
//! and deliveries ask it.
//!
//! A tab is an owner's own from the moment in which the extension says that a command of the owner
//! has opened it, or that a page of such a tab has opened it during an act of the owner there or
//! shortly after. It stays that until it is closed or the person takes it back. Which tabs the person
//! shares, the extension says: they are shared with each owner who sees those.

use std::collections::{HashMap, HashSet};

use super::browsers::BrowserState;
use super::entry::JournalEntry;
use super::leases::{TabPlace, acts};
use super::targets::TabSight;
use super::{Engine, Transaction};
use crate::lifecycle::{Command, CommandPhase, CommandSpec, LifecycleEvent, Peer, limits};
use crate::protocol::{
    Action, BrowserId, BrowserTab, ClientId, CorrelationId, Owner, OwnerScopes, TabId, TabScope,
    Timestamp, WorkKind,
};
use crate::seeded_bug;
use crate::streams::TabsInside;

/// A tab that the clients of an owner opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerTab {
    /// The browser of the tab.
    pub browser: BrowserId,
    /// The tab.
    pub tab: TabId,
    /// The owner.
    pub owner: Owner,
    /// Since when it is the owner's.
    pub since: Timestamp,
    /// Whether it is in a private window: then it is nobody else's, whichever tabs they see.
    pub is_private: bool,
}

/// An owner's tab, and whether its browser has listed it.
#[derive(Debug)]
struct OwnerTabState {
    tab: OwnerTab,
    /// A list of tabs that was made before the tab was opened must not end what it is.
    is_listed: bool,
}

/// The scopes of owners, and the tabs that their clients opened.
#[derive(Debug, Default)]
pub(super) struct OwnerTabs {
    scopes: OwnerScopes,
    /// The owners whose programs are on another machine.
    far: HashSet<Owner>,
    tabs: HashMap<TabPlace, OwnerTabState>,
    /// The tabs that the person shares, each since when.
    shared: HashMap<TabPlace, Timestamp>,
    /// When an act of an owner last ended in a tab that is inside its scope.
    acts: HashMap<(TabPlace, Owner), Timestamp>,
}

impl OwnerTabs {
    /// The scope of an owner.
    pub(super) fn scope_of(&self, owner: &Owner) -> TabScope {
        if self.is_far(owner) && !seeded_bug::is_on("far-owners-see-every-tab") {
            self.scopes.of_far(owner)
        } else {
            self.scopes.of(owner)
        }
    }

    /// The owners who do not see every tab.
    fn bounded(&self) -> HashSet<&Owner> {
        let chosen = self.scopes.chosen().map(|(owner, _)| owner).chain(&self.far);
        chosen.filter(|owner| self.scope_of(owner).is_bounded()).collect()
    }

    /// Whether the programs of an owner are on another machine.
    pub(super) fn is_far(&self, owner: &Owner) -> bool {
        self.far.contains(owner)
    }

    /// Sets the owners whose programs are on another machine.
    pub(super) fn set_far(&mut self, far: HashSet<Owner>) {
        self.far = far;
    }

    /// Since when a tab is inside the scope of an owner; `None`: it is outside.
    pub(super) fn inside_since(&self, owner: &Owner, place: &TabPlace) -> Option<Timestamp> {
        if self.is_private(place) {
            return self.owned_since(owner, place);
        }
        if seeded_bug::is_on("unbounded-scopes") {
            return Some(Timestamp::from_unix_micros(0));
        }
        match self.scope_of(owner) {
            TabScope::All => Some(Timestamp::from_unix_micros(0)),
            TabScope::Own => self.owned_since(owner, place),
            TabScope::Shared => {
                self.owned_since(owner, place).or_else(|| self.shared.get(place).copied())
            }
        }
    }

    fn owned_since(&self, owner: &Owner, place: &TabPlace) -> Option<Timestamp> {
        let state = self.tabs.get(place).filter(|state| state.tab.owner == *owner)?;
        Some(state.tab.since)
    }

    /// The tabs that are inside the scope of an owner who does not see every tab.
    pub(super) fn inside(&self, owner: &Owner) -> impl Iterator<Item = (&TabPlace, Timestamp)> {
        let shared = self.shared.keys().filter(|place| !self.tabs.contains_key(*place));
        let known = self.tabs.keys().chain(shared);
        known.filter_map(move |place| Some((place, self.inside_since(owner, place)?)))
    }

    /// Whether an owner's clients opened a tab in a private window.
    pub(super) fn is_private(&self, place: &TabPlace) -> bool {
        self.tabs.get(place).is_some_and(|state| state.tab.is_private)
    }

    /// Whether an owner has private tabs in a browser.
    fn has_private(&self, owner: &Owner, browser: &BrowserId) -> bool {
        let mut states = self.tabs.values().map(|state| &state.tab);
        states.any(|tab| tab.is_private && tab.owner == *owner && tab.browser == *browser)
    }

    /// Whether the person shares a tab.
    pub(super) fn is_shared(&self, place: &TabPlace) -> bool {
        self.shared.contains_key(place)
    }

    /// The owners who have tabs of their own.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.tabs.values().map(|state| &state.tab.owner)
    }

    fn places_of(&self, browser: &BrowserId) -> Vec<TabPlace> {
        self.tabs.keys().filter(|place| place.browser == *browser).cloned().collect()
    }
}

/// The hint of a result that its owner may not read any more.
const OUTSIDE_NOW: &str = "Result dropped: its program sees fewer tabs now (never retrieved)";

/// The rule.
impl Engine {
    /// The clients of owners who do not see every tab.
    fn bounded_clients(&self) -> Vec<ClientId> {
        let owners = self.owner_tabs.bounded().into_iter();
        let clients = owners.flat_map(|owner| self.clients.of(owner));
        clients.map(|(client, _)| client.clone()).collect()
    }

    /// The scope of an owner.
    #[must_use]
    pub fn scope_of(&self, owner: &Owner) -> TabScope {
        self.owner_tabs.scope_of(owner)
    }

    /// Since when a tab is inside the scope of an owner; `None`: it is outside.
    #[must_use]
    pub fn inside_since(
        &self,
        owner: &Owner,
        browser: &BrowserId,
        tab: TabId,
    ) -> Option<Timestamp> {
        self.owner_tabs.inside_since(owner, &TabPlace { browser: browser.clone(), tab })
    }

    /// Whether the clients of an owner opened a tab, whichever tabs they see.
    #[must_use]
    pub fn is_own(&self, owner: &Owner, browser: &BrowserId, tab: TabId) -> bool {
        let place = TabPlace { browser: browser.clone(), tab };
        self.owner_tabs.owned_since(owner, &place).is_some()
    }

    /// Whether the person shares a tab with the owners who see such tabs.
    #[must_use]
    pub fn is_shared(&self, browser: &BrowserId, tab: TabId) -> bool {
        self.owner_tabs.is_shared(&TabPlace { browser: browser.clone(), tab })
    }

    /// The browsers with the tabs that an owner's clients see.
    pub(super) fn sight<'a>(&'a self, owner: &'a Owner) -> TabSight<'a> {
        TabSight { browsers: &self.browsers, tabs: &self.owner_tabs, owner }
    }

    /// The tabs of connected browsers that an owner's clients see.
    pub(super) fn tabs_of(&self, owner: &Owner) -> impl Iterator<Item = (&BrowserId, &BrowserTab)> {
        let is_inside = move |(browser, tab): &(&BrowserId, &BrowserTab)| {
            self.inside_since(owner, browser, tab.tab_id).is_some()
        };
        self.tabs().filter(is_inside)
    }

    /// The tabs whose recorded entries an owner's clients may read; `None`: those of all tabs.
    #[must_use]
    pub fn readable_tabs(&self, owner: &Owner) -> Option<TabsInside> {
        if !self.scope_of(owner).is_bounded() {
            return None;
        }
        let inside = self.owner_tabs.inside(owner);
        let inside = inside.map(|(place, since)| ((place.browser.clone(), place.tab), since));
        Some(TabsInside::new(inside.collect(), self.told_sites(owner)))
    }

    /// The tabs that the extension lets a command see and use; `None`: all.
    pub(super) fn tabs_for(&self, command: &Command, browser: &BrowserId) -> Option<Vec<TabId>> {
        let owner = &command.spec().owner;
        if !self.scope_of(owner).is_bounded() {
            return None;
        }
        let inside = self.owner_tabs.inside(owner).filter(|(place, _)| place.browser == *browser);
        let mut inside: Vec<_> = inside.map(|(place, _)| place.tab).collect();
        inside.sort_unstable();
        Some(inside)
    }

    /// Whether a tab is one that an owner's clients opened in a private window.
    pub(super) fn is_private_tab(&self, browser: &BrowserId, tab: TabId) -> bool {
        self.owner_tabs.is_private(&TabPlace { browser: browser.clone(), tab })
    }

    /// The owner of a command whose extension lets it see the owner's private tabs, and open them.
    pub(super) fn private_owner_for(
        &self,
        command: &Command,
        browser: &BrowserId,
    ) -> Option<Owner> {
        let CommandSpec { owner, is_private, .. } = command.spec();
        let sees_private = *is_private || self.owner_tabs.has_private(owner, browser);
        sees_private.then(|| owner.clone())
    }

    /// Drops private tabs that no owner's client is known to have opened: they are the person's.
    pub(super) fn drop_private_of_nobody(&self, browser: &BrowserId, tabs: &mut Vec<BrowserTab>) {
        tabs.retain(|tab| {
            let mut ids = tab.former_ids.iter().chain([&tab.tab_id]);
            !tab.private || ids.any(|id| self.is_private_tab(browser, *id))
        });
    }

    /// Whether a command is for a tab that is outside the scope of its owner.
    fn is_outside(&self, id: &CorrelationId, command: &Command) -> bool {
        let tab = self.scheduler.lane_of(id).and_then(|lane| Some((&lane.browser, lane.tab?)));
        tab.is_some_and(|(browser, tab)| {
            self.inside_since(&command.spec().owner, browser, tab).is_none()
        })
    }

    /// Whether a command may go to this extension, as far as the scope of its owner goes.
    pub(super) fn is_in_scope(&self, peer: &Peer, command: &Command) -> bool {
        let spec = command.spec();
        let keeps = self.browsers.get(&peer.browser).is_some_and(BrowserState::keeps_scopes);
        let is_bounded = self.scope_of(&spec.owner).is_bounded();
        let has_tab = self.scheduler.lane_of(&spec.id).is_some_and(|lane| lane.tab.is_some());
        // Without a tab the extension would take the one that the person sees.
        let is_placed = has_tab || spec.work.action().is_some_and(Action::is_browser_wide);
        let opens_private = spec.work.action().is_some_and(Action::opens_private_tab);
        let keeps_private =
            self.browsers.get(&peer.browser).is_some_and(BrowserState::keeps_private_tabs);
        let keeps_words =
            self.browsers.get(&peer.browser).is_some_and(BrowserState::keeps_far_words);
        (!is_bounded || keeps && is_placed)
            && (!self.is_far(&spec.owner) || keeps_words)
            && (!opens_private || keeps_private)
            && !self.is_outside(&spec.id, command)
    }
}

/// How scopes change.
impl Transaction<'_> {
    /// Sets the scopes of owners. Of an owner who sees fewer tabs now, commands from before are
    /// stopped, and nobody can read them: they can tell of any tab.
    pub fn set_scopes(&mut self, scopes: OwnerScopes) {
        if self.owner_tabs.scopes == scopes {
            return;
        }
        let before = self.captures();
        self.owner_tabs.scopes = scopes;
        self.forget_wider();
        self.stop_outside();
        self.end_leases_outside();
        self.tell_captures(before);
    }

    /// Drops the commands that were accepted while their owner saw more tabs than now.
    fn forget_wider(&mut self) {
        let is_told = |command: &Command| {
            let spec = command.spec();
            spec.work.kind() != WorkKind::Job && spec.scope > self.scope_of(&spec.owner)
        };
        let told = self.commands.all().filter(|command| is_told(command));
        let told: Vec<_> = told.map(|command| command.spec().id.clone()).collect();
        for id in told {
            self.apply(&id, LifecycleEvent::Stop);
            self.forget(&id, OUTSIDE_NOW);
        }
        // Refused calls have lists of tabs, and failures the addresses of pages.
        for client in self.bounded_clients() {
            let Engine { retention, commands, .. } = &mut **self;
            retention.forget_failures(&client, |id| commands.get(id).is_some());
        }
    }

    /// Stops the commands that are for tabs outside the scopes of their owners.
    fn stop_outside(&mut self) {
        let browsers: Vec<_> = self.browsers.keys().cloned().collect();
        for browser in browsers {
            for id in self.scheduler.of_browser(&browser) {
                let is_outside =
                    self.commands.get(&id).is_some_and(|command| self.is_outside(&id, command));
                if is_outside {
                    self.apply(&id, LifecycleEvent::Stop);
                }
            }
        }
    }
}

/// How tabs become an owner's, and stop being that.
impl Transaction<'_> {
    /// A command has opened a tab, as the extension that has the command says.
    pub(super) fn note_tab_of_command(
        &mut self,
        browser: &BrowserId,
        id: &CorrelationId,
        tab: TabId,
        is_private: bool,
    ) {
        let Some(command) = self.commands.get(id) else { return };
        let has_it = command.delivery().is_some_and(|delivery| delivery.peer.browser == *browser);
        let (owner, since) = (command.spec().owner.clone(), command.started_at());
        if has_it && command.phase() == CommandPhase::Started {
            self.note_owned(OwnerTab { browser: browser.clone(), tab, owner, since, is_private });
            self.hold_tab_of_command(&TabPlace { browser: browser.clone(), tab }, id);
        }
    }

    /// The page of one tab has opened another one, as the browser says.
    pub(super) fn note_created(&mut self, browser: &BrowserId, source: TabId, tab: TabId) {
        let source = TabPlace { browser: browser.clone(), tab: source };
        let acting = self.owners_at(&source).into_iter().find(|owner| self.acts_in(&source, owner));
        if let Some(owner) = acting {
            let (since, is_private) = (self.now(), self.owner_tabs.is_private(&source));
            let place = TabPlace { browser: browser.clone(), tab };
            let browser = browser.clone();
            self.note_owned(OwnerTab { browser, tab, owner: owner.clone(), since, is_private });
            self.hold_tab_of_page(&source, &owner, &place);
        }
    }

    /// Whose own a tab is, or else the owners with whom the person shares it.
    fn owners_at(&self, place: &TabPlace) -> Vec<Owner> {
        match self.owner_tabs.tabs.get(place) {
            Some(state) => vec![state.tab.owner.clone()],
            None if self.owner_tabs.is_shared(place) => {
                let chosen = self.owner_tabs.scopes.chosen().map(|(owner, _)| owner);
                let sharing = chosen.filter(|of| self.scope_of(of) == TabScope::Shared);
                sharing.cloned().collect()
            }
            None => Vec::new(),
        }
    }

    /// Whether an act of an owner runs in a tab, or has ended shortly before.
    fn acts_in(&self, place: &TabPlace, owner: &Owner) -> bool {
        let is_act = |id: &CorrelationId| {
            let is_here =
                self.scheduler.lane_of(id).is_some_and(|lane| lane.tab == Some(place.tab));
            is_here
                && self.commands.get(id).is_some_and(|command| {
                    let spec = command.spec();
                    command.phase() == CommandPhase::Started
                        && spec.owner == *owner
                        && acts(spec.work.action())
                })
        };
        let ended = self.owner_tabs.acts.get(&(place.clone(), owner.clone()));
        ended.is_some_and(|at| self.now().since(*at) < limits::OPENED_AFTER_ACT)
            || self.scheduler.of_browser(&place.browser).iter().any(is_act)
    }

    /// An act of an owner has ended in a tab.
    pub(super) fn note_act_end(&mut self, place: &TabPlace, owner: &Owner) {
        let now = self.now();
        if self.owners_at(place).contains(owner) {
            self.owner_tabs.acts.insert((place.clone(), owner.clone()), now);
        }
    }

    /// A tab is an owner's, if it is nobody's yet.
    pub(super) fn note_owned(&mut self, tab: OwnerTab) {
        let place = TabPlace { browser: tab.browser.clone(), tab: tab.tab };
        if self.owner_tabs.tabs.contains_key(&place) {
            return;
        }
        let is_listed = self.browsers.get(&place.browser).is_some_and(|it| it.has_tab(place.tab));
        let browser = place.browser.clone();
        let before = self.capture_of(&browser);
        self.record(JournalEntry::TabOwned(tab.clone()));
        self.owner_tabs.tabs.insert(place, OwnerTabState { tab, is_listed });
        self.tell_capture(&browser, &before);
    }

    /// The person shares these tabs of a browser, and no others of it.
    pub(super) fn set_shared_tabs(&mut self, browser: &BrowserId, tabs: &[TabId]) {
        let before = self.capture_of(browser);
        let now = self.now();
        let shared = &mut self.owner_tabs.shared;
        shared.retain(|place, _| place.browser != *browser || tabs.contains(&place.tab));
        for tab in tabs {
            shared.entry(TabPlace { browser: browser.clone(), tab: *tab }).or_insert(now);
        }
        let OwnerTabs { shared, tabs, acts, .. } = &mut self.owner_tabs;
        acts.retain(|(place, _), _| shared.contains_key(place) || tabs.contains_key(place));
        self.stop_outside();
        self.end_leases_outside();
        self.tell_capture(browser, &before);
    }

    fn disown(&mut self, place: &TabPlace) {
        let before = self.capture_of(&place.browser);
        if self.owner_tabs.tabs.remove(place).is_none() {
            return;
        }
        self.owner_tabs.acts.retain(|(of, _), _| of != place);
        self.record(JournalEntry::OwnedTabGone(place.browser.clone(), place.tab));
        self.tell_capture(&place.browser, &before);
    }

    /// An owner was removed: its tabs are no owner's any more.
    pub(super) fn disown_all_of(&mut self, owner: &Owner) {
        let own = self.owner_tabs.tabs.iter().filter(|(_, state)| state.tab.owner == *owner);
        let mut own: Vec<_> = own.map(|(place, _)| place.clone()).collect();
        own.sort_unstable_by(|one, other| {
            (&one.browser, one.tab).cmp(&(&other.browser, other.tab))
        });
        for place in own {
            self.disown(&place);
        }
        self.owner_tabs.acts.retain(|(_, of), _| of != owner);
    }

    /// The person takes a tab back: it is no owner's any more.
    pub(super) fn take_owned_tab_back(&mut self, place: &TabPlace) {
        self.disown(place);
        self.stop_outside();
    }

    /// The tab is the owner's under its new id.
    pub(super) fn rename_owned_tab(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        let place = TabPlace { browser: browser.clone(), tab: former };
        let Some(state) = self.owner_tabs.tabs.get(&place) else { return };
        let renamed = OwnerTab { tab: now, ..state.tab.clone() };
        self.disown(&place);
        self.note_owned(renamed);
    }

    /// Forgets the tabs that a connected browser no longer has.
    pub(super) fn forget_closed_owned_tabs(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser).filter(|known| known.is_connected()) else {
            return;
        };
        let open: HashSet<_> = known.tabs().iter().map(|tab| tab.tab_id).collect();
        for place in self.owner_tabs.places_of(browser) {
            let Some(state) = self.owner_tabs.tabs.get_mut(&place) else { continue };
            if open.contains(&place.tab) {
                state.is_listed = true;
            } else if state.is_listed {
                self.disown(&place);
            }
        }
    }

    /// A browser was started anew: its tabs are others now, but these.
    pub(super) fn forget_owned_tabs_but(&mut self, browser: &BrowserId, kept: &HashSet<TabId>) {
        self.set_shared_tabs(browser, &[]);
        for place in self.owner_tabs.places_of(browser) {
            if !kept.contains(&place.tab) {
                self.disown(&place);
            }
        }
    }

    /// Continues from the journal. The recorded entries of streams went with the last run.
    pub(super) fn recover_owned_tab(&mut self, tab: OwnerTab) {
        let since = self.now();
        let place = TabPlace { browser: tab.browser.clone(), tab: tab.tab };
        let tab = OwnerTab { since, ..tab };
        self.owner_tabs.tabs.insert(place, OwnerTabState { tab, is_listed: true });
    }
}
