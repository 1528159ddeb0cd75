//! How far a run of the daemon is, for those who call it from afar.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long the name of a run is at most, in bytes.
const RUN_MAX: usize = 64;

/// A moment of one run of the daemon: `<run>.<ms>` on the wire. Moments of different runs cannot be
/// compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClock {
    /// Which run: the `epoch` of its `welcome`.
    pub run: Arc<str>,
    /// How long it has lasted, sleep of the machine included. On the wire in whole ms.
    pub elapsed: Duration,
}

/// A text that is no moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not <run>.<ms>, as the header {CLOCK_HEADER} has it", CLOCK_HEADER = super::CLOCK_HEADER)]
pub struct RunClockError;

impl RunClock {
    /// Whether this moment has passed, by a reading of the daemon's clock. A moment of another run has.
    #[must_use]
    pub fn is_over_at(&self, reading: &Self) -> bool {
        self.run != reading.run || self.elapsed < reading.elapsed
    }
}

impl fmt::Display for RunClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run, self.elapsed.as_millis())
    }
}

impl FromStr for RunClock {
    type Err = RunClockError;

    fn from_str(text: &str) -> Result<Self, RunClockError> {
        let (run, millis) = text.rsplit_once('.').ok_or(RunClockError)?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let is_number = millis.bytes().all(|digit| digit.is_ascii_digit());
        if run.is_empty() || run.len() > RUN_MAX || !run.chars().all(is_name) || !is_number {
            return Err(RunClockError);
        }
        let elapsed = Duration::from_millis(millis.parse().map_err(|_| RunClockError)?);
        Ok(Self { run: run.into(), elapsed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(text: &str) -> RunClock {
        text.parse().unwrap()
    }

    #[test]
    fn a_moment_of_a_run_is_read_as_it_was_written() {
        let read = clock("1795298985123-a1b2c3d4.61234");
        assert_eq!(read.elapsed, Duration::from_millis(61_234));
        assert_eq!(read.to_string(), "1795298985123-a1b2c3d4.61234");
        for wrong in [
            "",
            ".",
            "a.",
            ".5",
            "a",
            "a.-5",
            "a.+5",
            "a.5x",
            "a b.5",
            "a.b.5",
            "a.99999999999999999999",
        ] {
            assert_eq!(wrong.parse::<RunClock>(), Err(RunClockError), "{wrong}");
        }
        assert!(format!("{}.5", "a".repeat(65)).parse::<RunClock>().is_err());
    }

    #[test]
    fn a_moment_is_over_once_the_clock_is_past_it_or_another_run_has_begun() {
        let by = clock("a.1000");
        assert!(!by.is_over_at(&clock("a.1000")) && !by.is_over_at(&clock("a.0")));
        assert!(by.is_over_at(&clock("a.1001")) && by.is_over_at(&clock("b.0")));
    }
}
