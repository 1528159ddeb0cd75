//! Sleep of the machine. The clock of all deadlines stands still meanwhile, so that a command that runs,
//! its browser and a person lose no time. A command that has not begun does: what was asked for before
//! a sleep must not begin after it.

use std::time::Duration;

use super::{Command, CommandState, EventReply, Transition};
use crate::protocol::Timestamp;

impl Command {
    /// Rows 4, 8 and 14 after a sleep: takes it from the time in which the command must be taken up, and
    /// from its whole time.
    pub(super) fn note_sleep(&mut self, length: Duration, now: Timestamp) -> Transition {
        let phase = self.phase();
        match &mut self.state {
            CommandState::Queued { respond_by: Some(by), .. } => *by = sooner(*by, length, now),
            CommandState::Queued { respond_by: None, .. } => {}
            // It may be running: nobody says when it begins.
            CommandState::Sent { delivery, .. } if delivery.transport.runs_at_once() => {
                return Transition::Unchanged(EventReply::Nothing);
            }
            CommandState::Sent { respond_by, .. } => *respond_by = sooner(*respond_by, length, now),
            // Claimed, and `go` has not left.
            CommandState::Started { let_go: false, .. } => {}
            CommandState::Held { .. } => self.holds.asleep += length,
            CommandState::Started { let_go: true, .. }
            | CommandState::Waiting
            | CommandState::Working { .. }
            | CommandState::Ended { .. } => return Transition::Unchanged(EventReply::Nothing),
        }
        if self.hold().is_none() {
            // No further back than now: it ends when the machine wakes, not while it slept.
            self.slept += length.min(self.total_by().since(now));
        }
        self.changed(phase, EventReply::Nothing)
    }

    /// It begins. Its running time counts no sleep, and it has all of it.
    pub(super) const fn forget_sleep(&mut self) {
        self.slept = Duration::ZERO;
    }
}

/// A deadline from which a sleep is taken.
fn sooner(deadline: Timestamp, slept: Duration, now: Timestamp) -> Timestamp {
    deadline - slept.min(deadline.since(now))
}
