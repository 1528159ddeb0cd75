//! [`Command::apply`], the one place where a command's state changes, and the rows of the
//! transition table, each under its number.

use super::{
    BrowserAbsence, Command, CommandOutcome, CommandPhase, CommandState, Delivery, EventReply,
    ExpiryReason, LifecycleEvent, Peer, TracePoint, Transition,
};
use crate::lifecycle::limits;
use crate::protocol::{
    Attempt, CancelReason, CommandProgress, ExtensionReport, InFlightState, NackReason, Timestamp,
    TracePhase, Transport,
};
use crate::seeded_bug;

/// How many entries late reports may add to one trace: an extension may repeat a report for ever.
pub(super) const LATE_MARKS: usize = 8;

impl Command {
    /// Applies an event. No other function changes the state.
    ///
    /// Deadlines that are over take effect first, each at its own time, even if the timer was late:
    /// an event never wins against a deadline that it missed.
    pub fn apply(&mut self, event: LifecycleEvent, now: Timestamp) -> Transition {
        let from = self.phase();
        let elapsed = self.elapse(now);
        let step = self.react(event, now);
        // Waiters must learn of a deadline that took effect even if the event changed nothing.
        let Some(cancel) = elapsed else { return step };
        let (to, reply) = match step {
            Transition::Unchanged(reply) => (self.phase(), reply),
            Transition::Changed { to, reply, .. } => (to, reply),
        };
        Transition::Changed { from, to, reply, cancel }
    }

    /// Applies every deadline that is over. `None`: there was none; else the reason to cancel it in
    /// the extension, if it must stop.
    fn elapse(&mut self, now: Timestamp) -> Option<Option<CancelReason>> {
        let mut taken = None;
        // Several may be over if the timer was late, or the daemon was down.
        while !self.is_forgettable() && self.next_deadline() <= now {
            let stop = self.pass_deadline(self.next_deadline());
            // The extension is told the first reason, which is the one that ended the command.
            taken = Some(taken.flatten().or(stop));
        }
        taken
    }

    /// Whether the only deadline left is the end of its retention. The engine applies that one, as it
    /// drops the whole command.
    const fn is_forgettable(&self) -> bool {
        matches!(self.phase(), CommandPhase::Ended)
    }

    /// Rows 4, 8, 12, 13, 14, and the release of a lane: applies the next deadline, which is over,
    /// as of `at`.
    fn pass_deadline(&mut self, at: Timestamp) -> Option<CancelReason> {
        let due = self.next_deadline();
        let may_have_run = self.may_have_run();
        match &mut self.state {
            // The extension had it and said nothing; the loss of its link gives it no more time.
            CommandState::Queued { respond_by: Some(by), .. } if *by <= due => {
                self.expire(ExpiryReason::ExtensionNoResponse, may_have_run, at);
            }
            CommandState::Queued { attempts: 0, reachable: false, .. } => {
                self.expire(ExpiryReason::NoExtension, may_have_run, at);
            }
            CommandState::Queued { .. } => {
                self.expire(ExpiryReason::NotDelivered, may_have_run, at)
            }
            // The extension may have run it in silence: keep the next command out of the tab.
            CommandState::Sent { delivery, .. } if delivery.transport.runs_at_once() => {
                let reason = ExpiryReason::ExtensionNoResponse;
                self.end_leaving(CommandOutcome::Expired { reason, may_have_run }, at);
            }
            CommandState::Sent { .. } => {
                self.expire(ExpiryReason::ExtensionNoResponse, may_have_run, at)
            }
            CommandState::Started { away: Some(BrowserAbsence { until, lost }), .. }
                if *until <= due =>
            {
                let lost = *lost;
                self.expire(lost, may_have_run, at);
            }
            CommandState::Started { execute_by, .. } if *execute_by <= due => {
                // The page may go on until the extension has stopped it: the lane stays occupied.
                let outcome = CommandOutcome::overran(self.spec.timeout);
                self.end_leaving(outcome, at);
                return Some(CancelReason::ExecutionTimeout);
            }
            CommandState::Started { .. } => {
                let reason = ExpiryReason::CommandExpired;
                self.end_leaving(CommandOutcome::Expired { reason, may_have_run }, at);
                return Some(CancelReason::CommandExpired);
            }
            CommandState::Held { .. } => self.expire(ExpiryReason::NobodyAnswered, false, at),
            CommandState::Waiting | CommandState::Working { .. } => {
                self.expire(self.overdue(), may_have_run, at)
            }
            CommandState::Ended { lane_until, .. } => *lane_until = None,
        }
        None
    }

    fn react(&mut self, event: LifecycleEvent, now: Timestamp) -> Transition {
        match event {
            LifecycleEvent::Reachable => self.reachable(),
            LifecycleEvent::Deliver(peer, transport) => self.deliver(peer, transport, now),
            LifecycleEvent::Claim(peer, attempt) => self.claim(peer, attempt, now),
            LifecycleEvent::Hold(peer, attempt, need) => self.hold_for(&peer, attempt, need, now),
            LifecycleEvent::HoldUndelivered(need) => self.hold_undelivered(need, now),
            LifecycleEvent::Release { is_once } => self.end_hold(is_once, now),
            LifecycleEvent::Go(attempt) => self.let_go(attempt),
            LifecycleEvent::Report(peer, attempt, report) => {
                self.handle_report(&peer, attempt, report, now)
            }
            LifecycleEvent::LinkClosed => self.link_closed(now),
            LifecycleEvent::Reconnected(peer, says) => self.reconnected(&peer, says, now),
            LifecycleEvent::Begin => self.begin(now),
            LifecycleEvent::Advance(said) => self.advance(said, now),
            LifecycleEvent::Finish(outcome) => self.finish_host_task(outcome, now),
            LifecycleEvent::Cancel => self.cancel(false, now),
            LifecycleEvent::Stop => self.cancel(true, now),
            LifecycleEvent::Read => self.read(now),
            LifecycleEvent::ReadOn => self.read_on(now),
            LifecycleEvent::Slept(length) => self.note_sleep(length, now),
            LifecycleEvent::Tick => Transition::Unchanged(EventReply::Nothing),
        }
    }

    fn reachable(&mut self) -> Transition {
        let CommandState::Queued { reachable: reachable @ false, .. } = &mut self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        *reachable = true;
        self.changed(CommandPhase::Queued, EventReply::Nothing)
    }

    /// Row 3.
    fn deliver(&mut self, by: Peer, transport: Transport, now: Timestamp) -> Transition {
        // A deadline that was over may have ended it in this very call.
        let CommandState::Queued { attempts, .. } = self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        let attempt = Attempt(attempts + 1);
        let respond_by = self.respond_by(transport, now);
        self.state =
            CommandState::Sent { delivery: Delivery { attempt, peer: by, transport }, respond_by };
        self.mark(TracePhase::Delivered, now, Some(attempt));
        self.changed(CommandPhase::Queued, EventReply::Nothing)
    }

    /// When a delivery of this moment must be claimed, or reported on.
    fn respond_by(&self, transport: Transport, now: Timestamp) -> Timestamp {
        match transport {
            Transport::WebSocket | Transport::Http => now + limits::RESPOND,
            Transport::Poll if self.spec.work.reports_pending() => now + limits::RESPOND_POLL,
            // Extensions with `/sync` do not all report `pending`, so silence says nothing until the
            // command's time is over.
            Transport::Sync if self.spec.work.reports_pending() => {
                now + self.spec.timeout + limits::REPORT_GRACE
            }
            // No report comes before the command has ended.
            Transport::Poll | Transport::Sync => self.total_by(),
        }
    }

    /// Rows 6, 6a, 9, 10 and 18.
    fn handle_report(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        report: ExtensionReport,
        now: Timestamp,
    ) -> Transition {
        let stale = Transition::Unchanged(EventReply::Nack(NackReason::StaleAttempt));
        match &self.state {
            CommandState::Queued { .. }
            | CommandState::Held { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => stale,
            CommandState::Sent { delivery, .. } | CommandState::Started { delivery, .. }
                if !delivery.is(peer, attempt) =>
            {
                stale
            }
            // Without a claim the daemon accepts reports on safe commands, on polled commands, and
            // reports that the extension will not run the command. Any other report is of a command
            // that ran without `go`, so it does not count.
            CommandState::Sent { .. } if !self.may_have_run() => {
                match CommandOutcome::reported_unstarted(report) {
                    Some(outcome) => self.finish(outcome, now),
                    None => stale,
                }
            }
            CommandState::Sent { .. } | CommandState::Started { .. } => {
                match CommandOutcome::reported(report) {
                    Ok(outcome) => self.finish(outcome, now),
                    Err(progress) => self.progress(peer, progress.at(now), now),
                }
            }
            CommandState::Ended { .. } => self.late(peer, attempt, report, now),
        }
    }

    pub(super) fn finish(&mut self, outcome: CommandOutcome, now: Timestamp) -> Transition {
        let from = self.phase();
        self.set_end(outcome, now);
        self.changed(from, EventReply::Ack)
    }

    /// Rows 6a and 9.
    fn progress(&mut self, peer: &Peer, said: CommandProgress, now: Timestamp) -> Transition {
        let from = self.phase();
        if from == CommandPhase::Sent {
            // It runs without a claim: it is a safe command, or it was polled for.
            let _ = self.start(peer.clone(), true, now);
        }
        let CommandState::Started { delivery, progress, away, .. } = &mut self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        *progress = Some(said);
        // The report shows that the browser is back, perhaps before its `ready`.
        *away = None;
        let attempt = delivery.attempt;
        self.mark_first_pending(now, Some(attempt));
        self.resumed(from, EventReply::Nothing, now)
    }

    /// Row 18: the outcome stands. A report from the last holder shows that the page is done with
    /// the command, so its lane is free.
    fn late(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        report: ExtensionReport,
        now: Timestamp,
    ) -> Transition {
        let from = self.phase();
        let CommandState::Ended { outcome, delivery, lane_until, .. } = &mut self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        let from_holder = delivery.as_ref().is_some_and(|delivery| delivery.is(peer, attempt));
        let reply = match CommandOutcome::reported(report) {
            Err(_still_running) => return Transition::Unchanged(EventReply::Nothing),
            Ok(reported) if from_holder && reported == *outcome => EventReply::Ack,
            Ok(_) => EventReply::Nack(NackReason::AlreadyTerminal),
        };
        // A stale attempt says nothing about the page now.
        if from_holder {
            *lane_until = None;
        }
        let late_marks = self.trace.iter().filter(|m| m.phase == TracePhase::LateResult).count();
        if reply != EventReply::Ack && late_marks < LATE_MARKS {
            self.mark(TracePhase::LateResult, now, Some(attempt));
        }
        self.changed(from, reply)
    }

    /// Rows 7, 7a and 11.
    fn link_closed(&mut self, now: Timestamp) -> Transition {
        let may_have_run = self.may_have_run();
        match &mut self.state {
            CommandState::Sent { delivery, .. }
                if delivery.attempt.0 >= limits::ATTEMPTS + self.holds.times =>
            {
                self.expire(ExpiryReason::DeliveryFailed, may_have_run, now);
                self.changed(CommandPhase::Sent, EventReply::Nothing)
            }
            CommandState::Sent { delivery, respond_by } => {
                let Delivery { attempt, transport, .. } = *delivery;
                let (attempts, may_have_run) = (attempt.0, transport.runs_at_once());
                let respond_by = Some(*respond_by);
                self.state =
                    CommandState::Queued { attempts, may_have_run, respond_by, reachable: true };
                self.mark(TracePhase::Requeued, now, Some(attempt));
                self.changed(CommandPhase::Sent, EventReply::Nothing)
            }
            CommandState::Started { delivery, away: None, .. }
                if seeded_bug::is_on("redelivery-after-start")
                    && delivery.attempt.0 < limits::ATTEMPTS =>
            {
                let (attempts, may_have_run, respond_by) = (delivery.attempt.0, true, None);
                self.state =
                    CommandState::Queued { attempts, may_have_run, respond_by, reachable: true };
                self.changed(CommandPhase::Started, EventReply::Nothing)
            }
            // The extension reports the end to the next poll, even from a new run of its worker.
            CommandState::Started { delivery, .. } if delivery.transport.runs_at_once() => {
                Transition::Unchanged(EventReply::Nothing)
            }
            CommandState::Started { away: away @ None, .. } => {
                let lost = ExpiryReason::ExtensionDisconnected;
                *away = Some(BrowserAbsence { until: now + limits::AWAY, lost });
                self.changed(CommandPhase::Started, EventReply::Nothing)
            }
            CommandState::Started { .. }
            | CommandState::Queued { .. }
            | CommandState::Held { .. }
            | CommandState::Waiting
            | CommandState::Working { .. }
            | CommandState::Ended { .. } => Transition::Unchanged(EventReply::Nothing),
        }
    }

    /// Rows 11a and 12.
    fn reconnected(
        &mut self,
        peer: &Peer,
        says: Option<InFlightState>,
        now: Timestamp,
    ) -> Transition {
        let CommandState::Started { delivery, away, .. } = &mut self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        if delivery.peer.browser != peer.browser {
            return Transition::Unchanged(EventReply::Nothing);
        }
        let is_same_instance = delivery.peer == *peer;
        let reply = match says {
            // The claim may have been answered on the link that broke: answer it again.
            Some(InFlightState::Claimed) if is_same_instance => EventReply::Go,
            Some(InFlightState::Running) if is_same_instance => EventReply::Nothing,
            // The result follows in a frame of its own; until then the absence and its deadline stay.
            Some(InFlightState::Done) if is_restart(away.as_ref()) => {
                return Transition::Unchanged(EventReply::Nothing);
            }
            Some(InFlightState::Done) => EventReply::Nothing,
            // A new run of the worker knows nothing of the page that the old one worked in.
            Some(InFlightState::Claimed | InFlightState::Running) | None => {
                let lost = away.map_or(ExpiryReason::ExtensionDisconnected, |away| away.lost);
                let may_have_run = self.may_have_run();
                self.expire(lost, may_have_run, now);
                return self.changed(CommandPhase::Started, EventReply::Nothing);
            }
        };
        *away = None;
        self.resumed(CommandPhase::Started, reply, now)
    }

    /// Its browser is connected again. Deadlines that passed while the daemon was down have waited
    /// for this, and take effect now.
    fn resumed(&mut self, from: CommandPhase, reply: EventReply, now: Timestamp) -> Transition {
        if self.next_deadline() > now {
            return self.changed(from, reply);
        }
        let cancel = self.pass_deadline(now);
        Transition::Changed { from, to: self.phase(), reply: EventReply::Nothing, cancel }
    }

    /// Rows 15 and 16.
    fn cancel(&mut self, by_user: bool, now: Timestamp) -> Transition {
        let (from, may_have_run) = (self.phase(), self.may_have_run());
        let outcome = CommandOutcome::Cancelled { may_have_run, by_user };
        match &self.state {
            CommandState::Queued { .. }
            | CommandState::Held { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => {
                self.set_end(outcome, now);
                self.changed(from, EventReply::Nothing)
            }
            // The extension never runs it without `go`, so the lane is free at once.
            CommandState::Sent { delivery, .. } if !delivery.transport.runs_at_once() => {
                self.set_end(outcome, now);
                self.stopped(from)
            }
            CommandState::Started { .. } if !may_have_run => {
                self.set_end(outcome, now);
                self.stopped(from)
            }
            CommandState::Sent { .. } | CommandState::Started { .. } => {
                self.end_leaving(outcome, now);
                self.stopped(from)
            }
            CommandState::Ended { .. } => Transition::Unchanged(EventReply::Nothing),
        }
    }

    fn read(&mut self, now: Timestamp) -> Transition {
        let from = self.phase();
        let CommandState::Ended { read: read @ false, .. } = &mut self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        *read = true;
        self.mark(TracePhase::FirstRead, now, None);
        self.changed(from, EventReply::Nothing)
    }

    fn read_on(&mut self, now: Timestamp) -> Transition {
        let from = self.phase();
        if !matches!(self.state, CommandState::Ended { .. }) {
            return Transition::Unchanged(EventReply::Nothing);
        }
        self.read_on_at = Some(now);
        self.changed(from, EventReply::Nothing)
    }

    pub(super) fn expire(&mut self, reason: ExpiryReason, may_have_run: bool, at: Timestamp) {
        self.set_end(CommandOutcome::Expired { reason, may_have_run }, at);
    }

    fn set_end(&mut self, outcome: CommandOutcome, at: Timestamp) {
        self.count_pause(at);
        let delivery = self.delivery().cloned();
        let attempt = delivery.as_ref().map(|delivery| delivery.attempt);
        self.state = CommandState::Ended { at, outcome, delivery, lane_until: None, read: false };
        self.mark(TracePhase::Done, at, attempt);
    }

    /// Ends the command while the page may still run it: its lane stays occupied for a while.
    fn end_leaving(&mut self, outcome: CommandOutcome, at: Timestamp) {
        self.set_end(outcome, at);
        if let CommandState::Ended { lane_until, .. } = &mut self.state {
            *lane_until = Some(at + limits::LANE_HOLD);
        }
    }

    pub(super) fn mark(&mut self, phase: TracePhase, at: Timestamp, attempt: Option<Attempt>) {
        self.trace.push(TracePoint { phase, at, attempt });
    }

    pub(super) fn mark_first_pending(&mut self, at: Timestamp, attempt: Option<Attempt>) {
        if !self.trace.iter().any(|mark| mark.phase == TracePhase::FirstPending) {
            self.mark(TracePhase::FirstPending, at, attempt);
        }
    }

    pub(super) fn changed(&self, from: CommandPhase, reply: EventReply) -> Transition {
        Transition::Changed { from, to: self.phase(), reply, cancel: None }
    }

    fn stopped(&self, from: CommandPhase) -> Transition {
        let cancel = Some(CancelReason::Cancelled);
        Transition::Changed { from, to: self.phase(), reply: EventReply::Nothing, cancel }
    }
}

/// Whether the browser is away because the daemon was.
fn is_restart(away: Option<&BrowserAbsence>) -> bool {
    away.is_some_and(|away| away.lost == ExpiryReason::DaemonRestarted)
}
