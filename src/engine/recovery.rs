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

/// What the call of a command asked for, as its record has it: journals of older versions have
/// no digests beside their keys.
fn digest_of(commands: &[RecordedCommand], id: &CorrelationId) -> Option<CallDigest> {
    let kept = commands.iter().find(|kept| kept.saved.spec.id == *id)?;
    Some(CallDigest::of(&kept.saved.spec.work, &kept.selector))
}

impl Transaction<'_> {
    /// Takes in what was recorded. Commands that had not begun wait again for their turn,
    /// those that had wait for their browser, and those that were over can be read.
    pub fn recover(&mut self, history: RecordedHistory, is_same_boot: bool) {
        let now = self.now();
        let limits = self.limits;
        self.record(JournalEntry::DropKeys(keys::fresh_since(now)));
        for current in history.clients {
            self.recover_client(current);
        }
        for (id, client, gone) in history.gone {
            // One more than may be kept can only be left by other limits.
            let _ = self.retention.add_tombstone(&client, &id, gone, &limits);
        }
        for kept in history.keys {
            // One from before the clock was set back must not make younger ones look old.
            let accepted = kept.accepted.min(now);
            let digest = kept.digest.or_else(|| digest_of(&history.commands, &kept.id));
            let _ = self.keys.put(RecordedKey { accepted, digest, ..kept }, &limits);
        }
        for kept in history.commands {
            self.recover_command(kept, is_same_boot);
        }
        for (browser, session) in history.sessions {
            // One that nothing is known of needs none.
            if let Some(known) = self.browsers.get_mut(&browser) {
                known.restore_session(session);
            }
        }
    }

    fn recover_client(&mut self, current: CurrentTabRecord) {
        let CurrentTabRecord { client, owner, browser, tab, at } = current;
        self.expect_browser(&browser);
        let known = self.client(&Caller { owner, client });
        known.restore(CurrentTab { browser, tab }, at);
    }

    /// A browser that was known is waited for.
    fn expect_browser(&mut self, browser: &BrowserId) {
        let now = self.now();
        let away = || BrowserState::new(now);
        self.browsers.entry(browser.clone()).or_insert_with(away);
    }

    fn recover_command(&mut self, kept: RecordedCommand, is_same_boot: bool) {
        let RecordedCommand { saved, lane, selector } = kept;
        let was_over = matches!(saved.stage, SavedStage::Ended { .. });
        let command = Command::restore(saved, is_same_boot, self.now());
        let spec = command.spec();
        let (id, client) = (spec.id.clone(), spec.client.clone());
        self.client(&Caller { owner: spec.owner.clone(), client: client.clone() });
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
                    let recorded = Some(self.record_change(&command));
                    let update = CommandUpdate::Changed { command: command.clone(), recorded };
                    self.effects().commands.push(update);
                    self.ended(&command);
                }
                return;
            }
            CommandPhase::Queued => {
                self.scheduler.note_selector(&id, selector);
                self.scheduler.join(command.spec(), lane);
            }
            CommandPhase::Sent | CommandPhase::Started => self.resume(&command, lane),
            // Whoever draws still may, and jobs are begun by their own runner.
            CommandPhase::Waiting | CommandPhase::Working => {
                self.scheduler.note_selector(&id, selector);
            }
        }
        self.clients.add_command(&client, id);
    }

    /// A command that has begun keeps its lane, and its browser is asked for it.
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

    /// Lists a command that was over already.
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
