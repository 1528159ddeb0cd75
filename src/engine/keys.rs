//! Idempotency: a repeated call of one client under one key is one command.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Caller;
use super::history::RecordedKey;
use crate::lifecycle::{CallDigest, CallKey, Limits, limits};
use crate::protocol::{ClientId, CorrelationId, QueryId, Timestamp};

/// The idempotency keys of all clients, each with its command. Two clients may use the same key for
/// different calls.
#[derive(Debug, Default)]
pub(super) struct IdempotencyKeys(HashMap<Caller, ClientKeys>);

/// The keys of one client.
#[derive(Debug, Default)]
struct ClientKeys {
    known: HashMap<Arc<str>, KeyedCommand>,
    /// Oldest first.
    order: VecDeque<Arc<str>>,
}

/// The command that a key stands for.
#[derive(Clone, Debug)]
pub(super) struct KeyedCommand {
    pub(super) id: CorrelationId,
    pub(super) query_id: QueryId,
    accepted: Timestamp,
    /// The digest of its call. `None`: the journal is from before digests, and the record of the
    /// command was dropped.
    digest: Option<CallDigest>,
}

impl KeyedCommand {
    /// Whether this call is the one that the command was accepted for.
    pub(super) fn is_of(&self, call: &CallKey) -> bool {
        self.digest.is_none_or(|digest| digest == call.digest)
    }
}

impl IdempotencyKeys {
    /// The command for a key of this client.
    pub(super) fn find(&self, caller: &Caller, key: &str, now: Timestamp) -> Option<&KeyedCommand> {
        // An expired key stays until a newer one comes, so its age is checked here.
        let known = self.0.get(caller)?.known.get(key)?;
        is_fresh(known.accepted, now).then_some(known)
    }

    /// Adds a key. Returns the client's keys that are dropped for it: the expired ones, and the
    /// oldest if there are too many.
    pub(super) fn put(&mut self, kept: RecordedKey, limits: &Limits) -> Vec<Arc<str>> {
        let RecordedKey { owner, key, client, id, query_id, accepted, digest } = kept;
        let keys = self.0.entry(Caller { owner, client }).or_default();
        let mut dropped = Vec::new();
        while let Some(oldest) = keys.order.front() {
            let known = keys.known.get(oldest);
            let stays = known.is_some_and(|known| is_fresh(known.accepted, accepted));
            if stays && keys.order.len() < limits.idempotency_keys {
                break;
            }
            let Some(oldest) = keys.order.pop_front() else { break };
            keys.known.remove(&oldest);
            dropped.push(oldest);
        }
        keys.order.push_back(key.clone());
        keys.known.insert(key, KeyedCommand { id, query_id, accepted, digest });
        dropped
    }

    /// Forgets the key of a withdrawn command.
    pub(super) fn forget_command(&mut self, caller: &Caller, id: &CorrelationId) {
        let Some(ClientKeys { known, order }) = self.0.get_mut(caller) else { return };
        known.retain(|_, keyed| keyed.id != *id);
        order.retain(|key| known.contains_key(key));
    }

    /// Forgets the keys of a client.
    pub(super) fn forget_client(&mut self, client: &ClientId) {
        self.0.retain(|caller, _| caller.client != *client);
    }
}

/// Keys of commands that were accepted since this time are valid.
pub(super) fn fresh_since(now: Timestamp) -> Timestamp {
    now - limits::IDEMPOTENT
}

fn is_fresh(accepted: Timestamp, now: Timestamp) -> bool {
    accepted > fresh_since(now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_micros(10_000_000_000);

    fn put(
        keys: &mut IdempotencyKeys,
        client: &str,
        key: &str,
        accepted: Timestamp,
    ) -> Vec<String> {
        let kept = RecordedKey {
            owner: "user".into(),
            key: key.into(),
            client: client.into(),
            id: format!("exec_{key}").into(),
            query_id: "q".into(),
            accepted,
            digest: None,
        };
        let limits = Limits { idempotency_keys: 2, ..Limits::default() };
        keys.put(kept, &limits).into_iter().map(|key| key.to_string()).collect()
    }

    fn caller(client: &str) -> Caller {
        Caller { owner: "user".into(), client: client.into() }
    }

    fn knows(keys: &IdempotencyKeys, client: &str, key: &str, now: Timestamp) -> bool {
        keys.find(&caller(client), key, now).is_some()
    }

    #[test]
    fn a_key_stands_for_its_command_for_ten_minutes_and_for_its_client_only() {
        let mut keys = IdempotencyKeys::default();
        put(&mut keys, "ann", "1", NOW);
        let end = NOW + limits::IDEMPOTENT;
        assert!(knows(&keys, "ann", "1", end - Duration::from_micros(1)));
        assert!(!knows(&keys, "ann", "1", end));
        assert!(!knows(&keys, "bob", "1", NOW));
        let of_another_owner = Caller { owner: "other".into(), client: "ann".into() };
        assert!(keys.find(&of_another_owner, "1", NOW).is_none());
    }

    #[test]
    fn the_oldest_key_of_a_client_goes_when_it_has_too_many_or_its_time_is_over() {
        let mut keys = IdempotencyKeys::default();
        assert!(put(&mut keys, "ann", "1", NOW).is_empty());
        assert!(put(&mut keys, "ann", "2", NOW).is_empty());
        assert!(put(&mut keys, "bob", "3", NOW).is_empty());
        assert_eq!(put(&mut keys, "ann", "4", NOW), ["1"]);
        assert!(!knows(&keys, "ann", "1", NOW) && knows(&keys, "ann", "2", NOW));
        assert!(knows(&keys, "bob", "3", NOW));
        assert_eq!(put(&mut keys, "ann", "5", NOW + limits::IDEMPOTENT), ["2", "4"]);
    }

    #[test]
    fn a_forgotten_client_leaves_no_keys() {
        let mut keys = IdempotencyKeys::default();
        put(&mut keys, "ann", "1", NOW);
        keys.forget_client(&"ann".into());
        assert!(keys.0.is_empty());
    }

    #[test]
    fn a_key_whose_command_was_not_taken_is_free_and_costs_no_other_its_place() {
        let mut keys = IdempotencyKeys::default();
        put(&mut keys, "ann", "1", NOW);
        keys.forget_command(&caller("ann"), &"exec_1".into());
        assert!(!knows(&keys, "ann", "1", NOW));
        put(&mut keys, "ann", "2", NOW);
        assert!(put(&mut keys, "ann", "1", NOW).is_empty());
        assert!(knows(&keys, "ann", "1", NOW) && knows(&keys, "ann", "2", NOW));
    }
}
