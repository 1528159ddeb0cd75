//! How an extension opens its socket, proves itself, and checks the daemon's proof.

use std::sync::Arc;

use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use tabwire::proof::{self, ExtensionKey, HandshakeTranscript};
use tabwire::protocol::{EXTENSION_ID, InstanceId, PROTOCOL_VERSION, WS_PATH, WS_SUBPROTOCOL};
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;

/// Who an extension says that it is, and the key that it proves this with.
#[derive(Clone)]
pub struct ExtensionIdentity {
    /// The port that its proofs name.
    pub port: u16,
    pub key: Arc<ExtensionKey>,
    pub extension_id: String,
    pub browser: String,
    pub instance: String,
}

impl ExtensionIdentity {
    /// Our own extension in this browser, for the daemon with this port and state directory.
    pub fn new(port: u16, home: &StateDirectory, browser: &str) -> Self {
        Self {
            port,
            key: Arc::new(home.auth().extension_key(EXTENSION_ID)),
            extension_id: EXTENSION_ID.to_owned(),
            browser: browser.to_owned(),
            instance: "instance-1".to_owned(),
        }
    }

    pub fn origin(&self) -> String {
        format!("chrome-extension://{}", self.extension_id)
    }

    /// The request that opens the socket. A relay on the way may listen on another port than the
    /// proofs name.
    pub fn upgrade(&self, port: u16) -> ClientRequestBuilder {
        ClientRequestBuilder::new(format!("ws://127.0.0.1:{port}{WS_PATH}").parse().unwrap())
            .with_header("Origin", self.origin())
            .with_sub_protocol(WS_SUBPROTOCOL)
    }

    /// The `hello` that answers a challenge.
    pub fn hello_to(&self, challenge: &str) -> Value {
        let nonce = proof::nonce();
        let instance = self.instance.as_str().into();
        let mac = self.key.hello_mac(self.transcript(challenge, &nonce, &instance));
        json!({
            "type": "hello", "protocol": [PROTOCOL_VERSION], "browser_id": self.browser,
            "instance_id": self.instance, "extension_version": "0.1.0", "nonce": nonce, "mac": mac,
        })
    }

    /// Whether a `welcome` proves that the daemon holds the key, too.
    pub fn is_proven_by(&self, welcome: &Value, hello: &Value, challenge: &str) -> bool {
        let nonce = hello["nonce"].as_str().unwrap_or_default();
        let epoch = welcome["epoch"].as_str().unwrap_or_default();
        let instance = self.instance.as_str().into();
        welcome["mac"] == self.key.welcome_mac(self.transcript(challenge, nonce, &instance), epoch)
    }

    fn transcript<'a>(
        &self,
        challenge: &'a str,
        hello: &'a str,
        instance: &'a InstanceId,
    ) -> HandshakeTranscript<'a> {
        HandshakeTranscript { port: self.port, challenge, hello, instance }
    }
}
