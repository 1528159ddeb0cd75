-- The schema of the journal, version 12. What is kept are records: JSON that says its own version
-- (record.rs). The other columns are what records are found, sorted and deleted by.

-- What there is one of: `run` is the record of the daemon's last start, `ended_cleanly` whether the
-- file needs no check, `redo` the generation of the last redo log that is in the file. The schema's
-- version is SQLite's own `user_version`.
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- By chance: the logs of another file, which may have stood in this place, do not fit.
INSERT OR IGNORE INTO meta VALUES ('redo', abs(random() % 1000000000000));

-- Commands whose record is kept, in the order of their acceptance.
CREATE TABLE IF NOT EXISTS command (
  number     INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,     -- unique; the writer knows which row it is
  acceptance TEXT NOT NULL,
  lane       TEXT,              -- NULL: as in the acceptance
  stage      TEXT,              -- NULL or spaces: as it was accepted; padded with spaces
  read       TEXT               -- NULL: its outcome was not read
);

-- Values that are too long to be written again whenever something else of their command changes: of
-- the command with number n, its work as 2n, and its result or error as 2n + 1.
CREATE TABLE IF NOT EXISTS long_text (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL
);

-- Commands whose records are gone.
CREATE TABLE IF NOT EXISTS gone (
  id     TEXT PRIMARY KEY,
  client TEXT NOT NULL,
  at     INTEGER NOT NULL,      -- whole microseconds since the Unix epoch
  record TEXT NOT NULL
) WITHOUT ROWID;

-- Under which key which command was accepted. Keys are their client's.
CREATE TABLE IF NOT EXISTS idempotency (
  owner    TEXT NOT NULL,
  client   TEXT NOT NULL,
  key      TEXT NOT NULL,
  id       TEXT NOT NULL,
  accepted INTEGER NOT NULL,
  record   TEXT NOT NULL,
  PRIMARY KEY (owner, client, key)
) WITHOUT ROWID;

-- In which session each browser was last: a tab's number means something within one only.
CREATE TABLE IF NOT EXISTS browser (
  id     TEXT PRIMARY KEY,
  record TEXT NOT NULL
) WITHOUT ROWID;

-- Which tab each client used last.
CREATE TABLE IF NOT EXISTS client (
  id     TEXT PRIMARY KEY,
  at     INTEGER NOT NULL,
  record TEXT NOT NULL
) WITHOUT ROWID;

-- Which client holds which tab.
CREATE TABLE IF NOT EXISTS lease (
  browser TEXT NOT NULL,
  tab     INTEGER NOT NULL,
  record  TEXT NOT NULL,
  PRIMARY KEY (browser, tab)
) WITHOUT ROWID;

-- Which client opened which tab.
CREATE TABLE IF NOT EXISTS opened_tab (
  browser TEXT NOT NULL,
  tab     INTEGER NOT NULL,
  record  TEXT NOT NULL,
  PRIMARY KEY (browser, tab)
) WITHOUT ROWID;

-- Which owner's own a tab is.
CREATE TABLE IF NOT EXISTS owner_tab (
  browser TEXT NOT NULL,
  tab     INTEGER NOT NULL,
  record  TEXT NOT NULL,
  PRIMARY KEY (browser, tab)
) WITHOUT ROWID;

-- The person's kept words: what a client may do on a site without being asked for.
CREATE TABLE IF NOT EXISTS consent (
  owner  TEXT NOT NULL,
  client TEXT NOT NULL,
  kind   TEXT NOT NULL,
  site   TEXT NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (owner, client, kind, site)
) WITHOUT ROWID;
