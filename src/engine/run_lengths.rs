//! How long actions take: what callers are told to expect.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::protocol::Action;

/// How many past runs an estimate goes by.
const RUNS: usize = 50;

/// How long the last runs of each action took.
#[derive(Debug, Default)]
pub(super) struct RunLengths(HashMap<&'static str, VecDeque<Duration>>);

impl RunLengths {
    /// Notes how long a run took.
    pub(super) fn note(&mut self, action: &'static str, took: Duration) {
        let runs = self.0.entry(action).or_default();
        runs.push_back(took);
        if runs.len() > RUNS {
            runs.pop_front();
        }
    }

    /// How long an action will take: the median of its last runs, or what it usually takes.
    pub(super) fn estimate(&self, action: &Action) -> Duration {
        let mut runs: Vec<_> = self.0.get(action.name()).into_iter().flatten().copied().collect();
        let middle = runs.len() / 2;
        if runs.is_empty() { action.usual_length() } else { *runs.select_nth_unstable(middle).1 }
    }
}
