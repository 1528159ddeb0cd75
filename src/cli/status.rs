//! `tabwire status`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::commands::{text, timestamp};
use super::daemon_client::DaemonClient;
use super::{ExitFailure, NOT_RUNNING, confirm, doctor, legacy};
use crate::config::DaemonLocation;
use crate::home::{AgentFolders, StateDirectory};
use crate::hub::ClockSample;
use crate::protocol::{SERVER_VERSION, Timestamp, UnconfirmedWidening};
use crate::terminal::{TextStyle, TextTable, ago, print_line};

pub(super) async fn status(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let daemon = match DaemonClient::of(location) {
        Ok(daemon) => daemon,
        Err(error) => return not_running(error, &unconfirmed(location)?, json),
    };
    let mut body = daemon.get("/api/status").await?.ok()?;
    let folders = StateDirectory::find(&location.home()?)?.map(|home| home.agent_folders());
    let AgentFolders { read, write, .. } = folders.transpose()?.unwrap_or_default();
    body["open_folders"] = json!({"read": read, "write": write});
    let unconfirmed = unconfirmed(location)?;
    if json {
        body["unconfirmed"] = json!(unconfirmed);
        body["running"] = true.into();
        body["home"] = json!(location.home()?);
        print_line(serde_json::to_string_pretty(&body)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for line in status_lines(&body, ClockSample::now().system) {
        print_line(line)?;
    }
    print_unconfirmed(&unconfirmed)?;
    Ok(ExitCode::SUCCESS)
}

/// The widenings without a confirmation, which can be read without a daemon.
fn unconfirmed(location: &DaemonLocation) -> anyhow::Result<Vec<UnconfirmedWidening>> {
    let home = StateDirectory::find(&location.home()?)?;
    Ok(home.map(|home| home.unconfirmed()).transpose()?.unwrap_or_default())
}

fn print_unconfirmed(unconfirmed: &[UnconfirmedWidening]) -> anyhow::Result<()> {
    if unconfirmed.is_empty() {
        return Ok(());
    }
    print_line("\nChanges that no person has confirmed:")?;
    for widening in unconfirmed {
        print_line(format!("  {}", confirm::widening_line(widening)))?;
    }
    print_line("Confirm them with `tabwire confirm` or in the extension's popup.")?;
    Ok(())
}

/// Reports that no daemon runs: for `status` that is an answer, not an error.
fn not_running(
    error: anyhow::Error,
    unconfirmed: &[UnconfirmedWidening],
    json: bool,
) -> anyhow::Result<ExitCode> {
    match error.downcast_ref::<ExitFailure>() {
        Some(ExitFailure { code: NOT_RUNNING, message }) => {
            if json {
                let told = json!({
                    "running": false, "message": message, "unconfirmed": unconfirmed,
                });
                print_line(told)?;
            } else {
                print_line(message)?;
                print_unconfirmed(unconfirmed)?;
            }
            Ok(ExitCode::from(NOT_RUNNING))
        }
        Some(_) | None => Err(error),
    }
}

/// The line on an extension that speaks an older protocol than the daemon.
const OUTDATED: &str = "an extension older than the daemon tried to connect: run `tabwire install`, then reload the extension at chrome://extensions";

fn status_lines(body: &Value, now: Timestamp) -> Vec<String> {
    let since = |at: &Value| timestamp(at).map_or_else(|| text(at).to_owned(), |at| ago(at, now));
    let mut table = TextTable::new(&["", "", ""]).wrapping();
    let mut row = |name: &str, state: &str, style: TextStyle, what: &str| {
        table.row([(name, TextStyle::Bold), (state, style), (what, TextStyle::Plain)]);
    };
    let daemon = format!(
        "process {}, port {}, up {}",
        body["pid"],
        body["port"],
        uptime_text(body["uptime_seconds"].as_f64().unwrap_or_default())
    );
    let version = text(&body["version"]);
    row("daemon", version, unless_equal(version, SERVER_VERSION), &daemon);
    let commands = format!("{} pending, {} kept", body["pending"], body["kept"]);
    row("commands", "", TextStyle::Plain, &commands);
    let (state, style, what) = describe_storage(&body["storage"]);
    row("journal", state, style, &what);
    let count = |access: &str| body["open_folders"][access].as_array().map_or(0, Vec::len);
    if count("read") + count("write") > 0 {
        let what = format!(
            "{} to read, {} to write, opened by you (`tabwire files`)",
            count("read"),
            count("write")
        );
        row("folders", "", TextStyle::Plain, &what);
    }
    let browsers = body["browsers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if browsers.is_empty() {
        row("browsers", "none", TextStyle::Notable, "");
    }
    for browser in browsers {
        let what = if browser["polls"] == true {
            describe_poller(browser, browsers)
        } else {
            describe_browser(browser, version)
        };
        if browser["connected"] == true {
            row("browser", "connected", TextStyle::Good, &what);
        } else {
            let what = format!("{what}, last seen {}", since(&browser["last_seen"]));
            row("browser", "away", TextStyle::Notable, &what);
        }
    }
    for older in legacy::rows(&body["older_extensions"]) {
        row("older", "", TextStyle::Plain, older.trim());
    }
    if body["outdated_extension"] == true {
        row("browser", "too old", TextStyle::Notable, OUTDATED);
    }
    for client in body["clients"].as_array().into_iter().flatten() {
        let pending = format!("{} pending", client["pending"]);
        let id = text(&client["client"]);
        let name = client["program"]
            .as_str()
            .map_or_else(|| id.to_owned(), |program| format!("{program} ({id})"));
        let what = format!("{name}, last call {}", since(&client["last_seen"]));
        row("client", &pending, TextStyle::Plain, &what);
    }
    table.lines()
}

/// What there is to say of a browser with the Tabwire extension. Of one that a daemon knows from an
/// earlier run alone nothing but its id is known.
fn describe_browser(browser: &Value, daemon_version: &str) -> String {
    let mut what = doctor::label(browser);
    let extension = text(&browser["extension_version"]);
    // A browser from an earlier run has connected to no daemon of this run, which knows its id
    // only.
    if !extension.is_empty() {
        what.push_str(&format!(", {} tab(s), extension {extension}", browser["tabs"]));
        if browser["extension_newer"] == true {
            what.push_str(&format!(" (newer than the daemon: {})", doctor::UPDATE));
        } else if extension != daemon_version {
            what.push_str(" (another version than the daemon's)");
        }
    }
    if browser["stopped"] == true {
        what.push_str("; stopped by you (popup: \"Let agents go on\")");
    }
    if browser["extension_changed"] == true {
        what.push_str(&format!("; {}: {}", doctor::CHANGED, doctor::RESTORE));
    }
    what
}

/// The line on a browser whose extension only polls.
fn describe_poller(browser: &Value, browsers: &[Value]) -> String {
    // The daemon prefers a browser that proves itself by its key.
    let is_proven = |other: &&Value| other["connected"] == true && other["polls"] != true;
    let (label, version) = (doctor::label(browser), text(&browser["extension_version"]));
    let id = text(&browser["browser"]);
    let beside = match browsers.iter().find(is_proven) {
        Some(other) => format!(
            "; it runs beside Tabwire: calls that name no browser go to {}",
            doctor::label(other)
        ),
        None => String::new(),
    };
    let off =
        if browser["control_off"] == true { "; control is switched off in its popup" } else { "" };
    format!("{label} ({id}), version {version}, only polls{off}{beside}")
}

/// The state of the storage: a word, its style, and a note.
fn describe_storage(describe_storage: &Value) -> (&'static str, TextStyle, String) {
    let text = |name: &str| describe_storage[name].as_str().unwrap_or_default();
    match (text("state"), text("moved_aside")) {
        ("journal", "") => ("kept", TextStyle::Good, String::new()),
        ("journal", aside) => {
            let what = format!("the old journal could not be used and is now {aside}");
            ("new", TextStyle::Notable, what)
        }
        ("ephemeral", _) => {
            let what = "commands and results are lost when this daemon ends".to_owned();
            ("ephemeral", TextStyle::Notable, what)
        }
        _ => {
            let what =
                format!("{}; the daemon rejects new commands until it can write", text("why"));
            ("cannot be written", TextStyle::Bad, what)
        }
    }
}

fn unless_equal(found: &str, expected: &str) -> TextStyle {
    if found == expected { TextStyle::Plain } else { TextStyle::Notable }
}

/// A length of time in its two largest units.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of uptime")]
fn uptime_text(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, m, s) => format!("{m} min {s} s"),
        (0, h, m, _) => format!("{h} h {m} min"),
        (d, h, _, _) => format!("{d} d {h} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_its_two_largest_units() {
        for (seconds, says) in
            [(0.4, "0 s"), (61.0, "1 min 1 s"), (7_260.0, "2 h 1 min"), (90_000.0, "1 d 1 h")]
        {
            assert_eq!(uptime_text(seconds), says);
        }
    }

    #[test]
    fn clients_and_browsers_that_are_away_have_an_age() {
        let body = json!({
            "browsers": [{"label": "A", "last_seen": "2026-11-21T22:38:41.675Z"}],
            "clients": [{"client": "probe", "pending": 0, "last_seen": "2026-11-21T22:40:00.000Z"}],
        });
        let now = timestamp(&json!("2026-11-21T22:42:41.675Z")).unwrap();
        let said = status_lines(&body, now).join("\n");
        assert!(said.contains("last seen 4 min ago"), "{said}");
        assert!(said.contains("last call 2 min ago"), "{said}");
    }

    #[test]
    fn an_extension_of_another_version_is_named() {
        let browser = |version: &str| json!({"label": "A", "connected": true, "tabs": 1, "extension_version": version});
        let of = |version: &str| {
            let body = json!({"version": "2", "browsers": [browser(version)]});
            status_lines(&body, ClockSample::now().system).join("\n")
        };
        assert!(of("1").contains("another version"));
        assert!(!of("2").contains("another version"));
    }

    #[test]
    fn an_extension_newer_than_the_daemon_is_said_to_be_with_the_next_step() {
        let browser = json!({
            "label": "A", "connected": true, "tabs": 1, "extension_version": "3",
            "extension_newer": true,
        });
        let body = json!({"version": "2", "browsers": [browser]});
        let shown = status_lines(&body, ClockSample::now().system).join("\n");
        assert!(
            shown.contains("extension 3 (newer than the daemon: run `tabwire update`"),
            "{shown}"
        );
        assert!(shown.contains("`tabwire stop`") && !shown.contains("another version"), "{shown}");
    }

    #[test]
    fn a_browser_of_which_only_the_id_is_known_has_no_empty_label_and_no_other_version() {
        let browser = json!({
            "browser": "b_1", "label": "", "connected": false, "tabs": 0, "extension_version": "",
            "last_seen": "2026-11-22T10:00:00Z",
        });
        let body = json!({"version": "2", "browsers": [browser]});
        let shown = status_lines(&body, ClockSample::now().system).join("\n");
        assert!(shown.contains("away\tbrowser b_1, last seen "), "{shown}");
        assert!(!shown.contains("version"), "{shown}");
    }

    #[test]
    fn that_the_person_has_stopped_agents_or_that_files_were_changed_is_said() {
        let with = |name: &str| {
            let mut browser = json!({"label": "A", "connected": true, "extension_version": "2"});
            browser[name] = true.into();
            let body = json!({"version": "2", "browsers": [browser]});
            status_lines(&body, ClockSample::now().system).join("\n")
        };
        assert!(with("stopped").contains("stopped by you (popup: \"Let agents go on\")"));
        assert!(with("extension_changed").contains("run `tabwire install`"));
    }

    #[test]
    fn an_old_extension_that_polls_beside_ours_is_said_to_and_not_to_be_of_another_version() {
        let ours = json!({"label": "Mine", "connected": true, "tabs": 1, "extension_version": "2"});
        let old = json!({
            "label": "Older extension", "browser": "legacy-aa", "connected": true, "polls": true,
            "extension_version": "5.6.0",
        });
        let of = |browsers: &[&Value]| {
            let body = json!({"version": "2", "browsers": browsers});
            status_lines(&body, ClockSample::now().system).join("\n")
        };
        let beside = of(&[&ours, &old]);
        assert!(beside.contains("legacy-aa") && beside.contains("go to Mine"), "{beside}");
        let alone = of(&[&old]);
        assert!(alone.contains("only polls") && !alone.contains("beside"), "{alone}");
        assert!(!beside.contains("another version"), "{beside}");
    }
}
