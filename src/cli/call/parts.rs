//! Large values come in parts: this puts one together again.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use super::session::{ToolAnswer, ToolSession};

/// The largest part that can be asked for, in bytes.
const LARGEST: u64 = 65_536;

/// Fields that describe a part, and not the whole.
const OF_PART: [&str; 6] =
    ["truncated", "offset", "next_offset", "total_bytes", "fragment_of", "hint"];

/// Reads on until the answer has its whole value: the result of the command that it is about, or
/// else more of the same call.
pub(super) async fn complete(
    session: &mut ToolSession,
    tool: &str,
    given: &Map<String, Value>,
    answer: &mut ToolAnswer,
) -> anyhow::Result<()> {
    let is_cut = answer.body["truncated"] == true && answer.body["next_offset"].is_u64();
    let mut fields = ["result", "data"].into_iter();
    let field = fields.find(|field| is_cut && answer.body.get(field).is_some());
    let Some(field) = field else { return Ok(()) };
    let (tool, mut read_on) = match answer.command_id() {
        "" => (tool, given.clone()),
        id => by_id(id),
    };
    let mut joined = JoinedParts::default();
    joined.add(&answer.body, field)?;
    let mut next = answer.body["next_offset"].as_u64();
    while let Some(offset) = next {
        read_on.insert("offset".to_owned(), offset.into());
        read_on.insert("limit".to_owned(), LARGEST.into());
        let part = session.call(tool, &read_on).await?;
        if part.is_error || part.body.get(field).is_none() {
            bail!("the rest of the value is gone: {}", part.body);
        }
        joined.add(&part.body, field)?;
        next = part.body["next_offset"].as_u64();
        if next.is_some_and(|next| next <= offset) {
            bail!("the parts of the value do not go on behind byte {offset}");
        }
    }
    let whole = joined.whole()?;
    if let Some(body) = answer.body.as_object_mut() {
        body.retain(|name, _| !OF_PART.contains(&name.as_str()));
        body.insert(field.to_owned(), whole);
    }
    answer.is_bare = true;
    Ok(())
}

/// The call that reads a command's result.
fn by_id(id: &str) -> (&'static str, Map<String, Value>) {
    let mut look = Map::new();
    look.insert("what".to_owned(), "command_result".into());
    look.insert("correlation_id".to_owned(), id.into());
    ("observe", look)
}

/// The parts of a value so far. A text comes as texts, a list as lists, an object as objects; only
/// an element that is longer than a part comes as pieces of its JSON text.
#[derive(Default)]
struct JoinedParts {
    whole: Option<Value>,
    /// The element that comes in pieces, by the place where it begins.
    element: Option<(u64, String)>,
}

impl JoinedParts {
    /// Adds the part that an answer has in this field.
    fn add(&mut self, answer: &Value, field: &str) -> anyhow::Result<()> {
        let fragment_of = answer["fragment_of"].as_u64();
        if self.element.as_ref().is_some_and(|(open, _)| Some(*open) != fragment_of) {
            self.close_element()?;
        }
        match fragment_of {
            Some(begin) => {
                let piece = answer[field].as_str().context("a piece of JSON text is missing")?;
                let (_, text) = self.element.get_or_insert_with(|| (begin, String::new()));
                text.push_str(piece);
                Ok(())
            }
            None => self.append(answer[field].clone()),
        }
    }

    fn append(&mut self, more: Value) -> anyhow::Result<()> {
        match (&mut self.whole, more) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Object(object)), Value::Object(more)) => object.extend(more),
            (whole @ None, more) => *whole = Some(more),
            (Some(_), _) => bail!("the parts of the value do not fit together"),
        }
        Ok(())
    }

    /// Adds the element whose pieces have come. The text of a member of an object begins with its
    /// name and a colon, and so is no JSON by itself.
    fn close_element(&mut self) -> anyhow::Result<()> {
        let Some((_, text)) = self.element.take() else { return Ok(()) };
        let of_list = serde_json::from_str(&format!("[{text}]"));
        let element = of_list.or_else(|_| serde_json::from_str(&format!("{{{text}}}")));
        self.append(element.context("the pieces of an element are no JSON")?)
    }

    fn whole(mut self) -> anyhow::Result<Value> {
        self.close_element()?;
        Ok(self.whole.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(parts: &[Value]) -> anyhow::Result<Value> {
        let mut joined = JoinedParts::default();
        parts.iter().try_for_each(|part| joined.add(part, "result"))?;
        joined.whole()
    }

    #[test]
    fn texts_lists_objects_and_long_elements_are_put_together_from_their_parts() {
        let text = [json!({"result": "one\n"}), json!({"result": "two"})];
        assert_eq!(joined(&text).unwrap(), json!("one\ntwo"));
        let list = [
            json!({"result": [1, 2]}),
            json!({"result": "\"lo", "fragment_of": 5}),
            json!({"result": "ng\"", "fragment_of": 5}),
            json!({"result": "\"longer\"", "fragment_of": 12}),
            json!({"result": [3]}),
        ];
        assert_eq!(joined(&list).unwrap(), json!([1, 2, "long", "longer", 3]));
        let object = [
            json!({"result": "\"a\": {\"b\"", "fragment_of": 1}),
            json!({"result": ": 1}", "fragment_of": 1}),
            json!({"result": {"c": 2}}),
        ];
        assert_eq!(joined(&object).unwrap(), json!({"a": {"b": 1}, "c": 2}));
    }

    #[test]
    fn parts_that_do_not_fit_are_no_value() {
        assert!(joined(&[json!({"result": [1]}), json!({"result": "x"})]).is_err());
        assert!(joined(&[json!({"result": "{", "fragment_of": 1})]).is_err());
        assert!(joined(&[json!({"result": [1], "fragment_of": 1})]).is_err());
    }
}
