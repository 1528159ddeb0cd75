//! Extensions that only poll: their requests, which may be answered with a command.

use tokio::sync::oneshot;

use super::Hub;
use crate::engine::{
    Assignment, BegunSync, PendingQuerySummary, PollId, PollRequest, ReportDisposition,
};
use crate::journal::WriteFailure;
use crate::lifecycle::limits;
use crate::protocol::{
    BrowserId, CaptureOverrides, InstanceId, LegacyQuery, LegacyReport, LegacySyncAnswer,
    LegacySyncRequest,
};

/// A request that may be answered with a command. Dropped before it is, it gives back the one
/// that it was to be answered with: its extension has not seen it.
#[derive(Debug)]
struct OpenPoll {
    hub: Hub,
    browser: BrowserId,
    id: PollId,
    /// Until it is closed.
    assigned: Option<oneshot::Receiver<Assignment>>,
    /// The command for its answer.
    assignment: Option<Assignment>,
}

impl OpenPoll {
    /// Returns once it has been given a command, or nothing can come any more.
    ///
    /// Cancel safe.
    async fn wait(&mut self) {
        if let Some(assigned) = self.assigned.as_mut() {
            self.assignment = assigned.await.ok();
            self.assigned = None;
        }
    }

    /// The command that it was given, if it was. When this returns, its delivery is recorded.
    async fn finish(mut self) -> Option<LegacyQuery> {
        self.close();
        let Assignment { id, after, .. } = self.assignment.as_ref()?;
        // A polled command may begin as soon as it is handed over.
        match self.hub.0.journal.recorded(*after).await {
            Ok(()) => self.assignment.take().map(|assignment| *assignment.query),
            Err(trouble) => {
                tracing::warn!(%trouble, %id, "a command is not delivered: that cannot be recorded");
                None
            }
        }
    }

    fn close(&mut self) {
        if let Some(mut assigned) = self.assigned.take() {
            self.hub.close_poll(Some(&self.browser), self.id);
            self.assignment = assigned.try_recv().ok();
        }
    }
}

impl Drop for OpenPoll {
    fn drop(&mut self) {
        self.close();
        if let Some(Assignment { id, attempt, .. }) = self.assignment.take() {
            self.hub.transact(|tx| tx.take_back(&id, attempt));
        }
    }
}

impl Hub {
    /// Notes that an extension named this session as its own.
    pub fn name_session(&self, extension_id: &str, session: &InstanceId) {
        self.transact(|tx| tx.name_session(extension_id, session));
    }

    /// The extension that has named this session as its own.
    #[must_use]
    pub fn extension_of(&self, session: &InstanceId) -> Option<String> {
        self.view(|engine| engine.extension_of(session))
    }

    /// The browser in which this extension was last active. Its posts about pages name no session.
    #[must_use]
    pub fn browser_with(&self, extension_id: &str) -> BrowserId {
        self.view(|engine| engine.browser_with(extension_id))
    }

    /// Answers a poll: with the next command for this extension, if there is one. When this
    /// returns, its delivery is recorded.
    pub async fn poll(&self, poll: PollRequest) -> Option<LegacyQuery> {
        let (id, assigned, browser) = self.open_poll(|tx, id| tx.poll(id, &poll));
        self.opened(id, assigned, browser)?.finish().await
    }

    fn opened(
        &self,
        id: PollId,
        assigned: oneshot::Receiver<Assignment>,
        browser: Option<BrowserId>,
    ) -> Option<OpenPoll> {
        let Some(browser) = browser else {
            self.close_poll(None, id);
            return None;
        };
        let hub = self.clone();
        Some(OpenPoll { hub, browser, id, assigned: Some(assigned), assignment: None })
    }

    /// Applies a report of an extension that polls. When this returns, the journal has recorded the
    /// consequences.
    ///
    /// # Errors
    ///
    /// [`WriteFailure`]: it counts, but the journal cannot be written now. The extension posts it
    /// again, and it is accepted once it can.
    pub async fn take_report(
        &self,
        extension_id: &str,
        report: LegacyReport,
    ) -> Result<ReportDisposition, WriteFailure> {
        let (taken, seq) = self.transact(|tx| tx.take_report(extension_id, report));
        self.0.journal.recorded(seq).await?;
        Ok(taken)
    }

    /// The commands that are not over, for a look from outside.
    #[must_use]
    pub fn pending_queries(&self) -> Vec<PendingQuerySummary> {
        let now = self.now();
        self.view(|engine| engine.pending_queries(now))
    }

    /// Applies the reports of a `/sync` request, and assigns the next command to it. When this
    /// returns, the journal has recorded the reports. `None`: its browser is gone.
    ///
    /// # Errors
    ///
    /// [`WriteFailure`]: the reports count, but the journal cannot be written now. The extension sends
    /// them again, and they are accepted once it can.
    pub async fn begin_sync(
        &self,
        extension_id: &str,
        poll: PollRequest,
        request: &LegacySyncRequest,
    ) -> Result<Option<OpenSync>, WriteFailure> {
        let (id, assigned, (begun, reported)) =
            self.open_poll(|tx, id| tx.begin_sync(id, extension_id, &poll, request));
        let is_held = begun.as_ref().is_some_and(|begun| begun.is_held);
        let browser = begun.map(|BegunSync { browser, .. }| browser);
        // Before anything is waited for: dropped, it gives its command back.
        let open = self.opened(id, assigned, browser);
        self.0.journal.recorded(reported).await?;
        let (version, can_be_held) = (request.version().to_owned(), request.can_be_held());
        Ok(open.map(|open| OpenSync { open, is_held, can_be_held, version }))
    }
}

/// A `/sync` request whose reports have been taken, and that is still to be answered. Dropped,
/// it has delivered nothing.
#[derive(Debug)]
pub struct OpenSync {
    open: OpenPoll,
    is_held: bool,
    can_be_held: bool,
    version: String,
}

impl OpenSync {
    /// The browser that it came from.
    #[must_use]
    pub const fn browser(&self) -> &BrowserId {
        &self.open.browser
    }

    /// The answer: with a command as soon as there is one, without one after
    /// [`limits::SYNC_HOLD`] or when there is nothing to wait for.
    pub async fn answer(mut self) -> LegacySyncAnswer {
        if self.is_held {
            // `finish` also takes a command that was assigned at the last moment.
            let _ = tokio::time::timeout(limits::SYNC_HOLD, self.open.wait()).await;
        }
        let Self { open, can_be_held, version, .. } = self;
        let (hub, browser) = (open.hub.clone(), open.browser.clone());
        let query = open.finish().await;
        let (next, now) = hub.transact(|tx| tx.end_sync(&browser, can_be_held));
        LegacySyncAnswer {
            ack: true,
            commands: query.into_iter().collect(),
            next_poll_ms: u64::try_from(next.as_millis()).unwrap_or(u64::MAX),
            server_time: now,
            server_version: version,
            capture_overrides: CaptureOverrides::default(),
        }
    }
}
