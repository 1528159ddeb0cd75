//! How much of commands is kept, and whose it is.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lifecycle::Command;
use crate::protocol::Owner;

/// What a command's record takes beside its parameters and its result, in bytes.
const RECORD: usize = 2 * 1024;

/// The bytes of all commands whose record is kept, here as well as in the journal.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bytes: usize,
    of: HashMap<Owner, usize>,
}

impl Kept {
    /// Counts a command from now on.
    pub(super) fn add(&mut self, command: &Command) {
        self.grow(&command.facts().owner, size(command));
    }

    /// Counts the result that a command has got since it was added.
    pub(super) fn add_result(&mut self, command: &Command) {
        self.grow(&command.facts().owner, command.result_size());
    }

    fn grow(&mut self, owner: &Owner, bytes: usize) {
        self.bytes += bytes;
        *self.of.entry(owner.clone()).or_default() += bytes;
    }

    /// Counts a command no more.
    pub(super) fn remove(&mut self, command: &Command) {
        let (owner, bytes) = (&command.facts().owner, size(command));
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
    pub(super) fn check(&self, owner: &Owner, mib: usize) -> Result<(), Arc<str>> {
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
    RECORD + command.facts().params.get().len() + command.result_size()
}
