//! Versions of the program and of its extension.

use semver::Version;

/// Whether version `a` is newer than `b` by the rules of Semantic Versioning. A text that is no version
/// is newer than nothing, and nothing is newer than it.
#[must_use]
pub fn is_newer_version(a: &str, b: &str) -> bool {
    matches!((Version::parse(a), Version::parse(b)), (Ok(a), Ok(b)) if a > b)
}

#[cfg(test)]
mod tests {
    use super::is_newer_version;

    #[test]
    fn versions_are_compared_as_semantic_versioning_says() {
        for (newer, older) in [
            ("0.2.0", "0.1.9"),
            ("0.10.0", "0.9.0"),
            ("0.2.0", "0.2.0-rc.1"),
            ("0.2.0-rc.2", "0.2.0-rc.1"),
            ("0.2.0-rc.1", "0.1.9"),
        ] {
            assert!(is_newer_version(newer, older), "{newer} {older}");
            assert!(!is_newer_version(older, newer), "{older} {newer}");
        }
        for same in ["0.1.0", "0.1.0-rc.1", "nightly", ""] {
            assert!(!is_newer_version(same, same), "{same}");
        }
        assert!(!is_newer_version("0.1.0", "nightly") && !is_newer_version("nightly", "0.1.0"));
    }
}
