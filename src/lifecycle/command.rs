//! One command: what it is, the state it is in, and [`Command::apply`], the one
//! place where that state changes.

mod outcome;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::limits;
use crate::protocol::{
    Action, Attempt, BrowserId, CancelReason, ClientId, CorrelationId, ExtensionReport,
    InFlightState, InstanceId, Moment, NackReason, Owner, Progress, QueryId, TracePhase,
};
pub use outcome::{Expiry, Outcome};

/// What a command is; none of it ever changes.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its name.
    pub id: CorrelationId,
    /// Its second name.
    pub query_id: QueryId,
    /// Who may read, wait for and cancel it.
    pub owner: Owner,
    /// In whose lists it stands and whose caps it counts towards.
    pub client: ClientId,
    /// What to do.
    pub action: Action,
    /// The action's parameters as they go over the wire.
    pub params: Arc<RawValue>,
    /// How long it may run, from `go`.
    pub timeout: Duration,
    /// When it was accepted.
    pub created: Moment,
}

/// A command and where it stands.
#[derive(Clone, Debug)]
pub struct Command {
    facts: Facts,
    state: State,
    trace: Vec<Mark>,
}

/// Where a command stands. Each state has exactly the data that belongs to it.
#[derive(Clone, Debug)]
pub enum State {
    /// Waits for its tab, or for a browser.
    Queued {
        /// How often it was delivered and came back.
        attempts: u32,
        /// The `respond` deadline of the delivery that was lost, which goes on running.
        respond_by: Option<Moment>,
        /// Whether the browser that it is for was connected at some time.
        reachable: bool,
    },
    /// Sent to an extension, which has not begun it (or, if it is safe, may have).
    Sent {
        /// Who has it.
        hold: Hold,
        /// When it must be claimed.
        respond_by: Moment,
    },
    /// It may have begun in the page: from here on it is never sent again.
    Started {
        /// Who has it.
        hold: Hold,
        /// When its running time and the grace for the report are over.
        execute_by: Moment,
        /// When it is given up because its browser is away.
        away_until: Option<Moment>,
        /// What the extension last said of it.
        progress: Option<Progress>,
    },
    /// Terminal: the outcome never changes again.
    Ended {
        /// When it ended.
        at: Moment,
        /// How.
        outcome: Outcome,
        /// Who had it last, if anybody did.
        hold: Option<Hold>,
        /// Until when its tab counts as taken, since the page may still be at it.
        lane_until: Option<Moment>,
        /// Whether its owner has had the outcome.
        read: bool,
    },
}

/// One delivery: who has the command, and the attempt that fences its reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Which delivery.
    pub attempt: Attempt,
    /// To whom.
    pub by: Peer,
}

/// One life of one browser's extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The installation.
    pub browser: BrowserId,
    /// This life of its worker.
    pub instance: InstanceId,
}

/// What can happen to a command.
#[derive(Debug)]
pub enum Event {
    /// The browser that it is for is connected.
    Reachable,
    /// It leaves for this extension, whose link has room; its tab is free (row 3).
    Deliver(Peer),
    /// An extension wants to run it (row 5).
    Claim(Peer, Attempt),
    /// An extension says what became of it (rows 6, 6a, 9, 10, 18).
    Report(Peer, Attempt, ExtensionReport),
    /// The link of the extension that holds it is closed (rows 7, 7a, 11).
    LinkClosed,
    /// The browser that holds it is back; what it says of this attempt, if anything
    /// (rows 11a, 12).
    Back(Peer, Option<InFlightState>),
    /// Its owner cancels it (rows 15, 16).
    Cancel,
    /// Its owner has had the outcome.
    Read,
    /// Time has passed: whatever deadline is over takes effect (rows 4, 8, 12–14).
    Tick,
}

/// What an event did.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Nothing changed; the sender gets this answer.
    Unchanged(Reply),
    /// Something changed: waiters wake, and lanes follow the phase.
    Changed {
        /// The phase before.
        from: Phase,
        /// The phase after.
        to: Phase,
        /// The answer to the sender.
        reply: Reply,
        /// Why the extension that holds it is told to stop, if it is.
        cancel: Option<CancelReason>,
    },
}

/// What the sender of an event is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    Nothing,
    /// `go`, once the start is recorded.
    Go,
    /// `result_ack`.
    Ack,
    /// `nack`.
    Nack(NackReason),
}

/// The states without their data, and with what lanes need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// [`State::Queued`].
    Queued,
    /// [`State::Sent`].
    Sent,
    /// [`State::Started`].
    Started,
    /// [`State::Ended`], its tab still taken.
    Leaving,
    /// [`State::Ended`].
    Ended,
}

impl Phase {
    /// Whether a command in this phase keeps its lane from others.
    #[must_use]
    pub const fn holds_lane(self) -> bool {
        match self {
            Self::Sent | Self::Started | Self::Leaving => true,
            Self::Queued | Self::Ended => false,
        }
    }

    /// Whether the command is over.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Leaving | Self::Ended => true,
            Self::Queued | Self::Sent | Self::Started => false,
        }
    }
}

/// A phase of the command's life and when it was reached.
#[derive(Clone, Copy, Debug)]
struct Mark {
    phase: TracePhase,
    at: Moment,
    attempt: Option<Attempt>,
}

/// The most entries that late reports may add to one trace.
const LATE_MARKS: usize = 8;

impl Command {
    /// A command that was just accepted (row 1).
    #[must_use]
    pub fn new(facts: Facts) -> Self {
        let queued = Mark { phase: TracePhase::Queued, at: facts.created, attempt: None };
        let state = State::Queued { attempts: 0, respond_by: None, reachable: false };
        Self { facts, state, trace: vec![queued] }
    }

    /// What it is.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Where it stands, in a word.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        match &self.state {
            State::Queued { .. } => Phase::Queued,
            State::Sent { .. } => Phase::Sent,
            State::Started { .. } => Phase::Started,
            State::Ended { lane_until: Some(_), .. } => Phase::Leaving,
            State::Ended { lane_until: None, .. } => Phase::Ended,
        }
    }

    /// Who has it, or had it last.
    #[must_use]
    pub const fn hold(&self) -> Option<&Hold> {
        match &self.state {
            State::Queued { .. } => None,
            State::Sent { hold, .. } | State::Started { hold, .. } => Some(hold),
            State::Ended { hold, .. } => hold.as_ref(),
        }
    }

    /// Whether `go` may leave for this attempt: the question that is asked again
    /// after the start was recorded (row 5).
    #[must_use]
    pub fn may_go(&self, attempt: Attempt) -> bool {
        matches!(&self.state, State::Started { hold, .. } if hold.attempt == attempt)
    }

    /// The latest moment at which it is over, whatever happens.
    #[must_use]
    pub fn total_by(&self) -> Moment {
        self.facts.created + self.facts.timeout + limits::QUEUE_ALLOWANCE
    }

    /// When its record goes, once it has ended.
    #[must_use]
    pub fn retain_until(&self) -> Option<Moment> {
        match self.state {
            State::Ended { at, .. } => Some(at + limits::RETAIN),
            State::Queued { .. } | State::Sent { .. } | State::Started { .. } => None,
        }
    }

    /// The next moment at which something happens to it by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Moment {
        let total = self.total_by();
        match &self.state {
            State::Queued { respond_by, .. } => total.min(respond_by.unwrap_or(total)),
            State::Sent { respond_by, .. } => total.min(*respond_by),
            State::Started { execute_by, away_until, .. } => {
                total.min(*execute_by).min(away_until.unwrap_or(total))
            }
            State::Ended { at, lane_until, .. } => lane_until.unwrap_or(*at + limits::RETAIN),
        }
    }

    /// Lets an event happen to the command: the one place where its state changes.
    ///
    /// A deadline that is over takes effect first, at its own moment, even if the
    /// timer was late: so an event never wins against a deadline that it missed.
    pub fn apply(&mut self, event: Event, now: Moment) -> Step {
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
    fn elapse(&mut self, now: Moment) -> Option<Option<CancelReason>> {
        let mut taken = None;
        while !self.is_forgettable() && self.next_deadline() <= now {
            let stop = self.pass_deadline();
            taken = Some(taken.flatten().or(stop));
        }
        taken
    }

    /// Whether the only deadline left is the end of its retention, which is not the
    /// command's to take: its keeper drops it.
    const fn is_forgettable(&self) -> bool {
        matches!(self.phase(), Phase::Ended)
    }

    /// Rows 4, 8, 12, 13, 14, and the end of a lane's hold.
    fn pass_deadline(&mut self) -> Option<CancelReason> {
        let due = self.next_deadline();
        let may_have_run = self.facts.action.is_safe();
        match &mut self.state {
            State::Queued { respond_by: Some(by), .. } if *by <= due => {
                self.expire(Expiry::ExtensionNoResponse, may_have_run, due);
            }
            State::Queued { attempts: 0, reachable: false, .. } => {
                self.expire(Expiry::NoExtension, false, due);
            }
            State::Queued { attempts, .. } => {
                let may_have_run = may_have_run && *attempts > 0;
                self.expire(Expiry::NotDelivered, may_have_run, due);
            }
            State::Sent { .. } => self.expire(Expiry::ExtensionNoResponse, may_have_run, due),
            State::Started { away_until: Some(by), .. } if *by <= due => {
                self.expire(Expiry::ExtensionDisconnected, true, due);
            }
            State::Started { execute_by, .. } if *execute_by <= due => {
                let outcome = Outcome::overran(self.facts.timeout);
                self.end_leaving(outcome, due);
                return Some(CancelReason::ExecutionTimeout);
            }
            State::Started { .. } => {
                let outcome =
                    Outcome::Expired { reason: Expiry::CommandExpired, may_have_run: true };
                self.end_leaving(outcome, due);
                return Some(CancelReason::CommandExpired);
            }
            State::Ended { lane_until, .. } => *lane_until = None,
        }
        None
    }

    fn react(&mut self, event: Event, now: Moment) -> Step {
        match event {
            Event::Reachable => self.reachable(),
            Event::Deliver(peer) => self.deliver(peer, now),
            Event::Claim(peer, attempt) => self.claim(peer, attempt, now),
            Event::Report(peer, attempt, report) => self.hear(&peer, attempt, report, now),
            Event::LinkClosed => self.link_closed(now),
            Event::Back(peer, says) => self.back(&peer, says, now),
            Event::Cancel => self.cancel(now),
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
            | State::Ended { .. } => Step::Unchanged(Reply::Nothing),
        }
    }

    /// Row 3.
    fn deliver(&mut self, by: Peer, now: Moment) -> Step {
        let State::Queued { attempts, .. } = self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        let attempt = Attempt(attempts + 1);
        self.state = State::Sent { hold: Hold { attempt, by }, respond_by: now + limits::RESPOND };
        self.mark(TracePhase::Delivered, now, Some(attempt));
        self.changed(Phase::Queued, Reply::Nothing)
    }

    /// Rows 5 and 11a; a claim that is repeated is answered again, since a second
    /// `go` does nothing in the extension.
    fn claim(&mut self, peer: Peer, attempt: Attempt, now: Moment) -> Step {
        match &self.state {
            State::Sent { hold, .. } if hold.is(&peer, attempt) => {
                self.mark(TracePhase::Claimed, now, Some(attempt));
                self.start(peer, now)
            }
            State::Started { hold, .. } if hold.attempt == attempt && hold.by == peer => {
                Step::Unchanged(Reply::Go)
            }
            State::Ended { .. } => Step::Unchanged(Reply::Nack(NackReason::AlreadyTerminal)),
            State::Queued { .. } | State::Sent { .. } | State::Started { .. } => {
                Step::Unchanged(Reply::Nack(NackReason::StaleAttempt))
            }
        }
    }

    /// From here on it is this life of the worker's.
    fn start(&mut self, by: Peer, now: Moment) -> Step {
        let State::Sent { hold: Hold { attempt, .. }, .. } = self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        let hold = Hold { attempt, by };
        let execute_by = now + self.facts.timeout + limits::REPORT_GRACE;
        self.state = State::Started { hold, execute_by, away_until: None, progress: None };
        self.mark(TracePhase::Started, now, Some(attempt));
        self.changed(Phase::Sent, Reply::Go)
    }

    /// Rows 6, 6a, 9, 10 and 18.
    fn hear(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        report: ExtensionReport,
        now: Moment,
    ) -> Step {
        let stale = Step::Unchanged(Reply::Nack(NackReason::StaleAttempt));
        match &self.state {
            State::Queued { .. } => stale,
            State::Sent { hold, .. } | State::Started { hold, .. } if !hold.is(peer, attempt) => {
                stale
            }
            // Only a safe command reports without a claim. Any other that does has
            // run without `go`: its word does not count.
            State::Sent { .. } if !self.facts.action.is_safe() => match report {
                ExtensionReport::Cancelled { may_have_run } => {
                    self.finish(Outcome::Cancelled { may_have_run }, now)
                }
                ExtensionReport::Pending { .. }
                | ExtensionReport::Complete { .. }
                | ExtensionReport::Error { .. }
                | ExtensionReport::Timeout { .. } => stale,
            },
            State::Sent { .. } | State::Started { .. } => match Outcome::reported(report) {
                Ok(outcome) => self.finish(outcome, now),
                Err(progress) => self.progress(peer, progress.at(now), now),
            },
            State::Ended { .. } => self.late(peer, attempt, report, now),
        }
    }

    fn finish(&mut self, outcome: Outcome, now: Moment) -> Step {
        let from = self.phase();
        self.end(outcome, now);
        self.changed(from, Reply::Ack)
    }

    /// Rows 6a and 9.
    fn progress(&mut self, peer: &Peer, said: Progress, now: Moment) -> Step {
        let from = self.phase();
        if from == Phase::Sent {
            let _ = self.start(peer.clone(), now);
        }
        let State::Started { hold, progress, away_until, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        *progress = Some(said);
        *away_until = None;
        let attempt = hold.attempt;
        if !self.trace.iter().any(|mark| mark.phase == TracePhase::FirstPending) {
            self.mark(TracePhase::FirstPending, now, Some(attempt));
        }
        self.changed(from, Reply::Nothing)
    }

    /// Row 18: the outcome stands. A report from whoever had the command last says
    /// that the page is done with it, so its tab is free.
    fn late(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        report: ExtensionReport,
        now: Moment,
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
    fn link_closed(&mut self, now: Moment) -> Step {
        match &mut self.state {
            State::Sent { hold, .. } if hold.attempt.0 >= limits::ATTEMPTS => {
                let may_have_run = self.facts.action.is_safe();
                self.expire(Expiry::DeliveryFailed, may_have_run, now);
                self.changed(Phase::Sent, Reply::Nothing)
            }
            State::Sent { hold, respond_by } => {
                let Hold { attempt, .. } = *hold;
                let respond_by = Some(*respond_by);
                self.state = State::Queued { attempts: attempt.0, respond_by, reachable: true };
                self.mark(TracePhase::Requeued, now, Some(attempt));
                self.changed(Phase::Sent, Reply::Nothing)
            }
            State::Started { away_until: away_until @ None, .. } => {
                *away_until = Some(now + limits::AWAY);
                self.changed(Phase::Started, Reply::Nothing)
            }
            State::Started { .. } | State::Queued { .. } | State::Ended { .. } => {
                Step::Unchanged(Reply::Nothing)
            }
        }
    }

    /// Rows 11a and 12.
    fn back(&mut self, peer: &Peer, says: Option<InFlightState>, now: Moment) -> Step {
        let State::Started { hold, away_until, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        if hold.by.browser != peer.browser {
            return Step::Unchanged(Reply::Nothing);
        }
        let same_life = hold.by == *peer;
        let reply = match says {
            Some(InFlightState::Claimed) if same_life => Reply::Go,
            Some(InFlightState::Running) if same_life => Reply::Nothing,
            Some(InFlightState::Done) => Reply::Nothing,
            Some(InFlightState::Claimed | InFlightState::Running) | None => {
                self.expire(Expiry::ExtensionDisconnected, true, now);
                return self.changed(Phase::Started, Reply::Nothing);
            }
        };
        *away_until = None;
        self.changed(Phase::Started, reply)
    }

    /// Rows 15 and 16.
    fn cancel(&mut self, now: Moment) -> Step {
        let from = self.phase();
        match &self.state {
            State::Queued { attempts, .. } => {
                let may_have_run = self.facts.action.is_safe() && *attempts > 0;
                self.end(Outcome::Cancelled { may_have_run }, now);
                self.changed(from, Reply::Nothing)
            }
            State::Sent { .. } => {
                let may_have_run = self.facts.action.is_safe();
                self.end(Outcome::Cancelled { may_have_run }, now);
                self.stopped(from)
            }
            State::Started { .. } => {
                self.end_leaving(Outcome::Cancelled { may_have_run: true }, now);
                self.stopped(from)
            }
            State::Ended { .. } => Step::Unchanged(Reply::Nothing),
        }
    }

    fn read(&mut self, now: Moment) -> Step {
        let from = self.phase();
        let State::Ended { read: read @ false, .. } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        *read = true;
        self.mark(TracePhase::FirstRead, now, None);
        self.changed(from, Reply::Nothing)
    }

    fn expire(&mut self, reason: Expiry, may_have_run: bool, at: Moment) {
        self.end(Outcome::Expired { reason, may_have_run }, at);
    }

    fn end(&mut self, outcome: Outcome, at: Moment) {
        let hold = self.hold().cloned();
        let attempt = hold.as_ref().map(|hold| hold.attempt);
        self.state = State::Ended { at, outcome, hold, lane_until: None, read: false };
        self.mark(TracePhase::Done, at, attempt);
    }

    /// Ends it while the page may still be at it: its tab stays taken for a while.
    fn end_leaving(&mut self, outcome: Outcome, at: Moment) {
        self.end(outcome, at);
        if let State::Ended { lane_until, .. } = &mut self.state {
            *lane_until = Some(at + limits::LANE_HOLD);
        }
    }

    fn mark(&mut self, phase: TracePhase, at: Moment, attempt: Option<Attempt>) {
        self.trace.push(Mark { phase, at, attempt });
    }

    fn changed(&self, from: Phase, reply: Reply) -> Step {
        Step::Changed { from, to: self.phase(), reply, cancel: None }
    }

    fn stopped(&self, from: Phase) -> Step {
        let cancel = Some(CancelReason::Cancelled);
        Step::Changed { from, to: self.phase(), reply: Reply::Nothing, cancel }
    }
}

impl Hold {
    /// Whether a report of `attempt` from `peer` counts. The browser decides, not the
    /// life of its worker: an outbox outlives the worker that filled it.
    fn is(&self, peer: &Peer, attempt: Attempt) -> bool {
        self.attempt == attempt && self.by.browser == peer.browser
    }
}
