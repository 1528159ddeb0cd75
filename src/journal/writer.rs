//! The writer of the journal: the tasks that wait for it, or a thread.
//!
//! A task that waits for an entry appends all entries that there are to a [redo log](super::redo_log).
//! That takes some 5 µs; waking a thread and being woken by it takes 50 to 100 µs on sleeping cores,
//! twice a command. When the disk is slow, the batch is large or a write fails, a thread appends
//! instead, so that only the tasks wait that need its entries.
//!
//! The thread alone brings logs into the file, many entries at once, and nobody waits for that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::time::{Duration, Instant};
use std::{fmt, io, mem, thread};

use super::JournalReader;
use super::file_writer::FileWriter;
use super::redo_log::RedoLog;
use super::row_change::RowChanges;
use super::row_ids::RowIds;
use super::rows::add_entry;
use crate::engine::{Eviction, JournalEntry, LARGE};

/// A write that takes longer than this is slow.
const SLOW: Duration = Duration::from_millis(5);

/// After this many slow writes in a row the thread writes for a while. A single one may come from
/// a busy processor and not from the disk.
const SLOW_WRITES: u32 = 2;

/// How many batches the thread writes then.
const SLOW_BATCHES: u32 = 64;

/// With more bytes of parameters and results than this a frame of the log ends.
const FRAME: usize = 1 << 20;

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

/// The log that is appended to. It is dropped when the journal is closed.
#[derive(Debug)]
struct BatchWriter {
    log: RedoLog,
    /// The other log; the thread has it while it brings its changes into the file.
    spare: Option<RedoLog>,
    row_ids: RowIds,
    reader: JournalReader,
    /// How many writes in a row were slow.
    slow_writes: u32,
    /// How many batches the thread still has to write.
    thread_batches_left: u32,
}

/// Why the thread is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterSignal {
    Write,
    Close,
}

impl Writer {
    /// A writer and its thread, for a file with these rows and two empty logs.
    pub(super) fn start(
        file: FileWriter,
        [log, spare]: [RedoLog; 2],
        row_ids: RowIds,
        reader: JournalReader,
    ) -> io::Result<Self> {
        let spare = Some(spare);
        let (slow_writes, thread_batches_left) = (0, 0);
        let batch_writer =
            BatchWriter { log, spare, row_ids, reader, slow_writes, thread_batches_left };
        let batch_writer = Arc::new(Mutex::new(Some(batch_writer)));
        let (thread, work) = mpsc::channel();
        let mut its = WriterThread { batch_writer: batch_writer.clone(), file };
        thread::Builder::new().name("journal".to_owned()).spawn(move || its.run(&work))?;
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
            || batch_writer.is_held_up()
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
            Ok(()) => {
                if batch_writer.is_due() {
                    self.wake(WriterSignal::Write);
                }
                true
            }
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

    /// Whether everything that is recorded is in the file.
    #[cfg(test)]
    pub(super) fn has_empty_logs(&self) -> bool {
        lock(&self.batch_writer)
            .as_ref()
            .is_none_or(|open| open.log.is_empty() && open.spare.is_some())
    }

    fn wake(&self, work: WriterSignal) {
        // A thread that is gone has closed the journal.
        let _ = self.thread.send(work);
    }
}

impl BatchWriter {
    /// Whether the log takes no more until the thread is done with the other one.
    const fn is_held_up(&self) -> bool {
        self.log.is_full() && self.spare.is_none()
    }

    /// Whether it is time to bring the log into the file, and the thread is not at it already.
    const fn is_due(&self) -> bool {
        self.spare.is_some() && self.log.is_due()
    }

    /// Whether the batch is small enough to be written by a task.
    fn is_small(&self) -> bool {
        self.reader.batch().map(JournalEntry::size).sum::<usize>() <= LARGE
    }

    #[expect(clippy::disallowed_methods, reason = "how long it takes decides who does the next")]
    fn write_batch(&mut self) -> io::Result<()> {
        let began = Instant::now();
        let written = self.append_batch();
        self.row_ids.settle(written.is_ok());
        written?;
        self.reader.recorded();
        self.note_time(began.elapsed());
        Ok(())
    }

    /// Appends the batch: as one frame, unless that would be a very long one. If it fails in the middle,
    /// all of it is appended once more, and nothing is different in the end.
    fn append_batch(&mut self) -> io::Result<()> {
        let (mut changes, mut size) = (RowChanges::default(), 0);
        for entry in self.reader.batch() {
            add_entry(&mut changes, &mut self.row_ids, entry);
            size += entry.size();
            if size > FRAME {
                self.log.append(mem::take(&mut changes))?;
                size = 0;
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.log.append(changes)
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

    /// Writes the next batch of everything that there is. False: there was none.
    fn write_next(&mut self) -> io::Result<bool> {
        self.reader.take_batch_with_deferred();
        if self.reader.is_empty() {
            self.reader.recovered();
            return Ok(false);
        }
        self.write_batch()?;
        Ok(true)
    }

    /// The rows of the commands that the batch evicts.
    fn evicted(&mut self) -> Vec<i64> {
        // All, because the evictions may stand far behind the entry that found no room.
        self.reader.take_all();
        let row = |entry: &JournalEntry| {
            let JournalEntry::Evicted(Eviction { id, .. }) = entry else { return None };
            self.row_ids.find(id)
        };
        self.reader.batch().filter_map(row).collect()
    }

    /// Gives the log away, and goes on with the other one. `None`: there is nothing in it, or the other
    /// one is not there.
    fn take_log(&mut self) -> Option<RedoLog> {
        if self.log.is_empty() {
            return None;
        }
        let mut next = self.spare.take()?;
        next.begin(self.log.generation() + 1, self.log.frames());
        Some(mem::replace(&mut self.log, next))
    }
}

/// The thread: ends when the journal is closed and everything is written, or cannot be.
struct WriterThread {
    batch_writer: Arc<Mutex<Option<BatchWriter>>>,
    file: FileWriter,
}

impl WriterThread {
    fn run(&mut self, work: &mpsc::Receiver<WriterSignal>) {
        let mut has_failed = false;
        let mut tries_left = None;
        loop {
            if is_to_close(work, has_failed) && tries_left.is_none() {
                tries_left = Some(LAST_TRIES);
            }
            has_failed = !self.try_to_write(has_failed);
            match &mut tries_left {
                // The disk does not take the rest, and the daemon has to end all the same.
                Some(0) => return self.close(),
                Some(_) if !has_failed => return self.close(),
                Some(tries) => *tries -= 1,
                None => {}
            }
        }
    }

    /// Writes everything, and brings it into the file. False: it cannot for now.
    fn try_to_write(&mut self, mut had_failed: bool) -> bool {
        loop {
            if had_failed {
                self.make_room();
            }
            if let Err(error) = self.file.take_in() {
                return self.failed(&error, had_failed);
            }
            // The lock is released after each batch, so that a task that waits for one entry can write.
            let mut batch_writer = lock(&self.batch_writer);
            let Some(open) = &mut *batch_writer else { return true };
            if let Some(emptied) = self.file.give_back() {
                open.spare = Some(emptied);
            }
            let is_more = match open.write_next() {
                Ok(is_more) => is_more,
                Err(error) => {
                    drop(batch_writer);
                    return self.failed(&error, had_failed);
                }
            };
            if had_failed {
                tracing::info!("the journal is written again");
                had_failed = false;
            }
            match open.take_log() {
                Some(log) => self.file.hand_over(log),
                None if !is_more => return true,
                None => {}
            }
        }
    }

    /// Says that entries cannot be recorded for now. False, as the answer of the caller.
    fn failed(&self, error: &dyn fmt::Display, had_failed: bool) -> bool {
        if !had_failed {
            tracing::error!(%error, "the journal cannot be written");
        }
        if let Some(open) = &mut *lock(&self.batch_writer) {
            open.reader.failed(&error.to_string());
        }
        false
    }

    /// Deletes the commands that the batch evicts before anything else is written: they may be what
    /// fills the disk.
    fn make_room(&mut self) {
        let evicted = lock(&self.batch_writer).as_mut().map(BatchWriter::evicted);
        self.file.delete(evicted.unwrap_or_default());
    }

    fn close(&mut self) {
        // The reader goes last: it tells whoever closes the journal that the file is closed.
        let open = lock(&self.batch_writer).take();
        self.file.end();
        drop(open);
    }
}

fn lock(batch_writer: &Mutex<Option<BatchWriter>>) -> MutexGuard<'_, Option<BatchWriter>> {
    batch_writer.lock().unwrap_or_else(PoisonError::into_inner)
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
