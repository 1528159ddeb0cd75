//! Keys and proofs: everything that is derived from the one secret, `auth.key`. No IO.
//!
//! The bytes are part of the protocol (`docs/protocol.md`), so that another
//! implementation can speak it; `tests/fixtures/auth.json` has vectors that were
//! computed independently. Everything on the wire is base64url without padding.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

pub use crate::protocol::DEFAULT_OWNER;
use crate::protocol::{InstanceId, Owner};

/// The length of keys and nonces, in bytes.
pub const KEY_LENGTH: usize = 32;

/// The daemon's secret, from which all others are derived.
pub struct AuthKey([u8; KEY_LENGTH]);

/// The key that the daemon shares with one extension.
pub struct ExtensionKey([u8; KEY_LENGTH]);

/// The first line of every proof, so that no proof of another protocol version is valid here.
const PROOF_VERSION: &str = "tabwire 2";

/// What a handshake's proofs cover on both sides.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeTranscript<'a> {
    /// The port that the extension has dialled, and that the daemon listens on. With it a program
    /// on another port cannot pass the proofs of one side on to the other.
    pub port: u16,
    /// The daemon's nonce.
    pub challenge: &'a str,
    /// The extension's nonce.
    pub hello: &'a str,
    /// The run of the extension's worker.
    pub instance: &'a InstanceId,
}

impl AuthKey {
    /// A new secret.
    #[must_use]
    pub fn generate() -> Self {
        Self(random())
    }

    /// The secret with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        Self(bytes)
    }

    /// The secret's bytes, for the file that keeps it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; KEY_LENGTH] {
        &self.0
    }

    /// The key that the daemon shares with the extension of this id.
    #[must_use]
    pub fn extension_key(&self, extension_id: &str) -> ExtensionKey {
        ExtensionKey(self.derive(&format!("tabwire ext {extension_id}")))
    }

    /// The bearer token of an owner. The default owner's is a bare key; another's
    /// carries its name before a dot, so that the daemon knows whose to expect. The generation of
    /// an owner that has one is in the key: the token of a removed owner never counts again.
    #[must_use]
    pub fn token(&self, owner: &Owner) -> String {
        if owner.as_str() == DEFAULT_OWNER {
            return encode(&self.derive("tabwire mcp"));
        }
        let name = owner.name();
        let info = owner.generation().map_or_else(
            || format!("tabwire mcp {name}"),
            |generation| format!("tabwire mcp {name} {generation}"),
        );
        format!("{name}.{}", encode(&self.derive(&info)))
    }

    /// Whether a token is this owner's. The comparison takes constant time.
    #[must_use]
    pub fn is_token_of(&self, owner: &Owner, token: &str) -> bool {
        same(&self.token(owner), token)
    }

    /// The key with which `tabwire open` asks for a code. It is no token of an owner: a program that has
    /// one sees less than the dashboard shows.
    #[must_use]
    pub fn dashboard_key(&self) -> String {
        encode(&self.derive("tabwire dashboard"))
    }

    /// The token with which a collector of metrics reads them. It opens nothing else.
    #[must_use]
    pub fn metrics_token(&self) -> String {
        encode(&self.derive("tabwire metrics"))
    }

    /// The owner of a token without a generation, if it is that. All wrong tokens of one form take
    /// the same time, so that time gives nothing away.
    #[must_use]
    pub fn owner_of(&self, token: &str) -> Option<Owner> {
        let owner = valid_owner(owner_named_by(token))?;
        self.is_token_of(&owner, token).then_some(owner)
    }

    fn derive(&self, info: &str) -> [u8; KEY_LENGTH] {
        let mut key = [0; KEY_LENGTH];
        Hkdf::<Sha256>::new(None, &self.0)
            .expand(info.as_bytes(), &mut key)
            .expect("32 bytes are a valid length for HKDF-SHA256");
        key
    }
}

/// An owner's name: 1 to 64 letters, digits, `-` or `_`.
#[must_use]
pub fn valid_owner(name: &str) -> Option<Owner> {
    Owner::is_name(name).then(|| name.into())
}

/// The name that a token carries. It proves nothing.
#[must_use]
pub fn owner_named_by(token: &str) -> &str {
    token.split_once('.').map_or(DEFAULT_OWNER, |(name, _)| name)
}

impl ExtensionKey {
    /// The key as `config.json` carries it.
    #[must_use]
    pub fn encoded(&self) -> String {
        encode(&self.0)
    }

    /// The proof in `hello` that the extension holds the key.
    #[must_use]
    pub fn hello_mac(&self, said: HandshakeTranscript<'_>) -> String {
        self.mac("extension", said, &[])
    }

    /// The proof in `welcome` that the daemon holds the key.
    #[must_use]
    pub fn welcome_mac(&self, said: HandshakeTranscript<'_>, epoch: &str) -> String {
        self.mac("daemon", said, &[epoch])
    }

    /// Whether the proof in `hello` is valid. The comparison takes constant time.
    #[must_use]
    pub fn proves_hello(&self, said: HandshakeTranscript<'_>, mac: &str) -> bool {
        same(&self.hello_mac(said), mac)
    }

    fn mac(&self, role: &str, said: HandshakeTranscript<'_>, more: &[&str]) -> String {
        let HandshakeTranscript { port, challenge, hello, instance } = said;
        let port = port.to_string();
        let lines = [PROOF_VERSION, role, &port, challenge, hello, instance.as_str()];
        let lines = [&lines, more].concat().join("\n");
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes any key length");
        mac.update(lines.as_bytes());
        encode(&mac.finalize().into_bytes())
    }
}

/// A nonce as it stands on the wire.
#[must_use]
pub fn nonce() -> String {
    encode(&random::<KEY_LENGTH>())
}

/// A hash to look a secret up by, without storing the secret.
#[must_use]
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Random bytes in hexadecimal: `N` bytes give 2 × `N` digits.
#[must_use]
pub fn random_hex<const N: usize>() -> String {
    hex(&random::<N>())
}

/// Makes names that nobody can guess: a keyed hash of a counter. The same seed gives the same names,
/// so the proofs can repeat a run.
pub struct NameSource {
    keyed: Hmac<Sha256>,
    count: u64,
}

impl NameSource {
    /// Names from this seed.
    #[must_use]
    pub fn seeded(seed: &[u8; KEY_LENGTH]) -> Self {
        let keyed = Hmac::new_from_slice(seed).expect("HMAC takes a key of any length");
        Self { keyed, count: 0 }
    }

    /// Names from a seed that nobody knows.
    #[must_use]
    pub fn generate() -> Self {
        Self::seeded(&random())
    }

    /// The next name: 64 hexadecimal digits.
    pub fn next_name(&mut self) -> String {
        self.count += 1;
        let mut mac = self.keyed.clone();
        mac.update(&self.count.to_be_bytes());
        hex(&mac.finalize().into_bytes())
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 0xf)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness; without it nothing is safe");
    bytes
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

impl fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthKey(…)")
    }
}

impl fmt::Debug for NameSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The seed gives away all names.
        f.write_str("NameSource(…)")
    }
}

impl fmt::Debug for ExtensionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExtensionKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::*;
    use crate::protocol::garbled;

    fn vectors() -> Vec<serde_json::Value> {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../tests/fixtures/auth.json")).unwrap();
        file["vectors"].as_array().unwrap().clone()
    }

    fn auth_key(vector: &serde_json::Value) -> AuthKey {
        let bytes = URL_SAFE_NO_PAD.decode(vector["auth_key"].as_str().unwrap()).unwrap();
        AuthKey::from_bytes(bytes.try_into().unwrap())
    }

    #[test]
    fn keys_tokens_and_proofs_equal_the_independent_vectors() {
        for vector in vectors() {
            let text = |field: &str| vector[field].as_str().unwrap().to_owned();
            let auth = auth_key(&vector);
            let key = auth.extension_key(&text("extension_id"));
            let instance = InstanceId::from(text("instance_id"));
            let (challenge, hello) = (text("challenge_nonce"), text("hello_nonce"));
            assert_eq!(key.encoded(), text("ext_key"));
            assert_eq!(auth.token(&DEFAULT_OWNER.into()), text("token"));
            assert_eq!(
                auth.token(&text("owner").into()),
                format!("{}.{}", text("owner"), text("owner_token"))
            );
            let listed = Owner::of_generation(&text("owner"), &text("generation"));
            assert_eq!(
                auth.token(&listed),
                format!("{}.{}", text("owner"), text("generation_token"))
            );
            let port = vector["port"].as_u64().unwrap().try_into().unwrap();
            let (challenge, hello) = (challenge.as_str(), hello.as_str());
            let said = HandshakeTranscript { port, challenge, hello, instance: &instance };
            assert_eq!(key.hello_mac(said), text("hello_mac"));
            assert_eq!(key.welcome_mac(said, &text("epoch")), text("welcome_mac"));
            assert!(key.proves_hello(said, &text("hello_mac")));
        }
    }

    #[test]
    fn a_proof_for_another_port_role_nonce_instance_or_key_is_none() {
        let vector = &vectors()[0];
        let text = |field: &str| vector[field].as_str().unwrap().to_owned();
        let (challenge, hello, mac) =
            (text("challenge_nonce"), text("hello_nonce"), text("hello_mac"));
        let instance = InstanceId::from(text("instance_id"));
        let key = auth_key(vector).extension_key(&text("extension_id"));
        let (challenge, hello) = (challenge.as_str(), hello.as_str());
        let said = HandshakeTranscript { port: 7890, challenge, hello, instance: &instance };
        assert!(key.proves_hello(said, &mac));
        for wrong in [
            HandshakeTranscript { port: 7891, ..said },
            HandshakeTranscript { challenge: hello, ..said },
            HandshakeTranscript { hello: challenge, ..said },
            HandshakeTranscript { instance: &"other".into(), ..said },
        ] {
            assert!(!key.proves_hello(wrong, &mac), "{wrong:?}");
            assert_ne!(key.welcome_mac(wrong, "e"), key.welcome_mac(said, "e"), "{wrong:?}");
        }
        assert!(!key.proves_hello(said, ""));
        assert!(!key.proves_hello(said, &key.welcome_mac(said, "e")), "the other side's");
        let other = auth_key(vector).extension_key("aaaabbbbccccddddaaaabbbbccccdddd");
        assert!(!other.proves_hello(said, &mac));
    }

    #[test]
    fn a_token_tells_its_owner_and_nobody_elses_passes() {
        let auth = AuthKey::generate();
        let (user, ci) = (Owner::from(DEFAULT_OWNER), Owner::from("ci"));
        assert_eq!(auth.owner_of(&auth.token(&user)), Some(user.clone()));
        assert_eq!(auth.owner_of(&auth.token(&ci)), Some(ci.clone()));
        let forged = auth.token(&ci).replacen("ci", "cd", 1);
        assert_eq!(auth.owner_of(&forged), None);
        assert_eq!(auth.owner_of(&format!("ci.{}", auth.token(&user))), None);
        assert_eq!(AuthKey::generate().owner_of(&auth.token(&user)), None);
        assert_eq!(auth.owner_of(""), None);
        assert_eq!(auth.owner_of(".x"), None);
    }

    #[test]
    fn the_token_of_one_generation_is_none_of_another_and_none_without() {
        let auth = AuthKey::generate();
        let [first, second] = ["01", "02"].map(|it| Owner::of_generation("ci", it));
        let token = auth.token(&first);
        assert!(auth.is_token_of(&first, &token));
        assert!(!auth.is_token_of(&second, &token) && !auth.is_token_of(&"ci".into(), &token));
        assert_eq!(owner_named_by(&token), "ci");
        assert_eq!(auth.owner_of(&token), None);
        assert!(!auth.is_token_of(&first, &auth.token(&"ci".into())));
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let auth = AuthKey::generate();
        assert_eq!(format!("{auth:?}"), "AuthKey(…)");
        assert_eq!(format!("{:?}", auth.extension_key("x")), "ExtensionKey(…)");
    }

    #[test]
    fn a_token_or_proof_passes_only_if_it_is_the_very_one() {
        let auth = AuthKey::generate();
        let tokens = ["user", "ci", "a-b_9"].map(|owner| auth.token(&owner.into()));
        let key = auth.extension_key("cojpnlnglaiojkhnmkknknhgnedlcmlg");
        let instance = InstanceId::from("i1");
        let (challenge, hello) = ("challenge", "hello");
        let said = HandshakeTranscript { port: 1, challenge, hello, instance: &instance };
        let right = key.hello_mac(said);
        let macs = [right.as_str(), &nonce(), ""].map(str::to_owned);
        let nearly_tokens = garbled::nearly_text(&tokens.each_ref().map(String::as_str));
        let nearly_macs = garbled::nearly_text(&macs.each_ref().map(String::as_str));
        proptest!(garbled::cases(1_000), |(token in nearly_tokens, mac in nearly_macs)| {
            if let Some(owner) = auth.owner_of(&token) {
                prop_assert_eq!(auth.token(&owner), token);
            }
            let passes = key.proves_hello(said, &mac);
            prop_assert_eq!(passes, mac == right);
        });
    }
}
