//! The owners whose tokens count. An owner is a name in a generation: rules, words of the person, tabs,
//! commands, stored values and drawings belong to both, so a name that was removed and added again has
//! nothing of the old one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::DEFAULT_OWNER;
use super::name::{check_name, is_shown};
use super::{FarOwnerChange, Owner, Timestamp};

/// How many owners a person can add. A script that adds without end stops here.
const OWNERS_MAX: usize = 256;

/// How many agents of tenants are listed at most. They have a number of their own: a tenant with many agents
/// takes no room from the person's own owners.
const TENANT_AGENTS_MAX: usize = 256;

/// How many hexadecimal digits a generation has: 16 random bytes.
const GENERATION_DIGITS: usize = 32;

/// The generation of an owner from before there was a list, as the file names it.
const OLD: &str = "old";

/// Tells owners of the same name apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OwnerGeneration {
    /// The owner was known before there was a list: its token and its files have the name alone.
    Old,
    /// The owner was added to the list: 32 hexadecimal digits.
    Added(Box<str>),
}

impl TryFrom<String> for OwnerGeneration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.as_str() {
            OLD => Ok(Self::Old),
            other if other.len() == GENERATION_DIGITS && other.bytes().all(is_digit) => {
                Ok(Self::Added(other.into()))
            }
            _ => Err(format!("a generation is `{OLD}` or {GENERATION_DIGITS} hexadecimal digits")),
        }
    }
}

impl From<OwnerGeneration> for String {
    fn from(generation: OwnerGeneration) -> Self {
        match generation {
            OwnerGeneration::Old => OLD.to_owned(),
            OwnerGeneration::Added(digits) => digits.into(),
        }
    }
}

/// Where the programs of an owner are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// On this computer.
    Local,
    /// On another computer.
    Far,
    /// On computers of a team that this computer's person has joined.
    Tenant,
}

impl OwnerKind {
    /// Its word in the file and in lists.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Far => "far",
            Self::Tenant => "tenant",
        }
    }

    /// Whether they are on another computer: what holds for programs elsewhere holds for them.
    #[must_use]
    pub const fn is_elsewhere(self) -> bool {
        match self {
            Self::Far | Self::Tenant => true,
            Self::Local => false,
        }
    }
}

/// An owner of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerEntry {
    /// Its name: 1 to 64 letters, digits, `-` or `_`.
    pub name: String,
    /// Which owner of this name.
    pub generation: OwnerGeneration,
    /// When it was added, or first noted.
    pub since: Timestamp,
    /// The person's words for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Where its programs are.
    pub kind: OwnerKind,
    /// Whether its token counts for nothing until the person says otherwise.
    #[serde(default)]
    pub suspended: bool,
    /// The place of this machine as the agent of a tenant calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl OwnerEntry {
    /// An entry of this name, to see whether it could be added. It is in no list.
    #[must_use]
    pub fn tried(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            generation: OwnerGeneration::Old,
            since: Timestamp::from_unix_micros(0),
            label: None,
            kind: OwnerKind::Local,
            suspended: false,
            place: None,
        }
    }

    /// The owner, as all that belongs to it names it.
    #[must_use]
    pub fn owner(&self) -> Owner {
        match &self.generation {
            OwnerGeneration::Old => self.name.as_str().into(),
            OwnerGeneration::Added(digits) => Owner::of_generation(&self.name, digits),
        }
    }

    /// Whether it was known before there was a list.
    #[must_use]
    pub const fn is_old(&self) -> bool {
        matches!(self.generation, OwnerGeneration::Old)
    }
}

/// The owners that a person has added, and those from before there was a list. The default owner is
/// always there, and is no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "OwnerListFile")]
pub struct OwnerList {
    owners: Vec<OwnerEntry>,
    /// Whether a person was told of the old owners.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    old_named: bool,
}

/// The list as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnerListFile {
    owners: Vec<OwnerEntry>,
    #[serde(default)]
    old_named: bool,
}

impl TryFrom<OwnerListFile> for OwnerList {
    type Error = String;

    fn try_from(file: OwnerListFile) -> Result<Self, Self::Error> {
        let OwnerListFile { owners, old_named } = file;
        for (at, entry) in owners.iter().enumerate() {
            let name = &entry.name;
            check_entry(entry).map_err(|why| why.to_string())?;
            if owners.iter().take(at).any(|other| other.name == *name) {
                return Err(format!("owner {name} is listed twice"));
            }
        }
        Ok(Self { owners, old_named })
    }
}

/// Why an owner cannot be added or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerListError {
    /// The name is no name of an owner.
    #[error("invalid owner `{0}`: use 1 to 64 letters, digits, - or _")]
    BadName(String),
    /// The label is no label.
    #[error("invalid label: {0}")]
    BadLabel(String),
    /// The default owner is always there.
    #[error(
        "`{DEFAULT_OWNER}` is the owner of the programs that were given none: it is always there. Choose another name"
    )]
    DefaultOwner,
    /// There is one of this name.
    #[error("there is an owner {0} already. `tabwire owner list` shows all")]
    Known(String),
    /// There is none of this name.
    #[error("there is no owner {0}. {add}`tabwire owner list` shows all", add = how_to_add(.0))]
    Unknown(String),
    /// The person disconnected it.
    #[error(
        "owner {0} is suspended: its programs may not use the browser. `tabwire owner allow {0}` lets them in again"
    )]
    Suspended(String),
    /// Too many agents of tenants have called.
    #[error(
        "{TENANT_AGENTS_MAX} agents of tenants are listed, and no more can be added. `tabwire owner remove NAME` removes one, `tabwire-fleet leave` those of a tenant"
    )]
    TooManyAgents,
    /// There are too many.
    #[error(
        "there are {OWNERS_MAX} owners, and no more can be added. Remove one with `tabwire owner remove NAME`"
    )]
    TooMany,
}

impl OwnerList {
    /// The list at the update: the owners that were known, as they were.
    #[must_use]
    pub fn of_old(known: impl IntoIterator<Item = Owner>, since: Timestamp) -> Self {
        let mut list = Self::default();
        for owner in known {
            let name = owner.as_str();
            // A name that no token can carry was never an owner's.
            if Owner::is_name(name) && name != DEFAULT_OWNER && list.entry(name).is_none() {
                list.owners.push(OwnerEntry { since, ..OwnerEntry::tried(name) });
            }
        }
        list.owners.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        list
    }

    /// The entries, in the order in which they came. The default owner is none.
    #[must_use]
    pub fn entries(&self) -> &[OwnerEntry] {
        &self.owners
    }

    /// The entry of this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&OwnerEntry> {
        self.owners.iter().find(|entry| entry.name == name)
    }

    /// The owner of this name, if its token counts.
    ///
    /// # Errors
    ///
    /// [`OwnerListError::BadName`], [`OwnerListError::Unknown`] and [`OwnerListError::Suspended`].
    pub fn owner(&self, name: &str) -> Result<Owner, OwnerListError> {
        if name == DEFAULT_OWNER {
            return Ok(name.into());
        }
        check_name_listed(name)?;
        let entry = self.entry(name).ok_or_else(|| OwnerListError::Unknown(name.to_owned()))?;
        if entry.suspended {
            return Err(OwnerListError::Suspended(name.to_owned()));
        }
        Ok(entry.owner())
    }

    /// Whether the token of this very owner counts.
    #[must_use]
    pub fn has(&self, owner: &Owner) -> bool {
        self.owner(owner.name()).is_ok_and(|listed| listed == *owner)
    }

    /// Whether the programs of this very owner are on another machine.
    #[must_use]
    pub fn is_far(&self, owner: &Owner) -> bool {
        let entry = self.entry(owner.name());
        entry.is_some_and(|entry| entry.kind.is_elsewhere() && entry.owner() == *owner)
    }

    /// The name by which this very owner's programs on another machine know the way here: the place of a tenant's
    /// agent, else the owner's own name. `None`: they are on this machine.
    #[must_use]
    pub fn place_of(&self, owner: &Owner) -> Option<&str> {
        let entry = self.entry(owner.name()).filter(|_| self.is_far(owner))?;
        Some(entry.place.as_deref().unwrap_or(&entry.name))
    }

    /// The owners whose programs are on another machine.
    pub fn far(&self) -> impl Iterator<Item = Owner> {
        let far = self.owners.iter().filter(|entry| entry.kind.is_elsewhere());
        far.map(OwnerEntry::owner)
    }

    /// The agents of a tenant that are listed.
    pub fn agents_of<'a>(&'a self, tenant: &'a str) -> impl Iterator<Item = Owner> + 'a {
        let owners = self.owners.iter().map(OwnerEntry::owner);
        owners.filter(move |owner| owner.agent_of_tenant().is_some_and(|(_, of)| of == tenant))
    }

    /// Removes the agents of a tenant, and returns them.
    pub fn remove_agents_of(&mut self, tenant: &str) -> Vec<Owner> {
        let removed: Vec<_> = self.agents_of(tenant).collect();
        self.owners.retain(|entry| !removed.contains(&entry.owner()));
        removed
    }

    /// Adds an owner with a new generation.
    ///
    /// # Errors
    ///
    /// [`OwnerListError`]: nothing was added.
    pub fn add(&mut self, entry: OwnerEntry) -> Result<(), OwnerListError> {
        check_entry(&entry)?;
        if self.entry(&entry.name).is_some() {
            return Err(OwnerListError::Known(entry.name));
        }
        let is_agent = |entry: &OwnerEntry| entry.kind == OwnerKind::Tenant;
        let agents = self.owners.iter().filter(|entry| is_agent(entry)).count();
        if is_agent(&entry) && agents >= TENANT_AGENTS_MAX {
            return Err(OwnerListError::TooManyAgents);
        }
        if !is_agent(&entry) && self.owners.len() - agents >= OWNERS_MAX {
            return Err(OwnerListError::TooMany);
        }
        self.owners.push(entry);
        Ok(())
    }

    /// Removes an owner, and returns it.
    ///
    /// # Errors
    ///
    /// [`OwnerListError`]: nothing was removed.
    pub fn remove(&mut self, name: &str) -> Result<OwnerEntry, OwnerListError> {
        check_name_listed(name)?;
        let at = self.owners.iter().position(|entry| entry.name == name);
        let at = at.ok_or_else(|| OwnerListError::Unknown(name.to_owned()))?;
        Ok(self.owners.remove(at))
    }

    /// Suspends an owner, whose token then counts for nothing, or lets it in again. Returns its entry, and
    /// whether that is a change.
    ///
    /// # Errors
    ///
    /// [`OwnerListError`]: nothing has changed.
    pub fn set_suspended(
        &mut self,
        name: &str,
        suspended: bool,
    ) -> Result<(OwnerEntry, bool), OwnerListError> {
        check_name_listed(name)?;
        let entry = self.owners.iter_mut().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| OwnerListError::Unknown(name.to_owned()))?;
        let is_change = entry.suspended != suspended;
        entry.suspended = suspended;
        Ok((entry.clone(), is_change))
    }

    /// The same for an owner on another machine, as the person says in the popup.
    ///
    /// # Errors
    ///
    /// [`OwnerListError::Unknown`]: it is another owner of this name by now, or one of this machine.
    pub fn change_far(&mut self, change: &FarOwnerChange) -> Result<(), OwnerListError> {
        let name = change.owner.name();
        if !self.is_far(&change.owner) {
            return Err(OwnerListError::Unknown(name.to_owned()));
        }
        self.set_suspended(name, !change.allowed).map(drop)
    }

    /// The old owners of which no person was told yet.
    pub fn unnamed_old(&self) -> impl Iterator<Item = &OwnerEntry> {
        self.owners.iter().filter(|entry| entry.is_old() && !self.old_named)
    }

    /// A person was told of the old owners. Returns whether that is news.
    pub fn note_old_named(&mut self) -> bool {
        let is_news = self.unnamed_old().next().is_some();
        self.old_named |= is_news;
        is_news
    }
}

/// A person adds no agent of a tenant: it is listed once it calls.
fn how_to_add(name: &str) -> String {
    if Owner::is_agent_name(name) {
        return String::new();
    }
    format!("`tabwire owner add {name}` adds it; ")
}

/// Whether an owner can have this name.
fn check_name_listed(name: &str) -> Result<(), OwnerListError> {
    if name == DEFAULT_OWNER {
        return Err(OwnerListError::DefaultOwner);
    }
    if Owner::is_name(name) || Owner::is_agent_name(name) {
        return Ok(());
    }
    Err(OwnerListError::BadName(name.to_owned()))
}

/// Whether an owner of this kind can be listed under this name and label: an agent of a tenant has a name that
/// no other owner has.
fn check_entry(OwnerEntry { name, label, kind, .. }: &OwnerEntry) -> Result<(), OwnerListError> {
    check_name_listed(name)?;
    if Owner::is_agent_name(name) != (*kind == OwnerKind::Tenant) {
        return Err(OwnerListError::BadName(name.clone()));
    }
    let Some(label) = label else { return Ok(()) };
    check_name(label).map_err(OwnerListError::BadLabel)?;
    if !label.chars().all(is_shown) {
        let why = "a label has no characters that cannot be seen";
        return Err(OwnerListError::BadLabel(why.to_owned()));
    }
    Ok(())
}

impl fmt::Display for OwnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: Timestamp = Timestamp::from_unix_micros(1_700_000_000_000_000);

    fn entry(name: &str, digit: char) -> OwnerEntry {
        let digits: String = std::iter::repeat_n(digit, GENERATION_DIGITS).collect();
        OwnerEntry {
            name: name.to_owned(),
            generation: OwnerGeneration::Added(digits.into()),
            since: SINCE,
            label: None,
            kind: OwnerKind::Local,
            suspended: false,
            place: None,
        }
    }

    #[test]
    fn a_name_that_was_removed_and_added_again_is_another_owner() {
        let mut list = OwnerList::default();
        list.add(entry("ci", '1')).unwrap();
        let first = list.owner("ci").unwrap();
        assert_eq!((first.name(), first.as_str().len()), ("ci", 2 + 1 + GENERATION_DIGITS));
        assert!(list.has(&first));
        assert_eq!(list.remove("ci").unwrap().owner(), first);
        assert!(!list.has(&first));
        list.add(entry("ci", '2')).unwrap();
        assert!(!list.has(&first) && list.owner("ci").unwrap() != first);
    }

    #[test]
    fn an_old_owner_is_its_name_alone_until_it_is_removed() {
        let known = ["work", "ci", "user", "no name", "ci", "x~01"].map(Owner::from);
        let mut list = OwnerList::of_old(known, SINCE);
        let names: Vec<_> = list.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["ci", "work"]);
        assert_eq!(list.owner("ci").unwrap(), "ci".into());
        list.remove("ci").unwrap();
        list.add(entry("ci", '1')).unwrap();
        assert!(!list.has(&"ci".into()) && list.has(&"work".into()));
    }

    #[test]
    fn the_default_owner_is_always_there_and_can_be_neither_added_nor_removed() {
        let mut list = OwnerList::default();
        assert!(list.has(&DEFAULT_OWNER.into()));
        assert_eq!(list.add(entry(DEFAULT_OWNER, '1')), Err(OwnerListError::DefaultOwner));
        assert_eq!(list.remove(DEFAULT_OWNER), Err(OwnerListError::DefaultOwner));
        assert!(!list.has(&Owner::of_generation(DEFAULT_OWNER, "01")));
    }

    #[test]
    fn a_name_that_is_not_listed_is_refused_with_the_command_that_adds_it() {
        let mut list = OwnerList::default();
        for refused in [list.owner("ci"), list.remove("ci").map(|entry| entry.owner())] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("`tabwire owner add ci`"), "{error}");
        }
        assert!(matches!(list.owner("a b"), Err(OwnerListError::BadName(_))));
        assert!(matches!(list.owner("ci~01"), Err(OwnerListError::BadName(_))));
    }

    #[test]
    fn an_agent_of_a_tenant_has_a_name_of_its_own_the_rights_of_far_owners_and_its_own_number() {
        let agent =
            |name: &str, digit| OwnerEntry { kind: OwnerKind::Tenant, ..entry(name, digit) };
        let mut list = OwnerList::default();
        for wrong in ["ci", "@acme", "ci@", "ci@acme@x", "Ci@acme", "ci@ac.me", "ci@acme~1", "user"]
        {
            assert!(list.add(agent(wrong, '1')).is_err(), "{wrong}");
        }
        for kind in [OwnerKind::Local, OwnerKind::Far] {
            assert!(list.add(OwnerEntry { kind, ..entry("ci@acme", '1') }).is_err(), "{kind}");
        }
        list.add(agent("ci@acme", '1')).unwrap();
        list.add(agent("ci@other", '2')).unwrap();
        list.add(entry("ci", '3')).unwrap();
        let owner = list.owner("ci@acme").unwrap();
        assert_eq!(owner.agent_of_tenant(), Some(("ci", "acme")));
        assert!(list.is_far(&owner) && list.far().any(|far| far == owner));
        assert!(!list.is_far(&list.owner("ci").unwrap()));
        assert!(!Owner::is_name("ci@acme"), "no command gives a token for it");
        for number in 2..TENANT_AGENTS_MAX {
            list.add(agent(&format!("a{number}@acme"), '1')).unwrap();
        }
        assert_eq!(list.add(agent("more@acme", '1')), Err(OwnerListError::TooManyAgents));
        list.add(entry("more", '1')).unwrap();
        assert_eq!(list.remove_agents_of("acme").len(), TENANT_AGENTS_MAX - 1);
        let names: Vec<_> = list.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["ci@other", "ci", "more"]);
        let text = serde_json::to_string(&list).unwrap();
        assert_eq!(serde_json::from_str::<OwnerList>(&text).unwrap(), list);
        let disguised = text.replace("\"tenant\"", "\"local\"");
        assert!(serde_json::from_str::<OwnerList>(&disguised).is_err());
    }

    #[test]
    fn the_token_of_a_suspended_owner_counts_for_nothing() {
        let mut list = OwnerList::default();
        list.add(OwnerEntry { suspended: true, ..entry("ci", '1') }).unwrap();
        assert!(matches!(list.owner("ci"), Err(OwnerListError::Suspended(_))));
        assert!(!list.has(&entry("ci", '1').owner()));
    }

    #[test]
    fn a_suspended_owner_stays_itself_and_is_let_in_again_by_its_name_or_by_who_it_is() {
        let mut list = OwnerList::default();
        list.add(OwnerEntry { kind: OwnerKind::Far, ..entry("box", '1') }).unwrap();
        list.add(entry("ci", '1')).unwrap();
        let owner = list.owner("box").unwrap();
        assert!(list.set_suspended("box", true).unwrap().1 && !list.has(&owner));
        assert!(!list.set_suspended("box", true).unwrap().1, "it is already");
        assert!(list.is_far(&owner));
        let change = |owner: &Owner, allowed| FarOwnerChange { owner: owner.clone(), allowed };
        list.change_far(&change(&owner, true)).unwrap();
        assert!(list.has(&owner));
        list.change_far(&change(&owner, false)).unwrap();
        assert!(!list.has(&owner));
        let other = entry("box", '2').owner();
        for wrong in [other, "box".into(), entry("ci", '1').owner(), DEFAULT_OWNER.into()] {
            let refused = list.change_far(&change(&wrong, true)).unwrap_err();
            assert!(matches!(refused, OwnerListError::Unknown(_)), "{refused}");
        }
        assert!(!list.has(&owner));
        for wrong in ["none", "user", "a b"] {
            assert!(list.set_suspended(wrong, true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_given_once_labels_can_be_read_and_there_are_256_owners_at_most() {
        let mut list = OwnerList::default();
        for number in 0..OWNERS_MAX {
            list.add(entry(&format!("o{number}"), '1')).unwrap();
        }
        assert_eq!(list.add(entry("more", '1')), Err(OwnerListError::TooMany));
        assert_eq!(list.add(entry("o7", '2')), Err(OwnerListError::Known("o7".to_owned())));
        list.remove("o7").unwrap();
        for label in ["", " x", "a\u{202e}b", "a\nb"] {
            let labelled = OwnerEntry { label: Some(label.to_owned()), ..entry("more", '1') };
            assert!(matches!(list.add(labelled), Err(OwnerListError::BadLabel(_))), "{label:?}");
        }
        list.add(OwnerEntry { label: Some("CI, nightly".to_owned()), ..entry("more", '1') })
            .unwrap();
    }

    #[test]
    fn a_list_is_read_as_it_was_written_and_a_wrong_one_is_none() {
        let mut list = OwnerList::of_old(["work".into()], SINCE);
        list.add(OwnerEntry { label: Some("x".to_owned()), ..entry("ci", 'a') }).unwrap();
        assert!(list.note_old_named() && !list.note_old_named());
        let text = serde_json::to_string(&list).unwrap();
        assert!(text.contains(r#""generation":"old""#), "{text}");
        assert_eq!(serde_json::from_str::<OwnerList>(&text).unwrap(), list);
        let of = |from: &str, to: &str| text.replacen(from, to, 1);
        for wrong in [
            of("work", "ci"),
            of("work", "user"),
            of("work", "a b"),
            of("old", "older"),
            of("local", "near"),
            of("owners", "owner"),
            of("since", "when"),
            "{}".to_owned(),
        ] {
            assert!(serde_json::from_str::<OwnerList>(&wrong).is_err(), "{wrong}");
        }
    }
}
