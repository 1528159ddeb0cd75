//! Requests to record the streams of browsers. Browsers record nothing without a request.
//!
//! The requests are not in the journal: a restarted daemon records nothing until somebody asks again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::leases::TabPlace;
use super::refusal::{CallRefusal, RefusalReason};
use super::scopes::OwnerTabs;
use super::targets::{TabSight, choose_browser, gone, no_such_tab};
use super::{Caller, Engine, Transaction};
use crate::lifecycle::TargetSelector;
use crate::protocol::{
    BrowserId, CaptureSettings, Owner, StreamKind, TabCapture, TabId, ToExtension,
};

/// Streams, each with the owners who have asked for it.
#[derive(Debug, Default)]
struct AskedStreams(BTreeMap<StreamKind, BTreeSet<Owner>>);

impl AskedStreams {
    fn add(&mut self, streams: &BTreeSet<StreamKind>, owner: &Owner) {
        for stream in streams {
            self.0.entry(*stream).or_default().insert(owner.clone());
        }
    }

    /// Whoever has asked for them: off is off.
    fn remove(&mut self, streams: &BTreeSet<StreamKind>) {
        self.0.retain(|stream, _| !streams.contains(stream));
    }

    /// Those that nobody else has asked for are not recorded any more.
    fn forget_owner(&mut self, owner: &Owner) {
        self.0.retain(|_, owners| {
            owners.remove(owner);
            !owners.is_empty()
        });
    }

    fn join(&mut self, other: Self) {
        for (stream, owners) in other.0 {
            self.0.entry(stream).or_default().extend(owners);
        }
    }

    fn kinds(&self) -> BTreeSet<StreamKind> {
        self.0.keys().copied().collect()
    }

    fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.0.values().flatten()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The streams that browsers are to record.
#[derive(Debug, Default)]
pub(super) struct CaptureRequests {
    /// In every tab of every browser.
    all: AskedStreams,
    /// In every tab that is inside the scope of an owner who does not see every tab.
    owners: HashMap<Owner, BTreeSet<StreamKind>>,
    /// Further streams in single browsers.
    browsers: HashMap<BrowserId, BrowserCapture>,
}

/// The further streams of one browser.
#[derive(Debug, Default)]
struct BrowserCapture {
    all: AskedStreams,
    tabs: BTreeMap<TabId, AskedStreams>,
}

/// A request to start or to stop recording.
#[derive(Clone, Debug, Default)]
pub struct CaptureChange {
    /// Whether to start.
    pub on: bool,
    /// The streams. `None` means all, but to start bodies a caller must name them.
    pub streams: Option<BTreeSet<StreamKind>>,
    /// The browser or tab. Without one the request is for all browsers, including those that connect
    /// later.
    pub of: TargetSelector,
}

/// Connected browsers whose extension only polls, so that requests to record do not reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureUnsupportedBrowsers {
    /// Their labels.
    pub labels: Vec<String>,
    /// Whether no other browser is connected.
    pub are_all: bool,
}

impl CaptureUnsupportedBrowsers {
    /// A hint about them. `None`: there are none.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let names: Vec<_> = self.labels.iter().map(|label| format!("`{label}`")).collect();
        (!names.is_empty()).then(|| {
            format!(
                "The extension of {} is an old one: it records what the person has switched on in its \
                 popup, and configure capture does not reach it. Ask the person to switch it on there, \
                 or to install the Tabwire extension (`tabwire install` says how).",
                names.join(", ")
            )
        })
    }
}

/// What is recorded now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CaptureStatus {
    /// In every tab of every browser.
    pub all: BTreeSet<StreamKind>,
    /// In single browsers and tabs besides.
    pub browsers: Vec<BrowserCaptureStatus>,
}

/// What is recorded in one browser, besides what is in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrowserCaptureStatus {
    /// The browser.
    pub browser: BrowserId,
    /// In each of its tabs.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub all: BTreeSet<StreamKind>,
    /// In single ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<TabCapture>,
}

impl CaptureChange {
    fn streams(&self) -> BTreeSet<StreamKind> {
        // Bodies hold most of a person's data, so nobody gets them without asking for them by name.
        let usual = StreamKind::ALL.into_iter().filter(|s| !self.on || *s != StreamKind::Bodies);
        let streams = self.streams.clone().unwrap_or_else(|| usual.collect());
        streams.into_iter().filter(|stream| stream.is_captured()).collect()
    }
}

impl CaptureRequests {
    /// The owners who have asked for something.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        let browsers = self.browsers.values();
        let asked = browsers.flat_map(|own| own.tabs.values().chain([&own.all]));
        self.owners.keys().chain(asked.chain([&self.all]).flat_map(AskedStreams::owners))
    }

    /// An owner was removed.
    pub(super) fn forget_owner(&mut self, owner: &Owner) {
        self.owners.remove(owner);
        self.all.forget_owner(owner);
        for own in self.browsers.values_mut() {
            own.all.forget_owner(owner);
            own.tabs.values_mut().for_each(|tab| tab.forget_owner(owner));
        }
        self.tidy();
    }

    /// Nothing is kept of a tab or browser of which nothing is asked.
    fn tidy(&mut self) {
        self.browsers.values_mut().for_each(|own| own.tabs.retain(|_, of| !of.is_empty()));
        self.browsers.retain(|_, own| !own.is_empty());
    }

    /// The streams that a browser is to record now.
    fn settings_of(&self, browser: &BrowserId, inside: &OwnerTabs) -> CaptureSettings {
        let mut all = self.all.kinds();
        let own = self.browsers.get(browser);
        all.extend(own.into_iter().flat_map(|own| own.all.kinds()));
        let mut tabs = own.map_or_else(BTreeMap::new, BrowserCapture::tab_kinds);
        let bounded = self.owners.iter().filter(|(owner, _)| inside.scope_of(owner).is_bounded());
        for (owner, streams) in bounded {
            for (place, _) in inside.inside(owner).filter(|(place, _)| place.browser == *browser) {
                tabs.entry(place.tab).or_default().extend(streams);
            }
        }
        CaptureSettings::new(all, &tabs)
    }

    /// What is recorded for an owner whose clients do not see every tab.
    fn summary_of(&self, sight: &TabSight<'_>) -> CaptureStatus {
        let own = self.browsers.iter().map(|(id, own)| {
            let inside = own.tabs.iter().filter(|(tab, _)| sight.sees(id, **tab));
            let inside = inside.map(|(tab, asked)| (*tab, asked.kinds())).collect();
            let CaptureSettings { all, tabs } = CaptureSettings::new(BTreeSet::new(), &inside);
            BrowserCaptureStatus { browser: id.clone(), all, tabs }
        });
        let mut browsers: Vec<_> = own.filter(|own| !own.tabs.is_empty()).collect();
        browsers.sort_unstable_by(|a, b| a.browser.cmp(&b.browser));
        CaptureStatus { all: self.owners.get(sight.owner).cloned().unwrap_or_default(), browsers }
    }

    /// Applies a request for every tab of an owner's own. `inside`: those tabs that are open.
    fn change_of_owner(&mut self, change: &CaptureChange, owner: &Owner, inside: &[TabPlace]) {
        let streams = change.streams();
        let own = self.owners.entry(owner.clone()).or_default();
        if change.on {
            own.extend(streams);
            return;
        }
        own.retain(|stream| !streams.contains(stream));
        self.owners.retain(|_, of| !of.is_empty());
        for TabPlace { browser, tab } in inside {
            self.change(change, owner, Some(browser), Some(*tab));
        }
    }

    fn summary(&self) -> CaptureStatus {
        let own = self.browsers.iter().map(|(id, own)| {
            let CaptureSettings { all, tabs } =
                CaptureSettings::new(own.all.kinds(), &own.tab_kinds());
            BrowserCaptureStatus { browser: id.clone(), all, tabs }
        });
        let mut browsers: Vec<_> = own.collect();
        browsers.sort_unstable_by(|a, b| a.browser.cmp(&b.browser));
        CaptureStatus { all: self.all.kinds(), browsers }
    }

    fn change(
        &mut self,
        change: &CaptureChange,
        owner: &Owner,
        browser: Option<&BrowserId>,
        tab: Option<TabId>,
    ) {
        let streams = change.streams();
        match browser {
            Some(id) => {
                let own = self.browsers.entry(id.clone()).or_default();
                match change.on {
                    true => own.add(&streams, owner, tab),
                    false => own.remove(&streams, tab),
                }
            }
            None if change.on => self.all.add(&streams, owner),
            // Off for all is off: no request for a single browser outlives it.
            None => {
                self.all.remove(&streams);
                self.browsers.values_mut().for_each(|own| own.remove(&streams, None));
            }
        }
        self.tidy();
    }

    /// Forgets requests for all tabs of a browser but these.
    fn forget_tabs_but(&mut self, browser: &BrowserId, stays: impl Fn(TabId) -> bool) {
        if let Some(own) = self.browsers.get_mut(browser) {
            own.tabs.retain(|tab, _| stays(*tab));
        }
        self.tidy();
    }

    /// A tab has another id now.
    fn rename_tab(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        let Some(own) = self.browsers.get_mut(browser) else { return };
        if let Some(streams) = own.tabs.remove(&former) {
            own.tabs.entry(now).or_default().join(streams);
        }
    }

    /// Forgets a browser that is not known any more.
    pub(super) fn forget_browser(&mut self, browser: &BrowserId) {
        self.browsers.remove(browser);
    }
}

impl Engine {
    /// Whether a stream is recorded: in this browser and tab, in any if none is named.
    fn captures_anywhere(
        &self,
        stream: StreamKind,
        browser: Option<&BrowserId>,
        tab: Option<TabId>,
    ) -> bool {
        let mut of = self.browsers.keys().filter(|id| browser.is_none_or(|b| b == *id));
        self.capture.all.0.contains_key(&stream)
            || of.any(|id| self.capture_of(id).has(stream, tab))
    }

    /// The same for an owner: of the tabs that its clients see in one that they see, or in those that
    /// they will open.
    #[must_use]
    pub fn captures_for(
        &self,
        owner: &Owner,
        stream: StreamKind,
        browser: Option<&BrowserId>,
        tab: Option<TabId>,
    ) -> bool {
        if !self.scope_of(owner).is_bounded() {
            return self.captures_anywhere(stream, browser, tab);
        }
        let is_asked = |id: &BrowserId, inside: TabId| {
            browser.is_none_or(|wanted| wanted == id) && tab.is_none_or(|wanted| wanted == inside)
        };
        let mut inside = self.tabs_of(owner).filter(|(id, tab)| is_asked(id, tab.tab_id));
        self.capture.owners.get(owner).is_some_and(|own| own.contains(&stream))
            || inside.any(|(id, tab)| self.capture_of(id).has(stream, Some(tab.tab_id)))
    }

    /// The connected browsers that requests to record do not reach, of all or of this one.
    #[must_use]
    pub fn capture_unsupported(&self, browser: Option<&BrowserId>) -> CaptureUnsupportedBrowsers {
        let connected = self.browsers.iter().filter(|(id, known)| {
            known.is_connected() && browser.is_none_or(|wanted| wanted == *id)
        });
        let (deaf, others): (Vec<_>, Vec<_>) =
            connected.map(|(_, known)| known).partition(|known| known.poller().is_some());
        let mut labels: Vec<_> = deaf.iter().map(|known| known.label().to_owned()).collect();
        labels.sort_unstable();
        CaptureUnsupportedBrowsers { labels, are_all: others.is_empty() }
    }

    /// The streams that a browser is to record, even one that has never connected.
    #[must_use]
    pub fn capture_of(&self, browser: &BrowserId) -> CaptureSettings {
        self.capture.settings_of(browser, &self.owner_tabs)
    }
}

impl Transaction<'_> {
    /// Applies a request and informs the browsers that it concerns. Returns the new status.
    ///
    /// # Errors
    ///
    /// The browser or tab of the request does not exist, or is ambiguous.
    pub fn capture(
        &mut self,
        caller: &Caller,
        change: &CaptureChange,
    ) -> Result<CaptureStatus, CallRefusal> {
        let place = self.place_of(caller, change);
        let (browser, tab) = place.map_err(|refusal| self.refuse(caller, refusal))?;
        let owner = &caller.owner;
        let is_bounded = self.scope_of(owner).is_bounded();
        let is_asked = |id: &BrowserId| browser.as_ref().is_none_or(|wanted| wanted == id);
        let inside: Vec<_> = self
            .tabs_of(owner)
            .filter(|(id, _)| is_asked(id))
            .map(|(id, tab)| TabPlace { browser: id.clone(), tab: tab.tab_id })
            .collect();
        let before = self.captures();
        match (&browser, tab) {
            (None, _) if is_bounded => self.capture.change_of_owner(change, owner, &inside),
            (Some(_), None) if is_bounded => {
                for TabPlace { browser, tab } in &inside {
                    self.capture.change(change, owner, Some(browser), Some(*tab));
                }
            }
            (_, _) => self.capture.change(change, owner, browser.as_ref(), tab),
        }
        self.tell_captures(before);
        Ok(if is_bounded {
            self.capture.summary_of(&self.sight(owner))
        } else {
            self.capture.summary()
        })
    }

    fn place_of(
        &mut self,
        caller: &Caller,
        change: &CaptureChange,
    ) -> Result<(Option<BrowserId>, Option<TabId>), RefusalReason> {
        let selector = &self.within_pin(caller, &change.of)?;
        if selector.browser.is_none() && selector.tab.is_none() {
            return Ok((None, None));
        }
        let current = self.client(caller).current();
        let sight = self.sight(&caller.owner);
        let Some((id, browser)) = choose_browser(&sight, current.as_ref(), selector)? else {
            return Err(gone(&self.browsers, "any"));
        };
        let is_inside = |tab: TabId| sight.sees(id, browser.id_now(tab));
        match selector.tab {
            // Only a start needs the tab: a request for a closed one can still be withdrawn.
            Some(wanted) if change.on && !browser.has_tab(wanted) || !is_inside(wanted) => {
                Err(no_such_tab(&sight, (id, browser), Some(wanted)))
            }
            tab => Ok((Some(id.clone()), tab.map(|tab| browser.id_now(tab)))),
        }
    }

    /// The streams of all browsers, to be compared after a change.
    pub(super) fn captures(&self) -> Vec<(BrowserId, CaptureSettings)> {
        self.browsers.keys().map(|id| (id.clone(), self.capture_of(id))).collect()
    }

    /// Sends each browser its streams whose streams have changed.
    pub(super) fn tell_captures(&mut self, before: Vec<(BrowserId, CaptureSettings)>) {
        for (id, before) in before {
            self.tell_capture(&id, &before);
        }
    }

    /// Sends a browser its streams, if they have changed.
    pub(super) fn tell_capture(&mut self, browser: &BrowserId, before: &CaptureSettings) {
        let capture = self.capture_of(browser);
        if capture != *before {
            self.send(browser, ToExtension::Capture { capture });
        }
    }

    /// Requests for a tab hold under its new id.
    pub(super) fn rename_captured_tab(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        let before = self.capture_of(browser);
        self.capture.rename_tab(browser, former, now);
        self.tell_capture(browser, &before);
    }

    /// Forgets requests for tabs that were closed.
    pub(super) fn forget_closed_captures(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser) else { return };
        let open: BTreeSet<_> = known.tabs().iter().map(|tab| tab.tab_id).collect();
        self.forget_captured_tabs(browser, |tab| open.contains(&tab));
    }

    /// Forgets requests for all tabs but these.
    pub(super) fn forget_captured_tabs(
        &mut self,
        browser: &BrowserId,
        stays: impl Fn(TabId) -> bool,
    ) {
        let before = self.capture_of(browser);
        self.capture.forget_tabs_but(browser, stays);
        self.tell_capture(browser, &before);
    }
}

impl BrowserCapture {
    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.tabs.is_empty()
    }

    /// The streams of each tab.
    fn tab_kinds(&self) -> BTreeMap<TabId, BTreeSet<StreamKind>> {
        self.tabs.iter().map(|(tab, asked)| (*tab, asked.kinds())).collect()
    }

    fn add(&mut self, streams: &BTreeSet<StreamKind>, owner: &Owner, tab: Option<TabId>) {
        let asked = match tab {
            Some(tab) => self.tabs.entry(tab).or_default(),
            None => &mut self.all,
        };
        asked.add(streams, owner);
    }

    /// Removing streams from the browser removes them from its tabs as well.
    fn remove(&mut self, streams: &BTreeSet<StreamKind>, tab: Option<TabId>) {
        match tab {
            Some(tab) => {
                if let Some(asked) = self.tabs.get_mut(&tab) {
                    asked.remove(streams);
                }
            }
            None => {
                self.all.remove(streams);
                self.tabs.values_mut().for_each(|asked| asked.remove(streams));
            }
        }
    }
}
