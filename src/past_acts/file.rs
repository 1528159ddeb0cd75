//! The file of the history: SQLite, which the daemon and the command line open at the same time.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, named_params, params};

use crate::home::move_damaged_database;
use crate::os::OpenOwnerOnly as _;
use crate::protocol::{Owner, PastAct, Timestamp};

/// The schema's version. A file without the tables of this one is moved aside.
const VERSION: i64 = 2;

/// What a file of version 1 lacks. Its acts stay, in no known browser.
const FROM_1_TO_2: &str = "ALTER TABLE act ADD COLUMN browser TEXT";

/// How long an act is kept.
pub const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many acts are kept: about 20 MB. The oldest leave first.
pub const ACTS_MAX: usize = 200_000;

/// How long another process may have the file for itself.
const BUSY: Duration = Duration::from_secs(2);

/// The choice of acts to read.
#[derive(Clone, Debug, Default)]
pub struct PastActFilter {
    /// On this site or below it.
    pub site: Option<String>,
    /// By clients whose name contains this, in letters of either case.
    pub client: Option<String>,
    /// By clients of this owner.
    pub owner: Option<String>,
    /// That ended at this time or later.
    pub since: Option<Timestamp>,
    /// How many at most; the newest count.
    pub limit: usize,
}

/// The acts that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastActList {
    /// Whether acts are kept now.
    pub is_on: bool,
    /// The newest first.
    pub acts: Vec<PastAct>,
}

/// Why the history cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use the history {path}: {why}. Free space on the disk or make it writable; a file that is damaged can be moved away"
)]
pub struct PastActError {
    path: PathBuf,
    why: String,
}

/// Where the history is. The file is made with the first act, or when it is switched off.
#[derive(Clone, Debug)]
pub struct PastActFile(Arc<Path>);

impl PastActFile {
    /// The history in this file.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.into())
    }

    /// Reads acts. Without a file there are none.
    ///
    /// # Errors
    ///
    /// [`PastActError`].
    pub fn read(&self, filter: &PastActFilter) -> Result<PastActList, PastActError> {
        if !self.0.exists() {
            return Ok(PastActList { is_on: true, acts: Vec::new() });
        }
        self.open().and_then(|file| read(&file, filter)).map_err(|why| self.trouble(&why))
    }

    /// The owners of the acts that are kept. Without a file there are none.
    ///
    /// # Errors
    ///
    /// [`PastActError`].
    pub fn owners(&self) -> Result<Vec<Owner>, PastActError> {
        if !self.0.exists() {
            return Ok(Vec::new());
        }
        self.open().and_then(|file| owners(&file)).map_err(|why| self.trouble(&why))
    }

    /// Keeps acts, unless the history is off, and removes the acts that are too old or too many.
    ///
    /// # Errors
    ///
    /// [`PastActError`]: none of them is kept.
    pub fn keep(&self, acts: &[PastAct], now: Timestamp) -> Result<(), PastActError> {
        self.keep_at_most(acts, now, ACTS_MAX)
    }

    fn keep_at_most(
        &self,
        acts: &[PastAct],
        now: Timestamp,
        most: usize,
    ) -> Result<(), PastActError> {
        let kept = self.open().and_then(|mut file| insert(&mut file, acts, now, most));
        kept.map_err(|why| self.trouble(&why))
    }

    /// Switches the history on or off. Acts that are kept stay.
    ///
    /// # Errors
    ///
    /// [`PastActError`]: nothing has changed.
    pub fn set_on(&self, on: bool, now: Timestamp) -> Result<(), PastActError> {
        let set = self.open().and_then(|mut file| {
            let transaction = file.transaction()?;
            if on && is_off(&transaction)? {
                // What happened while it was off may still be on its way to the file.
                set(&transaction, FROM, micros(now))?;
            }
            set(&transaction, OFF, i64::from(!on))?;
            transaction.commit()
        });
        set.map_err(|why| self.trouble(&why))
    }

    /// Removes all acts, also those that are still on their way to the file. Returns how many the
    /// file had. It stays on or off.
    ///
    /// # Errors
    ///
    /// [`PastActError`]: nothing has changed.
    pub fn clear(&self, now: Timestamp) -> Result<usize, PastActError> {
        if !self.0.exists() {
            return Ok(0);
        }
        let cleared = self.open().and_then(|mut file| {
            let transaction = file.transaction()?;
            set(&transaction, FROM, micros(now))?;
            let count = transaction.execute("DELETE FROM act", [])?;
            transaction.commit()?;
            // Until then the log of the file still has them.
            file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(count)
        });
        cleared.map_err(|why| self.trouble(&why))
    }

    fn trouble(&self, why: &impl ToString) -> PastActError {
        PastActError { path: self.0.to_path_buf(), why: why.to_string() }
    }

    /// Opens the file, and makes it if there is none. A damaged one is moved aside: the history is
    /// not worth a daemon that keeps none.
    fn open(&self) -> rusqlite::Result<Connection> {
        match connect(&self.0) {
            Err(error) if is_damage(&error) => {
                let moved = move_damaged_database(&self.0).map_err(io_error)?;
                tracing::warn!(%error, kept = %moved.display(), "the history was damaged and was moved aside");
                connect(&self.0)
            }
            opened => opened,
        }
    }
}

const FROM: &str = "from_us";
const OFF: &str = "off";

fn io_error(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        // SQLite reports a missing table or column as `Unknown`.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    )
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite gives its log and index the mode of this file.
    let made = OpenOptions::new().create(true).append(true).open_owner_only(path);
    made.map_err(io_error)?;
    let mut file = Connection::open(path)?;
    file.busy_timeout(BUSY)?;
    file.pragma_update(None, "journal_mode", "WAL")?;
    file.pragma_update(None, "synchronous", "NORMAL")?;
    // Removed acts do not stay in free pages.
    file.pragma_update(None, "secure_delete", "ON")?;
    if version_of(&file)? < VERSION {
        let transaction =
            file.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have made it meanwhile.
        let step = match version_of(&transaction)? {
            0 => Some(include_str!("schema.sql")),
            1 => Some(FROM_1_TO_2),
            _ => None,
        };
        if let Some(step) = step {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    } else {
        // A file of another schema fails here, as one that is damaged.
        file.query_row("SELECT count(*) FROM (SELECT at_us FROM act LIMIT 1)", [], |_| Ok(()))?;
    }
    Ok(file)
}

fn version_of(file: &Connection) -> rusqlite::Result<i64> {
    file.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// SQLite's numbers have a sign. The year 294,000 is out of reach.
fn micros(at: Timestamp) -> i64 {
    i64::try_from(at.unix_micros()).unwrap_or(i64::MAX)
}

fn setting(file: &Connection, name: &str) -> rusqlite::Result<i64> {
    let mut asked = file.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
    Ok(asked.query_row([name], |row| row.get(0)).optional()?.unwrap_or_default())
}

fn set(file: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    file.execute("INSERT OR REPLACE INTO setting VALUES (?1, ?2)", params![name, value])?;
    Ok(())
}

fn is_off(file: &Connection) -> rusqlite::Result<bool> {
    Ok(setting(file, OFF)? != 0)
}

fn insert(
    file: &mut Connection,
    acts: &[PastAct],
    now: Timestamp,
    most: usize,
) -> rusqlite::Result<()> {
    // Immediate: between the look at the switch and the write nobody changes it.
    let transaction = file.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if !is_off(&transaction)? {
        let from = setting(&transaction, FROM)?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO act (at_us, owner, client, action, site, ended, reason, took_ms, browser)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for act in acts.iter().filter(|act| micros(act.at) > from) {
            let PastAct { owner, client, browser, action, site, ended, reason, .. } = act;
            let took = i64::try_from(act.took_ms).unwrap_or(i64::MAX);
            let at = micros(act.at);
            let row = params![at, owner, client, action, site, ended, reason, took, browser];
            insert.execute(row)?;
        }
    }
    let oldest = micros(now - KEPT_FOR);
    transaction.execute("DELETE FROM act WHERE at_us < ?1", [oldest])?;
    transaction.execute(
        "DELETE FROM act WHERE number <= (SELECT max(number) FROM act) - ?1",
        [i64::try_from(most).unwrap_or(i64::MAX)],
    )?;
    transaction.commit()
}

fn read(file: &Connection, filter: &PastActFilter) -> rusqlite::Result<PastActList> {
    let PastActFilter { site, client, owner, since, limit } = filter;
    let mut asked = file.prepare_cached(
        "SELECT at_us, owner, client, action, site, ended, reason, took_ms, browser FROM act
         WHERE (:site IS NULL OR site = :site OR substr(site, -length(:site) - 1) = '.' || :site)
           AND (:client IS NULL OR instr(lower(client), lower(:client)) > 0)
           AND (:owner IS NULL OR owner = :owner)
           AND at_us >= :since
         ORDER BY number DESC LIMIT :limit",
    )?;
    let rows = asked.query_map(
        named_params! {
            ":site": site.as_deref().map(str::to_ascii_lowercase),
            ":client": client,
            ":owner": owner,
            ":since": since.map(micros).unwrap_or_default(),
            ":limit": i64::try_from(*limit).unwrap_or(i64::MAX),
        },
        act,
    )?;
    let acts = rows.collect::<Result<_, _>>()?;
    Ok(PastActList { is_on: !is_off(file)?, acts })
}

fn owners(file: &Connection) -> rusqlite::Result<Vec<Owner>> {
    let mut asked = file.prepare("SELECT DISTINCT owner FROM act")?;
    let rows = asked.query_map([], |row| row.get::<_, Arc<str>>(0))?;
    rows.map(|name| Ok(Owner::from(name?))).collect()
}

fn act(row: &Row<'_>) -> rusqlite::Result<PastAct> {
    let number = |column| row.get(column).map(|number: i64| u64::try_from(number).unwrap_or(0));
    Ok(PastAct {
        at: Timestamp::from_unix_micros(number(0)?),
        owner: row.get(1)?,
        client: row.get(2)?,
        action: row.get(3)?,
        site: row.get(4)?,
        ended: row.get(5)?,
        reason: row.get(6)?,
        took_ms: number(7)?,
        browser: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn now() -> Timestamp {
        Timestamp::from_unix_micros(1_795_298_985_123_000)
    }

    fn act(action: &str, at: Timestamp) -> PastAct {
        PastAct {
            at,
            owner: "default".into(),
            client: "Claude Code".into(),
            browser: Some("work".into()),
            action: action.into(),
            site: Some("shop.example".into()),
            ended: "error".into(),
            reason: Some("no_match".into()),
            took_ms: 41,
        }
    }

    fn all() -> PastActFilter {
        PastActFilter { limit: 100, ..PastActFilter::default() }
    }

    fn names(file: &PastActFile, filter: &PastActFilter) -> Vec<String> {
        file.read(filter).unwrap().acts.iter().map(|act| act.action.to_string()).collect()
    }

    fn in_temporary() -> (tempfile::TempDir, PastActFile) {
        let dir = tempfile::tempdir().unwrap();
        let file = PastActFile::at(&dir.path().join("history.db"));
        (dir, file)
    }

    #[test]
    fn acts_are_read_as_they_were_kept_newest_first_from_a_file_of_its_owner() {
        let (dir, file) = in_temporary();
        let (first, second) = (act("click", now() - DAY), act("type", now()));
        file.keep(&[first.clone(), second.clone()], now()).unwrap();
        let list = file.read(&all()).unwrap();
        assert_eq!(list, PastActList { is_on: true, acts: vec![second, first] });
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            let mode = crate::os::testing::mode(entry.path());
            assert_eq!(mode, 0o600, "{:?}", entry.path());
        }
    }

    #[test]
    fn an_act_leaves_after_30_days_and_the_oldest_leave_when_there_are_too_many() {
        let (_dir, file) = in_temporary();
        let old = now() - KEPT_FOR;
        let acts = [act("old", old - Duration::from_secs(1)), act("kept", old), act("new", now())];
        file.keep(&acts, now()).unwrap();
        assert_eq!(names(&file, &all()), ["new", "kept"]);
        file.keep_at_most(&[act("newest", now())], now(), 2).unwrap();
        assert_eq!(names(&file, &all()), ["newest", "new"]);
        file.keep(&[], now() + KEPT_FOR + DAY).unwrap();
        assert!(names(&file, &all()).is_empty(), "they leave without new ones too");
    }

    #[test]
    fn a_filter_finds_a_site_with_all_below_it_a_client_an_owner_and_a_time() {
        let (_dir, file) = in_temporary();
        let at = |site: Option<&str>, client: &str, owner: &str, at| PastAct {
            site: site.map(Into::into),
            client: client.into(),
            owner: owner.into(),
            ..act(client, at)
        };
        let acts = [
            at(Some("pay.shop.example"), "Claude Code", "default", now() - DAY),
            at(Some("workshop.example"), "Cursor", "ci", now()),
            at(None, "codex", "default", now()),
        ];
        file.keep(&acts, now()).unwrap();
        let by = |filter: PastActFilter| names(&file, &PastActFilter { limit: 100, ..filter });
        let site = Some("SHOP.example".to_owned());
        assert_eq!(by(PastActFilter { site, ..all() }), ["Claude Code"]);
        assert_eq!(by(PastActFilter { client: Some("CUR".into()), ..all() }), ["Cursor"]);
        assert_eq!(by(PastActFilter { client: Some("%".into()), ..all() }), [""; 0]);
        assert_eq!(by(PastActFilter { owner: Some("ci".into()), ..all() }), ["Cursor"]);
        assert_eq!(by(PastActFilter { since: Some(now()), ..all() }), ["codex", "Cursor"]);
        assert_eq!(names(&file, &PastActFilter { limit: 1, ..all() }), ["codex"]);
    }

    #[test]
    fn off_keeps_nothing_more_and_on_nothing_of_the_time_between() {
        let (_dir, file) = in_temporary();
        let second = Duration::from_secs(1);
        file.keep(&[act("before", now())], now()).unwrap();
        file.set_on(false, now() + second).unwrap();
        file.keep(&[act("off", now() + second)], now() + second).unwrap();
        let list = file.read(&all()).unwrap();
        assert!(!list.is_on);
        assert_eq!(names(&file, &all()), ["before"]);
        file.set_on(true, now() + second * 3).unwrap();
        file.keep(&[act("late", now() + second * 2), act("on", now() + second * 4)], now())
            .unwrap();
        assert_eq!(names(&file, &all()), ["on", "before"]);
        file.set_on(true, now() + second * 9).unwrap();
        file.keep(&[act("still on", now() + second * 5)], now()).unwrap();
        assert_eq!(names(&file, &all()).len(), 3, "a second `on` changes nothing");
    }

    #[test]
    fn cleared_acts_are_in_no_file_any_more_nor_those_that_were_on_their_way() {
        let (dir, file) = in_temporary();
        assert_eq!(file.clear(now()).unwrap(), 0);
        file.keep(&[act("secretly_named", now())], now()).unwrap();
        assert_eq!(file.clear(now()).unwrap(), 1);
        file.keep(&[act("on_its_way", now())], now()).unwrap();
        assert!(names(&file, &all()).is_empty());
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(14).any(|window| window == b"secretly_named"));
        }
    }

    #[test]
    fn a_file_of_version_1_keeps_its_acts_and_takes_new_ones() {
        let (dir, file) = in_temporary();
        let former = Connection::open(dir.path().join("history.db")).unwrap();
        former
            .execute_batch(
                "CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
                 CREATE TABLE act (number INTEGER PRIMARY KEY, at_us INTEGER NOT NULL,
                   owner TEXT NOT NULL, client TEXT NOT NULL, action TEXT NOT NULL, site TEXT,
                   ended TEXT NOT NULL, reason TEXT, took_ms INTEGER NOT NULL);
                 PRAGMA user_version = 1;",
            )
            .unwrap();
        let values = params![micros(now())];
        let row =
            "INSERT INTO act VALUES (1, ?1, 'default', 'c', 'former', NULL, 'complete', NULL, 4)";
        former.execute(row, values).unwrap();
        drop(former);
        let browsers = || file.read(&all()).unwrap().acts.into_iter().map(|act| act.browser);
        assert_eq!(browsers().collect::<Vec<_>>(), [None]);
        file.keep(&[act("click", now())], now()).unwrap();
        assert_eq!(names(&file, &all()), ["click", "former"]);
        assert_eq!(browsers().collect::<Vec<_>>(), [Some("work".into()), None]);
        assert!(!dir.path().join("history.db.damaged-1").exists());
    }

    #[test]
    fn a_damaged_file_is_moved_aside_and_the_next_acts_are_kept() {
        for damage in [&b"this is not a database, for it is much too wordy to be one"[..], b""] {
            let (dir, file) = in_temporary();
            let path = dir.path().join("history.db");
            if damage.is_empty() {
                let other = Connection::open(&path).unwrap();
                other.execute_batch("CREATE TABLE x (y); PRAGMA user_version = 9").unwrap();
            } else {
                std::fs::write(&path, damage).unwrap();
            }
            file.keep(&[act("click", now())], now()).unwrap();
            assert_eq!(names(&file, &all()), ["click"]);
            assert!(dir.path().join("history.db.damaged-1").exists());
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = PastActFile::at(&dir.path().join("none").join("history.db"));
        let error = file.keep(&[act("click", now())], now()).unwrap_err().to_string();
        assert!(error.contains("none/history.db") && error.contains("make it writable"), "{error}");
    }
}
