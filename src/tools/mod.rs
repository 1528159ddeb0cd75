//! The MCP tools over the hub: their names, schemas and calls. No HTTP, no
//! JSON-RPC.

mod analyze;
mod annotations;
#[cfg(test)]
mod answer_outline;
mod answers;
#[cfg(test)]
mod argument_types;
mod arguments;
mod asks;
mod batch;
mod brief;
mod call_text;
mod configure;
mod failure;
mod far_owners;
mod har;
mod interact;
mod job_view;
mod jobs;
mod joined_parts;
mod json_elements;
mod noise;
mod notice;
mod observe;
mod page_line;
mod parts;
mod picture;
mod picture_size;
mod result;
mod retry;
mod run;
mod sites;
mod split;
mod stored;
mod streams;
mod submit;
mod surface;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::admission::PollerAdmission;
use crate::annotations::AnnotationService;
use crate::home::{NoiseFiles, ValueStore};
use crate::hub::{Caller, Hub, RequestContext};
use crate::jobs::JobRunner;
use crate::protocol::actions::{ActionSpec, ActionTool};
use crate::protocol::{Action, CorrelationId};
use crate::sites::LiveSiteRules;
use crate::uploads::UploadService;
use answers::{AnswerSchemas, FAILED};
use arguments::arguments_of;
pub use arguments::closest;
pub use brief::DetailLevel;
pub use call_text::{CallInText, with_calls_as, with_calls_of};
pub use failure::lost_call;
use failure::{CallFailure, LostCall};
pub use job_view::JobView;
pub use joined_parts::{JoinedParts, UnfitParts};
pub use parts::LONGEST_PART;
pub use picture::{InlinePicture, PictureFile, pictures_of};
pub use result::{FAILED_STATUSES, PENDING_STATUSES, ToolResult};
pub use retry::{RetriedCommand, RetryRefusal};
use split::SplitTool;
pub use split::{choice_of, parameter};
pub use surface::{SurfaceError, ToolSurface};

/// The tools, with the parts of the daemon that they use. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolSet {
    hub: Hub,
    default_wait: Duration,
    /// The files of `configure store`.
    store: Option<ValueStore>,
    /// Where noise rules outlive the daemon.
    noise: Option<NoiseFiles>,
    /// The runner of jobs.
    jobs: Option<JobRunner>,
    /// People's drawings.
    annotations: Option<AnnotationService>,
    /// Which sites may be used.
    sites: Option<LiveSiteRules>,
    /// Copies of files for pages.
    uploads: Option<UploadService>,
    /// Which extensions that only poll are let in.
    admission: Option<PollerAdmission>,
}

/// One tool as `tools/list` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolDefinition {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    input_schema: Value,
    /// The schema of every answer, failures included.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    annotations: Value,
    /// Whether it can return before its work is done. SDK clients drop fields that they
    /// do not know, so it stands in `_meta` as well.
    #[serde(rename = "async", skip_serializing_if = "std::ops::Not::not")]
    is_async: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

/// The reply to a tool call.
pub struct ToolReply {
    /// The command that it submitted.
    pub submitted: Option<CorrelationId>,
    /// The command whose end it waits for.
    pub waits_for: Option<CorrelationId>,
    /// Its result. To drop one that comes later ends the wait, not the command.
    pub outcome: NowOrLater<ToolResult>,
}

/// How a call hears of the command that it submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseMode {
    /// It waits as long as its arguments say.
    Usual,
    /// It never waits: its caller follows the command.
    AsTask,
}

/// A value that is there now, or that a future brings.
pub enum NowOrLater<T> {
    /// It is there.
    Now(T),
    /// It takes a while.
    Later(BoxFuture<'static, T>),
}

impl ToolReply {
    /// A call that is done, and has submitted nothing.
    const fn done(result: ToolResult) -> Self {
        Self { submitted: None, waits_for: None, outcome: NowOrLater::Now(result) }
    }

    /// The same call, whose result this changes.
    fn map(self, change: impl FnOnce(ToolResult) -> ToolResult + Send + 'static) -> Self {
        let outcome = match self.outcome {
            NowOrLater::Now(result) => NowOrLater::Now(change(result)),
            NowOrLater::Later(result) => NowOrLater::Later(result.map(change).boxed()),
        };
        Self { outcome, ..self }
    }
}

/// The names of the five tools, in their order.
const TOOL_NAMES: [&str; 5] =
    [interact::NAME, observe::NAME, analyze::NAME, configure::NAME, jobs::NAME];

/// The tool of the five of this name.
fn tool_of_five(name: &str) -> Option<&'static str> {
    TOOL_NAMES.into_iter().find(|known| *known == name)
}

static TOOLS: LazyLock<[ToolDefinition; 5]> = LazyLock::new(|| {
    [
        ToolDefinition {
            name: interact::NAME,
            title: "Act in the browser",
            description: interact::DESCRIPTION,
            input_schema: arguments_of(interact::NAME).schema(),
            output_schema: None,
            annotations: json!({
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
                "openWorldHint": true,
            }),
            is_async: true,
            meta: Some(json!({"tabwire/async": true})),
        },
        ToolDefinition {
            name: observe::NAME,
            title: "Read results",
            description: observe::DESCRIPTION,
            input_schema: arguments_of(observe::NAME).schema(),
            output_schema: None,
            annotations: json!({"readOnlyHint": true, "openWorldHint": true}),
            is_async: false,
            meta: None,
        },
        ToolDefinition {
            name: analyze::NAME,
            title: "Analyze a page",
            description: analyze::DESCRIPTION,
            input_schema: arguments_of(analyze::NAME).schema(),
            output_schema: None,
            // `manage` can delete drawings.
            annotations: json!({
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
                "openWorldHint": true,
            }),
            is_async: true,
            meta: Some(json!({"tabwire/async": true})),
        },
        ToolDefinition {
            name: configure::NAME,
            title: "Manage",
            description: configure::DESCRIPTION,
            input_schema: arguments_of(configure::NAME).schema(),
            output_schema: None,
            annotations: json!({
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
                "openWorldHint": false,
            }),
            is_async: false,
            meta: None,
        },
        ToolDefinition {
            name: jobs::NAME,
            title: "Sync files",
            description: jobs::DESCRIPTION,
            input_schema: arguments_of(jobs::NAME).schema(),
            output_schema: Some(json!({
                "type": "object",
                "properties": {
                    "success": {"type": "boolean"}, "data": {"type": "object"}, "messages": {"type": "array"},
                },
            })),
            annotations: json!({
                "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false,
            }),
            is_async: true,
            meta: Some(json!({"tabwire/async": true})),
        },
    ]
});

/// All tools, in their fixed order, as `tools/list` shows them.
#[must_use]
pub fn list() -> &'static Value {
    static LIST: LazyLock<Value> =
        LazyLock::new(|| serde_json::to_value(&*TOOLS).unwrap_or_default());
    &LIST
}

/// The JSON Schema of the answers, one definition for each kind of call.
#[must_use]
pub fn answers() -> &'static Value {
    static ANSWERS: LazyLock<Value> = LazyLock::new(|| {
        let mut answers = AnswerSchemas::new();
        interact::answers(&mut answers);
        observe::answers(&mut answers);
        analyze::answers(&mut answers);
        configure::answers(&mut answers);
        jobs::answers(&mut answers);
        // A call of another machine can be lost on its way, whatever it asks for.
        for tool in [interact::NAME, observe::NAME, analyze::NAME, configure::NAME] {
            answers.of(tool, FAILED).are::<LostCall>();
        }
        answers.document()
    });
    &ANSWERS
}

/// Whether calls of this tool begin jobs of the daemon's own.
#[must_use]
pub fn begins_job(tool: &str) -> bool {
    tool == jobs::NAME
}

/// Whether a call of this tool submits a command.
#[must_use]
pub fn submits(tool: &str) -> bool {
    choice_of(tool).is_some_and(|(tool, _)| submits_commands(tool) || begins_job(tool))
}

/// Whether calls of this tool change nothing, and so can be made twice.
#[must_use]
pub fn only_reads(tool: &str) -> bool {
    choice_of(tool).is_some_and(|(tool, _)| tool == observe::NAME)
}

/// Whether answers of this tool tell of a command: of the one that the call submits, or of an earlier
/// one.
#[must_use]
pub fn tells_of_commands(tool: &str) -> bool {
    match choice_of(tool) {
        Some((observe::NAME, choice)) => {
            choice.is_none_or(|choice| choice == observe::COMMAND_RESULT)
        }
        Some((tool, _)) => submits_commands(tool) || begins_job(tool),
        None => false,
    }
}

/// Whether calls of this tool of the five submit commands for a browser or a person.
fn submits_commands(tool: &str) -> bool {
    matches!(tool, interact::NAME | analyze::NAME)
}

/// The tool of the five that offers an action; `None`: only the daemon asks for it.
const fn tool_of_action(spec: &ActionSpec) -> Option<&'static str> {
    match spec.tool {
        ActionTool::Interact => Some(interact::NAME),
        ActionTool::Analyze => Some(analyze::NAME),
        ActionTool::Daemon => None,
    }
}

/// Whether a call of this tool with these arguments reads the result of another call's command.
#[must_use]
pub fn reads_result(tool: &str, given: &Map<String, Value>) -> bool {
    match choice_of(tool) {
        Some((_, Some(choice))) => choice == observe::COMMAND_RESULT,
        Some((_, None)) => given.get("what").is_some_and(|what| what == observe::COMMAND_RESULT),
        None => false,
    }
}

/// How long a call with these arguments may block, if it blocks. Callers with a time limit of
/// their own need it.
#[must_use]
pub fn longest_wait(tool: &str, given: &Value, surface: &ToolSurface) -> Option<Duration> {
    let asked = given["wait_ms"].as_u64().map(Duration::from_millis);
    let usual = || split::usual_wait(tool, surface);
    asked.or_else(usual).or_else(|| observe::usual_wait_of(tool, given))
}

impl ToolSet {
    /// Tools that work on this hub. `default_wait` is how long `interact` blocks for
    /// the result unless the call says otherwise.
    #[must_use]
    pub const fn new(hub: Hub, default_wait: Duration) -> Self {
        let (store, noise, jobs) = (None, None, None);
        let (annotations, sites, uploads, admission) = (None, None, None, None);
        Self { hub, default_wait, store, noise, jobs, annotations, sites, uploads, admission }
    }

    /// The same tools, with files for the values that agents store. Without them `store` fails.
    #[must_use]
    pub fn with_store(self, store: ValueStore) -> Self {
        Self { store: Some(store), ..self }
    }

    /// The same tools, with a place for noise rules; those that are there hold from here on.
    /// Without one they go with the daemon.
    #[must_use]
    pub fn with_noise(self, files: NoiseFiles) -> Self {
        let owners = files.owners().unwrap_or_else(|why| {
            tracing::warn!(%why, "noise rules cannot be read");
            Vec::new()
        });
        for owner in owners {
            match files.load(&owner) {
                Ok(rules) => self.hub.set_noise(&owner, rules),
                // One damaged file must not keep the daemon from starting.
                Err(why) => {
                    tracing::warn!(%why, "noise rules are not used: correct or delete the file");
                }
            }
        }
        Self { noise: Some(files), ..self }
    }

    /// The same tools, with people's drawings. Without them nobody is asked to draw.
    #[must_use]
    pub fn with_annotations(self, annotations: AnnotationService) -> Self {
        Self { annotations: Some(annotations), ..self }
    }

    /// The same tools, with the rules which sites may be used. Without, none can be made.
    #[must_use]
    pub fn with_sites(self, sites: LiveSiteRules) -> Self {
        Self { sites: Some(sites), ..self }
    }

    /// The same tools, which tell agents of extensions that only poll. Without, they do not.
    #[must_use]
    pub fn with_admission(self, admission: PollerAdmission) -> Self {
        Self { admission: Some(admission), ..self }
    }

    /// The same tools, with copies of files for pages. Without, no page gets a file.
    #[must_use]
    pub fn with_uploads(self, uploads: UploadService) -> Self {
        Self { uploads: Some(uploads), ..self }
    }

    /// Copies of files for pages, if the daemon makes any.
    #[must_use]
    pub const fn uploads(&self) -> Option<&UploadService> {
        self.uploads.as_ref()
    }

    /// Which sites may be used, if rules can be kept.
    #[must_use]
    pub const fn sites(&self) -> Option<&LiveSiteRules> {
        self.sites.as_ref()
    }

    /// People's drawings, if the daemon can keep them.
    #[must_use]
    pub const fn annotations(&self) -> Option<&AnnotationService> {
        self.annotations.as_ref()
    }

    /// The same tools, with a runner of jobs. Without it no job begins.
    #[must_use]
    pub fn with_jobs(self, jobs: JobRunner) -> Self {
        Self { jobs: Some(jobs), ..self }
    }

    /// The hub that they work on.
    #[must_use]
    pub const fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Calls a tool, by its name on either surface. `None`: there is none of that name.
    ///
    /// When this returns, a command that was submitted is accepted, recorded and on its way.
    pub async fn call(
        &self,
        caller: &Caller,
        name: &str,
        given: Map<String, Value>,
        request: RequestContext,
        mode: ResponseMode,
        surface: &ToolSurface,
    ) -> Option<ToolReply> {
        let split = SplitTool::named(name);
        let tool = split.map(SplitTool::tool).or_else(|| tool_of_five(name))?;
        // Before the arguments are checked: checking costs time too.
        if let Err(refused) = self.hub.admit(caller).await {
            return Some(ToolReply::done(ToolResult::refused(&refused)));
        }
        let given = match split {
            Some(split) => split.arguments(given),
            None => Ok(given),
        };
        let given = given.and_then(|given| arguments_of(tool).check(given));
        let given = given.and_then(|given| {
            self.check_far(caller, tool, &given)?;
            Ok(given)
        });
        let mut given = match given {
            Ok(checked) => checked,
            Err(wrong) => {
                let told = call_text::with_steps_of(ToolResult::failed(&wrong), surface);
                return Some(ToolReply::done(told));
            }
        };
        if mode == ResponseMode::AsTask && submits_commands(tool) {
            // The client polls its task; a wait here would hold the task's id back.
            given.insert("wait_ms".to_owned(), 0.into());
        } else if let Some(wait) =
            split::usual_wait(name, surface).filter(|_| !asks::is_ask(&given))
        {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            given.entry("wait_ms").or_insert_with(|| wait.into());
        }
        let reply = self.call_of_five(caller, tool, &given, request, split.is_some()).await;
        let (hub, by) = (self.hub.clone(), caller.clone());
        // Meanwhile the person may have disconnected the owner: then nothing is told any more.
        let reply = reply.map(move |result| match hub.refusal_of_removed(&by) {
            Some(refused) => ToolResult::refused(&refused),
            None => result,
        });
        if !surface.is_split() {
            return Some(reply);
        }
        let surface = surface.clone();
        Some(reply.map(move |result| call_text::with_steps_of(result, &surface)))
    }

    /// Calls a tool of the five with arguments that were checked. `is_split`: the caller is to tell its
    /// tabs apart.
    async fn call_of_five(
        &self,
        caller: &Caller,
        tool: &str,
        given: &Map<String, Value>,
        request: RequestContext,
        is_split: bool,
    ) -> ToolReply {
        let call = match tool {
            interact::NAME if asks::is_ask(given) => {
                let call = asks::call(self, caller, given, request, is_split).await;
                return self.with_notice(caller, call);
            }
            interact::NAME if run::is_run(given) => {
                let call = run::call(self, caller, given, request, is_split).await;
                return self.with_notice(caller, call);
            }
            interact::NAME => {
                let call = interact::call(self, caller, given, request, is_split).await;
                return self.with_notice(caller, call);
            }
            analyze::NAME => {
                let call = analyze::call(self, caller, given, request, is_split).await;
                return self.with_notice(caller, call);
            }
            jobs::NAME => return jobs::call(self, caller, given, request).await,
            observe::NAME => observe::call(self, caller, given, is_split).await,
            _ => configure::call(self, caller, given, is_split).await,
        };
        // An answer may tell of a change, so the change must be recorded before the answer goes
        // out.
        if matches!(call.outcome, NowOrLater::Now(_)) {
            self.hub.flush_journal().await;
        }
        self.with_notice(caller, call)
    }
}

/// Reads the action that checked arguments select.
fn read_action(given: &Map<String, Value>, tool: ActionTool) -> Result<Action, ToolResult> {
    let name = given.get(tool.selector()).and_then(Value::as_str).unwrap_or_default();
    let unknown = || <serde_json::Error as serde::de::Error>::custom("it names no action");
    let action = Action::of_params(name, given).unwrap_or_else(|| Err(unknown()));
    action.map_err(|error| not_read(&error))
}

/// Reads arguments that were checked against the same types' schema.
fn read<T: serde::de::DeserializeOwned>(given: &Map<String, Value>) -> Result<T, ToolResult> {
    T::deserialize(given).map_err(|error| not_read(&error))
}

fn not_read(error: &serde_json::Error) -> ToolResult {
    let hint = "Correct the argument; the tool's inputSchema describes it.";
    CallFailure::new("invalid_argument", error.to_string(), hint).into()
}
