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

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> FleetCallId {
        format!("{number:032x}").parse().unwrap()
    }

    fn open(
        calls: &mut FleetCalls<usize>,
        at: u64,
        owner: &str,
        number: usize,
    ) -> CallOpening<usize> {
        calls.open(Duration::from_secs(at), owner, id(number), false, || number)
    }

    #[test]
    fn an_owner_has_64_calls_and_32_streams_and_all_owners_have_1024() {
        let mut calls = FleetCalls::default();
        let stream = |calls: &mut FleetCalls<usize>, number| {
            calls.open(Duration::ZERO, "ci", id(number), true, || number)
        };
        for number in 0..32 {
            assert_eq!(stream(&mut calls, number), CallOpening::New);
        }
        assert_eq!(stream(&mut calls, 99), CallOpening::Busy);
        for number in 32..64 {
            assert_eq!(open(&mut calls, 0, "ci", number), CallOpening::New);
        }
        assert_eq!(open(&mut calls, 0, "ci", 64), CallOpening::Busy);
        assert_eq!(open(&mut calls, 0, "ci", 63), CallOpening::Known(63));
        for owner in 1..16 {
            for number in 0..64 {
                let opened = open(&mut calls, 0, &format!("agent-{owner}"), number);
                assert_eq!(opened, CallOpening::New, "{owner}");
            }
        }
        assert_eq!(open(&mut calls, 0, "another", 0), CallOpening::Busy, "1,024 are open");
        calls.close(Duration::ZERO, "ci", id(0));
        assert_eq!(open(&mut calls, 0, "another", 0), CallOpening::New);
    }

    #[test]
    fn the_id_of_a_closed_call_is_known_for_a_minute_and_does_not_run_again() {
        let mut calls = FleetCalls::default();
        assert_eq!(open(&mut calls, 0, "ci", 1), CallOpening::New);
        calls.close(Duration::from_secs(10), "ci", id(1));
        // The end of one may come before its beginning.
        calls.close(Duration::from_secs(10), "ci", id(2));
        for number in [1, 2] {
            assert_eq!(open(&mut calls, 69, "ci", number), CallOpening::Closed);
            assert_eq!(open(&mut calls, 69, "ann", number), CallOpening::New, "another owner's");
        }
        assert_eq!(calls.get("ci", id(1)), None);
        for number in [1, 2] {
            assert_eq!(open(&mut calls, 70, "ci", number), CallOpening::New);
        }
    }
}
