//! The history of each client: its newest results, a ring of its failures, and tombstones, so that a
//! late question gets `expired` rather than `not_found`.

use std::collections::{HashMap, VecDeque};

use super::{ExpiryReason, Limits};
use crate::protocol::{ClientId, CorrelationId, FailedCommand, Owner, Timestamp};

/// The histories of all clients. They hold ids only, except for failures.
#[derive(Debug, Default)]
pub struct Retention {
    histories: HashMap<ClientId, ClientHistory>,
    tombstones: HashMap<CorrelationId, Tombstone>,
}

/// The history of one client.
#[derive(Debug, Default)]
struct ClientHistory {
    ended: VecDeque<RetainedResult>,
    failures: VecDeque<FailedCommand>,
    tombstones: VecDeque<CorrelationId>,
}

#[derive(Debug)]
struct RetainedResult {
    id: CorrelationId,
    read: bool,
}

/// The memory of a command whose record was dropped.
#[derive(Clone, Debug)]
pub struct Tombstone {
    /// The only owner who may know of the command.
    pub owner: Owner,
    /// When its record was dropped.
    pub at: Timestamp,
    /// Whether it may have begun in the page.
    pub may_have_run: bool,
}

impl Retention {
    /// Keeps the result of a command that has just ended. If that is one too many for the client,
    /// returns the command to drop: the oldest that was read, else the oldest.
    #[must_use]
    pub fn keep(
        &mut self,
        client: &ClientId,
        id: CorrelationId,
        limits: &Limits,
    ) -> Option<CorrelationId> {
        let ended = &mut self.histories.entry(client.clone()).or_default().ended;
        ended.push_back(RetainedResult { id, read: false });
        if ended.len() <= limits.retained {
            return None;
        }
        // A result that was read is in its caller's hands; an unread one would be lost.
        let oldest_read = ended.iter().position(|kept| kept.read);
        ended.remove(oldest_read.unwrap_or(0)).map(|kept| kept.id)
    }

    /// Marks an ended command as read.
    pub fn mark_read(&mut self, client: &ClientId, id: &CorrelationId) {
        let Some(history) = self.histories.get_mut(client) else { return };
        // From the newest on, because outcomes are mostly read right after the end.
        if let Some(kept) = history.ended.iter_mut().rev().find(|kept| kept.id == *id) {
            kept.read = true;
        }
    }

    /// Lists a failure (rows 2, 20 and 21). The oldest failures leave when there are too many.
    pub fn list_failure(&mut self, client: &ClientId, failure: FailedCommand, limits: &Limits) {
        let failures = &mut self.histories.entry(client.clone()).or_default().failures;
        failures.push_back(failure);
        while failures.len() > limits.failures {
            failures.pop_front();
        }
    }

    /// Forgets a client's failures, but for those of these commands.
    pub fn forget_failures(&mut self, client: &ClientId, stays: impl Fn(&CorrelationId) -> bool) {
        if let Some(history) = self.histories.get_mut(client) {
            history.failures.retain(|failure| stays(&failure.correlation_id));
        }
    }

    /// The client's failures, oldest first.
    pub fn failures(&self, client: &ClientId) -> impl Iterator<Item = &FailedCommand> {
        self.histories.get(client).into_iter().flat_map(|history| &history.failures)
    }

    /// The client's ended commands with a record, oldest first.
    pub fn kept(&self, client: &ClientId) -> impl Iterator<Item = &CorrelationId> {
        self.histories
            .get(client)
            .into_iter()
            .flat_map(|history| history.ended.iter().map(|k| &k.id))
    }

    /// Drops the record of a command (rows 19 and 20) and leaves a tombstone. A result that nobody
    /// has read joins the failures as `unread`. If the client has too many tombstones, returns the
    /// id of the one that is forgotten.
    pub fn evict(
        &mut self,
        client: &ClientId,
        id: &CorrelationId,
        gone: Tombstone,
        unread: Option<FailedCommand>,
        limits: &Limits,
    ) -> Option<CorrelationId> {
        if let Some(failure) = unread.filter(|_| self.histories.contains_key(client)) {
            self.list_failure(client, failure, limits);
        }
        // A forgotten client leaves no tombstones: nothing would ever clear them.
        let history = self.histories.get_mut(client)?;
        // Usually the oldest is dropped, so the search ends at once.
        if let Some(at) = history.ended.iter().position(|kept| kept.id == *id) {
            history.ended.remove(at);
        }
        self.add_tombstone(client, id, gone, limits)
    }

    /// Adds a tombstone. If the client has too many, returns the id of the one that is forgotten.
    pub fn add_tombstone(
        &mut self,
        client: &ClientId,
        id: &CorrelationId,
        gone: Tombstone,
        limits: &Limits,
    ) -> Option<CorrelationId> {
        let tombstones = &mut self.histories.entry(client.clone()).or_default().tombstones;
        tombstones.push_back(id.clone());
        self.tombstones.insert(id.clone(), gone);
        if tombstones.len() <= limits.tombstones {
            return None;
        }
        let oldest = tombstones.pop_front()?;
        self.tombstones.remove(&oldest);
        Some(oldest)
    }

    /// The tombstone of a command.
    #[must_use]
    pub fn tombstone(&self, id: &CorrelationId) -> Option<&Tombstone> {
        self.tombstones.get(id)
    }

    /// Forgets everything of one client.
    pub fn forget_client(&mut self, client: &ClientId) {
        let Some(history) = self.histories.remove(client) else { return };
        for id in history.tombstones {
            self.tombstones.remove(&id);
        }
    }
}

impl Tombstone {
    /// The reason that a late question gets.
    pub const REASON: ExpiryReason = ExpiryReason::ResultExpired;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::CommandAim;

    const NOW: Timestamp = Timestamp::from_unix_micros(1_000_000);

    fn limits() -> Limits {
        Limits { retained: 3, failures: 2, tombstones: 2, ..Limits::default() }
    }

    fn evict(retention: &mut Retention, id: &str, unread: Option<FailedCommand>) {
        let _ = retention.keep(&"ann".into(), id.into(), &limits());
        let gone = Tombstone { owner: "user".into(), at: NOW, may_have_run: true };
        let _ = retention.evict(&"ann".into(), &id.into(), gone, unread, &limits());
    }

    fn failure(id: &str) -> FailedCommand {
        FailedCommand {
            correlation_id: id.into(),
            aim: CommandAim::default(),
            error: "queue_full".into(),
            at: NOW,
            expired_at: None,
            hint: "wait".into(),
            message: None,
        }
    }

    #[test]
    fn the_oldest_read_result_goes_first_and_else_the_oldest() {
        let mut retention = Retention::default();
        let ann = ClientId::from("ann");
        for id in ["1", "2", "3"] {
            assert_eq!(retention.keep(&ann, id.into(), &limits()), None);
        }
        retention.mark_read(&ann, &"2".into());
        assert_eq!(retention.keep(&ann, "4".into(), &limits()), Some("2".into()));
        assert_eq!(retention.keep(&ann, "5".into(), &limits()), Some("1".into()));
    }

    #[test]
    fn what_is_kept_is_listed_oldest_first_until_it_goes() {
        let mut retention = Retention::default();
        let ann = ClientId::from("ann");
        for id in ["1", "2", "3"] {
            let _ = retention.keep(&ann, id.into(), &limits());
        }
        let gone = Tombstone { owner: "user".into(), at: NOW, may_have_run: true };
        retention.evict(&ann, &"2".into(), gone, None, &limits());
        let kept: Vec<_> = retention.kept(&ann).map(CorrelationId::as_str).collect();
        assert_eq!(kept, ["1", "3"]);
        assert_eq!(retention.kept(&"bob".into()).count(), 0);
    }

    #[test]
    fn the_failure_ring_keeps_the_newest() {
        let mut retention = Retention::default();
        let ann = ClientId::from("ann");
        for id in ["1", "2", "3"] {
            retention.list_failure(&ann, failure(id), &limits());
        }
        let listed: Vec<_> = retention.failures(&ann).map(|f| f.correlation_id.as_str()).collect();
        assert_eq!(listed, ["2", "3"]);
        assert_eq!(retention.failures(&"bob".into()).count(), 0);
    }

    #[test]
    fn an_unread_result_joins_the_failures_when_it_goes_and_a_read_one_does_not() {
        let mut retention = Retention::default();
        evict(&mut retention, "read", None);
        evict(&mut retention, "unread", Some(failure("unread")));
        let ann = ClientId::from("ann");
        let listed: Vec<_> = retention.failures(&ann).collect();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].correlation_id.as_str(), "unread");
    }

    #[test]
    fn a_forgotten_client_leaves_nothing_behind() {
        let mut retention = Retention::default();
        let _ = retention.keep(&"ann".into(), "1".into(), &limits());
        retention.forget_client(&"ann".into());
        let gone = Tombstone { owner: "user".into(), at: NOW, may_have_run: true };
        let unread = Some(failure("1"));
        let gone = retention.evict(&"ann".into(), &"1".into(), gone, unread, &limits());
        assert_eq!(gone, None);
        assert!(retention.histories.is_empty() && retention.tombstones.is_empty());
    }

    #[test]
    fn tombstones_are_bounded_and_go_with_their_client() {
        let mut retention = Retention::default();
        for id in ["1", "2", "3"] {
            evict(&mut retention, id, None);
        }
        assert!(retention.tombstone(&"1".into()).is_none());
        assert!(retention.tombstone(&"2".into()).is_some());
        assert!(retention.tombstone(&"3".into()).is_some());
        retention.forget_client(&"ann".into());
        assert!(retention.tombstone(&"3".into()).is_none());
        assert!(retention.tombstones.is_empty());
    }
}
