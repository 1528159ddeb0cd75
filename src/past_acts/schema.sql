-- The schema of the history, version 2. It has no parameters, no results, no addresses, no titles.

-- What there is one of: `from_us`, acts that ended before are not kept; `off`, whether none is.
CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE act (
  number  INTEGER PRIMARY KEY,
  at_us   INTEGER NOT NULL,  -- when it ended, in microseconds since 1970
  owner   TEXT NOT NULL,
  client  TEXT NOT NULL,
  action  TEXT NOT NULL,
  site    TEXT,              -- the host; NULL: in no page
  ended   TEXT NOT NULL,
  reason  TEXT,
  took_ms INTEGER NOT NULL,
  browser TEXT               -- what it was called then; NULL: in none
);
CREATE INDEX act_at ON act (at_us);
