//! One command: what it is, the state it is in, what can happen to it. Its state
//! changes in one place, [`Command::apply`].

mod event;
mod excerpt;
mod next_step;
mod outcome;
mod report;
mod saved;
mod starting;
#[cfg(test)]
mod tests;
mod transitions;
mod undertaken;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::limits;
use super::work::CommandWork;
use crate::protocol::{
    Attempt, BrowserId, ClientId, CommandProgress, CorrelationId, InstanceId, Owner, QueryId,
    Timestamp, TracePhase, Transport, WorkKind,
};
pub use event::{EventReply, LifecycleEvent, Transition};
pub use next_step::next_step_of_code;
pub use outcome::{CommandOutcome, ExpiryReason};
pub use saved::{SavedCommand, SavedStage};

/// What a command is; none of it ever changes.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// Its name.
    pub id: CorrelationId,
    /// Its second name.
    pub query_id: QueryId,
    /// Who may read, wait for and cancel it.
    pub owner: Owner,
    /// In whose lists it stands and whose caps it counts towards.
    pub client: ClientId,
    /// What it is about.
    pub work: CommandWork,
    /// The parameters as they go over the wire, if they do.
    pub params: Arc<RawValue>,
    /// How long an extension may be at it, from `go`; how long any other may take from its
    /// creation.
    pub timeout: Duration,
    /// When it was accepted.
    pub created: Timestamp,
}

/// A command and where it stands. Cheap to clone: what can be large is shared.
#[derive(Clone, Debug)]
pub struct Command {
    spec: Arc<CommandSpec>,
    state: CommandState,
    trace: Vec<TracePoint>,
    /// Whether it was accepted in an earlier life of the daemon, which may have sent it.
    is_restored: bool,
}

/// Where a command stands. Each state has exactly the data that belongs to it.
#[derive(Clone, Debug)]
pub enum CommandState {
    /// Waits for its tab, or for a browser.
    Queued {
        /// How often it was delivered and came back.
        attempts: u32,
        /// Whether it may have begun all the same: whoever had it runs commands at once.
        may_have_run: bool,
        /// The `respond` deadline of the delivery that was lost, which goes on running.
        respond_by: Option<Timestamp>,
        /// Whether the browser that it is for was connected at some time.
        reachable: bool,
    },
    /// Sent to an extension, which has not begun it (or, if it is safe, may have).
    Sent {
        /// Who has it.
        delivery: Delivery,
        /// When it must be claimed.
        respond_by: Timestamp,
    },
    /// It may begin in the page any moment: from here on it is never sent again.
    Started {
        /// Who has it.
        delivery: Delivery,
        /// When its running time and the grace for the report are over.
        execute_by: Timestamp,
        /// Whether its browser is away, and what that leads to.
        away: Option<BrowserAbsence>,
        /// What the extension last said of it.
        progress: Option<CommandProgress>,
        /// Whether it may have begun: `go` has left, or whoever has it needs none.
        let_go: bool,
    },
    /// Waits for what is no browser: a person who draws, or the daemon to get to this job.
    Waiting,
    /// The daemon is at it.
    Working {
        /// How far it is.
        progress: Option<CommandProgress>,
    },
    /// Terminal: the outcome never changes again.
    Ended {
        /// When it ended.
        at: Timestamp,
        /// How.
        outcome: CommandOutcome,
        /// Who had it last, if anybody did.
        delivery: Option<Delivery>,
        /// Until when its tab counts as taken, since the page may still be at it.
        lane_until: Option<Timestamp>,
        /// Whether its owner has had the outcome.
        read: bool,
    },
}

/// The browser of a command that has started is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrowserAbsence {
    /// When the command is given up.
    pub until: Timestamp,
    /// The reason that it then ends with. After a restart of the daemon the command's
    /// other deadlines wait for the browser too: what it did meanwhile should count.
    pub lost: ExpiryReason,
}

/// One delivery: who has the command, and the attempt that fences its reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Which delivery.
    pub attempt: Attempt,
    /// To whom.
    pub peer: Peer,
    /// How.
    pub transport: Transport,
}

/// One life of one browser's extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The installation.
    pub browser: BrowserId,
    /// This life of its worker.
    pub instance: InstanceId,
}

/// The states without their data, and with what lanes need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandPhase {
    /// [`CommandState::Queued`].
    Queued,
    /// [`CommandState::Sent`].
    Sent,
    /// [`CommandState::Started`].
    Started,
    /// [`CommandState::Waiting`].
    Waiting,
    /// [`CommandState::Working`].
    Working,
    /// [`CommandState::Ended`], its tab still taken.
    Leaving,
    /// [`CommandState::Ended`].
    Ended,
}

impl CommandPhase {
    /// Whether a command in this phase keeps its lane from others.
    #[must_use]
    pub const fn holds_lane(self) -> bool {
        match self {
            Self::Sent | Self::Started | Self::Leaving => true,
            Self::Queued | Self::Waiting | Self::Working | Self::Ended => false,
        }
    }

    /// Whether the command is over.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Leaving | Self::Ended => true,
            Self::Queued | Self::Sent | Self::Started | Self::Waiting | Self::Working => false,
        }
    }
}

/// A phase of the command's life and when it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePoint {
    /// The phase.
    pub phase: TracePhase,
    /// When.
    pub at: Timestamp,
    /// In which delivery, if it was delivered by then.
    pub attempt: Option<Attempt>,
}

impl Command {
    /// A command that was just accepted (row 1).
    #[must_use]
    pub fn new(spec: CommandSpec) -> Self {
        let queued = TracePoint { phase: TracePhase::Queued, at: spec.created, attempt: None };
        let state = CommandState::first(&spec.work);
        Self { spec: spec.into(), state, trace: vec![queued], is_restored: false }
    }

    /// What it is.
    #[must_use]
    pub fn spec(&self) -> &CommandSpec {
        &self.spec
    }

    /// The phases that it has been through, in the order of time.
    #[must_use]
    pub fn marks(&self) -> &[TracePoint] {
        &self.trace
    }

    /// When it may have begun; when it was accepted, if it has not.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.reached(TracePhase::Started).unwrap_or(self.spec.created)
    }

    /// When it was sent to an extension last; when it was accepted, if it never was.
    #[must_use]
    pub fn delivered_at(&self) -> Timestamp {
        self.reached(TracePhase::Delivered).unwrap_or(self.spec.created)
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> &CommandState {
        &self.state
    }

    /// Where it stands, in a word.
    #[must_use]
    pub const fn phase(&self) -> CommandPhase {
        match &self.state {
            CommandState::Queued { .. } => CommandPhase::Queued,
            CommandState::Sent { .. } => CommandPhase::Sent,
            CommandState::Started { .. } => CommandPhase::Started,
            CommandState::Waiting => CommandPhase::Waiting,
            CommandState::Working { .. } => CommandPhase::Working,
            CommandState::Ended { lane_until: Some(_), .. } => CommandPhase::Leaving,
            CommandState::Ended { lane_until: None, .. } => CommandPhase::Ended,
        }
    }

    /// Who has it, or had it last.
    #[must_use]
    pub const fn delivery(&self) -> Option<&Delivery> {
        match &self.state {
            CommandState::Queued { .. } | CommandState::Waiting | CommandState::Working { .. } => {
                None
            }
            CommandState::Sent { delivery, .. } | CommandState::Started { delivery, .. } => {
                Some(delivery)
            }
            CommandState::Ended { delivery, .. } => delivery.as_ref(),
        }
    }

    /// Whether `go` may leave for this attempt (row 5a).
    #[must_use]
    pub fn may_go(&self, attempt: Attempt) -> bool {
        matches!(&self.state, CommandState::Started { delivery, .. } if delivery.attempt == attempt)
    }

    /// Whether it may have begun in the page.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        match &self.state {
            CommandState::Queued { attempts, may_have_run, .. } => {
                let was_sent = *attempts > 0 || self.is_restored;
                *may_have_run || self.spec.work.is_safe() && was_sent
            }
            CommandState::Sent { delivery, .. } => {
                self.spec.work.is_safe() || delivery.transport.runs_at_once()
            }
            CommandState::Waiting => false,
            CommandState::Started { let_go, .. } => *let_go || self.spec.work.is_safe(),
            CommandState::Working { .. } => true,
            CommandState::Ended { outcome, .. } => match outcome {
                CommandOutcome::Complete { .. } | CommandOutcome::Timeout { .. } => true,
                CommandOutcome::Error { error } => error.may_have_run.unwrap_or(true),
                CommandOutcome::Expired { may_have_run, .. }
                | CommandOutcome::Cancelled { may_have_run, .. } => *may_have_run,
            },
        }
    }

    /// Whether its owner has had its outcome.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self.state, CommandState::Ended { read: true, .. })
    }

    /// How many bytes its result has, if it has one.
    #[must_use]
    pub fn result_size(&self) -> usize {
        match &self.state {
            CommandState::Ended { outcome: CommandOutcome::Complete { result, .. }, .. } => {
                result.get().len()
            }
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. }
            | CommandState::Ended { .. } => 0,
        }
    }

    /// The latest moment at which it is over, whatever happens.
    #[must_use]
    pub fn total_by(&self) -> Timestamp {
        self.spec.created + self.spec.work.total(self.spec.timeout)
    }

    /// When its record goes, once it has ended.
    #[must_use]
    pub fn retain_until(&self) -> Option<Timestamp> {
        match self.state {
            CommandState::Ended { at, .. } => Some(self.kept_until(at)),
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => None,
        }
    }

    fn kept_until(&self, ended: Timestamp) -> Timestamp {
        match self.spec.work.kind() {
            WorkKind::Browser => ended + limits::RETAIN,
            WorkKind::Annotations => {
                (ended + limits::RETAIN).max(self.spec.created + limits::PERSON)
            }
            WorkKind::Job => ended + limits::RETAIN_JOB,
        }
    }

    /// The next moment at which something happens to it by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Timestamp {
        let total = self.total_by();
        match &self.state {
            CommandState::Queued { respond_by, .. } => total.min(respond_by.unwrap_or(total)),
            CommandState::Sent { respond_by, .. } => total.min(*respond_by),
            CommandState::Started { execute_by, away, .. } => match away {
                None => total.min(*execute_by),
                Some(BrowserAbsence { until, lost: ExpiryReason::DaemonRestarted }) => *until,
                Some(BrowserAbsence { until, .. }) => total.min(*execute_by).min(*until),
            },
            CommandState::Waiting | CommandState::Working { .. } => total,
            CommandState::Ended { at, lane_until, .. } => {
                lane_until.unwrap_or_else(|| self.kept_until(*at))
            }
        }
    }
}

impl CommandState {
    /// Of a command that was just accepted.
    const fn first(work: &CommandWork) -> Self {
        match work {
            CommandWork::Browser(_) => Self::queued(false),
            CommandWork::Annotations { .. } | CommandWork::Job { .. } => Self::Waiting,
        }
    }

    /// Of a command that waits and was never delivered.
    const fn queued(may_have_run: bool) -> Self {
        Self::Queued { attempts: 0, may_have_run, respond_by: None, reachable: false }
    }
}

impl Delivery {
    /// Whether a report of `attempt` from `peer` counts. The browser decides, not the
    /// life of its worker: an outbox outlives the worker that filled it.
    fn is(&self, peer: &Peer, attempt: Attempt) -> bool {
        self.attempt == attempt && self.peer.browser == peer.browser
    }
}
