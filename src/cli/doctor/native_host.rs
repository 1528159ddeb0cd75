//! Whether an extension without a key can fetch one by itself.

use super::HopFindings;
use crate::cli::install::installation;
use crate::config::DaemonLocation;
use crate::install::{HostFile, HostFileState, Installation, SandboxedBrowser};

const HOST: &str = "native host";

const INSTALL: &str = "run `tabwire install`";

/// Checks the manifest of each browser on this computer, and the script that the manifests name.
/// Faults matter only while no extension is connected: a connected one has its key.
pub(super) fn native_host(
    findings: &mut HopFindings,
    location: &DaemonLocation,
    has_home: bool,
    is_connected: bool,
) {
    let installation = match installation(location) {
        Ok(installation) => installation,
        // Why there is none stands with the hops before.
        Err(_) if !has_home => {
            return findings.unknown(HOST, "it needs the state directory and the key");
        }
        Err(error) => return findings.unknown(HOST, error.to_string()),
    };
    let files = installation.host_files();
    if files.iter().all(|file| file.state == HostFileState::Missing) {
        let says = "not installed, so an extension without a key cannot fetch one";
        return findings.unknown(HOST, format!("{says} (`tabwire install`)"));
    }
    let wrong: Vec<_> = files.iter().filter_map(trouble).collect();
    if wrong.is_empty() {
        let browsers: Vec<_> = files.iter().filter_map(|file| file.browser).collect();
        let of = if browsers.is_empty() {
            String::new()
        } else {
            format!(" in {}", browsers.join(", "))
        };
        let says = format!("gives the extension its port and key{of}{}", sandboxed(&installation));
        return findings.fine(HOST, says);
    }
    let says = wrong.join("; ");
    if is_connected {
        findings.unknown(HOST, format!("{says}; the connected extension needs no key now"));
    } else {
        findings.broken(HOST, says, INSTALL);
    }
}

/// What is said of browsers that cannot start the host.
fn sandboxed(installation: &Installation) -> String {
    let names: Vec<_> =
        installation.sandboxed_browsers().into_iter().map(SandboxedBrowser::name).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("; {} may need the line of `tabwire pair`", names.join(", "))
}

/// The error in a file, if there is one.
fn trouble(HostFile { browser, path, state }: &HostFile) -> Option<String> {
    let path = path.display();
    let of = browser.map_or_else(String::new, |browser| format!("{browser}: "));
    Some(match state {
        HostFileState::Current => return None,
        HostFileState::Missing => format!("{of}{path} is missing"),
        HostFileState::Unreadable => format!("{of}{path} is unreadable or no host manifest"),
        HostFileState::StartsOther(program) => {
            format!("{of}{path} starts another program, {}", program.display())
        }
        HostFileState::Outdated => {
            format!("{of}{path} is for another program, port or state directory")
        }
    })
}
