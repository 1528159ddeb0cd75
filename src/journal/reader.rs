//! The writer's end of a journal.

use std::collections::VecDeque;
use std::sync::mpsc;

use tokio::sync::watch;

use super::{BATCH, JournalEntry, WriteProgress};
use crate::metrics::WriteTimes;

/// The writer's end: entries, in their order.
#[derive(Debug)]
pub struct JournalReader {
    entries: mpsc::Receiver<JournalEntry>,
    later: mpsc::Receiver<JournalEntry>,
    /// Taken from `entries` and not recorded yet.
    batch: VecDeque<JournalEntry>,
    /// Taken from `later` and not recorded yet.
    deferred_batch: VecDeque<JournalEntry>,
    /// Whether the deferred entries are part of the batch: only when all entries before them are.
    is_deferred_due: bool,
    progress: watch::Sender<WriteProgress>,
    times: WriteTimes,
}

impl JournalReader {
    pub(super) const fn new(
        entries: mpsc::Receiver<JournalEntry>,
        later: mpsc::Receiver<JournalEntry>,
        progress: watch::Sender<WriteProgress>,
        times: WriteTimes,
    ) -> Self {
        Self {
            entries,
            later,
            batch: VecDeque::new(),
            deferred_batch: VecDeque::new(),
            is_deferred_due: false,
            progress,
            times,
        }
    }

    /// Where the times of transactions are noted.
    pub(super) const fn times(&self) -> &WriteTimes {
        &self.times
    }

    /// Takes entries that tasks may wait for, up to [`BATCH`] in all.
    pub fn take_batch(&mut self) {
        let room = BATCH.saturating_sub(self.batch.len());
        self.batch.extend(self.entries.try_iter().take(room));
        self.is_deferred_due = false;
    }

    /// The same, and deferred entries as well.
    pub fn take_batch_with_deferred(&mut self) {
        // Deferred entries are taken first: every entry that was appended before them is then in
        // its channel already, and the room left over says whether all of those fit in.
        let later = (BATCH / 2).saturating_sub(self.deferred_batch.len());
        self.deferred_batch.extend(self.later.try_iter().take(later));
        let before = self.batch.len();
        let room = BATCH.saturating_sub(before + self.deferred_batch.len()).max(1);
        self.batch.extend(self.entries.try_iter().take(room));
        self.is_deferred_due = self.batch.len() < before + room;
    }

    /// Takes all entries of both kinds.
    pub fn take_all(&mut self) {
        self.deferred_batch.extend(self.later.try_iter());
        self.batch.extend(self.entries.try_iter());
        self.is_deferred_due = true;
    }

    /// The entries that are to be recorded next.
    pub fn batch(&self) -> impl Iterator<Item = &JournalEntry> {
        let later = self.deferred_batch.iter().filter(|_| self.is_deferred_due);
        self.batch.iter().chain(later)
    }

    /// Whether no entry is to be recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch().next().is_none()
    }

    /// Whether the last attempt to record the batch has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.progress.borrow().trouble.is_some()
    }

    /// Tells all waiting tasks that the batch is recorded.
    pub fn recorded(&mut self) {
        let taken = self.batch.drain(..).count() as u64;
        let later =
            if self.is_deferred_due { self.deferred_batch.drain(..).count() as u64 } else { 0 };
        self.is_deferred_due = false;
        self.progress.send_modify(|progress| {
            progress.recorded.0 += taken;
            progress.later += later;
            progress.trouble = None;
        });
    }

    /// Tells that entries can be recorded again, without any to record.
    pub(super) fn recovered(&self) {
        self.progress.send_if_modified(|progress| progress.trouble.take().is_some());
    }

    /// Tells all waiting tasks that the batch cannot be recorded for now. It stays for the next try.
    pub fn failed(&mut self, why: &str) {
        self.progress.send_if_modified(|progress| {
            // Waiting tasks wake for a new reason only, not with every try.
            let is_news = progress.trouble.as_deref() != Some(why);
            progress.trouble = Some(why.into());
            is_news
        });
    }
}
