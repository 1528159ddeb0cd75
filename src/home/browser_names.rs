//! The names of browsers in the state directory.

use std::collections::HashMap;
use std::path::PathBuf;

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
        Ok(read_json(&self.dir.join(BROWSER_NAMES))?.unwrap_or_default())
    }

    /// Names a browser. Returns the names after it. A name moves here from a browser that is not
    /// connected: an extension that was removed and loaded again is another browser to us.
    ///
    /// # Errors
    ///
    /// [`BrowserNameError`]: nothing changed.
    pub fn name(
        &self,
        browser: &BrowserId,
        name: &str,
        is_connected: impl Fn(&BrowserId) -> bool,
    ) -> Result<HashMap<BrowserId, BrowserName>, BrowserNameError> {
        let name = BrowserName::parse(name).map_err(BrowserNameError::Malformed)?;
        let _others_wait = lock_settings(&self.dir)?;
        let mut names = self.read()?;
        let is_others =
            |(id, known): (&BrowserId, &BrowserName)| id != browser && known.is_like(name.as_str());
        let former = names.iter().find(|known| is_others(*known)).map(|(id, _)| id.clone());
        match former {
            Some(former) if is_connected(&former) => return Err(BrowserNameError::Taken(name)),
            Some(former) => drop(names.remove(&former)),
            None => {}
        }
        if !names.contains_key(browser) && names.len() >= MOST {
            return Err(BrowserNameError::TooMany);
        }
        names.insert(browser.clone(), name);
        write_json(&self.dir.join(BROWSER_NAMES), &names)?;
        Ok(names)
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
        file.name(&one, "Work", here).unwrap();
        assert!(matches!(file.name(&two, "work", here), Err(BrowserNameError::Taken(_))));
        file.name(&one, "Office", here).unwrap();
        file.name(&two, "work", here).unwrap();
        let names = home.browser_names().read().unwrap();
        assert_eq!(names[&one].as_str(), "Office");
        assert_eq!(names[&two].as_str(), "work");
        // The profile whose extension was loaded anew gets its name back.
        let again = BrowserId::from("b_3");
        let names = file.name(&again, "office", |id| *id != one).unwrap();
        assert_eq!((names.get(&one), names[&again].as_str()), (None, "office"));
    }

    #[test]
    fn a_bad_name_is_refused_in_words_and_changes_nothing() {
        let (_dir, home) = in_temporary();
        let file = home.browser_names();
        let browser = BrowserId::from("b_1");
        file.name(&browser, "work", |_| true).unwrap();
        for bad in ["", " x", "a\nb", "a\u{202e}b"] {
            let error = file.name(&browser, bad, |_| true).unwrap_err().to_string();
            assert!(error.contains("a name") && error.contains("Choose another"), "{error}");
        }
        assert_eq!(file.read().unwrap()[&browser].as_str(), "work");
        for n in 1..MOST {
            file.name(&BrowserId::from(format!("b{n}")), &format!("n{n}"), |_| true).unwrap();
        }
        let error = file.name(&BrowserId::from("more"), "more", |_| true).unwrap_err();
        assert!(matches!(error, BrowserNameError::TooMany));
        file.name(&browser, "home", |_| true).unwrap();
    }

    #[test]
    fn a_damaged_file_is_named_and_left_as_it_is() {
        let (_dir, home) = in_temporary();
        let file = home.browser_names();
        fs::write(home.dir().join(BROWSER_NAMES), "{").unwrap();
        let error = file.name(&BrowserId::from("b"), "work", |_| true).unwrap_err().to_string();
        assert!(error.contains(BROWSER_NAMES), "{error}");
        assert_eq!(fs::read_to_string(home.dir().join(BROWSER_NAMES)).unwrap(), "{");
    }
}
