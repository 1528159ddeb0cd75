-- What is too long to be written again whenever something else of its command changes: of the command
-- with number n, the action as 2n and the body as 2n + 1.
CREATE TABLE long_text (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL
);
