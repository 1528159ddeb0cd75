//! The monitor's database: opening it, checking it, moving a damaged file aside, and its queries.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};

use super::disk::{ContentHash, FileStamp};
use crate::home::move_damaged_database;
use crate::os::{self, OpenOwnerOnly as _};

/// The schema's version. A file of another one is moved aside.
const VERSION: i64 = 1;

/// The reason why the database cannot be used.
#[derive(Debug)]
pub(super) enum DatabaseError {
    /// The content of the file cannot be used: the file is moved aside.
    Damaged(String),
    /// It cannot be reached, read or written.
    Access(String),
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            // SQLite reports a missing table or column as `Unknown`.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
                Self::Damaged(error.to_string())
            }
            Some(_) => Self::Access(error.to_string()),
            // A value of another type than the monitor writes.
            None => Self::Damaged(error.to_string()),
        }
    }
}

impl From<io::Error> for DatabaseError {
    fn from(error: io::Error) -> Self {
        Self::Access(error.to_string())
    }
}

/// Where the database is, and its connection while no sync has it.
#[derive(Debug)]
pub(super) struct MonitorDatabase {
    path: PathBuf,
    idle: Mutex<Option<Connection>>,
    /// The file may grow by this many pages only.
    #[cfg(test)]
    pub(super) room: Option<u32>,
}

impl MonitorDatabase {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            idle: Mutex::default(),
            #[cfg(test)]
            room: None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The connection that writes. The file is opened if it is not.
    pub(super) fn connect(&self) -> Result<Connection, DatabaseError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let connection = idle.map_or_else(|| connect(&self.path), Ok)?;
        #[cfg(test)]
        if let Some(room) = self.room {
            let has: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            connection.pragma_update(None, "max_page_count", has + room)?;
        }
        Ok(connection)
    }

    /// Keeps the connection for the next sync.
    pub(super) fn keep(&self, connection: Connection) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
    }

    /// A connection for reading, beside the one that writes. The file must exist.
    pub(super) fn reader(&self) -> Result<Connection, DatabaseError> {
        // Not read-only: SQLite must be able to create the shared-memory index of the log.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Connection::open_with_flags(&self.path, flags)?)
    }

    /// Renames the file and those that belong to it. Where the file is then.
    pub(super) fn move_aside(&self) -> io::Result<PathBuf> {
        move_damaged_database(&self.path)
    }

    /// The folder and the beginning of the names of the database's own files.
    pub(super) fn own_files(&self) -> Option<(PathBuf, &OsStr)> {
        let folder = os::canonicalize(self.path.parent()?).ok()?;
        Some((folder, self.path.file_name()?))
    }
}

fn connect(path: &Path) -> Result<Connection, DatabaseError> {
    // SQLite gives its log and index the mode of this file.
    OpenOptions::new().create(true).append(true).open_owner_only(path)?;
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A power failure may undo the last batches, which the next sync repeats.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match version {
        0 => create(&mut connection)?,
        VERSION => check(&connection)?,
        other => {
            let why = format!("its schema has version {other}, this is of version {VERSION}");
            return Err(DatabaseError::Damaged(why));
        }
    }
    Ok(connection)
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Checks the whole file, unless the last sync ended cleanly.
fn check(connection: &Connection) -> Result<(), DatabaseError> {
    let clean = "SELECT value FROM meta WHERE name = 'ended_cleanly'";
    if connection.query_row(clean, [], |row| row.get(0)).optional()? == Some(true) {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(DatabaseError::Damaged(found)) }
}

/// Marks the begin and the end of a sync. A file that was left within a sync is checked when it is
/// opened.
pub(super) fn set_ended_cleanly(connection: &Connection, clean: bool) -> Result<(), DatabaseError> {
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('ended_cleanly', ?1)", [clean])?;
    Ok(())
}

/// The record of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileRow {
    pub(super) stamp: FileStamp,
    pub(super) content: ContentHash,
}

/// The number of a folder, if it has one.
pub(super) fn folder(connection: &Connection, path: &Path) -> Result<Option<i64>, DatabaseError> {
    let mut found = connection.prepare_cached("SELECT id FROM folder WHERE path = ?1")?;
    Ok(found.query_row([path.as_os_str().as_encoded_bytes()], |row| row.get(0)).optional()?)
}

/// Shows the rows of a folder by name; only the one of that name, if one is given.
pub(super) fn rows(
    connection: &Connection,
    folder: i64,
    only: Option<&OsStr>,
    mut each: impl FnMut(&[u8], FileRow),
) -> Result<(), DatabaseError> {
    let mut found = connection.prepare_cached(match only {
        Some(_) => "SELECT name, size, mtime_ns, blake3 FROM file WHERE folder = ?1 AND name = ?2",
        None => "SELECT name, size, mtime_ns, blake3 FROM file WHERE folder = ?1 ORDER BY name",
    })?;
    let mut rows = match only {
        Some(name) => found.query(params![folder, name.as_encoded_bytes()])?,
        None => found.query([folder])?,
    };
    while let Some(row) = rows.next()? {
        let stamp = FileStamp { size: row.get(1)?, mtime_ns: row.get(2)? };
        let content = row.get(3)?;
        let name = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
        each(name, FileRow { stamp, content });
    }
    Ok(())
}

/// The folders that have this path or, below it, any.
pub(super) fn folders_below(
    connection: &Connection,
    path: &Path,
) -> Result<Vec<(i64, PathBuf)>, DatabaseError> {
    let path = path.as_os_str().as_encoded_bytes();
    let mut from = path.to_owned();
    if !from.ends_with(MAIN_SEPARATOR_STR.as_bytes()) {
        from.extend(MAIN_SEPARATOR_STR.as_bytes());
    }
    let mut to = from.clone();
    // The upper bound: the first text behind all that begin with the path and a slash. A range uses the
    // index, where LIKE would not on bytes.
    if let Some(slash) = to.last_mut() {
        *slash += 1;
    }
    let mut found = connection.prepare_cached(
        "SELECT id, path FROM folder WHERE path = ?1 OR (path >= ?2 AND path < ?3)",
    )?;
    let rows = found.query_map(params![path, from, to], |row| {
        let path = row.get_ref(1)?.as_blob()?;
        Ok((row.get(0)?, PathBuf::from(os::name_of_bytes(path))))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
