//! [`Command::apply`]: the one place where a command's state changes, and the rows of the
//! transition table, each under its number.

use super::{Away, Command, Event, Expiry, Hold, Mark, Outcome, Peer, Phase, Reply, State, Step};
use crate::lifecycle::limits;
use crate::protocol::{
    Attempt, CancelReason, CommandProgress, ExtensionReport, InFlightState, NackReason, Timestamp,
    TracePhase, Transport,
};
use crate::seeded_bug;

/// The most entries that late reports may add to one trace.
pub(super) const LATE_MARKS: usize = 8;

impl Command {
    /// Lets an event happen to the command: the one place where its state changes.
    ///
    /// A deadline that is over takes effect first, at its own moment, even if the
    /// timer was late: so an event never wins against a deadline that it missed.
    pub fn apply(&mut self, event: Event, now: Timestamp) -> Step {
        let from = self.phase();
        let elapsed = self.elapse(now);
        let step = self.react(event, now);
        let Some(cancel) = elapsed else { return step };
        let (to, reply) = match step {
            Step::Unchanged(reply) => (self.phase(), reply),
            Step::Changed { to, reply, .. } => (to, reply),
        };
        Step::Changed { from, to, reply, cancel }
    }

    /// Takes every deadline that is over. `None`: there was none. Else whether the
    /// extension is to be told to stop.
    fn elapse(&mut self, now: Timestamp) -> Option<Option<CancelReason>> {
        let mut taken = None;
        while !self.is_forgettable() && self.next_deadline() <= now {
            let stop = self.pass_deadline(self.next_deadline());
            taken = Some(taken.flatten().or(stop));
        }
        taken
    }

    /// Whether the only deadline left is the end of its retention, which is not the
    /// command's to take: its keeper drops it.
    const fn is_forgettable(&self) -> bool {
        matches!(self.phase(), Phase::Ended)
    }

    /// Rows 4, 8, 12, 13, 14, and the end of a lane's hold: takes the next deadline, which
    /// is over, as of `at`.
    fn pass_deadline(&mut self, at: Timestamp) -> Option<CancelReason> {
        let due = self.next_deadline();
        let may_have_run = self.may_have_run();
        match &mut self.state {
            State::Queued { respond_by: Some(by), .. } if *by <= due => {
                self.expire(Expiry::ExtensionNoResponse, may_have_run, at);
            }
            State::Queued { attempts: 0, reachable: false, .. } => {
                self.expire(Expiry::NoExtension, may_have_run, at);
            }
            State::Queued { .. } => self.expire(Expiry::NotDelivered, may_have_run, at),
            State::Sent { hold, .. } if hold.carrier.runs_at_once() => {
                let reason = Expiry::ExtensionNoResponse;
                self.end_leaving(Outcome::Expired { reason, may_have_run }, at);
            }
            State::Sent { .. } => self.expire(Expiry::ExtensionNoResponse, may_have_run, at),
            State::Started { away: Some(Away { until, lost }), .. } if *until <= due => {
                let lost = *lost;
                self.expire(lost, may_have_run, at);
            }
            State::Started { execute_by, .. } if *execute_by <= due => {
                let outcome = Outcome::overran(self.facts.timeout);
                self.end_leaving(outcome, at);
                return Some(CancelReason::ExecutionTimeout);
            }
            State::Started { .. } => {
                let reason = Expiry::CommandExpired;
                self.end_leaving(Outcome::Expired { reason, may_have_run }, at);
                return Some(CancelReason::CommandExpired);
            }
            State::Waiting | State::Working { .. } => self.expire(self.overdue(), may_have_run, at),
            State::Ended { lane_until, .. } => *lane_until = None,
        }
        None
    }

    fn react(&mut self, event: Event, now: Timestamp) -> Step {
        match event {
            Event::Reachable => self.reachable(),
            Event::Deliver(peer, carrier) => self.deliver(peer, carrier, now),
            Event::Claim(peer, attempt) => self.claim(peer, attempt, now),
            Event::Go(attempt) => self.let_go(attempt),
            Event::Report(peer, attempt, report) => self.hear(&peer, attempt, report, now),
            Event::LinkClosed => self.link_closed(now),
            Event::Back(peer, says) => self.back(&peer, says, now),
            Event::Begin => self.begin(now),
            Event::Advance(said) => self.advance(said, now),
            Event::Finish(outcome) => self.finish_undertaken(outcome, now),
            Event::Cancel => self.cancel(false, now),
            Event::Stop => self.cancel(true, now),
            Event::Read => self.read(now),
            Event::Tick => Step::Unchanged(Reply::Nothing),
        }
    }

    fn reachable(&mut self) -> Step {
        match &mut self.state {
            State::Queued { reachable: reachable @ false, .. } => {
                *reachable = true;
                self.changed(Phase::Queued, Reply::Nothing)
            }
            State::Queued { .. }
            | State::Sent { .. }
            | State::Started { .. }
            | State::Waiting
            | State::Working { .. }
            | State::Ended { .. } => Step::Unchanged(Reply::Nothing),
        }
    }

    /// Row 3.
    fn deliver(&mut self, by: Peer, carrier: Transport, now: Timestamp) -> Step {
        let State::Queued { attempts, .. } = self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        let attempt = Attempt(attempts + 1);
        let respond_by = self.respond_by(carrier, now);
        self.state = State::Sent { hold: Hold { attempt, by, carrier }, respond_by };
        self.mark(TracePhase::Delivered, now, Some(attempt));
        self.changed(Phase::Queued, Reply::Nothing)
    }

    /// When it must be claimed, or heard of, if it is delivered now.
    fn respond_by(&self, carrier: Transport, now: Timestamp) -> Timestamp {
        match carrier {
            Transport::WebSocket | Transport::Http => now + limits::RESPOND,
            Transport::Poll if self.facts.work.is_said_pending() => now + limits::RESPOND_POLL,
            // Whichever extension it is need not say anything before it is done.
            Transport::Sync if self.facts.work.is_said_pending() => {
                now + self.facts.timeout + limits::REPORT_GRACE
            }
            // Nothing is heard of it before it is done.
            Transport::Poll | Transport::Sync => self.total_by(),
        }
    }

    /// Rows 6, 6a, 9, 10 and 18.
    fn hear(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        report: ExtensionReport,
        now: Timestamp,
    ) -> Step {
        let stale = Step::Unchanged(Reply::Nack(NackReason::StaleAttempt));
        match &self.state {
            State::Queued { .. } | State::Waiting | State::Working { .. } => stale,
            State::Sent { hold, .. } | State::Started { hold, .. } if !hold.is(peer, attempt) => {
                stale
            }
            // Only a safe command, or one that was polled for, is reported without a claim, or
            // one that is not to be run. Any other has run without `go`: its word does not count.
            State::Sent { .. } if !self.may_have_run() => match Outcome::reported_unstarted(report)
            {
                Some(outcome) => self.finish(outcome, now),
                None => stale,
            },
            State::Sent { .. } | State::Started { .. } => match Outcome::reported(report) {
                Ok(outcome) => self.finish(outcome, now),
                Err(progress) => self.progress(peer, progress.at(now), now),
            },
            State::Ended { .. } => self.late(peer, attempt, report, now),
        }
    }

    pub(super) fn finish(&mut self, outcome: Outcome, now: Timestamp) -> Step {
        let from = self.phase();
        self.end(outcome, now);
        self.changed(from, Reply::Ack)
    }

    /// Rows 6a and 9.
    fn progress(&mut self, peer: &Peer, said: CommandProgress, now: Timestamp) -> Step {
        let from = self.phase();
        if from == Phase::Sent {
            let _ = self.start(peer.clone(), true, now);
        }
        let State::Started { hold, progress, away, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        *progress = Some(said);
        *away = None;
        let attempt = hold.attempt;
        self.mark_first_pending(now, Some(attempt));
        self.resumed(from, Reply::Nothing, now)
    }

    /// Row 18: the outcome stands. A report from whoever had the command last says
    /// that the page is done with it, so its tab is free.
    fn late(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        report: ExtensionReport,
        now: Timestamp,
    ) -> Step {
        let from = self.phase();
        let State::Ended { outcome, hold, lane_until, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        let from_holder = hold.as_ref().is_some_and(|hold| hold.is(peer, attempt));
        let reply = match Outcome::reported(report) {
            Err(_still_running) => return Step::Unchanged(Reply::Nothing),
            Ok(reported) if from_holder && reported == *outcome => Reply::Ack,
            Ok(_) => Reply::Nack(NackReason::AlreadyTerminal),
        };
        if from_holder {
            *lane_until = None;
        }
        let late_marks = self.trace.iter().filter(|m| m.phase == TracePhase::LateResult).count();
        if reply != Reply::Ack && late_marks < LATE_MARKS {
            self.mark(TracePhase::LateResult, now, Some(attempt));
        }
        self.changed(from, reply)
    }

    /// Rows 7, 7a and 11.
    fn link_closed(&mut self, now: Timestamp) -> Step {
        let may_have_run = self.may_have_run();
        match &mut self.state {
            State::Sent { hold, .. } if hold.attempt.0 >= limits::ATTEMPTS => {
                self.expire(Expiry::DeliveryFailed, may_have_run, now);
                self.changed(Phase::Sent, Reply::Nothing)
            }
            State::Sent { hold, respond_by } => {
                let Hold { attempt, carrier, .. } = *hold;
                let (attempts, may_have_run) = (attempt.0, carrier.runs_at_once());
                let respond_by = Some(*respond_by);
                self.state = State::Queued { attempts, may_have_run, respond_by, reachable: true };
                self.mark(TracePhase::Requeued, now, Some(attempt));
                self.changed(Phase::Sent, Reply::Nothing)
            }
            State::Started { hold, away: None, .. }
                if seeded_bug::is_on("redelivery-after-start")
                    && hold.attempt.0 < limits::ATTEMPTS =>
            {
                let (attempts, may_have_run, respond_by) = (hold.attempt.0, true, None);
                self.state = State::Queued { attempts, may_have_run, respond_by, reachable: true };
                self.changed(Phase::Started, Reply::Nothing)
            }
            // It says when it is done, whichever life of it polls now.
            State::Started { hold, .. } if hold.carrier.runs_at_once() => {
                Step::Unchanged(Reply::Nothing)
            }
            State::Started { away: away @ None, .. } => {
                let lost = Expiry::ExtensionDisconnected;
                *away = Some(Away { until: now + limits::AWAY, lost });
                self.changed(Phase::Started, Reply::Nothing)
            }
            State::Started { .. }
            | State::Queued { .. }
            | State::Waiting
            | State::Working { .. }
            | State::Ended { .. } => Step::Unchanged(Reply::Nothing),
        }
    }

    /// Rows 11a and 12.
    fn back(&mut self, peer: &Peer, says: Option<InFlightState>, now: Timestamp) -> Step {
        let State::Started { hold, away, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        if hold.by.browser != peer.browser {
            return Step::Unchanged(Reply::Nothing);
        }
        let same_life = hold.by == *peer;
        let reply = match says {
            Some(InFlightState::Claimed) if same_life => Reply::Go,
            Some(InFlightState::Running) if same_life => Reply::Nothing,
            // The result follows; until then what was waited for is waited for.
            Some(InFlightState::Done) if is_restart(away.as_ref()) => {
                return Step::Unchanged(Reply::Nothing);
            }
            Some(InFlightState::Done) => Reply::Nothing,
            Some(InFlightState::Claimed | InFlightState::Running) | None => {
                let lost = away.map_or(Expiry::ExtensionDisconnected, |away| away.lost);
                let may_have_run = self.may_have_run();
                self.expire(lost, may_have_run, now);
                return self.changed(Phase::Started, Reply::Nothing);
            }
        };
        *away = None;
        self.resumed(Phase::Started, reply, now)
    }

    /// Its browser is back. Deadlines that passed while the daemon was down have waited for
    /// that, and take effect now.
    fn resumed(&mut self, from: Phase, reply: Reply, now: Timestamp) -> Step {
        if self.next_deadline() > now {
            return self.changed(from, reply);
        }
        let cancel = self.pass_deadline(now);
        Step::Changed { from, to: self.phase(), reply: Reply::Nothing, cancel }
    }

    /// Rows 15 and 16.
    fn cancel(&mut self, by_user: bool, now: Timestamp) -> Step {
        let (from, may_have_run) = (self.phase(), self.may_have_run());
        let outcome = Outcome::Cancelled { may_have_run, by_user };
        match &self.state {
            State::Queued { .. } | State::Waiting | State::Working { .. } => {
                self.end(outcome, now);
                self.changed(from, Reply::Nothing)
            }
            State::Sent { hold, .. } if !hold.carrier.runs_at_once() => {
                self.end(outcome, now);
                self.stopped(from)
            }
            State::Started { .. } if !may_have_run => {
                self.end(outcome, now);
                self.stopped(from)
            }
            State::Sent { .. } | State::Started { .. } => {
                self.end_leaving(outcome, now);
                self.stopped(from)
            }
            State::Ended { .. } => Step::Unchanged(Reply::Nothing),
        }
    }

    fn read(&mut self, now: Timestamp) -> Step {
        let from = self.phase();
        let State::Ended { read: read @ false, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        *read = true;
        self.mark(TracePhase::FirstRead, now, None);
        self.changed(from, Reply::Nothing)
    }

    pub(super) fn expire(&mut self, reason: Expiry, may_have_run: bool, at: Timestamp) {
        self.end(Outcome::Expired { reason, may_have_run }, at);
    }

    fn end(&mut self, outcome: Outcome, at: Timestamp) {
        let hold = self.hold().cloned();
        let attempt = hold.as_ref().map(|hold| hold.attempt);
        self.state = State::Ended { at, outcome, hold, lane_until: None, read: false };
        self.mark(TracePhase::Done, at, attempt);
    }

    /// Ends it while the page may still be at it: its tab stays taken for a while.
    fn end_leaving(&mut self, outcome: Outcome, at: Timestamp) {
        self.end(outcome, at);
        if let State::Ended { lane_until, .. } = &mut self.state {
            *lane_until = Some(at + limits::LANE_HOLD);
        }
    }

    pub(super) fn mark(&mut self, phase: TracePhase, at: Timestamp, attempt: Option<Attempt>) {
        self.trace.push(Mark { phase, at, attempt });
    }

    pub(super) fn mark_first_pending(&mut self, at: Timestamp, attempt: Option<Attempt>) {
        if !self.trace.iter().any(|mark| mark.phase == TracePhase::FirstPending) {
            self.mark(TracePhase::FirstPending, at, attempt);
        }
    }

    pub(super) fn changed(&self, from: Phase, reply: Reply) -> Step {
        Step::Changed { from, to: self.phase(), reply, cancel: None }
    }

    fn stopped(&self, from: Phase) -> Step {
        let cancel = Some(CancelReason::Cancelled);
        Step::Changed { from, to: self.phase(), reply: Reply::Nothing, cancel }
    }
}

/// Whether the browser is away because the daemon was.
fn is_restart(away: Option<&Away>) -> bool {
    away.is_some_and(|away| away.lost == Expiry::DaemonRestarted)
}
