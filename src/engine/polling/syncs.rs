//! `POST /sync`: one request in which an extension polls, reports, and names its running commands.
//!
//! The daemon may hold the request until there is a command. It does not while the extension has an
//! unanswered command, because some extensions send the result only after the request has returned.

use std::time::Duration;

use super::polls::{PollRequest, ReportDisposition};
use super::sessions::PollId;
use crate::engine::Transaction;
use crate::engine::entry::JournalSeq;
use crate::lifecycle::{CommandPhase, LifecycleEvent, limits};
use crate::protocol::{BrowserId, ExtensionReport, LegacySyncRequest, Timestamp, Transport};

/// A `/sync` request whose reports were applied and that has no answer yet.
#[derive(Clone, Debug)]
pub struct BegunSync {
    /// The browser that it came from.
    pub browser: BrowserId,
    /// Whether the answer waits for a command.
    pub is_held: bool,
}

impl Transaction<'_> {
    /// Applies the reports of a `/sync` request and assigns the next command to it. `None`: there is
    /// no such browser. Also returns the journal entry that records the reports.
    pub fn begin_sync(
        &mut self,
        id: PollId,
        extension_id: &str,
        poll: &PollRequest,
        request: &LegacySyncRequest,
    ) -> (Option<BegunSync>, JournalSeq) {
        let mut reported = JournalSeq::default();
        // Reports first: they free the lane for the command that the answer may bring.
        for report in request.reports() {
            let (verdict, seq) = self.take_report(extension_id, report);
            if let ReportDisposition::Refused(reason) = verdict {
                tracing::info!(extension_id, ?reason, "a posted result does not count");
            }
            reported = reported.max(seq);
        }
        let Some(browser) = self.begin_poll(id, extension_id.to_owned(), poll) else {
            return (None, reported);
        };
        self.follow_given(&browser, request);
        self.deliver_all(&browser);
        let is_held = self.is_to_be_held(&browser, request);
        (Some(BegunSync { browser, is_held }), reported)
    }

    /// Compares the commands that the extension names with those assigned to it. A named command has
    /// arrived and is never sent again. A command that cannot have arrived goes back to the queue.
    fn follow_given(&mut self, browser: &BrowserId, request: &LegacySyncRequest) {
        let received = request.received();
        let now = self.now();
        let Some(known) = self.browsers.get_mut(browser) else { return };
        let Some(poller) = known.poller_mut() else { return };
        poller.sync.says_what_runs = request.says_what_runs();
        for id in known.held().cloned().collect::<Vec<_>>() {
            let Some(command) = self.commands.get(&id) else { continue };
            let names = [id.as_str(), command.spec().query_id.as_str()];
            let is_received = received.iter().any(|name| names.contains(&name.as_str()));
            // A request that left the extension before the answer arrived cannot name the command.
            let is_overdue = now.since(command.delivered_at()) >= limits::SYNC_UNMENTIONED;
            let delivery =
                command.delivery().filter(|_| command.phase() == CommandPhase::Sent).cloned();
            let Some(delivery) = delivery.filter(|delivery| delivery.transport == Transport::Sync)
            else {
                continue;
            };
            // A report in its name starts the command, and a started command is never sent again.
            if is_received {
                let report =
                    ExtensionReport::Pending { message: None, progress: None, dialog: None };
                self.apply(&id, LifecycleEvent::Report(delivery.peer, delivery.attempt, report));
            } else if request.says_what_runs() && is_overdue && self.is_lost(browser) {
                tracing::info!(%id, %browser, "a command did not arrive, and is delivered again");
                self.apply(&id, LifecycleEvent::LinkClosed);
            }
        }
    }

    /// Counts a request that does not name the assigned command. True: after this many,
    /// the answer with the command must have been lost.
    fn is_lost(&mut self, browser: &BrowserId) -> bool {
        let poller = self.browsers.get_mut(browser).and_then(|known| known.poller_mut());
        let Some(poller) = poller else { return false };
        poller.sync.unmentioned += 1;
        poller.sync.unmentioned >= limits::SYNC_UNMENTIONED_TIMES
    }

    /// Whether the answer waits for a command. A request with results or log lines is answered at
    /// once, because until then the extension would send them again with its next request. Every
    /// second request with nothing but log lines is held, or a chatty page would turn holding off.
    fn is_to_be_held(&mut self, browser: &BrowserId, request: &LegacySyncRequest) -> bool {
        let is_shutting_down = self.is_shutting_down;
        let Some(known) = self.browsers.get_mut(browser) else { return false };
        let is_at_work = known.held().next().is_some();
        let Some(poller) = known.poller_mut() else { return false };
        let is_hurried = request.has_logs() && !poller.sync.was_hurried;
        poller.sync.was_hurried = is_hurried;
        request.can_be_held()
            && !is_at_work
            && !request.has_reports()
            && !is_hurried
            && !is_shutting_down
    }

    /// When the extension should poll again, and the time of the daemon.
    pub fn end_sync(&mut self, browser: &BrowserId, can_be_held: bool) -> (Duration, Timestamp) {
        let now = self.now();
        if self.is_shutting_down {
            return (limits::SYNC_ENDING, now);
        }
        let Some(known) = self.browsers.get_mut(browser) else { return (limits::SYNC_UNHELD, now) };
        // A held request shows that the extension is connected.
        known.touch(now);
        let next = match (known.held().next().is_none(), can_be_held) {
            (false, _) => limits::SYNC_AT_WORK,
            (true, true) => limits::SYNC_AGAIN,
            (true, false) => limits::SYNC_UNHELD,
        };
        (next, now)
    }
}
