//! The limits of an entry's texts, and their redaction.

use std::borrow::Cow;

use super::record::{CapturedHeaders, EntryRecord, NetworkRequest, RequestBodies, UserAction};
use super::redact::{REDACTED, is_secret_header, redact, redact_body};

/// The longest stored body, in bytes of JSON: an escaped character counts with its escape.
const LONGEST_BODY: usize = 16 * 1024;

/// The longest text of a console line.
const LONGEST_TEXT: usize = 8 * 1024;

/// The longest text of a WebSocket message, URL or stack.
const LONGEST_LINE: usize = 4 * 1024;

/// The longest name, word or label.
const LONGEST_WORD: usize = 256;

/// The longest value of a header.
const LONGEST_HEADER: usize = 256;

/// How many headers of one side are kept, and how long their names may be.
const HEADERS: usize = 24;
const LONGEST_HEADER_NAME: usize = 64;

/// How much of a text is searched for secrets, in bytes. A longer text is cut first, so that the
/// time for an entry is bounded.
const LOOKED_AT: usize = 64 * 1024;

/// Visits a text of an entry. Returns whether it cut the text.
pub(super) type TextVisitor<'a> = dyn FnMut(&mut Box<str>, TextKind) -> bool + 'a;

impl EntryRecord {
    /// Visits every text, each once.
    pub(super) fn each_text(&mut self, visit: &mut TextVisitor<'_>) {
        match self {
            // Every text of a record has to be visited: one that is left out is neither cut nor
            // redacted.
            Self::Log(log) => {
                visit(&mut log.source, TextKind::Word);
                visit(&mut log.text, TextKind::Text);
                visit(&mut log.url, TextKind::Line);
                some(&mut log.script_url, TextKind::Line, visit);
                some(&mut log.stack, TextKind::Line, visit);
            }
            Self::Request(request) => request.each_text(visit),
            Self::Bodies(bodies) => bodies.each_text(visit),
            Self::Socket(event) => {
                some(&mut event.request_id, TextKind::Word, visit);
                visit(&mut event.url, TextKind::Line);
                some(&mut event.page_url, TextKind::Line, visit);
                visit(&mut event.event, TextKind::Word);
                event.truncated |= some(&mut event.text, TextKind::Line, visit);
            }
            Self::Action(action) => action.each_text(visit),
            Self::Performance(performance) => {
                visit(&mut performance.url, TextKind::Line);
            }
            Self::ExtensionLog(log) => {
                visit(&mut log.text, TextKind::Text);
                some(&mut log.source, TextKind::Word, visit);
                some(&mut log.category, TextKind::Word, visit);
                some(&mut log.data, TextKind::Line, visit);
            }
        }
    }
}

fn some(text: &mut Option<Box<str>>, kind: TextKind, visit: &mut TextVisitor<'_>) -> bool {
    text.as_mut().is_some_and(|text| visit(text, kind))
}

impl NetworkRequest {
    fn each_text(&mut self, visit: &mut TextVisitor<'_>) {
        visit(&mut self.url, TextKind::Line);
        some(&mut self.page_url, TextKind::Line, visit);
        let words = [
            &mut self.request_id,
            &mut self.method,
            &mut self.resource_type,
            &mut self.status_text,
            &mut self.mime_type,
            &mut self.error,
        ];
        for word in words {
            some(word, TextKind::Word, visit);
        }
        for headers in [&mut self.request_headers, &mut self.response_headers] {
            clean_headers(headers.as_mut(), visit);
        }
    }
}

fn clean_headers(headers: Option<&mut CapturedHeaders>, visit: &mut TextVisitor<'_>) {
    let Some(headers) = headers else { return };
    // A page chooses the names, so their length and number need limits too.
    let mut room = HEADERS;
    headers.retain(|name, _| {
        let stays = name.len() <= LONGEST_HEADER_NAME && room > 0;
        room -= usize::from(stays);
        stays
    });
    for (name, value) in headers {
        if is_secret_header(name) {
            *value = REDACTED.into();
        }
        visit(value, TextKind::Header);
    }
}

impl RequestBodies {
    fn each_text(&mut self, visit: &mut TextVisitor<'_>) {
        visit(&mut self.request_id, TextKind::Word);
        visit(&mut self.method, TextKind::Word);
        visit(&mut self.url, TextKind::Line);
        some(&mut self.page_url, TextKind::Line, visit);
        some(&mut self.mime_type, TextKind::Word, visit);
        self.truncated |= some(&mut self.request_body, TextKind::Body, visit);
        self.truncated |= some(&mut self.response_body, TextKind::Body, visit);
    }
}

impl UserAction {
    fn each_text(&mut self, visit: &mut TextVisitor<'_>) {
        visit(&mut self.kind, TextKind::Word);
        visit(&mut self.url, TextKind::Line);
        some(&mut self.value, TextKind::Line, visit);
        some(&mut self.key, TextKind::Word, visit);
        if let Some(target) = &mut self.target {
            visit(&mut target.selector, TextKind::Header);
            some(&mut target.tag, TextKind::Word, visit);
            some(&mut target.role, TextKind::Word, visit);
            some(&mut target.text, TextKind::Word, visit);
        }
    }
}

/// The kinds of text, which have different limits.
#[derive(Clone, Copy)]
pub(super) enum TextKind {
    Word,
    Header,
    Line,
    Text,
    Body,
}

impl TextKind {
    /// Redacts the text and cuts it to its limit. Returns whether it was cut.
    pub(super) fn clean(self, text: &mut Box<str>) -> bool {
        let longest = match self {
            Self::Word => LONGEST_WORD,
            Self::Header => LONGEST_HEADER,
            Self::Line => LONGEST_LINE,
            Self::Text => LONGEST_TEXT,
            Self::Body => LONGEST_BODY,
        };
        let looked_at = &text[..text.floor_char_boundary(LOOKED_AT)];
        let clean = match self {
            Self::Body => redact_body(looked_at),
            Self::Word | Self::Header | Self::Line | Self::Text => redact(looked_at),
        };
        // Only now: a secret that the cut had halved might not look like one any more.
        let end = fitting(&clean, longest);
        let is_cut = end < clean.len() || looked_at.len() < text.len();
        if is_cut || matches!(clean, Cow::Owned(_)) {
            *text = clean[..end].into();
        }
        is_cut
    }
}

/// The length of the beginning of a text that fits into `longest` bytes of JSON.
fn fitting(text: &str, longest: usize) -> usize {
    // The longest escape of one byte has six bytes: such a text fits in any case.
    if text.len() * 6 <= longest {
        return text.len();
    }
    let mut room = longest;
    for (at, c) in text.char_indices() {
        let takes = match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_ascii_control() => 6,
            c => c.len_utf8(),
        };
        if takes > room {
            return at;
        }
        room -= takes;
    }
    text.len()
}
