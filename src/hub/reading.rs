//! Reading, waiting for and cancelling commands.

use std::sync::Arc;
use std::time::Duration;

use super::tracked::TrackedCommand;
use super::{Caller, Hub};
use crate::engine::{CallRefusal, CommandLists, RefusalReason};
use crate::journal::WriteFailure;
use crate::lifecycle::{Command, Tombstone, limits};
use crate::protocol::{CommandReport, CommandStatus, CorrelationId, FailedCommand, TraceContext};
use crate::seeded_bug;

/// The answer to a question about an id.
#[derive(Clone, Debug)]
pub enum CommandLookup {
    /// A command.
    Command(Box<CommandReport>),
    /// A command whose record was dropped.
    Evicted(Tombstone),
    /// There is no such command, or it belongs to another owner.
    NotFound,
}

impl Hub {
    /// Reads a command. If it has ended, returns only once the journal has recorded that.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::StorageUnavailable`]: it has ended, but that cannot be recorded now.
    pub async fn get(
        &self,
        caller: &Caller,
        id: &CorrelationId,
        with_trace: bool,
    ) -> Result<CommandLookup, CallRefusal> {
        let Some(tracked) = self.tracked(caller, id) else {
            return Ok(self.lookup_evicted(caller, id));
        };
        // A borrow that lasted over the await would block every change of the command.
        let (mut report, is_over) = {
            let command = tracked.borrow();
            (command.report(with_trace), command.phase().is_terminal())
        };
        self.explain_absence(&mut report);
        self.show_holders(caller, &mut report);
        // A caller must not hear of an end that a crash could undo (decision 91).
        if is_over {
            let recorded = self.0.journal.recorded(tracked.recorded()).await;
            recorded.map_err(|WriteFailure(why)| {
                self.transact(|tx| tx.refuse(caller, RefusalReason::StorageUnavailable { why }))
            })?;
        }
        Ok(CommandLookup::Command(Box::new(report)))
    }

    /// Says of each tab that a command has listed which client holds it.
    fn show_holders(&self, caller: &Caller, report: &mut CommandReport) {
        let CommandStatus::Complete { result, .. } = &mut report.status else { return };
        let now = self.now();
        let id = &report.correlation_id;
        let holders = self.view(|engine| engine.listed_holders(caller, id, now));
        if let Some(shown) = holders.and_then(|holders| holders.shown_in(result)) {
            *result = shown;
        }
    }

    /// The place of a command's call in a trace of its client.
    #[must_use]
    pub fn trace_context_of(&self, id: &CorrelationId) -> Option<TraceContext> {
        self.0.commands.get(id)?.borrow().spec().trace_context.clone()
    }

    /// Waits until a command ends, waits for the answer to a dialog or begins to wait for the person,
    /// for `at_most` at the longest, and then reads it.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::TooManyWaiters`], and those of [`get`](Self::get).
    pub async fn wait(
        &self,
        caller: &Caller,
        id: &CorrelationId,
        at_most: Duration,
        with_trace: bool,
    ) -> Result<CommandLookup, CallRefusal> {
        // One that knows that the command waits for the person waits for its end.
        let is_held = |tracked: &Arc<TrackedCommand>| tracked.borrow().hold().is_some();
        let knows_hold = self.tracked(caller, id).as_ref().is_some_and(is_held);
        self.wait_until_told(caller, id, at_most, with_trace, knows_hold).await
    }

    /// The same for the call that has submitted the command: it is answered as soon as the command
    /// waits for the person, also if that has happened already.
    ///
    /// # Errors
    ///
    /// As of [`wait`](Self::wait).
    pub async fn wait_for_submitted(
        &self,
        caller: &Caller,
        id: &CorrelationId,
        at_most: Duration,
        with_trace: bool,
    ) -> Result<CommandLookup, CallRefusal> {
        self.wait_until_told(caller, id, at_most, with_trace, false).await
    }

    async fn wait_until_told(
        &self,
        caller: &Caller,
        id: &CorrelationId,
        at_most: Duration,
        with_trace: bool,
        knows_hold: bool,
    ) -> Result<CommandLookup, CallRefusal> {
        let Some(tracked) = self.tracked(caller, id) else {
            return Ok(self.lookup_evicted(caller, id));
        };
        let mut receiver = tracked.subscribe();
        // It holds the sender: the channel could not close when the record is dropped.
        drop(tracked);
        let _seat = self.acquire_waiter_permit(caller)?;
        let over = async {
            if seeded_bug::is_on("lost-wake-up") {
                // The seeded bug: a change at this point is lost.
                tokio::task::yield_now().await;
                receiver.mark_unchanged();
                let _ = receiver.changed().await;
            }
            let is_told = |command: &Command| {
                // A dialog waits for its answer: the caller may be the one to give it.
                command.phase().is_terminal()
                    || command.dialog().is_some()
                    || command.hold().is_some() && !knows_hold
            };
            receiver.wait_for(is_told).await.map(drop)
        };
        tokio::select! {
            biased;
            // An error means that the record was dropped; `get` below says so.
            _ = over => {}
            () = self.0.closed.cancelled() => {}
            () = tokio::time::sleep(at_most.min(limits::WAIT_MAX)) => {}
        }
        self.get(caller, id, with_trace).await
    }

    /// Cancels a command, unless it has ended, and then reads it (rows 15, 16).
    ///
    /// # Errors
    ///
    /// See [`get`](Self::get). The command is cancelled even then.
    pub async fn cancel(
        &self,
        caller: &Caller,
        id: &CorrelationId,
    ) -> Result<CommandLookup, CallRefusal> {
        self.ask_to_cancel(caller, id);
        self.get(caller, id, false).await
    }

    /// Cancels a command, unless it has ended, without reading it.
    pub fn ask_to_cancel(&self, caller: &Caller, id: &CorrelationId) {
        if self.tracked(caller, id).is_some() {
            self.transact(|tx| tx.cancel(id));
        }
    }

    /// Returns once the journal has recorded everything so far, or cannot be written. A list that is
    /// read after this still holds after a crash.
    pub async fn flush_journal(&self) {
        // A list is worth having even if the journal cannot be written: it contains no outcomes.
        let _ = self.0.journal.recorded(self.0.journal.last()).await;
    }

    /// Notes that the owner reads on in a command's outcome, which is kept for longer.
    pub fn read_on(&self, caller: &Caller, id: &CorrelationId) {
        if self.tracked(caller, id).is_some() {
            self.transact(|tx| tx.read_on(id));
        }
    }

    /// Notes that the owner has read a command's outcome.
    pub fn mark_read(&self, caller: &Caller, id: &CorrelationId) {
        if self.tracked(caller, id).is_some() {
            self.transact(|tx| tx.mark_read(id));
        }
    }

    /// The client's own commands.
    #[must_use]
    pub fn lists(&self, caller: &Caller) -> CommandLists {
        self.transact(|tx| tx.lists(caller))
    }

    /// The client's failures and refused calls, oldest first.
    #[must_use]
    pub fn failures(&self, caller: &Caller) -> Vec<FailedCommand> {
        self.view(|engine| engine.failures(caller))
    }

    /// The command, if it belongs to this owner.
    pub(super) fn tracked(
        &self,
        caller: &Caller,
        id: &CorrelationId,
    ) -> Option<Arc<TrackedCommand>> {
        let tracked = self.0.commands.get(id)?.clone();
        let is_own = tracked.borrow().spec().owner == caller.owner;
        (is_own || seeded_bug::is_on("skipped-owner-check")).then_some(tracked)
    }

    /// Looks up an id without a record.
    pub(super) fn lookup_evicted(&self, caller: &Caller, id: &CorrelationId) -> CommandLookup {
        self.view(|engine| match engine.tombstone(&caller.owner, id) {
            Some(gone) => CommandLookup::Evicted(gone.clone()),
            None => CommandLookup::NotFound,
        })
    }

    fn acquire_waiter_permit(&self, caller: &Caller) -> Result<WaiterPermit<'_>, CallRefusal> {
        self.transact(|tx| tx.begin_wait(caller))?;
        Ok(WaiterPermit { hub: self, caller: caller.clone() })
    }
}

/// The permit of a waiting call, among the waiters of its client.
struct WaiterPermit<'a> {
    hub: &'a Hub,
    caller: Caller,
}

impl Drop for WaiterPermit<'_> {
    fn drop(&mut self) {
        self.hub.transact(|tx| tx.end_wait_call(&self.caller));
    }
}
