//! What a tool call answers: the same JSON as data and as text, and pictures as
//! pictures.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::failure::{Failure, NotFound, RefusedCall};
use super::job_view::JobView;
use crate::home::AgentFiles;
use crate::hub::{Refusal, Refused, Seen};
use crate::lifecycle::Gone;
use crate::protocol::{
    CommandReport, CorrelationId, Moment, Status, WorkKind, floor_escape_boundary,
    next_escape_boundary,
};

/// The longest result, in bytes of JSON, that one answer carries: more would flood the
/// model's context.
const LONGEST: usize = 64 * 1024;

/// The largest picture of a drawing that goes along, in bytes; a larger one is only named.
/// Model APIs take 5 MB of base64.
const LARGEST_SHOWN: u64 = 3 * 1024 * 1024;

/// What a tool call answers.
#[derive(Debug)]
pub struct ToolResult {
    /// The answer as JSON.
    pub body: Box<RawValue>,
    /// Whether the call failed.
    pub is_error: bool,
    /// A picture that goes with it.
    pub picture: Option<Picture>,
    /// The command whose outcome this hands over: read, once it is on the caller's
    /// socket.
    pub hands_over: Option<CorrelationId>,
    /// Whether it was not taken for want of the browser that it is for.
    pub lacks_browser: bool,
}

/// A picture, as MCP shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Picture {
    /// Its bytes in base64.
    pub data: String,
    /// Its format.
    pub mime_type: String,
}

/// The words that an answer's `status` can be, each a type, so that its schema names it.
pub(super) mod status {
    macro_rules! words {
        ($($word:ident)*) => {$(
            #[derive(Clone, Copy, serde::Serialize, schemars::JsonSchema)]
            #[serde(rename_all = "snake_case")]
            #[schemars(inline)]
            pub(in crate::tools) enum $word { $word }
        )*};
    }

    words! { Deleted Expired None NotFound Ok Queued Refused Stored WaitingForUser }
}

/// Which part of a large result is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    offset: usize,
    limit: usize,
}

impl Part {
    /// The part that a call asks for, if it asks for one.
    pub(super) fn asked_for(offset: Option<usize>, limit: Option<usize>) -> Option<Self> {
        (offset.is_some() || limit.is_some()).then(|| Self {
            offset: offset.unwrap_or(0),
            limit: limit.unwrap_or(LONGEST).min(LONGEST),
        })
    }
}

/// What is said of JSON that was cut.
#[derive(Serialize, JsonSchema)]
pub(super) struct Cut {
    /// Whether something is missing before or behind this part.
    truncated: bool,
    /// Where this part begins, in bytes.
    offset: usize,
    /// Where to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// How long the whole is.
    total_bytes: usize,
    /// What names the whole.
    result_ref: Arc<str>,
    /// How to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What the parts of a large text belong to.
pub(super) struct Whole<'a> {
    /// The field of the answer that it stands in.
    pub(super) field: &'a str,
    /// What names it.
    pub(super) name: Arc<str>,
    /// The call that reads on, but for the offset and what closes it.
    pub(super) read_on: String,
}

/// What is told of a command.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Told {
    /// Its result was cut: a part of its JSON text.
    Cut {
        #[serde(flatten)]
        report: CommandReport,
        #[serde(flatten)]
        cut: Cut,
    },
    /// A job that is over.
    Job {
        #[serde(flatten)]
        report: CommandReport,
        #[serde(flatten)]
        job: JobView,
    },
    /// A wait that a drawing has ended.
    Drawn {
        #[serde(flatten)]
        report: CommandReport,
        /// What was drawn, as the extension sent it.
        annotations: Vec<Map<String, Value>>,
    },
    /// Any other.
    Whole(Box<CommandReport>),
    /// One whose record is gone.
    Gone {
        status: status::Expired,
        error: &'static str,
        expired_at: Moment,
        reason: &'static str,
        hint: &'static str,
        /// Whether it may have begun in the page.
        may_have_run: bool,
    },
}

impl ToolResult {
    /// A call that worked.
    pub(super) fn of<T: Serialize + JsonSchema>(body: &T) -> Self {
        let body = to_raw_value(body).unwrap_or_default();
        Self { body, is_error: false, picture: None, hands_over: None, lacks_browser: false }
    }

    /// A call that failed.
    pub(super) fn failed<T: Serialize + JsonSchema>(body: &T) -> Self {
        Self { is_error: true, ..Self::of(body) }
    }

    /// A call that was not taken.
    #[must_use]
    pub fn refused(refused: &Refused) -> Self {
        let lacks_browser = matches!(refused.why, Refusal::BrowserGone { .. });
        Self { lacks_browser, ..Self::failed(&RefusedCall::of(refused)) }
    }

    /// The answer to a call that waited for a command and was cancelled. Its client does
    /// not look at it; the carrier must get one all the same.
    pub(crate) fn cancelled_wait() -> Self {
        let message = "This call was cancelled; the command that it waited for goes on";
        let hint = "observe({what:\"command_result\", correlation_id}) waits for it again.";
        Failure::new("call_cancelled", message, hint).into()
    }

    /// The answer to a call that submitted a command and waited for it: if the command
    /// failed, so did the call.
    #[must_use]
    pub fn of_own_command(seen: Seen, files: Option<&AgentFiles>) -> Self {
        let failed = match &seen {
            Seen::Command(report) => match report.status {
                Status::Error { .. } | Status::Timeout { .. } | Status::Expired { .. } => true,
                Status::Pending { .. } | Status::Complete { .. } | Status::Cancelled { .. } => {
                    false
                }
            },
            Seen::Gone(_) | Seen::NotFound => true,
        };
        let result = Self::of_command(seen, None, files);
        Self { is_error: failed, ..result }
    }

    /// What is known of a command, if it can be told.
    pub(super) fn of_seen(
        seen: Result<Seen, Refused>,
        part: Option<Part>,
        files: Option<&AgentFiles>,
    ) -> Self {
        match seen {
            Ok(seen) => Self::of_command(seen, part, files),
            Err(refused) => Self::refused(&refused),
        }
    }

    /// What is known of a command. Its picture goes to a file if that was asked for.
    fn of_command(seen: Seen, part: Option<Part>, files: Option<&AgentFiles>) -> Self {
        match seen {
            Seen::Command(report) => Self::of_report(*report, part, files),
            Seen::Gone(gone) => Self::of(&Told::of_gone(&gone)),
            Seen::NotFound => Self::failed(&NotFound::command()),
        }
    }

    fn of_report(
        mut report: CommandReport,
        part: Option<Part>,
        files: Option<&AgentFiles>,
    ) -> Self {
        let id = report.correlation_id.clone();
        let is_over = !matches!(report.status, Status::Pending { .. });
        let picture = take_picture(&mut report, files).or_else(|| newest_drawing(&report));
        let job = (report.kind == WorkKind::Job).then(|| JobView::of(&report.status)).flatten();
        let told = match (cut_report(report, part), job) {
            (Ok(cut), _) => cut,
            (Err(whole), Some(job)) => Told::Job { report: *whole, job },
            (Err(whole), None) => take_annotations(*whole).unwrap_or_else(Told::Whole),
        };
        let result = Self::of(&told);
        Self { picture, hands_over: is_over.then_some(id), ..result }
    }
}

impl Told {
    fn of_gone(gone: &Gone) -> Self {
        Self::Gone {
            status: status::Expired::Expired,
            error: Gone::REASON.message(),
            expired_at: gone.at,
            reason: Gone::REASON.code(),
            hint: Gone::REASON.hint(),
            may_have_run: gone.may_have_run,
        }
    }
}

/// Takes the annotations out of the result of a wait for drawings: they stand beside it.
fn take_annotations(mut report: CommandReport) -> Result<Told, Box<CommandReport>> {
    let kind = report.kind;
    let Status::Complete { result, .. } = &mut report.status else { return Err(report.into()) };
    if kind != WorkKind::Annotations {
        return Err(report.into());
    }
    let Ok(mut rest) = serde_json::from_str::<Map<String, Value>>(result.get()) else {
        return Err(report.into());
    };
    let annotations = rest.shift_remove("annotations").unwrap_or_default();
    let Ok(annotations) = serde_json::from_value(annotations) else { return Err(report.into()) };
    *result = to_raw_value(&rest).unwrap_or_default().into();
    Ok(Told::Drawn { report, annotations })
}

/// The screenshot of the drawing that came last, unless it is too large to be shown.
fn newest_drawing(report: &CommandReport) -> Option<Picture> {
    let (WorkKind::Annotations, Status::Complete { result, .. }) = (report.kind, &report.status)
    else {
        return None;
    };
    let drawn: Drawn = serde_json::from_str(result.get()).ok()?;
    let path = PathBuf::from(drawn.pages.last()?.screenshot.as_ref()?);
    if fs::metadata(&path).ok()?.len() > LARGEST_SHOWN {
        return None;
    }
    let is_png = path.extension().is_some_and(|extension| extension == "png");
    let mime_type = if is_png { "image/png" } else { "image/jpeg" }.to_owned();
    Some(Picture { data: STANDARD.encode(fs::read(&path).ok()?), mime_type })
}

/// What must be known of the result of a wait for drawings to show the last one.
#[derive(Deserialize)]
struct Drawn {
    pages: Vec<DrawnPage>,
}

#[derive(Deserialize)]
struct DrawnPage {
    screenshot: Option<String>,
}

/// Cuts a result that is too long, or out of which a part was asked for. `Err`: it
/// stays whole.
fn cut_report(mut report: CommandReport, part: Option<Part>) -> Result<Told, Box<CommandReport>> {
    let id = &report.correlation_id;
    let Status::Complete { result, .. } = &mut report.status else { return Err(report.into()) };
    let whole = Whole {
        field: "result",
        name: id.as_str().into(),
        read_on: format!("observe({{what:\"command_result\", correlation_id:\"{id}\""),
    };
    let Some((text, cut)) = cut(result, part, whole) else { return Err(report.into()) };
    *result = text.into();
    Ok(Told::Cut { report, cut })
}

/// The part of a JSON text that is to be answered, as a string. `None`: all of it, as it is.
pub(super) fn cut(
    json: &RawValue,
    part: Option<Part>,
    whole: Whole<'_>,
) -> Option<(Box<RawValue>, Cut)> {
    let text = json.get();
    if part.is_none() && text.len() <= LONGEST {
        return None;
    }
    let Part { offset, limit } = part.unwrap_or(Part { offset: 0, limit: LONGEST });
    let from = floor_escape_boundary(text, offset);
    let mut to = floor_escape_boundary(text, from.saturating_add(limit));
    if to == from && from < text.len() {
        // At least one character, or reading on would never end.
        to = next_escape_boundary(text, from);
    }
    let Whole { field, name, read_on } = whole;
    let next_offset = (to < text.len()).then_some(to);
    let hint = next_offset.map(|next| {
        format!("`{field}` is a part of the JSON text. Read on with {read_on}, offset:{next}}}).")
    });
    let cut = Cut {
        truncated: next_offset.is_some() || from > 0,
        offset: from,
        next_offset,
        total_bytes: text.len(),
        result_ref: name,
        hint,
    };
    to_raw_value(&text[from..to]).ok().map(|text| (text, cut))
}

/// Takes the picture out of a screenshot's result; its description stays.
fn take_picture(report: &mut CommandReport, files: Option<&AgentFiles>) -> Option<Picture> {
    if report.command != "screenshot" {
        return None;
    }
    let Status::Complete { result, .. } = &mut report.status else { return None };
    let mut whole: Map<String, Value> = serde_json::from_str(result.get()).ok()?;
    let value = whole.get_mut("value")?;
    let picture: Picture = serde_json::from_value(value.clone()).ok()?;
    let saved = report.picture_path.as_deref().map(|name| picture.save(name, files));
    value["data"] = "(shown as image content)".into();
    match &saved {
        Some(Ok(path)) => {
            value["data"] = "(in the file)".into();
            value["path"] = json!(path);
        }
        Some(Err(why)) => value["save_error"] = why.as_str().into(),
        None => {}
    }
    let is_saved = matches!(saved, Some(Ok(_)));
    *result = to_raw_value(&whole).ok()?.into();
    (!is_saved).then_some(picture)
}

impl Picture {
    /// Writes it to a new file below a folder that is open to agents; the file's path, or why it
    /// is not written and what to do.
    fn save(&self, name: &str, files: Option<&AgentFiles>) -> Result<PathBuf, String> {
        let files = files.ok_or("this daemon writes no files")?;
        let bytes = STANDARD.decode(&self.data).map_err(|error| error.to_string())?;
        files.write(name, &bytes).map_err(|error| {
            let open = files.open_folders().unwrap_or_default();
            format!("cannot write {name}: {error}. {}", error.hint(&open))
        })
    }
}
