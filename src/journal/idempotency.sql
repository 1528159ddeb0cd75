-- Under which key which command was accepted. Keys are their client's.
CREATE TABLE idempotency (
  owner    TEXT NOT NULL,
  client   TEXT NOT NULL,
  key      TEXT NOT NULL,
  id       TEXT NOT NULL,
  query_id TEXT NOT NULL,
  accepted INTEGER NOT NULL,
  digest   BLOB,             -- what the call asked for; NULL in what version 4 has written
  PRIMARY KEY (owner, client, key)
) WITHOUT ROWID;
