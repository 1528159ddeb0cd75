//! Samples and what is said of them.

use std::io::{self, Write as _};
use std::time::Duration;

/// Says what was measured. Whether it misses its bound.
pub fn verdict(holds: bool, what: &str) -> anyhow::Result<bool> {
    writeln!(io::stdout(), "{} {what}", if holds { "ok     " } else { "MISSED " })?;
    Ok(!holds)
}

/// Samples of one duration.
#[derive(Debug, Default)]
pub struct SampleSeries(Vec<Duration>);

impl SampleSeries {
    pub fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    pub const fn count(&self) -> usize {
        self.0.len()
    }

    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The sample below which `percent` of all are, in µs.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get(last * percent / 100).map_or(f64::NAN, |sample| sample.as_secs_f64() * 1e6)
    }

    pub fn p50(&self) -> f64 {
        self.percentile(50)
    }

    pub fn p99(&self) -> f64 {
        self.percentile(99)
    }
}

/// What one kind of call took: until its frame was at the extension, and until its answer
/// was at the caller.
#[derive(Debug, Default)]
pub struct CallSamples {
    pub frame: SampleSeries,
    pub answer: SampleSeries,
}
