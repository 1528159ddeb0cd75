//! The names of browsers in the state directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StateDirectory, StateDirectoryError, lock_settings, read_json, write_json};
use crate::protocol::{BrowserId, BrowserName};

const BROWSER_NAMES: &str = "browser_names.json";

/// How many browsers are named at most: a program with the key could make up any number.
const MOST: usize = 100;

/// The file of the names. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BrowserNamesFile {
    dir: PathBuf,
}

/// What is kept of a browser with a name.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "StoredName")]
struct NamedBrowser {
    name: BrowserName,
    /// The folder of its profile, which outlives its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<PathBuf>,
}

/// The forms that it has in the file: a name alone is that of a browser whose profile was never found.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredName {
    Alone(BrowserName),
    Whole { name: BrowserName, profile: Option<PathBuf> },
}

impl From<StoredName> for NamedBrowser {
    fn from(stored: StoredName) -> Self {
        match stored {
            StoredName::Alone(name) => Self { name, profile: None },
            StoredName::Whole { name, profile } => Self { name, profile },
        }
    }
}

fn names_of(names: &HashMap<BrowserId, NamedBrowser>) -> HashMap<BrowserId, BrowserName> {
    names.iter().map(|(id, named)| (id.clone(), named.name.clone())).collect()
}

/// The reason why a browser is not named.
#[derive(Debug, thiserror::Error)]
pub enum BrowserNameError {
    /// The names cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// It cannot be a name.
    #[error("{0}. Choose another name")]
    Malformed(String),
    /// Another browser has it, which is connected.
    #[error("another browser is called `{0}`. Choose another name, or name that one anew first")]
    Taken(BrowserName),
    /// Too many browsers have names.
    #[error(
        "{MOST} browsers have names already. Remove some of browser_names.json in the state directory"
    )]
    TooMany,
}

impl StateDirectory {
    /// The file of the names that the person has given to browsers.
    #[must_use]
    pub fn browser_names(&self) -> BrowserNamesFile {
        BrowserNamesFile { dir: self.dir.clone() }
    }
}

impl BrowserNamesFile {
    /// The names; none if there is no file.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: the file cannot be read.
    pub fn read(&self) -> Result<HashMap<BrowserId, BrowserName>, StateDirectoryError> {
        Ok(names_of(&self.read_all()?))
    }

    fn read_all(&self) -> Result<HashMap<BrowserId, NamedBrowser>, StateDirectoryError> {
        Ok(read_json(&self.dir.join(BROWSER_NAMES))?.unwrap_or_default())
    }

    /// Names a browser. Returns the names after it. A name moves here from a browser that is not
    /// connected: an extension that was removed and loaded again is another browser to us. `profile` is
    /// the folder of its profile, if that is known.
    ///
    /// # Errors
    ///
    /// [`BrowserNameError`]: nothing changed.
    pub fn name(
        &self,
        browser: &BrowserId,
        name: &str,
        profile: Option<&Path>,
        is_connected: impl Fn(&BrowserId) -> bool,
    ) -> Result<HashMap<BrowserId, BrowserName>, BrowserNameError> {
        let name = BrowserName::parse(name).map_err(BrowserNameError::Malformed)?;
        let _others_wait = lock_settings(&self.dir)?;
        let mut names = self.read_all()?;
        let is_others = |(id, known): (&BrowserId, &NamedBrowser)| {
            id != browser && known.name.is_like(name.as_str())
        };
        let former = names.iter().find(|known| is_others(*known)).map(|(id, _)| id.clone());
        match former {
            Some(former) if is_connected(&former) => return Err(BrowserNameError::Taken(name)),
            Some(former) => drop(names.remove(&former)),
            None => {}
        }
        if !names.contains_key(browser) && names.len() >= MOST {
            return Err(BrowserNameError::TooMany);
        }
        // One whose profile is not found now keeps that of before.
        let before = || names.get(browser).and_then(|known| known.profile.clone());
        let profile = profile.map(Path::to_owned).or_else(before);
        names.insert(browser.clone(), NamedBrowser { name, profile });
        write_json(&self.dir.join(BROWSER_NAMES), &names)?;
        Ok(names_of(&names))
    }

    /// Notes in which profile a browser is. One without a name takes that of a browser which was in the
    /// same profile and is not connected: its extension was removed and loaded again. Returns the names
    /// if that changed them.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`]: nothing changed.
    pub fn note_profile(
        &self,
        browser: &BrowserId,
        profile: &Path,
        is_connected: impl Fn(&BrowserId) -> bool,
    ) -> Result<Option<HashMap<BrowserId, BrowserName>>, StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut names = self.read_all()?;
        let is_new = match names.get_mut(browser) {
            Some(named) if named.profile.as_deref() == Some(profile) => return Ok(None),
            Some(named) => {
                named.profile = Some(profile.to_owned());
                false
            }
            None => {
                let was_there = |(id, named): (&BrowserId, &NamedBrowser)| {
                    named.profile.as_deref() == Some(profile) && !is_connected(id)
                };
                let former = names.iter().find(|known| was_there(*known)).map(|(id, _)| id.clone());
                let Some(named) = former.and_then(|former| names.remove(&former)) else {
                    return Ok(None);
                };
                names.insert(browser.clone(), named);
                true
            }
        };
        write_json(&self.dir.join(BROWSER_NAMES), &names)?;
        Ok(is_new.then(|| names_of(&names)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn names_are_kept_and_no_two_browsers_have_one_that_reads_alike() {
        let (_dir, home) = in_temporary();
        let file = home.browser_names();
        assert!(file.read().unwrap().is_empty());
        let (one, two) = (BrowserId::from("b_1"), BrowserId::from("b_2"));
        let here = |_: &BrowserId| true;
        file.name(&one, "Work", None, here).unwrap();
        assert!(matches!(file.name(&two, "work", None, here), Err(BrowserNameError::Taken(_))));
        file.name(&one, "Office", None, here).unwrap();
        file.name(&two, "work", None, here).unwrap();
        let names = home.browser_names().read().unwrap();
        assert_eq!(names[&one].as_str(), "Office");
        assert_eq!(names[&two].as_str(), "work");
        // The profile whose extension was loaded anew gets its name back.
        let again = BrowserId::from("b_3");
        let names = file.name(&again, "office", None, |id| *id != one).unwrap();
        assert_eq!((names.get(&one), names[&again].as_str()), (None, "office"));
    }

    #[test]
    fn a_bad_name_is_refused_in_words_and_changes_nothing() {
        let (_dir, home) = in_temporary();
        let file = home.browser_names();
        let browser = BrowserId::from("b_1");
        file.name(&browser, "work", None, |_| true).unwrap();
        for bad in ["", " x", "a\nb", "a\u{202e}b"] {
            let error = file.name(&browser, bad, None, |_| true).unwrap_err().to_string();
            assert!(error.contains("a name") && error.contains("Choose another"), "{error}");
        }
        assert_eq!(file.read().unwrap()[&browser].as_str(), "work");
        for n in 1..MOST {
            file.name(&BrowserId::from(format!("b{n}")), &format!("n{n}"), None, |_| true).unwrap();
        }
        let error = file.name(&BrowserId::from("more"), "more", None, |_| true).unwrap_err();
        assert!(matches!(error, BrowserNameError::TooMany));
        file.name(&browser, "home", None, |_| true).unwrap();
    }

    #[test]
    fn a_damaged_file_is_named_and_left_as_it_is() {
        let (_dir, home) = in_temporary();
        let file = home.browser_names();
        fs::write(home.dir().join(BROWSER_NAMES), "{").unwrap();
        let error =
            file.name(&BrowserId::from("b"), "work", None, |_| true).unwrap_err().to_string();
        assert!(error.contains(BROWSER_NAMES), "{error}");
        assert_eq!(fs::read_to_string(home.dir().join(BROWSER_NAMES)).unwrap(), "{");
    }

    #[test]
    fn a_browser_whose_extension_was_loaded_anew_has_the_name_of_its_profile_back() {
        let (_dir, home) = in_temporary();
        let file = home.browser_names();
        let (one, two, again) = (BrowserId::from("1"), BrowserId::from("2"), BrowserId::from("3"));
        let (work, other) = (Path::new("/p/Profile 1"), Path::new("/p/Profile 2"));
        file.name(&one, "work", Some(work), |_| true).unwrap();
        file.name(&two, "home", None, |_| true).unwrap();
        // The profile of a name that was given before it was found.
        assert!(file.note_profile(&two, other, |_| true).unwrap().is_none());
        assert!(file.note_profile(&again, work, |_| true).unwrap().is_none(), "it is connected");
        let names = file.note_profile(&again, work, |id| *id != one).unwrap().unwrap();
        assert_eq!((names.get(&one), names[&again].as_str()), (None, "work"));
        assert!(file.note_profile(&again, work, |_| false).unwrap().is_none());
        // Named anew while its profile cannot be found, it is still that of its profile.
        file.name(&again, "office", None, |_| true).unwrap();
        let names = file.note_profile(&one, work, |_| false).unwrap().unwrap();
        assert_eq!((names.get(&again), names[&one].as_str()), (None, "office"));
        let names = file.note_profile(&again, other, |_| false).unwrap().unwrap();
        assert_eq!((names.get(&two), names[&again].as_str()), (None, "home"));
    }

    #[test]
    fn a_file_with_names_alone_is_read_and_written_on() {
        let (_dir, home) = in_temporary();
        fs::write(home.dir().join(BROWSER_NAMES), r#"{"b_1":"work"}"#).unwrap();
        let file = home.browser_names();
        let browser = BrowserId::from("b_1");
        assert_eq!(file.read().unwrap()[&browser].as_str(), "work");
        file.note_profile(&browser, Path::new("/p"), |_| true).unwrap();
        assert_eq!(file.read().unwrap()[&browser].as_str(), "work");
    }
}
