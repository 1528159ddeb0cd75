//! The steps that are left for the person after the installation.

use std::path::Path;

use super::{clipboard, is_interactive};
use crate::cli::extension::{KEEP_FOLDER, how_to_load, print_steps};
use crate::install::{
    BrowserSandbox, ChangePlan, Installation, McpClient, PlannedChange, SandboxedBrowser,
};
use crate::terminal::{clean, print_line, wrapped_behind};

/// The bar that a browser shows while its debugger is used.
const DEBUGGER_BAR: &str = "While an agent uses a tab, the browser shows a bar: \"Tabwire\" started \
    debugging this browser. Its Cancel button takes the tabs from agents, until you give control back \
    in the popup on the Tabwire icon.";

/// Prints the steps for the person. The path of the folder comes last, easy to copy.
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
        | PlannedChange::CopyProgram { .. }
        | PlannedChange::RemoveProgram { .. }
        | PlannedChange::File(_)
        | PlannedChange::Register { .. }
        | PlannedChange::Scope { .. }
        | PlannedChange::Edit(..) => None,
    });
    if let Some(from) = moved {
        print_moved(from)?;
    }
    if plan.changes.iter().any(|change| matches!(change, PlannedChange::CopyProgram { .. })) {
        print_paragraph(&format!(
            "Where a text says `tabwire`, run {}, or add its folder to PATH.",
            installation.program.display()
        ))?;
    }
    if installation.user_folders.is_none() {
        print_paragraph(
            "The command line names a separate state directory, so Tabwire changed no browser and no \
             MCP client. `tabwire mcp-config` prints the entry for a client.",
        )?;
    } else if installation.browsers().is_empty() && installation.sandboxed_browsers().is_empty() {
        print_paragraph(
            "Tabwire found no browser. The extension's folder holds today's key. Start a browser once, \
             then run `tabwire install` again, so that the extension can fetch a new key by itself.",
        )?;
    }
    for found in installation.sandboxed_browsers() {
        print_paragraph(&pairing_of(found))?;
    }
    print_clients_without_tabwire(installation, clients)?;
    let restart = clients_to_restart(plan);
    if is_connected {
        return print_for_connected(installation, plan, restart);
    }
    let folder = installation.extension();
    let folder = folder.to_string_lossy();
    // A script must not change the person's clipboard.
    let is_copied = is_interactive() && clipboard::copy(&folder).await;
    print_line("\nNext steps:")?;
    let restart = restart.map(|names| format!("Restart {names}."));
    print_steps(how_to_load(installation.system()).into_iter().chain(restart))?;
    print_paragraph(DEBUGGER_BAR)?;
    print_paragraph(KEEP_FOLDER)?;
    let folder_is = if is_copied { "The folder (on the clipboard):" } else { "The folder:" };
    print_line(format!("\n{folder_is}\n{}", clean(&folder)))?;
    Ok(())
}

/// How the extension of a browser in a sandbox gets its key.
fn pairing_of(found: SandboxedBrowser) -> String {
    let name = found.name();
    let line = "paste the line that `tabwire pair` prints into the extension's popup";
    match found.sandbox {
        BrowserSandbox::Snap | BrowserSandbox::Flatpak => format!(
            "{name} runs in a sandbox and cannot start Tabwire. If its extension has no key, {line}."
        ),
        BrowserSandbox::SnapWithPortal => format!(
            "{name} runs in a sandbox. On Ubuntu it asks you whether it may start Tabwire, which gives the \
             extension its key. Where it does not ask, {line}."
        ),
    }
}

/// The remaining steps where the extension is loaded and connected.
fn print_for_connected(
    installation: &Installation,
    plan: &ChangePlan,
    restart: Option<String>,
) -> anyhow::Result<()> {
    let is_unpacked = |change: &PlannedChange| matches!(change, PlannedChange::Unpack { .. });
    if plan.changes.iter().any(is_unpacked) {
        print_paragraph(
            "Tabwire replaced the extension's files. The browser loads them by itself once no agent works there; \
             if not, press its reload arrow at chrome://extensions.",
        )?;
    }
    if let Some(names) = restart {
        print_paragraph(&format!("Restart {names}."))?;
    }
    print_line(format!(
        "\nThe extension's folder:\n{}",
        clean(&installation.extension().to_string_lossy())
    ))?;
    Ok(())
}

/// The steps in a browser that loaded the extension from its former folder.
fn print_moved(from: &Path) -> anyhow::Result<()> {
    print_paragraph(&format!(
        "Tabwire moved the extension and left a link at {}. In a browser that loaded it from there, \
         press its reload arrow at chrome://extensions.",
        clean(&from.to_string_lossy())
    ))
}

/// Says a text after an empty line.
pub(super) fn print_paragraph(text: &str) -> anyhow::Result<()> {
    print_line(format!("\n{}", wrapped_behind(text, 0)))?;
    Ok(())
}

/// The names of the clients that have to read their settings again.
fn clients_to_restart(plan: &ChangePlan) -> Option<String> {
    let name = |change: &PlannedChange| match change {
        PlannedChange::Edit(client, _) => Some(client.name()),
        PlannedChange::Unpack { .. }
        | PlannedChange::MoveExtension { .. }
        | PlannedChange::RemoveExtension { .. }
        | PlannedChange::CopyProgram { .. }
        | PlannedChange::RemoveProgram { .. }
        | PlannedChange::Register { .. }
        | PlannedChange::Scope { .. }
        | PlannedChange::File(_) => None,
    };
    let names: Vec<_> = plan.changes.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Lists the clients on this computer without Tabwire, and the command that adds it.
pub(super) fn print_clients_without_tabwire(
    installation: &Installation,
    clients: &[McpClient],
) -> anyhow::Result<()> {
    let here = installation.clients();
    let with_server = installation.clients_with_server();
    let has = |client: &McpClient| clients.contains(client) || with_server.contains(client);
    let left: Vec<_> = here.iter().filter(|client| !has(client)).collect();
    if !left.is_empty() {
        print_line("\nThese MCP clients stay unchanged:")?;
        for client in left {
            let (name, id) = (client.name(), client.id());
            let line = format!("{name}: `tabwire install --client {id}` adds Tabwire to it");
            print_line(format!("  {}", wrapped_behind(&line, 2)))?;
        }
    } else if here.is_empty() && clients.is_empty() {
        print_paragraph(
            "Tabwire found no MCP client. `tabwire mcp-config` prints an entry that most clients accept.",
        )?;
    }
    Ok(())
}
