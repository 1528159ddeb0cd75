//! Summaries of browsers and tabs for callers.

use std::collections::HashMap;

use super::browsers::BrowserState;
use super::leases::TabHolder;
use super::{Caller, Engine, LinkId, Transaction};
use crate::lifecycle::{Command, CommandPhase};
use crate::protocol::{BrowserId, BrowserTab, CommandSummary, Owner, Timestamp, Transport};

/// One browser as `observe browsers` shows it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct BrowserSummary {
    /// What to name it by.
    pub browser: BrowserId,
    /// What a person would call it, with a number if another is called so; can be named too.
    pub label: String,
    /// Whether commands reach it now.
    pub connected: bool,
    /// When it last made itself heard.
    pub last_seen: Timestamp,
    /// The extension's version.
    pub extension_version: String,
    /// The browser's user agent.
    pub user_agent: String,
    /// The actions that its extension knows.
    pub actions: Vec<String>,
    /// How many tabs it has.
    pub tabs: usize,
    /// Whether its extension is an older one that only polls: calls that name no browser go
    /// there only while no Tabwire extension is connected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub polls: bool,
    /// Whether its person has switched control by agents off, as an older extension says.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub control_off: bool,
    /// Whether its person has stopped everything that agents do in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Whether the extension's files on the disk were changed: it gets no commands.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extension_changed: bool,
    /// Whether its extension is newer than this daemon, which may not know all that it can.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extension_newer: bool,
}

/// One tab as `observe tabs` shows it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct TabSummary {
    /// The browser that it is in.
    pub browser: BrowserId,
    /// What a person calls that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_label: Option<String>,
    /// The tab.
    #[serde(flatten)]
    pub tab: BrowserTab,
    /// Whether this client's commands go to it when they name no tab.
    pub current: bool,
    /// The client that holds it: no other acts in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<TabHolder>,
}

impl Engine {
    /// All known browsers, connected ones first.
    #[must_use]
    pub fn browser_summaries(&self) -> Vec<BrowserSummary> {
        let mut browsers: Vec<_> =
            self.browsers.iter().map(|(id, browser)| browser.summary(id)).collect();
        browsers
            .sort_unstable_by(|a, b| (!a.connected, &a.browser).cmp(&(!b.connected, &b.browser)));
        browsers
    }

    /// The same for an owner, with the number of tabs that its clients see.
    #[must_use]
    pub fn browser_summaries_of(&self, owner: &Owner) -> Vec<BrowserSummary> {
        let mut browsers = self.browser_summaries();
        for summary in &mut browsers {
            let known = self.browsers.get_key_value(&summary.browser);
            summary.tabs = known.map_or(0, |known| self.sight(owner).tabs(known).len());
        }
        browsers
    }

    /// What a person calls a browser; `None` if it has never said so.
    #[must_use]
    pub fn browser_label(&self, browser: &BrowserId) -> Option<String> {
        let label = self.browsers.get(browser)?.label();
        (!label.is_empty()).then(|| label.to_owned())
    }

    /// A command as the command line lists it.
    #[must_use]
    pub fn command_summary(&self, command: &Command) -> CommandSummary {
        let summary = command.summary(self.lane_of(&command.spec().id));
        let browser_label = summary.browser.as_ref().and_then(|one| self.browser_label(one));
        CommandSummary { browser_label, ..summary }
    }

    /// How many browsers are connected.
    #[must_use]
    pub fn connected_browsers(&self) -> usize {
        self.browsers.values().filter(|browser| browser.is_connected()).count()
    }

    /// How many browsers commands reach by each transport.
    #[must_use]
    pub fn open_links(&self) -> HashMap<Transport, u64> {
        let mut links = HashMap::new();
        for transport in self.browsers.values().filter_map(BrowserState::transport) {
            *links.entry(transport).or_default() += 1;
        }
        links
    }

    /// Whether anything is known of a browser.
    #[must_use]
    pub fn knows_browser(&self, browser: &BrowserId) -> bool {
        self.browsers.contains_key(browser)
    }

    /// The link that a browser has now.
    #[must_use]
    pub fn link_of(&self, browser: &BrowserId) -> Option<LinkId> {
        self.browsers.get(browser)?.link_id()
    }

    /// How many commands are in each phase, those that are over left out.
    #[must_use]
    pub fn open_phases(&self) -> HashMap<CommandPhase, u64> {
        let mut phases = HashMap::new();
        for command in self.clients.all_active().filter_map(|id| self.commands.get(id)) {
            *phases.entry(command.phase()).or_default() += 1;
        }
        phases
    }

    /// The number of pending commands of all clients.
    #[must_use]
    pub fn pending_commands(&self) -> usize {
        self.clients.active_count()
    }

    /// How many clients are known.
    #[must_use]
    pub fn known_clients(&self) -> usize {
        self.clients.len()
    }

    /// The number of waiting calls of all clients.
    #[must_use]
    pub fn waiting_calls(&self) -> usize {
        self.clients.waiting_count()
    }

    /// Whether a command runs in a page, or is about to.
    #[must_use]
    pub fn is_anything_running(&self) -> bool {
        let mut held = self.browsers.values().flat_map(BrowserState::held);
        let runs =
            |command: &Command| command.phase() == CommandPhase::Started || command.may_have_run();
        held.any(|id| self.commands.get(id).is_some_and(runs))
    }
}

impl Transaction<'_> {
    /// The tabs of the connected browsers.
    pub fn tab_summaries(&mut self, caller: &Caller) -> Vec<TabSummary> {
        let now = self.now();
        let current = self.client(caller).current();
        let is_current = |browser: &BrowserId, tab| {
            current.as_ref().is_some_and(|c| c.browser == *browser && c.tab == Some(tab))
        };
        let summary = |(browser, tab): (&BrowserId, &BrowserTab)| TabSummary {
            browser: browser.clone(),
            browser_label: self.browser_label(browser),
            current: is_current(browser, tab.tab_id),
            held_by: self.holder_of(caller, browser, tab.tab_id, now),
            tab: self.told_tab(&caller.owner, tab.clone()),
        };
        let may_use =
            |(browser, _): &(&BrowserId, _)| self.may_use_browser(&caller.client, browser);
        let mut tabs: Vec<_> = self.tabs_of(&caller.owner).filter(may_use).map(summary).collect();
        let place = |summary: &TabSummary| {
            (summary.browser.clone(), summary.tab.window_id, summary.tab.tab_id)
        };
        tabs.sort_by_cached_key(place);
        tabs
    }
}
