//! What the daemon sends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::{
    Attempt, CaptureSettings, CorrelationId, DrawingId, LocalFileRules, OlderExtensions, QueryId,
    SiteRules, TabId, UnconfirmedWidening,
};

/// What the daemon sends to an extension.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToExtension {
    /// The first frame on a new connection.
    Challenge {
        /// 32 random bytes in base64url.
        nonce: String,
    },
    /// Proves that the daemon holds the key. The extension runs nothing before it.
    Welcome {
        /// The protocol version both sides go on with.
        protocol: u32,
        /// Names this life of the daemon; a new one means that it was restarted.
        epoch: Arc<str>,
        /// The daemon's version.
        server_version: &'static str,
        /// How often `ping` comes, in milliseconds.
        heartbeat_ms: u64,
        /// What the extension should record.
        capture: CaptureSettings,
        /// The proof, in base64url.
        mac: String,
    },
    /// Asks for a command to be claimed, or, if it is safe, to be run.
    Command {
        /// Which delivery this is.
        attempt: Attempt,
        /// The command.
        command: CommandBody,
    },
    /// The claim is recorded: begin now.
    Go {
        /// The claimed command.
        correlation_id: CorrelationId,
        /// The claimed attempt.
        attempt: Attempt,
    },
    /// Stop if you can and say `cancelled`, or finish and say `complete`.
    Cancel {
        /// The command to stop.
        correlation_id: CorrelationId,
        /// Why.
        reason: CancelReason,
    },
    /// The report is recorded; it may leave the outbox.
    ResultAck {
        /// The reported command.
        correlation_id: CorrelationId,
        /// The reported attempt.
        attempt: Attempt,
    },
    /// What was drawn is kept, and need not be sent again; or why it is not.
    AnnotationsAck {
        /// The drawing.
        drawing_id: DrawingId,
        /// Why it is not kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<DrawingRefusal>,
    },
    /// Nobody waits for these drawings any more: drawing tools that are open for nobody else
    /// close, unless something is drawn already.
    AnnotationsOver {
        /// The waits that the tools were opened for.
        correlation_ids: Vec<CorrelationId>,
    },
    /// What was sent does not count.
    Nack {
        /// The command it was about, if it named one.
        #[serde(skip_serializing_if = "Option::is_none")]
        correlation_id: Option<CorrelationId>,
        /// The attempt it was about, if it named one.
        #[serde(skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// Why.
        reason: NackReason,
    },
    /// What to record has changed.
    Capture {
        /// What to record from now on.
        capture: CaptureSettings,
    },
    /// Which sites may be used. Comes before the first command, and whenever it has changed.
    SiteRules {
        /// The rules.
        #[serde(flatten)]
        rules: Arc<SiteRules>,
        /// Why what the person has changed in the browser is not among them.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// Which older extensions, those that only poll, ask to be let in, and which are. Comes
    /// after `ready`, and whenever it has changed.
    OlderExtensions {
        /// The extensions.
        #[serde(flatten)]
        extensions: Arc<OlderExtensions>,
        /// Why the person's last decision in the browser does not count.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// What was widened and no person has confirmed yet: all of it. After `ready` if there is
    /// any, and whenever it has changed.
    Widenings {
        /// Oldest first.
        widenings: Arc<[UnconfirmedWidening]>,
    },
    /// The files of the extension on the disk are not what the daemon's program has put there: it
    /// is given no commands. After `ready`.
    ExtensionChanged {},
    /// Which folders agents may open local files of. Comes before the first command, and whenever
    /// it has changed.
    LocalFiles {
        /// The rules.
        #[serde(flatten)]
        rules: Arc<LocalFileRules>,
        /// Why what the person has changed in the browser is not among them.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The answer to `file_check`.
    FileVerdict {
        /// What `file_check` carried.
        check: u64,
        /// For each URL in its order whether agents may see the file.
        admitted: Vec<bool>,
    },
    /// Shows that the daemon lives, as a data frame: protocol pings do not keep
    /// the extension's worker alive.
    Ping {
        /// Unix time in milliseconds; comes back in `pong`.
        t: u64,
    },
}

impl ToExtension {
    /// Whether it tells of something that has to be recorded before anybody is told.
    #[must_use]
    pub const fn tells_what_is_recorded(&self) -> bool {
        match self {
            Self::Go { .. }
            | Self::ResultAck { .. }
            | Self::AnnotationsOver { .. }
            | Self::Nack { .. } => true,
            Self::AnnotationsAck { error, .. } => error.is_none(),
            Self::Challenge { .. }
            | Self::Welcome { .. }
            | Self::Command { .. }
            | Self::Cancel { .. }
            | Self::Capture { .. }
            | Self::SiteRules { .. }
            | Self::OlderExtensions { .. }
            | Self::Widenings { .. }
            | Self::ExtensionChanged {}
            | Self::LocalFiles { .. }
            | Self::FileVerdict { .. }
            | Self::Ping { .. } => false,
        }
    }
}

/// A command as the extension gets it.
#[derive(Clone, Debug, Serialize)]
pub struct CommandBody {
    /// The command's second name.
    pub id: QueryId,
    /// The command's name.
    pub correlation_id: CorrelationId,
    /// The action's name.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The action's own parameters.
    pub params: Arc<RawValue>,
    /// The tab it is for; absent for the browser as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
    /// How long it may run, in milliseconds from `go`.
    pub timeout_ms: u64,
    /// Whether it is run at once, without a claim.
    pub safe: bool,
    /// Whether an earlier attempt was delivered and lost before it began.
    pub redelivered: bool,
    /// What the agent calls itself: a label for the person, and no proof of anything.
    pub client: Arc<str>,
}

/// Why the daemon asks for a command to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Its owner asked for it.
    Cancelled,
    /// It ran past its time.
    ExecutionTimeout,
    /// Its whole time, from creation, is over.
    CommandExpired,
}

/// Why a drawing is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawingRefusal {
    /// Whether it helps to send it again.
    pub code: DrawingRefusalCode,
    /// A sentence for people.
    pub message: String,
}

/// What kind of reason there is not to keep a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawingRefusalCode {
    /// It is too large, and never taken.
    TooLarge,
    /// It is no drawing, and never taken.
    Malformed,
    /// There is no room for it now: send it again later.
    StorageUnavailable,
}

/// Why something that the extension sent does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NackReason {
    /// Another attempt, or another browser, holds the command now.
    StaleAttempt,
    /// The command had already ended.
    AlreadyTerminal,
    /// No such command.
    UnknownCommand,
    /// No such frame type.
    UnknownType,
    /// Not a frame.
    Malformed,
}
