//! Which sites agents may use: two lists of patterns, and the form of one.
//!
//! What a pattern matches is decided in the extension alone (`extension-shim/sites.js`): it is
//! enforced there. Here a pattern is only read, so that a wrong one is refused where it is given.
//! `tests/fixtures/sites.json` holds both to the same form.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest pattern, in bytes.
pub const SITE_PATTERN_MAX: usize = 256;

/// How many patterns both lists may have together.
pub const SITE_PATTERNS_MAX: usize = 1_000;

/// A pattern of sites: `example.com` with all that is below it, `*.example.com` for what is below
/// it alone, an address, each with a scheme and a port where only these are meant, or `file:`.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct SitePattern(Arc<str>);

/// What is wrong with a pattern or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteRuleError {
    /// The pattern is none.
    #[error("`{pattern}` is no site pattern: {why}")]
    Pattern {
        /// Its beginning.
        pattern: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There are as many as there may be.
    #[error("there are {SITE_PATTERNS_MAX} site patterns already; remove some first")]
    TooMany,
}

/// One of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteList {
    /// Where it is not empty, nothing else may be used.
    Allow,
    /// What may not be used, whatever the other list says.
    Deny,
}

/// Which sites agents may use. The same for all browsers of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Lists")]
pub struct SiteRules {
    allow: Vec<SitePattern>,
    deny: Vec<SitePattern>,
}

/// A change of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum SiteChange {
    /// The pattern comes into this list.
    Add {
        /// Which.
        list: SiteList,
        /// The pattern.
        pattern: SitePattern,
    },
    /// The pattern leaves this list.
    Remove {
        /// Which.
        list: SiteList,
        /// The pattern.
        pattern: SitePattern,
    },
}

/// The lists as they stand in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(default)]
    allow: Vec<SitePattern>,
    #[serde(default)]
    deny: Vec<SitePattern>,
}

impl SitePattern {
    /// The pattern in lower case and without a dot at its end, if it is one.
    ///
    /// # Errors
    ///
    /// [`SiteRuleError::Pattern`].
    pub fn parse(given: &str) -> Result<Self, SiteRuleError> {
        let wrong = |why| {
            let pattern = given.chars().take(64).filter(|char| !char.is_control()).collect();
            SiteRuleError::Pattern { pattern, why }
        };
        if given.len() > SITE_PATTERN_MAX {
            return Err(wrong("it has more than 256 bytes"));
        }
        if !given.is_ascii() {
            return Err(wrong("write the host as the browser sends it, in punycode (xn--…)"));
        }
        let pattern = given.to_ascii_lowercase();
        if pattern == "file:" {
            return Ok(Self(pattern.into()));
        }
        let (scheme, rest) = match pattern.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (Some(scheme), rest),
            Some(_) => return Err(wrong("its scheme is not http, https or file:")),
            None => (None, pattern.as_str()),
        };
        let (subdomains, rest) = rest.strip_prefix("*.").map_or(("", rest), |rest| ("*.", rest));
        let (host, port) = split_port(rest).map_err(wrong)?;
        let host = checked_host(host, !subdomains.is_empty()).map_err(wrong)?;
        let scheme = scheme.map_or_else(String::new, |scheme| format!("{scheme}://"));
        Ok(Self(format!("{scheme}{subdomains}{host}{port}").into()))
    }

    /// The pattern as it is kept.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The host, and the port with its colon.
fn split_port(rest: &str) -> Result<(&str, &str), &'static str> {
    let after_address = rest.find(']').map_or(0, |end| end + 1);
    let Some(colon) = rest[after_address..].find(':').map(|at| at + after_address) else {
        return Ok((rest, ""));
    };
    let (host, port) = rest.split_at(colon);
    let digits = &port[1..];
    let is_port = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    match digits.parse::<u16>() {
        Ok(_) if is_port => Ok((host, port)),
        Ok(_) | Err(_) => Err("its port is no number from 1 to 65535"),
    }
}

/// A name or an address that a URL can have as its host.
fn checked_host(host: &str, below_only: bool) -> Result<String, &'static str> {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address = address.parse::<Ipv6Addr>().map_err(|_| "its address is no IPv6 address")?;
        return if below_only {
            Err("nothing is below an address")
        } else {
            Ok(format!("[{address}]"))
        };
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain)
    };
    if !host.split('.').all(is_label) {
        return Err(
            "write a host only, such as example.com, *.example.com, https://example.com:8443 \
                    or [::1], or file:",
        );
    }
    // The URL parser takes a host for an address if its last part looks like a number.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    match (is_number, host.parse::<Ipv4Addr>()) {
        (true, Err(_)) => Err("its address is no IPv4 address in four decimal numbers"),
        (true, Ok(_)) if below_only => Err("nothing is below an address"),
        (_, _) => Ok(host.to_owned()),
    }
}

impl SiteRules {
    /// Where it is not empty, nothing else may be used.
    #[must_use]
    pub fn allow(&self) -> &[SitePattern] {
        &self.allow
    }

    /// What may not be used.
    #[must_use]
    pub fn deny(&self) -> &[SitePattern] {
        &self.deny
    }

    /// Whether every site may be used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Makes a change. Whether it changed anything.
    ///
    /// # Errors
    ///
    /// [`SiteRuleError::TooMany`].
    pub fn apply(&mut self, change: &SiteChange) -> Result<bool, SiteRuleError> {
        let count = self.allow.len() + self.deny.len();
        match change {
            SiteChange::Add { list, pattern } => {
                let list = self.list_mut(*list);
                if list.contains(pattern) {
                    return Ok(false);
                }
                if count >= SITE_PATTERNS_MAX {
                    return Err(SiteRuleError::TooMany);
                }
                list.push(pattern.clone());
                Ok(true)
            }
            SiteChange::Remove { list, pattern } => {
                let list = self.list_mut(*list);
                let before = list.len();
                list.retain(|known| known != pattern);
                Ok(list.len() < before)
            }
        }
    }

    /// Whether a change lets agents use a site that they may not use now. The first `allow` rule
    /// narrows: before it every site may be used.
    #[must_use]
    pub fn is_widened_by(&self, change: &SiteChange) -> bool {
        match change {
            SiteChange::Add { list: SiteList::Deny, .. } => false,
            SiteChange::Add { list: SiteList::Allow, pattern } => {
                !self.allow.is_empty() && !self.allow.contains(pattern)
            }
            SiteChange::Remove { list: SiteList::Deny, pattern } => self.deny.contains(pattern),
            SiteChange::Remove { list: SiteList::Allow, pattern } => {
                self.allow.iter().all(|known| known == pattern) && !self.allow.is_empty()
            }
        }
    }

    fn list_mut(&mut self, list: SiteList) -> &mut Vec<SitePattern> {
        match list {
            SiteList::Allow => &mut self.allow,
            SiteList::Deny => &mut self.deny,
        }
    }
}

impl TryFrom<Lists> for SiteRules {
    type Error = SiteRuleError;

    fn try_from(Lists { allow, deny }: Lists) -> Result<Self, SiteRuleError> {
        if allow.len() + deny.len() > SITE_PATTERNS_MAX {
            return Err(SiteRuleError::TooMany);
        }
        Ok(Self { allow, deny })
    }
}

impl TryFrom<String> for SitePattern {
    type Error = SiteRuleError;

    fn try_from(given: String) -> Result<Self, SiteRuleError> {
        Self::parse(&given)
    }
}

impl From<SitePattern> for String {
    fn from(pattern: SitePattern) -> Self {
        pattern.as_str().to_owned()
    }
}

impl fmt::Display for SitePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn fixture() -> Value {
        serde_json::from_str(include_str!("../../tests/fixtures/sites.json")).unwrap()
    }

    fn texts(of: &Value) -> impl Iterator<Item = &str> {
        of.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
    }

    #[test]
    fn what_the_extension_takes_for_a_pattern_is_one_here_and_what_it_refuses_is_none() {
        let fixture = fixture();
        for pair in fixture["patterns"].as_array().unwrap() {
            let [given, kept] = [0, 1].map(|at| pair[at].as_str().unwrap());
            assert_eq!(SitePattern::parse(given).unwrap().as_str(), kept, "{given}");
            assert_eq!(SitePattern::parse(kept).unwrap().as_str(), kept, "{given}");
        }
        for given in texts(&fixture["no_patterns"]) {
            assert!(SitePattern::parse(given).is_err(), "{given}");
        }
    }

    #[test]
    fn every_pattern_of_the_fixture_s_cases_is_one() {
        for case in fixture()["cases"].as_array().unwrap() {
            serde_json::from_value::<SiteRules>(case["rules"].clone()).unwrap();
        }
    }

    #[test]
    fn a_wrong_pattern_is_refused_with_what_is_wrong() {
        let why = |given: &str| SitePattern::parse(given).unwrap_err().to_string();
        assert!(why("bücher.example").contains("punycode"), "{}", why("bücher.example"));
        assert!(why("example.com/path").contains("host only"));
        assert!(why("ftp://example.com").contains("scheme"));
        assert!(why("example.com:99999").contains("port"));
        assert!(why(&"a".repeat(257)).contains("256"));
    }

    #[test]
    fn a_change_widens_if_afterwards_a_site_may_be_used_that_may_not_be_now() {
        let pattern = |text: &str| SitePattern::parse(text).unwrap();
        let add = |list, text| SiteChange::Add { list, pattern: pattern(text) };
        let remove = |list, text| SiteChange::Remove { list, pattern: pattern(text) };
        use SiteList::{Allow, Deny};
        for (allow, deny, change, widens) in [
            (&[][..], &[][..], add(Deny, "a.example"), false),
            (&[], &[], add(Allow, "a.example"), false),
            (&[], &["b.example"], add(Allow, "b.example"), false),
            (&["a.example"], &[], add(Allow, "A.example."), false),
            (&["a.example"], &[], add(Allow, "b.example"), true),
            (&["a.example"], &[], add(Deny, "a.example"), false),
            (&[], &["a.example"], remove(Deny, "a.example"), true),
            (&[], &["a.example"], remove(Deny, "b.example"), false),
            (&["a.example"], &[], remove(Allow, "a.example"), true),
            (&["a.example"], &[], remove(Allow, "b.example"), false),
            (&["a.example", "b.example"], &[], remove(Allow, "a.example"), false),
            (&[], &[], remove(Allow, "a.example"), false),
        ] {
            let list = |texts: &[&str]| texts.iter().map(|text| pattern(text)).collect();
            let rules = SiteRules { allow: list(allow), deny: list(deny) };
            assert_eq!(rules.is_widened_by(&change), widens, "{rules:?} {change:?}");
        }
    }

    #[test]
    fn a_list_takes_a_pattern_once_and_a_thousand_in_all() {
        let add = |text: &str| SiteChange::Add {
            list: SiteList::Deny,
            pattern: SitePattern::parse(text).unwrap(),
        };
        let mut rules = SiteRules::default();
        assert!(rules.apply(&add("example.com")).unwrap());
        assert!(!rules.apply(&add("EXAMPLE.com.")).unwrap());
        for n in 1..SITE_PATTERNS_MAX {
            assert!(rules.apply(&add(&format!("h{n}.example"))).unwrap());
        }
        assert_eq!(rules.apply(&add("one.more.example")).unwrap_err(), SiteRuleError::TooMany);
        let remove = SiteChange::Remove {
            list: SiteList::Deny,
            pattern: SitePattern::parse("example.com").unwrap(),
        };
        assert!(rules.apply(&remove).unwrap());
        assert!(!rules.apply(&remove).unwrap());
    }
}
