//! Entries as changes of rows: their records, and the columns that rows are found by.

use std::collections::HashSet;
use std::iter;

use rusqlite::Connection;
use rusqlite::types::Value;
use serde::Serialize;

use super::consent_record::ConsentRecord;
use super::record::{
    AcceptanceRecord, BrowserRecord, KeyRecord, LaneRecord, ReadRecord, RunRecord, StageRecord,
    TombstoneRecord,
};
use super::row_change::{RowChange, RowChanges, RowStatement};
use super::row_ids::RowIds;
use super::tab_records::{ClientRecord, LeaseRecord, OpenedTabRecord, OwnerTabRecord};
use crate::engine::{
    AcceptedCommand, ClientTab, ClockAnchor, ConsentSubject, CurrentTabRecord, Eviction,
    JournalEntry, KeptConsent, OwnerTab, RecordedHistory, RecordedKey, TabLease,
};
use crate::lifecycle::CommandSpec;
use crate::lifecycle::{HoldHistory, Lane, SavedStage, TargetSelector, Tombstone, TracePoint};
use crate::protocol::{BrowserId, BrowserSession, ClientId, CorrelationId, Timestamp};

/// The room that a row has for its stage from the beginning, in bytes. A row that grows with each
/// change moves half of its page to another one, and five pages are written instead of one.
const STAGE_ROOM: usize = 320;

/// Adds the changes that record an entry.
pub(super) fn add_entry(to: &mut RowChanges, row_ids: &mut RowIds, entry: &JournalEntry) {
    match entry {
        JournalEntry::RunStarted(anchor) => put_run(to, anchor),
        JournalEntry::Accepted(accepted) => add_accepted(to, row_ids, accepted),
        JournalEntry::Placed(id, lane) => {
            let values = [text(json(&LaneRecord::of(lane))), number_of(row_ids, id)];
            to.add(RowStatement::PutLane, values);
        }
        JournalEntry::Changed(command) => {
            let stage = SavedStage::of(command);
            // Of a command that is gone nothing is kept.
            if let (Some(stage), Some(number)) = (stage, row_ids.find(&command.spec().id)) {
                put_stage(to, number, command.spec(), &stage, command.marks(), command.holds());
            }
        }
        JournalEntry::Read(id, at) => put_read(to, row_ids.find(id), *at),
        JournalEntry::Evicted(eviction) => add_gone(to, row_ids, eviction),
        JournalEntry::Withdrawn(id) => {
            delete_command(to, row_ids, id);
            // Its eviction or its key may be in the file already.
            for all in [RowStatement::DeleteTombstone, RowStatement::DeleteKeysOfCommand] {
                to.add(all, [text(id.as_str())]);
            }
        }
        JournalEntry::CurrentTab(current) => put_client(to, current),
        JournalEntry::Leased(lease) => put_lease(to, lease),
        JournalEntry::LeaseEnded(browser, tab) => {
            to.add(RowStatement::DeleteLease, [text(browser.as_str()), tab.0.into()]);
        }
        JournalEntry::TabOpened(opened) => put_opened_tab(to, opened),
        JournalEntry::OpenedTabGone(browser, tab) => {
            to.add(RowStatement::DeleteOpenedTab, [text(browser.as_str()), tab.0.into()]);
        }
        JournalEntry::TabOwned(owned) => put_owner_tab(to, owned),
        JournalEntry::OwnedTabGone(browser, tab) => {
            to.add(RowStatement::DeleteOwnerTab, [text(browser.as_str()), tab.0.into()]);
        }
        JournalEntry::ConsentKept(kept) => put_consent(to, kept),
        JournalEntry::ConsentDropped(ConsentSubject { owner, client, kind, site }) => {
            let key = [owner.as_str(), client.as_str(), kind.code(), site];
            to.add(RowStatement::DeleteConsent, key.map(text));
        }
        JournalEntry::Session(browser, session) => put_browser(to, browser, session),
        JournalEntry::ClientForgotten(client) => {
            for all in [
                RowStatement::DeleteClient,
                RowStatement::DeleteTombstonesOfClient,
                RowStatement::DeleteKeysOfClient,
            ] {
                to.add(all, [text(client.as_str())]);
            }
        }
        JournalEntry::DropKeys(before) => {
            to.add(RowStatement::DeleteKeysBefore, [stamp(*before)]);
        }
    }
}

/// Writes all that an older file held into one of this schema.
pub(super) fn write_history(to: &Connection, history: &RecordedHistory) -> rusqlite::Result<()> {
    let (mut row_ids, mut changes) = (RowIds::default(), RowChanges::default());
    for command in &history.commands {
        let saved = &command.saved;
        let lane = command.lane.as_ref();
        let number = row_ids.give(&saved.spec.id);
        put_command(&mut changes, number, &saved.spec, &command.selector, lane, &saved.trace);
        put_stage(&mut changes, number, &saved.spec, &saved.stage, &saved.trace, &saved.holds);
        if let SavedStage::Ended { at, read: true, .. } = &saved.stage {
            put_read(&mut changes, Some(number), *at);
        }
    }
    for (id, client, tombstone) in &history.gone {
        put_tombstone(&mut changes, id, client, tombstone);
    }
    history.keys.iter().for_each(|key| put_key(&mut changes, key));
    history.clients.iter().for_each(|current| put_client(&mut changes, current));
    history.leases.iter().for_each(|lease| put_lease(&mut changes, lease));
    history.opened_tabs.iter().for_each(|opened| put_opened_tab(&mut changes, opened));
    history.owner_tabs.iter().for_each(|owned| put_owner_tab(&mut changes, owned));
    history.consents.iter().for_each(|kept| put_consent(&mut changes, kept));
    for (browser, session) in &history.sessions {
        put_browser(&mut changes, browser, session);
    }
    if let Some(anchor) = &history.anchor {
        put_run(&mut changes, anchor);
    }
    changes.apply(to, &HashSet::new())
}

/// Adds the deletion of a command's row.
pub(super) fn delete_command(to: &mut RowChanges, row_ids: &mut RowIds, id: &CorrelationId) {
    // The eviction of a withdrawn command comes after its withdrawal.
    let Some(number) = row_ids.take(id) else { return };
    to.extend(deletion_of(number));
}

/// The changes that delete the row of a command and all that belongs to it.
pub(super) fn deletion_of(number: i64) -> [RowChange; 2] {
    let (work, value) = (LongValue::Work.row(number), LongValue::Outcome.row(number));
    [
        RowChange {
            statement: RowStatement::DeleteLongTexts,
            values: vec![work.into(), value.into()],
        },
        RowChange { statement: RowStatement::DeleteCommand, values: vec![number.into()] },
    ]
}

/// Which value of a command stands beside its record. SQLite writes a whole row again when a column
/// of it changes: a long result would be written once more when it is read.
#[derive(Clone, Copy)]
enum LongValue {
    Work,
    Outcome,
}

impl LongValue {
    const fn row(self, number: i64) -> i64 {
        2 * number + self as i64
    }

    fn put(self, to: &mut RowChanges, number: i64, long: Option<impl Into<String>>) {
        if let Some(long) = long {
            to.add(RowStatement::PutLongText, [self.row(number).into(), text(long)]);
        }
    }
}

fn add_accepted(to: &mut RowChanges, row_ids: &mut RowIds, accepted: &AcceptedCommand) {
    let AcceptedCommand { command, lane, selector, key, dropped_keys } = accepted;
    let spec = command.spec();
    let number = row_ids.give(&spec.id);
    put_command(to, number, spec, selector, lane.as_ref(), command.marks());
    for key in dropped_keys {
        let values = [spec.owner.as_str(), spec.client.as_str(), key];
        to.add(RowStatement::DeleteKey, values.map(text));
    }
    let Some(key) = key else { return };
    let key = RecordedKey::of(spec, key);
    // A digest would tell the arguments to a guesser.
    let digest = key.digest.filter(|_| !spec.is_private);
    put_key(to, &RecordedKey { digest, ..key });
}

fn add_gone(to: &mut RowChanges, row_ids: &mut RowIds, eviction: &Eviction) {
    let Eviction { id, client, gone, forgotten } = eviction;
    delete_command(to, row_ids, id);
    put_tombstone(to, id, client, gone);
    if let Some(forgotten) = forgotten {
        to.add(RowStatement::DeleteTombstone, [text(forgotten.as_str())]);
    }
}

fn put_command(
    to: &mut RowChanges,
    number: i64,
    spec: &CommandSpec,
    target: &TargetSelector,
    lane: Option<&Lane>,
    trace: &[TracePoint],
) {
    let (record, long) = AcceptanceRecord::of(spec, target, lane, trace);
    LongValue::Work.put(to, number, long);
    let room = roomy(String::new());
    let values = [number.into(), text(spec.id.as_str()), text(json(&record)), text(room)];
    to.add(RowStatement::PutCommand, values);
}

fn put_stage(
    to: &mut RowChanges,
    number: i64,
    spec: &CommandSpec,
    stage: &SavedStage,
    trace: &[TracePoint],
    holds: &HoldHistory,
) {
    let Some((record, long)) = StageRecord::of(spec, stage, trace, holds) else { return };
    LongValue::Outcome.put(to, number, long);
    to.add(RowStatement::PutStage, [text(roomy(json(&record))), number.into()]);
}

/// Pads a stage with spaces to the length that most have in the end.
fn roomy(mut stage: String) -> String {
    stage.extend(iter::repeat_n(' ', STAGE_ROOM.saturating_sub(stage.len())));
    stage
}

fn put_read(to: &mut RowChanges, number: Option<i64>, at: Timestamp) {
    to.add(RowStatement::PutRead, [text(json(&ReadRecord::of(at))), number.into()]);
}

fn put_tombstone(
    to: &mut RowChanges,
    id: &CorrelationId,
    client: &ClientId,
    tombstone: &Tombstone,
) {
    let record = text(json(&TombstoneRecord::of(client, tombstone)));
    let (id, client) = (text(id.as_str()), text(client.as_str()));
    to.add(RowStatement::PutTombstone, [id, client, stamp(tombstone.at), record]);
}

fn put_key(to: &mut RowChanges, key: &RecordedKey) {
    let [owner, client, name, id] =
        [key.owner.as_str(), key.client.as_str(), &key.key, key.id.as_str()].map(text);
    let record = text(json(&KeyRecord::of(key)));
    to.add(RowStatement::PutKey, [owner, client, name, id, stamp(key.accepted), record]);
}

fn put_client(to: &mut RowChanges, current: &CurrentTabRecord) {
    let record = text(json(&ClientRecord::of(current)));
    let values = [text(current.client.as_str()), stamp(current.at), record];
    to.add(RowStatement::PutClient, values);
}

fn put_lease(to: &mut RowChanges, lease: &TabLease) {
    let record = text(json(&LeaseRecord::of(lease)));
    to.add(RowStatement::PutLease, [text(lease.browser.as_str()), lease.tab.0.into(), record]);
}

fn put_opened_tab(to: &mut RowChanges, opened: &ClientTab) {
    let record = text(json(&OpenedTabRecord::of(opened)));
    let values = [text(opened.browser.as_str()), opened.tab.0.into(), record];
    to.add(RowStatement::PutOpenedTab, values);
}

fn put_owner_tab(to: &mut RowChanges, owned: &OwnerTab) {
    let record = text(json(&OwnerTabRecord::of(owned)));
    to.add(RowStatement::PutOwnerTab, [text(owned.browser.as_str()), owned.tab.0.into(), record]);
}

fn put_consent(to: &mut RowChanges, kept: &KeptConsent) {
    let ConsentSubject { owner, client, kind, site } = &kept.subject;
    let record = json(&ConsentRecord::of(kept));
    let values = [owner.as_str(), client.as_str(), kind.code(), site, record.as_str()];
    to.add(RowStatement::PutConsent, values.map(text));
}

fn put_browser(to: &mut RowChanges, browser: &BrowserId, session: &BrowserSession) {
    let record = text(json(&BrowserRecord::of(session)));
    to.add(RowStatement::PutBrowser, [text(browser.as_str()), record]);
}

fn put_run(to: &mut RowChanges, anchor: &ClockAnchor) {
    to.add(RowStatement::PutMeta, [text("run"), text(json(&RunRecord::of(anchor)))]);
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// The row of a command; none, which no row has, if it has none.
fn number_of(row_ids: &RowIds, id: &CorrelationId) -> Value {
    row_ids.find(id).into()
}

/// A record as text. It has only text for keys, and nothing in it fails.
fn json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn stamp(moment: Timestamp) -> Value {
    i64::try_from(moment.unix_micros()).unwrap_or(i64::MAX).into()
}
