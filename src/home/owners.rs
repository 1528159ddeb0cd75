//! The list of owners in the state directory.

use std::path::PathBuf;

use super::{StateDirectory, StateDirectoryError, lock_settings, read_rules, write_json_synced};
use crate::proof;
use crate::protocol::{
    FarOwnerChange, Owner, OwnerEntry, OwnerGeneration, OwnerKind, OwnerList, OwnerListError,
    Timestamp,
};

const OWNERS: &str = "owners.json";

/// How many random bytes tell owners of one name apart.
const GENERATION_BYTES: usize = 16;

/// Why the list of owners was not changed.
#[derive(Debug, thiserror::Error)]
pub enum OwnersError {
    /// The change is none that can be made.
    #[error(transparent)]
    List(#[from] OwnerListError),
    /// The file cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
}

/// The file of the list of owners. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OwnersFile {
    dir: PathBuf,
}

impl StateDirectory {
    /// The file with the owners whose tokens count.
    #[must_use]
    pub fn owners(&self) -> OwnersFile {
        OwnersFile { dir: self.dir.clone() }
    }
}

impl OwnersFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.join(OWNERS)
    }

    /// The list; `None`: there is none yet.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError::Io`] and [`StateDirectoryError::DamagedOwners`]: a damaged file does not
    /// count as an empty one, which would make old owners of names that were removed.
    pub fn read(&self) -> Result<Option<OwnerList>, StateDirectoryError> {
        let path = self.path();
        read_rules(&path, |path, source| StateDirectoryError::DamagedOwners { path, source })
    }

    /// The owner of this name: the default one, or a listed one. Where there is no list yet, a name is an
    /// owner by itself.
    ///
    /// # Errors
    ///
    /// [`OwnersError`].
    pub fn owner(&self, name: &str) -> Result<Owner, OwnersError> {
        match self.read()? {
            Some(list) => Ok(list.owner(name)?),
            None => Ok(name.into()),
        }
    }

    /// The list; made of the owners that `known` finds, as they were, if there is none yet.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read), and those of `known`: nothing changed.
    pub fn read_or_seed<E: From<StateDirectoryError>>(
        &self,
        at: Timestamp,
        known: impl FnOnce() -> Result<Vec<Owner>, E>,
    ) -> Result<OwnerList, E> {
        let _others_wait = lock_settings(&self.dir)?;
        if let Some(list) = self.read()? {
            return Ok(list);
        }
        let list = OwnerList::of_old(known()?, at);
        write_json_synced(&self.path(), &list)?;
        Ok(list)
    }

    /// Adds an owner in a new generation.
    ///
    /// # Errors
    ///
    /// [`OwnersError`]: nothing was added.
    pub fn add(
        &self,
        name: &str,
        label: Option<&str>,
        kind: OwnerKind,
        since: Timestamp,
    ) -> Result<OwnerEntry, OwnersError> {
        let generation = proof::random_hex::<GENERATION_BYTES>();
        let entry = OwnerEntry {
            name: name.to_owned(),
            generation: OwnerGeneration::Added(generation.into()),
            since,
            label: label.map(str::to_owned),
            kind,
            suspended: false,
            place: None,
        };
        self.change(|list| list.add(entry.clone()))?;
        Ok(entry)
    }

    /// The owner for an agent of a tenant, added with the place that it calls if it is not listed yet.
    /// `is_joined` is asked while nobody else changes the list: an agent whose tenant a person leaves is not
    /// added behind [`Self::remove_agents_of`].
    ///
    /// # Errors
    ///
    /// [`OwnersError`]; `None`: the tenant is joined no more.
    pub fn owner_of_agent(
        &self,
        name: &str,
        place: &str,
        since: Timestamp,
        is_joined: impl FnOnce() -> bool,
    ) -> Result<Option<Owner>, OwnersError> {
        // Without a list a name would be an owner by itself.
        if let Some(list) = self.read()?
            && list.entry(name).is_some()
        {
            return Ok(Some(list.owner(name)?));
        }
        let generation = proof::random_hex::<GENERATION_BYTES>();
        self.change(|list| {
            if !is_joined() {
                return Ok(None);
            }
            if list.entry(name).is_none() {
                let generation = OwnerGeneration::Added(generation.into());
                let kind = OwnerKind::Tenant;
                let place = Some(place.to_owned());
                let tried = OwnerEntry::tried(name);
                list.add(OwnerEntry { generation, since, kind, place, ..tried })?;
            }
            list.owner(name).map(Some)
        })
    }

    /// Removes the agents of a tenant, and returns them.
    ///
    /// # Errors
    ///
    /// [`OwnersError::Home`]: nothing was removed.
    pub fn remove_agents_of(&self, tenant: &str) -> Result<Vec<Owner>, OwnersError> {
        self.change(|list| Ok(list.remove_agents_of(tenant)))
    }

    /// Removes an owner: from now on its token counts for nothing, and nobody gets another one like it.
    ///
    /// # Errors
    ///
    /// [`OwnersError`]: nothing was removed.
    pub fn remove(&self, name: &str) -> Result<OwnerEntry, OwnersError> {
        self.change(|list| list.remove(name))
    }

    /// Suspends an owner, or lets it in again. Returns its entry, and whether that is a change.
    ///
    /// # Errors
    ///
    /// [`OwnersError`]: nothing has changed.
    pub fn set_suspended(
        &self,
        name: &str,
        suspended: bool,
    ) -> Result<(OwnerEntry, bool), OwnersError> {
        self.change(|list| list.set_suspended(name, suspended))
    }

    /// The same for an owner on another machine, as the person says in the popup.
    ///
    /// # Errors
    ///
    /// [`OwnersError`]: nothing has changed.
    pub fn change_far(&self, change: &FarOwnerChange) -> Result<(), OwnersError> {
        self.change(|list| list.change_far(change))
    }

    /// Notes that a person was told of the old owners.
    ///
    /// # Errors
    ///
    /// [`OwnersError::Home`].
    pub fn note_old_named(&self) -> Result<(), OwnersError> {
        self.change(|list| {
            list.note_old_named();
            Ok(())
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut OwnerList) -> Result<T, OwnerListError>,
    ) -> Result<T, OwnersError> {
        let _others_wait = lock_settings(&self.dir)?;
        let mut list = self.read()?.unwrap_or_default();
        let changed = change(&mut list)?;
        write_json_synced(&self.path(), &list)?;
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::home::{StateDirectory, in_temporary};

    const AT: Timestamp = Timestamp::from_unix_micros(1_700_000_000_000_000);

    fn add(home: &StateDirectory, name: &str) -> OwnerEntry {
        home.owners().add(name, None, OwnerKind::Local, AT).unwrap()
    }

    fn seed(home: &StateDirectory, known: &[&str]) -> OwnerList {
        let known = || Ok(known.iter().map(|name| Owner::from(*name)).collect());
        home.owners().read_or_seed::<StateDirectoryError>(AT, known).unwrap()
    }

    #[test]
    fn the_list_is_kept_in_a_file_that_only_its_owner_can_read() {
        let (_dir, home) = in_temporary();
        assert_eq!(home.owners().read().unwrap(), None);
        let ci = home.owners().add("ci", Some("Nightly"), OwnerKind::Local, AT).unwrap();
        assert_eq!(home.owners().read().unwrap().unwrap().entries(), [ci]);
        let mode = crate::os::testing::mode(home.owners().path());
        assert_eq!(mode & 0o777, 0o600);
        let left = fs::read_dir(home.dir()).unwrap().count();
        assert_eq!(left, 3, "nothing beside the secret, the lock and the list");
    }

    #[test]
    fn no_two_owners_of_one_name_have_the_same_token() {
        let (_dir, home) = in_temporary();
        let first = add(&home, "ci").owner();
        home.owners().remove("ci").unwrap();
        let second = add(&home, "ci").owner();
        assert_ne!(home.auth().token(&first), home.auth().token(&second));
        assert_ne!(home.auth().token(&second), home.auth().token(&"ci".into()));
    }

    #[test]
    fn the_known_owners_are_listed_once_and_a_removed_one_never_again() {
        let (_dir, home) = in_temporary();
        assert_eq!(seed(&home, &["ci", "work"]).entries().len(), 2);
        home.owners().remove("ci").unwrap();
        let list = seed(&home, &["ci", "work", "more"]);
        let names: Vec<_> = list.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["work"]);
    }

    #[test]
    fn an_agent_is_added_once_and_none_of_a_tenant_that_was_left() {
        let (_dir, home) = in_temporary();
        seed(&home, &[]);
        let agent = |name: &str, is_joined: bool| {
            home.owners().owner_of_agent(name, "qa", AT, || is_joined)
        };
        let first = agent("ci@acme", true).unwrap().unwrap();
        assert_eq!(agent("ci@acme", true).unwrap().unwrap(), first);
        agent("ci@other", true).unwrap().unwrap();
        home.owners().set_suspended("ci@acme", true).unwrap();
        assert!(agent("ci@acme", true).unwrap_err().to_string().contains("suspended"));
        assert_eq!(home.owners().remove_agents_of("acme").unwrap(), std::slice::from_ref(&first));
        assert_eq!(agent("ci@acme", false).unwrap(), None);
        let again = agent("ci@acme", true).unwrap().unwrap();
        assert!(again != first && again.name() == first.name(), "nothing of the old one is its");
        let names: Vec<_> = home
            .owners()
            .read()
            .unwrap()
            .unwrap_or_default()
            .entries()
            .iter()
            .map(|it| it.name.clone())
            .collect();
        assert_eq!(names, ["ci@other", "ci@acme"]);
    }

    #[test]
    fn a_damaged_file_is_named_with_the_next_step_and_nothing_of_it_is_lost() {
        let (_dir, home) = in_temporary();
        for text in ["", "{", "[]", "null", "{}", r#"{"owners":[{"name":"ci"}]}"#] {
            fs::write(home.owners().path(), text).unwrap();
            let error = home.owners().read().unwrap_err().to_string();
            assert!(error.contains(OWNERS) && error.contains("Correct it"), "{text}: {error}");
            assert!(home.owners().add("ci", None, OwnerKind::Local, AT).is_err(), "{text}");
            assert!(home.owners().remove("ci").is_err() && home.owners().note_old_named().is_err());
            let seeded = home.owners().read_or_seed::<StateDirectoryError>(AT, || Ok(Vec::new()));
            assert!(seeded.is_err(), "{text}");
            assert_eq!(fs::read_to_string(home.owners().path()).unwrap(), text);
        }
    }

    #[test]
    fn owners_that_are_added_at_once_are_all_listed() {
        let (_dir, home) = in_temporary();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let home = &home;
                scope.spawn(move || add(home, &format!("o{n}")));
            }
        });
        assert_eq!(home.owners().read().unwrap().unwrap().entries().len(), 8);
    }

    #[test]
    fn the_files_of_one_owner_go_and_those_of_others_and_of_other_programs_stay() {
        let (_dir, home) = in_temporary();
        let [ci, work] = ["ci", "work"].map(|name| add(&home, name).owner());
        let name = crate::home::ValueName::parse("note").unwrap();
        let value = serde_json::value::to_raw_value(&1).unwrap();
        for owner in [&ci, &work, &"ci".into()] {
            home.store().store(owner, &name, &value).unwrap();
        }
        let foreign = home.dir().join("store").join("ci").join("mine.txt");
        fs::write(&foreign, "x").unwrap();
        let removal = home.remove_files_of(|owner| owner.name() == "ci").unwrap();
        assert_eq!(removal.stays, [foreign]);
        assert!(home.store().list(&ci).unwrap().is_empty());
        assert_eq!(home.store().list(&work).unwrap().len(), 1);
        assert_eq!(home.owners_with_files().unwrap(), ["ci".into(), work]);
    }
}
