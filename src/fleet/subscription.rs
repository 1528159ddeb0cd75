//! A subscription of a home by which one flood can come: the server holds it to its credit.

use std::collections::VecDeque;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::sleep;

use super::connect::FleetConnection;
use super::flood::{CREDIT, CreditStep, FloodGate};
use crate::os;

/// What comes by a subscription.
pub(super) enum CreditEvent {
    Message(Message),
    /// There are too many: for this time it takes none, or one now and then.
    Shut(Duration),
    /// It takes all again.
    Open,
}

/// The subscription.
pub(super) struct CreditSubscription {
    connection: FleetConnection,
    subject: String,
    subscriber: Option<Subscriber>,
    /// What had come by one that was renewed.
    former: VecDeque<Message>,
    gate: FloodGate,
    /// Whether the server is another one since, which knows nothing of the credit.
    is_stale: bool,
}

impl CreditSubscription {
    /// Subscribes, for this many bytes a second. `trickles`: in a flood a message is taken now and then. `None`: the
    /// connection is of no use any more.
    pub(super) async fn open(
        connection: FleetConnection,
        subject: String,
        most_bytes: u64,
        trickles: bool,
    ) -> Option<Self> {
        let gate = FloodGate::new(os::time_with_sleep(), most_bytes, trickles);
        let former = VecDeque::new();
        let mut subscription =
            Self { connection, subject, subscriber: None, former, gate, is_stale: false };
        subscription.renew(CREDIT).await?;
        Some(subscription)
    }

    /// For how long it is shut.
    pub(super) fn shut_for(&self) -> Option<Duration> {
        self.gate.shut_for(os::time_with_sleep())
    }

    /// Somebody was not heard, it seems.
    pub(super) async fn doubt(&mut self) -> Option<()> {
        let now = os::time_with_sleep();
        self.gate.doubt(now);
        if let Some(step @ CreditStep::Renew(_)) = self.gate.due(now) {
            self.make(step).await?;
            self.gate.done(now, step);
        }
        Some(())
    }

    /// What comes next. `None`: the connection is of no use any more. To drop the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<CreditEvent> {
        loop {
            let now = os::time_with_sleep();
            let is_shut = self.gate.shut_for(now).is_some();
            let due = self.gate.due(now);
            let due = due.or((self.is_stale && !is_shut).then_some(CreditStep::Renew(CREDIT)));
            if let Some(step) = due {
                self.make(step).await?;
                self.gate.done(now, step);
                self.is_stale = false;
                match self.gate.shut_for(now) {
                    Some(time) if !is_shut => return Some(CreditEvent::Shut(time)),
                    None if is_shut => return Some(CreditEvent::Open),
                    Some(_) | None => continue,
                }
            }
            if let Some(message) = self.former.pop_front() {
                return Some(self.count(message));
            }
            let wake = self.gate.wake_at();
            tokio::select! {
                message = next_of(&mut self.subscriber) => match message {
                    Some(message) => return Some(self.count(message)),
                    None => {
                        self.subscriber = None;
                        self.gate.ended(os::time_with_sleep());
                    }
                },
                // A round is over.
                () = sleep(wake.unwrap_or_default().saturating_sub(now)), if wake.is_some() => {}
                () = self.connection.connects_again() => self.is_stale = true,
            }
        }
    }

    fn count(&mut self, message: Message) -> CreditEvent {
        self.gate.take(os::time_with_sleep(), message.length);
        CreditEvent::Message(message)
    }

    async fn make(&mut self, step: CreditStep) -> Option<()> {
        match (step, &mut self.subscriber) {
            (CreditStep::Raise(limit), Some(subscriber)) => {
                subscriber.unsubscribe_after(limit).await.ok()
            }
            // One that has ended is renewed.
            (CreditStep::Raise(_), None) => Some(()),
            (CreditStep::Renew(credit), _) => self.renew(credit).await,
            (CreditStep::Shut, _) => {
                self.subscriber = None;
                self.former.clear();
                Some(())
            }
        }
    }

    /// Another subscription with its credit. The connection's task gets both words at once, on a runtime of one thread: if
    /// it sent the first one alone in a flood, it would be kept reading, and the second one would wait as long as the flood.
    async fn subscribe(&self, credit: u64) -> Option<Subscriber> {
        tokio::task::unconstrained(async {
            let mut other = self.connection.client.subscribe(self.subject.clone()).await.ok()?;
            other.unsubscribe_after(credit).await.ok()?;
            Some(other)
        })
        .await
    }

    /// The former one ends once there is another. What is on its way to the former one is lost, and what comes by both
    /// has no permit for a reply any more: one that has credit is renewed for another server alone, or in doubt.
    async fn renew(&mut self, credit: u64) -> Option<()> {
        let other = self.subscribe(credit).await?;
        if let Some(mut former) = self.subscriber.replace(other) {
            while let Some(Some(message)) = former.next().now_or_never() {
                self.former.push_back(message);
            }
        }
        Some(())
    }
}

/// The next message of a subscription; without one it never returns.
pub(super) async fn next_of(subscriber: &mut Option<Subscriber>) -> Option<Message> {
    match subscriber {
        Some(subscriber) => subscriber.next().await,
        None => std::future::pending().await,
    }
}
