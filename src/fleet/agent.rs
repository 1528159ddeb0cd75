//! The agent's side: a service of HTTP/1 in memory, which carries calls to a place over the NATS servers of its
//! tenant. The bridge speaks to it as to the socket of a place.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

use super::agent_call::{AgentTask, AnswerBrokeOff, BegunAnswer};
use super::call::{FleetCallEnd, FleetRefusal, HELLO_SILENCE, PlaceLives};
use super::connect::{
    FleetConnectError, FleetConnection, HelloAnswer, HelloError, ServerOrder, lives,
};
use super::keys::{AgentKey, PlaceId};
use super::message::{self, FleetCallId, HEADERS_ROOM};
use super::subjects;
use crate::bridge::{PLACE_LOST, PLACE_OFFLINE};
use crate::os;
use crate::protocol::SERVER_VERSION;
use crate::reach::{BODY_MAX, CARRIER_PATH, carried_call_headers, json_response};

/// How many bytes the connection in memory holds.
const DUPLEX: usize = 64 * 1024;

/// How long a call waits for a server before it counts as not sent.
const CONNECTED: Duration = Duration::from_secs(5);

/// The slowest way that is reckoned with before any was seen, in bytes a second: 1 Mbit/s.
const USUAL_RATE: u64 = 125_000;

/// The slowest that is waited for, in bytes a second.
const RATE_MIN: u64 = 8_000;

/// Parts that are smaller say nothing of the rate, in bytes.
const RATED: usize = 32 * 1024;

/// How long home may be silent beside the time that the bytes take.
const SILENCE: Duration = Duration::from_secs(5);

/// For how long a place that was found silent counts as just found so, and how long it is then waited for: a call that
/// has waited for it in vain ends soon, also when its bridge looks once more.
const JUST_SILENT: Duration = Duration::from_secs(1);
const STILL_SILENT: Duration = Duration::from_millis(500);

/// The body of an answer.
type AgentBody = BoxBody<Bytes, AnswerBrokeOff>;

/// The way of an agent to a place. Cheap to clone; all clones share their connection.
#[derive(Clone)]
pub struct FleetAgent(Arc<AgentState>);

struct AgentState {
    key: AgentKey,
    place: PlaceId,
    connection: tokio::sync::Mutex<Option<FleetConnection>>,
    /// The life of the place that answered last.
    life: Mutex<Option<Box<str>>>,
    /// When the place was found silent last, unless it has answered since.
    silent_at: Mutex<Option<Duration>>,
    /// The slowest rate seen, in bytes a second.
    rate: AtomicU64,
}

impl std::fmt::Debug for FleetAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FleetAgent({} as {})", self.0.place, self.0.key.owner)
    }
}

impl FleetAgent {
    /// The way to this place with this key. Nothing is connected yet.
    #[must_use]
    pub fn new(key: AgentKey, place: PlaceId) -> Self {
        let (connection, life, silent_at) = Default::default();
        let rate = AtomicU64::new(USUAL_RATE);
        Self(Arc::new(AgentState { key, place, connection, life, silent_at, rate }))
    }

    /// One end of a connection in memory, at whose other end calls are carried. It needs a runtime.
    #[must_use]
    pub fn connection_in_memory(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(DUPLEX);
        let agent = self.clone();
        tokio::spawn(async move {
            let carrying = service_fn(|call| {
                let agent = agent.clone();
                async move { Ok::<_, Infallible>(agent.answer(call).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(far), carrying);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection in memory broke");
            }
        });
        near
    }

    /// Connects, if that is not done yet.
    ///
    /// # Errors
    ///
    /// [`FleetConnectError`].
    pub async fn connect(&self) -> Result<(), FleetConnectError> {
        self.connection().await.map(|_| ())
    }

    async fn connection(&self) -> Result<FleetConnection, FleetConnectError> {
        let mut known = self.0.connection.lock().await;
        if let Some(connection) = &*known {
            return Ok(connection.clone());
        }
        let AgentKey { owner, servers, seed, .. } = &self.0.key;
        let inbox = subjects::inbox(owner.as_str());
        let name = format!("tabwire agent {owner}");
        let mut opened =
            FleetConnection::open(servers, seed.expose(), &inbox, &name, ServerOrder::AsListed)
                .await?;
        opened.hear_again(subjects::again(self.0.place.as_str())).await;
        Ok(known.insert(opened).clone())
    }

    async fn answer(&self, call: Request<Incoming>) -> Response<AgentBody> {
        if (call.method(), call.uri().path()) == (&Method::GET, CARRIER_PATH) {
            return json_response(StatusCode::OK, &json!({"version": SERVER_VERSION}));
        }
        match self.carry(call).await {
            Ok(answer) => answer,
            Err(why) => why.into_response(&self.0.place),
        }
    }

    async fn carry(&self, call: Request<Incoming>) -> Result<Response<AgentBody>, CarryFailure> {
        let (parts, body) = call.into_parts();
        let body = Limited::new(body, BODY_MAX).collect().await;
        let body = body.map_err(|_| CarryFailure::TooLarge(BODY_MAX))?.to_bytes();
        let connection = self.connection().await.map_err(CarryFailure::NoConnection)?;
        if !connection.is_connected_within(CONNECTED).await {
            return Err(CarryFailure::Disconnected);
        }
        let most = connection.client.max_payload().saturating_sub(HEADERS_ROOM);
        if body.len() > most {
            return Err(CarryFailure::TooLarge(most));
        }
        let id = FleetCallId::random();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let headers = carried_call_headers(&parts.headers);
        let opening = message::opening(id, &parts.method, path, &headers);
        let opening =
            opening.ok_or(CarryFailure::Ended(FleetCallEnd::Refused(FleetRefusal::Malformed)))?;
        let life = match self.known_life() {
            Some(life) => life,
            None => self.ask_life(&connection).await?,
        };
        let (head, begun) = oneshot::channel();
        let (parts, rest) = mpsc::channel(1);
        let task = AgentTask { agent: self.clone(), connection, id, opening, body, parts };
        tokio::spawn(task.run(life, head));
        match begun.await {
            Ok(BegunAnswer::Head(head)) => {
                let parts = futures_util::stream::unfold(rest, |mut rest| async move {
                    rest.recv().await.map(|part| (part.map(Frame::data), rest))
                });
                let mut answer = Response::new(BodyExt::boxed(StreamBody::new(parts)));
                *answer.status_mut() =
                    StatusCode::from_u16(head.status).unwrap_or(StatusCode::BAD_GATEWAY);
                *answer.headers_mut() = head.headers;
                Ok(answer)
            }
            Ok(BegunAnswer::Ended(end)) => {
                self.forget_life();
                Err(CarryFailure::Ended(end))
            }
            Err(_) => Err(CarryFailure::Ended(FleetCallEnd::Lost)),
        }
    }

    async fn ask_life(&self, connection: &FleetConnection) -> Result<Box<str>, CarryFailure> {
        let within = if self.is_just_silent() { STILL_SILENT } else { HELLO_SILENCE };
        match self.hello(connection, within).await {
            Ok(PlaceLives::One(life)) => Ok(life),
            Ok(PlaceLives::Several) => Err(CarryFailure::Ended(FleetCallEnd::TwoHomes)),
            Ok(PlaceLives::Absent | PlaceLives::Silent) => {
                Err(CarryFailure::Ended(FleetCallEnd::Offline))
            }
            Err(end) => Err(CarryFailure::Ended(end)),
        }
    }

    /// Asks which homes the place has, and keeps the answer.
    pub(super) async fn hello(
        &self,
        connection: &FleetConnection,
        within: Duration,
    ) -> Result<PlaceLives, FleetCallEnd> {
        let subject = subjects::hello(self.0.place.as_str(), self.0.key.owner.as_str());
        let told = connection.hello(subject, async_nats::HeaderMap::new(), within).await;
        let found = match told {
            Ok(answers) => lives(&self.fitting(answers)),
            Err(HelloError::Absent) => PlaceLives::Absent,
            Err(HelloError::Silent) => PlaceLives::Silent,
            Err(HelloError::NotGranted) => {
                return Err(FleetCallEnd::NotGranted { may_have_run: false });
            }
        };
        *self.life() = match &found {
            PlaceLives::One(life) => Some(life.clone()),
            PlaceLives::Absent | PlaceLives::Silent | PlaceLives::Several => None,
        };
        *lock(&self.0.silent_at) = match &found {
            PlaceLives::Silent => Some(os::time_with_sleep()),
            PlaceLives::One(_) | PlaceLives::Absent | PlaceLives::Several => None,
        };
        Ok(found)
    }

    fn is_just_silent(&self) -> bool {
        let at = *lock(&self.0.silent_at);
        at.is_some_and(|at| os::time_with_sleep().saturating_sub(at) < JUST_SILENT)
    }

    /// The answers of this very place in words that are known here.
    fn fitting(&self, mut answers: Vec<HelloAnswer>) -> Vec<HelloAnswer> {
        answers
            .retain(|answer| answer.v == message::VERSION && answer.place == self.0.place.as_str());
        answers
    }

    /// Where calls to this life go.
    pub(super) fn subject(&self, life: &str) -> String {
        subjects::call(self.0.place.as_str(), life, self.0.key.owner.as_str())
    }

    /// How long home may take for a request that moves so many bytes.
    pub(super) fn silence(&self, bytes: usize) -> Duration {
        let rate = self.0.rate.load(Ordering::Relaxed).max(RATE_MIN);
        SILENCE + Duration::from_millis(bytes as u64 * 1_000 / rate)
    }

    /// Notes how long so many bytes took.
    pub(super) fn note_rate(&self, bytes: usize, took: Duration) {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
        if bytes >= RATED {
            self.0.rate.fetch_min(bytes as u64 * 1_000 / millis, Ordering::Relaxed);
        }
    }

    fn known_life(&self) -> Option<Box<str>> {
        self.life().clone()
    }

    fn forget_life(&self) {
        *self.life() = None;
    }

    fn life(&self) -> MutexGuard<'_, Option<Box<str>>> {
        lock(&self.0.life)
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a call has no answer of the place.
enum CarryFailure {
    NoConnection(FleetConnectError),
    Disconnected,
    /// The call is larger than this many bytes.
    TooLarge(usize),
    Ended(FleetCallEnd),
}

/// What the caller is told instead of an answer.
struct FailureWords {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: &'static str,
    may_have_run: bool,
    /// Whether another try at once could help, if the call may be sent twice.
    may_resend: bool,
}

const LOOK_AT_PLACE: &str = "Ask whether `tabwire-fleet serve` runs on the machine with the browser, and whether it has joined. \
                             `tabwire-fleet doctor --connect` here finds the broken part.";

const CALL_LESS: &str = "Send less in one call.";

impl CarryFailure {
    fn into_response(self, place: &PlaceId) -> Response<AgentBody> {
        let busy_after = match &self {
            Self::Ended(FleetCallEnd::Refused(FleetRefusal::Busy(after))) => Some(*after),
            Self::NoConnection(_) | Self::Disconnected | Self::TooLarge(_) | Self::Ended(_) => None,
        };
        let FailureWords { status, code, message, hint, may_have_run, may_resend } =
            self.words(place);
        let told = json!({
            "error": code, "message": message, "hint": hint, "may_have_run": may_have_run,
            "may_resend": may_resend,
        });
        let mut response = json_response(status, &told);
        if let Some(after) = busy_after {
            let seconds = after.as_secs().max(1);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    fn words(self, place: &PlaceId) -> FailureWords {
        let offline = |message: String, hint| FailureWords {
            status: StatusCode::BAD_GATEWAY,
            code: PLACE_OFFLINE,
            message,
            hint,
            may_have_run: false,
            may_resend: false,
        };
        match self {
            Self::NoConnection(why) => offline(
                why.to_string(),
                "Tell the user; the operator of the NATS servers can help.",
            ),
            Self::Disconnected => offline(
                "The NATS servers do not answer".to_owned(),
                "Call again; if the error repeats, ask the operator of the NATS servers.",
            ),
            Self::TooLarge(most) => FailureWords {
                status: StatusCode::PAYLOAD_TOO_LARGE,
                code: "too_large",
                ..offline(
                    format!(
                        "The call has more than {most} bytes, and the NATS servers take no more"
                    ),
                    CALL_LESS,
                )
            },
            Self::Ended(end) => ended(&end, place, offline),
        }
    }
}

fn ended(
    end: &FleetCallEnd,
    place: &PlaceId,
    offline: impl Fn(String, &'static str) -> FailureWords,
) -> FailureWords {
    let lost = |message: String, may_resend| FailureWords {
        code: PLACE_LOST,
        may_have_run: true,
        may_resend,
        ..offline(message, LOOK_AT_PLACE)
    };
    match *end {
        FleetCallEnd::Offline => {
            offline(format!("The place {place} is not connected"), LOOK_AT_PLACE)
        }
        FleetCallEnd::TwoHomes => FailureWords {
            code: "two_homes",
            ..offline(
                format!("Two machines answer as {place}, so nothing is sent to either"),
                "Ask the user to run `tabwire-fleet leave` on the machine that should not have it.",
            )
        },
        FleetCallEnd::Lost | FleetCallEnd::Whole | FleetCallEnd::BrokenOff => {
            lost(format!("The place {place} was silent for too long"), false)
        }
        FleetCallEnd::Elsewhere => {
            lost(format!("The place {place} started anew during the call"), true)
        }
        FleetCallEnd::NotGranted { may_have_run } => FailureWords {
            status: StatusCode::FORBIDDEN,
            code: "not_granted",
            may_have_run,
            ..offline(
                format!("This agent may not call the place {place}"),
                "Ask the operator to run `tabwire-fleet places grant`, and to reload the NATS servers.",
            )
        },
        FleetCallEnd::Refused(FleetRefusal::Busy(_)) => FailureWords {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "busy",
            ..offline(
                format!("Too many calls of this agent are at the place {place}"),
                "Wait until others have ended, then call again.",
            )
        },
        FleetCallEnd::Refused(FleetRefusal::TooLarge) => FailureWords {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            code: "too_large",
            ..offline(format!("The call is too large for the place {place}"), CALL_LESS)
        },
        FleetCallEnd::Refused(
            FleetRefusal::Malformed | FleetRefusal::UnknownCall | FleetRefusal::Closed,
        ) => FailureWords {
            status: StatusCode::BAD_REQUEST,
            code: "not_carried",
            ..offline(
                format!("The place {place} cannot read the call"),
                "Update the older of the two programs.",
            )
        },
    }
}
