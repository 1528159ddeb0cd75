//! The connected extensions and their versions, and the older extensions that may or want to connect.

use serde_json::Value;

use super::HopFindings;
use crate::cli::commands::text;
use crate::cli::legacy;
use crate::protocol::{SERVER_VERSION, is_newer_version};

pub(super) const CONNECTED: &str = "extension connected";
pub(super) const OLDER: &str = "older extensions";
pub(super) const EXTENSION_VERSION: &str = "extension version";

/// The finding that an extension gets no commands since its files were changed, and the next step.
pub(in crate::cli) const CHANGED: &str = "another program changed the extension's files after Tabwire wrote them, so the extension gets no commands";
pub(in crate::cli) const RESTORE: &str =
    "run `tabwire install`, which replaces the files, and reload Tabwire at chrome://extensions";

/// The next step where an extension is newer than the program. `tabwire install` of an older program
/// would be refused.
pub(in crate::cli) const UPDATE: &str = "run `tabwire update`, which names the command that brings a newer Tabwire, then `tabwire stop`";

/// The next step where a connected extension is older than the program.
const RENEW: &str = "run `tabwire install` and reload the extension in the browser; if it was loaded from another folder, `tabwire extension unpack DIR` renews that one";

/// Whether a browser is connected; else when one was.
pub(super) fn extension_connected(
    findings: &mut HopFindings,
    browsers: &[Value],
    connected: &[&Value],
    status: &Value,
) {
    if connected.is_empty() && status["outdated_extension"] == true {
        let says = "no browser is connected; a Tabwire extension that is too old for the daemon tried to connect";
        let remedy = "run `tabwire install`, then reload the extension at chrome://extensions; if it was loaded from another folder, `tabwire extension unpack DIR` renews that one";
        findings.broken(CONNECTED, says, remedy);
        return;
    }
    if connected.is_empty()
        && let Some((says, remedy)) = not_let_in(&status["older_extensions"])
    {
        findings.broken(CONNECTED, format!("no browser is connected, and {says}"), remedy);
        return;
    }
    if !connected.is_empty() {
        let labels: Vec<_> = connected.iter().map(|browser| label(browser)).collect();
        findings.fine(CONNECTED, labels.join(", "));
        return;
    }
    let last = browsers.iter().max_by_key(|browser| text(&browser["last_seen"]));
    let says = match last {
        Some(browser) => format!(
            "no browser is connected; {} was last seen at {}",
            label(browser),
            text(&browser["last_seen"])
        ),
        None => "no browser has connected since the daemon started".to_owned(),
    };
    let remedy = "open the browser and check at chrome://extensions that Tabwire is loaded and switched on; its icon turns green when it connects. If the icon stays grey and opens no popup, reload the extension there";
    findings.not_used(CONNECTED, says, remedy);
}

/// The finding on extensions that poll in vain, and the next step.
fn not_let_in(older: &Value) -> Option<(String, String)> {
    let asking = legacy::asking_ids(older);
    if let Some(id) = asking.first() {
        let says = format!("an older extension asks to connect: {}", asking.join(", "));
        return Some((says, format!("if it is yours, run `tabwire legacy allow {id}`")));
    }
    let ids = legacy::switched_off_ids(older);
    if !ids.is_empty() {
        let ids = ids.join(", ");
        let says = format!(
            "an older extension asks to connect, but older extensions are switched off: {ids}"
        );
        return Some((says, "to use it, run `tabwire legacy ask`".to_owned()));
    }
    older["nameless"].is_object().then(|| {
        let says = "an extension polls without its id: that version is too old to connect";
        let remedy =
            "update that extension, or run `tabwire install`, which sets up the Tabwire extension";
        (says.to_owned(), remedy.to_owned())
    })
}

/// Which extensions that only poll are let in, and which ask.
pub(super) fn older_extensions(findings: &mut HopFindings, older: &Value) {
    let says = legacy::rows(older).iter().map(|row| row.trim()).collect::<Vec<_>>().join("; ");
    findings.fine(OLDER, if says.is_empty() { "none".to_owned() } else { says });
}

/// The name of a browser. A browser of which only the id is known has no label.
pub(in crate::cli) fn label(browser: &Value) -> String {
    match text(&browser["label"]) {
        "" => format!("browser {}", text(&browser["browser"])),
        label => label.to_owned(),
    }
}

/// Whether each connected extension is of this build's version. Older ones, which only poll, have
/// versions of their own.
pub(super) fn extension_version(findings: &mut HopFindings, connected: &[&Value]) {
    if connected.is_empty() {
        findings.unknown(EXTENSION_VERSION, "no extension is connected");
        return;
    }
    let polling: Vec<_> = connected.iter().filter(|browser| browser["polls"] == true).collect();
    let mut own = connected.iter().filter(|browser| browser["polls"] != true);
    if let Some(browser) =
        own.clone().find(|browser| browser["extension_version"] != SERVER_VERSION)
    {
        let version = text(&browser["extension_version"]);
        let is_newer = is_newer_version(version, SERVER_VERSION);
        let newer = if is_newer { ", which is older" } else { "" };
        let says = format!(
            "{} has version {version}, this program {SERVER_VERSION}{newer}",
            label(browser)
        );
        let remedy = if is_newer { UPDATE } else { RENEW };
        findings.broken(EXTENSION_VERSION, says, remedy);
        return;
    }
    let mut says = Vec::new();
    if own.next().is_some() {
        says.push(format!("{SERVER_VERSION}, same as this program"));
    }
    says.extend(polling.iter().map(|browser| {
        let version = text(&browser["extension_version"]);
        format!("{} is an older extension, version {version}, which works as well", label(browser))
    }));
    findings.fine(EXTENSION_VERSION, says.join("; "));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_extensions_that_poll_in_vain_the_cause_and_the_next_step_are_named() {
        let knock = |id: &str| json!([{"extension_id": id}]);
        let nameless = json!({"extension_version": "5.0.0"});
        for (older, cause, step) in [
            (json!({"asking": knock("aa"), "nameless": nameless}), "asks", "legacy allow aa"),
            (json!({"switched_off": knock("bb")}), "switched off: bb", "tabwire legacy ask"),
            (json!({"nameless": nameless}), "too old", "tabwire install"),
        ] {
            let (says, remedy) = not_let_in(&older).unwrap();
            assert!(says.contains(cause) && remedy.contains(step), "{says}: {remedy}");
        }
        assert_eq!(not_let_in(&json!({"asking": [], "nameless": null})), None);
    }
}
