//! The folder of the unpacked extension: compared with the files in this program, and looked at for a
//! renewal, of which every browser that has loaded another version is told.

use std::path::PathBuf;
use std::time::Duration;

use crate::extension::{self, FolderCheck};
use crate::home::StateDirectory;
use crate::hub::Hub;
use crate::protocol::SERVER_VERSION;

/// How often the note on the folder is read. `tabwire install` writes it without the daemon.
const LOOK: Duration = Duration::from_secs(3);

/// Compares the folder to which the extension was unpacked last; `None`: it never was.
pub async fn check(home: &StateDirectory) -> Option<FolderCheck> {
    let (dir, written) = noted(home)?;
    // Comparing reads the whole folder.
    let check = move || (extension::check_folder(&dir, written.as_deref()), dir);
    let (check, dir) = tokio::task::spawn_blocking(check).await.ok()?;
    if let FolderCheck::Changed { file } = &check {
        tracing::warn!(
            file = %dir.join(file).display(),
            "the extension was changed since it was unpacked: run `tabwire install`, then reload it"
        );
    }
    Some(check)
}

/// Tells browsers of a renewal, without end. Each is told at its start by its own connection.
pub async fn watch(hub: Hub, home: StateDirectory) {
    let mut looks = tokio::time::interval(LOOK);
    let mut known = noted(&home);
    loop {
        looks.tick().await;
        let now = noted(&home);
        if now == known {
            continue;
        }
        known = now;
        if check(&home).await == Some(FolderCheck::Unchanged { is_whole: true }) {
            hub.tell_all_renewed(SERVER_VERSION);
        }
    }
}

/// Where the extension was unpacked last, and which version. The version is written when the folder is
/// whole.
fn noted(home: &StateDirectory) -> Option<(PathBuf, Option<String>)> {
    Some((home.unpacked().ok().flatten()?, home.unpacked_version().ok().flatten()))
}
