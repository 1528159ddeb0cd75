//! Removing a state directory: what is ours, and nothing else.

use std::fs;
use std::io;
use std::path::Path;

use super::{Home, HomeError};

/// How the names of our files and folders begin. Some go on with `-wal`, `.1` or the like.
const OURS: [&str; 19] = [
    "agent_folders.json",
    "auth.key",
    "daemon.json",
    "daemon.lock",
    "daemon.log",
    "drawings",
    "extension",
    "extensions.json",
    "installed.json",
    "journal.db",
    "legacy.json",
    "monitor.db",
    "native-host",
    "settings.lock",
    "site_rules.json",
    "start.lock",
    "store",
    "unconfirmed.json",
    "unpacked.json",
];

impl Home {
    /// Removes everything of ours, and the directory unless somebody has put something else
    /// there. Whether it is gone. No daemon may run on it.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`].
    pub fn remove(self) -> Result<bool, HomeError> {
        let io = |path: &Path, source| HomeError::Io { path: path.to_owned(), source };
        for entry in fs::read_dir(&self.dir).map_err(|error| io(&self.dir, error))? {
            let entry = entry.map_err(|error| io(&self.dir, error))?;
            let path = entry.path();
            let name = entry.file_name();
            let is_ours = name.to_str().is_some_and(|name| OURS.iter().any(|o| belongs(name, o)));
            if is_ours {
                remove(&path).map_err(|error| io(&path, error))?;
            }
        }
        match fs::remove_dir(&self.dir) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(source) => Err(io(&self.dir, source)),
        }
    }
}

/// Whether a name is that of ours, or one that was made of it.
fn belongs(name: &str, ours: &str) -> bool {
    let rest = name.strip_prefix(ours);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

/// A link is removed, and not what it leads to.
fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::protocol::{SiteChange, SiteList, SitePattern};

    #[test]
    fn what_is_ours_goes_and_what_is_not_stays() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let home = Home::open(&state).unwrap();
        home.allow_extension("a").unwrap();
        home.note_unpacked(&state).unwrap();
        let pattern = SitePattern::parse("example.com").unwrap();
        let change = SiteChange::Add { list: SiteList::Deny, pattern };
        home.site_rules().change(&change).unwrap();
        for name in ["journal.db-wal", "daemon.log.1", "monitor.db.damaged-1", "installed.json"] {
            fs::write(state.join(name), "").unwrap();
        }
        let theirs = dir.path().join("theirs");
        fs::create_dir_all(theirs.join("deep")).unwrap();
        symlink(&theirs, state.join("store")).unwrap();
        fs::create_dir_all(state.join("extension/page")).unwrap();
        for name in ["storefront", "thesis.txt"] {
            fs::write(state.join(name), "years of work").unwrap();
        }
        assert!(!home.remove().unwrap());
        let mut left: Vec<_> =
            fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["storefront", "thesis.txt"]);
        assert!(theirs.join("deep").is_dir());
        for name in left {
            fs::remove_file(state.join(name)).unwrap();
        }
        assert!(Home::open(&state).unwrap().remove().unwrap() && !state.exists());
    }
}
