//! `tabwire extension`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use serde_json::json;

use super::install::installation;
use super::person::{UnattendedFlag, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::extension;
use crate::home::StateDirectory;
use crate::install::OperatingSystem;
use crate::protocol::{EXTENSION_ID, SERVER_VERSION, is_extension_id};
use crate::terminal::{print_line, wrapped_behind};

#[derive(Subcommand, Debug)]
pub(super) enum ExtensionCommand {
    /// Copy the extension and its key to a folder
    #[command(after_help = "Example:\n  tabwire extension unpack ~/tabwire-extension")]
    Unpack {
        /// Target folder [default: ~/Tabwire/extension; with --home `extension` in that directory]
        dir: Option<PathBuf>,
        /// Print the folder as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the extension's id
    #[command(after_help = "Example:\n  tabwire extension id --json")]
    Id {
        /// Print id and version as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let another extension connect, from its next attempt on
    #[command(
        after_help = "Examples:\n  tabwire extension allow abcdefghijklmnopabcdefghijklmnop\n\nThe command asks at the terminal. A script needs --unattended: the extension can then connect, and\nTabwire shows it until a person confirms it."
    )]
    Allow {
        /// The extension's id, 32 letters from a to p
        id: String,
        #[command(flatten)]
        consent: UnattendedFlag,
        /// Print the extension's config.json as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(
    location: &DaemonLocation,
    command: ExtensionCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        ExtensionCommand::Unpack { dir, json } => unpack(location, dir, json)?,
        ExtensionCommand::Id { json: true } => {
            print_line(json!({"id": EXTENSION_ID, "version": SERVER_VERSION}))?
        }
        ExtensionCommand::Id { json: false } => print_line(EXTENSION_ID)?,
        ExtensionCommand::Allow { id, consent, json } => allow(location, &id, consent, json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The running daemon's port, else the one that it will be started on.
pub(super) fn port_for_extension(
    location: &DaemonLocation,
    home: Option<&StateDirectory>,
) -> anyhow::Result<u16> {
    let running = home.map(StateDirectory::running_daemon).transpose()?.flatten();
    match running.map_or(location.port, |record| record.port) {
        0 => bail!(
            "the extension needs a fixed port: start the daemon first, or name a port with --port"
        ),
        port => Ok(port),
    }
}

fn unpack(location: &DaemonLocation, dir: Option<PathBuf>, json: bool) -> anyhow::Result<()> {
    let home = StateDirectory::open(&location.home()?)?;
    let port = port_for_extension(location, Some(&home))?;
    let dir = match dir {
        Some(dir) => std::path::absolute(dir)?,
        None => installation(location)?.extension(),
    };
    // The files of the version before are gone after `unpack`.
    let replaced = extension::find(&dir).map(|before| before.version);
    extension::unpack(&dir, port, &home.auth().extension_key(EXTENSION_ID))?;
    // `doctor` and `install` look where the extension went last, which may be no usual folder.
    home.note_unpacked(&dir)?;
    if json {
        print_line(json!({
            "dir": dir, "id": EXTENSION_ID, "port": port, "version": SERVER_VERSION,
            "replaced": replaced,
        }))?;
        return Ok(());
    }
    if let Some(before) = replaced.filter(|before| before != SERVER_VERSION) {
        print_line(format!(
            "Version {SERVER_VERSION} replaces version {before}: reload the extension in the browser."
        ))?;
    }
    print_line("To load it:")?;
    print_steps(how_to_load(OperatingSystem::current()))?;
    print_line(format!("\n{}", wrapped_behind(KEEP_FOLDER, 0)))?;
    print_line(format!("\nThe folder (for port {port}):\n{}", dir.display()))?;
    Ok(())
}

/// The steps by which a person loads the extension from its folder, whose path follows.
pub(super) fn how_to_load(system: OperatingSystem) -> Vec<String> {
    let key = if system == OperatingSystem::MacOs { "Cmd+Shift+G" } else { "Ctrl+L" };
    vec![
        "Open chrome://extensions and switch on \"Developer mode\", at the top right.".to_owned(),
        format!(
            "Choose \"Load unpacked\". In the file dialog press {key}, paste the path below and open \
             it. If Tabwire is loaded already, press its reload arrow."
        ),
        "Pin Tabwire: the puzzle piece in the toolbar, then the pin beside Tabwire.".to_owned(),
    ]
}

/// Why nobody else gets the folder.
pub(super) const KEEP_FOLDER: &str = "The folder holds a key to your browser: keep it to yourself.";

/// Prints the steps for a person.
pub(super) fn print_steps(steps: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
    for (number, step) in steps.into_iter().enumerate() {
        print_line(format!("  {}. {}", number + 1, wrapped_behind(&step, 5)))?;
    }
    Ok(())
}

fn allow(
    location: &DaemonLocation,
    id: &str,
    consent: UnattendedFlag,
    json: bool,
) -> anyhow::Result<()> {
    if !is_extension_id(id) {
        bail!(
            "invalid extension id `{id}`: use the 32 letters from a to p that chrome://extensions shows"
        );
    }
    let home = StateDirectory::open(&location.home()?)?;
    // Before anybody is asked: without a port nothing is to be allowed.
    let port = port_for_extension(location, Some(&home))?;
    let is_new = !home.allowed_extensions()?.iter().any(|known| known == id);
    if is_new {
        let what = format!("the extension {id} connect");
        let take_back = format!("tabwire legacy remove {id}");
        require_consent_to_reversible(&home, &what, &take_back, consent.unattended)?;
        home.allow_extension(id)?;
    }
    let key = home.auth().extension_key(id);
    let config = extension::pairing(port, &key);
    if json {
        print_line(json!({"id": id, "new": is_new, "config": config}))?;
        return Ok(());
    }
    print_line(if is_new {
        "Allowed, from its next attempt on."
    } else {
        "It was already allowed."
    })?;
    print_line(format!("Write this to its config.json (keep it private):\n{config}"))?;
    Ok(())
}
