//! The rules for local files: agents may open files in folders that a person has opened for them,
//! and no others. [`crate::local_files`] decides where a file really is.

use serde::{Deserialize, Serialize};

/// How many folders may be open.
pub const OPEN_FOLDERS_MAX: usize = 100;

/// How many URLs one `file_check` may ask about.
pub const FILE_CHECK_MAX: usize = 1_000;

/// The folders whose files agents may open. The same for all browsers of the user.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredLocalFileRules")]
pub struct LocalFileRules {
    /// False: agents open no local file, also in the listed folders.
    enabled: bool,
    /// Absolute paths without links.
    folders: Vec<String>,
}

/// A change of the rules for local files.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum LocalFileChange {
    /// Agents may open the files of this folder. Switches local files on.
    Add {
        /// An absolute path without links.
        folder: String,
    },
    /// Agents may not open them any more.
    Remove {
        /// The folder, as the list names it.
        folder: String,
    },
    /// Switches all listed folders on or off, and keeps the list.
    Switch {
        /// Whether agents may open files in the listed folders.
        enabled: bool,
    },
}

/// Why the rules for local files are not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalFileRuleError {
    /// The list is full.
    #[error(
        "{OPEN_FOLDERS_MAX} folders are open already; remove one first: `tabwire sites files remove DIR`"
    )]
    TooMany,
    /// The folder is no absolute path.
    #[error("a folder must be an absolute path: /home/me/site, or C:\\Users\\me\\site on Windows")]
    NotAbsolute,
}

/// The rules as they stand in a file.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLocalFileRules {
    #[serde(default = "yes")]
    enabled: bool,
    #[serde(default)]
    folders: Vec<String>,
}

const fn yes() -> bool {
    true
}

impl Default for LocalFileRules {
    fn default() -> Self {
        Self { enabled: true, folders: Vec::new() }
    }
}

impl LocalFileRules {
    /// The folders whose files agents may open now.
    #[must_use]
    pub fn open_folders(&self) -> &[String] {
        if self.enabled { &self.folders } else { &[] }
    }

    /// All listed folders, also while they are switched off.
    #[must_use]
    pub fn folders(&self) -> &[String] {
        &self.folders
    }

    /// Whether the listed folders are switched on.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Makes a change. Returns whether it changed anything.
    ///
    /// # Errors
    ///
    /// [`LocalFileRuleError`]: nothing changed.
    pub fn apply(&mut self, change: &LocalFileChange) -> Result<bool, LocalFileRuleError> {
        // The comparison also notices a change of the switch alone.
        let before = self.clone();
        match change {
            LocalFileChange::Add { folder } => {
                if !is_absolute(folder) {
                    return Err(LocalFileRuleError::NotAbsolute);
                }
                if !self.folders.contains(folder) {
                    if self.folders.len() >= OPEN_FOLDERS_MAX {
                        return Err(LocalFileRuleError::TooMany);
                    }
                    self.folders.push(folder.clone());
                }
                self.enabled = true;
            }
            LocalFileChange::Remove { folder } => self.folders.retain(|known| known != folder),
            LocalFileChange::Switch { enabled } => self.enabled = *enabled,
        }
        Ok(*self != before)
    }

    /// The folders that a change opens and that are closed now.
    #[must_use]
    pub fn opened_by(&self, change: &LocalFileChange) -> Vec<String> {
        let mut after = self.clone();
        if after.apply(change).is_err() {
            return Vec::new();
        }
        let is_new = |folder: &&String| !self.open_folders().contains(*folder);
        after.open_folders().iter().filter(is_new).cloned().collect()
    }
}

impl TryFrom<StoredLocalFileRules> for LocalFileRules {
    type Error = LocalFileRuleError;

    fn try_from(stored: StoredLocalFileRules) -> Result<Self, LocalFileRuleError> {
        let StoredLocalFileRules { enabled, folders } = stored;
        if folders.len() > OPEN_FOLDERS_MAX {
            return Err(LocalFileRuleError::TooMany);
        }
        if folders.iter().any(|folder| !is_absolute(folder)) {
            return Err(LocalFileRuleError::NotAbsolute);
        }
        Ok(Self { enabled, folders })
    }
}

/// Whether this is an absolute path of any system: one of another system opens nothing on this one.
fn is_absolute(folder: &str) -> bool {
    folder.starts_with('/')
        || matches!(folder.as_bytes(), [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Whether a URL shows a local file, also behind prefixes such as `view-source:`.
#[must_use]
pub fn is_local_file_url(url: &str) -> bool {
    let plain = |c: &char| !c.is_ascii_control() && *c != ' ';
    // Browsers drop tabs and line ends anywhere in a URL: `fi\nle:` opens a file too.
    let url: String = url.chars().filter(plain).collect::<String>().to_ascii_lowercase();
    let mut inner = url.as_str();
    while let Some(rest) =
        ["view-source:", "blob:", "filesystem:"].iter().find_map(|head| inner.strip_prefix(head))
    {
        inner = rest;
    }
    inner.starts_with("file:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(folder: &str) -> LocalFileChange {
        LocalFileChange::Add { folder: folder.to_owned() }
    }

    #[test]
    fn no_folder_is_open_before_one_is_added_and_none_while_they_are_switched_off() {
        let mut rules = LocalFileRules::default();
        assert_eq!(rules.open_folders(), [""; 0]);
        assert_eq!(rules.opened_by(&add("/a")), ["/a"]);
        assert!(rules.apply(&add("/a")).unwrap());
        assert!(!rules.apply(&add("/a")).unwrap());
        assert_eq!(rules.open_folders(), ["/a"]);
        let switch = |enabled| LocalFileChange::Switch { enabled };
        assert!(rules.opened_by(&switch(false)).is_empty());
        assert!(rules.apply(&switch(false)).unwrap());
        assert_eq!(rules.open_folders(), [""; 0]);
        assert_eq!(rules.opened_by(&switch(true)), ["/a"]);
        assert_eq!(rules.opened_by(&add("/b")), ["/a", "/b"], "adding one switches all on");
        assert!(rules.apply(&LocalFileChange::Remove { folder: "/a".to_owned() }).unwrap());
        assert_eq!(rules.opened_by(&switch(true)), [""; 0]);
    }

    #[test]
    fn a_relative_folder_and_one_too_many_are_refused() {
        let mut rules = LocalFileRules::default();
        for relative in ["site", "", "./site", "C:site", "C:", r"1:\site", r"\\server\share"] {
            assert_eq!(
                rules.apply(&add(relative)),
                Err(LocalFileRuleError::NotAbsolute),
                "{relative}"
            );
        }
        assert!(LocalFileRules::default().apply(&add(r"C:\Users\me\site")).unwrap());
        for n in 0..OPEN_FOLDERS_MAX {
            rules.apply(&add(&format!("/{n}"))).unwrap();
        }
        assert_eq!(rules.apply(&add("/more")), Err(LocalFileRuleError::TooMany));
        assert!(!rules.apply(&add("/1")).unwrap());
    }

    #[test]
    fn a_url_of_a_local_file_is_known_in_every_spelling() {
        for url in [
            "file:///etc/passwd",
            "FILE:/etc/passwd",
            " \tfi\nle:etc",
            "view-source:file:///x",
            "blob:view-source:file:///x",
            "filesystem:file:///temporary/x",
            "\u{1}view-\tsource:file:///x",
            &format!("{}file:///x", "blob:".repeat(100)),
        ] {
            assert!(is_local_file_url(url), "{url}");
        }
        for url in ["https://file/", "http://x/?file:///", "about:blank", "", "files:///x"] {
            assert!(!is_local_file_url(url), "{url}");
        }
    }
}
