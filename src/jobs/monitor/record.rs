//! Writes the results of a sync into the database, in batches.

use std::path::Path;
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, Transaction, params};

use super::database::{self, DatabaseError, FileRow};
use super::hash::{HashFailure, HashResult};
use super::summary::SyncSummary;
use super::walk::{FileToRead, WalkFindings};

/// The most files in a batch.
const BATCH_FILES: u64 = 8_192;

/// The most bytes of files in a batch, since large files take long to read again after a kill.
const BATCH_BYTES: u64 = 1 << 30;

/// Writes rows of files.
pub(super) struct RowWriter<'a> {
    connection: &'a Connection,
    found: &'a WalkFindings,
    /// The numbers of the found folders, as far as they have one.
    folders: Vec<Option<i64>>,
    batch: Option<Transaction<'a>>,
    batch_files: u64,
    batch_bytes: u64,
    /// Found files with a row that are gone.
    gone: Vec<usize>,
    summary: SyncSummary,
}

/// The summary of the files that were read, and those that are gone.
pub(super) struct RecordedChanges {
    pub(super) summary: SyncSummary,
    pub(super) gone: Vec<usize>,
}

impl<'a> RowWriter<'a> {
    pub(super) fn new(connection: &'a Connection, found: &'a WalkFindings) -> Self {
        Self {
            connection,
            found,
            folders: found.folders.iter().map(|folder| folder.id).collect(),
            batch: None,
            batch_files: 0,
            batch_bytes: 0,
            gone: Vec::new(),
            summary: SyncSummary::default(),
        }
    }

    /// Writes results until the channel closes.
    pub(super) fn record(
        mut self,
        results: &Receiver<Vec<HashResult>>,
    ) -> Result<RecordedChanges, DatabaseError> {
        for result in results.iter().flatten() {
            self.take(&result)?;
        }
        self.commit()?;
        Ok(RecordedChanges { summary: self.summary, gone: self.gone })
    }

    fn take(&mut self, hashed: &HashResult) -> Result<(), DatabaseError> {
        let file = &self.found.files[hashed.file];
        match &hashed.result {
            Ok((stamp, content)) => {
                return self.file(file, FileRow { stamp: *stamp, content: *content });
            }
            // The file was deleted after the walk: it counts as if the walk had not found it.
            Err(HashFailure::Gone) => {
                if file.row.is_some() {
                    self.gone.push(hashed.file);
                }
            }
            Err(HashFailure::Unreadable(why)) => {
                let path = self.found.folders[file.folder].path.join(&file.name);
                self.summary.unreadable_file(&path, why.clone());
            }
            Err(HashFailure::Stopped) => {}
        }
        Ok(())
    }

    fn file(&mut self, file: &FileToRead, row: FileRow) -> Result<(), DatabaseError> {
        if file.row != Some(row) {
            self.write(file, &row)?;
        }
        self.summary.bytes_hashed += row.stamp.size;
        match file.row {
            Some(old) if old.content == row.content => self.summary.skipped_file(),
            old => self.summary.updated_file(old.is_none()),
        }
        self.batch_files += 1;
        self.batch_bytes += row.stamp.size;
        if self.batch_files >= BATCH_FILES || self.batch_bytes >= BATCH_BYTES {
            self.commit()?;
        }
        Ok(())
    }

    fn write(&mut self, file: &FileToRead, row: &FileRow) -> Result<(), DatabaseError> {
        if self.batch.is_none() {
            self.batch = Some(self.connection.unchecked_transaction()?);
        }
        let folder = match self.folders[file.folder] {
            Some(id) => id,
            None => self.new_folder(file.folder)?,
        };
        let mut write = self
            .connection
            .prepare_cached("INSERT OR REPLACE INTO file VALUES (?1, ?2, ?3, ?4, ?5)")?;
        let FileRow { stamp, content } = row;
        write.execute(params![
            folder,
            file.name.as_encoded_bytes(),
            stamp.size,
            stamp.mtime_ns,
            content.as_slice()
        ])?;
        Ok(())
    }

    fn new_folder(&mut self, folder: usize) -> Result<i64, DatabaseError> {
        let path = self.found.folders[folder].path.as_os_str().as_encoded_bytes();
        let mut write = self.connection.prepare_cached("INSERT INTO folder (path) VALUES (?1)")?;
        let id = write.insert([path])?;
        self.folders[folder] = Some(id);
        Ok(id)
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        self.batch_files = 0;
        self.batch_bytes = 0;
        if let Some(batch) = self.batch.take() {
            batch.commit()?;
        }
        Ok(())
    }
}

/// The numbers of the recorded folders below this path that are not there any more.
pub(super) fn lost_folders(
    connection: &Connection,
    found: &WalkFindings,
    below: Option<&Path>,
) -> Result<Vec<i64>, DatabaseError> {
    let known = below.map(|path| database::folders_below(connection, path)).transpose()?;
    let is_closed = |path: &Path| found.closed.iter().any(|closed| path.starts_with(closed));
    let lost = known.into_iter().flatten();
    let lost = lost.filter(|(id, path)| !found.visited.contains(id) && !is_closed(path));
    Ok(lost.map(|(id, _)| id).collect())
}

/// Removes the rows of what has vanished: of files that the walk did not find, of those that
/// were gone when they were to be read, and of lost folders. How many that are.
pub(super) fn remove(
    connection: &Connection,
    found: &WalkFindings,
    gone: &[usize],
    lost: &[i64],
) -> Result<u64, DatabaseError> {
    let mut removed = 0;
    for (folder, name) in &found.vanished {
        removed += remove_file(connection, *folder, name.as_encoded_bytes())?;
    }
    for file in gone.iter().map(|file| &found.files[*file]) {
        if let Some(folder) = found.folders[file.folder].id {
            removed += remove_file(connection, folder, file.name.as_encoded_bytes())?;
        }
    }
    for folder in lost {
        removed += remove_folder(connection, *folder)?;
    }
    Ok(removed)
}

fn remove_file(connection: &Connection, folder: i64, name: &[u8]) -> Result<u64, DatabaseError> {
    let mut remove =
        connection.prepare_cached("DELETE FROM file WHERE folder = ?1 AND name = ?2")?;
    Ok(u64::try_from(remove.execute(params![folder, name])?).unwrap_or(u64::MAX))
}

fn remove_folder(connection: &Connection, id: i64) -> Result<u64, DatabaseError> {
    let files = connection.prepare_cached("DELETE FROM file WHERE folder = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM folder WHERE id = ?1")?.execute([id])?;
    Ok(u64::try_from(files).unwrap_or(u64::MAX))
}
