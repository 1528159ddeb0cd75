//! How the daemon is, and what came to its door.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Hub;
use super::desk::Desk;
use crate::lifecycle::{Command, Phase};

/// How the daemon is.
#[derive(Clone, Debug)]
pub struct Health {
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
    pub requests: Requests,
}

/// How many requests came since the daemon began, by what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Requests {
    /// Those that were let in, whatever they were answered then.
    pub admitted: u64,
    /// Those that were turned away before anything looked at what they want.
    pub refused: u64,
}

/// Counts requests as they come.
#[derive(Debug, Default)]
pub(super) struct Counters {
    admitted: AtomicU64,
    refused: AtomicU64,
}

impl Counters {
    fn read(&self) -> Requests {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Requests { admitted: read(&self.admitted), refused: read(&self.refused) }
    }
}

impl Hub {
    /// Counts a request that was let in, or turned away.
    pub fn count_request(&self, is_admitted: bool) {
        let Counters { admitted, refused } = &self.0.requests;
        let counter = if is_admitted { admitted } else { refused };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// How the daemon is.
    #[must_use]
    pub fn health(&self) -> Health {
        let kept = self.0.commands.len();
        self.with_desk(|desk| Health {
            uptime: desk.now().since(self.0.clock.started_at()),
            pending: desk.clients.values().map(|client| client.active.len()).sum(),
            kept,
            browsers: desk.browsers.values().filter(|browser| browser.is_connected()).count(),
            clients: desk.clients.len(),
            requests: self.0.requests.read(),
        })
    }
}

impl Desk<'_> {
    /// Whether a command runs in a page, or is about to.
    pub(super) fn is_anything_running(&self) -> bool {
        let mut held = self.browsers.values().flat_map(|browser| &browser.held);
        let runs = |command: &Command| command.phase() == Phase::Started || command.may_have_run();
        held.any(|id| self.inner.commands.get(id).is_some_and(|command| runs(&command.borrow())))
    }
}
