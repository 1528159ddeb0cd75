//! The same counts and states as [`DaemonMetrics::text`], as numbers for the person's page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::recent::RecentTimes;
use super::sample::{PHASES, TRANSPORTS};
use super::{DaemonMetrics, DaemonSample, TimePercentiles};
use crate::os;
use crate::protocol::Timestamp;

/// The state of a daemon at one moment, and its counts since it started.
#[derive(Debug, Serialize)]
pub struct DaemonMeasures {
    /// How many commands are in each phase, those that are over left out.
    open: BTreeMap<&'static str, u64>,
    kept: u64,
    clients: u64,
    /// How many links of each transport are open.
    links: BTreeMap<&'static str, u64>,
    /// How many links were opened, and how many of them by a browser that was known.
    links_opened: u64,
    links_returned: u64,
    admitted: u64,
    refused: u64,
    /// Requests that the guard or a route turned away, by the code in the answer.
    rejected_requests: BTreeMap<&'static str, u64>,
    /// Calls that led to no command, by the code in the answer.
    rejected_calls: BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    journal_bytes: Option<u64>,
    /// The batches of the journal, and how long they took.
    journal_writes: u64,
    journal_times: TimePercentiles,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    processor_seconds: f64,
    #[serde(flatten)]
    recent: RecentTimes,
}

impl DaemonMetrics {
    /// Everything as numbers, with the states of this sample.
    #[must_use]
    pub fn measures(&self, sample: &DaemonSample, now: Timestamp) -> DaemonMeasures {
        let open = PHASES
            .iter()
            .map(|(phase, word)| (*word, sample.phases.get(phase).copied().unwrap_or_default()));
        let links = sample.links.iter().map(|(transport, number)| (transport.word(), *number));
        let opened = |returning| {
            let of = |word| self.links.get(&[("transport", word), ("returning", returning)]);
            TRANSPORTS.iter().filter_map(|one| Some(of(one.word())?.get())).sum::<u64>()
        };
        let links_returned = opened("true");
        let writes = self.writes.steps();
        let (journal_writes, journal_times) = (writes.count(), writes.percentiles());
        drop(writes);
        DaemonMeasures {
            open: open.collect(),
            kept: sample.kept,
            clients: sample.clients,
            links: links.collect(),
            links_opened: opened("false") + links_returned,
            links_returned,
            admitted: sample.admitted,
            refused: sample.refused,
            rejected_requests: self.rejected_requests.read(),
            rejected_calls: self.rejected_calls.read(),
            journal_bytes: sample.journal_bytes,
            journal_writes,
            journal_times,
            memory: os::resident_memory(),
            processor_seconds: os::processor_time().as_secs_f64(),
            recent: self.recent.read(now),
        }
    }
}
