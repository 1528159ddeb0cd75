//! The journal's file: opening, checking, upgrading it, and moving aside one that cannot be used.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::Journal;
use super::columns::read_columns;
use super::file_writer::{FileWriter, take_in_left};
use super::history::read_history;
use super::redo_log::{RedoLog, redo_path};
use super::row_ids::RowIds;
use super::rows::write_history;
use super::writer::Writer;
use crate::engine::RecordedHistory;
use crate::home::{REDO_ENDINGS, rename_database};
use crate::os::OpenOwnerOnly as _;

/// The schema's version. An older file is upgraded, a newer one is moved aside.
const VERSION: i64 = 12;

/// The size of a page, in bytes: most rows change one.
const PAGE: u32 = 2_048;

/// The most pages that the file may have: 256 MiB.
const PAGES_MAX: u32 = 131_072;

/// An open journal, and the history in it.
#[derive(Debug)]
pub struct OpenedJournal {
    /// The journal.
    pub journal: Journal,
    /// The records of earlier runs of the daemon.
    pub history: RecordedHistory,
    /// Why the file of earlier runs could not be used, if it could not.
    pub unusable: Option<String>,
}

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be used, for a reason outside of it.
    #[error(
        "the journal {path} cannot be opened: {why}. Free space on the disk or make it writable; `--ephemeral` runs without a journal"
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The error of the system or of SQLite.
        why: String,
    },
}

/// Why the file as it is cannot be read.
#[derive(Debug)]
pub(super) enum FileFault {
    /// Its contents cannot be used: it is moved aside.
    Contents(String),
    /// It cannot be reached.
    Access(String),
}

impl From<rusqlite::Error> for FileFault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked,
            ) => Self::Access(error.to_string()),
            _ => Self::Contents(error.to_string()),
        }
    }
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData {
            Self::Contents(error.to_string())
        } else {
            Self::Access(error.to_string())
        }
    }
}

/// Opens the journal in this file, makes it if there is none, and starts its writer. A file
/// that cannot be read is moved aside, never deleted: `aside` names it.
///
/// # Errors
///
/// [`OpenError`].
pub fn open(path: &Path, aside: &str) -> Result<OpenedJournal, OpenError> {
    open_within(path, aside, |_| PAGES_MAX)
}

/// The same with a file that may have only a few reader more than it has.
#[cfg(test)]
pub(super) fn open_with_room(path: &Path, pages: u32) -> Result<OpenedJournal, OpenError> {
    open_within(path, "aside", |has| has + pages)
}

fn open_within(
    path: &Path,
    aside: &str,
    pages_max: impl Fn(u32) -> u32,
) -> Result<OpenedJournal, OpenError> {
    let unusable = |why: String| OpenError::Unusable { path: path.to_owned(), why };
    let (connected, unusable_before) = match connect(path) {
        Ok(connected) => (connected, None),
        // A full disk or a lock says nothing of the content, so the file stays in its place.
        Err(FileFault::Access(why)) => return Err(unusable(why)),
        Err(FileFault::Contents(why)) => {
            let to = rename_database(path, &format!(".{aside}"))
                .map_err(|error| unusable(error.to_string()))?;
            match connect(path) {
                Ok(connected) => {
                    let history = RecordedHistory { moved_aside: Some(to), ..connected.history };
                    (ConnectedFile { history, ..connected }, Some(why))
                }
                Err(FileFault::Access(why) | FileFault::Contents(why)) => {
                    return Err(unusable(why));
                }
            }
        }
    };
    let ConnectedFile { connection, history, generation } = connected;
    let limited = connection
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .and_then(|has| connection.pragma_update(None, "max_page_count", pages_max(has)));
    limited.map_err(|error| unusable(error.to_string()))?;
    let row_ids = RowIds::read(&connection).map_err(|error| unusable(error.to_string()))?;
    let journal = Journal::written_by(|reader| {
        let [mut first, second] = [
            RedoLog::create(&redo_path(path, REDO_ENDINGS[0]))?,
            RedoLog::create(&redo_path(path, REDO_ENDINGS[1]))?,
        ];
        // All before it is in the file.
        first.begin(generation, 0);
        Writer::start(FileWriter::new(connection), [first, second], row_ids, reader)
    });
    let journal = journal.map_err(|error| unusable(error.to_string()))?;
    Ok(OpenedJournal { journal, history, unusable: unusable_before })
}

/// The file with all that was recorded in it.
struct ConnectedFile {
    connection: Connection,
    history: RecordedHistory,
    /// The generation of the next redo log.
    generation: u64,
}

fn connect(path: &Path) -> Result<ConnectedFile, FileFault> {
    // SQLite gives its other files the mode of this one.
    OpenOptions::new().create(true).append(true).open_owner_only(path)?;
    let mut connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.pragma_update(None, "page_size", PAGE)?;
    // One process has the file: so there are no locks to take, and the index of the log is in
    // its memory.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // The writer's thread makes the checkpoints: they take as long as the disk.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Answers of pages do not stay in the file for longer than they have to.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 => create(&mut connection)?,
        // Checked first, or the upgrade would carry damage over.
        1..VERSION => {
            check(&connection)?;
            upgrade(&mut connection, version)?;
        }
        VERSION => check(&connection)?,
        other => {
            let why = format!("its schema has version {other}, this is of version {VERSION}");
            return Err(FileFault::Contents(why));
        }
    }
    let generation = take_in_left(&connection, path)?;
    let history = read_history(&connection).map_err(FileFault::from)?;
    // From here on a kill makes the next run check the whole file.
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('ended_cleanly', 0)", [])?;
    Ok(ConnectedFile { connection, history, generation })
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Rewrites a file of an older version as one of this version, in one transaction: a kill in the
/// middle leaves the old one.
fn upgrade(connection: &mut Connection, from: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    if from >= 6 {
        // They lack tables only, and every form of a record is read.
        transaction.execute_batch(include_str!("schema.sql"))?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        return transaction.commit();
    }
    let history = read_columns(&transaction, from)?;
    for table in ["meta", "command", "long_text", "gone", "idempotency", "browser", "client"] {
        transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    transaction.execute_batch(include_str!("schema.sql"))?;
    write_history(&transaction, &history)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Checks the whole file, unless the last run of the daemon has closed it.
fn check(connection: &Connection) -> Result<(), FileFault> {
    let clean = "SELECT value FROM meta WHERE name = 'ended_cleanly'";
    if connection.query_row(clean, [], |row| row.get(0)) == Ok(true) {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(FileFault::Contents(found)) }
}
