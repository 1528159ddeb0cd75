//! Questions of agents to a person: each is a wait with the same lifecycle as all commands. Every
//! browser shows all that are open, and the first answer that fits ends one.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::to_raw_value;

use super::browsers::BrowserState;
use super::consents::question_about;
use super::refusal::RefusalReason;
use super::{Caller, Engine, Transaction, targets};
use crate::lifecycle::{
    Command, CommandOutcome, CommandPhase, CommandWork, LifecycleEvent, TargetSelector,
};
use crate::protocol::{
    AnswerChannel, AskAnswer, AskRefusal, AskResult, BrowserId, CorrelationId, OpenAsk, Owner,
    PersonAsk, ReportedError, TabId, Timestamp, ToExtension,
};

/// An open question, as the command line and clients see it.
#[derive(Clone, Debug, Serialize)]
pub struct AskSummary {
    /// The wait for the answer.
    pub correlation_id: CorrelationId,
    /// The name of the client that asked.
    pub client: Arc<str>,
    /// The question.
    #[serde(flatten)]
    pub ask: PersonAsk,
    /// The page that it is about, if its tab is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// What the browser of that page is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_label: Option<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Until when it can be answered.
    pub until: Timestamp,
}

/// How an answer went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskReply {
    /// It has ended the wait.
    Taken,
    /// The wait is over, or there is none of this id.
    Over,
    /// It does not count, and the question stays open.
    Refused(AskRefusal),
}

impl Engine {
    /// The open questions of all owners, oldest first.
    pub(super) fn open_asks(&self) -> Vec<(&Command, PersonAsk)> {
        let all = self.commands.all();
        let mut asks: Vec<_> =
            all.filter_map(|command| Some((command, open_question(command)?))).collect();
        // The map has no order, and the same inputs must have the same effects.
        asks.sort_unstable_by_key(|(command, _)| {
            (command.spec().created, command.spec().id.clone())
        });
        asks
    }

    /// The open questions of an owner's clients, oldest first.
    #[must_use]
    pub fn asks_of(&self, owner: &Owner) -> Vec<AskSummary> {
        let own =
            self.open_asks().into_iter().filter(|(command, _)| command.spec().owner == *owner);
        own.map(|(command, ask)| AskSummary {
            correlation_id: command.spec().id.clone(),
            client: self.shown_client(command.spec()),
            ask,
            page: self.page_of_ask(&command.spec().id),
            browser_label: self
                .page_of_ask(&command.spec().id)
                .and_then(|_| self.browser_label(self.tab_of_ask(&command.spec().id)?.0)),
            asked_at: asked_at(command),
            until: command.total_by(),
        })
        .collect()
    }

    /// How many questions of an owner's clients are open.
    pub(super) fn count_asks_of(&self, owner: &Owner) -> usize {
        let active = self.clients.active_of(owner);
        active
            .filter(|id| self.commands.get(id).is_some_and(|of| open_question(of).is_some()))
            .count()
    }

    /// Whether a browser is connected in which the person sees questions.
    #[must_use]
    pub fn shows_asks(&self) -> bool {
        self.browsers.values().any(BrowserState::is_ready)
    }

    fn page_of_ask(&self, id: &CorrelationId) -> Option<String> {
        let (browser, tab) = self.tab_of_ask(id)?;
        self.inside_since(&self.commands.get(id)?.spec().owner, browser, tab)?;
        let tabs = self.browsers.get(browser)?.tabs();
        let tab = tabs.iter().find(|known| known.tab_id == tab)?.clone();
        Some(self.told_tab(&self.commands.get(id)?.spec().owner, tab).url)
    }

    pub(super) fn tab_of_ask(&self, id: &CorrelationId) -> Option<(&BrowserId, TabId)> {
        if self.commands.phase_of(id)? == CommandPhase::Held {
            let lane = self.scheduler.lane_of(id)?;
            return Some((&lane.browser, lane.tab?));
        }
        let selector = self.scheduler.selector(id)?;
        let browser = selector.browser.as_deref()?;
        let (browser, _) = self.browsers.get_key_value(&BrowserId::from(browser))?;
        Some((browser, selector.tab?))
    }

    /// The open questions, as this browser shows them.
    fn asks_for(&self, browser: &BrowserId) -> Vec<OpenAsk> {
        let shown = self.open_asks().into_iter().map(|(command, ask)| OpenAsk {
            correlation_id: command.spec().id.clone(),
            client: self.shown_client(command.spec()),
            ask,
            // The number of a tab in another browser means nothing here.
            tab_id: self
                .tab_of_ask(&command.spec().id)
                .and_then(|(of, tab)| (of == browser).then_some(tab)),
            browser_label: self
                .tab_of_ask(&command.spec().id)
                .filter(|(of, _)| *of != browser)
                .and_then(|(of, _)| self.browser_label(of)),
            asked_at: asked_at(command),
            until: command.total_by(),
        });
        shown.collect()
    }
}

impl Transaction<'_> {
    /// A person has answered a question.
    pub fn answer_ask(
        &mut self,
        id: &CorrelationId,
        answer: AskAnswer,
        by: AnswerChannel,
    ) -> AskReply {
        self.answer_ask_in(id, answer, by, None)
    }

    fn answer_ask_in(
        &mut self,
        id: &CorrelationId,
        answer: AskAnswer,
        by: AnswerChannel,
        browser: Option<&BrowserId>,
    ) -> AskReply {
        // A deadline that is over has ended it, even if the timer is late.
        let open = self.commands.get(id).filter(|command| command.total_by() > self.now());
        let Some(ask) = open.and_then(open_question) else { return AskReply::Over };
        if matches!(ask, PersonAsk::Consent { .. }) {
            return self.answer_consent(id, &answer, by, browser);
        }
        // The person does the step in the browser that has the tab, and ends it there.
        if matches!(answer, AskAnswer::Done { .. })
            && self.tab_of_ask(id).is_some_and(|(of, _)| Some(of) != browser)
        {
            return AskReply::Refused(AskRefusal::NeedsBrowser);
        }
        let outcome = match ask.result(answer, by) {
            Ok(Some(result)) => complete(&result),
            Ok(None) => declined(),
            Err(refusal) => return AskReply::Refused(refusal),
        };
        self.apply(id, LifecycleEvent::Finish(outcome));
        AskReply::Taken
    }

    /// A person has answered a question in a page of the extension.
    pub(super) fn answer_in_browser(
        &mut self,
        browser: &BrowserId,
        id: &CorrelationId,
        answer: AskAnswer,
    ) {
        let reply = self.answer_ask_in(id, answer, AnswerChannel::Browser, Some(browser));
        if reply != AskReply::Taken {
            tracing::debug!(%id, ?reply, "an answer does not count");
            // The browser showed a question that is not open any more.
            let asks = self.asks_for(browser);
            self.send(browser, ToExtension::Asks { asks });
        }
    }

    /// The tab that a question is about: the named one, and of an approval else the one that the
    /// client works in.
    ///
    /// # Errors
    ///
    /// The call named a tab that does not exist, or several browsers have a tab of this number.
    pub(super) fn place_of_ask(
        &mut self,
        caller: &Caller,
        work: &CommandWork,
        selector: &TargetSelector,
    ) -> Result<TargetSelector, RefusalReason> {
        let current = self.client(caller).current();
        let works_in_tab = current.as_ref().is_some_and(|current| current.tab.is_some());
        let is_about_page = work.is_about_page() && works_in_tab;
        let found = targets::find_tab(&self.sight(&caller.owner), current.as_ref(), selector);
        // What the person is shown and asked is recorded.
        if let Ok((_, tab)) = &found
            && tab.private
        {
            let names_it = selector.tab.is_some()
                || matches!(work, CommandWork::Ask { ask: PersonAsk::HandOver { .. } });
            let why = RefusalReason::NotInPrivate { tab: tab.tab_id };
            return if names_it { Err(why) } else { Ok(TargetSelector::default()) };
        }
        if matches!(work, CommandWork::Ask { ask: PersonAsk::HandOver { .. } }) {
            return self.place_of_step(caller, found?);
        }
        match found {
            Ok((browser, tab)) if selector.tab.is_some() || is_about_page => Ok(TargetSelector {
                browser: Some(browser.as_str().to_owned()),
                tab: Some(tab.tab_id),
            }),
            Err(why) if selector.tab.is_some() => Err(why),
            // A question needs no page.
            Ok(_) | Err(_) => Ok(TargetSelector::default()),
        }
    }

    /// Shows the open questions in all browsers. An extension that does not know the frame answers
    /// with a `nack`, which does no harm.
    pub(super) fn show_asks(&mut self) {
        let here = self.browsers.iter().filter(|(_, browser)| browser.is_ready());
        let mut here: Vec<_> = here.map(|(id, _)| id.clone()).collect();
        here.sort_unstable();
        for browser in here {
            let asks = self.asks_for(&browser);
            self.send(&browser, ToExtension::Asks { asks });
        }
    }

    /// The same for a browser that has just connected and therefore knows of none.
    pub(super) fn show_asks_to_newcomer(&mut self, browser: &BrowserId) {
        let asks = self.asks_for(browser);
        if !asks.is_empty() {
            self.send(browser, ToExtension::Asks { asks });
        }
    }

    /// Ends the questions about tabs that a connected browser no longer has.
    pub(super) fn end_asks_of_closed_tabs(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser).filter(|known| known.is_connected()) else {
            return;
        };
        let open: HashSet<_> = known.tabs().iter().map(|tab| tab.tab_id).collect();
        self.end_asks_but(browser, &open);
    }

    /// Ends the questions about tabs of a browser other than these.
    pub(super) fn end_asks_but(&mut self, browser: &BrowserId, kept: &HashSet<TabId>) {
        let is_lost = |id: &CorrelationId| {
            self.tab_of_ask(id).is_some_and(|(of, tab)| of == browser && !kept.contains(&tab))
        };
        let asks = self.open_asks().into_iter().map(|(command, _)| command.spec().id.clone());
        let lost: Vec<_> = asks.filter(is_lost).collect();
        for id in lost {
            self.apply(&id, LifecycleEvent::Finish(tab_closed()));
        }
    }
}

/// The question that the person has to answer before a command ends or goes on.
pub(super) fn open_question(command: &Command) -> Option<PersonAsk> {
    match (&command.spec().work, command.phase()) {
        (CommandWork::Ask { ask }, CommandPhase::Waiting) => Some(ask.clone()),
        (_, _) => question_about(command),
    }
}

/// Since when a question is open.
fn asked_at(command: &Command) -> Timestamp {
    command.hold().map_or(command.spec().created, |hold| hold.since)
}

fn complete(result: &AskResult) -> CommandOutcome {
    let result = to_raw_value(result).unwrap_or_default().into();
    CommandOutcome::Complete { result, origin: None }
}

fn declined() -> CommandOutcome {
    let error = ReportedError::new("declined_by_user", "The user does not answer this question");
    CommandOutcome::Error { error: error.into() }
}

fn tab_closed() -> CommandOutcome {
    let hint = "See which tabs are open with observe({what:\"tabs\"}), and ask again if the question \
                still stands.";
    let error = ReportedError::new("tab_closed", "The tab was closed before the user answered");
    let error = ReportedError { hint: Some(hint.to_owned()), ..error };
    CommandOutcome::Error { error: error.into() }
}
