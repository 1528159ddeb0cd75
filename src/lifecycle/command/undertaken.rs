//! The transitions of what no browser does: waits for a person, and jobs.

use super::{Command, Expiry, Outcome, Phase, Reply, State, Step};
use crate::protocol::{CommandProgress, Timestamp, TracePhase, WorkKind};

impl Command {
    /// Row 25: why it is over at its time.
    pub(super) fn overdue(&self) -> Expiry {
        match self.facts.work.kind() {
            WorkKind::Annotations => Expiry::NobodyDrew,
            WorkKind::Browser | WorkKind::Job => Expiry::CommandExpired,
        }
    }

    /// Row 22.
    pub(super) fn begin(&mut self, now: Timestamp) -> Step {
        if !matches!(self.state, State::Waiting) || self.facts.work.kind() != WorkKind::Job {
            return Step::Unchanged(Reply::Nothing);
        }
        self.state = State::Working { progress: None };
        self.mark(TracePhase::Started, now, None);
        self.changed(Phase::Waiting, Reply::Nothing)
    }

    /// Row 23.
    pub(super) fn advance(&mut self, said: CommandProgress, now: Timestamp) -> Step {
        let State::Working { progress } = &mut self.state else {
            return Step::Unchanged(Reply::Nothing);
        };
        *progress = Some(said);
        self.mark_first_pending(now, None);
        self.changed(Phase::Working, Reply::Nothing)
    }

    /// Row 24.
    pub(super) fn finish_undertaken(&mut self, outcome: Outcome, now: Timestamp) -> Step {
        match self.state {
            State::Waiting | State::Working { .. } => self.finish(outcome, now),
            State::Queued { .. }
            | State::Sent { .. }
            | State::Started { .. }
            | State::Ended { .. } => Step::Unchanged(Reply::Nothing),
        }
    }
}
