//! Starts the daemon and waits until the extension connects.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::lasting_program;
use crate::bridge::{self, DaemonTarget, LocalTarget, TargetDaemon};
use crate::cli::daemon_client::DaemonClient;
use crate::cli::doctor;
use crate::cli::mcp::has_service;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::proof::DEFAULT_OWNER;
use crate::terminal::{Spinner, TextStyle, clean, print_line, wrapped_behind};

/// The longest wait for an extension.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// The pause between two requests to the daemon, and between two turns of the spinner.
const LOOK: Duration = Duration::from_millis(500);
const TURN: Duration = Duration::from_millis(100);

/// Ends every message about a wait that ended without an extension.
const WELL: &str = "Everything is set up: the extension connects as soon as a browser loads it. `tabwire \
    doctor` shows the missing step.";

/// How the wait ended.
pub(super) enum WaitEnd {
    /// This browser is connected.
    Connected(String),
    /// No extension connected in time.
    Nobody,
    /// The person pressed Ctrl+C.
    Interrupted,
}

impl WaitEnd {
    /// The browser that is connected.
    pub(super) fn browser(&self) -> Option<&str> {
        match self {
            Self::Connected(label) => Some(label),
            Self::Nobody | Self::Interrupted => None,
        }
    }

    /// The exit code for scripts.
    pub(super) fn exit_code(&self) -> ExitCode {
        if self.browser().is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Says how it ended.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        match self {
            Self::Connected(label) => {
                print_line(format!("{} {} connected", TextStyle::Good.paint("✓"), clean(label)))?;
            }
            Self::Nobody => {
                let minutes = LONGEST.as_secs() / 60;
                let text = format!("No extension has connected in {minutes} minutes. {WELL}");
                print_line(wrapped_behind(&text, 0))?;
            }
            Self::Interrupted => print_line(wrapped_behind(WELL, 0))?,
        }
        Ok(())
    }
}

/// Starts the daemon if none runs, and waits until an extension is connected to it. On a terminal
/// Ctrl+C ends the wait, and nothing else.
pub(super) async fn for_extension(location: &DaemonLocation, port: u16) -> anyhow::Result<WaitEnd> {
    // The daemon that the bridge starts may have another working directory.
    let home = std::path::absolute(location.home()?)?;
    let local = LocalTarget {
        home: home.clone(),
        port,
        owner: DEFAULT_OWNER.into(),
        has_service: has_service(port),
        program: lasting_program(location)?,
    };
    let target = DaemonTarget::new(TargetDaemon::Local(local), "install".to_owned());
    let record = bridge::find_daemon(target).await?;
    let home = StateDirectory::open(&home)?;
    let daemon = DaemonClient::new(&home, record);
    let mut spinner = Spinner::start("Waiting for the extension (Ctrl+C ends the wait)");
    tokio::select! {
        found = timeout(LONGEST, connected(&daemon)) => match found {
            Ok(found) => found,
            Err(_elapsed) => Ok(WaitEnd::Nobody),
        },
        never = turn(&mut spinner) => match never {},
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            Ok(WaitEnd::Interrupted)
        }
    }
}

async fn turn(spinner: &mut Spinner) -> std::convert::Infallible {
    loop {
        spinner.turn();
        sleep(TURN).await;
    }
}

/// Asks until an extension is connected.
async fn connected(daemon: &DaemonClient) -> anyhow::Result<WaitEnd> {
    loop {
        let status = daemon.get("/api/status").await?.ok()?;
        if let Some(browser) = browser_of(&status) {
            return Ok(WaitEnd::Connected(doctor::label(browser)));
        }
        sleep(LOOK).await;
    }
}

/// A browser whose Tabwire extension gets commands. One whose files were changed, and are whole again
/// by now, gets them once the person has reloaded it.
fn browser_of(status: &Value) -> Option<&Value> {
    status["browsers"].as_array()?.iter().find(|browser| {
        browser["connected"] == true
            && browser["polls"] != true
            && browser["extension_changed"] != true
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_browser_is_waited_for_until_the_tabwire_extension_of_it_is_connected() {
        let browser = |more: Value| {
            let mut browser = json!({"label": "Chromium on Linux", "connected": true});
            browser.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"browsers": [browser]})
        };
        assert!(browser_of(&browser(json!({}))).is_some());
        for status in [
            json!({}),
            browser(json!({"connected": false})),
            browser(json!({"polls": true})),
            browser(json!({"extension_changed": true})),
        ] {
            assert_eq!(browser_of(&status), None, "{status}");
        }
    }
}
