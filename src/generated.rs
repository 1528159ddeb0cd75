//! Files in the repository that tests make of the Rust types: a test fails while one is not what they say.

use std::path::Path;

/// Sees to it that a file of the repository is what was generated, or writes it if that is asked for.
pub(crate) fn assert_generated(file: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let remedy = "run `UPDATE_DOCS=1 cargo test --lib generated`";
    assert!(written == generated, "{file} is not what the Rust types say: {remedy}");
}
