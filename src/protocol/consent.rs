//! The person's word on one command: what it is needed for, and what the person says.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AskWords;

/// A site as consents name it: the origin of its pages, `https://example.com`.
pub type ConsentSite = AskWords<300>;

/// The part of a command that one consent is for, in a line.
pub type ConsentDetail = AskWords<300>;

/// What a command needs the person's word for. A kept word is for one of these.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentKind {
    /// It acts on a site on which the person wants to be asked first.
    Act,
    /// It closes a tab that no agent opened, or that the person has made their own.
    Close,
}

impl ConsentKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Act, Self::Close];

    /// The word on the wire and in the journal.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Act => "act",
            Self::Close => "close",
        }
    }

    /// The kind with this [code](Self::code).
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// What the agent wants, as the end of the sentence “Agent x wants to …”.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Act => "act on",
            Self::Close => "close a tab on",
        }
    }
}

/// What a command needs the person's word for, and where.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentNeed {
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: ConsentSite,
    /// The document that the browser showed then: a word for once is for this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Arc<str>>,
    /// What else a word for once is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ConsentDetail>,
}

/// A person's word.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentAnswer {
    /// This command may run.
    Once,
    /// This client may do so on this site until the browser starts anew.
    Session,
    /// This client may always do so on this site.
    Always,
    /// This command may not run.
    Deny,
    /// This client may never do so on this site.
    Never,
}

/// A kept word, as a command carries it to the extension.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownConsent {
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: ConsentSite,
    /// Whether the person allows it.
    pub allowed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_code_of_its_own_which_is_its_word_on_the_wire() {
        for kind in ConsentKind::ALL {
            assert_eq!(ConsentKind::of_code(kind.code()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
        }
        assert_eq!(ConsentKind::of_code("other"), None);
    }
}
