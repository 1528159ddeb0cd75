//! What is left for the person to do once everything is installed.

use std::path::Path;

use super::{clipboard, has_person};
use crate::cli::extension::{KEEP_FOLDER, how_to_load, say_steps};
use crate::install::{ChangePlan, Installation, McpClient, OperatingSystem, PlannedChange};
use crate::terminal::{clean, hanging, say};

/// The bar that a browser shows while its debugger is used.
const DEBUGGER_BAR: &str = "While an agent uses a tab, the browser shows a bar: \"Tabwire\" started \
    debugging this browser. Its Cancel button takes the tabs from agents, until you give control back \
    in the popup on the Tabwire icon.";

/// What is for the person to do. The path of the folder comes last.
pub(super) async fn say_all(
    installation: &Installation,
    clients: &[McpClient],
    plan: &ChangePlan,
    is_connected: bool,
) -> anyhow::Result<()> {
    let moved = plan.changes.iter().find_map(|change| match change {
        PlannedChange::MoveExtension { from, .. } => Some(from.as_path()),
        PlannedChange::Unpack { .. }
        | PlannedChange::RemoveExtension { .. }
        | PlannedChange::File(_)
        | PlannedChange::Edit(..)
        | PlannedChange::Register { .. }
        | PlannedChange::Unregister { .. } => None,
    });
    if let Some(from) = moved {
        say_moved(from)?;
    }
    if installation.user_folders.is_none() {
        paragraph(
            "The state directory was named by hand, so nothing outside of it was changed: no browser \
             and no MCP client knows of it. `tabwire mcp-config` prints what a client needs.",
        )?;
    } else if installation.browsers().is_empty() {
        paragraph(
            "No browser was found. The folder of the extension holds the key of today; once a browser \
             has run, run `tabwire install` again, so that the extension gets a new key by itself.",
        )?;
    }
    say_clients_left(installation, clients)?;
    let restart = whom_to_restart(plan);
    if is_connected {
        return say_for_connected(installation, plan, restart);
    }
    let folder = installation.extension();
    let folder = folder.to_string_lossy();
    let is_copied = has_person() && clipboard::copy(&folder).await;
    let system = installation
        .user_folders
        .as_ref()
        .map_or(OperatingSystem::current(), |user_folders| user_folders.system);
    say("\nWhat is left for you:")?;
    let restart = restart.map(|names| format!("Restart {names}."));
    say_steps(how_to_load(system).into_iter().chain(restart))?;
    paragraph(DEBUGGER_BAR)?;
    paragraph(KEEP_FOLDER)?;
    let folder_is = if is_copied { "The folder (on the clipboard):" } else { "The folder:" };
    say(format!("\n{folder_is}\n{}", clean(&folder)))?;
    Ok(())
}

/// What is left where the extension is loaded and connected.
fn say_for_connected(
    installation: &Installation,
    plan: &ChangePlan,
    restart: Option<String>,
) -> anyhow::Result<()> {
    let is_unpacked = |change: &PlannedChange| matches!(change, PlannedChange::Unpack { .. });
    if plan.changes.iter().any(is_unpacked) {
        paragraph(
            "The extension was written anew: press its reload arrow in chrome://extensions.",
        )?;
    }
    if let Some(names) = restart {
        paragraph(&format!("Restart {names}."))?;
    }
    say(format!(
        "\nThe folder of the extension:\n{}",
        clean(&installation.extension().to_string_lossy())
    ))?;
    Ok(())
}

/// Where a browser that has the former folder loaded finds it.
fn say_moved(from: &Path) -> anyhow::Result<()> {
    paragraph(&format!(
        "The extension has moved. A link in its former place, {}, leads to it: in a browser that has \
         loaded it from there, press its reload arrow in chrome://extensions.",
        clean(&from.to_string_lossy())
    ))
}

/// Says a text after an empty line.
pub(super) fn paragraph(text: &str) -> anyhow::Result<()> {
    say(format!("\n{}", hanging(text, 0)))?;
    Ok(())
}

/// Which clients have to read their settings again.
fn whom_to_restart(plan: &ChangePlan) -> Option<String> {
    let name = |change: &PlannedChange| match change {
        PlannedChange::Edit(client, _) => Some(client.name()),
        PlannedChange::Unpack { .. }
        | PlannedChange::MoveExtension { .. }
        | PlannedChange::RemoveExtension { .. }
        | PlannedChange::File(_)
        | PlannedChange::Register { .. }
        | PlannedChange::Unregister { .. } => None,
    };
    let names: Vec<_> = plan.changes.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Which clients are here and do without Tabwire, and how to add it to them.
pub(super) fn say_clients_left(
    installation: &Installation,
    clients: &[McpClient],
) -> anyhow::Result<()> {
    let here = installation.clients();
    let with_server = installation.clients_with_server();
    let has = |client: &McpClient| clients.contains(client) || with_server.contains(client);
    let left: Vec<_> = here.iter().filter(|client| !has(client)).collect();
    if !left.is_empty() {
        say("\nThese MCP clients are left as they are:")?;
        for client in left {
            let (name, id) = (client.name(), client.id());
            let line = format!("{name}: `tabwire install --client {id}` adds Tabwire to it");
            say(format!("  {}", hanging(&line, 2)))?;
        }
    } else if here.is_empty() && clients.is_empty() {
        paragraph("No MCP client was found; `tabwire mcp-config` prints what most of them take.")?;
    }
    Ok(())
}
