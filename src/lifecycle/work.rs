//! What a command is about: something in a browser, a person who draws, or a job of the
//! daemon's own. All of them live the same life.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::limits;
use crate::protocol::{
    Action, CommandAim, CorrelationId, Job, LegacyAction, SessionName, TabId, WorkKind, in_short,
};

/// What a command is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandWork {
    /// A person is asked to draw; nothing is sent, and a drawing ends it.
    Annotations {
        /// Which drawings are meant.
        annotations: AwaitedDrawings,
    },
    /// The daemon does it itself.
    Job {
        /// The job.
        job: Job,
    },
    /// An extension does it.
    Browser(Action),
}

/// Which drawings somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedDrawings {
    /// Those of this session; none: those of no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
}

impl CommandWork {
    /// The name that lists show.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Annotations { .. } => "annotations",
            Self::Job { job } => job.name(),
            Self::Browser(action) => action.name(),
        }
    }

    /// What it is aimed at, in short.
    #[must_use]
    pub fn target(&self) -> Option<Arc<str>> {
        match self {
            Self::Annotations { .. } => None,
            Self::Job { job: Job::MonitorSync(sync) } => Some(in_short(&sync.path)),
            Self::Browser(action) => action.target(),
        }
    }

    /// What it is to do, and in which tab.
    #[must_use]
    pub fn aim(&self, tab_id: Option<TabId>) -> CommandAim {
        CommandAim { command: Some(self.name()), tab_id, target: self.target() }
    }

    /// Which of the three it is.
    #[must_use]
    pub const fn kind(&self) -> WorkKind {
        match self {
            Self::Annotations { .. } => WorkKind::Annotations,
            Self::Job { .. } => WorkKind::Job,
            Self::Browser(_) => WorkKind::Browser,
        }
    }

    /// The first part of the correlation id.
    #[must_use]
    pub const fn id_kind(&self) -> &'static str {
        match self {
            Self::Browser(action) => action.id_kind(),
            Self::Annotations { .. } => CorrelationId::ANNOTATIONS,
            Self::Job { .. } => CorrelationId::JOB,
        }
    }

    /// What an extension is asked to do, if one is.
    #[must_use]
    pub const fn action(&self) -> Option<&Action> {
        match self {
            Self::Browser(action) => Some(action),
            Self::Annotations { .. } | Self::Job { .. } => None,
        }
    }

    /// Its parameters as they go over the wire.
    #[must_use]
    pub fn params(&self) -> Arc<RawValue> {
        self.action().map(Action::params).unwrap_or_default().into()
    }

    /// Whether an extension that has it may begin it without a further word.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.action().is_some_and(Action::is_safe)
    }

    /// Whether an extension that polls says `pending` while it runs this.
    pub(super) fn reports_pending(&self) -> bool {
        let known = self.action().and_then(|action| LegacyAction::of(action, 0));
        known.is_some_and(|known| known.says_pending)
    }

    /// From its creation, how long it may take at most if it may run for `timeout`.
    pub(super) fn total(&self, timeout: Duration) -> Duration {
        match self {
            Self::Browser(_) => timeout + limits::QUEUE_ALLOWANCE,
            // Neither waits for a tab: its whole time is its own.
            Self::Annotations { .. } | Self::Job { .. } => timeout,
        }
    }

    /// How it is recorded.
    #[must_use]
    pub fn to_record(&self) -> String {
        match self {
            Self::Browser(action) => action.to_record(),
            Self::Annotations { .. } | Self::Job { .. } => {
                serde_json::to_string(self).unwrap_or_default()
            }
        }
    }
}

impl From<Action> for CommandWork {
    fn from(action: Action) -> Self {
        Self::Browser(action)
    }
}
