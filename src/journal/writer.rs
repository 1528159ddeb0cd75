//! The writer of the journal: the tasks that wait for it, or a thread.
//!
//! A task that waits for an entry writes all entries that there are in one transaction. That takes
//! some 20 µs; waking a thread and being woken by it takes 50 to 100 µs on sleeping cores, twice a
//! command. A plain writer thread stays out until it measures no worse in `cargo bench --bench
//! push`. When the disk is slow, the batch is large or a write fails, a thread writes instead, so
//! that only the tasks wait that need its entries.

use std::sync::{Arc, Mutex, PoisonError, TryLockError, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use rusqlite::Connection;

use super::JournalReader;
use super::record::LONG;
use super::row_ids::RowIds;
use super::rows::{delete_command, write_entry};
use crate::engine::{Eviction, JournalEntry, LARGE};

/// A write that takes longer than this is slow.
const SLOW: Duration = Duration::from_millis(5);

/// After this many slow writes in a row the thread writes for a while. A single one may come from
/// a busy processor and not from the disk.
const SLOW_WRITES: u32 = 2;

/// How many batches the thread writes then.
const SLOW_BATCHES: u32 = 64;

/// After this many batches the log is moved to the file itself.
const CHECKPOINT: u32 = 1_024;

/// The same after this many bytes of parameters and results. Every task that waits for an entry
/// waits for the checkpoint too, and a long log takes the disk long.
const CHECKPOINT_BYTES: usize = 4 << 20;

/// How long after a failure the same entries are tried again.
const RETRY: Duration = Duration::from_millis(250);

/// How often they are tried when the daemon is about to end.
const LAST_TRIES: u32 = 4;

/// Writes entries, here or in its thread.
#[derive(Debug)]
pub(super) struct Writer {
    batch_writer: Arc<Mutex<Option<BatchWriter>>>,
    thread: mpsc::Sender<WriterSignal>,
}

/// The connection and its batch. It is dropped when the journal is closed.
#[derive(Debug)]
struct BatchWriter {
    connection: Connection,
    row_ids: RowIds,
    reader: JournalReader,
    /// How many writes in a row were slow.
    slow_writes: u32,
    /// How many batches the thread still has to write.
    thread_batches_left: u32,
    /// Batches since the last checkpoint.
    batches_since_checkpoint: u32,
    /// Bytes of parameters and results since the last checkpoint.
    bytes_since_checkpoint: usize,
}

/// Why the thread is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterSignal {
    Write,
    Close,
}

impl Writer {
    /// A writer and its thread.
    pub(super) fn start(
        connection: Connection,
        row_ids: RowIds,
        reader: JournalReader,
    ) -> io::Result<Self> {
        let batch_writer = BatchWriter {
            connection,
            row_ids,
            reader,
            slow_writes: 0,
            thread_batches_left: 0,
            batches_since_checkpoint: 0,
            bytes_since_checkpoint: 0,
        };
        let batch_writer = Arc::new(Mutex::new(Some(batch_writer)));
        let (thread, work) = mpsc::channel();
        let its = batch_writer.clone();
        thread::Builder::new().name("journal".to_owned()).spawn(move || run_thread(&its, &work))?;
        Ok(Self { batch_writer, thread })
    }

    /// Writes all entries that tasks may wait for, or has the thread write them.
    pub(super) fn write(&self) {
        while self.write_here(JournalReader::take_batch) {}
    }

    /// Writes one batch with deferred entries in it, or has the thread write it. Whether there may
    /// be more.
    pub(super) fn write_deferred_batch(&self) -> bool {
        self.write_here(JournalReader::take_batch_with_deferred)
    }

    /// Takes a batch and writes it, unless the thread has to. Whether there may be more.
    fn write_here(&self, take_batch: fn(&mut JournalReader)) -> bool {
        let mut batch_writer = match self.batch_writer.try_lock() {
            Ok(batch_writer) => batch_writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread is writing, and may have taken its last batch before this entry came.
            Err(TryLockError::WouldBlock) => return self.leave_to_thread(),
        };
        let Some(batch_writer) = &mut *batch_writer else { return false };
        // After a failure only the thread tries again, so that no task waits for the disk.
        if batch_writer.reader.has_failed()
            || batch_writer.thread_batches_left > 0
            || batch_writer.has_long_log()
        {
            return self.leave_to_thread();
        }
        take_batch(&mut batch_writer.reader);
        if batch_writer.reader.is_empty() {
            return false;
        }
        // The batch stays in the reader, and the thread writes it from there.
        if !batch_writer.is_small() {
            return self.leave_to_thread();
        }
        match batch_writer.write_batch() {
            Ok(()) => true,
            Err(error) => {
                batch_writer.reader.failed(&error.to_string());
                self.leave_to_thread()
            }
        }
    }

    fn leave_to_thread(&self) -> bool {
        self.wake(WriterSignal::Write);
        false
    }

    /// Has the thread write everything, deferred entries too.
    pub(super) fn have_everything_written(&self) {
        self.wake(WriterSignal::Write);
    }

    /// Has the thread write the rest, and end.
    pub(super) fn close(&self) {
        self.wake(WriterSignal::Close);
    }

    fn wake(&self, work: WriterSignal) {
        // A thread that is gone has closed the journal.
        let _ = self.thread.send(work);
    }
}

impl BatchWriter {
    /// Whether it is time to move the log to the file itself.
    const fn has_long_log(&self) -> bool {
        self.batches_since_checkpoint >= CHECKPOINT
            || self.bytes_since_checkpoint >= CHECKPOINT_BYTES
    }

    /// Whether the batch is small enough to be written by a task.
    fn is_small(&self) -> bool {
        self.batch_size() <= LARGE
    }

    /// How many bytes of parameters and results the batch has.
    fn batch_size(&self) -> usize {
        self.reader.batch().map(JournalEntry::size).sum()
    }

    #[expect(clippy::disallowed_methods, reason = "how long it takes decides who does the next")]
    fn write_batch(&mut self) -> rusqlite::Result<()> {
        let began = Instant::now();
        self.roll_back()?;
        let written = self.write_taken();
        self.row_ids.settle(written.is_ok());
        written?;
        self.batches_since_checkpoint += 1;
        self.bytes_since_checkpoint += self.batch_size();
        self.reader.recorded();
        self.note_time(began.elapsed());
        Ok(())
    }

    /// Ends a transaction that a failure, or a panic, has left open; many a failure ends it by itself.
    fn roll_back(&self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection.execute_batch("ROLLBACK")
    }

    fn write_taken(&mut self) -> rusqlite::Result<()> {
        let mut entries = self.reader.batch();
        if let (Some(only @ JournalEntry::Changed(_)), None) = (entries.next(), entries.next())
            && only.size() <= LONG
        {
            // One statement is a transaction by itself.
            return write_entry(&self.connection, &mut self.row_ids, only);
        }
        // As statements that are kept: those of rusqlite's own transactions are parsed each time.
        self.connection.prepare_cached("BEGIN")?.execute([])?;
        for entry in self.reader.batch() {
            write_entry(&self.connection, &mut self.row_ids, entry)?;
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn note_time(&mut self, took: Duration) {
        self.reader.times().observe(took);
        self.slow_writes = if took > SLOW { self.slow_writes + 1 } else { 0 };
        self.thread_batches_left = if self.slow_writes >= SLOW_WRITES {
            SLOW_BATCHES
        } else {
            self.thread_batches_left.saturating_sub(1)
        };
    }

    /// Deletes the commands that the batch evicts before anything else is written: they may be what
    /// fills the disk.
    fn make_room(&mut self) {
        if let Err(error) = self.roll_back() {
            tracing::warn!(%error, "a failed transaction of the journal could not be ended");
            return;
        }
        // All, because the evictions may stand far behind the entry that found no room.
        self.reader.take_all();
        for entry in self.reader.batch() {
            if let JournalEntry::Evicted(Eviction { id, .. }) = entry {
                // A failure shows in the next try of the whole batch; the row id is known until then.
                let _ = delete_command(&self.connection, &mut self.row_ids, id);
            }
        }
    }

    /// Writes the next batch of everything that there is. False: there was none.
    fn write_next(&mut self) -> rusqlite::Result<bool> {
        self.reader.take_batch_with_deferred();
        if self.reader.is_empty() {
            return Ok(false);
        }
        self.write_batch()?;
        Ok(true)
    }

    /// Moves the log to the file itself, if it is time. Meanwhile every task that waits for an entry
    /// waits.
    fn shorten_log(&mut self) {
        if !self.has_long_log() {
            return;
        }
        // Also if it fails, or every batch would try it again.
        (self.batches_since_checkpoint, self.bytes_since_checkpoint) = (0, 0);
        if let Err(error) = checkpoint(&self.connection, "PASSIVE") {
            tracing::warn!(%error, "the journal's log could not be moved to its file");
        }
    }

    fn end(self) {
        // Without an end of its own it would take the marks below with it.
        let _ = self.roll_back();
        // Marked before the checkpoint, which brings the mark into the file.
        let ended = self
            .connection
            .execute("UPDATE meta SET value = 1 WHERE name = 'ended_cleanly'", [])
            .and_then(|_| checkpoint(&self.connection, "TRUNCATE"));
        if let Err(error) = ended {
            tracing::warn!(%error, "the journal was not closed as it should be");
        }
    }
}

/// The thread: ends when the journal is closed and everything is written, or cannot be.
fn run_thread(batch_writer: &Mutex<Option<BatchWriter>>, work: &mpsc::Receiver<WriterSignal>) {
    let mut has_failed = false;
    let mut tries_left = None;
    loop {
        if is_to_close(work, has_failed) && tries_left.is_none() {
            tries_left = Some(LAST_TRIES);
        }
        has_failed = !try_to_write(batch_writer, has_failed);
        match &mut tries_left {
            // The disk does not take the rest, and the daemon has to end all the same.
            Some(0) => return close(batch_writer),
            Some(_) if !has_failed => return close(batch_writer),
            Some(tries) => *tries -= 1,
            None => {}
        }
        shorten_log(batch_writer);
    }
}

/// Waits for work; in trouble, for a while. Whether it is the last.
fn is_to_close(work: &mpsc::Receiver<WriterSignal>, has_failed: bool) -> bool {
    let first = if has_failed {
        thread::sleep(RETRY);
        None
    } else {
        // A journal that nobody holds any more is closed, too.
        Some(work.recv().unwrap_or(WriterSignal::Close))
    };
    // One pass of the thread serves all signals, so all are taken.
    let all: Vec<_> = first.into_iter().chain(work.try_iter()).collect();
    all.contains(&WriterSignal::Close)
}

/// Writes everything. False: it cannot be written for now.
fn try_to_write(batch_writer: &Mutex<Option<BatchWriter>>, mut had_failed: bool) -> bool {
    loop {
        // The lock is released after each batch, so that a task that waits for one entry can write.
        let mut batch_writer = batch_writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(batch_writer) = &mut *batch_writer else { return true };
        if had_failed {
            batch_writer.make_room();
        }
        match batch_writer.write_next() {
            Ok(more) => {
                if had_failed {
                    tracing::info!("the journal is written again");
                    had_failed = false;
                }
                if !more {
                    return true;
                }
                batch_writer.shorten_log();
            }
            Err(error) => {
                if !had_failed {
                    tracing::error!(%error, "the journal cannot be written");
                }
                batch_writer.reader.failed(&error.to_string());
                return false;
            }
        }
    }
}

/// Moves the log to the file itself, if it is time.
fn shorten_log(batch_writer: &Mutex<Option<BatchWriter>>) {
    let mut batch_writer = batch_writer.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(batch_writer) = &mut *batch_writer {
        batch_writer.shorten_log();
    }
}

fn close(batch_writer: &Mutex<Option<BatchWriter>>) {
    let ended = batch_writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(batch_writer) = ended {
        batch_writer.end();
    }
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}
