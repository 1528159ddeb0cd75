//! Host tasks: waits for a person, and jobs of the daemon.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Caller, Hub};
use crate::engine::{CallRefusal, HostTask, SubmittedCommand};
use crate::lifecycle::CommandOutcome;
use crate::protocol::{CorrelationId, Job, Owner, SessionName};

impl Hub {
    /// Accepts a wait or a job. The caller must await [`confirm`](Self::confirm) before it reports the
    /// task, and begins the work if the task [is new](SubmittedCommand::is_new).
    ///
    /// # Errors
    ///
    /// [`CallRefusal`]: nothing has changed.
    pub fn start_host_task(
        &self,
        caller: &Caller,
        asked: HostTask,
    ) -> Result<SubmittedCommand, CallRefusal> {
        let trouble = self.trouble();
        self.transact(|tx| {
            tx.note_storage(trouble);
            tx.start_host_task(caller, asked)
        })
    }

    /// Begins a job (row 22). False: it has ended.
    #[must_use]
    pub fn begin_job(&self, id: &CorrelationId) -> bool {
        self.transact(|tx| tx.begin_job(id))
    }

    /// Reports the progress of a job, `part` from 0 to 1 (row 23). False: it has ended, so its worker
    /// should stop.
    #[must_use]
    pub fn advance_job(&self, id: &CorrelationId, part: f64, message: &str) -> bool {
        self.transact(|tx| tx.advance_job(id, part, message))
    }

    /// Ends a wait or a job (row 24). False: it had ended and stays as it is.
    pub fn finish(&self, id: &CorrelationId, outcome: CommandOutcome) -> bool {
        self.transact(|tx| tx.finish(id, outcome))
    }

    /// The jobs that the daemon has not begun, oldest first: after a start, those of the earlier run.
    #[must_use]
    pub fn waiting_jobs(&self) -> Vec<(CorrelationId, Job)> {
        self.view(|engine| engine.waiting_jobs())
    }

    /// The waits that a drawing has ended: their owners, ids and results.
    #[must_use]
    pub fn drawn_waits(&self) -> Vec<(Owner, CorrelationId, Arc<RawValue>)> {
        self.view(|engine| engine.drawn_waits())
    }

    /// The owner of a command.
    #[must_use]
    pub fn owner_of(&self, id: &CorrelationId) -> Option<Owner> {
        Some(self.0.commands.get(id)?.borrow().spec().owner.clone())
    }

    /// Ends every wait for drawings of this session, and the wait that the drawing names, of any
    /// session (row 24). Returns the ended waits, once the journal has recorded that or cannot be
    /// written.
    pub async fn end_waits(
        &self,
        owner: &Owner,
        session: Option<&SessionName>,
        named: Option<&CorrelationId>,
        outcome: &CommandOutcome,
    ) -> Vec<CorrelationId> {
        let ended = self.transact(|tx| tx.end_waits(owner, session, named, outcome));
        tracing::debug!(waits = ended.len(), "a drawing, or that there is none");
        self.flush_journal().await;
        ended
    }

    /// Ends one wait for a drawing (row 24). Returns once the journal has recorded that, or cannot be
    /// written.
    pub async fn end_wait(&self, id: &CorrelationId, outcome: CommandOutcome) {
        self.transact(|tx| tx.end_wait(id, outcome));
        self.flush_journal().await;
    }

    /// The waits that are assigned to an extension that only polls, for this session or with this id:
    /// their owners and ids.
    #[must_use]
    pub fn held_waits(
        &self,
        extension_id: &str,
        session: Option<&SessionName>,
        named: Option<&CorrelationId>,
    ) -> Vec<(Owner, CorrelationId)> {
        self.view(|engine| engine.held_waits(extension_id, session, named))
    }

    /// Whether the owner has read a command's outcome.
    #[must_use]
    pub fn is_read(&self, id: &CorrelationId) -> bool {
        self.0.commands.get(id).is_some_and(|entry| entry.borrow().is_read())
    }

    /// Returns once the owner has read a command's outcome, or never will. True: the owner has.
    pub async fn until_read(&self, id: &CorrelationId) -> bool {
        let Some(mut command) = self.0.commands.get(id).map(|entry| entry.subscribe()) else {
            return false;
        };
        let read = command.wait_for(crate::lifecycle::Command::is_read);
        tokio::select! {
            biased;
            // An error means that the record was dropped.
            read = read => read.is_ok(),
            () = self.0.closed.cancelled() => false,
        }
    }

    /// Returns once a command has ended, its record was dropped, or the hub has shut down.
    pub async fn until_over(&self, id: &CorrelationId) {
        let Some(mut command) = self.0.commands.get(id).map(|entry| entry.subscribe()) else {
            return;
        };
        let over = command.wait_for(|command| command.phase().is_terminal());
        tokio::select! {
            biased;
            _ = over => {}
            () = self.0.closed.cancelled() => {}
        }
    }
}
