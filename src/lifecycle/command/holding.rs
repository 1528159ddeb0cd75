//! Commands that wait for the person's word: the rows of their hold and of its end.

use std::time::Duration;

use super::{Command, CommandOutcome, CommandPhase, CommandState, EventReply, Peer, Transition};
use crate::lifecycle::limits;
use crate::protocol::{Attempt, ConsentNeed, NackReason, ReportedError, Timestamp, TracePhase};

/// What a held command needs the person's word for, and since when it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHold {
    /// What for.
    pub need: ConsentNeed,
    /// Since when. The person has [`limits::PERSON`] from here on.
    pub since: Timestamp,
}

/// The holds of a command so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldHistory {
    /// How often it was held; at most [`limits::HOLDS`].
    pub times: u32,
    /// How long it has waited for the person in all. Its total time does not run meanwhile.
    pub paused: Duration,
    /// How long the machine has slept meanwhile.
    pub asleep: Duration,
    /// What the person has allowed this command alone.
    pub allowed: Vec<ConsentNeed>,
}

impl Command {
    /// What it waits for the person's word for, if it does.
    #[must_use]
    pub fn hold(&self) -> Option<&CommandHold> {
        let CommandState::Held { hold, .. } = &self.state else { return None };
        Some(hold)
    }

    /// Its holds so far.
    #[must_use]
    pub const fn holds(&self) -> &HoldHistory {
        &self.holds
    }

    /// Row 29. The extension has not begun it, and forgets the attempt.
    pub(super) fn hold_for(
        &mut self,
        peer: &Peer,
        attempt: Attempt,
        need: ConsentNeed,
        now: Timestamp,
    ) -> Transition {
        let reason = match &self.state {
            CommandState::Sent { delivery, .. }
                if delivery.is(peer, attempt) && !delivery.transport.runs_at_once() =>
            {
                return self.begin_hold(attempt.0, need, now);
            }
            CommandState::Ended { .. } => NackReason::AlreadyTerminal,
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Held { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => NackReason::StaleAttempt,
        };
        Transition::Unchanged(EventReply::Nack(reason))
    }

    /// Row 29b.
    pub(super) fn hold_undelivered(&mut self, need: ConsentNeed, now: Timestamp) -> Transition {
        let CommandState::Queued { attempts, may_have_run: false, .. } = self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        self.begin_hold(attempts, need, now)
    }

    fn begin_hold(&mut self, attempts: u32, need: ConsentNeed, now: Timestamp) -> Transition {
        if self.holds.times >= limits::HOLDS {
            return self.finish(asked_too_often(), now);
        }
        let from = self.phase();
        self.holds.times += 1;
        self.state = CommandState::Held { hold: CommandHold { need, since: now }.into(), attempts };
        self.mark(TracePhase::Held, now, Some(Attempt(attempts)));
        self.changed(from, EventReply::Nothing)
    }

    /// Row 30. `is_once`: the word is on this command alone, which then carries it.
    pub(super) fn end_hold(&mut self, is_once: bool, now: Timestamp) -> Transition {
        let CommandState::Held { hold, attempts } = &self.state else {
            return Transition::Unchanged(EventReply::Nothing);
        };
        let (need, attempts) = (hold.need.clone(), *attempts);
        self.count_pause(now);
        if is_once {
            self.holds.allowed.push(need);
        }
        self.state = CommandState::Queued {
            attempts,
            may_have_run: false,
            respond_by: None,
            reachable: true,
        };
        self.mark(TracePhase::Requeued, now, None);
        self.changed(CommandPhase::Held, EventReply::Nothing)
    }

    /// A hold is over, and with it the time in which its deadlines did not run.
    pub(super) fn count_pause(&mut self, now: Timestamp) {
        if let CommandState::Held { hold, .. } = &self.state {
            self.holds.paused += now.since(hold.since);
        }
    }
}

/// A page that is another one after each answer must not ask the person for ever.
fn asked_too_often() -> CommandOutcome {
    let error = ReportedError {
        may_have_run: Some(false),
        ..ReportedError::new(
            "consent_needed",
            "The page was another one after each answer of the user",
        )
    };
    CommandOutcome::Error { error: error.into() }
}
