//! The shell around the lifecycle: it holds the commands, wakes whoever waits, carries
//! frames to and from extensions and sleeps until the next deadline. It is the only
//! owner of commands.
//!
//! Each command lives in a watch channel under its correlation id. It changes in one
//! place (`desk`), under one lock that is held for microseconds and never across an
//! await. Whoever waits subscribes first, then looks, then waits: no wake-up is lost.
//! One task, the reaper, sleeps until the next deadline; it ends with the hub.

mod absence;
mod analyses;
mod capture;
mod clients;
mod clock;
mod desk;
mod drawing_tools;
mod events;
mod health;
mod kept;
mod keys;
mod knocks;
mod links;
mod outbox;
mod owner_rates;
mod pollers;
mod reading;
mod reaper;
mod recovery;
mod refusal;
mod sessions;
mod sites;
mod streams;
mod submit;
mod summaries;
mod syncs;
mod targets;
#[cfg(test)]
mod tests;
mod tracked;
mod undertakings;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::home::AgentFiles;
use crate::journal::{Anchor, Entry, History, Journal, Trouble};
pub use crate::lifecycle::Wish;
use crate::lifecycle::{Event, Limits};
use crate::proof;
use crate::protocol::{ClientId, CorrelationId, Moment, Owner};
pub use capture::{CaptureChange, Capturing, DeafBrowsers};
pub use clients::ClientSummary;
use clock::Clock;
pub use clock::Reading;
use desk::Books;
use events::Change;
pub use events::{Events, Following, News, Term, Told};
use health::Counters;
pub use health::{Health, Requests};
pub use knocks::{KnockList, KnockSummary, NamelessPoller};
pub use links::Link;
pub use outbox::{Farewell, Outbox};
pub use pollers::{Glimpse, Poll, Verdict};
pub use reading::{Lists, Seen};
pub use refusal::{BrowserChoice, Refusal, Refused};
pub use streams::{PageRecord, Taken};
pub use submit::{Accepted, Submission, Submitted};
pub use summaries::{BrowserSummary, TabSummary};
pub use syncs::OpenSync;
use tracked::Tracked;
pub use undertakings::Undertaking;

/// How long what nobody waits for may stay unwritten.
const UNAWAITED: Duration = Duration::from_millis(50);

/// The owner of all commands. Cheap to clone; all clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    limits: Limits,
    epoch: Arc<str>,
    commands: DashMap<CorrelationId, Arc<Tracked>>,
    journal: Journal,
    moved_aside: Option<PathBuf>,
    books: Mutex<Books>,
    streams: streams::Streams,
    /// Tells the reaper that a deadline has become the first of all.
    sooner: Notify,
    /// Every change of a command, for whoever looks on. Sending never blocks.
    changes: broadcast::Sender<Change>,
    closed: CancellationToken,
    tasks: TaskTracker,
    requests: Counters,
    rejected: absence::RejectedHandshakes,
    /// Whose turn it is to have something large recorded.
    large: Semaphore,
    /// Where the results of agents may be written as files, once that is known.
    agent_files: OnceLock<AgentFiles>,
}

/// Who calls: the owner decides what may be seen, the client whose lists and caps
/// count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Who the token belongs to.
    pub owner: Owner,
    /// Which of its clients.
    pub client: ClientId,
}

/// How what must outlive the process is kept.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Storage {
    /// In the journal.
    Journal {
        /// Where the file of earlier lives of the daemon is now, if it could not be used.
        #[serde(skip_serializing_if = "Option::is_none")]
        moved_aside: Option<PathBuf>,
    },
    /// Not at all: the daemon was told so.
    Ephemeral,
    /// It cannot be, so nothing new is taken.
    Unavailable {
        /// Why.
        why: Arc<str>,
    },
}

impl Hub {
    /// A hub of which nothing outlives the process. Must be called in a tokio runtime.
    #[must_use]
    pub fn start(limits: Limits) -> Self {
        Self::open(limits, Journal::ephemeral(), History::default(), &Reading::now())
    }

    /// A hub that goes on with what an earlier life of the daemon has recorded, with its
    /// reaper. Must be called in a tokio runtime.
    #[must_use]
    pub fn open(limits: Limits, journal: Journal, history: History, reading: &Reading) -> Self {
        let clock = Clock::start(reading, &history);
        let started = clock.now();
        let is_same_boot = history.anchor.as_ref().is_some_and(|last| reading.is_same_boot(last));
        let Reading { boot, monotonic, .. } = reading.clone();
        journal.append(Entry::Life(Anchor { boot, monotonic, at: started }));
        let epoch = format!("{}-{}", started.unix_millis(), proof::random_hex::<4>());
        let hub = Self(Arc::new(Inner {
            clock,
            limits,
            epoch: epoch.into(),
            commands: DashMap::new(),
            journal,
            moved_aside: history.moved_aside.clone(),
            books: Mutex::new(Books::new(started)),
            streams: streams::Streams::new(&limits),
            sooner: Notify::new(),
            changes: events::channel(),
            closed: CancellationToken::new(),
            tasks: TaskTracker::new(),
            requests: Counters::default(),
            rejected: absence::RejectedHandshakes::default(),
            large: Semaphore::new(1),
            agent_files: OnceLock::new(),
        }));
        hub.with_desk(|desk| desk.recover(history, is_same_boot));
        hub.0.tasks.spawn(reaper::run(hub.clone(), hub.0.closed.clone()));
        hub.0.tasks.spawn(streams::keep_events(hub.clone(), hub.0.closed.clone()));
        hub.0.tasks.spawn(keep_written(hub.0.journal.clone(), hub.0.closed.clone()));
        hub
    }

    /// Where the results of agents may be written as files. Counts once.
    pub fn set_agent_files(&self, files: AgentFiles) {
        // The first one counts; a daemon has one.
        let _ = self.0.agent_files.set(files);
    }

    /// Where the results of agents may be written as files; `None`: nowhere.
    #[must_use]
    pub fn agent_files(&self) -> Option<&AgentFiles> {
        self.0.agent_files.get()
    }

    /// Names this life of the daemon.
    #[must_use]
    pub fn epoch(&self) -> Arc<str> {
        self.0.epoch.clone()
    }

    /// Takes a command, and sends it on at once if its tab is free. Returns when it is
    /// recorded; it is on its way before.
    ///
    /// # Errors
    ///
    /// [`Refused`]: it was not taken, and nothing that was is touched.
    pub async fn submit(&self, caller: &Caller, call: Submission) -> Result<Accepted, Refused> {
        let submitted = self.submit_unrecorded(caller, call).await?;
        self.confirm(caller, &submitted).await?;
        Ok(submitted.accepted)
    }

    /// Takes a command like [`submit`](Self::submit), for a caller that will not be told of
    /// it before [`confirm`](Self::confirm) has returned.
    ///
    /// # Errors
    ///
    /// See [`submit`](Self::submit).
    pub async fn submit_unrecorded(
        &self,
        caller: &Caller,
        call: Submission,
    ) -> Result<Submitted, Refused> {
        let key = call.key();
        if !call.is_large() {
            return self.with_desk(|desk| desk.submit(caller, call, key));
        }
        // What is large takes milliseconds to record, and what comes after it in the journal
        // waits for that: never for more than one.
        let _turn = self.0.large.acquire().await;
        let submitted = self.with_desk(|desk| desk.submit(caller, call, key))?;
        self.confirm(caller, &submitted).await?;
        Ok(submitted)
    }

    /// Returns once the acceptance of a command is recorded.
    ///
    /// # Errors
    ///
    /// [`Refusal::StorageUnavailable`]: it cannot be, and the command is taken back.
    pub async fn confirm(&self, caller: &Caller, submitted: &Submitted) -> Result<(), Refused> {
        let recorded = self.0.journal.recorded(submitted.recorded).await;
        recorded.map_err(|trouble| self.take_back(caller, submitted, trouble))
    }

    /// Returns only if the acceptance cannot be recorded, for a caller that waits for the
    /// command's end: that it is recorded needs nobody to wait for.
    pub async fn refused(&self, caller: &Caller, submitted: &Submitted) -> Refused {
        match self.0.journal.recorded_in_time(submitted.recorded).await {
            Ok(()) => std::future::pending().await,
            Err(trouble) => self.take_back(caller, submitted, trouble),
        }
    }

    /// Takes back a wait or job that nobody was told of, since what it was for cannot be done.
    /// One that another call has brought stays.
    pub fn withdraw(&self, caller: &Caller, submitted: &Submitted) {
        if submitted.is_new() {
            self.with_desk(|desk| desk.withdraw(caller, &submitted.accepted.id));
        }
    }

    fn take_back(&self, caller: &Caller, submitted: &Submitted, trouble: Trouble) -> Refused {
        self.with_desk(|desk| {
            let aim = desk.aim_of(&submitted.accepted.id);
            // Nobody was told of it, whichever call brought it first.
            desk.withdraw(caller, &submitted.accepted.id);
            desk.refuse_call(caller, Refusal::StorageUnavailable { why: trouble.0 }, aim)
        })
    }

    /// Lets running commands finish, for a while; nothing new is taken or delivered from
    /// here on. What still waits goes on in the next life of the daemon.
    pub async fn drain(&self, at_most: Duration) {
        let mut changes = self.0.changes.subscribe();
        self.with_desk(|desk| {
            desk.is_draining = true;
            desk.end_waiting_polls();
        });
        let idle = async {
            while self.with_desk(|desk| desk.is_anything_running()) {
                // Too slow a reader looks again as well.
                let _ = changes.recv().await;
            }
        };
        if tokio::time::timeout(at_most, idle).await.is_err() {
            tracing::info!("ending with commands that still run");
        }
        self.0.journal.everything_recorded().await;
    }

    /// Ends all links.
    pub fn end_links(&self, why: Farewell) {
        self.with_desk(|desk| {
            for id in desk.browsers.keys().cloned().collect::<Vec<_>>() {
                desk.end_link(&id, why);
            }
        });
    }

    /// Ends all links and every wait, and stops the reaper.
    pub async fn shut_down(&self) {
        self.0.closed.cancel();
        self.end_links(Farewell::Shutdown);
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Takes no more records, and returns once all there are are written. To be called when
    /// nobody is answered any more.
    pub async fn close_journal(&self) {
        self.0.journal.close().await;
    }

    /// How what must outlive the process is kept.
    #[must_use]
    pub fn storage(&self) -> Storage {
        let journal = &self.0.journal;
        match journal.trouble() {
            Some(Trouble(why)) => Storage::Unavailable { why },
            None if journal.is_ephemeral() => Storage::Ephemeral,
            None => Storage::Journal { moved_aside: self.0.moved_aside.clone() },
        }
    }

    /// For how long no client has called and no command was pending, counted from
    /// `since` at the earliest.
    #[must_use]
    pub fn idle_for(&self, since: Moment) -> Duration {
        self.with_desk(|desk| {
            let busy = desk.clients.values().any(|client| !client.is_idle());
            let heard = desk.clients.values().map(|client| client.last_seen).max();
            let last = if busy { desk.now() } else { heard.unwrap_or(since).max(since) };
            desk.now().since(last)
        })
    }

    /// The time, as the lifecycle reckons it.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.0.clock.now()
    }

    /// Lets every deadline that has come take effect, and drops what is past keeping.
    fn reap(&self) {
        self.with_desk(|desk| {
            let now = desk.now();
            while let Some(id) = desk.deadlines.due(now) {
                desk.apply(&id, Event::Tick);
                let retained = |watched: &Arc<Tracked>| {
                    watched.borrow().retain_until().is_none_or(|until| now < until)
                };
                if !self.0.commands.get(&id).is_some_and(|entry| retained(entry.value())) {
                    let unread =
                        desk.command(&id).map_or("", |known| known.borrow().unread_at_last());
                    desk.forget(&id, unread);
                    desk.deadlines.remove(&id);
                }
            }
            desk.lapse_pollers();
            desk.sweep();
        });
    }
}

/// Has written what nobody waits for.
async fn keep_written(journal: Journal, closed: CancellationToken) {
    let written = async {
        loop {
            journal.appended().await;
            tokio::time::sleep(UNAWAITED).await;
            journal.write_for_later().await;
        }
    };
    tokio::select! {
        biased;
        () = closed.cancelled() => {}
        () = written => {}
    }
}
