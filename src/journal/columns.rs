//! Files of schema 5 and older, in which everything had a column of its own: read once, when they
//! are upgraded.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, types::Type};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::history::all;
use crate::engine::{ClockAnchor, CurrentTabRecord, RecordedCommand, RecordedHistory, RecordedKey};
use crate::lifecycle::{
    CallDigest, CommandOutcome, CommandSpec, CommandWork, Delivery, ExpiryReason, HoldHistory,
    Lane, Peer, SavedCommand, SavedStage, TargetSelector, Tombstone, TracePoint,
};
use crate::protocol::{
    Attempt, BrowserId, BrowserSession, ClientId, CorrelationId, TabId, TabScope, Timestamp,
    TracePhase, Transport,
};

/// A point of a trace, as it stood in the file.
#[derive(Deserialize)]
struct MarkRecord(TracePhase, u64, Option<Attempt>);

impl From<MarkRecord> for TracePoint {
    fn from(MarkRecord(phase, at, attempt): MarkRecord) -> Self {
        Self { phase, at: Timestamp::from_unix_micros(at), attempt }
    }
}

/// Reads a file of schema `version`, 1 to 5.
pub(super) fn read_columns(from: &Connection, version: i64) -> rusqlite::Result<RecordedHistory> {
    // The columns that came with later schemas: then one query reads them all.
    if version == 1 {
        from.execute_batch("ALTER TABLE command ADD COLUMN carrier TEXT")?;
    }
    if version < 4 {
        from.execute_batch("CREATE TABLE long_text (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")?;
    }
    if version < 5 {
        from.execute_batch("ALTER TABLE idempotency ADD COLUMN digest BLOB")?;
    }
    Ok(RecordedHistory {
        commands: all(from, COMMANDS, kept)?,
        gone: all(from, "SELECT * FROM gone ORDER BY at", gone)?,
        keys: all(from, "SELECT * FROM idempotency ORDER BY accepted", key)?,
        clients: all(from, "SELECT * FROM client ORDER BY at", client)?,
        leases: Vec::new(),
        opened_tabs: Vec::new(),
        owner_tabs: Vec::new(),
        consents: Vec::new(),
        sessions: all(from, "SELECT * FROM browser", session)?,
        anchor: anchor(from)?,
        moved_aside: None,
    })
}

fn anchor(from: &Connection) -> rusqlite::Result<Option<ClockAnchor>> {
    let mut meta = from.prepare("SELECT value FROM meta WHERE name = ?")?;
    let boot: Option<String> = meta.query_row(["boot"], |row| row.get(0)).optional()?;
    let monotonic: Option<u64> = meta.query_row(["monotonic_us"], |row| row.get(0)).optional()?;
    let at: Option<u64> = meta.query_row(["at"], |row| row.get(0)).optional()?;
    let (Some(boot), Some(monotonic), Some(at)) = (boot, monotonic, at) else { return Ok(None) };
    let (monotonic, at) = (Duration::from_micros(monotonic), Timestamp::from_unix_micros(at));
    Ok(Some(ClockAnchor { boot: boot.into(), monotonic, at }))
}

/// Every command, with the texts that are kept by themselves.
const COMMANDS: &str = "SELECT command.*, action_text.text AS long_action, body_text.text AS long_body \
                        FROM command \
                        LEFT JOIN long_text AS action_text ON action_text.id = 2 * number \
                        LEFT JOIN long_text AS body_text ON body_text.id = 2 * number + 1 \
                        ORDER BY number";

fn kept(row: &Row<'_>) -> rusqlite::Result<RecordedCommand> {
    let work: CommandWork = parsed("action", &long_text(row, "action", "long_action")?)?;
    let spec = CommandSpec {
        is_private: false,
        id: text(row, "id")?.into(),
        query_id: text(row, "query_id")?.into(),
        owner: text(row, "owner")?.into(),
        client: text(row, "client")?.into(),
        params: work.params(),
        work,
        timeout: Duration::from_micros(row.get("timeout_us")?),
        holds_dialogs: false,
        scope: TabScope::All,
        trace_context: None,
        created: moment(row, "created")?,
        asleep: None,
    };
    let browser: Option<String> = row.get("browser")?;
    let lane = match browser {
        Some(browser) => Some(Lane { browser: browser.into(), tab: tab(row, "tab")? }),
        None => None,
    };
    let selector = TargetSelector { browser: row.get("wish_browser")?, tab: tab(row, "wish_tab")? };
    let marks: Vec<MarkRecord> = json(row, "trace")?;
    let trace = marks.into_iter().map(TracePoint::from).collect();
    let holds = HoldHistory::default();
    let saved = SavedCommand { spec, stage: stage(row)?, trace, holds };
    Ok(RecordedCommand { saved, lane, selector })
}

fn stage(row: &Row<'_>) -> rusqlite::Result<SavedStage> {
    let at = moment(row, "stage_at")?;
    match (text(row, "stage")?.as_str(), delivery(row)?) {
        ("accepted", _) => Ok(SavedStage::Accepted),
        ("started", Some(delivery)) => Ok(SavedStage::Started { delivery, at }),
        ("working", _) => Ok(SavedStage::Working { at }),
        ("ended", delivery) => {
            let read: Option<u64> = row.get("read_at")?;
            Ok(SavedStage::Ended { at, outcome: outcome(row)?, delivery, read: read.is_some() })
        }
        (other, _) => Err(wrong("stage", &format!("no stage `{other}`"))),
    }
}

fn delivery(row: &Row<'_>) -> rusqlite::Result<Option<Delivery>> {
    let attempt: Option<u32> = row.get("attempt")?;
    let browser: Option<String> = row.get("holder")?;
    let instance: Option<String> = row.get("instance")?;
    let (Some(attempt), Some(browser), Some(instance)) = (attempt, browser, instance) else {
        return Ok(None);
    };
    let peer = Peer { browser: browser.into(), instance: instance.into() };
    let transport: Option<String> = row.get("carrier")?;
    let transport =
        transport.as_deref().and_then(Transport::of_word).unwrap_or(Transport::WebSocket);
    Ok(Some(Delivery { attempt: Attempt(attempt), peer, transport }))
}

fn outcome(row: &Row<'_>) -> rusqlite::Result<CommandOutcome> {
    let may_have_run = row.get::<_, Option<bool>>("may_have_run")?.unwrap_or(true);
    Ok(match text(row, "outcome")?.as_str() {
        "complete" => {
            let result = RawValue::from_string(body(row)?);
            let result = result.map_err(|error| wrong("body", &error.to_string()))?.into();
            let origin: Option<String> = row.get("origin")?;
            CommandOutcome::Complete { result, origin: origin.map(Into::into) }
        }
        "error" => CommandOutcome::Error { error: Arc::new(parsed("body", &body(row)?)?) },
        "timeout" => CommandOutcome::Timeout { error: Arc::new(parsed("body", &body(row)?)?) },
        "expired" => {
            let code = body(row)?;
            let reason = ExpiryReason::of_code(&code);
            let reason = reason.ok_or_else(|| wrong("body", &format!("no reason `{code}`")))?;
            CommandOutcome::Expired { reason, may_have_run }
        }
        "cancelled" => {
            let who: Option<String> = row.get("body")?;
            let by_user = who.as_deref() == Some(CommandOutcome::STOPPED_BY_USER);
            CommandOutcome::Cancelled { may_have_run, by_user }
        }
        other => return Err(wrong("outcome", &format!("no outcome `{other}`"))),
    })
}

fn gone(row: &Row<'_>) -> rusqlite::Result<(CorrelationId, ClientId, Tombstone)> {
    let (owner, at) = (text(row, "owner")?.into(), moment(row, "at")?);
    let gone = Tombstone { owner, at, may_have_run: row.get("may_have_run")? };
    Ok((text(row, "id")?.into(), text(row, "client")?.into(), gone))
}

fn key(row: &Row<'_>) -> rusqlite::Result<RecordedKey> {
    Ok(RecordedKey {
        owner: text(row, "owner")?.into(),
        key: text(row, "key")?.into(),
        client: text(row, "client")?.into(),
        id: text(row, "id")?.into(),
        query_id: text(row, "query_id")?.into(),
        accepted: moment(row, "accepted")?,
        digest: row.get::<_, Option<_>>("digest")?.map(CallDigest::from_bytes),
    })
}

fn client(row: &Row<'_>) -> rusqlite::Result<CurrentTabRecord> {
    Ok(CurrentTabRecord {
        client: text(row, "id")?.into(),
        owner: text(row, "owner")?.into(),
        browser: text(row, "browser")?.into(),
        tab: tab(row, "tab")?,
        at: moment(row, "at")?,
        used: Vec::new(),
    })
}

fn session(row: &Row<'_>) -> rusqlite::Result<(BrowserId, BrowserSession)> {
    Ok((text(row, "id")?.into(), text(row, "session")?.into()))
}

fn text(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    row.get(column)
}

fn moment(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_unix_micros)
}

fn tab(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<TabId>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(TabId))
}

fn body(row: &Row<'_>) -> rusqlite::Result<String> {
    long_text(row, "body", "long_body")
}

/// The text of a column, or the text beside the row if the column is empty.
fn long_text(row: &Row<'_>, column: &str, long: &str) -> rusqlite::Result<String> {
    let here = text(row, column)?;
    if here.is_empty() { text(row, long) } else { Ok(here) }
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    parsed(column, &text(row, column)?)
}

fn parsed<T: DeserializeOwned>(column: &str, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| wrong(column, &error.to_string()))
}

/// The error for content that SQLite accepts and we cannot read.
fn wrong(column: &str, why: &str) -> rusqlite::Error {
    let why = format!("{column}: {why}");
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, why.into())
}
