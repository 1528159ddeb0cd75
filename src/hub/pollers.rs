//! Extensions that only poll.
//!
//! Such an extension names a session, one for each life of its worker, and asks for work
//! about once a second. The answer to a poll is the delivery: one command at most, since it
//! runs those of one answer one after another. It keeps no secret; whether it may poll is
//! for the edge to find out.

use tokio::sync::oneshot;

use super::analyses::take_secrets_out;
use super::desk::Desk;
use super::sessions::{Assignment, PollSlot, Poller, first_browser_of, is_browser_of};
use super::{Hub, targets};
use crate::journal::{Seq, Trouble};
use crate::lifecycle::{Command, Event, Hold, Lane, Peer, Reply, Work};
use crate::protocol::{
    Attempt, BrowserId, Carrier, CorrelationId, ExtensionReport, InstanceId, LEGACY_ACTIONS,
    LegacyAction, LegacyQuery, LegacyReport, NackReason, ReportedError, plain_version,
};

/// What a browser is shown as whose extension only polls: nothing that it says itself.
const POLLER_LABEL: &str = "Older extension";

/// One poll.
#[derive(Clone, Debug)]
pub struct Poll {
    /// Which life of the extension's worker asks.
    pub session: InstanceId,
    /// The version that the extension says it has.
    pub extension_version: String,
    /// Whether the person lets it be controlled.
    pub is_pilot_on: bool,
    /// How it asks.
    pub carrier: Carrier,
}

/// A request that may be answered with a command. Dropped before it is, it gives back the one
/// that it was to be answered with: its extension has not seen it.
#[derive(Debug)]
pub(super) struct OpenPoll {
    hub: Hub,
    pub(super) browser: BrowserId,
    number: u64,
    /// Until it is closed.
    assigned: Option<oneshot::Receiver<Assignment>>,
    /// What it is to be answered with.
    assignment: Option<Assignment>,
}

impl OpenPoll {
    /// Returns once it has been given a command, or nothing can come any more.
    ///
    /// Cancel safe.
    pub(super) async fn wait(&mut self) {
        if let Some(assigned) = self.assigned.as_mut() {
            self.assignment = assigned.await.ok();
            self.assigned = None;
        }
    }

    /// The command that it was given, if it was. When this returns, its delivery is recorded.
    pub(super) async fn finish(mut self) -> Option<LegacyQuery> {
        self.close();
        let Assignment { id, after, .. } = self.assignment.as_ref()?;
        match self.hub.0.journal.recorded(*after).await {
            Ok(()) => self.assignment.take().map(|assignment| *assignment.query),
            Err(trouble) => {
                tracing::warn!(%trouble, %id, "a command is not delivered: that cannot be recorded");
                None
            }
        }
    }

    pub(super) const fn hub(&self) -> &Hub {
        &self.hub
    }

    fn close(&mut self) {
        if let Some(mut assigned) = self.assigned.take() {
            self.hub.with_desk(|desk| desk.close_poll(&self.browser, self.number));
            self.assignment = assigned.try_recv().ok();
        }
    }
}

impl Drop for OpenPoll {
    fn drop(&mut self) {
        self.close();
        if let Some(Assignment { id, attempt, .. }) = self.assignment.take() {
            self.hub.with_desk(|desk| desk.take_back(&id, attempt));
        }
    }
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts, or it is the one that counts already.
    Accepted,
    /// It does not.
    Refused(NackReason),
}

/// A command that is not over, as anybody on this computer may see it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Glimpse {
    /// The beginning of its second name.
    pub id: String,
    /// Its action.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Milliseconds since it was accepted.
    pub age_ms: u64,
}

impl Hub {
    /// Notes that an extension named this session as its own.
    pub fn name_session(&self, extension_id: &str, session: &InstanceId) {
        self.with_desk(|desk| {
            desk.sessions.name(session, extension_id);
            let now = desk.now();
            let is_its = |poller: &Poller| poller.peer.instance == *session;
            let mut browsers = desk.browsers.values_mut();
            if let Some(browser) = browsers.find(|b| b.poller.as_ref().is_some_and(is_its)) {
                browser.last_seen = now;
            }
        });
    }

    /// The extension that has named this session as its own.
    #[must_use]
    pub fn extension_of(&self, session: &InstanceId) -> Option<String> {
        self.with_desk(|desk| desk.sessions.extension_of(session))
    }

    /// The browser in which this extension was heard of last: what it posts of pages does not
    /// say which session it is of.
    #[must_use]
    pub fn browser_with(&self, extension_id: &str) -> BrowserId {
        self.with_desk(|desk| {
            let known = desk.browsers.iter().filter(|(id, _)| is_browser_of(id, extension_id));
            let last = known.max_by_key(|(_, browser)| browser.last_seen);
            last.map_or_else(|| first_browser_of(extension_id), |(id, _)| id.clone())
        })
    }

    /// Answers a poll: with the next command for this extension, if there is one. When this
    /// returns, its delivery is recorded.
    pub async fn poll(&self, poll: Poll) -> Option<LegacyQuery> {
        let open = self.with_desk(|desk| {
            let extension_id = desk.sessions.extension_of(&poll.session)?;
            let open = desk.begin_poll(self, extension_id, &poll)?;
            desk.deliver_all(&open.browser);
            Some(open)
        })?;
        open.finish().await
    }

    /// Takes what an extension that polls posts of a command. When this returns, what it
    /// leads to is recorded.
    ///
    /// # Errors
    ///
    /// [`Trouble`]: it counts, but that cannot be recorded for now. Posted again, it is
    /// accepted once it can.
    pub async fn take_report(
        &self,
        extension_id: &str,
        report: LegacyReport,
    ) -> Result<Verdict, Trouble> {
        let (taken, seq) = self.with_desk(|desk| desk.take_report(extension_id, report));
        self.0.journal.recorded(seq).await?;
        Ok(taken)
    }

    /// The commands that are not over, for a look from outside.
    #[must_use]
    pub fn glimpse(&self) -> Vec<Glimpse> {
        let now = self.now();
        let all = self.0.commands.iter().filter_map(|entry| {
            let command = entry.value().borrow();
            let facts = command.facts();
            (!command.phase().is_terminal()).then(|| Glimpse {
                id: facts.query_id.as_str().chars().take(6).chain(['…']).collect(),
                kind: facts.work.name(),
                age_ms: u64::try_from(now.since(facts.created).as_millis()).unwrap_or(u64::MAX),
            })
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|glimpse| std::cmp::Reverse(glimpse.age_ms));
        all
    }
}

/// What pollers do at the desk.
impl Desk<'_> {
    /// Finds the browser that polls; from here on it may have a command. `None`: it is gone.
    pub(super) fn begin_poll(
        &mut self,
        hub: &Hub,
        extension_id: String,
        poll: &Poll,
    ) -> Option<OpenPoll> {
        let browser = self.browser_of(&extension_id, &poll.session);
        self.take_over(&browser, extension_id, poll);
        let now = self.now();
        let number = self.next_link();
        let (assigned, receiver) = oneshot::channel();
        let known = self.browsers.get_mut(&browser)?;
        // It can say anything there; the browser's name for itself is not kept at all.
        plain_version(&poll.extension_version).clone_into(&mut known.extension_version);
        known.last_seen = now;
        let poller = known.poller.as_mut()?;
        poller.is_pilot_on = poll.is_pilot_on;
        poller.carrier = poll.carrier;
        let is_back = poller.polled(now);
        poller.slots.push(PollSlot { number, assigned });
        if is_back {
            self.welcome_poller(&browser);
        }
        let hub = hub.clone();
        Some(OpenPoll { hub, browser, number, assigned: Some(receiver), assignment: None })
    }

    /// Delivers what may be delivered to the browser that polls. What its extension would never
    /// answer is answered for it, and the next one has its turn.
    pub(super) fn deliver_all(&mut self, browser: &BrowserId) {
        while self.deliver_next(browser) {}
    }

    /// Lets this request have no command from here on.
    fn close_poll(&mut self, browser: &BrowserId, number: u64) {
        let poller = self.browsers.get_mut(browser).and_then(|known| known.poller.as_mut());
        if let Some(poller) = poller {
            poller.slots.retain(|slot| slot.number != number);
        }
    }

    /// Puts a command back that a request was to be answered with and was not: its extension has
    /// never seen it.
    fn take_back(&mut self, id: &CorrelationId, attempt: Attempt) {
        if self.attempt_of(id) == Some(attempt) {
            self.apply(id, Event::LinkClosed);
        }
    }

    /// It polls again, or for the first time: what waited for it, or for any, may go to it.
    fn welcome_poller(&mut self, browser: &BrowserId) {
        let Some(known) = self.browsers.get(browser) else { return };
        tracing::info!(%browser, version = known.extension_version, "an extension polls");
        let own = POLLER_LABEL.to_owned();
        let label = targets::label_for(&self.browsers, browser, &own);
        if let Some(known) = self.browsers.get_mut(browser) {
            (known.label, known.own_label) = (label, own);
            known.actions = LEGACY_ACTIONS.map(str::to_owned).to_vec();
        }
        self.tell_older_extensions();
        self.hold_open_waits(browser);
        self.place_waiting(browser);
        // It has to be seen when it polls no more.
        self.inner.sooner.notify_one();
    }

    /// Hands a command that was just delivered to the poll that is being answered. One that
    /// the extension would never answer, or would run in another tab, is answered for it.
    pub(super) fn hand_to_poller(&mut self, peer: &Peer, command: &Command, lane: &Lane) {
        let facts = command.facts();
        let timeout_ms = u64::try_from(facts.timeout.as_millis()).unwrap_or(u64::MAX);
        let known = facts.work.action().and_then(|action| LegacyAction::of(action, timeout_ms));
        let known = known.filter(|_| lane.tab.is_none());
        let Some(LegacyAction { kind, params, says_pending }) = known else {
            return self.answer_for_poller(peer, command, lane);
        };
        let query = LegacyQuery {
            id: facts.query_id.clone(),
            correlation_id: says_pending.then(|| facts.id.clone()),
            kind,
            params,
        };
        let Some(hold) = command.hold() else { return };
        let after = self.inner.commands.get(&facts.id).map(|entry| entry.recorded());
        let assignment = Assignment {
            id: facts.id.clone(),
            attempt: hold.attempt,
            query: Box::new(query),
            after: after.unwrap_or_default(),
        };
        let poller = self.browsers.get_mut(&peer.browser).and_then(|b| b.poller.as_mut());
        // Every request closes its slot before it goes: there is always one that listens.
        let unheard = poller.map_or(Ok(()), |poller| poller.assign(assignment));
        if let Err(Assignment { id, attempt, .. }) = unheard {
            self.take_back(&id, attempt);
        }
    }

    fn answer_for_poller(&mut self, peer: &Peer, command: &Command, lane: &Lane) {
        let facts = command.facts();
        let (code, message, hint) = match lane.tab {
            Some(tab) => (
                "no_such_tab",
                format!(
                    "The extension of this browser is an old one that cannot be told to act in tab {tab}"
                ),
                "Leave `tab_id` out to act in the tab that it follows.",
            ),
            None => (
                "unknown_action",
                format!(
                    "The extension of this browser is an old one that knows no {}",
                    facts.work.name()
                ),
                "observe({what:\"browsers\"}) lists the actions that it knows. The Tabwire extension \
                 knows all (`tabwire install` says how to load it).",
            ),
        };
        let error = ReportedError {
            hint: Some(hint.to_owned()),
            may_have_run: Some(false),
            ..ReportedError::new(code, message)
        };
        let Some(attempt) = command.hold().map(|hold| hold.attempt) else { return };
        let report = ExtensionReport::Error { error };
        self.apply(&facts.id, Event::Report(peer.clone(), attempt, report));
    }

    pub(super) fn take_report(
        &mut self,
        extension_id: &str,
        report: LegacyReport,
    ) -> (Verdict, Seq) {
        let unknown = (Verdict::Refused(NackReason::UnknownCommand), Seq::default());
        let Some(id) = report.names().find_map(|name| self.named(name)) else {
            tracing::debug!(extension_id, "a report on a command that nobody knows");
            return unknown;
        };
        let Some(tracked) = self.inner.commands.get(&id).map(|entry| entry.clone()) else {
            return unknown;
        };
        let (hold, action) = {
            let command = tracked.borrow();
            (command.hold().cloned(), command.facts().work.action().cloned())
        };
        let is_its = |hold: &&Hold| {
            hold.carrier.runs_at_once() && is_browser_of(&hold.by.browser, extension_id)
        };
        let (Some(hold), Some(action)) = (hold.as_ref().filter(is_its), action) else {
            return (Verdict::Refused(NackReason::StaleAttempt), Seq::default());
        };
        let now = self.now();
        if let Some(browser) = self.browsers.get_mut(&hold.by.browser) {
            browser.last_seen = now;
        }
        let mut report = report.into_report(&action);
        take_secrets_out(&action, &mut report);
        let event = Event::Report(hold.by.clone(), hold.attempt, report);
        let taken = match self.apply(&id, event) {
            Some(Reply::Nack(reason)) => Verdict::Refused(reason),
            Some(_) => Verdict::Accepted,
            None => return unknown,
        };
        (taken, tracked.recorded())
    }

    /// The command of this name, its first or its second.
    fn named(&self, name: &str) -> Option<CorrelationId> {
        let id = CorrelationId::from(name);
        if self.inner.commands.contains_key(&id) {
            return Some(id);
        }
        let is_it = |command: &Command| command.facts().query_id.as_str() == name;
        let mut all = self.inner.commands.iter();
        all.find(|entry| is_it(&entry.value().borrow())).map(|entry| entry.key().clone())
    }

    /// Whether a command that waits for any browser can go to this one: one that polls is
    /// told neither of tabs nor of what it does not know.
    pub(super) fn suits(&self, browser: &BrowserId, id: &CorrelationId) -> bool {
        let Some(known) = self.browsers.get(browser) else { return false };
        if known.poller.is_none() {
            return true;
        }
        let names_tab = self.wishes.get(id).is_some_and(|wish| wish.tab.is_some());
        let Some(tracked) = self.inner.commands.get(id) else { return false };
        let knows = |work: &Work| work.action().is_some_and(|action| known.knows(action));
        !names_tab && knows(&tracked.borrow().facts().work)
    }
}
