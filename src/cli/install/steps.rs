//! What is left for the person to do once everything is installed.

use std::path::Path;

use super::{clipboard, is_interactive};
use crate::cli::extension::{KEEP_FOLDER, how_to_load, print_steps};
use crate::install::{ChangePlan, Installation, McpClient, PlannedChange};
use crate::terminal::{clean, print_line, wrapped_behind};

/// The bar that a browser shows while its debugger is used.
const DEBUGGER_BAR: &str = "While an agent uses a tab, the browser shows a bar: \"Tabwire\" started \
    debugging this browser. Its Cancel button takes the tabs from agents, until you give control back \
    in the popup on the Tabwire icon.";

/// What is for the person to do. The path of the folder comes last.
pub(super) async fn print_next_steps(
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
        | PlannedChange::Edit(..) => None,
    });
    if let Some(from) = moved {
        print_moved(from)?;
    }
    if installation.user_folders.is_none() {
        print_paragraph(
            "The state directory was named by hand, so nothing outside of it was changed: no browser \
             and no MCP client knows of it. `tabwire mcp-config` prints what a client needs.",
        )?;
    } else if installation.browsers().is_empty() {
        print_paragraph(
            "No browser was found. The folder of the extension holds the key of today; once a browser \
             has run, run `tabwire install` again, so that the extension gets a new key by itself.",
        )?;
    }
    print_clients_without_tabwire(installation, clients)?;
    let restart = clients_to_restart(plan);
    if is_connected {
        return print_for_connected(installation, plan, restart);
    }
    let folder = installation.extension();
    let folder = folder.to_string_lossy();
    let is_copied = is_interactive() && clipboard::copy(&folder).await;
    print_line("\nWhat is left for you:")?;
    let restart = restart.map(|names| format!("Restart {names}."));
    print_steps(how_to_load(installation.system()).into_iter().chain(restart))?;
    print_paragraph(DEBUGGER_BAR)?;
    print_paragraph(KEEP_FOLDER)?;
    let folder_is = if is_copied { "The folder (on the clipboard):" } else { "The folder:" };
    print_line(format!("\n{folder_is}\n{}", clean(&folder)))?;
    Ok(())
}

/// What is left where the extension is loaded and connected.
fn print_for_connected(
    installation: &Installation,
    plan: &ChangePlan,
    restart: Option<String>,
) -> anyhow::Result<()> {
    let is_unpacked = |change: &PlannedChange| matches!(change, PlannedChange::Unpack { .. });
    if plan.changes.iter().any(is_unpacked) {
        print_paragraph(
            "The extension was written anew: press its reload arrow in chrome://extensions.",
        )?;
    }
    if let Some(names) = restart {
        print_paragraph(&format!("Restart {names}."))?;
    }
    print_line(format!(
        "\nThe folder of the extension:\n{}",
        clean(&installation.extension().to_string_lossy())
    ))?;
    Ok(())
}

/// Where a browser that has the former folder loaded finds it.
fn print_moved(from: &Path) -> anyhow::Result<()> {
    print_paragraph(&format!(
        "The extension has moved. A link in its former place, {}, leads to it: in a browser that has \
         loaded it from there, press its reload arrow in chrome://extensions.",
        clean(&from.to_string_lossy())
    ))
}

/// Says a text after an empty line.
pub(super) fn print_paragraph(text: &str) -> anyhow::Result<()> {
    print_line(format!("\n{}", wrapped_behind(text, 0)))?;
    Ok(())
}

/// Which clients have to read their settings again.
fn clients_to_restart(plan: &ChangePlan) -> Option<String> {
    let name = |change: &PlannedChange| match change {
        PlannedChange::Edit(client, _) => Some(client.name()),
        PlannedChange::Unpack { .. }
        | PlannedChange::MoveExtension { .. }
        | PlannedChange::RemoveExtension { .. }
        | PlannedChange::File(_) => None,
    };
    let names: Vec<_> = plan.changes.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Which clients are here and do without Tabwire, and how to add it to them.
pub(super) fn print_clients_without_tabwire(
    installation: &Installation,
    clients: &[McpClient],
) -> anyhow::Result<()> {
    let here = installation.clients();
    let with_server = installation.clients_with_server();
    let has = |client: &McpClient| clients.contains(client) || with_server.contains(client);
    let left: Vec<_> = here.iter().filter(|client| !has(client)).collect();
    if !left.is_empty() {
        print_line("\nThese MCP clients are left as they are:")?;
        for client in left {
            let (name, id) = (client.name(), client.id());
            let line = format!("{name}: `tabwire install --client {id}` adds Tabwire to it");
            print_line(format!("  {}", wrapped_behind(&line, 2)))?;
        }
    } else if here.is_empty() && clients.is_empty() {
        print_paragraph(
            "No MCP client was found; `tabwire mcp-config` prints what most of them take.",
        )?;
    }
    Ok(())
}
