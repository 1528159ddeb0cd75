//! Puts values together that came in parts, as readers of answers do.

use serde_json::Value;

/// The parts of a value so far, in their order.
#[derive(Debug, Default)]
pub struct JoinedParts {
    whole: Option<Value>,
    json_text: Option<OpenText>,
}

/// The parts are not those of one value, one after the other.
#[derive(Debug, thiserror::Error)]
#[error("the parts of the value do not fit together")]
pub struct UnfitParts;

/// An element of which pieces of its JSON text have come. Until the last one is there, null stands
/// in its place.
#[derive(Debug)]
struct OpenText {
    at: Vec<PathStep>,
    text: String,
}

/// A step from a list or an object to an element of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Index(usize),
    Name(String),
}

impl JoinedParts {
    /// Adds the next part. Its answer says where it belongs.
    ///
    /// # Errors
    ///
    /// If it does not go on where the parts before it end.
    pub fn add(&mut self, answer: &Value, mut part: Value) -> Result<(), UnfitParts> {
        let mut at = Vec::new();
        // Such a part holds no value yet: its text is parsed once all pieces are there.
        let has_text = answer["as_json_text"] == true;
        let text = has_text.then(|| take_first_text(&mut part, &mut at)).transpose()?;
        let levels = answer["continued_levels"].as_u64().unwrap_or(0);
        match &mut self.whole {
            Some(whole) => join(whole, part, levels, &mut at, has_text)?,
            None => self.whole = Some(part),
        }
        let Some(text) = text else { return self.close_text() };
        match &mut self.json_text {
            // The same place: one more piece of the same element.
            Some(open) if open.at == at => open.text.push_str(&text),
            _ => {
                self.close_text()?;
                self.json_text = Some(OpenText { at, text });
            }
        }
        Ok(())
    }

    /// The value, once all its parts are there.
    ///
    /// # Errors
    ///
    /// If there was none, or one is missing.
    pub fn whole(mut self) -> Result<Value, UnfitParts> {
        self.close_text()?;
        self.whole.ok_or(UnfitParts)
    }

    fn close_text(&mut self) -> Result<(), UnfitParts> {
        let Some(OpenText { at, text }) = self.json_text.take() else { return Ok(()) };
        let steps = at.iter().try_fold(self.whole.as_mut().ok_or(UnfitParts)?, |value, step| {
            match step {
                PathStep::Index(index) => value.get_mut(*index),
                PathStep::Name(name) => value.get_mut(name),
            }
            .ok_or(UnfitParts)
        });
        *steps? = serde_json::from_str(&text).map_err(|_no_json| UnfitParts)?;
        Ok(())
    }
}

/// Takes the text out of the innermost first element, and notes the way to it.
fn take_first_text(value: &mut Value, way: &mut Vec<PathStep>) -> Result<String, UnfitParts> {
    match value {
        Value::String(text) => {
            let text = std::mem::take(text);
            *value = Value::Null;
            Ok(text)
        }
        Value::Array(list) => {
            way.push(PathStep::Index(0));
            take_first_text(list.first_mut().ok_or(UnfitParts)?, way)
        }
        Value::Object(object) => {
            let (name, first) = object.iter_mut().next().ok_or(UnfitParts)?;
            way.push(PathStep::Name(name.clone()));
            take_first_text(first, way)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Err(UnfitParts),
    }
}

/// Puts a part behind the whole so far. `way` leads to the part's text, and then to its place in
/// the whole.
fn join(
    whole: &mut Value,
    part: Value,
    levels: u64,
    way: &mut [PathStep],
    has_text: bool,
) -> Result<(), UnfitParts> {
    match (whole, part) {
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (Value::Null, Value::Null) if has_text && way.is_empty() => {}
        (Value::Array(list), Value::Array(more)) => {
            let mut more = more.into_iter();
            let first_new = list.len();
            if levels > 0 {
                let (begun, rest) = (list.last_mut(), more.next());
                let (begun, rest) = (begun.ok_or(UnfitParts)?, rest.ok_or(UnfitParts)?);
                join(begun, rest, levels - 1, way.get_mut(1..).unwrap_or_default(), has_text)?;
            }
            if let Some(step) = way.first_mut() {
                *step = PathStep::Index(if levels > 0 { first_new - 1 } else { first_new });
            }
            list.extend(more);
        }
        (Value::Object(object), Value::Object(more)) => {
            let mut more = more.into_iter();
            if levels > 0 {
                let (name, rest) = more.next().ok_or(UnfitParts)?;
                let begun = object.get_mut(&name).ok_or(UnfitParts)?;
                join(begun, rest, levels - 1, way.get_mut(1..).unwrap_or_default(), has_text)?;
            }
            object.extend(more);
        }
        _ => return Err(UnfitParts),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(parts: &[(Value, Value)]) -> Result<Value, UnfitParts> {
        let mut joined = JoinedParts::default();
        parts.iter().try_for_each(|(answer, part)| joined.add(answer, part.clone()))?;
        joined.whole()
    }

    #[test]
    fn texts_lists_and_objects_are_put_together_at_every_depth() {
        let parts = [
            (json!({}), json!({"title": "Shop", "items": [{"name": "one\n"}]})),
            (json!({"continued_levels": 3}), json!({"items": [{"name": "two"}, {"name": "b"}]})),
            (json!({"continued_levels": 1}), json!({"items": [{"name": "c"}], "count": 3})),
        ];
        let names = json!([{"name": "one\ntwo"}, {"name": "b"}, {"name": "c"}]);
        let whole = json!({"title": "Shop", "items": names, "count": 3});
        assert_eq!(joined(&parts).unwrap(), whole);
        let texts = [(json!({}), json!("one\n")), (json!({"offset": 4}), json!("two"))];
        assert_eq!(joined(&texts).unwrap(), json!("one\ntwo"));
    }

    #[test]
    fn pieces_of_json_text_become_their_element() {
        let text = |levels: u64| json!({"as_json_text": true, "continued_levels": levels});
        let parts = [
            (json!({}), json!({"a": [1]})),
            (text(1), json!({"a": ["{\"b\""]})),
            (text(2), json!({"a": [": tr"]})),
            (text(2), json!({"a": ["ue}", 3]})),
            (text(1), json!({"a": ["[4]"], "c": 5})),
        ];
        assert_eq!(joined(&parts).unwrap(), json!({"a": [1, {"b": true}, 3, [4]], "c": 5}));
        assert_eq!(joined(&[(text(0), json!("1")), (text(0), json!("2"))]).unwrap(), 12);
    }

    #[test]
    fn parts_that_do_not_fit_are_no_value() {
        let text = json!({"as_json_text": true});
        for parts in [
            vec![],
            vec![(json!({}), json!([1])), (json!({}), json!("x"))],
            vec![(json!({}), json!([])), (json!({"continued_levels": 1}), json!(["x"]))],
            vec![(text.clone(), json!("{"))],
            vec![(text, json!([1]))],
        ] {
            assert!(joined(&parts).is_err(), "{parts:?}");
        }
    }
}
