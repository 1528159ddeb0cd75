//! Large values come in parts: this puts one together again.

use anyhow::bail;
use serde_json::{Map, Value};

use super::session::{ToolAnswer, ToolSession};
use crate::protocol::CorrelationId;
use crate::tools::{JoinedParts, LONGEST_PART};

/// Fields that describe a part, and not the whole.
const OF_PART: [&str; 7] = [
    "truncated",
    "offset",
    "next_offset",
    "total_bytes",
    "continued_levels",
    "as_json_text",
    "hint",
];

/// Fields of answers that come in parts as a whole, and that stand in every part.
const OF_EVERY_PART: [&str; 2] = ["page", "notice"];

/// What people drew, in the result of a wait for it.
const ANNOTATIONS: &str = "annotations";

/// Reads on until the answer has its whole value: the result of the command that it is about, or
/// else more of the same call.
pub(super) async fn complete(
    session: &mut ToolSession,
    tool: &str,
    given: &Map<String, Value>,
    answer: &mut ToolAnswer,
) -> anyhow::Result<()> {
    if answer.body["truncated"] != true || !answer.body["next_offset"].is_u64() {
        return Ok(());
    }
    let mut fields = ["result", "data"].into_iter();
    let field = fields.find(|field| answer.body.get(field).is_some());
    let (tool, mut read_on) = match answer.command_id() {
        "" => (tool, given.clone()),
        id => by_id(id),
    };
    if field.is_some() {
        // Larger parts mean fewer calls. Without a value, `limit` may count elements, not bytes.
        read_on.insert("limit".to_owned(), LONGEST_PART.into());
    }
    let mut joined = JoinedParts::default();
    joined.add(&answer.body, part_in(&answer.body, field))?;
    let mut next = answer.body["next_offset"].as_u64();
    while let Some(offset) = next {
        read_on.insert("offset".to_owned(), offset.into());
        let part = session.call(tool, &read_on).await?;
        if part.is_error || field.is_some_and(|field| part.body.get(field).is_none()) {
            bail!("cannot read the rest of the value: {}", part.body);
        }
        joined.add(&part.body, part_in(&part.body, field))?;
        next = part.body["next_offset"].as_u64();
        // A daemon that repeats an offset would keep this loop going forever.
        if next.is_some_and(|next| next <= offset) {
            bail!("the daemon sent no part behind byte {offset}");
        }
    }
    let whole = joined.whole()?;
    if let Some(body) = answer.body.as_object_mut() {
        body.retain(|name, _| !OF_PART.contains(&name.as_str()));
        match (field, whole) {
            (None, Value::Object(fields)) => body.extend(fields),
            (field, whole) => {
                body.insert(field.unwrap_or_default().to_owned(), whole);
            }
        }
    }
    if CorrelationId::from(answer.command_id()).is_annotations() {
        lift_annotations(&mut answer.body);
    }
    answer.is_bare = true;
    Ok(())
}

/// Puts what was drawn beside the result, where it stands in an answer that is not cut.
fn lift_annotations(body: &mut Value) {
    let result = body.get_mut("result").and_then(Value::as_object_mut);
    if let Some(annotations) = result.and_then(|result| result.shift_remove(ANNOTATIONS)) {
        body[ANNOTATIONS] = annotations;
    }
}

/// The part that stands in this field of an answer, or the answer's own fields as a part of it.
fn part_in(body: &Value, field: Option<&str>) -> Value {
    let Some(field) = field else {
        let is_own = |name: &str| !OF_PART.contains(&name) && !OF_EVERY_PART.contains(&name);
        let fields = body.as_object().into_iter().flatten();
        let own = fields.filter(|(name, _)| is_own(name));
        return own.map(|(name, value)| (name.clone(), value.clone())).collect();
    };
    body[field].clone()
}

/// The call that reads a command's result.
fn by_id(id: &str) -> (&'static str, Map<String, Value>) {
    let mut look = Map::new();
    look.insert("what".to_owned(), "command_result".into());
    look.insert("correlation_id".to_owned(), id.into());
    ("observe", look)
}
