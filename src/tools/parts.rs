//! Parts of values that are too long for one answer. A text stays a text, a list a list and an
//! object an object; only an element that is too long by itself is cut as JSON text.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};

use crate::protocol::{floor_escape_boundary, next_escape_boundary};

/// The length of a part unless the call names another, in bytes of JSON: the programs that show
/// answers to models cut longer ones without a word.
pub(super) const USUAL_PART: usize = 10_000;

/// The length of the longest part.
const LONGEST_PART: usize = 64 * 1024;

/// The part of a value that a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    offset: usize,
    limit: usize,
}

impl Part {
    const FIRST: Self = Self { offset: 0, limit: USUAL_PART };

    /// The part that a call asks for, if it asks for one.
    pub(super) fn asked_for(offset: Option<usize>, limit: Option<usize>) -> Option<Self> {
        (offset.is_some() || limit.is_some()).then(|| Self {
            offset: offset.unwrap_or(0),
            limit: limit.unwrap_or(USUAL_PART).min(LONGEST_PART),
        })
    }
}

/// Says of a part where it stands in its value. It precedes the part, so that a reader who loses
/// the end of an answer still knows.
#[derive(Serialize, JsonSchema)]
pub(super) struct PartPlace {
    /// Whether something is missing before or behind this part.
    truncated: bool,
    /// Where this part begins, in bytes of the value; absent for 0.
    #[serde(skip_serializing_if = "is_zero")]
    offset: usize,
    /// Where to read on; absent of the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// The length of the value: of a text, else of its JSON.
    total_bytes: usize,
    /// The part is a piece of the JSON text of one element, which is too long for a part: where
    /// that element begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    fragment_of: Option<usize>,
    /// The call that reads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// The value that parts belong to.
pub(super) struct Whole<'a> {
    /// The field of the answer that it stands in.
    pub(super) field: &'a str,
    /// The call that reads on, but for the offset and the closing brackets.
    pub(super) read_on: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(offset: &usize) -> bool {
    *offset == 0
}

/// The part of a value that is to be answered. `None`: all of it, as it is.
pub(super) fn cut(
    value: &RawValue,
    part: Option<Part>,
    whole: Whole<'_>,
) -> Option<(Box<RawValue>, PartPlace)> {
    let text = value.get();
    if part.is_none() && text.len() <= USUAL_PART {
        return None;
    }
    let piece = Piece::of(text, part.unwrap_or(Part::FIRST))?;
    let next_offset = (piece.range.end < piece.total).then_some(piece.next);
    let Whole { field, read_on } = whole;
    let hint = next_offset.map(|next| {
        let kind = if piece.fragment_of.is_some() { "the JSON text of one element" } else { "it" };
        format!("`{field}` is a part of {kind}. Read on with {read_on}, offset:{next}}}).")
    });
    let place = PartPlace {
        truncated: next_offset.is_some() || piece.range.start > 0,
        offset: piece.range.start,
        next_offset,
        total_bytes: piece.total,
        fragment_of: piece.fragment_of,
        hint,
    };
    Some((piece.json, place))
}

/// A part, cut out.
struct Piece {
    json: Box<RawValue>,
    /// Where it stands; the end is `total` if nothing follows.
    range: Range<usize>,
    /// Where the next one begins.
    next: usize,
    total: usize,
    fragment_of: Option<usize>,
}

impl Piece {
    fn of(json: &str, part: Part) -> Option<Self> {
        match json.as_bytes().first() {
            Some(b'"') => Self::of_text(&serde_json::from_str::<String>(json).ok()?, part),
            Some(b'[') => Self::of_elements(json, ('[', ']'), part),
            Some(b'{') => Self::of_elements(json, ('{', '}'), part),
            Some(_) | None if part.offset == 0 && json.len() <= part.limit => {
                let json_copy = RawValue::from_string(json.to_owned()).ok()?;
                Some(Self::last(json_copy, 0, json.len()))
            }
            Some(_) | None => Self::of_fragment(json, 0..json.len(), None, part),
        }
    }

    /// One that nothing follows.
    fn last(json: Box<RawValue>, from: usize, total: usize) -> Self {
        Self { json, range: from..total, next: total, total, fragment_of: None }
    }

    /// A part of a text, up to the last line end in it if it is not the last part.
    fn of_text(text: &str, part: Part) -> Option<Self> {
        let from = text.floor_char_boundary(part.offset);
        let mut to = from + length_within(&text[from..], part.limit);
        if to < text.len()
            && let Some(line_end) = text[from..to].rfind('\n')
        {
            to = from + line_end + 1;
        }
        let json = to_raw_value(&text[from..to]).ok()?;
        Some(Self { json, range: from..to, next: to, total: text.len(), fragment_of: None })
    }

    /// The elements of a list, or the members of an object, that fit.
    fn of_elements(json: &str, brackets: (char, char), part: Part) -> Option<Self> {
        let elements = Elements::of(json)?;
        let offset = json.floor_char_boundary(part.offset);
        let Some(first) = elements.iter().position(|element| offset < element.end) else {
            let none = format!("{}{}", brackets.0, brackets.1);
            let from = if elements.is_empty() { 0 } else { json.len() };
            return Some(Self::last(RawValue::from_string(none).ok()?, from, json.len()));
        };
        let next_of = |at: usize| elements.get(at + 1).map(|element| element.start);
        let mut taken = String::from(brackets.0);
        let mut last = first;
        for (at, element) in elements.iter().enumerate().skip(first) {
            let is_first = at == first;
            // With the comma before it and the bracket behind it.
            let takes = element.len() + usize::from(!is_first) + 1;
            // An offset within an element asks for the rest of that one.
            let is_whole = offset <= element.start;
            if !is_whole || taken.len() + takes > part.limit {
                if is_first {
                    return Self::of_fragment(json, element.clone(), next_of(at), part);
                }
                break;
            }
            if !is_first {
                taken.push(',');
            }
            taken.push_str(&json[element.clone()]);
            last = at;
        }
        taken.push(brackets.1);
        let from = if first == 0 { 0 } else { elements[first].start };
        let taken = RawValue::from_string(taken).ok()?;
        Some(match next_of(last) {
            Some(next) => {
                Self { json: taken, range: from..next, next, total: json.len(), fragment_of: None }
            }
            None => Self::last(taken, from, json.len()),
        })
    }

    /// A piece of the JSON text of one element; `following` is where the element behind it begins.
    fn of_fragment(
        json: &str,
        element: Range<usize>,
        following: Option<usize>,
        part: Part,
    ) -> Option<Self> {
        let from = floor_escape_boundary(json, part.offset.clamp(element.start, element.end));
        let longest = from + length_within(&json[from..element.end], part.limit);
        let mut to = floor_escape_boundary(json, longest);
        if to <= from {
            // At least one character, or reading on would never end.
            to = next_escape_boundary(json, from).min(element.end);
        }
        let text = to_raw_value(&json[from..to]).ok()?;
        let total = json.len();
        let next = if to < element.end { Some(to) } else { following };
        Some(Self {
            json: text,
            range: from..next.unwrap_or(total),
            next: next.unwrap_or(total),
            total,
            fragment_of: Some(element.start),
        })
    }
}

/// The length of the longest beginning of a text whose JSON has at most `limit` bytes; one
/// character at least.
fn length_within(text: &str, limit: usize) -> usize {
    let mut room = limit;
    for (at, character) in text.char_indices() {
        let takes = match character {
            '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
            '\0'..='\u{1f}' => 6,
            _ => character.len_utf8(),
        };
        if takes > room && at > 0 {
            return at;
        }
        room = room.saturating_sub(takes);
    }
    text.len()
}

/// Where the elements of a list, or the members of an object, stand in their JSON text.
struct Elements<'a> {
    json: &'a str,
    found: Vec<Range<usize>>,
}

impl<'a> Elements<'a> {
    fn of(json: &'a str) -> Option<Vec<Range<usize>>> {
        let elements = Self { json, found: Vec::new() };
        serde_json::Deserializer::from_str(json).deserialize_any(elements).ok()
    }

    fn place(&self, value: &RawValue) -> Range<usize> {
        // The value is a slice of the text.
        let start = value.get().as_ptr().addr() - self.json.as_ptr().addr();
        start..start + value.get().len()
    }
}

impl<'de> Visitor<'de> for Elements<'de> {
    type Value = Vec<Range<usize>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self::Value, A::Error> {
        while let Some(element) = list.next_element::<&RawValue>()? {
            self.found.push(self.place(element));
        }
        Ok(self.found)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut behind = 0;
        while let Some((_name, value)) = object.next_entry::<IgnoredAny, &RawValue>()? {
            let value = self.place(value);
            // Between two members only a comma, white space and the next name stand.
            let name_at = self.json[behind..].find('"').map_or(value.start, |quote| behind + quote);
            behind = value.end;
            self.found.push(name_at..value.end);
        }
        Ok(self.found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    /// One part, as a reader gets it.
    fn part_of(json: &str, offset: Option<usize>, limit: Option<usize>) -> Option<Value> {
        let json = RawValue::from_string(json.to_owned()).unwrap();
        let whole = Whole { field: "result", read_on: "observe({".to_owned() };
        let (part, place) = cut(&json, Part::asked_for(offset, limit), whole)?;
        let mut told = serde_json::to_value(place).unwrap();
        told["part"] = serde_json::from_str(part.get()).unwrap();
        Some(told)
    }

    /// Puts parts together as a reader does.
    #[derive(Default)]
    struct Joined {
        whole: Option<Value>,
        fragment: Option<(u64, String)>,
    }

    impl Joined {
        fn add(&mut self, part: &Value, is_object: bool, is_scalar: bool) {
            let of = part["fragment_of"].as_u64();
            if self.fragment.as_ref().is_some_and(|(open, _)| Some(*open) != of) {
                self.close(is_object, is_scalar);
            }
            if let Some(of) = of {
                let (_, text) = self.fragment.get_or_insert_with(|| (of, String::new()));
                text.push_str(part["part"].as_str().unwrap());
                return;
            }
            self.append(part["part"].clone());
        }

        fn append(&mut self, more: Value) {
            match (&mut self.whole, more) {
                (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (Some(Value::Object(object)), Value::Object(more)) => object.extend(more),
                (whole @ None, more) => *whole = Some(more),
                (Some(whole), more) => panic!("{more} goes on {whole}"),
            }
        }

        fn close(&mut self, is_object: bool, is_scalar: bool) {
            let Some((_, text)) = self.fragment.take() else { return };
            let json = match (is_scalar, is_object) {
                (true, _) => text,
                (false, true) => format!("{{{text}}}"),
                (false, false) => format!("[{text}]"),
            };
            self.append(serde_json::from_str(&json).unwrap());
        }
    }

    fn joined(json: &str, limits: &[usize]) -> Value {
        let (is_object, is_scalar) = (json.starts_with('{'), !json.starts_with(['{', '[', '"']));
        let mut joined = Joined::default();
        let (mut offset, mut limits) = (0, limits.iter().cycle());
        for _ in 0..100_000 {
            let limit = *limits.next().unwrap();
            let part = part_of(json, Some(offset), Some(limit)).unwrap();
            joined.add(&part, is_object, is_scalar);
            let next = part["next_offset"].as_u64().map(|next| usize::try_from(next).unwrap());
            match next {
                Some(next) => {
                    assert!(next > offset, "it goes on: {part}");
                    assert!(part["hint"].as_str().unwrap().contains(&format!("offset:{next}")));
                    offset = next;
                }
                None => {
                    joined.close(is_object, is_scalar);
                    return joined.whole.unwrap();
                }
            }
        }
        panic!("it never ends");
    }

    fn value() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["[a-z\n\"\\\\\u{1}é€😀]{0,60}", "(line of text\n|ä|👩‍👩‍👧){0,20}",];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 60, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\😀]{0,6}", inner), 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn all_parts_put_together_are_the_whole(
            value in value(),
            limits in prop::collection::vec(1_usize..200, 1..4),
            is_spread in any::<bool>(),
        ) {
            let json = if is_spread {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            prop_assert_eq!(joined(&json, &limits), value);
        }

        #[test]
        fn no_part_is_longer_than_asked_for_but_for_one_character(
            value in value(),
            offset in 0_usize..400,
            limit in 12_usize..200,
        ) {
            let part = part_of(&value.to_string(), Some(offset), Some(limit)).unwrap();
            let length = part["part"].to_string().len();
            // The quotes around a text are not of the value.
            prop_assert!(length <= limit + 2, "{} bytes: {}", length, part);
        }
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let longest = Value::from("x".repeat(USUAL_PART - 2)).to_string();
        for whole in ["null", "\"a\"", "[1, 2]", "{ }", &longest] {
            assert_eq!(part_of(whole, None, None), None, "{whole}");
        }
        let part = part_of("[1, 2]", None, Some(100)).unwrap();
        assert_eq!(
            (&part["truncated"], &part["part"]),
            (&false.into(), &serde_json::json!([1, 2]))
        );
        assert_eq!(part["total_bytes"], 6);
    }

    #[test]
    fn a_text_is_cut_at_a_line_end_and_stays_text() {
        let text = "0123456789 says \"hello\"\n".repeat(1_000);
        let part = part_of(&Value::from(text.clone()).to_string(), None, None).unwrap();
        let first = part["part"].as_str().unwrap();
        assert!(first.ends_with('\n') && text.starts_with(first));
        assert!((9_900..=10_000).contains(&part["part"].to_string().len()));
        assert_eq!(part["next_offset"], first.len());
        assert_eq!(part["total_bytes"], text.len());
        let whole = Value::from("x".repeat(20_000)).to_string();
        assert_eq!(part_of(&whole, None, None).unwrap()["next_offset"], 10_000);
        assert_eq!(part_of(&whole, None, Some(70_000)).unwrap()["truncated"], false);
    }

    #[test]
    fn a_list_is_cut_between_elements_and_a_long_element_is_told_as_text() {
        let list: Vec<_> = (0..3_000).map(|n| format!("element {n}")).collect();
        let part = part_of(&Value::from(list.clone()).to_string(), None, None).unwrap();
        let first = part["part"].as_array().unwrap();
        assert_eq!(first[..], list[..first.len()]);
        assert!(part["part"].to_string().len() > 9_900 && part["fragment_of"].is_null());
        let long = serde_json::json!(["a", "b".repeat(20_000), "c"]).to_string();
        let parts: Vec<_> = [0, 5, 10_003]
            .map(|offset| part_of(&long, Some(offset), None).unwrap())
            .into_iter()
            .map(|part| (part["fragment_of"].clone(), part["part"].is_string()))
            .collect();
        assert_eq!(parts[0], (Value::Null, false));
        assert_eq!(parts[1], (5.into(), true));
        assert_eq!(parts[2], (5.into(), true));
    }
}
