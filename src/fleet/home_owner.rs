//! The owners whose calls a home takes: each by a subscription and a task of its own, so that a flood of one ends
//! with it and the others are not touched.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Message, Subject};
use bytes::Bytes;
use hyper::{Method, Request};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::call::{BUSY_AFTER, CallReply, FleetRefusal, PART_MAX};
use super::connect::FleetConnection;
use super::flood::{CALL_BYTES, HELLO_BYTES};
use super::home::{OWNERS_KEPT, PlaceHome};
use super::home_call::{CallTask, WaitingReply};
use super::message::{self, BadRequest, FleetCallId, HEADERS_ROOM, ReceivedRequest};
use super::open_calls::CallOpening;
use super::subjects;
use super::subscription::{CreditEvent, CreditSubscription};
use crate::os;

/// For how long the subscription of an owner stays that sends nothing. Its next `hello` brings it back.
const OWNER_IDLE: Duration = Duration::from_secs(600);

/// How long the task of an owner may take to see whether it still hears the owner.
const DOUBT: Duration = Duration::from_millis(100);

/// How many requests of one call wait for its task.
const REQUESTS: usize = 4;

/// An owner whose calls are taken.
struct KnownOwner {
    task: AbortOnDropHandle<()>,
    /// Its task is asked here whether it still hears the owner.
    doubts: mpsc::Sender<oneshot::Sender<()>>,
}

/// The owners that have said `hello`.
pub(super) struct OwnerTasks {
    home: Arc<PlaceHome>,
    connection: FleetConnection,
    tasks: HashMap<Box<str>, KnownOwner>,
    /// Whether each has a subscription of its own for `hello`, too: the common one is flooded.
    own_hellos: watch::Sender<bool>,
}

impl OwnerTasks {
    pub(super) fn new(home: Arc<PlaceHome>, connection: FleetConnection) -> Self {
        let (own_hellos, _) = watch::channel(false);
        Self { home, connection, tasks: HashMap::new(), own_hellos }
    }

    /// Takes the calls of an owner from now on: what is published afterwards finds the subscription there.
    pub(super) async fn take(&mut self, owner: &str) {
        if let Some(known) = self.tasks.get(owner).filter(|known| !known.task.is_finished()) {
            // Its agents say `hello` where nobody hears their calls.
            let (done, is_done) = oneshot::channel();
            if known.doubts.try_send(done).is_ok() {
                let _ = timeout(DOUBT, is_done).await;
            }
            return;
        }
        if self.tasks.len() >= OWNERS_KEPT {
            // The others say `hello` again.
            self.tasks.clear();
        }
        let (home, connection) = (self.home.clone(), self.connection.clone());
        let subject = subjects::call(&home.place, &home.life, owner);
        let Some(calls) =
            CreditSubscription::open(connection.clone(), subject, CALL_BYTES, true).await
        else {
            return;
        };
        let own_hellos = self.own_hellos.subscribe();
        let (doubts, doubted) = mpsc::channel(1);
        let task = OwnerTask { home, connection, owner: owner.into(), calls, own_hellos, doubted };
        let task = AbortOnDropHandle::new(tokio::spawn(task.run()));
        self.tasks.insert(owner.into(), KnownOwner { task, doubts });
    }

    /// Takes nothing of anybody any more.
    pub(super) fn clear(&mut self) {
        self.tasks.clear();
    }

    /// The common subscription for `hello` is flooded: those that are known are heard by one of their own.
    pub(super) async fn hear_each(&mut self) {
        let known = self.home.listed_agents().into_iter().chain(self.tasks.keys().cloned());
        for owner in known.take(OWNERS_KEPT).collect::<Vec<_>>() {
            self.take(&owner).await;
        }
        self.own_hellos.send_replace(true);
    }

    /// It is not flooded any more.
    pub(super) fn hear_all(&self) {
        self.own_hellos.send_replace(false);
    }
}

/// The task of an owner.
struct OwnerTask {
    home: Arc<PlaceHome>,
    connection: FleetConnection,
    owner: Box<str>,
    calls: CreditSubscription,
    own_hellos: watch::Receiver<bool>,
    doubted: mpsc::Receiver<oneshot::Sender<()>>,
}

impl OwnerTask {
    async fn run(mut self) {
        let client = self.connection.client.clone();
        let mut hellos: Option<CreditSubscription> = None;
        // One that comes in the middle of a flood is heard at once.
        self.own_hellos.mark_changed();
        loop {
            let shut_for = self.calls.shut_for();
            tokio::select! {
                event = self.calls.next() => match event {
                    Some(CreditEvent::Message(call)) => self.take_call(&client, call, shut_for).await,
                    Some(CreditEvent::Shut(time)) => {
                        tracing::warn!(place = %self.home.place, agent = %self.owner, seconds = time.as_secs(), "an agent floods this place and is shut out");
                    }
                    Some(CreditEvent::Open) => {}
                    None => return,
                },
                event = next_hello(&mut hellos) => match event {
                    Some(CreditEvent::Message(hello)) => {
                        // Its agents say `hello` where nobody hears their calls.
                        if self.calls.doubt().await.is_none() {
                            return;
                        }
                        self.home.answer_hello(&client, &hello).await;
                    }
                    Some(CreditEvent::Shut(_) | CreditEvent::Open) => {}
                    None => return,
                },
                changed = self.own_hellos.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    hellos = None;
                    if *self.own_hellos.borrow_and_update() {
                        let subject = subjects::hello(&self.home.place, &self.owner);
                        let connection = self.connection.clone();
                        hellos = CreditSubscription::open(connection, subject, HELLO_BYTES, true).await;
                    }
                },
                Some(done) = self.doubted.recv() => {
                    if self.calls.doubt().await.is_none() {
                        return;
                    }
                    let _ = done.send(());
                }
                () = sleep(OWNER_IDLE), if hellos.is_none() => return,
            }
        }
    }

    /// Takes a message of the owner; `shut_for`: it has sent too many, and is told so.
    async fn take_call(&self, client: &Client, given: Message, shut_for: Option<Duration>) {
        let home = &self.home;
        let read = message::read_request(given.headers.as_ref(), &given.payload);
        // The end of a call needs no reply, so the permit for one is not asked for.
        if let Ok((id, ReceivedRequest::Close)) = &read {
            home.calls().close(os::time_with_sleep(), &self.owner, *id);
        }
        let Some((owner, reply)) = home.caller(&given) else { return };
        let refusal = match (read, shut_for) {
            (Ok((_, ReceivedRequest::Close)), _) => Some(FleetRefusal::Closed),
            (_, Some(time)) => Some(FleetRefusal::Busy(time)),
            (Ok((id, ReceivedRequest::Open(request))), None) => {
                open_call(home, client, owner, (id, *request), reply)
            }
            (Ok((id, ReceivedRequest::Next { from, most })), None) => {
                let way = home.calls().get(owner, id);
                let most = most.min(part_max(client));
                match way {
                    Some(way) => pass_on(&way, WaitingReply { to: reply.clone(), from, most }),
                    None => Some(FleetRefusal::UnknownCall),
                }
            }
            (Err(BadRequest(why)), None) => Some(why),
        };
        if let Some(why) = refusal {
            send_reply(client, reply, CallReply::Refused(why)).await;
        }
    }
}

async fn next_hello(hellos: &mut Option<CreditSubscription>) -> Option<CreditEvent> {
    match hellos {
        Some(hellos) => hellos.next().await,
        None => std::future::pending().await,
    }
}

/// Begins a call, or finds it. A refusal is for its caller.
fn open_call(
    home: &PlaceHome,
    client: &Client,
    owner: &str,
    (id, request): (FleetCallId, Request<Bytes>),
    reply: &Subject,
) -> Option<FleetRefusal> {
    let first = WaitingReply { to: reply.clone(), from: 0, most: part_max(client) };
    let is_stream = request.method() == Method::GET;
    let (way, requests) = mpsc::channel(REQUESTS);
    let now = os::time_with_sleep();
    let opening = home.calls().open(now, owner, id, is_stream, || way.clone());
    match opening {
        CallOpening::New => {}
        CallOpening::Known(way) => return pass_on(&way, first),
        CallOpening::Closed => return Some(FleetRefusal::Closed),
        CallOpening::Busy => return Some(FleetRefusal::Busy(BUSY_AFTER)),
    }
    let daemon = home.daemon(owner);
    let (calls, owner) = (home.calls.clone(), Box::from(owner));
    let task = CallTask { client: client.clone(), calls, owner, id, requests };
    tokio::spawn(task.run(daemon, request, first));
    None
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
