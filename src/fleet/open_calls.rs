//! The calls that are open at a home, by owner and id, pure: an owner has a share of them, and a call that was
//! closed does not run again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::message::FleetCallId;

/// How many calls an owner may have open.
const OWNER_CALLS: usize = 64;

/// How many of them may be streams, which stay open for as long as their agent: calls have the rest.
const OWNER_STREAMS: usize = 32;

/// How many calls may be open.
const CALLS: usize = 1_024;

/// For how long the id of a closed call is known.
const KNOWN: Duration = Duration::from_secs(60);

/// How many ids of closed calls an owner leaves at most. The oldest is forgotten first.
const OWNER_CLOSED: usize = 16_384;

/// An open call, with its way to the task that answers it.
struct FleetCall<T> {
    is_stream: bool,
    way: T,
}

/// The calls of one owner.
struct OwnerCalls<T> {
    open: HashMap<FleetCallId, FleetCall<T>>,
    closed: HashMap<FleetCallId, Duration>,
    closings: VecDeque<(Duration, FleetCallId)>,
}

/// All of them.
pub(super) struct FleetCalls<T> {
    owners: HashMap<Box<str>, OwnerCalls<T>>,
    open: usize,
}

/// What comes of an `open`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallOpening<T> {
    /// It is a new one, and counted.
    New,
    /// It runs.
    Known(T),
    /// It was closed.
    Closed,
    /// There are too many.
    Busy,
}

impl<T> Default for FleetCalls<T> {
    fn default() -> Self {
        Self { owners: HashMap::new(), open: 0 }
    }
}

impl<T> Default for OwnerCalls<T> {
    fn default() -> Self {
        Self { open: HashMap::new(), closed: HashMap::new(), closings: VecDeque::new() }
    }
}

impl<T> OwnerCalls<T> {
    fn forget_old(&mut self, now: Duration) {
        while let Some(&(closed, id)) = self.closings.front()
            && (now.saturating_sub(closed) >= KNOWN || self.closings.len() > OWNER_CLOSED)
        {
            self.closings.pop_front();
            // It may have been closed again since.
            if self.closed.get(&id) == Some(&closed) {
                self.closed.remove(&id);
            }
        }
    }
}

impl<T: Clone> FleetCalls<T> {
    /// Opens a call, whose task is reached by this way.
    pub(super) fn open(
        &mut self,
        now: Duration,
        owner: &str,
        id: FleetCallId,
        is_stream: bool,
        way: impl FnOnce() -> T,
    ) -> CallOpening<T> {
        self.forget_idle_owners(now);
        let owned = self.owners.entry(owner.into()).or_default();
        if let Some(known) = owned.open.get(&id) {
            return CallOpening::Known(known.way.clone());
        }
        if owned.closed.contains_key(&id) {
            return CallOpening::Closed;
        }
        let n_streams = owned.open.values().filter(|call| call.is_stream).count();
        let is_full = owned.open.len() >= OWNER_CALLS || (is_stream && n_streams >= OWNER_STREAMS);
        if is_full || self.open >= CALLS {
            return CallOpening::Busy;
        }
        owned.open.insert(id, FleetCall { is_stream, way: way() });
        self.open += 1;
        CallOpening::New
    }

    /// The way to the task of a call.
    pub(super) fn get(&self, owner: &str, id: FleetCallId) -> Option<T> {
        self.owners.get(owner)?.open.get(&id).map(|call| call.way.clone())
    }

    /// Closes a call. Its id is known for a while; one that was never open is closed as well: its `open` may come late.
    pub(super) fn close(&mut self, now: Duration, owner: &str, id: FleetCallId) {
        let owned = self.owners.entry(owner.into()).or_default();
        if owned.open.remove(&id).is_some() {
            self.open -= 1;
        }
        owned.closed.insert(id, now);
        owned.closings.push_back((now, id));
        owned.forget_old(now);
    }

    fn forget_idle_owners(&mut self, now: Duration) {
        self.owners.retain(|_, owned| {
            owned.forget_old(now);
            !owned.open.is_empty() || !owned.closed.is_empty()
        });
    }
}
