//! The calls in progress, by who made them and under which request id, so that a cancel
//! finds its call and never another one.
//!
//! A call is in here for as long as its [`CallInProgress`] lives, so there are never more
//! entries than calls. A cancel that finds none has no effect, and none is kept for later:
//! clients use ids again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

use super::message::RequestId;
use crate::protocol::CorrelationId;

/// The calls in progress of all who call, each a `W`. Cheap to clone; all clones are the
/// same book.
#[derive(Clone, Debug)]
pub struct CallRegistry<W: Eq + Hash>(Arc<Mutex<CallTable<W>>>);

type CallTable<W> = HashMap<(W, RequestId), Vec<Arc<RegisteredCall>>>;

#[derive(Debug)]
struct RegisteredCall {
    /// Tells calls of one id apart, if the caller has named it.
    key: Option<Arc<str>>,
    cancelled: CancellationToken,
    /// The command that the call has submitted, once it has.
    submitted: OnceLock<CorrelationId>,
}

/// A call's place in the book. It leaves the book when this is dropped.
#[derive(Debug)]
pub struct CallInProgress<W: Eq + Hash> {
    calls: CallRegistry<W>,
    name: (W, RequestId),
    entry: Arc<RegisteredCall>,
}

impl<W: Eq + Hash> Default for CallRegistry<W> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<W: Clone + Eq + Hash> CallRegistry<W> {
    /// A call begins. `key` is what tells it from another one under the same id.
    #[must_use]
    pub fn begin(&self, who: &W, id: &RequestId, key: Option<Arc<str>>) -> CallInProgress<W> {
        let entry = Arc::new(RegisteredCall {
            key,
            cancelled: CancellationToken::new(),
            submitted: OnceLock::new(),
        });
        let name = (who.clone(), id.clone());
        // A list: a client may use an id twice, and a call that was sent again has the same one.
        self.book().entry(name.clone()).or_default().push(entry.clone());
        CallInProgress { calls: self.clone(), name, entry }
    }

    /// Cancels a call, if it is in progress. Calls that nobody could tell apart, several
    /// under one id without a `key`, all go on: a cancel must never be another call's.
    ///
    /// The commands that were submitted by then, for the caller to cancel: a call that submits
    /// one later cancels it itself.
    #[must_use]
    pub fn cancel(&self, who: &W, id: &RequestId, key: Option<&str>) -> Vec<CorrelationId> {
        let book = self.book();
        let Some(entries) = book.get(&(who.clone(), id.clone())) else { return Vec::new() };
        let is_meant = |entry: &&Arc<RegisteredCall>| key.is_none() || entry.key.as_deref() == key;
        let meant: Vec<_> = entries.iter().filter(is_meant).collect();
        if key.is_none() && meant.len() > 1 {
            tracing::debug!(calls = meant.len(), "a cancel fits several calls: none is cancelled");
            return Vec::new();
        }
        // Those with one key are one call that was sent again.
        meant.iter().for_each(|entry| entry.cancelled.cancel());
        meant.iter().filter_map(|entry| entry.submitted.get().cloned()).collect()
    }
}

impl<W: Eq + Hash> CallRegistry<W> {
    fn book(&self) -> MutexGuard<'_, CallTable<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Eq + Hash> CallInProgress<W> {
    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.entry.cancelled.is_cancelled()
    }

    /// Notes the command that the call has submitted: it is cancelled with the call.
    pub fn note_submitted(&self, command: CorrelationId) {
        let _ = self.entry.submitted.set(command);
    }

    /// Waits until it is cancelled, without end if it never is.
    pub async fn cancelled(&self) {
        self.entry.cancelled.cancelled().await;
    }
}

impl<W: Eq + Hash> Drop for CallInProgress<W> {
    fn drop(&mut self) {
        let mut book = self.calls.book();
        let Some(entries) = book.get_mut(&self.name) else { return };
        // By identity: another call may have the same id and key.
        entries.retain(|entry| !Arc::ptr_eq(entry, &self.entry));
        if entries.is_empty() {
            book.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: RequestId = RequestId::Number(1);

    fn begin(
        calls: &CallRegistry<&'static str>,
        key: Option<&str>,
    ) -> CallInProgress<&'static str> {
        calls.begin(&"ann", &ID, key.map(Into::into))
    }

    #[test]
    fn a_cancel_is_for_one_callers_call_of_one_id() {
        let calls = CallRegistry::default();
        let call = begin(&calls, None);
        let _ = calls.cancel(&"bob", &ID, None);
        let _ = calls.cancel(&"ann", &RequestId::Number(2), None);
        let _ = calls.cancel(&"ann", &RequestId::Text("1".to_owned()), None);
        assert!(!call.is_cancelled());
        let _ = calls.cancel(&"ann", &ID, None);
        assert!(call.is_cancelled());
    }

    #[test]
    fn a_cancel_that_comes_too_late_or_too_early_is_not_the_next_calls() {
        let calls = CallRegistry::default();
        let _ = calls.cancel(&"ann", &ID, None);
        drop(begin(&calls, None));
        let _ = calls.cancel(&"ann", &ID, None);
        let next = begin(&calls, None);
        assert!(!next.is_cancelled());
        drop(next);
        assert!(calls.book().is_empty(), "nothing is kept of calls that are over");
    }

    #[test]
    fn of_two_calls_under_one_id_none_is_cancelled_unless_a_key_says_which() {
        let calls = CallRegistry::default();
        let (one, other) = (begin(&calls, Some("a")), begin(&calls, Some("b")));
        let _ = calls.cancel(&"ann", &ID, None);
        let _ = calls.cancel(&"ann", &ID, Some("c"));
        assert!(!one.is_cancelled() && !other.is_cancelled());
        let _ = calls.cancel(&"ann", &ID, Some("b"));
        assert!(!one.is_cancelled() && other.is_cancelled());
        drop(other);
        let _ = calls.cancel(&"ann", &ID, None);
        assert!(one.is_cancelled(), "now it is the only one");
    }

    #[test]
    fn a_call_that_was_sent_again_is_cancelled_as_a_whole() {
        let calls = CallRegistry::default();
        let (first, second) = (begin(&calls, Some("a")), begin(&calls, Some("a")));
        let _ = calls.cancel(&"ann", &ID, Some("a"));
        assert!(first.is_cancelled() && second.is_cancelled());
    }
}
