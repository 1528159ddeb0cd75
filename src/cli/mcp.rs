//! `tabwire mcp`, and how any subcommand gets to the daemon as an MCP client.

use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::connect::{FarChoice, unless_without_tls};
use super::install::{self, lasting_program};
use super::owner::{NewOwnerConsent, owner_to_use};
use super::{logs, read_owner};
use crate::bridge::{self, LocalTarget, TargetDaemon};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::install::{BROWSER_FLAG, DaemonService, OWNER_FLAG, ServerEntry, UserFolders};
use crate::os;
use crate::proof::{self, DEFAULT_OWNER};
use crate::protocol::{BrowserName, Owner};
use crate::terminal::print_line;
use crate::tools::ToolSurface;

/// The first part of the names of bridges that nobody has named.
const UNNAMED: &str = "mcp";

pub(super) async fn mcp(
    location: &DaemonLocation,
    client: Option<String>,
    (owner, browser): (Owner, Option<BrowserName>),
    connect: Option<FarChoice>,
    job_notifications: bool,
    surface: ToolSurface,
) -> anyhow::Result<ExitCode> {
    logs::to_stderr("warn");
    let client = client.unwrap_or_else(|| format!("{UNNAMED}-{}", proof::random_hex::<4>()));
    let usual = match &connect {
        Some(far) => far.target(location, client)?,
        None => local_target(location, owner, client)?,
    };
    let target = bridge::DaemonTarget { browser, job_notifications, surface, ..usual };
    let running =
        async { Ok(bridge::run(target, os::standard_input(), os::standard_output()).await?) };
    unless_without_tls(connect, running).await?;
    Ok(ExitCode::SUCCESS)
}

/// The daemon of this place, for a client of this name. The first call starts it.
pub(super) fn target(
    location: &DaemonLocation,
    client: String,
) -> anyhow::Result<bridge::DaemonTarget> {
    local_target(location, DEFAULT_OWNER.into(), client)
}

fn local_target(
    location: &DaemonLocation,
    owner: Owner,
    client: String,
) -> anyhow::Result<bridge::DaemonTarget> {
    let (home, port) = (location.home()?, location.port);
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let has_service = has_service(port);
    let local = LocalTarget { home, port, owner, has_service, program };
    Ok(bridge::DaemonTarget::new(TargetDaemon::Local(local), client))
}

/// Prints the entry for a client's configuration.
pub(super) fn print_config(
    location: &DaemonLocation,
    owner: Option<&str>,
    browser: Option<&BrowserName>,
    connect: Option<&FarChoice>,
) -> anyhow::Result<ExitCode> {
    let owner = owner.map(read_owner).transpose()?;
    let program = lasting_program(location)?;
    let ServerEntry { command, mut args } = install::server(location, &program, location.port)?;
    if let Some(browser) = browser {
        args.extend([BROWSER_FLAG.to_owned(), browser.to_string()]);
    }
    if let Some(far) = connect {
        args.extend(far.arguments());
    }
    if let Some(owner) = owner {
        let home = StateDirectory::open(&location.home()?)?;
        owner_to_use(&home, owner.as_str(), NewOwnerConsent::Implied)?;
        args.extend([OWNER_FLAG.to_owned(), owner.as_str().to_owned()]);
    }
    let config = json!({"mcpServers": {"tabwire": {"command": command, "args": args}}});
    print_line(serde_json::to_string_pretty(&config)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a service manager has this port, and starts a daemon at a connection.
pub(super) fn has_service(port: u16) -> bool {
    UserFolders::current().is_ok_and(|folders| DaemonService::listens(&folders, port))
}

/// A client's name travels in a header, so it has only characters that a header can carry.
pub(super) fn client_name(text: &str) -> Result<String, &'static str> {
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(|b| (0x20..0x7f).contains(&b));
    fits.then(|| text.to_owned()).ok_or("use 1 to 128 printable ASCII characters")
}
