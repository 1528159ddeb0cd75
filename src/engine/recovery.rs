//! How the engine continues from the journal of an earlier run (row 17).

use super::browsers::BrowserState;
use super::clients::CurrentTab;
use super::effects::CommandUpdate;
use super::entry::{CurrentTabRecord, JournalEntry, JournalSeq};
use super::history::{RecordedCommand, RecordedHistory, RecordedKey};
use super::transaction::DROPPED;
use super::{Caller, Transaction, keys};
use crate::lifecycle::{CallDigest, Command, CommandPhase, Lane, SavedStage};
use crate::protocol::{BrowserId, CorrelationId};

/// The digest of a recorded call. Journals of older versions have keys without digests, so it is
/// computed from the record of the command.
fn digest_of(commands: &[RecordedCommand], id: &CorrelationId) -> Option<CallDigest> {
    let kept = commands.iter().find(|kept| kept.saved.spec.id == *id)?;
    if kept.saved.spec.is_private {
        return None;
    }
    Some(CallDigest::of(&kept.saved.spec.work, &kept.selector))
}

impl Transaction<'_> {
    /// Continues from the journal. Commands that had not begun wait for their turn again, commands
    /// that may have begun wait for their browser, and ended commands can be read.
    pub fn recover(&mut self, history: RecordedHistory, is_same_boot: bool) {
        let now = self.now();
        let limits = self.limits;
        self.record(JournalEntry::DropKeys(keys::fresh_since(now)));
        for current in history.clients {
            self.recover_client(current);
        }
        for lease in history.leases {
            self.recover_lease(lease);
        }
        for tab in history.opened_tabs {
            // Else its session would be forgotten, and with it that the number is of a former run.
            self.expect_browser(&tab.browser);
            self.recover_opened_tab(tab);
        }
        for tab in history.owner_tabs {
            self.expect_browser(&tab.browser);
            self.recover_owned_tab(tab);
        }
        for kept in history.consents {
            self.recover_consent(kept);
        }
        for (id, client, gone) in history.gone {
            // There can be too many only if the limits were lowered since; then the oldest go.
            let _ = self.retention.add_tombstone(&client, &id, gone, &limits);
        }
        for kept in history.keys {
            // Keys are dropped oldest first: a key from before the clock was set back must not keep
            // younger ones.
            let accepted = kept.accepted.min(now);
            let digest = kept.digest.or_else(|| digest_of(&history.commands, &kept.id));
            let _ = self.keys.put(RecordedKey { accepted, digest, ..kept }, &limits);
        }
        for kept in history.commands {
            self.recover_command(kept, is_same_boot);
        }
        for (browser, session) in history.sessions {
            // A browser without commands or clients needs no session: it has no tabs to compare.
            if let Some(known) = self.browsers.get_mut(&browser) {
                known.restore_session(session);
            }
        }
    }

    fn recover_client(&mut self, current: CurrentTabRecord) {
        let CurrentTabRecord { client, owner, browser, tab, at, used } = current;
        let now = self.now();
        self.expect_browser(&browser);
        let known = self.client(&Caller { owner, client });
        known.restore(CurrentTab { browser, tab }, used, at, now);
    }

    /// Adds a browser that has not connected yet, so that commands for it wait.
    fn expect_browser(&mut self, browser: &BrowserId) {
        let now = self.now();
        let away = || BrowserState::new(now);
        self.browsers.entry(browser.clone()).or_insert_with(away);
    }

    fn recover_command(&mut self, kept: RecordedCommand, is_same_boot: bool) {
        let RecordedCommand { saved, lane, selector } = kept;
        let was_over = matches!(saved.stage, SavedStage::Ended { .. });
        let asleep = self.sleep.total();
        let command = Command::restore_after_sleep(saved, is_same_boot, self.now(), asleep);
        let spec = command.spec();
        let (id, client) = (spec.id.clone(), spec.client.clone());
        self.client(&Caller { owner: spec.owner.clone(), client: client.clone() });
        // Number 0, since an earlier run has recorded the acceptance: nobody waits for it.
        let update =
            CommandUpdate::New { command: command.clone(), accepted: JournalSeq::default() };
        self.effects().commands.push(update);
        self.commands.insert(command.clone(), JournalSeq::default());
        self.follow_deadline(&command);
        self.quotas.add(&command);
        if let Some(lane) = &lane {
            self.expect_browser(&lane.browser);
        }
        match command.phase() {
            CommandPhase::Ended | CommandPhase::Leaving => {
                if let Some(lane) = lane {
                    self.scheduler.note_lane(&id, lane);
                }
                if was_over {
                    self.shelve(&command);
                } else {
                    // The restart has ended it, so this run must record the end.
                    let recorded = Some(self.record_change(&command));
                    let update = CommandUpdate::Changed { command: command.clone(), recorded };
                    self.effects().commands.push(update);
                    self.ended(&command);
                }
                return;
            }
            CommandPhase::Queued => {
                self.scheduler.note_selector(&id, selector);
                // In the order of acceptance, in which the journal lists the commands (decision
                // 83).
                self.scheduler.join(command.spec(), lane);
            }
            CommandPhase::Sent | CommandPhase::Started => self.resume(&command, lane),
            CommandPhase::Held => {
                self.scheduler.note_selector(&id, selector);
                if let Some(lane) = lane {
                    self.scheduler.note_lane(&id, lane);
                }
            }
            // The person may still draw, and the job runner begins the jobs.
            CommandPhase::Waiting | CommandPhase::Working => {
                self.scheduler.note_selector(&id, selector);
            }
        }
        self.clients.add_command(&client, id);
    }

    /// Lets a command that may have begun keep its lane until its browser reports on it.
    fn resume(&mut self, command: &Command, lane: Option<Lane>) {
        let spec = command.spec();
        if let Some(lane) = lane {
            self.scheduler.occupy(spec, lane);
        }
        if let Some(holder) = command.delivery().map(|delivery| delivery.peer.browser.clone()) {
            self.expect_browser(&holder);
        }
        self.follow_holder(command, None);
    }

    /// Adds a command that had ended to the history of its client.
    fn shelve(&mut self, command: &Command) {
        let spec = command.spec();
        let limits = self.limits;
        if let Some(failure) = command.as_failed(self.scheduler.lane_of(&spec.id)) {
            self.retention.list_failure(&spec.client, failure, &limits);
        }
        let one_too_many = self.retention.keep(&spec.client, spec.id.clone(), &limits);
        if command.is_read() {
            self.retention.mark_read(&spec.client, &spec.id);
        }
        if let Some(id) = one_too_many {
            self.forget(&id, DROPPED);
        }
    }
}
