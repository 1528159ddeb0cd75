//! Submission: a call is accepted in full, or refused with a reason and without any change.

use std::sync::Arc;
use std::time::Duration;

use super::browsers::BrowserState;
use super::effects::CommandUpdate;
use super::entry::{AcceptedCommand, JournalEntry, JournalSeq, LARGE};
use super::history::RecordedKey;
use super::refusal::{CallRefusal, RefusalReason};
use super::{Caller, Engine, Transaction, targets};
use crate::lifecycle::{
    CallKey, Command, CommandSpec, CommandWork, Lane, LifecycleEvent, TargetSelector, limits,
};
use crate::protocol::actions::ExecuteJsAction;
use crate::protocol::{Action, CommandAim, CorrelationId, FailedCommand, QueryId, TraceContext};

/// A call for an action.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The action.
    pub action: Action,
    /// The browser and tab that the call names.
    pub selector: TargetSelector,
    /// How long it may run; at most [`limits::EXECUTE_MAX`].
    pub timeout: Duration,
    /// The same call under the same key from the same client within [`limits::IDEMPOTENT`] is
    /// the same command: 1 to 128 visible ASCII characters.
    pub idempotency_key: Option<Arc<str>>,
    /// Whether the client is to tell its tabs apart: an act gives it the lease of the tab that the call
    /// names, and a call that names none is refused while the client uses several.
    pub takes_tab: bool,
    /// What becomes of dialogs that it meets; `None`: as its client has chosen.
    pub dialogs: Option<DialogHandling>,
    /// The place of the call in a trace of its client.
    pub trace_context: Option<TraceContext>,
    /// How long the run of the daemon may have lasted, sleep of the machine included, when the command is
    /// recorded. Later it is refused: its client has stopped waiting for it.
    pub record_by: Option<Duration>,
}

/// The part of a tool call's request that is not in its arguments.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    /// The idempotency key of a call whose arguments have none.
    pub key: Option<Arc<str>>,
    /// See [`Submission::trace_context`].
    pub trace_context: Option<TraceContext>,
    /// See [`Submission::record_by`].
    pub record_by: Option<Duration>,
}

/// What becomes of the dialogs that a command meets.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum DialogHandling {
    #[default]
    Dismiss,
    Hold,
}

impl Submission {
    /// A call that says nothing but its action: in the client's current tab, within the usual time.
    #[must_use]
    pub fn of(action: Action) -> Self {
        Self {
            action,
            selector: TargetSelector::default(),
            timeout: limits::EXECUTE,
            idempotency_key: None,
            takes_tab: false,
            dialogs: None,
            trace_context: None,
            record_by: None,
        }
    }

    /// Whether its journal entry is so large that only one such entry is written at a time.
    pub(crate) fn is_large(&self) -> bool {
        // The usual long one: it need not be written as JSON to be measured.
        if let Action::ExecuteJs(ExecuteJsAction { script, .. }) = &self.action {
            return script.len() > LARGE;
        }
        self.action.params().get().len() > LARGE
    }

    /// Its idempotency key. A long script takes time to hash, so call this without the lock.
    #[must_use]
    pub fn key(&self) -> Option<CallKey> {
        let key = self.idempotency_key.clone()?;
        CallKey::of(Some(key), &CommandWork::Browser(self.action.clone()), &self.selector)
    }
}

/// The receipt for an accepted command.
#[derive(Clone, Debug)]
pub struct CommandReceipt {
    /// The id of the command.
    pub id: CorrelationId,
    /// Its short id.
    pub query_id: QueryId,
    /// How long it usually takes.
    pub estimate: Duration,
    /// Whether its browser is connected.
    pub reachable: bool,
}

/// An accepted submission that the journal may not have recorded yet.
#[derive(Clone, Debug)]
pub struct SubmittedCommand {
    /// The receipt.
    pub accepted: CommandReceipt,
    /// The journal entry of its acceptance.
    pub recorded: JournalSeq,
    pub(super) is_new: bool,
}

impl SubmittedCommand {
    /// Whether this call created the command. False: it repeats an earlier call under its key.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.is_new
    }
}

impl Engine {
    /// The name, tab and target of a command, for lists.
    #[must_use]
    pub fn aim_of(&self, id: &CorrelationId) -> CommandAim {
        let tab = self.scheduler.lane_of(id).and_then(|lane| lane.tab);
        self.commands.get(id).map(|command| command.spec().work.aim(tab)).unwrap_or_default()
    }
}

impl Transaction<'_> {
    /// Notes why the journal cannot be written, if it cannot. Until it can, new calls are refused.
    pub fn note_storage(&mut self, trouble: Option<Arc<str>>) {
        self.storage_failure = trouble;
    }

    /// Accepts a command, and sends it at once if its lane is free (rows 1 and 2).
    ///
    /// # Errors
    ///
    /// [`CallRefusal`]: nothing has changed.
    pub fn submit(
        &mut self,
        caller: &Caller,
        call: Submission,
        key: Option<CallKey>,
    ) -> Result<SubmittedCommand, CallRefusal> {
        self.try_accept(caller, &call, key).map_err(|why| {
            let aim = CommandWork::Browser(call.action).aim(call.selector.tab);
            self.refuse_call(caller, why, aim)
        })
    }

    fn try_accept(
        &mut self,
        caller: &Caller,
        call: &Submission,
        key: Option<CallKey>,
    ) -> Result<SubmittedCommand, RefusalReason> {
        let Submission { action, timeout, .. } = call;
        let estimate = self.run_lengths.estimate(action);
        let work = CommandWork::Browser(action.clone());
        // First of all: a repeated call gets its answer even while new calls are refused.
        if let Some(known) = self.find_key(caller, key.as_ref(), &work, estimate) {
            return known;
        }
        self.check_accepting(caller, call.record_by)?;
        self.check_opens_no_own_page(action)?;
        let queued = self.scheduler.queued(&caller.client);
        if self.scheduler.is_full_for(&caller.client, &self.limits) {
            // About the time in which one of the queued commands ends.
            let retry_after = estimate.clamp(Duration::from_millis(100), Duration::from_secs(5));
            return Err(RefusalReason::QueueFull { queued, retry_after });
        }
        let selector = &self.within_pin(caller, &call.selector)?;
        let selector = &self.with_tab_of_ref(caller, selector, action);
        if call.takes_tab && !action.is_browser_wide() {
            self.check_tab_named(caller, selector)?;
        }
        let current = self.client(caller).current();
        let lane = {
            let sight = self.sight(&caller.owner);
            targets::resolve(&sight, current.as_ref(), selector, action)?
        };
        if let Some(browser) = lane.as_ref().and_then(|lane| self.browsers.get(&lane.browser)) {
            let label = || browser.label().to_owned();
            // Refused and not queued: only the person ends a stop (decision 251).
            if browser.is_stopped() {
                return Err(RefusalReason::StoppedByUser { browser: label() });
            }
            if browser.is_quarantined() {
                return Err(RefusalReason::ExtensionChanged { browser: label() });
            }
        }
        self.check_lease(caller, lane.as_ref(), action)?;
        // Nothing below can fail: a refused call must have changed nothing.
        self.use_lease(
            caller,
            lane.as_ref(),
            action,
            call.takes_tab && call.selector.tab.is_some(),
        );
        let handling = call.dialogs.unwrap_or_else(|| self.client(caller).dialogs());
        let holds_dialogs = handling == DialogHandling::Hold;
        // Whoever answers a dialog has to read it and to think.
        let is_usual = holds_dialogs && *timeout == limits::EXECUTE;
        let timeout = if is_usual { limits::EXECUTE_HOLDING } else { *timeout };
        let mut spec = self.new_spec(caller, work, timeout.min(limits::EXECUTE_MAX));
        spec.holds_dialogs = holds_dialogs;
        spec.trace_context.clone_from(&call.trace_context);
        spec.is_private = action.opens_private_tab()
            || lane.as_ref().is_some_and(|lane| {
                lane.tab.is_some_and(|tab| self.is_private_tab(&lane.browser, tab))
            });
        let (id, query_id) = (spec.id.clone(), spec.query_id.clone());
        let reachable = self.accept(caller, spec, lane, selector.clone(), key);
        if matches!(action, Action::DrawMode(_)) {
            // The wait that it belongs to may have ended already.
            self.cancel_stale_draw_modes(&caller.client);
        }
        let recorded = self.commands.accepted(&id);
        let accepted = CommandReceipt { id, query_id, estimate, reachable };
        Ok(SubmittedCommand { accepted, recorded, is_new: true })
    }

    /// The specification of a new command.
    pub(super) fn new_spec(
        &mut self,
        caller: &Caller,
        work: CommandWork,
        timeout: Duration,
    ) -> CommandSpec {
        // Nobody may guess the public id, so it has 128 random bits; the short id has 64.
        let name = self.names.next_name();
        let (long, rest) = name.split_at(32);
        let (short, _) = rest.split_at(16);
        CommandSpec {
            id: self.id_of(work.id_kind(), long),
            query_id: format!("q_{short}").into(),
            owner: caller.owner.clone(),
            client: caller.client.clone(),
            params: work.params(),
            work,
            timeout,
            holds_dialogs: false,
            scope: self.scope_of(&caller.owner),
            is_private: false,
            trace_context: None,
            created: self.now(),
            asleep: Some(self.sleep.total()),
        }
    }

    /// The command that this call repeats, by its key.
    pub(super) fn find_key(
        &self,
        caller: &Caller,
        call: Option<&CallKey>,
        work: &CommandWork,
        estimate: Duration,
    ) -> Option<Result<SubmittedCommand, RefusalReason>> {
        let call = call?;
        let known = self.keys.find(caller, &call.key, self.now())?;
        let (id, query_id) = (known.id.clone(), known.query_id.clone());
        if !known.is_of(call) {
            // The other command's id as an answer would be a lie (decision 97).
            return Some(Err(RefusalReason::KeyReused { id }));
        }
        let browser = self.scheduler.lane_of(&id).and_then(|lane| self.browsers.get(&lane.browser));
        let needs_none = work.action().is_none();
        let reachable = needs_none || browser.is_some_and(BrowserState::is_connected);
        // Not the entry of a later change, which this call did not ask for (decision 104).
        let recorded = self.commands.accepted(&id);
        let accepted = CommandReceipt { id, query_id, estimate, reachable };
        Some(Ok(SubmittedCommand { accepted, recorded, is_new: false }))
    }

    /// Checks that the daemon accepts new commands from this caller, in time.
    pub(super) fn check_accepting(
        &self,
        caller: &Caller,
        record_by: Option<Duration>,
    ) -> Result<(), RefusalReason> {
        if record_by.is_some_and(|by| by < self.run_time()) {
            return Err(RefusalReason::TooLate);
        }
        if !self.is_listed(&caller.owner) {
            return Err(RefusalReason::OwnerRemoved);
        }
        if self.is_shutting_down {
            return Err(RefusalReason::ShuttingDown);
        }
        if let Some(why) = self.storage_failure.clone() {
            return Err(RefusalReason::StorageUnavailable { why });
        }
        let room = self.quotas.check_room(&caller.owner, &self.limits);
        room.map_err(|why| RefusalReason::StorageUnavailable { why })
    }

    /// Withdraws a command that no caller knows of: its acceptance could not be recorded, or its work
    /// cannot begin.
    pub fn withdraw(&mut self, caller: &Caller, id: &CorrelationId) {
        // Otherwise the same call after a crash would be told that it is accepted (decision 105).
        self.keys.forget_command(caller, id);
        // It may be on its way to an extension already.
        self.apply(id, LifecycleEvent::Cancel);
        self.forget(id, "");
        self.record(JournalEntry::Withdrawn(id.clone()));
        // `forget` has queued an eviction, which is written later; this entry removes its trace too.
        self.record_for_later(JournalEntry::Withdrawn(id.clone()));
    }

    fn id_of(&self, kind: &str, random: &str) -> CorrelationId {
        format!("{kind}_{}_{random}", self.now().unix_millis()).into()
    }

    /// Gives a refused call an id and lists it among the failures.
    pub fn refuse(&mut self, caller: &Caller, why: RefusalReason) -> CallRefusal {
        self.refuse_call(caller, why, CommandAim::default())
    }

    /// The same for a call with this work.
    pub fn refuse_call(
        &mut self,
        caller: &Caller,
        why: RefusalReason,
        aim: CommandAim,
    ) -> CallRefusal {
        let mut why = why;
        if let RefusalReason::BrowserGone { browsers, absence, .. } = &mut why
            && browsers.is_empty()
        {
            *absence = self.browser_absence();
        }
        self.tell_tabs_of_refusal(&caller.owner, &mut why);
        let name = self.names.next_name();
        let (long, _) = name.split_at(32);
        let id = self.id_of("refused", long);
        let failure = FailedCommand {
            correlation_id: id.clone(),
            aim,
            error: why.code().into(),
            at: self.now(),
            expired_at: None,
            hint: format!("{}. {}", why.message(), why.hint()).into(),
            message: None,
        };
        let limits = self.limits;
        // The list is the client's, and the next owner of this name may have a client called the same.
        if self.is_listed(&caller.owner) {
            self.retention.list_failure(&caller.client, failure, &limits);
        }
        CallRefusal { id, why }
    }

    /// Accepts a command (row 1). Returns whether its browser is connected.
    fn accept(
        &mut self,
        caller: &Caller,
        spec: CommandSpec,
        lane: Option<Lane>,
        selector: TargetSelector,
        key: Option<CallKey>,
    ) -> bool {
        let id = spec.id.clone();
        self.scheduler.join(&spec, lane.clone());
        let _recorded = self.insert_command(caller, spec, &lane, &selector, key);
        self.notify_observers_of(&id);
        self.scheduler.note_selector(&id, selector);
        // `place_waiting` gives it a lane when a browser connects.
        let Some(lane) = lane else { return false };
        self.remember_current(&id, &lane);
        let reachable = self.browsers.get(&lane.browser).is_some_and(BrowserState::is_connected);
        if reachable {
            // Decides whether it expires as `not_delivered` or as `no_extension`.
            self.apply(&id, LifecycleEvent::Reachable);
            self.may_deliver_to(&lane.browser);
        }
        reachable
    }

    /// Adds a command to all lists. Returns the journal entry of its acceptance.
    pub(super) fn insert_command(
        &mut self,
        caller: &Caller,
        spec: CommandSpec,
        lane: &Option<Lane>,
        selector: &TargetSelector,
        key: Option<CallKey>,
    ) -> JournalSeq {
        let id = spec.id.clone();
        let command = Command::new(spec);
        self.follow_deadline(&command);
        self.quotas.add(&command);
        let accepted = self.record_accepted(command.clone(), lane, selector, key);
        // The shell must have the command before its first change.
        self.effects().commands.push(CommandUpdate::New { command: command.clone(), accepted });
        self.commands.insert(command, accepted);
        self.client(caller).add_command(id);
        accepted
    }

    fn record_accepted(
        &mut self,
        command: Command,
        lane: &Option<Lane>,
        selector: &TargetSelector,
        key: Option<CallKey>,
    ) -> JournalSeq {
        let spec = command.spec();
        // In the same entry, so that a crash leaves no more keys than a client may have.
        let dropped_keys = key.as_ref().map_or_else(Vec::new, |key| {
            let kept = RecordedKey::of(spec, key);
            let limits = self.limits;
            self.keys.put(kept, &limits)
        });
        let (lane, selector) = (lane.clone(), selector.clone());
        let acceptance = AcceptedCommand { command, lane, selector, key, dropped_keys };
        self.record(JournalEntry::Accepted(Box::new(acceptance)))
    }
}
