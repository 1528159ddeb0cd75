//! `analyze`: looks at a page and says what is there. It touches nothing.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::annotations::{self, ByPerson};
use super::answers::{Answers, FAILED};
use super::arguments::Arguments;
use super::brief::{BriefFailure, BriefReport};
use super::failure::{Failure, NotFound, RefusedCall};
use super::result::Told;
use super::submit::{Asked, Common, InPlace, Queued};
use super::{Call, ToolResult, Tools, read};
use crate::hub::Caller;
use crate::protocol::{Action, PageAnalysis};

pub(super) const NAME: &str = "analyze";

pub(super) const DESCRIPTION: &str = "Looks at a page and waits for the result.";

pub(super) static ARGUMENTS: LazyLock<Arguments> =
    LazyLock::new(|| Arguments::of::<PageAnalysis, Parameters>("what").and::<ByPerson>());

/// How long a call blocks unless it says otherwise: who looks at a page wants to know now.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// What every analysis takes.
#[derive(Deserialize, JsonSchema)]
struct Parameters {
    /// Default 10000.
    #[schemars(range(min = 0, max = 55_000))]
    wait_ms: Option<u64>,
    /// Add ids and times.
    trace: Option<bool>,
    #[serde(flatten)]
    place: InPlace,
}

/// What its answers look like, also those of a call that does not wait.
pub(super) fn answers(answers: &mut Answers) {
    answers.of(NAME, "").are::<Queued<'_>>().are::<Told>().are::<BriefReport>();
    annotations::answers(answers);
    let failed = answers.of(NAME, FAILED).are::<BriefFailure>();
    failed.are::<Failure>().are::<RefusedCall>().are::<NotFound>().are::<Told>();
}

pub(super) async fn call(
    tools: &Tools,
    caller: &Caller,
    given: &Map<String, Value>,
    key: Option<Arc<str>>,
) -> Call {
    if given.get("what").and_then(Value::as_str) == Some(annotations::NAME) {
        return annotations::call(tools, caller, given, key).await;
    }
    match asked(given, key) {
        Ok(asked) => asked.submit(tools, caller).await,
        Err(wrong) => Call::done(wrong),
    }
}

/// Reads a call's arguments. `key` is for one that has no idempotency key in them.
fn asked(given: &Map<String, Value>, key: Option<Arc<str>>) -> Result<Asked, ToolResult> {
    let (Parameters { wait_ms, trace, place }, analysis): (_, PageAnalysis) =
        (read(given)?, read(given)?);
    let wait = wait_ms.map_or(DEFAULT_WAIT, Duration::from_millis);
    Common::without_key(place, trace).ask_for(Action::Analyze(analysis), wait, key)
}
