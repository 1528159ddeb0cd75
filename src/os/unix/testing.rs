//! What tests do to files that the program itself does not.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Makes a link to a file or folder.
pub(crate) use std::os::unix::fs::symlink;

/// The permissions of a file or folder: `0o600`, and `0o700` for a folder, is closed to others.
pub(crate) fn mode(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Sets the permissions of a file or folder.
pub(crate) fn chmod(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// A temporary folder that is closed to others, below `/tmp` so that its path is short.
pub(crate) fn private_folder() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

/// The path of a `file:` URL that names this path.
pub(crate) fn url_path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
