//! The daemon at home, as a far end's calls reach it: exactly `POST` and `GET /mcp`, with the headers of the
//! bridge's own calls, and with the owner's token, which the far end never sees.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use super::answers::{failure, json_response};
use super::{BODY_MAX, CARRIER_PATH, HOME_PATH, MCP_PATH, headers};
use crate::bridge::{DAEMON_LOST, LocalDaemon};
use crate::daemon_connector::DaemonConnector;
use crate::home::{DaemonRecord, StateDirectory, StateFileStamp};
use crate::protocol::{
    BRIDGE_HEADER, Owner, OwnerListError, SERVER_VERSION, is_newer_version, versions_fit,
};

/// How often the stream that holds the daemon is looked after.
const HOLD_LOOK: Duration = Duration::from_secs(5);

/// Any error of a body.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a call, within its limit.
pub(crate) type CallBody = BoxBody<Bytes, BodyError>;

/// The daemon that calls are passed on to, as one owner. Cheap to clone.
#[derive(Clone)]
pub struct HomeDaemon(Arc<HomeDaemonState>);

struct HomeDaemonState {
    daemon: LocalDaemon,
    home: StateDirectory,
    owner: Owner,
    http: Client<DaemonConnector, CallBody>,
    /// The daemon that was found last, and the token there: a daemon of another secret is another one.
    known: Mutex<Option<(DaemonRecord, HeaderValue)>>,
    /// The last look at the list of owners, and why the owner's token counted for nothing by it.
    listed: Mutex<Option<(StateFileStamp, Option<OwnerListError>)>>,
    calls: AtomicU64,
}

impl HomeDaemon {
    /// The daemon of this state directory, for calls of this owner.
    #[must_use]
    pub fn new(daemon: LocalDaemon, home: StateDirectory, owner: Owner) -> Self {
        let http = Client::builder(TokioExecutor::new()).build(DaemonConnector::new(home.dir()));
        let (known, listed) = (Mutex::default(), Mutex::default());
        let calls = AtomicU64::new(0);
        Self(Arc::new(HomeDaemonState { daemon, home, owner, http, known, listed, calls }))
    }

    /// How many calls were passed on.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Starts the daemon if none runs, and keeps it from ending for want of work, without end. One that a
    /// person has ended stays so until the next call.
    pub async fn hold(self) {
        let _started = self.0.daemon.find().await;
        loop {
            if self.counts_no_more().is_none()
                && let Some(record) = self.0.daemon.running().await
                && let Some(request) = self.stream_request(&record)
                && let Ok(stream) = self.0.http.request(request).await
            {
                let mut stream = stream.into_body();
                while let Some(Ok(_silence)) = stream.frame().await {}
            }
            tokio::time::sleep(HOLD_LOOK).await;
        }
    }

    /// An open stream counts as work.
    fn stream_request(&self, record: &DaemonRecord) -> Option<Request<CallBody>> {
        let nothing = Full::default().map_err(|never| match never {});
        Request::get(address(record))
            .header(AUTHORIZATION, self.authorization(record)?)
            .header(ACCEPT, "text/event-stream")
            .body(nothing.boxed())
            .ok()
    }

    /// The token for this daemon. `None`: its secret cannot be read.
    fn authorization(&self, record: &DaemonRecord) -> Option<HeaderValue> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, token)) = known.as_ref().filter(|(known, _)| known == record) {
            return Some(token.clone());
        }
        // The secret may have been replaced while another daemon ended.
        let home = StateDirectory::open(self.0.home.dir()).ok()?;
        let token = home.auth().token(&self.0.owner);
        let mut token = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        token.set_sensitive(true);
        *known = Some((record.clone(), token.clone()));
        Some(token)
    }

    /// Passes a call on, or refuses it.
    async fn pass_on<B>(&self, call: Request<B>) -> Response<CallBody>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>> + Send + Sync + 'static,
    {
        // As it is written: no other spelling of the path is taken for it.
        let path = call.uri().path_and_query().map(|path| path.as_str().to_owned());
        match (call.method(), path.as_deref()) {
            (&Method::POST | &Method::GET, Some(MCP_PATH)) => self.pass_on_mcp(call).await,
            (&Method::GET, Some(HOME_PATH)) => self.tell().await,
            // At the socket of a folder there is no carrier between.
            (&Method::GET, Some(CARRIER_PATH)) => {
                json_response(StatusCode::OK, &json!({"version": SERVER_VERSION}))
            }
            _ => HomeRefusal::NotCarried.into_response(),
        }
    }

    /// The same as a service, which has an answer to each call.
    pub(crate) async fn answer<B>(self, call: Request<B>) -> Result<Response<CallBody>, Infallible>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>> + Send + Sync + 'static,
    {
        Ok(self.pass_on(call).await)
    }

    async fn pass_on_mcp<B>(&self, call: Request<B>) -> Response<CallBody>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>> + Send + Sync + 'static,
    {
        if let Some(why) = self.counts_no_more() {
            return HomeRefusal::NotAllowed(why).into_response();
        }
        let record = match self.0.daemon.find().await {
            Ok(record) => record,
            Err(why) => return HomeRefusal::NoDaemon(why.to_string()).into_response(),
        };
        let (parts, body) = call.into_parts();
        if let Some(bridge) = parts.headers.get(BRIDGE_HEADER) {
            let bridge = bridge.to_str().unwrap_or_default();
            if !versions_fit(bridge, &record.version) {
                return HomeRefusal::versions(bridge, record.version).into_response();
            }
        }
        let Some(authorization) = self.authorization(&record) else {
            return HomeRefusal::Unanswered { may_have_run: false }.into_response();
        };
        let mut passed = Request::new(Limited::new(body, BODY_MAX).boxed());
        *passed.method_mut() = parts.method;
        *passed.headers_mut() = headers::of_call(&parts.headers);
        passed.headers_mut().insert(AUTHORIZATION, authorization);
        let Ok(uri) = address(&record).parse() else {
            return HomeRefusal::Unanswered { may_have_run: false }.into_response();
        };
        *passed.uri_mut() = uri;
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        match self.0.http.request(passed).await {
            Ok(answer) => told(answer),
            Err(error) => {
                tracing::debug!(%error, "the daemon did not answer a carried call");
                HomeRefusal::Unanswered { may_have_run: !error.is_connect() }.into_response()
            }
        }
    }

    /// Why the owner's token counts for nothing. `None`: it does count, or nobody can say. The daemon would
    /// take a token that counts no more for a guess.
    fn counts_no_more(&self) -> Option<OwnerListError> {
        let stamp = StateFileStamp::of(&self.0.home.owners().path())?;
        let mut listed = self.0.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, why)) = listed.as_ref().filter(|(known, _)| *known == stamp) {
            return why.clone();
        }
        let name = self.0.owner.name();
        let why = match self.0.home.owners().read().ok()??.owner(name) {
            Ok(owner) if owner == self.0.owner => None,
            // Another one of this name: this one was removed.
            Ok(_) => Some(OwnerListError::Unknown(name.to_owned())),
            Err(why) => Some(why),
        };
        *listed = Some((stamp, why.clone()));
        why
    }

    /// Says which home this is, and whether a daemon runs.
    async fn tell(&self) -> Response<CallBody> {
        let daemon = self.0.daemon.running().await;
        let counts = self.counts_no_more().map(|why| why.to_string());
        let body = json!({
            "version": SERVER_VERSION, "place": self.0.owner.name(), "not_allowed": counts,
            "calls": self.calls(),
            "daemon": daemon.map(|record| json!({"version": record.version})),
        });
        json_response(StatusCode::OK, &body)
    }

    /// Whether the owner was removed: then no call of the place is answered any more.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        matches!(self.counts_no_more(), Some(OwnerListError::Unknown(_)))
    }
}

fn address(record: &DaemonRecord) -> String {
    format!("http://127.0.0.1:{}{MCP_PATH}", record.port)
}

/// The daemon's answer, as it is carried.
fn told(answer: Response<Incoming>) -> Response<CallBody> {
    let (parts, body) = answer.into_parts();
    let mut told = Response::new(body.map_err(BodyError::from).boxed());
    *told.status_mut() = parts.status;
    *told.headers_mut() = headers::of_answer(&parts.headers);
    told
}

/// Why home passes a call on to nobody, or has no answer to it.
enum HomeRefusal {
    NotCarried,
    NoDaemon(String),
    /// The daemon is gone, or has ended in the middle.
    Unanswered {
        may_have_run: bool,
    },
    /// The owner's token counts for nothing.
    NotAllowed(OwnerListError),
    Versions {
        bridge: String,
        daemon: String,
        is_far_newer: bool,
    },
}

impl HomeRefusal {
    fn versions(bridge: &str, daemon: String) -> Self {
        let is_far_newer = is_newer_version(bridge, &daemon);
        Self::Versions { bridge: bridge.to_owned(), daemon, is_far_newer }
    }

    fn into_response(self) -> Response<CallBody> {
        let (status, code) = match &self {
            Self::NotCarried => (StatusCode::NOT_FOUND, "not_carried"),
            Self::NoDaemon(_) => (StatusCode::BAD_GATEWAY, "no_daemon"),
            Self::Unanswered { .. } => (StatusCode::BAD_GATEWAY, DAEMON_LOST),
            Self::NotAllowed(_) => (StatusCode::FORBIDDEN, "not_allowed"),
            Self::Versions { .. } => (StatusCode::CONFLICT, "version_mismatch"),
        };
        let may_have_run = matches!(&self, Self::Unanswered { may_have_run: true });
        let (message, hint) = self.words();
        failure(status, code, (&message, hint), may_have_run)
    }

    fn words(self) -> (String, &'static str) {
        match self {
            Self::NotCarried => (
                "Only POST and GET /mcp are carried".to_owned(),
                "Use `tabwire mcp --connect` at the far end.",
            ),
            Self::NoDaemon(why) => (
                format!("The daemon at home cannot be started: {why}"),
                "Ask the user to run `tabwire doctor` on the machine with the browser.",
            ),
            Self::Unanswered { .. } => (
                "The daemon at home did not answer".to_owned(),
                "Call again; if the error repeats, ask the user to run `tabwire doctor` on the machine with the browser.",
            ),
            Self::NotAllowed(OwnerListError::Suspended(name)) => (
                format!("The person has disconnected `{name}` from the browser"),
                "Ask the user to allow it again in the popup of the Tabwire extension or in a terminal.",
            ),
            Self::NotAllowed(_) => (
                "The person has removed the rights of this machine's programs to use the browser"
                    .to_owned(),
                "Ask the user to run `tabwire reach` again on the machine with the browser.",
            ),
            Self::Versions { bridge, daemon, is_far_newer } => (
                format!(
                    "`tabwire` here has version {bridge}, the daemon with the browser {daemon}: they do not go together"
                ),
                if is_far_newer {
                    "Ask the user to update Tabwire on the machine with the browser."
                } else {
                    "Ask the user to update Tabwire on this machine."
                },
            ),
        }
    }
}
