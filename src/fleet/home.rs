//! The home of a place: takes the calls of its tenant's agents from the NATS servers, and passes each on to the
//! daemon of this machine as the owner that the server vouches for.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Client, Message, Subject};
use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::call::HELLO_SILENCE;
use super::connect::{FleetConnectError, FleetConnection, HelloAnswer, ServerOrder, is_life};
use super::flood::HELLO_BYTES;
use super::home_call::WaitingReply;
use super::home_owner::OwnerTasks;
use super::keys::{AgentName, PlaceKey};
use super::message::{self, VERSION};
use super::open_calls::FleetCalls;
use super::subjects::{self, HOME_WORD};
use super::subscription::{CreditEvent, CreditSubscription, next_of};
use crate::bridge::{DaemonTarget, LocalDaemon};
use crate::home::{StateDirectory, StateDirectoryError};
use crate::hub::ClockSample;
use crate::protocol::{Owner, SERVER_VERSION};
use crate::reach::HomeDaemon;

/// How often a home looks for another one of its place.
const LOOK: Duration = Duration::from_secs(60);

/// The same after a look that nobody has answered.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How often agents are asked to ask again, at most.
const ASK_APART: Duration = Duration::from_millis(500);

/// How often a home looks whether its server is there.
const SERVER_LOOK: Duration = Duration::from_secs(1);

/// The shortest and the longest pause before a home connects again that no server has let in.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How many agents' `hello` wait for the first look.
const HELLOS_WAITING: usize = 64;

/// How many owners' subscriptions and ways to the daemon are kept.
pub(super) const OWNERS_KEPT: usize = 1_024;

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

/// Connects once as the home of a place, and takes no call.
///
/// # Errors
///
/// [`FleetConnectError`].
pub async fn try_home(key: &PlaceKey) -> Result<(), FleetConnectError> {
    connect(key).await.map(|_| ())
}

async fn connect(key: &PlaceKey) -> Result<FleetConnection, FleetConnectError> {
    let inbox = subjects::home_inbox(key.place.as_str());
    let name = format!("tabwire place {}", key.place);
    let seed = key.seed.expose();
    FleetConnection::open(&key.servers, seed, &inbox, &name, ServerOrder::Any).await
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
        let why = match connect(key).await {
            Ok(connection) => {
                pause = PAUSE;
                let silence = tell_of_silence(connection.clone(), &state);
                tokio::select! {
                    why = home.clone().serve(connection, &state) => why,
                    () = silence => continue,
                }
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

/// Says so while no server is there: the connection comes back by itself, and its end alone tells nobody.
async fn tell_of_silence(connection: FleetConnection, state: &watch::Sender<PlaceHomeState>) {
    let away = PlaceHomeState::Connecting(Some("no NATS server answers".to_owned()));
    let mut before = None;
    loop {
        sleep(SERVER_LOOK).await;
        match (connection.is_connected(), before.take()) {
            (true, None) => {}
            (false, None) => before = Some(state.send_replace(away.clone())),
            (false, known) => before = known,
            (true, Some(was)) => {
                // Anything newer stays.
                let restore = |now: &mut _| *now == away && std::mem::replace(now, was) == away;
                state.send_if_modified(restore);
            }
        }
    }
}

/// A home of a place.
pub(super) struct PlaceHome {
    pub(super) place: Box<str>,
    /// Which start of the home this is.
    pub(super) life: Box<str>,
    since_ms: u64,
    passage: HomePassage,
    daemons: Mutex<HashMap<Box<str>, HomeDaemon>>,
    pub(super) calls: Arc<Mutex<FleetCalls<mpsc::Sender<WaitingReply>>>>,
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
        let gone = || FleetConnectError::Unreachable("the connection was closed".into());
        let hellos = subjects::hello(&self.place, "*");
        let opened = CreditSubscription::open(connection.clone(), hellos, HELLO_BYTES, false).await;
        let Some(mut hellos) = opened else { return gone() };
        // While the other one is flooded: no message may come by two.
        let mut own_hellos = None;
        let _asking = AbortOnDropHandle::new(tokio::spawn(self.clone().ask_again(&connection)));
        let (looks, mut looked) = mpsc::channel(1);
        let looking = self.clone().look(connection.clone(), looks);
        let _looking = AbortOnDropHandle::new(tokio::spawn(looking));
        let mut owners = OwnerTasks::new(self.clone(), connection.clone());
        let mut twins = HomeTwins::default();
        loop {
            tokio::select! {
                hello = next_of(&mut own_hellos) => match hello {
                    Some(hello) => self.take_own_hello(&client, &hello, &mut twins).await,
                    None => return gone(),
                },
                event = hellos.next() => match event {
                    Some(CreditEvent::Message(hello)) => {
                        self.take_hello(&client, hello, &mut twins, &mut owners).await;
                    }
                    Some(CreditEvent::Shut(_)) => {
                        let own = subjects::hello(&self.place, HOME_WORD);
                        own_hellos = client.subscribe(own).await.ok();
                        owners.hear_each().await;
                    }
                    Some(CreditEvent::Open) => {
                        own_hellos = None;
                        owners.hear_all();
                    }
                    None => return gone(),
                },
                Some(answers) = looked.recv() => {
                    let Some(answers) = answers else {
                        // Not even this home heard it.
                        if hellos.doubt().await.is_none() {
                            return gone();
                        }
                        continue;
                    };
                    for hello in twins.note_look(&self.rank(), &answers) {
                        self.welcome(&client, &hello, &mut owners).await;
                    }
                }
                connected = connection.next_connect() => if let Err(why) = connected {
                    return why;
                },
            }
            if !twins.answers() {
                owners.clear();
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
        looks: mpsc::Sender<Option<Vec<HelloAnswer>>>,
    ) {
        let subject = subjects::hello(&self.place, HOME_WORD);
        loop {
            let asks = message::own_hello(&self.life, self.since_ms);
            // Its own answer is always among them.
            let answers = connection.hello(subject.clone(), asks, HELLO_SILENCE).await.ok();
            let pause = if answers.is_some() { LOOK } else { LOOK_AGAIN };
            if looks.send(answers).await.is_err() {
                return;
            }
            sleep(pause).await;
        }
    }

    /// Asks all agents to ask again for what they wait for, whenever the server has forgotten that this home may reply, or
    /// there is another server.
    fn ask_again(
        self: Arc<Self>,
        connection: &FleetConnection,
    ) -> impl Future<Output = ()> + use<> {
        let (mut connection, mut refusals) = (connection.clone(), connection.refusals());
        async move {
            loop {
                tokio::select! {
                    () = refusals.of_replies() => {}
                    () = connection.connects_again() => {}
                }
                let (subject, life) = (subjects::again(&self.place), self.life.to_string());
                if let Err(error) = connection.client.publish(subject, life.into()).await {
                    tracing::debug!(%error, "agents were not asked to ask again");
                }
                sleep(ASK_APART).await;
            }
        }
    }

    /// Of two homes the one of the lower rank answers.
    fn rank(&self) -> HomeRank {
        (self.since_ms, self.life.clone())
    }

    /// Another home of this place looks for others, or this one does.
    async fn take_own_hello(&self, client: &Client, hello: &Message, twins: &mut HomeTwins) {
        let reply = hello.reply.as_deref().unwrap_or_default();
        if !subjects::is_home_inbox(&self.place, reply) {
            return;
        }
        if let Some((life, since_ms)) = message::read_own_hello(hello.headers.as_ref())
            && is_life(life)
        {
            twins.note(&self.rank(), &(since_ms, life.into()));
        }
        self.answer_hello(client, hello).await;
    }

    async fn take_hello(
        &self,
        client: &Client,
        hello: Message,
        twins: &mut HomeTwins,
        owners: &mut OwnerTasks,
    ) {
        if subjects::owner_of(&hello.subject) == Some(HOME_WORD) {
            self.take_own_hello(client, &hello, twins).await;
        } else if twins.answers() {
            self.welcome(client, &hello, owners).await;
        } else if !twins.has_looked && twins.waiting.len() < HELLOS_WAITING {
            twins.waiting.push(Message { payload: Bytes::new(), ..hello });
        }
    }

    /// Answers an agent, whose calls are taken from then on.
    async fn welcome(&self, client: &Client, hello: &Message, owners: &mut OwnerTasks) {
        if let Some((owner, _)) = self.caller(hello) {
            owners.take(owner).await;
            self.answer_hello(client, hello).await;
        }
    }

    pub(super) async fn answer_hello(&self, client: &Client, hello: &Message) {
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
    pub(super) fn caller<'a>(&self, message: &'a Message) -> Option<(&'a str, &'a Subject)> {
        let owner = subjects::owner_of(&message.subject)?;
        let reply = message.reply.as_ref()?;
        let is_own = match owner {
            HOME_WORD => subjects::is_home_inbox(&self.place, reply),
            owner => owner.parse::<AgentName>().is_ok() && subjects::is_inbox_of(owner, reply),
        };
        is_own.then_some((owner, reply))
    }

    /// The way to the daemon as this owner.
    pub(super) fn daemon(&self, owner: &str) -> Result<HomeDaemon, String> {
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

    /// The agents elsewhere that are listed on this machine: of them some are this team's.
    pub(super) fn listed_agents(&self) -> Vec<Box<str>> {
        let home = StateDirectory::open(&self.passage.dir).ok();
        let listed = home.and_then(|home| home.owners().read().ok().flatten());
        let names = listed.iter().flat_map(|listed| listed.entries()).filter_map(|entry| {
            let agent = entry.name.split('@').next()?.parse::<AgentName>().ok()?;
            entry.kind.is_elsewhere().then(|| agent.as_str().into())
        });
        names.collect()
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, FleetCalls<mpsc::Sender<WaitingReply>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
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
