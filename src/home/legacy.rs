//! The policy for extensions that only poll. They hold no secret and are let in by their id alone.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    EXTENSIONS, StateDirectory, StateDirectoryError, lock_settings, read_json, write_json,
};
use crate::protocol::is_extension_id;

const LEGACY: &str = "legacy.json";

/// How many ended approvals are remembered, for the notices about them.
const ENDED_MAX: usize = 16;

/// The polling extensions that are let in besides those that a person has let in by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegacyMode {
    /// None. Tabwire asks the person.
    #[default]
    Ask,
    /// The first one that names a session and polls, until the Tabwire extension connects.
    Auto,
    /// Every one that polls.
    Any,
    /// None, not even those that were let in before.
    Deny,
}

/// Who has let a polling extension in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegacyApprover {
    /// A person, by name. Stays until a person takes it back.
    Person,
    /// The mode `auto`, since it was the first. Ends when the Tabwire extension connects.
    Auto,
}

/// A polling extension that is let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegacyApproval {
    /// The extension.
    pub id: String,
    /// Who has let it in.
    pub by: LegacyApprover,
}

/// The mode, approvals and notices of polling extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LegacyRecord")]
pub struct PollingPolicy {
    /// The extensions that are let in besides those below.
    pub mode: LegacyMode,
    /// The extensions that are let in.
    pub approvals: Vec<LegacyApproval>,
    /// The extensions whose approval by `auto` ended when the Tabwire extension connected.
    pub ended: Vec<String>,
    /// The extensions that an agent's notice named: let in without a person, or shut out again.
    pub told: Vec<String>,
    /// Whether the Tabwire extension has ever proved itself here.
    pub was_paired: bool,
}

/// The file as this version and as versions up to 0.1 write it.
#[derive(Deserialize)]
#[serde(untagged)]
enum LegacyRecord {
    Today {
        mode: LegacyMode,
        approvals: Vec<LegacyApproval>,
        #[serde(default)]
        ended: Vec<String>,
        #[serde(default)]
        told: Vec<String>,
        was_paired: bool,
    },
    Former {
        mode: FormerMode,
        approved: Vec<String>,
        was_paired: bool,
    },
}

/// The modes of the former file.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FormerMode {
    Auto,
    Allow,
    Deny,
}

impl From<LegacyRecord> for PollingPolicy {
    fn from(record: LegacyRecord) -> Self {
        match record {
            LegacyRecord::Today { mode, approvals, ended, told, was_paired } => {
                Self { mode, approvals, ended, told, was_paired }
            }
            LegacyRecord::Former { mode, approved, was_paired } => {
                let mode = match mode {
                    // It was the default, so no person need have chosen it.
                    FormerMode::Auto => LegacyMode::Ask,
                    FormerMode::Allow => LegacyMode::Any,
                    FormerMode::Deny => LegacyMode::Deny,
                };
                // The former version let them in because they asked, not because a person decided.
                let by = LegacyApprover::Auto;
                let approvals = approved.into_iter().filter(|id| is_extension_id(id));
                let approvals = approvals.map(|id| LegacyApproval { id, by }).collect();
                Self { mode, approvals, was_paired, ..Self::default() }
            }
        }
    }
}

/// The answer to a polling extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyAnswer {
    /// It may.
    Welcome,
    /// It may as soon as it polls: it is the first, and the mode is `auto`.
    WelcomeToPoll,
    /// A person has to let it in.
    Unknown,
    /// Polling is switched off.
    SwitchedOff,
}

impl PollingPolicy {
    /// Whether this extension may come in.
    #[must_use]
    pub fn answer(&self, id: &str) -> LegacyAnswer {
        match self.mode {
            LegacyMode::Deny => LegacyAnswer::SwitchedOff,
            LegacyMode::Any => LegacyAnswer::Welcome,
            LegacyMode::Ask | LegacyMode::Auto if self.approver_of(id).is_some() => {
                LegacyAnswer::Welcome
            }
            LegacyMode::Auto if self.approvals.is_empty() && !self.was_paired => {
                LegacyAnswer::WelcomeToPoll
            }
            LegacyMode::Ask | LegacyMode::Auto => LegacyAnswer::Unknown,
        }
    }

    /// Who has let this extension in.
    #[must_use]
    pub fn approver_of(&self, id: &str) -> Option<LegacyApprover> {
        self.approvals.iter().find(|known| known.id == id).map(|known| known.by)
    }

    /// The extensions of which an agent still needs a notice: let in without a person, or shut out
    /// again.
    #[must_use]
    pub fn untold(&self) -> Vec<String> {
        let auto = self.approvals.iter().filter(|known| known.by == LegacyApprover::Auto);
        let all = auto.map(|known| &known.id).chain(&self.ended);
        all.filter(|id| !self.told.contains(id)).cloned().collect()
    }

    /// Forgets all records of an extension.
    fn forget(&mut self, id: &str) {
        self.approvals.retain(|known| known.id != id);
        self.ended.retain(|known| known != id);
        self.told.retain(|known| known != id);
    }
}

/// The file of the polling policy. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LegacyFile {
    dir: PathBuf,
}

impl StateDirectory {
    /// The file of the polling policy.
    #[must_use]
    pub fn legacy(&self) -> LegacyFile {
        LegacyFile { dir: self.dir.clone() }
    }
}

impl LegacyFile {
    /// The policy. The approvals include extensions of `tabwire extension allow`.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn read(&self) -> Result<PollingPolicy, StateDirectoryError> {
        let mut legacy = self.read_own()?;
        for id in self.allowed()? {
            // A person's decision replaces an approval by `auto`.
            legacy.approvals.retain(|known| known.id != id);
            legacy.approvals.push(LegacyApproval { id, by: LegacyApprover::Person });
        }
        Ok(legacy)
    }

    /// Whether an extension may poll.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn answer(&self, id: &str) -> Result<LegacyAnswer, StateDirectoryError> {
        Ok(self.read()?.answer(id))
    }

    /// Whether an extension that polls under its session may do so. In mode `auto` the first one is let
    /// in here.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn answer_poll(&self, id: &str) -> Result<LegacyAnswer, StateDirectoryError> {
        let answer = self.answer(id)?;
        if answer != LegacyAnswer::WelcomeToPoll {
            return Ok(answer);
        }
        // Asked again under the lock: only one extension can be the first.
        let _others_wait = lock_settings(&self.dir)?;
        let answer = self.answer(id)?;
        if answer != LegacyAnswer::WelcomeToPoll {
            return Ok(answer);
        }
        let mut legacy = self.read_own()?;
        legacy.approvals.push(LegacyApproval { id: id.to_owned(), by: LegacyApprover::Auto });
        self.write(&legacy)?;
        tracing::warn!(
            id,
            "an older extension was let in, since the mode is `auto` and it was the first; \
             `tabwire legacy remove ID` takes that back"
        );
        Ok(LegacyAnswer::Welcome)
    }

    /// Sets the mode. A running daemon follows at once.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn set_mode(&self, mode: LegacyMode) -> Result<(), StateDirectoryError> {
        self.change(|legacy| legacy.mode = mode)
    }

    /// Sets the mode if it is still `before`, since the caller judged the change by that mode. False:
    /// the mode was changed meanwhile, and nothing is set.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn replace_mode(
        &self,
        before: LegacyMode,
        after: LegacyMode,
    ) -> Result<bool, StateDirectoryError> {
        self.change(|legacy| {
            let is_as_before = legacy.mode == before;
            if is_as_before {
                legacy.mode = after;
            }
            is_as_before
        })
    }

    /// Lets an extension poll by a person's decision. Returns whether anything changed.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn allow(&self, id: &str) -> Result<bool, StateDirectoryError> {
        let by = LegacyApprover::Person;
        self.change(|legacy| {
            let is_new = legacy.approver_of(id) != Some(by);
            if is_new {
                legacy.forget(id);
                legacy.approvals.push(LegacyApproval { id: id.to_owned(), by });
            }
            is_new
        })
    }

    /// Shuts an extension out: it may neither poll nor, if `tabwire extension allow` let it in,
    /// connect. Returns whether anything changed.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn remove(&self, id: &str) -> Result<bool, StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut allowed = self.allowed()?;
        let before = allowed.len();
        allowed.retain(|known| known != id);
        let was_allowed = allowed.len() < before;
        if was_allowed {
            write_json(&self.dir.join(EXTENSIONS), &allowed)?;
        }
        let mut legacy = self.read_own()?;
        let is_removed = was_allowed || legacy.approver_of(id).is_some();
        legacy.forget(id);
        // In mode `auto` the extension would be the first again with its next poll.
        if is_removed && legacy.mode == LegacyMode::Auto {
            legacy.mode = LegacyMode::Ask;
        }
        self.write(&legacy)?;
        Ok(is_removed)
    }

    /// Notes that the Tabwire extension has proved itself. Approvals by `auto` end, and none follows.
    /// Returns those that ended.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn note_paired(&self) -> Result<Vec<String>, StateDirectoryError> {
        let is_auto = |known: &LegacyApproval| known.by == LegacyApprover::Auto;
        // Every connection comes here, and nearly none has anything to write.
        let legacy = self.read_own()?;
        if legacy.was_paired && !legacy.approvals.iter().any(is_auto) {
            return Ok(Vec::new());
        }
        self.change(|legacy| {
            legacy.was_paired = true;
            let (auto, stay): (Vec<_>, Vec<_>) = legacy.approvals.drain(..).partition(is_auto);
            legacy.approvals = stay;
            let ended: Vec<_> = auto.into_iter().map(|known| known.id).collect();
            legacy.told.retain(|id| !ended.contains(id));
            legacy.ended.retain(|id| !ended.contains(id));
            legacy.ended.extend_from_slice(&ended);
            let too_many = legacy.ended.len().saturating_sub(ENDED_MAX);
            legacy.ended.drain(..too_many);
            ended
        })
    }

    /// Notes that an agent got a notice on these.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::Damaged`].
    pub fn note_told(&self, ids: &[String]) -> Result<(), StateDirectoryError> {
        self.change(|legacy| {
            let known = legacy.untold();
            legacy.told.extend(ids.iter().filter(|id| known.contains(id)).cloned());
        })
    }

    /// Makes a change under the lock, since the daemon and the command line both write this file.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut PollingPolicy) -> T,
    ) -> Result<T, StateDirectoryError> {
        let _others_wait = lock_settings(&self.dir)?;
        let before = self.read_own()?;
        let mut legacy = before.clone();
        let said = change(&mut legacy);
        if legacy != before {
            self.write(&legacy)?;
        }
        Ok(said)
    }

    fn read_own(&self) -> Result<PollingPolicy, StateDirectoryError> {
        Ok(read_json(&self.dir.join(LEGACY))?.unwrap_or_default())
    }

    fn allowed(&self) -> Result<Vec<String>, StateDirectoryError> {
        Ok(read_json(&self.dir.join(EXTENSIONS))?.unwrap_or_default())
    }

    fn write(&self, legacy: &PollingPolicy) -> Result<(), StateDirectoryError> {
        write_json(&self.dir.join(LEGACY), legacy)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::in_temporary;

    fn id(letter: char) -> String {
        String::from(letter).repeat(32)
    }

    #[test]
    fn nobody_is_let_in_for_having_asked() {
        let (_dir, home) = in_temporary();
        let file = home.legacy();
        assert_eq!(file.answer_poll(&id('a')).unwrap(), LegacyAnswer::Unknown);
        assert!(file.allow(&id('a')).unwrap() && !file.allow(&id('a')).unwrap());
        assert_eq!(file.answer(&id('a')).unwrap(), LegacyAnswer::Welcome);
        home.allow_extension(&id('b')).unwrap();
        assert_eq!(file.answer(&id('b')).unwrap(), LegacyAnswer::Welcome);
        for id in [id('a'), id('b')] {
            assert!(file.remove(&id).unwrap());
            assert_eq!(file.answer(&id).unwrap(), LegacyAnswer::Unknown);
            assert!(!file.remove(&id).unwrap());
        }
        assert!(home.allowed_extensions().unwrap().is_empty());
    }

    #[test]
    fn where_the_first_is_let_in_it_is_the_first_that_polls_and_no_other() {
        let (_dir, home) = in_temporary();
        let file = home.legacy();
        file.set_mode(LegacyMode::Auto).unwrap();
        assert_eq!(file.answer(&id('a')).unwrap(), LegacyAnswer::WelcomeToPoll);
        assert_eq!(file.answer(&id('b')).unwrap(), LegacyAnswer::WelcomeToPoll, "none was used up");
        assert_eq!(file.answer_poll(&id('b')).unwrap(), LegacyAnswer::Welcome);
        assert_eq!(file.answer_poll(&id('a')).unwrap(), LegacyAnswer::Unknown);
        assert_eq!(file.read().unwrap().approver_of(&id('b')), Some(LegacyApprover::Auto));
        assert_eq!(file.read().unwrap().untold(), [id('b')]);
    }

    #[test]
    fn an_approval_by_auto_ends_when_our_own_connects_and_one_by_a_person_stays() {
        let (_dir, home) = in_temporary();
        let file = home.legacy();
        file.set_mode(LegacyMode::Auto).unwrap();
        file.answer_poll(&id('a')).unwrap();
        file.allow(&id('b')).unwrap();
        file.note_told(&[id('a')]).unwrap();
        assert!(file.read().unwrap().untold().is_empty());
        assert_eq!(file.note_paired().unwrap(), [id('a')]);
        assert_eq!(file.answer_poll(&id('a')).unwrap(), LegacyAnswer::Unknown);
        assert_eq!(file.answer_poll(&id('b')).unwrap(), LegacyAnswer::Welcome);
        assert_eq!(file.read().unwrap().untold(), [id('a')], "that it ended is told, too");
        file.remove(&id('b')).unwrap();
        assert_eq!(file.answer_poll(&id('b')).unwrap(), LegacyAnswer::Unknown, "ours was here");
        assert!(file.note_paired().unwrap().is_empty());
        file.allow(&id('a')).unwrap();
        assert!(file.read().unwrap().ended.is_empty());
        assert!(file.note_paired().unwrap().is_empty(), "a person has let it in now");
    }

    #[test]
    fn a_former_file_is_read_and_its_approvals_are_those_of_auto() {
        let (_dir, home) = in_temporary();
        let file = home.legacy();
        let write = |mode: &str| {
            let text = format!(
                r#"{{"mode":"{mode}","approved":["{}","no id"],"was_paired":true}}"#,
                id('a')
            );
            fs::write(home.dir().join(LEGACY), text).unwrap();
        };
        for (former, mode) in
            [("auto", LegacyMode::Ask), ("allow", LegacyMode::Any), ("deny", LegacyMode::Deny)]
        {
            write(former);
            let legacy = file.read().unwrap();
            assert_eq!((legacy.mode, legacy.was_paired), (mode, true));
            let by = LegacyApprover::Auto;
            assert_eq!(legacy.approvals, [LegacyApproval { id: id('a'), by }]);
        }
        write("auto");
        assert_eq!(file.answer(&id('a')).unwrap(), LegacyAnswer::Welcome, "it stands");
        assert_eq!(file.answer(&id('b')).unwrap(), LegacyAnswer::Unknown);
        assert_eq!(file.note_paired().unwrap(), [id('a')]);
        assert_eq!(file.answer(&id('a')).unwrap(), LegacyAnswer::Unknown);
    }

    #[test]
    fn a_file_that_is_neither_lets_nobody_in() {
        let (_dir, home) = in_temporary();
        for text in ["{", "[]", "{}", r#"{"mode":"any","approved":[],"was_paired":false}"#] {
            fs::write(home.dir().join(LEGACY), text).unwrap();
            assert!(home.legacy().answer(&id('a')).is_err(), "{text}");
            assert!(home.legacy().allow(&id('a')).is_err(), "{text}");
        }
    }

    #[test]
    fn what_several_change_at_once_is_all_kept() {
        let (_dir, home) = in_temporary();
        let letters = ['a', 'b', 'c', 'd'];
        std::thread::scope(|scope| {
            for letter in letters {
                let home = &home;
                scope.spawn(move || home.legacy().allow(&id(letter)).unwrap());
                scope.spawn(move || home.allow_extension(&format!("named {letter}")).unwrap());
            }
            scope.spawn(|| home.legacy().note_paired().unwrap());
        });
        let legacy = home.legacy().read().unwrap();
        assert_eq!((legacy.approvals.len(), legacy.was_paired), (8, true));
        assert_eq!(home.allowed_extensions().unwrap().len(), 4);
    }

    #[test]
    fn one_that_is_removed_is_not_the_first_again_where_the_first_is_let_in() {
        let (_dir, home) = in_temporary();
        let file = home.legacy();
        for allow in [false, true] {
            file.set_mode(LegacyMode::Auto).unwrap();
            if allow {
                home.allow_extension(&id('a')).unwrap();
            }
            assert_eq!(file.answer_poll(&id('a')).unwrap(), LegacyAnswer::Welcome);
            assert!(file.remove(&id('a')).unwrap());
            assert_eq!(file.answer_poll(&id('a')).unwrap(), LegacyAnswer::Unknown);
            assert_eq!(file.read().unwrap().mode, LegacyMode::Ask);
        }
        file.set_mode(LegacyMode::Auto).unwrap();
        assert!(!file.remove(&id('a')).unwrap());
        assert_eq!(file.read().unwrap().mode, LegacyMode::Auto, "nobody was removed");
    }

    #[test]
    fn a_mode_that_somebody_else_has_set_meanwhile_stays() {
        let (_dir, home) = in_temporary();
        let file = home.legacy();
        file.set_mode(LegacyMode::Deny).unwrap();
        assert!(!file.replace_mode(LegacyMode::Ask, LegacyMode::Ask).unwrap());
        assert_eq!(file.read().unwrap().mode, LegacyMode::Deny);
        assert!(file.replace_mode(LegacyMode::Deny, LegacyMode::Any).unwrap());
        assert_eq!(file.read().unwrap().mode, LegacyMode::Any);
    }

    #[test]
    fn where_every_one_is_let_in_none_is_remembered() {
        let (_dir, home) = in_temporary();
        home.legacy().set_mode(LegacyMode::Any).unwrap();
        assert_eq!(home.legacy().answer_poll(&id('a')).unwrap(), LegacyAnswer::Welcome);
        assert!(home.legacy().read().unwrap().approvals.is_empty());
    }

    #[test]
    fn switched_off_is_off_for_those_that_were_let_in_too() {
        let (_dir, home) = in_temporary();
        home.legacy().allow(&id('a')).unwrap();
        home.allow_extension(&id('b')).unwrap();
        home.legacy().set_mode(LegacyMode::Deny).unwrap();
        for id in [id('a'), id('b')] {
            assert_eq!(home.legacy().answer(&id).unwrap(), LegacyAnswer::SwitchedOff);
        }
    }
}
