//! The thread's end of the journal: it brings redo logs into the file.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::Connection;

use super::redo_log::{RedoLog, read_left, redo_path};
use super::row_change::RowChanges;
use super::rows::deletion_of;
use super::store::FileFault;
use crate::home::REDO_ENDINGS;

/// After this many bytes, or logs, SQLite's own log is moved to the file itself.
const CHECKPOINT: (u64, u32) = (4 << 20, 64);

/// The connection to the file, and the log that goes into it.
#[derive(Debug)]
pub(super) struct FileWriter {
    connection: Connection,
    log: Option<RedoLog>,
    /// The rows of commands that are about to be deleted.
    gone: HashSet<i64>,
    /// Bytes and logs since the last checkpoint.
    since_checkpoint: (u64, u32),
}

impl FileWriter {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, log: None, gone: HashSet::new(), since_checkpoint: (0, 0) }
    }

    /// Takes a log whose changes are to come into the file next. The one before was given back.
    pub(super) fn hand_over(&mut self, log: RedoLog) {
        self.log = Some(log);
    }

    /// Brings the changes of the log into the file, if there are any.
    ///
    /// # Errors
    ///
    /// The error of SQLite. Nothing of the log is then in the file.
    pub(super) fn take_in(&mut self) -> rusqlite::Result<()> {
        let Some(log) = self.log.as_mut().filter(|log| !log.is_empty()) else { return Ok(()) };
        roll_back(&self.connection)?;
        take_in(&self.connection, log.generation(), [log.changes()], &self.gone)?;
        self.since_checkpoint.0 += log.bytes();
        self.since_checkpoint.1 += 1;
        log.empty();
        if self.since_checkpoint.0 >= CHECKPOINT.0 || self.since_checkpoint.1 >= CHECKPOINT.1 {
            // Also if it fails, or every log would try it again.
            self.since_checkpoint = (0, 0);
            if let Err(error) = checkpoint(&self.connection, "PASSIVE") {
                tracing::warn!(%error, "the journal's log could not be moved to its file");
            }
        }
        Ok(())
    }

    /// Gives the emptied log back, once.
    pub(super) fn give_back(&mut self) -> Option<RedoLog> {
        self.log.take_if(|log| log.is_empty())
    }

    /// Deletes the rows of these commands, as far as that can be done, and takes no more of them in.
    pub(super) fn delete(&mut self, numbers: Vec<i64>) {
        if let Err(error) = roll_back(&self.connection) {
            tracing::warn!(%error, "a failed transaction of the journal could not be ended");
            return;
        }
        for change in numbers.iter().copied().flat_map(deletion_of) {
            // A failure shows when the log is taken in, and the row id is known until then.
            let _ = change.make(&self.connection);
        }
        self.gone.extend(numbers);
    }

    /// Marks the file as one that needs no check, and moves all to it.
    pub(super) fn end(&mut self) {
        // Without an end of its own it would take the mark below with it.
        let _ = roll_back(&self.connection);
        // Marked before the checkpoint, which brings the mark into the file.
        let ended = self
            .connection
            .execute("UPDATE meta SET value = 1 WHERE name = 'ended_cleanly'", [])
            .and_then(|_| checkpoint(&self.connection, "TRUNCATE"));
        if let Err(error) = ended {
            tracing::warn!(%error, "the journal was not closed as it should be");
        }
    }
}

/// Makes changes, and notes that the logs up to this generation are in the file, in one transaction.
fn take_in<'a>(
    to: &Connection,
    generation: u64,
    logs: impl IntoIterator<Item = &'a RowChanges>,
    gone: &HashSet<i64>,
) -> rusqlite::Result<()> {
    // As statements that are kept: those of rusqlite's own transactions are parsed each time.
    to.prepare_cached("BEGIN")?.execute([])?;
    for changes in logs {
        changes.apply(to, gone)?;
    }
    to.prepare_cached("INSERT OR REPLACE INTO meta VALUES ('redo', ?)")?.execute([generation])?;
    to.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

/// Brings into the file the logs that an earlier run has left, as far as all before them are in it,
/// and gives the next generation.
pub(super) fn take_in_left(to: &Connection, journal: &Path) -> Result<u64, FileFault> {
    let applied: u64 =
        to.query_row("SELECT value FROM meta WHERE name = 'redo'", [], |row| row.get(0))?;
    let mut left = Vec::new();
    for ending in REDO_ENDINGS {
        left.extend(read_left(&redo_path(journal, ending))?);
    }
    left.sort_by_key(|log| log.generation);
    let newest = left.last().map_or(applied, |log| log.generation.max(applied));
    // One that is in the file already was not emptied any more.
    left.retain(|log| log.generation > applied);
    let mut whole = Vec::new();
    let mut before = None;
    for log in left {
        let follows = match before {
            None => log.generation == applied + 1,
            Some((generation, frames)) => {
                log.generation == generation + 1 && log.former_frames == frames
            }
        };
        if !follows {
            tracing::warn!("the journal's newest entries were lost with the power");
            break;
        }
        before = Some((log.generation, log.frames));
        whole.push(log.changes);
    }
    if newest > applied {
        take_in(to, newest, &whole, &HashSet::new())?;
    }
    Ok(newest + 1)
}

/// Ends a transaction that a failure, or a panic, has left open; many a failure ends it by itself.
fn roll_back(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() {
        return Ok(());
    }
    connection.execute_batch("ROLLBACK")
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::super::row_change::RowStatement;
    use super::*;

    /// A file, and its logs: the first of generation 6, with two frames, and the second of 7.
    fn stage() -> (tempfile::TempDir, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("schema.sql")).unwrap();
        connection.execute("UPDATE meta SET value = 5 WHERE name = 'redo'", []).unwrap();
        write_log(&dir, 0, 6, 1, &["one", "two"]);
        write_log(&dir, 1, 7, 2, &["three"]);
        (dir, connection)
    }

    fn write_log(
        dir: &tempfile::TempDir,
        place: usize,
        generation: u64,
        former: u64,
        texts: &[&str],
    ) {
        let mut log = RedoLog::create(&path(dir, place)).unwrap();
        log.begin(generation, former);
        for text in texts {
            let mut changes = RowChanges::default();
            let values = [Value::Text((*text).to_owned()), Value::Text("{}".to_owned())];
            changes.add(RowStatement::PutBrowser, values);
            log.append(changes).unwrap();
        }
    }

    fn path(dir: &tempfile::TempDir, place: usize) -> std::path::PathBuf {
        redo_path(&dir.path().join("journal.db"), REDO_ENDINGS[place])
    }

    fn taken_in(dir: &tempfile::TempDir, connection: &Connection) -> (u64, Vec<String>) {
        let next = take_in_left(connection, &dir.path().join("journal.db")).unwrap();
        let mut all = connection.prepare("SELECT id FROM browser ORDER BY id").unwrap();
        let ids = all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        (next, ids)
    }

    #[test]
    fn logs_come_into_the_file_in_their_order_and_once() {
        let (dir, connection) = stage();
        let all = || vec!["one".to_owned(), "three".to_owned(), "two".to_owned()];
        assert_eq!(taken_in(&dir, &connection), (8, all()));
        connection.execute("DELETE FROM browser WHERE id = 'two'", []).unwrap();
        let left = vec!["one".to_owned(), "three".to_owned()];
        assert_eq!(taken_in(&dir, &connection), (8, left), "it knows that it has them");
    }

    #[test]
    fn after_a_power_cut_a_log_counts_only_if_all_before_it_is_there() {
        let (dir, connection) = stage();
        let bytes = std::fs::read(path(&dir, 0)).unwrap();
        std::fs::write(path(&dir, 0), &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(
            taken_in(&dir, &connection),
            (8, vec!["one".to_owned()]),
            "the last frame is cut"
        );

        let (dir, connection) = stage();
        std::fs::remove_file(path(&dir, 0)).unwrap();
        assert_eq!(taken_in(&dir, &connection), (8, Vec::new()), "the first log is gone");

        let (dir, connection) = stage();
        connection.execute("UPDATE meta SET value = 4 WHERE name = 'redo'", []).unwrap();
        assert_eq!(taken_in(&dir, &connection), (8, Vec::new()), "the file lost a log before");

        let (dir, connection) = stage();
        connection.execute("UPDATE meta SET value = 6 WHERE name = 'redo'", []).unwrap();
        let second = vec!["three".to_owned()];
        assert_eq!(taken_in(&dir, &connection), (8, second), "the file has the first");
    }
}
