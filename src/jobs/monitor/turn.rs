//! One sync at a time: there is one writer, and paths may overlap.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether a sync is running.
#[derive(Debug, Default)]
pub(super) struct SyncTurn {
    taken: Mutex<bool>,
    given_back: Condvar,
}

/// Holds the turn of a sync until it is dropped.
#[must_use]
pub(super) struct TurnGuard<'a>(&'a SyncTurn);

impl SyncTurn {
    /// Takes the turn once it is free. Calls `go_on` after each interval; `None` if that returns false.
    pub(super) fn take(
        &self,
        every: Duration,
        mut go_on: impl FnMut() -> bool,
    ) -> Option<TurnGuard<'_>> {
        let mut taken = self.lock();
        while *taken {
            // `go_on` is a caller's code and may take its time, so it runs without the lock.
            drop(taken);
            if !go_on() {
                return None;
            }
            let locked = self.lock();
            let waited = self.given_back.wait_timeout_while(locked, every, |taken| *taken);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken = true;
        Some(TurnGuard(self))
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.given_back.notify_one();
    }
}
