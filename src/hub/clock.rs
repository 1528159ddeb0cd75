//! The only reader of clocks.

use std::time::SystemTime;

use tokio::time::Instant;

use crate::protocol::Moment;

/// Reads the time. The system's clock is read once, at the start; from there on time
/// is monotonic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
    started_at: Moment,
}

impl Clock {
    /// A clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "this is where clocks are read")]
    pub(crate) fn start() -> Self {
        let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let micros = u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX);
        Self { started: Instant::now(), started_at: Moment::from_unix_micros(micros) }
    }

    /// The time.
    pub(crate) fn now(&self) -> Moment {
        self.started_at + self.started.elapsed()
    }

    /// When it was started.
    pub(crate) const fn started_at(&self) -> Moment {
        self.started_at
    }

    /// The time at which the runtime's timer has to go off for `moment`.
    pub(crate) fn instant_of(&self, moment: Moment) -> Instant {
        self.started + moment.since(self.started_at)
    }
}
