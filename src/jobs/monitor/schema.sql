-- The schema of the monitor's database, version 1. Paths and names are bytes: those of the
-- file system need not be UTF-8. The schema's version is SQLite's own `user_version`.

-- What there is one of.
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Folders that have, or had, files.
CREATE TABLE folder (
  id   INTEGER PRIMARY KEY,
  path BLOB NOT NULL UNIQUE         -- absolute, without symbolic links
);

-- Files as they were when they were read last.
CREATE TABLE file (
  folder   INTEGER NOT NULL,
  name     BLOB NOT NULL,
  size     INTEGER NOT NULL,        -- bytes
  mtime_ns INTEGER NOT NULL,        -- since the Unix epoch
  blake3   BLOB NOT NULL,           -- of the content, 32 bytes
  PRIMARY KEY (folder, name)
) WITHOUT ROWID;

-- How long syncs took: the newest have the largest numbers.
CREATE TABLE took (
  number    INTEGER PRIMARY KEY,
  path      BLOB NOT NULL,
  recursive INTEGER NOT NULL,
  verify    INTEGER NOT NULL,
  seconds   REAL NOT NULL,
  files     INTEGER NOT NULL
);

CREATE INDEX took_by_path ON took (path, recursive, verify, number);
