//! Host tasks: waits for a person, and jobs of the daemon. They have the same lifecycle as all commands,
//! but no lane.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::browsers::BrowserState;
use super::polling::{is_browser_of, is_poller};
use super::refusal::{CallRefusal, RefusalReason};
use super::submit::{CommandReceipt, SubmittedCommand};
use super::{Caller, Engine, Transaction, targets};
use crate::lifecycle::{
    CallKey, CommandOutcome, CommandPhase, CommandSpec, CommandWork, LifecycleEvent, TargetSelector,
};
use crate::protocol::{
    BrowserId, CommandProgress, CommandStatus, CorrelationId, Job, Owner, SessionName,
    TraceContext, WorkKind,
};

/// A call for a wait or a job.
#[derive(Clone, Debug)]
pub struct HostTask {
    /// The work, which no browser does.
    pub work: CommandWork,
    /// The browser and tab that the call named.
    pub target: TargetSelector,
    /// How long it may take.
    pub deadline: Duration,
    /// How long it usually takes.
    pub estimate: Duration,
    /// See [`Submission::idempotency_key`](super::Submission::idempotency_key).
    pub idempotency_key: Option<Arc<str>>,
    /// Whether a task for a page is refused while its client uses several tabs and the call names
    /// none.
    pub must_name_tab: bool,
    /// See [`Submission::trace_context`](super::Submission::trace_context).
    pub trace_context: Option<TraceContext>,
    /// See [`Submission::record_by`](super::Submission::record_by).
    pub record_by: Option<Duration>,
}

impl Engine {
    /// The jobs that the daemon has not begun, oldest first: after a start, those of the earlier run.
    #[must_use]
    pub fn waiting_jobs(&self) -> Vec<(CorrelationId, Job)> {
        let waiting = self.commands.all().filter_map(|command| {
            let spec = command.spec();
            match &spec.work {
                CommandWork::Job { job } if command.phase() == CommandPhase::Waiting => {
                    Some((spec.created, spec.id.clone(), job.clone()))
                }
                CommandWork::Job { .. }
                | CommandWork::Annotations { .. }
                | CommandWork::Ask { .. }
                | CommandWork::Unnamed { .. }
                | CommandWork::Browser(_) => None,
            }
        });
        let mut waiting: Vec<_> = waiting.collect();
        // The map has no order, and jobs begin in the order of their calls.
        waiting.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        waiting.into_iter().map(|(_, id, job)| (id, job)).collect()
    }

    /// The waits that a drawing has ended: their owners, ids and results.
    #[must_use]
    pub fn drawn_waits(&self) -> Vec<(Owner, CorrelationId, Arc<RawValue>)> {
        let drawn = self.commands.all().filter_map(|command| {
            let report = command.report(false);
            let CommandStatus::Complete { result, .. } = report.status else { return None };
            let is_wait = report.kind == WorkKind::Annotations;
            is_wait.then(|| (command.spec().owner.clone(), report.correlation_id, result))
        });
        drawn.collect()
    }

    /// The waits that are assigned to an extension that only polls, for this session or with this id:
    /// their owners and ids.
    #[must_use]
    pub fn held_waits(
        &self,
        extension_id: &str,
        session: Option<&SessionName>,
        named: Option<&CorrelationId>,
    ) -> Vec<(Owner, CorrelationId)> {
        let is_held = |selector: &TargetSelector| {
            let browser = selector.browser.as_deref().map(BrowserId::from);
            browser.is_some_and(|browser| is_browser_of(&browser, extension_id))
        };
        let held =
            self.scheduler.selectors().filter(|(_, selector)| is_held(selector)).map(|(id, _)| id);
        let held = held.filter(|id| self.waits_for(id, session, named));
        held.filter_map(|id| Some((self.commands.get(id)?.spec().owner.clone(), id.clone())))
            .collect()
    }

    /// Checks the limit of waits or jobs.
    fn has_room_for(&self, caller: &Caller, kind: WorkKind) -> Result<(), RefusalReason> {
        let most = match kind {
            WorkKind::Annotations => self.limits.annotations,
            WorkKind::Ask => self.limits.asks,
            WorkKind::Job => self.limits.jobs,
            WorkKind::Browser => return Ok(()),
        };
        let count = if kind == WorkKind::Ask {
            // Anybody can make up a client's name, and the person has to read every question.
            self.count_asks_of(&caller.owner)
        } else {
            let active = self.clients.active(&caller.client);
            active.iter().filter(|id| self.commands.kind_of(id) == Some(kind)).count()
        };
        if count < most { Ok(()) } else { Err(RefusalReason::TooMany { kind, count }) }
    }

    pub(super) fn waits_for(
        &self,
        id: &CorrelationId,
        session: Option<&SessionName>,
        named: Option<&CorrelationId>,
    ) -> bool {
        let Some(command) = self.commands.get(id) else { return false };
        match &command.spec().work {
            CommandWork::Annotations { annotations } => {
                annotations.session.as_ref() == session || named == Some(id)
            }
            CommandWork::Ask { .. }
            | CommandWork::Job { .. }
            | CommandWork::Unnamed { .. }
            | CommandWork::Browser(_) => false,
        }
    }
}

impl Transaction<'_> {
    /// Accepts a wait or a job. The caller reports it only after the journal has recorded it, and
    /// begins the work if the task [is new](SubmittedCommand::is_new).
    ///
    /// # Errors
    ///
    /// [`CallRefusal`]: nothing has changed.
    pub fn start_host_task(
        &mut self,
        caller: &Caller,
        asked: HostTask,
    ) -> Result<SubmittedCommand, CallRefusal> {
        let HostTask {
            work,
            target,
            deadline,
            estimate,
            idempotency_key,
            must_name_tab,
            trace_context,
            record_by,
        } = asked;
        let key = CallKey::of(idempotency_key, &work, &target);
        if let Some(known) = self.find_key(caller, key.as_ref(), &work, estimate) {
            return known.map_err(|why| self.refuse_call(caller, why, work.aim(None)));
        }
        let taken = self
            .check_accepting(caller, record_by)
            .and_then(|()| self.has_room_for(caller, work.kind()))
            .and_then(|()| match must_name_tab && work.is_about_page() {
                true => self.check_tab_named(caller, &target),
                false => Ok(()),
            })
            .and_then(|()| self.place_of_task(caller, &work, target));
        let place = taken.map_err(|why| self.refuse_call(caller, why, work.aim(None)))?;
        let spec = CommandSpec { trace_context, ..self.new_spec(caller, work, deadline) };
        let (id, query_id) = (spec.id.clone(), spec.query_id.clone());
        let kind = spec.work.kind();
        let recorded = self.insert_command(caller, spec, &None, &place, key);
        self.scheduler.note_selector(&id, place);
        self.notify_observers_of(&id);
        if kind == WorkKind::Ask {
            self.show_asks();
        }
        let accepted = CommandReceipt { id, query_id, estimate, reachable: true };
        Ok(SubmittedCommand { accepted, recorded, is_new: true })
    }

    /// The browser and the tab that a wait is for.
    fn place_of_task(
        &mut self,
        caller: &Caller,
        work: &CommandWork,
        target: TargetSelector,
    ) -> Result<TargetSelector, RefusalReason> {
        match work {
            CommandWork::Annotations { .. } => {
                let target = self.within_pin(caller, &target)?;
                Ok(self.browser_for_wait(caller, &target))
            }
            // A question needs no browser: only one that names a tab is kept to the pin.
            CommandWork::Ask { .. } => {
                let within = self.within_pin(caller, &target);
                match within {
                    Ok(target) => self.place_of_ask(caller, work, &target),
                    Err(why) if target.tab.is_some() || target.browser.is_some() => Err(why),
                    Err(_) => Ok(TargetSelector::default()),
                }
            }
            CommandWork::Job { .. } | CommandWork::Unnamed { .. } | CommandWork::Browser(_) => {
                Ok(target)
            }
        }
    }

    /// The browser in which the person is to draw, if one is connected. It matters for extensions
    /// that only poll, because their drawings count only for waits that are assigned to them.
    fn browser_for_wait(&mut self, caller: &Caller, selector: &TargetSelector) -> TargetSelector {
        let current = self.client(caller).current();
        let chosen = {
            let sight = self.sight(&caller.owner);
            targets::choose_browser(&sight, current.as_ref(), selector)
        };
        let chosen = chosen.ok().flatten().map(|(id, _)| id.as_str().to_owned());
        TargetSelector { browser: chosen, tab: None }
    }

    /// Assigns waits without a browser to one whose extension only polls, unless a better one is
    /// connected.
    pub(super) fn assign_open_waits(&mut self, browser: &BrowserId) {
        let is_proven =
            |(id, known): (&BrowserId, &BrowserState)| known.is_connected() && !is_poller(id);
        if self.browsers.iter().any(is_proven) {
            return;
        }
        let is_open =
            |id: &&CorrelationId| self.commands.kind_of(id) == Some(WorkKind::Annotations);
        let nowhere = self.scheduler.selectors().filter(|(_, selector)| selector.browser.is_none());
        for id in nowhere.map(|(id, _)| id).filter(is_open).cloned().collect::<Vec<_>>() {
            let place = TargetSelector { browser: Some(browser.as_str().to_owned()), tab: None };
            self.scheduler.note_selector(&id, place);
        }
    }

    /// Begins a job (row 22). False: it has ended.
    pub fn begin_job(&mut self, id: &CorrelationId) -> bool {
        self.apply(id, LifecycleEvent::Begin);
        self.commands.phase_of(id) == Some(CommandPhase::Working)
    }

    /// Reports the progress of a job, `part` from 0 to 1 (row 23). False: it has ended, so its worker
    /// should stop.
    pub fn advance_job(&mut self, id: &CorrelationId, part: f64, message: &str) -> bool {
        let progress = Some(part.clamp(0.0, 1.0));
        let said = CommandProgress {
            at: self.now(),
            message: Some(message.into()),
            progress,
            dialog: None,
        };
        self.apply(id, LifecycleEvent::Advance(said));
        self.commands.phase_of(id) == Some(CommandPhase::Working)
    }

    /// Ends a wait or a job (row 24). False: it had ended and stays as it is.
    pub fn finish(&mut self, id: &CorrelationId, outcome: CommandOutcome) -> bool {
        let is_open = matches!(
            self.commands.phase_of(id),
            Some(CommandPhase::Waiting | CommandPhase::Working)
        );
        self.apply(id, LifecycleEvent::Finish(outcome));
        is_open
    }

    /// Ends one wait for a drawing (row 24).
    pub fn end_wait(&mut self, id: &CorrelationId, outcome: CommandOutcome) {
        if self.commands.kind_of(id) == Some(WorkKind::Annotations) {
            self.forget_tools(id);
            self.apply(id, LifecycleEvent::Finish(outcome));
        }
    }

    /// Ends every wait for drawings of this session, and the wait that the drawing names, of any
    /// session (row 24). Returns the ended waits.
    pub fn end_waits(
        &mut self,
        owner: &Owner,
        session: Option<&SessionName>,
        named: Option<&CorrelationId>,
        outcome: &CommandOutcome,
    ) -> Vec<CorrelationId> {
        let active: Vec<_> = self.clients.active_of(owner).cloned().collect();
        if let Some(named) = named {
            self.forget_tools(named);
        }
        let mut ended = active;
        ended.retain(|id| self.waits_for(id, session, named));
        for id in &ended {
            self.apply(id, LifecycleEvent::Finish(outcome.clone()));
        }
        ended
    }
}
