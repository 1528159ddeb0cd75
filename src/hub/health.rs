//! How the daemon is, and what came to its door.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Hub;

/// How the daemon is.
#[derive(Clone, Debug)]
pub struct DaemonHealth {
    /// How long it has been running.
    pub uptime: Duration,
    /// Commands that are not over, of all clients.
    pub pending: usize,
    /// Commands whose record is kept, of all clients.
    pub kept: usize,
    /// How many browsers are connected.
    pub browsers: usize,
    /// How many clients are known.
    pub clients: usize,
    /// The HTTP requests that came, sockets' first ones among them.
    pub requests: RequestCounts,
}

/// How many requests came since the daemon began, by what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct RequestCounts {
    /// Those that were let in, whatever they were answered then.
    pub admitted: u64,
    /// Those that were turned away before anything looked at what they want.
    pub refused: u64,
}

/// Counts requests as they come.
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
    /// Counts a request that was let in, or turned away.
    pub fn count_request(&self, is_admitted: bool) {
        let RequestCounters { admitted, refused } = &self.0.requests;
        let counter = if is_admitted { admitted } else { refused };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// How the daemon is.
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
