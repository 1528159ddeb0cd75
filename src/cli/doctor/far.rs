//! The hops to a browser on another machine, as an agent's calls go.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::HopFindings;
use crate::bridge::FarPlace;
use crate::cli::call::ToolSession;
use crate::cli::commands::text;
use crate::cli::connect::{ConnectAddress, FarChoice};
use crate::config::DaemonLocation;
use crate::protocol::{DOCTOR_CLIENT, SERVER_VERSION, versions_fit};
use crate::reach::FarAddress;
use crate::terminal::ProgressNotice;

pub(super) const SOCKET: &str = "socket";
pub(super) const CARRY: &str = "carry";
pub(super) const REACH: &str = "reach";
#[cfg(feature = "fleet")]
pub(super) const NATS_SERVER: &str = "NATS server";
#[cfg(feature = "fleet")]
pub(super) const PLACE: &str = "place";
pub(super) const FAR_DAEMON: &str = "far daemon";
pub(super) const FAR_EXTENSION: &str = "far extension";

/// All hops, in the order in which a call takes them.
pub(super) const HOPS: [&str; 5] = [SOCKET, CARRY, REACH, FAR_DAEMON, FAR_EXTENSION];

/// The hops over NATS.
#[cfg(feature = "fleet")]
pub(super) const FLEET_HOPS: [&str; 4] = [NATS_SERVER, PLACE, FAR_DAEMON, FAR_EXTENSION];

/// The hops on the way that an address names.
fn hops_of(far: &FarChoice) -> &'static [&'static str] {
    match &far.address {
        ConnectAddress::Reach(_) => &HOPS,
        #[cfg(feature = "fleet")]
        ConnectAddress::Fleet(_) => &FLEET_HOPS,
    }
}

/// Walks them. Those behind a broken one are unknown.
pub(super) async fn walk(
    location: &DaemonLocation,
    far: &FarChoice,
) -> anyhow::Result<HopFindings> {
    let _progress = ProgressNotice::start("checking every hop");
    let mut findings = HopFindings::default();
    let place = FarPlace::new(far.place(location)?);
    let is_there = match &far.address {
        ConnectAddress::Reach(address) => {
            socket(&mut findings, &place, address)
                && carry(&mut findings, &place).await
                && reach(&mut findings, &place).await
        }
        #[cfg(feature = "fleet")]
        ConnectAddress::Fleet(_) => {
            nats_server(&mut findings, far).await && home(&mut findings, &place).await
        }
    };
    let is_whole = is_there && extension(&mut findings, location, far).await?;
    if !is_whole {
        for hop in hops_of(far).iter().skip(findings.len()) {
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
        Ok(path) => {
            let path = path.unwrap_or_else(|| Path::new("-"));
            findings.fine(SOCKET, format!("{} is there", path.display()));
        }
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
    versions(findings, &told)
}

/// Whether the NATS server lets the agent in.
#[cfg(feature = "fleet")]
async fn nats_server(findings: &mut HopFindings, far: &FarChoice) -> bool {
    let Some(agent) = &far.agent else { return false };
    if let Err(why) = agent.connect().await {
        let remedy = "look at the address and the file with the key; the operator of the NATS servers can help";
        findings.broken(NATS_SERVER, why.to_string(), remedy);
        return false;
    }
    findings.fine(NATS_SERVER, "it takes this agent's key");
    true
}

/// Whether the place answers.
#[cfg(feature = "fleet")]
async fn home(findings: &mut HopFindings, place: &FarPlace) -> bool {
    let told = match place.home_or_refusal().await {
        Some(told) if told["error"].is_null() => told,
        Some(refusal) => {
            findings.broken(PLACE, text(&refusal["message"]), text(&refusal["hint"]));
            return false;
        }
        None => {
            let remedy = "look whether that machine sleeps or has lost its network";
            findings.broken(PLACE, "the machine with the browser does not answer", remedy);
            return false;
        }
    };
    if let Some(why) = told["not_allowed"].as_str() {
        let remedy = "ask the person at that machine to let this agent use the browser again";
        findings.broken(PLACE, why, remedy);
        return false;
    }
    let version = text(&told["version"]);
    findings.fine(PLACE, format!("it answers, version {version}"));
    versions(findings, &told)
}

/// Whether the daemon there goes with this program.
fn versions(findings: &mut HopFindings, told: &Value) -> bool {
    let version = text(&told["version"]);
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
    far: &FarChoice,
) -> anyhow::Result<bool> {
    let target = far.target(location, DOCTOR_CLIENT.to_owned())?;
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
