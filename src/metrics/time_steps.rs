//! Lengths of time in steps, from which percentiles are read.

use std::time::Duration;

use serde::Serialize;

/// Each doubling of a time has this many steps, so a percentile is right to a sixteenth.
const STEPS: usize = 8;

/// Times beyond this many doublings of a microsecond, 19 hours, are in the last step.
const DOUBLINGS: usize = 36;

/// How often each length of time came.
#[derive(Debug)]
pub(super) struct TimeSteps(Box<[u32; STEPS * DOUBLINGS]>);

/// Percentiles of times in ms, each right to a sixteenth; `None`: there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimePercentiles {
    /// Half took no longer.
    pub p50_ms: Option<f64>,
    /// 95 of 100 took no longer.
    pub p95_ms: Option<f64>,
    /// 99 of 100 took no longer.
    pub p99_ms: Option<f64>,
}

impl Default for TimeSteps {
    fn default() -> Self {
        Self(Box::new([0; STEPS * DOUBLINGS]))
    }
}

impl TimeSteps {
    pub(super) fn note(&mut self, took: Duration) {
        self.0[step_of(took)] += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0.iter()) {
            *sum += count;
        }
    }

    pub(super) fn percentiles(&self) -> TimePercentiles {
        let [p50_ms, p95_ms, p99_ms] = [50, 95, 99].map(|part| self.percentile(part));
        TimePercentiles { p50_ms, p95_ms, p99_ms }
    }

    /// How many times came.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// The time that `part` of 100 commands did not exceed, in ms.
    fn percentile(&self, part: u64) -> Option<f64> {
        let wanted = (self.count() * part).div_ceil(100).max(1);
        let mut seen = 0;
        let step = self.0.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        })?;
        Some(middle_of(step))
    }
}

/// The step of a time: below 8 µs each µs has its own, then each doubling has eight.
fn step_of(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let doublings = micros.max(1).ilog2().saturating_sub(STEPS.ilog2());
    let within = usize::try_from(micros >> doublings).unwrap_or(STEPS);
    let step = usize::try_from(doublings).unwrap_or_default() * STEPS + within;
    step.min(STEPS * DOUBLINGS - 1)
}

/// The middle of a step, in ms.
fn middle_of(step: usize) -> f64 {
    let doublings = (step / STEPS).saturating_sub(1);
    let within = step - doublings * STEPS;
    #[expect(clippy::cast_precision_loss, reason = "a step is below 2^36 µs")]
    let micros = (((2 * within + 1) as u64) << doublings) as f64 / 2.0;
    micros / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_right_to_a_sixteenth_at_every_length() {
        let mut micros = 1_u64;
        while micros < 60_000_000_000 {
            let told = middle_of(step_of(Duration::from_micros(micros))) * 1e3;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let real = micros as f64;
            // Of whole microseconds the half one is the middle.
            assert!(
                (told - real).abs() <= (real / 16.0).max(0.5),
                "{micros} µs are told as {told}"
            );
            micros += micros / 7 + 1;
        }
        assert_eq!(step_of(Duration::MAX), STEPS * DOUBLINGS - 1);
    }
}
