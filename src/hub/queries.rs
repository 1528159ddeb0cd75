//! Queries about browsers, tabs and clients, and requests to record.

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

    /// The same for an owner, with the number of tabs that its clients see.
    #[must_use]
    pub fn browsers_of(&self, owner: &Owner) -> Vec<BrowserSummary> {
        self.view(|engine| engine.browser_summaries_of(owner))
    }

    /// The tabs of the connected browsers that a client sees.
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

    /// The named tab, or the client's current one. `must_name_tab`: a call that names none is refused
    /// while its client uses several tabs.
    ///
    /// # Errors
    ///
    /// There is no such tab, it could be in several browsers, or the call has to name one.
    pub fn find_tab(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
        must_name_tab: bool,
    ) -> Result<(BrowserId, BrowserTab), CallRefusal> {
        self.transact(|tx| tx.find_tab(caller, selector, must_name_tab))
    }

    /// Applies a request to record and informs the browsers that it concerns. Returns the new status.
    ///
    /// # Errors
    ///
    /// The browser or tab of the request does not exist, or is ambiguous.
    pub fn capture(
        &self,
        caller: &Caller,
        change: &CaptureChange,
    ) -> Result<CaptureStatus, CallRefusal> {
        self.transact(|tx| tx.capture(caller, change))
    }

    /// Whether a stream is recorded for an owner: in this browser and tab, or, if none is named, in any of
    /// those that its clients see.
    #[must_use]
    pub fn captures_for(
        &self,
        owner: &Owner,
        stream: StreamKind,
        browser: Option<&BrowserId>,
        tab: Option<TabId>,
    ) -> bool {
        self.view(|engine| engine.captures_for(owner, stream, browser, tab))
    }

    /// The connected browsers that requests to record do not reach, of all or of this one.
    #[must_use]
    pub fn capture_unsupported(&self, browser: Option<&BrowserId>) -> CaptureUnsupportedBrowsers {
        self.view(|engine| engine.capture_unsupported(browser))
    }

    /// The streams that a browser is to record, even one that has never connected.
    #[must_use]
    pub fn capture_of(&self, browser: &BrowserId) -> CaptureSettings {
        self.view(|engine| engine.capture_of(browser))
    }

    /// What a person calls a browser.
    #[must_use]
    pub fn browser_label(&self, browser: &BrowserId) -> Option<String> {
        self.view(|engine| engine.browser_label(browser))
    }

    /// Notes the program that a client says it is.
    pub fn note_program(&self, caller: &Caller, program: ClientProgram) {
        self.transact(|tx| tx.note_program(caller, program));
    }

    /// Notes whether a client wants notifications of its jobs.
    pub fn note_wants_jobs(&self, caller: &Caller, wants: bool) {
        self.transact(|tx| tx.note_wants_jobs(caller, wants));
    }

    /// Whether a client asked for notifications of its jobs. False for a forgotten client.
    #[must_use]
    pub fn wants_jobs(&self, caller: &Caller) -> bool {
        self.view(|engine| engine.wants_jobs(caller))
    }

    /// Notes whether a client can be asked in which folders it works.
    pub fn note_has_roots(&self, caller: &Caller, has_roots: bool) {
        self.transact(|tx| tx.note_has_roots(caller, has_roots));
    }

    /// Whether a client can be asked in which folders it works. False for a forgotten client.
    #[must_use]
    pub fn has_roots(&self, caller: &Caller) -> bool {
        self.view(|engine| engine.has_roots(caller))
    }

    /// Notes whether a client shows views of commands.
    pub fn note_shows_views(&self, caller: &Caller, shows_views: bool) {
        self.transact(|tx| tx.note_shows_views(caller, shows_views));
    }

    /// Whether a client shows views of commands. False for a forgotten client.
    #[must_use]
    pub fn shows_views(&self, caller: &Caller) -> bool {
        self.view(|engine| engine.shows_views(caller))
    }

    /// For how long no client has called and no command was pending, counted from
    /// `since` at the earliest.
    #[must_use]
    pub fn idle_for(&self, since: Timestamp) -> Duration {
        let now = self.now();
        self.view(|engine| engine.idle_for(since, now))
    }

    /// Counts a tool call of this client and its owner. A call over the limit is refused after a
    /// delay: a caller that calls again right after each refusal would slow everybody down.
    ///
    /// # Errors
    ///
    /// [`RefusalReason::RateLimited`](crate::engine::RefusalReason::RateLimited), after [`TOO_SOON`].
    pub async fn admit(&self, caller: &Caller) -> Result<(), CallRefusal> {
        let admitted = self.transact(|tx| tx.admit(caller));
        if admitted.is_err() {
            tokio::time::sleep(TOO_SOON).await;
        }
        admitted
    }

    /// Counts the bytes of a request of this owner. A request over the limit is refused after a delay.
    ///
    /// # Errors
    ///
    /// The time until it would be accepted, after [`TOO_SOON`].
    pub async fn admit_bytes(&self, owner: &Owner, bytes: usize) -> Result<(), Duration> {
        let admitted = self.transact(|tx| tx.admit_bytes(owner, bytes));
        if admitted.is_err() {
            tokio::time::sleep(TOO_SOON).await;
        }
        // The delay above was part of that time.
        admitted.map_err(|retry_after| retry_after.saturating_sub(TOO_SOON))
    }
}
