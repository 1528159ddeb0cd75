//! The work of a command: an action in a browser, a drawing or an answer by a person, or a job of
//! the daemon.
//! All of them have the same lifecycle.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::limits;
use crate::protocol::actions::RegisteredAction;
use crate::protocol::{
    Action, CommandAim, CorrelationId, Job, PersonAsk, SessionName, TabId, WorkKind, in_short,
};

/// The work of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandWork {
    /// Waits for a person to draw. Nothing is sent to a browser; a drawing ends the wait.
    Annotations {
        /// The drawings that end the wait.
        annotations: AwaitedDrawings,
    },
    /// Waits for a person to answer a question. Nothing is sent to a browser but the question.
    Ask {
        /// The question.
        ask: PersonAsk,
    },
    /// The daemon runs a job.
    Job {
        /// The job.
        job: Job,
    },
    /// An action in a private window, as an earlier run of the daemon has recorded it: no more than its
    /// name.
    Unnamed {
        /// The name of the action.
        private: Arc<str>,
    },
    /// An extension runs an action.
    Browser(Action),
}

/// The drawings that a wait is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedDrawings {
    /// Drawings of this session; `None`: drawings without a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
}

impl CommandWork {
    /// Its name in lists.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Annotations { .. } => "annotations",
            Self::Ask { .. } => "ask_user",
            Self::Job { job } => job.name(),
            Self::Unnamed { private } => match RegisteredAction::named(private) {
                Some(known) => known.spec.name,
                None => "action",
            },
            Self::Browser(action) => action.name(),
        }
    }

    /// Its target in short, for lists.
    #[must_use]
    pub fn target(&self) -> Option<Arc<str>> {
        match self {
            Self::Annotations { .. } | Self::Unnamed { .. } => None,
            Self::Ask { ask } => Some(in_short(ask.question().as_str())),
            Self::Job { job: Job::MonitorSync(sync) } => Some(in_short(&sync.path)),
            Self::Browser(action) => action.target(),
        }
    }

    /// Its name, tab and target, for lists.
    #[must_use]
    pub fn aim(&self, tab_id: Option<TabId>) -> CommandAim {
        CommandAim { command: Some(self.name()), tab_id, target: self.target() }
    }

    /// The kind of work.
    #[must_use]
    pub const fn kind(&self) -> WorkKind {
        match self {
            Self::Annotations { .. } => WorkKind::Annotations,
            Self::Ask { .. } => WorkKind::Ask,
            Self::Job { .. } => WorkKind::Job,
            Self::Browser(_) | Self::Unnamed { .. } => WorkKind::Browser,
        }
    }

    /// The first part of the correlation id.
    #[must_use]
    pub fn id_kind(&self) -> &'static str {
        match self {
            Self::Browser(action) => action.id_kind(),
            Self::Unnamed { private } => RegisteredAction::named(private)
                .map_or(CorrelationId::JOB, |known| known.spec.id_kind),
            Self::Annotations { .. } => CorrelationId::ANNOTATIONS,
            Self::Ask { .. } => CorrelationId::ASK,
            Self::Job { .. } => CorrelationId::JOB,
        }
    }

    /// Whether it shows the person the page of a tab.
    #[must_use]
    pub const fn is_about_page(&self) -> bool {
        match self {
            Self::Annotations { .. } | Self::Unnamed { .. } | Self::Browser(_) => true,
            Self::Ask { ask } => {
                matches!(ask, PersonAsk::Approve { .. } | PersonAsk::HandOver { .. })
            }
            Self::Job { .. } => false,
        }
    }

    /// The action, if an extension runs it.
    #[must_use]
    pub const fn action(&self) -> Option<&Action> {
        match self {
            Self::Browser(action) => Some(action),
            Self::Annotations { .. }
            | Self::Ask { .. }
            | Self::Job { .. }
            | Self::Unnamed { .. } => None,
        }
    }

    /// Its parameters as they go over the wire.
    #[must_use]
    pub fn params(&self) -> Arc<RawValue> {
        self.action().map(Action::params).unwrap_or_default().into()
    }

    /// Whether an extension may begin it on delivery, without `go`.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.action().is_some_and(Action::is_safe)
    }

    /// Whether an extension that polls reports `pending` while it runs this action.
    pub(super) fn reports_pending(&self) -> bool {
        // The timeout makes no difference to this answer.
        let known = self.action().and_then(|action| action.in_legacy_words(0));
        known.is_some_and(|known| known.says_pending)
    }

    /// The longest time from its creation to its end, with this timeout.
    pub(super) fn total(&self, timeout: Duration) -> Duration {
        match self {
            Self::Browser(_) | Self::Unnamed { .. } => timeout + limits::QUEUE_ALLOWANCE,
            // None of them waits for a tab, so none needs an allowance for the queue.
            Self::Annotations { .. } | Self::Ask { .. } | Self::Job { .. } => timeout,
        }
    }

    /// No more of it than the name of its action.
    #[must_use]
    pub fn unnamed(&self) -> Self {
        Self::Unnamed { private: self.name().into() }
    }

    /// Its form in the journal.
    #[must_use]
    pub fn to_record(&self) -> String {
        match self {
            Self::Browser(action) => action.to_record(),
            Self::Annotations { .. }
            | Self::Ask { .. }
            | Self::Job { .. }
            | Self::Unnamed { .. } => serde_json::to_string(self).unwrap_or_default(),
        }
    }
}

impl From<Action> for CommandWork {
    fn from(action: Action) -> Self {
        Self::Browser(action)
    }
}
