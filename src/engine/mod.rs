//! The engine: the whole of every command's fate, pure.
//!
//! Callers, extensions and the clock are inputs. [`Engine::transact`](crate::engine::Engine::transact)
//! lets one happen, and fills [`Effects`](crate::engine::Effects) with all that has to happen outside
//! for it: frames to send, entries for the journal, links to close, commands that changed. In here is
//! no runtime, no clock, no file and no randomness but that of a seed, so the same inputs always have
//! the same effects. The daemon drives it ([`crate::hub`]), and so do the proofs in `tests/proofs`.

mod absence;
mod analyses;
mod browsers;
mod capture;
mod clients;
mod commands;
mod deadlines;
mod drawing_tools;
mod effects;
mod entry;
mod history;
mod keys;
mod links;
mod polling;
mod quotas;
mod reading;
mod recovery;
mod refusal;
mod run_lengths;
mod scheduler;
mod sites;
mod submit;
mod summaries;
mod targets;
mod transaction;
mod undertakings;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use analyses::{is_analysis, redact_report};
pub use capture::{CaptureChange, CaptureStatus, CaptureUnsupportedBrowsers};
pub use clients::ClientSummary;
pub use effects::{
    CloseReason, CommandEvent, CommandUpdate, Effects, JournalAppend, LinkFrame, PollAnswer,
};
pub(crate) use entry::LARGE;
pub use entry::{
    AcceptedCommand, ClockAnchor, CurrentTabRecord, Eviction, JournalEntry, JournalSeq,
};
pub use history::{RecordedCommand, RecordedHistory, RecordedKey};
pub use links::{LinkId, NewLink};
pub use polling::{
    Assignment, BegunSync, KnockList, KnockSummary, NamelessPoller, PendingQuerySummary, PollId,
    PollRequest, ReportDisposition,
};
pub use reading::CommandLists;
pub use refusal::{BrowserChoice, CallRefusal, RefusalReason};
pub use submit::{CommandReceipt, Submission, SubmittedCommand};
pub use summaries::{BrowserSummary, TabSummary};
pub use transaction::Transaction;
pub use undertakings::HostTask;

use absence::RejectedHandshakes;
use browsers::BrowserState;
use capture::CaptureRequests;
use clients::ClientRegistry;
use commands::CommandRegistry;
use deadlines::DeadlineQueue;
use drawing_tools::DrawingTools;
use keys::IdempotencyKeys;
use polling::{Knocks, PollerSessions};
use quotas::Quotas;
use run_lengths::RunLengths;
use scheduler::Scheduler;
use sites::PersonDecisions;

use crate::lifecycle::{Limits, Retention};
use crate::proof::NameSource;
use crate::protocol::{BrowserId, ClientId, Owner, Timestamp};

/// Who calls: the owner decides what may be seen, the client whose lists and caps
/// count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Who the token belongs to.
    pub owner: Owner,
    /// Which of its clients.
    pub client: ClientId,
}

/// The state of all commands, browsers and clients of one daemon, and what may happen to it.
#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    names: NameSource,
    commands: CommandRegistry,
    scheduler: Scheduler,
    retention: Retention,
    keys: IdempotencyKeys,
    deadlines: DeadlineQueue,
    browsers: HashMap<BrowserId, BrowserState>,
    clients: ClientRegistry,
    quotas: Quotas,
    sessions: PollerSessions,
    knocks: Knocks,
    run_lengths: RunLengths,
    capture: CaptureRequests,
    drawing_tools: DrawingTools,
    decided: PersonDecisions,
    /// What keeps the journal from being written.
    storage_failure: Option<Arc<str>>,
    /// Whether nothing new is taken or delivered, since the daemon is about to end.
    is_shutting_down: bool,
    /// When it began.
    started: Timestamp,
    rejected: RejectedHandshakes,
    /// When clients and browsers that were idle for long were last looked for.
    swept: Timestamp,
    /// The journal's entry that was put in last.
    appended: JournalSeq,
}

impl Engine {
    /// An engine that knows nothing. `appended`: the last entry that the journal has already.
    #[must_use]
    pub fn new(limits: Limits, names: NameSource, appended: JournalSeq, now: Timestamp) -> Self {
        Self {
            limits,
            names,
            commands: CommandRegistry::default(),
            scheduler: Scheduler::default(),
            retention: Retention::default(),
            keys: IdempotencyKeys::default(),
            deadlines: DeadlineQueue::default(),
            browsers: HashMap::new(),
            clients: ClientRegistry::default(),
            quotas: Quotas::default(),
            sessions: PollerSessions::default(),
            knocks: Knocks::default(),
            run_lengths: RunLengths::default(),
            capture: CaptureRequests::default(),
            drawing_tools: DrawingTools::default(),
            decided: PersonDecisions::default(),
            storage_failure: None,
            is_shutting_down: false,
            started: now,
            rejected: RejectedHandshakes::default(),
            swept: now,
            appended,
        }
    }

    /// Lets something happen, with all that follows from it. The shell takes care of `effects`
    /// before the next transaction.
    pub fn transact<R>(
        &mut self,
        now: Timestamp,
        effects: &mut Effects,
        happen: impl FnOnce(&mut Transaction<'_>) -> R,
    ) -> R {
        let mut transaction = Transaction::new(self, now, effects);
        let result = happen(&mut transaction);
        transaction.deliver_ready();
        result
    }

    /// The limits that it keeps.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    const fn next_seq(&mut self) -> JournalSeq {
        self.appended = self.appended.next();
        self.appended
    }

    const fn last_seq(&self) -> JournalSeq {
        self.appended
    }
}
