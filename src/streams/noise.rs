//! Noise rules: patterns of log lines and requests that an owner does not want to read. They hide
//! entries from answers; the rings keep the entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StreamEntry;
use crate::protocol::StreamKind;

/// What ids begin with; a number follows.
const ID: &str = "noise_";

/// How many rules there may be.
const RULES: usize = 100;

/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 256;

/// One pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseRule {
    /// Names it, to remove it by.
    pub id: String,
    /// What a text or URL must contain, in any case; `*` stands for anything in between.
    pub pattern: String,
}

/// The patterns of one owner. Cheap to clone while there are few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredNoiseRules")]
pub struct NoiseRules {
    rules: Vec<NoiseRule>,
    /// How many were added ever: the next one's number comes after.
    last: u64,
}

/// Rules as a file holds them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredNoiseRules {
    rules: Vec<NoiseRule>,
    last: u64,
}

impl TryFrom<StoredNoiseRules> for NoiseRules {
    type Error = String;

    fn try_from(StoredNoiseRules { rules, last }: StoredNoiseRules) -> Result<Self, String> {
        if rules.len() > RULES {
            return Err(NoiseRuleError::Full.to_string());
        }
        for NoiseRule { id, pattern } in &rules {
            let number = id.strip_prefix(ID).and_then(|number| number.parse::<u64>().ok());
            // With a lower `last` the next rule would get an id that is in use.
            if number.is_none_or(|number| number > last) {
                return Err(format!("there can be no rule {id}"));
            }
            check_pattern(pattern).map_err(|error| error.to_string())?;
        }
        Ok(Self { rules, last })
    }
}

/// Why a pattern is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoiseRuleError {
    /// It is empty, or would hide everything.
    #[error("a pattern needs 1 to 256 bytes other than `*`")]
    Pattern,
    /// There are as many as there may be.
    #[error("there are 100 rules already")]
    Full,
}

impl NoiseRules {
    /// Adds a pattern; its id. One that is there already stays the one that it is.
    ///
    /// # Errors
    ///
    /// [`NoiseRuleError`].
    pub fn add(&mut self, pattern: &str) -> Result<String, NoiseRuleError> {
        check_pattern(pattern)?;
        if let Some(known) = self.rules.iter().find(|rule| rule.pattern == pattern) {
            return Ok(known.id.clone());
        }
        if self.rules.len() >= RULES {
            return Err(NoiseRuleError::Full);
        }
        // Numbers do not come again, so an old id cannot remove a newer rule.
        self.last += 1;
        let id = format!("{ID}{}", self.last);
        self.rules.push(NoiseRule { id: id.clone(), pattern: pattern.to_owned() });
        Ok(id)
    }

    /// Removes a rule. Whether there was one of that id.
    pub fn remove(&mut self, id: &str) -> bool {
        let before = self.rules.len();
        self.rules.retain(|rule| rule.id != id);
        self.rules.len() < before
    }

    /// All rules, oldest first.
    #[must_use]
    pub fn list(&self) -> &[NoiseRule] {
        &self.rules
    }

    /// Whether an entry is noise: a log line or request that matches a pattern.
    #[must_use]
    pub fn hide(&self, entry: &StreamEntry) -> bool {
        let said = match entry.stream() {
            StreamKind::Logs | StreamKind::Network | StreamKind::ExtensionLogs => entry.said(),
            StreamKind::Bodies
            | StreamKind::Websocket
            | StreamKind::Actions
            | StreamKind::Performance => {
                return false;
            }
        };
        let matches = |rule: &NoiseRule| said.iter().any(|text| has_parts(text, &rule.pattern));
        self.rules.iter().any(matches)
    }
}

fn check_pattern(pattern: &str) -> Result<(), NoiseRuleError> {
    let hides_everything = pattern.trim_matches(['*', ' ']).is_empty();
    if hides_everything || pattern.len() > LONGEST_PATTERN {
        return Err(NoiseRuleError::Pattern);
    }
    Ok(())
}

/// Whether the parts of a pattern, between its `*`, stand in a text in their order.
fn has_parts(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split('*').all(|part| match find(rest, part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// Where a part stands in a text; letters from A to Z in any case.
pub(super) fn find(text: &str, part: &str) -> Option<usize> {
    let Some(first) = part.bytes().next() else { return Some(0) };
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let last = text.len().checked_sub(part.len())?;
    (0..=last).find(|at| {
        text[*at].eq_ignore_ascii_case(&first)
            && text[*at..at + part.len()].eq_ignore_ascii_case(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_anywhere_in_any_case_and_a_star_is_anything() {
        for (text, pattern, found) in [
            ("GET /favicon.ico", "favicon", true),
            ("[HMR] Waiting", "[hmr]", true),
            ("http://h/ads/1.gif", "/ads/*.gif", true),
            ("http://h/1.gif/ads/", "/ads/*.gif", false),
            ("Grüße an ÄLLE", "grüße", true),
            ("ü", "ü", true),
            ("short", "longer than it", false),
            ("aXbXc", "a*b*c", true),
        ] {
            assert_eq!(has_parts(text, pattern), found, "{pattern} in {text}");
        }
    }

    #[test]
    fn a_rule_is_listed_once_and_gone_when_it_is_removed() {
        let mut rules = NoiseRules::default();
        let id = rules.add("hmr").unwrap();
        assert_eq!(rules.add("hmr").unwrap(), id);
        assert_eq!(rules.list().len(), 1);
        assert!(!rules.remove("noise_9"));
        assert!(rules.remove(&id));
        assert!(rules.list().is_empty());
    }

    #[test]
    fn a_pattern_that_hides_everything_and_one_too_many_are_refused() {
        let mut rules = NoiseRules::default();
        for pattern in ["", "*", " ** ", &"x".repeat(257)] {
            assert_eq!(rules.add(pattern), Err(NoiseRuleError::Pattern));
        }
        for number in 0..RULES {
            rules.add(&format!("p{number}")).unwrap();
        }
        assert_eq!(rules.add("one more"), Err(NoiseRuleError::Full));
    }
}
