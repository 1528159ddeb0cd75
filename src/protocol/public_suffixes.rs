//! The names under which anybody can register a site, as under `com`, `co.uk` and `github.io`.
//!
//! Their rules are text, which is searched where it is: as code, which `psl` has of them, they are four times as large.
//! A test makes the text of that crate's rules, and holds the answers here to its answers.

const FILE: &str = include_str!("public_suffixes.txt");

/// Whether a name in ASCII is one of them, or every name right below it is.
pub(super) fn is_public_suffix(name: &str) -> bool {
    let below = name.split_once('.').map_or("", |(_, below)| below);
    let is_one = is_rule(name) || is_rule(&format!("*.{below}")) && !is_rule(&format!("!{name}"));
    is_one || is_rule(&format!("*.{name}"))
}

/// Looks for a line of the sorted rules.
fn is_rule(rule: &str) -> bool {
    let (_, mut lines) = FILE.split_once("\n\n").unwrap_or_default();
    while !lines.is_empty() {
        let middle = lines.len() / 2;
        let begin = lines[..middle].rfind('\n').map_or(0, |end| end + 1);
        let end = lines[begin..].find('\n').map_or(lines.len(), |length| begin + length);
        lines = match rule.cmp(&lines[begin..end]) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => &lines[..begin],
            std::cmp::Ordering::Greater => lines.get(end + 1..).unwrap_or_default(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_the_list_and_those_around_it_are_public_suffixes_where_the_crate_says_so() {
        let by_crate = |name: &str| {
            let is_it = |name: &str| {
                let suffix = psl::suffix(name.as_bytes());
                suffix.is_some_and(|suffix| suffix.is_known() && suffix == name)
            };
            // The list has `*.ck` without `ck`.
            is_it(name) || is_it(&format!("any-name.{name}"))
        };
        let (_, rules) = FILE.split_once("\n\n").unwrap();
        let mut n_suffixes = 0;
        for rule in rules.lines() {
            let name = rule.trim_start_matches("*.").trim_start_matches('!');
            let above = name.split_once('.').map_or("example", |(_, above)| above);
            for name in [name, above, &format!("x.{name}"), &format!("x.y.{name}"), &name[1..]] {
                let is_plain = !name.starts_with('.') && !name.is_empty();
                assert!(!is_plain || is_public_suffix(name) == by_crate(name), "{name}");
                n_suffixes += usize::from(is_public_suffix(name));
            }
        }
        assert!(n_suffixes > 10_000, "{n_suffixes}");
        for name in ["", ".", "a..b", "localhost", "127.0.0.1", "[::1]", "-", "//", "zzzzzz", "!"] {
            assert!(!is_public_suffix(name), "{name}");
        }
    }
}
