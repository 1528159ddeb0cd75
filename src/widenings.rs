//! Unconfirmed widenings: the command line notes them in the state directory, and this module sends
//! them to every browser.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::home::StateDirectory;
use crate::hub::Hub;
use crate::os::{self, FileIdentity};
use crate::protocol::UnconfirmedWidening;

/// How often the file is checked. Commands write it without the daemon, so nothing announces a
/// change.
const LOOK: Duration = Duration::from_secs(1);

/// Sends the widenings to the hub's browsers, now and after each change, without end.
pub async fn watch(hub: Hub, home: StateDirectory) {
    let path = home.unconfirmed_path();
    let mut looks = tokio::time::interval(LOOK);
    let mut seen = None;
    let mut known = Vec::new();
    loop {
        looks.tick().await;
        let look = look(&path);
        if seen.as_ref() == Some(&look) {
            continue;
        }
        // Before the file is read: a change during the read is found by the next look.
        seen = Some(look);
        match home.unconfirmed() {
            Ok(widenings) => {
                log_new(&known, &widenings);
                known.clone_from(&widenings);
                hub.set_unconfirmed(widenings);
            }
            Err(error) => tracing::warn!(%error, "cannot read the unconfirmed widenings"),
        }
    }
}

/// Changes with the file: every write puts a new file, with a new inode, in its place.
fn look(path: &PathBuf) -> Option<(FileIdentity, SystemTime)> {
    let found = fs::metadata(path).ok()?;
    Some((os::entry(path, &found).ok()?.identity, found.modified().ok()?))
}

fn log_new(known: &[UnconfirmedWidening], widenings: &[UnconfirmedWidening]) {
    for UnconfirmedWidening { id, at, what, .. } in
        widenings.iter().filter(|one| !known.contains(one))
    {
        tracing::warn!(
            id,
            %at,
            "rights were widened without a person: let {what}. Confirm it in the popup of the \
             extension or with `tabwire confirm`"
        );
    }
}
