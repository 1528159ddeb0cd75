//! A command: its specification, its state, and the events that change the state. The state
//! changes in one place, [`Command::apply`].

mod event;
mod excerpt;
mod holding;
mod host_task;
mod next_step;
mod outcome;
mod report;
mod saved;
mod sleep;
mod starting;
#[cfg(test)]
mod tests;
mod transitions;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::limits;
use super::work::CommandWork;
use crate::protocol::{
    Attempt, BrowserId, ClientId, CommandProgress, CorrelationId, InstanceId, Owner, QueryId,
    TabScope, Timestamp, TraceContext, TracePhase, Transport, WorkKind,
};
pub use event::{EventReply, LifecycleEvent, Transition};
pub use holding::{CommandHold, HoldHistory};
#[cfg(test)]
pub(crate) use next_step::codes_of_extension;
pub use next_step::next_step_of_code;
pub use outcome::{CommandOutcome, ExpiryReason};
pub use saved::{SavedCommand, SavedStage};

/// The part of a command that never changes.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// Its public id.
    pub id: CorrelationId,
    /// Its short id, which extensions get.
    pub query_id: QueryId,
    /// Who may read, wait for and cancel it.
    pub owner: Owner,
    /// The client in whose lists it appears and towards whose limits it counts.
    pub client: ClientId,
    /// The work to do.
    pub work: CommandWork,
    /// The parameters as an extension gets them.
    pub params: Arc<RawValue>,
    /// How long the work may take. Counted from `go` if an extension does it, else from the creation
    /// of the command.
    pub timeout: Duration,
    /// Whether dialogs that it meets stay open until they are answered.
    pub holds_dialogs: bool,
    /// Which tabs its owner's clients saw when it was accepted.
    pub scope: TabScope,
    /// Whether it opens a tab in a private window, or is for one: nothing of its arguments and its
    /// outcome leaves the memory of the daemon but for its owner.
    pub is_private: bool,
    /// The place of its call in a trace of the client.
    pub trace_context: Option<TraceContext>,
    /// When it was accepted.
    pub created: Timestamp,
    /// How long the machine had slept in all since it was started, when the command was accepted.
    /// `None`: a version of the daemon accepted it that did not count sleep.
    pub asleep: Option<Duration>,
}

/// A command and its state. Cheap to clone: large parts are shared.
#[derive(Clone, Debug)]
pub struct Command {
    spec: Arc<CommandSpec>,
    state: CommandState,
    trace: Vec<TracePoint>,
    holds: HoldHistory,
    /// How much of its whole time the machine has slept through before it began.
    slept: Duration,
    /// When its owner last read on in the outcome. In this run alone.
    read_on_at: Option<Timestamp>,
    /// Whether an earlier run of the daemon accepted it. That run may have sent it.
    is_restored: bool,
}

/// The state of a command. Each state carries exactly the data that belongs to it.
#[derive(Clone, Debug)]
pub enum CommandState {
    /// Waits for its turn in a tab, or for a browser to connect.
    Queued {
        /// How many deliveries were lost.
        attempts: u32,
        /// Whether a lost delivery may have run: an extension that polls runs commands at once.
        may_have_run: bool,
        /// The `respond` deadline of the lost delivery. It still applies while the
        /// command waits for its browser to return.
        respond_by: Option<Timestamp>,
        /// Whether its browser was connected at any time since it was accepted.
        reachable: bool,
    },
    /// Sent to an extension. Only a safe command may have begun.
    Sent {
        /// The current delivery.
        delivery: Delivery,
        /// When the extension must have claimed it.
        respond_by: Timestamp,
    },
    /// Waits for the person's word. It has not begun, and holds no lane.
    Held {
        /// What for, and since when.
        hold: Box<CommandHold>,
        /// The number of its last delivery.
        attempts: u32,
    },
    /// Claimed. It may begin in the page at any moment, so it is never sent again.
    Started {
        /// The current delivery.
        delivery: Delivery,
        /// When its running time and the grace period for the report end.
        execute_by: Timestamp,
        /// Set while its browser is disconnected.
        away: Option<BrowserAbsence>,
        /// The last progress that the extension reported.
        progress: Option<CommandProgress>,
        /// Whether it may have begun: `go` was sent, or the extension does not wait for `go`.
        let_go: bool,
    },
    /// Needs no browser: waits for a person to draw or to answer, or for the daemon to begin the job.
    Waiting,
    /// The daemon runs the job.
    Working {
        /// The last progress.
        progress: Option<CommandProgress>,
    },
    /// Terminal: the outcome never changes.
    Ended {
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        outcome: CommandOutcome,
        /// Its last delivery, if it was ever delivered.
        delivery: Option<Delivery>,
        /// Until when its lane stays occupied because the page may still run it.
        lane_until: Option<Timestamp>,
        /// Whether its owner has read the outcome.
        read: bool,
    },
}

/// A started command whose browser is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrowserAbsence {
    /// When the command expires unless the browser returns.
    pub until: Timestamp,
    /// The reason that it then ends with. After a restart of the daemon the command's other
    /// deadlines wait for the browser as well, because work that the browser finished meanwhile
    /// should count.
    pub lost: ExpiryReason,
}

/// One delivery of a command. Its attempt number fences reports on earlier deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The number of the delivery.
    pub attempt: Attempt,
    /// The extension that got it.
    pub peer: Peer,
    /// How it was sent.
    pub transport: Transport,
}

/// One run of the extension's worker in one browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The installed extension.
    pub browser: BrowserId,
    /// The run of its worker.
    pub instance: InstanceId,
}

/// The states without their data. [`CommandState::Ended`] is split in two for lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandPhase {
    /// [`CommandState::Queued`].
    Queued,
    /// [`CommandState::Sent`].
    Sent,
    /// [`CommandState::Held`].
    Held,
    /// [`CommandState::Started`].
    Started,
    /// [`CommandState::Waiting`].
    Waiting,
    /// [`CommandState::Working`].
    Working,
    /// [`CommandState::Ended`], while its lane is still occupied.
    Leaving,
    /// [`CommandState::Ended`].
    Ended,
}

impl CommandPhase {
    /// Whether a command in this phase occupies its lane.
    #[must_use]
    pub const fn holds_lane(self) -> bool {
        match self {
            Self::Sent | Self::Started | Self::Leaving => true,
            Self::Queued | Self::Held | Self::Waiting | Self::Working | Self::Ended => false,
        }
    }

    /// Whether the command is over.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Leaving | Self::Ended => true,
            Self::Queued
            | Self::Sent
            | Self::Held
            | Self::Started
            | Self::Waiting
            | Self::Working => false,
        }
    }
}

/// A phase of a command and when the command reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePoint {
    /// The phase.
    pub phase: TracePhase,
    /// When.
    pub at: Timestamp,
    /// The delivery of that time, if there was one.
    pub attempt: Option<Attempt>,
}

impl Command {
    /// A newly accepted command (row 1).
    #[must_use]
    pub fn new(spec: CommandSpec) -> Self {
        let queued = TracePoint { phase: TracePhase::Queued, at: spec.created, attempt: None };
        let state = CommandState::first(&spec.work);
        let holds = HoldHistory::default();
        let (trace, slept) = (vec![queued], Duration::ZERO);
        Self { spec: spec.into(), state, trace, holds, slept, read_on_at: None, is_restored: false }
    }

    /// Its specification.
    #[must_use]
    pub fn spec(&self) -> &CommandSpec {
        &self.spec
    }

    /// The phases that it has reached, in order.
    #[must_use]
    pub fn marks(&self) -> &[TracePoint] {
        &self.trace
    }

    /// When it started; if it has not started, when it was accepted.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.reached(TracePhase::Started).unwrap_or(self.spec.created)
    }

    /// When it was last sent to an extension; if never, when it was accepted.
    #[must_use]
    pub fn delivered_at(&self) -> Timestamp {
        self.reached(TracePhase::Delivered).unwrap_or(self.spec.created)
    }

    /// Its state.
    #[must_use]
    pub const fn state(&self) -> &CommandState {
        &self.state
    }

    /// Its phase.
    #[must_use]
    pub const fn phase(&self) -> CommandPhase {
        match &self.state {
            CommandState::Queued { .. } => CommandPhase::Queued,
            CommandState::Sent { .. } => CommandPhase::Sent,
            CommandState::Held { .. } => CommandPhase::Held,
            CommandState::Started { .. } => CommandPhase::Started,
            CommandState::Waiting => CommandPhase::Waiting,
            CommandState::Working { .. } => CommandPhase::Working,
            CommandState::Ended { lane_until: Some(_), .. } => CommandPhase::Leaving,
            CommandState::Ended { lane_until: None, .. } => CommandPhase::Ended,
        }
    }

    /// Its current delivery, or its last one.
    #[must_use]
    pub const fn delivery(&self) -> Option<&Delivery> {
        match &self.state {
            CommandState::Queued { .. }
            | CommandState::Held { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => None,
            CommandState::Sent { delivery, .. } | CommandState::Started { delivery, .. } => {
                Some(delivery)
            }
            CommandState::Ended { delivery, .. } => delivery.as_ref(),
        }
    }

    /// Whether `go` may be sent for this attempt (row 5a).
    #[must_use]
    pub fn may_go(&self, attempt: Attempt) -> bool {
        matches!(&self.state, CommandState::Started { delivery, .. } if delivery.attempt == attempt)
    }

    /// Whether it is sent as this attempt, and nobody has claimed it.
    #[must_use]
    pub fn is_sent_as(&self, attempt: Attempt) -> bool {
        matches!(&self.state, CommandState::Sent { delivery, .. } if delivery.attempt == attempt)
    }

    /// Whether it may have begun in the page.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        match &self.state {
            CommandState::Queued { attempts, may_have_run, .. } => {
                // A safe command runs on delivery, and deliveries of an earlier run are not recorded.
                let was_sent = *attempts > 0 || self.is_restored;
                *may_have_run || self.spec.work.is_safe() && was_sent
            }
            CommandState::Sent { delivery, .. } => {
                self.spec.work.is_safe() || delivery.transport.runs_at_once()
            }
            CommandState::Held { .. } | CommandState::Waiting => false,
            CommandState::Started { let_go, .. } => *let_go || self.spec.work.is_safe(),
            CommandState::Working { .. } => true,
            CommandState::Ended { outcome, .. } => match outcome {
                CommandOutcome::Complete { .. } | CommandOutcome::Timeout { .. } => true,
                // An extension that does not say may have run part of the command.
                CommandOutcome::Error { error } => error.may_have_run.unwrap_or(true),
                CommandOutcome::Expired { may_have_run, .. }
                | CommandOutcome::Cancelled { may_have_run, .. } => *may_have_run,
            },
        }
    }

    /// Whether its owner has read the outcome.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self.state, CommandState::Ended { read: true, .. })
    }

    /// When it ended and how, if it has ended.
    pub(super) const fn end(&self) -> Option<(Timestamp, &CommandOutcome)> {
        match &self.state {
            CommandState::Ended { at, outcome, .. } => Some((*at, outcome)),
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Held { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => None,
        }
    }

    /// The size of its result in bytes; 0 without a result.
    #[must_use]
    pub fn result_size(&self) -> usize {
        let Some((_, CommandOutcome::Complete { result, .. })) = self.end() else { return 0 };
        result.get().len()
    }

    /// The latest time at which it ends. The time in which it waits for the person's word does not
    /// count: while it does, the latest time for the word. The time for which the machine slept counts
    /// until the command begins.
    #[must_use]
    pub fn total_by(&self) -> Timestamp {
        if let Some(hold) = self.hold() {
            return hold.since + limits::PERSON;
        }
        let total = self.spec.created + self.spec.work.total(self.spec.timeout);
        total + self.holds.paused - self.slept
    }

    /// When its record is dropped. `None` until it has ended.
    #[must_use]
    pub fn retain_until(&self) -> Option<Timestamp> {
        self.end().map(|(at, _)| self.kept_until(at))
    }

    fn kept_until(&self, ended: Timestamp) -> Timestamp {
        let usual = self.usually_kept_until(ended);
        // Over a slow line the parts of a long outcome come for minutes.
        let read_on = self.read_on_at.map(|at| at + limits::RETAIN);
        usual.max(read_on.map_or(usual, |until| until.min(ended + limits::RETAIN_READ)))
    }

    fn usually_kept_until(&self, ended: Timestamp) -> Timestamp {
        match self.spec.work.kind() {
            WorkKind::Browser if self.holds.times == 0 => ended + limits::RETAIN,
            // A person may need the whole time of the wait before the agent looks again.
            WorkKind::Browser | WorkKind::Annotations | WorkKind::Ask => {
                (ended + limits::RETAIN).max(self.spec.created + limits::PERSON)
            }
            WorkKind::Job => ended + limits::RETAIN_JOB,
        }
    }

    /// The next deadline that changes it without an event from outside.
    #[must_use]
    pub fn next_deadline(&self) -> Timestamp {
        let total = self.total_by();
        match &self.state {
            CommandState::Queued { respond_by, .. } => total.min(respond_by.unwrap_or(total)),
            CommandState::Sent { respond_by, .. } => total.min(*respond_by),
            CommandState::Started { execute_by, away, .. } => match away {
                None => total.min(*execute_by),
                // The other deadlines ran while the daemon was down; they take effect when the browser
                // is back (`resumed`).
                Some(BrowserAbsence { until, lost: ExpiryReason::DaemonRestarted }) => *until,
                Some(BrowserAbsence { until, .. }) => total.min(*execute_by).min(*until),
            },
            CommandState::Held { .. } | CommandState::Waiting | CommandState::Working { .. } => {
                total
            }
            CommandState::Ended { at, lane_until, .. } => {
                lane_until.unwrap_or_else(|| self.kept_until(*at))
            }
        }
    }
}

impl CommandState {
    /// The state of a newly accepted command.
    const fn first(work: &CommandWork) -> Self {
        match work {
            CommandWork::Browser(_) | CommandWork::Unnamed { .. } => Self::queued(false),
            CommandWork::Annotations { .. } | CommandWork::Ask { .. } | CommandWork::Job { .. } => {
                Self::Waiting
            }
        }
    }

    /// The state of a command that was never delivered.
    const fn queued(may_have_run: bool) -> Self {
        Self::Queued { attempts: 0, may_have_run, respond_by: None, reachable: false }
    }
}

impl Delivery {
    /// Whether a report of `attempt` from `peer` counts. The run of the worker may differ, because
    /// the extension's outbox outlives the worker that filled it.
    fn is(&self, peer: &Peer, attempt: Attempt) -> bool {
        self.attempt == attempt && self.peer.browser == peer.browser
    }
}
