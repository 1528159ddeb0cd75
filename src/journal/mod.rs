//! The journal: everything that must outlive the process, in SQLite, with redo logs before it.
//!
//! The hub appends entries, which never blocks. Answers to callers, `go` and acknowledgements wait
//! until the entry that they depend on is recorded; a `JournalSeq` says which one that is.
//! Entries are written in their order, up to `BATCH` at a time.
//!
//! A journal is a pair of ends, not a trait: the hub has a `Journal`, the writer a
//! `JournalReader`. The owner of the reader decides where entries go.
//!
//! An entry that cannot be written (the disk is full or read-only) is tried again until it can be.
//! Meanwhile `Journal::trouble` says why, and nothing that waits for the entry goes out.

mod boot;
mod columns;
mod consent_record;
mod file_writer;
mod history;
mod reader;
mod record;
mod redo_log;
mod row_change;
mod row_ids;
mod rows;
mod store;
mod tab_records;
#[cfg(test)]
mod tests;
mod trace_record;
mod writer;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use tokio::sync::{Notify, watch};

use crate::engine::{JournalEntry, JournalSeq};
use crate::metrics::WriteTimes;

pub use boot::boot_id;
pub use reader::JournalReader;
pub use store::{OpenError, OpenedJournal, open};
use writer::Writer;

/// The most entries in one batch.
pub const BATCH: usize = 64;

/// With more entries than this still to be written, new commands are rejected.
const BACKLOG: u64 = 8_192;

/// How far the writer is.
#[derive(Clone, Debug, Default)]
struct WriteProgress {
    recorded: JournalSeq,
    /// How many deferred entries are recorded: those that nobody waits for.
    later: u64,
    /// Why the writer cannot go on.
    trouble: Option<Arc<str>>,
}

/// The hub's end. Cheap to clone; all clones are the same journal.
#[derive(Clone, Debug)]
pub struct Journal(Option<Arc<JournalState>>);

#[derive(Debug)]
struct JournalState {
    tail: Mutex<Option<EntrySenders>>,
    appended: AtomicU64,
    appended_deferred: AtomicU64,
    more: Notify,
    progress: watch::Receiver<WriteProgress>,
    /// How long its batches take.
    times: WriteTimes,
    /// `None`: the owner of the reader writes without being asked.
    writer: Option<Writer>,
}

/// Where entries go in.
#[derive(Debug)]
struct EntrySenders {
    entries: mpsc::Sender<JournalEntry>,
    later: mpsc::Sender<JournalEntry>,
}

/// Entries are not recorded, and cannot be for now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the journal cannot be written: {0}")]
pub struct WriteFailure(pub Arc<str>);

impl Journal {
    /// No journal: nothing outlives the process, and nothing waits to be recorded.
    #[must_use]
    pub const fn ephemeral() -> Self {
        Self(None)
    }

    /// A journal, and the end from which its writer takes entries.
    #[must_use]
    pub fn channel() -> (Self, JournalReader) {
        let (shared, reader) = JournalState::new();
        (Self(Some(Arc::new(shared))), reader)
    }

    /// A journal that is written by the tasks that wait for it.
    fn written_by(start: impl FnOnce(JournalReader) -> io::Result<Writer>) -> io::Result<Self> {
        let (shared, reader) = JournalState::new();
        let writer = Some(start(reader)?);
        Ok(Self(Some(Arc::new(JournalState { writer, ..shared }))))
    }

    /// Whether there is no journal.
    #[must_use]
    pub const fn is_ephemeral(&self) -> bool {
        self.0.is_none()
    }

    /// Appends an entry; when it is recorded, [`recorded`](Self::recorded) says.
    pub fn append(&self, entry: JournalEntry) -> JournalSeq {
        let Some(shared) = &self.0 else { return JournalSeq::default() };
        let tail = shared.tail.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock of the channel, so that numbers and entries have one order.
        let seq = JournalSeq(shared.appended.fetch_add(1, Ordering::AcqRel) + 1);
        if let Some(tail) = &*tail {
            // A writer that has ended has said why, and each task that waits for the entry fails.
            let _ = tail.entries.send(entry);
        }
        shared.more.notify_one();
        seq
    }

    /// Appends an entry that nobody waits for. It is written after all entries that were appended
    /// before it, and never in the batch of one that a task waits for.
    pub fn append_deferred(&self, entry: JournalEntry) {
        let Some(shared) = &self.0 else { return };
        let tail = shared.tail.lock().unwrap_or_else(PoisonError::into_inner);
        shared.appended_deferred.fetch_add(1, Ordering::AcqRel);
        if let Some(tail) = &*tail {
            let _ = tail.later.send(entry);
        }
        shared.more.notify_one();
    }

    /// The number of the entry that was appended last.
    #[must_use]
    pub fn last(&self) -> JournalSeq {
        let appended =
            |shared: &Arc<JournalState>| JournalSeq(shared.appended.load(Ordering::Acquire));
        self.0.as_ref().map_or_else(JournalSeq::default, appended)
    }

    /// Whether everything up to `seq` is recorded.
    #[must_use]
    pub fn has_recorded(&self, seq: JournalSeq) -> bool {
        self.0.as_ref().is_none_or(|shared| shared.progress.borrow().recorded >= seq)
    }

    /// Returns once everything up to `seq` is recorded.
    ///
    /// # Errors
    ///
    /// [`WriteFailure`], at once, if it cannot be for now.
    pub async fn recorded(&self, seq: JournalSeq) -> Result<(), WriteFailure> {
        let Some(shared) = &self.0 else { return Ok(()) };
        self.write_up_to(seq).await;
        shared.settled(seq).await
    }

    /// The same, but leaves the writing to tasks that need it sooner.
    ///
    /// # Errors
    ///
    /// [`WriteFailure`].
    pub async fn recorded_by_others(&self, seq: JournalSeq) -> Result<(), WriteFailure> {
        let Some(shared) = &self.0 else { return Ok(()) };
        shared.settled(seq).await
    }

    /// Returns once everything up to `seq` is recorded, however long that takes.
    ///
    /// Cancel safe.
    pub async fn recorded_eventually(&self, seq: JournalSeq) {
        let Some(shared) = &self.0 else { return };
        self.write_up_to(seq).await;
        if shared.progress.clone().wait_for(|p| p.recorded >= seq).await.is_err() {
            // The writer has ended: the entry will never be recorded.
            std::future::pending::<()>().await;
        }
    }

    /// Returns once all entries are recorded, deferred ones too, or cannot be for now.
    pub async fn everything_recorded(&self) {
        let Some(shared) = &self.0 else { return };
        let (last, later) = (self.last(), shared.appended_deferred.load(Ordering::Acquire));
        if let Some(writer) = &shared.writer {
            writer.have_everything_written();
        }
        let settled =
            |p: &WriteProgress| p.recorded >= last && p.later >= later || p.trouble.is_some();
        // An error says that the writer has ended: there is nothing to wait for.
        let _ = shared.progress.clone().wait_for(settled).await;
    }

    /// Returns once everything is recorded, and is in the file itself.
    #[cfg(test)]
    async fn in_file(&self) {
        self.everything_recorded().await;
        let writer = self.0.as_ref().and_then(|shared| shared.writer.as_ref());
        while writer.is_some_and(|writer| !writer.has_empty_logs()) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    /// Writes everything up to `seq`, or has the thread write it.
    async fn write_up_to(&self, seq: JournalSeq) {
        if self.has_recorded(seq) {
            return;
        }
        // Entries that other tasks are about to append go into the same batch. Nothing
        // depends on it: with other threads there are only more batches.
        tokio::task::yield_now().await;
        if !self.has_recorded(seq) {
            self.write();
        }
    }

    /// Returns once an entry was appended since this returned last.
    pub async fn appended(&self) {
        match &self.0 {
            Some(shared) => shared.more.notified().await,
            None => std::future::pending().await,
        }
    }

    fn write(&self) {
        if let Some(writer) = self.0.as_ref().and_then(|shared| shared.writer.as_ref()) {
            writer.write();
        }
    }

    /// Writes deferred entries, or has the thread write them.
    pub async fn write_deferred(&self) {
        let Some(writer) = self.0.as_ref().and_then(|shared| shared.writer.as_ref()) else {
            return;
        };
        while writer.write_deferred_batch() {
            // A batch takes as long as a call: waiting tasks get their turn in between. Nothing
            // is ordered by that.
            tokio::task::yield_now().await;
        }
    }

    /// Why new commands must be rejected now, if they must.
    #[must_use]
    pub fn trouble(&self) -> Option<WriteFailure> {
        let shared = self.0.as_ref()?;
        if shared.progress.has_changed().is_err() {
            return Some(writer_gone());
        }
        let WriteProgress { recorded, trouble, .. } = shared.progress.borrow().clone();
        if let Some(trouble) = trouble {
            return Some(WriteFailure(trouble));
        }
        let backlog = shared.appended.load(Ordering::Acquire).saturating_sub(recorded.0);
        (backlog > BACKLOG)
            .then(|| WriteFailure(format!("{backlog} entries wait to be written").into()))
    }

    /// How long its batches take; none without a journal.
    #[must_use]
    pub fn write_times(&self) -> WriteTimes {
        self.0.as_ref().map(|shared| shared.times.clone()).unwrap_or_default()
    }

    /// Takes no more entries, and returns once all are recorded and the writer has ended, or the
    /// writer can go no further.
    pub async fn close(&self) {
        let Some(shared) = &self.0 else { return };
        drop(shared.tail.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(writer) = &shared.writer {
            writer.close();
        }
        let mut progress = shared.progress.clone();
        while progress.changed().await.is_ok() {}
    }
}

fn writer_gone() -> WriteFailure {
    WriteFailure("its writer has ended".into())
}

impl JournalState {
    async fn settled(&self, seq: JournalSeq) -> Result<(), WriteFailure> {
        let mut progress = self.progress.clone();
        let settled = |p: &WriteProgress| p.recorded >= seq || p.trouble.is_some();
        let Ok(seen) = progress.wait_for(settled).await else { return Err(writer_gone()) };
        match &seen.trouble {
            Some(trouble) if seen.recorded < seq => Err(WriteFailure(trouble.clone())),
            Some(_) | None => Ok(()),
        }
    }

    fn new() -> (Self, JournalReader) {
        let (to_entries, entries) = mpsc::channel();
        let (to_later, later) = mpsc::channel();
        let (sender, progress) = watch::channel(WriteProgress::default());
        let tail = Mutex::new(Some(EntrySenders { entries: to_entries, later: to_later }));
        let shared = Self {
            tail,
            appended: AtomicU64::new(0),
            appended_deferred: AtomicU64::new(0),
            more: Notify::new(),
            progress,
            times: WriteTimes::default(),
            writer: None,
        };
        let reader = JournalReader::new(entries, later, sender, shared.times.clone());
        (shared, reader)
    }
}
