//! How often an owner's clients may call together, and how much they may send. A client's name is
//! free, so what counts by client alone holds nobody back.

use std::time::Duration;

use super::desk::Desk;
use super::refusal::{Refusal, Refused};
use super::{Caller, Hub};
use crate::lifecycle::limits::{OWNER_CLIENTS, TOO_SOON};
use crate::lifecycle::{Limits, Rate};
use crate::protocol::{Moment, Owner};

const MIB: usize = 1024 * 1024;

/// What one owner's clients may still do in this minute.
#[derive(Debug)]
pub(super) struct OwnerRates {
    calls: Rate,
    bytes: Rate,
}

impl OwnerRates {
    fn new(limits: &Limits, now: Moment) -> Self {
        Self {
            calls: Rate::new(limits.calls_per_minute.saturating_mul(OWNER_CLIENTS), now),
            bytes: Rate::new(limits.mib_per_minute.saturating_mul(MIB), now),
        }
    }
}

impl Desk<'_> {
    fn rates_of(&mut self, owner: &Owner) -> &mut OwnerRates {
        let (now, limits) = (self.now(), self.inner.limits);
        // There are as many owners as a person has named.
        self.owners.entry(owner.clone()).or_insert_with(|| OwnerRates::new(&limits, now))
    }
}

impl Hub {
    /// Counts a tool call of this client and its owner. One too many is refused, but not at once:
    /// a caller that calls again right after each refusal would hold up everybody.
    ///
    /// # Errors
    ///
    /// [`Refusal::RateLimited`], after [`TOO_SOON`].
    pub async fn admit(&self, caller: &Caller) -> Result<(), Refused> {
        let admitted = self.with_desk(|desk| {
            let now = desk.now();
            let of_client = desk.client(caller).calls.take(now);
            let taken = of_client.and_then(|()| desk.rates_of(&caller.owner).calls.take(now));
            taken.map_err(|retry_after| desk.refuse(caller, Refusal::RateLimited { retry_after }))
        });
        if admitted.is_err() {
            tokio::time::sleep(TOO_SOON).await;
        }
        admitted
    }

    /// Counts the bytes of a request of this owner. One too many is refused, but not at once.
    ///
    /// # Errors
    ///
    /// When it would be taken, after [`TOO_SOON`].
    pub async fn admit_bytes(&self, owner: &Owner, bytes: usize) -> Result<(), Duration> {
        let admitted = self.with_desk(|desk| {
            let now = desk.now();
            desk.rates_of(owner).bytes.take_many(bytes, now)
        });
        if admitted.is_err() {
            tokio::time::sleep(TOO_SOON).await;
        }
        // The wait has been part of it.
        admitted.map_err(|retry_after| retry_after.saturating_sub(TOO_SOON))
    }
}
