//! The daemon with the fixtures of the official MCP conformance suite beside its own tools, on
//! any free port, for the state directory that `TABWIRE_HOME` names. It ends with Ctrl+C, which every system has.

mod fixtures;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tabwire::daemon::{Daemon, DaemonSettings};
use tabwire::home::UsualFolder;
use tabwire::install::BrowserFolders;
use tabwire::lifecycle::Limits;
use tokio::signal::ctrl_c;
use tokio_util::sync::CancellationToken;

/// One whose parent was killed ends by itself.
const IDLE_EXIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = std::env::var_os("TABWIRE_HOME").context("TABWIRE_HOME must name a directory")?;
    let home = PathBuf::from(home);
    let settings = DaemonSettings {
        home: home.clone(),
        port: 0,
        limits: Limits::default(),
        default_wait: Duration::ZERO,
        idle_exit: Some(IDLE_EXIT),
        ephemeral: false,
        monitor_roots: Vec::new(),
        agent_files: UsualFolder { base: home, below: "files".into() },
        browser_folders: BrowserFolders::default(),
        otlp: None,
    };
    let daemon = Daemon::start(settings).await?;
    writeln!(std::io::stdout(), "{}", json!({"port": daemon.port()}))?;
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move {
        // One that cannot be asked ends when nobody has called for a while.
        if ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    daemon.serve(shutdown, Some(fixtures::extra_tools())).await?;
    Ok(())
}
