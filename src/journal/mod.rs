//! The journal: what must outlive the process, in SQLite.
//!
//! The hub appends entries, which never blocks, and waits for them where it must: what must
//! not be told before it is recorded waits for its [`Seq`], which is the answer to a caller,
//! `go`, and an acknowledgement. They are written in their order, up to [`BATCH`] in one
//! transaction.
//!
//! A journal is a pair of ends, not a trait: [`Journal`] is the hub's, [`Pages`] the
//! writer's. Whoever has the pages decides where they go.
//!
//! An entry that cannot be written (a full disk, one that is read-only) is tried again
//! until it can be; meanwhile the journal says that it is [in trouble](Journal::trouble), and
//! nothing that waits for it goes out.

mod boot;
mod history;
mod rows;
mod store;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::lifecycle::{Command, Gone, Lane, Wish};
use crate::protocol::{BrowserId, BrowserSession, ClientId, CorrelationId, Moment, Owner, TabId};
pub use boot::boot_id;
pub use history::{History, Kept, KeptKey};
pub use store::{OpenError, Opened, open};
use writer::Writer;

/// The most entries in one transaction.
pub const BATCH: usize = 64;

/// With more entries than this still to be written, nothing new is taken.
const BACKLOG: u64 = 8_192;

/// The place of an entry in the order of all entries of this life of the daemon; the first
/// has 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seq(u64);

/// What is recorded.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A life of the daemon begins.
    Life(Anchor),
    /// A command was accepted.
    Accepted(Box<Acceptance>),
    /// A command that was accepted before there was a browser for it got its lane.
    Placed(CorrelationId, Lane),
    /// A command may have begun, or is over: as it is now.
    Changed(Command),
    /// The owner has had the outcome.
    Read(CorrelationId, Moment),
    /// The record of a command goes.
    Gone(Burial),
    /// A client's current tab.
    Current(Current),
    /// In which session of its browser an extension is: tabs are known by their number in it
    /// only.
    Session(BrowserId, BrowserSession),
    /// A client was forgotten, with all that was kept of it.
    Forgotten(ClientId),
    /// Keys of commands that were accepted before this stand for nothing any more.
    DropKeys(Moment),
}

/// What stays of a command whose record goes.
#[derive(Clone, Debug)]
pub struct Burial {
    /// The command.
    pub id: CorrelationId,
    /// In whose lists it stood.
    pub client: ClientId,
    /// What is remembered of it.
    pub gone: Gone,
    /// An older one that is not remembered any more.
    pub forgotten: Option<CorrelationId>,
}

/// A moment, and what the machine's own clock said then. By it the next life of the daemon
/// knows how much time has passed, whatever became of the system clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Which start of the machine.
    pub boot: Arc<str>,
    /// The time on its monotonic clock.
    pub monotonic: Duration,
    /// The moment.
    pub at: Moment,
}

/// An accepted command, and what it asked for.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The command.
    pub command: Command,
    /// Where it is to run, if that is known.
    pub lane: Option<Lane>,
    /// What the call said of that.
    pub wish: Wish,
    /// The key under which the same call is the same command.
    pub key: Option<Arc<str>>,
    /// Older keys that are not remembered any more.
    pub dropped_keys: Vec<(Owner, Arc<str>)>,
}

/// The tab that a client's commands go to when they name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The client.
    pub client: ClientId,
    /// Whose client it is.
    pub owner: Owner,
    /// The browser.
    pub browser: BrowserId,
    /// The tab.
    pub tab: Option<TabId>,
    /// Since when.
    pub at: Moment,
}

/// How far the writer is.
#[derive(Clone, Debug, Default)]
struct Progress {
    recorded: Seq,
    /// What keeps it from going on.
    trouble: Option<Arc<str>>,
}

/// The hub's end. Cheap to clone; all clones are the same journal.
#[derive(Clone, Debug)]
pub struct Journal(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    tail: Mutex<Option<mpsc::Sender<Entry>>>,
    appended: AtomicU64,
    more: Notify,
    progress: watch::Receiver<Progress>,
    /// None: whoever took the pages writes on their own account.
    writer: Option<Writer>,
}

/// Entries are not recorded, and will not be for now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the journal cannot be written: {0}")]
pub struct Trouble(pub Arc<str>);

/// The writer's end: entries, in their order.
#[derive(Debug)]
pub struct Pages {
    entries: mpsc::Receiver<Entry>,
    /// Taken, and not recorded.
    batch: VecDeque<Entry>,
    progress: watch::Sender<Progress>,
}

impl Journal {
    /// No journal: nothing outlives the process, and nothing waits to be recorded.
    #[must_use]
    pub const fn ephemeral() -> Self {
        Self(None)
    }

    /// A journal and the end that whoever writes it takes from.
    #[must_use]
    pub fn channel() -> (Self, Pages) {
        let (shared, pages) = Shared::new();
        (Self(Some(Arc::new(shared))), pages)
    }

    /// A journal that is written by whoever waits for it.
    fn written_by(start: impl FnOnce(Pages) -> io::Result<Writer>) -> io::Result<Self> {
        let (shared, pages) = Shared::new();
        let writer = Some(start(pages)?);
        Ok(Self(Some(Arc::new(Shared { writer, ..shared }))))
    }

    /// Whether nothing outlives the process.
    #[must_use]
    pub const fn is_ephemeral(&self) -> bool {
        self.0.is_none()
    }

    /// Appends an entry; when it is recorded, [`recorded`](Self::recorded) says.
    pub fn append(&self, entry: Entry) -> Seq {
        let Some(shared) = &self.0 else { return Seq::default() };
        let tail = shared.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = Seq(shared.appended.fetch_add(1, Ordering::AcqRel) + 1);
        if let Some(tail) = &*tail {
            // A writer that is gone has said why; what waits for this entry gets to know.
            let _ = tail.send(entry);
        }
        shared.more.notify_one();
        seq
    }

    /// The place of the entry that was appended last.
    #[must_use]
    pub fn last(&self) -> Seq {
        let appended = |shared: &Arc<Shared>| Seq(shared.appended.load(Ordering::Acquire));
        self.0.as_ref().map_or_else(Seq::default, appended)
    }

    /// Whether everything up to `seq` is recorded.
    #[must_use]
    pub fn has_recorded(&self, seq: Seq) -> bool {
        self.0.as_ref().is_none_or(|shared| shared.progress.borrow().recorded >= seq)
    }

    /// Returns once everything up to `seq` is recorded.
    ///
    /// # Errors
    ///
    /// [`Trouble`], at once, if it cannot be for now.
    pub async fn recorded(&self, seq: Seq) -> Result<(), Trouble> {
        let Some(shared) = &self.0 else { return Ok(()) };
        self.write_up_to(seq).await;
        let mut progress = shared.progress.clone();
        let settled = |p: &Progress| p.recorded >= seq || p.trouble.is_some();
        let Ok(seen) = progress.wait_for(settled).await else { return Err(writer_gone()) };
        match &seen.trouble {
            Some(trouble) if seen.recorded < seq => Err(Trouble(trouble.clone())),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns once everything up to `seq` is recorded, however long that takes.
    ///
    /// Cancel safe.
    pub async fn recorded_at_last(&self, seq: Seq) {
        let Some(shared) = &self.0 else { return };
        self.write_up_to(seq).await;
        if shared.progress.clone().wait_for(|p| p.recorded >= seq).await.is_err() {
            // It never will be.
            std::future::pending::<()>().await;
        }
    }

    /// Sees to it that everything up to `seq` is written, if it is not.
    async fn write_up_to(&self, seq: Seq) {
        if self.has_recorded(seq) {
            return;
        }
        // What else is about to be told goes into the same transaction.
        tokio::task::yield_now().await;
        if !self.has_recorded(seq) {
            self.write();
        }
    }

    /// Returns once something was appended since this returned last.
    pub async fn appended(&self) {
        match &self.0 {
            Some(shared) => shared.more.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Sees to it that everything that was appended is written.
    pub fn write(&self) {
        if let Some(writer) = self.0.as_ref().and_then(|shared| shared.writer.as_ref()) {
            writer.write();
        }
    }

    /// Why nothing new may be taken now, if so.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        let shared = self.0.as_ref()?;
        if shared.progress.has_changed().is_err() {
            return Some(writer_gone());
        }
        let Progress { recorded, trouble } = shared.progress.borrow().clone();
        if let Some(trouble) = trouble {
            return Some(Trouble(trouble));
        }
        let backlog = shared.appended.load(Ordering::Acquire).saturating_sub(recorded.0);
        (backlog > BACKLOG).then(|| Trouble(format!("{backlog} entries wait to be written").into()))
    }

    /// Takes no more entries, and returns once all are recorded and the writer is done, or
    /// can go no further.
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

fn writer_gone() -> Trouble {
    Trouble("its writer has ended".into())
}

impl Shared {
    fn new() -> (Self, Pages) {
        let (tail, entries) = mpsc::channel();
        let (sender, progress) = watch::channel(Progress::default());
        let tail = Mutex::new(Some(tail));
        let (appended, more) = (AtomicU64::new(0), Notify::new());
        let shared = Self { tail, appended, more, progress, writer: None };
        (shared, Pages { entries, batch: VecDeque::new(), progress: sender })
    }
}

impl Pages {
    /// Takes what there is, so that up to [`BATCH`] entries are taken.
    pub fn fill(&mut self) {
        let room = BATCH.saturating_sub(self.batch.len());
        self.batch.extend(self.entries.try_iter().take(room));
    }

    /// Takes everything that there is.
    pub fn take_all(&mut self) {
        self.batch.extend(self.entries.try_iter());
    }

    /// What was taken and is to be recorded next.
    pub fn batch(&self) -> impl Iterator<Item = &Entry> {
        self.batch.iter()
    }

    /// Whether nothing was taken that is to be recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Whether what was taken could not be recorded the last time.
    #[must_use]
    pub fn is_in_trouble(&self) -> bool {
        self.progress.borrow().trouble.is_some()
    }

    /// Says that what was taken is recorded.
    pub fn recorded(&mut self) {
        let taken = self.batch.len() as u64;
        self.batch.clear();
        self.progress.send_modify(|progress| {
            progress.recorded.0 += taken;
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
