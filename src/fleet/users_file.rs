//! The users of a tenant's NATS servers: places and agents with their public keys and permissions, as the one file
//! that the servers read. It has no secret.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use super::keys::{AgentName, PlaceId};
use super::subjects::{HOME_WORD, REPLY_SECONDS, agent_permissions, home_permissions, inbox};
use super::{FleetNameError, SubjectPermissions};

/// How many users the file has at most. With ten times as many a reload takes seconds and most of a gigabyte.
pub const USERS_MAX: usize = 10_000;

/// The first and the last lines. Each user is one line of JSON between them, which is configuration of NATS, too.
const HEAD: &str = "# The users of the NATS servers, written by `tabwire-fleet places`. Change nothing here by hand.\nauthorization {\n  users [\n";
const FOOT: &str = "  ]\n}\n";

/// The user of servers that have no others: an empty list lets everybody in without a key. Nobody has the secret of this
/// one, and it may do nothing.
const NOBODY: &str = "    {\"nkey\":\"UABTKLD7GT24JCT3BKNXMC4SSZSZ7EFNAWHRIP7YDO6EIYAXDDNBLPEQ\",\"permissions\":{\"publish\":{\"deny\":[\">\"]},\"subscribe\":{\"deny\":[\">\"]}}}\n";

/// A place or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetUser {
    /// The home of a place.
    Place {
        /// Its name.
        name: PlaceId,
        /// Its public key.
        nkey: String,
    },
    /// An agent.
    Agent {
        /// Its name.
        name: AgentName,
        /// Its public key.
        nkey: String,
        /// The places that it may use.
        places: BTreeSet<PlaceId>,
    },
}

/// Why the users are not changed or not read.
#[derive(Debug, thiserror::Error)]
pub enum FleetUsersError {
    /// A user has this name.
    #[error(
        "the name {0} is used. `tabwire-fleet places list` shows all; choose another one, or remove that first"
    )]
    Used(Box<str>),
    /// No place has this name.
    #[error(
        "there is no place {0}. `tabwire-fleet places list` shows all; `tabwire-fleet places add {0}` adds it"
    )]
    NoPlace(PlaceId),
    /// Nothing has this name.
    #[error("there is no place and no agent {0}. `tabwire-fleet places list` shows all")]
    Unknown(Box<str>),
    /// There are too many.
    #[error(
        "there are {USERS_MAX} places and agents, and no more can be added. Remove one with `tabwire-fleet places remove NAME`, or set up another folder with servers of its own"
    )]
    TooMany,
    /// The file has a line that is none of ours.
    #[error(
        "line {line} of users.conf is not as `tabwire-fleet places` writes it: {why}. Put a copy of the file back, or correct the line"
    )]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The error in it.
        why: Box<str>,
    },
    /// A name in it is none.
    #[error(transparent)]
    Name(#[from] FleetNameError),
}

impl FleetUser {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Place { name, .. } => name.as_str(),
            Self::Agent { name, .. } => name.as_str(),
        }
    }

    fn nkey(&self) -> &str {
        match self {
            Self::Place { nkey, .. } | Self::Agent { nkey, .. } => nkey,
        }
    }

    fn permissions(&self) -> SubjectPermissions {
        match self {
            Self::Place { name, .. } => home_permissions(name.as_str()),
            Self::Agent { name, places, .. } => {
                agent_permissions(name.as_str(), places.iter().map(PlaceId::as_str))
            }
        }
    }

    fn line(&self) -> UserLine {
        let SubjectPermissions { publish, subscribe, replies } = self.permissions();
        let allow_responses =
            replies.then(|| ResponsePermit { max: 1, expires: format!("{REPLY_SECONDS}s") });
        let permissions = LinePermissions {
            publish: SubjectRule::of(publish),
            subscribe: SubjectRule::of(subscribe),
            allow_responses,
        };
        UserLine { nkey: self.nkey().to_owned(), permissions }
    }
}

/// A user as the file has it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserLine {
    nkey: String,
    permissions: LinePermissions,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinePermissions {
    publish: SubjectRule,
    subscribe: SubjectRule,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allow_responses: Option<ResponsePermit>,
}

/// Which subjects are free, in the server's words.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SubjectRule {
    Allow(Vec<String>),
    Deny(Vec<String>),
}

impl SubjectRule {
    /// To a server an empty list allows everything.
    fn of(allowed: Vec<String>) -> Self {
        if allowed.is_empty() { Self::Deny(vec![">".to_owned()]) } else { Self::Allow(allowed) }
    }

    fn allowed(&self) -> &[String] {
        match self {
            Self::Allow(subjects) => subjects,
            Self::Deny(_) => &[],
        }
    }
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponsePermit {
    max: u32,
    expires: String,
}

/// All users of a tenant's servers, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetUsers(Vec<FleetUser>);

impl FleetUsers {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[FleetUser] {
        &self.0
    }

    /// Adds a place with its public key.
    ///
    /// # Errors
    ///
    /// [`FleetUsersError`]: nothing has changed.
    pub fn add_place(&mut self, name: PlaceId, nkey: String) -> Result<(), FleetUsersError> {
        self.check_new(name.as_str())?;
        self.0.push(FleetUser::Place { name, nkey });
        Ok(())
    }

    /// Lets an agent use these places, besides those that it may use. An agent that is not there is added with the
    /// public key that `new_key` gives. Returns whether it was added.
    ///
    /// # Errors
    ///
    /// [`FleetUsersError`], and those of `new_key`: nothing has changed.
    pub fn grant<E: From<FleetUsersError>>(
        &mut self,
        agent: &AgentName,
        granted: &[PlaceId],
        new_key: impl FnOnce() -> Result<String, E>,
    ) -> Result<bool, E> {
        let is_place = |user: &FleetUser, place: &PlaceId| matches!(user, FleetUser::Place { name, .. } if name == place);
        if let Some(none) =
            granted.iter().find(|place| !self.0.iter().any(|it| is_place(it, place)))
        {
            return Err(FleetUsersError::NoPlace(none.clone()).into());
        }
        for user in &mut self.0 {
            if let FleetUser::Agent { name, places, .. } = user
                && name == agent
            {
                places.extend(granted.iter().cloned());
                return Ok(false);
            }
        }
        self.check_new(agent.as_str())?;
        let (name, nkey, places) = (agent.clone(), new_key()?, granted.iter().cloned().collect());
        self.0.push(FleetUser::Agent { name, nkey, places });
        Ok(true)
    }

    /// Removes a place, which then no agent may use, or an agent. Returns it.
    ///
    /// # Errors
    ///
    /// [`FleetUsersError::Unknown`].
    pub fn remove(&mut self, name: &str) -> Result<FleetUser, FleetUsersError> {
        let at = self.0.iter().position(|user| user.name() == name);
        let removed = self.0.remove(at.ok_or_else(|| FleetUsersError::Unknown(name.into()))?);
        if let FleetUser::Place { name: gone, .. } = &removed {
            for user in &mut self.0 {
                if let FleetUser::Agent { places, .. } = user {
                    places.remove(gone);
                }
            }
        }
        Ok(removed)
    }

    /// One name means one thing: `remove` takes places and agents.
    fn check_new(&self, name: &str) -> Result<(), FleetUsersError> {
        if self.0.iter().any(|user| user.name() == name) {
            return Err(FleetUsersError::Used(name.into()));
        }
        if self.0.len() >= USERS_MAX { Err(FleetUsersError::TooMany) } else { Ok(()) }
    }

    /// The file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        if self.0.is_empty() {
            text += NOBODY;
        }
        for user in &self.0 {
            let line = serde_json::to_string(&user.line()).unwrap_or_default();
            let _ = writeln!(text, "    {line}");
        }
        text + FOOT
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`FleetUsersError::Line`]: it was changed by hand.
    pub fn parse(text: &str) -> Result<Self, FleetUsersError> {
        let (first, last) = (HEAD.lines().count() + 1, text.lines().count());
        let lines = text.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(FOOT));
        let framed = "the first or the last lines differ";
        let lines = lines.ok_or(FleetUsersError::Line { line: last, why: framed.into() })?;
        let lines = if lines == NOBODY { "" } else { lines };
        let mut users = Self::default();
        for (at, line) in lines.lines().enumerate() {
            let bad = |why: String| FleetUsersError::Line { line: first + at, why: why.into() };
            let read: UserLine =
                serde_json::from_str(line.trim()).map_err(|why| bad(why.to_string()))?;
            let user = user_of(&read).ok_or_else(|| bad("it has other permissions".to_owned()))?;
            users.check_new(user.name()).map_err(|why| bad(why.to_string()))?;
            users.0.push(user);
        }
        Ok(users)
    }
}

/// The user of a line; `None`: its key is none, or its permissions are not exactly those of a place or an agent.
fn user_of(line: &UserLine) -> Option<FleetUser> {
    let nkey = KeyPair::from_public_key(&line.nkey).ok()?.public_key();
    let LinePermissions { publish, subscribe, .. } = &line.permissions;
    let home_word = inbox(HOME_WORD);
    let owner = subscribe.allowed().last()?.strip_suffix(".>")?;
    let user = match owner.strip_prefix(&home_word).and_then(|rest| rest.strip_prefix('.')) {
        Some(place) => FleetUser::Place { name: place.parse().ok()?, nkey },
        None => {
            let name: AgentName = owner.rsplit('.').next()?.parse().ok()?;
            let places = publish.allowed().iter().filter_map(|subject| {
                subject.strip_prefix("tw.call.")?.split('.').next()?.parse().ok()
            });
            FleetUser::Agent { name, nkey, places: places.collect() }
        }
    };
    (user.line() == *line).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::NkeySeed;

    fn key() -> String {
        NkeySeed::generate().unwrap().public()
    }

    fn place(name: &str) -> PlaceId {
        name.parse().unwrap()
    }

    fn grant(
        users: &mut FleetUsers,
        agent: &str,
        places: &[&str],
    ) -> Result<bool, FleetUsersError> {
        let places: Vec<_> = places.iter().map(|name| place(name)).collect();
        users.grant(&agent.parse().unwrap(), &places, || Ok::<_, FleetUsersError>(key()))
    }

    fn some() -> FleetUsers {
        let mut users = FleetUsers::default();
        for name in ["qa-17", "qa-18", "dev"] {
            users.add_place(place(name), key()).unwrap();
        }
        assert!(grant(&mut users, "ci", &["qa-18", "qa-17"]).unwrap());
        assert!(grant(&mut users, "ann", &["dev"]).unwrap());
        users
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        for users in [FleetUsers::default(), some()] {
            assert_eq!(FleetUsers::parse(&users.to_text()).unwrap(), users);
        }
        let text = some().to_text();
        assert!(text.contains(r#""allow":["tw.call.qa-17.ci","tw.at.qa-17.*.ci","#), "{text}");
        assert!(text.contains(r#""allow_responses":{"max":1,"expires":"30s"}"#), "{text}");
    }

    #[test]
    fn a_name_is_used_once_and_only_places_that_are_there_are_granted() {
        let mut users = some();
        let before = users.clone();
        for name in ["qa-17", "ci"] {
            let why = users.add_place(place(name), key()).unwrap_err();
            assert!(matches!(why, FleetUsersError::Used(_)), "{why}");
        }
        assert!(matches!(grant(&mut users, "qa-17", &["dev"]), Err(FleetUsersError::Used(_))));
        for agent in ["ci", "new"] {
            let why = grant(&mut users, agent, &["dev", "qa-19"]).unwrap_err();
            assert!(why.to_string().contains("places add qa-19"), "{why}");
        }
        // An agent is no place.
        assert!(matches!(grant(&mut users, "new", &["ann"]), Err(FleetUsersError::NoPlace(_))));
        assert_eq!(users, before);
        assert!(!grant(&mut users, "ci", &["dev", "qa-17"]).unwrap(), "its key stays");
        let FleetUser::Agent { places, .. } = &users.all()[3] else { panic!("{users:?}") };
        assert_eq!(
            places.iter().map(PlaceId::as_str).collect::<Vec<_>>(),
            ["dev", "qa-17", "qa-18"]
        );
    }

    #[test]
    fn a_removed_place_is_granted_to_nobody_and_an_agent_without_one_may_publish_nothing() {
        let mut users = some();
        users.remove("dev").unwrap();
        let text = users.to_text();
        assert!(
            !text.contains("tw.call.dev") && text.contains(r#""publish":{"deny":[">"]}"#),
            "{text}"
        );
        assert_eq!(FleetUsers::parse(&text).unwrap(), users);
        users.add_place(place("dev"), key()).unwrap();
        assert!(
            !users.to_text().contains("tw.call.dev.ann"),
            "a new place of the name is not ann's"
        );
        assert!(matches!(users.remove("none"), Err(FleetUsersError::Unknown(_))));
        users.remove("ci").unwrap();
        assert!(!users.to_text().contains("ci"));
    }

    #[test]
    fn there_are_ten_thousand_users_at_most() {
        let nkey = key();
        let mut users = FleetUsers::default();
        for number in 0..USERS_MAX {
            users
                .0
                .push(FleetUser::Place { name: place(&format!("p{number}")), nkey: nkey.clone() });
        }
        let why = users.add_place(place("more"), key()).unwrap_err().to_string();
        assert!(why.contains("places remove NAME"), "{why}");
        assert!(matches!(grant(&mut users, "ci", &["p1"]), Err(FleetUsersError::TooMany)));
    }

    #[test]
    fn a_file_that_was_changed_by_hand_is_refused_with_the_line() {
        let text = some().to_text();
        for (from, to) in [
            ("tw.call.qa-17.ci", "tw.call.*.ci"),
            ("tw.at.qa-18.>", ">"),
            ("\"max\":1", "\"max\":9"),
            ("_INBOX.ann.>", "_INBOX.>"),
            ("    {", "    [{"),
            ("  ]\n}", "  ]\n  }"),
            ("users [", "users ["),
            ("\"nkey\":\"U", "\"nkey\":\"X"),
        ] {
            let changed = text.replacen(from, to, 1);
            let read = FleetUsers::parse(&changed);
            assert_eq!(read.is_err(), changed != text, "{from} -> {to}");
            if let Err(why) = read {
                assert!(why.to_string().contains("of users.conf"), "{why}");
            }
        }
        let twice = text.replace("_INBOX.ann.>", "_INBOX.ci.>").replace(".ann\"", ".ci\"");
        assert!(FleetUsers::parse(&twice).unwrap_err().to_string().contains("is used"));
    }
}
