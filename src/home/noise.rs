//! The noise rules on the disk: a file for each owner.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::StateDirectory;
use super::files::{FileError, ReadError, decode, encode, make_folder, paths_in, read_text, write};
use crate::protocol::Owner;
use crate::streams::NoiseRules;

/// The name of the file in its owner's folder.
const FILE: &str = "rules.json";

/// The largest file, in bytes: as many rules as there may be, each character escaped.
const LONGEST: usize = 256 * 1024;

/// The noise rules of all owners. Clones are cheap and share one turn. The functions block on the
/// disk.
#[derive(Clone, Debug)]
pub struct NoiseFiles {
    dir: PathBuf,
    changing: Arc<Mutex<()>>,
}

/// Why noise rules are not read or written.
#[derive(Debug, thiserror::Error)]
pub enum NoiseFileError {
    /// Another program has changed the file.
    #[error("{} does not hold noise rules: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error in it.
        why: String,
    },
    /// The disk is full, cannot be written or cannot be read.
    #[error(transparent)]
    Io(#[from] FileError),
}

impl StateDirectory {
    /// The noise rules in this directory.
    #[must_use]
    pub fn noise(&self) -> NoiseFiles {
        NoiseFiles { dir: self.dir.join("noise"), changing: Arc::default() }
    }
}

impl NoiseFiles {
    /// The turn to change rules. Hold it from the read of the old rules to the write of the new ones.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules of an owner; none if there is no file.
    ///
    /// # Errors
    ///
    /// [`NoiseFileError`]: a damaged file does not count as an empty one.
    pub fn load(&self, owner: &Owner) -> Result<NoiseRules, NoiseFileError> {
        let path = self.folder(owner).join(FILE);
        let damaged = |why| NoiseFileError::Damaged { path: path.clone(), why };
        match read_text(&path, LONGEST) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| damaged(error.to_string())),
            Err(ReadError::Damaged(why)) => Err(damaged(why)),
            Err(ReadError::Io(error)) if error.source.kind() == io::ErrorKind::NotFound => {
                Ok(NoiseRules::default())
            }
            Err(ReadError::Io(error)) => Err(error.into()),
        }
    }

    /// Replaces an owner's rules.
    ///
    /// # Errors
    ///
    /// [`NoiseFileError::Io`]: the former rules remain.
    pub fn save(&self, owner: &Owner, rules: &NoiseRules) -> Result<(), NoiseFileError> {
        let folder = self.folder(owner);
        let path = folder.join(FILE);
        make_folder(&self.dir)?;
        make_folder(&folder)?;
        let text = serde_json::to_vec(rules)
            .map_err(|error| FileError { path: path.clone(), source: error.into() })?;
        Ok(write(&folder, &path, &text)?)
    }

    /// The owners who have a file.
    ///
    /// # Errors
    ///
    /// [`NoiseFileError::Io`].
    pub fn owners(&self) -> Result<Vec<Owner>, NoiseFileError> {
        let folders = paths_in(&self.dir)?.filter(|path| path.join(FILE).exists());
        let owner = |path: PathBuf| Some(decode(path.file_name()?.to_str()?)?.as_str().into());
        Ok(folders.filter_map(owner).collect())
    }

    fn folder(&self, owner: &Owner) -> PathBuf {
        self.dir.join(encode(owner.as_str()))
    }
}

/// Whether this is a file of rules.
pub(super) fn is_own_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == FILE)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;

    fn rules(patterns: &[&str]) -> NoiseRules {
        let mut rules = NoiseRules::default();
        for pattern in patterns {
            rules.add(pattern).unwrap();
        }
        rules
    }

    #[test]
    fn each_owner_has_a_file_of_rules_that_nobody_else_can_read() {
        let (_dir, home) = in_temporary();
        let (ann, bob) = (Owner::from("ann"), Owner::from("Bob/../x"));
        assert_eq!(home.noise().load(&ann).unwrap(), NoiseRules::default());
        home.noise().save(&ann, &rules(&["[hmr]", "a\"*ü"])).unwrap();
        home.noise().save(&bob, &rules(&["x"])).unwrap();
        assert_eq!(home.noise().load(&ann).unwrap(), rules(&["[hmr]", "a\"*ü"]));
        let mut owners = home.noise().owners().unwrap();
        owners.sort();
        assert_eq!(owners, [bob, ann.clone()]);
        let path = home.noise().folder(&ann).join(FILE);
        assert_eq!(crate::os::testing::mode(&path), 0o600);
        assert_eq!(crate::os::testing::mode(path.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_file_that_is_damaged_is_named_and_never_taken_for_no_rules() {
        let (_dir, home) = in_temporary();
        let owner = Owner::from("ann");
        home.noise().save(&owner, &rules(&["x"])).unwrap();
        let path = home.noise().folder(&owner).join(FILE);
        let many: Vec<_> =
            (0..101).map(|n| format!(r#"{{"id":"noise_{n}","pattern":"p{n}"}}"#)).collect();
        for text in [
            "",
            "[]",
            r#"{"rules":[{"id":"noise_1","pattern":"*"}],"last":1}"#,
            r#"{"rules":[{"id":"noise_2","pattern":"x"}],"last":1}"#,
            &format!(r#"{{"rules":[{}],"last":101}}"#, many.join(",")),
            &" ".repeat(LONGEST + 1),
        ] {
            fs::write(&path, text).unwrap();
            let error = home.noise().load(&owner).unwrap_err();
            assert!(matches!(&error, NoiseFileError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("rules.json"), "{error}");
        }
    }
}
