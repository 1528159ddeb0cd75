//! How a command can end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::protocol::{CommandProgress, ExtensionReport, ReportedError, Timestamp, WorkKind};

/// How a command ended. Set once.
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
    /// It ran past its time, by the extension's clock or by ours.
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

/// Results are the same if they are the same byte for byte: so a replayed report is
/// told from another one. Who cancelled is no part of a report.
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

/// What an extension says of a command that goes on.
pub(super) struct StillRunning {
    message: Option<String>,
    progress: Option<f64>,
}

impl StillRunning {
    pub(super) fn at(self, at: Timestamp) -> CommandProgress {
        let progress = self.progress.map(|part| part.clamp(0.0, 1.0));
        CommandProgress { at, message: self.message.map(Into::into), progress }
    }
}

impl CommandOutcome {
    /// The word that programs know the terminal timeout by.
    pub const EXECUTION_TIMEOUT: &'static str = "execution_timeout";

    /// The word that programs know a stop by the person by.
    pub const STOPPED_BY_USER: &'static str = "stopped_by_user";

    /// It was cancelled by its owner, or by whoever the extension does not name.
    #[must_use]
    pub const fn cancelled(may_have_run: bool) -> Self {
        Self::Cancelled { may_have_run, by_user: false }
    }

    /// What a report makes of a running command: its end, or that it goes on.
    pub(super) fn reported(report: ExtensionReport) -> Result<Self, StillRunning> {
        Ok(match report {
            ExtensionReport::Pending { message, progress } => {
                return Err(StillRunning { message, progress });
            }
            ExtensionReport::Complete { result, origin } => {
                Self::Complete { result, origin: origin.map(Into::into) }
            }
            ExtensionReport::Error { error } => Self::Error { error: error.into() },
            ExtensionReport::Timeout { error } => Self::Timeout { error: error.into() },
            ExtensionReport::Cancelled { may_have_run } => Self::cancelled(may_have_run),
        })
    }

    /// What a report makes of a command that needs `go` and has had none: its end, if it says that
    /// nothing has run.
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

    /// Row 13: neither a result nor the extension's own timeout came.
    pub(super) fn overran(timeout: Duration) -> Self {
        let message = format!("execution exceeded {} s", timeout.as_secs_f64());
        let code = Self::EXECUTION_TIMEOUT.to_owned();
        Self::Timeout { error: ReportedError::new(code, message).into() }
    }
}

/// Why no answer came in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryReason {
    /// No browser was connected while the command waited (row 4).
    NoExtension,
    /// Its browser was connected, but its turn did not come (row 4).
    NotDelivered,
    /// It was lost on the way in every attempt (row 7a).
    DeliveryFailed,
    /// The extension had it and said nothing (row 8).
    ExtensionNoResponse,
    /// The extension went away in mid-command (row 12).
    ExtensionDisconnected,
    /// Its whole time, from creation, was over while it ran (row 14).
    CommandExpired,
    /// The daemon was restarted, and its browser neither runs it nor has its result
    /// (row 17).
    DaemonRestarted,
    /// The machine was started anew: whatever ran is gone (row 17).
    MachineRebooted,
    /// Nobody drew anything in time.
    NobodyDrew,
    /// It had ended, but its result was no longer kept (row 20).
    ResultExpired,
}

impl ExpiryReason {
    /// All of them.
    pub(super) const ALL: [Self; 10] = [
        Self::NoExtension,
        Self::NotDelivered,
        Self::DeliveryFailed,
        Self::ExtensionNoResponse,
        Self::ExtensionDisconnected,
        Self::CommandExpired,
        Self::DaemonRestarted,
        Self::MachineRebooted,
        Self::NobodyDrew,
        Self::ResultExpired,
    ];

    /// The one of this [code](Self::code).
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// A word for programs.
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
            Self::ResultExpired => "result_expired",
        }
    }

    /// What happened, in a sentence.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::NoExtension => "No browser that could take it was connected",
            Self::NotDelivered => {
                "Its turn did not come before its time was over: the tab was busy, or its browser away"
            }
            Self::DeliveryFailed => "The connection to the extension broke at each of 3 deliveries",
            Self::ExtensionNoResponse => {
                "Extension did not respond in time after receiving command"
            }
            Self::ExtensionDisconnected => "The extension went away while the command ran",
            Self::CommandExpired => "The command's whole time was over before it was done",
            Self::DaemonRestarted => "The daemon was restarted before it had an answer",
            Self::MachineRebooted => "The machine was restarted before there was an answer",
            Self::NobodyDrew => "The user did not finish a drawing within 10 minutes",
            Self::ResultExpired => "The result is no longer kept",
        }
    }

    /// What to do next after a job that has failed, in a sentence.
    pub(super) const OF_JOBS: &'static str =
        "Call again: it is begun anew, and what was recorded until then is kept.";

    /// What to do next, in a sentence, if this is what it ended for.
    #[must_use]
    pub const fn hint_for(self, kind: WorkKind) -> &'static str {
        match kind {
            // No page has to do with it.
            WorkKind::Job => Self::OF_JOBS,
            WorkKind::Browser | WorkKind::Annotations => self.hint(),
        }
    }

    /// What to do next, in a sentence, if an extension did it.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::NoExtension => {
                "Ask the person to open the browser and to check that the Tabwire extension is \
                 enabled; `tabwire doctor` names what is missing. Then call again."
            }
            Self::NotDelivered => {
                "Look at observe({what:\"pending_commands\"}) and observe({what:\"browsers\"}): cancel \
                 what blocks the tab, or use another one; then call again."
            }
            Self::DeliveryFailed => {
                "It is safe to call again. If it happens again, reload the extension."
            }
            Self::ExtensionNoResponse => {
                "Check with observe({what:\"browsers\"}) that the browser answers, reload the \
                 extension if it does not, then call again."
            }
            Self::ExtensionDisconnected | Self::DaemonRestarted | Self::MachineRebooted => {
                "Unless may_have_run is false it may have run, whole or in part: look at the page \
                 (page_info, screenshot) before you call again."
            }
            Self::CommandExpired => {
                "It may have run in part: look at the page before you call again, with a larger \
                 timeout_ms if it needs more time."
            }
            Self::NobodyDrew => {
                "Ask the user whether to go on; analyze({what:\"annotations\", wait:true}) asks for \
                 a drawing again."
            }
            Self::ResultExpired => {
                "Fetch results within 60s (of drawings and jobs within 10 minutes), or pass wait_ms \
                 to get them in the same call."
            }
        }
    }
}
