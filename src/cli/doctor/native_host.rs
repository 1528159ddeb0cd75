//! Whether an extension that has no key can get one by itself.

use super::Findings;
use crate::cli::install::installation;
use crate::config::Place;

const HOST: &str = "native host";

const INSTALL: &str = "run `tabwire install`";

/// What browsers start when the extension asks for its key: there, and as this program would
/// write it. It matters to an extension that is not connected.
pub(super) fn native_host(
    findings: &mut Findings,
    place: &Place,
    has_home: bool,
    is_connected: bool,
) {
    let installation = match installation(place) {
        Ok(installation) => installation,
        // Why there is none stands with the hops before.
        Err(_) if !has_home => {
            return findings.unknown(HOST, "it needs the state directory and the key");
        }
        Err(error) => return findings.unknown(HOST, error.to_string()),
    };
    let files = match installation.own_files_as_they_are() {
        Ok(files) => files,
        Err(error) => return findings.broken(HOST, error.to_string(), INSTALL),
    };
    if files.is_empty() {
        let says = "not installed: an extension without a key cannot ask for it";
        return findings.unknown(HOST, format!("{says} (`tabwire install`)"));
    }
    let stale = files.iter().find(|file| !file.is_current);
    match stale.map(|file| file.path.display()) {
        None => findings.fine(HOST, "gives the extension its port and key"),
        Some(path) => {
            let says = format!("{path} is for another program, port or state directory");
            if is_connected {
                findings.unknown(HOST, format!("{says}, and the extension needs none now"));
            } else {
                findings.broken(HOST, says, INSTALL);
            }
        }
    }
}
