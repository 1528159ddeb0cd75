//! The browser and the tab of a command. They are chosen once: when the command is submitted, or, if no
//! browser is connected then, when one connects.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::browser_names::BrowserNames;
use super::browsers::BrowserState;
use super::clients::CurrentTab;
use super::entry::JournalEntry;
use super::leases::TabPlace;
use super::polling::is_poller;
use super::refusal::{BrowserChoice, CallRefusal, RefusalReason};
use super::scopes::OwnerTabs;
use super::{Caller, Transaction};
use crate::lifecycle::{
    Command, CommandOutcome, CommandState, Lane, LifecycleEvent, TargetSelector,
};
use crate::protocol::{Action, BrowserId, BrowserTab, CorrelationId, Owner, ReadyFrame, TabId};

/// The browsers, with the tabs in them that an owner's clients see.
#[derive(Clone, Copy)]
pub(super) struct TabSight<'a> {
    pub(super) browsers: &'a HashMap<BrowserId, BrowserState>,
    pub(super) tabs: &'a OwnerTabs,
    pub(super) owner: &'a Owner,
}

impl<'a> TabSight<'a> {
    fn is_bounded(&self) -> bool {
        self.tabs.scope_of(self.owner).is_bounded()
    }

    /// Whether a tab is inside, by its id now. It need not be open.
    pub(super) fn sees(&self, browser: &BrowserId, tab: TabId) -> bool {
        let place = TabPlace { browser: browser.clone(), tab };
        self.tabs.inside_since(self.owner, &place).is_some()
    }

    /// Whether a browser has this tab, and it is inside.
    pub(super) fn has_tab(&self, (id, browser): BrowserRef<'_>, tab: TabId) -> bool {
        browser.has_tab(tab) && self.sees(id, browser.id_now(tab))
    }

    /// The tabs of a browser that are inside.
    pub(super) fn tabs(&self, (id, browser): BrowserRef<'a>) -> Vec<BrowserTab> {
        let inside = browser.tabs().iter().filter(|tab| self.sees(id, tab.tab_id));
        inside.cloned().collect()
    }

    /// The current tab of a client in this browser, if it is inside.
    fn current_in(
        &self,
        current: Option<&CurrentTab>,
        (id, browser): BrowserRef<'_>,
    ) -> Option<TabId> {
        // The number of a tab in another browser means nothing here.
        let tab = current.filter(|current| current.browser == *id)?.tab?;
        self.sees(id, browser.id_now(tab)).then_some(tab)
    }

    /// The tab for a call that names none and whose client has none: the active one. A client that does
    /// not see every tab must not reach that of the person.
    fn usual_tab(&self, (id, browser): BrowserRef<'_>) -> Result<Option<TabId>, RefusalReason> {
        if self.is_bounded() {
            return Err(RefusalReason::NoTab { browser: Some(label_of(id, browser)) });
        }
        Ok(browser.active_tab())
    }
}

fn label_of(id: &BrowserId, browser: &BrowserState) -> String {
    let label = browser.label();
    if label.is_empty() { id.as_str().to_owned() } else { label.to_owned() }
}

/// The lane for an action. `Ok(None)`: no browser is connected, so the command waits for one.
pub(super) fn resolve(
    sight: &TabSight<'_>,
    current: Option<&CurrentTab>,
    selector: &TargetSelector,
    action: &Action,
) -> Result<Option<Lane>, RefusalReason> {
    let Some((id, browser)) = choose_browser(sight, current, selector)? else {
        return without_browser(sight, selector, action);
    };
    // The extension of a browser that is away may come back in another version.
    if browser.is_connected() && !browser.supports(action) {
        let extension_version = browser.extension_version().to_owned();
        let polls = browser.poller().is_some();
        return Err(RefusalReason::UnsupportedAction {
            action: action.name(),
            browser: label_of(id, browser),
            extension_version,
            polls,
        });
    }
    if action.opens_private_tab() && browser.is_connected() && !browser.keeps_private_tabs() {
        return Err(no_private_tabs(label_of(id, browser), browser));
    }
    if sight.is_bounded() && browser.is_connected() && !browser.keeps_scopes() {
        return Err(RefusalReason::ScopeNotKept { browser: label_of(id, browser) });
    }
    if sight.tabs.is_far(sight.owner) && browser.is_connected() && !browser.keeps_far_words() {
        return Err(RefusalReason::FarWordsNotKept { browser: label_of(id, browser) });
    }
    if let Some(poller) = browser.poller() {
        if poller.is_switched_off() {
            return Err(RefusalReason::ControlSwitchedOff { browser: browser.label().to_owned() });
        }
        // It would act in the tab that it follows, which may be another one.
        if let Some(wanted) = selector.tab {
            return Err(RefusalReason::NoChoiceOfTab {
                wanted,
                browser: browser.label().to_owned(),
            });
        }
        // Such an extension runs one command after another, in the tab that it follows, so the whole
        // browser is one lane.
        return Ok(Some(Lane { browser: id.clone(), tab: None }));
    }
    if action.is_browser_wide() {
        return Ok(Some(Lane { browser: id.clone(), tab: None }));
    }
    let wanted = selector.tab.or_else(|| sight.current_in(current, (id, browser)));
    let tab = match wanted {
        Some(wanted) => {
            let now = browser.id_now(wanted);
            // A closed tab never comes back; a browser that is away may still have it (decision 12).
            let is_gone = browser.is_connected() && !browser.has_tab(wanted);
            if is_gone || !sight.sees(id, now) {
                return Err(no_such_tab(sight, (id, browser), Some(wanted)));
            }
            Some(now)
        }
        None => sight.usual_tab((id, browser))?,
    };
    Ok(Some(Lane { browser: id.clone(), tab }))
}

/// The refusal of a browser whose extension would not keep a private tab to its owner.
pub(super) fn no_private_tabs(label: String, browser: &BrowserState) -> RefusalReason {
    RefusalReason::UnsupportedAction {
        action: "tab_open with private",
        browser: label,
        extension_version: browser.extension_version().to_owned(),
        polls: browser.poller().is_some(),
    }
}

/// The lane of an action while no browser is connected. A tab that will be there then is not inside.
fn without_browser(
    sight: &TabSight<'_>,
    selector: &TargetSelector,
    action: &Action,
) -> Result<Option<Lane>, RefusalReason> {
    if !sight.is_bounded() || action.is_browser_wide() {
        return Ok(None);
    }
    Err(selector.tab.map_or(RefusalReason::NoTab { browser: None }, |wanted| {
        RefusalReason::TabGone { wanted, browser: None, tabs: Vec::new() }
    }))
}

/// The named tab, else the current one, else the active one.
pub(super) fn find_tab(
    sight: &TabSight<'_>,
    current: Option<&CurrentTab>,
    selector: &TargetSelector,
) -> Result<(BrowserId, BrowserTab), RefusalReason> {
    let Some((id, browser)) = choose_browser(sight, current, selector)? else {
        return Err(gone(sight.browsers, "any"));
    };
    let wanted = selector.tab.or_else(|| sight.current_in(current, (id, browser)));
    let wanted = match wanted {
        Some(wanted) => Some(wanted),
        None => sight.usual_tab((id, browser))?,
    };
    let now = wanted.map(|wanted| browser.id_now(wanted));
    let tab = browser.tabs().iter().find(|tab| Some(tab.tab_id) == now);
    let tab = tab.filter(|tab| sight.sees(id, tab.tab_id));
    tab.map(|tab| (id.clone(), tab.clone()))
        .ok_or_else(|| no_such_tab(sight, (id, browser), wanted))
}

/// The refusal for a tab that a browser does not have, or for a browser without any tab.
pub(super) fn no_such_tab(
    sight: &TabSight<'_>,
    (id, browser): BrowserRef<'_>,
    wanted: Option<TabId>,
) -> RefusalReason {
    match wanted {
        Some(wanted) if browser.poller().is_none() => {
            let label = Some(label_of(id, browser));
            RefusalReason::TabGone { wanted, browser: label, tabs: sight.tabs((id, browser)) }
        }
        Some(_) | None => {
            let polls = browser.poller().is_some();
            RefusalReason::NoTabKnown { browser: browser.label().to_owned(), polls }
        }
    }
}

pub(super) type BrowserRef<'a> = (&'a BrowserId, &'a BrowserState);

/// The named browser; else the client's current one; else the only one that is connected. A browser
/// whose extension only polls counts only while no other is connected, because that extension has
/// proved nothing.
pub(super) fn choose_browser<'a>(
    sight: &TabSight<'a>,
    current: Option<&CurrentTab>,
    selector: &TargetSelector,
) -> Result<Option<BrowserRef<'a>>, RefusalReason> {
    let browsers = sight.browsers;
    if let Some(wanted) = &selector.browser {
        return named(browsers, wanted).map(Some);
    }
    let connected = |polls| {
        let those = browsers.iter().filter(|(_, browser)| browser.is_connected());
        those.filter(move |(id, _)| is_poller(id) == polls).collect::<Vec<_>>()
    };
    let proven = connected(false);
    // A client that used an extension without proof leaves it once a proven browser is there.
    if let Some(current) = current
        && (proven.is_empty() || !is_poller(&current.browser))
    {
        // Never another browser instead: the call would act on pages that its agent has not seen.
        return match browsers.get_key_value(&current.browser) {
            Some(known) => Ok(Some(known)),
            None => Err(gone(browsers, current.browser.as_str())),
        };
    }
    let candidates = if proven.is_empty() { connected(true) } else { proven };
    match (candidates.as_slice(), selector.tab) {
        ([], None) => Ok(None),
        // The tab of a disconnected browser: in any other browser the number means another tab.
        ([], Some(tab)) => Ok(only_one_with(sight, tab, browsers.iter())),
        // Even without the wanted tab: the refusal then lists the tabs that it has.
        ([only], _) => Ok(Some(*only)),
        (several, Some(tab)) => only_one_with(sight, tab, several.iter().copied())
            .map(Some)
            .ok_or_else(|| RefusalReason::AmbiguousBrowser { browsers: choices(browsers) }),
        (_, None) => Err(RefusalReason::AmbiguousBrowser { browsers: choices(browsers) }),
    }
}

/// The browser with this tab, unless several browsers have a tab of this number.
fn only_one_with<'a>(
    sight: &TabSight<'_>,
    tab: TabId,
    browsers: impl Iterator<Item = BrowserRef<'a>>,
) -> Option<BrowserRef<'a>> {
    let mut with_tab = browsers.filter(|known| sight.has_tab(*known, tab));
    with_tab.next().filter(|_| with_tab.next().is_none())
}

fn named<'a>(
    browsers: &'a HashMap<BrowserId, BrowserState>,
    wanted: &str,
) -> Result<BrowserRef<'a>, RefusalReason> {
    // Ids before labels: an extension chooses its label, and must not get another browser's
    // commands by it.
    if let Some(known) = browsers.iter().find(|(id, _)| id.as_str() == wanted) {
        return Ok(known);
    }
    let labelled = browsers.iter().find(|(_, browser)| browser.label() == wanted);
    labelled.ok_or_else(|| gone(browsers, wanted))
}

/// The label of a browser: the name that the person has given it, else what it calls itself, `own`. If
/// another browser has that label or name, the first free number from 2 on is added. The browser keeps
/// its label while it is known and has no name.
pub(super) fn label_for(
    browsers: &HashMap<BrowserId, BrowserState>,
    names: &BrowserNames,
    id: &BrowserId,
    own: &str,
) -> String {
    if let Some(name) = names.of(id) {
        return name.as_str().to_owned();
    }
    // Once for all numbers: of thousands of browsers most call themselves the same.
    let others = browsers.iter().filter(|(by, _)| *by != id).map(|(_, browser)| browser.label());
    let taken: HashSet<&str> = others.chain(names.all()).collect();
    let is_taken = |label: &String| taken.contains(label.as_str());
    let begins_with_own = |label: &str| label.starts_with(own);
    let known = browsers.get(id).filter(|b| b.own_label() == own && !b.label().is_empty());
    if let Some(known) = known.map(|known| known.label().to_owned())
        // The label of a browser whose name was taken away is that name.
        && begins_with_own(&known)
        && !is_taken(&known)
    {
        return known;
    }
    let numbered = (2_u64..).map(|number| format!("{own} {number}"));
    let mut labels = std::iter::once(own.to_owned()).chain(numbered);
    labels.find(|label| !is_taken(label)).unwrap_or_default()
}

pub(super) fn gone(browsers: &HashMap<BrowserId, BrowserState>, wanted: &str) -> RefusalReason {
    let browsers = choices(browsers);
    RefusalReason::BrowserGone { wanted: wanted.to_owned(), browsers, absence: None }
}

fn choices(browsers: &HashMap<BrowserId, BrowserState>) -> Vec<BrowserChoice> {
    let connected = browsers.iter().filter(|(_, browser)| browser.is_connected());
    let mut choices: Vec<_> = connected
        .map(|(id, browser)| BrowserChoice {
            browser: id.clone(),
            label: browser.label().to_owned(),
        })
        .collect();
    choices.sort_unstable_by(|a, b| (&a.label, &a.browser).cmp(&(&b.label, &b.browser)));
    choices
}

/// If a browser has restarted, the tabs that survived. `None`: it has not restarted.
///
/// After a restart of the browser the old tab numbers mean nothing, even if they occur again. A
/// reloaded extension names a new session too, although the tabs stay: a tab with the same number,
/// window and URL counts as the same. For an extension that names no session only the tabs count.
pub(super) fn kept_by_new_session(
    before: &BrowserState,
    ready: &ReadyFrame,
) -> Option<HashSet<TabId>> {
    let place = |tab: &BrowserTab| (tab.tab_id, tab.window_id);
    let is_unchanged = |now: &&BrowserTab| {
        before.tabs().iter().any(|old| place(old) == place(now) && old.url == now.url)
    };
    match (before.session(), &ready.session) {
        (Some(former), Some(now)) if former == now => None,
        (Some(_), Some(_)) => {
            Some(ready.tabs.iter().filter(is_unchanged).map(|tab| tab.tab_id).collect())
        }
        (None, _) | (_, None) => {
            let is_there = |old: &BrowserTab| ready.tabs.iter().any(|now| place(now) == place(old));
            let is_new = !before.tabs().is_empty() && !before.tabs().iter().any(is_there);
            is_new.then(HashSet::new)
        }
    }
}

impl Transaction<'_> {
    /// The named tab, or the client's current one. `must_name_tab`: a call that names none is refused
    /// while its client uses several tabs.
    ///
    /// # Errors
    ///
    /// There is no such tab, it could be in several browsers, or the call has to name one.
    pub fn find_tab(
        &mut self,
        caller: &Caller,
        selector: &TargetSelector,
        must_name_tab: bool,
    ) -> Result<(BrowserId, BrowserTab), CallRefusal> {
        if must_name_tab {
            let named = self.check_tab_named(caller, selector);
            named.map_err(|refusal| self.refuse(caller, refusal))?;
        }
        let within = self.within_pin(caller, selector);
        let selector = &within.map_err(|refusal| self.refuse(caller, refusal))?;
        let current = self.client(caller).current();
        let found = find_tab(&self.sight(&caller.owner), current.as_ref(), selector);
        let (browser, tab) = found.map_err(|refusal| self.refuse(caller, refusal))?;
        Ok((browser, self.told_tab(&caller.owner, tab)))
    }
}

/// Browsers that have restarted.
impl Transaction<'_> {
    /// Forgets the tabs of the browser's former run. Clients keep it as their current browser.
    /// Commands that wait for a lost tab go to the active tab; those whose call named the tab fail.
    pub(super) fn forget_tabs_but(&mut self, kept: &HashSet<TabId>, browser: &BrowserId) {
        self.forget_captured_tabs(browser, |tab| kept.contains(&tab));
        self.forget_leases_but(browser, kept);
        self.forget_former_opened_tabs(browser, kept);
        self.forget_owned_tabs_but(browser, kept);
        self.end_asks_but(browser, kept);
        self.clients.forget_used_but(kept, browser);
        let has_lost_tab = |current: &CurrentTab| {
            current.browser == *browser && current.tab.is_some_and(|tab| !kept.contains(&tab))
        };
        for client in self.clients.with_current(has_lost_tab) {
            self.set_current(&client, CurrentTab { browser: browser.clone(), tab: None });
        }
        for id in self.scheduler.waiting_for(browser) {
            let was_for = self.scheduler.lane_of(&id).and_then(|lane| lane.tab);
            if was_for.is_some_and(|tab| !kept.contains(&tab)) {
                self.send_elsewhere(&id, browser);
            }
        }
    }

    /// Moves a waiting command whose tab no longer exists.
    fn send_elsewhere(&mut self, id: &CorrelationId, browser: &BrowserId) {
        let Some(spec) = self.commands.get(id).map(|command| command.spec().clone()) else {
            return;
        };
        // A client that does not see every tab must not reach that of the person.
        let is_bounded = self.scope_of(&spec.owner).is_bounded();
        let has_named = self.scheduler.has_named_tab(id) || is_bounded;
        let active = || self.browsers.get(browser).and_then(BrowserState::active_tab);
        // A tab that cannot exist, so that older extensions fail the command too (decision 68).
        let tab = if has_named { Some(TabId::OF_FORMER_SESSION) } else { active() };
        let lane = Lane { browser: browser.clone(), tab };
        let limits = self.limits;
        self.scheduler.send_elsewhere(&spec, lane.clone(), &limits);
        self.record(JournalEntry::Placed(id.clone(), lane.clone()));
        if !has_named {
            self.remember_current(id, &lane);
        }
    }
}

/// Commands that wait for a browser.
impl Transaction<'_> {
    /// A browser has connected: gives lanes in it to commands that wait for any browser, and marks
    /// the commands that wait for this one as reachable.
    pub(super) fn place_waiting(&mut self, browser: &BrowserId) {
        for id in self.scheduler.unplaced() {
            if !self.suits(browser, &id) {
                continue;
            }
            let Some(lane) = self.lane_in(browser, &id) else { continue };
            // The client's next command without a target then follows this one.
            self.remember_current(&id, &lane);
            self.record(JournalEntry::Placed(id.clone(), lane.clone()));
            self.scheduler.place(&id, lane);
        }
        for id in self.scheduler.waiting_for(browser) {
            self.apply(&id, LifecycleEvent::Reachable);
        }
    }

    /// The lane in this browser for a command that was accepted before any browser was
    /// there. A tab that was named is taken at its word: the extension says so if it
    /// does not exist.
    fn lane_in(&self, browser: &BrowserId, id: &CorrelationId) -> Option<Lane> {
        let spec = self.commands.get(id)?.spec();
        let selector = self.scheduler.selector(id)?;
        let here = TargetSelector { browser: Some(browser.as_str().to_owned()), tab: selector.tab };
        let current = self.clients.current(&spec.client);
        let sight = self.sight(&spec.owner);
        let lane = resolve(&sight, current, &here, spec.work.action()?);
        let as_asked = || Lane { browser: browser.clone(), tab: selector.tab };
        Some(lane.ok().flatten().unwrap_or_else(as_asked))
    }

    /// Makes the tab that a command is for its client's current one. One that is to be
    /// closed does not become it.
    pub(super) fn remember_current(&mut self, id: &CorrelationId, lane: &Lane) {
        let Some(command) = self.commands.get(id) else { return };
        let spec = command.spec();
        let Some(action) = spec.work.action() else { return };
        if action.is_browser_wide() || matches!(action, Action::TabClose(_)) {
            return;
        }
        let current = CurrentTab { browser: lane.browser.clone(), tab: lane.tab };
        let client = spec.client.clone();
        self.set_current(&client, current);
    }

    /// Makes the tab that a command has opened its client's current one.
    pub(super) fn remember_opened(&mut self, command: &Command) {
        let spec = command.spec();
        let (
            Some(Action::TabOpen(_)),
            CommandState::Ended { outcome, delivery: Some(delivery), .. },
        ) = (spec.work.action(), command.state())
        else {
            return;
        };
        let CommandOutcome::Complete { result, .. } = outcome else { return };
        // Another extension may send a result that names no tab. Then the current tab stays.
        let Ok(TabOpenResult { value: OpenedTab { tab_id } }) = serde_json::from_str(result.get())
        else {
            return;
        };
        let current = CurrentTab { browser: delivery.peer.browser.clone(), tab: Some(tab_id) };
        self.set_current(&spec.client, current);
    }
}

/// The part of the result of `tab_open` that names the tab.
#[derive(Deserialize)]
struct TabOpenResult {
    value: OpenedTab,
}

#[derive(Deserialize)]
struct OpenedTab {
    tab_id: TabId,
}
