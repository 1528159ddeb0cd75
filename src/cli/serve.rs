//! `tabwire serve` and `tabwire stop`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "fleet")]
use super::fleet::homes::start as start_homes;
use super::mcp::has_service;
use super::{UNAVAILABLE, logs, print_error};
use crate::config::{DaemonLocation, ServeOptions};
use crate::daemon::{Daemon, HandedListeners, StartError};
use crate::home::{DaemonRecord, StateDirectory};
use crate::os::{self, StopSignals};
use crate::protocol::SERVER_VERSION;
use crate::terminal::{ProgressNotice, print_line};

/// The number of looks for a daemon that was asked to end, and the pause between them.
const STOP_LOOKS: u32 = 250;
const STOP_LOOK: Duration = Duration::from_millis(20);

pub(super) async fn serve(
    location: &DaemonLocation,
    options: &ServeOptions,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if options.detach {
        os::lead_new_session();
    }
    let shutdown = CancellationToken::new();
    // Signals are handled before the start: SIGTERM in between must not leave the record behind.
    let _stop_on_signal = stop_on_signal(shutdown.clone())?;
    let handed = HandedListeners::take()?;
    let daemon = match Daemon::start_on(options.settings(location)?, handed).await {
        Ok(daemon) => daemon,
        // Two clients may start a daemon at once; the second must not see a failure.
        Err(error @ StartError::Running(_)) => {
            print_line(format!("{error}; no second one is needed"))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(StartError::PortTaken { port, holder }) if holder.is_own_tabwire => {
            print_line(format!(
                "{holder} already serves port {port} from another state directory. Set TABWIRE_HOME to that \
                 directory, or use another port"
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        // Scripts tell this case by its exit code, so it is no plain error.
        Err(error @ StartError::PortTaken { .. }) => {
            print_error(format_args!("{error}"));
            return Ok(ExitCode::from(UNAVAILABLE));
        }
        Err(error) => return Err(error.into()),
    };
    // The file is the daemon's that holds the lock, and that is this one from here on.
    logs::of_daemon(daemon.home(), options.detach);
    let port = daemon.port();
    let said = if json {
        print_line(json!({"pid": std::process::id(), "port": port, "version": SERVER_VERSION}))
    } else {
        print_line(format!(
            "tabwire {SERVER_VERSION} listens on http://127.0.0.1:{port} (Ctrl+C ends it)"
        ))
    };
    // The daemon runs on without a reader of its standard output.
    if let Err(error) = said {
        tracing::debug!(%error, "cannot print the address");
    }
    #[cfg(feature = "fleet")]
    let _homes = start_homes(location, daemon.home().dir().to_owned(), shutdown.clone());
    daemon.run(shutdown).await?;
    Ok(ExitCode::SUCCESS)
}

/// Starts the shutdown on SIGTERM and SIGINT.
fn stop_on_signal(shutdown: CancellationToken) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let mut signals = StopSignals::listen_as_daemon()?;
    Ok(tokio::spawn(async move {
        signals.next().await;
        shutdown.cancel();
    }))
}

pub(super) async fn stop(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let home = StateDirectory::find(&location.home()?)?;
    let ended = match &home {
        Some(home) => end_daemon(home).await?,
        None => None,
    };
    let goes_on = ended.is_some() && has_service(location.port);
    if json {
        let mut body = json!({"stopped": ended.is_some()});
        if let Some(record) = &ended {
            body["pid"] = record.pid.into();
        }
        if goes_on {
            body["service"] = true.into();
        }
        print_line(body)?;
        return Ok(ExitCode::SUCCESS);
    }
    match ended {
        Some(record) => print_line(format!("daemon ended (process {})", record.pid))?,
        None => print_line("no daemon runs")?,
    }
    if goes_on {
        print_line(
            "The service starts the next one at the next connection. `tabwire service uninstall` ends that.",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends the daemon of this state directory, and returns once it has ended; `None`: none runs.
pub(super) async fn end_daemon(home: &StateDirectory) -> anyhow::Result<Option<DaemonRecord>> {
    if !home.has_daemon()? {
        return Ok(None);
    }
    let record = home.daemon_record()?.context("a daemon is starting; try again")?;
    // A signal to a recycled process id would hit another program. The lock is held, so the record
    // names a live daemon.
    os::ask_process_to_end(record.pid).context("cannot end the daemon")?;
    let _progress = ProgressNotice::start("ending the daemon");
    for _ in 0..STOP_LOOKS {
        tokio::time::sleep(STOP_LOOK).await;
        if !home.has_daemon()? {
            return Ok(Some(record));
        }
    }
    bail!("the daemon (process {}) has not ended within 5 s", record.pid)
}
