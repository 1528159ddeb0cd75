//! The row of each command, by its id. They are in memory, so that the file needs no index of ids:
//! ids are random, and each command would change one more page.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::protocol::CorrelationId;

/// The row of each command.
#[derive(Debug, Default)]
pub(super) struct RowIds {
    of: HashMap<CorrelationId, i64>,
    /// The highest row that was ever given.
    last: i64,
    /// Commands whose row goes with the transaction that is being made.
    going: Vec<CorrelationId>,
}

impl RowIds {
    /// Reads the rows of the file.
    pub(super) fn read(from: &Connection) -> rusqlite::Result<Self> {
        let mut row_ids = Self::default();
        let mut all = from.prepare("SELECT number, id FROM command")?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
            row_ids.last = row_ids.last.max(number);
            row_ids.of.insert(id.into(), number);
        }
        Ok(row_ids)
    }

    /// The row of a command, a new one if it has none. A transaction that is tried again gets the
    /// same row again.
    pub(super) fn give(&mut self, id: &CorrelationId) -> i64 {
        if let Some(number) = self.find(id) {
            return number;
        }
        self.last += 1;
        self.of.insert(id.clone(), self.last);
        self.last
    }

    /// The row of a command, if it has one.
    pub(super) fn find(&self, id: &CorrelationId) -> Option<i64> {
        self.of.get(id).copied()
    }

    /// The row of a command that is deleted, if it has one.
    pub(super) fn take(&mut self, id: &CorrelationId) -> Option<i64> {
        let number = self.find(id)?;
        self.going.push(id.clone());
        Some(number)
    }

    /// Follows the end of the transaction: if it was committed, its deleted rows are forgotten.
    pub(super) fn settle(&mut self, is_made: bool) {
        for id in self.going.drain(..) {
            if is_made {
                self.of.remove(&id);
            }
        }
    }
}
