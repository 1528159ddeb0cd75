//! Who writes the journal.
//!
//! Whoever waits for an entry writes it, and whatever else there is, in one transaction:
//! that takes some 20 µs, while to wake a thread and to be woken by it takes longer. When the
//! disk is slow, or there is much to write, or it cannot be written at all, a thread of its
//! own does it, and nobody waits but those who wait for what it writes.

use std::sync::{Arc, Mutex, PoisonError, TryLockError, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use rusqlite::Connection;

use super::Pages;
use super::numbers::Numbers;
use super::rows::{LONG, delete_command, write_entry};
use crate::engine::{Burial, Entry, LARGE};

/// A write that takes longer than this is slow.
const SLOW: Duration = Duration::from_millis(5);

/// After so many slow writes in a row, writing is the thread's for a while: one alone may
/// be this process waiting for its turn, and not the disk.
const SLOW_WRITES: u32 = 2;

/// How many batches it is the thread's then.
const SLOW_BATCHES: u32 = 64;

/// After so many batches, what is in the log goes to the file itself.
const CHECKPOINT: u32 = 1_024;

/// The same after so many bytes of parameters and results. Whoever waits for an entry waits for that,
/// and the disk takes the longer the more there is.
const CHECKPOINT_BYTES: usize = 4 << 20;

/// How long after a failure the same entries are tried again.
const RETRY: Duration = Duration::from_millis(250);

/// How often they are tried when there will be no more: the daemon is about to end.
const LAST_TRIES: u32 = 4;

/// Writes entries, here or in its thread.
#[derive(Debug)]
pub(super) struct Writer {
    desk: Arc<Mutex<Option<Desk>>>,
    thread: mpsc::Sender<Work>,
}

/// What writing needs. It goes when the journal is closed.
#[derive(Debug)]
struct Desk {
    connection: Connection,
    numbers: Numbers,
    pages: Pages,
    /// How many of the last writes were slow.
    slow_writes: u32,
    /// How many batches are still the thread's.
    is_the_threads: u32,
    /// Batches since the last checkpoint.
    unchecked: u32,
    /// Bytes of parameters and results since then.
    unchecked_bytes: usize,
}

/// What the thread is woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Write,
    Close,
}

impl Writer {
    /// A writer and its thread.
    pub(super) fn start(
        connection: Connection,
        numbers: Numbers,
        pages: Pages,
    ) -> io::Result<Self> {
        let desk = Desk {
            connection,
            numbers,
            pages,
            slow_writes: 0,
            is_the_threads: 0,
            unchecked: 0,
            unchecked_bytes: 0,
        };
        let desk = Arc::new(Mutex::new(Some(desk)));
        let (thread, work) = mpsc::channel();
        let its = desk.clone();
        thread::Builder::new().name("journal".to_owned()).spawn(move || attend(&its, &work))?;
        Ok(Self { desk, thread })
    }

    /// Writes what there is, or sees to it that the thread does.
    pub(super) fn write(&self) {
        while self.write_here(Pages::fill) {}
    }

    /// Writes one batch with what nobody waits for in it, or has the thread do that. Whether
    /// there may be more.
    pub(super) fn write_some_for_later(&self) -> bool {
        self.write_here(Pages::fill_with_later)
    }

    /// Takes a batch and writes it, unless that is better done by the thread. Whether there
    /// may be more.
    fn write_here(&self, fill: fn(&mut Pages)) -> bool {
        let mut desk = match self.desk.try_lock() {
            Ok(desk) => desk,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread is at it, and may have looked for the last time.
            Err(TryLockError::WouldBlock) => return self.leave_to_thread(),
        };
        let Some(desk) = &mut *desk else { return false };
        if desk.pages.is_in_trouble() || desk.is_the_threads > 0 || desk.has_long_log() {
            return self.leave_to_thread();
        }
        fill(&mut desk.pages);
        if desk.pages.is_empty() {
            return false;
        }
        if !desk.is_small() {
            return self.leave_to_thread();
        }
        match desk.write_batch() {
            Ok(()) => true,
            Err(error) => {
                desk.pages.failed(&error.to_string());
                self.leave_to_thread()
            }
        }
    }

    fn leave_to_thread(&self) -> bool {
        self.wake(Work::Write);
        false
    }

    /// Has the thread write everything, also what nobody waits for.
    pub(super) fn have_everything_written(&self) {
        self.wake(Work::Write);
    }

    /// Has the thread write what is left, and end.
    pub(super) fn close(&self) {
        self.wake(Work::Close);
    }

    fn wake(&self, work: Work) {
        // A thread that is gone has closed the journal.
        let _ = self.thread.send(work);
    }
}

impl Desk {
    /// Whether it is time to move what is in the log to the file itself.
    const fn has_long_log(&self) -> bool {
        self.unchecked >= CHECKPOINT || self.unchecked_bytes >= CHECKPOINT_BYTES
    }

    /// Whether what was taken is not too large to be written here.
    fn is_small(&self) -> bool {
        self.batch_size() <= LARGE
    }

    /// How many bytes of parameters and results were taken.
    fn batch_size(&self) -> usize {
        self.pages.batch().map(Entry::size).sum()
    }

    #[expect(clippy::disallowed_methods, reason = "how long it takes decides who does the next")]
    fn write_batch(&mut self) -> rusqlite::Result<()> {
        let began = Instant::now();
        let written = self.write_taken();
        self.numbers.settle(written.is_ok());
        written?;
        self.unchecked += 1;
        self.unchecked_bytes += self.batch_size();
        self.pages.recorded();
        self.note_time(began.elapsed());
        Ok(())
    }

    fn write_taken(&mut self) -> rusqlite::Result<()> {
        let mut entries = self.pages.batch();
        if let (Some(only @ Entry::Changed(_)), None) = (entries.next(), entries.next())
            && only.size() <= LONG
        {
            // One statement is a transaction by itself.
            return write_entry(&self.connection, &mut self.numbers, only);
        }
        let transaction = self.connection.transaction()?;
        for entry in self.pages.batch() {
            write_entry(&transaction, &mut self.numbers, entry)?;
        }
        transaction.commit()
    }

    fn note_time(&mut self, took: Duration) {
        self.slow_writes = if took > SLOW { self.slow_writes + 1 } else { 0 };
        self.is_the_threads = if self.slow_writes >= SLOW_WRITES {
            SLOW_BATCHES
        } else {
            self.is_the_threads.saturating_sub(1)
        };
    }

    /// Lets go first what is to go anyway: it may be what fills the disk.
    fn make_room(&mut self) {
        self.pages.take_all();
        for entry in self.pages.batch() {
            if let Entry::Gone(Burial { id, .. }) = entry {
                // If it fails, the next try of the whole will say so; its row is known until then.
                let _ = delete_command(&self.connection, &mut self.numbers, id);
            }
        }
    }

    /// Writes the next batch of everything that there is. False: there was none.
    fn write_next(&mut self) -> rusqlite::Result<bool> {
        self.pages.fill_with_later();
        if self.pages.is_empty() {
            return Ok(false);
        }
        self.write_batch()?;
        Ok(true)
    }

    /// Moves what is in the log to the file itself, if it is time. Meanwhile whoever waits for
    /// an entry waits.
    fn shorten_log(&mut self) {
        if !self.has_long_log() {
            return;
        }
        (self.unchecked, self.unchecked_bytes) = (0, 0);
        if let Err(error) = checkpoint(&self.connection, "PASSIVE") {
            tracing::warn!(%error, "the journal's log could not be moved to its file");
        }
    }

    fn end(self) {
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
fn attend(desk: &Mutex<Option<Desk>>, work: &mpsc::Receiver<Work>) {
    let mut in_trouble = false;
    let mut tries_left = None;
    loop {
        if is_to_close(work, in_trouble) && tries_left.is_none() {
            tries_left = Some(LAST_TRIES);
        }
        in_trouble = !try_to_write(desk, in_trouble);
        match &mut tries_left {
            Some(0) => return close(desk),
            Some(_) if !in_trouble => return close(desk),
            Some(tries) => *tries -= 1,
            None => {}
        }
        shorten_log(desk);
    }
}

/// Waits for work; in trouble, for a while. Whether it is the last.
fn is_to_close(work: &mpsc::Receiver<Work>, in_trouble: bool) -> bool {
    let first = if in_trouble {
        thread::sleep(RETRY);
        None
    } else {
        // A journal that nobody holds any more is closed, too.
        Some(work.recv().unwrap_or(Work::Close))
    };
    // All of it is done at once, so all of it is taken.
    let all: Vec<_> = first.into_iter().chain(work.try_iter()).collect();
    all.contains(&Work::Close)
}

/// Writes everything. False: it cannot be written for now.
fn try_to_write(desk: &Mutex<Option<Desk>>, mut was_in_trouble: bool) -> bool {
    loop {
        // Let go of after each batch, so that who waits for one entry can write it.
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(desk) = &mut *desk else { return true };
        if was_in_trouble {
            desk.make_room();
        }
        match desk.write_next() {
            Ok(more) => {
                if was_in_trouble {
                    tracing::info!("the journal is written again");
                    was_in_trouble = false;
                }
                if !more {
                    return true;
                }
                desk.shorten_log();
            }
            Err(error) => {
                if !was_in_trouble {
                    tracing::error!(%error, "the journal cannot be written");
                }
                desk.pages.failed(&error.to_string());
                return false;
            }
        }
    }
}

/// Moves what is in the log to the file itself, if it is time.
fn shorten_log(desk: &Mutex<Option<Desk>>) {
    let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(desk) = &mut *desk {
        desk.shorten_log();
    }
}

fn close(desk: &Mutex<Option<Desk>>) {
    let ended = desk.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(desk) = ended {
        desk.end();
    }
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}
