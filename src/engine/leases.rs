//! Leases of tabs: while a client holds one, no other client acts in its tab.
//!
//! A client holds the tabs that it opened, and those that were opened from them, until it has left or
//! has not used them for long. In a tab of the person it holds one only around its own commands: that
//! tab is the person's. Looking at a tab needs no lease.

mod listing;
mod opening;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use self::opening::{OpeningWish, opened_tabs};
use super::browsers::BrowserState;
use super::clients::{ClientPresence, ClientRegistry};
use super::commands::CommandRegistry;
use super::entry::JournalEntry;
use super::refusal::{CallRefusal, RefusalReason};
use super::scheduler::Scheduler;
use super::scopes::OwnerTab;
use super::{Caller, Engine, Transaction};
use crate::lifecycle::{Command, Lane, TargetSelector, limits};
use crate::protocol::actions::ActionEffect;
use crate::protocol::{Action, BrowserId, HeldTab, Owner, TabId, Timestamp, ToExtension};

/// How a client came by a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseKind {
    /// The client opened the tab, or one that it opened has opened it.
    Opened,
    /// The client acts in a tab of the person.
    Borrowed,
}

/// The right of one client to act in a tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabLease {
    /// The browser of the tab.
    pub browser: BrowserId,
    /// The tab.
    pub tab: TabId,
    /// The client that holds it.
    pub holder: Caller,
    /// How the client came by the tab.
    pub kind: LeaseKind,
    /// Whether the client lets others act in the tab, too.
    pub is_shared: bool,
    /// Since when the client holds it.
    pub since: Timestamp,
    /// When the holder last began or ended an act in it.
    pub used: Timestamp,
}

/// A tab of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TabPlace {
    pub(super) browser: BrowserId,
    pub(super) tab: TabId,
}

impl TabPlace {
    pub(super) fn of(lane: &Lane) -> Option<Self> {
        lane.tab.map(|tab| Self { browser: lane.browser.clone(), tab })
    }
}

impl TabLease {
    /// How long it stays without a use.
    const fn idle_limit(&self) -> Duration {
        match self.kind {
            LeaseKind::Opened => limits::LEASE_IDLE,
            LeaseKind::Borrowed => limits::LEASE_BORROWED,
        }
    }

    /// Whether it is over, if its holder has no command in the tab. `asker`: a client that wants to
    /// act in the tab.
    fn is_over(&self, presence: ClientPresence, asker: Option<&Caller>, now: Timestamp) -> bool {
        if now.since(self.used) >= self.idle_limit() {
            return true;
        }
        match presence {
            ClientPresence::Here => false,
            // Another program of the same owner need not wait for one that has left.
            ClientPresence::Left { .. }
                if asker.is_some_and(|asker| asker.owner == self.holder.owner) =>
            {
                true
            }
            ClientPresence::Left { since } | ClientPresence::Silent { since } => {
                now.since(since.max(self.used)) >= limits::LEASE_ABSENT
            }
        }
    }
}

/// The leases of all tabs: one a tab at most.
#[derive(Debug, Default)]
pub(super) struct TabLeases(HashMap<TabPlace, TabLease>);

impl TabLeases {
    /// The client that holds a tab.
    pub(super) fn holder(&self, place: &TabPlace) -> Option<&Caller> {
        self.0.get(place).map(|lease| &lease.holder)
    }

    fn put(&mut self, lease: TabLease) {
        let place = TabPlace { browser: lease.browser.clone(), tab: lease.tab };
        self.0.insert(place, lease);
    }

    /// The leases for which this is so.
    /// The owners of all holders.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.0.values().map(|lease| &lease.holder.owner)
    }

    fn matching(&self, is_it: impl Fn(&TabLease) -> bool) -> Vec<TabPlace> {
        let found = self.0.iter().filter(|(_, lease)| is_it(lease));
        found.map(|(place, _)| place.clone()).collect()
    }
}

/// The client that holds a tab, as `observe tabs` shows it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct TabHolder {
    /// Its name; absent for another owner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Arc<str>>,
    /// Whether the caller holds it.
    pub you: bool,
    /// Whether it opened the tab; else it acts in a tab of the person.
    pub opened: bool,
    /// Since when.
    pub since: Timestamp,
    /// Whether others may act in the tab.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl TabHolder {
    /// Its name for a caller who does not hold the tab.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        self.client.as_deref().unwrap_or("another")
    }
}

impl Engine {
    /// The client that holds a tab, as this caller may know it.
    pub(super) fn holder_of(
        &self,
        caller: &Caller,
        browser: &BrowserId,
        tab: TabId,
        now: Timestamp,
    ) -> Option<TabHolder> {
        let lease = self.leases.0.get(&TabPlace { browser: browser.clone(), tab })?;
        if self.is_lease_over(lease, None, now) {
            return None;
        }
        Some(TabHolder {
            client: self.name_of_holder(caller, lease),
            you: lease.holder == *caller,
            opened: lease.kind == LeaseKind::Opened,
            since: lease.since,
            shared: lease.is_shared,
        })
    }

    /// The name of the client that holds a tab. Another owner's programs are none of a caller's
    /// business.
    fn name_of_holder(&self, caller: &Caller, lease: &TabLease) -> Option<Arc<str>> {
        (lease.holder.owner == caller.owner).then(|| self.clients.label_of(&lease.holder.client))
    }

    /// The tabs of a browser that clients of any owner hold.
    pub(super) fn held_tabs(&self, browser: &BrowserId) -> Vec<HeldTab> {
        let of_it = self.leases.0.values().filter(|lease| lease.browser == *browser);
        let mut held: Vec<_> = of_it
            .map(|lease| HeldTab {
                tab_id: lease.tab,
                client: self.shown_caller(&lease.holder.owner, &lease.holder.client),
                opened: lease.kind == LeaseKind::Opened,
                since: lease.since,
            })
            .collect();
        held.sort_unstable_by_key(|tab| tab.tab_id);
        held
    }

    /// Whether a client other than this one holds a tab.
    pub(super) fn is_held_by_another(
        &self,
        place: &TabPlace,
        caller: &Caller,
        now: Timestamp,
    ) -> bool {
        let lease = self.leases.0.get(place).filter(|lease| lease.holder != *caller);
        lease.is_some_and(|lease| !self.is_lease_over(lease, None, now))
    }

    /// The command that waits for the answer to a dialog in this tab.
    fn holder_of_dialog(&self, place: &TabPlace) -> Option<&Command> {
        let here = self.scheduler.of_browser(&place.browser).into_iter();
        let mut waiting = here.filter_map(|id| {
            let is_here =
                self.scheduler.lane_of(&id).is_some_and(|lane| lane.tab == Some(place.tab));
            self.commands.get(&id).filter(|command| is_here && command.dialog().is_some())
        });
        waiting.next()
    }

    /// Whether a lease is over. `asker`: a client that wants to act in the tab.
    fn is_lease_over(&self, lease: &TabLease, asker: Option<&Caller>, now: Timestamp) -> bool {
        let Self { clients, scheduler, commands, .. } = self;
        !is_at_work(clients, scheduler, commands, lease)
            && lease.is_over(clients.presence(&lease.holder.client), asker, now)
    }
}

/// Whether the holder of a lease has an unfinished act in its tab.
fn is_at_work(
    clients: &ClientRegistry,
    scheduler: &Scheduler,
    commands: &CommandRegistry,
    lease: &TabLease,
) -> bool {
    clients.active(&lease.holder.client).iter().any(|id| {
        let is_there = scheduler
            .lane_of(id)
            .is_some_and(|lane| lane.tab == Some(lease.tab) && lane.browser == lease.browser);
        // One that waits for the person's word is not at work, and may wait for minutes.
        is_there
            && commands.get(id).is_some_and(|command| {
                command.hold().is_none() && acts(command.spec().work.action())
            })
    })
}

/// Whether an action changes the tab that it is for.
pub(super) fn acts(action: Option<&Action>) -> bool {
    action.is_some_and(|action| {
        !action.is_browser_wide() && !matches!(action.spec().effect, ActionEffect::Reads)
    })
}

/// Before and during commands.
impl Transaction<'_> {
    /// Whether a call may act in its tab.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::TabInUse`]: another client holds the tab.
    pub(super) fn check_lease(
        &mut self,
        caller: &Caller,
        lane: Option<&Lane>,
        action: &Action,
    ) -> Result<(), RefusalReason> {
        let Some(place) = lane.and_then(TabPlace::of).filter(|_| acts(Some(action))) else {
            return Ok(());
        };
        let now = self.now();
        if matches!(action, Action::Dialog(_))
            && let Some(command) = self.holder_of_dialog(&place)
        {
            let spec = command.spec();
            // Any client of its owner may answer, since the one that submitted it may be waiting.
            if spec.owner == caller.owner {
                return Ok(());
            }
            return Err(RefusalReason::TabInUse {
                tab: place.tab,
                holder: None,
                held: now.since(command.started_at()),
                idle_limit: limits::LEASE_BORROWED,
                kind: LeaseKind::Borrowed,
            });
        }
        self.check_holder(caller, &place)
    }

    /// Whether a client may act in a tab, as far as leases go.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::TabInUse`]: another client holds the tab.
    pub(super) fn check_holder(
        &mut self,
        caller: &Caller,
        place: &TabPlace,
    ) -> Result<(), RefusalReason> {
        let now = self.now();
        let Some(lease) = self.leases.0.get(place) else { return Ok(()) };
        if lease.is_shared || lease.holder == *caller {
            return Ok(());
        }
        if self.is_lease_over(lease, Some(caller), now) {
            self.end_lease(place);
            return Ok(());
        }
        let lease = lease.clone();
        Err(RefusalReason::TabInUse {
            tab: lease.tab,
            holder: self.name_of_holder(caller, &lease),
            held: now.since(lease.since),
            idle_limit: lease.idle_limit(),
            kind: lease.kind,
        })
    }

    /// An act of a client was accepted: it renews the client's lease of the tab, or begins one if
    /// `takes_tab` says so.
    pub(super) fn use_lease(
        &mut self,
        caller: &Caller,
        lane: Option<&Lane>,
        action: &Action,
        takes_tab: bool,
    ) {
        let Some(place) = lane.and_then(TabPlace::of).filter(|_| acts(Some(action))) else {
            return;
        };
        let now = self.now();
        self.opened_tabs.note_use(&place, now);
        self.end_page_states_of_others(caller, &place);
        match self.leases.0.get_mut(&place) {
            Some(lease) if lease.holder == *caller => lease.used = now,
            // It is shared: the one that opened it keeps it.
            Some(_) => {}
            None if takes_tab => self.begin_lease(place, caller, LeaseKind::Borrowed, false),
            None => {}
        }
    }

    /// A command has ended: its client's lease of the tab was used until now, and the tabs that it
    /// opened are leased.
    pub(super) fn follow_lease(&mut self, command: &Command) {
        let now = self.now();
        let spec = command.spec();
        let Some(action) = spec.work.action() else { return };
        let holder = Caller { owner: spec.owner.clone(), client: spec.client.clone() };
        let lane = self.scheduler.lane_of(&spec.id).cloned();
        let here = lane.as_ref().and_then(TabPlace::of);
        if let Some(place) = here.as_ref().filter(|_| acts(Some(action))) {
            self.opened_tabs.note_use(place, now);
            self.note_act_end(place, &spec.owner);
        }
        // A tab that a person has kept, or that its client keeps, leads to none that are closed.
        let wish = OpeningWish::of(action);
        let is_left_over = match &wish {
            Some(wish) => wish.is_left_over,
            None => {
                here.as_ref().is_some_and(|place| self.opened_tabs.is_opened_by(place, &holder))
            }
        };
        let own = here
            .and_then(|place| self.leases.0.get_mut(&place).filter(|lease| lease.holder == holder));
        let (mut kind, mut is_shared) = (None, false);
        if let Some(lease) = own {
            if acts(Some(action)) {
                lease.used = now;
            }
            (kind, is_shared) = (Some(lease.kind), lease.is_shared);
        }
        if let Some(wish) = wish {
            (kind, is_shared) = (Some(LeaseKind::Opened), wish.is_shared);
        }
        if let (Action::TabOpen(_), Some(Lane { browser, .. })) = (action, &lane) {
            // The extension has said so before, unless it is an old one.
            for tab in opened_tabs(command) {
                let place = TabPlace { browser: browser.clone(), tab };
                let (owner, since) = (spec.owner.clone(), command.started_at());
                let is_private = action.opens_private_tab();
                let TabPlace { browser, tab } = place;
                self.note_owned(OwnerTab { browser, tab, owner, since, is_private });
            }
        }
        // A tab that a command opened from a tab without a lease is nobody's.
        let (Some(kind), Some(Lane { browser, .. })) = (kind, lane) else { return };
        for tab in opened_tabs(command) {
            let place = TabPlace { browser: browser.clone(), tab };
            self.hold_opened(&place, &holder, kind, OpeningWish { is_shared, is_left_over });
        }
    }

    fn begin_lease(&mut self, place: TabPlace, holder: &Caller, kind: LeaseKind, is_shared: bool) {
        let TabPlace { browser, tab } = place;
        let now = self.now();
        let holder = holder.clone();
        let lease = TabLease { browser, tab, holder, kind, is_shared, since: now, used: now };
        let browser = lease.browser.clone();
        self.record(JournalEntry::Leased(lease.clone()));
        self.leases.put(lease);
        self.show_held_tabs(&browser);
    }

    fn end_lease(&mut self, place: &TabPlace) {
        if self.leases.0.remove(place).is_some() {
            self.record(JournalEntry::LeaseEnded(place.browser.clone(), place.tab));
            self.show_held_tabs(&place.browser);
        }
    }

    /// Shows the person which tabs of a browser clients hold. An extension that does not know the
    /// frame answers with a `nack`, which does no harm.
    fn show_held_tabs(&mut self, browser: &BrowserId) {
        if self.browsers.get(browser).is_some_and(BrowserState::is_ready) {
            let held = self.held_tabs(browser);
            self.send(browser, ToExtension::HeldTabs { held });
        }
    }

    /// The same for a browser that has just connected and therefore knows of none.
    pub(super) fn show_held_tabs_to_newcomer(&mut self, browser: &BrowserId) {
        if !self.held_tabs(browser).is_empty() {
            self.show_held_tabs(browser);
        }
    }

    fn end_leases(&mut self, is_it: impl Fn(&TabLease) -> bool) {
        for place in self.leases.matching(is_it) {
            self.end_lease(&place);
        }
    }
}

/// What ends leases, and what continues them.
impl Transaction<'_> {
    /// A client gives a tab back. Returns the tab, and whether the client held it. `must_name_tab`: a
    /// call that names none is refused while its client uses several tabs.
    ///
    /// # Errors
    ///
    /// There is no such tab, it could be in several browsers, or the call has to name one.
    pub fn release_tab(
        &mut self,
        caller: &Caller,
        selector: &TargetSelector,
        must_name_tab: bool,
    ) -> Result<(TabId, bool), CallRefusal> {
        let (browser, tab) = self.find_tab(caller, selector, must_name_tab)?;
        let place = TabPlace { browser, tab: tab.tab_id };
        let is_own = self.leases.0.get(&place).is_some_and(|lease| lease.holder == *caller);
        if is_own {
            self.end_lease(&place);
        }
        self.end_page_states_of(&place, &caller.client);
        Ok((place.tab, is_own))
    }

    /// The person at a browser takes a tab back from the client that holds it.
    pub(super) fn take_tab_back(&mut self, browser: &BrowserId, tab: TabId) {
        let place = TabPlace { browser: browser.clone(), tab };
        self.end_lease(&place);
        self.end_page_states_in(&place);
        self.keep_tab(browser, tab);
        self.take_owned_tab_back(&place);
    }

    /// The same away from the browser. `false`: no client holds the tab.
    pub fn take_held_tab(&mut self, browser: &BrowserId, tab: TabId) -> bool {
        let place = TabPlace { browser: browser.clone(), tab };
        let is_held = self.leases.0.contains_key(&place);
        if is_held {
            self.take_tab_back(browser, tab);
        }
        is_held
    }

    /// The person uses a tab: one that a client opened is theirs from now on, and in one of their own
    /// no client keeps others from acting.
    pub(super) fn give_way_to_person(&mut self, browser: &BrowserId, tab: TabId) {
        let place = TabPlace { browser: browser.clone(), tab };
        let lease = self.leases.0.get(&place);
        if lease.is_some_and(|lease| lease.kind == LeaseKind::Borrowed) {
            self.end_lease(&place);
        }
        self.keep_tab(browser, tab);
    }

    /// The lease of a tab goes on under its new id.
    pub(super) fn rename_leased_tab(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        let place = TabPlace { browser: browser.clone(), tab: former };
        let Some(lease) = self.leases.0.get(&place).cloned() else { return };
        self.end_lease(&place);
        let lease = TabLease { tab: now, ..lease };
        self.record(JournalEntry::Leased(lease.clone()));
        self.leases.put(lease);
        self.show_held_tabs(browser);
    }

    /// Ends the leases of tabs that a connected browser no longer has.
    pub(super) fn forget_closed_leases(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser).filter(|known| known.is_connected()) else {
            return;
        };
        let open: Vec<_> = known.tabs().iter().map(|tab| tab.tab_id).collect();
        self.end_leases(|lease| lease.browser == *browser && !open.contains(&lease.tab));
    }

    /// Ends the leases of a browser's former run but those of these tabs.
    pub(super) fn forget_leases_but(&mut self, browser: &BrowserId, kept: &HashSet<TabId>) {
        self.end_leases(|lease| lease.browser == *browser && !kept.contains(&lease.tab));
    }

    /// Ends the leases of tabs that are outside the scopes of their holders' owners.
    pub(super) fn end_leases_outside(&mut self) {
        let is_outside = |lease: &TabLease| {
            self.inside_since(&lease.holder.owner, &lease.browser, lease.tab).is_none()
        };
        for place in self.leases.matching(is_outside) {
            self.end_lease(&place);
        }
    }

    /// An owner was removed, which ends its leases.
    pub(super) fn end_leases_of(&mut self, owner: &Owner) {
        self.end_leases(|lease| lease.holder.owner == *owner);
    }

    /// Ends the leases that time has ended.
    pub(super) fn sweep_leases(&mut self) {
        let now = self.now();
        let over = self.leases.matching(|lease| self.is_lease_over(lease, None, now));
        for place in over {
            // The tab of the person is only held around acts: there the states end with the client.
            let opened = self.leases.0.get(&place).filter(|lease| lease.kind == LeaseKind::Opened);
            let holder = opened.map(|lease| lease.holder.client.clone());
            self.end_lease(&place);
            if let Some(holder) = holder {
                self.end_page_states_of(&place, &holder);
            }
        }
    }

    /// Continues a lease of an earlier run of the daemon. Nobody could use a tab while the daemon was
    /// away, so its times begin anew.
    pub(super) fn recover_lease(&mut self, lease: TabLease) {
        let used = self.now();
        self.leases.put(TabLease { used, since: lease.since.min(used), ..lease });
    }
}
