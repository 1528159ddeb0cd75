//! The person's word on one command: what it is needed for, and what the person says.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::is_shown;
use super::{AskWords, ClientId, Owner, Timestamp};

/// A site as consents name it: the origin of its pages, `https://example.com`.
pub type ConsentSite = AskWords<300>;

/// The part of a command that one consent is for, in a line.
pub type ConsentDetail = AskWords<300>;

/// The state of a file when the person was asked about it, which another one does not have.
pub type FileMark = AskWords<200>;

/// How many kept words the extension gets at most.
pub const KEPT_WORDS_SHOWN: usize = 100;

/// What a command needs the person's word for. A kept word is for one of these.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentKind {
    /// It acts on a site on which the person wants to be asked first.
    Act,
    /// It closes a tab that no agent opened, or that the person has made their own.
    Close,
    /// It gives a page files that no folder rule opens. No word on that is kept.
    File,
    /// It reads or changes values that a page keeps in the browser: cookies and stored data.
    Values,
    /// It answers requests of a page, or changes their headers.
    Requests,
    /// It sets permissions of a site in the browser, such as the camera's.
    Settings,
    /// It records what the person does in a tab. No word on that is kept.
    Watch,
    /// It needs an optional permission of the extension, which the browser asks the person for. The
    /// site is the permission's name; the browser keeps the word.
    Permission,
    /// A program on another machine opens, reads or acts on a site.
    Use,
}

impl ConsentKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Act,
        Self::Close,
        Self::File,
        Self::Values,
        Self::Requests,
        Self::Settings,
        Self::Watch,
        Self::Permission,
        Self::Use,
    ];

    /// The word on the wire and in the journal.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Act => "act",
            Self::Close => "close",
            Self::File => "file",
            Self::Values => "values",
            Self::Requests => "requests",
            Self::Settings => "settings",
            Self::Watch => "watch",
            Self::Permission => "permission",
            Self::Use => "use",
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
            Self::File => "give files to",
            Self::Values => "use cookies and stored values of",
            Self::Requests => "answer or change requests of",
            Self::Settings => "set permissions of",
            Self::Watch => "record what you do on",
            Self::Permission => "use the optional browser permission",
            Self::Use => "open, read and act on",
        }
    }

    /// What the agent wants and where, as the agent is told it. A program on another machine is told no
    /// address that it may not use: a page may have sent its tab there.
    #[must_use]
    pub fn told(self, site: &str) -> String {
        match self {
            Self::Act
            | Self::Close
            | Self::File
            | Self::Values
            | Self::Requests
            | Self::Settings
            | Self::Watch
            | Self::Permission => format!("{} {site}", self.purpose()),
            Self::Use => format!("{} the site of this command", self.purpose()),
        }
    }

    /// Whether a word on this can be kept for later commands.
    #[must_use]
    pub const fn is_kept(self) -> bool {
        match self {
            Self::Act
            | Self::Close
            | Self::Values
            | Self::Requests
            | Self::Settings
            | Self::Use => true,
            Self::File | Self::Watch | Self::Permission => false,
        }
    }

    /// Whether a question about this has this answer.
    #[must_use]
    pub const fn takes(self, answer: ConsentAnswer) -> bool {
        match (self, answer) {
            (_, ConsentAnswer::Once | ConsentAnswer::Deny) => true,
            (_, ConsentAnswer::Session | ConsentAnswer::Always | ConsentAnswer::Never) => {
                self.is_kept()
            }
            (_, ConsentAnswer::Folder | ConsentAnswer::Root) => matches!(self, Self::File),
        }
    }
}

/// The path of a file as the person reads it: every character can be seen, and none is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShownPath(Arc<str>);

impl ShownPath {
    /// The longest path, in characters: nobody reads a longer one.
    pub const MAX_CHARS: usize = 1_000;

    /// The path, unless it is too long or has a character without a width, or one that turns the
    /// direction of the text.
    #[must_use]
    pub fn new(path: &str) -> Option<Self> {
        let fits = (1..=Self::MAX_CHARS).contains(&path.chars().count());
        (fits && path.chars().all(is_shown)).then(|| Self(path.into()))
    }

    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ShownPath {
    type Error = &'static str;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        Self::new(&path).ok_or("the path cannot be shown")
    }
}

impl From<ShownPath> for String {
    fn from(path: ShownPath) -> Self {
        path.0.as_ref().to_owned()
    }
}

#[cfg(test)]
impl JsonSchema for ShownPath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ShownPath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// A file that a command would give to a page, as the person is asked about it.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedFile {
    /// Its whole path, without links.
    pub path: ShownPath,
    /// Its size in bytes.
    pub size: u64,
    /// Which file it is, and when it was last changed: only this one may be given.
    pub mark: FileMark,
    /// Whether its folder can be opened to agents.
    pub may_open_folder: bool,
    /// A folder above its own in which the agent's program says that it works. Only the person's word
    /// opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<ShownPath>,
}

/// What a command needs the person's word for, and where.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentNeed {
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: ConsentSite,
    /// A mark of the page that the browser showed then, its document and its address: a word for once is
    /// for this page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Arc<str>>,
    /// What else a word for once is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ConsentDetail>,
    /// The files that the page would get: a word for once is for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AskedFile>,
}

/// The site in words about an extension that only polls: the word is on all pages of its browser.
pub const POLLED_PAGES: &str = "the pages of a browser whose older extension only polls";

impl ConsentNeed {
    /// Whether it is for an act in a browser whose extension only polls, and so asks nobody itself.
    #[must_use]
    pub fn is_of_poller(&self) -> bool {
        self.site.as_str() == POLLED_PAGES
    }

    /// The folders in which the agent's program says that it works, each once. None, unless each of
    /// the files lies in one of them: the person opens all of them, or none.
    #[must_use]
    pub fn roots(&self) -> Vec<&ShownPath> {
        let named: Option<Vec<_>> = self.files.iter().map(|file| file.root.as_ref()).collect();
        let mut roots: Vec<&ShownPath> = Vec::new();
        for root in named.unwrap_or_default() {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }
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
    /// Agents may give the files of these folders to pages from now on.
    Folder,
    /// The same of the folders in which the agent's program says that it works.
    Root,
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

/// A person's word that is kept, as the extension shows it to them.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptWord {
    /// Whose client it is about.
    pub owner: Owner,
    /// The client.
    pub client_id: ClientId,
    /// The client's name.
    pub client: Arc<str>,
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: Arc<str>,
    /// What it says, and how long it holds.
    pub word: WordTerm,
    /// When it was given.
    pub at: Timestamp,
}

/// What a kept word says, and how long it holds.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WordTerm {
    /// Yes, until the browser starts anew, and for 12 hours at most.
    Session,
    /// Yes, until the person takes it back.
    Always,
    /// No, until the person takes it back.
    Never,
}

/// The kept word that the person takes back.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordTakenBack {
    /// Whose client it is about.
    pub owner: Owner,
    /// The client.
    pub client_id: ClientId,
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: Arc<str>,
    /// When it was given: one that was given anew since is another word.
    pub at: Timestamp,
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

    #[test]
    fn a_path_is_shown_as_it_is_or_not_at_all() {
        for shown in ["/a/cat.png", "/a/two  spaces .png", "/a/\u{e9}\u{202f}AM.png", "/عكس/a"] {
            assert_eq!(ShownPath::new(shown).map(String::from).as_deref(), Some(shown));
        }
        let long = "a".repeat(ShownPath::MAX_CHARS + 1);
        for hidden in ["", "/a\u{202e}gnp.exe", "/a\u{200b}", "/a\nb", &long] {
            assert_eq!(ShownPath::new(hidden), None, "{hidden:?}");
            assert!(serde_json::from_value::<ShownPath>(hidden.into()).is_err());
        }
    }

    #[test]
    fn no_word_on_files_on_the_persons_acts_or_on_a_permission_of_the_extension_is_kept() {
        let kept = [ConsentAnswer::Session, ConsentAnswer::Always, ConsentAnswer::Never];
        for kind in ConsentKind::ALL {
            let is_kept =
                ![ConsentKind::File, ConsentKind::Watch, ConsentKind::Permission].contains(&kind);
            assert!(kept.iter().all(|word| kind.takes(*word) == is_kept), "{kind:?}");
            for opens in [ConsentAnswer::Folder, ConsentAnswer::Root] {
                assert_eq!(kind.takes(opens), kind == ConsentKind::File);
            }
            assert!(kind.takes(ConsentAnswer::Once) && kind.takes(ConsentAnswer::Deny));
        }
    }
}
