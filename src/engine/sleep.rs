//! Sleep of the machine. The clock of the engine stands still meanwhile. The shell says how long the machine
//! has slept, and commands that have not begun lose that time.

use std::time::Duration;

use super::{Engine, Transaction};
use crate::lifecycle::{CommandPhase, LifecycleEvent};
use crate::protocol::CorrelationId;

/// Less than this is no sleep: the two clocks that tell of it are not read at the same moment.
pub const SHORTEST_SLEEP: Duration = Duration::from_millis(100);

/// How long the machine has slept.
#[derive(Debug, Default)]
pub(super) struct MachineSleep {
    /// Up to the start of the daemon, since the machine was started.
    before: Duration,
    /// In all, since the machine was started.
    total: Duration,
    /// How much of it the commands were told.
    told: Duration,
}

impl MachineSleep {
    /// Takes what the shell says. A sleep that the commands have to be told.
    fn note(&mut self, total: Duration) -> Option<Duration> {
        self.total = self.total.max(total);
        let untold = self.total - self.told;
        if untold < SHORTEST_SLEEP {
            return None;
        }
        self.told = self.total;
        Some(untold)
    }

    /// In all, since the machine was started.
    pub(super) const fn total(&self) -> Duration {
        self.total
    }
}

impl Engine {
    /// The engine of a daemon that starts on a machine that has slept for this long in all since that was
    /// started.
    #[must_use]
    pub fn after_sleep(self, asleep: Duration) -> Self {
        let sleep = MachineSleep { before: asleep, total: asleep, told: asleep };
        Self { sleep, ..self }
    }

    /// Whether a command is Queued or Sent, which loses time while the machine sleeps. The timer then looks
    /// for sleep: nothing else may come that would.
    #[must_use]
    pub const fn loses_time_asleep(&self) -> bool {
        self.commands.is_any_not_begun()
    }
}

impl Transaction<'_> {
    /// Notes how long the machine has slept in all since it was started. Commands that have not begun
    /// lose the time that is new; those whose time is over end, before anything else of this transaction
    /// happens.
    pub fn note_sleep(&mut self, total: Duration) {
        let Some(slept) = self.sleep.note(total) else { return };
        tracing::info!(?slept, "the machine has slept");
        let is_open = |phase: CommandPhase| !phase.is_terminal();
        let open = self.commands.all().filter(|command| is_open(command.phase()));
        let mut open: Vec<CorrelationId> = open.map(|command| command.spec().id.clone()).collect();
        // The map has no order, and what ends is listed.
        open.sort_unstable();
        for id in open {
            self.apply(&id, LifecycleEvent::Slept(slept));
            self.apply(&id, LifecycleEvent::Tick);
        }
    }

    /// How long this run of the daemon has lasted, sleep of the machine included.
    pub(super) fn run_time(&self) -> Duration {
        self.now().since(self.started) + (self.sleep.total - self.sleep.before)
    }
}
