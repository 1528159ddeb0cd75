//! Ids as newtypes, so that one kind cannot stand where another belongs.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::{BrowserName, is_place_name};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as it stands on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// Names one command from its acceptance to the end of its retention:
    /// `<kind>_<unix ms>_<32 hex>`, 128 random bits, so that it cannot be guessed.
    CorrelationId
}
text_id! {
    /// The command's second name, which an extension may use when it reports
    /// without a correlation id.
    QueryId
}
text_id! {
    /// Names an installation of the extension: it lasts as long as the browser
    /// profile does.
    BrowserId
}
text_id! {
    /// Names one run of the extension's service worker.
    InstanceId
}
text_id! {
    /// Names one run of a browser. Numbers of tabs and windows are valid within one run only.
    BrowserSession
}
text_id! {
    /// The principal behind a token. Only the owner of a command can read it, wait for it or
    /// cancel it. It is a name, and for an owner of the list its generation besides, so that a
    /// name that was removed and added again is another owner.
    Owner
}
text_id! {
    /// One bridge process or one HTTP caller. Lists, caps and rate limits apply to each client.
    ClientId
}

/// The owner that a token without a name belongs to. It is always there.
pub const DEFAULT_OWNER: &str = "user";

/// The longest name of an owner, in bytes.
const OWNER_NAME_MAX: usize = 64;

/// Stands between an owner's name and its generation. No name has it.
const GENERATION: char = '~';

/// Stands between the name of an agent and that of its tenant. No other name has it.
const OF_TENANT: char = '@';

impl Owner {
    /// The owner of this name in this generation.
    #[must_use]
    pub fn of_generation(name: &str, generation: &str) -> Self {
        Self(format!("{name}{GENERATION}{generation}").into())
    }

    /// Its name, as a person knows it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once(GENERATION).map_or(&self.0, |(name, _)| name)
    }

    /// Its generation; `None`: its name is from before there was a list, or the default one.
    #[must_use]
    pub fn generation(&self) -> Option<&str> {
        self.0.split_once(GENERATION).map(|(_, generation)| generation)
    }

    /// The agent and its tenant, if this is an agent of a tenant.
    #[must_use]
    pub fn agent_of_tenant(&self) -> Option<(&str, &str)> {
        self.name().split_once(OF_TENANT)
    }

    /// The name of the owner for an agent of a tenant.
    #[must_use]
    pub fn name_of_agent(agent: &str, tenant: &str) -> String {
        format!("{agent}{OF_TENANT}{tenant}")
    }

    /// Whether this is the name of an owner for an agent of a tenant: `AGENT@TENANT`, each as [`is_place_name`]
    /// has it. [`Self::is_name`] takes none of these, so no token can be asked for by one.
    #[must_use]
    pub fn is_agent_name(name: &str) -> bool {
        let parts = name.split_once(OF_TENANT);
        parts.is_some_and(|(agent, tenant)| is_place_name(agent) && is_place_name(tenant))
    }

    /// Whether this can be the name of an owner: 1 to 64 letters, digits, `-` or `_`.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        (1..=OWNER_NAME_MAX).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    }
}

/// Stands between a client and the browser that it is pinned to. No header can carry it, so that no
/// client takes a pinned one's name.
const PINNED_TO: char = '\u{2192}';

impl ClientId {
    /// The client of a line that is pinned to the browser of this name. It is another one than that of
    /// the same name without the pin.
    #[must_use]
    pub fn pinned_to(&self, browser: &BrowserName) -> Self {
        Self(format!("{}{PINNED_TO}{browser}", self.0).into())
    }

    /// The name of the browser that it is pinned to: its commands go there and nowhere else.
    #[must_use]
    pub fn pin(&self) -> Option<&str> {
        self.0.split_once(PINNED_TO).map(|(_, browser)| browser)
    }
}

/// How many characters of an id people are shown.
const SHOWN_CHARS: usize = 12;

impl CorrelationId {
    /// The short form of an id for people: the first 48 bits of its random part. The parts before
    /// it are alike in all commands of the same minutes.
    #[must_use]
    pub fn shown(id: &str) -> &str {
        let random = Self::random_part(id);
        random.get(..SHOWN_CHARS).unwrap_or(random)
    }

    /// Whether a text has the form of an id: 1 to 128 letters, digits and `_`.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        (1..=128).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Whether an id or its random part starts with this text.
    #[must_use]
    pub fn begins(id: &str, beginning: &str) -> bool {
        id.starts_with(beginning) || Self::random_part(id).starts_with(beginning)
    }

    fn random_part(id: &str) -> &str {
        // A text without `_` is a random part alone, as a person copies it from a list.
        id.rsplit_once('_').map_or(id, |(_, random)| random)
    }

    /// The first part of the ids of waits for drawings.
    pub const ANNOTATIONS: &'static str = "ann";

    /// The first part of the ids of questions to a person.
    pub const ASK: &'static str = "ask";

    /// The first part of the ids of jobs.
    pub const JOB: &'static str = "job";

    /// Whether it names a wait for a drawing.
    #[must_use]
    pub fn is_annotations(&self) -> bool {
        self.is_of(Self::ANNOTATIONS)
    }

    /// Whether it names a job, which clients may subscribe to.
    #[must_use]
    pub fn is_job(&self) -> bool {
        self.is_of(Self::JOB)
    }

    fn is_of(&self, kind: &str) -> bool {
        self.0.split('_').next() == Some(kind)
    }
}

/// Names one drawing, and its files: 32 hexadecimal digits in lower case.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct DrawingId(Arc<str>);

impl DrawingId {
    /// The id, if the text has the form of one.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (id.len() == 32 && id.bytes().all(is_digit)).then(|| Self(id.into()))
    }

    /// The id that the first half of a hash makes.
    #[must_use]
    pub(super) fn of_hash(hash: [u8; 32]) -> Self {
        let digits = hash[..16].iter().map(|byte| format!("{byte:02x}"));
        Self(digits.collect::<String>().into())
    }

    /// The id as it stands on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for DrawingId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        Self::parse(&id).ok_or("the id of a drawing has 32 hexadecimal digits in lower case")
    }
}

impl From<DrawingId> for String {
    fn from(id: DrawingId) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Display for DrawingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tab as the browser numbers it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct TabId(pub i64);

impl TabId {
    /// Stands for a tab of a former session. No browser uses the number, so an extension that is
    /// asked for it fails with `no_such_tab`.
    pub const OF_FORMER_SESSION: Self = Self(-1);
}

impl fmt::Display for TabId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a command's delivery, from 1. It fences reports: a report that names an older
/// attempt does not count.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_the_beginning_of_all_of_it_or_of_its_random_part() {
        let id = "exec_1795300721675_6f71ae53d622db4ad4776e39d9143a37";
        assert_eq!(CorrelationId::shown(id), "6f71ae53d622");
        for beginning in ["exec_17953", "6f71ae53d622", "6f", id] {
            assert!(CorrelationId::begins(id, beginning), "{beginning}");
        }
        for other in ["1795300721675", "71ae", "ann_"] {
            assert!(!CorrelationId::begins(id, other), "{other}");
        }
        assert_eq!(CorrelationId::shown("short"), "short");
    }
}
