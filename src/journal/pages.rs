//! The writer's end of a journal.

use std::collections::VecDeque;
use std::sync::mpsc;

use tokio::sync::watch;

use super::{BATCH, Entry, Progress};

/// The writer's end: entries, in their order.
#[derive(Debug)]
pub struct Pages {
    entries: mpsc::Receiver<Entry>,
    later: mpsc::Receiver<Entry>,
    /// Taken, and not recorded.
    batch: VecDeque<Entry>,
    /// The same of what nobody waits for.
    batch_of_later: VecDeque<Entry>,
    /// Whether that is recorded with the batch: then all is in it that comes before.
    is_later_due: bool,
    progress: watch::Sender<Progress>,
}

impl Pages {
    pub(super) const fn new(
        entries: mpsc::Receiver<Entry>,
        later: mpsc::Receiver<Entry>,
        progress: watch::Sender<Progress>,
    ) -> Self {
        Self {
            entries,
            later,
            batch: VecDeque::new(),
            batch_of_later: VecDeque::new(),
            is_later_due: false,
            progress,
        }
    }

    /// Takes what somebody may wait for, so that up to [`BATCH`] entries are taken.
    pub fn fill(&mut self) {
        let room = BATCH.saturating_sub(self.batch.len());
        self.batch.extend(self.entries.try_iter().take(room));
        self.is_later_due = false;
    }

    /// The same, and what nobody waits for as well.
    pub fn fill_with_later(&mut self) {
        // In this order: what comes before it is then taken, or does not fit in.
        let later = (BATCH / 2).saturating_sub(self.batch_of_later.len());
        self.batch_of_later.extend(self.later.try_iter().take(later));
        let before = self.batch.len();
        let room = BATCH.saturating_sub(before + self.batch_of_later.len()).max(1);
        self.batch.extend(self.entries.try_iter().take(room));
        self.is_later_due = self.batch.len() < before + room;
    }

    /// Takes everything that there is.
    pub fn take_all(&mut self) {
        self.batch_of_later.extend(self.later.try_iter());
        self.batch.extend(self.entries.try_iter());
        self.is_later_due = true;
    }

    /// What was taken and is to be recorded next.
    pub fn batch(&self) -> impl Iterator<Item = &Entry> {
        let later = self.batch_of_later.iter().filter(|_| self.is_later_due);
        self.batch.iter().chain(later)
    }

    /// Whether nothing was taken that is to be recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch().next().is_none()
    }

    /// Whether what was taken could not be recorded the last time.
    #[must_use]
    pub fn is_in_trouble(&self) -> bool {
        self.progress.borrow().trouble.is_some()
    }

    /// Says that what was taken is recorded.
    pub fn recorded(&mut self) {
        let taken = self.batch.drain(..).count() as u64;
        let later =
            if self.is_later_due { self.batch_of_later.drain(..).count() as u64 } else { 0 };
        self.is_later_due = false;
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
