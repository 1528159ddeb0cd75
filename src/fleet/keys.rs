//! The keys by which agents and places are known to the NATS servers of a tenant: files and lines of text that hold
//! a secret.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use async_nats::ServerAddr;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::{KeyPair, KeyPairType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::subjects::HOME_WORD;
use crate::home::write_private;
use crate::os::{self, FileAccess};
use crate::protocol::is_place_name;

/// The version of the files and lines.
const VERSION: u64 = 1;

/// The most bytes of a file or line: room for several certificates of authorities.
pub const KEY_BYTES_MAX: u64 = 64 * 1024;

/// How many servers a key names at most.
const SERVERS_MAX: usize = 16;

/// How a line with the key of a place begins.
const JOIN_LINE: &str = "tabwire-join:";

/// A text that is no name, and of which kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid {kind} `{text}`: use 1 to 40 letters a-z, digits and -, with none of - at the beginning; `home` is none"
)]
pub struct FleetNameError {
    kind: &'static str,
    text: String,
}

/// A name that stands in subjects, so it has no dot, star or blank.
macro_rules! name_in_subjects {
    ($(#[$doc:meta])+ $name:ident, $kind:literal) => {
        $(#[$doc])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Box<str>);

        impl $name {
            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = FleetNameError;

            fn from_str(text: &str) -> Result<Self, FleetNameError> {
                // One rule for all three: homes look for each other under this word.
                if is_place_name(text) && text != HOME_WORD {
                    return Ok(Self(text.into()));
                }
                Err(FleetNameError { kind: $kind, text: text.chars().take(80).collect() })
            }
        }

        impl TryFrom<String> for $name {
            type Error = FleetNameError;

            fn try_from(text: String) -> Result<Self, FleetNameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_in_subjects! {
    /// The name of a place: one daemon with its browsers. 1 to 40 letters a-z, digits and `-`.
    PlaceId, "name of a place"
}

name_in_subjects! {
    /// The name of a tenant: the team whose NATS servers carry the calls. As a place's.
    TenantName, "name of a tenant"
}

name_in_subjects! {
    /// The name of an agent among those of its tenant. As a place's.
    AgentName, "name of an agent"
}

/// The address of a NATS server, without a user and a password: keys are no part of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NatsAddress {
    host: Box<str>,
    port: u16,
}

/// A text that is no address of a NATS server. Not with the text: it may have a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NatsAddressError {
    /// There is a user or a password in it.
    #[error(
        "the address of a NATS server has a user or a password in it. Take it out: the key of a place or an agent is in its file alone"
    )]
    Password,
    /// It has another form.
    #[error("the address of a NATS server has the form nats://HOST:PORT or HOST:PORT")]
    Form,
}

impl NatsAddress {
    /// Its host: a name or a number.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether the server is on this machine. Any other one is spoken to by TLS alone.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let number = self.host.trim_start_matches('[').trim_end_matches(']');
        let number = number.parse::<std::net::IpAddr>();
        number.map_or(&*self.host == "localhost", |number| number.is_loopback())
    }
}

impl FromStr for NatsAddress {
    type Err = NatsAddressError;

    fn from_str(text: &str) -> Result<Self, NatsAddressError> {
        if text.contains('@') {
            return Err(NatsAddressError::Password);
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        let address: ServerAddr = text.parse().map_err(|_| NatsAddressError::Form)?;
        let url = address.into_inner();
        if !url.username().is_empty() || url.password().is_some() {
            return Err(NatsAddressError::Password);
        }
        let is_plain = matches!(url.path(), "" | "/") && url.query().is_none();
        let is_nats = matches!(url.scheme(), "nats" | "tls") && url.fragment().is_none();
        let host = url.host_str().filter(|host| !host.is_empty() && is_plain && is_nats);
        let host = host.ok_or(NatsAddressError::Form)?.into();
        Ok(Self { host, port: url.port().unwrap_or(DEFAULT_NATS_PORT) })
    }
}

/// The port of NATS servers unless an address names another one.
const DEFAULT_NATS_PORT: u16 = 4222;

impl fmt::Display for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nats://{}:{}", self.host, self.port)
    }
}

impl TryFrom<String> for NatsAddress {
    type Error = NatsAddressError;

    fn try_from(text: String) -> Result<Self, NatsAddressError> {
        text.parse()
    }
}

impl From<NatsAddress> for String {
    fn from(address: NatsAddress) -> Self {
        address.to_string()
    }
}

/// The servers of a tenant, and how a client makes sure that it speaks to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantServers {
    /// Their addresses: 1 to 16.
    pub addresses: Vec<NatsAddress>,
    /// The certificates of the authorities that vouch for them, as PEM; `None`: those of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The name that the certificate of each must have; `None`: the host of its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl TenantServers {
    /// Whether one of them is on another machine, so that TLS is required for all.
    #[must_use]
    pub fn require_tls(&self) -> bool {
        self.addresses.iter().any(|address| !address.is_loopback())
    }

    /// Whether they are spoken to by TLS: it is required, or the key names who vouches for them.
    #[must_use]
    pub fn needs_tls(&self) -> bool {
        self.require_tls() || self.ca.is_some()
    }
}

/// The secret half of a key of NATS. It is in no debug output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NkeySeed(Box<str>);

impl NkeySeed {
    /// A new one.
    ///
    /// # Errors
    ///
    /// In words: no key could be made.
    pub fn generate() -> Result<Self, String> {
        let seed = KeyPair::new_user().seed().map_err(|why| format!("cannot make a key: {why}"))?;
        seed.try_into()
    }

    /// The secret, as the client of NATS takes it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The public half, which servers know.
    #[must_use]
    pub fn public(&self) -> String {
        // A seed that cannot be read is never kept.
        KeyPair::from_seed(&self.0).map(|pair| pair.public_key()).unwrap_or_default()
    }
}

impl TryFrom<String> for NkeySeed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_user = |pair: &KeyPair| matches!(pair.key_pair_type(), KeyPairType::User);
        let pair = KeyPair::from_seed(&text).ok().filter(is_user);
        // Not with the text, which is somebody's secret.
        pair.ok_or("`seed` is no secret key of a user of NATS")?;
        Ok(Self(text.into()))
    }
}

impl From<NkeySeed> for String {
    fn from(seed: NkeySeed) -> Self {
        seed.0.into()
    }
}

impl fmt::Debug for NkeySeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The key of an agent: the owner as which it calls, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentKey {
    /// The team whose servers these are.
    pub tenant: TenantName,
    /// The name of the agent.
    pub owner: AgentName,
    /// The servers.
    pub servers: TenantServers,
    /// Its secret.
    pub seed: NkeySeed,
}

/// The key of a place: its home takes calls with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceKey {
    /// The team whose servers these are.
    pub tenant: TenantName,
    /// The name of the place.
    pub place: PlaceId,
    /// The servers.
    pub servers: TenantServers,
    /// Its secret.
    pub seed: NkeySeed,
}

/// Why a key cannot be read or written. No message has any part of the key.
#[derive(Debug, thiserror::Error)]
pub enum FleetKeyError {
    /// The file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a link, a folder or no usual file.
    #[error("{0} is no file but a link or something else. Name the file itself")]
    NoFile(PathBuf),
    /// Others may read it.
    #[error("{path} is open to others ({found}), and holds a secret. Close it with: {remedy}")]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        found: String,
        /// The command that closes it.
        remedy: String,
    },
    /// It is another user's.
    #[error(
        "{path} belongs to another user ({owner}). Copy it to a file of your own with mode 600"
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: String,
    },
    /// The text is no such key.
    #[error("this is no key of {kind}: {why}. Ask the operator for a new one")]
    Text {
        /// Whose key it should be.
        kind: &'static str,
        /// The error in it.
        why: Box<str>,
    },
    /// It is of another version.
    #[error(
        "this key has the format {0}, and this program reads format {VERSION}. Use the version of tabwire-fleet that the operator has"
    )]
    Version(u64),
    /// An address has a password in it, or is none.
    #[error(transparent)]
    Address(#[from] NatsAddressError),
}

/// A key with the word of its kind, which tells the file of an agent from that of a place.
trait FleetKey: DeserializeOwned + Serialize {
    const KIND: &'static str;
    const WHOSE: &'static str;
    fn servers(&self) -> &TenantServers;
}

impl FleetKey for AgentKey {
    const KIND: &'static str = "agent";
    const WHOSE: &'static str = "an agent (`tabwire-fleet places grant` writes it)";
    fn servers(&self) -> &TenantServers {
        &self.servers
    }
}

impl FleetKey for PlaceKey {
    const KIND: &'static str = "place";
    const WHOSE: &'static str = "a place (`tabwire-fleet places add` writes it)";
    fn servers(&self) -> &TenantServers {
        &self.servers
    }
}

impl AgentKey {
    /// Reads the file of an agent.
    ///
    /// # Errors
    ///
    /// [`FleetKeyError`].
    pub fn read(path: &Path) -> Result<Self, FleetKeyError> {
        parse(&read_secret(path)?)
    }

    /// Writes a new file that only its owner can read.
    ///
    /// # Errors
    ///
    /// [`FleetKeyError::Io`]; among others, that there is one.
    pub fn write_new(&self, path: &Path) -> Result<(), FleetKeyError> {
        write_secret(path, &text_of(self))
    }
}

impl PlaceKey {
    /// Reads the file of a place.
    ///
    /// # Errors
    ///
    /// [`FleetKeyError`].
    pub fn read(path: &Path) -> Result<Self, FleetKeyError> {
        Self::parse(&read_secret(path)?)
    }

    /// Reads a line, or the text of a file.
    ///
    /// # Errors
    ///
    /// [`FleetKeyError`].
    pub fn parse(text: &str) -> Result<Self, FleetKeyError> {
        let text = text.trim();
        let Some(line) = text.strip_prefix(JOIN_LINE) else { return parse(text) };
        let cut_off = "the line is not whole, or has other characters in it";
        let bytes = URL_SAFE_NO_PAD.decode(line).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        parse(&text.ok_or_else(|| no_key::<Self>(cut_off))?)
    }

    /// Whether a text looks like such a line: a secret that belongs in no arguments.
    #[must_use]
    pub fn is_line(text: &str) -> bool {
        text.trim_start().starts_with(JOIN_LINE)
    }

    /// The key as one line, which `tabwire-fleet join` reads from a terminal.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{JOIN_LINE}{}", URL_SAFE_NO_PAD.encode(text_of(self)))
    }

    /// Writes the line to a new file that only its owner can read.
    ///
    /// # Errors
    ///
    /// [`FleetKeyError::Io`]; among others, that there is one.
    pub fn write_new(&self, path: &Path) -> Result<(), FleetKeyError> {
        write_secret(path, &self.line())
    }
}

fn no_key<K: FleetKey>(why: &str) -> FleetKeyError {
    FleetKeyError::Text { kind: K::WHOSE, why: why.into() }
}

fn text_of<K: FleetKey>(key: &K) -> String {
    let mut text = Map::new();
    text.insert("version".to_owned(), VERSION.into());
    text.insert("kind".to_owned(), K::KIND.into());
    if let Ok(Value::Object(fields)) = serde_json::to_value(key) {
        text.extend(fields);
    }
    Value::Object(text).to_string()
}

fn parse<K: FleetKey>(text: &str) -> Result<K, FleetKeyError> {
    // No words of the parser: they could have a part of the secret in them.
    let fields = serde_json::from_str::<Map<String, Value>>(text);
    let mut fields = fields.map_err(|_| no_key::<K>("it is no JSON object"))?;
    match fields.remove("version").as_ref().and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => return Err(FleetKeyError::Version(other)),
        None => return Err(no_key::<K>("it has no `version`")),
    }
    if fields.remove("kind").as_ref().and_then(Value::as_str) != Some(K::KIND) {
        return Err(no_key::<K>("it is the key of something else"));
    }
    check_addresses(&fields)?;
    let key = serde_json::from_value::<K>(Value::Object(fields));
    let key =
        key.map_err(|_| no_key::<K>("a field of it is missing, unknown or has a wrong value"))?;
    if !(1..=SERVERS_MAX).contains(&key.servers().addresses.len()) {
        return Err(no_key::<K>("it names no server, or more than 16"));
    }
    Ok(key)
}

/// The addresses have errors of their own, which name the next step.
fn check_addresses(fields: &Map<String, Value>) -> Result<(), NatsAddressError> {
    let addresses = fields.get("servers").and_then(|servers| servers["addresses"].as_array());
    for address in addresses.into_iter().flatten().filter_map(Value::as_str) {
        address.parse::<NatsAddress>()?;
    }
    Ok(())
}

/// Reads a file that only its owner may read.
fn read_secret(path: &Path) -> Result<String, FleetKeyError> {
    let io = |source| FleetKeyError::Io { path: path.to_owned(), source };
    if !fs::symlink_metadata(path).map_err(io)?.is_file() {
        return Err(FleetKeyError::NoFile(path.to_owned()));
    }
    let file = os::open_regular(path).map_err(io)?;
    let path_of = || path.to_owned();
    match os::access(path).map_err(io)? {
        FileAccess::OwnerOnly => {}
        FileAccess::Open { found, remedy } => {
            return Err(FleetKeyError::OpenToOthers { path: path_of(), found, remedy });
        }
        FileAccess::Foreign { owner } => {
            return Err(FleetKeyError::NotOurs { path: path_of(), owner });
        }
    }
    let mut text = String::new();
    file.take(KEY_BYTES_MAX).read_to_string(&mut text).map_err(io)?;
    Ok(text)
}

fn write_secret(path: &Path, text: &str) -> Result<(), FleetKeyError> {
    write_private(path, format!("{text}\n").as_bytes())
        .map_err(|source| FleetKeyError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::{chmod, symlink};

    fn servers(address: &str) -> TenantServers {
        TenantServers { addresses: vec![address.parse().unwrap()], ca: None, name: None }
    }

    fn place_key() -> PlaceKey {
        PlaceKey {
            tenant: "acme".parse().unwrap(),
            place: "qa-17".parse().unwrap(),
            servers: servers("nats://127.0.0.1:4222"),
            seed: NkeySeed::generate().unwrap(),
        }
    }

    fn agent_key() -> AgentKey {
        let PlaceKey { tenant, servers, seed, .. } = place_key();
        AgentKey { tenant, owner: "ci".parse().unwrap(), servers, seed }
    }

    #[test]
    fn a_name_has_no_character_that_means_something_in_a_subject() {
        for name in ["a", "qa-17", "7", &"x".repeat(40)] {
            assert_eq!(name.parse::<PlaceId>().unwrap().as_str(), name);
        }
        let long = "x".repeat(41);
        for wrong in ["", "A", "a.b", "a*", ">", "a b", "-a", "a_b", "é", "home", &long] {
            assert!(wrong.parse::<PlaceId>().is_err(), "{wrong}");
            assert!(wrong.parse::<TenantName>().is_err(), "{wrong}");
            let why = wrong.parse::<AgentName>().unwrap_err().to_string();
            assert!(why.contains("use 1 to 40 letters a-z"), "{why}");
        }
    }

    #[test]
    fn an_address_has_no_password_and_says_whether_tls_is_required() {
        for (text, shown, near) in [
            ("127.0.0.1:4222", "nats://127.0.0.1:4222", true),
            ("localhost:9", "nats://localhost:9", true),
            ("nats://[::1]:4222", "nats://[::1]:4222", true),
            ("nats://nats.acme.example", "nats://nats.acme.example:4222", false),
            ("tls://10.0.0.7:4222/", "nats://10.0.0.7:4222", false),
            ("localhost.acme.example:1", "nats://localhost.acme.example:1", false),
        ] {
            let address: NatsAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.is_loopback()), (shown, near));
            assert_eq!(servers(text).require_tls(), !near);
        }
        for wrong in ["nats://ann:pw@host:1", "ann@host", "nats://:pw@host", "tls://token@h:1"] {
            let refused = wrong.parse::<NatsAddress>().unwrap_err();
            assert_eq!(refused, NatsAddressError::Password, "{wrong}");
            assert!(!refused.to_string().contains("pw"));
        }
        for wrong in ["", "http://host:1", "ws://host:1", "nats://host:1/path", "nats://host?x=1"] {
            assert_eq!(wrong.parse::<NatsAddress>(), Err(NatsAddressError::Form), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_read_as_it_was_written_from_a_file_and_from_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let (place, agent) = (place_key(), agent_key());
        let [place_file, agent_file] = ["place", "agent"].map(|name| dir.path().join(name));
        place.write_new(&place_file).unwrap();
        agent.write_new(&agent_file).unwrap();
        assert_eq!(crate::os::testing::mode(&place_file) & 0o777, 0o600);
        assert_eq!(PlaceKey::read(&place_file).unwrap(), place);
        assert_eq!(AgentKey::read(&agent_file).unwrap(), agent);
        assert_eq!(PlaceKey::parse(&format!(" {}\r\n", place.line())).unwrap(), place);
        assert!(place.seed.public().starts_with('U'));
        let why = place.write_new(&place_file).unwrap_err().to_string();
        assert!(why.contains("exists"), "{why}");
        let other = AgentKey::read(&place_file).unwrap_err().to_string();
        assert!(other.contains("no key of an agent") && other.contains("places grant"), "{other}");
    }

    #[test]
    fn a_secret_is_in_no_debug_output_and_in_no_error() {
        let key = place_key();
        let seed = key.seed.expose();
        assert!(!format!("{key:?}").contains(seed));
        let text = text_of(&key);
        for wrong in [
            text.replace("\"seed\":\"S", "\"seed\":\"X"),
            text.replace("\"place\"", "\"pl\""),
            text.replace(seed, &format!("{seed}{seed}")),
            text.replacen('{', "", 1),
            text.replace("\"qa-17\"", &format!("{seed:?}")),
        ] {
            let why = PlaceKey::parse(&wrong).unwrap_err().to_string();
            assert!(!why.contains(&seed[4..]) && why.contains("Ask the operator"), "{why}");
        }
    }

    #[test]
    fn a_key_of_another_version_or_with_a_password_in_the_address_is_refused() {
        let text = text_of(&place_key());
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert!(matches!(PlaceKey::parse(&newer), Err(FleetKeyError::Version(2))));
        let password = text.replace("nats://127", "nats://ann:pw@127");
        let line = format!("{JOIN_LINE}{}", URL_SAFE_NO_PAD.encode(password));
        let why = PlaceKey::parse(&line).unwrap_err();
        assert!(matches!(why, FleetKeyError::Address(NatsAddressError::Password)), "{why}");
        let none = text.replace("\"nats://127.0.0.1:4222\"", "");
        assert!(PlaceKey::parse(&none).unwrap_err().to_string().contains("no server"));
        let half = &place_key().line()[..60];
        assert!(PlaceKey::parse(half).unwrap_err().to_string().contains("Ask the operator"));
    }

    #[test]
    fn a_file_that_others_can_read_or_that_is_a_link_is_refused_with_the_next_step() {
        let dir = tempfile::tempdir().unwrap();
        let [path, link] = ["key", "link"].map(|name| dir.path().join(name));
        agent_key().write_new(&path).unwrap();
        symlink(&path, &link).unwrap();
        let why = AgentKey::read(&link).unwrap_err().to_string();
        assert!(why.contains("Name the file itself"), "{why}");
        for mode in [0o640, 0o604, 0o620] {
            chmod(&path, mode).unwrap();
            let why = AgentKey::read(&path).unwrap_err().to_string();
            assert!(why.contains("chmod 600"), "{mode:o}: {why}");
        }
        chmod(&path, 0o600).unwrap();
        assert!(AgentKey::read(&path).is_ok());
        let none = AgentKey::read(&dir.path().join("none")).unwrap_err().to_string();
        assert!(none.contains("cannot use") && none.contains("none"), "{none}");
    }
}
