//! How a command can end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::excerpt::{MESSAGE_TOLD, beginning};
use crate::protocol::{
    CommandProgress, ExtensionReport, HeldDialog, ReportedError, Timestamp, WorkKind,
};

/// How a command ended. It is set once and never changes.
#[derive(Clone, Debug)]
pub enum CommandOutcome {
    /// The extension reported a result.
    Complete {
        /// The result, byte for byte.
        result: Arc<RawValue>,
        /// The origin of the page that it came from.
        origin: Option<Arc<str>>,
    },
    /// The extension reported that it failed.
    Error {
        /// How.
        error: Arc<ReportedError>,
    },
    /// The command ran longer than it may, by the extension's clock or by the daemon's.
    Timeout {
        /// How.
        error: Arc<ReportedError>,
    },
    /// No answer came in time.
    Expired {
        /// Why.
        reason: ExpiryReason,
        /// Whether it may have begun in the page.
        may_have_run: bool,
    },
    /// It was cancelled.
    Cancelled {
        /// Whether it may have begun in the page.
        may_have_run: bool,
        /// Whether the person at the browser did it, and not its owner.
        by_user: bool,
    },
}

/// Results are equal if they are equal byte for byte: that tells a replayed report from a different
/// one. A report does not say who cancelled the command, so `by_user` does not count.
impl PartialEq for CommandOutcome {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Complete { result: a, origin: b }, Self::Complete { result: c, origin: d }) => {
                a.get() == c.get() && b == d
            }
            (Self::Error { error: a }, Self::Error { error: b })
            | (Self::Timeout { error: a }, Self::Timeout { error: b }) => a == b,
            (
                Self::Expired { reason: a, may_have_run: b },
                Self::Expired { reason: c, may_have_run: d },
            ) => a == c && b == d,
            (
                Self::Cancelled { may_have_run: a, by_user: _ },
                Self::Cancelled { may_have_run: b, by_user: _ },
            ) => a == b,
            (
                Self::Complete { .. }
                | Self::Error { .. }
                | Self::Timeout { .. }
                | Self::Expired { .. }
                | Self::Cancelled { .. },
                _,
            ) => false,
        }
    }
}

/// An extension's report that a command is still running.
pub(super) struct StillRunning {
    message: Option<String>,
    progress: Option<f64>,
    dialog: Option<HeldDialog>,
}

impl StillRunning {
    pub(super) fn at(self, at: Timestamp) -> CommandProgress {
        let progress = self.progress.map(|part| part.clamp(0.0, 1.0));
        let dialog = self.dialog.map(|dialog| HeldDialog {
            message: beginning(&dialog.message, MESSAGE_TOLD),
            default_text: dialog.default_text.map(|text| beginning(&text, MESSAGE_TOLD)),
            kind: dialog.kind,
        });
        CommandProgress { at, message: self.message.map(Into::into), progress, dialog }
    }
}

impl CommandOutcome {
    /// The code of a timeout while the command ran.
    pub const EXECUTION_TIMEOUT: &'static str = "execution_timeout";

    /// The code of a command that the person at the browser stopped.
    pub const STOPPED_BY_USER: &'static str = "stopped_by_user";

    /// The code of a call that would leave a trace of a page in a private window.
    pub const NOT_IN_PRIVATE: &'static str = "not_in_private";

    /// No more than how it ended: nothing of a page is in it.
    #[must_use]
    pub fn bare(&self) -> Self {
        let bare = |error: &ReportedError| {
            let may_have_run = error.may_have_run;
            Arc::new(ReportedError { may_have_run, ..ReportedError::new(&*error.code, "") })
        };
        match self {
            Self::Complete { .. } => {
                Self::Complete { result: RawValue::NULL.to_owned().into(), origin: None }
            }
            Self::Error { error } => Self::Error { error: bare(error) },
            Self::Timeout { error } => Self::Timeout { error: bare(error) },
            Self::Expired { .. } | Self::Cancelled { .. } => self.clone(),
        }
    }

    /// A cancellation by the owner, or by someone whom the extension does not name.
    #[must_use]
    pub const fn cancelled(may_have_run: bool) -> Self {
        Self::Cancelled { may_have_run, by_user: false }
    }

    /// Turns a report on a running command into its outcome, or into progress.
    pub(super) fn reported(report: ExtensionReport) -> Result<Self, StillRunning> {
        Ok(match report {
            ExtensionReport::Pending { message, progress, dialog } => {
                return Err(StillRunning { message, progress, dialog });
            }
            ExtensionReport::Complete { result, origin } => {
                Self::Complete { result, origin: origin.map(Into::into) }
            }
            ExtensionReport::Error { error } => Self::Error { error: error.into() },
            ExtensionReport::Timeout { error } => Self::Timeout { error: error.into() },
            ExtensionReport::Cancelled { may_have_run } => Self::cancelled(may_have_run),
        })
    }

    /// Turns a report on a command that needs `go` and has not had it into an outcome. Only a report
    /// that nothing has run counts: any other would be of a command that ran without permission.
    pub(super) fn reported_unstarted(report: ExtensionReport) -> Option<Self> {
        match report {
            ExtensionReport::Cancelled { may_have_run } => Some(Self::cancelled(may_have_run)),
            ExtensionReport::Error { error } if error.may_have_run == Some(false) => {
                Some(Self::Error { error: error.into() })
            }
            ExtensionReport::Pending { .. }
            | ExtensionReport::Complete { .. }
            | ExtensionReport::Error { .. }
            | ExtensionReport::Timeout { .. } => None,
        }
    }

    /// Row 13: neither a result nor the extension's own timeout report arrived.
    pub(super) fn overran(timeout: Duration) -> Self {
        let message = format!("execution exceeded {} s", timeout.as_secs_f64());
        let code = Self::EXECUTION_TIMEOUT.to_owned();
        Self::Timeout { error: ReportedError::new(code, message).into() }
    }
}

/// Why a command ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryReason {
    /// No browser was connected while the command waited (row 4).
    NoExtension,
    /// The browser was connected, but the command did not get its turn (row 4).
    NotDelivered,
    /// Every delivery was lost (row 7a).
    DeliveryFailed,
    /// The extension received the command and did not answer (row 8).
    ExtensionNoResponse,
    /// The extension disconnected while the command ran (row 12).
    ExtensionDisconnected,
    /// The command's total time, counted from its creation, ended while it ran (row 14).
    CommandExpired,
    /// The daemon restarted, and the browser neither runs the command nor has its result
    /// (row 17).
    DaemonRestarted,
    /// The machine restarted, which ended everything that ran (row 17).
    MachineRebooted,
    /// Nobody drew anything in time.
    NobodyDrew,
    /// Nobody answered the question in time.
    NobodyAnswered,
    /// The command had ended, but its result is no longer kept (row 20).
    ResultExpired,
}

impl ExpiryReason {
    /// All of them.
    pub(super) const ALL: [Self; 11] = [
        Self::NoExtension,
        Self::NotDelivered,
        Self::DeliveryFailed,
        Self::ExtensionNoResponse,
        Self::ExtensionDisconnected,
        Self::CommandExpired,
        Self::DaemonRestarted,
        Self::MachineRebooted,
        Self::NobodyDrew,
        Self::NobodyAnswered,
        Self::ResultExpired,
    ];

    /// The reason with this [code](Self::code).
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// The code that programs branch on.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoExtension => "no_extension",
            Self::NotDelivered => "not_delivered",
            Self::DeliveryFailed => "delivery_failed",
            Self::ExtensionNoResponse => "extension_no_response",
            Self::ExtensionDisconnected => "extension_disconnected",
            Self::CommandExpired => "command_expired",
            Self::DaemonRestarted => "daemon_restarted",
            Self::MachineRebooted => "machine_rebooted",
            Self::NobodyDrew => "nobody_drew",
            Self::NobodyAnswered => "nobody_answered",
            Self::ResultExpired => "result_expired",
        }
    }

    /// What happened, in a sentence.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoExtension => "No browser that could run the command was connected",
            Self::NotDelivered => {
                "The command did not get its turn in time: the tab was busy, or the browser was away"
            }
            Self::DeliveryFailed => "The connection to the extension broke at each of 3 deliveries",
            Self::ExtensionNoResponse => {
                "The extension did not respond in time after it received the command"
            }
            Self::ExtensionDisconnected => "The extension disconnected while the command ran",
            Self::CommandExpired => "The command ran out of its total time",
            Self::DaemonRestarted => "The daemon restarted before the command had a result",
            Self::MachineRebooted => "The machine restarted before the command had a result",
            Self::NobodyDrew => "The user did not finish a drawing within 10 minutes",
            Self::NobodyAnswered => "The user did not answer within 10 minutes",
            Self::ResultExpired => "The result is no longer kept",
        }
    }

    /// The next step after a failed job, in a sentence.
    pub(super) const OF_JOBS: &'static str =
        "Call again: the job starts over and keeps what it has recorded so far.";

    /// The next step after a question without an answer, in a sentence.
    pub(super) const OF_ASKS: &'static str =
        "Ask the user in the conversation whether to continue, and do not do it meanwhile.";

    /// The next step for this kind of work, in a sentence.
    #[must_use]
    pub const fn hint_for(self, kind: WorkKind) -> &'static str {
        match kind {
            // A hint that tells an agent to look at the page makes no sense for a job.
            WorkKind::Job => Self::OF_JOBS,
            WorkKind::Browser | WorkKind::Annotations | WorkKind::Ask => self.hint(),
        }
    }

    /// The next step for a command that an extension ran, in a sentence.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::NoExtension => {
                "Ask the person to open the browser and to check that the Tabwire extension is \
                 enabled; `tabwire doctor` names what is missing. Then call again."
            }
            Self::NotDelivered => {
                "Look at observe({what:\"pending_commands\"}) and observe({what:\"browsers\"}): cancel \
                 the command that blocks the tab, or use another tab; then call again."
            }
            Self::DeliveryFailed => {
                "It is safe to call again. If the error repeats, reload the extension."
            }
            Self::ExtensionNoResponse => {
                "Check with observe({what:\"browsers\"}) that the browser answers, reload the \
                 extension if it does not, then call again."
            }
            Self::ExtensionDisconnected | Self::DaemonRestarted | Self::MachineRebooted => {
                "Unless may_have_run is false, the command may have run in full or in part: look at \
                 the page (page_info, screenshot) before you call again."
            }
            Self::CommandExpired => {
                "The command may have run in part: look at the page before you call again, with a \
                 larger timeout_ms if the command needs more time."
            }
            Self::NobodyDrew => {
                "Ask the user whether to continue; analyze({what:\"annotations\", wait:true}) asks for \
                 a drawing again."
            }
            Self::NobodyAnswered => Self::OF_ASKS,
            Self::ResultExpired => {
                "Fetch results within 60s (of drawings, answers and jobs within 10 minutes), or pass wait_ms \
                 to get them in the same call."
            }
        }
    }
}
