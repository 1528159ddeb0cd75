//! The vocabulary of the wire, shared by every transport. No runtime, no sockets, no clock.

pub mod actions;
mod agent_tab;
mod ask;
mod capture;
#[cfg(test)]
pub(crate) mod code_literals;
mod consent;
mod drawing;
mod escapes;
mod far_owner;
mod frame;
#[cfg(test)]
pub(crate) mod garbled;
mod held_tab;
mod ids;
mod image_format;
mod job;
mod legacy;
mod local_files;
mod name;
mod older;
mod own_pages;
mod owner_list;
mod page_mark;
mod page_state;
mod past_act;
mod prompt;
mod public_suffixes;
mod report;
mod run_clock;
mod short_text;
mod sites;
mod tab_scope;
mod timestamp;
mod told_sites;
mod trace_context;
mod transport;
mod uploads;
mod version;
mod widening;

pub use actions::Action;
pub use agent_tab::{AgentTab, RestoredTab};
pub use ask::{
    ASK_OPTIONS, AnswerChannel, AskAnswer, AskOption, AskQuestion, AskRefusal, AskResult, AskWords,
    OpenAsk, PersonAsk, PersonWords,
};
pub use capture::{CaptureSettings, StreamKind, TabCapture};
pub use consent::{
    AskedFile, ConsentAnswer, ConsentDetail, ConsentKind, ConsentNeed, ConsentSite, FileMark,
    KEPT_WORDS_SHOWN, KeptWord, KnownConsent, POLLED_PAGES, ShownPath, WordTakenBack, WordTerm,
};
pub use drawing::{
    ANNOTATIONS_MAX, Drawing, DrawingCancel, DrawingError, DrawingReport, DrawingsReport,
    Screenshot, ScreenshotError,
};
pub use escapes::{floor_escape_boundary, next_escape_boundary, well_formed};
pub use far_owner::{FarOwner, FarOwnerChange, FarOwnerWish, TenantTrouble};
pub use frame::{
    ActMoment, BrowserTab, CancelReason, CommandBody, DrawingRefusal, DrawingRefusalCode,
    ExtensionReport, FrameError, FromExtension, HeldDialog, HelloFrame, InFlight, InFlightState,
    NackReason, ReadyFrame, ReportedError, ToExtension,
};
pub use held_tab::HeldTab;
pub use ids::{
    Attempt, BrowserId, BrowserSession, ClientId, CorrelationId, DEFAULT_OWNER, DrawingId,
    InstanceId, Owner, QueryId, TabId,
};
pub use image_format::{ImageFormat, SavedFormat};
pub use job::{Job, MonitorSync};
pub use legacy::{
    CaptureOverrides, LEGACY_ACTIONS, LegacyAction, LegacyQuery, LegacyReport, LegacySyncAnswer,
    LegacySyncRequest, session_name,
};
pub use local_files::{
    FILE_CHECK_MAX, LocalFileChange, LocalFileRuleError, LocalFileRules, OPEN_FOLDERS_MAX,
    is_local_file_url,
};
pub use name::{
    BrowserName, ClientProgram, NAME_MAX, PLACE_NAME_MAX, SessionName, check_name, is_place_name,
    is_shown, plain_label,
};
pub use older::{
    AdmissionChange, AdmittedExtension, AskingExtension, OlderExtensionChange, OlderExtensions,
    plain_version,
};
pub use own_pages::is_own_page;
pub use owner_list::{OwnerEntry, OwnerGeneration, OwnerKind, OwnerList, OwnerListError};
pub use page_mark::PageMark;
pub use page_state::PageState;
pub use past_act::{HistoryWish, PastAct, site_of_address, web_host};
pub use prompt::DrawingPrompt;
pub use report::{
    CommandAim, CommandProgress, CommandReport, CommandStatus, CommandStory, CommandSummary,
    FailedCommand, FinishedCommand, PendingCommand, StatusWord, TraceEntry, TracePhase, WorkKind,
    millis,
};
pub use run_clock::{RunClock, RunClockError};
pub use short_text::{in_short, url_in_short};
pub use sites::{
    AGENT_DENIALS_MAX, ActionDenial, DeniedAction, SITE_PATTERN_MAX, SITE_PATTERNS_MAX, SiteChange,
    SiteDefault, SiteList, SitePattern, SiteRuleError, SiteRules,
};
pub use tab_scope::{OwnerScopes, TabScope};
pub use timestamp::Timestamp;
pub use told_sites::ToldSites;
pub use trace_context::{TRACE_STATE_MAX, TraceContext, TraceFields};
pub use transport::Transport;
pub use uploads::{
    GivenFile, UPLOAD_FILES_MAX, UploadAnswer, UploadCopy, UploadRefusal, UploadRefusalCode,
    UploadRequest,
};
pub use version::{is_newer_version, versions_fit};
pub use widening::UnconfirmedWidening;

/// The version of the frame protocol that this build speaks, as `hello` and
/// `welcome` name it.
pub const PROTOCOL_VERSION: u32 = 2;

/// The default port of the daemon, the bridge and the extension.
pub const DEFAULT_PORT: u16 = 7890;

/// The path of the extension's WebSocket.
pub const WS_PATH: &str = "/ws";

/// The path at which an extension begins a session, which is its link over HTTP.
pub const SESSION_PATH: &str = "/session";

/// The path of a session's frames in both directions.
pub const FRAMES_PATH: &str = "/frames";

/// The WebSocket subprotocol that both sides must name.
pub const WS_SUBPROTOCOL: &str = "tabwire.v1";

/// The header in which an HTTP caller says which client it is: a label for
/// lists and caps, not an identity.
pub const CLIENT_HEADER: &str = "x-tabwire-client";

/// The header in which a bridge says which browser its client uses and no other: the browser's name
/// in UTF-8, encoded as in an address.
pub const BROWSER_HEADER: &str = "x-tabwire-browser";

/// The client that `tabwire doctor` calls as. No agent reads its answers.
pub const DOCTOR_CLIENT: &str = "doctor";

/// With this header the daemon sends the status and headers of a waiting call as soon as the
/// command is accepted. The value does not matter.
pub const EARLY_HEADER: &str = "x-tabwire-early";

/// The header of such an early answer with the id of the command, which its caller may have to ask for by another
/// call: the rest of the answer can be lost on a long way.
pub const COMMAND_HEADER: &str = "x-tabwire-command";

/// The header with a call's idempotency key. A cancel names the call by the same key. A bridge
/// sets the header on every call that submits a command.
pub const IDEMPOTENCY_HEADER: &str = "x-tabwire-idempotency-key";

/// With this header a stream of notifications also reports the client's jobs. The value does not
/// matter.
pub const JOBS_HEADER: &str = "x-tabwire-jobs";

/// The header in which an HTTP caller chooses its surface of tools: `split,files`, for example. The
/// query parameter `tools` of the path does the same.
pub const TOOLS_HEADER: &str = "x-tabwire-tools";

/// The header in which an HTTP caller says how many ms its calls wait for their results unless they
/// say otherwise.
pub const WAIT_HEADER: &str = "x-tabwire-wait";

/// The header of every answer at `/mcp` with the daemon's [`RunClock`].
pub const CLOCK_HEADER: &str = "x-tabwire-clock";

/// The header in which a caller says by which [`RunClock`] its call must have come, and its command be
/// recorded. Later the daemon refuses it.
pub const BEFORE_HEADER: &str = "x-tabwire-before";

/// The header in which a caller on another machine names the call that this one follows, by its idempotency key: it is
/// taken up after that one.
pub const AFTER_HEADER: &str = "x-tabwire-after";

/// The header in which a bridge on another machine says its version.
pub const BRIDGE_HEADER: &str = "x-tabwire-bridge";

/// The form of an idempotency key, as error messages state it.
pub const IDEMPOTENCY_KEY_FORM: &str = "1 to 128 visible ASCII characters";

/// Whether this can be an idempotency key: [`IDEMPOTENCY_KEY_FORM`].
#[must_use]
pub fn is_idempotency_key(key: &str) -> bool {
    (1..=128).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The extension's id, fixed by `key` in `extension-shim/manifest.json`.
pub const EXTENSION_ID: &str = "cojpnlnglaiojkhnmkknknhgnedlcmlg";

/// Whether this is an extension's id: 32 letters from a to p, as Chromium makes them.
#[must_use]
pub fn is_extension_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| (b'a'..=b'p').contains(&byte))
}

/// The version of this build, as `welcome`, `/health` and MCP report it.
pub const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");
