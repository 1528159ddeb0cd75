//! The quotas of an owner: calls and bytes a minute, and the bytes of stored commands. Anyone can make
//! up a new client name, so a limit by client alone holds nobody back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::refusal::{CallRefusal, RefusalReason};
use super::{Caller, Transaction};
use crate::lifecycle::limits::OWNER_CLIENTS;
use crate::lifecycle::{Command, Limits, TokenBucket};
use crate::protocol::{Owner, Timestamp};

/// The usage of all owners.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    rates: HashMap<Owner, OwnerRates>,
    retained: RetainedBytes,
}

impl Quotas {
    /// Counts a stored command.
    pub(super) fn add(&mut self, command: &Command) {
        self.retained.add(command);
    }

    /// Counts the result of a stored command.
    pub(super) fn add_result(&mut self, command: &Command) {
        self.retained.add_result(command);
    }

    /// Counts a command no more.
    pub(super) fn remove(&mut self, command: &Command) {
        self.retained.remove(command);
    }

    /// Checks that there is room for one more command of this owner.
    ///
    /// # Errors
    ///
    /// There is no room; the text says why.
    pub(super) fn check_room(&self, owner: &Owner, limits: &Limits) -> Result<(), Arc<str>> {
        self.retained.check(owner, limits.kept_mib)
    }

    /// The owners of whom some usage is known.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.rates.keys()
    }

    /// An owner was removed.
    pub(super) fn forget_owner(&mut self, owner: &Owner) {
        self.rates.remove(owner);
    }

    fn rates_of(&mut self, owner: &Owner, limits: &Limits, now: Timestamp) -> &mut OwnerRates {
        // Kept until the owner is removed: only a person can add one, so there are few.
        self.rates.entry(owner.clone()).or_insert_with(|| OwnerRates::new(limits, now))
    }
}

const MIB: usize = 1024 * 1024;

/// The rates of all clients of one owner together.
#[derive(Debug)]
struct OwnerRates {
    calls: TokenBucket,
    bytes: TokenBucket,
}

impl OwnerRates {
    fn new(limits: &Limits, now: Timestamp) -> Self {
        Self {
            calls: TokenBucket::new(limits.calls_per_minute.saturating_mul(OWNER_CLIENTS), now),
            bytes: TokenBucket::new(limits.mib_per_minute.saturating_mul(MIB), now),
        }
    }
}

impl Transaction<'_> {
    /// Counts a tool call of this client and its owner.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::RateLimited`].
    pub fn admit(&mut self, caller: &Caller) -> Result<(), CallRefusal> {
        if !self.is_listed(&caller.owner) {
            return Err(self.refuse(caller, RefusalReason::OwnerRemoved));
        }
        let now = self.now();
        let of_client = self.client(caller).take_call(now);
        let limits = self.limits;
        let rates = self.quotas.rates_of(&caller.owner, &limits, now);
        // The client first: one above its own limit must not use up the calls of its owner.
        let taken = of_client.and_then(|()| rates.calls.take(now));
        taken.map_err(|retry_after| self.refuse(caller, RefusalReason::RateLimited { retry_after }))
    }

    /// Counts the bytes of a request of this owner.
    ///
    /// # Errors
    ///
    /// The time until it would be accepted.
    pub fn admit_bytes(&mut self, owner: &Owner, bytes: usize) -> Result<(), Duration> {
        let (now, limits) = (self.now(), self.limits);
        self.quotas.rates_of(owner, &limits, now).bytes.take_many(bytes, now)
    }
}

/// The size of a command's record in bytes, without its parameters and its result.
const RECORD: usize = 2 * 1024;

/// The bytes of all commands with a record, in memory as well as in the journal.
#[derive(Debug, Default)]
struct RetainedBytes {
    bytes: usize,
    of: HashMap<Owner, usize>,
}

impl RetainedBytes {
    /// Counts a command.
    fn add(&mut self, command: &Command) {
        self.grow(&command.spec().owner, size(command));
    }

    /// Counts the result of a command that was added without one.
    fn add_result(&mut self, command: &Command) {
        self.grow(&command.spec().owner, command.result_size());
    }

    fn grow(&mut self, owner: &Owner, bytes: usize) {
        self.bytes += bytes;
        *self.of.entry(owner.clone()).or_default() += bytes;
    }

    /// Counts a command no more.
    fn remove(&mut self, command: &Command) {
        let (owner, bytes) = (&command.spec().owner, size(command));
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(own) = self.of.get_mut(owner) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                self.of.remove(owner);
            }
        }
    }

    /// Checks that there is room for one more command of this owner, with a limit of `mib` MiB. One
    /// owner may fill three quarters of it, so that the others always have some.
    ///
    /// # Errors
    ///
    /// There is no room; the text says why.
    fn check(&self, owner: &Owner, mib: usize) -> Result<(), Arc<str>> {
        let all = mib << 20;
        let own = self.of.get(owner).copied().unwrap_or_default();
        if self.bytes < all && own < all / 4 * 3 {
            return Ok(());
        }
        let (kept, own) = (self.bytes >> 20, own >> 20);
        Err(format!(
            "{kept} MiB of commands and results are kept, {own} of them for this owner; they leave \
             60 s after their end"
        )
        .into())
    }
}

fn size(command: &Command) -> usize {
    RECORD + command.spec().params.get().len() + command.result_size()
}
