//! The list of unconfirmed widenings.

use std::path::PathBuf;

use super::{StateDirectory, StateDirectoryError, lock_settings, read_json, write_json};
use crate::proof;
use crate::protocol::{Timestamp, UnconfirmedWidening};

const UNCONFIRMED: &str = "unconfirmed.json";

/// How many widenings may wait for a person. A script that widens without end stops here.
const UNCONFIRMED_MAX: usize = 100;

/// The reason why a widening is not noted, and so must not be made.
#[derive(Debug, thiserror::Error)]
pub enum WideningError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// Too many wait for a person.
    #[error(
        "{UNCONFIRMED_MAX} changes wait for a person to confirm them. Confirm them in the popup of the Tabwire extension, or with `tabwire confirm`"
    )]
    TooMany,
}

impl StateDirectory {
    /// Notes a widening before it is made. A widening that is on the list already is noted anew, since
    /// it may have been taken back meanwhile.
    ///
    /// # Errors
    ///
    /// [`WideningError`]: nothing is noted, so nothing may be allowed.
    pub fn note_widening(
        &self,
        what: &str,
        take_back: Option<&str>,
        at: Timestamp,
    ) -> Result<UnconfirmedWidening, WideningError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut kept = self.unconfirmed()?;
        kept.retain(|known| known.what != what);
        if kept.len() >= UNCONFIRMED_MAX {
            return Err(WideningError::TooMany);
        }
        let (what, take_back) = (what.to_owned(), take_back.map(str::to_owned));
        let widening = UnconfirmedWidening { id: proof::random_hex::<8>(), at, what, take_back };
        kept.push(widening.clone());
        // Before the widening takes effect: rather a note too many than one too few (decision 278).
        write_json(&self.dir.join(UNCONFIRMED), &kept)?;
        Ok(widening)
    }

    /// Where the list is kept.
    #[must_use]
    pub fn unconfirmed_path(&self) -> PathBuf {
        self.dir.join(UNCONFIRMED)
    }

    /// The unconfirmed widenings, oldest first.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn unconfirmed(&self) -> Result<Vec<UnconfirmedWidening>, StateDirectoryError> {
        Ok(read_json(&self.dir.join(UNCONFIRMED))?.unwrap_or_default())
    }

    /// Takes confirmed widenings off the list. Returns their number.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn confirm_widenings(&self, ids: &[String]) -> Result<usize, StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut kept = self.unconfirmed()?;
        let before = kept.len();
        kept.retain(|known| !ids.contains(&known.id));
        if kept.len() < before {
            write_json(&self.dir.join(UNCONFIRMED), &kept)?;
        }
        Ok(before - kept.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;

    const AT: Timestamp = Timestamp::from_unix_micros(1_700_000_000_123_000);

    #[test]
    fn a_widening_is_kept_until_it_is_confirmed_in_a_file_that_only_its_owner_can_read() {
        let (_dir, home) = in_temporary();
        assert_eq!(home.unconfirmed().unwrap(), []);
        let first = home.note_widening("agents use a.example", Some("tabwire x"), AT).unwrap();
        let second = home.note_widening("agents use b.example", None, AT).unwrap();
        assert_eq!(home.unconfirmed().unwrap(), [first.clone(), second.clone()]);
        let mode = crate::os::testing::mode(home.dir().join(UNCONFIRMED));
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(home.confirm_widenings(&[first.id, "unknown".to_owned()]).unwrap(), 1);
        assert_eq!(home.unconfirmed().unwrap(), [second]);
    }

    #[test]
    fn one_that_is_made_again_has_another_id_so_that_an_old_look_does_not_confirm_it() {
        let (_dir, home) = in_temporary();
        let first = home.note_widening("agents use a.example", None, AT).unwrap();
        let again = home.note_widening("agents use a.example", None, AT).unwrap();
        assert_eq!(home.confirm_widenings(&[first.id]).unwrap(), 0);
        assert_eq!(home.unconfirmed().unwrap(), [again]);
    }

    #[test]
    fn when_a_hundred_wait_no_more_is_noted_until_one_is_confirmed() {
        let (_dir, home) = in_temporary();
        for n in 0..UNCONFIRMED_MAX {
            home.note_widening(&format!("agents use h{n}.example"), None, AT).unwrap();
        }
        let refused = home.note_widening("agents use more.example", None, AT).unwrap_err();
        assert!(matches!(refused, WideningError::TooMany), "{refused}");
        let first = home.unconfirmed().unwrap()[0].id.clone();
        home.confirm_widenings(&[first]).unwrap();
        home.note_widening("agents use more.example", None, AT).unwrap();
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let (_dir, home) = in_temporary();
        fs::write(home.dir().join(UNCONFIRMED), "{").unwrap();
        assert!(home.unconfirmed().is_err());
        assert!(home.note_widening("agents use a.example", None, AT).is_err());
        assert!(home.confirm_widenings(&[]).is_err());
    }

    #[test]
    fn widenings_that_are_made_at_once_are_all_noted() {
        let (_dir, home) = in_temporary();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let home = &home;
                scope.spawn(move || {
                    home.note_widening(&format!("agents use {n}"), None, AT).unwrap()
                });
            }
        });
        assert_eq!(home.unconfirmed().unwrap().len(), 8);
    }
}
