//! What tests do to files that the program itself does not.

use std::fs;
use std::io;
use std::os::windows::fs::{symlink_dir, symlink_file};
use std::path::Path;

use super::calls;

/// Makes a link to a file or folder.
pub(crate) fn symlink(to: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (to, link) = (to.as_ref(), link.as_ref());
    let is_folder = link.parent().is_some_and(|folder| folder.join(to).is_dir());
    if is_folder { symlink_dir(to, link) } else { symlink_file(to, link) }
}

/// The permissions of a file or folder, in the words of Unix: `0o600`, and `0o700` for a folder, is closed to
/// others.
pub(crate) fn mode(path: impl AsRef<Path>) -> u32 {
    let found = fs::metadata(&path).unwrap();
    if found.permissions().readonly() {
        return 0o444;
    }
    match (super::is_closed_to_others(path.as_ref()), found.is_dir()) {
        (true, true) => 0o700,
        (true, false) => 0o600,
        (false, true) => 0o755,
        (false, false) => 0o644,
    }
}

/// Sets the permissions of a file or folder: closed to others, or open to all for reading.
pub(crate) fn chmod(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    let path = path.as_ref();
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions)?;
    if mode & 0o077 == 0 {
        return super::close_to_others(path);
    }
    calls::set_rights(path, &format!("{}(A;;FR;;;WD)", super::own_rights("OICI")?))
}

/// A temporary folder that is closed to others.
pub(crate) fn private_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    super::close_to_others(folder.path()).unwrap();
    folder
}

/// The path of a `file:` URL that names this path.
pub(crate) fn url_path(path: &Path) -> String {
    format!("/{}", path.to_str().unwrap().replace('\\', "/"))
}
