//! `tabwire install` and `tabwire uninstall`.

mod clipboard;
mod pick;
mod steps;
mod wait;

use std::env;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::doctor;
use super::extension::port_for_extension;
use super::legacy;
use super::person::Unattended;
use super::state_removal::StateRemoval;
use crate::config::Place;
use crate::home::Home;
use crate::install::{Client, Installation, Machine, Plan, Server, lasting_name};
use crate::protocol::DEFAULT_PORT;
use crate::terminal::{clean, hanging, is_terminal, say};
use wait::Waited;

/// What to install.
#[derive(Args, Debug)]
pub(super) struct Install {
    /// Add Tabwire to this MCP client (repeatable)
    #[arg(long = "client", value_name = "NAME", value_parser = client)]
    clients: Vec<Client>,
    /// Add Tabwire to every MCP client that is found
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Show what would be written, and write nothing
    #[arg(long, conflicts_with = "wait")]
    print: bool,
    /// Start the daemon and wait for the extension also without a terminal, at most 10 minutes
    #[arg(long)]
    wait: bool,
    /// Say what is done as JSON, and ask nothing
    #[arg(long)]
    json: bool,
}

/// What to take away.
#[derive(Args, Debug)]
pub(super) struct Uninstall {
    /// The state too: keys, journal, logs, what people drew; ends the daemon
    #[arg(long)]
    state: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    consent: Unattended,
    /// Say what is done as JSON
    #[arg(long)]
    json: bool,
}

fn client(text: &str) -> Result<Client, String> {
    let known = || Client::ALL.iter().map(|client| client.id()).collect::<Vec<_>>().join(", ");
    let found = Client::ALL.into_iter().find(|client| client.id() == text);
    found.ok_or_else(|| format!("there are: {}", known()))
}

pub(super) async fn install(place: &Place, how: &Install) -> anyhow::Result<ExitCode> {
    let installation = installation(place)?;
    if installation.machine.is_none() && (how.all || !how.clients.is_empty()) {
        bail!(
            "TABWIRE_HOME or --home names a state directory of its own: nothing outside of it is \
             changed, so no MCP client either. `tabwire mcp-config` prints what to put there"
        );
    }
    // Those that have it are to start it as it is now: on this port, from this place.
    let had = installation.installed_clients()?;
    let picked = chosen(&installation, how)?;
    let clients: Vec<_> = picked.iter().chain(&had).copied().collect();
    let plan = installation.install(&clients, &server(place, installation.port)?)?;
    if how.print {
        show(&plan, how.json)?;
        if !how.json {
            steps::say_clients_left(&installation, &clients)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    plan.apply(&installation.state)?;
    if how.json {
        return install_as_json(place, &installation, how, &picked, &plan).await;
    }
    say_done(&plan, "Everything was in place already.")?;
    if installation.port != place.port {
        say_whose_port(&installation, place.port)?;
    }
    let found = doctor::look(place).await.before_use();
    found.show_broken()?;
    for id in legacy::offer(place).await? {
        steps::paragraph(&format!(
            "The older extension {id} asks to be let in. If it is yours and you want to go on using \
             it, run `tabwire legacy allow {id}`."
        ))?;
    }
    steps::say_all(&installation, &clients, &plan, found.has_browser()).await?;
    if !how.wait && !has_person() {
        return Ok(ExitCode::SUCCESS);
    }
    let waited = wait::for_extension(place, installation.port).await?;
    waited.say()?;
    Ok(if how.wait { waited.exit_code() } else { ExitCode::SUCCESS })
}

/// Whether somebody can be asked, and can wait.
fn has_person() -> bool {
    is_terminal() && io::stdin().is_terminal()
}

/// The rest of an installation for a program.
async fn install_as_json(
    place: &Place,
    installation: &Installation,
    how: &Install,
    picked: &[Client],
    plan: &Plan,
) -> anyhow::Result<ExitCode> {
    let mut body = told(installation, picked, plan);
    let waited =
        if how.wait { Some(wait::for_extension(place, installation.port).await?) } else { None };
    if let Some(waited) = &waited {
        body["connected"] = json!(waited.browser());
    }
    body["doctor"] = doctor::look(place).await.to_json();
    body["older_extensions"] = json!(legacy::asking_now(place).await?);
    say(serde_json::to_string_pretty(&body)?)?;
    Ok(waited.as_ref().map_or(ExitCode::SUCCESS, Waited::exit_code))
}

/// What was done, a line for each thing; or that nothing was to be done.
fn say_done(plan: &Plan, nothing: &str) -> anyhow::Result<()> {
    say(if plan.changes.is_empty() { nothing } else { "Done:" })?;
    for line in plan.changes.iter().filter_map(|change| change.lines().into_iter().next()) {
        say(format!("  {}", hanging(&clean(&line), 4)))?;
    }
    Ok(())
}

/// Why it is not for the port that was asked for.
fn say_whose_port(installation: &Installation, asked: u16) -> anyhow::Result<()> {
    let port = installation.port;
    steps::paragraph(&format!(
        "A daemon runs on port {port}, so everything is set up for that one. For port {asked}: \
         `tabwire stop`, then `tabwire install --port {asked}`."
    ))
}

pub(super) async fn uninstall(place: &Place, how: &Uninstall) -> anyhow::Result<ExitCode> {
    let installation = installation(place)?;
    let plan = installation.uninstall()?;
    if how.print {
        let state = how.state.then(|| StateRemoval::plan(&installation, &plan)).transpose()?;
        show_uninstall(&installation, &plan, state.as_ref(), how.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if how.state {
        StateRemoval::agreed(&installation, how.consent)?;
    }
    plan.apply(&installation.state)?;
    let removed = if how.state { Some(StateRemoval::make(&installation).await?) } else { None };
    if how.json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        let is_gone = removed.as_ref().is_some_and(StateRemoval::is_whole);
        let stays = removed.as_ref().map(StateRemoval::stays).unwrap_or_default();
        let body = json!({"changes": changes, "state": is_gone, "stays": stays});
        say(serde_json::to_string_pretty(&body)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    say_done(&plan, "Nothing was installed.")?;
    match &removed {
        Some(removed) => removed.say_done(&installation.state)?,
        None => steps::paragraph(&format!(
            "What Tabwire remembers stays in {}; `tabwire uninstall --state` removes it.",
            installation.state.display()
        ))?,
    }
    say(hanging(
        "If the extension is loaded in a browser, remove it there (chrome://extensions).",
        0,
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn installation(place: &Place) -> anyhow::Result<Installation> {
    let state = std::path::absolute(place.home()?)?;
    // Browsers are told in JSON where it is.
    state.to_str().context("the state directory's path is no text; name one with TABWIRE_HOME")?;
    let machine = if place.home.is_some() { None } else { Some(Machine::current()?) };
    let port = port_for_extension(place, Home::find(&state)?.as_ref())?;
    Ok(Installation { state, machine, program: program()?, port })
}

/// This program, under the name by which it is found after an update as well.
fn program() -> anyhow::Result<PathBuf> {
    let program = env::current_exe().context("cannot tell where this program is")?;
    Ok(lasting_name(&program, env::var_os("PATH").as_deref()))
}

/// What MCP clients are to start, for a daemon on this port. They need not have this shell's
/// environment.
pub(super) fn server(place: &Place, port: u16) -> anyhow::Result<Server> {
    let command = program()?;
    let command = command.to_str().context("this program's path is no text; move it elsewhere")?;
    let mut args = vec!["mcp".to_owned()];
    if place.home.is_some() || env::var_os("XDG_STATE_HOME").is_some() {
        let state = std::path::absolute(place.home()?)?;
        let state = state.to_str().context("the state directory's path is no text")?;
        args.extend(["--home".to_owned(), state.to_owned()]);
    }
    if port != DEFAULT_PORT {
        args.extend(["--port".to_owned(), port.to_string()]);
    }
    Ok(Server { command: command.to_owned(), args })
}

/// The clients that were named, or that a person picks. Without one to ask, none.
fn chosen(installation: &Installation, how: &Install) -> anyhow::Result<Vec<Client>> {
    if !how.clients.is_empty() {
        return Ok(how.clients.clone());
    }
    let here = installation.clients();
    if how.all {
        return Ok(here);
    }
    let is_asked = !how.json && !how.print && has_person();
    if here.is_empty() || !is_asked {
        return Ok(Vec::new());
    }
    pick::ask(installation, &here)
}

fn show(plan: &Plan, json: bool) -> anyhow::Result<()> {
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        say(serde_json::to_string_pretty(&json!({"would": changes}))?)?;
        return Ok(());
    }
    say(if plan.changes.is_empty() { "Nothing would be changed." } else { "This would:" })?;
    for line in plan.changes.iter().flat_map(|change| change.lines()) {
        say(format!("  {}", clean(&line)))?;
    }
    Ok(())
}

fn show_uninstall(
    installation: &Installation,
    plan: &Plan,
    state: Option<&StateRemoval>,
    json: bool,
) -> anyhow::Result<()> {
    let Some(state) = state else { return show(plan, json) };
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        let body = json!({"would": changes, "state": state.to_json()});
        say(serde_json::to_string_pretty(&body)?)?;
        return Ok(());
    }
    show(plan, false)?;
    state.say_plan(&installation.state)
}

fn told(installation: &Installation, clients: &[Client], plan: &Plan) -> Value {
    let ids = |clients: &[Client]| clients.iter().map(|client| client.id()).collect::<Vec<_>>();
    let browsers: Vec<_> = installation.browsers().iter().map(|browser| browser.name).collect();
    json!({
        "changes": plan.changes.iter().map(|change| change.to_json()).collect::<Vec<_>>(),
        "extension": installation.extension(),
        "browsers": browsers,
        "clients": {"found": ids(&installation.clients()), "added": ids(clients)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_called_by_their_ids() {
        for known in Client::ALL {
            assert_eq!(client(known.id()), Ok(known));
        }
        assert!(client("emacs").unwrap_err().contains("claude-code"));
    }
}
