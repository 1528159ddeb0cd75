//! What was widened and no person has confirmed yet: read from the state directory, where the command
//! line notes it, and told to every browser.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::home::StateDirectory;
use crate::hub::Hub;
use crate::protocol::UnconfirmedWidening;

/// How often the file is looked at. Commands change it, and need no daemon for that.
const LOOK: Duration = Duration::from_secs(1);

/// Tells the hub's browsers what the state directory says, now and on each change, without end.
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
        seen = Some(look);
        match home.unconfirmed() {
            Ok(widenings) => {
                log_new(&known, &widenings);
                known.clone_from(&widenings);
                hub.set_unconfirmed(widenings);
            }
            Err(error) => tracing::warn!(%error, "it cannot be told what nobody has confirmed"),
        }
    }
}

/// What changes when the file does: another one takes its place, since it is written whole.
fn look(path: &PathBuf) -> Option<(u64, SystemTime)> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).ok()?;
    Some((found.ino(), found.modified().ok()?))
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
