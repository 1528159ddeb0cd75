//! A model of the journal: what outlives the daemon. What was written last may be lost
//! with it, until it is committed.

use std::collections::BTreeMap;

use tabwire::lifecycle::{Command, Facts, Hold, Lane, Mark, Outcome, Saved, Stage, State};
use tabwire::protocol::{Attempt, CorrelationId, Moment};

#[derive(Clone, Debug)]
pub(super) enum Record {
    Accepted { facts: Facts, trace: Vec<Mark> },
    Placed { lane: Lane },
    Started { hold: Hold, at: Moment, trace: Vec<Mark> },
    Ended { at: Moment, outcome: Outcome, hold: Option<Hold>, trace: Vec<Mark> },
    Read,
    Forgotten,
}

#[derive(Debug, Default)]
pub(super) struct Journal {
    records: Vec<(CorrelationId, Record)>,
    committed: usize,
}

/// A command as it stands in the journal.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) saved: Saved,
    pub(super) lane: Option<Lane>,
}

impl Record {
    /// That it has started or ended; nothing for a command that has done neither.
    pub(super) fn of(command: &Command, now: Moment) -> Option<Self> {
        let trace = command.marks().to_vec();
        match command.state().clone() {
            State::Queued { .. } | State::Sent { .. } => None,
            State::Waiting | State::Working { .. } => unreachable!("all of them are for browsers"),
            State::Started { hold, .. } => Some(Self::Started { hold, at: now, trace }),
            State::Ended { at, outcome, hold, .. } => {
                Some(Self::Ended { at, outcome, hold, trace })
            }
        }
    }
}

impl Journal {
    /// Writes a record, and returns its number.
    pub(super) fn write(&mut self, id: &CorrelationId, record: Record) -> usize {
        self.records.push((id.clone(), record));
        self.records.len()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn commit(&mut self) {
        self.committed = self.records.len();
    }

    /// Whether the start of this attempt is committed.
    pub(super) fn has_started(&self, id: &CorrelationId, attempt: Attempt) -> bool {
        self.records[..self.committed].iter().any(|(of, record)| {
            of == id && matches!(record, Record::Started { hold, .. } if hold.attempt == attempt)
        })
    }

    pub(super) fn is_committed(&self, number: usize) -> bool {
        number <= self.committed
    }

    /// The daemon is gone, and with it what was not committed, if `loses_tail`.
    pub(super) fn survives(&mut self, loses_tail: bool) {
        if loses_tail {
            self.records.truncate(self.committed);
        }
        self.commit();
    }

    /// The commands whose records were kept, in the order of their acceptance.
    pub(super) fn read(&self) -> Vec<Entry> {
        let mut order = Vec::new();
        let mut entries = BTreeMap::new();
        for (id, record) in &self.records {
            if let Record::Accepted { facts, trace } = record {
                order.push(id.clone());
                let (facts, trace) = (facts.clone(), trace.clone());
                let saved = Saved { facts, stage: Stage::Accepted, trace };
                entries.insert(id.clone(), Entry { saved, lane: None });
            } else if let Some(entry) = entries.get_mut(id) {
                entry.follow(record);
            }
            if matches!(record, Record::Forgotten) {
                entries.remove(id);
            }
        }
        order.into_iter().filter_map(|id| entries.remove(&id)).collect()
    }
}

impl Entry {
    fn follow(&mut self, record: &Record) {
        match record.clone() {
            Record::Placed { lane } => self.lane = Some(lane),
            Record::Started { hold, at, trace } => {
                self.saved.stage = Stage::Started { hold, at };
                self.saved.trace = trace;
            }
            Record::Ended { at, outcome, hold, trace } => {
                self.saved.stage = Stage::Ended { at, outcome, hold, read: false };
                self.saved.trace = trace;
            }
            Record::Read => {
                if let Stage::Ended { read, .. } = &mut self.saved.stage {
                    *read = true;
                }
            }
            Record::Accepted { .. } | Record::Forgotten => {}
        }
    }
}
