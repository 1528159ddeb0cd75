//! The hops to a browser on another machine, as an agent's calls go.

use serde_json::{Map, Value, json};

use super::HopFindings;
use crate::bridge::FarPlace;
use crate::cli::call::ToolSession;
use crate::cli::commands::text;
use crate::cli::mcp::{far_target, place_at};
use crate::config::DaemonLocation;
use crate::protocol::{DOCTOR_CLIENT, SERVER_VERSION, versions_fit};
use crate::reach::FarAddress;
use crate::terminal::ProgressNotice;

pub(super) const SOCKET: &str = "socket";
pub(super) const CARRY: &str = "carry";
pub(super) const REACH: &str = "reach";
pub(super) const FAR_DAEMON: &str = "far daemon";
pub(super) const FAR_EXTENSION: &str = "far extension";

/// All hops, in the order in which a call takes them.
pub(super) const HOPS: [&str; 5] = [SOCKET, CARRY, REACH, FAR_DAEMON, FAR_EXTENSION];

/// Walks them. Those behind a broken one are unknown.
pub(super) async fn walk(
    location: &DaemonLocation,
    address: &FarAddress,
) -> anyhow::Result<HopFindings> {
    let _progress = ProgressNotice::start("checking every hop");
    let mut findings = HopFindings::default();
    let place = FarPlace::new(place_at(location, address)?);
    let is_whole = socket(&mut findings, &place, address)
        && carry(&mut findings, &place).await
        && reach(&mut findings, &place).await
        && extension(&mut findings, location, address).await?;
    if !is_whole {
        for hop in HOPS.into_iter().skip(findings.len()) {
            findings.unknown(hop, "only the hops before it lead there");
        }
    }
    Ok(findings)
}

fn reach_command(address: &FarAddress) -> String {
    match address {
        FarAddress::Place(place) => format!("tabwire reach {place}"),
        FarAddress::Socket(path) => {
            let folder = path.parent().unwrap_or(path).display();
            format!("tabwire reach --name NAME --socket {folder}")
        }
    }
}

fn socket(findings: &mut HopFindings, place: &FarPlace, address: &FarAddress) -> bool {
    match place.check_socket() {
        Ok(path) => findings.fine(SOCKET, format!("{} is there", path.display())),
        Err(why) => {
            let remedy =
                format!("run `{}` on the machine with the browser", reach_command(address));
            findings.broken(SOCKET, why, remedy);
            return false;
        }
    }
    true
}

async fn carry(findings: &mut HopFindings, place: &FarPlace) -> bool {
    let Some(told) = place.carrier().await else {
        let remedy = "end `tabwire reach` on the machine with the browser, and run it again";
        findings.broken(CARRY, "nobody answers at the socket", remedy);
        return false;
    };
    let version = text(&told["version"]);
    findings.fine(CARRY, format!("the program at the socket answers, version {version}"));
    true
}

async fn reach(findings: &mut HopFindings, place: &FarPlace) -> bool {
    let Some(told) = place.home().await else {
        let remedy = "look whether that machine sleeps or has lost its network, and whether `tabwire reach` runs there";
        findings.broken(REACH, "the machine with the browser does not answer", remedy);
        return false;
    };
    if let Some(why) = told["not_allowed"].as_str() {
        let remedy =
            "ask the person at that machine to let this machine's programs use the browser again";
        findings.broken(REACH, why, remedy);
        return false;
    }
    let version = text(&told["version"]);
    findings.fine(REACH, format!("`tabwire reach` answers there, version {version}"));
    // The first call starts a daemon, of the version of `tabwire reach`.
    let daemon = told["daemon"]["version"].as_str().unwrap_or(version);
    if !versions_fit(SERVER_VERSION, daemon) {
        let says = format!("the daemon there has version {daemon}, this program {SERVER_VERSION}");
        findings.broken(FAR_DAEMON, says, "update the older of the two");
        return false;
    }
    findings.fine(FAR_DAEMON, format!("version {daemon} there goes with {SERVER_VERSION} here"));
    true
}

/// A call as an agent makes it.
async fn extension(
    findings: &mut HopFindings,
    location: &DaemonLocation,
    address: &FarAddress,
) -> anyhow::Result<bool> {
    let target = far_target(location, address, DOCTOR_CLIENT.to_owned())?;
    let mut session = ToolSession::start(target);
    let asked = Map::from_iter([("what".to_owned(), json!("browsers"))]);
    let answer = session.call("observe", &asked).await?;
    if answer.is_error {
        let remedy = match text(&answer.body["hint"]) {
            "" => "run `tabwire doctor` on the machine with the browser",
            hint => hint,
        };
        findings.broken(FAR_EXTENSION, text(&answer.body["message"]), remedy);
        return Ok(false);
    }
    let browsers = answer.body["browsers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let connected = browsers.iter().filter(|browser| browser["connected"] == true);
    let names: Vec<_> = connected.map(|browser| text(name_of(browser))).collect();
    if names.is_empty() {
        let remedy =
            "open the browser there; `tabwire doctor` on that machine finds what is wrong with it";
        findings.broken(FAR_EXTENSION, "no browser is connected there", remedy);
        return Ok(false);
    }
    findings.fine(FAR_EXTENSION, format!("connected: {}", names.join(", ")));
    Ok(true)
}

fn name_of(browser: &Value) -> &Value {
    let name = &browser["label"];
    if name.is_null() { &browser["browser"] } else { name }
}
