//! `analyze` `annotations`: a person's drawings on a page. The call returns at once; the
//! drawing is read under its id, however long the person takes.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answers::AnswerSchemas;
use super::brief::DetailLevel;
use super::failure::CallFailure;
use super::result::{CommandAnswer, status};
use super::submit::CommandPlace;
use super::{NowOrLater, ToolReply, ToolResult, ToolSet, read};
use crate::annotations::{
    AnnotationError, AnnotationService, DrawingRequest, DrawingWait, ToolsOpening,
};
use crate::home::{DamagedDrawing, DrawingsError, KeptDrawing};
use crate::hub::{CallRefusal, Caller, CommandLookup, Hub, RequestContext, SubmittedCommand};
use crate::protocol::{
    CommandReport, CorrelationId, DrawingPrompt, PageMark, QueryId, SessionName,
};

pub(super) const NAME: &str = "annotations";

/// Analyses that a person answers.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum PersonAnalysis {
    /// The user's drawings; wait:true asks for one.
    Annotations(AnnotationsArguments),
}

/// The arguments of `annotations`.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct AnnotationsArguments {
    /// Ask the user to draw.
    wait: Option<bool>,
    /// Name that collects drawings on several pages.
    #[schemars(extend("x-rare" = true))]
    session: Option<String>,
    /// list: all drawings; clear: delete those of the session.
    #[schemars(extend("x-rare" = true))]
    manage: Option<DrawingsAction>,
    /// Add computed styles of marked elements.
    #[schemars(extend("x-rare" = true))]
    styles: Option<bool>,
    /// Words in which the user is asked.
    #[schemars(extend("x-rare" = true))]
    prompt: Option<String>,
}

/// Actions on stored drawings.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum DrawingsAction {
    List,
    Clear,
}

/// The arguments of every analysis.
#[derive(Deserialize)]
struct AnnotationsOptions {
    wait_ms: Option<u64>,
    trace: Option<bool>,
    #[serde(flatten)]
    place: CommandPlace,
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    request: RequestContext,
    must_name_tab: bool,
) -> ToolReply {
    let (asked, besides): (AnnotationsArguments, AnnotationsOptions) =
        match (read(given), read(given)) {
            (Ok(PersonAnalysis::Annotations(asked)), Ok(besides)) => (asked, besides),
            (Err(wrong), _) | (_, Err(wrong)) => return ToolReply::done(wrong),
        };
    let Some(annotations) = &tools.annotations else {
        return ToolReply::done(super::stored::no_disk());
    };
    // Before anything else: a bad name must not open drawing tools.
    let session = match asked.session.as_deref().map(SessionName::parse).transpose() {
        Ok(session) => session,
        Err(why) => return ToolReply::done(wrong_session(&why)),
    };
    let prompt = match asked.prompt.as_deref().map(DrawingPrompt::parse).transpose() {
        Ok(prompt) => prompt,
        Err(why) => return ToolReply::done(wrong_prompt(&why)),
    };
    match asked.manage {
        Some(DrawingsAction::List) => return ToolReply::done(list(annotations, caller).await),
        Some(DrawingsAction::Clear) => {
            return ToolReply::done(clear(annotations, caller, session).await);
        }
        None => {}
    }
    // Without `wait` nobody is disturbed: the call reads existing drawings.
    if asked.wait != Some(true) {
        return match annotations.read(caller, session, request).await {
            Ok(Some(submitted)) => finished(&tools.hub, caller, &submitted).await,
            Ok(None) => ToolReply::done(ToolResult::of(&NOTHING)),
            Err(why) => ToolReply::done(not_taken(&why)),
        };
    }
    let wait = Duration::from_millis(besides.wait_ms.unwrap_or(0));
    let with_trace = besides.trace == Some(true);
    let selector = besides.place.into_wish();
    let styles = asked.styles == Some(true);
    let request = DrawingRequest { session, selector, styles, prompt, request, must_name_tab };
    match annotations.ask(caller, request).await {
        Ok(DrawingWait { submitted, opening }) => {
            answer(&tools.hub, caller, submitted, opening, wait, with_trace).await
        }
        Err(why) => ToolReply::done(not_taken(&why)),
    }
}

/// The answer to a call that has asked: the drawing if there is one, or its id.
async fn answer(
    hub: &Hub,
    caller: &Caller,
    submitted: SubmittedCommand,
    opening: Option<ToolsOpening>,
    wait: Duration,
    with_trace: bool,
) -> ToolReply {
    // The drawing tools open either way; the wait is only for the result.
    if !wait.is_zero() {
        let (hub, caller) = (hub.clone(), caller.clone());
        let id = submitted.accepted.id;
        let command = Some(id.clone());
        let outcome = NowOrLater::Later(Box::pin(async move {
            let seen = hub.wait(&caller, &id, wait, with_trace).await;
            ToolResult::of_seen(seen, None, DetailLevel::Full, hub.agent_files())
        }));
        return ToolReply { submitted: command.clone(), waits_for: command, outcome };
    }
    let seen = hub.get(caller, &submitted.accepted.id, false).await;
    if !matches!(&seen, Ok(CommandLookup::Command(report)) if report.is_pending()) {
        return finished(hub, caller, &submitted).await;
    }
    let waiting = waiting(&submitted, opening.as_ref());
    let outcome = NowOrLater::Now(ToolResult::of(&waiting));
    ToolReply { submitted: Some(submitted.accepted.id), waits_for: None, outcome }
}

async fn finished(hub: &Hub, caller: &Caller, submitted: &SubmittedCommand) -> ToolReply {
    let id = &submitted.accepted.id;
    let seen = hub.get(caller, id, false).await;
    let result = ToolResult::of_seen(seen, None, DetailLevel::Full, hub.agent_files());
    ToolReply { submitted: Some(id.clone()), waits_for: None, outcome: NowOrLater::Now(result) }
}

/// The first answer to a call that waits for a person (seed 000).
#[derive(Serialize, JsonSchema)]
struct WaitingForDrawing<'a> {
    status: status::WaitingForUser,
    correlation_id: &'a CorrelationId,
    query_id: &'a QueryId,
    /// The same as `correlation_id`.
    job_id: &'a CorrelationId,
    /// How long people take, as a rule.
    estimated_runtime_seconds: f64,
    /// The state of the drawing tools, if they had to be opened.
    draw_mode: Option<DrawModeView<'a>>,
    /// The present state, and the call that reads the drawing.
    message: String,
}

/// The drawings that are kept.
#[derive(Serialize, JsonSchema)]
struct ListOfDrawings {
    status: status::Ok,
    count: usize,
    drawings: Vec<KeptDrawing>,
    /// Files whose content is damaged.
    damaged: Vec<DamagedFile>,
    page: PageMark,
}

#[derive(Serialize, JsonSchema)]
struct DamagedFile {
    path: PathBuf,
    error: String,
    /// The next step.
    hint: &'static str,
}

/// How many drawings were deleted.
#[derive(Serialize, JsonSchema)]
struct ClearedDrawings {
    status: status::Ok,
    deleted: usize,
}

/// Nothing was drawn yet.
#[derive(Serialize, JsonSchema)]
struct NoDrawings {
    status: status::None,
    annotations: [(); 0],
    /// How to ask for a drawing.
    message: &'static str,
}

/// The schemas of its answers, also of a call that waits.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    let drawn = answers
        .of(super::analyze::NAME, NAME)
        .are::<CommandAnswer>()
        .are::<WaitingForDrawing<'_>>();
    drawn.are::<NoDrawings>().are::<ListOfDrawings>().are::<ClearedDrawings>();
}

fn waiting<'a>(
    submitted: &'a SubmittedCommand,
    opening: Option<&'a ToolsOpening>,
) -> WaitingForDrawing<'a> {
    let accepted = &submitted.accepted;
    let id = &accepted.id;
    let opened = opening.map(DrawModeView::of);
    let how = format!(
        "observe({{what:\"command_result\", correlation_id:\"{id}\"}}) blocks up to 55 s until the \
         drawing is there; repeat the call while the status is pending. Other calls work meanwhile."
    );
    let message = match opened.as_ref().and_then(|opened| opened.why_not()) {
        None => format!("Tabwire asks the user to draw on the page. {how}"),
        Some(why) => format!(
            "The drawing tools are not open yet: {}. The user can open them from the extension's \
             popup, on any page. {how}",
            why.trim_end_matches('.')
        ),
    };
    WaitingForDrawing {
        status: status::WaitingForUser::WaitingForUser,
        correlation_id: id,
        query_id: &accepted.query_id,
        job_id: id,
        estimated_runtime_seconds: accepted.estimate.as_secs_f64(),
        draw_mode: opened,
        message,
    }
}

/// The state of the drawing tools, as the answer shows it.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum DrawModeView<'a> {
    Asked(&'a CommandReport),
    Refused {
        status: status::Refused,
        #[serde(flatten)]
        failure: CallFailure,
    },
    Unknown {},
}

impl<'a> DrawModeView<'a> {
    fn of(opening: &'a ToolsOpening) -> Self {
        match opening {
            ToolsOpening::Asked(CommandLookup::Command(report)) => Self::Asked(report),
            ToolsOpening::Asked(CommandLookup::Evicted(_) | CommandLookup::NotFound) => {
                Self::Unknown {}
            }
            ToolsOpening::Refused(CallRefusal { why, .. }) => Self::Refused {
                status: status::Refused::Refused,
                failure: CallFailure::new(why.code(), why.message(), why.hint()),
            },
        }
    }

    /// The reason that they are not open, if it is known.
    fn why_not(&self) -> Option<String> {
        match self {
            Self::Asked(report) => report.why_not_complete(),
            Self::Refused { failure, .. } => Some(failure.message.clone()),
            Self::Unknown {} => None,
        }
    }
}

async fn list(annotations: &AnnotationService, caller: &Caller) -> ToolResult {
    let list = match annotations.list(&caller.owner).await {
        Ok(list) => list,
        Err(error) => return disk(&error),
    };
    let hint = "The drawing is lost: ask the person to delete that file.";
    let complain = |DamagedDrawing { path, why, .. }| DamagedFile { path, error: why, hint };
    ToolResult::of(&ListOfDrawings {
        status: status::Ok::Ok,
        count: list.drawings.len(),
        drawings: list.drawings,
        damaged: list.damaged.into_iter().map(complain).collect(),
        page: PageMark::any(),
    })
}

async fn clear(
    annotations: &AnnotationService,
    caller: &Caller,
    session: Option<SessionName>,
) -> ToolResult {
    match annotations.clear(&caller.owner, session).await {
        Ok(deleted) => ToolResult::of(&ClearedDrawings { status: status::Ok::Ok, deleted }),
        Err(error) => disk(&error),
    }
}

const NOTHING: NoDrawings = NoDrawings {
    status: status::None::None,
    annotations: [],
    message: "There are no drawings yet. analyze({what:\"annotations\", wait:true}) asks the user.",
};

fn wrong_session(why: &str) -> ToolResult {
    let hint = "Pass a short name such as `checkout`, or omit `session`.";
    CallFailure::of_param("session", format!("invalid `session`: {why}"), hint).into()
}

fn wrong_prompt(why: &str) -> ToolResult {
    let most = DrawingPrompt::MAX_CHARS;
    let hint = format!("Describe the drawing in at most {most} characters, or omit `prompt`.");
    CallFailure::of_param("prompt", format!("invalid `prompt`: {why}"), hint).into()
}

fn not_taken(why: &AnnotationError) -> ToolResult {
    match why {
        AnnotationError::Refused(refused) => ToolResult::refused(refused),
        AnnotationError::Disk(error) => disk(error),
    }
}

fn disk(error: &DrawingsError) -> ToolResult {
    super::stored::unavailable(&error.to_string())
}
