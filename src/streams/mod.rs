//! The streams of browsers, pure: entries are parsed, redacted, stored in bounded rings and read in
//! pages. `now` is an argument and there is no IO. The shell ([`crate::hub`]) holds the rings behind
//! a lock, yields between batches and decides who may read.
//!
//! An entry is read and redacted ([`StreamEntry::read`](crate::streams::StreamEntry::read)) without the rings, so that a lock around
//! them is held only to put it in. Nothing is stored that was not redacted.

mod clean;
mod cursor;
mod entry;
mod entry_line;
mod har;
mod legacy;
mod noise;
mod page;
mod pairs;
mod record;
mod redact;
mod redact_json;
mod rings;
mod secret_names;
mod tabs_inside;
#[cfg(test)]
mod tests;
mod text_line;
mod tokens;
mod values;
mod viewer_entry;

pub use cursor::{CursorError, CursorSeal, PageCursor};
pub use entry::StreamEntry;
pub use har::http_archive;
pub use legacy::{LegacyBatch, LegacyBodyError, LegacyStream, WaterfallHistory};
pub use noise::{NoiseRule, NoiseRuleError, NoiseRules};
#[cfg(test)]
pub(crate) use page::wire_schemas;
pub use page::{
    EntryFilter, EntryForm, EntryPage, LONGEST_PAGE, PageQuery, PageReader, PageStart, StreamView,
    entry_schemas,
};
pub use record::{LogLevel, WebVitals};
pub use redact::{REDACTED, redact};
pub use redact_json::redact_json;
pub use rings::{ClearedPlaces, StoredEntry, StreamRings};
pub use tabs_inside::TabsInside;
pub use text_line::TextLine;
pub use viewer_entry::{parse_entry_id, without_query};
