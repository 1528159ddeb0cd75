//! The error codes that a source file names. A test that walks a list of errors compares the list
//! with them, so that a missing code fails the test.

use std::collections::BTreeSet;

/// The string literals in the body of `fn code` of this source file.
pub(crate) fn codes_named_in(source: &str) -> BTreeSet<&str> {
    let (_, rest) = source.split_once("fn code(").expect("the file has a `fn code`");
    let body = rest.split("\n    }\n").next().unwrap_or_default();
    let codes: BTreeSet<_> = body.split('"').skip(1).step_by(2).collect();
    assert!(codes.len() > 1, "{body}");
    codes
}
