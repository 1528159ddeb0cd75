//! The commands of a client, whose order the daemon keeps.

use std::collections::VecDeque;

use tokio_util::sync::{CancellationToken, DropGuard};

/// How many commands are on their way to another machine at a time before the first of them is accepted. Each may need a
/// connection of its own, of which the daemon takes 64 at a time that have not said whose they are.
const SENT_AHEAD: usize = 32;

/// The submissions of a client that were read last, the oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentSubmissions(VecDeque<SentSubmission>);

/// A submission that others follow.
#[derive(Clone, Debug)]
pub(super) struct SentSubmission {
    pub(super) key: String,
    /// Fires when the daemon has accepted it, or when it never will.
    pub(super) accepted: CancellationToken,
}

/// What a submission waits for.
#[derive(Debug, Default)]
pub(super) struct SubmissionTurn {
    /// The one that it follows.
    pub(super) follows: Option<SentSubmission>,
    /// An earlier one that makes room for it once it is accepted: as many are on their way as may be.
    pub(super) room: Option<CancellationToken>,
}

impl RecentSubmissions {
    /// Adds one under its key. Dropping the guard says that it is accepted, or never will be.
    pub(super) fn add(&mut self, key: String) -> (SubmissionTurn, DropGuard) {
        let follows = self.0.back().cloned();
        let is_full = self.0.len() >= SENT_AHEAD;
        let room = if is_full { self.0.pop_front().map(|first| first.accepted) } else { None };
        let accepted = CancellationToken::new();
        self.0.push_back(SentSubmission { key, accepted: accepted.clone() });
        (SubmissionTurn { follows, room }, accepted.drop_guard())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_follows_the_one_before_it_and_so_many_are_on_their_way_at_a_time() {
        let mut recent = RecentSubmissions::default();
        let mut sent: Vec<_> = (0..SENT_AHEAD).map(|n| recent.add(n.to_string())).collect();
        assert!(sent[0].0.follows.is_none());
        assert!(sent.iter().all(|(turn, _)| turn.room.is_none()));
        let (turn, _guard) = recent.add("next".to_owned());
        assert_eq!(turn.follows.unwrap().key, (SENT_AHEAD - 1).to_string());
        let room = turn.room.unwrap();
        sent.truncate(1);
        assert!(!room.is_cancelled(), "the first is not accepted yet");
        sent.clear();
        assert!(room.is_cancelled());
        let (turn, _guard) = recent.add("last".to_owned());
        assert!(turn.room.unwrap().is_cancelled(), "the second");
    }
}
