//! The hops, in order. Each reports its finding and returns what the next hops need.

use std::path::Path;
use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::HopFindings;
use super::extensions::{
    CHANGED, CONNECTED, EXTENSION_VERSION, OLDER, RESTORE, UPDATE, extension_connected,
    extension_version, label, older_extensions,
};
use super::native_host::native_host;
use super::other_users::other_users;
use super::tenants::tenants;
use crate::cli::commands::text;
use crate::cli::daemon_client::{DaemonClient, DaemonClientError};
use crate::cli::install::installation;
use crate::cli::legacy;
use crate::config::DaemonLocation;
use crate::daemon::PortHolder;
use crate::extension::{self, FolderCheck};
use crate::home::{DaemonRecord, StateDirectory, StateDirectoryError, extension_in_state};
use crate::protocol::{EXTENSION_ID, SERVER_VERSION, is_newer_version};

/// Time limit of the test command in each browser.
const TEST: Duration = Duration::from_secs(5);

const STATE: &str = "state directory";
const KEY: &str = "key";
const PORT: &str = "port";
const DAEMON: &str = "daemon";
const VERSION: &str = "version";
const TOKEN: &str = "token";
const FOLDER: &str = "extension folder";
const COMMAND: &str = "test command";

const UNPACK: &str = "run `tabwire install` and load the folder that it names in the browser (chrome://extensions, \"Load unpacked\")";
const RESTART: &str = "run `tabwire stop`; the next call of a client starts the daemon again";

/// Walks all hops.
pub(super) async fn walk(location: &DaemonLocation) -> HopFindings {
    let mut findings = HopFindings::default();
    let home = state_directory(&mut findings, location);
    let record = home.as_ref().and_then(|home| home.running_daemon().ok().flatten());
    let is_reachable = port(&mut findings, location, record.as_ref()).await;
    let daemon = daemon(&mut findings, home.as_ref());
    version(&mut findings, daemon.as_ref());
    let daemon = daemon.map(|record| (home.as_ref(), record)).and_then(|(home, record)| {
        // Another program on the port must not get the token.
        is_reachable.then(|| home.map(|home| DaemonClient::new(home, record))).flatten()
    });
    let status = token(&mut findings, daemon.as_ref()).await;
    other_users(&mut findings, status.as_ref());
    let browsers = status.as_ref().and_then(|status| status["browsers"].as_array());
    let connected: Option<Vec<_>> =
        browsers.map(|all| all.iter().filter(|browser| browser["connected"] == true).collect());
    let port = record.map_or(location.port, |record| record.port);
    let is_connected = connected.as_ref().is_some_and(|connected| !connected.is_empty());
    let older = status.as_ref().map_or(&Value::Null, |status| &status["older_extensions"]);
    let has_older = !legacy::asking_ids(older).is_empty();
    folder(&mut findings, location, home.as_ref(), port, is_connected, has_older);
    if let Some(home) = &home {
        tenants(&mut findings, home);
    }
    native_host(&mut findings, location, home.is_some(), is_connected);
    match (&daemon, browsers, connected) {
        (Some(daemon), Some(browsers), Some(connected)) => {
            let found = status.as_ref().unwrap_or(&Value::Null);
            extension_connected(&mut findings, browsers, &connected, found);
            older_extensions(&mut findings, &found["older_extensions"]);
            extension_version(&mut findings, &connected);
            test_command(&mut findings, daemon, &connected).await;
        }
        _ => {
            for hop in [CONNECTED, OLDER, EXTENSION_VERSION, COMMAND] {
                findings.unknown(hop, "only a running daemon knows");
            }
        }
    }
    findings
}

/// Whether the state directory and its key exist, belong to this user and are closed to others.
fn state_directory(
    findings: &mut HopFindings,
    location: &DaemonLocation,
) -> Option<StateDirectory> {
    let dir = match location.home() {
        Ok(dir) => dir,
        Err(error) => {
            findings.broken(STATE, error.to_string(), "name one with TABWIRE_HOME");
            findings.unknown(KEY, "it is in the state directory");
            return None;
        }
    };
    // `has_dir` and `find` create nothing: `doctor` must not hide that nothing has run here.
    match StateDirectory::has_dir(&dir) {
        Ok(true) => findings
            .fine(STATE, format!("{} belongs to you and is closed to others", dir.display())),
        Ok(false) => {
            findings.broken(STATE, format!("there is no {}", dir.display()), UNPACK);
            findings.unknown(KEY, "it is in the state directory");
            return None;
        }
        Err(error) => {
            findings.broken(STATE, error.to_string(), remedy(&error));
            findings.unknown(KEY, "it is in the state directory");
            return None;
        }
    }
    match StateDirectory::find(&dir) {
        Ok(Some(home)) => {
            findings.fine(KEY, "auth.key is valid, belongs to you and is closed to others");
            Some(home)
        }
        Ok(None) => {
            findings.broken(
                KEY,
                "there is no auth.key yet, because no command has created it",
                UNPACK,
            );
            None
        }
        Err(error) => {
            findings.broken(KEY, error.to_string(), remedy(&error));
            None
        }
    }
}

fn remedy(error: &StateDirectoryError) -> String {
    match error {
        StateDirectoryError::Io { path, .. } => {
            format!("make {} usable, or name another directory with TABWIRE_HOME", path.display())
        }
        StateDirectoryError::OpenToOthers { remedy, .. } => remedy.clone(),
        StateDirectoryError::NotOurs { .. } => {
            "name a directory of your own with TABWIRE_HOME".to_owned()
        }
        StateDirectoryError::DamagedKey { path, .. } => format!(
            "move {} away, then run `tabwire install` and reload the extension in the browser",
            path.display()
        ),
        StateDirectoryError::DamagedSiteRules { path, .. }
        | StateDirectoryError::DamagedOwners { path, .. }
        | StateDirectoryError::DamagedScopes { path, .. } => {
            format!("correct {}", path.display())
        }
        StateDirectoryError::Damaged { path, .. } => format!("move {} away", path.display()),
    }
}

/// Checks which program listens on the port. True: the daemon.
async fn port(
    findings: &mut HopFindings,
    location: &DaemonLocation,
    record: Option<&DaemonRecord>,
) -> bool {
    let port = record.map_or(location.port, |record| record.port);
    if port == 0 {
        findings.unknown(PORT, "the daemon picks a free port");
        return false;
    }
    let holder = PortHolder::find_any(port).await;
    match (record, holder) {
        (Some(record), Some(PortHolder { process: Some((pid, name)), .. }))
            // A daemon that was killed leaves its record, and another program may have its port by
            // now.
            if pid != record.pid =>
        {
            let says = format!("{name} (process {pid}) listens on the daemon's port {port}");
            findings.broken(PORT, says, RESTART);
            false
        }
        (Some(record), Some(_)) => {
            findings
                .fine(PORT, format!("the daemon (process {}) listens on port {port}", record.pid));
            true
        }
        (Some(record), None) => {
            let says = format!(
                "no program listens on port {port}; the daemon (process {}) should",
                record.pid
            );
            findings.broken(PORT, says, RESTART);
            false
        }
        (None, None) => {
            findings.fine(PORT, format!("port {port} is free for the daemon"));
            false
        }
        (None, Some(holder)) if holder.is_own_tabwire => {
            let says = format!("{holder} serves port {port} from another state directory");
            findings.broken(
                PORT,
                says,
                "set TABWIRE_HOME to that state directory, or end that daemon",
            );
            false
        }
        (None, Some(holder)) => {
            let says = format!("{holder} uses port {port}");
            let remedy = "end that program, or set another port with TABWIRE_PORT, run `tabwire install` again and reload the extension in the browser";
            findings.broken(PORT, says, remedy);
            false
        }
    }
}

/// Whether the daemon runs: a process holds the lock, and a record names its port.
fn daemon(findings: &mut HopFindings, home: Option<&StateDirectory>) -> Option<DaemonRecord> {
    let Some(home) = home else {
        findings.unknown(DAEMON, "it needs the state directory and the key");
        return None;
    };
    let state = home.has_daemon().and_then(|runs| Ok((runs, home.daemon_record()?)));
    match state {
        Ok((true, Some(record))) => {
            let DaemonRecord { pid, version, .. } = &record;
            findings.fine(DAEMON, format!("runs as process {pid}, version {version}"));
            Some(record)
        }
        Ok((true, None)) => {
            findings.broken(DAEMON, "the daemon is starting", "wait a second and try again");
            None
        }
        Ok((false, _)) => {
            findings.later(DAEMON, "no daemon runs; the first call of an MCP client starts one");
            None
        }
        Err(error) => {
            findings.broken(DAEMON, error.to_string(), remedy(&error));
            None
        }
    }
}

/// Whether the daemon is of this program's version.
fn version(findings: &mut HopFindings, record: Option<&DaemonRecord>) {
    match record {
        None => findings.unknown(VERSION, "no daemon runs"),
        Some(record) if record.version == SERVER_VERSION => {
            findings.fine(VERSION, format!("daemon and program have version {SERVER_VERSION}"));
        }
        Some(record) => {
            let says =
                format!("the daemon has version {}, this program {SERVER_VERSION}", record.version);
            findings.broken(VERSION, says, RESTART);
        }
    }
}

/// Whether the daemon accepts the token. Returns the daemon's status.
async fn token(findings: &mut HopFindings, daemon: Option<&DaemonClient>) -> Option<Value> {
    let Some(daemon) = daemon else {
        findings.unknown(TOKEN, "there is no daemon to check it with");
        return None;
    };
    match daemon.get("/api/status").await {
        Ok(answer) if answer.status == StatusCode::OK => {
            findings.fine(TOKEN, "the daemon accepts it");
            return Some(answer.body);
        }
        Ok(answer) if answer.status == StatusCode::UNAUTHORIZED => {
            let says = "the daemon rejects it: auth.key was replaced after the daemon started";
            findings.broken(TOKEN, says, RESTART);
        }
        Ok(answer) => {
            let says =
                format!("the daemon rejected the request: {}", text(&answer.body["message"]));
            findings.broken(TOKEN, says, RESTART);
        }
        Err(
            error @ (DaemonClientError::Nobody(_)
            | DaemonClientError::TimedOut { .. }
            | DaemonClientError::Broken(_)),
        ) => {
            findings.broken(TOKEN, error.to_string(), RESTART);
        }
    }
    None
}

/// Whether the extension's folder, the one unpacked last, fits this program and the daemon. A missing
/// folder is no fault if a person uses an older extension only.
fn folder(
    findings: &mut HopFindings,
    location: &DaemonLocation,
    home: Option<&StateDirectory>,
    port: u16,
    is_connected: bool,
    has_older: bool,
) {
    let Some(home) = home else {
        findings.unknown(FOLDER, "it needs the state directory and the key");
        return;
    };
    let noted = match home.unpacked() {
        Ok(noted) => noted,
        Err(error) => {
            findings.broken(FOLDER, error.to_string(), remedy(&error));
            return;
        }
    };
    let usual = installation(location).map(|installation| installation.extension());
    let usual = usual.unwrap_or_else(|_| extension_in_state(home.dir()));
    // Without a note the extension can only be in its usual folder.
    let dir = noted.unwrap_or_else(|| usual.clone());
    let written = home.unpacked_version().ok().flatten();
    if let FolderCheck::Changed { file } = extension::check_folder(&dir, written.as_deref()) {
        let says =
            format!("another program changed {} after Tabwire wrote it", dir.join(file).display());
        findings.broken(FOLDER, says, unpack_again(&dir, &usual));
        return;
    }
    let Some(found) = extension::find(&dir) else {
        let says = format!("there is no Tabwire extension in {}", dir.display());
        if is_connected {
            findings.unknown(FOLDER, format!("{says}, but an extension is connected"));
        } else if has_older {
            findings.unknown(FOLDER, format!("{says}, but an older extension asks to connect"));
        } else {
            findings.broken(FOLDER, says, UNPACK);
        }
        return;
    };
    let is_old = found.version != SERVER_VERSION;
    let wrong = if is_old {
        format!("has version {}, this program {SERVER_VERSION}", found.version)
    } else if port != 0 && found.port != Some(port) {
        let has = found.port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
        format!("is set up for {has}, the daemon uses {port}")
    } else if found.has_any_key() && !found.has_key(&home.auth().extension_key(EXTENSION_ID)) {
        "has another key than this state directory".to_owned()
    } else {
        findings.fine(FOLDER, format!("{} fits", dir.display()));
        return;
    };
    let says = format!("the extension in {} {wrong}", dir.display());
    // The port and key in the folder matter for pairing only; old code is wrong in any case.
    if is_connected && !is_old {
        findings
            .unknown(FOLDER, format!("{says}; the connected extension has fetched both itself"));
    } else if is_newer_version(&found.version, SERVER_VERSION) {
        findings.broken(FOLDER, says, UPDATE);
    } else {
        findings.broken(FOLDER, says, unpack_again(&dir, &usual));
    }
}

/// The command that updates the extension in its folder.
fn unpack_again(dir: &Path, usual: &Path) -> String {
    let unpack = if dir == usual {
        "tabwire install".to_owned()
    } else {
        format!("tabwire extension unpack {}", dir.display())
    };
    format!("run `{unpack}` and reload the extension in the browser")
}

/// Whether each connected browser answers a command that reads only.
async fn test_command(findings: &mut HopFindings, daemon: &DaemonClient, connected: &[&Value]) {
    if connected.is_empty() {
        findings.unknown(COMMAND, "no browser is connected");
        return;
    }
    if let Some(browser) = connected.iter().find(|browser| browser["stopped"] == true) {
        let says = format!("{}: stopped by you", label(browser));
        findings.broken(COMMAND, says, "open the popup on the Tabwire icon: \"Let agents go on\"");
        return;
    }
    if let Some(browser) = connected.iter().find(|browser| browser["extension_changed"] == true) {
        findings.broken(COMMAND, format!("{}: {CHANGED}", label(browser)), RESTORE);
        return;
    }
    let millis = TEST.as_millis();
    let mut answered = Vec::new();
    for browser in connected {
        let arguments = json!({
            "action": "tab_list", "browser": browser["browser"], "wait_ms": u64::try_from(millis).unwrap_or(0),
            "timeout_ms": u64::try_from(millis).unwrap_or(0), "trace": true,
        });
        let said = match daemon.call("interact", arguments, TEST).await {
            Ok(answer) if answer["status"] == "complete" => {
                let took = answer["duration_ms"].as_f64().unwrap_or_default();
                answered.push(format!("{} answered in {took:.1} ms", label(browser)));
                continue;
            }
            Ok(answer) => match (text(&answer["error"]), text(&answer["message"])) {
                ("", message) => format!("{} ({message})", text(&answer["status"])),
                (error, "") => error.to_owned(),
                (_, message) => message.to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let remedy = if browser["control_off"] == true {
            "switch control by agents (AI Web Pilot) on in the popup of that extension"
        } else {
            "reload the extension in chrome://extensions, or restart the browser"
        };
        findings.broken(COMMAND, format!("{}: {said}", label(browser)), remedy);
        return;
    }
    findings.fine(COMMAND, answered.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_says_of_every_hop_what_to_do_when_it_is_broken() {
        let readme = include_str!("../../../README.md");
        let hops = [
            STATE,
            KEY,
            PORT,
            DAEMON,
            VERSION,
            TOKEN,
            super::super::other_users::HOP,
            super::super::tenants::HOP,
            FOLDER,
            CONNECTED,
            OLDER,
            EXTENSION_VERSION,
            COMMAND,
        ];
        let far = super::super::far::HOPS.into_iter();
        #[cfg(feature = "fleet")]
        let far = far.chain(super::super::far::FLEET_HOPS);
        for hop in hops.into_iter().chain(far) {
            assert!(readme.contains(&format!("\n| {hop} |")), "README lacks `{hop}`");
        }
    }
}
