//! The rules for local files in the state directory.

use std::path::{Path, PathBuf};

use super::unpacked::{unpacked_below, usual_extension_folders};
use super::{StateDirectory, StateDirectoryError, lock_settings, read_rules, write_json};
use crate::protocol::{LocalFileChange, LocalFileRuleError, LocalFileRules};

const LOCAL_FILES: &str = "local_files.json";

/// The file of the rules for local files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LocalFileStore {
    dir: PathBuf,
}

/// The reason why the rules are not changed.
#[derive(Debug, thiserror::Error)]
pub enum LocalFileStoreError {
    /// They cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] LocalFileRuleError),
}

impl StateDirectory {
    /// The file of the rules for local files.
    #[must_use]
    pub fn local_files(&self) -> LocalFileStore {
        LocalFileStore { dir: self.dir.clone() }
    }
}

impl LocalFileStore {
    /// The rules; no folder is open if there is no file.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn read(&self) -> Result<LocalFileRules, StateDirectoryError> {
        read_rules(&self.dir.join(LOCAL_FILES), |path, source| StateDirectoryError::Damaged {
            path,
            source,
        })
    }

    /// Makes a change. Returns the rules after it, and whether it changed anything.
    ///
    /// # Errors
    ///
    /// [`LocalFileStoreError`]: nothing changed.
    pub fn change(
        &self,
        change: &LocalFileChange,
    ) -> Result<(LocalFileRules, bool), LocalFileStoreError> {
        let _others_wait = lock_settings(&self.dir)?;
        self.apply(self.read()?, change)
    }

    /// Makes a change unless it opens a folder that is not among these: then `None`, and nothing
    /// changed. Check and change are under one lock, so that no other change comes between.
    ///
    /// # Errors
    ///
    /// [`LocalFileStoreError`]: nothing changed.
    pub fn change_opening(
        &self,
        change: &LocalFileChange,
        folders: &[String],
    ) -> Result<Option<(LocalFileRules, bool)>, LocalFileStoreError> {
        let _others_wait = lock_settings(&self.dir)?;
        let rules = self.read()?;
        let opens_others = rules.opened_by(change).iter().any(|opened| !folders.contains(opened));
        if opens_others { Ok(None) } else { self.apply(rules, change).map(Some) }
    }

    fn apply(
        &self,
        mut rules: LocalFileRules,
        change: &LocalFileChange,
    ) -> Result<(LocalFileRules, bool), LocalFileStoreError> {
        let is_changed = rules.apply(change)?;
        if is_changed {
            write_json(&self.dir.join(LOCAL_FILES), &rules)?;
        }
        Ok((rules, is_changed))
    }

    /// The state directory.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        &self.dir
    }

    /// The folders of the extension: the one that it was unpacked to last, if that is known, and
    /// those that it goes to unless another is named. `person` is the home directory.
    pub fn extension_folders(
        &self,
        person: Option<&Path>,
    ) -> impl Iterator<Item = PathBuf> + use<> {
        let last = unpacked_below(&self.dir).ok().flatten();
        last.into_iter().chain(usual_extension_folders(&self.dir, person))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn open_folders_are_kept_in_a_file_that_only_its_owner_can_read() {
        let (_dir, home) = in_temporary();
        let store = home.local_files();
        assert_eq!(store.read().unwrap(), LocalFileRules::default());
        let add = LocalFileChange::Add { folder: "/srv/site".to_owned() };
        assert!(store.change(&add).unwrap().1);
        assert!(!store.change(&add).unwrap().1);
        assert_eq!(store.read().unwrap().open_folders(), ["/srv/site"]);
        let mode = crate::os::testing::mode(home.dir().join(LOCAL_FILES));
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_change_that_opens_more_than_was_agreed_to_is_not_made() {
        let (_dir, home) = in_temporary();
        let store = home.local_files();
        let add = |folder: &str| LocalFileChange::Add { folder: folder.to_owned() };
        store.change(&add("/a")).unwrap();
        store.change(&LocalFileChange::Switch { enabled: false }).unwrap();
        let before = store.read().unwrap();
        assert_eq!(store.change_opening(&add("/b"), &["/b".to_owned()]).unwrap(), None);
        assert_eq!(store.change_opening(&add("/a"), &[]).unwrap(), None);
        assert_eq!(store.read().unwrap(), before);
        let both = ["/a".to_owned(), "/b".to_owned()];
        assert!(store.change_opening(&add("/b"), &both).unwrap().unwrap().1);
        assert_eq!(store.read().unwrap().open_folders(), both);
    }

    #[test]
    fn a_damaged_file_opens_no_folder_and_is_named() {
        let (_dir, home) = in_temporary();
        for text in ["", "[]", "null", r#"{"folders":["x"]}"#, r#"{"folder":["/x"]}"#] {
            fs::write(home.dir().join(LOCAL_FILES), text).unwrap();
            let error = home.local_files().read().unwrap_err().to_string();
            assert!(error.contains(LOCAL_FILES), "{text}: {error}");
        }
    }
}
