//! The one task that sleeps until the next deadline. A deadline that has come is a
//! hint: the command's own state decides what happens.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::protocol::{CorrelationId, Moment};

/// How often browsers and clients that were idle for long are looked for when no deadline
/// comes. That only frees memory.
const SWEEP_AT_LEAST: Duration = Duration::from_secs(60);

/// The next deadline of every command.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    in_order: BTreeSet<(Moment, CorrelationId)>,
    of: HashMap<CorrelationId, Moment>,
    /// Until when the reaper sleeps. It is not told of a deadline after that: it will see
    /// for itself. So a busy daemon wakes it now and then, and not with every command.
    asleep_until: Option<Moment>,
}

impl Deadlines {
    /// Sets a command's next deadline. True: the reaper would sleep past it, and has to be
    /// told.
    #[must_use]
    pub(super) fn set(&mut self, id: &CorrelationId, at: Moment) -> bool {
        if let Some(before) = self.of.insert(id.clone(), at) {
            if before == at {
                return false;
            }
            self.in_order.remove(&(before, id.clone()));
        }
        self.in_order.insert((at, id.clone()));
        let too_long = self.asleep_until.is_none_or(|until| at < until);
        if too_long {
            self.asleep_until = Some(at);
        }
        too_long
    }

    /// Forgets a command.
    pub(super) fn remove(&mut self, id: &CorrelationId) {
        if let Some(at) = self.of.remove(id) {
            self.in_order.remove(&(at, id.clone()));
        }
    }

    /// The first deadline of all, until which the reaper now sleeps.
    pub(super) fn sleep(&mut self) -> Option<Moment> {
        self.asleep_until = self.in_order.first().map(|(at, _)| *at);
        self.asleep_until
    }

    /// A command whose deadline has come.
    pub(super) fn due(&self, now: Moment) -> Option<CorrelationId> {
        self.in_order.first().filter(|(at, _)| *at <= now).map(|(_, id)| id.clone())
    }
}

/// Sleeps and reaps until `closed`.
pub(super) async fn run(hub: Hub, closed: CancellationToken) {
    loop {
        let next = hub.with_desk(|desk| {
            let deadline = desk.deadlines.sleep();
            deadline.into_iter().chain(desk.next_lapse()).min()
        });
        let sleep = async {
            match next {
                Some(at) => tokio::time::sleep_until(hub.0.clock.instant_of(at)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = closed.cancelled() => return,
            () = hub.0.sooner.notified() => {}
            () = sleep => hub.reap(),
            () = tokio::time::sleep(SWEEP_AT_LEAST) => hub.reap(),
        }
    }
}
