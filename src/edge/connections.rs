//! Which connections are open, and whose they have proved to be. Of those that have proved
//! nothing there are only so many, and the oldest has to go for a new one; and nobody can
//! take all the places by proving who they are.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::peer::PeerUser;
use crate::protocol::Owner;

/// How many connections may be open that have proved nothing.
pub(super) const UNPROVEN: usize = 64;

/// How many a holder keeps at least where there is no room for more.
const SHARE: usize = 64;

/// How many are closed at a time where the system has no room for more, and how many newcomers
/// get to prove who they are before that.
const ROOM: usize = 8;

/// All open connections.
#[derive(Clone, Debug)]
pub(super) struct ConnectionRegistry {
    state: Arc<Mutex<RegistryState>>,
    /// How many may be open.
    most: usize,
}

#[derive(Debug, Default)]
struct RegistryState {
    next: u64,
    all: usize,
    unproven: ConnectionsByAge,
    proven: HashMap<ConnectionHolder, ConnectionsByAge>,
}

/// Connections in the order in which they were opened.
type ConnectionsByAge = BTreeMap<u64, ConnectionHandle>;

/// Whose a connection has proved to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ConnectionHolder {
    /// The owner whose token came.
    Owner(Owner),
    /// The extension of this id.
    Extension(String),
}

/// An open connection, as those know it who serve its requests.
#[derive(Clone, Debug)]
pub(super) struct ConnectionHandle(Arc<ConnectionRecord>);

#[derive(Debug)]
struct ConnectionRecord {
    number: u64,
    user: PeerUser,
    holder: OnceLock<ConnectionHolder>,
    /// Further owners whose tokens came: a connection may serve several.
    others: Mutex<Vec<Owner>>,
    closing: CancellationToken,
    /// Its owner was removed: running requests still get their answer, which says so.
    ending: CancellationToken,
    /// How far the task is that serves it.
    served: Mutex<ServingStage>,
    /// Wakes those that wait for a stage. A channel for the stage would take 350 bytes of each connection.
    progress: Notify,
    open: ConnectionRegistry,
}

/// How far the task is that serves a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ServingStage {
    /// It has not read yet.
    Accepted,
    /// It has read, and is handling the input.
    Reading,
    /// It has read, and done all that follows at once from the bytes that had come.
    Read,
    /// It has closed the connection.
    Ended,
}

/// The place of a connection among those that are open, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit(ConnectionHandle);

impl ConnectionRegistry {
    /// With room for so many connections.
    pub(super) fn of(most: usize) -> Self {
        Self { state: Arc::default(), most }
    }

    /// A place for a new connection. Where there is none, another one is closed for it: the
    /// oldest that has proved nothing, or one of the holder with the most. `None`: all have proved
    /// who they are, and no holder exceeds its share.
    pub(super) fn permit(&self, user: PeerUser) -> Option<ConnectionPermit> {
        let mut open = self.lock();
        // Connections without a proof only displace each other.
        if open.unproven.len() >= UNPROVEN {
            open.close_oldest();
        }
        if open.all >= self.most && open.close_one().is_none() {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.all += 1;
        let (holder, closing) = (OnceLock::new(), CancellationToken::new());
        let ending = CancellationToken::new();
        let (served, progress) = (Mutex::new(ServingStage::Accepted), Notify::new());
        let others = Mutex::default();
        let open_ones = self.clone();
        let known = ConnectionRecord {
            number,
            user,
            holder,
            others,
            closing,
            ending,
            served,
            progress,
            open: open_ones,
        };
        let connection = ConnectionHandle(Arc::new(known));
        // Every connection starts unproven: the first valid token or proof moves it.
        open.unproven.insert(number, connection.clone());
        Some(ConnectionPermit(connection))
    }

    /// Whether the next one might cost another its place.
    pub(super) fn is_crowded(&self) -> bool {
        self.lock().unproven.len() >= UNPROVEN / 2
    }

    /// Closes some where the system has no room for more: these. None: nobody has more than their
    /// share.
    pub(super) fn make_room(&self) -> Vec<ConnectionHandle> {
        let mut open = self.lock();
        (0..ROOM).map_while(|_| open.close_one()).collect()
    }

    /// Closes the connections on which a token of one of these owners came.
    pub(super) fn close_of(&self, is_gone: impl Fn(&Owner) -> bool) {
        let mut open = self.lock();
        let RegistryState { all, unproven, proven, .. } = &mut *open;
        for held in std::iter::once(unproven).chain(proven.values_mut()) {
            for (_, connection) in held.extract_if(.., |_, held| held.0.is_of(&is_gone)) {
                // As `close` does: it counts no more, also if it takes a moment to go.
                *all -= 1;
                connection.0.ending.cancel();
            }
        }
        proven.retain(|_, held| !held.is_empty());
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegistryState {
    /// Closes the oldest of those that have proved nothing, or of the holder with the most.
    /// `None`: no holder exceeds its share.
    fn close_one(&mut self) -> Option<ConnectionHandle> {
        // A few may be new, and about to prove who they are.
        let few = if self.unproven.len() <= ROOM { self.close_one_of_most() } else { None };
        few.or_else(|| self.close_oldest()).or_else(|| self.close_one_of_most())
    }

    /// Closes the oldest of those that have proved nothing.
    fn close_oldest(&mut self) -> Option<ConnectionHandle> {
        let oldest = self.unproven.pop_first();
        self.close(oldest)
    }

    /// Closes the oldest of the holder with the most. `None`: no holder exceeds its share.
    fn close_one_of_most(&mut self) -> Option<ConnectionHandle> {
        // The one that holds the most loses first, so that filling the table costs its holder.
        let most = self.proven.values_mut().max_by_key(|held| held.len());
        let oldest = most.filter(|held| held.len() > SHARE).and_then(BTreeMap::pop_first);
        self.close(oldest)
    }

    fn close(&mut self, open: Option<(u64, ConnectionHandle)>) -> Option<ConnectionHandle> {
        let (_, connection) = open?;
        // It counts no more, also if it takes a moment to go.
        self.all -= 1;
        connection.0.closing.cancel();
        Some(connection)
    }

    /// Moves a connection to its holder's, unless it is closed already.
    fn prove(&mut self, number: u64, holder: &ConnectionHolder) {
        if let Some(connection) = self.unproven.remove(&number) {
            self.proven.entry(holder.clone()).or_default().insert(number, connection);
        }
    }

    fn remove(&mut self, known: &ConnectionRecord) {
        self.unproven.remove(&known.number);
        if let Some(holder) = known.holder.get()
            && let Some(held) = self.proven.get_mut(holder)
        {
            held.remove(&known.number);
            if held.is_empty() {
                self.proven.remove(holder);
            }
        }
        // `close` has subtracted a closed connection already.
        if !known.is_counted_out() {
            self.all -= 1;
        }
    }
}

impl ConnectionHandle {
    /// Notes the holder that a request has proved: the connection keeps its place. The first
    /// holder counts.
    pub(super) fn prove(&self, holder: ConnectionHolder) {
        match self.0.holder.set(holder) {
            Ok(()) => {
                if let Some(holder) = self.0.holder.get() {
                    self.0.open.lock().prove(self.0.number, holder);
                }
            }
            Err(ConnectionHolder::Owner(other)) => self.0.note_other(other),
            Err(ConnectionHolder::Extension(_)) => {}
        }
    }

    /// Whether the system has said that it is this user's.
    pub(super) fn is_ours(&self) -> bool {
        self.0.user == PeerUser::Ours
    }

    /// Notes that bytes were read.
    pub(super) fn note_bytes(&self) {
        self.0.note(ServingStage::Reading);
    }

    /// Notes that all is done that follows at once from the bytes that were read.
    pub(super) fn note_polled(&self) {
        if self.0.stage() == ServingStage::Reading {
            self.0.note(ServingStage::Read);
        }
    }

    /// Returns once the task that serves it has read for the first time.
    pub(super) async fn has_read(&self) {
        self.0.is(ServingStage::Read).await;
    }

    /// Returns once the connection is closed.
    pub(super) async fn has_ended(&self) {
        self.0.is(ServingStage::Ended).await;
    }

    /// Returns when the connection has to go once its running request has its answer.
    pub(super) async fn ending(&self) {
        self.0.ending.cancelled().await;
    }

    /// Returns when the connection has to go.
    pub(super) async fn closing(&self) {
        self.0.closing.cancelled().await;
    }
}

impl ConnectionRecord {
    /// Whether it was told to go: then it counts no more, also if it takes a moment to go.
    fn is_counted_out(&self) -> bool {
        self.closing.is_cancelled() || self.ending.is_cancelled()
    }

    /// Notes a further owner, once.
    fn note_other(&self, owner: Owner) {
        if self.holder.get() == Some(&ConnectionHolder::Owner(owner.clone())) {
            return;
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.contains(&owner) {
            others.push(owner);
        }
    }

    fn is_of(&self, is_it: impl Fn(&Owner) -> bool) -> bool {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let first = match self.holder.get() {
            Some(ConnectionHolder::Owner(owner)) => Some(owner),
            Some(ConnectionHolder::Extension(_)) | None => None,
        };
        first.into_iter().chain(others.iter()).any(is_it)
    }

    fn stage(&self) -> ServingStage {
        *self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, now: ServingStage) {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if now > *served {
            *served = now;
            drop(served);
            self.progress.notify_waiters();
        }
    }

    async fn is(&self, served: ServingStage) {
        loop {
            // Before the look: a change from here on ends the wait.
            let change = self.progress.notified();
            if self.stage() >= served {
                return;
            }
            change.await;
        }
    }
}

impl ConnectionPermit {
    /// The connection that has this place.
    pub(super) const fn connection(&self) -> &ConnectionHandle {
        &self.0
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let known = &*self.0.0;
        known.open.lock().remove(known);
        known.note(ServingStage::Ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many may be open.
    const ALL: usize = 1_024;

    fn is_closing(permit: &ConnectionPermit) -> bool {
        permit.0.0.is_counted_out()
    }

    #[test]
    fn the_oldest_of_64_that_have_proved_nothing_goes_for_a_new_one() {
        let open = ConnectionRegistry::of(ALL);
        let mut permits: Vec<_> =
            (0..UNPROVEN).map(|_| open.permit(PeerUser::Ours).unwrap()).collect();
        assert!(!permits.iter().any(is_closing));
        permits[0].connection().prove(of(0));
        permits.push(open.permit(PeerUser::Ours).unwrap());
        assert!(!permits.iter().any(is_closing), "one that has proved itself does not count");
        permits.push(open.permit(PeerUser::Ours).unwrap());
        let closing: Vec<_> = permits.iter().map(is_closing).collect();
        assert_eq!(closing.iter().position(|closing| *closing), Some(1), "the oldest");
        assert_eq!(closing.iter().filter(|closing| **closing).count(), 1);
    }

    #[test]
    fn a_connection_that_ends_makes_room() {
        let open = ConnectionRegistry::of(ALL);
        for _ in 0..3 {
            let permits: Vec<_> =
                (0..UNPROVEN).map(|_| open.permit(PeerUser::Ours).unwrap()).collect();
            assert!(!permits.iter().any(is_closing));
        }
        let lock = open.lock();
        assert_eq!((lock.all, lock.unproven.len()), (0, 0));
    }

    #[test]
    fn every_connection_on_which_a_removed_owners_token_came_is_closed_and_no_other() {
        let open = ConnectionRegistry::of(ALL);
        let owner = |name: &str| ConnectionHolder::Owner(name.into());
        let permits: Vec<_> = (0..4).map(|_| open.permit(PeerUser::Ours).unwrap()).collect();
        permits[0].connection().prove(owner("ci"));
        permits[1].connection().prove(owner("user"));
        permits[2].connection().prove(owner("user"));
        permits[2].connection().prove(owner("ci"));
        open.close_of(|owner| owner.as_str() == "ci");
        let closing: Vec<_> = permits.iter().map(is_closing).collect();
        assert_eq!(closing, [true, false, true, false]);
        drop(permits);
        let lock = open.lock();
        assert_eq!((lock.all, lock.proven.len(), lock.unproven.len()), (0, 0, 0));
    }

    fn of(number: usize) -> ConnectionHolder {
        ConnectionHolder::Extension(number.to_string())
    }

    /// A permit that this holder has proved to be theirs.
    fn proven(open: &ConnectionRegistry, holder: usize) -> ConnectionPermit {
        let permit = open.permit(PeerUser::Ours).unwrap();
        permit.connection().prove(of(holder));
        permit
    }

    #[test]
    fn where_all_have_proved_themselves_and_have_their_share_a_new_one_is_turned_away() {
        let open = ConnectionRegistry::of(ALL);
        let mut permits: Vec<_> = (1..ALL).map(|number| proven(&open, number / SHARE)).collect();
        let last = open.permit(PeerUser::Ours).unwrap();
        let newer = open.permit(PeerUser::Ours).unwrap();
        assert!(is_closing(&last), "one that has proved nothing goes first");
        newer.connection().prove(of(ALL));
        assert!(open.permit(PeerUser::Ours).is_none());
        assert!(open.make_room().is_empty());
        assert!(!permits.iter().any(is_closing));
        permits.pop();
        assert!(open.permit(PeerUser::Ours).is_some());
    }

    #[test]
    fn whoever_has_taken_all_places_gives_way_to_others() {
        let open = ConnectionRegistry::of(ALL);
        let extension = proven(&open, 0);
        let greedy: Vec<_> = (1..ALL).map(|_| proven(&open, 1)).collect();
        let others: Vec<_> = (0..SHARE).map(|_| proven(&open, 2)).collect();
        let closing: Vec<_> = greedy.iter().map(is_closing).collect();
        assert_eq!(closing.iter().position(|closing| !closing), Some(SHARE), "the oldest go");
        assert_eq!(closing.iter().filter(|closing| **closing).count(), SHARE);
        assert!(!others.iter().any(is_closing) && !is_closing(&extension));
        assert!(!open.make_room().is_empty(), "and where the system has no room");
        assert_eq!(greedy.iter().filter(|permit| is_closing(permit)).count(), SHARE + ROOM);
        drop((extension, greedy, others));
        let lock = open.lock();
        assert_eq!((lock.all, lock.proven.len(), lock.unproven.len()), (0, 0, 0));
    }

    #[tokio::test]
    async fn a_connection_has_read_once_all_is_done_that_its_bytes_lead_to() {
        let open = ConnectionRegistry::of(ALL);
        let permit = open.permit(PeerUser::Ours).unwrap();
        let connection = permit.connection().clone();
        let mut read = Box::pin(connection.has_read());
        connection.note_polled();
        assert!(futures_util::poll!(&mut read).is_pending(), "nothing has come");
        connection.note_bytes();
        assert!(futures_util::poll!(&mut read).is_pending(), "it is at it");
        connection.note_polled();
        assert!(futures_util::poll!(&mut read).is_ready());
        drop(permit);
        connection.has_ended().await;
    }
}
