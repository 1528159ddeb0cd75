//! The home of a place: takes the calls of its tenant's agents from the NATS servers, and passes each on to the
//! daemon of this machine as the owner that the server vouches for.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Client, Message, Subject};
use bytes::Bytes;
use futures_util::StreamExt as _;
use hyper::{Method, Request};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::call::{CallReply, FleetRefusal, HELLO_SILENCE, PART_MAX};
use super::connect::{FleetConnectError, FleetConnection, HelloAnswer, is_life};
use super::home_call::{CallTask, WaitingReply};
use super::keys::{AgentName, PlaceKey};
use super::message::{self, BadRequest, FleetCallId, HEADERS_ROOM, ReceivedRequest, VERSION};
use super::open_calls::{BUSY_AFTER, CallOpening, FleetCalls};
use super::subjects::{self, HOME_WORD};
use crate::bridge::{DaemonTarget, LocalDaemon};
use crate::home::{StateDirectory, StateDirectoryError};
use crate::hub::ClockSample;
use crate::os;
use crate::protocol::{Owner, SERVER_VERSION};
use crate::reach::HomeDaemon;

/// How often a home looks for another one of its place.
const LOOK: Duration = Duration::from_secs(60);

/// The shortest and the longest pause before a home connects again that no server has let in.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How many agents' `hello` wait for the first look.
const HELLOS_WAITING: usize = 64;

/// How many owners' ways to the daemon are kept.
const OWNERS_KEPT: usize = 1_024;

/// How many requests of one call wait for its task.
const REQUESTS: usize = 4;

/// The state of a home, for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceHomeState {
    /// It connects; why it did not the last time.
    Connecting(Option<String>),
    /// It takes calls.
    Connected,
    /// Another machine has the key of this place, too. `answers`: this one is the older, and still takes calls.
    TwoHomes {
        /// Whether this one takes calls.
        answers: bool,
    },
}

/// Finds the owner on this machine of an agent of this name, or says in words why there is none.
pub type OwnerLookup = Box<dyn Fn(&str) -> Result<Owner, String> + Send + Sync>;

/// The daemon that calls are passed on to, and who the agents are to it.
pub struct HomePassage {
    /// The daemon.
    pub target: DaemonTarget,
    /// Its state directory.
    pub dir: PathBuf,
    /// Asked for the first call of an agent, and again once its owner was removed.
    pub owner_of: OwnerLookup,
}

/// Takes calls for a place until that is of no use any more: the error says why. Nothing that passes by itself ends it.
pub async fn run_home(
    key: &PlaceKey,
    passage: HomePassage,
    state: watch::Sender<PlaceHomeState>,
) -> FleetConnectError {
    let home = Arc::new(PlaceHome::new(key, passage));
    let mut pause = PAUSE;
    loop {
        let inbox = subjects::home_inbox(key.place.as_str());
        let name = format!("tabwire place {}", key.place);
        let why = match FleetConnection::open(&key.servers, key.seed.expose(), &inbox, &name).await
        {
            Ok(connection) => {
                pause = PAUSE;
                home.clone().serve(connection, &state).await
            }
            Err(why) => why,
        };
        if !why.is_passing() {
            return why;
        }
        state.send_replace(PlaceHomeState::Connecting(Some(why.to_string())));
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// A home of a place.
struct PlaceHome {
    place: Box<str>,
    /// Which start of the home this is.
    life: Box<str>,
    since_ms: u64,
    passage: HomePassage,
    daemons: Mutex<HashMap<Box<str>, HomeDaemon>>,
    calls: Arc<Mutex<FleetCalls<mpsc::Sender<WaitingReply>>>>,
}

impl PlaceHome {
    fn new(key: &PlaceKey, passage: HomePassage) -> Self {
        let since = ClockSample::now().system.unix_millis();
        let life = crate::proof::random_hex::<16>().into();
        let (daemons, calls) = Default::default();
        let place = key.place.as_str().into();
        Self { place, life, since_ms: since, passage, daemons, calls }
    }

    /// Takes calls until the connection is of no use any more.
    async fn serve(
        self: Arc<Self>,
        mut connection: FleetConnection,
        state: &watch::Sender<PlaceHomeState>,
    ) -> FleetConnectError {
        let client = connection.client.clone();
        let subscribed = async {
            let hellos = client.subscribe(subjects::hello(&self.place, "*")).await?;
            let calls = client.subscribe(subjects::call(&self.place, &self.life, "*")).await?;
            Ok::<_, async_nats::SubscribeError>((hellos, calls))
        };
        let gone = |why: &str| FleetConnectError::Unreachable(why.into());
        let Ok((mut hellos, mut calls)) = subscribed.await else {
            return gone("the connection was closed");
        };
        let (looks, mut looked) = mpsc::channel(1);
        let looking = self.clone().look(connection.clone(), looks);
        let _looking = AbortOnDropHandle::new(tokio::spawn(looking));
        let mut twins = HomeTwins::default();
        loop {
            tokio::select! {
                hello = hellos.next() => match hello {
                    Some(hello) => self.take_hello(&client, hello, &mut twins).await,
                    None => return gone("the subscription ended"),
                },
                call = calls.next() => match call {
                    Some(call) if twins.answers() => self.take_call(&client, call).await,
                    Some(_) => {}
                    None => return gone("the subscription ended"),
                },
                Some(answers) = looked.recv() => {
                    for hello in twins.note_look(&self.rank(), &answers) {
                        self.answer_hello(&client, &hello).await;
                    }
                }
                connected = connection.next_connect() => if let Err(why) = connected {
                    return why;
                },
            }
            state.send_if_modified(|known| {
                let now = twins.state();
                now.is_some_and(|now| std::mem::replace(known, now.clone()) != now)
            });
        }
    }

    /// Looks for other homes of this place, at once and then again and again.
    async fn look(
        self: Arc<Self>,
        connection: FleetConnection,
        looks: mpsc::Sender<Vec<HelloAnswer>>,
    ) {
        let subject = subjects::hello(&self.place, HOME_WORD);
        loop {
            let asks = message::own_hello(&self.life, self.since_ms);
            // Its own answer is always among them; without any the connection is broken, and says nothing.
            if let Ok(answers) = connection.hello(subject.clone(), asks, HELLO_SILENCE).await
                && looks.send(answers).await.is_err()
            {
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// Of two homes the one of the lower rank answers.
    fn rank(&self) -> HomeRank {
        (self.since_ms, self.life.clone())
    }

    async fn take_hello(&self, client: &Client, hello: Message, twins: &mut HomeTwins) {
        let Some(owner) = subjects::owner_of(&hello.subject) else { return };
        if owner == HOME_WORD {
            let reply = hello.reply.as_deref().unwrap_or_default();
            if !subjects::is_home_inbox(&self.place, reply) {
                return;
            }
            if let Some((life, since_ms)) = message::read_own_hello(hello.headers.as_ref())
                && is_life(life)
            {
                twins.note(&self.rank(), &(since_ms, life.into()));
            }
            self.answer_hello(client, &hello).await;
        } else if twins.has_looked {
            if twins.answers() {
                self.answer_hello(client, &hello).await;
            }
        } else if twins.waiting.len() < HELLOS_WAITING {
            twins.waiting.push(hello);
        }
    }

    async fn answer_hello(&self, client: &Client, hello: &Message) {
        let Some((owner, reply)) = self.caller(hello) else { return };
        let told = HelloAnswer {
            v: VERSION.to_owned(),
            version: SERVER_VERSION.to_owned(),
            place: self.place.to_string(),
            life: self.life.clone(),
            since_ms: self.since_ms,
            you_are: owner.to_owned(),
        };
        let Ok(told) = serde_json::to_vec(&told) else { return };
        if let Err(error) = client.publish(reply.clone(), told.into()).await {
            tracing::debug!(%error, "a hello was not answered");
        }
    }

    /// Whom a message is from, and where its reply goes: nowhere but to the sender's own inbox.
    fn caller<'a>(&self, message: &'a Message) -> Option<(&'a str, &'a Subject)> {
        let owner = subjects::owner_of(&message.subject)?;
        let reply = message.reply.as_ref()?;
        let is_own = match owner {
            HOME_WORD => subjects::is_home_inbox(&self.place, reply),
            owner => owner.parse::<AgentName>().is_ok() && subjects::is_inbox_of(owner, reply),
        };
        is_own.then_some((owner, reply))
    }

    async fn take_call(&self, client: &Client, given: Message) {
        let read = message::read_request(given.headers.as_ref(), &given.payload);
        // The end of a call needs no reply, so the permit for one is not asked for.
        if let (Ok((id, ReceivedRequest::Close)), None) = (&read, &given.reply) {
            let owner = subjects::owner_of(&given.subject).filter(|owner| *owner != HOME_WORD);
            if let Some(owner) = owner {
                self.calls().close(os::time_with_sleep(), owner, *id);
            }
            return;
        }
        let Some((owner, reply)) = self.caller(&given) else { return };
        if owner == HOME_WORD {
            return;
        }
        let refusal = match read {
            Ok((id, ReceivedRequest::Open(request))) => {
                self.open_call(client, owner, id, *request, reply).await
            }
            Ok((id, ReceivedRequest::Next { from, most })) => {
                let way = self.calls().get(owner, id);
                let most = most.min(part_max(client));
                match way {
                    Some(way) => pass_on(&way, WaitingReply { to: reply.clone(), from, most }),
                    None => Some(FleetRefusal::UnknownCall),
                }
            }
            Ok((id, ReceivedRequest::Close)) => {
                self.calls().close(os::time_with_sleep(), owner, id);
                Some(FleetRefusal::Closed)
            }
            Err(BadRequest(why)) => Some(why),
        };
        if let Some(why) = refusal {
            send_reply(client, reply, CallReply::Refused(why)).await;
        }
    }

    /// Begins a call, or finds it. A refusal is for its caller.
    async fn open_call(
        &self,
        client: &Client,
        owner: &str,
        id: FleetCallId,
        request: Request<Bytes>,
        reply: &Subject,
    ) -> Option<FleetRefusal> {
        let first = WaitingReply { to: reply.clone(), from: 0, most: part_max(client) };
        let is_stream = request.method() == Method::GET;
        let (way, requests) = mpsc::channel(REQUESTS);
        let now = os::time_with_sleep();
        let opening = self.calls().open(now, owner, id, is_stream, || way.clone());
        match opening {
            CallOpening::New => {}
            CallOpening::Known(way) => return pass_on(&way, first),
            CallOpening::Closed => return Some(FleetRefusal::Closed),
            CallOpening::Busy => return Some(FleetRefusal::Busy(BUSY_AFTER)),
        }
        let daemon = self.daemon(owner);
        let (calls, owner) = (self.calls.clone(), Box::from(owner));
        let task = CallTask { client: client.clone(), calls, owner, id, requests };
        tokio::spawn(task.run(daemon, request, first));
        None
    }

    /// The way to the daemon as this owner.
    fn daemon(&self, owner: &str) -> Result<HomeDaemon, String> {
        let mut daemons = self.daemons.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = daemons.get(owner).filter(|known| !known.is_removed()) {
            return Ok(known.clone());
        }
        let HomePassage { target, dir, owner_of } = &self.passage;
        let listed = owner_of(owner)?;
        let home = StateDirectory::open(dir).map_err(|why: StateDirectoryError| why.to_string())?;
        let daemon = HomeDaemon::new(LocalDaemon::new(target.clone()), home, listed);
        if daemons.len() >= OWNERS_KEPT {
            daemons.clear();
        }
        daemons.insert(owner.into(), daemon.clone());
        Ok(daemon)
    }

    fn calls(&self) -> MutexGuard<'_, FleetCalls<mpsc::Sender<WaitingReply>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most of an answer that one message of this server holds.
fn part_max(client: &Client) -> usize {
    PART_MAX.min(client.max_payload().saturating_sub(HEADERS_ROOM)).max(1)
}

/// Hands a request to the task of its call. One whose task has just ended, or has enough to do, is lost, as on the way:
/// its agent asks again.
fn pass_on(way: &mpsc::Sender<WaitingReply>, request: WaitingReply) -> Option<FleetRefusal> {
    let _ = way.try_send(request);
    None
}

/// Sends a reply. One that does not arrive is asked for again.
pub(super) async fn send_reply(client: &Client, to: &Subject, reply: CallReply) {
    let (headers, body) = message::reply(reply);
    if let Err(error) = client.publish_with_headers(to.clone(), headers, body).await {
        tracing::debug!(%error, "a reply was not sent");
    }
}

/// By which two homes agree on the older one: since when it runs, and its life.
type HomeRank = (u64, Box<str>);

/// What a home knows of others of its place.
#[derive(Default)]
struct HomeTwins {
    /// Until the first look is over, no agent is answered.
    has_looked: bool,
    waiting: Vec<Message>,
    /// Whether there is another one, and whether that one is older.
    twin: Option<TwinHome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TwinHome {
    Older,
    Younger,
}

impl HomeTwins {
    fn answers(&self) -> bool {
        self.has_looked && self.twin != Some(TwinHome::Older)
    }

    /// `None`: it is not known yet.
    fn state(&self) -> Option<PlaceHomeState> {
        self.has_looked.then_some(match self.twin {
            None => PlaceHomeState::Connected,
            Some(_) => PlaceHomeState::TwoHomes { answers: self.answers() },
        })
    }

    fn note(&mut self, own: &HomeRank, other: &HomeRank) {
        if own.1 == other.1 {
            return;
        }
        let is_older = other < own;
        // An older one counts for more than a younger.
        if is_older || self.twin.is_none() {
            self.twin = Some(if is_older { TwinHome::Older } else { TwinHome::Younger });
        }
    }

    /// The answers of a look say all there is to know. Returns the agents that are to be answered now.
    fn note_look(&mut self, own: &HomeRank, answers: &[HelloAnswer]) -> Vec<Message> {
        self.twin = None;
        for answer in answers {
            self.note(own, &(answer.since_ms, answer.life.clone()));
        }
        self.has_looked = true;
        let waiting = std::mem::take(&mut self.waiting);
        if self.answers() { waiting } else { Vec::new() }
    }
}
