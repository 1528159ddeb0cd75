//! The frames from an extension, and their parser.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::bodies::{
    ActPictureBody, AskAnswerBody, AttemptFence, CancelledBody, CompleteBody, ConfirmBody,
    DrawingIdBody, EventsBody, FailureBody, FileCheckBody, FrameType, HistoryBody, HoldBody,
    KeptWordsBody, NackBody, NameBody, PageStatesBody, PendingBody, PongBody, RestoredTabsBody,
    SharedTabsBody, StopBody, StoppedBody, TabCreatedBody, TabOpenedBody, TabsBody, TakeTabBody,
};
use crate::protocol::{
    AskAnswer, Attempt, BrowserId, BrowserTab, ConsentNeed, CorrelationId, Drawing, DrawingError,
    DrawingId, FarOwnerWish, HistoryWish, InstanceId, LocalFileChange, NackReason,
    OlderExtensionChange, PageState, ReadyFrame, RestoredTab, SiteChange, TabId, UploadRequest,
    WordTakenBack, well_formed,
};

/// A frame from an extension to the daemon.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromExtension {
    /// The answer to `challenge`.
    Hello(HelloFrame),
    /// The answer to a valid `welcome`; commands are delivered from here on.
    Ready(ReadyFrame),
    /// The extension is about to run a command and waits for `go`.
    Claim {
        /// The command.
        correlation_id: CorrelationId,
        /// The attempt.
        attempt: Attempt,
    },
    /// The extension has not begun a command, which needs the person's word, and forgets it.
    Hold {
        /// The command.
        correlation_id: CorrelationId,
        /// The attempt.
        attempt: Attempt,
        /// What it needs the person's word for.
        need: ConsentNeed,
    },
    /// The tab of a running command as it looks before or after it, for the person alone.
    ActPicture {
        /// The command.
        correlation_id: CorrelationId,
        /// When it was taken.
        moment: ActMoment,
        /// A JPEG, in base64.
        jpeg: String,
    },
    /// Entries of a stream, in batches.
    Events {
        /// The stream's name; a newer extension may have streams that we do not know.
        stream: String,
        /// The entries.
        entries: Vec<Box<RawValue>>,
    },
    /// A person's drawing, or the news that they drew nothing. The extension keeps it until it is
    /// acknowledged.
    Annotations(Box<Drawing>),
    /// The tabs have changed.
    Tabs {
        /// All tabs.
        tabs: Vec<BrowserTab>,
    },
    /// All tabs that clients have changed by more than acts in their pages: after `ready`, and after
    /// every change.
    PageStates {
        /// In the order in which they were changed.
        states: Vec<PageState>,
    },
    /// The person ends a command.
    Stop {
        /// The command.
        correlation_id: CorrelationId,
    },
    /// The person has stopped everything in this browser, or lets agents go on.
    Stopped {
        /// Whether everything is stopped.
        stopped: bool,
    },
    /// The person changes which sites may be used.
    SiteRule(SiteChange),
    /// The person decides whether an older extension, one that only polls, is let in.
    OlderExtension(OlderExtensionChange),
    /// The person confirms a widening.
    ConfirmWidening {
        /// Which.
        id: String,
    },
    /// The person names this browser's profile.
    NameBrowser {
        /// The name.
        name: String,
    },
    /// The person takes a tab back from the client that holds it.
    TakeTab {
        /// The tab.
        tab_id: TabId,
    },
    /// A running command has opened a tab.
    TabOpened {
        /// The command.
        correlation_id: CorrelationId,
        /// The tab.
        tab_id: TabId,
        /// Whether it is in a private window.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
    },
    /// The page of a tab has opened another tab, or a window.
    TabCreated {
        /// The tab of the page.
        source_tab_id: TabId,
        /// The new tab.
        tab_id: TabId,
    },
    /// The person shares these tabs, and no others, with agents that see shared tabs.
    SharedTabs {
        /// The tabs.
        tab_ids: Vec<TabId>,
    },
    /// A tab that a client opened is the person's from now on: they said so, or have used, moved or
    /// pinned it, or its page asks before it is closed. Or they have used a tab of theirs that a client
    /// holds.
    KeepTab {
        /// The tab.
        tab_id: TabId,
    },
    /// Tabs that clients opened in the browser's former run and that it has brought back: they stood in a
    /// group of the extension's own, show the same address, and nobody has touched them.
    RestoredTabs {
        /// The tabs.
        restored: Vec<RestoredTab>,
    },
    /// The person answers a question of an agent.
    AskAnswer {
        /// The question.
        correlation_id: CorrelationId,
        /// The answer.
        answer: AskAnswer,
    },
    /// The person opens the history of agents' acts, or changes whether acts are kept.
    History {
        /// What they want with it.
        wish: HistoryWish,
    },
    /// The person looks at the kept words on acts of agents, or takes one back.
    KeptWords {
        /// The word that they take back.
        #[serde(skip_serializing_if = "Option::is_none")]
        take_back: Option<WordTakenBack>,
    },
    /// The person looks at the owners on other machines, disconnects one, or lets it in again.
    FarOwners(FarOwnerWish),
    /// The person changes which local files agents may open.
    LocalFileRule(LocalFileChange),
    /// May agents see these local files? Asked before a page that shows one is touched, and
    /// before anything of it is handed out.
    FileCheck {
        /// Comes back in `file_verdict`.
        check: u64,
        /// At most [`FILE_CHECK_MAX`](crate::protocol::FILE_CHECK_MAX), as the URL parser writes
        /// them.
        urls: Vec<String>,
    },
    /// Asks for copies of the files that a running command gives to a page.
    UploadRequest(UploadRequest),
    /// The key that its `config.json` holds is in the extension's own storage.
    KeyStored {},
    /// A frame of the daemon does not count, as one of an unknown type.
    Nack {
        /// Why it does not count.
        reason: NackReason,
    },
    /// The answer to `ping`.
    Pong {
        /// What `ping` carried.
        t: u64,
    },
    /// A report on a command: `pending`, `complete`, `error`, `timeout` or `cancelled`.
    #[serde(untagged)]
    Report {
        /// The command.
        correlation_id: CorrelationId,
        /// The attempt.
        attempt: Attempt,
        /// The report.
        #[serde(flatten)]
        report: ExtensionReport,
    },
}

/// When a tab is pictured for the person.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActMoment {
    /// Before a command acts.
    Before,
    /// When it has acted, before its end is reported.
    After,
}

/// The extension's identity with its proof. It has nothing private: the other side is not proven
/// yet.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HelloFrame {
    /// The protocol versions that it speaks.
    pub protocol: Vec<u32>,
    /// The installation.
    pub browser_id: BrowserId,
    /// This run of the worker.
    pub instance_id: InstanceId,
    /// The extension's version.
    pub extension_version: String,
    /// 32 random bytes in base64url.
    pub nonce: String,
    /// The proof, in base64url.
    pub mac: String,
}

/// An extension's report on a command.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExtensionReport {
    /// It still runs.
    Pending {
        /// Its present step.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// How far it is, from 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        progress: Option<f64>,
        /// The dialog that it waits for.
        #[serde(skip_serializing_if = "Option::is_none")]
        dialog: Option<HeldDialog>,
    },
    /// It is done.
    Complete {
        /// The result, kept byte for byte.
        result: Arc<RawValue>,
        /// The origin of the page that it came from.
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// It failed.
    Error {
        /// How.
        error: ReportedError,
    },
    /// The extension's own clock ran out.
    Timeout {
        /// How.
        error: ReportedError,
    },
    /// It was stopped.
    Cancelled {
        /// Whether it may have begun in the page.
        may_have_run: bool,
    },
}

impl ExtensionReport {
    /// Whether it says that the command is over and has not begun in the page.
    #[must_use]
    pub const fn says_it_never_ran(&self) -> bool {
        match self {
            Self::Error { error } => matches!(error.may_have_run, Some(false)),
            Self::Cancelled { may_have_run } => !*may_have_run,
            Self::Pending { .. } | Self::Complete { .. } | Self::Timeout { .. } => false,
        }
    }
}

/// A dialog that stays open until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeldDialog {
    /// `alert`, `confirm`, `prompt`, `beforeunload`, `authentication` or `file_chooser`.
    #[serde(rename = "type")]
    pub kind: Arc<str>,
    /// Its text, which is the page's.
    pub message: Arc<str>,
    /// The text that a prompt already has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_text: Option<Arc<str>>,
}

/// A failure as the extension reports it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedError {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Where in the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// What to do next, a sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether it may have begun in the page, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_run: Option<bool>,
}

impl ReportedError {
    /// The code of a job that panicked.
    pub const BROKE_OFF: &'static str = "internal_error";

    /// An error with a code and a message alone.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        Self { code, message, stack: None, hint: None, may_have_run: None }
    }
}

/// The reason why a text is not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// It is not JSON, has no `type`, or lacks what its type needs.
    #[error("malformed frame: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is a frame of a kind that this build does not know.
    #[error("unknown frame type `{0}`")]
    UnknownType(String),
    /// It is a malformed drawing with an id, under which the daemon can refuse it.
    #[error("malformed drawing: {why}")]
    BadDrawing {
        /// Its id.
        drawing_id: DrawingId,
        /// What is wrong with it.
        why: DrawingError,
    },
}

impl FromExtension {
    /// Reads one frame. A surrogate that stands alone in it is U+FFFD from here on.
    ///
    /// A type of its own reads each body. A tagged enum would buffer the body, which changes numbers
    /// in results, and could not tell an unknown type from a malformed frame.
    ///
    /// # Errors
    ///
    /// [`FrameError::UnknownType`] for a well-formed frame of another kind,
    /// [`FrameError::BadDrawing`] for a drawing that is none, and [`FrameError::Malformed`]
    /// for anything else that is not a frame.
    pub fn parse(text: &str) -> Result<Self, FrameError> {
        let text = &*well_formed(text);
        if !text.trim_ascii_start().starts_with('{') {
            // Serde would read an array as a struct, field by field.
            return Err(FrameError::Malformed(serde::de::Error::custom("not an object")));
        }
        let kind = serde_json::from_str::<FrameType<'_>>(text)?.kind;
        Ok(match kind.as_ref() {
            "hello" => Self::Hello(serde_json::from_str(text)?),
            "ready" => Self::Ready(serde_json::from_str(text)?),
            "claim" => {
                let AttemptFence { correlation_id, attempt } = serde_json::from_str(text)?;
                Self::Claim { correlation_id, attempt }
            }
            "hold" => serde_json::from_str::<HoldBody>(text)?.into(),
            "act_picture" => serde_json::from_str::<ActPictureBody>(text)?.into(),
            "events" => {
                let EventsBody { stream, entries } = serde_json::from_str(text)?;
                Self::Events { stream, entries }
            }
            "annotations" => Self::Annotations(Box::new(drawing_of(text)?)),
            "stop" => Self::Stop {
                correlation_id: serde_json::from_str::<StopBody>(text)?.correlation_id,
            },
            "stopped" => serde_json::from_str::<StoppedBody>(text)?.into(),
            "site_rule" => Self::SiteRule(serde_json::from_str(text)?),
            "older_extension" => Self::OlderExtension(serde_json::from_str(text)?),
            "confirm_widening" => {
                Self::ConfirmWidening { id: serde_json::from_str::<ConfirmBody>(text)?.id }
            }
            "name_browser" => {
                Self::NameBrowser { name: serde_json::from_str::<NameBody>(text)?.name }
            }
            "take_tab" => {
                Self::TakeTab { tab_id: serde_json::from_str::<TakeTabBody>(text)?.tab_id }
            }
            "shared_tabs" => serde_json::from_str::<SharedTabsBody>(text)?.into(),
            "tab_opened" => serde_json::from_str::<TabOpenedBody>(text)?.into(),
            "tab_created" => serde_json::from_str::<TabCreatedBody>(text)?.into(),
            "keep_tab" => {
                Self::KeepTab { tab_id: serde_json::from_str::<TakeTabBody>(text)?.tab_id }
            }
            "restored_tabs" => Self::RestoredTabs {
                restored: serde_json::from_str::<RestoredTabsBody>(text)?.restored,
            },
            "ask_answer" => {
                let AskAnswerBody { correlation_id, answer } = serde_json::from_str(text)?;
                Self::AskAnswer { correlation_id, answer }
            }
            "history" => Self::History { wish: serde_json::from_str::<HistoryBody>(text)?.wish },
            "kept_words" => serde_json::from_str::<KeptWordsBody>(text)?.into(),
            "far_owners" => Self::FarOwners(serde_json::from_str(text)?),
            "local_file_rule" => Self::LocalFileRule(serde_json::from_str(text)?),
            "file_check" => {
                let FileCheckBody { check, urls } = serde_json::from_str(text)?;
                Self::FileCheck { check, urls }
            }
            "upload_request" => Self::UploadRequest(serde_json::from_str(text)?),
            "key_stored" => Self::KeyStored {},
            "tabs" => Self::Tabs { tabs: serde_json::from_str::<TabsBody>(text)?.tabs },
            "page_states" => {
                Self::PageStates { states: serde_json::from_str::<PageStatesBody>(text)?.states }
            }
            "nack" => Self::Nack { reason: serde_json::from_str::<NackBody>(text)?.reason },
            "pong" => Self::Pong { t: serde_json::from_str::<PongBody>(text)?.t },
            // The report comes first, so that an unknown type is not taken for a frame without an id.
            reported => {
                let report = ExtensionReport::parse(reported, text)?;
                let AttemptFence { correlation_id, attempt } = serde_json::from_str(text)?;
                Self::Report { correlation_id, attempt, report }
            }
        })
    }
}

fn drawing_of(text: &str) -> Result<Drawing, FrameError> {
    // The id comes first: without one the daemon could not name the drawing that it refuses.
    let DrawingIdBody { drawing_id } = serde_json::from_str(text)?;
    Drawing::parse_with_id(text.as_bytes())
        .map_err(|why| FrameError::BadDrawing { drawing_id, why })
}

impl ExtensionReport {
    fn parse(kind: &str, text: &str) -> Result<Self, FrameError> {
        Ok(match kind {
            "pending" => {
                let PendingBody { message, progress, dialog } = serde_json::from_str(text)?;
                Self::Pending { message, progress, dialog }
            }
            "complete" => {
                let CompleteBody { result, origin } = serde_json::from_str(text)?;
                Self::Complete { result: result.into(), origin }
            }
            "error" => Self::Error { error: serde_json::from_str::<FailureBody>(text)?.error },
            "timeout" => Self::Timeout { error: serde_json::from_str::<FailureBody>(text)?.error },
            "cancelled" => {
                let CancelledBody { may_have_run } = serde_json::from_str(text)?;
                Self::Cancelled { may_have_run }
            }
            unknown => return Err(FrameError::UnknownType(unknown.to_owned())),
        })
    }
}
