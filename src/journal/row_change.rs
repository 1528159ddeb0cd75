//! Changes of rows: one statement with its values. Every change of the journal's file is one, so that
//! it can stand in a redo log first and reach the file later.

use std::collections::HashSet;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// Declares the statements, with the number by which each stands in a redo log.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $sql:literal,)+) => {
        /// All statements that change rows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum RowStatement {
            $($(#[$doc])* $name = $code,)+
        }

        impl RowStatement {
            #[cfg(test)]
            pub(super) const ALL: &[Self] = &[$(Self::$name,)+];

            /// The statement with this number, if there is one.
            const fn of_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)+
                    _ => None,
                }
            }

            pub(super) const fn sql(self) -> &'static str {
                match self {
                    $(Self::$name => $sql,)+
                }
            }
        }
    };
}

// A log outlives the build that wrote it: a number is never given to another statement, and no
// statement is changed.
statements! {
    /// Replaces: a batch that failed in the middle is appended once more.
    PutCommand = 1 => "INSERT OR REPLACE INTO command (number, id, acceptance, stage) VALUES (?, ?, ?, ?)",
    PutLane = 2 => "UPDATE command SET lane = ? WHERE number = ?",
    PutStage = 3 => "UPDATE command SET stage = ? WHERE number = ?",
    PutRead = 4 => "UPDATE command SET read = ? WHERE number = ?",
    DeleteCommand = 5 => "DELETE FROM command WHERE number = ?",
    PutLongText = 6 => "INSERT OR REPLACE INTO long_text VALUES (?, ?)",
    /// The two values of a command are neighbours, so one statement finds both.
    DeleteLongTexts = 7 => "DELETE FROM long_text WHERE id BETWEEN ? AND ?",
    PutTombstone = 8 => "INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)",
    DeleteTombstone = 9 => "DELETE FROM gone WHERE id = ?",
    DeleteTombstonesOfClient = 10 => "DELETE FROM gone WHERE client = ?",
    PutKey = 11 => "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
    DeleteKey = 12 => "DELETE FROM idempotency WHERE owner = ? AND client = ? AND key = ?",
    DeleteKeysOfCommand = 13 => "DELETE FROM idempotency WHERE id = ?",
    DeleteKeysOfClient = 14 => "DELETE FROM idempotency WHERE client = ?",
    DeleteKeysBefore = 15 => "DELETE FROM idempotency WHERE accepted < ?",
    PutClient = 16 => "INSERT OR REPLACE INTO client VALUES (?, ?, ?)",
    DeleteClient = 17 => "DELETE FROM client WHERE id = ?",
    PutLease = 18 => "INSERT OR REPLACE INTO lease VALUES (?, ?, ?)",
    DeleteLease = 19 => "DELETE FROM lease WHERE browser = ? AND tab = ?",
    PutOpenedTab = 20 => "INSERT OR REPLACE INTO opened_tab VALUES (?, ?, ?)",
    DeleteOpenedTab = 21 => "DELETE FROM opened_tab WHERE browser = ? AND tab = ?",
    PutOwnerTab = 22 => "INSERT OR REPLACE INTO owner_tab VALUES (?, ?, ?)",
    DeleteOwnerTab = 23 => "DELETE FROM owner_tab WHERE browser = ? AND tab = ?",
    PutConsent = 24 => "INSERT OR REPLACE INTO consent VALUES (?, ?, ?, ?, ?)",
    DeleteConsent = 25 => "DELETE FROM consent WHERE owner = ? AND client = ? AND kind = ? AND site = ?",
    PutBrowser = 26 => "INSERT OR REPLACE INTO browser VALUES (?, ?)",
    PutMeta = 27 => "INSERT OR REPLACE INTO meta VALUES (?, ?)",
}

/// A statement with its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowChange {
    pub(super) statement: RowStatement,
    pub(super) values: Vec<Value>,
}

impl RowChange {
    /// Makes the change.
    ///
    /// # Errors
    ///
    /// The error of SQLite. Nothing has changed.
    pub(super) fn make(&self, to: &Connection) -> rusqlite::Result<()> {
        let mut statement = to.prepare_cached(self.statement.sql())?;
        statement.execute(params_from_iter(&self.values))?;
        Ok(())
    }

    /// The row of the command to which this adds something.
    fn command(&self) -> Option<i64> {
        const OF_ROW: [RowStatement; 3] =
            [RowStatement::PutLane, RowStatement::PutStage, RowStatement::PutRead];
        let (place, rows_each) = if self.statement == RowStatement::PutCommand {
            (0, 1)
        } else if self.statement == RowStatement::PutLongText {
            (0, 2)
        } else if OF_ROW.contains(&self.statement) {
            (1, 1)
        } else {
            return None;
        };
        match self.values.get(place) {
            Some(Value::Integer(row)) => Some(row / rows_each),
            _ => None,
        }
    }

    /// The row of the command that this deletes. A row is never given to another command of this run.
    fn deleted_command(&self) -> Option<i64> {
        match (self.statement, self.values.first()) {
            (RowStatement::DeleteCommand, Some(Value::Integer(row))) => Some(*row),
            _ => None,
        }
    }
}

/// Changes of rows, in their order.
#[derive(Debug, Default)]
pub(super) struct RowChanges(Vec<RowChange>);

impl IntoIterator for RowChanges {
    type Item = RowChange;
    type IntoIter = std::vec::IntoIter<RowChange>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl RowChanges {
    pub(super) fn add<const N: usize>(&mut self, statement: RowStatement, values: [Value; N]) {
        self.0.push(RowChange { statement, values: values.into() });
    }

    pub(super) fn extend(&mut self, others: impl IntoIterator<Item = RowChange>) {
        self.0.extend(others);
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes the changes. The caller has a transaction. Nothing is written of commands that are deleted
    /// here or `gone` anyway: they may be what finds no room.
    ///
    /// # Errors
    ///
    /// The error of the first change that cannot be made.
    pub(super) fn apply(&self, to: &Connection, gone: &HashSet<i64>) -> rusqlite::Result<()> {
        let deleted: HashSet<_> = self.0.iter().filter_map(RowChange::deleted_command).collect();
        let is_lasting = |change: &&RowChange| {
            change.command().is_none_or(|row| !deleted.contains(&row) && !gone.contains(&row))
        };
        self.0.iter().filter(is_lasting).try_for_each(|change| change.make(to))
    }

    /// Writes the changes behind what stands in `out`, as [`decode`](Self::decode) reads them.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for RowChange { statement, values } in &self.0 {
            out.push(*statement as u8);
            // No statement has more than a handful.
            out.push(u8::try_from(values.len()).unwrap_or(u8::MAX));
            for value in values {
                encode_value(value, out);
            }
        }
    }

    /// Reads changes. `None`: these bytes are none, or of a newer build.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut changes = Vec::new();
        while let Some(code) = take::<1>(&mut bytes) {
            let statement = RowStatement::of_code(code[0])?;
            let [count] = take::<1>(&mut bytes)?;
            let values = (0..count).map(|_| decode_value(&mut bytes)).collect::<Option<_>>()?;
            changes.push(RowChange { statement, values });
        }
        Some(Self(changes))
    }
}

/// The kind of a value, as it stands in a log.
const NULL: u8 = 0;
const INTEGER: u8 = 1;
const TEXT: u8 = 2;

fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Integer(number) => {
            out.push(INTEGER);
            out.extend(number.to_le_bytes());
        }
        Value::Text(text) => {
            out.push(TEXT);
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.as_bytes());
        }
        // No row has another kind.
        Value::Null | Value::Real(_) | Value::Blob(_) => out.push(NULL),
    }
}

fn decode_value(bytes: &mut &[u8]) -> Option<Value> {
    match take::<1>(bytes)? {
        [NULL] => Some(Value::Null),
        [INTEGER] => Some(Value::Integer(i64::from_le_bytes(take(bytes)?))),
        [TEXT] => {
            let length = usize::try_from(u64::from_le_bytes(take(bytes)?)).ok()?;
            let (text, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Some(Value::Text(str::from_utf8(text).ok()?.to_owned()))
        }
        _ => None,
    }
}

/// Takes as many bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}
