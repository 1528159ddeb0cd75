//! The connection to the NATS servers of a tenant, for an agent and for a home.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::rustls::client::WebPkiServerVerifier;
use async_nats::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use async_nats::rustls::pki_types::pem::PemObject as _;
use async_nats::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use async_nats::rustls::{
    self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Message, ServerAddr, ServerError,
    StatusCode,
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use tokio::time::{sleep, timeout};

use super::call::PlaceLives;
use super::keys::TenantServers;
use super::subjects;

/// The oldest server that is spoken to: 2.12.3.
const OLDEST: (i64, i64, i64) = (2, 12, 3);

/// How often each end asks for a sign of life.
const PING: Duration = Duration::from_secs(5);

/// How long a server may take to let a client in.
const CONNECT: Duration = Duration::from_secs(5);

/// How many messages of a subscription wait to be read; more are dropped, and asked for again. Homes take fewer.
const WAITING_MAX: usize = 256;

/// How many refusals of the server wait to be read.
const REFUSALS: usize = 64;

/// How long answers to `hello` are taken once it was asked: two homes of one place show.
const HELLO: Duration = Duration::from_millis(100);

/// How many answers to `hello` are read.
const HELLO_ANSWERS: usize = 8;

/// Why there is no connection to the servers.
#[derive(Debug, thiserror::Error)]
pub enum FleetConnectError {
    /// A server is too old.
    #[error(
        "the NATS server has version {0}, and Tabwire needs 2.12.3 or newer. Ask the operator to update it"
    )]
    TooOld(Box<str>),
    /// The server does not know the key.
    #[error(
        "the NATS server refuses this key. Ask the operator whether it was removed, and whether the server has its users file"
    )]
    Refused,
    /// The server does not prove that it is the tenant's, or offers no TLS.
    #[error(
        "no TLS with the NATS server: {0}. Off this machine TLS is required; ask the operator for its certificate and name"
    )]
    Tls(Box<str>),
    /// The certificates in the key cannot be read.
    #[error("the certificates in the key cannot be read: {0}. Ask the operator for a new key")]
    Certificates(Box<str>),
    /// No server answers.
    #[error("no NATS server answers: {0}. Check the address and the network")]
    Unreachable(Box<str>),
}

impl FleetConnectError {
    /// Whether another try can help without a change by a person.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    /// Whether the servers do not prove by TLS that they are the tenant's.
    #[must_use]
    pub const fn is_of_tls(&self) -> bool {
        matches!(self, Self::Tls(_) | Self::Certificates(_))
    }
}

/// Which server is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerOrder {
    /// The first of the list, each time; the others stand in for it.
    AsListed,
    /// Any, so that many homes spread over all.
    Any,
}

/// A connection, which comes back by itself. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct FleetConnection {
    pub(super) client: Client,
    /// What the server refuses, in its words.
    refusals: broadcast::Sender<Arc<str>>,
    connected: watch::Receiver<u64>,
    /// The life that asked agents to ask again, the last time.
    again: watch::Receiver<Box<str>>,
}

impl FleetConnection {
    /// Connects as the holder of this secret, with replies to subjects that begin so.
    pub(super) async fn open(
        servers: &TenantServers,
        seed: &str,
        inbox: &str,
        name: &str,
        order: ServerOrder,
    ) -> Result<Self, FleetConnectError> {
        let (refusals, _) = broadcast::channel(REFUSALS);
        let (connects, mut connected) = watch::channel(0);
        let heard = refusals.clone();
        let needs_tls = servers.needs_tls();
        let mut options = ConnectOptions::with_nkey(seed.to_owned())
            .custom_inbox_prefix(inbox)
            .name(name)
            .ping_interval(PING)
            .connection_timeout(CONNECT)
            .subscription_capacity(WAITING_MAX)
            .require_tls(needs_tls)
            .event_callback(move |event| {
                note(&heard, &connects, event);
                std::future::ready(())
            });
        if order == ServerOrder::AsListed {
            options = options.retain_servers_order();
        }
        if !needs_tls {
            // A server that this one names may be on another machine.
            options = options.ignore_discovered_servers();
        }
        if let Some(config) = tls_config(servers)? {
            options = options.tls_client_config(config);
        }
        let addresses: Vec<ServerAddr> = servers
            .addresses
            .iter()
            .filter_map(|address| address.to_string().parse().ok())
            .collect();
        // Not `retry_on_initial_connect`: with it the version of the server is not known.
        let client = options.connect(addresses).await.map_err(|error| why_not(&error))?;
        check_version(&client)?;
        // The event of this first time comes a moment later.
        let _ = timeout(CONNECT, connected.changed()).await;
        let (_, again) = watch::channel(Box::default());
        Ok(Self { client, refusals, connected, again })
    }

    /// Hears from now on by this subject which life asks agents to ask again.
    pub(super) async fn hear_again(&mut self, subject: String) {
        let Ok(mut words) = self.client.subscribe(subject).await else { return };
        let (heard, again) = watch::channel(Box::default());
        self.again = again;
        tokio::spawn(async move {
            while let Some(word) = words.next().await {
                if let Some(life) = str::from_utf8(&word.payload).ok().filter(|life| is_life(life))
                    && heard.send(life.into()).is_err()
                {
                    return;
                }
            }
        });
    }

    /// The words by which agents are asked to ask again, from here on.
    pub(super) fn again(&self) -> AskAgainWords {
        let (mut again, mut connected) = (self.again.clone(), self.connected.clone());
        again.mark_unchanged();
        connected.mark_unchanged();
        AskAgainWords { again, connected }
    }

    /// Whether a server is there now.
    pub(super) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Waits for a server; false: none is there in this time.
    pub(super) async fn is_connected_within(&self, time: Duration) -> bool {
        let mut connected = self.connected.clone();
        let back = async {
            while !self.is_connected() {
                if connected.changed().await.is_err() {
                    return;
                }
            }
        };
        timeout(time, back).await.is_ok() && self.is_connected()
    }

    /// Waits until it has connected again, and looks at the server's version.
    pub(super) async fn next_connect(&mut self) -> Result<(), FleetConnectError> {
        self.connects_again().await;
        check_version(&self.client)
    }

    /// Returns once it has connected again.
    pub(super) async fn connects_again(&mut self) {
        if self.connected.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// The refusals from here on.
    pub(super) fn refusals(&self) -> SubjectRefusals {
        SubjectRefusals(self.refusals.subscribe())
    }

    /// Asks which homes a place has. The first answer may take this long.
    pub(super) async fn hello(
        &self,
        subject: String,
        headers: HeaderMap,
        within: Duration,
    ) -> Result<Vec<HelloAnswer>, HelloError> {
        let inbox = self.client.new_inbox();
        let mut answers =
            self.client.subscribe(inbox.clone()).await.map_err(|_| HelloError::Silent)?;
        let mut refusals = self.refusals();
        let asked = self.client.publish_with_reply_and_headers(
            subject.clone(),
            inbox,
            headers,
            Bytes::new(),
        );
        asked.await.map_err(|_| HelloError::Silent)?;
        let all_in = sleep(HELLO);
        tokio::pin!(all_in);
        let mut told = Vec::new();
        let silence = sleep(within);
        tokio::pin!(silence);
        loop {
            tokio::select! {
                answer = answers.next() => match answer {
                    Some(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
                        return Err(HelloError::Absent);
                    }
                    Some(answer) => told.extend(read_hello(&answer)),
                    None => return Err(HelloError::Silent),
                },
                () = refusals.of(&subject) => return Err(HelloError::NotGranted),
                () = &mut silence => return Err(HelloError::Silent),
                // Later ones do not count once one has come.
                () = &mut all_in, if !told.is_empty() => return Ok(told),
            }
            if told.len() >= HELLO_ANSWERS {
                return Ok(told);
            }
        }
    }
}

/// The server's refusals, from one moment on.
pub(super) struct SubjectRefusals(broadcast::Receiver<Arc<str>>);

impl SubjectRefusals {
    /// Returns once the server refuses a message to this subject.
    pub(super) async fn of(&mut self, subject: &str) {
        self.with(|words| subjects::is_refused(words, subject)).await;
    }

    /// Returns once the server refuses a reply.
    pub(super) async fn of_replies(&mut self) {
        self.with(subjects::is_refused_reply).await;
    }

    async fn with(&mut self, is_meant: impl Fn(&str) -> bool) {
        loop {
            match self.0.recv().await {
                Ok(words) if is_meant(&words) => return,
                // Of another subject, or some were missed: the request then counts as silent.
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
            }
        }
    }
}

/// The words by which agents are asked to ask again, from one moment on.
pub(super) struct AskAgainWords {
    again: watch::Receiver<Box<str>>,
    connected: watch::Receiver<u64>,
}

impl AskAgainWords {
    /// Returns once this life asks to ask again, or there is another server, which may not have passed a request on.
    pub(super) async fn of(&mut self, life: &str) {
        let AskAgainWords { again, connected } = self;
        let asked = async {
            while again.changed().await.is_ok() {
                if **again.borrow_and_update() == *life {
                    return;
                }
            }
            std::future::pending().await
        };
        let other_server = async {
            if connected.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = asked => {}
            () = other_server => {}
        }
    }
}

/// What a home says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HelloAnswer {
    /// The version of what it speaks.
    pub(super) v: String,
    /// The version of its program.
    pub(super) version: String,
    pub(super) place: String,
    /// Which start of the home it is.
    pub(super) life: Box<str>,
    /// Since when it runs, in ms of Unix time.
    pub(super) since_ms: u64,
    /// As which owner the caller is known.
    pub(super) you_are: String,
}

/// Why no home answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelloError {
    Absent,
    Silent,
    NotGranted,
}

/// The homes that answered, each once.
pub(super) fn lives(answers: &[HelloAnswer]) -> PlaceLives {
    match answers {
        [] => PlaceLives::Silent,
        [one, others @ ..] if others.iter().all(|other| other.life == one.life) => {
            PlaceLives::One(one.life.clone())
        }
        [..] => PlaceLives::Several,
    }
}

/// How long the text of an answer to `hello` is at most, in bytes.
const HELLO_MAX: usize = 4 * 1024;

fn read_hello(answer: &Message) -> Option<HelloAnswer> {
    let text = Some(&answer.payload).filter(|text| text.len() <= HELLO_MAX)?;
    let told: HelloAnswer = serde_json::from_slice(text).ok()?;
    // It becomes a word of a subject.
    is_life(&told.life).then_some(told)
}

/// Whether a text can be the life of a home.
pub(super) fn is_life(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn note(refusals: &broadcast::Sender<Arc<str>>, connects: &watch::Sender<u64>, event: Event) {
    match event {
        Event::Connected => connects.send_modify(|count| *count += 1),
        Event::ServerError(ServerError::Other(words)) => {
            // Nobody may be waiting for one.
            let _ = refusals.send(words.into());
        }
        Event::ServerError(_)
        | Event::Disconnected
        | Event::LameDuckMode
        | Event::Draining
        | Event::Closed
        | Event::SlowConsumer(_)
        | Event::ClientError(_) => tracing::debug!(%event, "the connection to NATS"),
    }
}

fn check_version(client: &Client) -> Result<(), FleetConnectError> {
    let (major, minor, patch) = OLDEST;
    if client.is_server_compatible(major, minor, patch) {
        return Ok(());
    }
    Err(FleetConnectError::TooOld(client.server_info().version.into()))
}

fn why_not(error: &async_nats::ConnectError) -> FleetConnectError {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    let mut is_tls = false;
    while let Some(below) = cause {
        words = below.to_string();
        let io = below.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(why) = io.and_then(|why| why.downcast_ref::<rustls::Error>()) {
            is_tls = true;
            // A server without TLS answers in words of NATS.
            if matches!(why, rustls::Error::InvalidMessage(_)) {
                "it offers none".clone_into(&mut words);
                break;
            }
        }
        cause = below.source();
    }
    is_tls |= words.contains("certificate") || words.to_ascii_lowercase().contains("tls");
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            FleetConnectError::Refused
        }
        ConnectErrorKind::Tls => FleetConnectError::Tls(words.into()),
        ConnectErrorKind::Io if is_tls => FleetConnectError::Tls(words.into()),
        ConnectErrorKind::Io
        | ConnectErrorKind::ServerParse
        | ConnectErrorKind::Dns
        | ConnectErrorKind::TimedOut
        | ConnectErrorKind::MaxReconnects => FleetConnectError::Unreachable(words.into()),
    }
}

/// TLS by the certificates and the name in the key; `None`: by those of this machine and the host of the address.
fn tls_config(servers: &TenantServers) -> Result<Option<ClientConfig>, FleetConnectError> {
    let Some(pem) = &servers.ca else {
        return match servers.name {
            None => Ok(None),
            Some(_) => Err(FleetConnectError::Certificates(
                "it has a name of the server and no certificate of its authority".into(),
            )),
        };
    };
    let wrong = |why: String| FleetConnectError::Certificates(why.into());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|why| wrong(why.to_string()))?;
        roots.add(certificate).map_err(|why| wrong(why.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("there is none".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|why| wrong(why.to_string()))?;
    let Some(name) = &servers.name else {
        return Ok(Some(builder.with_root_certificates(roots).with_no_client_auth()));
    };
    let name = ServerName::try_from(name.clone()).map_err(|why| wrong(why.to_string()))?;
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|why| wrong(why.to_string()))?;
    let verifier = Arc::new(NamedServerVerifier { inner, name });
    let config = builder.dangerous().with_custom_certificate_verifier(verifier);
    Ok(Some(config.with_no_client_auth()))
}

/// Holds a server to the name that the key has, whatever its address is.
#[derive(Debug)]
struct NamedServerVerifier {
    inner: Arc<WebPkiServerVerifier>,
    name: ServerName<'static>,
}

impl ServerCertVerifier for NamedServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _address: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.inner.verify_server_cert(end_entity, intermediates, &self.name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
