//! The writer's end of a journal.

use std::collections::VecDeque;
use std::sync::mpsc;

use tokio::sync::watch;

use super::{BATCH, JournalEntry, WriteProgress};

/// The writer's end: entries, in their order.
#[derive(Debug)]
pub struct JournalReader {
    entries: mpsc::Receiver<JournalEntry>,
    later: mpsc::Receiver<JournalEntry>,
    /// Taken, and not recorded.
    batch: VecDeque<JournalEntry>,
    /// The same of what nobody waits for.
    deferred_batch: VecDeque<JournalEntry>,
    /// Whether that is recorded with the batch: then all is in it that comes before.
    is_deferred_due: bool,
    progress: watch::Sender<WriteProgress>,
}

impl JournalReader {
    pub(super) const fn new(
        entries: mpsc::Receiver<JournalEntry>,
        later: mpsc::Receiver<JournalEntry>,
        progress: watch::Sender<WriteProgress>,
    ) -> Self {
        Self {
            entries,
            later,
            batch: VecDeque::new(),
            deferred_batch: VecDeque::new(),
            is_deferred_due: false,
            progress,
        }
    }

    /// Takes what somebody may wait for, so that up to [`BATCH`] entries are taken.
    pub fn take_batch(&mut self) {
        let room = BATCH.saturating_sub(self.batch.len());
        self.batch.extend(self.entries.try_iter().take(room));
        self.is_deferred_due = false;
    }

    /// The same, and what nobody waits for as well.
    pub fn take_batch_with_deferred(&mut self) {
        // In this order: what comes before it is then taken, or does not fit in.
        let later = (BATCH / 2).saturating_sub(self.deferred_batch.len());
        self.deferred_batch.extend(self.later.try_iter().take(later));
        let before = self.batch.len();
        let room = BATCH.saturating_sub(before + self.deferred_batch.len()).max(1);
        self.batch.extend(self.entries.try_iter().take(room));
        self.is_deferred_due = self.batch.len() < before + room;
    }

    /// Takes everything that there is.
    pub fn take_all(&mut self) {
        self.deferred_batch.extend(self.later.try_iter());
        self.batch.extend(self.entries.try_iter());
        self.is_deferred_due = true;
    }

    /// What was taken and is to be recorded next.
    pub fn batch(&self) -> impl Iterator<Item = &JournalEntry> {
        let later = self.deferred_batch.iter().filter(|_| self.is_deferred_due);
        self.batch.iter().chain(later)
    }

    /// Whether nothing was taken that is to be recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch().next().is_none()
    }

    /// Whether what was taken could not be recorded the last time.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.progress.borrow().trouble.is_some()
    }

    /// Says that what was taken is recorded.
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

    /// Says that what was taken cannot be recorded for now. It stays taken.
    pub fn failed(&mut self, why: &str) {
        self.progress.send_if_modified(|progress| {
            let is_news = progress.trouble.as_deref() != Some(why);
            progress.trouble = Some(why.into());
            is_news
        });
    }
}
