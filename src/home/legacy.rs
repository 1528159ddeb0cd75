//! Which extensions may poll: those that hold no secret, and are let in by their id alone.

use serde::{Deserialize, Serialize};

use super::{Home, HomeError, lock_settings, read_json, write_json};

const LEGACY: &str = "legacy.json";

/// How many that asked are remembered. Nobody has as many browsers; where all that ask are let in,
/// whoever can make up ids could fill the disk.
const APPROVED: usize = 64;

/// Which polling extensions are let in besides those that were allowed by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegacyMode {
    /// The first one that asks, unless our own extension was ever connected.
    #[default]
    Auto,
    /// Every one that asks.
    Allow,
    /// None, not even those that were let in before.
    Deny,
}

/// What is known of polling extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Legacy {
    /// Which are let in.
    pub mode: LegacyMode,
    /// Those that were let in for having asked.
    pub approved: Vec<String>,
    /// Whether our own extension has ever proved itself here.
    pub was_paired: bool,
}

/// Whether a polling extension may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyAnswer {
    /// It may.
    Welcome,
    /// It has to be allowed by name.
    Unknown,
    /// Polling is switched off.
    SwitchedOff,
}

impl Legacy {
    /// Whether this extension may come in. `allowed`: the person has named it.
    fn answer(&self, id: &str, allowed: bool) -> LegacyAnswer {
        let is_first = self.approved.is_empty() && !self.was_paired;
        match self.mode {
            LegacyMode::Deny => LegacyAnswer::SwitchedOff,
            LegacyMode::Allow => LegacyAnswer::Welcome,
            LegacyMode::Auto if allowed || is_first => LegacyAnswer::Welcome,
            LegacyMode::Auto if self.approved.iter().any(|known| known == id) => {
                LegacyAnswer::Welcome
            }
            LegacyMode::Auto => LegacyAnswer::Unknown,
        }
    }

    /// Whether this extension is let in for asking, and that is to be remembered.
    fn is_to_remember(&self, id: &str) -> bool {
        self.answer(id, false) == LegacyAnswer::Welcome
            && self.approved.len() < APPROVED
            && !self.approved.iter().any(|known| known == id)
    }
}

impl Home {
    /// What is known of polling extensions.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`] and [`HomeError::Damaged`].
    pub fn legacy(&self) -> Result<Legacy, HomeError> {
        Ok(read_json(&self.dir.join(LEGACY))?.unwrap_or_default())
    }

    /// Sets which polling extensions are let in; a running daemon follows at once.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`] and [`HomeError::Damaged`].
    pub fn set_legacy_mode(&self, mode: LegacyMode) -> Result<(), HomeError> {
        self.change_legacy(|legacy| legacy.mode = mode)
    }

    /// Whether a polling extension may come in, and remembers one that may for the first
    /// time.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`] and [`HomeError::Damaged`].
    pub fn admit_legacy(&self, id: &str) -> Result<LegacyAnswer, HomeError> {
        let allowed = self.allowed_extensions()?.iter().any(|known| known == id);
        let legacy = self.legacy()?;
        if allowed || !legacy.is_to_remember(id) {
            return Ok(legacy.answer(id, allowed));
        }
        // Somebody else may have been quicker.
        self.change_legacy(|legacy| {
            let answer = legacy.answer(id, false);
            if legacy.is_to_remember(id) {
                legacy.approved.push(id.to_owned());
                tracing::info!(id, "a polling extension was let in");
            }
            answer
        })
    }

    /// Notes that our own extension has proved itself: from here on no polling extension is
    /// let in that is not known.
    ///
    /// # Errors
    ///
    /// [`HomeError::Io`] and [`HomeError::Damaged`].
    pub fn note_paired(&self) -> Result<(), HomeError> {
        if self.legacy()?.was_paired {
            return Ok(());
        }
        self.change_legacy(|legacy| legacy.was_paired = true)
    }

    /// Makes a change, one at a time: daemon and command line may both want to.
    fn change_legacy<T>(&self, change: impl FnOnce(&mut Legacy) -> T) -> Result<T, HomeError> {
        let _others_wait = lock_settings(&self.dir)?;
        let before = self.legacy()?;
        let mut legacy = before.clone();
        let said = change(&mut legacy);
        if legacy != before {
            write_json(&self.dir.join(LEGACY), &legacy)?;
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn the_first_that_asks_is_let_in_and_no_other() {
        let (_dir, home) = in_temporary();
        assert_eq!(home.admit_legacy("a").unwrap(), LegacyAnswer::Welcome);
        assert_eq!(home.admit_legacy("b").unwrap(), LegacyAnswer::Unknown);
        assert_eq!(home.admit_legacy("a").unwrap(), LegacyAnswer::Welcome);
        home.allow_extension("b").unwrap();
        assert_eq!(home.admit_legacy("b").unwrap(), LegacyAnswer::Welcome);
    }

    #[test]
    fn where_our_own_was_ever_connected_none_is_let_in_for_asking_first() {
        let (_dir, home) = in_temporary();
        home.note_paired().unwrap();
        assert_eq!(home.admit_legacy("a").unwrap(), LegacyAnswer::Unknown);
        home.set_legacy_mode(LegacyMode::Allow).unwrap();
        assert_eq!(home.admit_legacy("a").unwrap(), LegacyAnswer::Welcome);
        home.set_legacy_mode(LegacyMode::Auto).unwrap();
        assert_eq!(home.admit_legacy("a").unwrap(), LegacyAnswer::Welcome, "an approval stays");
        assert_eq!(home.admit_legacy("b").unwrap(), LegacyAnswer::Unknown);
    }

    #[test]
    fn what_several_change_at_once_is_all_kept() {
        let (_dir, home) = in_temporary();
        home.set_legacy_mode(LegacyMode::Allow).unwrap();
        std::thread::scope(|scope| {
            for n in 0..4 {
                let home = &home;
                scope.spawn(move || home.admit_legacy(&format!("asks {n}")).unwrap());
                scope.spawn(move || home.allow_extension(&format!("named {n}")).unwrap());
            }
            scope.spawn(|| home.note_paired().unwrap());
        });
        let legacy = home.legacy().unwrap();
        assert_eq!((legacy.approved.len(), legacy.was_paired), (4, true));
        assert_eq!(home.allowed_extensions().unwrap().len(), 4);
    }

    #[test]
    fn however_many_ask_where_all_may_come_in_so_many_are_remembered() {
        let (_dir, home) = in_temporary();
        home.set_legacy_mode(LegacyMode::Allow).unwrap();
        for n in 0..=APPROVED {
            assert_eq!(home.admit_legacy(&n.to_string()).unwrap(), LegacyAnswer::Welcome);
        }
        assert_eq!(home.legacy().unwrap().approved.len(), APPROVED);
    }

    #[test]
    fn switched_off_is_off_for_those_that_were_let_in_too() {
        let (_dir, home) = in_temporary();
        assert_eq!(home.admit_legacy("a").unwrap(), LegacyAnswer::Welcome);
        home.allow_extension("b").unwrap();
        home.set_legacy_mode(LegacyMode::Deny).unwrap();
        for id in ["a", "b"] {
            assert_eq!(home.admit_legacy(id).unwrap(), LegacyAnswer::SwitchedOff);
        }
    }
}
