//! `tabwire install --connect`: the set-up of a machine whose agents use a browser on another one.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::{InstallArguments, clients_to_add, print_done, print_plan, refuse_downgrade, server};
use crate::cli::connect::{ConnectAddress, FarChoice};
use crate::config::DaemonLocation;
use crate::install::{BROWSER_FLAG, Installation};
use crate::os;
use crate::protocol::DEFAULT_PORT;
use crate::terminal::{print_line, wrapped_behind};

/// Adds Tabwire to the clients. The machine gets no extension, no host manifest and no daemon.
pub(super) fn install(
    location: &DaemonLocation,
    installation: &Installation,
    arguments: &InstallArguments,
    far: &FarChoice,
) -> anyhow::Result<ExitCode> {
    let clients = clients_to_add(installation, arguments)?;
    if clients.is_empty() {
        bail!("--connect needs a client: name one with --client, or all with --all");
    }
    // No daemon of this machine is meant, so its port is of no account.
    let mut server = server(location, &installation.program, DEFAULT_PORT)?;
    server.args.extend(far.arguments());
    if let Some(browser) = &arguments.browser {
        server.args.extend([BROWSER_FLAG.to_owned(), browser.to_string()]);
    }
    let plan = installation.install_far(&clients, |_client| server.clone())?;
    if arguments.print {
        print_plan(&plan, arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.downgrade {
        refuse_downgrade(installation, &plan)?;
    }
    // The record of the edits is in it, and no key: there is no daemon to prove anything to.
    os::create_folders(&installation.state)
        .with_context(|| format!("cannot make {}", installation.state.display()))?;
    plan.apply(&installation.state)?;
    if arguments.json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        let added: Vec<_> = clients.iter().map(|client| client.id()).collect();
        let told = json!({"changes": changes, "clients": {"added": added}, "connect": far.address.to_string()});
        print_line(serde_json::to_string_pretty(&told)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_done(&plan, "Everything was already set up.")?;
    let (program, begins) = match &far.address {
        ConnectAddress::Reach(_) => ("tabwire", "`tabwire reach`"),
        #[cfg(feature = "fleet")]
        ConnectAddress::Fleet(_) => ("tabwire-fleet", "`tabwire-fleet join`"),
    };
    let next = format!(
        "`{program} doctor {}` checks the way to the browser. It starts on the machine with the browser, with \
         {begins}.",
        far.arguments().join(" ")
    );
    print_line(format!("\n{}", wrapped_behind(&next, 0)))?;
    Ok(ExitCode::SUCCESS)
}
