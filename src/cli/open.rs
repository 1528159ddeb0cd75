//! `tabwire open`: shows the dashboard in the person's browser.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::daemon_client::DaemonClient;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::os;
use crate::terminal::print_line;

/// How long the program may take to fail. One that runs on has opened a browser.
const OPENER_FAILS: Duration = Duration::from_millis(1_500);

pub(super) async fn open(
    location: &DaemonLocation,
    is_printed: bool,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let home = StateDirectory::open(&location.home()?)?;
    let daemon = DaemonClient::for_dashboard(location)?;
    let issued = daemon.post("/dashboard/codes").await?.ok()?;
    let code = issued["code"].as_str().context("the daemon has sent no code")?;
    let file = home.write_dashboard_link(daemon.record.port, code)?;
    let opener = opener();
    let opened = !is_printed && start_browser(&opener, &file).await;
    let expires_in_ms = &issued["expires_in_ms"];
    if json {
        let told = json!({"file": file, "opened": opened, "expires_in_ms": expires_in_ms});
        print_line(told)?;
        return Ok(ExitCode::SUCCESS);
    }
    if opened {
        print_line("The dashboard opens in your browser.")?;
    } else {
        if !is_printed {
            let seconds = expires_in_ms.as_u64().unwrap_or_default() / 1_000;
            let opener = opener[0].display();
            print_line(format!(
                "`{opener}` opened no browser. Open this file within {seconds} s:"
            ))?;
        }
        print_line(file.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The program that the person has named for this, or the desktop's, and its first arguments.
fn opener() -> Vec<OsString> {
    let named = std::env::var_os("BROWSER").filter(|named| !named.is_empty());
    named.map_or_else(|| os::FILE_OPENER.iter().map(Into::into).collect(), |named| vec![named])
}

/// Whether a browser was started with this file.
async fn start_browser(opener: &[OsString], file: &Path) -> bool {
    let started = Command::new(&opener[0])
        .args(&opener[1..])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return false };
    let ended = tokio::task::spawn_blocking(move || child.wait());
    match tokio::time::timeout(OPENER_FAILS, ended).await {
        Ok(Ok(Ok(status))) => status.success(),
        Ok(_) => false,
        Err(_runs_on) => true,
    }
}
