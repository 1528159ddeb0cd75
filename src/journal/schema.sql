-- The schema of the journal, version 5. Moments are whole microseconds since the Unix epoch.

-- What there is one of: the schema's version is SQLite's own `user_version`.
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Commands whose record is kept, in the order of their acceptance.
CREATE TABLE command (
  number       INTEGER PRIMARY KEY,
  id           TEXT NOT NULL,     -- unique; which row it is, the writer knows
  query_id     TEXT NOT NULL,
  owner        TEXT NOT NULL,
  client       TEXT NOT NULL,
  action       TEXT NOT NULL,     -- JSON: the action, the wait or the job; empty: see `long_text`
  timeout_us   INTEGER NOT NULL,
  created      INTEGER NOT NULL,
  wish_browser TEXT,              -- as the call named it
  wish_tab     INTEGER,
  browser      TEXT,              -- where it is to run, once that is known
  tab          INTEGER,
  stage        TEXT NOT NULL,     -- accepted, started, working, ended
  stage_at     INTEGER NOT NULL,
  attempt      INTEGER,           -- who has it, or had it last
  holder       TEXT,
  instance     TEXT,
  carrier      TEXT,              -- how it was delivered: web_socket, http, poll
  outcome      TEXT,              -- complete, error, timeout, expired, cancelled
  body         TEXT,              -- the result; the error as JSON; the reason of an expiry; as above
  origin       TEXT,
  may_have_run INTEGER,
  read_at      INTEGER,
  trace        TEXT NOT NULL      -- JSON: [[phase, moment, attempt or null], …]
);

-- Commands whose record is gone.
CREATE TABLE gone (
  id           TEXT PRIMARY KEY,
  owner        TEXT NOT NULL,
  client       TEXT NOT NULL,
  at           INTEGER NOT NULL,
  may_have_run INTEGER NOT NULL
) WITHOUT ROWID;

-- In which session each browser was last: tabs are known by their number in it only.
CREATE TABLE browser (
  id      TEXT PRIMARY KEY,
  session TEXT NOT NULL
) WITHOUT ROWID;

-- Which tab each client used last.
CREATE TABLE client (
  id      TEXT PRIMARY KEY,
  owner   TEXT NOT NULL,
  browser TEXT NOT NULL,
  tab     INTEGER,
  at      INTEGER NOT NULL
) WITHOUT ROWID;
