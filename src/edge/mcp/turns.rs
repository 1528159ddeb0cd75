//! The turns of calls from another machine. A client there sends its commands without waiting for one another, since
//! each wait would cost the way there and back; each names the one before it, and is taken up after that one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::HttpError;
use crate::protocol::Owner;

/// How long a call waits for the one before it. Its client then waits for that one itself.
const TURN: Duration = Duration::from_secs(2);

/// How many of an owner's calls are remembered: more than are on their way at a time.
const CALLS_KEPT: usize = 512;

/// Of how many owners.
const OWNERS_KEPT: usize = 1_024;

/// Which calls have been taken up.
#[derive(Debug, Default)]
pub(in crate::edge) struct CallTurns(Mutex<HashMap<Owner, OwnerTurns>>);

#[derive(Debug, Default)]
struct OwnerTurns {
    /// The keys of calls that were taken up or refused, the oldest first.
    taken: VecDeque<Arc<str>>,
    /// Those that others wait for.
    awaited: HashMap<Arc<str>, Arc<Notify>>,
}

impl CallTurns {
    /// A call was taken up, or refused for good.
    pub(super) fn note(&self, owner: &Owner, key: &Arc<str>) {
        let mut turns = self.lock();
        if turns.len() >= OWNERS_KEPT && !turns.contains_key(owner) {
            // Those who wait find nothing, and wait at their own end.
            turns.clear();
        }
        let turns = turns.entry(owner.clone()).or_default();
        if turns.taken.contains(key) {
            return;
        }
        if turns.taken.len() >= CALLS_KEPT {
            turns.taken.pop_front();
        }
        turns.taken.push_back(key.clone());
        if let Some(waiting) = turns.awaited.remove(key) {
            waiting.notify_waiters();
        }
    }

    /// Waits until the call with this key was taken up.
    ///
    /// # Errors
    ///
    /// [`HttpError::OutOfTurn`] if that takes too long.
    pub(super) async fn wait_for(&self, owner: &Owner, key: &Arc<str>) -> Result<(), HttpError> {
        let (waiting, taken) = {
            let mut turns = self.lock();
            let turns = turns.entry(owner.clone()).or_default();
            if turns.taken.contains(key) {
                return Ok(());
            }
            let waiting = turns.awaited.entry(key.clone()).or_default().clone();
            // It hears what is told from here on.
            (AwaitedCall { turns: self, owner, key }, waiting.notified_owned())
        };
        let is_taken = timeout(TURN, taken).await.is_ok();
        drop(waiting);
        if is_taken { Ok(()) } else { Err(HttpError::OutOfTurn) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, OwnerTurns>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that another one waits for; nothing of it stays once nobody does.
struct AwaitedCall<'a> {
    turns: &'a CallTurns,
    owner: &'a Owner,
    key: &'a Arc<str>,
}

impl Drop for AwaitedCall<'_> {
    fn drop(&mut self) {
        let mut turns = self.turns.lock();
        let Some(turns) = turns.get_mut(self.owner) else { return };
        // Its own wait is over: the list alone has it.
        let is_last = |waiting: &Arc<Notify>| Arc::strong_count(waiting) == 1;
        if turns.awaited.get(self.key).is_some_and(is_last) {
            turns.awaited.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        name.into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_the_one_before_it_and_for_two_seconds_at_most() {
        let turns = Arc::new(CallTurns::default());
        let (own, key): (_, Arc<str>) = (owner("box"), "a".into());
        let waits = tokio::spawn({
            let (turns, own, key) = (turns.clone(), own.clone(), key.clone());
            async move { turns.wait_for(&own, &key).await }
        });
        tokio::time::sleep(TURN / 2).await;
        turns.note(&owner("other"), &key);
        assert!(!waits.is_finished(), "another owner's");
        turns.note(&own, &key);
        assert_eq!(waits.await.unwrap(), Ok(()));
        assert_eq!(turns.wait_for(&own, &key).await, Ok(()), "it was taken before");
        let never: Arc<str> = "b".into();
        let moment = Duration::from_millis(1);
        assert!(timeout(TURN - moment, turns.wait_for(&own, &never)).await.is_err());
        let refused = timeout(TURN + moment, turns.wait_for(&own, &never)).await;
        assert_eq!(refused, Ok(Err(HttpError::OutOfTurn)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded_and_no_wait_is_left_behind() {
        let turns = CallTurns::default();
        for n in 0..2 * OWNERS_KEPT {
            turns.note(&owner(&format!("o{n}")), &"a".into());
        }
        assert!(turns.lock().len() <= OWNERS_KEPT);
        let own = owner("box");
        for n in 0..2 * CALLS_KEPT {
            turns.note(&own, &format!("{n}").into());
        }
        assert_eq!(turns.lock()[&own].taken.len(), CALLS_KEPT);
        let (first, second): (Arc<str>, Arc<str>) = ("never".into(), "never".into());
        let (one, two) = tokio::join!(turns.wait_for(&own, &first), turns.wait_for(&own, &second));
        assert_eq!((one, two), (Err(HttpError::OutOfTurn), Err(HttpError::OutOfTurn)));
        assert!(turns.lock()[&own].awaited.is_empty());
        // One whose connection breaks meanwhile.
        let broken = timeout(TURN / 2, turns.wait_for(&own, &first)).await;
        assert!(broken.is_err() && turns.lock()[&own].awaited.is_empty());
    }
}
