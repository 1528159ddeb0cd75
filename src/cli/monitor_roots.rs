//! Folders beyond the home directory that `tabwire serve` lets agents sync: a person agrees to each
//! once.

use std::path::{Path, PathBuf};

use super::person::{UnattendedFlag, require_consent};
use crate::config::{DaemonLocation, ServeOptions};
use crate::home::StateDirectory;
use crate::os;

/// Returns if a person agrees to every folder that the daemon is started for, or has agreed before.
pub(super) fn require_consent_to_roots(
    location: &DaemonLocation,
    options: &ServeOptions,
    consent: UnattendedFlag,
) -> anyhow::Result<()> {
    let usual: Vec<_> = ServeOptions::usual_monitor_roots().iter().map(|path| real(path)).collect();
    let beyond = |root: &PathBuf| !usual.iter().any(|usual| root.starts_with(usual));
    let roots: Vec<_> =
        // Links are resolved before the comparison: a link in the home directory may lead out of
        // it.
        options.monitor_roots.iter().map(|root| real(root)).filter(beyond).collect();
    if roots.is_empty() {
        return Ok(());
    }
    let home = StateDirectory::open(&location.home()?)?;
    for root in roots {
        if home.agent_folders()?.sync.contains(&root) {
            continue;
        }
        let what = format!(
            "agents sync (see names, sizes and hashes of) all files below {}",
            root.display()
        );
        // A daemon in the background cannot ask anybody, and must start all the same.
        require_consent(&home, &what, consent.unattended || options.detach)?;
        home.note_synced_folder(&root)?;
    }
    Ok(())
}

/// Without links. One that is not there yet has none.
fn real(path: &Path) -> PathBuf {
    os::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
