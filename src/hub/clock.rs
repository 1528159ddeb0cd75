//! The only module that reads clocks.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::engine::{ClockAnchor, RecordedHistory};
use crate::journal::boot_id;
use crate::os;
use crate::protocol::Timestamp;

/// The clock of the daemon. It reads the system clock once, at the start; from then on its time is
/// monotonic, and stands still while the machine sleeps.
#[derive(Debug)]
pub(crate) struct DaemonClock {
    started: Instant,
    started_at: Timestamp,
    sleep: SleepGauge,
}

/// Tells how long the machine has slept since it was started.
#[derive(Debug)]
struct SleepGauge {
    /// When the gauge was made, by the clock that stands still meanwhile.
    made: std::time::Instant,
    /// The same by the clock that goes on.
    made_at: Duration,
    /// How long the machine had slept then.
    before: Duration,
    /// A sleep of a test, in ms.
    #[cfg(test)]
    pretended: std::sync::atomic::AtomicU64,
}

/// A sample of the machine's clocks, taken when a daemon starts.
#[derive(Clone, Debug)]
pub struct ClockSample {
    /// The boot of the machine.
    pub boot: Arc<str>,
    /// The time on its monotonic clock.
    pub monotonic: Duration,
    /// How long it has slept since then, as far as the monotonic clock does not count it.
    pub asleep: Duration,
    /// The time on the system clock.
    pub system: Timestamp,
}

impl ClockSample {
    /// Takes a sample.
    #[must_use]
    pub fn now() -> Self {
        let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let micros = u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX);
        // In this order, so that a pause in between is no sleep.
        let with_sleep = os::time_with_sleep();
        let monotonic = os::monotonic_time();
        let asleep = with_sleep.saturating_sub(monotonic);
        Self { boot: boot_id(), monotonic, asleep, system: Timestamp::from_unix_micros(micros) }
    }

    /// Whether the machine has been running since then.
    pub(super) fn is_same_boot(&self, then: &ClockAnchor) -> bool {
        // A monotonic clock that went back belongs to another boot.
        self.boot == then.boot && self.monotonic >= then.monotonic
    }
}

impl DaemonClock {
    /// A clock that starts now. If deadlines of the last run still count, it continues the clock of
    /// that run, so that a change of the system clock in between moves no deadline.
    #[expect(clippy::disallowed_methods, reason = "this is where clocks are read")]
    pub(crate) fn start(reading: &ClockSample, history: &RecordedHistory) -> Self {
        let went_on = |anchor: &ClockAnchor| anchor.at + (reading.monotonic - anchor.monotonic);
        let last = history.anchor.as_ref().filter(|_| !history.is_empty());
        let started_at = last.filter(|last| reading.is_same_boot(last)).map(went_on);
        let started_at = started_at.unwrap_or(reading.system);
        Self { started: Instant::now(), started_at, sleep: SleepGauge::new(reading.asleep) }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.started_at + self.started.elapsed()
    }

    /// How long the machine has slept since it was started.
    pub(super) fn asleep(&self) -> Duration {
        self.sleep.asleep()
    }

    /// How long this run of the daemon has lasted, sleep of the machine included.
    pub(super) fn run_time(&self) -> Duration {
        self.started.elapsed() + (self.sleep.asleep() - self.sleep.before)
    }

    /// Pretends that the machine has slept for this long.
    #[cfg(test)]
    pub(super) fn pretend_sleep(&self, length: Duration) {
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        self.sleep.pretended.fetch_add(millis, std::sync::atomic::Ordering::Relaxed);
    }

    /// When it was started.
    pub(crate) const fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// The instant of the runtime's timer for `moment`.
    pub(crate) fn instant_of(&self, moment: Timestamp) -> Instant {
        self.started + moment.since(self.started_at)
    }
}

impl SleepGauge {
    /// A gauge on a machine that has slept for this long.
    #[expect(clippy::disallowed_methods, reason = "this is where clocks are read")]
    fn new(before: Duration) -> Self {
        // In this order, so that a pause in between is no sleep.
        let made = std::time::Instant::now();
        let made_at = os::time_with_sleep();
        Self {
            made,
            made_at,
            before,
            #[cfg(test)]
            pretended: std::sync::atomic::AtomicU64::default(),
        }
    }

    fn asleep(&self) -> Duration {
        #[cfg(test)]
        let pretended = self.pretended.load(std::sync::atomic::Ordering::Relaxed);
        #[cfg(not(test))]
        let pretended = 0;
        // In this order, so that a pause in between is no sleep.
        let with_sleep = os::time_with_sleep().saturating_sub(self.made_at);
        let asleep = with_sleep.saturating_sub(self.made.elapsed());
        self.before + asleep + Duration::from_millis(pretended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::Tombstone;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_micros(seconds * 1_000_000)
    }

    fn reading(boot: &str, monotonic: u64, system: u64) -> ClockSample {
        let monotonic = Duration::from_secs(monotonic);
        ClockSample { boot: boot.into(), monotonic, asleep: Duration::ZERO, system: at(system) }
    }

    /// The history of a run that began at 1,000 s, 50 s after boot `a`.
    fn history() -> RecordedHistory {
        let anchor =
            ClockAnchor { boot: "a".into(), monotonic: Duration::from_secs(50), at: at(1_000) };
        let gone = Tombstone { owner: "user".into(), at: at(1_000), may_have_run: false };
        let gone = vec![("exec_1".into(), "ann".into(), gone)];
        RecordedHistory { anchor: Some(anchor), gone, ..RecordedHistory::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_system_clock_that_was_changed_between_two_lives_moves_no_deadline() {
        for system in [7, 1_010, 900_000] {
            let clock = DaemonClock::start(&reading("a", 60, system), &history());
            assert_eq!(clock.now(), at(1_010), "with the system clock at {system}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_reboot_or_with_nothing_left_to_time_the_system_clock_counts() {
        let rebooted = DaemonClock::start(&reading("b", 60, 9_000), &history());
        assert_eq!(rebooted.now(), at(9_000));
        let nothing_left = RecordedHistory { gone: Vec::new(), ..history() };
        let fresh = DaemonClock::start(&reading("a", 60, 9_000), &nothing_left);
        assert_eq!(fresh.now(), at(9_000));
        tokio::time::advance(HOUR).await;
        assert_eq!(fresh.now(), at(9_000) + HOUR);
    }
}
