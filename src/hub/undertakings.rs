//! What no browser does: waits for a person, and jobs of the daemon's own.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Caller, Hub};
use crate::engine::{CallRefusal, HostTask, SubmittedCommand};
use crate::lifecycle::CommandOutcome;
use crate::protocol::{CorrelationId, Job, Owner, SessionName};

impl Hub {
    /// Takes a wait or a job, for a caller that will not be told of it before
    /// [`confirm`](Self::confirm) has returned. Who does the work is the caller's to see to,
    /// if it [is new](Submitted::is_new).
    ///
    /// # Errors
    ///
    /// [`CallRefusal`]: it was not taken, and nothing that was is touched.
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

    /// The daemon gets to this job (row 22). False: it is over, or has begun.
    #[must_use]
    pub fn begin_job(&self, id: &CorrelationId) -> bool {
        self.transact(|tx| tx.begin_job(id))
    }

    /// Says how far a job is, `part` from 0 to 1 (row 23). False: it is over, so that whoever
    /// is at it should stop.
    #[must_use]
    pub fn advance_job(&self, id: &CorrelationId, part: f64, message: &str) -> bool {
        self.transact(|tx| tx.advance_job(id, part, message))
    }

    /// Ends a wait or a job (row 24). False: it was over, and stays as it is.
    pub fn finish(&self, id: &CorrelationId, outcome: CommandOutcome) -> bool {
        self.transact(|tx| tx.finish(id, outcome))
    }

    /// The jobs that wait for the daemon to get to them, oldest first: after a start, those
    /// of its earlier life.
    #[must_use]
    pub fn waiting_jobs(&self) -> Vec<(CorrelationId, Job)> {
        self.view(|engine| engine.waiting_jobs())
    }

    /// The waits that a drawing has ended, with what it said: whose they are, and their results.
    #[must_use]
    pub fn drawn_waits(&self) -> Vec<(Owner, CorrelationId, Arc<RawValue>)> {
        self.view(|engine| engine.drawn_waits())
    }

    /// Whose command this is.
    #[must_use]
    pub fn owner_of(&self, id: &CorrelationId) -> Option<Owner> {
        Some(self.0.commands.get(id)?.borrow().spec().owner.clone())
    }

    /// Ends every wait for drawings of this session, and the one that the drawing names,
    /// whatever it waits for (row 24). Those that it has ended; returns once that is recorded,
    /// or cannot be for now.
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

    /// Ends this wait for a drawing and no other (row 24). Returns once that is recorded, or
    /// cannot be for now.
    pub async fn end_wait(&self, id: &CorrelationId, outcome: CommandOutcome) {
        self.transact(|tx| tx.end_wait(id, outcome));
        self.flush_journal().await;
    }

    /// The waits for drawings of this session, or of this name, that an extension which only
    /// polls holds: whose they are, and their names.
    #[must_use]
    pub fn held_waits(
        &self,
        extension_id: &str,
        session: Option<&SessionName>,
        named: Option<&CorrelationId>,
    ) -> Vec<(Owner, CorrelationId)> {
        self.view(|engine| engine.held_waits(extension_id, session, named))
    }

    /// Whether a command's outcome was handed to its owner.
    #[must_use]
    pub fn is_read(&self, id: &CorrelationId) -> bool {
        self.0.commands.get(id).is_some_and(|entry| entry.borrow().is_read())
    }

    /// Returns once a command's outcome was handed to its owner, or never will be. True: it
    /// was.
    pub async fn until_read(&self, id: &CorrelationId) -> bool {
        let Some(mut command) = self.0.commands.get(id).map(|entry| entry.subscribe()) else {
            return false;
        };
        let read = command.wait_for(crate::lifecycle::Command::is_read);
        tokio::select! {
            biased;
            // An error says that the record is gone.
            read = read => read.is_ok(),
            () = self.0.closed.cancelled() => false,
        }
    }

    /// Returns once a command is over, its record gone, or the hub shut down.
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
