//! The metrics of the daemon, for operators and for the person's page.

use super::{Hub, StorageStatus};
use crate::metrics::{DaemonMeasures, DaemonSample};

impl Hub {
    /// Everything that is counted and measured, as OpenMetrics text. `journal_bytes` is the size of
    /// the journal's files, if there are any.
    #[must_use]
    pub fn metrics_text(&self, journal_bytes: Option<u64>) -> String {
        self.0.metrics.text(&self.sample(journal_bytes))
    }

    /// The same as numbers, with the last minutes.
    #[must_use]
    pub fn measures(&self, journal_bytes: Option<u64>) -> DaemonMeasures {
        self.0.metrics.measures(&self.sample(journal_bytes), self.now())
    }

    fn sample(&self, journal_bytes: Option<u64>) -> DaemonSample {
        let requests = self.health().requests;
        self.view(|engine| DaemonSample {
            phases: engine.open_phases(),
            kept: number(engine.kept_commands()),
            links: engine.open_links(),
            clients: number(engine.known_clients()),
            waiting_calls: number(engine.waiting_calls()),
            admitted: requests.admitted,
            refused: requests.refused,
            is_storage_well: !matches!(self.storage(), StorageStatus::Unavailable { .. }),
            journal_bytes,
            started: self.0.clock.started_at(),
        })
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
