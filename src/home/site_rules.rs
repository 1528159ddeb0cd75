//! The site rules in the state directory.

use std::path::PathBuf;

use super::{StateDirectory, StateDirectoryError, lock_settings, read_rules, write_json};
use crate::protocol::{SiteChange, SiteRuleError, SiteRules};

const SITE_RULES: &str = "site_rules.json";

/// The file of the rules. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SiteRulesFile {
    dir: PathBuf,
}

/// The reason why the rules are not changed.
#[derive(Debug, thiserror::Error)]
pub enum SiteRulesError {
    /// They cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The change cannot be made.
    #[error(transparent)]
    Change(#[from] SiteRuleError),
}

impl StateDirectory {
    /// The file of the rules which sites agents may use.
    #[must_use]
    pub fn site_rules(&self) -> SiteRulesFile {
        SiteRulesFile { dir: self.dir.clone() }
    }
}

impl SiteRulesFile {
    /// The rules; none if there is no file.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::DamagedSiteRules`]: a damaged file does
    /// not count as an empty one, which would allow every site.
    pub fn read(&self) -> Result<SiteRules, StateDirectoryError> {
        read_rules(&self.dir.join(SITE_RULES), |path, source| {
            StateDirectoryError::DamagedSiteRules { path, source }
        })
    }

    /// Makes a change under the lock, since the daemon and the command line both write this file.
    /// Returns the rules after it, and whether it changed anything.
    ///
    /// # Errors
    ///
    /// [`SiteRulesError`]: nothing changed.
    pub fn change(&self, change: &SiteChange) -> Result<(SiteRules, bool), SiteRulesError> {
        let _others_wait = lock_settings(&self.dir)?;
        self.apply(self.read()?, change)
    }

    /// Makes a change unless it widens what agents may use: then `None`, and nothing changed. Check and
    /// change are under one lock, so that no other change comes between.
    ///
    /// # Errors
    ///
    /// [`SiteRulesError`]: nothing changed.
    pub fn narrow(&self, change: &SiteChange) -> Result<Option<(SiteRules, bool)>, SiteRulesError> {
        let _others_wait = lock_settings(&self.dir)?;
        let rules = self.read()?;
        if rules.is_widened_by(change) { Ok(None) } else { self.apply(rules, change).map(Some) }
    }

    fn apply(
        &self,
        mut rules: SiteRules,
        change: &SiteChange,
    ) -> Result<(SiteRules, bool), SiteRulesError> {
        let is_changed = rules.apply(change)?;
        if is_changed {
            write_json(&self.dir.join(SITE_RULES), &rules)?;
        }
        Ok((rules, is_changed))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;
    use crate::protocol::{SiteList, SitePattern};

    fn deny(pattern: &str) -> SiteChange {
        SiteChange::Add { list: SiteList::Deny, pattern: SitePattern::parse(pattern).unwrap() }
    }

    #[test]
    fn rules_are_kept_in_a_file_that_only_its_owner_can_read() {
        let (_dir, home) = in_temporary();
        assert!(home.site_rules().read().unwrap().is_empty());
        assert!(home.site_rules().change(&deny("example.com")).unwrap().1);
        assert!(!home.site_rules().change(&deny("example.com")).unwrap().1);
        let rules = home.site_rules().read().unwrap();
        assert_eq!(rules.deny(), [SitePattern::parse("example.com").unwrap()]);
        let mode = crate::os::testing::mode(home.dir().join(SITE_RULES));
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_is_damaged_is_named_with_the_next_step_and_never_taken_for_no_rules() {
        let (_dir, home) = in_temporary();
        let wrong = [
            "",
            "{",
            "[]",
            "null",
            r#"{"deny":["*"]}"#,
            r#"{"deny":"example.com"}"#,
            r#"{"deni":["example.com"]}"#,
            r#"{"deny":["example.com/x"]}"#,
        ];
        for text in wrong {
            fs::write(home.dir().join(SITE_RULES), text).unwrap();
            let error = home.site_rules().read().unwrap_err().to_string();
            assert!(error.contains(SITE_RULES) && error.contains("Correct it"), "{text}: {error}");
            assert!(home.site_rules().change(&deny("example.com")).is_err(), "{text}");
            assert_eq!(fs::read_to_string(home.dir().join(SITE_RULES)).unwrap(), text);
        }
    }

    #[test]
    fn a_change_that_widens_is_not_made_by_narrowing() {
        let (_dir, home) = in_temporary();
        let file = home.site_rules();
        let allow = |pattern: &str| SiteChange::Add {
            list: SiteList::Allow,
            pattern: SitePattern::parse(pattern).unwrap(),
        };
        file.narrow(&deny("bank.example")).unwrap();
        file.narrow(&allow("a.example")).unwrap();
        let before = file.read().unwrap();
        assert_eq!(file.narrow(&allow("b.example")).unwrap(), None);
        assert_eq!(file.read().unwrap(), before);
        file.change(&allow("b.example")).unwrap();
        assert_eq!(file.read().unwrap().allow().len(), 2);
    }

    #[test]
    fn changes_of_several_at_once_are_all_kept() {
        let (_dir, home) = in_temporary();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = home.site_rules();
                scope.spawn(move || file.change(&deny(&format!("h{n}.example"))).unwrap());
            }
        });
        assert_eq!(home.site_rules().read().unwrap().deny().len(), 8);
    }
}
