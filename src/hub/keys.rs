//! Idempotency: under the same key, the same call is the same command.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::journal::KeptKey;
use crate::lifecycle::{Limits, limits};
use crate::protocol::{ClientId, CorrelationId, Moment, Owner, QueryId};

/// The keys that stand for a command, each for a while.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: HashMap<Owner, HashMap<Arc<str>, Keyed>>,
    /// Whose keys they are, oldest first.
    of: HashMap<ClientId, VecDeque<(Owner, Arc<str>)>>,
}

/// The command that a key stands for.
#[derive(Clone, Debug)]
pub(super) struct Keyed {
    pub(super) id: CorrelationId,
    pub(super) query_id: QueryId,
    accepted: Moment,
}

impl Keys {
    /// The command that this key stands for.
    pub(super) fn find(&self, owner: &Owner, key: &str, now: Moment) -> Option<&Keyed> {
        let known = self.known.get(owner)?.get(key)?;
        is_fresh(known.accepted, now).then_some(known)
    }

    /// Lets a key stand for a command. Returns the keys that go for it: those whose time is
    /// over, and the oldest if the client has too many.
    pub(super) fn put(&mut self, kept: KeptKey, limits: &Limits) -> Vec<(Owner, Arc<str>)> {
        let KeptKey { owner, key, client, id, query_id, accepted } = kept;
        let line = self.of.entry(client).or_default();
        line.push_back((owner.clone(), key.clone()));
        let of_owner = self.known.entry(owner).or_default();
        of_owner.insert(key, Keyed { id, query_id, accepted });
        let mut dropped = Vec::new();
        while let Some((owner, key)) = line.front() {
            let of_owner = self.known.get(owner);
            let oldest = of_owner.and_then(|keys| keys.get(key)).map(|keyed| keyed.accepted);
            let stays = oldest.is_some_and(|oldest| is_fresh(oldest, accepted));
            if stays && line.len() <= limits.idempotency_keys {
                break;
            }
            let Some((owner, key)) = line.pop_front() else { break };
            forget(&mut self.known, &owner, &key);
            dropped.push((owner, key));
        }
        dropped
    }

    /// Forgets the key of a command that was not taken after all.
    pub(super) fn forget_command(&mut self, owner: &Owner, id: &CorrelationId) {
        if let Some(of_owner) = self.known.get_mut(owner) {
            of_owner.retain(|_, keyed| keyed.id != *id);
        }
    }

    /// Forgets the keys of a client.
    pub(super) fn forget_client(&mut self, client: &ClientId) {
        for (owner, key) in self.of.remove(client).unwrap_or_default() {
            forget(&mut self.known, &owner, &key);
        }
    }
}

/// From when on keys still stand for their commands.
pub(super) fn fresh_since(now: Moment) -> Moment {
    now - limits::IDEMPOTENT
}

fn is_fresh(accepted: Moment, now: Moment) -> bool {
    accepted > fresh_since(now)
}

fn forget(known: &mut HashMap<Owner, HashMap<Arc<str>, Keyed>>, owner: &Owner, key: &str) {
    let Some(of_owner) = known.get_mut(owner) else { return };
    of_owner.remove(key);
    if of_owner.is_empty() {
        known.remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Moment = Moment::from_unix_micros(10_000_000_000);

    fn put(keys: &mut Keys, client: &str, key: &str, accepted: Moment) -> Vec<String> {
        let kept = KeptKey {
            owner: "user".into(),
            key: key.into(),
            client: client.into(),
            id: format!("exec_{key}").into(),
            query_id: "q".into(),
            accepted,
        };
        let limits = Limits { idempotency_keys: 2, ..Limits::default() };
        keys.put(kept, &limits).into_iter().map(|(_, key)| key.to_string()).collect()
    }

    fn knows(keys: &Keys, key: &str, now: Moment) -> bool {
        keys.find(&"user".into(), key, now).is_some()
    }

    #[test]
    fn a_key_stands_for_its_command_for_ten_minutes_and_for_its_owner_only() {
        let mut keys = Keys::default();
        put(&mut keys, "ann", "1", NOW);
        let end = NOW + limits::IDEMPOTENT;
        assert!(knows(&keys, "1", end - Duration::from_micros(1)));
        assert!(!knows(&keys, "1", end));
        assert!(keys.find(&"other".into(), "1", NOW).is_none());
    }

    #[test]
    fn the_oldest_key_of_a_client_goes_when_it_has_too_many_or_its_time_is_over() {
        let mut keys = Keys::default();
        assert!(put(&mut keys, "ann", "1", NOW).is_empty());
        assert!(put(&mut keys, "ann", "2", NOW).is_empty());
        assert!(put(&mut keys, "bob", "3", NOW).is_empty());
        assert_eq!(put(&mut keys, "ann", "4", NOW), ["1"]);
        assert!(!knows(&keys, "1", NOW) && knows(&keys, "2", NOW) && knows(&keys, "3", NOW));
        assert_eq!(put(&mut keys, "ann", "5", NOW + limits::IDEMPOTENT), ["2", "4"]);
    }

    #[test]
    fn a_forgotten_client_leaves_no_keys() {
        let mut keys = Keys::default();
        put(&mut keys, "ann", "1", NOW);
        keys.forget_client(&"ann".into());
        assert!(keys.known.is_empty() && keys.of.is_empty());
    }
}
