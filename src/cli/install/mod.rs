//! `tabwire install` and `tabwire uninstall`.

mod clipboard;
mod far;
mod first_act;
mod owners;
mod pick;
mod program;
mod steps;
mod wait;

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::connect::ConnectFlag;
use super::doctor;
use super::extension::port_for_extension;
use super::legacy;
use super::person::UnattendedFlag;
use super::read_owner;
use super::service::ServiceManager;
use super::state_removal::StateRemoval;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::install::{
    BROWSER_FLAG, ChangePlan, DaemonService, Installation, McpClient, PlannedChange,
    SandboxedBrowser, ServerEntry, UserFolders, own_copy_in,
};
use crate::protocol::{
    BrowserName, DEFAULT_PORT, Owner, OwnerScopes, SERVER_VERSION, TabScope, is_newer_version,
};
use crate::terminal::{clean, is_terminal, print_line, wrapped_behind};
use owners::ProgramOwners;
pub(super) use program::{RunningProgram, lasting_program};
use wait::WaitEnd;

/// The flags of `tabwire install`.
#[derive(Args, Debug)]
pub(super) struct InstallArguments {
    /// Add Tabwire to this MCP client (repeatable)
    #[arg(long = "client", value_name = "NAME", value_parser = client)]
    clients: Vec<McpClient>,
    /// Add Tabwire to every MCP client that is found
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Pin the named clients to the browser of this name: they use no other
    #[arg(long, value_name = "NAME", value_parser = BrowserName::parse)]
    browser: Option<BrowserName>,
    /// Let the named clients see the tabs that they open (own), also those that you share (shared), or all
    #[arg(long, value_name = "SCOPE", value_parser = TabScope::parse, conflicts_with = "connect")]
    scope: Option<TabScope>,
    /// Give the named clients this owner [default with --scope: the client's name]
    #[arg(long, value_name = "NAME", value_parser = owner_name, conflicts_with = "connect")]
    owner: Option<Owner>,
    #[command(flatten)]
    far: ConnectFlag,
    #[command(flatten)]
    consent: UnattendedFlag,
    /// Replace a newer program or extension with this version
    #[arg(long)]
    downgrade: bool,
    /// Print the changes and write nothing
    #[arg(long, conflicts_with = "wait")]
    print: bool,
    /// Start the daemon and wait up to 10 minutes for the extension, even without a terminal
    #[arg(long, conflicts_with = "connect")]
    wait: bool,
    /// Print the result as JSON and ask no questions
    #[arg(long)]
    json: bool,
}

/// The flags of `tabwire uninstall`.
#[derive(Args, Debug)]
pub(super) struct UninstallArguments {
    /// Also end the daemon and remove its state: keys, journal, logs, drawings
    #[arg(long)]
    state: bool,
    /// Print the changes and change nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    consent: UnattendedFlag,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl InstallArguments {
    /// A flag that says something of the named clients.
    fn flag_for_clients(&self) -> Option<&'static str> {
        [
            ("--browser", self.browser.is_some()),
            ("--scope", self.scope.is_some()),
            ("--owner", self.owner.is_some()),
        ]
        .into_iter()
        .find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

fn owner_name(text: &str) -> Result<Owner, String> {
    read_owner(text).map_err(|error| error.to_string())
}

fn client(text: &str) -> Result<McpClient, String> {
    let known = || McpClient::ALL.iter().map(|client| client.id()).collect::<Vec<_>>().join(", ");
    let found = McpClient::ALL.into_iter().find(|client| client.id() == text);
    found.ok_or_else(|| format!("valid names: {}", known()))
}

pub(super) async fn install(
    location: &DaemonLocation,
    arguments: &InstallArguments,
) -> anyhow::Result<ExitCode> {
    let installation = installation(location)?;
    if installation.user_folders.is_none() && (arguments.all || !arguments.clients.is_empty()) {
        bail!(
            "TABWIRE_HOME or --home names a separate state directory, so Tabwire changes no MCP client. \
             `tabwire mcp-config` prints the entry to add to a client by hand"
        );
    }
    if let Some(far) = arguments.far.clone().chosen()? {
        return far::install(location, &installation, arguments, &far);
    }
    // Clients from an earlier installation get today's port and path too.
    let had = installation.installed_clients()?;
    let picked = clients_to_add(&installation, arguments)?;
    if let (true, Some(flag)) = (picked.is_empty(), arguments.flag_for_clients()) {
        bail!("{flag} needs a client: name one with --client, or all with --all");
    }
    // A pin is for the named clients only; the others keep theirs.
    let had = if arguments.browser.is_some() { Vec::new() } else { had };
    let clients: Vec<_> = picked.iter().chain(&had).copied().collect();
    let owners = ProgramOwners::settle(&installation, arguments, &picked, &had)?;
    let mut server = server(location, &installation.program, installation.port)?;
    if let Some(browser) = &arguments.browser {
        server.args.extend([BROWSER_FLAG.to_owned(), browser.to_string()]);
    }
    let mut plan = installation.install(&clients, |client| owners.entry_of(client, &server))?;
    plan.changes.splice(0..0, owners.changes());
    if arguments.print {
        print_plan(&plan, arguments.json)?;
        if !arguments.json {
            steps::print_clients_without_tabwire(&installation, &clients)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.downgrade {
        refuse_downgrade(&installation, &plan)?;
    }
    owners.require_consent(&installation, arguments)?;
    let is_new = StateDirectory::find(&installation.state)?.is_none();
    owners.add_missing(&installation)?;
    plan.apply(&installation.state)?;
    owners.tell_daemon(location).await?;
    if arguments.json {
        let mut body = result_json(&installation, &picked, &plan);
        body["owners"] = owners.to_json();
        return install_as_json(location, &installation, arguments, body).await;
    }
    print_done(&plan, "Everything was already set up.")?;
    if settle_first_act(&installation, is_new && is_interactive())? {
        first_act::print_unasked()?;
    }
    if installation.port != location.port {
        print_whose_port(&installation, location.port)?;
    }
    // Right after an installation no browser is connected yet, which is no fault.
    let found = doctor::check_every_hop(location).await.before_use();
    found.show_broken()?;
    for id in legacy::offer_admission(location).await? {
        steps::print_paragraph(&format!(
            "The older extension {id} asks to connect. If it is yours and you want to keep using it, \
             run `tabwire legacy allow {id}`."
        ))?;
    }
    steps::print_next_steps(&installation, &clients, &plan, found.has_browser()).await?;
    if !arguments.wait && !is_interactive() {
        return Ok(ExitCode::SUCCESS);
    }
    let waited = wait::for_extension(location, installation.port).await?;
    waited.print()?;
    Ok(if arguments.wait { waited.exit_code() } else { ExitCode::SUCCESS })
}

/// Rejects a plan that would replace a newer version by this one.
fn refuse_downgrade(installation: &Installation, plan: &ChangePlan) -> anyhow::Result<()> {
    if let Some((part, version)) = newer_part(installation, plan)? {
        bail!(
            "the installed {part} has version {version}, and this program is the older {SERVER_VERSION}. \
             Nothing was changed. Run `install` of the newer program, or add --downgrade to replace it"
        );
    }
    Ok(())
}

/// A part that the plan would replace although it is newer than this program, and its version.
fn newer_part(
    installation: &Installation,
    plan: &ChangePlan,
) -> anyhow::Result<Option<(&'static str, String)>> {
    let Some(home) = StateDirectory::find(&installation.state)? else { return Ok(None) };
    for change in &plan.changes {
        let (part, version) = match change {
            PlannedChange::Unpack { .. } => ("extension", home.unpacked_version()?),
            // The copy is removed where another program takes its place.
            PlannedChange::CopyProgram { .. } | PlannedChange::RemoveProgram { .. } => {
                ("program", home.installed_program()?.map(|installed| installed.version))
            }
            PlannedChange::MoveExtension { .. }
            | PlannedChange::RemoveExtension { .. }
            | PlannedChange::File(_)
            | PlannedChange::Edit(..)
            | PlannedChange::Register { .. }
            | PlannedChange::Scope { .. } => continue,
        };
        let newer = version.filter(|version| is_newer_version(version, SERVER_VERSION));
        if let Some(version) = newer {
            return Ok(Some((part, version)));
        }
    }
    Ok(None)
}

/// See [`first_act::settle`].
fn settle_first_act(installation: &Installation, asks: bool) -> anyhow::Result<bool> {
    first_act::settle(&StateDirectory::open(&installation.state)?, asks)
}

/// Whether a person reads standard output and can answer on standard input. The dialog of `install`
/// is its output, unlike a question of [`person`](crate::cli::person) on standard error.
fn is_interactive() -> bool {
    is_terminal() && io::stdin().is_terminal()
}

/// Finishes an installation whose result is JSON.
async fn install_as_json(
    location: &DaemonLocation,
    installation: &Installation,
    arguments: &InstallArguments,
    mut body: Value,
) -> anyhow::Result<ExitCode> {
    settle_first_act(installation, false)?;
    let rules = StateDirectory::open(&installation.state)?.site_rules().read()?;
    body["sites_default"] = json!(rules.default_rule());
    let waited = if arguments.wait {
        Some(wait::for_extension(location, installation.port).await?)
    } else {
        None
    };
    if let Some(waited) = &waited {
        body["connected"] = json!(waited.browser());
    }
    body["doctor"] = doctor::check_every_hop(location).await.to_json();
    body["older_extensions"] = json!(legacy::asking_now(location).await?);
    print_line(serde_json::to_string_pretty(&body)?)?;
    Ok(waited.as_ref().map_or(ExitCode::SUCCESS, WaitEnd::exit_code))
}

/// Prints a line for each change that was made, or `nothing` if there was none.
fn print_done(plan: &ChangePlan, nothing: &str) -> anyhow::Result<()> {
    print_line(if plan.changes.is_empty() { nothing } else { "Done:" })?;
    for line in plan.changes.iter().filter_map(|change| change.lines().into_iter().next()) {
        print_line(format!("  {}", wrapped_behind(&clean(&line), 4)))?;
    }
    Ok(())
}

/// Explains why the set-up has another port than the one on the command line.
fn print_whose_port(installation: &Installation, asked: u16) -> anyhow::Result<()> {
    let port = installation.port;
    steps::print_paragraph(&format!(
        "A daemon runs on port {port}, so the set-up uses that port. To use port {asked}, run \
         `tabwire stop`, then `tabwire install --port {asked}`."
    ))
}

pub(super) async fn uninstall(
    location: &DaemonLocation,
    arguments: &UninstallArguments,
) -> anyhow::Result<ExitCode> {
    let installation = installation(location)?;
    let mut plan = installation.uninstall()?;
    if let Some(folders) = &installation.user_folders {
        plan.changes.extend(DaemonService::uninstall(folders)?.changes);
    }
    if arguments.print {
        let state =
            arguments.state.then(|| StateRemoval::plan(&installation, &plan)).transpose()?;
        print_uninstall_plan(&installation, &plan, state.as_ref(), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.state {
        StateRemoval::require_consent(&installation, arguments.consent)?;
    }
    if let Some(folders) = &installation.user_folders {
        ServiceManager::of(folders.clone()).end();
    }
    plan.apply(&installation.state)?;
    let removed =
        if arguments.state { Some(StateRemoval::make(&installation).await?) } else { None };
    if arguments.json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        // The field says that the state is gone whole, not that a removal was tried.
        let is_gone = removed.as_ref().is_some_and(StateRemoval::is_whole);
        let stays = removed.as_ref().map(StateRemoval::stays).unwrap_or_default();
        let scopes = bounded_scopes(&installation)?;
        let body = json!({"changes": changes, "state": is_gone, "stays": stays, "scopes": scopes});
        print_line(serde_json::to_string_pretty(&body)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_done(&plan, "Nothing was installed.")?;
    match &removed {
        Some(removed) => removed.print_done(&installation.state)?,
        None => print_staying(&installation)?,
    }
    print_line(wrapped_behind(
        "If a browser has the extension loaded, remove it there at chrome://extensions.",
        0,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Tells the person of the state that stays after the removal.
fn print_staying(installation: &Installation) -> anyhow::Result<()> {
    let scopes = bounded_scopes(installation)?;
    let of_owners = if scopes.is_empty() {
        String::new()
    } else {
        let named = scopes.iter().map(|(owner, scope)| format!("{owner} ({scope})"));
        let named = named.collect::<Vec<_>>().join(", ");
        format!(
            " The scopes of owners stay, too: {named}. A program whose owner has its name gets that \
             owner again when it is added again; `tabwire scope OWNER all` ends a scope."
        )
    };
    steps::print_paragraph(&format!(
        "Keys, journal and drawings stay in {}. `tabwire uninstall --state` removes them.{of_owners}",
        installation.state.display()
    ))
}

/// The owners whose programs do not see every tab, and their scopes.
fn bounded_scopes(installation: &Installation) -> anyhow::Result<BTreeMap<String, TabScope>> {
    let Some(home) = StateDirectory::find(&installation.state)? else {
        return Ok(BTreeMap::new());
    };
    // A damaged file has been named where a scope is read; the removal goes on.
    let scopes = home.scopes().read().unwrap_or_else(|_| OwnerScopes::default());
    let bounded = scopes.chosen().filter(|(_, scope)| scope.is_bounded());
    Ok(bounded.map(|(owner, scope)| (owner.name().to_owned(), scope)).collect())
}

pub(super) fn installation(location: &DaemonLocation) -> anyhow::Result<Installation> {
    let state = std::path::absolute(location.home()?)?;
    // Host manifests and the settings of clients are JSON, which holds Unicode paths only.
    state.to_str().context(
        "the path of the state directory is not valid Unicode; name another with TABWIRE_HOME",
    )?;
    // A separate state directory is for tests and second daemons: it must not touch real settings.
    let user_folders = if location.home.is_some() { None } else { Some(UserFolders::current()?) };
    let port = port_for_extension(location, StateDirectory::find(&state)?.as_ref())?;
    let RunningProgram { path: running, origin } = RunningProgram::find(&state)?;
    let program = if origin.is_lasting() { running.clone() } else { own_copy_in(&state) };
    Ok(Installation { state, user_folders, program, running, origin, port })
}

/// The state directory, if a program that is started from elsewhere would find another one.
pub(super) fn lasting_home(location: &DaemonLocation) -> anyhow::Result<Option<PathBuf>> {
    // XDG_STATE_HOME moves the default directory too, and clients may not have it set.
    if location.home.is_none() && env::var_os("XDG_STATE_HOME").is_none() {
        return Ok(None);
    }
    Ok(Some(std::path::absolute(location.home()?)?))
}

/// How MCP clients start the program. A tool for each action: a person can allow one of them for good, and
/// scripts not with it. `packaging/program.py` has the same words for the registries.
pub(crate) const MCP_ARGUMENTS: [&str; 3] = ["mcp", "--tools", "split"];

/// The command that MCP clients start for a daemon on this port. Clients do not inherit this shell's
/// environment, so flags repeat what the environment sets.
pub(super) fn server(
    location: &DaemonLocation,
    program: &Path,
    port: u16,
) -> anyhow::Result<ServerEntry> {
    let command = program.to_str().context(
        "the path of this program is not valid Unicode; move the program to another folder",
    )?;
    let mut args = MCP_ARGUMENTS.map(str::to_owned).to_vec();
    if let Some(state) = lasting_home(location)? {
        let state =
            state.to_str().context("the path of the state directory is not valid Unicode")?;
        args.extend(["--home".to_owned(), state.to_owned()]);
    }
    if port != DEFAULT_PORT {
        args.extend(["--port".to_owned(), port.to_string()]);
    }
    Ok(ServerEntry { command: command.to_owned(), args })
}

/// Whether a person is asked which clients to configure.
fn is_asked(arguments: &InstallArguments) -> bool {
    let is_named = arguments.all || !arguments.clients.is_empty();
    !is_named && !arguments.json && !arguments.print && is_interactive()
}

/// The clients that the command line names or that a person picks; none if nobody can be asked.
fn clients_to_add(
    installation: &Installation,
    arguments: &InstallArguments,
) -> anyhow::Result<Vec<McpClient>> {
    if !arguments.clients.is_empty() {
        return Ok(arguments.clients.clone());
    }
    let here = installation.clients();
    if arguments.all {
        return Ok(here);
    }
    if here.is_empty() || !is_asked(arguments) {
        return Ok(Vec::new());
    }
    pick::ask(installation, &here)
}

pub(super) fn print_plan(plan: &ChangePlan, json: bool) -> anyhow::Result<()> {
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        print_line(serde_json::to_string_pretty(&json!({"would": changes}))?)?;
        return Ok(());
    }
    print_line(if plan.changes.is_empty() {
        "There is nothing to change."
    } else {
        "This would:"
    })?;
    for line in plan.changes.iter().flat_map(|change| change.lines()) {
        print_line(format!("  {}", clean(&line)))?;
    }
    Ok(())
}

fn print_uninstall_plan(
    installation: &Installation,
    plan: &ChangePlan,
    state: Option<&StateRemoval>,
    json: bool,
) -> anyhow::Result<()> {
    let Some(state) = state else { return print_plan(plan, json) };
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        let body = json!({"would": changes, "state": state.to_json()});
        print_line(serde_json::to_string_pretty(&body)?)?;
        return Ok(());
    }
    print_plan(plan, false)?;
    state.print_plan(&installation.state)
}

fn result_json(installation: &Installation, clients: &[McpClient], plan: &ChangePlan) -> Value {
    let ids = |clients: &[McpClient]| clients.iter().map(|client| client.id()).collect::<Vec<_>>();
    let browsers: Vec<_> = installation.browsers().iter().map(|browser| browser.name).collect();
    let sandboxed = installation.sandboxed_browsers().into_iter();
    json!({
        "changes": plan.changes.iter().map(|change| change.to_json()).collect::<Vec<_>>(),
        "extension": installation.extension(),
        "browsers": browsers,
        "sandboxed_browsers": sandboxed.map(SandboxedBrowser::name).collect::<Vec<_>>(),
        "clients": {"found": ids(&installation.clients()), "added": ids(clients)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_called_by_their_ids() {
        for known in McpClient::ALL {
            assert_eq!(client(known.id()), Ok(known));
        }
        assert!(client("emacs").unwrap_err().contains("claude-code"));
    }
}
