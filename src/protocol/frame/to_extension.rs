//! The frames from the daemon to an extension.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::{
    AgentTab, AskedFile, Attempt, BrowserName, CaptureSettings, ClientId, ConsentNeed,
    CorrelationId, DrawingId, FarOwner, HeldTab, KeptWord, KnownConsent, LocalFileRules,
    OlderExtensions, OpenAsk, Owner, PageState, PastAct, QueryId, SiteRules, TabId, TenantTrouble,
    UnconfirmedWidening, UploadCopy, UploadRefusal,
};

/// A frame from the daemon to an extension.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
        /// Names this run of the daemon; a new epoch means that the daemon was restarted.
        epoch: Arc<str>,
        /// The daemon's version.
        server_version: &'static str,
        /// Whether the extension is newer than the daemon: its popup says so.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        extension_newer: bool,
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
    /// Asks for a command to stop. The extension reports `cancelled` if it could stop the command,
    /// or else its result.
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
    /// The drawing is kept and need not be sent again, or the reason why it is not kept.
    AnnotationsAck {
        /// The drawing.
        drawing_id: DrawingId,
        /// Why it is not kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<DrawingRefusal>,
    },
    /// Nobody waits for these drawings any more. Drawing tools that are open for no other wait
    /// close, unless the person has drawn already.
    AnnotationsOver {
        /// The waits that the tools were opened for.
        correlation_ids: Vec<CorrelationId>,
    },
    /// A frame from the extension does not count.
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
    /// The capture settings have changed.
    Capture {
        /// What to record from now on.
        capture: CaptureSettings,
    },
    /// The site rules: before the first command, and after every change.
    SiteRules {
        /// The rules.
        #[serde(flatten)]
        rules: Arc<SiteRules>,
        /// Why the person's last change in this browser was rejected.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The older extensions that ask to be let in and those that are: after `ready`, and after
    /// every change.
    OlderExtensions {
        /// The extensions.
        #[serde(flatten)]
        extensions: Arc<OlderExtensions>,
        /// Why the person's last decision in the browser does not count.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// All widenings that no person has confirmed yet: after `ready` if there are any, and after
    /// every change.
    Widenings {
        /// Oldest first.
        widenings: Arc<[UnconfirmedWidening]>,
    },
    /// All tabs of this browser that clients hold: after `ready` if there are any, and after every
    /// change.
    HeldTabs {
        /// In the order of their numbers.
        held: Vec<HeldTab>,
    },
    /// All tabs of this browser that clients opened and the person has not made their own: after
    /// `ready` if there are any, and after every change.
    OpenedTabs {
        /// In the order of their numbers.
        opened: Vec<AgentTab>,
    },
    /// The clients that opened these tabs have ended a while ago: close them, but those that the person
    /// uses.
    CloseTabs {
        /// In the order of their numbers.
        tab_ids: Vec<TabId>,
    },
    /// The clients of these have ended, or may not use the tab any more: what they have changed about
    /// the tabs is to be put back.
    PageStatesOver {
        /// As the extension reported them.
        states: Vec<PageState>,
    },
    /// All questions of agents that wait for the person's answer: after `ready` if there are any, and
    /// after every change.
    Asks {
        /// Oldest first.
        asks: Vec<OpenAsk>,
    },
    /// The person's kept words on acts of agents: the answer to `kept_words`, once it is recorded.
    KeptWords {
        /// The newest first, at most [`KEPT_WORDS_SHOWN`](crate::protocol::KEPT_WORDS_SHOWN).
        words: Vec<KeptWord>,
        /// How many older ones there are.
        more: usize,
    },
    /// The owners on other machines that have calls, were seen since the daemon started, or are disconnected:
    /// the answer to `far_owners`.
    FarOwners {
        /// In the order in which they were added.
        owners: Vec<FarOwner>,
        /// The teams whose calls do not go as they should.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        troubles: Vec<TenantTrouble>,
        /// Why the person's change does not count.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The last acts of agents, for the person: the answer to `history`.
    History {
        /// Whether acts are kept.
        on: bool,
        /// The newest first, at most ten.
        acts: Vec<PastAct>,
        /// Why the person's wish was not carried out.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The extension's files on the disk are not the ones that Tabwire put there, so the extension
    /// gets no commands. Comes after `ready`.
    ExtensionChanged {},
    /// The folder of the extension holds the files of another version, each of them as this program
    /// has it: the extension loads itself anew, once nothing runs. After `ready`, or when the folder
    /// was renewed; at most once for each browser in a run of the daemon.
    Reload {
        /// The version in the folder.
        version: &'static str,
    },
    /// The folders whose files agents may open: before the first command, and after every change.
    LocalFiles {
        /// The rules.
        #[serde(flatten)]
        rules: Arc<LocalFileRules>,
        /// Why the person's last change in this browser was rejected.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// This browser's name: after `ready` if there is anything to say of it, and after every change.
    BrowserName {
        /// The name that the person has given.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<BrowserName>,
        /// What agents call it, with or without a name.
        label: String,
        /// Whether other browsers are connected, so that a name tells them apart.
        others: bool,
        /// The name of the profile in the browser itself, to offer it to a person who gives none.
        #[serde(skip_serializing_if = "Option::is_none")]
        offered: Option<BrowserName>,
        /// Why the person's last name in this browser was rejected.
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
    /// The answer to `upload_request`: copies of all the files, or the reason why there are none.
    UploadCopies {
        /// What `upload_request` carried.
        request: u64,
        /// The copies, in the order of the paths.
        files: Vec<UploadCopy>,
        /// After a look: the files that the person is to be asked about.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        asks: Vec<AskedFile>,
        /// Why there are none.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<UploadRefusal>,
    },
    /// Shows that the daemon is alive. It is a data frame because WebSocket pings do not keep the
    /// extension's worker alive.
    Ping {
        /// Unix time in milliseconds; comes back in `pong`.
        t: u64,
    },
}

impl ToExtension {
    /// Whether the frame depends on a record: it is sent only when the journal has written that
    /// record.
    #[must_use]
    pub const fn tells_what_is_recorded(&self) -> bool {
        match self {
            Self::Go { .. }
            | Self::ResultAck { .. }
            | Self::AnnotationsOver { .. }
            | Self::Asks { .. }
            | Self::KeptWords { .. }
            | Self::Nack { .. } => true,
            // A refusal records nothing, so nothing delays it.
            Self::AnnotationsAck { error, .. } => error.is_none(),
            Self::Challenge { .. }
            | Self::Welcome { .. }
            | Self::Command { .. }
            | Self::Cancel { .. }
            | Self::Capture { .. }
            | Self::SiteRules { .. }
            | Self::OlderExtensions { .. }
            | Self::Widenings { .. }
            | Self::HeldTabs { .. }
            | Self::OpenedTabs { .. }
            | Self::CloseTabs { .. }
            | Self::FarOwners { .. }
            | Self::History { .. }
            | Self::PageStatesOver { .. }
            | Self::ExtensionChanged {}
            | Self::Reload { .. }
            | Self::LocalFiles { .. }
            | Self::BrowserName { .. }
            | Self::FileVerdict { .. }
            | Self::UploadCopies { .. }
            | Self::Ping { .. } => false,
        }
    }
}

/// A command as the extension gets it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub params: Arc<RawValue>,
    /// The tab it is for; absent for the browser as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
    /// The tabs that it may see and use, and those that it opens; absent: every tab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tabs: Option<Vec<TabId>>,
    /// The owner of the command, if it may see and use the private tabs that this owner's commands opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_owner: Option<Owner>,
    /// Whether the program is on another machine: it opens, reads and uses only sites for which the person
    /// has given a word of the kind `use`, and is told nothing of others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub far: bool,
    /// How long it may run, in milliseconds from `go`.
    pub timeout_ms: u64,
    /// Whether it is run at once, without a claim.
    pub safe: bool,
    /// Whether an earlier attempt was delivered and lost before it began.
    pub redelivered: bool,
    /// Whether dialogs that it meets stay open until they are answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub holds_dialogs: bool,
    /// Whether the person wants to see the tab before and after it: the extension sends `act_picture`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pictured: bool,
    /// The agent's name for itself: a label for the person, and no proof of anything.
    pub client: Arc<str>,
    /// The client, which keeps apart what several agents of one name have begun.
    pub client_id: ClientId,
    /// The person's kept words about the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<KnownConsent>,
    /// What the person has allowed this command alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<ConsentNeed>,
    /// The trace and the span that it is a part of, if its call named one: as W3C Trace Context has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What tracing systems have added to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<Arc<str>>,
}

/// Why the daemon asks for a command to be stopped.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawingRefusal {
    /// Whether it helps to send it again.
    pub code: DrawingRefusalCode,
    /// A sentence for people.
    pub message: String,
}

/// The kinds of reason not to keep a drawing.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawingRefusalCode {
    /// It is too large; a repetition is refused too.
    TooLarge,
    /// It is not a drawing; a repetition is refused too.
    Malformed,
    /// The disk has no room for it now; a repetition may succeed later.
    StorageUnavailable,
}

/// Why a frame from the extension does not count.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
