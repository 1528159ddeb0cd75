//! The program's own copy in the state directory, for one that runs from a place which does not last.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Installation, PlannedChange, is_missing};
use crate::home::InstalledProgram;
use crate::os;
use crate::proof;
use crate::protocol::SERVER_VERSION;

/// Where the copy goes.
pub(crate) fn own_copy_in(state: &Path) -> PathBuf {
    state.join("bin").join(format!("tabwire{EXE_SUFFIX}"))
}

impl Installation {
    /// What puts the program into its lasting place, if it does not run from one, and else takes away a
    /// copy that an earlier installation needed.
    pub(super) fn program_changes(&self) -> Vec<PlannedChange> {
        let copy = own_copy_in(&self.state);
        let installed = InstalledProgram {
            version: SERVER_VERSION.to_owned(),
            origin: self.origin.word().to_owned(),
        };
        if self.program == copy {
            // The copy itself runs, or it is there already.
            let is_there = self.running == copy || is_same_file(&self.running, &copy);
            let change =
                PlannedChange::CopyProgram { from: self.running.clone(), to: copy, installed };
            return if is_there { Vec::new() } else { vec![change] };
        }
        self.copy_removal().into_iter().collect()
    }

    /// What takes the copy away, if there is one.
    pub(super) fn copy_removal(&self) -> Option<PlannedChange> {
        let copy = own_copy_in(&self.state);
        let is_there = fs::symlink_metadata(&copy).is_ok();
        is_there.then_some(PlannedChange::RemoveProgram { path: copy })
    }
}

/// Whether both files have the same content.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    match (length(one), length(other)) {
        (Some(a), Some(b)) if a == b => {
            fs::read(one).ok().is_some_and(|bytes| fs::read(other).is_ok_and(|same| same == bytes))
        }
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// Copies the program. A copy that runs goes on with its old file.
pub(super) fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)?;
    os::close_to_others(folder)?;
    // Beside it, since a rename works within one file system only.
    let aside = folder.join(format!("tabwire.{}", proof::random_hex::<8>()));
    let copied = fs::copy(from, &aside)
        .and_then(|_| os::make_program(&aside))
        // Without a sync a crash after the rename could leave an empty program.
        .and_then(|()| os::sync_file(&aside))
        .and_then(|()| os::replace_program(&aside, to));
    copied.inspect_err(|_| {
        // The error says more than a failed removal of a file that may never have been written.
        let _ = fs::remove_file(&aside);
    })
}

/// Removes the copy, and its folder if nothing else is there.
pub(super) fn remove_program(path: &Path) -> io::Result<()> {
    match os::remove_program(path) {
        Err(error) if !is_missing(&error) => return Err(error),
        Ok(()) | Err(_) => {}
    }
    if let Some(folder) = path.parent() {
        // It stays if there is something in it.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_replaces_the_old_one_whole_and_a_failed_one_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("new"), own_copy_in(dir.path()));
        fs::write(&from, "new program").unwrap();
        copy_program(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new program");
        assert_eq!(os::testing::mode(&to), 0o700);
        assert!(is_same_file(&from, &to));
        fs::write(&from, "newer program").unwrap();
        assert!(!is_same_file(&from, &to));
        copy_program(&dir.path().join("missing"), &to).unwrap_err();
        assert_eq!(fs::read(&to).unwrap(), b"new program", "the old one is still there");
        assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1, "and nothing beside it");
        remove_program(&to).unwrap();
        assert!(!to.parent().unwrap().exists());
        remove_program(&to).unwrap();
    }
}
