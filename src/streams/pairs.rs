//! Pairs of a name and a value in fields of their own: `{"name":"password","value":"…"}`,
//! `<input name="password" value="…">`, in either order.

use super::values::ValueSpan;

/// Fields that hold the name of a pair.
const NAMES: [&str; 10] = [
    "name",
    "key",
    "field",
    "id",
    "label",
    "param",
    "parameter",
    "property",
    "fieldName",
    "field_name",
];

/// Fields that hold the value of a pair.
const VALUES: [&str; 6] = ["value", "val", "content", "data", "answer", "fieldValue"];

/// Elements that have no content.
const EMPTY: [&str; 6] = ["input", "meta", "param", "link", "img", "embed"];

/// The pair that is being read. Objects nest, and one pair at a time is followed, so that a hostile
/// text cannot make this grow.
#[derive(Debug, Default)]
pub(super) struct PairTracker {
    /// The number of open objects and tags.
    depth: usize,
    tag: Option<OpenTag>,
    /// The depth of the object whose name field named a secret.
    secret: Option<usize>,
    /// The last value, with the depth of its object.
    value: Option<(usize, ValueSpan)>,
}

/// The tag that is open.
#[derive(Clone, Copy, Debug)]
struct OpenTag {
    /// Whether the value of its pair may be its content.
    has_content: bool,
    /// Whether its content is a secret.
    is_secret: bool,
}

impl PairTracker {
    pub(super) fn is_name(word: &str) -> bool {
        NAMES.iter().any(|name| name.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_value(word: &str) -> bool {
        VALUES.iter().any(|value| value.eq_ignore_ascii_case(word))
    }

    /// Whether an object or a tag is open.
    pub(super) const fn is_inside(&self) -> bool {
        self.depth > 0
    }

    pub(super) const fn is_in_tag(&self) -> bool {
        self.tag.is_some()
    }

    /// Passes a byte that is not part of a word.
    pub(super) fn step(&mut self, byte: u8) {
        match byte {
            b'{' => self.depth += 1,
            b'}' => self.close(),
            _ => {}
        }
    }

    pub(super) fn open_tag(&mut self, name: &str) {
        self.depth += 1;
        let has_content = !EMPTY.iter().any(|empty| empty.eq_ignore_ascii_case(name));
        self.tag = Some(OpenTag { has_content, is_secret: false });
    }

    /// Whether what follows the tag is a secret.
    pub(super) fn close_tag(&mut self) -> bool {
        let Some(tag) = self.tag.take() else { return false };
        self.close();
        tag.has_content && tag.is_secret
    }

    /// Leaves a tag whose content was already handled, so that it is not read again.
    pub(super) fn leave_tag(&mut self) {
        if self.tag.take().is_some() {
            self.close();
        }
    }

    fn close(&mut self) {
        let here = self.depth;
        self.secret.take_if(|depth| *depth >= here);
        self.value.take_if(|(depth, _)| *depth >= here);
        self.depth = here.saturating_sub(1);
    }

    /// Notes that a name field named a secret. Returns the pair's value if it came before.
    pub(super) fn name(&mut self, field: &str) -> Option<ValueSpan> {
        self.secret = Some(self.depth);
        if let Some(tag) = &mut self.tag {
            tag.is_secret = ["name", "key"].contains(&field);
        }
        let here = self.depth;
        self.value.take_if(|(depth, _)| *depth == here).map(|(_, value)| value)
    }

    /// Notes the value of a pair. Returns it if it is a secret.
    pub(super) fn value(&mut self, value: ValueSpan) -> Option<ValueSpan> {
        if self.secret == Some(self.depth) {
            return Some(value);
        }
        self.value = Some((self.depth, value));
        None
    }
}
