//! Which tabs the clients of an owner see.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Owner, OwnerEntry};

/// Which tabs the clients of an owner see and may use.
///
/// Narrower ones come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TabScope {
    /// Those that they opened, and those that were opened from them.
    Own,
    /// Those, and the ones that the person shares.
    Shared,
    /// Every tab.
    #[default]
    All,
}

impl TabScope {
    /// The widest one that an owner on another machine can have.
    pub const WIDEST_FAR: Self = Self::Shared;

    /// Reads its name, as the command line has it.
    ///
    /// # Errors
    ///
    /// A sentence for the person: there is none of this name.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "own" => Ok(Self::Own),
            "shared" => Ok(Self::Shared),
            "all" => Ok(Self::All),
            other => Err(format!("`{other}` is no scope: it is own, shared or all")),
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Shared => "shared",
            Self::All => "all",
        }
    }

    /// Which tabs these are, in words for the person.
    #[must_use]
    pub const fn tabs_in_words(self) -> &'static str {
        match self {
            Self::Own => "the tabs that its programs open",
            Self::Shared => {
                "the tabs that its programs open, and those that you share in the popup"
            }
            Self::All => "every tab",
        }
    }

    /// Whether it is every tab.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether it is less than every tab.
    #[must_use]
    pub const fn is_bounded(self) -> bool {
        !matches!(self, Self::All)
    }
}

impl fmt::Display for TabScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The scopes that a person has chosen for owners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerScopes {
    #[serde(default)]
    owners: BTreeMap<Owner, TabScope>,
}

impl OwnerScopes {
    /// The scope of an owner: every tab, unless a person has chosen another one.
    #[must_use]
    pub fn of(&self, owner: &Owner) -> TabScope {
        self.owners.get(owner).copied().unwrap_or_default()
    }

    /// The scope of an owner on another machine: its own tabs, unless a person has chosen that it sees shared
    /// ones besides. Nobody can choose that it sees every tab.
    #[must_use]
    pub fn of_far(&self, owner: &Owner) -> TabScope {
        let chosen = self.owners.get(owner).copied().unwrap_or(TabScope::Own);
        chosen.min(TabScope::WIDEST_FAR)
    }

    /// The scope of a listed owner.
    #[must_use]
    pub fn of_listed(&self, entry: &OwnerEntry) -> TabScope {
        let owner = entry.owner();
        if entry.kind.is_elsewhere() { self.of_far(&owner) } else { self.of(&owner) }
    }

    /// Chooses the scope of an owner. Returns whether that is a change.
    pub fn choose(&mut self, owner: Owner, scope: TabScope) -> bool {
        self.owners.insert(owner, scope) != Some(scope)
    }

    /// Forgets the choice for an owner. Returns whether there was one.
    pub fn forget(&mut self, owner: &Owner) -> bool {
        self.owners.remove(owner).is_some()
    }

    /// The owners for whom a person has chosen, in the order of their names.
    pub fn chosen(&self) -> impl Iterator<Item = (&Owner, TabScope)> {
        self.owners.iter().map(|(owner, scope)| (owner, *scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_every_tab_until_a_person_chooses_another_scope() {
        let mut scopes = OwnerScopes::default();
        assert_eq!(scopes.of(&"default".into()), TabScope::All);
        assert!(scopes.choose("work".into(), TabScope::Own));
        assert!(!scopes.choose("work".into(), TabScope::Own));
        assert_eq!(scopes.of(&"work".into()), TabScope::Own);
        assert_eq!(scopes.of(&"default".into()), TabScope::All);
        let json = serde_json::to_string(&scopes).unwrap();
        assert_eq!(json, r#"{"owners":{"work":"own"}}"#);
        assert_eq!(serde_json::from_str::<OwnerScopes>(&json).unwrap(), scopes);
    }

    #[test]
    fn an_owner_on_another_machine_sees_its_own_tabs_and_at_most_the_shared_ones() {
        let mut scopes = OwnerScopes::default();
        assert_eq!(scopes.of_far(&"box".into()), TabScope::Own);
        for (chosen, has) in [
            (TabScope::Shared, TabScope::Shared),
            (TabScope::All, TabScope::Shared),
            (TabScope::Own, TabScope::Own),
        ] {
            scopes.choose("box".into(), chosen);
            assert_eq!(scopes.of_far(&"box".into()), has);
        }
    }

    #[test]
    fn a_name_that_is_no_scope_is_refused_with_those_that_are() {
        for scope in [TabScope::Own, TabScope::Shared, TabScope::All] {
            assert_eq!(TabScope::parse(scope.name()), Ok(scope));
        }
        assert!(TabScope::parse("none").unwrap_err().contains("own, shared or all"));
        assert!(serde_json::from_str::<OwnerScopes>(r#"{"owners":{"a":"none"}}"#).is_err());
        assert!(serde_json::from_str::<OwnerScopes>(r#"{"owner":{}}"#).is_err());
    }
}
