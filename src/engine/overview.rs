//! Everything that is open, for the person, who sees the tabs and commands of all owners.

use std::sync::Arc;

use serde::Serialize;

use super::Engine;
use crate::lifecycle::{Command, Lane};
use crate::protocol::{BrowserId, CorrelationId, PersonAsk, TabId, Timestamp, site_of_address};
use crate::streams::redact;

/// The browsers, and the open questions.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// The browsers with their tabs, connected ones first.
    pub browsers: Vec<OverviewBrowser>,
    /// The open questions of all agents, oldest first.
    pub asks: Vec<OverviewAsk>,
}

/// A browser with its tabs.
#[derive(Debug, Serialize)]
pub struct OverviewBrowser {
    /// The browser.
    pub browser: BrowserId,
    /// Its name for people.
    pub label: String,
    /// Whether commands reach it now.
    pub connected: bool,
    /// Whether the person has stopped everything in it.
    pub stopped: bool,
    /// Whether its extension's files were changed.
    pub extension_changed: bool,
    /// Its tabs.
    pub tabs: Vec<OverviewTab>,
}

/// A tab.
#[derive(Debug, Serialize)]
pub struct OverviewTab {
    /// The tab.
    pub tab_id: TabId,
    /// Its title. A page decides it.
    pub title: String,
    /// The site of its page: of an address no more leaves the daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Arc<str>>,
    /// Whether its window shows it.
    pub front: bool,
    /// The name of the client that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Arc<str>>,
}

/// A question of an agent to the person.
#[derive(Debug, Serialize)]
pub struct OverviewAsk {
    /// The wait for the answer.
    pub correlation_id: CorrelationId,
    /// The name of the client that asks.
    pub client: Arc<str>,
    /// The question. An agent decides it.
    pub text: String,
    /// Until when it can be answered.
    pub until: Timestamp,
}

/// A command with the names that a person needs to tell it from others.
#[derive(Debug)]
pub struct OverviewCommand {
    /// The command.
    pub command: Command,
    /// Its lane, once it has one.
    pub lane: Option<Lane>,
    /// The name of its client.
    pub agent: Arc<str>,
    /// The name of its browser, once it has one.
    pub browser_label: Option<String>,
}

/// A question with all that its answers are about.
fn question_of(ask: &PersonAsk) -> String {
    let mut text = ask.question().as_str().to_owned();
    if let PersonAsk::Consent { need, .. } = ask {
        for root in need.roots() {
            text.push_str("; its program says that it works in ");
            text.push_str(root.as_str());
        }
    }
    text
}

impl Engine {
    /// The browsers and the open questions.
    #[must_use]
    pub fn overview(&self) -> Overview {
        let browsers = self.browser_summaries().into_iter().map(|known| OverviewBrowser {
            tabs: self.overview_tabs(&known.browser),
            browser: known.browser,
            label: known.label,
            connected: known.connected,
            stopped: known.stopped,
            extension_changed: known.extension_changed,
        });
        let asks = self.open_asks().into_iter().map(|(command, ask)| OverviewAsk {
            correlation_id: command.spec().id.clone(),
            client: self.shown_client(command.spec()),
            text: question_of(&ask),
            until: command.total_by(),
        });
        Overview { browsers: browsers.collect(), asks: asks.collect() }
    }

    fn overview_tabs(&self, browser: &BrowserId) -> Vec<OverviewTab> {
        let held = self.held_tabs(browser);
        let tabs = self.browsers.get(browser).map(|known| known.tabs()).unwrap_or_default();
        let shown = tabs.iter().filter(|tab| !tab.private).map(|tab| OverviewTab {
            tab_id: tab.tab_id,
            title: redact(&tab.title).into_owned(),
            site: site_of_address(&tab.url),
            front: tab.active,
            holder: held.iter().find(|one| one.tab_id == tab.tab_id).map(|one| one.client.clone()),
        });
        shown.collect()
    }

    /// A command of any owner, as the person sees it.
    #[must_use]
    pub fn overview_command(&self, id: &CorrelationId) -> Option<OverviewCommand> {
        let command = self.commands.get(id)?.clone();
        let lane = self.lane_of(id).cloned();
        let browser = lane.as_ref().and_then(|lane| self.browsers.get(&lane.browser));
        let browser_label = browser.map(|known| known.label().to_owned());
        let agent = self.shown_client(command.spec());
        Some(OverviewCommand { command, lane, agent, browser_label })
    }
}
