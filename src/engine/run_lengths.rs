//! How long actions take, for the estimates that callers get.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::protocol::Action;

/// How many past runs an estimate uses.
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

    /// The estimate for an action: the median of its last runs, or its usual length. The median ignores
    /// the odd run that waited for a slow page.
    pub(super) fn estimate(&self, action: &Action) -> Duration {
        let mut runs: Vec<_> = self.0.get(action.name()).into_iter().flatten().copied().collect();
        let middle = runs.len() / 2;
        if runs.is_empty() { action.usual_length() } else { *runs.select_nth_unstable(middle).1 }
    }
}
