//! Files that commands write for a person: new ones only, readable by their owner.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::hub::ClockSample;
use crate::os;
use crate::terminal::LocalTime;

/// How many files of one name and second there can be.
const SAME_NAME: u32 = 100;

/// Refuses a path at which there is something already, or that no file can have.
pub(super) fn check_new(path: &Path) -> anyhow::Result<()> {
    // Not `exists`, which follows links: a dangling link would be written through.
    if path.symlink_metadata().is_ok() {
        return exists(path);
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    match folder.filter(|folder| !folder.is_dir()) {
        Some(missing) => bail!("there is no folder {}; create it first", missing.display()),
        None => Ok(()),
    }
}

/// Writes a new file that only its owner can read. A file that exists stays as it is.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    match create(path, bytes) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => exists(path),
        written => written.with_context(|| format!("cannot write {}", path.display())),
    }
}

/// Writes a new file whose name begins so, in the current directory, or where that cannot be
/// written in the system's directory for temporary files. The file's path.
pub(super) fn write_named(stem: &str, extension: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    let stamp = LocalTime::new().file_stamp(ClockSample::now().system);
    let here = std::env::current_dir().ok();
    let temporary = std::env::temp_dir();
    let mut why = None;
    for folder in here.iter().chain([&temporary]) {
        for number in 1..=SAME_NAME {
            let again = if number == 1 { String::new() } else { format!("-{number}") };
            let path = folder.join(format!("{stem}-{stamp}{again}.{extension}"));
            match create(&path, bytes) {
                Ok(()) => return Ok(path),
                // A second file in the same second gets a number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    why = Some(error);
                    break;
                }
            }
        }
    }
    let why = why.map_or_else(|| "too many files of that name".to_owned(), |why| why.to_string());
    bail!("cannot write a file in {}: {why}", temporary.display())
}

fn exists(path: &Path) -> anyhow::Result<()> {
    bail!("{} exists; name another file", path.display())
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // `create_new` is atomic and follows no link, so no file of another program is overwritten.
    let mut file = os::create_owner_only(path)?;
    file.write_all(bytes).inspect_err(|_| {
        // Half a file is worth nothing, and would be in the way of the next try.
        let _ = std::fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::os::testing::symlink;

    #[test]
    fn a_file_that_exists_is_never_written_over_and_a_new_one_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        write_new(&path, b"first").unwrap();
        assert_eq!(crate::os::testing::mode(&path), 0o600);
        let link = folder.path().join("link.png");
        symlink(folder.path().join("elsewhere"), &link).unwrap();
        for taken in [&path, &link] {
            let why = write_new(taken, b"second").unwrap_err().to_string();
            assert!(why.contains("name another file"), "{why}");
            assert!(check_new(taken).is_err());
        }
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(!folder.path().join("elsewhere").exists());
        let nowhere = folder.path().join("no/such/folder.png");
        assert!(write_new(&nowhere, b"").unwrap_err().to_string().contains("cannot write"));
        assert!(check_new(&nowhere).unwrap_err().to_string().contains("create it first"));
        assert!(check_new(Path::new("a-new-file.png")).is_ok());
    }
}
