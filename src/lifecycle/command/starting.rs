//! How a command starts: the claim and `go`.

use super::{Command, CommandPhase, CommandState, Delivery, EventReply, Peer, Transition};
use crate::lifecycle::limits;
use crate::protocol::{Attempt, NackReason, Timestamp, TracePhase};

impl Command {
    /// Rows 5 and 11a. A repeated claim gets the same reply, because the first `go` may be lost and a
    /// second one does nothing in the extension.
    pub(super) fn claim(&mut self, peer: Peer, attempt: Attempt, now: Timestamp) -> Transition {
        match &self.state {
            CommandState::Sent { delivery, .. } if delivery.is(&peer, attempt) => {
                self.mark(TracePhase::Claimed, now, Some(attempt));
                self.start(peer, false, now)
            }
            CommandState::Started { delivery, .. }
                if delivery.attempt == attempt && delivery.peer == peer =>
            {
                Transition::Unchanged(EventReply::Go)
            }
            CommandState::Ended { .. } => {
                Transition::Unchanged(EventReply::Nack(NackReason::AlreadyTerminal))
            }
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Held { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => {
                Transition::Unchanged(EventReply::Nack(NackReason::StaleAttempt))
            }
        }
    }

    /// Starts the command. From here on only this run of the worker may run it.
    pub(super) fn start(&mut self, by: Peer, let_go: bool, now: Timestamp) -> Transition {
        let CommandState::Sent { delivery: Delivery { attempt, transport, .. }, .. } = self.state
        else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        let delivery = Delivery { attempt, peer: by, transport };
        let execute_by = now + self.spec.timeout + limits::REPORT_GRACE;
        self.state =
            CommandState::Started { delivery, execute_by, away: None, progress: None, let_go };
        if let_go {
            self.forget_sleep();
        }
        self.mark(TracePhase::Started, now, Some(attempt));
        self.changed(CommandPhase::Sent, EventReply::Go)
    }

    /// Row 5a. The caller sends `go` if the reply is `Go`, under the same lock: no cancellation can
    /// come in between.
    pub(super) fn let_go(&mut self, attempt: Attempt) -> Transition {
        if !self.may_go(attempt) {
            return Transition::Unchanged(EventReply::Nothing);
        }
        // It has had its `go`, and a repeated claim gets it again.
        let CommandState::Started { let_go: let_go @ false, .. } = &mut self.state else {
            return Transition::Unchanged(EventReply::Go);
        };
        *let_go = true;
        self.forget_sleep();
        self.changed(CommandPhase::Started, EventReply::Go)
    }
}
