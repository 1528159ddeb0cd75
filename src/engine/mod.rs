//! The engine decides what happens to every command. It is pure.
//!
//! Callers, extensions and the clock are its inputs. [`Engine::transact`](crate::engine::Engine::transact)
//! applies one input and fills [`Effects`](crate::engine::Effects) with the consequences outside:
//! frames to send, entries for the journal, links to close, commands that changed. The engine has no
//! runtime, no clock, no file and no randomness but that of its seed, so the same inputs always have
//! the same effects. The daemon drives it ([`crate::hub`]), and so do the proofs in `tests/proofs`.

mod absence;
mod analyses;
mod asks;
mod browser_names;
mod browsers;
mod capture;
mod clients;
mod commands;
mod consents;
mod deadlines;
mod drawing_tools;
mod effects;
mod entry;
mod far_words;
mod hand_overs;
mod history;
mod host_tasks;
mod keys;
mod leases;
mod links;
mod opened_tabs;
mod overview;
mod own_pages;
mod owners;
mod page_states;
mod past_acts;
mod polling;
mod quotas;
mod reading;
mod recovery;
mod refusal;
mod renamed_tabs;
mod run_lengths;
mod scheduler;
mod scopes;
mod sites;
mod sleep;
mod spans;
mod submit;
mod summaries;
mod targets;
mod transaction;
mod uploads;
mod used_tabs;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use analyses::redact_report;
pub use asks::{AskReply, AskSummary};
pub use browser_names::PinRefusal;
pub use browsers::ExtensionFiles;
pub use capture::{CaptureChange, CaptureStatus, CaptureUnsupportedBrowsers};
pub use clients::ClientSummary;
pub use consents::{ConsentSubject, ConsentSummary, ConsentTerm, KeptConsent};
pub use effects::{
    CloseReason, CommandEvent, CommandUpdate, Effects, JournalAppend, LinkFrame, PollAnswer,
};
pub(crate) use entry::LARGE;
pub use entry::{
    AcceptedCommand, ClockAnchor, CurrentTabRecord, Eviction, JournalEntry, JournalSeq,
};
pub use history::{RecordedCommand, RecordedHistory, RecordedKey};
pub use host_tasks::HostTask;
pub use leases::{LeaseKind, TabHolder, TabLease};
pub use links::{LinkId, NewLink};
pub use opened_tabs::ClientTab;
pub use overview::{Overview, OverviewAsk, OverviewBrowser, OverviewCommand, OverviewTab};
pub use polling::{
    Assignment, BegunSync, KnockList, KnockSummary, NamelessPoller, PendingQuerySummary, PollId,
    PollRequest, ReportDisposition,
};
pub use reading::CommandLists;
pub use refusal::{BrowserChoice, CallRefusal, RefusalReason, TabChoice};
pub use scopes::OwnerTab;
pub use sleep::SHORTEST_SLEEP;
pub use submit::{CommandReceipt, DialogHandling, RequestContext, Submission, SubmittedCommand};
pub use summaries::{BrowserSummary, TabSummary};
pub use transaction::Transaction;
pub use used_tabs::UsedTab;

use absence::RejectedHandshakes;
use browser_names::BrowserNames;
use browsers::BrowserState;
use capture::CaptureRequests;
use clients::ClientRegistry;
use commands::CommandRegistry;
use consents::KeptConsents;
use deadlines::DeadlineQueue;
use drawing_tools::DrawingTools;
use keys::IdempotencyKeys;
use leases::TabLeases;
use opened_tabs::ClientTabs;
use page_states::PageStates;
use polling::{Knocks, PollerSessions};
use quotas::Quotas;
use run_lengths::RunLengths;
use scheduler::Scheduler;
use scopes::OwnerTabs;
use sites::PersonDecisions;
use sleep::MachineSleep;

use crate::lifecycle::{Limits, Retention};
use crate::proof::NameSource;
use crate::protocol::{BrowserId, ClientId, Owner, OwnerList, Timestamp};

/// Who makes a call. The owner decides which commands are visible; the client has its own lists and
/// limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The owner of the token.
    pub owner: Owner,
    /// The client of this owner.
    pub client: ClientId,
}

/// The state of all commands, browsers and clients of one daemon.
#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    names: NameSource,
    browser_names: BrowserNames,
    commands: CommandRegistry,
    scheduler: Scheduler,
    retention: Retention,
    keys: IdempotencyKeys,
    leases: TabLeases,
    opened_tabs: ClientTabs,
    owner_tabs: OwnerTabs,
    /// The owners that may call; `None`: no list has come, and every owner may.
    owners: Option<Arc<OwnerList>>,
    consents: KeptConsents,
    page_states: PageStates,
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
    /// The port of the daemon's own pages, once it listens.
    own_port: Option<u16>,
    /// Why the journal cannot be written now, if it cannot.
    storage_failure: Option<Arc<str>>,
    /// Whether the daemon is shutting down: it accepts and delivers no commands.
    is_shutting_down: bool,
    /// When the daemon started.
    started: Timestamp,
    sleep: MachineSleep,
    rejected: RejectedHandshakes,
    /// When idle clients and browsers were last looked for.
    swept: Timestamp,
    /// The last entry that the engine gave to the journal.
    appended: JournalSeq,
}

impl Engine {
    /// An empty engine. `appended` is the last entry that the journal has already.
    #[must_use]
    pub fn new(limits: Limits, names: NameSource, appended: JournalSeq, now: Timestamp) -> Self {
        Self {
            limits,
            names,
            browser_names: BrowserNames::default(),
            commands: CommandRegistry::default(),
            scheduler: Scheduler::default(),
            retention: Retention::default(),
            keys: IdempotencyKeys::default(),
            leases: TabLeases::default(),
            opened_tabs: ClientTabs::default(),
            owner_tabs: OwnerTabs::default(),
            owners: None,
            consents: KeptConsents::default(),
            page_states: PageStates::default(),
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
            own_port: None,
            storage_failure: None,
            is_shutting_down: false,
            started: now,
            sleep: MachineSleep::default(),
            rejected: RejectedHandshakes::default(),
            swept: now,
            appended,
        }
    }

    /// Applies an input, with everything that follows from it. The shell carries out `effects` before
    /// the next transaction.
    pub fn transact<R>(
        &mut self,
        now: Timestamp,
        effects: &mut Effects,
        happen: impl FnOnce(&mut Transaction<'_>) -> R,
    ) -> R {
        let mut transaction = Transaction::new(self, now, effects);
        let result = happen(&mut transaction);
        // After every input, so that no input has to know which lanes it may have freed.
        transaction.deliver_ready();
        result
    }

    /// The limits that it enforces.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    const fn next_seq(&mut self) -> JournalSeq {
        // The journal counts the same entries, so the number is known before the entry is written.
        self.appended = self.appended.next();
        self.appended
    }

    const fn last_seq(&self) -> JournalSeq {
        self.appended
    }
}
