//! Bare `tabwire`: the state of the set-up and the next step, in five lines.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use super::daemon_client::DaemonClient;
use super::doctor;
use super::install::installation;
use crate::config::DaemonLocation;
use crate::extension;
use crate::home::StateDirectory;
use crate::install::{Installation, McpClient};
use crate::protocol::SERVER_VERSION;
use crate::terminal::{clean, cut_to_width, print_line};

/// The state of the set-up.
#[derive(Debug, Default)]
struct SetupOverview {
    /// The folder of the extension as it is shown, if it is there.
    extension: Option<String>,
    /// Whether that folder still holds the key, which the extension takes away as it connects.
    has_key: bool,
    /// Whether a daemon runs and answers.
    has_daemon: bool,
    /// The daemon's summary of the connected browsers.
    browsers: Vec<Value>,
    /// The MCP clients that have Tabwire.
    clients: Vec<&'static str>,
}

pub(super) async fn overview(location: &DaemonLocation) -> anyhow::Result<ExitCode> {
    for line in SetupOverview::find(location).await?.lines() {
        print_line(cut_to_width(&clean(&line)))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl SetupOverview {
    async fn find(location: &DaemonLocation) -> anyhow::Result<Self> {
        let home = StateDirectory::find(&location.home()?)?;
        let noted = home.as_ref().map(StateDirectory::unpacked).transpose()?.flatten();
        let status = match DaemonClient::of(location) {
            Ok(daemon) => daemon.get("/api/status").await.ok().map(|answer| answer.body),
            Err(_) => None,
        };
        let browsers = status.as_ref().and_then(|status| status["browsers"].as_array());
        let browsers = browsers.into_iter().flatten().filter(|one| one["connected"] == true);
        let installation = installation(location).ok();
        let user_folders = installation.as_ref().and_then(|found| found.user_folders.as_ref());
        let shown = |dir: &Path| {
            user_folders.map_or_else(
                || dir.to_string_lossy().into_owned(),
                |user_folders| user_folders.shown(dir),
            )
        };
        let unpacked = noted.and_then(|dir| Some((extension::find(&dir)?, dir)));
        let clients = installation.as_ref().map(Installation::clients_with_server);
        Ok(Self {
            has_key: unpacked.as_ref().is_some_and(|(found, _)| found.has_any_key()),
            extension: unpacked.map(|(_, dir)| shown(&dir)),
            has_daemon: status.is_some(),
            browsers: browsers.cloned().collect(),
            clients: clients.unwrap_or_default().into_iter().map(McpClient::name).collect(),
        })
    }

    fn lines(&self) -> [String; 5] {
        let extension = self.extension.as_ref();
        let extension =
            extension.map_or_else(|| "not set up".to_owned(), |dir| format!("in {dir}"));
        let names: Vec<_> = self.browsers.iter().map(doctor::label).collect();
        let browser = match (names.is_empty(), self.has_daemon) {
            (false, _) => format!("{} connected", names.join(", ")),
            (true, true) => "none is connected".to_owned(),
            (true, false) => "none is connected: the daemon does not run yet".to_owned(),
        };
        let clients = match self.clients.as_slice() {
            [] => "none that is known here has Tabwire".to_owned(),
            clients => clients.join(", "),
        };
        [
            format!(
                "Tabwire {SERVER_VERSION}: AI agents use your browser. All commands: `tabwire --help`"
            ),
            format!("Extension  {extension}"),
            format!("Browser    {browser}"),
            format!("Clients    {clients}"),
            format!("Next       {}", self.next_step()),
        ]
    }

    fn next_step(&self) -> &'static str {
        let is = |flag: &str| self.browsers.iter().any(|browser| browser[flag] == true);
        if self.extension.is_none() && self.browsers.is_empty() {
            "`tabwire install` sets everything up"
        } else if is("extension_changed") {
            "`tabwire install`, then reload Tabwire at chrome://extensions"
        } else if is("stopped") {
            "you stopped agents: \"Let agents go on\" in the popup"
        } else if self.browsers.is_empty() && self.has_daemon {
            "`tabwire install` shows how to load the extension"
        } else if self.clients.is_empty() {
            "`tabwire install` adds Tabwire to clients, or `tabwire mcp-config`"
        } else if !self.browsers.is_empty() {
            "ask an agent which tabs you have open"
        } else if self.has_key {
            "load the extension (`tabwire install` shows how), then ask an agent"
        } else {
            "ask an agent to use the browser: its first call starts the daemon"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// One of which everything is set up, with these browsers.
    fn with(browsers: &[Value]) -> SetupOverview {
        SetupOverview {
            extension: Some("~/Tabwire/extension".to_owned()),
            has_key: false,
            has_daemon: !browsers.is_empty(),
            browsers: browsers.to_vec(),
            clients: vec!["Cursor"],
        }
    }

    #[test]
    fn what_is_next_follows_from_how_far_somebody_is() {
        for (overview, next) in [
            (SetupOverview::default(), "`tabwire install` sets everything up"),
            (SetupOverview { has_key: true, ..with(&[]) }, "load the extension"),
            (SetupOverview { has_daemon: true, ..with(&[]) }, "shows how to load the extension"),
            (SetupOverview { clients: vec![], ..with(&[]) }, "adds Tabwire to clients"),
            (SetupOverview { clients: vec![], ..with(&[json!({})]) }, "adds Tabwire to clients"),
            (with(&[]), "first call starts the daemon"),
            (with(&[json!({"label": "A"})]), "ask an agent which tabs"),
            (with(&[json!({"label": "A"}), json!({"stopped": true})]), "Let agents go on"),
            (with(&[json!({"extension_changed": true})]), "then reload"),
        ] {
            assert!(overview.next_step().contains(next), "{next}: {overview:?}");
            let lines = overview.lines();
            assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        }
        let lines = with(&[json!({"label": "Chromium on Linux"})]).lines();
        assert_eq!(lines[1], "Extension  in ~/Tabwire/extension");
        assert_eq!(lines[2], "Browser    Chromium on Linux connected");
        assert_eq!(lines[3], "Clients    Cursor");
    }
}
