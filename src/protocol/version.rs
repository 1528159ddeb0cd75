//! Versions of the program and of its extension.

use semver::Version;

/// Whether version `a` is newer than `b` by the rules of Semantic Versioning. A text that is no version
/// is newer than nothing, and nothing is newer than it.
#[must_use]
pub fn is_newer_version(a: &str, b: &str) -> bool {
    matches!((Version::parse(a), Version::parse(b)), (Ok(a), Ok(b)) if a > b)
}

/// Whether a bridge and a daemon of these versions understand each other: they have the same major version,
/// and before 1.0 the same minor one. A text that is no version fits none.
#[must_use]
pub fn versions_fit(a: &str, b: &str) -> bool {
    let (Ok(a), Ok(b)) = (Version::parse(a), Version::parse(b)) else { return false };
    a.major == b.major && (a.major > 0 || a.minor == b.minor)
}

#[cfg(test)]
mod tests {
    use super::{is_newer_version, versions_fit};

    #[test]
    fn versions_fit_within_a_major_one_and_before_the_first_within_a_minor_one() {
        for (a, b, fits) in [
            ("0.1.0", "0.1.9", true),
            ("0.1.0", "0.2.0", false),
            ("1.0.0", "1.7.2", true),
            ("1.9.0", "2.0.0", false),
            ("0.9.0", "1.0.0", false),
            ("0.1.0", "new", false),
            ("", "", false),
        ] {
            assert_eq!((versions_fit(a, b), versions_fit(b, a)), (fits, fits), "{a} {b}");
        }
    }

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
