//! Where elements stand in JSON text that is known to be valid, found without building values.

use std::ops::Range;

use crate::protocol::next_escape_boundary;

/// Where the last line end of a text in JSON ends.
pub(super) fn last_line_end(json: &str, text: Range<usize>) -> Option<usize> {
    let (mut at, mut found) = (text.start, None);
    while at < text.end {
        let next = next_escape_boundary(json, at);
        if &json[at..next] == "\\n" {
            found = Some(next);
        }
        at = next;
    }
    found
}

/// Where an element of a list, or a member of an object, stands.
pub(super) struct JsonElement {
    /// Where it begins: a member with its name.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
}

impl JsonElement {
    pub(super) const fn length(&self) -> usize {
        self.value.end - self.start
    }

    pub(super) const fn name_length(&self) -> usize {
        self.value.start - self.start
    }
}

/// The elements of a list, or the members of an object, in JSON that is known to be valid.
pub(super) struct JsonElements<'a> {
    json: &'a [u8],
    at: usize,
    /// The closing bracket.
    end: usize,
    have_names: bool,
}

impl<'a> JsonElements<'a> {
    pub(super) fn of(json: &'a str, container: &Range<usize>) -> Self {
        let json = json.as_bytes();
        let have_names = json[container.start] == b'{';
        Self { json, at: container.start + 1, end: container.end - 1, have_names }
    }

    /// Goes on to the next byte that stands neither between nor behind elements.
    fn skip_space(&mut self) {
        let is_space = |byte: &u8| b" \t\r\n,:".contains(byte);
        while self.at < self.end && is_space(&self.json[self.at]) {
            self.at += 1;
        }
    }
}

impl Iterator for JsonElements<'_> {
    type Item = JsonElement;

    fn next(&mut self) -> Option<JsonElement> {
        self.skip_space();
        if self.at >= self.end {
            return None;
        }
        let start = self.at;
        if self.have_names {
            self.at = text_end(self.json, self.at);
            self.skip_space();
        }
        let value = self.at..value_end(self.json, self.at);
        self.at = value.end;
        Some(JsonElement { start, value })
    }
}

/// The end of a value of valid JSON.
fn value_end(json: &[u8], start: usize) -> usize {
    match json[start] {
        b'"' => text_end(json, start),
        b'[' | b'{' => {
            let (mut at, mut depth) = (start + 1, 1_usize);
            while depth > 0 && at < json.len() {
                match json[at] {
                    b'"' => {
                        at = text_end(json, at);
                        continue;
                    }
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
                at += 1;
            }
            at
        }
        _ => {
            let ends = |byte: &u8| b" \t\r\n,]}".contains(byte);
            json[start..].iter().position(ends).map_or(json.len(), |length| start + length)
        }
    }
}

/// The end of a text of valid JSON that begins with its quote.
fn text_end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < json.len() && json[at] != b'"' {
        // An escaped quote does not end the text.
        at += if json[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(json.len())
}
