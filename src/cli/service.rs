//! `tabwire service`: the daemon as a service of the person's own session.

use std::process::{Command, ExitCode, Output};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::install::{lasting_home, lasting_program, print_plan};
use super::serve::end_daemon;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::install::{
    ChangePlan, DaemonService, LAUNCHD_LABEL, OperatingSystem, SERVICE, SOCKET, UserFolders,
};
use crate::os;
use crate::span_export::{OtlpEndpoint, SpanExporter};
use crate::terminal::{clean, print_line};

#[derive(Subcommand, Debug)]
pub(super) enum ServiceCommand {
    /// Install the service and start it
    #[command(
        after_help = "Linux: systemd listens on the port, and starts the daemon at the first connection. macOS: launchd starts\nthe daemon when you log in (untried so far). The command ends a daemon that runs already: running\ncommands get 2 s to finish, and commands that have not begun continue in the next daemon.\n\nExamples:\n  tabwire service install --print   show the files, and change nothing\n  tabwire service install\n  tabwire service install --otlp http://127.0.0.1:4318"
    )]
    Install {
        /// Have the daemon send a span of each command to this OpenTelemetry collector; without the flag it sends none
        #[arg(long, value_name = "URL")]
        otlp: Option<OtlpEndpoint>,
        /// Print the files and the commands, and change nothing
        #[arg(long)]
        print: bool,
    },
    /// End the service and remove it
    #[command(
        after_help = "MCP clients then start a daemon when they need one, as without the service.\n\nExamples:\n  tabwire service uninstall\n  tabwire service uninstall --json"
    )]
    Uninstall,
    /// Show whether the service is installed and runs
    #[command(
        after_help = "Exit codes: 0 the service runs or listens, 1 it does not.\n\nExamples:\n  tabwire service status\n  tabwire service status --json | jq .active"
    )]
    Status,
}

pub(super) async fn run(
    location: &DaemonLocation,
    command: ServiceCommand,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let manager = ServiceManager::of(UserFolders::current()?);
    if manager.folders.system == OperatingSystem::Windows {
        bail!(
            "Windows has no services of one person. MCP clients start the daemon when they need it, and `tabwire serve` starts it by hand"
        );
    }
    match command {
        ServiceCommand::Install { otlp, print } => {
            if otlp.is_some() {
                SpanExporter::check_built()?;
            }
            let further = otlp.map(|url| vec!["--otlp".to_owned(), url.to_string()]);
            let service = service(location, &manager, further.unwrap_or_default(), print)?;
            install(location, &manager, &service, print, json).await
        }
        ServiceCommand::Uninstall => uninstall(&manager, json),
        ServiceCommand::Status => status(location, &manager, json),
    }
}

/// The program that runs services on this computer.
pub(super) struct ServiceManager {
    folders: UserFolders,
}

/// One call of the service manager's program.
struct ManagerCall {
    program: &'static str,
    arguments: Vec<String>,
}

impl ManagerCall {
    fn new(program: &'static str, arguments: &[&str]) -> Self {
        Self { program, arguments: arguments.iter().map(|&word| word.to_owned()).collect() }
    }

    /// As a person types it.
    fn words(&self) -> String {
        format!("{} {}", self.program, self.arguments.join(" "))
    }

    fn output(&self) -> anyhow::Result<Output> {
        let output = Command::new(self.program).args(&self.arguments).output();
        output.with_context(|| {
            format!("cannot run `{}`. This computer needs it to run services", self.words())
        })
    }

    /// Fails with the program's own words.
    fn run(&self) -> anyhow::Result<()> {
        let output = self.output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed: {}. The service's files are written: run the command again in a session that \
             you logged in to, or take them away with `tabwire service uninstall`",
            self.words(),
            clean(said.trim())
        )
    }
}

impl ServiceManager {
    pub(super) const fn of(folders: UserFolders) -> Self {
        Self { folders }
    }

    fn is_installed(&self) -> bool {
        !DaemonService::installed(&self.folders).is_empty()
    }

    /// What has to end before the port is free, whether it runs or not.
    fn stop(&self) -> Option<ManagerCall> {
        Some(match self.folders.system {
            OperatingSystem::Linux => {
                ManagerCall::new("systemctl", &["--user", "stop", SOCKET, SERVICE])
            }
            OperatingSystem::MacOs => ManagerCall::new("launchctl", &["bootout", &agent()]),
            OperatingSystem::Windows => return None,
        })
    }

    fn start(&self) -> Vec<ManagerCall> {
        match self.folders.system {
            OperatingSystem::Linux => vec![
                ManagerCall::new("systemctl", &["--user", "daemon-reload"]),
                ManagerCall::new("systemctl", &["--user", "enable", "--now", SOCKET]),
            ],
            OperatingSystem::MacOs => {
                let files = DaemonService::paths(&self.folders);
                let files: Vec<_> = files.iter().map(|path| path.to_string_lossy()).collect();
                vec![ManagerCall::new("launchctl", &["bootstrap", &domain(), &files[0]])]
            }
            OperatingSystem::Windows => Vec::new(),
        }
    }

    fn disable(&self) -> Option<ManagerCall> {
        match self.folders.system {
            OperatingSystem::Linux => {
                let words = ["--user", "disable", "--now", SOCKET, SERVICE];
                Some(ManagerCall::new("systemctl", &words))
            }
            OperatingSystem::MacOs | OperatingSystem::Windows => self.stop(),
        }
    }

    /// Ends the service before its files go. A session without a service manager has none to end.
    pub(super) fn end(&self) {
        if self.is_installed()
            && let Some(call) = self.disable()
            && let Err(error) = call.run()
        {
            tracing::debug!(%error, "the service was not running");
        }
    }

    /// After the files have gone.
    fn forget(&self) {
        if self.folders.system == OperatingSystem::Linux {
            let _ = ManagerCall::new("systemctl", &["--user", "daemon-reload"]).output();
        }
    }

    /// The manager's own words for the state of each part, like `active`.
    fn states(&self) -> Vec<(String, String)> {
        let parts: &[&str] = match self.folders.system {
            OperatingSystem::Linux => &[SOCKET, SERVICE],
            OperatingSystem::MacOs => &[LAUNCHD_LABEL],
            OperatingSystem::Windows => &[],
        };
        parts.iter().map(|part| ((*part).to_owned(), self.state_of(part))).collect()
    }

    fn state_of(&self, part: &str) -> String {
        let unknown = || "unknown".to_owned();
        match self.folders.system {
            OperatingSystem::Linux => {
                let asked = ManagerCall::new("systemctl", &["--user", "is-active", part]).output();
                let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
                let said = said.unwrap_or_default();
                if said.trim().is_empty() { unknown() } else { clean(said.trim()).into_owned() }
            }
            OperatingSystem::MacOs => {
                let asked = ManagerCall::new("launchctl", &["print", &agent()]).output();
                match asked.map(|output| output.status.success()) {
                    Ok(true) => "active".to_owned(),
                    Ok(false) => "inactive".to_owned(),
                    Err(_) => unknown(),
                }
            }
            OperatingSystem::Windows => unknown(),
        }
    }
}

/// The domain of the person's own session, as launchd names it.
fn domain() -> String {
    format!("gui/{}", os::user_number())
}

fn agent() -> String {
    format!("{}/{LAUNCHD_LABEL}", domain())
}

/// The service that is to be installed, or only printed.
fn service(
    location: &DaemonLocation,
    manager: &ServiceManager,
    further: Vec<String>,
    is_printed: bool,
) -> anyhow::Result<DaemonService> {
    if location.port == 0 {
        bail!("a service needs a port of its own: clients look for it there. Give one with --port");
    }
    if location.home.is_some() && !is_printed {
        bail!(
            "the service would write to your settings, and with TABWIRE_HOME or --home Tabwire changes \
             nothing outside of that directory. Unset it, or use --print and write the files yourself"
        );
    }
    Ok(DaemonService {
        user_folders: manager.folders.clone(),
        program: lasting_program(location)?,
        home: lasting_home(location)?,
        port: location.port,
        further,
        has_ipv6: DaemonService::finds_ipv6(),
    })
}

async fn install(
    location: &DaemonLocation,
    manager: &ServiceManager,
    service: &DaemonService,
    is_printed: bool,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let plan = service.install()?;
    if is_printed {
        print_plan(&plan, json)?;
        if !json {
            for call in manager.start() {
                print_line(format!("  {}", call.words()))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let is_current = plan.changes.is_empty();
    if !is_current || manager.states().iter().all(|(_, state)| state != "active") {
        plan.apply(&location.home()?)?;
        // It holds the port, as a daemon does that a client has started.
        let _ = manager.stop().map(|call| call.output());
        if let Some(home) = StateDirectory::find(&location.home()?)? {
            end_daemon(&home).await?;
        }
        for call in manager.start() {
            call.run()?;
        }
    }
    print_installed(manager, &plan, location.port, json)?;
    Ok(ExitCode::SUCCESS)
}

fn print_installed(
    manager: &ServiceManager,
    plan: &ChangePlan,
    port: u16,
    json: bool,
) -> anyhow::Result<()> {
    if json {
        let mut body = state_json(manager);
        body["changes"] = plan.changes.iter().map(|change| change.to_json()).collect();
        return Ok(print_line(serde_json::to_string_pretty(&body)?)?);
    }
    print_line(match manager.folders.system {
        OperatingSystem::Linux => format!(
            "The service is installed: systemd listens on port {port} and starts the daemon at the first connection."
        ),
        OperatingSystem::MacOs | OperatingSystem::Windows => format!(
            "The service is installed: launchd starts the daemon on port {port} when you log in."
        ),
    })?;
    print_line("`tabwire service status` shows it, `tabwire service uninstall` removes it.")?;
    Ok(())
}

fn uninstall(manager: &ServiceManager, json: bool) -> anyhow::Result<ExitCode> {
    let plan = DaemonService::uninstall(&manager.folders)?;
    manager.end();
    plan.apply(&manager.folders.home)?;
    manager.forget();
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        print_line(serde_json::to_string_pretty(&json!({"changes": changes}))?)?;
    } else if plan.changes.is_empty() {
        print_line("No service is installed.")?;
    } else {
        print_line("The service is removed. MCP clients start a daemon when they need one.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn state_json(manager: &ServiceManager) -> Value {
    let states = manager.states();
    let is_active = states.iter().any(|(_, state)| state == "active");
    let files = DaemonService::installed(&manager.folders);
    let states: serde_json::Map<_, _> =
        states.into_iter().map(|(part, state)| (part, json!(state))).collect();
    json!({"installed": manager.is_installed(), "active": is_active, "files": files, "states": states})
}

fn status(
    location: &DaemonLocation,
    manager: &ServiceManager,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let body = state_json(manager);
    let is_active = body["installed"] == true && body["active"] == true;
    let code = if is_active { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        print_line(serde_json::to_string_pretty(&body)?)?;
        return Ok(code);
    }
    if !manager.is_installed() {
        print_line("No service is installed. `tabwire service install` installs one.")?;
        return Ok(code);
    }
    for (part, state) in manager.states() {
        print_line(format!("{part}: {state}"))?;
    }
    for path in DaemonService::installed(&manager.folders) {
        print_line(format!("  {}", manager.folders.shown(&path)))?;
    }
    if manager.folders.system == OperatingSystem::Linux
        && !DaemonService::listens(&manager.folders, location.port)
    {
        print_line(format!(
            "It listens on another port than {}. `tabwire service install` writes it anew.",
            location.port
        ))?;
    }
    if !is_active {
        print_line("It does not run. `tabwire service install` starts it again.")?;
    }
    Ok(code)
}
