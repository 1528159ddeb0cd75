//! A command from an earlier run of the daemon, and how this run continues it (row 17).

use std::sync::Arc;
use std::time::Duration;

use super::{
    BrowserAbsence, Command, CommandHold, CommandOutcome, CommandPhase, CommandSpec, CommandState,
    Delivery, ExpiryReason, HoldHistory, TracePoint,
};
use crate::lifecycle::limits;
use crate::protocol::{Timestamp, TracePhase};
use crate::seeded_bug;

/// A command as the journal records it.
#[derive(Clone, Debug)]
pub struct SavedCommand {
    /// Its specification.
    pub spec: CommandSpec,
    /// How far it had got.
    pub stage: SavedStage,
    /// The recorded phases of the command.
    pub trace: Vec<TracePoint>,
    /// Its holds so far.
    pub holds: HoldHistory,
}

/// How far a command had got when it was last recorded.
#[derive(Clone, Debug)]
pub enum SavedStage {
    /// It was accepted. It may have been sent, but only a safe command can have begun.
    Accepted,
    /// It waited for the person's word.
    Held(CommandHold),
    /// It was in the queue again after the person's word.
    Released {
        /// Since when.
        at: Timestamp,
    },
    /// It may have begun in the page.
    Started {
        /// Its delivery.
        delivery: Delivery,
        /// When it started.
        at: Timestamp,
    },
    /// The daemon ran the job.
    Working {
        /// When the job began.
        at: Timestamp,
    },
    /// It had ended.
    Ended {
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        outcome: CommandOutcome,
        /// Its last delivery, if it was ever delivered.
        delivery: Option<Delivery>,
        /// Whether its owner had read the outcome.
        read: bool,
    },
}

impl SavedStage {
    /// How far a command has come, as it is recorded. `None`: nothing of that is recorded, the
    /// command is as it was when it was accepted.
    #[must_use]
    pub fn of(command: &Command) -> Option<Self> {
        match &command.state {
            // It may be running: nobody will say when it begins.
            CommandState::Sent { delivery, .. } if delivery.transport.runs_at_once() => {
                Some(Self::Started { delivery: delivery.clone(), at: command.delivered_at() })
            }
            CommandState::Queued { .. } | CommandState::Sent { .. } if command.holds.times > 0 => {
                let at = command.reached(TracePhase::Requeued);
                Some(Self::Released { at: at.unwrap_or(command.spec.created) })
            }
            CommandState::Queued { .. } | CommandState::Sent { .. } | CommandState::Waiting => None,
            CommandState::Held { hold, .. } => Some(Self::Held(CommandHold::clone(hold))),
            CommandState::Started { delivery, .. } => {
                Some(Self::Started { delivery: delivery.clone(), at: command.started_at() })
            }
            CommandState::Working { .. } => Some(Self::Working { at: command.started_at() }),
            CommandState::Ended { at, outcome, delivery, read, .. } => Some(Self::Ended {
                at: *at,
                outcome: outcome.clone(),
                delivery: delivery.clone(),
                read: *read,
            }),
        }
    }
}

impl Command {
    /// Continues a saved command in a run of the daemon that begins `now`.
    ///
    /// A command that had not begun waits for its turn again, with the rest of its time. A command
    /// that may have begun waits for its browser and is never sent again. After a restart of the
    /// machine both have expired. An ended command stays as it was.
    ///
    /// No time in the restored command lies after `now`: a clock that was set back must not give
    /// the command more than its total time, nor keep its record for longer than its retention.
    #[must_use]
    pub fn restore(saved: SavedCommand, is_same_boot: bool, now: Timestamp) -> Self {
        let asleep = saved.spec.asleep.unwrap_or_default();
        Self::restore_after_sleep(saved, is_same_boot, now, asleep)
    }

    /// The same on a machine that has slept for `asleep` in all since it was started.
    #[must_use]
    pub fn restore_after_sleep(
        saved: SavedCommand,
        is_same_boot: bool,
        now: Timestamp,
        asleep: Duration,
    ) -> Self {
        let SavedCommand { mut spec, stage, mut trace, holds } = saved;
        let slept = slept_since(&spec, &holds, asleep);
        spec.created = spec.created.min(now);
        for mark in &mut trace {
            mark.at = mark.at.min(now);
        }
        let mut command = Self {
            state: CommandState::first(&spec.work),
            spec: Arc::new(spec),
            trace,
            holds,
            slept: Duration::ZERO,
            read_on_at: None,
            is_restored: true,
        };
        command.restore_stage(stage, is_same_boot, now, slept);
        command
    }

    fn restore_stage(
        &mut self,
        stage: SavedStage,
        is_same_boot: bool,
        now: Timestamp,
        slept: Duration,
    ) {
        let command = self;
        match stage {
            // No more than its name was recorded, and its outcome is gone.
            SavedStage::Accepted | SavedStage::Held(_) | SavedStage::Released { .. }
                if command.spec.is_private =>
            {
                command.expire(ExpiryReason::DaemonRestarted, false, now);
            }
            SavedStage::Ended { at, outcome: CommandOutcome::Complete { .. }, delivery, read }
                if command.spec.is_private =>
            {
                let outcome = CommandOutcome::Expired {
                    reason: ExpiryReason::DaemonRestarted,
                    may_have_run: true,
                };
                let at = at.min(now);
                command.state =
                    CommandState::Ended { at, outcome, delivery, lane_until: None, read };
            }
            // The person may still be drawing, and the daemon begins the job when its turn comes.
            SavedStage::Accepted if matches!(command.state, CommandState::Waiting) => {}
            SavedStage::Accepted | SavedStage::Released { .. } => {
                command.slept = slept;
                command.restore_accepted(is_same_boot, now);
            }
            SavedStage::Held(hold) if is_same_boot => {
                // Nobody knows how much of it was before the hold; a person's time counts no sleep.
                command.holds.asleep += slept;
                let hold = CommandHold { since: hold.since.min(now), ..hold }.into();
                command.state = CommandState::Held { hold, attempts: 0 };
            }
            // Its tab is gone.
            SavedStage::Held(_) => command.expire(ExpiryReason::MachineRebooted, false, now),
            SavedStage::Working { .. } if seeded_bug::is_on("job-begins-again") => {}
            // Part of the job is done, and the process that ran it is gone.
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
    }

    /// Whether the journal must record the change from the phase `from`: that the command may have
    /// begun, or that it has ended. A command that was handed to a poll may begin at once.
    #[must_use]
    pub fn is_to_be_recorded_since(&self, from: CommandPhase) -> bool {
        let runs_at_once =
            self.delivery().is_some_and(|delivery| delivery.transport.runs_at_once());
        match self.phase() {
            // What the person allowed must not be asked again.
            CommandPhase::Queued => from == CommandPhase::Held,
            CommandPhase::Held => from != CommandPhase::Held,
            CommandPhase::Waiting => false,
            CommandPhase::Working => from != CommandPhase::Working,
            CommandPhase::Sent => runs_at_once && from == CommandPhase::Queued,
            // A polled command was recorded when it was handed over.
            CommandPhase::Started => from != CommandPhase::Started && !runs_at_once,
            CommandPhase::Leaving | CommandPhase::Ended => !from.is_terminal(),
        }
    }

    /// Rows 17, 17a and 17c. Attempts count from 1 again: with the new epoch the extension forgets the
    /// old ones.
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

    /// Row 17b. An extension that polls reports nothing but the end of a command, so there is no
    /// reconnection to wait for. The journal does not record whether `go` was sent, so it may have
    /// been.
    fn restore_started(&mut self, delivery: Delivery, at: Timestamp, now: Timestamp) {
        let execute_by = at + self.spec.timeout + limits::REPORT_GRACE;
        let asked =
            BrowserAbsence { until: now + limits::AWAY, lost: ExpiryReason::DaemonRestarted };
        let away = (!delivery.transport.runs_at_once()).then_some(asked);
        self.state =
            CommandState::Started { delivery, execute_by, away, progress: None, let_go: true };
    }
}

/// How long the machine has slept since a command was accepted, but for the sleep while a person was
/// asked. `asleep`: how long it has slept in all.
fn slept_since(spec: &CommandSpec, holds: &HoldHistory, asleep: Duration) -> Duration {
    let since = spec.asleep.map_or(Duration::ZERO, |before| asleep.saturating_sub(before));
    since.saturating_sub(holds.asleep)
}
