//! Entries as rows.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, named_params, params};

use super::history::MarkRecord;
use super::row_ids::RowIds;
use crate::engine::{AcceptedCommand, ClockAnchor, CurrentTabRecord, Eviction, JournalEntry};
use crate::lifecycle::{CallKey, Command, CommandOutcome, CommandState, Delivery, Lane};
use crate::protocol::{CorrelationId, Timestamp};

pub(super) fn write_entry(
    to: &Connection,
    row_ids: &mut RowIds,
    entry: &JournalEntry,
) -> rusqlite::Result<()> {
    match entry {
        JournalEntry::RunStarted(ClockAnchor { boot, monotonic, at }) => {
            let mut meta = to.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?, ?)")?;
            meta.execute(params!["boot", &**boot])?;
            meta.execute(params!["monotonic_us", micros(*monotonic)])?;
            meta.execute(params!["at", stamp(*at)])?;
        }
        JournalEntry::Accepted(acceptance) => write_accepted(to, row_ids, acceptance)?,
        JournalEntry::Placed(id, Lane { browser, tab }) => {
            let place = "UPDATE command SET browser = ?, tab = ? WHERE number = ?";
            let tab = tab.map(|tab| tab.0);
            let number = row_ids.find(id);
            to.prepare_cached(place)?.execute(params![browser.as_str(), tab, number])?;
        }
        JournalEntry::Changed(command) => write_changed(to, row_ids, command)?,
        JournalEntry::Read(id, at) => {
            let read = "UPDATE command SET read_at = ? WHERE number = ?";
            to.prepare_cached(read)?.execute(params![stamp(*at), row_ids.find(id)])?;
        }
        JournalEntry::Evicted(burial) => write_gone(to, row_ids, burial)?,
        JournalEntry::Withdrawn(id) => {
            delete_command(to, row_ids, id)?;
            for all in ["DELETE FROM gone WHERE id = ?", "DELETE FROM idempotency WHERE id = ?"] {
                to.prepare_cached(all)?.execute([id.as_str()])?;
            }
        }
        JournalEntry::CurrentTab(CurrentTabRecord { client, owner, browser, tab, at }) => {
            let (client, owner, browser) = (client.as_str(), owner.as_str(), browser.as_str());
            let row = params![client, owner, browser, tab.map(|tab| tab.0), stamp(*at)];
            let put = "INSERT OR REPLACE INTO client VALUES (?, ?, ?, ?, ?)";
            to.prepare_cached(put)?.execute(row)?;
        }
        JournalEntry::Session(browser, session) => {
            let put = "INSERT OR REPLACE INTO browser VALUES (?, ?)";
            to.prepare_cached(put)?.execute([browser.as_str(), session.as_str()])?;
        }
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

/// Deletes the row of a command.
pub(super) fn delete_command(
    from: &Connection,
    row_ids: &mut RowIds,
    id: &CorrelationId,
) -> rusqlite::Result<()> {
    let Some(number) = row_ids.take(id) else { return Ok(()) };
    from.prepare_cached("DELETE FROM command WHERE number = ?")?.execute([number])?;
    let texts = "DELETE FROM long_text WHERE id BETWEEN ? AND ?";
    from.prepare_cached(texts)?.execute([Text::Action.of(number), Text::Body.of(number)])?;
    Ok(())
}

/// A text longer than this, in bytes, is kept by itself: SQLite writes a whole row again when
/// something in it changes.
pub(super) const LONG: usize = 8 * 1024;

/// What of a command can be long.
#[derive(Clone, Copy)]
enum Text {
    Action,
    Body,
}

impl Text {
    const fn of(self, number: i64) -> i64 {
        2 * number + self as i64
    }
}

/// What goes into the row for this text, which is kept by itself if it is long: before the
/// row says so.
fn keep_text<'a>(
    to: &Connection,
    what: Text,
    number: i64,
    text: &'a str,
) -> rusqlite::Result<&'a str> {
    if text.len() <= LONG {
        return Ok(text);
    }
    let put = "INSERT OR REPLACE INTO long_text VALUES (?, ?)";
    to.prepare_cached(put)?.execute(params![what.of(number), text])?;
    Ok("")
}

fn write_gone(to: &Connection, row_ids: &mut RowIds, burial: &Eviction) -> rusqlite::Result<()> {
    let Eviction { id, client, gone, forgotten } = burial;
    delete_command(to, row_ids, id)?;
    let (owner, client) = (gone.owner.as_str(), client.as_str());
    let row = params![id.as_str(), owner, client, stamp(gone.at), gone.may_have_run];
    to.prepare_cached("INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?, ?)")?.execute(row)?;
    if let Some(forgotten) = forgotten {
        to.prepare_cached("DELETE FROM gone WHERE id = ?")?.execute([forgotten.as_str()])?;
    }
    Ok(())
}

fn write_accepted(
    to: &Connection,
    row_ids: &mut RowIds,
    acceptance: &AcceptedCommand,
) -> rusqlite::Result<()> {
    let AcceptedCommand { command, lane, selector, key, dropped_keys } = acceptance;
    let spec = command.spec();
    let put = "INSERT INTO command (number, id, query_id, owner, client, action, timeout_us, created, \
               wish_browser, wish_tab, browser, tab, stage, stage_at, trace) VALUES (:number, :id, \
               :query_id, :owner, :client, :action, :timeout, :created, :wish_browser, :wish_tab, \
               :browser, :tab, 'accepted', :created, :trace)";
    let number = row_ids.give(&spec.id);
    let action = spec.work.to_record();
    to.prepare_cached(put)?.execute(named_params! {
        ":number": number,
        ":id": spec.id.as_str(),
        ":query_id": spec.query_id.as_str(),
        ":owner": spec.owner.as_str(),
        ":client": spec.client.as_str(),
        ":action": keep_text(to, Text::Action, number, &action)?,
        ":timeout": micros(spec.timeout),
        ":created": stamp(spec.created),
        ":wish_browser": selector.browser,
        ":wish_tab": selector.tab.map(|tab| tab.0),
        ":browser": lane.as_ref().map(|lane| lane.browser.as_str()),
        ":tab": lane.as_ref().and_then(|lane| lane.tab).map(|tab| tab.0),
        ":trace": trace(command),
    })?;
    let (owner, client) = (spec.owner.as_str(), spec.client.as_str());
    for key in dropped_keys {
        let drop = "DELETE FROM idempotency WHERE owner = ? AND client = ? AND key = ?";
        to.prepare_cached(drop)?.execute([owner, client, &**key])?;
    }
    let Some(CallKey { key, digest }) = key else { return Ok(()) };
    let put = "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?)";
    to.prepare_cached(put)?.execute(params![
        owner,
        client,
        &**key,
        spec.id.as_str(),
        spec.query_id.as_str(),
        stamp(spec.created),
        digest.bytes(),
    ])?;
    Ok(())
}

fn write_changed(to: &Connection, row_ids: &RowIds, command: &Command) -> rusqlite::Result<()> {
    let set_stage = "UPDATE command SET stage = :stage, stage_at = :at, attempt = :attempt, \
                     holder = :holder, instance = :instance, carrier = :carrier, trace = :trace, outcome = :outcome, \
                     body = :body, origin = :origin, may_have_run = :may_have_run WHERE number = :number";
    let (stage, at, end) = match command.state() {
        // It may be running: nobody will say when it begins.
        CommandState::Sent { delivery, .. } if delivery.transport.runs_at_once() => {
            ("started", command.delivered_at(), End::default())
        }
        // Neither is recorded: the command is as it was when it was accepted.
        CommandState::Queued { .. } | CommandState::Sent { .. } | CommandState::Waiting => {
            return Ok(());
        }
        CommandState::Started { .. } => ("started", command.started_at(), End::default()),
        CommandState::Working { .. } => ("working", command.started_at(), End::default()),
        CommandState::Ended { at, outcome, .. } => ("ended", *at, End::of(outcome)),
    };
    let delivery = command.delivery();
    let number = row_ids.find(&command.spec().id);
    let body = match (number, end.body.as_deref()) {
        (Some(number), Some(body)) => Some(keep_text(to, Text::Body, number, body)?),
        // Of one that is gone nothing is kept.
        (None, _) | (_, None) => None,
    };
    to.prepare_cached(set_stage)?.execute(named_params! {
        ":number": number,
        ":stage": stage,
        ":at": stamp(at),
        ":attempt": delivery.map(|delivery| delivery.attempt.0),
        ":holder": delivery.map(|Delivery { peer, .. }| peer.browser.as_str()),
        ":carrier": delivery.map(|delivery| delivery.transport.word()),
        ":instance": delivery.map(|Delivery { peer, .. }| peer.instance.as_str()),
        ":trace": trace(command),
        ":outcome": end.outcome,
        ":body": body,
        ":origin": end.origin.as_deref(),
        ":may_have_run": end.may_have_run,
    })?;
    Ok(())
}

/// How an outcome stands in the file.
#[derive(Default)]
struct End<'a> {
    outcome: Option<&'static str>,
    body: Option<Cow<'a, str>>,
    origin: Option<Arc<str>>,
    may_have_run: Option<bool>,
}

impl<'a> End<'a> {
    fn of(outcome: &'a CommandOutcome) -> Self {
        let json = |error| Some(serde_json::to_string(error).unwrap_or_default().into());
        let (word, body, origin, may_have_run) = match outcome {
            CommandOutcome::Complete { result, origin } => {
                ("complete", Some(result.get().into()), origin.clone(), true)
            }
            CommandOutcome::Error { error } => ("error", json(&**error), None, true),
            CommandOutcome::Timeout { error } => ("timeout", json(&**error), None, true),
            CommandOutcome::Expired { reason, may_have_run } => {
                ("expired", Some(reason.code().into()), None, *may_have_run)
            }
            CommandOutcome::Cancelled { may_have_run, by_user } => {
                let who = by_user.then(|| CommandOutcome::STOPPED_BY_USER.into());
                ("cancelled", who, None, *may_have_run)
            }
        };
        Self { outcome: Some(word), body, origin, may_have_run: Some(may_have_run) }
    }
}

fn trace(command: &Command) -> String {
    let marks: Vec<MarkRecord> = command.marks().iter().map(MarkRecord::from).collect();
    serde_json::to_string(&marks).unwrap_or_default()
}

fn stamp(moment: Timestamp) -> i64 {
    i64::try_from(moment.unix_micros()).unwrap_or(i64::MAX)
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}
