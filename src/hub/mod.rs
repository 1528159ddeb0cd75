//! The shell around the engine. It holds the lock, wakes waiting callers, carries frames to and from
//! extensions, and sleeps until the next deadline.
//!
//! The lock is held for microseconds and never across an await. The hub carries out the engine's
//! effects under the lock (`core`). A watch channel under the correlation id holds the state of each
//! command. A waiting caller subscribes first, then reads, then waits, so it misses no wake-up. One
//! task, the timer, sleeps until the next deadline; it ends with the hub.

mod absence;
mod act_pictures;
mod analyses;
mod asks;
mod clock;
mod core;
mod decisions;
mod events;
mod health;
mod host_tasks;
mod leases;
mod link_channel;
mod links;
mod measures;
mod outbox;
mod overview;
mod polling;
mod queries;
mod reading;
mod streams;
#[cfg(test)]
mod tests;
mod timer;
mod tracked;
mod uploads;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{Notify, Semaphore, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::engine::{
    AskReply, AskSummary, BrowserChoice, BrowserSummary, CallRefusal, Caller, CaptureChange,
    CaptureStatus, CaptureUnsupportedBrowsers, ClientSummary, CloseReason, CommandLists,
    CommandReceipt, DialogHandling, ExtensionFiles, HostTask, KnockList, KnockSummary,
    NamelessPoller, PendingQuerySummary, PollRequest, RefusalReason, ReportDisposition,
    RequestContext, Submission, SubmittedCommand, TabChoice, TabSummary,
};
use crate::engine::{ClockAnchor, Engine, JournalEntry, RecordedHistory};
use crate::home::AgentFiles;
use crate::journal::{Journal, WriteFailure};
use crate::lifecycle::Limits;
pub use crate::lifecycle::TargetSelector;
use crate::metrics::{DaemonMetrics, SpanFate};
use crate::proof::{self, NameSource};
use crate::protocol::{CorrelationId, PastAct, RunClock, Timestamp};
use crate::spans::CommandSpan;
pub use clock::ClockSample;
use clock::DaemonClock;
use core::HubCore;
use events::CommandChange;
pub use events::{CommandFollower, CommandLifetime, CommandObserver, ObserverEvent, StoryLookup};
use health::RequestCounters;
pub use health::{DaemonHealth, RequestCounts};
pub use leases::PresenceGuard;
pub use links::ExtensionLink;
pub use outbox::Outbox;
pub use overview::CommandRow;
pub use polling::OpenSync;
pub use reading::CommandLookup;
pub use streams::{IngestCounts, PageRecord};
use tracked::TrackedCommand;

/// How long a journal entry that nothing waits for may stay unwritten.
const UNAWAITED: Duration = Duration::from_millis(50);

/// The owner of the engine. Cheap to clone; all clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub(Arc<HubState>);

#[derive(Debug)]
struct HubState {
    clock: DaemonClock,
    limits: Limits,
    epoch: Arc<str>,
    commands: DashMap<CorrelationId, Arc<TrackedCommand>>,
    journal: Journal,
    moved_aside: Option<PathBuf>,
    core: Mutex<HubCore>,
    streams: streams::StreamStore,
    act_pictures: act_pictures::ActPictureStore,
    /// Wakes the timer when a new deadline is earlier than the one that it sleeps to.
    sooner: Notify,
    /// Every change of a command, for observers. Sending never blocks.
    changes: broadcast::Sender<CommandChange>,
    closed: CancellationToken,
    tasks: TaskTracker,
    requests: RequestCounters,
    metrics: DaemonMetrics,
    /// Lets one large entry at a time into the journal.
    large: Semaphore,
    /// Takes the acts that are over, once the daemon has set it.
    past_acts: OnceLock<mpsc::Sender<PastAct>>,
    /// Takes the spans of commands that are over, once the daemon has set it.
    spans: OnceLock<mpsc::Sender<CommandSpan>>,
    /// Where agents may write results as files, once the daemon has set it.
    agent_files: OnceLock<AgentFiles>,
}

/// The state of the storage.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StorageStatus {
    /// The journal works.
    Journal {
        /// Where the old journal file was moved, if it could not be used.
        #[serde(skip_serializing_if = "Option::is_none")]
        moved_aside: Option<PathBuf>,
    },
    /// The daemon was started without a journal.
    Ephemeral,
    /// The journal cannot be written, so new commands are rejected.
    Unavailable {
        /// Why.
        why: Arc<str>,
    },
}

impl Hub {
    /// The capacities that the person has set.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// A hub without a journal. Must be called in a tokio runtime.
    #[must_use]
    pub fn start(limits: Limits) -> Self {
        Self::open(limits, Journal::ephemeral(), RecordedHistory::default(), &ClockSample::now())
    }

    /// A hub that continues from the journal of an earlier run, with its timer. Must be called in a
    /// tokio runtime.
    #[must_use]
    pub fn open(
        limits: Limits,
        journal: Journal,
        history: RecordedHistory,
        reading: &ClockSample,
    ) -> Self {
        let clock = DaemonClock::start(reading, &history);
        let started = clock.now();
        let is_same_boot = history.anchor.as_ref().is_some_and(|last| reading.is_same_boot(last));
        let ClockSample { boot, monotonic, asleep, .. } = reading.clone();
        // The first entry of the run, so that the engine counts on from it.
        journal.append(JournalEntry::RunStarted(ClockAnchor { boot, monotonic, at: started }));
        let engine = Engine::new(limits, NameSource::generate(), journal.last(), started);
        let engine = engine.after_sleep(asleep);
        let metrics = DaemonMetrics::new(&journal.write_times());
        let epoch = format!("{}-{}", started.unix_millis(), proof::random_hex::<4>());
        let hub = Self(Arc::new(HubState {
            clock,
            limits,
            epoch: epoch.into(),
            commands: DashMap::new(),
            journal,
            moved_aside: history.moved_aside.clone(),
            core: Mutex::new(HubCore::new(engine)),
            streams: streams::StreamStore::new(&limits),
            act_pictures: act_pictures::ActPictureStore::default(),
            sooner: Notify::new(),
            changes: events::channel(),
            closed: CancellationToken::new(),
            tasks: TaskTracker::new(),
            requests: RequestCounters::default(),
            metrics,
            large: Semaphore::new(1),
            past_acts: OnceLock::new(),
            spans: OnceLock::new(),
            agent_files: OnceLock::new(),
        }));
        // Before the timer starts, and before anybody else has the hub.
        hub.transact(|tx| tx.recover(history, is_same_boot));
        hub.0.tasks.spawn(timer::run(hub.clone(), hub.0.closed.clone()));
        hub.0.tasks.spawn(streams::keep_events(hub.clone(), hub.0.closed.clone()));
        hub.0.tasks.spawn(write_unawaited(hub.0.journal.clone(), hub.0.closed.clone()));
        hub
    }

    /// Gives each act to the person's history when it is over. Only the first call counts. Acts for
    /// which the channel has no room are lost.
    pub fn keep_past_acts(&self, keeper: mpsc::Sender<PastAct>) {
        // A daemon has one history.
        let _ = self.0.past_acts.set(keeper);
    }

    /// Gives the span of each command to an exporter when the command is over. Only the first call
    /// counts. Spans for which the channel has no room are lost and counted.
    pub fn export_spans(&self, exporter: mpsc::Sender<CommandSpan>) {
        // A daemon has one exporter.
        let _ = self.0.spans.set(exporter);
    }

    /// Counts spans that have left the exporter.
    pub fn count_spans(&self, fate: SpanFate, number: usize) {
        self.0.metrics.count_spans(fate, number);
    }

    /// Sets where agents may write results as files. Only the first call counts.
    pub fn set_agent_files(&self, files: AgentFiles) {
        // The first one counts; a daemon has one.
        let _ = self.0.agent_files.set(files);
    }

    /// Where agents may write results as files; `None`: nowhere.
    #[must_use]
    pub fn agent_files(&self) -> Option<&AgentFiles> {
        self.0.agent_files.get()
    }

    /// Which run of the daemon this is, and how long it has lasted.
    #[must_use]
    pub fn run_clock(&self) -> RunClock {
        RunClock { run: self.epoch(), elapsed: self.0.clock.run_time() }
    }

    /// The id of this run of the daemon.
    #[must_use]
    pub fn epoch(&self) -> Arc<str> {
        self.0.epoch.clone()
    }

    /// Accepts a command, and sends it at once if its lane is free. Returns when the journal has
    /// recorded it, which may be after it was sent.
    ///
    /// # Errors
    ///
    /// [`CallRefusal`]: nothing has changed.
    pub async fn submit(
        &self,
        caller: &Caller,
        call: Submission,
    ) -> Result<CommandReceipt, CallRefusal> {
        let submitted = self.submit_unrecorded(caller, call).await?;
        self.confirm(caller, &submitted).await?;
        Ok(submitted.accepted)
    }

    /// Like [`submit`](Self::submit), but returns before the journal has recorded the command. The
    /// caller must await [`confirm`](Self::confirm) before it reports the command.
    ///
    /// # Errors
    ///
    /// See [`submit`](Self::submit).
    pub async fn submit_unrecorded(
        &self,
        caller: &Caller,
        call: Submission,
    ) -> Result<SubmittedCommand, CallRefusal> {
        let key = call.key();
        let is_large = call.is_large();
        // A large entry takes milliseconds to write, and later entries wait for it: never for more
        // than one of them (decision 269).
        let _turn = if is_large { self.0.large.acquire().await.ok() } else { None };
        // The engine does not know the journal, so each submission brings its state along.
        let trouble = self.trouble();
        let submitted = self.transact(|tx| {
            tx.note_storage(trouble);
            tx.submit(caller, call, key)
        });
        let submitted = submitted.inspect_err(|refusal| {
            self.0.metrics.count_rejected_call(refusal.why.code());
        })?;
        if is_large {
            self.confirm(caller, &submitted).await?;
        }
        Ok(submitted)
    }

    /// Why the journal cannot be written now, if it cannot.
    fn trouble(&self) -> Option<Arc<str>> {
        self.0.journal.trouble().map(|WriteFailure(why)| why)
    }

    /// Returns once the acceptance of a command is recorded.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::StorageUnavailable`]: it cannot be, and the command is taken back.
    pub async fn confirm(
        &self,
        caller: &Caller,
        submitted: &SubmittedCommand,
    ) -> Result<(), CallRefusal> {
        let recorded = self.0.journal.recorded(submitted.recorded).await;
        recorded.map_err(|trouble| self.take_back(caller, submitted, trouble))
    }

    /// Returns only if the acceptance cannot be recorded, for a caller that waits for the
    /// command's end: that it is recorded needs nobody to wait for.
    pub async fn refused(&self, caller: &Caller, submitted: &SubmittedCommand) -> CallRefusal {
        match self.0.journal.recorded_by_others(submitted.recorded).await {
            Ok(()) => std::future::pending().await,
            Err(trouble) => self.take_back(caller, submitted, trouble),
        }
    }

    /// Withdraws a wait or a job that no caller knows of, because its work cannot begin. A task that
    /// another call has brought stays.
    pub fn withdraw(&self, caller: &Caller, submitted: &SubmittedCommand) {
        if submitted.is_new() {
            self.transact(|tx| tx.withdraw(caller, &submitted.accepted.id));
        }
    }

    fn take_back(
        &self,
        caller: &Caller,
        submitted: &SubmittedCommand,
        trouble: WriteFailure,
    ) -> CallRefusal {
        self.transact(|tx| {
            let aim = tx.aim_of(&submitted.accepted.id);
            // Nobody was told of it, whichever call brought it first.
            tx.withdraw(caller, &submitted.accepted.id);
            tx.refuse_call(caller, RefusalReason::StorageUnavailable { why: trouble.0 }, aim)
        })
    }

    /// Lets running commands finish, for `at_most`. From here on no command is accepted or delivered.
    /// Commands that still wait continue in the next run of the daemon.
    pub async fn drain(&self, at_most: Duration) {
        // First, so that the end of the last running command is not missed.
        let mut changes = self.0.changes.subscribe();
        self.transact(|tx| tx.begin_shutdown());
        let idle = async {
            while self.view(|engine| engine.is_anything_running()) {
                // Too slow a reader looks again as well.
                let _ = changes.recv().await;
            }
        };
        if tokio::time::timeout(at_most, idle).await.is_err() {
            tracing::info!("ending with commands that still run");
        }
        self.0.journal.everything_recorded().await;
    }

    /// Ends all links and every wait, and stops the timer.
    pub async fn shut_down(&self) {
        self.transact(|tx| tx.begin_shutdown());
        self.0.closed.cancel();
        self.end_links(CloseReason::Shutdown);
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Accepts no more entries, and returns once all are written. Call it when no caller gets an
    /// answer any more.
    pub async fn close_journal(&self) {
        self.0.journal.close().await;
    }

    /// The state of the storage.
    #[must_use]
    pub fn storage(&self) -> StorageStatus {
        let journal = &self.0.journal;
        match journal.trouble() {
            Some(WriteFailure(why)) => StorageStatus::Unavailable { why },
            None if journal.is_ephemeral() => StorageStatus::Ephemeral,
            None => StorageStatus::Journal { moved_aside: self.0.moved_aside.clone() },
        }
    }

    /// The time, as the lifecycle reckons it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}

/// Has the journal write entries that nobody waits for.
async fn write_unawaited(journal: Journal, closed: CancellationToken) {
    let written = async {
        loop {
            journal.appended().await;
            tokio::time::sleep(UNAWAITED).await;
            journal.write_deferred().await;
        }
    };
    tokio::select! {
        biased;
        () = closed.cancelled() => {}
        () = written => {}
    }
}
