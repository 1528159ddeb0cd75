//! The groups of tabs that a browser has saved in a profile. No API lists them: they are read from the log
//! of its own database, in LevelDB's format.

use std::collections::HashMap;
use std::path::Path;

/// The size of a block of the log. No head of a record is in two of them.
const BLOCK: usize = 32_768;
/// Checksum, length and kind of a record.
const HEAD: usize = 7;
/// Before the first change of a batch: its position, and how many there are.
const BATCH_HEAD: usize = 12;
const KEY: &[u8] = b"saved_tab_group-dt-";

/// How many saved groups with this title the profile has.
pub fn saved_groups(profile: &Path, title: &str) -> usize {
    let folder = profile.join("Default/Sync Data/LevelDB");
    let mut kept: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.sort();
    for file in &files {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        assert_ne!(ending, "ldb", "the log became a table, which is not read here");
        if ending != "log" {
            continue;
        }
        // The browser deletes an old log when it starts anew.
        let Ok(log) = std::fs::read(file) else { continue };
        for batch in batches(&log) {
            for (key, value) in changes(&batch) {
                match value {
                    Some(value) => kept.insert(key, value),
                    None => kept.remove(&key),
                };
            }
        }
    }
    let is_titled = |value: &[u8]| value.windows(title.len()).any(|part| part == title.as_bytes());
    kept.iter().filter(|(key, value)| key.starts_with(KEY) && is_titled(value)).count()
}

/// The batches of a log, put together from their records.
fn batches(log: &[u8]) -> Vec<Vec<u8>> {
    let (mut found, mut parts, mut at) = (Vec::new(), Vec::new(), 0);
    while at + HEAD <= log.len() {
        let left = BLOCK - at % BLOCK;
        if left < HEAD {
            at += left;
            continue;
        }
        let length = usize::from(u16::from_le_bytes([log[at + 4], log[at + 5]]));
        let (kind, end) = (log[at + 6], at + HEAD + length);
        // The browser may be writing it.
        let Some(part) = log.get(at + HEAD..end).filter(|_| kind != 0) else { break };
        // Whole, first, middle, last.
        if matches!(kind, 1 | 2) {
            parts.clear();
        }
        parts.extend_from_slice(part);
        if matches!(kind, 1 | 4) {
            found.push(std::mem::take(&mut parts));
        }
        at = end;
    }
    found
}

/// What a batch sets, and, without a value, removes.
fn changes(batch: &[u8]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut rest = &batch[BATCH_HEAD..];
    let mut found = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        rest = after;
        let key = counted(&mut rest);
        let value = (*kind == 1).then(|| counted(&mut rest));
        found.push((key, value));
    }
    found
}

/// Bytes behind their number.
fn counted(rest: &mut &[u8]) -> Vec<u8> {
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let (byte, after) = rest.split_first().expect("a number");
        *rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (bytes, after) = rest.split_at(length);
    *rest = after;
    bytes.to_vec()
}
