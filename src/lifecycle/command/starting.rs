//! How a command starts: the claim, and `go`.

use super::{Command, Hold, Peer, Phase, Reply, State, Step};
use crate::lifecycle::limits;
use crate::protocol::{Attempt, NackReason, Timestamp, TracePhase};

impl Command {
    /// Rows 5 and 11a; a claim that is repeated is answered again, since a second
    /// `go` does nothing in the extension.
    pub(super) fn claim(&mut self, peer: Peer, attempt: Attempt, now: Timestamp) -> Step {
        match &self.state {
            State::Sent { hold, .. } if hold.is(&peer, attempt) => {
                self.mark(TracePhase::Claimed, now, Some(attempt));
                self.start(peer, false, now)
            }
            State::Started { hold, .. } if hold.attempt == attempt && hold.by == peer => {
                Step::Unchanged(Reply::Go)
            }
            State::Ended { .. } => Step::Unchanged(Reply::Nack(NackReason::AlreadyTerminal)),
            State::Queued { .. }
            | State::Sent { .. }
            | State::Started { .. }
            | State::Waiting
            | State::Working { .. } => Step::Unchanged(Reply::Nack(NackReason::StaleAttempt)),
        }
    }

    /// From here on it is this life of the worker's.
    pub(super) fn start(&mut self, by: Peer, let_go: bool, now: Timestamp) -> Step {
        let State::Sent { hold: Hold { attempt, carrier, .. }, .. } = self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        let hold = Hold { attempt, by, carrier };
        let execute_by = now + self.facts.timeout + limits::REPORT_GRACE;
        self.state = State::Started { hold, execute_by, away: None, progress: None, let_go };
        self.mark(TracePhase::Started, now, Some(attempt));
        self.changed(Phase::Sent, Reply::Go)
    }

    /// Row 5a. Whoever asks sends `go` if this says so: nothing can come in between.
    pub(super) fn let_go(&mut self, attempt: Attempt) -> Step {
        if !self.may_go(attempt) {
            return Step::Unchanged(Reply::Nothing);
        }
        match &mut self.state {
            State::Started { let_go: let_go @ false, .. } => {
                *let_go = true;
                self.changed(Phase::Started, Reply::Go)
            }
            State::Started { .. }
            | State::Queued { .. }
            | State::Sent { .. }
            | State::Waiting
            | State::Working { .. }
            | State::Ended { .. } => Step::Unchanged(Reply::Go),
        }
    }
}
