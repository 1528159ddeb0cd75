//! `tabwire metrics`: the counts and times of the daemon, and the token that reads them.

use std::process::ExitCode;

use serde_json::json;

use super::daemon_client::DaemonClient;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::terminal::print_line;

pub(super) async fn show(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let text = DaemonClient::for_metrics(location)?.text("/metrics").await?;
    if json {
        print_line(json!({"text": text}))?;
    } else {
        print_line(text.trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn token(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let token = StateDirectory::open(&location.home()?)?.auth().metrics_token();
    if json {
        print_line(json!({"token": token}))?;
    } else {
        print_line(token)?;
    }
    Ok(ExitCode::SUCCESS)
}
