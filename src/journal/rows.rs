//! Entries as rows: their records, and the columns that rows are found by.

use std::iter;

use rusqlite::{Connection, params};
use serde::Serialize;

use super::consent_record::ConsentRecord;
use super::record::{
    AcceptanceRecord, BrowserRecord, ClientRecord, KeyRecord, LaneRecord, ReadRecord, RunRecord,
    StageRecord, TombstoneRecord,
};
use super::row_ids::RowIds;
use super::tab_records::{LeaseRecord, OpenedTabRecord, OwnerTabRecord};
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

pub(super) fn write_entry(
    to: &Connection,
    row_ids: &mut RowIds,
    entry: &JournalEntry,
) -> rusqlite::Result<()> {
    match entry {
        JournalEntry::RunStarted(anchor) => put_run(to, anchor)?,
        JournalEntry::Accepted(accepted) => write_accepted(to, row_ids, accepted)?,
        JournalEntry::Placed(id, lane) => {
            let place = "UPDATE command SET lane = ? WHERE number = ?";
            let lane = json(&LaneRecord::of(lane));
            to.prepare_cached(place)?.execute(params![lane, row_ids.find(id)])?;
        }
        JournalEntry::Changed(command) => {
            let stage = SavedStage::of(command);
            // Of a command that is gone nothing is kept.
            if let (Some(stage), Some(number)) = (stage, row_ids.find(&command.spec().id)) {
                put_stage(to, number, command.spec(), &stage, command.marks(), command.holds())?;
            }
        }
        JournalEntry::Read(id, at) => put_read(to, row_ids.find(id), *at)?,
        JournalEntry::Evicted(eviction) => write_gone(to, row_ids, eviction)?,
        JournalEntry::Withdrawn(id) => {
            delete_command(to, row_ids, id)?;
            // Its eviction or its key may be in the file already.
            for all in ["DELETE FROM gone WHERE id = ?", "DELETE FROM idempotency WHERE id = ?"] {
                to.prepare_cached(all)?.execute([id.as_str()])?;
            }
        }
        JournalEntry::CurrentTab(current) => put_client(to, current)?,
        JournalEntry::Leased(lease) => put_lease(to, lease)?,
        JournalEntry::LeaseEnded(browser, tab) => {
            let ended = "DELETE FROM lease WHERE browser = ? AND tab = ?";
            to.prepare_cached(ended)?.execute(params![browser.as_str(), tab.0])?;
        }
        JournalEntry::TabOpened(opened) => put_opened_tab(to, opened)?,
        JournalEntry::OpenedTabGone(browser, tab) => {
            let gone = "DELETE FROM opened_tab WHERE browser = ? AND tab = ?";
            to.prepare_cached(gone)?.execute(params![browser.as_str(), tab.0])?;
        }
        JournalEntry::TabOwned(owned) => put_owner_tab(to, owned)?,
        JournalEntry::OwnedTabGone(browser, tab) => {
            let gone = "DELETE FROM owner_tab WHERE browser = ? AND tab = ?";
            to.prepare_cached(gone)?.execute(params![browser.as_str(), tab.0])?;
        }
        JournalEntry::ConsentKept(kept) => put_consent(to, kept)?,
        JournalEntry::ConsentDropped(ConsentSubject { owner, client, kind, site }) => {
            let dropped =
                "DELETE FROM consent WHERE owner = ? AND client = ? AND kind = ? AND site = ?";
            let key = params![owner.as_str(), client.as_str(), kind.code(), &**site];
            to.prepare_cached(dropped)?.execute(key)?;
        }
        JournalEntry::Session(browser, session) => put_browser(to, browser, session)?,
        JournalEntry::ClientForgotten(client) => {
            for all in [
                "DELETE FROM client WHERE id = ?",
                "DELETE FROM gone WHERE client = ?",
                "DELETE FROM idempotency WHERE client = ?",
            ] {
                to.prepare_cached(all)?.execute([client.as_str()])?;
            }
        }
        JournalEntry::DropKeys(before) => {
            let old = "DELETE FROM idempotency WHERE accepted < ?";
            to.prepare_cached(old)?.execute([stamp(*before)])?;
        }
    }
    Ok(())
}

/// Writes all that an older file held into one of this schema.
pub(super) fn write_history(to: &Connection, history: &RecordedHistory) -> rusqlite::Result<()> {
    let mut row_ids = RowIds::default();
    for command in &history.commands {
        let saved = &command.saved;
        let lane = command.lane.as_ref();
        let number = row_ids.give(&saved.spec.id);
        put_command(to, number, &saved.spec, &command.selector, lane, &saved.trace)?;
        put_stage(to, number, &saved.spec, &saved.stage, &saved.trace, &saved.holds)?;
        if let SavedStage::Ended { at, read: true, .. } = &saved.stage {
            put_read(to, Some(number), *at)?;
        }
    }
    for (id, client, tombstone) in &history.gone {
        put_tombstone(to, id, client, tombstone)?;
    }
    history.keys.iter().try_for_each(|key| put_key(to, key))?;
    history.clients.iter().try_for_each(|current| put_client(to, current))?;
    history.leases.iter().try_for_each(|lease| put_lease(to, lease))?;
    history.opened_tabs.iter().try_for_each(|opened| put_opened_tab(to, opened))?;
    history.owner_tabs.iter().try_for_each(|owned| put_owner_tab(to, owned))?;
    history.consents.iter().try_for_each(|kept| put_consent(to, kept))?;
    for (browser, session) in &history.sessions {
        put_browser(to, browser, session)?;
    }
    history.anchor.as_ref().map_or(Ok(()), |anchor| put_run(to, anchor))
}

/// Deletes the row of a command.
pub(super) fn delete_command(
    from: &Connection,
    row_ids: &mut RowIds,
    id: &CorrelationId,
) -> rusqlite::Result<()> {
    // The eviction of a withdrawn command comes after its withdrawal.
    let Some(number) = row_ids.take(id) else { return Ok(()) };
    from.prepare_cached("DELETE FROM command WHERE number = ?")?.execute([number])?;
    // The two values of a command are neighbours, so one statement finds both.
    let texts = "DELETE FROM long_text WHERE id BETWEEN ? AND ?";
    let (work, value) = (LongValue::Work.row(number), LongValue::Outcome.row(number));
    from.prepare_cached(texts)?.execute([work, value])?;
    Ok(())
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

    /// Writes the value, if there is one. It comes before the record that leaves it out: outside
    /// of a transaction a record must never stand without its value.
    fn put(self, to: &Connection, number: i64, text: Option<&str>) -> rusqlite::Result<()> {
        let Some(text) = text else { return Ok(()) };
        let put = "INSERT OR REPLACE INTO long_text VALUES (?, ?)";
        to.prepare_cached(put)?.execute(params![self.row(number), text])?;
        Ok(())
    }
}

fn write_accepted(
    to: &Connection,
    row_ids: &mut RowIds,
    accepted: &AcceptedCommand,
) -> rusqlite::Result<()> {
    let AcceptedCommand { command, lane, selector, key, dropped_keys } = accepted;
    let spec = command.spec();
    let number = row_ids.give(&spec.id);
    put_command(to, number, spec, selector, lane.as_ref(), command.marks())?;
    for key in dropped_keys {
        let drop = "DELETE FROM idempotency WHERE owner = ? AND client = ? AND key = ?";
        let (owner, client) = (spec.owner.as_str(), spec.client.as_str());
        to.prepare_cached(drop)?.execute([owner, client, &**key])?;
    }
    let Some(key) = key else { return Ok(()) };
    let key = RecordedKey::of(spec, key);
    // A digest would tell the arguments to a guesser.
    let digest = key.digest.filter(|_| !spec.is_private);
    put_key(to, &RecordedKey { digest, ..key })
}

fn write_gone(to: &Connection, row_ids: &mut RowIds, eviction: &Eviction) -> rusqlite::Result<()> {
    let Eviction { id, client, gone, forgotten } = eviction;
    delete_command(to, row_ids, id)?;
    put_tombstone(to, id, client, gone)?;
    if let Some(forgotten) = forgotten {
        to.prepare_cached("DELETE FROM gone WHERE id = ?")?.execute([forgotten.as_str()])?;
    }
    Ok(())
}

fn put_command(
    to: &Connection,
    number: i64,
    spec: &CommandSpec,
    target: &TargetSelector,
    lane: Option<&Lane>,
    trace: &[TracePoint],
) -> rusqlite::Result<()> {
    let (record, long) = AcceptanceRecord::of(spec, target, lane, trace);
    LongValue::Work.put(to, number, long.as_deref())?;
    let put = "INSERT INTO command (number, id, acceptance, stage) VALUES (?, ?, ?, ?)";
    let row = params![number, spec.id.as_str(), json(&record), roomy(String::new())];
    to.prepare_cached(put)?.execute(row)?;
    Ok(())
}

fn put_stage(
    to: &Connection,
    number: i64,
    spec: &CommandSpec,
    stage: &SavedStage,
    trace: &[TracePoint],
    holds: &HoldHistory,
) -> rusqlite::Result<()> {
    let Some((record, long)) = StageRecord::of(spec, stage, trace, holds) else { return Ok(()) };
    LongValue::Outcome.put(to, number, long.as_deref())?;
    let put = "UPDATE command SET stage = ? WHERE number = ?";
    to.prepare_cached(put)?.execute(params![roomy(json(&record)), number])?;
    Ok(())
}

/// Pads a stage with spaces to the length that most have in the end.
fn roomy(mut stage: String) -> String {
    stage.extend(iter::repeat_n(' ', STAGE_ROOM.saturating_sub(stage.len())));
    stage
}

fn put_read(to: &Connection, number: Option<i64>, at: Timestamp) -> rusqlite::Result<()> {
    let put = "UPDATE command SET read = ? WHERE number = ?";
    to.prepare_cached(put)?.execute(params![json(&ReadRecord::of(at)), number])?;
    Ok(())
}

fn put_tombstone(
    to: &Connection,
    id: &CorrelationId,
    client: &ClientId,
    tombstone: &Tombstone,
) -> rusqlite::Result<()> {
    let record = json(&TombstoneRecord::of(client, tombstone));
    let row = params![id.as_str(), client.as_str(), stamp(tombstone.at), record];
    to.prepare_cached("INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)")?.execute(row)?;
    Ok(())
}

fn put_key(to: &Connection, key: &RecordedKey) -> rusqlite::Result<()> {
    let put = "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?)";
    to.prepare_cached(put)?.execute(params![
        key.owner.as_str(),
        key.client.as_str(),
        &*key.key,
        key.id.as_str(),
        stamp(key.accepted),
        json(&KeyRecord::of(key)),
    ])?;
    Ok(())
}

fn put_client(to: &Connection, current: &CurrentTabRecord) -> rusqlite::Result<()> {
    let record = json(&ClientRecord::of(current));
    let put = "INSERT OR REPLACE INTO client VALUES (?, ?, ?)";
    let row = params![current.client.as_str(), stamp(current.at), record];
    to.prepare_cached(put)?.execute(row)?;
    Ok(())
}

fn put_lease(to: &Connection, lease: &TabLease) -> rusqlite::Result<()> {
    let record = json(&LeaseRecord::of(lease));
    let put = "INSERT OR REPLACE INTO lease VALUES (?, ?, ?)";
    to.prepare_cached(put)?.execute(params![lease.browser.as_str(), lease.tab.0, record])?;
    Ok(())
}

fn put_opened_tab(to: &Connection, opened: &ClientTab) -> rusqlite::Result<()> {
    let record = json(&OpenedTabRecord::of(opened));
    let put = "INSERT OR REPLACE INTO opened_tab VALUES (?, ?, ?)";
    to.prepare_cached(put)?.execute(params![opened.browser.as_str(), opened.tab.0, record])?;
    Ok(())
}

fn put_owner_tab(to: &Connection, owned: &OwnerTab) -> rusqlite::Result<()> {
    let record = json(&OwnerTabRecord::of(owned));
    let put = "INSERT OR REPLACE INTO owner_tab VALUES (?, ?, ?)";
    to.prepare_cached(put)?.execute(params![owned.browser.as_str(), owned.tab.0, record])?;
    Ok(())
}

fn put_consent(to: &Connection, kept: &KeptConsent) -> rusqlite::Result<()> {
    let ConsentSubject { owner, client, kind, site } = &kept.subject;
    let record = json(&ConsentRecord::of(kept));
    let put = "INSERT OR REPLACE INTO consent VALUES (?, ?, ?, ?, ?)";
    let row = params![owner.as_str(), client.as_str(), kind.code(), &**site, record];
    to.prepare_cached(put)?.execute(row)?;
    Ok(())
}

fn put_browser(
    to: &Connection,
    browser: &BrowserId,
    session: &BrowserSession,
) -> rusqlite::Result<()> {
    let row = params![browser.as_str(), json(&BrowserRecord::of(session))];
    to.prepare_cached("INSERT OR REPLACE INTO browser VALUES (?, ?)")?.execute(row)?;
    Ok(())
}

fn put_run(to: &Connection, anchor: &ClockAnchor) -> rusqlite::Result<()> {
    let put = "INSERT OR REPLACE INTO meta VALUES ('run', ?)";
    to.prepare_cached(put)?.execute([json(&RunRecord::of(anchor))])?;
    Ok(())
}

/// A record as text. It has only text for keys, and nothing in it fails.
fn json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn stamp(moment: Timestamp) -> i64 {
    i64::try_from(moment.unix_micros()).unwrap_or(i64::MAX)
}
