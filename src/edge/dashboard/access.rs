//! Codes and tokens of the dashboard. Both are in memory alone, so all end with the daemon.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::proof;
use crate::protocol::Timestamp;

/// How long a code counts.
pub(in crate::edge) const CODE_LIFE: Duration = Duration::from_secs(30);

/// How many codes wait to be exchanged; the oldest leaves first.
const CODES: usize = 8;

/// How many tokens there are; the oldest leaves first.
const TOKENS: usize = 16;

/// How many streams there are at once.
const VIEWERS: usize = 8;

/// Who may open the dashboard.
#[derive(Debug)]
pub(in crate::edge) struct DashboardAccess {
    given: Mutex<GivenAccess>,
    viewers: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct GivenAccess {
    /// Hashes of the open codes with the time of their issue, oldest first.
    codes: Vec<([u8; 32], Timestamp)>,
    /// Hashes of the tokens, oldest first.
    tokens: Vec<[u8; 32]>,
}

impl Default for DashboardAccess {
    fn default() -> Self {
        Self { given: Mutex::default(), viewers: Arc::new(Semaphore::new(VIEWERS)) }
    }
}

impl DashboardAccess {
    fn given(&self) -> std::sync::MutexGuard<'_, GivenAccess> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new code.
    pub(super) fn issue_code(&self, now: Timestamp) -> String {
        let code = proof::random_hex::<32>();
        let codes = &mut self.given().codes;
        codes.push((proof::hash(&code), now));
        if codes.len() > CODES {
            codes.remove(0);
        }
        code
    }

    /// A token for a code, which counts no more from then on.
    pub(super) fn exchange(&self, code: &str, now: Timestamp) -> Option<String> {
        let hash = proof::hash(code);
        let mut given = self.given();
        // Looked up by a hash: the time of the search tells nothing about a code.
        let at = given.codes.iter().position(|(known, _)| bool::from(known.ct_eq(&hash)))?;
        let (_, issued) = given.codes.remove(at);
        if now.since(issued) >= CODE_LIFE {
            return None;
        }
        let token = proof::random_hex::<32>();
        given.tokens.push(proof::hash(&token));
        if given.tokens.len() > TOKENS {
            given.tokens.remove(0);
        }
        Some(token)
    }

    /// Whether this is a token of the dashboard.
    pub(in crate::edge) fn admits(&self, token: &str) -> bool {
        let hash = proof::hash(token);
        self.given().tokens.iter().any(|known| known.ct_eq(&hash).into())
    }

    /// A place for one stream; `None`: there are too many.
    pub(super) fn viewer_place(&self) -> Option<OwnedSemaphorePermit> {
        self.viewers.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_micros(1_795_000_000_000_000 + seconds * 1_000_000)
    }

    #[test]
    fn a_code_counts_once_and_for_thirty_seconds_and_a_token_is_no_code() {
        let access = DashboardAccess::default();
        let code = access.issue_code(at(0));
        let token = access.exchange(&code, at(29)).expect("in time");
        assert!(access.admits(&token) && !access.admits(&code));
        assert_eq!(access.exchange(&code, at(29)), None, "twice");
        assert_eq!(access.exchange(&token, at(29)), None);
        let late = access.issue_code(at(0));
        assert_eq!(access.exchange(&late, at(30)), None, "late");
        assert_eq!(access.exchange(&late, at(1)), None, "a late try uses it up");
        assert!(!access.admits(""));
    }

    #[test]
    fn the_oldest_codes_tokens_and_streams_make_no_room_without_end() {
        let access = DashboardAccess::default();
        let codes: Vec<_> = (0..=CODES).map(|_| access.issue_code(at(0))).collect();
        assert_eq!(access.exchange(&codes[0], at(1)), None);
        let first = access.exchange(&codes[1], at(1)).unwrap();
        assert!(access.admits(&first));
        for _ in 0..TOKENS {
            let code = access.issue_code(at(1));
            access.exchange(&code, at(1)).unwrap();
        }
        assert!(!access.admits(&first));
        let places: Vec<_> = (0..VIEWERS).map(|_| access.viewer_place().unwrap()).collect();
        assert!(access.viewer_place().is_none());
        drop(places);
        assert!(access.viewer_place().is_some());
    }
}
