//! The site rules: lists of patterns by the person, a list of sites that agents have denied, actions
//! that are denied on some sites, and the form of a pattern.
//!
//! The extension alone matches and enforces patterns (`extension-shim/src/policy/sites.js`). The
//! daemon only parses them, so that a malformed pattern is rejected where it is entered.
//! `tests/fixtures/sites.json` holds both to the same form.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::actions::{ActionTool, RegisteredAction};
use super::public_suffixes;

/// The longest pattern, in bytes.
pub const SITE_PATTERN_MAX: usize = 256;

/// How many patterns the person's lists may have together, and denied actions with them.
pub const SITE_PATTERNS_MAX: usize = 1_000;

/// The most sites that agents may deny. Agents have a list of their own, so that they cannot fill
/// the person's lists.
pub const AGENT_DENIALS_MAX: usize = 200;

/// The pattern of all local files. It can be denied. Older versions also let a person allow it:
/// such a list still loads, and the pattern opens nothing, since files are opened by folder.
const LOCAL_FILES: &str = "file:";

/// A pattern of sites: `example.com` with all its subdomains, `*.example.com` for the subdomains
/// alone, or an IP address; each may name a scheme and a port. Or `file:`.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct SitePattern(Arc<str>);

/// The reason why a pattern or a list of patterns is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteRuleError {
    /// The text is no pattern.
    #[error("`{pattern}` is not a site pattern: {why}")]
    Pattern {
        /// Its beginning.
        pattern: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The person's lists are full.
    #[error("there are {SITE_PATTERNS_MAX} site patterns already; remove some first")]
    TooMany,
    /// A rule names an action that there is not.
    #[error("`{0}` is no action; `tabwire call --help` and docs/tools.md list them")]
    UnknownAction(String),
    /// The person allowed `file:` as a site.
    #[error("local files are opened by folder: `tabwire sites files allow DIR`")]
    LocalFiles,
    /// The agents' list is full.
    #[error(
        "agents have denied {AGENT_DENIALS_MAX} sites already; the person can take those back: `tabwire sites clear --agents`"
    )]
    TooManyOfAgents,
    /// An agent denied a domain under which anybody can have a site.
    #[error(
        "`{0}` is a public suffix: agents deny single sites, such as example.{0}; a person can deny it with `tabwire sites deny`"
    )]
    PublicSuffix(String),
}

/// One of the lists.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteList {
    /// If the list is not empty, agents may use its sites only.
    Allow,
    /// Sites that agents may not use, even if the other list allows them.
    Deny,
    /// Sites that agents have denied. Only a person removes a pattern from it.
    AgentDeny,
    /// Sites that agents may read, and on which they do not act.
    Read,
    /// Sites on which the person is asked before a client acts.
    Ask,
}

/// What holds on sites that no rule is about.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteDefault {
    /// Agents act.
    #[default]
    Allow,
    /// The person is asked before a client acts.
    Ask,
}

impl SiteDefault {
    /// Reads `allow` or `ask`.
    ///
    /// # Errors
    ///
    /// A sentence: it is neither.
    pub fn parse(word: &str) -> Result<Self, &'static str> {
        match word {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            _ => Err("it is `ask` or `allow`"),
        }
    }

    /// Whether agents act there without being asked about.
    #[must_use]
    pub const fn is_allow(&self) -> bool {
        matches!(self, Self::Allow)
    }
}

/// An action that agents may not use on some sites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionDenial {
    /// The name of the action.
    pub action: DeniedAction,
    /// The sites.
    pub pattern: SitePattern,
}

/// The name of an action that extensions run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", inline)]
pub struct DeniedAction(Arc<str>);

impl DeniedAction {
    /// Reads the name of an action.
    ///
    /// # Errors
    ///
    /// [`SiteRuleError::UnknownAction`].
    pub fn parse(name: &str) -> Result<Self, SiteRuleError> {
        match RegisteredAction::named(name) {
            Some(known) if known.spec.tool != ActionTool::Daemon => Ok(Self(name.into())),
            Some(_) | None => {
                let shown = name.chars().take(64).filter(|char| !char.is_control()).collect();
                Err(SiteRuleError::UnknownAction(shown))
            }
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for DeniedAction {
    type Error = SiteRuleError;

    fn try_from(name: String) -> Result<Self, SiteRuleError> {
        Self::parse(&name)
    }
}

impl From<DeniedAction> for String {
    fn from(action: DeniedAction) -> Self {
        action.as_str().to_owned()
    }
}

impl fmt::Display for DeniedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The sites that agents may use, the same in all browsers of the user.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredSiteRules")]
pub struct SiteRules {
    allow: Vec<SitePattern>,
    deny: Vec<SitePattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agent_deny: Vec<SitePattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    read: Vec<SitePattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deny_actions: Vec<ActionDenial>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ask: Vec<SitePattern>,
    /// Absent until somebody has chosen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<SiteDefault>,
}

/// A change of the rules.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum SiteChange {
    /// Adds a pattern to a list.
    Add {
        /// Which.
        list: SiteList,
        /// The pattern.
        pattern: SitePattern,
    },
    /// Removes a pattern from a list.
    Remove {
        /// Which.
        list: SiteList,
        /// The pattern.
        pattern: SitePattern,
    },
    /// Empties the agents' list.
    ClearAgents,
    /// Denies an action on some sites.
    DenyAction(ActionDenial),
    /// Takes such a denial back.
    AllowAction(ActionDenial),
    /// Sets what holds on sites that no rule is about.
    Default {
        /// What.
        default: SiteDefault,
    },
}

/// The lists as they stand in a file.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSiteRules {
    #[serde(default)]
    allow: Vec<SitePattern>,
    #[serde(default)]
    deny: Vec<SitePattern>,
    #[serde(default)]
    agent_deny: Vec<SitePattern>,
    #[serde(default)]
    read: Vec<SitePattern>,
    #[serde(default)]
    deny_actions: Vec<ActionDenial>,
    #[serde(default)]
    ask: Vec<SitePattern>,
    #[serde(default)]
    default: Option<SiteDefault>,
}

impl SitePattern {
    /// Parses a pattern. It comes out in lower case and without a dot at its end.
    ///
    /// # Errors
    ///
    /// [`SiteRuleError::Pattern`].
    pub fn parse(given: &str) -> Result<Self, SiteRuleError> {
        let wrong = |why| {
            // The message may go to a terminal, and the text may be of any length.
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
        if pattern == LOCAL_FILES {
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

    /// Whether anybody can register a site under it, as under `com`, `co.uk` and `github.io`. Such
    /// a denial by an agent would close a large part of the web.
    fn is_public_suffix(&self) -> bool {
        let host = self.0.split_once("://").map_or(&*self.0, |(_, rest)| rest);
        let host = host.strip_prefix("*.").unwrap_or(host);
        let host = host.split(':').next().unwrap_or_default();
        public_suffixes::is_public_suffix(host)
    }

    /// Whether it means all local files.
    #[must_use]
    pub fn is_local_files(&self) -> bool {
        &*self.0 == LOCAL_FILES
    }

    /// The pattern's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The host, and the port with its colon.
fn split_port(rest: &str) -> Result<(&str, &str), &'static str> {
    // The colons of an IPv6 address stand in brackets.
    let after_address = rest.find(']').map_or(0, |end| end + 1);
    let Some(colon) = rest[after_address..].find(':').map(|at| at + after_address) else {
        return Ok((rest, ""));
    };
    let (host, port) = rest.split_at(colon);
    let digits = &port[1..];
    let is_port = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    match digits.parse::<u16>() {
        Ok(_) if is_port => Ok((host, port)),
        Ok(_) | Err(_) => Err("its port is not a number from 1 to 65535"),
    }
}

/// A name or an address that a URL can have as its host.
fn checked_host(host: &str, below_only: bool) -> Result<String, &'static str> {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address =
            address.parse::<Ipv6Addr>().map_err(|_| "its address is not an IPv6 address")?;
        return if below_only {
            Err("an address has no subdomains")
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
        (true, Err(_)) => Err("its address is not an IPv4 address in four decimal numbers"),
        (true, Ok(_)) if below_only => Err("an address has no subdomains"),
        (_, _) => Ok(host.to_owned()),
    }
}

impl SiteRules {
    /// The sites that the person allows. If the list is not empty, agents may use no other site.
    #[must_use]
    pub fn allow(&self) -> &[SitePattern] {
        &self.allow
    }

    /// The sites that the person has denied.
    #[must_use]
    pub fn deny(&self) -> &[SitePattern] {
        &self.deny
    }

    /// The sites that agents have denied.
    #[must_use]
    pub fn agent_deny(&self) -> &[SitePattern] {
        &self.agent_deny
    }

    /// The sites that agents may read, and on which they do not act.
    #[must_use]
    pub fn read(&self) -> &[SitePattern] {
        &self.read
    }

    /// The actions that agents may not use on some sites.
    #[must_use]
    pub fn deny_actions(&self) -> &[ActionDenial] {
        &self.deny_actions
    }

    /// The sites on which the person is asked before a client acts.
    #[must_use]
    pub fn ask(&self) -> &[SitePattern] {
        &self.ask
    }

    /// What holds on sites that no rule is about.
    #[must_use]
    pub fn default_rule(&self) -> SiteDefault {
        self.default.unwrap_or_default()
    }

    /// The same, if somebody has chosen it.
    #[must_use]
    pub const fn chosen_default(&self) -> Option<SiteDefault> {
        self.default
    }

    /// Whether the person wants to be asked about some site.
    #[must_use]
    pub fn asks_first(&self) -> bool {
        !self.ask.is_empty() || !self.default_rule().is_allow()
    }

    /// Whether no rule does more than ask the person.
    #[must_use]
    pub fn only_asks_first(&self) -> bool {
        let rest = Self { ask: Vec::new(), default: None, ..self.clone() };
        self.asks_first() && rest.is_empty()
    }

    /// Whether every site may be used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_open = self.allow.is_empty() && self.deny.is_empty() && self.agent_deny.is_empty();
        is_open && !self.bounds_acts() && !self.asks_first()
    }

    /// Whether some rule is about acts alone. An extension that only knows which sites are closed would
    /// let agents do too much.
    #[must_use]
    pub fn bounds_acts(&self) -> bool {
        !self.read.is_empty() || !self.deny_actions.is_empty()
    }

    /// Makes a change. Returns whether it changed anything.
    ///
    /// # Errors
    ///
    /// [`SiteRuleError`]: nothing changed.
    pub fn apply(&mut self, change: &SiteChange) -> Result<bool, SiteRuleError> {
        match change {
            SiteChange::Add { list, pattern } => {
                if self.list_mut(*list).contains(pattern) {
                    return Ok(false);
                }
                self.check_room(*list, pattern)?;
                self.list_mut(*list).push(pattern.clone());
                Ok(true)
            }
            SiteChange::Remove { list, pattern } => {
                let list = self.list_mut(*list);
                let before = list.len();
                list.retain(|known| known != pattern);
                Ok(list.len() < before)
            }
            SiteChange::ClearAgents => {
                let is_changed = !self.agent_deny.is_empty();
                self.agent_deny.clear();
                Ok(is_changed)
            }
            SiteChange::DenyAction(denial) if self.deny_actions.contains(denial) => Ok(false),
            SiteChange::DenyAction(_) if self.is_full() => Err(SiteRuleError::TooMany),
            SiteChange::DenyAction(denial) => {
                self.deny_actions.push(denial.clone());
                Ok(true)
            }
            SiteChange::AllowAction(denial) => {
                let before = self.deny_actions.len();
                self.deny_actions.retain(|known| known != denial);
                Ok(self.deny_actions.len() < before)
            }
            SiteChange::Default { default } => Ok(self.default.replace(*default) != Some(*default)),
        }
    }

    const fn is_full(&self) -> bool {
        let patterns = self.allow.len() + self.deny.len() + self.read.len() + self.ask.len();
        patterns + self.deny_actions.len() >= SITE_PATTERNS_MAX
    }

    /// Whether a list has room for a pattern that it does not have, and may hold it.
    fn check_room(&self, list: SiteList, pattern: &SitePattern) -> Result<(), SiteRuleError> {
        match list {
            SiteList::Allow if pattern.is_local_files() => Err(SiteRuleError::LocalFiles),
            SiteList::Allow | SiteList::Deny | SiteList::Read | SiteList::Ask if self.is_full() => {
                Err(SiteRuleError::TooMany)
            }
            SiteList::AgentDeny if pattern.is_public_suffix() => {
                Err(SiteRuleError::PublicSuffix(pattern.to_string()))
            }
            SiteList::AgentDeny if self.agent_deny.len() >= AGENT_DENIALS_MAX => {
                Err(SiteRuleError::TooManyOfAgents)
            }
            SiteList::Allow
            | SiteList::Deny
            | SiteList::AgentDeny
            | SiteList::Read
            | SiteList::Ask => Ok(()),
        }
    }

    /// Whether a change lets agents use a site that they may not use now.
    #[must_use]
    pub fn is_widened_by(&self, change: &SiteChange) -> bool {
        match change {
            SiteChange::Add {
                list: SiteList::Deny | SiteList::AgentDeny | SiteList::Read | SiteList::Ask,
                ..
            }
            | SiteChange::DenyAction(_) => false,
            SiteChange::Remove { list: SiteList::Ask, pattern } => self.ask.contains(pattern),
            SiteChange::Default { default } => {
                default.is_allow() && !self.default_rule().is_allow()
            }
            SiteChange::Remove { list: SiteList::Read, pattern } => self.read.contains(pattern),
            SiteChange::AllowAction(denial) => self.deny_actions.contains(denial),
            // The first pattern of this list narrows: before it agents may use every site.
            SiteChange::Add { list: SiteList::Allow, pattern } => {
                !self.allow.is_empty() && !self.allow.contains(pattern)
            }
            // What stands in both lists stays denied by the other one.
            SiteChange::Remove { list: SiteList::Deny, pattern } => {
                self.deny.contains(pattern) && !self.agent_deny.contains(pattern)
            }
            SiteChange::Remove { list: SiteList::AgentDeny, pattern } => {
                self.agent_deny.contains(pattern) && !self.deny.contains(pattern)
            }
            SiteChange::ClearAgents => {
                self.agent_deny.iter().any(|pattern| !self.deny.contains(pattern))
            }
            // An empty list allows everything, so taking out the last pattern widens.
            SiteChange::Remove { list: SiteList::Allow, pattern } => {
                self.allow.iter().all(|known| known == pattern) && !self.allow.is_empty()
            }
        }
    }

    fn list_mut(&mut self, list: SiteList) -> &mut Vec<SitePattern> {
        match list {
            SiteList::Allow => &mut self.allow,
            SiteList::Deny => &mut self.deny,
            SiteList::AgentDeny => &mut self.agent_deny,
            SiteList::Read => &mut self.read,
            SiteList::Ask => &mut self.ask,
        }
    }
}

impl TryFrom<StoredSiteRules> for SiteRules {
    type Error = SiteRuleError;

    fn try_from(
        StoredSiteRules { allow, deny, agent_deny, read, deny_actions, ask, default }: StoredSiteRules,
    ) -> Result<Self, SiteRuleError> {
        let patterns = allow.len() + deny.len() + read.len() + ask.len();
        if patterns + deny_actions.len() > SITE_PATTERNS_MAX {
            return Err(SiteRuleError::TooMany);
        }
        if agent_deny.len() > AGENT_DENIALS_MAX {
            return Err(SiteRuleError::TooManyOfAgents);
        }
        Ok(Self { allow, deny, agent_deny, read, deny_actions, ask, default })
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
    use crate::protocol::actions::ActionEffect;

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
            let rules = SiteRules { allow: list(allow), deny: list(deny), ..SiteRules::default() };
            assert_eq!(rules.is_widened_by(&change), widens, "{rules:?} {change:?}");
        }
    }

    #[test]
    fn the_extension_knows_of_each_action_whether_it_acts_on_the_page() {
        let table = include_str!("../../extension-shim/src/policy/acts.js");
        let (on_page, around) = table.split_once("const AROUND_PAGE").unwrap();
        let names = |text: &str| -> Vec<String> {
            let names = text.split('\'').skip(1).step_by(2);
            names.map(str::to_owned).collect()
        };
        let on_page = names(on_page.split_once("const ON_PAGE").unwrap().1);
        let around = names(around.split_once("]);").unwrap().0);
        for known in RegisteredAction::all() {
            let spec = known.spec;
            let acts = matches!(spec.effect, ActionEffect::Acts { .. }) && !spec.is_browser_wide;
            let is_listed =
                [&on_page, &around].map(|list| list.iter().any(|name| name == spec.name));
            let is_once = is_listed[0] != is_listed[1];
            let is_ours = spec.tool != ActionTool::Daemon;
            assert_eq!(is_once, acts && is_ours, "{} in acts.js", spec.name);
        }
    }

    #[test]
    fn rules_about_acts_are_kept_and_only_taking_one_back_widens() {
        let pattern = SitePattern::parse("*.bank.example").unwrap();
        let action = DeniedAction::parse("execute_js").unwrap();
        let denial = ActionDenial { action, pattern: pattern.clone() };
        let list = SiteList::Read;
        let narrow = [
            SiteChange::DenyAction(denial.clone()),
            SiteChange::Add { list, pattern: pattern.clone() },
        ];
        let widen = [SiteChange::AllowAction(denial), SiteChange::Remove { list, pattern }];
        let mut rules = SiteRules::default();
        for (narrow, widen) in narrow.iter().zip(&widen) {
            assert!(!rules.bounds_acts() && rules.is_empty());
            assert!(!rules.is_widened_by(narrow) && !rules.is_widened_by(widen));
            assert!(rules.apply(narrow).unwrap() && !rules.apply(narrow).unwrap());
            assert!(rules.bounds_acts() && !rules.is_empty());
            let kept = serde_json::to_string(&rules).unwrap();
            assert_eq!(serde_json::from_str::<SiteRules>(&kept).unwrap(), rules);
            assert!(rules.is_widened_by(widen));
            assert!(rules.apply(widen).unwrap() && !rules.apply(widen).unwrap());
        }
        for wrong in ["", "execute", "draw_mode", "ask_user"] {
            assert!(DeniedAction::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn asking_first_is_narrower_than_allowing_and_ends_only_by_a_widening() {
        let pattern = SitePattern::parse("shop.example").unwrap();
        let list = SiteList::Ask;
        let narrow = [
            SiteChange::Add { list, pattern: pattern.clone() },
            SiteChange::Default { default: SiteDefault::Ask },
        ];
        let widen = [
            SiteChange::Remove { list, pattern: pattern.clone() },
            SiteChange::Default { default: SiteDefault::Allow },
        ];
        let mut rules = SiteRules::default();
        assert!(!rules.is_widened_by(&widen[1]), "that is what holds without a choice");
        for (narrow, widen) in narrow.iter().zip(&widen) {
            assert!(!rules.asks_first() && rules.is_empty());
            assert!(!rules.is_widened_by(narrow) && rules.apply(narrow).unwrap());
            assert!(rules.asks_first() && rules.only_asks_first() && !rules.is_empty());
            let kept = serde_json::to_string(&rules).unwrap();
            assert_eq!(serde_json::from_str::<SiteRules>(&kept).unwrap(), rules);
            assert!(rules.is_widened_by(widen));
            let deny = SiteChange::Add { list: SiteList::Deny, pattern: pattern.clone() };
            let mut more = rules.clone();
            assert!(more.apply(&deny).unwrap() && !more.only_asks_first());
            assert!(rules.apply(widen).unwrap() && !rules.apply(widen).unwrap());
        }
        assert_eq!(rules.chosen_default(), Some(SiteDefault::Allow));
    }

    #[test]
    fn what_agents_have_denied_has_its_own_list_cap_and_end_and_the_person_s_list_has_room() {
        let pattern = |text: &str| SitePattern::parse(text).unwrap();
        let add = |list, text: &str| SiteChange::Add { list, pattern: pattern(text) };
        let mut rules = SiteRules::default();
        for n in 0..AGENT_DENIALS_MAX {
            let change = add(SiteList::AgentDeny, &format!("h{n}.example"));
            assert!(!rules.is_widened_by(&change));
            assert!(rules.apply(&change).unwrap());
        }
        let more = add(SiteList::AgentDeny, "more.example");
        assert_eq!(rules.apply(&more), Err(SiteRuleError::TooManyOfAgents));
        for n in 0..SITE_PATTERNS_MAX {
            assert!(rules.apply(&add(SiteList::Deny, &format!("h{n}.example"))).unwrap());
        }
        let kept: SiteRules =
            serde_json::from_str(&serde_json::to_string(&rules).unwrap()).unwrap();
        assert_eq!(kept, rules);
        let remove = |list, text: &str| SiteChange::Remove { list, pattern: pattern(text) };
        assert!(!rules.is_widened_by(&SiteChange::ClearAgents), "the person denies them, too");
        assert!(!rules.is_widened_by(&remove(SiteList::Deny, "h0.example")));
        rules.apply(&remove(SiteList::Deny, "h0.example")).unwrap();
        assert!(rules.is_widened_by(&SiteChange::ClearAgents));
        assert!(rules.is_widened_by(&remove(SiteList::AgentDeny, "h0.example")));
        assert!(rules.apply(&SiteChange::ClearAgents).unwrap());
        assert!(!rules.apply(&SiteChange::ClearAgents).unwrap());
        assert_eq!((rules.agent_deny().len(), rules.deny().len()), (0, SITE_PATTERNS_MAX - 1));
    }

    #[test]
    fn an_agent_denies_sites_and_no_public_suffix() {
        let mut rules = SiteRules::default();
        let mut deny = |text: &str| {
            let pattern = SitePattern::parse(text).unwrap();
            rules.apply(&SiteChange::Add { list: SiteList::AgentDeny, pattern })
        };
        for suffix in [
            "com",
            "*.com",
            "co.uk",
            "https://org",
            "github.io",
            "*.github.io:443",
            "xn--p1ai",
            "kawasaki.jp",
        ] {
            let refused = deny(suffix).unwrap_err();
            assert!(matches!(refused, SiteRuleError::PublicSuffix(_)), "{suffix}: {refused}");
        }
        for site in [
            "example.com",
            "*.example.co.uk",
            "me.github.io",
            "localhost",
            "intranet",
            "127.0.0.1",
            "[::1]:8000",
            "file:",
        ] {
            assert!(deny(site).unwrap(), "{site}");
        }
    }

    #[test]
    fn local_files_are_denied_as_a_site_and_never_allowed_as_one() {
        let pattern = SitePattern::parse("file:").unwrap();
        let add = |list| SiteChange::Add { list, pattern: pattern.clone() };
        let mut rules: SiteRules = serde_json::from_str(r#"{"allow":["file:"]}"#).unwrap();
        assert!(!rules.apply(&add(SiteList::Allow)).unwrap(), "an old rule stays loadable");
        let mut rules = SiteRules { allow: Vec::new(), ..rules };
        assert_eq!(rules.apply(&add(SiteList::Allow)), Err(SiteRuleError::LocalFiles));
        assert!(rules.apply(&add(SiteList::Deny)).unwrap());
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
