//! The metrics of the daemon, for operators.

use super::{Hub, StorageStatus};
use crate::metrics::DaemonSample;

impl Hub {
    /// Everything that is counted and measured, as OpenMetrics text. `journal_bytes` is the size of
    /// the journal's files, if there are any.
    #[must_use]
    pub fn metrics_text(&self, journal_bytes: Option<u64>) -> String {
        let requests = self.health().requests;
        let sample = self.view(|engine| DaemonSample {
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
        });
        self.0.metrics.text(&sample)
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
