//! Redo logs: changes that are recorded and not in the journal's file yet.
//!
//! A transaction of SQLite takes some 40 µs, an append to a file 3, and a command waits for two of
//! them. So a change counts as recorded once it stands in a log, which a kill of the process does not
//! take away, and the journal's thread brings many of them into the file in one transaction.
//!
//! Two logs take turns: while the thread brings one into the file, changes are appended to the other.
//! Each use of a log has a generation, and the file says which one it has taken in last, in the same
//! transaction. So a log is taken in once, and only if all before it are in the file: a power cut,
//! after which files may be of different moments, leaves the journal as it was at one moment.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::mem;
use std::path::{Path, PathBuf};

use super::row_change::RowChanges;
use crate::os::OpenOwnerOnly as _;

/// The first bytes of a log, with the version of its form.
const MAGIC: [u8; 16] = *b"tabwire redo 1\n\0";

/// The magic, the generation, the frames of the generation before, and the checksum of these.
const HEADER: usize = MAGIC.len() + 8 + 8 + 4;

/// The length of a frame's changes and their checksum stand before them.
const FRAME_HEADER: usize = 4 + 4;

/// With so many changes, or bytes, it is time to bring a log into the file.
const DUE: (usize, u64) = (512, 1 << 20);

/// With so many changes, or bytes, a log takes no more until the other one is free.
const FULL: (usize, u64) = (8_192, 8 << 20);

/// A log that changes are appended to.
#[derive(Debug)]
pub(super) struct RedoLog {
    file: File,
    generation: u64,
    /// How many frames the log of the generation before has in all.
    former_frames: u64,
    frames: u64,
    /// How long the file is, or has to be made.
    end: u64,
    /// Whether the file may be longer: an append or its removal has failed.
    is_torn: bool,
    changes: RowChanges,
    /// The frame that is written, kept for its memory.
    frame: Vec<u8>,
}

/// A log as an earlier run has left it.
#[derive(Debug)]
pub(super) struct LeftLog {
    pub(super) generation: u64,
    pub(super) former_frames: u64,
    pub(super) frames: u64,
    pub(super) changes: RowChanges,
}

/// The path of a log of this journal.
pub(super) fn redo_path(journal: &Path, ending: &str) -> PathBuf {
    let mut path = journal.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

impl RedoLog {
    /// Opens an empty log in this file; what it holds is dropped.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open_owner_only(path)?;
        file.set_len(0)?;
        Ok(Self {
            file,
            generation: 0,
            former_frames: 0,
            frames: 0,
            end: 0,
            is_torn: false,
            changes: RowChanges::default(),
            frame: Vec::new(),
        })
    }

    /// Begins a generation, of a log that is empty.
    pub(super) fn begin(&mut self, generation: u64, former_frames: u64) {
        (self.generation, self.former_frames) = (generation, former_frames);
    }

    /// Appends changes as one frame: after a kill all of them are there, or none.
    ///
    /// # Errors
    ///
    /// The error of the system. The log is then as it was before.
    pub(super) fn append(&mut self, changes: RowChanges) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.end)?;
            self.is_torn = false;
        }
        let mut frame = mem::take(&mut self.frame);
        frame.clear();
        if self.end == 0 {
            self.put_header(&mut frame);
        }
        let written = put_frame(self.generation, &changes, &mut frame)
            .and_then(|()| self.file.write_all(&frame));
        let length = frame.len() as u64;
        // One long result must not hold its memory for ever.
        if frame.capacity() <= 1 << 16 {
            self.frame = frame;
        }
        if let Err(error) = written {
            self.is_torn = self.file.set_len(self.end).is_err();
            return Err(error);
        }
        self.end += length;
        self.frames += 1;
        self.changes.extend(changes);
        Ok(())
    }

    fn put_header(&self, out: &mut Vec<u8>) {
        out.extend(MAGIC);
        out.extend(self.generation.to_le_bytes());
        out.extend(self.former_frames.to_le_bytes());
        let checksum = crc32fast::hash(out);
        out.extend(checksum.to_le_bytes());
    }

    /// Empties the log: the file has its changes.
    pub(super) fn empty(&mut self) {
        (self.frames, self.end) = (0, 0);
        self.changes = RowChanges::default();
        // If this fails, the file knows the generation and takes it in no more.
        self.is_torn = self.file.set_len(0).is_err();
    }

    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    /// The length in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.end
    }

    pub(super) const fn changes(&self) -> &RowChanges {
        &self.changes
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether it is time to bring it into the file.
    pub(super) const fn is_due(&self) -> bool {
        self.changes.len() >= DUE.0 || self.end >= DUE.1
    }

    /// Whether nothing more should be appended before it was brought into the file.
    pub(super) const fn is_full(&self) -> bool {
        self.changes.len() >= FULL.0 || self.end >= FULL.1
    }
}

fn put_frame(generation: u64, changes: &RowChanges, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.extend([0; FRAME_HEADER]);
    changes.encode(out);
    let body = &out[start + FRAME_HEADER..];
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let checksum = checksum(generation, body);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + FRAME_HEADER].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// A frame of another generation has another checksum.
fn checksum(generation: u64, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&generation.to_le_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// Reads a log that an earlier run has left, up to its last whole frame. `None`: there is none.
///
/// # Errors
///
/// The error of the system; [`io::ErrorKind::InvalidData`] for a whole frame that this build does
/// not know.
pub(super) fn read_left(path: &Path) -> io::Result<Option<LeftLog>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((header, mut rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let number = |at: usize| header[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
    let (signed, checksum_of_it) = header.split_at(HEADER - 4);
    if !signed.starts_with(&MAGIC) || crc32fast::hash(signed).to_le_bytes() != checksum_of_it {
        return Ok(None);
    }
    let mut left = LeftLog {
        generation: number(MAGIC.len()),
        former_frames: number(MAGIC.len() + 8),
        frames: 0,
        changes: RowChanges::default(),
    };
    while let Some(body) = take_frame(left.generation, &mut rest) {
        let changes = RowChanges::decode(body).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a log has changes that are not known")
        })?;
        left.frames += 1;
        left.changes.extend(changes);
    }
    Ok(Some(left))
}

/// Takes a whole frame off the front, and gives its changes.
fn take_frame<'a>(generation: u64, bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (expected, rest) = rest.split_first_chunk()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    if checksum(generation, body) != u32::from_le_bytes(*expected) {
        return None;
    }
    *bytes = rest;
    Some(body)
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::super::row_change::RowStatement;
    use super::*;

    fn changes(numbers: impl IntoIterator<Item = i64>) -> RowChanges {
        let mut changes = RowChanges::default();
        for number in numbers {
            let text = Value::Text(format!("change {number} \u{0} ü"));
            changes.add(RowStatement::PutLongText, [number.into(), text]);
            changes.add(RowStatement::PutLane, [Value::Null, number.into()]);
        }
        changes
    }

    fn bytes_of(changes: &RowChanges) -> Vec<u8> {
        let mut bytes = Vec::new();
        changes.encode(&mut bytes);
        bytes
    }

    fn written(path: &Path, frames: i64) -> RedoLog {
        let mut log = RedoLog::create(path).unwrap();
        log.begin(7, 3);
        (0..frames).for_each(|number| log.append(changes([number, -number])).unwrap());
        log
    }

    #[test]
    fn changes_come_back_as_they_were_and_know_which_generation_they_are_of() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert!(read_left(&path).unwrap().is_none());
        let log = written(&path, 3);
        let left = read_left(&path).unwrap().unwrap();
        assert_eq!((left.generation, left.former_frames, left.frames), (7, 3, 3));
        assert_eq!(bytes_of(&left.changes), bytes_of(log.changes()));
    }

    #[test]
    fn a_log_that_is_cut_or_damaged_anywhere_has_its_whole_frames_before_that() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = written(&path, 4);
        let (all, bytes) = (bytes_of(log.changes()), std::fs::read(&path).unwrap());
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let left = read_left(&path).unwrap();
            let had = left.map_or_else(Vec::new, |left| bytes_of(&left.changes));
            assert!(all.starts_with(&had) && had.len() < all.len(), "cut at {cut}");
            let mut damaged = bytes.clone();
            damaged[cut] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            let left = read_left(&path).unwrap();
            let had = left.map_or_else(Vec::new, |left| bytes_of(&left.changes));
            assert!(all.starts_with(&had) && had.len() < all.len(), "damaged at {cut}");
        }
    }

    #[test]
    fn a_log_that_is_used_again_has_nothing_of_its_former_generation() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = written(&path, 9);
        log.empty();
        assert!(read_left(&path).unwrap().is_none() && log.is_empty());
        log.begin(9, 5);
        log.append(changes([1])).unwrap();
        let left = read_left(&path).unwrap().unwrap();
        assert_eq!((left.generation, left.former_frames, left.frames), (9, 5, 1));
        assert_eq!(bytes_of(&left.changes), bytes_of(&changes([1])));
    }

    #[test]
    fn an_append_that_fails_leaves_the_log_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = written(&path, 2);
        let (before, writable) = (std::fs::read(&path).unwrap(), log.file.try_clone().unwrap());
        log.file = File::open(&path).unwrap();
        assert!(log.append(changes([5])).is_err() && log.is_torn);
        // As if half of a frame had been written.
        (&writable).write_all(b"half").unwrap();
        assert!(log.append(changes([5])).is_err());
        log.file = writable;
        assert_eq!((log.frames, log.changes.len()), (2, 8));
        log.append(changes([6])).unwrap();
        let now = std::fs::read(&path).unwrap();
        assert!(now.starts_with(&before));
        assert_eq!(read_left(&path).unwrap().unwrap().frames, 3);
    }

    #[test]
    fn each_statement_keeps_its_number_and_its_text() {
        let told = RowStatement::ALL.iter().map(|one| format!("{} {}\n", *one as u8, one.sql()));
        let all: String = told.collect();
        // A log may be of an older build: a line that changes needs a new schema.
        assert_eq!(crc32fast::hash(all.as_bytes()), 1_797_585_580, "{all}");
    }
}
