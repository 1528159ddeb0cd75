//! What one owner may use: calls and bytes a minute, and the bytes of commands that are kept.
//! A client's name is free, so a limit by client alone holds nobody back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::refusal::{CallRefusal, RefusalReason};
use super::{Caller, Transaction};
use crate::lifecycle::limits::OWNER_CLIENTS;
use crate::lifecycle::{Command, Limits, TokenBucket};
use crate::protocol::{Owner, Timestamp};

/// What all owners use.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    rates: HashMap<Owner, OwnerRates>,
    retained: RetainedBytes,
}

impl Quotas {
    /// What a command that is kept takes counts from now on.
    pub(super) fn add(&mut self, command: &Command) {
        self.retained.add(command);
    }

    /// The result that a command has got counts from now on.
    pub(super) fn add_result(&mut self, command: &Command) {
        self.retained.add_result(command);
    }

    /// A command is kept no more.
    pub(super) fn remove(&mut self, command: &Command) {
        self.retained.remove(command);
    }

    /// Whether there is room for one more command of this owner.
    ///
    /// # Errors
    ///
    /// There is none; says why.
    pub(super) fn check_room(&self, owner: &Owner, limits: &Limits) -> Result<(), Arc<str>> {
        self.retained.check(owner, limits.kept_mib)
    }

    fn rates_of(&mut self, owner: &Owner, limits: &Limits, now: Timestamp) -> &mut OwnerRates {
        // There are as many owners as a person has named.
        self.rates.entry(owner.clone()).or_insert_with(|| OwnerRates::new(limits, now))
    }
}

const MIB: usize = 1024 * 1024;

/// What one owner's clients may still do in this minute.
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
        let now = self.now();
        let of_client = self.client(caller).take_call(now);
        let limits = self.limits;
        let rates = self.quotas.rates_of(&caller.owner, &limits, now);
        let taken = of_client.and_then(|()| rates.calls.take(now));
        taken.map_err(|retry_after| self.refuse(caller, RefusalReason::RateLimited { retry_after }))
    }

    /// Counts the bytes of a request of this owner.
    ///
    /// # Errors
    ///
    /// When it would be taken.
    pub fn admit_bytes(&mut self, owner: &Owner, bytes: usize) -> Result<(), Duration> {
        let (now, limits) = (self.now(), self.limits);
        self.quotas.rates_of(owner, &limits, now).bytes.take_many(bytes, now)
    }
}

/// What a command's record takes beside its parameters and its result, in bytes.
const RECORD: usize = 2 * 1024;

/// The bytes of all commands whose record is kept, here as well as in the journal.
#[derive(Debug, Default)]
struct RetainedBytes {
    bytes: usize,
    of: HashMap<Owner, usize>,
}

impl RetainedBytes {
    /// Counts a command from now on.
    fn add(&mut self, command: &Command) {
        self.grow(&command.spec().owner, size(command));
    }

    /// Counts the result that a command has got since it was added.
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

    /// Whether there is room for one more command of this owner, where `mib` MiB may be kept.
    /// A quarter of it is for others, whatever one owner does.
    ///
    /// # Errors
    ///
    /// There is none; says why.
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
