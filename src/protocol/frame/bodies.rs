//! The bodies of the frames from an extension, each read as a type of its own.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::from_extension::{ActMoment, FromExtension, HeldDialog, ReportedError};
use crate::protocol::{
    AskAnswer, Attempt, BrowserTab, ConsentNeed, CorrelationId, DrawingId, HistoryWish, NackReason,
    PageState, RestoredTab, TabId, WordTakenBack,
};

#[derive(Deserialize)]
pub(super) struct FrameType<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct AttemptFence {
    pub(super) correlation_id: CorrelationId,
    pub(super) attempt: Attempt,
}

#[derive(Deserialize)]
pub(super) struct HoldBody {
    pub(super) correlation_id: CorrelationId,
    pub(super) attempt: Attempt,
    pub(super) need: ConsentNeed,
}

#[derive(Deserialize)]
pub(super) struct ActPictureBody {
    pub(super) correlation_id: CorrelationId,
    pub(super) moment: ActMoment,
    pub(super) jpeg: String,
}

impl From<ActPictureBody> for FromExtension {
    fn from(ActPictureBody { correlation_id, moment, jpeg }: ActPictureBody) -> Self {
        Self::ActPicture { correlation_id, moment, jpeg }
    }
}

#[derive(Deserialize)]
pub(super) struct EventsBody {
    pub(super) stream: String,
    pub(super) entries: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct DrawingIdBody {
    pub(super) drawing_id: DrawingId,
}

#[derive(Deserialize)]
pub(super) struct StopBody {
    pub(super) correlation_id: CorrelationId,
}

#[derive(Deserialize)]
pub(super) struct ConfirmBody {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct NameBody {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct TabOpenedBody {
    pub(super) correlation_id: CorrelationId,
    pub(super) tab_id: TabId,
    #[serde(default)]
    pub(super) private: bool,
}

#[derive(Deserialize)]
pub(super) struct TabCreatedBody {
    pub(super) source_tab_id: TabId,
    pub(super) tab_id: TabId,
}

impl From<HoldBody> for FromExtension {
    fn from(HoldBody { correlation_id, attempt, need }: HoldBody) -> Self {
        Self::Hold { correlation_id, attempt, need }
    }
}

#[derive(Deserialize)]
pub(super) struct SharedTabsBody {
    pub(super) tab_ids: Vec<TabId>,
}

impl From<SharedTabsBody> for FromExtension {
    fn from(SharedTabsBody { tab_ids }: SharedTabsBody) -> Self {
        Self::SharedTabs { tab_ids }
    }
}

impl From<TabOpenedBody> for FromExtension {
    fn from(TabOpenedBody { correlation_id, tab_id, private }: TabOpenedBody) -> Self {
        Self::TabOpened { correlation_id, tab_id, private }
    }
}

impl From<TabCreatedBody> for FromExtension {
    fn from(TabCreatedBody { source_tab_id, tab_id }: TabCreatedBody) -> Self {
        Self::TabCreated { source_tab_id, tab_id }
    }
}

#[derive(Deserialize)]
pub(super) struct TakeTabBody {
    pub(super) tab_id: TabId,
}

#[derive(Deserialize)]
pub(super) struct RestoredTabsBody {
    pub(super) restored: Vec<RestoredTab>,
}

#[derive(Deserialize)]
pub(super) struct AskAnswerBody {
    pub(super) correlation_id: CorrelationId,
    pub(super) answer: AskAnswer,
}

#[derive(Deserialize)]
pub(super) struct KeptWordsBody {
    pub(super) take_back: Option<WordTakenBack>,
}

impl From<KeptWordsBody> for FromExtension {
    fn from(body: KeptWordsBody) -> Self {
        Self::KeptWords { take_back: body.take_back }
    }
}

#[derive(Deserialize)]
pub(super) struct HistoryBody {
    pub(super) wish: HistoryWish,
}

#[derive(Deserialize)]
pub(super) struct StoppedBody {
    pub(super) stopped: bool,
}

impl From<StoppedBody> for FromExtension {
    fn from(StoppedBody { stopped }: StoppedBody) -> Self {
        Self::Stopped { stopped }
    }
}

#[derive(Deserialize)]
pub(super) struct FileCheckBody {
    pub(super) check: u64,
    pub(super) urls: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct TabsBody {
    pub(super) tabs: Vec<BrowserTab>,
}

#[derive(Deserialize)]
pub(super) struct PageStatesBody {
    pub(super) states: Vec<PageState>,
}

#[derive(Deserialize)]
pub(super) struct NackBody {
    pub(super) reason: NackReason,
}

#[derive(Deserialize)]
pub(super) struct PongBody {
    pub(super) t: u64,
}

#[derive(Deserialize)]
pub(super) struct PendingBody {
    #[serde(default)]
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) progress: Option<f64>,
    #[serde(default)]
    pub(super) dialog: Option<HeldDialog>,
}

#[derive(Deserialize)]
pub(super) struct CompleteBody {
    pub(super) result: Box<RawValue>,
    #[serde(default)]
    pub(super) origin: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct FailureBody {
    pub(super) error: ReportedError,
}

#[derive(Deserialize)]
pub(super) struct CancelledBody {
    pub(super) may_have_run: bool,
}
