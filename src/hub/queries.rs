//! What callers ask of browsers, tabs and clients, and what browsers are to record.

use std::time::Duration;

use super::{Caller, Hub};
use crate::engine::{
    BrowserSummary, CallRefusal, CaptureChange, CaptureStatus, CaptureUnsupportedBrowsers,
    ClientSummary, TabSummary,
};
use crate::lifecycle::TargetSelector;
use crate::lifecycle::limits::TOO_SOON;
use crate::protocol::{
    BrowserId, BrowserTab, CaptureSettings, ClientProgram, Owner, StreamKind, TabId, Timestamp,
};

impl Hub {
    /// The browsers that are known, connected ones first.
    #[must_use]
    pub fn browsers(&self) -> Vec<BrowserSummary> {
        self.view(|engine| engine.browser_summaries())
    }

    /// The tabs of the connected browsers.
    #[must_use]
    pub fn tabs(&self, caller: &Caller) -> Vec<TabSummary> {
        self.transact(|tx| tx.tab_summaries(caller))
    }

    /// The owner's clients that are at work or were heard of in the last 10 minutes, the one heard
    /// of last first. Others are remembered for longer, and are listed again with their next call.
    #[must_use]
    pub fn clients(&self, owner: &Owner) -> Vec<ClientSummary> {
        let now = self.now();
        self.view(|engine| engine.client_summaries(owner, now))
    }

    /// The tab that is named, or this client's current one.
    ///
    /// # Errors
    ///
    /// It is not there, or could be of one of several browsers.
    pub fn find_tab(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
    ) -> Result<(BrowserId, BrowserTab), CallRefusal> {
        self.transact(|tx| tx.find_tab(caller, selector))
    }

    /// Changes what is recorded, and tells the browsers that it is about. What is recorded
    /// then.
    ///
    /// # Errors
    ///
    /// The browser or tab that is named is not there, or could be one of several.
    pub fn capture(
        &self,
        caller: &Caller,
        change: &CaptureChange,
    ) -> Result<CaptureStatus, CallRefusal> {
        self.transact(|tx| tx.capture(caller, change))
    }

    /// What is recorded now.
    #[must_use]
    pub fn capturing(&self) -> CaptureStatus {
        self.view(|engine| engine.capturing())
    }

    /// Whether a stream is recorded: in this browser and tab, in any if none is named.
    #[must_use]
    pub fn captures(
        &self,
        stream: StreamKind,
        browser: Option<&BrowserId>,
        tab: Option<TabId>,
    ) -> bool {
        self.view(|engine| engine.captures(stream, browser, tab))
    }

    /// Which connected browsers, of all or of this one, record what their person has set and
    /// not what they are asked to: by their labels, and whether there are others.
    #[must_use]
    pub fn capture_unsupported(&self, browser: Option<&BrowserId>) -> CaptureUnsupportedBrowsers {
        self.view(|engine| engine.capture_unsupported(browser))
    }

    /// What a browser is to record now, also one that is not known yet.
    #[must_use]
    pub fn capture_of(&self, browser: &BrowserId) -> CaptureSettings {
        self.view(|engine| engine.capture_of(browser))
    }

    /// Notes what a client says that it is.
    pub fn note_program(&self, caller: &Caller, program: ClientProgram) {
        self.transact(|tx| tx.note_program(caller, program));
    }

    /// Notes whether a client asked to be told of its jobs.
    pub fn note_wants_jobs(&self, caller: &Caller, wants: bool) {
        self.transact(|tx| tx.note_wants_jobs(caller, wants));
    }

    /// Whether a client asked to be told of its jobs, as far as it is remembered.
    #[must_use]
    pub fn wants_jobs(&self, caller: &Caller) -> bool {
        self.view(|engine| engine.wants_jobs(caller))
    }

    /// For how long no client has called and no command was pending, counted from
    /// `since` at the earliest.
    #[must_use]
    pub fn idle_for(&self, since: Timestamp) -> Duration {
        let now = self.now();
        self.view(|engine| engine.idle_for(since, now))
    }

    /// Counts a tool call of this client and its owner. One too many is refused, but not at once:
    /// a caller that calls again right after each refusal would hold up everybody.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::RateLimited`](crate::engine::Refusal::RateLimited), after [`TOO_SOON`].
    pub async fn admit(&self, caller: &Caller) -> Result<(), CallRefusal> {
        let admitted = self.transact(|tx| tx.admit(caller));
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
        let admitted = self.transact(|tx| tx.admit_bytes(owner, bytes));
        if admitted.is_err() {
            tokio::time::sleep(TOO_SOON).await;
        }
        // The wait has been part of it.
        admitted.map_err(|retry_after| retry_after.saturating_sub(TOO_SOON))
    }
}
