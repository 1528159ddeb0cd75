//! Steps that the person does alone: which tabs are closed to agents meanwhile. The extension closes
//! more, because it knows where the person goes; the daemon sends nothing to the tabs that it knows.

use super::asks::open_question;
use super::leases::TabPlace;
use super::refusal::RefusalReason;
use super::{Caller, Engine, Transaction};
use crate::lifecycle::{LifecycleEvent, Peer, TargetSelector};
use crate::protocol::{
    BrowserId, BrowserTab, CorrelationId, ExtensionReport, PersonAsk, ReportedError, TabId,
    web_host,
};

/// The kind of a question by which an agent asks for a step.
const HAND_OVER: &str = "hand_over";

/// The word for a page that is closed while the person does a step there.
const HANDED_OVER: &str = "handed_over";

impl Engine {
    /// Whether the person does a step on the page of this tab alone.
    fn is_handed_over(&self, browser: &BrowserId, tab: TabId) -> bool {
        let steps = self.scheduler.selectors().filter(|(id, _)| {
            let question = self.commands.get(id).and_then(open_question);
            matches!(question, Some(PersonAsk::HandOver { .. }))
        });
        let mut places = steps.filter_map(|(id, _)| self.tab_of_ask(id));
        places.any(|(of, step)| {
            of == browser && (step == tab || self.are_of_one_site(browser, step, tab))
        })
    }

    fn are_of_one_site(&self, browser: &BrowserId, one: TabId, other: TabId) -> bool {
        let Some(known) = self.browsers.get(browser) else { return false };
        let host = |id: TabId| {
            known.tabs().iter().find(|tab| tab.tab_id == id).and_then(|tab| web_host(&tab.url))
        };
        host(one).is_some_and(|one| host(other) == Some(one))
    }
}

impl Transaction<'_> {
    /// The place of a step that the person is to do alone.
    ///
    /// # Errors
    ///
    /// The browser's extension cannot, another client holds the tab, or the tab shows no web page.
    pub(super) fn place_of_step(
        &mut self,
        caller: &Caller,
        (browser, tab): (BrowserId, BrowserTab),
    ) -> Result<TargetSelector, RefusalReason> {
        let Some(known) = self.browsers.get(&browser).filter(|known| known.is_connected()) else {
            return Err(super::targets::gone(&self.browsers, browser.as_str()));
        };
        if !known.hands_over() {
            return Err(RefusalReason::UnsupportedAction {
                action: HAND_OVER,
                browser: known.label().to_owned(),
                extension_version: known.extension_version().to_owned(),
                polls: known.poller().is_some(),
            });
        }
        if web_host(&tab.url).is_none() {
            return Err(RefusalReason::NoPageToHandOver { tab: tab.tab_id });
        }
        self.check_holder(caller, &TabPlace { browser: browser.clone(), tab: tab.tab_id })?;
        Ok(TargetSelector { browser: Some(browser.as_str().to_owned()), tab: Some(tab.tab_id) })
    }

    /// Ends a command that was sent, or is about to be, to a tab on whose page the person does a step
    /// alone. Nothing of it has run. False: it may go on.
    pub(super) fn withhold_handed_over(&mut self, peer: &Peer, id: &CorrelationId) -> bool {
        let Some(lane) = self.scheduler.lane_of(id) else { return false };
        let Some(tab) = lane.tab else { return false };
        if !self.is_handed_over(&peer.browser, tab) {
            return false;
        }
        let delivery = self.commands.get(id).and_then(|command| command.delivery());
        let Some(attempt) = delivery.map(|delivery| delivery.attempt) else { return false };
        let message = format!("The user does a step on the site of tab {tab} alone");
        let error =
            ReportedError { may_have_run: Some(false), ..ReportedError::new(HANDED_OVER, message) };
        let report = ExtensionReport::Error { error };
        self.apply(id, LifecycleEvent::Report(peer.clone(), attempt, report));
        true
    }
}
