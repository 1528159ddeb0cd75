//! The scopes of owners in the state directory.

use std::path::PathBuf;

use super::{StateDirectory, StateDirectoryError, lock_settings, read_rules, write_json};
use crate::protocol::{Owner, OwnerScopes, TabScope};

const SCOPES: &str = "scopes.json";

/// The file of the scopes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ScopesFile {
    dir: PathBuf,
}

impl StateDirectory {
    /// The file that says which tabs the clients of each owner see.
    #[must_use]
    pub fn scopes(&self) -> ScopesFile {
        ScopesFile { dir: self.dir.clone() }
    }
}

impl ScopesFile {
    /// The scopes; every tab for every owner if there is no file.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::DamagedScopes`]: a damaged file does not
    /// count as an empty one, which would show every tab.
    pub fn read(&self) -> Result<OwnerScopes, StateDirectoryError> {
        read_rules(&self.dir.join(SCOPES), |path, source| StateDirectoryError::DamagedScopes {
            path,
            source,
        })
    }

    /// Chooses the scope of an owner. Returns the scopes after that, and whether it changed anything.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read); nothing changed.
    pub fn choose(
        &self,
        owner: &Owner,
        scope: TabScope,
    ) -> Result<(OwnerScopes, bool), StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut scopes = self.read()?;
        let is_changed = scopes.choose(owner.clone(), scope);
        if is_changed {
            write_json(&self.dir.join(SCOPES), &scopes)?;
        }
        Ok((scopes, is_changed))
    }

    /// Forgets the scope of an owner that was removed.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read); nothing changed.
    pub fn forget(&self, owner: &Owner) -> Result<(), StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut scopes = self.read()?;
        if scopes.forget(owner) {
            write_json(&self.dir.join(SCOPES), &scopes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn scopes_are_kept_in_a_file_that_only_its_owner_can_read() {
        let (_dir, home) = in_temporary();
        let work: Owner = "work".into();
        assert_eq!(home.scopes().read().unwrap().of(&work), TabScope::All);
        assert!(home.scopes().choose(&work, TabScope::Own).unwrap().1);
        assert!(!home.scopes().choose(&work, TabScope::Own).unwrap().1);
        assert_eq!(home.scopes().read().unwrap().of(&work), TabScope::Own);
        let mode = crate::os::testing::mode(home.dir().join(SCOPES));
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_file_is_named_with_the_next_step_and_never_taken_for_every_tab() {
        let (_dir, home) = in_temporary();
        let wrong = ["", "{", "[]", "null", r#"{"owners":{"work":"none"}}"#, r#"{"scopes":{}}"#];
        for text in wrong {
            fs::write(home.dir().join(SCOPES), text).unwrap();
            let error = home.scopes().read().unwrap_err().to_string();
            assert!(error.contains(SCOPES) && error.contains("Correct it"), "{text}: {error}");
            assert!(home.scopes().choose(&"work".into(), TabScope::Own).is_err(), "{text}");
            assert_eq!(fs::read_to_string(home.dir().join(SCOPES)).unwrap(), text);
        }
    }
}
