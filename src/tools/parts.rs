//! Parts of values that are too long for one answer. A text stays a text, a list a list and an
//! object an object, at every depth.

use std::ops::Range;

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::json_elements::{JsonElement, JsonElements, last_line_end};
use crate::protocol::{PageMark, floor_escape_boundary, next_escape_boundary};

/// The length of a part unless the call names another, in bytes of JSON. MCP clients cut longer
/// answers before their model sees them.
pub(super) const USUAL_PART: usize = 10_000;

/// The length of the longest part, in bytes of JSON.
pub const LONGEST_PART: usize = 64 * 1024;

/// The length of the quotes around a text.
const QUOTES: usize = 2;

/// The part of a value that a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestedPart {
    offset: usize,
    limit: usize,
}

impl RequestedPart {
    const FIRST: Self = Self { offset: 0, limit: USUAL_PART };

    /// Whether it is not the first.
    pub(super) fn is_further(&self) -> bool {
        self.offset > 0
    }

    /// The part that a call asks for, if it asks for one.
    pub(super) fn asked_for(offset: Option<usize>, limit: Option<usize>) -> Option<Self> {
        (offset.is_some() || limit.is_some()).then(|| AnswerRange { offset, limit }.into())
    }
}

impl From<AnswerRange> for RequestedPart {
    fn from(AnswerRange { offset, limit }: AnswerRange) -> Self {
        let limit = limit.unwrap_or(USUAL_PART).min(LONGEST_PART);
        Self { offset: offset.unwrap_or(0), limit }
    }
}

/// The part of an answer that a call asks for, if the answer is too long for one.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[schemars(description = "")]
pub(super) struct AnswerRange {
    /// Start of a part, in bytes.
    #[schemars(range(min = 0))]
    pub(super) offset: Option<usize>,
    /// Most bytes of the answer; default 10000.
    #[schemars(range(min = 1, max = 65_536))]
    pub(super) limit: Option<usize>,
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
    /// The length of the value: of a text in UTF-8, else of its JSON.
    total_bytes: usize,
    /// How many levels deep the first element goes on from the part before; absent for 0.
    #[serde(skip_serializing_if = "is_zero")]
    continued_levels: usize,
    /// The innermost first element is a piece of its JSON text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    as_json_text: bool,
    /// The call that reads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The part of a value that is to be answered. `None`: all of it, as it is, since it is not longer
/// than `whole`. `read_on` is the call that reads on, without the offset and the closing brackets.
pub(super) fn cut(
    value: &RawValue,
    part: Option<RequestedPart>,
    whole: usize,
    read_on: &str,
) -> Option<(Box<RawValue>, PartPlace)> {
    let text = value.get();
    // A part that was asked for is cut even from a short value: readers join parts by rule.
    if part.is_none() && text.len() <= whole {
        return None;
    }
    let RequestedPart { offset, limit } = part.unwrap_or(RequestedPart::FIRST);
    let piece = CutPart::of(text, offset, limit)?;
    let next_offset = piece.next;
    let place = PartPlace {
        truncated: next_offset.is_some() || offset > 0,
        offset: offset.min(piece.total),
        next_offset,
        total_bytes: piece.total,
        continued_levels: piece.continued_levels,
        as_json_text: piece.as_json_text,
        hint: next_offset.map(|next| format!("Read on with {read_on}, offset:{next}}}).")),
    };
    Some((RawValue::from_string(piece.json).ok()?, place))
}

/// A part of an answer that is too long as it is: some of its fields, or parts of them.
#[derive(Serialize)]
pub(super) struct AnswerPart {
    #[serde(flatten)]
    place: PartPlace,
    #[serde(flatten)]
    fields: Map<String, Value>,
    /// The mark of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PageMark>,
}

impl AnswerPart {
    /// The part of an answer that is to be told; `None` for a short one that is told as it is.
    pub(super) fn of(answer: &RawValue, range: AnswerRange, read_on: &str) -> Option<Self> {
        let part = RequestedPart::from(range);
        if range.offset.is_none() && answer.get().len() <= part.limit {
            return None;
        }
        let mut answer: Map<String, Value> = serde_json::from_str(answer.get()).ok()?;
        // The mark belongs on every part, with any of its fields.
        let page = answer.shift_remove("page");
        let page = page.map(|page| PageMark::of_origin(page.as_str()));
        let own_hint = answer.shift_remove("hint");
        let (fields, mut place) =
            cut(&to_raw_value(&answer).ok()?, Some(part), USUAL_PART, read_on)?;
        let hints = [place.hint.as_deref(), own_hint.as_ref().and_then(Value::as_str)];
        let hints: Vec<_> = hints.into_iter().flatten().collect();
        place.hint = (!hints.is_empty()).then(|| hints.join(" "));
        Some(Self { place, fields: serde_json::from_str(fields.get()).ok()?, page })
    }

    /// The schema of parts of an answer of this shape: any piece of each of its fields.
    pub(super) fn shape_of(whole: &Value, generator: &mut SchemaGenerator) -> Value {
        let mut shape = PartPlace::json_schema(generator).to_value();
        let fields = whole["properties"].as_object().into_iter().flatten();
        for (name, field) in fields.filter(|(name, _)| *name != "hint") {
            let any = if name == "page" { field.clone() } else { true.into() };
            shape["properties"][name] = any;
        }
        shape
    }
}

/// A part, cut out.
struct CutPart {
    json: String,
    /// Where the next one begins.
    next: Option<usize>,
    total: usize,
    continued_levels: usize,
    as_json_text: bool,
}

impl CutPart {
    fn of(json: &str, offset: usize, limit: usize) -> Option<Self> {
        if json.starts_with('"') {
            return Self::of_text(&serde_json::from_str::<String>(json).ok()?, offset, limit);
        }
        let mut cutter = JsonCutter {
            json,
            offset,
            piece: String::new(),
            continued_levels: 0,
            as_json_text: false,
        };
        let next = if offset == 0 && json.len() <= limit {
            cutter.piece.push_str(json);
            None
        } else {
            cutter.enter(0..json.len(), limit, ElementPath::default())
        };
        let JsonCutter { piece, continued_levels, as_json_text, .. } = cutter;
        Some(Self { json: piece, next, total: json.len(), continued_levels, as_json_text })
    }

    /// A part of a text, up to the last line end in it if it is not the last part.
    fn of_text(text: &str, offset: usize, limit: usize) -> Option<Self> {
        // An agent may compute an offset that lies within a character.
        let from = text.floor_char_boundary(offset);
        let mut to = from + length_within(&text[from..], limit);
        if to < text.len()
            && let Some(line_end) = text[from..to].rfind('\n')
        {
            to = from + line_end + 1;
        }
        Some(Self {
            json: serde_json::to_string(&text[from..to]).ok()?,
            next: (to < text.len()).then_some(to),
            total: text.len(),
            continued_levels: 0,
            as_json_text: false,
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
        // At least one character, or reading on would never end.
        if takes > room && at > 0 {
            return at;
        }
        room = room.saturating_sub(takes);
    }
    text.len()
}

/// The way from a value to an element within it.
#[derive(Clone, Copy, Default)]
struct ElementPath {
    depth: usize,
    /// The length of its repetition: brackets and names.
    bytes: usize,
}

impl ElementPath {
    /// Every part repeats the way to its first element: bounds keep that short, also when a
    /// page has made up the names.
    const DEEPEST: usize = 16;
    const LONGEST: usize = 500;

    /// The way on to an element with a name of this length.
    const fn to(self, name: usize) -> Self {
        Self { depth: self.depth + 1, bytes: self.bytes + name + "[]".len() }
    }

    /// Whether parts may begin within an element. The answer is the same for parts of any
    /// length: pieces that are read one after the other fit together.
    fn may_lead_into(self, mut elements: JsonElements<'_>) -> bool {
        let is_short = |element: JsonElement| self.to(element.name_length()).bytes <= Self::LONGEST;
        self.depth < Self::DEEPEST && elements.all(is_short)
    }
}

/// Takes a part out of the JSON text of a list, an object or a scalar.
struct JsonCutter<'a> {
    json: &'a str,
    offset: usize,
    piece: String,
    continued_levels: usize,
    as_json_text: bool,
}

impl JsonCutter<'_> {
    /// Takes as much of a value as fits, from the offset on; at least one character. Where to
    /// read on, if not behind the value.
    fn enter(&mut self, value: Range<usize>, room: usize, path: ElementPath) -> Option<usize> {
        match self.json.as_bytes()[value.start] {
            b'"' => self.take_text(value.start + 1..value.end - 1, room),
            b'[' | b'{' if path.may_lead_into(JsonElements::of(self.json, &value)) => {
                self.take_elements(&value, room, path)
            }
            _ => self.take_json_text(value, room),
        }
    }

    fn take_elements(
        &mut self,
        container: &Range<usize>,
        room: usize,
        path: ElementPath,
    ) -> Option<usize> {
        let (json, begun) = (self.json, self.piece.len());
        self.piece.push_str(&json[container.start..=container.start]);
        let mut next = None;
        for element in JsonElements::of(json, container) {
            if self.offset >= element.value.end {
                continue;
            }
            let used = self.piece.len() - begun;
            let is_first = used == 1;
            // With a comma, and the bracket behind the last one.
            let takes = element.length() + 2;
            if self.offset <= element.value.start && used + takes <= room {
                self.push_comma_unless(is_first);
                self.piece.push_str(&json[element.start..element.value.end]);
                continue;
            }
            // An element that fits in a part of its own waits for that.
            let leads_on = takes > room && used <= room / 2 && !self.as_json_text;
            if !is_first && !leads_on {
                next = Some(element.start);
                break;
            }
            next = self.enter_element(&element, room.saturating_sub(used), is_first, path);
            if next.is_some() {
                break;
            }
        }
        self.piece.push_str(&json[container.end - 1..container.end]);
        next
    }

    /// Takes the beginning of an element, or goes on with one that an earlier part has begun.
    fn enter_element(
        &mut self,
        element: &JsonElement,
        room: usize,
        is_first: bool,
        path: ElementPath,
    ) -> Option<usize> {
        let before = self.piece.len();
        self.continued_levels += usize::from(self.offset > element.value.start);
        self.push_comma_unless(is_first);
        self.piece.push_str(&self.json[element.start..element.value.start]);
        let way = path.to(element.name_length());
        // The way takes a part of the room; of a small one something stays.
        let left = room.saturating_sub(way.bytes - path.bytes).max(room / 4);
        let next = self.enter(element.value.clone(), left, way);
        if !is_first && self.as_json_text {
            // Readers look for JSON text in the first element only.
            self.piece.truncate(before);
            self.as_json_text = false;
            return Some(element.start);
        }
        next
    }

    fn push_comma_unless(&mut self, is_first: bool) {
        if !is_first {
            self.piece.push(',');
        }
    }

    /// A piece of a text, up to the last line end in it if something is left. It is cut as it
    /// stands in the JSON.
    fn take_text(&mut self, text: Range<usize>, room: usize) -> Option<usize> {
        let (from, mut to) =
            self.fitting(&text, |json| room.saturating_sub(QUOTES).min(json.len()));
        if to < text.end
            && let Some(line_end) = last_line_end(self.json, from..to)
        {
            to = line_end;
        }
        self.piece.push('"');
        self.piece.push_str(&self.json[from..to]);
        self.piece.push('"');
        (to < text.end).then_some(to)
    }

    /// A piece of the JSON text of a value into which no part may lead.
    fn take_json_text(&mut self, value: Range<usize>, room: usize) -> Option<usize> {
        self.as_json_text = true;
        let (from, to) =
            self.fitting(&value, |json| length_within(json, room.saturating_sub(QUOTES)));
        self.piece.push_str(&serde_json::to_string(&self.json[from..to]).unwrap_or_default());
        (to < value.end).then_some(to)
    }

    /// The piece of a range that begins at the offset and has this length; at least one
    /// character, or reading on would never end.
    fn fitting(&self, range: &Range<usize>, length: impl Fn(&str) -> usize) -> (usize, usize) {
        let offset = self.offset.clamp(range.start, range.end);
        let from = floor_escape_boundary(self.json, offset).max(range.start);
        let longest = from + length(&self.json[from..range.end]);
        let mut to = floor_escape_boundary(self.json, longest);
        if to <= from {
            to = next_escape_boundary(self.json, from).min(range.end);
        }
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tools::JoinedParts;

    /// One part, as a reader gets it.
    fn part_of(json: &str, offset: Option<usize>, limit: Option<usize>) -> Option<Value> {
        let json = RawValue::from_string(json.to_owned()).unwrap();
        let (part, place) =
            cut(&json, RequestedPart::asked_for(offset, limit), USUAL_PART, "observe({")?;
        let mut told = serde_json::to_value(place).unwrap();
        told["part"] = serde_json::from_str(part.get()).unwrap();
        Some(told)
    }

    /// Reads from part to part with these limits in turn.
    fn joined(json: &str, limits: &[usize]) -> Value {
        let (mut joined, mut offset) = (JoinedParts::default(), 0);
        for limit in limits.iter().cycle().take(100_000) {
            let mut told = part_of(json, Some(offset), Some(*limit)).unwrap();
            let part = told["part"].take();
            joined.add(&told, part).unwrap();
            let Some(next) = told["next_offset"].as_u64() else { return joined.whole().unwrap() };
            assert!(told["hint"].as_str().unwrap().contains(&format!("offset:{next}")));
            let next = usize::try_from(next).unwrap();
            assert!(next > offset, "it goes on: {told}");
            offset = next;
        }
        panic!("it never ends");
    }

    fn value() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["[a-z\n\"\\\\\u{1}é€😀]{0,60}", "(line of text\n|ä|👩‍👩‍👧){0,20}",];
        let name = prop_oneof![20 => "[a-z\"\\\\😀]{0,6}", 1 => "[a-z]{260,520}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 60, 8, move |inner| {
            let members = prop::collection::vec((name.clone(), inner.clone()), 0..8);
            prop_oneof![
                prop::collection::vec(inner, 0..8).prop_map(Value::from),
                members.prop_map(|members| Value::Object(members.into_iter().collect())),
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
        fn no_part_is_longer_than_asked_for_but_for_the_way_to_it(
            value in value(),
            offset in 0_usize..400,
            limit in 12_usize..200,
        ) {
            let part = part_of(&value.to_string(), Some(offset), Some(limit)).unwrap();
            let length = part["part"].to_string().len();
            // The quotes around a text are not of the value.
            prop_assert!(length <= limit + ElementPath::LONGEST + 2, "{} bytes: {}", length, part);
        }
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let longest = Value::from("x".repeat(USUAL_PART - 2)).to_string();
        for whole in ["null", "\"a\"", "[1, 2]", "{ }", &longest] {
            assert_eq!(part_of(whole, None, None), None, "{whole}");
        }
        let part = part_of("[1, 2]", None, Some(100)).unwrap();
        assert_eq!((&part["truncated"], &part["part"]), (&false.into(), &json!([1, 2])));
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
    fn a_text_within_an_object_is_cut_at_a_line_end_and_stays_text_too() {
        let text = "a line\\n\n".repeat(3_000);
        let page = json!({"title": "Shop", "text": text, "links": ["/cart"]});
        let json = page.to_string();
        let first = part_of(&json, None, None).unwrap();
        assert_eq!(first["part"]["title"], "Shop");
        let piece = first["part"]["text"].as_str().unwrap();
        assert!(text.starts_with(piece) && piece.ends_with("\\n\n"));
        assert!((9_900..10_000).contains(&first["part"].to_string().len()));
        let next = first["next_offset"].as_u64().and_then(|at| usize::try_from(at).ok());
        let second = part_of(&json, next, None).unwrap();
        assert_eq!(
            (&second["continued_levels"], &second["part"]["title"]),
            (&json!(1), &Value::Null)
        );
        assert_eq!(joined(&json, &[USUAL_PART]), page);
    }

    #[test]
    fn a_list_is_cut_between_elements_at_every_depth() {
        let list: Vec<_> = (0..3_000).map(|n| json!({ "n": n })).collect();
        for whole in [json!(list), json!({"success": true, "found": list}), json!([[list]])] {
            let part = part_of(&whole.to_string(), None, None).unwrap();
            assert!(part["as_json_text"].is_null() && part["part"].to_string().len() <= 10_000);
            assert_eq!(joined(&whole.to_string(), &[USUAL_PART]), whole);
        }
    }

    #[test]
    fn what_stands_too_deep_or_has_long_names_comes_as_pieces_of_its_json() {
        let deep = (0..40).fold(json!("x".repeat(30_000)), |inner, _| json!([inner]));
        let named: Map<_, _> =
            (0..40).map(|n| (format!("{n}{}", "n".repeat(600)), json!(n))).collect();
        for whole in [deep, json!({ "named": named }), json!({ "a": [named, 1] })] {
            let json = whole.to_string();
            assert_eq!(joined(&json, &[USUAL_PART]), whole);
            let part = part_of(&json, Some(0), None).unwrap();
            assert_eq!(part["as_json_text"], true);
            assert!(part["part"].to_string().len() <= USUAL_PART + 2, "{part}");
        }
    }
}
