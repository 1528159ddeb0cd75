//! Submitting: a command is taken whole, or refused with the reason and nothing touched.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Caller;
use super::desk::Desk;
use super::links::Browser;
use super::refusal::{Refusal, Refused};
use super::targets;
use crate::lifecycle::{Command, Event, Facts, Lane, Manner, Wish, limits};
use crate::proof;
use crate::protocol::{Action, CorrelationId, FailedCommand, QueryId};

/// What a call asks for.
#[derive(Clone, Debug)]
pub struct Submission {
    /// What to do.
    pub action: Action,
    /// Where.
    pub wish: Wish,
    /// How long it may run; at most [`limits::EXECUTE_MAX`].
    pub timeout: Duration,
}

/// An accepted command.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Its name.
    pub id: CorrelationId,
    /// Its second name.
    pub query_id: QueryId,
    /// How long it will take, as a rule.
    pub estimate: Duration,
    /// Whether a browser is there to run it.
    pub reachable: bool,
}

/// What callers do at the desk.
impl Desk<'_> {
    /// Rows 1 and 2.
    pub(super) fn submit(
        &mut self,
        caller: &Caller,
        call: Submission,
    ) -> Result<Accepted, Refused> {
        let Submission { action, wish, timeout } = call;
        if self.hub_is_closed() {
            return Err(self.refuse(caller, Refusal::ShuttingDown));
        }
        let estimate = self.estimate(&action);
        let queued = self.queue.queued(&caller.client);
        if self.queue.is_full_for(&caller.client, self.limits()) {
            let retry_after = estimate.clamp(Duration::from_millis(100), Duration::from_secs(5));
            return Err(self.refuse(caller, Refusal::QueueFull { queued, retry_after }));
        }
        let current = self.client(caller).current.clone();
        let lane = targets::resolve(&self.browsers, current.as_ref(), &wish, &action)
            .map_err(|why| self.refuse(caller, why))?;
        // 128 bits for the id, which must not be guessed, and 64 for the second name: asked
        // for together, since to ask costs more than to answer.
        let random = proof::random_hex::<24>();
        let (long, short) = random.split_at(32);
        let facts = Facts {
            id: self.id_of(action.id_kind(), long),
            query_id: format!("q_{short}").into(),
            owner: caller.owner.clone(),
            client: caller.client.clone(),
            params: action.params().into(),
            action,
            timeout: timeout.min(limits::EXECUTE_MAX),
            created: self.now(),
        };
        let (id, query_id) = (facts.id.clone(), facts.query_id.clone());
        let reachable = self.accept(caller, facts, lane, wish);
        Ok(Accepted { id, query_id, estimate, reachable })
    }

    fn id_of(&self, kind: &str, random: &str) -> CorrelationId {
        format!("{kind}_{}_{random}", self.now().unix_millis()).into()
    }

    /// Gives a refused call an id and a place among the failures.
    pub(super) fn refuse(&mut self, caller: &Caller, why: Refusal) -> Refused {
        let id = self.id_of("refused", &proof::random_hex::<16>());
        let failure = FailedCommand {
            correlation_id: id.clone(),
            error: why.code().into(),
            at: self.now(),
            hint: why.message().into(),
            message: None,
        };
        let limits = *self.limits();
        self.retention.list_failure(&caller.client, failure, &limits);
        Refused { id, why }
    }

    /// Takes a command in (row 1). Whether a browser is there to run it.
    fn accept(&mut self, caller: &Caller, facts: Facts, lane: Option<Lane>, wish: Wish) -> bool {
        let (id, client) = (facts.id.clone(), facts.client.clone());
        let manner =
            if facts.action.passes_lanes() { Manner::PassingLanes } else { Manner::InTurn };
        let command = Command::new(facts);
        self.follow_deadline(&command);
        self.inner.commands.insert(id.clone(), Arc::new(watch::Sender::new(command)));
        self.client(caller).active.push(id.clone());
        self.queue.join(client, id.clone(), manner, lane.clone());
        if let Some(lane) = &lane {
            self.targets.insert(id.clone(), lane.clone());
        }
        self.tell_of(&id);
        let Some(lane) = lane else {
            self.wishes.insert(id, wish);
            return false;
        };
        self.remember_current(&id, &lane);
        let reachable = self.browsers.get(&lane.browser).is_some_and(Browser::is_connected);
        if reachable {
            self.apply(&id, Event::Reachable);
            self.may_deliver_to(&lane.browser);
        }
        reachable
    }
}
