//! A command from an earlier life of the daemon, and how it goes on in this one (row 17).

use std::sync::Arc;

use super::{
    BrowserAbsence, Command, CommandOutcome, CommandPhase, CommandSpec, CommandState, Delivery,
    ExpiryReason, TracePoint,
};
use crate::lifecycle::limits;
use crate::protocol::{Timestamp, TracePhase};
use crate::seeded_bug;

/// A command as it outlives the process.
#[derive(Clone, Debug)]
pub struct SavedCommand {
    /// What it is.
    pub spec: CommandSpec,
    /// How far it had come.
    pub stage: SavedStage,
    /// The phases that it had been through, as far as they were recorded.
    pub trace: Vec<TracePoint>,
}

/// How far a command had come when it was recorded last.
#[derive(Clone, Debug)]
pub enum SavedStage {
    /// It was accepted. It may have been sent, but unless it is safe it had not begun.
    Accepted,
    /// It may have begun in the page.
    Started {
        /// Who had it.
        delivery: Delivery,
        /// Since when.
        at: Timestamp,
    },
    /// The daemon was at it.
    Working {
        /// Since when.
        at: Timestamp,
    },
    /// It was over.
    Ended {
        /// When it ended.
        at: Timestamp,
        /// How.
        outcome: CommandOutcome,
        /// Who had it last, if anybody did.
        delivery: Option<Delivery>,
        /// Whether its owner had the outcome.
        read: bool,
    },
}

impl Command {
    /// A command that was saved, in the next life of the daemon, which begins `now`.
    ///
    /// One that had not begun waits for its turn again, with what is left of its time.
    /// One that had is waited for, and never sent again. After a restart of the machine
    /// both are over. What was over stays as it was.
    ///
    /// Nothing of it lies after `now`: a clock that was set back must not give it more
    /// than its whole time, nor keep it for longer than is its due.
    #[must_use]
    pub fn restore(saved: SavedCommand, is_same_boot: bool, now: Timestamp) -> Self {
        let SavedCommand { mut spec, stage, mut trace } = saved;
        spec.created = spec.created.min(now);
        for mark in &mut trace {
            mark.at = mark.at.min(now);
        }
        let mut command = Self {
            state: CommandState::first(&spec.work),
            spec: Arc::new(spec),
            trace,
            is_restored: true,
        };
        match stage {
            // The person may still be about it, and the job is begun when its turn comes.
            SavedStage::Accepted if matches!(command.state, CommandState::Waiting) => {}
            SavedStage::Accepted => command.restore_accepted(is_same_boot, now),
            SavedStage::Working { .. } if seeded_bug::is_on("job-begins-again") => {}
            // What was done of it is done, and nobody is at it any more.
            SavedStage::Working { .. } if is_same_boot => {
                command.expire(ExpiryReason::DaemonRestarted, true, now);
            }
            SavedStage::Working { .. } => command.expire(ExpiryReason::MachineRebooted, true, now),
            SavedStage::Started { delivery, at } => {
                command.restore_started(delivery, at.min(now), now);
                if !is_same_boot {
                    command.expire(ExpiryReason::MachineRebooted, true, now);
                }
            }
            SavedStage::Ended { at, outcome, delivery, read } => {
                let at = at.min(now);
                command.state =
                    CommandState::Ended { at, outcome, delivery, lane_until: None, read };
            }
        }
        command
    }

    /// Whether what has become of it since it was in the phase `from` must outlive the
    /// process: that it may have begun, or that it is over. What was polled for may begin
    /// without a further word.
    #[must_use]
    pub fn is_to_be_recorded_since(&self, from: CommandPhase) -> bool {
        let runs_at_once =
            self.delivery().is_some_and(|delivery| delivery.transport.runs_at_once());
        match self.phase() {
            CommandPhase::Queued | CommandPhase::Waiting => false,
            CommandPhase::Working => from != CommandPhase::Working,
            CommandPhase::Sent => runs_at_once && from == CommandPhase::Queued,
            CommandPhase::Started => from != CommandPhase::Started && !runs_at_once,
            CommandPhase::Leaving | CommandPhase::Ended => !from.is_terminal(),
        }
    }

    /// Rows 17, 17a and 17c.
    fn restore_accepted(&mut self, is_same_boot: bool, now: Timestamp) {
        let may_have_run = self.may_have_run();
        if !is_same_boot {
            self.expire(ExpiryReason::MachineRebooted, may_have_run, now);
        } else if self.total_by() <= now {
            self.expire(ExpiryReason::DaemonRestarted, may_have_run, now);
        } else {
            self.mark(TracePhase::Requeued, now, None);
        }
    }

    /// Row 17b. Attempts count from 1 again: at a new epoch the extension has forgotten the
    /// old ones. One that only polls says no more of it than that it is done. Whether `go` had left
    /// is not recorded: it may have.
    fn restore_started(&mut self, delivery: Delivery, at: Timestamp, now: Timestamp) {
        let execute_by = at + self.spec.timeout + limits::REPORT_GRACE;
        let asked =
            BrowserAbsence { until: now + limits::AWAY, lost: ExpiryReason::DaemonRestarted };
        let away = (!delivery.transport.runs_at_once()).then_some(asked);
        self.state =
            CommandState::Started { delivery, execute_by, away, progress: None, let_go: true };
    }
}
