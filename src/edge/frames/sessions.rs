//! All sessions, by their tokens, and the challenges that begin them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::session::HttpSession;
use crate::edge::conversation::HELLO;
use crate::proof;
use crate::protocol::Timestamp;

/// How many sessions there may be, those that are over among them.
const SESSIONS: usize = 256;

/// How many challenges may be unanswered.
const CHALLENGES: usize = 64;

/// All sessions, and the challenges that are not answered yet.
#[derive(Debug, Default)]
pub(in crate::edge) struct HttpSessions {
    /// Oldest first. One that is over stays as long as there is room, to say why.
    known: Mutex<Vec<Arc<HttpSession>>>,
    challenges: Mutex<VecDeque<PendingChallenge>>,
}

#[derive(Debug)]
struct PendingChallenge {
    nonce: String,
    extension: String,
    at: Timestamp,
}

impl HttpSessions {
    /// A new challenge for an extension. The oldest one goes if there are too many.
    pub(super) fn challenge(&self, extension: &str, at: Timestamp) -> String {
        let nonce = proof::nonce();
        let mut challenges = lock(&self.challenges);
        // Expired ones go first, so that a flood displaces as few live ones as possible.
        challenges.retain(|known| at.since(known.at) <= HELLO);
        if challenges.len() == CHALLENGES {
            challenges.pop_front();
        }
        let extension = extension.to_owned();
        challenges.push_back(PendingChallenge { nonce: nonce.clone(), extension, at });
        nonce
    }

    /// Whether this is a challenge that the extension may answer now. It may once.
    pub(super) fn answers(&self, nonce: &str, extension: &str, now: Timestamp) -> bool {
        let mut challenges = lock(&self.challenges);
        let asked = challenges.iter().position(|known| known.nonce == nonce);
        // Removed in any case: a challenge must not be tried twice.
        let asked = asked.and_then(|at| challenges.remove(at));
        asked.is_some_and(|known| known.extension == extension && now.since(known.at) <= HELLO)
    }

    /// Makes room for one more session.
    pub(super) fn has_room(&self) -> bool {
        let mut known = lock(&self.known);
        while known.len() >= SESSIONS
            && let Some(over) = known.iter().position(|session| session.is_over())
        {
            known.remove(over);
        }
        known.len() < SESSIONS
    }

    pub(super) fn add(&self, session: Arc<HttpSession>) {
        lock(&self.known).push(session);
    }

    /// The session of this token. It is looked for by its hash: how nearly that fits tells a
    /// guesser nothing.
    pub(super) fn find(&self, token: &str) -> Option<Arc<HttpSession>> {
        let hash = proof::hash(token);
        let found = lock(&self.known).iter().find(|session| session.has_hash(&hash)).cloned();
        // The hash finds the session, and the constant-time comparison decides.
        found.filter(|session| session.has_token(token))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
