//! The site rules of a running daemon: the state directory keeps them, and every browser gets them.
//! The scopes of owners are read with them.
//! [`LiveLocalFileRules`](crate::local_files::LiveLocalFileRules) is the part for local files.

use std::sync::Arc;

use crate::home::{ScopesFile, SiteRulesError, SiteRulesFile, StateDirectory, StateDirectoryError};
use crate::hub::Hub;
use crate::local_files::LiveLocalFileRules;
use crate::protocol::{SiteChange, SiteRules};

/// The rules of a running daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LiveSiteRules {
    hub: Hub,
    file: SiteRulesFile,
    scopes: ScopesFile,
    local_files: LiveLocalFileRules,
}

impl LiveSiteRules {
    /// Reads the rules of this state directory, and sends them to the hub's browsers.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: a file cannot be read.
    pub fn open(hub: Hub, home: &StateDirectory) -> Result<Self, StateDirectoryError> {
        let local_files = LiveLocalFileRules::open(hub.clone(), home.local_files())?;
        let sites = Self { hub, file: home.site_rules(), scopes: home.scopes(), local_files };
        sites.reload()?;
        Ok(sites)
    }

    /// Which local files agents may open.
    #[must_use]
    pub const fn local_files(&self) -> &LiveLocalFileRules {
        &self.local_files
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<SiteRules> {
        self.hub.site_rules()
    }

    /// Makes a change, writes it and sends it to the browsers.
    ///
    /// # Errors
    ///
    /// [`SiteRulesError`]: nothing changed.
    pub fn change(&self, change: &SiteChange) -> Result<Arc<SiteRules>, SiteRulesError> {
        let (rules, _) = self.file.change(change)?;
        self.hold(rules);
        Ok(self.rules())
    }

    /// Makes a change unless it widens what agents may use. False: it would widen, and nothing changed.
    ///
    /// # Errors
    ///
    /// [`SiteRulesError`]: nothing changed.
    pub fn narrow(&self, change: &SiteChange) -> Result<bool, SiteRulesError> {
        let Some((rules, _)) = self.file.narrow(change)? else { return Ok(false) };
        self.hold(rules);
        Ok(true)
    }

    /// Reads the files again after another process changed them.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: one cannot be read, and its rules stay as they are.
    pub fn reload(&self) -> Result<Arc<SiteRules>, StateDirectoryError> {
        self.local_files.reload()?;
        self.hub.set_scopes(self.scopes.read()?);
        self.hold(self.file.read()?);
        Ok(self.rules())
    }

    fn hold(&self, rules: SiteRules) {
        // Browsers are asked for nothing when a reload finds the same rules.
        if *self.rules() != rules {
            self.hub.set_site_rules(rules);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::StateDirectory;
    use crate::lifecycle::Limits;
    use crate::protocol::{SiteList, SitePattern};

    fn deny(pattern: &str) -> SiteChange {
        SiteChange::Add { list: SiteList::Deny, pattern: SitePattern::parse(pattern).unwrap() }
    }

    #[tokio::test]
    async fn what_was_changed_holds_in_the_next_life_and_what_others_wrote_once_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let sites = LiveSiteRules::open(Hub::start(Limits::default()), &home).unwrap();
        assert_eq!(sites.change(&deny("a.example")).unwrap().deny().len(), 1);
        let again = LiveSiteRules::open(Hub::start(Limits::default()), &home).unwrap();
        assert_eq!(again.rules(), sites.rules());
        home.site_rules().change(&deny("b.example")).unwrap();
        assert_eq!(again.rules().deny().len(), 1);
        assert_eq!(again.reload().unwrap().deny().len(), 2);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_any_more_changes_no_rule_that_holds() {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let sites = LiveSiteRules::open(Hub::start(Limits::default()), &home).unwrap();
        let held = sites.change(&deny("a.example")).unwrap();
        std::fs::write(home.dir().join("site_rules.json"), "{").unwrap();
        assert!(sites.reload().is_err());
        assert!(sites.change(&deny("b.example")).is_err());
        assert_eq!(sites.rules(), held);
        assert!(LiveSiteRules::open(Hub::start(Limits::default()), &home).is_err());
    }
}
