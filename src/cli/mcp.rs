//! `tabwire mcp`, and how any subcommand gets to the daemon as an MCP client.

use std::process::ExitCode;

use anyhow::Context as _;

use super::logs;
use crate::bridge;
use crate::config::DaemonLocation;
use crate::install::{DaemonService, UserFolders};
use crate::proof::{self, DEFAULT_OWNER};
use crate::protocol::{BrowserName, Owner};
use crate::tools::ToolSurface;

/// The first part of the names of bridges that nobody has named.
const UNNAMED: &str = "mcp";

pub(super) async fn mcp(
    location: &DaemonLocation,
    client: Option<String>,
    (owner, browser): (Owner, Option<BrowserName>),
    job_notifications: bool,
    surface: ToolSurface,
) -> anyhow::Result<ExitCode> {
    logs::to_stderr("warn");
    let client = client.unwrap_or_else(|| format!("{UNNAMED}-{}", proof::random_hex::<4>()));
    let target = bridge::DaemonTarget {
        owner,
        browser,
        job_notifications,
        surface,
        ..target(location, client)?
    };
    bridge::run(target, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(ExitCode::SUCCESS)
}

/// The daemon of this place, for a client of this name. The first call starts it.
pub(super) fn target(
    location: &DaemonLocation,
    client: String,
) -> anyhow::Result<bridge::DaemonTarget> {
    Ok(bridge::DaemonTarget {
        has_service: has_service(location.port),
        home: location.home()?,
        port: location.port,
        owner: DEFAULT_OWNER.into(),
        client,
        browser: None,
        program: std::env::current_exe().context("cannot find the path of this program")?,
        job_notifications: false,
        surface: ToolSurface::default(),
    })
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
