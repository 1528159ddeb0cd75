//! Reads the records of earlier runs of the daemon.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, types::Type};
use serde::de::DeserializeOwned;

use super::consent_record::ConsentRecord;
use super::record::{
    AcceptanceRecord, BrowserRecord, CommandRecords, KeyRecord, RecordError, RunRecord,
    TombstoneRecord,
};
use super::tab_records::{ClientRecord, LeaseRecord, OpenedTabRecord, OwnerTabRecord};
use crate::engine::{
    ClientTab, ClockAnchor, CurrentTabRecord, KeptConsent, OwnerTab, RecordedCommand,
    RecordedHistory, RecordedKey, TabLease,
};
use crate::lifecycle::Tombstone;
use crate::protocol::{BrowserId, BrowserSession, ClientId, CorrelationId, TabId};

/// Reads everything that the file holds.
pub(super) fn read_history(from: &Connection) -> rusqlite::Result<RecordedHistory> {
    Ok(RecordedHistory {
        commands: all(from, COMMANDS, command)?,
        gone: all(from, "SELECT id, record FROM gone ORDER BY at", tombstone)?,
        keys: all(from, "SELECT * FROM idempotency ORDER BY accepted", key)?,
        clients: all(from, "SELECT id, record FROM client ORDER BY at", current_tab)?,
        leases: all(from, "SELECT browser, tab, record FROM lease", lease)?,
        opened_tabs: all(from, "SELECT browser, tab, record FROM opened_tab", opened_tab)?,
        owner_tabs: all(from, "SELECT browser, tab, record FROM owner_tab", owner_tab)?,
        consents: all(from, "SELECT * FROM consent", consent)?,
        sessions: all(from, "SELECT id, record FROM browser", session)?,
        anchor: anchor(from)?,
        moved_aside: None,
    })
}

/// Every command, with the values that stand beside its records.
const COMMANDS: &str = "SELECT command.*, work.text AS long_work, value.text AS long_value \
                        FROM command \
                        LEFT JOIN long_text AS work ON work.id = 2 * number \
                        LEFT JOIN long_text AS value ON value.id = 2 * number + 1 \
                        ORDER BY number";

pub(super) fn all<T>(
    from: &Connection,
    query: &str,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    from.prepare(query)?.query_map([], read)?.collect()
}

fn command(row: &Row<'_>) -> rusqlite::Result<RecordedCommand> {
    let long_work: Option<String> = row.get("long_work")?;
    let long_value: Option<String> = row.get("long_value")?;
    let acceptance: AcceptanceRecord = record(row, "acceptance")?;
    let records = CommandRecords {
        id: id(row)?,
        acceptance,
        long_work: long_work.as_deref(),
        lane: record_if_any(row, "lane")?,
        stage: record_if_any(row, "stage")?,
        long_value: long_value.as_deref(),
        read: record_if_any(row, "read")?,
    };
    records.command().map_err(|error| unreadable(&error))
}

fn tombstone(row: &Row<'_>) -> rusqlite::Result<(CorrelationId, ClientId, Tombstone)> {
    let (client, tombstone) = record::<TombstoneRecord>(row, "record")?.tombstone();
    Ok((id(row)?, client, tombstone))
}

fn key(row: &Row<'_>) -> rusqlite::Result<RecordedKey> {
    let text = |column| row.get::<_, Arc<str>>(column);
    let (owner, client) = (text("owner")?.into(), text("client")?.into());
    let key = record::<KeyRecord>(row, "record")?.key(owner, client, text("key")?);
    key.map_err(|error| unreadable(&error))
}

fn current_tab(row: &Row<'_>) -> rusqlite::Result<CurrentTabRecord> {
    Ok(record::<ClientRecord>(row, "record")?.current_tab(id(row)?))
}

fn lease(row: &Row<'_>) -> rusqlite::Result<TabLease> {
    let browser = row.get::<_, String>("browser")?.into();
    Ok(record::<LeaseRecord>(row, "record")?.lease(browser, TabId(row.get("tab")?)))
}

fn opened_tab(row: &Row<'_>) -> rusqlite::Result<ClientTab> {
    let browser = row.get::<_, String>("browser")?.into();
    Ok(record::<OpenedTabRecord>(row, "record")?.opened_tab(browser, TabId(row.get("tab")?)))
}

fn owner_tab(row: &Row<'_>) -> rusqlite::Result<OwnerTab> {
    let browser = row.get::<_, String>("browser")?.into();
    Ok(record::<OwnerTabRecord>(row, "record")?.owner_tab(browser, TabId(row.get("tab")?)))
}

fn consent(row: &Row<'_>) -> rusqlite::Result<KeptConsent> {
    let text = |column| row.get::<_, Arc<str>>(column);
    let (owner, client) = (text("owner")?.into(), text("client")?.into());
    let record = record::<ConsentRecord>(row, "record")?;
    let kept = record.consent(owner, client, &text("kind")?, text("site")?);
    kept.map_err(|error| unreadable(&error))
}

fn session(row: &Row<'_>) -> rusqlite::Result<(BrowserId, BrowserSession)> {
    Ok((id(row)?, record::<BrowserRecord>(row, "record")?.session()))
}

fn anchor(from: &Connection) -> rusqlite::Result<Option<ClockAnchor>> {
    let run = "SELECT value FROM meta WHERE name = 'run'";
    let run: Option<RunRecord> = from.query_row(run, [], |row| record(row, "value")).optional()?;
    Ok(run.map(RunRecord::anchor))
}

fn id<T: From<String>>(row: &Row<'_>) -> rusqlite::Result<T> {
    Ok(row.get::<_, String>("id")?.into())
}

fn record<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(&error))
}

fn record_if_any<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    // Room for a record is none.
    let text = text.filter(|text| !text.trim_end().is_empty());
    let read = |text: String| serde_json::from_str(&text).map_err(|error| unreadable(&error));
    text.map(read).transpose()
}

/// The error for text that SQLite takes for sound and that is no record.
fn unreadable(error: &RecordError) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.to_string().into())
}
