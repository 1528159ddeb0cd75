//! The transitions of host tasks: waits for a person, and jobs. No browser runs them.

use super::{
    Command, CommandOutcome, CommandPhase, CommandState, EventReply, ExpiryReason, Transition,
};
use crate::protocol::{CommandProgress, Timestamp, TracePhase, WorkKind};

impl Command {
    /// Row 25: the reason for which it expires.
    pub(super) fn overdue(&self) -> ExpiryReason {
        match self.spec.work.kind() {
            WorkKind::Annotations => ExpiryReason::NobodyDrew,
            WorkKind::Ask => ExpiryReason::NobodyAnswered,
            WorkKind::Browser | WorkKind::Job => ExpiryReason::CommandExpired,
        }
    }

    /// Row 22.
    pub(super) fn begin(&mut self, now: Timestamp) -> Transition {
        // A wait for a person has nothing to begin: the person does.
        if !matches!(self.state, CommandState::Waiting) || self.spec.work.kind() != WorkKind::Job {
            return Transition::Unchanged(EventReply::Nothing);
        }
        self.state = CommandState::Working { progress: None };
        self.mark(TracePhase::Started, now, None);
        self.changed(CommandPhase::Waiting, EventReply::Nothing)
    }

    /// Row 23.
    pub(super) fn advance(&mut self, said: CommandProgress, now: Timestamp) -> Transition {
        let CommandState::Working { progress } = &mut self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        *progress = Some(said);
        self.mark_first_pending(now, None);
        self.changed(CommandPhase::Working, EventReply::Nothing)
    }

    /// Rows 24 and 31.
    pub(super) fn finish_host_task(
        &mut self,
        outcome: CommandOutcome,
        now: Timestamp,
    ) -> Transition {
        let is_open = match &self.state {
            // It has not begun, so it has no result.
            CommandState::Held { .. } => matches!(outcome, CommandOutcome::Error { .. }),
            CommandState::Waiting | CommandState::Working { .. } => true,
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Started { .. }
            | CommandState::Ended { .. } => false,
        };
        if is_open {
            return self.finish(outcome, now);
        }
        Transition::Unchanged(EventReply::Nothing)
    }
}
