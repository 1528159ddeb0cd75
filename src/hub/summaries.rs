//! Browsers and tabs as callers are shown them.

use super::clients::Client;
use super::links::Browser;
use super::sessions::is_poller;
use super::{Caller, ClientSummary, Hub};
use crate::protocol::{BrowserId, Moment, Owner, Tab};

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
    pub last_seen: Moment,
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
}

/// One tab as `observe tabs` shows it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct TabSummary {
    /// The browser that it is in.
    pub browser: BrowserId,
    /// The tab.
    #[serde(flatten)]
    pub tab: Tab,
    /// Whether this client's commands go to it when they name no tab.
    pub current: bool,
}

impl Browser {
    /// The browser as it is now.
    pub(super) fn summary(&self, id: &BrowserId) -> BrowserSummary {
        BrowserSummary {
            browser: id.clone(),
            label: self.label.clone(),
            connected: self.is_connected(),
            last_seen: self.last_seen,
            extension_version: self.extension_version.clone(),
            user_agent: self.user_agent.clone(),
            actions: self.actions.clone(),
            tabs: self.tabs.len(),
            polls: is_poller(id),
            control_off: self.poller.as_ref().is_some_and(|poller| !poller.is_pilot_on),
            stopped: self.is_stopped,
            extension_changed: self.gets_nothing(),
        }
    }
}

impl Hub {
    /// The browsers that are known, connected ones first.
    #[must_use]
    pub fn browsers(&self) -> Vec<BrowserSummary> {
        let mut browsers: Vec<_> = self.with_desk(|desk| {
            desk.browsers.iter().map(|(id, browser)| browser.summary(id)).collect()
        });
        browsers.sort_by(|a, b| (!a.connected, &a.browser).cmp(&(!b.connected, &b.browser)));
        browsers
    }

    /// The tabs of the connected browsers.
    #[must_use]
    pub fn tabs(&self, caller: &Caller) -> Vec<TabSummary> {
        let mut tabs: Vec<_> = self.with_desk(|desk| {
            let current = desk.client(caller).current.clone();
            let is_current = |browser: &BrowserId, tab| {
                current.as_ref().is_some_and(|c| c.browser == *browser && c.tab == Some(tab))
            };
            desk.tabs()
                .map(|(browser, tab)| TabSummary {
                    browser: browser.clone(),
                    current: is_current(browser, tab.tab_id),
                    tab: tab.clone(),
                })
                .collect()
        });
        tabs.sort_by(|a, b| {
            (&a.browser, a.tab.window_id, a.tab.tab_id).cmp(&(
                &b.browser,
                b.tab.window_id,
                b.tab.tab_id,
            ))
        });
        tabs
    }

    /// The owner's clients that are at work or were heard of in the last 10 minutes, the one heard
    /// of last first. Others are remembered for longer, and are listed again with their next call.
    #[must_use]
    pub fn clients(&self, owner: &Owner) -> Vec<ClientSummary> {
        let mut clients: Vec<_> = self.with_desk(|desk| {
            let now = desk.now();
            let is_listed = |client: &Client| client.owner == *owner && client.is_alive(now);
            let own = desk.clients.iter().filter(|(_, client)| is_listed(client));
            own.map(|(id, client)| client.summary(id)).collect()
        });
        clients.sort_by(|a, b| (b.last_seen, &a.client).cmp(&(a.last_seen, &b.client)));
        clients
    }
}
