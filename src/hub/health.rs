//! The health of the daemon, and the counts of its requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Hub;

/// The health of the daemon.
#[derive(Clone, Debug)]
pub struct DaemonHealth {
    /// How long it has been running.
    pub uptime: Duration,
    /// The pending commands of all clients.
    pub pending: usize,
    /// The commands with a record, of all clients.
    pub kept: usize,
    /// How many browsers are connected.
    pub browsers: usize,
    /// How many clients are known.
    pub clients: usize,
    /// HTTP requests, including those that open a socket.
    pub requests: RequestCounts,
}

/// The requests since the daemon started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct RequestCounts {
    /// Requests that passed the guard, with any answer.
    pub admitted: u64,
    /// Requests that the guard turned away.
    pub refused: u64,
}

/// Counters of requests.
#[derive(Debug, Default)]
pub(super) struct RequestCounters {
    admitted: AtomicU64,
    refused: AtomicU64,
}

impl RequestCounters {
    fn read(&self) -> RequestCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RequestCounts { admitted: read(&self.admitted), refused: read(&self.refused) }
    }
}

impl Hub {
    /// Counts a request that passed the guard, or was turned away with this code.
    pub fn count_request(&self, rejection: Option<&'static str>) {
        let RequestCounters { admitted, refused } = &self.0.requests;
        if let Some(code) = rejection {
            self.0.metrics.count_rejected_request(code);
        }
        let counter = if rejection.is_none() { admitted } else { refused };
        // A statistic, which orders nothing.
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The health of the daemon.
    #[must_use]
    pub fn health(&self) -> DaemonHealth {
        let uptime = self.now().since(self.0.clock.started_at());
        let requests = self.0.requests.read();
        self.view(|engine| DaemonHealth {
            uptime,
            pending: engine.pending_commands(),
            kept: engine.kept_commands(),
            browsers: engine.connected_browsers(),
            clients: engine.known_clients(),
            requests,
        })
    }
}
