//! Extensions that only poll.
//!
//! Such an extension names a session, one for each run of its worker, and polls about once a second.
//! The answer to a poll is the delivery. It holds one command at most, because the extension runs
//! several commands of one answer one after another. The extension has no secret, so the edge decides
//! whether it may poll.

use super::sessions::{Assignment, PollId, Poller, first_browser_of, is_browser_of};
use crate::engine::analyses::redact_report;
use crate::engine::browsers::BrowserState;
use crate::engine::entry::JournalSeq;
use crate::engine::refusal::RefusalReason;
use crate::engine::{Engine, Transaction, targets};
use crate::lifecycle::{Command, CommandWork, Delivery, EventReply, Lane, LifecycleEvent, Peer};
use crate::protocol::{
    Attempt, BrowserId, CorrelationId, ExtensionReport, InstanceId, LEGACY_ACTIONS, LegacyAction,
    LegacyQuery, LegacyReport, NackReason, ReportedError, Timestamp, Transport, plain_version,
};

/// The label of a browser whose extension only polls. Nothing in it comes from the extension, which
/// has proved nothing.
const POLLER_LABEL: &str = "Older extension";

/// A poll.
#[derive(Clone, Debug)]
pub struct PollRequest {
    /// The session of the extension's worker.
    pub session: InstanceId,
    /// The version that the extension says it has.
    pub extension_version: String,
    /// Whether the person lets it be controlled.
    pub is_pilot_on: bool,
    /// The transport of the poll.
    pub transport: Transport,
}

/// The disposition of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportDisposition {
    /// It counts, or repeats the report that counts.
    Accepted,
    /// It does not count.
    Refused(NackReason),
}

/// A pending command, in the little detail that any process on this computer may see.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PendingQuerySummary {
    /// The beginning of its short id.
    pub id: String,
    /// Its action.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Milliseconds since it was accepted.
    pub age_ms: u64,
}

impl Engine {
    /// The extension that has named this session as its own.
    #[must_use]
    pub fn extension_of(&self, session: &InstanceId) -> Option<String> {
        self.sessions.extension_of(session)
    }

    /// The browser in which this extension was last active. Its posts about pages name no session.
    #[must_use]
    pub fn browser_with(&self, extension_id: &str) -> BrowserId {
        let known = self.browsers.iter().filter(|(id, _)| is_browser_of(id, extension_id));
        let last = known.max_by_key(|(_, browser)| browser.last_seen());
        last.map_or_else(|| first_browser_of(extension_id), |(id, _)| id.clone())
    }

    /// The pending commands for callers without a token, oldest first.
    #[must_use]
    pub fn pending_queries(&self, now: Timestamp) -> Vec<PendingQuerySummary> {
        let all = self.commands.all().filter_map(|command| {
            let spec = command.spec();
            (!command.phase().is_terminal()).then(|| PendingQuerySummary {
                id: spec.query_id.as_str().chars().take(6).chain(['…']).collect(),
                kind: spec.work.name(),
                age_ms: u64::try_from(now.since(spec.created).as_millis()).unwrap_or(u64::MAX),
            })
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|pending_queries| std::cmp::Reverse(pending_queries.age_ms));
        all
    }

    /// Whether a command that waits for any browser can go to this one. An extension that polls cannot
    /// be sent to a tab, and knows few actions.
    pub(in crate::engine) fn suits(&self, browser: &BrowserId, id: &CorrelationId) -> bool {
        let Some(known) = self.browsers.get(browser) else { return false };
        if known.poller().is_none() {
            return true;
        }
        let names_tab = self.scheduler.has_named_tab(id);
        let Some(command) = self.commands.get(id) else { return false };
        let knows = |work: &CommandWork| work.action().is_some_and(|action| known.supports(action));
        !names_tab && knows(&command.spec().work)
    }
}

impl Transaction<'_> {
    /// Notes that an extension named this session as its own.
    pub fn name_session(&mut self, extension_id: &str, session: &InstanceId) {
        let now = self.now();
        self.sessions.name(session, extension_id);
        let is_its = |poller: &Poller| poller.peer.instance == *session;
        let mut browsers = self.browsers.values_mut();
        if let Some(browser) = browsers.find(|b| b.poller().is_some_and(is_its)) {
            // It names its session in a request of its own, which shows as well that it is there.
            browser.touch(now);
        }
    }

    /// Answers a poll with the next command for this extension, if there is one. Returns its browser;
    /// `None`: no extension has named this session.
    pub fn poll(&mut self, id: PollId, poll: &PollRequest) -> Option<BrowserId> {
        // A poll names its session only.
        let extension_id = self.sessions.extension_of(&poll.session)?;
        let browser = self.begin_poll(id, extension_id, poll)?;
        self.deliver_all(&browser);
        Some(browser)
    }

    /// Finds the browser that polls; from here on it may get a command. `None`: there is none.
    pub(in crate::engine) fn begin_poll(
        &mut self,
        id: PollId,
        extension_id: String,
        poll: &PollRequest,
    ) -> Option<BrowserId> {
        let browser = self.browser_of(&extension_id, &poll.session);
        self.take_over(&browser, extension_id, poll);
        let now = self.now();
        let known = self.browsers.get_mut(&browser)?;
        // Nothing that an extension without proof sends is shown, except for digits and points.
        known.attach_poller(plain_version(&poll.extension_version), now);
        let poller = known.poller_mut()?;
        // Said with every poll, because the person may switch it at any time.
        poller.is_pilot_on = poll.is_pilot_on;
        poller.transport = poll.transport;
        let is_back = poller.polled(now);
        poller.open(id);
        if is_back {
            self.welcome_poller(&browser);
        }
        Some(browser)
    }

    /// Removes a request, which gets no command.
    pub fn close_poll(&mut self, browser: &BrowserId, poll: PollId) {
        let poller = self.browsers.get_mut(browser).and_then(|known| known.poller_mut());
        if let Some(poller) = poller {
            poller.close(poll);
        }
    }

    /// Answers all waiting requests without a command.
    pub(in crate::engine) fn end_waiting_polls(&mut self) {
        let pollers = self.browsers.values_mut().filter_map(|known| known.poller_mut());
        let answers: Vec<_> = pollers.flat_map(Poller::close_all).collect();
        self.effects().polls.extend(answers);
    }

    /// Puts back a command whose answer could not be sent: the extension has never seen it.
    pub fn take_back(&mut self, id: &CorrelationId, attempt: Attempt) {
        // Only this delivery: the command may have been put back and delivered again since.
        if self.commands.attempt_of(id) == Some(attempt) {
            self.apply(id, LifecycleEvent::LinkClosed);
        }
    }

    /// A poller has connected: commands and waits for any browser may go to it.
    fn welcome_poller(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser) else { return };
        tracing::info!(%browser, version = known.extension_version(), "an extension polls");
        let own = POLLER_LABEL.to_owned();
        let label = targets::label_for(&self.browsers, &self.browser_names, browser, &own);
        if let Some(known) = self.browsers.get_mut(browser) {
            known.set_label(label, own);
            known.set_actions(LEGACY_ACTIONS.map(str::to_owned).to_vec());
        }
        self.tell_older_extensions();
        self.assign_open_waits(browser);
        self.place_waiting(browser);
        // The timer must notice when it stops polling.
        self.effects().is_sooner = true;
    }

    /// Answers a request with a command that was just delivered. The engine itself reports an error
    /// on a command that the extension would never answer, or would run in the wrong tab.
    pub(in crate::engine) fn hand_to_poller(
        &mut self,
        peer: &Peer,
        command: &Command,
        lane: &Lane,
    ) {
        let spec = command.spec();
        let timeout_ms = u64::try_from(spec.timeout.as_millis()).unwrap_or(u64::MAX);
        let known = spec.work.action().and_then(|action| action.in_legacy_words(timeout_ms));
        // A call may have named a tab while this extension was away.
        let known = known.filter(|_| lane.tab.is_none());
        let Some(LegacyAction { kind, params, says_pending }) = known else {
            return self.answer_for_poller(peer, command, lane);
        };
        let query = LegacyQuery {
            id: spec.query_id.clone(),
            correlation_id: says_pending.then(|| spec.id.clone()),
            kind,
            params,
        };
        let Some(delivery) = command.delivery() else { return };
        let assignment = Assignment {
            id: spec.id.clone(),
            attempt: delivery.attempt,
            query: Box::new(query),
            after: self.commands.recorded(&spec.id),
        };
        let poller = self.browsers.get_mut(&peer.browser).and_then(|b| b.poller_mut());
        match poller.map(|poller| poller.assign(assignment)) {
            Some(Ok(answers)) => self.effects().polls.extend(answers),
            Some(Err(Assignment { id, attempt, .. })) => self.take_back(&id, attempt),
            None => {}
        }
    }

    fn answer_for_poller(&mut self, peer: &Peer, command: &Command, lane: &Lane) {
        let spec = command.spec();
        let (code, message, hint) = match lane.tab {
            Some(tab) => (
                "no_such_tab",
                format!(
                    "The extension of this browser is an old one that cannot be told to act in tab {tab}"
                ),
                "Leave `tab_id` out to act in the tab that it follows.",
            ),
            None => {
                let known = self.browsers.get(&peer.browser);
                let version = known.map_or("unknown", BrowserState::extension_version);
                (
                    "unsupported_action",
                    RefusalReason::too_old_for(spec.work.name(), version),
                    RefusalReason::NEEDS_OWN_EXTENSION,
                )
            }
        };
        let error = ReportedError {
            hint: Some(hint.to_owned()),
            may_have_run: Some(false),
            ..ReportedError::new(code, message)
        };
        let Some(attempt) = command.delivery().map(|delivery| delivery.attempt) else { return };
        let report = ExtensionReport::Error { error };
        self.apply(&spec.id, LifecycleEvent::Report(peer.clone(), attempt, report));
    }

    /// Applies a report of an extension that polls. Returns its disposition, and the journal entry
    /// that records it.
    pub fn take_report(
        &mut self,
        extension_id: &str,
        report: LegacyReport,
    ) -> (ReportDisposition, JournalSeq) {
        let unknown =
            (ReportDisposition::Refused(NackReason::UnknownCommand), JournalSeq::default());
        let Some(id) = report.names().find_map(|name| self.commands.named(name)) else {
            tracing::debug!(extension_id, "a report on a command that nobody knows");
            return unknown;
        };
        let Some(command) = self.commands.get(&id) else { return unknown };
        let (delivery, action) =
            (command.delivery().cloned(), command.spec().work.action().cloned());
        // It has no secret, so it may report on nothing but commands that it got by polling.
        let is_its = |delivery: &&Delivery| {
            delivery.transport.runs_at_once() && is_browser_of(&delivery.peer.browser, extension_id)
        };
        let (Some(delivery), Some(action)) = (delivery.as_ref().filter(is_its), action) else {
            return (ReportDisposition::Refused(NackReason::StaleAttempt), JournalSeq::default());
        };
        let now = self.now();
        if let Some(browser) = self.browsers.get_mut(&delivery.peer.browser) {
            browser.touch(now);
        }
        let mut report = report.into_report(&action);
        redact_report(&action, &mut report);
        let event = LifecycleEvent::Report(delivery.peer.clone(), delivery.attempt, report);
        let taken = match self.apply(&id, event) {
            Some(EventReply::Nack(reason)) => ReportDisposition::Refused(reason),
            Some(_) => ReportDisposition::Accepted,
            None => return unknown,
        };
        (taken, self.commands.recorded(&id))
    }
}
